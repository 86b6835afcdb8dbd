// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A source and a sink joined in memory. */
#include "unit/transfer-protocol_pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/num.h"

size_t xpair_allocated;

static void *plain_alloc(void *ctx, size_t size)
{
	(void)ctx;
	xpair_allocated += size;
	return calloc(1, size ? size : 1);
}

static void plain_free(void *ctx, void *p, size_t size)
{
	(void)ctx;
	if (p)
		xpair_allocated -= size;
	free(p);
}

static const struct iw_mem plain = { plain_alloc, plain_free, NULL };

uint64_t xpair_rand(struct xpair *p)
{
	uint64_t z = p->rng += 0x9e3779b97f4a7c15u; /* splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* --- contents --- */

static bool chunk_is_data(const struct xpair_file *f, uint64_t chunk)
{
	return f->data_every == 0 || chunk % f->data_every == 0;
}

/* No octet of the result is zero. */
static uint64_t next_data(uint64_t v)
{
	return (v * 0xbf58476d1ce4e5b9u + 0x9e3779b97f4a7c15u) | 0x0101010101010101u;
}

/*
 * Copies whole words, with a length known to the compiler: these tests spend most of their time
 * here and in hash().
 */
static void make_data(const struct xpair *p, const struct xpair_file *f, uint64_t off, uint8_t *buf,
		      uint32_t len)
{
	uint64_t v = (uint64_t)(f - p->file) * 1000003u + off;

	if (f->zeros || !chunk_is_data(f, off / IW_XFER_CHUNK)) {
		memset(buf, 0, len);
		return;
	}
	for (; len >= 8; buf += 8, len -= 8) {
		v = next_data(v);
		memcpy(buf, &v, 8);
	}
	v = next_data(v);
	memcpy(buf, &v, len);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x100000001b3u;
	return h ^ h >> 32;
}

static uint64_t hash(uint64_t h, const uint8_t *p, size_t len)
{
	uint64_t v;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&v, p, 8);
		h = mix(h, v);
	}
	if (len > 0) {
		v = 0;
		memcpy(&v, p, len);
		h = mix(h, v);
	}
	return h;
}

static struct iw_xfer_digest digest_of(const struct xpair *p, uint64_t h)
{
	struct iw_xfer_digest d = { .len = (uint8_t)iw_xfer_digest_len(p->source_cfg.mine.digest) };

	for (unsigned i = 0; i < d.len; i++)
		d.octets[i] = (uint8_t)(h >> (i % 8 * 8));
	return d;
}

static uint64_t fold(uint64_t sum, uint64_t off, uint64_t h)
{
	return sum + (off + 1) * 0x9e3779b97f4a7c15u + h * 3;
}

/* --- set-up --- */

static void add_recvs(struct xpair_side *s, uint32_t n, uint32_t size)
{
	for (; n > 0; n--) {
		assert_true(s->nrecvs < XPAIR_RECVS);
		s->recv[s->nrecvs].buf = malloc(size);
		s->recv[s->nrecvs].size = size;
		s->recv[s->nrecvs].posted = true;
		s->queue[(s->queue_head + s->nqueue++) % XPAIR_RECVS] = s->nrecvs;
		s->nrecvs++;
	}
}

static void repost(struct xpair_side *s, uint32_t i)
{
	assert_true(i < s->nrecvs && !s->recv[i].posted);
	s->recv[i].posted = true;
	s->queue[(s->queue_head + s->nqueue++) % XPAIR_RECVS] = i;
}

static struct iw_hello make_hello(const struct xpair_opts *o, enum iw_xfer_role role,
				  bool initiator)
{
	bool big = initiator && role == IW_XFER_SINK && o->mode == IW_XFER_SEND;
	struct iw_hello h = { .major_max = IW_XFER_MAJOR,
			      .major_min = IW_XFER_MAJOR_MIN,
			      .role = role,
			      .mode = o->mode,
			      .digest = o->digest };

	h.recvs = !initiator ? 2 : big ? 64 : 16;
	h.recv_size = !initiator ? IW_XFER_FIRST_RECV
		      : big      ? IW_XFER_PIECE + IW_XFER_DATA_HDR
				 : IW_XFER_MSG_MAX;
	h.files = IW_XFER_FILES;
	h.ranges = IW_XFER_RANGES;
	h.patience_ms = 30000;
	return h;
}

