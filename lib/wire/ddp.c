// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Decodes, encodes and prints DDP headers with the RDMAP control octet, Read Request and Terminate.
 */
#include "wire/ddp.h"

#include <string.h>

#include <iwarp/err.h>

#include "util/num.h"
#include "wire/atomic.h"

/* RFC 5041 4.1: T(1) L(1) Rsvd(4) DV(2). */
#define DDP_T          0x80
#define DDP_L          0x40
#define DDP_RSVD_SHIFT 2
#define DDP_RSVD_MASK  0x0f
#define DDP_DV_MASK    0x03

/* RFC 5040 4.1: RV(2) Rsv(2) Opcode(4). */
#define RDMAP_RV_SHIFT    6
#define RDMAP_RSVD_SHIFT  4
#define RDMAP_BITS_MASK   0x03
#define RDMAP_OPCODE_MASK 0x0f

/* RFC 5041 4.1 and RFC 5040 4.1: the current versions, which are not printed. */
#define IETF_DV 1
#define IETF_RV 1

/* RFC 5040 4.8: HdrCt in the high bits of octet 2. */
#define TERM_M    0x80
#define TERM_D    0x40
#define TERM_R    0x20
#define TERM_RSVD 0x1f

#define ANY            IW_OP_ANY_LEN
#define TERM_MIN       IW_RDMAP_TERM_MIN
#define TERM_MAX       IW_RDMAP_TERM_MAX
#define RREQ_LEN       IW_RDMAP_RREQ_LEN
#define IMM_LEN        IW_RDMAP_IMM_LEN
#define ATOMIC_REQ_LEN IW_RDMAP_ATOMIC_REQ_LEN
#define ATOMIC_RSP_LEN IW_RDMAP_ATOMIC_RSP_LEN

/* Assigned, buffer model, uses the Invalidate STag. */
#define TAGGED     true, true, false
#define UNTAGGED   true, false, false
#define INVALIDATE true, false, true

/* Name, model, queue, shortest and longest payload, clause. */
/* clang-format off */
static const struct iw_opcode_info ops[] = {
	[IW_OP_WRITE]       = { "RDMA Write",                               TAGGED,     0,                0,              ANY,            "RFC 5040 4.3" },
	[IW_OP_RREQ]        = { "RDMA Read Request",                        UNTAGGED,   IW_QN_RREQ,       RREQ_LEN,       RREQ_LEN,       "RFC 5040 4.4" },
	[IW_OP_RRESP]       = { "RDMA Read Response",                       TAGGED,     0,                0,              ANY,            "RFC 5040 4.5" },
	[IW_OP_SEND]        = { "Send",                                     UNTAGGED,   IW_QN_SEND,       0,              ANY,            "RFC 5040 4.6" },
	[IW_OP_SEND_INV]    = { "Send with Invalidate",                     INVALIDATE, IW_QN_SEND,       0,              ANY,            "RFC 5040 4.7" },
	[IW_OP_SEND_SE]     = { "Send with Solicited Event",                UNTAGGED,   IW_QN_SEND,       0,              ANY,            "RFC 5040 4.6" },
	[IW_OP_SEND_SE_INV] = { "Send with Solicited Event and Invalidate", INVALIDATE, IW_QN_SEND,       0,              ANY,            "RFC 5040 4.7" },
	[IW_OP_TERM]        = { "Terminate",                                UNTAGGED,   IW_QN_TERM,       TERM_MIN,       TERM_MAX,       "RFC 5040 4.8" },
	[IW_OP_IMM]         = { "Immediate Data",                           UNTAGGED,   IW_QN_SEND,       IMM_LEN,        IMM_LEN,        "RFC 7306 6.3" },
	[IW_OP_IMM_SE]      = { "Immediate Data with Solicited Event",      UNTAGGED,   IW_QN_SEND,       IMM_LEN,        IMM_LEN,        "RFC 7306 6.3" },
	[IW_OP_ATOMIC_REQ]  = { "Atomic Request",                           UNTAGGED,   IW_QN_RREQ,       ATOMIC_REQ_LEN, ATOMIC_REQ_LEN, "RFC 7306 5.2.1" },
	[IW_OP_ATOMIC_RSP]  = { "Atomic Response",                          UNTAGGED,   IW_QN_ATOMIC_RSP, ATOMIC_RSP_LEN, ATOMIC_RSP_LEN, "RFC 7306 5.2.2" },
};
/* clang-format on */

