// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Control messages and the header of data Sends. */
#include "transfer/protocol/msg.h"

#include <string.h>

#include "util/num.h"
#include "util/text.h"

#define B(f) IW_XFER_HAS(f)

struct msg_row {
	const char *name;
	const char *entry, *end; /* names of the entries in faults */
	unsigned need, need_end; /* mandatory fields in LIST and in ENDS */
};

/* clang-format off */
static const struct msg_row rows[IW_XFER_MSG_COUNT] = {
	/* name       entry            end           need need_end */
	[IW_XFER_MSG_NOP]     = { "NOP",     NULL,            NULL,         0,                                    0 },
	[IW_XFER_MSG_OPEN]    = { "OPEN",    NULL,            NULL,         0,                                    0 },
	[IW_XFER_MSG_GET]     = { "GET",     NULL,            NULL,         0,                                    0 },
	[IW_XFER_MSG_FILES]   = { "FILES",   "FILES entry",   "pack member", B(ID) | B(NAME) | B(KIND),           B(NAME) | B(KIND) },
	[IW_XFER_MSG_GO]      = { "GO",      "GO entry",      NULL,         B(ID),                                0 },
	[IW_XFER_MSG_WANT]    = { "WANT",    "WANT entry",    NULL,         B(ID) | B(OFF) | B(LEN),              0 },
	[IW_XFER_MSG_GRANT]   = { "GRANT",   "GRANT entry",   NULL,         B(ID) | B(OFF) | B(LEN) | B(STAG),    0 },
	[IW_XFER_MSG_DONE]    = { "DONE",    "DONE entry",    "DONE end",   B(ID) | B(OFF) | B(LEN),              B(ID) },
	[IW_XFER_MSG_OFFER]   = { "OFFER",   "OFFER entry",   NULL,         B(ID) | B(OFF) | B(LEN) | B(STAG),    0 },
	[IW_XFER_MSG_RELEASE] = { "RELEASE", "RELEASE entry", NULL,         B(ID) | B(OFF),                       0 },
	[IW_XFER_MSG_RESULT]  = { "RESULT",  "RESULT entry",  NULL,         B(ID) | B(CODE),                      0 },
	[IW_XFER_MSG_BYE]     = { "BYE",     NULL,            NULL,         0,                                    0 },
	[IW_XFER_MSG_ABORT]   = { "ABORT",   NULL,            NULL,         0,                                    0 },
	[IW_XFER_MSG_HAVE]    = { "HAVE",    "HAVE entry",    NULL,         B(ID) | B(OFF) | B(CHUNKS),           0 },
	[IW_XFER_MSG_ATTRS]   = { "ATTRS",   "ATTRS entry",   NULL,         B(ID) | B(XATTR),                     0 },
	[IW_XFER_MSG_GONE]    = { "GONE",    NULL,            NULL,         0,                                    0 },
	[IW_XFER_MSG_REMOVE]  = { "REMOVE",  NULL,            NULL,         0,                                    0 },
};

enum field_type { U32, U64, I64, FLAG, BYTES, TEXT, DIGEST };

struct field_row {
	enum field_type type;
	size_t at, at_len; /* offsets in struct iw_xfer_entry: of the value, of a string's length */
	uint64_t max; /* of the value, or of the octets of a string */
};

