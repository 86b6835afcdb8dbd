// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Shows the result of a probe, as text and as JSON. */
#include "mpa-probe/show.h"

#include <string.h>

#include "cli/exit.h"
#include "cli/human.h"
#include "cli/listener.h"
#include "cli/log.h"
#include "cli/table.h"
#include "cli/text.h"
#include "mpa/mpa.h"
#include "util/num.h"
#include "util/text.h"

#define LINE 2048

/* --- frames --- */

struct view {
	struct iw_mpa_frame f;
	bool header; /* f is valid; its Private Data may be incomplete */
	bool enhanced;
	struct iw_mpa_enhanced e;
	const uint8_t *pd;
	size_t pd_len;
};

static bool view(struct view *v, const uint8_t *frame, size_t len)
{
	bool whole;

	*v = (struct view){ .enhanced = false };
	whole = iw_wire_mpa_frame_decode(&v->f, frame, len) > 0;
	v->header = whole || v->f.kind != IW_MPA_OTHER;
	if (!whole)
		return false;
	v->pd = v->f.pd;
	v->pd_len = v->f.pd_len;
	v->enhanced = v->f.rev >= 2 && v->f.flags & IW_MPA_S && v->pd_len >= IW_MPA_ENHANCED_LEN;
	if (v->enhanced) {
		iw_wire_mpa_enhanced_decode(&v->e, v->pd, v->pd_len);
		v->pd += IW_MPA_ENHANCED_LEN;
		v->pd_len -= IW_MPA_ENHANCED_LEN;
	}
	return true;
}

static void show_pd(struct iw_text *t, const uint8_t *pd, size_t len)
{
	char text[256];

	if (!len) {
		iw_text_str(t, "none");
		return;
	}
	iw_printable(text, sizeof(text), (const char *)pd, IW_MIN(len, (size_t)48), true);
	iw_text_fmt(t, "%U \"%s\"%s ", (uint64_t)len, text, len > 48 ? "..." : "");
	iw_text_octets(t, pd, len);
}

void iw_probe_frame_show(struct iw_text *t, const uint8_t *frame, size_t len)
{
	struct view v;
	bool whole = view(&v, frame, len);

	if (!v.header && len < IW_MPA_FRAME_LEN) {
		iw_text_fmt(t, "incomplete: %U octets of at least %u", (uint64_t)len,
			    (uint32_t)IW_MPA_FRAME_LEN);
		return;
	}
	if (!v.header) {
		iw_text_str(t, "not an MPA frame");
		return;
	}
	iw_text_fmt(t, "Rev %u C=%u M=%u R=%u", (uint32_t)v.f.rev,
		    (uint32_t) !!(v.f.flags & IW_MPA_C), (uint32_t) !!(v.f.flags & IW_MPA_M),
		    (uint32_t) !!(v.f.flags & IW_MPA_R));
	if (v.f.flags & IW_MPA_RES)
		iw_text_fmt(t, " reserved %b", (uint32_t)(v.f.flags & IW_MPA_RES));
	if (v.enhanced) {
		iw_text_str(t, v.e.peer_to_peer ? " peer-to-peer RTR " : " client-server");
		if (v.e.peer_to_peer)
			iw_ask_rtr_print(t, iw_agree_get_rtr(&v.e));
		iw_text_fmt(t, " IRD %u ORD %u", (uint32_t)v.e.ird, (uint32_t)v.e.ord);
	}
	if (v.pd_len) {
		iw_text_str(t, " Private Data ");
		show_pd(t, v.pd, v.pd_len);
	}
	if (!whole)
		iw_text_fmt(t, ", %U of its %u octets", (uint64_t)len,
			    (uint32_t)(IW_MPA_FRAME_LEN + v.f.pd_len));
}

