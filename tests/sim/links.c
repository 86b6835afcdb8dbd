// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Congestion control on links with a bottleneck: steps in its rate, shallow and deep queues, a
 * policer, random loss, acknowledgements in lumps, and flows that share it. Each flow is one
 * association that always has DATA to send. These must hold:
 *   - the flow uses most of the link, also some round trips after a change of its rate;
 *   - of flows that share the link, each gets a part of it;
 *   - BBR sends no burst above its pacing rate and one burst, and it does not fill a deep queue;
 *   - packets that arrive late are not taken for lost, and the window stays.
 */
#include <stdio.h>
#include <string.h>

#include "sctp/cc.h"
#include "sim/scenarios.h"
#include "sim/world.h"

enum {
	FLOWS = 2,
	MESSAGE = 1400,
	HEADERS = 28, /* IP and UDP */
	PACKET = 1472,
	SPARSE = 8, /* a run is long: only each such seed is run */
};

/* The way from the senders to the receivers; the way back has only a delay. */
struct bottleneck {
	uint64_t rate;    /* octets a second */
	uint64_t queue;   /* octets */
	uint64_t trip;    /* round-trip time without the queue, ns */
	unsigned loss;    /* random, in thousandths */
	unsigned late;    /* in thousandths: packets up to half a round trip late */
	uint64_t policer; /* octets a second, no queue; 0: none */
	uint64_t bucket;  /* of the policer, octets */
	uint64_t lump;    /* acknowledgements arrive at multiples of it, ns; 0: at once */
	uint64_t free_at; /* when the queue is empty */
	uint64_t tokens, tokens_at;
	uint64_t dropped, passed; /* packets */
};

struct flow {
	struct iw_sctp_assoc *a;
	bool pausing;           /* sends nothing by itself */
	uint64_t acked, resent; /* at the last mark */
	/* The burst so far, above what the pacing rate permits. */
	uint64_t level, level_at, most, rate;
};

struct links {
	struct world w;
	struct bottleneck link;
	struct host *from[FLOWS], *to[FLOWS];
	struct flow flow[FLOWS];
	uint64_t marked_at;
	uint64_t queue_sum, queue_n; /* of the queue that packets met, since the last mark, ns */
};

static uint64_t in_time(uint64_t rate, uint64_t ns)
{
	return rate * (ns / 1000) / 1000000;
}

/* --- the link --------------------------------------------------------------------------------- */

static bool policed(struct bottleneck *l, uint64_t octets, uint64_t now)
{
	l->tokens = IW_MIN(l->tokens + in_time(l->policer, now - l->tokens_at), l->bucket);
	l->tokens_at = now;
	if (l->tokens < octets)
		return true;
	l->tokens -= octets;
	return false;
}

static bool to_receiver(struct links *k, uint64_t octets, uint64_t *at)
{
	struct bottleneck *l = &k->link;
	uint64_t now = k->w.now;

	l->free_at = IW_MAX(l->free_at, now);
	if (world_chance(&k->w, l->loss) || (l->policer && policed(l, octets, now)) ||
	    in_time(l->rate, l->free_at - now) > l->queue) {
		l->dropped++;
		return false;
	}
	k->queue_sum += l->free_at - now;
	k->queue_n++;
	l->passed++;
	l->free_at += octets * 1000000000u / l->rate;
	*at = l->free_at + l->trip / 2;
	if (world_chance(&k->w, l->late))
		*at += rng_below(&k->w.rng, l->trip / 2);
	return true;
}

static bool route(struct world *w, const struct host *from, size_t len, uint64_t *at)
{
	struct links *k = w->user;

	for (unsigned i = 0; i < FLOWS; i++)
		if (from == k->from[i])
			return to_receiver(k, len + HEADERS, at);
	*at = w->now + k->link.trip / 2;
	if (k->link.lump)
		*at += k->link.lump - *at % k->link.lump;
	return true;
}

/* --- flows ------------------------------------------------------------------------------------ */

