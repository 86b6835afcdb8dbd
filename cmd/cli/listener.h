/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The listeners of iwarp-tools, recognized by the Private Data with which they reject a connection.
 * No state.
 */
#ifndef IW_CLI_LISTENER_H
#define IW_CLI_LISTENER_H

#include <stddef.h>

#include <iwarp/err.h>

/* The command of the listener that rejected a connection with this Private Data, such as "ddp-recv";
 * NULL: not known. */
const char *iw_cli_listener(const void *private_data, size_t len);

/*
 * If the listener is known and is not @needed, replaces the text of @why: it names the listener at
 * @peer, and @needed, the command that must run there. The rest of @why stays.
 */
void iw_cli_wrong_listener(struct iw_fault *why, const void *private_data, size_t len,
			   const char *peer, const char *needed);

#endif
