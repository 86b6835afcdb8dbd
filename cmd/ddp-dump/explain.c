// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Events explained: each field of their headers with its octets, value, meaning and the clause that
 * defines it. A header is a table of its fields, drawn as the RFC draws it; what a value means is a
 * text, two texts, or a function of the value.
 */
#include "ddp-dump/capture.h"

#include <string.h>

#include "sctpmap/sctpmap.h"
#include "util/num.h"

typedef void say_fn(struct iw_text *t, uint64_t v, const struct iw_cap_event *ev);

struct def {
	const char *name;
	uint8_t off, len;  /* octets of the header */
	uint8_t bit, bits; /* of these octets, from the most significant; bits 0: all */
	const char *clause;
	const char *zero, *other; /* what it means; other NULL: zero says it of every value */
	say_fn *say;              /* when texts cannot */
};

/* What is being written. */
struct list {
	struct iw_cap_field *out;
	size_t n, max;
	const struct iw_cap_event *ev;
	uint8_t *scratch;
	size_t used;
};

/* --- meanings --- */

static void say_opcode(struct iw_text *t, uint64_t v, const struct iw_cap_event *ev)
{
	(void)ev;
	iw_text_str(t, iw_opcode_name((uint8_t)v));
}

static void say_qn(struct iw_text *t, uint64_t v, const struct iw_cap_event *ev)
{
	static const char *const text[] = { "Sends and Immediate Data",
					    "RDMA Read and Atomic Requests", "Terminates",
					    "Atomic Responses" };

	(void)ev;
	iw_text_str(t, v < IW_ARRAY_LEN(text) ? text[v] : "not assigned");
}

static void say_inval(struct iw_text *t, uint64_t v, const struct iw_cap_event *ev)
{
	uint8_t op = ev->ddp.hdr.opcode;

	(void)v;
	iw_text_str(t, op == IW_OP_SEND_INV || op == IW_OP_SEND_SE_INV
			       ? "the receiver invalidates it when it delivers the message"
			       : "of no meaning in this message: zero");
}

static void say_key(struct iw_text *t, uint64_t v, const struct iw_cap_event *ev)
{
	(void)v;
	iw_text_str(t, ev->mpa.frame.kind == IW_MPA_REQUEST ? "\"MPA ID Req Frame\": a Request"
							    : "\"MPA ID Rep Frame\": a Reply");
}

static void say_rev(struct iw_text *t, uint64_t v, const struct iw_cap_event *ev)
{
	static const char *const text[] = { "RDMA Consortium", "RFC 5044", "RFC 6581" };

	(void)ev;
	iw_text_str(t, v < IW_ARRAY_LEN(text) ? text[v] : "not known");
}

static void say_depth(struct iw_text *t, uint64_t v, const struct iw_cap_event *ev)
{
	(void)ev;
	iw_text_str(t, v == IW_MPA_IRD_ORD_MAX ? "not negotiated here"
					       : "RDMA Read Requests outstanding at once");
}

static void say_crc(struct iw_text *t, uint64_t v, const struct iw_cap_event *ev)
{
	(void)v;
	iw_text_fmt(t, "%s", iw_cap_crc_name(ev->ddp.crc));
	if (ev->ddp.crc == IW_CAP_CRC_BAD)
		iw_text_fmt(t, ", expected %x", ev->ddp.crc_computed);
	if (ev->ddp.crc == IW_CAP_CRC_OFF)
		iw_text_str(t, ": neither end asked for it");
}

static void say_checksum(struct iw_text *t, uint64_t v, const struct iw_cap_event *ev)
{
	enum iw_cap_crc crc = ev->kind == IW_CAP_SESSION ? ev->session.chunk.crc : ev->ddp.crc;

	(void)v;
	if (ev->kind == IW_CAP_SCTP)
		iw_text_str(t, "CRC32c of the packet");
	else
		iw_text_fmt(t, "CRC32c of the packet: %s", iw_cap_crc_name(crc));
}

static void say_fn_code(struct iw_text *t, uint64_t v, const struct iw_cap_event *ev)
{
	(void)ev;
	iw_text_fmt(t, "DDP Stream Session %s", iw_wire_sctp_fn_name((uint16_t)v));
}

static void say_chunk_type(struct iw_text *t, uint64_t v, const struct iw_cap_event *ev)
{
	(void)ev;
	iw_text_str(t, iw_wire_sctp_chunk_name((uint8_t)v));
}

