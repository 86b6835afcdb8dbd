// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sending: selects the next message, and cuts one segment of it for each iw_rdmap_pull. */
#include "rdmap/rdmap.h"

#include <assert.h>
#include <string.h>

#include "rdmap/internal.h"

/* Adds the octets [off, off + len) of the operation's slices to the segment. */
static void slice(struct iw_segment *seg, const struct iw_op *op, uint32_t off, uint32_t len)
{
	size_t i;

	for (i = 0; len > 0; i++) {
		uint8_t *base = op->sge[i].base;
		size_t n = op->sge[i].len;

		if (off >= n) {
			off -= (uint32_t)n;
			continue;
		}
		n = IW_MIN(n - off, len);
		seg->payload[seg->npayload++] = (struct iw_vec){ base + off, n };
		len -= (uint32_t)n;
		off = 0;
	}
}

/* --- selection -------------------------------------------------------------------------------- */

static bool read_slot_free(const struct iw_rdmap *r)
{
	return r->outr_tail - r->outr_head < r->params.ord;
}

/*
 * True if the next operation of the send queue may begin. ORD (RFC 5040 6.1) or a fence (5.5) may
 * delay it, and with it all operations after it.
 */
static bool op_ready(struct iw_rdmap *r)
{
	const struct sq_slot *s;

	if (r->sq_unsent == r->sq_tail)
		return false;
	s = sq_at(r, r->sq_unsent);
	if (s->op.kind == IW_OPK_READ && !read_slot_free(r))
		return false;
	return !(s->op.flags & IW_OPF_FENCE) || !iw_rdmap_waiting(r);
}

static uint8_t send_opcode(const struct iw_op *op)
{
	bool se = op->flags & IW_OPF_SOLICITED;

	if (op->flags & IW_OPF_INVALIDATE)
		return se ? IW_OP_SEND_SE_INV : IW_OP_SEND_INV;
	return se ? IW_OP_SEND_SE : IW_OP_SEND;
}

static void begin_op(struct iw_rdmap *r)
{
	struct sq_slot *s = sq_at(r, r->sq_unsent);
	const struct iw_op *op = &s->op;
	struct iw_ddp *h = &s->out.hdr;

	h->rv = r->params.dv;
	s->out.len = op->len;
	switch (op->kind) {
	case IW_OPK_WRITE:
		h->tagged = true;
		h->opcode = IW_OP_WRITE;
		h->stag = op->remote_stag;
		h->to = op->remote_to;
		break;
	case IW_OPK_SEND:
		h->opcode = send_opcode(op);
		h->qn = IW_QN_SEND;
		h->inval_stag = op->flags & IW_OPF_INVALIDATE ? op->inval_stag : 0;
		break;
	case IW_OPK_READ:
		h->opcode = IW_OP_RREQ;
		h->qn = IW_QN_RREQ;
		s->out.len = IW_RDMAP_RREQ_LEN;
		*outr_at(r, r->outr_tail++) = (struct outbound_read){
			.slot = r->sq_unsent,
			.stag = op->sink_stag,
			.to = op->sink_to,
			.size = op->len,
		};
		break;
	case IW_OPK_RECV:
		assert(!"a receive in the send queue");
	}
	iw_ddp_out_begin(r->ddp, &s->out);
	r->cur = TX_OP;
}

static void begin_rtr(struct iw_rdmap *r)
{
	if (r->rtr.hdr.opcode == IW_OP_RREQ)
		*outr_at(r, r->outr_tail++) = (struct outbound_read){ .rtr = true };
	iw_ddp_out_begin(r->ddp, &r->rtr);
	r->cur = TX_RTR;
}

static void begin_response(struct iw_rdmap *r)
{
	struct inbound_read *in = in_at(r, r->in_unsent);

	in->out = (struct iw_ddp_out){
		/* RFC 5040 4.4: STag and TO of the sink are those of the Read Request. */
		.hdr = {
			.tagged = true,
			.rv = r->params.dv,
			.opcode = IW_OP_RRESP,
			.stag = in->rreq.sink_stag,
			.to = in->rreq.sink_to,
		},
		.len = in->rreq.size,
	};
	iw_ddp_out_begin(r->ddp, &in->out);
	r->cur = TX_RESPONSE;
}