void xpair_init(struct xpair *p, const struct xpair_opts *o)
{
	struct iw_fault why;

	memset(p, 0, sizeof(*p));
	p->rng = o->seed;
	p->now = IW_SEC(1000);
	p->next_stag = 0x1000;
	p->source_cfg = (struct iw_xfer_cfg){ .mem = &plain,
					      .role = IW_XFER_SOURCE,
					      .initiator = !o->pull,
					      .slots = o->source_slots ? o->source_slots : 4,
					      .sq_depth = 32,
					      .stall_ns = IW_SEC(30),
					      .opts = o->opts,
					      .listed = o->listed,
					      .listed_len = o->listed_len,
					      .path = o->pull ? NULL : "in/here" };
	p->sink_cfg = (struct iw_xfer_cfg){ .mem = &plain,
					    .role = IW_XFER_SINK,
					    .initiator = o->pull,
					    .slots = o->sink_slots ? o->sink_slots : 8,
					    .sq_depth = 16,
					    .stall_ns = IW_SEC(30) };
	p->source_cfg.mine = p->sink_cfg.peer = make_hello(o, IW_XFER_SOURCE, !o->pull);
	p->sink_cfg.mine = p->source_cfg.peer = make_hello(o, IW_XFER_SINK, o->pull);
	assert_int_equal(iw_xfer_new(&p->source.x, &p->source_cfg, &why), 0);
	assert_int_equal(iw_xfer_new(&p->sink.x, &p->sink_cfg, &why), 0);
	p->source.sq_depth = p->source_cfg.sq_depth;
	p->sink.sq_depth = p->sink_cfg.sq_depth;
	add_recvs(&p->source, p->source_cfg.mine.recvs, p->source_cfg.mine.recv_size);
	add_recvs(&p->sink, p->sink_cfg.mine.recvs, p->sink_cfg.mine.recv_size);
	if (o->pull) {
		assert_int_equal(iw_xfer_want_path(p->sink.x, "some/where", 10), 0);
		assert_int_equal(iw_xfer_want_path(p->sink.x, "", 0), 0);
		iw_xfer_want_end(p->sink.x);
	}
	iw_xfer_start(p->source.x, p->source_cfg.initiator ? &p->source_cfg.peer : NULL, p->now);
	iw_xfer_start(p->sink.x, p->sink_cfg.initiator ? &p->sink_cfg.peer : NULL, p->now);
}

static bool digest_message(void *ctx, const uint8_t *msg, size_t len, struct iw_xfer_digest *out)
{
	*out = digest_of(ctx, hash(2, msg, len));
	return true;
}

void xpair_seal(struct xpair *p)
{
	struct xpair_side *sides[] = { &p->source, &p->sink };

	for (size_t n = 0; n < 2; n++) {
		struct iw_xfer_cfg *cfg = n == 0 ? &p->source_cfg : &p->sink_cfg;
		struct iw_fault why;

		iw_xfer_free(sides[n]->x);
		cfg->digest = digest_message;
		cfg->digest_ctx = p;
		assert_int_equal(iw_xfer_new(&sides[n]->x, cfg, &why), 0);
		if (cfg->initiator && cfg->role == IW_XFER_SINK) {
			assert_int_equal(iw_xfer_want_path(sides[n]->x, "some/where", 10), 0);
			iw_xfer_want_end(sides[n]->x);
		}
		iw_xfer_start(sides[n]->x, cfg->initiator ? &cfg->peer : NULL, p->now);
	}
}

struct xpair_file *xpair_add(struct xpair *p, enum iw_xfer_kind kind, const char *name,
			     uint64_t size)
{
	struct xpair_file *f = &p->file[p->nfiles++];

	assert_true(p->nfiles <= XPAIR_FILES);
	f->kind = kind;
	f->size = size;
	strncpy(f->name, name, sizeof(f->name) - 1);
	return f;
}

void xpair_fini(struct xpair *p)
{
	struct xpair_side *sides[] = { &p->source, &p->sink };

	for (size_t n = 0; n < 2; n++) {
		iw_xfer_free(sides[n]->x);
		for (uint32_t i = 0; i < sides[n]->nrecvs; i++)
			free(sides[n]->recv[i].buf);
		for (size_t i = 0; i < IW_XFER_WINDOWS; i++)
			free(sides[n]->slot[i]);
	}
}

