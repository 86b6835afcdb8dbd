// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Encodes control messages, and decodes them as untrusted input. */
#include "stag-reg/msg.h"

#include <string.h>

#include "cbor/cbor.h"
#include "util/num.h"
#include "util/text.h"

/* The keys of a request. */
enum {
	REQ_OP = 0,
	REQ_MEMORY = 1,
	REQ_OFF = 2,
	REQ_LEN = 3,
	REQ_ACCESS = 4,
	REQ_OPEN = 5,
	REQ_DOMAIN = 6,
	REQ_STREAM = 7,
	REQ_LIFETIME = 8,
	REQ_USES = 9,
	REQ_LABEL = 10,
	REQ_STAG = 11,
	REQ_PEERS = 12,
	REQ_HOST = 13,
};

/* The keys of an answer: the common ones, then those of each kind. */
enum {
	ANS_KIND = 0,

	END_COUNT = 1,

	ERROR_NAME = 1,
	ERROR_TEXT = 2,

	BUF_STAG = 1,
	BUF_TO = 2,
	BUF_LEN = 3,
	BUF_ACCESS = 4,
	BUF_DOMAIN = 5,
	BUF_STREAM = 6,
	BUF_LEFT = 7,
	BUF_USES = 8,
	BUF_KEY = 9,
	BUF_OPEN = 10,
	BUF_MEMORY = 11,
	BUF_LABEL = 12,
	BUF_TRANSPORT = 13,
	BUF_ENDPOINT = 14, /* an array: host, port */
	BUF_TALLY = 15,

	PEER_STREAM = 1,
	PEER_ADDR = 2,
	PEER_TALLY = 3,
	PEER_AGE = 4,
	PEER_ENDED = 5,
	PEER_WHY = 6,
};

bool iw_manager_host_valid(const char *host)
{
	size_t len = strlen(host);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)host[i] <= ' ' || host[i] == 0x7f)
			return false;
	return len > 0 && len <= IW_MANAGER_HOST_MAX && !strpbrk(host, "/?#@[]'\"\\");
}

bool iw_manager_name_valid(const char *name, size_t len)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

	if (len == 0 || len > IW_MANAGER_NAME_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!memchr(letters, name[i], sizeof(letters) - 1))
			return false;
	return true;
}

/* --- out --- */

/*
 * A map whose pairs are counted while they are written. Its head has one octet for up to 23 pairs.
 */
struct map_out {
	struct iw_cbor_out o;
	size_t pairs;
};

static void begin(struct map_out *m, uint8_t *buf)
{
	m->pairs = 0;
	iw_cbor_out_init(&m->o, buf, IW_MANAGER_MSG_MAX);
	iw_cbor_map(&m->o, 0);
}

static size_t end(struct map_out *m)
{
	struct iw_cbor_out head;

	iw_cbor_out_init(&head, m->o.buf, 1);
	iw_cbor_map(&head, m->pairs);
	return m->o.len;
}

static void put_key(struct map_out *m, unsigned key)
{
	m->pairs++;
	iw_cbor_uint(&m->o, key);
}

static void put_uint(struct map_out *m, unsigned key, uint64_t v)
{
	put_key(m, key);
	iw_cbor_uint(&m->o, v);
}

/* A flag that is absent is false. */
static void put_flag(struct map_out *m, unsigned key, bool v)
{
	if (!v)
		return;
	put_key(m, key);
	iw_cbor_bool(&m->o, true);
}

/* A string that is absent is empty. A label may have any octets; other strings are UTF-8. */
static void put_string(struct map_out *m, unsigned key, const char *s)
{
	if (!*s)
		return;
	put_key(m, key);
	iw_cbor_bytes(&m->o, s, strlen(s));
}

static void put_tally(struct map_out *m, unsigned key, const struct iw_tally *t)
{
	put_key(m, key);
	iw_cbor_array(&m->o, 4);
	iw_cbor_uint(&m->o, t->writes);
	iw_cbor_uint(&m->o, t->write_octets);
	iw_cbor_uint(&m->o, t->reads);
	iw_cbor_uint(&m->o, t->read_octets);
}

