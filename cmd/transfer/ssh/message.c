// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Encodes and decodes the messages on ssh's pipe. */
#include "transfer/ssh/message.h"

#include <string.h>

#include "util/num.h"
#include "util/text.h"

enum {
	KEY_TYPE = 0,
	KEY_PROTOCOL = 1,
	KEY_VERSION = 2,
	KEY_PATHS = 3,
	/* REQUEST */
	KEY_FLAGS = 4,
	KEY_CRC = 5,
	KEY_MULPDU = 6,
	KEY_OPTS = 7,
	KEY_JOBS = 8,
	KEY_TIMEOUT = 9,
	KEY_SETUP = 10,
	KEY_FIRST = 11,
	KEY_LAST = 12,
	KEY_CC = 13,
	/* READY */
	KEY_ADDR = 16,
	KEY_PORT = 17,
	KEY_UDP_PORT = 18,
	KEY_SECRET = 19,
	/* ERROR */
	KEY_TEXT = 24,
};

enum { FLAG_SOURCE = 1, FLAG_UDP = 2, FLAG_MARKERS = 4, FLAG_VERBOSE = 8 };

/* --- out --- */

static void put_uint(struct iw_cbor_out *o, unsigned key, uint64_t v)
{
	iw_cbor_uint(o, key);
	iw_cbor_uint(o, v);
}

static void put_text(struct iw_cbor_out *o, unsigned key, const char *text, size_t max)
{
	iw_cbor_uint(o, key);
	iw_cbor_text(o, text, iw_cbor_cut(text, max));
}

/* Paths are byte strings, because names of files need not be UTF-8. */
static void put_paths(struct iw_cbor_out *o, const struct iw_ssh_paths *paths)
{
	iw_cbor_uint(o, KEY_PATHS);
	iw_cbor_array(o, paths->n);
	for (size_t i = 0; i < paths->n; i++)
		iw_cbor_bytes(o, paths->list[i], strlen(paths->list[i]));
	if (paths->n > IW_SSH_PATHS_MAX)
		o->full = true;
}

static void put_request(struct iw_cbor_out *o, const struct iw_ssh_request *r)
{
	iw_cbor_map(o, 14);
	put_uint(o, KEY_TYPE, IW_SSH_REQUEST);
	put_uint(o, KEY_PROTOCOL, r->protocol);
	put_text(o, KEY_VERSION, r->version, IW_SSH_VERSION_MAX);
	put_uint(o, KEY_FLAGS,
		 (r->source ? FLAG_SOURCE : 0u) | (r->udp ? FLAG_UDP : 0u) |
			 (r->markers ? FLAG_MARKERS : 0u) | (r->verbose ? FLAG_VERBOSE : 0u));
	put_uint(o, KEY_CRC, r->crc);
	put_uint(o, KEY_MULPDU, r->mulpdu);
	put_uint(o, KEY_OPTS, r->opts);
	put_uint(o, KEY_JOBS, r->jobs);
	put_uint(o, KEY_TIMEOUT, r->timeout_ms);
	put_uint(o, KEY_SETUP, r->setup_ms);
	put_uint(o, KEY_FIRST, r->first);
	put_uint(o, KEY_LAST, r->last);
	put_text(o, KEY_CC, r->cc, IW_SSH_CC_MAX);
	put_paths(o, &r->paths);
}

static void put_ready(struct iw_cbor_out *o, const struct iw_ssh_ready *r)
{
	iw_cbor_map(o, 7);
	put_uint(o, KEY_TYPE, IW_SSH_READY);
	put_text(o, KEY_VERSION, r->version, IW_SSH_VERSION_MAX);
	put_text(o, KEY_ADDR, r->addr, IW_SSH_ADDR_MAX);
	put_uint(o, KEY_PORT, r->port);
	put_uint(o, KEY_UDP_PORT, r->udp_port);
	iw_cbor_uint(o, KEY_SECRET);
	iw_cbor_bytes(o, r->secret, IW_SSH_SECRET_LEN);
	put_paths(o, &r->paths);
}

size_t iw_ssh_msg_encode(uint8_t buf[static IW_SSH_MSG_MAX], const struct iw_ssh_msg *m)
{
	struct iw_cbor_out o;

	iw_cbor_out_init(&o, buf, IW_SSH_MSG_MAX);
	switch (m->type) {
	case IW_SSH_REQUEST:
		put_request(&o, &m->request);
		break;
	case IW_SSH_READY:
		put_ready(&o, &m->ready);
		break;
	case IW_SSH_ERROR:
		iw_cbor_map(&o, 2);
		put_uint(&o, KEY_TYPE, IW_SSH_ERROR);
		put_text(&o, KEY_TEXT, m->error, IW_SSH_TEXT_MAX);
		break;
	case IW_SSH_FALLBACK:
	case IW_SSH_AGREED:
		iw_cbor_map(&o, 1);
		put_uint(&o, KEY_TYPE, m->type);
		break;
	}
	return o.full ? 0 : o.len;
}

