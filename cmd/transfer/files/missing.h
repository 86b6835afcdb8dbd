/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files that were announced and have not arrived: those whose connection was lost before their
 * RESULT, until another connection has their RESULT; at the end of a transfer those that are
 * incomplete. A lost connection can leave thousands of them: 256 in each of its packs.
 */
#ifndef IW_TRANSFER_FILES_MISSING_H
#define IW_TRANSFER_FILES_MISSING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transfer/protocol/xfer.h"
#include "util/list.h"

struct iw_missing {
	struct iw_list link;
	struct iw_missing *next;  /* in its bucket */
	struct iw_xfer_meta meta; /* kind, name, size, time; the name is owned */
	const char *why;          /* static text */
	size_t bytes;             /* memory of the entry */
};

struct iw_missing_list {
	struct iw_list all;         /* in the order in which they were added */
	struct iw_missing **bucket; /* by the hash of the name */
	size_t n, nbuckets;         /* entries; nbuckets: 0 or a power of two */
	uint64_t seed;
};

/* Initializes l as an empty list. */
void iw_missing_init(struct iw_missing_list *l);
/*
 * Adds m unless the list has its name. Returns the bytes of memory of the entry. 0: the list has
 * the name; or there is no memory, and *lost is set.
 */
size_t iw_missing_add(struct iw_missing_list *to, const struct iw_xfer_meta *m, const char *why,
		      bool *lost);
/* Removes the name. Returns the bytes of memory of its entry; 0: the list does not have it. */
size_t iw_missing_drop(struct iw_missing_list *from, const char *name, size_t len);
/* Moves all entries of src to dst, which is empty. */
void iw_missing_move(struct iw_missing_list *dst, struct iw_missing_list *src);
/* Frees all entries. The list is empty then. */
void iw_missing_fini(struct iw_missing_list *l);

#endif
