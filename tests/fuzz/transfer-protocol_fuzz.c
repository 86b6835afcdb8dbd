// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * One side of a transfer against a hostile peer, disk and clock. The first octet chooses role,
 * initiator and mode. Records follow: raw messages; messages of small numbers, which reach deep
 * code; data Sends; completions; answers that are late or failures; time.
 *
 * For any input: a slot is registered once and revoked before its data are used; a created file is
 * committed or abandoned; each file has one result, and the transfer one end; and no input keeps
 * the machine busy forever.
 */
#include "transfer/protocol/xfer.h"

#include <stdbool.h>

#include "fuzz/property.h"
#include "transfer/protocol/msg.h"
#include "util/num.h"

#define FILES 4096
#define STEPS 100000

struct fake_file {
	bool used, created, committed, abandoned, result;
};

struct run {
	const uint8_t *p;
	size_t len;
	struct iw_xfer *x;
	struct iw_xfer_cfg cfg;
	struct fake_file file[FILES];
	unsigned nfiles;
	bool registered[IW_XFER_WINDOWS];
	bool held[256]; /* receives that the machine holds */
	uint64_t ops[64];
	unsigned nops;
	uint32_t next_recv;
	bool storing, loading, ended, closed;
	bool bound; /* the connection has a channel binding */
	bool heard; /* a message was given to the machine */
	struct iw_xfer_act store, load;
	uint64_t now;
	char names[FILES][8];
	size_t live;
};

static void *counted_alloc(void *ctx, size_t size)
{
	struct run *r = ctx;

	r->live++;
	return calloc(1, size);
}

static void counted_free(void *ctx, void *p, size_t size)
{
	struct run *r = ctx;

	(void)size;
	if (p)
		r->live--;
	free(p);
}

static uint8_t take(struct run *r)
{
	if (r->len == 0)
		return 0;
	r->len--;
	return *r->p++;
}

static struct fake_file *new_file(struct run *r)
{
	struct fake_file *f = &r->file[r->nfiles];

	must(r->nfiles < FILES);
	r->nfiles++;
	f->used = true;
	return f;
}

static void next_file(struct run *r)
{
	uint8_t how = take(r);
	struct iw_xfer_meta m = { .kind = (enum iw_xfer_kind)(how % 3), .top = true, .mode = 0600 };

	if (how >= 240 || r->nfiles > FILES - 10) {
		iw_xfer_no_more(r->x, r->now);
		return;
	}
	m.name = r->names[r->nfiles];
	m.name_len = 1 + how % 7;
	m.size = m.kind == IW_XFER_FILE ? (uint64_t)take(r) * 100003 : 0;
	memset(r->names[r->nfiles], 'n', m.name_len);
	if (how & 32)
		iw_xfer_add_failed(r->x, &m, new_file(r), IW_XFER_CODE_NOENT, "gone", r->now);
	else
		iw_xfer_add(r->x, &m, new_file(r), r->now);
}

static void answer_load(struct run *r)
{
	uint8_t how = take(r);
	struct iw_xfer_chunk l = { .len = (uint32_t)r->load.len, .zero = how & 1 };

	r->loading = false;
	if (how & 2)
		l.len = how & 4 ? 0 : l.len / 2;
	l.digest.len = 16;
	if ((how & 0xf0) == 0xf0)
		iw_xfer_file_failed(r->x, r->load.id, IW_XFER_CODE_CHANGED, "shrank", r->now);
	else
		iw_xfer_loaded(r->x, r->load.id, r->load.slot, &l, r->now);
}

static void give_back(struct run *r, const struct iw_xfer_act *a)
{
	for (size_t i = 0; i < a->npieces; i++) {
		if (!a->piece[i].in_recv)
			continue;
		must(r->held[a->piece[i].recv]);
		r->held[a->piece[i].recv] = false;
	}
}

static void answer_store(struct run *r)
{
	const struct iw_xfer_act a = r->store;

	r->storing = false;
	if ((take(r) & 0xf0) == 0xf0)
		iw_xfer_file_failed(r->x, a.id, IW_XFER_CODE_SPACE, "full", r->now);
	else
		iw_xfer_stored(r->x, true, r->now);
	give_back(r, &a);
}

