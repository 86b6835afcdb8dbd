// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Credentials: what this end shows and what it requires of the peer, as two SSL_CTX: TLS 1.3 for
 * streams and DTLS 1.2 for datagrams (OpenSSL 3.0 has no DTLS 1.3).
 */
#include "tls/internal.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/num.h"
#include "util/text.h"

/* RFC 8446 B.4. A PSK has one hash function (RFC 8446 4.2.11): SHA-256 here. */
#define TLS_SUITES     "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384"
#define TLS_PSK_SUITES "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256"
/*
 * All with ephemeral keys and AEAD. A key of ChaCha20-Poly1305 is good for more records than a
 * session has; one of AES-GCM is not (RFC 9147 4.5.3), and DTLS 1.2 has no key update.
 */
#define DTLS_SUITES                                                                                \
	"ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES128-GCM-SHA256:" \
	"ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384"
#define DTLS_PSK_SUITES                                                                            \
	"ECDHE-PSK-CHACHA20-POLY1305:DHE-PSK-CHACHA20-POLY1305:DHE-PSK-AES128-GCM-SHA256"

/* The macro of OpenSSL that takes it is not const-correct. */
#define GROUPS (uintptr_t) "X25519:P-256:P-384"

static int no_memory(struct iw_fault *why)
{
	return iw_fail(why, IW_E_NOMEM, "TLS: no memory for credentials");
}

/* ---------------------------------------------------------------- attributes */

static int check_psk(const struct iw_tls_attr *a, struct iw_fault *why)
{
	if (a->psk_one_use && !a->psk)
		return iw_fail(why, IW_E_INVAL, "TLS: psk_one_use without psk");
	if (!a->psk)
		return 0;
	if (a->psk_len < IW_TLS_PSK_MIN || a->psk_len > IW_TLS_PSK_MAX)
		return iw_fail(why, IW_E_INVAL,
			       "TLS: a pre-shared key of %U octets; expected %u to %u",
			       (uint64_t)a->psk_len, IW_TLS_PSK_MIN, IW_TLS_PSK_MAX);
	if (a->cert_file || a->key_file || a->ca_file || a->npins)
		return iw_fail(why, IW_E_INVAL,
			       "TLS: a pre-shared key and certificates; use one of them");
	if (a->psk_identity && !*a->psk_identity)
		return iw_fail(why, IW_E_INVAL, "TLS: psk_identity is empty");
	if (a->psk_identity && strlen(a->psk_identity) > IW_TLS_IDENTITY_MAX)
		return iw_fail(why, IW_E_INVAL, "TLS: psk_identity has %U octets; at most %u",
			       (uint64_t)strlen(a->psk_identity), IW_TLS_IDENTITY_MAX);
	return 0;
}

static int check_attr(const struct iw_tls_attr *a, struct iw_fault *why)
{
	if (!a->cert_file != !a->key_file)
		return iw_fail(why, IW_E_INVAL, "TLS: %s without %s; set both or neither",
			       a->cert_file ? "cert_file" : "key_file",
			       a->cert_file ? "key_file" : "cert_file");
	if (a->npins && !a->pins)
		return iw_fail(why, IW_E_INVAL, "TLS: npins %U without pins", (uint64_t)a->npins);
	return check_psk(a, why);
}

static int copy_attr(struct iw_tls *t, const struct iw_tls_attr *a, struct iw_fault *why)
{
	t->has_psk = a->psk != NULL;
	t->one_use = a->psk_one_use;
	if (a->psk) {
		memcpy(t->psk, a->psk, a->psk_len);
		t->psk_len = a->psk_len;
		snprintf(t->identity, sizeof(t->identity), "%s",
			 a->psk_identity ? a->psk_identity : "iwarp");
	}
	t->in = malloc(IW_TLS_SCRATCH);
	t->out = malloc(IW_TLS_SCRATCH);
	t->plain = malloc(IW_TLS_RECORD_MAX);
	if (!t->in || !t->out || !t->plain)
		return no_memory(why);
	if (a->npins) {
		t->pins = calloc(a->npins, sizeof(*t->pins));
		if (!t->pins)
			return no_memory(why);
		memcpy(t->pins, a->pins, a->npins * sizeof(*t->pins));
		t->npins = a->npins;
	}
	return 0;
}

