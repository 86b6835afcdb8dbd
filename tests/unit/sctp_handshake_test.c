// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Set-up: INIT and COOKIE ECHO, also if they are wrong, late, forged or duplicate. */
#include "sctp/sctp.h"

#include <stdlib.h>

#include "sctp/internal.h"

#include "unit/sctp_hand.h"
#include "vectors/sctp.h"

static struct hand h;

static void open_hand(void)
{
	hand_open(&h);
	net_start(&h.n);
}

static void send_init(struct iw_sctp_init i)
{
	hand_send_init(&h, i);
}

static void echo(uint32_t vtag, const uint8_t *cookie, size_t len)
{
	hand_echo(&h, vtag, cookie, len);
}

static size_t get_cookie(uint8_t *copy)
{
	return hand_get_cookie(&h, copy);
}

/* SX-09: no state before COOKIE ECHO; SX-10: INIT ACK is alone in its packet; SX-08: tag not 0. */
static void an_init_is_answered_and_forgotten(void **state)
{
	size_t blocks, calls;

	(void)state;
	open_hand();
	blocks = h.n.b.mem.blocks;
	calls = h.n.b.mem.calls;
	for (int i = 0; i < 1000; i++) {
		struct iw_sctp_chunk c;

		h.port = (uint16_t)(4000 + i);
		send_init(hand_init(&h));
		c = hand_expect(&h, IW_SCTP_INIT_ACK, HAND_TAG);
		hand_read_init_ack(&h, &c);
		assert_int_not_equal(h.peer_tag, 0);
	}
	assert_int_equal(h.n.b.mem.blocks, blocks);
	assert_int_equal(h.n.b.mem.calls, calls);
	assert_null(h.n.b.a);
	hand_close(&h);
}

/* SX-09: a flood fills the ring of answers, not the memory. Each packet gets at most one answer. */
static void a_flood_of_inits_is_answered_up_to_the_size_of_the_ring(void **state)
{
	struct iw_sctp_init i;
	struct iw_sctp_packet p;
	struct iw_sctp_recv m;

	(void)state;
	open_hand();
	i = hand_init(&h);
	hand_begin(&h, 0);
	hand_init_chunk(&h, IW_SCTP_INIT, &i);
	iw_put_le32(h.out + 8, iw_wire_sctp_checksum(h.out, h.len));
	p = (struct iw_sctp_packet){ .peer = h.src, .data = h.out, .len = h.len };
	for (int n = 0; n < 10000; n++) {
		iw_sctp_input(h.n.b.s, &p, h.n.now);
		assert_false(iw_sctp_next(h.n.b.s, &m));
	}
	net_run(&h.n, h.n.now);
	assert_in_range(h.ncaught, 1, 64);
	hand_close(&h);
}

/* SX-07: a_rwnd below 1500, no streams: ABORT with the Initiate Tag (RFC 9260 8.4, 3). */
static void an_init_without_window_or_streams_gets_abort(void **state)
{
	struct iw_sctp_init i;

	(void)state;
	open_hand();
	i = hand_init(&h);
	i.a_rwnd = 1499;
	send_init(i);
	assert_int_equal(hand_expect(&h, IW_SCTP_ABORT, HAND_TAG).flags, 0);
	i = hand_init(&h);
	i.os = 0;
	send_init(i);
	hand_expect(&h, IW_SCTP_ABORT, HAND_TAG);
	i = hand_init(&h);
	i.mis = 0;
	send_init(i);
	hand_expect(&h, IW_SCTP_ABORT, HAND_TAG);
	i = hand_init(&h);
	i.a_rwnd = 1500;
	send_init(i);
	hand_expect(&h, IW_SCTP_INIT_ACK, HAND_TAG);
	hand_close(&h);
}

/*
 * SX-08, SX-10: an INIT with Initiate Tag 0, one bundled with another chunk, and one with a
 * Verification Tag: no answer, or ABORT.
 */
static void an_init_is_sent_alone_with_tag_0(void **state)
{
	struct iw_sctp_init i;

	(void)state;
	open_hand();
	i = hand_init(&h);
	i.tag = 0;
	send_init(i);
	hand_expect_nothing(&h);
	i = hand_init(&h);
	hand_begin(&h, 0);
	hand_init_chunk(&h, IW_SCTP_INIT, &i);
	hand_chunk(&h, IW_SCTP_PAD, 0, "1234", 4);
	hand_send(&h);
	hand_expect_nothing(&h);
	hand_begin(&h, 5);
	hand_init_chunk(&h, IW_SCTP_INIT, &i);
	hand_send(&h);
	assert_int_equal(hand_expect(&h, IW_SCTP_ABORT, 5).flags, IW_SCTP_T);
	hand_begin(&h, 0);
	hand_chunk(&h, IW_SCTP_COOKIE_ACK, 0, NULL, 0);
	hand_send(&h);
	hand_expect_nothing(&h);
	hand_close(&h);
}

/* SX-01, APP-11: the checksum is verified first; SX-02. */
static void a_bad_checksum_and_port_0_are_dropped_in_silence(void **state)
{
	struct iw_sctp_init i;
	struct iw_sctp_packet p;
	struct iw_sctp_recv m;

	(void)state;
	open_hand();
	i = hand_init(&h);
	hand_begin(&h, 0);
	hand_init_chunk(&h, IW_SCTP_INIT, &i);
	iw_put_le32(h.out + 8, iw_wire_sctp_checksum(h.out, h.len) ^ 1);
	p = (struct iw_sctp_packet){ .peer = h.src, .data = h.out, .len = h.len };
	iw_sctp_input(h.n.b.s, &p, h.n.now);
	assert_false(iw_sctp_next(h.n.b.s, &m));
	net_run(&h.n, h.n.now);
	hand_expect_nothing(&h);
	h.port = 0;
	send_init(i);
	hand_expect_nothing(&h);
	for (p.len = 0; p.len < 20; p.len++) {
		iw_sctp_input(h.n.b.s, &p, h.n.now);
		assert_false(iw_sctp_next(h.n.b.s, &m));
	}
	hand_expect_nothing(&h);
	hand_close(&h);
}

