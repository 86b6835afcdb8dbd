// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Peers that open associations but no DDP stream session, from one address and from many, and again
 * as soon as the listener has ended them. The listener has limits and a deadline
 * (sctpmap/unused.h). An association with a session must never be ended, and the end of a session
 * restarts the deadline.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sctpmap/unused.h"
#include "sim/scenarios.h"
#include "sim/world.h"

enum { PORT = 5001, LISTEN_PORT = 5002, CALLERS = 30, RECORDS = 64 };

/* The contents of a caller's message; the listener sends no messages. */
enum word { INITIATE = 1, TERMINATE };

/* The listener's end of an association. */
struct record {
	struct iw_unused_entry entry;
	struct iw_sctp_assoc *a; /* NULL: unused */
	struct host *caller;
	uint8_t ip[16];
	bool asked, used;
	uint64_t since, answer_at;
};

struct caller {
	struct host *h;
	struct iw_sctp_assoc *a;
	bool up, keeps; /* keeps: opens a session and never ends it */
	bool uses;      /* opens sessions from time to time */
	bool in_use;
	uint64_t next;
};

struct run {
	struct world w;
	struct host *b;
	struct iw_unused u;
	struct counting_mem mem;
	struct record record[RECORDS];
	struct caller caller[CALLERS];
	unsigned ncallers, evicted, expired;
	uint64_t answer_ns;
};

static struct run r;

static size_t below(size_t n)
{
	return rng_below(&r.w.rng, n);
}

/* --- the listener ----------------------------------------------------------------------------- */

static void end(struct record *x)
{
	if (x->used)
		world_fail(&r.w, "an association with a session ends: that of %s", x->caller->name);
	iw_unused_remove(&r.u, &x->entry);
	iw_sctp_abort(x->a, "no DDP stream session", r.w.now);
	r.b->dirty = true;
}

static void begin_deadline(struct record *x)
{
	struct iw_unused_entry *out;

	x->used = x->asked = false;
	x->since = r.w.now;
	if (iw_unused_add(&r.u, &x->entry, x->ip, r.w.now, &out) < 0)
		abort();
	if (out) {
		r.evicted++;
		if (iw_unused_has(out))
			world_fail(&r.w, "an association that has to end still counts");
		end(iw_container_of(out, struct record, entry));
	}
}

static void take_on(struct iw_sctp_assoc *a)
{
	struct iw_sctp_path path;
	struct record *x = r.record;

	while (x->a)
		if (++x == r.record + RECORDS)
			abort();
	memset(x, 0, sizeof(*x));
	if (iw_sctp_path(a, 0, &path) < 0)
		abort();
	x->a = a;
	memcpy(x->ip, path.addr.ip, sizeof(x->ip));
	for (unsigned i = 0; i < r.ncallers; i++)
		if (iw_sctp_addr_same_ip(&r.caller[i].h->addr[0], &path.addr) &&
		    r.caller[i].h->addr[0].udp_port == path.addr.udp_port)
			x->caller = r.caller[i].h;
	iw_sctp_set_user(a, x);
	begin_deadline(x);
}

static void listener_event(struct host *h, const struct iw_sctp_event *ev)
{
	struct record *x = iw_sctp_user(ev->assoc);

	(void)h;
	if (ev->kind == IW_SCTP_EV_UP)
		take_on(ev->assoc);
	if (ev->kind != IW_SCTP_EV_DOWN)
		return;
	if (x) {
		if (x->used)
			world_fail(&r.w, "an association with a session ended: %s",
				   iw_sctp_why(ev->assoc)->text);
		iw_unused_remove(&r.u, &x->entry);
		x->a = NULL;
	}
	iw_sctp_assoc_free(ev->assoc);
}

