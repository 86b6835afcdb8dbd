// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is received takes its name when it is whole, and not before; nothing outside the base is
 * touched. */
#include "file/target.h"

#include <sys/resource.h>
#include <signal.h>

#include "unit/file_tmp.h"
#include "util/num.h"

#define MIB ((uint64_t)1 << 20)

static struct iw_hasher hasher;
static uint8_t buf[IW_XFER_CHUNK];

static int make(void **state)
{
	struct iw_fault why;

	(void)state;
	tmp_make();
	put_dir("in");
	put_dir("out");
	put_file("out/f", "precious", 8);
	return iw_hasher_init(&hasher, IW_XFER_XXH3, &why);
}

static int unmake(void **state)
{
	(void)state;
	iw_hasher_fini(&hasher);
	tmp_remove();
	return 0;
}

static struct iw_xmeta meta(const char *name, uint64_t size)
{
	return (struct iw_xmeta){ .name = name,
				  .name_len = strlen(name),
				  .top = true,
				  .size = size,
				  .mode = 0640,
				  .mtime_s = 1234567890,
				  .mtime_ns = 987654321 };
}

static struct iw_place place(const char *path, bool many)
{
	struct iw_file_fault why;
	struct iw_place p;
	int root = openat(tmp_fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (iw_place_beneath(&p, root, path, many, &why) != 0)
		fail_msg("%s", why.text);
	close(root);
	return p;
}

static int store(struct iw_target *t, uint64_t off, const void *octets, size_t len,
		 struct iw_file_fault *why)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)octets, .iov_len = len };
	struct iw_xdigest d;

	assert_int_equal(iw_hasher_chunk(&hasher, &iov, 1, &d), 0);
	return iw_target_store(t, &hasher, off, &iov, 1, &d, why);
}

static int commit(struct iw_target *t, uint64_t size, struct iw_file_fault *why)
{
	struct iw_chunk_list copy = t->chunks;
	struct iw_xdigest d;

	assert_int_equal(iw_chunk_list_digest(&copy, &hasher, size, &d), 0);
	return iw_target_commit(t, &hasher, size, &d, why);
}

static unsigned parts_in(const char *dir)
{
	char command[200];
	unsigned n = 0;
	FILE *f;

	snprintf(command, sizeof(command), "find %s/%s -name '.iw-*.part' | wc -l", tmp_name, dir);
	f = popen(command, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%u", &n), 1);
	pclose(f);
	return n;
}

static void a_file_appears_when_it_is_whole(void **state)
{
	struct iw_place p = place("", false);
	struct iw_xmeta m = meta("f", 6);
	struct iw_file_fault why;
	struct iw_target t;
	struct stat st;

	(void)state;
	put_file("in/f", "old", 3);
	assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why), IW_CREATED);
	assert_int_equal(fstat(t.part->fd, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(store(&t, 0, "octets", 6, &why), 0);
	assert_file_is("in/f", "old");
	assert_int_equal(parts_in("in"), 1);
	assert_int_equal(commit(&t, 6, &why), 0);
	assert_file_is("in/f", "octets");
	assert_int_equal(parts_in("in"), 0);
	assert_int_equal(fstatat(tmp_fd, "in/f", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(st.st_mtim.tv_sec, 1234567890);
	assert_int_equal(st.st_mtim.tv_nsec, 987654321);
	/* The same again is not needed; with force it is. */
	assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why), IW_CREATE_FAILED);
	assert_int_equal(why.code, IW_XC_SAME);
	p.opts |= IW_XOPT_FORCE;
	assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why), IW_CREATED);
	iw_target_abandon(&t, IW_XC_DIGEST);
	assert_file_is("in/f", "octets");
	assert_int_equal(parts_in("in"), 0);
	iw_place_close(&p);
}

static void wrong_digests_are_refused(void **state)
{
	struct iw_place p = place("", false);
	struct iovec iov = { .iov_base = buf, .iov_len = 10 };
	struct iw_xmeta m = meta("f", 10);
	struct iw_xdigest d;
	struct iw_file_fault why;
	struct iw_target t;

	(void)state;
	assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why), IW_CREATED);
	memset(buf, 1, 10);
	assert_int_equal(iw_hasher_chunk(&hasher, &iov, 1, &d), 0);
	buf[3] ^= 1;
	assert_int_equal(iw_target_store(&t, &hasher, 0, &iov, 1, &d, &why), -1);
	assert_int_equal(why.code, IW_XC_DIGEST);
	buf[3] ^= 1;
	assert_int_equal(iw_target_store(&t, &hasher, 0, &iov, 1, &d, &why), 0);
	/* The list's digest is not that of the chunk. */
	assert_int_equal(iw_target_commit(&t, &hasher, 10, &d, &why), -1);
	assert_int_equal(why.code, IW_XC_DIGEST);
	iw_target_abandon(&t, IW_XC_DIGEST);
	assert_false(is_there("in/f"));
	assert_int_equal(parts_in("in"), 0);
	iw_place_close(&p);
}

