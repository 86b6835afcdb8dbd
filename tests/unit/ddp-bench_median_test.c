// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ddp-bench/median.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void median_of_an_odd_number_is_the_middle_value(void **state)
{
	double one[] = { 7 }, five[] = { 5, 1, 4, 2, 9 };

	(void)state;
	assert_true(iw_bench_median(one, 1) == 7);
	assert_true(iw_bench_median(five, 5) == 4);
}

static void median_of_an_even_number_is_the_mean_of_the_middle_values(void **state)
{
	double two[] = { 3, 1 }, four[] = { 8, 1, 2, 4 };

	(void)state;
	assert_true(iw_bench_median(two, 2) == 2);
	assert_true(iw_bench_median(four, 4) == 3);
}

static void values_are_sorted(void **state)
{
	double v[] = { 3, 1, 2 };

	(void)state;
	(void)iw_bench_median(v, 3);
	assert_true(v[0] == 1 && v[1] == 2 && v[2] == 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(median_of_an_odd_number_is_the_middle_value),
		cmocka_unit_test(median_of_an_even_number_is_the_mean_of_the_middle_values),
		cmocka_unit_test(values_are_sorted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
