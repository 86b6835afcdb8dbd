/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The target of a transfer: the directory that names start from, what is known of it, what is allowed in it. Makes directories and links,
 * and at the end gives directories their times and removes what was not sent. Nothing outside the base is touched, whatever names and links in
 * the tree say.
 */
#ifndef IW_FILE_PLACE_H
#define IW_FILE_PLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include <iwarp/err.h>

#include "file/fault.h"
#include "file/filter.h"
#include "file/names.h"
#include "util/list.h"
#include "xfer/xfer.h"

/* What a receiver takes of one transfer. 0: no limit. */
struct iw_limits {
	uint64_t size;       /* octets of a file */
	uint64_t quota;      /* octets of all files together */
	uint64_t files;      /* files, directories and links */
	uint64_t depth;      /* components of a name */
	uint64_t name;       /* octets of a component */
	uint64_t conns;      /* connections at once, of all transfers */
	uint64_t max_age_ns; /* of temporaries that nobody goes on with */
};

struct iw_place_dir;

struct iw_place {
	int base; /* the directory that names start from; -1: none yet */
	char *as; /* the name, from base, of a single file; NULL: files keep their names. Owned */
	bool to_stdout;                 /* one file, to standard output */
	bool used_up;                   /* as, or standard output, has been taken */
	uint32_t opts;                  /* set of enum iw_xopt */
	const struct iw_filter *filter; /* borrowed for life; NULL: none */
	const struct iw_limits *limits; /* likewise */
	uint64_t files, octets;         /* taken so far */
	struct iw_list parts;           /* files that come in parts, see target.h */
	/* A temporary is locked: another place, to which nobody may come back, is to let it go. NULL: there is none */
	void (*let_go)(void *ctx, const char *temp);
	void *let_go_ctx;
	/* The directory that was used last. */
	int parent;
	char *parent_name;
	/* Directories that were sent, in order. */
	struct iw_place_dir *dirs;
	size_t ndirs, cap;
	struct iw_names seen; /* with --delete: every name that was announced */
	bool unsure;          /* a name could not be kept: nothing is removed */
};

/* A path that a peer gives, beneath root. many: it must be a directory. -1: *why. The base is a descriptor of its own. */
IW_MUST_CHECK int iw_place_beneath(struct iw_place *p, int root, const char *path, bool many,
				   struct iw_file_fault *why);
/* A path that the local user gives: it may lie anywhere. */
IW_MUST_CHECK int iw_place_local(struct iw_place *p, const char *path, bool many,
				 struct iw_file_fault *why);
void iw_place_stdout(struct iw_place *p);
/* Of no use until one of the former; closing it does no harm. */
void iw_place_reset(struct iw_place *p);
void iw_place_close(struct iw_place *p);

/*
 * To be asked for every file that is announced, before anything else is done with it: is it within the limits, not excluded, may it be taken?
 * Its name from the base goes into name. -1: *why.
 */
IW_MUST_CHECK int iw_place_admit(struct iw_place *p, const struct iw_xmeta *m, char *name,
				 size_t cap, struct iw_file_fault *why);
/* What was admitted will come again: it does not count any more. */
void iw_place_return(struct iw_place *p, const struct iw_xmeta *m);
/* A name that was announced, though nothing may come of it: --delete leaves it. */
void iw_place_seen(struct iw_place *p, const char *name, size_t len);
/*
 * The directory that name lies in (borrowed until the next call of this), made if need be; *leaf: the last component. -1: *why; code
 * IW_XC_WOULD: it would be made, but nothing is to be changed.
 */
IW_MUST_CHECK int iw_place_parent(struct iw_place *p, const char *name, const char **leaf,
				  struct iw_file_fault *why);
/*
 * May a file or link take the place of what is at leaf? 0: yes, *there says whether there is anything; -1: *why, among them the codes of what
 * is skipped.
 */
IW_MUST_CHECK int iw_place_look(struct iw_place *p, int parent, const char *leaf,
				const struct iw_xmeta *m, bool *there, struct iw_file_fault *why);
/* A directory, or a link: done when it returns 0. -1: *why, among them the codes of what is skipped. */
IW_MUST_CHECK int iw_place_make(struct iw_place *p, const char *name, const struct iw_xmeta *m,
				struct iw_file_fault *why);
/* Mode, owner, extended attributes and time of an open file. */
IW_MUST_CHECK int iw_place_dress(const struct iw_place *p, int fd, const struct iw_xmeta *m,
				 struct iw_file_fault *why);
/*
 * All files have come: directories get their times, and with --delete what was not announced goes. tell hears each of these names; the
 * numbers of removals, and of things that failed, are counted.
 */
void iw_place_final(struct iw_place *p, void (*tell)(void *ctx, const char *name), void *ctx,
		    uint64_t *gone, uint64_t *failed);

/* ".iw-0123456789abcdef.part", ".iw-0123456789abcdef.journal" */
#define IW_TEMP_NAME 40
bool iw_is_temp(const char *name);

#endif
