// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The responder: listeners, and connection requests, from the accepted socket or requested session
 * to the program's answer.
 */
#include "verbs/internal.h"

#include <string.h>

#include "os/os.h"

/* Connections accepted from the system's queue in one turn. */
#define ACCEPT_BUDGET 64
/* How long an accepted connection may wait for its MPA Request before a full listener drops it. */
#define FAIR_NS       IW_SEC(1)

/* ---------------------------------------------------------------- requests */

static void req_free(struct iw_conn_req *req, bool abort)
{
	struct iw_listener *l = req->listener;

	iw_loop_conn_free(req->loop_conn, abort);
	iw_conn_free(req->conn);
	iw_verbs_forget_events(l->ctx, &req->owner.events);
	iw_list_del(&req->all);
	iw_verbs_free(l->ctx, req, sizeof(*req));
	l->nreqs--;
	if (l->full && l->nreqs < l->backlog) {
		l->full = false;
		iw_loop_listener_resume(l->listener);
	}
}

static struct iw_conn_req *req_new(struct iw_listener *l)
{
	struct iw_conn_req *req = iw_verbs_alloc(l->ctx, sizeof(*req));

	if (!req)
		return NULL;
	req->owner.kind = OWNER_REQ;
	iw_list_init(&req->owner.events.link);
	req->listener = l;
	req->since = iw_os_now();
	iw_list_add_tail(&l->reqs, &req->all);
	l->nreqs++;
	return req;
}

/*
 * Creates a request for an accepted connection, which waits for the peer's MPA Request. On failure
 * resets the connection, so that the peer does not wait for a Reply.
 */
static void admit(struct iw_listener *l, struct iw_stream *stream)
{
	struct iw_ctx *ctx = l->ctx;
	struct iw_conn_req *req = req_new(l);
	struct iw_llp_ends ends;
	struct iw_conn_cfg cfg;

	if (!req) {
		stream->ops->close(stream, true);
		return;
	}
	iw_stream_ends(stream, &ends);
	memcpy(req->peer, ends.peer, sizeof(req->peer));
	if (iw_verbs_traced(ctx))
		iw_verbs_trace_connected(ctx, 0, &ends, false);
	iw_verbs_conn_cfg(&cfg, ctx, &l->protocol, false, l->protocol.rev);
	cfg.mpa.unaligned = stream->handshake;
	if (iw_conn_new(&req->conn, &cfg, req->since, NULL) != 0) {
		stream->ops->close(stream, true);
		req_free(req, true);
		return;
	}
	if (iw_loop_stream_new(&req->loop_conn, ctx->loop, stream, req->conn, &req->owner,
			       stream->handshake, NULL) != 0) {
		req->loop_conn = NULL;
		req_free(req, true);
	}
}

/*
 * Creates a request for a session that a peer has requested on an association. On failure refuses
 * the session.
 */
static void admit_session(struct iw_listener *l, struct iw_loop_assoc *assoc,
			  struct iw_dss *session)
{
	struct iw_ctx *ctx = l->ctx;
	struct iw_conn_req *req = req_new(l);
	struct iw_llp_ends ends;
	struct iw_conn_cfg cfg;

	if (!req) {
		iw_dss_release(session);
		return;
	}
	iw_verbs_conn_cfg(&cfg, ctx, &l->protocol, false, l->protocol.rev);
	cfg.session = session;
	if (iw_conn_new(&req->conn, &cfg, req->since, NULL) != 0) {
		iw_dss_release(session);
		req_free(req, true);
		return;
	}
	if (iw_loop_session_new(&req->loop_conn, assoc, req->conn, &req->owner, NULL) != 0) {
		req->loop_conn = NULL;
		req_free(req, true);
		return;
	}
	iw_loop_conn_ends(req->loop_conn, &ends);
	memcpy(req->peer, ends.peer, sizeof(req->peer));
	if (iw_verbs_traced(ctx))
		iw_verbs_trace_connected(ctx, 0, &ends, false);
	iw_verbs_req_collect(req);
}