/* SX-11: the cookie's MAC, ports and tag; SX-14. */
static void a_cookie_that_is_not_ours_is_dropped_in_silence(void **state)
{
	struct iw_sctp_chunk c;
	struct iw_sctp_param cookie;
	uint8_t copy[1024];
	size_t len;

	(void)state;
	open_hand();
	send_init(hand_init(&h));
	c = hand_expect(&h, IW_SCTP_INIT_ACK, HAND_TAG);
	cookie = hand_read_init_ack(&h, &c);
	len = cookie.value_len;
	for (size_t i = 0; i < len; i++) {
		memcpy(copy, cookie.value, len);
		copy[i] ^= 0x40;
		echo(h.peer_tag, copy, len);
		echo(h.peer_tag, cookie.value, i);
	}
	memcpy(copy, cookie.value, len);
	echo(h.peer_tag ^ 1, copy, len); /* another tag */
	h.port++;
	echo(h.peer_tag, copy, len); /* another port */
	h.port--;
	h.src = net_addr(77); /* neither the source of the INIT nor listed in it */
	echo(h.peer_tag, copy, len);
	hand_expect_nothing(&h);
	assert_null(h.n.b.a);
	h.src = net_addr(9);
	echo(h.peer_tag, copy, len);
	assert_non_null(h.n.b.a);
	hand_close(&h);
}

/*
 * SX-11: a stale cookie is reported with its staleness. SX-09: keys change, and cookies of the
 * previous key are accepted.
 */
static void a_stale_cookie_is_reported(void **state)
{
	struct iw_sctp_chunk c;
	struct iw_sctp_param cookie, cause;
	uint8_t copy[1024];
	size_t len;

	(void)state;
	open_hand();
	send_init(hand_init(&h));
	c = hand_expect(&h, IW_SCTP_INIT_ACK, HAND_TAG);
	cookie = hand_read_init_ack(&h, &c);
	len = cookie.value_len;
	memcpy(copy, cookie.value, len);
	h.n.now += IW_SEC(61);
	echo(h.peer_tag, copy, len);
	c = hand_expect(&h, IW_SCTP_ERROR, HAND_TAG);
	assert_true(iw_wire_sctp_param_decode(&cause, c.value, c.value_len) > 0);
	assert_int_equal(cause.type, IW_SCTP_CAUSE_STALE_COOKIE);
	assert_int_equal(iw_get_be32(cause.value), 1000000);
	h.n.now += IW_SEC(3600);
	send_init(hand_init(&h)); /* a new key */
	c = hand_expect(&h, IW_SCTP_INIT_ACK, HAND_TAG);
	echo(iw_get_be32(copy + 25), copy, len); /* of the previous key: authentic, but stale */
	hand_expect(&h, IW_SCTP_ERROR, HAND_TAG);
	h.n.now += IW_SEC(3600);
	send_init(hand_init(&h)); /* another new key: that of the cookie is now invalid */
	hand_expect(&h, IW_SCTP_INIT_ACK, HAND_TAG);
	echo(iw_get_be32(copy + 25), copy, len);
	hand_expect_nothing(&h);
	hand_close(&h);
}

/*
 * SX-10: COOKIE ACK is the first chunk, and DATA bundled with the COOKIE ECHO is accepted. SX-12:
 * it is acknowledged at once.
 */
static void data_after_the_cookie_is_accepted_and_acknowledged_at_once(void **state)
{
	struct iw_sctp_chunk c;
	struct iw_sctp_param cookie;
	struct iw_sctp_sack s;
	const struct caught *p;

	(void)state;
	open_hand();
	send_init(hand_init(&h));
	c = hand_expect(&h, IW_SCTP_INIT_ACK, HAND_TAG);
	cookie = hand_read_init_ack(&h, &c);
	hand_begin(&h, h.peer_tag);
	hand_chunk(&h, IW_SCTP_COOKIE_ECHO, 0, cookie.value, cookie.value_len);
	hand_data(&h, 7, HAND_TSN, 0, "hello", 5);
	hand_send(&h);
	assert_int_equal(h.n.b.messages, 1);
	do
		p = hand_take(&h);
	while (p && chunk_of(p, 0, &c) && c.type == IW_SCTP_HEARTBEAT);
	assert_non_null(p);
	assert_int_equal(c.type, IW_SCTP_COOKIE_ACK);
	assert_true(chunk_of(p, 1, &c));
	assert_int_equal(c.type, IW_SCTP_SACK);
	assert_true(iw_wire_sctp_sack_decode(&s, c.value, c.value_len) > 0);
	assert_int_equal(s.cum, HAND_TSN);
	hand_close(&h);
}

/* SX-13, SCTP-48: the smaller request of both, in both directions. */
static void streams_are_the_lesser_of_both_requests(void **state)
{
	struct iw_sctp_init i;
	struct iw_sctp_facts f;
	struct iw_sctp_send m = { .stream = 5, .hdr = (const uint8_t *)"x", .hdr_len = 1 };

	(void)state;
	open_hand();
	i = hand_init(&h);
	i.mis = 5;
	i.os = 40000;
	hand_up_with(&h, &i);
	iw_sctp_facts(h.n.b.a, &f);
	assert_int_equal(f.streams_out, 5);
	assert_int_equal(f.streams_in, 5);
	assert_int_equal(iw_sctp_send(h.n.b.a, &m, NULL), IW_E_INVAL);
	m.stream = 4;
	assert_int_equal(iw_sctp_send(h.n.b.a, &m, NULL), 0);
	hand_close(&h);
}

/* SCTP-48: INIT and INIT ACK have the same number of outbound and inbound streams. */
static void both_directions_get_the_same_number_of_streams(void **state)
{
	static const uint16_t wishes[][2] = { { 10, 10 }, { 3, 9 }, { 9, 3 }, { 40000, 40000 } };
	struct iw_sctp_init i;
	struct iw_sctp_chunk c;

	(void)state;
	for (size_t n = 0; n < IW_ARRAY_LEN(wishes); n++) {
		struct iw_sctp_facts f;

		open_hand();
		i = hand_init(&h);
		i.os = wishes[n][0];
		i.mis = wishes[n][1];
		send_init(i);
		c = hand_expect(&h, IW_SCTP_INIT_ACK, HAND_TAG);
		assert_true(iw_wire_sctp_init_decode(&i, c.value, c.value_len) > 0);
		assert_int_equal(i.os, i.mis);
		assert_int_equal(i.os, IW_MIN(16, IW_MIN(wishes[n][0], wishes[n][1])));
		i = hand_init(&h);
		i.os = wishes[n][0];
		i.mis = wishes[n][1];
		hand_up_with(&h, &i);
		iw_sctp_facts(h.n.b.a, &f);
		assert_int_equal(f.streams_in, f.streams_out);
		hand_close(&h);
	}
	hand_open(&h);
	h.e = &h.n.a;
	net_start(&h.n);
	net_connect(&h.n);
	net_run(&h.n, h.n.now);
	c = hand_expect(&h, IW_SCTP_INIT, 0);
	assert_true(iw_wire_sctp_init_decode(&i, c.value, c.value_len) > 0);
	assert_int_equal(i.os, 16);
	assert_int_equal(i.mis, 16);
	hand_close(&h);
}

