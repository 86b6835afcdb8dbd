/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies standard input into a buffer that is registered at the peer (ddp-send --to), or such a
 * buffer to standard output (ddp-recv --from). Uses one connection and one buffer, and only RDMA
 * Writes or RDMA Reads.
 *
 * Written data are placed when a zero-length Read after all Writes was answered (RFC 5040 5.5), and
 * the peer has closed in order.
 */
#ifndef IW_TRANSFER_REMOTE_H
#define IW_TRANSFER_REMOTE_H

#include <argp.h>
#include <stdbool.h>

#include <iwarp/verbs.h>

#include "cli/cli.h"
#include "cli/param.h"
#include "cli/secure.h"
#include "stag-reg/uri.h"

struct iw_remote_cfg {
	struct iw_cli *cli; /* started */
	bool from;          /* --from; otherwise --to */
	struct iw_uri uri;
	struct iw_cli_param conn; /* except the Private Data */
	struct iw_cli_secure *secure;
};

/* Runs to the end. Returns the exit status; failures were reported to the user. */
IW_MUST_CHECK int iw_remote_run(const struct iw_remote_cfg *cfg);

/*
 * Parses arg, the argument of option: a URI, or @FILE, whose first line is a URI. A file keeps the
 * key out of the argument list, which every user of the machine can read. Bad text ends the tool
 * with a message that names option.
 */
void iw_remote_arg(struct iw_uri *out, const char *option, const char *arg,
		   const struct argp_state *state);

#endif
