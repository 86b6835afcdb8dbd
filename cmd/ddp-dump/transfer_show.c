// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Messages of the transfer protocol (man/ddp-transfer.7) as a line, as JSON and key by key. Texts
 * from a peer become printable ASCII; malformed messages are not decoded. */
#include "ddp-dump/internal.h"

#include <string.h>

#include "cbor/cbor.h"
#include "cli/json.h"
#include "transfer/protocol/hello.h"
#include "transfer/protocol/msg.h"

/* Most entries and names of one message in a line. */
#define SHOWN 8

const struct iw_cap_transfer *iw_cap_transfer_of(const struct iw_cap_event *ev)
{
	const struct iw_cap_transfer *m = NULL;

	if (ev->kind == IW_CAP_MPA)
		m = &ev->mpa.transfer;
	else if (ev->kind == IW_CAP_SESSION)
		m = &ev->session.transfer;
	else if (ev->kind == IW_CAP_DDP)
		m = &ev->ddp.transfer;
	return m && m->kind != IW_CAP_TRANSFER_NONE ? m : NULL;
}

static const char *kind_name(uint32_t kind)
{
	static const char *const names[] = { "file",          "directory", "stream",
					     "symbolic link", "hard link", "pack" };

	return kind < IW_ARRAY_LEN(names) ? names[kind] : "unknown";
}

static const struct {
	uint32_t bit;
	const char *name;
} options[] = {
	{ IW_XFER_OPT_FORCE, "force" },
	{ IW_XFER_OPT_MANY, "more than one source" },
	{ IW_XFER_OPT_NO_CLOBBER, "keep existing files" },
	{ IW_XFER_OPT_UPDATE, "keep newer files" },
	{ IW_XFER_OPT_DRY_RUN, "change nothing" },
	{ IW_XFER_OPT_DELETE, "remove files that are not sent" },
	{ IW_XFER_OPT_OWNER, "owners" },
	{ IW_XFER_OPT_XATTR, "extended attributes" },
	{ IW_XFER_OPT_VERIFY, "verify" },
	{ IW_XFER_OPT_SETID, "set-id bits" },
	{ IW_XFER_OPT_NAMES, "report removed names" },
	{ IW_XFER_OPT_LISTED, "remove only listed names" },
	{ IW_XFER_OPT_CONTENTS, "contents of a directory" },
	{ IW_XFER_OPT_CHECKSUM, "compare by digest" },
	{ IW_XFER_OPT_TOTAL, "report the total" },
};

/* A number or a string under a key; false: the key is absent or has another type. */
static bool get_number(const struct iw_cbor_rec *rec, unsigned key, uint64_t *v)
{
	return iw_cbor_has(rec, key) && iw_cbor_get_uint(rec, key, UINT64_MAX, v, NULL) == 0;
}

static bool get_octets(const struct iw_cbor_rec *rec, unsigned key, enum iw_cbor_kind kind,
		       const uint8_t **p, size_t *len)
{
	return iw_cbor_has(rec, key) &&
	       iw_cbor_get_string(rec, key, kind, SIZE_MAX, p, len, NULL) == 0;
}

static bool get_flag(const struct iw_cbor_rec *rec, unsigned key)
{
	bool v = false;

	return iw_cbor_has(rec, key) && iw_cbor_get_bool(rec, key, &v, NULL) == 0 && v;
}

/* --- a line --- */

static void quote(struct iw_text *t, const void *p, size_t len)
{
	iw_text_str(t, "\"");
	iw_cap_octets_print(t, p, IW_MIN(len, (size_t)255));
	iw_text_str(t, len > 255 ? "...\"" : "\"");
}

static void print_code(struct iw_text *t, uint32_t code)
{
	iw_text_fmt(t, "%s (%s)", iw_xfer_code_name(code), iw_xfer_code_text(code));
}

static void print_hello(struct iw_text *t, const struct iw_cap_transfer *m)
{
	struct iw_hello h;

	if (iw_hello_decode(&h, m->p, m->len, NULL) < 0)
		return;
	iw_text_fmt(t, h.major_min == h.major_max ? " version %u" : " versions %u to ",
		    h.major_min);
	if (h.major_min != h.major_max)
		iw_text_u64(t, h.major_max);
	if (h.code != IW_XFER_CODE_OK) {
		iw_text_str(t, ", rejected: ");
		print_code(t, h.code);
		iw_text_str(t, " ");
		quote(t, h.text, strlen(h.text));
		return;
	}
	if (!h.role) /* an unknown version of the protocol */
		return;
	iw_text_fmt(t, ", %s, mode %s, digest %s, transfer ", iw_xfer_role_name(h.role),
		    iw_xfer_mode_name(h.mode), iw_xfer_digest_name(h.digest));
	iw_text_octets(t, h.id, sizeof(h.id));
	if (h.conn)
		iw_text_fmt(t, ", connection %u%s", h.conn, h.again ? " again" : "");
	iw_text_fmt(t, ", %u receives of %u octets", h.recvs, h.recv_size);
}

