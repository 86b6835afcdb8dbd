// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Private Data of the transfer protocol: encodes, decodes and negotiates. */
#include "transfer/protocol/hello.h"

#include <string.h>

#include "cbor/cbor.h"
#include "transfer/protocol/reject.h"
#include "util/num.h"
#include "util/text.h"

/* Keys of the map. */
enum {
	KEY_MAGIC = 0,
	KEY_MAJOR_MAX = 1,
	KEY_MAJOR_MIN = 2,
	KEY_ROLE = 3,
	KEY_MODE = 4,
	KEY_DIGEST = 5,
	KEY_ID = 6,
	KEY_RECVS = 7,
	KEY_RECV_SIZE = 8,
	KEY_FILES = 9,
	KEY_RANGES = 10,
	KEY_PATIENCE = 11,
	KEY_CONN = 12,
	KEY_AGAIN = 13, /* followed by IW_REJECTION_CODE */
};

static const char *const role_names[] = { [IW_XFER_SOURCE] = "source", [IW_XFER_SINK] = "sink" };
static const char *const mode_names[] = {
	[IW_XFER_WRITE] = "write", [IW_XFER_READ] = "read", [IW_XFER_SEND] = "send"
};
static const char *const digest_names[] = {
	[IW_XFER_NONE] = "none", [IW_XFER_XXH3] = "xxh3", [IW_XFER_SHA256] = "sha256"
};
static const uint8_t digest_lens[] = {
	[IW_XFER_NONE] = 0, [IW_XFER_XXH3] = 16, [IW_XFER_SHA256] = 32
};

static const char *row(const char *const *names, size_t n, size_t i)
{
	return i < n && names[i] ? names[i] : "unknown";
}

const char *iw_xfer_role_name(enum iw_xfer_role r)
{
	return row(role_names, IW_ARRAY_LEN(role_names), r);
}

const char *iw_xfer_mode_name(enum iw_xfer_mode m)
{
	return row(mode_names, IW_ARRAY_LEN(mode_names), m);
}

const char *iw_xfer_digest_name(enum iw_xfer_digest_kind d)
{
	return row(digest_names, IW_ARRAY_LEN(digest_names), d);
}

size_t iw_xfer_digest_len(enum iw_xfer_digest_kind d)
{
	return d < IW_ARRAY_LEN(digest_lens) ? digest_lens[d] : 0;
}

const char *iw_xfer_code_name(uint32_t code)
{
	switch (code) {
#define IW_X_(name, number, text)                                                                  \
	case number:                                                                               \
		return #name;
		IW_XFER_CODE_LIST(IW_X_)
#undef IW_X_
	}
	return "UNKNOWN";
}

const char *iw_xfer_code_text(uint32_t code)
{
	switch (code) {
#define IW_X_(name, number, text)                                                                  \
	case number:                                                                               \
		return text;
		IW_XFER_CODE_LIST(IW_X_)
#undef IW_X_
	}
	return "unknown reason code (a newer version?)";
}

size_t iw_hello_encode(uint8_t pd[static IW_XFER_PD_MAX], const struct iw_hello *h)
{
	struct iw_cbor_out o;

	iw_cbor_out_init(&o, pd, IW_XFER_PD_MAX);
	iw_cbor_map(&o, h->code != IW_XFER_CODE_OK ? 5 : 12 + (h->conn > 0) + h->again);
	iw_cbor_uint(&o, KEY_MAGIC);
	iw_cbor_text(&o, IW_XFER_MAGIC, strlen(IW_XFER_MAGIC));
	iw_cbor_uint(&o, KEY_MAJOR_MAX);
	iw_cbor_uint(&o, h->major_max);
	iw_cbor_uint(&o, KEY_MAJOR_MIN);
	iw_cbor_uint(&o, h->major_min);
	if (h->code != IW_XFER_CODE_OK) {
		iw_rejection_encode(&o, h->code, h->text);
		return o.len;
	}
	iw_cbor_uint(&o, KEY_ROLE);
	iw_cbor_uint(&o, h->role);
	iw_cbor_uint(&o, KEY_MODE);
	iw_cbor_uint(&o, h->mode);
	iw_cbor_uint(&o, KEY_DIGEST);
	iw_cbor_uint(&o, h->digest);
	iw_cbor_uint(&o, KEY_ID);
	iw_cbor_bytes(&o, h->id, sizeof(h->id));
	iw_cbor_uint(&o, KEY_RECVS);
	iw_cbor_uint(&o, h->recvs);
	iw_cbor_uint(&o, KEY_RECV_SIZE);
	iw_cbor_uint(&o, h->recv_size);
	iw_cbor_uint(&o, KEY_FILES);
	iw_cbor_uint(&o, h->files);
	iw_cbor_uint(&o, KEY_RANGES);
	iw_cbor_uint(&o, h->ranges);
	iw_cbor_uint(&o, KEY_PATIENCE);
	iw_cbor_uint(&o, h->patience_ms);
	if (h->conn > 0) {
		iw_cbor_uint(&o, KEY_CONN);
		iw_cbor_uint(&o, h->conn);
	}
	if (h->again) {
		iw_cbor_uint(&o, KEY_AGAIN);
		iw_cbor_bool(&o, true);
	}
	return o.len;
}

