// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Received packets: their association, the chunks that each state accepts, several addresses,
 * heartbeats, shutdown.
 */
#include "sctp/sctp.h"

#include <stdlib.h>

#include "unit/sctp_hand.h"

static struct hand h;

static void open_up(void)
{
	hand_open(&h);
	net_start(&h.n);
	hand_up(&h);
}

static void say(uint32_t vtag, uint8_t type, uint8_t flags, const void *value, size_t len)
{
	hand_say(&h, vtag, type, flags, value, len);
}

/* SX-15: the rules of RFC 9260 8.4, in that order. */
static void packets_out_of_the_blue_get_what_the_rfc_says(void **state)
{
	static const uint8_t stale[] = { 0, 3, 0, 8, 0, 0, 0, 1 },
			     other[] = { 0, 9, 0, 8, 0, 0, 0, 1 };
	static const struct {
		uint8_t type;
		const void *value;
		size_t len;
		int answer; /* -1: no answer */
	} rows[] = {
		{ IW_SCTP_ABORT, NULL, 0, -1 },
		{ IW_SCTP_SHUTDOWN_ACK, NULL, 0, IW_SCTP_SHUTDOWN_COMPLETE },
		{ IW_SCTP_SHUTDOWN_COMPLETE, NULL, 0, -1 },
		{ IW_SCTP_COOKIE_ACK, NULL, 0, -1 },
		{ IW_SCTP_ERROR, stale, 8, -1 },
		{ IW_SCTP_ERROR, other, 8, IW_SCTP_ABORT },
		{ IW_SCTP_SACK, "123456789012", 12, IW_SCTP_ABORT },
		{ IW_SCTP_HEARTBEAT, other, 8, IW_SCTP_ABORT },
		{ IW_SCTP_DATA, "123456789012x", 13, IW_SCTP_ABORT },
		{ IW_SCTP_INIT_ACK, "1234567890123456", 16, IW_SCTP_ABORT },
		{ 0x3f, NULL, 0, IW_SCTP_ABORT },
	};

	(void)state;
	hand_open(&h);
	net_start(&h.n);
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		say(0xabcd, rows[i].type, 0, rows[i].value, rows[i].len);
		if (rows[i].answer < 0)
			hand_expect_nothing(&h);
		else
			assert_int_equal(hand_expect(&h, (uint8_t)rows[i].answer, 0xabcd).flags,
					 IW_SCTP_T);
	}
	/* SX-26: an ABORT anywhere in the packet: no answer. */
	hand_begin(&h, 0xabcd);
	hand_chunk(&h, IW_SCTP_SACK, 0, "123456789012", 12);
	hand_chunk(&h, IW_SCTP_ABORT, 0, NULL, 0);
	hand_send(&h);
	hand_expect_nothing(&h);
	/* A multicast source. */
	h.src = net_addr(0);
	h.src.ip[12] = 224;
	say(0xabcd, IW_SCTP_SACK, 0, "123456789012", 12);
	hand_expect_nothing(&h);
	hand_close(&h);
}

/* Asserts that the latest answer has the ports of the packet, exchanged. */
static void answered_from(uint16_t port)
{
	const struct caught *c = &h.caught[(h.taken - 1) % CAUGHT];

	assert_int_equal(iw_get_be16(c->data), port);
	assert_int_equal(iw_get_be16(c->data + 2), h.port);
}

/* SX-15: another port of ours, without an endpoint. */
static void a_packet_to_another_port_is_out_of_the_blue(void **state)
{
	(void)state;
	open_up();
	hand_begin(&h, h.peer_tag);
	iw_put_be16(h.out + 2, 9);
	hand_chunk(&h, IW_SCTP_SHUTDOWN_ACK, 0, NULL, 0);
	hand_send(&h);
	hand_expect(&h, IW_SCTP_SHUTDOWN_COMPLETE, h.peer_tag);
	answered_from(9);
	assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_ESTABLISHED);
	hand_close(&h);
}

static void init_to(uint16_t port, bool alone)
{
	struct iw_sctp_init i = hand_init(&h);

	hand_begin(&h, 0);
	iw_put_be16(h.out + 2, port);
	hand_init_chunk(&h, IW_SCTP_INIT, &i);
	if (!alone)
		hand_chunk(&h, IW_SCTP_COOKIE_ACK, 0, NULL, 0);
	hand_send(&h);
}

/* SX-15: RFC 9260 8.4 (3): ABORT with the Initiate Tag, without T bit; SX-14: an INIT is alone. */
static void an_init_to_a_port_without_a_listener_gets_abort(void **state)
{
	size_t before;

	(void)state;
	hand_open(&h);
	net_start(&h.n);
	before = h.n.b.mem.blocks;
	init_to(9, true);
	assert_int_equal(hand_expect(&h, IW_SCTP_ABORT, HAND_TAG).flags, 0);
	answered_from(9);
	init_to(9, false);
	hand_expect_nothing(&h);
	assert_int_equal(h.n.b.mem.blocks, before);
	hand_close(&h);
	/* The same for the own port of an endpoint that does not listen. */
	hand_open(&h);
	h.n.b.cfg.listen = false;
	net_start(&h.n);
	init_to(h.e->cfg.port, true);
	assert_int_equal(hand_expect(&h, IW_SCTP_ABORT, HAND_TAG).flags, 0);
	hand_close(&h);
}