static void do_create(struct run *r, const struct iw_xfer_act *a)
{
	uint8_t how = take(r);
	struct fake_file *f;

	if (a->meta->kind == IW_XFER_PACK) {
		must(a->meta->members > 0 && a->meta->members <= IW_XFER_MEMBERS);
	} else {
		must(a->meta->name_len > 0 && !memchr(a->meta->name, 0, a->meta->name_len));
		must(a->meta->name[0] != '/');
	}
	if (how >= 0xe0 || r->nfiles > FILES - 10) {
		iw_xfer_file_failed(r->x, a->id, how & 1 ? IW_XFER_CODE_SAME : IW_XFER_CODE_PERM,
				    NULL, r->now);
	} else if (!iw_xfer_has_data(a->meta->kind)) {
		iw_xfer_made(r->x, a->id, NULL, r->now);
	} else {
		static const uint8_t octets[8 * 32];

		f = new_file(r);
		f->created = true;
		if (a->meta->kind == IW_XFER_PACK)
			iw_xfer_wanted(r->x, a->id, octets, 1);
		else if (a->meta->kind == IW_XFER_FILE && how & 16 &&
			 a->meta->size > 8 * IW_XFER_CHUNK)
			must(iw_xfer_have(r->x, a->id, a->meta->part_off, octets, 1));
		iw_xfer_created(r->x, a->id, f, r->now);
	}
}

static void check_result(const struct iw_xfer_act *a)
{
	struct fake_file *f = a->file;

	must(a->meta && a->text);
	if (!f)
		return;
	must(!f->result);
	must(!f->created || f->committed || f->abandoned);
	must(!f->committed || a->code == IW_XFER_CODE_OK);
	f->result = true;
}

/* Before the peer has sent its channel binding. */
static bool names_nothing(const struct iw_xfer_act *a)
{
	struct iw_xfer_msg m;
	struct iw_fault why;

	must(iw_xfer_msg_decode(&m, a->msg, a->msg_len, &why) == 0);
	return m.type == IW_XFER_MSG_OPEN || m.type == IW_XFER_MSG_NOP ||
	       m.type == IW_XFER_MSG_ABORT;
}