#define AT(m) offsetof(struct iw_xfer_entry, m)
static const struct field_row fields[IW_XFER_FIELD_COUNT] = {
	/*                   type    at            at_len        max */
	[IW_XFER_FIELD_ID]       = { U32,    AT(id),       0,            UINT32_MAX },
	[IW_XFER_FIELD_OFF]      = { U64,    AT(off),      0,            IW_XFER_SIZE_MAX },
	[IW_XFER_FIELD_LEN]      = { U64,    AT(len),      0,            IW_XFER_SIZE_MAX },
	[IW_XFER_FIELD_STAG]     = { U32,    AT(stag),     0,            UINT32_MAX },
	[IW_XFER_FIELD_DIGEST]   = { DIGEST, AT(digest),   0,            IW_XFER_DIGEST_MAX },
	[IW_XFER_FIELD_ZERO]     = { FLAG,   AT(zero),     0,            1 },
	[IW_XFER_FIELD_SIZE]     = { U64,    AT(size),     0,            IW_XFER_SIZE_MAX },
	[IW_XFER_FIELD_CODE]     = { U32,    AT(code),     0,            UINT32_MAX },
	[IW_XFER_FIELD_TEXT]     = { TEXT,   AT(text),     AT(text_len), IW_XFER_TEXT_MAX },
	[IW_XFER_FIELD_NAME]     = { BYTES,  AT(name),     AT(name_len), IW_XFER_MSG_MAX },
	[IW_XFER_FIELD_KIND]     = { U32,    AT(kind),     0,            UINT32_MAX },
	[IW_XFER_FIELD_MODE]     = { U32,    AT(mode),     0,            UINT32_MAX },
	[IW_XFER_FIELD_MTIME]    = { I64,    AT(mtime_s),  0,            0 },
	[IW_XFER_FIELD_MTIME_NS] = { U32,    AT(mtime_ns), 0,            999999999 },
	[IW_XFER_FIELD_TOP]      = { FLAG,   AT(top),      0,            1 },
	[IW_XFER_FIELD_TARGET]   = { BYTES,  AT(target),   AT(target_len), IW_XFER_NAME_MAX },
	[IW_XFER_FIELD_UID]      = { U32,    AT(uid),      0,            UINT32_MAX },
	[IW_XFER_FIELD_GID]      = { U32,    AT(gid),      0,            UINT32_MAX },
	[IW_XFER_FIELD_XATTR]    = { BYTES,  AT(xattr),    AT(xattr_len), IW_XFER_XATTR_PIECE },
	[IW_XFER_FIELD_IDENT]    = { BYTES,  AT(ident),    AT(ident_len), IW_XFER_IDENT_MAX },
	[IW_XFER_FIELD_LIST]     = { BYTES,  AT(list),     AT(list_len), IW_XFER_LIST_MAX },
	[IW_XFER_FIELD_WANTED]   = { BYTES,  AT(wanted),   AT(wanted_len), IW_XFER_MEMBERS / 8 },
	[IW_XFER_FIELD_CODES]    = { BYTES,  AT(codes),    AT(codes_len), IW_XFER_MEMBERS },
	[IW_XFER_FIELD_SHARE]    = { U32,    AT(share),    0,            UINT32_MAX },
	[IW_XFER_FIELD_CHUNKS]   = { BYTES,  AT(chunks),   AT(chunks_len), IW_XFER_MSG_MAX },
	[IW_XFER_FIELD_DATA]     = { U64,    AT(data),     0,            IW_XFER_SIZE_MAX },
};
/* clang-format on */

const char *iw_xfer_msg_name(uint32_t type)
{
	return type < IW_XFER_MSG_COUNT ? rows[type].name : "unknown";
}

static const void *in_entry(const struct iw_xfer_entry *e, size_t at)
{
	return (const char *)e + at;
}

static void *out_entry(struct iw_xfer_entry *e, size_t at)
{
	return (char *)e + at;
}

static void put_field(struct iw_cbor_out *o, const struct iw_xfer_entry *e,
		      const struct field_row *f)
{
	const void *p = in_entry(e, f->at);

	switch (f->type) {
	case U32:
		iw_cbor_uint(o, *(const uint32_t *)p);
		break;
	case U64:
		iw_cbor_uint(o, *(const uint64_t *)p);
		break;
	case I64:
		iw_cbor_int(o, *(const int64_t *)p);
		break;
	case FLAG:
		iw_cbor_bool(o, *(const bool *)p);
		break;
	case BYTES:
		iw_cbor_bytes(o, *(const char *const *)p, *(const size_t *)in_entry(e, f->at_len));
		break;
	case TEXT:
		iw_cbor_text(o, *(const char *const *)p, *(const size_t *)in_entry(e, f->at_len));
		break;
	case DIGEST:
		iw_cbor_bytes(o, e->digest.octets, e->digest.len);
		break;
	}
}

