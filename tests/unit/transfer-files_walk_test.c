// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which entries a source sends, and under which names. */
#include "transfer/files/walk.h"

#include <sys/resource.h>

#include "unit/transfer-files_tmp.h"

static int make(void **state)
{
	(void)state;
	tmp_make();
	put_dir("d");
	put_dir("d/sub");
	put_file("d/sub/x", "x", 1);
	put_file("d/y", "y", 1);
	put_link("y", "d/link");
	assert_int_equal(mkfifoat(tmp_fd, "d/fifo", 0600), 0);
	put_file("one", "1", 1);
	return 0;
}

static int unmake(void **state)
{
	(void)state;
	tmp_remove();
	return 0;
}

/* Returns all entries as "kind name", sorted and separated by semicolons. */
static const char *walk(struct iw_walk *w)
{
	static const char *const kinds[] = { "file", "dir", "stream", "link", "failed", "end" };
	static char lines[40][300], all[4000];
	struct iw_entry e;
	size_t n = 0;

	for (;; n++) {
		iw_walk_next(w, &e);
		if (e.what == IW_WALKED_END)
			break;
		snprintf(lines[n], sizeof(lines[n]), "%s%s %.*s;", e.top ? "top " : "",
			 kinds[e.what], (int)e.name_len, e.name);
		if (e.what == IW_WALKED_FILE) {
			struct iw_file_fault why;
			int fd = iw_walk_open(&e, &why);

			assert_true(fd >= 0);
			close(fd);
		}
	}
	qsort(lines, n, sizeof(lines[0]), (int (*)(const void *, const void *))strcmp);
	all[0] = '\0';
	for (size_t i = 0; i < n; i++)
		strncat(all, lines[i], sizeof(all) - strlen(all) - 1);
	return all;
}

static void add(struct iw_walk *w, const char *path)
{
	assert_int_equal(iw_walk_add(w, path, strlen(path)), 0);
}

static void a_tree_keeps_its_name(void **state)
{
	struct iw_walk w;

	(void)state;
	iw_walk_init(&w, tmp_fd);
	add(&w, "d");
	assert_string_equal(walk(&w),
			    "dir d/sub;failed d/fifo;file d/sub/x;file d/y;link d/link;top dir d;");
	/* A path below the served directory: its last component is the name. */
	add(&w, "d/sub/");
	add(&w, "d/y");
	add(&w, "none");
	assert_string_equal(walk(&w), "file sub/x;top dir sub;top failed none;top file y;");
	iw_walk_fini(&w);
}

static void the_served_directory_itself_has_no_name(void **state)
{
	struct iw_walk w;

	(void)state;
	iw_walk_init(&w, tmp_fd);
	add(&w, "");
	assert_string_equal(
		walk(&w),
		"dir d/sub;dir d;failed d/fifo;file d/sub/x;file d/y;file one;link d/link;top dir ;");
	add(&w, ".");
	assert_non_null(strstr(walk(&w), "file one;link d/link;top dir ;"));
	iw_walk_fini(&w);
}

