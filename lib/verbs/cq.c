// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Completion queues: a ring with room for everything that can be posted on the queue pairs that use
 * it. A completion for which there is no room stays in the send or receive queue of its queue pair
 * and uses up a slot there. So a program that posts without polling fills those queues.
 */
#include "verbs/internal.h"

#include <string.h>

int iw_cq_new(struct iw_cq **out, struct iw_ctx *ctx)
{
	struct iw_cq *cq = iw_verbs_alloc(ctx, sizeof(*cq));

	*out = NULL;
	if (!cq)
		return IW_E_NOMEM;
	cq->ctx = ctx;
	iw_list_init(&cq->starved);
	iw_list_add_tail(&ctx->cqs, &cq->all);
	*out = cq;
	return 0;
}

int iw_cq_free(struct iw_cq *cq)
{
	struct iw_ctx *ctx;

	if (!cq)
		return 0;
	if (cq->users)
		return IW_E_BUSY;
	ctx = cq->ctx;
	iw_loop_wakeup_close(&cq->wakeup);
	iw_list_del(&cq->all);
	iw_verbs_free(ctx, cq->ring, cq->cap * sizeof(*cq->ring));
	iw_verbs_free(ctx, cq, sizeof(*cq));
	return 0;
}

static uint32_t place(const struct iw_cq *cq, uint32_t i)
{
	uint32_t at = cq->head + i;

	return at < cq->cap ? at : at - cq->cap;
}

int iw_verbs_cq_reserve(struct iw_cq *cq, uint32_t depth, struct iw_fault *why)
{
	uint32_t cap, i;
	struct iw_wc *ring;

	if (cq->need > UINT32_MAX / 2 - depth)
		return iw_fail(why, IW_E_LIMIT, "completion queue: %u entries: more than its limit",
			       cq->need);
	if (cq->need + depth + 1 > cq->cap) {
		/*
		 * One entry more than the depths need: a ring that holds all completions is not
		 * full, and a full one may lack some. At least half as much again as before, so
		 * that thousands of queue pairs do not copy the ring thousands of times. Unused
		 * entries are not touched (iw_verbs_cq_take), so they take no pages but the rest of
		 * a huge one.
		 */
		cap = IW_MAX(cq->need + depth + 1, cq->cap + cq->cap / 2);
		ring = iw_mem_array(&cq->ctx->mem, cap, sizeof(*ring));
		if (!ring)
			return iw_fail(why, IW_E_NOMEM,
				       "completion queue: no memory for %u entries", cap);
		for (i = 0; i < cq->len; i++)
			ring[i] = cq->ring[place(cq, i)];
		iw_verbs_free(cq->ctx, cq->ring, cq->cap * sizeof(*ring));
		cq->ring = ring;
		cq->cap = cap;
		cq->head = 0;
	}
	cq->need += depth;
	cq->users++;
	return 0;
}

void iw_verbs_cq_unreserve(struct iw_cq *cq, struct iw_qp *qp, uint32_t depth)
{
	uint32_t i, kept = 0;

	for (i = 0; i < cq->len; i++) {
		struct iw_wc *from = &cq->ring[place(cq, i)];

		if (from->qp != qp)
			cq->ring[place(cq, kept++)] = *from;
		else if (from->loan)
			(void)!iw_loop_loan_return(cq->ctx->loop, from->loan, NULL);
	}
	cq->ctx->ncompletions -= cq->len - kept;
	cq->len = kept;
	cq->need -= depth;
	cq->users--;
}

static enum iw_wc_op public_op(enum iw_op_kind kind)
{
	switch (kind) {
	case IW_OPK_SEND:
		return IW_WC_SEND;
	case IW_OPK_WRITE:
		return IW_WC_WRITE;
	case IW_OPK_READ:
		return IW_WC_READ;
	case IW_OPK_RECV:
		return IW_WC_RECV;
	}
	return IW_WC_SEND;
}

void iw_verbs_cq_push(struct iw_cq *cq, struct iw_qp *qp, const struct iw_completion *c)
{
	cq->ring[place(cq, cq->len)] = (struct iw_wc){
		.wr_id = c->cookie,
		.qp = qp,
		.op = public_op(c->kind),
		.status = c->status,
		.len = c->len,
		.solicited = c->solicited,
		.invalidated = c->invalidated,
		.inval_stag = c->inval_stag,
		.loan = c->loan,
		.data = c->data,
	};
	cq->len++;
	cq->ctx->ncompletions++;
}

uint32_t iw_verbs_cq_take(struct iw_cq *cq, struct iw_wc *wc, uint32_t n)
{
	uint32_t i;

	n = IW_MIN(n, cq->len);
	for (i = 0; i < n; i++)
		wc[i] = cq->ring[place(cq, i)];
	cq->head = place(cq, n);
	cq->len -= n;
	cq->ctx->ncompletions -= n;
	/*
	 * An empty ring restarts at its first entry, so that most pages of a large ring are never
	 * touched while few entries are pending.
	 */
	if (cq->len == 0)
		cq->head = 0;
	return n;
}

int iw_cq_fd(struct iw_cq *cq, struct iw_fault *why)
{
	int err;

	if (!cq->wakeup.loop) {
		err = iw_loop_wakeup_open(&cq->wakeup, cq->ctx->loop, why);
		if (err)
			return err;
		cq->ctx->has_wakeup = true;
		iw_verbs_sync_wakeups(cq->ctx);
	}
	return cq->wakeup.fd;
}
