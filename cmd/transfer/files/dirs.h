/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The directories that a source announced, each name once, in the order of the first announcement,
 * with the attributes to be set when all their contents are stored.
 */
#ifndef IW_TRANSFER_FILES_DIRS_H
#define IW_TRANSFER_FILES_DIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transfer/protocol/xfer.h"

struct iw_dir;

struct iw_dirs {
	struct iw_dir **row;
	size_t n, cap;
	uint32_t *index; /* hash table of indices in row plus 1; 0: free */
	size_t nindex;   /* a power of two */
	uint64_t seed;   /* of the hash: a peer cannot choose names that collide */
	size_t bytes;    /* of memory in total */
};

/*
 * Adds a directory. A name that is announced again gets the attributes of the last announcement.
 * Extended attributes are copied if m has them. False: no memory; the directory is not added.
 */
IW_MUST_CHECK bool iw_dirs_keep(struct iw_dirs *d, const char *name, const struct iw_xfer_meta *m);
/* Notes that the directory name, which is in d, did not exist before. */
void iw_dirs_set_new(struct iw_dirs *d, const char *name);
/* True if iw_dirs_set_new was called for name, of len bytes. */
bool iw_dirs_is_new(const struct iw_dirs *d, const char *name, size_t len);
/* Returns the name of directory i, which is below d->n; owned by d. */
const char *iw_dirs_name(const struct iw_dirs *d, size_t i);
/* Returns kind, mode, time, owner and extended attributes; the last are owned by d. */
struct iw_xfer_meta iw_dirs_meta(const struct iw_dirs *d, size_t i);
/* d may be all zero. */
void iw_dirs_fini(struct iw_dirs *d);

#endif
