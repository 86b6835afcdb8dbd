// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Where the configuration files are, and whether they can be trusted. */
#include "cli/config_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os.h"
#include "util/text.h"

#define OR_WITHOUT "or leave the file unread with --no-config"

static int os_fail(struct iw_fault *why, const char *path)
{
	int errnum = errno;
	char phrase[80];

	return iw_fail(why, IW_E_OS, "%s: cannot be read: %s; change that, " OR_WITHOUT, path,
		       iw_os_strerror(phrase, sizeof(phrase), errnum));
}

/* True if nothing is known about the file, because a directory is missing or closed to this user. */
static bool is_absent(const char *path, int errnum)
{
	struct stat st;

	/* A link to a missing file was meant to set options. */
	if (errnum == ENOENT)
		return lstat(path, &st) != 0;
	if (errnum == ENOTDIR)
		return true;
	return errnum == EACCES && stat(path, &st) != 0 && errno == EACCES;
}

static int check_trust(const struct stat *st, const char *path, uint32_t owner,
		       struct iw_fault *why)
{
	if (!S_ISREG(st->st_mode))
		return iw_fail(why, IW_E_PERM, "%s: not a regular file; replace it, " OR_WITHOUT,
			       path);
	if (st->st_uid != 0 && st->st_uid != owner)
		return iw_fail(
			why, IW_E_PERM,
			"%s: belongs to uid %u, expected uid %u, because its owner can weaken this tool; change its owner, " OR_WITHOUT,
			path, (uint32_t)st->st_uid, owner);
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return iw_fail(
			why, IW_E_PERM,
			"%s: other users can write to it; expected mode 0644 or less: chmod go-w it, " OR_WITHOUT,
			path);
	if (st->st_size > IW_CONFIG_SIZE_MAX)
		return iw_fail(why, IW_E_LIMIT, "%s: larger than %u octets", path,
			       (uint32_t)IW_CONFIG_SIZE_MAX);
	return 0;
}

/* Returns the length of the file, or a negative error. */
static int read_all(char *buf, size_t cap, int fd, const char *path, struct iw_fault *why)
{
	size_t len = 0;
	ssize_t n;

	while (len < cap) {
		n = read(fd, buf + len, cap - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return os_fail(why, path);
		if (n == 0)
			return (int)len;
		len += (size_t)n;
	}
	return iw_fail(why, IW_E_LIMIT, "%s: larger than %u octets", path,
		       (uint32_t)IW_CONFIG_SIZE_MAX);
}

static int read_fd(struct iw_config_file *f, struct iw_config_keys *keys, int fd, uint32_t owner,
		   const char *tool, struct iw_fault *why)
{
	struct stat st;
	char *buf;
	int err;

	if (fstat(fd, &st) != 0)
		return os_fail(why, f->path);
	err = check_trust(&st, f->path, owner, why);
	if (err)
		return err;
	buf = malloc(IW_CONFIG_SIZE_MAX + 1);
	if (!buf)
		return iw_fail(why, IW_E_NOMEM, "%s: no memory", f->path);
	err = read_all(buf, IW_CONFIG_SIZE_MAX + 1, fd, f->path, why);
	if (err >= 0)
		err = iw_config_parse(keys, f->path, buf, (size_t)err, tool, why);
	free(buf);
	f->ignored = err == IW_E_NOTSUP;
	return f->ignored ? 0 : err;
}

int iw_config_read_path(struct iw_config_file *f, struct iw_config_keys *keys, const char *path,
			uint32_t owner, const char *tool, struct iw_fault *why)
{
	int fd, err;

	snprintf(f->path, sizeof(f->path), "%s", path);
	/* Without waiting for the writer of a FIFO. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return is_absent(path, errno) ? 0 : os_fail(why, path);
	f->present = true;
	err = read_fd(f, keys, fd, owner, tool, why);
	close(fd);
	return err;
}

int iw_config_read(struct iw_config_file *f, struct iw_config_keys *keys, bool user,
		   const char *tool, struct iw_fault *why)
{
	char dir[IW_CONFIG_PATH], path[IW_CONFIG_PATH];
	int err, len;

	if (!user)
		return iw_config_read_path(f, keys, IW_CONFIG_SYSTEM, 0, tool, why);
	err = iw_config_dir(dir, why);
	if (err)
		return err == IW_E_NOENT ? 0 : err;
	len = snprintf(path, sizeof(path), "%s/config", dir);
	if (len < 0 || len >= IW_CONFIG_PATH)
		return iw_fail(why, IW_E_LIMIT, "%s: the path is too long", dir);
	return iw_config_read_path(f, keys, path, (uint32_t)geteuid(), tool, why);
}
