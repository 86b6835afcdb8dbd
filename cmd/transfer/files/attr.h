/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Extended attributes as they travel: for each one octet with the length of its name, two octets, big-endian, with that of its value,
 * name and value. User attributes are sent, and with acls the POSIX ACLs, which
 * identify users and groups by number, as owners do. No others are sent: a peer must not grant rights.
 */
#ifndef IW_FILE_ATTR_H
#define IW_FILE_ATTR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "transfer/files/fault.h"

/* Those of fd into *out (owned by the caller, NULL when there are none). -1: *why; file systems without any have none. */
IW_MUST_CHECK int iw_attr_read(int fd, bool acls, uint8_t **out, size_t *len,
			       struct iw_file_fault *why);
/* Checks that the peer's octets are well-formed, and contain only attributes that are sent. -1: *why. */
IW_MUST_CHECK int iw_attr_check(bool acls, const uint8_t *p, size_t len, struct iw_file_fault *why);
/* Sets them, and removes others of the same kinds. The octets are a peer's: -1 with *why also when they are malformed. */
IW_MUST_CHECK int iw_attr_write(int fd, bool acls, const uint8_t *p, size_t len,
				struct iw_file_fault *why);
/* True if fd has exactly these. False also if they cannot be read or are malformed. */
bool iw_attr_same(int fd, bool acls, const uint8_t *p, size_t len);

#endif
