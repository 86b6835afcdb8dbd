/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files that were announced and have not arrived: those whose connection was lost before their
 * RESULT, until another connection has their RESULT; at the end of a transfer those that are
 * incomplete.
 */
#ifndef IW_TRANSFER_FILES_MISSING_H
#define IW_TRANSFER_FILES_MISSING_H

#include <stdbool.h>
#include <stddef.h>

#include "transfer/protocol/xfer.h"
#include "util/list.h"

struct iw_missing {
	struct iw_list link;
	struct iw_xfer_meta meta; /* kind, name, size, time; the name is owned */
	const char *why;          /* static text */
	size_t bytes;             /* memory of the entry */
};

/*
 * Adds m unless the list has its name. Returns the bytes of memory of the entry. 0: the list has
 * the name; or there is no memory, and *lost is set.
 */
size_t iw_missing_add(struct iw_list *to, const struct iw_xfer_meta *m, const char *why,
		      bool *lost);
/* Removes the name. Returns the bytes of memory of its entry. */
size_t iw_missing_drop(struct iw_list *from, const char *name, size_t len);
void iw_missing_free(struct iw_missing *m);
/* Frees all entries. */
void iw_missing_fini(struct iw_list *l);

#endif
