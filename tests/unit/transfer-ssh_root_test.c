// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The directory that the far end serves. */
#include "transfer/ssh/root.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "transfer/ssh/message.h"
#include "util/num.h"

#define ROWS 4

static char top[] = "/tmp/iw-root.XXXXXX";
static uint8_t buf[IW_SSH_MSG_MAX];

static int make_tree(void **state)
{
	(void)state;
	if (!mkdtemp(top) || chdir(top) != 0 || setenv("HOME", top, 1) != 0)
		return -1;
	return mkdir("d", 0755) || mkdir("d/e", 0755) || mkdir("f", 0755) || symlink("d/e", "link");
}

static int remove_tree(void **state)
{
	(void)state;
	return unlink("link") || rmdir("f") || rmdir("d/e") || rmdir("d") || chdir("/") ||
	       rmdir(top);
}

/* The paths of a REQUEST with these paths, as its reader sees them. */
static struct iw_ssh_paths paths_of(const char *const *list)
{
	static struct iw_ssh_msg m, out;
	struct iw_fault why = { 0 };
	size_t n = 0;

	while (list[n])
		n++;
	m = (struct iw_ssh_msg){ .type = IW_SSH_REQUEST,
				 .request = { .protocol = IW_SSH_PROTOCOL,
					      .version = "1",
					      .source = true,
					      .jobs = 1,
					      .timeout_ms = 1,
					      .setup_ms = 1,
					      .paths = { .list = (char *const *)(uintptr_t)list,
							 .n = n } } };
	assert_int_equal(iw_ssh_msg_decode(&out, buf, iw_ssh_msg_encode(buf, &m), &why), 0);
	return out.request.paths;
}

struct row {
	const char *asked[ROWS], *dir, *paths[ROWS]; /* dir: below the top folder, if relative */
};

static void assert_root(const struct row *row, bool source, bool real)
{
	struct iw_fault why = { 0 };
	struct iw_ssh_root r;
	char dir[200];
	size_t i = 0;

	if (iw_ssh_root_find(&r, paths_of(row->asked), source, &why) != 0)
		fail_msg("%s: %s", row->asked[0], why.text);
	snprintf(dir, sizeof(dir), "%s%s%s", real && row->dir[0] != '/' ? top : "",
		 real && row->dir[0] && row->dir[0] != '/' ? "/" : "", row->dir);
	assert_string_equal(r.dir, real && !row->dir[0] ? top : dir);
	for (; row->paths[i]; i++)
		assert_string_equal(r.paths[i], row->paths[i]);
	assert_int_equal(r.n, i);
	iw_ssh_root_fini(&r);
}

static void target_is_a_directory_or_a_new_name(void **state)
{
	static const struct row rows[] = {
		{ { "" }, ".", { "" } },         { { "d" }, "d", { "" } },
		{ { "d/" }, "d/", { "" } },      { { "new" }, ".", { "new" } },
		{ { "d/new" }, "d", { "new" } }, { { "d//new/" }, "d", { "new/" } },
		{ { "/new" }, "/", { "new" } },  { { "link" }, "link", { "" } },
		{ { "d/e/x" }, "d/e", { "x" } }, { { "./a b\n'" }, ".", { "a b\n'" } },
		{ { "~" }, top, { "" } },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++)
		assert_root(&rows[i], false, false);
}

static void sources_are_below_their_common_parent(void **state)
{
	static const struct row rows[] = {
		{ { "d" }, "", { "d" } },
		{ { "d/e" }, "d", { "e" } },
		{ { "d/" }, "d", { "" } },
		{ { "" }, "", { "" } },
		{ { "." }, "", { "" } },
		{ { "d/." }, "d", { "" } },
		{ { "~/d/e" }, "d", { "e" } },
		{ { "link/x" }, "d/e", { "x" } },
		{ { "link" }, "", { "link" } },
		{ { "d/e/x", "f/y" }, "", { "d/e/x", "f/y" } },
		{ { "d/e/x", "d/e/y" }, "d/e", { "x", "y" } },
		{ { "d/e/", "d/z" }, "d", { "e/", "z" } },
		{ { "d/e/", "d/e/" }, "d/e", { "", "" } },
		{ { "/etc", "d/x" }, "/", { "etc", NULL } },
		{ { "/etc" }, "/", { "etc" } },
		{ { "f/missing" }, "f", { "missing" } },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct row row = rows[i];
		char below[200];

		/* its path depends on the name of the test's folder */
		if (row.asked[1] && row.asked[0][0] == '/') {
			snprintf(below, sizeof(below), "%s/d/x", top + 1);
			row.paths[1] = below;
		}
		assert_root(&row, true, true);
	}
}

static void impossible_paths_are_refused(void **state)
{
	static const struct {
		const char *asked[2];
		bool source;
		int err;
	} rows[] = {
		{ { "no/such" }, false, IW_E_NOENT }, { { "no/such" }, true, IW_E_NOENT },
		{ { "~bob/x" }, false, IW_E_INVAL },  { { "~bob" }, true, IW_E_INVAL },
		{ { "none/" }, true, IW_E_NOENT },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct iw_fault why = { 0 };
		struct iw_ssh_root r;

		assert_int_equal(iw_ssh_root_find(&r, paths_of(rows[i].asked), rows[i].source,
						  &why),
				 rows[i].err);
		assert_true(why.text[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(target_is_a_directory_or_a_new_name),
		cmocka_unit_test(sources_are_below_their_common_parent),
		cmocka_unit_test(impossible_paths_are_refused),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
