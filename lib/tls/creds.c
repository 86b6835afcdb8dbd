// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Credentials. */
#include "tls/tls.h"
#include "util/text.h"

int iw_tls_creds_new(struct iw_tls **out, const struct iw_tls_attr *attr, struct iw_fault *why)
{
	(void)attr;
	*out = NULL;
	return iw_fail(why, IW_E_NOTSUP, "TLS: not built yet");
}

int iw_tls_creds_pin(const struct iw_tls *t, uint8_t pin[IW_TLS_PIN_LEN])
{
	(void)t;
	(void)pin;
	return IW_E_STATE;
}

void iw_tls_creds_put(struct iw_tls *t)
{
	(void)t;
}