/* --- in --- */

/* Copies a text of at most max octets to out, which has max + 1, and ends it with NUL. */
static int get_text(char *out, const struct iw_cbor_rec *rec, unsigned key, size_t max,
		    struct iw_fault *why)
{
	const uint8_t *p;
	size_t len;
	int err = iw_cbor_get_string(rec, key, IW_CBOR_TEXT, max, &p, &len, why);

	if (err)
		return err;
	if (memchr(p, '\0', len))
		return iw_fail(why, IW_E_FORMAT, "%s: a text contains a NUL octet", rec->what);
	memcpy(out, p, len);
	out[len] = '\0';
	return 0;
}

static int get_u16(uint16_t *out, const struct iw_cbor_rec *rec, unsigned key, struct iw_fault *why)
{
	uint32_t v = 0;
	int err = iw_cbor_get_u32(rec, key, UINT16_MAX, &v, why);

	*out = (uint16_t)v;
	return err;
}

/* Checks each path, so that iw_ssh_path_next cannot fail. */
static int check_paths(struct iw_ssh_paths paths, const char *what, struct iw_fault *why)
{
	struct iw_cbor_item item;

	for (size_t i = 0; i < paths.n; i++) {
		int r = iw_cbor_next(&paths.in, &item);

		if (r <= 0)
			return iw_fail(why, IW_E_TRUNC, "%s: the paths end early", what);
		if (item.kind != IW_CBOR_BYTES || memchr(item.p, '\0', item.len))
			return iw_fail(why, IW_E_FORMAT,
				       "%s: a path is not a byte string without NUL", what);
	}
	return 0;
}

static int get_paths(struct iw_ssh_paths *out, const struct iw_cbor_rec *rec, struct iw_fault *why)
{
	int err = iw_cbor_get_array(rec, KEY_PATHS, &out->in, &out->n, why);

	if (err)
		return err;
	if (out->n == 0 || out->n > IW_SSH_PATHS_MAX)
		return iw_fail(why, IW_E_LIMIT, "%s: %U paths; expected 1 to %u", rec->what,
			       (uint64_t)out->n, (uint32_t)IW_SSH_PATHS_MAX);
	return check_paths(*out, rec->what, why);
}

static int get_flags(struct iw_ssh_request *r, const struct iw_cbor_rec *rec, struct iw_fault *why)
{
	uint32_t flags = 0;
	int err = iw_cbor_get_u32(rec, KEY_FLAGS, UINT32_MAX, &flags, why);

	r->source = flags & FLAG_SOURCE;
	r->udp = flags & FLAG_UDP;
	r->markers = flags & FLAG_MARKERS;
	r->verbose = flags & FLAG_VERBOSE;
	return err;
}

static int check_request(const struct iw_ssh_request *r, struct iw_fault *why)
{
	if (r->mulpdu != 0 && r->mulpdu < IW_MULPDU_MIN)
		return iw_fail(why, IW_E_LIMIT, "REQUEST: MULPDU %u; expected 0 or %u to %u",
			       r->mulpdu, (uint32_t)IW_MULPDU_MIN, (uint32_t)IW_MULPDU_MAX);
	if (r->jobs == 0 || r->timeout_ms == 0 || r->setup_ms == 0)
		return iw_fail(why, IW_E_LIMIT,
			       "REQUEST: a number of connections or a time limit is 0");
	if (r->first > r->last || (r->first == 0) != (r->last == 0))
		return iw_fail(why, IW_E_LIMIT, "REQUEST: ports %u to %u; expected a range",
			       (uint32_t)r->first, (uint32_t)r->last);
	if (!r->source && r->paths.n != 1)
		return iw_fail(why, IW_E_LIMIT, "REQUEST: %U targets; expected 1",
			       (uint64_t)r->paths.n);
	return 0;
}

static int decode_request(struct iw_ssh_request *r, const struct iw_cbor_rec *rec,
			  struct iw_fault *why)
{
	int err = iw_cbor_get_u32(rec, KEY_PROTOCOL, UINT32_MAX, &r->protocol, why);

