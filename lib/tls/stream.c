// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A session of TLS 1.3 over a stream: OpenSSL with memory of the caller in place of a socket. */
#include "tls/internal.h"

#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>

#include "util/num.h"
#include "util/text.h"

/*
 * Records that one key protects. RFC 8446 5.5 permits 2^24.5 full ones with AES-GCM; the key update
 * comes well before.
 */
#define KEY_RECORDS (UINT64_C(1) << 23)

/* Octets by which the start-up of MPA is recognized, "MPA ID Req Frame" (RFC 5044 7.1). */
#define HEAD_LEN 8

struct iw_tls_stream {
	struct iw_tls_session session;
	SSL *ssl;
	const uint8_t *in; /* borrowed */
	size_t in_len, in_at;
	uint8_t *out; /* borrowed */
	size_t out_cap, out_len;
	uint8_t head[HEAD_LEN]; /* the first octets of the peer */
	size_t head_len;
	uint64_t records;     /* sent with the current key */
	uint64_t key_records; /* at most so many with one key */
	bool held;            /* a read waits for room in the output */
	int err;              /* IW_E_TLS: the session has failed */
	struct iw_fault why;  /* if err */
};

/* ---------------------------------------------------------------- memory in place of a socket */

static int bio_read(BIO *bio, char *dst, size_t cap, size_t *got)
{
	struct iw_tls_stream *s = BIO_get_data(bio);
	size_t n = IW_MIN(cap, s->in_len - s->in_at);

	BIO_clear_retry_flags(bio);
	*got = n;
	if (n == 0) {
		BIO_set_retry_read(bio);
		return 0;
	}
	memcpy(dst, s->in + s->in_at, n);
	s->in_at += n;
	return 1;
}

static int bio_write(BIO *bio, const char *src, size_t len, size_t *put)
{
	struct iw_tls_stream *s = BIO_get_data(bio);
	size_t n = IW_MIN(len, s->out_cap - s->out_len);

	BIO_clear_retry_flags(bio);
	*put = n;
	if (n == 0) {
		BIO_set_retry_write(bio);
		return 0;
	}
	memcpy(s->out + s->out_len, src, n);
	s->out_len += n;
	return 1;
}

static long bio_ctrl(BIO *bio, int cmd, long num, void *ptr)
{
	(void)bio;
	(void)num;
	(void)ptr;
	return cmd == BIO_CTRL_FLUSH || cmd == BIO_CTRL_DUP;
}

static int bio_create(BIO *bio)
{
	BIO_set_init(bio, 1);
	return 1;
}

static BIO_METHOD *bio_method(struct iw_tls *t)
{
	BIO_METHOD *m = t->bio[IW_TLS_OVER_STREAM];

	if (m)
		return m;
	m = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "memory of the caller");
	if (!m)
		return NULL;
	BIO_meth_set_read_ex(m, bio_read);
	BIO_meth_set_write_ex(m, bio_write);
	BIO_meth_set_ctrl(m, bio_ctrl);
	BIO_meth_set_create(m, bio_create);
	t->bio[IW_TLS_OVER_STREAM] = m;
	return m;
}

void iw_tls_stream_input(struct iw_tls_stream *s, const uint8_t *data, size_t len)
{
	size_t n = IW_MIN(len, HEAD_LEN - s->head_len);

	s->in = data;
	s->in_len = len;
	s->in_at = 0;
	if (n) {
		memcpy(s->head + s->head_len, data, n);
		s->head_len += n;
	}
}

size_t iw_tls_stream_taken(struct iw_tls_stream *s)
{
	size_t taken = s->in_at;

	s->in = NULL;
	s->in_len = s->in_at = 0;
	return taken;
}

size_t iw_tls_stream_output(struct iw_tls_stream *s, uint8_t *dst, size_t cap)
{
	size_t len = s->out_len;

	s->out = dst;
	s->out_cap = cap;
	s->out_len = 0;
	return len;
}

/* ---------------------------------------------------------------- life */

