// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* ddp-send: the Data Source. Pushes files to a listening ddp-recv, or serves a directory to those that pull. */
#include <stdlib.h>

#include "cli/cli.h"
#include "file/options.h"

struct opts {
	struct iw_cli cli;
	struct iw_transfer_opts transfer;
	struct iw_endpoint peer;
	char **args;
	size_t nargs, cap;
};

static const struct argp_option options[] = {
	{ "listen", 'l', NULL, 0, "Serve the files below DIR to every ddp-recv that asks", 1 },
	{ 0 },
};

static void add_arg(struct opts *o, const struct argp_state *state, char *arg)
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

static void check_listener(struct opts *o, const struct argp_state *state)
{
	struct iw_endpoint dir;

	if (o->nargs != 1)
		argp_error(state, "--listen: expected one directory");
	iw_transfer_endpoint(&dir, o->args[0], state);
	if (dir.is_remote || dir.is_stdio)
		argp_error(state, "--listen \"%s\": expected a directory of this machine",
			   o->args[0]);
	o->transfer.cfg.path = dir.path;
}

static void check_pusher(struct opts *o, const struct argp_state *state)
{
	struct iw_endpoint source;
	size_t streams = 0;

	if (o->nargs < 2)
		argp_error(state, "expected SOURCE... HOST:[PATH], or --listen DIR");
	iw_transfer_endpoint(&o->peer, o->args[o->nargs - 1], state);
	if (!o->peer.is_remote)
		argp_error(state, "\"%s\": the target is no HOST:[PATH]", o->args[o->nargs - 1]);
	for (size_t i = 0; i + 1 < o->nargs; i++) {
		iw_transfer_endpoint(&source, o->args[i], state);
		if (source.is_remote)
			argp_error(
				state,
				"\"%s\": sources are of this machine; a local name with a colon is written ./NAME",
				o->args[i]);
		streams += source.is_stdio;
	}
	if (streams > 1)
		argp_error(state, "- stands for standard input, which can be sent once");
	o->transfer.cfg.paths = o->args;
	o->transfer.cfg.npaths = o->nargs - 1;
	o->transfer.cfg.path = o->peer.path;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->transfer;
		state->child_inputs[1] = &o->cli;
		return 0;
	case 'l':
		o->transfer.cfg.listen = true;
		return 0;
	case ARGP_KEY_ARG:
		add_arg(o, state, arg);
		return 0;
	case ARGP_KEY_END:
		if (o->transfer.cfg.listen)
			check_listener(o, state);
		else
			check_pusher(o, state);
		iw_transfer_opts_check(&o->transfer, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child kids[] = { { &iw_transfer_argp, 0, NULL, 1 },
					  { &iw_cli_argp, 0, "Common options:", -1 },
					  { 0 } };

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "SOURCE... HOST:[PATH]\n--listen DIR",
	.doc = "Send files by DDP and RDMAP, the Data Source of a transfer."
	       "\vSOURCE is a file, a directory with all that is in it, or - for standard input. PATH is relative to the directory"
	       " that the listening ddp-recv serves, and follows scp's rules: into a directory, or under another name.",
	.children = kids,
};

int main(int argc, char **argv)
{
	struct opts o = { .nargs = 0 };
	int status;

	iw_cli_init(&o.cli, "ddp-send", "tcp");
	iw_transfer_opts_init(&o.transfer);
	o.transfer.cfg.cli = &o.cli;
	o.transfer.cfg.role = IW_XFER_SOURCE;
	argp_parse(&argp, argc, argv, 0, NULL, &o);
	status = iw_cli_start(&o.cli);
	if (status == IW_EXIT_OK)
		status = iw_cli_check_transport(&o.cli);
	if (status == IW_EXIT_OK) {
		iw_transfer_opts_finish(&o.transfer, &o.cli, o.peer.host);
		status = iw_transfer_run(&o.transfer.cfg);
	}
	status = iw_cli_finish(&o.cli, status);
	free(o.args);
	return status;
}
