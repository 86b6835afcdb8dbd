// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The way out: which message goes next, and its segments one by one as the LLP asks for them. */
#include "rdmap/rdmap.h"

#include <assert.h>
#include <string.h>

#include "rdmap/internal.h"

/* Octets [off, off + len) of an operation's pieces. */
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

static void add_outbound_read(struct iw_rdmap *r, uint32_t slot, uint32_t stag, uint64_t to, uint32_t size)
{
	*outr_at(r, r->outr_tail++) = (struct outbound_read){ .slot = slot, .stag = stag, .to = to, .size = size };
}

static bool read_slot_free(const struct iw_rdmap *r)
{
	return r->outr_tail - r->outr_head < r->params.ord;
}

/* The next operation of the send queue may begin: ORD (RFC 5040 6.1) and fences (5.5) hold it back, and with it all behind it. */
static bool op_ready(struct iw_rdmap *r)
{
	const struct sq_slot *s;

	if (r->sq_unsent == r->sq_tail || r->flushing)
		return false;
	s = sq_at(r, r->sq_unsent);
	if (s->op.kind == IW_OPK_READ && !read_slot_free(r))
		return false;
	return !(s->op.flags & IW_OPF_FENCE) || r->outr_head == r->outr_tail;
}

static void begin_op(struct iw_rdmap *r)
{
	struct sq_slot *s = sq_at(r, r->sq_unsent);
	struct iw_ddp *h = &s->out.hdr;
	bool se = s->op.flags & IW_OPF_SOLICITED, inv = s->op.flags & IW_OPF_INVALIDATE;

	h->dv = r->params.dv;
	h->rv = r->params.dv;
	s->out.len = s->op.len;
	switch (s->op.kind) {
	case IW_OPK_WRITE:
		h->tagged = true;
		h->opcode = IW_OP_WRITE;
		h->stag = s->op.remote_stag;
		h->to = s->op.remote_to;
		break;
	case IW_OPK_SEND:
		h->opcode = se ? (inv ? IW_OP_SEND_SE_INV : IW_OP_SEND_SE) : (inv ? IW_OP_SEND_INV : IW_OP_SEND);
		h->qn = IW_QN_SEND;
		h->inval_stag = inv ? s->op.inval_stag : 0;
		break;
	case IW_OPK_READ:
		h->opcode = IW_OP_RREQ;
		h->qn = IW_QN_RREQ;
		s->out.len = IW_RDMAP_RREQ_LEN;
		add_outbound_read(r, r->sq_unsent, s->op.sink_stag, s->op.sink_to, s->op.len);
		break;
	case IW_OPK_RECV:
		assert(!"a receive in the send queue");
	}
	iw_ddp_out_begin(r->ddp, &s->out);
	r->cur = TX_OP;
}

static void begin_response(struct iw_rdmap *r)
{
	struct inbound_read *in = in_at(r, r->in_unsent);

	memset(&in->out, 0, sizeof(in->out));
	in->out.hdr = (struct iw_ddp){
		.tagged = true, .dv = r->params.dv, .rv = r->params.dv, .opcode = IW_OP_RRESP,
		/* RFC 5040 4.4: the sink's STag and TO go back unchanged. */
		.stag = in->rreq.sink_stag, .to = in->rreq.sink_to,
	};
	in->out.len = in->rreq.size;
	iw_ddp_out_begin(r->ddp, &in->out);
	r->cur = TX_RESPONSE;
}

/* Messages are never interleaved (RFC 5041 5.3); between messages, Responses and own operations take turns. */
static void choose(struct iw_rdmap *r)
{
	bool response = r->in_unsent != r->in_tail;

	if (r->rtr_pending) {
		iw_ddp_out_begin(r->ddp, &r->rtr);
		r->cur = TX_RTR;
	} else if (response && (r->last != TX_RESPONSE || !op_ready(r))) {
		begin_response(r);
	} else if (op_ready(r)) {
		begin_op(r);
	} else if (response) {
		begin_response(r);
	}
}

static void append_rreq(struct iw_segment *seg, const struct iw_rreq *q)
{
	int n = iw_rreq_encode(seg->hdr + seg->hdr_len, sizeof(seg->hdr) - seg->hdr_len, q);

	assert(n == IW_RDMAP_RREQ_LEN);
	seg->hdr_len += (size_t)n;
}

static int pull_rtr(struct iw_rdmap *r, size_t mulpdu, struct iw_segment *seg)
{
	/* STag 1 as in the Write form: never 0. Size 0: neither STag is validated. */
	static const struct iw_rreq zero = { .sink_stag = 1, .src_stag = 1 };
	uint32_t off, len;

	seg->hdr_len = iw_ddp_cut(&r->rtr, mulpdu, seg->hdr, &off, &len);
	if (r->rtr.hdr.opcode == IW_OP_RREQ) {
		append_rreq(seg, &zero);
		add_outbound_read(r, NO_SLOT, zero.sink_stag, zero.sink_to, 0);
	}
	return 1;
}