/* ---------------------------------------------------------------- callbacks */

#define NO_IWARP                                                                                   \
	"the peer does not offer the protocol \"iwarp\" (ALPN): it uses TLS for another one"

static bool is_pinned(const struct iw_tls *t, const uint8_t pin[IW_TLS_PIN_LEN])
{
	for (size_t i = 0; i < t->npins; i++)
		if (memcmp(t->pins[i], pin, IW_TLS_PIN_LEN) == 0)
			return true;
	return false;
}

static int check_pin(struct iw_tls_session *s, X509_STORE_CTX *x)
{
	char text[IW_TLS_PIN_TEXT];
	uint8_t pin[IW_TLS_PIN_LEN];

	if (!iw_tls_pin_of(X509_STORE_CTX_get0_cert(x), pin)) {
		X509_STORE_CTX_set_error(x, X509_V_ERR_OUT_OF_MEM);
		return 0;
	}
	if (is_pinned(s->creds, pin))
		return 1;
	iw_tls_pin_text(text, pin);
	iw_tls_session_refuse(s, "the peer's key %s is not an expected one (--pin)", text);
	X509_STORE_CTX_set_error(x, X509_V_ERR_CERT_REJECTED);
	return 0;
}

/* Replaces the verification of OpenSSL: returns 1 if the peer's certificate is accepted. */
static int verify(X509_STORE_CTX *x, void *unused)
{
	SSL *ssl = X509_STORE_CTX_get_ex_data(x, SSL_get_ex_data_X509_STORE_CTX_idx());
	struct iw_tls_session *s = SSL_get_app_data(ssl);
	const struct iw_tls *t = s->creds;

	(void)unused;
	if (t->has_psk) {
		iw_tls_session_refuse(
			s,
			"the peer does not have the pre-shared key: it answers with a certificate");
		X509_STORE_CTX_set_error(x, X509_V_ERR_CERT_REJECTED);
		return 0;
	}
	if (t->npins && !check_pin(s, x))
		return 0;
	if (t->has_ca && X509_verify_cert(x) != 1)
		return 0;
	/* Now, because pins may be added before the handshake ends. */
	s->auth = t->has_ca ? IW_TLS_AUTH_CA : t->npins ? IW_TLS_AUTH_PIN : IW_TLS_AUTH_NONE;
	X509_STORE_CTX_set_error(x, X509_V_OK);
	return 1;
}

/* Responder: a peer must offer ALPN, which OpenSSL leaves open (RFC 7301 3.2). */
static int on_client_hello(SSL *ssl, int *alert, void *unused)
{
	struct iw_tls_session *s = SSL_get_app_data(ssl);
	const unsigned char *ext;
	size_t len;

	(void)unused;
	if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_application_layer_protocol_negotiation, &ext,
				      &len) == 1)
		return SSL_CLIENT_HELLO_SUCCESS;
	iw_tls_session_refuse(s, NO_IWARP);
	*alert = SSL_AD_NO_APPLICATION_PROTOCOL;
	return SSL_CLIENT_HELLO_ERROR;
}

