/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Standard output as a target that may not be waited for: whoever reads it may stop for an hour, and the connection must be kept
 * alive meanwhile. State of the process, as standard output is; its open file description, which other processes share, is not changed.
 */
#ifndef IW_FILE_OUT_H
#define IW_FILE_OUT_H

#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "transfer/files/fault.h"

/* Finds out how to write to it without waiting. To be called once, before the others. */
void iw_out_open(void);
/* The descriptor to watch for writing after a 1; -1: it cannot be watched, and is never full. */
int iw_out_fd(void);

/* 0: *wrote octets went out, at least one; 1: it takes none now (*wrote is 0); -1: *why. */
IW_MUST_CHECK int iw_out_write(const void *p, size_t len, size_t *wrote, struct iw_file_fault *why);
/* Up to len zeros, by which *pos grows. */
IW_MUST_CHECK int iw_out_zeros(uint64_t len, uint64_t *pos, struct iw_file_fault *why);

#endif