/* --- actions --- */

static uint8_t *slot_mem(struct xpair_side *s, uint32_t i)
{
	assert_true(i < IW_XFER_WINDOWS);
	if (!s->slot[i])
		s->slot[i] = calloc(1, IW_XFER_CHUNK);
	return s->slot[i];
}

static void next_file(struct xpair *p)
{
	struct xpair_file *f = &p->file[p->next];
	struct iw_xfer_meta m;

	if (p->next == p->nfiles && p->more_later)
		return;
	if (p->next == p->nfiles) {
		iw_xfer_no_more(p->source.x, p->now);
		return;
	}
	p->next++;
	m = (struct iw_xfer_meta){ .kind = f->kind,
				   .name = f->name,
				   .name_len = strlen(f->name),
				   .top = true,
				   .mode = 0644,
				   .size = f->kind == IW_XFER_FILE ? f->size : 0,
				   .mtime_s = -5,
				   .mtime_ns = 7 };
	if (f->kind == IW_XFER_PACK) {
		m.target = (const char *)f->list;
		m.target_len = f->list_len;
		m.members = 3;
	} else if (f->kind == IW_XFER_SYMLINK) {
		m.target = "to";
		m.target_len = 2;
	}
	if (f->mishap == CANNOT_OPEN)
		iw_xfer_add_failed(p->source.x, &m, f, IW_XFER_CODE_NOENT, "gone", p->now);
	else
		iw_xfer_add(p->source.x, &m, f, p->now);
}

static void next_range(struct xpair *p, const struct iw_xfer_act *a)
{
	struct xpair_file *f = a->file;
	uint64_t chunk = a->off / IW_XFER_CHUNK, end;

	if (f->range_late)
		return;
	if (f->kind == IW_XFER_STREAM) {
		iw_xfer_range(p->source.x, a->id, a->off, 2 * IW_XFER_CHUNK, false);
		return;
	}
	if (f->kind == IW_XFER_PACK) {
		iw_xfer_range(p->source.x, a->id, 0, IW_XFER_CHUNK, true);
		return;
	}
	if (f->data_every == 0) {
		uint64_t off = IW_MAX(a->off, f->source_had * IW_XFER_CHUNK),
			 other = f->differs * IW_XFER_CHUNK;

		assert_int_equal(f->source_had, f->had);
		if (f->differs > 0 && a->off <= other)
			iw_xfer_range(p->source.x, a->id, other, IW_XFER_CHUNK, false);
		else
			iw_xfer_range(p->source.x, a->id, off, f->size - off, true);
		return;
	}
	chunk = (chunk + f->data_every - 1) / f->data_every * f->data_every;
	if (chunk * IW_XFER_CHUNK >= f->size) {
		iw_xfer_range(p->source.x, a->id, a->off, 0, true);
		return;
	}
	end = IW_MIN((chunk + 1) * IW_XFER_CHUNK, f->size);
	iw_xfer_range(p->source.x, a->id, chunk * IW_XFER_CHUNK, end - chunk * IW_XFER_CHUNK,
		      false);
}

static void do_load(struct xpair *p, const struct iw_xfer_act *a)
{
	struct xpair_file *f = a->file;
	struct iw_xfer_chunk l = { .len = (uint32_t)a->len };
	uint8_t *buf = slot_mem(&p->source, a->slot);
	uint64_t h;

	assert_true(a->len <= IW_XFER_CHUNK);
	if (f->mishap == SHRINKS) {
		iw_xfer_file_failed(p->source.x, a->id, IW_XFER_CODE_CHANGED, "shrank", p->now);
		return;
	}
	if (iw_xfer_is_stream(f->kind))
		l.len = (uint32_t)(f->size > a->off ? IW_MIN(f->size - a->off, a->len) : 0);
	else
		assert_true(a->off + a->len <= f->size);
	make_data(p, f, a->off, buf, l.len);
	l.zero = l.len > 0 && buf[0] == 0;
	if (l.len > 0 && !l.zero) {
		h = hash(1, buf, l.len);
		l.digest = digest_of(p, h);
		buf[l.len / 2] ^= p->spoil;
		f->source_fold = fold(f->source_fold, a->off, h);
	}
	/* An answer about another file, such as that of an earlier LOAD, is ignored. */
	iw_xfer_loaded(p->source.x, a->id + 1, a->slot, &(struct iw_xfer_chunk){ .len = 1 },
		       p->now);
	iw_xfer_loaded(p->source.x, a->id, a->slot, &l, p->now);
}

