/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files with several hard links: the name that was sent first. One row per file, found by device
 * and inode.
 */
#ifndef IW_TRANSFER_FILES_LINKS_H
#define IW_TRANSFER_FILES_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct iw_linked {
	dev_t dev;
	ino_t ino;
	bool failed; /* the file did not arrive */
	char name[]; /* as sent */
};

struct iw_links {
	struct iw_linked **rows;
	size_t n, cap;
};

/*
 * Returns the row of the file of st; *first: it was created now, with this name. NULL: no memory.
 */
struct iw_linked *iw_links_get(struct iw_links *l, const struct stat *st, const char *name,
			       size_t len, bool *first);
void iw_links_fini(struct iw_links *l);

#endif
