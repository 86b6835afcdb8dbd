// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The port of the user-space SCTP engine: how many received batches it acknowledges with one SACK, and
 * what it does while the carrier is full.
 */
#include "llp/sctp_engine.h"

#include "os/os.h"
#include "unit/sctp_hand.h"

/* A carrier that always has another run of packets, until `runs` of them were received. */
struct fake {
	struct iw_pkt pkt;
	unsigned runs, receives;
	uint8_t flags;    /* of each DATA chunk */
	uint32_t tsn;     /* the next one */
	bool single;      /* each run is one packet */
	bool slow;        /* each run after the first is one packet, and takes 15 us to arrive */
	uint64_t now;     /* the time that iw_os_now returns */
	bool full;        /* it accepts nothing */
	uint32_t sent[8]; /* the TSNs of the DATA that it has accepted */
	unsigned nsent;
	uint8_t data[45 * 64];
};

static struct hand h;
static struct user_port u;
static struct user_assoc x;
static struct fake fake;

/*
 * Replaces the clocks of lib/os, so that the port's waits do not depend on the machine. Each call
 * advances the time by 1 ns.
 */
uint64_t iw_os_now(void)
{
	return ++fake.now;
}

uint64_t iw_os_wall(void)
{
	return iw_os_now();
}

/* Writes one packet with the next DATA chunk to dst, and returns its length. */
static size_t put_packet(uint8_t *dst)
{
	hand_begin(&h, h.peer_tag);
	hand_data(&h, fake.flags, fake.tsn++, 0, "abc", 3);
	iw_put_le32(h.out + 8, iw_wire_sctp_checksum(h.out, h.len));
	memcpy(dst, h.out, h.len);
	return h.len;
}

static int fake_recv(struct iw_pkt *c, struct iw_pkt_rx rx[static IW_PKT_BATCH],
		     struct iw_fault *why)
{
	(void)c;
	(void)why;
	fake.receives++;
	fake.single |= fake.slow && fake.receives > 1;
	if (fake.slow)
		fake.now += 15000;
	if (fake.runs == 0)
		return 0;
	fake.runs--;
	rx[0] = (struct iw_pkt_rx){ .data = fake.data };
	rx[0].len = rx[0].seg = put_packet(fake.data);
	for (unsigned i = 1; i < 45 && !fake.single; i++)
		rx[0].len += put_packet(fake.data + rx[0].len);
	iw_port_from_engine(&rx[0].peer, &h.src, h.src.udp_port);
	iw_port_from_engine(&rx[0].local, &h.n.b.addr[0], 0);
	return 1;
}

static bool no_error(struct iw_pkt *c, struct iw_pkt_error *out)
{
	(void)c;
	(void)out;
	return false;
}

static int fake_send(struct iw_pkt *c, const struct iw_pkt_tx *t, uint32_t *mtu)
{
	(void)c;
	(void)mtu;
	if (fake.full)
		return IW_E_AGAIN;
	for (size_t at = 0; at < t->len; at += t->seg) {
		struct caught k = { .len = IW_MIN(t->seg, t->len - at) };
		struct iw_sctp_chunk chunk;
		struct iw_sctp_data d;

		memcpy(k.data, t->data + at, k.len);
		assert_int_equal(iw_get_le32(k.data + 8), iw_wire_sctp_checksum(k.data, k.len));
		for (unsigned i = 0; chunk_of(&k, i, &chunk); i++) {
			if (chunk.type != IW_SCTP_DATA)
				continue;
			assert_true(fake.nsent < IW_ARRAY_LEN(fake.sent));
			assert_true(iw_wire_sctp_data_decode(&d, chunk.value, chunk.value_len) > 0);
			fake.sent[fake.nsent++] = d.tsn;
		}
	}
	return 0;
}

static const struct iw_pkt_ops fake_ops = {
	.recv = fake_recv,
	.send = fake_send,
	.next_error = no_error,
};

static void open_port(void)
{
	hand_open(&h);
	net_start(&h.n);
	hand_up(&h);
	hand_answer_heartbeats(&h, 0);
	hand_say_data(&h, 7, HAND_TSN, 0, "first"); /* the first DATA is acknowledged at once */
	hand_forget(&h);
	fake = (struct fake){
		.pkt.ops = &fake_ops, .flags = 7, .tsn = HAND_TSN + 1, .now = h.n.now
	};
	fake.pkt.udp_port = h.src.udp_port;
	fake.pkt.seg_max = 64;
	u = (struct user_port){ .pkt = &fake.pkt, .sctp = h.n.b.s };
	x = (struct user_assoc){ .a = h.n.b.a };
	x.assoc.user = &x;
	iw_sctp_set_user(h.n.b.a, &x);
}

static void close_port(void)
{
	iw_sctp_set_user(h.n.b.a, NULL);
	hand_close(&h);
}

/* One turn of the loop: receives, and returns how many messages there were. */
static unsigned turn(void)
{
	struct iw_port_msg m;
	struct iw_fault why;
	unsigned n = 0;

	u.packets = 0; /* as after output */
	u.more_until = 0;
	assert_in_range(iw_port_user_input(&u.port, iw_os_now(), &why), 0, 1);
	while (iw_port_user_next_msg(&u.port, &m))
		n++;
	assert_false(iw_port_user_next_msg(&u.port, &m));
	return n;
}

