// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Spurious retransmissions: RACK's margin for reordered packets, and the undone reduction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sctp/internal.h"

enum { TSN0 = 0xfffffff0u /* TSNs wrap */, PMDCS = 1468, CWND = 100 * PMDCS };

static struct iw_sctp s;
static struct path path;
static struct iw_sctp_assoc a;
static uint64_t now;

/*
 * Chunks 10 to 99 are in flight, and a recovery has begun that has retransmitted the first ones of
 * them.
 */
static void open_recovery(unsigned retransmissions)
{
	memset(&s, 0, sizeof(s));
	memset(&path, 0, sizeof(path));
	a = (struct iw_sctp_assoc){ .s = &s, .cc = &iw_sctp_cc_cubic, .paths = &path, .npaths = 1 };
	now = IW_SEC(1);
	path.srtt = IW_MSEC(20);
	path.a = &a;
	path.cc.pmdcs = PMDCS;
	path.cc.cwnd = CWND;
	path.cc.ssthresh = UINT32_MAX;
	a.out.tsn0 = TSN0;
	a.out.una = 10;
	a.out.next = 100;
	iw_sctp_begin_recovery(&a, 1, now);
	assert_true(path.cc.cwnd < CWND);
	for (unsigned i = 0; i < retransmissions; i++)
		iw_sctp_note_resent(&a.out, 10 + i);
}

/* The peer reports that it has received chunk seq twice. */
static void report_duplicate(uint64_t seq)
{
	uint8_t tsn[4];
	const struct iw_sctp_sack sack = { .ndups = 1, .dups = tsn };

	iw_put_be32(tsn, TSN0 + (uint32_t)seq);
	iw_sctp_take_dups(&a, &sack, now);
}

static void window_is_restored_if_all_retransmissions_were_spurious(void **state)
{
	(void)state;
	open_recovery(2);
	report_duplicate(10);
	assert_true(path.cc.cwnd < CWND);
	report_duplicate(11);
	assert_int_equal(path.cc.cwnd, CWND);
	assert_int_equal(path.cc.ssthresh, UINT32_MAX);
	/* A loss among the chunks that were in flight in the meantime reduces it again. */
	iw_sctp_begin_recovery(&a, 1, now);
	assert_true(path.cc.cwnd < CWND);
}

static void window_stays_reduced_while_a_chunk_is_lost(void **state)
{
	(void)state;
	open_recovery(1);
	a.out.nlost = 1;
	report_duplicate(10);
	assert_true(path.cc.cwnd < CWND);
}

/* A network that duplicates packets must not hide losses. */
static void duplicates_of_other_chunks_are_ignored(void **state)
{
	(void)state;
	open_recovery(1);
	report_duplicate(9);
	report_duplicate(11);
	report_duplicate(100);
	assert_true(path.cc.cwnd < CWND);
	assert_int_equal(a.out.margin, 0);
	assert_false(a.out.reordered);
}

static void duplicate_counts_once_for_each_retransmission(void **state)
{
	(void)state;
	open_recovery(2);
	iw_sctp_note_resent(&a.out, 11);
	report_duplicate(10);
	report_duplicate(10);
	report_duplicate(10);
	assert_true(path.cc.cwnd < CWND);
	report_duplicate(11);
	assert_true(path.cc.cwnd < CWND);
	report_duplicate(11);
	assert_int_equal(path.cc.cwnd, CWND);
}

static void retransmissions_of_an_earlier_recovery_are_ignored(void **state)
{
	(void)state;
	open_recovery(1);
	a.out.in_recovery = false;
	iw_sctp_begin_recovery(&a, 1, IW_SEC(2));
	iw_sctp_note_resent(&a.out, 11);
	report_duplicate(10);
	assert_int_equal(a.out.undo_left, 1);
}

static void more_retransmissions_than_the_table_holds_are_not_undone(void **state)
{
	(void)state;
	open_recovery(UNDO_MAX + 1);
	for (unsigned i = 0; i <= UNDO_MAX; i++)
		report_duplicate(10 + i);
	assert_true(path.cc.cwnd < CWND);
	assert_int_equal(a.out.margin, 1);
}