size_t iw_manager_request_encode(uint8_t buf[static IW_MANAGER_MSG_MAX],
				 const struct iw_manager_request *r)
{
	struct map_out m;

	begin(&m, buf);
	put_uint(&m, REQ_OP, r->op);
	switch (r->op) {
	case IW_MANAGER_ADD:
		put_flag(&m, REQ_MEMORY, r->memory);
		put_uint(&m, REQ_OFF, r->off);
		put_uint(&m, REQ_LEN, r->len);
		put_uint(&m, REQ_ACCESS, r->access);
		put_flag(&m, REQ_OPEN, r->open);
		put_string(&m, REQ_DOMAIN, r->domain);
		put_uint(&m, REQ_STREAM, r->stream);
		put_uint(&m, REQ_LIFETIME, r->lifetime_ms);
		put_uint(&m, REQ_USES, r->uses);
		put_string(&m, REQ_LABEL, r->label);
		put_string(&m, REQ_HOST, r->host);
		break;
	case IW_MANAGER_LIST:
	case IW_MANAGER_REVOKE:
		put_uint(&m, REQ_STAG, r->stag);
		put_flag(&m, REQ_PEERS, r->peers);
		break;
	}
	return end(&m);
}

static void put_buffer(struct map_out *m, const struct iw_manager_buffer *b)
{
	put_uint(m, BUF_STAG, b->stag);
	put_uint(m, BUF_TO, b->to);
	put_uint(m, BUF_LEN, b->len);
	put_uint(m, BUF_ACCESS, b->access);
	put_string(m, BUF_DOMAIN, b->domain);
	put_uint(m, BUF_STREAM, b->stream);
	put_uint(m, BUF_LEFT, b->left_ms);
	put_uint(m, BUF_USES, b->uses);
	if (b->key.set) {
		put_key(m, BUF_KEY);
		iw_cbor_bytes(&m->o, b->key.octets, IW_CLAIM_KEY_LEN);
	}
	put_flag(m, BUF_OPEN, b->open);
	put_flag(m, BUF_MEMORY, b->memory);
	put_string(m, BUF_LABEL, b->label);
	put_string(m, BUF_TRANSPORT, b->transport);
	put_key(m, BUF_ENDPOINT);
	iw_cbor_array(&m->o, 2);
	iw_cbor_bytes(&m->o, b->host, strlen(b->host));
	iw_cbor_uint(&m->o, b->port);
	put_tally(m, BUF_TALLY, &b->tally);
}

static void put_peer(struct map_out *m, const struct iw_manager_peer *p)
{
	put_uint(m, PEER_STREAM, p->stream);
	put_string(m, PEER_ADDR, p->addr);
	put_tally(m, PEER_TALLY, &p->tally);
	put_uint(m, PEER_AGE, p->age_ms);
	put_flag(m, PEER_ENDED, p->ended);
	put_string(m, PEER_WHY, p->why);
}

size_t iw_manager_reply_encode(uint8_t buf[static IW_MANAGER_MSG_MAX],
			       const struct iw_manager_reply *r)
{
	struct map_out m;

	begin(&m, buf);
	put_uint(&m, ANS_KIND, r->kind);
	switch (r->kind) {
	case IW_MANAGER_END:
		put_uint(&m, END_COUNT, r->count);
		break;
	case IW_MANAGER_ERROR:
		put_string(&m, ERROR_NAME, iw_err_name(r->err));
		put_string(&m, ERROR_TEXT, r->text);
		break;
	case IW_MANAGER_BUFFER:
		put_buffer(&m, &r->buffer);
		break;
	case IW_MANAGER_PEER:
		put_peer(&m, &r->peer);
		break;
	}
	return end(&m);
}

/* --- in --- */

/*
 * A map whose values are read one after another. After the first error the other values are not
 * read.
 */
struct map_in {
	struct iw_cbor_rec rec;
	struct iw_fault *why;
	int err;
};

static void read_map(struct map_in *m, const char *what, const uint8_t *msg, size_t len,
		     struct iw_fault *why)
{
	struct iw_cbor_in in = { .p = msg, .len = len };

