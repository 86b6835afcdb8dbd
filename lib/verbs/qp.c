// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Queue pairs: create, free and end them; process the events and completions of the engine. */
#include "verbs/internal.h"

#include <string.h>

#include "os/os.h"
#include "util/text.h"

/*
 * Returns a stream number that no other queue pair of the context has, never 0. Numbers are not
 * reused soon, because a region may outlive the stream for which it was registered.
 */
static uint32_t new_stream(struct iw_ctx *ctx)
{
	bool taken;

	do {
		taken = false;
		if (++ctx->last_stream == 0) {
			ctx->streams_wrapped = true;
			continue;
		}
		if (!ctx->streams_wrapped)
			break;
		for (struct iw_list *n = ctx->qps.next; n != &ctx->qps && !taken; n = n->next) {
			const struct iw_qp *qp = iw_container_of(n, struct iw_qp, all);

			taken = iw_rdmap_stream(qp->rdmap) == ctx->last_stream;
		}
	} while (ctx->last_stream == 0 || taken);
	return ctx->last_stream;
}

static int reserve(struct iw_qp *qp, struct iw_fault *why)
{
	int err = iw_verbs_cq_reserve(qp->send_cq, qp->sq_depth, why);

	if (err)
		return err;
	err = iw_verbs_cq_reserve(qp->recv_cq, qp->rq_depth, why);
	if (err)
		iw_verbs_cq_unreserve(qp->send_cq, qp, qp->sq_depth);
	return err;
}

static void unreserve(struct iw_qp *qp)
{
	iw_verbs_cq_unreserve(qp->send_cq, qp, qp->sq_depth);
	iw_verbs_cq_unreserve(qp->recv_cq, qp, qp->rq_depth);
	/* The queue may be empty now, and the program might not poll an empty queue. */
	iw_verbs_cq_feed(qp->send_cq);
	iw_verbs_cq_feed(qp->recv_cq);
}

static void *counted_alloc(void *ctx, size_t size)
{
	struct iw_qp *qp = ctx;
	void *p = iw_mem_alloc(&qp->ctx->mem, size);

	qp->held += p ? size : 0;
	return p;
}

static void counted_free(void *ctx, void *p, size_t size)
{
	struct iw_qp *qp = ctx;

	qp->held -= p ? size : 0;
	iw_mem_free(&qp->ctx->mem, p, size);
}

int iw_qp_new(struct iw_qp **out, struct iw_pd *pd, const struct iw_qp_attr *attr,
	      struct iw_fault *why)
{
	struct iw_ctx *ctx = pd->ctx;
	struct iw_qp_attr a;
	struct iw_qp *qp;
	int err;

	*out = NULL;
	err = iw_verbs_take(&a, sizeof(a), attr, attr ? attr->size : 0, "struct iw_qp_attr", why);
	if (err)
		return err;
	if (!a.send_cq || !a.recv_cq || a.send_cq->ctx != ctx || a.recv_cq->ctx != ctx)
		return iw_fail(why, IW_E_INVAL,
			       "queue pair: send_cq and recv_cq of the same context are needed");
	qp = iw_verbs_alloc(ctx, sizeof(*qp));
	if (!qp)
		return iw_fail(why, IW_E_NOMEM, "queue pair: no memory");
	qp->owner.kind = OWNER_QP;
	iw_list_init(&qp->owner.events.link);
	iw_list_init(&qp->starved);
	qp->ctx = ctx;
	qp->mem = (struct iw_mem){ counted_alloc, counted_free, qp };
	qp->pd = pd;
	qp->user = a.user;
	qp->send_cq = a.send_cq;
	qp->recv_cq = a.recv_cq;
	qp->sq_depth = a.sq_depth ? a.sq_depth : IW_DEPTH_DEFAULT;
	qp->rq_depth = a.rq_depth ? a.rq_depth : IW_DEPTH_DEFAULT;
	err = iw_rdmap_new(&qp->rdmap,
			   &(struct iw_rdmap_cfg){
				   .mem = &qp->mem,
				   .stags = ctx->stags,
				   .pd = pd->number,
				   .stream = new_stream(ctx),
				   .sq_depth = qp->sq_depth,
				   .rq_depth = qp->rq_depth,
				   /* allocated when a segment arrives early */
				   .early_max = IW_SCTPMAP_WINDOW,
				   .loans = a.loans,
				   .tracer = &ctx->tracer,
			   },
			   why);
	if (err)
		goto fail_qp;
	err = reserve(qp, why);
	if (err)
		goto fail_rdmap;
	pd->users++;
	iw_list_add_tail(&ctx->qps, &qp->all);
	*out = qp;
	return 0;
fail_rdmap:
	iw_rdmap_free(qp->rdmap);
fail_qp:
	iw_verbs_free(ctx, qp, sizeof(*qp));
	return err;
}