static void rtr_json(struct iw_json *w, const char *key, uint8_t rtr)
{
	iw_json_open_array(w, key);
	if (rtr & IW_RTR_SEND)
		iw_json_str(w, NULL, "send");
	if (rtr & IW_RTR_WRITE)
		iw_json_str(w, NULL, "write");
	if (rtr & IW_RTR_READ)
		iw_json_str(w, NULL, "read");
	iw_json_close(w);
}

static void pd_json(struct iw_json *w, const uint8_t *pd, size_t len)
{
	char hex[2 * IW_MPA_PD_MAX + 1], text[4 * IW_MPA_PD_MAX + 1];
	struct iw_text t;
	uint32_t ird, ord;
	enum iw_smbd is;

	iw_json_u64(w, "private_data_octets", len);
	if (!len)
		return;
	iw_text_init(&t, hex, sizeof(hex));
	iw_text_octets(&t, pd, len);
	iw_json_str(w, "private_data_hex", hex);
	iw_printable(text, sizeof(text), (const char *)pd, len, true);
	iw_json_str(w, "private_data_text", text);
	is = iw_smbd_decode(pd, len, &ird, &ord);
	if (is == IW_SMBD_NONE)
		return;
	iw_json_open_object(w, "ird_ord_header");
	iw_json_u64(w, "ird", ird);
	iw_json_u64(w, "ord", ord);
	iw_json_bool(w, "little_endian", is == IW_SMBD_LITTLE);
	iw_json_close(w);
}

void iw_probe_frame_write_json(struct iw_json *w, const uint8_t *frame, size_t len)
{
	struct view v;

	bool whole = view(&v, frame, len);

	if (!v.header)
		return;
	iw_json_u64(w, "rev", v.f.rev);
	iw_json_bool(w, "m", v.f.flags & IW_MPA_M);
	iw_json_bool(w, "c", v.f.flags & IW_MPA_C);
	iw_json_bool(w, "r", v.f.flags & IW_MPA_R);
	iw_json_bool(w, "s", v.f.flags & IW_MPA_S);
	iw_json_u64(w, "reserved", v.f.flags & IW_MPA_RES);
	if (v.enhanced) {
		iw_json_bool(w, "peer_to_peer", v.e.peer_to_peer);
		rtr_json(w, "rtr", iw_agree_get_rtr(&v.e));
		iw_json_u64(w, "ird", v.e.ird);
		iw_json_u64(w, "ord", v.e.ord);
	}
	if (whole)
		pd_json(w, v.pd, v.pd_len);
}

/* --- one attempt --- */

static bool has_reply(const struct iw_answer *a)
{
	return a->outcome == IW_OUTCOME_ACCEPTED || a->outcome == IW_OUTCOME_REFUSED;
}

static void agreed_json(struct iw_json *w, const struct iw_answer *a)
{
	iw_json_open_object(w, "agreed");
	iw_json_bool(w, "crc", a->crc);
	iw_json_bool(w, "tx_markers", a->tx_markers);
	iw_json_bool(w, "rx_markers", a->rx_markers);
	rtr_json(w, "rtr", a->rtr);
	iw_json_bool(w, "rtr_unasked", a->rtr_unasked);
	iw_json_str(w, "rtr_sent", iw_ask_rtr_name(a->rtr_sent));
	iw_json_close(w);
	iw_json_str(w, "fpdu_exchange", iw_proof_name(a->proof));
	if (a->proof == IW_PROOF_BROKEN)
		iw_json_str(w, "fpdu_text", a->broken.text);
	iw_json_bool(w, "sent_first", a->sent_first);
	iw_json_bool(w, "nudged", a->nudged);
	iw_json_u64(w, "fpdus_received", a->fpdus);
	iw_json_u64(w, "fpdus_aligned", a->aligned);
	iw_json_u64(w, "reads_answered", a->reads);
	if (a->rtt_ns)
		iw_json_u64(w, "read_rtt_ns", a->rtt_ns);
	if (!a->terminated)
		return;
	iw_json_open_object(w, "terminate");
	iw_json_u64(w, "layer", a->terminate.layer);
	iw_json_u64(w, "etype", a->terminate.etype);
	iw_json_u64(w, "code", a->terminate.code);
	iw_json_close(w);
}

