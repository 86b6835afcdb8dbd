// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Receiving: checks the opcode of a segment, lets DDP check and place it, and handles the message
 * when DDP delivers it.
 */
#include "rdmap/rdmap.h"

#include <assert.h>

#include "rdmap/internal.h"

typedef int handler(struct iw_rdmap *r, struct iw_ddp_msg *m, uint64_t now, struct iw_fault *why);
static handler on_send, on_write, on_rreq, on_rresp, on_term;

struct rdmap_row {
	handler *deliver; /* NULL: the opcode is not supported */
	uint8_t right;    /* tagged: the right (enum iw_right) that the STag needs */
};

/*
 * The opcodes of RFC 5040. What the RFC requires of their segments is in iw_opcode_info(), which
 * also has those of RFC 7306. An opcode has four bits.
 */
/* clang-format off */
static const struct rdmap_row rows[16] = {
	[IW_OP_WRITE]       = { on_write, IW_RIGHT_REMOTE_WRITE },
	[IW_OP_RREQ]        = { on_rreq,  0 },
	[IW_OP_RRESP]       = { on_rresp, IW_RIGHT_READ_SINK },
	[IW_OP_SEND]        = { on_send,  0 },
	[IW_OP_SEND_INV]    = { on_send,  0 },
	[IW_OP_SEND_SE]     = { on_send,  0 },
	[IW_OP_SEND_SE_INV] = { on_send,  0 },
	[IW_OP_TERM]        = { on_term,  0 },
};
/* clang-format on */

static bool is_solicited(uint8_t opcode)
{
	return opcode == IW_OP_SEND_SE || opcode == IW_OP_SEND_SE_INV;
}

/* --- delivered messages ----------------------------------------------------------------------- */

/*
 * RFC 5040 5.3 and 8.1.1 (7): invalidates the STag only if it is valid on this stream alone. An
 * STag of the whole protection domain stays valid. For an unknown STag and for one of another
 * stream the peer gets the same code: with the two codes of figure 9 it could find out which STags
 * exist.
 */
static int invalidate(struct iw_rdmap *r, uint32_t stag, struct iw_fault *why)
{
	const struct iw_region *g = iw_stag_get(r->cfg.stags, stag);

	if (g == NULL)
		return iw_fail(why, IW_E_RP_INVAL,
			       "rdmap: Send with Invalidate of STag %x: not registered", stag);
	if (g->stream != r->cfg.stream || g->pd != r->cfg.pd)
		return iw_fail(
			why, IW_E_RP_INVAL,
			"rdmap: Send with Invalidate of STag %x: not registered for this stream alone",
			stag);
	return iw_stag_del(r->cfg.stags, stag);
}

/* The buffer is consumed even if the Invalidate fails: the receive then completes in error. */
static int on_send(struct iw_rdmap *r, struct iw_ddp_msg *m, uint64_t now, struct iw_fault *why)
{
	struct iw_completion *c = &r->done[(r->done_head + r->done_len) % r->done_cap];

	(void)now;
	*c = (struct iw_completion){
		.cookie = m->cookie,
		.kind = IW_OPK_RECV,
		.len = (uint32_t)m->len,
		.octets = (uint32_t)m->len,
		.solicited = is_solicited(m->opcode),
	};
	r->done_len++;
	if (iw_opcode_info(m->opcode)->invalidates) {
		c->inval_stag = m->inval_stag;
		c->status = invalidate(r, m->inval_stag, why);
		c->invalidated = c->status == 0;
		c->len = c->status == 0 ? c->len : 0;
	}
	if (r->lend && c->status == 0) {
		c->loan = r->lend->loan;
		c->data = r->lent;
		r->lend->taken = true;
	}
	r->lend = NULL;
	return c->status;
}

