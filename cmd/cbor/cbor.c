// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* CBOR in the caller's memory, with libcbor's streaming encoder and decoder. */
#include "cbor/cbor.h"

#include <cbor.h>
#include <string.h>

#include "util/num.h"
#include "util/text.h"

/* --- writing --- */

void iw_cbor_out_init(struct iw_cbor_out *o, uint8_t *buf, size_t cap)
{
	*o = (struct iw_cbor_out){ .buf = buf, .cap = cap };
}

/* n is the result of an encoder of libcbor, which is 0 if the item does not fit. */
static void took(struct iw_cbor_out *o, size_t n)
{
	if (n == 0)
		o->full = true;
	o->len += n;
}

#define ENCODE(o, fn, v) took(o, (o)->full ? 0 : fn(v, (o)->buf + (o)->len, (o)->cap - (o)->len))

void iw_cbor_uint(struct iw_cbor_out *o, uint64_t v)
{
	ENCODE(o, cbor_encode_uint, v);
}

void iw_cbor_int(struct iw_cbor_out *o, int64_t v)
{
	if (v >= 0)
		iw_cbor_uint(o, (uint64_t)v);
	else
		ENCODE(o, cbor_encode_negint, ~(uint64_t)v);
}

void iw_cbor_bool(struct iw_cbor_out *o, bool v)
{
	ENCODE(o, cbor_encode_bool, v);
}

static void raw(struct iw_cbor_out *o, const void *p, size_t len)
{
	if (o->full || o->cap - o->len < len) {
		o->full = true;
		return;
	}
	if (len > 0)
		memcpy(o->buf + o->len, p, len);
	o->len += len;
}

void iw_cbor_bytes(struct iw_cbor_out *o, const void *p, size_t len)
{
	ENCODE(o, cbor_encode_bytestring_start, len);
	raw(o, p, len);
}

void iw_cbor_text(struct iw_cbor_out *o, const char *p, size_t len)
{
	ENCODE(o, cbor_encode_string_start, len);
	raw(o, p, len);
}

size_t iw_cbor_cut(const char *text, size_t max)
{
	size_t len = strnlen(text, max + 1);

	if (len <= max)
		return len;
	len = max;
	while (len > 0 && ((uint8_t)text[len] & 0xc0) == 0x80)
		len--;
	return len;
}

void iw_cbor_array(struct iw_cbor_out *o, size_t n)
{
	ENCODE(o, cbor_encode_array_start, n);
}

void iw_cbor_map(struct iw_cbor_out *o, size_t n)
{
	ENCODE(o, cbor_encode_map_start, n);
}

/*
 * The head of an array with a length of 16 bits (RFC 8949 3: major type 4, additional information
 * 25). It is well-formed for small lengths too.
 */
#define ARRAY16 0x99

size_t iw_cbor_array_begin(struct iw_cbor_out *o)
{
	static const uint8_t head[3] = { ARRAY16, 0, 0 };
	size_t place = o->len;

	raw(o, head, sizeof(head));
	return place;
}

void iw_cbor_array_end(struct iw_cbor_out *o, size_t place, size_t n)
{
	if (o->full || n > UINT16_MAX)
		o->full = true;
	else
		iw_put_be16(o->buf + place + 1, (uint16_t)n);
}

/* --- reading --- */

/* The result of the callbacks. */
struct seen {
	struct iw_cbor_item item;
	bool indefinite;
};

static void set(void *ctx, enum iw_cbor_kind kind, uint64_t u)
{
	struct seen *s = ctx;

	s->item = (struct iw_cbor_item){ .kind = kind, .u = u };
}

static void set_string(void *ctx, enum iw_cbor_kind kind, cbor_data p, size_t len)
{
	struct seen *s = ctx;

	s->item = (struct iw_cbor_item){ .kind = kind, .p = p, .len = len };
}

static void on_uint8(void *ctx, uint8_t v)
{
	set(ctx, IW_CBOR_UINT, v);
}

static void on_uint16(void *ctx, uint16_t v)
{
	set(ctx, IW_CBOR_UINT, v);
}