static void act(struct run *r, const struct iw_xfer_act *a)
{
	struct fake_file *f = a->file;

	must(!r->closed);
	must(a->slot < r->cfg.slots);
	switch (a->type) {
	case IW_XFER_ACT_POST_RECVS:
		break;
	case IW_XFER_ACT_REPOST:
		give_back(r, a);
		break;
	case IW_XFER_ACT_SEND:
		must(a->msg_len > 0 && a->msg_len <= IW_XFER_MSG_MAX && a->msg[0] != 0);
		must(!r->bound || r->heard || names_nothing(a));
		must(r->nops < r->cfg.sq_depth);
		r->ops[r->nops++] = a->cookie;
		break;
	case IW_XFER_ACT_DATA:
		must(a->msg_len == IW_XFER_DATA_HDR && a->len > 0 &&
		     a->slot_off + a->len <= IW_XFER_CHUNK);
		must(r->nops < r->cfg.sq_depth);
		r->ops[r->nops++] = a->cookie;
		break;
	case IW_XFER_ACT_BEAT:
		must(r->nops < r->cfg.sq_depth);
		r->ops[r->nops++] = a->cookie;
		break;
	case IW_XFER_ACT_WRITE:
	case IW_XFER_ACT_READ:
		must(a->len > 0 && a->len <= IW_XFER_CHUNK);
		must(r->nops < r->cfg.sq_depth);
		r->ops[r->nops++] = a->cookie;
		break;
	case IW_XFER_ACT_REGISTER:
		must(!r->registered[a->slot] && a->len > 0 && a->len <= IW_XFER_CHUNK);
		r->registered[a->slot] = true;
		iw_xfer_registered(r->x, a->slot, 0x100 + a->slot);
		break;
	case IW_XFER_ACT_REVOKE:
		must(r->registered[a->slot]);
		r->registered[a->slot] = false;
		/* Every second time less was written than DONE said, which is a breach. */
		iw_xfer_written(r->x, a->slot, a->slot % 2 == 0 ? IW_XFER_CHUNK : 1);
		break;
	case IW_XFER_ACT_CLOSE:
	case IW_XFER_ACT_DROP:
		must(r->ended);
		r->closed = true;
		break;
	case IW_XFER_ACT_PATH:
		must(a->name_len <= IW_XFER_NAME_MAX);
		break;
	case IW_XFER_ACT_NEXT_FILE:
		next_file(r);
		break;
	case IW_XFER_ACT_NEXT_RANGE: {
		uint8_t how = take(r);
		uint64_t off = a->off + (uint64_t)(how & 3) * IW_XFER_CHUNK;

		iw_xfer_range(r->x, a->id, off, (how >> 2 & 3) * (uint64_t)IW_XFER_CHUNK, how & 16);
		break;
	}
	case IW_XFER_ACT_LOAD:
		/* Only a LOAD whose file has ended is replaced. */
		must(!r->loading || a->file != r->load.file);
		must(f->used && !r->registered[a->slot]);
		r->load = *a;
		r->loading = true;
		if (take(r) < 200)
			answer_load(r);
		break;
	case IW_XFER_ACT_FINISH: {
		const struct iw_xfer_digest d = { .len = 16 };

		if (take(r) < 0xe0)
			iw_xfer_finished(r->x, a->id, &d, r->now);
		else
			iw_xfer_file_failed(r->x, a->id, IW_XFER_CODE_CHANGED, "touched", r->now);
		break;
	}
	case IW_XFER_ACT_OPENED:
	case IW_XFER_ACT_WANTED:
		break;
	case IW_XFER_ACT_HAVE:
		must(a->len > 0 && a->name_len % 16 == 0);
		break;
	case IW_XFER_ACT_FINAL:
		iw_xfer_gone(r->x, "a\0b/c", 6, 1, 1);
		iw_xfer_final(r->x, 0, 0, r->now);
		break;
	case IW_XFER_ACT_GONE:
	case IW_XFER_ACT_REMOVE:
		must(a->name_len > 0 && a->name_len <= IW_XFER_NAME_MAX &&
		     !memchr(a->name, '\0', a->name_len));
		break;
	case IW_XFER_ACT_CREATE:
		do_create(r, a);
		break;
	case IW_XFER_ACT_STORE:
		must(!r->storing && f->created && !f->committed && !f->abandoned &&
		     a->npieces > 0 && a->npieces <= IW_XFER_PIECES);
		for (size_t i = 0; i < a->npieces; i++)
			must(a->piece[i].in_recv ? r->held[a->piece[i].recv]
						 : !r->registered[a->piece[i].recv]);
		r->store = *a;
		r->storing = true;
		if (take(r) < 200)
			answer_store(r);
		break;
	case IW_XFER_ACT_COMMIT:
		must(f->created && !f->committed && !f->abandoned);
		if (take(r) < 0xe0) {
			f->committed = true;
			iw_xfer_committed(r->x, a->id, r->now);
		} else {
			iw_xfer_file_failed(r->x, a->id, IW_XFER_CODE_IO, "rename", r->now);
		}
		break;
	case IW_XFER_ACT_ABANDON:
		must(f->created && !f->committed && !f->abandoned);
		f->abandoned = true;
		break;
	case IW_XFER_ACT_RESULT:
		check_result(a);
		break;
	case IW_XFER_ACT_END:
		must(!r->ended);
		r->ended = true;
		break;
	}
}

static void act_all(struct run *r)
{
	struct iw_xfer_act a;

	for (unsigned n = 0; iw_xfer_next(r->x, &a, r->now); n++) {
		must(n < STEPS);
		act(r, &a);
	}
}

static void receive(struct run *r, const uint8_t *msg, size_t len)
{
	uint32_t recv = r->next_recv++ % 256;

	/* As a queue pair would: a held receive does not take a second Send. */
	for (unsigned n = 0; r->held[recv]; n++) {
		if (n == 256)
			return;
		recv = r->next_recv++ % 256;
	}
	r->heard = true;
	if (iw_xfer_received(r->x, recv, msg, len, r->now) == IW_XFER_RECV_HOLD)
		r->held[recv] = true;
}

static void raw_message(struct run *r)
{
	size_t want = take(r) * 4u, len = IW_MIN(want, r->len);
	uint8_t *copy = malloc(len ? len : 1);

	must(copy);
	if (len > 0)
		memcpy(copy, r->p, len);
	r->p += len;
	r->len -= len;
	receive(r, copy, len);
	free(copy);
}

/* Offsets at and near the borders of chunks and pieces. */
static uint64_t some_offset(struct run *r)
{
	uint8_t v = take(r);

	return (uint64_t)(v >> 2) * IW_XFER_PIECE + (v & 3 ? (uint64_t)(v & 3) - 2 : 0);
}

static struct iw_xfer_entry some_entry(struct run *r)
{
	static const char name[] = "a/b/c/..";
	static const uint8_t list[] = "\x81\xa3\x06\x01\x09\x41z\x0a\x00", octets[64];
	struct iw_xfer_entry e = { .has = 0x7fff };
	uint8_t how = take(r), more = take(r);