/* RFC 5040 5.1: the ULP gets no notice of a valid RDMA Write. */
static int on_write(struct iw_rdmap *r, struct iw_ddp_msg *m, uint64_t now, struct iw_fault *why)
{
	(void)now;
	(void)why;
	if (m->len == 0)
		return 0;
	r->tally.writes++;
	iw_stag_tally(r->cfg.stags, m->stag, IW_RIGHT_REMOTE_WRITE, m->len);
	if (!m->scattered)
		iw_stag_covered(r->cfg.stags, m->stag, m->to, m->len);
	iw_stag_used(r->cfg.stags, m->stag);
	return 0;
}

static int check_source(struct iw_rdmap *r, const struct iw_rreq *q, uint64_t now,
			struct iw_fault *why)
{
	struct iw_stag_use use = {
		.pd = r->cfg.pd,
		.stream = r->cfg.stream,
		.right = IW_RIGHT_REMOTE_READ,
		.to = q->src_to,
		.len = q->size,
		.now = now,
	};
	enum iw_stag_verdict v;
	uint8_t *where;

	v = iw_stag_check(r->cfg.stags, q->src_stag, &use, &where);
	if (v != IW_STAG_OK)
		return iw_stag_rdmap_error(r->cfg.stags, v, q->src_stag, &use, why);
	iw_stag_begin(r->cfg.stags, q->src_stag);
	return 0;
}

static int on_rreq(struct iw_rdmap *r, struct iw_ddp_msg *m, uint64_t now, struct iw_fault *why)
{
	struct inbound_read *in = in_at(r, r->in_tail);
	struct iw_rreq q;
	int err;

	assert((uint32_t)m->cookie == r->in_tail);
	if (iw_rreq_decode(&q, m->base, m->len) <= 0)
		return iw_fail(why, IW_E_RO_STREAM, "rdmap: Read Request of %U octets: expected %u",
			       m->len, (uint32_t)IW_RDMAP_RREQ_LEN);
	in->rreq = q;
	in->msg = *m;
	if (r->tx_shut)
		return iw_fail(
			why, IW_E_CLOSED,
			"rdmap: Read Request after our orderly close: it cannot be answered");
	/* RFC 5040 5.2.1: the source of a zero-length Read is not validated. */
	if (q.size > 0) {
		err = check_source(r, &q, now, why);
		if (err < 0)
			return err;
		in->counted = true;
	}
	r->in_tail++;
	return 0;
}

static int on_rresp(struct iw_rdmap *r, struct iw_ddp_msg *m, uint64_t now, struct iw_fault *why)
{
	struct outbound_read *o = outr_at(r, r->outr_head);

	(void)now;
	if (!iw_rdmap_waiting(r))
		return iw_fail(why, IW_E_RO_OPCODE,
			       "rdmap: Read Response to STag %x: no RDMA Read is outstanding",
			       m->stag);
	if (m->len != o->size)
		return iw_fail(why, IW_E_DDP_BOUNDS,
			       "rdmap: Read Response of %U octets: expected %u", m->len, o->size);
	if (o->size > 0 && (m->stag != o->stag || m->to != o->to))
		return iw_fail(
			why, m->stag != o->stag ? IW_E_DDP_STAG : IW_E_DDP_BOUNDS,
			"rdmap: Read Response to STag %x TO %X: the oldest RDMA Read has STag %x TO %X",
			m->stag, m->to, o->stag, o->to);
	/* RFC 5042 6.3.2: overlapping segments may add up to the length and still leave a gap. */
	if (m->scattered)
		return iw_fail(why, IW_E_DDP_BOUNDS,
			       "rdmap: Read Response to STag %x TO %X: its segments do not ascend",
			       m->stag, m->to);
	if (!o->rtr)
		sq_at(r, o->slot)->answered = true;
	r->outr_head++;
	r->moved.steps++;
	return 0;
}

static int on_term(struct iw_rdmap *r, struct iw_ddp_msg *m, uint64_t now, struct iw_fault *why)
{
	(void)now;
	iw_rdmap_peer_terminate(r, m, why);
	return IW_E_PEER_TERMINATE;
}

