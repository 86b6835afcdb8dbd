// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Ports (docks) in the loop, the associations (trunks) on them, and the connections (links) on
 * these. Passes received messages and events of a port to the connections, and sends the messages
 * of the connections in turn.
 */
#include "loop/loop.h"

#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "loop/internal.h"
#include "os/os.h"
#include "util/text.h"

/* Messages that one connection may send before the next one of the association has its turn. */
#define TX_BUDGET     256
/* Octets of a message with a Send of 512. */
#define LEND_MIN      (512 + IW_SCTP_SSN_LEN + IW_DDP_UNTAGGED_LEN)
/* How long a port that is out of memory waits before it tries again. */
#define REST_NS       IW_MSEC(10)
/*
 * How long iw_docks_part waits for peers to confirm the shutdown, and how often it checks. A lost
 * SHUTDOWN is retransmitted after one RTO, at least a second (RFC 9260 16). The peer would take an
 * ABORT instead for a failure.
 */
#define PART_NS       IW_SEC(3)
#define PART_STEP_MS  10
/* Expired associations that are aborted in one turn, at most: each costs a packet. */
#define EXPIRE_BUDGET 64
/* How often the memory of associations without an open session is read. */
#define CHARGE_NS     IW_SEC(1)

/* The owner of a session that iw_gate_next_session has not returned yet. */
static char asked_mark;

/* --- docks ------------------------------------------------------------------------------------ */

static void look_at_clock(struct iw_dock *d, uint64_t now)
{
	uint64_t at = d->port->ops->deadline(d->port);

	at = IW_MIN(at, iw_unused_deadline(&d->unused));
	at = IW_MIN(at, d->charge_at);
	if (d->rest_until)
		at = IW_MIN(at, d->rest_until);
	at = IW_MAX(at, now + 1);
	if (at < d->watch.timer.at)
		iw_loop_set_timer(d->loop, &d->watch, at);
}

static void watch_for(struct iw_dock *d, uint32_t events)
{
	struct iw_fault why;

	if (d->direct ? events == EPOLLIN : events == d->armed)
		return;
	/* After a failure the timers still run, and the next turn tries again. */
	if (iw_loop_watch(d->loop, d->port->fd, events, &d->watch, d->direct, &why) != 0)
		return;
	d->direct = false;
	d->armed = events;
}

int iw_dock_new(struct iw_dock **out, struct iw_loop *l, struct iw_port *port, uint64_t unused_ns,
		struct iw_fault *why)
{
	struct iw_dock *d = iw_mem_alloc(l->mem, sizeof(*d));
	uint32_t max = port->unused_max ? IW_MIN(port->unused_max, IW_UNUSED_MAX) : IW_UNUSED_MAX;
	struct iw_unused_cfg unused = {
		.mem = l->mem,
		.timeout_ns = unused_ns,
		.per_addr = IW_MIN(IW_UNUSED_PER_ADDR, IW_MAX(max / 4, 1u)),
		.per_addr_bytes = IW_UNUSED_PER_ADDR_BYTES,
		.max_bytes = IW_UNUSED_MAX_BYTES,
		.max = max,
	};
	int err;

	if (!d) {
		port->ops->close(port);
		return iw_fail(why, IW_E_NOMEM, "loop: no memory for a port");
	}
	d->watch.kind = WATCH_DOCK;
	d->loop = l;
	d->port = port;
	iw_list_init(&d->trunks);
	iw_list_init(&d->dirty);
	iw_list_init(&d->touched);
	iw_loop_cool_down(l);
	iw_list_add_tail(&l->docks, &d->all);
	l->knowing += port->ops->stag != NULL;
	l->ringed += port->ops->peek != NULL;
	if (port->ops->peek && l->awake)
		port->ops->rest(port, false);
	err = iw_os_random(&unused.secret, sizeof(unused.secret));
	if (err)
		iw_fail(why, err, "loop: no random number for a port");
	iw_unused_init(&d->unused, &unused);
	d->charge_at = IW_TIME_NEVER;
	if (!err)
		err = iw_loop_add_timer(l, &d->watch, FAR_AWAY, why);
	if (!err)
		err = iw_loop_loans_reserve(l, port->loans, why);
	if (err)
		port->loans = 0;
	if (!err)
		err = iw_loop_watch(l, port->fd, EPOLLIN, &d->watch, true, why);
	if (err) {
		iw_dock_free(d);
		return err;
	}
	d->armed = EPOLLIN;
	*out = d;
	return 0;
}

void iw_loop_stag(struct iw_loop *l, uint32_t stag, uint32_t pd, uint32_t stream, uint64_t expires)
{
	if (l->knowing == 0)
		return;
	for (struct iw_list *n = l->docks.next; n != &l->docks; n = n->next) {
		const struct iw_dock *d = iw_container_of(n, struct iw_dock, all);

		if (d->port->ops->stag)
			d->port->ops->stag(d->port, stag, pd, stream, expires);
	}
}

