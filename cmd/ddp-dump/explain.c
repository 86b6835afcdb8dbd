// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Events explained: each field of their headers with its octets, value, meaning and clause. The
 * fields of a header come from its table in lib/wire. What depends on more than the header is added
 * here: whether a CRC is right, the edition of DDP over SCTP, the meaning of a Terminate whose bits
 * are exchanged.
 */
#include "ddp-dump/capture.h"

#include <string.h>

#include "sctpmap/sctpmap.h"
#include "util/num.h"
#include "wire/field.h"

/* The fields written so far. */
struct list {
	struct iw_cap_field *out;
	size_t n, max;
	const struct iw_cap_event *ev;
	uint8_t *scratch;
	size_t used;
};

/* --- what depends on more than the header --- */

/* Appends the meaning of a field in this event. False: the header's table has the meaning. */
typedef bool print_fn(struct iw_text *t, const struct iw_field *f, const uint8_t *hdr,
		      const struct iw_cap_event *ev);

static bool needs_context(const struct iw_field *f)
{
	return !f->zero && !f->print;
}

static bool print_crc(struct iw_text *t, const struct iw_field *f, const uint8_t *hdr,
		      const struct iw_cap_event *ev)
{
	(void)f;
	(void)hdr;
	iw_text_fmt(t, "%s", iw_cap_crc_name(ev->ddp.crc));
	if (ev->ddp.crc == IW_CAP_CRC_BAD)
		iw_text_fmt(t, ", expected %x", ev->ddp.crc_computed);
	if (ev->ddp.crc == IW_CAP_CRC_OFF)
		iw_text_str(t, ": neither end asked for it");
	return true;
}

static bool print_checksum(struct iw_text *t, const struct iw_field *f, const uint8_t *hdr,
			   const struct iw_cap_event *ev)
{
	(void)hdr;
	if (!needs_context(f))
		return false;
	iw_text_str(t, "CRC32c of the packet");
	if (ev->kind != IW_CAP_SCTP)
		iw_text_fmt(t, ": %s",
			    iw_cap_crc_name(ev->kind == IW_CAP_SESSION ? ev->session.chunk.crc
								       : ev->ddp.crc));
	return true;
}

static bool print_ppid(struct iw_text *t, const struct iw_field *f, const uint8_t *hdr,
		       const struct iw_cap_event *ev)
{
	uint64_t v = iw_wire_field_get(f, hdr);

	(void)ev;
	if (!needs_context(f))
		return false;
	iw_text_str(t, v == iw_sctpmap_rfc.ppid_segment || v == iw_sctpmap_draft_02.ppid_segment
			       ? "DDP Segment"
			       : "DDP Stream Session Control");
	return true;
}

/* Layer and Error Type: their values in both orders. Error Code: what the sender meant. */
static bool print_exchanged(struct iw_text *t, const struct iw_field *f, const uint8_t *hdr,
			    const struct iw_cap_event *ev)
{
	uint8_t meant[IW_RDMAP_TERM_MAX];
	const size_t code_at = 1;

	if (!ev->ddp.term_exchanged || f->off > code_at)
		return false;
	(void)iw_terminate_encode(meant, sizeof(meant), ev->ddp.term_exchanged);
	if (f->off == code_at)
		return iw_wire_field_print(t, f, meant);
	(void)iw_wire_field_print(t, f, hdr);
	iw_text_fmt(t, "; with the bits in order %u", (uint32_t)iw_wire_field_get(f, meant));
	return true;
}

/* --- writing --- */

/* Appends the fields of a header at off that are complete in the len octets at p. */
static void add_header(struct list *l, const char *name, const struct iw_layout *h, print_fn *print,
		       uint32_t off, const uint8_t *p, size_t len)
{
	for (const struct iw_field *d = h->field; d < h->field + h->fields; d++) {
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
					    .value = iw_wire_field_get(d, p),
					    .octets = p + d->off };
		iw_text_init(&t, f->meaning, sizeof(f->meaning));
		if (!print || !print(&t, d, p, l->ev))
			(void)iw_wire_field_print(&t, d, p);
	}
}

/* Appends payload, pad or Private Data of len octets, whose first captured octets are at p. */
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

	add_header(l, "RDMAP Terminate", &iw_wire_layout_terminate, print_exchanged, off, p, len);
	if (!m || len < at || m->len_absent || !(m->m || m->d))
		return;
	add_header(l, "RDMAP Terminate", &iw_wire_layout_terminate_length, NULL, off + (uint32_t)at,
		   p + at, len - at);
	at += IW_RDMAP_TERM_LEN_LEN;
	if (m->ddp_hdr_len == IW_DDP_TAGGED_LEN)
		add_header(l, "its DDP header", &iw_wire_layout_ddp_tagged, NULL,
			   off + (uint32_t)at, p + at, len - at);
	else if (m->ddp_hdr_len)
		add_header(l, "its DDP header", &iw_wire_layout_ddp_untagged, NULL,
			   off + (uint32_t)at, p + at, len - at);
	at += m->ddp_hdr_len;
	if (m->has_rreq)
		add_header(l, "its Read Request", &iw_wire_layout_rreq, NULL, off + (uint32_t)at,
			   p + at, len - at);
}

