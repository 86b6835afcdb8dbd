// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The measurement of STag look-ups runs, and refuses invalid parameters. Its results are those of
 * `ddp-bench stag`.
 */
#include "ddp-bench/stag_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void short_run_gives_finite_figures(void **state)
{
	struct iw_stag_bench_cfg cfg = {
		.small = 10, .large = 5000, .segments = 1024, .dest = 4000000, .pairs = 5
	};
	struct iw_stag_bench r;
	struct iw_fault why = { 0 };

	(void)state;
	assert_int_equal(iw_bench_stag(&r, &cfg, &why), 0);
	assert_int_equal(r.pairs, 5);
	assert_true(r.ns_small > 0 && r.ns_small < 1e9);
	assert_true(r.ns_large > 0 && r.ns_large < 1e9);
	assert_true(r.ratio_min > 0 && r.ratio_min <= r.ratio && r.ratio <= r.ratio_max);
}

static void impossible_settings_are_refused(void **state)
{
	static const struct iw_stag_bench_cfg rows[] = {
		{ .segment = 14 }, { .segment = 64769 }, { .pairs = 4 },
		{ .pairs = 1000 }, { .dest = 1000 },
	};
	struct iw_stag_bench r;
	struct iw_fault why = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(iw_bench_stag(&r, &rows[i], &why), IW_E_INVAL);
		assert_int_equal(why.err, IW_E_INVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_run_gives_finite_figures),
		cmocka_unit_test(impossible_settings_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