/* A scan of all ports gets a burst of answers, then one in each millisecond. */
static void packets_out_of_the_blue_are_answered_at_a_limited_rate(void **state)
{
	unsigned answers;

	(void)state;
	hand_open(&h);
	net_start(&h.n);
	for (unsigned i = 0; i < 1000; i++)
		init_to((uint16_t)(9 + i % 90), true);
	answers = h.ncaught;
	assert_in_range(answers, 90, 110);
	h.n.now += IW_MSEC(10);
	for (unsigned i = 0; i < 100; i++)
		say(0xabcd, IW_SCTP_SACK, 0, "123456789012", 12);
	assert_in_range(h.ncaught - answers, 9, 11);
	/* A set-up is not delayed. */
	hand_forget(&h);
	hand_up(&h);
	assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_ESTABLISHED);
	hand_close(&h);
}

/* SX-14: only our tag is right; ABORT and its T bit. */
static void a_wrong_tag_is_dropped_in_silence(void **state)
{
	(void)state;
	open_up();
	hand_begin(&h, h.peer_tag ^ 1);
	hand_data(&h, 7, HAND_TSN, 0, "x", 1);
	hand_send(&h);
	hand_expect_nothing(&h);
	assert_int_equal(h.n.b.messages, 0);
	/* A packet with the right tag from another port does not belong to the association. */
	h.port++;
	hand_begin(&h, h.peer_tag);
	hand_data(&h, 7, HAND_TSN, 0, "x", 1);
	hand_send(&h);
	hand_expect(&h, IW_SCTP_ABORT, h.peer_tag);
	assert_int_equal(h.n.b.messages, 0);
	h.port--;
	say(h.peer_tag ^ 1, IW_SCTP_ABORT, 0, NULL, 0);
	say(HAND_TAG, IW_SCTP_ABORT, 0, NULL, 0);
	say(h.peer_tag, IW_SCTP_ABORT, IW_SCTP_T, NULL, 0);
	say(HAND_TAG ^ 1, IW_SCTP_ABORT, IW_SCTP_T, NULL, 0);
	assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_ESTABLISHED);
	say(HAND_TAG, IW_SCTP_ABORT, IW_SCTP_T, NULL, 0);
	assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_CLOSED);
	hand_expect_nothing(&h);
	hand_close(&h);
}

/* SX-26: an ABORT is not answered, and the peer's reason is reported. */
static void an_abort_ends_the_association_with_the_reason_of_the_peer(void **state)
{
	static const uint8_t cause[] = { 0, 12, 0, 9, 't', 'i', 'r', 'e', 'd' };

	(void)state;
	open_up();
	say(h.peer_tag, IW_SCTP_ABORT, 0, cause, sizeof(cause));
	hand_expect_nothing(&h);
	assert_int_equal(iw_sctp_why(h.n.b.a)->err, IW_E_CLOSED);
	assert_true(iw_sctp_why(h.n.b.a)->from_peer);
	assert_non_null(strstr(iw_sctp_why(h.n.b.a)->text, "user-initiated abort, tired"));
	hand_close(&h);
}

/* SX-26: our ABORT: cause 12 with the reason, the peer's tag, no DATA; the association is gone. */
static void aborting_sends_the_reason_to_the_peer(void **state)
{
	struct iw_sctp_chunk c;

	(void)state;
	open_up();
	iw_sctp_abort(h.n.b.a, "enough", h.n.now);
	net_run(&h.n, h.n.now);
	c = hand_expect(&h, IW_SCTP_ABORT, HAND_TAG);
	assert_int_equal(c.flags, 0);
	assert_int_equal(cause_of(&c), IW_SCTP_CAUSE_USER);
	assert_memory_equal(c.value + 4, "enough", 6);
	assert_true(net_has_event(&h.n.b, IW_SCTP_EV_DOWN));
	hand_begin(&h, h.peer_tag);
	hand_data(&h, 7, HAND_TSN, 0, "x", 1);
	hand_send(&h);
	hand_expect(&h, IW_SCTP_ABORT, h.peer_tag);
	hand_close(&h);
}

/* SX-04: unknown chunks. */
static void unknown_chunks_are_handled_by_their_top_bits(void **state)
{
	static const struct {
		uint8_t type;
		bool goes_on, reported;
	} rows[] = {
		{ 0x3e, false, false }, { 0x7e, false, true },  { 0x82, true, false },
		{ 0xc1, true, true },   { 0x0c, false, false },
	};
	struct iw_sctp_chunk c;

	(void)state;
	open_up();
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		unsigned before = h.n.b.messages;

		hand_begin(&h, h.peer_tag);
		hand_chunk(&h, rows[i].type, 0, "what", 4);
		hand_data(&h, 7, HAND_TSN + (uint32_t)i, 0, "x", 1);
		hand_send(&h);
		assert_int_equal(h.n.b.messages - before, rows[i].goes_on);
		if (rows[i].reported) {
			assert_true(hand_wait(&h, IW_SCTP_ERROR, 0, &c));
			assert_int_equal(cause_of(&c), IW_SCTP_CAUSE_CHUNK);
			assert_int_equal(c.value[4], rows[i].type);
			assert_memory_equal(c.value + 8, "what", 4);
		}
		hand_forget(&h);
	}
	assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_ESTABLISHED);
	hand_close(&h);
}

