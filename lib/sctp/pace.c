// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Pacing, instead of Max.Burst (RFC 9260 6.1 D): a token bucket that fills with 1.25 cwnd in a
 * round trip, 2 cwnd in slow start, or at the rate that the controller sets. After a SACK, at most
 * one burst is sent; the rest follows as the bucket fills. A burst is cfg.burst packets, or the
 * octets of one millisecond if that is more. Timers have no finer resolution, so with round trips
 * below a millisecond pacing would only delay the sender. At a rate that the controller sets, a
 * burst is four packets, or the octets of two milliseconds.
 */
#include "sctp/internal.h"

#define BURST_US   1000u
#define RATE_BURST 4         /* packets */
#define IDLE       IW_SEC(1) /* after which the bucket is full again at any rate */
#define US         1000u     /* ns in a microsecond; in microseconds, all products fit 64 bits */

/* The octets that may be sent in us microseconds. */
static uint64_t flow(const struct path *p, uint64_t us)
{
	uint64_t quarters = p->cc.cwnd < p->cc.ssthresh ? 8 : 5;

	if (p->cc.pacing)
		return p->cc.pacing * us / 1000000;
	return (uint64_t)p->cc.cwnd * us / (p->srtt / US + 1) * quarters / 4;
}

uint64_t iw_sctp_pace_burst(const struct path *p)
{
	if (p->cc.pacing)
		return IW_MAX((uint64_t)RATE_BURST * p->pmtu, flow(p, 2 * BURST_US));
	return IW_MAX((uint64_t)p->a->s->cfg.burst * p->pmtu, flow(p, BURST_US));
}

bool iw_sctp_pace_allows(struct path *p, uint64_t now)
{
	uint64_t us = (now - p->tokens_at) / US, need, rate;
	int64_t full;

	if (p->srtt == 0)
		return true;
	/*
	 * No new tokens since the last call, as for most packets of a burst: avoids the divisions.
	 */
	if (us == 0 && p->tokens > 0)
		return true;
	full = (int64_t)iw_sctp_pace_burst(p);
	if (p->tokens_at == 0 || us * US > (p->cc.pacing ? IDLE : p->srtt)) {
		p->tokens = full;
		p->tokens_at = now;
	} else {
		p->tokens = IW_MIN(p->tokens + (int64_t)flow(p, us), full);
		p->tokens_at += us * US;
	}
	if (p->tokens > 0)
		return true;
	/* Wait until the bucket is half full: few large bursts cost less than many small ones. */
	need = (uint64_t)(full / 2 - p->tokens);
	rate = IW_MAX(flow(p, p->srtt / US + 1), (uint64_t)1);
	p->pace_at = now + (need * (p->srtt / US + 1) / rate + 1) * US;
	return false;
}

void iw_sctp_pace_spend(struct path *p, uint32_t octets)
{
	p->tokens -= octets;
}
