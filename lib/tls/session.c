// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A session until it is up: what it requires of the peer, and what is known about the peer then. */
#include "tls/internal.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "util/text.h"

static bool is_address(const char *name)
{
	uint8_t addr[16];

	return inet_pton(AF_INET, name, addr) == 1 || inet_pton(AF_INET6, name, addr) == 1;
}

/*
 * Sets the name that the certificate must have, and SNI (RFC 6066 3: not for addresses). Only
 * subjectAltName is compared (RFC 9525). The zone of an address means something only on this host.
 */
static bool set_name(SSL *ssl, const char *name)
{
	char addr[INET6_ADDRSTRLEN];
	size_t len = strcspn(name, "%");

	if (len < sizeof(addr)) {
		memcpy(addr, name, len);
		addr[len] = '\0';
		if (is_address(addr))
			return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), addr) == 1;
	}
	SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
				       X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	return SSL_set1_host(ssl, name) == 1 && SSL_set_tlsext_host_name(ssl, (uintptr_t)name) == 1;
}

static int set_role(SSL *ssl, const struct iw_tls *t, bool initiator, const char *name,
		    struct iw_fault *why)
{
	int mode = SSL_VERIFY_NONE;

	if (!initiator) {
		SSL_set_accept_state(ssl);
		if (t->npins || t->has_ca)
			mode = SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
		SSL_set_verify(ssl, mode, NULL);
		return 0;
	}
	SSL_set_connect_state(ssl);
	SSL_set_verify(ssl, SSL_VERIFY_PEER, NULL);
	if (t->has_ca && !name)
		return iw_fail(why, IW_E_INVAL,
			       "TLS: certificates of peers are verified, but no name is given");
	if (name && !set_name(ssl, name))
		return iw_fail(why, IW_E_INVAL, "TLS: \"%s\" is not a name of a host", name);
	return 0;
}

/* Initiator: takes the next one-use key. */
static int take_use(struct iw_tls_session *s, struct iw_fault *why)
{
	struct iw_tls *t = s->creds;

	s->use = -1;
	if (!s->initiator || !t->one_use)
		return 0;
	if (t->next_use == IW_TLS_USES_MAX)
		return iw_fail(why, IW_E_LIMIT, "TLS: all %u one-use keys are used",
			       IW_TLS_USES_MAX);
	s->use = (int)t->next_use++;
	return 0;
}

int iw_tls_session_init(SSL **out, struct iw_tls_session *s, struct iw_tls *t,
			enum iw_tls_kind kind, bool initiator, const char *name,
			struct iw_fault *why)
{
	SSL *ssl;
	int err = initiator ? 0 : iw_tls_creds_listen(t, why);

	*out = NULL;
	if (err)
		return err;
	*s = (struct iw_tls_session){ .creds = t, .initiator = initiator };
	ERR_clear_error();
	ssl = SSL_new(t->ctx[kind]);
	if (!ssl)
		return iw_fail(why, IW_E_NOMEM, "TLS: no memory for a session");
	SSL_set_app_data(ssl, s);
	err = set_role(ssl, t, initiator, name, why);
	if (!err)
		err = take_use(s, why);
	if (err) {
		SSL_free(ssl);
		return err;
	}
	iw_tls_creds_get(t);
	*out = ssl;
	return 0;
}

void iw_tls_session_fini(struct iw_tls_session *s)
{
	iw_tls_creds_put(s->creds);
	s->creds = NULL;
}

static bool has_alpn(const SSL *ssl)
{
	const unsigned char *name;
	unsigned len;

	SSL_get0_alpn_selected(ssl, &name, &len);
	return len == IW_TLS_ALPN_LEN - 1 && memcmp(name, &IW_TLS_ALPN[1], len) == 0;
}

/* TLS 1.3: OpenSSL reports an external PSK as resumption. DTLS 1.2: no other suite is offered. */
static bool has_used_psk(const SSL *ssl)
{
	return SSL_version(ssl) == TLS1_3_VERSION
		       ? SSL_session_reused(ssl) == 1
		       : SSL_CIPHER_get_auth_nid(SSL_get_current_cipher(ssl)) == NID_auth_psk;
}

/* Responder: a one-use key is used when the handshake has finished with it. */
static int mark_used(struct iw_tls_session *s, struct iw_fault *why)
{
	struct iw_tls *t = s->creds;
	uint8_t *octet;

	if (s->initiator || !t->one_use)
		return 0;
	if (s->use < 0)
		return iw_fail(why, IW_E_TLS, "the peer did not use a one-use key");
	octet = &t->used[s->use / 8];
	if (*octet >> s->use % 8 & 1)
		return iw_fail(why, IW_E_TLS, "the peer names a one-use key that was already used");
	*octet |= (uint8_t)(1u << s->use % 8);
	return 0;
}

static int check_agreed(const struct iw_tls_session *s, SSL *ssl, struct iw_fault *why)
{
	if (!has_alpn(ssl))
		return iw_fail(why, IW_E_TLS,
			       "the peer does not select the protocol \"iwarp\" (ALPN): it uses "
			       "TLS for another one");
	if (s->creds->has_psk && !has_used_psk(ssl))
		return iw_fail(why, IW_E_TLS, "the peer did not use the pre-shared key");
	/* RFC 9266 2: without it, the channel binding would not be unique. */
	if (SSL_version(ssl) != TLS1_3_VERSION && SSL_get_extms_support(ssl) != 1)
		return iw_fail(why, IW_E_TLS,
			       "the peer does not use the extended master secret (RFC 7627)");
	return 0;
}

static int note_info(struct iw_tls_session *s, SSL *ssl, struct iw_fault *why)
{
	static const char label[] = "EXPORTER-Channel-Binding"; /* RFC 9266 2 */
	struct iw_tls_info *i = &s->info;
	const X509 *cert = SSL_get0_peer_certificate(ssl);

	i->version = SSL_get_version(ssl);
	i->cipher = SSL_CIPHER_standard_name(SSL_get_current_cipher(ssl));
	i->auth = s->creds->has_psk ? IW_TLS_AUTH_PSK : s->auth;
	i->has_peer_pin = cert != NULL;
	if (SSL_export_keying_material(ssl, i->binding, sizeof(i->binding), label,
				       sizeof(label) - 1, (const unsigned char *)"", 0, 1) != 1 ||
	    (cert && !iw_tls_pin_of(cert, i->peer_pin)))
		return iw_fail(why, IW_E_TLS, "no memory to identify the peer");
	return 0;
}

int iw_tls_session_up(struct iw_tls_session *s, SSL *ssl, struct iw_fault *why)
{
	int err = check_agreed(s, ssl, why);

	if (!err)
		err = note_info(s, ssl, why);
	if (!err)
		err = mark_used(s, why);
	s->up = err == 0;
	return err;
}

bool iw_tls_session_info(const struct iw_tls_session *s, struct iw_tls_info *out)
{
	size_t size = out->size;

	if (!s->up)
		return false;
	*out = s->info;
	out->size = size;
	return true;
}
