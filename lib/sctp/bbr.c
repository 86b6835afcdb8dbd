// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* BBR, see bbr.h. Gains are in percent. */
#include "sctp/bbr.h"

#include "util/num.h"

#define STARTUP_GAIN   277 /* 4 ln 2: doubles the rate in each round */
#define DRAIN_GAIN     50
#define DOWN_GAIN      90
#define UP_GAIN        125
#define WINDOW_GAIN    200 /* the window, in percent of the BDP */
#define UP_WINDOW_GAIN 250 /* a full queue must not prevent a higher rate */
#define PACING_MARGIN  99  /* slightly below the measured rate: queues drain */
#define HEADROOM       85  /* percent of flight_hi used in DOWN, CRUISE, RTT: room for others */
#define BETA           70  /* percent that a response to losses keeps at least */
#define FULL_GROWTH    125 /* STARTUP ends after FULL_ROUNDS rounds with less growth */
#define FULL_ROUNDS    3
#define DOWN_ROUNDS    3  /* at most: the queue may belong to another flow */
#define CRUISE_ROUNDS  6  /* and up to 3 more */
#define LOSS_PART      50 /* more than 1 / 50 of a round lost, and LOSS_CHUNKS, is too much */
#define LOSS_CHUNKS    3
#define WINDOW_MIN     4 /* chunks */
#define UP_ROUNDS_MAX  12
#define EXTRA_ROUNDS   5
#define EXTRA_MAX      IW_MSEC(100) /* of sending */
#define RTT_WINDOW     IW_SEC(10)
#define RTT_PHASE      IW_MSEC(200) /* or RTT_TRIPS round trips, if that is less */
#define RTT_TRIPS      8
/*
 * Hosts do not react faster than this. With shorter round trips, the window holds what is sent in
 * this time, and phase RTT has no purpose.
 */
#define RTT_LEAST      IW_MSEC(1)

void iw_sctp_bbr_init(struct iw_sctp_bbr *b, uint32_t seed)
{
	*b = (struct iw_sctp_bbr){
		.rtt_min = UINT64_MAX,
		.flight_hi = UINT32_MAX,
		.flight_lo = UINT32_MAX,
		.rate_lo = UINT64_MAX,
		.random = seed,
	};
}

const char *iw_sctp_bbr_state_name(enum iw_sctp_bbr_state state)
{
	static const char *const names[] = {
		[IW_SCTP_BBR_STARTUP] = "startup",     [IW_SCTP_BBR_DRAIN] = "drain",
		[IW_SCTP_BBR_DOWN] = "probe_down",     [IW_SCTP_BBR_CRUISE] = "probe_cruise",
		[IW_SCTP_BBR_REFILL] = "probe_refill", [IW_SCTP_BBR_UP] = "probe_up",
		[IW_SCTP_BBR_RTT] = "probe_rtt",
	};

	return names[state];
}

/* --- the model -------------------------------------------------------------------------------- */

static uint64_t rate_max(const struct iw_sctp_bbr *b)
{
	return IW_MAX(b->rate_max[0], b->rate_max[1]);
}

static uint64_t rate_now(const struct iw_sctp_bbr *b)
{
	return IW_MIN(rate_max(b), b->rate_lo);
}

static uint64_t model_rtt(const struct iw_sctp_bbr *b)
{
	return IW_MAX(b->rtt_min, RTT_LEAST);
}

/* The octets sent in ns at that rate. Rates below 2^37 and times below 2^36 ns fit 64 bits. */
static uint64_t octets_in(uint64_t rate, uint64_t ns)
{
	return rate * (ns / 1000) / 1000000;
}

/* gain percent of the BDP, octets. 0: not known yet. */
static uint32_t bdp_percent(const struct iw_sctp_bbr *b, unsigned gain)
{
	uint64_t octets;

	if (b->rtt_min == UINT64_MAX)
		return 0;
	octets = octets_in(rate_now(b), model_rtt(b)) * gain / 100;
	return (uint32_t)IW_MIN(octets, (uint64_t)UINT32_MAX / 4);
}

static uint32_t percent(uint32_t x, unsigned part)
{
	return (uint32_t)((uint64_t)x * part / 100);
}

static uint32_t window_min(const struct iw_sctp_cc *c)
{
	return WINDOW_MIN * c->pmdcs;
}

/* Returns true if the sample begins a new round. */
static bool begins_round(struct iw_sctp_bbr *b, const struct iw_sctp_cc_sample *s)
{
	if (s->delivered_then < b->round_delivered)
		return false;
	b->last_delivered =
		(uint32_t)IW_MIN(s->delivered - b->round_delivered, (uint64_t)UINT32_MAX / 4);
	b->last_rate = b->round_rate;
	b->round_rate = 0;
	b->round_delivered = s->delivered;
	b->round_lost = b->lost;
	b->responded = false;
	b->round++;
	return true;
}