/* Chunks that the sink already has are part of the digest, as if they were moved. */
static void do_have(struct xpair *p, const struct iw_xfer_act *a)
{
	struct xpair_file *f = a->file;
	size_t n = (size_t)((a->len + IW_XFER_CHUNK - 1) / IW_XFER_CHUNK);

	assert_int_equal(a->off, f->source_had * IW_XFER_CHUNK);
	assert_int_equal(a->name_len, n * iw_xfer_digest_len(p->source_cfg.mine.digest));
	for (size_t i = 0; i < n; i++, f->source_had++) {
		uint64_t off = f->source_had * IW_XFER_CHUNK;

		if (f->differs > 0 && f->differs == f->source_had)
			continue;
		f->source_fold = fold(f->source_fold, off, 77 + i);
		iw_xfer_had(p->source.x, a->id, IW_MIN(f->size - off, (uint64_t)IW_XFER_CHUNK),
			    p->now);
	}
}

static void have(struct xpair *p, struct xpair_file *f, uint32_t id)
{
	uint8_t digests[64 * IW_XFER_DIGEST_MAX] = { 0 };

	assert_true(f->had <= 64);
	assert_true(iw_xfer_have(p->sink.x, id, 0, digests, (size_t)f->had));
	for (uint64_t i = 0; i < f->had; i++)
		if (f->differs == 0 || f->differs != i)
			f->sink_fold = fold(f->sink_fold, i * IW_XFER_CHUNK, 77 + i);
}

static void do_store(struct xpair *p, const struct iw_xfer_act *a)
{
	struct xpair_file *f = a->file;
	uint64_t h = 1;
	uint32_t len = 0;
	struct iw_xfer_digest d;

	assert_true(a->npieces > 0);
	for (size_t i = 0; i < a->npieces; i++) {
		const struct iw_xfer_piece *piece = &a->piece[i];

		if (!piece->in_recv)
			assert_false(p->sink.reg[piece->recv].live); /* RFC 5042 6.2.2 */
		h = hash(h,
			 piece->in_recv ? p->sink.recv[piece->recv].buf + IW_XFER_DATA_HDR
					: slot_mem(&p->sink, piece->recv),
			 piece->len);
		len += piece->len;
	}
	assert_int_equal(len, a->len);
	d = digest_of(p, h);
	f->stores++;
	if (f->mishap == DISK_FULL && f->stores == 2) {
		iw_xfer_file_failed(p->sink.x, a->id, IW_XFER_CODE_SPACE, "disk full", p->now);
	} else if (memcmp(d.octets, a->digest.octets, d.len) != 0) {
		iw_xfer_file_failed(p->sink.x, a->id, IW_XFER_CODE_DIGEST, "chunk", p->now);
	} else {
		f->sink_fold = fold(f->sink_fold, a->off, h);
		f->high = IW_MAX(f->high, a->off + len);
		iw_xfer_stored(p->sink.x, true, p->now);
	}
	for (size_t i = 0; i < a->npieces; i++)
		if (a->piece[i].in_recv)
			repost(&p->sink, a->piece[i].recv);
}

