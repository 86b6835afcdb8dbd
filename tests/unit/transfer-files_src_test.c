// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reading a source: holes, slow streams, and files that change meanwhile. */
#include "transfer/files/src.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transfer/files/space.h"
#include "unit/transfer-files_tmp.h"

#define MIB ((uint64_t)1 << 20)

static struct iw_hasher hasher;
static uint8_t buf[IW_XFER_CHUNK];

static int make(void **state)
{
	struct iw_fault why;

	(void)state;
	tmp_make();
	return iw_hasher_init(&hasher, IW_XFER_XXH3, &why);
}

static int unmake(void **state)
{
	(void)state;
	iw_hasher_fini(&hasher);
	tmp_remove();
	return 0;
}

static struct iw_src open_src(const char *name)
{
	struct iw_file_fault why;
	struct iw_src s;

	assert_int_equal(iw_src_open(&s, openat(tmp_fd, name, O_RDONLY | O_CLOEXEC), &why), 0);
	return s;
}

static void data_are_found_between_holes(void **state)
{
	struct iw_file_fault why;
	struct iw_src s;
	uint64_t at, len, data = 0;
	bool last = false;
	int fd = openat(tmp_fd, "sparse", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	(void)state;
	assert_int_equal(ftruncate(fd, (off_t)(100 * MIB + 5)), 0);
	assert_int_equal(pwrite(fd, "x", 1, 40 * (off_t)MIB + 7), 1);
	assert_int_equal(pwrite(fd, "y", 1, 100 * (off_t)MIB + 4), 1);
	close(fd);
	s = open_src("sparse");
	for (uint64_t off = 0; !last; off = at + len) {
		assert_int_equal(iw_src_next_data(&s, off, &at, &len, &last, &why), 0);
		if (len == 0)
			break;
		assert_true(at >= off && at + len <= 100 * MIB + 5);
		assert_int_equal(at % IW_XFER_CHUNK, 0);
		assert_true((at + len) % IW_XFER_CHUNK == 0 || at + len == 100 * MIB + 5);
		data += len;
	}
	/* At least the two chunks with data; all of it on a file system without holes. */
	assert_true(data >= MIB + 5 && data <= 100 * MIB + 5);
	iw_src_close(&s);
	put_file("empty", "", 0);
	s = open_src("empty");
	assert_int_equal(iw_src_next_data(&s, 0, &at, &len, &last, &why), 0);
	assert_true(len == 0 && last);
	iw_src_close(&s);
}

static void a_chunk_is_read_hashed_and_remembered(void **state)
{
	struct iw_file_fault why;
	struct iw_xfer_chunk l;
	struct iw_xfer_digest d;
	struct iw_src s;

	(void)state;
	put_file("f", "octets", 6);
	s = open_src("f");
	assert_int_equal(iw_src_load(&s, &hasher, 2, 4, buf, &l, &why), 0);
	assert_memory_equal(buf, "tets", 4);
	assert_true(l.len == 4 && !l.zero && l.digest.len == 16);
	assert_int_equal(s.chunks.n, 1);
	assert_int_equal(iw_src_finish(&s, &hasher, 6, &d, &why), 0);
	assert_int_equal(d.len, 16);
	iw_src_close(&s);
	put_file("zeros", "\0\0\0\0", 4);
	s = open_src("zeros");
	assert_int_equal(iw_src_load(&s, &hasher, 0, 4, buf, &l, &why), 0);
	assert_true(l.zero && l.digest.len == 0);
	assert_int_equal(s.chunks.n, 0);
	iw_src_close(&s);
}

static void file_changed_while_it_is_read_is_an_error(void **state)
{
	static const char *const texts[] = { "became shorter", "became longer", "was written to",
					     "became shorter" };

	(void)state;
	for (int i = 0; i < 4; i++) {
		const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
		struct iw_file_fault why;
		struct iw_xfer_chunk l;
		struct iw_xfer_digest d;
		struct iw_src s;
		int fd, r;

		put_file("f", "0123456789", 10);
		/* So that a write changes the time, on file systems with coarse times too. */
		assert_int_equal(utimensat(tmp_fd, "f", old, 0), 0);
		s = open_src("f");
		fd = openat(tmp_fd, "f", O_WRONLY | O_CLOEXEC);
		if (i == 0 || i == 3)
			assert_int_equal(ftruncate(fd, 4), 0);
		if (i == 1)
			assert_int_equal(pwrite(fd, "x", 1, 10), 1);
		if (i == 2)
			assert_int_equal(pwrite(fd, "x", 1, 3), 1);
		close(fd);
		if (i == 3)
			r = iw_src_load(&s, &hasher, 0, 10, buf, &l, &why);
		else
			r = iw_src_finish(&s, &hasher, 10, &d, &why);
		assert_int_equal(r, -1);
		assert_int_equal(why.code, IW_XFER_CODE_CHANGED);
		assert_non_null(strstr(why.text, texts[i]));
		iw_src_close(&s);
	}
}

/* Some files in /proc have size 0 and contents. */
static void content_longer_than_the_announced_size_is_an_error(void **state)
{
	struct iw_file_fault why;
	struct iw_xfer_digest d;
	struct iw_src s;
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);

	(void)state;
	if (fd < 0)
		skip();
	assert_int_equal(iw_src_open(&s, fd, &why), 0);
	assert_int_equal(s.at_open.st_size, 0);
	assert_int_equal(iw_src_finish(&s, &hasher, 0, &d, &why), -1);
	assert_int_equal(why.code, IW_XFER_CODE_CHANGED);
	iw_src_close(&s);
}

