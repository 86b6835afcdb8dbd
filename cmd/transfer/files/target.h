/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files that are being received. A file grows as `.iw-<16 hex>.part` in its target directory, and
 * only its owner can open it. It gets its name when it is complete: its digest is right, its mode
 * and time are set, and it is on storage. Then the directory is written to storage too. An existing
 * file of that name does not change before that. The temporary of an interrupted file is kept with
 * a journal, and the next transfer resumes it.
 *
 * A file may arrive in parts, each on its own connection. All parts share one temporary; the last
 * one gives it its name.
 */
#ifndef IW_TRANSFER_FILES_TARGET_H
#define IW_TRANSFER_FILES_TARGET_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
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

/* A temporary, which the targets of all parts of a file share. */
struct iw_part {
	struct iw_list link; /* of a file in parts: in the place's list */
	unsigned refs;
	uint32_t share;
	int parent, fd;
	char leaf[NAME_MAX + 1];
	char name[IW_TEMP_NAME], journal_name[IW_TEMP_NAME];
	/* of journal and chunks, because parts of a file are written at the same time */
	pthread_mutex_t lock;
	struct iw_journal journal;
	/* the stored chunks: from the journal, or from this transfer */
	struct iw_chunk_list chunks;
	/* Not all octets reached storage: it must not get its name, and is not resumed. */
	atomic_bool unstored;
	/* Owned by the thread that writes: */
	uint64_t high; /* end of the written octets */
	/* octets that are on storage; octets of which the write-back was started */
	uint64_t flushed, flushing;
	/* Owned by the thread that opens and commits: */
	struct iw_range {
		uint64_t off, len;
	} * done; /* the complete parts; no two overlap */
	size_t ndone;
	uint64_t done_octets;
	bool reported; /* its failure is reported already, or will be */
	/* Some parts are complete, and no part is being received: see iw_account_rest. */
	bool resting;
	bool useless;           /* it failed for a reason that a resume would not change */
	bool named;             /* it has its final name */
	bool lost;              /* its connection was lost; another one may complete it */
	struct iw_place *place; /* borrowed */
	/*
	 * As announced. A complete file of that size and time, which did not exist before, makes
	 * this temporary useless.
	 */
	bool was_there;
	uint64_t meta_size;
	int64_t mtime_s;
	uint32_t mtime_ns;
	struct iw_account *account; /* borrowed; NULL: nothing is charged yet */
	uint64_t charged, files;    /* octets; 1 if the file itself is charged */
	/* Of a file in parts, equal in all announcements: */
	uint64_t size;
	char *announced; /* owned: its name, announced_len octets */
	size_t announced_len;
};

struct iw_target {
	struct iw_place *place; /* borrowed */
	struct iw_part *part;   /* NULL: standard output */
	const struct iw_xfer_meta
		*meta; /* borrowed: the machine keeps it until the file's RESULT */
	bool to_stdout;
	struct iw_chunk_list chunks; /* of this target */
	size_t had;                  /* of these, the chunks of an earlier transfer */
	size_t verify_at;            /* --verify: chunks that were read back */
	uint64_t reached;            /* stream: octets that are charged */
	/* Standard output: */
	uint64_t pos;  /* octets written, or zeros still to be written */
	uint64_t done; /* octets written of the current store */
	bool checked;  /* the digest of the current store is verified */
};

enum iw_created { IW_CREATED, IW_MADE, IW_CREATE_FAILED };

/*
 * Performs CREATE for every kind except a pack. IW_CREATED: *t is set up. IW_MADE: the directory or
 * link exists now. IW_CREATE_FAILED: *why, also if m is skipped.
 */
IW_MUST_CHECK enum iw_created iw_target_create(struct iw_target *t, struct iw_place *p,
					       const struct iw_xfer_meta *m,
					       enum iw_xfer_digest_kind digest,
					       struct iw_file_fault *why);

