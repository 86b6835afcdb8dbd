// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The clock moves forward. */
#include "os/os.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(monotonic_clock_counts_nanoseconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
