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
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include <iwarp/err.h>

#include "transfer/files/digest.h"
#include "transfer/files/fault.h"
#include "transfer/files/journal.h"
#include "transfer/files/missing.h"
#include "transfer/files/place.h"
#include "transfer/protocol/xfer.h"

/* The temporary. */
struct iw_part {
	struct iw_list link; /* in the place, when it is shared */
	unsigned refs;
	uint32_t share;
	int parent, fd;
	char leaf[NAME_MAX + 1];
	char name[IW_TEMP_NAME], journal_name[IW_TEMP_NAME];
	/* of journal and chunks: the parts of a file are written at the same time */
	pthread_mutex_t lock;
	struct iw_journal journal;
	struct iw_chunk_list chunks; /* those that are there: journaled, or of this transfer */
	/* Owned by the thread that writes: */
	uint64_t high;              /* end of what has been written */
	uint64_t flushed, flushing; /* what has been asked to go to storage */
	/* Owned by the thread that opens and commits: */
	struct iw_range {
		uint64_t off, len;
	} * done; /* the complete parts; no two overlap */
	size_t ndone;
	uint64_t done_octets;
	bool reported; /* its failure is reported already, or will be */
	bool resting;  /* some parts are complete, and none is being received: counted in account */
	bool useless;  /* it failed for a reason that remains after a resume */
	bool named;    /* it has its final name */
	bool lost;     /* with its connection: another one may continue it */
	struct iw_place *place; /* borrowed */
	/* As announced: a complete file of that size and time that was not there before makes this one useless. */
	bool was_there;
	uint64_t meta_size;
	int64_t mtime_s;
	uint32_t mtime_ns;
	struct iw_account *account; /* borrowed; NULL: nothing is charged yet */
	uint64_t charged, files;    /* octets; 1 if the file is charged */
	/* Of a file in parts, equal in all its announcements: */
	uint64_t size;
	char *announced; /* owned: its name, announced_len octets */
	size_t announced_len;
};

struct iw_target {
	struct iw_place *place;      /* borrowed */
	struct iw_part *part;        /* NULL: standard output */
	const struct iw_xmeta *meta; /* borrowed: the machine keeps it until the file's RESULT */
	bool to_stdout;
	struct iw_chunk_list chunks; /* of what this target is about */
	size_t had;                  /* of them, from an earlier transfer */
	size_t verify_at;            /* chunks likewise */
	uint64_t reached;            /* of a stream: octets that have been charged */
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
 * The same, only for files. Another thread may create or commit another target of the same place meanwhile, even another part of the same
 * file. The caller owns t and *h.
 */
IW_MUST_CHECK int iw_target_write(struct iw_target *t, struct iw_hasher *h, uint64_t off,
				  const struct iovec *iov, size_t n,
				  const struct iw_xdigest *digest, struct iw_file_fault *why);
/*
 * Ends it: 0, it is whole and in its place, or it was a part and others are still missing; 1: as in iw_target_store, or there is more to be
 * verified: call again; -1: *why, and it is for iw_target_abandon.
 */
IW_MUST_CHECK int iw_target_commit(struct iw_target *t, struct iw_hasher *h, uint64_t size,
				   const struct iw_xdigest *digest, struct iw_file_fault *why);
/* A chunk of t that is stored is recorded, so that a later transfer resumes after it. */
bool iw_target_is_kept(const struct iw_target *t);
/* What there is stays for another time if the reason, an enum iw_xcode, lets it be of use then; else it goes. */
void iw_target_abandon(struct iw_target *t, uint32_t code);

/* Files of which parts are still missing: what there is of them stays for another time. Before the place is closed. */
void iw_target_forget(struct iw_place *p);
/*
 * Call it when the source has no more files. Adds to missing the files that have some parts but not all, and whose failure was not reported
 * yet. *begun: the number of those that have their first part, and so were counted as done. False: no memory for one.
 */
bool iw_target_unfinished(struct iw_place *p, struct iw_list *missing, uint64_t *begun);
/* Their number. */
size_t iw_target_count_unfinished(const struct iw_place *p);
/* Is that temporary of a file that comes in parts to p? */
bool iw_target_holds(struct iw_place *p, const char *temp);

/*
 * Charges a stream that is about to grow up to octet end, zeros included: its size is not announced. Other files were
 * charged when they were announced. Stores and the commit call it before they write. -1: over a limit: *why.
 */
IW_MUST_CHECK int iw_target_reach(struct iw_target *t, uint64_t end, struct iw_file_fault *why);

/* Zeroes fd from octet off to octet end, as a hole if the file system has holes. */
IW_MUST_CHECK int iw_target_clear(int fd, uint64_t off, uint64_t end, struct iw_file_fault *why);
/* Standard output: writes zeros up to octet end. 0; 1: as in iw_target_store, or there are more: call it again; -1: *why. */
IW_MUST_CHECK int iw_target_fill(struct iw_target *t, uint64_t end, struct iw_file_fault *why);

/* Reads the umask of the process. Call it before a second thread starts. */
void iw_target_prepare(void);
/* The umask that it read. */
uint32_t iw_target_umask(void);

/* Writes octets at off of fd; blocks of zeros become holes. */
IW_MUST_CHECK int iw_write_holes(int fd, const uint8_t *p, size_t len, uint64_t off, uint64_t *high,
				 struct iw_file_fault *why);

#endif
