// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A connection over a DDP stream session (RFC 5043) of an association: sends its segments as
 * messages of the session's SCTP stream.
 */
#include "loop/loop.h"

#include "loop/internal.h"
#include "os/os.h"
#include "util/text.h"

/* Messages that a connection may send before the next one is served. */
#define TX_BUDGET 256
/* A message with a Send of IW_LOAN_MIN octets. */
#define LEND_MIN  (IW_LOAN_MIN + IW_SCTP_SSN_LEN + IW_DDP_UNTAGGED_LEN)

static struct session_conn *session_of(struct iw_loop_conn *lc)
{
	return iw_container_of(lc, struct session_conn, lc);
}

void iw_loop_session_report(const struct session_conn *k, bool on)
{
	const struct iw_rdmap *r = iw_conn_rdmap(k->lc.conn);
	struct iw_assoc *a = k->assoc->llp;
	const struct iw_port_ops *ops = k->assoc->port->llp->ops;

	/*
	 * A responder's session has no DDP stream before it is accepted (r is NULL). An association
	 * has no streams before it is up.
	 */
	if (!ops->session || !a || !r || (on && !a->up))
		return;
	ops->session(a, k->stream, on ? iw_rdmap_pd(r) : 0, on ? iw_rdmap_stream(r) : 0);
}

void iw_loop_session_arrived(struct session_conn *k, const struct iw_port_msg *m,
			     const struct iw_dss_segment *seg, uint64_t now)
{
	struct iw_loop *l = k->lc.loop;
	struct iw_port *p = m->assoc->port;
	struct iw_lend lend = { 0 };

	if (m->lendable && m->len >= LEND_MIN)
		lend.loan = iw_loop_next_loan(l);
	iw_conn_arrived(k->lc.conn, seg, lend.loan ? &lend : NULL, now);
	if (lend.taken)
		iw_loop_lend(l, p->ops->lend(p, m->data), m->data);
}

static size_t length(const struct iw_conn_msg *c)
{
	size_t len = c->hdr_len;

	for (size_t i = 0; i < c->nvec; i++)
		len += c->vec[i].len;
	return len;
}

static void send_segments(struct session_conn *k, uint64_t now)
{
	struct iw_loop_assoc *t = k->assoc;
	const struct iw_conn_msg *c;
	int budget = TX_BUDGET;

	while (t->llp && t->llp->up && !t->blocked && (c = iw_conn_next_msg(k->lc.conn, now))) {
		struct iw_port_out m = {
			.stream = c->stream,
			.ppid = c->ppid,
			.hdr = c->hdr,
			.hdr_len = c->hdr_len,
			.vec = c->vec,
			.nvec = c->nvec,
			.keep = c->kept,
			.last = c->last,
		};
		int err = t->port->llp->ops->send(t->llp, &m, now);

		if (err < 0) {
			iw_conn_msg_refused(k->lc.conn);
			t->blocked = true;
			if (err == IW_E_NOMEM)
				iw_loop_port_rest(t->port, now);
			break;
		}
		k->lc.loop->near.octets += length(c);
		iw_conn_msg_taken(k->lc.conn, err == IW_PORT_KEPT, now);
		if (--budget == 0) {
			iw_loop_conn_kick(&k->lc);
			return;
		}
	}
	if (t->blocked)
		iw_loop_note(&t->waiting, &k->waiting);
}

/* --- the operations of a session -------------------------------------------------------------- */

static void session_serve(struct iw_loop_conn *lc, uint64_t now)
{
	struct session_conn *k = session_of(lc);

	if (!iw_loop_conn_over(lc))
		send_segments(k, now);
	iw_loop_assoc_touch(k->assoc);
	iw_loop_conn_settle(lc, IW_TIME_NEVER, now);
}

static bool no_answer(const struct iw_loop_assoc *t, uint64_t waited, struct iw_fault *why)
{
	const struct iw_port_ops *ops = t->port->llp->ops;

	if (!t->llp || t->llp->up || !ops->no_answer)
		return false;
	ops->no_answer(t->llp, waited, why);
	return true;
}

static void session_timer(struct iw_loop_conn *lc, uint64_t now)
{
	const struct session_conn *k = session_of(lc);
	struct iw_fault why;

	if (!iw_loop_conn_over(lc) && now >= iw_conn_deadline(lc->conn)) {
		if (lc->connecting && no_answer(k->assoc, iw_conn_whole_setup_ns(lc->conn), &why))
			iw_conn_lost(lc->conn, &why, now);
		else
			iw_conn_timeout(lc->conn, now);
	}
	iw_loop_conn_set_timer(lc, IW_TIME_NEVER, now);
	session_serve(lc, now);
}