/*
 * Shuts down every association on which both ends have sent the last message of each session.
 * Returns true if there was one.
 */
static bool part(struct iw_dock *d, uint64_t now)
{
	bool any = false;

	for (struct iw_list *n = d->trunks.next; n != &d->trunks; n = n->next) {
		struct iw_trunk *t = iw_container_of(n, struct iw_trunk, all);

		if (!t->assoc || !t->assoc->up || !iw_sctpmap_all_said(t->map))
			continue;
		d->port->ops->shutdown(t->assoc, now);
		any = true;
	}
	(void)d->port->ops->output(d->port, now);
	return any;
}

static bool part_all(struct iw_loop *l, uint64_t now)
{
	bool any = false;

	for (struct iw_list *n = l->docks.next; n != &l->docks; n = n->next)
		any |= part(iw_container_of(n, struct iw_dock, all), now);
	return any;
}

/* An epoll descriptor, readable while a port is. -1: only the time-out will end the wait. */
static int watch_all(struct iw_loop *l)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int fd = epoll_create1(EPOLL_CLOEXEC);

	for (struct iw_list *n = l->docks.next; fd >= 0 && n != &l->docks; n = n->next)
		(void)epoll_ctl(fd, EPOLL_CTL_ADD,
				iw_container_of(n, struct iw_dock, all)->port->fd, &ev);
	return fd;
}

static void turn_all(struct iw_loop *l, uint64_t now)
{
	for (struct iw_list *n = l->docks.next; n != &l->docks; n = n->next) {
		struct iw_dock *d = iw_container_of(n, struct iw_dock, all);

		d->port->ops->timeout(d->port, now);
		iw_dock_ready(d, now);
	}
}

/* RFC 9260 9.2. One deadline for all ports: many unreachable peers take no longer than one. */
void iw_docks_part(struct iw_loop *l)
{
	uint64_t now = iw_os_now(), until = now + PART_NS;
	struct pollfd ports = { .events = POLLIN };

	for (struct iw_list *n = l->docks.next; n != &l->docks; n = n->next) {
		struct iw_port *p = iw_container_of(n, struct iw_dock, all)->port;

		if (p->ops->peek)
			p->ops->rest(p, true);
	}
	if (!part_all(l, now))
		return;
	ports.fd = watch_all(l);
	do {
		(void)poll(&ports, 1, PART_STEP_MS);
		turn_all(l, iw_os_now());
		now = iw_os_now();
	} while (now < until && part_all(l, now));
	if (ports.fd >= 0)
		close(ports.fd);
}

void iw_dock_free(struct iw_dock *d)
{
	uint64_t now;
	struct iw_list *n;

	d->loop->knowing -= d->port->ops->stag != NULL;
	d->loop->ringed -= d->port->ops->peek != NULL;
	iw_loop_loans_unreserve(d->loop, d->port->loans);
	now = iw_os_now();
	while ((n = iw_list_first(&d->trunks))) {
		struct iw_trunk *t = iw_container_of(n, struct iw_trunk, all);

		if (t->assoc)
			d->port->ops->abort(t->assoc, NULL, now);
		iw_trunk_free(t);
	}
	iw_unused_fini(&d->unused);
	(void)d->port->ops->output(d->port, now);
	if (d->loop->hot == &d->watch)
		d->loop->hot = NULL;
	d->port->ops->close(d->port);
	iw_heap_del(&d->loop->timers, &d->watch.timer);
	iw_list_del(&d->dirty);
	iw_list_del(&d->all);
	iw_mem_free(d->loop->mem, d, sizeof(*d));
}

void iw_dock_mark(struct iw_dock *d)
{
	iw_loop_note(&d->loop->dirty, &d->dirty);
}

/*
 * The association may have something to send, or may have to end. The flush checks only touched
 * associations, because there may be thousands.
 */
static void touch(struct iw_trunk *t)
{
	iw_loop_note(&t->dock->touched, &t->touched);
	iw_dock_mark(t->dock);
}

/*
 * True if the port has no listener and no association. It is freed at the end of the turn, when no
 * event of its descriptor is being served.
 */
static bool deserted(const struct iw_dock *d)
{
	return !d->gate && iw_list_empty(&d->trunks);
}

/* --- trunks ----------------------------------------------------------------------------------- */

static int trunk_new(struct iw_trunk **out, struct iw_dock *d, const struct iw_sctpmap_cfg *cfg,
		     struct iw_fault *why)
{
	struct iw_trunk *t = iw_mem_alloc(d->loop->mem, sizeof(*t));
	struct iw_sctpmap_cfg map = *cfg;
	int err;

	if (!t)
		return iw_fail(why, IW_E_NOMEM, "loop: no memory for an association");
	map.all_acked_only = d->port->all_acked_only;
	t->dock = d;
	iw_list_init(&t->touched);
	iw_list_init(&t->links);
	iw_list_init(&t->asked);
	iw_list_init(&t->waiting);
	t->face = (struct iw_llp){ .ops = iw_llp_find(d->port->ops->name), .fd = -1 };
	err = iw_sctpmap_new(&t->map, &map, why);
	if (err) {
		iw_mem_free(d->loop->mem, t, sizeof(*t));
		return err;
	}
	iw_list_add_tail(&d->trunks, &t->all);
	*out = t;
	return 0;
}

