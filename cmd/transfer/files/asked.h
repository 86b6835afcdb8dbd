/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which names a pulling sink accepts: those that follow from the paths that it requested. The
 * source announces names, but the requests decide which of them are used.
 *
 * The last component of a path is its top-level name: "report.pdf", "docs" for "a/docs". The file
 * or directory of that name is accepted, and everything below it. The paths "", ".", "dir/" and
 * "dir/." request the contents of a directory: every name is accepted below them, because this side
 * cannot know the names in advance.
 */
#ifndef IW_TRANSFER_FILES_ASKED_H
#define IW_TRANSFER_FILES_ASKED_H

#include <stdbool.h>
#include <stddef.h>

#include <iwarp/err.h>

#include "transfer/protocol/xfer.h"

struct iw_asked {
	struct iw_asked_name {
		const char *p; /* borrowed from the path */
		size_t len;
		bool announced; /* by the source */
	} * row;                /* sorted, each name once */
	size_t n;
	bool contents; /* a path requests the contents of a directory */
};

/*
 * Why path cannot be requested ("ends in \"..\"", ...), as text that follows the path; NULL: it
 * can.
 */
const char *iw_asked_path_fault(const char *path);
/*
 * Takes the names from n paths, borrowed until iw_asked_fini, that have passed iw_asked_path_fault.
 * IW_E_NOMEM: no memory.
 */
IW_MUST_CHECK int iw_asked_init(struct iw_asked *a, char *const *paths, size_t n);
void iw_asked_fini(struct iw_asked *a);
/*
 * Why m is not accepted; NULL: it is. m's name has passed iw_xfer_name_fault, and so has the target
 * of a hard link, which is checked too. An entry with m->top must have a requested name and must
 * not be a link: a source follows links that are requested by name.
 */
const char *iw_asked_fault(const struct iw_asked *a, const struct iw_xfer_meta *m);
/* Notes that the source has announced m, whether it was accepted or not. */
void iw_asked_announced(struct iw_asked *a, const struct iw_xfer_meta *m);

#endif
