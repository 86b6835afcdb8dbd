/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The target of a transfer: its base directory, the options and limits that apply, the announced
 * names and directories. Creates directories and links. At the end it sets the attributes of
 * directories, and with --delete removes names that were not announced.
 *
 * Names and links of the peer never lead outside the base directory.
 */
#ifndef IW_TRANSFER_FILES_PLACE_H
#define IW_TRANSFER_FILES_PLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <iwarp/err.h>

#include "transfer/files/account.h"
#include "transfer/files/dirs.h"
#include "transfer/files/fault.h"
#include "transfer/files/filter.h"
#include "transfer/files/names.h"
#include "transfer/files/temp.h"
#include "transfer/protocol/xfer.h"
#include "util/list.h"

/* Limits of what a receiver accepts. 0: no limit. */
struct iw_limits {
	uint64_t size;       /* octets of a file */
	uint64_t transfer;   /* octets of a transfer */
	uint64_t quota;      /* octets of all transfers together */
	uint64_t files;      /* files, directories and links of all transfers together */
	uint64_t depth;      /* components of a name */
	uint64_t name;       /* octets of a component */
	uint64_t conns;      /* connections of all transfers */
	uint64_t max_age_ns; /* of temporaries that no transfer has resumed */
};

struct iw_asked;
struct iw_removals;

/* A directory that may have abandoned temporaries. */
struct iw_place_sweep {
	struct iw_place_sweep *next;
	int fd; /* owned */
};

/*
 * Threads: a place belongs to one thread at a time. Only its account has a lock (account.h).
 */
struct iw_place {
	int base; /* the directory where names start; -1: not open */
	/*
	 * The path, from base, of a single file, or of a directory that does not exist yet. NULL:
	 * names start at base. Owned.
	 */
	char *as;
	/* the path of the local user, borrowed for life; NULL: the peer gave the path */
	const char *typed;
	bool to_stdout; /* one file, to standard output */
	bool listens;   /* to_stdout: for a listener, not for a fetch */
	bool used_up;   /* a file has the name as, or is written to standard output */
	bool settled;   /* the first name has decided what the target is; renamed is valid */
	/*
	 * The target replaces the name of the one directory that is sent: names lose their first
	 * component.
	 */
	bool renamed;
	/* the file in base that marks a renamed directory until it is complete */
	char mark[IW_TEMP_NAME];
	/* Set it before iw_place_final: nothing failed, so a renamed directory is complete. */
	bool complete;
	uint32_t opts; /* set of enum iw_xfer_opt */
	/*
	 * Bits removed from the modes that peers send, except for files that also get their owner.
	 */
	uint32_t umask;
	enum iw_xfer_digest_kind
		digest;    /* the kind that the transfer uses; for IW_XFER_OPT_CHECKSUM */
	uint32_t compared; /* the share of the file in parts that was compared last; 0: none */
	bool same;         /* the result of that comparison */
	const struct iw_filter *filter; /* borrowed for life; NULL: none */
	const struct iw_limits *limits; /* borrowed for life */
	const struct iw_asked *asked;   /* the requested names, borrowed for life; NULL: any */
	/*
	 * The removals that the user confirmed for --delete, borrowed for life. NULL: all names
	 * that were not announced.
	 */
	const struct iw_removals *confirmed;
	/*
	 * The removals that the peer listed, borrowed for life. NULL: all names that were not
	 * announced.
	 */
	const struct iw_names *listed;
	bool safe_links;      /* links that lead out of their tree are not created */
	bool drop_partial;    /* partial files are removed at the end */
	struct iw_list drops; /* of these, those that another connection may still complete */
	unsigned ndrops;
	uint64_t made;             /* directories that did not exist */
	uint64_t unconfirmed;      /* names not removed because they were not confirmed */
	struct iw_account account; /* charges of the transfer */
	struct iw_list parts;      /* files that arrive in parts: see target.h */
	/*
	 * The shares of the files in parts that failed last: more than an honest source sends at
	 * once.
	 */
	uint32_t failed[64];
	size_t nfailed;
	/*
	 * Called when a temporary is locked: another place should close it, whose peer may not
	 * return. NULL: not called.
	 */
	void (*on_locked)(void *ctx, const char *temp);
	void *on_locked_ctx;
	/* The last directory that iw_place_parent returned. */
	int parent;
	bool parent_is_new; /* this transfer created it */
	char *parent_name;
	struct iw_dirs dirs; /* the announced ones */
	/*
	 * Directories, by device and inode, that are or were in sweeps. nsweeps: the length of
	 * sweeps.
	 */
	struct iw_names swept;
	struct iw_place_sweep *sweeps;
	unsigned nsweeps;
	struct iw_names seen; /* with --delete: every announced name */
	bool unsure;          /* no memory for a name: --delete removes nothing */
};