static void zeros_become_holes(void **state)
{
	struct iw_place p = place("", false);
	struct iw_xmeta m = meta("f", 3 * MIB);
	struct iw_file_fault why;
	struct iw_target t;
	struct stat st;
	size_t len;
	char *all;

	(void)state;
	assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why), IW_CREATED);
	memset(buf, 0, sizeof(buf));
	buf[5] = 1;
	buf[sizeof(buf) / 2] = 2;
	assert_int_equal(store(&t, MIB, buf, sizeof(buf), &why), 0);
	assert_int_equal(commit(&t, 3 * MIB, &why), 0);
	assert_int_equal(fstatat(tmp_fd, "in/f", &st, 0), 0);
	assert_int_equal(st.st_size, 3 * MIB);
	assert_true((uint64_t)st.st_blocks * 512 < MIB);
	all = get_file("in/f", &len);
	assert_memory_equal(all + MIB, buf, sizeof(buf));
	for (size_t i = 0; i < MIB; i++)
		assert_int_equal(all[i] | all[i + 2 * MIB], 0);
	free(all);
	iw_place_close(&p);
}

static void nothing_outside_the_base_is_touched(void **state)
{
	static const char *const names[] = { "up/f", "../out/f", "deep/up/f" };
	struct iw_place p;
	struct iw_file_fault why;
	struct iw_target t;
	int root;

	(void)state;
	put_link("../out", "in/up");
	put_dir("in/deep");
	put_link("../../out", "in/deep/up");
	p = place("", false);
	for (size_t i = 0; i < IW_ARRAY_LEN(names); i++) {
		struct iw_xmeta m = meta(names[i], 1);

		assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why),
				 IW_CREATE_FAILED);
		assert_int_equal(why.code, IW_XC_TARGET);
		m.kind = IW_XFER_DIR;
		assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why),
				 IW_CREATE_FAILED);
	}
	iw_place_close(&p);
	root = openat(tmp_fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(iw_place_beneath(&p, root, "up", false, &why), -1);
	assert_int_equal(iw_place_beneath(&p, root, "up/f", false, &why), -1);
	assert_int_equal(iw_place_beneath(&p, root, "../out", false, &why), -1);
	assert_int_equal(iw_place_beneath(&p, root, "/tmp", false, &why), -1);
	close(root);
	assert_file_is("out/f", "precious");
	assert_int_equal(parts_in("out"), 0);
}

static void a_link_in_place_of_the_file_is_replaced(void **state)
{
	struct iw_place p;
	struct iw_xmeta m = meta("link", 3);
	struct iw_file_fault why;
	struct iw_target t;
	struct stat st;

	(void)state;
	put_link("../out/f", "in/link");
	p = place("", false);
	assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why), IW_CREATED);
	assert_int_equal(store(&t, 0, "new", 3, &why), 0);
	assert_int_equal(commit(&t, 3, &why), 0);
	assert_int_equal(fstatat(tmp_fd, "in/link", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_file_is("out/f", "precious");
	iw_place_close(&p);
}

static void what_is_no_file_stays(void **state)
{
	static const struct {
		const char *name, *text;
	} rows[] = { { "fifo", "no regular file" }, { "dir", "is a directory" } };
	struct iw_place p;
	struct iw_file_fault why;
	struct iw_target t;

	(void)state;
	put_dir("in/dir");
	assert_int_equal(mkfifoat(tmp_fd, "in/fifo", 0600), 0);
	p = place("", false);
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct iw_xmeta m = meta(rows[i].name, 3);

		assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why),
				 IW_CREATE_FAILED);
		assert_int_equal(why.code, IW_XC_TARGET);
		assert_non_null(strstr(why.text, rows[i].text));
	}
	assert_int_equal(parts_in("in"), 0);
	iw_place_close(&p);
}