static int select_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len,
		       const unsigned char *in, unsigned in_len, void *unused)
{
	struct iw_tls_session *s = SSL_get_app_data(ssl);
	unsigned char *chosen = NULL;

	(void)unused;
	if (SSL_select_next_proto(&chosen, out_len, (const unsigned char *)IW_TLS_ALPN,
				  IW_TLS_ALPN_LEN, in, in_len) == OPENSSL_NPN_NEGOTIATED) {
		*out = chosen;
		return SSL_TLSEXT_ERR_OK;
	}
	iw_tls_session_refuse(s, NO_IWARP);
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

#ifdef IW_DEBUG
static void log_key(const SSL *ssl, const char *line)
{
	const struct iw_tls_session *s = SSL_get_app_data(ssl);

	fprintf(s->creds->keylog, "%s\n", line);
	fflush(s->creds->keylog);
}

/* Only in a debug build: with these keys, a capture can be decrypted. */
static void open_keylog(struct iw_tls *t)
{
	const char *file = getenv("SSLKEYLOGFILE");

	if (file && *file)
		t->keylog = fopen(file, "ae");
	for (int i = 0; t->keylog && i < 2; i++)
		SSL_CTX_set_keylog_callback(t->ctx[i], log_key);
}
#else
static void open_keylog(struct iw_tls *t)
{
	(void)t;
}
#endif

/* ---------------------------------------------------------------- contexts */

static void set_options(SSL_CTX *ctx)
{
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET |
					 SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE |
					 SSL_OP_NO_QUERY_MTU);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
				      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_cert_verify_callback(ctx, verify, NULL);
	SSL_CTX_set_client_hello_cb(ctx, on_client_hello, NULL);
	SSL_CTX_set_alpn_select_cb(ctx, select_alpn, NULL);
	SSL_CTX_set_security_level(ctx, 2);
}

/* Returns false if OpenSSL refuses: no memory, or an OpenSSL without one of these algorithms. */
static bool set_algorithms(SSL_CTX *ctx, enum iw_tls_kind kind, bool psk)
{
	bool stream = kind == IW_TLS_OVER_STREAM;
	int version = stream ? TLS1_3_VERSION : DTLS1_2_VERSION;

	return SSL_CTX_set_min_proto_version(ctx, version) == 1 &&
	       SSL_CTX_set_max_proto_version(ctx, version) == 1 &&
	       SSL_CTX_set_num_tickets(ctx, 0) == 1 && SSL_CTX_set_dh_auto(ctx, 1) == 1 &&
	       SSL_CTX_set1_groups_list(ctx, GROUPS) == 1 &&
	       SSL_CTX_set_alpn_protos(ctx, (const unsigned char *)IW_TLS_ALPN, IW_TLS_ALPN_LEN) ==
		       0 &&
	       (stream ? SSL_CTX_set_ciphersuites(ctx, psk ? TLS_PSK_SUITES : TLS_SUITES)
		       : SSL_CTX_set_cipher_list(ctx, psk ? DTLS_PSK_SUITES : DTLS_SUITES)) == 1;
}

/*
 * OpenSSL allocates a message of a handshake when it receives its first fragment, and up to ten that
 * are out of order. Its default permits messages of 100 KiB.
 */
#define DTLS_CHAIN_MAX (16 * 1024)

static int refused(struct iw_fault *why, const char *what)
{
	char text[128];

	return iw_fail(why, IW_E_INVAL, "%s: %s", what, iw_tls_queue_text(text, sizeof(text)));
}

static int new_context(struct iw_tls *t, enum iw_tls_kind kind, const struct iw_tls_own *own,
		       X509_STORE *ca, const struct iw_tls_attr *a, struct iw_fault *why)
{
	SSL_CTX *ctx = SSL_CTX_new(kind == IW_TLS_OVER_STREAM ? TLS_method() : DTLS_method());

	if (!ctx)
		return no_memory(why);
	t->ctx[kind] = ctx;
	set_options(ctx);
	if (!set_algorithms(ctx, kind, t->has_psk))
		return refused(why, "TLS: an algorithm is missing in OpenSSL");
	if (kind == IW_TLS_OVER_DATAGRAMS)
		SSL_CTX_set_max_cert_list(ctx, DTLS_CHAIN_MAX);
	if (t->has_psk)
		iw_tls_psk_init(ctx, kind);
	if (ca) {
		SSL_CTX_set1_cert_store(ctx, ca);
		/* Each certificate of ca_file is trusted, not only self-signed ones. */
		X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(ctx), X509_V_FLAG_PARTIAL_CHAIN);
	}
	ERR_clear_error();
	if (own->cert && SSL_CTX_use_cert_and_key(ctx, own->cert, own->key, own->chain, 1) != 1)
		return refused(why, a->cert_file);
	return 0;
}

