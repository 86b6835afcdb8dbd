// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An association on a port, with its sessions: passes the port's messages and events to them, sends
 * session control messages, and queues requested sessions for the listener.
 */
#include "loop/loop.h"

#include <string.h>

#include "loop/internal.h"
#include "util/text.h"

/* Marks, as its owner, a session that iw_loop_listener_next_session has not returned yet. */
static char requested;

void iw_loop_assoc_touch(struct iw_loop_assoc *t)
{
	iw_loop_note(&t->port->touched, &t->touched);
	iw_loop_port_mark(t->port);
}

int iw_loop_assoc_new(struct iw_loop_assoc **out, struct iw_loop_port *d,
		      const struct iw_sctpmap_cfg *cfg, struct iw_fault *why)
{
	struct iw_loop_assoc *t = iw_mem_alloc(d->loop->mem, sizeof(*t));
	struct iw_sctpmap_cfg map = *cfg;
	int err;

	if (!t)
		return iw_fail(why, IW_E_NOMEM, "loop: no memory for an association");
	map.all_acked_only = d->llp->all_acked_only;
	t->port = d;
	iw_list_init(&t->touched);
	iw_list_init(&t->sessions);
	iw_list_init(&t->requested);
	iw_list_init(&t->waiting);
	t->ends.transport = d->llp->ops->name;
	err = iw_sctpmap_new(&t->map, &map, why);
	if (err) {
		iw_mem_free(d->loop->mem, t, sizeof(*t));
		return err;
	}
	iw_list_add_tail(&d->assocs, &t->all);
	*out = t;
	return 0;
}

/* Drops the requests that the listener has not taken yet. */
static void drop_requests(struct iw_loop_assoc *t)
{
	struct iw_list *n;

	while ((n = iw_list_first(&t->requested))) {
		struct session_request *q = iw_container_of(n, struct session_request, of_assoc);

		iw_list_del(&q->of_assoc);
		iw_list_del(&q->of_listener);
		iw_dss_release(q->session);
		iw_mem_free(t->port->loop->mem, q, sizeof(*q));
	}
}

void iw_loop_assoc_free(struct iw_loop_assoc *t)
{
	drop_requests(t);
	iw_unused_remove(&t->port->unused, &t->unused);
	if (t->llp)
		t->port->llp->ops->release(t->llp);
	iw_sctpmap_free(t->map);
	iw_list_del(&t->touched);
	iw_list_del(&t->all);
	iw_mem_free(t->port->loop->mem, t, sizeof(*t));
}

struct iw_sctpmap *iw_loop_assoc_map(struct iw_loop_assoc *t)
{
	return t->map;
}

struct iw_assoc *iw_loop_assoc_llp(const struct iw_loop_assoc *t)
{
	return t->llp && t->llp->up ? t->llp : NULL;
}

size_t iw_loop_assoc_memory(const struct iw_loop_assoc *t)
{
	struct iw_llp_facts engine = { 0 };
	size_t all = sizeof(*t) + iw_sctpmap_memory(t->map);

	iw_loop_assoc_facts(t, &engine);
	all += engine.memory;
	for (struct iw_list *n = t->sessions.next; n != &t->sessions; n = n->next) {
		const struct session_conn *k = iw_container_of(n, struct session_conn, on_assoc);
		const struct iw_dss *s = k->accepted ? iw_conn_session(k->lc.conn) : NULL;

		all -= s ? iw_dss_memory(s) : 0;
	}
	return all;
}

void iw_loop_assoc_note_facts(struct iw_loop_assoc *t)
{
	const struct iw_assoc *a = t->llp;

	memcpy(t->ends.local, a->local, sizeof(t->ends.local));
	memcpy(t->ends.peer, a->peer, sizeof(t->ends.peer));
	t->ends.local_port = t->port->llp->local_port;
	t->ends.emss = (uint32_t)a->max_message;
	iw_sctpmap_set_chunk(t->map, a->max_message);
}