/*
 * A peer that connects and sends no MPA Request, or does not close after a rejection, must not
 * block other peers: when the backlog is full, aborts the oldest such connection, if it has waited
 * for at least FAIR_NS.
 */
static bool make_room(struct iw_listener *l)
{
	uint64_t now = iw_os_now();

	for (struct iw_list *n = l->reqs.next; n != &l->reqs; n = n->next) {
		struct iw_conn_req *req = iw_container_of(n, struct iw_conn_req, all);

		if (now < req->since + FAIR_NS)
			return false;
		if (!req->offered || req->answered) {
			req_free(req, true);
			return true;
		}
	}
	return false;
}

static void pause_listener(struct iw_listener *l, const char *text)
{
	if (!l->paused && iw_verbs_traced(l->ctx))
		iw_verbs_trace_pause(l, text);
	l->paused = true;
}

void iw_verbs_listener_accept(struct iw_listener *l)
{
	struct iw_dss *session;
	struct iw_loop_assoc *assoc;
	struct iw_fault why;

	if (l->sessions) {
		while (iw_loop_listener_next_session(l->listener, &assoc, &session))
			admit_session(l, assoc, session);
		return;
	}
	for (int budget = ACCEPT_BUDGET; budget > 0; budget--) {
		struct iw_stream *stream;
		int err;

		if (l->nreqs >= l->backlog && !make_room(l)) {
			l->full = true;
			iw_loop_listener_rest(l->listener);
			pause_listener(l, "the connections in set-up have reached the backlog");
			return;
		}
		err = iw_loop_listener_accept(l->listener, &stream, &why);
		if (err == IW_E_AGAIN)
			return;
		if (err == IW_E_LIMIT) {
			pause_listener(l, why.text);
			return;
		}
		l->paused = false;
		if (!err)
			stream = iw_verbs_wrapped(l->ctx, stream, false);
		if (!err && stream)
			admit(l, stream);
	}
}

/*
 * The connection has ended before its request was accepted. A request that the program has taken
 * remains until the program answers it.
 */
static void req_ended(struct iw_conn_req *req, const struct iw_event *ev)
{
	req->fault = ev->fault;
	if (!req->taken || req->answered) {
		req_free(req, ev->abort);
		return;
	}
	iw_loop_conn_free(req->loop_conn, ev->abort);
	req->loop_conn = NULL;
}

void iw_verbs_req_collect(struct iw_conn_req *req)
{
	struct iw_event ev;

	while (iw_conn_next_event(req->conn, &ev)) {
		if (ev.type == IW_EVENT_REQUEST) {
			req->offered = true;
			iw_verbs_event(req->listener->ctx, &req->owner.events,
				       IW_EV_CONNECT_REQUEST);
			if (iw_verbs_traced(req->listener->ctx))
				iw_verbs_trace_request(req->listener->ctx, 0, req);
		} else if (ev.type == IW_EVENT_CLOSED) {
			req_ended(req, &ev);
			return;
		}
	}
}

void iw_req_info(const struct iw_conn_req *req, struct iw_req_info *info)
{
	const struct iw_agreed *p = iw_conn_agreed(req->conn);

	*info = (struct iw_req_info){
		.peer = req->peer,
		.private_data = p->pd,
		.private_data_len = p->pd_len,
		.ird = p->peer_ird,
		.ord = p->peer_ord,
		.rev = p->peer_rev,
		.crc = p->crc,
		.markers = p->tx_markers,
		.peer_to_peer = p->peer_to_peer,
	};
}

/* ---------------------------------------------------------------- answers */

/* Returns the error with which the connection of the request has ended. */
static int conn_error(const struct iw_conn_req *req, struct iw_fault *why)
{
	if (!req->fault.err)
		return iw_fail(why, IW_E_CLOSED, "accept: the peer has closed the connection");
	if (why)
		*why = req->fault;
	return req->fault.err;
}

static int accept_on(struct iw_conn_req *req, struct iw_qp *qp, const struct iw_protocol_attr *p,
		     struct iw_fault *why)
{
	struct iw_conn_cfg cfg;
	int err;

