// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The queue of events that the caller fetches one by one. */
#include "ddp-dump/internal.h"

#include <assert.h>
#include <string.h>

struct iw_cap_event *iw_cap_event_new(struct iw_cap *c, enum iw_cap_kind kind, struct flow *f,
				      unsigned d, uint64_t time_ns, uint64_t frame)
{
	assert(c->event_first + c->events < EVENTS_MAX);

	struct iw_cap_event *ev = &c->event[c->event_first + c->events++];

	memset(ev, 0, sizeof(*ev));
	ev->kind = kind;
	ev->flow = &f->pub;
	ev->from = d;
	ev->time_ns = time_ns;
	ev->frame = frame;
	return ev;
}

struct iw_fault *iw_cap_event_error(struct iw_cap *c, struct flow *f, unsigned d, uint64_t time_ns,
				    uint64_t frame)
{
	struct iw_cap_event *ev = iw_cap_event_new(c, IW_CAP_ERROR, f, d, time_ns, frame);

	c->totals.errors++;
	ev->sid = -1;
	return &ev->error;
}

void iw_cap_report_loss(struct iw_cap *c, struct flow *f, unsigned d, uint64_t n,
			enum iw_cap_why why, bool sync, const char *where)
{
	struct dir *s = &f->dir[d];
	struct iw_cap_event *ev;

	c->totals.losses++;
	c->totals.lost_octets += n;
	/* A capture with a snap length has such a hole in each frame. One report is enough: each
	 * ddp event shows that its CRC is absent. */
	if (why == IW_CAP_WHY_SNAP && sync) {
		if (s->snap_reported)
			return;
		s->snap_reported = true;
	}
	ev = iw_cap_event_new(c, IW_CAP_TCP, f, d, c->now_ns, c->frame);
	ev->tcp.kind = IW_CAP_TCP_LOSS;
	ev->tcp.why = why;
	ev->tcp.seq = s->next;
	ev->tcp.octets = n;
	ev->tcp.sync = sync;
	ev->tcp.where = where;
}
