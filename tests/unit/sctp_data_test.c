// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* DATA in both directions: delivery, acknowledgement, transmission, retransmission. */
#include "sctp/internal.h"

#include <stdlib.h>

#include "unit/sctp_hand.h"

static struct hand h;

static void open_up(void)
{
	hand_open(&h);
	net_start(&h.n);
	hand_up(&h);
}

static void data(uint8_t flags, uint32_t tsn, uint16_t stream, const char *text)
{
	hand_say_data(&h, flags, tsn, stream, text);
}

static bool take_sack(struct iw_sctp_sack *s)
{
	return hand_take_sack(&h, s);
}

static void acknowledge(uint32_t cum, uint32_t rwnd, const uint16_t *gaps, uint16_t ngaps)
{
	hand_acknowledge(&h, cum, rwnd, gaps, ngaps);
}

static int send_octets(struct iw_sctp_assoc *a, size_t len)
{
	return hand_post(a, len);
}

static unsigned tsns(uint32_t *out, unsigned max)
{
	return hand_tsns(&h, out, max);
}

static void answer_heartbeats(uint64_t wait)
{
	hand_answer_heartbeats(&h, wait);
}

/*
 * Answers the path MTU probe, so that an RTT is known. hand_up has dropped the first probe; the
 * engine repeats it after an RTO.
 */
static void answer_probes(void)
{
	answer_heartbeats(IW_MSEC(1010));
}

/* --- in --------------------------------------------------------------------------------------- */

static uint32_t seen[64];
static unsigned nseen;

static void remember(struct net_end *e, const struct iw_sctp_recv *m)
{
	(void)e;
	seen[nseen++] = m->stream;
	assert_int_equal(m->ppid, 16);
	assert_non_null(m->assoc);
}

/*
 * SX-06, SCTP-56, DDP-13: each message is delivered when it arrives, once, whatever is missing
 * before it.
 */
static void messages_are_delivered_as_they_arrive_and_once(void **state)
{
	struct iw_sctp_sack s;

	(void)state;
	open_up();
	nseen = 0;
	h.n.b.on_message = remember;
	data(7, HAND_TSN + 3, 3, "d");
	data(7, HAND_TSN + 1, 1, "b");
	data(7, HAND_TSN + 3, 3, "d");
	data(7, HAND_TSN, 0, "a");
	data(7, HAND_TSN + 2, 2, "c");
	data(7, HAND_TSN + 2, 2, "c");
	assert_int_equal(nseen, 4);
	assert_int_equal(seen[0], 3);
	assert_int_equal(seen[1], 1);
	assert_int_equal(seen[2], 0);
	assert_int_equal(seen[3], 2);
	while (take_sack(&s))
		;
	assert_int_equal(s.cum, HAND_TSN + 3);
	hand_close(&h);
}

/* SX-05: a DATA chunk without user data is answered with an ABORT with cause 9 and the TSN. */
static void data_without_user_data_ends_the_association(void **state)
{
	struct iw_sctp_chunk c;

	(void)state;
	open_up();
	data(7, HAND_TSN, 0, "");
	c = hand_expect(&h, IW_SCTP_ABORT, HAND_TAG);
	assert_int_equal(cause_of(&c), IW_SCTP_CAUSE_NO_DATA);
	assert_int_equal(iw_get_be32(c.value + 4), HAND_TSN);
	assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_CLOSED);
	hand_close(&h);
}

/* SCTP-55: a peer that sends ordered DATA breaks RFC 5043 10. */
static void ordered_data_ends_the_association(void **state)
{
	struct iw_sctp_chunk c;

	(void)state;
	open_up();
	data(3, HAND_TSN, 0, "x");
	c = hand_expect(&h, IW_SCTP_ABORT, HAND_TAG);
	assert_int_equal(cause_of(&c), IW_SCTP_CAUSE_PROTOCOL);
	assert_int_equal(h.n.b.messages, 0);
	hand_close(&h);
}

/*
 * SX-13: DATA on a stream that was not negotiated is acknowledged and reported, but not delivered
 * (RFC 9260 6.5).
 */
static void data_on_a_stream_beyond_the_agreed_number_is_reported(void **state)
{
	struct iw_sctp_chunk c;
	struct iw_sctp_sack s;

	(void)state;
	open_up();
	data(7, HAND_TSN, 10, "x"); /* the streams are 0 to 9 */
	assert_true(hand_wait(&h, IW_SCTP_ERROR, 0, &c));
	assert_int_equal(cause_of(&c), IW_SCTP_CAUSE_STREAM);
	assert_int_equal(iw_get_be16(c.value + 4), 10);
	assert_true(take_sack(&s));
	assert_int_equal(s.cum, HAND_TSN);
	assert_int_equal(h.n.b.messages, 0);
	hand_close(&h);
}

/* SX-12: the first DATA is acknowledged at once. SX-16: then every second packet, or at 200 ms. */
static void sacks_are_sent_for_the_first_then_every_second_packet(void **state)
{
	struct iw_sctp_sack s;
	uint64_t sent;

	(void)state;
	open_up();
	answer_probes();
	data(7, HAND_TSN, 0, "a");
	assert_true(take_sack(&s));
	assert_int_equal(s.cum, HAND_TSN);
	data(7, HAND_TSN + 1, 0, "b");
	assert_false(take_sack(&s));
	data(7, HAND_TSN + 2, 0, "c");
	assert_true(take_sack(&s));
	assert_int_equal(s.cum, HAND_TSN + 2);
	data(7, HAND_TSN + 3, 0, "d");
	sent = h.n.now;
	while (!take_sack(&s))
		net_run(&h.n, h.n.now + IW_MSEC(1));
	assert_int_equal(s.cum, HAND_TSN + 3);
	assert_in_range(h.n.now - sent, IW_MSEC(200), IW_MSEC(201));
	/* I bit (RFC 7053) */
	data(7 | IW_SCTP_DATA_I, HAND_TSN + 4, 0, "e");
	assert_true(take_sack(&s));
	/* Our DATA is sent with a SACK for DATA that is not acknowledged yet (6.1). */
	data(7, HAND_TSN + 5, 0, "f");
	assert_false(take_sack(&s));
	assert_int_equal(send_octets(h.n.b.a, 10), 0);
	net_run(&h.n, h.n.now);
	assert_true(take_sack(&s));
	assert_int_equal(s.cum, HAND_TSN + 5);
	hand_close(&h);
}

/* SX-17: at most one SACK for each packet. A batch of packets is acknowledged by one SACK. */
static void a_batch_of_packets_gets_one_sack(void **state)
{
	struct iw_sctp_sack s;
	struct iw_sctp_recv m;

	(void)state;
	open_up();
	for (uint32_t i = 0; i < 20; i++) {
		struct iw_sctp_packet p = { .peer = h.src, .local = h.n.b.addr[0], .data = h.out };

		hand_begin(&h, h.peer_tag);
		hand_data(&h, 7, HAND_TSN + 2 * i, 0, "abc", 3);
		hand_data(&h, 7, HAND_TSN + 2 * i + 1, 0, "abc", 3);
		iw_put_le32(h.out + 8, iw_wire_sctp_checksum(h.out, h.len));
		p.len = h.len;
		iw_sctp_input(h.n.b.s, &p, h.n.now);
		while (iw_sctp_next(h.n.b.s, &m))
			;
	}
	net_run(&h.n, h.n.now);
	assert_true(take_sack(&s));
	assert_int_equal(s.cum, HAND_TSN + 39);
	assert_false(take_sack(&s));
	hand_close(&h);
}

/*
 * SX-18: duplicates are acknowledged at once and reported. SX-20, for the receiver: the gap blocks
 * are exact.
 */
static void gaps_and_duplicates_are_reported_at_once(void **state)
{
	struct iw_sctp_sack s;

	(void)state;
	open_up();
	data(7, HAND_TSN, 0, "a");
	hand_forget(&h);
	data(7, HAND_TSN + 2, 0, "c");
	assert_true(take_sack(&s));
	assert_int_equal(s.cum, HAND_TSN);
	assert_int_equal(s.ngaps, 1);
	assert_int_equal(iw_sctp_gap_start(&s, 0), 2);
	assert_int_equal(iw_sctp_gap_end(&s, 0), 2);
	data(7, HAND_TSN + 3, 0, "d");
	data(7, HAND_TSN + 700, 0, "z"); /* the map grows */
	while (take_sack(&s))
		;
	assert_int_equal(s.ngaps, 2);
	assert_int_equal(iw_sctp_gap_end(&s, 0), 3);
	assert_int_equal(iw_sctp_gap_start(&s, 1), 700);
	data(7, HAND_TSN + 3, 0, "d");
	assert_true(take_sack(&s));
	assert_int_equal(s.ndups, 1);
	assert_int_equal(iw_get_be32(s.dups), HAND_TSN + 3);
	data(7, HAND_TSN + 1, 0, "b");
	assert_true(take_sack(&s));
	assert_int_equal(s.cum, HAND_TSN + 3);
	assert_int_equal(s.ndups, 0);
	/* The same without a gap: a duplicate alone. */
	hand_forget(&h);
	data(7, HAND_TSN + 4, 0, "e");
	data(7, HAND_TSN + 5, 0, "f");
	while (take_sack(&s))
		;
	for (uint32_t t = HAND_TSN + 6; t < HAND_TSN + 700; t++) {
		hand_begin(&h, h.peer_tag);
		hand_data(&h, 7, t, 0, "x", 1);
		hand_send(&h);
		hand_forget(&h);
	}
	h.n.b.messages = 5;
	data(7, HAND_TSN, 0, "a");
	assert_true(take_sack(&s));
	assert_int_equal(s.cum, HAND_TSN + 700);
	assert_int_equal(s.ngaps, 0);
	assert_int_equal(s.ndups, 1);
	/* A TSN that no gap block can report is dropped. */
	data(7, HAND_TSN + 700 + 70000, 0, "far");
	assert_true(take_sack(&s));
	assert_int_equal(s.ngaps, 0);
	assert_int_equal(h.n.b.messages, 5);
	hand_close(&h);
}

/* SX-16: TSNs wrap, also within a gap. */
static void tsns_wrap(void **state)
{
	struct iw_sctp_sack s;

	(void)state;
	hand_open(&h);
	net_start(&h.n);
	h.tsn = 0xfffffffeu;
	hand_up(&h);
	data(7, 0xfffffffe, 0, "a");
	data(7, 1, 0, "d");
	data(7, 0xffffffff, 0, "b");
	data(7, 0, 0, "c");
	while (take_sack(&s))
		;
	assert_int_equal(s.cum, 1);
	assert_int_equal(s.ngaps, 0);
	assert_int_equal(h.n.b.messages, 4);
	hand_close(&h);
}

static char whole[64];

static void remember_text(struct net_end *e, const struct iw_sctp_recv *m)
{
	(void)e;
	assert_true(m->len < sizeof(whole));
	memcpy(whole, m->data, m->len);
	whole[m->len] = '\0';
}

/*
 * A TSN that is too far ahead is ignored, also the one at a distance of 2^31, which is neither before
 * nor after the others (RFC 1982 3.2). `gap`: a map of TSNs exists.
 */
static void tsns_too_far_ahead_are_ignored(void **state)
{
	static const uint32_t distances[] = { 65536, 65537, 0x7fffffff, 0x80000000u };
	struct iw_sctp_sack s;

	(void)state;
	for (unsigned gap = 0; gap < 2; gap++) {
		open_up();
		data(7, HAND_TSN, 0, "first");
		if (gap)
			data(7, HAND_TSN + 2, 0, "third");
		for (unsigned i = 0; i < IW_ARRAY_LEN(distances); i++)
			data(7, HAND_TSN + distances[i], 0, "far");
		hand_forget(&h);
		data(7, HAND_TSN + 1, 0, "second");
		net_run(&h.n, h.n.now + IW_MSEC(250));
		assert_true(hand_take_sack(&h, &s));
		assert_int_equal(s.cum, HAND_TSN + 1 + gap);
		assert_int_equal(s.ngaps, 0);
		hand_close(&h);
	}
}

/* SX-22: fragments are reassembled in any order, also those of two messages. */
static void fragments_are_reassembled(void **state)
{
	struct iw_sctp_facts f;

	(void)state;
	open_up();
	h.n.b.on_message = remember_text;
	data(4, HAND_TSN + 2, 1, "lo ");
	data(6, HAND_TSN, 1, "he");
	data(5, HAND_TSN + 3, 1, "world");
	assert_int_equal(h.n.b.messages, 0);
	data(6, HAND_TSN + 4, 2, "next ");
	data(4, HAND_TSN + 1, 1, "l");
	assert_int_equal(h.n.b.messages, 1);
	assert_string_equal(whole, "hello world");
	data(5, HAND_TSN + 5, 2, "one");
	assert_string_equal(whole, "next one");
	iw_sctp_facts(h.n.b.a, &f);
	assert_int_equal(f.duplicates, 0);
	hand_close(&h);
}

/* SX-22: fragments of one message are on different streams. */
static void fragments_of_two_streams_end_the_association(void **state)
{
	struct iw_sctp_chunk c;

	(void)state;
	open_up();
	data(6, HAND_TSN, 1, "he");
	data(5, HAND_TSN + 1, 2, "llo");
	assert_true(hand_wait(&h, IW_SCTP_ABORT, 0, &c));
	assert_int_equal(cause_of(&c), IW_SCTP_CAUSE_PROTOCOL);
	hand_close(&h);
}

/*
 * SX-22: at the bound, the fragment with the highest TSN is dropped for one with a lower TSN, and
 * is no longer acknowledged. A message larger than the bound ends the association.
 */
