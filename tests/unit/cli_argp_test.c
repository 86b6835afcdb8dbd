// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The common options of a small tool: what they set, and the messages for wrong ones. */
#include "cli/cli.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/option.h"
#include "cli_capture.h"

struct opts {
	struct iw_cli cli;
	uint64_t count, size, duration, rate;
	uint16_t port;
	size_t mode;
	const char *arg;
};

static const char *const modes[] = { "write", "read", "send", NULL };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->cli;
		return 0;
	case 'c':
		o->count = iw_cli_u64(state, "--count", arg, 1, 1000);
		return 0;
	case 's':
		o->size = iw_cli_size(state, "--size", arg, 1, 1 << 20);
		return 0;
	case 'd':
		o->duration = iw_cli_duration(state, "--time", arg, 1000000, UINT64_MAX);
		return 0;
	case 'r':
		o->rate = iw_cli_rate(state, "--rate", arg, 1000, 100000000000);
		return 0;
	case 'P':
		o->port = iw_cli_port(state, "--udp-port", arg, 1);
		return 0;
	case 'm':
		o->mode = iw_cli_enum(state, "--mode", arg, modes);
		return 0;
	case ARGP_KEY_ARG:
		o->arg = arg;
		return 0;
	case ARGP_KEY_END:
		if (!o->arg)
			argp_error(state, "a HOST is missing");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{ "count", 'c', "N", 0, "How many", 0 },
	{ "size", 's', "SIZE", 0, "How large", 0 },
	{ "time", 'd', "TIME", 0, "How long", 0 },
	{ "rate", 'r', "RATE", 0, "How fast", 0 },
	{ "udp-port", 'P', "PORT", 0, "Where", 0 },
	{ "mode", 'm', "MODE", 0, "Which way", 0 },
	{ 0 },
};

static const struct argp_child kids[] = { { &iw_cli_argp, 0, "Common options:", -1 }, { 0 } };

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "HOST",
	.doc = "A tool for a test.",
	.children = kids,
};

static struct opts parsed(const char *const *args)
{
	struct opts o = { 0 };
	char **argv;
	int argc;

	argv = capture_argv("./dir/ddp-test", args, &argc);
	iw_cli_init(&o.cli, "ddp-test", "tcp");
	argp_parse(&argp, argc, argv, 0, NULL, &o);
	return o;
}

static int parse_in_child(const void *arg)
{
	struct opts o = parsed(arg);

	return o.arg ? 0 : 77;
}

static void defaults_are_those_of_the_manual(void **state)
{
	struct opts o = parsed(ARGV("host"));

	(void)state;
	assert_string_equal(o.cli.tool, "ddp-test");
	assert_string_equal(o.cli.transport, "tcp");
	assert_int_equal(o.cli.port, 7471);
	assert_null(o.cli.bind);
	assert_null(o.cli.interface);
	assert_null(o.cli.trace_path);
	assert_true(o.cli.timeout_ns == UINT64_C(30000000000));
	assert_true(o.cli.setup_timeout_ns == UINT64_C(10000000000));
	assert_false(o.cli.json || o.cli.quiet || o.cli.doctor);
	assert_int_equal(o.cli.level, IW_LOG_WARN);
	assert_string_equal(o.arg, "host");
}

static void short_and_long_options_set_the_same(void **state)
{
	struct opts a = parsed(ARGV("-t", "udp", "-p0", "-b", "::1", "-Ieth0", "-v", "host"));
	struct opts b = parsed(ARGV("--transport=udp", "--port=0", "--bind=::1", "--interface=eth0",
				    "--verbose", "host"));

	(void)state;
	assert_string_equal(a.cli.transport, "udp");
	assert_string_equal(b.cli.transport, "udp");
	assert_int_equal(a.cli.port, 0);
	assert_int_equal(b.cli.port, 0);
	assert_string_equal(a.cli.bind, b.cli.bind);
	assert_string_equal(a.cli.interface, b.cli.interface);
	assert_int_equal(a.cli.level, IW_LOG_INFO);
	assert_int_equal(b.cli.level, IW_LOG_INFO);
	a = parsed(ARGV("--json", "--timeout", "1.5", "--trace", "/tmp/x", "-q", "host"));
	assert_true(a.cli.json && a.cli.quiet);
	assert_true(a.cli.timeout_ns == 1500000000 && a.cli.setup_timeout_ns == 1500000000);
	assert_string_equal(a.cli.trace_path, "/tmp/x");
	assert_int_equal(a.cli.level, IW_LOG_ERROR);
	assert_int_equal(parsed(ARGV("-v", "host")).cli.level, IW_LOG_INFO);
	assert_int_equal(parsed(ARGV("-vv", "host")).cli.level, IW_LOG_INFO);
}

