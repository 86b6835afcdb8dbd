// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Congestion control: RFC 9260 7.2, the default, and CUBIC (RFC 9438). bbr.c has a third one. */
#include "sctp/cc.h"

#include <string.h>

#include "util/num.h"

void iw_sctp_cc_init(struct iw_sctp_cc *c, uint32_t pmdcs, bool ipv4)
{
	uint32_t floor = IW_MAX(2 * pmdcs, ipv4 ? 4404u : 4344u);

	*c = (struct iw_sctp_cc){
		.cwnd = IW_MIN(4 * pmdcs, floor),
		.ssthresh = UINT32_MAX, /* arbitrarily high */
		.pmdcs = pmdcs,
	};
}

void iw_sctp_cc_idle(struct iw_sctp_cc *c, bool first)
{
	if (first)
		c->ssthresh = c->cwnd;
	c->cwnd = IW_MIN(c->cwnd, IW_MAX(c->cwnd / 2, 4 * c->pmdcs));
	c->pba = 0;
	c->epoch = 0;
}

void iw_sctp_cc_save(struct iw_sctp_cc *c)
{
	c->cwnd_before = c->cwnd;
	c->ssthresh_before = c->ssthresh;
	c->w_max_before = c->w_max;
}

void iw_sctp_cc_undo(struct iw_sctp_cc *c)
{
	if (c->cwnd_before == 0)
		return;
	c->cwnd = IW_MAX(c->cwnd, c->cwnd_before);
	c->ssthresh = IW_MAX(c->ssthresh, c->ssthresh_before);
	c->w_max = IW_MAX(c->w_max, c->w_max_before);
	c->epoch = 0;
	c->cwnd_before = 0;
}

static uint32_t grown(uint32_t cwnd, uint32_t by)
{
	return by > UINT32_MAX - cwnd ? UINT32_MAX : cwnd + by;
}

/* In slow start, increases cwnd if the window was fully used, and returns true. */
static bool slow_start(struct iw_sctp_cc *c, const struct iw_sctp_cc_ack *ack)
{
	uint32_t most = ack->l > UINT32_MAX / c->pmdcs ? UINT32_MAX : ack->l * c->pmdcs;

	if (c->cwnd > c->ssthresh)
		return false;
	if (ack->flight_before >= c->cwnd && !ack->in_recovery)
		c->cwnd = grown(c->cwnd, IW_MIN(ack->octets, most));
	return true;
}

static void rfc9260_ack(struct iw_sctp_cc *c, const struct iw_sctp_cc_ack *ack)
{
	if (!slow_start(c, ack)) {
		bool used = ack->flight_before >= c->cwnd;

		c->pba = grown(c->pba, ack->octets);
		if (c->pba >= c->cwnd && !used)
			c->pba = c->cwnd;
		if (c->pba >= c->cwnd && used) {
			c->pba -= c->cwnd;
			c->cwnd = grown(c->cwnd, c->pmdcs);
		}
	}
	if (ack->all_acked)
		c->pba = 0;
}

static void rfc9260_loss(struct iw_sctp_cc *c)
{
	c->ssthresh = IW_MAX(c->cwnd / 2, 4 * c->pmdcs);
	c->cwnd = c->ssthresh;
	c->pba = 0;
}

static void rfc9260_timeout(struct iw_sctp_cc *c)
{
	rfc9260_loss(c);
	c->cwnd = c->pmdcs;
}

const struct iw_sctp_cc_ops iw_sctp_cc_rfc9260 = {
	.name = "rfc9260",
	.ack = rfc9260_ack,
	.loss = rfc9260_loss,
	.timeout = rfc9260_timeout,
};

/* --- CUBIC, RFC 9438 -------------------------------------------------------------------------- */

/*
 * C is 0.4 segments / s^3, beta is 0.7. Times are in milliseconds, so that a cube fits into 64
 * bits: W(t) = w_max + 0.4 * (t - K)^3 / 10^9 segments.
 */
#define BETA(x)  ((uint32_t)((uint64_t)(x)*7 / 10))
#define T_MAX_MS 400000 /* its cube times a PMDCS of 64 KiB, scaled, fits 64 bits */