static int decode_terms(struct iw_hello *out, const struct iw_cbor_rec *rec, struct iw_fault *why)
{
	uint32_t role, mode, digest;
	const uint8_t *id;
	size_t len;
	int err;

	err = iw_cbor_get_u32(rec, KEY_ROLE, IW_XFER_SINK, &role, why);
	if (!err)
		err = iw_cbor_get_u32(rec, KEY_MODE, UINT32_MAX, &mode, why);
	if (!err)
		err = iw_cbor_get_u32(rec, KEY_DIGEST, UINT32_MAX, &digest, why);
	if (!err)
		err = iw_cbor_get_string(rec, KEY_ID, IW_CBOR_BYTES, IW_XFER_ID_LEN, &id, &len,
					 why);
	if (!err)
		err = iw_cbor_get_u32(rec, KEY_RECVS, IW_XFER_FILES_MAX, &out->recvs, why);
	if (!err)
		err = iw_cbor_get_u32(rec, KEY_RECV_SIZE, UINT32_MAX, &out->recv_size, why);
	if (!err)
		err = iw_cbor_get_u32(rec, KEY_FILES, IW_XFER_FILES_MAX, &out->files, why);
	if (!err)
		err = iw_cbor_get_u32(rec, KEY_RANGES, IW_XFER_FILES_MAX, &out->ranges, why);
	out->patience_ms = IW_XFER_PATIENCE_MS;
	if (!err && iw_cbor_has(rec, KEY_PATIENCE))
		err = iw_cbor_get_u32(rec, KEY_PATIENCE, UINT32_MAX, &out->patience_ms, why);
	if (!err && iw_cbor_has(rec, KEY_CONN))
		err = iw_cbor_get_u32(rec, KEY_CONN, IW_XFER_CONNS_MAX, &out->conn, why);
	if (!err && iw_cbor_has(rec, KEY_AGAIN))
		err = iw_cbor_get_bool(rec, KEY_AGAIN, &out->again, why);
	if (err)
		return err;
	if (role < IW_XFER_SOURCE)
		return iw_fail(why, IW_E_FORMAT, "Private Data: role 0");
	if (len != IW_XFER_ID_LEN)
		return iw_fail(why, IW_E_FORMAT,
			       "Private Data: transfer id of %u octets, expected 16",
			       (uint32_t)len);
	if (out->recvs < 2 || out->recv_size < IW_XFER_FIRST_RECV || out->files < 1 ||
	    out->ranges < 1)
		return iw_fail(
			why, IW_E_LIMIT,
			"Private Data: %u receives of %u octets, %u files, %u ranges; at least 2 of 4096, 1 and 1",
			out->recvs, out->recv_size, out->files, out->ranges);
	out->role = (enum iw_xfer_role)role;
	out->mode = (enum iw_xfer_mode)mode;
	out->digest = (enum iw_xfer_digest_kind)digest;
	memcpy(out->id, id, IW_XFER_ID_LEN);
	return 0;
}

static bool speaks(const struct iw_hello *h)
{
	return h->major_min <= IW_XFER_MAJOR && h->major_max >= IW_XFER_MAJOR_MIN;
}

/* rec: the map at the start of pd. */
static bool has_magic(struct iw_cbor_rec *rec, const uint8_t *pd, size_t len)
{
	struct iw_cbor_in in = { .p = pd, .len = len };
	const uint8_t *magic;
	size_t magic_len;

	return iw_cbor_rec_next(rec, &in, "Private Data", NULL) > 0 &&
	       iw_cbor_get_string(rec, KEY_MAGIC, IW_CBOR_TEXT, 64, &magic, &magic_len, NULL) ==
		       0 &&
	       magic_len == strlen(IW_XFER_MAGIC) && memcmp(magic, IW_XFER_MAGIC, magic_len) == 0;
}

bool iw_hello_is_ours(const uint8_t *pd, size_t len)
{
	struct iw_cbor_rec rec;

	return has_magic(&rec, pd, len);
}

int iw_hello_decode(struct iw_hello *out, const uint8_t *pd, size_t len, struct iw_fault *why)
{
	struct iw_cbor_rec rec;
	int err;

	memset(out, 0, sizeof(*out));
	if (!has_magic(&rec, pd, len))
		return iw_fail(why, IW_E_FORMAT,
			       "%u octets of Private Data are not " IW_XFER_MAGIC
			       "'s: the peer speaks another protocol",
			       (uint32_t)len);
	err = iw_cbor_get_u32(&rec, KEY_MAJOR_MAX, UINT32_MAX, &out->major_max, why);
	if (!err)
		err = iw_cbor_get_u32(&rec, KEY_MAJOR_MIN, UINT32_MAX, &out->major_min, why);
	if (err)
		return err;
	if (out->major_min > out->major_max)
		return iw_fail(why, IW_E_FORMAT, "Private Data: versions %u to %u", out->major_min,
			       out->major_max);
	if (iw_cbor_has(&rec, IW_REJECTION_CODE))
		return iw_rejection_decode(&rec, &out->code, out->text, why);
	return speaks(out) ? decode_terms(out, &rec, why) : 0;
}

