// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * ddp-recv: the Data Sink. Receives files that peers send, or fetches them from a listening
 * ddp-send.
 */
#include <string.h>
#include <unistd.h>

#include "cli/option.h"
#include "transfer/files/asked.h"
#include "transfer/options.h"

enum {
	KEY_CONTROL = 0xb001,
	KEY_FROM,
	KEY_OWNER_FROM_ANYONE,
	KEY_REQUIRE_DIGEST,
	KEY_SAFE_LINKS,
	KEY_NO_KEEP_PARTIAL,
	KEY_LISTEN,
	KEY_TO,
}; /* not a character: long options only */

static const struct argp_option options[] = {
	{ "control", KEY_CONTROL, "PATH", 0,
	  "A listener: the control socket for stag-reg; none: no control socket", 4 },
	{ "require-digest", KEY_REQUIRE_DIGEST, "yes|no", OPTION_ARG_OPTIONAL,
	  "A listener: reject transfers with --digest none (default yes; no on a loopback address)",
	  4 },
	{ "from", KEY_FROM, "URI", 0,
	  "Write a buffer that stag-reg registered to standard output; @FILE: read the URI from FILE",
	  6 },
	{ "safe-links", KEY_SAFE_LINKS, NULL, 0,
	  "Leave out symbolic links that point outside the transferred directory", 1 },
	{ "listen", KEY_LISTEN, NULL, OPTION_HIDDEN, NULL, 1 },
	{ "to", KEY_TO, "", OPTION_ARG_OPTIONAL | OPTION_HIDDEN, NULL, 1 },
	{ "no-keep-partial", KEY_NO_KEEP_PARTIAL, NULL, 0,
	  "Remove partial files when a transfer fails, instead of keeping them for a resume", 3 },
	{ "owner-from-anyone", KEY_OWNER_FROM_ANYONE, NULL, 0,
	  "Permit --owner as root: any peer can then create files of any user, because there is no authentication",
	  2 },
	{ 0 },
};

/*
 * As root it could set any owner that a peer names: the peer must be authenticated, as ssh does it.
 */
static void check_owner(const struct iw_transfer_opts *o, const struct argp_state *state)
{
	bool owner = o->cfg.opts & IW_XFER_OPT_OWNER && !o->ssh.on;

	if (o->owner_from_anyone && !(o->cfg.opts & IW_XFER_OPT_OWNER))
		argp_error(state, "--owner-from-anyone: only with --owner");
	if (owner && geteuid() == 0 && !o->owner_from_anyone &&
	    !iw_cli_secure_authenticates(&o->secure))
		argp_error(
			state,
			"--owner as root: %s could create files of any user here, root included,"
			" because peers are not authenticated; use --psk-file, --pin or --ca, run ddp-recv as another user,"
			" or add --owner-from-anyone to permit this",
			o->cfg.listen ? "every peer that can connect" : "the server");
}

/* Replaces the arguments by the remote paths that they name. */
static void check_puller(struct iw_transfer_opts *o, const struct argp_state *state)
{
	for (size_t i = 0; i + 1 < o->nargs; i++) {
		struct iw_endpoint e;
		const char *fault;

		iw_transfer_endpoint(&e, o->args[i], state);
		if (!e.is_remote)
			argp_error(state, "\"%s\": expected HOST:PATH before the target",
				   o->args[i]);
		if (i > 0 &&
		    (strcmp(e.host, o->peer.host) != 0 || strcmp(e.user, o->peer.user) != 0))
			argp_error(state, "\"%s\": all sources must be on one host, here %s%s%s",
				   o->args[i], o->peer.user, o->peer.user[0] ? "@" : "",
				   o->peer.host);
		fault = iw_asked_path_fault(e.path);
		if (fault)
			argp_error(state, "\"%s\": the path %s", o->args[i], fault);
		o->peer = e;
		o->args[i] += e.path - o->args[i];
	}
	o->cfg.paths = o->args;
	o->cfg.npaths = o->nargs - 1;
}

/* scp and rsync work in both directions; here each direction has a tool. */
static void check_direction(const struct iw_transfer_opts *o, const struct argp_state *state)
{
	const char *target = o->args[o->nargs - 1];
	struct iw_endpoint source;

	iw_transfer_endpoint(&source, o->args[0], state);
	if (!source.is_remote)
		argp_error(state, "\"%s\": the target is remote; to send, use ddp-send %s %s",
			   target, o->args[0], target);
}

