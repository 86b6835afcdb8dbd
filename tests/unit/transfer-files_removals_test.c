// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Only confirmed names are found. */
#include "transfer/files/removals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

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

static void joined_names_are_complete_and_in_order(void **state)
{
	static const char all[] = "a\0b\n\0c/\xff";
	struct iw_removals r = { .n = 0 };
	size_t len;
	char *text;

	(void)state;
	assert_true(iw_removals_add(&r, "a") && iw_removals_add(&r, "b\n") &&
		    iw_removals_add(&r, "c/\xff"));
	text = iw_removals_join(&r, &len);
	assert_non_null(text);
	assert_int_equal(len, sizeof(all));
	assert_memory_equal(text, all, len);
	free(text);
	iw_removals_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exactly_what_was_added_is_found),
		cmocka_unit_test(joined_names_are_complete_and_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
