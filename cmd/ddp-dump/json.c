// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Events as lines of JSON. Texts from a peer become printable ASCII. STags and offsets are strings
 * of hex digits; times of day are strings of decimal digits. */
#include "ddp-dump/capture.h"

#include "util/num.h"

/* The key and its punctuation are one string literal: each of millions of lines has twenty keys. */
#define KEY(name) ",\"" name "\":"

static void put_u64_(struct iw_text *t, const char *key, uint64_t v)
{
	iw_text_str(t, key);
	iw_text_u64(t, v);
}
#define put_u64(t, name, v) put_u64_(t, KEY(name), v)

/* As a string: a reader that stores numbers as doubles would round it. */
static void put_decimal_(struct iw_text *t, const char *key, uint64_t v)
{
	iw_text_str(t, key);
	iw_text_u64(t, v);
	iw_text_str(t, "\"");
}
#define put_decimal(t, name, v) put_decimal_(t, KEY(name) "\"", v)

static void put_bool_(struct iw_text *t, const char *key, bool v)
{
	iw_text_str(t, key);
	iw_text_str(t, v ? "true" : "false");
}
#define put_bool(t, name, v) put_bool_(t, KEY(name), v)

/* For text that needs no escaping. */
static void put_name_(struct iw_text *t, const char *key, const char *s)
{
	iw_text_str(t, key);
	iw_text_str(t, s);
	iw_text_str(t, "\"");
}
#define put_name(t, name, s) put_name_(t, KEY(name) "\"", s)

static void put_hex_(struct iw_text *t, const char *key, uint64_t v, unsigned digits)
{
	iw_text_str(t, key);
	iw_text_hex(t, v, digits);
	iw_text_str(t, "\"");
}
#define put_hex(t, name, v, digits) put_hex_(t, KEY(name) "\"", v, digits)

static void put_octets_(struct iw_text *t, const char *key, const uint8_t *p, size_t len)
{
	iw_text_str(t, key);
	iw_text_octets(t, p, len);
	iw_text_str(t, "\"");
}
#define put_octets(t, name, p, len) put_octets_(t, KEY(name) "\"", p, len)

void iw_cap_json_string(struct iw_text *t, const uint8_t *p, size_t len)
{
	iw_text_str(t, "\"");
	for (size_t i = 0; i < len; i++) {
		/* RFC 8259 7 */
		if (p[i] == '"' || p[i] == '\\')
			iw_text_str(t, "\\");
		iw_cap_octets_print(t, p + i, 1);
	}
	iw_text_str(t, "\"");
}

static void put_printable_(struct iw_text *t, const char *key, const uint8_t *p, size_t len)
{
	iw_text_str(t, key);
	iw_cap_json_string(t, p, len);
}
#define put_printable(t, name, p, len) put_printable_(t, KEY(name), p, len)

static void put_text_(struct iw_text *t, const char *key, const char *s)
{
	size_t len = 0;

	while (s[len])
		len++;
	put_printable_(t, key, (const uint8_t *)s, len);
}
#define put_text(t, name, s) put_text_(t, KEY(name), s)

static void put_enhanced(struct iw_text *t, const struct iw_mpa_enhanced *e)
{
	put_u64(t, "ird", e->ird);
	put_u64(t, "ord", e->ord);
	put_bool(t, "peer_to_peer", e->peer_to_peer);
	put_bool(t, "rtr_send", e->rtr_send);
	put_bool(t, "rtr_write", e->rtr_write);
	put_bool(t, "rtr_read", e->rtr_read);
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
	put_u64(t, "private_data_octets", m->frame.pd_len);
	if (m->enhanced)
		put_enhanced(t, &m->enh);
	put_octets(t, "private_data", m->pd, m->pd_len);
	put_printable(t, "private_data_text", m->pd, m->pd_len);
	if (m->agreed) {
		put_bool(t, "crc_on", m->crc_on);
		put_bool(t, "markers_to_responder", m->markers_to_responder);
		put_bool(t, "markers_to_initiator", m->markers_to_initiator);
	}
}