static uint64_t cube_root(uint64_t x)
{
	uint64_t root = 0;

	for (int bit = 20; bit >= 0; bit--) {
		uint64_t r = root | (uint64_t)1 << bit;

		if (r * r * r <= x)
			root = r;
	}
	return root;
}

/* W at ms milliseconds from the epoch, in octets. */
static uint32_t cubic_window(const struct iw_sctp_cc *c, uint64_t ms)
{
	uint64_t k = c->k / 1000000, away = ms > k ? ms - k : k - ms, octets;

	away = IW_MIN(away, (uint64_t)T_MAX_MS);
	octets = away * away * away / 2500000 * c->pmdcs / 1000;
	if (ms < k)
		return octets < c->w_max ? c->w_max - (uint32_t)octets : 0;
	return octets > UINT32_MAX - c->w_max ? UINT32_MAX : c->w_max + (uint32_t)octets;
}

static void begin_epoch(struct iw_sctp_cc *c, uint64_t now)
{
	c->epoch = now;
	c->w_est = c->cwnd;
	c->w_due = 0;
	if (c->w_max <= c->cwnd) {
		c->w_max = c->cwnd;
		c->k = 0;
		return;
	}
	c->k = cube_root((uint64_t)(c->w_max - c->cwnd) * 2500000 / c->pmdcs * 1000) * 1000000;
}

static void cubic_ack(struct iw_sctp_cc *c, const struct iw_sctp_cc_ack *ack)
{
	uint32_t target;

	if (slow_start(c, ack) || ack->in_recovery)
		return;
	if (ack->flight_before < c->cwnd) {
		c->epoch = 0; /* limited by the application: a new growth begins later */
		return;
	}
	if (c->epoch == 0)
		begin_epoch(c, ack->now);
	/*
	 * RFC 9438 4.3: Reno's window after the same losses. It grows by 3 (1 - beta) / (1 + beta)
	 * segments in each round trip, and by a whole segment once it has reached w_max.
	 */
	c->w_due += (uint64_t)ack->octets * c->pmdcs * (c->w_est < c->w_max ? 9 : 17) / 17;
	c->w_est = grown(c->w_est, (uint32_t)IW_MIN(c->w_due / c->cwnd, (uint64_t)UINT32_MAX));
	c->w_due %= c->cwnd;
	target = cubic_window(c, (ack->now - c->epoch + ack->srtt) / 1000000);
	target = IW_MIN(target, grown(c->cwnd, c->cwnd / 2));
	if (target > c->cwnd)
		c->cwnd = grown(c->cwnd, (uint32_t)((uint64_t)(target - c->cwnd) *
						    IW_MIN(ack->octets, c->cwnd) / c->cwnd));
	c->cwnd = IW_MAX(c->cwnd, c->w_est);
}

static void cubic_loss(struct iw_sctp_cc *c)
{
	/*
	 * RFC 9438 4.7, fast convergence: a window smaller than the last one releases bandwidth to
	 * other flows.
	 */
	c->w_max = c->cwnd < c->w_max ? (uint32_t)((uint64_t)c->cwnd * 17 / 20) : c->cwnd;
	c->ssthresh = IW_MAX(BETA(c->cwnd), 4 * c->pmdcs);
	c->cwnd = c->ssthresh;
	c->epoch = 0;
}

static void cubic_timeout(struct iw_sctp_cc *c)
{
	cubic_loss(c);
	c->cwnd = c->pmdcs;
}

const struct iw_sctp_cc_ops iw_sctp_cc_cubic = {
	.name = "cubic",
	.ack = cubic_ack,
	.loss = cubic_loss,
	.timeout = cubic_timeout,
	.prr = true,
};

const struct iw_sctp_cc_ops iw_sctp_cc_auto = { .name = "auto" };

const struct iw_sctp_cc_ops *iw_sctp_cc_find(const char *name)
{
	static const struct iw_sctp_cc_ops *const all[] = { &iw_sctp_cc_auto, &iw_sctp_cc_rfc9260,
							    &iw_sctp_cc_cubic, &iw_sctp_cc_bbr };

	for (size_t i = 0; i < IW_ARRAY_LEN(all); i++)
		if (strcmp(all[i]->name, name) == 0)
			return all[i];
	return NULL;
}
