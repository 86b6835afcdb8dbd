/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A manager's owner: what can be asked by its control socket (stag-reg/control.h), as calls. The
 * connection is made by the first of them. One answer is taken to its end before the next is asked
 * for; after a failure the connection is of no more use.
 *
 * Neighbours: stag-reg/control.h below, stag-reg and stag-reg/watch.h above. Threads: one at a time.
 */
#ifndef IW_MANAGER_ADMIN_H
#define IW_MANAGER_ADMIN_H

#include <stdbool.h>
#include <stdint.h>

#include "stag-reg/msg.h"

struct iw_manager_admin {
	const char *path; /* of the control socket, kept; NULL: the default of the port */
	uint16_t port;
	uint64_t timeout_ns; /* that a message may take */
	int fd;              /* -1 before the first call */
};

/*
 * Each returns 0, or negative: what iw_manager_default_path, iw_manager_connect, iw_manager_ask and iw_manager_answer
 * say; the manager's refusal is its own error and text.
 */

/*
 * Registers what q (op ADD, its label not set) says. file: opened for the rights that q gives, its
 * name the label; NULL: new memory. *out: the buffer with its key. Also IW_E_OS and the like for a
 * file that cannot be opened.
 */
IW_MUST_CHECK int iw_manager_admin_add(struct iw_manager_admin *a,
				       const struct iw_manager_request *q, const char *file,
				       struct iw_manager_buffer *out, struct iw_fault *why);
/*
 * Asks for the account of one buffer, or of all (stag 0), with the peers of each behind it if
 * wanted. iw_manager_admin_next tells it.
 */
IW_MUST_CHECK int iw_manager_admin_list(struct iw_manager_admin *a, uint32_t stag, bool peers,
					struct iw_fault *why);
/* 1: *r is one more of the answer; 0: it was the last, END, with the count of buffers. */
IW_MUST_CHECK int iw_manager_admin_next(struct iw_manager_admin *a, struct iw_manager_reply *r,
					struct iw_fault *why);
/* Revokes one buffer, or all (stag 0). *revoked: how many there were. */
IW_MUST_CHECK int iw_manager_admin_revoke(struct iw_manager_admin *a, uint32_t stag,
					  uint64_t *revoked, struct iw_fault *why);
void iw_manager_admin_close(struct iw_manager_admin *a);

#endif
