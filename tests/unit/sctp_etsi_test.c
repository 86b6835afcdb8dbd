// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Test purposes of ETSI TS 102 369 (SCTP conformance), in the order of that list. It was written for RFC 2960;
 * where the two differ, the tests demand what RFC 9260 says.
 */
#include "sctp/sctp.h"

#include "unit/sctp_hand.h"

static struct hand h;

static void open_hand(void)
{
	hand_open(&h);
	net_start(&h.n);
}

static void open_up(void)
{
	open_hand();
	hand_up(&h);
}

static void say(uint8_t type, const void *value, size_t len)
{
	hand_say(&h, h.peer_tag, type, 0, value, len);
}

static void say_shutdown(uint32_t cum)
{
	uint8_t value[4];

	iw_put_be32(value, cum);
	say(IW_SCTP_SHUTDOWN, value, sizeof(value));
}

static enum iw_sctp_state state_now(void)
{
	return iw_sctp_assoc_state(h.e->a);
}

/* The engine's user sends a message, and the packet is taken. */
static void post(size_t len)
{
	assert_int_equal(hand_post(h.e->a, len), 0);
	net_run(&h.n, h.n.now);
	hand_forget(&h);
}

static const uint8_t heartbeat[] = { 0, 1, 0, 12, 1, 2, 3, 4, 5, 6, 7, 8 };

/* The association is alive and has its tags: it answers a HEARTBEAT. */
static void lives(uint32_t my_tag, uint32_t peer_tag)
{
	struct iw_sctp_chunk c;

	hand_forget(&h);
	hand_say(&h, my_tag, IW_SCTP_HEARTBEAT, 0, heartbeat, sizeof(heartbeat));
	c = hand_expect(&h, IW_SCTP_HEARTBEAT_ACK, peer_tag);
	assert_int_equal(c.value_len, sizeof(heartbeat));
	assert_memory_equal(c.value, heartbeat, sizeof(heartbeat));
}

/* The association is gone: a HEARTBEAT is out of the blue, and the user has been notified. */
static void is_gone(int err)
{
	assert_int_equal(state_now(), IW_SCTP_CLOSED);
	assert_int_equal(iw_sctp_why(h.e->a)->err, err);
	assert_true(net_has_event(h.e, IW_SCTP_EV_DOWN));
	hand_forget(&h);
	say(IW_SCTP_HEARTBEAT, heartbeat, sizeof(heartbeat));
	assert_int_equal(hand_expect(&h, IW_SCTP_ABORT, h.peer_tag).flags, IW_SCTP_T);
}

/* How long it takes until a packet with such a chunk is sent. */
static uint64_t next_after(uint8_t type)
{
	uint64_t began = h.n.now;
	struct iw_sctp_chunk c;

	assert_true(hand_wait(&h, type, IW_SEC(120), &c));
	return h.n.now - began;
}

/* --- INIT: unknown parameters ----------------------------------------------------------------- */

static unsigned put_unknown(uint8_t *params, uint16_t type, size_t value_len)
{
	uint8_t value[8];
	struct iw_sctp_param p = { .type = type, .value = value, .value_len = value_len };

	memset(value, type & 0xff, sizeof(value));
	return (unsigned)iw_sctp_param_encode(params, 16, &p);
}

/* An INIT with three unknown parameters of these types; the INIT ACK reports exactly those of the set. */
static void three_unknown(const uint16_t types[3], unsigned reported)
{
	uint8_t params[8 + 3 * 16];
	size_t at[4] = { sizeof(hand_adaptation) };
	struct iw_sctp_init i;
	struct iw_sctp_chunk c;
	struct iw_sctp_param p;
	int n;

	open_hand();
	memcpy(params, hand_adaptation, at[0]);
	for (unsigned k = 0; k < 3; k++)
		at[k + 1] = at[k] + put_unknown(params + at[k], types[k], 1 + k);
	i = hand_init(&h);
	i.params = params;
	i.params_len = at[3];
	hand_send_init(&h, i);
	c = hand_expect(&h, IW_SCTP_INIT_ACK, HAND_TAG);
	assert_true(iw_sctp_init_decode(&i, c.value, c.value_len) > 0);
	for (; i.params_len; i.params += n, i.params_len -= (size_t)n) {
		unsigned k = 0;

		n = iw_sctp_param_decode(&p, i.params, i.params_len);
		assert_true(n > 0);
		if (p.type != IW_SCTP_PARAM_UNRECOGNIZED)
			continue;
		while (!(reported & 1u << k))
			assert_true(++k < 3); /* one that is not to be reported */
		reported &= ~(1u << k);
		/* The whole parameter, as it was (RFC 9260 3.3.3.1). */
		assert_int_equal(p.value_len, 4 + 1 + k);
		assert_memory_equal(p.value, params + at[k], p.value_len);
	}
	assert_int_equal(reported, 0);
	hand_close(&h);
}

