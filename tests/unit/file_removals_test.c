// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Only confirmed names are found. */
#include "file/removals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void exactly_what_was_added_is_found(void **state)
{
	struct iw_removals r = { .n = 0 };
	char name[16];

	(void)state;
	iw_removals_sort(&r);
	assert_false(iw_removals_has(&r, "d/1"));
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "d/%u", i * 7919 % 1000 * 2);
		assert_true(iw_removals_add(&r, name));
	}
	iw_removals_sort(&r);
	assert_int_equal(r.n, 1000);
	for (unsigned i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "d/%u", i);
		assert_int_equal(iw_removals_has(&r, name), i % 2 == 0);
	}
	assert_false(iw_removals_has(&r, "d"));
	assert_false(iw_removals_has(&r, "d/"));
	assert_false(iw_removals_has(&r, ""));
	iw_removals_fini(&r);
	assert_false(iw_removals_has(&r, "d/0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exactly_what_was_added_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
