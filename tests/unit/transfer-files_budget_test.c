// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Memory by peer address: the shares, and which addresses have a common one. */
#include "transfer/files/budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* SEC-16 */
static void an_address_may_use_a_quarter_and_more_while_half_is_free(void **state)
{
	struct iw_budget a;
	struct iw_holder *p, *q;

	(void)state;
	iw_budget_init(&a, 1000);
	p = iw_budget_join(&a, "192.0.2.1:7471");
	q = iw_budget_join(&a, "192.0.2.2:7471");
	assert_true(iw_budget_may(&a, p, 500));
	assert_false(iw_budget_may(&a, p, 501));
	iw_budget_charge(&a, p, 500);
	assert_false(iw_budget_may(&a, p, 1));
	assert_true(iw_budget_may(&a, q, 250));
	assert_false(iw_budget_may(&a, q, 251));
	iw_budget_charge(&a, q, 250);
	assert_false(iw_budget_may(&a, q, 1));
	assert_true(iw_budget_may(&a, NULL, 250));
	assert_false(iw_budget_may(&a, NULL, 251));
	a.other = 250;
	assert_false(iw_budget_may(&a, NULL, 1));
	iw_budget_credit(&a, p, 500);
	iw_budget_credit(&a, q, 250);
	assert_int_equal(a.bytes, 0);
	iw_budget_leave(p);
	iw_budget_leave(q);
}

static void without_a_limit_all_may_be_held(void **state)
{
	struct iw_budget a;

	(void)state;
	iw_budget_init(&a, 0);
	assert_true(iw_budget_may(&a, NULL, UINT64_MAX));
}

static bool same(struct iw_budget *a, const char *x, const char *y)
{
	struct iw_holder *p = iw_budget_join(a, x), *q = iw_budget_join(a, y);
	bool r = p == q;

	iw_budget_leave(p);
	iw_budget_leave(q);
	return r;
}

static void ports_and_the_lower_half_of_ipv6_make_no_other_address(void **state)
{
	struct iw_budget a;

	(void)state;
	iw_budget_init(&a, 1000);
	assert_true(same(&a, "192.0.2.1:1", "192.0.2.1:65535"));
	assert_false(same(&a, "192.0.2.1:1", "192.0.2.11:1"));
	assert_true(same(&a, "[2001:db8::1]:1", "[2001:db8::ffff:2]:9"));
	assert_false(same(&a, "[2001:db8::1]:1", "[2001:db8:0:1::1]:1"));
	assert_true(same(&a, "[fe80::1%eth0]:1", "[fe80::2%eth0]:1"));
	assert_true(same(&a, "[::ffff:192.0.2.1]:1", "192.0.2.1:2"));
	assert_true(same(&a, "[::1]:1", "[::1]:2"));
}

/* SEC-16 */
static void an_address_may_use_three_quarters_of_the_connections(void **state)
{
	struct iw_holder h = { .conns = 3 };

	(void)state;
	assert_false(iw_budget_crowds(&h, 4));
	h.conns = 4;
	assert_true(iw_budget_crowds(&h, 4));
	assert_false(iw_budget_crowds(&h, 0));
	h.local = true;
	assert_false(iw_budget_crowds(&h, 4));
	h = (struct iw_holder){ .conns = 2 };
	assert_false(iw_budget_crowds(&h, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_may_use_a_quarter_and_more_while_half_is_free),
		cmocka_unit_test(without_a_limit_all_may_be_held),
		cmocka_unit_test(ports_and_the_lower_half_of_ipv6_make_no_other_address),
		cmocka_unit_test(an_address_may_use_three_quarters_of_the_connections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
