// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * BBR: the states of the model, and its response to losses and to a user that sends little. Then
 * which controller an association uses, with --cc auto and without memory for a model.
 */
#include "sctp/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "unit/sctp_net.h"
#include "util/mem.h"

enum { PMDCS = 1468, RATE = 10000000 /* octets a second */ };

#define RTT IW_MSEC(20)
#define BDP ((uint32_t)((uint64_t)RATE * 20 / 1000))

/* A path whose rounds the test feeds to the controller. */
static struct {
	struct iw_sctp_bbr model;
	struct iw_sctp_cc cc;
	const struct iw_sctp_cc_ops *ops;
	uint64_t now, delivered, lost, lost_then;
	uint32_t flight; /* before and after each SACK */
	bool app_limited;
	uint64_t rate, rtt;
} path;

static void open_path(void)
{
	memset(&path, 0, sizeof(path));
	path.ops = iw_sctp_cc_find("bbr");
	path.now = IW_SEC(1);
	path.rate = RATE;
	path.rtt = RTT;
	path.flight = BDP;
	iw_sctp_bbr_init(&path.model, 1);
	iw_sctp_cc_init(&path.cc, PMDCS, true);
	path.cc.bbr = &path.model;
}

/* One round trip in which `octets` are delivered and `lost` are lost, reported by one SACK. */
static void round_trip(uint32_t octets, uint32_t lost)
{
	struct iw_sctp_cc_sample s = { .rate = path.rate, .rtt = path.rtt };
	struct iw_sctp_cc_ack ack = { .octets = octets, .sample = &s };

	path.now += path.rtt;
	s.delivered_then = path.delivered;
	path.delivered += octets;
	path.lost += lost;
	s.delivered = path.delivered;
	s.lost = path.lost;
	s.lost_then = path.lost_then;
	s.flight_then = octets;
	s.app_limited = path.app_limited;
	ack.flight_before = ack.flight = path.flight;
	ack.now = path.now;
	ack.srtt = path.rtt;
	path.ops->ack(&path.cc, &ack);
}

/* Rounds of full use until the model reaches the state, at most 100. */
static void run_to(enum iw_sctp_bbr_state state)
{
	for (unsigned i = 0; i < 100 && path.model.state != state; i++)
		round_trip(BDP, 0);
	assert_int_equal(path.model.state, state);
}

static void startup_ends_when_the_rate_no_longer_grows(void **state)
{
	(void)state;
	open_path();
	path.flight = 3 * BDP;
	for (path.rate = RATE / 16; path.rate < RATE; path.rate *= 2) {
		round_trip(BDP, 0);
		assert_int_equal(path.model.state, IW_SCTP_BBR_STARTUP);
	}
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(path.model.state, IW_SCTP_BBR_STARTUP);
		round_trip(BDP, 0);
	}
	round_trip(BDP, 0);
	assert_int_equal(path.model.state, IW_SCTP_BBR_DRAIN);
	round_trip(BDP, 0);
	assert_int_equal(path.model.state, IW_SCTP_BBR_DRAIN); /* the queue is still there */
	path.flight = BDP / 2;
	round_trip(BDP, 0);
	assert_int_equal(path.model.state, IW_SCTP_BBR_DOWN);
}

static void startup_does_not_end_while_the_user_limits_the_rate(void **state)
{
	(void)state;
	open_path();
	path.app_limited = true;
	for (unsigned i = 0; i < 20; i++)
		round_trip(BDP, 0);
	assert_int_equal(path.model.state, IW_SCTP_BBR_STARTUP);
}

static void the_phases_follow_each_other_at_their_rates(void **state)
{
	(void)state;
	open_path();
	run_to(IW_SCTP_BBR_CRUISE);
	round_trip(BDP, 0);
	assert_in_range(path.cc.pacing, RATE * 98ull / 100, RATE);
	assert_in_range(path.cc.cwnd, 2 * BDP - PMDCS, 3 * BDP);
	run_to(IW_SCTP_BBR_REFILL);
	run_to(IW_SCTP_BBR_UP);
	assert_in_range(path.cc.pacing, RATE * 122ull / 100, RATE * 125ull / 100);
	path.flight = 2 * BDP;
	run_to(IW_SCTP_BBR_DOWN);
	assert_true(path.cc.pacing < RATE);
}