void iw_trunk_free(struct iw_trunk *t)
{
	struct iw_list *n;

	while ((n = iw_list_first(&t->asked))) {
		struct asked *q = iw_container_of(n, struct asked, of_trunk);

		iw_list_del(&q->of_trunk);
		iw_list_del(&q->of_gate);
		iw_dss_release(q->session);
		iw_mem_free(t->dock->loop->mem, q, sizeof(*q));
	}
	iw_unused_remove(&t->dock->unused, &t->unused);
	if (t->assoc)
		t->dock->port->ops->release(t->assoc);
	iw_sctpmap_free(t->map);
	iw_list_del(&t->touched);
	iw_list_del(&t->all);
	iw_mem_free(t->dock->loop->mem, t, sizeof(*t));
}

struct iw_sctpmap *iw_trunk_map(struct iw_trunk *t)
{
	return t->map;
}

/* The memory of the association, without its accepted sessions. */
static size_t trunk_memory(const struct iw_trunk *t)
{
	struct iw_llp_facts engine = { 0 };
	size_t all = sizeof(*t) + iw_sctpmap_memory(t->map);

	iw_trunk_facts(t, &engine);
	all += engine.memory;
	for (struct iw_list *n = t->links.next; n != &t->links; n = n->next) {
		const struct iw_link *k = iw_container_of(n, struct iw_link, on_trunk);
		const struct iw_dss *s = k->accepted ? iw_conn_session(k->conn) : NULL;

		all -= s ? iw_dss_memory(s) : 0;
	}
	return all;
}

size_t iw_dock_memory(const struct iw_dock *d)
{
	size_t all = 0;

	for (struct iw_list *n = d->trunks.next; n != &d->trunks; n = n->next) {
		const struct iw_trunk *t = iw_container_of(n, struct iw_trunk, all);

		all += t->open == 0 ? trunk_memory(t) : 0;
	}
	return all;
}

void iw_dock_limit_unused(struct iw_dock *d, size_t octets)
{
	octets = IW_MAX(octets, IW_UNUSED_LEAST_BYTES);
	iw_unused_limit(&d->unused, IW_MIN(octets, IW_UNUSED_MAX_BYTES));
}

/* True if k is the first accepted link of its association. */
static bool is_first_accepted(const struct iw_link *k)
{
	struct iw_list *n = k->on_trunk.prev;

	while (n != &k->trunk->links && !iw_container_of(n, struct iw_link, on_trunk)->accepted)
		n = n->prev;
	return k->accepted && n == &k->trunk->links;
}

size_t iw_link_memory(const struct iw_link *k)
{
	return k->trunk && is_first_accepted(k) ? trunk_memory(k->trunk) : 0;
}

struct iw_assoc *iw_trunk_assoc(const struct iw_trunk *t)
{
	return t->assoc && t->assoc->up ? t->assoc : NULL;
}

/* Copies the addresses and the message size that are known now to the face of t. */
static void know_assoc(struct iw_trunk *t)
{
	const struct iw_assoc *a = t->assoc;

	memcpy(t->face.local, a->local, sizeof(t->face.local));
	memcpy(t->face.peer, a->peer, sizeof(t->face.peer));
	t->face.local_port = t->dock->port->local_port;
	t->face.emss = (uint32_t)a->max_message;
	iw_sctpmap_set_chunk(t->map, a->max_message);
}

/*
 * Reports to the port which DDP stream uses the session's SCTP stream, and so which STags are valid
 * there (on); or that none does.
 */
static void tell_session(const struct iw_link *k, bool on)
{
	const struct iw_rdmap *r = iw_conn_rdmap(k->conn);
	struct iw_assoc *a = k->trunk->assoc;
	const struct iw_port_ops *ops = k->trunk->dock->port->ops;

	/*
	 * Before it is accepted, a responder's session has no DDP stream. Before UP, the
	 * association has no streams.
	 */
	if (!ops->session || !a || !r || (on && !a->up))
		return;
	ops->session(a, k->stream, on ? iw_rdmap_pd(r) : 0, on ? iw_rdmap_stream(r) : 0);
}

/* The association has ended, or must not be used: reports that to all its connections. */
static void trunk_lost(struct iw_trunk *t, const struct iw_fault *why, uint64_t now)
{
	struct iw_fault gone = *why;

	if (gone.err == 0)
		iw_fail(&gone, IW_E_CLOSED, "sctp: %s shut the association down", t->face.peer);
	iw_unused_remove(&t->dock->unused, &t->unused);
	iw_sctpmap_down(t->map);
	for (struct iw_list *n = t->links.next; n != &t->links; n = n->next) {
		struct iw_link *k = iw_container_of(n, struct iw_link, on_trunk);

		tell_session(k, false);
		iw_conn_lost(k->conn, &gone, now);
		iw_loop_note(&t->dock->loop->news, &k->news);
	}
	if (t->assoc)
		t->dock->port->ops->release(t->assoc);
	t->assoc = NULL;
	touch(t);
}

