/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Standard input into a buffer that somebody has registered elsewhere (ddp-send --to), or one to
 * standard output (ddp-recv --from): one connection, one buffer, RDMA Writes or RDMA Reads and
 * nothing else.
 *
 * What is written counts as there when a Read of no octets behind all the Writes has been answered
 * (RFC 5040 5.5: the Writes were placed then), and the peer has closed in order.
 */
#ifndef IW_FILE_REMOTE_H
#define IW_FILE_REMOTE_H

#include <argp.h>
#include <stdbool.h>

#include <iwarp/verbs.h>

#include "cli/param.h"
#include "cli/cli.h"
#include "stag-reg/uri.h"

struct iw_remote_cfg {
	struct iw_cli *cli; /* started */
	bool from;          /* false: to */
	struct iw_uri uri;
	struct iw_cli_param conn; /* but for the Private Data */
};

/* Runs it to its end. Returns the exit status; the user has been told everything. */
IW_MUST_CHECK int iw_remote_run(const struct iw_remote_cfg *cfg);

/*
 * The argument of --to and --from: a URI, or @FILE, whose first line is one (so that the key need
 * not stand among the arguments, which every user of the machine can see). Bad text ends the tool
 * with a message that names the option.
 */
void iw_remote_arg(struct iw_uri *out, const char *option, const char *arg,
		   const struct argp_state *state);

#endif