/* SX-04: a long chunk is quoted from its type on, as far as the MTU permits. */
static void unknown_chunk_longer_than_the_mtu_is_reported(void **state)
{
	uint8_t what[2000];
	struct iw_sctp_chunk c;

	(void)state;
	for (size_t i = 0; i < sizeof(what); i++)
		what[i] = (uint8_t)i;
	for (unsigned udp = 0; udp < 2; udp++) {
		const size_t fits = 576 - 20 - 8 * udp;

		hand_open(&h);
		h.n.b.cfg.mtu = 576;
		h.src.udp_port = udp ? 9899 : 0;
		net_start(&h.n);
		hand_up(&h);
		for (size_t len = 500; len < sizeof(what); len += 100) {
			hand_say(&h, h.peer_tag, 0x7e, 0, what, len);
			assert_true(hand_wait(&h, IW_SCTP_ERROR, 0, &c));
			assert_int_equal(cause_of(&c), IW_SCTP_CAUSE_CHUNK);
			assert_int_equal(c.value_len, IW_MIN(len + 8, (fits - 12 - 4) & ~3u));
			assert_int_equal(c.value[4], 0x7e);
			assert_memory_equal(c.value + 8, what, c.value_len - 8u);
		}
		hand_close(&h);
	}
}

/* SX-25: RFC 9260 6.9: a packet above the MTU is sent with IP fragmentation. */
static void heartbeat_ack_larger_than_the_mtu_may_be_fragmented(void **state)
{
	uint8_t info[600] = { 0, 1 };
	struct iw_sctp_packet out;
	uint8_t buf[2048];

	(void)state;
	hand_open(&h);
	h.n.b.cfg.mtu = 576;
	net_start(&h.n);
	hand_up(&h);
	for (size_t len = 500; len <= sizeof(info); len += 4) {
		struct iw_sctp_packet p = { .peer = h.src, .local = h.n.b.addr[0], .data = h.out };
		struct iw_sctp_recv m;
		size_t n;

		iw_put_be16(info + 2, (uint16_t)len);
		hand_begin(&h, h.peer_tag);
		hand_chunk(&h, IW_SCTP_HEARTBEAT, 0, info, len);
		iw_put_le32(h.out + 8, iw_wire_sctp_checksum(h.out, h.len));
		p.len = h.len;
		iw_sctp_input(h.n.b.s, &p, h.n.now);
		assert_false(iw_sctp_next(h.n.b.s, &m));
		n = iw_sctp_output(h.n.b.s, buf, sizeof(buf), &out, h.n.now);
		if (h.len > 576) {
			assert_int_equal(n, 0);
			continue;
		}
		assert_int_equal(n, h.len);
		assert_int_equal(buf[IW_SCTP_HDR_LEN], IW_SCTP_HEARTBEAT_ACK);
		assert_int_equal(out.fragment, 20 + n > 576);
	}
	hand_close(&h);
}

/* SX-25: the parameter is returned unchanged to its source. */
static void a_heartbeat_is_echoed(void **state)
{
	uint8_t info[404] = { 0, 1, 1, 0x94, 1, 2, 3 };
	struct iw_sctp_chunk c;

	(void)state;
	open_up();
	say(h.peer_tag, IW_SCTP_HEARTBEAT, 0, info, sizeof(info));
	c = hand_expect(&h, IW_SCTP_HEARTBEAT_ACK, HAND_TAG);
	assert_int_equal(c.value_len, sizeof(info));
	assert_memory_equal(c.value, info, sizeof(info));
	hand_close(&h);
}

/* Truncated and malformed chunks are ignored or end the association, and never crash. */
static void malformed_chunks_are_skipped(void **state)
{
	(void)state;
	open_up();
	for (int type = 0; type < 256; type++) {
		if (type == IW_SCTP_DATA || type == IW_SCTP_ABORT)
			continue;
		for (size_t len = 0; len < 20; len++)
			say(h.peer_tag, (uint8_t)type, 0, "\0\1\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
			    len);
	}
	hand_begin(&h, h.peer_tag);
	hand_chunk(&h, IW_SCTP_SACK, 0, "1234", 4);
	h.out[15] = 200; /* longer than the packet */
	hand_send(&h);
	hand_close(&h);
}

/* --- several addresses ------------------------------------------------------------------------ */

/* Two addresses of the packets' family, one of the other, which is ignored, and a multicast one. */
static const uint8_t two_more[] = {
	0xc0, 6,    0, 8, 0,   0, 0, 1, /* adaptation */
	0,    5,    0, 8, 192, 0, 2, 50, 0, 5, 0, 8, 192, 0, 2, 52, 0, 6, 0,   20, 0x20, 1,
	13,   0xb8, 0, 0, 0,   0, 0, 0,  0, 0, 0, 0, 0,   1, 0, 5,  0, 8, 224, 0,  0,    1,
};

static void open_up_with_two_more(void)
{
	struct iw_sctp_init i;

	hand_open(&h);
	net_start(&h.n);
	i = hand_init(&h);
	i.params = two_more;
	i.params_len = sizeof(two_more);
	hand_up_with(&h, &i);
}

/*
 * SX-32: the listed addresses and the source, except multicast ones and those of the other family:
 * we list no address of that family, so we could not send from one.
 */
static void listed_addresses_are_recorded_and_taken(void **state)
{
	struct iw_sctp_facts f;
	struct iw_sctp_chunk c;
	struct iw_sctp_path p;

	(void)state;
	open_up_with_two_more();
	iw_sctp_facts(h.n.b.a, &f);
	assert_int_equal(f.paths, 3);
	assert_int_equal(iw_sctp_path(h.n.b.a, 3, &p), IW_E_INVAL);
	h.src = net_addr(50);
	hand_begin(&h, h.peer_tag);
	hand_data(&h, 7, HAND_TSN, 0, "x", 1);
	hand_send(&h);
	assert_int_equal(h.n.b.messages, 1);
	h.src = net_addr(51); /* not listed */
	hand_forget(&h);
	hand_begin(&h, h.peer_tag);
	hand_data(&h, 7, HAND_TSN + 1, 0, "x", 1);
	hand_send(&h);
	assert_int_equal(h.n.b.messages, 1);
	c = hand_expect(&h, IW_SCTP_ABORT, h.peer_tag);
	assert_int_equal(c.flags, IW_SCTP_T);
	hand_close(&h);
}

