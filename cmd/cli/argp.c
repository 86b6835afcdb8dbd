// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The common options, as argp children: for tools that open connections, and for tools that do not.
 */
#include "cli/cli.h"

#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/config.h"
#include "cli/doctor.h"
#include "cli/option.h"
#include "cli/text.h"
#include "cli/usage.h"
#include "llp/llp.h"
#include "util/num.h"

enum {
	KEY_TIMEOUT = 0x8001, /* no character: long only; below argp's own from 0x1000000 */
	KEY_JSON,
	KEY_TRACE,
	KEY_DOCTOR,
	KEY_NO_CONFIG,
};

#define TIMEOUT_MIN IW_MSEC(1)
#define TIMEOUT_MAX IW_SEC(24 * 3600)

/* clang-format off */
static const struct argp_option connection_options[] = {
	{ "transport", 't', "NAME", 0, "Transport: tcp, sctp, udp, raw or xdp", 0 },
	{ "port", 'p', "PORT", 0,
	  "TCP or SCTP port (default 7471); 0 lets the system choose one to listen on", 0 },
	{ "bind", 'b', "ADDR", 0,
	  "Local address; * is every address; without it a listener accepts only connections from this machine", 0 },
	{ "interface", 'I', "NAME", 0, "Use this network interface only", 0 },
	{ "timeout", KEY_TIMEOUT, "TIME", 0,
	  "Give up after this long without progress, such as 500ms, 10s or 2m"
	  " (default 30s, and 10s while a connection is set up)", 0 },
	{ "trace", KEY_TRACE, "FILE", 0,
	  "Write every protocol event to FILE, one JSON object per line", 0 },
	{ 0 },
};

static const struct argp_option interface_options[] = {
	{ "interface", 'I', "NAME", 0, "The network interface", 0 },
	{ 0 },
};

static const struct argp_option control_options[] = {
	{ "port", 'p', "PORT", 0, "Port of the listener (default 7471), which selects its control socket", 0 },
	{ "timeout", KEY_TIMEOUT, "TIME", 0,
	  "Give up when the listener has not answered for this long, such as 500ms or 10s (default 30s)", 0 },
	{ 0 },
};

static const struct argp_option report_options[] = {
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0 }, /* argp's own name is -? */
	{ "json", KEY_JSON, NULL, 0, "Write results as JSON, one object per line", 0 },
	{ "verbose", 'v', NULL, 0, "Report more", 0 },
	{ "quiet", 'q', NULL, 0, "Report only errors", 0 },
	{ "doctor", KEY_DOCTOR, NULL, 0,
	  "Report what this machine can run, what it cannot and why, then exit", 0 },
	{ "no-config", KEY_NO_CONFIG, NULL, 0, "Do not read the configuration files", 0 },
	{ 0 },
};
/* clang-format on */

bool iw_cli_is_transport(const char *name)
{
	for (const char *const *n = iw_llp_names(); *n; n++)
		if (strcmp(*n, name) == 0)
			return true;
	return false;
}

static const char *interface_name(const struct argp_state *state, const char *arg)
{
	if (arg[0] == '\0' || strlen(arg) >= IF_NAMESIZE || strpbrk(arg, "/:"))
		argp_error(
			state,
			"--interface \"%s\": not an interface name; expected 1 to %d characters without a slash or colon",
			arg, IF_NAMESIZE - 1);
	return arg;
}

static const char *not_empty(const struct argp_state *state, const char *option, const char *arg,
			     const char *expected)
{
	if (arg[0] == '\0')
		argp_error(state, "%s \"\": empty; expected %s", option, expected);
	return arg;
}

/* An IPv6 address has at least two colons. */
static const char *address(const struct argp_state *state, const char *arg)
{
	const char *colon = strchr(arg, ':');
	char shown[100];

	iw_printable(shown, sizeof(shown), arg, strlen(arg), true);
	if (strchr(arg, '/') || (colon && !strchr(colon + 1, ':')))
		argp_error(
			state,
			"--bind \"%s\": not an address of this machine; expected an address, a host name or *; was the value of -b left out?",
			shown);
	return not_empty(state, "--bind", arg, "an address, a host name or *");
}

static const char *trace_file(const struct argp_state *state, const char *arg)
{
	if (strcmp(arg, "-") == 0)
		argp_error(
			state,
			"--trace \"-\": standard output is for results; expected the name of a file");
	return not_empty(state, "--trace", arg, "the name of a file");
}

