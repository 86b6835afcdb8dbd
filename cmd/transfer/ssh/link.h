/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The conversation on the pipe: a first line, then messages (ssh/message.h), each after its length
 * of 4 octets in network order. Reads from the socket only octets of the message, so that after
 * AGREED everything that follows is MPA's.
 */
#ifndef IW_TRANSFER_SSH_LINK_H
#define IW_TRANSFER_SSH_LINK_H

#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "transfer/ssh/message.h"

#define IW_SSH_LINE_MAX 96 /* octets of the first line, with its newline */

/* One end of the pipe. */
struct iw_ssh_link {
	int fd;      /* a connected Unix stream socket; owned; -1: closed */
	size_t have; /* octets of the current frame in buf */
	uint8_t buf[4 + IW_SSH_MSG_MAX];
};

/* Takes ownership of fd. */
void iw_ssh_link_init(struct iw_ssh_link *l, int fd);
/* Closes the socket, and wipes the memory, which may have a key. */
void iw_ssh_link_fini(struct iw_ssh_link *l);
/* Returns the socket, which the caller then owns; l is closed. */
int iw_ssh_link_release(struct iw_ssh_link *l);

/*
 * Sends len octets, or one message, which is wiped from memory. Waits at most until the time until.
 * IW_E_TIMEOUT; IW_E_CLOSED: the peer has closed the pipe; IW_E_CANCELED: a signal asks this tool
 * to stop; IW_E_LIMIT: the message is too long; IW_E_OS.
 */
IW_MUST_CHECK int iw_ssh_link_write(struct iw_ssh_link *l, const void *p, size_t len,
				    uint64_t until, struct iw_fault *why);
IW_MUST_CHECK int iw_ssh_link_send(struct iw_ssh_link *l, const struct iw_ssh_msg *m,
				   uint64_t until, struct iw_fault *why);

/*
 * Reads what the peer sends before its messages, up to a newline, or at most cap - 1 octets, and
 * ends it with NUL, without the newline. Stops early if the text cannot begin with prefix: then
 * adds further octets that have arrived. Errors of iw_ssh_link_recv. After IW_E_CLOSED line has
 * what arrived before.
 */
IW_MUST_CHECK int iw_ssh_link_line(struct iw_ssh_link *l, char *line, size_t cap,
				   const char *prefix, uint64_t until, struct iw_fault *why);

/*
 * Reads one message; its paths are slices of l->buf until the next call. until 0: does not wait,
 * and returns IW_E_AGAIN if no complete message has arrived.
 * IW_E_CLOSED: the pipe has ended; IW_E_TIMEOUT, IW_E_CANCELED, IW_E_OS: as above; other errors:
 * the message is malformed (iw_ssh_msg_decode).
 */
IW_MUST_CHECK int iw_ssh_link_recv(struct iw_ssh_link *l, struct iw_ssh_msg *m, uint64_t until,
				   struct iw_fault *why);

#endif
