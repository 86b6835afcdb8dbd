// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Frames, each with one owner. */
#include "pkt/umem.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/capability.h>

#include <cmocka.h>

#include "os/probe.h"

static int new (struct iw_umem **u, uint32_t frames, uint32_t share, uint32_t size,
		struct iw_fault *why)
{
	const struct iw_umem_cfg cfg = {
		.frames = frames, .share = share, .frame_size = size, .times = 1
	};

	return iw_umem_new(u, &cfg, why);
}

static void every_frame_is_allocated_once_and_returned(void **state)
{
	uint32_t census[IW_FRAME_OWNERS];
	uint64_t addr[64];
	struct iw_umem *u;
	uint64_t seen = 0;

	(void)state;
	assert_int_equal(new (&u, 64, 16, 2048, NULL), 0);
	assert_int_equal(u->frames, 64);
	assert_int_equal(iw_umem_take(u, addr, 100, IW_FRAME_TX), 64);
	assert_int_equal(iw_umem_take(u, addr, 1, IW_FRAME_TX), 0);
	for (int i = 0; i < 64; i++) {
		assert_int_equal(addr[i] % 2048, 0);
		seen |= UINT64_C(1) << iw_umem_frame(u, addr[i]);
		/* All of it is usable memory. */
		memset(iw_umem_at(u, addr[i]), i, 2048);
	}
	assert_true(seen == UINT64_MAX);
	iw_umem_census(u, census);
	assert_int_equal(census[IW_FRAME_TX], 64);
	for (int i = 0; i < 64; i++)
		iw_umem_give(u, addr[i] + 77, IW_FRAME_TX);
	iw_umem_census(u, census);
	assert_int_equal(census[IW_FRAME_FREE], 64);
	iw_umem_free(u);
}

static void frames_that_do_not_fit_give_fewer_shares(void **state)
{
	struct iw_umem *u;

	(void)state;
	assert_int_equal(new (&u, 50, 16, 4096, NULL), 0);
	assert_int_equal(u->frames, 48);
	iw_umem_free(u);
}

/* The limit applies to a process, so a child gets it. */
static void a_low_memlock_limit_gives_fewer_shares_or_an_error_with_the_reason(void **state)
{
	pid_t child;
	int status;

	(void)state;
	if (iw_os_has_cap(CAP_IPC_LOCK) && geteuid() != 0) {
		print_message("# needs root: CAP_IPC_LOCK cannot be given up\n");
		skip();
	}
	child = fork();
	if (child == 0) {
		const struct rlimit two = { 2 * 16 * 2048 + 100, 2 * 16 * 2048 + 100 };
		const struct rlimit none = { 1000, 1000 };
		struct iw_fault why;
		struct iw_umem *u;

		if (geteuid() == 0 && setuid(65534) != 0)
			_exit(2);
		if (setrlimit(RLIMIT_MEMLOCK, &two) != 0)
			_exit(3);
		if (new (&u, 64, 16, 2048, &why) != 0 || u->frames != 32)
			_exit(4);
		iw_umem_free(u);
		if (setrlimit(RLIMIT_MEMLOCK, &none) != 0)
			_exit(5);
		if (new (&u, 64, 16, 2048, &why) != IW_E_LIMIT)
			_exit(6);
		_exit(strstr(why.text, "1000 octets") && strstr(why.text, "ulimit -l 32") ? 0 : 7);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

#ifndef NDEBUG
static void a_frame_freed_twice_is_detected(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0) {
		const struct rlimit no_core = { 0, 0 };
		uint64_t addr;
		struct iw_umem *u;

		(void)setrlimit(RLIMIT_CORE, &no_core);
		(void)signal(SIGABRT, SIG_DFL);
		if (!freopen("/dev/null", "w", stderr) || new (&u, 16, 16, 2048, NULL) != 0 ||
		    iw_umem_take(u, &addr, 1, IW_FRAME_TX) != 1)
			_exit(2);
		iw_umem_give(u, addr, IW_FRAME_TX);
		iw_umem_give(u, addr, IW_FRAME_TX);
		_exit(0);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_frame_is_allocated_once_and_returned),
		cmocka_unit_test(frames_that_do_not_fit_give_fewer_shares),
		cmocka_unit_test(
			a_low_memlock_limit_gives_fewer_shares_or_an_error_with_the_reason),
#ifndef NDEBUG
		cmocka_unit_test(a_frame_freed_twice_is_detected),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