/* SX-34: an address listed in an INIT never blocks its real owner (RFC 5062 3, address camping). */
static void an_unverified_listed_address_does_not_block_its_owner(void **state)
{
	struct iw_sctp_assoc *camper;

	(void)state;
	open_up_with_two_more();
	camper = h.n.b.a;
	h.src = net_addr(50);
	h.tag = 0x33333333;
	h.tsn = 7;
	hand_up(&h);
	assert_ptr_not_equal(h.n.b.a, camper);
	assert_int_equal(iw_sctp_assoc_state(camper), IW_SCTP_ESTABLISHED);
	hand_begin(&h, h.peer_tag);
	hand_data(&h, 7, 7, 0, "x", 1);
	hand_send(&h);
	assert_int_equal(h.n.b.messages, 1);
	hand_close(&h);
}

/* A packet full of invalid chunks gets one answer. */
static void a_packet_full_of_unknown_chunks_gets_one_error(void **state)
{
	unsigned errors = 0;
	const struct caught *p;

	(void)state;
	open_up();
	hand_begin(&h, h.peer_tag);
	for (int i = 0; i < 300; i++)
		hand_chunk(&h, 0xc1, 0, NULL, 0);
	for (uint32_t i = 0; i < 20; i++)
		hand_data(&h, 7, HAND_TSN + i, 99, "x", 1);
	hand_send(&h);
	while ((p = hand_take(&h))) {
		struct iw_sctp_chunk c;

		errors += chunk_of(p, 0, &c) && c.type == IW_SCTP_ERROR;
	}
	assert_int_equal(errors, 1);
	hand_close(&h);
}

/* SX-34: unverified until a HEARTBEAT with its nonce was answered; forged answers are ignored. */
static void a_listed_address_is_verified_before_it_is_used(void **state)
{
	struct iw_sctp_path p;
	struct iw_sctp_chunk c;
	uint8_t copy[64];
	bool seen[3] = { 0 };

	(void)state;
	open_up_with_two_more();
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.state, IW_SCTP_PATH_ACTIVE);
	assert_int_equal(iw_sctp_path(h.n.b.a, 1, &p), 0);
	assert_false(p.confirmed);
	for (int i = 0; i < 10 && hand_wait(&h, IW_SCTP_HEARTBEAT, IW_SEC(2), &c); i++) {
		unsigned path = iw_get_be16(c.value + 4);

		if (path != 1 || iw_get_be16(c.value + 6))
			continue;
		seen[path] = true;
		memcpy(copy, c.value, c.value_len);
		copy[12] ^= 1;
		say(h.peer_tag, IW_SCTP_HEARTBEAT_ACK, 0, copy, c.value_len);
		assert_int_equal(iw_sctp_path(h.n.b.a, 1, &p), 0);
		assert_false(p.confirmed);
		copy[12] ^= 1;
		say(h.peer_tag, IW_SCTP_HEARTBEAT_ACK, 0, copy, c.value_len);
		assert_int_equal(iw_sctp_path(h.n.b.a, 1, &p), 0);
		assert_true(p.confirmed);
		break;
	}
	assert_true(seen[1]);
	assert_true(net_has_event(&h.n.b, IW_SCTP_EV_PATH));
	hand_close(&h);
}

/*
 * SX-38: if a path does not answer, another one is used (RFC 9260 6.4). SCTP-46: for that reason
 * only, not to share the load.
 */
static void data_is_sent_on_another_path_when_one_fails(void **state)
{
	struct iw_sctp_send m = { .hdr = (const uint8_t *)"hello", .hdr_len = 5 };
	struct iw_sctp_path p;

	(void)state;
	open_up_with_two_more();
	/* The second address is verified, then the first one stops answering. */
	for (;;) {
		struct iw_sctp_chunk c;

		assert_true(hand_wait(&h, IW_SCTP_HEARTBEAT, IW_SEC(5), &c));
		if (iw_get_be16(c.value + 4) == 1 && !iw_get_be16(c.value + 6)) {
			uint8_t copy[64];

			memcpy(copy, c.value, c.value_len);
			h.src = net_addr(50);
			say(h.peer_tag, IW_SCTP_HEARTBEAT_ACK, 0, copy, c.value_len);
			break;
		}
	}
	assert_int_equal(iw_sctp_send(h.n.b.a, &m, NULL), 0);
	net_run(&h.n, h.n.now);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_true(p.flight > 0);
	net_run(&h.n, h.n.now + IW_MSEC(1500));
	assert_int_equal(iw_sctp_path(h.n.b.a, 1, &p), 0);
	assert_true(p.flight > 0); /* sent there after the first timeout */
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.flight, 0);
	assert_in_range(p.errors, 1, 5);
	hand_close(&h);
}

