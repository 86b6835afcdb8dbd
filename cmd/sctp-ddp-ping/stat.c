// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Statistics of round trips. */
#include "sctp-ddp-ping/stat.h"

void iw_ping_stat_init(struct iw_ping_stat *s)
{
	s->rtt.min = UINT64_MAX;
}

static void add(struct iw_ping_stat *s, uint64_t rtt)
{
	s->received++;
	s->sum += rtt;
	iw_hist_add(&s->rtt, rtt);
}

static void add_change(struct iw_ping_stat *s, uint64_t change)
{
	s->changes++;
	s->changed += change;
}

void iw_ping_stat_reply(struct iw_ping_stat *stream, struct iw_ping_stat *all, uint64_t rtt)
{
	if (stream->received > 0) {
		uint64_t change = rtt > stream->last ? rtt - stream->last : stream->last - rtt;

		add_change(stream, change);
		add_change(all, change);
	}
	stream->last = rtt;
	add(stream, rtt);
	add(all, rtt);
}

void iw_ping_figures(struct iw_ping_figures *out, const struct iw_ping_stat *s)
{
	*out = (struct iw_ping_figures){
		.sent = s->sent,
		.received = s->received,
		.lost = s->sent - s->received,
		.late = s->late,
	};
	if (s->received > 0) {
		out->min = s->rtt.min;
		out->avg = s->sum / s->received;
		out->p50 = iw_hist_at(&s->rtt, 500000);
		out->p99 = iw_hist_at(&s->rtt, 990000);
		out->max = s->rtt.max;
	}
	if (s->changes > 0)
		out->jitter = s->changed / s->changes;
}