static void do_create(struct xpair *p, const struct iw_xfer_act *a)
{
	struct xpair_file *f = NULL;

	for (unsigned i = 0; i < p->nfiles; i++)
		if (strlen(p->file[i].name) == a->meta->name_len &&
		    memcmp(p->file[i].name, a->meta->name, a->meta->name_len) == 0)
			f = &p->file[i];
	p->creates++;
	if (p->tolerant &&
	    (!f || f->created || (f->kind == IW_XFER_FILE && f->size != a->meta->size))) {
		iw_xfer_file_failed(p->sink.x, a->id, IW_XFER_CODE_NAME, "unheard of", p->now);
		return;
	}
	assert_non_null(f);
	if (f->kind == IW_XFER_FILE && !p->tolerant && !p->any_meta) {
		assert_int_equal(a->meta->mode, 0644);
		assert_int_equal(a->meta->size, f->size);
		assert_true(a->meta->mtime_s == -5 && a->meta->mtime_ns == 7);
	}
	if (f->mishap == EXISTS)
		iw_xfer_file_failed(p->sink.x, a->id, IW_XFER_CODE_SAME, NULL, p->now);
	else if (f->mishap == CANNOT_CREATE)
		iw_xfer_file_failed(p->sink.x, a->id, IW_XFER_CODE_PERM, "no", p->now);
	else if (!iw_xfer_has_data(f->kind))
		iw_xfer_made(p->sink.x, a->id, NULL, p->now);
	else {
		if (f->had > 0)
			have(p, f, a->id);
		if (f->kind == IW_XFER_PACK)
			iw_xfer_wanted(p->sink.x, a->id, &f->want, 1);
		f->created = true;
		iw_xfer_created(p->sink.x, a->id, f, p->now);
	}
}

static void do_commit(struct xpair *p, const struct iw_xfer_act *a)
{
	struct xpair_file *f = a->file;
	struct iw_xfer_digest d = digest_of(p, f->sink_fold);

	assert_false(f->committed || f->abandoned);
	if (f->mishap == CANNOT_COMMIT) {
		iw_xfer_file_failed(p->sink.x, a->id, IW_XFER_CODE_IO, "rename", p->now);
		return;
	}
	if (p->tolerant && (a->size != f->size || memcmp(d.octets, a->digest.octets, d.len) != 0)) {
		iw_xfer_file_failed(p->sink.x, a->id, IW_XFER_CODE_DIGEST, "file", p->now);
		return;
	}
	assert_int_equal(a->size, f->size);
	assert_memory_equal(d.octets, a->digest.octets, d.len);
	assert_true(f->sink_fold == f->source_fold);
	f->committed = true;
	iw_xfer_committed(p->sink.x, a->id, p->now);
}

static void do_result(struct xpair *p, bool source, const struct iw_xfer_act *a)
{
	struct xpair_file *f = a->file;

	strncpy(p->last_text, a->text, sizeof(p->last_text) - 1);
	for (unsigned i = 0; i < p->nfiles && !f; i++)
		if (strlen(p->file[i].name) == a->meta->name_len &&
		    memcmp(p->file[i].name, a->meta->name, a->meta->name_len) == 0)
			f = &p->file[i];
	if (!f)
		return; /* a name that only the test knows */
	if (p->tolerant && (source ? f->source_done : f->sink_done))
		return; /* two names were merged in transit */
	if (source) {
		assert_false(f->source_done);
		f->source_done = true;
		f->source_code = a->code;
	} else {
		assert_false(f->sink_done);
		f->sink_done = true;
		f->sink_code = a->code;
		strncpy(f->sink_text, a->text, sizeof(f->sink_text) - 1);
	}
}

static void push_op(struct xpair_side *s, const struct iw_xfer_act *a)
{
	assert_true(s->nops < s->sq_depth);
	s->op[(s->op_head + s->nops++) % XPAIR_OPS].act = *a;
	s->most_ops = IW_MAX(s->most_ops, s->nops);
}

static void do_register(struct xpair *p, struct xpair_side *s, const struct iw_xfer_act *a)
{
	uint64_t live = 0;

	assert_false(s->reg[a->slot].live);
	assert_true(a->len > 0 && a->len <= IW_XFER_CHUNK);
	(void)slot_mem(s, a->slot);
	s->reg[a->slot] = (struct xpair_reg){ .live = true,
					      .stag = p->next_stag++,
					      .to = a->to,
					      .len = (uint32_t)a->len,
					      .right = a->right };
	for (size_t i = 0; i < IW_XFER_WINDOWS; i++)
		live += s->reg[i].live;
	s->most_regs = IW_MAX(s->most_regs, live);
	iw_xfer_registered(s->x, a->slot, s->reg[a->slot].stag);
}

