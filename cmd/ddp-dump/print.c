// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Events as lines for people, and the names of enumerators. */
#include "ddp-dump/capture.h"

#include <arpa/inet.h>

#include "util/num.h"

const char *iw_cap_over_name(enum iw_cap_over o)
{
	switch (o) {
	case IW_CAP_OVER_TCP:
		return "tcp";
	case IW_CAP_OVER_SCTP:
		return "sctp";
	case IW_CAP_OVER_UDP:
		return "udp";
	}
	return "";
}

const char *iw_cap_kind_name(enum iw_cap_kind k)
{
	switch (k) {
	case IW_CAP_MPA:
		return "mpa";
	case IW_CAP_SESSION:
		return "session";
	case IW_CAP_DDP:
		return "ddp";
	case IW_CAP_TCP:
		return "tcp";
	case IW_CAP_SCTP:
		return "sctp";
	case IW_CAP_ALIGN:
		return "align";
	case IW_CAP_ERROR:
		return "error";
	}
	return "";
}

const char *iw_cap_crc_name(enum iw_cap_crc v)
{
	switch (v) {
	case IW_CAP_CRC_OFF:
		return "off";
	case IW_CAP_CRC_GOOD:
		return "good";
	case IW_CAP_CRC_BAD:
		return "bad";
	case IW_CAP_CRC_ABSENT:
		return "absent";
	case IW_CAP_CRC_COUNT_:
		break;
	}
	return "";
}

const char *iw_cap_marker_name(enum iw_cap_marker v)
{
	switch (v) {
	case IW_CAP_MARKER_OFF:
		return "off";
	case IW_CAP_MARKER_NONE:
		return "none";
	case IW_CAP_MARKER_GOOD:
		return "good";
	case IW_CAP_MARKER_BAD:
		return "bad";
	case IW_CAP_MARKER_COUNT_:
		break;
	}
	return "";
}

const char *iw_cap_tcp_name(enum iw_cap_tcp_kind k)
{
	switch (k) {
	case IW_CAP_TCP_LOSS:
		return "loss";
	case IW_CAP_TCP_RESYNC:
		return "resync";
	case IW_CAP_TCP_AGAIN:
		return "retransmission";
	case IW_CAP_TCP_OVERLAP:
		return "overlap";
	case IW_CAP_TCP_FIN:
		return "fin";
	case IW_CAP_TCP_RESET:
		return "reset";
	case IW_CAP_TCP_FORGOTTEN:
		return "forgotten";
	}
	return "";
}

const char *iw_cap_sctp_name(enum iw_cap_sctp_kind k)
{
	switch (k) {
	case IW_CAP_SCTP_INIT:
		return "init";
	case IW_CAP_SCTP_INIT_ACK:
		return "init-ack";
	case IW_CAP_SCTP_COOKIE_ECHO:
		return "cookie-echo";
	case IW_CAP_SCTP_COOKIE_ACK:
		return "cookie-ack";
	case IW_CAP_SCTP_LOSS:
		return "loss";
	case IW_CAP_SCTP_AGAIN:
		return "retransmission";
	case IW_CAP_SCTP_SACK:
		return "sack";
	case IW_CAP_SCTP_SHUTDOWN:
		return "shutdown";
	case IW_CAP_SCTP_SHUTDOWN_ACK:
		return "shutdown-ack";
	case IW_CAP_SCTP_COMPLETE:
		return "shutdown-complete";
	case IW_CAP_SCTP_ABORT:
		return "abort";
	case IW_CAP_SCTP_FORGOTTEN:
		return "forgotten";
	}
	return "";
}

const char *iw_cap_why_name(enum iw_cap_why w)
{
	switch (w) {
	case IW_CAP_WHY_NONE:
		return "";
	case IW_CAP_WHY_GAP:
		return "gap";
	case IW_CAP_WHY_SNAP:
		return "snap";
	case IW_CAP_WHY_LIMIT:
		return "limit";
	case IW_CAP_WHY_END:
		return "end";
	case IW_CAP_WHY_MARKER:
		return "marker";
	case IW_CAP_WHY_CRC:
		return "crc";
	case IW_CAP_WHY_SHAPE:
		return "shape";
	case IW_CAP_WHY_DIFFERS:
		return "differs";
	}
	return "";
}

const struct iw_cap_deviation_info *iw_cap_deviation_info(unsigned index)
{
	static const struct iw_cap_deviation_info info[] = {
#define IW_X_(id, deviation, rfc, what) { deviation, rfc, what },
		IW_CAP_DEVIATION_LIST(IW_X_)
#undef IW_X_
	};

	return &info[index];
}

