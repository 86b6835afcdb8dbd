/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Confinement: a tool gives up privileges after it has opened its sockets, programs and captures,
 * and before it reads data from peers. The order is: new privileges, files (cli/landlock.h), the
 * user, capabilities (os/priv.h), system calls (cli/seccomp.h).
 *
 *	struct iw_confine c;
 *
 *	iw_confine_init(&c, &o.cli, IW_CONFINE_LISTENS);
 *	if (iw_confine(&c, &why) != 0)
 *		return iw_cli_fail(&o.cli, &why);
 *
 * Only tools do this: the library must not change its caller's privileges. A measure that this
 * kernel or build does not support is left out, logged at level info, and shown by --doctor. With
 * IWARP_UNCONFINED=1 in the environment, and in builds that measure coverage, a tool keeps all
 * privileges.
 *
 * Threads: most measures apply to the calling thread and to threads that it starts later. So a tool
 * calls iw_confine before it starts a thread; the call fails if another thread runs.
 */
#ifndef IW_CLI_CONFINE_H
#define IW_CLI_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "cli/cli.h"
#include "cli/landlock.h"

/* The user and group of a tool that needs no files of its user: the kernel's overflow ids. */
#define IW_CONFINE_UID 65534

enum iw_confine_how {
	IW_CONFINE_LISTENS = 1, /* the tool neither connects nor resolves names */
	/* It may open a transport again: after a lost connection, or for the next size. */
	IW_CONFINE_REOPENS = 2,
	IW_CONFINE_READS = 4,  /* it reads files of its user */
	IW_CONFINE_WRITES = 8, /* it also writes them */
	IW_CONFINE_RUNS = 16,  /* it starts another program at the end, which writes a file */
	IW_CONFINE_CC = 32,    /* it sets the congestion control of TCP connections later */
};

struct iw_confine {
	struct iw_cli *cli;
	unsigned how;  /* set of enum iw_confine_how */
	uint64_t caps; /* capabilities to keep: a set of IW_OS_CAP; the tool may add some */
	struct iw_landlock files;
	struct iw_fault why; /* the first error of iw_confine_allow and iw_confine_allow_path */
	char left_out[200];  /* measures left out, with the reasons; "": none */
};

/*
 * The measures in force in a process, from its /proc/PID/status, and the ABI of its Landlock rules.
 */
struct iw_confine_state {
	uint32_t uid, gid;
	uint64_t caps;
	bool no_new_privs, filtered;
	int landlock; /* 0: no rules */
	char left_out[200];
};

/*
 * The first step of every tool: sets no_new_privs, and warns if
 * IWARP_UNCONFINED has a value other than 1. IW_E_OS: the kernel refused.
 */
IW_MUST_CHECK int iw_confine_early(struct iw_fault *why);

/* how: set of enum iw_confine_how. cli is borrowed until iw_confine returns. */
void iw_confine_init(struct iw_confine *c, struct iw_cli *cli, unsigned how);

/* Allow a part of the file system, as iw_landlock_allow. iw_confine reports their first error. */
void iw_confine_allow(struct iw_confine *c, int fd, enum iw_landlock_right right);
void iw_confine_allow_path(struct iw_confine *c, const char *path, enum iw_landlock_right right);

/*
 * Confines the process; a second call for the same cli does nothing. IW_E_PERM: a step failed, or
 * another thread runs; *why has the reason. Then the tool must exit.
 */
IW_MUST_CHECK int iw_confine(struct iw_confine *c, struct iw_fault *why);

/* iw_confine_init and iw_confine, for a tool that uses no files. */
IW_MUST_CHECK int iw_confine_plain(struct iw_cli *cli, unsigned how, struct iw_fault *why);

/* For confine of struct iw_cli: a tool that listens and needs no other rights. */
unsigned iw_confine_listener(struct iw_cli *cli, uint64_t *caps);

/*
 * Confines a child process and reports which measures are in force in it. The child keeps caps in
 * addition to the capabilities that how keeps. IW_E_PERM: as for iw_confine; IW_E_OS: the child
 * exited without an answer; IW_E_LIMIT: no free descriptors.
 */
IW_MUST_CHECK int iw_confine_try(struct iw_confine_state *out, struct iw_cli *cli, unsigned how,
				 uint64_t caps, struct iw_fault *why);

/* Writes the names of the capabilities to buf, separated by blanks, or "none". Returns buf. */
const char *iw_confine_caps(char *buf, size_t cap, uint64_t caps);

#endif
