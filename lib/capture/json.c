// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Events as lines of JSON. Every text is our own or made printable ASCII on the way; STags and
 * offsets are texts of hex digits. */
#include "capture/capture.h"

#include "util/num.h"

static void key(struct iw_text *t, const char *name)
{
	iw_text_fmt(t, ",\"%s\":", name);
}

static void put_u64(struct iw_text *t, const char *name, uint64_t v)
{
	key(t, name);
	iw_text_u64(t, v);
}

static void put_bool(struct iw_text *t, const char *name, bool v)
{
	key(t, name);
	iw_text_str(t, v ? "true" : "false");
}

/* What needs no escaping. */
static void put_name(struct iw_text *t, const char *name, const char *s)
{
	iw_text_fmt(t, ",\"%s\":\"%s\"", name, s);
}

static void put_hex(struct iw_text *t, const char *name, uint64_t v, unsigned digits)
{
	iw_text_fmt(t, ",\"%s\":\"", name);
	iw_text_hex(t, v, digits);
	iw_text_str(t, "\"");
}

static void put_octets(struct iw_text *t, const char *name, const uint8_t *p, size_t len)
{
	iw_text_fmt(t, ",\"%s\":\"", name);
	iw_text_octets(t, p, len);
	iw_text_str(t, "\"");
}

/* RFC 8259 7: quotation mark and reverse solidus are escaped; what is not printable ASCII
 * becomes a dot. */
static void put_printable(struct iw_text *t, const char *name, const uint8_t *p, size_t len)
{
	iw_text_fmt(t, ",\"%s\":\"", name);
	for (size_t i = 0; i < len; i++) {
		if (p[i] == '"' || p[i] == '\\')
			iw_text_str(t, "\\");
		iw_cap_octets_print(t, p + i, 1);
	}
	iw_text_str(t, "\"");
}

static void put_text(struct iw_text *t, const char *name, const char *s)
{
	size_t len = 0;

	while (s[len])
		len++;
	put_printable(t, name, (const uint8_t *)s, len);
}

static void put_mpa(struct iw_text *t, const struct iw_cap_mpa *m)
{
	uint8_t flags = m->frame.flags;

	put_name(t, "kind", m->frame.kind == IW_MPA_REQUEST ? "request" : "reply");
	put_u64(t, "rev", m->frame.rev);
	put_bool(t, "m", flags & IW_MPA_M);
	put_bool(t, "c", flags & IW_MPA_C);
	put_bool(t, "r", flags & IW_MPA_R);
	put_bool(t, "s", flags & IW_MPA_S);
	put_u64(t, "res", flags & IW_MPA_RES);
	put_u64(t, "pd_length", m->frame.pd_len);
	if (m->enhanced) {
		put_u64(t, "ird", m->enh.ird);
		put_u64(t, "ord", m->enh.ord);
		put_bool(t, "peer_to_peer", m->enh.peer_to_peer);
		put_bool(t, "rtr_send", m->enh.rtr_send);
		put_bool(t, "rtr_write", m->enh.rtr_write);
		put_bool(t, "rtr_read", m->enh.rtr_read);
	}
	put_octets(t, "private_data", m->pd, m->pd_len);
	put_printable(t, "private_data_text", m->pd, m->pd_len);
	if (m->agreed) {
		put_bool(t, "crc_on", m->crc_on);
		put_bool(t, "markers_to_responder", m->markers_to_responder);
		put_bool(t, "markers_to_initiator", m->markers_to_initiator);
	}
}

static void put_rreq(struct iw_text *t, const char *name, const struct iw_rreq *r)
{
	key(t, name);
	/* An object's first key has no comma in front. */
	iw_text_fmt(t, "{\"size\":%u", r->size);
	put_hex(t, "sink_stag", r->sink_stag, 8);
	put_hex(t, "sink_to", r->sink_to, 16);
	put_hex(t, "src_stag", r->src_stag, 8);
	put_hex(t, "src_to", r->src_to, 16);
	iw_text_str(t, "}");
}

static void put_terminate(struct iw_text *t, const char *name, const struct iw_terminate *m)
{
	char text[128];
	struct iw_text what;

	iw_text_init(&what, text, sizeof(text));
	iw_term_print(&what, IW_TERM((uint32_t)m->layer, (uint32_t)m->etype, (uint32_t)m->code));
	key(t, name);
	iw_text_fmt(t, "{\"layer\":%u", (uint32_t)m->layer);
	put_u64(t, "etype", m->etype);
	put_u64(t, "code", m->code);
	put_text(t, "text", text);
	put_bool(t, "m", m->m);
	put_bool(t, "d", m->d);
	put_bool(t, "r", m->r);
	if (m->m || m->d)
		put_u64(t, "ddp_segment_length", m->ddp_len);
	if (m->ddp_hdr_len)
		put_octets(t, "ddp_header", m->ddp, m->ddp_hdr_len);
	if (m->has_rreq)
		put_rreq(t, "read_request", &m->rreq);
	iw_text_str(t, "}");
}

