// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Emits the traced events of connection management and of work requests; sets the tracer. */
#include "verbs/internal.h"

void iw_verbs_trace_listeners(struct iw_ctx *ctx, bool probes)
{
	ctx->trace_sink.probes = probes;
	ctx->tracer.emit = probes || ctx->trace_sink.line ? iw_trace_emit : NULL;
	ctx->tracer.ctx = &ctx->trace_sink;
}

static void emit(const struct iw_ctx *ctx, uint32_t stream, struct iw_trace_event *ev)
{
	ev->stream = stream;
	iw_trace(&ctx->tracer, ev);
}

static uint32_t stream_of(const struct iw_qp *qp)
{
	return iw_rdmap_stream(qp->rdmap);
}

/* Returns the addresses and counts of the transport, or the copies made before it was freed. */
static struct iw_llp_ends ends_of(const struct iw_qp *qp)
{
	struct iw_llp_ends ends = qp->ends;

	if (qp->loop_conn)
		iw_loop_conn_ends(qp->loop_conn, &ends);
	return ends;
}

void iw_verbs_trace_connected(struct iw_ctx *ctx, uint32_t stream, const struct iw_llp_ends *ends,
			      bool initiator)
{
	struct iw_trace_event ev = { .kind = IW_TRACE_connected };

	ev.connected.initiator = initiator;
	ev.connected.local = ends->local;
	ev.connected.peer = ends->peer;
	ev.connected.emss_octets = ends->emss;
	emit(ctx, stream, &ev);
}

void iw_verbs_trace_request(struct iw_ctx *ctx, uint32_t stream, const struct iw_conn_req *req)
{
	const struct iw_agreed *p = iw_conn_agreed(req->conn);
	struct iw_trace_event ev = { .kind = IW_TRACE_request };

	ev.request.peer = req->peer;
	ev.request.rev = p->peer_rev;
	ev.request.crc = p->crc;
	ev.request.markers = p->tx_markers;
	ev.request.peer_to_peer = p->peer_to_peer;
	ev.request.peer_ird = p->peer_ird;
	ev.request.peer_ord = p->peer_ord;
	ev.request.private_data_octets = p->pd_len;
	emit(ctx, stream, &ev);
}

void iw_verbs_trace_established(const struct iw_qp *qp)
{
	struct iw_trace_event ev = { .kind = IW_TRACE_established };
	struct iw_qp_info i;

	iw_qp_info(qp, &i);
	ev.established.initiator = qp->initiator;
	ev.established.peer = i.peer;
	ev.established.rev = i.rev;
	ev.established.crc = i.crc;
	ev.established.tx_markers = i.tx_markers;
	ev.established.rx_markers = i.rx_markers;
	ev.established.ird = i.ird;
	ev.established.ord = i.ord;
	ev.established.rtr = i.rtr;
	ev.established.emss_octets = i.emss;
	ev.established.mulpdu_octets = i.mulpdu;
	ev.established.large_fpdus = i.large_fpdus;
	ev.established.private_data_octets = i.private_data_len;
	emit(qp->ctx, stream_of(qp), &ev);
}

void iw_verbs_trace_rejected(const struct iw_qp *qp)
{
	struct iw_llp_ends ends = ends_of(qp);
	struct iw_trace_event ev = { .kind = IW_TRACE_rejected };

	ev.rejected.peer = ends.peer;
	ev.rejected.private_data_octets = iw_conn_agreed(qp->conn)->pd_len;
	emit(qp->ctx, stream_of(qp), &ev);
}

void iw_verbs_trace_retry(const struct iw_qp *qp)
{
	struct iw_llp_ends ends = ends_of(qp);
	struct iw_trace_event ev = { .kind = IW_TRACE_retry };

	ev.retry.peer = ends.peer;
	ev.retry.rev = 1;
	ev.retry.text = "the peer seems not to support Rev 2 (RFC 6581 10)";
	emit(qp->ctx, stream_of(qp), &ev);
}

