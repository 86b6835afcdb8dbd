// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One FPDU's DDP segment and RDMAP message: decoded, judged by the rules an onlooker can check,
 * and told. */
#include "capture/internal.h"

#include <string.h>

/* RFC 5040 figure 4, RFC 7306 figure 2: how each opcode travels. */
struct rule {
	bool known, tagged;
	uint8_t qn;
	uint8_t payload_min, payload_max; /* octets behind the DDP header; ANY: no bound */
};
#define ANY            255
#define TAGGED         true
#define UNTAGGED       false
/* RFC 7306 5.2 and 6.2 */
#define ATOMIC_REQ_LEN 52
#define ATOMIC_RSP_LEN 12
#define IMM_LEN        8
#define RREQ_LEN       IW_RDMAP_RREQ_LEN
#define TERM_MIN       IW_RDMAP_TERM_MIN
#define TERM_MAX       IW_RDMAP_TERM_MAX

/* clang-format off */
static const struct rule rules[] = {
	/*                     known model     queue             payload */
	[IW_OP_WRITE]       = { true, TAGGED,   0,                0,              ANY },
	[IW_OP_RREQ]        = { true, UNTAGGED, IW_QN_RREQ,       RREQ_LEN,       RREQ_LEN },
	[IW_OP_RRESP]       = { true, TAGGED,   0,                0,              ANY },
	[IW_OP_SEND]        = { true, UNTAGGED, IW_QN_SEND,       0,              ANY },
	[IW_OP_SEND_INV]    = { true, UNTAGGED, IW_QN_SEND,       0,              ANY },
	[IW_OP_SEND_SE]     = { true, UNTAGGED, IW_QN_SEND,       0,              ANY },
	[IW_OP_SEND_SE_INV] = { true, UNTAGGED, IW_QN_SEND,       0,              ANY },
	[IW_OP_TERM]        = { true, UNTAGGED, IW_QN_TERM,       TERM_MIN,       TERM_MAX },
	[IW_OP_IMM]         = { true, UNTAGGED, IW_QN_SEND,       IMM_LEN,        IMM_LEN },
	[IW_OP_IMM_SE]      = { true, UNTAGGED, IW_QN_SEND,       IMM_LEN,        IMM_LEN },
	[IW_OP_ATOMIC_REQ]  = { true, UNTAGGED, IW_QN_RREQ,       ATOMIC_REQ_LEN, ATOMIC_REQ_LEN },
	[IW_OP_ATOMIC_RSP]  = { true, UNTAGGED, IW_QN_ATOMIC_RSP, ATOMIC_RSP_LEN, ATOMIC_RSP_LEN },
};
/* clang-format on */

static const struct rule *rule_of(uint8_t opcode)
{
	static const struct rule none;

	return opcode < IW_ARRAY_LEN(rules) ? &rules[opcode] : &none;
}

static bool fits(const struct rule *rule, size_t payload)
{
	return payload >= rule->payload_min &&
	       (rule->payload_max == ANY || payload <= rule->payload_max);
}

enum shape segment_shape(const uint8_t *head, size_t head_len, uint16_t ulpdu_len)
{
	const struct rule *rule;
	struct iw_ddp h;
	int n;

	if (head_len < IW_MPA_HEAD_LEN)
		return SHAPE_NONE;
	n = iw_ddp_decode(&h, head + IW_MPA_HEAD_LEN,
			  IW_MIN(head_len - IW_MPA_HEAD_LEN, (size_t)ulpdu_len));
	if (n <= 0)
		return SHAPE_NONE;
	rule = rule_of(h.opcode);
	if (!rule->known || rule->tagged != h.tagged)
		return SHAPE_NONE;
	if (h.dv > 1 || h.rv != h.dv || h.rsvd_ddp || h.rsvd_rdmap ||
	    !fits(rule, ulpdu_len - (size_t)n) || (!h.tagged && h.qn != rule->qn))
		return SHAPE_LOOSE;
	return SHAPE_STRICT;
}

/* --- Terminate --- */

/*
 * Linux siw on a little-endian machine lays the control field out from the low bits: layer in the
 * low half of octet 0, M, D and R in the low bits of octet 2. This turns such octets into those of
 * RFC 5040 4.8, and back.
 */
static void exchange(uint8_t *control)
{
	uint8_t flags = control[2];

	control[0] = (uint8_t)(control[0] << 4 | control[0] >> 4);
	/* M, D, R: 0x01, 0x02, 0x04 for 0x80, 0x40, 0x20. What else is set stays a reserved bit. */
	control[2] = (uint8_t)((flags & 1) << 7 | (flags & 2) << 5 | (flags & 4) << 3 |
			       (flags >> 3 & 0x1f));
}

