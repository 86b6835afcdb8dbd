// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Loans of a loop: each has a name and is returned once, at the latest when the loop is freed. */
#include "loop/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "counting_mem.h"
#include "loop/internal.h"

static struct counting_mem mem;
static struct iw_loop *loop;
static uint8_t octets[8];
static unsigned returned[8];

static void count(struct iw_lender *l, const uint8_t *data)
{
	(void)l;
	returned[data - octets]++;
}

static struct iw_lender lender = { count };

static uint64_t lend(unsigned i)
{
	uint64_t loan = iw_loop_next_loan(loop);

	assert_true(loan > 0);
	iw_loop_lend(loop, &lender, &octets[i]);
	return loan;
}

static int set_up(void **state)
{
	(void)state;
	memset(returned, 0, sizeof(returned));
	counting_mem_init(&mem);
	return iw_loop_new(&loop, &mem.mem, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	iw_loop_free(loop);
	return mem.blocks == 0 && mem.wrong_size == 0 ? 0 : -1;
}

static void a_loan_is_returned_once(void **state)
{
	struct iw_fault why = { 0 };
	uint64_t first, second;

	(void)state;
	assert_int_equal(iw_loop_next_loan(loop), 0);
	assert_int_equal(iw_loop_loans_reserve(loop, 1, NULL), 0);
	first = lend(0);
	assert_int_equal(iw_loop_next_loan(loop), 0);
	assert_int_equal(iw_loop_loan_return(loop, first, &why), 0);
	assert_int_equal(returned[0], 1);
	assert_int_equal(iw_loop_loan_return(loop, first, &why), IW_E_INVAL);
	assert_non_null(strstr(why.text, "already returned"));
	/* A stale name does not return the loan that now uses its slot. */
	second = lend(1);
	assert_true(second != first);
	assert_int_equal(iw_loop_loan_return(loop, first, &why), IW_E_INVAL);
	assert_non_null(strstr(why.text, "already returned"));
	assert_int_equal(returned[1], 0);
	assert_int_equal(iw_loop_loan_return(loop, second, &why), 0);
	assert_int_equal(returned[0], 1);
	assert_int_equal(returned[1], 1);
}

static void pointer_that_is_not_a_loan_is_refused(void **state)
{
	struct iw_fault why = { 0 };
	uint64_t loan;

	(void)state;
	assert_int_equal(iw_loop_loan_return(loop, 1, &why), IW_E_INVAL);
	assert_int_equal(iw_loop_loans_reserve(loop, 2, NULL), 0);
	loan = lend(0);
	assert_int_equal(iw_loop_loan_return(loop, 0, &why), IW_E_INVAL);
	assert_int_equal(iw_loop_loan_return(loop, loan + 2, &why), IW_E_INVAL);
	assert_int_equal(iw_loop_loan_return(loop, loan + (UINT64_C(1) << 32), &why), IW_E_INVAL);
	assert_non_null(strstr(why.text, "not a loan of this context"));
	assert_int_equal(returned[0], 0);
}

/* Loans of a freed port are still outstanding; new ones use other slots. */
static void loans_outlive_their_port_and_end_with_the_loop(void **state)
{
	uint64_t a, b, c;

	(void)state;
	assert_int_equal(iw_loop_loans_reserve(loop, 2, NULL), 0);
	a = lend(0);
	b = lend(1);
	iw_loop_loans_unreserve(loop, 2);
	mem.fail_from = mem.calls + 1;
	assert_int_equal(iw_loop_loans_reserve(loop, 1, NULL), IW_E_NOMEM);
	mem.fail_from = 0;
	assert_int_equal(iw_loop_loans_reserve(loop, 2, NULL), 0);
	c = lend(2);
	(void)lend(3);
	assert_int_equal(iw_loop_next_loan(loop), 0);
	assert_int_equal(iw_loop_loan_return(loop, a, NULL), 0);
	assert_int_equal(iw_loop_loan_return(loop, c, NULL), 0);
	(void)b;
	iw_loop_free(loop);
	for (int i = 0; i < 4; i++)
		assert_int_equal(returned[i], 1);
	assert_int_equal(iw_loop_new(&loop, &mem.mem, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_loan_is_returned_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(pointer_that_is_not_a_loan_is_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(loans_outlive_their_port_and_end_with_the_loop,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