/* Shuts an association down (RFC 9260 9.2). Sessions that the peer begins later are ignored. */
static void leave(struct iw_trunk *t, uint64_t now)
{
	t->leaving = true;
	iw_sctpmap_down(t->map);
	t->dock->port->ops->shutdown(t->assoc, now);
}

/* Aborts an association without an open session. The ABORT carries the reason. */
static void abort_unused(struct iw_trunk *t, const char *reason, uint64_t now)
{
	struct iw_fault why = { 0 };

	iw_fail(&why, IW_E_TIMEOUT, "sctp: %s: %s", t->assoc->peer, reason);
	t->dock->port->ops->abort(t->assoc, reason, now);
	trunk_lost(t, &why, now);
}

/* Peers can begin associations faster than the old ones expire. */
static void evict(struct iw_trunk *t, uint64_t now)
{
	char reason[128];
	struct iw_text text;

	iw_text_init(&text, reason, sizeof(reason));
	iw_text_fmt(
		&text,
		"too many associations without a DDP stream session (RFC 5043): at most %u of one "
		"address, %u in all",
		t->dock->unused.cfg.per_addr, t->dock->unused.cfg.max);
	abort_unused(t, reason, now);
}

/* Ends associations until the memory of those without an open session is within its limits. */
static void charge(struct iw_trunk *t, uint64_t now)
{
	struct iw_unused *u = &t->dock->unused;
	size_t bytes;

	if (!iw_unused_has(&t->unused) || now < t->charge_from)
		return;
	bytes = trunk_memory(t);
	while (iw_unused_has(&t->unused)) {
		struct iw_unused_entry *large = iw_unused_charge(u, &t->unused, bytes);

		if (!large)
			return;
		abort_unused(iw_container_of(large, struct iw_trunk, unused),
			     "too much memory without a DDP stream session (RFC 5043)", now);
	}
}

/* Fragments of a message fill memory without an event of the port. */
static void charge_all(struct iw_dock *d, uint64_t now)
{
	if (now < d->charge_at)
		return;
	for (struct iw_list *n = d->trunks.next; n != &d->trunks; n = n->next)
		charge(iw_container_of(n, struct iw_trunk, all), now);
	d->charge_at = iw_unused_count(&d->unused) > 0 ? iw_time_add(now, CHARGE_NS)
						       : IW_TIME_NEVER;
}

/*
 * A listener's association has a deadline (sctpmap/unused.h) while this end has no accepted session
 * on it. An initiator's has one when all its connections are gone but a session is not over.
 */
static void watch_use(struct iw_trunk *t, uint64_t now)
{
	struct iw_unused *u = &t->dock->unused;
	bool pending = !iw_list_empty(&t->links) || !iw_list_empty(&t->asked);
	bool open = t->active ? pending : t->open > 0;
	bool added = !iw_unused_has(&t->unused);
	struct iw_unused_entry *out = NULL;

	/* T5-shutdown-guard limits the shutdown that an initiator has begun (RFC 9260 9.2). */
	if (!t->assoc || !t->assoc->up || open || (t->active && t->leaving)) {
		iw_unused_remove(u, &t->unused);
		return;
	}
	if (added && iw_unused_add(u, &t->unused, t->assoc->peer_ip, now, &out) < 0) {
		abort_unused(t, "out of memory", now);
		return;
	}
	if (pending)
		iw_unused_asked(u, &t->unused);
	else
		iw_unused_answered(u, &t->unused);
	if (out)
		evict(iw_container_of(out, struct iw_trunk, unused), now);
	/* The Terminate of the last session may be in the queue: an ABORT must not replace it. */
	if (added)
		t->charge_from = t->served ? iw_time_add(now, CHARGE_NS) : now;
	charge(t, now);
	t->dock->charge_at = IW_MIN(t->dock->charge_at, iw_time_add(now, CHARGE_NS));
}

/* The deadline of an association without an open session has passed. */
static void expire(struct iw_trunk *t, uint64_t now)
{
	char reason[128];
	struct iw_text text;

	/* An association that was used is shut down first; the shutdown has the same time limit. */
	if (t->served && !t->active && !t->leaving && iw_sctpmap_all_said(t->map)) {
		leave(t, now);
		iw_unused_extend(&t->dock->unused, &t->unused, now);
		touch(t);
		return;
	}
	iw_text_init(&text, reason, sizeof(reason));
	iw_text_fmt(&text, "%s within %U ms (RFC 5043 6)",
		    t->leaving  ? "SHUTDOWN after the last DDP stream session not completed"
		    : t->served ? "last DDP stream session not ended"
				: "no DDP stream session",
		    t->dock->unused.cfg.timeout_ns / IW_MSEC(1));
	abort_unused(t, reason, now);
}