/* SX-24: INIT is sent nine times at growing intervals, then the failure is reported. */
static void an_init_without_answer_fails_after_eight_repeats(void **state)
{
	struct net n;
	uint64_t began;

	(void)state;
	net_init(&n, 3);
	n.ab.cut = true;
	net_start(&n);
	net_connect(&n);
	began = n.now;
	net_run(&n, n.now + IW_SEC(1000));
	assert_int_equal(n.a.packets, 9);
	assert_int_equal(iw_sctp_why(n.a.a)->err, IW_E_TIMEOUT);
	assert_true(net_has_event(&n.a, IW_SCTP_EV_DOWN));
	assert_int_equal(n.last_move - began, IW_SEC(1 + 2 + 4 + 8 + 16 + 32 + 60 + 60));
	net_free(&n);
}

/* SX-24: the same for COOKIE ECHO. */
static void a_cookie_echo_without_answer_is_repeated_too(void **state)
{
	struct net n;

	(void)state;
	net_init(&n, 3);
	net_start(&n);
	net_connect(&n);
	while (iw_sctp_assoc_state(n.a.a) == IW_SCTP_COOKIE_WAIT)
		net_step(&n);
	n.ab.cut = true;
	n.a.packets = 0;
	net_run(&n, n.now + IW_SEC(1000));
	assert_int_equal(n.a.packets, 9);
	assert_int_equal(iw_sctp_why(n.a.a)->err, IW_E_TIMEOUT);
	net_free(&n);
}

/* SCTP-02, SCTP-63, SCTP-64: INIT and INIT ACK contain the indication, and it is checked. */
static void both_see_the_adaptation_indication(void **state)
{
	struct net n;
	struct iw_sctp_facts f;

	(void)state;
	net_init(&n, 4);
	net_start(&n);
	assert_true(net_up(&n));
	iw_sctp_facts(n.a.a, &f);
	assert_true(f.peer_has_adaptation && f.peer_adaptation == 1 && f.initiator);
	iw_sctp_facts(n.b.a, &f);
	assert_true(f.peer_has_adaptation && f.peer_adaptation == 1 && !f.initiator);
	net_free(&n);
}

/*
 * SCTP-39, SCTP-40, SCTP-65, SCTP-66: both ends refuse a peer with a different or missing
 * indication.
 */
static void an_adaptation_that_is_not_ours_is_refused(void **state)
{
	static const uint8_t two[] = { 0xc0, 6, 0, 8, 0, 0, 0, 2 };
	struct iw_sctp_init i;
	struct net n;

	(void)state;
	open_hand();
	i = hand_init(&h);
	i.params = two;
	send_init(i);
	hand_expect(&h, IW_SCTP_ABORT, HAND_TAG);
	i.params = NULL;
	i.params_len = 0;
	send_init(i);
	hand_expect(&h, IW_SCTP_ABORT, HAND_TAG);
	hand_close(&h);

	net_init(&n, 5);
	n.b.cfg.adaptation = 2;
	n.b.cfg.adaptation_required = false;
	net_start(&n);
	assert_false(net_up(&n));
	assert_int_equal(iw_sctp_why(n.a.a)->err, IW_E_NOTSUP);
	net_free(&n);
	net_init(&n, 5);
	n.b.cfg.adaptation = 2;
	n.a.cfg.adaptation = 2;
	net_start(&n);
	assert_true(net_up(&n));
	net_free(&n);

	/* Indication 0 differs from a missing one. */
	hand_open(&h);
	h.n.b.cfg.adaptation = 0;
	net_start(&h.n);
	i = hand_init(&h);
	i.params = NULL;
	i.params_len = 0;
	send_init(i);
	hand_expect(&h, IW_SCTP_ABORT, HAND_TAG);
	hand_close(&h);
}

/*
 * SX-04: the top two bits of unknown parameters. SX-28: an indication of the wrong length is not
 * accepted.
 */
static void unknown_parameters_are_handled_by_their_top_bits(void **state)
{
	static const struct {
		uint8_t params[24];
		size_t len;
		bool answered, reported;
	} rows[] = {
		{ { 0xc0, 6, 0, 8, 0, 0, 0, 1, 0x80, 8, 0, 5, 0xc1, 0, 0, 0 }, 16, true, false },
		{ { 0xc0, 6, 0, 8, 0, 0, 0, 1, 0xc0, 0, 0, 4 }, 12, true, true },
		{ { 0xc0, 0, 0, 4, 0xc0, 6, 0, 8, 0, 0, 0, 1 }, 12, true, true },
		{ { 0xc0, 6, 0, 8, 0, 0, 0, 1, 0x40, 1, 0, 4 }, 12, true, true },
		/* Processing stops there, so later parameters are ignored. */
		{ { 0x40, 1, 0, 4, 0xc0, 6, 0, 8, 0, 0, 0, 1 }, 12, false, false },
		{ { 0x00, 99, 0, 4, 0xc0, 6, 0, 8, 0, 0, 0, 1 }, 12, false, false },
		{ { 0xc0, 6, 0, 7, 0, 0, 0, 0 }, 8, false, false },
		/* A host name, and malformed parameters. */
		{ { 0xc0, 6, 0, 8, 0, 0, 0, 1, 0, 11, 0, 8, 'h', 'o', 's', 0 }, 16, false, false },
		{ { 0xc0, 6, 0, 8, 0, 0, 0, 1, 0x80, 8, 0, 3 }, 12, false, false },
		{ { 0xc0, 6, 0, 8, 0, 0, 0, 1, 0, 5, 0, 9, 1, 2, 3, 4 }, 16, false, false },
	};

	(void)state;
	open_hand();
	for (size_t r = 0; r < IW_ARRAY_LEN(rows); r++) {
		struct iw_sctp_init i = hand_init(&h);
		struct iw_sctp_param p;
		struct iw_sctp_chunk c;
		bool reported = false;
		int n;

		i.params = rows[r].params;
		i.params_len = rows[r].len;
		send_init(i);
		if (!rows[r].answered) {
			hand_expect(&h, IW_SCTP_ABORT, HAND_TAG);
			continue;
		}
		c = hand_expect(&h, IW_SCTP_INIT_ACK, HAND_TAG);
		assert_true(iw_wire_sctp_init_decode(&i, c.value, c.value_len) > 0);
		for (; i.params_len; i.params += n, i.params_len -= (size_t)n) {
			n = iw_wire_sctp_param_decode(&p, i.params, i.params_len);
			assert_true(n > 0);
			reported |= p.type == IW_SCTP_PARAM_UNRECOGNIZED;
		}
		assert_int_equal(reported, rows[r].reported);
	}
	hand_close(&h);
}

/*
 * SX-04: INITs of other implementations: address types, extensions that we do not support, and
 * Forward TSN, which is to be reported.
 */
