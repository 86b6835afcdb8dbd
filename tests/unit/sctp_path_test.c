// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Several addresses of one peer: verification, choice, error counts, failure. */
#include "sctp/internal.h"

#include "unit/sctp_hand.h"

/* The peer sends from .9 and lists .50: paths 0 and 1. */
static const unsigned hosts[] = { 9, 50 };
static struct hand h;

/* Packets sent to each address since the last check. */
static struct {
	unsigned data[2], heartbeats[2], others[2];
} went;

static void open_listed(const struct iw_sctp_times *times)
{
	static const uint8_t params[] = { 0xc0, 6, 0, 8, 0, 0, 0, 1, 0, 5, 0, 8, 192, 0, 2, 50 };
	struct iw_sctp_init i;

	hand_open(&h);
	if (times)
		h.n.b.cfg.times = *times;
	net_start(&h.n);
	i = hand_init(&h);
	i.params = params;
	i.params_len = sizeof(params);
	hand_up_with(&h, &i);
	memset(&went, 0, sizeof(went));
}

static void say(unsigned path, uint8_t type, const void *value, size_t len)
{
	struct iw_sctp_addr before = h.src;

	h.src = net_addr(hosts[path]);
	h.src.udp_port = before.udp_port;
	hand_begin(&h, h.peer_tag);
	hand_chunk(&h, type, 0, value, len);
	hand_send(&h);
	h.src = before;
}

static unsigned path_to(const struct caught *p)
{
	return p->to.ip[15] == hosts[1];
}

/* from, to: a gap block, counted from cum; 0: none */
static void acknowledge_gap(uint32_t cum, uint16_t from, uint16_t to)
{
	uint8_t value[IW_SCTP_SACK_LEN + 4], block[4];
	struct iw_sctp_sack s = { .cum = cum, .a_rwnd = 100000, .ngaps = from > 0, .gaps = block };

	iw_put_be16(block, from);
	iw_put_be16(block + 2, to);
	say(1, IW_SCTP_SACK, value, (size_t)iw_wire_sctp_sack_encode(value, sizeof(value), &s));
}

static void acknowledge(uint32_t cum)
{
	acknowledge_gap(cum, 0, 0);
}

/* Counts the packets sent; HEARTBEATs to the paths of the set are answered. */
static void look(unsigned answers)
{
	const struct caught *p;

	while ((p = hand_take(&h))) {
		struct caught copy = *p;
		struct iw_sctp_chunk c;
		unsigned to = path_to(&copy);

		for (unsigned i = 0; chunk_of(&copy, i, &c); i++) {
			went.data[to] += c.type == IW_SCTP_DATA;
			went.heartbeats[to] += c.type == IW_SCTP_HEARTBEAT;
			went.others[to] += c.type != IW_SCTP_DATA && c.type != IW_SCTP_HEARTBEAT &&
					   c.type != IW_SCTP_PAD;
			if (c.type == IW_SCTP_HEARTBEAT && answers & 1u << to)
				say(to, IW_SCTP_HEARTBEAT_ACK, c.value, c.value_len);
		}
	}
}

static void pass(uint64_t ns, unsigned answers)
{
	uint64_t end = h.n.now + ns;

	for (look(answers); h.n.now < end; look(answers))
		net_run(&h.n, h.n.now + IW_MSEC(10));
}

static void post_of(unsigned n, size_t len)
{
	static uint8_t octets[1000];
	struct iw_vec v = { octets, len };
	struct iw_sctp_send m = { .ppid = 16, .vec = &v, .nvec = 1 };

	while (n-- > 0)
		assert_int_equal(iw_sctp_send(h.n.b.a, &m, NULL), 0);
	net_run(&h.n, h.n.now);
}

static void post(unsigned n)
{
	post_of(n, 100);
}

static struct iw_sctp_path path(unsigned i)
{
	struct iw_sctp_path p;

	assert_int_equal(iw_sctp_path(h.n.b.a, i, &p), 0);
	return p;
}

/* --- verification ----------------------------------------------------------------------------- */

/* SX-34: not even if the verified address fails. */
static void unverified_address_gets_heartbeats_and_nothing_else(void **state)
{
	const struct iw_sctp_times t = { .path_max_retrans = 1 };

	(void)state;
	open_listed(&t);
	post(4);
	pass(IW_SEC(40), 0);
	assert_int_equal(path(0).state, IW_SCTP_PATH_INACTIVE);
	post(1);
	pass(IW_SEC(40), 0);
	assert_true(went.data[0] > 4); /* retransmissions */
	assert_int_equal(went.data[1], 0);
	assert_true(went.heartbeats[1] > 0);
	assert_int_equal(went.others[1], 0);
	assert_false(path(1).confirmed);
	hand_close(&h);
}