static void expire_some(struct iw_dock *d, uint64_t now)
{
	struct iw_unused_entry *e;

	for (int budget = EXPIRE_BUDGET;
	     budget > 0 && (e = iw_unused_expired(&d->unused, now)) != NULL; budget--)
		expire(iw_container_of(e, struct iw_trunk, unused), now);
}

/* After the listener is closed, peers cannot begin sessions on its port. */
static bool is_last_session(const struct iw_trunk *t)
{
	return (t->active || !t->dock->gate) && iw_list_empty(&t->asked) &&
	       iw_sctpmap_sessions(t->map) == 0;
}

/* The initiator ends an association when no session is left on it; so does a closed listener. */
static void leave_if_idle(struct iw_trunk *t, uint64_t now)
{
	watch_use(t, now);
	if (!iw_list_empty(&t->links))
		return;
	if (!t->assoc) {
		if (iw_list_empty(&t->asked))
			iw_trunk_free(t);
		return;
	}
	if (t->leaving || !is_last_session(t))
		return;
	if (t->assoc->up) {
		leave(t, now);
		if (iw_unused_has(&t->unused))
			iw_unused_extend(&t->dock->unused, &t->unused, now);
	} else {
		t->leaving = true;
		t->dock->port->ops->abort(t->assoc, NULL, now);
	}
}

void iw_dock_close_gate(struct iw_dock *d)
{
	d->gate = NULL;
	iw_dock_mark(d);
	for (struct iw_list *n = d->trunks.next; n != &d->trunks; n = n->next)
		touch(iw_container_of(n, struct iw_trunk, all));
}

static void kick_waiting(struct iw_trunk *t)
{
	struct iw_list *n;

	t->blocked = false;
	touch(t);
	while ((n = iw_list_first(&t->waiting))) {
		iw_list_del(n);
		iw_link_kick(iw_container_of(n, struct iw_link, waiting));
	}
}

static void kick_all(struct iw_trunk *t)
{
	for (struct iw_list *n = t->links.next; n != &t->links; n = n->next)
		iw_link_kick(iw_container_of(n, struct iw_link, on_trunk));
}

/* --- in --------------------------------------------------------------------------------------- */

/* Queues a requested session for the listener. Without a listener or memory, refuses it. */
static void ask(struct iw_trunk *t, struct iw_dss *s)
{
	struct iw_gate *g = t->dock->gate;
	struct asked *q = g ? iw_mem_alloc(g->loop->mem, sizeof(*q)) : NULL;

	if (!q) {
		iw_dss_release(s);
		return;
	}
	q->trunk = t;
	q->session = s;
	iw_list_add_tail(&t->asked, &q->of_trunk);
	iw_list_add_tail(&g->asked, &q->of_gate);
	iw_dss_set_owner(s, &asked_mark);
	iw_loop_note(&g->loop->gate_news, &g->news);
}

/* Discards the units of a session that has no connection. */
static void drop_units(struct iw_dss *s)
{
	struct iw_dss_unit u;

	while (iw_dss_next(s, &u))
		continue;
}

/*
 * Passes a message to its connection. A Send in it may stay in the port's memory, as a loan. If it
 * is shorter than LEND_MIN, copying costs less than lending the packet.
 */
static void arrived(struct iw_link *k, const struct iw_port_msg *m, uint64_t now)
{
	struct iw_loop *l = k->loop;
	struct iw_port *p = m->assoc->port;
	struct iw_lend lend = { 0 };

	if (m->lendable && m->len >= LEND_MIN)
		lend.loan = iw_loop_next_loan(l);
	iw_conn_arrived(k->conn, lend.loan ? &lend : NULL, now);
	if (lend.taken)
		iw_loop_lend(l, p->ops->lend(p, m->data), m->data);
}

/*
 * The peer has begun another session on the stream, so all messages of the former session have
 * arrived. Reports that to its connection, which may then reuse the memory: SCTP copies whatever it
 * may have to retransmit.
 */
static void end_replaced(struct iw_trunk *t, uint64_t now)
{
	const struct iw_port_ops *ops = t->dock->port->ops;
	struct iw_dss *s = iw_sctpmap_replaced(t->map);
	void *owner = s ? iw_dss_owner(s) : NULL;
	struct iw_link *k = owner;

	if (!owner || owner == &asked_mark)
		return;
	tell_session(k, false);
	if (ops->give_back)
		ops->give_back(t->assoc, k->stream, now);
	iw_conn_acked(k->conn, now);
	iw_conn_arrived(k->conn, NULL, now);
	iw_loop_note(&t->dock->loop->news, &k->news);
	iw_link_kick(k);
}