/* ETSI AS-I-1-8-1; RFC 9260 3.2.1, 3.2.2; SX-04 */
static void unknown_parameters_with_top_bits_11_are_all_reported(void **state)
{
	(void)state;
	three_unknown((const uint16_t[]){ 0xc101, 0xc102, 0xfffe }, 1 << 0 | 1 << 1 | 1 << 2);
}

/* ETSI AS-I-1-8-2; RFC 9260 3.2.1, 3.2.2; SX-04. RFC 2960 discarded the packet. */
static void unknown_parameter_with_top_bits_00_stops_without_a_report(void **state)
{
	(void)state;
	three_unknown((const uint16_t[]){ 0xc101, 0x3102, 0xc103 }, 1 << 0);
}

/* ETSI AS-I-1-8-3; RFC 9260 3.2.1, 3.2.2; SX-04. RFC 2960 discarded the packet. */
static void unknown_parameter_with_top_bits_01_stops_and_is_reported(void **state)
{
	(void)state;
	three_unknown((const uint16_t[]){ 0xc101, 0x7102, 0xc103 }, 1 << 0 | 1 << 1);
}

/* ETSI AS-I-1-8-4; RFC 9260 3.2.1, 3.2.2; SX-04 */
static void unknown_parameter_with_top_bits_10_is_skipped(void **state)
{
	(void)state;
	three_unknown((const uint16_t[]){ 0xc101, 0xb102, 0xc103 }, 1 << 0 | 1 << 2);
}

/* --- INIT ACK that ends the attempt ----------------------------------------------------------- */

/* ETSI AS-I-1-7-4; RFC 9260 3.3.3; SX-07 */
static void init_ack_without_streams_gets_abort(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 2; n++) {
		struct iw_sctp_init i;
		struct iw_sctp_chunk c;

		hand_open_called(&h);
		i = hand_init(&h);
		i.params = hand_with_cookie;
		i.params_len = sizeof(hand_with_cookie);
		*(n ? &i.mis : &i.os) = 0;
		hand_begin(&h, h.peer_tag);
		hand_init_chunk(&h, IW_SCTP_INIT_ACK, &i);
		hand_send(&h);
		c = hand_expect(&h, IW_SCTP_ABORT, HAND_TAG);
		assert_int_equal(c.flags, 0);
		assert_int_equal(cause_of(&c), IW_SCTP_CAUSE_INVALID_PARAM);
		hand_expect_nothing(&h);
		is_gone(IW_E_FORMAT);
		hand_close(&h);
	}
}

/* ETSI AS-I-1-14-2; RFC 9260 3.3.3; SX-08, SX-14 */
static void init_ack_with_tag_0_gets_abort_with_our_tag(void **state)
{
	(void)state;
	hand_open_called(&h);
	hand_answer_init(&h, 0, hand_with_cookie, sizeof(hand_with_cookie));
	assert_int_equal(hand_expect(&h, IW_SCTP_ABORT, h.peer_tag).flags, IW_SCTP_T);
	hand_expect_nothing(&h);
	is_gone(IW_E_FORMAT);
	hand_close(&h);
}

/* --- INIT that meets an association ----------------------------------------------------------- */

/* The peer sends from .9 and lists .50 too. */
static const uint8_t two_addresses[] = { 0xc0, 6, 0, 8, 0, 0, 0, 1, 0, 5, 0, 8, 192, 0, 2, 50 };

static struct iw_sctp_init init_with(const uint8_t *params, size_t len)
{
	struct iw_sctp_init i = hand_init(&h);

	i.params = params;
	i.params_len = len;
	return i;
}

static void open_up_with_two(void)
{
	struct iw_sctp_init i;

	open_hand();
	i = init_with(two_addresses, sizeof(two_addresses));
	hand_up_with(&h, &i);
}