/* Explains the DDP header and the RDMAP header after it. Returns how many octets of the segment are
 * explained. */
static size_t explain_segment(struct list *l, uint32_t off, const uint8_t *p, size_t len)
{
	const struct iw_cap_ddp *e = &l->ev->ddp;
	size_t hdr = iw_ddp_hdr_len(e->hdr.tagged);

	if (!e->has_header)
		return 0;
	if (e->hdr.tagged)
		add_header(l, "DDP tagged, RDMAP", &iw_wire_layout_ddp_tagged, NULL, off, p, len);
	else
		add_header(l, "DDP untagged, RDMAP", &iw_wire_layout_ddp_untagged, NULL, off, p,
			   len);
	off += (uint32_t)hdr;
	p += hdr;
	len -= hdr;
	if (e->rreq)
		add_header(l, "RDMA Read Request", &iw_wire_layout_rreq, NULL, off, p, len);
	if (e->atomic_req)
		add_header(l, "Atomic Request", &iw_wire_layout_atomic_req, NULL, off, p, len);
	if (e->atomic_rsp)
		add_header(l, "Atomic Response", &iw_wire_layout_atomic_rsp, NULL, off, p, len);
	if (e->imm)
		add_header(l, "Immediate Data", &iw_wire_layout_immediate, NULL, off, p, len);
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

	add_header(l, "MPA FPDU", &iw_wire_layout_mpa_fpdu, NULL, 0, e->head, e->head_len);
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
		add_header(l, "CRC", &iw_wire_layout_mpa_crc, print_crc, end + (uint32_t)pad, crc,
			   IW_MPA_CRC_LEN);
	}
	for (unsigned i = 0; e->mark && i < IW_MIN(e->markers, (unsigned)IW_CAP_MARKS_MAX); i++) {
		uint8_t *p = take_scratch(l, IW_MPA_MARKER_LEN);

		(void)iw_wire_mpa_marker_encode(p, IW_MPA_MARKER_LEN, &e->mark[i].field);
		add_header(l, "Marker", &iw_wire_layout_mpa_marker, NULL, e->mark[i].at, p,
			   IW_MPA_MARKER_LEN);
	}
}

static uint32_t explain_chunk(struct list *l, const struct iw_cap_chunk *k)
{
	add_header(l, "SCTP packet", &iw_wire_layout_sctp, print_checksum, 0, k->head, k->head_len);
	add_header(l, "DATA chunk", &iw_wire_layout_sctp_data, print_ppid, IW_SCTP_HDR_LEN,
		   k->head + IW_SCTP_HDR_LEN, k->head_len - IW_SCTP_HDR_LEN);
	return IW_SCTP_HDR_LEN + IW_SCTP_DATA_HDR_LEN;
}

static void explain_message(struct list *l)
{
	const struct iw_cap_ddp *e = &l->ev->ddp;
	uint32_t off = explain_chunk(l, &e->chunk);
	size_t done;

	add_header(l, "DDP Segment chunk", &iw_wire_layout_ddp_ssn, NULL, off, e->head,
		   e->head_len);
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
	uint8_t *p = take_scratch(l, IW_SCTP_CONTROL_LEN + IW_MPA_ENHANCED_LEN);
	struct iw_sctp_control bare = { .ssn = e->control.ssn, .fn = e->control.fn };

	(void)iw_wire_sctp_control_encode(p, IW_SCTP_CONTROL_LEN, &bare);
	add_header(l, "DDP Stream Session Control", &iw_wire_layout_session, NULL, off, p,
		   IW_SCTP_CONTROL_LEN);
	p += IW_SCTP_CONTROL_LEN;
	off += IW_SCTP_CONTROL_LEN;
	if (enh) {
		(void)iw_wire_mpa_enhanced_encode(p, enh, &e->enh);
		add_header(l, "Enhanced data", &iw_wire_layout_mpa_enhanced, NULL, off, p, enh);
	}
	add_octets(l, "Private Data", "RFC 5043 5.2.3", off + (uint32_t)enh, e->pd, e->pd_len,
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
	add_header(l, "MPA frame", &iw_wire_layout_mpa_frame, NULL, 0, p, IW_MPA_FRAME_LEN);
	if (enh) {
		(void)iw_wire_mpa_enhanced_encode(p + IW_MPA_FRAME_LEN, enh, &m->enh);
		add_header(l, "Enhanced data", &iw_wire_layout_mpa_enhanced, NULL, IW_MPA_FRAME_LEN,
			   p + IW_MPA_FRAME_LEN, enh);
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
	add_header(l, "SCTP packet", &iw_wire_layout_sctp, print_checksum, 0, e->head, e->head_len);
	add_header(l, "INIT chunk", &iw_wire_layout_sctp_init, NULL, IW_SCTP_HDR_LEN,
		   e->head + IW_SCTP_HDR_LEN, e->head_len - IW_SCTP_HDR_LEN);
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

/* The end of the fields that belong to the same header as field i, and follow it in memory. */
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
	/* An offset above 65,535 has eight digits. */
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