static bool send_one(struct flow *f)
{
	static uint8_t octets[MESSAGE];
	struct iw_vec v = { octets, sizeof(octets) };
	struct iw_sctp_send m = { .vec = &v, .nvec = 1 };

	return iw_sctp_send(f->a, &m, NULL) == 0;
}

static void feed(struct flow *f)
{
	while (!f->pausing && send_one(f))
		continue;
}

static void on_event(struct host *h, const struct iw_sctp_event *ev)
{
	struct flow *f = h->user;
	uint16_t stream;

	if (ev->kind == IW_SCTP_EV_DOWN) {
		world_fail(h->w, "%s: the association has ended", h->name);
		return;
	}
	f->a = ev->assoc;
	while (iw_sctp_next_acked(f->a, &stream) > 0)
		continue;
	feed(f);
}

/* A sender never exceeds its pacing rate by more than a burst, a packet, and what recovery may. */
static bool check_burst(struct world *w, struct host *from, const struct iw_sctp_addr *dst,
			const uint8_t *data, size_t len)
{
	struct flow *f = from->user;
	struct iw_sctp_path p;

	(void)dst;
	if (!f || !f->a || data[IW_SCTP_HDR_LEN] != IW_SCTP_DATA || iw_sctp_path(f->a, 0, &p) < 0 ||
	    p.pacing == 0)
		return true;
	/* The rate may have changed since the last packet. */
	f->level -=
		IW_MIN(in_time(IW_MAX(p.pacing, f->rate), w->now - f->level_at + 1000), f->level);
	f->rate = p.pacing;
	/* A lower rate makes the bucket smaller: what was spent of the difference is forgotten. */
	if (p.burst > f->most || w->now > f->level_at) {
		f->level -= IW_MIN(f->most - IW_MIN(f->most, p.burst), f->level);
		f->most = p.burst;
	}
	f->level_at = w->now;
	f->level += len - IW_SCTP_HDR_LEN;
	if (f->level > f->most + 3 * (uint64_t)IW_MAX(p.mtu, (uint32_t)PACKET))
		world_fail(w, "%s: a burst of %llu octets, where %llu may be sent at once",
			   from->name, (unsigned long long)f->level, (unsigned long long)f->most);
	return true;
}

static void begin(struct links *k, unsigned i, const char *cc)
{
	struct iw_sctp_addr at = world_ipv4(10, 0, 0, 1 + i, 0);
	struct host *from, *to;
	char name[24];

	snprintf(name, sizeof(name), "%s %u", cc, i);
	from = k->from[i] = world_host(&k->w, name, at, 5000);
	to = k->to[i] = world_host(&k->w, "receiver", world_ipv4(10, 0, 1, 1 + i, 0), 5000);
	from->user = &k->flow[i];
	from->on_event = on_event;
	from->cfg.cc = iw_sctp_cc_find(cc);
	/* As lib/llp sets them. */
	from->cfg.burst = 44;
	from->cfg.abc_l = 8;
	to->cfg.listen = true;
	to->cfg.rwnd = 1 << 22;
}

static void connect_flow(struct links *k, unsigned i)
{
	if (iw_sctp_connect(k->from[i]->s, &k->flow[i].a, &k->to[i]->addr[0], 5000, NULL,
			    k->w.now) < 0)
		world_fail(&k->w, "%s: cannot connect", k->from[i]->name);
	k->from[i]->dirty = true;
}

static void mark(struct links *k)
{
	struct iw_sctp_facts f;

	for (unsigned i = 0; i < FLOWS && k->from[i]; i++) {
		if (!k->flow[i].a)
			continue;
		iw_sctp_facts(k->flow[i].a, &f);
		k->flow[i].acked = f.acked_octets;
		k->flow[i].resent = f.resent;
	}
	k->link.dropped = k->link.passed = 0;
	k->queue_sum = k->queue_n = 0;
	k->marked_at = k->w.now;
}