static void fragments_are_kept_within_a_bound(void **state)
{
	static const char text[] = "0123456789012345678901234567890123456789";
	struct iw_sctp_sack s;
	struct iw_sctp_chunk c;

	(void)state;
	hand_open(&h);
	h.n.b.cfg.reasm_max = 2 * (40 + 64);
	net_start(&h.n);
	hand_up(&h);
	data(4, HAND_TSN + 5, 1, text);
	data(4, HAND_TSN + 4, 1, text);
	data(4, HAND_TSN + 6, 1, text); /* no room */
	while (take_sack(&s))
		;
	assert_int_equal(iw_sctp_gap_end(&s, 0), 6);
	data(6, HAND_TSN, 1, text); /* the highest is dropped */
	assert_true(take_sack(&s));
	assert_int_equal(s.cum, HAND_TSN);
	assert_int_equal(s.ngaps, 1);
	assert_int_equal(iw_sctp_gap_end(&s, 0), 4);
	data(4, HAND_TSN + 1, 1, text);
	assert_true(take_sack(&s));
	assert_int_equal(s.ngaps, 0);
	assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_ESTABLISHED);
	data(4, HAND_TSN + 2, 1, text);
	assert_true(hand_wait(&h, IW_SCTP_ABORT, 0, &c));
	assert_int_equal(cause_of(&c), IW_SCTP_CAUSE_RESOURCE);
	hand_close(&h);
}

/*
 * SX-36, RFC 9260 6.2: a closed window is reported as soon as a packet fits. Otherwise the sender
 * would have to probe.
 */
static void a_closed_window_is_reported_when_it_has_room_for_a_packet(void **state)
{
	struct iw_sctp_sack s;

	(void)state;
	open_up();
	iw_sctp_set_held(h.n.b.a, 1 << 20);
	data(7, HAND_TSN, 0, "a");
	assert_true(take_sack(&s));
	assert_int_equal(s.a_rwnd, 0);
	iw_sctp_set_held(h.n.b.a, (1 << 20) - 1499);
	net_run(&h.n, h.n.now);
	assert_false(take_sack(&s));
	iw_sctp_set_held(h.n.b.a, (1 << 20) - 3000);
	net_run(&h.n, h.n.now);
	assert_true(take_sack(&s));
	assert_int_equal(s.a_rwnd, 3000);
	iw_sctp_set_held(h.n.b.a, 0);
	net_run(&h.n, h.n.now);
	assert_true(take_sack(&s));
	assert_int_equal(s.a_rwnd, 1 << 20);
	hand_close(&h);
}

enum { TINY = 60000, TINY_PACKET = 70 };

/*
 * Sends TINY one-octet fragments without the B and E bits, above a TSN that is missing. order maps
 * 0, 1, ... to TSNs.
 */
static void tiny_fragments(uint32_t (*order)(uint32_t i))
{
	for (uint32_t i = 0; i < TINY;) {
		hand_begin(&h, h.peer_tag);
		for (int n = 0; n < TINY_PACKET && i < TINY; n++, i++)
			hand_data(&h, 4, HAND_TSN + 1 + order(i), 1, "x", 1);
		hand_send(&h);
	}
}

static uint32_t ascending(uint32_t i)
{
	return i;
}

static uint32_t descending(uint32_t i)
{
	return TINY - 1 - i;
}

/* Yields TSNs from both ends to the middle. */
static uint32_t alternating(uint32_t i)
{
	return i & 1 ? TINY - 1 - i / 2 : i / 2;
}

/* SX-22: a fragment needs more memory than its octets. The bound and the window include that. */
static void tiny_fragments_are_charged_what_they_cost(void **state)
{
	static uint32_t (*const orders[])(uint32_t) = { ascending, descending, alternating };

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(orders); i++) {
		struct iw_sctp_sack s = { 0 };
		struct iw_sctp_facts f;
		uint32_t kept = 0;
		size_t before;

		open_up();
		before = h.n.b.mem.bytes;
		tiny_fragments(orders[i]);
		assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_ESTABLISHED);
		/* 128 KiB of fragments, the map of TSNs, half of the array of places. */
		assert_true(h.n.b.mem.bytes - before <= (128 + 8 + 16) * 1024);
		iw_sctp_facts(h.n.b.a, &f);
		assert_true(f.memory <= (128 + 8 + 32 + 16) * 1024);
		assert_int_equal(h.n.b.messages, 0);
		hand_forget(&h);
		data(4, HAND_TSN + 1, 1, "x"); /* a duplicate gets a SACK at once */
		assert_true(take_sack(&s));
		assert_int_equal(s.cum, HAND_TSN - 1);
		assert_int_equal(s.ngaps, 1);
		assert_int_equal(iw_sctp_gap_start(&s, 0), 2);
		kept = iw_sctp_gap_end(&s, 0) - 1u;
		/* The lowest fragments are kept, as many as the bound permits. */
		assert_in_range(kept, 128 * 1024 / 65 - 1, 128 * 1024 / 65);
		assert_int_equal(s.a_rwnd, (1 << 20) - kept * 65);
		hand_close(&h);
	}
}

/* SX-22: the number of fragments is bounded, however large the bound of their memory is. */
static void the_number_of_fragments_is_bounded(void **state)
{
	struct iw_sctp_sack s = { 0 };

	(void)state;
	hand_open(&h);
	h.n.b.cfg.reasm_max = 1u << 30;
	h.n.b.cfg.rwnd = 1u << 30;
	net_start(&h.n);
	hand_up(&h);
	tiny_fragments(descending);
	hand_forget(&h);
	data(4, HAND_TSN + 1, 1, "x");
	assert_true(take_sack(&s));
	assert_int_equal(iw_sctp_gap_end(&s, 0), 1 + 4096);
	hand_close(&h);
}

/*
 * SX-22: fragments alone never close the receive window. Otherwise the rest of the message could
 * not arrive.
 */
static void fragments_take_half_of_the_window_at_most(void **state)
{
	struct iw_sctp_sack s = { 0 };

	(void)state;
	hand_open(&h);
	h.n.b.cfg.rwnd = 20000;
	net_start(&h.n);
	hand_up(&h);
	tiny_fragments(descending);
	hand_forget(&h);
	data(4, HAND_TSN + 1, 1, "x");
	assert_true(take_sack(&s));
	assert_in_range(s.a_rwnd, 10000, 10064);
	hand_close(&h);
}

static char long_text[1200];

static void remember_long(struct net_end *e, const struct iw_sctp_recv *m)
{
	(void)e;
	assert_int_equal(m->len, sizeof(long_text));
	memcpy(long_text, m->data, m->len);
}

/* SX-22: fragments are reassembled in any order, with fragments of other messages in between. */
static void many_fragments_make_their_messages_in_any_order(void **state)
{
	enum { EACH = 400, ALL = 3 * EACH };
	struct rng r = { 5 };

	(void)state;
	for (int round = 0; round < 20; round++) {
		uint16_t turn[ALL];

		open_up();
		h.n.b.on_message = remember_long;
		for (uint16_t i = 0; i < ALL; i++)
			turn[i] = i;
		for (size_t i = ALL - 1; i > 0; i--) {
			size_t k = rng_below(&r, i + 1);
			uint16_t t = turn[i];

			turn[i] = turn[k];
			turn[k] = t;
		}
		for (int i = 0; i < ALL; i++) {
			unsigned at = turn[i] % EACH, m = turn[i] / EACH;
			char text[4] = { (char)('a' + m), (char)('0' + at / 20),
					 (char)('0' + at % 20) };
			uint8_t flags = (uint8_t)(4 | (at == 0 ? 2 : 0) | (at == EACH - 1));
			unsigned before = h.n.b.messages;

			data(flags, HAND_TSN + turn[i], (uint16_t)m, text);
			if (h.n.b.messages == before)
				continue;
			for (size_t k = 0; k < EACH; k++) {
				assert_int_equal(long_text[3 * k], 'a' + m);
				assert_int_equal(long_text[3 * k + 1], '0' + k / 20);
				assert_int_equal(long_text[3 * k + 2], '0' + k % 20);
			}
		}
		assert_int_equal(h.n.b.messages, 3);
		hand_close(&h);
	}
}

/*
 * SX-22: fragments with consecutive TSNs belong to one message, unless the first ends one and the
 * second begins one. A violation is detected at once.
 */
static void consecutive_fragments_that_do_not_fit_end_the_association(void **state)
{
	static const struct {
		uint8_t flags[2];
		uint16_t stream[2];
		bool fit;
	} rows[] = {
		{ { 4, 4 }, { 1, 1 }, true },  { { 4, 4 }, { 1, 2 }, false },
		{ { 6, 4 }, { 1, 1 }, true },  { { 4, 5 }, { 1, 1 }, true },
		{ { 4, 6 }, { 1, 1 }, false }, { { 5, 4 }, { 1, 1 }, false },
		{ { 5, 6 }, { 1, 2 }, true },  { { 6, 6 }, { 1, 1 }, false },
		{ { 5, 5 }, { 1, 1 }, false },
	};

	(void)state;
	for (size_t i = 0; i < 2 * IW_ARRAY_LEN(rows); i++) {
		size_t row = i / 2, first = i % 2;
		struct iw_sctp_chunk c;

		open_up();
		for (size_t n = 0; n < 2; n++) {
			size_t k = (first + n) % 2;

			data(rows[row].flags[k], HAND_TSN + 5 + (uint32_t)k, rows[row].stream[k],
			     "x");
		}
		if (!rows[row].fit) {
			assert_true(hand_wait(&h, IW_SCTP_ABORT, 0, &c));
			assert_int_equal(cause_of(&c), IW_SCTP_CAUSE_PROTOCOL);
		}
		assert_int_equal(iw_sctp_assoc_state(h.n.b.a),
				 rows[row].fit ? IW_SCTP_ESTABLISHED : IW_SCTP_CLOSED);
		hand_close(&h);
	}
}

/*
 * SX-22, RFC 9260 6.2: after a fragment far above the others was dropped, the highest TSN is
 * correct again.
 */
static void a_fragment_far_above_the_others_is_dropped_first(void **state)
{
	static const uint32_t far[] = { 70, 127, 128, 129, 300, 5000, 60000 };

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(far); i++) {
		struct iw_sctp_sack s;

		hand_open(&h);
		h.n.b.cfg.reasm_max = 2 * (1 + 64);
		net_start(&h.n);
		hand_up(&h);
		data(4, HAND_TSN + far[i], 1, "x");
		data(4, HAND_TSN + 64, 1, "x");
		while (take_sack(&s))
			;
		assert_int_equal(s.ngaps, 2);
		data(4, HAND_TSN + 3, 1, "x");
		assert_true(take_sack(&s));
		assert_int_equal(s.ngaps, 2);
		assert_int_equal(iw_sctp_gap_end(&s, 0), 4);
		assert_int_equal(iw_sctp_gap_end(&s, 1), 65);
		data(4, HAND_TSN + 1, 1, "x");
		assert_true(take_sack(&s));
		assert_int_equal(s.ngaps, 2);
		assert_int_equal(iw_sctp_gap_end(&s, 1), 4);
		hand_close(&h);
	}
}

/*
 * SX-36, for the receiver: while its window is closed, it drops new DATA and sends a SACK at once.
 * It reports when the window opens.
 */
static void a_closed_receive_window_drops_data_and_reports_its_opening(void **state)
{
	struct iw_sctp_sack s;

	(void)state;
	open_up();
	data(7, HAND_TSN, 0, "a");
	assert_true(take_sack(&s));
	assert_int_equal(s.a_rwnd, 1 << 20);
	iw_sctp_set_held(h.n.b.a, 1 << 20);
	data(7, HAND_TSN + 1, 0, "b");
	assert_true(take_sack(&s));
	assert_int_equal(s.cum, HAND_TSN);
	assert_int_equal(s.a_rwnd, 0);
	assert_int_equal(h.n.b.messages, 1);
	/* 6.2: a small opening is not reported (silly window syndrome), a large one at once. */
	iw_sctp_set_held(h.n.b.a, (1 << 20) - 1000);
	net_run(&h.n, h.n.now);
	assert_false(take_sack(&s));
	data(7, HAND_TSN, 0, "a");
	assert_true(take_sack(&s));
	assert_int_equal(s.a_rwnd, 0);
	iw_sctp_set_held(h.n.b.a, 1 << 19);
	net_run(&h.n, h.n.now);
	assert_true(take_sack(&s));
	assert_int_equal(s.a_rwnd, 1 << 19);
	data(7, HAND_TSN + 1, 0, "b");
	assert_int_equal(h.n.b.messages, 2);
	hand_close(&h);
}

/* --- out -------------------------------------------------------------------------------------- */

static void messages_that_cannot_be_sent_are_refused(void **state)
{
	struct iw_sctp_send m = { .hdr = (const uint8_t *)"x", .hdr_len = 1 };
	static uint8_t big[60];

	(void)state;
	open_up();
	answer_probes();
	assert_int_equal(iw_sctp_max_message(h.n.b.a), 1500 - 20 - 12 - 16 - 16);
	assert_int_equal(send_octets(h.n.b.a, 0), IW_E_INVAL);
	/* SCTP-54 */
	assert_int_equal(send_octets(h.n.b.a, iw_sctp_max_message(h.n.b.a) + 1), IW_E_LIMIT);
	assert_int_equal(send_octets(h.n.b.a, iw_sctp_max_message(h.n.b.a)), 0);
	m.stream = 10;
	assert_int_equal(iw_sctp_send(h.n.b.a, &m, NULL), IW_E_INVAL);
	m = (struct iw_sctp_send){ .hdr = big, .hdr_len = IW_SCTP_SEND_HDR_MAX + 1 };
	assert_int_equal(iw_sctp_send(h.n.b.a, &m, NULL), IW_E_INVAL);
	while (send_octets(h.n.b.a, 1000) == 0)
		;
	assert_int_equal(send_octets(h.n.b.a, 1000), IW_E_AGAIN);
	hand_close(&h);
}

/*
 * Unsent output is limited to whole sends of a carrier: a few more packets would cost another send.
 */
