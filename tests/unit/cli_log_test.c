// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Messages: their form, their levels, and escapes of text from outside. */
#include "cli/log.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli_capture.h"

static int one_of_each(const void *arg)
{
	iw_log_setup("tool", *(const enum iw_log_level *)arg);
	iw_log_error("connect to %s port %d: refused", "10.0.0.1", 7471);
	iw_log_warn("w");
	iw_log_info("i");
	return 0;
}

static void level_chooses_and_labels(void **state)
{
	static const char *const expected[] = {
		[IW_LOG_ERROR] = "tool: connect to 10.0.0.1 port 7471: refused\n",
		[IW_LOG_WARN] = "tool: connect to 10.0.0.1 port 7471: refused\ntool: warning: w\n",
		[IW_LOG_INFO] =
			"tool: connect to 10.0.0.1 port 7471: refused\ntool: warning: w\ntool: i\n",
	};

	(void)state;
	for (enum iw_log_level level = IW_LOG_ERROR; level <= IW_LOG_INFO; level++) {
		struct capture c;

		capture_run(&c, one_of_each, &level);
		assert_string_equal(c.err, expected[level]);
		assert_string_equal(c.out, "");
		iw_log_setup("tool", level);
		assert_true(iw_log_on(IW_LOG_ERROR));
		assert_int_equal(iw_log_on(IW_LOG_INFO), level == IW_LOG_INFO);
	}
}

static int hostile(const void *arg)
{
	(void)arg;
	iw_log_setup("tool", IW_LOG_WARN);
	iw_log_error("file \"%s\"", "a\033]0;title\007\nfake: message\xff");
	return 0;
}

static void text_from_outside_stays_on_its_line(void **state)
{
	struct capture c;

	(void)state;
	capture_run(&c, hostile, NULL);
	assert_string_equal(c.err, "tool: file \"a\\x1b]0;title\\x07\\x0afake: message\\xff\"\n");
}

static int very_long(const void *arg)
{
	static char text[5000];

	(void)arg;
	memset(text, '\001', sizeof(text) - 1);
	iw_log_setup("tool", IW_LOG_WARN);
	iw_log_error("%s", text);
	memset(text, 't', sizeof(text) - 1);
	iw_log_setup(text, IW_LOG_WARN);
	iw_log_error("x");
	return 0;
}

static void long_message_is_cut_and_still_ends_its_line(void **state)
{
	struct capture c;
	const char *end;

	(void)state;
	capture_run(&c, very_long, NULL);
	end = strchr(c.err, '\n');
	assert_non_null(end);
	assert_int_equal(end - c.err, strlen("tool: ") + 4 * 1023);
	assert_int_equal(c.err[strlen(c.err) - 1], '\n');
}

static void step_aside(void *ctx)
{
	int *calls = ctx;

	++*calls;
}

static void hooks_run_before_and_after_each_written_message(void **state)
{
	int calls = 0;

	(void)state;
	iw_log_setup("tool", IW_LOG_ERROR);
	iw_log_around(step_aside, step_aside, &calls);
	iw_log_warn("not written");
	assert_int_equal(calls, 0);
	iw_log_error("a message of the test");
	assert_int_equal(calls, 2);
	iw_log_around(NULL, NULL, NULL);
}

static void errno_is_left_alone(void **state)
{
	(void)state;
	iw_log_setup("tool", IW_LOG_ERROR);
	errno = EPIPE;
	iw_log_error("a message of the test");
	assert_int_equal(errno, EPIPE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(level_chooses_and_labels),
		cmocka_unit_test(text_from_outside_stays_on_its_line),
		cmocka_unit_test(long_message_is_cut_and_still_ends_its_line),
		cmocka_unit_test(hooks_run_before_and_after_each_written_message),
		cmocka_unit_test(errno_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