static void names_that_are_not_regular_files_are_refused(void **state)
{
	struct iw_file_fault why;
	struct iw_src s;

	(void)state;
	assert_int_equal(mkfifoat(tmp_fd, "fifo", 0600), 0);
	assert_int_equal(iw_src_open(&s, openat(tmp_fd, "fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC),
				     &why),
			 -1);
	assert_int_equal(why.code, IW_XFER_CODE_KIND);
	assert_int_equal(iw_src_open(&s, openat(tmp_fd, ".", O_RDONLY | O_CLOEXEC), &why), -1);
	assert_int_equal(why.code, IW_XFER_CODE_KIND);
}

static void a_source_that_is_a_stream_is_not_awaited(void **state)
{
	struct iw_file_fault why;
	struct iw_xfer_chunk l;
	struct iw_src s;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	iw_src_open_stream(&s, fds[0]);
	assert_int_equal(iw_src_load(&s, &hasher, 0, 8, buf, &l, &why), 1);
	assert_int_equal(write(fds[1], "abc", 3), 3);
	assert_int_equal(iw_src_load(&s, &hasher, 0, 8, buf, &l, &why), 1);
	assert_int_equal(write(fds[1], "defghijk", 8), 8);
	assert_int_equal(iw_src_load(&s, &hasher, 0, 8, buf, &l, &why), 0);
	assert_int_equal(l.len, 8);
	assert_memory_equal(buf, "abcdefgh", 8);
	assert_int_equal(iw_src_load(&s, &hasher, 8, 8, buf, &l, &why), 1);
	close(fds[1]);
	assert_int_equal(iw_src_load(&s, &hasher, 8, 8, buf, &l, &why), 0);
	assert_int_equal(l.len, 3);
	assert_memory_equal(buf, "ijk", 3);
	assert_int_equal(iw_src_load(&s, &hasher, 16, 8, buf, &l, &why), 0);
	assert_int_equal(l.len, 0);
	iw_src_close(&s);
	close(fds[0]);
}

/* A file in memory is on tmpfs. */
static void allocated_file_on_tmpfs_is_not_searched_for_holes(void **state)
{
	const off_t size = 64L << 20;
	struct iw_file_fault why;
	struct iw_src s;
	int fd = memfd_create("holes", MFD_CLOEXEC);
	struct stat st;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(iw_space_holes(fd, &st));
	assert_int_equal(iw_space_data(fd, (uint64_t)size), 0);
	assert_int_equal(fallocate(fd, 0, 0, size - (4L << 20)), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(iw_space_holes(fd, &st));
	assert_int_equal(fallocate(fd, 0, 0, size), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_false(iw_space_holes(fd, &st));
	assert_int_equal(iw_space_data(fd, (uint64_t)size), size);
	assert_int_equal(iw_src_open(&s, fd, &why), 0);
	assert_false(s.seeks_data);
	iw_src_close(&s);
}

static void octets_in_memory_are_fetched_once(void **state)
{
	int fd = memfd_create("f", MFD_CLOEXEC);
	struct iw_file_fault why;
	struct iw_xfer_chunk l;
	struct iw_src s;

	(void)state;
	assert_int_equal(write(fd, "octets", 6), 6);
	assert_int_equal(iw_src_open(&s, fd, &why), 0);
	assert_true(iw_src_fetch(&s, 0, 6, buf));
	assert_memory_equal(buf, "octets", 6);
	/* Only the buffer has them now. */
	assert_int_equal(ftruncate(fd, 4), 0);
	assert_int_equal(iw_src_load(&s, &hasher, 0, 6, buf, &l, &why), 0);
	assert_true(l.len == 6 && l.digest.len == 16);
	/* The rest is read, and its absence reported; the next load reads everything. */
	assert_false(iw_src_fetch(&s, 0, 6, buf));
	assert_int_equal(iw_src_load(&s, &hasher, 0, 6, buf, &l, &why), -1);
	assert_int_equal(why.code, IW_XFER_CODE_CHANGED);
	memset(buf, 0, 4);
	assert_int_equal(iw_src_load(&s, &hasher, 0, 4, buf, &l, &why), 0);
	assert_memory_equal(buf, "octe", 4);
	iw_src_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(data_are_found_between_holes, make, unmake),
		cmocka_unit_test_setup_teardown(a_chunk_is_read_hashed_and_remembered, make,
						unmake),
		cmocka_unit_test_setup_teardown(file_changed_while_it_is_read_is_an_error, make,
						unmake),
		cmocka_unit_test_setup_teardown(content_longer_than_the_announced_size_is_an_error,
						make, unmake),
		cmocka_unit_test_setup_teardown(names_that_are_not_regular_files_are_refused, make,
						unmake),
		cmocka_unit_test_setup_teardown(a_source_that_is_a_stream_is_not_awaited, make,
						unmake),
		cmocka_unit_test_setup_teardown(octets_in_memory_are_fetched_once, make, unmake),
		cmocka_unit_test(allocated_file_on_tmpfs_is_not_searched_for_holes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