static uint32_t acknowledged(void)
{
	struct iw_sctp_sack s;

	net_run(&h.n, h.n.now);
	assert_true(hand_take_sack(&h, &s));
	assert_false(hand_take_sack(&h, &(struct iw_sctp_sack){ 0 }));
	return s.cum;
}

static void four_runs_in_a_row_get_one_sack(void **state)
{
	(void)state;
	open_port();
	fake.runs = 10;
	assert_int_equal(turn(), 4 * 45);
	assert_int_equal(fake.receives, 4);
	assert_int_equal(acknowledged(), HAND_TSN + 4 * 45);
	close_port();
}

static void a_sack_that_was_asked_for_does_not_wait(void **state)
{
	(void)state;
	open_port();
	fake.runs = 10;
	fake.flags = 7 | IW_SCTP_DATA_I;
	assert_int_equal(turn(), 45);
	assert_int_equal(acknowledged(), HAND_TSN + 45);
	close_port();
}

static void a_sack_with_a_gap_does_not_wait(void **state)
{
	(void)state;
	open_port();
	fake.runs = 10;
	fake.tsn++;
	assert_int_equal(turn(), 45);
	assert_int_equal(acknowledged(), HAND_TSN);
	close_port();
}

static void a_sack_for_a_filled_gap_does_not_wait(void **state)
{
	(void)state;
	open_port();
	hand_say_data(&h, 7, HAND_TSN + 46, 0, "46");
	hand_forget(&h);
	fake.runs = 10;
	assert_int_equal(turn(), 45);
	assert_int_equal(fake.receives, 1);
	assert_int_equal(acknowledged(), HAND_TSN + 46);
	close_port();
}

static void a_sack_for_a_duplicate_does_not_wait(void **state)
{
	(void)state;
	open_port();
	fake.runs = 10;
	fake.tsn--;
	assert_int_equal(turn(), 44);
	assert_int_equal(fake.receives, 1);
	assert_int_equal(acknowledged(), HAND_TSN + 44);
	close_port();
}

/* Packets keep arriving one at a time: the whole wait of a turn is limited. */
static void slow_packets_do_not_hold_a_turn(void **state)
{
	(void)state;
	open_port();
	fake.runs = 1000;
	fake.slow = true;
	assert_int_equal(turn(), 45 + 14); /* the 14th, after 210 us, is the first after 200 us */
	close_port();
}

/* The time of the engine never goes back, although the loop read its clock before the wait. */
static void timers_do_not_set_the_time_back(void **state)
{
	uint64_t begun;

	(void)state;
	open_port();
	begun = fake.now;
	fake.runs = 2;
	fake.slow = true;
	(void)turn();
	assert_true(u.now > begun + 15000);
	iw_port_user_timeout(&u.port, begun);
	assert_true(u.now > begun + 15000);
	(void)turn();
	assert_true(u.now > begun + 15000);
	close_port();
}

static void a_single_packet_does_not_wait(void **state)
{
	(void)state;
	open_port();
	fake.runs = 10;
	fake.single = true;
	assert_int_equal(turn(), 1);
	assert_int_equal(fake.receives, 1);
	close_port();
}

/* Nothing follows the first batch: the wait ends soon, and the next turns do without. */
static void an_unsuccessful_wait_makes_the_next_ones_rare(void **state)
{
	unsigned waits = 0;

	(void)state;
	open_port();
	for (unsigned i = 0; i < 600; i++) {
		fake.runs = 1;
		fake.receives = 0;
		assert_int_equal(turn(), 45);
		waits += fake.receives > 1;
		assert_int_equal(acknowledged(), fake.tsn - 1);
	}
	assert_in_range(waits, 3, 10);
	close_port();
}

/* The second packet is larger than the first, so that it cannot follow it in a batch. */
static void a_full_carrier_loses_nothing(void **state)
{
	static const size_t lens[] = { 500, 1000, 500 };

	(void)state;
	open_port();
	fake.full = true;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(hand_post(h.n.b.a, lens[i]), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(iw_port_user_output(&u.port, iw_os_now()), IW_E_AGAIN);
	assert_int_equal(fake.nsent, 0);
	fake.full = false;
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(iw_port_user_output(&u.port, iw_os_now()), 0);
	assert_int_equal(fake.nsent, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(fake.sent[i], h.peer_tsn + i);
	close_port();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(four_runs_in_a_row_get_one_sack),
		cmocka_unit_test(a_sack_that_was_asked_for_does_not_wait),
		cmocka_unit_test(a_sack_with_a_gap_does_not_wait),
		cmocka_unit_test(a_sack_for_a_filled_gap_does_not_wait),
		cmocka_unit_test(a_sack_for_a_duplicate_does_not_wait),
		cmocka_unit_test(slow_packets_do_not_hold_a_turn),
		cmocka_unit_test(timers_do_not_set_the_time_back),
		cmocka_unit_test(a_single_packet_does_not_wait),
		cmocka_unit_test(an_unsuccessful_wait_makes_the_next_ones_rare),
		cmocka_unit_test(a_full_carrier_loses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
