// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The progress line: its text, how often it is drawn, and that only a terminal gets it. */
#include "cli/progress.h"

#include <fcntl.h>
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/log.h"
#include "cli/text.h"

#define MS  UINT64_C(1000000)
#define SEC UINT64_C(1000000000)
#define MIB (UINT64_C(1) << 20)

struct terminal {
	int master, slave;
};

static void open_terminal(struct terminal *t, unsigned short columns)
{
	struct winsize size = { .ws_row = 24, .ws_col = columns };
	struct termios raw = { 0 };

	cfmakeraw(&raw);
	assert_int_equal(openpty(&t->master, &t->slave, NULL, &raw, &size), 0);
	assert_int_equal(fcntl(t->master, F_SETFL, O_NONBLOCK), 0);
}

static void close_terminal(struct terminal *t)
{
	close(t->master);
	close(t->slave);
}

/* Returns what the terminal received since the last call. */
static const char *look(const struct terminal *t)
{
	static char buf[65536];
	size_t len = 0;
	ssize_t n;

	while ((n = read(t->master, buf + len, sizeof(buf) - 1 - len)) > 0)
		len += (size_t)n;
	buf[len] = '\0';
	return buf;
}

static void line_has_percentage_octets_rate_and_time_left(void **state)
{
	struct iw_cli_progress p;
	char buf[200];

	(void)state;
	iw_cli_progress_begin(&p, -1, "big.img", 0, 2048 * MIB, 0);
	iw_cli_progress_update(&p, 512 * MIB, SEC);
	iw_cli_progress_line(&p, buf, sizeof(buf), 100, SEC);
	assert_string_equal(buf, "big.img   25%  512.0 MiB of 2.0 GiB  4.3 Gb/s  0:03 left");
	iw_cli_progress_update(&p, 2048 * MIB, 2 * SEC);
	iw_cli_progress_line(&p, buf, sizeof(buf), 100, 4 * SEC);
	assert_string_equal(buf, "big.img  100%  2.0 GiB of 2.0 GiB  4.3 Gb/s");
}

static void unknown_total_shows_octets_and_rate(void **state)
{
	struct iw_cli_progress p;
	char buf[200];

	(void)state;
	iw_cli_progress_begin(&p, -1, NULL, 0, 0, 0);
	iw_cli_progress_update(&p, 125000000, SEC);
	iw_cli_progress_line(&p, buf, sizeof(buf), 100, SEC);
	assert_string_equal(buf, "119.2 MiB  1.0 Gb/s");
}

static void resumed_octets_do_not_count_into_the_rate(void **state)
{
	struct iw_cli_progress p;
	char buf[200];

	(void)state;
	iw_cli_progress_begin(&p, -1, NULL, 1024 * MIB, 2048 * MIB, 0);
	iw_cli_progress_update(&p, 1024 * MIB + 125000, SEC);
	iw_cli_progress_line(&p, buf, sizeof(buf), 100, SEC);
	assert_non_null(strstr(buf, " 50%"));
	assert_non_null(strstr(buf, "1.0 Mb/s"));
}

static void line_never_wraps(void **state)
{
	struct iw_cli_progress p;
	char buf[600];

	(void)state;
	iw_cli_progress_begin(&p, -1, "a/rather/long/path/to/some/gr\xc3\xbc\xc3\x9f\x65.img", 0,
			      2048 * MIB, 0);
	iw_cli_progress_update(&p, 512 * MIB, SEC);
	for (unsigned int columns = 0; columns < 120; columns++) {
		iw_cli_progress_line(&p, buf, sizeof(buf), columns, SEC);
		assert_true(iw_utf8_columns(buf) <= columns);
		assert_true(iw_utf8_valid(buf, strlen(buf)));
	}
	iw_cli_progress_line(&p, buf, sizeof(buf), 70, SEC);
	assert_string_equal(
		buf,
		".../to/some/gr\xc3\xbc\xc3\x9f\x65.img   25%  512.0 MiB of 2.0 GiB  4.3 Gb/s  0:03 left");
	iw_cli_progress_line(&p, buf, sizeof(buf), 30, SEC);
	assert_string_equal(buf, " 25%  512.0 MiB of 2.0 GiB");
}

static void name_from_outside_cannot_control_the_terminal(void **state)
{
	struct iw_cli_progress p;
	char buf[600];

	(void)state;
	iw_cli_progress_begin(&p, -1, "a\033[2Jb\n", 0, 0, 0);
	iw_cli_progress_line(&p, buf, sizeof(buf), 80, SEC);
	assert_non_null(strstr(buf, "a\\x1b[2Jb\\x0a"));
}

