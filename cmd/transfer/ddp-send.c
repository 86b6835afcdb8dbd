// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * ddp-send: the Data Source. Sends files to a listening ddp-recv, or serves a directory to peers
 * that fetch files.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transfer/options.h"
#include "util/num.h"

enum { KEY_TO = 0xb001, KEY_OF_RECEIVER }; /* not a character: long options only */

/* An option of ddp-recv: the message says so. */
#define OF_RECEIVER(name)                                                                          \
	{                                                                                          \
		name, KEY_OF_RECEIVER, "", OPTION_ARG_OPTIONAL | OPTION_HIDDEN, NULL, 1            \
	}

static const struct argp_option options[] = {
	{ "listen", 'l', NULL, 0, "Serve the files below DIR to any ddp-recv that requests them",
	  4 },
	{ "to", KEY_TO, "URI", 0,
	  "Write standard input to a buffer that stag-reg registered; @FILE: read the URI from FILE",
	  6 },
	OF_RECEIVER("quota"),
	OF_RECEIVER("max-transfer"),
	OF_RECEIVER("max-size"),
	OF_RECEIVER("max-files"),
	OF_RECEIVER("max-depth"),
	OF_RECEIVER("max-name"),
	OF_RECEIVER("max-age"),
	OF_RECEIVER("safe-links"),
	OF_RECEIVER("require-digest"),
	OF_RECEIVER("no-keep-partial"),
	OF_RECEIVER("owner-from-anyone"),
	OF_RECEIVER("control"),
	OF_RECEIVER("from"),
	{ 0 },
};

static void check_listener(struct iw_transfer_opts *o, const struct argp_state *state)
{
	struct iw_endpoint dir;

	if (o->nargs == 0)
		argp_error(state, "--listen: no directory; expected --listen DIR");
	if (o->nargs > 1)
		argp_error(state,
			   "--listen: \"%s\" is one argument too many; expected --listen DIR%s",
			   o->args[1],
			   strchr(o->args[o->nargs - 1], ':')
				   ? " (-l is --listen; a limit on the rate is --bwlimit)"
				   : "");
	iw_transfer_endpoint(&dir, o->args[0], state);
	if (dir.is_remote || dir.is_stdio)
		argp_error(state, "--listen \"%s\": expected a local directory", o->args[0]);
	o->cfg.path = dir.path;
}

/* scp and rsync work in both directions; here each direction has a tool. */
static void not_remote(const struct iw_transfer_opts *o, const struct argp_state *state)
{
	const char *target = o->args[o->nargs - 1], *before = o->args[o->nargs - 2];
	struct iw_endpoint first, last;

	iw_transfer_endpoint(&first, o->args[0], state);
	iw_transfer_endpoint(&last, before, state);
	if (last.is_remote && !first.is_remote)
		argp_error(
			state,
			"\"%s\": one argument too many after the target \"%s\"; expected SOURCE... HOST:[PATH]",
			target, before);
	if (first.is_remote && !first.path[0] && o->nargs == 2 && access(target, F_OK) == 0)
		argp_error(state, "\"%s\": the host comes last; expected ddp-send %s %s",
			   o->args[0], target, o->args[0]);
	if (first.is_remote)
		argp_error(state, "\"%s\": the source is remote; to fetch, use ddp-recv %s %s",
			   o->args[0], o->args[0], target);
	if (target[0] == ':')
		argp_error(
			state,
			"\"%s\": no host before the colon; expected HOST:[PATH], with an IPv6 address in brackets",
			target);
	if (strchr(target, ':'))
		argp_error(state, "\"%s\" is a local name: the last argument must be HOST:[PATH]",
			   target);
	argp_error(state, "no colon in \"%s\": write %s: for its %s directory", target, target,
		   o->ssh.on || strchr(target, '@') ? "home" : "served");
}

/*
 * Returns the option whose value names an existing file, which was probably meant as an operand.
 * NULL: none.
 */
static const char *taken_by(const struct iw_transfer_opts *o, const char **value)
{
	const struct iw_filter *filter = &o->cfg.filter;
	const struct iw_filter_rule *last = filter->n > 0 ? &filter->rules[filter->n - 1] : NULL;
	const struct {
		const char *option, *value;
	} values[] = {
		{ "--bind", o->cli.bind },
		{ "--interface", o->cli.interface },
		{ last && last->include ? "--include" : "--exclude", last ? last->pattern : NULL },
	};

	for (size_t i = 0; i < IW_ARRAY_LEN(values); i++) {
		*value = values[i].value;
		if (*value && access(*value, F_OK) == 0)
			return values[i].option;
	}
	return NULL;
}

