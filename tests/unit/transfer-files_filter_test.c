// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which names patterns exclude. */
#include "transfer/files/filter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct iw_filter filter;

static int unmake(void **state)
{
	(void)state;
	iw_filter_fini(&filter);
	return 0;
}

static void the_first_pattern_that_matches_decides(void **state)
{
	(void)state;
	assert_true(iw_filter_add(&filter, "keep.o", true));
	assert_true(iw_filter_add(&filter, "*.o", false));
	assert_false(iw_filter_excludes(&filter, "t/keep.o", false));
	assert_true(iw_filter_excludes(&filter, "t/x.o", false));
	assert_false(iw_filter_excludes(&filter, "t/x.c", false));
}

static void slashes_bind_a_pattern_to_places(void **state)
{
	(void)state;
	assert_true(iw_filter_add(&filter, "cache/", false));
	assert_true(iw_filter_add(&filter, "t/*/log", false));
	assert_true(iw_filter_add(&filter, "t/a/**", false));
	assert_true(iw_filter_excludes(&filter, "t/x/cache", true));
	assert_false(iw_filter_excludes(&filter, "t/x/cache", false));
	assert_true(iw_filter_excludes(&filter, "t/b/log", false));
	assert_false(iw_filter_excludes(&filter, "t/b/c/log", false));
	assert_true(iw_filter_excludes(&filter, "t/a/b/c", false));
	assert_false(iw_filter_excludes(&filter, "t/a", true));
}

static void names_below_an_excluded_directory_are_excluded(void **state)
{
	(void)state;
	assert_true(iw_filter_add(&filter, "x", false));
	assert_true(iw_filter_excludes_deep(&filter, "t/x/y/z", false, false));
	assert_false(iw_filter_excludes_deep(&filter, "t/y/z", false, false));
	/* Operands themselves are not compared with patterns. */
	assert_false(iw_filter_excludes_deep(&filter, "x/y", false, false));
	assert_true(iw_filter_excludes_deep(&filter, "x/y", false, true));
	assert_false(iw_filter_excludes_deep(&filter, "x", true, false));
	assert_true(iw_filter_excludes_deep(&filter, "x", true, true));
}

static void a_slash_in_front_binds_a_pattern_to_the_root(void **state)
{
	(void)state;
	assert_true(iw_filter_add(&filter, "/build", false));
	assert_true(iw_filter_add(&filter, "a/b", false));
	assert_true(iw_filter_excludes(&filter, "build", true));
	assert_false(iw_filter_excludes(&filter, "t/build", true));
	assert_true(iw_filter_excludes(&filter, "a/b", false));
	assert_true(iw_filter_excludes(&filter, "t/a/b", false));
	assert_false(iw_filter_excludes(&filter, "t/xa/b", false));
	assert_false(iw_filter_excludes(&filter, "a/b/c", false));
}

static void one_star_stops_at_a_slash_also_beside_two(void **state)
{
	(void)state;
	assert_true(iw_filter_add(&filter, "/t/*/x/**", false));
	assert_true(iw_filter_add(&filter, "/u/**/*.o", false));
	assert_true(iw_filter_excludes(&filter, "t/a/x/y/z", false));
	assert_false(iw_filter_excludes(&filter, "t/a/b/x/y", false));
	assert_true(iw_filter_excludes(&filter, "u/a/b/c.o", false));
	assert_false(iw_filter_excludes(&filter, "u/a/b/c.c", false));
	assert_false(iw_filter_excludes(&filter, "v/u/a/c.o", false));
}

static void faulty_patterns_are_found(void **state)
{
	static const char *const bad[] = { "",    "/",   "[",   "a[b", "[]",
					   "[!]", "x\\", "[]a", "./a", "../a" };
	static const char *const good[] = { "a", "[a]", "[]]", "[!]]", "\\[", "a\\\\", "**", "x/" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_non_null(iw_filter_fault(bad[i]));
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_null(iw_filter_fault(good[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(the_first_pattern_that_matches_decides, unmake),
		cmocka_unit_test_teardown(slashes_bind_a_pattern_to_places, unmake),
		cmocka_unit_test_teardown(a_slash_in_front_binds_a_pattern_to_the_root, unmake),
		cmocka_unit_test_teardown(one_star_stops_at_a_slash_also_beside_two, unmake),
		cmocka_unit_test(faulty_patterns_are_found),
		cmocka_unit_test_teardown(names_below_an_excluded_directory_are_excluded, unmake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
