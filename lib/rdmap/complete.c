// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Posts and completions. Each operation completes exactly once, in the order of posting, with
 * success or an error.
 */
#include "rdmap/rdmap.h"

#include <string.h>

#include "rdmap/internal.h"

static bool total_length(const struct iw_op *op, uint32_t *len)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < op->nsge; i++) {
		if (op->sge[i].len > UINT32_MAX)
			return false;
		sum += op->sge[i].len;
	}
	*len = (uint32_t)sum;
	return sum <= UINT32_MAX; /* RFC 5041 5.2: a message has less than 2^32 octets */
}

/* Checks the sink at the post, so that the ULP gets the error now and not with the Response. */
static bool sink_usable(struct iw_rdmap *r, const struct iw_op *op, uint64_t now)
{
	struct iw_stag_use use = {
		.pd = r->cfg.pd,
		.stream = r->cfg.stream,
		.right = IW_RIGHT_READ_SINK,
		.to = op->sink_to,
		.len = op->len,
		.now = now,
	};
	uint8_t *where;

	return iw_stag_check(r->cfg.stags, op->sink_stag, &use, &where) == IW_STAG_OK;
}

static int check_read(struct iw_rdmap *r, const struct iw_op *op, uint64_t now)
{
	if (r->rx_shut)
		return IW_E_STATE; /* no Response can arrive */
	if (r->params.ord == 0)
		return IW_E_LIMIT; /* it could never begin */
	/* RFC 5040 5.2.1: the sink of a zero-length Read is not checked. */
	return op->len > 0 && !sink_usable(r, op, now) ? IW_E_INVAL : 0;
}

int iw_rdmap_post(struct iw_rdmap *r, const struct iw_op *op, uint64_t now)
{
	struct sq_slot *s;
	uint32_t len = op->len;
	int err = 0;

	if (r->state != IW_RDMAP_RTS)
		return IW_E_STATE;
	if (r->sq_tail - r->sq_head >= r->cfg.sq_depth)
		return IW_E_FULL;
	if (op->nsge > IW_RDMAP_SGE_MAX)
		return IW_E_INVAL;
	switch (op->kind) {
	case IW_OPK_SEND:
	case IW_OPK_WRITE:
		err = total_length(op, &len) ? 0 : IW_E_INVAL;
		break;
	case IW_OPK_READ:
		err = check_read(r, op, now);
		break;
	case IW_OPK_RECV:
		err = IW_E_INVAL;
		break;
	}
	if (err < 0)
		return err;
	s = sq_at(r, r->sq_tail++);
	s->op = *op;
	s->op.len = len;
	s->out = (struct iw_ddp_out){ .done = 0 };
	s->taken = s->answered = false;
	return 0;
}

int iw_rdmap_post_recv(struct iw_rdmap *r, uint64_t cookie, void *addr, uint32_t cap)
{
	if (r->state != IW_RDMAP_IDLE && !in_operation(r))
		return IW_E_STATE;
	if (iw_ddp_posted(r->ddp, IW_QN_SEND) + r->done_len >= r->cfg.rq_depth)
		return IW_E_FULL;
	return iw_ddp_post(r->ddp, IW_QN_SEND, addr, cap, cookie);
}

static struct iw_completion completion(const struct sq_slot *s, int status)
{
	return (struct iw_completion){
		.cookie = s->op.cookie,
		.kind = s->op.kind,
		.status = status,
		.len = status == 0 && s->op.kind == IW_OPK_READ ? s->op.len : 0,
		.octets = s->op.len,
	};
}

static bool succeeded(const struct sq_slot *s)
{
	return s->taken && (s->op.kind != IW_OPK_READ || s->answered);
}

/* While held, the LLP may refer to the memory of operations that have begun and are not taken. */
static bool may_fail(const struct iw_rdmap *r, const struct sq_slot *s)
{
	return r->flushing && !(r->held && s->out.begun && !s->taken);
}

static bool next_sent(struct iw_rdmap *r, struct iw_completion *out)
{
	while (r->sq_head != r->sq_tail) {
		struct sq_slot *s = sq_at(r, r->sq_head);

		if (succeeded(s)) {
			r->sq_head++;
			if (s->op.flags & IW_OPF_UNSIGNALED)
				continue;
			*out = completion(s, 0);
			return true;
		}
		if (!may_fail(r, s))
			return false;
		r->sq_head++;
		*out = completion(s, r->flush_err != 0 ? r->flush_err : IW_E_CANCELED);
		r->flush_err = 0;
		return true;
	}
	return false;
}

static bool next_received(struct iw_rdmap *r, struct iw_completion *out)
{
	uint64_t cookie;

	if (r->done_len > 0) {
		*out = r->done[r->done_head];
		r->done_head = (r->done_head + 1) % r->done_cap;
		r->done_len--;
		return true;
	}
	if (r->flushing && iw_ddp_unpost(r->ddp, IW_QN_SEND, &cookie)) {
		*out = (struct iw_completion){
			.cookie = cookie,
			.kind = IW_OPK_RECV,
			.status = IW_E_CANCELED,
		};
		return true;
	}
	return false;
}

bool iw_rdmap_next_completion(struct iw_rdmap *r, struct iw_completion *out)
{
	return next_sent(r, out) || next_received(r, out);
}

void iw_rdmap_start_flush(struct iw_rdmap *r, int err)
{
	if (r->flushing)
		return;
	r->flushing = true;
	r->flush_err = err;
	/* No Read of either side will be answered. */
	r->outr_head = r->outr_tail;
	iw_rdmap_release_sources(r);
}

void iw_rdmap_flush(struct iw_rdmap *r, int err)
{
	iw_rdmap_start_flush(r, err);
	r->held = false;
	if (r->state != IW_RDMAP_CLOSED)
		iw_rdmap_set_state(r, IW_RDMAP_CLOSED);
}

void iw_rdmap_hold(struct iw_rdmap *r, bool held)
{
	r->held = held;
}

void iw_rdmap_sent(struct iw_rdmap *r, uint64_t pos, uint64_t done)
{
	while (r->sq_untaken != r->sq_unsent) {
		struct sq_slot *s = sq_at(r, r->sq_untaken);

		if (s->end_pos > done)
			break;
		s->taken = true;
		r->sq_untaken++;
	}
	while (r->in_head != r->in_unsent) {
		if (in_at(r, r->in_head)->end_pos > pos)
			break;
		/*
		 * RFC 5040 5.2.2: the slot must be free, since the peer may use it as soon as it
		 * has received the end of the Response.
		 */
		iw_rdmap_post_rreq_buffer(r, r->in_head + r->params.ird);
		r->in_head++;
	}
	if (r->term_pulled && r->term_pos <= pos)
		r->term_sent = true;
}
