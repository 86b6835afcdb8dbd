// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Two SCTP engines with a seeded link between them. Whatever the link does:
 *   - a message is delivered at most once, with the octets and on the stream it was sent with;
 *   - a message that is reported acknowledged has been delivered; each is reported exactly once, in
 *     the order of sending;
 *   - the memory of a message belongs to its sender again when it is reported or returned: the test
 *     then overwrites it;
 *   - the association ends in order with everything delivered, or it fails as RFC 9260 5.1.4 and
 *     8.1 say, which a link with little loss never causes;
 *   - when a loses its state and connects again, b's association ends, its unacknowledged messages
 *     are reported so, a new association replaces it, and no message of the first one is delivered in
 *     it;
 *   - an association fails no earlier than its timers allow, counted from the last packet of the
 *     peer;
 *   - no wait exceeds the timers, no packet is too large, and nothing is left allocated.
 */
#include "sim/sctp.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sctp/cc.h"
#include "unit/sctp_net.h"

enum { MSGS = 400, MSG_MAX = 9000, LOSS_MILD = 100 };
/* RTO.Max and half of HB.interval: an end that waits for something sends at least that often. */
#define SILENCE_MAX    IW_SEC(120)
/* Association.Max.Retrans + 1 timeouts of one address, from 1 s to 60 s. One of them may be that of
 * a heartbeat, which also counts and runs beside T3. */
#define PATIENCE_8_1   IW_SEC(1 + 2 + 4 + 8 + 16 + 32 + 4 * 60)
/* T5, the guard timer of an orderly end (9.2): five times RTO.Max. */
#define PATIENCE_9_2   IW_SEC(5 * 60)
/* As in 8.1, for Max.Init.Retransmits. */
#define PATIENCE_5_1_4 IW_SEC(1 + 2 + 4 + 8 + 16 + 32 + 3 * 60)

enum scenario { LOSSY, MTU, WINDOWS, ENDS, RESTARTS, HOMES, SCENARIOS };
static const char *const names[] = {
	[LOSSY] = "lossy", [MTU] = "path-mtu",      [WINDOWS] = "small-windows",
	[ENDS] = "ends",   [RESTARTS] = "restarts", [HOMES] = "several-addresses",
};

const char *sim_sctp_name(unsigned i)
{
	return i < SCENARIOS ? names[i] : NULL;
}

struct message {
	uint32_t len;
	uint16_t stream;
	unsigned came, done;
	int status;
	uint8_t *mem; /* kept until it is reported */
};

struct run;
struct side {
	struct run *r;
	struct net_end *e;
	struct side *peer;
	struct message msg[MSGS]; /* sent by this side */
	unsigned nmsgs, want, done, came;
	uint32_t held;
	bool ended, gone, up;
	uint64_t heard; /* the latest time at which the peer has certainly been heard */
	struct iw_fault why;
	/* Restarts: the new association, and the first message in it. */
	struct iw_sctp_assoc *live;
	unsigned first;
};

struct run {
	enum scenario what;
	struct rng rng;
	struct net n;
	struct side a, b;
	unsigned loss; /* the worst of both directions, corruption included */
	bool aborted;  /* one end was asked to abort */
	bool restarted;
	unsigned restart_at; /* in steps */
	char failure[300];
};