/* Returns the loans of completions that are still in the rdmap, because their queue was full. */
static void return_loans(struct iw_qp *qp)
{
	struct iw_completion c;

	while (iw_rdmap_next_completion(qp->rdmap, &c))
		if (c.loan)
			(void)!iw_loop_loan_return(qp->ctx->loop, c.loan, NULL);
}

void iw_qp_free(struct iw_qp *qp)
{
	struct iw_ctx *ctx;

	if (!qp)
		return;
	ctx = qp->ctx;
	iw_loop_conn_free(qp->loop_conn, true);
	iw_conn_free(qp->conn);
	return_loans(qp);
	iw_rdmap_free(qp->rdmap);
	iw_verbs_drop_plan(qp);
	if (qp->adoption)
		iw_verbs_free(ctx, qp->adoption, sizeof(*qp->adoption));
	iw_verbs_forget_events(ctx, &qp->owner.events);
	iw_list_del(&qp->starved);
	unreserve(qp);
	iw_list_del(&qp->all);
	qp->pd->users--;
	iw_verbs_free(ctx, qp, sizeof(*qp));
	iw_verbs_sync_wakeups(ctx);
}

void *iw_qp_user(const struct iw_qp *qp)
{
	return qp->user;
}

/* ---------------------------------------------------------------- events and completions */

void iw_verbs_qp_complete(struct iw_qp *qp)
{
	struct iw_completion c;

	for (;;) {
		struct iw_cq *full = iw_verbs_cq_full(qp->send_cq)   ? qp->send_cq
				     : iw_verbs_cq_full(qp->recv_cq) ? qp->recv_cq
								     : NULL;

		if (iw_unlikely(full != NULL)) {
			iw_list_del(&qp->starved);
			iw_list_add_tail(&full->starved, &qp->starved);
			return;
		}
		if (!iw_rdmap_next_completion(qp->rdmap, &c))
			break;
		iw_verbs_cq_push(c.kind == IW_OPK_RECV ? qp->recv_cq : qp->send_cq, qp, &c);
		if (iw_verbs_traced(qp->ctx))
			iw_verbs_trace_completion(qp, &c);
	}
	if (iw_unlikely(qp->ended && !qp->closed_queued)) {
		qp->closed_queued = true;
		iw_verbs_event(qp->ctx, &qp->owner.events, IW_EV_CLOSED);
	}
}

/* Copies what iw_qp_info reports of the transport, before the transport is freed. */
static void keep_facts(struct iw_qp *qp)
{
	iw_loop_conn_ends(qp->loop_conn, &qp->ends);
	iw_loop_conn_facts(qp->loop_conn, &qp->facts);
	qp->encrypted = iw_loop_conn_tls(qp->loop_conn, &qp->tls);
}

/*
 * Adds the peer's address to the fault of an initiator whose connection was never established,
 * unless the text names it already ("connect to ...").
 */
static void name_peer(struct iw_qp *qp)
{
	struct iw_fault *why = &qp->fault, named;

	if (!qp->initiator || qp->established || !qp->ends.peer[0] || why->err == 0 ||
	    why->err == IW_E_CANCELED || strncmp(why->text, "connect to ", 11) == 0 ||
	    strstr(why->text, qp->ends.peer))
		return;
	(void)iw_fail(&named, why->err, "connect to %s: %s", qp->ends.peer,
		      why->text[0] ? why->text : iw_err_text(why->err));
	memcpy(why->text, named.text, sizeof(why->text));
}