/*
 * SX-34: a listed address does not block its real owner, however many HEARTBEATs were not answered
 * (RFC 5062 3, address camping).
 */
static void address_that_never_answers_does_not_block_its_owner(void **state)
{
	const struct iw_sctp_times t = { .path_max_retrans = 1, .rto_max = IW_SEC(2) };
	struct iw_sctp_assoc *camper;

	(void)state;
	open_listed(&t);
	camper = h.n.b.a;
	pass(IW_SEC(30), 1);
	assert_true(path(1).errors > 1);
	assert_false(path(1).confirmed);
	/* The address gets no more HEARTBEATs than others (RFC 9260 5.4). */
	memset(&went, 0, sizeof(went));
	pass(IW_SEC(60), 1);
	assert_in_range(went.heartbeats[1], 1, 3);
	hand_forget(&h);
	h.src = net_addr(hosts[1]);
	h.tag = 0x33333333;
	hand_up(&h);
	assert_ptr_not_equal(h.n.b.a, camper);
	assert_int_equal(iw_sctp_assoc_state(camper), IW_SCTP_ESTABLISHED);
	assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_ESTABLISHED);
	hand_close(&h);
}

/* SX-34: answers to duplicates alternate between the verified addresses only; so does SHUTDOWN. */
static void unverified_address_gets_no_sack_and_no_shutdown(void **state)
{
	(void)state;
	open_listed(NULL);
	for (int n = 0; n < 6; n++) {
		hand_begin(&h, h.peer_tag);
		hand_data(&h, 7, HAND_TSN, 0, "x", 1);
		hand_send(&h);
	}
	pass(IW_MSEC(500), 0);
	assert_true(went.others[0] >= 6);
	iw_sctp_shutdown(h.n.b.a, h.n.now);
	pass(IW_SEC(20), 0);
	assert_true(went.others[0] >= 10);
	assert_int_equal(went.others[1], 0);
	hand_close(&h);
}

/* RFC 9260 8.3: with everything sent and acknowledged, only T2 detects that the peer is gone. */
static void shutdown_sent_sends_no_heartbeat(void **state)
{
	(void)state;
	open_listed(NULL);
	pass(IW_SEC(5), 1);
	iw_sctp_shutdown(h.n.b.a, h.n.now);
	look(0);
	assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_SHUTDOWN_SENT);
	memset(&went, 0, sizeof(went));
	pass(IW_SEC(60), 0);
	assert_true(went.others[0] >= 4);
	assert_int_equal(went.heartbeats[0] + went.heartbeats[1], 0);
	hand_close(&h);
}

/* SX-34: an attacker who has seen one HEARTBEAT cannot answer the next. */
static void each_heartbeat_has_a_nonce_of_its_own(void **state)
{
	uint8_t nonce[3][8];
	unsigned n = 0;

	(void)state;
	open_listed(NULL);
	while (n < 3) {
		const struct caught *p;
		struct iw_sctp_chunk c;

		net_run(&h.n, h.n.now + IW_MSEC(100));
		while (n < 3 && (p = hand_take(&h)))
			if (path_to(p) == 1 && chunk_of(p, 0, &c) && c.type == IW_SCTP_HEARTBEAT)
				memcpy(nonce[n++], c.value + 8, 8);
	}
	assert_memory_not_equal(nonce[0], nonce[1], 8);
	assert_memory_not_equal(nonce[0], nonce[2], 8);
	assert_memory_not_equal(nonce[1], nonce[2], 8);
	hand_close(&h);
}

/* RFC 9260 8.3: a duplicate HEARTBEAT ACK gives no measurement. */
static void heartbeat_ack_is_used_once(void **state)
{
	const struct caught *p;
	struct caught copy = { .len = 0 };
	struct iw_sctp_chunk c;
	uint64_t srtt;

	(void)state;
	open_listed(NULL);
	while (copy.len == 0) {
		net_run(&h.n, h.n.now + IW_MSEC(10));
		while ((p = hand_take(&h)))
			if (path_to(p) == 1 && chunk_of(p, 0, &c) && c.type == IW_SCTP_HEARTBEAT)
				copy = *p;
	}
	assert_true(chunk_of(&copy, 0, &c));
	say(1, IW_SCTP_HEARTBEAT_ACK, c.value, c.value_len);
	assert_true(path(1).confirmed);
	srtt = path(1).srtt;
	net_run(&h.n, h.n.now + IW_SEC(1));
	say(1, IW_SCTP_HEARTBEAT_ACK, c.value, c.value_len);
	assert_int_equal(path(1).srtt, srtt);
	hand_close(&h);
}

