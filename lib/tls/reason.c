// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Why a handshake or a session failed, in words. */
#include "tls/internal.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/sslerr.h>
#include <stdarg.h>
#include <string.h>

#include "util/text.h"

void iw_tls_pin_text(char out[IW_TLS_PIN_TEXT], const uint8_t pin[IW_TLS_PIN_LEN])
{
	unsigned char base64[45];

	/* 32 octets are 43 characters and one of padding, which is left out. */
	EVP_EncodeBlock(base64, pin, IW_TLS_PIN_LEN);
	memcpy(out, "SHA256:", 7);
	memcpy(out + 7, base64, 43);
	out[50] = '\0';
}

const char *iw_tls_queue_text(char *buf, size_t cap)
{
	unsigned long e = ERR_peek_error();
	const char *text = e ? ERR_reason_error_string(e) : NULL;
	struct iw_text t;

	if (text)
		return text;
	iw_text_init(&t, buf, cap);
	iw_text_fmt(&t, e ? "error %U of OpenSSL" : "OpenSSL gives no reason", (uint64_t)e);
	return buf;
}

/* ---------------------------------------------------------------- alerts of the peer */

/* Returns what an alert (RFC 8446 6.2) means here. NULL: its name says it. */
static const char *alert_hint(int alert, const struct iw_tls *t)
{
	switch (alert) {
	case SSL_AD_BAD_CERTIFICATE:
	case SSL_AD_UNSUPPORTED_CERTIFICATE:
	case SSL_AD_CERTIFICATE_REVOKED:
	case SSL_AD_CERTIFICATE_EXPIRED:
	case SSL_AD_CERTIFICATE_UNKNOWN:
	case SSL_AD_UNKNOWN_CA:
	case SSL_AD_ACCESS_DENIED:
		return "it does not accept this end's certificate or key";
	case SSL_AD_CERTIFICATE_REQUIRED:
		return "it requires a certificate of this end (--cert, --key)";
	case SSL_AD_NO_APPLICATION_PROTOCOL:
		return "it uses TLS for another protocol than iwarp (ALPN)";
	case SSL_AD_PROTOCOL_VERSION:
		return "it does not have this version of TLS";
	case SSL_AD_ILLEGAL_PARAMETER: /* OpenSSL sends it for a binder that does not verify */
	case SSL_AD_DECRYPT_ERROR:
	case SSL_AD_UNKNOWN_PSK_IDENTITY:
		return t->has_psk ? "its pre-shared key is another one, or was already used" : NULL;
	case SSL_AD_HANDSHAKE_FAILURE:
		return t->has_psk ? "it does not know this pre-shared key, or it was already used"
				  : "it requires something else, such as a pre-shared key";
	default:
		return NULL;
	}
}

/* OpenSSL 3.0 does not name the alerts of TLS 1.3. */
static const char *alert_name(int alert)
{
	switch (alert) {
	case SSL_AD_MISSING_EXTENSION:
		return "missing extension";
	case SSL_AD_CERTIFICATE_REQUIRED:
		return "certificate required";
	default:
		return SSL_alert_desc_string_long(alert);
	}
}

static int alert_failed(const struct iw_tls_session *s, int alert, struct iw_fault *why)
{
	const char *hint = alert_hint(alert, s->creds);

	return iw_fail(why, IW_E_TLS, "the peer refuses the connection: alert %u \"%s\"%s%s",
		       (uint32_t)alert, alert_name(alert), hint ? ": " : "", hint ? hint : "");
}

/* ---------------------------------------------------------------- refused by this end */

static int certificate_failed(const SSL *ssl, struct iw_fault *why)
{
	/* The parameters are only read. */
	X509_VERIFY_PARAM *param = SSL_get0_param((SSL *)(uintptr_t)ssl);
	long result = SSL_get_verify_result(ssl);
	char *addr;

	if (result == X509_V_ERR_HOSTNAME_MISMATCH)
		return iw_fail(why, IW_E_TLS, "the peer's certificate is not for \"%s\"",
			       X509_VERIFY_PARAM_get0_host(param, 0));
	if (result == X509_V_ERR_IP_ADDRESS_MISMATCH) {
		addr = X509_VERIFY_PARAM_get1_ip_asc(param);
		(void)iw_fail(why, IW_E_TLS, "the peer's certificate is not for the address %s",
			      addr);
		OPENSSL_free(addr);
		return IW_E_TLS;
	}
	return iw_fail(why, IW_E_TLS, "the peer's certificate is refused: %s",
		       X509_verify_cert_error_string(result));
}

static const char *own_reason(int reason, const struct iw_tls *t)
{
	switch (reason) {
	case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
		return "the peer sent no certificate; it needs one (--cert, --key)";
	case SSL_R_BINDER_DOES_NOT_VERIFY:
		return "the peer has another pre-shared key";
	case SSL_R_NO_SHARED_CIPHER:
	case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
	case SSL_R_NO_CERTIFICATE_SET:
		return t->has_psk ? "the peer does not use a pre-shared key (--psk-file)"
				  : "no algorithm in common with the peer";
	case SSL_R_UNSUPPORTED_PROTOCOL:
	case SSL_R_WRONG_SSL_VERSION:
		return "the peer offers only other versions of TLS";
	case SSL_R_WRONG_VERSION_NUMBER:
	case SSL_R_HTTP_REQUEST:
	case SSL_R_HTTPS_PROXY_REQUEST:
	case SSL_R_PACKET_LENGTH_TOO_LONG:
		return "the peer does not use TLS";
	case SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC:
		return "a record of the peer is not authentic";
	default:
		return NULL;
	}
}

void iw_tls_session_refuse(struct iw_tls_session *s, const char *fmt, ...)
{
	struct iw_text text;
	va_list ap;

	iw_text_init(&text, s->reason, sizeof(s->reason));
	va_start(ap, fmt);
	iw_text_vfmt(&text, fmt, ap);
	va_end(ap);
}

int iw_tls_session_failed(const struct iw_tls_session *s, const SSL *ssl, struct iw_fault *why)
{
	unsigned long e = ERR_peek_error();
	int reason = ERR_GET_REASON(e);
	bool of_ssl = ERR_GET_LIB(e) == ERR_LIB_SSL;
	const char *text;
	char buf[64];
	int err;

	if (s->reason[0])
		err = iw_fail(why, IW_E_TLS, "%s", s->reason);
	else if (of_ssl && reason >= SSL_AD_REASON_OFFSET)
		err = alert_failed(s, reason - SSL_AD_REASON_OFFSET, why);
	else if (of_ssl && reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
		err = certificate_failed(ssl, why);
	else {
		text = of_ssl ? own_reason(reason, s->creds) : NULL;
		err = iw_fail(why, IW_E_TLS, "%s",
			      text ? text : iw_tls_queue_text(buf, sizeof(buf)));
	}
	ERR_clear_error();
	return err;
}
