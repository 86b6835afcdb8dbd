// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The heap of deadlines, compared with a linear search. */
#include "util/heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "counting_mem.h"
#include "rng.h"
#include "util/num.h"

#define TIMERS 300

/* Each timer has its index, and a deadline that is not before that of its parent. */
static void assert_ordered(const struct iw_heap *h)
{
	for (size_t i = 1; i <= h->len; i++) {
		assert_int_equal(h->slot[i - 1]->index, i);
		if (i > 1)
			assert_true(h->slot[i / 2 - 1]->at <= h->slot[i - 1]->at);
	}
}

static void first_timer_is_always_the_nearest(void **state)
{
	struct iw_timer timers[TIMERS];
	struct rng r = { 1 };
	struct counting_mem m;
	struct iw_heap h;

	(void)state;
	counting_mem_init(&m);
	iw_heap_init(&h, &m.mem);
	for (size_t i = 0; i < TIMERS; i++)
		timers[i] = (struct iw_timer){ .at = IW_TIME_NEVER };
	for (int step = 0; step < 20000; step++) {
		struct iw_timer *t = &timers[rng_below(&r, TIMERS)];
		uint64_t nearest = IW_TIME_NEVER;
		size_t in = 0;

		switch (rng_below(&r, 4)) {
		case 0:
			iw_heap_del(&h, t);
			assert_true(t->at == IW_TIME_NEVER);
			assert_int_equal(t->index, 0);
			break;
		case 1:
			assert_int_equal(iw_heap_set(&h, t, IW_TIME_NEVER), 0);
			assert_int_equal(t->index, 0);
			break;
		default: {
			/* few values, so that equal ones are common */
			uint64_t at = rng_below(&r, 50);

			assert_int_equal(iw_heap_set(&h, t, at), 0);
			assert_true(t->at == at);
			break;
		}
		}
		for (size_t i = 0; i < TIMERS; i++) {
			in += timers[i].index != 0;
			nearest = IW_MIN(nearest, timers[i].at);
		}
		assert_int_equal(h.len, in);
		assert_ordered(&h);
		if (in)
			assert_true(iw_heap_first(&h)->at == nearest);
		else
			assert_null(iw_heap_first(&h));
	}
	iw_heap_fini(&h);
	assert_int_equal(m.blocks, 0);
	assert_int_equal(m.wrong_size, 0);
}

static void timers_are_removed_in_order_of_time(void **state)
{
	struct iw_timer timers[TIMERS];
	struct rng r = { 2 };
	struct counting_mem m;
	struct iw_timer *t;
	struct iw_heap h;
	uint64_t last = 0;
	size_t n = 0;

	(void)state;
	counting_mem_init(&m);
	iw_heap_init(&h, &m.mem);
	memset(timers, 0, sizeof(timers));
	for (size_t i = 0; i < TIMERS; i++)
		assert_int_equal(iw_heap_set(&h, &timers[i], rng_next(&r) >> 1), 0);
	while ((t = iw_heap_first(&h))) {
		assert_true(t->at >= last);
		last = t->at;
		iw_heap_del(&h, t);
		n++;
	}
	assert_int_equal(n, TIMERS);
	iw_heap_fini(&h);
}

static void without_memory_a_new_timer_is_refused_and_old_ones_still_move(void **state)
{
	struct iw_timer in[16], out = { .at = IW_TIME_NEVER };
	struct counting_mem m;
	struct iw_heap h;
	size_t n = 0;

	(void)state;
	counting_mem_init(&m);
	iw_heap_init(&h, &m.mem);
	m.fail_from = 1;
	assert_int_equal(iw_heap_set(&h, &out, 5), IW_E_NOMEM);
	assert_true(out.at == IW_TIME_NEVER);
	assert_int_equal(out.index, 0);
	m.fail_from = 0;
	memset(in, 0, sizeof(in));
	do {
		assert_int_equal(iw_heap_set(&h, &in[n], 100 + n), 0);
		n++;
	} while (h.len < h.cap && n < IW_ARRAY_LEN(in));
	m.fail_from = m.calls + 1;
	assert_int_equal(iw_heap_set(&h, &out, 5), IW_E_NOMEM);
	assert_int_equal(out.index, 0);
	assert_int_equal(h.len, n);
	assert_int_equal(iw_heap_set(&h, &in[n - 1], 1), 0);
	assert_ptr_equal(iw_heap_first(&h), &in[n - 1]);
	assert_int_equal(iw_heap_set(&h, &in[n - 1], IW_TIME_NEVER), 0);
	assert_ptr_equal(iw_heap_first(&h), &in[0]);
	/* a slot became free */
	assert_int_equal(iw_heap_set(&h, &out, 5), 0);
	assert_ptr_equal(iw_heap_first(&h), &out);
	iw_heap_fini(&h);
	assert_int_equal(m.blocks, 0);
}

static void removing_a_timer_that_is_not_in_does_nothing(void **state)
{
	struct iw_timer a = { .at = IW_TIME_NEVER }, b = { .at = IW_TIME_NEVER };
	struct counting_mem m;
	struct iw_heap h;

	(void)state;
	counting_mem_init(&m);
	iw_heap_init(&h, &m.mem);
	iw_heap_del(&h, &a);
	assert_int_equal(iw_heap_set(&h, &b, IW_TIME_NEVER), 0);
	assert_int_equal(m.calls, 0);
	assert_int_equal(iw_heap_set(&h, &b, 3), 0);
	iw_heap_del(&h, &a);
	assert_ptr_equal(iw_heap_first(&h), &b);
	iw_heap_fini(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_timer_is_always_the_nearest),
		cmocka_unit_test(timers_are_removed_in_order_of_time),
		cmocka_unit_test(without_memory_a_new_timer_is_refused_and_old_ones_still_move),
		cmocka_unit_test(removing_a_timer_that_is_not_in_does_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
