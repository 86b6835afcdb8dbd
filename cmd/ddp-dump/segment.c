// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Decodes a DDP segment and its RDMAP header, checks the rules that a capture can show to be
 * broken, and reports FPDUs. */
#include "ddp-dump/internal.h"

#include <string.h>

static bool fits(const struct iw_opcode_info *rule, size_t payload)
{
	return payload >= rule->payload_min &&
	       (rule->payload_max == IW_OP_ANY_LEN || payload <= rule->payload_max);
}

enum shape iw_cap_segment_shape(const uint8_t *head, size_t head_len, uint16_t ulpdu_len)
{
	const struct iw_opcode_info *rule;
	struct iw_ddp h;
	int n;

	if (head_len < IW_MPA_HEAD_LEN)
		return SHAPE_NONE;
	n = iw_wire_ddp_decode(&h, head + IW_MPA_HEAD_LEN,
			       IW_MIN(head_len - IW_MPA_HEAD_LEN, (size_t)ulpdu_len));
	if (n <= 0)
		return SHAPE_NONE;
	rule = iw_opcode_info(h.opcode);
	if (!rule->assigned || rule->tagged != h.tagged)
		return SHAPE_NONE;
	if (h.dv > 1 || h.rv != h.dv || h.rsvd_ddp || h.rsvd_rdmap ||
	    !fits(rule, ulpdu_len - (size_t)n) || (!h.tagged && h.qn != rule->qn))
		return SHAPE_LOOSE;
	return SHAPE_STRICT;
}

/* --- Terminate --- */

/* The control field announces headers that are missing. */
static bool lacks_headers(const struct iw_terminate *t)
{
	return t->len_absent || (t->d && !t->ddp_hdr_len) || (t->r && !t->has_rreq);
}

static void decode_terminate(struct iw_cap *c, struct iw_cap_event *ev, const uint8_t *p,
			     size_t len)
{
	struct iw_cap_ddp *e = &ev->ddp;
	const struct iw_terminate *t = &c->term;

	len = IW_MIN(len, (size_t)IW_RDMAP_TERM_MAX);
	if (iw_terminate_decode(&c->term, p, len) <= 0)
		return;
	e->term = &c->term;
	if (iw_terminate_decode_siw(&c->term_exchanged, t, p, len)) {
		e->term_exchanged = t = &c->term_exchanged;
		ev->deviations |= IW_CAP_DEV_TERM_BITS;
	}
	if (t->d && t->ddp_hdr_len && t->ddp_len < t->ddp_hdr_len)
		ev->deviations |= IW_CAP_DEV_TERM_LEN;
	/* Only if the snap length did not cut it. */
	if (len == IW_MIN(e->len, (size_t)IW_RDMAP_TERM_MAX) && lacks_headers(t))
		ev->deviations |= IW_CAP_DEV_TERM_HDRS;
}

/* --- decoding --- */

static void decode_untagged(struct iw_cap *c, struct iw_cap_event *ev, const uint8_t *p,
			    size_t have)
{
	struct iw_cap_ddp *e = &ev->ddp;

	switch (e->hdr.opcode) {
	case IW_OP_RREQ:
		if (iw_rreq_decode(&c->rreq, p, have) > 0)
			e->rreq = &c->rreq;
		return;
	case IW_OP_TERM:
		decode_terminate(c, ev, p, have);
		return;
	case IW_OP_IMM:
	case IW_OP_IMM_SE:
		if (have >= IW_RDMAP_IMM_LEN)
			e->imm = p;
		return;
	case IW_OP_ATOMIC_REQ:
		if (iw_atomic_req_decode(&c->atomic_req, p, have) <= 0)
			return;
		e->atomic_req = &c->atomic_req;
		if (c->atomic_req.rsvd)
			ev->deviations |= IW_CAP_DEV_RESERVED;
		return;
	case IW_OP_ATOMIC_RSP:
		if (iw_atomic_rsp_decode(&c->atomic_rsp, p, have) > 0)
			e->atomic_rsp = &c->atomic_rsp;
		return;
	}
}

