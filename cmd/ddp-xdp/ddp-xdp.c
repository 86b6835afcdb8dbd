// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * ddp-xdp: attaches the XDP programs to an interface, reports their counters, and detaches them.
 */
#include <poll.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/confine.h"
#include "cli/log.h"
#include "cli/option.h"
#include "cli/signals.h"
#include "cli/usage.h"
#include "ddp-xdp/attachment.h"
#include "ddp-xdp/detach.h"
#include "ddp-xdp/internal.h"
#include "loader/interface.h"
#include "util/num.h"
#include "util/text.h"

enum {
	KEY_MODE = 0xb801, /* no character: a long option only */
	KEY_PROGRAM,
	KEY_PIN,
	KEY_FOREGROUND,
	KEY_DISPATCHER,
	KEY_SAMPLE,
	KEY_ASSOCIATIONS,
	KEY_STAGS,
	KEY_INTERVAL,
	KEY_EVENTS,
	KEY_FORCE_CLEAN,
};

#define INTERVAL_MIN IW_MSEC(10)
#define INTERVAL_MAX IW_SEC(3600)
#define ENTRIES_MAX  (1u << 26) /* entries of a map */

static const char *const mode_names[] = { "any", "native", "generic", NULL };

struct opts {
	struct iw_cli *cli;
	/* For `attach`; pins also for `status`. */
	struct iw_attachment_cfg attach;
	/* For `status`. */
	bool again, samples;         /* --interval, --events are given */
	uint64_t interval_ns, count; /* count 0: until a signal */
	/* For `detach`. */
	bool force;
	const char *pins; /* NULL: not given */
};

/*
 * --- options -----------------------------------------------------------------------------------
 */

/* clang-format off */
static const struct argp_option attach_options[] = {
	{ "program", KEY_PROGRAM, "NAME", 0,
	  "steer, which passes packets to -t xdp, or mpa, which watches MPA over TCP (default steer)", 0 },
	{ "mode", KEY_MODE, "MODE", 0,
	  "any, native or generic (default any: native, or generic if the driver has no native mode)", 0 },
	{ "foreground", KEY_FOREGROUND, NULL, 0, "Keep the program until SIGINT or SIGTERM, without a background process", 1 },
	{ "pin", KEY_PIN, "DIR", OPTION_ARG_OPTIONAL,
	  "Keep the program without a process: pin it in DIR on a BPF file system, by default in " IW_XDP_PINS, 1 },
	{ "dispatcher", KEY_DISPATCHER, NULL, 0,
	  "Attach through libxdp's dispatcher, together with other programs; needs /sys/fs/bpf", 1 },
	{ "sample", KEY_SAMPLE, "N", 0, "Report one of N events to status --events (default " IW_CLI_TEXT(IW_XDP_SAMPLE_DEFAULT) ")", 2 },
	{ "associations", KEY_ASSOCIATIONS, "N", 0, "Room for N associations (default " IW_CLI_TEXT(IW_XDP_ASSOCS_DEFAULT) ")", 2 },
	{ "stags", KEY_STAGS, "N", 0, "Room for N STags (default " IW_CLI_TEXT(IW_XDP_STAGS_DEFAULT) ")", 2 },
	{ 0 },
};

static const struct argp_option status_options[] = {
	{ "interval", KEY_INTERVAL, "TIME", 0, "Report again after each TIME, with rates", 0 },
	{ "count", 'c', "N", 0, "End after N reports (default 1; with --interval, until a signal)", 0 },
	{ "events", KEY_EVENTS, NULL, 0, "Report sampled events too; each event goes to one reader only", 0 },
	{ 0 },
};

static const struct argp_option detach_options[] = {
	{ "force-clean", KEY_FORCE_CLEAN, NULL, 0,
	  "Detach any program, even if a process uses it, and remove leftovers of pins and dispatchers", 0 },
	{ "pin", KEY_PIN, "DIR", 0, "Directory where it was pinned (default " IW_XDP_PINS ")", 0 },
	{ 0 },
};
/* clang-format on */

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = o->cli;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "\"%s\": expected options only; name an interface with -I %s",
			   arg, if_nametoindex(arg) ? arg : "NAME");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t need_interface(const struct argp_state *state)
{
	const struct opts *o = state->input;

	if (!o->cli->interface)
		argp_error(state,
			   "no interface given; name it with -I INTERFACE (ip link lists them)");
	return 0;
}

