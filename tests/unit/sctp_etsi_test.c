// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Test purposes of ETSI TS 102 369 (SCTP conformance), about in the order of that list. It was
 * written for RFC 2960; where the two differ, the tests demand what RFC 9260 says.
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

/* Asserts that the association is up with its tags: it answers a HEARTBEAT. */
static void lives(uint32_t my_tag, uint32_t peer_tag)
{
	struct iw_sctp_chunk c;

	hand_forget(&h);
	hand_say(&h, my_tag, IW_SCTP_HEARTBEAT, 0, heartbeat, sizeof(heartbeat));
	c = hand_expect(&h, IW_SCTP_HEARTBEAT_ACK, peer_tag);
	assert_int_equal(c.value_len, sizeof(heartbeat));
	assert_memory_equal(c.value, heartbeat, sizeof(heartbeat));
}

/* Asserts that the association has ended: the user was notified, and a HEARTBEAT gets an answer as
 * out of the blue. */
static void is_gone(int err)
{
	assert_int_equal(state_now(), IW_SCTP_CLOSED);
	assert_int_equal(iw_sctp_why(h.e->a)->err, err);
	assert_true(net_has_event(h.e, IW_SCTP_EV_DOWN));
	hand_forget(&h);
	say(IW_SCTP_HEARTBEAT, heartbeat, sizeof(heartbeat));
	assert_int_equal(hand_expect(&h, IW_SCTP_ABORT, h.peer_tag).flags, IW_SCTP_T);
}

/* Returns the time until a packet with such a chunk is sent. */
static uint64_t next_after(uint8_t type)
{
	uint64_t began = h.n.now;
	struct iw_sctp_chunk c;

	assert_true(hand_wait(&h, type, IW_SEC(120), &c));
	return h.n.now - began;
}

static void is_up(void)
{
	assert_int_equal(state_now(), IW_SCTP_ESTABLISHED);
	assert_true(net_has_event(h.e, IW_SCTP_EV_UP));
}

/* In the role of the initiator, the engine has sent its COOKIE ECHO, which is taken. */
static void open_echoed(void)
{
	hand_open_called(&h);
	hand_answer_init(&h, HAND_TAG, hand_with_cookie, sizeof(hand_with_cookie));
	hand_expect(&h, IW_SCTP_COOKIE_ECHO, HAND_TAG);
	assert_int_equal(state_now(), IW_SCTP_COOKIE_ECHOED);
}

/* From COOKIE-WAIT to ESTABLISHED. */
static void finish_setup(void)
{
	hand_answer_init(&h, HAND_TAG, hand_with_cookie, sizeof(hand_with_cookie));
	hand_expect(&h, IW_SCTP_COOKIE_ECHO, HAND_TAG);
	hand_cookie_ack(&h);
	is_up();
}

/* T1-init, begun @elapsed ago, still runs: INIT is repeated, and the set-up succeeds. */
static void setup_goes_on(uint64_t elapsed)
{
	assert_int_equal(state_now(), IW_SCTP_COOKIE_WAIT);
	assert_in_range(next_after(IW_SCTP_INIT), IW_MSEC(999) - elapsed, IW_MSEC(1001) - elapsed);
	finish_setup();
	assert_int_equal(h.n.a.nevents, 1);
}

/* The packet that was taken last is sent again after T1 of a second, octet for octet. */
static void repeated_after_t1(void)
{
	struct caught first = h.caught[(h.taken - 1) % CAUGHT];
	const struct caught *again;

	net_run(&h.n, h.n.now + IW_MSEC(999));
	hand_expect_nothing(&h);
	net_run(&h.n, h.n.now + IW_MSEC(2));
	again = hand_take(&h);
	assert_non_null(again);
	assert_int_equal(again->len, first.len);
	assert_memory_equal(again->data, first.data, first.len);
}

static struct iw_sctp_init init_with(const uint8_t *params, size_t len)
{
	struct iw_sctp_init i = hand_init(&h);

	i.params = params;
	i.params_len = len;
	return i;
}

/* --- set-up ----------------------------------------------------------------------------------- */

/* ETSI AS-V-1-1-1; RFC 9260 5.1 A, C, E; SX-10 */
static void initiator_returns_the_cookie_unchanged(void **state)
{
	uint8_t params[8 + 4 + 301 + 3] = { 0 }, *cookie = params + 8 + 4;
	struct iw_sctp_chunk c;

	(void)state;
	hand_open_called(&h);
	memcpy(params, hand_adaptation, 8);
	iw_put_be16(params + 8, IW_SCTP_PARAM_COOKIE);
	iw_put_be16(params + 10, 4 + 301);
	for (unsigned n = 0; n < 301; n++)
		cookie[n] = (uint8_t)(n * 7 + 1);
	hand_answer_init(&h, HAND_TAG, params, sizeof(params));
	c = hand_expect(&h, IW_SCTP_COOKIE_ECHO, HAND_TAG);
	assert_int_equal(c.value_len, 301);
	assert_memory_equal(c.value, cookie, 301);
	hand_cookie_ack(&h);
	is_up();
	lives(h.peer_tag, HAND_TAG);
	hand_close(&h);
}

/* ETSI AS-I-1-2-1; RFC 9260 4 (2), 5.1, 16; SX-24. T1-init began with 3 s in RFC 4960. */
static void unanswered_init_is_repeated_unchanged(void **state)
{
	(void)state;
	hand_open_called(&h);
	repeated_after_t1();
	finish_setup();
	hand_close(&h);
}

/* ETSI AS-I-1-2-2; RFC 9260 4 (3), 5.1.4; SX-24 */
static void unanswered_cookie_echo_is_repeated_unchanged(void **state)
{
	(void)state;
	open_echoed();
	repeated_after_t1();
	hand_cookie_ack(&h);
	is_up();
	hand_close(&h);
}

/* ETSI AS-I-1-4; RFC 9260 5.1 B; SX-09: with room for one more association. */
static void inits_without_cookie_echo_use_no_memory(void **state)
{
	struct iw_sctp_addr to = net_addr(80);
	struct iw_sctp_assoc *a;
	size_t blocks;

	(void)state;
	hand_open(&h);
	h.n.b.cfg.assocs_max = 2;
	net_start(&h.n);
	hand_up(&h);
	blocks = h.n.b.mem.blocks;
	for (unsigned n = 0; n < 1000; n++) {
		h.src = net_addr(10 + n % 50);
		h.port = (uint16_t)(5000 + n);
		hand_send_init(&h, hand_init(&h));
		hand_expect(&h, IW_SCTP_INIT_ACK, HAND_TAG);
	}
	assert_int_equal(h.n.b.mem.blocks, blocks);
	assert_int_equal(iw_sctp_connect(h.n.b.s, &a, &to, 4000, NULL, h.n.now), 0);
	net_run(&h.n, h.n.now);
	hand_expect(&h, IW_SCTP_INIT, 0);
	hand_close(&h);
}

enum { TAGS = 100 };

/* No tag is 0, or chosen twice, and each bit is set about as often as not. */
static void look_random(const uint32_t *tags)
{
	for (unsigned n = 0; n < TAGS; n++) {
		assert_int_not_equal(tags[n], 0);
		for (unsigned k = 0; k < n; k++)
			assert_int_not_equal(tags[n], tags[k]);
	}
	for (unsigned bit = 0; bit < 32; bit++) {
		unsigned set = 0;

		for (unsigned n = 0; n < TAGS; n++)
			set += tags[n] >> bit & 1;
		assert_in_range(set, 25, 75);
	}
}

/* ETSI AS-V-1-5-1; RFC 9260 5.1 A, 5.3.1; SX-08 */
static void each_init_has_a_random_tag(void **state)
{
	uint32_t tags[TAGS];

	(void)state;
	hand_open_called(&h);
	for (unsigned n = 0;; n++) {
		tags[n] = h.peer_tag;
		finish_setup();
		iw_sctp_abort(h.n.a.a, NULL, h.n.now);
		net_run(&h.n, h.n.now);
		hand_forget(&h);
		if (n == TAGS - 1)
			break;
		iw_sctp_assoc_free(h.n.a.a);
		net_connect(&h.n);
		net_run(&h.n, h.n.now);
		h.peer_tag = iw_get_be32(hand_expect(&h, IW_SCTP_INIT, 0).value);
	}
	look_random(tags);
	hand_close(&h);
}

/* ETSI AS-V-1-5-2; RFC 9260 5.1 B, 5.3.1; SX-08: from one address and port. */
static void each_init_ack_has_a_random_tag(void **state)
{
	uint8_t cookie[1024];
	uint32_t tags[TAGS];

	(void)state;
	open_hand();
	for (unsigned n = 0; n < TAGS; n++) {
		hand_get_cookie(&h, cookie);
		tags[n] = h.peer_tag;
	}
	look_random(tags);
	hand_close(&h);
}

