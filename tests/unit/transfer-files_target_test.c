// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A received file gets its name when it is complete, not before; nothing outside the base changes.
 */
#include "transfer/files/target.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "unit/transfer-files_tmp.h"
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

static struct iw_xfer_meta meta(const char *name, uint64_t size)
{
	return (struct iw_xfer_meta){ .name = name,
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

	if (iw_place_beneath(&p, root, path, many ? IW_XFER_OPT_MANY : 0, &why) != 0)
		fail_msg("%s", why.text);
	close(root);
	return p;
}

static int store(struct iw_target *t, uint64_t off, const void *octets, size_t len,
		 struct iw_file_fault *why)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)octets, .iov_len = len };
	struct iw_xfer_digest d;

	assert_int_equal(iw_hasher_chunk(&hasher, &iov, 1, &d), 0);
	return iw_target_store(t, &hasher, off, &iov, 1, &d, why);
}

static int commit(struct iw_target *t, uint64_t size, struct iw_file_fault *why)
{
	struct iw_chunk_list copy = t->chunks;
	struct iw_xfer_digest d;

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

/* True if the file system of the test has files without a name. */
static bool has_unnamed_files(void)
{
	int fd = openat(tmp_fd, ".", O_TMPFILE | O_RDWR, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void a_file_appears_only_when_it_is_complete(void **state)
{
	struct iw_place p = place("", false);
	struct iw_xfer_meta m = meta("f", 6);
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
	/* It cannot be resumed, so nothing of it may survive a process that is killed now. */
	assert_int_equal(parts_in("in"), has_unnamed_files() ? 0 : 1);
	assert_int_equal(commit(&t, 6, &why), 0);
	assert_file_is("in/f", "octets");
	assert_int_equal(parts_in("in"), 0);
	assert_int_equal(fstatat(tmp_fd, "in/f", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(st.st_mtim.tv_sec, 1234567890);
	assert_int_equal(st.st_mtim.tv_nsec, 987654321);
	/* The same file again is skipped, except with IW_XFER_OPT_FORCE. */
	assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why), IW_CREATE_FAILED);
	assert_int_equal(why.code, IW_XFER_CODE_SAME);
	p.opts |= IW_XFER_OPT_FORCE;
	assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why), IW_CREATED);
	iw_target_abandon(&t, IW_XFER_CODE_DIGEST);
	assert_file_is("in/f", "octets");
	assert_int_equal(parts_in("in"), 0);
	iw_place_close(&p);
}

static void create_and_begin(struct iw_target *t, struct iw_place *p, const struct iw_xfer_meta *m)
{
	struct iw_file_fault why;

	assert_int_equal(iw_target_create(t, p, m, IW_XFER_XXH3, &why), IW_CREATED);
	assert_int_equal(store(t, 0, buf, sizeof(buf), &why), 0);
}

/*
 * A connection is lost, and its file arrives on another one. The loss is noticed before or after
 * that.
 */
static void one_file_in_two_temporaries_leaves_neither(void **state)
{
	struct iw_xfer_meta m = meta("f", MIB + 1);
	struct iw_file_fault why;

	(void)state;
	memset(buf, 7, sizeof(buf));
	for (unsigned late = 0; late < 2; late++) {
		struct iw_place p = place("", false);
		struct iw_target lost, other;

		create_and_begin(&lost, &p, &m);
		iw_place_return(&p, &m);
		create_and_begin(&other, &p, &m);
		assert_int_equal(parts_in("in"), 2);
		if (!late)
			iw_target_abandon(&lost, IW_XFER_CODE_CANCELED);
		assert_int_equal(store(&other, MIB, "x", 1, &why), 0);
		assert_int_equal(commit(&other, m.size, &why), 0);
		if (late)
			iw_target_abandon(&lost, IW_XFER_CODE_CANCELED);
		assert_int_equal(parts_in("in"), 0);
		assert_int_equal(unlinkat(tmp_fd, "in/f", 0), 0);
		iw_place_close(&p);
	}
}

static void wrong_digests_are_refused(void **state)
{
	struct iw_place p = place("", false);
	struct iovec iov = { .iov_base = buf, .iov_len = 10 };
	struct iw_xfer_meta m = meta("f", 10);
	struct iw_xfer_digest d;
	struct iw_file_fault why;
	struct iw_target t;

	(void)state;
	assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why), IW_CREATED);
	memset(buf, 1, 10);
	assert_int_equal(iw_hasher_chunk(&hasher, &iov, 1, &d), 0);
	buf[3] ^= 1;
	assert_int_equal(iw_target_store(&t, &hasher, 0, &iov, 1, &d, &why), -1);
	assert_int_equal(why.code, IW_XFER_CODE_DIGEST);
	buf[3] ^= 1;
	assert_int_equal(iw_target_store(&t, &hasher, 0, &iov, 1, &d, &why), 0);
	/* The digest of the file is not that of its only chunk. */
	assert_int_equal(iw_target_commit(&t, &hasher, 10, &d, &why), -1);
	assert_int_equal(why.code, IW_XFER_CODE_DIGEST);
	iw_target_abandon(&t, IW_XFER_CODE_DIGEST);
	assert_false(is_there("in/f"));
	assert_int_equal(parts_in("in"), 0);
	iw_place_close(&p);
}

