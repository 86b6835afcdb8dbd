/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The names that --delete would remove: a dry run found them and the user confirmed them. The
 * following run removes only these, whatever the source announces then.
 */
#ifndef IW_TRANSFER_FILES_REMOVALS_H
#define IW_TRANSFER_FILES_REMOVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct iw_removals {
	char **name; /* owned */
	size_t n, cap;
	/* source: names that the peer would remove, but that the patterns exclude */
	uint64_t spared;
};

/* Copies name. False: no memory; the name will not be removed. */
bool iw_removals_add(struct iw_removals *r, const char *name);
/* Call it after the last iw_removals_add and before iw_removals_has. */
void iw_removals_sort(struct iw_removals *r);
/* True if name was added. */
bool iw_removals_has(const struct iw_removals *r, const char *name);
/*
 * Returns all names, each terminated by NUL, *len octets in total; owned by the caller. NULL: no
 * memory.
 */
char *iw_removals_join(const struct iw_removals *r, size_t *len);
void iw_removals_fini(struct iw_removals *r);

#endif
