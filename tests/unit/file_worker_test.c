// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The second thread: order, the descriptor that tells of it, and its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <unistd.h>

#include "file/worker.h"

#define TASKS 100

struct number {
	struct iw_task task;
	int n;
	pthread_t by;
};

static void note(struct iw_task *t)
{
	struct number *x = iw_container_of(t, struct number, task);

	x->n *= 2;
	x->by = pthread_self();
}

static bool readable(const struct iw_worker *w)
{
	struct pollfd p = { .fd = iw_worker_fd(w), .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static void tasks_come_back_done_and_in_order(void **state)
{
	struct number x[TASKS];
	struct iw_worker w;

	(void)state;
	assert_int_equal(iw_worker_init(&w), 0);
	assert_null(iw_worker_take(&w));
	for (int i = 0; i < TASKS; i++) {
		x[i] = (struct number){ .task.run = note, .n = i };
		iw_worker_give(&w, &x[i].task);
	}
	for (int i = 0; i < TASKS; i++) {
		assert_ptr_equal(iw_worker_await(&w), &x[i].task);
		assert_int_equal(x[i].n, 2 * i);
		assert_false(pthread_equal(x[i].by, pthread_self()));
	}
	assert_null(iw_worker_take(&w));
	assert_false(readable(&w));
	iw_worker_fini(&w);
}

static void the_descriptor_is_readable_until_all_are_taken(void **state)
{
	struct number x[2] = { { .task.run = note }, { .task.run = note } };
	struct pollfd p;
	struct iw_worker w;

	(void)state;
	assert_int_equal(iw_worker_init(&w), 0);
	assert_false(readable(&w));
	iw_worker_give(&w, &x[0].task);
	iw_worker_give(&w, &x[1].task);
	p = (struct pollfd){ .fd = iw_worker_fd(&w), .events = POLLIN };
	assert_int_equal(poll(&p, 1, 5000), 1);
	assert_ptr_equal(iw_worker_await(&w), &x[0].task);
	assert_ptr_equal(iw_worker_await(&w), &x[1].task);
	assert_false(readable(&w));
	iw_worker_fini(&w);
}

static void the_end_runs_what_was_given(void **state)
{
	struct number x[TASKS];
	struct iw_worker w;

	(void)state;
	assert_int_equal(iw_worker_init(&w), 0);
	for (int i = 0; i < TASKS; i++) {
		x[i] = (struct number){ .task.run = note, .n = 1 };
		iw_worker_give(&w, &x[i].task);
	}
	iw_worker_fini(&w);
	for (int i = 0; i < TASKS; i++)
		assert_int_equal(x[i].n, 2);
}

static void without_a_thread_tasks_are_run_at_once(void **state)
{
	struct number x = { .task.run = note, .n = 3 };
	struct iw_worker w;

	(void)state;
	assert_int_equal(iw_worker_init(&w), 0);
	w.tried = true; /* as if none could be had */
	iw_worker_give(&w, &x.task);
	assert_int_equal(x.n, 6);
	assert_true(readable(&w));
	assert_ptr_equal(iw_worker_await(&w), &x.task);
	assert_false(readable(&w));
	iw_worker_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tasks_come_back_done_and_in_order),
		cmocka_unit_test(the_descriptor_is_readable_until_all_are_taken),
		cmocka_unit_test(the_end_runs_what_was_given),
		cmocka_unit_test(without_a_thread_tasks_are_run_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