static void learn_rate(struct iw_sctp_bbr *b, const struct iw_sctp_cc_sample *s)
{
	b->round_rate = IW_MAX(b->round_rate, s->rate);
	if (!s->app_limited || s->rate > rate_max(b))
		b->rate_max[0] = IW_MAX(b->rate_max[0], s->rate);
}

/*
 * Octets acknowledged above the expected number (the draft's extra_acked) enlarge the window, so
 * that acknowledgements in bursts do not stop the sender.
 */
static void learn_extra(struct iw_sctp_cc *c, const struct iw_sctp_cc_ack *ack)
{
	struct iw_sctp_bbr *b = c->bbr;
	uint64_t rate = rate_now(b), since = IW_MIN(ack->now - b->acks_at, IW_SEC(60));
	uint64_t expected = octets_in(rate, since), extra;

	if (b->acks <= expected || b->acks_at == 0) {
		b->acks = expected = 0;
		b->acks_at = ack->now;
	}
	b->acks += ack->octets;
	extra = IW_MIN(b->acks - expected, octets_in(rate, EXTRA_MAX));
	extra = IW_MIN(extra, (uint64_t)c->cwnd);
	if (b->round >= b->extra_round + EXTRA_ROUNDS) {
		b->extra_round = b->round;
		b->extra[1] = b->extra[0];
		b->extra[0] = 0;
	}
	b->extra[0] = IW_MAX(b->extra[0], (uint32_t)extra);
}

/* --- states ----------------------------------------------------------------------------------- */

static void enter(struct iw_sctp_bbr *b, enum iw_sctp_bbr_state state, uint64_t now)
{
	b->state = state;
	b->phase_round = b->round;
	b->phase_at = now;
}

/* A new cycle: the rates of the cycle before the last one expire. */
static void enter_down(struct iw_sctp_bbr *b, uint64_t now)
{
	enter(b, IW_SCTP_BBR_DOWN, now);
	/* A cycle in which the user limited the rate says nothing about the path. */
	if (b->rate_max[0] > 0) {
		b->rate_max[1] = b->rate_max[0];
		b->rate_max[0] = 0;
	}
	b->cruise_rounds = CRUISE_ROUNDS + (iw_next_jitter(&b->random) >> 30);
}

static void enter_refill(struct iw_sctp_bbr *b, uint64_t now)
{
	enter(b, IW_SCTP_BBR_REFILL, now);
	b->flight_lo = UINT32_MAX;
	b->rate_lo = UINT64_MAX;
	b->up_rounds = 0;
}

/* The flight that DOWN has to reach. */
static uint32_t drained_flight(const struct iw_sctp_cc *c)
{
	const struct iw_sctp_bbr *b = c->bbr;
	uint32_t most = b->flight_hi == UINT32_MAX ? UINT32_MAX : percent(b->flight_hi, HEADROOM);

	return IW_MAX(IW_MIN(bdp_percent(b, 100), most), window_min(c));
}

static void check_full(struct iw_sctp_bbr *b, const struct iw_sctp_cc_sample *s)
{
	if (b->full || s->app_limited)
		return;
	if (rate_max(b) >= b->full_rate * FULL_GROWTH / 100) {
		b->full_rate = rate_max(b);
		b->full_rounds = 0;
		return;
	}
	b->full = ++b->full_rounds >= FULL_ROUNDS;
}

/* UP: while there are few losses, the bound rises by 1, 2, 4 ... chunks in each round. */
static void raise_bound(struct iw_sctp_cc *c, const struct iw_sctp_cc_ack *ack)
{
	struct iw_sctp_bbr *b = c->bbr;
	uint64_t hi = b->flight_hi;

	if (hi == UINT32_MAX || ack->flight_before + 2 * c->pmdcs < hi)
		return;
	hi += (uint64_t)c->pmdcs << b->up_rounds;
	b->flight_hi = (uint32_t)IW_MIN(hi, (uint64_t)UINT32_MAX / 2);
	if (b->up_rounds < UP_ROUNDS_MAX)
		b->up_rounds++;
}

