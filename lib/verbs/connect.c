// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The initiator: connects, and makes a second attempt with Rev 1 if the peer seems not to know Rev
 * 2 (RFC 6581 10).
 */
#include "verbs/internal.h"

#include <string.h>

#include "os/os.h"
#include "tls/tls.h"

/* Begins a session on a new association, or on that of another queue pair. */
static int begin_session(struct iw_qp *qp, const struct iw_port_ops *ops,
			 const struct iw_endpoint_attr *at, const struct iw_protocol_attr *p,
			 int rev, uint64_t end, struct iw_fault *why)
{
	struct iw_ctx *ctx = qp->ctx;
	uint64_t began = iw_os_now(), now;
	struct iw_sctpmap_cfg map;
	struct iw_port_cfg to;
	struct iw_conn_cfg cfg;
	struct iw_loop_assoc *assoc;
	struct iw_port *port;
	int err;

	if (at->beside) {
		assoc = at->beside->loop_conn ? iw_loop_conn_assoc(at->beside->loop_conn) : NULL;
		if (!assoc || at->beside->ctx != ctx)
			return iw_fail(why, IW_E_INVAL,
				       "connect: the other queue pair has no association to share");
	} else {
		iw_verbs_port_cfg(&to, at, p, false);
		to.tracer = &ctx->tracer;
		err = ops->open(&port, &to, why);
		if (err)
			return err;
		iw_verbs_report_stags(ctx, port);
		iw_verbs_map_cfg(&map, ctx, at, p, true);
		err = iw_loop_assoc_connect(&assoc, ctx->loop, port, &map, why);
		if (err)
			return err;
	}
	/* The profile of a shared association may lack enhanced sessions: use a plain one. */
	if (rev == 0 && !iw_sctpmap_enhanced(iw_loop_assoc_map(assoc)))
		rev = 1;
	iw_verbs_conn_cfg(&cfg, ctx, p, true, rev);
	cfg.assoc = iw_loop_assoc_map(assoc);
	cfg.rdmap = qp->rdmap;
	/*
	 * The peer gets the whole time from before the port was opened: opening can take long (xdp:
	 * the kernel verifies a program).
	 */
	now = iw_os_now();
	cfg.mpa.timeout_ns = end > began ? end - began : 1;
	err = iw_conn_new(&qp->conn, &cfg, now, why);
	if (!err)
		err = iw_loop_session_new(&qp->loop_conn, assoc, qp->conn, &qp->owner, why);
	if (err) {
		iw_conn_free(qp->conn);
		qp->conn = NULL;
	}
	return err;
}

/* Begins to connect a transport, with a conn that waits for it, and adds both to the loop. */
static int begin(struct iw_qp *qp, const struct iw_endpoint_attr *at,
		 const struct iw_protocol_attr *p, int rev, uint64_t end, struct iw_fault *why)
{
	const char *name = iw_verbs_transport(at);
	const struct iw_port_ops *port_ops = iw_port_find(name);
	struct iw_ctx *ctx = qp->ctx;
	const struct iw_stream_ops *ops;
	struct iw_conn_cfg cfg;
	struct iw_llp_cfg to;
	struct iw_stream *stream;
	uint64_t now;
	int err;

	if (port_ops)
		return begin_session(qp, port_ops, at, p, rev, end, why);
	ops = iw_stream_find(name);
	if (!ops)
		return iw_llp_available(name, why);
	iw_verbs_llp_cfg(&to, at, false);
	/* Resolving a host name uses part of the time for set-up; the conn gets the rest. */
	err = iw_stream_open(&stream, ops, &to, why);
	if (err)
		return err;
	stream = iw_verbs_wrapped(ctx, stream, true);
	if (!stream)
		return iw_fail(why, IW_E_NOMEM, "connect: no memory");
	now = iw_os_now();
	iw_verbs_conn_cfg(&cfg, ctx, p, true, rev);
	cfg.rdmap = qp->rdmap;
	cfg.mpa.unaligned = at->tls != NULL;
	cfg.mpa.timeout_ns = end > now ? end - now : 1;
	err = iw_conn_new(&qp->conn, &cfg, now, why);
	if (err) {
		stream->ops->close(stream, true);
		return err;
	}
	err = iw_loop_stream_new(&qp->loop_conn, ctx->loop, stream, qp->conn, &qp->owner, true,
				 why);
	if (err) {
		iw_conn_free(qp->conn);
		qp->conn = NULL;
	}
	return err;
}

/* ---------------------------------------------------------------- the second attempt */

static const char *keep(char **at, const char *text)
{
	size_t size = text ? strlen(text) + 1 : 0;
	const char *kept = *at;

	if (!text)
		return NULL;
	memcpy(*at, text, size);
	*at += size;
	return kept;
}

