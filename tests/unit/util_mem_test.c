// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Arrays from an allocator. */
#include "util/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "counting_mem.h"

static void array_is_zeroed_and_of_the_product_of_sizes(void **state)
{
	struct counting_mem m;
	uint8_t *p;

	(void)state;
	counting_mem_init(&m);
	p = iw_mem_array(&m.mem, 7, 9);
	assert_non_null(p);
	assert_int_equal(m.bytes, 63);
	for (int i = 0; i < 63; i++)
		assert_int_equal(p[i], 0);
	iw_mem_free(&m.mem, p, 63);
	assert_int_equal(m.blocks, 0);
	assert_int_equal(m.wrong_size, 0);
}

static void array_whose_size_overflows_is_refused_unasked(void **state)
{
	struct counting_mem m;

	(void)state;
	counting_mem_init(&m);
	assert_null(iw_mem_array(&m.mem, SIZE_MAX / 4 + 1, 4));
	assert_null(iw_mem_array(&m.mem, SIZE_MAX, SIZE_MAX));
	assert_int_equal(m.calls, 0);
}

static void array_without_memory_is_null(void **state)
{
	struct counting_mem m;

	(void)state;
	counting_mem_init(&m);
	m.fail_from = 1;
	assert_null(iw_mem_array(&m.mem, 1, 1));
	assert_int_equal(m.calls, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(array_is_zeroed_and_of_the_product_of_sizes),
		cmocka_unit_test(array_whose_size_overflows_is_refused_unasked),
		cmocka_unit_test(array_without_memory_is_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
