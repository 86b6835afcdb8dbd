// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* No path leaves the directory, with or without openat2. */
#include "transfer/files/beneath.h"

#include <errno.h>
#include <stdbool.h>

#include "unit/transfer-files_tmp.h"
#include "util/num.h"

typedef int (*opener)(int dirfd, const char *path, int flags, mode_t mode);

static int make(void **state)
{
	(void)state;
	tmp_make();
	put_dir("in");
	put_dir("in/sub");
	put_dir("out");
	put_file("out/secret", "s", 1);
	put_file("in/file", "f", 1);
	put_file("in/sub/file", "g", 1);
	put_link("../out", "in/up");
	put_link("../out/secret", "in/upfile");
	put_link("/etc", "in/abs");
	put_link("sub", "in/down");
	put_link("sub/file", "in/downfile");
	put_link("loop", "in/loop");
	return 0;
}

static int unmake(void **state)
{
	(void)state;
	tmp_remove();
	return 0;
}

static int in_fd(void)
{
	int fd = openat(tmp_fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void no_path_leads_out_of_the_directory(void **state)
{
	static const char *const paths[] = { "..",
					     "../out/secret",
					     "sub/../../out/secret",
					     "/etc/passwd",
					     "up",
					     "up/secret",
					     "upfile",
					     "abs/passwd",
					     "loop",
					     "sub/../../in/file" };
	static const opener openers[] = { iw_beneath_open, iw_beneath_walk };
	int in = in_fd();

	(void)state;
	for (size_t o = 0; o < IW_ARRAY_LEN(openers); o++) {
		for (size_t i = 0; i < IW_ARRAY_LEN(paths); i++) {
			assert_int_equal(openers[o](in, paths[i], O_RDONLY, 0), -1);
			assert_true(errno == EXDEV || errno == ELOOP || errno == ENOTDIR);
			/* Nothing can be created outside either. */
			assert_int_equal(openers[o](in, "up/new", O_WRONLY | O_CREAT, 0600), -1);
			assert_int_equal(openers[o](in, "../new", O_WRONLY | O_CREAT, 0600), -1);
		}
	}
	assert_false(is_there("out/new"));
	assert_false(is_there("new"));
	close(in);
}

static void paths_inside_the_directory_open(void **state)
{
	static const char *const paths[] = { "",     ".",    "file", "sub/file", "./sub//file",
					     "sub/", "sub/." };
	static const opener openers[] = { iw_beneath_open, iw_beneath_walk };
	int in = in_fd(), fd;

	(void)state;
	for (size_t o = 0; o < IW_ARRAY_LEN(openers); o++) {
		for (size_t i = 0; i < IW_ARRAY_LEN(paths); i++) {
			fd = openers[o](in, paths[i], O_RDONLY, 0);
			assert_true(fd >= 0);
			assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
			close(fd);
		}
		assert_int_equal(openers[o](in, "none", O_RDONLY, 0), -1);
		assert_int_equal(errno, ENOENT);
		assert_int_equal(openers[o](in, "file/", O_RDONLY, 0), -1);
		assert_int_equal(errno, ENOTDIR);
		fd = openers[o](in, "made", O_WRONLY | O_CREAT, 0600);
		assert_true(fd >= 0);
		close(fd);
	}
	/* openat2 follows links that stay inside; the walk does not. */
	fd = iw_beneath_open(in, "down/file", O_RDONLY, 0);
	assert_true(fd >= 0);
	close(fd);
	fd = iw_beneath_open(in, "downfile", O_RDONLY, 0);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(iw_beneath_walk(in, "downfile", O_RDONLY, 0), -1);
	close(in);
}

static void the_parent_and_the_leaf(void **state)
{
	static const char *const bad[] = { "", ".", "..", "sub/", "sub/..", "sub/." };
	int in = in_fd(), fd;
	const char *leaf;

	(void)state;
	fd = iw_beneath_parent(in, "sub/new", &leaf);
	assert_true(fd >= 0);
	assert_string_equal(leaf, "new");
	close(fd);
	fd = iw_beneath_parent(in, "new", &leaf);
	assert_true(fd >= 0);
	assert_string_equal(leaf, "new");
	close(fd);
	assert_int_equal(iw_beneath_parent(in, "up/new", &leaf), -1);
	assert_int_equal(iw_beneath_parent(in, "../new", &leaf), -1);
	for (size_t i = 0; i < IW_ARRAY_LEN(bad); i++) {
		assert_int_equal(iw_beneath_parent(in, bad[i], &leaf), -1);
		assert_int_equal(errno, EINVAL);
	}
	close(in);
}

static void no_link_is_followed_for_names_of_a_peer(void **state)
{
	int in = in_fd(), fd;
	const char *leaf;

	(void)state;
	fd = iw_beneath_dir(in, "sub");
	assert_true(fd >= 0);
	close(fd);
	fd = iw_beneath_dir(in, "");
	assert_true(fd >= 0);
	close(fd);
	fd = iw_beneath_dir_of(in, "sub/new", &leaf);
	assert_true(fd >= 0);
	assert_string_equal(leaf, "new");
	close(fd);
	/* Not even a link that stays inside is followed, at the end of the path or before. */
	put_dir("in/sub/sub");
	assert_int_equal(iw_beneath_dir(in, "down"), -1);
	assert_int_equal(iw_beneath_dir(in, "down/sub"), -1);
	assert_int_equal(iw_beneath_dir_of(in, "down/new", &leaf), -1);
	assert_int_equal(iw_beneath_dir_of(in, "up/new", &leaf), -1);
	assert_int_equal(iw_beneath_dir_of(in, "../new", &leaf), -1);
	close(in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_path_leads_out_of_the_directory, make, unmake),
		cmocka_unit_test_setup_teardown(paths_inside_the_directory_open, make, unmake),
		cmocka_unit_test_setup_teardown(the_parent_and_the_leaf, make, unmake),
		cmocka_unit_test_setup_teardown(no_link_is_followed_for_names_of_a_peer, make,
						unmake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