static void transport_json(struct iw_json *w, const struct iw_answer *a)
{
	if (!a->connect_ns)
		return;
	iw_json_str(w, "local", a->facts.local);
	iw_json_str(w, "peer", a->facts.peer);
	iw_json_u64(w, "connect_ns", a->connect_ns);
	if (a->reply_ns)
		iw_json_u64(w, "reply_ns", a->reply_ns);
	iw_json_u64(w, "srtt_ns", a->facts.rtt_ns);
	iw_json_u64(w, "emss_octets", a->facts.mss);
	iw_json_u64(w, "path_mtu_octets", a->facts.pmtu);
	iw_json_u64(w, "mulpdu_octets", iw_wire_mpa_mulpdu(a->facts.mss, a->tx_markers));
}

static void attempt_json(struct iw_json *w, const struct iw_probe_attempt *at)
{
	const struct iw_answer *a = &at->answer;
	uint8_t request[IW_ASK_MAX];
	size_t len = iw_ask_encode(request, &at->ask);

	iw_json_open_object(w, "request");
	iw_probe_frame_write_json(w, request, len);
	iw_json_close(w);
	transport_json(w, a);
	if (has_reply(a)) {
		iw_json_open_object(w, "reply");
		iw_probe_frame_write_json(w, a->raw, a->raw_len);
		if (a->block)
			iw_json_u64(w, "libiwarp_block", a->block);
		iw_json_close(w);
	}
	if (a->outcome == IW_OUTCOME_ACCEPTED)
		agreed_json(w, a);
	if (a->connect_ns)
		iw_json_str(w, "ending", iw_ending_name(a->ending));
	if (a->ending != IW_ENDING_OPEN)
		iw_json_u64(w, "ended_ns", a->ended_ns);
	if (a->outcome == IW_OUTCOME_ACCEPTED)
		return;
	iw_json_str(w, "text", a->why.text);
	iw_json_str(w, "seems", a->text[0] ? a->text : NULL);
	if (!has_reply(a) && a->raw_len)
		iw_json_text(w, "received", a->raw, a->raw_len);
}

void iw_probe_attempt_log(unsigned number, const struct iw_probe_attempt *at)
{
	char line[256];
	struct iw_text t;

	iw_text_init(&t, line, sizeof(line));
	iw_ask_print(&t, &at->ask);
	iw_log_info("connection %u (%s): %s: %s%s%s", number, iw_purpose_name(at->purpose), line,
		    iw_outcome_name(at->answer.outcome), at->answer.why.text[0] ? ": " : "",
		    at->answer.why.text);
}

int iw_probe_attempt_write_json(struct iw_json *w, unsigned number,
				const struct iw_probe_attempt *at)
{
	iw_json_begin(w, "attempt");
	iw_json_u64(w, "number", number);
	iw_json_str(w, "purpose", iw_purpose_name(at->purpose));
	iw_json_str(w, "outcome", iw_outcome_name(at->answer.outcome));
	attempt_json(w, at);
	return iw_json_end(w);
}

static void evidence_json(struct iw_json *w, const char *key, const struct iw_evidence *e, size_t n)
{
	iw_json_open_array(w, key);
	for (size_t i = 0; i < n; i++) {
		iw_json_open_object(w, NULL);
		iw_json_str(w, "fact", iw_fact_name(e[i].fact));
		iw_json_bool(w, "is", e[i].is);
		iw_json_str(w, "text", iw_fact_text(e[i].fact, e[i].is));
		iw_json_close(w);
	}
	iw_json_close(w);
}