static void on_uint32(void *ctx, uint32_t v)
{
	set(ctx, IW_CBOR_UINT, v);
}

static void on_uint64(void *ctx, uint64_t v)
{
	set(ctx, IW_CBOR_UINT, v);
}

static void on_negint8(void *ctx, uint8_t v)
{
	set(ctx, IW_CBOR_NINT, v);
}

static void on_negint16(void *ctx, uint16_t v)
{
	set(ctx, IW_CBOR_NINT, v);
}

static void on_negint32(void *ctx, uint32_t v)
{
	set(ctx, IW_CBOR_NINT, v);
}

static void on_negint64(void *ctx, uint64_t v)
{
	set(ctx, IW_CBOR_NINT, v);
}

static void on_bytes(void *ctx, cbor_data p, size_t len)
{
	set_string(ctx, IW_CBOR_BYTES, p, len);
}

static void on_text(void *ctx, cbor_data p, size_t len)
{
	set_string(ctx, IW_CBOR_TEXT, p, len);
}

static void on_array(void *ctx, size_t n)
{
	set(ctx, IW_CBOR_ARRAY, n);
}

static void on_map(void *ctx, size_t n)
{
	set(ctx, IW_CBOR_MAP, n);
}

static void on_tag(void *ctx, uint64_t v)
{
	set(ctx, IW_CBOR_TAG, v);
}

static void on_bool(void *ctx, bool v)
{
	set(ctx, IW_CBOR_BOOL, v);
}

static void on_float(void *ctx, float v)
{
	(void)v;
	set(ctx, IW_CBOR_OTHER, 0);
}

static void on_double(void *ctx, double v)
{
	(void)v;
	set(ctx, IW_CBOR_OTHER, 0);
}

static void on_simple(void *ctx)
{
	set(ctx, IW_CBOR_OTHER, 0);
}

static void on_indefinite(void *ctx)
{
	struct seen *s = ctx;

	s->indefinite = true;
}

static const struct cbor_callbacks callbacks = {
	.uint8 = on_uint8,
	.uint16 = on_uint16,
	.uint32 = on_uint32,
	.uint64 = on_uint64,
	.negint64 = on_negint64,
	.negint32 = on_negint32,
	.negint16 = on_negint16,
	.negint8 = on_negint8,
	.byte_string_start = on_indefinite,
	.byte_string = on_bytes,
	.string = on_text,
	.string_start = on_indefinite,
	.indef_array_start = on_indefinite,
	.array_start = on_array,
	.indef_map_start = on_indefinite,
	.map_start = on_map,
	.tag = on_tag,
	.float2 = on_float,
	.float4 = on_float,
	.float8 = on_double,
	.undefined = on_simple,
	.null = on_simple,
	.boolean = on_bool,
	.indef_break = on_indefinite,
};

/*
 * True for a string, array or map (major types 2 to 5) whose length has 64 bits and exceeds the
 * octets of the input. libcbor keeps a length in a size_t: if that has 32 bits, only the lower
 * half.
 */
static bool is_too_long(const uint8_t *p, size_t len)
{
	return len >= 9 && p[0] >> 5 >= 2 && p[0] >> 5 <= 5 && (p[0] & 0x1f) == 27 &&
	       iw_get_be64(p + 1) > len;
}

int iw_cbor_next(struct iw_cbor_in *in, struct iw_cbor_item *out)
{
	struct seen seen = { .indefinite = false };
	struct cbor_decoder_result r;

	if (in->pos == in->len)
		return 0;
	/* RFC 8949 3.1: the octet of an unsigned integer below 24. Most keys are such integers. */
	if (in->p[in->pos] < 24) {
		*out = (struct iw_cbor_item){ .kind = IW_CBOR_UINT, .u = in->p[in->pos++] };
		return 1;
	}
	if (is_too_long(in->p + in->pos, in->len - in->pos))
		return IW_E_FORMAT;
	r = cbor_stream_decode(in->p + in->pos, in->len - in->pos, &callbacks, &seen);
	switch (r.status) {
	case CBOR_DECODER_FINISHED:
		break;
	case CBOR_DECODER_NEDATA:
		return IW_E_TRUNC;
	case CBOR_DECODER_ERROR:
		return IW_E_FORMAT;
	}
	if (seen.indefinite)
		return IW_E_FORMAT;
	in->pos += r.read;
	*out = seen.item;
	return 1;
}