/* SX-29: the UDP port follows the peer's packets with the right tag; SX-30, SX-31. */
static void the_udp_port_follows_the_peer(void **state)
{
	static uint8_t octets[1200 - 20 - 8 - 12 - 16 - 16 + 1];
	struct iw_vec v = { octets, sizeof(octets) };
	struct iw_sctp_send m = { .ppid = 16, .vec = &v, .nvec = 1 };
	struct iw_sctp_path p;
	struct iw_sctp_chunk c;

	(void)state;
	hand_open(&h);
	h.src.udp_port = 9899;
	net_start(&h.n);
	hand_up(&h);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.addr.udp_port, 9899);
	/* SX-30: eight octets less than without UDP. */
	assert_int_equal(iw_sctp_send(h.n.b.a, &m, NULL), IW_E_LIMIT);
	h.src.udp_port = 1234;
	say(h.peer_tag ^ 1, IW_SCTP_HEARTBEAT, 0, "\0\1\0\5x", 5);
	say(HAND_TAG ^ 1, IW_SCTP_ABORT, IW_SCTP_T, NULL, 0);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.addr.udp_port, 9899);
	say(h.peer_tag, IW_SCTP_HEARTBEAT, 0, "\0\1\0\5x", 5);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.addr.udp_port, 1234);
	h.src.udp_port = 0;
	say(h.peer_tag, IW_SCTP_HEARTBEAT, 0, "\0\1\0\5x", 5);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.addr.udp_port, 0);
	hand_close(&h);
	/* SX-31, SCTP-43: we never send an address parameter: an endpoint has one address. */
	hand_open(&h);
	net_start(&h.n);
	hand_begin(&h, 0);
	hand_init_chunk(&h, IW_SCTP_INIT,
			&(struct iw_sctp_init){ .tag = 1,
						.a_rwnd = 65536,
						.os = 1,
						.mis = 1,
						.params = hand_adaptation,
						.params_len = 8 });
	hand_send(&h);
	c = hand_expect(&h, IW_SCTP_INIT_ACK, 1);
	for (size_t pos = 16; pos < c.value_len;) {
		struct iw_sctp_param one;
		int n = iw_wire_sctp_param_decode(&one, c.value + pos, c.value_len - pos);

		assert_true(n > 0);
		assert_int_not_equal(one.type, IW_SCTP_PARAM_IPV4);
		assert_int_not_equal(one.type, IW_SCTP_PARAM_IPV6);
		pos += (size_t)n;
	}
	hand_close(&h);
}

/*
 * SX-30, APP-11: the SCTP checksum is checked over UDP too, whatever the UDP checksum is. A value
 * of 0 does not disable the check.
 */
static void the_sctp_checksum_is_checked_under_udp_too(void **state)
{
	struct iw_sctp_recv m;

	(void)state;
	hand_open(&h);
	h.src.udp_port = 9899;
	net_start(&h.n);
	hand_up(&h);
	for (uint32_t wrong = 0; wrong < 3; wrong++) {
		struct iw_sctp_packet p = { .peer = h.src, .local = h.n.b.addr[0], .data = h.out };
		uint32_t sum;

		hand_begin(&h, h.peer_tag);
		hand_data(&h, 7, HAND_TSN, 0, "x", 1);
		p.len = h.len;
		sum = iw_wire_sctp_checksum(h.out, h.len);
		iw_put_le32(h.out + 8, wrong == 0 ? 0 : wrong == 1 ? sum ^ 1 : sum);
		iw_sctp_input(h.n.b.s, &p, h.n.now);
		assert_int_equal(iw_sctp_next(h.n.b.s, &m), wrong == 2);
		assert_false(iw_sctp_next(h.n.b.s, &m));
	}
	hand_close(&h);
}

static unsigned inits_seen, addresses_seen;

static bool look_for_addresses(struct net *n, struct net_end *from, uint8_t *data, size_t len)
{
	struct iw_sctp_param one;
	size_t pos = IW_SCTP_HDR_LEN + IW_SCTP_CHUNK_HDR_LEN + IW_SCTP_INIT_LEN;
	int got;

	(void)n;
	(void)from;
	assert_int_equal(n->tap_to.udp_port, 9899);
	if (data[12] != IW_SCTP_INIT && data[12] != IW_SCTP_INIT_ACK)
		return true;
	inits_seen++;
	for (; pos < len; pos += (size_t)got) {
		got = iw_wire_sctp_param_decode(&one, data + pos, len - pos);
		assert_true(got > 0);
		addresses_seen += one.type == IW_SCTP_PARAM_IPV4 || one.type == IW_SCTP_PARAM_IPV6;
	}
	return true;
}

/*
 * SX-31, SCTP-43: neither INIT nor INIT ACK lists an address: an endpoint has only the source
 * address of its packets.
 */
static void no_address_is_listed_in_either_direction(void **state)
{
	struct net n;

	(void)state;
	net_init(&n, 3);
	n.tap = look_for_addresses;
	n.a.addr[0].udp_port = n.b.addr[0].udp_port = 9899;
	inits_seen = addresses_seen = 0;
	net_start(&n);
	assert_true(net_up(&n));
	assert_int_equal(inits_seen, 2);
	assert_int_equal(addresses_seen, 0);
	net_free(&n);
}

/* SX-38: unanswered heartbeats end an idle association (RFC 9260 8.1). */
static void an_idle_association_with_a_dead_peer_ends(void **state)
{
	struct net n;

	(void)state;
	net_init(&n, 4);
	net_start(&n);
	assert_true(net_up(&n));
	net_run(&n, n.now + IW_SEC(100));
	n.ab.cut = n.ba.cut = true;
	net_run(&n, n.now + IW_SEC(2000));
	assert_int_equal(iw_sctp_why(n.a.a)->err, IW_E_TIMEOUT);
	assert_int_equal(iw_sctp_why(n.b.a)->err, IW_E_TIMEOUT);
	net_free(&n);
}

/* --- shutdown --------------------------------------------------------------------------------- */