static void set_holder(const struct argp_state *state, struct opts *o,
		       enum iw_attachment_holder holder)
{
	if (o->attach.holder != IW_HELD_BY_PROCESS && o->attach.holder != holder)
		argp_error(state, "--%s and --%s exclude each other; leave out one",
			   iw_attachment_holders[o->attach.holder], iw_attachment_holders[holder]);
	o->attach.holder = holder;
}

static const char *directory(const struct argp_state *state, const char *arg)
{
	if (arg[0] != '/')
		argp_error(state,
			   "--pin \"%s\": not an absolute path; expected one such as " IW_XDP_PINS,
			   arg);
	return arg;
}

/* Returns the name of the first given option that does not apply to --program mpa; NULL: none. */
static const char *for_steer(const struct opts *o)
{
	return o->attach.sample         ? "sample"
	       : o->attach.associations ? "associations"
	       : o->attach.stags        ? "stags"
					: NULL;
}

static error_t parse_attach(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;

	switch (key) {
	case KEY_PROGRAM:
		o->attach.program = (enum iw_attachment_program)iw_cli_enum(state, "--program", arg,
									    iw_attachment_programs);
		return 0;
	case KEY_MODE:
		o->attach.mode = (enum iw_xdp_mode)iw_cli_enum(state, "--mode", arg, mode_names);
		return 0;
	case KEY_FOREGROUND:
		set_holder(state, o, IW_HELD_BY_FOREGROUND);
		return 0;
	case KEY_PIN:
		set_holder(state, o, IW_HELD_BY_PIN);
		if (arg)
			o->attach.pins = directory(state, arg);
		return 0;
	case ARGP_KEY_ARG:
		if (o->attach.holder == IW_HELD_BY_PIN && arg[0] == '/')
			argp_error(
				state,
				"\"%s\": unexpected argument; --pin takes its directory with =: --pin=%s",
				arg, arg);
		return parse_common(key, arg, state);
	case KEY_DISPATCHER:
		set_holder(state, o, IW_HELD_BY_DISPATCHER);
		return 0;
	case KEY_SAMPLE:
		o->attach.sample = (uint32_t)iw_cli_u64(state, "--sample", arg, 1, UINT32_MAX);
		return 0;
	case KEY_ASSOCIATIONS:
		o->attach.associations =
			(uint32_t)iw_cli_u64(state, "--associations", arg, 1, ENTRIES_MAX);
		return 0;
	case KEY_STAGS:
		o->attach.stags = (uint32_t)iw_cli_u64(state, "--stags", arg, 1, ENTRIES_MAX);
		return 0;
	case ARGP_KEY_END:
		if (o->attach.program == IW_ATTACHMENT_MPA &&
		    (o->attach.mode == IW_XDP_GENERIC || o->attach.holder == IW_HELD_BY_DISPATCHER))
			argp_error(state, "--program mpa: needs native mode; leave out %s",
				   o->attach.mode == IW_XDP_GENERIC ? "--mode generic"
								    : "--dispatcher");
		if (o->attach.program == IW_ATTACHMENT_MPA && for_steer(o))
			argp_error(state, "--%s: only for --program steer; leave it out",
				   for_steer(o));
		return need_interface(state);
	default:
		return parse_common(key, arg, state);
	}
}

static error_t parse_status(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;

	switch (key) {
	case KEY_INTERVAL:
		o->interval_ns =
			iw_cli_duration(state, "--interval", arg, INTERVAL_MIN, INTERVAL_MAX);
		o->again = true;
		return 0;
	case 'c':
		o->count = iw_cli_u64(state, "--count", arg, 1, UINT64_MAX);
		return 0;
	case KEY_EVENTS:
		o->samples = true;
		return 0;
	case ARGP_KEY_END:
		if (o->count > 1 && !o->again)
			argp_error(state, "--count: only with --interval; add --interval TIME");
		if (!o->again)
			o->count = 1;
		return 0;
	default:
		return parse_common(key, arg, state);
	}
}

static error_t parse_detach(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;

	switch (key) {
	case KEY_FORCE_CLEAN:
		o->force = true;
		return 0;
	case KEY_PIN:
		o->pins = directory(state, arg);
		return 0;
	case ARGP_KEY_END:
		return need_interface(state);
	default:
		return parse_common(key, arg, state);
	}
}

/*
 * --- commands ----------------------------------------------------------------------------------
 */

