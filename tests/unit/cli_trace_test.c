// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The trace file is complete, or an error is reported. */
#include "cli/trace.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

/* The octets of a file behind fd; the caller frees them. */
static char *text_of(int fd)
{
	off_t len = lseek(fd, 0, SEEK_END);
	char *text = calloc(1, (size_t)len + 1);

	assert_non_null(text);
	assert_int_equal(pread(fd, text, (size_t)len, 0), len);
	return text;
}

/* Checks that the last line is trace_end with these numbers; removes it. */
static void assert_end(char *text, unsigned events, unsigned dropped)
{
	char wanted[64], *end = strstr(text, "{\"schema\":1,\"event\":\"trace_end\"");

	snprintf(wanted, sizeof(wanted), ",\"events\":%u,\"dropped\":%u}\n", events, dropped);
	assert_non_null(end);
	assert_string_equal(strstr(end, ",\"events\""), wanted);
	*end = '\0';
}

static void file_has_the_lines_and_their_number_after_close(void **state)
{
	char path[] = "/tmp/iw-trace-XXXXXX", *text;
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
	text = text_of(fd);
	assert_end(text, 3, 0);
	assert_string_equal(text, "{\"a\":1}\n{\"b\":2}\n\n");
	free(text);
	close(fd);
	unlink(path);
}

/* A limit of the file size stands for a full disk. */
static void full_file_ends_with_whole_lines_and_the_number_of_dropped_ones(void **state)
{
	char path[] = "/tmp/iw-trace-XXXXXX", line[1000], *text;
	struct rlimit before, limit;
	struct iw_trace_file t;
	struct iw_fault why;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = (struct rlimit){ 1000500, before.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(iw_cli_trace_open(&t, path, &why), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (int i = 0; i < 3000; i++)
		iw_cli_trace_line(&t, line);
	assert_int_not_equal(iw_cli_trace_close(&t, &why), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_string_equal(
		strchr(why.text, ':'),
		": file too large; the trace is incomplete, the result is not affected; missing events: 2000");
	text = text_of(fd);
	assert_end(text, 1000, 2000);
	assert_int_equal(strlen(text), 1000 * sizeof(line));
	free(text);
	close(fd);
	unlink(path);
}

static void absent_trace_discards_its_lines(void **state)
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
	char big[8192], wanted[256];

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
		snprintf(
			wanted, sizeof(wanted),
			"write trace file /dev/full: no space left on device; the trace is incomplete, the result is not affected; missing events: %d",
			lines);
		assert_string_equal(why.text, wanted);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_has_the_lines_and_their_number_after_close),
		cmocka_unit_test(full_file_ends_with_whole_lines_and_the_number_of_dropped_ones),
		cmocka_unit_test(absent_trace_discards_its_lines),
		cmocka_unit_test(path_that_cannot_be_opened_is_named),
		cmocka_unit_test(full_disk_shows_at_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
