/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files that have several names: which of them was sent first. One row for each such file, found by device and inode. */
#ifndef IW_FILE_LINKS_H
#define IW_FILE_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct iw_linked {
	dev_t dev;
	ino_t ino;
	bool failed; /* it did not arrive */
	char name[]; /* as it travels */
};

struct iw_links {
	struct iw_linked **rows;
	size_t n, cap;
};

/* The row of st's file; *first: it was made now, with this name. NULL: no memory. */
struct iw_linked *iw_links_get(struct iw_links *l, const struct stat *st, const char *name,
			       size_t len, bool *first);
void iw_links_fini(struct iw_links *l);

#endif
