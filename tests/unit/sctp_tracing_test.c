// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The events of an association: which ones are emitted, with which values. */
#include "sctp/sctp.h"

#include <stdlib.h>

#include "sctp/internal.h"
#include "unit/sctp_hand.h"
#include "unit/trace_log.h"

static struct hand h;
static struct trace_log events;

static void open_up(void)
{
	hand_open(&h);
	h.n.b.cfg.times.rto_min = IW_MSEC(1);
	trace_log_on(&events);
	h.n.b.cfg.tracer = &events.tracer;
	net_start(&h.n);
	hand_up(&h);
}

static void acknowledge(uint32_t cum, const uint16_t *gaps, uint16_t ngaps)
{
	hand_acknowledge(&h, cum, 100000, gaps, ngaps);
}

static const struct iw_trace_event *event(enum iw_trace_kind kind, size_t n)
{
	const struct iw_trace_event *ev = trace_log_get(&events, kind, n);

	assert_non_null(ev);
	return ev;
}

static size_t count(enum iw_trace_kind kind)
{
	return trace_log_count(&events, kind);
}

static void new_association_emits_its_paths(void **state)
{
	const struct iw_trace_event *ev;

	(void)state;
	open_up();
	ev = event(IW_TRACE_path, 0);
	assert_int_equal(ev->path.assoc, h.n.b.a->my_tag);
	assert_string_equal(ev->path.address, "192.0.2.9");
	assert_string_equal(ev->path.state, "active");
	assert_true(ev->path.primary && ev->path.path == 0);
	assert_int_equal(ev->path.mtu_octets, IW_SCTP_MTU_BASE);
	assert_int_equal(count(IW_TRACE_chunk_sent), 0);
	hand_close(&h);
}

static void chunks_losses_and_retransmissions_have_their_tsns(void **state)
{
	static const uint16_t one[] = { 2, 2 }, two[] = { 2, 3 }, three[] = { 2, 4 };
	const struct iw_trace_event *ev;

	(void)state;
	open_up();
	for (int n = 0; n < 4; n++)
		assert_int_equal(hand_post(h.n.b.a, 1000), 0);
	net_run(&h.n, h.n.now);
	assert_int_equal(count(IW_TRACE_chunk_sent), 4);
	for (uint32_t i = 0; i < 4; i++) {
		ev = event(IW_TRACE_chunk_sent, i);
		assert_int_equal(ev->chunk_sent.assoc, h.n.b.a->my_tag);
		assert_int_equal(ev->chunk_sent.tsn, h.peer_tsn + i);
		assert_int_equal(ev->chunk_sent.octets, 1000);
	}
	/* No round trip has passed, so RACK does not apply. */
	acknowledge(h.peer_tsn - 1, one, 1);
	acknowledge(h.peer_tsn - 1, two, 1);
	acknowledge(h.peer_tsn - 1, three, 1);
	assert_int_equal(count(IW_TRACE_lost), 1);
	ev = event(IW_TRACE_lost, 0);
	assert_string_equal(ev->lost.reason, "gap");
	assert_int_equal(ev->lost.tsn, h.peer_tsn);
	assert_true(ev->lost.octets == 1000 && ev->lost.sends == 1);
	assert_int_equal(count(IW_TRACE_chunk_retransmitted), 1);
	ev = event(IW_TRACE_chunk_retransmitted, 0);
	assert_int_equal(ev->chunk_retransmitted.tsn, h.peer_tsn);
	assert_int_equal(ev->chunk_retransmitted.sends, 2);
	assert_int_equal(count(IW_TRACE_acked), 3);
	ev = event(IW_TRACE_acked, 2);
	assert_int_equal(ev->acked.tsn, (uint32_t)(h.peer_tsn - 1));
	assert_true(ev->acked.gaps == 1 && ev->acked.rwnd_octets == 100000);
	assert_int_equal(count(IW_TRACE_chunk_sent), 4);
	hand_close(&h);
}