static void the_inits_of_other_stacks_are_answered(void **state)
{
	static const struct {
		const uint8_t *packet;
		size_t len;
		unsigned paths;
	} rows[] = { { sctp_kernel_init, sizeof(sctp_kernel_init), 3 },
		     { sctp_usrsctp_init, sizeof(sctp_usrsctp_init), 1 } };

	(void)state;
	for (size_t r = 0; r < IW_ARRAY_LEN(rows); r++) {
		uint8_t copy[256];
		struct iw_sctp_param p;
		struct iw_sctp_init i;
		struct iw_sctp_chunk c;
		struct iw_sctp_facts f;
		unsigned reported = 0;
		int n;

		hand_open(&h);
		memcpy(copy, rows[r].packet, rows[r].len);
		h.port = iw_get_be16(copy);
		h.n.b.cfg.port = iw_get_be16(copy + 2);
		h.tag = iw_get_be32(copy + 16);
		net_start(&h.n);
		net_inject(&h.n, h.e, &h.src, copy, rows[r].len);
		assert_memory_equal(copy, rows[r].packet, rows[r].len); /* its checksum was right */
		net_run(&h.n, h.n.now);
		c = hand_expect(&h, IW_SCTP_INIT_ACK, h.tag);
		p = hand_read_init_ack(&h, &c);
		echo(h.peer_tag, p.value, p.value_len);
		assert_non_null(h.n.b.a);
		iw_sctp_facts(h.n.b.a, &f);
		assert_int_equal(f.paths, rows[r].paths);
		assert_true(f.peer_has_adaptation && f.peer_adaptation == 1);
		assert_true(iw_wire_sctp_init_decode(&i, c.value, c.value_len) > 0);
		for (; i.params_len; i.params += n, i.params_len -= (size_t)n) {
			n = iw_wire_sctp_param_decode(&p, i.params, i.params_len);
			assert_true(n > 0);
			if (p.type == IW_SCTP_PARAM_UNRECOGNIZED) {
				assert_int_equal(iw_get_be16(p.value), 0xc000);
				reported++;
			}
		}
		assert_int_equal(reported, 1);
		hand_close(&h);
	}
}

static void open_called(void)
{
	hand_open_called(&h);
}

static void answer_init(uint32_t tag, const uint8_t *params, size_t len)
{
	hand_answer_init(&h, tag, params, len);
}

/*
 * SX-04: unknown parameters of an INIT ACK are reported after the COOKIE ECHO. SX-10: that is the
 * first chunk.
 */
static void unknown_parameters_of_an_init_ack_are_reported_with_the_cookie(void **state)
{
	static const uint8_t params[] = { 0xc0, 6, 0,   8,   0,   0,   0,    1, 0, 7,
					  0,    8, 'c', 'o', 'o', 'k', 0xc0, 0, 0, 4 };
	struct iw_sctp_chunk c;
	const struct caught *p;

	(void)state;
	open_called();
	answer_init(HAND_TAG, params, sizeof(params));
	p = hand_take(&h);
	assert_non_null(p);
	assert_true(chunk_of(p, 0, &c));
	assert_int_equal(c.type, IW_SCTP_COOKIE_ECHO);
	assert_int_equal(c.value_len, 4);
	assert_memory_equal(c.value, "cook", 4);
	assert_true(chunk_of(p, 1, &c));
	assert_int_equal(c.type, IW_SCTP_ERROR);
	assert_int_equal(cause_of(&c), IW_SCTP_CAUSE_PARAMS);
	assert_memory_equal(c.value + 4, params + 16, 4);
	/* 5.2.3: a second INIT ACK is ignored. */
	answer_init(HAND_TAG + 1, params, sizeof(params));
	hand_expect_nothing(&h);
	/* RFC 9260 5.2.6: after a stale cookie the set-up begins again, with the same tag. */
	hand_begin(&h, h.peer_tag);
	hand_chunk(&h, IW_SCTP_ERROR, 0, "\0\3\0\10\0\0\0\1", 8);
	hand_send(&h);
	assert_int_equal(iw_get_be32(hand_expect(&h, IW_SCTP_INIT, 0).value), h.peer_tag);
	assert_int_equal(iw_sctp_assoc_state(h.n.a.a), IW_SCTP_COOKIE_WAIT);
	hand_close(&h);
}

/* RFC 9260 5.2.6, SX-24: the number of new attempts is limited. */
static void a_peer_that_finds_every_cookie_stale_ends_the_set_up(void **state)
{
	static const uint8_t params[] = {
		0xc0, 6, 0, 8, 0, 0, 0, 1, 0, 7, 0, 8, 'c', 'o', 'o', 'k'
	};
	unsigned inits = 1;

	(void)state;
	open_called();
	while (iw_sctp_assoc_state(h.n.a.a) == IW_SCTP_COOKIE_WAIT && inits < 100) {
		hand_forget(&h);
		answer_init(HAND_TAG, params, sizeof(params));
		hand_begin(&h, h.peer_tag);
		hand_chunk(&h, IW_SCTP_ERROR, 0, "\0\3\0\10\0\0\0\1", 8);
		hand_send(&h);
		inits++;
	}
	assert_int_equal(iw_sctp_assoc_state(h.n.a.a), IW_SCTP_CLOSED);
	assert_int_equal(iw_sctp_why(h.n.a.a)->err, IW_E_TIMEOUT);
	assert_int_equal(inits, 1 + 9); /* Max.Init.Retransmits is 8 */
	hand_close(&h);
}

/*
 * SX-07: an unacceptable INIT ACK ends the attempt, with an ABORT that has the cause. SX-14:
 * SHUTDOWN ACK before the association is established.
 */
static void an_unacceptable_init_ack_gets_abort(void **state)
{
	static const uint8_t no_cookie[] = { 0xc0, 6, 0, 8, 0, 0, 0, 1 };
	static const uint8_t named[] = { 0xc0, 6, 0, 8, 0, 0,  0, 1, 0,   7, 0, 8,
					 1,    2, 3, 4, 0, 11, 0, 8, 'h', 0, 0, 0 };
	static const uint8_t broken[] = { 0xc0, 6, 0, 8, 0, 0, 0, 1, 0, 7, 0, 9, 1, 2, 3, 4 };
	struct iw_sctp_chunk c;

	(void)state;
	open_called();
	answer_init(HAND_TAG, no_cookie, sizeof(no_cookie));
	c = hand_expect(&h, IW_SCTP_ABORT, HAND_TAG);
	assert_int_equal(cause_of(&c), IW_SCTP_CAUSE_MISSING_PARAM);
	hand_close(&h);
	open_called();
	answer_init(HAND_TAG, named, sizeof(named));
	c = hand_expect(&h, IW_SCTP_ABORT, HAND_TAG);
	assert_int_equal(cause_of(&c), IW_SCTP_CAUSE_ADDRESS);
	hand_close(&h);
	open_called();
	answer_init(HAND_TAG, broken, sizeof(broken));
	c = hand_expect(&h, IW_SCTP_ABORT, HAND_TAG);
	assert_int_equal(cause_of(&c), IW_SCTP_CAUSE_PROTOCOL);
	hand_close(&h);
	open_called();
	hand_begin(&h, h.peer_tag);
	hand_chunk(&h, IW_SCTP_SHUTDOWN_ACK, 0, NULL, 0);
	hand_send(&h);
	assert_int_equal(hand_expect(&h, IW_SCTP_SHUTDOWN_COMPLETE, h.peer_tag).flags, IW_SCTP_T);
	assert_int_equal(iw_sctp_assoc_state(h.n.a.a), IW_SCTP_COOKIE_WAIT);
	hand_close(&h);
}

