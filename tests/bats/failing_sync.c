// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Preloaded into a listener: the call that FAIL_SYNC names, sync_file_range or fsync, fails with EIO,
 * as on storage that has lost octets. fsync fails for files of at least 1 MiB only: not for journals
 * and directories.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool fails(const char *call)
{
	const char *which = getenv("FAIL_SYNC");

	errno = EIO;
	return which && strcmp(which, call) == 0;
}

int sync_file_range(int fd, off64_t off, off64_t len, unsigned how)
{
	int (*real)(int, off64_t, off64_t, unsigned) = dlsym(RTLD_NEXT, "sync_file_range");

	return fails("sync_file_range") ? -1 : real(fd, off, len, how);
}

int fsync(int fd)
{
	int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
	struct stat st;

	if (fstat(fd, &st) == 0 && st.st_size >= 1 << 20 && fails("fsync"))
		return -1;
	return real(fd);
}