static error_t set_option(int key, char *arg, struct argp_state *state, struct iw_cli *cli)
{
	const char *const *names = iw_llp_names();

	switch (key) {
	case 't':
		/* iperf3 users write -t SECONDS. */
		if (strcmp(cli->tool, "ddp-bench") == 0 && arg[0] >= '0' && arg[0] <= '9')
			argp_error(
				state,
				"-t %s: -t names a transport; the length of the measurement is given with --time",
				arg);
		/* The tool itself rejects a transport that it does not support, with a reason. */
		if (cli->transports && !iw_cli_is_transport(arg))
			names = cli->transports;
		cli->transport = names[iw_cli_enum(state, "--transport", arg, names)];
		cli->transport_given = true;
		return 0;
	case 'p':
		/*
		 * 0 is only for listeners, as --help explains: the message for other values omits
		 * it.
		 */
		cli->port = iw_cli_port(state, "--port", arg, strcmp(arg, "0") != 0);
		cli->port_given = true;
		return 0;
	case 'b':
		cli->bind = address(state, arg);
		return 0;
	case 'I':
		if (cli->interface && strcmp(cli->interface, arg) != 0)
			argp_error(
				state,
				"--interface %s and --interface %s exclude each other; leave out one",
				cli->interface, arg);
		cli->interface = interface_name(state, arg);
		return 0;
	case KEY_TIMEOUT:
		cli->timeout_ns =
			iw_cli_duration(state, "--timeout", arg, TIMEOUT_MIN, TIMEOUT_MAX);
		cli->setup_timeout_ns = cli->timeout_ns;
		cli->timeout_given = true;
		return 0;
	case 'h':
		argp_state_help(state, state->out_stream, ARGP_HELP_STD_HELP);
		return 0;
	case KEY_JSON:
		cli->json = true;
		return 0;
	case 'v':
		cli->level = IW_LOG_INFO;
		cli->quiet = false;
		return 0;
	case 'q':
		cli->level = IW_LOG_ERROR;
		cli->quiet = true;
		return 0;
	case KEY_TRACE:
		cli->trace_path = trace_file(state, arg);
		return 0;
	case KEY_DOCTOR:
		cli->doctor = true;
		return 0;
	case KEY_NO_CONFIG:
		/* Has had its effect before the parse: iw_cli_config_apply. */
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	if (key == ARGP_KEY_INIT) {
		state->child_inputs[0] = state->input;
		return 0;
	}
	return set_option(key, arg, state, state->input);
}

static error_t parse_report(int key, char *arg, struct argp_state *state)
{
	struct iw_cli *cli = state->input;
	int status;

	switch (key) {
	case ARGP_KEY_END:
		/* argp calls children first, so the parser has not yet missed an argument. */
		if (!cli->doctor)
			return 0;
		if (iw_cli_config_trial())
			exit(IW_EXIT_OK);
		iw_cli_parsed();
		status = iw_cli_doctor(cli, stdout);
		if (cli->doctor_also)
			status = cli->doctor_also(cli, status);
		exit(iw_cli_finish(cli, status));
	default:
		return set_option(key, arg, state, cli);
	}
}

/* The transports of the tool, and its default. */
static char *transport_help(const struct iw_cli *cli)
{
	const char *const *names = cli->transports ? cli->transports : iw_llp_names();
	size_t size = 0;
	char *out = NULL;
	FILE *f = open_memstream(&out, &size);

	if (!f)
		return NULL;
	fputs("Transport: ", f);
	for (size_t i = 0; names[i]; i++)
		fprintf(f, "%s%s", i == 0 ? "" : names[i + 1] ? ", " : " or ", names[i]);
	if (names[1])
		fprintf(f, " (default %s)", cli->transport);
	if (fclose(f) != 0) {
		free(out);
		return NULL;
	}
	return out;
}

/* Options that have a special meaning in one tool. */
static const struct {
	const char *tool;
	int key;
	const char *text;
} own_help[] = {
	{ "ddp-bench", 'q', "Report only results and errors; a server: only errors" },
	{ "ddp-dump", 'q', "Leave out the summary" },
	{ "mpa-probe", 'q', "Report only the result and errors" },
	{ "sctp-ddp-ping", 'q', "Report only statistics and errors" },
	{ "mpa-probe", 'p', "TCP port (default 7471); 0 lets the system choose one to listen on" },
	{ "mpa-probe", KEY_TIMEOUT,
	  "Time limit of each probe (default 5s; 500ms on loopback); rping and a listener: give up"
	  " after this long without progress (default 30s)" },
};

static const char *own_text(const struct iw_cli *cli, int key)
{
	for (size_t i = 0; i < IW_ARRAY_LEN(own_help); i++)
		if (own_help[i].key == key && strcmp(own_help[i].tool, cli->tool) == 0)
			return own_help[i].text;
	return NULL;
}

static char *help_filter(int key, const char *text, void *input)
{
	const char *own = input ? own_text(input, key) : NULL;
	char *out = NULL;

	if (own)
		out = strdup(own);
	else if (key == 't' && input)
		out = transport_help(input);
	return out ? out : (char *)(uintptr_t)text;
}

const struct argp iw_cli_report_argp = { .options = report_options,
					 .parser = parse_report,
					 .help_filter = help_filter };

/* Without a header of its own, so that --help shows its options among those of the parent. */
static const struct argp_child report[] = { { &iw_cli_report_argp, 0, NULL, 0 }, { 0 } };

const struct argp iw_cli_argp = {
	.options = connection_options,
	.parser = parse,
	.children = report,
	.help_filter = help_filter,
};

const struct argp iw_cli_interface_argp = {
	.options = interface_options,
	.parser = parse,
	.children = report,
};

const struct argp iw_cli_control_argp = {
	.options = control_options,
	.parser = parse,
	.children = report,
};
