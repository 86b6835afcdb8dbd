// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Preloaded into a listener: each call below a directory whose name contains "slow" takes 500 ms
 * longer, as on slow storage. Each such call appends a byte to the file that SLOW_LOG names, so
 * that a test can check that there were such calls: for syncfs the digit of the number of syncfs
 * calls in progress, for every other call an x. With SLOW_SYNC, only syncfs is slow.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int log_fd = -1;
static bool only_sync;
static atomic_int syncing; /* calls of syncfs in progress */

/* Opened before the tool confines itself, because it cannot open files elsewhere afterwards. */
__attribute__((constructor)) static void open_log(void)
{
	const char *log = getenv("SLOW_LOG");

	only_sync = getenv("SLOW_SYNC") != NULL;
	if (log)
		log_fd = open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

static void slow_as(int fd, char mark)
{
	const struct timespec half = { .tv_nsec = 500 * 1000 * 1000 };
	char link[64], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlinkat(AT_FDCWD, link, path, sizeof(path) - 1);
	if (n < 0)
		return;
	path[n] = '\0';
	if (!strstr(path, "/slow"))
		return;
	if (log_fd >= 0) {
		n = write(log_fd, &mark, 1);
		(void)n;
	}
	nanosleep(&half, NULL);
}

static void slow(int fd)
{
	if (!only_sync)
		slow_as(fd, 'x');
}

int fsync(int fd)
{
	slow(fd);
	return (int)syscall(SYS_fsync, fd);
}

int syncfs(int fd)
{
	int now = atomic_fetch_add(&syncing, 1) + 1, rc;

	slow_as(fd, (char)('0' + now));
	rc = (int)syscall(SYS_syncfs, fd);
	atomic_fetch_sub(&syncing, 1);
	return rc;
}

int unlinkat(int dir, const char *path, int flags)
{
	slow(dir);
	return (int)syscall(SYS_unlinkat, dir, path, flags);
}

static int open_in(int dir, const char *path, int flags, va_list ap)
{
	int mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, int) : 0;

	slow(dir);
	return (int)syscall(SYS_openat, dir, path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
	va_list ap;
	int fd;

	va_start(ap, flags);
	fd = open_in(dir, path, flags, ap);
	va_end(ap);
	return fd;
}

int openat64(int dir, const char *path, int flags, ...)
{
	va_list ap;
	int fd;

	va_start(ap, flags);
	fd = open_in(dir, path, flags, ap);
	va_end(ap);
	return fd;
}

ssize_t pread(int fd, void *buf, size_t len, off_t off)
{
	slow(fd);
	return syscall(SYS_pread64, fd, buf, len, off);
}

ssize_t pread64(int fd, void *buf, size_t len, off64_t off)
{
	slow(fd);
	return syscall(SYS_pread64, fd, buf, len, off);
}

off_t lseek(int fd, off_t off, int from)
{
	slow(fd);
	return syscall(SYS_lseek, fd, off, from);
}

off64_t lseek64(int fd, off64_t off, int from)
{
	slow(fd);
	return syscall(SYS_lseek, fd, off, from);
}

DIR *fdopendir(int fd)
{
	DIR *(*real)(int) = (DIR * (*)(int)) dlsym(RTLD_NEXT, "fdopendir");

	slow(fd);
	return real(fd);
}