void iw_loop_assoc_ends(const struct iw_loop_assoc *t, struct iw_llp_ends *out)
{
	*out = t->ends;
	/* All connections of a port share its counts. */
	out->sends = t->port->llp->sends;
	out->recvs = t->port->llp->recvs;
}

void iw_loop_assoc_facts(const struct iw_loop_assoc *t, struct iw_llp_facts *out)
{
	if (t->llp && t->port->llp->ops->facts)
		t->port->llp->ops->facts(t->llp, out);
}

bool iw_loop_assoc_tls(const struct iw_loop_assoc *t, struct iw_tls_info *out)
{
	const struct iw_port_ops *ops = t->port->llp->ops;

	return t->llp && ops->tls && ops->tls(t->llp, out);
}

int iw_loop_assoc_set_cc(struct iw_loop_assoc *t, const char *name, struct iw_fault *why)
{
	const struct iw_port_ops *ops = t->port->llp->ops;

	return t->llp && ops->set_cc ? ops->set_cc(t->llp, name, why)
				     : iw_loop_no_cc(name, ops->name, why);
}

void iw_loop_assoc_lost(struct iw_loop_assoc *t, const struct iw_fault *why, uint64_t now)
{
	struct iw_fault gone = *why;

	if (gone.err == 0)
		iw_fail(&gone, IW_E_CLOSED, "sctp: %s shut the association down", t->ends.peer);
	iw_unused_remove(&t->port->unused, &t->unused);
	iw_sctpmap_down(t->map);
	drop_requests(t);
	for (struct iw_list *n = t->sessions.next; n != &t->sessions; n = n->next) {
		struct session_conn *k = iw_container_of(n, struct session_conn, on_assoc);

		iw_loop_session_report(k, false);
		iw_conn_lost(k->lc.conn, &gone, now);
		iw_loop_note(&t->port->loop->ready, &k->lc.ready);
	}
	if (t->llp)
		t->port->llp->ops->release(t->llp);
	t->llp = NULL;
	iw_loop_assoc_touch(t);
}

void iw_loop_assoc_shut_down(struct iw_loop_assoc *t, uint64_t now)
{
	t->leaving = true;
	iw_sctpmap_down(t->map);
	t->port->llp->ops->shutdown(t->llp, now);
}

void iw_loop_assoc_kick_waiting(struct iw_loop_assoc *t)
{
	struct iw_list *n;

	t->blocked = false;
	iw_loop_assoc_touch(t);
	while ((n = iw_list_first(&t->waiting))) {
		iw_list_del(n);
		iw_loop_conn_kick(&iw_container_of(n, struct session_conn, waiting)->lc);
	}
}

static void kick_all(struct iw_loop_assoc *t)
{
	for (struct iw_list *n = t->sessions.next; n != &t->sessions; n = n->next)
		iw_loop_conn_kick(&iw_container_of(n, struct session_conn, on_assoc)->lc);
}

/* --- requested sessions ----------------------------------------------------------------------- */

/* Queues a requested session for the listener. Without a listener or memory, refuses it. */
static void queue_request(struct iw_loop_assoc *t, struct iw_dss *s)
{
	struct port_listener *g = t->port->listener;
	struct iw_loop *l = t->port->loop;
	struct session_request *q = g ? iw_mem_alloc(l->mem, sizeof(*q)) : NULL;

	if (!q) {
		iw_dss_release(s);
		return;
	}
	q->assoc = t;
	q->session = s;
	iw_list_add_tail(&t->requested, &q->of_assoc);
	iw_list_add_tail(&g->requested, &q->of_listener);
	iw_dss_set_owner(s, &requested);
	iw_loop_note(&l->ready_listeners, &g->base.ready);
}

bool iw_loop_assoc_next_request(struct port_listener *g, struct iw_loop_assoc **assoc,
				struct iw_dss **session)
{
	struct iw_list *n = iw_list_first(&g->requested);
	struct session_request *q;