static const uint8_t lists_one[] = { 0xc0, 6, 0, 8, 0, 0, 0, 1, 0, 5, 0, 8, 192, 0, 2, 50 };

/* SX-34: RFC 9260 5.4, rule 2: the source of a COOKIE ECHO may be forged. */
static void cookie_echo_confirms_only_the_source_of_the_init(void **state)
{
	struct iw_sctp_facts f;
	struct iw_sctp_param cookie;
	struct iw_sctp_chunk c;
	struct iw_sctp_init i;

	(void)state;
	hand_open(&h);
	net_start(&h.n);
	i = hand_init(&h);
	i.params = lists_one;
	i.params_len = sizeof(lists_one);
	hand_begin(&h, 0);
	hand_init_chunk(&h, IW_SCTP_INIT, &i);
	hand_send(&h);
	c = hand_expect(&h, IW_SCTP_INIT_ACK, h.tag);
	cookie = hand_read_init_ack(&h, &c);
	memset(&went, 0, sizeof(went));
	say(1, IW_SCTP_COOKIE_ECHO, cookie.value, cookie.value_len);
	assert_non_null(h.n.b.a);
	iw_sctp_facts(h.n.b.a, &f);
	assert_int_equal(f.primary, 0);
	assert_true(path(0).confirmed);
	assert_false(path(1).confirmed);
	post(2);
	look(0);
	assert_int_equal(went.data[0], 2);
	assert_int_equal(went.others[0], 1); /* COOKIE ACK */
	assert_int_equal(went.data[1] + went.others[1], 0);
	hand_close(&h);
}

/*
 * SX-34: packets from an unconfirmed source address are always acknowledged to a confirmed address.
 */
static void sack_is_sent_to_a_confirmed_address_only(void **state)
{
	static const uint8_t heartbeat[] = { 0, 1, 0, 5, 'x' };
	struct iw_sctp_addr source;

	(void)state;
	open_listed(NULL);
	source = h.src;
	h.src = net_addr(hosts[1]);
	for (uint32_t n = 0; n < 20; n++) {
		hand_begin(&h, h.peer_tag);
		hand_data(&h, 7, HAND_TSN + 2 * n, 0, "x", 1);
		hand_data(&h, 7, HAND_TSN + 2 * n, 0xffff, "x", 1);
		hand_chunk(&h, 0xff, 0, NULL, 0); /* asks for an ERROR */
		hand_send(&h);
	}
	h.src = source;
	pass(IW_SEC(1), 0);
	assert_true(went.others[0] >= 20);
	assert_int_equal(went.others[1], 0);
	/* An answer to the source of the packet is allowed: it is not larger than the packet. */
	say(1, IW_SCTP_HEARTBEAT, heartbeat, sizeof(heartbeat));
	look(0);
	assert_int_equal(went.others[1], 1);
	hand_close(&h);
}

/* SX-29: the port is kept for each address. */
static void udp_port_is_kept_for_each_address(void **state)
{
	static const uint8_t heartbeat[] = { 0, 1, 0, 5, 'x' };
	struct iw_sctp_init i;

	(void)state;
	hand_open(&h);
	h.src.udp_port = 9899;
	net_start(&h.n);
	i = hand_init(&h);
	i.params = lists_one;
	i.params_len = sizeof(lists_one);
	hand_up_with(&h, &i);
	assert_int_equal(path(0).addr.udp_port, 9899);
	assert_int_equal(path(1).addr.udp_port, 9899);
	h.src.udp_port = 7777;
	say(1, IW_SCTP_HEARTBEAT, heartbeat, sizeof(heartbeat));
	assert_int_equal(path(0).addr.udp_port, 9899);
	assert_int_equal(path(1).addr.udp_port, 7777);
	h.src.udp_port = 8888;
	say(0, IW_SCTP_HEARTBEAT, heartbeat, sizeof(heartbeat));
	assert_int_equal(path(0).addr.udp_port, 8888);
	assert_int_equal(path(1).addr.udp_port, 7777);
	hand_close(&h);
}