int iw_probe_status(const struct iw_probe_result *r)
{
	if (r->iwarp)
		return IW_EXIT_OK;
	/* A host that does not answer cannot be distinguished from a broken link. */
	return r->main->answer.outcome == IW_OUTCOME_UNREACHABLE ? IW_EXIT_FAILED : IW_EXIT_NO;
}

int iw_probe_write_json(struct iw_json *w, const struct iw_probe_result *r, int exit_status)
{
	const struct iw_verdict *v = &r->verdict;

	iw_json_begin(w, "result");
	iw_json_str(w, "target", r->target);
	iw_json_bool(w, "iwarp", r->iwarp);
	if (r->main) {
		iw_json_str(w, "outcome", iw_outcome_name(r->main->answer.outcome));
		attempt_json(w, r->main);
	}
	if (r->iwarp || v->impl != IW_IMPL_UNKNOWN) {
		iw_json_open_object(w, "looks_like");
		iw_json_str(w, "name", iw_impl_name(v->impl));
		iw_json_str(w, "text", iw_impl_text(v->impl));
		iw_json_u64(w, "score", v->score);
		evidence_json(w, "evidence", v->pro, v->npro);
		evidence_json(w, "against", v->contra, v->ncontra);
		iw_json_close(w);
	}
	iw_json_bool(w, "listener_gone", r->gone);
	iw_json_u64(w, "connections", r->nattempts);
	iw_json_u64(w, "took_ns", r->took_ns);
	iw_json_i64(w, "exit_status", exit_status);
	return iw_json_end(w);
}

/* --- the report --- */

/* A table of two columns; t collects the value of the row. */
struct rows {
	struct iw_table table;
	char line[LINE];
	struct iw_text t;
};

static void begin(struct rows *r, const char *key)
{
	char indented[40];
	struct iw_text t;

	iw_text_init(&t, indented, sizeof(indented));
	iw_text_fmt(&t, "  %s", key);
	iw_table_add(&r->table, indented);
	iw_text_init(&r->t, r->line, sizeof(r->line));
}

static void end(struct rows *r)
{
	iw_table_add(&r->table, r->line);
}

static const struct iw_answer *answer_of(const struct iw_probe_result *r, enum iw_purpose p)
{
	const struct iw_probe_attempt *at = iw_probe_find(r, p);

	return at ? &at->answer : NULL;
}

static bool was_accepted(const struct iw_answer *a)
{
	return a && a->outcome == IW_OUTCOME_ACCEPTED;
}

/* "closed without a Reply", "refused" */
static const char *how(enum iw_outcome o)
{
	switch (o) {
	case IW_OUTCOME_ACCEPTED:
		return "accepted";
	case IW_OUTCOME_REFUSED:
		return "refused by R = 1";
	case IW_OUTCOME_CLOSED:
		return "closed without a Reply";
	case IW_OUTCOME_RESET:
		return "reset";
	case IW_OUTCOME_SILENT:
		return "not answered";
	case IW_OUTCOME_NOT_MPA:
	case IW_OUTCOME_BAD_REPLY:
		return "not answered by a valid Reply";
	case IW_OUTCOME_PORT_CLOSED:
		return "not tried: the port is closed now";
	case IW_OUTCOME_UNREACHABLE:
		return "not tried: no connection";
	}
	return "?";
}

static void show_revision(struct rows *r, const struct iw_probe_result *p)
{
	const struct iw_answer *a = &p->main->answer, *rev1 = answer_of(p, IW_PURPOSE_REV1);

	begin(r, "revision");
	iw_text_fmt(&r->t, "%u%s", (uint32_t)a->rev,
		    a->enhanced   ? ", enhanced (RFC 6581)"
		    : a->rev >= 2 ? ", not enhanced"
				  : "");
	if (rev1)
		iw_text_fmt(&r->t, "; Rev 1 is %s", how(rev1->outcome));
	for (size_t i = 0; i < p->nattempts && p->attempts + i < p->main; i++)
		iw_text_fmt(&r->t, "; Rev %u%s is %s", (uint32_t)p->attempts[i].ask.rev,
			    p->attempts[i].ask.peer_to_peer ? " peer-to-peer" : "",
			    how(p->attempts[i].answer.outcome));
	end(r);
}