	e.id = take(r) % 16;
	e.off = some_offset(r) & (how & 1 ? ~(uint64_t)(IW_XFER_CHUNK - 1) : UINT64_MAX);
	e.len = how & 2 ? IW_XFER_CHUNK : some_offset(r);
	e.size = how & 4 ? 10 * IW_XFER_CHUNK : some_offset(r);
	e.stag = 5;
	e.digest.len = 16;
	e.kind = (how >> 6) + (more & 1 ? 3 : 0);
	/* The second half of the fields, one bit each. */
	for (unsigned f = IW_XFER_FIELD_TARGET; f < IW_XFER_FIELD_COUNT; f++)
		if (more >> (f % 8) & 1)
			e.has |= 1u << f;
	e.target = name;
	e.target_len = 3;
	e.list = list;
	e.list_len = sizeof(list) - 1;
	e.xattr = e.ident = e.wanted = e.codes = e.chunks = octets;
	e.xattr_len = more % 9;
	e.ident_len = more % 17;
	e.wanted_len = e.codes_len = 1;
	e.chunks_len = (size_t)(more % 5) * 16;
	e.share = more % 3;
	e.name = name;
	e.name_len = 1 + take(r) % 8;
	e.text = "t";
	e.text_len = 1;
	if (how & 8)
		e.has &= ~(IW_XFER_HAS(CODE) | IW_XFER_HAS(TEXT));
	if (how & 16)
		e.has &= ~IW_XFER_HAS(ZERO);
	e.zero = how & 32;
	e.code = how & 32 ? 3 : 0;
	return e;
}

static const uint8_t channel[IW_XFER_BINDING_LEN] = { 9 };

static void made_message(struct run *r)
{
	uint8_t type = take(r), n = take(r) % 4, ends = type >> 6;
	uint8_t buf[4096];
	struct iw_cbor_out o;

	bool binding = r->bound && !(ends & 2);

	type %= IW_XFER_MSG_COUNT + 1;
	iw_cbor_out_init(&o, buf, sizeof(buf));
	iw_cbor_map(&o, (type == IW_XFER_MSG_OPEN ? 5 : 4) + binding);
	if (binding) {
		iw_cbor_uint(&o, IW_XFER_KEY_BINDING);
		iw_cbor_bytes(&o, channel, sizeof(channel));
	}
	iw_cbor_uint(&o, IW_XFER_KEY_TYPE);
	iw_cbor_uint(&o, type);
	iw_cbor_uint(&o, IW_XFER_KEY_CREDIT);
	iw_cbor_uint(&o, 5000 + r->next_recv);
	if (type == IW_XFER_MSG_OPEN) {
		iw_cbor_uint(&o, IW_XFER_KEY_PATH);
		iw_cbor_bytes(&o, "p", 1);
		iw_cbor_uint(&o, IW_XFER_KEY_OPTS);
		iw_cbor_uint(&o, n);
		iw_cbor_uint(&o, IW_XFER_KEY_CONNS);
		iw_cbor_uint(&o, 1);
	} else if (type == IW_XFER_MSG_BYE || type == IW_XFER_MSG_ABORT) {
		iw_cbor_uint(&o, 4);
		iw_cbor_uint(&o, n);
		iw_cbor_uint(&o, 5);
		if (type == IW_XFER_MSG_BYE)
			iw_cbor_uint(&o, n);
		else
			iw_cbor_text(&o, "why", 3);
	} else if (type == IW_XFER_MSG_GET) {
		iw_cbor_uint(&o, IW_XFER_KEY_LIST);
		iw_cbor_array(&o, n);
		for (; n > 0; n--)
			iw_cbor_bytes(&o, "path", 4);
		iw_cbor_uint(&o, IW_XFER_KEY_LAST);
		iw_cbor_bool(&o, ends & 1);
	} else {
		iw_cbor_uint(&o, IW_XFER_KEY_LIST);
		iw_cbor_array(&o, n);
		for (; n > 0; n--) {
			const struct iw_xfer_entry e = some_entry(r);

			iw_xfer_entry_put(&o, &e);
		}
		iw_cbor_uint(&o, IW_XFER_KEY_ENDS);
		iw_cbor_array(&o, ends);
		for (; ends > 0; ends--) {
			const struct iw_xfer_entry e = some_entry(r);

			iw_xfer_entry_put(&o, &e);
		}
	}
	must(!o.full);
	receive(r, buf, o.len);
}