/* ETSI AS-O-1-9-1; RFC 9260 5.2.2; SX-33, SX-08 */
static void init_with_known_addresses_gets_a_new_tag_and_tie_tags(void **state)
{
	struct iw_sctp_assoc *old;
	struct iw_sctp_facts before, after;
	struct iw_sctp_init i;
	uint8_t cookie[1024];
	uint32_t tags[2];
	size_t len = 0;

	(void)state;
	open_up_with_two();
	old = h.n.b.a;
	iw_sctp_facts(old, &before);
	h.tag = 0x22222222;
	i = init_with(two_addresses, sizeof(two_addresses));
	for (unsigned n = 0; n < 2; n++) {
		len = hand_get_cookie_for(&h, &i, cookie);
		tags[n] = h.peer_tag;
	}
	assert_int_not_equal(tags[0], 0);
	assert_int_not_equal(tags[0], before.tag);
	assert_int_not_equal(tags[1], before.tag);
	assert_int_not_equal(tags[0], tags[1]);
	iw_sctp_facts(old, &after);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(iw_sctp_assoc_state(old), IW_SCTP_ESTABLISHED);
	lives(before.tag, HAND_TAG);
	/* The tie-tags in the cookie are the association's: it is replaced (5.2.4, action A). */
	hand_echo(&h, tags[1], cookie, len);
	assert_int_equal(iw_sctp_assoc_state(old), IW_SCTP_CLOSED);
	assert_ptr_not_equal(h.n.b.a, old);
	lives(tags[1], 0x22222222);
	hand_close(&h);
}

/* An INIT with params from host: ABORT with cause 11 that names 192.0.2.added; the association is as it was. */
static void refused_restart(unsigned host, const uint8_t *params, size_t len, uint8_t added)
{
	const uint8_t named[] = { 0, 5, 0, 8, 192, 0, 2, added };
	struct iw_sctp_facts before, after;
	struct iw_sctp_chunk c;

	open_up_with_two();
	iw_sctp_facts(h.n.b.a, &before);
	h.tag = 0x22222222;
	h.src = net_addr(host);
	hand_send_init(&h, init_with(params, len));
	c = hand_expect(&h, IW_SCTP_ABORT, 0x22222222);
	assert_int_equal(c.flags, 0);
	assert_int_equal(cause_of(&c), IW_SCTP_CAUSE_RESTART_ADDRESS);
	assert_int_equal(c.value_len, 4 + sizeof(named));
	assert_memory_equal(c.value + 4, named, sizeof(named));
	hand_expect_nothing(&h);
	iw_sctp_facts(h.n.b.a, &after);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(state_now(), IW_SCTP_ESTABLISHED);
	assert_int_equal(h.n.b.nevents, 1);
	h.src = net_addr(9);
	lives(h.peer_tag, HAND_TAG);
	hand_close(&h);
}

/* ETSI AS-O-1-9-2; RFC 9260 5.2.2, 3.3.10.11; SX-33: a new address in the list, and a new source address. */
static void init_that_adds_an_address_to_an_association_gets_abort(void **state)
{
	static const uint8_t adds[] = { 0xc0, 6, 0, 8,  0, 0, 0, 1, 0,   5, 0, 8,
					192,  0, 2, 50, 0, 5, 0, 8, 192, 0, 2, 60 };
	static const uint8_t lists_known[] = {
		0xc0, 6, 0, 8, 0, 0, 0, 1, 0, 5, 0, 8, 192, 0, 2, 9
	};

	(void)state;
	refused_restart(9, adds, sizeof(adds), 60);
	refused_restart(61, lists_known, sizeof(lists_known), 61);
}

/* --- DATA and SHUTDOWN while an association ends ---------------------------------------------- */

static void shut_down(void)
{
	iw_sctp_shutdown(h.e->a, h.n.now);
	net_run(&h.n, h.n.now);
}

/* The association is in SHUTDOWN-SENT, its first SHUTDOWN has been taken. */
static void open_shutdown_sent(void)
{
	open_up();
	shut_down();
	hand_expect(&h, IW_SCTP_SHUTDOWN, HAND_TAG);
	assert_int_equal(state_now(), IW_SCTP_SHUTDOWN_SENT);
}

/* The association is in SHUTDOWN-RECEIVED with one unacknowledged DATA chunk. */
static void open_shutdown_received(void)
{
	open_up();
	post(100);
	say_shutdown(h.peer_tsn - 1);
	assert_int_equal(state_now(), IW_SCTP_SHUTDOWN_RECEIVED);
	hand_expect_nothing(&h);
}

