/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The local end: starts the far end through ssh and agrees with it on a port and a key. */
#ifndef IW_TRANSFER_SSH_START_H
#define IW_TRANSFER_SSH_START_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <iwarp/err.h>

#include "transfer/ssh/command.h"
#include "transfer/ssh/link.h"

/* The time from the start of ssh to the first line. The user may have to type a password. */
#define IW_SSH_FIRST_LINE_TIMEOUT IW_SEC(120)
/* The time in which the data port must answer. */
#define IW_SSH_PROBE_TIMEOUT      IW_SEC(5)

struct iw_ssh_start {
	struct iw_ssh_link link;
	struct iw_ssh_command command;
	pid_t pid;
	int pidfd;                           /* -1: not supported by this kernel */
	char addr[IW_SSH_ADDR_MAX + 1 + 16]; /* the listener, with a zone of this machine */
	uint16_t port, udp_port;
	uint8_t secret[IW_SSH_SECRET_LEN];
	char **paths; /* owned: those of REQUEST, relative to the directory that is served */
	size_t npaths;
};

/*
 * Starts ssh, checks the far end's version, sends the REQUEST, and waits for READY. The texts of
 * command are borrowed until iw_ssh_end. Call it before the process is confined. After an error
 * nothing of the user's files was sent, and s needs no iw_ssh_end.
 * IW_E_NOENT: ssh or the far program does not exist; IW_E_CLOSED: ssh or the far program ended;
 * IW_E_TIMEOUT: no first line within IW_SSH_FIRST_LINE_TIMEOUT, or no READY within 60 s;
 * IW_E_FORMAT: something else was printed, or a message is malformed; IW_E_NOTSUP: another version;
 * IW_E_REJECTED: the far end sent ERROR; IW_E_CANCELED: a signal; IW_E_LIMIT: too many paths;
 * IW_E_NOMEM; IW_E_OS.
 */
IW_MUST_CHECK int iw_ssh_start(struct iw_ssh_start *s, const struct iw_ssh_command *command,
			       const struct iw_ssh_request *request, struct iw_fault *why);

/*
 * The same in two steps, for a process that is confined between them. iw_ssh_prepare starts a
 * process that waits; errors of a missing program are reported only by iw_ssh_proceed. After a
 * successful iw_ssh_prepare, iw_ssh_end must follow, whatever iw_ssh_proceed returns.
 */
IW_MUST_CHECK int iw_ssh_prepare(struct iw_ssh_start *s, const struct iw_ssh_command *command,
				 struct iw_fault *why);
IW_MUST_CHECK int iw_ssh_proceed(struct iw_ssh_start *s, const struct iw_ssh_request *request,
				 struct iw_fault *why);

/*
 * Returns 0 if a TCP connection to the listener can be established within IW_SSH_PROBE_TIMEOUT; it
 * is closed at once. Otherwise the error, with the reason in *why. IW_E_CANCELED: a signal.
 */
IW_MUST_CHECK int iw_ssh_probe(const struct iw_ssh_start *s, struct iw_fault *why);

/*
 * Agrees with the far end that the pipe becomes the connection. *fd, owned by the caller, is a
 * connected Unix stream socket on which this end sends the MPA Request. Errors of iw_ssh_link_recv;
 * IW_E_REJECTED: the far end sent ERROR.
 */
IW_MUST_CHECK int iw_ssh_fall_back(struct iw_ssh_start *s, int *fd, struct iw_fault *why);

/*
 * Closes the pipe, on which the far end ends, and waits until ssh has ended, at most 15 s. May be
 * called in a confined process.
 */
void iw_ssh_end(struct iw_ssh_start *s);

#endif