static void take_msg(const struct iw_port_msg *m, uint64_t now)
{
	struct iw_trunk *t = m->assoc->user;
	struct iw_dss *s;
	struct iw_link *k;
	void *owner;

	if (iw_unlikely(!t))
		return;
	touch(t);
	s = iw_sctpmap_receive(t->map, m->stream, m->ppid, m->data, m->len);
	owner = s ? iw_dss_owner(s) : NULL;
	/* A session that has just begun has no owner. */
	if (iw_unlikely(!owner))
		end_replaced(t, now);
	if (!s)
		return;
	/* The session keeps its messages until the listener takes it. */
	if (iw_unlikely(owner == &asked_mark))
		return;
	if (iw_unlikely(!owner)) {
		if (iw_dss_state(s) == IW_DSS_DECIDING)
			ask(t, s);
		else
			drop_units(s);
		return;
	}
	k = owner;
	arrived(k, m, now);
	iw_loop_note(&t->dock->loop->news, &k->news);
	iw_link_kick(k);
}

static void acked(struct iw_trunk *t, const struct iw_assoc_event *ev, uint64_t now)
{
	struct iw_dss *s = iw_sctpmap_acked(t->map, ev->stream, ev->n);
	void *owner = s ? iw_dss_owner(s) : NULL;
	struct iw_link *k = owner;

	if (!owner || owner == &asked_mark)
		return;
	iw_conn_acked(k->conn, now);
	iw_loop_note(&t->dock->loop->news, &k->news);
	if (iw_conn_wants_tx(k->conn))
		iw_link_kick(k);
}

static void all_acked(struct iw_trunk *t, uint64_t now)
{
	iw_sctpmap_all_acked(t->map);
	for (struct iw_list *n = t->links.next; n != &t->links; n = n->next)
		iw_conn_acked(iw_container_of(n, struct iw_link, on_trunk)->conn, now);
	kick_all(t);
}

static void came_up(struct iw_trunk *t, uint64_t now)
{
	struct iw_assoc *a = t->assoc;
	struct iw_sctpmap_peer peer = {
		.indicated = a->indicated,
		.adaptation = a->adaptation,
		.in = a->in,
		.out = a->out,
		.window = a->port->window,
	};
	struct iw_fault why;

	know_assoc(t);
	if (iw_sctpmap_up(t->map, &peer, &why) < 0) {
		/* RFC 5043 7.1 */
		t->dock->port->ops->abort(a, NULL, now);
		trunk_lost(t, &why, now);
		return;
	}
	for (struct iw_list *n = t->links.next; n != &t->links; n = n->next) {
		struct iw_link *k = iw_container_of(n, struct iw_link, on_trunk);

		k->connecting = false;
		tell_session(k, true);
		iw_loop_note(&t->dock->loop->news, &k->news);
	}
	kick_all(t);
}

/* Takes a new association of a listener. Without a listener or memory, aborts it. */
static struct iw_trunk *welcome(struct iw_dock *d, struct iw_assoc *a, uint64_t now)
{
	struct iw_trunk *t;

	if (!d->gate || trunk_new(&t, d, &d->gate->map_cfg, NULL) != 0) {
		d->port->ops->abort(a, NULL, now);
		d->port->ops->release(a);
		return NULL;
	}
	t->assoc = a;
	a->user = t;
	return t;
}

static void take_event(struct iw_dock *d, const struct iw_assoc_event *ev, uint64_t now)
{
	struct iw_trunk *t = ev->assoc->user;

	if (!t && ev->what == IW_ASSOC_UP)
		t = welcome(d, ev->assoc, now);
	if (!t)
		return;
	switch (ev->what) {
	case IW_ASSOC_UP:
		came_up(t, now);
		break;
	case IW_ASSOC_MTU:
		know_assoc(t);
		break;
	case IW_ASSOC_ROOM:
		kick_waiting(t);
		break;
	case IW_ASSOC_ACKED:
		acked(t, ev, now);
		break;
	case IW_ASSOC_ALL_ACKED:
		all_acked(t, now);
		break;
	case IW_ASSOC_DOWN:
		trunk_lost(t, &ev->assoc->why, now);
		break;
	}
	touch(t);
}

/* Returns true if there was an event. */
static bool take_events(struct iw_dock *d, uint64_t now)
{
	struct iw_assoc_event ev;
	bool any = false;

	while (d->port->ops->next_event(d->port, &ev)) {
		take_event(d, &ev, now);
		any = true;
	}
	return any;
}

/* --- out -------------------------------------------------------------------------------------- */

static void send_control(struct iw_trunk *t, uint64_t now)
{
	struct iw_sctpmap_msg c;

	while (t->assoc && !t->blocked && iw_sctpmap_control(t->map, &c)) {
		struct iw_port_out m = {
			.stream = c.stream,
			.ppid = c.ppid,
			.vec = &(struct iw_vec){ (void *)(uintptr_t)c.data, c.len },
			.nvec = 1,
			.at_once = true,
			.ack_now = c.ack_now,
		};

		if (t->dock->port->ops->send(t->assoc, &m, now) != 0) {
			t->blocked = true;
			return;
		}
		iw_sctpmap_control_taken(t->map, c.stream);
	}
}