static void next_phase(struct iw_sctp_cc *c, const struct iw_sctp_cc_ack *ack, bool round)
{
	struct iw_sctp_bbr *b = c->bbr;
	uint64_t rounds = b->round - b->phase_round, now = ack->now;

	switch (b->state) {
	case IW_SCTP_BBR_STARTUP:
		if (b->full)
			enter(b, IW_SCTP_BBR_DRAIN, now);
		return;
	case IW_SCTP_BBR_DRAIN:
		if (ack->flight <= bdp_percent(b, 100))
			enter_down(b, now);
		return;
	case IW_SCTP_BBR_DOWN:
		if (ack->flight <= drained_flight(c) || rounds >= DOWN_ROUNDS)
			enter(b, IW_SCTP_BBR_CRUISE, now);
		return;
	case IW_SCTP_BBR_CRUISE:
		if (rounds >= b->cruise_rounds)
			enter_refill(b, now);
		return;
	case IW_SCTP_BBR_REFILL:
		if (rounds >= 1)
			enter(b, IW_SCTP_BBR_UP, now);
		return;
	case IW_SCTP_BBR_UP:
		if (round)
			raise_bound(c, ack);
		if (rounds >= 1 && now - b->phase_at > model_rtt(b) &&
		    (ack->flight_before >= bdp_percent(b, UP_GAIN) || rounds >= UP_ROUNDS_MAX))
			enter_down(b, now);
		return;
	case IW_SCTP_BBR_RTT:
		return;
	}
}

/* --- losses ----------------------------------------------------------------------------------- */

/*
 * True if this round has lost more than the model tolerates. Losses before the acknowledged chunk
 * was sent are ignored: those of a timeout say nothing about what the path delivers now.
 */
static bool loses_too_much(const struct iw_sctp_cc *c, const struct iw_sctp_cc_sample *s)
{
	const struct iw_sctp_bbr *b = c->bbr;
	uint64_t lost = s->lost - IW_MAX(b->round_lost, s->lost_then);
	uint64_t all = IW_MAX(s->delivered - b->round_delivered + lost, (uint64_t)s->flight_then);

	return lost > all / LOSS_PART + (uint64_t)LOSS_CHUNKS * c->pmdcs;
}

/* True if losses lower flight_lo in this state. */
static bool lowers_lo(const struct iw_sctp_bbr *b)
{
	return b->state != IW_SCTP_BBR_STARTUP && b->state != IW_SCTP_BBR_REFILL &&
	       b->state != IW_SCTP_BBR_UP;
}

static void respond(struct iw_sctp_cc *c, const struct iw_sctp_cc_sample *s, uint64_t now)
{
	struct iw_sctp_bbr *b = c->bbr;
	uint32_t lo;

	b->responded = true;
	switch (b->state) {
	case IW_SCTP_BBR_STARTUP:
		b->full = true;
		b->flight_hi = IW_MAX(bdp_percent(b, 100), b->last_delivered);
		return;
	case IW_SCTP_BBR_REFILL:
	case IW_SCTP_BBR_UP:
		/* If the user limits the flight, the losses do not show how much the path holds. */
		if (!s->app_limited)
			b->flight_hi = IW_MAX(s->flight_then,
					      percent(IW_MIN(bdp_percent(b, 100), c->cwnd), BETA));
		enter_down(b, now);
		return;
	case IW_SCTP_BBR_DRAIN:
	case IW_SCTP_BBR_DOWN:
	case IW_SCTP_BBR_CRUISE:
	case IW_SCTP_BBR_RTT:
		lo = b->flight_lo == UINT32_MAX ? c->cwnd : b->flight_lo;
		b->flight_lo = IW_MAX(b->last_delivered, percent(lo, BETA));
		b->rate_lo = IW_MAX(IW_MAX(b->last_rate, b->round_rate), rate_now(b) * BETA / 100);
		return;
	}
}

/* --- the lowest round-trip time --------------------------------------------------------------- */

static void leave_rtt(struct iw_sctp_bbr *b, uint64_t now)
{
	b->rtt_min_at = now;
	if (b->full)
		enter_down(b, now);
	else
		enter(b, IW_SCTP_BBR_STARTUP, now);
}

static void learn_rtt(struct iw_sctp_cc *c, const struct iw_sctp_cc_ack *ack)
{
	struct iw_sctp_bbr *b = c->bbr;
	const struct iw_sctp_cc_sample *s = ack->sample;
	bool expired = b->rtt_min_at && ack->now - b->rtt_min_at > RTT_WINDOW;

	if (s->rtt && (s->rtt <= b->rtt_min || expired)) {
		b->rtt_min = s->rtt;
		b->rtt_min_at = ack->now;
	}
	/* With less in flight, as after idle time, no queue of this path is in the sample. */
	if (expired && b->state != IW_SCTP_BBR_RTT && b->rtt_min > RTT_LEAST &&
	    ack->flight_before > IW_MAX(bdp_percent(b, 50), window_min(c))) {
		enter(b, IW_SCTP_BBR_RTT, ack->now);
		b->rtt_until = 0;
	}
	if (b->state != IW_SCTP_BBR_RTT)
		return;
	if (b->rtt_until == 0) {
		if (ack->flight > IW_MAX(bdp_percent(b, 50), window_min(c)))
			return;
		b->rtt_until = ack->now + IW_MIN(RTT_PHASE, RTT_TRIPS * b->rtt_min);
		b->phase_round = b->round;
	} else if (ack->now >= b->rtt_until && b->round > b->phase_round) {
		leave_rtt(b, ack->now);
	}
}