const struct iw_opcode_info *iw_opcode_info(uint8_t opcode)
{
	static const struct iw_opcode_info unassigned = { .name = "unassigned",
							  .clause = "RFC 5040 4.1" };

	return opcode < IW_ARRAY_LEN(ops) ? &ops[opcode] : &unassigned;
}

const char *iw_opcode_name(uint8_t opcode)
{
	return iw_opcode_info(opcode)->name;
}

int iw_wire_ddp_decode(struct iw_ddp *out, const uint8_t *src, size_t len)
{
	*out = (struct iw_ddp){ 0 };
	if (len < IW_DDP_TAGGED_LEN)
		return 0;

	bool tagged = src[0] & DDP_T;

	if (len < iw_ddp_hdr_len(tagged))
		return 0;
	out->tagged = tagged;
	out->last = src[0] & DDP_L;
	out->rsvd_ddp = src[0] >> DDP_RSVD_SHIFT & DDP_RSVD_MASK;
	out->dv = src[0] & DDP_DV_MASK;
	out->rv = src[1] >> RDMAP_RV_SHIFT & RDMAP_BITS_MASK;
	out->rsvd_rdmap = src[1] >> RDMAP_RSVD_SHIFT & RDMAP_BITS_MASK;
	out->opcode = src[1] & RDMAP_OPCODE_MASK;
	if (tagged) {
		out->stag = iw_get_be32(src + 2);
		out->to = iw_get_be64(src + 6);
		return IW_DDP_TAGGED_LEN;
	}
	out->inval_stag = iw_get_be32(src + 2);
	out->qn = iw_get_be32(src + 6);
	out->msn = iw_get_be32(src + 10);
	out->mo = iw_get_be32(src + 14);
	return IW_DDP_UNTAGGED_LEN;
}

int iw_wire_ddp_encode(uint8_t *dst, size_t cap, const struct iw_ddp *in)
{
	if (cap < iw_ddp_hdr_len(in->tagged))
		return IW_E_INVAL;
	dst[0] = (uint8_t)((in->tagged ? DDP_T : 0) | (in->last ? DDP_L : 0) |
			   (in->rsvd_ddp & DDP_RSVD_MASK) << DDP_RSVD_SHIFT |
			   (in->dv & DDP_DV_MASK));
	dst[1] = (uint8_t)((in->rv & RDMAP_BITS_MASK) << RDMAP_RV_SHIFT |
			   (in->rsvd_rdmap & RDMAP_BITS_MASK) << RDMAP_RSVD_SHIFT |
			   (in->opcode & RDMAP_OPCODE_MASK));
	if (in->tagged) {
		iw_put_be32(dst + 2, in->stag);
		iw_put_be64(dst + 6, in->to);
		return IW_DDP_TAGGED_LEN;
	}
	iw_put_be32(dst + 2, in->inval_stag);
	iw_put_be32(dst + 6, in->qn);
	iw_put_be32(dst + 10, in->msn);
	iw_put_be32(dst + 14, in->mo);
	return IW_DDP_UNTAGGED_LEN;
}

/* Omits the values that the RFCs require: version 1, reserved bits 0, the queue of the opcode. */
void iw_wire_ddp_print(struct iw_text *t, const struct iw_ddp *h)
{
	const struct iw_opcode_info *op = iw_opcode_info(h->opcode);

	iw_text_str(t, op->name);
	if (!op->assigned) {
		iw_text_str(t, " opcode ");
		iw_text_hex(t, h->opcode, 1);
	}
	if (h->last)
		iw_text_str(t, " L");
	if (h->tagged) {
		iw_text_fmt(t, " STag %x TO ", h->stag);
		iw_text_hex(t, h->to, 1);
	} else {
		if (!op->assigned || op->tagged || h->qn != op->qn)
			iw_text_fmt(t, " QN %u", h->qn);
		iw_text_fmt(t, " MSN %u MO %u", h->msn, h->mo);
		if (op->invalidates || h->inval_stag)
			iw_text_fmt(t, " Invalidate STag %x", h->inval_stag);
	}
	if (h->dv != IETF_DV)
		iw_text_fmt(t, " DV %u", (uint32_t)h->dv);
	if (h->rv != IETF_RV)
		iw_text_fmt(t, " RV %u", (uint32_t)h->rv);
	if (h->rsvd_ddp) {
		iw_text_str(t, " Rsvd ");
		iw_text_hex(t, h->rsvd_ddp, 1);
	}
	if (h->rsvd_rdmap) {
		iw_text_str(t, " Rsv ");
		iw_text_hex(t, h->rsvd_rdmap, 1);
	}
}

