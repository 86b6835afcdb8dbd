/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Opening what a peer named, without ever leaving the directory it may work in: openat2 with RESOLVE_BENEATH, so that neither ".." nor a
 * symbolic link planted meanwhile leads out. Links that stay inside are followed. On kernels and in containers without openat2 each
 * component is opened by itself, and no link is followed at all.
 *
 * All return a descriptor (close-on-exec, given), or -1 with errno; EXDEV or ELOOP: the path would have left the directory.
 */
#ifndef IW_FILE_BENEATH_H
#define IW_FILE_BENEATH_H

#include <stddef.h>
#include <sys/types.h>

/* path: relative, "" or "." is dirfd itself. flags and mode as of open(2). */
int iw_beneath_open(int dirfd, const char *path, int flags, mode_t mode);

/*
 * The directory that holds the last component of path, which is not looked at: *leaf points to it within path. path has at least one
 * component and does not end in a slash (EINVAL).
 */
int iw_beneath_parent(int dirfd, const char *path, const char **leaf);

/*
 * The same two functions for names from a peer: no symbolic link in the path is followed (ELOOP, or ENOTDIR
 * without openat2), neither one that the peer sent before nor an older one. Even a link that stays inside the
 * directory would lead a name out of its tree.
 */
int iw_beneath_dir(int dirfd, const char *path);
int iw_beneath_dir_of(int dirfd, const char *path, const char **leaf);

/* The way without openat2, for its test. */
int iw_beneath_walk(int dirfd, const char *path, int flags, mode_t mode);

#endif
