// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * DTLS 1.2 over datagrams in memory (RFC 6347). OpenSSL reads a datagram that the caller provides.
 * It writes the records of the application to the caller's memory, and the datagrams of the
 * handshake to a queue of the session.
 */
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>

#include "tls/internal.h"
#include "tls/tls.h"
#include "util/num.h"
#include "util/text.h"

#define QUEUE_MAX         65536 /* octets of the handshake that wait to be sent; more are dropped */
#define HANDSHAKE         22    /* content types (RFC 5246 6.2.1) */
#define CHANGE            20    /* ChangeCipherSpec, the lowest one */
#define RECORD_HDR        13    /* octets: the header of a record, RFC 6347 4.1 */
#define MESSAGE_HDR       12    /* octets: the header of a handshake message, 4.2.2 */
#define TAG_LEN           16    /* octets, of all AEAD ciphers here */
#define NONCE_LEN         8 /* the explicit nonce of AES-GCM, RFC 5288 3; ChaCha20-Poly1305 has none */
/*
 * Microseconds. 4.2.4.1 recommends 1 s for the first retransmission. A set-up lasts at most ten
 * seconds here, so a shorter time repairs more losses.
 */
#define RETRANSMIT_US     400000
#define RETRANSMIT_MAX_US 4000000
/*
 * Records of one key. RFC 9147 4.5.3 refers to RFC 8446 5.5: about 2^24.5 records with AES-GCM. For
 * ChaCha20-Poly1305 only the 48 bits of the sequence number limit them.
 */
#define GCM_RECORDS       23726566
#define CHACHA_RECORDS    ((1ull << 48) - 1)

/*
 * A responder with another pre-shared key cannot decrypt the Finished, and drops it as it drops any
 * record that is not authentic (RFC 6347 4.1.2.7). After so many retransmissions of a Finished the
 * initiator takes this as the reason.
 */
#define FINISHED_TRIES 3

/*
 * OpenSSL keeps records of the next epoch until the handshake has finished, up to 100, each in a
 * buffer for the largest record. A peer sends a Finished with each of its flights, and few packets.
 */
#define EARLY_MAX 16

#define SECRET_LEN 32 /* octets of a cookie secret, and of a cookie */
#define SECRET_NS  IW_SEC(60)

struct iw_dtls {
	SSL *ssl;
	struct iw_tls_session session;
	bool established;
	struct iw_fault failed;
	/* The received datagram, until OpenSSL has read it (borrowed). */
	const uint8_t *in;
	size_t in_len;
	/* Where the record of iw_dtls_seal goes (borrowed). */
	uint8_t *dst;
	size_t dst_cap, dst_len;
	/* Datagrams to send, each after two octets with its length. */
	uint8_t *queue;
	size_t queue_len, queue_at;
	uint64_t records;    /* that may still be sent */
	size_t least;        /* octets of the shortest encrypted fragment: explicit nonce and tag */
	unsigned unfinished; /* retransmissions of the Finished of an initiator */
	unsigned early;      /* encrypted records that arrived before the handshake has finished */
	/* During iw_dtls_accept: for the cookie. */
	const struct iw_dtls_listener *listener;
};

struct iw_dtls_listener {
	struct iw_tls *tls;
	struct iw_dtls *spare; /* processes the next ClientHello; NULL: not created yet */
	BIO_ADDR *from;        /* required by DTLSv1_listen, not used */
	/* The current secret and the one before. */
	uint8_t secret[2][SECRET_LEN];
	uint64_t renew_at;
	const uint8_t *key; /* the address of the peer (borrowed) */
	size_t key_len;
};

/* --- OpenSSL's side of the datagrams ---------------------------------------------------------- */

static bool enqueue(struct iw_dtls *s, const uint8_t *data, size_t len)
{
	size_t need = s->queue_len + 2 + len;
	uint8_t *more;

	if (len > IW_DTLS_HELLO || need > QUEUE_MAX)
		return false;
	more = OPENSSL_realloc(s->queue, need);
	if (!more)
		return false;
	s->queue = more;
	more += s->queue_len;
	more[0] = (uint8_t)(len >> 8);
	more[1] = (uint8_t)len;
	memcpy(more + 2, data, len);
	s->queue_len = need;
	return true;
}