void iw_cap_segment_decode(struct iw_cap *c, struct iw_cap_event *ev, const uint8_t *p, size_t have,
			   size_t len)
{
	struct iw_cap_ddp *e = &ev->ddp;
	int n = iw_wire_ddp_decode(&e->hdr, p, have);

	e->segment_len = (uint32_t)len;
	if (n <= 0)
		return;
	e->has_header = true;
	e->len = len - (size_t)n;
	if (!e->hdr.tagged)
		decode_untagged(c, ev, p + n, have - (size_t)n);
	if (e->hdr.rsvd_ddp || e->hdr.rsvd_rdmap)
		ev->deviations |= IW_CAP_DEV_RESERVED;
	if (!e->hdr.tagged && iw_opcode_info(e->hdr.opcode)->invalidates && !e->hdr.inval_stag)
		ev->deviations |= IW_CAP_DEV_INVALIDATE;
}

size_t iw_cap_segment_payload(struct iw_cap *c, struct iw_cap_event *ev, const struct transfer *t,
			      const uint8_t *p, size_t have, const uint8_t **payload)
{
	struct iw_cap_ddp *e = &ev->ddp;
	size_t hdr = iw_ddp_hdr_len(e->hdr.tagged);

	*payload = NULL;
	if (!p || !e->has_header || have < hdr || !iw_cap_payload_wanted(c, t, p, have))
		return 0;
	if (!c->segment)
		c->segment = iw_mem_alloc(c->mem, SEGMENT_MAX);
	if (!c->segment)
		return 0;
	have = IW_MIN(IW_MIN(have - hdr, e->len), (size_t)SEGMENT_MAX);
	memcpy(c->segment, p + hdr, have);
	*payload = c->segment;
	if (c->payload) {
		e->payload = c->segment;
		e->payload_len = have;
	}
	return have;
}

/* --- rules --- */

void iw_cap_order_start(struct order *o)
{
	*o = (struct order){ 0 };
	/* RFC 5041 4.3: the first message of each queue has MSN 1. */
	for (size_t i = 0; i < IW_ARRAY_LEN(o->queue); i++) {
		o->queue[i].known = true;
		o->queue[i].msn = 1;
	}
}

void iw_cap_order_forget(struct order *o)
{
	for (size_t i = 0; i < IW_ARRAY_LEN(o->queue); i++)
		o->queue[i].known = false;
}

int iw_cap_order_check(struct iw_fault *why, const struct order *o, const struct iw_cap_ddp *e)
{
	const struct iw_ddp *h = &e->hdr;

	if (o->terminated) {
		int err = iw_fail(why, IW_E_STATE, "rdmap: %s after a Terminate",
				  iw_opcode_name(h->opcode));

		why->clause = "RFC 5040 5.4";
		return err;
	}
	if (h->tagged || h->qn >= IW_ARRAY_LEN(o->queue) || !o->queue[h->qn].known)
		return 0;
	if (h->msn != o->queue[h->qn].msn)
		return iw_fail(why, IW_E_DDP_MSN, "ddp: MSN %u on QN %u, expected %u", h->msn,
			       h->qn, o->queue[h->qn].msn);
	if (h->mo != o->queue[h->qn].mo)
		return iw_fail(why, IW_E_DDP_MO, "ddp: MO %u in MSN %u on QN %u, expected %u",
			       h->mo, h->msn, h->qn, o->queue[h->qn].mo);
	return 0;
}

void iw_cap_order_note(struct order *o, const struct iw_cap_ddp *e)
{
	const struct iw_ddp *h = &e->hdr;

	o->terminated |= e->term != NULL;
	if (h->tagged || h->qn >= IW_ARRAY_LEN(o->queue))
		return;
	o->queue[h->qn].known = true;
	o->queue[h->qn].msn = h->last ? h->msn + 1 : h->msn;
	o->queue[h->qn].mo = h->last ? 0 : h->mo + (uint32_t)e->len;
}