/* --- failure ---------------------------------------------------------------------------------- */

/*
 * SX-38: after more than Path.Max.Retrans errors a path is inactive; then new DATA is sent to the
 * other address, until the first one answers again.
 */
static void inactive_path_gets_no_data(void **state)
{
	const struct iw_sctp_times t = { .path_max_retrans = 2, .hb_interval = IW_SEC(1) };
	uint32_t errors = 0;

	(void)state;
	open_listed(&t);
	pass(IW_SEC(5), 3);
	assert_int_equal(path(0).state, IW_SCTP_PATH_ACTIVE);
	assert_int_equal(path(1).state, IW_SCTP_PATH_ACTIVE);
	for (int i = 0; i < 6000 && path(0).state == IW_SCTP_PATH_ACTIVE; i++) {
		errors = path(0).errors;
		pass(IW_MSEC(10), 2);
	}
	assert_int_equal(path(0).state, IW_SCTP_PATH_INACTIVE);
	assert_int_equal(errors, 2);
	memset(&went, 0, sizeof(went));
	post(3);
	look(2);
	assert_int_equal(went.data[0], 0);
	assert_int_equal(went.data[1], 3);
	acknowledge(h.peer_tsn + 2);
	pass(IW_SEC(60), 3);
	assert_int_equal(path(0).state, IW_SCTP_PATH_ACTIVE);
	memset(&went, 0, sizeof(went));
	post(1);
	look(3);
	assert_int_equal(went.data[0], 1);
	hand_close(&h);
}

static void wait_for(unsigned i, enum iw_sctp_path_state state, unsigned answers)
{
	for (int n = 0; n < 6000 && path(i).state != state; n++)
		pass(IW_MSEC(10), answers);
	assert_int_equal(path(i).state, state);
}

/*
 * SX-38: retransmissions that are pending on a failed path use the other one too (RFC 9260 6.4.1).
 */
static void lost_data_leaves_a_path_that_fails(void **state)
{
	const struct iw_sctp_times t = { .path_max_retrans = 1, .hb_interval = IW_SEC(1) };

	(void)state;
	open_listed(&t);
	pass(IW_SEC(5), 3);
	wait_for(1, IW_SCTP_PATH_INACTIVE, 1);
	post_of(4, 1000);
	/* a timeout without another path: one of the four is retransmitted */
	while (path(0).errors == 0)
		pass(IW_MSEC(10), 0);
	assert_int_equal(path(1).state, IW_SCTP_PATH_INACTIVE);
	wait_for(1, IW_SCTP_PATH_ACTIVE, 2);
	wait_for(0, IW_SCTP_PATH_INACTIVE, 2);
	assert_true(path(0).flight > 0);
	memset(&went, 0, sizeof(went));
	pass(IW_MSEC(100), 2);
	assert_int_equal(went.data[0], 0);
	assert_int_equal(path(1).flight, 3 * 1016);
	hand_close(&h);
}

/* Path 0 has timed out with more chunks in flight than path 1 has room for, which is for 5. */
static uint32_t time_out_with_more_than_path_1_takes(void)
{
	uint32_t acked = 0;

	open_listed(NULL);
	pass(IW_SEC(5), 3);
	post_of(40, 1000);
	for (; acked < 20; acked += 5)
		acknowledge(h.peer_tsn + acked + 4);
	assert_true(path(0).flight >= 8 * 1016);
	while (path(1).flight < 5 * 1016)
		pass(IW_MSEC(10), 0);
	assert_int_equal(path(0).flight, 0);
	return acked;
}

/*
 * 8.2: a SACK that arrives after the timeout counts for the path on which the chunks were sent, not
 * for the one on which they would have been sent again.
 */
static void late_sack_counts_for_the_path_that_carried_the_chunks(void **state)
{
	uint32_t acked;
	uint64_t srtt;

	(void)state;
	acked = time_out_with_more_than_path_1_takes();
	assert_int_equal(path(0).errors, 1);
	srtt = path(1).srtt;
	acknowledge_gap(h.peer_tsn + acked - 1, 6, 7);
	assert_int_equal(path(0).errors, 0);
	assert_int_equal(path(1).srtt, srtt);
	assert_int_equal(path(1).flight, 5 * 1016);
	hand_close(&h);
}