static int bio_write(BIO *b, const char *data, int len)
{
	struct iw_dtls *s = BIO_get_data(b);

	if (len <= 0)
		return len;
	if (s->dst && (uint8_t)data[0] == IW_DTLS_APPLICATION) {
		if ((size_t)len > s->dst_cap - s->dst_len)
			return -1;
		memcpy(s->dst + s->dst_len, data, (size_t)len);
		s->dst_len += (size_t)len;
		return len;
	}
	/* A datagram that was dropped is as if lost on the way: it is retransmitted. */
	(void)enqueue(s, (const uint8_t *)data, (size_t)len);
	return len;
}

/* A read returns a whole datagram; what exceeds OpenSSL's buffer is dropped. */
static int bio_read(BIO *b, char *dst, int cap)
{
	struct iw_dtls *s = BIO_get_data(b);
	size_t n = IW_MIN(s->in_len, (size_t)IW_MAX(cap, 0));

	BIO_clear_retry_flags(b);
	if (n == 0) {
		BIO_set_retry_read(b);
		return -1;
	}
	memcpy(dst, s->in, n);
	s->in_len = 0;
	return (int)n;
}

static long bio_ctrl(BIO *b, int cmd, long num, void *ptr)
{
	(void)b;
	(void)num;
	(void)ptr;
	return cmd == BIO_CTRL_FLUSH || cmd == BIO_CTRL_DUP;
}

/* Returns the methods above, which the credentials own. NULL: no memory. */
static BIO_METHOD *method_of(struct iw_tls *t)
{
	BIO_METHOD *m = t->bio[IW_TLS_OVER_DATAGRAMS];

	if (m)
		return m;
	m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "iwarp datagrams");
	if (!m)
		return NULL;
	BIO_meth_set_write(m, bio_write);
	BIO_meth_set_read(m, bio_read);
	BIO_meth_set_ctrl(m, bio_ctrl);
	t->bio[IW_TLS_OVER_DATAGRAMS] = m;
	return m;
}

static struct iw_dtls *of_ssl(const SSL *ssl)
{
	return BIO_get_data(SSL_get_rbio(ssl));
}

/* Called when a timer is set for the first time (us is 0), and before each retransmission. */
static unsigned next_timer(SSL *ssl, unsigned us)
{
	struct iw_dtls *s = of_ssl(ssl);

	s->unfinished += us > 0 && SSL_get_state(ssl) == TLS_ST_CW_FINISHED;
	return us == 0 ? RETRANSMIT_US : IW_MIN(2 * us, (unsigned)RETRANSMIT_MAX_US);
}

/* --- sessions --------------------------------------------------------------------------------- */

static int session_new(struct iw_dtls **out, struct iw_tls *t, bool initiator, const char *name,
		       struct iw_fault *why)
{
	struct iw_dtls *s = OPENSSL_zalloc(sizeof(*s));
	BIO_METHOD *method = method_of(t);
	BIO *bio = method ? BIO_new(method) : NULL;
	int err;

	*out = NULL;
	if (!s || !bio)
		err = iw_fail(why, IW_E_NOMEM, "DTLS: no memory for a session");
	else
		err = iw_tls_session_init(&s->ssl, &s->session, t, IW_TLS_OVER_DATAGRAMS, initiator,
					  name, why);
	if (err) {
		BIO_free(bio);
		OPENSSL_free(s);
		return err;
	}
	s->least = NONCE_LEN + TAG_LEN; /* the cipher may become AES-GCM */
	BIO_set_data(bio, s);
	BIO_set_init(bio, 1);
	SSL_set_bio(s->ssl, bio, bio);
	SSL_set_options(s->ssl, SSL_OP_NO_QUERY_MTU);
	/* The buffers of a session stay, so that a packet costs no allocation. */
	SSL_clear_mode(s->ssl, SSL_MODE_RELEASE_BUFFERS);
	SSL_set_mtu(s->ssl, IW_DTLS_HELLO);
	DTLS_set_timer_cb(s->ssl, next_timer);
	*out = s;
	return 0;
}

int iw_dtls_connect(struct iw_dtls **out, struct iw_tls *t, const char *name, struct iw_fault *why)
{
	return session_new(out, t, true, name, why);
}

void iw_dtls_free(struct iw_dtls *s)
{
	if (!s)
		return;
	SSL_free(s->ssl);
	iw_tls_session_fini(&s->session);
	OPENSSL_free(s->queue);
	OPENSSL_free(s);
}

