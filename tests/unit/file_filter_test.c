// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which names are left out. */
#include "file/filter.h"

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

static void what_lies_in_an_excluded_directory_is_excluded(void **state)
{
	(void)state;
	assert_true(iw_filter_add(&filter, "x", false));
	assert_true(iw_filter_excludes_deep(&filter, "t/x/y/z", false));
	assert_false(iw_filter_excludes_deep(&filter, "t/y/z", false));
	/* What the user named is not looked at. */
	assert_false(iw_filter_excludes_deep(&filter, "x/y", false));
	assert_false(iw_filter_excludes_deep(&filter, "x", true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(the_first_pattern_that_matches_decides, unmake),
		cmocka_unit_test_teardown(slashes_bind_a_pattern_to_places, unmake),
		cmocka_unit_test_teardown(what_lies_in_an_excluded_directory_is_excluded, unmake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