static void say_ppid(struct iw_text *t, uint64_t v, const struct iw_cap_event *ev)
{
	(void)ev;
	iw_text_str(t, v == iw_sctpmap_rfc.ppid_segment || v == iw_sctpmap_draft_02.ppid_segment
			       ? "DDP Segment"
			       : "DDP Stream Session Control");
}

static void say_aop(struct iw_text *t, uint64_t v, const struct iw_cap_event *ev)
{
	(void)ev;
	iw_text_str(t, iw_atomic_op_name((uint8_t)v));
}

static void say_layer(struct iw_text *t, uint64_t v, const struct iw_cap_event *ev)
{
	static const char *const text[] = { "RDMAP", "DDP", "LLP" };

	iw_text_str(t, v < IW_ARRAY_LEN(text) ? text[v] : "not assigned");
	if (ev->ddp.term_exchanged)
		iw_text_fmt(t, "; with the bits in order %u",
			    (uint32_t)ev->ddp.term_exchanged->layer);
}

static void say_etype(struct iw_text *t, uint64_t v, const struct iw_cap_event *ev)
{
	(void)v;
	iw_text_str(t, "of that layer");
	if (ev->ddp.term_exchanged)
		iw_text_fmt(t, "; with the bits in order %u",
			    (uint32_t)ev->ddp.term_exchanged->etype);
}

static void say_code(struct iw_text *t, uint64_t v, const struct iw_cap_event *ev)
{
	const struct iw_terminate *m = ev->ddp.term_exchanged ? ev->ddp.term_exchanged
							      : ev->ddp.term;

	(void)v;
	iw_wire_term_print(t, IW_TERM((uint32_t)m->layer, (uint32_t)m->etype, (uint32_t)m->code));
}

/* --- headers --- */

/* clang-format off */
static const struct def fpdu[] = {
	{ "ULPDU_Length", 0, 2, 0, 0, "RFC 5044 4.1", "octets of DDP segment between this field and the pad", NULL, NULL },
};

static const struct def tagged[] = {
	{ "T",            0, 1, 0, 1, "RFC 5041 4.1", "Untagged Buffer Model", "Tagged Buffer Model: STag and TO say where the payload goes", NULL },
	{ "L",            0, 1, 1, 1, "RFC 5041 4.1", "more segments of the message follow", "the last segment of its message", NULL },
	{ "Rsvd",         0, 1, 2, 4, "RFC 5041 4.1", "reserved, zero", "reserved, should be zero", NULL },
	{ "DV",           0, 1, 6, 2, "RFC 5041 4.1", "version of DDP, expected 1", NULL, NULL },
	{ "RV",           1, 1, 0, 2, "RFC 5040 4.1", "version of RDMAP, expected 1", NULL, NULL },
	{ "Rsv",          1, 1, 2, 2, "RFC 5040 4.1", "reserved, zero", "reserved, should be zero", NULL },
	{ "Opcode",       1, 1, 4, 4, "RFC 5040 4.1", NULL, NULL, say_opcode },
	{ "STag",         2, 4, 0, 0, "RFC 5041 4.2", "the receiver's Tagged Buffer", NULL, NULL },
	{ "TO",           6, 8, 0, 0, "RFC 5041 4.2", "Tagged Offset of the payload in it", NULL, NULL },
};

static const struct def untagged[] = {
	{ "T",            0, 1, 0, 1, "RFC 5041 4.1", "Untagged Buffer Model: QN, MSN and MO say where the payload goes", "Tagged Buffer Model", NULL },
	{ "L",            0, 1, 1, 1, "RFC 5041 4.1", "more segments of the message follow", "the last segment of its message", NULL },
	{ "Rsvd",         0, 1, 2, 4, "RFC 5041 4.1", "reserved, zero", "reserved, should be zero", NULL },
	{ "DV",           0, 1, 6, 2, "RFC 5041 4.1", "version of DDP, expected 1", NULL, NULL },
	{ "RV",           1, 1, 0, 2, "RFC 5040 4.1", "version of RDMAP, expected 1", NULL, NULL },
	{ "Rsv",          1, 1, 2, 2, "RFC 5040 4.1", "reserved, zero", "reserved, should be zero", NULL },
	{ "Opcode",       1, 1, 4, 4, "RFC 5040 4.1", NULL, NULL, say_opcode },
	{ "Invalidate STag", 2, 4, 0, 0, "RFC 5040 4.1", NULL, NULL, say_inval },
	{ "QN",           6, 4, 0, 0, "RFC 5041 4.3", NULL, NULL, say_qn },
	{ "MSN",         10, 4, 0, 0, "RFC 5041 4.3", "number of the message on its queue, from 1", NULL, NULL },
	{ "MO",          14, 4, 0, 0, "RFC 5041 4.3", "offset of the payload in the message", NULL, NULL },
};

