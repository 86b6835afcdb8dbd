// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Traced events: segments sent and received, messages delivered. */
#include "rdmap/internal.h"

#include "util/trace.h"

void iw_rdmap_trace_received(const struct iw_rdmap *r, const struct iw_ddp *h, size_t len)
{
	struct iw_trace_event ev = { .kind = IW_TRACE_segment_received, .stream = r->cfg.stream };

	ev.segment_received.opcode = iw_opcode_name(h->opcode);
	ev.segment_received.tagged = h->tagged;
	ev.segment_received.last = h->last;
	if (h->tagged) {
		ev.segment_received.stag = h->stag;
		ev.segment_received.to = h->to;
	} else {
		ev.segment_received.qn = h->qn;
		ev.segment_received.msn = h->msn;
		ev.segment_received.mo = h->mo;
	}
	ev.segment_received.octets = len;
	iw_trace(r->cfg.tracer, &ev);
}

void iw_rdmap_trace_sent(const struct iw_rdmap *r, const struct iw_segment *seg)
{
	struct iw_trace_event ev = { .kind = IW_TRACE_segment_sent, .stream = r->cfg.stream };
	struct iw_ddp h;

	if (iw_wire_ddp_decode(&h, seg->hdr, seg->hdr_len) <= 0)
		return;
	ev.segment_sent.opcode = iw_opcode_name(h.opcode);
	ev.segment_sent.tagged = h.tagged;
	ev.segment_sent.last = h.last;
	if (h.tagged) {
		ev.segment_sent.stag = h.stag;
		ev.segment_sent.to = h.to;
	} else {
		ev.segment_sent.qn = h.qn;
		ev.segment_sent.msn = h.msn;
		ev.segment_sent.mo = h.mo;
	}
	/* The header of a Read Request or Terminate is payload of DDP (RFC 5040 4.4, 4.8). */
	ev.segment_sent.octets = seg->hdr_len - iw_ddp_hdr_len(h.tagged) + seg->payload_len;
	iw_trace(r->cfg.tracer, &ev);
}

void iw_rdmap_trace_delivered(const struct iw_rdmap *r, const struct iw_ddp_msg *m)
{
	struct iw_trace_event ev = { .kind = IW_TRACE_delivered, .stream = r->cfg.stream };

	ev.delivered.opcode = iw_opcode_name(m->opcode);
	ev.delivered.tagged = m->tagged;
	ev.delivered.stag = m->stag;
	ev.delivered.to = m->to;
	ev.delivered.qn = m->qn;
	ev.delivered.msn = m->msn;
	ev.delivered.octets = m->len;
	iw_trace(r->cfg.tracer, &ev);
}
