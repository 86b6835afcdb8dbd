// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Pacing, in place of Max.Burst (RFC 9260 6.1 D): a bucket that fills at a little more than cwnd a round trip,
 * twice that in slow start. What a SACK sets free goes out in one burst at most; the rest follows as the
 * bucket fills. A burst is cfg.burst packets, or what flows in a millisecond: timers are no finer than that
 * in the end, and where a window crosses the network in less, pacing would only keep the sender waiting.
 */
#include "sctp/internal.h"

#define BURST_US 1000u
#define US       1000u /* in a microsecond, ns: what is counted here fits 64 bits that way */

/* Octets that flow in us microseconds. */
static uint64_t flow(const struct path *p, uint64_t us)
{
	uint64_t quarters = p->cc.cwnd < p->cc.ssthresh ? 8 : 5;

	return (uint64_t)p->cc.cwnd * us / (p->srtt / US + 1) * quarters / 4;
}

bool iw_sctp_pace_allows(struct path *p, uint64_t now)
{
	uint64_t us = (now - p->tokens_at) / US, need, rate;
	int64_t full;

	if (p->srtt == 0)
		return true;
	/* Nothing flowed in since it was asked last: most packets of a burst, which need no division. */
	if (us == 0 && p->tokens > 0)
		return true;
	full = (int64_t)IW_MAX((uint64_t)p->a->s->cfg.burst * p->pmtu, flow(p, BURST_US));
	if (p->tokens_at == 0 || us * US > p->srtt) {
		p->tokens = full;
		p->tokens_at = now;
	} else {
		p->tokens = IW_MIN(p->tokens + (int64_t)flow(p, us), full);
		p->tokens_at += us * US;
	}
	if (p->tokens > 0)
		return true;
	/* Until half of it is there: few large bursts cost less than many small ones. */
	need = (uint64_t)(full / 2 - p->tokens);
	rate = IW_MAX(flow(p, p->srtt / US + 1), (uint64_t)1);
	p->pace_at = now + (need * (p->srtt / US + 1) / rate + 1) * US;
	return false;
}

void iw_sctp_pace_spend(struct path *p, uint32_t octets)
{
	p->tokens -= octets;
}
