// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Byte order, checked sums, serial numbers, powers of two. */
#include "util/num.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void numbers_are_stored_in_network_byte_order(void **state)
{
	static const uint8_t o[] = { 0xf1, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0xf8 };
	uint8_t w[8];

	(void)state;
	assert_int_equal(iw_get_be16(o), 0xf102);
	assert_true(iw_get_be32(o) == 0xf1020304);
	assert_true(iw_get_be64(o) == 0xf1020304050607f8);
	assert_true(iw_get_le32(o) == 0x040302f1);
	assert_true(iw_get_le32(o + 4) == 0xf8070605);
	iw_put_be16(w, 0xf102);
	assert_memory_equal(w, o, 2);
	iw_put_be32(w, 0xf1020304);
	assert_memory_equal(w, o, 4);
	iw_put_be64(w, 0xf1020304050607f8);
	assert_memory_equal(w, o, 8);
	iw_put_le32(w, 0xf8070605);
	assert_memory_equal(w, o + 4, 4);
}

static void sum_beyond_64_bits_is_detected(void **state)
{
	uint64_t sum;

	(void)state;
	assert_false(iw_add_wraps(UINT64_MAX - 1, 1, &sum));
	assert_true(sum == UINT64_MAX);
	assert_true(iw_add_wraps(UINT64_MAX, 1, &sum));
	assert_true(iw_add_wraps(UINT64_MAX, UINT64_MAX, &sum));
	assert_false(iw_add_wraps(0, UINT64_MAX, &sum));
}

static void deadline_past_the_end_of_time_is_never(void **state)
{
	(void)state;
	assert_true(iw_time_add(5, 7) == 12);
	assert_true(iw_time_add(IW_TIME_NEVER, 0) == IW_TIME_NEVER);
	assert_true(iw_time_add(IW_TIME_NEVER, 1) == IW_TIME_NEVER);
	assert_true(iw_time_add(IW_TIME_NEVER - 1, 1) == IW_TIME_NEVER);
	assert_true(iw_time_add(1, IW_TIME_NEVER) == IW_TIME_NEVER);
	assert_true(iw_time_add(0, IW_SEC(10)) == 10000000000u);
	assert_true(IW_MSEC(3) == 3000000u);
}

static void serial_numbers_compare_across_their_wrap(void **state)
{
	(void)state;
	assert_true(iw_seq32_before(1, 2));
	assert_false(iw_seq32_before(2, 2));
	assert_false(iw_seq32_before(2, 1));
	assert_true(iw_seq32_before(0xffffffff, 0));
	assert_false(iw_seq32_before(0, 0xffffffff));
	assert_true(iw_seq32_before(0xfffffff0, 0x7fffffe0));
}

static void power_of_two_is_the_smallest_one_that_is_large_enough(void **state)
{
	(void)state;
	assert_true(iw_pow2_at_least(0) == 1);
	assert_true(iw_pow2_at_least(1) == 1);
	assert_true(iw_pow2_at_least(2) == 2);
	assert_true(iw_pow2_at_least(3) == 4);
	assert_true(iw_pow2_at_least(0x40000001) == 0x80000000);
	assert_true(iw_pow2_at_least(0x80000000) == 0x80000000);
}

/* The first numbers of splitmix64 with the seed 0, as its reference implementation prints them. */
static void mixed_numbers_are_those_of_splitmix64(void **state)
{
	const uint64_t step = 0x9e3779b97f4a7c15u;

	(void)state;
	assert_true(iw_mix64(step) == 0xe220a8397b1dcdafu);
	assert_true(iw_mix64(2 * step) == 0x6e789e6aa1b965f4u);
	assert_true(iw_mix64(3 * step) == 0x06c45d188009454fu);
}

static void container_of_undoes_a_member(void **state)
{
	struct outer {
		char before[24];
		int member;
	} o;

	(void)state;
	assert_ptr_equal(iw_container_of(&o.member, struct outer, member), &o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_stored_in_network_byte_order),
		cmocka_unit_test(sum_beyond_64_bits_is_detected),
		cmocka_unit_test(deadline_past_the_end_of_time_is_never),
		cmocka_unit_test(serial_numbers_compare_across_their_wrap),
		cmocka_unit_test(power_of_two_is_the_smallest_one_that_is_large_enough),
		cmocka_unit_test(mixed_numbers_are_those_of_splitmix64),
		cmocka_unit_test(container_of_undoes_a_member),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