/* Before output, so that the next SACK advertises the right window. */
static void tell_held(struct iw_trunk *t)
{
	const struct iw_port_ops *ops = t->dock->port->ops;
	size_t held = iw_sctpmap_held(t->map);

	if (iw_likely(held == t->held) || !ops->held || !t->assoc)
		return;
	t->held = held;
	ops->held(t->assoc, held);
}

static void send_segments(struct iw_link *k, uint64_t now)
{
	struct iw_trunk *t = k->trunk;
	const struct iw_conn_msg *c;
	int budget = TX_BUDGET;

	while (t->assoc && t->assoc->up && !t->blocked && (c = iw_conn_next_msg(k->conn, now))) {
		struct iw_port_out m = {
			.stream = c->stream,
			.ppid = c->ppid,
			.hdr = c->hdr,
			.hdr_len = c->hdr_len,
			.vec = c->vec,
			.nvec = c->nvec,
			.keep = c->kept,
			.last = c->last,
			.at_once = c->untagged,
		};
		int err = t->dock->port->ops->send(t->assoc, &m, now);

		if (err < 0) {
			t->blocked = true;
			if (err == IW_E_NOMEM)
				t->dock->rest_until = now + REST_NS;
			break;
		}
		iw_conn_msg_taken(k->conn, err == IW_PORT_KEPT, now);
		if (--budget == 0) {
			iw_link_kick(k);
			return;
		}
	}
	if (t->blocked)
		iw_loop_note(&t->waiting, &k->waiting);
}

/* All connections of a port share its counts. */
void iw_trunk_count(struct iw_trunk *t)
{
	t->face.sends = t->dock->port->sends;
	t->face.recvs = t->dock->port->recvs;
}

/* Sends the pending output of the port, and processes the events that this causes. */
static void flush_dock(struct iw_dock *d, uint64_t now)
{
	struct iw_list *n;
	int err;

	while ((n = iw_list_first(&d->touched))) {
		struct iw_trunk *t = iw_container_of(n, struct iw_trunk, touched);

		iw_list_del(n);
		send_control(t, now);
		tell_held(t);
		leave_if_idle(t, now);
	}
	err = d->port->ops->output(d->port, now);
	d->blocked = err == IW_E_AGAIN;
	if (err == IW_E_NOMEM)
		d->rest_until = now + REST_NS;
	(void)take_events(d, now);
	watch_for(d, EPOLLIN | (d->blocked ? EPOLLOUT : 0));
	look_at_clock(d, now);
}

void iw_dock_flush_all(struct iw_loop *l, uint64_t now)
{
	struct iw_list *n;

	while ((n = iw_list_first(&l->dirty))) {
		struct iw_dock *d = iw_container_of(n, struct iw_dock, dirty);

		iw_list_del(n);
		flush_dock(d, now);
		if (deserted(d))
			iw_dock_free(d);
	}
}

/* --- what the loop calls ---------------------------------------------------------------------- */

static void broken(struct iw_dock *d, const struct iw_fault *why, uint64_t now)
{
	for (struct iw_list *n = d->trunks.next; n != &d->trunks; n = n->next)
		trunk_lost(iw_container_of(n, struct iw_trunk, all), why, now);
}

/*
 * Processes one batch of input; err, why: the result of reading it. A turn reads one batch only:
 * the flush acknowledges it while the peer sends the next one. The rest is read in the next turn.
 */
static void take_batch(struct iw_dock *d, int err, const struct iw_fault *why, uint64_t now)
{
	struct iw_port_msg m;

	do
		while (d->port->ops->next_msg(d->port, &m))
			take_msg(&m, now);
	while (take_events(d, now));
	if (err < 0)
		broken(d, why, now);
	iw_dock_mark(d);
}

void iw_dock_ready(struct iw_dock *d, uint64_t now)
{
	struct iw_fault why;
	int err = d->port->ops->input(d->port, now, &why);

	take_batch(d, err, &why, now);
}

bool iw_dock_can_wait(const struct iw_dock *d)
{
	return d->port->waits && d->armed == EPOLLIN && !d->blocked && !d->rest_until;
}

int iw_dock_wait(struct iw_dock *d)
{
	struct iw_fault why;
	uint64_t now;
	int err;

	/* In the epoll set, the kernel would have to notify the set of each arrival as well. */
	if (!d->direct)
		iw_loop_unwatch(d->loop, d->port->fd);
	d->direct = true;
	err = d->port->ops->input_wait(d->port, &now, &why);
	if (err == IW_E_AGAIN || err == IW_E_CANCELED)
		return err;
	take_batch(d, err, &why, now);
	iw_dock_flush_all(d->loop, now);
	return 0;
}

void iw_dock_leave(struct iw_dock *d)
{
	struct iw_fault why;

	if (!d->direct)
		return;
	d->direct = false;
	if (iw_loop_watch(d->loop, d->port->fd, d->armed, &d->watch, true, &why) != 0)
		broken(d, &why, iw_os_now());
}

