// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Lab 10: the arithmetic of measurements. The module gets series whose figures only this process
 * knows. measure_report.c judges the student's own measurement.
 */
#include "labs/grader/measure/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/hist.h"
#include "labs/grader/lab.h"
#include "labs/grader/measure/report.h"
#include "util/num.h"

enum { SERIES_MAX = 4096 };

/* A series in the order in which it is passed, and sorted. */
struct series {
	uint64_t v[SERIES_MAX], s[SERIES_MAX];
	size_t n;
};

/* --- series ------------------------------------------------------------------------------------- */

static void finish_series(struct series *t)
{
	memcpy(t->s, t->v, t->n * sizeof(*t->v));
	if (t->n)
		measure_sort(t->s, t->n);
}

static void set_series(struct series *t, const uint64_t *v, size_t n)
{
	memcpy(t->v, v, n * sizeof(*v));
	t->n = n;
	finish_series(t);
}

/* Times of round trips, ties, time stamps since 1970, values near 2^64: the kind is random. */
static void random_series(struct lab_run *run, struct series *t, size_t n)
{
	uint64_t kind = lab_below(run, 5), width = 1 + lab_below(run, 5000);
	static const uint64_t base[] = { 7000, 20, 1795000000000000000, UINT64_MAX - 10000, 0 };

	t->n = n;
	for (size_t i = 0; i < n; i++) {
		t->v[i] = base[kind] + lab_below(run, kind == 1 ? 4 : width);
		if (kind == 4)
			t->v[i] = lab_random(run);
		if (kind == 0 && lab_below(run, 20) == 0)
			t->v[i] *= 1000; /* an outlier */
	}
	finish_series(t);
}

/* The first values, for a case. */
static void describe(const struct series *t, char *text, size_t cap)
{
	int n = snprintf(text, cap, "%zu value%s", t->n, t->n == 1 ? "" : "s");

	for (size_t i = 0; i < t->n && i < 8 && n > 0 && (size_t)n + 26 < cap; i++)
		n += snprintf(text + n, cap - (size_t)n, "%s%llu%s", i ? " " : ": ",
			      (unsigned long long)t->v[i], i == 7 && t->n > 8 ? " ..." : "");
}

static void put_numbers(struct lab_run *run, const uint64_t *v, size_t n)
{
	uint8_t *octets = malloc(n ? 8 * n : 1);

	for (size_t i = 0; octets && i < n; i++)
		for (size_t j = 0; j < 8; j++)
			octets[8 * i + j] = (uint8_t)(v[i] >> 8 * (7 - j));
	lab_put_octets(run, octets, octets ? 8 * n : 0);
	free(octets);
}

static void put_doubles(struct lab_run *run, const double *v, size_t n)
{
	uint64_t bits[MEASURE_RATIOS_MAX];

	memcpy(bits, v, n * sizeof(*v));
	put_numbers(run, bits, n);
}

