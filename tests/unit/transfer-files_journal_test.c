// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A journal never lists a chunk wrongly, whatever happened to it. */
#include "transfer/files/journal.h"

#include "unit/transfer-files_tmp.h"

static int make(void **state)
{
	(void)state;
	tmp_make();
	return 0;
}

static int unmake(void **state)
{
	(void)state;
	tmp_remove();
	return 0;
}

static struct iw_xfer_meta meta(void)
{
	return (struct iw_xfer_meta){ .size = 10u << 20,
				      .mtime_s = 5,
				      .mtime_ns = 6,
				      .ident = { 1, 2, 3 },
				      .ident_len = 16 };
}

/* The number of chunks that a new reader finds. */
static size_t found(const struct iw_xfer_meta *m, enum iw_xfer_digest_kind digest)
{
	struct iw_chunk_list l = { .n = 0 };
	struct iw_journal j;
	size_t n;

	assert_int_equal(iw_journal_open(&j, tmp_fd, "j", tmp_fd, m, digest, &l), 0);
	n = l.n;
	for (size_t i = 0; i < n; i++) {
		struct iw_xfer_digest d;
		uint64_t off;

		iw_chunk_list_row(&l, i, &off, &d);
		assert_int_equal(d.octets[0], off / IW_XFER_CHUNK);
	}
	iw_journal_close(&j);
	iw_chunk_list_free(&l);
	return n;
}

static void note(unsigned from, unsigned to)
{
	struct iw_chunk_list l = { .n = 0 };
	struct iw_xfer_meta m = meta();
	struct iw_journal j;

	assert_int_equal(iw_journal_open(&j, tmp_fd, "j", tmp_fd, &m, IW_XFER_XXH3, &l), 0);
	for (unsigned i = from; i < to; i++) {
		struct iw_xfer_digest d = { .len = 16, .octets = { (uint8_t)i } };

		iw_journal_note(&j, (uint64_t)i * IW_XFER_CHUNK, &d);
	}
	iw_journal_close(&j);
	iw_chunk_list_free(&l);
}

static void journalled_chunks_are_found_again(void **state)
{
	const struct iw_xfer_meta m = meta();

	(void)state;
	assert_int_equal(found(&m, IW_XFER_XXH3), 0);
	note(0, 4);
	note(4, 7);
	assert_int_equal(found(&m, IW_XFER_XXH3), 7);
}

static void another_state_of_the_source_begins_anew(void **state)
{
	struct iw_xfer_meta other[4] = { meta(), meta(), meta(), meta() };
	const struct iw_xfer_meta m = meta();

	(void)state;
	other[0].size++;
	other[1].mtime_ns++;
	other[2].ident[15]++;
	other[3].mtime_s++;
	for (size_t i = 0; i < 4; i++) {
		note(0, 4);
		assert_int_equal(found(&other[i], IW_XFER_XXH3), 0);
		assert_int_equal(found(&m, IW_XFER_XXH3), 0);
	}
	note(0, 4);
	assert_int_equal(found(&m, IW_XFER_SHA256), 0);
}

static void a_record_that_is_not_whole_ends_the_journal(void **state)
{
	const struct iw_xfer_meta m = meta();
	struct stat st;
	int fd;

	(void)state;
	note(0, 4);
	fd = openat(tmp_fd, "j", O_RDWR | O_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(ftruncate(fd, st.st_size - 1), 0);
	assert_int_equal(found(&m, IW_XFER_XXH3), 3);
	/* The next record overwrites the damaged one. */
	note(3, 5);
	assert_int_equal(found(&m, IW_XFER_XXH3), 5);
	assert_int_equal(pwrite(fd, "x", 1, st.st_size - 60), 1);
	assert_true(found(&m, IW_XFER_XXH3) < 5);
	close(fd);
}

static void a_journal_of_another_file_is_not_trusted(void **state)
{
	struct iw_chunk_list l = { .n = 0 };
	const struct iw_xfer_meta m = meta();
	struct iw_journal j;
	int fd;

	(void)state;
	note(0, 4);
	put_file("other", "x", 1);
	fd = openat(tmp_fd, "other", O_RDWR | O_CLOEXEC);
	assert_int_equal(iw_journal_open(&j, tmp_fd, "j", fd, &m, IW_XFER_XXH3, &l), 0);
	assert_int_equal(l.n, 0);
	iw_journal_close(&j);
	close(fd);
}

static void a_journal_that_others_could_write_is_created_again(void **state)
{
	const struct iw_xfer_meta m = meta();

	(void)state;
	note(0, 4);
	assert_int_equal(fchmodat(tmp_fd, "j", 0640, 0), 0);
	assert_int_equal(found(&m, IW_XFER_XXH3), 0);
	note(0, 4);
	assert_int_equal(linkat(tmp_fd, "j", tmp_fd, "k", 0), 0);
	assert_int_equal(found(&m, IW_XFER_XXH3), 0);
	note(0, 4);
	assert_int_equal(found(&m, IW_XFER_XXH3), 4);
}

static void another_users_journal_is_not_used(void **state)
{
	struct iw_chunk_list l = { .n = 0 };
	const struct iw_xfer_meta m = meta();
	struct iw_journal j;

	(void)state;
	if (geteuid() != 0) {
		print_message("# needs root: no file of another user's can be made\n");
		skip();
	}
	note(0, 4);
	assert_int_equal(fchownat(tmp_fd, "j", 65534, 65534, 0), 0);
	assert_int_equal(iw_journal_open(&j, tmp_fd, "j", tmp_fd, &m, IW_XFER_XXH3, &l), -1);
	assert_int_equal(j.fd, -1);
	assert_int_equal(l.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(journalled_chunks_are_found_again, make, unmake),
		cmocka_unit_test_setup_teardown(another_state_of_the_source_begins_anew, make,
						unmake),
		cmocka_unit_test_setup_teardown(a_record_that_is_not_whole_ends_the_journal, make,
						unmake),
		cmocka_unit_test_setup_teardown(a_journal_of_another_file_is_not_trusted, make,
						unmake),
		cmocka_unit_test_setup_teardown(a_journal_that_others_could_write_is_created_again,
						make, unmake),
		cmocka_unit_test_setup_teardown(another_users_journal_is_not_used, make, unmake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
