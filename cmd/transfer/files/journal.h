/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Beside a file that grows, `.iw-<16 hex>.part`, its journal, `.iw-<16 hex>.journal`: which chunks of which state of which source are there,
 * with their digests. A chunk is written before its record, and a record has a check of its own, so that whatever kills the process at
 * whatever moment leaves a journal that tells the truth. After the machine itself went down nothing is known of what reached storage:
 * a journal of another boot is of no use, and the file begins anew.
 *
 * The checks detect torn writes, not forgery: they have no key. A journal is trusted because no other user can have
 * written it (transfer/files/temp.h), and only for the file for which it was created: its head has iw_temp_id() of that file.
 */
#ifndef IW_FILE_JOURNAL_H
#define IW_FILE_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "transfer/files/digest.h"
#include "transfer/protocol/xfer.h"

/* The kernel makes a new one at each boot. */
#define IW_JOURNAL_BOOT_ID "/proc/sys/kernel/random/boot_id"

struct iw_journal {
	int fd;        /* -1: none is kept */
	uint64_t len;  /* octets of whole records */
	uint64_t seed; /* of the records' checks: what the head says */
};

/*
 * Opens name in dir, or creates it, and reads which chunks of m are stored in the file part into *chunks. *chunks
 * must be empty, and stays empty if the head names another source, digest, file or boot. -1: no journal is kept,
 * because another user's file has its name, or it cannot be written; the transfer continues without one.
 */
int iw_journal_open(struct iw_journal *j, int dir, const char *name, int part,
		    const struct iw_xmeta *m, enum iw_xfer_digest digest,
		    struct iw_chunk_list *chunks);
/* The chunk at off is written. What cannot be noted will be sent again, if it comes to that. */
void iw_journal_note(struct iw_journal *j, uint64_t off, const struct iw_xdigest *d);
/* True if name in dir is a journal of another file than m, or of another version of it. */
bool iw_journal_is_other(int dir, const char *name, const struct iw_xmeta *m);
void iw_journal_close(struct iw_journal *j);

#endif