/* The members of a pack. */
static void print_members(struct iw_text *t, const struct iw_xfer_entry *pack)
{
	struct iw_cbor_in in = { .p = pack->list, .len = pack->list_len };
	struct iw_xfer_entries l = { .type = IW_XFER_MSG_FILES, .ends = true };
	struct iw_cbor_item head;
	struct iw_xfer_entry e;

	if (iw_cbor_next(&in, &head) <= 0 || head.kind != IW_CBOR_ARRAY)
		return;
	l.in = in;
	l.left = (size_t)IW_MIN(head.u, (uint64_t)IW_XFER_MEMBERS);
	iw_text_fmt(t, " of %U members:", (uint64_t)l.left);
	for (unsigned i = 0; i < SHOWN && iw_xfer_entries_next(&l, &e, NULL) > 0; i++) {
		iw_text_str(t, i ? ", " : " ");
		quote(t, e.name, e.name_len);
	}
	if (l.left)
		iw_text_fmt(t, " and %U more", (uint64_t)l.left);
}

static void print_entry(struct iw_text *t, const struct iw_xfer_entry *e)
{
	const char *sep = "";

#define PUT(field, ...)                                                                            \
	do {                                                                                       \
		if (e->has & IW_XFER_HAS(field)) {                                                 \
			iw_text_fmt(t, "%s", sep);                                                 \
			iw_text_fmt(t, __VA_ARGS__);                                               \
			sep = " ";                                                                 \
		}                                                                                  \
	} while (0)
	PUT(ID, "file %u", e->id);
	PUT(KIND, "%s", kind_name(e->kind));
	if (e->has & IW_XFER_HAS(LIST))
		print_members(t, e);
	if (e->has & IW_XFER_HAS(NAME) && !(e->has & IW_XFER_HAS(LIST))) {
		PUT(NAME, "%s", "");
		quote(t, e->name, e->name_len);
	}
	PUT(TARGET, "-> ");
	if (e->has & IW_XFER_HAS(TARGET))
		quote(t, e->target, e->target_len);
	PUT(SIZE, "size %U", e->size);
	PUT(OFF, "offset %U", e->off);
	PUT(LEN, "length %U", e->len);
	PUT(STAG, "STag %x", e->stag);
	PUT(ZERO, "zeros");
	PUT(DIGEST, "digest ");
	if (e->has & IW_XFER_HAS(DIGEST))
		iw_text_octets(t, e->digest.octets, e->digest.len);
	PUT(CHUNKS, "digests of chunks, %U octets", (uint64_t)e->chunks_len);
	PUT(XATTR, "extended attributes, %U octets", (uint64_t)e->xattr_len);
	PUT(SHARE, "part of %u", e->share);
	PUT(CODE, "%s", iw_xfer_code_name(e->code));
	PUT(TEXT, "%s", "");
	if (e->has & IW_XFER_HAS(TEXT))
		quote(t, e->text, e->text_len);
#undef PUT
}

static void print_list(struct iw_text *t, const struct iw_xfer_msg *m, unsigned key,
		       const char *before)
{
	struct iw_xfer_entry e;
	struct iw_xfer_entries l;

	if (iw_xfer_entries_open(&l, m, key, NULL) < 0)
		return;
	for (unsigned i = 0; i < SHOWN && iw_xfer_entries_next(&l, &e, NULL) > 0; i++) {
		iw_text_str(t, i ? "; " : before);
		print_entry(t, &e);
	}
	if (l.left)
		iw_text_fmt(t, "; and %U more", (uint64_t)l.left);
}

static void print_names(struct iw_text *t, const struct iw_xfer_msg *m)
{
	struct iw_cbor_in in;
	struct iw_cbor_item item;
	size_t left;

	if (!iw_cbor_has(&m->rec, IW_XFER_KEY_LIST) ||
	    iw_cbor_get_array(&m->rec, IW_XFER_KEY_LIST, &in, &left, NULL) < 0)
		return;
	for (unsigned i = 0;
	     i < SHOWN && left && iw_cbor_next(&in, &item) > 0 && item.kind == IW_CBOR_BYTES;
	     i++, left--) {
		iw_text_str(t, i ? ", " : ": ");
		quote(t, item.p, item.len);
	}
	if (left)
		iw_text_fmt(t, ", and %U more", (uint64_t)left);
}

static void print_open(struct iw_text *t, const struct iw_xfer_msg *m)
{
	const uint8_t *p;
	uint64_t v;
	size_t len;

	if (get_octets(&m->rec, IW_XFER_KEY_PATH, IW_CBOR_BYTES, &p, &len)) {
		iw_text_str(t, ", path ");
		quote(t, p, len);
	}
	if (get_number(&m->rec, IW_XFER_KEY_CONNS, &v))
		iw_text_fmt(t, ", connections %U", v);
	if (!get_number(&m->rec, IW_XFER_KEY_OPTS, &v))
		return;
	iw_text_fmt(t, ", options %U", v);
	for (size_t i = 0, n = 0; i < IW_ARRAY_LEN(options); i++)
		if (v & options[i].bit)
			iw_text_fmt(t, n++ ? ", %s" : ": %s", options[i].name);
}

