/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The listening socket that a service manager passes to a tool: sd_listen_fds(3), without its library. */
#ifndef IW_CLI_PASSED_H
#define IW_CLI_PASSED_H

#include <iwarp/err.h>

/*
 * Returns the descriptor that $LISTEN_FDS announces to this process, and sets its close-on-exec
 * flag; 0: none, because $LISTEN_FDS is not set or $LISTEN_PID names another process. Removes the
 * variables from the environment. IW_E_INVAL: a value is not a number, or more than one descriptor
 * is passed. Whether it is a listening TCP socket is checked when it is used.
 */
IW_MUST_CHECK int iw_cli_passed_socket(struct iw_fault *why);

#endif