static void zeros_become_holes(void **state)
{
	struct iw_place p = place("", false);
	struct iw_xfer_meta m = meta("f", 3 * MIB);
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
		struct iw_xfer_meta m = meta(names[i], 1);

		assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why),
				 IW_CREATE_FAILED);
		assert_true(why.code == IW_XFER_CODE_TARGET || why.code == IW_XFER_CODE_NAME);
		m.kind = IW_XFER_DIR;
		assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why),
				 IW_CREATE_FAILED);
	}
	iw_place_close(&p);
	root = openat(tmp_fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(iw_place_beneath(&p, root, "up", 0, &why), -1);
	assert_int_equal(iw_place_beneath(&p, root, "up/f", 0, &why), -1);
	assert_int_equal(iw_place_beneath(&p, root, "../out", 0, &why), -1);
	assert_int_equal(iw_place_beneath(&p, root, "/tmp", 0, &why), -1);
	close(root);
	assert_file_is("out/f", "precious");
	assert_int_equal(parts_in("out"), 0);
}

static void a_link_in_place_of_the_file_is_replaced(void **state)
{
	struct iw_place p;
	struct iw_xfer_meta m = meta("link", 3);
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

static void names_that_are_not_regular_files_stay(void **state)
{
	static const struct {
		const char *name, *text;
	} rows[] = { { "fifo", "not a regular file" }, { "dir", "is a directory" } };
	struct iw_place p;
	struct iw_file_fault why;
	struct iw_target t;

	(void)state;
	put_dir("in/dir");
	assert_int_equal(mkfifoat(tmp_fd, "in/fifo", 0600), 0);
	p = place("", false);
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct iw_xfer_meta m = meta(rows[i].name, 3);

		assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why),
				 IW_CREATE_FAILED);
		assert_int_equal(why.code, IW_XFER_CODE_TARGET);
		assert_non_null(strstr(why.text, rows[i].text));
	}
	assert_int_equal(parts_in("in"), 0);
	iw_place_close(&p);
}

