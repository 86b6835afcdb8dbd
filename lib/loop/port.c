// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A port of the session transport in the loop: reads its messages and events, passes them to its
 * associations, sends their pending output, and keeps the deadlines of all of them.
 */
#include "loop/loop.h"

#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "loop/internal.h"
#include "os/os.h"
#include "util/text.h"

/*
 * How long iw_loop_ports_shut_down waits for peers to confirm the shutdown, and how often it
 * checks. SCTP retransmits a lost SHUTDOWN after one RTO, at least a second (RFC 9260 16). A peer
 * would report an ABORT as a failure.
 */
#define SHUTDOWN_NS      IW_CTX_FREE_NS_MAX
#define SHUTDOWN_STEP_MS 10

/* --- ports ------------------------------------------------------------------------------------ */

static void update_timer(struct iw_loop_port *d, uint64_t now)
{
	uint64_t at = d->llp->ops->deadline(d->llp);

	at = IW_MIN(at, iw_unused_deadline(&d->unused));
	at = IW_MIN(at, d->charge_at);
	if (d->rest_until)
		at = IW_MIN(at, d->rest_until);
	at = IW_MAX(at, now + 1);
	if (at < d->watch.timer.at)
		iw_loop_set_timer(d->loop, &d->watch, at);
}

static void watch_for(struct iw_loop_port *d, uint32_t events)
{
	struct iw_fault why;

	if (d->direct ? events == EPOLLIN : events == d->armed)
		return;
	/* After a failure the timers still run, and the next turn tries again. */
	if (iw_loop_watch(d->loop, d->llp->fd, events, &d->watch, d->direct, &why) != 0)
		return;
	d->direct = false;
	d->armed = events;
}

int iw_loop_port_new(struct iw_loop_port **out, struct iw_loop *l, struct iw_port *port,
		     uint64_t unused_ns, struct iw_fault *why)
{
	struct iw_loop_port *d = iw_mem_alloc(l->mem, sizeof(*d));
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
	d->watch.kind = WATCH_PORT;
	d->loop = l;
	d->llp = port;
	iw_list_init(&d->assocs);
	iw_list_init(&d->dirty);
	iw_list_init(&d->touched);
	l->direct_ends = true;
	iw_list_add_tail(&l->ports, &d->all);
	l->stag_ports += port->ops->stag != NULL;
	l->ring_ports += port->ops->peek != NULL;
	if (port->ops->peek && l->polls_rings)
		port->ops->rest(port, false);
	err = iw_os_random(&unused.secret, sizeof(unused.secret));
	if (err)
		iw_fail(why, err, "loop: no random number for a port");
	iw_unused_init(&d->unused, &unused);
	d->charge_at = IW_TIME_NEVER;
	if (!err)
		err = iw_loop_add_timer(l, &d->watch, NO_DEADLINE, why);
	if (!err)
		err = iw_loop_loans_reserve(l, port->loans, why);
	if (err)
		port->loans = 0;
	if (!err)
		err = iw_loop_watch(l, port->fd, EPOLLIN, &d->watch, true, why);
	if (err) {
		iw_loop_port_free(d);
		return err;
	}
	d->armed = EPOLLIN;
	*out = d;
	return 0;
}

void iw_loop_stag(struct iw_loop *l, uint32_t stag, uint32_t pd, uint32_t stream, uint64_t expires)
{
	if (l->stag_ports == 0)
		return;
	for (struct iw_list *n = l->ports.next; n != &l->ports; n = n->next) {
		const struct iw_loop_port *d = iw_container_of(n, struct iw_loop_port, all);

		if (d->llp->ops->stag)
			d->llp->ops->stag(d->llp, stag, pd, stream, expires);
	}
}

/*
 * Shuts down each association of the port on which both ends have sent the last message of every
 * session. Returns true while there is one.
 */
static bool shut_down(struct iw_loop_port *d, uint64_t now)
{
	bool any = false;

	for (struct iw_list *n = d->assocs.next; n != &d->assocs; n = n->next) {
		struct iw_loop_assoc *t = iw_container_of(n, struct iw_loop_assoc, all);

		if (!t->llp || !t->llp->up || !iw_sctpmap_sessions_ended(t->map))
			continue;
		d->llp->ops->shutdown(t->llp, now);
		any = true;
	}
	(void)d->llp->ops->output(d->llp, now);
	return any;
}

static bool shut_down_all(struct iw_loop *l, uint64_t now)
{
	bool any = false;

	for (struct iw_list *n = l->ports.next; n != &l->ports; n = n->next)
		any |= shut_down(iw_container_of(n, struct iw_loop_port, all), now);
	return any;
}