static void print_counts(struct iw_text *t, const struct iw_xfer_msg *m)
{
	static const struct {
		unsigned key;
		const char *text;
	} rows[] = { { IW_XFER_KEY_FILES, ", %U files" },
		     { IW_XFER_KEY_FAILED, ", %U failed" },
		     { IW_XFER_KEY_GONE, ", %U removed" },
		     { IW_XFER_KEY_STAYED, ", %U kept" },
		     { IW_XFER_KEY_MADE, ", %U directories created" } };
	uint64_t v;

	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++)
		if (get_number(&m->rec, rows[i].key, &v))
			iw_text_fmt(t, rows[i].text, v);
}

static void print_abort(struct iw_text *t, const struct iw_xfer_msg *m)
{
	const uint8_t *p;
	uint64_t code;
	size_t len;

	if (get_number(&m->rec, IW_XFER_KEY_CODE, &code)) {
		iw_text_str(t, ": ");
		print_code(t, (uint32_t)IW_MIN(code, (uint64_t)UINT32_MAX));
	}
	if (get_octets(&m->rec, IW_XFER_KEY_TEXT, IW_CBOR_TEXT, &p, &len)) {
		iw_text_str(t, " ");
		quote(t, p, len);
	}
}

static void print_message(struct iw_text *t, const struct iw_cap_transfer *x)
{
	struct iw_xfer_msg m;

	if (iw_xfer_msg_decode(&m, x->p, x->len, NULL) < 0)
		return;
	if (m.type < IW_XFER_MSG_COUNT)
		iw_text_fmt(t, " %s", iw_xfer_msg_name(m.type));
	else
		iw_text_fmt(t, " type %u", m.type);
	iw_text_fmt(t, " credit %U", m.credit);
	if (m.resized)
		iw_text_fmt(t, ", receives of %u octets from message %U on", m.size, m.from);
	if (m.arrived || m.kept)
		iw_text_fmt(t, ", arrived %U, stored %U", m.arrived, m.kept);
	if (m.busy)
		iw_text_str(t, ", busy");
	if (m.answer)
		iw_text_str(t, ", asks for a message");
	if (m.paths > 0)
		iw_text_fmt(t, ", total %U in paths 1 to %U", m.total, m.paths);
	if (iw_cap_transfer_has_entries(m.type))
		print_list(t, &m, IW_XFER_KEY_LIST, ": ");
	switch (m.type) {
	case IW_XFER_MSG_OPEN:
		print_open(t, &m);
		break;
	case IW_XFER_MSG_GET:
	case IW_XFER_MSG_GONE:
	case IW_XFER_MSG_REMOVE:
		print_names(t, &m);
		if (m.type == IW_XFER_MSG_GET && get_flag(&m.rec, IW_XFER_KEY_LAST))
			iw_text_str(t, ", the last ones");
		break;
	case IW_XFER_MSG_DONE:
		print_list(t, &m, IW_XFER_KEY_ENDS, ", ended: ");
		break;
	case IW_XFER_MSG_BYE:
		print_counts(t, &m);
		break;
	case IW_XFER_MSG_ABORT:
		print_abort(t, &m);
		break;
	default:
		break;
	}
}

void iw_cap_transfer_print(struct iw_text *t, const struct iw_cap_transfer *m)
{
	iw_text_str(t, "ddp-transfer");
	if (m->malformed) {
		iw_text_fmt(t, " %s of %U octets, malformed",
			    m->kind == IW_CAP_TRANSFER_HELLO ? "Private Data" : "message",
			    (uint64_t)(m->len + m->digest_len));
		return;
	}
	switch (m->kind) {
	case IW_CAP_TRANSFER_NONE:
		return;
	case IW_CAP_TRANSFER_HELLO:
		print_hello(t, m);
		return;
	case IW_CAP_TRANSFER_MESSAGE:
		print_message(t, m);
		return;
	case IW_CAP_TRANSFER_DATA:
		iw_text_fmt(t, " data: file %u offset %U", m->file, m->offset);
		return;
	}
}

/* --- JSON --- */

#define KEY(name) ",\"" name "\":"

static void put_string(struct iw_text *t, const char *key, const void *p, size_t len)
{
	iw_text_str(t, key);
	iw_cap_json_string(t, p, len);
}

static void put_name(struct iw_text *t, const char *key, const char *s)
{
	put_string(t, key, s, strlen(s));
}

static void put_octets(struct iw_text *t, const char *key, const void *p, size_t len)
{
	iw_text_str(t, key);
	iw_text_str(t, "\"");
	iw_text_octets(t, p, len);
	iw_text_str(t, "\"");
}

/* Larger numbers, which a reader of JSON might round, become IW_JSON_MAX. */
static void put_number(struct iw_text *t, const char *key, uint64_t v)
{
	iw_text_str(t, key);
	iw_text_u64(t, IW_MIN(v, (uint64_t)IW_JSON_MAX));
}

static void put_signed(struct iw_text *t, const char *key, int64_t v)
{
	iw_text_str(t, key);
	if (v < 0)
		iw_text_str(t, "-");
	iw_text_u64(t, IW_MIN(v < 0 ? -(uint64_t)v : (uint64_t)v, (uint64_t)IW_JSON_MAX));
}

static void put_flag(struct iw_text *t, const char *key, bool v)
{
	iw_text_str(t, key);
	iw_text_str(t, v ? "true" : "false");
}