static void scp_rules_of_the_target(void **state)
{
	struct iw_xfer_meta m = meta("name", 1), dir = meta("tree", 0), below = meta("tree/x", 1),
			    stream = meta("stdin", 0);
	struct iw_file_fault why;
	struct iw_target t;
	struct iw_place p;
	int root = openat(tmp_fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	put_dir("in/sub");
	put_file("in/file", "x", 1);
	/* Into a directory: the files keep their names. */
	p = place("sub/", false);
	assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why), IW_CREATED);
	assert_int_equal(commit(&t, 1, &why), 0);
	assert_true(is_there("in/sub/name"));
	stream.kind = IW_XFER_STREAM;
	assert_int_equal(iw_target_create(&t, &p, &stream, IW_XFER_XXH3, &why), IW_CREATE_FAILED);
	iw_place_close(&p);
	/* A single file gets another name. */
	p = place("sub/other", false);
	assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why), IW_CREATED);
	assert_int_equal(commit(&t, 1, &why), 0);
	assert_true(is_there("in/sub/other"));
	assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why), IW_CREATE_FAILED);
	assert_int_equal(why.code, IW_XFER_CODE_TARGET);
	iw_place_close(&p);
	/* Several files need a directory; the parent of the target must exist. */
	assert_int_equal(iw_place_beneath(&p, root, "file", IW_XFER_OPT_MANY, &why), -1);
	assert_int_equal(why.code, IW_XFER_CODE_TARGET);
	assert_int_equal(iw_place_beneath(&p, root, "none", IW_XFER_OPT_MANY, &why), -1);
	assert_int_equal(why.code, IW_XFER_CODE_NOENT);
	assert_int_equal(iw_place_beneath(&p, root, "none/", 0, &why), -1);
	assert_int_equal(iw_place_beneath(&p, root, "none/x", 0, &why), -1);
	assert_int_equal(why.code, IW_XFER_CODE_NOENT);
	/* A directory gets the name of the target. */
	p = place("made", false);
	dir.kind = IW_XFER_DIR;
	below.top = false;
	assert_int_equal(iw_target_create(&t, &p, &dir, IW_XFER_XXH3, &why), IW_MADE);
	assert_int_equal(iw_target_create(&t, &p, &below, IW_XFER_XXH3, &why), IW_CREATED);
	assert_int_equal(commit(&t, 1, &why), 0);
	assert_true(is_there("in/made/x"));
	assert_int_equal(iw_target_create(&t, &p, &dir, IW_XFER_XXH3, &why), IW_MADE);
	iw_place_close(&p);
	close(root);
}

static void the_local_users_target_may_lie_anywhere(void **state)
{
	struct iw_xfer_meta m = meta("name", 1);
	struct iw_file_fault why;
	struct iw_target t;
	struct iw_place p;
	char path[200];

	(void)state;
	snprintf(path, sizeof(path), "%s/in/../out", tmp_name);
	assert_int_equal(iw_place_local(&p, path, IW_XFER_OPT_MANY, &why), 0);
	assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why), IW_CREATED);
	assert_int_equal(commit(&t, 1, &why), 0);
	assert_true(is_there("out/name"));
	iw_place_close(&p);
	snprintf(path, sizeof(path), "%s/out/other", tmp_name);
	assert_int_equal(iw_place_local(&p, path, 0, &why), 0);
	assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why), IW_CREATED);
	assert_int_equal(commit(&t, 1, &why), 0);
	assert_true(is_there("out/other"));
	iw_place_close(&p);
	assert_int_equal(iw_place_local(&p, path, IW_XFER_OPT_MANY, &why), -1);
	snprintf(path, sizeof(path), "%s/none/x", tmp_name);
	assert_int_equal(iw_place_local(&p, path, 0, &why), -1);
	assert_int_equal(why.code, IW_XFER_CODE_NOENT);
}

static void a_file_that_cannot_grow_fails_and_is_removed(void **state)
{
	struct iw_place p = place("", false);
	struct iw_xfer_meta m = meta("f", MIB);
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
	assert_int_equal(why.code, IW_XFER_CODE_LIMIT);
	iw_target_abandon(&t, IW_XFER_CODE_LIMIT);
	assert_int_equal(parts_in("in"), 0);
	iw_place_close(&p);
}

/* --- files of other local users in the directory --- */

#define STRANGER 65534

static struct iw_target big; /* of "big", two chunks */
static char part_name[100], journal_name[100];

static struct iw_xfer_meta big_meta(void)
{
	struct iw_xfer_meta m = meta("big", 2 * MIB);

	m.ident_len = 16;
	return m;
}

static void begin_big(struct iw_place *p, const struct iw_xfer_meta *m)
{
	struct iw_file_fault why;

	assert_int_equal(iw_target_create(&big, p, m, IW_XFER_XXH3, &why), IW_CREATED);
}

static void store_big(uint64_t off, int octet)
{
	struct iw_file_fault why;

	memset(buf, octet, sizeof(buf));
	assert_int_equal(store(&big, off, buf, sizeof(buf), &why), 0);
}

