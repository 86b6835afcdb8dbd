/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The entries that a source sends: its operands in order, directories with everything below them,
 * each with the name that is sent. A directory precedes its contents.
 *
 * Entries are opened relative to the directory that was read, so renames during the walk cannot
 * lead outside. A file or link is FAILED if an earlier operand sends another file or link under the
 * same name, because the target could keep only one of them.
 */
#ifndef IW_TRANSFER_FILES_WALK_H
#define IW_TRANSFER_FILES_WALK_H

#include <limits.h>
#include <stdbool.h>

#include <iwarp/err.h>

#include "transfer/files/fault.h"
#include "transfer/files/filter.h"
#include "transfer/files/names.h"
#include "transfer/files/pack.h"
#include "transfer/protocol/xfer.h"
#include "util/list.h"

#define IW_WALK_DEPTH 1024 /* nested directories: each is an open descriptor */

struct iw_walk {
	int root; /* operands are opened below this directory; AT_FDCWD: they may be anywhere */
	bool local;
	const struct iw_filter *filter; /* borrowed for life; NULL: none */
	/* The path of standard input at the target; borrowed until iw_walk_fini. NULL: none. */
	const char *stream;
	struct iw_list operands;
	struct iw_list begun; /* the operands so far, the current one included */
	size_t nbegun;
	struct iw_names names;  /* of the operands */
	bool contents;          /* one operand is the contents of a directory */
	bool overlaps;          /* two operands may have entries of the same name */
	struct iw_dir_ref *top; /* the current operand */
	size_t top_len;         /* bytes of its name in name[] */
	unsigned depth;
	struct iw_walk_dir {
		void *dir;       /* DIR * */
		size_t name_len; /* bytes of the directory's name in name[] */
	} stack[IW_WALK_DEPTH];
	char name[IW_XFER_NAME_MAX + 1];
	char target[IW_XFER_NAME_MAX + 1];
};

enum iw_walked {
	IW_WALKED_FILE,
	IW_WALKED_DIR,    /* fd is open until the next call; owned by the walk */
	IW_WALKED_STREAM, /* standard input */
	IW_WALKED_LINK,
	IW_WALKED_FAILED, /* it is not sent: why, perhaps because a pattern excludes it */
	IW_WALKED_END,    /* no operands are left; more may be added */
};

struct iw_entry {
	enum iw_walked what;
	/*
	 * Owned by the walk until the next call. It may be a name that cannot be sent: see
	 * iw_xfer_name_fault.
	 */
	const char *name;
	size_t name_len;
	bool top; /* the user named it */
	/* top: the path that the user gave; owned by the walk until the next operand. */
	const char *operand;
	/* FILE with top: open for reading, owned by the caller; other files: iw_walk_open */
	int fd;
	int dir; /* FILE: the directory of leaf, owned by the walk until the next call */
	const char *leaf;
	struct iw_dir_ref *root; /* FILE below a directory: path starts here; borrowed */
	const char *path;
	const char *target; /* LINK */
	struct stat st;     /* FILE, DIR, LINK */
	struct iw_file_fault why;
};

/*
 * Operands are opened below root, which is borrowed until iw_walk_fini. AT_FDCWD: the local user
 * gives them, and they may be anywhere.
 */
void iw_walk_init(struct iw_walk *w, int root);
void iw_walk_fini(struct iw_walk *w);
/*
 * Returns the last component of path without trailing slashes: "docs" for "a/docs/". Not
 * terminated; points into path. *len 0: it has none.
 */
const char *iw_walk_name(const char *path, size_t *len);
/*
 * True if path, given by the local user, means the contents of a directory: it ends in a slash, or
 * its last component is "." or "..". Such a directory has an empty name, and names below it do not
 * contain its name.
 */
bool iw_walk_is_contents(const char *path);
/* Adds an operand: len octets of path, copied. IW_E_NOMEM: no memory. */
IW_MUST_CHECK int iw_walk_add(struct iw_walk *w, const char *path, size_t len);
/* Sets *e to the next entry. What it points to is valid until the next call. */
void iw_walk_next(struct iw_walk *w, struct iw_entry *e);
/* Opens the FILE that was found last. Returns a descriptor, owned by the caller. -1: *why. */
IW_MUST_CHECK int iw_walk_open(const struct iw_entry *e, struct iw_file_fault *why);

#endif
