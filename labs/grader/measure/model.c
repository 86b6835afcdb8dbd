// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "labs/grader/measure/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/num.h"

enum { WARMUP_MAX = 4096 };

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void measure_sort(uint64_t *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_number);
}

uint64_t measure_percentile(const uint64_t *s, size_t n, unsigned int permille)
{
	size_t rank = (permille * n + 999) / 1000;

	return s[IW_MAX(rank, (size_t)1) - 1];
}

double measure_median(const uint64_t *s, size_t n)
{
	unsigned __int128 sum = (unsigned __int128)s[(n - 1) / 2] + s[n / 2];

	return (double)((long double)sum / 2);
}

/* Independent of the usual solution: the exact sum in integers, the squares in long double. */
struct measure_spread measure_spread(const uint64_t *v, size_t n)
{
	unsigned __int128 sum = 0;
	struct measure_spread out = { 0 };
	long double squares = 0;
	uint64_t whole;
	long double rest;

	for (size_t i = 0; i < n; i++)
		sum += v[i];
	whole = (uint64_t)(sum / n);
	rest = (long double)(uint64_t)(sum % n) / (long double)n;
	for (size_t i = 0; i < n; i++) {
		long double d = v[i] >= whole ? (long double)(v[i] - whole)
					      : -(long double)(whole - v[i]);

		squares += (d - rest) * (d - rest);
	}
	out.mean = (double)((long double)whole + rest);
	out.sd = n > 1 ? (double)sqrtl(squares / (long double)(n - 1)) : 0;
	out.cv = sum ? out.sd / out.mean : 0;
	return out;
}

size_t measure_interval_rank(size_t n)
{
	long double sum = 0;
	size_t k = 0;

	/* C(n, k) / 2^n by logarithms */
	while (k < n / 2) {
		sum += 2 * expl(lgammal((long double)n + 1) - lgammal((long double)k + 1) -
				lgammal((long double)(n - k) + 1) - (long double)n * logl(2));
		if (sum > 0.05L)
			break;
		k++;
	}
	return k;
}

struct measure_comparison measure_compare(const double *a, const double *b, size_t n, bool lower)
{
	struct measure_comparison out = { 0 };
	double r[MEASURE_RATIOS_MAX] = { 0 };
	size_t k;

	n = IW_MIN(n, (size_t)MEASURE_RATIOS_MAX);
	k = measure_interval_rank(n);
	for (size_t i = 0; i < n; i++)
		r[i] = b[i] / a[i];
	qsort(r, n, sizeof(*r), by_double);
	out.ratio = (r[(n - 1) / 2] + r[n / 2]) / 2;
	out.min = r[0];
	out.max = r[n - 1];
	out.low = r[k ? k - 1 : 0];
	out.high = r[k ? n - k : n - 1];
	if (k && out.low > 1)
		out.verdict = lower ? 1 : 2;
	else if (k && out.high < 1)
		out.verdict = lower ? 2 : 1;
	return out;
}

uint64_t measure_bits_per_second(uint64_t octets, uint64_t ns)
{
	unsigned __int128 v = ns ? (unsigned __int128)octets * 8000000000u / ns : 0;

	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

uint64_t measure_window(uint64_t bits_per_second, uint64_t rtt_ns)
{
	unsigned __int128 v =
		((unsigned __int128)bits_per_second * rtt_ns + 7999999999u) / 8000000000u;

	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

static uint64_t middle(uint64_t *v, size_t n)
{
	measure_sort(v, n);
	return measure_percentile(v, n, 500);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

size_t measure_warmup(const uint64_t *v, size_t n)
{
	uint64_t warm[WARMUP_MAX], m, d;
	size_t half = n / 2, drop = 0;

	if (!n || n - half > WARMUP_MAX)
		return 0;
	memcpy(warm, v + half, (n - half) * sizeof(*warm));
	m = middle(warm, n - half);
	for (size_t i = 0; i < n - half; i++)
		warm[i] = distance(v[half + i], m);
	d = middle(warm, n - half);
	while (drop < half && distance(v[drop], m) > (unsigned __int128)3 * d)
		drop++;
	return drop;
}
