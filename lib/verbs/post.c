// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Posts work requests. */
#include "verbs/internal.h"

#include "os/os.h"

_Static_assert(IW_SGE_MAX == IW_RDMAP_SGE_MAX, "pieces of an operation");
_Static_assert(IW_DEPTH_MAX == IW_RDMAP_DEPTH_MAX, "operations of a queue");
_Static_assert((int)IW_WR_SOLICITED == IW_OPF_SOLICITED &&
		       (int)IW_WR_INVALIDATE == IW_OPF_INVALIDATE &&
		       (int)IW_WR_FENCE == IW_OPF_FENCE &&
		       (int)IW_WR_UNSIGNALED == IW_OPF_UNSIGNALED,
	       "flags of an operation");
#define FLAGS_OF_SENDS (IW_WR_SOLICITED | IW_WR_INVALIDATE)
#define FLAGS_OF_ALL   (IW_WR_FENCE | IW_WR_UNSIGNALED)

static int take_pieces(struct iw_op *op, const struct iw_send_wr *wr, struct iw_fault *why)
{
	if (wr->nsge > IW_SGE_MAX)
		return iw_fail(why, IW_E_INVAL, "post: %U pieces: expected at most %u",
			       (uint64_t)wr->nsge, (uint32_t)IW_SGE_MAX);
	for (size_t i = 0; i < wr->nsge; i++) {
		if (!wr->sge[i].addr && wr->sge[i].len)
			return iw_fail(why, IW_E_INVAL, "post: the address of piece %u is NULL",
				       (uint32_t)i);
		/* The engine only reads these octets: struct iw_vec is shared with receiving. */
		op->sge[i] = (struct iw_vec){ (void *)(uintptr_t)wr->sge[i].addr, wr->sge[i].len };
	}
	op->nsge = wr->nsge;
	return 0;
}

/* The engine checks the STag again, but cannot detect a region of another context. */
static int take_sink(struct iw_op *op, const struct iw_qp *qp, const struct iw_send_wr *wr,
		     struct iw_fault *why)
{
	const struct iw_mr *mr = wr->sink;

	op->len = wr->len;
	op->sink_to = wr->sink_to;
	if (!mr)
		return wr->len ? iw_fail(why, IW_E_INVAL, "post: RDMA Read: it has no sink") : 0;
	if (mr->pd != qp->pd || !(mr->access & IW_ACCESS_READ_SINK))
		return iw_fail(
			why, IW_E_INVAL,
			"post: RDMA Read: the sink is of another protection domain, or lacks the right READ_SINK");
	if (wr->sink_to < mr->to || wr->sink_to - mr->to > mr->len ||
	    wr->len > mr->len - (wr->sink_to - mr->to))
		return iw_fail(why, IW_E_INVAL,
			       "post: RDMA Read of %u octets: they do not fit the sink", wr->len);
	op->sink_stag = mr->stag;
	return 0;
}

static int make_op(struct iw_op *op, const struct iw_qp *qp, const struct iw_send_wr *wr,
		   struct iw_fault *why)
{
	unsigned flags = FLAGS_OF_ALL;
	int err;

	/* Member by member: clearing the whole struct, with its pieces, would take longer. */
	op->cookie = wr->wr_id;
	op->flags = wr->flags;
	op->nsge = 0;
	op->len = 0;
	op->inval_stag = wr->inval_stag;
	op->remote_stag = wr->remote_stag;
	op->remote_to = wr->remote_to;
	op->sink_stag = 0;
	op->sink_to = 0;
	switch (wr->op) {
	case IW_WR_SEND:
		op->kind = IW_OPK_SEND;
		flags |= FLAGS_OF_SENDS;
		err = take_pieces(op, wr, why);
		break;
	case IW_WR_WRITE:
		op->kind = IW_OPK_WRITE;
		err = take_pieces(op, wr, why);
		break;
	case IW_WR_READ:
		op->kind = IW_OPK_READ;
		err = take_sink(op, qp, wr, why);
		break;
	default:
		err = iw_fail(why, IW_E_INVAL, "post: operation %u: not one of enum iw_wr_op",
			      (uint32_t)wr->op);
		break;
	}
	if (!err && wr->flags & ~flags)
		return iw_fail(why, IW_E_INVAL, "post: flags %x: this operation has only %x",
			       (uint32_t)wr->flags, (uint32_t)flags);
	return err;
}

/*
 * Explains an error of the engine. The engine returns only a number, because a program may post
 * until IW_E_FULL, and a text would cost time each time.
 */
static int refused(const struct iw_qp *qp, enum iw_op_kind kind, int err, struct iw_fault *why)
{
	switch (err) {
	case IW_E_STATE:
		return iw_fail(why, err, "post: the connection is not up, or is shut down");
	case IW_E_FULL:
		return iw_fail(
			why, err,
			"post: %u sends and %u receives can be pending: poll the completion queue first",
			qp->sq_depth, qp->rq_depth);
	case IW_E_LIMIT:
		return iw_fail(why, err, "post: RDMA Read: the ORD in force is 0");
	default:
		/* Sends and Writes: make_op has made all other checks. */
		return iw_fail(why, err,
			       kind == IW_OPK_READ
				       ? "post: RDMA Read: the sink is not valid on this connection"
				       : "post: 2^32 octets or more");
	}
}

int iw_post_send(struct iw_qp *qp, const struct iw_send_wr *wr, struct iw_fault *why)
{
	struct iw_op op;
	uint64_t now;
	int err;

	if (!qp->loop_conn)
		return refused(qp, IW_OPK_SEND, IW_E_STATE, why);
	err = make_op(&op, qp, wr, why);
	if (err)
		return err;
	/* Only a Read needs the time: its sink may have a lifetime. */
	now = op.kind == IW_OPK_READ ? iw_os_now() : 0;
	err = iw_rdmap_post(qp->rdmap, &op, now);
	if (err == IW_E_FULL) {
		/* Completed unsignaled requests keep their slots until completions are taken. */
		iw_verbs_qp_complete(qp);
		err = iw_rdmap_post(qp->rdmap, &op, now);
		iw_verbs_sync_wakeups(qp->ctx);
	}
	if (iw_unlikely(err))
		return why ? refused(qp, op.kind, err, why) : err;
	if (iw_verbs_traced(qp->ctx))
		iw_verbs_trace_posted(qp, &op);
	iw_loop_conn_kick(qp->loop_conn);
	return 0;
}

int iw_loan_return(struct iw_ctx *ctx, uint64_t loan, struct iw_fault *why)
{
	return iw_loop_loan_return(ctx->loop, loan, why);
}

int iw_post_recv(struct iw_qp *qp, uint64_t wr_id, void *addr, uint32_t cap, struct iw_fault *why)
{
	int err;

	if (!addr && cap)
		return iw_fail(why, IW_E_INVAL, "post: the address of %u octets is NULL", cap);
	err = qp->ended ? IW_E_STATE : iw_rdmap_post_recv(qp->rdmap, wr_id, addr, cap);
	if (iw_unlikely(err))
		return why ? refused(qp, IW_OPK_RECV, err, why) : err;
	if (iw_verbs_traced(qp->ctx))
		iw_verbs_trace_posted(
			qp, &(struct iw_op){ .cookie = wr_id, .kind = IW_OPK_RECV, .len = cap });
	return 0;
}