static void session_free(struct iw_loop_conn *lc, bool abort)
{
	struct session_conn *k = session_of(lc);
	struct iw_dss *s = iw_conn_session(lc->conn);
	struct iw_loop_assoc *t = k->assoc;
	const struct iw_port_ops *ops = t->port->llp->ops;

	(void)abort; /* the association outlives the session */
	/* Another session may use the SCTP stream by now. */
	if (iw_loop_assoc_is_of(t, k))
		iw_loop_session_report(k, false);
	/* The operations of the connection complete now, so the program may reuse their memory. */
	if (t->llp && ops->release_memory)
		ops->release_memory(t->llp, k->stream, iw_os_now());
	/* The conn and its session may outlive k, because the program can still query them. */
	if (s)
		iw_dss_set_owner(s, NULL);
	iw_list_del(&k->on_assoc);
	iw_list_del(&k->waiting);
	t->open -= k->accepted;
	iw_loop_assoc_touch(t);
	iw_loop_kick_wakeup(lc->loop);
	iw_mem_free(lc->loop->mem, k, sizeof(*k));
}

static void session_ends(struct iw_loop_conn *lc, struct iw_llp_ends *out)
{
	iw_loop_assoc_ends(session_of(lc)->assoc, out);
}

static void session_facts(struct iw_loop_conn *lc, struct iw_llp_facts *out)
{
	iw_loop_assoc_facts(session_of(lc)->assoc, out);
}

static bool session_tls(struct iw_loop_conn *lc, struct iw_tls_info *out)
{
	return iw_loop_assoc_tls(session_of(lc)->assoc, out);
}

static int session_set_cc(struct iw_loop_conn *lc, const char *name, struct iw_fault *why)
{
	return iw_loop_assoc_set_cc(session_of(lc)->assoc, name, why);
}

static void session_accepted(struct iw_loop_conn *lc)
{
	struct session_conn *k = session_of(lc);
	struct iw_loop_assoc *t = k->assoc;

	k->accepted = t->served = true;
	t->open++;
	iw_loop_session_report(k, true);
	iw_loop_assoc_touch(t);
}

/* True if k is the first accepted connection of its association. */
static bool is_first_accepted(const struct session_conn *k)
{
	struct iw_list *n = k->on_assoc.prev;

	while (n != &k->assoc->sessions &&
	       !iw_container_of(n, struct session_conn, on_assoc)->accepted)
		n = n->prev;
	return k->accepted && n == &k->assoc->sessions;
}

static size_t session_memory(struct iw_loop_conn *lc)
{
	const struct session_conn *k = session_of(lc);

	return is_first_accepted(k) ? iw_loop_assoc_memory(k->assoc) : 0;
}

static struct iw_loop_assoc *session_assoc(struct iw_loop_conn *lc)
{
	return session_of(lc)->assoc;
}

static const struct conn_ops session_ops = {
	.serve = session_serve,
	.timer = session_timer,
	.free = session_free,
	.ends = session_ends,
	.facts = session_facts,
	.tls = session_tls,
	.set_cc = session_set_cc,
	.accepted = session_accepted,
	.memory = session_memory,
	.assoc = session_assoc,
};

int iw_loop_session_new(struct iw_loop_conn **out, struct iw_loop_assoc *t, struct iw_conn *conn,
			void *owner, struct iw_fault *why)
{
	struct iw_loop *l = t->port->loop;
	struct session_conn *k = iw_mem_alloc(l->mem, sizeof(*k));
	struct iw_dss *s = iw_conn_session(conn);
	uint64_t now = iw_os_now();
	int err;

	if (!k)
		return iw_fail(why, IW_E_NOMEM, "loop: no memory for a connection");
	k->assoc = t;
	k->stream = iw_dss_stream(s);
	iw_list_init(&k->on_assoc);
	iw_list_init(&k->waiting);
	iw_loop_conn_init(&k->lc, &session_ops, WATCH_SESSION, l, conn, owner);
	k->lc.connecting = !t->llp || !t->llp->up;
	err = iw_loop_conn_add_timer(&k->lc, IW_TIME_NEVER, now, why);
	if (err) {
		l->conns--;
		iw_mem_free(l->mem, k, sizeof(*k));
		return err;
	}
	iw_list_add_tail(&t->sessions, &k->on_assoc);
	iw_dss_set_owner(s, k);
	iw_loop_session_report(k, true);
	/* Process the messages that arrived before the session had a connection. */
	iw_conn_take_units(conn, now);
	iw_loop_conn_kick(&k->lc);
	*out = &k->lc;
	return 0;
}