/* Request and answer for many cycles: the rate that the path has shown before remains. */
static void a_user_that_sends_little_does_not_lower_the_rate(void **state)
{
	(void)state;
	open_path();
	run_to(IW_SCTP_BBR_CRUISE);
	path.app_limited = true;
	path.rate = RATE / 100;
	path.flight = 0;
	for (unsigned i = 0; i < 200; i++)
		round_trip(3000, 0);
	assert_in_range(path.model.rate_max[0] | path.model.rate_max[1], RATE, UINT64_MAX);
	path.flight = BDP;
	path.app_limited = false;
	path.rate = RATE;
	round_trip(BDP, 0);
	assert_true(path.cc.pacing >= RATE * 85ull / 100);
}

/* A path that has become slower is believed after two cycles. */
static void a_lower_rate_is_learnt(void **state)
{
	(void)state;
	open_path();
	run_to(IW_SCTP_BBR_CRUISE);
	path.rate = RATE / 4;
	path.flight = 2 * BDP;
	for (unsigned i = 0; i < 60; i++)
		round_trip(BDP / 4, 0);
	assert_in_range(IW_MAX(path.model.rate_max[0], path.model.rate_max[1]), RATE / 4, RATE / 4);
}

static void few_losses_change_nothing(void **state)
{
	uint32_t cwnd;

	(void)state;
	open_path();
	run_to(IW_SCTP_BBR_CRUISE);
	cwnd = path.cc.cwnd;
	round_trip(BDP - BDP / 100, BDP / 100);
	path.ops->loss(&path.cc);
	assert_true(path.cc.cwnd >= cwnd);
	assert_true(path.cc.pacing >= RATE * 98ull / 100);
}

static void many_losses_lower_the_window_by_at_most_three_tenths_a_round(void **state)
{
	(void)state;
	open_path();
	run_to(IW_SCTP_BBR_CRUISE);
	for (unsigned i = 0; i < 3; i++) {
		uint32_t cwnd = path.cc.cwnd;

		path.rate = path.rate * 8 / 10;
		round_trip(BDP / 2, BDP / 5);
		assert_true(path.cc.cwnd < cwnd);
		assert_true(path.cc.cwnd >= cwnd / 10 * 7 - 10);
	}
	assert_true(path.cc.pacing >= RATE / 4);
}

static void after_ten_seconds_the_path_is_emptied_for_a_measurement(void **state)
{
	(void)state;
	open_path();
	run_to(IW_SCTP_BBR_CRUISE);
	path.rtt = RTT + IW_MSEC(2); /* a queue: the old measurement is not renewed */
	path.flight = 2 * BDP;
	for (unsigned i = 0; i < 600 && path.model.state != IW_SCTP_BBR_RTT; i++)
		round_trip(BDP, 0);
	assert_int_equal(path.model.state, IW_SCTP_BBR_RTT);
	assert_true(path.cc.cwnd <= BDP * 6 / 10);
	path.flight = BDP / 4;
	path.rtt = RTT;
	for (unsigned i = 0; i < 20 && path.model.state == IW_SCTP_BBR_RTT; i++)
		round_trip(BDP / 4, 0);
	assert_int_equal(path.model.state, IW_SCTP_BBR_DOWN);
	assert_int_equal(path.model.rtt_min, RTT);
}

static void idle_time_needs_no_such_measurement(void **state)
{
	(void)state;
	open_path();
	run_to(IW_SCTP_BBR_CRUISE);
	path.now += IW_SEC(20);
	path.flight = 0;
	path.rtt = RTT + IW_MSEC(1);
	round_trip(3000, 0);
	assert_int_not_equal(path.model.state, IW_SCTP_BBR_RTT);
	assert_int_equal(path.model.rtt_min, RTT + IW_MSEC(1));
}

