/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files being received. Each one grows as `.iw-<16 hex>.part` in its target directory, open to its owner alone, and takes its name only
 * when it is whole: digest right, mode and time set, on storage; then the directory is put on storage too. Until then the old file of
 * that name is what it was. Nothing outside the base directory is touched, whatever the peer's names and links in the tree say.
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
#include "xfer/xfer.h"

/* Where files go, by scp's rules for a target: into a directory, or one of them under another
 * name. */
struct iw_place {
	int base; /* the directory that names start from; -1: none yet */
	char *as; /* the name, from base, of a single file; NULL: files keep their names. Owned */
	bool to_stdout; /* one file, to standard output */
	bool used_up;   /* as, or standard output, has been taken */
	bool force;
};

/*
 * A path that a peer gives, beneath root. many: it must be a directory. -1: *why. The base is a descriptor of its own.
 */
IW_MUST_CHECK int iw_place_beneath(struct iw_place *p, int root, const char *path, bool many,
				   struct iw_file_fault *why);
/* A path that the local user gives: it may lie anywhere. */
IW_MUST_CHECK int iw_place_local(struct iw_place *p, const char *path, bool many,
				 struct iw_file_fault *why);
void iw_place_stdout(struct iw_place *p);
void iw_place_close(struct iw_place *p);

#define IW_PART_NAME 32 /* ".iw-0123456789abcdef.part" */

struct iw_target {
	int parent, fd;
	char leaf[NAME_MAX + 1];
	char part[IW_PART_NAME];
	bool to_stdout;
	bool has_time;
	uint32_t mode;
	int64_t mtime_s;
	uint32_t mtime_ns;
	struct iw_chunk_list chunks;
	uint64_t high;              /* end of what has been written */
	uint64_t flushed, flushing; /* what has been asked to go to storage */
	/* standard output: */
	uint64_t pos;  /* octets of the file that are out, or are zeros to be written */
	uint64_t done; /* of the store that is under way */
	bool checked;  /* its digest */
};

enum iw_created { IW_CREATED, IW_MADE, IW_CREATE_FAILED };

/*
 * What the machine's CREATE asks for. IW_CREATED: *t is set up; IW_MADE: a directory, there now; IW_CREATE_FAILED: *why, whose code is
 * IW_XC_SAME when a file of that size and time is there and force is not set.
 */
IW_MUST_CHECK enum iw_created iw_target_create(struct iw_target *t, struct iw_place *p,
					       const struct iw_xmeta *m, struct iw_file_fault *why);

/*
 * Checks the digest of the octets of iov (n pieces, no more than IW_XPARTS), which belong at off, and writes them; blocks of zeros become
 * holes. 0; 1: standard output takes no more now: call again with the same arguments when it does; -1: *why.
 */
IW_MUST_CHECK int iw_target_store(struct iw_target *t, struct iw_hasher *h, uint64_t off,
				  const struct iovec *iov, size_t n,
				  const struct iw_xdigest *digest, struct iw_file_fault *why);

/* Ends it: 0, it is whole and in its place; 1: as in iw_target_store; -1: *why, and it is for
 * iw_target_abandon. */
IW_MUST_CHECK int iw_target_commit(struct iw_target *t, struct iw_hasher *h, uint64_t size,
				   const struct iw_xdigest *digest, struct iw_file_fault *why);
/* Removes what there is. */
void iw_target_abandon(struct iw_target *t);

#endif