static void put_rreq_(struct iw_text *t, const char *key, const struct iw_rreq *r)
{
	iw_text_str(t, key);
	/* There is no comma before the first key of an object. */
	iw_text_fmt(t, "{\"size_octets\":%u", r->size);
	put_hex(t, "sink_stag", r->sink_stag, 8);
	put_hex(t, "sink_to", r->sink_to, 16);
	put_hex(t, "src_stag", r->src_stag, 8);
	put_hex(t, "src_to", r->src_to, 16);
	iw_text_str(t, "}");
}

#define put_rreq(t, name, r) put_rreq_(t, KEY(name), r)

static void put_terminate_(struct iw_text *t, const char *key, const struct iw_terminate *m)
{
	char text[128];
	struct iw_text what;

	iw_text_init(&what, text, sizeof(text));
	iw_wire_term_print(&what,
			   IW_TERM((uint32_t)m->layer, (uint32_t)m->etype, (uint32_t)m->code));
	iw_text_str(t, key);
	iw_text_fmt(t, "{\"layer\":%u", (uint32_t)m->layer);
	put_u64(t, "etype", m->etype);
	put_u64(t, "code", m->code);
	put_text(t, "text", text);
	put_bool(t, "m", m->m);
	put_bool(t, "d", m->d);
	put_bool(t, "r", m->r);
	if (m->m || m->d)
		put_u64(t, "ddp_segment_octets", m->ddp_len);
	if (m->ddp_hdr_len)
		put_octets(t, "ddp_header", m->ddp, m->ddp_hdr_len);
	if (m->has_rreq)
		put_rreq(t, "read_request", &m->rreq);
	iw_text_str(t, "}");
}

#define put_terminate(t, name, m) put_terminate_(t, KEY(name), m)

