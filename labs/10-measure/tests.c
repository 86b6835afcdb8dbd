/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Small cases whose results you can check by hand. Run them with: make test */
#include <math.h>
#include <stdio.h>

#include "stats.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

static unsigned int failed;

static void expect_number(const char *what, uint64_t expected, uint64_t seen)
{
	if (expected == seen) {
		printf("ok    %s\n", what);
		return;
	}
	printf("FAIL  %s: expected %llu, seen %llu\n", what, (unsigned long long)expected,
	       (unsigned long long)seen);
	failed++;
}

static void expect_double(const char *what, double expected, double seen)
{
	if (fabs(seen - expected) <= fabs(expected) * 1e-9) {
		printf("ok    %s\n", what);
		return;
	}
	printf("FAIL  %s: expected %.12g, seen %.12g\n", what, expected, seen);
	failed++;
}

static const uint64_t five[] = { 15, 20, 50, 40, 35 };
static const uint64_t ten[] = { 100, 30, 20, 90, 50, 40, 60, 80, 70, 10 };

static uint64_t percentile_of(const uint64_t *v, size_t n, unsigned int permille)
{
	uint64_t out = 999;

	return percentile(v, n, permille, &out) ? out : 998;
}

static void test_percentile(void)
{
	/* 0.4 * 5 = 2: the second value of 15 20 35 40 50 */
	expect_number("p40 of five values", 20, percentile_of(five, N(five), 400));
	/* 0.401 * 5 = 2.005, rounded up: the third */
	expect_number("p40.1 of five values", 35, percentile_of(five, N(five), 401));
	expect_number("p0 is the minimum", 10, percentile_of(ten, N(ten), 0));
	expect_number("p100 is the maximum", 100, percentile_of(ten, N(ten), 1000));
	expect_number("p99 of one value", 15, percentile_of(five, 1, 990));
	expect_number("no values: false", 998, percentile_of(five, 0, 500));
}

static void test_median(void)
{
	static const uint64_t large[] = { UINT64_MAX, UINT64_MAX };
	double out = 0;

	median(five, N(five), &out);
	expect_double("median of five values", 35, out);
	median(ten, N(ten), &out);
	expect_double("median of ten values", 55, out);
	median(large, N(large), &out);
	expect_double("median of two large values", 18446744073709551615.0, out);
}

static void test_spread(void)
{
	static const uint64_t v[] = { 2, 4, 4, 4, 6 };
	static const uint64_t times[] = { 1795000000000000001, 1795000000000000002,
					  1795000000000000003 };
	struct spread s = { 0 };

	spread(v, N(v), &s);
	expect_double("mean", 4, s.mean);
	expect_double("standard deviation: squares 4 + 4, divided by 4", sqrt(2), s.sd);
	expect_double("coefficient of variation", sqrt(2) / 4, s.cv);
	spread(times, N(times), &s);
	expect_double("standard deviation of three times since 1970", 1, s.sd);
}

static void test_interval(void)
{
	static const double v[] = { 1.5, 1.1, 1.9, 1.2, 1.8, 1.3, 1.7, 1.6, 1.4 };
	double low = 0, high = 0;

	/* 2 * 1 / 2^5 = 0.0625 is above 0.05; 2 * 1 / 2^6 = 0.03125 is not. */
	expect_number("five values have no interval", 0, interval_rank(5));
	expect_number("six values: the first and the last", 1, interval_rank(6));
	/* 2 * (1 + 9) / 2^9 = 0.0390625 */
	expect_number("nine values: the second and the last but one", 2, interval_rank(9));
	median_interval(v, N(v), &low, &high);
	expect_double("low", 1.2, low);
	expect_double("high", 1.8, high);
}

static void test_rates(void)
{
	expect_number("10 Gb/s: 1.25 GB in a second", 10000000000,
		      bits_per_second(1250000000, 1000000000));
	expect_number("125 TB in 100,000 s", 10000000000,
		      bits_per_second(125000000000000, 100000000000000));
	expect_number("rounded down", 2666666666, bits_per_second(1, 3));
	expect_number("no time", 0, bits_per_second(1, 0));
	expect_number("10 Gb/s and 100 us: 125,000 octets", 125000,
		      window_octets(10000000000, 100000));
	expect_number("rounded up", 1, window_octets(1, 1));
}

static void test_compare(void)
{
	static const double a[] = { 10, 20, 10, 20, 10, 20 };
	static const double b[] = { 11, 24, 11, 22, 13, 21 };
	struct comparison c = { .verdict = (enum verdict)9 };

	compare(a, b, N(a), HIGHER, &c);
	expect_double("ratio: 1.05 1.1 1.1 1.1 1.2 1.3", 1.1, c.ratio);
	expect_double("low", 1.05, c.low);
	expect_double("high", 1.3, c.high);
	expect_number("more is better: b is faster", B_FASTER, c.verdict);
	compare(a, b, N(a), LOWER, &c);
	expect_number("less is better: a is faster", A_FASTER, c.verdict);
	compare(a, b, 5, HIGHER, &c);
	expect_number("five pairs cannot show it", NO_DIFFERENCE, c.verdict);
}

static void test_warmup(void)
{
	/* The last four: m = 10, distances 1 0 1 0, so d = 0; 12 is at a distance of more than 0. */
	static const uint64_t cold[] = { 90, 50, 12, 10, 11, 10, 9, 10 };
	static const uint64_t outlier[] = { 10, 10, 90, 10, 10, 10, 10, 10 };

	expect_number("three values of warm-up", 3, warmup(cold, N(cold)));
	expect_number("an outlier later is not warm-up", 0, warmup(outlier, N(outlier)));
}

int main(void)
{
	test_percentile();
	test_median();
	test_spread();
	test_interval();
	test_rates();
	test_compare();
	test_warmup();
	printf("%u tests failed\n", failed);
	return failed ? 1 : 0;
}