static const struct def read_request[] = {
	{ "Data Sink STag",   0, 4, 0, 0, "RFC 5040 4.4", "where the Read Response goes: the requester's buffer", NULL, NULL },
	{ "Data Sink TO",     4, 8, 0, 0, "RFC 5040 4.4", "offset in it", NULL, NULL },
	{ "RDMA Read Message Size", 12, 4, 0, 0, "RFC 5040 4.4", "octets that are asked for", NULL, NULL },
	{ "Data Source STag", 16, 4, 0, 0, "RFC 5040 4.4", "the responder's buffer to read from", NULL, NULL },
	{ "Data Source TO",   20, 8, 0, 0, "RFC 5040 4.4", "offset in it", NULL, NULL },
};

static const struct def atomic_request[] = {
	{ "Reserved",           0, 4, 0, 28, "RFC 7306 5.2.1", "reserved, zero", "reserved, should be zero", NULL },
	{ "AOpCode",            0, 4, 28, 4, "RFC 7306 5.2.1", NULL, NULL, say_aop },
	{ "Request Identifier", 4, 4, 0, 0,  "RFC 7306 5.2.1", "comes back in the Atomic Response", NULL, NULL },
	{ "Remote STag",        8, 4, 0, 0,  "RFC 7306 5.2.1", "the responder's buffer", NULL, NULL },
	{ "Remote Tagged Offset", 12, 8, 0, 0, "RFC 7306 5.2.1", "of the eight octets, whose address is a multiple of 8", NULL, NULL },
	{ "Add or Swap Data",  20, 8, 0, 0,  "RFC 7306 5.2.1", "what is added, or put in place", NULL, NULL },
	{ "Add or Swap Mask",  28, 8, 0, 0,  "RFC 7306 5.2.1", "bits that pass no carry on, or bits that are swapped", NULL, NULL },
	{ "Compare Data",      36, 8, 0, 0,  "RFC 7306 5.2.1", "of a CmpSwap: what must be there", NULL, NULL },
	{ "Compare Mask",      44, 8, 0, 0,  "RFC 7306 5.2.1", "of a CmpSwap: bits that are compared", NULL, NULL },
};

static const struct def atomic_response[] = {
	{ "Original Request Identifier", 0, 4, 0, 0, "RFC 7306 5.2.2", "that of the Atomic Request", NULL, NULL },
	{ "Original Remote Data Value",  4, 8, 0, 0, "RFC 7306 5.2.2", "what was there before", NULL, NULL },
};

static const struct def immediate[] = {
	{ "Immediate Data", 0, 8, 0, 0, "RFC 7306 6.2", "eight octets of the ULP", NULL, NULL },
};

static const struct def terminate[] = {
	{ "Layer",      0, 1, 0, 4, "RFC 5040 4.8", NULL, NULL, say_layer },
	{ "Error Type", 0, 1, 4, 4, "RFC 5040 4.8", NULL, NULL, say_etype },
	{ "Error Code", 1, 1, 0, 0, "RFC 5040 4.8", NULL, NULL, say_code },
	{ "M",          2, 1, 0, 1, "RFC 5040 4.8", "no DDP Segment Length", "the DDP Segment Length is valid", NULL },
	{ "D",          2, 1, 1, 1, "RFC 5040 4.8", "no DDP header", "the DDP header of the segment follows", NULL },
	{ "R",          2, 1, 2, 1, "RFC 5040 4.8", "no RDMAP header", "the RDMAP header of the Read Request follows", NULL },
	{ "Reserved",   2, 2, 3, 13, "RFC 5040 4.8", "reserved, zero", "reserved, should be zero", NULL },
};

static const struct def terminate_length[] = {
	{ "DDP Segment Length", 0, 2, 0, 0, "RFC 5040 4.8", "octets of the segment that was wrong", NULL, NULL },
};