/* RFC 5041 5.3: messages are not interleaved. Responses and our own operations alternate. */
static void choose(struct iw_rdmap *r)
{
	bool response = r->in_unsent != r->in_tail;
	bool op = op_ready(r);

	if (r->rtr_pending)
		begin_rtr(r);
	else if (response && (r->last != TX_RESPONSE || !op))
		begin_response(r);
	else if (op)
		begin_op(r);
}

/* --- segments --------------------------------------------------------------------------------- */

static void append_rreq(struct iw_segment *seg, const struct iw_rreq *q)
{
	int n = iw_rreq_encode(seg->hdr + seg->hdr_len, sizeof(seg->hdr) - seg->hdr_len, q);

	assert(n == IW_RDMAP_RREQ_LEN);
	seg->hdr_len += (size_t)n;
}

static void pull_rtr(struct iw_rdmap *r, size_t mulpdu, struct iw_segment *seg)
{
	/* STag 1, as in prepare_rtr. The size is 0, so the peer validates neither STag. */
	static const struct iw_rreq zero = { .sink_stag = 1, .src_stag = 1 };
	uint32_t off, len;

	seg->hdr_len = iw_ddp_cut(&r->rtr, mulpdu, seg->hdr, &off, &len);
	if (r->rtr.hdr.opcode == IW_OP_RREQ)
		append_rreq(seg, &zero);
}

static void pull_op(struct iw_rdmap *r, size_t mulpdu, struct iw_segment *seg)
{
	struct sq_slot *s = sq_at(r, r->sq_unsent);
	const struct iw_op *op = &s->op;
	uint32_t off, len;

	seg->hdr_len = iw_ddp_cut(&s->out, mulpdu, seg->hdr, &off, &len);
	r->moved.steps++;
	if (op->kind == IW_OPK_READ) {
		append_rreq(seg, &(struct iw_rreq){
					 .sink_stag = op->sink_stag,
					 .sink_to = op->sink_to,
					 .size = op->len,
					 .src_stag = op->remote_stag,
					 .src_to = op->remote_to,
				 });
		return;
	}
	slice(seg, op, off, len);
	seg->payload_len = len;
	r->moved.tx_payload += len;
}

/*
 * Checks the source for each segment, since it may have been revoked after the Read Request
 * (RFC 5042 6.2.2). Returns false if it is no longer valid.
 */
static bool pull_response(struct iw_rdmap *r, size_t mulpdu, struct iw_segment *seg, uint64_t now)
{
	struct inbound_read *in = in_at(r, r->in_unsent);
	struct iw_stag_use use = {
		.pd = r->cfg.pd,
		.stream = r->cfg.stream,
		.right = IW_RIGHT_REMOTE_READ,
		.begun = true,
		.now = now,
	};
	struct iw_rreq rest = in->rreq;
	struct iw_fault why = { 0 };
	enum iw_stag_verdict v;
	uint8_t *where = NULL;
	uint32_t off, len;

	seg->hdr_len = iw_ddp_cut(&in->out, mulpdu, seg->hdr, &off, &len);
	if (len == 0)
		return true; /* RFC 5040 5.2.1: the source of a zero-length Read is not validated */
	use.to = in->rreq.src_to + off;
	use.len = len;
	v = iw_stag_check(r->cfg.stags, in->rreq.src_stag, &use, &where);
	if (v == IW_STAG_OK) {
		seg->payload[0] = (struct iw_vec){ where, len };
		seg->npayload = 1;
		seg->payload_len = len;
		seg->copy = true;
		r->tally.read_octets += len;
		r->moved.tx_payload += len;
		r->moved.steps++;
		return true;
	}
	/*
	 * RFC 5040 4.8: the quoted request is advanced to the octet at which the Response stopped.
	 */
	rest.sink_to += off;
	rest.src_to += off;
	rest.size -= off;
	iw_stag_rdmap_error(r->cfg.stags, v, in->rreq.src_stag, &use, &why);
	iw_rdmap_local_fault(r, &why, &in->msg.last, IW_DDP_UNTAGGED_LEN + in->msg.last_len, &rest);
	return false;
}

