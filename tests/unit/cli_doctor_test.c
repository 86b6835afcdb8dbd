// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* --doctor: complete, the same as text and as JSON, and right about the chosen transport. */
#include "cli/doctor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <json-c/json.h>

#include "cli/cli.h"
#include "cli_capture.h"
#include "llp/llp.h"
#include "loader/steer.h"
#include "util/text.h"

static const struct iw_check *find(const struct iw_doctor *d, const char *subject)
{
	for (size_t i = 0; i < d->n; i++)
		if (strcmp(d->checks[i].subject, subject) == 0)
			return &d->checks[i];
	fail_msg("no check of %s", subject);
	return NULL;
}

static void every_transport_and_fact_has_a_check(void **state)
{
	static const char *const subjects[] = {
		"transport tcp",
		"transport sctp",
		"transport udp",
		"transport raw",
		"transport xdp",
		"kernel",
		"kernel SCTP",
		"raw IP sockets",
		"AF_XDP sockets",
		"UDP segmentation offload",
		"BPF programs",
		"BPF file system",
		"steering program",
		"XDP dispatcher",
		"locked memory",
		"open files",
		"receive buffer",
		"send buffer",
		"congestion control",
		"IPv6",
		"clock",
		"CRC32c",
	};
	struct iw_doctor d;
	struct iw_cli cli;

	(void)state;
	iw_cli_init(&cli, "ddp-test", "tcp");
	iw_doctor_examine(&d, &cli);
	assert_int_equal(d.n, sizeof(subjects) / sizeof(subjects[0]));
	for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++)
		assert_true(find(&d, subjects[i])->seen[0] != '\0');
}

static int not_here(struct iw_fault *why)
{
	return iw_fail(why, IW_E_NOTSUP, "gnuplot: not installed");
}

static void needs_gnuplot(struct iw_doctor *d)
{
	assert_false(iw_doctor_probe(d, "gnuplot", not_here, "install it"));
}

static bool has(const struct iw_doctor *d, const char *subject)
{
	for (size_t i = 0; i < d->n; i++)
		if (strcmp(d->checks[i].subject, subject) == 0)
			return true;
	return false;
}

static void the_doctor_checks_what_the_tool_needs(void **state)
{
	static const char *const none[] = { NULL }, *const tcp[] = { "tcp", NULL };
	struct iw_doctor d;
	struct iw_cli cli;

	(void)state;
	iw_cli_init(&cli, "ddp-test", "tcp");
	cli.transports = tcp;
	iw_doctor_examine(&d, &cli);
	assert_true(has(&d, "transport tcp") && has(&d, "congestion control"));
	assert_false(has(&d, "transport udp") || has(&d, "AF_XDP sockets") ||
		     has(&d, "BPF programs"));
	assert_true(d.can_run);

	cli.transports = none;
	cli.doctor_needs = needs_gnuplot;
	iw_doctor_examine(&d, &cli);
	assert_false(has(&d, "transport tcp") || has(&d, "congestion control"));
	assert_true(has(&d, "kernel") && d.can_run && !d.transport);
	assert_string_equal(find(&d, "gnuplot")->seen, "not installed");
	assert_string_equal(find(&d, "gnuplot")->advice, "install it");
	assert_int_equal(find(&d, "gnuplot")->verdict, IW_VERDICT_NO);
}

static int can_run(const char *transport, struct iw_fault *why)
{
	int err = iw_llp_look(transport, why);
	uint32_t insns;

	/* It needs a program, which the kernel or a user namespace may refuse. */
	return err || strcmp(transport, "xdp") != 0 ? err : iw_steer_try(&insns, why);
}

