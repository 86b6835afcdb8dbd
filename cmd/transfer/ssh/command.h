/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ssh process: its command line, its start, and what its end means. */
#ifndef IW_TRANSFER_SSH_COMMAND_H
#define IW_TRANSFER_SSH_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <iwarp/err.h>

/* Texts are borrowed. */
struct iw_ssh_command {
	const char *ssh;  /* --ssh: a program and its arguments; NULL: "ssh" */
	const char *user; /* "": not given */
	const char *host;
	const char *program; /* --far-program; NULL: tool */
	const char *tool;    /* at the far end: "ddp-recv" or "ddp-send" */
};

/*
 * Splits text into words at blanks, as a shell does without expansions: single quotes keep
 * everything, double quotes too except that a backslash before " and \ is removed, and a backslash
 * outside quotes keeps the next character. The caller frees *out, which is one block and ends with
 * NULL. IW_E_INVAL: no word, a quote is not closed, or a backslash is last; *why (static) says
 * which. IW_E_NOMEM.
 */
IW_MUST_CHECK int iw_ssh_split(char ***out, const char *text, const char **why);

/*
 * Returns the command line, owned by the caller as one block: the words of ssh, -x -a -T
 * -oClearAllForwardings=yes -oPermitLocalCommand=no -oRemoteCommand=none, -l USER, the host, --,
 * the far program in quotes of a shell (without them if it needs none; "~/" at its start stays
 * outside), --ssh-server. NULL: no memory, or c->ssh is malformed (iw_ssh_split reports that
 * earlier).
 */
char **iw_ssh_argv(const struct iw_ssh_command *c);

/*
 * Starts it. *fd (owned by the caller) is the socket that is its standard input and output; its
 * standard error is that of this process. It gets SIGTERM when this process ends.
 * later: the process waits until one octet arrives on *fd, and then becomes ssh; it ends with *fd.
 * So a process that may start no program any more can still use ssh. Then a missing program is
 * noticed only as the end of *fd.
 * IW_E_NOENT: no such program; IW_E_PERM: it may not be run; IW_E_NOMEM, IW_E_LIMIT, IW_E_OS.
 */
IW_MUST_CHECK int iw_ssh_spawn(const struct iw_ssh_command *c, bool later, int *fd, pid_t *pid,
			       struct iw_fault *why);

/*
 * Waits until the process ends, at most until the time until, then ends it. Sets *why: why there is
 * no far end, from the exit status. Returns why->err. Call it before the process is confined.
 */
int iw_ssh_explain_exit(const struct iw_ssh_command *c, pid_t pid, uint64_t until,
			struct iw_fault *why);

#endif