static int work_attach(struct opts *o, int *status, struct iw_fault *why)
{
	struct iw_attachment attached;
	int err;

	(void)status;
	o->attach.interface = o->cli->interface;
	err = iw_attachment_create(&attached, &o->attach, why);
	if (!err && o->cli->json)
		err = iw_attachment_json(&o->cli->out, &o->attach, &attached, why);
	else if (!err && !o->cli->quiet)
		iw_attachment_print(&o->attach, &attached);
	if (!err && o->attach.holder == IW_HELD_BY_FOREGROUND)
		err = iw_confine_plain(o->cli, IW_CONFINE_LISTENS, why);
	if (!err && o->attach.holder == IW_HELD_BY_FOREGROUND)
		err = iw_attachment_wait(&attached, o->cli->interface, why);
	iw_attachment_free(&attached);
	return err;
}

static int result_json(struct iw_json *w, uint64_t n, struct iw_fault *why)
{
	iw_json_begin(w, "result");
	iw_json_u64(w, "interfaces", n);
	return iw_status_end_line(w, why);
}

/* Reports as often as requested, or until the process is asked to stop. */
static int report(struct opts *o, struct iw_status *l, size_t n, struct iw_fault *why)
{
	struct pollfd pfd = { .fd = iw_signals_fd(), .events = POLLIN };
	int ms = (int)((o->interval_ns + IW_MSEC(1) - 1) / IW_MSEC(1)), err = 0;

	for (uint64_t reports = 1; !err; reports++) {
		err = iw_status_report(l, n, o->cli->json ? &o->cli->out : NULL, o->samples, why);
		if (reports == o->count || poll(&pfd, 1, ms) > 0)
			break;
	}
	return err;
}

static void warn_of_events(const struct iw_status *l, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!l[i].steer)
			iw_log_warn("%s: no events: only the program steer samples them%s%s",
				    l[i].name, l[i].a.program ? ", not " : "; attach it",
				    l[i].a.program ? l[i].a.name : "");
}

static int work_status(struct opts *o, int *status, struct iw_fault *why)
{
	struct iw_status *l = NULL;
	unsigned ifindex;
	size_t n = 0;
	int err = 0;

	(void)status;
	if (o->cli->interface)
		err = iw_interface_index(&ifindex, o->cli->interface, why);
	if (!err)
		err = iw_status_find(&l, &n, o->cli->interface, o->attach.pins, why);
	if (!err && n == 0 && !o->cli->json && !o->cli->quiet)
		printf("no interface in this network namespace has an XDP program\n");
	if (!err && o->samples)
		warn_of_events(l, n);
	if (!err)
		err = report(o, l, n, why);
	if (!err && o->cli->json)
		err = result_json(&o->cli->out, n, why);
	iw_status_free(l, n);
	return err;
}

/* Reports why nothing was detached. That is exit status 1, not a failure. */
static int refuse(struct iw_cli *cli, const struct iw_fault *why)
{
	iw_log_error("%s", why->text);
	return cli->json && iw_cli_error_event(cli, why, IW_EXIT_NO) != 0 ? IW_EXIT_FAILED
									  : IW_EXIT_NO;
}

static int work_detach(struct opts *o, int *status, struct iw_fault *why)
{
	const char *name = o->cli->interface;
	struct iw_detached d;
	bool done;
	int err = iw_detach_program(&d, &done, name, o->pins, o->force, why);

	if (!err && !done)
		*status = refuse(o->cli, why);
	else if (!err && o->cli->json)
		err = iw_detached_json(&o->cli->out, &d, name, why);
	else if (!err && !o->cli->quiet)
		iw_detached_print(&d, name, o->pins ? o->pins : IW_XDP_PINS);
	return err;
}

/* For --doctor: reports the programs that are attached to interfaces, after the common checks. */
static int doctor_also(struct iw_cli *cli, int status)
{
	struct iw_fault why = { 0 };
	struct iw_status *l = NULL;
	size_t n = 0;

	if (iw_status_find(&l, &n, NULL, IW_XDP_PINS, &why) == 0 &&
	    iw_status_report(l, n, cli->json ? &cli->out : NULL, false, &why) < 0)
		status = IW_EXIT_FAILED;
	iw_status_free(l, n);
	return status;
}

/*
 * The options of all commands. argp tries those of the command itself first, so parse_misplaced
 * sees the options that were given to the wrong command.
 */