static void show_crc(struct rows *r, const struct iw_probe_result *p)
{
	const struct iw_answer *a = &p->main->answer, *flags = answer_of(p, IW_PURPOSE_FLAGS);

	begin(r, "CRC");
	iw_text_fmt(&r->t, "%s: C=%u in the Request, C=%u in the Reply", a->crc ? "on" : "off",
		    (uint32_t)p->main->ask.crc, (uint32_t) !!(a->flags & IW_MPA_C));
	if (was_accepted(flags))
		iw_text_fmt(&r->t, "; C=%u to a Request with C=0",
			    (uint32_t) !!(flags->flags & IW_MPA_C));
	end(r);
}

static void show_markers(struct rows *r, const struct iw_probe_result *p)
{
	const struct iw_answer *a = &p->main->answer, *m = answer_of(p, IW_PURPOSE_MARKERS);

	begin(r, "markers");
	iw_text_fmt(&r->t, "to the peer %s, from the peer %s", a->tx_markers ? "on" : "off",
		    a->rx_markers ? "on" : "off");
	if (m) {
		iw_text_fmt(&r->t, "; a Request with M=1 is %s", how(m->outcome));
		if (was_accepted(m) && m->proof == IW_PROOF_WORKS)
			iw_text_str(&r->t, ", markers are received");
		else if (was_accepted(m) && m->proof == IW_PROOF_BROKEN)
			iw_text_fmt(&r->t, ", then %s", m->broken.text);
		else if (m->outcome == IW_OUTCOME_REFUSED && m->ending != IW_ENDING_OPEN)
			iw_text_str(&r->t, ", then closed");
	}
	end(r);
}

static void show_depths(struct rows *r, const struct iw_probe_result *p)
{
	const struct iw_answer *a = &p->main->answer, *f = answer_of(p, IW_PURPOSE_FLAGS);
	const uint8_t *pd = a->raw + a->pd_off;
	uint32_t ird, ord;
	enum iw_smbd is = IW_SMBD_NONE;

	if (!a->enhanced)
		is = iw_smbd_decode(pd, a->pd_len, &ird, &ord);
	begin(r, "IRD, ORD");
	if (a->enhanced)
		iw_text_fmt(&r->t, "%u and %u, for a Request with %u and %u", (uint32_t)a->e.ird,
			    (uint32_t)a->e.ord, (uint32_t)p->main->ask.ird,
			    (uint32_t)p->main->ask.ord);
	else if (is != IW_SMBD_NONE)
		iw_text_fmt(&r->t, "%u and %u, in the Private Data as in SMB Direct%s", ird, ord,
			    is == IW_SMBD_LITTLE ? ", but in little-endian order" : "");
	else
		iw_text_str(&r->t, "not negotiated");
	if (was_accepted(f) && f->enhanced)
		iw_text_fmt(&r->t, "; at most %u and %u", (uint32_t)f->e.ird, (uint32_t)f->e.ord);
	end(r);
}

static void show_rtr(struct rows *r, const struct iw_probe_result *p)
{
	const struct iw_answer *a = &p->main->answer;

	if (!p->main->ask.peer_to_peer)
		return;
	begin(r, "RTR");
	iw_text_str(&r->t, "offered ");
	iw_ask_rtr_print(&r->t, p->main->ask.rtr);
	if (!a->enhanced || !a->e.peer_to_peer) {
		iw_text_str(&r->t, "; the Reply is client-server");
	} else {
		iw_text_str(&r->t, a->rtr_unasked ? "; the Reply names " : "; agreed ");
		iw_ask_rtr_print(&r->t, a->rtr);
		iw_text_fmt(&r->t, "; sent %s", iw_ask_rtr_name(a->rtr_sent));
	}
	end(r);
}