/*
 * Reports the fault of a delivered message, or of an early segment of it. Has no effect after the
 * peer's Terminate, which has ended the stream.
 */
static int fault_of(struct iw_rdmap *r, const struct iw_ddp_msg *m, const struct iw_rreq *rreq,
		    struct iw_fault *why)
{
	iw_rdmap_local_fault(r, why, &m->last, iw_ddp_hdr_len(m->last.tagged) + m->last_len, rreq);
	return why->err;
}

static int deliver_all(struct iw_rdmap *r, uint64_t now, struct iw_fault *why)
{
	struct iw_ddp_msg m;
	int err;

	while ((err = iw_ddp_deliver(r->ddp, &m, why)) > 0) {
		if (iw_tracing(r->cfg.tracer))
			iw_rdmap_trace_delivered(r, &m);
		err = rows[m.opcode].deliver(r, &m, now, why);
		if (err < 0)
			return fault_of(r, &m,
					m.opcode == IW_OP_RREQ ? &in_at(r, r->in_tail)->rreq : NULL,
					why);
	}
	return err < 0 ? fault_of(r, &m, NULL, why) : 0;
}

/* --- segments --------------------------------------------------------------------------------- */

/*
 * The checks of DDP come first (RFC 5040 7.2): version and valid QN. Then those of RDMAP: version,
 * opcode, tagged or untagged, queue.
 */
static int judge(struct iw_rdmap *r, const struct iw_ddp *h, size_t len, uint64_t now,
		 struct iw_fault *why)
{
	const struct iw_opcode_info *op = iw_opcode_info(h->opcode);
	uint8_t *where;

	if (h->dv != r->params.dv || (!h->tagged && h->qn > IW_QN_TERM))
		return iw_ddp_check(r->ddp, h, len, 0, now, &where, why);
	if (h->rv != r->params.dv)
		return iw_fail(why, IW_E_RO_VERSION, "rdmap: version %u: expected %u",
			       (uint32_t)h->rv, (uint32_t)r->params.dv);
	if (!rows[h->opcode].deliver)
		return iw_fail(why, IW_E_RO_OPCODE, "rdmap: OpCode %b: not defined by RFC 5040",
			       (uint32_t)h->opcode);
	if (op->tagged != h->tagged)
		return iw_fail(why, IW_E_RO_OPCODE, "rdmap: %s in %s segment: expected %s",
			       op->name, h->tagged ? "a tagged" : "an untagged",
			       op->tagged ? "a tagged one" : "an untagged one");
	if (!h->tagged && op->qn != h->qn)
		return iw_fail(why, IW_E_RO_OPCODE, "rdmap: %s on QN %u: expected QN %u", op->name,
			       h->qn, (uint32_t)op->qn);
	return 0;
}

/* Returns the form of RTR that the segment has; 0: it is not an RTR. */
static uint8_t rtr_form(const struct iw_rdmap *r, const struct iw_ddp *h, const uint8_t *payload,
			size_t len)
{
	struct iw_rreq q;

	if (!h->last)
		return 0;
	if (h->opcode == IW_OP_WRITE && len == 0)
		return IW_RTR_WRITE;
	if (h->opcode == IW_OP_SEND && len == 0 && h->msn == iw_ddp_next_msn(r->ddp, IW_QN_SEND) &&
	    h->mo == 0)
		return IW_RTR_SEND;
	if (h->opcode == IW_OP_RREQ && len == IW_RDMAP_RREQ_LEN &&
	    iw_rreq_decode(&q, payload, len) > 0 && q.size == 0)
		return IW_RTR_READ;
	return 0;
}

/*
 * RFC 6581 9.2: the first frame of the peer-to-peer model has one of the agreed RTR forms, or is
 * the Terminate of an initiator that could not continue. Returns 1 if it was a Send, which uses MSN
 * 1 but no buffer of the ULP; 0 if it is processed like any other segment.
 */
