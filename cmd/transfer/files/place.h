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

#include "transfer/files/account.h"
#include "transfer/files/dirs.h"
#include "transfer/files/fault.h"
#include "transfer/files/filter.h"
#include "transfer/files/names.h"
#include "transfer/files/temp.h"
#include "util/list.h"
#include "transfer/protocol/xfer.h"

/* Limits of what a receiver accepts. 0: no limit. */
struct iw_limits {
	uint64_t size;       /* octets of a file */
	uint64_t transfer;   /* octets of a transfer */
	uint64_t quota;      /* octets of all transfers together */
	uint64_t files;      /* files, directories and links, likewise */
	uint64_t depth;      /* components of a name */
	uint64_t name;       /* octets of a component */
	uint64_t conns;      /* connections at once, of all transfers */
	uint64_t max_age_ns; /* of temporaries that nobody goes on with */
};

struct iw_asked;
struct iw_removals;

/* A directory that may have abandoned temporaries. */
struct iw_place_sweep {
	struct iw_place_sweep *next;
	int fd; /* owned */
};

/*
 * Threads: a place belongs to one thread at a time. Only its account has a lock: see iw_place_charge.
 */
struct iw_place {
	int base; /* the directory that names start from; -1: none yet */
	/* the path, from base, of what does not exist yet, or of a single file; NULL: names start from base. Owned */
	char *as;
	const char *typed; /* borrowed for life: the path of the local user; NULL: a peer gave it */
	bool to_stdout;    /* one file, to standard output */
	bool listens;      /* to_stdout: of a listener, not of a fetch */
	bool used_up;      /* as, or standard output, has been taken */
	bool settled;      /* the first name has decided what the target is, and renamed */
	/* The target has the name of the one directory that was sent: names lose their first component. */
	bool renamed;
	char mark[IW_TEMP_NAME]; /* the file in base that says so while it is not complete */
	/* Set before iw_place_final: nothing failed. A directory that was renamed is complete. */
	bool complete;
	uint32_t opts; /* set of enum iw_xopt */
	/* bits removed from modes of peers, except of files that get their owner too */
	uint32_t umask;
	enum iw_xfer_digest digest; /* of the transfer; with IW_XOPT_CHECKSUM */
	uint32_t compared;          /* the file in parts (share) that was compared last; 0: none */
	bool same;                  /* the result */
	const struct iw_filter *filter; /* borrowed for life; NULL: none */
	const struct iw_limits *limits; /* likewise */
	const struct iw_asked *asked;   /* likewise: the requested names; NULL: any */
	/* likewise: the removals confirmed for --delete; NULL: all names not announced */
	const struct iw_removals *confirmed;
	/* likewise: the removals that the peer listed; NULL: all names not announced */
	const struct iw_names *listed;
	bool safe_links;      /* links that lead out of their tree are left out */
	bool drop_partial;    /* partial files are removed at the end */
	struct iw_list drops; /* of them, those that another connection may complete until then */
	unsigned ndrops;
	uint64_t made;             /* directories that did not exist */
	uint64_t unconfirmed;      /* names not removed because they were not confirmed */
	struct iw_account account; /* charges of the transfer */
	struct iw_list parts;      /* files that arrive in parts, see target.h */
	/* Numbers of the files in parts that failed last: more than an honest source sends at once. */
	uint32_t failed[64];
	size_t nfailed;
	/* A temporary is locked: another place, to which nobody may come back, is to let it go. NULL: there is none */
	void (*let_go)(void *ctx, const char *temp);
	void *let_go_ctx;
	/* The directory that was used last. */
	int parent;
	char *parent_name;
	struct iw_dirs dirs; /* that were announced */
	/* Directories, by device and inode, that are or were in sweeps; nsweeps: in the list. */
	struct iw_names swept;
	struct iw_place_sweep *sweeps;
	unsigned nsweeps;
	struct iw_names seen; /* with --delete: every name that was announced */
	bool unsure;          /* a name could not be kept: nothing is removed */
};

/*
 * A path that a peer gives, beneath root. opts: of enum iw_xopt, MANY: it must be a directory, which exists; CONTENTS: it must be a
 * directory, which is made if missing. Else it is a directory that exists, the name of a single file, or, if it does not exist, the name of a
 * single directory. -1: *why. The base is a descriptor of its own.
 */
IW_MUST_CHECK int iw_place_beneath(struct iw_place *p, int root, const char *path, uint32_t opts,
				   struct iw_file_fault *why);
/* A path that the local user gives: it may lie anywhere. */
IW_MUST_CHECK int iw_place_local(struct iw_place *p, const char *path, uint32_t opts,
				 struct iw_file_fault *why);