int iw_cap_segment_check(struct iw_fault *why, const struct iw_cap_ddp *e, bool rdmac)
{
	const struct iw_ddp *h = &e->hdr;
	const struct iw_opcode_info *rule = iw_opcode_info(h->opcode);
	const char *name = rule->name;

	if (!e->has_header) {
		int err = iw_fail(why, IW_E_FORMAT,
				  "ddp: segment of %u octets is shorter than a DDP header",
				  e->segment_len);

		why->clause = "RFC 5041 4.1";
		return err;
	}
	if (h->dv != 1 && !(h->dv == 0 && rdmac))
		return iw_fail(why, h->tagged ? IW_E_DDP_VERSION_T : IW_E_DDP_VERSION_U,
			       "ddp: DV %u, expected 1", (uint32_t)h->dv);
	if (h->rv != 1 && !(h->rv == 0 && rdmac))
		return iw_fail(why, IW_E_RO_VERSION, "rdmap: RV %u, expected 1", (uint32_t)h->rv);
	if (!rule->assigned)
		return iw_fail(why, IW_E_RO_OPCODE, "rdmap: opcode %b is not assigned",
			       (uint32_t)h->opcode);
	if (rule->tagged != h->tagged)
		return iw_fail(why, IW_E_RO_OPCODE, "rdmap: %s in %s segment", name,
			       h->tagged ? "a tagged" : "an untagged");
	if (!h->tagged && h->qn != rule->qn)
		return iw_fail(why, IW_E_DDP_QN, "ddp: %s on QN %u, expected %u", name, h->qn,
			       (uint32_t)rule->qn);
	if (!fits(rule, e->len)) {
		int err = iw_fail(why, IW_E_FORMAT, "rdmap: %s with %u octets, expected %u", name,
				  (uint32_t)e->len,
				  (uint32_t)(e->len < rule->payload_min ? rule->payload_min
									: rule->payload_max));

		why->clause = rule->clause;
		return err;
	}
	if (e->atomic_req && e->atomic_req->op != IW_ATOMIC_FETCH_ADD &&
	    e->atomic_req->op != IW_ATOMIC_CMP_SWAP) {
		int err = iw_fail(why, IW_E_RO_OPCODE, "rdmap: AOpCode %u is not assigned",
				  (uint32_t)e->atomic_req->op);

		why->clause = "RFC 7306 5.2.1";
		return err;
	}
	return 0;
}

/* --- FPDUs --- */

static void report_fault(struct iw_cap *c, struct flow *f, unsigned d, const struct run *r,
			 const struct iw_fault *why, uint64_t position)
{
	struct iw_fault *out = iw_cap_event_error(c, f, d, r->time_ns, r->frame);

	*out = *why;
	out->offset = position;
}

static enum iw_cap_marker marker_verdict(const struct fpdus *w)
{
	if (!w->markers)
		return IW_CAP_MARKER_OFF;
	if (w->bad_marks)
		return IW_CAP_MARKER_BAD;
	return w->marks ? IW_CAP_MARKER_GOOD : IW_CAP_MARKER_NONE;
}

void iw_cap_segment_count(struct iw_cap *c, const struct iw_cap_event *ev)
{
	const struct iw_cap_ddp *e = &ev->ddp;
	uint64_t *const crc[] = {
		[IW_CAP_CRC_OFF] = &c->totals.crc_off,
		[IW_CAP_CRC_GOOD] = &c->totals.crc_good,
		[IW_CAP_CRC_BAD] = &c->totals.crc_bad,
		[IW_CAP_CRC_ABSENT] = &c->totals.crc_absent,
	};

	*crc[e->crc] += 1;
	c->totals.markers += e->markers;
	c->totals.deviations += (unsigned)__builtin_popcount(ev->deviations);
	if (!e->has_header) {
		c->totals.headless++;
		return;
	}
	c->totals.segments++;
	c->totals.payload_octets += e->len;
	c->totals.aligned += ev->flow->over == IW_CAP_OVER_TCP && iw_cap_aligned(e);
	c->totals.terminates += e->term != NULL;
}

/* An end uses the RDMA Consortium's revision, in which DV and RV are 0 (RFC 5044 appendix C). */
static bool may_be_rdmac(const struct mpa *mpa)
{
	return (mpa->request.seen && mpa->request.rev == 0) ||
	       (mpa->reply.seen && mpa->reply.rev == 0);
}

/* The responder's first FPDU, before the initiator's first one. False if octets of the initiator
 * are missing. */