static void no_progress_is_drawn_on_a_pipe(void **state)
{
	struct iw_cli_progress p;
	int ends[2];
	char c;

	(void)state;
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	iw_cli_progress_begin(&p, ends[1], "x", 0, 100, 0);
	for (uint64_t i = 1; i <= 100; i++)
		iw_cli_progress_update(&p, i, i * SEC);
	iw_cli_progress_end(&p);
	assert_int_equal(read(ends[0], &c, 1), -1);
	close(ends[0]);
	close(ends[1]);
}

static void terminal_sees_at_most_ten_lines_a_second_and_none_at_the_end(void **state)
{
	struct terminal t;
	struct iw_cli_progress p;
	const char *seen, *last;
	int lines = 0;

	(void)state;
	open_terminal(&t, 80);
	iw_cli_progress_begin(&p, t.slave, "x", 0, 10000, 0);
	assert_string_equal(look(&t), "");
	for (uint64_t i = 1; i < 2000; i++)
		iw_cli_progress_update(&p, i, i * MS);
	seen = look(&t);
	for (const char *c = seen; *c; c++)
		lines += *c == '\r';
	assert_true(lines >= 18 && lines <= 20);
	last = strrchr(seen, '\r');
	assert_non_null(strstr(last, "x   19%"));
	iw_cli_progress_end(&p);
	seen = look(&t);
	/* Carriage return, blanks over the whole line, carriage return. */
	assert_int_equal(seen[0], '\r');
	assert_int_equal(strspn(seen + 1, " "), strlen(last + 1));
	assert_string_equal(seen + 1 + strspn(seen + 1, " "), "\r");
	iw_cli_progress_end(&p);
	assert_string_equal(look(&t), "");
	close_terminal(&t);
}

static void drawn_line_leaves_the_last_column_empty(void **state)
{
	struct iw_cli_progress p;
	struct terminal t;

	(void)state;
	for (unsigned short columns = 1; columns < 90; columns++) {
		const char *seen;

		open_terminal(&t, columns);
		iw_cli_progress_begin(&p, t.slave, "a-name-that-is-rather-long-for-a-file", 0, 1000,
				      0);
		iw_cli_progress_update(&p, 10, SEC);
		seen = look(&t);
		if (columns < 2) {
			assert_string_equal(seen, "");
		} else {
			assert_int_equal(seen[0], '\r');
			assert_true(strlen(seen + 1) < columns);
		}
		iw_cli_progress_end(&p);
		close_terminal(&t);
	}
}

static void shorter_line_covers_the_longer_one_before(void **state)
{
	struct terminal t;
	struct iw_cli_progress p;
	size_t before, after;

	(void)state;
	open_terminal(&t, 80);
	iw_cli_progress_begin(&p, t.slave, "a-long-name", 0, 1000, 0);
	iw_cli_progress_update(&p, 10, SEC);
	before = strlen(look(&t));
	p.what = "b";
	iw_cli_progress_update(&p, 20, 2 * SEC);
	after = strlen(look(&t));
	assert_true(after >= before);
	iw_cli_progress_end(&p);
	close_terminal(&t);
}

static void message_pushes_the_line_away(void **state)
{
	struct terminal t;
	struct iw_cli_progress p;
	int saved = dup(STDERR_FILENO);
	const char *message, *seen;

	(void)state;
	open_terminal(&t, 80);
	iw_log_setup("tool", IW_LOG_WARN);
	iw_cli_progress_begin(&p, t.slave, "x", 0, 1000, 0);
	iw_cli_progress_update(&p, 10, SEC);
	look(&t);
	dup2(t.slave, STDERR_FILENO);
	iw_log_warn("look here");
	dup2(saved, STDERR_FILENO);
	seen = look(&t);
	message = strstr(seen, "tool: warning: look here\n");
	assert_non_null(message);
	/* Before the message the line is only erased. */
	assert_int_equal(strspn(seen, "\r "), message - seen);
	assert_true(message > seen);
	iw_cli_progress_end(&p);
	assert_string_equal(look(&t), "");
	close(saved);
	close_terminal(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_has_percentage_octets_rate_and_time_left),
		cmocka_unit_test(unknown_total_shows_octets_and_rate),
		cmocka_unit_test(resumed_octets_do_not_count_into_the_rate),
		cmocka_unit_test(line_never_wraps),
		cmocka_unit_test(name_from_outside_cannot_control_the_terminal),
		cmocka_unit_test(no_progress_is_drawn_on_a_pipe),
		cmocka_unit_test(terminal_sees_at_most_ten_lines_a_second_and_none_at_the_end),
		cmocka_unit_test(drawn_line_leaves_the_last_column_empty),
		cmocka_unit_test(shorter_line_covers_the_longer_one_before),
		cmocka_unit_test(message_pushes_the_line_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
