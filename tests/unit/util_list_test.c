// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The circular list. */
#include "util/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void items_are_removed_in_the_order_of_insertion(void **state)
{
	struct iw_list head, a, b, c;

	(void)state;
	iw_list_init(&head);
	assert_true(iw_list_empty(&head));
	assert_null(iw_list_first(&head));
	iw_list_add_tail(&head, &a);
	iw_list_add_tail(&head, &b);
	iw_list_add_tail(&head, &c);
	assert_false(iw_list_empty(&head));
	assert_ptr_equal(iw_list_first(&head), &a);
	iw_list_del(&b);
	assert_ptr_equal(a.next, &c);
	assert_ptr_equal(c.prev, &a);
	iw_list_del(&a);
	assert_ptr_equal(iw_list_first(&head), &c);
	iw_list_del(&c);
	assert_true(iw_list_empty(&head));
}

static void removing_twice_does_nothing(void **state)
{
	struct iw_list head, a, b;

	(void)state;
	iw_list_init(&head);
	iw_list_init(&b);
	iw_list_add_tail(&head, &a);
	iw_list_del(&b);
	iw_list_del(&a);
	iw_list_del(&a);
	assert_true(iw_list_empty(&head));
	assert_true(iw_list_empty(&a));
	iw_list_add_tail(&head, &a);
	assert_ptr_equal(iw_list_first(&head), &a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_are_removed_in_the_order_of_insertion),
		cmocka_unit_test(removing_twice_does_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