static int fail(struct iw_dtls *s, struct iw_fault *why)
{
	if (!s->failed.err)
		(void)iw_tls_session_failed(&s->session, s->ssl, &s->failed);
	*why = s->failed;
	return s->failed.err;
}

static int establish(struct iw_dtls *s, struct iw_fault *why)
{
	bool chacha = SSL_CIPHER_get_cipher_nid(SSL_get_current_cipher(s->ssl)) ==
		      NID_chacha20_poly1305;
	int err = iw_tls_session_up(&s->session, s->ssl, &s->failed);

	if (err) {
		*why = s->failed;
		return err;
	}
	s->established = true;
	s->records = chacha ? CHACHA_RECORDS : GCM_RECORDS;
	s->least = chacha ? TAG_LEN : NONCE_LEN + TAG_LEN;
	return 0;
}

/* Returns IW_E_AGAIN, or IW_E_TLS if the peer cannot have the same key: see FINISHED_TRIES. */
static int wait_for_peer(struct iw_dtls *s, struct iw_fault *why)
{
	if (!s->session.creds->has_psk || s->unfinished < FINISHED_TRIES)
		return IW_E_AGAIN;
	iw_fail(&s->failed, IW_E_TLS,
		"the peer does not finish the handshake: it has another pre-shared key");
	return fail(s, why);
}

int iw_dtls_handshake(struct iw_dtls *s, struct iw_fault *why)
{
	int rc;

	if (s->failed.err)
		return fail(s, why);
	if (s->established)
		return 0;
	ERR_clear_error();
	rc = SSL_do_handshake(s->ssl);
	if (rc == 1)
		return establish(s, why);
	if (SSL_get_error(s->ssl, rc) == SSL_ERROR_WANT_READ)
		return wait_for_peer(s, why);
	return fail(s, why);
}

/* --- cookies (RFC 6347 4.2.1) ----------------------------------------------------------------- */

static bool make_cookie(const struct iw_dtls_listener *l, int which, uint8_t out[SECRET_LEN])
{
	unsigned len = 0;

	return HMAC(EVP_sha256(), l->secret[which], SECRET_LEN, l->key, l->key_len, out, &len) &&
	       len == SECRET_LEN;
}

static int generate_cookie(SSL *ssl, unsigned char *cookie, unsigned *len)
{
	const struct iw_dtls_listener *l = of_ssl(ssl)->listener;

	*len = SECRET_LEN;
	return l && make_cookie(l, 0, cookie);
}

static int verify_cookie(SSL *ssl, const unsigned char *cookie, unsigned len)
{
	const struct iw_dtls_listener *l = of_ssl(ssl)->listener;
	uint8_t mac[SECRET_LEN];

	for (int i = 0; l && len == SECRET_LEN && i < 2; i++)
		if (make_cookie(l, i, mac) && CRYPTO_memcmp(mac, cookie, SECRET_LEN) == 0)
			return 1;
	return 0;
}

static void renew_secret(struct iw_dtls_listener *l, uint64_t now)
{
	uint8_t fresh[SECRET_LEN];

	if (now < l->renew_at || RAND_bytes(fresh, sizeof(fresh)) != 1)
		return;
	memcpy(l->secret[1], l->secret[0], SECRET_LEN);
	memcpy(l->secret[0], fresh, SECRET_LEN);
	OPENSSL_cleanse(fresh, sizeof(fresh));
	l->renew_at = iw_time_add(now, SECRET_NS);
}

int iw_dtls_listener_new(struct iw_dtls_listener **out, struct iw_tls *t, struct iw_fault *why)
{
	int err = iw_tls_creds_listen(t, why);
	struct iw_dtls_listener *l = err ? NULL : OPENSSL_zalloc(sizeof(*l));

	*out = NULL;
	if (err)
		return err;
	if (!l)
		return iw_fail(why, IW_E_NOMEM, "DTLS: no memory");
	l->tls = iw_tls_creds_get(t);
	l->from = BIO_ADDR_new();
	if (!l->from || RAND_bytes(l->secret[0], sizeof(l->secret)) != 1) {
		iw_dtls_listener_free(l);
		return iw_fail(why, IW_E_OS, "DTLS: no memory or no random numbers for cookies");
	}
	*out = l;
	return 0;
}

void iw_dtls_listener_free(struct iw_dtls_listener *l)
{
	if (!l)
		return;
	iw_dtls_free(l->spare);
	iw_tls_creds_put(l->tls);
	BIO_ADDR_free(l->from);
	OPENSSL_clear_free(l, sizeof(*l));
}

