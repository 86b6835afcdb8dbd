// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The context of a tool: a signal ends its waits, and after a failure one call frees everything. */
#include "cli/context.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "cli/signals.h"
#include "cli_capture.h"
#include "os/os.h"
#include "util/num.h"

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond))                                                                       \
			return __LINE__ & 127;                                                     \
	} while (0)

static const struct iw_ctx_attr attr = { .size = sizeof(attr) };

struct made {
	struct iw_ctx *ctx;
	struct iw_pd *pd;
	struct iw_cq *cq;
	struct iw_fault why;
};

static int make(struct made *m)
{
	*m = (struct made){ .ctx = NULL };
	return iw_cli_context(&m->ctx, &m->pd, &m->cq, &attr, &m->why);
}

/* The signal comes before the wait, so that no interrupted system call ends the wait. */
static int wait_after_signal(const void *arg)
{
	uint64_t began = iw_os_now();
	struct made m;

	(void)arg;
	CHECK(iw_signals_init(&m.why) == 0);
	CHECK(make(&m) == 0);
	raise(SIGTERM);
	CHECK(iw_progress(m.ctx, (int64_t)IW_SEC(10)) == 0);
	CHECK(iw_cq_wait(m.cq, (int64_t)IW_SEC(10)) == 0);
	CHECK(iw_os_now() - began < IW_SEC(5));
	CHECK(iw_cq_free(m.cq) == 0);
	CHECK(iw_pd_free(m.pd) == 0);
	iw_ctx_free(m.ctx);
	return 0;
}

static void a_request_to_stop_ends_every_wait(void **state)
{
	struct capture c;

	(void)state;
	capture_run(&c, wait_after_signal, NULL);
	assert_int_equal(c.status, 0);
}

/* The descriptor of the signals is a file, which epoll refuses. */
static int signals_are_a_file(const void *arg)
{
	struct made m;
	FILE *f = tmpfile();

	(void)arg;
	CHECK(f);
	CHECK(iw_signals_init(&m.why) == 0);
	CHECK(dup2(fileno(f), iw_signals_fd()) >= 0);
	CHECK(make(&m) == IW_E_PERM);
	CHECK(m.why.err == IW_E_PERM && m.why.text[0]);
	CHECK(m.ctx);
	iw_ctx_free(m.ctx);
	fclose(f);
	return 0;
}

static void signals_that_do_not_wake_it_are_an_error(void **state)
{
	struct capture c;

	(void)state;
	capture_run(&c, signals_are_a_file, NULL);
	assert_int_equal(c.status, 0);
}

static int with_few_descriptors(const void *arg)
{
	struct rlimit most;
	unsigned failed = 0;
	struct made m;
	int err;

	(void)arg;
	CHECK(getrlimit(RLIMIT_NOFILE, &most) == 0);
	do {
		struct rlimit few = { 3 + failed, most.rlim_max };

		CHECK(failed < 64);
		CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
		err = make(&m);
		iw_ctx_free(m.ctx);
		CHECK(err == 0 || (m.why.err == err && m.why.text[0] != '\0'));
		failed += err != 0;
	} while (err);
	return failed > 0 ? 0 : 1;
}

static void missing_resource_is_reported_and_nothing_leaks(void **state)
{
	struct capture c;

	(void)state;
	capture_run(&c, with_few_descriptors, NULL);
	assert_int_equal(c.status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_to_stop_ends_every_wait),
		cmocka_unit_test(signals_that_do_not_wake_it_are_an_error),
		cmocka_unit_test(missing_resource_is_reported_and_nothing_leaks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
