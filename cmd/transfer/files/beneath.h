/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Opens paths that a peer gives, without leaving a directory: openat2 with RESOLVE_BENEATH, so
 * neither ".." nor a symbolic link created meanwhile leads out. Links that stay inside are
 * followed. Kernels and containers without openat2: each component is opened separately, and no
 * link is followed.
 *
 * All functions return a descriptor (close-on-exec, owned by the caller), or -1 with errno. EXDEV
 * or ELOOP: the path would leave the directory.
 */
#ifndef IW_TRANSFER_FILES_BENEATH_H
#define IW_TRANSFER_FILES_BENEATH_H

#include <stddef.h>
#include <sys/types.h>

/* path is relative; "" and "." are dirfd itself. flags and mode are those of open(2). */
int iw_beneath_open(int dirfd, const char *path, int flags, mode_t mode);

/*
 * Opens the directory of the last component of path, which is not examined; *leaf points to it
 * within path. EINVAL: path has no component or ends in a slash.
 */
int iw_beneath_parent(int dirfd, const char *path, const char **leaf);

/*
 * The same functions for names from a peer: no symbolic link in the path is followed (ELOOP, or
 * ENOTDIR without openat2), whether the peer sent it or it is older. Even a link that stays inside
 * would lead a name out of its tree.
 */
int iw_beneath_dir(int dirfd, const char *path);
/* As iw_beneath_parent, without following links. */
int iw_beneath_dir_of(int dirfd, const char *path, const char **leaf);

/* The method without openat2; public for its test. */
int iw_beneath_walk(int dirfd, const char *path, int flags, mode_t mode);

#endif