static void cookie_ack(void)
{
	hand_cookie_ack(&h);
}

/* SX-13: the initiator uses the streams that the INIT ACK grants. */
static void the_initiator_keeps_to_the_streams_of_the_init_ack(void **state)
{
	struct iw_sctp_init i;
	struct iw_sctp_facts f;

	(void)state;
	open_called();
	i = hand_init(&h);
	i.os = 3;
	i.mis = 5;
	i.params = hand_with_cookie;
	i.params_len = sizeof(hand_with_cookie);
	hand_begin(&h, h.peer_tag);
	hand_init_chunk(&h, IW_SCTP_INIT_ACK, &i);
	hand_send(&h);
	cookie_ack();
	assert_int_equal(iw_sctp_assoc_state(h.n.a.a), IW_SCTP_ESTABLISHED);
	iw_sctp_facts(h.n.a.a, &f);
	assert_int_equal(f.streams_out, 5);
	assert_int_equal(f.streams_in, 3);
	hand_close(&h);
}

/* SX-33: both ends connect at the same time: one association, whichever packets are lost. */
static void simultaneous_inits_make_one_association(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 200; seed++) {
		struct net n;

		net_init(&n, seed);
		n.a.cfg.listen = true;
		n.ab.loss = n.ba.loss = seed % 3 ? 0 : 200;
		n.ab.jitter = n.ba.jitter = IW_MSEC(30);
		net_start(&n);
		net_connect(&n);
		net_run(&n, n.now + (seed * IW_MSEC(1)) % IW_MSEC(40));
		if (net_has_event(&n.b, IW_SCTP_EV_UP) ||
		    iw_sctp_connect(n.b.s, &n.b.a, &n.a.addr[0], NET_PORT_A, NULL, n.now) ==
			    IW_E_BUSY) {
			net_free(&n);
			continue;
		}
		net_run(&n, n.now + IW_SEC(20));
		assert_int_equal(iw_sctp_assoc_state(n.a.a), IW_SCTP_ESTABLISHED);
		assert_int_equal(iw_sctp_assoc_state(n.b.a), IW_SCTP_ESTABLISHED);
		assert_false(net_has_event(&n.a, IW_SCTP_EV_DOWN));
		assert_false(net_has_event(&n.b, IW_SCTP_EV_DOWN));
		net_free(&n);
	}
}

/* SX-33, action D: our COOKIE ACK was lost. */
static void a_repeated_cookie_echo_gets_another_cookie_ack(void **state)
{
	struct iw_sctp_chunk c;
	struct iw_sctp_param cookie;
	struct iw_sctp_assoc *a;
	uint8_t copy[1024];
	size_t len;

	(void)state;
	open_hand();
	send_init(hand_init(&h));
	c = hand_expect(&h, IW_SCTP_INIT_ACK, HAND_TAG);
	cookie = hand_read_init_ack(&h, &c);
	len = cookie.value_len;
	memcpy(copy, cookie.value, len);
	echo(h.peer_tag, copy, len);
	a = h.n.b.a;
	assert_true(hand_wait(&h, IW_SCTP_COOKIE_ACK, 0, &c));
	hand_forget(&h);
	h.n.now += IW_SEC(100); /* stale by now, which is ignored if both tags match */
	echo(h.peer_tag, copy, len);
	assert_true(hand_wait(&h, IW_SCTP_COOKIE_ACK, 0, &c));
	assert_ptr_equal(h.n.b.a, a);
	assert_int_equal(h.n.b.nevents, 1);
	hand_close(&h);
}

/* SX-33, action A: the peer restarts: the old association ends, and a new one is established. */
static void a_peer_that_restarted_gets_a_new_association(void **state)
{
	struct iw_sctp_assoc *old;

	(void)state;
	open_hand();
	hand_up(&h);
	old = h.n.b.a;
	h.tag = 0x22222222;
	h.tsn = 5000;
	hand_up(&h);
	assert_ptr_not_equal(h.n.b.a, old);
	assert_int_equal(iw_sctp_assoc_state(old), IW_SCTP_CLOSED);
	assert_int_equal(iw_sctp_why(old)->err, IW_E_CLOSED);
	assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_ESTABLISHED);
	hand_begin(&h, h.peer_tag);
	hand_data(&h, 7, 5000, 1, "x", 1);
	hand_send(&h);
	assert_int_equal(h.n.b.messages, 1);
	hand_close(&h);
}

/* SX-33: RFC 9260 5.1.2: a COOKIE ECHO is matched with the addresses that the INIT listed. */
static void a_restart_from_an_address_not_listed_is_dropped(void **state)
{
	struct iw_sctp_addr listed;
	struct iw_sctp_assoc *old;
	uint8_t copy[1024];
	size_t len;

	(void)state;
	open_hand();
	hand_up(&h);
	old = h.n.b.a;
	h.tag = 0x22222222;
	len = get_cookie(copy);
	listed = h.src;
	h.src = net_addr(50);
	echo(h.peer_tag, copy, len);
	hand_expect_nothing(&h);
	assert_int_equal(iw_sctp_assoc_state(old), IW_SCTP_ESTABLISHED);
	assert_false(net_has_event(&h.n.b, IW_SCTP_EV_DOWN));
	h.src = listed;
	echo(h.peer_tag, copy, len);
	assert_int_equal(iw_sctp_assoc_state(old), IW_SCTP_CLOSED);
	assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_ESTABLISHED);
	hand_close(&h);
}

/* SX-11: until the first key changes there is no previous key that a peer could guess. */
static void a_cookie_sealed_with_the_key_before_the_first_is_dropped(void **state)
{
	static const uint8_t no_key[SIP_KEY_LEN];
	uint8_t copy[1024];
	size_t len;

	(void)state;
	open_hand();
	len = get_cookie(copy);
	copy[SIP_MAC_LEN]--; /* the number of the key */
	iw_sctp_siphash(copy, no_key, copy + SIP_MAC_LEN, len - SIP_MAC_LEN);
	echo(h.peer_tag, copy, len);
	assert_null(h.n.b.a);
	hand_expect_nothing(&h);
	hand_close(&h);
}