static void chosen_transport_decides(void **state)
{
	(void)state;
	for (const char *const *name = iw_llp_names(); *name; name++) {
		struct iw_fault why = { 0 };
		int err = can_run(*name, &why);
		const struct iw_check *c;
		struct iw_doctor d;
		struct iw_cli cli;
		char subject[40];

		iw_cli_init(&cli, "ddp-test", *name);
		iw_doctor_examine(&d, &cli);
		snprintf(subject, sizeof(subject), "transport %s", *name);
		c = find(&d, subject);
		assert_int_equal(d.can_run, err == 0);
		assert_int_equal(c->verdict, err ? IW_VERDICT_NO : IW_VERDICT_OK);
		if (err) {
			/* The reason does not repeat the subject. */
			assert_non_null(strstr(why.text, c->seen));
			assert_int_not_equal(strncmp(c->seen, "transport", 9), 0);
		}
	}
}

static int run_human(const void *arg)
{
	struct iw_cli cli;

	iw_cli_init(&cli, "ddp-test", arg);
	return iw_cli_finish(&cli, iw_cli_doctor(&cli, stdout));
}

static int run_json(const void *arg)
{
	struct iw_cli cli;

	iw_cli_init(&cli, "ddp-test", arg);
	cli.json = true;
	return iw_cli_finish(&cli, iw_cli_doctor(&cli, stdout));
}

static void status_reports_whether_the_transport_can_run(void **state)
{
	struct capture c;

	(void)state;
	for (const char *const *t = iw_llp_names(); *t; t++) {
		int expected = can_run(*t, NULL) == 0 ? IW_EXIT_OK : IW_EXIT_CANNOT;

		capture_run(&c, run_human, *t);
		assert_int_equal(c.status, expected);
		capture_run(&c, run_json, *t);
		assert_int_equal(c.status, expected);
	}
}

static void text_and_json_have_the_same_facts(void **state)
{
	struct capture human, json;
	struct json_object *o, *v, *seen;
	int checks = 0, results = 0;
	char *line, *save = NULL;

	(void)state;
	capture_run(&human, run_human, "tcp");
	capture_run(&json, run_json, "tcp");
	for (line = strtok_r(json.out, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		o = json_tokener_parse(line);
		assert_non_null(o);
		assert_true(json_object_object_get_ex(o, "event", &v));
		if (strcmp(json_object_get_string(v), "check") == 0) {
			checks++;
			assert_true(json_object_object_get_ex(o, "subject", &v));
			assert_non_null(strstr(human.out, json_object_get_string(v)));
			assert_true(json_object_object_get_ex(o, "seen", &seen));
			assert_non_null(strstr(human.out, json_object_get_string(seen)));
			assert_true(json_object_object_get_ex(o, "verdict", &v));
		} else {
			assert_string_equal(json_object_get_string(v), "result");
			results++;
			assert_true(json_object_object_get_ex(o, "can_run", &v));
			assert_true(json_object_get_boolean(v));
		}
		json_object_put(o);
	}
	assert_int_equal(checks, 22);
	assert_int_equal(results, 1);
}

static int run_to_full(const void *arg)
{
	FILE *f = fopen("/dev/full", "w");
	struct iw_cli cli;

	iw_cli_init(&cli, "ddp-test", "tcp");
	if (!f || dup2(fileno(f), STDOUT_FILENO) < 0)
		return 99;
	cli.json = *(const int *)arg;
	return iw_cli_finish(&cli, iw_cli_doctor(&cli, stdout));
}

static void an_answer_that_cannot_be_written_is_a_failure(void **state)
{
	struct capture c;

	(void)state;
	for (int json = 0; json < 2; json++) {
		capture_run(&c, run_to_full, &json);
		assert_int_equal(c.status, IW_EXIT_FAILED);
		assert_string_equal(c.err, "ddp-test: standard output: no space left on device\n");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_transport_and_fact_has_a_check),
		cmocka_unit_test(the_doctor_checks_what_the_tool_needs),
		cmocka_unit_test(chosen_transport_decides),
		cmocka_unit_test(status_reports_whether_the_transport_can_run),
		cmocka_unit_test(text_and_json_have_the_same_facts),
		cmocka_unit_test(an_answer_that_cannot_be_written_is_a_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