	if (!n)
		return false;
	q = iw_container_of(n, struct session_request, of_listener);
	*assoc = q->assoc;
	*session = q->session;
	iw_dss_set_owner(q->session, NULL);
	/* The caller accepts or refuses it: check again whether the association is in use. */
	iw_loop_assoc_touch(q->assoc);
	iw_loop_kick_wakeup(g->base.loop);
	iw_list_del(&q->of_listener);
	iw_list_del(&q->of_assoc);
	iw_mem_free(g->base.loop->mem, q, sizeof(*q));
	return true;
}

/* Another connection has the stream if the peer has begun another session on it. */
bool iw_loop_assoc_is_of(const struct iw_loop_assoc *t, const struct session_conn *k)
{
	const struct iw_dss *now = iw_sctpmap_session(t->map, k->stream);
	const void *owner = now ? iw_dss_owner(now) : NULL;

	return !owner || owner == k || owner == &requested;
}

/* --- messages and events of the port ---------------------------------------------------------- */

/* Discards the units of a session that has no connection. */
static void drop_units(struct iw_dss *s)
{
	struct iw_dss_unit u;

	while (iw_dss_next(s, &u))
		continue;
}

/*
 * The peer has begun another session on the stream, so all messages of the former session have
 * arrived. Reports them as acknowledged to the connection of the former session, whose operations
 * then complete. So the port first copies what it may still retransmit.
 */
static void end_replaced(struct iw_loop_assoc *t, uint64_t now)
{
	const struct iw_port_ops *ops = t->port->llp->ops;
	struct iw_dss *s = iw_sctpmap_replaced(t->map);
	void *owner = s ? iw_dss_owner(s) : NULL;
	struct session_conn *k = owner;

	if (!owner || owner == &requested)
		return;
	iw_loop_session_report(k, false);
	if (ops->release_memory)
		ops->release_memory(t->llp, k->stream, now);
	iw_conn_acked(k->lc.conn, now);
	iw_conn_take_units(k->lc.conn, now);
	iw_loop_note(&t->port->loop->ready, &k->lc.ready);
	iw_loop_conn_kick(&k->lc);
}

void iw_loop_assoc_take_msg(const struct iw_port_msg *m, uint64_t now)
{
	struct iw_loop_assoc *t = m->assoc->user;
	struct iw_dss_segment seg;
	struct iw_dss *s;
	struct session_conn *k;
	void *owner;

	if (iw_unlikely(!t))
		return;
	t->port->loop->near.octets += m->len;
	iw_loop_assoc_touch(t);
	s = iw_sctpmap_receive(t->map, m->stream, m->ppid, m->data, m->len, &seg);
	owner = s ? iw_dss_owner(s) : NULL;
	/* No owner: the session may have begun with this message and replaced another one. */
	if (iw_unlikely(!owner))
		end_replaced(t, now);
	if (!s)
		return;
	/* The session keeps its messages until a connection takes them. */
	if (iw_unlikely(owner == &requested))
		return;
	if (iw_unlikely(!owner)) {
		if (iw_dss_state(s) == IW_DSS_DECIDING)
			queue_request(t, s);
		else
			drop_units(s);
		return;
	}
	k = owner;
	iw_loop_session_arrived(k, m, &seg, now);
	iw_loop_note(&t->port->loop->ready, &k->lc.ready);
	iw_loop_conn_kick(&k->lc);
}

static void acked(struct iw_loop_assoc *t, const struct iw_assoc_event *ev, uint64_t now)
{
	struct iw_dss *s = iw_sctpmap_acked(t->map, ev->stream, ev->n);
	void *owner = s ? iw_dss_owner(s) : NULL;
	struct session_conn *k = owner;

	if (!owner || owner == &requested)
		return;
	iw_conn_acked(k->lc.conn, now);
	iw_loop_note(&t->port->loop->ready, &k->lc.ready);
	if (iw_conn_wants_tx(k->lc.conn))
		iw_loop_conn_kick(&k->lc);
}

