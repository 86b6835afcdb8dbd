/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The listening socket that a service manager passes to a tool, as in sd_listen_fds(3). */
#ifndef IW_CLI_PASSED_H
#define IW_CLI_PASSED_H

#include <iwarp/err.h>

/*
 * Returns the descriptor that $LISTEN_FDS announces to this process, and sets its close-on-exec
 * flag. 0: none, because a variable is not set, $LISTEN_PID names another process, or $LISTEN_FDS
 * is 0. Removes LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES from the environment. Does not check that
 * the descriptor is a listening TCP socket; iw_listen does. The caller owns the descriptor.
 * IW_E_INVAL: a value is not a number, or more than one descriptor is passed.
 */
IW_MUST_CHECK int iw_cli_passed_socket(struct iw_fault *why);

#endif