static void a_peers_paths_do_not_leave(void **state)
{
	struct iw_walk w;
	int d = openat(tmp_fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	put_link("../one", "d/out");
	iw_walk_init(&w, d);
	add(&w, "../one");
	add(&w, "/etc/passwd");
	add(&w, "out");
	assert_string_equal(walk(&w), "top failed one;top failed out;top failed passwd;");
	iw_walk_fini(&w);
	close(d);
}

static void local_operands_lie_anywhere(void **state)
{
	char path[200];
	struct iw_walk w;

	(void)state;
	iw_walk_init(&w, AT_FDCWD);
	snprintf(path, sizeof(path), "%s/one", tmp_name);
	add(&w, path);
	add(&w, "-");
	assert_string_equal(walk(&w), "top file one;top stream stdin;");
	/* Names in the contents of a directory lack the name of the directory. */
	assert_int_equal(fchdir(tmp_fd), 0);
	assert_int_equal(chdir("d/sub"), 0);
	add(&w, ".");
	assert_string_equal(walk(&w), "file x;top dir ;");
	add(&w, "../sub/");
	assert_string_equal(walk(&w), "file x;top dir ;");
	add(&w, "..");
	assert_string_equal(walk(&w), "dir sub;failed fifo;file sub/x;file y;link link;top dir ;");
	add(&w, "../sub");
	assert_string_equal(walk(&w), "file sub/x;top dir sub;");
	assert_int_equal(chdir("/"), 0);
	iw_walk_fini(&w);
}

/* At the target, one of two files of the same name would be lost. */
static void a_second_file_with_the_same_name_is_refused(void **state)
{
	struct iw_walk w;

	(void)state;
	put_file("y", "other", 5);
	put_file("d/one", "other", 5);
	iw_walk_init(&w, tmp_fd);
	add(&w, "d/y");
	add(&w, "y");
	assert_string_equal(walk(&w), "top failed y;top file y;");
	/* The same file twice is harmless, and directories of one name are merged. */
	add(&w, "d/y");
	add(&w, "d/sub");
	add(&w, "d/sub");
	assert_string_equal(walk(&w),
			    "file sub/x;file sub/x;top dir sub;top dir sub;top failed y;");
	iw_walk_fini(&w);

	/* Operands and entries of contents may have the same names. */
	assert_int_equal(fchdir(tmp_fd), 0);
	iw_walk_init(&w, AT_FDCWD);
	add(&w, "one");
	add(&w, "d/");
	assert_non_null(strstr(walk(&w), "failed one;"));
	add(&w, "y");
	assert_string_equal(walk(&w), "top failed y;");
	assert_int_equal(chdir("/"), 0);
	iw_walk_fini(&w);
}

/* An entry of an earlier operand that is not sent does not block a later file of the same name. */
static void a_name_that_was_not_sent_is_free(void **state)
{
	struct iw_filter filter = { .n = 0 };
	struct iw_walk w;

	(void)state;
	put_dir("e");
	put_dir("e/sub");
	put_file("e/fifo", "f", 1);
	put_file("e/y", "other", 5);
	put_file("e/sub/x", "other", 5);
	assert_true(iw_filter_add(&filter, "/y", false));
	assert_true(iw_filter_add(&filter, "/sub", false));
	assert_int_equal(fchdir(tmp_fd), 0);
	iw_walk_init(&w, AT_FDCWD);
	w.filter = &filter;
	add(&w, "d/");
	(void)walk(&w);
	add(&w, "e/y");
	add(&w, "e/sub");
	add(&w, "e/fifo");
	assert_string_equal(walk(&w), "file sub/x;top dir sub;top file fifo;top file y;");
	/* Operands themselves were sent. */
	add(&w, "d/y");
	assert_string_equal(walk(&w), "top failed y;");
	assert_int_equal(chdir("/"), 0);
	iw_walk_fini(&w);
	iw_filter_fini(&filter);
}

static void depth_has_a_limit(void **state)
{
	char path[4 * (IW_WALK_DEPTH + 4)] = "deep";
	size_t len = strlen(path);
	struct iw_walk w;
	struct iw_entry e;
	struct rlimit r;
	unsigned failed = 0;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &r), 0);
	r.rlim_cur = r.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &r), 0);
	if (r.rlim_cur < IW_WALK_DEPTH + 20)
		skip();
	put_dir(path);
	for (int i = 0; i < IW_WALK_DEPTH + 2; i++) {
		memcpy(path + len, "/d", 3);
		len += 2;
		put_dir(path);
	}
	iw_walk_init(&w, tmp_fd);
	add(&w, "deep");
	do {
		iw_walk_next(&w, &e);
		failed += e.what == IW_WALKED_FAILED;
	} while (e.what != IW_WALKED_END);
	assert_int_equal(failed, 1);
	iw_walk_fini(&w);
	/* A walk that ends early leaves nothing open; valgrind and the sanitizers check that. */
	iw_walk_init(&w, tmp_fd);
	add(&w, "deep");
	add(&w, "one");
	for (int i = 0; i < 5; i++)
		iw_walk_next(&w, &e);
	iw_walk_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_tree_keeps_its_name, make, unmake),
		cmocka_unit_test_setup_teardown(the_served_directory_itself_has_no_name, make,
						unmake),
		cmocka_unit_test_setup_teardown(a_peers_paths_do_not_leave, make, unmake),
		cmocka_unit_test_setup_teardown(local_operands_lie_anywhere, make, unmake),
		cmocka_unit_test_setup_teardown(a_second_file_with_the_same_name_is_refused, make,
						unmake),
		cmocka_unit_test_setup_teardown(a_name_that_was_not_sent_is_free, make, unmake),
		cmocka_unit_test_setup_teardown(depth_has_a_limit, make, unmake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