/* The state of the engine, below the functions for users. */
static struct path *inner(unsigned i)
{
	return &h.n.b.a->paths[i];
}

/*
 * Five chunks are in flight on path 0. The first is then moved to path 1, whose T3 has 10 s left.
 * Returns its seq.
 */
static uint64_t send_the_first_elsewhere(void)
{
	struct out_chunk *c;
	uint64_t seq;

	open_listed(NULL);
	pass(IW_SEC(5), 3);
	post_of(5, 1000);
	seq = h.n.b.a->out.una;
	c = chunk_at(&h.n.b.a->out, seq);
	assert_int_equal(inner(0)->nflight, 5);
	c->path = 1;
	inner(0)->flight -= 1016;
	inner(0)->nflight--;
	inner(1)->flight += 1016;
	inner(1)->nflight++;
	inner(1)->t3_at = h.n.now + IW_SEC(10);
	net_run(&h.n, h.n.now + IW_MSEC(2)); /* before RACK finds a loss, or a probe is sent */
	return seq;
}

/* 6.3.2, R3: what the SACK acknowledges has to be the earliest chunk of the path, not of all. */
static void t3_restarts_with_the_earliest_chunk_of_its_path(void **state)
{
	static const uint16_t gaps[] = { 2, 3, 5, 5 };
	uint64_t seq, t3;

	(void)state;
	seq = send_the_first_elsewhere();
	t3 = inner(0)->t3_at;
	acknowledge_gap(h.peer_tsn - 1, 3, 3); /* not the earliest one */
	assert_int_equal(inner(0)->t3_at, t3);
	hand_acknowledge(&h, h.peer_tsn - 1, 100000, gaps, 2);
	assert_int_equal(inner(0)->t3_at, h.n.now + inner(0)->rto);
	assert_int_equal(inner(0)->nflight, 1);
	assert_int_equal(inner(1)->nflight, 1);
	hand_close(&h);

	/* A chunk that waits for its retransmission belongs to the path that will carry it. */
	for (unsigned next = 0; next < 2; next++) {
		seq = send_the_first_elsewhere();
		iw_sctp_mark_lost(h.n.b.a, seq, "gap");
		assert_int_equal(chunk_at(&h.n.b.a->out, seq)->next_path, 1);
		chunk_at(&h.n.b.a->out, seq)->path = (uint8_t)!next;
		chunk_at(&h.n.b.a->out, seq)->next_path = (uint8_t)next;
		inner(next)->cc.cwnd = 0; /* so that it is not retransmitted at once */
		t3 = inner(0)->t3_at;
		acknowledge_gap(h.peer_tsn - 1, 2, 2);
		if (next == 0)
			assert_int_equal(inner(0)->t3_at, t3);
		else
			assert_int_equal(inner(0)->t3_at, h.n.now + inner(0)->rto);
		hand_close(&h);
	}
}

/* 7.2.4, 4 */
static void t3_restarts_if_the_earliest_chunk_of_its_path_is_retransmitted(void **state)
{
	(void)state;
	for (unsigned n = 1; n <= 2; n++) {
		uint64_t seq = send_the_first_elsewhere() + n, t3 = inner(0)->t3_at;

		iw_sctp_mark_lost(h.n.b.a, seq, "gap");
		acknowledge(h.peer_tsn - 1); /* the engine sends what it may */
		assert_int_equal(chunk_at(&h.n.b.a->out, seq)->sends, 2);
		assert_int_equal(inner(0)->t3_at, n == 1 ? h.n.now + inner(0)->rto : t3);
		hand_close(&h);
	}
}

/* 6.3.2, R2 */
static void t3_stops_with_the_last_chunk_of_its_path(void **state)
{
	(void)state;
	send_the_first_elsewhere();
	acknowledge_gap(h.peer_tsn - 1, 2, 5);
	assert_int_equal(inner(0)->t3_at, IW_TIME_NEVER);
	assert_true(inner(1)->t3_at > h.n.now + IW_SEC(9));
	hand_close(&h);
}

/* 6.4: chunks that another path lost, and that were to be retransmitted on the path that fails now. */
static void lost_data_leaves_a_path_that_never_carried_it(void **state)
{
	uint32_t acked;

	(void)state;
	acked = time_out_with_more_than_path_1_takes();
	while (path(1).errors == 0)
		pass(IW_MSEC(10), 0);
	acknowledge(h.peer_tsn + acked + 4);
	memset(&went, 0, sizeof(went));
	pass(IW_MSEC(100), 0);
	assert_int_equal(went.data[1], 0);
	assert_true(went.data[0] > 0);
	hand_close(&h);
}

