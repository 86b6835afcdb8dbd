/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Landlock (landlock(7)): restricts this process permanently to named parts of the file system.
 *
 * Threads: applies to the calling thread and to threads that it starts later.
 */
#ifndef IW_CLI_LANDLOCK_H
#define IW_CLI_LANDLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include <iwarp/err.h>

enum iw_landlock_right {
	IW_LANDLOCK_READ,   /* read files, list directories */
	IW_LANDLOCK_WRITE,  /* all except running programs, creating devices, and their ioctls */
	IW_LANDLOCK_UNLINK, /* remove files */
};

struct iw_landlock {
	int abi;          /* of this kernel; 0: no Landlock */
	int ruleset;      /* -1: none */
	uint64_t limited; /* the rights that need a rule */
	bool enforced;
};

/* Returns the kernel's Landlock ABI; 0: the kernel does not have it, or it is not enabled. */
int iw_landlock_abi(void);

/*
 * Begins a set of rules. reads: limits reading in addition to writing. net: forbids bind and
 * connect on TCP, and signals and abstract sockets to other processes, as far as this kernel's ABI
 * supports it. Returns 0; 1: no Landlock here (*why has the reason), and the other functions do
 * nothing; or the error of iw_os_fail: the kernel refused.
 */
IW_MUST_CHECK int iw_landlock_begin(struct iw_landlock *l, bool reads, bool net,
				    struct iw_fault *why);

/*
 * Allows the right on the file or directory fd and on everything below it. A pipe or socket needs
 * no rule and is ignored. Error of iw_os_fail: the kernel refused the rule.
 */
IW_MUST_CHECK int iw_landlock_allow(struct iw_landlock *l, int fd, enum iw_landlock_right right,
				    struct iw_fault *why);

/* The same by path. A path that cannot be opened is ignored. */
IW_MUST_CHECK int iw_landlock_allow_path(struct iw_landlock *l, const char *path,
					 enum iw_landlock_right right, struct iw_fault *why);

/*
 * Enforces the rules, and frees them in any case. IW_E_PERM: no_new_privs is not set; IW_E_OS: the
 * kernel refused for another reason.
 */
IW_MUST_CHECK int iw_landlock_enforce(struct iw_landlock *l, struct iw_fault *why);

#endif