void iw_xfer_entry_put(struct iw_cbor_out *o, const struct iw_xfer_entry *e)
{
	iw_cbor_map(o, (size_t)__builtin_popcount(e->has));
	for (unsigned f = 0; f < IW_XFER_FIELD_COUNT; f++) {
		if (!(e->has & (1u << f)))
			continue;
		iw_cbor_uint(o, f);
		put_field(o, e, &fields[f]);
	}
}

static int get_size(struct iw_xfer_msg *m, struct iw_fault *why)
{
	int err = iw_cbor_get_u32(&m->rec, IW_XFER_KEY_SIZE, UINT32_MAX, &m->size, why);

	m->resized = true;
	return err ? err : iw_cbor_get_uint(&m->rec, IW_XFER_KEY_FROM, UINT64_MAX, &m->from, why);
}

static int get_binding(struct iw_xfer_msg *m, struct iw_fault *why)
{
	size_t len = 0;
	int err = iw_cbor_get_string(&m->rec, IW_XFER_KEY_BINDING, IW_CBOR_BYTES,
				     IW_XFER_BINDING_LEN, &m->binding, &len, why);

	if (!err && len != IW_XFER_BINDING_LEN)
		return iw_fail(why, IW_E_FORMAT, "%s: channel binding of %u octets, expected 32",
			       m->rec.what, (uint32_t)len);
	return err;
}

/* Reads what the peer reports. Only a sink sends ARRIVED and KEPT. */
static int get_report(struct iw_xfer_msg *m, struct iw_fault *why)
{
	int err = 0;

	if (iw_cbor_has(&m->rec, IW_XFER_KEY_ARRIVED))
		err = iw_cbor_get_uint(&m->rec, IW_XFER_KEY_ARRIVED, UINT64_MAX, &m->arrived, why);
	if (!err && iw_cbor_has(&m->rec, IW_XFER_KEY_KEPT))
		err = iw_cbor_get_uint(&m->rec, IW_XFER_KEY_KEPT, UINT64_MAX, &m->kept, why);
	if (!err && m->type == IW_XFER_MSG_NOP && iw_cbor_has(&m->rec, IW_XFER_KEY_BUSY))
		err = iw_cbor_get_bool(&m->rec, IW_XFER_KEY_BUSY, &m->busy, why);
	if (!err && m->type == IW_XFER_MSG_NOP && iw_cbor_has(&m->rec, IW_XFER_KEY_ANSWER))
		err = iw_cbor_get_bool(&m->rec, IW_XFER_KEY_ANSWER, &m->answer, why);
	if (!err && m->type == IW_XFER_MSG_NOP && iw_cbor_has(&m->rec, IW_XFER_KEY_TOTAL)) {
		err = iw_cbor_get_uint(&m->rec, IW_XFER_KEY_TOTAL, IW_XFER_SIZE_MAX, &m->total,
				       why);
		if (!err)
			err = iw_cbor_get_uint(&m->rec, IW_XFER_KEY_PATHS, UINT32_MAX, &m->paths,
					       why);
	}
	return err;
}

int iw_xfer_msg_decode(struct iw_xfer_msg *out, const uint8_t *msg, size_t len,
		       struct iw_fault *why)
{
	struct iw_cbor_in in = { .p = msg, .len = len };
	int r, err;

	memset(out, 0, sizeof(*out));
	r = iw_cbor_rec_next(&out->rec, &in, "message", why);
	if (r <= 0)
		return r < 0 ? r : iw_fail(why, IW_E_FORMAT, "an empty message");
	if (in.pos != in.len)
		return iw_fail(why, IW_E_FORMAT, "%U octets after a message",
			       (uint64_t)(in.len - in.pos));
	err = iw_cbor_get_u32(&out->rec, IW_XFER_KEY_TYPE, UINT32_MAX, &out->type, why);
	if (err)
		return err;
	if (out->type < IW_XFER_MSG_COUNT)
		out->rec.what = rows[out->type].name;
	err = iw_cbor_get_uint(&out->rec, IW_XFER_KEY_CREDIT, UINT64_MAX, &out->credit, why);
	if (!err && iw_cbor_has(&out->rec, IW_XFER_KEY_SIZE))
		err = get_size(out, why);
	if (!err && iw_cbor_has(&out->rec, IW_XFER_KEY_BINDING))
		err = get_binding(out, why);
	return err ? err : get_report(out, why);
}