static void act(struct xpair *p, bool source, const struct iw_xfer_act *a)
{
	struct xpair_side *s = source ? &p->source : &p->sink;

	switch (a->type) {
	case IW_XFER_ACT_POST_RECVS:
		add_recvs(s, a->count, a->size32);
		break;
	case IW_XFER_ACT_REPOST:
		for (size_t i = 0; i < a->npieces; i++)
			repost(s, a->piece[i].recv);
		break;
	case IW_XFER_ACT_BEAT:
		s->beats++;
		push_op(s, a);
		break;
	case IW_XFER_ACT_SEND:
	case IW_XFER_ACT_DATA:
	case IW_XFER_ACT_WRITE:
	case IW_XFER_ACT_READ:
		push_op(s, a);
		break;
	case IW_XFER_ACT_REGISTER:
		do_register(p, s, a);
		break;
	case IW_XFER_ACT_REVOKE:
		assert_true(s->reg[a->slot].live);
		s->reg[a->slot].live = false;
		iw_xfer_written(s->x, a->slot, s->reg[a->slot].written);
		break;
	case IW_XFER_ACT_CLOSE:
		s->closed = true;
		break;
	case IW_XFER_ACT_DROP:
		s->dropped = true;
		break;
	case IW_XFER_ACT_PATH:
		assert_true(p->paths == 0 ? a->name_len == 10 : a->name_len == 0);
		p->paths++;
		break;
	case IW_XFER_ACT_NEXT_FILE:
		next_file(p);
		break;
	case IW_XFER_ACT_NEXT_RANGE:
		next_range(p, a);
		break;
	case IW_XFER_ACT_LOAD:
		if (p->hold_load > 0) {
			assert_int_equal(p->held_load_for, 0);
			p->held_load = *a;
			p->held_load_for = p->hold_load;
		} else {
			do_load(p, a);
		}
		break;
	case IW_XFER_ACT_FINISH: {
		struct xpair_file *f = a->file;
		struct iw_xfer_digest d = digest_of(p, f->source_fold);

		assert_int_equal(a->size, f->size);
		if (f->mishap == CHANGES)
			iw_xfer_file_failed(p->source.x, a->id, IW_XFER_CODE_CHANGED, "touched",
					    p->now);
		else
			iw_xfer_finished(p->source.x, a->id, &d, p->now);
		break;
	}
	case IW_XFER_ACT_HAVE:
		do_have(p, a);
		break;
	case IW_XFER_ACT_WANTED: {
		struct xpair_file *f = a->file;

		assert_int_equal(a->name_len, 1);
		f->wanted = (uint8_t)a->name[0];
		break;
	}
	case IW_XFER_ACT_FINAL:
		p->finals++;
		iw_xfer_gone(p->sink.x, p->gone, p->gone_len, 0, 0);
		iw_xfer_final(p->sink.x, 3, 0, p->now);
		break;
	case IW_XFER_ACT_GONE:
	case IW_XFER_ACT_REMOVE:
		assert_non_null(p->on_name);
		p->on_name(p, source, a->name, a->name_len);
		break;
	case IW_XFER_ACT_OPENED:
		assert_false(p->opened);
		p->opts = a->opts;
		p->opened = true;
		memcpy(p->path, a->name, a->name_len);
		break;
	case IW_XFER_ACT_CREATE:
		do_create(p, a);
		break;
	case IW_XFER_ACT_STORE:
		if (p->hold_store > 0) {
			assert_int_equal(p->held_for, 0);
			p->held = *a;
			p->held_for = p->hold_store;
		} else {
			do_store(p, a);
		}
		break;
	case IW_XFER_ACT_COMMIT:
		do_commit(p, a);
		break;
	case IW_XFER_ACT_ABANDON: {
		struct xpair_file *f = a->file;

		assert_false(f->committed || f->abandoned);
		f->abandoned = true;
		break;
	}
	case IW_XFER_ACT_RESULT:
		do_result(p, source, a);
		break;
	case IW_XFER_ACT_END:
		assert_false(s->ended);
		s->ended = true;
		s->fault = a->fault;
		break;
	}
}

/* --- the wire --- */

static struct xpair_reg *find_reg(struct xpair_side *s, uint32_t stag, uint32_t *slot)
{
	for (uint32_t i = 0; i < IW_XFER_WINDOWS; i++) {
		if (s->reg[i].live && s->reg[i].stag == stag) {
			*slot = i;
			return &s->reg[i];
		}
	}
	return NULL;
}

/* A real queue pair would send a Terminate. */
static void terminate(struct xpair *p)
{
	const struct iw_fault why = { .err = IW_E_PEER_TERMINATE,
				      .clause = "",
				      .text = "terminated" };

	iw_xfer_lost(p->source.x, &why);
	iw_xfer_lost(p->sink.x, &why);
}