/* What the flow has delivered since the last mark, in percent of the link. */
static unsigned share(const struct links *k, unsigned i)
{
	const struct bottleneck *l = &k->link;
	uint64_t rate = l->policer ? IW_MIN(l->policer, l->rate) : l->rate;
	uint64_t able = in_time(rate, k->w.now - k->marked_at);
	struct iw_sctp_facts f;

	iw_sctp_facts(k->flow[i].a, &f);
	able = able * MESSAGE / (PACKET + HEADERS - 12);
	return (unsigned)((f.acked_octets - k->flow[i].acked) * 100 / able);
}

static void run_trips(struct links *k, unsigned trips)
{
	world_run(&k->w, k->w.now + trips * k->link.trip);
}

static bool wants_share(struct links *k, unsigned i, unsigned least, const char *when)
{
	unsigned got = share(k, i);

	return got >= least ||
	       world_fail(&k->w,
			  "%s %s: %u %% of the link, expected at least %u %% "
			  "(%llu octets a second, a round trip of %llu us, a queue of %llu octets)",
			  k->from[i]->name, when, got, least, (unsigned long long)k->link.rate,
			  (unsigned long long)k->link.trip / 1000,
			  (unsigned long long)k->link.queue);
}

/* At most so many packets of a thousand were dropped since the mark. */
static bool wants_drops(struct links *k, unsigned most)
{
	uint64_t all = k->link.dropped + k->link.passed;

	return k->link.dropped * 1000 <= most * all ||
	       world_fail(&k->w, "%llu of %llu packets were dropped, expected at most %u per mille",
			  (unsigned long long)k->link.dropped, (unsigned long long)all, most);
}

/* Besides the dropped packets, at most so many of a thousand were retransmitted since the mark. */
static bool wants_resent(struct links *k, unsigned i, unsigned most)
{
	uint64_t dropped = k->link.dropped, all = dropped + k->link.passed, resent;
	struct iw_sctp_facts f;

	iw_sctp_facts(k->flow[i].a, &f);
	resent = f.resent - k->flow[i].resent;
	return resent * 1000 <= most * all + dropped * 1000 ||
	       world_fail(&k->w,
			  "%s: %llu of %llu packets were retransmitted and %llu dropped, expected "
			  "at most %u per mille more",
			  k->from[i]->name, (unsigned long long)resent, (unsigned long long)all,
			  (unsigned long long)dropped, most);
}

/* The queue holds at most so many percent of a round trip on average. */
static bool wants_queue(struct links *k, unsigned most)
{
	uint64_t mean = k->queue_n ? k->queue_sum / k->queue_n : 0;

	return mean * 100 <= most * k->link.trip ||
	       world_fail(&k->w, "a queue of %llu us on average, expected at most %u %% of %llu us",
			  (unsigned long long)mean / 1000, most,
			  (unsigned long long)k->link.trip / 1000);
}

/* --- runs ------------------------------------------------------------------------------------- */

/* A link whose BDP is 15 to 100 packets, and a queue of that many percent of it. */
static void some_link(struct links *k, uint64_t seed, unsigned queue)
{
	static const uint64_t trips[] = { IW_MSEC(5), IW_MSEC(20), IW_MSEC(60), IW_MSEC(150) };
	struct bottleneck *l = &k->link;
	uint64_t bdp;

	memset(k, 0, sizeof(*k));
	world_init(&k->w, seed);
	k->w.user = k;
	k->w.route = route;
	k->w.tap = check_burst;
	l->trip = trips[rng_below(&k->w.rng, IW_ARRAY_LEN(trips))];
	bdp = 1500 * (15 + rng_below(&k->w.rng, 85));
	l->rate = bdp * 1000000 / (l->trip / 1000);
	l->queue = IW_MAX(bdp * queue / 100, (uint64_t)4 * 1500);
}

static void start(struct links *k, const char *cc)
{
	begin(k, 0, cc);
	world_start(&k->w);
	connect_flow(k, 0);
}

static bool finish(struct links *k, char failure[300])
{
	world_free(&k->w);
	memcpy(failure, k->w.failure, sizeof(k->w.failure));
	return failure[0] == '\0';
}