/*
 * SX-27, SX-10: SHUTDOWN only after all DATA is acknowledged, SHUTDOWN ACK, SHUTDOWN COMPLETE alone
 * in its packet with T clear.
 */
static void shutdown_waits_for_the_data_and_has_three_steps(void **state)
{
	struct iw_sctp_send m = { .hdr = (const uint8_t *)"hello", .hdr_len = 5 };
	struct iw_sctp_sack s = { .a_rwnd = 65536 };
	struct iw_sctp_chunk c;
	uint8_t value[16];

	(void)state;
	open_up();
	assert_int_equal(iw_sctp_send(h.n.b.a, &m, NULL), 0);
	iw_sctp_shutdown(h.n.b.a, h.n.now);
	assert_int_equal(iw_sctp_send(h.n.b.a, &m, NULL), IW_E_STATE);
	assert_true(hand_wait(&h, IW_SCTP_DATA, IW_SEC(1), &c));
	assert_true(c.flags & IW_SCTP_DATA_I);
	assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_SHUTDOWN_PENDING);
	s.cum = h.peer_tsn;
	hand_begin(&h, h.peer_tag);
	hand_chunk(&h, IW_SCTP_SACK, 0, value, (size_t)iw_wire_sctp_sack_encode(value, 16, &s));
	hand_forget(&h);
	hand_send(&h);
	c = hand_expect(&h, IW_SCTP_SHUTDOWN, HAND_TAG);
	assert_int_equal(iw_get_be32(c.value), HAND_TSN - 1);
	/* DATA is still accepted, and each packet with DATA is answered with SHUTDOWN. */
	hand_begin(&h, h.peer_tag);
	hand_data(&h, 7, HAND_TSN, 0, "last", 4);
	hand_send(&h);
	assert_int_equal(h.n.b.messages, 1);
	assert_true(hand_wait(&h, IW_SCTP_SHUTDOWN, 0, &c));
	assert_int_equal(iw_get_be32(c.value), HAND_TSN);
	hand_forget(&h);
	say(h.peer_tag, IW_SCTP_SHUTDOWN_ACK, 0, NULL, 0);
	assert_int_equal(hand_expect(&h, IW_SCTP_SHUTDOWN_COMPLETE, HAND_TAG).flags, 0);
	assert_int_equal(iw_sctp_why(h.n.b.a)->err, 0);
	hand_close(&h);
}

/*
 * SX-27: shutdown by the peer. SX-14: SHUTDOWN COMPLETE with either tag. A lost one is requested
 * again.
 */
static void a_shutdown_of_the_peer_is_acknowledged_until_complete(void **state)
{
	struct iw_sctp_chunk c;
	uint8_t cum[4];

	(void)state;
	open_up();
	iw_put_be32(cum, h.peer_tsn - 1);
	say(h.peer_tag, IW_SCTP_SHUTDOWN_COMPLETE, 0, NULL, 0); /* too early: ignored */
	assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_ESTABLISHED);
	say(h.peer_tag, IW_SCTP_SHUTDOWN, 0, cum, 4);
	hand_expect(&h, IW_SCTP_SHUTDOWN_ACK, HAND_TAG);
	assert_true(net_has_event(&h.n.b, IW_SCTP_EV_ENDING));
	assert_true(hand_wait(&h, IW_SCTP_SHUTDOWN_ACK, IW_SEC(2), &c)); /* T2 */
	say(h.peer_tag, IW_SCTP_SHUTDOWN, 0, cum, 4);
	assert_true(hand_wait(&h, IW_SCTP_SHUTDOWN_ACK, 0, &c));
	/* 9.2: a new INIT of the peer is answered with SHUTDOWN ACK too. */
	hand_forget(&h);
	h.tag = 0x22222222;
	hand_begin(&h, 0);
	hand_init_chunk(&h, IW_SCTP_INIT,
			&(struct iw_sctp_init){ .tag = h.tag,
						.a_rwnd = 65536,
						.os = 1,
						.mis = 1,
						.params = hand_adaptation,
						.params_len = 8 });
	hand_send(&h);
	hand_expect(&h, IW_SCTP_SHUTDOWN_ACK, HAND_TAG);
	say(HAND_TAG ^ 1, IW_SCTP_SHUTDOWN_COMPLETE, IW_SCTP_T, NULL, 0);
	assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_SHUTDOWN_ACK_SENT);
	say(HAND_TAG, IW_SCTP_SHUTDOWN_COMPLETE, IW_SCTP_T, NULL, 0);
	assert_int_equal(iw_sctp_why(h.n.b.a)->err, 0);
	assert_true(net_has_event(&h.n.b, IW_SCTP_EV_DOWN));
	hand_close(&h);
}

/* SX-27: Association.Max.Retrans limits the repeats of SHUTDOWN. */
static void repeats_of_shutdown_are_limited(void **state)
{
	(void)state;
	hand_open(&h);
	h.n.b.cfg.times.assoc_max_retrans = 3;
	net_start(&h.n);
	hand_up(&h);
	iw_sctp_shutdown(h.n.b.a, h.n.now);
	net_run(&h.n, h.n.now + IW_MSEC(14900));
	assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_SHUTDOWN_SENT);
	net_run(&h.n, h.n.now + IW_MSEC(200)); /* 1 + 2 + 4 + 8 */
	assert_int_equal(iw_sctp_why(h.n.b.a)->err, IW_E_TIMEOUT);
	hand_close(&h);
}

