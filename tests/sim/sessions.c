// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * DDP stream sessions (RFC 5043) one after another on one association, for hours. Each one opens,
 * all its segments arrive once in both directions, it ends, and its stream and memory are free
 * afterwards. Messages are delivered before acknowledgements, as lib/loop does.
 */
#include <stdlib.h>
#include <string.h>

#include "sctpmap/session.h"
#include "sim/scenarios.h"
#include "sim/world.h"

enum { LANES = 3, HELD = 32, SEGMENTS = 12, SEGMENT_LEN = 64, PD_LEN = 12, PORT = 5001 };
/* An Initiate and its answer, with losses. */
#define ANSWER_NS IW_SEC(200)

struct side;

/* A session that this end has begun or accepted and not released. */
struct held {
	struct iw_dss *s; /* NULL: unused */
	struct side *side;
	uint32_t number;
	unsigned want, sent; /* segments */
	unsigned expected, came;
	bool ends, open, peer_ended;
	bool closing; /* both ends have ended it; it is released when it is over */
	uint64_t began;
};

struct side {
	struct host *h;
	struct side *peer;
	struct iw_sctp_assoc *a;
	struct iw_sctpmap *map;
	struct counting_mem mem; /* of the memory of sessions */
	size_t at_rest;
	struct held held[HELD];
	bool initiator;
};

struct run {
	struct world w;
	struct side a, b; /* the initiator, the listener */
	uint32_t numbers;
	unsigned lanes, left; /* sessions at once; sessions to open */
	bool holds;           /* sessions are not released before they are over, as lib/conn does */
};

static struct run r;

static size_t below(size_t n)
{
	return rng_below(&r.w.rng, n);
}

static struct held *hold(struct side *e, struct iw_dss *s, uint32_t number)
{
	for (unsigned i = 0; i < HELD; i++) {
		struct held *k = &e->held[i];

		if (k->s)
			continue;
		*k = (struct held){ .s = s, .side = e, .number = number, .began = r.w.now };
		iw_dss_set_owner(s, k);
		return k;
	}
	world_fail(&r.w, "%s: more than %u sessions held", e->h->name, (unsigned)HELD);
	return NULL;
}

static void let_go(struct held *k)
{
	if (k->came < k->expected)
		world_fail(&r.w, "%s: session %u: %u of %u segments came", k->side->h->name,
			   k->number, k->came, k->expected);
	iw_dss_release(k->s);
	k->s = NULL;
}

/* --- output ----------------------------------------------------------------------------------- */

static bool give(struct side *e, uint16_t stream, uint32_t ppid, const uint8_t *data, size_t len,
		 bool sack_now)
{
	struct iw_vec v = { (void *)(uintptr_t)data, len };
	struct iw_sctp_send m = {
		.stream = stream,
		.ppid = ppid,
		.vec = &v,
		.nvec = 1,
		.copy = true,
		.sack_now = sack_now,
	};

	e->h->dirty = true;
	return e->a && iw_sctp_send(e->a, &m, NULL) == 0;
}

static void send_control(struct side *e)
{
	struct iw_sctpmap_msg m;

	while (iw_sctpmap_control(e->map, &m) &&
	       give(e, m.stream, m.ppid, m.data, m.len, m.ack_now))
		iw_sctpmap_control_taken(e->map, m.stream);
}

/* Writes number and index, and octets derived from them. */
static void fill(uint8_t *p, uint32_t number, unsigned from, unsigned index)
{
	struct rng rng = { (uint64_t)number << 32 | from << 16 | index };

	memset(p, 0, SEGMENT_LEN);
	iw_put_be32(p + SEGMENT_LEN - 12, number);
	iw_put_be32(p + SEGMENT_LEN - 8, index);
	iw_put_be32(p + SEGMENT_LEN - 4, (uint32_t)rng_next(&rng));
}

static void send_segment(struct held *k)
{
	struct side *e = k->side;
	uint8_t m[IW_SCTP_SSN_LEN + SEGMENT_LEN];

	iw_put_be16(m, iw_dss_ssn(k->s));
	fill(m + IW_SCTP_SSN_LEN, k->number, e->initiator, k->sent);
	if (!give(e, iw_dss_stream(k->s), iw_sctpmap_profile(e->map)->ppid_segment, m, sizeof(m),
		  false))
		return;
	iw_dss_taken(k->s);
	k->sent++;
}