static void listener_message(struct host *h, const struct iw_sctp_recv *m)
{
	struct record *x = iw_sctp_user(m->assoc);

	(void)h;
	/* The message arrived in the packet of the COOKIE ECHO, or the association is ending. */
	if (!x || (!iw_unused_has(&x->entry) && !x->used))
		return;
	if (m->data[0] == INITIATE && !x->used && !x->asked) {
		x->asked = true;
		x->answer_at = r.w.now + r.answer_ns;
		iw_unused_asked(&r.u, &x->entry);
	}
	if (m->data[0] == TERMINATE && x->used)
		begin_deadline(x);
}

/* The ULP accepts the requested sessions, or rejects them. */
static void answer(void)
{
	for (struct record *x = r.record; x < r.record + RECORDS; x++) {
		if (!x->a || !x->asked || x->answer_at > r.w.now || !iw_unused_has(&x->entry))
			continue;
		x->asked = false;
		if (below(8) == 0) {
			iw_unused_answered(&r.u, &x->entry);
			continue;
		}
		x->used = true;
		iw_unused_remove(&r.u, &x->entry);
	}
}

static void expire(void)
{
	struct iw_unused_entry *e;

	while ((e = iw_unused_expired(&r.u, r.w.now)) != NULL) {
		r.expired++;
		end(iw_container_of(e, struct record, entry));
	}
}

/* --- invariants ------------------------------------------------------------------------------- */

static void check(void)
{
	const struct iw_unused_cfg *c = &r.u.cfg;
	unsigned all = 0;

	for (struct record *x = r.record; x < r.record + RECORDS; x++) {
		unsigned of_addr = 0;

		if (!x->a || !iw_unused_has(&x->entry))
			continue;
		all++;
		for (struct record *y = r.record; y < r.record + RECORDS; y++)
			of_addr += y->a && iw_unused_has(&y->entry) &&
				   memcmp(x->ip, y->ip, sizeof(x->ip)) == 0;
		if (of_addr > c->per_addr || of_addr != iw_unused_count_of(&r.u, x->ip))
			world_fail(&r.w, "%u associations of one address: at most %u", of_addr,
				   c->per_addr);
		if (r.w.now - x->since > 2 * c->timeout_ns)
			world_fail(&r.w, "an association without a session for %llu ms",
				   (unsigned long long)((r.w.now - x->since) / 1000000));
		if (!x->asked && r.w.now - x->since > c->timeout_ns)
			world_fail(&r.w, "its deadline has passed");
	}
	if (all > c->max || all != iw_unused_count(&r.u))
		world_fail(&r.w, "%u associations without a session: at most %u", all, c->max);
	/* The addresses, and a table and a heap with twice the entries. */
	if (r.mem.bytes > 4096 + 64 * 2 * (size_t)c->max)
		world_fail(&r.w, "%zu bytes for at most %u associations", r.mem.bytes, c->max);
}

/* --- callers ---------------------------------------------------------------------------------- */

static void caller_event(struct host *h, const struct iw_sctp_event *ev)
{
	struct caller *c = h->user;

	if (ev->kind == IW_SCTP_EV_UP)
		c->up = true;
	if (ev->kind != IW_SCTP_EV_DOWN)
		return;
	c->a = NULL;
	c->up = c->in_use = false;
	c->next = r.w.now + IW_MSEC(below(below(4) ? 50 : 20000));
	iw_sctp_assoc_free(ev->assoc);
}

static void say(struct caller *c, uint8_t word)
{
	struct iw_vec v = { &word, 1 };
	struct iw_sctp_send m = { .ppid = 16, .vec = &v, .nvec = 1, .copy = true };

	c->h->dirty = true;
	if (iw_sctp_send(c->a, &m, NULL) == 0)
		c->in_use = word == INITIATE;
}