static void all_acked(struct iw_loop_assoc *t, uint64_t now)
{
	iw_sctpmap_all_acked(t->map);
	for (struct iw_list *n = t->sessions.next; n != &t->sessions; n = n->next)
		iw_conn_acked(iw_container_of(n, struct session_conn, on_assoc)->lc.conn, now);
	kick_all(t);
}

static void came_up(struct iw_loop_assoc *t, uint64_t now)
{
	struct iw_assoc *a = t->llp;
	struct iw_sctpmap_peer peer = {
		.indicated = a->indicated,
		.adaptation = a->adaptation,
		.in = a->in,
		.out = a->out,
		.window = a->port->window,
	};
	struct iw_fault why;

	iw_loop_assoc_note_facts(t);
	if (iw_sctpmap_up(t->map, &peer, &why) < 0) {
		/* The peer's association is not for DDP (RFC 5043 7.1). */
		t->port->llp->ops->abort(a, NULL, now);
		iw_loop_assoc_lost(t, &why, now);
		return;
	}
	for (struct iw_list *n = t->sessions.next; n != &t->sessions; n = n->next) {
		struct session_conn *k = iw_container_of(n, struct session_conn, on_assoc);

		k->lc.connecting = false;
		iw_loop_session_report(k, true);
		iw_loop_note(&t->port->loop->ready, &k->lc.ready);
	}
	kick_all(t);
}

/* Takes a new association of a listener. Without a listener or memory, aborts it. */
static struct iw_loop_assoc *take_new(struct iw_loop_port *d, struct iw_assoc *a, uint64_t now)
{
	struct iw_loop_assoc *t;

	if (!d->listener || iw_loop_assoc_new(&t, d, &d->listener->map_cfg, NULL) != 0) {
		d->llp->ops->abort(a, NULL, now);
		d->llp->ops->release(a);
		return NULL;
	}
	t->llp = a;
	a->user = t;
	return t;
}

void iw_loop_assoc_take_event(struct iw_loop_port *d, const struct iw_assoc_event *ev, uint64_t now)
{
	struct iw_loop_assoc *t = ev->assoc->user;

	if (!t && ev->what == IW_ASSOC_UP)
		t = take_new(d, ev->assoc, now);
	if (!t)
		return;
	switch (ev->what) {
	case IW_ASSOC_UP:
		came_up(t, now);
		break;
	case IW_ASSOC_MTU:
		iw_loop_assoc_note_facts(t);
		break;
	case IW_ASSOC_ROOM:
		iw_loop_assoc_kick_waiting(t);
		break;
	case IW_ASSOC_ACKED:
		acked(t, ev, now);
		break;
	case IW_ASSOC_ALL_ACKED:
		all_acked(t, now);
		break;
	case IW_ASSOC_DOWN:
		iw_loop_assoc_lost(t, &ev->assoc->why, now);
		break;
	}
	iw_loop_assoc_touch(t);
}

/* --- out -------------------------------------------------------------------------------------- */

void iw_loop_assoc_send_control(struct iw_loop_assoc *t, uint64_t now)
{
	struct iw_sctpmap_msg c;

	while (t->llp && !t->blocked && iw_sctpmap_control(t->map, &c)) {
		struct iw_port_out m = {
			.stream = c.stream,
			.ppid = c.ppid,
			.vec = &(struct iw_vec){ (void *)(uintptr_t)c.data, c.len },
			.nvec = 1,
			.ack_now = c.ack_now,
		};
		int err = t->port->llp->ops->send(t->llp, &m, now);

		if (err < 0) {
			t->blocked = true;
			if (err == IW_E_NOMEM)
				iw_loop_port_rest(t->port, now);
			return;
		}
		iw_sctpmap_control_taken(t->map, c.stream);
	}
}

void iw_loop_assoc_report_held(struct iw_loop_assoc *t)
{
	const struct iw_port_ops *ops = t->port->llp->ops;
	size_t held = iw_sctpmap_held(t->map);

	if (iw_likely(held == t->held) || !ops->held || !t->llp)
		return;
	t->held = held;
	ops->held(t->llp, held);
}
