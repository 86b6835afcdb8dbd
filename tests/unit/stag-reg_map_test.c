// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Mappings: which files can be mapped, and what happens when a mapped file is truncated. */
#include "stag-reg/map.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "transfer-files_tmp.h"

static int make(const char *name, size_t len)
{
	int fd = openat(tmp_fd, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(write(fd, "A", 1), 1);
	return fd;
}

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static void a_mapping_is_the_file_at_any_offset(void **state)
{
	const size_t len = 3 * page_size();
	const size_t offs[] = { 0, 1, page_size() - 1, page_size(), page_size() + 5, len - 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(offs) / sizeof(offs[0]); i++) {
		int fd = make("f", len), keep = dup(fd);
		struct iw_fault why;
		struct iw_map m;
		char c;

		assert_int_equal(iw_map_file(&m, fd, offs[i], 0, true, &why), 0);
		assert_int_equal(m.len, len - offs[i]);
		assert_int_equal(m.addr[0], 'A');
		m.addr[0] = 'B';
		m.addr[m.len - 1] = 'C';
		assert_int_equal(pread(keep, &c, 1, (off_t)len - 1), 1);
		assert_int_equal(c, 'C');
		assert_int_equal(pwrite(keep, "D", 1, (off_t)offs[i]), 1);
		assert_int_equal(m.addr[0], 'D');
		assert_true(iw_map_whole(&m));
		iw_map_close(&m);
		close(keep);
	}
}

/* SEC-16 */
static void file_that_cannot_be_mapped_is_refused_and_its_descriptor_closed(void **state)
{
	const uint64_t ranges[][2] = {
		{ 101, 0 }, { 100, 0 }, { 0, 101 }, { 50, 51 }, { INT64_MAX, 1 }
	};
	struct iw_fault why;
	struct iw_map m;
	int fd;

	(void)state;
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		fd = make("f", 100);
		assert_int_equal(iw_map_file(&m, fd, ranges[i][0], ranges[i][1], false, &why),
				 IW_E_INVAL);
		assert_int_equal(fcntl(fd, F_GETFD), -1);
	}
	assert_int_equal(iw_map_file(&m, make("e", 0), 0, 0, false, &why), IW_E_INVAL);
	fd = dup(tmp_fd);
	assert_int_equal(iw_map_file(&m, fd, 0, 0, false, &why), IW_E_INVAL);
	fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
	assert_int_equal(iw_map_file(&m, fd, 0, 1, true, &why), IW_E_INVAL);
	/* The rights of the descriptor apply, not those of the server. */
	close(make("f", 100));
	fd = openat(tmp_fd, "f", O_RDONLY | O_CLOEXEC);
	assert_int_equal(iw_map_file(&m, fd, 0, 0, true, &why), IW_E_PERM);
	assert_int_equal(iw_map_memory(&m, 0, &why), IW_E_INVAL);
	assert_int_not_equal(iw_map_memory(&m, UINT64_MAX / 2, &why), 0);
}

static void a_truncated_file_reads_as_zeros_and_is_reported_as_lost(void **state)
{
	const size_t len = 4 * page_size();
	int fd = make("f", len), keep = dup(fd);
	struct iw_fault why;
	struct iw_map m, other;
	char sum = 0;

	(void)state;
	assert_int_equal(iw_map_file(&m, fd, 0, 0, true, &why), 0);
	assert_int_equal(iw_map_file(&other, make("g", 10), 0, 0, true, &why), 0);
	assert_int_equal(ftruncate(keep, (off_t)page_size()), 0);
	assert_false(iw_map_whole(&m));
	assert_false(iw_map_lost_any());
	/* A read and then writes after the end of the file. */
	for (size_t i = page_size(); i < len; i++)
		sum |= *(volatile char *)&m.addr[i];
	assert_int_equal(sum, 0);
	memset(m.addr, 'B', len);
	assert_true(iw_map_lost_any());
	assert_false(iw_map_lost_any());
	/* It stays lost even if the file gets its length again. */
	assert_int_equal(ftruncate(keep, (off_t)len), 0);
	assert_false(iw_map_whole(&m));
	/* The remaining page has the octets written, and the other mapping is not affected. */
	assert_int_equal(pread(keep, &sum, 1, 0), 1);
	assert_int_equal(sum, 'B');
	assert_int_equal(pread(keep, &sum, 1, (off_t)page_size()), 1);
	assert_int_equal(sum, 0);
	assert_true(iw_map_whole(&other));
	iw_map_close(&m);
	iw_map_close(&other);
	close(keep);
}

/* An access within the last page raises no signal; the size of the file shows the loss. */
static void an_end_within_the_last_page_is_seen(void **state)
{
	int fd = make("f", 100), keep = dup(fd);
	struct iw_fault why;
	struct iw_map m;

	(void)state;
	assert_int_equal(iw_map_file(&m, fd, 10, 80, true, &why), 0);
	assert_int_equal(ftruncate(keep, 90), 0);
	assert_true(iw_map_whole(&m));
	assert_int_equal(ftruncate(keep, 89), 0);
	memset(m.addr, 'B', m.len);
	assert_false(iw_map_lost_any());
	assert_false(iw_map_whole(&m));
	iw_map_close(&m);
	close(keep);
}

static void a_removed_file_stays(void **state)
{
	struct iw_fault why;
	struct iw_map m;

	(void)state;
	assert_int_equal(iw_map_file(&m, make("f", 100), 0, 0, true, &why), 0);
	assert_int_equal(unlinkat(tmp_fd, "f", 0), 0);
	memset(m.addr, 'B', m.len);
	assert_true(iw_map_whole(&m));
	iw_map_close(&m);
}

/* A fault outside of the mappings has its default action: it ends the process. */
static void a_fault_outside_a_mapping_ends_the_process(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		int own = make("own", 100);
		volatile char *p = mmap(NULL, page_size(), PROT_READ, MAP_SHARED, own, 0);
		struct iw_fault why;
		struct iw_map m;

		/* Replaces cmocka's handler, which would continue with the next test. */
		signal(SIGBUS, SIG_DFL);
		if (iw_map_file(&m, make("f", 100), 0, 0, true, &why) != 0 || ftruncate(own, 0) < 0)
			_exit(99);
		_exit(p[0]);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGBUS);
}

static int set_up(void **state)
{
	(void)state;
	tmp_make();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	tmp_remove();
	return 0;
}

#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_mapping_is_the_file_at_any_offset),
		test(file_that_cannot_be_mapped_is_refused_and_its_descriptor_closed),
		test(a_truncated_file_reads_as_zeros_and_is_reported_as_lost),
		test(an_end_within_the_last_page_is_seen),
		test(a_removed_file_stays),
		test(a_fault_outside_a_mapping_ends_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
