/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Temporaries with predictable names, in a directory that other local users may be able to write
 * to. Such a file is resumed only if no other user can have written it or have it open. It must be
 * a regular file that the effective user owns, with one name, and without mode bits for group and
 * others (with an ACL, the group bits are the mask, so no entry of the ACL applies). Only root
 * could create such a file for this user. The tools create their temporaries with that mode, and
 * widen it only after the last octet is written. So owner and mode prove who wrote the contents,
 * and no key is needed. A peer cannot create such a file either: iw_place_admit() refuses the
 * names.
 *
 * If others can write to the directory and it is not sticky, other users can still rename and
 * remove files, and so replace any file in it, complete or not. Only the contents of the
 * temporaries are safe there: iw_temp_id() ties a journal to its file.
 */
#ifndef IW_TRANSFER_FILES_TEMP_H
#define IW_TRANSFER_FILES_TEMP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include <iwarp/err.h>

/* ".iw-0123456789abcdef.part", ".iw-0123456789abcdef.journal" */
#define IW_TEMP_NAME 40

/*
 * True if name has the form of the name of a temporary or a journal. Ignores case, as some file
 * systems do.
 */
bool iw_temp_is_name(const char *name);
/*
 * True if a component of path is the name of a temporary. Every component is checked, because the
 * sink creates missing directories.
 */
bool iw_temp_in_path(const char *path);

/*
 * Opens name in dir for reading and writing, and locks it; creates it if it does not exist. A file
 * of this user that is not private is removed and created again. Returns the descriptor
 * (close-on-exec, owned by the caller), or -1 with errno: EWOULDBLOCK: another process, or another
 * descriptor of this one, holds the lock; EPERM: another user owns the file; ELOOP, EISDIR and
 * others of open(2).
 */
IW_MUST_CHECK int iw_temp_open(int dir, const char *name);

/* The same for a file that exists: -1 with ENOENT if it does not. */
IW_MUST_CHECK int iw_temp_open_old(int dir, const char *name);

/*
 * Opens a new file without a name in dir, for reading and writing. The umask or a default ACL of dir
 * may remove bits of mode. Only this process can reach the file. The system removes it if this process is killed before
 * iw_temp_name. Returns as iw_temp_open; EOPNOTSUPP, EISDIR or ENOENT: the file system or the
 * kernel has no such files.
 */
IW_MUST_CHECK int iw_temp_open_unnamed(int dir, mode_t mode);

/*
 * Gives the file fd, from iw_temp_open_unnamed, the name leaf in dir, and replaces an existing file
 * of that name. -1: errno of linkat(2) or renameat(2).
 */
IW_MUST_CHECK int iw_temp_name(int fd, int dir, const char *leaf);
/* The same, but -1 with EEXIST if leaf exists. */
IW_MUST_CHECK int iw_temp_name_new(int fd, int dir, const char *leaf);
/* The same for a leaf that exists. */
IW_MUST_CHECK int iw_temp_replace(int fd, int dir, const char *leaf);

/* True if the effective user owns it and it is a regular file, so that a sweep may remove it. */
bool iw_temp_is_own(const struct stat *st);

/*
 * Returns a number that no other file of this boot has, not even a later one with the same inode
 * number. 0: not known.
 */
uint64_t iw_temp_id(int fd);

/* True if name in dir is the file fd. */
bool iw_temp_is_named(int fd, int dir, const char *name);

#endif
