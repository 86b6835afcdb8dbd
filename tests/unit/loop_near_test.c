// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* When the loop polls before it sleeps. */
#include "loop/near.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define LONG_NS UINT64_C(1000000000)

/* A wait without polling that ends with input after ns. */
static void wait_for(struct iw_near *n, uint64_t ns)
{
	(void)iw_near_begin(n, LONG_NS);
	iw_near_end(n, ns, true);
}

static void wait_shortly(struct iw_near *n, unsigned times)
{
	while (times-- > 0)
		wait_for(n, IW_NEAR_NS - 1);
}

/* A state in which the next wait polls. */
static struct iw_near near_peer(void)
{
	struct iw_near n = { .allowed = true };

	wait_shortly(&n, IW_NEAR_AFTER);
	return n;
}

/* Polls unsuccessfully. Returns how many of the following waits do not poll. */
static unsigned skipped_after_failure(struct iw_near *n)
{
	unsigned skipped = 0;

	iw_near_polled(n, 50, false);
	iw_near_end(n, IW_NEAR_NS + 20000, true);
	wait_shortly(n, IW_NEAR_AFTER);
	while (!iw_near_begin(n, LONG_NS)) {
		iw_near_end(n, IW_NEAR_NS - 1, true);
		skipped++;
	}
	return skipped;
}

static void loop_polls_after_short_waits_in_a_row(void **state)
{
	struct iw_near n = { .allowed = true };

	(void)state;
	wait_shortly(&n, IW_NEAR_AFTER - 1);
	assert_false(iw_near_begin(&n, LONG_NS));
	iw_near_end(&n, IW_NEAR_NS - 1, true);
	for (int i = 0; i < 100; i++) {
		assert_true(iw_near_begin(&n, LONG_NS));
		iw_near_end(&n, IW_NEAR_NS - 1, true);
	}
}

static void loop_does_not_poll_after_a_long_wait(void **state)
{
	struct iw_near n = near_peer();

	(void)state;
	wait_for(&n, IW_NEAR_NS);
	for (unsigned i = 0; i < IW_NEAR_AFTER; i++) {
		assert_false(iw_near_begin(&n, LONG_NS));
		iw_near_end(&n, IW_NEAR_NS - 1, true);
	}
	assert_true(iw_near_begin(&n, LONG_NS));
}

static void wait_that_ends_without_input_is_not_short(void **state)
{
	struct iw_near n = near_peer();

	(void)state;
	(void)iw_near_begin(&n, LONG_NS);
	iw_near_end(&n, 1, false);
	assert_false(iw_near_begin(&n, LONG_NS));
}

static void loop_does_not_poll_while_much_data_moves(void **state)
{
	struct iw_near n = near_peer();

	(void)state;
	n.octets = IW_NEAR_OCTETS;
	assert_true(iw_near_begin(&n, LONG_NS));
	iw_near_end(&n, 1, true);
	n.octets = IW_NEAR_OCTETS + 1;
	assert_false(iw_near_begin(&n, LONG_NS));
	for (int i = 0; i < 100; i++) {
		iw_near_end(&n, 1, true);
		n.octets += IW_NEAR_OCTETS + 1;
		assert_false(iw_near_begin(&n, LONG_NS));
	}
	iw_near_end(&n, 1, true);
	wait_shortly(&n, IW_NEAR_AFTER - 1);
	assert_true(iw_near_begin(&n, LONG_NS));
}

static void loop_does_not_poll_on_one_processor(void **state)
{
	struct iw_near n = { .allowed = false };

	(void)state;
	wait_shortly(&n, 2 * IW_NEAR_AFTER);
	assert_false(iw_near_begin(&n, LONG_NS));
}

static void loop_does_not_poll_until_a_deadline_that_is_near(void **state)
{
	struct iw_near n = near_peer();

	(void)state;
	assert_false(iw_near_begin(&n, IW_NEAR_NS));
	iw_near_end(&n, 1, true);
	assert_true(iw_near_begin(&n, IW_NEAR_NS + 1));
}

static void unsuccessful_polls_end_polling_for_longer_and_longer(void **state)
{
	struct iw_near n = near_peer();

	(void)state;
	for (unsigned i = 1; i <= IW_NEAR_SKIP_MAX; i = 2 * i + 1)
		assert_int_equal(skipped_after_failure(&n), i);
	assert_int_equal(skipped_after_failure(&n), IW_NEAR_SKIP_MAX);
	assert_int_equal(skipped_after_failure(&n), IW_NEAR_SKIP_MAX);
}

static void only_a_poll_that_waited_for_its_success_forgets_failures(void **state)
{
	struct iw_near n = near_peer();

	(void)state;
	assert_int_equal(skipped_after_failure(&n), 1);
	assert_int_equal(skipped_after_failure(&n), 3);
	iw_near_polled(&n, 1, true);
	assert_int_equal(skipped_after_failure(&n), 7);
	iw_near_polled(&n, 2, true);
	assert_int_equal(skipped_after_failure(&n), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loop_polls_after_short_waits_in_a_row),
		cmocka_unit_test(loop_does_not_poll_after_a_long_wait),
		cmocka_unit_test(wait_that_ends_without_input_is_not_short),
		cmocka_unit_test(loop_does_not_poll_while_much_data_moves),
		cmocka_unit_test(loop_does_not_poll_on_one_processor),
		cmocka_unit_test(loop_does_not_poll_until_a_deadline_that_is_near),
		cmocka_unit_test(unsuccessful_polls_end_polling_for_longer_and_longer),
		cmocka_unit_test(only_a_poll_that_waited_for_its_success_forgets_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
