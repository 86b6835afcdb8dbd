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
 * needed is the command that must listen at peer. If another listener of iwarp-tools sent the
 * Private Data, replaces the text of *why with one that names both commands. Otherwise, and in the
 * other members of *why, changes nothing.
 */
void iw_cli_wrong_listener(struct iw_fault *why, const void *private_data, size_t len,
			   const char *peer, const char *needed);

#endif
