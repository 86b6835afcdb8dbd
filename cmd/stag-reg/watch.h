/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What peers do, as it happens: a manager is asked again and again, and what is new is printed. */
#ifndef IW_MANAGER_WATCH_H
#define IW_MANAGER_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "stag-reg/admin.h"
#include "stag-reg/print.h"

struct iw_manager_watch_cfg {
	uint32_t stag; /* 0: all buffers */
	uint64_t
		interval_ns; /* from look to look; the manager drops who is idle for IW_MANAGER_IDLE */
	uint64_t count;      /* looks; 0: no end */
};

/*
 * Until the process is asked to stop (cli/signals.h), the count is reached, or the one buffer is
 * gone. *found: false: that one was not there to begin with. Errors as of stag-reg/admin.h and
 * stag-reg/print.h, and IW_E_NOMEM.
 */
IW_MUST_CHECK int iw_manager_watch(struct iw_manager_admin *a, const struct iw_manager_print *p,
				   const struct iw_manager_watch_cfg *cfg, bool *found,
				   struct iw_fault *why);

#endif