static void window_is_that_of_the_path_after_each_change(void **state)
{
	static const uint16_t three[] = { 2, 4 };
	const struct iw_trace_event *ev;
	struct iw_sctp_path p;
	size_t n;

	(void)state;
	open_up();
	for (int i = 0; i < 4; i++)
		assert_int_equal(hand_post(h.n.b.a, 1000), 0);
	net_run(&h.n, h.n.now);
	acknowledge(h.peer_tsn, NULL, 0);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	n = count(IW_TRACE_window);
	ev = event(IW_TRACE_window, n - 1);
	assert_int_equal(ev->window.cwnd_octets, p.cwnd);
	assert_int_equal(ev->window.ssthresh_octets, UINT32_MAX);
	assert_int_equal(ev->window.flight_octets, 3 * (1000 + IW_SCTP_DATA_HDR_LEN));
	/* The last three are acknowledged later, in gap blocks: their predecessor is lost. */
	net_run(&h.n, h.n.now + IW_MSEC(100));
	acknowledge(h.peer_tsn, three, 1);
	net_run(&h.n, h.n.now + IW_MSEC(100));
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	ev = event(IW_TRACE_window, count(IW_TRACE_window) - 1);
	assert_int_equal(ev->window.ssthresh_octets, p.ssthresh);
	assert_true(count(IW_TRACE_window) > n && p.ssthresh < UINT32_MAX);
	hand_close(&h);
}

/* RFC 9260 6.3.1, C3 */
static void round_trips_and_estimates_are_emitted(void **state)
{
	static const uint64_t trip[] = { IW_MSEC(100), IW_MSEC(200) };
	const struct iw_trace_event *ev;

	(void)state;
	open_up();
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(hand_post(h.n.b.a, 100), 0);
		net_run(&h.n, h.n.now + trip[i]);
		acknowledge(h.peer_tsn + i, NULL, 0);
	}
	assert_int_equal(count(IW_TRACE_rtt), 2);
	ev = event(IW_TRACE_rtt, 1);
	assert_int_equal(ev->rtt.rtt_ns, IW_MSEC(200));
	assert_int_equal(ev->rtt.srtt_ns, 112500000);
	assert_int_equal(ev->rtt.rttvar_ns, 62500000);
	assert_int_equal(ev->rtt.rto_ns, 112500000 + 4 * 62500000);
	hand_close(&h);
}

static void timers_are_emitted_when_they_expire(void **state)
{
	const struct iw_trace_event *ev;

	(void)state;
	open_up();
	assert_int_equal(hand_post(h.n.b.a, 100), 0);
	net_run(&h.n, h.n.now + IW_MSEC(1500)); /* RTO.Initial is 1 s */
	assert_true(count(IW_TRACE_timer) >= 1);
	ev = event(IW_TRACE_timer, 0);
	assert_string_equal(ev->timer.name, "t3");
	assert_int_equal(ev->timer.after_ns, IW_SEC(1));
	ev = event(IW_TRACE_lost, 0);
	assert_string_equal(ev->lost.reason, "t3");
	ev = event(IW_TRACE_window, count(IW_TRACE_window) - 1);
	assert_int_equal(ev->window.cwnd_octets, h.n.b.a->paths[0].cc.pmdcs);
	hand_close(&h);
}

/* Opens a traced association that has measured a round trip of 10 ms. */
static void open_with_round_trip(void)
{
	hand_open(&h);
	trace_log_on(&events);
	h.n.b.cfg.tracer = &events.tracer;
	net_start(&h.n);
	hand_up(&h);
	assert_int_equal(hand_post(h.n.b.a, 1000), 0);
	net_run(&h.n, h.n.now + IW_MSEC(10));
	acknowledge(h.peer_tsn, NULL, 0);
}

/* The probe is sent again, but not considered lost. */
static void tail_probe_is_a_timer_and_a_retransmission(void **state)
{
	const struct iw_trace_event *ev;

	(void)state;
	open_with_round_trip();
	assert_int_equal(hand_post(h.n.b.a, 1000), 0);
	net_run(&h.n, h.n.now + IW_MSEC(500));
	assert_int_equal(count(IW_TRACE_timer), 1);
	ev = event(IW_TRACE_timer, 0);
	assert_string_equal(ev->timer.name, "tail_probe");
	assert_int_equal(ev->timer.after_ns, IW_MSEC(220)); /* 2 * SRTT, 200 ms for one packet */
	assert_int_equal(count(IW_TRACE_lost), 0);
	assert_int_equal(count(IW_TRACE_chunk_retransmitted), 1);
	hand_close(&h);
}

