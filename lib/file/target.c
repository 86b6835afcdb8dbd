// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Temporaries, holes, and the moment when a file takes its name. */
#include "file/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "file/beneath.h"
#include "file/out.h"
#include "os/os.h"
#include "util/num.h"

#define BLOCK        4096u /* what a hole is made of on common file systems */
/* Written data go to storage in runs of that many octets while more arrive, so that the fsync at
 * the end is short. */
#define FLUSH_RUN    (32u << 20)
#define CREATE_TRIES 8

/* --- where files go --- */

static void place_reset(struct iw_place *p)
{
	*p = (struct iw_place){ .base = -1 };
}

void iw_place_close(struct iw_place *p)
{
	if (p->base >= 0)
		close(p->base);
	free(p->as);
	place_reset(p);
}

void iw_place_stdout(struct iw_place *p)
{
	place_reset(p);
	p->to_stdout = true;
}

static bool ends_in_slash(const char *path)
{
	size_t len = strlen(path);

	return len > 0 && path[len - 1] == '/';
}

/* The path is no directory: it can be the name of one file, if not more than a file is needed. */
static int name_of_one(struct iw_place *p, const char *path, bool many, int errnum,
		       struct iw_file_fault *why)
{
	if (errnum == ENOENT && (many || ends_in_slash(path)))
		return iw_file_fail(why, IW_XC_NOENT, "the target directory does not exist");
	if (errnum == ENOTDIR && (many || ends_in_slash(path)))
		return iw_file_fail(why, IW_XC_TARGET, "the target is no directory");
	if (errnum != ENOENT && errnum != ENOTDIR)
		return iw_file_errno(why, errnum, "open the target directory");
	p->as = strdup(path);
	if (!p->as)
		return iw_file_fail(why, IW_XC_LIMIT, "no memory");
	return 0;
}

int iw_place_beneath(struct iw_place *p, int root, const char *path, bool many,
		     struct iw_file_fault *why)
{
	const char *leaf;
	int parent;

	place_reset(p);
	p->base = iw_beneath_open(root, path, O_RDONLY | O_DIRECTORY, 0);
	if (p->base >= 0)
		return 0;
	if (name_of_one(p, path, many, errno, why) != 0)
		return -1;
	/* Its directory must be there, and inside; better said now than for the file. */
	parent = iw_beneath_parent(root, p->as, &leaf);
	if (parent < 0) {
		iw_file_errno(why, errno, "open the target's directory");
		iw_place_close(p);
		return -1;
	}
	close(parent);
	p->base = fcntl(root, F_DUPFD_CLOEXEC, 3);
	if (p->base < 0) {
		iw_file_errno(why, errno, "open the target directory");
		iw_place_close(p);
		return -1;
	}
	return 0;
}

int iw_place_local(struct iw_place *p, const char *path, bool many, struct iw_file_fault *why)
{
	const char *slash = strrchr(path, '/');
	char *dir;

	place_reset(p);
	p->base = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->base >= 0)
		return 0;
	if (name_of_one(p, slash ? slash + 1 : path, many || ends_in_slash(path), errno, why) != 0)
		return -1;
	dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	p->base = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	free(dir);
	if (p->base < 0) {
		iw_file_errno(why, errno, "open the target's directory");
		iw_place_close(p);
		return -1;
	}
	return 0;
}

/* --- creating --- */

/* The name from the place's base into buf. */
static int full_name(char *buf, size_t cap, const struct iw_place *p, const struct iw_xmeta *m,
		     struct iw_file_fault *why)
{
	bool renamed = p->as && m->top;

	if (m->name_len >= cap)
		return iw_file_fail(why, IW_XC_NAME, "the name is too long");
	if (renamed && strlen(p->as) >= cap)
		return iw_file_fail(why, IW_XC_NAME, "the target's name is too long");
	if (renamed) {
		memcpy(buf, p->as, strlen(p->as) + 1);
	} else {
		memcpy(buf, m->name, m->name_len);
		buf[m->name_len] = '\0';
	}
	return 0;
}