/* The association is in SHUTDOWN-ACK-SENT. */
static void open_shutdown_ack_sent(void)
{
	open_up();
	say_shutdown(h.peer_tsn - 1);
	hand_expect(&h, IW_SCTP_SHUTDOWN_ACK, HAND_TAG);
	assert_int_equal(state_now(), IW_SCTP_SHUTDOWN_ACK_SENT);
}

/* ETSI AT-I-2-8; RFC 9260 9.2; SX-27. RFC 2960 wanted a SACK too. */
static void data_in_shutdown_sent_is_delivered_and_answered_by_shutdown(void **state)
{
	(void)state;
	open_shutdown_sent();
	for (uint32_t n = 0; n < 2; n++) {
		struct iw_sctp_chunk c;

		net_run(&h.n, h.n.now + IW_MSEC(700)); /* T2 runs for a second */
		hand_forget(&h);
		hand_say_data(&h, 7, HAND_TSN + n, 0, "late");
		assert_int_equal(h.n.b.messages, n + 1);
		assert_true(hand_wait(&h, IW_SCTP_SHUTDOWN, 0, &c));
		assert_int_equal(iw_get_be32(c.value), HAND_TSN + n);
		hand_expect_nothing(&h);
	}
	/* T2 has begun anew with the second one. */
	assert_in_range(next_after(IW_SCTP_SHUTDOWN), IW_MSEC(999), IW_MSEC(1001));
	assert_int_equal(state_now(), IW_SCTP_SHUTDOWN_SENT);
	hand_close(&h);
}

/* ETSI AT-I-2-8; RFC 9260 9.2; SX-27, SX-18: SHUTDOWN cannot acknowledge above a gap, nor report a duplicate. */
static void gap_and_duplicate_in_shutdown_sent_get_a_sack_too(void **state)
{
	struct iw_sctp_chunk c;
	struct iw_sctp_sack s;
	unsigned first;

	(void)state;
	open_shutdown_sent();
	hand_say_data(&h, 7, HAND_TSN + 1, 0, "second");
	first = h.taken;
	assert_true(hand_wait(&h, IW_SCTP_SHUTDOWN, 0, &c));
	assert_int_equal(iw_get_be32(c.value), HAND_TSN - 1);
	h.taken = first;
	assert_true(hand_take_sack(&h, &s));
	assert_int_equal(s.cum, HAND_TSN - 1);
	assert_int_equal(s.ngaps, 1);
	hand_say_data(&h, 7, HAND_TSN, 0, "first");
	hand_forget(&h);
	hand_say_data(&h, 7, HAND_TSN + 1, 0, "second");
	first = h.taken;
	assert_true(hand_wait(&h, IW_SCTP_SHUTDOWN, 0, &c));
	assert_int_equal(iw_get_be32(c.value), HAND_TSN + 1);
	h.taken = first;
	assert_true(hand_take_sack(&h, &s));
	assert_int_equal(s.ndups, 1);
	assert_int_equal(iw_get_be32(s.dups), HAND_TSN + 1);
	assert_int_equal(h.n.b.messages, 2);
	hand_close(&h);
}

/* ETSI AT-I-2-10; RFC 9260 9.2; SX-27. RFC 4960 dropped the repeat. */
static void repeated_shutdown_does_not_end_the_wait_for_a_sack(void **state)
{
	struct iw_sctp_chunk c;
	uint32_t t[8];

	(void)state;
	open_shutdown_received();
	for (int n = 0; n < 3; n++) {
		say_shutdown(h.peer_tsn - 1);
		hand_expect_nothing(&h);
		assert_int_equal(state_now(), IW_SCTP_SHUTDOWN_RECEIVED);
	}
	/* T3 repeats the DATA. */
	net_run(&h.n, h.n.now + IW_MSEC(1100));
	say_shutdown(h.peer_tsn - 1);
	assert_int_equal(hand_tsns(&h, t, 8), 1);
	assert_int_equal(t[0], h.peer_tsn);
	assert_int_equal(state_now(), IW_SCTP_SHUTDOWN_RECEIVED);
	hand_acknowledge(&h, h.peer_tsn, 65536, NULL, 0);
	assert_true(hand_wait(&h, IW_SCTP_SHUTDOWN_ACK, 0, &c));
	assert_int_equal(state_now(), IW_SCTP_SHUTDOWN_ACK_SENT);
	hand_close(&h);
}

