/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Measures the cost of an STag look-up: checks and places a tagged segment with a million
 * registrations, and with a thousand.
 */
#ifndef IW_DDP_BENCH_STAG_BENCH_H
#define IW_DDP_BENCH_STAG_BENCH_H

#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

struct iw_stag_bench_cfg {
	size_t small, large; /* registrations; 0: 1,000 and 1,000,000 */
	size_t segment;      /* octets of a segment, including its header; 0: 1,448 */
	size_t dest;         /* octets of destination memory, the same in both cases; 0: 64 MiB */
	size_t segments;     /* segments placed in each measurement; 0: 262,144 */
	size_t pairs;        /* measurements of each, interleaved, at least 5; 0: 7 */
	uint64_t seed;       /* for the order in which STags are used */
};

struct iw_stag_bench {
	double ns_small, ns_large; /* nanoseconds per segment, medians */
	double ratio;              /* median of the pairs' ratios, large / small */
	double ratio_min, ratio_max;
	size_t pairs;
};

/*
 * Runs the measurement, for about two seconds. Returns 0, or
 *  - IW_E_INVAL: a value of cfg is not possible;
 *  - IW_E_NOMEM, IW_E_LIMIT: too little memory, or too many registrations;
 *  - others: a segment was rejected, which is a bug.
 */
IW_MUST_CHECK int iw_bench_stag(struct iw_stag_bench *out, const struct iw_stag_bench_cfg *cfg,
				struct iw_fault *why);

#endif
