// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Pools of buffers. */
#include "util/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "counting_mem.h"

static void no_more_buffers_out_than_max(void **state)
{
	struct counting_mem m;
	struct iw_pool p;
	void *a, *b;

	(void)state;
	counting_mem_init(&m);
	iw_pool_init(&p, &m.mem, 100, 2, 1);
	a = iw_pool_get(&p);
	b = iw_pool_get(&p);
	assert_non_null(a);
	assert_non_null(b);
	memset(a, 1, 100);
	memset(b, 2, 100);
	assert_null(iw_pool_get(&p));
	assert_int_equal(p.out, 2);
	iw_pool_put(&p, a);
	assert_ptr_equal(iw_pool_get(&p), a);
	iw_pool_put(&p, a);
	iw_pool_put(&p, b);
	iw_pool_fini(&p);
	assert_int_equal(m.blocks, 0);
	assert_int_equal(m.wrong_size, 0);
}

static void steady_use_allocates_nothing(void **state)
{
	struct counting_mem m;
	struct iw_pool p;

	(void)state;
	counting_mem_init(&m);
	iw_pool_init(&p, &m.mem, 4096, 0, 4);
	for (int round = 0; round < 100; round++) {
		void *b[4];

		for (int i = 0; i < 4; i++) {
			b[i] = iw_pool_get(&p);
			assert_non_null(b[i]);
			memset(b[i], round, 4096);
		}
		for (int i = 0; i < 4; i++)
			iw_pool_put(&p, b[i]);
	}
	assert_int_equal(m.calls, 4);
	iw_pool_fini(&p);
	assert_int_equal(m.blocks, 0);
}

static void blocks_above_spare_max_are_freed(void **state)
{
	struct counting_mem m;
	struct iw_pool p;
	void *b[8];

	(void)state;
	counting_mem_init(&m);
	iw_pool_init(&p, &m.mem, 64, 0, 3);
	for (int i = 0; i < 8; i++)
		b[i] = iw_pool_get(&p);
	for (int i = 0; i < 8; i++)
		iw_pool_put(&p, b[i]);
	assert_int_equal(p.out, 0);
	assert_int_equal(p.spare, 3);
	assert_int_equal(m.blocks, 3);
	iw_pool_fini(&p);
	assert_int_equal(m.blocks, 0);
	assert_int_equal(m.wrong_size, 0);
}

static void pool_with_spare_max_zero_keeps_no_block(void **state)
{
	struct counting_mem m;
	struct iw_pool p;

	(void)state;
	counting_mem_init(&m);
	iw_pool_init(&p, &m.mem, 64, 0, 0);
	iw_pool_put(&p, iw_pool_get(&p));
	assert_int_equal(m.blocks, 0);
	iw_pool_fini(&p);
}

static void trimmed_pool_keeps_at_most_the_given_number_of_blocks(void **state)
{
	struct counting_mem m;
	struct iw_pool p;
	void *b[4];

	(void)state;
	counting_mem_init(&m);
	iw_pool_init(&p, &m.mem, 64, 0, 8);
	for (int i = 0; i < 4; i++)
		b[i] = iw_pool_get(&p);
	for (int i = 0; i < 3; i++)
		iw_pool_put(&p, b[i]);
	iw_pool_trim(&p, 5);
	assert_int_equal(m.blocks, 4);
	iw_pool_trim(&p, 1);
	assert_int_equal(p.spare, 1);
	assert_int_equal(p.out, 1);
	assert_int_equal(m.blocks, 2);
	assert_ptr_equal(iw_pool_get(&p), b[0]);
	iw_pool_put(&p, b[0]);
	iw_pool_put(&p, b[3]);
	iw_pool_trim(&p, 0);
	assert_int_equal(m.blocks, 0);
	assert_int_equal(m.wrong_size, 0);
	iw_pool_fini(&p);
}

/* A free buffer holds a link, which needs more than one byte. */
static void buffer_smaller_than_a_pointer_is_whole(void **state)
{
	struct counting_mem m;
	struct iw_pool p;
	uint8_t *a, *b;

	(void)state;
	counting_mem_init(&m);
	iw_pool_init(&p, &m.mem, 1, 0, 2);
	a = iw_pool_get(&p);
	b = iw_pool_get(&p);
	*a = 1;
	*b = 2;
	iw_pool_put(&p, a);
	iw_pool_put(&p, b);
	assert_ptr_equal(iw_pool_get(&p), b);
	assert_ptr_equal(iw_pool_get(&p), a);
	iw_pool_put(&p, a);
	iw_pool_put(&p, b);
	iw_pool_fini(&p);
	assert_int_equal(m.blocks, 0);
	assert_int_equal(m.wrong_size, 0);
}

static void no_memory_leaves_the_pool_as_it_was(void **state)
{
	struct counting_mem m;
	struct iw_pool p;
	void *a;

	(void)state;
	counting_mem_init(&m);
	iw_pool_init(&p, &m.mem, 64, 0, 2);
	a = iw_pool_get(&p);
	m.fail_from = 1;
	assert_null(iw_pool_get(&p));
	assert_int_equal(p.out, 1);
	iw_pool_put(&p, a);
	assert_ptr_equal(iw_pool_get(&p), a);
	iw_pool_put(&p, a);
	iw_pool_fini(&p);
	assert_int_equal(m.blocks, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_more_buffers_out_than_max),
		cmocka_unit_test(steady_use_allocates_nothing),
		cmocka_unit_test(blocks_above_spare_max_are_freed),
		cmocka_unit_test(pool_with_spare_max_zero_keeps_no_block),
		cmocka_unit_test(trimmed_pool_keeps_at_most_the_given_number_of_blocks),
		cmocka_unit_test(buffer_smaller_than_a_pointer_is_whole),
		cmocka_unit_test(no_memory_leaves_the_pool_as_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
