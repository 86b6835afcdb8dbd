// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* From what the adaptation has agreed on to full operation, or not. */
#include "conn/conn.h"

#include "conn/internal.h"

_Static_assert((int)IW_RDMAP_RTR_SEND == IW_RTR_SEND && (int)IW_RDMAP_RTR_WRITE == IW_RTR_WRITE &&
		       (int)IW_RDMAP_RTR_READ == IW_RTR_READ,
	       "forms of RTR");

/* RFC 6581 9.2: one form is sent, of those agreed on; a Write costs neither end anything. */
static uint8_t rtr_form(uint8_t set)
{
	if (set & IW_RTR_WRITE)
		return IW_RTR_WRITE;
	if (set & IW_RTR_READ)
		return IW_RTR_READ;
	return set;
}

uint8_t iw_conn_rtr(const struct iw_conn *c)
{
	uint8_t set = iw_conn_params(c)->rtr;

	return c->cfg.mpa.initiator ? rtr_form(set) : set;
}

static uint16_t reads_in_force(const struct iw_conn *c, uint16_t depth)
{
	return depth == IW_MPA_IRD_ORD_MAX ? c->cfg.unnegotiated_reads : depth;
}

static int start_rdmap(struct iw_conn *c, struct iw_fault *why)
{
	const struct iw_mpa_params *p = iw_conn_params(c);
	struct iw_rdmap_params rp = {
		.initiator = c->cfg.mpa.initiator,
		.dv = p->dv,
		.ird = reads_in_force(c, p->ird),
		.ord = reads_in_force(c, p->ord),
		.rtr = iw_conn_rtr(c),
	};

	return iw_rdmap_start(c->rdmap, &rp, why);
}

void iw_conn_established(struct iw_conn *c, uint64_t now)
{
	struct iw_fault why = { 0 }, local = { 0 };

	c->moved_at = c->last_tx = now;
	if (start_rdmap(c, &why) < 0) {
		/* RFC 6581 9.3: no reason with a number of its own */
		iw_fail(&local, IW_E_MPA_LOCAL, "conn: %s", why.text);
		iw_conn_fault(c, &local, now);
		return;
	}
	iw_conn_set_state(c, IW_CONN_OPEN);
	iw_conn_nudge_begin(c);
	iw_conn_event(c, IW_EVENT_ESTABLISHED, NULL, false);
}

/* rdmap starts for its Terminate (RFC 6581 9.1, 9.2); the ULP never sees the connection established. */
void iw_conn_unacceptable(struct iw_conn *c, const struct iw_fault *why, uint64_t now)
{
	struct iw_fault ignored;

	(void)!start_rdmap(c, &ignored);
	iw_conn_fault(c, why, now);
}

void iw_conn_rejected(struct iw_conn *c)
{
	iw_fail(&c->fault, IW_E_REJECTED,
		"%s: the peer rejected the connection (%u octets of Private Data)",
		c->mpa != NULL ? "mpa" : "sctp", (uint32_t)iw_conn_params(c)->pd_len);
	iw_conn_event(c, IW_EVENT_REJECTED, &c->fault, false);
}

bool iw_conn_leaves_stream(const struct iw_conn *c)
{
	return c->cfg.keep_stream && c->mpa != NULL && iw_mpa_state(c->mpa) == IW_MPA_STREAMING;
}

bool iw_conn_is_streaming(const struct iw_conn *c, struct iw_vec *octets)
{
	*octets = (struct iw_vec){ 0 };
	if (!c->cfg.keep_stream || c->mpa == NULL || c->state != IW_CONN_CLOSED || c->peer_fin)
		return false;
	if (iw_conn_leaves_stream(c))
		return iw_mpa_tx_startup(c->mpa).len == 0;
	/* Without a Reply, the initiator of a valid Request is not in streaming mode. */
	if (c->cfg.mpa.initiator || iw_mpa_state(c->mpa) == IW_MPA_DECIDING ||
	    !iw_mpa_is_mute(c->mpa))
		return false;
	*octets = iw_mpa_startup_in(c->mpa);
	return true;
}