static const struct def mpa[] = {
	{ "Key",       0, 16, 0, 0, "RFC 5044 7.1.1", NULL, NULL, say_key },
	{ "M",        16, 1, 0, 1, "RFC 5044 7.1.1", "no markers in what the sender of this frame receives", "markers in what the sender of this frame receives", NULL },
	{ "C",        16, 1, 1, 1, "RFC 5044 7.1.1", "CRCs are not asked for", "CRCs are asked for", NULL },
	{ "R",        16, 1, 2, 1, "RFC 5044 7.1.1", "not rejected", "the connection is rejected", NULL },
	{ "S",        16, 1, 3, 1, "RFC 6581 6",     "no enhanced data", "the Private Data begin with the enhanced data", NULL },
	{ "Res",      16, 1, 4, 4, "RFC 5044 7.1.1", "reserved, zero", "reserved, should be zero", NULL },
	{ "Rev",      17, 1, 0, 0, "RFC 5044 7.1.1", NULL, NULL, say_rev },
	{ "PD_Length", 18, 2, 0, 0, "RFC 5044 7.1.1", "octets of Private Data, at most 512", NULL, NULL },
};

static const struct def enhanced[] = {
	{ "A",   0, 2, 0, 1,  "RFC 6581 9.2", "client-server model", "peer-to-peer model: the initiator sends an RTR frame", NULL },
	{ "B",   0, 2, 1, 1,  "RFC 6581 9.2", "no RTR by Send", "RTR by a Send of no length", NULL },
	{ "IRD", 0, 2, 2, 14, "RFC 6581 9.1", NULL, NULL, say_depth },
	{ "C",   2, 2, 0, 1,  "RFC 6581 9.2", "no RTR by RDMA Write", "RTR by an RDMA Write of no length", NULL },
	{ "D",   2, 2, 1, 1,  "RFC 6581 9.2", "no RTR by RDMA Read", "RTR by an RDMA Read of no length", NULL },
	{ "ORD", 2, 2, 2, 14, "RFC 6581 9.1", NULL, NULL, say_depth },
};

static const struct def sctp[] = {
	{ "Source Port",      0, 2, 0, 0, "RFC 9260 3.1", "of SCTP", NULL, NULL },
	{ "Destination Port", 2, 2, 0, 0, "RFC 9260 3.1", "of SCTP", NULL, NULL },
	{ "Verification Tag", 4, 4, 0, 0, "RFC 9260 3.1", "none: the packet holds an INIT", "the one that the receiver gave itself", NULL },
	{ "Checksum",         8, 4, 0, 0, "RFC 9260 6.8", NULL, NULL, say_checksum },
};

static const struct def data_chunk[] = {
	{ "Type",              0, 1, 0, 0, "RFC 9260 3.2", NULL, NULL, say_chunk_type },
	{ "Res",               1, 1, 0, 4, "RFC 9260 3.3.1", "reserved, zero", "reserved, should be zero", NULL },
	{ "I",                 1, 1, 4, 1, "RFC 9260 3.3.1", "may be acknowledged late", "to be acknowledged at once", NULL },
	{ "U",                 1, 1, 5, 1, "RFC 9260 3.3.1", "ordered, which DDP is never (RFC 5043 10)", "unordered, as all of DDP (RFC 5043 10)", NULL },
	{ "B",                 1, 1, 6, 1, "RFC 9260 3.3.1", "not the first fragment", "the first fragment of its message", NULL },
	{ "E",                 1, 1, 7, 1, "RFC 9260 3.3.1", "not the last fragment", "the last fragment of its message", NULL },
	{ "Length",            2, 2, 0, 0, "RFC 9260 3.3.1", "octets of the chunk without its padding", NULL, NULL },
	{ "TSN",               4, 4, 0, 0, "RFC 9260 3.3.1", "number of the chunk in this direction", NULL, NULL },
	{ "Stream Identifier", 8, 2, 0, 0, "RFC 9260 3.3.1", "the DDP stream, the same both ways (RFC 5043 8)", NULL, NULL },
	{ "Stream Sequence Number", 10, 2, 0, 0, "RFC 9260 3.3.1", "of no meaning in an unordered chunk", NULL, NULL },
	{ "PPID",             12, 4, 0, 0, "RFC 5043 5.2", NULL, NULL, say_ppid },
};

