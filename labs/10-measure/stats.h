/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The arithmetic of a measurement.
 *
 * Values are in no order, and may be equal. Functions do not change their input, and free what they
 * allocate. A function with a result of type bool returns false, and writes nothing, if it cannot
 * compute: there are no values (n is 0), memory is exhausted, or its comment names another reason.
 *
 * Doubles are compared with a tolerance of 1e-9, relative to the expected value.
 */
#ifndef STATS_H
#define STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The nearest-rank percentile: of n values in ascending order, the one at position (from 1)
 *
 *	rank = permille * n / 1000, rounded up; at least 1
 *
 * So it is always one of the values. permille 0 is the minimum, 500 the "p50", 1000 the maximum.
 * Also false if permille is above 1000.
 */
bool percentile(const uint64_t *v, size_t n, unsigned int permille, uint64_t *out);

/* The median: the middle value; of an even number of values, the mean of the two middle ones. */
bool median(const uint64_t *v, size_t n, double *out);

struct spread {
	double mean;
	double sd; /* the sample standard deviation: divided by n - 1; 0 if n is 1 */
	double cv; /* the coefficient of variation, sd / mean; 0 if the mean is 0 */
};

/*
 * Values may be times in nanoseconds since 1970: 61 bits, of which a double keeps 53. The standard
 * deviation must be right nevertheless.
 */
bool spread(const uint64_t *v, size_t n, struct spread *out);

/*
 * For an interval that contains the true median with a confidence of at least 95 %: the largest k
 * from 1 to n / 2 for which
 *
 *	P(k) = 2 * (C(n, 0) + C(n, 1) + ... + C(n, k - 1)) / 2^n  <=  0.05
 *
 * C(n, i) is the binomial coefficient. Returns 0 if no k fits: n is below 6. n is at most 1000.
 */
size_t interval_rank(size_t n);

/*
 * The confidence interval of the median: from the k-th smallest to the k-th largest value, where k
 * is interval_rank(n). Also false if k is 0.
 */
bool median_interval(const double *v, size_t n, double *low, double *high);

/* octets * 8 in ns nanoseconds, per second, rounded down. 0 if ns is 0; UINT64_MAX if it is more. */
uint64_t bits_per_second(uint64_t octets, uint64_t ns);

/*
 * Little's law: the octets that must be in flight, so that a path with a round trip of rtt_ns
 * nanoseconds is always busy at this rate. Rounded up. UINT64_MAX if it is more.
 */
uint64_t window_octets(uint64_t bits_per_second, uint64_t rtt_ns);

enum better {
	HIGHER, /* more is faster: a rate */
	LOWER,  /* less is faster: a time */
};

enum verdict { NO_DIFFERENCE, A_FASTER, B_FASTER };

struct comparison {
	double ratio; /* the median of the ratios b[i] / a[i]; of an even number: the mean of two */
	double min, max;  /* of the ratios */
	double low, high; /* their median_interval(); min and max if there is none */
	enum verdict verdict;
};

/*
 * Compares n pairs: a[i] and b[i] were measured one after the other. One variant is faster only if
 * there is a median_interval() of the ratios, and 1 is outside of it: below low, or above high. Also
 * false if a value is not above 0.
 */
bool compare(const double *a, const double *b, size_t n, enum better better,
	     struct comparison *out);

/*
 * How many values at the beginning of a series (in the order of time) are warm-up. The last n / 2
 * values (rounded up) are warm: m is their 500 permille percentile, and d is the 500 permille
 * percentile of their distances to m. Each value from the first one on whose distance to m is more
 * than 3 * d is warm-up, up to the first value for which this is not so, and at most n / 2 values
 * (rounded down). 0 if n is 0.
 */
size_t warmup(const uint64_t *v, size_t n);

#endif