/* --- what the sender uses --------------------------------------------------------------------- */

static unsigned pacing_gain(const struct iw_sctp_bbr *b)
{
	switch (b->state) {
	case IW_SCTP_BBR_STARTUP:
		return STARTUP_GAIN;
	case IW_SCTP_BBR_DRAIN:
		return DRAIN_GAIN;
	case IW_SCTP_BBR_DOWN:
		return DOWN_GAIN;
	case IW_SCTP_BBR_UP:
		return UP_GAIN;
	case IW_SCTP_BBR_CRUISE:
	case IW_SCTP_BBR_REFILL:
	case IW_SCTP_BBR_RTT:
		return 100;
	}
	return 100;
}

static void set_pacing(struct iw_sctp_cc *c)
{
	uint64_t rate = rate_now(c->bbr) * pacing_gain(c->bbr) / 100 * PACING_MARGIN / 100;

	/* STARTUP never becomes slower: the first samples are of few chunks. */
	if (c->bbr->full || rate > c->pacing)
		c->pacing = rate;
}

static uint32_t flight_bound(const struct iw_sctp_bbr *b)
{
	uint32_t hi = b->flight_hi;

	if (hi != UINT32_MAX && (b->state == IW_SCTP_BBR_CRUISE || b->state == IW_SCTP_BBR_RTT))
		hi = percent(hi, HEADROOM);
	return IW_MIN(hi, b->flight_lo);
}

static unsigned window_gain(const struct iw_sctp_bbr *b)
{
	if (!b->full)
		return STARTUP_GAIN;
	return b->state == IW_SCTP_BBR_UP ? UP_WINDOW_GAIN : WINDOW_GAIN;
}

static void set_window(struct iw_sctp_cc *c, const struct iw_sctp_cc_ack *ack)
{
	const struct iw_sctp_bbr *b = c->bbr;
	uint32_t extra = IW_MAX(b->extra[0], b->extra[1]);
	uint32_t want = bdp_percent(b, window_gain(b)) + extra;
	uint32_t cwnd = c->cwnd > UINT32_MAX - ack->octets ? UINT32_MAX : c->cwnd + ack->octets;

	want = IW_MAX(want, window_min(c));
	if (b->full)
		cwnd = IW_MIN(cwnd, want);
	else if (c->cwnd >= want && b->round > 0)
		cwnd = c->cwnd;
	cwnd = IW_MIN(cwnd, flight_bound(b));
	if (b->state == IW_SCTP_BBR_RTT)
		cwnd = IW_MIN(cwnd, bdp_percent(b, 50));
	c->cwnd = IW_MAX(cwnd, window_min(c));
}

static void bbr_ack(struct iw_sctp_cc *c, const struct iw_sctp_cc_ack *ack)
{
	struct iw_sctp_bbr *b = c->bbr;
	const struct iw_sctp_cc_sample *s = ack->sample;
	bool round = false;

	if (!b)
		return;
	if (s) {
		round = begins_round(b, s);
		b->lost = s->lost;
		learn_rate(b, s);
		learn_extra(c, ack);
		if (round)
			check_full(b, s);
		if (!b->responded && loses_too_much(c, s))
			respond(c, s, ack->now);
		next_phase(c, ack, round);
		learn_rtt(c, ack);
		set_pacing(c);
	}
	set_window(c, ack);
}

/* A loss alone changes nothing: loses_too_much() checks the share of a round. */
static void bbr_loss(struct iw_sctp_cc *c)
{
	(void)c;
}

/*
 * The model remains. The window grows to it again by what is acknowledged. A response to later
 * losses must not begin from the window of one chunk, nor from one that idle time has reduced.
 */
static void bbr_timeout(struct iw_sctp_cc *c)
{
	struct iw_sctp_bbr *b = c->bbr;

	if (b && b->flight_lo == UINT32_MAX && lowers_lo(b))
		b->flight_lo = IW_MAX(c->cwnd, bdp_percent(b, 100));
	c->cwnd = c->pmdcs;
}

const struct iw_sctp_cc_ops iw_sctp_cc_bbr = {
	.name = "bbr",
	.ack = bbr_ack,
	.loss = bbr_loss,
	.timeout = bbr_timeout,
	.models = true,
};
