/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The arithmetic of lab 10 as its stats.h defines it, for both parts of the lab. */
#ifndef LABS_GRADER_MEASURE_H
#define LABS_GRADER_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MEASURE_RATIOS_MAX = 1000 };

struct measure_spread {
	double mean, sd, cv;
};

/* A verdict is 0 (no difference), 1 (a is faster) or 2 (b is faster). */
struct measure_comparison {
	double ratio, min, max, low, high;
	unsigned int verdict;
};

/* Ascending; n is at least 1 in all functions, and v is sorted where its name is s. */
void measure_sort(uint64_t *v, size_t n);
uint64_t measure_percentile(const uint64_t *s, size_t n, unsigned int permille);
double measure_median(const uint64_t *s, size_t n);
struct measure_spread measure_spread(const uint64_t *v, size_t n);
size_t measure_interval_rank(size_t n);
/* n is at most MEASURE_RATIOS_MAX, all values are above 0. */
struct measure_comparison measure_compare(const double *a, const double *b, size_t n, bool lower);
uint64_t measure_bits_per_second(uint64_t octets, uint64_t ns);
uint64_t measure_window(uint64_t bits_per_second, uint64_t rtt_ns);
/* n is at most 4096. */
size_t measure_warmup(const uint64_t *v, size_t n);

#endif