void iw_cap_end_print(struct iw_text *t, const struct iw_packet_end *e)
{
	char text[INET6_ADDRSTRLEN] = "?";

	(void)inet_ntop(e->v6 ? AF_INET6 : AF_INET, e->addr, text, sizeof(text));
	iw_text_fmt(t, e->v6 ? "[%s]:%u" : "%s:%u", text, (uint32_t)e->port);
	if (e->udp_port)
		iw_text_fmt(t, "/udp:%u", (uint32_t)e->udp_port);
}

void iw_cap_octets_print(struct iw_text *t, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char one[2] = { p[i] >= 0x20 && p[i] < 0x7f ? (char)p[i] : '.', '\0' };

		iw_text_str(t, one);
	}
}

#define ROW 16 /* octets in a line of hex */

size_t iw_cap_hex_line(struct iw_text *t, const uint8_t *p, size_t len, size_t at)
{
	uint8_t offset[2] = { (uint8_t)(at >> 8), (uint8_t)at };
	size_t n = IW_MIN(len - at, (size_t)ROW);

	iw_text_str(t, "    ");
	iw_text_octets(t, offset, sizeof(offset));
	iw_text_str(t, " ");
	for (size_t i = 0; i < ROW; i++) {
		iw_text_str(t, i == ROW / 2 ? "  " : " ");
		if (i < n)
			iw_text_octets(t, p + at + i, 1);
		else
			iw_text_str(t, "  ");
	}
	iw_text_str(t, "  ");
	iw_cap_octets_print(t, p + at, n);
	return n;
}

static const char *on_off(bool on)
{
	return on ? "on" : "off";
}

/* The first captured octets of Private Data of len octets are at p. */
static void print_private_data(struct iw_text *t, const uint8_t *p, size_t captured, size_t len)
{
	if (captured) {
		iw_text_fmt(t, ", Private Data %U \"", (uint64_t)len);
		iw_cap_octets_print(t, p, captured);
		iw_text_str(t, "\" ");
		iw_text_octets(t, p, captured);
	}
	if (captured < len)
		iw_text_fmt(t, ", %U octets of it not captured", (uint64_t)(len - captured));
}

static void print_mpa(struct iw_text *t, const struct iw_cap_mpa *m)
{
	size_t ulp_len = (size_t)m->frame.pd_len - (m->enhanced ? IW_MPA_ENHANCED_LEN : 0);

	iw_wire_mpa_frame_print(t, &m->frame);
	if (m->enhanced) {
		iw_text_str(t, ", ");
		iw_wire_mpa_enhanced_print(t, &m->enh);
	}
	/* If PD_Length is above the limit, the octets that follow are not Private Data. */
	if (m->frame.pd_len <= IW_MPA_PD_MAX)
		print_private_data(t, m->pd, m->pd_len, ulp_len);
	if (m->agreed)
		iw_text_fmt(t, ": CRC %s, markers %s to the responder, %s to the initiator",
			    on_off(m->crc_on), on_off(m->markers_to_responder),
			    on_off(m->markers_to_initiator));
}

static void print_chunk(struct iw_text *t, const struct iw_cap_chunk *k)
{
	iw_text_fmt(t, "stream %u DDP-SSN %u ", (uint32_t)k->stream, (uint32_t)k->ssn);
}

static void print_session(struct iw_text *t, const struct iw_cap_session *e)
{
	size_t enhanced = e->enhanced ? IW_MPA_ENHANCED_LEN : 0;

	print_chunk(t, &e->chunk);
	iw_text_fmt(t, "DDP Stream Session %s", iw_wire_sctp_fn_name(e->control.fn));
	if (e->control.fn < IW_SCTP_FN_INITIATE || e->control.fn > IW_SCTP_FN_ENH_REJECT) {
		iw_text_str(t, " ");
		iw_text_hex(t, e->control.fn, 4);
	}
	if (e->enhanced) {
		iw_text_str(t, ", ");
		iw_wire_mpa_enhanced_print(t, &e->enh);
	}
	print_private_data(t, e->pd, e->pd_len, e->control.pd_len - enhanced);
}