static void act(struct caller *c)
{
	struct iw_sctp_done d;

	if (c->a)
		while (iw_sctp_next_done(c->a, &d))
			continue;
	if (c->next > r.w.now)
		return;
	c->next = r.w.now + IW_MSEC(1 + below(below(2) ? 1000 : 30000));
	if (!c->a) {
		struct iw_sctp_addr at = r.b->addr[0];

		if (iw_sctp_connect(c->h->s, &c->a, &at, LISTEN_PORT, NULL, r.w.now) < 0)
			abort();
		c->h->dirty = true;
		c->next = r.w.now;
	} else if (c->up && !c->in_use && (c->keeps || (c->uses && below(2)))) {
		say(c, INITIATE);
	} else if (c->up && c->in_use && !c->keeps) {
		say(c, TERMINATE);
	}
}

static void step(uint64_t until)
{
	uint64_t at = IW_MIN(until, iw_unused_deadline(&r.u));

	for (unsigned i = 0; i < r.ncallers; i++) {
		act(&r.caller[i]);
		if (r.caller[i].next > r.w.now)
			at = IW_MIN(at, r.caller[i].next);
	}
	for (struct record *x = r.record; x < r.record + RECORDS; x++)
		if (x->a && x->asked && x->answer_at > r.w.now)
			at = IW_MIN(at, x->answer_at);
	if (!world_step(&r.w, at))
		r.w.now = IW_MAX(r.w.now, at);
	answer();
	expire();
	check();
}

/* --- one run ---------------------------------------------------------------------------------- */

static void cast(uint64_t seed)
{
	struct iw_unused_cfg cfg = { .mem = &r.mem.mem };

	memset(&r, 0, sizeof(r));
	world_init(&r.w, seed << 8 | 6);
	counting_mem_init(&r.mem);
	r.w.loss = below(2) ? 0 : 20;
	r.w.delay = IW_MSEC(1 + below(100));
	r.answer_ns = IW_MSEC(below(2000));
	cfg.timeout_ns = IW_MSEC(500 + below(10000));
	cfg.per_addr = 1 + (uint32_t)below(8);
	cfg.max = cfg.per_addr + (uint32_t)below(12);
	cfg.secret = rng_next(&r.w.rng);
	iw_unused_init(&r.u, &cfg);
	r.b = r.w.watched = world_host(&r.w, "listener", world_ipv4(192, 0, 2, 2, IW_SCTP_UDP_PORT),
				       LISTEN_PORT);
	r.b->cfg.listen = true;
	r.b->on_event = listener_event;
	r.b->on_message = listener_message;
	r.ncallers = 2 + (unsigned)below(CALLERS - 1);
	for (unsigned i = 0; i < r.ncallers; i++) {
		struct caller *c = &r.caller[i];
		unsigned host = below(3) ? 1 : 10 + (unsigned)below(5);
		char name[24];

		snprintf(name, sizeof(name), "caller %u", i);
		c->h = world_host(&r.w, name, world_ipv4(192, 0, 2, host, (uint16_t)(40000 + i)),
				  PORT);
		c->h->user = c;
		c->h->on_event = caller_event;
		c->keeps = below(8) == 0;
		c->uses = below(3) == 0;
		c->next = r.w.now + IW_MSEC(below(3000));
	}
	world_start(&r.w);
}

static bool never_a_session(uint64_t seed, char failure[300])
{
	uint64_t until;

	cast(seed);
	until = r.w.now + IW_SEC(5 + below(40));
	while (r.w.failure[0] == '\0' && r.w.now < until)
		step(until);
	for (struct record *x = r.record; x < r.record + RECORDS; x++)
		iw_unused_remove(&r.u, &x->entry);
	iw_unused_fini(&r.u);
	if (r.mem.blocks || r.mem.wrong_size)
		world_fail(&r.w, "%zu blocks left", r.mem.blocks);
	if (r.b->peak > world_memory_limit(r.b, r.ncallers + 2, 0))
		world_fail(&r.w, "%zu bytes at once", r.b->peak);
	world_free(&r.w);
	memcpy(failure, r.w.failure, sizeof(r.w.failure));
	return failure[0] == '\0';
}

const struct sim_scenario sim_unused[] = {
	{ "never-a-session", never_a_session },
	{ NULL, NULL },
};
