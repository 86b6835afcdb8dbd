/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a source sends: operands one after another, directories with all that is below them, each entry with the name it travels
 * under. Directories come before what they hold. Names are opened from the directory that was read, so that nothing that is moved
 * about meanwhile leads out of it. A file or link is FAILED if an earlier operand sends a different file or link under the same
 * name: one of the two would be lost at the target.
 */
#ifndef IW_FILE_WALK_H
#define IW_FILE_WALK_H

#include <limits.h>
#include <stdbool.h>

#include <iwarp/err.h>

#include "transfer/files/fault.h"
#include "transfer/files/filter.h"
#include "transfer/files/names.h"
#include "transfer/files/pack.h"
#include "util/list.h"
#include "transfer/protocol/xfer.h"

#define IW_WALK_DEPTH 1024 /* directories below one another: each is an open descriptor */

struct iw_walk {
	int root; /* operands are beneath this directory; AT_FDCWD with local: anywhere */
	bool local;
	const struct iw_filter *filter; /* borrowed for life; NULL: none */
	const char *stream; /* likewise: the path of standard input at the target; NULL: none */
	struct iw_list operands;
	struct iw_list begun; /* the operands that were taken: the last one, and those before it */
	size_t nbegun;
	struct iw_names names;  /* of the operands */
	bool contents;          /* one of them is the contents of a directory */
	bool overlaps;          /* two operands may have entries of one name */
	struct iw_dir_ref *top; /* the operand that is being walked */
	size_t top_len;         /* octets of its name in name[] */
	unsigned depth;
	struct iw_walk_dir {
		void *dir;       /* DIR * */
		size_t name_len; /* of the directory's own name in name[] */
	} stack[IW_WALK_DEPTH];
	char name[IW_XFER_NAME_MAX + 1];
	char target[IW_XFER_NAME_MAX + 1];
};

enum iw_walked {
	IW_WALKED_FILE,
	IW_WALKED_DIR,    /* fd is open, and the walk's, until the next call */
	IW_WALKED_STREAM, /* standard input */
	IW_WALKED_LINK,
	IW_WALKED_FAILED, /* it cannot be sent: why, which may be that it is excluded */
	IW_WALKED_END,    /* no operands are left; there may be more to come */
};

struct iw_entry {
	enum iw_walked what;
	/* owned by the walk until the next call; may be no name that travels: see iw_xfer_name_fault */
	const char *name;
	size_t name_len;
	bool top; /* the user named it */
	/* top: the path that the user named; the walk's until the next operand */
	const char *operand;
	int fd;  /* FILE that is top: open for reading, and the caller's; others: iw_walk_open */
	int dir; /* FILE: where leaf is, the walk's until the next call */
	const char *leaf;
	struct iw_dir_ref *root; /* FILE below a directory: where path leads from; borrowed */
	const char *path;
	const char *target; /* LINK */
	struct stat st;     /* FILE, DIR, LINK */
	struct iw_file_fault why;
};

/* root: borrowed for life, operands are opened beneath it; AT_FDCWD: they are the local user's own and may lie anywhere. */
void iw_walk_init(struct iw_walk *w, int root);
void iw_walk_fini(struct iw_walk *w);
/* The last component of path, slashes at its end aside: "docs" for "a/docs/". *len 0: it has none. Not terminated; points into path. */
const char *iw_walk_name(const char *path, size_t *len);
/*
 * True if path, of the local user, means the contents of a directory: it ends in a slash, or its last component is "." or "..". Such a
 * directory has an empty name, and what is in it has names without that of the directory.
 */
bool iw_walk_is_contents(const char *path);
/* path is copied. IW_E_NOMEM. */
IW_MUST_CHECK int iw_walk_add(struct iw_walk *w, const char *path, size_t len);
void iw_walk_next(struct iw_walk *w, struct iw_entry *e);
/* The FILE that was found last: a descriptor of the caller's, or -1 with *why. */
IW_MUST_CHECK int iw_walk_open(const struct iw_entry *e, struct iw_file_fault *why);

#endif
