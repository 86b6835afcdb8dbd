// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * stag-reg: registers Tagged Buffers in a running ddp-recv, advertises, lists, watches and revokes
 * them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/option.h"
#include "cli/parse.h"
#include "cli/usage.h"
#include "os/addr.h"
#include "stag-reg/admin.h"
#include "stag-reg/print.h"
#include "stag-reg/uri.h"
#include "stag-reg/watch.h"
#include "util/num.h"

#define INTERVAL_MIN IW_MSEC(10)
#define INTERVAL_MAX IW_SEC(60) /* below IW_MANAGER_IDLE, after which a manager drops a client */

enum {
	KEY_CONTROL = 0xb001, /* no character: long only */
	KEY_SIZE,
	KEY_ACCESS,
	KEY_RANGE,
	KEY_PD,
	KEY_STREAM,
	KEY_EXPIRES,
	KEY_USES,
	KEY_NO_KEY,
	KEY_HOST,
	KEY_SHELL,
	KEY_URI,
	KEY_ALL,
	KEY_INTERVAL,
};

struct opts {
	struct iw_cli *cli;
	struct iw_manager_admin admin;
	struct iw_manager_print print;
	/* add */
	const char *file;
	bool has_size, has_range;
	struct iw_manager_request add;
	/* show, watch, revoke */
	uint32_t *stags;
	size_t nstags;
	bool all;
	struct iw_manager_watch_cfg watch;
};

/* --- options and parsers of several commands --- */

/* clang-format off */
static const struct argp_option control_options[] = {
	{ "control", KEY_CONTROL, "PATH", 0,
	  "Control socket of the server (default $XDG_RUNTIME_DIR/iwarp/recv-PORT.sock, or in /run/iwarp without that variable)", 0 },
	{ 0 },
};

static const struct argp_option advert_options[] = {
	{ "host", KEY_HOST, "NAME", 0,
	  "Host in the Advertisement (default: the address that the server listens on, or the name of this host)", 1 },
	{ "shell", KEY_SHELL, NULL, 0, "Print the Advertisement as assignments of IW_STAG, IW_URI and others, for eval", 1 },
	{ "uri", KEY_URI, NULL, 0, "Print the Advertisement as one URI", 1 },
	{ 0 },
};
/* clang-format on */

static error_t parse_control(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;

	if (key != KEY_CONTROL)
		return ARGP_ERR_UNKNOWN;
	if (!*arg)
		argp_error(state,
			   "--control \"\": empty; expected the path of the socket of ddp-recv");
	if (strcmp(arg, "none") == 0)
		argp_error(
			state,
			"--control none: only for ddp-recv, which then has no socket; expected the path of its socket");
	o->admin.path = arg;
	return 0;
}

static void set_form(struct opts *o, enum iw_manager_form form, const struct argp_state *state)
{
	if (o->print.form != IW_MANAGER_FORM_TEXT && o->print.form != form)
		argp_error(state, "--json, --shell and --uri: use only one of them");
	o->print.form = form;
}

