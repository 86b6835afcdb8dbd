/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The far end, which ssh has started: its side of the conversation on standard input and output. */
#ifndef IW_TRANSFER_SSH_FAR_H
#define IW_TRANSFER_SSH_FAR_H

#include <stdbool.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "transfer/ssh/link.h"
#include "transfer/ssh/root.h"

/* The time that the local end has to send its REQUEST, and to connect after READY. */
#define IW_SSH_FIRST IW_SEC(60)

struct iw_ssh_far {
	struct iw_ssh_link link;
	struct iw_ssh_request request; /* its paths are no longer valid */
	struct iw_ssh_root root;
	char addr[IW_SSH_ADDR_MAX + 1]; /* of this machine, at which ssh connected */
	uint8_t secret[IW_SSH_SECRET_LEN];
};

/*
 * Sends the first line, reads the REQUEST, and finds the directory to serve, the address to listen
 * at, and a new secret. source: this program sends files. Standard input and output then refer to
 * /dev/null. Call it before threads start. After an error it has sent ERROR if it could, and only
 * iw_ssh_far_close may follow.
 * IW_E_INVAL: standard input is a terminal, this is the wrong program for the REQUEST, or
 * SSH_CONNECTION has no address; IW_E_NOTSUP: another version; IW_E_FORMAT: not a REQUEST; IW_E_OS:
 * no random numbers; errors of iw_ssh_bridge, iw_ssh_link_write, iw_ssh_link_recv and
 * iw_ssh_root_find.
 */
IW_MUST_CHECK int iw_ssh_far_open(struct iw_ssh_far *f, bool source, struct iw_fault *why);

/*
 * Sends READY. Errors of iw_ssh_link_send. The secret is still in f->secret: call
 * iw_ssh_far_forget when it is no longer needed.
 */
IW_MUST_CHECK int iw_ssh_far_ready(struct iw_ssh_far *f, uint16_t port, uint16_t udp_port,
				   struct iw_fault *why);
void iw_ssh_far_forget(struct iw_ssh_far *f);

/* Sends ERROR with the text of *why. Failures are ignored: the local end notices the pipe's end. */
void iw_ssh_far_error(struct iw_ssh_far *f, const struct iw_fault *why);
void iw_ssh_far_close(struct iw_ssh_far *f);

#endif
