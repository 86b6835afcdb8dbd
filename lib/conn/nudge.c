// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The quirk siw-first-fpdu. Linux siw sends its MPA Reply before it listens for FPDUs, so a first
 * one that comes within a millisecond or two lies in its socket until more octets come. To wait
 * before the first FPDU does not help for sure: how long the responder takes is up to its
 * scheduler. So when nothing is said to what was sent, a zero-length RDMA Write follows, which
 * places nothing, needs no STag and is no operation of anybody's.
 */
#include "conn/conn.h"

#include "conn/internal.h"

void iw_conn_nudge_begin(struct iw_conn *c)
{
	/* siw is over TCP, and who sends our block is not siw. */
	if (c->mpa == NULL || !c->cfg.mpa.initiator || c->cfg.nudge.wait_ns == 0 ||
	    iw_mpa_agreed(c->mpa)->peer_max_ulpdu > 0)
		return;
	c->nudges_left = c->cfg.nudge.most;
	c->nudge_ns = c->cfg.nudge.wait_ns;
}

/* Every FPDU that follows does what a nudge would: the time counts from the last one. */
void iw_conn_nudge_sent(struct iw_conn *c, uint64_t now)
{
	if (c->nudges_left > 0)
		c->nudge_at = iw_time_add(now, c->nudge_ns);
}

void iw_conn_nudge_heard(struct iw_conn *c)
{
	/* What came before anything was sent is no answer to it. */
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
	/* Our FIN does it as well. */
	if (c->state != IW_CONN_OPEN && c->state != IW_CONN_CLOSING)
		return;
	c->nudges_left--;
	c->nudge_ns *= 2;
	c->counts.nudges++;
	iw_rdmap_nudge(c->rdmap);
}