static void unsent_output_is_limited_to_whole_batches_at_any_mtu(void **state)
{
	static const uint32_t mtus[] = { 1280, 1500, 9000 };

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(mtus); i++) {
		size_t max;
		unsigned n = 0;
		struct net net;

		net_init(&net, 11);
		net.a.cfg.mtu = net.b.cfg.mtu = mtus[i];
		net_start(&net);
		assert_true(net_up(&net));
		net_run(&net, net.now + IW_SEC(5)); /* the search for the path MTU has ended */
		max = iw_sctp_max_message(net.a.a);
		assert_true(max > mtus[i] - 100);
		while (send_octets(net.a.a, max) == 0)
			n++;
		/* As a carrier builds packets: 12 octets of common header, 16 of chunk header. */
		assert_int_equal(n, 4 * (65000 / (12 + 16 + ((max + 3) & ~(size_t)3))));
		net_free(&net);
	}
}

/*
 * SCTP-05, SCTP-55: every chunk has the U, B and E bits and SSN 0. SCTP-52: it is never a fragment.
 * SCTP-69: even a small chunk is sent at once. SX-03: it is padded with zeros.
 */
static void every_chunk_is_unordered_and_whole(void **state)
{
	struct iw_sctp_chunk c;
	struct iw_sctp_data d;
	const uint8_t *pad;

	(void)state;
	open_up();
	assert_int_equal(send_octets(h.n.b.a, 5), 0);
	net_run(&h.n, h.n.now);
	assert_true(hand_wait(&h, IW_SCTP_DATA, 0, &c));
	assert_int_equal(c.flags & 7, 7);
	assert_true(iw_wire_sctp_data_decode(&d, c.value, c.value_len) > 0);
	assert_int_equal(d.tsn, h.peer_tsn);
	assert_int_equal(d.ssn, 0);
	assert_int_equal(d.len, 5);
	pad = d.data + 5;
	assert_true(pad[0] == 0 && pad[1] == 0 && pad[2] == 0);
	hand_close(&h);
}

/* SX-19: at most cwnd and the rest of one packet are sent, and nothing beyond the peer's window. */
static void cwnd_and_the_peers_window_limit_data(void **state)
{
	uint32_t t[64];
	struct iw_sctp_path p;
	struct iw_sctp_init i;

	(void)state;
	open_up();
	answer_probes();
	for (int n = 0; n < 20; n++)
		assert_int_equal(send_octets(h.n.b.a, 1400), 0);
	net_run(&h.n, h.n.now);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.cwnd, 4404);
	assert_int_equal(tsns(t, 64), 4); /* the fourth begins below 4404 */
	assert_in_range(p.flight, 4404, 4404 + 1467);
	hand_close(&h);

	hand_open(&h);
	net_start(&h.n);
	i = hand_init(&h);
	i.a_rwnd = 3000;
	hand_up_with(&h, &i);
	answer_probes();
	for (int n = 0; n < 20; n++)
		assert_int_equal(send_octets(h.n.b.a, 1100), 0);
	net_run(&h.n, h.n.now);
	assert_int_equal(tsns(t, 64), 2);
	acknowledge(h.peer_tsn + 1, 1099, NULL, 0);
	assert_int_equal(tsns(t, 64), 0);
	acknowledge(h.peer_tsn + 1, 1100, NULL, 0);
	assert_int_equal(tsns(t, 64), 1);
	hand_close(&h);
}

/* SX-19: RFC 9260 6.2.1: if the window shrinks below the data in flight, nothing more is sent. */
static void a_window_that_shrinks_accepts_no_data(void **state)
{
	uint32_t t[64] = { 0 }, cum;
	unsigned n;

	(void)state;
	open_up();
	answer_probes();
	for (int i = 0; i < 20; i++)
		assert_int_equal(send_octets(h.n.b.a, 1000), 0);
	net_run(&h.n, h.n.now);
	n = tsns(t, 64);
	assert_in_range(n, 4, 6);
	cum = t[0];
	/* Each SACK acknowledges one chunk. Its window is 1,000 octets below the data in flight. */
	for (unsigned left = n - 1; left > 0; left--) {
		acknowledge(cum++, 1000 * (left - 1), NULL, 0);
		assert_int_equal(tsns(t, 64), 0);
	}
	/* The window grows: first too little for a chunk, then just enough. */
	acknowledge(cum - 1, 1000 + 999, NULL, 0);
	assert_int_equal(tsns(t, 64), 0);
	acknowledge(cum - 1, 1000 + 1000, NULL, 0);
	assert_int_equal(tsns(t, 64), 1);
	assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_ESTABLISHED);
	hand_close(&h);
}

/*
 * SX-19: at most cwnd + PMDCS - 1 octets are in flight. With exactly cwnd in flight no packet is
 * sent.
 */
static void a_window_that_is_exactly_full_accepts_no_data(void **state)
{
	struct iw_sctp_path p;
	uint32_t t[8];

	(void)state;
	open_up();
	for (int n = 0; n < 3; n++)
		assert_int_equal(send_octets(h.n.b.a, 1152 - 16), 0);
	assert_int_equal(send_octets(h.n.b.a, 4404 - 3 * 1152 - 16), 0);
	assert_int_equal(send_octets(h.n.b.a, 1000), 0);
	net_run(&h.n, h.n.now);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.cwnd, 4404);
	assert_int_equal(p.flight, 4404);
	assert_int_equal(tsns(t, 8), 4);
	hand_close(&h);
}

/*
 * SX-19: the exception, a probe of a closed window, applies only if nothing is in flight
 * (RFC 9260 6.1 A).
 */
static void a_closed_window_is_not_probed_while_data_is_in_flight(void **state)
{
	uint32_t t[64];
	unsigned n;

	(void)state;
	open_up();
	for (int i = 0; i < 2; i++)
		assert_int_equal(send_octets(h.n.b.a, 1000), 0);
	net_run(&h.n, h.n.now);
	assert_int_equal(tsns(t, 64), 2);
	acknowledge(h.peer_tsn, 0, NULL, 0);
	assert_int_equal(send_octets(h.n.b.a, 1000), 0);
	net_run(&h.n, h.n.now + IW_SEC(20));
	n = tsns(t, 64);
	assert_in_range(n, 3, 10);
	while (n > 0)
		assert_int_equal(t[--n], h.peer_tsn + 1);
	hand_close(&h);
}

/*
 * SX-36: a closed window is probed after an RTO, then at growing intervals. That is no failure
 * while the peer answers.
 */
static void a_zero_window_is_probed_without_limit(void **state)
{
	uint32_t t[64];
	struct iw_sctp_facts f;
	unsigned probes = 0;

	(void)state;
	open_up();
	answer_probes();
	assert_int_equal(send_octets(h.n.b.a, 100), 0);
	net_run(&h.n, h.n.now);
	assert_int_equal(tsns(t, 64), 1);
	acknowledge(h.peer_tsn, 0, NULL, 0);
	assert_int_equal(send_octets(h.n.b.a, 100), 0);
	net_run(&h.n, h.n.now);
	assert_int_equal(tsns(t, 64), 0);
	net_run(&h.n, h.n.now + IW_MSEC(1010));
	assert_int_equal(tsns(t, 64), 1);
	for (int i = 0; i < 3600; i++) {
		acknowledge(h.peer_tsn, 0, NULL, 0);
		net_run(&h.n, h.n.now + IW_SEC(1));
		answer_heartbeats(0);
	}
	assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_ESTABLISHED);
	iw_sctp_facts(h.n.b.a, &f);
	probes = (unsigned)f.resent;
	/* In the end one a minute, except that HEARTBEATs reduce the RTO each time. */
	assert_in_range(probes, 50, 130);
	acknowledge(h.peer_tsn + 1, 100000, NULL, 0);
	assert_int_equal(net_acked(h.n.b.a), 2);
	hand_close(&h);
}

/*
 * SX-36: RFC 9260 6.1 A: T3, backed off while the window was closed, must not delay data that fits
 * now.
 */
static void dropped_probe_is_repeated_when_the_window_opens(void **state)
{
	struct iw_sctp_path before, after;
	uint32_t t[64];

	(void)state;
	open_up();
	answer_probes();
	assert_int_equal(send_octets(h.n.b.a, 100), 0);
	net_run(&h.n, h.n.now);
	assert_int_equal(tsns(t, 64), 1);
	acknowledge(h.peer_tsn, 0, NULL, 0);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &before), 0);
	assert_int_equal(send_octets(h.n.b.a, 100), 0);
	assert_int_equal(send_octets(h.n.b.a, 100), 0);
	/* The peer drops each probe. */
	for (int i = 0; i < 20; i++) {
		net_run(&h.n, h.n.now + IW_SEC(1));
		if (tsns(t, 64) > 0)
			acknowledge(h.peer_tsn, 0, NULL, 0);
	}
	/* The window is still too small. Then the probe fits, and the next chunk does not. */
	acknowledge(h.peer_tsn, 99, NULL, 0);
	assert_int_equal(tsns(t, 64), 0);
	acknowledge(h.peer_tsn, 100, NULL, 0);
	assert_int_equal(tsns(t, 64), 1);
	assert_int_equal(t[0], h.peer_tsn + 1);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &after), 0);
	assert_true(after.cwnd >= before.cwnd);
	/* It is lost: a tail-loss probe repeats it long before T3, which is backed off. */
	net_run(&h.n, h.n.now + IW_MSEC(250));
	assert_int_equal(tsns(t, 64), 1);
	assert_int_equal(t[0], h.peer_tsn + 1);
	/* Further SACKs do not repeat it: it is an ordinary chunk now. */
	acknowledge(h.peer_tsn, 100, NULL, 0);
	assert_int_equal(tsns(t, 64), 0);
	acknowledge(h.peer_tsn + 1, 100, NULL, 0);
	assert_int_equal(tsns(t, 64), 1);
	assert_int_equal(t[0], h.peer_tsn + 2);
	hand_close(&h);
}

/*
 * Establishes an association with a peer whose receive window is rwnd octets. The path MTU is 1500
 * and nothing is in flight.
 */
static void open_with_window(uint32_t rwnd)
{
	struct iw_sctp_init i;

	hand_open(&h);
	net_start(&h.n);
	i = hand_init(&h);
	i.a_rwnd = rwnd;
	hand_up_with(&h, &i);
	answer_probes();
}

/* SX-19, SX-36: RFC 9260 6.1 A: only a probe of a closed window waits for an RTO. */
static void chunk_larger_than_an_open_window_is_sent_at_once(void **state)
{
	struct iw_sctp_facts f;
	struct iw_sctp_path p;
	uint32_t t[64];

	(void)state;
	open_with_window(2000);
	assert_int_equal(send_octets(h.n.b.a, 100), 0);
	net_run(&h.n, h.n.now);
	assert_int_equal(tsns(t, 64), 1);
	acknowledge(h.peer_tsn, 1001, NULL, 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(send_octets(h.n.b.a, 1400), 0);
	net_run(&h.n, h.n.now);
	assert_int_equal(tsns(t, 64), 1); /* one, as nothing is in flight */
	acknowledge(h.peer_tsn + 1, 1001, NULL, 0);
	assert_int_equal(tsns(t, 64), 1);
	/* The peer drops this one, with a SACK each time: T3 repeats it, and cwnd is unaffected. */
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	for (int i = 0; i < 100; i++) {
		acknowledge(h.peer_tsn + 1, 1001, NULL, 0);
		net_run(&h.n, h.n.now + IW_SEC(1));
		answer_heartbeats(0);
	}
	iw_sctp_facts(h.n.b.a, &f);
	assert_in_range(f.resent, 3, 20);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.errors, 0);
	assert_true(p.cwnd >= 4404);
	hand_close(&h);
}

/*
 * SX-19: RFC 1122 4.2.3.4: a window is treated as closed if half of it or less is free. The RTO
 * gives the peer's user time to read.
 */
static void chunk_larger_than_a_nearly_closed_window_waits(void **state)
{
	uint32_t t[64];

	(void)state;
	open_with_window(2000);
	assert_int_equal(send_octets(h.n.b.a, 100), 0);
	net_run(&h.n, h.n.now);
	assert_int_equal(tsns(t, 64), 1);
	acknowledge(h.peer_tsn, 1000, NULL, 0);
	assert_int_equal(send_octets(h.n.b.a, 1400), 0);
	net_run(&h.n, h.n.now + IW_MSEC(990));
	assert_int_equal(tsns(t, 64), 0);
	net_run(&h.n, h.n.now + IW_MSEC(20));
	assert_int_equal(tsns(t, 64), 1);
	hand_close(&h);
}

/*
 * SX-20: three miss indications by the HTNA rule cause a fast retransmission. SX-21: the window is
 * halved once.
 */
static void three_misses_bring_a_fast_retransmission(void **state)
{
	static const uint16_t one[] = { 2, 2 }, two[] = { 2, 3 }, three[] = { 2, 4 };
	struct iw_sctp_facts f;
	struct iw_sctp_path p;
	uint32_t t[64];

	(void)state;
	open_up(); /* no round trip is known, so RACK does not apply */
	for (int n = 0; n < 4; n++)
		assert_int_equal(send_octets(h.n.b.a, 1000), 0);
	net_run(&h.n, h.n.now);
	assert_int_equal(tsns(t, 64), 4);
	acknowledge(h.peer_tsn - 1, 100000, one, 1);
	acknowledge(h.peer_tsn - 1, 100000, one, 1); /* nothing new: no miss indication */
	acknowledge(h.peer_tsn - 1, 100000, two, 1);
	assert_int_equal(tsns(t, 64), 0);
	acknowledge(h.peer_tsn - 1, 100000, three, 1);
	assert_int_equal(tsns(t, 64), 1);
	assert_int_equal(t[0], h.peer_tsn);
	iw_sctp_facts(h.n.b.a, &f);
	assert_int_equal(f.fast_retransmits, 1);
	assert_int_equal(f.timeouts, 0);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.ssthresh, 4 * 1168); /* 7.2.3: at least 4 chunks of the path MTU */
	acknowledge(h.peer_tsn + 3, 100000, NULL, 0);
	assert_int_equal(net_acked(h.n.b.a), 4);
	hand_close(&h);
}

/*
 * SX-20: a chunk is fast retransmitted once; if that is lost too, the timer expires
 * (RFC 9260 7.2.4).
 */