static void put_code(struct iw_text *t, uint32_t code)
{
	put_number(t, KEY("code"), code);
	put_name(t, KEY("code_name"), iw_xfer_code_name(code));
}

static void put_hello(struct iw_text *t, const struct iw_cap_transfer *m)
{
	struct iw_hello h;

	if (iw_hello_decode(&h, m->p, m->len, NULL) < 0)
		return;
	put_number(t, KEY("version_max"), h.major_max);
	put_number(t, KEY("version_min"), h.major_min);
	if (h.code != IW_XFER_CODE_OK) {
		put_code(t, h.code);
		put_name(t, KEY("reason"), h.text);
		return;
	}
	if (!h.role)
		return;
	put_name(t, KEY("role"), iw_xfer_role_name(h.role));
	put_name(t, KEY("mode"), iw_xfer_mode_name(h.mode));
	put_name(t, KEY("digest"), iw_xfer_digest_name(h.digest));
	put_octets(t, KEY("transfer_id"), h.id, sizeof(h.id));
	put_number(t, KEY("receives"), h.recvs);
	put_number(t, KEY("receive_octets"), h.recv_size);
	put_number(t, KEY("files_max"), h.files);
	put_number(t, KEY("ranges_max"), h.ranges);
	put_number(t, KEY("patience_ms"), h.patience_ms);
	if (h.conn)
		put_number(t, KEY("connection"), h.conn);
	if (h.again)
		put_flag(t, KEY("again"), true);
}

static void put_list(struct iw_text *t, struct iw_xfer_entries *l, const char *key);

/* The members of a pack have no list themselves. */
static void put_members(struct iw_text *t, const struct iw_xfer_entry *e)
{
	struct iw_cbor_in in = { .p = e->list, .len = e->list_len };
	struct iw_cbor_item head;
	struct iw_xfer_entries l = { .type = IW_XFER_MSG_FILES, .ends = true };

	if (iw_cbor_next(&in, &head) <= 0 || head.kind != IW_CBOR_ARRAY)
		return;
	l.in = in;
	l.left = (size_t)IW_MIN(head.u, (uint64_t)IW_XFER_MEMBERS);
	put_list(t, &l, KEY("members"));
}

static void put_entry(struct iw_text *t, const struct iw_xfer_entry *e, bool member)
{
	size_t begin = t->len;

#define PUT(field, fn, ...)                                                                        \
	do {                                                                                       \
		if (e->has & IW_XFER_HAS(field))                                                   \
			fn(t, __VA_ARGS__);                                                        \
	} while (0)
	PUT(ID, put_number, KEY("file"), e->id);
	PUT(NAME, put_string, KEY("name"), e->name, e->name_len);
	PUT(KIND, put_name, KEY("kind"), kind_name(e->kind));
	PUT(SIZE, put_number, KEY("size_octets"), e->size);
	PUT(OFF, put_number, KEY("offset_octets"), e->off);
	PUT(LEN, put_number, KEY("length_octets"), e->len);
	if (e->has & IW_XFER_HAS(STAG)) {
		iw_text_str(t, KEY("stag") "\"");
		iw_text_hex(t, e->stag, 8);
		iw_text_str(t, "\"");
	}
	PUT(DIGEST, put_octets, KEY("digest"), e->digest.octets, e->digest.len);
	PUT(ZERO, put_flag, KEY("zero"), e->zero);
	if (e->has & IW_XFER_HAS(CODE))
		put_code(t, e->code);
	PUT(TEXT, put_string, KEY("reason"), e->text, e->text_len);
	PUT(MODE, put_number, KEY("permissions"), e->mode);
	PUT(MTIME, put_signed, KEY("mtime_s"), e->mtime_s);
	PUT(MTIME_NS, put_number, KEY("mtime_ns"), e->mtime_ns);
	PUT(TOP, put_flag, KEY("named"), e->top);
	PUT(TARGET, put_string, KEY("target"), e->target, e->target_len);
	PUT(UID, put_number, KEY("uid"), e->uid);
	PUT(GID, put_number, KEY("gid"), e->gid);
	PUT(XATTR, put_number, KEY("xattr_octets"), e->xattr_len);
	PUT(IDENT, put_octets, KEY("ident"), e->ident, e->ident_len);
	PUT(WANTED, put_octets, KEY("wanted"), e->wanted, e->wanted_len);
	PUT(CODES, put_octets, KEY("codes"), e->codes, e->codes_len);
	PUT(SHARE, put_number, KEY("part_of"), e->share);
	PUT(CHUNKS, put_octets, KEY("digests"), e->chunks, e->chunks_len);
#undef PUT
	if (e->has & IW_XFER_HAS(LIST) && !member)
		put_members(t, e);
	/* There is no comma before the first key of an object. */
	if (t->len > begin)
		t->buf[begin] = '{';
	else
		iw_text_str(t, "{");
	iw_text_str(t, "}");
}

static void put_list(struct iw_text *t, struct iw_xfer_entries *l, const char *key)
{
	bool member = l->type == IW_XFER_MSG_FILES && l->ends;
	struct iw_xfer_entry e;

	iw_text_str(t, key);
	iw_text_str(t, "[");
	for (bool more = false; iw_xfer_entries_next(l, &e, NULL) > 0; more = true) {
		if (more)
			iw_text_str(t, ",");
		put_entry(t, &e, member);
	}
	iw_text_str(t, "]");
}