/* ETSI AT-I-2-10; RFC 9260 9.2; SX-27: a repeat is processed: its Cumulative TSN Ack acknowledges the rest. */
static void repeated_shutdown_with_a_higher_tsn_acknowledges(void **state)
{
	(void)state;
	open_shutdown_received();
	say_shutdown(h.peer_tsn);
	hand_expect(&h, IW_SCTP_SHUTDOWN_ACK, HAND_TAG);
	assert_int_equal(iw_sctp_acked(h.n.b.a), 1);
	hand_close(&h);
}

/* --- INIT in other states --------------------------------------------------------------------- */

static struct iw_sctp_init decode_init(const struct caught *p)
{
	struct iw_sctp_chunk c;
	struct iw_sctp_init i;

	assert_non_null(p);
	assert_true(chunk_of(p, 0, &c));
	assert_true(iw_sctp_init_decode(&i, c.value, c.value_len) > 0);
	return i;
}

/* Both ends connect at once: an INIT in COOKIE-WAIT or COOKIE-ECHOED. */
static void collision(bool echoed)
{
	struct iw_sctp_init own, answer;
	const struct caught *p;
	struct iw_sctp_chunk c;

	hand_open_called(&h);
	own = decode_init(&h.caught[h.taken - 1]);
	if (echoed) {
		hand_answer_init(&h, HAND_TAG, hand_with_cookie, sizeof(hand_with_cookie));
		hand_expect(&h, IW_SCTP_COOKIE_ECHO, HAND_TAG);
	}
	net_run(&h.n, h.n.now + IW_MSEC(600));
	hand_send_init(&h, hand_init(&h));
	p = hand_take(&h);
	answer = decode_init(p);
	assert_true(chunk_of(p, 0, &c));
	assert_int_equal(c.type, IW_SCTP_INIT_ACK);
	assert_int_equal(iw_get_be32(p->data + 4), HAND_TAG);
	assert_memory_equal(p->to.ip, h.src.ip, 16);
	assert_int_equal(answer.tag, own.tag);
	assert_int_equal(answer.tsn, own.tsn);
	assert_int_equal(answer.os, own.os);
	assert_int_equal(answer.mis, own.mis);
	assert_int_equal(answer.a_rwnd, own.a_rwnd);
	hand_expect_nothing(&h);
	assert_int_equal(state_now(), echoed ? IW_SCTP_COOKIE_ECHOED : IW_SCTP_COOKIE_WAIT);
	/* The timer is still the first one. */
	assert_in_range(next_after(echoed ? IW_SCTP_COOKIE_ECHO : IW_SCTP_INIT), IW_MSEC(399),
			IW_MSEC(401));
	assert_int_equal(h.n.a.nevents, 0);
	hand_close(&h);
}

/* ETSI DM-O-4-1; RFC 9260 5.2.1; SX-33 */
static void init_in_cookie_wait_gets_the_parameters_of_our_init(void **state)
{
	(void)state;
	collision(false);
}

/* ETSI DM-O-4-1; RFC 9260 5.2.1; SX-33: the same in COOKIE-ECHOED. */
static void init_in_cookie_echoed_gets_the_parameters_of_our_init(void **state)
{
	(void)state;
	collision(true);
}

/* ETSI DM-O-4-2-1; RFC 9260 5.2.2; SX-33: as a delayed duplicate arrives. */
static void first_init_again_changes_nothing(void **state)
{
	struct iw_sctp_facts before, after;
	uint8_t cookie[1024];
	uint32_t tag;

	(void)state;
	open_up();
	tag = h.peer_tag;
	iw_sctp_facts(h.n.b.a, &before);
	hand_get_cookie(&h, cookie);
	assert_int_not_equal(h.peer_tag, tag);
	iw_sctp_facts(h.n.b.a, &after);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(state_now(), IW_SCTP_ESTABLISHED);
	assert_int_equal(h.n.b.nevents, 1);
	lives(tag, HAND_TAG);
	hand_close(&h);
}

/* ETSI DM-O-4-2-2; RFC 9260 9.2; SX-27: by its source address, and by an address that it lists. */
static void init_in_shutdown_ack_sent_gets_shutdown_ack(void **state)
{
	static const uint8_t lists_known[] = {
		0xc0, 6, 0, 8, 0, 0, 0, 1, 0, 5, 0, 8, 192, 0, 2, 9
	};

	(void)state;
	open_shutdown_ack_sent();
	h.tag = 0x22222222;
	hand_send_init(&h, hand_init(&h));
	hand_expect(&h, IW_SCTP_SHUTDOWN_ACK, HAND_TAG);
	hand_expect_nothing(&h);
	h.src = net_addr(61);
	hand_send_init(&h, init_with(lists_known, sizeof(lists_known)));
	hand_expect(&h, IW_SCTP_SHUTDOWN_ACK, HAND_TAG);
	hand_expect_nothing(&h);
	assert_int_equal(state_now(), IW_SCTP_SHUTDOWN_ACK_SENT);
	hand_close(&h);
}

