// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Pre-shared keys: of TLS 1.3 (RFC 8446 4.2.11, RFC 9257), always with an ephemeral exchange, and of
 * DTLS 1.2 (RFC 5489). One-use keys are derived from the secret.
 */
#include "tls/internal.h"

#include <openssl/core_names.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <string.h>

#include "util/num.h"
#include "util/text.h"

#define KEY_MAX IW_TLS_PSK_MAX
#define USE_LEN 32 /* octets of a one-use key */

/*
 * HKDF-SHA256 (RFC 5869) without salt. TLS and DTLS get different keys: no key serves two versions
 * of the protocol (RFC 8446 E.7). False: no memory.
 */
static bool derive(uint8_t out[USE_LEN], const struct iw_tls *t, enum iw_tls_kind kind,
		   uint32_t use)
{
	EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
	EVP_KDF_CTX *ctx = kdf ? EVP_KDF_CTX_new(kdf) : NULL;
	char info[40];
	struct iw_text text;
	OSSL_PARAM params[4];
	bool done;

	iw_text_init(&text, info, sizeof(info));
	iw_text_fmt(&text, "iwarp one-use %s key %u", kind == IW_TLS_OVER_STREAM ? "TLS" : "DTLS",
		    use);
	params[0] =
		OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char[]){ "SHA256" }, 0);
	params[1] = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)(uintptr_t)t->psk,
						      t->psk_len);
	params[2] = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info, text.len);
	params[3] = OSSL_PARAM_construct_end();
	done = ctx && EVP_KDF_derive(ctx, out, USE_LEN, params) == 1;
	EVP_KDF_CTX_free(ctx);
	EVP_KDF_free(kdf);
	return done;
}

/* Sets key to that of the session s. Returns its octets; 0: no memory. */
static size_t session_key(uint8_t key[KEY_MAX], const struct iw_tls_session *s,
			  enum iw_tls_kind kind)
{
	const struct iw_tls *t = s->creds;

	if (s->use >= 0)
		return derive(key, t, kind, (uint32_t)s->use) ? USE_LEN : 0;
	memcpy(key, t->psk, t->psk_len);
	return t->psk_len;
}

static void put_identity(char out[IW_TLS_IDENTITY_CAP], const struct iw_tls_session *s)
{
	struct iw_text text;

	iw_text_init(&text, out, IW_TLS_IDENTITY_CAP);
	iw_text_str(&text, s->creds->identity);
	if (s->use < 0)
		return;
	iw_text_str(&text, "/");
	iw_text_u64(&text, (uint64_t)s->use);
}

/* Parses a number without leading zeros and below IW_TLS_USES_MAX. -1: it is not one. */
static int parse_use(const uint8_t *p, size_t len)
{
	unsigned n = 0;

	if (len == 0 || len > 4 || (len > 1 && p[0] == '0'))
		return -1;
	for (size_t i = 0; i < len; i++) {
		if (p[i] < '0' || p[i] > '9')
			return -1;
		n = n * 10 + (p[i] - '0');
	}
	return n < IW_TLS_USES_MAX ? (int)n : -1;
}

static bool is_used(const struct iw_tls *t, int use)
{
	return t->used[use / 8] >> use % 8 & 1;
}

/* Responder: finds the key that the peer names. Returns true, and sets s->use. */
static bool find_key(struct iw_tls_session *s, const uint8_t *id, size_t len)
{
	const struct iw_tls *t = s->creds;
	size_t own = strlen(t->identity);
	bool same = len >= own && memcmp(id, t->identity, own) == 0;
	int use;

	iw_tls_session_refuse(s, "the peer names a pre-shared key that is not known here");
	if (!same || (t->one_use ? len == own || id[own] != '/' : len != own))
		return false;
	if (t->one_use) {
		use = parse_use(id + own + 1, len - own - 1);
		if (use < 0)
			return false;
		if (is_used(t, use)) {
			iw_tls_session_refuse(s,
					      "the peer names a one-use key that was already used");
			return false;
		}
		s->use = use;
	}
	s->reason[0] = '\0';
	return true;
}

/* ---------------------------------------------------------------- TLS 1.3 */

/* Returns the PSK as OpenSSL wants it, owned by the caller. NULL: no memory. */
static SSL_SESSION *psk_session(SSL *ssl, const struct iw_tls_session *s)
{
	static const unsigned char aes_128_gcm_sha256[] = { 0x13, 0x01 };
	const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, aes_128_gcm_sha256);
	SSL_SESSION *psk = SSL_SESSION_new();
	uint8_t key[KEY_MAX];
	size_t len = session_key(key, s, IW_TLS_OVER_STREAM);

	/* The cipher stands for its hash function, SHA-256. */
	if (!psk || len == 0 || !cipher || SSL_SESSION_set1_master_key(psk, key, len) != 1 ||
	    SSL_SESSION_set_cipher(psk, cipher) != 1 ||
	    SSL_SESSION_set_protocol_version(psk, TLS1_3_VERSION) != 1) {
		SSL_SESSION_free(psk);
		psk = NULL;
	}
	OPENSSL_cleanse(key, sizeof(key));
	return psk;
}

static int use_psk(SSL *ssl, const EVP_MD *md, const unsigned char **id, size_t *id_len,
		   SSL_SESSION **out)
{
	const struct iw_tls_session *s = SSL_get_app_data(ssl);
	/* OpenSSL copies it when this returns; credentials belong to one thread. */
	static _Thread_local char identity[IW_TLS_IDENTITY_CAP];

	*out = NULL;
	if (md && !EVP_MD_is_a(md, "SHA256"))
		return 1;
	put_identity(identity, s);
	*id = (const unsigned char *)identity;
	*id_len = strlen(identity);
	*out = psk_session(ssl, s);
	return *out != NULL;
}

static int find_psk(SSL *ssl, const unsigned char *id, size_t id_len, SSL_SESSION **out)
{
	struct iw_tls_session *s = SSL_get_app_data(ssl);

	*out = NULL;
	if (!find_key(s, id, id_len))
		return 1; /* the handshake then fails: this end has no certificate */
	*out = psk_session(ssl, s);
	return *out != NULL;
}

/* ---------------------------------------------------------------- DTLS 1.2 */

static unsigned use_psk_12(SSL *ssl, const char *hint, char *id, unsigned id_cap,
			   unsigned char *key, unsigned cap)
{
	const struct iw_tls_session *s = SSL_get_app_data(ssl);

	(void)hint;
	if (cap < KEY_MAX || id_cap < IW_TLS_IDENTITY_CAP)
		return 0;
	put_identity(id, s);
	return (unsigned)session_key(key, s, IW_TLS_OVER_DATAGRAMS);
}

static unsigned find_psk_12(SSL *ssl, const char *id, unsigned char *key, unsigned cap)
{
	struct iw_tls_session *s = SSL_get_app_data(ssl);

	if (cap < KEY_MAX || !find_key(s, (const uint8_t *)id, strlen(id)))
		return 0;
	return (unsigned)session_key(key, s, IW_TLS_OVER_DATAGRAMS);
}

void iw_tls_psk_init(SSL_CTX *ctx, enum iw_tls_kind kind)
{
	if (kind == IW_TLS_OVER_STREAM) {
		SSL_CTX_set_psk_use_session_callback(ctx, use_psk);
		SSL_CTX_set_psk_find_session_callback(ctx, find_psk);
	} else {
		SSL_CTX_set_psk_client_callback(ctx, use_psk_12);
		SSL_CTX_set_psk_server_callback(ctx, find_psk_12);
	}
}
