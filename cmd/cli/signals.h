/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How a tool is asked to stop: once politely, the second time for good. State of the process. */
#ifndef IW_CLI_SIGNALS_H
#define IW_CLI_SIGNALS_H

#include <iwarp/err.h>

/*
 * From now on SIGPIPE is ignored (a closed pipe is an error of write), and the first SIGINT or
 * SIGTERM only makes iw_signals_fd() readable, for good; the second one ends the process as it
 * would have without us. To be called once, before threads start. 0, or IW_E_LIMIT, IW_E_NOMEM,
 * IW_E_OS: the tool ends with the fault's text.
 */
IW_MUST_CHECK int iw_signals_init(struct iw_fault *why);

/*
 * The descriptor for the event loop to poll for reading; not to be read or closed. -1 before init.
 */
int iw_signals_fd(void);

/* The signal that asked to stop, or 0. */
int iw_signals_stop(void);

#endif