static const struct argp_option misplaced_options[] = {
	{ "program", KEY_PROGRAM, "NAME", OPTION_HIDDEN, NULL, 0 },
	{ "mode", KEY_MODE, "MODE", OPTION_HIDDEN, NULL, 0 },
	{ "foreground", KEY_FOREGROUND, NULL, OPTION_HIDDEN, NULL, 0 },
	{ "pin", KEY_PIN, "DIR", OPTION_HIDDEN | OPTION_ARG_OPTIONAL, NULL, 0 },
	{ "dispatcher", KEY_DISPATCHER, NULL, OPTION_HIDDEN, NULL, 0 },
	{ "sample", KEY_SAMPLE, "N", OPTION_HIDDEN, NULL, 0 },
	{ "associations", KEY_ASSOCIATIONS, "N", OPTION_HIDDEN, NULL, 0 },
	{ "stags", KEY_STAGS, "N", OPTION_HIDDEN, NULL, 0 },
	{ "interval", KEY_INTERVAL, "TIME", OPTION_HIDDEN, NULL, 0 },
	{ "count", 'c', "N", OPTION_HIDDEN, NULL, 0 },
	{ "events", KEY_EVENTS, NULL, OPTION_HIDDEN, NULL, 0 },
	{ "force-clean", KEY_FORCE_CLEAN, NULL, OPTION_HIDDEN, NULL, 0 },
	{ 0 },
};

static error_t parse_misplaced(int key, char *arg, struct argp_state *state)
{
	const char *command = key == KEY_INTERVAL || key == 'c' || key == KEY_EVENTS ? "status"
			      : key == KEY_FORCE_CLEAN                               ? "detach"
										     : "attach";

	(void)arg;
	for (const struct argp_option *o = misplaced_options; o->name; o++)
		if (o->key == key) {
			argp_error(state, "--%s: an option of `ddp-xdp %s`", o->name, command);
			return 0;
		}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp misplaced_argp = { .options = misplaced_options,
					    .parser = parse_misplaced };

static const struct argp_child kids[] = {
	{ &iw_cli_interface_argp, 0, "Common options:", -2 },
	{ &misplaced_argp, 0, NULL, 0 },
	{ 0 },
};

static int run(struct iw_cli *cli, int argc, char **argv, const struct argp *argp,
	       int (*work)(struct opts *o, int *status, struct iw_fault *why))
{
	struct opts o = { .cli = cli, .attach = { .pins = IW_XDP_PINS } };
	struct iw_fault why = { 0 };
	int status;

	iw_cli_parse(cli, argp, argc, argv, 0, &o);
	status = iw_cli_start(cli);
	if (status == IW_EXIT_OK && work(&o, &status, &why) != 0)
		status = iw_cli_fail(cli, &why);
	return status;
}

static int cmd_attach(struct iw_cli *cli, int argc, char **argv)
{
	static const struct argp argp = {
		.options = attach_options,
		.parser = parse_attach,
		.doc = "Attach a program to an interface and keep it there, by default with a background process.",
		.children = kids,
	};

	return run(cli, argc, argv, &argp, work_attach);
}

static int cmd_status(struct iw_cli *cli, int argc, char **argv)
{
	static const struct argp argp = {
		.options = status_options,
		.parser = parse_status,
		.doc = "Report which programs are attached, and the counters of those of iwarp-tools.",
		.children = kids,
	};

	return run(cli, argc, argv, &argp, work_status);
}

static int cmd_detach(struct iw_cli *cli, int argc, char **argv)
{
	static const struct argp argp = {
		.options = detach_options,
		.parser = parse_detach,
		.doc = "Detach the program from an interface, unless a process uses it or it is not part of iwarp-tools.",
		.children = kids,
	};

	return run(cli, argc, argv, &argp, work_detach);
}

static const struct iw_command commands[] = {
	{ "attach", cmd_attach, "attach a program and keep it on an interface" },
	{ "status", cmd_status, "report attached programs and their counters" },
	{ "detach", cmd_detach, "detach a program" },
	{ 0 },
};

static const char *const transports[] = { "xdp", NULL };

int main(int argc, char **argv)
{
	struct iw_cli cli;
	int status;

	iw_cli_init(&cli, "ddp-xdp", "xdp");
	cli.transports = transports;
	cli.doctor_also = doctor_also;
	status = iw_cli_command(&cli, commands, &iw_cli_interface_argp,
				"Attach, inspect and detach the XDP programs of iwarp-tools.", argc,
				argv);
	return iw_cli_finish(&cli, status);
}