/*
 * Returns an epoll descriptor, which is readable while the descriptor of a port is. -1: there is
 * none; poll() ignores it, so that only the time-out ends the wait.
 */
static int watch_all(struct iw_loop *l)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int fd = epoll_create1(EPOLL_CLOEXEC);

	for (struct iw_list *n = l->ports.next; fd >= 0 && n != &l->ports; n = n->next)
		(void)epoll_ctl(fd, EPOLL_CTL_ADD,
				iw_container_of(n, struct iw_loop_port, all)->llp->fd, &ev);
	return fd;
}

static void turn_all(struct iw_loop *l, uint64_t now)
{
	for (struct iw_list *n = l->ports.next; n != &l->ports; n = n->next) {
		struct iw_loop_port *d = iw_container_of(n, struct iw_loop_port, all);

		d->llp->ops->timeout(d->llp, now);
		iw_loop_port_ready(d, now);
	}
}

/* RFC 9260 9.2. One deadline for all ports: many unreachable peers take no longer than one. */
void iw_loop_ports_shut_down(struct iw_loop *l)
{
	uint64_t now = iw_os_now(), until = now + SHUTDOWN_NS;
	struct pollfd ports = { .events = POLLIN };

	for (struct iw_list *n = l->ports.next; n != &l->ports; n = n->next) {
		struct iw_port *p = iw_container_of(n, struct iw_loop_port, all)->llp;

		if (p->ops->peek)
			p->ops->rest(p, true);
	}
	if (!shut_down_all(l, now))
		return;
	ports.fd = watch_all(l);
	do {
		(void)poll(&ports, 1, SHUTDOWN_STEP_MS);
		turn_all(l, iw_os_now());
		now = iw_os_now();
	} while (now < until && shut_down_all(l, now));
	if (ports.fd >= 0)
		close(ports.fd);
}

void iw_loop_port_free(struct iw_loop_port *d)
{
	uint64_t now;
	struct iw_list *n;

	d->loop->stag_ports -= d->llp->ops->stag != NULL;
	d->loop->ring_ports -= d->llp->ops->peek != NULL;
	iw_loop_loans_unreserve(d->loop, d->llp->loans);
	now = iw_os_now();
	while ((n = iw_list_first(&d->assocs))) {
		struct iw_loop_assoc *t = iw_container_of(n, struct iw_loop_assoc, all);

		if (t->llp)
			d->llp->ops->abort(t->llp, NULL, now);
		iw_loop_assoc_free(t);
	}
	iw_unused_fini(&d->unused);
	(void)d->llp->ops->output(d->llp, now);
	if (d->loop->direct == &d->watch)
		d->loop->direct = NULL;
	d->llp->ops->close(d->llp);
	iw_heap_del(&d->loop->timers, &d->watch.timer);
	iw_list_del(&d->dirty);
	iw_list_del(&d->all);
	iw_mem_free(d->loop->mem, d, sizeof(*d));
}

/*
 * True if the port has no listener and no association. It is freed at the end of the turn, when no
 * event of its descriptor is being served.
 */
static bool is_unused(const struct iw_loop_port *d)
{
	return !d->listener && iw_list_empty(&d->assocs);
}

void iw_loop_port_close_listener(struct iw_loop_port *d)
{
	d->listener = NULL;
	iw_loop_port_mark(d);
	for (struct iw_list *n = d->assocs.next; n != &d->assocs; n = n->next)
		iw_loop_assoc_touch(iw_container_of(n, struct iw_loop_assoc, all));
	iw_loop_kick_wakeup(d->loop);
}

/* Returns true if there was an event. */
static bool take_events(struct iw_loop_port *d, uint64_t now)
{
	struct iw_assoc_event ev;
	bool any = false;

	while (d->llp->ops->next_event(d->llp, &ev)) {
		iw_loop_assoc_take_event(d, &ev, now);
		any = true;
	}
	return any;
}

/* Sends the pending output of the port, and processes the events that this causes. */
static void flush_port(struct iw_loop_port *d, uint64_t now)
{
	struct iw_list *n;
	int err;

	while ((n = iw_list_first(&d->touched))) {
		struct iw_loop_assoc *t = iw_container_of(n, struct iw_loop_assoc, touched);

		iw_list_del(n);
		iw_loop_assoc_send_control(t, now);
		iw_loop_assoc_report_held(t);
		iw_loop_unused_check(t, now);
	}
	err = d->llp->ops->output(d->llp, now);
	d->blocked = err == IW_E_AGAIN;
	if (err == IW_E_NOMEM)
		iw_loop_port_rest(d, now);
	(void)take_events(d, now);
	watch_for(d, EPOLLIN | (d->blocked ? EPOLLOUT : 0));
	update_timer(d, now);
}