static void deliver(struct xpair *p, struct xpair_side *from, const struct iw_xfer_act *a)
{
	struct xpair_side *to = from == &p->source ? &p->sink : &p->source;
	uint32_t i;
	size_t len;
	uint8_t *buf;

	from->sends++;
	len = a->msg_len + (size_t)(a->type == IW_XFER_ACT_DATA ? a->len : 0);
	if (p->tolerant && (to->nqueue == 0 || len > to->recv[to->queue[to->queue_head]].size)) {
		terminate(p);
		return;
	}
	assert_true(to->nqueue > 0); /* the credit was respected */
	i = to->queue[to->queue_head];
	assert_true(len <= to->recv[i].size);
	buf = to->recv[i].buf;
	memcpy(buf, a->msg, a->msg_len);
	if (a->type == IW_XFER_ACT_DATA)
		memcpy(buf + a->msg_len, slot_mem(from, a->slot) + a->slot_off, (size_t)a->len);
	if (p->meddle && !p->meddle(p, from == &p->source, buf, &len, to->recv[i].size))
		return;
	to->queue_head = (to->queue_head + 1) % XPAIR_RECVS;
	to->nqueue--;
	to->recv[i].posted = false;
	if (iw_xfer_received(to->x, i, buf, len, p->now) == IW_XFER_RECV_REPOST)
		repost(to, i);
}

void xpair_inject(struct xpair *p, struct xpair_side *to, const uint8_t *msg, size_t len)
{
	uint32_t i;

	assert_true(to->nqueue > 0);
	i = to->queue[to->queue_head];
	assert_true(len <= to->recv[i].size);
	memcpy(to->recv[i].buf, msg, len);
	to->queue_head = (to->queue_head + 1) % XPAIR_RECVS;
	to->nqueue--;
	to->recv[i].posted = false;
	if (iw_xfer_received(to->x, i, to->recv[i].buf, len, p->now) == IW_XFER_RECV_REPOST)
		repost(to, i);
}

/* Performs and completes one operation of the send queue. */
static bool move_op(struct xpair *p, struct xpair_side *from)
{
	struct xpair_side *to = from == &p->source ? &p->sink : &p->source;
	const struct iw_xfer_act a = from->op[from->op_head].act;
	struct xpair_reg *r;
	uint32_t slot = 0;

	if (from->nops == 0)
		return false;
	if (p->tolerant && (a.type == IW_XFER_ACT_WRITE || a.type == IW_XFER_ACT_READ)) {
		r = find_reg(to, a.stag, &slot);
		if (!r ||
		    r->right != (a.type == IW_XFER_ACT_WRITE ? IW_XFER_RIGHT_REMOTE_WRITE
							     : IW_XFER_RIGHT_REMOTE_READ) ||
		    a.to < r->to || a.to + a.len > r->to + r->len)
			terminate(p);
	}
	from->op_head = (from->op_head + 1) % XPAIR_OPS;
	from->nops--;
	if (to->closed || to->dropped || iw_xfer_is_over(to->x) ||
	    (p->tolerant && to->nqueue == 0)) {
		iw_xfer_completed(from->x, a.cookie, IW_E_CANCELED, p->now);
		return true;
	}
	switch (a.type) {
	case IW_XFER_ACT_SEND:
	case IW_XFER_ACT_DATA:
		deliver(p, from, &a);
		break;
	case IW_XFER_ACT_BEAT:
		break;
	case IW_XFER_ACT_WRITE:
		r = find_reg(to, a.stag, &slot);
		if (!r && p->tolerant)
			return true;
		assert_non_null(r);
		if (p->tolerant && (a.to < r->to || a.to + a.len > r->to + r->len ||
				    r->right != IW_XFER_RIGHT_REMOTE_WRITE))
			return true;
		assert_true(r->right == IW_XFER_RIGHT_REMOTE_WRITE && a.to >= r->to &&
			    a.to + a.len <= r->to + r->len);
		memcpy(slot_mem(to, slot) + (a.to - r->to), slot_mem(from, a.slot), (size_t)a.len);
		if (a.to == r->to)
			r->written = IW_MAX(r->written, a.len);
		break;
	case IW_XFER_ACT_READ:
		r = find_reg(to, a.stag, &slot);
		if (!r && p->tolerant)
			return true;
		assert_non_null(r);
		if (p->tolerant && (a.to < r->to || a.to + a.len > r->to + r->len ||
				    r->right != IW_XFER_RIGHT_REMOTE_READ))
			return true;
		assert_true(r->right == IW_XFER_RIGHT_REMOTE_READ && a.to >= r->to &&
			    a.to + a.len <= r->to + r->len);
		assert_true(from->reg[a.slot].live &&
			    from->reg[a.slot].right == IW_XFER_RIGHT_READ_SINK);
		memcpy(slot_mem(from, a.slot), slot_mem(to, slot) + (a.to - r->to), (size_t)a.len);
		break;
	default:
		fail_msg("action %d in the send queue", (int)a.type);
	}
	iw_xfer_completed(from->x, a.cookie, 0, p->now);
	return true;
}

