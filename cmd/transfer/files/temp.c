// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Temporaries that no other user can have changed. */
#include "transfer/files/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <xxhash.h>

#include "os/os.h"

#define TRIES 4 /* attempts: another user may create and remove the name at the same time */
/* O_NONBLOCK: a FIFO or a file under lease must not block the caller. */
#define FLAGS (O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)

enum verdict { USE, AGAIN, FAIL };

bool iw_temp_is_own(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid();
}

static bool is_private(const struct stat *st)
{
	return (st->st_mode & 077) == 0 && st->st_nlink == 1;
}

bool iw_temp_is_named(int fd, int dir, const char *name)
{
	struct stat st, named;

	return fstat(fd, &st) == 0 && fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_dev == named.st_dev && st.st_ino == named.st_ino;
}

/*
 * Checks the file under its lock. Before it was locked, another transfer may have completed it:
 * then it is a finished file with its own name.
 */
static enum verdict check_file(int fd, int dir, const char *name)
{
	struct stat st;

	if (flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0)
		return FAIL;
	if (!iw_temp_is_own(&st)) {
		errno = EPERM;
		return FAIL;
	}
	if (!iw_temp_is_named(fd, dir, name))
		return AGAIN;
	if (is_private(&st))
		return USE;
	return unlinkat(dir, name, 0) == 0 ? AGAIN : FAIL;
}

/* -1 with errno 0: try again. */
static int open_old(int dir, const char *name)
{
	int fd = openat(dir, name, FLAGS), saved;
	enum verdict v;

	if (fd < 0) {
		errno = errno == ENOENT ? 0 : errno;
		return -1;
	}
	v = check_file(fd, dir, name);
	if (v == USE)
		return fd;
	saved = v == AGAIN ? 0 : errno;
	close(fd);
	errno = saved;
	return -1;
}

int iw_temp_open_old(int dir, const char *name)
{
	int fd = open_old(dir, name);

	if (fd < 0 && errno == 0)
		errno = ENOENT;
	return fd;
}

static int open_new(int dir, const char *name)
{
	int fd = openat(dir, name, FLAGS | O_CREAT | O_EXCL, 0600);

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	/* Another process of this user opened and locked it first. */
	close(fd);
	errno = EWOULDBLOCK;
	return -1;
}

int iw_temp_open(int dir, const char *name)
{
	for (int i = 0; i < TRIES; i++) {
		int fd = open_new(dir, name);

		if (fd >= 0 || errno != EEXIST)
			return fd;
		fd = open_old(dir, name);
		if (fd >= 0 || errno != 0)
			return fd;
	}
	errno = EBUSY;
	return -1;
}

int iw_temp_open_unnamed(int dir, mode_t mode)
{
	return openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
}

/*
 * Gives the file of fd a name. Newer kernels permit this to the process that opened the file; older
 * ones need /proc.
 */
static int link_fd(int fd, int dir, const char *name)
{
	char path[40];

	if (linkat(fd, "", dir, name, AT_EMPTY_PATH) == 0)
		return 0;
	if (errno != ENOENT && errno != EPERM)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, path, dir, name, AT_SYMLINK_FOLLOW);
}

int iw_temp_name_new(int fd, int dir, const char *leaf)
{
	return link_fd(fd, dir, leaf);
}

int iw_temp_replace(int fd, int dir, const char *leaf)
{
	char temp[IW_TEMP_NAME];
	uint64_t number;
	int saved;

	if (iw_os_random(&number, sizeof(number)) != 0) {
		errno = EEXIST;
		return -1;
	}
	/*
	 * The new file already has the time of the source's file, so a sweep might take temp for
	 * abandoned. The lock keeps the sweep from removing it.
	 */
	snprintf(temp, sizeof(temp), ".iw-%016llx.part", (unsigned long long)number);
	(void)flock(fd, LOCK_EX | LOCK_NB);
	if (link_fd(fd, dir, temp) < 0)
		return -1;
	if (renameat(dir, temp, dir, leaf) == 0)
		return 0;
	saved = errno;
	(void)unlinkat(dir, temp, 0);
	errno = saved;
	return -1;
}

int iw_temp_name(int fd, int dir, const char *leaf)
{
	if (iw_temp_name_new(fd, dir, leaf) == 0)
		return 0;
	return errno == EEXIST ? iw_temp_replace(fd, dir, leaf) : -1;
}

uint64_t iw_temp_id(int fd)
{
	struct statx x;
	uint64_t id[4];

	if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &x) < 0)
		return 0;
	id[0] = makedev(x.stx_dev_major, x.stx_dev_minor);
	id[1] = x.stx_ino;
	/* Without birth times in the file system, only device and inode number are compared. */
	id[2] = x.stx_mask & STATX_BTIME ? (uint64_t)x.stx_btime.tv_sec : 0;
	id[3] = x.stx_mask & STATX_BTIME ? x.stx_btime.tv_nsec : 0;
	return XXH3_64bits(id, sizeof(id));
}

bool iw_temp_is_name(const char *name)
{
	size_t len = strlen(name);

	return strncasecmp(name, ".iw-", 4) == 0 &&
	       ((len == 25 && strcasecmp(name + 20, ".part") == 0) ||
		(len == 28 && strcasecmp(name + 20, ".journal") == 0));
}

bool iw_temp_in_path(const char *path)
{
	char part[IW_TEMP_NAME];
	size_t len;

	for (;; path += len + 1) {
		len = strcspn(path, "/");
		if (len < sizeof(part)) {
			memcpy(part, path, len);
			part[len] = '\0';
			if (iw_temp_is_name(part))
				return true;
		}
		if (!path[len])
			return false;
	}
}