static void pull_terminate(struct iw_rdmap *r, size_t mulpdu, struct iw_segment *seg)
{
	uint32_t off, len;
	uint8_t body[IW_RDMAP_TERM_MAX];
	int n = iw_terminate_encode(body, sizeof(body), &r->term);

	assert(n >= IW_RDMAP_TERM_MIN);
	r->term_out.len = (uint32_t)n;
	iw_ddp_out_begin(r->ddp, &r->term_out);
	seg->hdr_len = iw_ddp_cut(&r->term_out, mulpdu, seg->hdr, &off, &len);
	memcpy(seg->hdr + seg->hdr_len, body, (size_t)n);
	seg->hdr_len += (size_t)n;
	r->cur = TX_TERMINATE;
}

bool iw_rdmap_wants_tx(const struct iw_rdmap *r)
{
	if (in_operation(r))
		return r->rtr_pending || r->in_unsent != r->in_tail || r->sq_unsent != r->sq_tail;
	return r->state == IW_RDMAP_TERMINATING && r->term_pending && !r->term_pulled;
}

/* Cuts the next segment of the current message, or of the next one. False: nothing to send. */
static bool pull_message(struct iw_rdmap *r, size_t mulpdu, struct iw_segment *seg, uint64_t now)
{
	if (r->cur == TX_NONE)
		choose(r);
	switch (r->cur) {
	case TX_RTR:
		pull_rtr(r, mulpdu, seg);
		return true;
	case TX_OP:
		pull_op(r, mulpdu, seg);
		return true;
	case TX_RESPONSE:
		return pull_response(r, mulpdu, seg, now);
	case TX_NONE:
	case TX_TERMINATE:
		break;
	}
	return false;
}

static bool pull(struct iw_rdmap *r, size_t mulpdu, struct iw_segment *seg, uint64_t now)
{
	seg->hdr_len = seg->npayload = seg->payload_len = 0;
	seg->copy = false;
	if (in_operation(r) && pull_message(r, mulpdu, seg, now))
		return true;
	/* A revoked source has perhaps just ended full operation: its Terminate is next. */
	if (r->state != IW_RDMAP_TERMINATING || !r->term_pending || r->term_pulled)
		return false;
	pull_terminate(r, mulpdu, seg);
	return true;
}

int iw_rdmap_pull(struct iw_rdmap *r, size_t mulpdu, struct iw_segment *seg, uint64_t now)
{
	if (!pull(r, mulpdu, seg, now))
		return 0;
	if (iw_tracing(r->cfg.tracer))
		iw_rdmap_trace_sent(r, seg);
	return 1;
}

/* --- after a segment was pulled --------------------------------------------------------------- */

/* Returns true if the current message ends with the pulled segment. */
static bool ended(struct iw_rdmap *r, uint64_t end_pos)
{
	struct sq_slot *s;
	struct inbound_read *in;

	switch (r->cur) {
	case TX_RTR:
		r->rtr_pending = false;
		return true;
	case TX_OP:
		s = sq_at(r, r->sq_unsent);
		if (!s->out.ended)
			return false;
		s->end_pos = end_pos;
		r->sq_unsent++;
		return true;
	case TX_RESPONSE:
		in = in_at(r, r->in_unsent);
		if (!in->out.ended)
			return false;
		in->end_pos = end_pos;
		if (in->counted) {
			r->tally.reads++;
			iw_stag_tally(r->cfg.stags, in->rreq.src_stag, IW_RIGHT_REMOTE_READ,
				      in->rreq.size);
		}
		iw_rdmap_release_source(r, in);
		r->in_unsent++;
		return true;
	case TX_TERMINATE:
		r->term_pulled = true;
		r->term_pos = end_pos;
		return true;
	case TX_NONE:
		break;
	}
	return false;
}

void iw_rdmap_pulled(struct iw_rdmap *r, uint64_t end_pos)
{
	enum tx_source now = r->cur;

	if (!ended(r, end_pos))
		return;
	r->last = now;
	r->cur = TX_NONE;
}