static void show_private_data(struct rows *r, const struct iw_answer *a)
{
	begin(r, "Private Data");
	show_pd(&r->t, a->raw + a->pd_off, a->pd_len);
	end(r);
}

static void show_transport(struct rows *r, const struct iw_answer *a)
{
	begin(r, "EMSS");
	iw_text_fmt(&r->t, "%u octets, MULPDU %U, path MTU %u", a->facts.mss,
		    (uint64_t)iw_wire_mpa_mulpdu(a->facts.mss, a->tx_markers), a->facts.pmtu);
	end(r);
}

static void show_fpdus(struct rows *r, const struct iw_answer *a)
{
	begin(r, "FPDUs");
	switch (a->proof) {
	case IW_PROOF_NONE:
		iw_text_str(&r->t, "not tested");
		break;
	case IW_PROOF_WORKS:
		iw_text_fmt(
			&r->t,
			"%u RDMA Reads answered, CRC %s; %u of %u FPDUs at the start of a socket read",
			a->reads, a->crc ? "correct" : "off", a->aligned, a->fpdus);
		break;
	case IW_PROOF_TAKEN:
		iw_text_str(&r->t,
			    "sent, no error; not confirmed, because the peer permits no RDMA Read");
		break;
	case IW_PROOF_SILENT:
		iw_text_str(&r->t, "an RDMA Read was not answered");
		break;
	case IW_PROOF_BROKEN:
		iw_text_str(&r->t, a->broken.text);
		break;
	}
	if (a->sent_first)
		iw_text_str(&r->t, "; the peer sent FPDUs before the initiator (RFC 5044 7.1.2)");
	if (a->nudged)
		iw_text_str(&r->t, "; the first was answered only after another followed");
	end(r);
}

static void show_times(struct rows *r, const struct iw_answer *a)
{
	char x[IW_HUMAN_TEXT], y[IW_HUMAN_TEXT];

	begin(r, "set-up");
	iw_text_fmt(&r->t, "%s to connect, %s from Request to Reply",
		    iw_human_latency(x, a->connect_ns), iw_human_latency(y, a->reply_ns));
	end(r);
	begin(r, "round trip");
	if (a->rtt_ns)
		iw_text_fmt(&r->t, "%s for a zero-length RDMA Read, ",
			    iw_human_latency(x, a->rtt_ns));
	iw_text_fmt(&r->t, "%s measured by TCP", iw_human_latency(y, a->facts.rtt_ns));
	end(r);
}

static void show_verdict(struct rows *r, const struct iw_verdict *v)
{
	begin(r, "looks like");
	iw_text_str(&r->t, iw_impl_text(v->impl));
	end(r);
	for (size_t i = 0; i < v->npro; i++) {
		begin(r, "");
		iw_text_fmt(&r->t, "%s %s", v->impl == IW_IMPL_UNKNOWN ? " " : "+",
			    iw_fact_text(v->pro[i].fact, v->pro[i].is));
		end(r);
	}
	for (size_t i = 0; i < v->ncontra; i++) {
		begin(r, "");
		iw_text_fmt(&r->t, "- %s", iw_fact_text(v->contra[i].fact, v->contra[i].is));
		end(r);
	}
}

/*
 * Returns the reason without "connect to HOST port PORT: ", since the line begins with the target.
 */
static const char *reason(const struct iw_probe_result *r)
{
	static const char connect[] = "connect to ";
	const char *text = r->main->answer.why.text, *colon = strstr(text, ": ");

	return colon && strncmp(text, connect, sizeof(connect) - 1) == 0 ? colon + 2 : text;
}

/*
 * True if the peer closed or reset the only connection without a Reply: the Request may be the
 * reason.
 */