static void tool_options_are_read_by_kind(void **state)
{
	struct opts o = parsed(ARGV("-c7", "-s64K", "-d2m", "-r10M", "-P9899", "-msend", "host"));

	(void)state;
	assert_int_equal(o.count, 7);
	assert_int_equal(o.size, 65536);
	assert_true(o.duration == UINT64_C(120000000000));
	assert_int_equal(o.rate, 10000000);
	assert_int_equal(o.port, 9899);
	assert_int_equal(o.mode, 2);
}

static void bad_values_end_with_2_and_name_option_text_and_range(void **state)
{
	static const struct {
		const char *args[4];
		const char *message;
	} rows[] = {
		{ { "-c", "12abc" },
		  "ddp-test: --count \"12abc\": text after the number; expected a number from 1 to 1000\n" },
		{ { "--count=" },
		  "ddp-test: --count \"\": empty; expected a number from 1 to 1000\n" },
		{ { "-c", "-1" }, "ddp-test: --count \"-1\": a sign is not allowed; expected" },
		{ { "-c0" }, "ddp-test: --count \"0\": too small; expected" },
		{ { "-c1001" }, "ddp-test: --count \"1001\": too large; expected" },
		{ { "-c99999999999999999999999" },
		  ": too large; expected a number from 1 to 1000" },
		{ { "-s2M" },
		  "ddp-test: --size \"2M\": too large; expected octets, such as 4096 or 64K, from 1 to 1M\n" },
		{ { "-d", "0" },
		  "ddp-test: --time \"0\": too small; expected a time, such as 500ms, 10s or 7d, of at least 1ms\n" },
		{ { "-r", "fast" },
		  "ddp-test: --rate \"fast\": not a number; expected bits per second, such as 10M or 2.5G, from 1K to 100G\n" },
		{ { "-P", "0" },
		  "ddp-test: --udp-port \"0\": too small; expected a port from 1 to 65535\n" },
		{ { "-P", "65536" },
		  "ddp-test: --udp-port \"65536\": too large; expected a port from 1 to 65535\n" },
		{ { "-m", "wri" },
		  "ddp-test: --mode \"wri\": unknown name; expected one of write, read, send\n" },
		{ { "-t", "tcpx" },
		  "ddp-test: --transport \"tcpx\": unknown name; expected one of tcp, sctp, udp, raw, xdp\n" },
		{ { "-p", "65536" },
		  "ddp-test: --port \"65536\": too large; expected a port from 1 to 65535\n" },
		{ { "--bind=" }, "ddp-test: --bind \"\": empty" },
		{ { "-I", "a-name-of-sixteen" },
		  "ddp-test: --interface \"a-name-of-sixteen\": not an interface name; expected 1 to 15 characters" },
		{ { "--timeout", "0" },
		  "ddp-test: --timeout \"0\": too small; expected a time, such as 500ms, 10s or 2m, from 1ms to 1d\n" },
		{ { "--trace", "-" }, "ddp-test: --trace \"-\": standard output is for results" },
		{ { "--trace=" }, "ddp-test: --trace \"\": empty" },
		{ { "-c", "1\033[2J\n" },
		  "ddp-test: --count \"1\\x1b[2J\\x0a\": text after the number" },
		{ { "--no-such" }, "unrecognized option '--no-such'" },
		{ { "--ti=1" }, "option '--ti=1' is ambiguous" },
		{ { "-Z" }, "invalid option -- 'Z'" },
		{ { "--count" }, "option '--count' requires an argument" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct capture c;

		capture_run(&c, parse_in_child, rows[i].args);
		if (c.status != 2 || !strstr(c.err, rows[i].message))
			fail_msg("row %zu: status %d, \"%s\"", i, c.status, c.err);
		assert_string_equal(c.out, "");
	}
}

static void missing_argument_is_a_usage_error(void **state)
{
	struct capture c;

	(void)state;
	capture_run(&c, parse_in_child, ARGV("-v"));
	assert_int_equal(c.status, 2);
	assert_non_null(strstr(c.err, "ddp-test: a HOST is missing\n"));
	assert_non_null(strstr(c.err, "--help"));
}

static void help_lists_the_common_options_under_their_header(void **state)
{
	static const char *const lines[] = {
		"Usage: ddp-test [OPTION...] HOST\n",
		" Common options:\n",
		"-b, --bind=ADDR",
		"-I, --interface=NAME",
		"-p, --port=PORT",
		"-q, --quiet",
		"-t, --transport=NAME",
		"-v, --verbose",
		"--timeout=TIME",
		"--json",
		"--trace=FILE",
		"--doctor",
		"-V, --version",
		"-?, --help",
		"--usage",
		"(default tcp)",
	};
	struct capture c;

	(void)state;
	capture_run(&c, parse_in_child, ARGV("--help"));
	assert_int_equal(c.status, 0);
	assert_string_equal(c.err, "");
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (!strstr(c.out, lines[i]))
			fail_msg("no \"%s\" in\n%s", lines[i], c.out);
	/* The tool's own options come before the common ones. */
	assert_true(strstr(c.out, "--count") < strstr(c.out, "Common options:"));
	assert_true(strstr(c.out, "--doctor") > strstr(c.out, "Common options:"));
	for (const char *line = c.out; *line; line = strchr(line, '\n') + 1)
		assert_true(strchr(line, '\n') - line <= 100);
}

static void usage_and_version_go_to_standard_output(void **state)
{
	struct capture c;

	(void)state;
	capture_run(&c, parse_in_child, ARGV("--usage"));
	assert_int_equal(c.status, 0);
	assert_non_null(strstr(c.out, "Usage: ddp-test"));
	capture_run(&c, parse_in_child, ARGV("-V"));
	assert_int_equal(c.status, 0);
	assert_string_equal(c.out, "ddp-test (iwarp-tools) " IW_VERSION "\n");
	assert_string_equal(c.err, "");
}

static void unambiguous_abbreviations_are_taken(void **state)
{
	struct opts o = parsed(ARGV("--transp=raw", "--timeo=5", "--js", "host"));

	(void)state;
	assert_string_equal(o.cli.transport, "raw");
	assert_true(o.cli.timeout_ns == UINT64_C(5000000000));
	assert_true(o.cli.json);
}

static void options_may_follow_arguments_and_dashes_end_them(void **state)
{
	struct opts o = parsed(ARGV("host", "--json"));

	(void)state;
	assert_true(o.cli.json);
	o = parsed(ARGV("--", "--json"));
	assert_false(o.cli.json);
	assert_string_equal(o.arg, "--json");
}

static void doctor_runs_without_the_required_argument(void **state)
{
	struct capture c;

	(void)state;
	capture_run(&c, parse_in_child, ARGV("--doctor"));
	assert_int_equal(c.status, 0);
	assert_non_null(strstr(c.out, "transport tcp"));
	assert_non_null(strstr(c.out, "ddp-test -t tcp can run here.\n"));
	assert_string_equal(c.err, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_those_of_the_manual),
		cmocka_unit_test(short_and_long_options_set_the_same),
		cmocka_unit_test(tool_options_are_read_by_kind),
		cmocka_unit_test(bad_values_end_with_2_and_name_option_text_and_range),
		cmocka_unit_test(missing_argument_is_a_usage_error),
		cmocka_unit_test(help_lists_the_common_options_under_their_header),
		cmocka_unit_test(usage_and_version_go_to_standard_output),
		cmocka_unit_test(unambiguous_abbreviations_are_taken),
		cmocka_unit_test(options_may_follow_arguments_and_dashes_end_them),
		cmocka_unit_test(doctor_runs_without_the_required_argument),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