void iw_verbs_qp_end(struct iw_qp *qp, const struct iw_fault *why, bool abort)
{
	if (qp->ended)
		return;
	if (why)
		qp->fault = *why;
	if (qp->loop_conn)
		keep_facts(qp);
	if (why)
		name_peer(qp);
	iw_loop_conn_free(qp->loop_conn, abort);
	qp->loop_conn = NULL;
	iw_verbs_drop_plan(qp);
	/*
	 * A conn that has ended has flushed the rdmap. Without one (never connected, or the second
	 * attempt failed), this call does.
	 */
	iw_rdmap_flush(qp->rdmap, qp->fault.err ? qp->fault.err : IW_E_CANCELED);
	qp->used = qp->ended = true;
	if (iw_verbs_traced(qp->ctx))
		iw_verbs_trace_end(qp);
}

static void take_event(struct iw_qp *qp, const struct iw_event *ev)
{
	struct iw_ctx *ctx = qp->ctx;

	switch (ev->type) {
	case IW_EVENT_REQUEST: /* adopted; requests of a listener have no queue pair */
		iw_verbs_adopt_request(qp);
		break;
	case IW_EVENT_ESTABLISHED:
		qp->established = true;
		iw_verbs_adopt_kept(qp);
		iw_verbs_drop_plan(qp);
		iw_verbs_event(ctx, &qp->owner.events, IW_EV_ESTABLISHED);
		if (iw_verbs_traced(ctx))
			iw_verbs_trace_established(qp);
		break;
	case IW_EVENT_REJECTED:
		if (iw_verbs_fall_back(qp))
			break;
		qp->fault = ev->fault;
		if (qp->loop_conn)
			keep_facts(qp);
		name_peer(qp);
		iw_verbs_event(ctx, &qp->owner.events, IW_EV_REJECTED);
		if (iw_verbs_traced(ctx))
			iw_verbs_trace_rejected(qp);
		break;
	case IW_EVENT_PEER_CLOSED:
		iw_verbs_event(ctx, &qp->owner.events, IW_EV_PEER_CLOSED);
		break;
	case IW_EVENT_CLOSED:
		if (!iw_verbs_fall_back(qp))
			iw_verbs_qp_end(qp, &ev->fault, ev->abort);
		break;
	}
}

void iw_verbs_qp_collect(struct iw_qp *qp)
{
	struct iw_event ev;

	/* A second attempt replaces qp->conn within this loop. */
	while (!qp->ended && iw_conn_next_event(qp->conn, &ev))
		take_event(qp, &ev);
	if (iw_verbs_traced(qp->ctx))
		iw_verbs_trace_state(qp);
	iw_verbs_qp_complete(qp);
}

void iw_verbs_cq_feed(struct iw_cq *cq)
{
	struct iw_list *n;

	while (!iw_verbs_cq_full(cq) && (n = iw_list_first(&cq->starved))) {
		iw_list_del(n);
		iw_verbs_qp_collect(iw_container_of(n, struct iw_qp, starved));
	}
}

/* ---------------------------------------------------------------- ends */

static bool nothing_to_end(struct iw_qp *qp)
{
	if (qp->ended)
		return true;
	iw_verbs_drop_plan(qp);
	if (qp->conn)
		return false;
	iw_verbs_qp_end(qp, NULL, true);
	iw_verbs_qp_complete(qp);
	iw_verbs_sync_wakeups(qp->ctx);
	return true;
}

void iw_disconnect(struct iw_qp *qp)
{
	if (nothing_to_end(qp))
		return;
	iw_conn_close(qp->conn, iw_os_now());
	iw_loop_conn_kick(qp->loop_conn);
}

void iw_abort(struct iw_qp *qp)
{
	if (nothing_to_end(qp))
		return;
	iw_conn_abort(qp->conn, iw_os_now());
	iw_loop_conn_kick(qp->loop_conn);
}
