// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Histograms: percentiles. */
#include "cli/hist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "rng.h"

static struct iw_hist h;

static int setup(void **state)
{
	(void)state;
	iw_hist_init(&h);
	return 0;
}

static void an_empty_histogram_has_no_percentiles(void **state)
{
	(void)state;
	assert_int_equal(iw_hist_at(&h, 500000), 0);
	assert_int_equal(iw_hist_at(&h, 1000000), 0);
}

static void small_values_are_exact(void **state)
{
	(void)state;
	for (uint64_t v = 1; v <= 500; v++)
		iw_hist_add(&h, v);
	assert_int_equal(h.n, 500);
	assert_int_equal(h.min, 1);
	assert_int_equal(h.max, 500);
	assert_int_equal(iw_hist_at(&h, 500000), 250);
	assert_int_equal(iw_hist_at(&h, 900000), 450);
	assert_int_equal(iw_hist_at(&h, 990000), 495);
	assert_int_equal(iw_hist_at(&h, 999000), 500);
	assert_int_equal(iw_hist_at(&h, 1000000), 500);
	assert_int_equal(iw_hist_at(&h, 0), 1);
}

static void the_median_of_three_is_the_second(void **state)
{
	(void)state;
	iw_hist_add(&h, 300);
	iw_hist_add(&h, 100);
	iw_hist_add(&h, 200);
	assert_int_equal(iw_hist_at(&h, 500000), 200);
}

static void any_value_is_reported_at_most_a_256th_too_high(void **state)
{
	struct rng rng = { 1 };

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint64_t v = rng_next(&rng) >> (rng_next(&rng) % 64);
		uint64_t got;

		iw_hist_init(&h);
		iw_hist_add(&h, v);
		/* A larger value, so that the maximum does not hide the end of the bucket. */
		iw_hist_add(&h, UINT64_MAX);
		got = iw_hist_at(&h, 500000);
		assert_true(got >= v);
		assert_true(got - v <= v / 256);
	}
}

static void the_extremes_of_64_bits_are_counted(void **state)
{
	(void)state;
	iw_hist_add(&h, 0);
	iw_hist_add(&h, UINT64_MAX);
	assert_int_equal(iw_hist_at(&h, 1), 0);
	assert_true(iw_hist_at(&h, 1000000) == UINT64_MAX);
}

static void a_percentile_never_exceeds_the_maximum(void **state)
{
	(void)state;
	iw_hist_add(&h, 1000001);
	assert_int_equal(iw_hist_at(&h, 500000), 1000001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(an_empty_histogram_has_no_percentiles, setup),
		cmocka_unit_test_setup(small_values_are_exact, setup),
		cmocka_unit_test_setup(the_median_of_three_is_the_second, setup),
		cmocka_unit_test_setup(any_value_is_reported_at_most_a_256th_too_high, setup),
		cmocka_unit_test_setup(the_extremes_of_64_bits_are_counted, setup),
		cmocka_unit_test_setup(a_percentile_never_exceeds_the_maximum, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
