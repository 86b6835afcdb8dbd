// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Congestion control of one path: windows as in RFC 9260 7.2 and RFC 9438. */
#include "sctp/cc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/num.h"

enum { PMDCS = 1468 };

static struct iw_sctp_cc with(uint32_t cwnd, uint32_t ssthresh)
{
	return (struct iw_sctp_cc){ .cwnd = cwnd, .ssthresh = ssthresh, .pmdcs = PMDCS };
}

static const struct iw_sctp_cc_ops *cubic(void)
{
	return iw_sctp_cc_find("cubic");
}

/* SX-21: RFC 9260 7.2.1, the initial window. */
static void the_first_window_is_the_lesser_of_four_chunks_and_4404_octets(void **state)
{
	static const struct {
		uint32_t pmdcs;
		bool ipv4;
		uint32_t cwnd;
	} rows[] = { { 1468, true, 4404 },
		     { 1448, false, 4344 },
		     { 500, true, 2000 },
		     { 8968, true, 17936 } };

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct iw_sctp_cc c;

		iw_sctp_cc_init(&c, rows[i].pmdcs, rows[i].ipv4);
		assert_int_equal(c.cwnd, rows[i].cwnd);
		assert_int_equal(c.ssthresh, UINT32_MAX);
	}
}

/*
 * SX-21: slow start grows cwnd by the acknowledged octets, at most L chunks, if the window is fully
 * used.
 */
static void slow_start_grows_by_the_octets_acknowledged_up_to_l_chunks(void **state)
{
	struct iw_sctp_cc_ack ack = { .octets = 1000, .flight_before = 10000, .l = 1 };
	struct iw_sctp_cc c = with(10000, 20000);

	(void)state;
	iw_sctp_cc_rfc9260.ack(&c, &ack);
	assert_int_equal(c.cwnd, 11000);
	ack.octets = 5000;
	ack.flight_before = 11000;
	iw_sctp_cc_rfc9260.ack(&c, &ack);
	assert_int_equal(c.cwnd, 11000 + PMDCS);
	ack.flight_before = c.cwnd - 1;
	iw_sctp_cc_rfc9260.ack(&c, &ack);
	assert_int_equal(c.cwnd, 11000 + PMDCS);
	ack.flight_before = c.cwnd;
	ack.in_recovery = true;
	iw_sctp_cc_rfc9260.ack(&c, &ack);
	assert_int_equal(c.cwnd, 11000 + PMDCS);
	ack.in_recovery = false;
	ack.l = 3;
	iw_sctp_cc_rfc9260.ack(&c, &ack);
	assert_int_equal(c.cwnd, 11000 + PMDCS + 3 * PMDCS);
}

/* SX-21: congestion avoidance: one chunk for each window that was fully used. */
static void congestion_avoidance_grows_by_a_chunk_a_window(void **state)
{
	struct iw_sctp_cc_ack ack = { .octets = 4000, .flight_before = 10000, .l = 1 };
	struct iw_sctp_cc c = with(10000, 5000);

	(void)state;
	iw_sctp_cc_rfc9260.ack(&c, &ack);
	iw_sctp_cc_rfc9260.ack(&c, &ack);
	assert_int_equal(c.cwnd, 10000);
	iw_sctp_cc_rfc9260.ack(&c, &ack);
	assert_int_equal(c.cwnd, 10000 + PMDCS);
	assert_int_equal(c.pba, 2000);
	/* While the window is not fully used, pba is at most cwnd. */
	ack.flight_before = 100;
	ack.octets = 30000;
	iw_sctp_cc_rfc9260.ack(&c, &ack);
	assert_int_equal(c.pba, c.cwnd);
	assert_int_equal(c.cwnd, 10000 + PMDCS);
	ack.all_acked = true;
	iw_sctp_cc_rfc9260.ack(&c, &ack);
	assert_int_equal(c.pba, 0);
}

/* SX-21: RFC 9260 7.2.3. */
static void a_loss_halves_the_window_and_a_timeout_leaves_one_chunk(void **state)
{
	struct iw_sctp_cc c = with(40000, UINT32_MAX);

	(void)state;
	c.pba = 7;
	iw_sctp_cc_rfc9260.loss(&c);
	assert_int_equal(c.cwnd, 20000);
	assert_int_equal(c.ssthresh, 20000);
	assert_int_equal(c.pba, 0);
	iw_sctp_cc_rfc9260.timeout(&c);
	assert_int_equal(c.cwnd, PMDCS);
	assert_int_equal(c.ssthresh, 10000);
	iw_sctp_cc_rfc9260.loss(&c);
	assert_int_equal(c.ssthresh, 4 * PMDCS);
}

/* SX-21: RFC 9260 7.2.1, an idle path. */
static void an_idle_path_halves_its_window_down_to_four_chunks(void **state)
{
	struct iw_sctp_cc c = with(40000, 50000);

	(void)state;
	iw_sctp_cc_idle(&c, true);
	assert_int_equal(c.ssthresh, 40000);
	assert_int_equal(c.cwnd, 20000);
	iw_sctp_cc_idle(&c, false);
	iw_sctp_cc_idle(&c, false);
	iw_sctp_cc_idle(&c, false);
	assert_int_equal(c.cwnd, 4 * PMDCS);
	assert_int_equal(c.ssthresh, 40000);
	c.cwnd = PMDCS; /* an idle path does not raise cwnd after a timeout */
	iw_sctp_cc_idle(&c, false);
	assert_int_equal(c.cwnd, PMDCS);
}

