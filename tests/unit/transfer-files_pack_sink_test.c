// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Packs of the sink: modes and times, and files that another process adds to a new directory. */
#include "transfer/files/pack.h"

#include <sys/stat.h>

#include "unit/transfer-files_tmp.h"
#include "util/num.h"

#define TIME 1234567890

static struct iw_hasher hasher;
static struct iw_pack_sink sink;
static uint8_t list[IW_XFER_LIST_MAX];

static int make(void **state)
{
	struct iw_fault why;

	(void)state;
	tmp_make();
	put_dir("in");
	return iw_hasher_init(&hasher, IW_XFER_XXH3, &why);
}

static int unmake(void **state)
{
	(void)state;
	iw_hasher_fini(&hasher);
	tmp_remove();
	return 0;
}

static struct iw_xfer_meta member(enum iw_xfer_kind kind, const char *name, uint32_t mode)
{
	return (struct iw_xfer_meta){ .kind = kind,
				      .name = name,
				      .name_len = strlen(name),
				      .size = kind == IW_XFER_FILE ? 3 : 0,
				      .mode = mode,
				      .mtime_s = TIME };
}

static struct iw_place place(uint32_t opts)
{
	struct iw_file_fault why;
	struct iw_place p;
	int root = openat(tmp_fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (iw_place_beneath(&p, root, "", IW_XFER_OPT_MANY | opts, &why) != 0)
		fail_msg("%s", why.text);
	p.opts = opts;
	close(root);
	return p;
}

/* Opens a pack of the n members, all of whose files must be wanted. */
static void open_pack(struct iw_place *p, const struct iw_xfer_meta *m, size_t n)
{
	struct iw_xfer_meta pack = { .kind = IW_XFER_PACK, .target = (const char *)list };
	struct iw_xfer_pack_out out;
	struct iw_file_fault why;
	uint32_t files = 0;

	iw_xfer_pack_begin(&out, list, sizeof(list));
	for (size_t i = 0; i < n; i++) {
		assert_true(iw_xfer_pack_add(&out, &m[i]));
		files += m[i].kind == IW_XFER_FILE;
	}
	pack.target_len = iw_xfer_pack_end(&out);
	pack.members = (uint32_t)n;
	if (iw_pack_sink_open(&sink, p, &pack, &why) != 0)
		fail_msg("%s", why.text);
	assert_int_equal(sink.nwanted, files);
}

/* Stores "new" in each wanted file. */
static void store_new(void)
{
	uint8_t content[16 * 4], *at = content;
	struct iw_xfer_digest d;
	struct iw_file_fault why;
	struct iovec iov = { .iov_base = content };

	for (uint32_t i = 0; i < sink.nwanted; i++, at += 4)
		memcpy(at, "\0new", 4);
	iov.iov_len = (size_t)(at - content);
	assert_int_equal(iw_hasher_chunk(&hasher, &iov, 1, &d), 0);
	if (iw_pack_sink_store(&sink, &hasher, 0, &iov, 1, &d, &why) != 0)
		fail_msg("%s", why.text);
}

static struct stat stat_of(const char *name)
{
	struct stat st;

	assert_int_equal(fstatat(tmp_fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st;
}

static void files_of_one_directory_get_their_own_modes(void **state)
{
	static const uint32_t modes[] = { 0600, 0644, 0444, 0777, 0640, 0000, 0622 };
	static const char *const names[] = { "d/0", "d/1", "d/2", "d/3", "d/4", "d/5", "d/6" };
	struct iw_xfer_meta m[1 + IW_ARRAY_LEN(modes)] = { member(IW_XFER_DIR, "d", 0755) };
	struct iw_place p = place(0);
	mode_t old = umask(027); /* affects creation, but not what this place sets */

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(modes); i++)
		m[1 + i] = member(IW_XFER_FILE, names[i], modes[i]);
	open_pack(&p, m, IW_ARRAY_LEN(m));
	store_new();
	umask(old);
	for (size_t i = 0; i < IW_ARRAY_LEN(modes); i++) {
		char path[16];
		struct stat st;

		snprintf(path, sizeof(path), "in/%s", names[i]);
		st = stat_of(path);
		assert_int_equal(sink.codes[1 + i], IW_XFER_CODE_OK);
		assert_int_equal(st.st_mode & 07777, modes[i]);
		assert_int_equal(st.st_mtim.tv_sec, TIME);
		assert_int_equal(st.st_size, 3);
	}
	iw_pack_sink_close(&sink);
	iw_place_close(&p);
}

/* Another process adds files to a directory after this transfer created it. */
static void open_with_other_files(struct iw_place *p)
{
	const struct timespec same[2] = { { .tv_sec = TIME }, { .tv_sec = TIME } };
	const struct iw_xfer_meta m[] = { member(IW_XFER_DIR, "d", 0755),
					  member(IW_XFER_FILE, "d/same", 0644),
					  member(IW_XFER_FILE, "d/older", 0644),
					  member(IW_XFER_FILE, "d/pipe", 0644) };

	open_pack(p, m, IW_ARRAY_LEN(m));
	put_file("in/d/same", "old", 3);
	assert_int_equal(utimensat(tmp_fd, "in/d/same", same, 0), 0);
	put_file("in/d/older", "older", 5);
	assert_int_equal(mkfifoat(tmp_fd, "in/d/pipe", 0600), 0);
	store_new();
}

static void files_added_to_a_new_directory_are_checked(void **state)
{
	struct iw_place p = place(0);

	(void)state;
	open_with_other_files(&p);
	assert_int_equal(sink.codes[1], IW_XFER_CODE_SAME);
	assert_int_equal(sink.codes[2], IW_XFER_CODE_OK);
	assert_int_equal(sink.codes[3], IW_XFER_CODE_TARGET);
	assert_int_equal(stat_of("in/d/older").st_size, 3);
	assert_true(S_ISFIFO(stat_of("in/d/pipe").st_mode));
	iw_pack_sink_close(&sink);
	iw_place_close(&p);
}

static void no_clobber_keeps_files_added_to_a_new_directory(void **state)
{
	struct iw_place p = place(IW_XFER_OPT_NO_CLOBBER);

	(void)state;
	open_with_other_files(&p);
	assert_int_equal(sink.codes[1], IW_XFER_CODE_EXISTS);
	assert_int_equal(sink.codes[2], IW_XFER_CODE_EXISTS);
	assert_int_equal(stat_of("in/d/older").st_size, 5);
	iw_pack_sink_close(&sink);
	iw_place_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(files_of_one_directory_get_their_own_modes, make,
						unmake),
		cmocka_unit_test_setup_teardown(files_added_to_a_new_directory_are_checked, make,
						unmake),
		cmocka_unit_test_setup_teardown(no_clobber_keeps_files_added_to_a_new_directory,
						make, unmake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
