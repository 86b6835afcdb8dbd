/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What ddp-send and ddp-recv share as programs: an argp child with their options, and main. */
#ifndef IW_TRANSFER_OPTIONS_H
#define IW_TRANSFER_OPTIONS_H

#include <argp.h>
#include <stdbool.h>

#include "cli/cli.h"
#include "cli/conn.h"
#include "cli/endpoint.h"
#include "cli/secure.h"
#include "stag-reg/uri.h"
#include "transfer/transfer.h"

struct iw_transfer_opts {
	struct iw_cli cli;
	struct iw_cli_conn conn;
	struct iw_cli_secure secure;
	struct iw_transfer_cfg cfg; /* the tool sets listen, the paths and to_stdout */
	struct iw_endpoint peer;    /* initiator: the peer; set by the tool */
	char **args;                /* the non-option arguments, in order */
	size_t nargs, cap;
	bool partial;       /* -P was given */
	bool is_stream;     /* standard input is the only operand; set by the tool */
	bool redials_given; /* --redial of at least 1 */
	bool yes;           /* --delete does not ask */
	/* --owner is permitted for root, although peers are not authenticated */
	bool owner_from_anyone;
	/* The first given option that only an initiator accepts, for error messages. NULL: none. */
	const char *choice;
	const char *listening; /* --max-memory or --max-connections, if given; NULL: neither */
	const char *limit;     /* the last option of iw_transfer_limit_argp; NULL: none */
	/* --to or --from: a registered buffer in place of a transfer; NULL: neither */
	const char *uri_option;
	struct iw_uri uri;
};

/*
 * Parses the shared options, those of all tools, and the arguments. Its input is a struct
 * iw_transfer_opts, as is that of the tool's own parser.
 */
extern const struct argp iw_transfer_argp;
/* The limits of a receiver. Same input. */
extern const struct argp iw_transfer_limit_argp;

/*
 * Call it in ARGP_KEY_END, when cfg.listen is set. Options that contradict each other end the tool
 * with a message.
 */
void iw_transfer_opts_check(struct iw_transfer_opts *o, const struct argp_state *state);

/*
 * Call it first in ARGP_KEY_END. The form -P PORT of scp, which leaves the port as the first
 * argument, ends the tool with a message.
 */
void iw_transfer_opts_port(const struct iw_transfer_opts *o, const struct argp_state *state);

/*
 * Parses HOST:PATH, [v6]:PATH, PATH or - (cli/endpoint.h). Any other text ends the tool with a
 * message.
 */
void iw_transfer_endpoint(struct iw_endpoint *e, const char *text, const struct argp_state *state);

/*
 * Parses the argument of option, --to or --from: see iw_remote_arg. Only options of the connection
 * may be combined with it, and not those for a transport and a port that the URI already gives.
 */
void iw_transfer_opts_uri(struct iw_transfer_opts *o, const char *option, const char *arg,
			  const struct argp_state *state);

/*
 * Does all the work of main. argp is the tool's own parser, with iw_transfer_argp as its child.
 * Returns the exit status.
 */
int iw_transfer_main(int argc, char **argv, const struct argp *argp, const char *tool,
		     enum iw_xfer_role role);

#endif
