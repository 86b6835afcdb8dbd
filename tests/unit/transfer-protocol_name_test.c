// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Names and paths that are refused, and unusual ones that are accepted. */
#include "transfer/protocol/name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "transfer/protocol/hello.h"
#include "util/num.h"

static void unusual_names_are_accepted(void **state)
{
	static const char *const names[] = { "a",
					     "a/b/c",
					     "with space",
					     "new\nline",
					     "\xc3\xa4\xe2\x82\xac",
					     "\xff\xfe",
					     "...",
					     "..a",
					     ".hidden",
					     "a/...",
					     "-rf",
					     "*",
					     "a\\..\\b",
					     "~",
					     "\x1b[31m",
					     "C:\\x",
					     ".iw-0123456789abcdef.part" };

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(names); i++)
		assert_null(iw_xfer_name_fault(names[i], strlen(names[i])));
}

static void names_that_could_leave_the_directory_are_refused(void **state)
{
	static const char *const names[] = { "",      "/",     "/a",     ".",
					     "..",    "../a",  "a/..",   "a/../b",
					     "a/./b", "./a",   "a/",     "a//b",
					     "a/.",   "../..", "a/b/..", "a/b/../../.." };

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(names); i++)
		assert_non_null(iw_xfer_name_fault(names[i], strlen(names[i])));
	assert_non_null(iw_xfer_name_fault("a\0b", 3));
	assert_non_null(iw_xfer_name_fault("\0", 1));
}

static bool leaves(const char *name, const char *to, size_t top)
{
	return iw_xfer_link_leaves(name, strlen(name), to, strlen(to), top);
}

static void links_that_leave_their_tree_are_detected(void **state)
{
	(void)state;
	assert_false(leaves("t/l", "x", 1));
	assert_false(leaves("t/l", "x/./y//z", 1));
	assert_false(leaves("t/d/l", "../x", 1));
	assert_false(leaves("t/d/e/l", "../../x", 1));
	assert_false(leaves("t/d/l", "./../x", 1));
	assert_false(leaves("l", "x", 0));
	assert_false(leaves("d/l", "../x", 0));
	assert_false(leaves("t/l", "..x", 1));
	assert_true(leaves("t/l", "", 1));
	assert_true(leaves("t/l", "/etc", 1));
	assert_true(leaves("t/l", "..", 1));
	assert_true(leaves("t/l", "../t/x", 1));
	assert_true(leaves("t/d/l", "../../x", 1));
	assert_true(leaves("t/d/l", "../..", 1));
	assert_true(leaves("t/d/e/l", "x/../y", 1));
	assert_true(leaves("l", "x", 1));
	assert_true(leaves("l", "..", 0));
}

static void lengths_have_limits(void **state)
{
	static char name[IW_XFER_NAME_MAX + 2];

	(void)state;
	memset(name, 'x', sizeof(name));
	assert_null(iw_xfer_name_fault(name, 255));
	assert_non_null(iw_xfer_name_fault(name, 256));
	for (size_t i = 200; i < sizeof(name); i += 200)
		name[i] = '/';
	assert_null(iw_xfer_name_fault(name, IW_XFER_NAME_MAX));
	assert_non_null(iw_xfer_name_fault(name, IW_XFER_NAME_MAX + 1));
	assert_null(iw_xfer_path_fault(name, IW_XFER_PATH_MAX));
	assert_non_null(iw_xfer_path_fault(name, IW_XFER_PATH_MAX + 1));
}

static void paths_of_users_may_be_untidy(void **state)
{
	static const char *const good[] = { "", ".", "./", "a/", "a//b", "./a/./b//", "a" };
	static const char *const bad[] = { "/", "/a", "..", "a/..", "../a", "a/../b" };

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(good); i++)
		assert_null(iw_xfer_path_fault(good[i], strlen(good[i])));
	for (size_t i = 0; i < IW_ARRAY_LEN(bad); i++)
		assert_non_null(iw_xfer_path_fault(bad[i], strlen(bad[i])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unusual_names_are_accepted),
		cmocka_unit_test(names_that_could_leave_the_directory_are_refused),
		cmocka_unit_test(links_that_leave_their_tree_are_detected),
		cmocka_unit_test(lengths_have_limits),
		cmocka_unit_test(paths_of_users_may_be_untidy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
