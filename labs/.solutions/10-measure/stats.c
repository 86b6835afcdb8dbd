/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- order -------------------------------------------------------------------------------------- */

/* A difference of two uint64_t does not fit an int, so compare instead of subtracting. */
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

/* A copy in ascending order, to be freed. NULL: no values or no memory. */
static void *sorted(const void *v, size_t n, size_t size,
		    int (*compare)(const void *, const void *))
{
	void *copy = n ? malloc(n * size) : NULL;

	if (!copy)
		return NULL;
	memcpy(copy, v, n * size);
	qsort(copy, n, size, compare);
	return copy;
}

bool percentile(const uint64_t *v, size_t n, unsigned int permille, uint64_t *out)
{
	/* In integers: 0.07 * 100 is 7.000000000000001 in doubles, and would be rounded up to 8. */
	size_t rank = ((size_t)permille * n + 999) / 1000;
	uint64_t *s;

	if (permille > 1000)
		return false;
	s = sorted(v, n, sizeof(*v), by_number);
	if (!s)
		return false;
	*out = s[rank ? rank - 1 : 0];
	free(s);
	return true;
}

bool median(const uint64_t *v, size_t n, double *out)
{
	uint64_t *s = sorted(v, n, sizeof(*v), by_number), low;

	if (!s)
		return false;
	low = s[(n - 1) / 2];
	/* low + s[n / 2] may wrap; the difference cannot. */
	*out = (double)low + (double)(s[n / 2] - low) / 2;
	free(s);
	return true;
}

/* --- spread ------------------------------------------------------------------------------------- */

static uint64_t minimum(const uint64_t *v, size_t n)
{
	uint64_t min = v[0];

	for (size_t i = 1; i < n; i++)
		if (v[i] < min)
			min = v[i];
	return min;
}

bool spread(const uint64_t *v, size_t n, struct spread *out)
{
	double mean = 0, squares = 0;
	uint64_t min;

	if (n == 0)
		return false;
	/* The differences to the minimum are exact, and small if the values are close together. */
	min = minimum(v, n);
	for (size_t i = 0; i < n; i++)
		mean += (double)(v[i] - min) / (double)n;
	/* Two passes: the mean of the squares minus the square of the mean would cancel. */
	for (size_t i = 0; i < n; i++) {
		double d = (double)(v[i] - min) - mean;

		squares += d * d;
	}
	out->mean = (double)min + mean;
	out->sd = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
	out->cv = out->mean > 0 ? out->sd / out->mean : 0;
	return true;
}

/* --- the interval of the median ------------------------------------------------------------------ */

size_t interval_rank(size_t n)
{
	/* Twice the probability of i heads in n throws, first of none. */
	double term = 2 * pow(0.5, (double)n), sum = term;
	size_t k = 0;

	while (k < n / 2 && sum <= 0.05) {
		k++;
		term *= (double)(n - k + 1) / (double)k;
		sum += term;
	}
	return k;
}

bool median_interval(const double *v, size_t n, double *low, double *high)
{
	size_t k = interval_rank(n);
	double *s = k ? sorted(v, n, sizeof(*v), by_double) : NULL;

	if (!s)
		return false;
	*low = s[k - 1];
	*high = s[n - k];
	free(s);
	return true;
}

/* --- rates -------------------------------------------------------------------------------------- */

static uint64_t saturate(unsigned __int128 v)
{
	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

uint64_t bits_per_second(uint64_t octets, uint64_t ns)
{
	/* octets * 8 * 10^9 has up to 97 bits. */
	return ns ? saturate((unsigned __int128)octets * 8000000000u / ns) : 0;
}

uint64_t window_octets(uint64_t bits_per_second, uint64_t rtt_ns)
{
	unsigned __int128 product = (unsigned __int128)bits_per_second * rtt_ns;

	return saturate(product / 8000000000u + (product % 8000000000u != 0));
}

/* --- pairs -------------------------------------------------------------------------------------- */

static enum verdict judge(double low, double high, enum better better)
{
	if (low > 1)
		return better == HIGHER ? B_FASTER : A_FASTER;
	if (high < 1)
		return better == HIGHER ? A_FASTER : B_FASTER;
	return NO_DIFFERENCE;
}

/* s: the ratios in ascending order */
static void summarize(const double *s, size_t n, enum better better, struct comparison *out)
{
	out->ratio = (s[(n - 1) / 2] + s[n / 2]) / 2;
	out->min = out->low = s[0];
	out->max = out->high = s[n - 1];
	out->verdict = NO_DIFFERENCE;
	if (median_interval(s, n, &out->low, &out->high))
		out->verdict = judge(out->low, out->high, better);
}

bool compare(const double *a, const double *b, size_t n, enum better better, struct comparison *out)
{
	double *ratios = n ? malloc(n * sizeof(*ratios)) : NULL;
	bool ok = ratios != NULL;

	for (size_t i = 0; ok && i < n; i++) {
		ok = a[i] > 0 && b[i] > 0;
		if (ok)
			ratios[i] = b[i] / a[i];
	}
	if (ok) {
		qsort(ratios, n, sizeof(*ratios), by_double);
		summarize(ratios, n, better, out);
	}
	free(ratios);
	return ok;
}

/* --- warm-up ------------------------------------------------------------------------------------ */

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* The middle of the distances of n values to m. */
static bool deviation(const uint64_t *v, size_t n, uint64_t m, uint64_t *out)
{
	uint64_t *distances = malloc(n * sizeof(*distances));
	bool ok;

	if (!distances)
		return false;
	for (size_t i = 0; i < n; i++)
		distances[i] = distance(v[i], m);
	ok = percentile(distances, n, 500, out);
	free(distances);
	return ok;
}

size_t warmup(const uint64_t *v, size_t n)
{
	size_t half = n / 2, drop = 0;
	uint64_t m, d;

	if (!percentile(v + half, n - half, 500, &m) || !deviation(v + half, n - half, m, &d))
		return 0;
	while (drop < half && distance(v[drop], m) > (unsigned __int128)3 * d)
		drop++;
	return drop;
}