/* --- SHUTDOWN ACK ----------------------------------------------------------------------------- */

/* ETSI DM-O-4-7-1; RFC 9260 8.5.1 E, 8.4 (5), 9.2; SX-14, SX-15: whatever its tag. */
static void shutdown_ack_before_the_association_is_up_is_out_of_the_blue(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 4; n++) {
		bool echoed = n & 1;
		uint32_t tag;

		hand_open_called(&h);
		tag = n & 2 ? 0xabcd : h.peer_tag;
		if (echoed) {
			hand_answer_init(&h, HAND_TAG, hand_with_cookie, sizeof(hand_with_cookie));
			hand_expect(&h, IW_SCTP_COOKIE_ECHO, HAND_TAG);
		}
		net_run(&h.n, h.n.now + IW_MSEC(600));
		hand_say(&h, tag, IW_SCTP_SHUTDOWN_ACK, 0, NULL, 0);
		assert_int_equal(hand_expect(&h, IW_SCTP_SHUTDOWN_COMPLETE, tag).flags, IW_SCTP_T);
		hand_expect_nothing(&h);
		assert_int_equal(state_now(), echoed ? IW_SCTP_COOKIE_ECHOED : IW_SCTP_COOKIE_WAIT);
		assert_in_range(next_after(echoed ? IW_SCTP_COOKIE_ECHO : IW_SCTP_INIT),
				IW_MSEC(399), IW_MSEC(401));
		assert_int_equal(h.n.a.nevents, 0);
		hand_close(&h);
	}
}

/* ETSI DM-O-4-7-2; SX-27: RFC 9260 does not describe it. */
static void shutdown_ack_in_established_is_dropped(void **state)
{
	(void)state;
	open_up();
	say(IW_SCTP_SHUTDOWN_ACK, NULL, 0);
	hand_expect_nothing(&h);
	assert_int_equal(state_now(), IW_SCTP_ESTABLISHED);
	assert_int_equal(h.n.b.nevents, 1);
	lives(h.peer_tag, HAND_TAG);
	hand_close(&h);
}

/* ETSI DM-O-4-7-3; RFC 9260 9.2, 8.5.1 C; SX-27, SX-14, SX-10: both ends are in SHUTDOWN-ACK-SENT. */
static void shutdown_ack_in_shutdown_ack_sent_completes(void **state)
{
	(void)state;
	open_shutdown_ack_sent();
	say(IW_SCTP_SHUTDOWN_ACK, NULL, 0);
	assert_int_equal(hand_expect(&h, IW_SCTP_SHUTDOWN_COMPLETE, HAND_TAG).flags, 0);
	net_run(&h.n, h.n.now + IW_SEC(10)); /* T2 is stopped */
	hand_expect_nothing(&h);
	is_gone(0);
	hand_close(&h);
}

/* --- ERROR ------------------------------------------------------------------------------------ */

/* An INIT ACK with an unknown parameter (five octets, of this type) and one after it; the COOKIE ECHO comes first, and the
 * ERROR after it reports this set, in one cause. */
static void unknown_in_init_ack(uint16_t type, unsigned reported)
{
	uint8_t params[sizeof(hand_with_cookie) + 16], expected[16];
	size_t at = sizeof(hand_with_cookie), len = 0;
	struct iw_sctp_param cause;
	const struct caught *p;
	struct iw_sctp_chunk c;

	hand_open_called(&h);
	memcpy(params, hand_with_cookie, at);
	at += put_unknown(params + at, type, 1);
	at += put_unknown(params + at, 0xc1ee, 1);
	for (unsigned k = 0; k < 2; k++, len += reported & 1u << (k - 1) ? 8 : 0)
		memcpy(expected + len, params + sizeof(hand_with_cookie) + 8 * k, 8);
	hand_answer_init(&h, HAND_TAG, params, at);
	p = hand_take(&h);
	assert_non_null(p);
	assert_int_equal(iw_get_be32(p->data + 4), HAND_TAG);
	assert_true(chunk_of(p, 0, &c));
	assert_int_equal(c.type, IW_SCTP_COOKIE_ECHO);
	assert_memory_equal(c.value, "cook", 4);
	assert_int_equal(chunk_of(p, 1, &c), reported != 0);
	if (reported) {
		assert_int_equal(c.type, IW_SCTP_ERROR);
		assert_true(iw_sctp_param_decode(&cause, c.value, c.value_len) > 0);
		assert_int_equal(cause.type, IW_SCTP_CAUSE_PARAMS);
		assert_true(cause.value_len + 3 >= len && cause.value_len <= len);
		assert_memory_equal(cause.value, expected, cause.value_len);
	}
	hand_cookie_ack(&h);
	assert_int_equal(state_now(), IW_SCTP_ESTABLISHED);
	hand_close(&h);
}