static size_t text_size(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

/*
 * Octets for the address of the peer that answered. The second attempt connects to this address
 * instead of the host.
 */
#define PEER_ROOM sizeof(((struct iw_llp_ends *)0)->peer)

static int make_plan(struct iw_qp *qp, const struct iw_endpoint_attr *to,
		     const struct iw_protocol_attr *p, uint64_t end, struct iw_fault *why)
{
	/* The host becomes an address, which the certificate need not have. */
	const char *tls_name = to->tls && !to->tls_name ? to->host : to->tls_name;
	size_t size = sizeof(struct connect_plan) + PEER_ROOM + text_size(to->transport) +
		      text_size(to->bind_addr) + text_size(to->interface) + text_size(to->cc) +
		      text_size(tls_name) + p->private_data_len;
	struct connect_plan *plan = iw_verbs_alloc(qp->ctx, size);
	char *at;

	if (!plan)
		return iw_fail(why, IW_E_NOMEM, "connect: no memory");
	plan->size = size;
	plan->end = end;
	plan->to = *to;
	plan->protocol = *p;
	at = plan->text + PEER_ROOM;
	plan->to.host = plan->text;
	/*
	 * The second attempt begins an association of its own: the shared one may end with its last
	 * connection.
	 */
	plan->to.beside = NULL;
	plan->to.transport = keep(&at, to->transport);
	plan->to.bind_addr = keep(&at, to->bind_addr);
	plan->to.interface = keep(&at, to->interface);
	plan->to.cc = keep(&at, to->cc);
	plan->to.tls_name = keep(&at, tls_name);
	if (to->tls)
		iw_tls_creds_get(to->tls);
	if (p->private_data_len) {
		memcpy(at, p->private_data, p->private_data_len);
		plan->protocol.private_data = at;
	}
	qp->plan = plan;
	return 0;
}

static void free_plan(struct iw_ctx *ctx, struct connect_plan *plan)
{
	iw_tls_creds_put(plan->to.tls);
	iw_verbs_free(ctx, plan, plan->size);
}

void iw_verbs_drop_plan(struct iw_qp *qp)
{
	if (qp->plan)
		free_plan(qp->ctx, qp->plan);
	qp->plan = NULL;
}

bool iw_verbs_fall_back(struct iw_qp *qp)
{
	struct connect_plan *plan = qp->plan;
	struct iw_llp_ends ends;
	struct iw_fault why;
	char *colon;

	if (!plan || !iw_conn_retry_rev1(qp->conn))
		return false;
	if (iw_verbs_traced(qp->ctx))
		iw_verbs_trace_retry(qp);
	/* Remove the port of "192.0.2.1:7471" or "[::1]:7471". */
	iw_loop_conn_ends(qp->loop_conn, &ends);
	memcpy(plan->text, ends.peer, PEER_ROOM);
	colon = strrchr(plan->text, ':');
	if (colon)
		*colon = '\0';
	qp->plan = NULL;
	iw_loop_conn_free(qp->loop_conn, true);
	iw_conn_free(qp->conn);
	qp->loop_conn = NULL;
	qp->conn = NULL;
	qp->traced_connected = false;
	if (begin(qp, &plan->to, &plan->protocol, 1, plan->end, &why) != 0)
		iw_verbs_qp_end(qp, &why, true);
	free_plan(qp->ctx, plan);
	return true;
}

/* ---------------------------------------------------------------- the first attempt */

/* Refuses a setting that iw_connect would ignore, although the program expects an effect. */
static int check(const struct iw_endpoint_attr *e, struct iw_fault *why)
{
	bool negative = e->listen_fd < 0;

	if (e->listen_fd)
		return iw_fail(why, IW_E_INVAL,
			       "connect: listen_fd %s%u: only iw_listen uses it; set it to 0",
			       negative ? "-" : "",
			       negative ? 0u - (uint32_t)e->listen_fd : (uint32_t)e->listen_fd);
	if (e->beside && strcmp(iw_verbs_transport(e), "tcp") == 0)
		return iw_fail(
			why, IW_E_INVAL,
			"connect: beside: needs transport sctp, udp, raw or xdp, not tcp; set it to NULL");
	return 0;
}

int iw_connect(struct iw_qp *qp, const struct iw_endpoint_attr *to,
	       const struct iw_protocol_attr *protocol, struct iw_fault *why)
{
	uint64_t end = iw_time_add(iw_os_now(), qp->ctx->setup_ns);
	struct iw_endpoint_attr e;
	struct iw_protocol_attr p;
	int err;

	if (qp->used)
		return iw_fail(why, IW_E_STATE, "connect: the queue pair was used before");
	err = iw_verbs_take_endpoint(&e, to, "connect", why);
	if (!err)
		err = check(&e, why);
	if (!err)
		err = iw_verbs_take_protocol(&p, protocol, iw_verbs_transport(&e), "connect", why);
	if (err)
		return err;
	/* Rev 1 has no RTR: with peer_to_peer, an error is better than a connection without RTR. */
	if (p.rev == 0 && !p.peer_to_peer) {
		err = make_plan(qp, &e, &p, end, why);
		if (err)
			return err;
	}
	err = begin(qp, &e, &p, p.rev, end, why);
	if (err) {
		iw_verbs_drop_plan(qp);
		return err;
	}
	qp->used = qp->initiator = true;
	return 0;
}