static const struct iw_trace_event *timer_named(const char *name)
{
	for (size_t i = 0; i < count(IW_TRACE_timer); i++)
		if (strcmp(event(IW_TRACE_timer, i)->timer.name, name) == 0)
			return event(IW_TRACE_timer, i);
	return NULL;
}

/* The retransmission is lost too: a probe follows long before T3, whose RTO is a second. */
static void tail_probe_is_sent_in_recovery(void **state)
{
	static const uint16_t two[] = { 2, 3 };

	(void)state;
	open_with_round_trip();
	for (int i = 0; i < 3; i++)
		assert_int_equal(hand_post(h.n.b.a, 1000), 0);
	net_run(&h.n, h.n.now + IW_MSEC(10));
	acknowledge(h.peer_tsn, two, 1);
	net_run(&h.n, h.n.now + IW_MSEC(400));
	assert_non_null(timer_named("rack"));
	assert_non_null(timer_named("tail_probe"));
	assert_null(timer_named("t3"));
	assert_int_equal(count(IW_TRACE_chunk_retransmitted), 2);
	hand_close(&h);
}

static void delayed_sack_is_a_timer(void **state)
{
	const struct iw_trace_event *ev;

	(void)state;
	open_up();
	hand_say_data(&h, 7, HAND_TSN, 0, "acknowledged at once");
	hand_say_data(&h, 7, HAND_TSN + 1, 0, "delayed");
	net_run(&h.n, h.n.now + IW_MSEC(200) - 1);
	assert_null(timer_named("sack"));
	net_run(&h.n, h.n.now + 1);
	ev = timer_named("sack");
	assert_non_null(ev);
	assert_int_equal(ev->timer.after_ns, IW_MSEC(200));
	hand_close(&h);
}

/* The second chunk is acknowledged before the first; RFC 8985 6.2: a quarter of the round trip. */
static void reordering_window_of_rack_is_a_timer(void **state)
{
	static const uint16_t second[] = { 2, 2 };
	const struct iw_trace_event *ev;

	(void)state;
	open_up();
	for (int i = 0; i < 2; i++)
		assert_int_equal(hand_post(h.n.b.a, 100), 0);
	net_run(&h.n, h.n.now + IW_MSEC(40));
	acknowledge(h.peer_tsn - 1, second, 1);
	assert_null(timer_named("rack"));
	net_run(&h.n, h.n.now + IW_MSEC(10));
	ev = timer_named("rack");
	assert_non_null(ev);
	assert_int_equal(ev->timer.after_ns, IW_MSEC(10));
	assert_string_equal(event(IW_TRACE_lost, 0)->lost.reason, "rack");
	hand_close(&h);
}

/* RFC 9260 9.2: five times RTO.Max, which ends an association whose SHUTDOWN is never answered. */
static void guard_of_the_shutdown_is_a_timer(void **state)
{
	const struct iw_trace_event *ev;

	(void)state;
	open_up();
	iw_sctp_shutdown(h.n.b.a, h.n.now);
	while (iw_sctp_assoc_state(h.n.b.a) != IW_SCTP_CLOSED)
		assert_true(net_step(&h.n));
	ev = event(IW_TRACE_timer, count(IW_TRACE_timer) - 1);
	assert_string_equal(ev->timer.name, "shutdown_guard");
	assert_int_equal(ev->timer.after_ns, 5 * IW_SEC(60));
	hand_close(&h);
}

/* RFC 8899 5.1.1: PROBE_TIMER and PMTU_RAISE_TIMER */
static void timers_of_the_path_mtu_search_are_emitted(void **state)
{
	const struct iw_trace_event *ev;

	(void)state;
	open_up();
	net_run(&h.n, h.n.now + IW_MSEC(1500));
	ev = timer_named("pmtu_probe");
	assert_non_null(ev);
	assert_int_equal(ev->timer.after_ns, IW_SEC(1));
	h.n.b.a->paths[0].probe_size = 0;
	iw_sctp_pmtu_timeout(&h.n.b.a->paths[0], h.n.now);
	ev = timer_named("pmtu_raise");
	assert_non_null(ev);
	assert_int_equal(ev->timer.after_ns, IW_SEC(600));
	hand_close(&h);
}