/*
 * A listener applies the patterns of the sender. A pattern that names a source was probably meant
 * as an argument of a fetch.
 */
static void refuse_pattern(const struct iw_transfer_opts *o, const struct argp_state *state)
{
	const struct iw_filter *filter = &o->cfg.filter;

	for (size_t i = 0; i < filter->n; i++) {
		const struct iw_filter_rule *rule = &filter->rules[i];
		const char *option = rule->include ? "--include" : "--exclude", *why;
		struct iw_endpoint e;

		if (iw_endpoint_parse(&e, rule->pattern, &why) == 0 && e.is_remote)
			argp_error(
				state,
				"\"%s\": no source before the target, because \"%s\" is the pattern of %s; expected HOST:PATH... TARGET",
				o->args[0], rule->pattern, option);
		if (i + 1 == filter->n)
			argp_error(state, "%s is set by the connecting side, not by a listener",
				   option);
	}
}

static void check_args(struct iw_transfer_opts *o, const struct argp_state *state)
{
	struct iw_transfer_cfg *cfg = &o->cfg;
	struct iw_endpoint target;

	if (o->nargs == 0)
		argp_error(state,
			   "expected DIR or - to listen, HOST:PATH... TARGET, or --from URI");
	iw_transfer_endpoint(&target, o->args[o->nargs - 1], state);
	if (target.is_remote && o->nargs > 1)
		check_direction(o, state);
	if (target.is_remote)
		argp_error(state,
			   o->nargs == 1 ? "\"%s\": no target; expected HOST:PATH... TARGET"
					 : "\"%s\": the target must be local",
			   o->args[o->nargs - 1]);
	cfg->path = target.path;
	cfg->to_stdout = target.is_stdio;
	cfg->listen = o->nargs == 1;
	if (cfg->control && !cfg->listen)
		argp_error(state, "--control applies to listeners only");
	if (cfg->require_digest != IW_DIGEST_BY_ADDRESS && o->nargs == 2 &&
	    (strcmp(o->args[0], "yes") == 0 || strcmp(o->args[0], "no") == 0))
		argp_error(state, "--require-digest %s: the value follows =: --require-digest=%s",
			   o->args[0], o->args[0]);
	if (cfg->require_digest != IW_DIGEST_BY_ADDRESS && !cfg->listen)
		argp_error(state, "--require-digest applies to listeners only; use --digest here");
	if (!cfg->listen)
		check_puller(o, state);
	else
		refuse_pattern(o, state);
	if (cfg->to_stdout && cfg->npaths > 1)
		argp_error(state, "-: standard output accepts only one file");
	iw_transfer_opts_check(o, state);
	check_owner(o, state);
	/* Standard output takes one stream: a second one would be mixed with it. */
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
	case KEY_LISTEN:
		argp_error(state, "--listen: ddp-recv DIR listens without an option");
		return 0;
	case KEY_TO:
		argp_error(
			state,
			"--to is an option of ddp-send, which writes to a buffer; --from reads one");
		return 0;
	case KEY_CONTROL:
		if (!*arg)
			argp_error(state, "--control \"\": expected a path, or none");
		o->cfg.control = arg;
		return 0;
	case ARGP_KEY_END:
		if (o->ssh.server) {
			iw_transfer_ssh_check(o, state);
			return 0;
		}
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

static const struct argp_child kids[] = { { &iw_transfer_argp, 0, NULL, 0 },
					  { &iw_transfer_limit_argp, 0, NULL, 0 },
					  { 0 } };

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "DIR\n-\nHOST:PATH... TARGET\nUSER@HOST:PATH... TARGET\n--from URI",
	.doc = "Receive files by DDP and RDMAP: the data sink of a transfer."
	       "\vWith DIR alone it listens, and any ddp-send can store files there. With - it accepts one stream and writes it to standard"
	       " output. With HOST:PATH it fetches files from a ddp-send --listen: into TARGET if that is a directory, otherwise under the name"
	       " TARGET, as with scp, or to standard output if TARGET is -. With USER@HOST, or with --ssh, ssh starts the ddp-send at the"
	       " host, and PATH is relative to the user's home directory there.",
	.children = kids,
};

int main(int argc, char **argv)
{
	return iw_transfer_main(argc, argv, &argp, "ddp-recv", IW_XFER_SINK);
}