static void put_entries(struct iw_text *t, const struct iw_xfer_msg *m, unsigned from,
			const char *key)
{
	struct iw_xfer_entries l;

	if (iw_cbor_has(&m->rec, from) && iw_xfer_entries_open(&l, m, from, NULL) == 0)
		put_list(t, &l, key);
}

static void put_names(struct iw_text *t, const struct iw_xfer_msg *m)
{
	struct iw_cbor_in in;
	struct iw_cbor_item item;
	size_t left;

	if (!iw_cbor_has(&m->rec, IW_XFER_KEY_LIST) ||
	    iw_cbor_get_array(&m->rec, IW_XFER_KEY_LIST, &in, &left, NULL) < 0)
		return;
	iw_text_str(t, KEY("names") "[");
	for (bool more = false; left && iw_cbor_next(&in, &item) > 0 && item.kind == IW_CBOR_BYTES;
	     left--, more = true)
		put_string(t, more ? "," : "", item.p, item.len);
	iw_text_str(t, "]");
}

static void put_numbers(struct iw_text *t, const struct iw_xfer_msg *m)
{
	static const struct {
		uint32_t type;
		unsigned key;
		const char *name;
	} rows[] = {
		{ IW_XFER_MSG_OPEN, IW_XFER_KEY_OPTS, KEY("options") },
		{ IW_XFER_MSG_OPEN, IW_XFER_KEY_CONNS, KEY("connections") },
		{ IW_XFER_MSG_BYE, IW_XFER_KEY_FILES, KEY("files") },
		{ IW_XFER_MSG_BYE, IW_XFER_KEY_FAILED, KEY("failed") },
		{ IW_XFER_MSG_BYE, IW_XFER_KEY_GONE, KEY("removed") },
		{ IW_XFER_MSG_BYE, IW_XFER_KEY_STAYED, KEY("kept") },
		{ IW_XFER_MSG_BYE, IW_XFER_KEY_MADE, KEY("directories_created") },
	};
	uint64_t v;

	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++)
		if (rows[i].type == m->type && get_number(&m->rec, rows[i].key, &v))
			put_number(t, rows[i].name, v);
}

static void put_strings(struct iw_text *t, const struct iw_xfer_msg *m)
{
	const uint8_t *p;
	uint64_t code;
	size_t len;

	if (m->type == IW_XFER_MSG_OPEN &&
	    get_octets(&m->rec, IW_XFER_KEY_PATH, IW_CBOR_BYTES, &p, &len))
		put_string(t, KEY("path"), p, len);
	if (m->type != IW_XFER_MSG_ABORT)
		return;
	if (get_number(&m->rec, IW_XFER_KEY_CODE, &code))
		put_code(t, (uint32_t)IW_MIN(code, (uint64_t)UINT32_MAX));
	if (get_octets(&m->rec, IW_XFER_KEY_TEXT, IW_CBOR_TEXT, &p, &len))
		put_string(t, KEY("reason"), p, len);
}

static void put_message(struct iw_text *t, const struct iw_cap_transfer *x)
{
	struct iw_xfer_msg m;

	if (iw_xfer_msg_decode(&m, x->p, x->len, NULL) < 0)
		return;
	put_name(t, KEY("message"), iw_xfer_msg_name(m.type));
	put_number(t, KEY("type"), m.type);
	put_number(t, KEY("credit"), m.credit);
	if (m.resized) {
		put_number(t, KEY("receive_octets"), m.size);
		put_number(t, KEY("receives_from"), m.from);
	}
	if (iw_cbor_has(&m.rec, IW_XFER_KEY_ARRIVED))
		put_number(t, KEY("arrived_octets"), m.arrived);
	if (iw_cbor_has(&m.rec, IW_XFER_KEY_KEPT))
		put_number(t, KEY("stored_octets"), m.kept);
	if (m.type == IW_XFER_MSG_NOP && iw_cbor_has(&m.rec, IW_XFER_KEY_BUSY))
		put_flag(t, KEY("busy"), m.busy);
	if (m.type == IW_XFER_MSG_NOP && iw_cbor_has(&m.rec, IW_XFER_KEY_ANSWER))
		put_flag(t, KEY("answer"), m.answer);
	if (m.paths > 0) {
		put_number(t, KEY("total_octets"), m.total);
		put_number(t, KEY("total_paths"), m.paths);
	}
	if (iw_cap_transfer_has_entries(m.type))
		put_entries(t, &m, IW_XFER_KEY_LIST, KEY("entries"));
	if (m.type == IW_XFER_MSG_DONE)
		put_entries(t, &m, IW_XFER_KEY_ENDS, KEY("ended"));
	if (m.type == IW_XFER_MSG_GET || m.type == IW_XFER_MSG_GONE || m.type == IW_XFER_MSG_REMOVE)
		put_names(t, &m);
	if (m.type == IW_XFER_MSG_GET)
		put_flag(t, KEY("last"), get_flag(&m.rec, IW_XFER_KEY_LAST));
	put_numbers(t, &m);
	put_strings(t, &m);
}

