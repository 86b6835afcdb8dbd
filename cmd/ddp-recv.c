// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* ddp-recv: the Data Sink. Takes the files that are pushed to it, or pulls them from a listening
 * ddp-send. */
#include <string.h>
#include <unistd.h>

#include "cli/option.h"
#include "file/options.h"

enum { KEY_CONTROL = 0xb001, KEY_FROM, KEY_MAX_MEMORY }; /* no character: long only */

static const struct argp_option options[] = {
	{ "control", KEY_CONTROL, "PATH", 0,
	  "Listening: where stag-reg asks for registered buffers; none: nowhere", 1 },
	{ "max-memory", KEY_MAX_MEMORY, "SIZE", 0,
	  "Listening: new memory that stag-reg may have, all together (default a quarter of the machine's)",
	  1 },
	{ "from", KEY_FROM, "URI", 0,
	  "Write a buffer registered by stag-reg to standard output; @FILE: the URI is in FILE",
	  1 },
	{ 0 },
};

/* The remote paths take the place of the arguments that named them. */
static void check_puller(struct iw_transfer_opts *o, const struct argp_state *state)
{
	for (size_t i = 0; i + 1 < o->nargs; i++) {
		struct iw_endpoint e;

		iw_transfer_endpoint(&e, o->args[i], state);
		if (!e.is_remote)
			argp_error(state, "\"%s\": expected HOST:PATH in front of the target",
				   o->args[i]);
		if (i > 0 && strcmp(e.host, o->peer.host) != 0)
			argp_error(state, "\"%s\": all sources are of one host, here %s",
				   o->args[i], o->peer.host);
		o->peer = e;
		o->args[i] += e.path - o->args[i];
	}
	o->cfg.paths = o->args;
	o->cfg.npaths = o->nargs - 1;
}

static void check_args(struct iw_transfer_opts *o, const struct argp_state *state)
{
	struct iw_transfer_cfg *cfg = &o->cfg;
	struct iw_endpoint target;

	if (o->nargs == 0)
		argp_error(state, "expected DIR or - to listen, or HOST:PATH... TARGET");
	iw_transfer_endpoint(&target, o->args[o->nargs - 1], state);
	if (target.is_remote)
		argp_error(state,
			   o->nargs == 1 ? "\"%s\": where to? Expected HOST:PATH... TARGET"
					 : "\"%s\": the target is of this machine",
			   o->args[o->nargs - 1]);
	cfg->path = target.path;
	cfg->to_stdout = target.is_stdio;
	cfg->listen = o->nargs == 1;
	if (cfg->control && !cfg->listen)
		argp_error(state, "--control is for listeners");
	if (o->max_memory && !cfg->listen)
		argp_error(state, "--max-memory is for listeners");
	if (!cfg->listen)
		check_puller(o, state);
	if (cfg->to_stdout && cfg->npaths > 1)
		argp_error(state, "-: standard output takes one file");
	/* One stream, then the end: another would be mixed up with it. */
	iw_transfer_opts_check(o, state);
	cfg->once = cfg->once || (cfg->listen && cfg->to_stdout);
}

static uint64_t quarter_of_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / 4 : UINT64_C(1) << 30;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct iw_transfer_opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = o;
		o->cfg.memory = quarter_of_memory();
		return 0;
	case KEY_MAX_MEMORY:
		o->cfg.memory = iw_cli_size(state, "--max-memory", arg, 1, UINT64_MAX);
		o->max_memory = true;
		return 0;
	case KEY_FROM:
		o->cfg.to_stdout = true;
		iw_transfer_opts_uri(o, "--from", arg, state);
		return 0;
	case KEY_CONTROL:
		if (!*arg)
			argp_error(state, "--control \"\": expected a path, or none");
		o->cfg.control = arg;
		return 0;
	case ARGP_KEY_END:
		if (o->uri_option)
			iw_transfer_opts_check(o, state);
		else
			check_args(o, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child kids[] = { { &iw_transfer_argp, 0, NULL, 1 }, { 0 } };

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "DIR\n-\nHOST:PATH... TARGET\n--from URI",
	.doc = "Receive files by DDP and RDMAP, the Data Sink of a transfer."
	       "\vWith DIR alone it listens, and every ddp-send may put files there; with - it takes one stream and writes it to standard"
	       " output. With HOST:PATH it fetches from a ddp-send --listen into TARGET, by scp's rules a directory or the name of a file,"
	       " or - for standard output.",
	.children = kids,
};

int main(int argc, char **argv)
{
	return iw_transfer_main(argc, argv, &argp, "ddp-recv", IW_XFER_SINK);
}