static void a_chunk_is_fast_retransmitted_once(void **state)
{
	struct iw_sctp_facts f;
	uint32_t t[64];

	(void)state;
	open_up();
	for (int n = 0; n < 10; n++)
		assert_int_equal(send_octets(h.n.b.a, 100), 0);
	net_run(&h.n, h.n.now);
	assert_int_equal(tsns(t, 64), 10);
	for (uint16_t to = 2; to <= 10; to++) {
		acknowledge(h.peer_tsn - 1, 100000, (const uint16_t[]){ 2, to }, 1);
		assert_int_equal(tsns(t, 64), to == 4);
	}
	iw_sctp_facts(h.n.b.a, &f);
	assert_int_equal(f.fast_retransmits, 1);
	hand_close(&h);
}

/*
 * SX-20: in Fast Recovery, a SACK that moves the Cumulative TSN Ack Point is a miss indication for
 * every TSN that it reports missing.
 */
static void in_recovery_each_missing_tsn_gets_an_indication(void **state)
{
	static const uint16_t gaps[][4] = { { 2, 2 },       { 2, 3 },       { 2, 4 },
					    { 2, 4, 6, 6 }, { 2, 4, 6, 7 }, { 2, 3 } };
	uint32_t t[64];

	(void)state;
	open_up();
	for (int n = 0; n < 10; n++)
		assert_int_equal(send_octets(h.n.b.a, 100), 0);
	net_run(&h.n, h.n.now);
	assert_int_equal(tsns(t, 64), 10);
	for (int i = 0; i < 3; i++) /* the first is lost */
		acknowledge(h.peer_tsn - 1, 100000, gaps[i], 1);
	assert_int_equal(tsns(t, 64), 1);
	for (int i = 3; i < 5; i++) /* so is the fifth: two indications */
		acknowledge(h.peer_tsn - 1, 100000, gaps[i], 2);
	assert_int_equal(tsns(t, 64), 0);
	/* The first has arrived now, and nothing above the fifth is newly acknowledged. */
	acknowledge(h.peer_tsn + 3, 100000, gaps[5], 1);
	assert_int_equal(tsns(t, 64), 1);
	assert_int_equal(t[0], h.peer_tsn + 4);
	hand_close(&h);
}

/* RFC 9260 3.3.4: gap blocks ascend and do not overlap. A block out of order is ignored. */
static void gap_blocks_out_of_order_acknowledge_nothing(void **state)
{
	static const uint16_t gaps[] = { 6, 7, 2, 3 };
	struct iw_sctp_path p;
	uint32_t flight;

	(void)state;
	open_up();
	for (int n = 0; n < 8; n++)
		assert_int_equal(send_octets(h.n.b.a, 100), 0);
	net_run(&h.n, h.n.now);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	flight = p.flight;
	acknowledge(h.peer_tsn - 1, 100000, gaps, 2);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.flight, flight - flight / 8 * 2);
	acknowledge(h.peer_tsn + 7, 100000, NULL, 0);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.flight, 0);
	hand_close(&h);
}

/* SX-23: SRTT and RTTVAR of RFC 9260 6.3.1, C3. */
static void round_trips_are_smoothed(void **state)
{
	static const uint64_t trip[] = { IW_MSEC(100), IW_MSEC(200) };
	struct iw_sctp_path p;

	(void)state;
	hand_open(&h);
	h.n.b.cfg.times.rto_min = IW_MSEC(1);
	net_start(&h.n);
	hand_up(&h);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(send_octets(h.n.b.a, 100), 0);
		net_run(&h.n, h.n.now + trip[i]);
		acknowledge(h.peer_tsn + i, 100000, NULL, 0);
	}
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.srtt, 112500000);               /* 7/8 * 100 + 1/8 * 200 ms */
	assert_int_equal(p.rto, 112500000 + 4 * 62500000); /* 3/4 * 50 + 1/4 * 100 ms */
	hand_close(&h);
}

/*
 * RFC 9260 6.2.1 D iii: a chunk that one SACK acknowledges in a gap block, and the next one does
 * not, is sent again.
 */
static void chunk_that_a_later_sack_reneges_is_retransmitted(void **state)
{
	static const uint16_t both[] = { 2, 3 };
	uint32_t t[64];

	(void)state;
	open_up();
	for (int n = 0; n < 3; n++)
		assert_int_equal(send_octets(h.n.b.a, 1000), 0);
	net_run(&h.n, h.n.now);
	assert_int_equal(tsns(t, 64), 3);
	acknowledge(h.peer_tsn - 1, 100000, both, 1);
	acknowledge(h.peer_tsn, 100000, NULL, 0); /* the peer reneges on 2 and 3 */
	net_run(&h.n, h.n.now + IW_SEC(3));
	assert_true(tsns(t, 64) >= 1);
	assert_int_equal(net_acked(h.n.b.a), 1);
	acknowledge(h.peer_tsn + 2, 100000, NULL, 0);
	assert_int_equal(net_acked(h.n.b.a), 3);
	hand_close(&h);
}

/* A chunk that was never sent cannot be acknowledged. An old SACK changes nothing. */
static void a_sack_for_data_never_sent_ends_the_association(void **state)
{
	static const uint16_t far[] = { 2, 9 };
	struct iw_sctp_chunk c;

	(void)state;
	open_up();
	acknowledge(h.peer_tsn - 10, 1, far, 1);
	assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_ESTABLISHED);
	acknowledge(h.peer_tsn, 100000, NULL, 0);
	assert_true(hand_wait(&h, IW_SCTP_ABORT, 0, &c));
	assert_int_equal(cause_of(&c), IW_SCTP_CAUSE_PROTOCOL);
	hand_close(&h);
	open_up();
	assert_int_equal(send_octets(h.n.b.a, 10), 0);
	net_run(&h.n, h.n.now);
	acknowledge(h.peer_tsn - 1, 100000, far, 1);
	assert_true(hand_wait(&h, IW_SCTP_ABORT, 0, &c));
	hand_close(&h);
}

/*
 * SX-23: the first sample, RTO.Min, back-off by two, Karn. SX-38, SCTP-71: the error count ends the
 * association, and all messages are reported.
 */
static void timeouts_back_off_and_end_the_association(void **state)
{
	struct iw_sctp_path p;
	struct iw_sctp_done d;
	struct iw_sctp_facts f;
	uint64_t began;
	unsigned canceled = 0;

	(void)state;
	open_up();
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.rto, IW_SEC(1));
	assert_int_equal(send_octets(h.n.b.a, 10), 0);
	net_run(&h.n, h.n.now + IW_MSEC(400));
	acknowledge(h.peer_tsn, 100000, NULL, 0);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.srtt, IW_MSEC(400));
	assert_int_equal(p.rto, IW_MSEC(1200)); /* SRTT + 4 * SRTT / 2 */
	assert_true(iw_sctp_next_done(h.n.b.a, &d));
	assert_int_equal(d.status, 0);
	for (int i = 0; i < 30; i++)
		assert_int_equal(send_octets(h.n.b.a, 1000), 0);
	began = h.n.now;
	while (iw_sctp_assoc_state(h.n.b.a) != IW_SCTP_CLOSED)
		assert_true(net_step(&h.n));
	net_run(&h.n, h.n.now);
	/* Eleven in a row: 1.2, 2.4 .. 38.4, then 60 s each. A tail-loss probe comes first. */
	assert_in_range(h.n.now - began, IW_SEC(370), IW_SEC(380));
	assert_int_equal(iw_sctp_why(h.n.b.a)->err, IW_E_TIMEOUT);
	assert_true(net_has_event(&h.n.b, IW_SCTP_EV_DOWN));
	iw_sctp_facts(h.n.b.a, &f);
	assert_int_equal(f.timeouts, 11);
	while (iw_sctp_next_done(h.n.b.a, &d)) {
		assert_int_equal(d.status, IW_E_CANCELED);
		assert_int_equal(d.seq, 1 + canceled);
		assert_int_equal(d.sent, canceled < f.sent - 1);
		canceled++;
	}
	assert_int_equal(canceled, 30);
	hand_close(&h);
}

/*
 * iw_sctp_release_memory copies the unacknowledged messages of the stream: a retransmission reads
 * the copy. SX-21, SX-23: see a_retransmitted_chunk_measures_no_round_trip.
 */
static void memory_that_was_released_is_not_read_again(void **state)
{
	uint8_t text[2][8] = { "theirs", "others" };
	struct iw_vec v[2] = { { text[0], 7 }, { text[1], 7 } };
	struct iw_sctp_chunk c;
	struct iw_sctp_data d;

	(void)state;
	open_up();
	for (uint16_t i = 0; i < 2; i++) {
		struct iw_sctp_send m = { .stream = i, .ppid = 16, .vec = &v[i], .nvec = 1 };

		assert_int_equal(iw_sctp_send(h.n.b.a, &m, NULL), 0);
	}
	net_run(&h.n, h.n.now);
	hand_forget(&h);
	assert_int_equal(iw_sctp_release_memory(h.n.b.a, 0), 0);
	memset(text, '-', sizeof(text));
	/* Nothing is acknowledged, so the message is sent again. */
	assert_true(hand_wait(&h, IW_SCTP_DATA, IW_SEC(2), &c));
	assert_true(iw_wire_sctp_data_decode(&d, c.value, c.value_len) > 0);
	assert_int_equal(d.stream, 0);
	assert_memory_equal(d.data, "theirs", 7);
	hand_close(&h);
}

/*
 * SX-23: Karn: a chunk that was sent twice measures no round trip. SX-21: after a timeout one chunk
 * is sent, in slow start.
 */
static void a_retransmitted_chunk_measures_no_round_trip(void **state)
{
	struct iw_sctp_path p;
	uint32_t t[8];

	(void)state;
	open_up();
	assert_int_equal(send_octets(h.n.b.a, 1000), 0);
	net_run(&h.n, h.n.now + IW_MSEC(1500));
	assert_int_equal(tsns(t, 8), 2);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.cwnd, 1168); /* what fits into one packet of 1200 */
	assert_int_equal(p.ssthresh, 4 * 1168);
	acknowledge(h.peer_tsn, 100000, NULL, 0);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.srtt, 0);
	assert_int_equal(p.rto, IW_SEC(2)); /* backed off until a round trip is measured */
	hand_close(&h);
}

/* Short copies let many messages be queued in little memory: a packet may have 65,535 octets. */
static void copies_of_short_messages_are_short(void **state)
{
	static uint8_t octets[600];
	struct iw_vec v = { octets, 500 };
	struct iw_sctp_send m = { .ppid = 16, .vec = &v, .nvec = 1, .copy = true };
	size_t before, after_short;

	(void)state;
	open_up();
	/* The first message also allocates the ring of chunks. */
	assert_int_equal(iw_sctp_send(h.n.b.a, &m, NULL), 0);
	before = h.n.b.mem.bytes;
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(iw_sctp_send(h.n.b.a, &m, NULL), 0);
	after_short = h.n.b.mem.bytes;
	assert_true(after_short - before < 6 * 600);
	v.len = 600;
	assert_int_equal(iw_sctp_send(h.n.b.a, &m, NULL), 0);
	assert_true(h.n.b.mem.bytes - after_short >= h.n.b.cfg.mtu);
	hand_close(&h);
}

/* An association whose window has grown, with nothing outstanding. */
static void open_wide(void)
{
	uint32_t t[256];
	unsigned n;

	hand_open(&h);
	h.n.b.cfg.burst = 64;
	h.n.b.cfg.abc_l = 64;
	net_start(&h.n);
	hand_up(&h);
	answer_probes();
	for (int round = 0; round < 4; round++)
		do {
			while (round < 3 && send_octets(h.n.b.a, 1400) == 0)
				;
			net_run(&h.n, h.n.now + IW_MSEC(5)); /* before any tail-loss probe */
			n = tsns(t, 256);
			if (n)
				acknowledge(t[n - 1], 1 << 20, NULL, 0);
		} while (round == 3 && n);
}

/*
 * SX-21: RFC 9260 7.2.1, 7.2.3: after a timeout only one packet is in flight, until something is
 * acknowledged.
 */
static void one_packet_is_sent_after_a_timeout(void **state)
{
	uint32_t t[64];

	(void)state;
	open_up();
	for (int n = 0; n < 6; n++)
		assert_int_equal(send_octets(h.n.b.a, n < 2 ? 500 : 700), 0);
	net_run(&h.n, h.n.now + IW_MSEC(900));
	assert_int_equal(tsns(t, 64), 6);
	net_run(&h.n, h.n.now + IW_MSEC(900));
	assert_int_equal(tsns(t, 64), 2); /* of 500 octets each: one packet, not full */
	acknowledge(h.peer_tsn, 100000, NULL, 0);
	assert_true(tsns(t, 64) >= 1);
	hand_close(&h);
}

/* SX-23: RFC 9260 6.3.2 R2: T3 stops if nothing is outstanding. The next chunk restarts it. */
static void the_timer_begins_anew_with_the_next_chunk(void **state)
{
	uint32_t t[64];

	(void)state;
	open_up();
	assert_int_equal(send_octets(h.n.b.a, 500), 0);
	net_run(&h.n, h.n.now);
	acknowledge(h.peer_tsn, 100000, NULL, 0);
	answer_probes(); /* a second passes */
	net_run(&h.n, h.n.now);
	hand_forget(&h);
	assert_int_equal(send_octets(h.n.b.a, 500), 0);
	net_run(&h.n, h.n.now);
	assert_int_equal(tsns(t, 64), 1);
	acknowledge(h.peer_tsn + 1, 100000, NULL, 0);
	net_run(&h.n, h.n.now + IW_MSEC(900));
	assert_int_equal(send_octets(h.n.b.a, 500), 0);
	net_run(&h.n, h.n.now + IW_MSEC(150)); /* before any tail-loss probe */
	assert_int_equal(tsns(t, 64), 1);
	hand_close(&h);
}

/*
 * SCTP-58 needs it: a caller that takes no completions gets IW_E_AGAIN, and IW_SCTP_EV_ROOM when
 * there is room again.
 */
