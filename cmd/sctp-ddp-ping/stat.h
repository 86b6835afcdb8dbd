/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Statistics of round trips: of one stream, or of all streams together. */
#ifndef IW_SCTP_DDP_PING_STAT_H
#define IW_SCTP_DDP_PING_STAT_H

#include <stdint.h>

#include "cli/hist.h"

struct iw_ping_stat {
	uint64_t sent, received;
	uint64_t late; /* segments of replies that arrived after one that was sent later */
	uint64_t sum;  /* of the round trips, ns */
	uint64_t last; /* the latest round trip, ns */
	/*
	 * Changes between consecutive round trips of a stream: their number, and their sum in ns.
	 */
	uint64_t changes, changed;
	struct iw_hist rtt;
};

/*
 * s must be zeroed memory. Touches little of it: pages of the histogram are used as values arrive.
 */
void iw_ping_stat_init(struct iw_ping_stat *s);
/* Adds a round trip of rtt ns to its stream and to all streams. */
void iw_ping_stat_reply(struct iw_ping_stat *stream, struct iw_ping_stat *all, uint64_t rtt);

/* Times in ns; 0: not measured. */
struct iw_ping_figures {
	uint64_t sent, received, lost, late;
	uint64_t min, avg, p50, p99, max;
	uint64_t jitter; /* mean change between consecutive round trips of a stream */
};
void iw_ping_figures(struct iw_ping_figures *out, const struct iw_ping_stat *s);

#endif
