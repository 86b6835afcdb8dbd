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

struct iw_transfer_opts;

/* Options of ssh start-up. Strings are borrowed from argv. */
struct iw_transfer_ssh {
	bool on;             /* --ssh, or a user name before the host */
	const char *option;  /* the first of these options that was given; NULL: none */
	const char *command; /* NULL: "ssh" */
	const char *program; /* --far-program; NULL: the tool's name */
	uint16_t first, last;
	bool no_fallback;
	bool server; /* this process is the far end */
	/*
	 * For a transfer after its dry run, which has used up the pipe of ssh: sets cfg.pipe again.
	 * Returns IW_EXIT_OK, or the status after a reported failure. NULL: not needed.
	 */
	int (*again)(struct iw_transfer_opts *o);
};

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
	struct iw_transfer_ssh ssh;
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
 * True for an initiator whose transfer is preceded by a dry run, over a connection of its own:
 * --delete with confirmation, or with patterns of a source.
 */
bool iw_transfer_runs_twice(const struct iw_transfer_opts *o);

/*
 * ssh start-up (over_ssh.c). The child's input is a struct iw_transfer_opts.
 *
 * check: call it at the end of parsing, when cfg.listen and peer are set; contradictions end the
 * tool with a message. run: the local end: starts the far end, calls transfer with o, whose cfg
 * leads to that end, and ends it. serve: the far end. Both return the exit status.
 */
extern const struct argp iw_transfer_ssh_argp;
void iw_transfer_ssh_check(struct iw_transfer_opts *o, const struct argp_state *state);
int iw_transfer_ssh_run(struct iw_transfer_opts *o, int (*transfer)(struct iw_transfer_opts *o));
int iw_transfer_ssh_serve(struct iw_transfer_opts *o);

/*
 * Does all the work of main. argp is the tool's own parser, with iw_transfer_argp as its child.
 * Returns the exit status.
 */
int iw_transfer_main(int argc, char **argv, const struct argp *argp, const char *tool,
		     enum iw_xfer_role role);

#endif