/* Could RFC 5040 4.8 have written this? */
static bool is_sensible(const struct iw_terminate *t)
{
	uint32_t term = IW_TERM((uint32_t)t->layer, (uint32_t)t->etype, (uint32_t)t->code);

	return !t->rsvd_bits && !t->rsvd && iw_err_from_term(term) != IW_E_PEER_TERMINATE;
}

static void decode_terminate(struct iw_cap *c, struct iw_cap_ddp *e, const uint8_t *p, size_t len)
{
	uint8_t turned[IW_RDMAP_TERM_MAX];
	const struct iw_terminate *t = &c->term;

	len = IW_MIN(len, sizeof(turned));
	if (iw_terminate_decode(&c->term, p, len) <= 0)
		return;
	e->term = &c->term;
	if (!is_sensible(t)) {
		memcpy(turned, p, len);
		exchange(turned);
		if (iw_terminate_decode(&c->term_exchanged, turned, len) > 0 &&
		    is_sensible(&c->term_exchanged)) {
			e->term_exchanged = t = &c->term_exchanged;
			e->deviations |= IW_CAP_DEV_TERM_BITS;
		}
	}
	if (t->d && t->ddp_hdr_len && t->ddp_len < t->ddp_hdr_len)
		e->deviations |= IW_CAP_DEV_TERM_LEN;
}

/* --- rules --- */

/* Does the stream follow the RDMA Consortium's versions (RFC 5044 appendix C)? */
static bool may_be_rdmac(const struct follow *fo)
{
	return (fo->request.seen && fo->request.rev == 0) || (fo->reply.seen && fo->reply.rev == 0);
}

static int check_order(struct iw_fault *why, const struct walk *w, const struct iw_ddp *h)
{
	if (h->tagged || h->qn >= IW_ARRAY_LEN(w->queue) || !w->queue[h->qn].known)
		return 0;
	if (h->msn != w->queue[h->qn].msn)
		return iw_fail(why, IW_E_DDP_MSN, "ddp: MSN %u on QN %u, expected %u", h->msn,
			       h->qn, w->queue[h->qn].msn);
	if (h->mo != w->queue[h->qn].mo)
		return iw_fail(why, IW_E_DDP_MO, "ddp: MO %u in MSN %u on QN %u, expected %u",
			       h->mo, h->msn, h->qn, w->queue[h->qn].mo);
	return 0;
}

static void note_order(struct walk *w, const struct iw_ddp *h, size_t len)
{
	if (h->tagged || h->qn >= IW_ARRAY_LEN(w->queue))
		return;
	w->queue[h->qn].known = true;
	w->queue[h->qn].msn = h->last ? h->msn + 1 : h->msn;
	w->queue[h->qn].mo = h->last ? 0 : h->mo + (uint32_t)len;
}

/* The first rule that the segment breaks. */
static int check(struct iw_fault *why, const struct follow *fo, const struct walk *w,
		 const struct iw_cap_ddp *e)
{
	const struct iw_ddp *h = &e->hdr;
	const struct rule *rule = rule_of(h->opcode);
	const char *name = iw_opcode_name(h->opcode);

	if (!e->has_header) {
		int err = iw_fail(why, IW_E_FORMAT,
				  "ddp: segment of %u octets is shorter than a DDP header",
				  (uint32_t)e->ulpdu_len);

		why->clause = "RFC 5041 4.1";
		return err;
	}
	if (h->dv != 1 && !(h->dv == 0 && may_be_rdmac(fo)))
		return iw_fail(why, h->tagged ? IW_E_DDP_VERSION_T : IW_E_DDP_VERSION_U,
			       "ddp: DV %u, expected 1", (uint32_t)h->dv);
	if (h->rv != 1 && !(h->rv == 0 && may_be_rdmac(fo)))
		return iw_fail(why, IW_E_RO_VERSION, "rdmap: RV %u, expected 1", (uint32_t)h->rv);
	if (!rule->known)
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

		why->clause = "RFC 5040 4.4";
		return err;
	}
	if (w->terminated) {
		int err = iw_fail(why, IW_E_STATE, "rdmap: %s behind a Terminate", name);

		why->clause = "RFC 5040 5.4";
		return err;
	}
	return check_order(why, w, h);
}

/* --- telling --- */

static void tell_fault(struct iw_cap *c, struct flow *f, unsigned d, const struct run *r,
		       const struct iw_fault *why, uint64_t position)
{
	struct iw_fault *out = event_error(c, f, d, r);

	*out = *why;
	out->offset = position;
}

static enum iw_cap_marker marker_verdict(const struct walk *w)
{
	if (!w->markers)
		return IW_CAP_MARKER_OFF;
	if (w->bad_marks)
		return IW_CAP_MARKER_BAD;
	return w->marks ? IW_CAP_MARKER_GOOD : IW_CAP_MARKER_NONE;
}

