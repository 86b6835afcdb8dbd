// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The events of associations: chunks, acknowledgements, losses, windows, paths and timers. */
#include "sctp/internal.h"

#include "util/trace.h"

/* --- addresses -------------------------------------------------------------------------------- */

static void put_ipv4(struct iw_text *t, const uint8_t *ip)
{
	for (unsigned i = 0; i < 4; i++) {
		if (i > 0)
			iw_text_str(t, ".");
		iw_text_u64(t, ip[i]);
	}
}

static void put_group(struct iw_text *t, uint16_t group)
{
	char text[5];
	unsigned n = 0;

	for (int shift = 12; shift >= 0; shift -= 4)
		if (group >> shift || shift == 0)
			text[n++] = "0123456789abcdef"[group >> shift & 15];
	text[n] = '\0';
	iw_text_str(t, text);
}

/*
 * RFC 5952 4.2: returns the first of the longest runs of zero groups, and its length in *len. Only
 * a run of at least two is shortened; otherwise returns 8.
 */
static unsigned longest_zeros(const uint8_t *ip, unsigned *len)
{
	unsigned best = 8, run = 0;

	*len = 1;
	for (unsigned i = 0; i < 8; i++) {
		run = iw_get_be16(ip + 2 * (size_t)i) == 0 ? run + 1 : 0;
		if (run > *len) {
			*len = run;
			best = i + 1 - run;
		}
	}
	return best;
}

static void put_ipv6(struct iw_text *t, const uint8_t *ip)
{
	unsigned len, zeros = longest_zeros(ip, &len);

	for (unsigned i = 0; i < 8; i++) {
		if (i == zeros) {
			iw_text_str(t, "::");
			i += len - 1;
			continue;
		}
		if (i > 0 && i != zeros + len)
			iw_text_str(t, ":");
		put_group(t, iw_get_be16(ip + 2 * (size_t)i));
	}
}

/* --- events ----------------------------------------------------------------------------------- */

static void emit(const struct iw_sctp_assoc *a, struct iw_trace_event *ev)
{
	iw_trace(a->s->cfg.tracer, ev);
}

static uint32_t tsn_of(const struct iw_sctp_assoc *a, uint64_t seq)
{
	return a->out.tsn0 + (uint32_t)seq;
}

void iw_sctp_trace_chunk(const struct iw_sctp_assoc *a, uint64_t seq)
{
	const struct out_chunk *c = chunk_at(&a->out, seq);
	struct iw_trace_event ev = { .kind = IW_TRACE_chunk_sent };

	if (c->sends > 1) {
		ev.kind = IW_TRACE_chunk_retransmitted;
		ev.chunk_retransmitted.assoc = a->my_tag;
		ev.chunk_retransmitted.path = c->path;
		ev.chunk_retransmitted.tsn = tsn_of(a, seq);
		ev.chunk_retransmitted.sctp_stream = c->stream;
		ev.chunk_retransmitted.octets = c->len;
		ev.chunk_retransmitted.sends = c->sends;
	} else {
		ev.chunk_sent.assoc = a->my_tag;
		ev.chunk_sent.path = c->path;
		ev.chunk_sent.tsn = tsn_of(a, seq);
		ev.chunk_sent.sctp_stream = c->stream;
		ev.chunk_sent.octets = c->len;
	}
	emit(a, &ev);
}

void iw_sctp_trace_acked(const struct iw_sctp_assoc *a, const struct iw_sctp_sack *s)
{
	struct iw_trace_event ev = { .kind = IW_TRACE_acked };

	ev.acked.assoc = a->my_tag;
	ev.acked.tsn = s->cum;
	ev.acked.gaps = s->ngaps;
	ev.acked.duplicates = s->ndups;
	ev.acked.rwnd_octets = s->a_rwnd;
	emit(a, &ev);
}

void iw_sctp_trace_lost(const struct iw_sctp_assoc *a, uint64_t seq, const char *reason)
{
	const struct out_chunk *c = chunk_at(&a->out, seq);
	struct iw_trace_event ev = { .kind = IW_TRACE_lost };

	ev.lost.assoc = a->my_tag;
	ev.lost.path = c->path;
	ev.lost.tsn = tsn_of(a, seq);
	ev.lost.octets = c->len;
	ev.lost.sends = c->sends;
	ev.lost.reason = reason;
	emit(a, &ev);
}

void iw_sctp_trace_window(const struct path *p)
{
	struct iw_trace_event ev = { .kind = IW_TRACE_window };

	ev.window.assoc = p->a->my_tag;
	ev.window.path = p->index;
	ev.window.cwnd_octets = p->cc.cwnd;
	ev.window.ssthresh_octets = p->cc.ssthresh;
	ev.window.flight_octets = p->flight;
	ev.window.retransmits = p->a->count.resent;
	emit(p->a, &ev);
}

void iw_sctp_trace_model(const struct path *p)
{
	struct iw_trace_event ev = { .kind = IW_TRACE_model };

	ev.model.assoc = p->a->my_tag;
	ev.model.path = p->index;
	ev.model.state = iw_sctp_bbr_state_name(p->cc.bbr->state);
	ev.model.bits_per_second = p->cc.pacing * 8;
	ev.model.rtt_min_ns = p->cc.bbr->rtt_min == UINT64_MAX ? 0 : p->cc.bbr->rtt_min;
	emit(p->a, &ev);
}

void iw_sctp_trace_rtt(const struct path *p, uint64_t rtt)
{
	struct iw_trace_event ev = { .kind = IW_TRACE_rtt };

	ev.rtt.assoc = p->a->my_tag;
	ev.rtt.path = p->index;
	ev.rtt.rtt_ns = rtt;
	ev.rtt.srtt_ns = p->srtt;
	ev.rtt.rttvar_ns = p->rttvar;
	ev.rtt.rto_ns = p->rto;
	emit(p->a, &ev);
}

void iw_sctp_trace_path(const struct path *p)
{
	struct iw_trace_event ev = { .kind = IW_TRACE_path };
	char address[48];
	struct iw_text t;

	iw_text_init(&t, address, sizeof(address));
	if (iw_sctp_addr_is_ipv4(&p->addr))
		put_ipv4(&t, p->addr.ip + 12);
	else
		put_ipv6(&t, p->addr.ip);
	ev.path.assoc = p->a->my_tag;
	ev.path.path = p->index;
	ev.path.address = address;
	ev.path.state = p->state == IW_SCTP_PATH_INACTIVE ? "inactive"
			: p->confirmed                    ? "active"
							  : "unconfirmed";
	ev.path.primary = p->index == 0;
	ev.path.mtu_octets = p->pmtu;
	emit(p->a, &ev);
}

void iw_sctp_trace_timer(const struct iw_sctp_assoc *a, unsigned path, const char *name,
			 uint64_t after)
{
	struct iw_trace_event ev = { .kind = IW_TRACE_timer };

	ev.timer.assoc = a->my_tag;
	ev.timer.path = path;
	ev.timer.name = name;
	ev.timer.after_ns = after;
	emit(a, &ev);
}