static void a_timeout_leaves_one_chunk_and_keeps_the_model(void **state)
{
	(void)state;
	open_path();
	run_to(IW_SCTP_BBR_CRUISE);
	path.ops->timeout(&path.cc);
	assert_int_equal(path.cc.cwnd, PMDCS);
	path.flight = BDP;
	round_trip(BDP, 0);
	round_trip(BDP, 0);
	assert_true(path.cc.cwnd >= 2 * BDP);
}

/* A timeout of a whole BDP, and the first acknowledgement of a chunk that was sent afterwards. */
static void time_out(void)
{
	path.ops->timeout(&path.cc);
	path.lost += BDP;
	path.lost_then = path.lost;
	round_trip(PMDCS, 0);
}

static void losses_of_a_timeout_do_not_lower_the_bounds(void **state)
{
	uint32_t cwnd;

	(void)state;
	open_path();
	run_to(IW_SCTP_BBR_UP);
	time_out();
	assert_int_equal(path.model.state, IW_SCTP_BBR_UP);
	assert_int_equal(path.model.flight_hi, UINT32_MAX);
	assert_int_equal(path.model.flight_lo, UINT32_MAX);

	open_path();
	run_to(IW_SCTP_BBR_CRUISE);
	cwnd = path.cc.cwnd;
	time_out();
	assert_int_equal(path.model.rate_lo, UINT64_MAX);
	assert_int_equal(path.model.flight_lo, cwnd);
	time_out();
	assert_int_equal(path.model.flight_lo, cwnd);
	/* Losses that follow lower the bound from there, not from the reduced window. */
	round_trip(BDP / 2, BDP / 5);
	assert_int_equal(path.model.flight_lo, (uint64_t)cwnd * 7 / 10);

	/* Idle time has reduced the window: the model knows how much the path holds. */
	open_path();
	run_to(IW_SCTP_BBR_CRUISE);
	path.cc.cwnd = 4 * PMDCS;
	time_out();
	assert_in_range(path.model.flight_lo, BDP * 9 / 10, BDP);
}

/* What is lost of a few chunks does not show how much the path holds. */
static void a_user_that_sends_little_sets_no_upper_bound(void **state)
{
	(void)state;
	for (unsigned limited = 0; limited < 2; limited++) {
		open_path();
		run_to(IW_SCTP_BBR_UP);
		path.app_limited = limited;
		round_trip(5 * PMDCS, 5 * PMDCS);
		assert_int_not_equal(path.model.state, IW_SCTP_BBR_UP);
		if (limited)
			assert_int_equal(path.model.flight_hi, UINT32_MAX);
		else
			assert_int_not_equal(path.model.flight_hi, UINT32_MAX);
	}
}

/* --- the choice of a controller --------------------------------------------------------------- */

static struct net n;

static void open_net(const char *cc, uint64_t delay)
{
	net_init(&n, 7);
	n.a.cfg.cc = n.b.cfg.cc = iw_sctp_cc_find(cc);
	n.ab.delay = n.ba.delay = delay;
	net_start(&n);
	assert_true(net_up(&n));
}

static void queue_message(void)
{
	static uint8_t octets[1000];
	const struct iw_vec vec = { octets, sizeof(octets) };
	const struct iw_sctp_send m = { .vec = &vec, .nvec = 1 };

	assert_int_equal(iw_sctp_send(n.a.a, &m, NULL), 0);
}

/* Sends a message every 5 ms for that time. Returns the name of the controller in use. */
static const char *used_after(uint64_t ns)
{
	uint64_t until = n.now + ns;
	struct iw_sctp_facts facts;

	while (n.now < until) {
		queue_message();
		net_run(&n, n.now + IW_MSEC(5));
	}
	iw_sctp_facts(n.a.a, &facts);
	return facts.cc;
}

/* The octets that arrive at b in that time, while a always has something to send. */
static uint64_t arrives_in(uint64_t ns)
{
	uint64_t until = n.now + ns, before = net_acked(n.a.a);

	while (n.now < until) {
		static uint8_t octets[1000];
		const struct iw_vec vec = { octets, sizeof(octets) };
		const struct iw_sctp_send m = { .vec = &vec, .nvec = 1, .copy = true };
		struct iw_sctp_done d;

		while (iw_sctp_send(n.a.a, &m, NULL) == 0)
			continue;
		net_run(&n, n.now + IW_MSEC(1));
		while (iw_sctp_next_done(n.a.a, &d))
			continue;
	}
	return net_acked(n.a.a) - before;
}