void iw_cap_transfer_json(struct iw_text *t, const struct iw_cap_transfer *m)
{
	iw_text_str(t, "{\"octets\":");
	/* Only the first octets of a data message are known. */
	iw_text_u64(t, m->kind == IW_CAP_TRANSFER_DATA ? IW_XFER_DATA_HDR : m->len + m->digest_len);
	if (m->malformed)
		put_flag(t, KEY("malformed"), true);
	else if (m->kind == IW_CAP_TRANSFER_HELLO)
		put_hello(t, m);
	else if (m->kind == IW_CAP_TRANSFER_MESSAGE)
		put_message(t, m);
	if (m->kind == IW_CAP_TRANSFER_DATA && !m->malformed) {
		put_name(t, KEY("message"), "data");
		put_number(t, KEY("file"), m->file);
		put_number(t, KEY("offset_octets"), m->offset);
	}
	iw_text_str(t, "}");
}

/* --- key by key --- */

#define PRIVATE  "ddp-transfer(7) PRIVATE DATA"
#define MESSAGES "ddp-transfer(7) MESSAGES"
#define CREDIT   "ddp-transfer(7) Credit"
#define ENTRIES  "ddp-transfer(7) Entries"
#define TYPES    "ddp-transfer(7) Types"

struct key {
	const char *name, *meaning;
};

/* clang-format off */
static const struct key private_keys[] = {
	[0] = { "0 protocol", "" },
	[1] = { "1 version", "the highest one supported; in a Reply the chosen one" },
	[2] = { "2 lowest version", "the lowest one supported" },
	[3] = { "3 role", NULL },
	[4] = { "4 mode", NULL },
	[5] = { "5 digest", NULL },
	[6] = { "6 transfer id", "the same on all connections of a transfer" },
	[7] = { "7 receives", "receives posted" },
	[8] = { "8 receive octets", "octets of each receive" },
	[9] = { "9 files", "sink: most files at once" },
	[10] = { "10 ranges", "sink: most ranges at once" },
	[11] = { "11 patience", "milliseconds" },
	[12] = { "12 connection", "number of the connection in the transfer" },
	[13] = { "13 again", "it replaces a connection that was lost" },
	[14] = { "14 code", NULL },
	[15] = { "15 reason", "" },
};

static const struct key entry_keys[IW_XFER_FIELD_COUNT] = {
	[IW_XFER_FIELD_ID] = { "0 file", "number of the file" },
	[IW_XFER_FIELD_OFF] = { "1 offset", "in octets" },
	[IW_XFER_FIELD_LEN] = { "2 length", "in octets" },
	[IW_XFER_FIELD_STAG] = { "3 STag", NULL },
	[IW_XFER_FIELD_DIGEST] = { "4 digest", "" },
	[IW_XFER_FIELD_ZERO] = { "5 zero", "the octets are zero and were not moved" },
	[IW_XFER_FIELD_SIZE] = { "6 size", "octets of the file" },
	[IW_XFER_FIELD_CODE] = { "7 code", NULL },
	[IW_XFER_FIELD_TEXT] = { "8 reason", "" },
	[IW_XFER_FIELD_NAME] = { "9 name", "" },
	[IW_XFER_FIELD_KIND] = { "10 kind", NULL },
	[IW_XFER_FIELD_MODE] = { "11 mode", "permission, set-id and sticky bits" },
	[IW_XFER_FIELD_MTIME] = { "12 mtime", "seconds since 1970" },
	[IW_XFER_FIELD_MTIME_NS] = { "13 mtime ns", "nanoseconds" },
	[IW_XFER_FIELD_TOP] = { "14 named", "named by the user" },
	[IW_XFER_FIELD_TARGET] = { "15 target", "" },
	[IW_XFER_FIELD_UID] = { "16 owner", "by number" },
	[IW_XFER_FIELD_GID] = { "17 group", "by number" },
	[IW_XFER_FIELD_XATTR] = { "18 attributes", "" },
	[IW_XFER_FIELD_IDENT] = { "19 ident", "" },
	[IW_XFER_FIELD_LIST] = { "20 pack list", "" },
	[IW_XFER_FIELD_WANTED] = { "21 wanted", "a bit for each member" },
	[IW_XFER_FIELD_CODES] = { "22 codes", "an octet for each member" },
	[IW_XFER_FIELD_SHARE] = { "23 part of", "the same for all parts of a file" },
	[IW_XFER_FIELD_CHUNKS] = { "24 digests", "of consecutive chunks" },
};

/* Keys that have the same meaning in every message. */
static const struct key common_keys[] = {
	[IW_XFER_KEY_TYPE] = { "0 type", NULL },
	[IW_XFER_KEY_CREDIT] = { "1 credit", "messages that the peer may have sent in total" },
	[IW_XFER_KEY_SIZE] = { "2 receive octets", "octets of the receives from then on" },
	[IW_XFER_KEY_FROM] = { "3 from message", "the first message with these receives" },
	[IW_XFER_KEY_ARRIVED] = { "7 arrived", "octets of files on this connection" },
	[IW_XFER_KEY_KEPT] = { "8 stored", "octets that need not be moved again" },
	[IW_XFER_KEY_BINDING] = { "11 channel binding", "of TLS or DTLS (RFC 9266)" },
};