/* bbr leaves its first state when the rate of the acknowledgements no longer grows. */
static void new_state_of_the_model_is_emitted(void **state)
{
	const struct iw_trace_event *ev;
	uint32_t acked = 0;

	(void)state;
	hand_open(&h);
	h.n.b.cfg.cc = iw_sctp_cc_find("bbr");
	trace_log_on(&events);
	h.n.b.cfg.tracer = &events.tracer;
	net_start(&h.n);
	hand_up(&h);
	for (int i = 0; i < 50; i++)
		assert_int_equal(hand_post(h.n.b.a, 1000), 0);
	while (count(IW_TRACE_model) == 0 && acked < 48) {
		net_run(&h.n, h.n.now + IW_MSEC(20));
		acked += 2;
		acknowledge(h.peer_tsn + acked - 1, NULL, 0);
	}
	ev = event(IW_TRACE_model, 0);
	assert_int_equal(ev->model.assoc, h.n.b.a->my_tag);
	assert_int_equal(ev->model.path, 0);
	assert_string_equal(ev->model.state, "drain");
	assert_int_equal(ev->model.bits_per_second, 8 * h.n.b.a->paths[0].cc.pacing);
	assert_int_equal(ev->model.rtt_min_ns, IW_MSEC(20));
	hand_close(&h);
}

/* RFC 5952 4 */
static void addresses_are_written_as_usual(void **state)
{
	static const struct {
		uint8_t ip[16];
		const char *text;
	} cases[] = {
		{ { [10] = 0xff, [11] = 0xff, 10, 99, 0, 255 }, "10.99.0.255" },
		{ { [15] = 1 }, "::1" },
		{ { 0 }, "::" },
		{ { 0xfe, 0x80, [8] = 0x12, 0x34, 0, 0x0a, 0, 0, 0xf, 0xff },
		  "fe80::1234:a:0:fff" },
		{ { 0x20, 1, 0x0d, 0xb8, [15] = 7 }, "2001:db8::7" },
		{ { 0x20, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0 }, "2001:0:1:0:2:0:3:0" },
		{ { 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1 }, "100:0:0:1::1" },
		{ { 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 0 }, "1:2:3:4:5:6:7:0" },
		{ { 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6 }, "1:2:3:4:5:6::" },
	};

	(void)state;
	open_up();
	for (size_t i = 0; i < IW_ARRAY_LEN(cases); i++) {
		struct path p = h.n.b.a->paths[0];

		memcpy(p.addr.ip, cases[i].ip, 16);
		iw_sctp_trace_path(&p);
		assert_string_equal(events.address, cases[i].text);
	}
	hand_close(&h);
}

static void path_that_fails_becomes_inactive(void **state)
{
	const struct iw_trace_event *ev;

	(void)state;
	open_up();
	assert_int_equal(hand_post(h.n.b.a, 100), 0);
	while (iw_sctp_assoc_state(h.n.b.a) != IW_SCTP_CLOSED)
		assert_true(net_step(&h.n));
	ev = event(IW_TRACE_path, count(IW_TRACE_path) - 1);
	assert_string_equal(ev->path.state, "inactive");
	hand_close(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_association_emits_its_paths),
		cmocka_unit_test(chunks_losses_and_retransmissions_have_their_tsns),
		cmocka_unit_test(window_is_that_of_the_path_after_each_change),
		cmocka_unit_test(round_trips_and_estimates_are_emitted),
		cmocka_unit_test(timers_are_emitted_when_they_expire),
		cmocka_unit_test(tail_probe_is_a_timer_and_a_retransmission),
		cmocka_unit_test(tail_probe_is_sent_in_recovery),
		cmocka_unit_test(delayed_sack_is_a_timer),
		cmocka_unit_test(reordering_window_of_rack_is_a_timer),
		cmocka_unit_test(guard_of_the_shutdown_is_a_timer),
		cmocka_unit_test(timers_of_the_path_mtu_search_are_emitted),
		cmocka_unit_test(new_state_of_the_model_is_emitted),
		cmocka_unit_test(addresses_are_written_as_usual),
		cmocka_unit_test(path_that_fails_becomes_inactive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