static void room_is_reported_also_when_completions_had_filled_the_queue(void **state)
{
	struct iw_sctp_done d;
	struct net n;
	unsigned sent = 0;

	(void)state;
	net_init(&n, 9);
	n.a.cfg.burst = n.a.cfg.abc_l = 64;
	net_start(&n);
	assert_true(net_up(&n));
	for (;;) {
		int err = send_octets(n.a.a, 1);

		if (err == 0) {
			sent++;
			continue;
		}
		assert_int_equal(err, IW_E_AGAIN);
		if (net_acked(n.a.a) == sent)
			break;
		net_run(&n, n.now + IW_MSEC(100));
		n.a.nevents = 0;
	}
	assert_int_equal(sent, 65536);
	assert_int_equal(send_octets(n.a.a, 1), IW_E_AGAIN);
	assert_true(iw_sctp_next_done(n.a.a, &d));
	net_run(&n, n.now);
	assert_true(net_has_event(&n.a, IW_SCTP_EV_ROOM));
	assert_int_equal(send_octets(n.a.a, 1), 0);
	net_free(&n);
}

/* SX-21: RFC 9260 7.2.1: the window of an idle path is reduced. */
static void the_window_of_an_idle_path_is_halved(void **state)
{
	struct iw_sctp_path p;
	uint32_t cwnd;

	(void)state;
	open_wide();
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	cwnd = p.cwnd;
	assert_true(cwnd > 16 * 1468);
	net_run(&h.n, h.n.now + IW_MSEC(1500));
	assert_int_equal(send_octets(h.n.b.a, 1400), 0);
	net_run(&h.n, h.n.now);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.cwnd, cwnd / 2);
	hand_close(&h);
}

/* SX-21: a path with DATA in flight is not idle, however long ago it was sent. */
static void a_path_with_data_in_flight_is_not_idle(void **state)
{
	struct iw_sctp_path p;
	uint32_t t[8];

	(void)state;
	open_up();
	for (int n = 0; n < 2; n++)
		assert_int_equal(send_octets(h.n.b.a, 1000), 0);
	net_run(&h.n, h.n.now + IW_MSEC(900));
	acknowledge(h.peer_tsn, 100000, NULL, 0); /* RTO is 2.7 s now */
	net_run(&h.n, h.n.now + IW_MSEC(1850));
	assert_int_equal(tsns(t, 8), 2);
	assert_int_equal(send_octets(h.n.b.a, 1000), 0);
	net_run(&h.n, h.n.now);
	assert_int_equal(tsns(t, 8), 1);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.ssthresh, UINT32_MAX);
	hand_close(&h);
}

/*
 * RFC 8985 6.2: only the chunks of a burst that were sent before an acknowledged one are lost, not
 * those that were sent after it.
 */
static void only_chunks_sent_before_count_as_lost(void **state)
{
	uint32_t t[8];

	(void)state;
	open_up();
	answer_probes();
	for (int n = 0; n < 4; n++)
		assert_int_equal(send_octets(h.n.b.a, 1000), 0);
	net_run(&h.n, h.n.now);
	assert_int_equal(tsns(t, 8), 4);
	acknowledge(h.peer_tsn - 1, 100000, (const uint16_t[]){ 2, 2 }, 1);
	net_run(&h.n, h.n.now + IW_MSEC(5));
	assert_int_equal(tsns(t, 8), 1);
	assert_int_equal(t[0], h.peer_tsn);
	hand_close(&h);
}

/* RFC 8985 6.2: a retransmitted chunk does not hide the loss of later ones that were sent earlier. */
static void a_loss_above_a_retransmission_is_found(void **state)
{
	uint32_t t[8], first;

	(void)state;
	open_wide();
	for (int n = 0; n < 6; n++)
		assert_int_equal(send_octets(h.n.b.a, 1000), 0);
	net_run(&h.n, h.n.now + IW_MSEC(5));
	assert_int_equal(tsns(t, 8), 6);
	first = t[0];
	acknowledge(first - 1, 1 << 20, (const uint16_t[]){ 2, 3 }, 1);
	net_run(&h.n, h.n.now + IW_MSEC(7));
	assert_int_equal(tsns(t, 8), 1);
	assert_int_equal(t[0], first);
	acknowledge(first - 1, 1 << 20, (const uint16_t[]){ 2, 4, 6, 6 }, 2);
	net_run(&h.n, h.n.now + IW_MSEC(4)); /* before any tail-loss probe */
	assert_int_equal(tsns(t, 8), 1);
	assert_int_equal(t[0], first + 4);
	hand_close(&h);
}

static void gapped_chunks_are_skipped(void **state)
{
	uint8_t states[32];
	struct outq q = { .state = states, .size = sizeof(states) };
	uint32_t jitter = 1;

	(void)state;
	for (int round = 0; round < 200; round++) {
		for (size_t i = 0; i < sizeof(states); i++)
			states[i] = iw_next_jitter(&jitter) >> 28 ? CHUNK_GAPPED
								  : CHUNK_FLIGHT | 2 << 2;
		for (uint64_t from = 20; from <= 52; from++)
			for (uint64_t end = from; end <= 52; end++) {
				uint64_t seq = from;

				while (seq < end && STATE_OF(*state_at(&q, seq)) == CHUNK_GAPPED)
					seq++;
				assert_int_equal(iw_sctp_skip_gapped(&q, from, end), seq);
			}
	}
}

/* RFC 8985 7.3: after a tail-loss probe, no second one is sent before something is acknowledged. */
static void one_tail_loss_probe_is_sent_for_a_tail(void **state)
{
	uint32_t t[8];

	(void)state;
	open_up();
	assert_int_equal(send_octets(h.n.b.a, 1000), 0);
	net_run(&h.n, h.n.now + IW_MSEC(10));
	acknowledge(h.peer_tsn, 100000, NULL, 0); /* a round trip is known */
	hand_forget(&h);
	assert_int_equal(send_octets(h.n.b.a, 1000), 0);
	net_run(&h.n, h.n.now + IW_MSEC(300));
	acknowledge(h.peer_tsn, 100000, NULL, 0);
	net_run(&h.n, h.n.now + IW_MSEC(600)); /* together less than RTO.Min */
	assert_int_equal(tsns(t, 8), 2);
	assert_int_equal(t[1], h.peer_tsn + 1);
	hand_close(&h);
}

/*
 * RFC 8985 7.4.2: a tail-loss probe that is acknowledged, and not as a duplicate, has repaired a
 * loss, which halves the window.
 */
static void a_tail_loss_probe_that_repaired_a_loss_halves_the_window(void **state)
{
	struct iw_sctp_facts f;
	struct iw_sctp_path p;
	uint32_t cwnd, t[8], last;

	(void)state;
	open_wide();
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	cwnd = p.cwnd;
	iw_sctp_facts(h.n.b.a, &f);
	last = h.peer_tsn + (uint32_t)f.sent - 1;
	assert_int_equal(send_octets(h.n.b.a, 1000), 0);
	net_run(&h.n, h.n.now + IW_MSEC(500));
	assert_int_equal(tsns(t, 8), 2);
	iw_sctp_facts(h.n.b.a, &f);
	assert_int_equal(f.tail_probes, 1);
	acknowledge(last + 1, 1 << 20, NULL, 0);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.cwnd, cwnd / 2);
	hand_close(&h);
}

/*
 * An acknowledgement that arrives before the probe was sent is for the original chunk: nothing was
 * lost.
 */
static void a_tail_loss_probe_that_was_not_sent_yet_repairs_nothing(void **state)
{
	struct iw_sctp_facts f;
	struct iw_sctp_path p;
	uint32_t cwnd, last;

	(void)state;
	open_wide();
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	cwnd = p.cwnd;
	iw_sctp_facts(h.n.b.a, &f);
	last = h.peer_tsn + (uint32_t)f.sent - 1;
	assert_int_equal(send_octets(h.n.b.a, 1000), 0);
	net_run(&h.n, h.n.now);
	while (f.tail_probes == 0) {
		h.n.now = iw_sctp_deadline(h.n.b.s);
		iw_sctp_timeout(h.n.b.s, h.n.now);
		iw_sctp_facts(h.n.b.a, &f);
	}
	acknowledge(last + 1, 1 << 20, NULL, 0);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.cwnd, cwnd);
	hand_close(&h);
}

/* Sends a chunk, and then its tail-loss probe at the time to which the clock is set. Returns its TSN. */
static uint32_t send_until_probe(void)
{
	struct iw_sctp_facts f;
	uint32_t tsn;

	iw_sctp_facts(h.n.b.a, &f);
	tsn = h.peer_tsn + (uint32_t)f.sent;
	assert_int_equal(send_octets(h.n.b.a, 1000), 0);
	net_run(&h.n, h.n.now);
	while (f.tail_probes == 0) {
		h.n.now = iw_sctp_deadline(h.n.b.s);
		iw_sctp_timeout(h.n.b.s, h.n.now);
		iw_sctp_facts(h.n.b.a, &f);
	}
	net_run(&h.n, h.n.now);
	return tsn;
}

/* RFC 8985 6.2: no answer to the probe can arrive so early. The original was late. */
static void an_answer_too_early_for_the_probe_is_for_the_original(void **state)
{
	struct iw_sctp_path p;
	uint32_t cwnd, tsn;

	(void)state;
	open_wide();
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	cwnd = p.cwnd;
	h.n.b.a->paths[0].rtt_min = IW_MSEC(5);
	tsn = send_until_probe();
	net_run(&h.n, h.n.now + IW_MSEC(4));
	acknowledge(tsn, 1 << 20, NULL, 0);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.cwnd, cwnd);
	hand_close(&h);
}

static void report_duplicate(uint32_t cum, uint32_t tsn)
{
	uint8_t v[16] = { 0 };

	iw_put_be32(v, cum);
	iw_put_be32(v + 4, 1 << 20);
	iw_put_be16(v + 10, 1);
	iw_put_be32(v + 12, tsn);
	hand_say(&h, h.peer_tag, IW_SCTP_SACK, 0, v, sizeof(v));
}

/* The probe is reported as a duplicate after it was taken for the repair of a loss. */
static void a_duplicate_of_the_probe_restores_the_window(void **state)
{
	struct iw_sctp_path p;
	uint32_t cwnd, tsn;
	uint64_t sent_at;

	(void)state;
	open_wide();
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	cwnd = p.cwnd;
	h.n.b.a->paths[0].srtt = IW_MSEC(1);
	sent_at = h.n.now;
	tsn = send_until_probe();
	assert_int_equal(h.n.b.a->out.tlp_wait, h.n.now - sent_at);
	net_run(&h.n, h.n.now + IW_MSEC(50));
	acknowledge(tsn, 1 << 20, NULL, 0);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.cwnd, cwnd / 2);
	net_run(&h.n, h.n.now + h.n.b.a->out.tlp_wait + IW_MSEC(9));
	report_duplicate(tsn, tsn);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.cwnd, cwnd);
	hand_close(&h);
}

/* RFC 8985 7.1: the answer to what T3 sends is no answer to the probe before it. */
static void a_probe_before_t3_repairs_nothing(void **state)
{
	struct iw_sctp_facts f;
	struct iw_sctp_path p;
	uint32_t ssthresh, tsn;

	(void)state;
	open_wide();
	tsn = send_until_probe();
	net_run(&h.n, h.n.now + IW_MSEC(1200));
	iw_sctp_facts(h.n.b.a, &f);
	assert_int_equal(f.timeouts, 1);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	ssthresh = p.ssthresh;
	assert_true(ssthresh > 6 * 1500);
	net_run(&h.n, h.n.now + IW_MSEC(50));
	acknowledge(tsn, 1 << 20, NULL, 0);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.ssthresh, ssthresh);
	hand_close(&h);
}

/*
 * The path has become slower than the wait for a probe. Chunks that are sent twice measure no round
 * trip (Karn), so only a longer wait makes a measurement possible.
 */
static void probes_without_a_measured_round_trip_wait_longer(void **state)
{
	struct iw_sctp_facts f;
	uint32_t tsn;

	(void)state;
	open_wide();
	tsn = send_until_probe();
	net_run(&h.n, h.n.now + IW_MSEC(100));
	acknowledge(tsn, 1 << 20, NULL, 0);
	assert_int_equal(send_octets(h.n.b.a, 1000), 0);
	net_run(&h.n, h.n.now + IW_MSEC(350));
	iw_sctp_facts(h.n.b.a, &f);
	assert_int_equal(f.tail_probes, 1);
	acknowledge(tsn + 1, 1 << 20, NULL, 0); /* sent once */
	assert_int_equal(send_octets(h.n.b.a, 1000), 0);
	net_run(&h.n, h.n.now + IW_MSEC(950));
	iw_sctp_facts(h.n.b.a, &f);
	assert_int_equal(f.tail_probes, 2);
	hand_close(&h);
}

/*
 * RFC 5681 4.3: the loss of a retransmission reduces the window again, also if it was sent at the
 * time at which the recovery began.
 */
static void a_lost_retransmission_halves_the_window_again(void **state)
{
	struct iw_sctp_facts f;
	struct iw_sctp_path p;
	uint32_t cwnd, last;

	(void)state;
	open_wide();
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	cwnd = p.cwnd;
	iw_sctp_facts(h.n.b.a, &f);
	last = h.peer_tsn + (uint32_t)f.sent - 1;
	for (int n = 0; n < 6; n++)
		assert_int_equal(send_octets(h.n.b.a, 1400), 0);
	net_run(&h.n, h.n.now);
	for (uint16_t to = 2; to <= 4; to++)
		acknowledge(last, 1 << 20, (const uint16_t[]){ 2, to }, 1);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.cwnd, cwnd / 2);
	net_run(&h.n, h.n.now + IW_MSEC(1));
	assert_int_equal(send_octets(h.n.b.a, 1400), 0);
	net_run(&h.n, h.n.now + IW_MSEC(1));
	acknowledge(last, 1 << 20, (const uint16_t[]){ 2, 7 }, 1);
	net_run(&h.n, h.n.now + IW_MSEC(8));
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.cwnd, cwnd / 4);
	hand_close(&h);
}