/* A directory that did not exist becomes the base: what arrives keeps its names below it. */
static int make_base(struct iw_place *p, struct iw_file_fault *why)
{
	const char *leaf;
	int parent = iw_beneath_parent(p->base, p->as, &leaf), base;

	if (parent < 0)
		return iw_file_errno(why, errno, "open the target's directory");
	if (mkdirat(parent, leaf, 0777) < 0 && errno != EEXIST) {
		iw_file_errno(why, errno, "make the target directory");
		close(parent);
		return -1;
	}
	base = iw_beneath_open(parent, leaf, O_RDONLY | O_DIRECTORY, 0);
	if (base < 0)
		iw_file_errno(why, errno, "open the target directory");
	close(parent);
	if (base < 0)
		return -1;
	iw_place_close(p);
	p->base = base;
	return 0;
}

static enum iw_created make_dir(struct iw_place *p, const struct iw_xmeta *m,
				struct iw_file_fault *why)
{
	char name[PATH_MAX];
	const char *leaf;
	struct stat st;
	int parent, err = 0;
	bool force = p->force;

	if (p->as && m->top && make_base(p, why) != 0)
		return IW_CREATE_FAILED;
	p->force = force;
	if (full_name(name, sizeof(name), p, m, why) != 0)
		return IW_CREATE_FAILED;
	parent = iw_beneath_parent(p->base, name, &leaf);
	if (parent < 0) {
		iw_file_errno(why, errno, "open its directory");
		return IW_CREATE_FAILED;
	}
	/* Our own rights are kept whatever mode it has: files are to go into it. */
	if (mkdirat(parent, leaf, (m->mode & 0777) | 0700) < 0) {
		err = errno;
		/* A link to a directory is no directory here: it may lead anywhere. */
		if (err == EEXIST && fstatat(parent, leaf, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISDIR(st.st_mode))
			err = 0;
	}
	close(parent);
	if (err == 0)
		return IW_MADE;
	iw_file_errno(why, err, "make the directory");
	return IW_CREATE_FAILED;
}

/* What stands in the way, or is the same already. 0: go on. */
static int look_at_old(const struct iw_target *t, const struct iw_place *p,
		       const struct iw_xmeta *m, struct iw_file_fault *why)
{
	struct stat st;

	if (fstatat(t->parent, t->leaf, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno == ENOENT)
			return 0;
		return iw_file_errno(why, errno, "look at the old file");
	}
	if (S_ISDIR(st.st_mode))
		return iw_file_fail(why, IW_XC_TARGET, "the target is a directory");
	if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		return iw_file_fail(why, IW_XC_TARGET, "the target is no regular file");
	if (!p->force && S_ISREG(st.st_mode) && m->kind == IW_XFER_FILE &&
	    (uint64_t)st.st_size == m->size && st.st_mtim.tv_sec == m->mtime_s &&
	    (uint32_t)st.st_mtim.tv_nsec == m->mtime_ns)
		return iw_file_fail(why, IW_XC_SAME, "");
	return 0;
}

static int open_part(struct iw_target *t, struct iw_file_fault *why)
{
	for (int i = 0; i < CREATE_TRIES; i++) {
		uint64_t number;

		if (iw_os_random(&number, sizeof(number)) != 0)
			return iw_file_fail(why, IW_XC_IO,
					    "no random number for the temporary file");
		snprintf(t->part, sizeof(t->part), ".iw-%016llx.part", (unsigned long long)number);
		t->fd = openat(t->parent, t->part,
			       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (t->fd >= 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	return iw_file_errno(why, errno, "create the temporary file");
}

static void target_close(struct iw_target *t)
{
	if (t->fd >= 0)
		close(t->fd);
	if (t->parent >= 0)
		close(t->parent);
	t->fd = t->parent = -1;
	iw_chunk_list_free(&t->chunks);
}

enum iw_created iw_target_create(struct iw_target *t, struct iw_place *p, const struct iw_xmeta *m,
				 struct iw_file_fault *why)
{
	char name[PATH_MAX];
	const char *leaf;

	*t = (struct iw_target){
		.parent = -1, .fd = -1, .mode = m->mode, .has_time = m->kind == IW_XFER_FILE
	};
	t->mtime_s = m->mtime_s;
	t->mtime_ns = m->mtime_ns;
	if (p->to_stdout || (p->as && m->top && m->kind != IW_XFER_DIR)) {
		if (p->used_up) {
			iw_file_fail(why, IW_XC_TARGET, "the target takes one file alone");
			return IW_CREATE_FAILED;
		}
		if (p->to_stdout && m->kind == IW_XFER_DIR) {
			iw_file_fail(why, IW_XC_TARGET, "standard output takes no directory");
			return IW_CREATE_FAILED;
		}
		p->used_up = true;
	}
	t->to_stdout = p->to_stdout;
	if (t->to_stdout)
		return IW_CREATED;
	if (m->kind == IW_XFER_DIR)
		return make_dir(p, m, why);
	if (m->kind == IW_XFER_STREAM && !p->as) {
		iw_file_fail(why, IW_XC_TARGET,
			     "the target is a directory: a stream needs the name of a file");
		return IW_CREATE_FAILED;
	}
	if (full_name(name, sizeof(name), p, m, why) != 0)
		return IW_CREATE_FAILED;
	t->parent = iw_beneath_parent(p->base, name, &leaf);
	if (t->parent < 0) {
		iw_file_errno(why, errno, "open its directory");
		return IW_CREATE_FAILED;
	}
	snprintf(t->leaf, sizeof(t->leaf), "%s", leaf);
	if (look_at_old(t, p, m, why) != 0 || open_part(t, why) != 0) {
		target_close(t);
		return IW_CREATE_FAILED;
	}
	return IW_CREATED;
}

/* --- storing --- */

static int write_at(struct iw_target *t, const uint8_t *p, size_t len, uint64_t off,
		    struct iw_file_fault *why)
{
	while (len > 0) {
		ssize_t n = pwrite(t->fd, p, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return iw_file_errno(why, errno, "write");
		if (n == 0)
			return iw_file_errno(why, EIO, "write");
		p += n;
		len -= (size_t)n;
		off += (uint64_t)n;
		t->high = IW_MAX(t->high, off);
	}
	return 0;
}

/* The run of blocks from p on that are zero, or that are not. */
static size_t run_of(const uint8_t *p, size_t len, bool zero)
{
	size_t at = 0;

	while (at < len) {
		size_t n = IW_MIN(len - at, (size_t)BLOCK);

		if (iw_is_zero(p + at, n) != zero)
			break;
		at += n;
	}
	return at;
}

static int write_holes(struct iw_target *t, const uint8_t *p, size_t len, uint64_t off,
		       struct iw_file_fault *why)
{
	while (len > 0) {
		size_t n = run_of(p, len, true);

		if (n == 0) {
			n = run_of(p, len, false);
			if (write_at(t, p, n, off, why) != 0)
				return -1;
		}
		p += n;
		len -= n;
		off += n;
	}
	return 0;
}

/*
 * Storage begins with what is there, and at most two runs wait for it: the fsync at the end is short then, and a long file does not
 * push everything else out of memory. File systems without storage behind them do nothing here.
 */
static void flush_behind(struct iw_target *t)
{
	if (t->high - t->flushing < FLUSH_RUN)
		return;
	if (t->flushing > t->flushed)
		(void)sync_file_range(t->fd, (off_t)t->flushed, (off_t)(t->flushing - t->flushed),
				      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
					      SYNC_FILE_RANGE_WAIT_AFTER);
	(void)sync_file_range(t->fd, (off_t)t->flushing, (off_t)(t->high - t->flushing),
			      SYNC_FILE_RANGE_WRITE);
	t->flushed = t->flushing;
	t->flushing = t->high;
}

static int check(struct iw_target *t, struct iw_hasher *h, uint64_t off, const struct iovec *iov,
		 size_t n, const struct iw_xdigest *digest, struct iw_file_fault *why)
{
	struct iw_xdigest own;

	if (iw_hasher_chunk(h, iov, n, &own) != 0)
		return iw_file_fail(why, IW_XC_IO, "no digest could be made");
	if (!iw_xdigest_equal(&own, digest))
		return iw_file_fail(why, IW_XC_DIGEST, "a chunk did not arrive as it was sent");
	if (iw_chunk_list_add(&t->chunks, off, &own) != 0)
		return iw_file_fail(why, IW_XC_LIMIT, "no memory for its digests");
	return 0;
}

/* Zeros up to end, a slice of them at a time, so that a long hole does not hold everything else. */
static int fill_stdout(struct iw_target *t, uint64_t end, struct iw_file_fault *why)
{
	uint64_t slice = IW_MIN(end, t->pos + FLUSH_RUN);
	int r = 0;

	while (r == 0 && t->pos < slice)
		r = iw_out_zeros(slice - t->pos, &t->pos, why);
	return r == 0 && t->pos < end ? 1 : r;
}

/* Zeros up to off, then iov. Keeps its place between calls. */
static int store_stdout(struct iw_target *t, uint64_t off, const struct iovec *iov, size_t n,
			struct iw_file_fault *why)
{
	uint64_t skip = t->done;
	int r;

	if (skip == 0 && off < t->pos)
		return iw_file_fail(why, IW_XC_PROTOCOL,
				    "standard output takes octets in order alone");
	if (t->pos < off) {
		r = fill_stdout(t, off, why);
		if (r != 0)
			return r;
	}
	for (size_t i = 0; i < n; i++) {
		while (skip < iov[i].iov_len) {
			size_t wrote = 0;

			r = iw_out_write((const char *)iov[i].iov_base + skip,
					 iov[i].iov_len - skip, &wrote, why);
			t->done += wrote;
			t->pos += wrote;
			skip += wrote;
			if (r != 0)
				return r;
		}
		skip -= iov[i].iov_len;
	}
	t->done = 0;
	return 0;
}

int iw_target_store(struct iw_target *t, struct iw_hasher *h, uint64_t off, const struct iovec *iov,
		    size_t n, const struct iw_xdigest *digest, struct iw_file_fault *why)
{
	int r;

	if (!t->checked && check(t, h, off, iov, n, digest, why) != 0)
		return -1;
	if (t->to_stdout) {
		t->checked = true;
		r = store_stdout(t, off, iov, n, why);
		t->checked = r == 1;
		return r;
	}
	for (size_t i = 0; i < n; off += iov[i].iov_len, i++)
		if (write_holes(t, iov[i].iov_base, iov[i].iov_len, off, why) != 0)
			return -1;
	flush_behind(t);
	return 0;
}

/* --- the end --- */

static int give_name(struct iw_target *t, struct iw_file_fault *why)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_NOW },
					   { .tv_sec = (time_t)t->mtime_s,
					     .tv_nsec = (long)t->mtime_ns } };

	if (fchmod(t->fd, t->mode) < 0)
		return iw_file_errno(why, errno, "set its mode");
	if (t->has_time && futimens(t->fd, times) < 0)
		return iw_file_errno(why, errno, "set its time");
	if (fsync(t->fd) < 0)
		return iw_file_errno(why, errno, "put it on storage");
	if (renameat(t->parent, t->part, t->parent, t->leaf) < 0)
		return iw_file_errno(why, errno, "give it its name");
	t->part[0] = '\0';
	/* From here on it is there; what fails now is the promise that it stays after a power
	 * cut. */
	if (fsync(t->parent) < 0 && errno != EINVAL && errno != EROFS)
		return iw_file_errno(why, errno, "put its directory on storage");
	return 0;
}

static uint32_t mode_of_new_file(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~(uint32_t)mask;
}

int iw_target_commit(struct iw_target *t, struct iw_hasher *h, uint64_t size,
		     const struct iw_xdigest *digest, struct iw_file_fault *why)
{
	struct iw_xdigest own;
	int r;

	if (iw_chunk_list_digest(&t->chunks, h, size, &own) != 0)
		return iw_file_fail(why, IW_XC_IO, "no digest could be made");
	if (!iw_xdigest_equal(&own, digest))
		return iw_file_fail(why, IW_XC_DIGEST, "its digest differs from the source's");
	if (t->to_stdout) {
		r = fill_stdout(t, size, why);
		if (r == 0)
			target_close(t);
		return r;
	}
	if (t->high < size && ftruncate(t->fd, (off_t)size) < 0)
		return iw_file_errno(why, errno, "make it as long as it is");
	/* A stream has no mode of its own: it gets what a new file would. */
	if (!t->has_time)
		t->mode = mode_of_new_file();
	if (give_name(t, why) != 0)
		return -1;
	target_close(t);
	return 0;
}

void iw_target_abandon(struct iw_target *t)
{
	if (!t->to_stdout && t->part[0] && t->parent >= 0)
		(void)unlinkat(t->parent, t->part, 0); /* nobody is left to be told */
	target_close(t);
}