/*
 * Opens the target for path, which a peer gives, below root. opts is a set of enum iw_xfer_opt.
 * With MANY path must be an existing directory. With CONTENTS it must be a directory, which is
 * created if it does not exist. Otherwise it is an existing directory, the name of a single file,
 * or the name of a new directory for a single one. root is borrowed; the base is a new descriptor.
 * -1: *why.
 */
IW_MUST_CHECK int iw_place_beneath(struct iw_place *p, int root, const char *path, uint32_t opts,
				   struct iw_file_fault *why);
/* The same for a path of the local user, which may be anywhere. */
IW_MUST_CHECK int iw_place_local(struct iw_place *p, const char *path, uint32_t opts,
				 struct iw_file_fault *why);
/*
 * Returns "/dev", "/proc" or "/sys" if the directory st is on that file system, where no files are
 * stored; NULL: it is not.
 */
const char *iw_place_of_kernel(const struct stat *st);
/* Makes standard output the target. listens: for a listener, not for a fetch. */
void iw_place_stdout(struct iw_place *p, bool listens);
/*
 * Sets *why: no temporary can be created in the directory sub, of len bytes, below the base.
 * Returns -1.
 */
int iw_place_no_temp(const struct iw_place *p, int errnum, const char *sub, size_t len,
		     struct iw_file_fault *why);
/* The bytes of memory that p uses for announced names and attributes. */
size_t iw_place_bytes(const struct iw_place *p);
/* Empties p. Only the functions above make it usable. iw_place_close accepts an empty place. */
void iw_place_reset(struct iw_place *p);
/* Releases everything in p, and empties it. */
void iw_place_close(struct iw_place *p);

/* Checks whether the name of m was requested. Call it before any other check. -1: *why. */
IW_MUST_CHECK int iw_place_accept(const struct iw_place *p, const struct iw_xfer_meta *m,
				  struct iw_file_fault *why);
/*
 * Call it for every announced file before anything else is done with it. Checks the limits and the
 * patterns. name, of cap bytes, receives the name below the base, "" for the target directory
 * itself. -1: *why.
 */
IW_MUST_CHECK int iw_place_admit(struct iw_place *p, const struct iw_xfer_meta *m, char *name,
				 size_t cap, struct iw_file_fault *why);
/* Checks the size of a file against the limits. -1: *why. */
IW_MUST_CHECK int iw_place_size(const struct iw_place *p, uint64_t size, struct iw_file_fault *why);
/* The octets that are charged when m is admitted. Those of a stream are charged later. */
uint64_t iw_place_cost(const struct iw_place *p, const struct iw_xfer_meta *m);
/*
 * The name of m below the base, *len octets, after iw_place_admit has accepted any name. Points
 * into m->name.
 */
const char *iw_place_name(const struct iw_place *p, const struct iw_xfer_meta *m, size_t *len);
/* Charges m. Call it before any of m is written. -1: m exceeds a limit: *why. */
IW_MUST_CHECK int iw_place_charge(struct iw_place *p, const struct iw_xfer_meta *m,
				  struct iw_file_fault *why);
/*
 * A dry run stopped at m with *why. If m would be stored, charges it, so that limits apply to all
 * files together; *why may become that of a limit.
 */
void iw_place_would(struct iw_place *p, const struct iw_xfer_meta *m, struct iw_file_fault *why);
/* Returns the charge of m, which is not stored; code, an enum iw_xfer_code, is the reason. */
void iw_place_uncharge(struct iw_place *p, const struct iw_xfer_meta *m, uint32_t code);
/* Permits the name of an admitted file again, because the file will be announced again. */
void iw_place_return(struct iw_place *p, const struct iw_xfer_meta *m);
/* True if the announced object exists: a file of that size and time, a directory, a link. */
bool iw_place_has(const struct iw_place *p, const struct iw_xfer_meta *m);
/* Notes that m was announced, whether it is stored or not: --delete keeps its name. */
void iw_place_seen(struct iw_place *p, const struct iw_xfer_meta *m);
/*
 * Returns the directory of name, created if it does not exist, and sets *leaf to the last
 * component. The descriptor is borrowed until the next call. -1: *why; code IW_XFER_CODE_WOULD: it
 * would be created, but this is a dry run.
 */