void iw_dock_timer(struct iw_dock *d, uint64_t now)
{
	if (d->rest_until && now >= d->rest_until) {
		d->rest_until = 0;
		for (struct iw_list *n = d->trunks.next; n != &d->trunks; n = n->next)
			kick_waiting(iw_container_of(n, struct iw_trunk, all));
	}
	d->port->ops->timeout(d->port, now);
	(void)take_events(d, now);
	expire_some(d, now);
	charge_all(d, now);
	iw_loop_set_timer(d->loop, &d->watch, FAR_AWAY);
	look_at_clock(d, now);
	iw_dock_mark(d);
}

void iw_trunk_serve(struct iw_link *k, uint64_t now)
{
	if (iw_conn_state(k->conn) != IW_CONN_CLOSED)
		send_segments(k, now);
	touch(k->trunk);
}

/* --- connections on an association ------------------------------------------------------------ */

int iw_trunk_connect(struct iw_trunk **out, struct iw_loop *l, struct iw_port *port,
		     const struct iw_sctpmap_cfg *cfg, struct iw_fault *why)
{
	uint64_t now = iw_os_now();
	struct iw_dock *d;
	struct iw_trunk *t;
	int err;

	err = iw_dock_new(&d, l, port, cfg->unused_ns, why);
	if (err)
		return err;
	err = trunk_new(&t, d, cfg, why);
	if (!err)
		err = port->ops->connect(port, &t->assoc, now, why);
	if (err) {
		iw_dock_free(d);
		return err;
	}
	t->active = t->served = true;
	t->assoc->user = t;
	know_assoc(t);
	touch(t);
	*out = t;
	return 0;
}

void iw_trunk_add(struct iw_trunk *t, struct iw_link *k)
{
	k->trunk = t;
	k->llp = &t->face;
	k->connecting = !t->assoc || !t->assoc->up;
	k->stream = iw_dss_stream(iw_conn_session(k->conn));
	iw_list_add_tail(&t->links, &k->on_trunk);
	iw_dss_set_owner(iw_conn_session(k->conn), k);
	tell_session(k, true);
}

bool iw_trunk_no_answer(const struct iw_trunk *t, uint64_t waited, struct iw_fault *why)
{
	const struct iw_port_ops *ops = t->dock->port->ops;

	if (!t->assoc || t->assoc->up || !ops->no_answer)
		return false;
	ops->no_answer(t->assoc, waited, why);
	return true;
}

void iw_link_accepted(struct iw_link *k)
{
	struct iw_trunk *t = k->trunk;

	if (!t)
		return;
	k->accepted = t->served = true;
	t->open++;
	tell_session(k, true);
	touch(t);
}

void iw_trunk_remove(struct iw_link *k)
{
	struct iw_dss *s = iw_conn_session(k->conn);
	struct iw_dss *now = iw_sctpmap_session(k->trunk->map, k->stream);
	const struct iw_port_ops *ops = k->trunk->dock->port->ops;
	void *other = now ? iw_dss_owner(now) : NULL;

	/* The stream may belong to another connection by now. */
	if (!other || other == k || other == &asked_mark)
		tell_session(k, false);
	/* From now on its operations complete, and the program may reuse their memory. */
	if (k->trunk->assoc && ops->give_back)
		ops->give_back(k->trunk->assoc, k->stream, iw_os_now());
	/* The conn may outlive its transport, because the program can still query it. */
	if (s)
		iw_dss_set_owner(s, NULL);
	iw_list_del(&k->on_trunk);
	iw_list_del(&k->waiting);
	k->trunk->open -= k->accepted;
	touch(k->trunk);
}

void iw_trunk_facts(const struct iw_trunk *t, struct iw_llp_facts *out)
{
	if (t->assoc && t->dock->port->ops->facts)
		t->dock->port->ops->facts(t->assoc, out);
}

int iw_trunk_set_cc(struct iw_trunk *t, const char *name, struct iw_fault *why)
{
	const struct iw_port_ops *ops = t->dock->port->ops;

	if (!t->assoc || !ops->set_cc)
		return iw_fail(why, IW_E_NOTSUP,
			       "congestion control %s: transport %s has none that can be chosen",
			       name, ops->name);
	return ops->set_cc(t->assoc, name, why);
}

/* --- listeners -------------------------------------------------------------------------------- */

bool iw_gate_next_session(struct iw_gate *g, struct iw_trunk **trunk, struct iw_dss **session)
{
	struct iw_list *n = iw_list_first(&g->asked);
	struct asked *q;

	if (!n)
		return false;
	q = iw_container_of(n, struct asked, of_gate);
	*trunk = q->trunk;
	*session = q->session;
	iw_dss_set_owner(q->session, NULL);
	touch(q->trunk); /* accepted or not */
	iw_list_del(&q->of_gate);
	iw_list_del(&q->of_trunk);
	iw_mem_free(g->loop->mem, q, sizeof(*q));
	return true;
}
