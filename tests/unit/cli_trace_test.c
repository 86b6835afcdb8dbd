// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The trace file is complete, or an error is reported. */
#include "cli/trace.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void lines_stand_in_the_file_after_close(void **state)
{
	char path[] = "/tmp/iw-trace-XXXXXX", text[100] = "";
	struct iw_trace_file t;
	struct iw_fault why;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "old text that goes", 18), 18);
	assert_int_equal(iw_cli_trace_open(&t, path, &why), 0);
	iw_cli_trace_line(&t, "{\"a\":1}");
	iw_cli_trace_line(&t, "{\"b\":2}");
	iw_cli_trace_line(&t, "");
	assert_int_equal(iw_cli_trace_close(&t, &why), 0);
	assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text, "{\"a\":1}\n{\"b\":2}\n\n");
	close(fd);
	unlink(path);
}

static void no_trace_takes_lines_and_forgets_them(void **state)
{
	struct iw_trace_file t = { 0 };

	(void)state;
	iw_cli_trace_line(&t, "x");
	assert_int_equal(iw_cli_trace_close(&t, NULL), 0);
	assert_int_equal(iw_cli_trace_close(&t, NULL), 0);
}

static void path_that_cannot_be_opened_is_named(void **state)
{
	struct iw_trace_file t;
	struct iw_fault why = { 0 };

	(void)state;
	assert_int_equal(iw_cli_trace_open(&t, "/nonexistent/iw.jsonl", &why), IW_E_NOENT);
	assert_string_equal(
		why.text,
		"open trace file /nonexistent/iw.jsonl: no such file or directory; create the directory first");
	assert_int_equal(iw_cli_trace_close(&t, &why), 0);
}

static void full_disk_shows_at_close(void **state)
{
	char big[8192];

	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	/* One line is still in the buffer at the end; a thousand are not. */
	for (int lines = 1; lines <= 1000; lines += 999) {
		struct iw_trace_file t;
		struct iw_fault why = { 0 };

		assert_int_equal(iw_cli_trace_open(&t, "/dev/full", &why), 0);
		for (int i = 0; i < lines; i++)
			iw_cli_trace_line(&t, lines == 1 ? "0123456789" : big);
		assert_int_not_equal(iw_cli_trace_close(&t, &why), 0);
		assert_string_equal(
			why.text,
			"write trace file /dev/full: no space left on device; the trace is incomplete, the result is not affected");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_stand_in_the_file_after_close),
		cmocka_unit_test(no_trace_takes_lines_and_forgets_them),
		cmocka_unit_test(path_that_cannot_be_opened_is_named),
		cmocka_unit_test(full_disk_shows_at_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