void iw_verbs_trace_state(struct iw_qp *qp)
{
	struct iw_trace_event ev = { .kind = IW_TRACE_state };
	enum iw_conn_state now;
	struct iw_llp_ends ends;

	if (!qp->conn)
		return;
	if (qp->initiator && qp->loop_conn && !qp->traced_connected &&
	    !iw_loop_conn_connecting(qp->loop_conn)) {
		qp->traced_connected = true;
		ends = ends_of(qp);
		iw_verbs_trace_connected(qp->ctx, stream_of(qp), &ends, true);
	}
	now = iw_conn_state(qp->conn);
	if (now == qp->traced)
		return;
	ev.state.from = iw_conn_state_name(qp->traced);
	ev.state.to = iw_conn_state_name(now);
	qp->traced = now;
	emit(qp->ctx, stream_of(qp), &ev);
}

static const char *op_name(enum iw_op_kind kind)
{
	static const char *const names[] = { [IW_OPK_SEND] = "send",
					     [IW_OPK_WRITE] = "write",
					     [IW_OPK_READ] = "read",
					     [IW_OPK_RECV] = "recv" };

	return names[kind];
}

void iw_verbs_trace_posted(const struct iw_qp *qp, const struct iw_op *op)
{
	struct iw_trace_event ev = { .kind = IW_TRACE_posted };

	ev.posted.op = op_name(op->kind);
	ev.posted.wr_id = op->cookie;
	ev.posted.octets = op->len;
	for (size_t i = 0; i < op->nsge; i++)
		ev.posted.octets += op->sge[i].len;
	emit(qp->ctx, stream_of(qp), &ev);
}

void iw_verbs_trace_completion(const struct iw_qp *qp, const struct iw_completion *c)
{
	struct iw_trace_event ev = { .kind = IW_TRACE_completion };

	ev.completion.op = op_name(c->kind);
	ev.completion.wr_id = c->cookie;
	ev.completion.octets = c->status == 0 ? c->octets : 0;
	ev.completion.status = c->status ? iw_err_name(c->status) : "OK";
	emit(qp->ctx, stream_of(qp), &ev);
}

static void trace_fault(const struct iw_qp *qp)
{
	const struct iw_fault *f = &qp->fault;
	struct iw_trace_event ev;

	if (f->term != IW_NOTERM) {
		ev = (struct iw_trace_event){ .kind = IW_TRACE_terminate };
		ev.terminate.from_peer = f->from_peer;
		ev.terminate.layer = IW_TERM_LAYER(f->term);
		ev.terminate.etype = IW_TERM_ETYPE(f->term);
		ev.terminate.code = IW_TERM_CODE(f->term);
		ev.terminate.error = iw_err_name(f->err);
		ev.terminate.clause = f->clause ? f->clause : "";
		ev.terminate.text = f->text;
	} else {
		ev = (struct iw_trace_event){ .kind = IW_TRACE_fault };
		ev.fault.error = iw_err_name(f->err);
		ev.fault.clause = f->clause ? f->clause : "";
		ev.fault.text = f->text;
	}
	emit(qp->ctx, stream_of(qp), &ev);
}

void iw_verbs_trace_end(const struct iw_qp *qp)
{
	struct iw_trace_event ev = { .kind = IW_TRACE_closed };
	struct iw_qp_info i;

	if (qp->fault.err)
		trace_fault(qp);
	iw_qp_info(qp, &i);
	ev.closed.peer = i.peer;
	ev.closed.error = qp->fault.err ? iw_err_name(qp->fault.err) : "OK";
	ev.closed.tx_octets = i.tx_octets;
	ev.closed.rx_octets = i.rx_octets;
	ev.closed.tx_fpdus = i.tx_fpdus;
	ev.closed.rx_fpdus = i.rx_fpdus;
	ev.closed.tx_calls = i.tx_sends;
	ev.closed.rx_calls = i.rx_sends;
	emit(qp->ctx, stream_of(qp), &ev);
}

void iw_verbs_trace_pause(const struct iw_listener *l, const char *text)
{
	struct iw_trace_event ev = { .kind = IW_TRACE_accept_paused };

	ev.accept_paused.local = l->ends.local;
	ev.accept_paused.text = text;
	emit(l->ctx, 0, &ev);
}