static bool was_only_request(const struct iw_probe_result *r)
{
	enum iw_outcome o = r->main->answer.outcome;

	return r->nattempts == 1 && r->main->answer.connect_ns &&
	       (o == IW_OUTCOME_CLOSED || o == IW_OUTCOME_RESET);
}

/* Names the tool of the suite that refused the connection, if it is one. */
static void show_listener(struct iw_text *t, const struct iw_answer *a)
{
	const char *listener;
	struct view v;

	if (!view(&v, a->raw, a->raw_len))
		return;
	listener = iw_cli_listener(v.pd, v.pd_len);
	if (listener)
		iw_text_fmt(t,
			    "\n  listener      %s, which accepts only its own clients; for a full "
			    "probe run mpa-probe --listen there",
			    listener);
}

/* "127.0.0.1:80: not an iWARP endpoint: it speaks HTTP (...)" */
static void show_refusal(const struct iw_probe_result *r, FILE *f)
{
	const struct iw_answer *a = &r->main->answer;
	char line[LINE];
	struct iw_text t;

	iw_text_init(&t, line, sizeof(line));
	if (a->outcome == IW_OUTCOME_REFUSED) {
		iw_text_fmt(&t, "%s: speaks MPA, but refuses the connection", r->target);
		iw_text_str(&t, "\n  Reply         ");
		iw_probe_frame_show(&t, a->raw, a->raw_len);
		iw_text_fmt(&t, "\n  then          %s",
			    a->ending == IW_ENDING_FIN     ? "the peer closed the connection"
			    : a->ending == IW_ENDING_RESET ? "the peer reset the connection"
							   : "TCP stayed open");
		show_listener(&t, a);
		if (r->nattempts == 1 && a->rev > 0 && r->main->ask.rdmac)
			iw_text_fmt(
				&t,
				"\n  then try      without --profile rdmac: its Reply has Rev %u",
				(uint32_t)a->rev);
		else if (r->nattempts == 1 && a->rev > 0 && a->rev != r->main->ask.rev)
			iw_text_fmt(
				&t,
				"\n  then try      --rev %u, the revision of its Reply; this Request had Rev %u",
				(uint32_t)a->rev, (uint32_t)r->main->ask.rev);
	} else if (a->outcome == IW_OUTCOME_NOT_MPA) {
		iw_text_fmt(&t, "%s: not an iWARP endpoint: it speaks %s%s", r->target, a->text,
			    strncmp(a->text, "TLS", 3) == 0
				    ? "; a listener with --tls does: then give --tls"
				    : "");
	} else if (a->outcome == IW_OUTCOME_UNREACHABLE) {
		iw_text_fmt(&t, "%s: not known whether it is an iWARP endpoint: %s", r->target,
			    reason(r));
	} else if (was_only_request(r)) {
		iw_text_fmt(&t,
			    "%s: does not accept this Request with Rev %u: %s; try without options"
			    " such as --rev and --single",
			    r->target, (uint32_t)r->main->ask.rev, reason(r));
	} else {
		iw_text_fmt(
			&t, "%s: not an iWARP endpoint: %s%s", r->target, reason(r),
			a->outcome == IW_OUTCOME_CLOSED || a->outcome == IW_OUTCOME_RESET
				? "; another program may listen there: give the port of the iWARP listener with -p"
				: "");
	}
	if (r->verdict.impl != IW_IMPL_UNKNOWN)
		iw_text_fmt(&t, "\n  looks like    %s", iw_impl_text(r->verdict.impl));
	fprintf(f, "%s\n", line);
}

int iw_probe_show(const struct iw_probe_result *p, FILE *f, unsigned columns)
{
	struct rows r;
	const struct iw_answer *a;
	int err;

	if (!p->main)
		return 0;
	if (!p->iwarp) {
		show_refusal(p, f);
		return 0;
	}
	a = &p->main->answer;
	fprintf(f, "%s: an iWARP endpoint\n", p->target);
	iw_table_init(&r.table, "ll");
	show_revision(&r, p);
	show_crc(&r, p);
	show_markers(&r, p);
	show_depths(&r, p);
	show_rtr(&r, p);
	show_private_data(&r, a);
	show_transport(&r, a);
	show_fpdus(&r, a);
	show_times(&r, a);
	show_verdict(&r, &p->verdict);
	err = iw_table_write(&r.table, f, columns);
	iw_table_fini(&r.table);
	return err;
}