static void put_deviations(struct iw_text *t, unsigned bits)
{
	bool first = true;

	if (!bits)
		return;
	iw_text_str(t, KEY("deviations"));
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

static void put_atomic_req(struct iw_text *t, const struct iw_atomic_req *r)
{
	iw_text_str(t, KEY("atomic_request"));
	iw_text_fmt(t, "{\"operation\":\"%s\"", iw_atomic_op_name(r->op));
	put_u64(t, "aopcode", r->op);
	put_u64(t, "request_id", r->id);
	put_hex(t, "stag", r->stag, 8);
	put_hex(t, "to", r->to, 16);
	put_hex(t, "data", r->data, 16);
	put_hex(t, "mask", r->mask, 16);
	put_hex(t, "compare", r->compare, 16);
	put_hex(t, "compare_mask", r->compare_mask, 16);
	iw_text_str(t, "}");
}

static void put_atomic_rsp(struct iw_text *t, const struct iw_atomic_rsp *r)
{
	iw_text_str(t, KEY("atomic_response"));
	iw_text_fmt(t, "{\"request_id\":%u", r->id);
	put_hex(t, "value", r->value, 16);
	iw_text_str(t, "}");
}

static void put_chunk(struct iw_text *t, const struct iw_cap_chunk *k)
{
	put_u64(t, "stream", k->stream);
	put_u64(t, "ddp_ssn", k->ssn);
	put_u64(t, "tsn", k->tsn);
	if (k->fragments != 1)
		put_u64(t, "fragments", k->fragments);
}

/* Keys of an FPDU that a message over SCTP lacks. */
static void put_fpdu(struct iw_text *t, const struct iw_cap_ddp *e)
{
	put_u64(t, "position", e->position);
	put_bool(t, "aligned", iw_cap_aligned(e));
	if (e->crc != IW_CAP_CRC_ABSENT)
		put_hex(t, "crc_field", e->crc_wire, 8);
	if (e->crc == IW_CAP_CRC_BAD)
		put_hex(t, "crc_expected", e->crc_computed, 8);
	put_name(t, "markers", iw_cap_marker_name(e->marker));
	put_u64(t, "marker_count", e->markers);
}

static void put_ddp(struct iw_text *t, const struct iw_cap_ddp *e, bool over_tcp)
{
	if (e->has_header) {
		put_header(t, &e->hdr);
		put_u64(t, "payload_octets", e->len);
	}
	if (over_tcp)
		put_u64(t, "ulpdu_octets", e->segment_len);
	else
		put_chunk(t, &e->chunk);
	put_u64(t, "first_frame", e->first_frame);
	put_name(t, "crc", iw_cap_crc_name(e->crc));
	if (over_tcp)
		put_fpdu(t, e);
	if (e->missing)
		put_u64(t, "missing_octets", e->missing);
	if (e->rreq)
		put_rreq(t, "read_request", e->rreq);
	if (e->atomic_req)
		put_atomic_req(t, e->atomic_req);
	if (e->atomic_rsp)
		put_atomic_rsp(t, e->atomic_rsp);
	if (e->imm)
		put_octets(t, "immediate_data", e->imm, IW_RDMAP_IMM_LEN);
	if (e->term)
		put_terminate(t, "terminate", e->term);
	if (e->term_exchanged)
		put_terminate(t, "terminate_exchanged", e->term_exchanged);
}

static void put_session(struct iw_text *t, const struct iw_cap_session *e)
{
	put_name(t, "function", iw_wire_sctp_fn_name(e->control.fn));
	put_u64(t, "function_code", e->control.fn);
	put_chunk(t, &e->chunk);
	put_name(t, "crc", iw_cap_crc_name(e->chunk.crc));
	put_u64(t, "private_data_octets", e->control.pd_len);
	if (e->enhanced)
		put_enhanced(t, &e->enh);
	put_octets(t, "private_data", e->pd, e->pd_len);
	put_printable(t, "private_data_text", e->pd, e->pd_len);
}

static void put_sctp(struct iw_text *t, const struct iw_cap_sctp *e)
{
	put_name(t, "kind", iw_cap_sctp_name(e->kind));
	switch (e->kind) {
	case IW_CAP_SCTP_INIT:
	case IW_CAP_SCTP_INIT_ACK:
		put_u64(t, "streams_out", e->os);
		put_u64(t, "streams_in_max", e->mis);
		put_u64(t, "tsn", e->tsn);
		if (e->has_adaptation)
			put_u64(t, "adaptation_indication", e->adaptation);
		return;
	case IW_CAP_SCTP_LOSS:
		put_name(t, "why", iw_cap_why_name(e->why));
		put_u64(t, "tsn", e->tsn);
		put_u64(t, "chunks", e->chunks);
		return;
	case IW_CAP_SCTP_AGAIN:
		put_u64(t, "tsn", e->tsn);
		return;
	case IW_CAP_SCTP_SACK:
		put_u64(t, "tsn", e->tsn);
		put_u64(t, "gaps", e->gaps);
		put_u64(t, "duplicates", e->duplicates);
		put_u64(t, "rwnd_octets", e->rwnd);
		return;
	case IW_CAP_SCTP_ABORT:
		put_u64(t, "cause", e->cause);
		return;
	case IW_CAP_SCTP_COOKIE_ECHO:
	case IW_CAP_SCTP_COOKIE_ACK:
	case IW_CAP_SCTP_SHUTDOWN:
	case IW_CAP_SCTP_SHUTDOWN_ACK:
	case IW_CAP_SCTP_COMPLETE:
	case IW_CAP_SCTP_FORGOTTEN:
		return;
	}
}

static void put_counts_(struct iw_text *t, const char *key, const uint64_t *n, size_t len)
{
	iw_text_str(t, key);
	for (size_t i = 0; i < len; i++)
		iw_text_fmt(t, i ? ",%U" : "[%U", n[i]);
	iw_text_str(t, "]");
}

#define put_counts(t, name, n, len) put_counts_(t, KEY(name), n, len)

static void put_align(struct iw_text *t, const struct iw_cap_align *a)
{
	put_u64(t, "fpdus", a->fpdus);
	put_counts(t, "offsets", a->offset, IW_ARRAY_LEN(a->offset));
	put_counts(t, "segments", a->segments, IW_ARRAY_LEN(a->segments));
}

static void put_tcp(struct iw_text *t, const struct iw_cap_tcp *e)
{
	put_name(t, "kind", iw_cap_tcp_name(e->kind));
	put_u64(t, "seq", e->seq);
	if (e->why != IW_CAP_WHY_NONE)
		put_name(t, "why", iw_cap_why_name(e->why));
	if (e->kind == IW_CAP_TCP_LOSS || e->kind == IW_CAP_TCP_RESYNC)
		put_bool(t, "sync", e->sync);
	if (e->kind == IW_CAP_TCP_LOSS || e->kind == IW_CAP_TCP_RESYNC ||
	    e->kind == IW_CAP_TCP_AGAIN || e->kind == IW_CAP_TCP_OVERLAP)
		put_u64(t, "octets", e->octets);
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

static void put_event(struct iw_text *t, const struct iw_cap_event *ev)
{
	const struct iw_cap_flow *f = ev->flow;

	iw_text_str(t, "{\"schema\":1,\"event\":\"");
	iw_text_str(t, iw_cap_kind_name(ev->kind));
	iw_text_str(t, "\"");
	put_decimal(t, "time_ns", ev->time_ns);
	put_u64(t, "frame", ev->frame);
	put_u64(t, "flow", f->id);
	put_name(t, "over", iw_cap_over_name(f->over));
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
	case IW_CAP_SESSION:
		put_session(t, &ev->session);
		break;
	case IW_CAP_DDP:
		put_ddp(t, &ev->ddp, f->over == IW_CAP_OVER_TCP);
		break;
	case IW_CAP_TCP:
		put_tcp(t, &ev->tcp);
		break;
	case IW_CAP_SCTP:
		put_sctp(t, &ev->sctp);
		break;
	case IW_CAP_ALIGN:
		put_align(t, &ev->align);
		break;
	case IW_CAP_ERROR:
		put_error(t, &ev->error);
		break;
	}
	if (iw_cap_transfer_of(ev)) {
		iw_text_str(t, KEY("transfer"));
		iw_cap_transfer_json(t, iw_cap_transfer_of(ev));
	}
	if (ev->kind == IW_CAP_DDP && ev->ddp.payload)
		put_octets(t, "payload", ev->ddp.payload, ev->ddp.payload_len);
	put_deviations(t, ev->deviations);
}

void iw_cap_event_json(struct iw_text *t, const struct iw_cap_event *ev)
{
	put_event(t, ev);
	iw_text_str(t, "}");
}

static void put_field(struct iw_text *t, const struct iw_cap_field *f)
{
	iw_text_fmt(t, "{\"header\":\"%s\",\"name\":\"%s\"", f->header, f->name);
	put_u64(t, "offset_octets", f->off);
	put_u64(t, "octets", f->len);
	if (f->bits) {
		put_u64(t, "bit", f->bit);
		put_u64(t, "bits", f->bits);
	}
	/* A number that a double may not hold exactly is a string. */
	if (f->is_number && f->len > 4)
		put_hex(t, "value", f->value, 16);
	else if (f->is_number)
		put_u64(t, "value", f->value);
	put_text(t, "meaning", f->meaning);
	put_name(t, "clause", f->clause);
	iw_text_str(t, "}");
}

void iw_cap_event_json_explained(struct iw_text *t, const struct iw_cap_event *ev,
				 const struct iw_cap_field *field, size_t n)
{
	put_event(t, ev);
	iw_text_str(t, KEY("fields"));
	iw_text_str(t, "[");
	for (size_t i = 0; i < n; i++) {
		if (i)
			iw_text_str(t, ",");
		put_field(t, &field[i]);
	}
	iw_text_str(t, "]}");
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
