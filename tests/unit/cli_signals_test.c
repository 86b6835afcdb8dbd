// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The first signal asks the process to stop; the second ends it. */
#include "cli/signals.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli_capture.h"

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond))                                                                       \
			return __LINE__ & 127;                                                     \
	} while (0)

static int readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0);
}

static int first_signal(const void *arg)
{
	int sig = *(const int *)arg;
	struct iw_fault why;

	CHECK(iw_signals_fd() == -1);
	CHECK(iw_signals_init(&why) == 0);
	CHECK(readable(iw_signals_fd()) == 0);
	CHECK(iw_signals_stop() == 0);
	errno = EDOM;
	raise(sig);
	CHECK(errno == EDOM);
	CHECK(iw_signals_stop() == sig);
	CHECK(readable(iw_signals_fd()) == 1);
	CHECK(readable(iw_signals_fd()) == 1);
	return 0;
}

static void first_signal_sets_the_flag_and_wakes_the_loop(void **state)
{
	struct capture c;

	(void)state;
	for (int i = 0; i < 2; i++) {
		int sig = (const int[]){ SIGINT, SIGTERM }[i];

		capture_run(&c, first_signal, &sig);
		assert_int_equal(c.status, 0);
	}
}

static int two_signals(const void *arg)
{
	const int *sigs = arg;
	struct iw_fault why;

	CHECK(iw_signals_init(&why) == 0);
	raise(sigs[0]);
	raise(sigs[1]);
	return 0;
}

static void second_signal_of_either_kind_ends_the_process(void **state)
{
	int pairs[][2] = {
		{ SIGINT, SIGINT }, { SIGINT, SIGTERM }, { SIGTERM, SIGTERM }, { SIGTERM, SIGINT }
	};
	struct capture c;

	(void)state;
	for (int i = 0; i < 4; i++) {
		capture_run(&c, two_signals, pairs[i]);
		assert_int_equal(c.status, -pairs[i][1]);
	}
}

static int write_to_closed_pipe(const void *arg)
{
	struct iw_fault why;
	int ends[2];

	(void)arg;
	CHECK(iw_signals_init(&why) == 0);
	CHECK(pipe(ends) == 0);
	close(ends[0]);
	CHECK(write(ends[1], "x", 1) == -1 && errno == EPIPE);
	return 0;
}

static void closed_pipe_is_an_error_without_sigpipe(void **state)
{
	struct capture c;

	(void)state;
	capture_run(&c, write_to_closed_pipe, NULL);
	assert_int_equal(c.status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_signal_sets_the_flag_and_wakes_the_loop),
		cmocka_unit_test(second_signal_of_either_kind_ends_the_process),
		cmocka_unit_test(closed_pipe_is_an_error_without_sigpipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
