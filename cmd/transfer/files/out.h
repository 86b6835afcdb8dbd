/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Standard output as a target, without blocking: its reader may pause for an hour, and the
 * connection must be kept alive meanwhile. The state is global, as standard output is. The open
 * file description, which other processes share, is not changed.
 */
#ifndef IW_TRANSFER_FILES_OUT_H
#define IW_TRANSFER_FILES_OUT_H

#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "transfer/files/fault.h"

/* Finds out how to write without blocking. Call it once, before the other functions. */
void iw_out_open(void);
/*
 * The descriptor to watch for writing after a return value of 1. -1: it cannot be watched, and is
 * never full.
 */
int iw_out_fd(void);

/* 0: *wrote octets were written, at least one; 1: it is full (*wrote is 0); -1: *why. */
IW_MUST_CHECK int iw_out_write(const void *p, size_t len, size_t *wrote, struct iw_file_fault *why);
/* Writes up to len zeros, and adds their number to *pos. Returns as iw_out_write. */
IW_MUST_CHECK int iw_out_zeros(uint64_t len, uint64_t *pos, struct iw_file_fault *why);

#endif