static const struct def init_chunk[] = {
	{ "Type",         0, 1, 0, 0, "RFC 9260 3.2", NULL, NULL, say_chunk_type },
	{ "Flags",        1, 1, 0, 0, "RFC 9260 3.3.2", "reserved, zero", "reserved, should be zero", NULL },
	{ "Length",       2, 2, 0, 0, "RFC 9260 3.3.2", "octets of the chunk without its padding", NULL, NULL },
	{ "Initiate Tag", 4, 4, 0, 0, "RFC 9260 3.3.2", "the Verification Tag in what the peer sends from now on", NULL, NULL },
	{ "a_rwnd",       8, 4, 0, 0, "RFC 9260 3.3.2", "octets that the sender has room for", NULL, NULL },
	{ "Number of Outbound Streams", 12, 2, 0, 0, "RFC 9260 3.3.2", "wanted; as many as inbound (RFC 5043 8)", NULL, NULL },
	{ "Number of Inbound Streams",  14, 2, 0, 0, "RFC 9260 3.3.2", "at most", NULL, NULL },
	{ "Initial TSN", 16, 4, 0, 0, "RFC 9260 3.3.2", "of the first DATA chunk", NULL, NULL },
};

static const struct def ddp_ssn[] = {
	{ "DDP-SSN", 0, 2, 0, 0, "RFC 5043 5.2.1", "place of the message in its session, from 0 (draft -02: from 1)", NULL, NULL },
};

static const struct def session[] = {
	{ "DDP-SSN",       0, 2, 0, 0, "RFC 5043 5.2.1", "place of the message in its session, from 0 (draft -02: from 1)", NULL, NULL },
	{ "Function Code", 2, 2, 0, 0, "RFC 5043 5.2.3", NULL, NULL, say_fn_code },
};

static const struct def marker[] = {
	{ "RESERVED", 0, 2, 0, 0, "RFC 5044 4.2", "reserved, zero", "reserved, should be zero", NULL },
	{ "FPDUPTR",  2, 2, 0, 0, "RFC 5044 4.2", "an FPDU begins right behind", "octets back to the ULPDU_Length of this FPDU", NULL },
};

static const struct def crc_field[] = {
	{ "CRC", 0, 4, 0, 0, "RFC 5044 4.4", NULL, NULL, say_crc },
};
/* clang-format on */

/* --- writing --- */

static uint64_t value_of(const uint8_t *p, const struct def *d)
{
	uint64_t v = 0;

	for (size_t i = 0; i < IW_MIN(d->len, 8); i++)
		v = v << 8 | p[i];
	if (d->bits)
		v = v >> (d->len * 8 - d->bit - d->bits) & ((1ull << d->bits) - 1);
	return v;
}

/* The fields of a header at off, of which len octets lie at p: those that are there whole. */
static void add_header(struct list *l, const char *name, const struct def *d, size_t n,
		       uint32_t off, const uint8_t *p, size_t len)
{
	for (; n--; d++) {
		struct iw_cap_field *f;
		struct iw_text t;

		if (d->off + (size_t)d->len > len || l->n == l->max)
			return;
		f = &l->out[l->n++];
		*f = (struct iw_cap_field){ .header = name,
					    .name = d->name,
					    .clause = d->clause,
					    .off = off + d->off,
					    .len = d->len,
					    .bit = d->bit,
					    .bits = d->bits,
					    .is_number = d->len <= 8,
					    .value = value_of(p + d->off, d),
					    .octets = p + d->off };
		iw_text_init(&t, f->meaning, sizeof(f->meaning));
		if (d->say)
			d->say(&t, f->value, l->ev);
		else
			iw_text_str(&t, f->value && d->other ? d->other : d->zero);
	}
}

#define ADD(l, name, table, off, p, len)                                                           \
	add_header(l, name, table, IW_ARRAY_LEN(table), off, p, len)

/* Octets that are no field: how many, and those captured. */
static void add_octets(struct list *l, const char *name, const char *clause, uint32_t off,
		       const uint8_t *p, size_t captured, uint64_t len, const char *meaning)
{
	struct iw_cap_field *f;
	struct iw_text t;

	if (!len || l->n == l->max)
		return;
	f = &l->out[l->n++];
	*f = (struct iw_cap_field){ .header = name,
				    .name = name,
				    .clause = clause,
				    .off = off,
				    .len = (uint32_t)len,
				    .octets = captured == len ? p : NULL };
	iw_text_init(&t, f->meaning, sizeof(f->meaning));
	iw_text_fmt(&t, "%U octets%s%s", len, meaning[0] ? " " : "", meaning);
}

