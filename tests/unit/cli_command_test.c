// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Subcommands: options before and after the command, help, and unknown commands. */
#include "cli/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli_capture.h"

static error_t parse_attach(int key, char *arg, struct argp_state *state)
{
	struct iw_cli *cli = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = cli;
		return 0;
	case ARGP_KEY_ARG:
		printf("arg %s\n", arg);
		return 0;
	case 'f':
		printf("force\n");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int run_attach(struct iw_cli *cli, int argc, char **argv)
{
	static const struct argp_child kids[] = { { &iw_cli_argp, 0, "Common options:", -1 },
						  { 0 } };
	static const struct argp_option options[] = { { "force", 'f', NULL, 0, "By force", 0 },
						      { 0 } };
	static const struct argp argp = { .options = options,
					  .parser = parse_attach,
					  .children = kids };

	printf("%s\n", argv[0]);
	argp_parse(&argp, argc, argv, 0, NULL, cli);
	printf("port %u json %d\n", cli->port, cli->json);
	return 1;
}

static int run_list(struct iw_cli *cli, int argc, char **argv)
{
	(void)cli;
	(void)argv;
	return argc;
}

static const struct iw_command table[] = {
	{ "attach", run_attach, "attach the program" },
	{ "list", run_list, "list what is attached" },
	{ 0 },
};

static int run(const void *arg)
{
	struct iw_cli cli;
	char **argv;
	int argc;

	argv = capture_argv("/usr/bin/ddp-test", arg, &argc);
	iw_cli_init(&cli, "ddp-test", "tcp");
	return iw_cli_command(&cli, table, &iw_cli_argp, "Does things.", argc, argv);
}

static void command_gets_its_arguments_and_the_common_options(void **state)
{
	struct capture c;

	(void)state;
	capture_run(&c, run, ARGV("-p", "5", "attach", "-f", "eth0", "--json", "list"));
	assert_string_equal(c.out, "ddp-test attach\nforce\narg eth0\narg list\nport 5 json 1\n");
	assert_int_equal(c.status, 1);
	capture_run(&c, run, ARGV("attach", "-p6", "eth0"));
	assert_string_equal(c.out, "ddp-test attach\narg eth0\nport 6 json 0\n");
	capture_run(&c, run, ARGV("list", "--whatever", "x"));
	assert_int_equal(c.status, 3);
}

static void messages_name_the_command(void **state)
{
	struct capture c;

	(void)state;
	capture_run(&c, run, ARGV("attach", "--no-such"));
	assert_int_equal(c.status, 2);
	assert_non_null(strstr(c.err, "ddp-test attach: unrecognized option '--no-such'"));
	assert_non_null(strstr(c.err, "ddp-test attach --help"));
}

static void unknown_and_missing_commands_are_usage_errors(void **state)
{
	struct capture c;

	(void)state;
	capture_run(&c, run, ARGV("atach\n"));
	assert_int_equal(c.status, 2);
	assert_non_null(strstr(
		c.err,
		"ddp-test: \"atach\\x0a\": no such command; expected one of attach, list\n"));
	capture_run(&c, run, ARGV("-v"));
	assert_int_equal(c.status, 2);
	assert_non_null(strstr(c.err, "ddp-test: no command given; expected one of "));
	capture_run(&c, run, ARGV("-f", "attach"));
	assert_int_equal(c.status, 2);
}

static void help_lists_the_commands(void **state)
{
	struct capture c;

	(void)state;
	capture_run(&c, run, ARGV("--help"));
	assert_int_equal(c.status, 0);
	assert_non_null(
		strstr(c.out, "Usage: ddp-test [OPTION...] COMMAND [ARG...]\nDoes things.\n"));
	assert_non_null(strstr(c.out, "  attach       attach the program\n"));
	assert_non_null(strstr(c.out, "  list         list what is attached\n"));
	assert_non_null(strstr(c.out, " Common options:\n"));
	capture_run(&c, run, ARGV("attach", "--help"));
	assert_int_equal(c.status, 0);
	assert_non_null(strstr(c.out, "--force"));
}

static void doctor_needs_no_command(void **state)
{
	struct capture c;

	(void)state;
	capture_run(&c, run, ARGV("--doctor"));
	assert_int_equal(c.status, 0);
	assert_non_null(strstr(c.out, "transport tcp"));
	capture_run(&c, run, ARGV("attach", "--doctor"));
	assert_int_equal(c.status, 0);
	assert_non_null(strstr(c.out, "transport tcp"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(command_gets_its_arguments_and_the_common_options),
		cmocka_unit_test(messages_name_the_command),
		cmocka_unit_test(unknown_and_missing_commands_are_usage_errors),
		cmocka_unit_test(help_lists_the_commands),
		cmocka_unit_test(doctor_needs_no_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
