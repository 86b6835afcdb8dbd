// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The object and its states: lib/mpa/state.c. */
#include "mpa/mpa.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "mpa_end.h"
#include "mpa_ref.h"
#include "vectors/mpa.h"

static void every_state_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (int s = IW_MPA_IDLE; s <= IW_MPA_FAILED; s++) {
		const char *name = iw_mpa_state_name((enum iw_mpa_state)s);

		assert_true(strlen(name) > 0);
		assert_string_not_equal(name, "unknown");
		for (int other = IW_MPA_IDLE; other < s; other++)
			assert_string_not_equal(name, iw_mpa_state_name((enum iw_mpa_state)other));
	}
	assert_string_equal(iw_mpa_state_name((enum iw_mpa_state)99), "unknown");
}

/* MPA-38: before the start nothing is sent, and no octets are requested. */
static void an_idle_end_neither_sends_nor_reads(void **state)
{
	uint8_t scratch[64];
	struct iw_vec vec[2];

	(void)state;
	for (int initiator = 0; initiator <= 1; initiator++) {
		struct mpa_end e;

		assert_int_equal(mpa_end_init(&e, mpa_cfg(initiator, 2)), 0);
		assert_int_equal(iw_mpa_state(e.m), IW_MPA_IDLE);
		assert_int_equal(iw_mpa_tx_startup(e.m).len, 0);
		assert_int_equal(
			iw_mpa_rx_vec(e.m, (struct iw_vec){ scratch, sizeof(scratch) }, vec), 0);
		assert_false(iw_mpa_may_send(e.m));
		assert_int_equal(iw_mpa_deadline(e.m), IW_TIME_NEVER);
		assert_int_equal(iw_mpa_rx_eof(e.m, NULL), IW_E_MPA_LOST);
		mpa_end_close(&e);
	}
}

/* An idle connection has no memory but the object. */
static void an_idle_connection_holds_no_buffer(void **state)
{
	struct mpa_end e;

	(void)state;
	ref_open_full(&e, true, true, false, 0);
	mpa_end_feed(&e, fpdu_send_hello, sizeof(fpdu_send_hello), 1);
	assert_int_equal(e.ulpdus, 1);
	assert_int_equal(e.spill.out, 0);
	assert_true(iw_mpa_size() <= 2048);
	mpa_end_close(&e);
}

static void the_spill_buffer_is_returned_when_the_object_is_freed(void **state)
{
	struct mpa_end e;

	(void)state;
	ref_open_full(&e, true, true, false, 0);
	mpa_end_feed(&e, fpdu_send_hello, 10, 1);
	assert_int_equal(e.spill.out, 1);
	mpa_end_close(&e); /* asserts that no block is left */
}

/* The caller may examine a fault later, or not at all. */
static void faults_may_have_no_destination(void **state)
{
	struct iw_vec vec[2];
	struct iw_mpa_unit u;
	struct mpa_end e;

	(void)state;
	mpa_end_open(&e, mpa_cfg(false, 2));
	assert_int_equal(iw_mpa_rx_vec(e.m, (struct iw_vec){ 0 }, vec), 1);
	memcpy(vec[0].base, "x", 1);
	iw_mpa_received(e.m, 1);
	assert_int_equal(iw_mpa_next(e.m, &u, NULL), IW_E_MPA_FRAME);
	iw_mpa_rx_end(e.m);
	assert_int_equal(iw_mpa_next(e.m, &u, NULL), IW_E_MPA_FRAME);
	mpa_end_close(&e);
	mpa_end_open(&e, mpa_cfg(false, 2));
	assert_int_equal(iw_mpa_timeout(e.m, IW_TIME_NEVER - 1, NULL), IW_E_TIMEOUT);
	mpa_end_close(&e);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_state_has_a_name_of_its_own),
		cmocka_unit_test(an_idle_end_neither_sends_nor_reads),
		cmocka_unit_test(an_idle_connection_holds_no_buffer),
		cmocka_unit_test(the_spill_buffer_is_returned_when_the_object_is_freed),
		cmocka_unit_test(faults_may_have_no_destination),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
