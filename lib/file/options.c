// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The options of both transfer tools. */
#include "file/options.h"

#include <stdlib.h>

#include "cli/option.h"
#include "file/digest.h"
#include "file/remote.h"

enum {
	KEY_DIGEST = 0xa001, /* no character: long only; not those of the common options */
	KEY_FORCE,
	KEY_ONCE,
};

/* clang-format off */
static const struct argp_option options[] = {
	{ "mode", 'm', "write|read|send", 0,
	  "How data move: by RDMA Write (default), RDMA Read or Send; the choice of who connects", 1 },
	{ "digest", KEY_DIGEST, "none|xxh3|sha256", 0,
	  "What both ends compare (default xxh3); the choice of who connects", 1 },
	{ "force", KEY_FORCE, NULL, 0, "Write also where a file of the same size and time is there already", 1 },
	{ "once", KEY_ONCE, NULL, 0, "Listening: take one transfer, then exit with its status", 1 },
	{ 0 },
};
/* clang-format on */

static void add_arg(struct iw_transfer_opts *o, const struct argp_state *state, char *arg)
{
	if (o->nargs == o->cap) {
		size_t cap = o->cap ? o->cap * 2 : 16;
		char **args = reallocarray(o->args, cap, sizeof(*args));

		if (!args)
			argp_failure(state, IW_EXIT_FAILED, 0, "no memory for the arguments");
		o->args = args;
		o->cap = cap;
	}
	o->args[o->nargs++] = arg;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static const char *const modes[] = { "write", "read", "send", NULL };
	static const char *const digests[] = { "none", "xxh3", "sha256", NULL };
	struct iw_transfer_opts *o = state->input;
	struct iw_transfer_cfg *cfg = &o->cfg;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->conn;
		state->child_inputs[1] = &o->cli;
		return 0;
	case ARGP_KEY_ARG:
		add_arg(o, state, arg);
		return 0;
	case 'm':
		cfg->mode = (enum iw_xfer_mode)(iw_cli_enum(state, "--mode", arg, modes) + 1);
		o->choice = "--mode";
		return 0;
	case KEY_DIGEST:
		cfg->digest = (enum iw_xfer_digest)iw_cli_enum(state, "--digest", arg, digests);
		o->choice = "--digest";
		return 0;
	case KEY_FORCE:
		cfg->force = true;
		return 0;
	case KEY_ONCE:
		cfg->once = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child kids[] = { { &iw_conn_argp, 0, NULL, 2 },
					  { &iw_cli_argp, 0, "Common options:", -1 },
					  { 0 } };
const struct argp iw_transfer_argp = { .options = options, .parser = parse, .children = kids };

static void check_uri(struct iw_transfer_opts *o, const struct argp_state *state)
{
	const struct iw_transfer_cfg *cfg = &o->cfg;

	if (o->nargs > 0)
		argp_error(state, "%s: the buffer is all there is to name", o->uri_option);
	if (o->choice)
		argp_error(state, "%s: %s is for transfers", o->uri_option, o->choice);
	if (cfg->listen || cfg->once || cfg->force || cfg->control)
		argp_error(state, "%s: --listen, --once, --force and --control are for transfers",
			   o->uri_option);
	if (cfg->to_stdout && o->cli.json)
		argp_error(state, "--json: the data go to standard output");
	if (o->cli.port != IW_CLI_PORT && o->cli.port != o->uri.port)
		argp_error(state, "--port %u: the URI says %u", (unsigned)o->cli.port,
			   (unsigned)o->uri.port);
	o->cli.port = o->uri.port;
	o->cli.transport = o->uri.transport;
}

void iw_transfer_opts_check(struct iw_transfer_opts *o, const struct argp_state *state)
{
	if (o->uri_option) {
		check_uri(o, state);
		return;
	}
	if (o->cfg.listen && o->choice)
		argp_error(state, "%s is the choice of who connects, not of a listener", o->choice);
	if (!o->cfg.listen && o->cfg.once)
		argp_error(state, "--once is for listeners");
	if (!o->cfg.listen && o->cfg.cli->port == 0)
		argp_error(state, "--port 0: who connects needs the listener's");
	if (o->cfg.to_stdout && o->cfg.cli->json)
		argp_error(state, "--json: the data go to standard output");
}

void iw_transfer_endpoint(struct iw_endpoint *e, const char *text, const struct argp_state *state)
{
	const char *why;

	if (iw_endpoint_parse(e, text, &why) != 0)
		argp_error(state, "\"%s\": %s", text, why);
}

void iw_transfer_opts_uri(struct iw_transfer_opts *o, const char *option, const char *arg,
			  const struct argp_state *state)
{
	iw_remote_arg(&o->uri, option, arg, state);
	o->uri_option = option;
}

static int run(struct iw_transfer_opts *o)
{
	struct iw_remote_cfg remote = { .cli = &o->cli, .from = o->cfg.to_stdout, .uri = o->uri };
	bool listen = o->cfg.listen;

	if (o->uri_option) {
		iw_conn_opts_param(&o->conn, &o->cli, o->uri.host, &remote.conn);
		return iw_remote_run(&remote);
	}
	iw_conn_opts_param(&o->conn, &o->cli, listen ? NULL : o->peer.host, &o->cfg.conn);
	/* As many as can connect in the same moment. */
	o->cfg.conn.backlog = 1024;
	return iw_transfer_run(&o->cfg);
}

int iw_transfer_main(int argc, char **argv, const struct argp *argp, const char *tool,
		     enum iw_xfer_role role)
{
	struct iw_transfer_opts o = {
		.cfg = { .role = role, .mode = IW_XFER_WRITE, .digest = IW_XFER_XXH3 }
	};
	int status;

	o.cfg.cli = &o.cli;
	iw_cli_init(&o.cli, tool, "tcp");
	iw_conn_opts_init(&o.conn);
	argp_parse(argp, argc, argv, 0, NULL, &o);
	status = iw_cli_start(&o.cli);
	if (status == IW_EXIT_OK)
		status = iw_cli_check_transport(&o.cli);
	if (status == IW_EXIT_OK)
		status = run(&o);
	status = iw_cli_finish(&o.cli, status);
	free(o.args);
	return status;
}
