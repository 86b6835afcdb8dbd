// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Credentials, and the encryption of connections. */
#include "tls/tls.h"

#include "verbs/internal.h"

int iw_tls_new(struct iw_tls **out, const struct iw_tls_attr *attr, struct iw_fault *why)
{
	struct iw_tls_attr a;
	int err = iw_verbs_take(&a, sizeof(a), attr, attr ? attr->size : 0, "iw_tls_new", why);

	*out = NULL;
	return err ? err : iw_tls_creds_new(out, &a, why);
}

void iw_tls_free(struct iw_tls *tls)
{
	iw_tls_creds_put(tls);
}

int iw_tls_own_pin(const struct iw_tls *tls, uint8_t pin[IW_TLS_PIN_LEN])
{
	return iw_tls_creds_pin(tls, pin);
}

int iw_qp_tls(const struct iw_qp *qp, struct iw_tls_info *info)
{
	(void)qp;
	(void)info;
	return IW_E_STATE;
}

int iw_req_tls(const struct iw_conn_req *req, struct iw_tls_info *info)
{
	(void)req;
	(void)info;
	return IW_E_STATE;
}
