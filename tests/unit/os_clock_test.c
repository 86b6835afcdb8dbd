// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The clocks go forward, the random source fills what it is given. */
#include "os/os.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void monotonic_clock_counts_nanoseconds(void **state)
{
	uint64_t a = iw_os_now(), b;

	(void)state;
	do
		b = iw_os_now();
	while (b == a);
	assert_true(b > a);
	assert_true(b - a < UINT64_C(60000000000));
}

static void cpu_clock_counts_work(void **state)
{
	uint64_t a = iw_os_cpu();
	uint64_t wall = iw_os_now();

	(void)state;
	/* The clock itself is the work; a minute bounds a machine that is held up. */
	while (iw_os_cpu() == a)
		assert_true(iw_os_now() - wall < UINT64_C(60000000000));
	assert_true(iw_os_cpu() > a);
}

static void random_fills_every_octet_of_a_large_buffer(void **state)
{
	static uint8_t seen[100000], buf[100000];

	(void)state;
	/* One octet stays zero in all 20 rounds with a chance of 2^-160. */
	for (int round = 0; round < 20; round++) {
		memset(buf, 0, sizeof(buf));
		assert_int_equal(iw_os_random(buf, sizeof(buf)), 0);
		for (size_t i = 0; i < sizeof(buf); i++)
			seen[i] |= buf[i];
	}
	for (size_t i = 0; i < sizeof(seen); i++)
		assert_int_not_equal(seen[i], 0);
}

static void random_of_nothing_touches_nothing(void **state)
{
	uint8_t guard = 0xa5;

	(void)state;
	assert_int_equal(iw_os_random(&guard, 0), 0);
	assert_int_equal(guard, 0xa5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(monotonic_clock_counts_nanoseconds),
		cmocka_unit_test(cpu_clock_counts_work),
		cmocka_unit_test(random_fills_every_octet_of_a_large_buffer),
		cmocka_unit_test(random_of_nothing_touches_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