static bool is_early(const struct flow *f, unsigned d)
{
	unsigned init = (unsigned)f->pub.initiator;
	const struct fpdus *w = &f->mpa->fpdus[init];

	return d != init && f->mpa->fpdus[d].count == 0 && w->count == 0 && w->pos == 0 &&
	       (f->dir[init].phase == PHASE_FIRST || f->dir[init].phase == PHASE_FPDU);
}

static void note_align(struct iw_cap_align *a, const struct fpdus *w)
{
	size_t at = w->off ? 32u - (size_t)__builtin_clz(w->off) : 0;

	if (w->off == OFF_UNKNOWN)
		return;
	a->fpdus++;
	a->offset[IW_MIN(at, IW_ARRAY_LEN(a->offset) - 1)]++;
	a->segments[IW_MIN(w->segments - 1, (uint32_t)IW_ARRAY_LEN(a->segments) - 1)]++;
}

void iw_cap_segment_report(struct iw_cap *c, struct flow *f, unsigned d, const struct run *r,
			   enum iw_cap_crc crc)
{
	struct fpdus *w = &f->mpa->fpdus[d];
	struct iw_cap_event *ev = iw_cap_event_new(c, IW_CAP_DDP, f, d, r->time_ns, r->frame);
	struct iw_cap_ddp *e = &ev->ddp;
	size_t have = IW_MIN(w->head_len - (size_t)IW_MPA_HEAD_LEN, (size_t)w->ulpdu_len);
	uint8_t computed[IW_MPA_CRC_LEN];
	struct transfer *t = &f->mpa->transfer;
	size_t body = w->body_len - IW_MIN(w->body_len, (size_t)IW_MPA_HEAD_LEN), kept;
	const uint8_t *payload;
	struct iw_fault why = { 0 };
	int err = 0;

	iw_cap_segment_decode(c, ev, w->head + IW_MPA_HEAD_LEN, have, w->ulpdu_len);
	kept = iw_cap_segment_payload(c, ev, t, w->body ? w->body + IW_MPA_HEAD_LEN : NULL, body,
				      &payload);
	e->position = w->start;
	e->first_frame = w->start_frame;
	e->offset = w->off;
	e->segments = w->segments;
	e->crc = crc;
	iw_put_le32(computed, w->crc);
	e->crc_wire = iw_get_be32(w->crc_wire);
	e->crc_computed = iw_get_be32(computed);
	e->marker = marker_verdict(w);
	e->markers = w->marks;
	e->mark = w->list;
	e->missing = w->missing;
	e->head = w->head;
	e->head_len = w->head_len;
	e->pad = w->missing ? NULL : w->pad;
	if (w->pad_not_zero)
		ev->deviations |= IW_CAP_DEV_PAD;
	if (is_early(f, d))
		ev->deviations |= IW_CAP_DEV_EARLY;
	w->count++;
	note_align(&w->align, w);

	if (crc == IW_CAP_CRC_BAD) {
		/* All fields of the header may be damaged. */
		err = iw_fail(&why, IW_E_MPA_CRC, "mpa: CRC %x, expected %x", e->crc_wire,
			      e->crc_computed);
		ev->deviations = 0;
		iw_cap_order_forget(&w->order);
	} else if (e->has_header || !w->missing) {
		err = iw_cap_segment_check(&why, e, may_be_rdmac(f->mpa));
		if (err == 0)
			err = iw_cap_order_check(&why, &w->order, e);
	}
	e->faulty = err < 0;
	if (err < 0)
		report_fault(c, f, d, r, &why, w->start);
	if (e->marker == IW_CAP_MARKER_BAD) {
		e->faulty = true;
		iw_fail(&why, IW_E_MPA_MARKER,
			"mpa: %u of %u markers do not point to the FPDU they lie in", w->bad_marks,
			w->marks);
		report_fault(c, f, d, r, &why, w->start);
	}
	if (e->has_header && crc != IW_CAP_CRC_BAD)
		iw_cap_order_note(&w->order, e);
	if (iw_cap_transfer_segment(c, t, d, ev, payload, kept, &why) < 0) {
		e->faulty = true;
		report_fault(c, f, d, r, &why, w->start);
	}
	iw_cap_segment_count(c, ev);
}