static bool take_actions(struct xpair *p, bool source)
{
	struct xpair_side *s = source ? &p->source : &p->sink;
	unsigned n = 1 + (unsigned)(xpair_rand(p) % 4);
	struct iw_xfer_act a;
	bool any = false;

	while (n-- > 0 && iw_xfer_next(s->x, &a, p->now)) {
		any = true;
		act(p, source, &a);
	}
	return any;
}

static bool answer_held(struct xpair *p)
{
	if (p->held_for > 0 && --p->held_for == 0) {
		do_store(p, &p->held);
		return true;
	}
	if (p->held_load_for > 0 && --p->held_load_for == 0) {
		do_load(p, &p->held_load);
		return true;
	}
	return p->held_for > 0 || p->held_load_for > 0;
}

/* Nothing can move: advances the time to the next deadline. */
static bool pass_time(struct xpair *p)
{
	uint64_t a = iw_xfer_deadline(p->source.x), b = iw_xfer_deadline(p->sink.x);

	if (p->source.closed || p->source.dropped || p->sink.closed || p->sink.dropped) {
		const struct iw_fault none = { .err = IW_OK };

		if (!iw_xfer_is_over(p->source.x) || !iw_xfer_is_over(p->sink.x)) {
			iw_xfer_lost(p->source.x, &none);
			iw_xfer_lost(p->sink.x, &none);
			return true;
		}
		return false;
	}
	if (a == IW_TIME_NEVER && b == IW_TIME_NEVER)
		return false;
	p->now = IW_MAX(p->now, IW_MIN(a, b));
	iw_xfer_timeout(p->source.x, p->now);
	iw_xfer_timeout(p->sink.x, p->now);
	return true;
}

void xpair_act_all(struct xpair *p, struct xpair_side *s)
{
	struct iw_xfer_act a;

	for (;;) {
		while (p->lone && s->nops > 0) {
			const struct iw_xfer_act *op = &s->op[s->op_head].act;

			if (op->type != IW_XFER_ACT_SEND && op->type != IW_XFER_ACT_DATA &&
			    op->type != IW_XFER_ACT_BEAT)
				break;
			iw_xfer_completed(s->x, op->cookie, 0, p->now);
			s->op_head = (s->op_head + 1) % XPAIR_OPS;
			s->nops--;
		}
		if (!iw_xfer_next(s->x, &a, p->now))
			return;
		act(p, s == &p->source, &a);
	}
}

void xpair_drain(struct xpair *p)
{
	xpair_act_all(p, &p->source);
	xpair_act_all(p, &p->sink);
}

void xpair_run(struct xpair *p)
{
	unsigned idle = 0;

	for (uint64_t steps = 0; idle < 64; steps++) {
		bool any = false;

		if (p->stop_after > 0 && steps == p->stop_after)
			return;

		assert_true(steps < 20000000);
		p->now += 1000;
		switch (xpair_rand(p) % 5) {
		case 0:
			any = take_actions(p, true);
			break;
		case 1:
			any = take_actions(p, false);
			break;
		case 2:
			any = move_op(p, &p->source);
			break;
		case 3:
			any = move_op(p, &p->sink);
			break;
		case 4:
			any = answer_held(p);
			break;
		}
		idle = any ? 0 : idle + 1;
		if (idle == 64 && pass_time(p))
			idle = 0;
	}
}