	m->why = why;
	m->err = iw_cbor_rec_next(&m->rec, &in, what, why);
	if (m->err == 0)
		m->err = iw_fail(why, IW_E_TRUNC, "%s: empty", what);
	else if (m->err > 0)
		m->err = in.pos == len ? 0
				       : iw_fail(why, IW_E_FORMAT, "%s: %U octets follow the map",
						 what, (uint64_t)(len - in.pos));
}

static uint64_t get_uint(struct map_in *m, unsigned key, uint64_t max)
{
	uint64_t v = 0;

	if (!m->err)
		m->err = iw_cbor_get_uint(&m->rec, key, max, &v, m->why);
	return m->err ? 0 : v;
}

static uint64_t get_optional(struct map_in *m, unsigned key, uint64_t max)
{
	return iw_cbor_has(&m->rec, key) ? get_uint(m, key, max) : 0;
}

static bool get_flag(struct map_in *m, unsigned key)
{
	bool v = false;

	if (!m->err && iw_cbor_has(&m->rec, key))
		m->err = iw_cbor_get_bool(&m->rec, key, &v, m->why);
	return !m->err && v;
}

/* Copies a string without a NUL inside. cap includes the NUL at the end. */
static void copy_string(struct map_in *m, char *out, size_t cap, const uint8_t *p, size_t len)
{
	if (len >= cap || memchr(p, 0, len)) {
		m->err = iw_fail(m->why, len >= cap ? IW_E_LIMIT : IW_E_FORMAT,
				 "%s: text of %U octets: expected less than %U and no NUL",
				 m->rec.what, (uint64_t)len, (uint64_t)cap);
		return;
	}
	memcpy(out, p, len);
	out[len] = '\0';
}

static void get_string(struct map_in *m, unsigned key, char *out, size_t cap)
{
	const uint8_t *p;
	size_t len;

	if (m->err || !iw_cbor_has(&m->rec, key))
		return;
	m->err = iw_cbor_get_string(&m->rec, key, IW_CBOR_BYTES, cap - 1, &p, &len, m->why);
	if (!m->err)
		copy_string(m, out, cap, p, len);
}

static void get_name(struct map_in *m, unsigned key, char out[static IW_MANAGER_NAME_MAX + 1])
{
	get_string(m, key, out, IW_MANAGER_NAME_MAX + 1);
	if (!m->err && *out && !iw_manager_name_valid(out, strlen(out)))
		m->err = iw_fail(m->why, IW_E_FORMAT, "%s: not a valid name of a protection domain",
				 m->rec.what);
}

static unsigned get_access(struct map_in *m, unsigned key)
{
	uint64_t access = get_uint(m, key, IW_CLAIM_RIGHTS);

	if (!m->err && access == 0)
		m->err = iw_fail(m->why, IW_E_FORMAT,
				 "%s: no access right: expected read, write or both", m->rec.what);
	return (unsigned)access;
}

static uint64_t next_uint(struct map_in *m, struct iw_cbor_in *in, uint64_t max)
{
	struct iw_cbor_item it;

	if (m->err)
		return 0;
	if (iw_cbor_next(in, &it) != 1 || it.kind != IW_CBOR_UINT || it.u > max) {
		m->err = iw_fail(m->why, IW_E_FORMAT, "%s: expected a number up to %U", m->rec.what,
				 max);
		return 0;
	}
	return it.u;
}

static void get_array(struct map_in *m, unsigned key, struct iw_cbor_in *in, size_t least)
{
	size_t n;

	if (m->err)
		return;
	m->err = iw_cbor_get_array(&m->rec, key, in, &n, m->why);
	if (!m->err && n < least)
		m->err = iw_fail(m->why, IW_E_FORMAT, "%s: array of %U: expected %U", m->rec.what,
				 (uint64_t)n, (uint64_t)least);
}

