// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Proportional rate reduction: what each SACK of a recovery permits, and probes without a SACK. */
#include "sctp/internal.h"

#include "unit/sctp_hand.h"

enum { CHUNK = 1468, FLIGHT = 100 };

static struct iw_sctp s;
static struct path path[2];
static struct iw_sctp_assoc a;

/* A hundred chunks were in flight on path 0 when one of them was found lost. */
static void lose_one(const struct iw_sctp_cc_ops *cc)
{
	memset(&s, 0, sizeof(s));
	memset(path, 0, sizeof(path));
	a = (struct iw_sctp_assoc){ .s = &s, .cc = cc, .paths = path, .npaths = 2 };
	for (unsigned i = 0; i < 2; i++) {
		path[i].a = &a;
		path[i].index = (uint8_t)i;
		path[i].cc.pmdcs = CHUNK;
		path[i].cc.cwnd = FLIGHT * CHUNK;
		path[i].cc.ssthresh = UINT32_MAX;
		path[i].flight_before = path[i].flight = FLIGHT * CHUNK;
	}
	path[0].flight -= CHUNK;
	iw_sctp_begin_recovery(&a, 1, IW_SEC(1));
}

/* Sends all that path 0 may send; returns the number of chunks. */
static unsigned send_all(void)
{
	unsigned n = 0;

	for (; path[0].flight < iw_sctp_window(&path[0]); n++) {
		path[0].flight += CHUNK;
		path[0].prr.sent += CHUNK;
	}
	return n;
}

/* A SACK acknowledges one chunk. Returns the number of chunks sent after it. */
static unsigned acknowledge(bool safe)
{
	path[0].flight -= CHUNK;
	path[0].newly = CHUNK;
	iw_sctp_prr_ack(&path[0], safe);
	return send_all();
}

/* CUBIC reduces the window to seven tenths: after ten acknowledged chunks, seven were sent. */
static void path_reaches_the_reduced_window_without_a_pause(void **state)
{
	unsigned sent = 0, pause = 0;

	(void)state;
	lose_one(&iw_sctp_cc_cubic);
	assert_int_equal(send_all(), 0);
	for (unsigned i = 1; i < FLIGHT; i++) {
		unsigned n = acknowledge(true);

		assert_true(n <= 2);
		sent += n;
		pause = n ? 0 : pause + 1;
		assert_true(pause <= 2);
		if (i == 10)
			assert_in_range(sent, 7, 8); /* a chunk begun is sent whole */
	}
	assert_in_range(path[0].flight, path[0].cc.cwnd - CHUNK, path[0].cc.cwnd);
}

/* Less than cwnd is in flight: the path grows by a chunk with each SACK that shows no loss. */
static void many_losses_cause_no_burst(void **state)
{
	(void)state;
	lose_one(&iw_sctp_cc_cubic);
	path[0].flight = 20 * CHUNK;
	assert_int_equal(acknowledge(false), 1);
	assert_int_equal(acknowledge(true), 2);
	assert_int_equal(acknowledge(false), 1);
	path[0].flight = path[0].cc.cwnd;
	assert_int_equal(acknowledge(true), 1);
}

/* Octets that were acknowledged but not replaced yet may be sent later, up to cwnd. */
static void chunks_that_were_permitted_may_be_sent_later(void **state)
{
	(void)state;
	lose_one(&iw_sctp_cc_cubic);
	path[0].flight = 20 * CHUNK;
	path[0].prr.acked = 30 * CHUNK;
	assert_int_equal(acknowledge(false), 31);
	path[0].prr.acked = 200 * CHUNK;
	acknowledge(false);
	assert_in_range(path[0].flight, path[0].cc.cwnd, path[0].cc.cwnd + CHUNK - 1);
}

/* RFC 9937 6.2: only an acknowledgement changes the limit. */
static void sack_without_news_permits_nothing(void **state)
{
	(void)state;
	lose_one(&iw_sctp_cc_cubic);
	path[0].flight = 20 * CHUNK;
	path[0].prr.window = path[0].flight;
	path[0].newly = 0;
	iw_sctp_prr_ack(&path[0], true);
	assert_int_equal(send_all(), 0);
}

static void cwnd_limits_everything_else(void **state)
{
	(void)state;
	lose_one(&iw_sctp_cc_cubic);
	assert_true(iw_sctp_window(&path[0]) != path[0].cc.cwnd);
	assert_int_equal(iw_sctp_window(&path[1]), path[1].cc.cwnd); /* no loss on this path */
	iw_sctp_end_recovery(&a, IW_SEC(1));
	assert_int_equal(iw_sctp_window(&path[0]), path[0].cc.cwnd);
	/* Only path 1 has lost a chunk in the next recovery. */
	iw_sctp_begin_recovery(&a, 2, IW_SEC(2));
	assert_int_equal(iw_sctp_window(&path[0]), path[0].cc.cwnd);
	assert_true(iw_sctp_window(&path[1]) != path[1].cc.cwnd);
	/* RFC 9260 6.1 B permits nothing above cwnd, and bbr paces itself. */
	lose_one(&iw_sctp_cc_rfc9260);
	assert_int_equal(iw_sctp_window(&path[0]), path[0].cc.cwnd);
	/* A change of the controller in the middle of a recovery. */
	lose_one(&iw_sctp_cc_cubic);
	assert_true(iw_sctp_window(&path[0]) != path[0].cc.cwnd);
	a.cc = &iw_sctp_cc_bbr;
	assert_int_equal(iw_sctp_window(&path[0]), path[0].cc.cwnd);
}

