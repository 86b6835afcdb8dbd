/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Extended attributes as they travel: for each one octet with the length of its name, two octets, big-endian, with that of its value,
 * name and value. Those of users and POSIX ACLs alone: what else there is grants rights that a peer has no business to give.
 */
#ifndef IW_FILE_ATTR_H
#define IW_FILE_ATTR_H

#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "file/fault.h"

/* Those of fd into *out (owned by the caller, NULL when there are none). -1: *why; file systems without any have none. */
IW_MUST_CHECK int iw_attr_read(int fd, uint8_t **out, size_t *len, struct iw_file_fault *why);
/* Sets them, and removes others of the same kinds. The octets are a peer's: -1 with *why also when they are malformed. */
IW_MUST_CHECK int iw_attr_write(int fd, const uint8_t *p, size_t len, struct iw_file_fault *why);

#endif