/* SX-38: errors of an address that was never verified do not count for the peer (RFC 9260 5.4). */
static void unverified_address_does_not_end_the_association(void **state)
{
	const struct iw_sctp_times t = { .assoc_max_retrans = 2 };

	(void)state;
	open_listed(&t);
	pass(IW_SEC(120), 1);
	assert_true(path(1).errors > 3);
	assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_ESTABLISHED);
	hand_close(&h);
}

/* SX-38: only errors in a row count: an acknowledgement clears the association's count as well. */
static void acknowledgement_clears_the_count_of_the_association(void **state)
{
	struct iw_sctp_facts f;

	(void)state;
	hand_open(&h);
	h.n.b.cfg.times.assoc_max_retrans = 2;
	net_start(&h.n);
	hand_up(&h);
	for (uint32_t round = 0; round < 3; round++) {
		post(1);
		do {
			pass(IW_MSEC(10), 0);
			iw_sctp_facts(h.n.b.a, &f);
		} while (f.timeouts < 2 * (round + 1));
		say(0, IW_SCTP_SACK,
		    (const uint8_t[]){ (h.peer_tsn + round) >> 24,
				       (uint8_t)((h.peer_tsn + round) >> 16),
				       (uint8_t)((h.peer_tsn + round) >> 8),
				       (uint8_t)(h.peer_tsn + round), 0, 1, 0, 0, 0, 0, 0, 0 },
		    12);
		assert_int_equal(net_acked(h.n.b.a), round + 1);
	}
	assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_ESTABLISHED);
	hand_close(&h);
}

/*
 * SX-38, SCTP-71: the end by Association.Max.Retrans is an event, and so are pending completions.
 */
static void end_of_the_association_reports_what_was_outstanding(void **state)
{
	struct iw_sctp_done d;
	unsigned sent = 0, all = 0;

	(void)state;
	hand_open(&h);
	h.n.b.cfg.times.assoc_max_retrans = 1;
	net_start(&h.n);
	hand_up(&h);
	post(60);
	assert_false(net_has_event(&h.n.b, IW_SCTP_EV_DONE));
	assert_false(iw_sctp_next_done(h.n.b.a, &d));
	pass(IW_SEC(10), 0);
	assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_CLOSED);
	assert_true(net_has_event(&h.n.b, IW_SCTP_EV_DONE));
	assert_true(net_has_event(&h.n.b, IW_SCTP_EV_DOWN));
	for (; iw_sctp_next_done(h.n.b.a, &d); all++) {
		assert_int_equal(d.seq, all);
		assert_int_equal(d.status, IW_E_CANCELED);
		sent += d.sent;
	}
	assert_int_equal(all, 60);
	assert_in_range(sent, 1, 59);
	hand_close(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unverified_address_gets_heartbeats_and_nothing_else),
		cmocka_unit_test(address_that_never_answers_does_not_block_its_owner),
		cmocka_unit_test(unverified_address_gets_no_sack_and_no_shutdown),
		cmocka_unit_test(shutdown_sent_sends_no_heartbeat),
		cmocka_unit_test(each_heartbeat_has_a_nonce_of_its_own),
		cmocka_unit_test(heartbeat_ack_is_used_once),
		cmocka_unit_test(cookie_echo_confirms_only_the_source_of_the_init),
		cmocka_unit_test(sack_is_sent_to_a_confirmed_address_only),
		cmocka_unit_test(udp_port_is_kept_for_each_address),
		cmocka_unit_test(inactive_path_gets_no_data),
		cmocka_unit_test(lost_data_leaves_a_path_that_fails),
		cmocka_unit_test(lost_data_leaves_a_path_that_never_carried_it),
		cmocka_unit_test(late_sack_counts_for_the_path_that_carried_the_chunks),
		cmocka_unit_test(t3_restarts_with_the_earliest_chunk_of_its_path),
		cmocka_unit_test(t3_restarts_if_the_earliest_chunk_of_its_path_is_retransmitted),
		cmocka_unit_test(t3_stops_with_the_last_chunk_of_its_path),
		cmocka_unit_test(unverified_address_does_not_end_the_association),
		cmocka_unit_test(acknowledgement_clears_the_count_of_the_association),
		cmocka_unit_test(end_of_the_association_reports_what_was_outstanding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
