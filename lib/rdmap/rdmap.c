// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* An RDMAP stream: creation, start, graceful close, and its states. */
#include "rdmap/rdmap.h"

#include <assert.h>
#include <string.h>

#include "rdmap/internal.h"

#define TO(s) (1u << IW_RDMAP_##s)

/* RFC 5040 6: full operation ends by a graceful close, a Terminate, or the loss of the LLP. */
/* clang-format off */
static const unsigned next_states[] = {
	[IW_RDMAP_IDLE]        = TO(RTS) | TO(TERMINATING) | TO(CLOSED),
	[IW_RDMAP_RTS]         = TO(CLOSING) | TO(TERMINATING) | TO(TERMINATED) | TO(CLOSED),
	[IW_RDMAP_CLOSING]     = TO(TERMINATING) | TO(TERMINATED) | TO(CLOSED),
	[IW_RDMAP_TERMINATING] = TO(CLOSED),
	[IW_RDMAP_TERMINATED]  = TO(CLOSED),
	[IW_RDMAP_CLOSED]      = 0,
};
/* clang-format on */

#undef TO

void iw_rdmap_set_state(struct iw_rdmap *r, enum iw_rdmap_state to)
{
	assert(next_states[r->state] & 1u << to);
	r->state = to;
}

/* Posts a buffer of the stream itself, for which the queue always has room. */
static void post_own(struct iw_rdmap *r, uint32_t qn, void *buf, uint32_t len, uint64_t cookie)
{
	int err = iw_ddp_post(r->ddp, qn, buf, len, cookie);

	assert(err == 0);
	(void)err;
}

void iw_rdmap_post_rreq_buffer(struct iw_rdmap *r, uint32_t n)
{
	post_own(r, IW_QN_RREQ, in_at(r, n)->buf, IW_RDMAP_RREQ_LEN, n);
}

void iw_rdmap_release_source(struct iw_rdmap *r, struct inbound_read *in)
{
	if (in->counted)
		(void)iw_stag_end(r->cfg.stags, in->rreq.src_stag);
	in->counted = false;
}

void iw_rdmap_release_sources(struct iw_rdmap *r)
{
	uint32_t n;

	for (n = r->in_unsent; n != r->in_tail; n++)
		iw_rdmap_release_source(r, in_at(r, n));
}

int iw_rdmap_new(struct iw_rdmap **out, const struct iw_rdmap_cfg *cfg, struct iw_fault *why)
{
	struct iw_ddp_cfg dc = {
		.mem = cfg->mem,
		.stags = cfg->stags,
		.pd = cfg->pd,
		.stream = cfg->stream,
		.early_max = cfg->early_max,
		.tracer = cfg->tracer,
		/*
		 * IRD sets the depth of QN 1. It is valid from the beginning, so that a Read
		 * Request without a buffer is "no buffer" and not "invalid QN".
		 */
		.queue_depth = { [IW_QN_SEND] = cfg->rq_depth, [IW_QN_RREQ] = 1, [IW_QN_TERM] = 1 },
	};
	struct iw_rdmap *r;
	int err;

	*out = NULL;
	if (cfg->sq_depth == 0 || cfg->rq_depth == 0 || cfg->sq_depth > IW_RDMAP_DEPTH_MAX ||
	    cfg->rq_depth > IW_RDMAP_DEPTH_MAX)
		return iw_fail(why, IW_E_INVAL, "rdmap: queue depths %u and %u: each must be 1..%u",
			       cfg->sq_depth, cfg->rq_depth, IW_RDMAP_DEPTH_MAX);
	r = iw_mem_alloc(cfg->mem, sizeof(*r));
	if (r == NULL)
		return iw_fail(why, IW_E_NOMEM, "rdmap: no memory for a queue pair");
	r->cfg = *cfg;
	r->sq_cap = iw_pow2_at_least(cfg->sq_depth);
	r->sq_mask = r->sq_cap - 1;
	r->sq = iw_mem_array(cfg->mem, r->sq_cap, sizeof(*r->sq));
	r->done_cap = cfg->rq_depth;
	r->done = iw_mem_array(cfg->mem, r->done_cap, sizeof(*r->done));
	if (r->sq == NULL || r->done == NULL) {
		err = iw_fail(why, IW_E_NOMEM, "rdmap: no memory for queues of %u and %u entries",
			      cfg->sq_depth, cfg->rq_depth);
		goto fail;
	}
	err = iw_ddp_new(&r->ddp, &dc, why);
	if (err < 0)
		goto fail;
	post_own(r, IW_QN_TERM, r->term_buf, sizeof(r->term_buf), 0);
	*out = r;
	return 0;
fail:
	iw_rdmap_free(r);
	return err;
}