	if (!req->loop_conn)
		return conn_error(req, why);
	if (qp->ctx != req->listener->ctx)
		return iw_fail(why, IW_E_INVAL,
			       "accept: the queue pair belongs to another context");
	if (qp->used)
		return iw_fail(why, IW_E_STATE, "accept: the queue pair was used before");
	iw_verbs_conn_cfg(&cfg, qp->ctx, p, false, p->rev);
	err = iw_conn_accept(req->conn, qp->rdmap, cfg.mpa.offer.ird, cfg.mpa.offer.ord,
			     p->private_data, p->private_data_len, iw_os_now(), why);
	if (err)
		return err;
	qp->conn = req->conn;
	qp->loop_conn = req->loop_conn;
	qp->used = true;
	req->conn = NULL;
	req->loop_conn = NULL;
	iw_loop_conn_set_owner(qp->loop_conn, &qp->owner);
	iw_loop_conn_accepted(qp->loop_conn);
	iw_loop_conn_kick(qp->loop_conn);
	return 0;
}

int iw_req_set_cc(struct iw_conn_req *req, const char *cc, struct iw_fault *why)
{
	struct iw_loop_conn *k = req->adopter ? req->adopter->loop_conn : req->loop_conn;

	return k ? iw_loop_conn_set_cc(k, cc, why) : conn_error(req, why);
}

int iw_accept(struct iw_conn_req *req, struct iw_qp *qp, const struct iw_protocol_attr *protocol,
	      struct iw_fault *why)
{
	struct iw_protocol_attr p;
	struct iw_ctx *ctx;
	int err = 0;

	if (req->adopter)
		return iw_verbs_adopt_accept(req->adopter, qp, protocol, why);
	ctx = req->listener->ctx;
	p = req->listener->protocol;
	if (protocol)
		err = iw_verbs_take_protocol(&p, protocol, iw_verbs_transport(&req->listener->at),
					     "accept", why);
	if (!err)
		err = accept_on(req, qp, &p, why);
	req_free(req, true);
	iw_verbs_sync_wakeups(ctx);
	return err;
}

void iw_reject(struct iw_conn_req *req, const void *private_data, size_t len)
{
	struct iw_ctx *ctx;

	if (req->adopter) {
		iw_verbs_adopt_reject(req->adopter, private_data, len);
		return;
	}
	ctx = req->listener->ctx;
	if (!req->loop_conn) {
		req_free(req, true);
	} else {
		/* It gives way only after the peer had time to read the Reply. */
		req->answered = true;
		req->since = iw_os_now();
		iw_list_del(&req->all);
		iw_list_add_tail(&req->listener->reqs, &req->all);
		iw_conn_reject(req->conn, private_data, len, req->since);
		iw_loop_conn_kick(req->loop_conn);
	}
	iw_verbs_sync_wakeups(ctx);
}

/* ---------------------------------------------------------------- listeners */

/* Over SCTP: the listener takes sessions of associations instead of connections. */
static int listen_on_port(struct iw_listener *l, const struct iw_port_ops *ops,
			  struct iw_fault *why)
{
	struct iw_sctpmap_cfg map;
	struct iw_port_cfg cfg;
	struct iw_port *port;
	int err;

	if (l->at.listen_fd)
		return iw_fail(why, IW_E_INVAL,
			       "listen: listen_fd %u: it needs transport tcp, not %s",
			       (uint32_t)l->at.listen_fd, l->at.transport);
	iw_verbs_port_cfg(&cfg, &l->at, &l->protocol, true);
	cfg.tracer = &l->ctx->tracer;
	err = ops->open(&port, &cfg, why);
	if (err)
		return err;
	iw_verbs_report_stags(l->ctx, port);
	iw_verbs_map_cfg(&map, l->ctx, &l->at, &l->protocol, false);
	l->sessions = true;
	return iw_loop_listener_new_port(&l->listener, l->ctx->loop, port, &map, l, why);
}