int iw_xfer_entries_open(struct iw_xfer_entries *l, const struct iw_xfer_msg *m, unsigned key,
			 struct iw_fault *why)
{
	*l = (struct iw_xfer_entries){
		.type = m->type, .ends = m->type == IW_XFER_MSG_DONE && key == IW_XFER_KEY_ENDS
	};
	if (!iw_cbor_has(&m->rec, key))
		return 0;
	return iw_cbor_get_array(&m->rec, key, &l->in, &l->left, why);
}

static int get_field(struct iw_xfer_entry *e, const struct iw_cbor_rec *rec, unsigned key,
		     const struct field_row *f, struct iw_fault *why)
{
	void *p = out_entry(e, f->at);
	const uint8_t *s = NULL;
	size_t len = 0;
	int err = 0;

	switch (f->type) {
	case U32:
		return iw_cbor_get_u32(rec, key, (uint32_t)f->max, p, why);
	case U64:
		return iw_cbor_get_uint(rec, key, f->max, p, why);
	case I64:
		return iw_cbor_get_int(rec, key, p, why);
	case FLAG:
		return iw_cbor_get_bool(rec, key, p, why);
	case BYTES:
	case TEXT:
		err = iw_cbor_get_string(rec, key, f->type == TEXT ? IW_CBOR_TEXT : IW_CBOR_BYTES,
					 (size_t)f->max, &s, &len, why);
		if (err)
			return err;
		*(const char **)p = (const char *)s;
		*(size_t *)out_entry(e, f->at_len) = len;
		return 0;
	case DIGEST:
		err = iw_cbor_get_string(rec, key, IW_CBOR_BYTES, IW_XFER_DIGEST_MAX, &s, &len,
					 why);
		if (err)
			return err;
		e->digest.len = (uint8_t)len;
		memcpy(e->digest.octets, s, len);
		return 0;
	}
	return err;
}

int iw_xfer_entries_next(struct iw_xfer_entries *l, struct iw_xfer_entry *out, struct iw_fault *why)
{
	const struct msg_row *row = &rows[l->type];
	unsigned need = l->ends ? row->need_end : row->need;
	struct iw_cbor_rec rec;
	int r;

	if (l->left == 0)
		return 0;
	l->left--;
	memset(out, 0, sizeof(*out));
	r = iw_cbor_rec_next(&rec, &l->in, l->ends ? row->end : row->entry, why);
	if (r <= 0)
		return r < 0 ? r : iw_fail(why, IW_E_TRUNC, "%s: the list ends early", row->name);
	for (unsigned f = 0; f < IW_XFER_FIELD_COUNT; f++) {
		/* get_field reports a mandatory field that is missing. */
		if (!iw_cbor_has(&rec, f) && !(need & (1u << f)))
			continue;
		r = get_field(out, &rec, f, &fields[f], why);
		if (r < 0)
			return r;
		out->has |= 1u << f;
	}
	return 1;
}

void iw_xfer_data_encode(uint8_t hdr[static IW_XFER_DATA_HDR], uint32_t id, uint64_t off)
{
	memset(hdr, 0, 4);
	iw_put_be32(hdr + 4, id);
	iw_put_be64(hdr + 8, off);
}

bool iw_xfer_data_decode(const uint8_t *msg, size_t len, uint32_t *id, uint64_t *off, int *err)
{
	if (len < 1 || msg[0] != 0)
		return false;
	*err = 0;
	if (len <= IW_XFER_DATA_HDR || msg[1] != 0 || msg[2] != 0 || msg[3] != 0) {
		*err = IW_E_FORMAT;
		return true;
	}
	*id = iw_get_be32(msg + 4);
	*off = iw_get_be64(msg + 8);
	return true;
}
