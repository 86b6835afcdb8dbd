/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Free space, looked at before octets are sent. */
#ifndef IW_FILE_SPACE_H
#define IW_FILE_SPACE_H

#include <stdint.h>

#include <iwarp/err.h>

#include "transfer/files/fault.h"

/*
 * The octets that fd, a regular file of size octets, has outside of holes, at most those that its blocks can hold. It
 * is a lower bound: a file with very many holes is not searched to its end.
 */
uint64_t iw_space_data(int fd, uint64_t size);

/*
 * Checks whether octets more of data fit into the file system of fd. Only file systems that store each octet of data
 * are checked: not those that compress. -1: they do not: *why.
 */
IW_MUST_CHECK int iw_space_check(int fd, uint64_t octets, struct iw_file_fault *why);

#endif