static uint8_t *take_scratch(struct list *l, size_t n)
{
	uint8_t *p = l->scratch + l->used;

	l->used += n;
	return p;
}

/* --- events --- */

static void explain_terminate(struct list *l, uint32_t off, const uint8_t *p, size_t len)
{
	const struct iw_cap_ddp *e = &l->ev->ddp;
	const struct iw_terminate *m = e->term_exchanged ? e->term_exchanged : e->term;
	size_t at = IW_RDMAP_TERM_MIN;

	ADD(l, "RDMAP Terminate", terminate, off, p, len);
	if (!m || len < at || m->len_absent || !(m->m || m->d))
		return;
	ADD(l, "RDMAP Terminate", terminate_length, off + (uint32_t)at, p + at, len - at);
	at += 2;
	if (m->ddp_hdr_len == IW_DDP_TAGGED_LEN)
		ADD(l, "its DDP header", tagged, off + (uint32_t)at, p + at, len - at);
	else if (m->ddp_hdr_len)
		ADD(l, "its DDP header", untagged, off + (uint32_t)at, p + at, len - at);
	at += m->ddp_hdr_len;
	if (m->has_rreq)
		ADD(l, "its Read Request", read_request, off + (uint32_t)at, p + at, len - at);
}

/* The DDP header and what RDMAP puts behind it; the octets of the segment that are explained. */
static size_t explain_segment(struct list *l, uint32_t off, const uint8_t *p, size_t len)
{
	const struct iw_cap_ddp *e = &l->ev->ddp;
	size_t hdr = iw_ddp_hdr_len(e->hdr.tagged);

	if (!e->has_header)
		return 0;
	if (e->hdr.tagged)
		ADD(l, "DDP tagged, RDMAP", tagged, off, p, len);
	else
		ADD(l, "DDP untagged, RDMAP", untagged, off, p, len);
	off += (uint32_t)hdr;
	p += hdr;
	len -= hdr;
	if (e->rreq)
		ADD(l, "RDMA Read Request", read_request, off, p, len);
	if (e->atomic_req)
		ADD(l, "Atomic Request", atomic_request, off, p, len);
	if (e->atomic_rsp)
		ADD(l, "Atomic Response", atomic_response, off, p, len);
	if (e->imm)
		ADD(l, "Immediate Data", immediate, off, p, len);
	if (e->term)
		explain_terminate(l, off, p, len);
	if (e->rreq)
		return hdr + IW_RDMAP_RREQ_LEN;
	if (e->atomic_req)
		return hdr + IW_RDMAP_ATOMIC_REQ_LEN;
	if (e->atomic_rsp)
		return hdr + IW_RDMAP_ATOMIC_RSP_LEN;
	if (e->imm)
		return hdr + IW_RDMAP_IMM_LEN;
	return e->term ? e->segment_len : hdr;
}

static void explain_fpdu(struct list *l)
{
	const struct iw_cap_ddp *e = &l->ev->ddp;
	uint32_t end = IW_MPA_HEAD_LEN + e->segment_len;
	size_t pad = iw_mpa_pad(e->segment_len), done;
	uint8_t *crc;

	ADD(l, "MPA FPDU", fpdu, 0, e->head, e->head_len);
	if (e->head_len < IW_MPA_HEAD_LEN)
		return;
	done = explain_segment(l, IW_MPA_HEAD_LEN, e->head + IW_MPA_HEAD_LEN,
			       e->head_len - IW_MPA_HEAD_LEN);
	add_octets(l, "Payload", "RFC 5041 4.4", IW_MPA_HEAD_LEN + (uint32_t)done, NULL, 0,
		   e->segment_len - done, "");
	add_octets(l, "PAD", "RFC 5044 4.1", end, e->pad, e->pad ? pad : 0, pad,
		   "to a multiple of four, zero");
	if (e->crc != IW_CAP_CRC_ABSENT) {
		crc = take_scratch(l, IW_MPA_CRC_LEN);
		iw_put_be32(crc, e->crc_wire);
		ADD(l, "CRC", crc_field, end + (uint32_t)pad, crc, IW_MPA_CRC_LEN);
	}
	for (unsigned i = 0; e->mark && i < IW_MIN(e->markers, (unsigned)IW_CAP_MARKS_MAX); i++) {
		uint8_t *p = take_scratch(l, IW_MPA_MARKER_LEN);

		(void)iw_wire_mpa_marker_encode(p, IW_MPA_MARKER_LEN, &e->mark[i].field);
		ADD(l, "Marker", marker, e->mark[i].at, p, IW_MPA_MARKER_LEN);
	}
}