/* ETSI E-I-6-5; RFC 9260 3.2.2, 3.3.10.8; SX-04, SX-10 */
static void unknown_parameter_of_an_init_ack_is_reported_after_the_cookie(void **state)
{
	(void)state;
	unknown_in_init_ack(0xc1aa, 1 << 0 | 1 << 1);
}

/* ETSI E-I-6-5; RFC 9260 3.2.1, 3.2.2; SX-04: the other top bits. */
static void top_bits_of_an_unknown_parameter_rule_in_an_init_ack_too(void **state)
{
	(void)state;
	unknown_in_init_ack(0x31aa, 0);
	unknown_in_init_ack(0x71aa, 1 << 0);
	unknown_in_init_ack(0xb1aa, 1 << 1);
}

/* --- DATA: zero window ------------------------------------------------------------------------ */

/* The peer's window is shut, nothing is in flight, and the RTO is known to be a second. */
static void open_shut_window(void)
{
	struct iw_sctp_path p;

	open_up();
	hand_answer_heartbeats(&h, IW_MSEC(1010));
	post(100);
	hand_acknowledge(&h, h.peer_tsn, 0, NULL, 0);
	hand_forget(&h);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.rto, IW_SEC(1));
	assert_int_equal(p.flight, 0);
}

/* After a pause of so many seconds one chunk is sent, with this TSN. */
static void probe_after(uint64_t seconds, uint32_t tsn)
{
	uint64_t began = h.n.now;
	struct iw_sctp_path p;
	uint32_t t[8];

	do {
		net_run(&h.n, h.n.now + IW_MSEC(1));
		assert_true(h.n.now < began + IW_SEC(seconds + 1));
	} while (hand_tsns(&h, t, 8) == 0);
	assert_in_range(h.n.now - began, IW_SEC(seconds) - IW_MSEC(2),
			IW_SEC(seconds) + IW_MSEC(2));
	assert_int_equal(t[0], tsn);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.flight, 100 + 16);
}

/* ETSI D-O-8-7; RFC 9260 6.1 A; SX-19, SX-36. Before RFC 9260 the first probe was sent at once. */
static void shut_window_is_probed_with_one_chunk_at_doubling_intervals(void **state)
{
	/* An RTO until the first probe; then T3 repeats it. */
	static const uint64_t seconds[] = { 1, 1, 2, 4, 8 };
	uint32_t t[8];

	(void)state;
	open_shut_window();
	post(100);
	post(100);
	for (size_t n = 0; n < IW_ARRAY_LEN(seconds); n++) {
		probe_after(seconds[n], h.peer_tsn + 1);
		hand_acknowledge(&h, h.peer_tsn, 0, NULL, 0);
	}
	hand_acknowledge(&h, h.peer_tsn + 1, 65536, NULL, 0);
	assert_int_equal(hand_tsns(&h, t, 8), 1);
	assert_int_equal(t[0], h.peer_tsn + 2);
	hand_close(&h);
}

/* ETSI D-O-8-7; RFC 9260 6.1 A; SX-19, SX-36: the peer takes each probe, and its window stays shut. */
static void acknowledged_probe_does_not_open_the_window(void **state)
{
	uint32_t t[8];

	(void)state;
	open_shut_window();
	for (uint32_t n = 0; n < 5; n++)
		post(100);
	for (uint32_t n = 1; n < 4; n++) {
		probe_after(1u << (n - 1), h.peer_tsn + n);
		hand_acknowledge(&h, h.peer_tsn + n, 0, NULL, 0);
		hand_expect_nothing(&h);
	}
	hand_acknowledge(&h, h.peer_tsn + 3, 65536, NULL, 0);
	assert_int_equal(hand_tsns(&h, t, 8), 2);
	/* The next time the window is shut, the first probe waits for one RTO again. */
	hand_acknowledge(&h, h.peer_tsn + 5, 0, NULL, 0);
	post(100);
	probe_after(1, h.peer_tsn + 6);
	hand_close(&h);
}

