/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checks of free space, before octets are sent. */
#ifndef IW_TRANSFER_FILES_SPACE_H
#define IW_TRANSFER_FILES_SPACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include <iwarp/err.h>

#include "transfer/files/fault.h"

/* True if the file system of fd is a tmpfs: reading waits for a device only after swapping. */
bool iw_space_in_memory(int fd);
/*
 * False if searching the file for holes is useless and slow: tmpfs searches page by page, and all
 * of the file is allocated. What fallocate() has reserved then counts as data, and is sent as such.
 * fd and st are of the same file.
 */
bool iw_space_holes(int fd, const struct stat *st);
/*
 * Returns a lower bound of the octets of fd, a regular file of size octets, that are outside holes;
 * at most what its blocks can hold. A file with very many holes is not searched to its end.
 */
uint64_t iw_space_data(int fd, uint64_t size);

/*
 * Checks whether octets more of data fit into the file system of fd. Only file systems that store
 * each octet of data are checked, not those that compress. -1: they do not fit: *why.
 */
IW_MUST_CHECK int iw_space_check(int fd, uint64_t octets, struct iw_file_fault *why);

#endif
