/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the round trips of one stream come to, and those of all streams together. */
#ifndef IW_PING_STAT_H
#define IW_PING_STAT_H

#include <stdint.h>

#include "cli/hist.h"

struct iw_ping_stat {
	uint64_t sent, received;
	uint64_t late; /* segments of the replies that came behind one sent later */
	uint64_t sum;  /* of the round trips, ns */
	uint64_t last; /* the latest one */
	/* From one round trip of a stream to the next one of it: how many, and how much in all. */
	uint64_t changes, changed;
	struct iw_hist rtt;
};

/* Of zeroed memory, of which it touches little: the pages of a histogram come with what it holds. */
void iw_ping_stat_init(struct iw_ping_stat *s);
/* A reply came after @rtt ns: counts for its stream and for @all of them. */
void iw_ping_stat_reply(struct iw_ping_stat *stream, struct iw_ping_stat *all, uint64_t rtt);

/* Times are ns, 0 where nothing was measured. */
struct iw_ping_figures {
	uint64_t sent, received, lost, late;
	uint64_t min, avg, p50, p99, max;
	uint64_t jitter; /* mean change from one round trip of a stream to the next */
};
void iw_ping_figures(struct iw_ping_figures *out, const struct iw_ping_stat *s);

#endif
