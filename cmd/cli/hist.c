// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A histogram of durations. */
#include "cli/hist.h"

#include <string.h>

#include "util/num.h"

#define PER_OCTAVE (UINT64_C(1) << IW_HIST_BITS)

void iw_hist_init(struct iw_hist *h)
{
	memset(h, 0, sizeof(*h));
	h->min = UINT64_MAX;
}

/*
 * Each value below 2^(BITS+1) has its own bucket. Larger ones share it by their leading BITS+1
 * bits.
 */
static uint32_t bucket_of(uint64_t v)
{
	unsigned drop;

	if (v < 2 * PER_OCTAVE)
		return (uint32_t)v;
	drop = 63 - IW_HIST_BITS - (unsigned)__builtin_clzll(v);
	return (uint32_t)(drop * PER_OCTAVE + (v >> drop));
}

/* The largest value of a bucket. */
static uint64_t bucket_end(uint32_t b)
{
	unsigned drop;

	if (b < 2 * PER_OCTAVE)
		return b;
	drop = (unsigned)(b / PER_OCTAVE) - 1;
	return ((b % PER_OCTAVE + PER_OCTAVE + 1) << drop) - 1;
}

void iw_hist_add(struct iw_hist *h, uint64_t v)
{
	h->n++;
	h->min = IW_MIN(h->min, v);
	h->max = IW_MAX(h->max, v);
	h->count[bucket_of(v)]++;
}

uint64_t iw_hist_at(const struct iw_hist *h, uint32_t millionths)
{
	/* The rank, rounded up: the median of three is the second. */
	uint64_t rank =
		h->n / 1000000 * millionths + (h->n % 1000000 * millionths + 999999) / 1000000;
	uint64_t seen = 0;

	if (h->n == 0)
		return 0;
	rank = IW_MAX(rank, (uint64_t)1);
	for (uint32_t b = 0; b < IW_HIST_BUCKETS; b++) {
		seen += h->count[b];
		if (seen >= rank)
			return IW_MIN(bucket_end(b), h->max);
	}
	return h->max;
}