/* DATA must be the first chunk that is not acknowledged; HEARTBEATs are answered. */
static void take_probes(void)
{
	const struct caught *p;

	while ((p = hand_take(&h))) {
		struct caught copy = *p;
		struct iw_sctp_chunk c;

		for (unsigned i = 0; chunk_of(&copy, i, &c); i++) {
			if (c.type == IW_SCTP_DATA)
				assert_int_equal(iw_get_be32(c.value), h.peer_tsn + 1);
			else if (c.type == IW_SCTP_HEARTBEAT)
				say(IW_SCTP_HEARTBEAT_ACK, c.value, c.value_len);
		}
	}
}

/* ETSI D-O-8-8; RFC 9260 6.1 A; SX-36, SX-38; SCTP-52, SCTP-54: a message that needs fragments is refused. */
static void unacknowledged_probes_are_no_errors_while_sacks_arrive(void **state)
{
	struct iw_sctp_path p;
	struct iw_sctp_facts f;

	(void)state;
	open_shut_window();
	assert_int_equal(hand_post(h.n.b.a, 2000), IW_E_LIMIT);
	for (unsigned n = 0; n < 3; n++)
		post(1000);
	for (unsigned s = 0; s < 1200; s++) {
		hand_acknowledge(&h, h.peer_tsn, 0, NULL, 0);
		net_run(&h.n, h.n.now + IW_SEC(1));
		take_probes();
		assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
		assert_int_equal(p.errors, 0);
		assert_int_equal(p.state, IW_SCTP_PATH_ACTIVE);
	}
	iw_sctp_facts(h.n.b.a, &f);
	assert_true(f.timeouts > 11); /* more than Association.Max.Retrans */
	assert_int_equal(f.sent, 2);
	assert_int_equal(state_now(), IW_SCTP_ESTABLISHED);
	hand_close(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_parameters_with_top_bits_11_are_all_reported),
		cmocka_unit_test(unknown_parameter_with_top_bits_00_stops_without_a_report),
		cmocka_unit_test(unknown_parameter_with_top_bits_01_stops_and_is_reported),
		cmocka_unit_test(unknown_parameter_with_top_bits_10_is_skipped),
		cmocka_unit_test(init_ack_without_streams_gets_abort),
		cmocka_unit_test(init_ack_with_tag_0_gets_abort_with_our_tag),
		cmocka_unit_test(init_with_known_addresses_gets_a_new_tag_and_tie_tags),
		cmocka_unit_test(init_that_adds_an_address_to_an_association_gets_abort),
		cmocka_unit_test(data_in_shutdown_sent_is_delivered_and_answered_by_shutdown),
		cmocka_unit_test(gap_and_duplicate_in_shutdown_sent_get_a_sack_too),
		cmocka_unit_test(repeated_shutdown_does_not_end_the_wait_for_a_sack),
		cmocka_unit_test(repeated_shutdown_with_a_higher_tsn_acknowledges),
		cmocka_unit_test(init_in_cookie_wait_gets_the_parameters_of_our_init),
		cmocka_unit_test(init_in_cookie_echoed_gets_the_parameters_of_our_init),
		cmocka_unit_test(first_init_again_changes_nothing),
		cmocka_unit_test(init_in_shutdown_ack_sent_gets_shutdown_ack),
		cmocka_unit_test(shutdown_ack_before_the_association_is_up_is_out_of_the_blue),
		cmocka_unit_test(shutdown_ack_in_established_is_dropped),
		cmocka_unit_test(shutdown_ack_in_shutdown_ack_sent_completes),
		cmocka_unit_test(unknown_parameter_of_an_init_ack_is_reported_after_the_cookie),
		cmocka_unit_test(top_bits_of_an_unknown_parameter_rule_in_an_init_ack_too),
		cmocka_unit_test(shut_window_is_probed_with_one_chunk_at_doubling_intervals),
		cmocka_unit_test(acknowledged_probe_does_not_open_the_window),
		cmocka_unit_test(unacknowledged_probes_are_no_errors_while_sacks_arrive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