static bool fail(struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool fail(struct run *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (r->failure[0] == '\0')
		vsnprintf(r->failure, sizeof(r->failure), fmt, ap);
	va_end(ap);
	return false;
}

/* --- contents of messages --------------------------------------------------------------------- */

static void fill(uint8_t *p, uint32_t len, unsigned side, uint32_t id)
{
	struct rng r = { (uint64_t)side << 32 | id };

	iw_put_be32(p, id);
	rng_fill(&r, p + 4, len - 4);
}

static bool is_filled(const uint8_t *p, size_t len, unsigned side, uint32_t id)
{
	struct rng r = { (uint64_t)side << 32 | id };

	for (size_t i = 4; i < len; i++)
		if (p[i] != (uint8_t)rng_next(&r))
			return false;
	return true;
}

static unsigned number_of(const struct side *s)
{
	return s == &s->r->a ? 1 : 2;
}

static void on_message(struct net_end *e, const struct iw_sctp_recv *m)
{
	struct side *s = e->user, *from = s->peer;
	struct run *r = s->r;
	struct message *sent;
	uint32_t id;

	if (m->len < 4) {
		fail(r, "%s: a message of %zu octets", e->name, m->len);
		return;
	}
	id = iw_get_be32(m->data);
	if (id >= from->nmsgs) {
		fail(r, "%s: message %u was never sent", e->name, id);
		return;
	}
	if (m->assoc == s->live && id < from->first)
		fail(r, "%s: message %u is from before the restart", e->name, id);
	sent = &from->msg[id];
	if (sent->came++ > 0)
		fail(r, "%s: message %u came up twice", e->name, id);
	if (m->len != sent->len || m->stream != sent->stream || m->ppid != 16 + id)
		fail(r, "%s: message %u: %zu octets on stream %u", e->name, id, m->len, m->stream);
	if (!is_filled(m->data, m->len, number_of(from), id))
		fail(r, "%s: message %u has wrong octets", e->name, id);
	s->came++;
	if (r->what == WINDOWS) {
		s->held += (uint32_t)m->len;
		iw_sctp_set_held(m->assoc, s->held);
	}
}

/* Overwrites the memory, so that later use of it by an engine is detected. */
static void spoil(struct message *m)
{
	if (m->mem)
		memset(m->mem, 0x5a, m->len);
	free(m->mem);
	m->mem = NULL;
}

static void collect(struct side *s, struct iw_sctp_assoc *a)
{
	struct iw_sctp_done d;

	while (iw_sctp_next_done(a, &d)) {
		struct message *m;

		if (d.cookie >= s->nmsgs || d.cookie != s->done++) {
			fail(s->r, "%s: message %u reported out of order", s->e->name,
			     (unsigned)d.cookie);
			return;
		}
		m = &s->msg[d.cookie];
		m->done++;
		m->status = d.status;
		if (d.status == 0)
			s->heard = s->e->net->now;
		if (d.status == 0 && m->came == 0)
			fail(s->r, "%s: message %u acknowledged, but it never came", s->e->name,
			     (unsigned)d.cookie);
		if (!d.sent && m->came)
			fail(s->r, "%s: message %u came and was never sent", s->e->name,
			     (unsigned)d.cookie);
		spoil(m);
	}
}

/* b's association with a's. */
static bool is_with(const struct iw_sctp_assoc *b, const struct iw_sctp_assoc *a)
{
	struct iw_sctp_facts fa, fb;

	if (!a)
		return false;
	iw_sctp_facts(a, &fa);
	iw_sctp_facts(b, &fb);
	return fb.peer_tag == fa.tag;
}

/* RFC 9260 5.1.4, 8.1, 9.2: an end with several addresses may give up sooner. */
static void patient(struct side *s)
{
	uint64_t waited = s->e->net->now - s->heard;
	uint64_t patience = !s->up ? PATIENCE_5_1_4 : s->ended ? PATIENCE_9_2 : PATIENCE_8_1;

	if (s->why.err == IW_E_TIMEOUT && s->r->what != HOMES && waited < patience)
		fail(s->r, "%s: %s, after %llu ms", s->e->name, s->why.text,
		     (unsigned long long)(waited / 1000000));
}

static void on_event(struct net_end *e, const struct iw_sctp_event *ev)
{
	struct side *s = e->user;

	/* Our association has ended; a late cookie or INIT has created another one. */
	if (s->gone) {
		if (ev->kind == IW_SCTP_EV_UP)
			iw_sctp_abort(ev->assoc, "late", s->r->n.now);
		if (ev->kind == IW_SCTP_EV_DOWN)
			iw_sctp_assoc_free(ev->assoc);
		e->a = NULL;
		return;
	}
	if (ev->kind == IW_SCTP_EV_UP && s == &s->r->b && s->r->restarted && !s->live &&
	    is_with(ev->assoc, s->peer->live)) {
		s->live = ev->assoc;
		s->first = s->nmsgs;
	}
	if (ev->kind == IW_SCTP_EV_DOWN && s->r->what == RESTARTS && s->live != ev->assoc &&
	    s == &s->r->b) {
		collect(s, ev->assoc); /* the one before the restart */
		iw_sctp_assoc_free(ev->assoc);
		e->a = s->live;
		return;
	}
	if (ev->kind == IW_SCTP_EV_UP) {
		s->heard = e->net->now;
		s->up = true;
	}
	if (ev->kind == IW_SCTP_EV_DONE)
		collect(s, ev->assoc);
	if (ev->kind == IW_SCTP_EV_ENDING)
		s->ended = true;
	if (ev->kind == IW_SCTP_EV_DOWN) {
		s->why = *iw_sctp_why(ev->assoc);
		patient(s);
		s->gone = s->ended = true;
		collect(s, ev->assoc);
		iw_sctp_assoc_free(ev->assoc);
		e->a = s->live = NULL;
	}
}

static bool post(struct side *s)
{
	struct run *r = s->r;
	struct message *m = &s->msg[s->nmsgs];
	size_t max = iw_sctp_max_message(s->e->a);
	struct iw_sctp_facts f;
	struct iw_sctp_send send = { .ppid = 16 + s->nmsgs, .cookie = s->nmsgs };
	struct iw_vec v[3];
	size_t hdr, cut;
	int err;

	iw_sctp_facts(s->e->a, &f);
	m->len = (uint32_t)(rng_below(&r->rng, 3) ? max : 4 + rng_below(&r->rng, max - 3));
	m->stream = (uint16_t)rng_below(&r->rng, f.streams_out);
	m->came = m->done = 0;
	m->mem = malloc(m->len);
	if (!m->mem)
		abort();
	fill(m->mem, m->len, number_of(s), s->nmsgs);
	hdr = rng_below(&r->rng, IW_MIN(m->len, (uint32_t)IW_SCTP_SEND_HDR_MAX) + 1);
	cut = rng_below(&r->rng, m->len - hdr + 1);
	v[0] = (struct iw_vec){ m->mem + hdr, cut };
	v[1] = (struct iw_vec){ NULL, 0 };
	v[2] = (struct iw_vec){ m->mem + hdr + cut, m->len - hdr - cut };
	send.stream = m->stream;
	send.hdr = m->mem;
	send.hdr_len = hdr;
	send.vec = v;
	send.nvec = 3;
	if (rng_below(&r->rng, 2)) { /* borrowed, not copied */
		v[1] = v[2];
		send.nvec = 2;
		send.in_place = rng_below(&r->rng, 2);
	} else {
		send.copy = rng_below(&r->rng, 2);
	}
	err = iw_sctp_send(s->e->a, &send, NULL);
	if (err == IW_E_STATE || err == IW_E_AGAIN) {
		free(m->mem);
		m->mem = NULL;
		return true;
	}
	if (err < 0)
		return fail(r, "%s: send of %u octets: %d", s->e->name, m->len, err);
	if (send.copy || send.nvec == 3) /* the memory is ours again */
		spoil(m);
	s->nmsgs++;
	return true;
}

/* --- one run ---------------------------------------------------------------------------------- */

static unsigned some_loss(struct run *r)
{
	static const unsigned often[] = { 0, 0, 5, 20, 50, 100, 200, 300 };

	return often[rng_below(&r->rng, IW_ARRAY_LEN(often))];
}

static void configure_link(struct run *r, struct net_link *l)
{
	static const uint64_t delays[] = { 20000, IW_MSEC(1), IW_MSEC(10), IW_MSEC(100),
					   IW_MSEC(400) };

	l->loss = some_loss(r);
	l->delay = delays[rng_below(&r->rng, IW_ARRAY_LEN(delays))];
	if (rng_below(&r->rng, 2))
		l->jitter = 1 + rng_below(&r->rng, 2 * l->delay);
	if (rng_below(&r->rng, 3) == 0)
		l->dup = (unsigned)rng_below(&r->rng, 200);
	if (rng_below(&r->rng, 3) == 0)
		l->corrupt = (unsigned)rng_below(&r->rng, 50);
	if (rng_below(&r->rng, 3) == 0) {
		l->late = (unsigned)rng_below(&r->rng, 50);
		l->late_by = IW_MSEC(1 + rng_below(&r->rng, 3000));
	}
	if (rng_below(&r->rng, 3) == 0) {
		l->ns_per_octet = 1 + rng_below(&r->rng, 10000);
		/* The queue holds at least one packet: with a shorter one, retransmissions that
		 * coincide with another timer would always be lost. */
		l->queue = IW_MSEC(20 + rng_below(&r->rng, 200)) + MSG_MAX * l->ns_per_octet;
	}
	r->loss = IW_MAX(r->loss, l->loss + l->corrupt);
}

static void configure_end(struct run *r, struct net_end *e)
{
	struct iw_sctp_cfg *c = &e->cfg;

	c->streams = (uint16_t)(1 + rng_below(&r->rng, 1000));
	c->burst = (uint32_t)(1 + rng_below(&r->rng, 64));
	c->abc_l = (uint32_t)(1 + rng_below(&r->rng, 64));
	c->cc = iw_sctp_cc_find(rng_below(&r->rng, 2) ? "cubic" : "rfc9260");
	if (rng_below(&r->rng, 2))
		c->mtu =
			IW_SCTP_MTU_BASE + (uint32_t)rng_below(&r->rng, MSG_MAX - IW_SCTP_MTU_BASE);
	if (r->what == WINDOWS)
		c->rwnd = (uint32_t)(1500 + rng_below(&r->rng, 20000));
}

/* The ends have several IPv4 addresses, which they list. */
static void give_homes(struct run *r, struct net_end *e, unsigned host)
{
	e->naddrs = 2 + (unsigned)rng_below(&r->rng, 2);
	e->lists = true;
	for (unsigned i = 0; i < e->naddrs; i++)
		e->addr[i] = net_addr(host + i);
}

static void configure(struct run *r)
{
	struct net *n = &r->n;

	if (r->what != HOMES && rng_below(&r->rng, 3) == 0)
		n->a.addr[0].udp_port = n->b.addr[0].udp_port = IW_SCTP_UDP_PORT;
	if (r->what != HOMES && rng_below(&r->rng, 3) == 0) {
		n->a.addr[0].ip[0] = n->b.addr[0].ip[0] = 0x20; /* IPv6 */
		n->a.addr[0].ip[10] = n->b.addr[0].ip[10] = 1;
	}
	if (r->what == HOMES) {
		give_homes(r, &n->a, 10);
		give_homes(r, &n->b, 20);
	}
	configure_link(r, &n->ab);
	configure_link(r, &n->ba);
	configure_end(r, &n->a);
	configure_end(r, &n->b);
	if (r->what == MTU || rng_below(&r->rng, 3) == 0) {
		n->ab.mtu = n->ba.mtu = 1280 + (uint32_t)rng_below(&r->rng, 8000);
		n->ab.icmp = n->ba.icmp = rng_below(&r->rng, 2);
	}
	if (r->what == ENDS && rng_below(&r->rng, 2))
		r->b.e->cfg.listen = r->a.e->cfg.listen = true; /* both may connect: collisions */
}

static void side_init(struct run *r, struct side *s, struct net_end *e, struct side *peer)
{
	s->r = r;
	s->e = e;
	s->peer = peer;
	e->user = s;
	e->on_message = on_message;
	e->on_event = on_event;
	s->heard = e->net->now;
	s->want = (unsigned)rng_below(&r->rng, rng_below(&r->rng, 4) ? 60 : MSGS);
}

static bool is_up(const struct side *s)
{
	return s->e->a && !s->gone && iw_sctp_assoc_state(s->e->a) == IW_SCTP_ESTABLISHED;
}

/* Sometimes a condition of the network changes during the run. */
static void disturb(struct run *r)
{
	struct net *n = &r->n;
	struct net_link *l = rng_below(&r->rng, 2) ? &n->ab : &n->ba;

	if (rng_below(&r->rng, 300))
		return;
	if (r->what == HOMES) { /* at most one address of both ends together is unreachable */
		struct net_end *e = rng_below(&r->rng, 2) ? &n->a : &n->b;

		n->a.dead = n->b.dead = 0;
		if (is_up(&r->a) && is_up(&r->b) && rng_below(&r->rng, 2))
			e->dead = 1u << rng_below(&r->rng, e->naddrs);
		return;
	}
	if (r->what == MTU) {
		l->mtu = 1280 + (uint32_t)rng_below(&r->rng, 3000);
		l->icmp = rng_below(&r->rng, 2);
	} else if (l->late_by) {
		l->delay = 1000 + rng_below(&r->rng, IW_MSEC(500));
	}
}

static void let_go(struct side *s)
{
	if (s->held && is_up(s) && rng_below(&s->r->rng, 4) == 0) {
		s->held -= (uint32_t)rng_below(&s->r->rng, s->held + 1);
		iw_sctp_set_held(s->e->a, s->held);
	}
}

static bool busy(struct side *s)
{
	if (is_up(s) && s->nmsgs < s->want && !s->ended && rng_below(&s->r->rng, 3) == 0)
		return post(s);
	return true;
}

static bool has_all(const struct side *s)
{
	return s->gone || s->ended || (s->nmsgs == s->want && s->done == s->nmsgs);
}

/* Sometimes the sender takes back the memory that messages of a stream borrow. */
static void want_back(struct side *s)
{
	uint16_t stream;

	if (!is_up(s) || s->done == s->nmsgs || rng_below(&s->r->rng, 50))
		return;
	stream = s->msg[s->done + rng_below(&s->r->rng, s->nmsgs - s->done)].stream;
	if (iw_sctp_release_memory(s->e->a, stream) < 0)
		fail(s->r, "%s: memory is not given back", s->e->name);
	for (unsigned i = s->done; i < s->nmsgs; i++)
		if (s->msg[i].stream == stream)
			spoil(&s->msg[i]);
}

/* Returns false if no end is in a state to end the association. */
static bool end_it(struct run *r)
{
	struct side *s = rng_below(&r->rng, 2) ? &r->a : &r->b;

	if (!s->e->a || s->gone)
		s = s->peer;
	if (!s->e->a || s->gone)
		return false;
	if (r->what == ENDS && rng_below(&r->rng, 3) == 0) {
		r->aborted = true;
		iw_sctp_abort(s->e->a, "enough", r->n.now);
		return true;
	}
	if (!is_up(s))
		return false;
	s->ended = true;
	iw_sctp_shutdown(s->e->a, r->n.now);
	if (r->what == ENDS && rng_below(&r->rng, 3) == 0 && is_up(s->peer)) {
		s->peer->ended = true;
		iw_sctp_shutdown(s->peer->e->a, r->n.now); /* both at once */
	}
	return true;
}

static const char *state_of(const struct side *s)
{
	return s->e->a   ? iw_sctp_state_name(iw_sctp_assoc_state(s->e->a))
	       : s->gone ? "gone"
			 : "not there";
}

/* a loses all its state and connects again, from the same port. */
static void restart(struct run *r)
{
	struct side *a = &r->a;

	iw_sctp_free(r->n.a.s);
	net_make(&r->n.a);
	r->n.a.a = NULL;
	for (; a->done < a->nmsgs; a->done++)
		spoil(&a->msg[a->done]);
	a->first = a->nmsgs;
	r->restarted = true;
	a->gone = a->ended = a->up = r->b.ended = false;
	a->heard = r->n.now;
	net_connect(&r->n);
	a->live = r->n.a.a;
}

static bool over(const struct run *r)
{
	return r->a.gone && (r->b.gone || !r->n.b.a);
}

static bool work(struct run *r)
{
	/* With 30 % loss in each direction and a window of one packet a message takes 20 s: each
	 * one has its own limit. */
	uint64_t limit = r->n.now + IW_SEC(3600);
	unsigned acked = 0;
	bool ending = false;
	unsigned early = r->what == ENDS ? (unsigned)rng_below(&r->rng, 2000) : UINT32_MAX;

	r->restart_at = (unsigned)rng_below(&r->rng, 3000);
	net_connect(&r->n);
	if (r->what == ENDS && r->a.e->cfg.listen && rng_below(&r->rng, 2) &&
	    iw_sctp_connect(r->n.b.s, &r->n.b.a, &r->n.a.addr[0], r->n.a.cfg.port, NULL, r->n.now) <
		    0)
		return fail(r, "b cannot call");
	for (unsigned steps = 0; r->failure[0] == '\0'; steps++) {
		bool moved = !over(r) && net_step(&r->n);

		if (r->what == RESTARTS && !r->restarted && over(r))
			restart(r);

		if (over(r))
			break;
		if (!moved)
			return fail(r, "a stall: nothing is going to happen (a %s, b %s)",
				    state_of(&r->a), state_of(&r->b));
		if (r->n.now - r->n.last_move > SILENCE_MAX)
			return fail(r, "a stall: no end has sent anything for two minutes");
		disturb(r);
		let_go(&r->a);
		let_go(&r->b);
		want_back(&r->a);
		want_back(&r->b);
		if (!busy(&r->a) || !busy(&r->b))
			return false;
		if (r->what == RESTARTS && !r->restarted &&
		    (steps >= r->restart_at || r->a.gone ||
		     (has_all(&r->a) && has_all(&r->b) && is_up(&r->a))))
			restart(r);
		if (r->what == RESTARTS && (!r->restarted || !r->b.live))
			continue;
		if (!ending && (steps > early || (has_all(&r->a) && has_all(&r->b) &&
						  (is_up(&r->a) || is_up(&r->b)))))
			ending = end_it(r);
		if (r->a.done + r->b.done != acked) {
			acked = r->a.done + r->b.done;
			limit = r->n.now + IW_SEC(3600);
		}
		if (r->n.now > limit || steps > 3000000)
			return fail(r,
				    "it does not end: a %u of %u acknowledged, %s, b %u of %u, %s",
				    r->a.done, r->a.nmsgs, state_of(&r->a), r->b.done, r->b.nmsgs,
				    state_of(&r->b));
	}
	return r->failure[0] == '\0';
}

static bool judge_side(struct run *r, struct side *s)
{
	bool in_order = r->a.why.err == 0 && r->b.why.err == 0;
	/* Timeouts of all paths are added, and one of the paths may be dead (RFC 9260 8.1). */
	unsigned mild = r->what == HOMES ? LOSS_MILD / 2 : LOSS_MILD;

	if (s->done != s->nmsgs)
		return fail(r, "%s: %u of %u messages reported", s->e->name, s->done, s->nmsgs);
	for (unsigned i = s->first; i < s->nmsgs && in_order; i++)
		if (s->msg[i].status != 0 || s->msg[i].came != 1)
			return fail(r, "%s: message %u was not delivered, and all ended in order",
				    s->e->name, i);
	if (s->why.err != 0 && !r->aborted && r->loss <= mild && r->what != MTU)
		return fail(r, "%s: %s, at a loss of %u in a thousand", s->e->name, s->why.text,
			    r->loss);
	if (s->why.err != 0 && s->why.err != IW_E_TIMEOUT && !r->aborted && s->peer->why.err == 0 &&
	    s->peer->gone && s->why.err != IW_E_CLOSED)
		return fail(r, "%s: %s, and the peer ended in order", s->e->name, s->why.text);
	return true;
}

bool sim_sctp(uint64_t seed, unsigned i, char failure[300])
{
	static struct run r;
	bool ok;

	memset(&r, 0, sizeof(r));
	r.what = (enum scenario)i;
	r.rng.state = seed << 8 | i;
	net_init(&r.n, rng_next(&r.rng));
	side_init(&r, &r.a, &r.n.a, &r.b);
	side_init(&r, &r.b, &r.n.b, &r.a);
	configure(&r);
	net_start(&r.n);
	ok = work(&r) && judge_side(&r, &r.a) && judge_side(&r, &r.b);
	memcpy(failure, r.failure, sizeof(r.failure));
	if (ok)
		net_free(&r.n); /* aborts if memory is left allocated */
	return ok;
}