static const struct { uint32_t type; unsigned number; struct key key; } own_keys[] = {
	{ IW_XFER_MSG_NOP, 4, { "4 busy", "this side has work to do" } },
	{ IW_XFER_MSG_NOP, 5, { "5 answer", "the peer must send a message at once" } },
	{ IW_XFER_MSG_OPEN, 4, { "4 path", "" } },
	{ IW_XFER_MSG_OPEN, 5, { "5 options", "a sum of options" } },
	{ IW_XFER_MSG_OPEN, 6, { "6 connections", "of the transfer" } },
	{ IW_XFER_MSG_GET, 4, { "4 paths", "" } },
	{ IW_XFER_MSG_GET, 5, { "5 last", "no more paths follow" } },
	{ IW_XFER_MSG_DONE, 5, { "5 ended", "" } },
	{ IW_XFER_MSG_BYE, 4, { "4 files", "files that have had a RESULT" } },
	{ IW_XFER_MSG_BYE, 5, { "5 failed", "files that failed" } },
	{ IW_XFER_MSG_BYE, 6, { "6 removed", "files that were removed" } },
	{ IW_XFER_MSG_BYE, 9, { "9 kept", "names that no REMOVE had" } },
	{ IW_XFER_MSG_BYE, 10, { "10 created", "directories" } },
	{ IW_XFER_MSG_ABORT, 4, { "4 code", NULL } },
	{ IW_XFER_MSG_ABORT, 5, { "5 reason", "" } },
	{ IW_XFER_MSG_GONE, 4, { "4 names", "" } },
	{ IW_XFER_MSG_REMOVE, 4, { "4 names", "" } },
};
/* clang-format on */

static const struct key unknown_key = { "unknown key", "is ignored" };

static const struct key *own_key(uint32_t type, uint64_t number)
{
	static const struct key entries = { "4 entries", "" };

	for (size_t i = 0; i < IW_ARRAY_LEN(own_keys); i++)
		if (own_keys[i].type == type && own_keys[i].number == number)
			return &own_keys[i].key;
	return number == IW_XFER_KEY_LIST && iw_cap_transfer_has_entries(type) ? &entries : NULL;
}

/* The message to explain, and the fields written so far. */
struct key_list {
	struct iw_cap_field *out;
	size_t n, max;
	const uint8_t *base;
	const char *header;
	bool hello;
	uint32_t type;
};

static struct iw_cap_field *add(struct key_list *w, const char *name, const char *clause,
				const uint8_t *p, size_t len)
{
	struct iw_cap_field *f;

	if (w->n == w->max)
		return NULL;
	f = &w->out[w->n++];
	*f = (struct iw_cap_field){ .header = w->header,
				    .name = name,
				    .clause = clause,
				    .off = (uint32_t)(p - w->base),
				    .len = (uint32_t)len,
				    .octets = p };
	return f;
}

/* The meaning of a number for which the tables have no text. */
static void print_number(struct iw_text *t, const struct key_list *w, const struct key *k,
			 uint64_t value)
{
	uint32_t v = (uint32_t)IW_MIN(value, (uint64_t)UINT32_MAX);

	if (k == &common_keys[IW_XFER_KEY_TYPE])
		iw_text_str(t, iw_xfer_msg_name(v));
	else if (k == &entry_keys[IW_XFER_FIELD_STAG])
		iw_text_fmt(t, "%x, Tagged Offset is the offset in the file", v);
	else if (k == &entry_keys[IW_XFER_FIELD_KIND])
		iw_text_str(t, kind_name(v));
	else if (w->hello && k == &private_keys[3])
		iw_text_str(t, iw_xfer_role_name((enum iw_xfer_role)v));
	else if (w->hello && k == &private_keys[4])
		iw_text_str(t, iw_xfer_mode_name((enum iw_xfer_mode)v));
	else if (w->hello && k == &private_keys[5])
		iw_text_str(t, iw_xfer_digest_name((enum iw_xfer_digest_kind)v));
	else
		print_code(t, v);
}

static void print_value(struct iw_cap_field *f, const struct key_list *w, const struct key *k,
			const struct iw_cbor_item *v)
{
	struct iw_text t;

	iw_text_init(&t, f->meaning, sizeof(f->meaning));
	switch (v->kind) {
	case IW_CBOR_UINT:
		f->is_number = true;
		f->value = v->u;
		if (k->meaning)
			iw_text_str(&t, k->meaning);
		else
			print_number(&t, w, k, v->u);
		return;
	case IW_CBOR_NINT:
		iw_text_str(&t, "-1 - ");
		iw_text_u64(&t, v->u);
		return;
	case IW_CBOR_BYTES:
	case IW_CBOR_TEXT:
		iw_text_fmt(&t, "%U octets \"", (uint64_t)v->len);
		iw_cap_octets_print(&t, v->p, IW_MIN(v->len, (size_t)64));
		iw_text_str(&t, v->len > 64 ? "...\"" : "\"");
		return;
	case IW_CBOR_BOOL:
		iw_text_fmt(&t, v->u ? "true%s%s" : "false%s%s",
			    k->meaning && k->meaning[0] ? ": " : "", k->meaning ? k->meaning : "");
		return;
	case IW_CBOR_ARRAY:
		iw_text_fmt(&t, "%U items", v->u);
		return;
	case IW_CBOR_MAP:
	case IW_CBOR_TAG:
	case IW_CBOR_OTHER:
		iw_text_str(&t, "ignored");
		return;
	}
}