/* SX-04: reports that do not fit are omitted, since the INIT ACK must arrive. */
static void reports_that_do_not_fit_are_left_out_of_the_init_ack(void **state)
{
	uint8_t params[8 + 60 * 8];
	struct iw_sctp_init i;
	struct iw_sctp_chunk c;
	uint32_t tag;

	(void)state;
	hand_open(&h);
	h.n.b.cfg.mtu = 576;
	net_start(&h.n);
	memset(params, 0, sizeof(params));
	memcpy(params, hand_adaptation, 8);
	for (unsigned k = 0; k < 60; k++) {
		iw_put_be16(params + 8 + 8 * k, (uint16_t)(0xc100 + k));
		iw_put_be16(params + 8 + 8 * k + 2, 8);
	}
	i = hand_init(&h);
	i.params = params;
	i.params_len = sizeof(params);
	send_init(i);
	c = hand_expect(&h, IW_SCTP_INIT_ACK, HAND_TAG);
	assert_in_range(IW_SCTP_HDR_LEN + c.len, 576 - 20 - 12, 576 - 20);
	tag = h.peer_tag;
	hand_read_init_ack(&h, &c);
	assert_int_not_equal(h.peer_tag, tag);
	hand_close(&h);
}

/* SX-33: an INIT alone changes nothing. */
static void an_init_alone_leaves_the_association_as_it_is(void **state)
{
	struct iw_sctp_chunk c;
	uint32_t tag;

	(void)state;
	open_hand();
	hand_up(&h);
	tag = h.peer_tag;
	h.tag = 0x22222222;
	send_init(hand_init(&h));
	c = hand_expect(&h, IW_SCTP_INIT_ACK, 0x22222222);
	hand_read_init_ack(&h, &c);
	assert_int_not_equal(h.peer_tag, tag); /* 5.2.2: a new tag */
	hand_begin(&h, tag);
	hand_data(&h, 7, HAND_TSN, 1, "x", 1);
	hand_send(&h);
	assert_int_equal(h.n.b.messages, 1);
	hand_close(&h);
}

/* SX-33, not in table 12: the peer's tag matches and ours does not, as after a repeated INIT. */
static void a_cookie_with_the_old_tag_of_the_peer_and_a_new_one_of_ours_is_dropped(void **state)
{
	struct iw_sctp_assoc *a;
	uint8_t copy[1024];
	size_t len;
	uint32_t tag;

	(void)state;
	open_hand();
	hand_up(&h);
	a = h.n.b.a;
	tag = h.peer_tag;
	len = get_cookie(copy); /* with the right tie-tags */
	assert_int_not_equal(h.peer_tag, tag);
	echo(h.peer_tag, copy, len);
	hand_expect_nothing(&h);
	assert_ptr_equal(h.n.b.a, a);
	assert_int_equal(iw_sctp_assoc_state(a), IW_SCTP_ESTABLISHED);
	assert_int_equal(h.n.b.nevents, 1);
	hand_close(&h);
}

/*
 * SX-33, action C: two INITs with one tag. The later cookie has no tie-tags, since there was no
 * association.
 */
static void a_late_cookie_without_tie_tags_is_dropped(void **state)
{
	uint8_t first[1024], second[1024];
	struct iw_sctp_assoc *a;
	size_t len[2];
	uint32_t tag;

	(void)state;
	open_hand();
	len[0] = get_cookie(first);
	tag = h.peer_tag;
	len[1] = get_cookie(second);
	echo(tag, first, len[0]);
	a = h.n.b.a;
	assert_int_equal(iw_sctp_assoc_state(a), IW_SCTP_ESTABLISHED);
	hand_forget(&h);
	echo(h.peer_tag, second, len[1]);
	assert_ptr_equal(h.n.b.a, a);
	assert_int_equal(iw_sctp_assoc_state(a), IW_SCTP_ESTABLISHED);
	assert_int_equal(h.n.b.nevents, 1);
	/*
	 * The same with another tag of the peer: it has no tie-tags either, so this is no restart.
	 */
	hand_close(&h);
	open_hand();
	len[0] = get_cookie(first);
	tag = h.peer_tag;
	h.tag = 0x22222222;
	len[1] = get_cookie(second);
	echo(tag, first, len[0]);
	a = h.n.b.a;
	hand_forget(&h);
	echo(h.peer_tag, second, len[1]);
	assert_ptr_equal(h.n.b.a, a);
	assert_int_equal(iw_sctp_assoc_state(a), IW_SCTP_ESTABLISHED);
	hand_close(&h);
}

/*
 * a has connected and is established; the peer's tag is 0x22222222. The cookie is for an earlier
 * INIT of the peer with HAND_TAG.
 */
static size_t open_with_crossing_cookie(uint8_t *cookie)
{
	const uint32_t before = 0x22222222;
	struct iw_sctp_facts f;
	size_t len;

	hand_open(&h);
	h.n.a.cfg.listen = true;
	h.e = &h.n.a;
	h.src = h.n.b.addr[0];
	h.port = NET_PORT_B;
	net_start(&h.n);
	net_connect(&h.n);
	net_run(&h.n, h.n.now);
	hand_forget(&h);
	len = get_cookie(cookie);
	answer_init(before, hand_with_cookie, sizeof(hand_with_cookie));
	cookie_ack();
	iw_sctp_facts(h.n.a.a, &f);
	assert_int_equal(f.peer_tag, before);
	return len;
}

/*
 * SX-33, action B: our tag matches. The peer's tag is new: the peer chose it after it had answered
 * our INIT. The association stays up with the new tag. used: DATA has arrived meanwhile.
 */
static void cookie_with_our_tag(bool used)
{
	struct iw_sctp_facts f;
	struct iw_sctp_chunk c;
	uint8_t copy[1024];
	size_t len;

	len = open_with_crossing_cookie(copy);
	for (uint32_t i = 0; i < 2; i++) {
		if (i > 0) {
			hand_forget(&h);
			echo(h.peer_tag, copy, len);
			assert_true(hand_wait(&h, IW_SCTP_COOKIE_ACK, 0, &c));
		} else if (!used) {
			continue;
		}
		hand_begin(&h, h.peer_tag);
		hand_data(&h, 7, h.tsn++, 0, "x", 1);
		hand_send(&h);
	}
	iw_sctp_facts(h.n.a.a, &f);
	assert_int_equal(f.peer_tag, HAND_TAG);
	assert_int_equal(iw_sctp_assoc_state(h.n.a.a), IW_SCTP_ESTABLISHED);
	assert_int_equal(h.n.a.messages, used ? 2 : 1);
	assert_false(net_has_event(&h.n.a, IW_SCTP_EV_DOWN));
	hand_close(&h);
}