static error_t parse_advert(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;

	switch (key) {
	case KEY_HOST:
		if (!iw_manager_host_valid(arg))
			argp_error(state, "--host \"%s\": expected a name or an address", arg);
		o->print.host = arg;
		return 0;
	case KEY_SHELL:
		set_form(o, IW_MANAGER_FORM_SHELL, state);
		return 0;
	case KEY_URI:
		set_form(o, IW_MANAGER_FORM_URI, state);
		return 0;
	case ARGP_KEY_END:
		if (o->print.form != IW_MANAGER_FORM_TEXT && o->cli->json)
			argp_error(state, "--json, --shell and --uri: use only one of them");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp control_argp = { .options = control_options, .parser = parse_control };
static const struct argp advert_argp = { .options = advert_options, .parser = parse_advert };

/*
 * Options that the command does not have, or that precede it: the error says where they belong.
 * argp tries the options of the command itself first.
 */
/* clang-format off */
static const struct argp_option misplaced_options[] = {
	{ "size", KEY_SIZE, "N", OPTION_HIDDEN, NULL, 0 },
	{ "access", KEY_ACCESS, "r|w|rw", OPTION_HIDDEN, NULL, 0 },
	{ "range", KEY_RANGE, "OFF:LEN", OPTION_HIDDEN, NULL, 0 },
	{ "pd", KEY_PD, "NAME", OPTION_HIDDEN, NULL, 0 },
	{ "stream", KEY_STREAM, "ID", OPTION_HIDDEN, NULL, 0 },
	{ "expires", KEY_EXPIRES, "TIME", OPTION_HIDDEN, NULL, 0 },
	{ "uses", KEY_USES, "N", OPTION_HIDDEN, NULL, 0 },
	{ "no-key", KEY_NO_KEY, NULL, OPTION_HIDDEN, NULL, 0 },
	{ "host", KEY_HOST, "NAME", OPTION_HIDDEN, NULL, 0 },
	{ "shell", KEY_SHELL, NULL, OPTION_HIDDEN, NULL, 0 },
	{ "uri", KEY_URI, NULL, OPTION_HIDDEN, NULL, 0 },
	{ "interval", KEY_INTERVAL, "TIME", OPTION_HIDDEN, NULL, 0 },
	{ "count", 'c', "N", OPTION_HIDDEN, NULL, 0 },
	{ "all", KEY_ALL, NULL, OPTION_HIDDEN, NULL, 0 },
	{ "control", KEY_CONTROL, "PATH", OPTION_HIDDEN, NULL, 0 },
	{ 0 },
};
/* clang-format on */

static const char *command_of(int key)
{
	switch (key) {
	case KEY_HOST:
	case KEY_SHELL:
	case KEY_URI:
		return "an option of `stag-reg add` and `stag-reg show`";
	case KEY_INTERVAL:
	case 'c':
		return "an option of `stag-reg watch`";
	case KEY_ALL:
		return "an option of `stag-reg revoke`";
	case KEY_CONTROL:
		return "it follows the command, as in `stag-reg list --control PATH`";
	default:
		return "an option of `stag-reg add`";
	}
}

static error_t parse_misplaced(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	for (const struct argp_option *o = misplaced_options; o->name; o++)
		if (o->key == key) {
			argp_error(state, "--%s: %s", o->name, command_of(key));
			return 0;
		}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp misplaced_argp = { .options = misplaced_options,
					    .parser = parse_misplaced };

static const struct argp_child plain_kids[] = { { &control_argp, 0, NULL, 0 },
						{ &iw_cli_control_argp, 0, "Common options:", -1 },
						{ &misplaced_argp, 0, NULL, 0 },
						{ 0 } };
static const struct argp_child advert_kids[] = { { &control_argp, 0, NULL, 0 },
						 { &advert_argp, 0, NULL, 1 },
						 { &iw_cli_control_argp, 0, "Common options:", -1 },
						 { &misplaced_argp, 0, NULL, 0 },
						 { 0 } };

/* Parses eight hexadecimal digits, as in the URI, with or without 0x. */
static uint32_t parse_stag(const struct argp_state *state, const char *arg)
{
	const char *digits = strncmp(arg, "0x", 2) == 0 ? arg + 2 : arg;
	char *end;
	unsigned long v;

	if (strlen(digits) != 8 || strspn(digits, "0123456789abcdefABCDEF") != 8)
		argp_error(state,
			   "\"%s\": expected an STag of eight hexadecimal digits, such as 0000beef;"
			   " stag-reg list shows them",
			   arg);
	v = strtoul(digits, &end, 16);
	if (v == 0)
		argp_error(state, "STag %s: 0 is not an STag", arg);
	return (uint32_t)v;
}

static void add_stag(struct opts *o, const struct argp_state *state, const char *arg)
{
	uint32_t *stags = reallocarray(o->stags, o->nstags + 1, sizeof(*stags));

	if (!stags)
		argp_failure(state, IW_EXIT_FAILED, 0, "no memory for the arguments");
	o->stags = stags;
	o->stags[o->nstags++] = parse_stag(state, arg);
}

static error_t parse_stags(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;

	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	add_stag(o, state, arg);
	return 0;
}

static int no_such(uint32_t stag)
{
	iw_log_error(
		"STag %08x: not registered, revoked, expired or used up; stag-reg list shows the buffers",
		stag);
	return IW_EXIT_NO;
}

/* The work of a command. Sets *status to the exit status for the answer. */
typedef int work_fn(struct opts *o, int *status, struct iw_fault *why);

static int run(struct iw_cli *cli, int argc, char **argv, const struct argp *argp, work_fn *work)
{
	struct opts o = { .cli = cli,
			  .admin = { .fd = -1 },
			  .add = { .op = IW_MANAGER_ADD, .access = IW_CLAIM_READ },
			  .watch = { .interval_ns = IW_SEC(1) } };
	struct iw_fault why = { 0 };
	int status;

	iw_cli_parse(cli, argp, argc, argv, 0, &o);
	o.admin.port = cli->port;
	o.admin.timeout_ns = cli->timeout_ns;
	o.print.json = cli->json ? &cli->out : NULL;
	status = iw_cli_start(cli);
	if (status == IW_EXIT_OK && work(&o, &status, &why) != 0)
		status = iw_cli_fail(cli, &why);
	iw_manager_admin_close(&o.admin);
	free(o.stags);
	return status;
}

/* --- add --- */

/* clang-format off */
static const struct argp_option add_options[] = {
	{ "size", KEY_SIZE, "N", 0, "Register N octets of new memory, all zeros, instead of a file", 0 },
	{ "access", KEY_ACCESS, "r|w|rw", 0, "What peers may do: read, write or both (default r)", 0 },
	{ "range", KEY_RANGE, "OFF:LEN", 0, "Register this part of the file; without LEN, to its end", 0 },
	{ "pd", KEY_PD, "NAME", 0,
	  "Protection domain, which all buffers with this name share (default: one of its own)", 0 },
	{ "stream", KEY_STREAM, "ID", 0, "Only for this connection, by its number from show or watch --json", 0 },
	{ "expires", KEY_EXPIRES, "TIME", 0, "Revoke it after this time, such as 30s, 10m or 2h", 0 },
	{ "uses", KEY_USES, "N", 0, "Revoke it after N operations", 0 },
	{ "no-key", KEY_NO_KEY, NULL, 0, "Admit every peer that names the STag, without a key", 0 },
	{ 0 },
};
/* clang-format on */

static void parse_range(struct opts *o, const struct argp_state *state, const char *arg)
{
	const char *colon = strchr(arg, ':');
	char off[32];

	if (!colon || colon - arg >= (int)sizeof(off))
		argp_error(state,
			   "--range \"%s\": expected OFF:LEN or OFF:, such as 0:4096 or 4K:", arg);
	snprintf(off, sizeof(off), "%.*s", (int)(colon - arg), arg);
	o->add.off = *off ? iw_cli_size(state, "--range", off, 0, IW_MANAGER_OCTETS_MAX) : 0;
	o->add.len = colon[1] ? iw_cli_size(state, "--range", colon + 1, 1, IW_MANAGER_OCTETS_MAX)
			      : 0;
	if (o->add.off > INT64_MAX - o->add.len)
		argp_error(state, "--range \"%s\": ends above 2^63 - 1", arg);
}

static void check_add(struct opts *o, const struct argp_state *state)
{
	if (!o->file && !o->has_size)
		argp_error(state, "expected FILE, or --size N");
	if (o->file && o->has_size)
		argp_error(state, "--size is for new memory; use --range for a part of a file");
	if (o->has_size && o->has_range)
		argp_error(state, "--range is for files, not for --size");
	if (*o->add.domain && o->add.stream)
		argp_error(state, "--pd and --stream: use only one of them");
}

static error_t parse_add(int key, char *arg, struct argp_state *state)
{
	static const char *const access[] = { "r", "w", "rw", NULL };
	struct opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = o;
		state->child_inputs[1] = o;
		state->child_inputs[2] = o->cli;
		return 0;
	case KEY_SIZE:
		o->has_size = o->add.memory = true;
		o->add.len = iw_cli_size(state, "--size", arg, 1, IW_MANAGER_OCTETS_MAX);
		return 0;
	case KEY_ACCESS:
		o->add.access = (unsigned)iw_cli_enum(state, "--access", arg, access) + 1;
		return 0;
	case KEY_RANGE:
		o->has_range = true;
		parse_range(o, state, arg);
		return 0;
	case KEY_PD:
		if (!iw_manager_name_valid(arg, strlen(arg)))
			argp_error(state, "--pd \"%s\": expected 1 to %u letters, digits, . _ or -",
				   arg, IW_MANAGER_NAME_MAX);
		snprintf(o->add.domain, sizeof(o->add.domain), "%s", arg);
		return 0;
	case KEY_STREAM:
		o->add.stream = (uint32_t)iw_cli_u64(state, "--stream", arg, 1, UINT32_MAX);
		return 0;
	case KEY_EXPIRES:
		o->add.lifetime_ms = iw_cli_duration(state, "--expires", arg, IW_MSEC(1),
						     IW_SEC(UINT64_C(366) * 86400)) /
				     IW_MSEC(1);
		return 0;
	case KEY_USES:
		o->add.uses = (uint32_t)iw_cli_u64(state, "--uses", arg, 1, IW_MANAGER_USES_MAX);
		return 0;
	case KEY_NO_KEY:
		o->add.open = true;
		return 0;
	case ARGP_KEY_ARG:
		if (o->file && iw_cli_is_port(arg))
			argp_error(state, "\"%s\": expected one file; give the port with -p %s",
				   arg, arg);
		if (o->file)
			argp_error(state, "\"%s\": a second file after \"%s\"; expected one", arg,
				   o->file);
		o->file = arg;
		return 0;
	case ARGP_KEY_END:
		check_add(o, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp add_argp = {
	.options = add_options,
	.parser = parse_add,
	.args_doc = "FILE\n--size N",
	.doc = "Register a file, or new memory, and print its Advertisement.",
	.children = advert_kids,
};

/* This is only a warning, because peers may read parts of the buffer. */
static void warn_of_uses(const struct iw_manager_buffer *b)
{
	const uint64_t all = iw_uri_operations(b->len);

	if (b->uses && b->uses < all && b->access & IW_CLAIM_READ)
		iw_log_warn(
			"STag %08x: --uses %u is less than the %llu operations that reading the whole buffer takes, one for each MiB",
			b->stag, b->uses, (unsigned long long)all);
}

static void warn_of_loopback(const struct opts *o, const struct iw_manager_buffer *b)
{
	struct iw_addr a;

	if (!o->print.host && iw_addr_parse(&a, b->host, b->port) == 0 && iw_addr_is_loopback(&a))
		iw_log_warn(
			"STag %08x: the URI works on this machine only; start ddp-recv with --bind for others",
			b->stag);
}

static int work_add(struct opts *o, int *status, struct iw_fault *why)
{
	struct iw_manager_buffer b;
	int err;

	if (o->print.host)
		snprintf(o->add.host, sizeof(o->add.host), "%s", o->print.host);
	err = iw_manager_admin_add(&o->admin, &o->add, o->file, &b, why);
	if (!err) {
		warn_of_uses(&b);
		warn_of_loopback(o, &b);
	}

	(void)status;
	return err ? err : iw_manager_print_advert(&o->print, &b, why);
}

static int cmd_add(struct iw_cli *cli, int argc, char **argv)
{
	return run(cli, argc, argv, &add_argp, work_add);
}

/* --- list --- */

static error_t parse_list(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;

	if (key == ARGP_KEY_ARG && iw_cli_is_port(arg))
		argp_error(state, "\"%s\": expected options only; give the port with -p %s", arg,
			   arg);
	if (key == ARGP_KEY_ARG)
		argp_error(state,
			   "\"%s\": expected options only; use `stag-reg show STAG` for one buffer",
			   arg);
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = o;
	state->child_inputs[1] = o->cli;
	return 0;
}

static const struct argp list_argp = {
	.parser = parse_list,
	.doc = "List the registered buffers.",
	.children = plain_kids,
};

static int work_list(struct opts *o, int *status, struct iw_fault *why)
{
	struct iw_manager_list list = { .p = &o->print };
	struct iw_manager_reply r;
	int more = 0, err = iw_manager_admin_list(&o->admin, 0, false, why);

	(void)status;
	while (!err && (more = iw_manager_admin_next(&o->admin, &r, why)) > 0)
		err = iw_manager_list_add(&list, &r, why);
	err = iw_manager_list_end(&list, more < 0 ? more : err, why);
	return err || !o->cli->json ? err
				    : iw_manager_print_result(&o->print, "buffers", r.count, why);
}

static int cmd_list(struct iw_cli *cli, int argc, char **argv)
{
	return run(cli, argc, argv, &list_argp, work_list);
}

/* --- show --- */

static error_t parse_show(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = o;
		state->child_inputs[1] = o;
		state->child_inputs[2] = o->cli;
		return 0;
	case ARGP_KEY_END:
		if (o->nstags != 1)
			argp_error(state, "%s; expected one; stag-reg list shows them",
				   o->nstags ? "more than one STag given" : "no STag given");
		return 0;
	default:
		return parse_stags(key, arg, state);
	}
}

static const struct argp show_argp = {
	.parser = parse_show,
	.args_doc = "STAG",
	.doc = "Show one buffer: its Advertisement with the key, and its peers.",
	.children = advert_kids,
};

/* Prints the buffer and then its peers; as a URI or as assignments, only the buffer. */
static int work_show(struct opts *o, int *status, struct iw_fault *why)
{
	struct iw_manager_list peers = { .p = &o->print };
	struct iw_manager_reply r;
	int more = 0, err = iw_manager_admin_list(&o->admin, o->stags[0],
						  o->print.form == IW_MANAGER_FORM_TEXT, why);

	while (!err && (more = iw_manager_admin_next(&o->admin, &r, why)) > 0) {
		if (r.kind == IW_MANAGER_BUFFER && o->print.form == IW_MANAGER_FORM_URI)
			warn_of_loopback(o, &r.buffer);
		err = r.kind == IW_MANAGER_BUFFER
			      ? iw_manager_print_advert(&o->print, &r.buffer, why)
			      : iw_manager_list_add(&peers, &r, why);
	}
	err = iw_manager_list_end(&peers, more < 0 ? more : err, why);
	if (!err && r.count == 0)
		*status = no_such(o->stags[0]);
	return err;
}

static int cmd_show(struct iw_cli *cli, int argc, char **argv)
{
	return run(cli, argc, argv, &show_argp, work_show);
}

/* --- watch --- */

/* clang-format off */
static const struct argp_option watch_options[] = {
	{ "interval", KEY_INTERVAL, "TIME", 0, "Time between two queries (default 1s)", 0 },
	{ "count", 'c', "N", 0, "Exit after N queries (default: no limit)", 0 },
	{ 0 },
};
/* clang-format on */

static error_t parse_watch(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;

	switch (key) {
	case KEY_INTERVAL:
		o->watch.interval_ns =
			iw_cli_duration(state, "--interval", arg, INTERVAL_MIN, INTERVAL_MAX);
		return 0;
	case 'c':
		o->watch.count = iw_cli_u64(state, "--count", arg, 1, UINT64_MAX);
		return 0;
	case ARGP_KEY_INIT:
		return parse_list(key, arg, state);
	case ARGP_KEY_END:
		if (o->nstags > 1)
			argp_error(state, "%zu STags given; expected one, or none for all buffers",
				   o->nstags);
		return 0;
	default:
		return parse_stags(key, arg, state);
	}
}

static const struct argp watch_argp = {
	.options = watch_options,
	.parser = parse_watch,
	.args_doc = "[STAG]",
	.doc = "Report what peers do, until interrupted or until the buffer is revoked.",
	.children = plain_kids,
};

static int work_watch(struct opts *o, int *status, struct iw_fault *why)
{
	bool found;
	int err;

	o->watch.stag = o->nstags ? o->stags[0] : 0;
	err = iw_manager_watch(&o->admin, &o->print, &o->watch, &found, why);
	if (!err && !found)
		*status = no_such(o->watch.stag);
	return err;
}

static int cmd_watch(struct iw_cli *cli, int argc, char **argv)
{
	return run(cli, argc, argv, &watch_argp, work_watch);
}

/* --- revoke --- */

/* clang-format off */
static const struct argp_option revoke_options[] = {
	{ "all", KEY_ALL, NULL, 0, "Revoke every buffer", 0 },
	{ 0 },
};
/* clang-format on */

static error_t parse_revoke(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;

	switch (key) {
	case KEY_ALL:
		o->all = true;
		return 0;
	case ARGP_KEY_INIT:
		return parse_list(key, arg, state);
	case ARGP_KEY_END:
		if (o->all && o->nstags > 0)
			argp_error(state, "--all and STags exclude each other: use one of them");
		if (!o->all && o->nstags == 0)
			argp_error(
				state,
				"no STag given; expected STags, or --all; stag-reg list shows them");
		return 0;
	default:
		return parse_stags(key, arg, state);
	}
}

static const struct argp revoke_argp = {
	.options = revoke_options,
	.parser = parse_revoke,
	.args_doc = "STAG...\n--all",
	.doc = "Revoke buffers. When it returns, nothing more is placed in them or read from them.",
	.children = plain_kids,
};

static int work_revoke(struct opts *o, int *status, struct iw_fault *why)
{
	uint64_t revoked = 0, one;
	int err = o->all ? iw_manager_admin_revoke(&o->admin, 0, &revoked, why) : 0;

	for (size_t i = 0; !err && i < o->nstags; i++) {
		err = iw_manager_admin_revoke(&o->admin, o->stags[i], &one, why);
		revoked += one;
		if (!err && one == 0)
			*status = no_such(o->stags[i]);
	}
	if (err || (o->cli->quiet && !o->cli->json))
		return err;
	return iw_manager_print_result(&o->print, "revoked", revoked, why);
}

static int cmd_revoke(struct iw_cli *cli, int argc, char **argv)
{
	return run(cli, argc, argv, &revoke_argp, work_revoke);
}

/* --- commands --- */

static const struct iw_command commands[] = {
	{ "add", cmd_add, "register a file or new memory, and print its Advertisement" },
	{ "list", cmd_list, "list the registered buffers" },
	{ "show", cmd_show, "show one buffer with its peers" },
	{ "watch", cmd_watch, "report what peers do, as it happens" },
	{ "revoke", cmd_revoke, "revoke buffers: nothing more is placed or read" },
	{ 0 },
};

static error_t parse_root(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = state->input;
	return 0;
}

static const struct argp_child root_kids[] = { { &iw_cli_control_argp, 0, NULL, 0 },
					       { &misplaced_argp, 0, NULL, 0 },
					       { 0 } };
static const struct argp root_argp = { .parser = parse_root, .children = root_kids };

/* The tool opens no connection: it uses the control socket of a ddp-recv on this machine. */
static const char *const no_transports[] = { NULL };

int main(int argc, char **argv)
{
	struct iw_cli cli;
	int status;

	iw_cli_init(&cli, "stag-reg", "tcp");
	cli.transports = no_transports;
	status = iw_cli_command(
		&cli, commands, &root_argp,
		"Register Tagged Buffers in a running ddp-recv, for ddp-send --to and ddp-recv --from.",
		argc, argv);
	return iw_cli_finish(&cli, status);
}