static int listen_on_stream(struct iw_listener *l, const char *name, struct iw_fault *why)
{
	const struct iw_stream_ops *ops = iw_stream_find(name);
	struct iw_conn_cfg probe;
	struct iw_conn *tried;
	struct iw_llp_cfg cfg;
	struct iw_stream *stream;
	int err;

	/* Refuse settings now that the engine would refuse for each connection. */
	iw_verbs_conn_cfg(&probe, l->ctx, &l->protocol, false, l->protocol.rev);
	err = iw_conn_new(&tried, &probe, 0, why);
	if (err)
		return err;
	iw_conn_free(tried);
	if (!ops)
		return iw_llp_available(name, why);
	iw_verbs_llp_cfg(&cfg, &l->at, true);
	err = iw_stream_open(&stream, ops, &cfg, why);
	if (err)
		return err;
	return iw_loop_listener_new(&l->listener, l->ctx->loop, stream, l, why);
}

int iw_listen(struct iw_listener **out, struct iw_ctx *ctx, const struct iw_endpoint_attr *at,
	      const struct iw_protocol_attr *protocol, struct iw_fault *why)
{
	const struct iw_port_ops *port_ops;
	struct iw_listener *l;
	const char *name;
	int err;

	*out = NULL;
	l = iw_verbs_alloc(ctx, sizeof(*l));
	if (!l)
		return iw_fail(why, IW_E_NOMEM, "listen: no memory");
	l->ctx = ctx;
	iw_list_init(&l->reqs);
	err = iw_verbs_take_endpoint(&l->at, at, "listen", why);
	if (!err && l->at.beside)
		err = iw_fail(why, IW_E_INVAL,
			      "listen: beside: only iw_connect uses it; set it to NULL");
	if (!err)
		err = iw_verbs_take_protocol(&l->protocol, protocol, iw_verbs_transport(&l->at),
					     "listen", why);
	if (err)
		goto fail;
	l->backlog = l->at.backlog ? l->at.backlog : IW_BACKLOG_DEFAULT;
	l->at.backlog = l->backlog;
	name = iw_verbs_transport(&l->at);
	port_ops = iw_port_find(name);
	err = port_ops ? listen_on_port(l, port_ops, why) : listen_on_stream(l, name, why);
	if (err)
		goto fail;
	iw_loop_listener_ends(l->listener, &l->ends);
	if (l->protocol.private_data_len)
		memcpy(l->private_data, l->protocol.private_data, l->protocol.private_data_len);
	l->protocol.private_data = l->private_data;
	/* Keep only the transport, which iw_accept needs: the other strings were borrowed. */
	l->at = (struct iw_endpoint_attr){ .transport = port_ops ? port_ops->name : "tcp" };
	iw_list_add_tail(&ctx->listeners, &l->all);
	*out = l;
	return 0;
fail:
	iw_verbs_free(ctx, l, sizeof(*l));
	return err;
}

uint16_t iw_listener_port(const struct iw_listener *l)
{
	return l->ends.local_port;
}

uint16_t iw_listener_udp_port(const struct iw_listener *l)
{
	return l->ends.local_udp_port;
}

const char *iw_listener_addr(const struct iw_listener *l)
{
	return l->ends.local;
}

size_t iw_listener_memory(const struct iw_listener *l)
{
	return iw_loop_listener_memory(l->listener);
}

void iw_listener_limit_memory(struct iw_listener *l, size_t octets)
{
	iw_loop_listener_limit_unused(l->listener, octets);
}

void iw_listener_free(struct iw_listener *l)
{
	struct iw_list *n;
	struct iw_ctx *ctx;

	if (!l)
		return;
	ctx = l->ctx;
	l->full = false;
	while ((n = iw_list_first(&l->reqs)))
		req_free(iw_container_of(n, struct iw_conn_req, all), true);
	iw_loop_listener_free(l->listener);
	iw_list_del(&l->all);
	iw_verbs_free(ctx, l, sizeof(*l));
	iw_verbs_sync_wakeups(ctx);
}