	if (!err)
		err = get_text(r->version, rec, KEY_VERSION, IW_SSH_VERSION_MAX, why);
	if (err || r->protocol != IW_SSH_PROTOCOL)
		return err;
	err = get_flags(r, rec, why);
	if (!err)
		err = iw_cbor_get_u32(rec, KEY_CRC, IW_CRC_OFF, &r->crc, why);
	if (!err)
		err = iw_cbor_get_u32(rec, KEY_MULPDU, IW_MULPDU_MAX, &r->mulpdu, why);
	if (!err)
		err = iw_cbor_get_u32(rec, KEY_OPTS, UINT32_MAX, &r->opts, why);
	if (!err)
		err = iw_cbor_get_u32(rec, KEY_JOBS, IW_SSH_JOBS_MAX, &r->jobs, why);
	if (!err)
		err = iw_cbor_get_uint(rec, KEY_TIMEOUT, IW_SSH_MS_MAX, &r->timeout_ms, why);
	if (!err)
		err = iw_cbor_get_uint(rec, KEY_SETUP, IW_SSH_MS_MAX, &r->setup_ms, why);
	if (!err)
		err = get_u16(&r->first, rec, KEY_FIRST, why);
	if (!err)
		err = get_u16(&r->last, rec, KEY_LAST, why);
	if (!err)
		err = get_text(r->cc, rec, KEY_CC, IW_SSH_CC_MAX, why);
	if (!err)
		err = get_paths(&r->paths, rec, why);
	return err ? err : check_request(r, why);
}

static int decode_ready(struct iw_ssh_ready *r, const struct iw_cbor_rec *rec, struct iw_fault *why)
{
	const uint8_t *secret;
	size_t len;
	int err = get_text(r->version, rec, KEY_VERSION, IW_SSH_VERSION_MAX, why);

	if (!err)
		err = get_text(r->addr, rec, KEY_ADDR, IW_SSH_ADDR_MAX, why);
	if (!err)
		err = get_u16(&r->port, rec, KEY_PORT, why);
	if (!err)
		err = get_u16(&r->udp_port, rec, KEY_UDP_PORT, why);
	if (!err)
		err = iw_cbor_get_string(rec, KEY_SECRET, IW_CBOR_BYTES, IW_SSH_SECRET_LEN, &secret,
					 &len, why);
	if (err)
		return err;
	if (len != IW_SSH_SECRET_LEN || r->port == 0)
		return iw_fail(
			why, IW_E_LIMIT,
			"READY: a secret of %U octets and port %u; expected %u octets and a port above 0",
			(uint64_t)len, (uint32_t)r->port, (uint32_t)IW_SSH_SECRET_LEN);
	memcpy(r->secret, secret, IW_SSH_SECRET_LEN);
	return get_paths(&r->paths, rec, why);
}

int iw_ssh_msg_decode(struct iw_ssh_msg *out, const uint8_t *p, size_t len, struct iw_fault *why)
{
	struct iw_cbor_in in = { .p = p, .len = len };
	struct iw_cbor_rec rec;
	uint32_t type = 0;
	int r = iw_cbor_rec_next(&rec, &in, "message", why);

	memset(out, 0, sizeof(*out));
	if (r == 0)
		return iw_fail(why, IW_E_TRUNC, "an empty message");
	if (r < 0)
		return r;
	if (in.pos != len)
		return iw_fail(why, IW_E_FORMAT, "octets follow the message");
	r = iw_cbor_get_u32(&rec, KEY_TYPE, UINT32_MAX, &type, why);
	if (r)
		return r;
	out->type = (enum iw_ssh_type)type;
	switch (type) {
	case IW_SSH_REQUEST:
		rec.what = "REQUEST";
		return decode_request(&out->request, &rec, why);
	case IW_SSH_READY:
		rec.what = "READY";
		return decode_ready(&out->ready, &rec, why);
	case IW_SSH_ERROR:
		rec.what = "ERROR";
		return get_text(out->error, &rec, KEY_TEXT, IW_SSH_TEXT_MAX, why);
	case IW_SSH_FALLBACK:
	case IW_SSH_AGREED:
		return 0;
	default:
		return iw_fail(why, IW_E_FORMAT, "message type %u; expected 1 to 5", type);
	}
}

bool iw_ssh_path_next(struct iw_ssh_paths *paths, const char **p, size_t *len)
{
	struct iw_cbor_item item;

	if (paths->n == 0 || iw_cbor_next(&paths->in, &item) != 1)
		return false;
	paths->n--;
	*p = (const char *)item.p;
	*len = item.len;
	return true;
}
