// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Over TCP: the operations of the adaptation MPA. */
#include "conn/conn.h"

#include "conn/internal.h"

static int init(struct iw_conn *c, uint64_t now, struct iw_fault *why)
{
	int err;

	c->mpa = (struct iw_mpa *)(void *)c->space;
	err = iw_mpa_init(c->mpa, &c->cfg.mpa, why);
	if (err == 0)
		iw_mpa_start(c->mpa, now);
	return err;
}

static void fini(struct iw_conn *c)
{
	iw_mpa_fini(c->mpa);
}

static bool may_send(const struct iw_conn *c)
{
	return iw_mpa_may_send(c->mpa);
}

static bool sending(const struct iw_conn *c)
{
	return c->tx != NULL || iw_mpa_tx_startup(c->mpa).len > 0;
}

/* MPA has refused the Request, and its Reply is not sent yet (RFC 5044 C.2.1). */
static bool final_reply(const struct iw_conn *c)
{
	return !c->cfg.mpa.initiator && iw_mpa_state(c->mpa) == IW_MPA_FAILED &&
	       iw_mpa_tx_startup(c->mpa).len > 0;
}

static uint64_t deadline(const struct iw_conn *c)
{
	return iw_mpa_deadline(c->mpa);
}

static int timeout(struct iw_conn *c, uint64_t now, struct iw_fault *why)
{
	return iw_mpa_timeout(c->mpa, now, why);
}

static int peer_ended(struct iw_conn *c, struct iw_fault *why)
{
	return iw_mpa_rx_eof(c->mpa, why);
}

static int accept(struct iw_conn *c, uint16_t ird, uint16_t ord, const uint8_t *pd, size_t pd_len,
		  struct iw_fault *why)
{
	return iw_mpa_accept(c->mpa, ird, ord, pd, pd_len, why);
}

static int reject(struct iw_conn *c, const uint8_t *pd, size_t pd_len, struct iw_fault *why)
{
	return iw_mpa_reject(c->mpa, pd, pd_len, why);
}

static bool retry_rev1(const struct iw_conn *c)
{
	return iw_mpa_should_retry_rev1(c->mpa);
}

static const struct iw_agreed *agreed(const struct iw_conn *c)
{
	return iw_mpa_agreed(c->mpa);
}

static size_t mulpdu(const struct iw_conn *c)
{
	return iw_mpa_mulpdu_now(c->mpa);
}

static bool has_batch(const struct iw_conn *c)
{
	return c->tx != NULL;
}

static bool wants_tx(const struct iw_conn *c)
{
	return c->state != IW_CONN_OPEN || c->tx != NULL || iw_rdmap_wants_tx(c->rdmap) ||
	       iw_mpa_tx_startup(c->mpa).len > 0;
}

static const char *stalled(const struct iw_conn *c)
{
	/* RFC 5044 7.1.2 rule 4 */
	return iw_mpa_may_send(c->mpa)
		       ? "no memory for the pending output"
		       : "the initiator sent no FPDU, and a responder must not send first";
}

const struct adaptation_ops iw_conn_tcp_ops = {
	.init = init,
	.fini = fini,
	.size = iw_mpa_size,
	.may_send = may_send,
	.sending = sending,
	.final_reply = final_reply,
	.deadline = deadline,
	.timeout = timeout,
	.peer_ended = peer_ended,
	.accept = accept,
	.reject = reject,
	.retry_rev1 = retry_rev1,
	.agreed = agreed,
	.mulpdu = mulpdu,
	.has_batch = has_batch,
	.drop_batch = iw_conn_drop_batch,
	.closed = iw_conn_drop_batch,
	.wants_tx = wants_tx,
	.stalled = stalled,
};
