// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Proportional rate reduction (RFC 9937): what a path may send in fast recovery. If cwnd is reduced
 * at once, the path sends nothing until less than cwnd is in flight. Instead, each SACK permits a
 * part of the octets that it acknowledges, so that the path never pauses, and reaches the reduced
 * cwnd after one round trip. If less than cwnd is in flight, each SACK permits the octets that were
 * acknowledged and not replaced yet, at least those that it acknowledges itself, and one chunk more
 * if it advances the cumulative TSN and shows no loss, up to cwnd. A timer permits nothing here;
 * RACK's timer and a tail-loss probe permit one packet apart from this (rtx_pass).
 */
#include "sctp/internal.h"

void iw_sctp_prr_begin(struct path *p)
{
	p->prr = (struct prr){
		.full = IW_MAX(IW_MAX(p->flight_before, p->flight), 1u),
		.window = p->flight,
	};
}

/* RFC 9937 6.2 */
void iw_sctp_prr_ack(struct path *p, bool safe)
{
	struct prr *r = &p->prr;
	int64_t may, most;

	if (r->full == 0 || p->newly == 0)
		return;
	r->acked += p->newly;
	if (p->flight > p->cc.cwnd) {
		may = (int64_t)((r->acked * p->cc.cwnd + r->full - 1) / r->full - r->sent);
	} else {
		may = IW_MAX((int64_t)(r->acked - r->sent), (int64_t)p->newly);
		may = IW_MIN(may + (safe ? p->cc.pmdcs : 0), (int64_t)p->cc.cwnd - p->flight);
	}
	/* A peer that reneges and acknowledges again must not enlarge the window. */
	most = (int64_t)IW_MAX(r->full, p->cc.cwnd) - p->flight;
	may = IW_MIN(may, most);
	r->window = p->flight + (uint32_t)IW_MAX(may, (int64_t)0);
}

uint32_t iw_sctp_window(const struct path *p)
{
	if (!p->a->out.in_recovery || !p->a->cc->prr || p->prr.full == 0)
		return p->cc.cwnd;
	return IW_MAX(p->prr.window, p->cc.pmdcs);
}