const uint8_t *iw_dtls_hello(const uint8_t *data, size_t len)
{
	const size_t at = RECORD_HDR + MESSAGE_HDR + 2; /* after the version of the client */

	if (len < at + IW_DTLS_RANDOM || data[0] != HANDSHAKE || data[1] != 0xfe || data[3] != 0 ||
	    data[4] != 0 || data[RECORD_HDR] != SSL3_MT_CLIENT_HELLO)
		return NULL;
	return data + at;
}

/* Processes the ClientHello with the session that is to become that of the peer. */
static int listen_with(struct iw_dtls *s, struct iw_dtls_listener *l, const uint8_t *data,
		       size_t len)
{
	struct iw_fault why;
	int rc;

	s->in = data;
	s->in_len = len;
	s->listener = l;
	rc = DTLSv1_listen(s->ssl, l->from);
	/* The first step verifies the cookie again. A failure is reported by the next one. */
	if (rc > 0)
		(void)!iw_dtls_handshake(s, &why);
	s->listener = NULL;
	s->in_len = 0;
	ERR_clear_error();
	return rc > 0 ? 0 : rc == 0 ? IW_E_AGAIN : IW_E_FORMAT;
}

int iw_dtls_accept(struct iw_dtls **out, struct iw_dtls_listener *l, const uint8_t *key,
		   size_t key_len, const uint8_t *data, size_t len,
		   uint8_t reply[static IW_DTLS_HELLO], size_t *reply_len, uint64_t now)
{
	struct iw_fault why;
	int err;

	*out = NULL;
	*reply_len = 0;
	if (!iw_dtls_hello(data, len))
		return IW_E_FORMAT;
	renew_secret(l, now);
	if (!l->spare) {
		err = session_new(&l->spare, l->tls, false, NULL, &why);
		if (err)
			return err;
		SSL_CTX_set_cookie_generate_cb(SSL_get_SSL_CTX(l->spare->ssl), generate_cookie);
		SSL_CTX_set_cookie_verify_cb(SSL_get_SSL_CTX(l->spare->ssl), verify_cookie);
	}
	l->key = key;
	l->key_len = key_len;
	err = listen_with(l->spare, l, data, len);
	l->key = NULL;
	if (err) {
		*reply_len = iw_dtls_next(l->spare, reply);
		return err;
	}
	*out = l->spare;
	l->spare = NULL;
	return 0;
}

/* --- records ---------------------------------------------------------------------------------- */

/* True if the peer's next record is its Finished, the first of the next epoch. */
static bool awaits_finished(const struct iw_dtls *s)
{
	OSSL_HANDSHAKE_STATE state = SSL_get_state(s->ssl);

	return state == TLS_ST_SR_CHANGE || state == TLS_ST_CR_CHANGE;
}

/*
 * Returns how many of the octets are before the first record that cannot be authentic: of an unknown
 * type, or too short for its cipher. OpenSSL 3.0 ends a session with such a record instead of
 * dropping it (RFC 6347 4.1.2.7; issues 25389 and 25840 of OpenSSL), so that a single forged
 * datagram would be enough. Records of an epoch above 1, which only a renegotiation would begin, end
 * the octets too: OpenSSL keeps them, in large buffers. During the handshake, too many encrypted
 * records end the octets.
 */
static size_t before_invalid(struct iw_dtls *s, const uint8_t *data, size_t len)
{
	bool early = !s->established && !awaits_finished(s);
	size_t at = 0, fragment;

	for (; len - at >= RECORD_HDR; at += RECORD_HDR + fragment) {
		const uint8_t *hdr = data + at;
		bool encrypted = hdr[4] != 0; /* the epoch */

		fragment = (size_t)hdr[11] << 8 | hdr[12];
		if (hdr[0] < CHANGE || hdr[0] > IW_DTLS_APPLICATION || hdr[3] != 0 || hdr[4] > 1 ||
		    (encrypted && fragment < s->least))
			return at;
		if (early && encrypted && ++s->early > EARLY_MAX)
			return at;
		if (len - at - RECORD_HDR < fragment)
			break;
	}
	return len;
}