static void get_tally(struct map_in *m, unsigned key, struct iw_tally *t)
{
	struct iw_cbor_in in;

	get_array(m, key, &in, 4);
	t->writes = next_uint(m, &in, UINT64_MAX);
	t->write_octets = next_uint(m, &in, UINT64_MAX);
	t->reads = next_uint(m, &in, UINT64_MAX);
	t->read_octets = next_uint(m, &in, UINT64_MAX);
}

static void check_host(struct map_in *m, const char *host)
{
	if (!m->err && host[0] && !iw_manager_host_valid(host))
		m->err = iw_fail(m->why, IW_E_FORMAT,
				 "%s: a host with a character that names and addresses do not have",
				 m->rec.what);
}

/* The name is printed between quotes of a shell and in a URI. "": not known. */
static void get_transport(struct map_in *m, unsigned key, struct iw_manager_buffer *b)
{
	get_string(m, key, b->transport, sizeof(b->transport));
	if (!m->err && strspn(b->transport, "abcdefghijklmnopqrstuvwxyz") != strlen(b->transport))
		m->err = iw_fail(m->why, IW_E_FORMAT,
				 "%s: a transport with a character other than a lower-case letter",
				 m->rec.what);
}

static void get_endpoint(struct map_in *m, unsigned key, struct iw_manager_buffer *b)
{
	struct iw_cbor_in in;
	struct iw_cbor_item it;

	get_array(m, key, &in, 2);
	if (m->err)
		return;
	if (iw_cbor_next(&in, &it) != 1 || it.kind != IW_CBOR_BYTES) {
		m->err = iw_fail(m->why, IW_E_FORMAT, "%s: expected a host", m->rec.what);
		return;
	}
	copy_string(m, b->host, sizeof(b->host), it.p, it.len);
	check_host(m, b->host);
	b->port = (uint16_t)next_uint(m, &in, UINT16_MAX);
}

static void get_key(struct map_in *m, unsigned key, struct iw_claim_key *out)
{
	const uint8_t *p;
	size_t len;

	if (m->err || !iw_cbor_has(&m->rec, key))
		return;
	m->err =
		iw_cbor_get_string(&m->rec, key, IW_CBOR_BYTES, IW_CLAIM_KEY_LEN, &p, &len, m->why);
	if (!m->err && len != IW_CLAIM_KEY_LEN)
		m->err = iw_fail(m->why, IW_E_FORMAT,
				 "%s: key of %U octets: not the length of a key", m->rec.what,
				 (uint64_t)len);
	if (m->err)
		return;
	out->set = true;
	memcpy(out->octets, p, len);
}

static void get_add(struct map_in *m, struct iw_manager_request *r)
{
	uint64_t end;

	r->memory = get_flag(m, REQ_MEMORY);
	r->off = get_uint(m, REQ_OFF, IW_MANAGER_OCTETS_MAX);
	r->len = get_uint(m, REQ_LEN, IW_MANAGER_OCTETS_MAX);
	r->access = get_access(m, REQ_ACCESS);
	r->open = get_flag(m, REQ_OPEN);
	get_name(m, REQ_DOMAIN, r->domain);
	r->stream = (uint32_t)get_optional(m, REQ_STREAM, UINT32_MAX);
	/* The maximum that still fits 64 bits in nanoseconds. */
	r->lifetime_ms = get_optional(m, REQ_LIFETIME, UINT64_MAX / 1000000u - 1);
	r->uses = (uint32_t)get_optional(m, REQ_USES, IW_MANAGER_USES_MAX);
	get_string(m, REQ_LABEL, r->label, sizeof(r->label));
	get_string(m, REQ_HOST, r->host, sizeof(r->host));
	check_host(m, r->host);
	if (m->err)
		return;
	if (r->stream && *r->domain)
		m->err = iw_fail(m->why, IW_E_FORMAT, "%s: both a stream and a protection domain",
				 m->rec.what);
	else if (iw_add_wraps(r->off, r->len, &end) || end > INT64_MAX)
		m->err = iw_fail(m->why, IW_E_LIMIT, "%s: range %U:%U ends above 2^63 - 1",
				 m->rec.what, r->off, r->len);
}