/* SX-21: RFC 9260 7.2.3, 7.2.4: a loss halves the window, once in each recovery. */
static void each_recovery_halves_the_window_once(void **state)
{
	static const uint16_t gaps[3][2] = { { 3, 4 }, { 3, 5 }, { 3, 6 } };
	struct iw_sctp_facts f;
	struct iw_sctp_path p;
	uint32_t cwnd, t[64];

	(void)state;
	open_wide();
	for (int loss = 0; loss < 2; loss++) {
		uint32_t last;

		assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
		cwnd = p.cwnd;
		iw_sctp_facts(h.n.b.a, &f);
		last = h.peer_tsn + (uint32_t)f.sent - 1;
		for (int n = 0; n < 6; n++)
			assert_int_equal(send_octets(h.n.b.a, 1400), 0);
		net_run(&h.n, h.n.now);
		assert_int_equal(tsns(t, 64), 6);
		for (int n = 0; n < 3; n++) /* two are missing */
			acknowledge(last, 1 << 20, gaps[n], 1);
		assert_int_equal(tsns(t, 64), 2);
		assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
		assert_int_equal(p.cwnd, cwnd / 2);
		acknowledge(last + 6, 1 << 20, NULL, 0);
		assert_int_equal(net_acked(h.n.b.a), f.sent + 6);
	}
	hand_close(&h);
}

/* SX-20: one packet is retransmitted at once, whatever the halved window is (RFC 9260 7.2.4, 3). */
static void a_fast_retransmission_does_not_wait_for_the_window(void **state)
{
	struct iw_sctp_facts f;
	struct iw_sctp_path p;
	uint32_t t[256], last;
	unsigned n = 0;

	(void)state;
	open_wide();
	iw_sctp_facts(h.n.b.a, &f);
	last = h.peer_tsn + (uint32_t)f.sent - 1;
	while (send_octets(h.n.b.a, 1400) == 0 && n < 200)
		n++;
	net_run(&h.n, h.n.now);
	n = tsns(t, 256);
	assert_true(n > 12);
	for (uint16_t to = 2; to <= 4; to++) {
		acknowledge(last, 1 << 20, (const uint16_t[]){ 2, to }, 1);
		n = tsns(t, 256);
	}
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_true(p.flight > p.cwnd + 1500);
	assert_int_equal(n, 1);
	assert_int_equal(t[0], last + 1);
	hand_close(&h);
}

/* SX-37: ICMP about a packet of ours takes effect at once, ICMP about any other packet never. */
static void icmp_too_big_is_believed_for_our_own_packets_only(void **state)
{
	uint8_t head[8];
	struct iw_sctp_path p;
	uint32_t t[8];

	(void)state;
	open_up();
	answer_probes();
	assert_int_equal(send_octets(h.n.b.a, 1400), 0);
	net_run(&h.n, h.n.now);
	assert_int_equal(tsns(t, 8), 1);
	iw_put_be16(head, NET_PORT_B);
	iw_put_be16(head + 2, h.port);
	iw_put_be32(head + 4, HAND_TAG ^ 1);
	iw_sctp_too_big(h.n.b.s, &h.src, head, 8, 1300, h.n.now);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.mtu, 1500);
	iw_put_be32(head + 4, HAND_TAG);
	iw_sctp_too_big(h.n.b.s, &h.src, head, 7, 1300, h.n.now);
	iw_sctp_too_big(h.n.b.s, &h.src, head, 8, 1300, h.n.now);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.mtu, 1300);
	assert_true(net_has_event(&h.n.b, IW_SCTP_EV_MTU));
	net_run(&h.n, h.n.now);
	assert_int_equal(tsns(t, 8), 1); /* retransmitted without a timer; no congestion */
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.cwnd, 4404);
	/* The path MTU is at least the minimum of IPv4. */
	iw_sctp_too_big(h.n.b.s, &h.src, head, 8, 68, h.n.now);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.mtu, IW_SCTP_MTU_MIN);
	/* SCTP-51: at least 516 octets of DDP segment, and the DDP-SSN. */
	assert_int_equal(iw_sctp_max_message(h.n.b.a), 518);
	hand_close(&h);
}

/*
 * A message that was cut before its sender learned of the smaller MTU must be sent. Otherwise it
 * would wait for ever.
 */
static void message_cut_for_a_larger_mtu_is_accepted_and_sent(void **state)
{
	uint8_t head[8];
	uint32_t t[8];
	size_t max;

	(void)state;
	open_up();
	answer_probes();
	max = iw_sctp_max_message(h.n.b.a);
	iw_put_be16(head, NET_PORT_B);
	iw_put_be16(head + 2, h.port);
	iw_put_be32(head + 4, HAND_TAG);
	iw_sctp_too_big(h.n.b.s, &h.src, head, 8, 1300, h.n.now);
	assert_true(iw_sctp_max_message(h.n.b.a) < max);
	assert_int_equal(send_octets(h.n.b.a, max + 1), IW_E_LIMIT);
	assert_int_equal(send_octets(h.n.b.a, max), 0);
	net_run(&h.n, h.n.now);
	assert_int_equal(tsns(t, 8), 1);
	hand_close(&h);
}

/* RFC 8899 5.3: chunks are multiples of four octets, so this MTU itself is never probed. */
static void the_search_ends_below_an_mtu_that_no_chunks_fill(void **state)
{
	struct iw_sctp_path p;

	(void)state;
	hand_open(&h);
	h.n.b.cfg.mtu = 1499;
	net_start(&h.n);
	hand_up(&h);
	hand_answer_heartbeats(&h, IW_SEC(10));
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_in_range(p.mtu, 1496, 1499);
	assert_in_range(h.n.b.packets, 1, 20);
	hand_close(&h);
}

/* SX-34: an answer to a probe proves no path MTU if its nonce is wrong. */
static void a_forged_probe_answer_proves_nothing(void **state)
{
	struct iw_sctp_path p;
	struct iw_sctp_chunk c;
	uint8_t copy[64];

	(void)state;
	open_up();
	assert_true(hand_wait(&h, IW_SCTP_HEARTBEAT, IW_MSEC(1010), &c));
	memcpy(copy, c.value, c.value_len);
	copy[15] ^= 1;
	hand_begin(&h, h.peer_tag);
	hand_chunk(&h, IW_SCTP_HEARTBEAT_ACK, 0, copy, c.value_len);
	hand_send(&h);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.mtu, IW_SCTP_MTU_BASE);
	assert_int_equal(iw_sctp_max_message(h.n.b.a), 518);
	hand_close(&h);
}

/* The network may duplicate an answer. The second copy does not prove the next larger size. */
static void a_repeated_probe_answer_proves_no_other_size(void **state)
{
	struct iw_sctp_path p;
	struct iw_sctp_chunk c;
	uint8_t copy[64];

	(void)state;
	open_up();
	assert_true(hand_wait(&h, IW_SCTP_HEARTBEAT, IW_MSEC(1010), &c));
	memcpy(copy, c.value, c.value_len);
	hand_begin(&h, h.peer_tag);
	hand_chunk(&h, IW_SCTP_HEARTBEAT_ACK, 0, copy, c.value_len);
	for (int n = 0; n < 2; n++) /* in one batch: before the next probe is sent */
		net_inject(&h.n, h.e, &h.src, h.out, h.len);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.mtu, IW_SCTP_MTU_BASE);
	hand_close(&h);
}

/* A carrier that takes no packets for a while does not lower the path MTU. */
static void a_probe_that_was_not_sent_has_not_failed(void **state)
{
	struct iw_sctp_path p;
	uint64_t end;

	(void)state;
	open_up();
	end = h.n.now + IW_SEC(10);
	while (iw_sctp_deadline(h.n.b.s) < end) {
		h.n.now = iw_sctp_deadline(h.n.b.s);
		iw_sctp_timeout(h.n.b.s, h.n.now);
	}
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.mtu, IW_SCTP_MTU_BASE);
	hand_close(&h);
}

/*
 * SX-38: the answer to a path MTU probe is a HEARTBEAT ACK as any other, so the peer is alive
 * (RFC 9260 8.1).
 */
static void an_answered_probe_clears_the_error_count(void **state)
{
	struct iw_sctp_path p;
	struct iw_sctp_chunk c;
	uint8_t copy[64];

	(void)state;
	open_up();
	assert_int_equal(send_octets(h.n.b.a, 1000), 0);
	/* Ignores the probes before the first T3 timeout, as if they were lost. */
	do {
		assert_true(hand_wait(&h, IW_SCTP_HEARTBEAT, IW_SEC(3), &c));
		assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	} while (p.errors == 0);
	memcpy(copy, c.value, c.value_len);
	hand_begin(&h, h.peer_tag);
	hand_chunk(&h, IW_SCTP_HEARTBEAT_ACK, 0, copy, c.value_len);
	hand_send(&h);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.errors, 0);
	hand_close(&h);
}

/* RFC 8985: a lost tail costs two round trips, not an RTO. So does a chunk that is lost twice. */
static void a_lost_tail_is_found_long_before_the_timeout(void **state)
{
	struct net n;
	struct iw_sctp_facts f;
	uint64_t began;

	(void)state;
	net_init(&n, 5);
	net_start(&n);
	assert_true(net_up(&n));
	net_run(&n, n.now + IW_SEC(1));
	n.ab.cut = true;
	for (int i = 0; i < 3; i++)
		assert_int_equal(send_octets(n.a.a, 1000), 0);
	began = n.now;
	net_run(&n, n.now + IW_MSEC(20));
	n.ab.cut = false;
	while (net_acked(n.a.a) < 3)
		assert_true(net_step(&n));
	assert_in_range(n.now - began, IW_MSEC(40), IW_MSEC(200));
	iw_sctp_facts(n.a.a, &f);
	assert_int_equal(f.timeouts, 0);
	assert_int_equal(f.tail_probes, 1);
	assert_int_equal(n.b.messages, 3);
	net_free(&n);
}

/* How often one chunk is to be lost: the next that is sent while drop_chosen is false. */
static unsigned drop_times;
static bool drop_chosen;
static uint32_t drop_tsn;

static bool drop_one(struct net *n, struct net_end *from, uint8_t *packet, size_t len)
{
	uint32_t tsn;

	if (from != &n->a || len <= 100 || packet[12] != IW_SCTP_DATA || drop_times == 0)
		return true;
	tsn = iw_get_be32(packet + 16);
	if (!drop_chosen) {
		drop_chosen = true;
		drop_tsn = tsn;
	}
	if (tsn != drop_tsn)
		return true;
	drop_times--;
	return false;
}

/* A chunk lost again and again while others arrive. */
static void a_chunk_lost_three_times_needs_no_timeout(void **state)
{
	enum { CHUNKS = 2000 };
	struct net n;
	struct iw_sctp_facts f;
	unsigned sent = 0;

	(void)state;
	net_init(&n, 5);
	net_start(&n);
	n.tap = drop_one;
	drop_times = 0;
	drop_chosen = false;
	assert_true(net_up(&n));
	net_run(&n, n.now + IW_SEC(1));
	for (uint64_t end = n.now + IW_SEC(5); n.b.messages < CHUNKS && n.now < end;) {
		int err = sent < CHUNKS ? send_octets(n.a.a, 1000) : IW_E_AGAIN;

		if (err == IW_E_AGAIN) {
			net_step(&n);
			continue;
		}
		assert_int_equal(err, 0);
		if (++sent == 300)
			drop_times = 3;
	}
	assert_int_equal(n.b.messages, CHUNKS);
	assert_int_equal(drop_times, 0);
	iw_sctp_facts(n.a.a, &f);
	assert_int_equal(f.timeouts, 0);
	net_free(&n);
}

/* SX-35: after a SACK, one burst of Max.Burst packets is sent at once. The rest is paced. */
static void a_burst_is_limited_and_the_rest_is_paced(void **state)
{
	uint32_t t[256];
	struct iw_sctp_path p;
	unsigned n;

	(void)state;
	open_up();
	net_run(&h.n, h.n.now + IW_MSEC(100));
	answer_probes();
	/* Grow the window: everything is acknowledged a round trip later. */
	for (int round = 0; round < 6; round++) {
		uint32_t last = 0;

		while (send_octets(h.n.b.a, 1400) == 0)
			;
		net_run(&h.n, h.n.now + IW_MSEC(100));
		n = tsns(t, 256);
		if (n)
			last = t[n - 1];
		acknowledge(last, 1 << 20, NULL, 0);
	}
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_true(p.cwnd > 8 * 1468);
	n = tsns(t, 256);
	assert_in_range(n, 1, 5); /* Max.Burst 4, and the rest of one packet */
	net_run(&h.n, h.n.now + IW_MSEC(200));
	assert_true(tsns(t, 256) > 0);
	hand_close(&h);
}

/* SX-37: a chunk above a reduced path MTU is sent with IP fragmentation. New chunks fit. */
static void chunks_larger_than_the_path_mtu_are_sent_in_ip_fragments(void **state)
{
	struct net n;

	(void)state;
	net_init(&n, 6);
	net_start(&n);
	assert_true(net_up(&n));
	net_run(&n, n.now + IW_SEC(1));
	assert_int_equal(iw_sctp_max_message(n.a.a), 1436);
	n.ab.mtu = 1300;
	n.ab.icmp = true;
	for (int i = 0; i < 20; i++)
		assert_int_equal(send_octets(n.a.a, 1436), 0);
	net_run(&n, n.now + IW_SEC(1));
	assert_int_equal(net_acked(n.a.a), 20);
	assert_true(net_has_event(&n.a, IW_SCTP_EV_MTU));
	assert_int_equal(iw_sctp_max_message(n.a.a), 1300 - 20 - 12 - 16 - 16);
	net_free(&n);
	/* The same without ICMP: two timeouts reduce the path MTU. */
	net_init(&n, 6);
	net_start(&n);
	assert_true(net_up(&n));
	net_run(&n, n.now + IW_SEC(1));
	n.ab.mtu = 1300;
	for (int i = 0; i < 20; i++)
		assert_int_equal(send_octets(n.a.a, 1436), 0);
	net_run(&n, n.now + IW_SEC(60));
	assert_int_equal(net_acked(n.a.a), 20);
	assert_in_range(iw_sctp_max_message(n.a.a), 1300 - 64 - 20, 1300 - 64);
	net_free(&n);
}

