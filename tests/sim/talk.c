// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sim/talk.h"

#include <string.h>

/* Writes flow, side and number of a message, and octets derived from them. */
enum { HEAD = 12 };

static uint32_t fill(uint8_t *p, unsigned flow, unsigned side, unsigned number)
{
	struct rng r = { (uint64_t)flow << 32 | side << 16 | number };
	uint32_t len = HEAD + (uint32_t)rng_below(&r, TALK_MSG_MAX - HEAD);

	iw_put_be32(p, flow);
	iw_put_be32(p + 4, side);
	iw_put_be32(p + 8, number);
	for (uint32_t i = HEAD; i < len; i += 64)
		p[i] = (uint8_t)rng_next(&r);
	return len;
}

static const char *who(const struct flow *f, enum talk_side side)
{
	return side == INITIATOR ? f->h->name : f->t->listener->name;
}

static void take(struct talk *t, struct flow *f, enum talk_side side, const struct iw_sctp_recv *m)
{
	static uint8_t expected[TALK_MSG_MAX];
	struct talk_end *e = &f->end[side];
	uint32_t number = m->len < HEAD ? TALK_MSGS : iw_get_be32(m->data + 8);

	if (number >= f->end[!side].sent) {
		world_fail(t->w, "%s: flow %u: a message that was never sent", who(f, side),
			   f->number);
		return;
	}
	if (e->seen[number])
		world_fail(t->w, "%s: flow %u: message %u came twice", who(f, side), f->number,
			   number);
	memset(expected, 0, sizeof(expected));
	if (fill(expected, f->number, !side, number) != m->len ||
	    memcmp(expected, m->data, m->len) != 0)
		world_fail(t->w, "%s: flow %u: message %u has wrong octets", who(f, side),
			   f->number, number);
	e->seen[number] = true;
	e->came++;
}

static void on_message(struct host *h, const struct iw_sctp_recv *m)
{
	struct flow *f = iw_sctp_user(m->assoc);

	if (f)
		take(f->t, f, h == f->t->listener ? LISTENER : INITIATOR, m);
}

static void collect(struct flow *f, enum talk_side side, struct iw_sctp_assoc *a)
{
	struct iw_sctp_done d;

	while (iw_sctp_next_done(a, &d))
		f->end[side].acked += d.status == 0;
}

static void flow_event(struct flow *f, enum talk_side side, const struct iw_sctp_event *ev)
{
	struct talk_end *e = &f->end[side];
	const struct iw_fault *why = iw_sctp_why(ev->assoc);

	if (ev->kind == IW_SCTP_EV_UP) {
		e->up = true;
		if (f->end[!side].up)
			f->up_at = f->t->w->now;
	}
	if (ev->kind == IW_SCTP_EV_DONE)
		collect(f, side, ev->assoc);
	if (ev->kind != IW_SCTP_EV_DOWN)
		return;
	collect(f, side, ev->assoc);
	if (!f->lost && (!f->shut || why->err != 0))
		world_fail(f->t->w, "%s: flow %u of %s ended after %llu ms, %s: %s", who(f, side),
			   f->number, f->h->name,
			   (unsigned long long)((f->t->w->now - f->up_at) / 1000000),
			   f->shut ? "after its shutdown" : "without a shutdown", why->text);
	e->down = true;
	e->a = NULL;
	iw_sctp_assoc_free(ev->assoc);
}

/* Returns the flow whose initiator has chosen the tag that the listener sends with. */
static struct flow *flow_of(struct talk *t, struct iw_sctp_assoc *a)
{
	struct iw_sctp_facts mine, its;

	iw_sctp_facts(a, &mine);
	for (unsigned i = 0; i < t->nflows; i++) {
		struct flow *f = &t->flow[i];

		if (!f->end[INITIATOR].a)
			continue;
		iw_sctp_facts(f->end[INITIATOR].a, &its);
		if (its.tag == mine.peer_tag)
			return f;
	}
	return NULL;
}

/* A cookie that is used again creates another association with the same tags. */
static void begin_beats(struct talk *t, const struct iw_sctp_assoc *a)
{
	struct iw_sctp_facts facts;

	iw_sctp_facts(a, &facts);
	ledger_begin(&t->w->ledger, facts.peer_tag);
}

static void on_listener_event(struct host *h, const struct iw_sctp_event *ev)
{
	struct talk *t = h->user;
	struct flow *f = iw_sctp_user(ev->assoc);

	if (!f && ev->kind == IW_SCTP_EV_UP) {
		f = flow_of(t, ev->assoc);
		if (f && f->end[LISTENER].a) {
			world_fail(t->w, "%s: flow %u has a second association", h->name,
				   f->number);
			f = NULL;
		}
		iw_sctp_set_user(ev->assoc, f);
		if (f) {
			f->end[LISTENER].a = ev->assoc;
		} else {
			t->strangers++;
			t->strangers_now++;
			t->stranger = ev->assoc;
			begin_beats(t, ev->assoc);
			return;
		}
	}
	if (f) {
		flow_event(f, LISTENER, ev);
	} else if (ev->kind == IW_SCTP_EV_DOWN) {
		t->strangers_now--;
		if (t->stranger == ev->assoc)
			t->stranger = NULL;
		iw_sctp_assoc_free(ev->assoc);
	}
}