/* Interrupts a transfer after the first chunk, so that the name of its temporary is known. */
static void leave_one_behind(void)
{
	struct iw_place p = place("", false);
	struct iw_xfer_meta m = big_meta();

	begin_big(&p, &m);
	snprintf(part_name, sizeof(part_name), "in/%s", big.part->name);
	snprintf(journal_name, sizeof(journal_name), "in/%s", big.part->journal_name);
	store_big(0, 1);
	iw_target_abandon(&big, IW_XFER_CODE_CANCELED);
	iw_place_close(&p);
	assert_true(is_there(part_name));
	assert_true(is_there(journal_name));
}

/*
 * Repeats the transfer and returns the number of chunks that it resumes. The file must then be
 * complete and correct.
 */
static size_t resumed(void)
{
	struct iw_place p = place("", false);
	struct iw_xfer_meta m = big_meta();
	struct iw_file_fault why;
	struct stat st;
	size_t had, len;
	char *all;

	begin_big(&p, &m);
	had = big.had;
	assert_int_equal(fstat(big.part->fd, &st), 0);
	assert_int_equal(st.st_uid, geteuid());
	assert_int_equal(st.st_mode & 07777, 0600);
	if (had == 0)
		store_big(0, 1);
	store_big(MIB, 2);
	assert_int_equal(commit(&big, 2 * MIB, &why), 0);
	iw_place_close(&p);
	all = get_file("in/big", &len);
	assert_int_equal(len, 2 * MIB);
	for (size_t i = 0; i < len; i += 4096)
		assert_int_equal(all[i], i < MIB ? 1 : 2);
	free(all);
	return had;
}

static struct stat look(const char *name)
{
	struct stat st;