static uint32_t explain_chunk(struct list *l, const struct iw_cap_chunk *k)
{
	ADD(l, "SCTP packet", sctp, 0, k->head, k->head_len);
	ADD(l, "DATA chunk", data_chunk, IW_SCTP_HDR_LEN, k->head + IW_SCTP_HDR_LEN,
	    k->head_len - IW_SCTP_HDR_LEN);
	return IW_SCTP_HDR_LEN + IW_SCTP_DATA_HDR_LEN;
}

static void explain_message(struct list *l)
{
	const struct iw_cap_ddp *e = &l->ev->ddp;
	uint32_t off = explain_chunk(l, &e->chunk);
	size_t done;

	ADD(l, "DDP Segment chunk", ddp_ssn, off, e->head, e->head_len);
	done = explain_segment(l, off + IW_SCTP_SSN_LEN, e->head + IW_SCTP_SSN_LEN,
			       e->head_len - IW_SCTP_SSN_LEN);
	add_octets(l, "Payload", "RFC 5041 4.4", off + IW_SCTP_SSN_LEN + (uint32_t)done, NULL, 0,
		   e->segment_len - done, "");
}

static void explain_session(struct list *l)
{
	const struct iw_cap_session *e = &l->ev->session;
	uint32_t off = explain_chunk(l, &e->chunk);
	size_t enh = e->enhanced ? IW_MPA_ENHANCED_LEN : 0;
	uint8_t *p = take_scratch(l, 4 + IW_MPA_ENHANCED_LEN);

	iw_put_be16(p, e->control.ssn);
	iw_put_be16(p + 2, e->control.fn);
	ADD(l, "DDP Stream Session Control", session, off, p, 4);
	if (enh) {
		(void)iw_wire_mpa_enhanced_encode(p + 4, enh, &e->enh);
		ADD(l, "Enhanced data", enhanced, off + 4, p + 4, enh);
	}
	add_octets(l, "Private Data", "RFC 5043 5.2.3", off + 4 + (uint32_t)enh, e->pd, e->pd_len,
		   e->control.pd_len - enh, "of the ULP");
}

static void explain_mpa(struct list *l)
{
	const struct iw_cap_mpa *m = &l->ev->mpa;
	size_t enh = m->enhanced ? IW_MPA_ENHANCED_LEN : 0;
	struct iw_mpa_frame bare = m->frame;
	uint8_t *p = take_scratch(l, IW_MPA_FRAME_LEN + IW_MPA_ENHANCED_LEN);

	bare.pd = NULL;
	(void)iw_wire_mpa_frame_encode(p, IW_MPA_FRAME_LEN, &bare);
	ADD(l, "MPA frame", mpa, 0, p, IW_MPA_FRAME_LEN);
	if (enh) {
		(void)iw_wire_mpa_enhanced_encode(p + IW_MPA_FRAME_LEN, enh, &m->enh);
		ADD(l, "Enhanced data", enhanced, IW_MPA_FRAME_LEN, p + IW_MPA_FRAME_LEN, enh);
	}
	if (m->frame.pd_len <= IW_MPA_PD_MAX)
		add_octets(l, "Private Data", "RFC 5044 7.1.1", IW_MPA_FRAME_LEN + (uint32_t)enh,
			   m->pd, m->pd_len, m->frame.pd_len - enh, "of the ULP");
}

static void explain_init(struct list *l)
{
	const struct iw_cap_sctp *e = &l->ev->sctp;

	if (!e->head)
		return;
	ADD(l, "SCTP packet", sctp, 0, e->head, e->head_len);
	ADD(l, "INIT chunk", init_chunk, IW_SCTP_HDR_LEN, e->head + IW_SCTP_HDR_LEN,
	    e->head_len - IW_SCTP_HDR_LEN);
}