/* Returns how many items must follow this head. UINT64_MAX: more than any input can hold. */
static uint64_t children(const struct iw_cbor_item *item)
{
	switch (item->kind) {
	case IW_CBOR_ARRAY:
		return item->u;
	case IW_CBOR_MAP:
		return item->u > UINT64_MAX / 2 ? UINT64_MAX : item->u * 2;
	case IW_CBOR_TAG:
		return 1;
	case IW_CBOR_UINT:
	case IW_CBOR_NINT:
	case IW_CBOR_BYTES:
	case IW_CBOR_TEXT:
	case IW_CBOR_BOOL:
	case IW_CBOR_OTHER:
		break;
	}
	return 0;
}

/* Reads an item with everything that it contains, and sets *head to its head. */
static int read_whole(struct iw_cbor_in *in, struct iw_cbor_item *head)
{
	size_t begin = in->pos;
	uint64_t due = 1;

	/* Counts instead of recursing, so that the depth of nesting does not matter. */
	for (struct iw_cbor_item *item = head, below; due > 0; item = &below) {
		int r = iw_cbor_next(in, item);
		uint64_t more;

		if (r < 0)
			return r;
		if (r == 0)
			return in->pos == begin ? 0 : IW_E_TRUNC;
		/* Each item has at least one octet. */
		more = children(item);
		if (more > in->len - in->pos || due - 1 > in->len - in->pos - more)
			return IW_E_FORMAT;
		due += more - 1;
	}
	return 1;
}

int iw_cbor_skip(struct iw_cbor_in *in, const uint8_t **p, size_t *len)
{
	struct iw_cbor_item head;
	size_t begin = in->pos;
	int r = read_whole(in, &head);

	if (r <= 0)
		return r;
	*p = in->p + begin;
	*len = in->pos - begin;
	return 1;
}

int iw_cbor_rec_next(struct iw_cbor_rec *rec, struct iw_cbor_in *in, const char *what,
		     struct iw_fault *why)
{
	struct iw_cbor_item head, key;
	int r;

	memset(rec, 0, sizeof(*rec));
	rec->what = what;
	r = iw_cbor_next(in, &head);
	if (r == 0)
		return 0;
	if (r == IW_E_TRUNC)
		return iw_fail(why, r, "%s: it ends within the head of a CBOR item", what);
	if (r < 0 || head.kind != IW_CBOR_MAP)
		return iw_fail(why, IW_E_FORMAT, "%s: not a CBOR map of definite length", what);
	for (uint64_t i = 0; i < head.u; i++) {
		const uint8_t *p;
		size_t len, before = in->pos;

		r = read_whole(in, &key);
		if (r > 0)
			r = iw_cbor_skip(in, &p, &len);
		if (r <= 0)
			return iw_fail(why, r < 0 ? r : IW_E_TRUNC,
				       "%s: pair %U of %U at octet %U is not CBOR", what, i + 1,
				       head.u, (uint64_t)before);
		if (key.kind != IW_CBOR_UINT || key.u >= IW_CBOR_KEYS)
			continue;
		if (rec->value[key.u].p)
			return iw_fail(why, IW_E_FORMAT, "%s: key %U appears twice", what, key.u);
		rec->value[key.u].p = p;
		rec->value[key.u].len = len;
	}
	return 1;
}

bool iw_cbor_has(const struct iw_cbor_rec *rec, unsigned key)
{
	return rec->value[key].p != NULL;
}

/* Reads the head of the value and sets *in to the octets after it. */
static int get_head(const struct iw_cbor_rec *rec, unsigned key, struct iw_cbor_in *in,
		    struct iw_cbor_item *item, struct iw_fault *why)
{
	if (!rec->value[key].p)
		return iw_fail(why, IW_E_FORMAT, "%s: key %u is missing", rec->what, (uint32_t)key);
	*in = (struct iw_cbor_in){ .p = rec->value[key].p, .len = rec->value[key].len };
	/* iw_cbor_rec_next has already skipped the value once, so its head is well-formed. */
	return iw_cbor_next(in, item) > 0
		       ? 0
		       : iw_fail(why, IW_E_FORMAT, "%s: key %u", rec->what, (uint32_t)key);
}