static void too_few(const struct iw_transfer_opts *o, const struct argp_state *state)
{
	const char *option, *value;
	struct iw_endpoint one;

	if (o->nargs == 0)
		argp_error(
			state,
			"no source and no target; expected SOURCE... HOST:[PATH], --listen DIR, or --to URI");
	iw_transfer_endpoint(&one, o->args[0], state);
	if (!one.is_remote)
		argp_error(state,
			   "\"%s\": no target after the source; expected SOURCE... HOST:[PATH]",
			   o->args[0]);
	option = taken_by(o, &value);
	if (option)
		argp_error(
			state,
			"\"%s\": no source before the target, because \"%s\" is the value of %s; expected SOURCE... HOST:[PATH]",
			o->args[0], value, option);
	argp_error(state, "\"%s\": no source before the target; expected SOURCE... HOST:[PATH]",
		   o->args[0]);
}

/* --delete and patterns apply only to names in directories. */
static void check_directories(const struct iw_transfer_opts *o, const struct argp_state *state)
{
	const struct iw_filter *filter = &o->cfg.filter;
	struct stat st;

	for (size_t i = 0; i + 1 < o->nargs; i++) {
		bool is_stream = strcmp(o->args[i], "-") == 0;

		if (!is_stream && (stat(o->args[i], &st) < 0 || S_ISDIR(st.st_mode)))
			return;
	}
	if (o->cfg.opts & IW_XFER_OPT_DELETE)
		argp_error(
			state,
			"--delete needs a directory as source: \"%s\" is not a directory; leave --delete out",
			o->args[0]);
	if (filter->n > 0)
		argp_error(
			state,
			"--%sclude \"%s\" applies to names in a directory: \"%s\" is not a directory, and is sent as named; leave the pattern out",
			filter->rules[0].include ? "in" : "ex", filter->rules[0].pattern,
			o->args[0]);
}

static void check_pusher(struct iw_transfer_opts *o, const struct argp_state *state)
{
	struct iw_endpoint source;
	size_t streams = 0;

	if (o->nargs < 2)
		too_few(o, state);
	iw_transfer_endpoint(&o->peer, o->args[o->nargs - 1], state);
	if (!o->peer.is_remote)
		not_remote(o, state);
	for (size_t i = 0; i + 1 < o->nargs; i++) {
		iw_transfer_endpoint(&source, o->args[i], state);
		if (source.is_remote)
			argp_error(
				state,
				"\"%s\": sources must be local; write ./NAME for a local name with a colon",
				o->args[i]);
		streams += source.is_stdio;
	}
	if (streams > 1)
		argp_error(state, "- is standard input, which can be sent only once");
	check_directories(o, state);
	o->is_stream = streams == 1 && o->nargs == 2;
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
	case KEY_OF_RECEIVER:
		argp_error(state, "%s is an option of ddp-recv, which receives: give it there",
			   state->argv[state->next - 1]);
		return 0;
	case KEY_TO:
		iw_transfer_opts_uri(o, "--to", arg, state);
		return 0;
	case ARGP_KEY_END:
		if (o->ssh.server) {
			iw_transfer_ssh_check(o, state);
			return 0;
		}
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

static const struct argp_child kids[] = { { &iw_transfer_argp, 0, NULL, 0 }, { 0 } };

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "SOURCE... HOST:[PATH]\nSOURCE... USER@HOST:[PATH]\n--listen DIR\n--to URI",
	.doc = "Send files by DDP and RDMAP: the data source of a transfer."
	       "\vSOURCE is a file, a directory with all its contents, or - for standard input; DIR/ stands for the contents of DIR. PATH is"
	       " relative to the directory that the listening ddp-recv serves. If PATH is a directory, files go into it; otherwise PATH"
	       " is the new name, as with scp. With USER@HOST, or with --ssh, ssh starts the ddp-recv at the host, and PATH is relative to"
	       " the user's home directory there.",
	.children = kids,
};

int main(int argc, char **argv)
{
	return iw_transfer_main(argc, argv, &argp, "ddp-send", IW_XFER_SOURCE);
}