/* Otherwise nothing would ever be sent again, and no timer runs. */
static void one_packet_may_always_be_in_flight(void **state)
{
	(void)state;
	lose_one(&iw_sctp_cc_cubic);
	path[0].flight = path[0].prr.window = 0;
	assert_int_equal(send_all(), 1);
}

/* A peer may acknowledge chunks, renege on them, and acknowledge them again. */
static void repeated_acknowledgements_do_not_enlarge_the_window(void **state)
{
	(void)state;
	lose_one(&iw_sctp_cc_cubic);
	for (unsigned i = 0; i < 1000; i++) {
		path[0].newly = CHUNK;
		iw_sctp_prr_ack(&path[0], true);
	}
	assert_int_equal(iw_sctp_window(&path[0]), FLIGHT * CHUNK);
}

static void undone_reduction_restores_the_window(void **state)
{
	const uint32_t tsn = 10;
	uint8_t dup[4];
	const struct iw_sctp_sack sack = { .ndups = 1, .dups = dup };

	(void)state;
	lose_one(&iw_sctp_cc_cubic);
	iw_sctp_note_resent(&a.out, tsn);
	iw_put_be32(dup, tsn);
	iw_sctp_take_dups(&a, &sack, IW_SEC(1));
	assert_int_equal(iw_sctp_window(&path[0]), FLIGHT * CHUNK);
}

/* Path 0 times out in its recovery, and then path 1 alone loses a chunk: cwnd limits path 0. */
static void timeout_ends_the_limit_of_every_path(void **state)
{
	struct out_chunk ring[1] = { { .len = 1000, .sends = 1 } };
	uint8_t states[1] = { CHUNK_FLIGHT };

	(void)state;
	lose_one(&iw_sctp_cc_cubic);
	s.cfg.times = (struct iw_sctp_times){ .path_max_retrans = 5, .assoc_max_retrans = 10 };
	a.peer_rwnd = 1 << 20;
	a.out.ring = ring;
	a.out.state = states;
	a.out.size = a.out.next = a.out.end = 1;
	path[0].nflight = 1;
	assert_int_not_equal(iw_sctp_window(&path[0]), path[0].cc.cwnd);
	iw_sctp_t3(&a, &path[0], IW_SEC(2));
	iw_sctp_begin_recovery(&a, 1 << 1, IW_SEC(3));
	assert_int_equal(iw_sctp_window(&path[0]), path[0].cc.cwnd);
	assert_int_not_equal(iw_sctp_window(&path[1]), path[1].cc.cwnd);
}

/* RFC 8985 6.2: chunks of each path are compared with the acknowledged ones of that path. */
static void loss_on_another_path_is_found(void **state)
{
	struct out_chunk ring[2] = {
		{ .path = 1, .len = 1000, .sends = 1, .sent_at = IW_SEC(1) },
		{ .path = 1, .len = 1000, .sends = 1, .sent_at = IW_SEC(1) },
	};
	uint8_t states[2] = { CHUNK_FLIGHT, CHUNK_GAPPED };

	(void)state;
	lose_one(&iw_sctp_cc_cubic);
	a.out.ring = ring;
	a.out.state = states;
	a.out.size = a.out.next = a.out.end = a.out.gap_end = 2;
	path[1].nflight = 1;
	path[1].rack_seq = 1;
	path[1].rack_sent = IW_SEC(1);
	iw_sctp_find_lost(&a, IW_SEC(2));
	assert_int_equal(states[0], CHUNK_LOST);
}

/* --- with an endpoint ------------------------------------------------------------------------- */

static struct hand h;
static uint32_t last; /* the last TSN that was acknowledged */

/* An endpoint with CUBIC has filled its window of more than 24 chunks. */
static void fill_window(void)
{
	uint32_t t[CAUGHT];
	unsigned n = 0;

	hand_open(&h);
	h.n.b.cfg.cc = &iw_sctp_cc_cubic;
	h.n.b.cfg.burst = 64;
	h.n.b.cfg.abc_l = 64;
	net_start(&h.n);
	hand_up(&h);
	hand_answer_heartbeats(&h, IW_MSEC(1010));
	last = h.peer_tsn - 1;
	while (n <= 24) {
		if (n > 0)
			hand_acknowledge(&h, last += n, 1 << 20, NULL, 0);
		while (hand_post(h.n.b.a, 1400) == 0)
			continue;
		net_run(&h.n, h.n.now + IW_MSEC(1));
		n = hand_tsns(&h, t, CAUGHT);
		assert_true(n > 0);
	}
}