int iw_manager_request_decode(struct iw_manager_request *out, const uint8_t *msg, size_t len,
			      struct iw_fault *why)
{
	struct map_in m;

	memset(out, 0, sizeof(*out));
	read_map(&m, "control request", msg, len, why);
	out->op = (enum iw_manager_op)get_uint(&m, REQ_OP, IW_MANAGER_REVOKE);
	if (m.err)
		return m.err;
	switch (out->op) {
	case IW_MANAGER_ADD:
		get_add(&m, out);
		return m.err;
	case IW_MANAGER_LIST:
	case IW_MANAGER_REVOKE:
		out->stag = (uint32_t)get_optional(&m, REQ_STAG, UINT32_MAX);
		out->peers = get_flag(&m, REQ_PEERS);
		return m.err;
	}
	return iw_fail(why, IW_E_FORMAT, "control request: unknown operation %u",
		       (uint32_t)out->op);
}

static void get_buffer(struct map_in *m, struct iw_manager_buffer *b)
{
	uint64_t end;

	b->stag = (uint32_t)get_uint(m, BUF_STAG, UINT32_MAX);
	b->to = get_uint(m, BUF_TO, UINT64_MAX);
	b->len = get_uint(m, BUF_LEN, UINT64_MAX);
	b->access = get_access(m, BUF_ACCESS);
	get_name(m, BUF_DOMAIN, b->domain);
	b->stream = (uint32_t)get_uint(m, BUF_STREAM, UINT32_MAX);
	b->left_ms = get_uint(m, BUF_LEFT, UINT64_MAX);
	b->uses = (uint32_t)get_uint(m, BUF_USES, UINT32_MAX);
	get_key(m, BUF_KEY, &b->key);
	b->open = get_flag(m, BUF_OPEN);
	b->memory = get_flag(m, BUF_MEMORY);
	get_string(m, BUF_LABEL, b->label, sizeof(b->label));
	get_transport(m, BUF_TRANSPORT, b);
	get_endpoint(m, BUF_ENDPOINT, b);
	get_tally(m, BUF_TALLY, &b->tally);
	if (!m->err && iw_add_wraps(b->to, b->len, &end))
		m->err = iw_fail(m->why, IW_E_LIMIT, "%s: TO and length wrap", m->rec.what);
}

static void get_peer(struct map_in *m, struct iw_manager_peer *p)
{
	p->stream = (uint32_t)get_uint(m, PEER_STREAM, UINT32_MAX);
	get_string(m, PEER_ADDR, p->addr, sizeof(p->addr));
	get_tally(m, PEER_TALLY, &p->tally);
	p->age_ms = get_uint(m, PEER_AGE, UINT64_MAX);
	p->ended = get_flag(m, PEER_ENDED);
	get_string(m, PEER_WHY, p->why, sizeof(p->why));
}

/* Finds an error by its name, because the numbers may differ between versions. */
static int err_of(const char *name)
{
	for (int err = -1; err > -IW_ERR_COUNT_; err--)
		if (strcmp(iw_err_name(err), name) == 0)
			return err;
	return IW_E_OS;
}

int iw_manager_reply_decode(struct iw_manager_reply *out, const uint8_t *msg, size_t len,
			    struct iw_fault *why)
{
	char name[32] = "";
	struct map_in m;

	memset(out, 0, sizeof(*out));
	read_map(&m, "control answer", msg, len, why);
	out->kind = (enum iw_manager_kind)get_uint(&m, ANS_KIND, IW_MANAGER_PEER);
	if (m.err)
		return m.err;
	switch (out->kind) {
	case IW_MANAGER_END:
		out->count = get_uint(&m, END_COUNT, UINT64_MAX);
		break;
	case IW_MANAGER_ERROR:
		get_string(&m, ERROR_NAME, name, sizeof(name));
		get_string(&m, ERROR_TEXT, out->text, sizeof(out->text));
		out->err = err_of(name);
		break;
	case IW_MANAGER_BUFFER:
		get_buffer(&m, &out->buffer);
		break;
	case IW_MANAGER_PEER:
		get_peer(&m, &out->peer);
		break;
	}
	return m.err;
}