/*
 * An INIT with these parameters gets an INIT ACK that reports nothing, and lists no address of
 * ours.
 */
static void accepted(const uint8_t *params, size_t len)
{
	struct iw_sctp_param p;
	struct iw_sctp_chunk c;
	struct iw_sctp_init i;
	int n;

	open_hand();
	hand_send_init(&h, init_with(params, len));
	c = hand_expect(&h, IW_SCTP_INIT_ACK, HAND_TAG);
	assert_true(iw_wire_sctp_init_decode(&i, c.value, c.value_len) > 0);
	for (; i.params_len; i.params += n, i.params_len -= (size_t)n) {
		n = iw_wire_sctp_param_decode(&p, i.params, i.params_len);
		assert_true(n > 0);
		assert_int_not_equal(p.type, IW_SCTP_PARAM_UNRECOGNIZED);
		assert_int_not_equal(p.type, IW_SCTP_PARAM_IPV4);
		assert_int_not_equal(p.type, IW_SCTP_PARAM_IPV6);
	}
	hand_close(&h);
}

/* Adaptation, Cookie Preservative, Supported Address Types, an IPv6 and an IPv4 address. */
static const uint8_t defined[] = { 0xc0, 6,  0,    8, 0,  0,    0, 1, 0, 9,   0, 8, 0,
				   0,    3,  0xe8, 0, 12, 0,    8, 0, 5, 0,   6, 0, 6,
				   0,    20, 0x20, 1, 13, 0xb8, 0, 0, 0, 0,   0, 0, 0,
				   0,    0,  0,    0, 1,  0,    5, 0, 8, 192, 0, 2, 50 };

/* ETSI AS-V-1-6-1; RFC 9260 3.3.2, 5.1.2; SX-32 */
static void init_with_all_defined_parameters_is_accepted(void **state)
{
	struct iw_sctp_facts f;
	struct iw_sctp_init i;

	(void)state;
	accepted(defined, sizeof(defined));
	open_hand();
	i = init_with(defined, sizeof(defined));
	hand_up_with(&h, &i);
	iw_sctp_facts(h.n.b.a, &f);
	assert_int_equal(f.paths, 2); /* IPv6 addresses cannot be reached from an IPv4 address */
	hand_close(&h);
}

/* ETSI AS-V-1-6-2; RFC 9260 3.3.3, 5.1.2; SX-32 */
static void init_ack_with_addresses_is_accepted(void **state)
{
	uint8_t params[sizeof(defined) + 8] = { 0, 7, 0, 8, 'c', 'o', 'o', 'k' };
	struct iw_sctp_facts f;
	struct iw_sctp_chunk c;

	(void)state;
	memcpy(params + 8, defined, sizeof(defined));
	hand_open_called(&h);
	hand_answer_init(&h, HAND_TAG, params, sizeof(params));
	c = hand_expect(&h, IW_SCTP_COOKIE_ECHO, HAND_TAG); /* alone: nothing is reported */
	assert_memory_equal(c.value, "cook", 4);
	iw_sctp_facts(h.n.a.a, &f);
	assert_int_equal(f.paths, 2);
	hand_close(&h);
}

/* ETSI AS-I-1-7-2; RFC 9260 3.3.2, 5.1; SX-07: nor does it change an association of its source. */
static void init_without_streams_gets_abort_and_changes_nothing(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 2; n++) {
		struct iw_sctp_facts before, after;
		struct iw_sctp_init i;
		struct iw_sctp_chunk c;

		open_up();
		iw_sctp_facts(h.n.b.a, &before);
		i = hand_init(&h);
		i.tag = 0x22222222;
		*(n ? &i.mis : &i.os) = 0;
		hand_send_init(&h, i);
		c = hand_expect(&h, IW_SCTP_ABORT, 0x22222222);
		assert_int_equal(c.flags, 0);
		assert_int_equal(cause_of(&c), IW_SCTP_CAUSE_INVALID_PARAM);
		iw_sctp_facts(h.n.b.a, &after);
		assert_memory_equal(&before, &after, sizeof(before));
		lives(h.peer_tag, HAND_TAG);
		hand_close(&h);
	}
}

/* --- INIT: unknown parameters ----------------------------------------------------------------- */

static unsigned put_unknown(uint8_t *params, uint16_t type, size_t value_len)
{
	uint8_t value[8];
	struct iw_sctp_param p = { .type = type, .value = value, .value_len = value_len };

	memset(value, type & 0xff, sizeof(value));
	return (unsigned)iw_wire_sctp_param_encode(params, 16, &p);
}