int iw_tls_stream_new(struct iw_tls_stream **out, struct iw_tls *t, bool initiator,
		      const char *name, struct iw_fault *why)
{
	struct iw_tls_stream *s = calloc(1, sizeof(*s));
	BIO_METHOD *method = bio_method(t);
	BIO *bio = s && method ? BIO_new(method) : NULL;
	int err;

	*out = NULL;
	if (!bio) {
		free(s);
		return iw_fail(why, IW_E_NOMEM, "TLS: no memory for a session");
	}
	BIO_set_data(bio, s);
	err = iw_tls_session_init(&s->ssl, &s->session, t, IW_TLS_OVER_STREAM, initiator,
				  initiator ? name : NULL, why);
	if (err) {
		BIO_free(bio);
		free(s);
		return err;
	}
	SSL_set_bio(s->ssl, bio, bio);
	s->key_records = KEY_RECORDS;
	*out = s;
	return 0;
}

void iw_tls_stream_free(struct iw_tls_stream *s)
{
	if (!s)
		return;
	SSL_free(s->ssl);
	iw_tls_session_fini(&s->session);
	free(s);
}

/* ---------------------------------------------------------------- errors */

static int fail_again(const struct iw_tls_stream *s, struct iw_fault *why)
{
	if (why)
		*why = s->why;
	return s->err;
}

static bool is_plain_mpa(const struct iw_tls_stream *s)
{
	/* OpenSSL refuses the first record by its header of 5 octets. */
	return s->head_len >= 5 && memcmp(s->head, "MPA ID Re", s->head_len) == 0;
}

/*
 * An alert (RFC 8446 6.2, unexpected_message), which OpenSSL omits here. MPA of the peer reports that
 * this end expects TLS.
 */
static int refuse_plain(struct iw_tls_stream *s)
{
	static const uint8_t alert[] = { 21, 3, 3, 0, 2, 2, 10 };

	if (s->out_cap - s->out_len >= sizeof(alert)) {
		memcpy(s->out + s->out_len, alert, sizeof(alert));
		s->out_len += sizeof(alert);
	}
	return iw_fail(&s->why, IW_E_TLS,
		       "the peer does not use TLS, it begins with plain MPA: give it --tls, or "
		       "leave it out here");
}

/*
 * Returns IW_E_AGAIN if the SSL function that returned ret only lacks input or room for output; else
 * the session has failed.
 */
static int again_or_fail(struct iw_tls_stream *s, int ret, struct iw_fault *why)
{
	int what = SSL_get_error(s->ssl, ret);

	s->held = what == SSL_ERROR_WANT_WRITE;
	if (what == SSL_ERROR_WANT_READ || s->held)
		return IW_E_AGAIN;
	s->err = is_plain_mpa(s) ? refuse_plain(s)
				 : iw_tls_session_failed(&s->session, s->ssl, &s->why);
	ERR_clear_error();
	return fail_again(s, why);
}

/* ---------------------------------------------------------------- the handshake */

int iw_tls_stream_handshake(struct iw_tls_stream *s, struct iw_fault *why)
{
	int ret;

	if (s->err)
		return fail_again(s, why);
	if (s->session.up)
		return 0;
	ERR_clear_error();
	ret = SSL_do_handshake(s->ssl);
	if (ret != 1)
		return again_or_fail(s, ret, why);
	s->err = iw_tls_session_up(&s->session, s->ssl, &s->why);
	ERR_clear_error();
	return s->err ? fail_again(s, why) : 0;
}

bool iw_tls_stream_info(const struct iw_tls_stream *s, struct iw_tls_info *out)
{
	return iw_tls_session_info(&s->session, out);
}

/* ---------------------------------------------------------------- data */

