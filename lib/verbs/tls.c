// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Credentials, and the encryption of connections. */
#include "tls/tls.h"

#include <string.h>

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

int iw_tls_add_pin(struct iw_tls *tls, const uint8_t pin[IW_TLS_PIN_LEN])
{
	return iw_tls_creds_add_pin(tls, pin);
}

/* Copies as much as the caller's version of the struct has. */
static int give(struct iw_tls_info *to, const struct iw_tls_info *from)
{
	size_t size = to->size;

	if (size < sizeof(size_t) || size > sizeof(*from))
		return IW_E_INVAL;
	memcpy(to, from, size);
	to->size = size;
	return 0;
}

int iw_qp_tls(const struct iw_qp *qp, struct iw_tls_info *info)
{
	struct iw_tls_info now;

	if (!qp->established)
		return IW_E_STATE;
	if (!qp->loop_conn)
		return qp->encrypted ? give(info, &qp->tls) : IW_E_STATE;
	return iw_loop_conn_tls(qp->loop_conn, &now) ? give(info, &now) : IW_E_STATE;
}

int iw_req_tls(const struct iw_conn_req *req, struct iw_tls_info *info)
{
	struct iw_tls_info now;

	if (!req->loop_conn || !iw_loop_conn_tls(req->loop_conn, &now))
		return IW_E_STATE;
	return give(info, &now);
}