static int first_frame(struct iw_rdmap *r, const struct iw_ddp *h, const uint8_t *payload,
		       size_t len, struct iw_fault *why)
{
	uint8_t form = rtr_form(r, h, payload, len);

	if (h->opcode == IW_OP_TERM)
		return 0;
	if (!(form & r->rtr_expected))
		return iw_fail(
			why, IW_E_MPA_RTR,
			"rdmap: the first FPDU is %s of %U octets: expected an RTR of the set %b",
			iw_opcode_name(h->opcode), (uint64_t)len, (uint32_t)r->rtr_expected);
	r->rtr_expected = 0;
	if (form != IW_RTR_SEND)
		return 0;
	iw_ddp_skip_msn(r->ddp, IW_QN_SEND);
	return 1;
}

/* True if the len octets from TO to are in the sink of the Read. */
static bool in_sink(const struct outbound_read *o, uint64_t to, size_t len)
{
	uint64_t at = to - o->to;

	return at <= o->size && len <= o->size - at;
}

/*
 * Returns the outstanding Read of a Read Response's segment; NULL: no Read is outstanding. If the
 * LLP keeps order, that is the oldest Read, else the first one whose sink has the whole segment:
 * sinks of different lengths may overlap. If there is no such Read, check_response finds the fault:
 * in the bounds of the oldest Read with that STag, or in the STag.
 */
static struct outbound_read *find_read(struct iw_rdmap *r, const struct iw_ddp *h, size_t len,
				       bool in_order)
{
	struct outbound_read *found = outr_at(r, r->outr_head);
	uint32_t n;

	if (!iw_rdmap_waiting(r))
		return NULL;
	for (n = r->outr_head; !in_order && n != r->outr_tail; n++) {
		struct outbound_read *o = outr_at(r, n);

		if (h->stag != o->stag)
			continue;
		if (in_sink(o, h->to, len))
			return o;
		if (h->stag != found->stag)
			found = o;
	}
	return found;
}

/*
 * Checks a segment of a Read Response before it is placed: a Read is outstanding, and the segment
 * is within its sink. on_rresp checks that the Response is complete. STag and TO of a segment
 * without payload are not checked (RFC 5041 5.2).
 */
static int check_response(struct iw_rdmap *r, const struct iw_ddp *h, size_t len, bool in_order,
			  struct iw_fault *why)
{
	struct outbound_read *o = find_read(r, h, len, in_order);

	if (o == NULL)
		return iw_fail(why, IW_E_RO_OPCODE,
			       "rdmap: Read Response to STag %x: no RDMA Read is outstanding",
			       h->stag);
	if (len == 0)
		return 0;
	if (h->stag != o->stag)
		return iw_fail(why, IW_E_DDP_STAG,
			       "rdmap: Read Response to STag %x: the oldest RDMA Read has STag %x",
			       h->stag, o->stag);
	if (in_order && h->to - o->to != o->got)
		return iw_fail(why, IW_E_DDP_BOUNDS, "rdmap: Read Response at TO %X: expected %X",
			       h->to, o->to + o->got);
	if (!in_sink(o, h->to, len))
		return iw_fail(why, IW_E_DDP_BOUNDS,
			       "rdmap: Read Response with %U octets at TO %X: expected %u at TO %X",
			       (uint64_t)len, h->to, o->size, o->to);
	o->got += len;
	return 0;
}

/*
 * RFC 5041 5.1: places the segment in its buffer. A Send that is a single segment and the next in
 * order can stay in the LLP's memory. It is checked like any other, and consumes its buffer.
 */
