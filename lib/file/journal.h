/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Beside a file that grows, `.iw-<16 hex>.part`, its journal, `.iw-<16 hex>.journal`: which chunks of which state of which source are there,
 * with their digests. A chunk is written before its record, and a record has a check of its own, so that whatever kills the process at
 * whatever moment leaves a journal that tells the truth. After the machine itself went down nothing is known of what reached storage:
 * a journal of another boot is of no use, and the file begins anew.
 */
#ifndef IW_FILE_JOURNAL_H
#define IW_FILE_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "file/digest.h"
#include "xfer/xfer.h"

struct iw_journal {
	int fd;        /* -1: none is kept */
	uint64_t len;  /* octets of whole records */
	uint64_t seed; /* of the records' checks: what the head says */
};

/*
 * Opens name in dir, makes it if need be, and reads what it says of m's chunks into *chunks, which is empty before and after a head that
 * is about another source, another digest, another boot. -1: there will be none; a transfer goes on without it.
 */
int iw_journal_open(struct iw_journal *j, int dir, const char *name, const struct iw_xmeta *m,
		    enum iw_xfer_digest digest, struct iw_chunk_list *chunks);
/* The chunk at off is written. What cannot be noted will be sent again, if it comes to that. */
void iw_journal_note(struct iw_journal *j, uint64_t off, const struct iw_xdigest *d);
void iw_journal_close(struct iw_journal *j);

#endif