static double get_double(struct lab_run *run)
{
	uint64_t bits = lab_get_u64(run);
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

/* The series after the call; the module must not have sorted it in place. */
static bool unchanged(struct lab_run *run, const uint64_t *v, size_t n)
{
	bool same = lab_get_u64(run) == n;

	for (size_t i = 0; same && i < n; i++)
		same = lab_get_u64(run) == v[i];
	lab_clause(run, same ? NULL : "stats.h: functions do not change their input");
	return lab_expect_true(run, same,
			       "expected the values of the caller as before, seen changed ones");
}

static bool expect_double(struct lab_run *run, const char *what, double expected, double seen)
{
	/* Written so that a NaN fails. */
	if (fabs(seen - expected) <= fabs(expected) * 1e-9)
		return true;
	return lab_fail(run, "%s: expected %.17g, seen %.17g", what, expected, seen);
}

static bool expect_ok(struct lab_run *run, bool expected, uint8_t seen)
{
	if (!!seen == expected)
		return true;
	return lab_fail(run, "expected the return value %s, seen %s", expected ? "true" : "false",
			seen ? "true" : "false");
}

/* --- percentile ----------------------------------------------------------------------------------- */

static bool try_percentile(struct lab_run *run, const struct series *t, unsigned int permille)
{
	bool ok = t->n > 0 && permille <= 1000;
	uint64_t result;
	uint8_t seen;
	char text[200];

	describe(t, text, sizeof(text));
	lab_case(run, "permille %u of %s", permille, text);
	lab_call(run, "percentile");
	lab_put_u32(run, permille);
	put_numbers(run, t->v, t->n);
	if (!lab_run_call(run))
		return false;
	seen = lab_get_u8(run);
	result = lab_get_u64(run);
	return expect_ok(run, ok, seen) &&
	       (!ok || lab_expect_number(run, "the percentile",
					 measure_percentile(t->s, t->n, permille), result)) &&
	       unchanged(run, t->v, t->n) && lab_results_end(run);
}

static bool step_percentile(struct lab_run *run)
{
	static const uint64_t ten[] = { 100, 30, 20, 90, 50, 40, 60, 80, 70, 10 };
	static const uint64_t large[] = { 1, (uint64_t)1 << 63, 5, UINT64_MAX, 3000000000 };
	static const unsigned int permilles[] = {
		0, 1, 70, 100, 101, 500, 501, 900, 990, 999, 1000
	};
	struct series t = { .n = 0 };
	uint64_t before;

	if (!lab_allocated(run, &before))
		return false;
	if (!try_percentile(run, &t, 500))
		return false;
	for (size_t i = 0; i < IW_ARRAY_LEN(permilles); i++) {
		set_series(&t, ten, IW_ARRAY_LEN(ten));
		if (!try_percentile(run, &t, permilles[i]))
			return false;
		set_series(&t, large, IW_ARRAY_LEN(large));
		if (!try_percentile(run, &t, permilles[i]))
			return false;
		set_series(&t, ten, 1);
		if (!try_percentile(run, &t, permilles[i]))
			return false;
	}
	if (!try_percentile(run, &t, 1001))
		return false;
	/* Arithmetic with doubles gives the next rank for some of these. */
	random_series(run, &t, 100);
	for (unsigned int permille = 10; permille <= 1000; permille += 10)
		if (!try_percentile(run, &t, permille))
			return false;
	for (size_t i = 0; i < 60; i++) {
		random_series(run, &t, i % 2 ? 1 + lab_below(run, 300) : 100 * (1 + i % 7));
		if (!try_percentile(run, &t, (unsigned int)lab_below(run, 1001)) ||
		    !try_percentile(run, &t, 10 * (unsigned int)lab_below(run, 101)))
			return false;
	}
	lab_clause(run, "stats.h: functions free what they allocate");
	return lab_expect_freed(run, before);
}

/* --- median ------------------------------------------------------------------------------------- */

static bool try_median(struct lab_run *run, const struct series *t)
{
	char text[200];
	double result;
	uint8_t seen;

	describe(t, text, sizeof(text));
	lab_case(run, "%s", text);
	lab_call(run, "median");
	put_numbers(run, t->v, t->n);
	if (!lab_run_call(run))
		return false;
	seen = lab_get_u8(run);
	result = get_double(run);
	return expect_ok(run, t->n > 0, seen) &&
	       (!t->n || expect_double(run, "the median", measure_median(t->s, t->n), result)) &&
	       unchanged(run, t->v, t->n) && lab_results_end(run);
}

static bool step_median(struct lab_run *run)
{
	static const uint64_t fixed[][4] = {
		{ 7, 1, 4, 2 },
		{ 0, 0, 1, 1 },
		{ UINT64_MAX, UINT64_MAX - 2, UINT64_MAX, UINT64_MAX - 2 },
		{ (uint64_t)1 << 63, 3, (uint64_t)1 << 63, 1 },
		{ UINT64_MAX, 0, UINT64_MAX, 0 },
		{ 5000000000, 1, 2, 4999999999 },
	};
	struct series t = { .n = 0 };
	uint64_t before;

	if (!lab_allocated(run, &before))
		return false;
	for (size_t i = 0; i < IW_ARRAY_LEN(fixed); i++)
		for (size_t n = 0; n <= 4; n++) {
			set_series(&t, fixed[i], n);
			if (!try_median(run, &t))
				return false;
		}
	for (size_t i = 0; i < 60; i++) {
		random_series(run, &t, 1 + lab_below(run, 200));
		if (!try_median(run, &t))
			return false;
	}
	lab_clause(run, "stats.h: functions free what they allocate");
	return lab_expect_freed(run, before);
}

/* --- spread ------------------------------------------------------------------------------------- */

static bool try_spread(struct lab_run *run, const struct series *t)
{
	struct measure_spread expected = { 0 }, seen;
	uint8_t ok;
	char text[200];

	describe(t, text, sizeof(text));
	lab_case(run, "%s", text);
	lab_call(run, "spread");
	put_numbers(run, t->v, t->n);
	if (!lab_run_call(run))
		return false;
	if (t->n)
		expected = measure_spread(t->v, t->n);
	ok = lab_get_u8(run);
	seen.mean = get_double(run);
	seen.sd = get_double(run);
	seen.cv = get_double(run);
	return expect_ok(run, t->n > 0, ok) &&
	       (!t->n || (expect_double(run, "mean", expected.mean, seen.mean) &&
			  expect_double(run, "sd", expected.sd, seen.sd) &&
			  expect_double(run, "cv", expected.cv, seen.cv))) &&
	       unchanged(run, t->v, t->n) && lab_results_end(run);
}

static bool step_spread(struct lab_run *run)
{
	static const uint64_t fixed[][5] = {
		{ 2, 4, 4, 4, 6 },
		{ 0, 0, 0, 0, 0 },
		{ 1795000000000000001, 1795000000000000004, 1795000000000000002,
		  1795000000000000000, 1795000000000000003 },
		{ UINT64_MAX, UINT64_MAX - 1, UINT64_MAX, UINT64_MAX - 3, UINT64_MAX },
		{ 1, UINT64_MAX, 1, (uint64_t)1 << 63, 7 },
	};
	struct series t = { .n = 0 };

	for (size_t i = 0; i < IW_ARRAY_LEN(fixed); i++)
		for (size_t n = 0; n <= 5; n++) {
			set_series(&t, fixed[i], n);
			if (!try_spread(run, &t))
				return false;
		}
	for (size_t i = 0; i < 60; i++) {
		random_series(run, &t, 1 + lab_below(run, 200));
		if (!try_spread(run, &t))
			return false;
	}
	return true;
}

/* --- interval ----------------------------------------------------------------------------------- */

static bool try_rank(struct lab_run *run, size_t n)
{
	lab_case(run, "n is %zu", n);
	lab_call(run, "interval_rank");
	lab_put_u32(run, (uint32_t)n);
	return lab_run_call(run) &&
	       lab_expect_number(run, "the rank", measure_interval_rank(n), lab_get_u64(run)) &&
	       lab_results_end(run);
}

static int by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static bool try_interval(struct lab_run *run, size_t n)
{
	double v[MEASURE_RATIOS_MAX] = { 0 }, s[MEASURE_RATIOS_MAX] = { 0 }, low, high;
	uint64_t bits[MEASURE_RATIOS_MAX];
	size_t k = measure_interval_rank(n);
	uint8_t ok;

	for (size_t i = 0; i < n; i++)
		v[i] = 0.5 + (double)lab_below(run, 1000000) / 1000000;
	memcpy(s, v, n * sizeof(*v));
	qsort(s, n, sizeof(*s), by_double);
	memcpy(bits, v, n * sizeof(*v));
	lab_case(run, "%zu ratios from %.6f to %.6f", n, n ? s[0] : 0, n ? s[n - 1] : 0);
	lab_call(run, "median_interval");
	put_doubles(run, v, n);
	if (!lab_run_call(run))
		return false;
	ok = lab_get_u8(run);
	low = get_double(run);
	high = get_double(run);
	return expect_ok(run, k > 0, ok) &&
	       (!k || (expect_double(run, "low", s[k - 1], low) &&
		       expect_double(run, "high", s[n - k], high))) &&
	       unchanged(run, bits, n) && lab_results_end(run);
}

static bool step_interval(struct lab_run *run)
{
	uint64_t before;

	if (!lab_allocated(run, &before))
		return false;
	for (size_t n = 0; n <= 40; n++)
		if (!try_rank(run, n) || !try_interval(run, n))
			return false;
	for (size_t i = 0; i < 40; i++)
		if (!try_rank(run, lab_below(run, 1001)) ||
		    !try_interval(run, 1 + lab_below(run, 200)))
			return false;
	if (!try_rank(run, 1000))
		return false;
	lab_clause(run, "stats.h: functions free what they allocate");
	return lab_expect_freed(run, before);
}

/* --- rates -------------------------------------------------------------------------------------- */

static bool try_rate(struct lab_run *run, uint64_t octets, uint64_t ns)
{
	lab_case(run, "%llu octets in %llu ns", (unsigned long long)octets, (unsigned long long)ns);
	lab_call(run, "bits_per_second");
	lab_put_u64(run, octets);
	lab_put_u64(run, ns);
	return lab_run_call(run) &&
	       lab_expect_number(run, "bits per second", measure_bits_per_second(octets, ns),
				 lab_get_u64(run)) &&
	       lab_results_end(run);
}

static bool try_window(struct lab_run *run, uint64_t rate, uint64_t rtt)
{
	lab_case(run, "%llu bits per second, a round trip of %llu ns", (unsigned long long)rate,
		 (unsigned long long)rtt);
	lab_call(run, "window_octets");
	lab_put_u64(run, rate);
	lab_put_u64(run, rtt);
	return lab_run_call(run) &&
	       lab_expect_number(run, "octets in flight", measure_window(rate, rtt),
				 lab_get_u64(run)) &&
	       lab_results_end(run);
}

static bool step_rates(struct lab_run *run)
{
	static const uint64_t fixed[][2] = {
		{ 752877568, 301230592 },
		{ 0, 1 },
		{ 1, 0 },
		{ 1, 3 },
		{ 2305843009, 1000000000 },
		{ 1250000000000, 100000000000 },
		{ UINT64_MAX, UINT64_MAX },
		{ UINT64_MAX, 1 },
		{ UINT64_MAX, 8000000000 },
		{ 1, UINT64_MAX },
		{ 10000000000, 100000 },
		{ 100000000000, 80000000 },
		{ 8000000000, 1 },
		{ 8000000001, 1 },
	};

	for (size_t i = 0; i < IW_ARRAY_LEN(fixed); i++)
		if (!try_rate(run, fixed[i][0], fixed[i][1]) ||
		    !try_window(run, fixed[i][0], fixed[i][1]))
			return false;
	for (size_t i = 0; i < 60; i++) {
		uint64_t x = lab_random(run) >> lab_below(run, 64);
		uint64_t y = lab_random(run) >> lab_below(run, 64);

		if (!try_rate(run, x, y) || !try_window(run, x, y))
			return false;
	}
	return true;
}

/* --- pairs -------------------------------------------------------------------------------------- */

static const char *const verdicts[] = { "NO_DIFFERENCE", "A_FASTER", "B_FASTER" };

/* Results: the five numbers, then the verdict. */
static bool judge_comparison(struct lab_run *run, const struct measure_comparison *c)
{
	double ratio = get_double(run), min = get_double(run), max = get_double(run);
	double low = get_double(run), high = get_double(run);
	uint8_t verdict = lab_get_u8(run);

	return expect_double(run, "ratio", c->ratio, ratio) &&
	       expect_double(run, "min", c->min, min) && expect_double(run, "max", c->max, max) &&
	       expect_double(run, "low", c->low, low) &&
	       expect_double(run, "high", c->high, high) &&
	       lab_expect_name(run, "the verdict", verdicts, IW_ARRAY_LEN(verdicts), c->verdict,
			       verdict);
}

static void describe_pairs(struct lab_run *run, const double *a, const double *b, size_t n,
			   bool lower)
{
	char text[200] = "";
	int at = 0;

	for (size_t i = 0; i < n && i < 5 && at >= 0 && at < 150; i++)
		at += snprintf(text + at, sizeof(text) - (size_t)at, "%s%.6g/%.6g%s",
			       i ? " " : ": ", b[i], a[i], i == 4 && n > 5 ? " ..." : "");
	lab_case(run, "%zu pairs b/a%s, %s is better", n, text, lower ? "LOWER" : "HIGHER");
}

static bool try_pairs(struct lab_run *run, const double *a, const double *b, size_t n, bool lower)
{
	uint64_t bits[2][MEASURE_RATIOS_MAX];
	bool ok = n > 0;

	for (size_t i = 0; i < n; i++)
		ok = ok && a[i] > 0 && b[i] > 0;
	memcpy(bits[0], a, n * sizeof(*a));
	memcpy(bits[1], b, n * sizeof(*b));
	describe_pairs(run, a, b, n, lower);
	lab_call(run, "compare");
	lab_put_u8(run, lower);
	put_doubles(run, a, n);
	put_doubles(run, b, n);
	if (!lab_run_call(run) || !expect_ok(run, ok, lab_get_u8(run)))
		return false;
	if (ok) {
		struct measure_comparison c = measure_compare(a, b, n, lower);

		if (!judge_comparison(run, &c))
			return false;
	} else {
		for (size_t i = 0; i < 5; i++)
			(void)lab_get_u64(run);
		(void)lab_get_u8(run);
	}
	return unchanged(run, bits[0], n) && unchanged(run, bits[1], n) && lab_results_end(run);
}

/* Machines become slower and faster while pairs are measured; the ratio stays. */
static void random_pairs(struct lab_run *run, double *a, double *b, size_t n)
{
	double effect = 0.9 + (double)lab_below(run, 5) / 20;

	for (size_t i = 0; i < n; i++) {
		a[i] = (double)(1 + lab_below(run, 1000)) * 1e7;
		b[i] = a[i] * effect * (0.97 + (double)lab_below(run, 60) / 1000);
		if (lab_below(run, 15) == 0)
			b[i] *= 0.5 + (double)lab_below(run, 100) / 100; /* disturbed */
	}
}

static bool fixed_pairs(struct lab_run *run, bool lower)
{
	static const double a[8] = { 10, 20, 30, 40, 50, 60, 70, 80 };
	static const double more[8] = { 11, 23, 31, 44, 51, 66, 71, 88 };
	static const double less[8] = { 9, 19, 29, 39, 49, 59, 69, 79 };
	static const double equal_once[8] = { 11, 23, 30, 44, 51, 66, 71, 88 };
	static const double zero[8] = { 11, 23, 0, 44, 51, 66, 71, 88 };
	/* One pair of ten was disturbed: the range of the ratios has 1, their interval does not. */
	static const double ten[10] = { 10, 10, 10, 10, 10, 10, 10, 10, 10, 10 };
	static const double slow_once[10] = { 11, 12, 13, 7, 11, 14, 11, 12, 15, 12 };
	static const double fast_once[10] = { 9, 8, 7, 9, 8, 14, 9, 6, 9, 9.5 };

	if (!try_pairs(run, ten, slow_once, 10, lower) ||
	    !try_pairs(run, ten, fast_once, 10, lower))
		return false;
	for (size_t n = 0; n <= 8; n++)
		if (!try_pairs(run, a, more, n, lower) || !try_pairs(run, a, less, n, lower) ||
		    !try_pairs(run, a, equal_once, n, lower) || !try_pairs(run, a, a, n, lower) ||
		    !try_pairs(run, a, zero, n, lower) || !try_pairs(run, zero, a, n, lower))
			return false;
	return true;
}

static bool step_pairs(struct lab_run *run)
{
	double a[MEASURE_RATIOS_MAX], b[MEASURE_RATIOS_MAX];
	uint64_t before;

	if (!lab_allocated(run, &before) || !fixed_pairs(run, false) || !fixed_pairs(run, true))
		return false;
	for (size_t i = 0; i < 80; i++) {
		size_t n = 1 + lab_below(run, i % 2 ? 12 : 60);

		random_pairs(run, a, b, n);
		if (!try_pairs(run, a, b, n, lab_below(run, 2)))
			return false;
	}
	lab_clause(run, "stats.h: functions free what they allocate");
	return lab_expect_freed(run, before);
}

/* --- warm-up ------------------------------------------------------------------------------------ */

static bool try_warmup(struct lab_run *run, const struct series *t)
{
	char text[200];

	describe(t, text, sizeof(text));
	lab_case(run, "%s", text);
	lab_call(run, "warmup");
	put_numbers(run, t->v, t->n);
	return lab_run_call(run) &&
	       lab_expect_number(run, "values of warm-up", measure_warmup(t->v, t->n),
				 lab_get_u64(run)) &&
	       unchanged(run, t->v, t->n) && lab_results_end(run);
}

/* Slow values first, then noise around a level with some outliers. */
static void warming_series(struct lab_run *run, struct series *t)
{
	uint64_t level = lab_below(run, 3) ? 1000 + lab_below(run, 100000)
					   : UINT64_MAX / 2 + lab_below(run, 1000);
	uint64_t noise = 1 + lab_below(run, level / 50 < 1000 ? level / 50 : 1000);
	size_t cold;

	t->n = 2 + lab_below(run, 120);
	cold = lab_below(run, t->n);
	for (size_t i = 0; i < t->n; i++) {
		t->v[i] = level + lab_below(run, 2 * noise);
		if (i < cold / 2)
			t->v[i] += lab_below(run, 2) ? 20 * noise / (i + 1) : 0;
		if (lab_below(run, 15) == 0)
			t->v[i] -= level / 2;
	}
	finish_series(t);
}

static bool step_warmup(struct lab_run *run)
{
	static const uint64_t fixed[][8] = {
		{ 90, 50, 12, 10, 11, 10, 9, 10 },
		{ 10, 10, 10, 10, 10, 10, 10, 10 },
		{ 11, 10, 10, 10, 10, 10, 10, 10 },
		{ 1, 1, 1, 1, 10, 10, 11, 12 },
		{ 90, 10, 90, 10, 10, 11, 10, 12 },
		{ 13, 14, 13, 10, 10, 11, 9, 10 },
		{ 9, 9, 9, 9, 9, 8, 7, 6 },
		{ 1, 1, 1, 1, 1, 9, 9, 9 },
		{ 50, 60, 70, 80, 0, 0, 200, 200 },
		{ 0, 0, 1, 1, 0, UINT64_MAX, UINT64_MAX, 0 },
		{ 0, 5, UINT64_MAX, 3, UINT64_MAX - 1, UINT64_MAX, UINT64_MAX, UINT64_MAX - 2 },
		{ 0, 2, 1, (uint64_t)1 << 63, UINT64_MAX }, /* 3 * d has 65 bits */
	};
	struct series t = { .n = 0 };
	uint64_t before;

	if (!lab_allocated(run, &before))
		return false;
	for (size_t i = 0; i < IW_ARRAY_LEN(fixed); i++)
		for (size_t n = 0; n <= 8; n++) {
			set_series(&t, fixed[i], n);
			if (!try_warmup(run, &t))
				return false;
		}
	for (size_t i = 0; i < 80; i++) {
		warming_series(run, &t);
		if (!try_warmup(run, &t))
			return false;
	}
	lab_clause(run, "stats.h: functions free what they allocate");
	return lab_expect_freed(run, before);
}

static const struct lab_step steps[] = {
	{ "percentile", "stats.c: nearest rank, in integers", 10, "stats.h, percentile()", 0,
	  step_percentile },
	{ "median", "stats.c: odd and even numbers of values, no overflow", 7, "stats.h, median()",
	  0, step_median },
	{ "spread", "stats.c: mean, deviation, variation; stable for large values", 10,
	  "stats.h, spread()", 0, step_spread },
	{ "interval", "stats.c: 95 % for the median, without an assumed distribution", 9,
	  "stats.h, interval_rank()", 0, step_interval },
	{ "rates", "stats.c: bits per second, octets in flight; no overflow", 8,
	  "stats.h, bits_per_second(), window_octets()", 0, step_rates },
	{ "pairs", "stats.c: ratios of pairs; is the difference real?", 9, "stats.h, compare()", 0,
	  step_pairs },
	{ "warmup", "stats.c: which values are warm-up", 7, "stats.h, warmup()", 0, step_warmup },
	{ "raw", "raw.jsonl: interleaved pairs, verified data, numbers that agree", 14,
	  "README, step raw", 0, measure_raw },
	{ "figures", "report.json: medians, percentiles, variation, units", 14,
	  "README, step figures", 0, measure_figures },
	{ "claims", "report.json: ratios, and what is faster", 12, "README, step claims", 0,
	  measure_claims },
	{ 0 },
};

/* --- trace -------------------------------------------------------------------------------------- */

enum { TRACE_VALUES = 2000, COLD = 60 };

static const struct {
	const char *key;
	unsigned int permille;
} drawn[] = { { "p50_ns", 500 }, { "p90_ns", 900 }, { "p99_ns", 990 }, { "p999_ns", 999 } };

/* Round trips with a long tail; the first ones are slow. */
static void make_round_trips(struct lab_run *run, struct series *t)
{
	t->n = TRACE_VALUES;
	for (size_t i = 0; i < t->n; i++) {
		uint64_t tail = lab_below(run, 1000);

		t->v[i] = 14000 + lab_below(run, 2000) + lab_below(run, 2000);
		if (i < COLD)
			t->v[i] += 100000 - 1000 * i;
		else if (tail > 800)
			t->v[i] += (tail - 800) * (tail - 800) * (tail - 800) / 100;
	}
	finish_series(t);
}

static bool student_warmup(struct lab_run *run, const struct series *t, size_t *drop)
{
	lab_call(run, "warmup");
	put_numbers(run, t->v, t->n);
	if (!lab_run_call(run))
		return false;
	*drop = lab_get_u64(run);
	return *drop <= t->n / 2 || lab_fail(run, "warmup() takes more than half of the values");
}

static bool write_percentiles(struct lab_run *run, FILE *f, const struct series *t, size_t drop)
{
	fprintf(f,
		"{\"schema\":1,\"event\":\"result\",\"mode\":\"pingpong\",\"transport\":\"tcp\","
		"\"size_octets\":64,\"messages\":%zu,\"completion\":{",
		t->n - drop);
	for (size_t i = 0; i < IW_ARRAY_LEN(drawn); i++) {
		lab_call(run, "percentile");
		lab_put_u32(run, drawn[i].permille);
		put_numbers(run, t->v + drop, t->n - drop);
		if (!lab_run_call(run))
			return false;
		(void)lab_get_u8(run);
		fprintf(f, "%s\"%s\":%llu", i ? "," : "", drawn[i].key,
			(unsigned long long)lab_get_u64(run));
	}
	fprintf(f, "}}\n");
	return true;
}

/* The round trips that warmup() leaves, and the percentiles of percentile(), to be drawn together. */
static bool trace(struct lab_run *run, const char *path)
{
	struct series t;
	size_t drop;
	FILE *f;
	bool ok;

	make_round_trips(run, &t);
	if (!student_warmup(run, &t, &drop))
		return false;
	f = fopen(path, "we");
	if (!f)
		return lab_fail(run, "%s cannot be written", path);
	for (size_t i = drop; i < t.n; i++)
		fprintf(f, "{\"schema\":1,\"event\":\"reply\",\"rtt_ns\":%llu}\n",
			(unsigned long long)t.v[i]);
	ok = write_percentiles(run, f, &t, drop);
	if (fclose(f) && ok)
		return lab_fail(run, "%s cannot be written", path);
	printf("%zu round trips; warmup() drops %zu (expected: %zu)\n", t.n, drop,
	       measure_warmup(t.v, t.n));
	return ok;
}

/* --- speed -------------------------------------------------------------------------------------- */

enum { SPEED_VALUES = 1000000, SPEED_PERMILLE = 990, SPEED_TIMES = 4 };

static bool student_percentile(struct lab_run *run, const uint64_t *v, uint64_t expected)
{
	lab_call(run, "repeat");
	lab_put_u32(run, SPEED_TIMES);
	lab_put_u32(run, SPEED_PERMILLE);
	put_numbers(run, v, SPEED_VALUES);
	return lab_run_call_within(run, 30000) &&
	       lab_expect_number(run, "the percentile", expected, lab_get_u64(run)) &&
	       lab_results_end(run);
}

/* The histogram of ddp-bench: memory that does not grow, and at most 0.4 % too high. */
static bool own_percentile(struct lab_run *run, const uint64_t *v, uint64_t expected)
{
	static struct iw_hist h;
	uint64_t seen;

	iw_hist_init(&h);
	for (size_t i = 0; i < SPEED_VALUES; i++)
		iw_hist_add(&h, v[i]);
	seen = iw_hist_at(&h, SPEED_PERMILLE * 1000);
	return seen >= expected && (double)seen <= 1.005 * (double)expected
		       ? true
		       : lab_fail(run, "the histogram has %llu", (unsigned long long)seen);
}

static double middle_of_three(const double *v)
{
	return IW_MIN(IW_MAX(IW_MIN(v[0], v[1]), v[2]), IW_MAX(v[0], v[1]));
}

static bool measure_both(struct lab_run *run, const uint64_t *v, uint64_t expected,
			 struct lab_speed *out)
{
	double student[3], own[3];

	for (size_t i = 0; i < 3; i++) {
		uint64_t begin = lab_now();

		if (!student_percentile(run, v, expected))
			return false;
		student[i] = 1e3 * SPEED_TIMES * SPEED_VALUES / (double)(lab_now() - begin);
		begin = lab_now();
		for (size_t j = 0; j < SPEED_TIMES; j++)
			if (!own_percentile(run, v, expected))
				return false;
		own[i] = 1e3 * SPEED_TIMES * SPEED_VALUES / (double)(lab_now() - begin);
	}
	*out = (struct lab_speed){ .what = "values, p99; ours: the histogram of ddp-bench",
				   .unit = "million/s",
				   .student = middle_of_three(student),
				   .ours = middle_of_three(own) };
	return true;
}

static int speed(struct lab_run *run, struct lab_speed *results, size_t cap)
{
	uint64_t *v = malloc(SPEED_VALUES * sizeof(*v)), *s = malloc(SPEED_VALUES * sizeof(*v));
	int n = cap ? -1 : 0;

	for (size_t i = 0; v && s && i < SPEED_VALUES; i++)
		v[i] = 1000 + lab_below(run, 1000000);
	if (!v || !s) {
		lab_fail(run, "the grader is out of memory");
	} else if (cap) {
		memcpy(s, v, SPEED_VALUES * sizeof(*v));
		measure_sort(s, SPEED_VALUES);
		if (measure_both(run, v, measure_percentile(s, SPEED_VALUES, SPEED_PERMILLE),
				 &results[0]))
			n = 1;
	}
	free(v);
	free(s);
	return n;
}

const struct lab lab_measure = {
	.number = 10,
	.folder = "10-measure",
	.title = "Measure honestly",
	.steps = steps,
	.trace = trace,
	.speed = speed,
};
