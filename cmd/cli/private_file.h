/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files with secrets, and the directory of this user's keys. */
#ifndef IW_CLI_PRIVATE_FILE_H
#define IW_CLI_PRIVATE_FILE_H

#include <stddef.h>

#include <iwarp/err.h>

/*
 * Opens a regular file that only its owner has rights on, to read. option names the file in
 * messages, such as "--key". Returns the descriptor.
 * IW_E_PERM: the group or others have rights on it; IW_E_INVAL: not a regular file; IW_E_NOENT,
 * IW_E_PERM, IW_E_OS: it cannot be opened.
 */
IW_MUST_CHECK int iw_private_open(const char *path, const char *option, struct iw_fault *why);

#define IW_CONFIG_PATH 4096 /* characters of a path, with the zero */
/*
 * Writes the path of the directory of this user's keys and configuration: iwarp in
 * $XDG_CONFIG_HOME, or else in ~/.config. Does not create it. IW_E_NOENT: neither variable is set to
 * an absolute path; IW_E_LIMIT: the path is too long.
 */
IW_MUST_CHECK int iw_config_dir(char path[IW_CONFIG_PATH], struct iw_fault *why);
/*
 * Opens that directory, and makes it and its parent, mode 0700, if they do not exist. Returns the
 * descriptor, and writes the path. IW_E_PERM: others may write to it; IW_E_OS.
 */
IW_MUST_CHECK int iw_config_open(char path[IW_CONFIG_PATH], struct iw_fault *why);

/*
 * Locks fd as flock(2) does, for at most five seconds. how: LOCK_SH or LOCK_EX. path is for the
 * message. IW_E_TIMEOUT: another process holds the lock; IW_E_OS.
 */
IW_MUST_CHECK int iw_config_lock(int fd, int how, const char *path, struct iw_fault *why);

#endif
