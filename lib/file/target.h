/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files being received. Each one grows as `.iw-<16 hex>.part` in its target directory, open to its owner alone, and takes its name only
 * when it is whole: digest right, mode and time set, on storage; then the directory is put on storage too. Until then the old file of
 * that name is what it was. What there is of one that was interrupted stays, with a journal beside it, and the next transfer goes on.
 *
 * A file may come in parts, each on a connection of its own: several targets share one such temporary, and the last one gives it its name.
 */
#ifndef IW_FILE_TARGET_H
#define IW_FILE_TARGET_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include <iwarp/err.h>

#include "file/digest.h"
#include "file/fault.h"
#include "file/journal.h"
#include "file/place.h"
#include "xfer/xfer.h"

/* The temporary. */
struct iw_part {
	struct iw_list link; /* in the place, when it is shared */
	unsigned refs;
	uint32_t share;
	int parent, fd;
	char leaf[NAME_MAX + 1];
	char name[IW_TEMP_NAME], journal_name[IW_TEMP_NAME];
	struct iw_journal journal;
	struct iw_chunk_list chunks; /* those that are there: journaled, or of this transfer */
	/* The worker's while it writes: */
	uint64_t high;              /* end of what has been written */
	uint64_t flushed, flushing; /* what has been asked to go to storage */
	/* The first thread's: */
	uint64_t *done; /* offsets of the parts that are whole */
	size_t ndone;
	uint64_t done_octets;
	bool useless; /* it failed in a way that going on does not mend */
	bool named;   /* it has taken its name */
};

struct iw_target {
	struct iw_place *place;      /* borrowed */
	struct iw_part *part;        /* NULL: standard output */
	const struct iw_xmeta *meta; /* borrowed: the machine keeps it until the file's RESULT */
	bool to_stdout;
	struct iw_chunk_list chunks; /* of what this target is about */
	size_t had;                  /* of them, from an earlier transfer */
	uint64_t verified;           /* --verify: octets read again */
	size_t verify_at;            /* chunks likewise */
	/* standard output: */
	uint64_t pos;  /* octets of the file that are out, or are zeros to be written */
	uint64_t done; /* of the store that is under way */
	bool checked;  /* its digest */
};

enum iw_created { IW_CREATED, IW_MADE, IW_CREATE_FAILED };

/*
 * What the machine's CREATE asks for, of every kind but packs. IW_CREATED: *t is set up; IW_MADE: a directory or link, there now;
 * IW_CREATE_FAILED: *why, whose code may be one of those that are skipped.
 */
IW_MUST_CHECK enum iw_created iw_target_create(struct iw_target *t, struct iw_place *p,
					       const struct iw_xmeta *m, enum iw_xfer_digest digest,
					       struct iw_file_fault *why);

/*
 * Checks the digest of the octets of iov (n pieces, no more than IW_XPARTS), which belong at off, and writes them; blocks of zeros become
 * holes. 0; 1: standard output takes no more now: call again with the same arguments when it does; -1: *why.
 */
IW_MUST_CHECK int iw_target_store(struct iw_target *t, struct iw_hasher *h, uint64_t off,
				  const struct iovec *iov, size_t n,
				  const struct iw_xdigest *digest, struct iw_file_fault *why);

/*
 * The two halves of it, for files: the first one is the worker's (file/worker.h), and touches nothing of t but its temporary's descriptor
 * and how far that is written; the second one keeps what was written in mind. len: octets of iov.
 */
IW_MUST_CHECK int iw_target_write(struct iw_target *t, struct iw_hasher *h, uint64_t off,
				  const struct iovec *iov, size_t n,
				  const struct iw_xdigest *digest, struct iw_file_fault *why);
IW_MUST_CHECK int iw_target_wrote(struct iw_target *t, uint64_t off, size_t len,
				  const struct iw_xdigest *digest, struct iw_file_fault *why);

/*
 * Ends it: 0, it is whole and in its place, or it was a part and others are still missing; 1: as in iw_target_store, or there is more to be
 * verified: call again; -1: *why, and it is for iw_target_abandon.
 */
IW_MUST_CHECK int iw_target_commit(struct iw_target *t, struct iw_hasher *h, uint64_t size,
				   const struct iw_xdigest *digest, struct iw_file_fault *why);
/* What there is stays for another time if the reason, an enum iw_xcode, lets it be of use then; else it goes. */
void iw_target_abandon(struct iw_target *t, uint32_t code);

/* Files of which parts are still missing: what there is of them stays for another time. Before the place is closed. */
void iw_target_forget(struct iw_place *p);
/* Is that temporary of a file that comes in parts to p? */
bool iw_target_holds(struct iw_place *p, const char *temp);

/* Writes octets at off of fd; blocks of zeros become holes. */
IW_MUST_CHECK int iw_write_holes(int fd, const uint8_t *p, size_t len, uint64_t off, uint64_t *high,
				 struct iw_file_fault *why);

#endif