/* SX-33 */
static void a_cookie_with_our_tag_sets_the_peers_new_one(void **state)
{
	(void)state;
	cookie_with_our_tag(false);
	cookie_with_our_tag(true);
}

/* SX-33, action B: the first DATA has allocated memory, but was dropped for lack of memory. */
static void a_cookie_with_our_tag_frees_what_received_no_data(void **state)
{
	struct iw_sctp_facts f;
	uint8_t copy[1024];
	size_t len;

	(void)state;
	len = open_with_crossing_cookie(copy);
	/* There is memory for the array of fragments, but not for the fragment. */
	h.n.a.mem.fail_from = h.n.a.mem.calls + 2;
	hand_say_data(&h, IW_SCTP_DATA_U | IW_SCTP_DATA_B, h.tsn, 0, "x");
	h.n.a.mem.fail_from = 0;
	assert_non_null(h.n.a.a->in.fragment);
	echo(h.peer_tag, copy, len);
	iw_sctp_facts(h.n.a.a, &f);
	assert_int_equal(f.peer_tag, HAND_TAG);
	assert_null(h.n.a.a->in.fragment);
	hand_close(&h);
}

/* SX-33: a restart with new addresses is refused with cause 11, which lists them. */
static void a_restart_with_new_addresses_is_refused(void **state)
{
	static const uint8_t params[] = { 0xc0, 6, 0, 8, 0, 0, 0, 1, 0, 5, 0, 8, 192, 0, 2, 50 };
	struct iw_sctp_init i;
	struct iw_sctp_chunk c;

	(void)state;
	open_hand();
	hand_up(&h);
	h.tag = 0x22222222;
	i = hand_init(&h);
	i.params = params;
	i.params_len = sizeof(params);
	send_init(i);
	c = hand_expect(&h, IW_SCTP_ABORT, 0x22222222);
	assert_int_equal(cause_of(&c), IW_SCTP_CAUSE_RESTART_ADDRESS);
	assert_int_equal(c.value_len, 4 + 8);
	assert_memory_equal(c.value + 4, params + 8, 8);
	assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_ESTABLISHED);
	hand_close(&h);
}

/* RFC 9260 5.1: an endpoint that does not listen. */
static void missing_listener_is_reported_as_refused(void **state)
{
	(void)state;
	hand_open(&h);
	h.n.b.cfg.listen = false;
	net_start(&h.n);
	send_init(hand_init(&h));
	assert_int_equal(hand_expect(&h, IW_SCTP_ABORT, HAND_TAG).flags, 0);
	hand_close(&h);
}

static void more_associations_than_allowed_are_refused_for_lack_of_resources(void **state)
{
	struct iw_sctp_chunk c;
	struct iw_sctp_param cookie;

	(void)state;
	hand_open(&h);
	h.n.b.cfg.assocs_max = 1;
	net_start(&h.n);
	hand_up(&h);
	h.port++;
	send_init(hand_init(&h));
	c = hand_expect(&h, IW_SCTP_INIT_ACK, HAND_TAG);
	cookie = hand_read_init_ack(&h, &c);
	echo(h.peer_tag, cookie.value, cookie.value_len);
	c = hand_expect(&h, IW_SCTP_ABORT, HAND_TAG);
	assert_int_equal(cause_of(&c), IW_SCTP_CAUSE_RESOURCE);
	hand_close(&h);
}

/* The first packet that a sent: its INIT. */
static uint8_t first_packet[64];

static bool keep_first(struct net *n, struct net_end *from, uint8_t *data, size_t len)
{
	if (from == &n->a && first_packet[0] == 0)
		memcpy(first_packet, data, IW_MIN(len, sizeof(first_packet)));
	return from != &n->a;
}

static enum iw_sctp_state after_icmp(struct net *n, const uint8_t *head, size_t len)
{
	iw_sctp_unreachable(n->a.s, &n->b.addr[0], head, len, n->now);
	net_run(n, n->now);
	return iw_sctp_assoc_state(n->a.a);
}

/* RFC 9260 10, ICMP6, ICMP8: the proof for an INIT is its Initiate Tag, in 20 octets. */
static void icmp_unreachable_ends_a_set_up_when_it_quotes_our_init(void **state)
{
	struct net n;
	uint8_t wrong[64];

	(void)state;
	memset(first_packet, 0, sizeof(first_packet));
	net_init(&n, 4);
	n.tap = keep_first;
	net_start(&n);
	net_connect(&n);
	net_run(&n, n.now);
	for (size_t len = 0; len < 20; len++)
		assert_int_equal(after_icmp(&n, first_packet, len), IW_SCTP_COOKIE_WAIT);
	memcpy(wrong, first_packet, sizeof(wrong));
	wrong[19] ^= 1; /* another Initiate Tag */
	assert_int_equal(after_icmp(&n, wrong, 64), IW_SCTP_COOKIE_WAIT);
	memcpy(wrong, first_packet, sizeof(wrong));
	wrong[12] = IW_SCTP_DATA;
	assert_int_equal(after_icmp(&n, wrong, 64), IW_SCTP_COOKIE_WAIT);
	memcpy(wrong, first_packet, sizeof(wrong));
	wrong[3] ^= 1; /* to another port */
	assert_int_equal(after_icmp(&n, wrong, 64), IW_SCTP_COOKIE_WAIT);
	assert_int_equal(after_icmp(&n, first_packet, 20), IW_SCTP_CLOSED);
	assert_int_equal(iw_sctp_why(n.a.a)->err, IW_E_CLOSED);
	net_free(&n);
}

/* RFC 9260 10, ICMP8: like an ABORT, but only with the Verification Tag. */
static void icmp_unreachable_ends_an_association_whose_tag_it_quotes(void **state)
{
	struct net n;
	struct iw_sctp_facts f;
	uint8_t head[20] = { NET_PORT_A >> 8, NET_PORT_A & 0xff, NET_PORT_B >> 8,
			     NET_PORT_B & 0xff, [12] = IW_SCTP_INIT };

	(void)state;
	net_init(&n, 4);
	net_start(&n);
	assert_true(net_up(&n));
	iw_sctp_facts(n.a.a, &f);
	/* A quoted INIT ends the association only in COOKIE-WAIT. */
	iw_put_be32(head + 16, f.tag);
	assert_int_equal(after_icmp(&n, head, 20), IW_SCTP_ESTABLISHED);
	iw_put_be32(head + 4, f.tag);
	assert_int_equal(after_icmp(&n, head, 20), IW_SCTP_ESTABLISHED);
	iw_put_be32(head + 4, f.peer_tag ^ 1);
	assert_int_equal(after_icmp(&n, head, 20), IW_SCTP_ESTABLISHED);
	iw_put_be32(head + 4, f.peer_tag);
	assert_int_equal(after_icmp(&n, head, 7), IW_SCTP_ESTABLISHED);
	assert_int_equal(after_icmp(&n, head, 8), IW_SCTP_CLOSED);
	assert_int_equal(iw_sctp_why(n.a.a)->err, IW_E_CLOSED);
	assert_true(net_has_event(&n.a, IW_SCTP_EV_DOWN));
	net_free(&n);
}

