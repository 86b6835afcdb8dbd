/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Recognizes the listeners of iwarp-tools by the Private Data of their Rejects. No state. */
#ifndef IW_CLI_LISTENER_H
#define IW_CLI_LISTENER_H

#include <stddef.h>

#include <iwarp/err.h>

/*
 * Returns the command of the listener that rejected a connection with this Private Data, such as
 * "ddp-recv" (static). NULL: not one of ours.
 */
const char *iw_cli_listener(const void *private_data, size_t len);

/*
 * If the listener is one of ours but not needed (the command that must run at the peer), replaces
 * the text of why: it names the listener at peer, and the one that is needed. Changes nothing else
 * of why.
 */
void iw_cli_wrong_listener(struct iw_fault *why, const void *private_data, size_t len,
			   const char *peer, const char *needed);

#endif