	assert_int_equal(fstatat(tmp_fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st;
}

static void a_temporary_of_this_user_is_resumed(void **state)
{
	(void)state;
	leave_one_behind();
	assert_int_equal(resumed(), 1);
	assert_false(is_there(part_name));
	assert_false(is_there(journal_name));
}

/* The C library's functions, in place of which these report an error once: that of a disk. */
static bool no_flush, no_fsync;

int sync_file_range(int fd, off64_t off, off64_t len, unsigned how)
{
	(void)fd;
	(void)off;
	(void)len;
	if (!no_flush || !(how & SYNC_FILE_RANGE_WAIT_AFTER))
		return 0;
	no_flush = false;
	errno = EIO;
	return -1;
}

int fsync(int fd)
{
	if (!no_fsync)
		return (int)syscall(SYS_fsync, fd);
	no_fsync = false;
	errno = ENOSPC;
	return -1;
}

static void a_chunk_fails_if_octets_before_it_were_not_written_back(void **state)
{
	struct iw_place p = place("", false);
	struct iw_xfer_meta m = big_meta();
	struct iw_file_fault why;
	uint64_t off = 0;

	(void)state;
	m.size = 80 * MIB;
	begin_big(&p, &m);
	no_flush = true;
	memset(buf, 1, sizeof(buf));
	while (store(&big, off, buf, sizeof(buf), &why) == 0) {
		off += sizeof(buf);
		assert_true(off < 80 * MIB);
	}
	assert_false(no_flush);
	assert_int_equal(why.code, IW_XFER_CODE_IO);
	iw_target_abandon(&big, why.code);
	assert_int_equal(parts_in("in"), 0);
	begin_big(&p, &m);
	assert_int_equal(big.had, 0);
	iw_target_abandon(&big, IW_XFER_CODE_DIGEST);
	iw_place_close(&p);
}

static void a_temporary_that_is_not_on_storage_is_not_resumed(void **state)
{
	struct iw_place p = place("", false);
	struct iw_xfer_meta m = big_meta();
	struct iw_file_fault why;
	uint8_t head[8];

	(void)state;
	m.mode = 0600; /* with another mode its temporary would not be used again in any case */
	begin_big(&p, &m);
	store_big(0, 1);
	store_big(MIB, 2);
	no_fsync = true;
	assert_int_equal(commit(&big, 2 * MIB, &why), -1);
	assert_false(no_fsync);
	assert_int_equal(why.code, IW_XFER_CODE_SPACE);
	assert_false(is_there("in/big"));
	assert_false(iw_target_is_kept(&big));
	/* What is stored later, such as another part, does not make it complete or the journal valid. */
	store_big(MIB, 2);
	assert_int_equal(pread(big.part->journal.fd, head, sizeof(head), 0), sizeof(head));
	assert_int_equal(iw_get_be64(head), 0);
	assert_int_equal(commit(&big, 2 * MIB, &why), -1);
	assert_int_equal(why.code, IW_XFER_CODE_IO);
	iw_target_abandon(&big, why.code);
	assert_int_equal(parts_in("in"), 0);
	iw_place_close(&p);
	assert_int_equal(resumed(), 0);
}

static struct iw_target holder;

static void release_it(void *ctx, const char *temp)
{
	(void)temp;
	iw_target_abandon(&holder, IW_XFER_CODE_CANCELED);
	*(bool *)ctx = true;
}

/* The target that lacks the temporary is abandoned and created again, as the sink does. */
static void temporary_that_is_released_meanwhile_is_resumed(void **state)
{
	struct iw_place first = place("", false), second = place("", false);
	struct iw_xfer_meta m = big_meta();
	bool released = false;

	(void)state;
	begin_big(&first, &m);
	store_big(0, 1);
	holder = big;
	second.on_locked = release_it;
	second.on_locked_ctx = &released;
	begin_big(&second, &m);
	assert_true(released);
	iw_target_abandon(&big, IW_XFER_CODE_NAME);
	iw_place_close(&second);
	iw_place_close(&first);
	assert_int_equal(resumed(), 1);
}

static void another_users_temporary_is_not_used(void **state)
{
	struct stat st;

	(void)state;
	if (geteuid() != 0) {
		print_message("# needs root: no file of another user's can be made\n");
		skip();
	}
	/* It has the contents of this user's temporary, and this user can read it. */
	leave_one_behind();
	assert_int_equal(fchownat(tmp_fd, part_name, STRANGER, STRANGER, 0), 0);
	assert_int_equal(fchmodat(tmp_fd, part_name, 0600, 0), 0);
	st = look(part_name);
	assert_int_equal(resumed(), 0);
	assert_int_not_equal(look("in/big").st_ino, st.st_ino);
	assert_int_equal(look(part_name).st_size, st.st_size);
}

static void another_users_journal_is_not_trusted(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		print_message("# needs root: no file of another user's can be made\n");
		skip();
	}
	leave_one_behind();
	assert_int_equal(fchownat(tmp_fd, journal_name, STRANGER, STRANGER, 0), 0);
	assert_int_equal(resumed(), 0);
	assert_true(is_there(journal_name));
}

static void a_temporary_that_others_could_write_is_created_again(void **state)
{
	(void)state;
	leave_one_behind();
	assert_int_equal(fchmodat(tmp_fd, part_name, 0620, 0), 0);
	assert_int_equal(resumed(), 0);
	unlinkat(tmp_fd, "in/big", 0);
	leave_one_behind();
	assert_int_equal(fchmodat(tmp_fd, journal_name, 0602, 0), 0);
	assert_int_equal(resumed(), 0);
}

static void a_second_hard_link_of_a_temporary_does_not_get_the_file(void **state)
{
	(void)state;
	leave_one_behind();
	assert_int_equal(linkat(tmp_fd, part_name, tmp_fd, "out/spy", 0), 0);
	assert_int_equal(resumed(), 0);
	assert_int_equal(look("out/spy").st_nlink, 1);
	assert_int_not_equal(look("in/big").st_ino, look("out/spy").st_ino);
}

static void links_and_fifos_under_its_name_are_ignored(void **state)
{
	(void)state;
	leave_one_behind();
	unlinkat(tmp_fd, part_name, 0);
	put_link("../out/f", part_name);
	assert_int_equal(resumed(), 0);
	assert_file_is("out/f", "precious");
	unlinkat(tmp_fd, "in/big", 0);
	unlinkat(tmp_fd, part_name, 0);
	assert_int_equal(mkfifoat(tmp_fd, part_name, 0600), 0);
	assert_int_equal(resumed(), 0);
	unlinkat(tmp_fd, "in/big", 0);
	unlinkat(tmp_fd, part_name, 0);
	put_dir(part_name);
	assert_int_equal(resumed(), 0);
}

/*
 * In a directory without the sticky bit another user can rename files: a journal must not be used
 * for another file.
 */
static void a_journal_applies_to_one_file(void **state)
{
	int fd;

	(void)state;
	leave_one_behind();
	put_file("in/secret", "secret", 6);
	fd = openat(tmp_fd, "in/secret", O_RDWR | O_CLOEXEC);
	assert_int_equal(fchmod(fd, 0600), 0);
	assert_int_equal(ftruncate(fd, 2 * MIB), 0);
	close(fd);
	assert_int_equal(renameat(tmp_fd, "in/secret", tmp_fd, part_name), 0);
	assert_int_equal(resumed(), 0);
}

static void a_temporary_that_was_replaced_does_not_become_the_file(void **state)
{
	struct iw_place p = place("", false);
	struct iw_xfer_meta m = big_meta();
	struct iw_file_fault why;
	char name[100];

	(void)state;
	begin_big(&p, &m);
	store_big(0, 1);
	store_big(MIB, 2);
	snprintf(name, sizeof(name), "in/%s", big.part->name);
	unlinkat(tmp_fd, name, 0);
	put_file(name, "forged", 6);
	assert_int_equal(commit(&big, 2 * MIB, &why), -1);
	assert_non_null(strstr(why.text, "replaced"));
	assert_false(is_there("in/big"));
	iw_target_abandon(&big, why.code);
	iw_place_close(&p);
}

static void a_dry_run_of_a_hard_link_needs_no_file_to_link_to(void **state)
{
	static const char *const firsts[] = { "first", "no/such/directory/first" };
	struct iw_file_fault why;
	struct iw_xfer_meta m;
	struct iw_place p;

	(void)state;
	p = place("", false);
	for (size_t i = 0; i < IW_ARRAY_LEN(firsts); i++) {
		m = meta("second", 0);
		m.kind = IW_XFER_HARDLINK;
		m.target = firsts[i];
		m.target_len = strlen(m.target);
		p.opts |= IW_XFER_OPT_DRY_RUN;
		assert_int_equal(iw_target_create(&big, &p, &m, IW_XFER_XXH3, &why),
				 IW_CREATE_FAILED);
		assert_int_equal(why.code, IW_XFER_CODE_WOULD);
		p.opts &= ~IW_XFER_OPT_DRY_RUN;
		assert_int_equal(iw_target_create(&big, &p, &m, IW_XFER_XXH3, &why),
				 IW_CREATE_FAILED);
		assert_int_not_equal(why.code, IW_XFER_CODE_WOULD);
	}
	iw_place_close(&p);
}

static void a_hard_link_does_not_get_the_octets_of_a_kept_file(void **state)
{
	static const uint8_t opts[] = { IW_XFER_OPT_NO_CLOBBER, IW_XFER_OPT_UPDATE };
	struct iw_file_fault why;
	struct iw_xfer_meta m;
	struct iw_place p;

	(void)state;
	put_file("in/kept", "another", 7);
	p = place("", false);
	for (size_t i = 0; i < IW_ARRAY_LEN(opts); i++) {
		m = meta("second", 0);
		m.kind = IW_XFER_HARDLINK;
		m.target = "kept";
		m.target_len = 4;
		p.opts = opts[i];
		assert_int_equal(iw_target_create(&big, &p, &m, IW_XFER_XXH3, &why),
				 IW_CREATE_FAILED);
		assert_int_equal(why.code, IW_XFER_CODE_NOENT);
		assert_non_null(strstr(why.text, "keeps for another file"));
		assert_false(is_there("in/second"));
	}
	iw_place_close(&p);
}

static void a_peer_cannot_name_a_temporary(void **state)
{
	static const char *const names[] = { ".iw-0123456789abcdef.part",
					     "d/.iw-0123456789abcdef.part",
					     ".iw-0123456789abcdef.journal",
					     ".IW-0123456789abcdef.Part" };
	static const uint8_t kinds[] = { IW_XFER_FILE, IW_XFER_DIR, IW_XFER_SYMLINK,
					 IW_XFER_HARDLINK };
	struct iw_file_fault why;
	struct iw_xfer_meta m;
	struct iw_place p;

	(void)state;
	put_dir("in/d");
	put_file("in/whole", "x", 1);
	p = place("", false);
	for (size_t i = 0; i < IW_ARRAY_LEN(names); i++)
		for (size_t k = 0; k < IW_ARRAY_LEN(kinds); k++) {
			m = meta(names[i], 0);
			m.kind = kinds[k];
			m.target = "whole";
			m.target_len = 5;
			assert_int_equal(iw_target_create(&big, &p, &m, IW_XFER_XXH3, &why),
					 IW_CREATE_FAILED);
			assert_int_equal(why.code, IW_XFER_CODE_NAME);
		}
	/* A hard link must not give a second name to an unfinished file. */
	leave_one_behind();
	m = meta("spy", 0);
	m.kind = IW_XFER_HARDLINK;
	m.target = part_name + strlen("in/");
	m.target_len = strlen(m.target);
	assert_int_equal(iw_target_create(&big, &p, &m, IW_XFER_XXH3, &why), IW_CREATE_FAILED);
	assert_int_equal(why.code, IW_XFER_CODE_NAME);
	assert_false(is_there("in/spy"));
	iw_place_close(&p);
	/* Nor may the target have such a name. */
	p = place(".iw-0123456789abcdef.part", false);
	m = meta("f", 1);
	assert_int_equal(iw_target_create(&big, &p, &m, IW_XFER_XXH3, &why), IW_CREATE_FAILED);
	assert_int_equal(why.code, IW_XFER_CODE_NAME);
	iw_place_close(&p);
}

static void with_update_a_link_does_not_replace_a_newer_file(void **state)
{
	static const uint8_t kinds[] = { IW_XFER_FILE, IW_XFER_SYMLINK, IW_XFER_HARDLINK };
	struct iw_file_fault why;
	struct iw_xfer_meta m;
	struct iw_place p;

	(void)state;
	put_file("in/whole", "x", 1);
	put_file("in/newer", "newer", 5);
	p = place("", false);
	p.opts |= IW_XFER_OPT_UPDATE;
	for (size_t k = 0; k < IW_ARRAY_LEN(kinds); k++) {
		m = meta("newer", 0);
		m.kind = kinds[k];
		m.target = "whole";
		m.target_len = 5;
		assert_int_equal(iw_target_create(&big, &p, &m, IW_XFER_XXH3, &why),
				 IW_CREATE_FAILED);
		assert_int_equal(why.code, IW_XFER_CODE_NEWER);
		assert_file_is("in/newer", "newer");
	}
	iw_place_close(&p);
}

static bool never(void *ctx)
{
	(void)ctx;
	return false;
}

/* Sweeps as the driver does during a transfer. Returns the number of directories. */
static unsigned sweep(struct iw_place *p)
{
	struct iw_place_sweep *l = iw_place_sweeps(p);
	unsigned n = 0;

	for (; l; n++) {
		struct iw_place_sweep *next = l->next;

		iw_place_sweep(l->fd, NULL, p->limits->max_age_ns, IW_SEC(20), never, NULL);
		free(l);
		l = next;
	}
	return n;
}

/*
 * Otherwise a peer that alternates between two directories could make this side read them
 * repeatedly.
 */
static void a_directory_is_swept_once_in_a_transfer(void **state)
{
	const struct iw_limits limits = { .max_age_ns = IW_SEC(60) };
	struct iw_place p = place("", false);
	struct iw_file_fault why;
	const char *leaf;

	(void)state;
	p.limits = &limits;
	for (int i = 0; i < 100; i++) {
		assert_true(iw_place_parent(&p, "a/f", &leaf, &why) >= 0);
		assert_true(iw_place_parent(&p, "b/f", &leaf, &why) >= 0);
		/* Two names for the same directory. */
		assert_true(iw_place_parent(&p, "./b/f", &leaf, &why) >= 0);
		assert_int_equal(sweep(&p), i == 0 ? 2 : 0);
	}
	iw_place_close(&p);
}

static void the_sweep_keeps_files_of_another_user(void **state)
{
	const struct timespec old[2] = { { .tv_sec = 5 }, { .tv_sec = 5 } };
	const struct iw_limits limits = { .max_age_ns = IW_SEC(60) };
	static const char ours[] = "in/.iw-0123456789abcdef.part",
			  theirs[] = "in/.iw-fedcba9876543210.part";
	struct iw_xfer_meta m = meta("f", 1);
	struct iw_file_fault why;
	struct iw_place p;

	(void)state;
	if (geteuid() != 0) {
		print_message("# needs root: no file of another user's can be made\n");
		skip();
	}
	put_file(ours, "x", 1);
	put_file(theirs, "x", 1);
	assert_int_equal(fchownat(tmp_fd, theirs, STRANGER, STRANGER, 0), 0);
	assert_int_equal(utimensat(tmp_fd, ours, old, 0), 0);
	assert_int_equal(utimensat(tmp_fd, theirs, old, 0), 0);
	p = place("", false);
	p.limits = &limits;
	assert_int_equal(iw_target_create(&big, &p, &m, IW_XFER_XXH3, &why), IW_CREATED);
	iw_target_abandon(&big, IW_XFER_CODE_DIGEST);
	assert_int_equal(sweep(&p), 1);
	iw_place_close(&p);
	assert_false(is_there(ours));
	assert_true(is_there(theirs));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_file_appears_only_when_it_is_complete, make,
						unmake),
		cmocka_unit_test_setup_teardown(one_file_in_two_temporaries_leaves_neither, make,
						unmake),
		cmocka_unit_test_setup_teardown(wrong_digests_are_refused, make, unmake),
		cmocka_unit_test_setup_teardown(zeros_become_holes, make, unmake),
		cmocka_unit_test_setup_teardown(nothing_outside_the_base_is_touched, make, unmake),
		cmocka_unit_test_setup_teardown(a_link_in_place_of_the_file_is_replaced, make,
						unmake),
		cmocka_unit_test_setup_teardown(names_that_are_not_regular_files_stay, make,
						unmake),
		cmocka_unit_test_setup_teardown(scp_rules_of_the_target, make, unmake),
		cmocka_unit_test_setup_teardown(the_local_users_target_may_lie_anywhere, make,
						unmake),
		cmocka_unit_test_setup_teardown(a_file_that_cannot_grow_fails_and_is_removed, make,
						unmake),
		cmocka_unit_test_setup_teardown(a_temporary_of_this_user_is_resumed, make, unmake),
		cmocka_unit_test_setup_teardown(
			a_chunk_fails_if_octets_before_it_were_not_written_back, make, unmake),
		cmocka_unit_test_setup_teardown(a_temporary_that_is_not_on_storage_is_not_resumed,
						make, unmake),
		cmocka_unit_test_setup_teardown(temporary_that_is_released_meanwhile_is_resumed,
						make, unmake),
		cmocka_unit_test_setup_teardown(another_users_temporary_is_not_used, make, unmake),
		cmocka_unit_test_setup_teardown(another_users_journal_is_not_trusted, make, unmake),
		cmocka_unit_test_setup_teardown(
			a_temporary_that_others_could_write_is_created_again, make, unmake),
		cmocka_unit_test_setup_teardown(
			a_second_hard_link_of_a_temporary_does_not_get_the_file, make, unmake),
		cmocka_unit_test_setup_teardown(links_and_fifos_under_its_name_are_ignored, make,
						unmake),
		cmocka_unit_test_setup_teardown(a_journal_applies_to_one_file, make, unmake),
		cmocka_unit_test_setup_teardown(
			a_temporary_that_was_replaced_does_not_become_the_file, make, unmake),
		cmocka_unit_test_setup_teardown(a_dry_run_of_a_hard_link_needs_no_file_to_link_to,
						make, unmake),
		cmocka_unit_test_setup_teardown(a_hard_link_does_not_get_the_octets_of_a_kept_file,
						make, unmake),
		cmocka_unit_test_setup_teardown(a_peer_cannot_name_a_temporary, make, unmake),
		cmocka_unit_test_setup_teardown(with_update_a_link_does_not_replace_a_newer_file,
						make, unmake),
		cmocka_unit_test_setup_teardown(a_directory_is_swept_once_in_a_transfer, make,
						unmake),
		cmocka_unit_test_setup_teardown(the_sweep_keeps_files_of_another_user, make,
						unmake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