/*
 * Checks the digest of iov, n pieces (at most IW_XFER_PIECES), and writes them at off. Blocks of
 * zeros become holes. 0; 1: standard output is full: call it again with the same arguments when it
 * is writable; -1: *why.
 */
IW_MUST_CHECK int iw_target_store(struct iw_target *t, struct iw_hasher *h, uint64_t off,
				  const struct iovec *iov, size_t n,
				  const struct iw_xfer_digest *digest, struct iw_file_fault *why);

/*
 * The same for files only. Another thread may create or commit other targets of the same place
 * meanwhile, even another part of the same file. The caller owns t and *h. h NULL: the caller has
 * checked the digest.
 */
IW_MUST_CHECK int iw_target_write(struct iw_target *t, struct iw_hasher *h, uint64_t off,
				  const struct iovec *iov, size_t n,
				  const struct iw_xfer_digest *digest, struct iw_file_fault *why);
/*
 * Completes the file. 0: it has its name, or it was a part and other parts are missing. 1: as in
 * iw_target_store, or there is more to verify: call it again. -1: *why; call iw_target_abandon.
 */
IW_MUST_CHECK int iw_target_commit(struct iw_target *t, struct iw_hasher *h, uint64_t size,
				   const struct iw_xfer_digest *digest, struct iw_file_fault *why);
/* True if stored chunks of t are recorded, so that a later transfer can resume. */
bool iw_target_is_kept(const struct iw_target *t);
/*
 * Gives the file up for the reason code, an enum iw_xfer_code. The temporary is kept if a later
 * transfer could resume it, and removed otherwise.
 */
void iw_target_abandon(struct iw_target *t, uint32_t code);

/*
 * Call it before the place is closed. Keeps the temporaries of files with missing parts for a later
 * transfer.
 */
void iw_target_forget(struct iw_place *p);
/*
 * Call it when the source has no more files. Adds to missing the files that have some parts but not
 * all, and whose failure was not reported. Adds to *begun the number of those that have their first
 * part, and so were counted as done. False: no memory for one of them.
 */
bool iw_target_unfinished(struct iw_place *p, struct iw_missing_list *missing, uint64_t *begun);
/* The number of files with some parts but not all. */
size_t iw_target_count_unfinished(const struct iw_place *p);
/* True if temp is the temporary of a file in parts that p holds. */
bool iw_target_holds(struct iw_place *p, const char *temp);

/*
 * Charges a stream that will grow to octet end, zeros included: the size of a stream is not
 * announced. Stores and the commit call it before they write. Other files were charged when they
 * were announced. -1: over a limit: *why.
 */
IW_MUST_CHECK int iw_target_reach(struct iw_target *t, uint64_t end, struct iw_file_fault *why);

/*
 * Call it if a system call reports that octets of the file did not reach storage. The kernel reports
 * this once, and then treats them as written, so the temporary is neither completed nor resumed.
 * Returns -1, with the text for error, an errno, in *why.
 */
IW_MUST_CHECK int iw_target_unstored(struct iw_part *part, int error, struct iw_file_fault *why);
/* Zeroes fd from octet off to octet end, as a hole if the file system has holes. */
IW_MUST_CHECK int iw_target_clear(int fd, uint64_t off, uint64_t end, struct iw_file_fault *why);
/*
 * Standard output: writes zeros up to octet end. 0; 1: as in iw_target_store, or there are more:
 * call it again; -1: *why.
 */
IW_MUST_CHECK int iw_target_fill(struct iw_target *t, uint64_t end, struct iw_file_fault *why);

/* Reads the umask of the process. Call it before a second thread starts. */
void iw_target_prepare(void);
/* The umask that it read. */
uint32_t iw_target_umask(void);

/*
 * Writes len bytes at off of fd. Blocks of zeros become holes. *high: raised to the end of the last
 * write. -1: *why.
 */
IW_MUST_CHECK int iw_write_holes(int fd, const uint8_t *p, size_t len, uint64_t off, uint64_t *high,
				 struct iw_file_fault *why);

#endif