/* A run: the flow settles, and what it does afterwards is checked. */
struct course {
	const char *cc;
	unsigned queue;         /* of the link, percent of the BDP */
	unsigned settle, trips; /* round trips before the checks, and of them */
	unsigned loss;          /* random, in thousandths */
	unsigned late;          /* packets that later ones overtake, in thousandths */
	bool policer;           /* at the rate of the link */
	bool lumps;             /* one in each round trip */
	unsigned share;         /* of the link, at least, percent */
	unsigned drops;         /* at most, in thousandths */
	unsigned mean;          /* the queue on average, at most, percent of a round trip */
	unsigned resent;        /* retransmissions, at most, in thousandths of the packets */
};

static void police(struct bottleneck *l)
{
	l->policer = l->rate;
	l->bucket = IW_MAX(in_time(l->rate, l->trip) / 2, (uint64_t)8 * 1500);
	l->rate *= 10;
}

static bool run_course(uint64_t seed, char failure[300], const struct course *c)
{
	static struct links k;

	if (seed % SPARSE != 1)
		return true;
	some_link(&k, seed, c->queue);
	if (c->policer)
		police(&k.link);
	if (c->lumps)
		k.link.lump = k.link.trip;
	start(&k, c->cc);
	run_trips(&k, 3); /* the set-up itself is not repeated before a second */
	k.link.loss = c->loss;
	k.link.late = c->late;
	run_trips(&k, c->settle - 3);
	mark(&k);
	run_trips(&k, c->trips);
	wants_share(&k, 0, c->share, "on one link");
	wants_drops(&k, c->drops);
	wants_queue(&k, c->mean);
	wants_resent(&k, 0, c->resent);
	return finish(&k, failure);
}

/* The limits of a course that says nothing about them. */
#define ANY .drops = 1000, .mean = 10000, .resent = 1000

static bool bbr_shallow(uint64_t seed, char failure[300])
{
	static const struct course c = { "bbr", 20, .settle = 40, .trips = 100, ANY, .share = 70 };

	return run_course(seed, failure, &c);
}

static bool cubic_shallow(uint64_t seed, char failure[300])
{
	static const struct course c = {
		"cubic", 20, .settle = 40, .trips = 100, ANY, .share = 80
	};

	return run_course(seed, failure, &c);
}

static bool cubic_deep(uint64_t seed, char failure[300])
{
	static const struct course c = {
		"cubic", 400, .settle = 40, .trips = 100, ANY, .share = 85
	};

	return run_course(seed, failure, &c);
}

static bool bbr_deep(uint64_t seed, char failure[300])
{
	static const struct course c = { "bbr",       1000,       .settle = 20, .trips = 120,
					 .share = 85, .drops = 0, .mean = 40,   .resent = 1000 };

	return run_course(seed, failure, &c);
}

static bool bbr_policer(uint64_t seed, char failure[300])
{
	static const struct course c = {
		"bbr",        200,           .settle = 60,   .trips = 150,   .share = 80,
		.drops = 110, .mean = 10000, .resent = 1000, .policer = true
	};

	return run_course(seed, failure, &c);
}

static bool bbr_lumps(uint64_t seed, char failure[300])
{
	static const struct course c = { "bbr", 200,         .settle = 60, .trips = 100,
					 ANY,   .share = 80, .lumps = true };

	return run_course(seed, failure, &c);
}

static bool bbr_lossy(uint64_t seed, char failure[300])
{
	static const struct course c = { "bbr", 100,         .settle = 63, .trips = 200,
					 ANY,   .share = 80, .loss = 10 };

	return run_course(seed, failure, &c);
}

/*
 * Of a hundred packets, one arrives up to half a round trip late. The losses that cubic sees at
 * first reduce its window only until they prove to be spurious.
 */
static bool cubic_reordered(uint64_t seed, char failure[300])
{
	static const struct course c = { "cubic", 200,         .settle = 4, .trips = 60,
					 ANY,     .share = 80, .late = 10 };

	return run_course(seed, failure, &c);
}

