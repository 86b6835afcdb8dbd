/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The requests of a manager's control socket (stag-reg/control.h) as calls. The first call
 * connects. Read an answer to its end before the next request. After an error the connection is
 * unusable.
 *
 * stag-reg and stag-reg/watch.h call it; it calls stag-reg/control.h. Threads: one at a time.
 */
#ifndef IW_STAG_REG_ADMIN_H
#define IW_STAG_REG_ADMIN_H

#include <stdbool.h>
#include <stdint.h>

#include "stag-reg/msg.h"

struct iw_manager_admin {
	const char *path; /* of the control socket, kept; NULL: the default of the port */
	uint16_t port;
	uint64_t timeout_ns; /* limit for each message */
	int fd;              /* -1 before the first call */
};

/*
 * Errors of these functions are those of iw_manager_default_path, iw_manager_connect,
 * iw_manager_ask and iw_manager_answer. If the manager refuses a request, they return its error
 * with its text in *why.
 */

/*
 * Registers a buffer as q says, whose op is ADD. file: its name, which becomes the label; it is
 * opened with the access that q gives to peers. NULL: new memory. *out: the buffer with its key.
 * Errors also of iw_os_fail: the file could not be opened.
 */
IW_MUST_CHECK int iw_manager_admin_add(struct iw_manager_admin *a,
				       const struct iw_manager_request *q, const char *file,
				       struct iw_manager_buffer *out, struct iw_fault *why);
/*
 * Requests the state of one buffer, or of all (stag 0). peers: each buffer is followed by its
 * peers. Read the answer with iw_manager_admin_next.
 */
IW_MUST_CHECK int iw_manager_admin_list(struct iw_manager_admin *a, uint32_t stag, bool peers,
					struct iw_fault *why);
/*
 * Returns 1: *r is the next message of the answer; 0: the last one, END, with the number of
 * buffers.
 */
IW_MUST_CHECK int iw_manager_admin_next(struct iw_manager_admin *a, struct iw_manager_reply *r,
					struct iw_fault *why);
/* Revokes one buffer, or all (stag 0). *revoked: their number. */
IW_MUST_CHECK int iw_manager_admin_revoke(struct iw_manager_admin *a, uint32_t stag,
					  uint64_t *revoked, struct iw_fault *why);
/* Closes the connection, if there is one. */
void iw_manager_admin_close(struct iw_manager_admin *a);

#endif