/* SSL_read has returned no octets. The error queue may have older errors, so it is not asked. */
static int64_t nothing_read(struct iw_dtls *s, struct iw_fault *why)
{
	s->in_len = 0;
	if (SSL_get_shutdown(s->ssl) & SSL_RECEIVED_SHUTDOWN) {
		ERR_clear_error();
		s->established = false;
		iw_fail(&s->failed, IW_E_TLS, "the peer has ended the session");
		*why = s->failed;
		return IW_E_CLOSED;
	}
	if (SSL_want_read(s->ssl)) {
		ERR_clear_error();
		return 0;
	}
	s->established = false;
	return fail(s, why);
}

/* As iw_dtls_handshake. A ChangeCipherSpec may permit more records of the datagram. */
static int shake(struct iw_dtls *s, const uint8_t *data, size_t len, struct iw_fault *why)
{
	int err;

	do {
		s->in = data;
		s->in_len = before_invalid(s, data, len);
		data += s->in_len;
		len -= s->in_len;
		err = iw_dtls_handshake(s, why);
	} while (err == IW_E_AGAIN && len > 0 && data != s->in && awaits_finished(s));
	return err;
}

int64_t iw_dtls_input(struct iw_dtls *s, const uint8_t *data, size_t len, uint8_t *dst, size_t cap,
		      struct iw_fault *why)
{
	int n;

	if (iw_unlikely(!s->established)) {
		int err = shake(s, data, len, why);

		if (err) {
			s->in_len = 0;
			return err == IW_E_AGAIN ? 0 : err;
		}
	} else if (len > 0) {
		s->in = data;
		s->in_len = before_invalid(s, data, len);
		if (iw_unlikely(s->in_len == 0))
			return 0;
	}
	n = SSL_read(s->ssl, dst, (int)IW_MIN(cap, (size_t)IW_DTLS_PLAIN_MAX));
	return iw_likely(n > 0) ? n : nothing_read(s, why);
}

bool iw_dtls_pending(const struct iw_dtls *s)
{
	return s->established && (s->in_len > 0 || SSL_has_pending(s->ssl));
}

int64_t iw_dtls_seal(struct iw_dtls *s, uint8_t *dst, size_t cap, const uint8_t *src, size_t len)
{
	int n;

	if (!s->established)
		return s->failed.err ? IW_E_TLS : IW_E_AGAIN;
	if (s->records == 0 || len == 0 || len > IW_DTLS_PLAIN_MAX)
		return IW_E_TLS;
	s->dst = dst;
	s->dst_cap = cap;
	s->dst_len = 0;
	n = SSL_write(s->ssl, src, (int)len);
	s->dst = NULL;
	if (n <= 0) {
		ERR_clear_error();
		return IW_E_TLS;
	}
	s->records--;
	return (int64_t)s->dst_len;
}

size_t iw_dtls_next(struct iw_dtls *s, uint8_t dst[static IW_DTLS_HELLO])
{
	const uint8_t *at;
	size_t len;

	if (s->queue_at == s->queue_len) {
		OPENSSL_free(s->queue);
		s->queue = NULL;
		s->queue_at = s->queue_len = 0;
		return 0;
	}
	at = s->queue + s->queue_at;
	len = (size_t)at[0] << 8 | at[1];
	memcpy(dst, at + 2, len);
	s->queue_at += 2 + len;
	return len;
}

void iw_dtls_close(struct iw_dtls *s)
{
	if (s->established)
		(void)!SSL_shutdown(s->ssl);
	ERR_clear_error();
}

/* --- time ------------------------------------------------------------------------------------- */

uint64_t iw_dtls_deadline(const struct iw_dtls *s, uint64_t now)
{
	struct timeval left;

	if (s->failed.err || DTLSv1_get_timeout(s->ssl, &left) != 1)
		return IW_TIME_NEVER;
	return iw_time_add(now, IW_SEC((uint64_t)left.tv_sec) + (uint64_t)left.tv_usec * 1000);
}

int iw_dtls_timeout(struct iw_dtls *s, struct iw_fault *why)
{
	ERR_clear_error();
	if (DTLSv1_handle_timeout(s->ssl) < 0)
		return fail(s, why);
	return wait_for_peer(s, why) == IW_E_AGAIN ? 0 : IW_E_TLS;
}

bool iw_dtls_info(const struct iw_dtls *s, struct iw_tls_info *out)
{
	return s->established && iw_tls_session_info(&s->session, out);
}

void iw_dtls_set_limit(struct iw_dtls *s, uint64_t records)
{
	s->records = records;
}