/* With the margin that has adapted, few of them are retransmitted. */
static bool bbr_reordered(uint64_t seed, char failure[300])
{
	static const struct course c = { "bbr",         200,         .settle = 100,
					 .trips = 200,  .share = 80, .drops = 1000,
					 .mean = 10000, .resent = 2, .late = 10 };

	return run_course(seed, failure, &c);
}

/* The user sends little for many cycles of bbr. Afterwards the link is used at once. */
static bool bbr_pauses(uint64_t seed, char failure[300])
{
	static struct links k;

	if (seed % SPARSE != 1)
		return true;
	some_link(&k, seed, 150);
	start(&k, "bbr");
	run_trips(&k, 40);
	k.flow[0].pausing = true;
	for (unsigned i = 0; i < 80; i++) {
		run_trips(&k, 1);
		send_one(&k.flow[0]);
		k.from[0]->dirty = true;
	}
	k.flow[0].pausing = false;
	feed(&k.flow[0]);
	k.from[0]->dirty = true;
	run_trips(&k, 2);
	mark(&k);
	run_trips(&k, 6);
	wants_share(&k, 0, 75, "after pauses of the user");
	return finish(&k, failure);
}

/* The rate of the link falls to a third, then rises again. */
static bool steps(uint64_t seed, char failure[300], const char *cc, unsigned trips, unsigned least)
{
	static struct links k;

	if (seed % SPARSE != 1)
		return true;
	some_link(&k, seed, 150);
	start(&k, cc);
	run_trips(&k, 60);
	k.link.rate /= 3;
	run_trips(&k, trips);
	mark(&k);
	run_trips(&k, 150);
	wants_share(&k, 0, least, "after a step down");
	k.link.rate *= 3;
	run_trips(&k, trips);
	mark(&k);
	run_trips(&k, 60);
	wants_share(&k, 0, least, "after a step up");
	return finish(&k, failure);
}

static bool bbr_steps(uint64_t seed, char failure[300])
{
	return steps(seed, failure, "bbr", 60, 80);
}

static bool cubic_steps(uint64_t seed, char failure[300])
{
	return steps(seed, failure, "cubic", 60, 70);
}

static bool beside(uint64_t seed, char failure[300], const char *first, const char *second)
{
	static struct links k;

	if (seed % SPARSE != 1)
		return true;
	some_link(&k, seed, 100);
	begin(&k, 0, first);
	begin(&k, 1, second);
	world_start(&k.w);
	connect_flow(&k, 0);
	run_trips(&k, 30);
	connect_flow(&k, 1);
	run_trips(&k, 200);
	mark(&k);
	run_trips(&k, 400);
	wants_share(&k, 0, 18, "began first");
	wants_share(&k, 1, 18, "began second");
	return finish(&k, failure);
}

static bool bbr_bbr(uint64_t seed, char failure[300])
{
	return beside(seed, failure, "bbr", "bbr");
}

static bool bbr_cubic(uint64_t seed, char failure[300])
{
	return beside(seed, failure, "bbr", "cubic");
}

static bool cubic_bbr(uint64_t seed, char failure[300])
{
	return beside(seed, failure, "cubic", "bbr");
}

const struct sim_scenario sim_links[] = {
	{ "bbr-shallow-queue", bbr_shallow },
	{ "bbr-deep-queue", bbr_deep },
	{ "bbr-steps", bbr_steps },
	{ "bbr-policer", bbr_policer },
	{ "bbr-ack-lumps", bbr_lumps },
	{ "bbr-lossy", bbr_lossy },
	{ "bbr-pauses", bbr_pauses },
	{ "bbr-reordered", bbr_reordered },
	{ "bbr-beside-bbr", bbr_bbr },
	{ "bbr-beside-cubic", bbr_cubic },
	{ "cubic-beside-bbr", cubic_bbr },
	{ "cubic-shallow-queue", cubic_shallow },
	{ "cubic-deep-queue", cubic_deep },
	{ "cubic-steps", cubic_steps },
	{ "cubic-reordered", cubic_reordered },
	{ NULL, NULL },
};