/*
 * An INIT with three unknown parameters of these types; the INIT ACK reports exactly those of the
 * set.
 */
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
	assert_true(iw_wire_sctp_init_decode(&i, c.value, c.value_len) > 0);
	for (; i.params_len; i.params += n, i.params_len -= (size_t)n) {
		unsigned k = 0;

		n = iw_wire_sctp_param_decode(&p, i.params, i.params_len);
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

/*
 * An INIT with params from host: ABORT with cause 11 that names 192.0.2.added; the association is
 * as it was.
 */
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

/*
 * ETSI AS-O-1-9-2; RFC 9260 5.2.2, 3.3.10.11; SX-33: a new address in the list, and a new source
 * address.
 */
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

/* --- addresses -------------------------------------------------------------------------------- */

/* The peer has one address, the source of its packets. All packets are sent to it. */
static void one_address(const struct caught *p)
{
	struct iw_sctp_facts f;

	assert_non_null(p);
	assert_memory_equal(p->to.ip, h.src.ip, 16);
	iw_sctp_facts(h.e->a, &f);
	assert_int_equal(f.paths, 1);
	for (unsigned n = 0; n < 20; n++)
		assert_int_equal(hand_post(h.e->a, 100), 0);
	net_run(&h.n, h.n.now + IW_SEC(40));
	while ((p = hand_take(&h)))
		assert_memory_equal(p->to.ip, h.src.ip, 16);
}

/* ETSI AS-V-1-10-1; RFC 9260 5.1.2 A; SX-32 */
static void init_without_addresses_gives_its_source_address(void **state)
{
	unsigned init_ack;

	(void)state;
	open_hand();
	init_ack = h.taken;
	hand_up(&h);
	one_address(&h.caught[init_ack]);
	hand_close(&h);
}

/* ETSI AS-V-1-10-2; RFC 9260 5.1.2 A; SX-32 */
static void init_ack_without_addresses_gives_its_source_address(void **state)
{
	unsigned echo;

	(void)state;
	hand_open_called(&h);
	echo = h.taken;
	finish_setup();
	one_address(&h.caught[echo]);
	hand_close(&h);
}

/*
 * ETSI AS-V-1-11-2; RFC 9260 5.1.2 C, 5.4, 6.4; SX-32, SX-34, SX-38. RFC 2960 needed no
 * confirmation.
 */
static void addresses_of_an_init_ack_are_confirmed_and_used(void **state)
{
	static const uint8_t params[] = { 0xc0, 6,   0,   8,   0, 0, 0, 1, 0,   7, 0, 8,
					  'c',  'o', 'o', 'k', 0, 5, 0, 8, 192, 0, 2, 50 };
	struct iw_sctp_addr other = net_addr(50);
	unsigned confirmed = 0, data = 0;
	const struct caught *p;

	(void)state;
	hand_open_called(&h);
	hand_answer_init(&h, HAND_TAG, params, sizeof(params));
	hand_cookie_ack(&h);
	is_up();
	for (unsigned n = 0; n < 300; n++) {
		if (n == 100)
			assert_int_equal(hand_post(h.n.a.a, 100), 0);
		net_run(&h.n, h.n.now + IW_MSEC(10));
		while ((p = hand_take(&h))) {
			bool there = memcmp(p->to.ip, other.ip, 16) == 0;
			struct caught copy = *p;
			struct iw_sctp_chunk c;

			assert_true(chunk_of(&copy, 0, &c));
			if (c.type == IW_SCTP_HEARTBEAT) {
				say(IW_SCTP_HEARTBEAT_ACK, c.value, c.value_len);
				confirmed += there;
			} else if (there) {
				assert_int_equal(c.type, IW_SCTP_DATA);
				assert_true(confirmed > 0);
				data++;
			}
		}
	}
	assert_true(confirmed > 0);
	assert_true(data > 0);
	hand_close(&h);
}

/* ETSI AS-V-1-12-1; RFC 9260 5.1.2 B, 3.3.2.1.4. RFC 4960 required the name to be resolved. */
static void init_with_a_host_name_gets_abort(void **state)
{
	static const uint8_t params[] = {
		0xc0, 6, 0, 8, 0, 0, 0, 1, 0, 11, 0, 8, 'h', 'o', 's', 0
	};
	struct iw_sctp_chunk c;

	(void)state;
	open_hand();
	hand_send_init(&h, init_with(params, sizeof(params)));
	c = hand_expect(&h, IW_SCTP_ABORT, HAND_TAG);
	assert_int_equal(c.flags, 0);
	assert_int_equal(cause_of(&c), IW_SCTP_CAUSE_ADDRESS);
	hand_expect_nothing(&h);
	hand_close(&h);
}

/* ETSI AS-V-1-13-1; RFC 9260 3.3.2.1.5, 5.1.2; SX-31 */
static void init_ack_lists_no_address_of_another_type(void **state)
{
	static const uint8_t params[] = { 0xc0, 6, 0, 8, 0, 0, 0, 1, 0, 12, 0, 8, 0, 5, 0, 6 };

	(void)state;
	accepted(params, sizeof(params));
}

/*
 * ETSI AS-I-1-13-2; RFC 9260 5.1.2 (end): the address family of the INIT is always supported.
 */
static void init_over_ipv4_that_supports_only_ipv6_is_accepted(void **state)
{
	static const uint8_t params[] = { 0xc0, 6, 0, 8, 0, 0, 0, 1, 0, 12, 0, 6, 0, 6, 0, 0 };

	(void)state;
	accepted(params, sizeof(params));
}

/* --- INIT that is dropped --------------------------------------------------------------------- */

static void good_init_is_answered(void)
{
	hand_expect_nothing(&h);
	assert_null(h.n.b.a);
	hand_send_init(&h, hand_init(&h));
	hand_expect(&h, IW_SCTP_INIT_ACK, HAND_TAG);
	hand_close(&h);
}

/* ETSI AS-I-1-14-1; RFC 9260 3.3.2; SX-08. RFC 4960 allowed ABORT. */
static void init_with_tag_0_is_dropped(void **state)
{
	struct iw_sctp_init i;

	(void)state;
	open_hand();
	i = hand_init(&h);
	i.tag = 0;
	hand_send_init(&h, i);
	good_init_is_answered();
}

/* ETSI IMH-I-3-1; RFC 9260 5.1, 3.3.2 */
static void init_of_eight_octets_is_dropped(void **state)
{
	(void)state;
	open_hand();
	hand_say(&h, 0, IW_SCTP_INIT, 0, "\x11\x11\x11\x11", 4);
	good_init_is_answered();
}

/* ETSI IMH-I-3-8; RFC 9260 6.10: whatever the chunk's type is. */
static void chunk_longer_than_its_packet_is_dropped(void **state)
{
	struct iw_sctp_init i;

	(void)state;
	open_hand();
	i = hand_init(&h);
	for (unsigned type = 0; type < 256; type++) {
		hand_begin(&h, 0);
		hand_init_chunk(&h, IW_SCTP_INIT, &i);
		h.out[IW_SCTP_HDR_LEN] = (uint8_t)type;
		iw_put_be16(h.out + IW_SCTP_HDR_LEN + 2, (uint16_t)(h.len - IW_SCTP_HDR_LEN + 4));
		hand_send(&h);
	}
	good_init_is_answered();
}

/* ETSI BDC-I-7-1; RFC 9260 8.5.1 A, 6.10; SX-10, SX-14 */
static void init_with_data_is_dropped(void **state)
{
	struct iw_sctp_init i;

	(void)state;
	open_hand();
	i = hand_init(&h);
	hand_begin(&h, 0);
	hand_init_chunk(&h, IW_SCTP_INIT, &i);
	hand_data(&h, 7, HAND_TSN, 0, "early", 5);
	hand_send(&h);
	assert_int_equal(h.n.b.messages, 0);
	good_init_is_answered();
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

/* ETSI AT-V-2-2; RFC 9260 9.1, 8.5.1 B, 8.4 (8); SX-26, SX-14, SX-15 */
static void abort_without_a_cause_ends_the_association(void **state)
{
	(void)state;
	open_up();
	say(IW_SCTP_ABORT, NULL, 0);
	hand_expect_nothing(&h);
	is_gone(IW_E_CLOSED);
	hand_close(&h);
}

/* ETSI AT-I-2-4; RFC 9260 9.2; SX-27 */
static void repeated_shutdown_has_the_current_tsn(void **state)
{
	struct iw_sctp_chunk c;

	(void)state;
	open_shutdown_sent();
	for (uint32_t n = 0; n < 3; n++) {
		assert_true(hand_wait(&h, IW_SCTP_SHUTDOWN, IW_MSEC(8001), &c));
		assert_int_equal(iw_get_be32(c.value), HAND_TSN - 1 + n);
		hand_say_data(&h, 7, HAND_TSN + n, 0, "late");
		hand_forget(&h);
	}
	hand_close(&h);
}

/* The chunk that T2 repeats, until it gives up: three times. */
static void repeats_of_t2(uint8_t type)
{
	struct iw_sctp_chunk c;

	for (unsigned n = 0; n < 3; n++)
		assert_true(hand_wait(&h, type, IW_MSEC(1001) << n, &c));
	assert_false(hand_wait(&h, type, IW_SEC(300), &c));
	is_gone(IW_E_TIMEOUT);
	hand_close(&h);
}

static void open_with_three_repeats(void)
{
	hand_open(&h);
	h.n.b.cfg.times.assoc_max_retrans = 3;
	net_start(&h.n);
	hand_up(&h);
}

/* ETSI AT-I-2-5; RFC 9260 9.2, 16; SX-27, SX-38 */
static void unanswered_shutdown_is_repeated_association_max_retrans_times(void **state)
{
	(void)state;
	open_with_three_repeats();
	shut_down();
	hand_expect(&h, IW_SCTP_SHUTDOWN, HAND_TAG);
	repeats_of_t2(IW_SCTP_SHUTDOWN);
}

/* ETSI AT-V-2-6; RFC 9260 9.2, 8.5.1 C; SX-27, SX-14, SX-10 */
static void shutdown_ack_in_shutdown_sent_completes(void **state)
{
	(void)state;
	open_shutdown_sent();
	say(IW_SCTP_SHUTDOWN_ACK, NULL, 0);
	assert_int_equal(hand_expect(&h, IW_SCTP_SHUTDOWN_COMPLETE, HAND_TAG).flags, 0);
	net_run(&h.n, h.n.now + IW_SEC(10)); /* T2 is stopped */
	hand_expect_nothing(&h);
	is_gone(0);
	hand_close(&h);
}

/* A message is refused, and nothing but this chunk is sent. */
static void refuses_messages(uint8_t type)
{
	const struct caught *p;
	struct iw_sctp_chunk c;

	hand_forget(&h);
	assert_int_equal(hand_post(h.n.b.a, 100), IW_E_STATE);
	net_run(&h.n, h.n.now + IW_SEC(5));
	while ((p = hand_take(&h))) {
		assert_true(chunk_of(p, 0, &c));
		if (c.type != IW_SCTP_HEARTBEAT)
			assert_int_equal(c.type, type);
	}
}

/* ETSI AT-I-2-7-1; RFC 9260 9.2, 6; SX-27 */
static void shutdown_sent_accepts_no_message(void **state)
{
	(void)state;
	open_shutdown_sent();
	refuses_messages(IW_SCTP_SHUTDOWN);
	hand_close(&h);
}

/* ETSI AT-I-2-7-2; RFC 9260 9.2, 4 (5); SX-27 */
static void shutdown_received_accepts_no_message(void **state)
{
	uint32_t t[8];
	unsigned n;

	(void)state;
	open_shutdown_received();
	assert_int_equal(hand_post(h.n.b.a, 100), IW_E_STATE);
	net_run(&h.n, h.n.now + IW_SEC(5));
	for (n = hand_tsns(&h, t, 8); n > 0; n--)
		assert_int_equal(t[n - 1], h.peer_tsn);
	say_shutdown(h.peer_tsn);
	hand_expect(&h, IW_SCTP_SHUTDOWN_ACK, HAND_TAG);
	hand_close(&h);
}

/* ETSI AT-I-2-7-3; RFC 9260 9.2; SX-27 */
static void shutdown_pending_accepts_no_message(void **state)
{
	uint32_t t[8];

	(void)state;
	open_up();
	post(100);
	shut_down();
	assert_int_equal(state_now(), IW_SCTP_SHUTDOWN_PENDING);
	assert_int_equal(hand_post(h.n.b.a, 100), IW_E_STATE);
	net_run(&h.n, h.n.now + IW_MSEC(500));
	assert_int_equal(hand_tsns(&h, t, 8), 0);
	hand_acknowledge(&h, h.peer_tsn, 65536, NULL, 0);
	hand_expect(&h, IW_SCTP_SHUTDOWN, HAND_TAG);
	hand_close(&h);
}

/* ETSI AT-I-2-7-4; RFC 9260 9.2, 4 (7); SX-27 */
static void shutdown_ack_sent_accepts_no_message(void **state)
{
	(void)state;
	open_shutdown_ack_sent();
	refuses_messages(IW_SCTP_SHUTDOWN_ACK);
	hand_close(&h);
}

/* ETSI AT-I-2-8; RFC 9260 9.2; SX-27. RFC 2960 required a SACK too. */
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
	/* The second SHUTDOWN has restarted T2. */
	assert_in_range(next_after(IW_SCTP_SHUTDOWN), IW_MSEC(999), IW_MSEC(1001));
	assert_int_equal(state_now(), IW_SCTP_SHUTDOWN_SENT);
	hand_close(&h);
}

/*
 * ETSI AT-I-2-8; RFC 9260 9.2; SX-27, SX-18: SHUTDOWN cannot acknowledge above a gap, nor report a
 * duplicate.
 */
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

/* ETSI AT-I-2-9; RFC 9260 6, 9.2; SX-27 */
static void data_in_shutdown_received_is_dropped(void **state)
{
	struct iw_sctp_chunk c;
	struct iw_sctp_sack s;

	(void)state;
	open_shutdown_received();
	hand_say_data(&h, 7, HAND_TSN, 0, "late");
	net_run(&h.n, h.n.now + IW_MSEC(500)); /* longer than a SACK is delayed */
	assert_false(hand_take_sack(&h, &s));
	assert_int_equal(h.n.b.messages, 0);
	assert_int_equal(state_now(), IW_SCTP_SHUTDOWN_RECEIVED);
	hand_acknowledge(&h, h.peer_tsn, 65536, NULL, 0);
	assert_true(hand_wait(&h, IW_SCTP_SHUTDOWN_ACK, 0, &c));
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

/*
 * ETSI AT-I-2-10; RFC 9260 9.2; SX-27: a repeat is processed: its Cumulative TSN Ack acknowledges
 * the rest.
 */
static void repeated_shutdown_with_a_higher_tsn_acknowledges(void **state)
{
	(void)state;
	open_shutdown_received();
	say_shutdown(h.peer_tsn);
	hand_expect(&h, IW_SCTP_SHUTDOWN_ACK, HAND_TAG);
	assert_int_equal(net_acked(h.n.b.a), 1);
	hand_close(&h);
}

/* ETSI AT-I-2-12; RFC 9260 9.2, 16; SX-27, SX-38 */
static void unanswered_shutdown_ack_is_repeated_association_max_retrans_times(void **state)
{
	(void)state;
	open_with_three_repeats();
	say_shutdown(h.peer_tsn - 1);
	hand_expect(&h, IW_SCTP_SHUTDOWN_ACK, HAND_TAG);
	repeats_of_t2(IW_SCTP_SHUTDOWN_ACK);
}

/* ETSI AT-I-2-13; RFC 9260 9.2, 8.5.1 C; SX-27, SX-14 */
static void shutdown_complete_ends_the_association(void **state)
{
	(void)state;
	open_shutdown_ack_sent();
	say(IW_SCTP_SHUTDOWN_COMPLETE, NULL, 0);
	net_run(&h.n, h.n.now + IW_SEC(10)); /* T2 is stopped */
	hand_expect_nothing(&h);
	is_gone(0);
	hand_close(&h);
}

/* ETSI AT-V-2-14; RFC 9260 9.2; SX-27 */
static void shutdown_acknowledges_data(void **state)
{
	struct iw_sctp_done d;

	(void)state;
	open_up();
	post(100);
	say_shutdown(h.peer_tsn);
	hand_expect(&h, IW_SCTP_SHUTDOWN_ACK, HAND_TAG);
	assert_true(iw_sctp_next_done(h.n.b.a, &d));
	assert_int_equal(d.status, 0);
	hand_close(&h);
}

/* --- malformed chunks and wrong tags ---------------------------------------------------------- */

/* ETSI IMH-I-3-2; RFC 9260 5.1, 3.3.3; SX-24: dropped, as FreeBSD does; ABORT is allowed too. */
static void init_ack_of_eight_octets_is_dropped(void **state)
{
	(void)state;
	hand_open_called(&h);
	net_run(&h.n, h.n.now + IW_MSEC(600));
	say(IW_SCTP_INIT_ACK, "\x11\x11\x11\x11", 4);
	hand_expect_nothing(&h);
	setup_goes_on(IW_MSEC(600));
	hand_close(&h);
}

/* ETSI IMH-I-3-9; RFC 9260 8.5, 8.5.1 E; SX-14 */
static void shutdown_ack_with_a_wrong_tag_is_dropped(void **state)
{
	(void)state;
	open_shutdown_sent();
	hand_say(&h, h.peer_tag ^ 1, IW_SCTP_SHUTDOWN_ACK, 0, NULL, 0);
	hand_say(&h, HAND_TAG, IW_SCTP_SHUTDOWN_ACK, 0, NULL, 0);
	hand_expect_nothing(&h);
	assert_in_range(next_after(IW_SCTP_SHUTDOWN), IW_MSEC(999), IW_MSEC(1001));
	hand_forget(&h);
	say(IW_SCTP_SHUTDOWN_ACK, NULL, 0);
	assert_int_equal(hand_expect(&h, IW_SCTP_SHUTDOWN_COMPLETE, HAND_TAG).flags, 0);
	is_gone(0);
	hand_close(&h);
}

/* ETSI IMH-I-3-10; RFC 9260 8.5.1 C; SX-14 */
static void shutdown_complete_with_a_wrong_tag_is_dropped(void **state)
{
	(void)state;
	open_shutdown_ack_sent();
	hand_say(&h, h.peer_tag ^ 1, IW_SCTP_SHUTDOWN_COMPLETE, 0, NULL, 0);
	hand_say(&h, HAND_TAG, IW_SCTP_SHUTDOWN_COMPLETE, 0, NULL, 0);
	hand_say(&h, h.peer_tag, IW_SCTP_SHUTDOWN_COMPLETE, IW_SCTP_T, NULL, 0);
	hand_expect_nothing(&h);
	assert_in_range(next_after(IW_SCTP_SHUTDOWN_ACK), IW_MSEC(999), IW_MSEC(1001));
	say(IW_SCTP_SHUTDOWN_COMPLETE, NULL, 0);
	is_gone(0);
	hand_close(&h);
}

/* --- INIT in other states --------------------------------------------------------------------- */

static struct iw_sctp_init decode_init(const struct caught *p)
{
	struct iw_sctp_chunk c;
	struct iw_sctp_init i;

	assert_non_null(p);
	assert_true(chunk_of(p, 0, &c));
	assert_true(iw_wire_sctp_init_decode(&i, c.value, c.value_len) > 0);
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

/*
 * ETSI DM-O-4-1; RFC 9260 5.2.1 (1); SX-33: the peer has another address, which our user did not
 * name.
 */
static void init_in_cookie_wait_from_another_address_gets_no_init_ack(void **state)
{
	static const uint8_t lists_named[] = {
		0xc0, 6, 0, 8, 0, 0, 0, 1, 0, 5, 0, 8, 192, 0, 2, 2
	};
	struct iw_sctp_init i;

	(void)state;
	hand_open_called(&h);
	i = init_with(lists_named, sizeof(lists_named));
	h.src = net_addr(61);
	hand_send_init(&h, i);
	hand_expect_nothing(&h);
	assert_int_equal(state_now(), IW_SCTP_COOKIE_WAIT);
	h.src = net_addr(2);
	hand_send_init(&h, i);
	hand_expect(&h, IW_SCTP_INIT_ACK, HAND_TAG);
	hand_close(&h);
}

/* ETSI DM-O-4-2-1; RFC 9260 5.2.2; SX-33: a delayed duplicate. */
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

/* --- chunks in the wrong state ---------------------------------------------------------------- */

/* ETSI DM-O-4-3; RFC 9260 5.2.3; SX-24 */
static void second_init_ack_is_dropped(void **state)
{
	(void)state;
	open_echoed();
	net_run(&h.n, h.n.now + IW_MSEC(600));
	hand_answer_init(&h, HAND_TAG, hand_with_cookie, sizeof(hand_with_cookie));
	hand_expect_nothing(&h);
	assert_in_range(next_after(IW_SCTP_COOKIE_ECHO), IW_MSEC(399), IW_MSEC(401));
	hand_cookie_ack(&h);
	is_up();
	hand_close(&h);
}

/* Messages go both ways: @received has arrived so far. */
static void data_flows(unsigned received)
{
	struct iw_sctp_sack s;
	uint64_t acked = net_acked(h.e->a);

	post(100);
	hand_acknowledge(&h, h.peer_tsn + (uint32_t)acked, 65536, NULL, 0);
	assert_int_equal(net_acked(h.e->a), acked + 1);
	hand_say_data(&h, 15, HAND_TSN + received, 0, "hello"); /* I bit: SACK at once */
	assert_int_equal(h.e->messages, received + 1);
	assert_true(hand_take_sack(&h, &s));
	assert_int_equal(s.cum, HAND_TSN + received);
}

/* The TSN that the engine began with, in the role of the initiator. */
static void read_own_tsn(void)
{
	struct iw_sctp_chunk c;
	struct iw_sctp_init i;

	assert_true(chunk_of(&h.caught[0], 0, &c));
	assert_true(iw_wire_sctp_init_decode(&i, c.value, c.value_len) > 0);
	h.peer_tsn = i.tsn;
}

/* ETSI DM-O-4-4; RFC 9260 5.2.5 */
static void second_cookie_ack_is_dropped(void **state)
{
	(void)state;
	open_echoed();
	read_own_tsn();
	hand_cookie_ack(&h);
	is_up();
	hand_forget(&h);
	hand_cookie_ack(&h);
	hand_expect_nothing(&h);
	assert_int_equal(state_now(), IW_SCTP_ESTABLISHED);
	assert_int_equal(h.n.a.nevents, 1);
	data_flows(0);
	hand_close(&h);
}

/* ETSI DM-O-4-5; RFC 9260 9.2; SX-27: both ends shut down. */
static void shutdown_in_shutdown_sent_gets_shutdown_ack(void **state)
{
	(void)state;
	open_shutdown_sent();
	say_shutdown(h.peer_tsn - 1);
	hand_expect(&h, IW_SCTP_SHUTDOWN_ACK, HAND_TAG);
	assert_int_equal(state_now(), IW_SCTP_SHUTDOWN_ACK_SENT);
	say(IW_SCTP_SHUTDOWN_COMPLETE, NULL, 0);
	is_gone(0);
	hand_close(&h);
}

/* ETSI DM-O-4-6-1; RFC 9260 9.2; SX-27 */
static void shutdown_in_cookie_wait_is_dropped(void **state)
{
	(void)state;
	hand_open_called(&h);
	net_run(&h.n, h.n.now + IW_MSEC(600));
	say_shutdown(0);
	hand_expect_nothing(&h);
	setup_goes_on(IW_MSEC(600));
	hand_close(&h);
}

/* ETSI DM-O-4-6-2; RFC 9260 8.4 (8); SX-15 */
static void shutdown_without_an_association_gets_abort(void **state)
{
	(void)state;
	open_hand();
	h.peer_tag = 0xabcd;
	say_shutdown(5);
	assert_int_equal(hand_expect(&h, IW_SCTP_ABORT, 0xabcd).flags, IW_SCTP_T);
	hand_close(&h);
}

/* ETSI DM-O-4-6-3; RFC 9260 9.2; SX-27 */
static void shutdown_in_shutdown_sent_restarts_t2(void **state)
{
	struct iw_sctp_chunk c;

	(void)state;
	open_shutdown_sent();
	net_run(&h.n, h.n.now + IW_MSEC(700));
	say_shutdown(h.peer_tsn - 1);
	assert_true(hand_wait(&h, IW_SCTP_SHUTDOWN_ACK, 0, &c));
	assert_in_range(next_after(IW_SCTP_SHUTDOWN_ACK), IW_MSEC(999), IW_MSEC(1001));
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

/*
 * ETSI DM-O-4-7-3; RFC 9260 9.2, 8.5.1 C; SX-27, SX-14, SX-10: both ends are in SHUTDOWN-ACK-SENT.
 */
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

/* --- cookies and DATA in the wrong state ------------------------------------------------------ */

/* ETSI DM-O-4-8; RFC 9260 5.2.4 (2), 5.1.5 (2); SX-11 */
static void forged_cookie_in_established_is_dropped(void **state)
{
	uint8_t cookie[1024];
	uint32_t tag;
	size_t len;

	(void)state;
	open_up();
	tag = h.peer_tag;
	len = hand_get_cookie(&h, cookie);
	cookie[len - 1] ^= 1;
	hand_echo(&h, h.peer_tag, cookie, len);
	hand_echo(&h, tag, cookie, len);
	hand_expect_nothing(&h);
	assert_int_equal(h.n.b.nevents, 1);
	lives(tag, HAND_TAG);
	hand_close(&h);
}

/* ETSI DM-O-4-9; RFC 9260 8.5.1 C, 9.2; SX-14 */
static void shutdown_complete_in_cookie_wait_is_dropped(void **state)
{
	(void)state;
	hand_open_called(&h);
	net_run(&h.n, h.n.now + IW_MSEC(600));
	say(IW_SCTP_SHUTDOWN_COMPLETE, NULL, 0);
	hand_expect_nothing(&h);
	setup_goes_on(IW_MSEC(600));
	hand_close(&h);
}

/* ETSI DM-O-4-10; RFC 9260 6; SX-27 */
static void data_in_shutdown_ack_sent_is_dropped(void **state)
{
	(void)state;
	open_shutdown_ack_sent();
	net_run(&h.n, h.n.now + IW_MSEC(600));
	hand_forget(&h);
	hand_say_data(&h, 7, HAND_TSN, 0, "late");
	hand_expect_nothing(&h);
	assert_int_equal(h.n.b.messages, 0);
	net_run(&h.n, h.n.now + IW_MSEC(410));
	hand_expect(&h, IW_SCTP_SHUTDOWN_ACK, HAND_TAG); /* T2 ran on; there is no SACK */
	hand_expect_nothing(&h);
	hand_close(&h);
}

/* ETSI FH-O-5-3-5; RFC 9260 8.4 (1); SX-15 */
static void cookie_echo_from_a_multicast_address_is_dropped(void **state)
{
	uint8_t cookie[1024];
	size_t len;

	(void)state;
	open_hand();
	len = hand_get_cookie(&h, cookie);
	h.src.ip[12] = 224;
	hand_echo(&h, h.peer_tag, cookie, len);
	hand_expect_nothing(&h);
	assert_null(h.n.b.a);
	h.src = net_addr(9);
	hand_echo(&h, h.peer_tag, cookie, len);
	is_up();
	hand_close(&h);
}

/* --- ERROR ------------------------------------------------------------------------------------ */

/* ETSI E-O-6-2; RFC 9260 5.2.6 */
static void stale_cookie_error_in_established_is_dropped(void **state)
{
	static const uint8_t stale[] = { 0, 3, 0, 8, 0, 0, 0, 1 };

	(void)state;
	open_up();
	say(IW_SCTP_ERROR, stale, sizeof(stale));
	hand_expect_nothing(&h);
	assert_int_equal(state_now(), IW_SCTP_ESTABLISHED);
	data_flows(0);
	hand_close(&h);
}

/* ETSI E-I-6-4; RFC 9260 5.1, 3.3.10.2; SX-14 */
static void init_ack_without_a_cookie_gets_abort_that_names_it(void **state)
{
	static const uint8_t named[] = { 0, 2, 0, 10, 0, 0, 0, 1, 0, IW_SCTP_PARAM_COOKIE };
	struct iw_sctp_chunk c;

	(void)state;
	hand_open_called(&h);
	hand_answer_init(&h, HAND_TAG, hand_adaptation, sizeof(hand_adaptation));
	c = hand_expect(&h, IW_SCTP_ABORT, HAND_TAG);
	assert_int_equal(c.flags, 0);
	assert_int_equal(c.value_len, sizeof(named));
	assert_memory_equal(c.value, named, sizeof(named));
	hand_expect_nothing(&h);
	is_gone(IW_E_FORMAT);
	hand_close(&h);
}

/*
 * An INIT ACK with an unknown parameter (five octets, of this type) and one after it; the COOKIE
 * ECHO comes first, and the ERROR after it reports this set, in one cause.
 */
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
		assert_true(iw_wire_sctp_param_decode(&cause, c.value, c.value_len) > 0);
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
static void unknown_parameter_of_an_init_ack_is_handled_by_its_top_bits(void **state)
{
	(void)state;
	unknown_in_init_ack(0x31aa, 0);
	unknown_in_init_ack(0x71aa, 1 << 0);
	unknown_in_init_ack(0xb1aa, 1 << 1);
}

/* ETSI E-I-6-6; RFC 9260 3.2.2, 5.1.5; SX-10 */
static void cookie_echo_with_an_error_is_accepted(void **state)
{
	static const uint8_t unrecognized[] = { 0, 8, 0, 12, 0xc0, 6, 0, 8, 0, 0, 0, 1 };
	uint8_t cookie[1024];
	struct iw_sctp_chunk c;
	size_t len;

	(void)state;
	open_hand();
	len = hand_get_cookie(&h, cookie);
	hand_begin(&h, h.peer_tag);
	hand_chunk(&h, IW_SCTP_COOKIE_ECHO, 0, cookie, len);
	hand_chunk(&h, IW_SCTP_ERROR, 0, unrecognized, sizeof(unrecognized));
	hand_send(&h);
	assert_true(hand_wait(&h, IW_SCTP_COOKIE_ACK, 0, &c));
	is_up();
	lives(h.peer_tag, HAND_TAG);
	hand_close(&h);
}

/* --- bundles ---------------------------------------------------------------------------------- */

/* ETSI BDC-I-7-2; RFC 9260 5.1, 6.10: the sender must not; the receiver drops the DATA. */
static void data_with_an_init_ack_is_dropped(void **state)
{
	struct iw_sctp_init i;
	struct iw_sctp_sack s;

	(void)state;
	hand_open_called(&h);
	i = init_with(hand_with_cookie, sizeof(hand_with_cookie));
	hand_begin(&h, h.peer_tag);
	hand_init_chunk(&h, IW_SCTP_INIT_ACK, &i);
	hand_data(&h, 7, HAND_TSN, 0, "early", 5);
	hand_send(&h);
	assert_int_equal(h.n.a.messages, 0);
	assert_int_not_equal(state_now(), IW_SCTP_ESTABLISHED);
	assert_false(hand_take_sack(&h, &s));
	hand_close(&h);
}

/* ETSI BDC-I-7-3; RFC 9260 6.10 */
static void data_with_a_shutdown_complete_is_dropped(void **state)
{
	(void)state;
	for (unsigned order = 0; order < 2; order++) {
		open_shutdown_ack_sent();
		hand_begin(&h, h.peer_tag);
		if (order)
			hand_data(&h, 7, HAND_TSN, 0, "late", 4);
		hand_chunk(&h, IW_SCTP_SHUTDOWN_COMPLETE, 0, NULL, 0);
		if (!order)
			hand_data(&h, 7, HAND_TSN, 0, "late", 4);
		hand_send(&h);
		assert_int_equal(h.n.b.messages, 0);
		hand_expect_nothing(&h);
		hand_close(&h);
	}
}

/* ETSI BDC-V-7-5; RFC 9260 5.1 D, E; SX-12 */
static void data_with_a_cookie_ack_is_delivered_and_acknowledged(void **state)
{
	struct iw_sctp_sack s;

	(void)state;
	open_echoed();
	hand_begin(&h, h.peer_tag);
	hand_chunk(&h, IW_SCTP_COOKIE_ACK, 0, NULL, 0);
	hand_data(&h, 7, HAND_TSN, 0, "first", 5);
	hand_send(&h);
	is_up();
	assert_int_equal(h.n.a.messages, 1);
	assert_true(hand_take_sack(&h, &s));
	assert_int_equal(s.cum, HAND_TSN);
	hand_close(&h);
}

/*
 * ETSI BDC-V-7-6; RFC 9260 9.2, 6.10; SX-27: with nothing outstanding, and with outstanding DATA
 * that the SACK acknowledges.
 */
static void sack_with_a_shutdown_is_processed(void **state)
{
	(void)state;
	for (uint32_t outstanding = 0; outstanding < 2; outstanding++) {
		uint8_t cum[4];

		open_up();
		if (outstanding)
			post(100);
		iw_put_be32(cum, h.peer_tsn - 1);
		hand_begin(&h, h.peer_tag);
		hand_sack(&h, h.peer_tsn - 1 + outstanding, 65536, NULL, 0);
		hand_chunk(&h, IW_SCTP_SHUTDOWN, 0, cum, sizeof(cum));
		hand_send(&h);
		hand_expect(&h, IW_SCTP_SHUTDOWN_ACK, HAND_TAG);
		assert_int_equal(state_now(), IW_SCTP_SHUTDOWN_ACK_SENT);
		assert_int_equal(net_acked(h.n.b.a), outstanding);
		hand_close(&h);
	}
}

/* ETSI BDC-V-7-7; RFC 9260 6.10, 6.2; SX-16 */
static void sack_and_data_in_one_packet_are_both_processed(void **state)
{
	struct iw_sctp_sack s;

	(void)state;
	open_up();
	post(100);
	hand_begin(&h, h.peer_tag);
	hand_sack(&h, h.peer_tsn, 65536, NULL, 0);
	hand_data(&h, 7, HAND_TSN, 0, "hello", 5);
	hand_send(&h);
	assert_int_equal(net_acked(h.n.b.a), 1);
	assert_int_equal(h.n.b.messages, 1);
	assert_true(hand_take_sack(&h, &s));
	assert_int_equal(s.cum, HAND_TSN);
	hand_close(&h);
}

/* ETSI BDC-V-7-8; RFC 9260 9.2, 6.10; SX-27 */
static void data_after_a_shutdown_ack_is_dropped(void **state)
{
	(void)state;
	open_shutdown_sent();
	hand_begin(&h, h.peer_tag);
	hand_chunk(&h, IW_SCTP_SHUTDOWN_ACK, 0, NULL, 0);
	hand_data(&h, 7, HAND_TSN, 0, "late", 4);
	hand_send(&h);
	assert_int_equal(hand_expect(&h, IW_SCTP_SHUTDOWN_COMPLETE, HAND_TAG).flags, 0);
	hand_expect_nothing(&h);
	assert_int_equal(h.n.b.messages, 0);
	is_gone(0);
	hand_close(&h);
}

/* --- DATA ------------------------------------------------------------------------------------- */

/*
 * ETSI D-V-8-1, D-V-8-14; RFC 9260 6.9, 3.3.1; SCTP-50, SCTP-52, SCTP-53: the largest message that
 * the engine takes: a SACK fits beside it.
 */
static void largest_message_is_sent_in_one_chunk(void **state)
{
	struct iw_sctp_chunk c;

	(void)state;
	open_up();
	hand_answer_heartbeats(&h, IW_MSEC(1010)); /* the path MTU is known to be 1500 */
	assert_int_equal(hand_post(h.n.b.a, 1500 - 20 - 12 - 16 - 16), 0);
	net_run(&h.n, h.n.now);
	c = hand_expect(&h, IW_SCTP_DATA, HAND_TAG);
	assert_int_equal(c.flags & 7, IW_SCTP_DATA_U | IW_SCTP_DATA_B | IW_SCTP_DATA_E);
	assert_int_equal(c.len, 1500 - 20 - 12 - 16);
	assert_int_equal(iw_get_be32(c.value), h.peer_tsn);
	hand_close(&h);
}

static uint8_t message[50 * 1000];

static void same_message(struct net_end *e, const struct iw_sctp_recv *m)
{
	(void)e;
	assert_int_equal(m->len, sizeof(message));
	assert_memory_equal(m->data, message, sizeof(message));
}

/* ETSI D-V-8-13; RFC 9260 6.9, 11.1.7; SX-22: many fragments. */
static void large_message_in_fragments_is_delivered_whole(void **state)
{
	const unsigned fragments = sizeof(message) / 1000;

	(void)state;
	open_up();
	h.n.b.on_message = same_message;
	for (size_t n = 0; n < sizeof(message); n++)
		message[n] = (uint8_t)(n * 13 + n / 1000);
	for (unsigned n = 0; n < fragments; n++) {
		uint8_t flags = IW_SCTP_DATA_U;

		flags |= n == 0 ? IW_SCTP_DATA_B : 0;
		flags |= n == fragments - 1 ? IW_SCTP_DATA_E : 0;
		assert_int_equal(h.n.b.messages, 0);
		hand_begin(&h, h.peer_tag);
		hand_data(&h, flags, HAND_TSN + n, 1, message + (size_t)n * 1000, 1000);
		hand_send(&h);
	}
	assert_int_equal(h.n.b.messages, 1);
	hand_close(&h);
}

/* --- DATA: zero window ------------------------------------------------------------------------ */

/* The peer's window is closed, nothing is in flight, and the RTO is one second. */
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

/* Asserts that one chunk, with this TSN, is sent after that many seconds. */
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
static void zero_window_is_probed_with_one_chunk_at_doubling_intervals(void **state)
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

/*
 * ETSI D-O-8-7; RFC 9260 6.1 A; SX-19, SX-36: the peer acknowledges each probe, and its window
 * stays closed: the next probe waits as long as the first, not longer.
 */
static void acknowledged_probe_does_not_open_the_window(void **state)
{
	uint32_t t[8];

	(void)state;
	open_shut_window();
	for (uint32_t n = 0; n < 5; n++)
		post(100);
	for (uint32_t n = 1; n < 4; n++) {
		probe_after(1, h.peer_tsn + n);
		hand_acknowledge(&h, h.peer_tsn + n, 0, NULL, 0);
		hand_expect_nothing(&h);
	}
	hand_acknowledge(&h, h.peer_tsn + 3, 65536, NULL, 0);
	assert_int_equal(hand_tsns(&h, t, 8), 2);
	/* When the window closes again, the first probe waits for one RTO again. */
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

/* For twenty minutes the peer answers each packet, accepts no DATA and keeps its window closed. */
static void answered_and_not_taken(uint32_t rwnd)
{
	struct iw_sctp_path p;
	struct iw_sctp_facts f;

	for (unsigned s = 0; s < 1200; s++) {
		hand_acknowledge(&h, h.peer_tsn, rwnd, NULL, 0);
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
}

/*
 * ETSI D-O-8-8; RFC 9260 6.1 A; SX-36, SX-38; SCTP-52, SCTP-54: a message that needs fragments is
 * refused.
 */
static void unacknowledged_probes_are_no_errors_while_sacks_arrive(void **state)
{
	(void)state;
	open_shut_window();
	assert_int_equal(hand_post(h.n.b.a, 2000), IW_E_LIMIT);
	for (unsigned n = 0; n < 3; n++)
		post(1000);
	answered_and_not_taken(0);
	hand_close(&h);
}

/*
 * ETSI D-O-8-8; RFC 9260 6.1 A; SX-36, SX-38: the window closes, or becomes smaller than a chunk,
 * while the chunk is in flight.
 */
static void chunk_in_flight_when_the_window_closes_is_not_an_error(void **state)
{
	(void)state;
	for (uint32_t rwnd = 0; rwnd < 1000; rwnd += 999) {
		open_up();
		hand_answer_heartbeats(&h, IW_MSEC(1010));
		post(1000);
		post(1000);
		answered_and_not_taken(rwnd);
		hand_close(&h);
	}
}

/* ETSI D-O-8-8; RFC 9260 6.1 A, 8.1; SX-38: without SACKs, unanswered probes are errors. */
static void probes_without_an_answer_end_the_association(void **state)
{
	(void)state;
	open_shut_window();
	post(1000);
	net_run(&h.n, h.n.now + IW_SEC(700));
	assert_int_equal(state_now(), IW_SCTP_CLOSED);
	assert_int_equal(iw_sctp_why(h.n.b.a)->err, IW_E_TIMEOUT);
	hand_close(&h);
}

/* --- DATA: losses ----------------------------------------------------------------------------- */

/* ETSI D-V-8-9; RFC 9260 6.1 C, 6.3.3 E3; SX-23, SX-19 */
static void lost_tsn_is_sent_before_queued_data(void **state)
{
	uint32_t t[16];
	unsigned n;

	(void)state;
	open_up();
	for (unsigned k = 0; k < 10; k++)
		assert_int_equal(hand_post(h.n.b.a, 1100), 0);
	net_run(&h.n, h.n.now);
	n = hand_tsns(&h, t, 16);
	assert_in_range(n, 4, 5); /* the congestion window is full */
	/* All but the second arrived; the SACKs are too few for a fast retransmission. */
	hand_acknowledge(&h, h.peer_tsn, 5000, (const uint16_t[]){ 2, (uint16_t)(n - 1) }, 1);
	hand_forget(&h);
	net_run(&h.n, h.n.now + IW_MSEC(3000));
	assert_true(hand_tsns(&h, t, 16) > 0);
	assert_int_equal(t[0], h.peer_tsn + 1);
	hand_close(&h);
}

/* ETSI D-O-8-12; RFC 9260 6.2.1 D i */
static void sack_below_the_cumulative_tsn_is_dropped(void **state)
{
	struct iw_sctp_path p;
	uint32_t t[8];

	(void)state;
	open_up();
	post(100);
	hand_acknowledge(&h, h.peer_tsn, 65536, NULL, 0);
	post(100);
	hand_acknowledge(&h, h.peer_tsn - 1, 65536, (const uint16_t[]){ 2, 2 }, 1);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.flight, 100 + 16);
	hand_forget(&h);
	net_run(&h.n, h.n.now + IW_MSEC(1100));
	assert_true(hand_tsns(&h, t, 8) > 0);
	assert_int_equal(t[0], h.peer_tsn + 1);
	hand_close(&h);
}

/* --- DATA: two addresses ---------------------------------------------------------------------- */

/* The peer has .9, to which DATA is sent, and .50, which is confirmed: its RTO is 1.8 s. */
static void open_confirmed(void)
{
	struct iw_sctp_addr other = net_addr(50);
	const struct caught *p = NULL;
	struct iw_sctp_path path;
	struct caught copy;
	struct iw_sctp_chunk c;

	open_up_with_two();
	while (!p || memcmp(p->to.ip, other.ip, 16) != 0) {
		net_run(&h.n, h.n.now + IW_MSEC(1));
		while ((p = hand_take(&h)) && memcmp(p->to.ip, other.ip, 16) != 0)
			;
	}
	copy = *p;
	assert_true(chunk_of(&copy, 0, &c));
	assert_int_equal(c.type, IW_SCTP_HEARTBEAT);
	net_run(&h.n, h.n.now + IW_MSEC(600));
	h.src = other;
	say(IW_SCTP_HEARTBEAT_ACK, c.value, c.value_len);
	h.src = net_addr(9);
	assert_int_equal(iw_sctp_path(h.n.b.a, 1, &path), 0);
	assert_in_range(path.rto, IW_MSEC(1800), IW_MSEC(1805));
	hand_forget(&h);
}

/* Asserts that the first chunk is sent again to .host, ms milliseconds from now. */
static void repeated_to(unsigned host, uint64_t ms)
{
	struct iw_sctp_addr to = net_addr(host);
	uint64_t began = h.n.now;

	for (;;) {
		const struct caught *p = hand_take(&h);
		struct iw_sctp_chunk c;

		if (!p) {
			net_run(&h.n, h.n.now + IW_MSEC(1));
			assert_true(h.n.now <= began + IW_MSEC(ms + 12));
		} else if (chunk_of(p, 0, &c) && c.type == IW_SCTP_DATA) {
			assert_int_equal(iw_get_be32(c.value), h.peer_tsn);
			assert_memory_equal(p->to.ip, to.ip, 16);
			break;
		}
	}
	assert_in_range(h.n.now - began, IW_MSEC(ms - 12), IW_MSEC(ms + 12));
}

/* ETSI D-V-8-10; RFC 9260 6.4, 6.2.1; SX-32 */
static void sack_from_the_other_address_is_accepted(void **state)
{
	uint32_t t[8];

	(void)state;
	open_confirmed();
	post(100);
	h.src = net_addr(50);
	hand_acknowledge(&h, h.peer_tsn, 65536, NULL, 0);
	assert_int_equal(net_acked(h.n.b.a), 1);
	net_run(&h.n, h.n.now + IW_SEC(5));
	assert_int_equal(hand_tsns(&h, t, 8), 0);
	post(100);
	hand_acknowledge(&h, h.peer_tsn + 1, 65536, NULL, 0);
	assert_int_equal(net_acked(h.n.b.a), 2);
	hand_close(&h);
}

/* ETSI RT-I-11-2; RFC 9260 6.3.3 E2, 6.4; SX-23, SX-38 */
static void each_address_doubles_its_own_rto(void **state)
{
	(void)state;
	open_confirmed();
	post(100);
	repeated_to(50, 1000);
	repeated_to(9, 1800);
	repeated_to(50, 2000);
	repeated_to(9, 3600);
	repeated_to(50, 4000);
	hand_close(&h);
}

/* ETSI RT-I-11-3; RFC 9260 6.3.3 E4, 6.4; SX-23, SX-38 */
static void repeat_is_sent_to_the_other_address_with_its_rto(void **state)
{
	struct iw_sctp_path p;

	(void)state;
	open_confirmed();
	post(100);
	repeated_to(50, 1000);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.flight, 0);
	assert_int_equal(p.rto, IW_SEC(2)); /* E2 */
	assert_int_equal(iw_sctp_path(h.n.b.a, 1, &p), 0);
	assert_int_equal(p.flight, 100 + 16);
	assert_in_range(p.rto, IW_MSEC(1800), IW_MSEC(1805));
	repeated_to(9, 1800);
	hand_close(&h);
}

/* --- SACK ------------------------------------------------------------------------------------- */

/* ETSI A-V-9-2; RFC 9260 6.2; SX-16, SX-17 */
static void three_chunks_in_one_packet_get_one_sack(void **state)
{
	struct iw_sctp_sack s;

	(void)state;
	open_up();
	hand_say_data(&h, 7, HAND_TSN, 0, "first");
	hand_forget(&h);
	hand_begin(&h, h.peer_tag);
	for (uint32_t n = 1; n <= 3; n++)
		hand_data(&h, 7, HAND_TSN + n, 0, "more", 4);
	hand_send(&h);
	assert_int_equal(h.n.b.messages, 4);
	net_run(&h.n, h.n.now + IW_MSEC(199));
	assert_false(hand_take_sack(&h, &s));
	net_run(&h.n, h.n.now + IW_MSEC(2));
	assert_true(hand_take_sack(&h, &s));
	assert_int_equal(s.cum, HAND_TSN + 3);
	net_run(&h.n, h.n.now + IW_MSEC(500));
	assert_false(hand_take_sack(&h, &s));
	hand_close(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(initiator_returns_the_cookie_unchanged),
		cmocka_unit_test(unanswered_init_is_repeated_unchanged),
		cmocka_unit_test(unanswered_cookie_echo_is_repeated_unchanged),
		cmocka_unit_test(inits_without_cookie_echo_use_no_memory),
		cmocka_unit_test(each_init_has_a_random_tag),
		cmocka_unit_test(each_init_ack_has_a_random_tag),
		cmocka_unit_test(init_with_all_defined_parameters_is_accepted),
		cmocka_unit_test(init_ack_with_addresses_is_accepted),
		cmocka_unit_test(init_without_streams_gets_abort_and_changes_nothing),
		cmocka_unit_test(unknown_parameters_with_top_bits_11_are_all_reported),
		cmocka_unit_test(unknown_parameter_with_top_bits_00_stops_without_a_report),
		cmocka_unit_test(unknown_parameter_with_top_bits_01_stops_and_is_reported),
		cmocka_unit_test(unknown_parameter_with_top_bits_10_is_skipped),
		cmocka_unit_test(init_ack_without_streams_gets_abort),
		cmocka_unit_test(init_ack_with_tag_0_gets_abort_with_our_tag),
		cmocka_unit_test(init_with_known_addresses_gets_a_new_tag_and_tie_tags),
		cmocka_unit_test(init_that_adds_an_address_to_an_association_gets_abort),
		cmocka_unit_test(init_without_addresses_gives_its_source_address),
		cmocka_unit_test(init_ack_without_addresses_gives_its_source_address),
		cmocka_unit_test(addresses_of_an_init_ack_are_confirmed_and_used),
		cmocka_unit_test(init_with_a_host_name_gets_abort),
		cmocka_unit_test(init_ack_lists_no_address_of_another_type),
		cmocka_unit_test(init_over_ipv4_that_supports_only_ipv6_is_accepted),
		cmocka_unit_test(init_with_tag_0_is_dropped),
		cmocka_unit_test(init_of_eight_octets_is_dropped),
		cmocka_unit_test(chunk_longer_than_its_packet_is_dropped),
		cmocka_unit_test(init_with_data_is_dropped),
		cmocka_unit_test(abort_without_a_cause_ends_the_association),
		cmocka_unit_test(repeated_shutdown_has_the_current_tsn),
		cmocka_unit_test(unanswered_shutdown_is_repeated_association_max_retrans_times),
		cmocka_unit_test(shutdown_ack_in_shutdown_sent_completes),
		cmocka_unit_test(shutdown_sent_accepts_no_message),
		cmocka_unit_test(shutdown_received_accepts_no_message),
		cmocka_unit_test(shutdown_pending_accepts_no_message),
		cmocka_unit_test(shutdown_ack_sent_accepts_no_message),
		cmocka_unit_test(data_in_shutdown_sent_is_delivered_and_answered_by_shutdown),
		cmocka_unit_test(gap_and_duplicate_in_shutdown_sent_get_a_sack_too),
		cmocka_unit_test(data_in_shutdown_received_is_dropped),
		cmocka_unit_test(repeated_shutdown_does_not_end_the_wait_for_a_sack),
		cmocka_unit_test(repeated_shutdown_with_a_higher_tsn_acknowledges),
		cmocka_unit_test(unanswered_shutdown_ack_is_repeated_association_max_retrans_times),
		cmocka_unit_test(shutdown_complete_ends_the_association),
		cmocka_unit_test(shutdown_acknowledges_data),
		cmocka_unit_test(init_ack_of_eight_octets_is_dropped),
		cmocka_unit_test(shutdown_ack_with_a_wrong_tag_is_dropped),
		cmocka_unit_test(shutdown_complete_with_a_wrong_tag_is_dropped),
		cmocka_unit_test(init_in_cookie_wait_gets_the_parameters_of_our_init),
		cmocka_unit_test(init_in_cookie_echoed_gets_the_parameters_of_our_init),
		cmocka_unit_test(init_in_cookie_wait_from_another_address_gets_no_init_ack),
		cmocka_unit_test(first_init_again_changes_nothing),
		cmocka_unit_test(init_in_shutdown_ack_sent_gets_shutdown_ack),
		cmocka_unit_test(second_init_ack_is_dropped),
		cmocka_unit_test(second_cookie_ack_is_dropped),
		cmocka_unit_test(shutdown_in_shutdown_sent_gets_shutdown_ack),
		cmocka_unit_test(shutdown_in_cookie_wait_is_dropped),
		cmocka_unit_test(shutdown_without_an_association_gets_abort),
		cmocka_unit_test(shutdown_in_shutdown_sent_restarts_t2),
		cmocka_unit_test(shutdown_ack_before_the_association_is_up_is_out_of_the_blue),
		cmocka_unit_test(shutdown_ack_in_established_is_dropped),
		cmocka_unit_test(shutdown_ack_in_shutdown_ack_sent_completes),
		cmocka_unit_test(forged_cookie_in_established_is_dropped),
		cmocka_unit_test(shutdown_complete_in_cookie_wait_is_dropped),
		cmocka_unit_test(data_in_shutdown_ack_sent_is_dropped),
		cmocka_unit_test(cookie_echo_from_a_multicast_address_is_dropped),
		cmocka_unit_test(stale_cookie_error_in_established_is_dropped),
		cmocka_unit_test(init_ack_without_a_cookie_gets_abort_that_names_it),
		cmocka_unit_test(unknown_parameter_of_an_init_ack_is_reported_after_the_cookie),
		cmocka_unit_test(unknown_parameter_of_an_init_ack_is_handled_by_its_top_bits),
		cmocka_unit_test(cookie_echo_with_an_error_is_accepted),
		cmocka_unit_test(data_with_an_init_ack_is_dropped),
		cmocka_unit_test(data_with_a_shutdown_complete_is_dropped),
		cmocka_unit_test(data_with_a_cookie_ack_is_delivered_and_acknowledged),
		cmocka_unit_test(sack_with_a_shutdown_is_processed),
		cmocka_unit_test(sack_and_data_in_one_packet_are_both_processed),
		cmocka_unit_test(data_after_a_shutdown_ack_is_dropped),
		cmocka_unit_test(largest_message_is_sent_in_one_chunk),
		cmocka_unit_test(large_message_in_fragments_is_delivered_whole),
		cmocka_unit_test(zero_window_is_probed_with_one_chunk_at_doubling_intervals),
		cmocka_unit_test(acknowledged_probe_does_not_open_the_window),
		cmocka_unit_test(unacknowledged_probes_are_no_errors_while_sacks_arrive),
		cmocka_unit_test(chunk_in_flight_when_the_window_closes_is_not_an_error),
		cmocka_unit_test(probes_without_an_answer_end_the_association),
		cmocka_unit_test(lost_tsn_is_sent_before_queued_data),
		cmocka_unit_test(sack_below_the_cumulative_tsn_is_dropped),
		cmocka_unit_test(sack_from_the_other_address_is_accepted),
		cmocka_unit_test(each_address_doubles_its_own_rto),
		cmocka_unit_test(repeat_is_sent_to_the_other_address_with_its_rto),
		cmocka_unit_test(three_chunks_in_one_packet_get_one_sack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