/* The RDMAP header after the DDP header. */
static void print_rdmap(struct iw_text *t, const struct iw_cap_ddp *e)
{
	if (e->rreq) {
		iw_text_str(t, ", ");
		iw_rreq_print(t, e->rreq);
	}
	if (e->atomic_req) {
		iw_text_str(t, ", ");
		iw_atomic_req_print(t, e->atomic_req);
	}
	if (e->atomic_rsp) {
		iw_text_str(t, ", ");
		iw_atomic_rsp_print(t, e->atomic_rsp);
	}
	if (e->imm) {
		iw_text_str(t, ", ");
		iw_text_octets(t, e->imm, IW_RDMAP_IMM_LEN);
	}
	if (e->term) {
		iw_text_str(t, ": ");
		iw_terminate_print(t, e->term);
	}
	if (e->term_exchanged) {
		iw_text_str(t, "; meant, with the bits in order: ");
		iw_terminate_print(t, e->term_exchanged);
	}
}

static void print_ddp(struct iw_text *t, const struct iw_cap_ddp *e, bool over_tcp)
{
	if (!over_tcp)
		print_chunk(t, &e->chunk);
	if (e->has_header) {
		iw_wire_ddp_print(t, &e->hdr);
		iw_text_fmt(t, ", length %U", (uint64_t)e->len);
	} else if (over_tcp) {
		iw_text_fmt(t, "FPDU with ULPDU_Length %u", e->segment_len);
	} else {
		iw_text_fmt(t, "DDP segment of %u octets", e->segment_len);
	}
	print_rdmap(t, e);
	iw_text_fmt(t, ", crc %s", iw_cap_crc_name(e->crc));
	if (e->crc == IW_CAP_CRC_BAD)
		iw_text_fmt(t, " (%x, expected %x)", e->crc_wire, e->crc_computed);
	if (e->markers)
		iw_text_fmt(t, ", %u markers %s", (uint32_t)e->markers,
			    iw_cap_marker_name(e->marker));
	if (over_tcp && !iw_cap_aligned(e))
		iw_text_str(t, ", not aligned");
	if (e->missing)
		iw_text_fmt(t, ", %U octets not captured", e->missing);
}

static void print_tcp(struct iw_text *t, const struct iw_cap_tcp *e)
{
	switch (e->kind) {
	case IW_CAP_TCP_LOSS:
		if (e->octets)
			iw_text_fmt(t, "TCP loss: %U octets from %u on not captured (%s), in %s",
				    e->octets, e->seq, iw_cap_why_name(e->why), e->where);
		else
			iw_text_fmt(t, "TCP loss: %s not captured", e->where);
		iw_text_str(t, e->sync ? "; FPDU boundaries known" : "; FPDU boundaries lost");
		return;
	case IW_CAP_TCP_RESYNC:
		iw_text_fmt(t, "FPDU boundaries found again (%s); %U octets not decoded",
			    iw_cap_why_name(e->why), e->octets);
		return;
	case IW_CAP_TCP_AGAIN:
	case IW_CAP_TCP_OVERLAP:
		iw_text_fmt(t, "TCP %s: %U octets from %u on came before, in %s",
			    iw_cap_tcp_name(e->kind), e->octets, e->seq, e->where);
		if (e->why == IW_CAP_WHY_DIFFERS)
			iw_text_str(t, "; they differ, and the first ones count");
		return;
	case IW_CAP_TCP_FIN:
		iw_text_fmt(t, "TCP FIN in %s", e->where);
		return;
	case IW_CAP_TCP_RESET:
		iw_text_fmt(t, "TCP reset in %s", e->where);
		return;
	case IW_CAP_TCP_FORGOTTEN:
		iw_text_str(t, "too many connections at once: this one is no longer followed");
		return;
	}
}

