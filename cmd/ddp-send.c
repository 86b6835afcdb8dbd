// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* ddp-send: the Data Source. Pushes files to a listening ddp-recv, or serves a directory to
 * those that pull. */
#include "file/options.h"

enum { KEY_TO = 0xb001 }; /* no character: long only */

static const struct argp_option options[] = {
	{ "listen", 'l', NULL, 0, "Serve the files below DIR to every ddp-recv that asks", 1 },
	{ "to", KEY_TO, "URI", 0,
	  "Write standard input into a buffer registered by stag-reg; @FILE: the URI is in FILE",
	  1 },
	{ 0 },
};

static void check_listener(struct iw_transfer_opts *o, const struct argp_state *state)
{
	struct iw_endpoint dir;

	if (o->nargs != 1)
		argp_error(state, "--listen: expected one directory");
	iw_transfer_endpoint(&dir, o->args[0], state);
	if (dir.is_remote || dir.is_stdio)
		argp_error(state, "--listen \"%s\": expected a directory of this machine",
			   o->args[0]);
	o->cfg.path = dir.path;
}

/* scp and rsync take either direction; here each direction has its tool. */
static void not_remote(const struct iw_transfer_opts *o, const struct argp_state *state)
{
	const char *target = o->args[o->nargs - 1];
	struct iw_endpoint source;

	iw_transfer_endpoint(&source, o->args[0], state);
	if (source.is_remote)
		argp_error(state, "\"%s\": the source is remote; to fetch, use ddp-recv %s %s",
			   o->args[0], o->args[0], target);
	argp_error(state, "no colon in \"%s\": write %s: for its served directory", target, target);
}

static void check_pusher(struct iw_transfer_opts *o, const struct argp_state *state)
{
	struct iw_endpoint source;
	size_t streams = 0;

	if (o->nargs < 2)
		argp_error(state, "expected SOURCE... HOST:[PATH], or --listen DIR");
	iw_transfer_endpoint(&o->peer, o->args[o->nargs - 1], state);
	if (!o->peer.is_remote)
		not_remote(o, state);
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
	o->cfg.paths = o->args;
	o->cfg.npaths = o->nargs - 1;
	o->cfg.path = o->peer.path;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct iw_transfer_opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = o;
		return 0;
	case 'l':
		o->cfg.listen = true;
		return 0;
	case KEY_TO:
		iw_transfer_opts_uri(o, "--to", arg, state);
		return 0;
	case ARGP_KEY_END:
		iw_transfer_opts_port(o, state);
		if (o->cfg.listen)
			check_listener(o, state);
		else if (!o->uri_option)
			check_pusher(o, state);
		iw_transfer_opts_check(o, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child kids[] = { { &iw_transfer_argp, 0, NULL, 1 }, { 0 } };

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "SOURCE... HOST:[PATH]\n--listen DIR\n--to URI",
	.doc = "Send files by DDP and RDMAP, the Data Source of a transfer."
	       "\vSOURCE is a file, a directory with all that is in it, or - for standard input. PATH is relative to the directory"
	       " that the listening ddp-recv serves, and follows scp's rules: into a directory, or under another name.",
	.children = kids,
};

int main(int argc, char **argv)
{
	return iw_transfer_main(argc, argv, &argp, "ddp-send", IW_XFER_SOURCE);
}
