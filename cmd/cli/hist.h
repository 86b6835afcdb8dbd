/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A histogram of durations in a fixed amount of memory. A bucket is 1/256 of its value wide, so a
 * percentile is at most 0.4% too high. The minimum and the maximum are exact.
 */
#ifndef IW_CLI_HIST_H
#define IW_CLI_HIST_H

#include <stdint.h>

#define IW_HIST_BITS    8 /* buckets within each power of two: 2^8 */
#define IW_HIST_BUCKETS ((64 - IW_HIST_BITS + 1) << IW_HIST_BITS)

struct iw_hist {
	uint64_t n, min, max; /* min and max are valid if n > 0 */
	uint64_t count[IW_HIST_BUCKETS];
};

/* Empties the histogram. */
void iw_hist_init(struct iw_hist *h);
void iw_hist_add(struct iw_hist *h, uint64_t v);
/*
 * Returns a percentile: the end of the first bucket that millionths of all values do not exceed.
 * 500000 is the median. 0: no values.
 */
uint64_t iw_hist_at(const struct iw_hist *h, uint32_t millionths);

#endif