void iw_loop_port_flush_all(struct iw_loop *l, uint64_t now)
{
	struct iw_list *n;

	while ((n = iw_list_first(&l->dirty))) {
		struct iw_loop_port *d = iw_container_of(n, struct iw_loop_port, dirty);

		iw_list_del(n);
		flush_port(d, now);
		if (is_unused(d))
			iw_loop_port_free(d);
	}
}

/* --- what the loop calls ---------------------------------------------------------------------- */

static void lose_all(struct iw_loop_port *d, const struct iw_fault *why, uint64_t now)
{
	for (struct iw_list *n = d->assocs.next; n != &d->assocs; n = n->next)
		iw_loop_assoc_lost(iw_container_of(n, struct iw_loop_assoc, all), why, now);
}

/*
 * Processes one batch of input; err and why are the result of reading it. A turn reads one batch,
 * or several if they follow each other at once (more_input in lib/llp), so that the flush
 * acknowledges them while the peer sends the next ones.
 */
static void take_batch(struct iw_loop_port *d, int err, const struct iw_fault *why, uint64_t now)
{
	struct iw_port_msg m;

	do
		while (d->llp->ops->next_msg(d->llp, &m))
			iw_loop_assoc_take_msg(&m, now);
	while (take_events(d, now));
	if (err < 0)
		lose_all(d, why, now);
	iw_loop_port_mark(d);
}

void iw_loop_port_ready(struct iw_loop_port *d, uint64_t now)
{
	struct iw_fault why;
	int err = d->llp->ops->input(d->llp, now, &why);

	take_batch(d, err, &why, now);
}

bool iw_loop_port_can_wait(const struct iw_loop_port *d)
{
	return d->llp->waits && d->armed == EPOLLIN && !d->blocked && !d->rest_until;
}

/* As the operation input_wait of the port, but does not wait. */
static int look(struct iw_loop_port *d, uint64_t *now, struct iw_fault *why)
{
	int err = d->llp->ops->input(d->llp, *now, why);

	*now = iw_os_now();
	return err == 0 ? IW_E_AGAIN : err;
}

int iw_loop_port_wait(struct iw_loop_port *d, bool block, uint64_t *now)
{
	struct iw_fault why;
	int err;

	/* Out of the epoll set: the kernel would notify the set of each arrival as well. */
	if (!d->direct)
		iw_loop_unwatch(d->loop, d->llp->fd);
	d->direct = true;
	err = block ? d->llp->ops->input_wait(d->llp, now, &why) : look(d, now, &why);
	if (err == IW_E_AGAIN || err == IW_E_CANCELED)
		return err;
	take_batch(d, err, &why, *now);
	iw_loop_port_flush_all(d->loop, *now);
	return 0;
}

void iw_loop_port_leave(struct iw_loop_port *d)
{
	struct iw_fault why;

	if (!d->direct)
		return;
	d->direct = false;
	if (iw_loop_watch(d->loop, d->llp->fd, d->armed, &d->watch, true, &why) != 0)
		lose_all(d, &why, iw_os_now());
}

void iw_loop_port_timer(struct iw_loop_port *d, uint64_t now)
{
	if (d->rest_until && now >= d->rest_until) {
		d->rest_until = 0;
		for (struct iw_list *n = d->assocs.next; n != &d->assocs; n = n->next)
			iw_loop_assoc_kick_waiting(iw_container_of(n, struct iw_loop_assoc, all));
	}
	d->llp->ops->timeout(d->llp, now);
	(void)take_events(d, now);
	iw_loop_unused_expire(d, now);
	iw_loop_unused_charge(d, now);
	iw_loop_set_timer(d->loop, &d->watch, NO_DEADLINE);
	update_timer(d, now);
	iw_loop_port_mark(d);
}

/* --- connections on an association ------------------------------------------------------------ */

int iw_loop_assoc_connect(struct iw_loop_assoc **out, struct iw_loop *l, struct iw_port *port,
			  const struct iw_sctpmap_cfg *cfg, struct iw_fault *why)
{
	uint64_t now = iw_os_now();
	struct iw_loop_port *d;
	struct iw_loop_assoc *t;
	int err;

	err = iw_loop_port_new(&d, l, port, cfg->unused_ns, why);
	if (err)
		return err;
	err = iw_loop_assoc_new(&t, d, cfg, why);
	if (!err)
		err = port->ops->connect(port, &t->llp, now, why);
	if (err) {
		iw_loop_port_free(d);
		return err;
	}
	t->active = t->served = true;
	t->llp->user = t;
	iw_loop_assoc_note_facts(t);
	iw_loop_assoc_touch(t);
	iw_loop_kick_wakeup(l);
	*out = t;
	return 0;
}