IW_MUST_CHECK int iw_place_parent(struct iw_place *p, const char *name, const char **leaf,
				  struct iw_file_fault *why);
/*
 * The directories that iw_place_parent has returned since the last call, each once in the life of
 * p. At most 64; a later call returns the others. Owned by the caller. NULL: none.
 */
struct iw_place_sweep *iw_place_sweeps(struct iw_place *p);
/*
 * Removes temporaries from the directory fd (takes ownership) that are older than age_ns and not
 * locked by a transfer. Ends early when stop returns true, or after limit_ns; a later call starts
 * from the beginning. Returns the charges of removed files to account (NULL: none).
 */
void iw_place_sweep(int fd, struct iw_account *account, uint64_t age_ns, uint64_t limit_ns,
		    bool (*stop)(void *ctx), void *ctx);
/*
 * Checks whether a file or link may replace leaf. 0: yes; *there: leaf exists. -1: *why, also if m
 * is skipped.
 */
IW_MUST_CHECK int iw_place_check_old(struct iw_place *p, int parent, const char *leaf,
				     const struct iw_xfer_meta *m, bool *there,
				     struct iw_file_fault *why);
/* Creates the directory or link m at name. -1: *why, also if m is skipped. */
IW_MUST_CHECK int iw_place_make(struct iw_place *p, const char *name, const struct iw_xfer_meta *m,
				struct iw_file_fault *why);
/* Parts of iw_place_make: leaf in the directory parent becomes the link m. -1: as there. */
IW_MUST_CHECK int iw_place_symlink(struct iw_place *p, int parent, const char *leaf,
				   const struct iw_xfer_meta *m, struct iw_file_fault *why);
IW_MUST_CHECK int iw_place_hardlink(struct iw_place *p, int parent, const char *leaf,
				    const struct iw_xfer_meta *m, struct iw_file_fault *why);
/*
 * The mode to create a file of m with: the one that iw_place_set_attrs sets, and reading and
 * writing for this process.
 */
mode_t iw_place_first_mode(const struct iw_place *p, const struct iw_xfer_meta *m);
/* Sets mode, owner, extended attributes and time of an open file. -1: *why. */
IW_MUST_CHECK int iw_place_set_attrs(const struct iw_place *p, int fd, const struct iw_xfer_meta *m,
				     struct iw_file_fault *why);
/* The same for a file that has the mode old. */
IW_MUST_CHECK int iw_place_set_attrs_of(const struct iw_place *p, int fd, mode_t old,
					const struct iw_xfer_meta *m, struct iw_file_fault *why);
/* Called with a name that was removed, or, if why is not NULL, with one that failed. */
typedef void iw_place_report(void *ctx, const char *name, const struct iw_file_fault *why);
/*
 * Call it when all files have arrived. Sets the attributes and times of directories. With --delete
 * removes names that were not announced. Calls report for each removed name and each failure, and
 * counts both.
 */
void iw_place_final(struct iw_place *p, iw_place_report *report, void *ctx, uint64_t *gone,
		    uint64_t *failed);

/* True if the file of m gets the owner that the peer announced. */
static inline bool iw_place_gets_owner(const struct iw_place *p, const struct iw_xfer_meta *m)
{
	return m->owned && p->opts & IW_XFER_OPT_OWNER;
}

/* True if st has the time of m, to the nanosecond. */
static inline bool iw_place_same_time(const struct iw_xfer_meta *m, const struct stat *st)
{
	return st->st_mtim.tv_sec == m->mtime_s && (uint32_t)st->st_mtim.tv_nsec == m->mtime_ns;
}

/*
 * Returns the name below the base. In a renamed directory all names lose the first component; its
 * own name becomes "".
 */
static inline const char *iw_place_own_name(const struct iw_place *p, const char *name, size_t *len,
					    bool dir)
{
	const char *slash = p->renamed ? memchr(name, '/', *len) : NULL;
	size_t skip = slash ? (size_t)(slash + 1 - name) : p->renamed && dir ? *len : 0;

	*len -= skip;
	return name + skip;
}

#endif
