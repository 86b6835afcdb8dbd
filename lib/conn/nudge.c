// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The quirk siw-first-fpdu. Linux siw sends its MPA Reply before it handles received FPDUs. A first
 * FPDU that arrives within a millisecond or two stays in siw's socket until more octets arrive. A
 * delay before the first FPDU is not reliable, because the necessary time depends on the
 * responder's scheduler. So if the peer does not answer, this end sends a zero-length RDMA Write,
 * the nudge. It places nothing, needs no STag and belongs to no operation.
 */
#include "conn/conn.h"

#include "conn/internal.h"

void iw_conn_nudge_begin(struct iw_conn *c)
{
	/* siw runs over TCP, and never sends the block of this library in its Private Data. */
	if (c->mpa == NULL || !c->cfg.mpa.initiator || c->cfg.nudge.wait_ns == 0 ||
	    iw_mpa_agreed(c->mpa)->peer_max_ulpdu > 0)
		return;
	c->nudges_left = c->cfg.nudge.most;
	c->nudge_ns = c->cfg.nudge.wait_ns;
}

/* Every FPDU of this end has the effect of a nudge, so each restarts the wait. */
void iw_conn_nudge_sent(struct iw_conn *c, uint64_t now)
{
	if (c->nudges_left > 0)
		c->nudge_at = iw_time_add(now, c->nudge_ns);
}

void iw_conn_nudge_heard(struct iw_conn *c)
{
	/* Octets that arrived before this end has sent are not an answer. */
	if (c->nudge_at == IW_TIME_NEVER || c->cfg.nudge.insist)
		return;
	c->nudges_left = 0;
	c->nudge_at = IW_TIME_NEVER;
}

void iw_conn_nudge_timeout(struct iw_conn *c, uint64_t now)
{
	if (now < c->nudge_at)
		return;
	c->nudge_at = IW_TIME_NEVER;
	/* In the later states our FIN wakes siw too. */
	if (c->state != IW_CONN_OPEN && c->state != IW_CONN_CLOSING)
		return;
	c->nudges_left--;
	c->nudge_ns *= 2;
	c->counts.nudges++;
	iw_rdmap_nudge(c->rdmap);
}