static void on_initiator_event(struct host *h, const struct iw_sctp_event *ev)
{
	struct flow *f = iw_sctp_user(ev->assoc);

	(void)h;
	if (f)
		flow_event(f, INITIATOR, ev);
	else if (ev->kind == IW_SCTP_EV_DOWN)
		iw_sctp_assoc_free(ev->assoc);
}

void talk_init(struct talk *t, struct world *w, struct host *listener)
{
	memset(t, 0, sizeof(*t));
	t->w = w;
	t->listener = listener;
	listener->cfg.listen = true;
	listener->user = t;
	listener->on_message = on_message;
	listener->on_event = on_listener_event;
}

struct flow *talk_open(struct talk *t, struct host *h, const struct iw_sctp_addr *to, unsigned want)
{
	struct flow *f = &t->flow[t->nflows];
	int err;

	if (t->nflows == TALK_FLOWS)
		abort();
	*f = (struct flow){ .t = t, .h = h, .number = t->nflows };
	flow_more(f, want);
	h->on_message = on_message;
	h->on_event = on_initiator_event;
	h->dirty = true;
	err = iw_sctp_connect(h->s, &f->end[INITIATOR].a, to, t->listener->cfg.port, f, t->w->now);
	if (err < 0) {
		world_fail(t->w, "%s: connect: %s", h->name, iw_err_name(err));
		return NULL;
	}
	t->nflows++;
	return f;
}

static void send(struct flow *f, enum talk_side side)
{
	static uint8_t octets[TALK_MSG_MAX];
	struct talk_end *e = &f->end[side];
	struct iw_vec v = { octets, 0 };
	struct iw_sctp_send m = { .ppid = 16, .vec = &v, .nvec = 1, .copy = true };
	int err;

	memset(octets, 0, sizeof(octets));
	v.len = fill(octets, f->number, side, e->sent);
	m.stream = (uint16_t)(e->sent % 2);
	err = iw_sctp_send(e->a, &m, NULL);
	if (err == IW_E_AGAIN || err == IW_E_STATE)
		return;
	if (err < 0)
		world_fail(f->t->w, "%s: send: %s", who(f, side), iw_err_name(err));
	e->sent++;
	(side == INITIATOR ? f->h : f->t->listener)->dirty = true;
}

void talk_work(struct talk *t)
{
	for (unsigned i = 0; i < t->nflows; i++) {
		struct flow *f = &t->flow[i];

		for (unsigned side = 0; side < 2; side++)
			if (f->end[side].a && f->end[side].up && !f->shut &&
			    f->end[side].sent < f->end[side].want && rng_below(&t->w->rng, 4) == 0)
				send(f, (enum talk_side)side);
	}
}

void flow_more(struct flow *f, unsigned messages)
{
	for (unsigned side = 0; side < 2; side++)
		f->end[side].want = IW_MIN(f->end[side].want + messages, (unsigned)TALK_MSGS);
}

bool flow_up(const struct flow *f)
{
	return f->end[0].a && f->end[1].a && f->end[0].up && f->end[1].up;
}

bool flow_done(const struct flow *f)
{
	for (unsigned side = 0; side < 2; side++)
		if (f->end[side].sent < f->end[side].want ||
		    f->end[side].acked < f->end[side].sent ||
		    f->end[!side].came < f->end[side].sent)
			return false;
	return true;
}

bool flow_over(const struct flow *f)
{
	return f->lost || (f->end[0].down && (f->end[1].down || !f->end[1].a));
}

void flow_shutdown(struct flow *f)
{
	f->shut = true;
	iw_sctp_shutdown(f->end[INITIATOR].a, f->t->w->now);
	f->h->dirty = true;
}

void flow_restart(struct flow *f)
{
	struct talk_end *e = &f->end[INITIATOR];

	world_restart(f->h);
	f->lost = f->shut = e->down = true;
	e->a = NULL;
}

static bool all(const struct talk *t, bool (*fn)(const struct flow *f))
{
	for (unsigned i = 0; i < t->nflows; i++)
		if (!fn(&t->flow[i]) && !flow_over(&t->flow[i]))
			return false;
	return true;
}

bool talk_all_up(const struct talk *t)
{
	return all(t, flow_up);
}

bool talk_all_done(const struct talk *t)
{
	return all(t, flow_done);
}

bool talk_all_over(const struct talk *t)
{
	return all(t, flow_over);
}

bool talk_until(struct talk *t, bool (*fn)(const struct talk *t), uint64_t until)
{
	struct world *w = t->w;

	while (w->failure[0] == '\0') {
		talk_work(t);
		if (fn && fn(t))
			return true;
		if (!world_step(w, until)) {
			w->now = IW_MAX(w->now, until);
			return fn && fn(t); /* there are events without a packet */
		}
	}
	return false;
}

void talk_run(struct talk *t, uint64_t until)
{
	(void)talk_until(t, NULL, until);
}

unsigned talk_queued(const struct talk *t)
{
	unsigned queued = 0;

	for (unsigned i = 0; i < t->nflows; i++)
		queued += IW_MAX(t->flow[i].end[0].want, t->flow[i].end[1].want);
	return queued;
}