size_t iw_cap_explain(struct iw_cap_field *out, size_t max, struct iw_cap_scratch *scratch,
		      const struct iw_cap_event *ev)
{
	struct list l = { .out = out, .max = max, .ev = ev, .scratch = scratch->octets };

	switch (ev->kind) {
	case IW_CAP_MPA:
		explain_mpa(&l);
		break;
	case IW_CAP_SESSION:
		explain_session(&l);
		break;
	case IW_CAP_DDP:
		if (ev->flow->over == IW_CAP_OVER_TCP)
			explain_fpdu(&l);
		else
			explain_message(&l);
		break;
	case IW_CAP_SCTP:
		explain_init(&l);
		break;
	case IW_CAP_TCP:
	case IW_CAP_ALIGN:
	case IW_CAP_ERROR:
		break;
	}
	if (iw_cap_transfer_of(ev))
		l.n += iw_cap_transfer_explain(out + l.n, max - l.n, iw_cap_transfer_of(ev));
	return l.n;
}

/* --- lines --- */

#define ROW 16 /* octets in a line of hex */

/* Fields from i on that are of one header, behind each other. */
static size_t fields_of_header(const struct iw_cap_field *f, size_t n, size_t i)
{
	size_t end = i + 1;

	while (end < n && f[end].header == f[i].header && f[i].octets && f[end].octets &&
	       f[end].octets - f[i].octets == (ptrdiff_t)f[end].off - (ptrdiff_t)f[i].off)
		end++;
	return end;
}

static void hex4(struct iw_text *t, uint32_t v)
{
	uint8_t p[4];

	iw_put_be32(p, v);
	/* Offsets above 65,535 have more digits. */
	iw_text_octets(t, p + (v > 0xffff ? 0 : 2), v > 0xffff ? 4 : 2);
}

static void column(struct iw_text *t, size_t to)
{
	do
		iw_text_str(t, " ");
	while (t->len < to && t->len + 1 < t->cap);
}

/* "0004  41 43 00 ...   NAME" */
static void hex_row(struct iw_text *t, const struct iw_cap_field *first, const uint8_t *p,
		    uint32_t off, size_t len, bool named)
{
	iw_text_str(t, "    ");
	hex4(t, off);
	iw_text_str(t, " ");
	for (size_t i = 0; i < len; i++) {
		iw_text_str(t, i == ROW / 2 ? "  " : " ");
		iw_text_octets(t, p + i, 1);
	}
	if (named) {
		column(t, 62);
		iw_text_str(t, first->header);
	}
}

static void bit_pattern(struct iw_text *t, const struct iw_cap_field *f)
{
	unsigned total = f->len * 8u;

	for (unsigned i = 0; i < total; i++) {
		bool in = i >= f->bit && i < (unsigned)f->bit + f->bits;
		unsigned low = (unsigned)f->bit + f->bits - 1 - i;

		iw_text_str(t, !in ? "." : f->value >> low & 1 ? "1" : "0");
	}
}

static void field_row(struct iw_text *t, const struct iw_cap_field *f)
{
	iw_text_str(t, "          ");
	iw_text_str(t, f->name);
	if (f->bits && f->len <= 2) {
		column(t, 24);
		bit_pattern(t, f);
	}
	column(t, 42);
	if (!f->is_number)
		iw_text_str(t, "-");
	else if (f->len == 8 || (f->len == 4 && f->value > 0xffff && !f->bits))
		iw_text_hex(t, f->value, 2 * f->len);
	else
		iw_text_u64(t, f->value);
	column(t, 62);
	iw_text_fmt(t, "%s [%s]", f->meaning, f->clause);
}

bool iw_cap_explain_line(struct iw_cap_explanation *x, struct iw_text *t)
{
	const struct iw_cap_field *f = &x->field[x->i];

	if (x->i == x->n)
		return false;
	if (x->i == x->end) {
		x->end = fields_of_header(x->field, x->n, x->i);
		x->row = 0;
		x->rows = f->octets ? x->field[x->end - 1].off + x->field[x->end - 1].len - f->off
				    : 0;
	}
	if (x->row < x->rows) {
		hex_row(t, f, f->octets + x->row, f->off + x->row,
			IW_MIN(x->rows - x->row, (uint32_t)ROW), x->row == 0);
		x->row += IW_MIN(x->rows - x->row, (uint32_t)ROW);
		return true;
	}
	field_row(t, f);
	x->i++;
	return true;
}