/*
 * Sends a SACK with one gap block, from and to counted from the last TSN. Returns the number of
 * chunks that are sent after it.
 */
static unsigned sack(uint16_t from, uint16_t to)
{
	uint32_t t[CAUGHT];

	hand_acknowledge(&h, last, 1 << 20, (const uint16_t[]){ from, to }, 1);
	return hand_tsns(&h, t, CAUGHT);
}

static void window_of_an_endpoint_shrinks_without_a_pause(void **state)
{
	unsigned sent = 0;

	(void)state;
	fill_window();
	sack(2, 2); /* the window grows */
	sack(2, 3);
	assert_true(sack(2, 4) >= 1); /* the fast retransmission */
	for (uint16_t to = 5; to < 15; to++)
		sent += sack(2, to);
	assert_in_range(sent, 6, 8);
	hand_close(&h);
}

/* Nineteen chunks are lost: less than the reduced window is in flight. */
static void endpoint_sends_no_burst_after_many_losses(void **state)
{
	(void)state;
	fill_window();
	sack(20, 20);
	sack(20, 21);
	assert_in_range(sack(20, 22), 1, 3);
	assert_int_equal(sack(20, 23), 1);
	assert_int_equal(sack(20, 24), 1);
	hand_close(&h);
}

/* A SHUTDOWN acknowledges too, and some peers send it before the SACK. */
static void shutdown_permits_what_it_acknowledges(void **state)
{
	uint8_t cum[4];
	uint32_t t[CAUGHT];

	(void)state;
	fill_window();
	sack(20, 20);
	sack(20, 21);
	sack(20, 22);
	iw_put_be32(cum, last + 1);
	hand_say(&h, h.peer_tag, IW_SCTP_SHUTDOWN, 0, cum, sizeof(cum));
	assert_in_range(hand_tsns(&h, t, CAUGHT), 2, 3);
	hand_close(&h);
}

/* Returns the number of chunks that are sent in the next ms milliseconds, without any SACK. */
static unsigned sent_in(unsigned ms)
{
	uint32_t t[CAUGHT];

	net_run(&h.n, h.n.now + IW_MSEC(ms));
	return hand_tsns(&h, t, CAUGHT);
}

/*
 * RACK's timer finds losses. It permits one packet for the first ones. In a recovery it permits none,
 * unless a retransmission was lost.
 */
static void timer_permits_nothing_in_a_recovery(void **state)
{
	static const uint16_t gaps[] = { 20, 20, 25, 25 };
	uint32_t t[CAUGHT];

	(void)state;
	fill_window();
	h.n.b.a->out.reordered = true; /* only the time shows a loss */
	sack(20, 20);
	assert_int_equal(sent_in(5), 1);
	hand_acknowledge(&h, last, 1 << 20, gaps, 2);
	assert_in_range(hand_tsns(&h, t, CAUGHT), 1, 2);
	assert_int_equal(sent_in(5), 0);
	hand_close(&h);
}

/* No SACK arrives: the probes are lost too, and each doubles the wait for the next one. */
static void probes_of_lost_chunks_slow_down(void **state)
{
	(void)state;
	fill_window();
	sack(20, 20);
	sack(20, 21);
	sack(20, 22);
	for (unsigned wait = 10; wait <= 160; wait *= 2) {
		assert_int_equal(sent_in(wait - 2), 0);
		assert_int_equal(sent_in(2), 1);
	}
	sack(20, 23);
	assert_int_equal(sent_in(8), 0);
	assert_int_equal(sent_in(4), 1);
	hand_close(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(path_reaches_the_reduced_window_without_a_pause),
		cmocka_unit_test(many_losses_cause_no_burst),
		cmocka_unit_test(chunks_that_were_permitted_may_be_sent_later),
		cmocka_unit_test(sack_without_news_permits_nothing),
		cmocka_unit_test(cwnd_limits_everything_else),
		cmocka_unit_test(undone_reduction_restores_the_window),
		cmocka_unit_test(timeout_ends_the_limit_of_every_path),
		cmocka_unit_test(loss_on_another_path_is_found),
		cmocka_unit_test(one_packet_may_always_be_in_flight),
		cmocka_unit_test(repeated_acknowledgements_do_not_enlarge_the_window),
		cmocka_unit_test(window_of_an_endpoint_shrinks_without_a_pause),
		cmocka_unit_test(endpoint_sends_no_burst_after_many_losses),
		cmocka_unit_test(shutdown_permits_what_it_acknowledges),
		cmocka_unit_test(timer_permits_nothing_in_a_recovery),
		cmocka_unit_test(probes_of_lost_chunks_slow_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
