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

bool iw_tls_stream_info(const struct iw_tls_stream *s, struct iw_tls_info *out)
{
	UNUSED(s);
	UNUSED(out);
	return false;
}
