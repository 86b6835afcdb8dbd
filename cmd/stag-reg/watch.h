/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Polls a manager and prints what is new: buffers, and operations of peers. */
#ifndef IW_STAG_REG_WATCH_H
#define IW_STAG_REG_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "stag-reg/admin.h"
#include "stag-reg/print.h"

struct iw_manager_watch_cfg {
	uint32_t stag;        /* 0: all buffers */
	uint64_t interval_ns; /* between polls; below IW_MANAGER_IDLE, or the manager disconnects */
	uint64_t count;       /* of polls; 0: no limit */
};

/*
 * Runs until the process is asked to stop (cli/signals.h), the count is reached, or the buffer has
 * ended. Sets *found to false if the buffer did not exist at the first poll. Errors of
 * stag-reg/admin.h and stag-reg/print.h; IW_E_NOMEM.
 */
IW_MUST_CHECK int iw_manager_watch(struct iw_manager_admin *a, const struct iw_manager_print *p,
				   const struct iw_manager_watch_cfg *cfg, bool *found,
				   struct iw_fault *why);

#endif
