/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Statistics of round trips: of one stream, or of all streams together. */
#ifndef IW_SCTP_DDP_PING_STAT_H
#define IW_SCTP_DDP_PING_STAT_H

#include <stdint.h>

#include "cli/hist.h"

struct iw_ping_stat {
	uint64_t sent, received; /* messages, replies */
	uint64_t late;           /* segments that arrived after one that was sent later */
	uint64_t sum;            /* of the round-trip times, ns */
	uint64_t last;           /* the latest round-trip time, ns; of a single stream */
	/* Differences between consecutive round-trip times of a stream: number, and sum in ns. */
	uint64_t changes, changed;
	struct iw_hist rtt;
};

/*
 * Initializes s, which must be zeroed memory. Writes little of it, so that pages of the histogram
 * take no memory before values arrive.
 */
void iw_ping_stat_init(struct iw_ping_stat *s);
/* Adds a round trip of rtt ns to the statistics of its stream and of all streams. */
void iw_ping_stat_reply(struct iw_ping_stat *stream, struct iw_ping_stat *all, uint64_t rtt);

/* Results. Times in ns; 0: not measured. */
struct iw_ping_figures {
	uint64_t sent, received, lost, late;
	uint64_t min, avg, p50, p99, max;
	uint64_t jitter; /* mean difference between consecutive round-trip times of a stream */
};
/* Calculates the results from the statistics. */
void iw_ping_figures(struct iw_ping_figures *out, const struct iw_ping_stat *s);

#endif
