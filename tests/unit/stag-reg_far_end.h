/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A client of a manager on a socket pair. The test plays the manager. */
#ifndef IW_TESTS_MANAGER_FAR_END_H
#define IW_TESTS_MANAGER_FAR_END_H

#include <sys/socket.h>
#include <unistd.h>

#include "stag-reg/admin.h"

static struct iw_manager_admin admin;
static int manager; /* the other end */

static inline int join_far_end(uint64_t timeout_ns)
{
	int sv[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) < 0)
		return -1;
	admin = (struct iw_manager_admin){ .timeout_ns = timeout_ns, .fd = sv[0] };
	manager = sv[1];
	return 0;
}

static inline int leave_far_end(void **state)
{
	(void)state;
	iw_manager_admin_close(&admin);
	close(manager);
	return 0;
}

/* Sends an answer before its request. */
static inline void answer(const struct iw_manager_reply *r)
{
	uint8_t msg[IW_MANAGER_MSG_MAX];
	size_t len = iw_manager_reply_encode(msg, r);

	assert_int_equal(send(manager, msg, len, 0), len);
}

static inline void answer_end(uint64_t count)
{
	answer(&(struct iw_manager_reply){ .kind = IW_MANAGER_END, .count = count });
}

#endif
