// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Files with secrets, and their directory. */
#include "cli/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"
#include "util/num.h"
#include "util/text.h"

#define LOCK_TIMEOUT IW_SEC(5)
#define LOCK_RETRY   IW_MSEC(10)

static int check_private(int fd, const char *path, const char *option, struct iw_fault *why)
{
	struct stat st;
	char mode[8];

	if (fstat(fd, &st) < 0)
		return iw_os_fail(why, errno, "%s %s", option, path);
	if (!S_ISREG(st.st_mode))
		return iw_fail(why, IW_E_INVAL, "%s %s: not a regular file", option, path);
	if ((st.st_mode & 077) == 0)
		return 0;
	snprintf(mode, sizeof(mode), "%04o", (unsigned)(st.st_mode & 07777));
	return iw_fail(
		why, IW_E_PERM,
		"%s %s: mode %s gives other users rights on a secret; expected 0600: run chmod 600 %s",
		option, path, mode, path);
}

int iw_private_open(const char *path, const char *option, struct iw_fault *why)
{
	/* A FIFO must not block. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err;

	if (fd < 0)
		return iw_os_fail(why, errno, "%s %s", option, path);
	err = check_private(fd, path, option, why);
	if (!err)
		return fd;
	close(fd);
	return err;
}

int iw_config_dir(char path[IW_CONFIG_PATH], struct iw_fault *why)
{
	const char *base = getenv("XDG_CONFIG_HOME"), *below = "iwarp";
	int n;

	/* The XDG specification ignores relative paths. */
	if (!base || base[0] != '/') {
		base = getenv("HOME");
		below = ".config/iwarp";
	}
	if (!base || base[0] != '/')
		return iw_fail(
			why, IW_E_NOENT,
			"no directory for keys: neither HOME nor XDG_CONFIG_HOME is an absolute path; set one");
	n = snprintf(path, IW_CONFIG_PATH, "%s/%s", base, below);
	if (n < 0 || n >= IW_CONFIG_PATH)
		return iw_fail(why, IW_E_LIMIT, "%s/%s: the path is too long", base, below);
	return 0;
}

/* Makes the directory and its parent. */
static int make_dir(const char *path, struct iw_fault *why)
{
	char parent[IW_CONFIG_PATH];
	char *slash;

	snprintf(parent, sizeof(parent), "%s", path);
	slash = strrchr(parent, '/');
	if (slash)
		*slash = '\0';
	if (mkdir(parent, 0700) < 0 && errno != EEXIST)
		return iw_os_fail(why, errno, "create %s (from XDG_CONFIG_HOME or HOME)", parent);
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return iw_os_fail(why, errno, "create %s", path);
	return 0;
}

static int check_dir(int fd, const char *path, struct iw_fault *why)
{
	struct stat st;
	char mode[8];

	if (fstat(fd, &st) < 0)
		return iw_os_fail(why, errno, "%s", path);
	if ((st.st_mode & 022) == 0)
		return 0;
	snprintf(mode, sizeof(mode), "%04o", (unsigned)(st.st_mode & 07777));
	return iw_fail(why, IW_E_PERM,
		       "%s: mode %s lets other users replace keys; expected 0700: run chmod 700 %s",
		       path, mode, path);
}

int iw_config_open(char path[IW_CONFIG_PATH], struct iw_fault *why)
{
	int err = iw_config_dir(path, why), fd;

	if (!err)
		err = make_dir(path, why);
	if (err)
		return err;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return iw_os_fail(why, errno, "open %s", path);
	err = check_dir(fd, path, why);
	if (!err)
		return fd;
	close(fd);
	return err;
}

int iw_config_lock(int fd, int how, const char *path, struct iw_fault *why)
{
	const struct timespec pause = { .tv_nsec = (long)LOCK_RETRY };
	uint64_t until = iw_os_now() + LOCK_TIMEOUT;

	while (flock(fd, how | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return iw_os_fail(why, errno, "lock %s", path);
		if (iw_os_now() >= until)
			return iw_fail(
				why, IW_E_TIMEOUT,
				"%s: another process has locked it for 5 s; end that process",
				path);
		nanosleep(&pause, NULL);
	}
	return 0;
}