/* RFC 9438: after a loss the window reaches w_max after K, is flat there, and grows beyond. */
static void cubic_reaches_its_former_window_after_k_and_continues_to_grow(void **state)
{
	struct iw_sctp_cc c = with(1000 * PMDCS, 10);
	struct iw_sctp_cc_ack ack = { .octets = 10 * PMDCS,
				      .flight_before = UINT32_MAX,
				      .l = 1,
				      .srtt = IW_MSEC(100),
				      .now = IW_SEC(5) };
	uint32_t at_k = 0;

	(void)state;
	cubic()->loss(&c);
	assert_in_range(c.cwnd, 699 * PMDCS, 700 * PMDCS);
	cubic()->ack(&c, &ack); /* at ssthresh: still slow start, for one SACK */
	cubic()->ack(&c, &ack);
	/* K = cbrt(300 / 0.4) = 9.09 s */
	assert_in_range(c.k, IW_MSEC(9050), IW_MSEC(9120));
	for (; ack.now < IW_SEC(5) + IW_SEC(20); ack.now += IW_MSEC(1)) {
		cubic()->ack(&c, &ack);
		if (ack.now == IW_SEC(14))
			at_k = c.cwnd;
	}
	assert_in_range(at_k, 990 * PMDCS, 1060 * PMDCS);
	/* 0.4 * 10.9^3 = 518 more, and not less than Reno */
	assert_in_range(c.cwnd, 1400 * PMDCS, 1700 * PMDCS);
}

/* RFC 9438 4.2: the target is at most 1.5 cwnd, however long ago the loss was. */
static void cubic_grows_by_half_a_window_a_round_trip_at_most(void **state)
{
	struct iw_sctp_cc c = with(100 * PMDCS, 10);
	struct iw_sctp_cc_ack ack = {
		.flight_before = UINT32_MAX, .l = 1, .srtt = IW_MSEC(10), .now = IW_SEC(5)
	};
	uint32_t before;

	(void)state;
	cubic()->loss(&c);
	cubic()->ack(&c, &ack); /* at ssthresh: still slow start */
	ack.octets = PMDCS;
	cubic()->ack(&c, &ack);
	cubic()->ack(&c, &ack);
	before = c.cwnd;
	ack.now += IW_SEC(60);
	ack.octets = c.cwnd;
	cubic()->ack(&c, &ack);
	assert_in_range(c.cwnd, before + before / 3, before + before / 2);
}

static void cubic_is_no_slower_than_reno_on_short_paths(void **state)
{
	struct iw_sctp_cc c = with(20 * PMDCS, 10);
	struct iw_sctp_cc_ack ack = {
		.flight_before = UINT32_MAX, .l = 1, .srtt = IW_MSEC(1), .now = IW_SEC(5)
	};

	(void)state;
	cubic()->loss(&c);
	for (int i = 0; i < 100; i++) { /* round trips */
		ack.octets = c.cwnd;
		ack.now += IW_MSEC(1);
		cubic()->ack(&c, &ack);
	}
	assert_in_range(c.cwnd, 14 * PMDCS + 80 * PMDCS, 14 * PMDCS + 101 * PMDCS);
}

/* RFC 9438 4.3: Reno's window grows by 9/17 segments in a round trip, also by small steps. */
static void renos_window_grows_while_sacks_for_few_packets_arrive(void **state)
{
	struct iw_sctp_cc c = with(4000000, 10);
	struct iw_sctp_cc_ack ack = { .octets = 2 * PMDCS,
				      .flight_before = UINT32_MAX,
				      .l = 1,
				      .srtt = IW_MSEC(1),
				      .now = IW_SEC(5) };
	uint32_t before;

	(void)state;
	cubic()->loss(&c);
	while (c.epoch == 0) /* it begins after slow start */
		cubic()->ack(&c, &ack);
	before = c.w_est;
	for (uint32_t acked = 0; acked < before; acked += ack.octets)
		cubic()->ack(&c, &ack);
	assert_in_range(c.w_est - before, PMDCS * 9 / 17 - 10, PMDCS * 9 / 17 + 10);
}

static void cubic_falls_to_seven_tenths_and_remembers_less_when_losing_twice(void **state)
{
	struct iw_sctp_cc c = with(100000, 10);

	(void)state;
	cubic()->loss(&c);
	assert_int_equal(c.cwnd, 70000);
	assert_int_equal(c.w_max, 100000);
	cubic()->loss(&c);
	assert_int_equal(c.w_max, 59500);
	cubic()->timeout(&c);
	assert_int_equal(c.cwnd, PMDCS);
}

static void controllers_are_found_by_name(void **state)
{
	(void)state;
	assert_ptr_equal(iw_sctp_cc_find("rfc9260"), &iw_sctp_cc_rfc9260);
	assert_string_equal(iw_sctp_cc_find("cubic")->name, "cubic");
	assert_ptr_equal(iw_sctp_cc_find("bbr"), &iw_sctp_cc_bbr);
	assert_null(iw_sctp_cc_find("reno"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_window_is_the_lesser_of_four_chunks_and_4404_octets),
		cmocka_unit_test(slow_start_grows_by_the_octets_acknowledged_up_to_l_chunks),
		cmocka_unit_test(congestion_avoidance_grows_by_a_chunk_a_window),
		cmocka_unit_test(a_loss_halves_the_window_and_a_timeout_leaves_one_chunk),
		cmocka_unit_test(an_idle_path_halves_its_window_down_to_four_chunks),
		cmocka_unit_test(cubic_reaches_its_former_window_after_k_and_continues_to_grow),
		cmocka_unit_test(cubic_grows_by_half_a_window_a_round_trip_at_most),
		cmocka_unit_test(cubic_is_no_slower_than_reno_on_short_paths),
		cmocka_unit_test(renos_window_grows_while_sacks_for_few_packets_arrive),
		cmocka_unit_test(cubic_falls_to_seven_tenths_and_remembers_less_when_losing_twice),
		cmocka_unit_test(controllers_are_found_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