static int new_contexts(struct iw_tls *t, const struct iw_tls_attr *a, struct iw_fault *why)
{
	struct iw_tls_own own = { 0 };
	X509_STORE *ca = NULL;
	int err = 0;

	if (a->cert_file)
		err = iw_tls_load_own(&own, a->cert_file, a->key_file, why);
	if (!err && own.cert) {
		t->has_cert = true;
		if (!iw_tls_pin_of(own.cert, t->own_pin))
			err = no_memory(why);
	}
	if (!err && a->ca_file) {
		t->has_ca = true;
		err = iw_tls_load_ca(&ca, a->ca_file, why);
	}
	for (int kind = 0; !err && kind < 2; kind++)
		err = new_context(t, (enum iw_tls_kind)kind, &own, ca, a, why);
	iw_tls_own_free(&own);
	X509_STORE_free(ca);
	return err;
}

/* ---------------------------------------------------------------- credentials */

int iw_tls_creds_new(struct iw_tls **out, const struct iw_tls_attr *attr, struct iw_fault *why)
{
	struct iw_tls *t;
	int err;

	*out = NULL;
	err = check_attr(attr, why);
	if (err)
		return err;
	t = calloc(1, sizeof(*t));
	if (!t)
		return no_memory(why);
	t->users = 1;
	err = copy_attr(t, attr, why);
	if (!err)
		err = new_contexts(t, attr, why);
	ERR_clear_error();
	if (err) {
		iw_tls_creds_put(t);
		return err;
	}
	open_keylog(t);
	*out = t;
	return 0;
}

int iw_tls_creds_listen(const struct iw_tls *t, struct iw_fault *why)
{
	if (t->has_cert || t->has_psk)
		return 0;
	return iw_fail(why, IW_E_INVAL,
		       "TLS: a listener needs a certificate and its key, or a pre-shared key");
}

int iw_tls_creds_pin(const struct iw_tls *t, uint8_t pin[IW_TLS_PIN_LEN])
{
	if (!t->has_cert)
		return IW_E_STATE;
	memcpy(pin, t->own_pin, IW_TLS_PIN_LEN);
	return 0;
}

int iw_tls_creds_add_pin(struct iw_tls *t, const uint8_t pin[IW_TLS_PIN_LEN])
{
	uint8_t(*pins)[IW_TLS_PIN_LEN];

	if (t->has_psk)
		return IW_E_STATE;
	if (is_pinned(t, pin))
		return 0;
	pins = realloc(t->pins, (t->npins + 1) * sizeof(*pins));
	if (!pins)
		return IW_E_NOMEM;
	t->pins = pins;
	memcpy(pins[t->npins++], pin, IW_TLS_PIN_LEN);
	return 0;
}

struct iw_tls *iw_tls_creds_get(struct iw_tls *t)
{
	t->users++;
	return t;
}

void iw_tls_creds_put(struct iw_tls *t)
{
	if (!t || --t->users)
		return;
	for (int i = 0; i < 2; i++) {
		SSL_CTX_free(t->ctx[i]);
		BIO_meth_free(t->bio[i]);
	}
	if (t->keylog)
		fclose(t->keylog);
	OPENSSL_cleanse(t->psk, sizeof(t->psk));
	free(t->pins);
	free(t->in);
	free(t->out);
	free(t->plain);
	free(t);
}

uint8_t *iw_tls_creds_scratch_in(struct iw_tls *t)
{
	return t->in;
}

uint8_t *iw_tls_creds_scratch_out(struct iw_tls *t)
{
	return t->out;
}