static void count(struct iw_cap *c, const struct iw_cap_ddp *e)
{
	uint64_t *const crc[] = {
		[IW_CAP_CRC_OFF] = &c->totals.crc_off,
		[IW_CAP_CRC_GOOD] = &c->totals.crc_good,
		[IW_CAP_CRC_BAD] = &c->totals.crc_bad,
		[IW_CAP_CRC_ABSENT] = &c->totals.crc_absent,
	};

	*crc[e->crc] += 1;
	c->totals.markers += e->markers;
	c->totals.deviations += (unsigned)__builtin_popcount(e->deviations);
	if (!e->has_header) {
		c->totals.headless++;
		return;
	}
	c->totals.segments++;
	c->totals.payload_octets += e->len;
	c->totals.aligned += e->aligned;
	c->totals.terminates += e->term != NULL;
}

/* The responder's first FPDU, while the initiator, of whom nothing was missed, has sent none. */
static bool is_early(const struct flow *f, unsigned d)
{
	unsigned init = (unsigned)f->pub.initiator;
	const struct walk *w = &f->follow->walk[init];

	return d != init && f->follow->walk[d].fpdus == 0 && w->fpdus == 0 && w->pos == 0 &&
	       (f->dir[init].phase == PHASE_FIRST || f->dir[init].phase == PHASE_FPDU);
}

void segment_tell(struct iw_cap *c, struct flow *f, unsigned d, const struct run *r,
		  enum iw_cap_crc crc)
{
	struct walk *w = &f->follow->walk[d];
	struct iw_cap_ddp *e = &event_new(c, IW_CAP_DDP, f, d, r->time_ns, r->frame)->ddp;
	const uint8_t *p = w->head + IW_MPA_HEAD_LEN;
	size_t have = IW_MIN(w->head_len - (size_t)IW_MPA_HEAD_LEN, (size_t)w->ulpdu_len);
	uint8_t computed[IW_MPA_CRC_LEN];
	struct iw_fault why = { 0 };
	int n;

	e->ulpdu_len = w->ulpdu_len;
	e->position = w->start;
	e->first_frame = w->start_frame;
	e->aligned = w->aligned;
	e->crc = crc;
	iw_put_le32(computed, w->crc);
	e->crc_wire = iw_get_be32(w->crc_wire);
	e->crc_computed = iw_get_be32(computed);
	e->marker = marker_verdict(w);
	e->markers = w->marks;
	e->missing = w->missing;
	e->head = w->head;
	e->head_len = w->head_len;

	n = iw_ddp_decode(&e->hdr, p, have);
	if (n > 0) {
		e->has_header = true;
		e->len = w->ulpdu_len - (size_t)n;
		p += n;
		have -= (size_t)n;
		if (e->hdr.opcode == IW_OP_RREQ && !e->hdr.tagged &&
		    iw_rreq_decode(&c->rreq, p, have) > 0)
			e->rreq = &c->rreq;
		if (e->hdr.opcode == IW_OP_TERM && !e->hdr.tagged)
			decode_terminate(c, e, p, have);
		if (e->hdr.rsvd_ddp || e->hdr.rsvd_rdmap)
			e->deviations |= IW_CAP_DEV_RESERVED;
	}
	if (w->pad_not_zero)
		e->deviations |= IW_CAP_DEV_PAD;
	if (is_early(f, d))
		e->deviations |= IW_CAP_DEV_EARLY;
	w->fpdus++;

	if (crc == IW_CAP_CRC_BAD) {
		/* Whatever the header says may be wrong. */
		iw_fail(&why, IW_E_MPA_CRC, "mpa: CRC %x, expected %x", e->crc_wire,
			e->crc_computed);
		tell_fault(c, f, d, r, &why, w->start);
		e->deviations = 0;
		for (size_t i = 0; i < IW_ARRAY_LEN(w->queue); i++)
			w->queue[i].known = false;
	} else if ((e->has_header || !w->missing) && check(&why, f->follow, w, e) < 0) {
		tell_fault(c, f, d, r, &why, w->start);
	}
	if (e->marker == IW_CAP_MARKER_BAD) {
		iw_fail(&why, IW_E_MPA_MARKER,
			"mpa: %u of %u markers do not point to the FPDU they lie in", w->bad_marks,
			w->marks);
		tell_fault(c, f, d, r, &why, w->start);
	}
	if (e->has_header && crc != IW_CAP_CRC_BAD) {
		note_order(w, &e->hdr, e->len);
		w->terminated |= e->term != NULL;
	}
	count(c, e);
}
