// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The announced names that a pulling sink accepts, depending on its requests. */
#include "transfer/files/asked.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "util/num.h"

static struct iw_asked ask(const char *first, const char *second)
{
	char *const paths[] = { (char *)(uintptr_t)first, (char *)(uintptr_t)second };
	struct iw_asked a;

	assert_int_equal(iw_asked_init(&a, paths, second ? 2 : 1), 0);
	return a;
}

static bool accepts(const struct iw_asked *a, const char *name, bool top)
{
	const struct iw_xfer_meta m = { .name = name, .name_len = strlen(name), .top = top };

	return iw_asked_fault(a, &m) == NULL;
}

static bool accepts_link(const struct iw_asked *a, enum iw_xfer_kind kind, const char *name,
			 bool top, const char *target)
{
	const struct iw_xfer_meta m = { .kind = kind,
					.name = name,
					.name_len = strlen(name),
					.top = top,
					.target = target,
					.target_len = strlen(target) };

	return iw_asked_fault(a, &m) == NULL;
}

static void a_path_gives_its_last_component(void **state)
{
	static const char *const paths[] = { "docs",    "a/docs",  "a/b/docs", "./docs",
					     "/a/docs", "../docs", "a/../docs" };

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(paths); i++) {
		struct iw_asked a = ask(paths[i], NULL);

		assert_null(iw_asked_path_fault(paths[i]));
		assert_true(accepts(&a, "docs", true));
		assert_true(accepts(&a, "docs/x/y", false));
		assert_false(accepts(&a, "doc", true));
		assert_false(accepts(&a, "docs2", true));
		assert_false(accepts(&a, "docs2/x", false));
		assert_false(accepts(&a, "a", true));
		assert_false(accepts(&a, "a/docs", false));
		assert_false(accepts(&a, ".ssh/authorized_keys", false));
		assert_false(accepts(&a, ".ssh/authorized_keys", true));
		iw_asked_fini(&a);
	}
}

static void requested_names_are_top_level_and_names_below_are_not(void **state)
{
	struct iw_asked a = ask("docs", NULL);

	(void)state;
	assert_false(accepts(&a, "docs", false));
	assert_false(accepts(&a, "docs/x", true));
	iw_asked_fini(&a);
}

static void each_of_several_paths_is_accepted(void **state)
{
	char names[500][8], *paths[500];
	struct iw_asked a;

	(void)state;
	for (int i = 0; i < 500; i++) {
		snprintf(names[i], sizeof(names[i]), "f%d", (i * 7) % 250);
		paths[i] = names[i];
	}
	assert_int_equal(iw_asked_init(&a, paths, 500), 0);
	assert_int_equal(a.n, 250);
	for (int i = 0; i < 500; i++)
		assert_true(accepts(&a, names[i], true));
	assert_false(accepts(&a, "f250", true));
	assert_false(accepts(&a, "f", true));
	iw_asked_fini(&a);
}

static void contents_have_any_names_but_none_is_top_level(void **state)
{
	static const char *const paths[] = { "", ".", "./", "dir/.", "a/./", "dir/", "a/dir//" };

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(paths); i++) {
		struct iw_asked a = ask(paths[i], NULL);

		assert_null(iw_asked_path_fault(paths[i]));
		assert_int_equal(a.n, 0);
		assert_true(accepts(&a, "any", false));
		assert_true(accepts(&a, "any/thing", false));
		assert_false(accepts(&a, "any", true));
		/* The target itself, which must be a directory. */
		assert_true(accepts_link(&a, IW_XFER_DIR, "", true, ""));
		assert_false(accepts(&a, "", true));
		assert_false(accepts_link(&a, IW_XFER_SYMLINK, "", true, "x"));
		iw_asked_fini(&a);
	}
}

static void paths_without_a_name_are_refused(void **state)
{
	static const char *const paths[] = { "..", "../", "a/..", "a/../", "/", "//" };

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(paths); i++)
		assert_non_null(iw_asked_path_fault(paths[i]));
	assert_null(iw_asked_path_fault("..."));
	assert_null(iw_asked_path_fault("a..."));
}

static void links_stay_below_requested_names(void **state)
{
	struct iw_asked a = ask("docs", "other"), c = ask("", NULL);

	(void)state;
	assert_false(accepts_link(&a, IW_XFER_SYMLINK, "docs", true, "x"));
	assert_false(accepts_link(&a, IW_XFER_HARDLINK, "docs", true, "docs/x"));
	assert_true(accepts_link(&a, IW_XFER_SYMLINK, "docs/l", false, "/anywhere"));
	assert_true(accepts_link(&a, IW_XFER_HARDLINK, "docs/l", false, "other/x"));
	assert_false(accepts_link(&a, IW_XFER_HARDLINK, "docs/l", false, "x"));
	assert_false(accepts_link(&a, IW_XFER_HARDLINK, "docs/l", false, ".ssh/id"));
	assert_true(accepts_link(&c, IW_XFER_HARDLINK, "l", false, "x"));
	assert_true(accepts_link(&c, IW_XFER_SYMLINK, "l", false, "x"));
	iw_asked_fini(&a);
	iw_asked_fini(&c);
}

static void announced_names_are_recorded(void **state)
{
	const struct iw_xfer_meta below = { .name = "a/x", .name_len = 3 },
				  top = { .name = "b", .name_len = 1, .top = true };
	struct iw_asked a = ask("b", "a");

	(void)state;
	iw_asked_announced(&a, &below);
	assert_false(a.row[0].announced || a.row[1].announced);
	iw_asked_announced(&a, &top);
	assert_false(a.row[0].announced);
	assert_true(a.row[1].announced);
	iw_asked_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_gives_its_last_component),
		cmocka_unit_test(requested_names_are_top_level_and_names_below_are_not),
		cmocka_unit_test(each_of_several_paths_is_accepted),
		cmocka_unit_test(contents_have_any_names_but_none_is_top_level),
		cmocka_unit_test(paths_without_a_name_are_refused),
		cmocka_unit_test(links_stay_below_requested_names),
		cmocka_unit_test(announced_names_are_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