static void print_sctp(struct iw_text *t, const struct iw_cap_sctp *e)
{
	switch (e->kind) {
	case IW_CAP_SCTP_INIT:
	case IW_CAP_SCTP_INIT_ACK:
		iw_text_fmt(t, "SCTP %s: streams %u out, at most %u in, first TSN %u",
			    e->kind == IW_CAP_SCTP_INIT ? "INIT" : "INIT ACK", (uint32_t)e->os,
			    (uint32_t)e->mis, e->tsn);
		if (e->cut)
			iw_text_str(t, ", the rest not captured (snap)");
		else if (!e->has_adaptation)
			iw_text_str(t, ", no adaptation indication");
		else if (e->adaptation == IW_SCTP_ADAPTATION_DDP)
			iw_text_str(t, ", adaptation indication DDP");
		else if (e->adaptation == IW_SCTP_ADAPTATION_DDP_RDMA_02)
			iw_text_str(t, ", adaptation indication DDP and RDMA (draft -02)");
		else
			iw_text_fmt(t, ", adaptation indication %x", e->adaptation);
		return;
	case IW_CAP_SCTP_LOSS:
		iw_text_fmt(t, "SCTP loss: %u DATA chunks from TSN %u on not captured (%s)",
			    e->chunks, e->tsn, iw_cap_why_name(e->why));
		return;
	case IW_CAP_SCTP_AGAIN:
		iw_text_fmt(t, "SCTP retransmission: TSN %u came before", e->tsn);
		return;
	case IW_CAP_SCTP_SACK:
		iw_text_fmt(t, "SCTP SACK: all up to TSN %u, window %u octets", e->tsn, e->rwnd);
		if (e->gaps)
			iw_text_fmt(t, ", Gap Ack Blocks %u", (uint32_t)e->gaps);
		if (e->duplicates)
			iw_text_fmt(t, ", Duplicate TSNs %u", (uint32_t)e->duplicates);
		return;
	case IW_CAP_SCTP_COOKIE_ECHO:
		iw_text_str(t, "SCTP COOKIE ECHO");
		return;
	case IW_CAP_SCTP_COOKIE_ACK:
		iw_text_str(t, "SCTP COOKIE ACK");
		return;
	case IW_CAP_SCTP_SHUTDOWN:
		iw_text_str(t, "SCTP SHUTDOWN");
		return;
	case IW_CAP_SCTP_SHUTDOWN_ACK:
		iw_text_str(t, "SCTP SHUTDOWN ACK");
		return;
	case IW_CAP_SCTP_COMPLETE:
		iw_text_str(t, "SCTP SHUTDOWN COMPLETE");
		return;
	case IW_CAP_SCTP_ABORT:
		iw_text_str(t, "SCTP ABORT");
		if (e->cause)
			iw_text_fmt(t, ": %s (cause %u)", iw_wire_sctp_cause_name(e->cause),
				    (uint32_t)e->cause);
		return;
	case IW_CAP_SCTP_FORGOTTEN:
		iw_text_str(t, "too many associations at once: this one is no longer followed");
		return;
	}
}

/* The histogram on one line. Counts of 0 are omitted. */
static void print_align(struct iw_text *t, const struct iw_cap_align *a)
{
	iw_text_fmt(t, "%U FPDUs; begin at offset", a->fpdus);
	for (size_t i = 0; i < IW_ARRAY_LEN(a->offset); i++) {
		if (!a->offset[i])
			continue;
		iw_text_fmt(t, i < 2 ? " %u:" : " %u-", i ? 1u << (i - 1) : 0u);
		if (i >= 2)
			iw_text_fmt(t, "%u:", (1u << i) - 1);
		iw_text_fmt(t, " %U", a->offset[i]);
	}
	iw_text_str(t, "; lie in segments");
	for (size_t i = 0; i < IW_ARRAY_LEN(a->segments); i++)
		if (a->segments[i])
			iw_text_fmt(t, i + 1 < IW_ARRAY_LEN(a->segments) ? " %u: %U" : " %u+: %U",
				    (uint32_t)i + 1, a->segments[i]);
}

static void print_what(struct iw_text *t, const struct iw_cap_event *ev)
{
	switch (ev->kind) {
	case IW_CAP_MPA:
		print_mpa(t, &ev->mpa);
		return;
	case IW_CAP_SESSION:
		print_session(t, &ev->session);
		return;
	case IW_CAP_DDP:
		print_ddp(t, &ev->ddp, ev->flow->over == IW_CAP_OVER_TCP);
		return;
	case IW_CAP_TCP:
		print_tcp(t, &ev->tcp);
		return;
	case IW_CAP_SCTP:
		print_sctp(t, &ev->sctp);
		return;
	case IW_CAP_ALIGN:
		print_align(t, &ev->align);
		return;
	case IW_CAP_ERROR:
		iw_text_fmt(t, "error: %s", ev->error.text);
		if (ev->error.clause[0])
			iw_text_fmt(t, " (%s)", ev->error.clause);
		return;
	}
}

void iw_cap_event_print(struct iw_text *t, const struct iw_cap_event *ev)
{
	print_what(t, ev);
	for (unsigned i = 0; ev->deviations && i < IW_CAP_DEV_COUNT; i++)
		if (ev->deviations & 1u << i)
			iw_text_fmt(t, " [%s]", iw_cap_deviation_info(i)->name);
}
