// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Selects the events to show. */
#include "ddp-dump/capture.h"

static bool has_stag(const struct iw_cap_filter *f, uint32_t stag)
{
	for (size_t i = 0; i < f->stags; i++)
		if (f->stag[i] == stag)
			return true;
	return false;
}

static bool rreq_has(const struct iw_cap_filter *f, const struct iw_rreq *r)
{
	return has_stag(f, r->sink_stag) || has_stag(f, r->src_stag);
}

/* The headers of the faulty segment, which a Terminate copies. */
static bool terminate_has(const struct iw_cap_filter *f, const struct iw_terminate *t)
{
	struct iw_ddp h;

	if (t->has_rreq && rreq_has(f, &t->rreq))
		return true;
	return iw_wire_ddp_decode(&h, t->ddp, t->ddp_hdr_len) > 0 && h.tagged &&
	       has_stag(f, h.stag);
}

/* The STag may be the target, be invalidated, or be in a Read Request, an Atomic Request or the
 * headers that a Terminate copies. */
static bool segment_has(const struct iw_cap_filter *f, const struct iw_cap_ddp *e)
{
	if (!e->has_header)
		return false;
	if (e->hdr.tagged)
		return has_stag(f, e->hdr.stag);
	return (iw_opcode_info(e->hdr.opcode)->invalidates && has_stag(f, e->hdr.inval_stag)) ||
	       (e->rreq && rreq_has(f, e->rreq)) ||
	       (e->atomic_req && has_stag(f, e->atomic_req->stag)) ||
	       (e->term && terminate_has(f, e->term)) ||
	       (e->term_exchanged && terminate_has(f, e->term_exchanged));
}

/* The event reports an error, a deviation, a rejection or a loss. */
static bool is_problem(const struct iw_cap_event *ev)
{
	if (ev->deviations)
		return true;
	switch (ev->kind) {
	case IW_CAP_MPA:
		return ev->mpa.frame.kind == IW_MPA_REPLY && ev->mpa.frame.flags & IW_MPA_R;
	case IW_CAP_SESSION:
		return ev->session.control.fn == IW_SCTP_FN_REJECT ||
		       ev->session.control.fn == IW_SCTP_FN_ENH_REJECT;
	case IW_CAP_DDP:
		return ev->ddp.faulty || ev->ddp.term;
	case IW_CAP_TCP:
		return ev->tcp.kind == IW_CAP_TCP_LOSS || ev->tcp.kind == IW_CAP_TCP_RESYNC ||
		       ev->tcp.kind == IW_CAP_TCP_RESET || ev->tcp.kind == IW_CAP_TCP_FORGOTTEN ||
		       ev->tcp.why == IW_CAP_WHY_DIFFERS;
	case IW_CAP_SCTP:
		return ev->sctp.kind == IW_CAP_SCTP_LOSS || ev->sctp.kind == IW_CAP_SCTP_ABORT ||
		       ev->sctp.kind == IW_CAP_SCTP_FORGOTTEN;
	case IW_CAP_ALIGN:
		return false;
	case IW_CAP_ERROR:
		return true;
	}
	return false;
}

/* The stream id of an event over SCTP; -1: it concerns all streams of the association. */
static int sid_of(const struct iw_cap_event *ev)
{
	if (ev->flow->over == IW_CAP_OVER_TCP)
		return 0;
	switch (ev->kind) {
	case IW_CAP_SESSION:
		return ev->session.chunk.stream;
	case IW_CAP_DDP:
		return ev->ddp.chunk.stream;
	case IW_CAP_ERROR:
		return ev->sid;
	case IW_CAP_MPA:
	case IW_CAP_TCP:
	case IW_CAP_SCTP:
	case IW_CAP_ALIGN:
		break;
	}
	return -1;
}

static bool is_of_streams(const struct iw_cap_filter *f, const struct iw_cap_event *ev)
{
	int sid = sid_of(ev);

	for (size_t i = 0; i < f->streams; i++) {
		const struct iw_cap_stream *s = &f->stream[i];

		if (s->flow == ev->flow->id && (s->any || sid < 0 || sid == s->sid))
			return true;
	}
	return false;
}

bool iw_cap_filter(struct iw_cap_filter *f, const struct iw_cap_event *ev)
{
	/* The errors of a segment are reported right after it. */
	bool follows = ev->kind == IW_CAP_ERROR && f->last_ddp && f->last_flow == ev->flow->id &&
		       f->last_frame == ev->frame;
	bool wanted;

	if (follows)
		return f->last_wanted;
	wanted = (!f->streams || is_of_streams(f, ev)) && (!f->errors || is_problem(ev)) &&
		 (!f->stags || (ev->kind == IW_CAP_DDP && segment_has(f, &ev->ddp)));
	f->last_ddp = ev->kind == IW_CAP_DDP;
	f->last_flow = ev->flow->id;
	f->last_frame = ev->frame;
	f->last_wanted = wanted;
	return wanted;
}