/* The end that ends a session has sent and received everything. */
static void work(struct side *e)
{
	send_control(e);
	for (unsigned i = 0; i < HELD; i++) {
		struct held *k = &e->held[i];

		if (!k->s)
			continue;
		if (e->initiator && !k->open && r.w.now - k->began > ANSWER_NS)
			world_fail(&r.w, "session %u on stream %u: no answer to the Initiate",
				   k->number, (unsigned)iw_dss_stream(k->s));
		while (k->open && k->sent < k->want && iw_dss_room(k->s) > 0 && below(3))
			send_segment(k);
		if (k->peer_ended && !k->closing) {
			iw_dss_terminate(k->s);
			k->closing = true;
		}
		if (k->closing && (!r.holds || iw_dss_over(k->s))) {
			let_go(k);
		} else if (k->open && k->ends && k->sent == k->want && k->came == k->expected) {
			iw_dss_terminate(k->s);
		}
	}
	send_control(e);
}

/* --- input ------------------------------------------------------------------------------------ */

static void take_request(struct side *e, struct iw_dss *s)
{
	const struct iw_agreed *p = iw_dss_agreed(s);
	struct iw_offer o = { .enhanced = p->enhanced, .ird = 1, .ord = 1, .ird_max = 4 };
	struct held *k;

	if (p->pd_len < PD_LEN) {
		world_fail(&r.w, "%s: %zu octets of Private Data", e->h->name, p->pd_len);
		return;
	}
	k = hold(e, s, iw_get_be32(p->pd));
	if (!k)
		return;
	k->want = p->pd[4];
	k->expected = p->pd[5];
	k->ends = p->pd[6];
	if (p->pd[7]) {
		k->expected = 0;
		if (iw_dss_reject(s, NULL, 0, NULL) < 0)
			world_fail(&r.w, "%s: session %u: reject", e->h->name, k->number);
		let_go(k);
		return;
	}
	k->open = iw_dss_accept(s, &o, NULL) == 0;
	if (!k->open)
		world_fail(&r.w, "%s: session %u: accept", e->h->name, k->number);
}

static void take_segment(struct held *k, uint64_t seq, const uint8_t *data, size_t len)
{
	uint8_t expected[SEGMENT_LEN];

	fill(expected, k->number, !k->side->initiator, (unsigned)seq);
	if (len != SEGMENT_LEN || memcmp(expected, data, SEGMENT_LEN) != 0)
		world_fail(&r.w, "%s: session %u: segment %u is another one", k->side->h->name,
			   k->number, (unsigned)seq);
	k->came++;
}

static void take_units(struct side *e, struct iw_dss *s)
{
	struct iw_dss_unit u;

	while (s && iw_dss_next(s, &u)) {
		struct held *k = iw_dss_owner(s);

		if (u.kind == IW_DSS_REQUEST) {
			take_request(e, s);
			continue;
		}
		if (!k) /* the session was released */
			return;
		switch (u.kind) {
		case IW_DSS_SEGMENT:
			take_segment(k, u.seq, u.data, u.len);
			break;
		case IW_DSS_ACCEPTED:
			k->open = true;
			break;
		case IW_DSS_REJECTED:
			k->expected = 0;
			let_go(k);
			return;
		case IW_DSS_TERMINATED:
			k->peer_ended = true;
			break;
		default:
			world_fail(&r.w, "%s: session %u on stream %u: unit %d: %s", e->h->name,
				   k->number, (unsigned)iw_dss_stream(s), (int)u.kind,
				   u.why ? u.why->text : "");
			return;
		}
	}
}

static void on_message(struct host *h, const struct iw_sctp_recv *m)
{
	struct side *e = h->user;
	struct iw_dss_segment seg;
	struct iw_dss *s = iw_sctpmap_receive(e->map, m->stream, m->ppid, m->data, m->len, &seg);
	struct iw_dss *old = iw_sctpmap_replaced(e->map);

	if (old) {
		if (!r.holds || !iw_dss_over(old))
			world_fail(&r.w, "%s: a session was replaced before it was over", h->name);
		take_units(e, old);
		let_go(iw_dss_owner(old));
	}
	if (seg.data && iw_dss_owner(s))
		take_segment(iw_dss_owner(s), seg.seq, seg.data, seg.len);
	if (seg.more)
		take_units(e, s);
	work(e);
}

