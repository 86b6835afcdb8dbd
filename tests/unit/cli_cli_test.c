// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Start, failure and finish of a tool. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#include <json-c/json.h>

#include "cli/signals.h"
#include "cli_capture.h"
#include "llp/llp.h"

static const struct iw_fault fault = {
	.err = IW_E_DDP_BOUNDS,
	.os_errno = 0,
	.term = IW_TERM(1, 1, 1),
	.from_peer = true,
	.clause = "RFC 5041 7.1",
	.text = "ddp: STag 0x0000beef: TO 0x2000 ends above 0x2000",
};

static int fail_with_json(const void *arg)
{
	struct iw_cli cli;

	iw_cli_init(&cli, "ddp-test", "tcp");
	cli.json = *(const int *)arg;
	if (iw_cli_start(&cli) != IW_EXIT_OK)
		return 99;
	return iw_cli_finish(&cli, iw_cli_fail(&cli, &fault));
}

static void failure_is_reported_with_its_clause(void **state)
{
	struct capture c;
	int json = 0;

	(void)state;
	capture_run(&c, fail_with_json, &json);
	assert_int_equal(c.status, IW_EXIT_NO);
	assert_string_equal(c.out, "");
	assert_string_equal(
		c.err,
		"ddp-test: ddp: STag 0x0000beef: TO 0x2000 ends above 0x2000 (RFC 5041 7.1)\n");
}

static void failure_is_an_event_with_json(void **state)
{
	struct capture c;
	int json = 1;

	(void)state;
	capture_run(&c, fail_with_json, &json);
	assert_int_equal(c.status, IW_EXIT_NO);
	assert_non_null(strstr(c.err, "(RFC 5041 7.1)\n"));
	assert_string_equal(
		c.out,
		"{\"schema\":1,\"event\":\"error\",\"tool\":\"ddp-test\",\"error\":\"DDP_BOUNDS\","
		"\"text\":\"ddp: STag 0x0000beef: TO 0x2000 ends above 0x2000\","
		"\"clause\":\"RFC 5041 7.1\",\"terminate\":{\"layer\":1,\"etype\":1,\"code\":1},"
		"\"from_peer\":true,\"exit_status\":1}\n");
}

static int fail_bare(const void *arg)
{
	struct iw_fault why = { .err = IW_E_OS, .os_errno = ECONNREFUSED };
	struct iw_cli cli;

	(void)arg;
	iw_cli_init(&cli, "ddp-test", "tcp");
	cli.json = true;
	return iw_cli_finish(&cli, iw_cli_fail(&cli, &why));
}

static void failure_without_a_text_gets_that_of_its_error(void **state)
{
	struct capture c;

	(void)state;
	capture_run(&c, fail_bare, NULL);
	assert_int_equal(c.status, IW_EXIT_FAILED);
	assert_string_equal(c.err, "ddp-test: the operating system refused\n");
	assert_non_null(strstr(c.out, "\"errno\":111"));
}

static int check_transport(const void *arg)
{
	struct iw_cli cli;

	iw_cli_init(&cli, "ddp-test", arg);
	cli.json = true;
	return iw_cli_finish(&cli, iw_cli_check_transport(&cli));
}

static void transport_that_cannot_run_ends_with_3_and_a_reason(void **state)
{
	struct capture c;

	(void)state;
	capture_run(&c, check_transport, "tcp");
	assert_int_equal(c.status, 0);
	assert_string_equal(c.err, "");
	for (int i = 0; i < 4; i++) {
		const char *name = (const char *[]){ "sctp", "udp", "raw", "xdp" }[i];

		if (iw_llp_available(name, NULL) == 0)
			continue;
		capture_run(&c, check_transport, name);
		assert_int_equal(c.status, IW_EXIT_CANNOT);
		assert_non_null(strstr(c.err, name));
		assert_non_null(strstr(c.out, "\"event\":\"error\""));
		assert_non_null(strstr(c.out, "\"exit_status\":3"));
	}
}

static int check_without_descriptors(const void *arg)
{
	struct rlimit usual, none;
	int status;

	if (getrlimit(RLIMIT_NOFILE, &usual) < 0)
		return 98;
	none = (struct rlimit){ .rlim_cur = 3, .rlim_max = usual.rlim_max };
	if (setrlimit(RLIMIT_NOFILE, &none) < 0)
		return 98;
	status = check_transport(arg);
	/* A search for leaks, at the exit of a build with sanitizers, needs descriptors. */
	return setrlimit(RLIMIT_NOFILE, &usual) < 0 ? 98 : status;
}