static void nothing_is_undone_two_round_trips_after_the_recovery(void **state)
{
	(void)state;
	open_recovery(1);
	a.out.una = a.out.next; /* all is acknowledged */
	iw_sctp_end_recovery(&a, now);
	now += IW_MSEC(40);
	report_duplicate(10);
	assert_true(path.cc.cwnd < CWND);

	open_recovery(1);
	a.out.una = a.out.next;
	iw_sctp_end_recovery(&a, now);
	now += IW_MSEC(40) - 1;
	report_duplicate(10);
	assert_int_equal(path.cc.cwnd, CWND);
}

/* The recovery began because the tail-loss probe, chunk 99, was acknowledged after 240 ms. */
static void open_recovery_by_probe(void)
{
	open_recovery(0);
	a.out.tlp_out = true;
	a.out.tlp_seq = 99;
	a.out.tlp_wait = IW_MSEC(240);
	iw_sctp_note_resent(&a.out, 99);
	a.out.tlp_out = false;
}

static void early_probe_shows_no_reordering(void **state)
{
	(void)state;
	open_recovery_by_probe();
	report_duplicate(99);
	assert_int_equal(path.cc.cwnd, CWND);
	assert_false(a.out.reordered);
	assert_int_equal(a.out.margin, 0);
	/* Other retransmissions of such a recovery do, and the same chunk in a recovery without it. */
	open_recovery_by_probe();
	iw_sctp_note_resent(&a.out, 11);
	report_duplicate(11);
	assert_true(a.out.reordered);
	open_recovery_by_probe();
	a.out.in_recovery = false;
	iw_sctp_begin_recovery(&a, 1, now);
	iw_sctp_note_resent(&a.out, 99);
	report_duplicate(99);
	assert_true(a.out.reordered);
}

/* The original arrived just before the probe, which was sent 240 ms after it. */
static void early_probe_can_be_undone_during_its_wait(void **state)
{
	(void)state;
	for (unsigned late = 0; late < 2; late++) {
		open_recovery_by_probe();
		a.out.una = a.out.next;
		iw_sctp_end_recovery(&a, now);
		now += IW_MSEC(240 + 40) - 1 + late;
		report_duplicate(99);
		if (late)
			assert_true(path.cc.cwnd < CWND);
		else
			assert_int_equal(path.cc.cwnd, CWND);
	}
}

static void margin_grows_once_in_a_round_trip(void **state)
{
	(void)state;
	open_recovery(3);
	report_duplicate(10);
	report_duplicate(11);
	assert_int_equal(a.out.margin, 1);
	a.out.una = a.out.margin_seq;
	report_duplicate(12);
	assert_int_equal(a.out.margin, 2);
}

/* RFC 8985 6.2, step 4: reo_wnd_persist */
static void margin_ends_after_16_recoveries(void **state)
{
	(void)state;
	open_recovery(1);
	report_duplicate(10);
	for (int i = 0; i < 15; i++)
		iw_sctp_end_recovery(&a, now);
	assert_int_equal(a.out.margin, 1);
	iw_sctp_end_recovery(&a, now);
	assert_int_equal(a.out.margin, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(window_is_restored_if_all_retransmissions_were_spurious),
		cmocka_unit_test(window_stays_reduced_while_a_chunk_is_lost),
		cmocka_unit_test(duplicates_of_other_chunks_are_ignored),
		cmocka_unit_test(duplicate_counts_once_for_each_retransmission),
		cmocka_unit_test(retransmissions_of_an_earlier_recovery_are_ignored),
		cmocka_unit_test(more_retransmissions_than_the_table_holds_are_not_undone),
		cmocka_unit_test(nothing_is_undone_two_round_trips_after_the_recovery),
		cmocka_unit_test(early_probe_shows_no_reordering),
		cmocka_unit_test(early_probe_can_be_undone_during_its_wait),
		cmocka_unit_test(margin_grows_once_in_a_round_trip),
		cmocka_unit_test(margin_ends_after_16_recoveries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