static void come_up(struct side *e, struct iw_sctp_assoc *a)
{
	struct iw_sctpmap_peer p = { .indicated = true, .adaptation = IW_SCTP_ADAPTATION_DDP };
	struct iw_sctp_facts f;

	iw_sctp_facts(a, &f);
	p.in = f.streams_in;
	p.out = f.streams_out;
	e->a = a;
	if (iw_sctpmap_up(e->map, &p, NULL) < 0)
		world_fail(&r.w, "%s: the adaptation indication is refused", e->h->name);
	e->at_rest = e->mem.bytes;
}

static void on_event(struct host *h, const struct iw_sctp_event *ev)
{
	struct side *e = h->user;
	struct iw_sctp_done d;

	switch (ev->kind) {
	case IW_SCTP_EV_UP:
		come_up(e, ev->assoc);
		break;
	case IW_SCTP_EV_DONE:
		while (iw_sctp_next_done(ev->assoc, &d))
			if (d.status == 0)
				take_units(e, iw_sctpmap_acked(e->map, d.stream, 1));
		break;
	case IW_SCTP_EV_DOWN:
		if (iw_sctp_why(ev->assoc)->err != 0)
			world_fail(&r.w, "%s: the association ended: %s", h->name,
				   iw_sctp_why(ev->assoc)->text);
		iw_sctpmap_down(e->map);
		e->a = NULL;
		iw_sctp_assoc_free(ev->assoc);
		return;
	default:
		break;
	}
	work(e);
}

/* --- one run ---------------------------------------------------------------------------------- */

static void begin_session(struct side *e)
{
	uint8_t pd[PD_LEN] = { 0 };
	struct iw_offer o = {
		.enhanced = below(2), .ird = 1, .ord = 1, .pd = pd, .pd_len = sizeof(pd)
	};
	bool starts_end = below(2);
	struct held *k;
	struct iw_dss *s;
	int err;

	iw_put_be32(pd, r.numbers);
	pd[4] = (uint8_t)below(SEGMENTS);
	pd[5] = (uint8_t)below(SEGMENTS);
	pd[6] = !starts_end || below(4) == 0; /* sometimes both ends end it */
	pd[7] = below(12) == 0;               /* it must be rejected */
	err = iw_dss_initiate(&s, e->map, &o, NULL);
	if (err == IW_E_LIMIT) /* all streams are in use at the moment */
		return;
	if (err < 0) {
		world_fail(&r.w, "session %u: %s", r.numbers, iw_err_name(err));
		return;
	}
	k = hold(e, s, r.numbers++);
	if (!k)
		return;
	k->want = pd[5];
	k->expected = pd[4];
	k->ends = starts_end;
	r.left--;
	/* Twice as many may wait for acknowledgements; if packets are lost, more. */
	if (iw_sctpmap_sessions(e->map) > (r.w.loss ? 5 : 3) * r.lanes)
		world_fail(&r.w, "session %u: %u streams in use, for %u sessions at once",
			   k->number, iw_sctpmap_sessions(e->map), r.lanes);
	work(e);
}

static unsigned open_now(const struct side *e)
{
	unsigned n = 0;

	for (unsigned i = 0; i < HELD; i++)
		n += e->held[i].s != NULL;
	return n;
}

/* Mostly back to back, sometimes after a pause, which may be minutes long. */
static uint64_t some_pause(void)
{
	switch (below(8)) {
	case 0:
		return IW_MSEC(below(1000));
	case 1:
		return IW_SEC(below(1800));
	}
	return 0;
}

static bool nothing_held(void)
{
	return open_now(&r.a) == 0 && open_now(&r.b) == 0;
}

static void sessions_in_a_row(unsigned n)
{
	uint64_t limit = r.w.now + n * IW_SEC(3600);
	uint64_t at = r.w.now;

	for (r.left = n; r.w.failure[0] == '\0' && (r.left > 0 || !nothing_held());) {
		if (r.left > 0 && r.w.now >= at && open_now(&r.a) < r.lanes) {
			begin_session(&r.a);
			at = r.w.now + some_pause();
		}
		work(&r.a);
		work(&r.b);
		if (r.w.now > limit)
			world_fail(&r.w, "%u sessions are not over", open_now(&r.a));
		if (!world_step(&r.w, r.left > 0 && at > r.w.now ? at : limit))
			r.w.now = r.left > 0 && at > r.w.now ? at : limit + 1;
	}
}