/* Whichever allocation of a set-up fails, nothing leaks, and a later attempt succeeds. */
static void a_set_up_survives_each_failed_allocation(void **state)
{
	(void)state;
	for (size_t fail = 1; fail < 12; fail++) {
		struct iw_sctp_assoc *a;
		struct net n;

		net_init(&n, 4);
		net_start(&n);
		n.a.mem.calls = n.b.mem.calls = 0;
		n.a.mem.fail_from = n.b.mem.fail_from = fail;
		if (iw_sctp_connect(n.a.s, &a, &n.b.addr[0], NET_PORT_B, NULL, n.now) == 0)
			net_run(&n, n.now + IW_MSEC(500));
		n.a.mem.fail_from = n.b.mem.fail_from = 0;
		net_run(&n, n.now + IW_SEC(5));
		net_free(&n);
	}
}

/* Whichever allocation of an endpoint fails, it is not created, and nothing leaks. */
static void an_endpoint_without_memory_is_not_created(void **state)
{
	size_t fail = 0;
	int err;

	(void)state;
	do {
		struct iw_fault why = { 0 };
		struct iw_sctp *s;
		struct net n;

		net_init(&n, 4);
		n.a.mem.fail_from = ++fail;
		err = iw_sctp_new(&s, &n.a.cfg, &why);
		assert_int_equal(why.err, err);
		iw_sctp_free(s);
		assert_int_equal(n.a.mem.blocks, 0);
	} while (err == IW_E_NOMEM);
	assert_int_equal(err, 0);
	assert_true(fail > 4);
}

/*
 * RFC 9260 6.4, 9.2: SHUTDOWN is sent to the addresses in turn, even if the peer sends from one of
 * them all the time.
 */
static void shutdown_is_sent_to_the_addresses_in_turn(void **state)
{
	struct net n;

	(void)state;
	net_init(&n, 3);
	n.a.naddrs = 2;
	n.a.lists = true;
	n.a.addr[0] = net_addr(10);
	n.a.addr[1] = net_addr(11);
	n.a.cfg.times.hb_interval = IW_MSEC(200);
	net_start(&n);
	assert_true(net_up(&n));
	net_run(&n, n.now + IW_SEC(5));
	n.a.dead = 1u << 1;
	n.ba.cut = true;
	iw_sctp_shutdown(n.b.a, n.now);
	net_run(&n, n.now + IW_MSEC(1));
	n.ba.cut = false;
	net_run(&n, n.now + IW_SEC(20));
	assert_true(net_has_event(&n.a, IW_SCTP_EV_DOWN));
	assert_true(net_has_event(&n.b, IW_SCTP_EV_DOWN));
	net_free(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_init_is_answered_and_forgotten),
		cmocka_unit_test(a_flood_of_inits_is_answered_up_to_the_size_of_the_ring),
		cmocka_unit_test(an_init_without_window_or_streams_gets_abort),
		cmocka_unit_test(an_init_is_sent_alone_with_tag_0),
		cmocka_unit_test(a_bad_checksum_and_port_0_are_dropped_in_silence),
		cmocka_unit_test(a_cookie_that_is_not_ours_is_dropped_in_silence),
		cmocka_unit_test(a_stale_cookie_is_reported),
		cmocka_unit_test(a_cookie_sealed_with_the_key_before_the_first_is_dropped),
		cmocka_unit_test(data_after_the_cookie_is_accepted_and_acknowledged_at_once),
		cmocka_unit_test(streams_are_the_lesser_of_both_requests),
		cmocka_unit_test(both_directions_get_the_same_number_of_streams),
		cmocka_unit_test(the_initiator_keeps_to_the_streams_of_the_init_ack),
		cmocka_unit_test(
			a_cookie_with_the_old_tag_of_the_peer_and_a_new_one_of_ours_is_dropped),
		cmocka_unit_test(a_late_cookie_without_tie_tags_is_dropped),
		cmocka_unit_test(a_cookie_with_our_tag_sets_the_peers_new_one),
		cmocka_unit_test(an_init_without_answer_fails_after_eight_repeats),
		cmocka_unit_test(a_cookie_echo_without_answer_is_repeated_too),
		cmocka_unit_test(both_see_the_adaptation_indication),
		cmocka_unit_test(an_adaptation_that_is_not_ours_is_refused),
		cmocka_unit_test(unknown_parameters_are_handled_by_their_top_bits),
		cmocka_unit_test(the_inits_of_other_stacks_are_answered),
		cmocka_unit_test(unknown_parameters_of_an_init_ack_are_reported_with_the_cookie),
		cmocka_unit_test(a_peer_that_finds_every_cookie_stale_ends_the_set_up),
		cmocka_unit_test(an_unacceptable_init_ack_gets_abort),
		cmocka_unit_test(simultaneous_inits_make_one_association),
		cmocka_unit_test(a_repeated_cookie_echo_gets_another_cookie_ack),
		cmocka_unit_test(a_peer_that_restarted_gets_a_new_association),
		cmocka_unit_test(a_restart_from_an_address_not_listed_is_dropped),
		cmocka_unit_test(reports_that_do_not_fit_are_left_out_of_the_init_ack),
		cmocka_unit_test(an_init_alone_leaves_the_association_as_it_is),
		cmocka_unit_test(a_cookie_with_our_tag_frees_what_received_no_data),
		cmocka_unit_test(a_restart_with_new_addresses_is_refused),
		cmocka_unit_test(missing_listener_is_reported_as_refused),
		cmocka_unit_test(more_associations_than_allowed_are_refused_for_lack_of_resources),
		cmocka_unit_test(icmp_unreachable_ends_a_set_up_when_it_quotes_our_init),
		cmocka_unit_test(icmp_unreachable_ends_an_association_whose_tag_it_quotes),
		cmocka_unit_test(an_endpoint_without_memory_is_not_created),
		cmocka_unit_test(a_set_up_survives_each_failed_allocation),
		cmocka_unit_test(shutdown_is_sent_to_the_addresses_in_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
