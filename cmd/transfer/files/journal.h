/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The journal of a temporary: `.iw-<16 hex>.journal` for `.iw-<16 hex>.part`. It records which
 * chunks of which version of which source are stored, with their digests. A chunk is written before
 * its record, and each record has a checksum. So the journal is right whenever the process is
 * killed. After a crash of the machine it is unknown what reached storage: a journal of another
 * boot is ignored, and the file starts again. The same is true if the kernel could not write octets
 * to storage: then the journal is invalidated.
 *
 * The checksums detect torn writes, not forgery: they have no key. A journal is trusted because no
 * other user can have written it (transfer/files/temp.h), and only for the file for which it was
 * created: its head has iw_temp_id() of that file.
 */
#ifndef IW_TRANSFER_FILES_JOURNAL_H
#define IW_TRANSFER_FILES_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "transfer/files/digest.h"
#include "transfer/protocol/xfer.h"

/* The kernel creates a new one at each boot. */
#define IW_JOURNAL_BOOT_ID "/proc/sys/kernel/random/boot_id"

struct iw_journal {
	int fd;        /* -1: no journal is kept */
	uint64_t len;  /* octets of complete records */
	uint64_t seed; /* seed of the records' checksums, from the contents of the head */
};

/*
 * Opens name in dir, or creates it, and reads which chunks of m are stored in the file part into
 * *chunks. *chunks must be empty, and stays empty if the head names another source, digest, file or
 * boot. -1: no journal is kept, because another user's file has its name, or it cannot be written;
 * the transfer continues without one.
 */
int iw_journal_open(struct iw_journal *j, int dir, const char *name, int part,
		    const struct iw_xfer_meta *m, enum iw_xfer_digest_kind digest,
		    struct iw_chunk_list *chunks);
/*
 * Records that the chunk at octet off is written. If the record cannot be written, a later transfer
 * sends the chunk again.
 */
void iw_journal_note(struct iw_journal *j, uint64_t off, const struct iw_xfer_digest *d);
/*
 * Invalidates the journal, including records that are added later: the next transfer starts again.
 * It has no effect if the file system has become read-only.
 */
void iw_journal_invalidate(struct iw_journal *j);
/* True if name in dir is the journal of a file other than m, or of another version of m. */
bool iw_journal_is_other(int dir, const char *name, const struct iw_xfer_meta *m);
void iw_journal_close(struct iw_journal *j);

#endif