static const struct key *key_of(const struct key_list *w, bool entry,
				const struct iw_cbor_item *key, const char **clause)
{
	const struct key *k = NULL;
	uint64_t n = key->kind == IW_CBOR_UINT ? key->u : UINT64_MAX;

	if (w->hello) {
		*clause = PRIVATE;
		k = n < IW_ARRAY_LEN(private_keys) ? &private_keys[n] : NULL;
	} else if (entry) {
		*clause = ENTRIES;
		k = n < IW_ARRAY_LEN(entry_keys) ? &entry_keys[n] : NULL;
	} else {
		*clause = TYPES;
		k = own_key(w->type, n);
		if (!k && n < IW_ARRAY_LEN(common_keys)) {
			*clause = n == IW_XFER_KEY_CREDIT || n == IW_XFER_KEY_SIZE ||
						  n == IW_XFER_KEY_FROM
					  ? CREDIT
					  : MESSAGES;
			k = &common_keys[n];
		}
	}
	return k && k->name ? k : &unknown_key;
}

static void explain_map(struct key_list *w, struct iw_cbor_in *in, bool entry);

/* The items of an array under a key: maps are entries, strings are names. */
static void explain_array(struct key_list *w, struct iw_cbor_in *in, uint64_t n)
{
	for (; n && in->pos < in->len; n--) {
		struct iw_cbor_in peek = *in;
		struct iw_cbor_item item;
		struct iw_cap_field *f;
		const uint8_t *p;
		size_t len;

		if (iw_cbor_next(&peek, &item) <= 0)
			return;
		if (item.kind == IW_CBOR_MAP) {
			explain_map(w, in, true);
			continue;
		}
		if (iw_cbor_skip(in, &p, &len) <= 0)
			return;
		f = add(w, "name", TYPES, p, len);
		if (f)
			print_value(f, w, &unknown_key, &item);
	}
}

static void explain_map(struct key_list *w, struct iw_cbor_in *in, bool entry)
{
	const uint8_t *begin = in->p + in->pos;
	struct iw_cbor_item head, key, value;
	struct iw_cap_field *f;
	struct iw_text t;

	if (iw_cbor_next(in, &head) <= 0 || head.kind != IW_CBOR_MAP)
		return;
	f = add(w, entry ? "entry" : "map",
		entry      ? ENTRIES
		: w->hello ? PRIVATE
			   : MESSAGES,
		begin, (size_t)(in->p + in->pos - begin));
	if (f) {
		iw_text_init(&t, f->meaning, sizeof(f->meaning));
		iw_text_fmt(&t, "%U keys", head.u);
	}
	for (uint64_t i = 0; i < head.u; i++) {
		const char *clause;
		const struct key *k;
		const uint8_t *p;
		size_t len;

		begin = in->p + in->pos;
		if (iw_cbor_next(in, &key) <= 0)
			return;
		struct iw_cbor_in after = *in;

		if (iw_cbor_next(&after, &value) <= 0 || iw_cbor_skip(in, &p, &len) <= 0)
			return;
		k = key_of(w, entry, &key, &clause);
		/* The head of a known array is a field, and so is each of its items. */
		if (value.kind == IW_CBOR_ARRAY && !entry && k != &unknown_key)
			*in = after;
		f = add(w, k->name, clause, begin, (size_t)(in->p + in->pos - begin));
		if (!f)
			return;
		print_value(f, w, k, &value);
		if (value.kind == IW_CBOR_ARRAY && !entry && k != &unknown_key)
			explain_array(w, in, value.u);
	}
}

size_t iw_cap_transfer_explain(struct iw_cap_field *out, size_t max,
			       const struct iw_cap_transfer *m)
{
	struct iw_cbor_in in = { .p = m->p, .len = m->len };
	struct key_list w = { .out = out,
			      .max = IW_MIN(max, (size_t)IW_CAP_KEYS_MAX - 1),
			      .base = m->p,
			      .header = "ddp-transfer",
			      .hello = m->kind == IW_CAP_TRANSFER_HELLO };
	struct iw_cap_field *f;
	struct iw_xfer_msg x;
	struct iw_text t;

	if (m->malformed ||
	    (m->kind != IW_CAP_TRANSFER_HELLO && m->kind != IW_CAP_TRANSFER_MESSAGE))
		return 0;
	if (!w.hello) {
		if (iw_xfer_msg_decode(&x, m->p, m->len, NULL) < 0)
			return 0;
		w.type = x.type;
	}
	explain_map(&w, &in, false);
	if (m->digest_len) {
		f = add(&w, "digest", MESSAGES, m->p + m->len, m->digest_len);
		if (f) {
			iw_text_init(&t, f->meaning, sizeof(f->meaning));
			iw_text_str(&t, "of the map; not checked");
		}
	}
	return w.n;
}