/* SX-37: a black hole is found even if answered small packets prevent two timeouts in a row. */
static void a_black_hole_is_found_though_small_packets_get_through(void **state)
{
	struct net n;

	(void)state;
	net_init(&n, 6);
	net_start(&n);
	assert_true(net_up(&n));
	net_run(&n, n.now + IW_SEC(1));
	n.ab.mtu = 1300;
	assert_int_equal(send_octets(n.a.a, 1436), 0);
	for (unsigned i = 0; i < 200; i++) {
		assert_int_equal(send_octets(n.a.a, 64), 0);
		net_run(&n, n.now + IW_MSEC(50));
	}
	assert_true(net_acked(n.a.a) > 195);
	net_run(&n, n.now + IW_SEC(1));
	assert_int_equal(net_acked(n.a.a), 201);
	net_free(&n);
}

/*
 * SCTP-50, SCTP-51, SCTP-53: the path MTU is found by probing. The largest message follows it, with
 * room for a SACK.
 */
static void the_path_mtu_is_found_by_probing(void **state)
{
	static const uint32_t mtus[] = { 1200, 1280, 1400, 1492, 1500, 4000, 9000 };

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(mtus); i++) {
		struct iw_sctp_path p;
		struct net n;

		net_init(&n, 6);
		n.a.cfg.mtu = n.b.cfg.mtu = 9000;
		n.ab.mtu = n.ba.mtu = mtus[i];
		net_start(&n);
		assert_true(net_up(&n));
		assert_int_equal(iw_sctp_max_message(n.a.a), 518);
		net_run(&n, n.now + IW_SEC(60));
		assert_int_equal(iw_sctp_path(n.a.a, 0, &p), 0);
		assert_in_range(p.mtu, mtus[i] - 16, mtus[i]);
		assert_int_equal(iw_sctp_max_message(n.a.a), (p.mtu - 32) / 4 * 4 - 32);
		net_free(&n);
	}
}

static uint32_t pmtu_of(const struct net_end *e)
{
	struct iw_sctp_path p;

	assert_int_equal(iw_sctp_path(e->a, 0, &p), 0);
	return p.mtu;
}

/* Sends count messages of the largest size. Returns the time until all are acknowledged. */
static uint64_t transfer(struct net *n, unsigned count)
{
	uint64_t began = n->now, end = n->now + IW_SEC(60), all = net_acked(n->a.a) + count;

	while (n->now < end && net_acked(n->a.a) < all) {
		while (count > 0 && send_octets(n->a.a, iw_sctp_max_message(n->a.a)) == 0)
			count--;
		net_run(n, n->now + IW_MSEC(10));
	}
	assert_int_equal(net_acked(n->a.a), all);
	return n->now - began;
}

/*
 * SX-37, SCTP-51, RFC 8899 5.2, the error state: a path MTU below the first size of the search is
 * found without ICMP.
 */
static void a_path_mtu_below_the_base_is_found_by_data(void **state)
{
	static const uint32_t mtus[] = { 400, 576, 600, 900, 1199 };

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(mtus); i++) {
		struct net n;

		net_init(&n, 6);
		net_start(&n);
		assert_true(net_up(&n));
		n.ab.mtu = n.ba.mtu = mtus[i];
		assert_true(transfer(&n, 300) < IW_SEC(10));
		net_run(&n, n.now + IW_SEC(60));
		if (mtus[i] < IW_SCTP_MTU_MIN) /* below it IP fragments the packets */
			assert_int_equal(pmtu_of(&n.a), IW_SCTP_MTU_MIN);
		else
			assert_in_range(pmtu_of(&n.a), IW_MAX(mtus[i] - 16, 576), mtus[i]);
		assert_true(iw_sctp_max_message(n.a.a) >= 518);
		assert_true(transfer(&n, 300) < IW_SEC(1));
		net_free(&n);
	}
}

/*
 * SX-37: a chunk that was sent cannot be split again. So the first chunks fit every path, even if a
 * device drops larger packets without regard to DF.
 */
static void first_messages_pass_a_black_hole(void **state)
{
	static const uint32_t mtus[] = { 576, 900, 1199 };

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(mtus); i++) {
		struct net n;

		net_init(&n, 6);
		n.ab.mtu = n.ba.mtu = mtus[i];
		n.ab.hole = n.ba.hole = true;
		net_start(&n);
		assert_true(net_up(&n));
		assert_int_equal(iw_sctp_max_message(n.a.a), 518);
		assert_true(transfer(&n, 300) < IW_SEC(10));
		net_run(&n, n.now + IW_SEC(60));
		assert_in_range(pmtu_of(&n.a), IW_MAX(mtus[i] - 16, 576), mtus[i]);
		assert_in_range(iw_sctp_max_message(n.a.a), IW_MAX(mtus[i] - 16 - 67, 518),
				IW_MAX(mtus[i] - 64, 518));
		assert_true(transfer(&n, 300) < IW_SEC(1));
		net_free(&n);
	}
}

/*
 * SCTP-51: the first size of the search is used once a probe has shown that it passes. If the
 * larger sizes fail, that is after a timeout.
 */
static void larger_messages_follow_the_first_probe_that_is_answered(void **state)
{
	struct net n;

	(void)state;
	net_init(&n, 6);
	net_start(&n);
	assert_true(net_up(&n));
	assert_int_equal(iw_sctp_max_message(n.a.a), 518);
	net_run(&n, n.now + IW_MSEC(50));
	assert_int_equal(iw_sctp_max_message(n.a.a), 1500 - 64);
	net_free(&n);
	net_init(&n, 6);
	n.ab.mtu = n.ba.mtu = 1300;
	net_start(&n);
	assert_true(net_up(&n));
	net_run(&n, n.now + IW_MSEC(1100));
	assert_int_equal(iw_sctp_max_message(n.a.a), 1200 - 64);
	net_free(&n);
}

/*
 * RFC 8899 5.2, base confirmation: the path MTU is known before any data is sent, also to an end
 * that only receives.
 */
static void a_path_mtu_below_the_base_is_found_by_probes(void **state)
{
	static const uint32_t mtus[] = { 576, 900, 1199 };

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(mtus); i++) {
		struct net n;

		net_init(&n, 6);
		n.ab.mtu = n.ba.mtu = mtus[i];
		net_start(&n);
		assert_true(net_up(&n));
		net_run(&n, n.now + IW_SEC(60));
		assert_in_range(pmtu_of(&n.a), IW_MAX(mtus[i] - 16, 576), mtus[i]);
		assert_in_range(pmtu_of(&n.b), IW_MAX(mtus[i] - 16, 576), mtus[i]);
		net_free(&n);
	}
}

/*
 * RFC 8899 4.3: timeouts while nothing passes lower the path MTU, but prove nothing. Soon after the
 * outage the path MTU is as before.
 */
static void an_outage_does_not_lower_the_path_mtu(void **state)
{
	static const uint64_t outages[] = { IW_SEC(3), IW_SEC(8), IW_SEC(40) };

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(outages); i++) {
		struct net n;

		net_init(&n, 6);
		net_start(&n);
		assert_true(net_up(&n));
		net_run(&n, n.now + IW_SEC(2));
		assert_int_equal(pmtu_of(&n.a), 1500);
		n.ab.cut = n.ba.cut = true;
		assert_int_equal(send_octets(n.a.a, 1400), 0);
		net_run(&n, n.now + outages[i]);
		n.ab.cut = n.ba.cut = false;
		/* T3 has doubled meanwhile. */
		net_run(&n, n.now + outages[i] + IW_SEC(5));
		assert_int_equal(net_acked(n.a.a), 1);
		transfer(&n, 20);
		net_run(&n, n.now + 3 * outages[i]);
		assert_int_equal(pmtu_of(&n.a), 1500);
		net_free(&n);
	}
}

/* SX-37: RFC 8899 4.3: the probe does not wait for an RTO, which has doubled up to RTO.Max. */
static void path_mtu_returns_with_the_first_acknowledgement_after_an_outage(void **state)
{
	(void)state;
	for (uint64_t outage = IW_SEC(5); outage < IW_SEC(100); outage += IW_SEC(19)) {
		uint64_t restored;
		struct net n;

		net_init(&n, 6);
		n.ab.delay = n.ba.delay = IW_MSEC(10);
		net_start(&n);
		assert_true(net_up(&n));
		net_run(&n, n.now + IW_SEC(5));
		assert_int_equal(pmtu_of(&n.a), 1500);
		n.ab.cut = n.ba.cut = true;
		assert_int_equal(send_octets(n.a.a, 1400), 0);
		net_run(&n, n.now + outage);
		n.ab.cut = n.ba.cut = false;
		restored = n.now;
		while (net_acked(n.a.a) == 0 && n.now < restored + IW_SEC(100))
			net_run(&n, n.now + IW_MSEC(10));
		net_run(&n, n.now + IW_MSEC(50));
		assert_int_equal(net_acked(n.a.a), 1);
		assert_int_equal(pmtu_of(&n.a), 1500);
		net_free(&n);
	}
}

/* The largest packet of the carrier is smaller than the first size of the search. */
static void a_carrier_with_small_packets_works(void **state)
{
	static const uint32_t mtus[] = { 576, 900 };

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(mtus); i++) {
		struct net n;

		net_init(&n, 6);
		n.a.cfg.mtu = n.ab.mtu = n.ba.mtu = mtus[i];
		net_start(&n);
		assert_true(net_up(&n));
		assert_int_equal(pmtu_of(&n.a), mtus[i]);
		assert_true(transfer(&n, 300) < IW_SEC(2));
		net_run(&n, n.now + IW_SEC(30));
		assert_int_equal(pmtu_of(&n.a), mtus[i]);
		net_free(&n);
	}
}

/*
 * A report of a router during the set-up makes no probe that exceeds the packets of the carrier,
 * even if its path MTU cannot be raised.
 */
static void a_report_during_the_set_up_makes_no_larger_probe(void **state)
{
	uint8_t head[20] = { NET_PORT_A >> 8, NET_PORT_A & 0xff, NET_PORT_B >> 8,
			     NET_PORT_B & 0xff, [12] = IW_SCTP_INIT };
	struct iw_sctp_facts f;
	struct net n;

	(void)state;
	net_init(&n, 6);
	n.a.cfg.mtu = IW_SCTP_MTU_MIN;
	net_start(&n);
	net_connect(&n);
	iw_sctp_facts(n.a.a, &f);
	iw_put_be32(head + 16, f.tag);
	iw_sctp_too_big(n.a.s, &n.b.addr[0], head, sizeof(head), IW_SCTP_MTU_MIN, n.now);
	net_run(&n, n.now + IW_SEC(2));
	assert_true(net_has_event(&n.a, IW_SCTP_EV_UP));
	assert_int_equal(pmtu_of(&n.a), IW_SCTP_MTU_MIN);
	net_free(&n);
}

/* RFC 8899 4.3: a smaller limit than a router reported is found by the search. */
static void a_router_that_reports_too_much_does_not_stop_the_search(void **state)
{
	uint8_t head[8];
	struct iw_sctp_facts f;
	struct net n;

	(void)state;
	net_init(&n, 6);
	net_start(&n);
	assert_true(net_up(&n));
	net_run(&n, n.now + IW_SEC(2));
	iw_sctp_facts(n.a.a, &f);
	iw_put_be16(head, NET_PORT_A);
	iw_put_be16(head + 2, NET_PORT_B);
	iw_put_be32(head + 4, f.peer_tag);
	n.ab.mtu = 700;
	iw_sctp_too_big(n.a.s, &n.b.addr[0], head, 8, 1000, n.now);
	assert_int_equal(pmtu_of(&n.a), 1000);
	/* An old router, which does not report the size. */
	iw_sctp_too_big(n.a.s, &n.b.addr[0], head, 8, 0, n.now);
	assert_int_equal(pmtu_of(&n.a), 1000);
	transfer(&n, 300);
	net_run(&n, n.now + IW_SEC(60));
	assert_in_range(pmtu_of(&n.a), 700 - 16, 700);
	net_free(&n);
}

/*
 * SCTP-77, SCTP-37: it is known exactly when all chunks are acknowledged for good. An idle
 * association holds little memory.
 */
static void an_idle_association_uses_little_memory(void **state)
{
	struct iw_sctp_facts f;
	struct iw_sctp_done d;
	struct net n;
	unsigned sent = 0, done = 0;

	(void)state;
	net_init(&n, 6);
	n.ab.loss = 50;
	net_start(&n);
	assert_true(net_up(&n));
	while (done < 500) {
		if (sent < 500 && send_octets(n.a.a, 700) == 0)
			sent++;
		else
			assert_true(net_step(&n));
		while (iw_sctp_next_done(n.a.a, &d)) {
			assert_int_equal(d.status, 0);
			assert_int_equal(d.seq, done++);
		}
	}
	assert_int_equal(net_acked(n.a.a), 500);
	assert_int_equal(n.b.messages, 500);
	net_run(&n, n.now + IW_SEC(100));
	iw_sctp_facts(n.a.a, &f);
	assert_true(f.memory <= 2048);
	iw_sctp_facts(n.b.a, &f);
	assert_true(f.memory <= 2048);
	net_free(&n);
}

/* SEC-29: the buffers of copied messages count as memory, whatever their length. */
static void memory_of_copied_messages_is_counted(void **state)
{
	static uint8_t octets[600];
	struct iw_sctp_facts before, after;
	struct iw_vec v = { octets, 20 };
	struct iw_sctp_send m = { .ppid = 16, .vec = &v, .nvec = 1, .copy = true };

	(void)state;
	open_up();
	answer_probes();
	assert_int_equal(send_octets(h.n.b.a, 20), 0); /* allocates the ring of chunks */
	iw_sctp_facts(h.n.b.a, &before);
	assert_int_equal(iw_sctp_send(h.n.b.a, &m, NULL), 0);
	iw_sctp_facts(h.n.b.a, &after);
	assert_int_equal(after.memory - before.memory, 512);
	v.len = sizeof(octets); /* such a chunk has a buffer of the size of a packet */
	assert_int_equal(iw_sctp_send(h.n.b.a, &m, NULL), 0);
	iw_sctp_facts(h.n.b.a, &after);
	assert_true(after.memory - before.memory >= 512 + 1200);
	net_run(&h.n, h.n.now);
	acknowledge(h.peer_tsn + 2, 100000, NULL, 0);
	iw_sctp_facts(h.n.b.a, &after);
	assert_int_equal(after.memory, before.memory);
	hand_close(&h);
}