static int pull_op(struct iw_rdmap *r, size_t mulpdu, struct iw_segment *seg)
{
	struct sq_slot *s = sq_at(r, r->sq_unsent);
	uint32_t off, len;

	seg->hdr_len = iw_ddp_cut(&s->out, mulpdu, seg->hdr, &off, &len);
	if (s->op.kind == IW_OPK_READ) {
		append_rreq(seg, &(struct iw_rreq){ .sink_stag = s->op.sink_stag, .sink_to = s->op.sink_to, .size = s->op.len,
						    .src_stag = s->op.remote_stag, .src_to = s->op.remote_to });
		return 1;
	}
	slice(seg, &s->op, off, len);
	seg->payload_len = len;
	return 1;
}

/* The source is checked again for every segment: what was revoked meanwhile is not read any more (RFC 5042 6.2.2). */
static int pull_response(struct iw_rdmap *r, size_t mulpdu, struct iw_segment *seg, uint64_t now)
{
	struct inbound_read *in = in_at(r, r->in_unsent);
	struct iw_ddp_out before = in->out;
	struct iw_stag_use use = { .pd = r->cfg.pd, .stream = r->cfg.stream, .right = IW_RIGHT_REMOTE_READ, .begun = true, .now = now };
	enum iw_stag_verdict v = IW_STAG_OK;
	uint32_t off, len;
	uint8_t *where = NULL;

	seg->hdr_len = iw_ddp_cut(&in->out, mulpdu, seg->hdr, &off, &len);
	if (len == 0)
		return 1; /* size 0: the source is not validated (RFC 5040 5.2.1) */
	use.to = in->rreq.src_to + off;
	use.len = len;
	v = iw_stag_check(r->cfg.stags, in->rreq.src_stag, &use, &where);
	if (v != IW_STAG_OK) {
		struct iw_fault why = { 0 };
		struct iw_rreq rest = in->rreq;

		in->out = before;
		iw_stag_rdmap_error(r->cfg.stags, v, in->rreq.src_stag, &use, &why);
		/* RFC 5040 4.8: the copied request is advanced to where it stopped. */
		rest.sink_to += off;
		rest.src_to += off;
		rest.size -= off;
		r->cur = TX_NONE;
		iw_rdmap_local_fault(r, &why, &in->msg.last, IW_DDP_UNTAGGED_LEN + in->msg.last_len, &rest);
		return 0;
	}
	seg->payload[0] = (struct iw_vec){ where, len };
	seg->npayload = 1;
	seg->payload_len = len;
	seg->copy = true;
	return 1;
}

static int pull_terminate(struct iw_rdmap *r, size_t mulpdu, struct iw_segment *seg)
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
	seg->last_of_op = true;
	r->cur = TX_TERMINATE;
	return 1;
}

bool iw_rdmap_wants_tx(const struct iw_rdmap *r)
{
	return r->cur != TX_NONE || r->rtr_pending || r->in_unsent != r->in_tail || r->sq_unsent != r->sq_tail ||
	       (r->term_pending && !r->term_pulled);
}

int iw_rdmap_pull(struct iw_rdmap *r, size_t mulpdu, struct iw_segment *seg, uint64_t now)
{
	seg->hdr_len = seg->npayload = seg->payload_len = 0;
	seg->copy = seg->last_of_op = false;
	if (r->state == IW_RDMAP_TERMINATING) {
		if (!r->term_pending || r->term_pulled)
			return 0;
		return pull_terminate(r, mulpdu, seg);
	}
	if (r->state != IW_RDMAP_RTS && r->state != IW_RDMAP_CLOSING)
		return 0;
	if (r->cur == TX_NONE)
		choose(r);
	switch (r->cur) {
	case TX_NONE:
		return 0;
	case TX_RTR:
		return pull_rtr(r, mulpdu, seg);
	case TX_OP:
		return pull_op(r, mulpdu, seg);
	case TX_RESPONSE:
		if (pull_response(r, mulpdu, seg, now))
			return 1;
		return iw_rdmap_pull(r, mulpdu, seg, now); /* the Terminate */
	case TX_TERMINATE:
		return 0;
	}
	return 0;
}

/* The source is not read any more. */
static void release_source(struct iw_rdmap *r, struct inbound_read *in)
{
	if (in->counted)
		(void)iw_stag_end(r->cfg.stags, in->rreq.src_stag);
	in->counted = false;
}

void iw_rdmap_release_sources(struct iw_rdmap *r)
{
	uint32_t n;

	for (n = r->in_unsent; n != r->in_tail; n++)
		release_source(r, in_at(r, n));
}

void iw_rdmap_pulled(struct iw_rdmap *r, uint64_t end_pos)
{
	switch (r->cur) {
	case TX_NONE:
		return;
	case TX_RTR:
		r->rtr_pending = false;
		break;
	case TX_OP: {
		struct sq_slot *s = sq_at(r, r->sq_unsent);

		if (!s->out.ended)
			return;
		s->end_pos = end_pos;
		r->sq_unsent++;
		break;
	}
	case TX_RESPONSE: {
		struct inbound_read *in = in_at(r, r->in_unsent);

		if (!in->out.ended)
			return;
		in->end_pos = end_pos;
		release_source(r, in);
		r->in_unsent++;
		break;
	}
	case TX_TERMINATE:
		r->term_pulled = true;
		r->term_pos = end_pos;
		break;
	}
	r->last = r->cur;
	r->cur = TX_NONE;
}