int iw_rreq_decode(struct iw_rreq *out, const uint8_t *src, size_t len)
{
	*out = (struct iw_rreq){ 0 };
	if (len < IW_RDMAP_RREQ_LEN)
		return 0;
	out->sink_stag = iw_get_be32(src);
	out->sink_to = iw_get_be64(src + 4);
	out->size = iw_get_be32(src + 12);
	out->src_stag = iw_get_be32(src + 16);
	out->src_to = iw_get_be64(src + 20);
	return IW_RDMAP_RREQ_LEN;
}

int iw_rreq_encode(uint8_t *dst, size_t cap, const struct iw_rreq *in)
{
	if (cap < IW_RDMAP_RREQ_LEN)
		return IW_E_INVAL;
	iw_put_be32(dst, in->sink_stag);
	iw_put_be64(dst + 4, in->sink_to);
	iw_put_be32(dst + 12, in->size);
	iw_put_be32(dst + 16, in->src_stag);
	iw_put_be64(dst + 20, in->src_to);
	return IW_RDMAP_RREQ_LEN;
}

void iw_rreq_print(struct iw_text *t, const struct iw_rreq *r)
{
	iw_text_fmt(t, "Data Sink STag %x TO ", r->sink_stag);
	iw_text_hex(t, r->sink_to, 1);
	iw_text_fmt(t, " RDMA Read Message Size %u Data Source STag %x TO ", r->size, r->src_stag);
	iw_text_hex(t, r->src_to, 1);
}

/*
 * RFC 5040 4.8: DDP Segment Length is present with M, and must be present with D. The headers
 * follow without gaps. A header that is cut short is not decoded, so that encode writes the same
 * octets.
 */
int iw_terminate_decode(struct iw_terminate *out, const uint8_t *src, size_t len)
{
	size_t used = IW_RDMAP_TERM_MIN;
	struct iw_ddp h;
	int n;

	*out = (struct iw_terminate){ 0 };
	if (len < IW_RDMAP_TERM_MIN)
		return 0;
	out->layer = src[0] >> 4;
	out->etype = src[0] & 0xf;
	out->code = src[1];
	out->m = src[2] & TERM_M;
	out->d = src[2] & TERM_D;
	out->r = src[2] & TERM_R;
	out->rsvd_bits = src[2] & TERM_RSVD;
	out->rsvd = src[3];
	if (out->m || out->d) {
		if (len - used < IW_RDMAP_TERM_LEN_LEN) {
			out->len_absent = true;
			return (int)used;
		}
		out->ddp_len = iw_get_be16(src + used);
		used += IW_RDMAP_TERM_LEN_LEN;
	}
	if (out->d) {
		n = iw_wire_ddp_decode(&h, src + used, len - used);
		if (n <= 0)
			return (int)used;
		memcpy(out->ddp, src + used, (size_t)n);
		out->ddp_hdr_len = (uint8_t)n;
		used += (size_t)n;
	}
	if (out->r) {
		n = iw_rreq_decode(&out->rreq, src + used, len - used);
		out->has_rreq = n > 0;
		used += (size_t)n;
	}
	return (int)used;
}

/* True if the reserved bits are 0 and an RFC defines the error. */
static bool is_sensible(const struct iw_terminate *t)
{
	uint32_t term = IW_TERM((uint32_t)t->layer, (uint32_t)t->etype, (uint32_t)t->code);

	return !t->rsvd_bits && !t->rsvd && iw_err_from_term(term) != IW_E_PEER_TERMINATE;
}

/* Converts a control field from siw's order to that of RFC 5040 4.8. */
static void exchange(uint8_t *control)
{
	uint8_t flags = control[2];

	control[0] = (uint8_t)(control[0] << 4 | control[0] >> 4);
	/*
	 * M, D and R move from 0x01, 0x02, 0x04 to 0x80, 0x40, 0x20; the rest to the reserved bits.
	 */
	control[2] = (uint8_t)((flags & 1) << 7 | (flags & 2) << 5 | (flags & 4) << 3 |
			       (flags >> 3 & 0x1f));
}

bool iw_terminate_decode_siw(struct iw_terminate *out, const struct iw_terminate *as_is,
			     const uint8_t *src, size_t len)
{
	uint8_t turned[IW_RDMAP_TERM_MAX];

	len = IW_MIN(len, sizeof(turned));
	if (is_sensible(as_is))
		return false;
	memcpy(turned, src, len);
	if (len >= IW_RDMAP_TERM_MIN)
		exchange(turned);
	return iw_terminate_decode(out, turned, len) > 0 && is_sensible(out);
}

