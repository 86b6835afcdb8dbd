/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Why a file failed: the code for the peer, and a text for people. */
#ifndef IW_TRANSFER_FILES_FAULT_H
#define IW_TRANSFER_FILES_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "transfer/protocol/hello.h"

struct iw_file_fault {
	enum iw_xfer_code code;
	char text[IW_XFER_TEXT_MAX + 1];
};

/*
 * Fills *f from errnum; the text is "cannot step: phrase". Returns -1, so callers can write `return
 * iw_file_errno(...)`.
 */
int iw_file_errno(struct iw_file_fault *f, int errnum, const char *step);
/* The same with a given code and text. */
int iw_file_fail(struct iw_file_fault *f, enum iw_xfer_code code, const char *text);

/* Why a directory cannot be written to standard output: for a fetch, and for a listener. */
extern const char iw_file_no_dir[], iw_file_no_dir_there[];

/* Returns the kind of a file with its article: "a named pipe". */
const char *iw_file_kind(mode_t mode);

/* True if all len octets are zero. */
bool iw_is_zero(const void *p, size_t len);

#endif
