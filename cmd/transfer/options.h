/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What ddp-send and ddp-recv have in common as programs: their options beside those of all
 * tools, an argp child, and main's work. */
#ifndef IW_FILE_OPTIONS_H
#define IW_FILE_OPTIONS_H

#include <argp.h>
#include <stdbool.h>

#include "cli/cli.h"
#include "cli/conn.h"
#include "cli/endpoint.h"
#include "transfer/transfer.h"
#include "stag-reg/uri.h"

struct iw_transfer_opts {
	struct iw_cli cli;
	struct iw_cli_conn conn;
	struct iw_transfer_cfg cfg; /* listen, the paths and to_stdout are the tool's to fill */
	struct iw_endpoint peer;    /* who connects: whom to; the tool's to fill */
	char **args;                /* what is no option, in order */
	size_t nargs, cap;
	bool partial;           /* -P was given */
	bool is_stream;         /* standard input is the only source; the tool's to fill */
	bool redials_given;     /* --redial of at least 1 */
	bool yes;               /* --delete does not ask */
	bool owner_from_anyone; /* --owner is permitted as root, though peers are not authenticated */
	/* the first option given that is the initiator's alone, for complaints; NULL: none */
	const char *choice;
	const char *listening; /* --max-memory or --max-connections, if given; NULL: neither */
	const char *limit;     /* the last option of iw_transfer_limit_argp; NULL: none */
	/* --to or --from: a registered buffer in place of a transfer; NULL: neither */
	const char *uri_option;
	struct iw_uri uri;
};

/* Takes the shared options, the common ones and the arguments; its input is a struct
 * iw_transfer_opts, as is the tool's own. */
extern const struct argp iw_transfer_argp;
/* A receiver's limits; its input is the same. */
extern const struct argp iw_transfer_limit_argp;

/* In ARGP_KEY_END, when cfg.listen is decided: options that do not fit end the tool with a
 * message. */
void iw_transfer_opts_check(struct iw_transfer_opts *o, const struct argp_state *state);

/* In ARGP_KEY_END, first: scp's -P PORT, which leaves the port as the first argument, ends the tool with
 * a message. */
void iw_transfer_opts_port(const struct iw_transfer_opts *o, const struct argp_state *state);

/* HOST:PATH, [v6]:PATH, PATH or -, as cli/endpoint.h has it; text that is none ends the tool
 * with a message. */
void iw_transfer_endpoint(struct iw_endpoint *e, const char *text, const struct argp_state *state);

/* The argument of --to and --from, option: see iw_remote_arg. Nothing else than a connection's own
 * options may stand beside it, and what it says of transport and port is not to be said twice. */
void iw_transfer_opts_uri(struct iw_transfer_opts *o, const char *option, const char *arg,
			  const struct argp_state *state);

/* All of main: argp is the tool's own parser, with iw_transfer_argp as its child. Returns the
 * exit status. */
int iw_transfer_main(int argc, char **argv, const struct argp *argp, const char *tool,
		     enum iw_xfer_role role);

#endif
