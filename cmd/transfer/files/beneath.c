// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* openat2 with RESOLVE_BENEATH, or a walk on systems without it. */
#include "transfer/files/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel returns EAGAIN if a rename may have let the path escape: openat2(2). */
#define TRIES 32

static int open_beneath(int dirfd, const char *path, int flags, mode_t mode, uint64_t resolve)
{
	struct open_how how = { .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
				.mode = flags & (O_CREAT | __O_TMPFILE) ? mode : 0,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve };
	long fd = -1;

	for (int i = 0; i < TRIES; i++) {
		fd = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	return (int)fd;
}

/* Skips "." components: "" is left if path is only the directory itself. */
static const char *skip_dots(const char *path)
{
	for (;;) {
		if (path[0] == '/')
			path++;
		else if (path[0] == '.' && (path[1] == '/' || path[1] == '\0'))
			path++;
		else
			return path;
	}
}

static int component(char buf[static NAME_MAX + 1], const char **path)
{
	size_t len = strcspn(*path, "/");

	if (len > NAME_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(buf, *path, len);
	buf[len] = '\0';
	*path = skip_dots(*path + len);
	if (strcmp(buf, "..") == 0) {
		errno = EXDEV;
		return -1;
	}
	return 0;
}

int iw_beneath_walk(int dirfd, const char *path, int flags, mode_t mode)
{
	char name[NAME_MAX + 1];
	int at = dirfd, fd, saved;

	if (path[0] == '/') {
		errno = EXDEV;
		return -1;
	}
	path = skip_dots(path);
	if (path[0] == '\0')
		return openat(dirfd, ".", flags | O_CLOEXEC, mode);
	for (;;) {
		const char *whole = path;
		size_t len;

		if (component(name, &path) != 0) {
			fd = -1;
			break;
		}
		len = strlen(whole);
		if (path[0] == '\0') {
			/* A slash at the end requires a directory. */
			fd = openat(at, name,
				    flags | O_NOFOLLOW | O_CLOEXEC |
					    (whole[len - 1] == '/' ? O_DIRECTORY : 0),
				    mode);
			break;
		}
		fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			break;
		if (at != dirfd)
			close(at);
		at = fd;
	}
	saved = errno;
	if (at != dirfd)
		close(at);
	errno = saved;
	return fd;
}

static int open_or_walk(int dirfd, const char *path, int flags, mode_t mode, uint64_t resolve)
{
	int fd;

	if (skip_dots(path)[0] == '\0' && path[0] != '/')
		path = ".";
	fd = open_beneath(dirfd, path, flags, mode, resolve);
	/*
	 * Filters of containers return EPERM instead of ENOSYS. If EPERM is about the file, the
	 * walk returns it again.
	 */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = iw_beneath_walk(dirfd, path, flags, mode);
	return fd;
}

int iw_beneath_open(int dirfd, const char *path, int flags, mode_t mode)
{
	return open_or_walk(dirfd, path, flags, mode, 0);
}

int iw_beneath_dir(int dirfd, const char *path)
{
	return open_or_walk(dirfd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0,
			    RESOLVE_NO_SYMLINKS);
}

static int open_parent(int dirfd, const char *path, const char **leaf, uint64_t resolve)
{
	const char *slash = strrchr(path, '/');
	char parent[PATH_MAX];
	size_t len;

	*leaf = slash ? slash + 1 : path;
	if ((*leaf)[0] == '\0' || strcmp(*leaf, ".") == 0 || strcmp(*leaf, "..") == 0) {
		errno = EINVAL;
		return -1;
	}
	len = (size_t)(*leaf - path);
	if (len >= sizeof(parent)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(parent, path, len);
	parent[len] = '\0';
	return open_or_walk(dirfd, parent, O_RDONLY | O_DIRECTORY, 0, resolve);
}

int iw_beneath_parent(int dirfd, const char *path, const char **leaf)
{
	return open_parent(dirfd, path, leaf, 0);
}

int iw_beneath_dir_of(int dirfd, const char *path, const char **leaf)
{
	return open_parent(dirfd, path, leaf, RESOLVE_NO_SYMLINKS);
}