/* The event and the process have the same status. */
static void transport_without_a_free_descriptor_ends_with_4(void **state)
{
	struct capture c;

	(void)state;
	if (iw_llp_available("raw", NULL) != 0) {
		print_message("# needs raw: raw sockets\n");
		skip();
	}
	capture_run(&c, check_without_descriptors, "raw");
	assert_int_equal(c.status, IW_EXIT_FAILED);
	assert_non_null(strstr(c.out, "\"exit_status\":4"));
}

static int start_with_trace(const void *arg)
{
	struct iw_cli cli;
	int status;

	iw_cli_init(&cli, "ddp-test", "tcp");
	cli.trace_path = arg;
	cli.level = IW_LOG_INFO;
	status = iw_cli_start(&cli);
	if (status != IW_EXIT_OK)
		return iw_cli_finish(&cli, status);
	if (!iw_log_on(IW_LOG_INFO) || iw_signals_fd() < 0)
		return 99;
	iw_cli_trace_line(&cli.trace, "{}");
	return iw_cli_finish(&cli, IW_EXIT_OK);
}

static void start_opens_the_trace_and_finish_keeps_it_honest(void **state)
{
	struct capture c;

	(void)state;
	capture_run(&c, start_with_trace, "/dev/null");
	assert_int_equal(c.status, 0);
	capture_run(&c, start_with_trace, "/nonexistent/x");
	assert_int_equal(c.status, IW_EXIT_FAILED);
	assert_string_equal(
		c.err,
		"ddp-test: open trace file /nonexistent/x: no such file or directory; create the directory first\n");
	capture_run(&c, start_with_trace, "/dev/full");
	assert_int_equal(c.status, IW_EXIT_FAILED);
	assert_string_equal(
		c.err,
		"ddp-test: write trace file /dev/full: no space left on device; the trace is incomplete, the result is not affected; missing events: 1\n");
}

static int lose_output(const void *arg)
{
	struct iw_cli cli;
	int fd = open("/dev/full", O_WRONLY);

	iw_cli_init(&cli, "ddp-test", "tcp");
	if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0)
		return 99;
	printf("the result\n");
	return iw_cli_finish(&cli, *(const int *)arg);
}

static void lost_output_turns_success_into_failure(void **state)
{
	static const int rows[][2] = { { 0, 4 }, { 1, 4 }, { 2, 2 }, { 3, 3 }, { 4, 4 } };

	(void)state;
	for (int i = 0; i < 5; i++) {
		int status = rows[i][0];
		struct capture c;

		capture_run(&c, lose_output, &status);
		assert_int_equal(c.status, rows[i][1]);
		assert_string_equal(c.err, "ddp-test: standard output: no space left on device\n");
	}
}

static int close_standard_descriptors(const void *arg)
{
	struct iw_cli cli;
	int fd;

	(void)arg;
	close(0);
	close(1);
	close(2);
	iw_cli_init(&cli, "ddp-test", "tcp");
	fd = dup(0);
	return fd >= 3 && fcntl(0, F_GETFD) >= 0 && fcntl(1, F_GETFD) >= 0 && fcntl(2, F_GETFD) >= 0
		       ? 42
		       : 99;
}

static void closed_standard_descriptors_are_filled(void **state)
{
	struct capture c;

	(void)state;
	capture_run(&c, close_standard_descriptors, NULL);
	assert_int_equal(c.status, 42);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failure_is_reported_with_its_clause),
		cmocka_unit_test(failure_is_an_event_with_json),
		cmocka_unit_test(failure_without_a_text_gets_that_of_its_error),
		cmocka_unit_test(transport_that_cannot_run_ends_with_3_and_a_reason),
		cmocka_unit_test(transport_without_a_free_descriptor_ends_with_4),
		cmocka_unit_test(start_opens_the_trace_and_finish_keeps_it_honest),
		cmocka_unit_test(lost_output_turns_success_into_failure),
		cmocka_unit_test(closed_standard_descriptors_are_filled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