static void scp_rules_of_the_target(void **state)
{
	struct iw_xmeta m = meta("name", 1), dir = meta("tree", 0), below = meta("tree/x", 1),
			stream = meta("stdin", 0);
	struct iw_file_fault why;
	struct iw_target t;
	struct iw_place p;
	int root = openat(tmp_fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	put_dir("in/sub");
	put_file("in/file", "x", 1);
	/* Into a directory: under their own names. */
	p = place("sub/", false);
	assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why), IW_CREATED);
	assert_int_equal(commit(&t, 1, &why), 0);
	assert_true(is_there("in/sub/name"));
	stream.kind = IW_XFER_STREAM;
	assert_int_equal(iw_target_create(&t, &p, &stream, IW_XFER_XXH3, &why), IW_CREATE_FAILED);
	iw_place_close(&p);
	/* Under another name, one alone. */
	p = place("sub/other", false);
	assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why), IW_CREATED);
	assert_int_equal(commit(&t, 1, &why), 0);
	assert_true(is_there("in/sub/other"));
	assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why), IW_CREATE_FAILED);
	assert_int_equal(why.code, IW_XC_TARGET);
	iw_place_close(&p);
	/* Several need a directory; its own directory must be there. */
	assert_int_equal(iw_place_beneath(&p, root, "file", true, &why), -1);
	assert_int_equal(why.code, IW_XC_TARGET);
	assert_int_equal(iw_place_beneath(&p, root, "none", true, &why), -1);
	assert_int_equal(why.code, IW_XC_NOENT);
	assert_int_equal(iw_place_beneath(&p, root, "none/", false, &why), -1);
	assert_int_equal(iw_place_beneath(&p, root, "none/x", false, &why), -1);
	assert_int_equal(why.code, IW_XC_NOENT);
	/* A tree makes its target, and keeps its name below it. */
	p = place("made", false);
	dir.kind = IW_XFER_DIR;
	below.top = false;
	assert_int_equal(iw_target_create(&t, &p, &dir, IW_XFER_XXH3, &why), IW_MADE);
	assert_int_equal(iw_target_create(&t, &p, &below, IW_XFER_XXH3, &why), IW_CREATED);
	assert_int_equal(commit(&t, 1, &why), 0);
	assert_true(is_there("in/made/tree/x"));
	assert_int_equal(iw_target_create(&t, &p, &dir, IW_XFER_XXH3, &why), IW_MADE);
	iw_place_close(&p);
	close(root);
}

static void the_local_users_target_may_lie_anywhere(void **state)
{
	struct iw_xmeta m = meta("name", 1);
	struct iw_file_fault why;
	struct iw_target t;
	struct iw_place p;
	char path[200];

	(void)state;
	snprintf(path, sizeof(path), "%s/in/../out", tmp_name);
	assert_int_equal(iw_place_local(&p, path, true, &why), 0);
	assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why), IW_CREATED);
	assert_int_equal(commit(&t, 1, &why), 0);
	assert_true(is_there("out/name"));
	iw_place_close(&p);
	snprintf(path, sizeof(path), "%s/out/other", tmp_name);
	assert_int_equal(iw_place_local(&p, path, false, &why), 0);
	assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why), IW_CREATED);
	assert_int_equal(commit(&t, 1, &why), 0);
	assert_true(is_there("out/other"));
	iw_place_close(&p);
	assert_int_equal(iw_place_local(&p, path, true, &why), -1);
	snprintf(path, sizeof(path), "%s/none/x", tmp_name);
	assert_int_equal(iw_place_local(&p, path, false, &why), -1);
	assert_int_equal(why.code, IW_XC_NOENT);
}

static void a_file_that_cannot_grow_fails_and_is_gone(void **state)
{
	struct iw_place p = place("", false);
	struct iw_xmeta m = meta("f", MIB);
	struct iw_file_fault why;
	struct rlimit old, small;
	struct iw_target t;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = old;
	small.rlim_cur = 100000;
	assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why), IW_CREATED);
	memset(buf, 7, sizeof(buf));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(store(&t, 0, buf, sizeof(buf), &why), -1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(why.code, IW_XC_SPACE);
	iw_target_abandon(&t, IW_XC_DIGEST);
	assert_int_equal(parts_in("in"), 0);
	iw_place_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_file_appears_when_it_is_whole, make, unmake),
		cmocka_unit_test_setup_teardown(wrong_digests_are_refused, make, unmake),
		cmocka_unit_test_setup_teardown(zeros_become_holes, make, unmake),
		cmocka_unit_test_setup_teardown(nothing_outside_the_base_is_touched, make, unmake),
		cmocka_unit_test_setup_teardown(a_link_in_place_of_the_file_is_replaced, make,
						unmake),
		cmocka_unit_test_setup_teardown(what_is_no_file_stays, make, unmake),
		cmocka_unit_test_setup_teardown(scp_rules_of_the_target, make, unmake),
		cmocka_unit_test_setup_teardown(the_local_users_target_may_lie_anywhere, make,
						unmake),
		cmocka_unit_test_setup_teardown(a_file_that_cannot_grow_fails_and_is_gone, make,
						unmake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
