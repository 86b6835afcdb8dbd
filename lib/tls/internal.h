/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the files of this room share: credentials, and the part of a session that is the same over
 * streams and over datagrams.
 *
 *   creds.c   credentials and their two SSL_CTX       psk.c      keys without certificates
 *   load.c    certificates and keys of files          session.c  one SSL object, until it is up
 *   reason.c  why a handshake failed, in words
 */
#ifndef IW_TLS_INTERNAL_H
#define IW_TLS_INTERNAL_H

#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <stdio.h>

#include "tls/tls.h"

/* RFC 7301: the name of the protocol, with its length. */
#define IW_TLS_ALPN     "\x05iwarp"
#define IW_TLS_ALPN_LEN 6

/* An identity of a one-use key: psk_identity, a slash and a number below IW_TLS_USES_MAX. */
#define IW_TLS_IDENTITY_CAP (IW_TLS_IDENTITY_MAX + 6)

enum iw_tls_kind { IW_TLS_OVER_STREAM, IW_TLS_OVER_DATAGRAMS };

struct iw_tls {
	unsigned users;
	SSL_CTX *ctx[2];    /* of each enum iw_tls_kind */
	BIO_METHOD *bio[2]; /* stream.c and dtls.c create theirs; freed with the credentials */
	bool has_cert, has_ca, has_psk, one_use;
	uint8_t own_pin[IW_TLS_PIN_LEN]; /* if has_cert */
	uint8_t (*pins)[IW_TLS_PIN_LEN];
	size_t npins;
	uint8_t psk[IW_TLS_PSK_MAX];
	size_t psk_len;
	char identity[IW_TLS_IDENTITY_MAX + 1];
	uint32_t next_use;                 /* initiator: the number of the next one-use key */
	uint8_t used[IW_TLS_USES_MAX / 8]; /* responder: a bit for each one that was used */
	uint8_t *in, *out;                 /* scratch memory of IW_TLS_SCRATCH octets each */
	uint8_t *plain;                    /* likewise, IW_TLS_RECORD_MAX octets */
	FILE *keylog;                      /* only in a debug build */
};

/* One session, apart from its records. It is the app data of its SSL object. */
struct iw_tls_session {
	struct iw_tls *creds; /* counted */
	bool initiator;
	bool up;                 /* iw_tls_session_up has succeeded; info is complete */
	int use;                 /* number of its one-use key; -1: none */
	enum iw_tls_auth auth;   /* how the certificate of the peer was accepted */
	struct iw_tls_info info; /* size is 0 */
	char reason[192];        /* why this end refused the peer; "": OpenSSL knows */
};

/* --- load.c ----------------------------------------------------------------------------------- */

struct iw_tls_own {
	X509 *cert;
	STACK_OF(X509) * chain; /* further certificates of the file */
	EVP_PKEY *key;
};
/* Reads the certificate and the key of this end. Errors: as iw_tls_new. out is owned, also then. */
IW_MUST_CHECK int iw_tls_load_own(struct iw_tls_own *out, const char *cert_file,
				  const char *key_file, struct iw_fault *why);
void iw_tls_own_free(struct iw_tls_own *o);
/* Reads authorities. *out is owned by the caller. Errors: as iw_tls_new. */
IW_MUST_CHECK int iw_tls_load_ca(X509_STORE **out, const char *file, struct iw_fault *why);
/* Sets pin to SHA-256 of SubjectPublicKeyInfo. False: no memory. */
bool iw_tls_pin_of(const X509 *cert, uint8_t pin[IW_TLS_PIN_LEN]);

/* --- psk.c ------------------------------------------------------------------------------------ */

/* Sets the callbacks for the key of the credentials. */
void iw_tls_psk_init(SSL_CTX *ctx, enum iw_tls_kind kind);

/* --- reason.c --------------------------------------------------------------------------------- */

/* "SHA256:" and 43 characters of base64 without padding, with the zero. */
#define IW_TLS_PIN_TEXT 51
void iw_tls_pin_text(char out[IW_TLS_PIN_TEXT], const uint8_t pin[IW_TLS_PIN_LEN]);
/* Returns a phrase for the first entry in the error queue of OpenSSL; static or in buf. */
const char *iw_tls_queue_text(char *buf, size_t cap);
/* Sets s->reason: this end refuses the peer. fmt: as for iw_text_fmt. */
void iw_tls_session_refuse(struct iw_tls_session *s, const char *fmt, ...);
/*
 * Call it after an SSL function has failed with SSL_ERROR_SSL, before another one is called.
 * Sets *why: a sentence without a subject line, such as "the peer's certificate has expired".
 * Always returns IW_E_TLS.
 */
int iw_tls_session_failed(const struct iw_tls_session *s, const SSL *ssl, struct iw_fault *why);

/* --- session.c -------------------------------------------------------------------------------- */

/*
 * Creates the SSL object of a session, without BIOs. s stays at its address until SSL_free(*out).
 * name: as iw_tls_stream_new. IW_E_NOMEM; IW_E_LIMIT: all one-use keys are used; IW_E_INVAL: the
 * credentials cannot be used at this end. After success: iw_tls_session_fini.
 */
IW_MUST_CHECK int iw_tls_session_init(SSL **out, struct iw_tls_session *s, struct iw_tls *t,
				      enum iw_tls_kind kind, bool initiator, const char *name,
				      struct iw_fault *why);
void iw_tls_session_fini(struct iw_tls_session *s);
/*
 * Call it once, when SSL_do_handshake has succeeded: checks what OpenSSL does not check, marks a
 * one-use key as used and sets s->info. IW_E_TLS: the session must end; why is a sentence as that
 * of iw_tls_session_failed.
 */
IW_MUST_CHECK int iw_tls_session_up(struct iw_tls_session *s, SSL *ssl, struct iw_fault *why);
/* Fills *out except size. False: not up. */
bool iw_tls_session_info(const struct iw_tls_session *s, struct iw_tls_info *out);

#endif
