// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Encryption in a build without OpenSSL: credentials cannot be created, so the functions that need
 * some are never reached.
 */
#include "tls/tls.h"
#include "util/text.h"

#define UNUSED(x) ((void)(x))

int iw_tls_creds_new(struct iw_tls **out, const struct iw_tls_attr *attr, struct iw_fault *why)
{
	UNUSED(attr);
	*out = NULL;
	return iw_fail(why, IW_E_NOTSUP,
		       "TLS: built without OpenSSL; install libssl-dev and build again");
}

int iw_tls_creds_pin(const struct iw_tls *t, uint8_t pin[IW_TLS_PIN_LEN])
{
	UNUSED(t);
	UNUSED(pin);
	return IW_E_STATE;
}

int iw_tls_creds_add_pin(struct iw_tls *t, const uint8_t pin[IW_TLS_PIN_LEN])
{
	UNUSED(t);
	UNUSED(pin);
	return IW_E_STATE;
}

int iw_tls_creds_listen(const struct iw_tls *t, struct iw_fault *why)
{
	UNUSED(t);
	return iw_fail(why, IW_E_NOTSUP, "TLS: built without OpenSSL");
}

struct iw_tls *iw_tls_creds_get(struct iw_tls *t)
{
	return t;
}

void iw_tls_creds_put(struct iw_tls *t)
{
	UNUSED(t);
}

uint8_t *iw_tls_creds_scratch_in(struct iw_tls *t)
{
	UNUSED(t);
	return NULL;
}

uint8_t *iw_tls_creds_scratch_out(struct iw_tls *t)
{
	UNUSED(t);
	return NULL;
}

int iw_tls_stream_new(struct iw_tls_stream **out, struct iw_tls *t, bool initiator,
		      const char *name, struct iw_fault *why)
{
	UNUSED(t);
	UNUSED(initiator);
	UNUSED(name);
	*out = NULL;
	return iw_fail(why, IW_E_NOTSUP, "TLS: built without OpenSSL");
}

void iw_tls_stream_free(struct iw_tls_stream *s)
{
	UNUSED(s);
}

void iw_tls_stream_input(struct iw_tls_stream *s, const uint8_t *data, size_t len)
{
	UNUSED(s);
	UNUSED(data);
	UNUSED(len);
}

size_t iw_tls_stream_taken(struct iw_tls_stream *s)
{
	UNUSED(s);
	return 0;
}

size_t iw_tls_stream_output(struct iw_tls_stream *s, uint8_t *dst, size_t cap)
{
	UNUSED(s);
	UNUSED(dst);
	UNUSED(cap);
	return 0;
}

int iw_tls_stream_handshake(struct iw_tls_stream *s, struct iw_fault *why)
{
	UNUSED(s);
	UNUSED(why);
	return IW_E_TLS;
}

int64_t iw_tls_stream_read(struct iw_tls_stream *s, const struct iw_vec *vec, size_t nvec,
			   size_t skip, struct iw_fault *why)
{
	UNUSED(s);
	UNUSED(skip);
	UNUSED(vec);
	UNUSED(nvec);
	UNUSED(why);
	return IW_E_TLS;
}

bool iw_tls_stream_pending(const struct iw_tls_stream *s)
{
	UNUSED(s);
	return false;
}

bool iw_tls_stream_held(const struct iw_tls_stream *s)
{
	UNUSED(s);
	return false;
}

int64_t iw_tls_stream_write(struct iw_tls_stream *s, const struct iw_vec *vec, size_t nvec,
			    size_t skip, struct iw_fault *why)
{
	UNUSED(s);
	UNUSED(skip);
	UNUSED(vec);
	UNUSED(nvec);
	UNUSED(why);
	return IW_E_TLS;
}

void iw_tls_stream_close(struct iw_tls_stream *s)
{
	UNUSED(s);
}

int iw_tls_stream_update_key(struct iw_tls_stream *s)
{
	UNUSED(s);
	return IW_E_TLS;
}

void iw_tls_stream_limit_key(struct iw_tls_stream *s, uint64_t records)
{
	UNUSED(s);
	UNUSED(records);
}

bool iw_tls_stream_info(const struct iw_tls_stream *s, struct iw_tls_info *out)
{
	UNUSED(s);
	UNUSED(out);
	return false;
}

int iw_dtls_connect(struct iw_dtls **out, struct iw_tls *t, const char *name, struct iw_fault *why)
{
	UNUSED(t);
	UNUSED(name);
	*out = NULL;
	return iw_fail(why, IW_E_NOTSUP, "DTLS: built without OpenSSL");
}

int iw_dtls_listener_new(struct iw_dtls_listener **out, struct iw_tls *t, struct iw_fault *why)
{
	UNUSED(t);
	*out = NULL;
	return iw_fail(why, IW_E_NOTSUP, "DTLS: built without OpenSSL");
}

void iw_dtls_listener_free(struct iw_dtls_listener *l)
{
	UNUSED(l);
}

const uint8_t *iw_dtls_hello(const uint8_t *data, size_t len)
{
	UNUSED(data);
	UNUSED(len);
	return NULL;
}

int iw_dtls_accept(struct iw_dtls **out, struct iw_dtls_listener *l, const uint8_t *key,
		   size_t key_len, const uint8_t *data, size_t len,
		   uint8_t reply[static IW_DTLS_HELLO], size_t *reply_len, uint64_t now)
{
	UNUSED(l);
	UNUSED(key);
	UNUSED(key_len);
	UNUSED(data);
	UNUSED(len);
	UNUSED(reply);
	UNUSED(now);
	*out = NULL;
	*reply_len = 0;
	return IW_E_FORMAT;
}

void iw_dtls_free(struct iw_dtls *s)
{
	UNUSED(s);
}

int64_t iw_dtls_input(struct iw_dtls *s, const uint8_t *data, size_t len, uint8_t *dst, size_t cap,
		      struct iw_fault *why)
{
	UNUSED(s);
	UNUSED(data);
	UNUSED(len);
	UNUSED(dst);
	UNUSED(cap);
	UNUSED(why);
	return IW_E_TLS;
}

bool iw_dtls_pending(const struct iw_dtls *s)
{
	UNUSED(s);
	return false;
}

int iw_dtls_handshake(struct iw_dtls *s, struct iw_fault *why)
{
	UNUSED(s);
	UNUSED(why);
	return IW_E_TLS;
}

int64_t iw_dtls_seal(struct iw_dtls *s, uint8_t *dst, size_t cap, const uint8_t *src, size_t len)
{
	UNUSED(s);
	UNUSED(dst);
	UNUSED(cap);
	UNUSED(src);
	UNUSED(len);
	return IW_E_TLS;
}

size_t iw_dtls_next(struct iw_dtls *s, uint8_t dst[static IW_DTLS_HELLO])
{
	UNUSED(s);
	UNUSED(dst);
	return 0;
}

void iw_dtls_close(struct iw_dtls *s)
{
	UNUSED(s);
}

uint64_t iw_dtls_deadline(const struct iw_dtls *s, uint64_t now)
{
	UNUSED(s);
	UNUSED(now);
	return UINT64_MAX;
}

int iw_dtls_timeout(struct iw_dtls *s, struct iw_fault *why)
{
	UNUSED(s);
	UNUSED(why);
	return IW_E_TLS;
}

bool iw_dtls_info(const struct iw_dtls *s, struct iw_tls_info *out)
{
	UNUSED(s);
	UNUSED(out);
	return false;
}

void iw_dtls_set_limit(struct iw_dtls *s, uint64_t records)
{
	UNUSED(s);
	UNUSED(records);
}
