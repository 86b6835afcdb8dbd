/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Limits what a receiver accepts: octets and files of one transfer, and of all transfers of the
 * process. Everything is charged before it is written; a file is charged with its whole size when
 * it is announced. The charge of a file that is not stored after all is returned. The temporary of
 * a failed file stays charged until it is resumed or removed. Threads: any, at the same time.
 */
#ifndef IW_TRANSFER_FILES_ACCOUNT_H
#define IW_TRANSFER_FILES_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include <iwarp/err.h>

#include "transfer/files/fault.h"

struct iw_account {
	/* borrowed: the account of the process; NULL: this is that account */
	struct iw_account *all;
	const char *limit;              /* the option that sets max_octets, for messages */
	uint64_t max_octets, max_files; /* 0: no limit */
	uint64_t octets, files;
	/*
	 * Files with some complete parts, of which no part is being received: each holds
	 * descriptors. max_resting 0: no limit.
	 */
	uint64_t resting, max_resting;
	uint64_t would_octets, would_files; /* charged by a dry run */
	/* Temporaries that stay on storage. */
	struct iw_left {
		uint64_t dev, ino; /* ino 0: free */
		uint64_t octets, files;
	} * left;
	size_t nleft, cap;
};

/* Frees a, and returns to the account of the process what a dry run charged. */
void iw_account_fini(struct iw_account *a);
/*
 * Charges a and the account of the process. -1: a limit would be exceeded: *why, and nothing is
 * charged.
 */
IW_MUST_CHECK int iw_account_take(struct iw_account *a, uint64_t octets, uint64_t files,
				  struct iw_file_fault *why);
/* Returns that part of the charge, because the file is not stored. */
void iw_account_return(struct iw_account *a, uint64_t octets, uint64_t files);
/* Marks that part as charged by a dry run: iw_account_fini returns it. */
void iw_account_would(struct iw_account *a, uint64_t octets, uint64_t files);
/* Checks whether a file in parts may be started. -1: too many others wait for their parts: *why. */
IW_MUST_CHECK int iw_account_may_rest(const struct iw_account *a, struct iw_file_fault *why);
/* rest: one more file waits for parts while none is being received. wake: one fewer. */
void iw_account_rest(struct iw_account *a);
void iw_account_wake(struct iw_account *a);
/*
 * Charges the blocks of a temporary or journal that stays on storage, whatever the limits. If
 * memory is short, the charge is never returned.
 */
void iw_account_leave(struct iw_account *a, const struct stat *st, bool is_file);
/* The temporary was resumed or removed: returns its charge. An unknown one is ignored. */
void iw_account_resume(struct iw_account *a, const struct stat *st);
/*
 * Charges the temporaries that earlier processes left below dir. Those that cannot be read are not
 * counted.
 */
void iw_account_scan(struct iw_account *a, const char *dir);

#endif