static int place(struct iw_rdmap *r, uint64_t seq, const struct iw_ddp *h, const uint8_t *payload,
		 size_t len, struct iw_lend *lend, uint64_t now, struct iw_fault *why)
{
	const struct rdmap_row *row = &rows[h->opcode];
	uint8_t *where;
	int err;

	if (!lend || !r->cfg.loans || row->deliver != on_send || !iw_ddp_is_next(r->ddp, seq, h))
		return iw_ddp_place(r->ddp, h, payload, len, row->right, now, why);
	err = iw_ddp_check(r->ddp, h, len, row->right, now, &where, why);
	if (err == 0) {
		r->lend = lend;
		r->lent = payload;
	}
	return err;
}

/* The octets of a Read Request and of a Terminate are headers, not payload. */
static void count_payload(struct iw_rdmap *r, const struct iw_ddp *h, size_t len)
{
	if (len == 0 || h->opcode == IW_OP_RREQ || h->opcode == IW_OP_TERM)
		return;
	r->moved.rx_payload += len;
	r->moved.steps++;
}

/*
 * Checks, places and records one segment. Returns 1 for a Send as RTR, which needs no further
 * processing.
 */
static int take_segment(struct iw_rdmap *r, bool in_order, uint64_t seq, const struct iw_ddp *h,
			const uint8_t *payload, size_t len, struct iw_lend *lend, uint64_t now,
			struct iw_fault *why)
{
	int err = judge(r, h, len, now, why);

	/* If the LLP does not keep order, the first frame is the one with number 0. */
	if (err == 0 && iw_unlikely(r->rtr_expected) && (in_order || seq == 0))
		err = first_frame(r, h, payload, len, why);
	if (err == 0 && h->opcode == IW_OP_RRESP)
		err = check_response(r, h, len, in_order, why);
	if (err == 0 && in_order)
		err = iw_ddp_in_order(r->ddp, h, len, why);
	if (err == 0)
		err = place(r, seq, h, payload, len, lend, now, why);
	if (err == 0 && h->opcode == IW_OP_WRITE)
		r->tally.write_octets += len;
	if (err == 0)
		count_payload(r, h, len);
	if (err == 0)
		err = iw_ddp_arrive(r->ddp, in_order ? iw_ddp_next_seq(r->ddp) : seq, h, len, why);
	return err;
}

static int receive(struct iw_rdmap *r, bool in_order, uint64_t seq, const uint8_t *ulpdu,
		   size_t len, struct iw_lend *lend, uint64_t now, struct iw_fault *why)
{
	struct iw_ddp h;
	int hdr, err;

	if (!in_operation(r))
		return 0; /* RFC 5041 7.1: after a fault, segments are dropped silently */
	hdr = iw_wire_ddp_decode(&h, ulpdu, len);
	if (hdr <= 0) {
		err = iw_fail(why, IW_E_DDP_LOCAL,
			      "ddp: segment of %U octets: shorter than its header", (uint64_t)len);
		iw_rdmap_local_fault(r, why, NULL, 0, NULL);
		return err;
	}
	if (iw_tracing(r->cfg.tracer))
		iw_rdmap_trace_received(r, &h, len - (size_t)hdr);
	err = take_segment(r, in_order, seq, &h, ulpdu + hdr, len - (size_t)hdr, lend, now, why);
	if (err < 0)
		iw_rdmap_local_fault(r, why, &h, len, NULL);
	else
		err = err > 0 ? 0 : deliver_all(r, now, why);
	r->lend = NULL;
	return err;
}

int iw_rdmap_receive(struct iw_rdmap *r, const uint8_t *ulpdu, size_t len, uint64_t now,
		     struct iw_fault *why)
{
	return receive(r, true, 0, ulpdu, len, NULL, now, why);
}

int iw_rdmap_receive_seq(struct iw_rdmap *r, uint64_t seq, const uint8_t *ulpdu, size_t len,
			 struct iw_lend *lend, uint64_t now, struct iw_fault *why)
{
	return receive(r, false, seq, ulpdu, len, lend, now, why);
}
