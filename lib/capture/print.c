// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Events as lines for people, and the names of what events hold. */
#include "capture/capture.h"

#include <arpa/inet.h>

#include "util/num.h"

const char *iw_cap_kind_name(enum iw_cap_kind k)
{
	switch (k) {
	case IW_CAP_MPA:
		return "mpa";
	case IW_CAP_DDP:
		return "ddp";
	case IW_CAP_TCP:
		return "tcp";
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
	case IW_CAP_TCP_FIN:
		return "fin";
	case IW_CAP_TCP_RESET:
		return "reset";
	case IW_CAP_TCP_FORGOTTEN:
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

void iw_cap_end_print(struct iw_text *t, const struct iw_cap_end *e)
{
	char text[INET6_ADDRSTRLEN] = "?";

	(void)inet_ntop(e->v6 ? AF_INET6 : AF_INET, e->addr, text, sizeof(text));
	iw_text_fmt(t, e->v6 ? "[%s]:%u" : "%s:%u", text, (uint32_t)e->port);
}

void iw_cap_octets_print(struct iw_text *t, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char one[2] = { p[i] >= 0x20 && p[i] < 0x7f ? (char)p[i] : '.', '\0' };

		iw_text_str(t, one);
	}
}

static const char *on_off(bool on)
{
	return on ? "on" : "off";
}

static void print_mpa(struct iw_text *t, const struct iw_cap_mpa *m)
{
	size_t ulp_len = (size_t)m->frame.pd_len - (m->enhanced ? IW_MPA_ENHANCED_LEN : 0);

	iw_mpa_frame_print(t, &m->frame);
	if (m->enhanced) {
		iw_text_str(t, ", ");
		iw_mpa_enhanced_print(t, &m->enh);
	}
	if (m->pd_len) {
		iw_text_fmt(t, ", Private Data %u \"", (uint32_t)ulp_len);
		iw_cap_octets_print(t, m->pd, m->pd_len);
		iw_text_str(t, "\" ");
		iw_text_octets(t, m->pd, m->pd_len);
	}
	if (m->pd_len < ulp_len && m->frame.pd_len <= IW_MPA_PD_MAX)
		iw_text_fmt(t, ", %u octets of it not captured", (uint32_t)(ulp_len - m->pd_len));
	if (m->agreed)
		iw_text_fmt(t, ": CRC %s, markers %s to the responder, %s to the initiator",
			    on_off(m->crc_on), on_off(m->markers_to_responder),
			    on_off(m->markers_to_initiator));
}

static void print_ddp(struct iw_text *t, const struct iw_cap_ddp *e)
{
	if (e->has_header) {
		iw_ddp_print(t, &e->hdr);
		iw_text_fmt(t, ", length %u", (uint32_t)e->len);
	} else {
		iw_text_fmt(t, "FPDU with ULPDU_Length %u", (uint32_t)e->ulpdu_len);
	}
	if (e->rreq) {
		iw_text_str(t, ", ");
		iw_rreq_print(t, e->rreq);
	}
	if (e->term) {
		iw_text_str(t, ": ");
		iw_terminate_print(t, e->term);
	}
	if (e->term_exchanged) {
		iw_text_str(t, "; meant, with the bits in order: ");
		iw_terminate_print(t, e->term_exchanged);
	}
	iw_text_fmt(t, ", crc %s", iw_cap_crc_name(e->crc));
	if (e->crc == IW_CAP_CRC_BAD)
		iw_text_fmt(t, " (%x, expected %x)", e->crc_wire, e->crc_computed);
	if (e->markers)
		iw_text_fmt(t, ", %u markers %s", (uint32_t)e->markers,
			    iw_cap_marker_name(e->marker));
	if (!e->aligned)
		iw_text_str(t, ", not aligned");
	if (e->missing)
		iw_text_fmt(t, ", %U octets not captured", e->missing);
	for (unsigned i = 0; i < IW_CAP_DEV_COUNT; i++)
		if (e->deviations & 1u << i)
			iw_text_fmt(t, " [%s]", iw_cap_deviation_info(i)->name);
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

void iw_cap_event_print(struct iw_text *t, const struct iw_cap_event *ev)
{
	switch (ev->kind) {
	case IW_CAP_MPA:
		print_mpa(t, &ev->mpa);
		return;
	case IW_CAP_DDP:
		print_ddp(t, &ev->ddp);
		return;
	case IW_CAP_TCP:
		print_tcp(t, &ev->tcp);
		return;
	case IW_CAP_ERROR:
		iw_text_fmt(t, "error: %s", ev->error.text);
		if (ev->error.clause[0])
			iw_text_fmt(t, " (%s)", ev->error.clause);
		return;
	}
}
