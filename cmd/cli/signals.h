/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stopping a tool by signals. Global state. */
#ifndef IW_CLI_SIGNALS_H
#define IW_CLI_SIGNALS_H

#include <iwarp/err.h>

/*
 * Ignores SIGPIPE: writing to a closed pipe returns an error instead. The first SIGINT or SIGTERM
 * makes iw_signals_fd readable, and it stays so. The second one has its default action and ends the
 * process. Call it once, before threads start. IW_E_LIMIT: no free descriptors; IW_E_NOMEM;
 * IW_E_OS: another system call failed. After an error the tool must end.
 */
IW_MUST_CHECK int iw_signals_init(struct iw_fault *why);

/* The descriptor to poll for reading. Do not read or close it. -1 before iw_signals_init. */
int iw_signals_fd(void);

/* The signal that asked the tool to stop; 0: none has. */
int iw_signals_stop(void);

#endif