int iw_terminate_encode(uint8_t *dst, size_t cap, const struct iw_terminate *in)
{
	size_t len_len = (in->m || in->d) && !in->len_absent ? IW_RDMAP_TERM_LEN_LEN : 0;
	size_t hdr_len = in->d ? in->ddp_hdr_len : 0;
	size_t rreq_len = in->r && in->has_rreq ? IW_RDMAP_RREQ_LEN : 0;
	size_t len = IW_RDMAP_TERM_MIN + len_len + hdr_len + rreq_len;

	if (hdr_len > sizeof(in->ddp) || cap < len)
		return IW_E_INVAL;
	dst[0] = (uint8_t)(in->layer << 4 | (in->etype & 0xf));
	dst[1] = in->code;
	dst[2] = (uint8_t)((in->m ? TERM_M : 0) | (in->d ? TERM_D : 0) | (in->r ? TERM_R : 0) |
			   (in->rsvd_bits & TERM_RSVD));
	dst[3] = in->rsvd;
	dst += IW_RDMAP_TERM_MIN;
	if (len_len)
		iw_put_be16(dst, in->ddp_len);
	dst += len_len;
	memcpy(dst, in->ddp, hdr_len);
	dst += hdr_len;
	if (rreq_len)
		iw_rreq_encode(dst, rreq_len, &in->rreq);
	return (int)len;
}

void iw_terminate_print(struct iw_text *t, const struct iw_terminate *m)
{
	struct iw_ddp h;

	iw_text_str(t, "Terminate ");
	iw_wire_term_print(t, IW_TERM(m->layer & 0xfu, m->etype & 0xfu, (uint32_t)m->code));
	if (m->m)
		iw_text_str(t, " M");
	if (m->d)
		iw_text_str(t, " D");
	if (m->r)
		iw_text_str(t, " R");
	if (m->rsvd_bits || m->rsvd) {
		iw_text_str(t, " Reserved ");
		iw_text_hex(t, (uint64_t)(m->rsvd_bits & TERM_RSVD) << 8 | m->rsvd, 4);
	}
	if ((m->m || m->d) && !m->len_absent)
		iw_text_fmt(t, " DDP Segment Length %u", (uint32_t)m->ddp_len);
	if (m->d && iw_wire_ddp_decode(&h, m->ddp, m->ddp_hdr_len) > 0) {
		iw_text_str(t, " of ");
		iw_wire_ddp_print(t, &h);
	}
	if (m->r && m->has_rreq) {
		iw_text_str(t, " ");
		iw_rreq_print(t, &m->rreq);
	}
}

const char *iw_wire_layer_name(uint8_t layer)
{
	static const char *const names[] = {
		[IW_LAYER_RDMAP] = "RDMAP", [IW_LAYER_DDP] = "DDP", [IW_LAYER_LLP] = "LLP"
	};

	return layer < IW_ARRAY_LEN(names) ? names[layer] : "not assigned";
}

/*
 * The error types of a layer (RFC 5040 figure 9, RFC 5041 7.2, RFC 5044 8). NULL: a local
 * catastrophic error, whose text names the layer.
 */
static const char *etype_name(uint8_t layer, uint8_t etype)
{
	switch (layer) {
	case IW_LAYER_RDMAP:
		return etype == 1   ? "remote protection error"
		       : etype == 2 ? "remote operation error"
				    : NULL;
	case IW_LAYER_DDP:
		return etype == 1   ? "tagged buffer error"
		       : etype == 2 ? "untagged buffer error"
				    : NULL;
	case IW_LAYER_LLP:
		return etype == 0 ? "error" : NULL;
	}
	return NULL;
}

void iw_wire_term_print(struct iw_text *t, uint32_t term)
{
	int err = iw_err_from_term(term);
	const char *etype;

	if (err == IW_E_PEER_TERMINATE) {
		iw_text_fmt(t, "layer %u type %u code %b", (uint32_t)IW_TERM_LAYER(term),
			    (uint32_t)IW_TERM_ETYPE(term), (uint32_t)IW_TERM_CODE(term));
		return;
	}
	etype = etype_name(IW_TERM_LAYER(term), IW_TERM_ETYPE(term));
	if (etype)
		iw_text_fmt(t, "%s %s: ", iw_wire_layer_name(IW_TERM_LAYER(term)), etype);
	iw_text_str(t, iw_err_text(err));
}
