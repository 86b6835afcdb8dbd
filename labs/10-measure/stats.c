/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* TODO (step percentile): sort a copy; compute the rank with integers. */
bool percentile(const uint64_t *v, size_t n, unsigned int permille, uint64_t *out)
{
	return false;
}

/* TODO (step median): the sum of two values may have 65 bits. */
bool median(const uint64_t *v, size_t n, double *out)
{
	return false;
}

/* TODO (step spread): subtract a value of the series before you convert to double. */
bool spread(const uint64_t *v, size_t n, struct spread *out)
{
	return false;
}

/* TODO (step interval): C(n, i + 1) = C(n, i) * (n - i) / (i + 1). */
size_t interval_rank(size_t n)
{
	return 0;
}

/* TODO (step interval) */
bool median_interval(const double *v, size_t n, double *low, double *high)
{
	return false;
}

/* TODO (step rates): gcc has unsigned __int128. */
uint64_t bits_per_second(uint64_t octets, uint64_t ns)
{
	return 0;
}

/* TODO (step rates): 8 bits in an octet, 10^9 nanoseconds in a second. */
uint64_t window_octets(uint64_t bits_per_second, uint64_t rtt_ns)
{
	return 0;
}

/* TODO (step pairs): first the ratio of each pair, then the median. */
bool compare(const double *a, const double *b, size_t n, enum better better, struct comparison *out)
{
	return false;
}

/* TODO (step warmup) */
size_t warmup(const uint64_t *v, size_t n)
{
	return 0;
}
