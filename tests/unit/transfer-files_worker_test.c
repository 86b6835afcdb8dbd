// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Lanes: tasks of one lane run in order, those of different lanes in any order; the descriptor that
 * reports finished tasks; the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <semaphore.h>
#include <unistd.h>

#include "transfer/files/worker.h"

#define TASKS 100
#define LANES 8
#define LONG  IW_SEC(20)

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

static void tasks_of_a_lane_return_done_and_in_order(void **state)
{
	struct number x[TASKS];
	struct iw_lane lane;
	struct iw_worker w;

	(void)state;
	assert_int_equal(iw_worker_init(&w), 0);
	iw_lane_init(&lane);
	assert_null(iw_worker_take(&w));
	for (int i = 0; i < TASKS; i++) {
		x[i] = (struct number){ .task.run = note, .n = i };
		iw_worker_queue(&w, &lane, &x[i].task);
	}
	for (int i = 0; i < TASKS; i++) {
		assert_ptr_equal(iw_worker_await(&w, LONG), &x[i].task);
		assert_int_equal(x[i].n, 2 * i);
		assert_false(pthread_equal(x[i].by, pthread_self()));
	}
	assert_null(iw_worker_take(&w));
	assert_false(readable(&w));
	iw_worker_fini(&w);
}

struct blocked {
	struct iw_task task;
	sem_t *started, *go;
};

static void block(struct iw_task *t)
{
	struct blocked *b = iw_container_of(t, struct blocked, task);

	sem_post(b->started);
	sem_wait(b->go);
}

static void a_lane_that_waits_for_storage_does_not_delay_others(void **state)
{
	struct blocked b[LANES];
	struct number x[TASKS], behind = { .task.run = note, .n = 1 };
	struct iw_lane lane[LANES], other;
	struct iw_worker w;
	sem_t started, go;

	(void)state;
	sem_init(&started, 0, 0);
	sem_init(&go, 0, 0);
	assert_int_equal(iw_worker_init(&w), 0);
	iw_lane_init(&other);
	for (int i = 0; i < LANES; i++) {
		iw_lane_init(&lane[i]);
		b[i] = (struct blocked){ .task.run = block, .started = &started, .go = &go };
		iw_worker_queue(&w, &lane[i], &b[i].task);
	}
	for (int i = 0; i < LANES; i++)
		sem_wait(&started);
	iw_worker_queue(&w, &lane[0], &behind.task);
	for (int i = 0; i < TASKS; i++) {
		x[i] = (struct number){ .task.run = note, .n = i };
		iw_worker_queue(&w, &other, &x[i].task);
		assert_ptr_equal(iw_worker_await(&w, LONG), &x[i].task);
	}
	/* Its lane still waits. */
	assert_null(iw_worker_await(&w, IW_MSEC(20)));
	assert_int_equal(behind.n, 1);
	for (int i = 0; i < LANES; i++)
		sem_post(&go);
	for (int i = 0; i < LANES + 1; i++)
		assert_non_null(iw_worker_await(&w, LONG));
	assert_int_equal(behind.n, 2);
	iw_worker_fini(&w);
	sem_destroy(&go);
	sem_destroy(&started);
}

struct counter {
	struct iw_task task;
	unsigned *of_lane; /* without a lock: the tasks of a lane never run at the same time */
};

static void count(struct iw_task *t)
{
	++*iw_container_of(t, struct counter, task)->of_lane;
}

static void more_lanes_than_threads_all_finish(void **state)
{
	static struct counter c[3 * IW_WORKERS][TASKS];
	static struct iw_lane lane[3 * IW_WORKERS];
	unsigned n[3 * IW_WORKERS] = { 0 };
	struct iw_worker w;

	(void)state;
	assert_int_equal(iw_worker_init(&w), 0);
	for (int i = 0; i < 3 * IW_WORKERS; i++)
		iw_lane_init(&lane[i]);
	for (int k = 0; k < TASKS; k++)
		for (int i = 0; i < 3 * IW_WORKERS; i++) {
			c[i][k] = (struct counter){ .task.run = count, .of_lane = &n[i] };
			iw_worker_queue(&w, &lane[i], &c[i][k].task);
		}
	for (int i = 0; i < 3 * IW_WORKERS * TASKS; i++)
		assert_non_null(iw_worker_await(&w, LONG));
	assert_null(iw_worker_await(&w, 0));
	for (int i = 0; i < 3 * IW_WORKERS; i++)
		assert_int_equal(n[i], TASKS);
	assert_in_range(w.threads, 1, IW_WORKERS);
	iw_worker_fini(&w);
}

static void the_descriptor_is_readable_until_all_are_taken(void **state)
{
	struct number x[2] = { { .task.run = note }, { .task.run = note } };
	struct iw_lane lane;
	struct pollfd p;
	struct iw_worker w;

	(void)state;
	assert_int_equal(iw_worker_init(&w), 0);
	iw_lane_init(&lane);
	assert_false(readable(&w));
	iw_worker_queue(&w, &lane, &x[0].task);
	iw_worker_queue(&w, &lane, &x[1].task);
	p = (struct pollfd){ .fd = iw_worker_fd(&w), .events = POLLIN };
	assert_int_equal(poll(&p, 1, 5000), 1);
	assert_ptr_equal(iw_worker_await(&w, LONG), &x[0].task);
	assert_ptr_equal(iw_worker_await(&w, LONG), &x[1].task);
	assert_false(readable(&w));
	iw_worker_fini(&w);
}

static void closing_a_worker_runs_its_queued_tasks(void **state)
{
	struct number x[TASKS];
	struct iw_lane lane[LANES];
	struct iw_worker w;

	(void)state;
	assert_int_equal(iw_worker_init(&w), 0);
	for (int i = 0; i < LANES; i++)
		iw_lane_init(&lane[i]);
	for (int i = 0; i < TASKS; i++) {
		x[i] = (struct number){ .task.run = note, .n = 1 };
		iw_worker_queue(&w, &lane[i % LANES], &x[i].task);
	}
	iw_worker_fini(&w);
	for (int i = 0; i < TASKS; i++)
		assert_int_equal(x[i].n, 2);
}

static void without_a_thread_tasks_are_run_at_once(void **state)
{
	struct number x = { .task.run = note, .n = 3 };
	struct iw_lane lane;
	struct iw_worker w;

	(void)state;
	assert_int_equal(iw_worker_init(&w), 0);
	iw_lane_init(&lane);
	w.none = true; /* as if no thread could be started */
	iw_worker_queue(&w, &lane, &x.task);
	assert_int_equal(x.n, 6);
	assert_true(readable(&w));
	assert_ptr_equal(iw_worker_await(&w, 0), &x.task);
	assert_false(readable(&w));
	iw_worker_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tasks_of_a_lane_return_done_and_in_order),
		cmocka_unit_test(a_lane_that_waits_for_storage_does_not_delay_others),
		cmocka_unit_test(more_lanes_than_threads_all_finish),
		cmocka_unit_test(the_descriptor_is_readable_until_all_are_taken),
		cmocka_unit_test(closing_a_worker_runs_its_queued_tasks),
		cmocka_unit_test(without_a_thread_tasks_are_run_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