/* SX-27: T5 and the limit of T2: an association with a dead peer ends. */
static void a_shutdown_without_an_answer_ends_the_association(void **state)
{
	(void)state;
	open_up();
	iw_sctp_shutdown(h.n.b.a, h.n.now);
	net_run(&h.n, h.n.now + IW_SEC(301));
	assert_int_equal(iw_sctp_why(h.n.b.a)->err, IW_E_TIMEOUT);
	hand_close(&h);
}

/* The packets to lose: the first `left` packets that begin with a chunk of that type. */
struct loses {
	uint8_t type;
	unsigned left;
};

static bool lose(struct net *n, struct net_end *from, uint8_t *data, size_t len)
{
	struct loses *l = n->tap_user;

	(void)from;
	if (len <= IW_SCTP_HDR_LEN || data[IW_SCTP_HDR_LEN] != l->type || l->left == 0)
		return true;
	l->left--;
	return false;
}

/*
 * a shuts down while the first @lost packets with @type are lost. Returns when both ends are
 * notified, or some time after T5.
 */
static uint64_t end_with_loss(struct net *n, uint8_t type, unsigned lost)
{
	struct loses l = { type, lost };
	uint64_t begun;

	net_init(n, 11);
	net_start(n);
	assert_true(net_up(n));
	net_run(n, n->now + IW_SEC(5));
	n->tap = lose;
	n->tap_user = &l;
	begun = n->now;
	iw_sctp_shutdown(n->a.a, n->now);
	while (n->now < begun + IW_SEC(310) &&
	       !(net_has_event(&n->a, IW_SCTP_EV_DOWN) && net_has_event(&n->b, IW_SCTP_EV_DOWN)))
		net_run(n, n->now + IW_MSEC(100));
	n->tap = NULL;
	return n->now - begun;
}

/*
 * SX-27: SHUTDOWN, SHUTDOWN ACK or SHUTDOWN COMPLETE is lost a few times: T2 repeats it, and the
 * end is orderly on both sides.
 */
static void each_step_of_the_shutdown_may_be_lost_twice(void **state)
{
	static const uint8_t steps[] = { IW_SCTP_SHUTDOWN, IW_SCTP_SHUTDOWN_ACK,
					 IW_SCTP_SHUTDOWN_COMPLETE };
	struct net n;

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(steps); i++)
		for (unsigned lost = 1; lost <= 7; lost += 2) {
			uint64_t took = end_with_loss(&n, steps[i], lost);

			/* 1, 2, 4 ... s, at most 60 s */
			assert_true(took < IW_SEC(1 << lost));
			assert_int_equal(iw_sctp_why(n.a.a)->err, 0);
			assert_int_equal(iw_sctp_why(n.b.a)->err, 0);
			net_free(&n);
		}
}

/*
 * SX-27: the same chunk is always lost: T5, five times RTO.Max, ends both sides. For the side that
 * has received the last chunk it needs, the end is orderly.
 */
static void a_shutdown_step_that_never_arrives_ends_both_sides_after_t5(void **state)
{
	static const struct {
		uint8_t step;
		int a, b; /* reasons of the end on both sides */
	} rows[] = {
		{ IW_SCTP_SHUTDOWN, IW_E_TIMEOUT, IW_E_CLOSED }, /* a's ABORT */
		/* b has everything, and gets the ABORT */
		{ IW_SCTP_SHUTDOWN_ACK, IW_E_TIMEOUT, 0 },
		{ IW_SCTP_SHUTDOWN_COMPLETE, 0, IW_E_TIMEOUT },
	};
	struct net n;

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		uint64_t took = end_with_loss(&n, rows[i].step, UINT32_MAX);

		assert_in_range(took, IW_SEC(299), IW_SEC(301));
		assert_int_equal(iw_sctp_why(n.a.a)->err, rows[i].a);
		assert_int_equal(iw_sctp_why(n.b.a)->err, rows[i].b);
		net_free(&n);
	}
}

/* SX-27: DATA of the peer restarts T2, but not T5, which ends the association with an ABORT. */
static void a_peer_that_continues_to_send_does_not_prevent_the_end(void **state)
{
	uint32_t tsn = HAND_TSN;
	struct iw_sctp_chunk c;

	(void)state;
	open_up();
	iw_sctp_shutdown(h.n.b.a, h.n.now);
	for (unsigned s = 0; s < 299; s++) {
		hand_begin(&h, h.peer_tag);
		hand_data(&h, 7, tsn++, 0, "more", 4);
		hand_send(&h);
		net_run(&h.n, h.n.now + IW_SEC(1));
		assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_SHUTDOWN_SENT);
	}
	hand_forget(&h);
	assert_true(hand_wait(&h, IW_SCTP_ABORT, IW_SEC(2), &c));
	assert_int_equal(iw_sctp_why(h.n.b.a)->err, IW_E_TIMEOUT);
	assert_true(net_has_event(&h.n.b, IW_SCTP_EV_DOWN));
	hand_close(&h);
}

/*
 * RFC 9260 8.1, 9.2: with data outstanding, the shutdown lasts until the limit of unanswered
 * retransmissions, whichever end began it.
 */