static void data_send(struct run *r)
{
	static uint8_t piece[IW_XFER_DATA_HDR + IW_XFER_PIECE + 1];
	uint8_t how = take(r);
	size_t len = how & 1 ? IW_XFER_PIECE : how;

	iw_xfer_data_encode(piece, how >> 4, some_offset(r));
	receive(r, piece, IW_XFER_DATA_HDR + len);
}

static void complete_one(struct run *r, unsigned i)
{
	if (i >= r->nops)
		return;
	iw_xfer_completed(r->x, r->ops[i], 0, r->now);
	memmove(&r->ops[i], &r->ops[i + 1], (r->nops - i - 1) * sizeof(r->ops[0]));
	r->nops--;
}

/* Operations that are posted in response are completed too. */
static void complete_all(struct run *r)
{
	for (unsigned n = 0; r->nops > 0 && !r->closed; n++) {
		must(n < STEPS);
		complete_one(r, 0);
		act_all(r);
	}
}

static void step(struct run *r)
{
	const struct iw_fault lost = { .err = IW_E_CLOSED, .clause = "", .text = "lost" };
	uint8_t op = take(r);
	uint64_t then;

	r->now += 1000;
	switch (op % 16) {
	case 0:
	case 1:
		raw_message(r);
		break;
	case 2:
	case 3:
	case 4:
	case 5:
	case 6:
		made_message(r);
		break;
	case 7:
	case 8:
		data_send(r);
		break;
	case 9:
		complete_one(r, take(r) % 4);
		break;
	case 10:
	case 11:
		complete_all(r);
		break;
	case 12:
		if (r->storing && !r->ended)
			answer_store(r);
		break;
	case 13:
		if (r->loading && !r->ended)
			answer_load(r);
		break;
	case 14:
		then = r->now + IW_SEC(take(r));
		r->now = IW_MIN(iw_xfer_deadline(r->x), then);
		iw_xfer_timeout(r->x, r->now);
		break;
	case 15:
		if (take(r) == 255)
			iw_xfer_lost(r->x, &lost);
		break;
	}
	act_all(r);
}

static struct iw_hello hello(enum iw_xfer_role role, enum iw_xfer_mode mode)
{
	return (struct iw_hello){ .major_max = 1,
				  .major_min = 1,
				  .role = role,
				  .mode = mode,
				  .digest = IW_XFER_XXH3,
				  .recvs = 16,
				  .recv_size = IW_XFER_PIECE + IW_XFER_DATA_HDR,
				  .files = IW_XFER_FILES,
				  .ranges = IW_XFER_RANGES,
				  .patience_ms = 30000 };
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct run r;
	const struct iw_mem mem = { counted_alloc, counted_free, &r };
	const struct iw_fault lost = { .err = IW_E_CLOSED, .clause = "", .text = "lost" };
	struct iw_hello any;
	struct iw_fault why;
	uint8_t plan;

	/* The input is also decoded as Private Data. */
	(void)!iw_hello_decode(&any, data, len, &why);
	memset(&r, 0, sizeof(r));
	r.p = data;
	r.len = len;
	r.now = IW_SEC(1);
	plan = take(&r);
	r.cfg = (struct iw_xfer_cfg){ .mem = &mem,
				      .role = plan & 1 ? IW_XFER_SOURCE : IW_XFER_SINK,
				      .initiator = plan & 2,
				      .slots = 1 + (plan >> 4),
				      .sq_depth = 16,
				      .stall_ns = IW_SEC(30) };
	r.cfg.mine = hello(r.cfg.role, (enum iw_xfer_mode)(1 + (plan >> 2 & 3) % 3));
	r.cfg.peer = hello(plan & 1 ? IW_XFER_SINK : IW_XFER_SOURCE, r.cfg.mine.mode);
	must(iw_xfer_new(&r.x, &r.cfg, &why) == 0);
	r.bound = (plan >> 2 & 3) == 3;
	if (r.bound)
		iw_xfer_bind(r.x, channel);
	if (r.cfg.role == IW_XFER_SINK && r.cfg.initiator)
		must(iw_xfer_want_path(r.x, "want", 4) == 0);
	if (r.cfg.role == IW_XFER_SINK)
		iw_xfer_want_end(r.x);
	iw_xfer_start(r.x, NULL, r.now);
	act_all(&r);
	while (r.len > 0 && !r.closed)
		step(&r);
	iw_xfer_lost(r.x, &lost);
	act_all(&r);
	must(r.ended && r.closed);
	for (unsigned i = 0; i < r.nfiles; i++)
		must(r.file[i].result);
	iw_xfer_free(r.x);
	must(r.live == 0);
	return 0;
}
