// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* ddp-recv: the Data Sink. Takes the files that are pushed to it, or pulls them from a listening
 * ddp-send. */
#include <string.h>
#include <unistd.h>

#include "cli/option.h"
#include "file/asked.h"
#include "file/options.h"

enum {
	KEY_CONTROL = 0xb001,
	KEY_FROM,
	KEY_OWNER_FROM_ANYONE,
	KEY_REQUIRE_DIGEST,
	KEY_SAFE_LINKS,
	KEY_NO_KEEP_PARTIAL
}; /* no character: long only */

static const struct argp_option options[] = {
	{ "control", KEY_CONTROL, "PATH", 0,
	  "Listening: where stag-reg asks for registered buffers; none: nowhere", 1 },
	{ "require-digest", KEY_REQUIRE_DIGEST, "yes|no", OPTION_ARG_OPTIONAL,
	  "Listening: reject transfers with --digest none (default yes; no on a loopback address)",
	  1 },
	{ "from", KEY_FROM, "URI", 0,
	  "Write a buffer registered by stag-reg to standard output; @FILE: the URI is in FILE",
	  1 },
	{ "safe-links", KEY_SAFE_LINKS, NULL, 0,
	  "Leave out symbolic links that lead out of the directory that is sent", 1 },
	{ "no-keep-partial", KEY_NO_KEEP_PARTIAL, NULL, 0,
	  "Remove partial files when a transfer fails, instead of keeping them for a resume", 1 },
	{ "owner-from-anyone", KEY_OWNER_FROM_ANYONE, NULL, 0,
	  "Permit --owner as root: any peer can then create files of any user, because there is no authentication",
	  1 },
	{ 0 },
};

/* Root can set every owner that a peer names, and no peer is authenticated. */
static void check_owner(const struct iw_transfer_opts *o, const struct argp_state *state)
{
	bool owner = o->cfg.opts & IW_XOPT_OWNER;

	if (o->owner_from_anyone && !owner)
		argp_error(state, "--owner-from-anyone: only with --owner");
	if (owner && geteuid() == 0 && !o->owner_from_anyone)
		argp_error(state,
			   "--owner as root: %s could create files of any user here, root included,"
			   " because peers are not authenticated; run ddp-recv as another user,"
			   " or add --owner-from-anyone to permit this",
			   o->cfg.listen ? "every peer that can connect" : "the server");
}

/* The remote paths take the place of the arguments that named them. */
static void check_puller(struct iw_transfer_opts *o, const struct argp_state *state)
{
	for (size_t i = 0; i + 1 < o->nargs; i++) {
		struct iw_endpoint e;
		const char *fault;

		iw_transfer_endpoint(&e, o->args[i], state);
		if (!e.is_remote)
			argp_error(state, "\"%s\": expected HOST:PATH in front of the target",
				   o->args[i]);
		if (i > 0 && strcmp(e.host, o->peer.host) != 0)
			argp_error(state, "\"%s\": all sources are of one host, here %s",
				   o->args[i], o->peer.host);
		fault = iw_asked_path_fault(e.path);
		if (fault)
			argp_error(state, "\"%s\": the path %s", o->args[i], fault);
		o->peer = e;
		o->args[i] += e.path - o->args[i];
	}
	o->cfg.paths = o->args;
	o->cfg.npaths = o->nargs - 1;
}

/* scp and rsync take either direction; here each direction has its tool. */
static void check_direction(const struct iw_transfer_opts *o, const struct argp_state *state)
{
	const char *target = o->args[o->nargs - 1];
	struct iw_endpoint source;

	iw_transfer_endpoint(&source, o->args[0], state);
	if (!source.is_remote)
		argp_error(state, "\"%s\": the target is remote; to send, use ddp-send %s %s",
			   target, o->args[0], target);
}

static void check_args(struct iw_transfer_opts *o, const struct argp_state *state)
{
	struct iw_transfer_cfg *cfg = &o->cfg;
	struct iw_endpoint target;

	if (o->nargs == 0)
		argp_error(state, "expected DIR or - to listen, or HOST:PATH... TARGET");
	iw_transfer_endpoint(&target, o->args[o->nargs - 1], state);
	if (target.is_remote && o->nargs > 1)
		check_direction(o, state);
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
	if (cfg->require_digest != IW_DIGEST_BY_ADDRESS && !cfg->listen)
		argp_error(state, "--require-digest is for listeners; use --digest here");
	if (!cfg->listen)
		check_puller(o, state);
	if (cfg->to_stdout && cfg->npaths > 1)
		argp_error(state, "-: standard output takes one file");
	/* One stream, then the end: another would be mixed up with it. */
	iw_transfer_opts_check(o, state);
	check_owner(o, state);
	cfg->once = cfg->once || (cfg->listen && cfg->to_stdout);
}

static void set_require_digest(struct iw_transfer_opts *o, const char *arg,
			       const struct argp_state *state)
{
	static const char *const words[] = { "yes", "no", NULL };

	o->cfg.require_digest = arg && iw_cli_enum(state, "--require-digest", arg, words) == 1
					? IW_DIGEST_OPTIONAL
					: IW_DIGEST_REQUIRED;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct iw_transfer_opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->child_inputs[1] = o;
		return 0;
	case KEY_REQUIRE_DIGEST:
		set_require_digest(o, arg, state);
		return 0;
	case KEY_FROM:
		o->cfg.to_stdout = true;
		iw_transfer_opts_uri(o, "--from", arg, state);
		return 0;
	case KEY_SAFE_LINKS:
		o->cfg.safe_links = true;
		return 0;
	case KEY_NO_KEEP_PARTIAL:
		o->cfg.drop_partial = true;
		return 0;
	case KEY_OWNER_FROM_ANYONE:
		o->owner_from_anyone = true;
		return 0;
	case KEY_CONTROL:
		if (!*arg)
			argp_error(state, "--control \"\": expected a path, or none");
		o->cfg.control = arg;
		return 0;
	case ARGP_KEY_END:
		iw_transfer_opts_port(o, state);
		if (o->uri_option)
			iw_transfer_opts_check(o, state);
		else
			check_args(o, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child kids[] = { { &iw_transfer_argp, 0, NULL, 1 },
					  { &iw_transfer_limit_argp, 0, NULL, 1 },
					  { 0 } };

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
