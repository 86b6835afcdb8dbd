/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Landlock (landlock(7)): restricts this process permanently to named parts of the file system.
 *
 * Threads: applies to the calling thread and those that it starts afterwards.
 */
#ifndef IW_CLI_LANDLOCK_H
#define IW_CLI_LANDLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include <iwarp/err.h>

enum iw_landlock_right {
	IW_LANDLOCK_READ,   /* read files, list directories */
	IW_LANDLOCK_WRITE,  /* everything except running programs and creating devices */
	IW_LANDLOCK_UNLINK, /* remove files */
};

struct iw_landlock {
	int abi;          /* of this kernel; 0: it has no Landlock */
	int ruleset;      /* -1: none */
	uint64_t limited; /* the rights that need a rule */
	bool enforced;
};

/* The kernel's Landlock ABI; 0: not in this kernel, or not enabled. */
int iw_landlock_abi(void);

/*
 * Begins a set of rules. @reads: limit reading too, not only writing. @net: forbid bind and connect on TCP, and signals
 * and abstract sockets to other processes, as far as this kernel's ABI supports it. Returns 0; 1 without Landlock, when
 * the other functions do nothing; or IW_E_OS.
 */
IW_MUST_CHECK int iw_landlock_begin(struct iw_landlock *l, bool reads, bool net,
				    struct iw_fault *why);

/*
 * Allows @right on the file or directory @fd, and on everything beneath it. Returns 0, or IW_E_OS.
 */
IW_MUST_CHECK int iw_landlock_allow(struct iw_landlock *l, int fd, enum iw_landlock_right right,
				    struct iw_fault *why);

/* The same by path; a path that cannot be opened is ignored. */
IW_MUST_CHECK int iw_landlock_allow_path(struct iw_landlock *l, const char *path,
					 enum iw_landlock_right right, struct iw_fault *why);

/* Enforces the rules, with no_new_privs set. Frees the set in any case. Returns 0, or IW_E_OS, IW_E_PERM. */
IW_MUST_CHECK int iw_landlock_enforce(struct iw_landlock *l, struct iw_fault *why);

#endif