int64_t iw_tls_stream_read(struct iw_tls_stream *s, const struct iw_vec *vec, size_t nvec,
			   size_t skip, struct iw_fault *why)
{
	size_t i = 0, at = skip, total = 0, got;
	int ret, err;

	if (s->err)
		return fail_again(s, why);
	ERR_clear_error();
	while (i < nvec) {
		if (at >= vec[i].len) {
			at -= vec[i++].len;
			continue;
		}
		ret = SSL_read_ex(s->ssl, (uint8_t *)vec[i].base + at, vec[i].len - at, &got);
		if (ret == 1) {
			at += got;
			total += got;
			continue;
		}
		if (SSL_get_error(s->ssl, ret) == SSL_ERROR_ZERO_RETURN)
			return (int64_t)total;
		err = again_or_fail(s, ret, why);
		/* A failure is reported again by the next read. */
		return total ? (int64_t)total : err;
	}
	return (int64_t)total;
}

bool iw_tls_stream_pending(const struct iw_tls_stream *s)
{
	/* A read that waits for room in the output must be repeated when there is some. */
	return SSL_pending(s->ssl) > 0 || s->held ||
	       SSL_get_shutdown(s->ssl) & SSL_RECEIVED_SHUTDOWN;
}

bool iw_tls_stream_held(const struct iw_tls_stream *s)
{
	return s->held;
}

/*
 * Returns the plaintext of the next record, *len octets: of one run of octets in place, else copied
 * to scratch memory. *i and at: where it begins.
 */
static const uint8_t *next_plain(struct iw_tls_stream *s, const struct iw_vec *vec, size_t nvec,
				 size_t i, size_t at, size_t most, size_t *len)
{
	uint8_t *dst = s->session.creds->plain;
	size_t n = IW_MIN(vec[i].len - at, most);

	*len = n;
	if (n == most || i + 1 == nvec)
		return (const uint8_t *)vec[i].base + at;
	memcpy(dst, (const uint8_t *)vec[i].base + at, n);
	while (++i < nvec && *len < most) {
		n = IW_MIN(vec[i].len, most - *len);
		memcpy(dst + *len, vec[i].base, n);
		*len += n;
	}
	return dst;
}

static void count_record(struct iw_tls_stream *s)
{
	if (++s->records < s->key_records)
		return;
	s->records = 0;
	/* Each end counts its own records, so the peer need not update its key. */
	(void)SSL_key_update(s->ssl, SSL_KEY_UPDATE_NOT_REQUESTED);
}

int64_t iw_tls_stream_write(struct iw_tls_stream *s, const struct iw_vec *vec, size_t nvec,
			    size_t skip, struct iw_fault *why)
{
	size_t i = 0, at = skip, total = 0;

	if (s->err)
		return fail_again(s, why);
	ERR_clear_error();
	for (;;) {
		size_t room = s->out_cap - s->out_len, len, put;
		const uint8_t *plain;
		int ret;

		while (i < nvec && at >= vec[i].len)
			at -= vec[i++].len;
		if (i == nvec)
			return (int64_t)total;
		/* A short record at the end of the output would be expensive. */
		if (room <= IW_TLS_RECORD_MORE ||
		    (total && room < IW_TLS_RECORD_MAX + IW_TLS_RECORD_MORE))
			return total ? (int64_t)total : IW_E_AGAIN;
		plain = next_plain(s, vec, nvec, i, at,
				   IW_MIN(room - IW_TLS_RECORD_MORE, (size_t)IW_TLS_RECORD_MAX),
				   &len);
		ret = SSL_write_ex(s->ssl, plain, len, &put);
		if (ret != 1) {
			int err = again_or_fail(s, ret, why);

			return total ? (int64_t)total : err;
		}
		count_record(s);
		total += put;
		at += put;
	}
}

void iw_tls_stream_close(struct iw_tls_stream *s)
{
	if (s->err || !s->session.up)
		return;
	ERR_clear_error();
	(void)SSL_shutdown(s->ssl); /* sends a close_notify; does not wait for that of the peer */
	ERR_clear_error();
}

void iw_tls_stream_limit_key(struct iw_tls_stream *s, uint64_t records)
{
	s->key_records = records;
}

int iw_tls_stream_update_key(struct iw_tls_stream *s)
{
	return SSL_key_update(s->ssl, SSL_KEY_UPDATE_REQUESTED) == 1 ? 0 : IW_E_TLS;
}