/* SCTP-77 */
static void messages_acknowledged_in_a_row_on_a_stream_are_reported_at_once(void **state)
{
	static const uint16_t order[] = { 1, 1, 1, 2, 2, 1 };
	static uint8_t octets[100];
	struct iw_vec vec = { octets, sizeof(octets) };
	struct net n;
	uint16_t stream;

	(void)state;
	net_init(&n, 7);
	net_start(&n);
	assert_true(net_up(&n));
	for (size_t i = 0; i < IW_ARRAY_LEN(order); i++) {
		struct iw_sctp_send m = { .stream = order[i], .vec = &vec, .nvec = 1 };

		assert_int_equal(iw_sctp_send(n.a.a, &m, NULL), 0);
	}
	assert_int_equal(iw_sctp_next_acked(n.a.a, &stream), 0);
	while (net_acked(n.a.a) < IW_ARRAY_LEN(order))
		assert_true(net_step(&n));
	assert_int_equal(iw_sctp_next_acked(n.a.a, &stream), 3);
	assert_int_equal(stream, 1);
	assert_int_equal(iw_sctp_next_acked(n.a.a, &stream), 2);
	assert_int_equal(stream, 2);
	assert_int_equal(iw_sctp_next_acked(n.a.a, &stream), 1);
	assert_int_equal(stream, 1);
	assert_int_equal(iw_sctp_next_acked(n.a.a, &stream), 0);
	net_free(&n);
}

/*
 * SCTP-37, SCTP-77: an unacknowledged message is not reported as sent, though earlier ones of its
 * stream are.
 */
static void messages_that_are_not_acknowledged_are_not_reported(void **state)
{
	struct iw_sctp_done d;
	uint16_t stream;

	(void)state;
	open_up();
	for (int n = 0; n < 3; n++)
		assert_int_equal(send_octets(h.n.b.a, 100), 0);
	net_run(&h.n, h.n.now);
	acknowledge(h.peer_tsn, 100000, NULL, 0);
	assert_int_equal(iw_sctp_next_acked(h.n.b.a, &stream), 1);
	assert_int_equal(iw_sctp_next_acked(h.n.b.a, &stream), 0);
	/* A message in a gap block is not reported either: the peer may renege. */
	acknowledge(h.peer_tsn, 100000, (const uint16_t[]){ 2, 2 }, 1);
	assert_int_equal(iw_sctp_next_acked(h.n.b.a, &stream), 0);
	assert_false(iw_sctp_next_done(h.n.b.a, &d));
	acknowledge(h.peer_tsn + 2, 100000, NULL, 0);
	assert_int_equal(iw_sctp_next_acked(h.n.b.a, &stream), 2);
	hand_close(&h);
}

/* --- octets sent in place --------------------------------------------------------------------- */

enum { KEPT = 1000 };
static uint8_t kept[KEPT], packet[NET_MTU];
static struct net net;

static void up(void)
{
	net_init(&net, 1);
	net_start(&net);
	assert_true(net_up(&net));
	net_run(&net, net.now + IW_SEC(2));
	for (size_t i = 0; i < KEPT; i++)
		kept[i] = (uint8_t)(i * 31);
}

/*
 * Queues a message of len octets sent in place, if len > 0, and returns the octets written of the
 * next packet. The rest of the buffer must be unchanged.
 */
static size_t output(struct iw_sctp_packet *out, size_t len)
{
	struct iw_vec v = { kept, len };
	struct iw_sctp_send m = {
		.ppid = 16,
		.hdr = (const uint8_t *)"head",
		.hdr_len = 4,
		.vec = &v,
		.nvec = 1,
		.in_place = true,
	};
	size_t n;

	if (len > 0)
		assert_int_equal(iw_sctp_send(net.a.a, &m, NULL), 0);
	memset(packet, 0xee, sizeof(packet));
	n = iw_sctp_output(net.a.s, packet, sizeof(packet), out, net.now);
	for (size_t i = n; i < sizeof(packet); i++)
		assert_int_equal(packet[i], 0xee);
	return n;
}

/* Completes the packet with its rest, and checks the message that the peer delivers. */
static void arrives(const struct iw_sctp_packet *out, size_t written, size_t len)
{
	struct iw_sctp_packet p = { .peer = net.a.addr[0], .data = packet };
	struct iw_sctp_recv m;

	p.len = written + out->rest_len;
	if (out->rest_len > 0)
		memcpy(packet + written, out->rest, out->rest_len);
	iw_sctp_input(net.b.s, &p, net.now);
	assert_true(iw_sctp_next(net.b.s, &m));
	assert_int_equal(m.len, 4 + len);
	assert_memory_equal(m.data, "head", 4);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(m.data[4 + i], (uint8_t)(i * 31));
	assert_false(iw_sctp_next(net.b.s, &m));
}

/*
 * Only the common header, the DATA header and the message's hdr are written. The checksum covers
 * the whole packet.
 */
static void octets_in_place_are_summed_and_not_copied(void **state)
{
	struct iw_sctp_packet out;
	size_t n;

	(void)state;
	up();
	n = output(&out, KEPT);
	assert_int_equal(n, 12 + 16 + 4);
	assert_ptr_equal(out.rest, kept);
	assert_int_equal(out.rest_len, KEPT);
	arrives(&out, n, KEPT);
	net_free(&net);
}

/* Octets that need padding cannot end a packet, and short ones are cheaper to copy. */
static void octets_that_cannot_end_a_packet_are_copied(void **state)
{
	struct iw_sctp_packet out;
	size_t n;

	(void)state;
	up();
	n = output(&out, KEPT - 1);
	assert_null(out.rest);
	assert_int_equal(out.rest_len, 0);
	arrives(&out, n, KEPT - 1);
	n = output(&out, 8);
	assert_null(out.rest);
	arrives(&out, n, 8);
	net_free(&net);
}

/* RFC 5042 6.2.2: memory that was given back is not read again, not even for a retransmission. */
static void octets_released_are_not_read_again(void **state)
{
	struct iw_sctp_packet out;
	uint64_t end;
	size_t n;

	(void)state;
	up();
	end = net.now + IW_SEC(100);
	(void)output(&out, KEPT);
	assert_ptr_equal(out.rest, kept);
	assert_int_equal(iw_sctp_release_memory(net.a.a, 0), 0);
	memset(kept, 0x5a, KEPT);
	while ((n = output(&out, 0)) < KEPT) {
		net.now = iw_sctp_deadline(net.a.s);
		assert_true(net.now < end);
		iw_sctp_timeout(net.a.s, net.now);
	}
	assert_null(out.rest);
	arrives(&out, n, KEPT);
	net_free(&net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_are_delivered_as_they_arrive_and_once),
		cmocka_unit_test(data_without_user_data_ends_the_association),
		cmocka_unit_test(ordered_data_ends_the_association),
		cmocka_unit_test(data_on_a_stream_beyond_the_agreed_number_is_reported),
		cmocka_unit_test(sacks_are_sent_for_the_first_then_every_second_packet),
		cmocka_unit_test(a_batch_of_packets_gets_one_sack),
		cmocka_unit_test(gaps_and_duplicates_are_reported_at_once),
		cmocka_unit_test(tsns_wrap),
		cmocka_unit_test(tsns_too_far_ahead_are_ignored),
		cmocka_unit_test(fragments_are_reassembled),
		cmocka_unit_test(fragments_of_two_streams_end_the_association),
		cmocka_unit_test(fragments_are_kept_within_a_bound),
		cmocka_unit_test(a_closed_window_is_reported_when_it_has_room_for_a_packet),
		cmocka_unit_test(tiny_fragments_are_charged_what_they_cost),
		cmocka_unit_test(the_number_of_fragments_is_bounded),
		cmocka_unit_test(fragments_take_half_of_the_window_at_most),
		cmocka_unit_test(many_fragments_make_their_messages_in_any_order),
		cmocka_unit_test(consecutive_fragments_that_do_not_fit_end_the_association),
		cmocka_unit_test(a_fragment_far_above_the_others_is_dropped_first),
		cmocka_unit_test(a_closed_receive_window_drops_data_and_reports_its_opening),
		cmocka_unit_test(messages_that_cannot_be_sent_are_refused),
		cmocka_unit_test(unsent_output_is_limited_to_whole_batches_at_any_mtu),
		cmocka_unit_test(every_chunk_is_unordered_and_whole),
		cmocka_unit_test(cwnd_and_the_peers_window_limit_data),
		cmocka_unit_test(a_window_that_shrinks_accepts_no_data),
		cmocka_unit_test(a_window_that_is_exactly_full_accepts_no_data),
		cmocka_unit_test(a_closed_window_is_not_probed_while_data_is_in_flight),
		cmocka_unit_test(a_zero_window_is_probed_without_limit),
		cmocka_unit_test(dropped_probe_is_repeated_when_the_window_opens),
		cmocka_unit_test(chunk_larger_than_an_open_window_is_sent_at_once),
		cmocka_unit_test(chunk_larger_than_a_nearly_closed_window_waits),
		cmocka_unit_test(a_chunk_is_fast_retransmitted_once),
		cmocka_unit_test(in_recovery_each_missing_tsn_gets_an_indication),
		cmocka_unit_test(gap_blocks_out_of_order_acknowledge_nothing),
		cmocka_unit_test(round_trips_are_smoothed),
		cmocka_unit_test(a_fast_retransmission_does_not_wait_for_the_window),
		cmocka_unit_test(messages_that_are_not_acknowledged_are_not_reported),
		cmocka_unit_test(three_misses_bring_a_fast_retransmission),
		cmocka_unit_test(chunk_that_a_later_sack_reneges_is_retransmitted),
		cmocka_unit_test(a_sack_for_data_never_sent_ends_the_association),
		cmocka_unit_test(timeouts_back_off_and_end_the_association),
		cmocka_unit_test(memory_that_was_released_is_not_read_again),
		cmocka_unit_test(copies_of_short_messages_are_short),
		cmocka_unit_test(a_retransmitted_chunk_measures_no_round_trip),
		cmocka_unit_test(one_packet_is_sent_after_a_timeout),
		cmocka_unit_test(the_timer_begins_anew_with_the_next_chunk),
		cmocka_unit_test(room_is_reported_also_when_completions_had_filled_the_queue),
		cmocka_unit_test(the_window_of_an_idle_path_is_halved),
		cmocka_unit_test(a_path_with_data_in_flight_is_not_idle),
		cmocka_unit_test(only_chunks_sent_before_count_as_lost),
		cmocka_unit_test(a_loss_above_a_retransmission_is_found),
		cmocka_unit_test(gapped_chunks_are_skipped),
		cmocka_unit_test(one_tail_loss_probe_is_sent_for_a_tail),
		cmocka_unit_test(a_tail_loss_probe_that_repaired_a_loss_halves_the_window),
		cmocka_unit_test(a_tail_loss_probe_that_was_not_sent_yet_repairs_nothing),
		cmocka_unit_test(an_answer_too_early_for_the_probe_is_for_the_original),
		cmocka_unit_test(a_duplicate_of_the_probe_restores_the_window),
		cmocka_unit_test(a_probe_before_t3_repairs_nothing),
		cmocka_unit_test(probes_without_a_measured_round_trip_wait_longer),
		cmocka_unit_test(a_lost_retransmission_halves_the_window_again),
		cmocka_unit_test(each_recovery_halves_the_window_once),
		cmocka_unit_test(icmp_too_big_is_believed_for_our_own_packets_only),
		cmocka_unit_test(message_cut_for_a_larger_mtu_is_accepted_and_sent),
		cmocka_unit_test(the_search_ends_below_an_mtu_that_no_chunks_fill),
		cmocka_unit_test(a_forged_probe_answer_proves_nothing),
		cmocka_unit_test(a_repeated_probe_answer_proves_no_other_size),
		cmocka_unit_test(a_probe_that_was_not_sent_has_not_failed),
		cmocka_unit_test(an_answered_probe_clears_the_error_count),
		cmocka_unit_test(a_lost_tail_is_found_long_before_the_timeout),
		cmocka_unit_test(a_chunk_lost_three_times_needs_no_timeout),
		cmocka_unit_test(a_burst_is_limited_and_the_rest_is_paced),
		cmocka_unit_test(chunks_larger_than_the_path_mtu_are_sent_in_ip_fragments),
		cmocka_unit_test(a_black_hole_is_found_though_small_packets_get_through),
		cmocka_unit_test(the_path_mtu_is_found_by_probing),
		cmocka_unit_test(a_path_mtu_below_the_base_is_found_by_data),
		cmocka_unit_test(a_path_mtu_below_the_base_is_found_by_probes),
		cmocka_unit_test(first_messages_pass_a_black_hole),
		cmocka_unit_test(larger_messages_follow_the_first_probe_that_is_answered),
		cmocka_unit_test(an_outage_does_not_lower_the_path_mtu),
		cmocka_unit_test(path_mtu_returns_with_the_first_acknowledgement_after_an_outage),
		cmocka_unit_test(a_carrier_with_small_packets_works),
		cmocka_unit_test(a_report_during_the_set_up_makes_no_larger_probe),
		cmocka_unit_test(a_router_that_reports_too_much_does_not_stop_the_search),
		cmocka_unit_test(an_idle_association_uses_little_memory),
		cmocka_unit_test(memory_of_copied_messages_is_counted),
		cmocka_unit_test(messages_acknowledged_in_a_row_on_a_stream_are_reported_at_once),
		cmocka_unit_test(octets_in_place_are_summed_and_not_copied),
		cmocka_unit_test(octets_that_cannot_end_a_packet_are_copied),
		cmocka_unit_test(octets_released_are_not_read_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