static void put_deviations(struct iw_text *t, unsigned bits)
{
	bool first = true;

	if (!bits)
		return;
	key(t, "deviations");
	iw_text_str(t, "[");
	for (unsigned i = 0; i < IW_CAP_DEV_COUNT; i++) {
		if (!(bits & 1u << i))
			continue;
		iw_text_fmt(t, "%s\"%s\"", first ? "" : ",", iw_cap_deviation_info(i)->name);
		first = false;
	}
	iw_text_str(t, "]");
}

static void put_header(struct iw_text *t, const struct iw_ddp *h)
{
	put_name(t, "op", iw_opcode_name(h->opcode));
	put_u64(t, "opcode", h->opcode);
	put_bool(t, "t", h->tagged);
	put_bool(t, "l", h->last);
	put_u64(t, "dv", h->dv);
	put_u64(t, "rv", h->rv);
	if (h->tagged) {
		put_hex(t, "stag", h->stag, 8);
		put_hex(t, "to", h->to, 16);
		return;
	}
	put_u64(t, "qn", h->qn);
	put_u64(t, "msn", h->msn);
	put_u64(t, "mo", h->mo);
	put_hex(t, "inval_stag", h->inval_stag, 8);
}

static void put_ddp(struct iw_text *t, const struct iw_cap_ddp *e)
{
	if (e->has_header) {
		put_header(t, &e->hdr);
		put_u64(t, "length", e->len);
	}
	put_u64(t, "ulpdu_length", e->ulpdu_len);
	put_u64(t, "position", e->position);
	put_u64(t, "first_frame", e->first_frame);
	put_bool(t, "aligned", e->aligned);
	put_name(t, "crc", iw_cap_crc_name(e->crc));
	if (e->crc != IW_CAP_CRC_ABSENT)
		put_hex(t, "crc_field", e->crc_wire, 8);
	if (e->crc == IW_CAP_CRC_BAD)
		put_hex(t, "crc_expected", e->crc_computed, 8);
	put_name(t, "markers", iw_cap_marker_name(e->marker));
	put_u64(t, "marker_count", e->markers);
	if (e->missing)
		put_u64(t, "missing_octets", e->missing);
	if (e->rreq)
		put_rreq(t, "read_request", e->rreq);
	if (e->term)
		put_terminate(t, "terminate", e->term);
	if (e->term_exchanged)
		put_terminate(t, "terminate_exchanged", e->term_exchanged);
	put_deviations(t, e->deviations);
}

static void put_tcp(struct iw_text *t, const struct iw_cap_tcp *e)
{
	put_name(t, "kind", iw_cap_tcp_name(e->kind));
	put_u64(t, "seq", e->seq);
	if (e->kind == IW_CAP_TCP_LOSS || e->kind == IW_CAP_TCP_RESYNC) {
		put_name(t, "why", iw_cap_why_name(e->why));
		put_u64(t, "octets", e->octets);
		put_bool(t, "sync", e->sync);
	}
	if (e->where)
		put_text(t, "where", e->where);
}

static void put_error(struct iw_text *t, const struct iw_fault *why)
{
	put_name(t, "error", iw_err_name(why->err));
	put_text(t, "text", why->text);
	if (why->clause[0])
		put_text(t, "clause", why->clause);
	put_u64(t, "position", why->offset);
}

void iw_cap_event_json(struct iw_text *t, const struct iw_cap_event *ev)
{
	const struct iw_cap_flow *f = ev->flow;

	iw_text_fmt(t, "{\"schema\":1,\"event\":\"%s\"", iw_cap_kind_name(ev->kind));
	put_u64(t, "time_ns", ev->time_ns);
	put_u64(t, "frame", ev->frame);
	put_u64(t, "flow", f->id);
	put_name(t, "from",
		 f->initiator < 0                ? "unknown"
		 : f->initiator == (int)ev->from ? "initiator"
						 : "responder");
	put_name(t, "src", f->name[ev->from]);
	put_name(t, "dst", f->name[1 - ev->from]);
	switch (ev->kind) {
	case IW_CAP_MPA:
		put_mpa(t, &ev->mpa);
		break;
	case IW_CAP_DDP:
		put_ddp(t, &ev->ddp);
		break;
	case IW_CAP_TCP:
		put_tcp(t, &ev->tcp);
		break;
	case IW_CAP_ERROR:
		put_error(t, &ev->error);
		break;
	}
	iw_text_str(t, "}");
}

void iw_cap_totals_json(struct iw_text *t, const struct iw_cap_totals *totals, bool complete,
			int exit_status)
{
	iw_text_str(t, "{\"schema\":1,\"event\":\"result\"");
#define IW_X_(name, text) put_u64(t, #name, totals->name);
	IW_CAP_TOTALS_LIST(IW_X_)
#undef IW_X_
	put_bool(t, "complete", complete);
	put_u64(t, "exit_status", (uint64_t)exit_status);
	iw_text_str(t, "}");
}