/* 100 Mb/s, 100 ms: the bounds are those of the path, not of the chunk that T3 sends. */
static void a_long_path_recovers_from_an_outage(void **state)
{
	static const enum iw_sctp_bbr_state in[] = { IW_SCTP_BBR_UP, IW_SCTP_BBR_CRUISE };

	(void)state;
	for (unsigned i = 0; i < IW_ARRAY_LEN(in); i++) {
		const struct iw_sctp_bbr *b;
		uint64_t before;

		open_net("bbr", IW_MSEC(50));
		n.ab.ns_per_octet = 80;
		n.ab.queue = IW_MSEC(100);
		(void)arrives_in(IW_SEC(5));
		before = arrives_in(IW_SEC(2));
		b = n.a.a->paths[0].cc.bbr;
		while (b->state != in[i])
			(void)arrives_in(IW_MSEC(10));
		n.ab.cut = n.ba.cut = true;
		(void)arrives_in(IW_MSEC(1500));
		n.ab.cut = n.ba.cut = false;
		while (n.a.a->errors > 0 || n.a.a->paths[0].nflight < 10)
			(void)arrives_in(IW_MSEC(10));
		assert_true(b->flight_hi > 100000000 / 8 / 10 / 2);
		assert_true(b->flight_lo > 100000000 / 8 / 10 / 2);
		assert_true(b->rate_lo == UINT64_MAX);
		(void)arrives_in(IW_SEC(1));
		assert_in_range(arrives_in(IW_SEC(2)), before * 3 / 4, 2 * before);
		net_free(&n);
	}
}

static void auto_is_cubic_on_a_short_path(void **state)
{
	(void)state;
	open_net("auto", IW_MSEC(1) / 10);
	assert_string_equal(used_after(IW_SEC(1)), "cubic");
	net_free(&n);
}

static void auto_is_bbr_on_a_long_path_until_it_proves_short(void **state)
{
	(void)state;
	open_net("auto", IW_MSEC(10));
	assert_string_equal(used_after(IW_SEC(1)), "bbr");
	n.ab.delay = n.ba.delay = IW_MSEC(1) / 10;
	assert_string_equal(used_after(IW_SEC(1)), "cubic");
	net_free(&n);
}

static void without_memory_for_a_model_cubic_is_used(void **state)
{
	(void)state;
	open_net("bbr", IW_MSEC(10));
	queue_message();
	n.a.mem.fail_from = n.a.mem.calls + 1; /* the model is allocated when DATA is sent */
	net_run(&n, n.now + IW_MSEC(5));
	n.a.mem.fail_from = 0;
	assert_string_equal(used_after(IW_SEC(1)), "cubic");
	net_free(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(startup_ends_when_the_rate_no_longer_grows),
		cmocka_unit_test(startup_does_not_end_while_the_user_limits_the_rate),
		cmocka_unit_test(the_phases_follow_each_other_at_their_rates),
		cmocka_unit_test(a_user_that_sends_little_does_not_lower_the_rate),
		cmocka_unit_test(a_lower_rate_is_learnt),
		cmocka_unit_test(few_losses_change_nothing),
		cmocka_unit_test(many_losses_lower_the_window_by_at_most_three_tenths_a_round),
		cmocka_unit_test(after_ten_seconds_the_path_is_emptied_for_a_measurement),
		cmocka_unit_test(idle_time_needs_no_such_measurement),
		cmocka_unit_test(a_timeout_leaves_one_chunk_and_keeps_the_model),
		cmocka_unit_test(losses_of_a_timeout_do_not_lower_the_bounds),
		cmocka_unit_test(a_user_that_sends_little_sets_no_upper_bound),
		cmocka_unit_test(a_long_path_recovers_from_an_outage),
		cmocka_unit_test(auto_is_cubic_on_a_short_path),
		cmocka_unit_test(auto_is_bbr_on_a_long_path_until_it_proves_short),
		cmocka_unit_test(without_memory_for_a_model_cubic_is_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