void iw_rdmap_free(struct iw_rdmap *r)
{
	const struct iw_mem *mem;

	if (r == NULL)
		return;
	mem = r->cfg.mem;
	iw_rdmap_release_sources(r);
	iw_ddp_free(r->ddp);
	iw_mem_free(mem, r->sq, (size_t)r->sq_cap * sizeof(*r->sq));
	iw_mem_free(mem, r->done, (size_t)r->done_cap * sizeof(*r->done));
	iw_mem_free(mem, r->in, (size_t)r->in_cap * sizeof(*r->in));
	iw_mem_free(mem, r->outr, (size_t)r->outr_cap * sizeof(*r->outr));
	iw_mem_free(mem, r, sizeof(*r));
}

enum iw_rdmap_state iw_rdmap_state(const struct iw_rdmap *r)
{
	return r->state;
}

uint32_t iw_rdmap_stream(const struct iw_rdmap *r)
{
	return r->cfg.stream;
}

uint32_t iw_rdmap_pd(const struct iw_rdmap *r)
{
	return r->cfg.pd;
}

const struct iw_stag_tally *iw_rdmap_tally(const struct iw_rdmap *r)
{
	return &r->tally;
}

const struct iw_rdmap_moved *iw_rdmap_moved(const struct iw_rdmap *r)
{
	return &r->moved;
}

const struct iw_fault *iw_rdmap_fault(const struct iw_rdmap *r)
{
	return r->fault.err != 0 ? &r->fault : NULL;
}

/*
 * Queues the initiator's first frame (RFC 6581 9.2), or a nudge. The STag is 1, because some RNICs
 * drop segments with STag 0 even if they are empty.
 */
static void prepare_rtr(struct iw_rdmap *r, uint8_t form)
{
	struct iw_ddp *h = &r->rtr.hdr;

	r->rtr = (struct iw_ddp_out){ .hdr.rv = r->params.dv };
	switch (form) {
	case IW_RTR_SEND:
		h->opcode = IW_OP_SEND;
		h->qn = IW_QN_SEND;
		break;
	case IW_RTR_WRITE:
		h->opcode = IW_OP_WRITE;
		h->tagged = true;
		h->stag = 1;
		break;
	case IW_RTR_READ:
		h->opcode = IW_OP_RREQ;
		h->qn = IW_QN_RREQ;
		r->rtr.len = IW_RDMAP_RREQ_LEN;
		break;
	default:
		return;
	}
	r->rtr_pending = true;
}

int iw_rdmap_start(struct iw_rdmap *r, const struct iw_rdmap_params *p, struct iw_fault *why)
{
	uint32_t i;

	assert(r->state == IW_RDMAP_IDLE && !r->started);
	r->params = *p;
	iw_ddp_set_version(r->ddp, p->dv);
	r->started = true;
	r->in_cap = iw_pow2_at_least(p->ird);
	r->outr_cap = iw_pow2_at_least(p->ord);
	r->in = iw_mem_array(r->cfg.mem, r->in_cap, sizeof(*r->in));
	r->outr = iw_mem_array(r->cfg.mem, r->outr_cap, sizeof(*r->outr));
	if (r->in == NULL || r->outr == NULL || iw_ddp_set_depth(r->ddp, IW_QN_RREQ, p->ird) < 0)
		return iw_fail(why, IW_E_NOMEM, "rdmap: no memory for IRD %u and ORD %u",
			       (uint32_t)p->ird, (uint32_t)p->ord);
	for (i = 0; i < p->ird; i++)
		iw_rdmap_post_rreq_buffer(r, r->in_tail + i);
	if (p->initiator)
		prepare_rtr(r, p->rtr);
	else
		r->rtr_expected = p->rtr;
	iw_rdmap_set_state(r, IW_RDMAP_RTS);
	return 0;
}

void iw_rdmap_nudge(struct iw_rdmap *r)
{
	if (in_operation(r) && !r->rtr_pending)
		prepare_rtr(r, IW_RTR_WRITE);
}

void iw_rdmap_close(struct iw_rdmap *r)
{
	if (r->state == IW_RDMAP_RTS)
		iw_rdmap_set_state(r, IW_RDMAP_CLOSING);
}

bool iw_rdmap_drained(const struct iw_rdmap *r)
{
	return r->sq_untaken == r->sq_tail && r->outr_head == r->outr_tail &&
	       r->in_head == r->in_tail && !r->rtr_pending && r->rtr_expected == 0;
}

bool iw_rdmap_waiting(const struct iw_rdmap *r)
{
	return r->outr_head != r->outr_tail;
}

void iw_rdmap_tx_shut(struct iw_rdmap *r)
{
	r->tx_shut = true;
}

bool iw_rdmap_rx_shut(struct iw_rdmap *r)
{
	uint32_t n;

	r->rx_shut = true;
	r->rtr_expected = 0;
	for (n = r->sq_unsent; n != r->sq_tail; n++)
		if (sq_at(r, n)->op.kind == IW_OPK_READ)
			return false;
	return !iw_rdmap_waiting(r);
}

void iw_rdmap_prefetch(const struct iw_rdmap *r, const uint8_t *ulpdu, size_t len)
{
	if (len >= IW_DDP_TAGGED_LEN && ulpdu[0] & 0x80)
		iw_stag_prefetch(r->cfg.stags, iw_get_be32(ulpdu + 2));
}