/* Everything is acknowledged. */
static void rest(void)
{
	world_run(&r.w, r.w.now + IW_SEC(300));
	for (struct side *e = &r.a;; e = &r.b) {
		size_t limit = world_memory_limit(e->h, 1, HELD + 2 * SEGMENTS * LANES);

		if (iw_sctpmap_sessions(e->map) > 0)
			world_fail(&r.w, "%s: %u streams in use by no session", e->h->name,
				   iw_sctpmap_sessions(e->map));
		if (e->mem.bytes != e->at_rest)
			world_fail(&r.w, "%s: %zu bytes in use without a session, %zu before any",
				   e->h->name, e->mem.bytes, e->at_rest);
		if (e->h->peak > limit)
			world_fail(&r.w, "%s: %zu bytes at once: expected at most %zu", e->h->name,
				   e->h->peak, limit);
		if (e == &r.b)
			break;
	}
}

static void side_init(struct side *e, struct side *peer, struct host *h, uint16_t streams)
{
	struct iw_sctpmap_cfg cfg = { .mem = &e->mem.mem,
				      .initiator = e == &r.a,
				      .streams = streams };

	counting_mem_init(&e->mem);
	e->h = h;
	e->peer = peer;
	e->initiator = cfg.initiator;
	h->user = e;
	h->on_message = on_message;
	h->on_event = on_event;
	h->cfg.streams = streams;
	h->cfg.adaptation = IW_SCTP_ADAPTATION_DDP;
	if (iw_sctpmap_new(&e->map, &cfg, NULL) < 0)
		abort();
}

static bool back_to_back(uint64_t seed, char failure[300])
{
	static const unsigned losses[] = { 0, 0, 10, 50 };
	static const uint64_t delays[] = { 20000, IW_MSEC(1), IW_MSEC(20), IW_MSEC(200) };
	struct iw_sctp_addr at = world_ipv4(192, 0, 2, 2, IW_SCTP_UDP_PORT);
	struct iw_sctp_assoc *a;
	uint16_t streams;

	memset(&r, 0, sizeof(r));
	world_init(&r.w, seed << 8 | 5);
	r.w.loss = losses[below(IW_ARRAY_LEN(losses))];
	r.w.dup = below(3) ? 0 : (unsigned)below(50);
	r.w.delay = delays[below(IW_ARRAY_LEN(delays))];
	r.w.jitter = below(2) ? 0 : 1 + below(2 * r.w.delay);
	r.holds = below(2);
	r.lanes = 1 + (unsigned)below(below(2) ? 1 : LANES);
	streams = (uint16_t)(below(2) ? 16 : r.lanes);
	side_init(&r.b, &r.a, world_host(&r.w, "listener", at, PORT + 1), streams);
	side_init(&r.a, &r.b,
		  world_host(&r.w, "initiator", world_ipv4(192, 0, 2, 1, IW_SCTP_UDP_PORT), PORT),
		  streams);
	r.b.h->cfg.listen = true;
	world_start(&r.w);
	if (iw_sctp_connect(r.a.h->s, &a, &at, PORT + 1, NULL, r.w.now) < 0)
		abort();
	r.a.h->dirty = true;
	world_run(&r.w, r.w.now + IW_SEC(60));
	if (!r.a.a || !r.b.a)
		world_fail(&r.w, "no association");
	for (unsigned i = 1 + (unsigned)below(3); i > 0 && r.w.failure[0] == '\0'; i--) {
		sessions_in_a_row(1 + (unsigned)below(40));
		if (r.w.failure[0] == '\0')
			rest();
	}
	iw_sctpmap_free(r.a.map);
	iw_sctpmap_free(r.b.map);
	if (r.a.mem.blocks || r.a.mem.wrong_size || r.b.mem.blocks || r.b.mem.wrong_size)
		world_fail(&r.w, "%zu blocks of sessions left", r.a.mem.blocks + r.b.mem.blocks);
	world_free(&r.w);
	memcpy(failure, r.w.failure, sizeof(r.w.failure));
	return failure[0] == '\0';
}

const struct sim_scenario sim_sessions[] = {
	{ "back-to-back-sessions", back_to_back },
	{ NULL, NULL },
};