/* --- the grid --- */

static void ask_cells(struct iw_table *t, const struct iw_probe_attempt *at)
{
	char forms_text[40];
	struct iw_text f;

	iw_text_init(&f, forms_text, sizeof(forms_text));
	if (!at->ask.enhanced)
		iw_text_str(&f, "-");
	else if (!at->ask.peer_to_peer)
		iw_text_str(&f, "client-server");
	else
		iw_ask_rtr_print(&f, at->ask.rtr);
	iw_table_addf(t, "%u", at->ask.rev);
	iw_table_addf(t, "%d", at->ask.crc);
	iw_table_addf(t, "%d", at->ask.markers);
	iw_table_add(t, forms_text);
}

static void print_reply(struct iw_text *t, const struct iw_answer *a)
{
	iw_text_fmt(t, "Rev %u C=%u M=%u", (uint32_t)a->rev, (uint32_t) !!(a->flags & IW_MPA_C),
		    (uint32_t) !!(a->flags & IW_MPA_M));
	if (a->enhanced && a->e.peer_to_peer) {
		iw_text_str(t, " RTR ");
		iw_ask_rtr_print(t, iw_agree_get_rtr(&a->e));
	} else if (a->enhanced) {
		iw_text_str(t, " client-server");
	}
	if (a->enhanced)
		iw_text_fmt(t, " IRD %u ORD %u", (uint32_t)a->e.ird, (uint32_t)a->e.ord);
	if (a->pd_len)
		iw_text_fmt(t, " Private Data %U", (uint64_t)a->pd_len);
}

static void answer_cell(struct iw_table *table, const struct iw_answer *a)
{
	char line[512];
	struct iw_text t;

	iw_text_init(&t, line, sizeof(line));
	if (has_reply(a))
		print_reply(&t, a);
	else
		iw_text_str(&t, a->why.text);
	if (a->outcome == IW_OUTCOME_REFUSED)
		iw_text_fmt(&t, ", then %s",
			    a->ending == IW_ENDING_OPEN  ? "open"
			    : a->ending == IW_ENDING_FIN ? "closed"
							 : "reset");
	if (a->outcome == IW_OUTCOME_ACCEPTED && a->proof == IW_PROOF_BROKEN)
		iw_text_fmt(&t, "; %s", a->broken.text);
	else if (a->outcome == IW_OUTCOME_ACCEPTED)
		iw_text_fmt(&t, "; FPDUs: %s", iw_proof_name(a->proof));
	iw_table_add(table, line);
}

int iw_probe_show_grid(const struct iw_probe_result *r, FILE *f, unsigned columns)
{
	static const char *const heads[] = {
		"purpose", "Rev", "C", "M", "RTR", "outcome", "answer"
	};
	struct iw_table t;
	int err;

	iw_table_init(&t, "lrrrlll");
	for (size_t i = 0; i < IW_ARRAY_LEN(heads); i++)
		iw_table_add(&t, heads[i]);
	for (size_t i = 0; i < r->nattempts; i++) {
		const struct iw_probe_attempt *at = &r->attempts[i];

		iw_table_add(&t, iw_purpose_name(at->purpose));
		ask_cells(&t, at);
		iw_table_add(&t, iw_outcome_name(at->answer.outcome));
		answer_cell(&t, &at->answer);
	}
	err = iw_table_write(&t, f, columns);
	iw_table_fini(&t);
	if (r->gone)
		fputs("stopped: the listener no longer accepts the Request that it accepted first\n",
		      f);
	return err;
}