/* "/dev", "/proc" or "/sys", if the directory st lies in that file system, where no files are stored; else NULL. */
const char *iw_place_of_kernel(const struct stat *st);
void iw_place_stdout(struct iw_place *p, bool listens);
/* Sets *why: no temporary file can be created in the directory sub, of len octets, below the base. Returns -1. */
int iw_place_no_temp(const struct iw_place *p, int errnum, const char *sub, size_t len,
		     struct iw_file_fault *why);
/* Octets of memory that p uses for announced names and attributes. */
size_t iw_place_bytes(const struct iw_place *p);
/* Of no use until one of the former; closing it does no harm. */
void iw_place_reset(struct iw_place *p);
void iw_place_close(struct iw_place *p);

/* Checks whether m's name may be used here; called before any other check. -1: *why. */
IW_MUST_CHECK int iw_place_accept(const struct iw_place *p, const struct iw_xmeta *m,
				  struct iw_file_fault *why);
/*
 * To be asked for every file that is announced, before anything else is done with it: is it within the limits, not excluded, may it be taken?
 * Its name from the base goes into name; it is empty for the target directory itself. -1: *why.
 */
IW_MUST_CHECK int iw_place_admit(struct iw_place *p, const struct iw_xmeta *m, char *name,
				 size_t cap, struct iw_file_fault *why);
/* Checks the size of a file against the limits. -1: *why. */
IW_MUST_CHECK int iw_place_size(const struct iw_place *p, uint64_t size, struct iw_file_fault *why);
/* The octets charged for m when it is admitted; those of a stream are charged later. */
uint64_t iw_place_cost(const struct iw_place *p, const struct iw_xmeta *m);
/* m's name from the base, of len octets, once iw_place_admit has accepted a name. Points into m->name. */
const char *iw_place_name(const struct iw_place *p, const struct iw_xmeta *m, size_t *len);
/* Charges m, before any of it is written. -1: over a limit: *why. */
IW_MUST_CHECK int iw_place_charge(struct iw_place *p, const struct iw_xmeta *m,
				  struct iw_file_fault *why);
/*
 * For a dry run that stopped at m with *why: charges m if it would be stored, so that the limits apply to all files
 * together. *why may become a limit's.
 */
void iw_place_would(struct iw_place *p, const struct iw_xmeta *m, struct iw_file_fault *why);
/* Returns the charge of a file that is not stored, for the reason code, an enum iw_xcode. */
void iw_place_uncharge(struct iw_place *p, const struct iw_xmeta *m, uint32_t code);
/* An admitted file will be announced again: permits its name again. */
void iw_place_return(struct iw_place *p, const struct iw_xmeta *m);
/* True if the announced object exists: a file of that size and time, a directory, a link. */
bool iw_place_has(const struct iw_place *p, const struct iw_xmeta *m);
/* A name that was announced, though nothing may come of it: --delete leaves it. */
void iw_place_seen(struct iw_place *p, const struct iw_xmeta *m);
/*
 * The directory that name lies in (borrowed until the next call of this), made if need be; *leaf: the last component. -1: *why; code
 * IW_XC_WOULD: it would be made, but nothing is to be changed.
 */
IW_MUST_CHECK int iw_place_parent(struct iw_place *p, const char *name, const char **leaf,
				  struct iw_file_fault *why);
/*
 * The directories that iw_place_parent has returned since the last call, each once in the life of p. At most 64; a
 * later call returns the others. Owned by the caller. NULL: none.
 */
struct iw_place_sweep *iw_place_sweeps(struct iw_place *p);
/*
 * Removes temporaries from the directory fd (takes ownership) that are older than age_ns and not locked by a transfer.
 * Ends early when stop returns true, or after limit_ns; a later call starts from the beginning. Returns the charges of
 * removed files to account (NULL: none).
 */
void iw_place_sweep(int fd, struct iw_account *account, uint64_t age_ns, uint64_t limit_ns,
		    bool (*stop)(void *ctx), void *ctx);
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
/* Reports a name that was removed, or (why not NULL) that failed. */
typedef void iw_place_report(void *ctx, const char *name, const struct iw_file_fault *why);
/*
 * Call it when all files have arrived: sets the attributes and times of directories, and with --delete removes names that were not
 * announced. Calls report for each removed name and for each failure; counts both.
 */
void iw_place_final(struct iw_place *p, iw_place_report *report, void *ctx, uint64_t *gone,
		    uint64_t *failed);

/* True if the file of m gets the owner that the peer announced. */
static inline bool iw_place_gets_owner(const struct iw_place *p, const struct iw_xmeta *m)
{
	return m->owned && p->opts & IW_XOPT_OWNER;
}

static inline bool iw_place_same_time(const struct iw_xmeta *m, const struct stat *st)
{
	return st->st_mtim.tv_sec == m->mtime_s && (uint32_t)st->st_mtim.tv_nsec == m->mtime_ns;
}

#endif