static int wrong_kind(const struct iw_cbor_rec *rec, unsigned key, const char *wanted,
		      struct iw_fault *why)
{
	return iw_fail(why, IW_E_FORMAT, "%s: key %u is not %s", rec->what, (uint32_t)key, wanted);
}

int iw_cbor_get_uint(const struct iw_cbor_rec *rec, unsigned key, uint64_t max, uint64_t *out,
		     struct iw_fault *why)
{
	struct iw_cbor_in in;
	struct iw_cbor_item item;
	int err = get_head(rec, key, &in, &item, why);

	if (err)
		return err;
	if (item.kind != IW_CBOR_UINT)
		return wrong_kind(rec, key, "an unsigned integer", why);
	if (item.u > max)
		return iw_fail(why, IW_E_LIMIT, "%s: key %u is %U, more than %U", rec->what,
			       (uint32_t)key, item.u, max);
	*out = item.u;
	return 0;
}

int iw_cbor_get_u32(const struct iw_cbor_rec *rec, unsigned key, uint32_t max, uint32_t *out,
		    struct iw_fault *why)
{
	uint64_t v = 0;
	int err = iw_cbor_get_uint(rec, key, max, &v, why);

	if (!err)
		*out = (uint32_t)v;
	return err;
}

int iw_cbor_get_int(const struct iw_cbor_rec *rec, unsigned key, int64_t *out, struct iw_fault *why)
{
	struct iw_cbor_in in;
	struct iw_cbor_item item;
	int err = get_head(rec, key, &in, &item, why);

	if (err)
		return err;
	if (item.kind != IW_CBOR_UINT && item.kind != IW_CBOR_NINT)
		return wrong_kind(rec, key, "an integer", why);
	if (item.u > INT64_MAX)
		return iw_fail(why, IW_E_LIMIT, "%s: key %u does not fit 64 bits with a sign",
			       rec->what, (uint32_t)key);
	*out = item.kind == IW_CBOR_UINT ? (int64_t)item.u : -1 - (int64_t)item.u;
	return 0;
}

int iw_cbor_get_bool(const struct iw_cbor_rec *rec, unsigned key, bool *out, struct iw_fault *why)
{
	struct iw_cbor_in in;
	struct iw_cbor_item item;
	int err = get_head(rec, key, &in, &item, why);

	if (err)
		return err;
	if (item.kind != IW_CBOR_BOOL)
		return wrong_kind(rec, key, "true or false", why);
	*out = item.u != 0;
	return 0;
}

int iw_cbor_get_string(const struct iw_cbor_rec *rec, unsigned key, enum iw_cbor_kind kind,
		       size_t max, const uint8_t **p, size_t *len, struct iw_fault *why)
{
	struct iw_cbor_in in;
	struct iw_cbor_item item;
	int err = get_head(rec, key, &in, &item, why);

	if (err)
		return err;
	if (item.kind != kind)
		return wrong_kind(rec, key,
				  kind == IW_CBOR_BYTES ? "a byte string" : "a text string", why);
	if (item.len > max)
		return iw_fail(why, IW_E_LIMIT, "%s: key %u has %U octets, more than %U", rec->what,
			       (uint32_t)key, (uint64_t)item.len, (uint64_t)max);
	*p = item.p;
	*len = item.len;
	return 0;
}

int iw_cbor_get_array(const struct iw_cbor_rec *rec, unsigned key, struct iw_cbor_in *in, size_t *n,
		      struct iw_fault *why)
{
	struct iw_cbor_item item;
	int err = get_head(rec, key, in, &item, why);

	if (err)
		return err;
	if (item.kind != IW_CBOR_ARRAY)
		return wrong_kind(rec, key, "an array", why);
	*n = (size_t)item.u;
	return 0;
}