int iw_xfer_fault(struct iw_fault *why, int err, const char *fmt, ...)
{
	struct iw_text t;
	va_list ap;

	if (!why)
		return err;
	iw_fail(why, err, "");
	why->clause = "";
	iw_text_init(&t, why->text, sizeof(why->text));
	va_start(ap, fmt);
	iw_text_vfmt(&t, fmt, ap);
	va_end(ap);
	return err;
}

void iw_hello_reject(struct iw_hello *answer, enum iw_xfer_code code, const char *text)
{
	size_t len = iw_cbor_cut(text, IW_XFER_TEXT_MAX);

	memset(answer, 0, sizeof(*answer));
	answer->major_max = IW_XFER_MAJOR;
	answer->major_min = IW_XFER_MAJOR_MIN;
	answer->code = code;
	memcpy(answer->text, text, len);
}

/* Lists the digests of the set for a text. */
static void list_digests(struct iw_text *t, unsigned digests)
{
	const char *sep = "";

	for (unsigned d = 0; d < IW_ARRAY_LEN(digest_names); d++) {
		if (!(digests & 1u << d))
			continue;
		iw_text_fmt(t, "%s%s", sep, digest_names[d]);
		sep = ", ";
	}
}

int iw_hello_answer(struct iw_hello *answer, const struct iw_hello *request, enum iw_xfer_role role,
		    unsigned digests, struct iw_fault *why)
{
	char buf[IW_XFER_TEXT_MAX + 1];
	enum iw_xfer_code code = IW_XFER_CODE_OK;
	struct iw_text t;

	iw_text_init(&t, buf, sizeof(buf));
	if (!speaks(request)) {
		code = IW_XFER_CODE_VERSION;
		iw_text_fmt(&t, "protocol versions %u to %u, this side has %u to %u",
			    request->major_min, request->major_max, (uint32_t)IW_XFER_MAJOR_MIN,
			    (uint32_t)IW_XFER_MAJOR);
	} else if (request->code != IW_XFER_CODE_OK) {
		code = IW_XFER_CODE_PROTOCOL;
		iw_text_str(&t, "a Request cannot reject");
	} else if (request->role == role) {
		code = IW_XFER_CODE_REFUSED;
		iw_text_str(
			&t,
			role == IW_XFER_SINK
				? "the listener is a ddp-recv, which receives files; to fetch files from its host, start `ddp-send --listen DIR` there"
				: "the listener is a ddp-send, which sends files; to store files on its host, start `ddp-recv DIR` there");
	} else if (request->mode < IW_XFER_WRITE || request->mode > IW_XFER_SEND) {
		code = IW_XFER_CODE_REFUSED;
		iw_text_fmt(&t, "unknown transfer mode %u; expected write, read or send",
			    (uint32_t)request->mode);
	} else if (request->digest >= IW_ARRAY_LEN(digest_names) ||
		   !(digests & 1u << request->digest)) {
		code = IW_XFER_CODE_REFUSED;
		iw_text_fmt(&t, "digest %s is not available here; choose one of ",
			    iw_xfer_digest_name(request->digest));
		list_digests(&t, digests);
	}
	if (code != IW_XFER_CODE_OK) {
		iw_hello_reject(answer, code, buf);
		return iw_xfer_fault(why, IW_E_REJECTED, "%s", buf);
	}
	*answer = *request;
	answer->major_max = answer->major_min = IW_MIN(request->major_max, (uint32_t)IW_XFER_MAJOR);
	answer->role = role;
	return 0;
}

int iw_hello_check(const struct iw_hello *reply, const struct iw_hello *request,
		   struct iw_fault *why)
{
	if (reply->code != IW_XFER_CODE_OK)
		return iw_xfer_fault(why, IW_E_REJECTED, "the peer rejected the connection: %s",
				     reply->text[0] ? reply->text : iw_xfer_code_text(reply->code));
	if (reply->major_max != reply->major_min || reply->major_max < request->major_min ||
	    reply->major_max > request->major_max)
		return iw_fail(why, IW_E_FORMAT, "the peer chose version %u to %u of %u to %u",
			       reply->major_min, reply->major_max, request->major_min,
			       request->major_max);
	if (reply->role == request->role || reply->mode != request->mode ||
	    reply->digest != request->digest ||
	    memcmp(reply->id, request->id, sizeof(reply->id)) != 0)
		return iw_fail(
			why, IW_E_FORMAT,
			"the peer's Reply does not repeat role, mode, digest and transfer id of the Request");
	return 0;
}
