/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Extended attributes in the form of the protocol: for each attribute one octet with the length of
 * its name, two octets (big-endian) with the length of its value, the name, the value. User
 * attributes are sent; with acls also POSIX ACLs, which name users and groups by number, as owners
 * do. No others are sent, because a peer must not grant rights.
 */
#ifndef IW_TRANSFER_FILES_ATTR_H
#define IW_TRANSFER_FILES_ATTR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "transfer/files/fault.h"

/*
 * Reads the attributes of fd into *out, *len octets, owned by the caller. *out NULL: fd has no such
 * attributes, or its file system does not support them. -1: *why.
 */
IW_MUST_CHECK int iw_attr_read(int fd, bool acls, uint8_t **out, size_t *len,
			       struct iw_file_fault *why);
/*
 * Checks that the peer's octets are well-formed, and contain only attributes that are sent. -1:
 * *why.
 */
IW_MUST_CHECK int iw_attr_check(bool acls, const uint8_t *p, size_t len, struct iw_file_fault *why);
/*
 * Sets the attributes, and removes others of the same kinds; one that cannot be removed stays. The
 * octets come from a peer. -1: *why, also if they are malformed.
 */
IW_MUST_CHECK int iw_attr_write(int fd, bool acls, const uint8_t *p, size_t len,
				struct iw_file_fault *why);
/*
 * True if fd has exactly these attributes. False also if its own cannot be read, or p is malformed.
 */
bool iw_attr_same(int fd, bool acls, const uint8_t *p, size_t len);

#endif