static void shutdown_to_a_vanished_peer_ends_with_its_retransmissions(void **state)
{
	struct iw_sctp_send m = { .hdr = (const uint8_t *)"hello", .hdr_len = 5 };
	uint8_t cum[4];

	(void)state;
	for (int peers = 0; peers < 2; peers++) {
		open_up();
		assert_int_equal(iw_sctp_send(h.n.b.a, &m, NULL), 0);
		net_run(&h.n, h.n.now);
		iw_put_be32(cum, h.peer_tsn - 1);
		if (peers)
			say(h.peer_tag, IW_SCTP_SHUTDOWN, 0, cum, 4);
		else
			iw_sctp_shutdown(h.n.b.a, h.n.now);
		assert_int_equal(iw_sctp_assoc_state(h.n.b.a),
				 peers ? IW_SCTP_SHUTDOWN_RECEIVED : IW_SCTP_SHUTDOWN_PENDING);
		net_run(&h.n, h.n.now + IW_SEC(400));
		assert_true(net_has_event(&h.n.b, IW_SCTP_EV_DOWN));
		assert_int_equal(iw_sctp_why(h.n.b.a)->err, IW_E_TIMEOUT);
		hand_close(&h);
	}
}

/* Adds a chunk of any type with random octets, mostly of the right length. */
static void nonsense(struct rng *r)
{
	static const uint8_t types[] = { 0,  1,  2,  3,    4,    5,    6,    7,    8,   9,
					 10, 11, 14, 0x3f, 0x80, 0x84, 0xc0, 0xc1, 0xff };
	uint8_t value[200];
	size_t len = rng_below(r, sizeof(value)), at = h.len;

	rng_fill(r, value, len);
	/* Sometimes near a valid TSN. */
	if (rng_below(r, 4) == 0 && len >= 4)
		iw_put_be32(value, HAND_TSN + (uint32_t)rng_below(r, 100));
	hand_chunk(&h, types[rng_below(r, sizeof(types))], (uint8_t)rng_next(r), value, len);
	if (rng_below(r, 8) == 0)
		iw_put_be16(h.out + at + 2, (uint16_t)rng_next(r));
}

static size_t caught_since(unsigned first)
{
	size_t octets = 0;

	assert_true(h.ncaught - first < CAUGHT);
	for (unsigned i = first; i < h.ncaught; i++)
		octets += h.caught[i % CAUGHT].len;
	return octets;
}

/*
 * Bundled random chunks with the right tag and checksum: memory and answers stay in proportion to
 * the packets received, whatever happens to the association.
 */
static void answers_and_memory_for_random_chunks_are_bounded(void **state)
{
	struct rng r = { 11 };
	size_t in = 0, out = 0, most = 0;

	(void)state;
	for (int round = 0; round < 300; round++) {
		open_up();
		hand_forget(&h);
		for (int n = 0; n < 60; n++) {
			unsigned first = h.ncaught;

			hand_begin(&h, rng_below(&r, 8) ? h.peer_tag : 0);
			for (size_t k = 1 + rng_below(&r, 6); k > 0; k--)
				nonsense(&r);
			in += h.len;
			hand_send(&h);
			/* SACK, ERROR and HEARTBEAT ACK, each at most once, and all short. */
			assert_true(h.ncaught - first <= 8);
			out += caught_since(first);
			most = IW_MAX(most, h.n.b.mem.bytes);
		}
		hand_close(&h);
	}
	assert_true(out < in / 4);
	/*
	 * The endpoint with its ring of answers, an association, and at most 64 KiB of fragments.
	 */
	assert_true(most < 256 * 1024);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_and_memory_for_random_chunks_are_bounded),
		cmocka_unit_test(packets_out_of_the_blue_get_what_the_rfc_says),
		cmocka_unit_test(a_packet_to_another_port_is_out_of_the_blue),
		cmocka_unit_test(an_init_to_a_port_without_a_listener_gets_abort),
		cmocka_unit_test(packets_out_of_the_blue_are_answered_at_a_limited_rate),
		cmocka_unit_test(a_wrong_tag_is_dropped_in_silence),
		cmocka_unit_test(an_abort_ends_the_association_with_the_reason_of_the_peer),
		cmocka_unit_test(aborting_sends_the_reason_to_the_peer),
		cmocka_unit_test(unknown_chunks_are_handled_by_their_top_bits),
		cmocka_unit_test(unknown_chunk_longer_than_the_mtu_is_reported),
		cmocka_unit_test(heartbeat_ack_larger_than_the_mtu_may_be_fragmented),
		cmocka_unit_test(a_heartbeat_is_echoed),
		cmocka_unit_test(malformed_chunks_are_skipped),
		cmocka_unit_test(listed_addresses_are_recorded_and_taken),
		cmocka_unit_test(an_unverified_listed_address_does_not_block_its_owner),
		cmocka_unit_test(a_packet_full_of_unknown_chunks_gets_one_error),
		cmocka_unit_test(a_listed_address_is_verified_before_it_is_used),
		cmocka_unit_test(data_is_sent_on_another_path_when_one_fails),
		cmocka_unit_test(the_udp_port_follows_the_peer),
		cmocka_unit_test(the_sctp_checksum_is_checked_under_udp_too),
		cmocka_unit_test(no_address_is_listed_in_either_direction),
		cmocka_unit_test(an_idle_association_with_a_dead_peer_ends),
		cmocka_unit_test(shutdown_waits_for_the_data_and_has_three_steps),
		cmocka_unit_test(a_shutdown_of_the_peer_is_acknowledged_until_complete),
		cmocka_unit_test(repeats_of_shutdown_are_limited),
		cmocka_unit_test(a_shutdown_without_an_answer_ends_the_association),
		cmocka_unit_test(each_step_of_the_shutdown_may_be_lost_twice),
		cmocka_unit_test(a_shutdown_step_that_never_arrives_ends_both_sides_after_t5),
		cmocka_unit_test(a_peer_that_continues_to_send_does_not_prevent_the_end),
		cmocka_unit_test(shutdown_to_a_vanished_peer_ends_with_its_retransmissions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
