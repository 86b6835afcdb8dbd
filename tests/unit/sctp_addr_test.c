// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Addresses that a peer lists, and peers that share an address: scope, number, HEARTBEATs, UDP
 * ports.
 */
#include "sctp/sctp.h"

#include "sctp/internal.h"

#include "unit/sctp_hand.h"

static struct hand h;

/* --- INITs that list addresses ---------------------------------------------------------------- */

struct list {
	uint8_t octets[1000];
	size_t len;
};

static void list_begin(struct list *l)
{
	memcpy(l->octets, hand_adaptation, sizeof(hand_adaptation));
	l->len = sizeof(hand_adaptation);
}

static void list_v4(struct list *l, uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
	const uint8_t param[] = { 0, 5, 0, 8, a, b, c, d };

	memcpy(l->octets + l->len, param, sizeof(param));
	l->len += sizeof(param);
}

static void list_v6(struct list *l, const struct iw_sctp_addr *a)
{
	memcpy(l->octets + l->len, (const uint8_t[]){ 0, 6, 0, 20 }, 4);
	memcpy(l->octets + l->len + 4, a->ip, 16);
	l->len += 20;
}

static struct iw_sctp_addr v4(uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
	return (struct iw_sctp_addr){ .ip = { [10] = 0xff, [11] = 0xff, a, b, c, d } };
}

static struct iw_sctp_addr v6(uint8_t first, uint8_t second, uint8_t last)
{
	return (struct iw_sctp_addr){ .ip = { [0] = first, [1] = second, [15] = last } };
}

static void open_from(struct iw_sctp_addr src, const struct list *l)
{
	struct iw_sctp_init i;

	hand_open(&h);
	h.src = src;
	net_start(&h.n);
	i = hand_init(&h);
	i.params = l->octets;
	i.params_len = l->len;
	hand_up_with(&h, &i);
}

/* One chunk arrives at b from src for its address local. */
static void arrives_at(const struct iw_sctp_addr *src, const struct iw_sctp_addr *local,
		       uint8_t type, const void *value, size_t len)
{
	struct iw_sctp_packet p = { .peer = *src, .local = *local, .data = h.out };
	struct iw_sctp_recv m;

	hand_begin(&h, h.peer_tag);
	hand_chunk(&h, type, 0, value, len);
	iw_put_le32(h.out + 8, iw_wire_sctp_checksum(h.out, h.len));
	p.len = h.len;
	iw_sctp_input(h.n.b.s, &p, h.n.now);
	assert_false(iw_sctp_next(h.n.b.s, &m));
}

static unsigned paths(void)
{
	struct iw_sctp_facts f;

	iw_sctp_facts(h.n.b.a, &f);
	return f.paths;
}

static bool has_path(struct iw_sctp_addr a)
{
	struct iw_sctp_path p;

	for (unsigned i = 0; i < paths(); i++)
		if (iw_sctp_path(h.n.b.a, i, &p) == 0 && iw_sctp_addr_same_ip(&p.addr, &a))
			return true;
	return false;
}

/* SX-34: loopback is this host's own, and 169.254.0.0/16 is on a link of its own. */
static void listed_ipv4_address_out_of_scope_is_ignored(void **state)
{
	const struct iw_sctp_addr mapped = v4(192, 0, 2, 78); /* in an IPv6 parameter: 3.3.2.1.2 */
	struct list l;

	(void)state;
	list_begin(&l);
	list_v4(&l, 127, 0, 0, 1);
	list_v4(&l, 169, 254, 7, 7);
	list_v4(&l, 0, 0, 0, 0);
	list_v4(&l, 224, 0, 0, 1);
	list_v4(&l, 255, 255, 255, 255);
	list_v6(&l, &mapped);
	list_v4(&l, 192, 0, 2, 77);
	open_from(net_addr(9), &l);
	assert_int_equal(paths(), 2);
	assert_true(has_path(v4(192, 0, 2, 77)));
	hand_close(&h);
}

static void address_is_in_scope_if_the_peers_source_address_has_that_scope(void **state)
{
	struct list l;

	(void)state;
	list_begin(&l);
	list_v4(&l, 127, 0, 0, 2);
	list_v4(&l, 192, 0, 2, 77);
	list_v4(&l, 169, 254, 7, 7);
	open_from(v4(127, 0, 0, 1), &l);
	assert_int_equal(paths(), 3);
	assert_true(has_path(v4(127, 0, 0, 2)));
	assert_true(has_path(v4(192, 0, 2, 77)));
	hand_close(&h);
	list_begin(&l);
	list_v4(&l, 169, 254, 7, 7);
	list_v4(&l, 127, 0, 0, 1);
	open_from(v4(169, 254, 1, 1), &l);
	assert_int_equal(paths(), 2);
	assert_true(has_path(v4(169, 254, 7, 7)));
	hand_close(&h);
}

/*
 * RFC 9260 3.3.2.1.2: an IPv4-mapped address in an IPv6 parameter would pass for an IPv4 address.
 */
static void listed_ipv6_address_out_of_scope_is_ignored(void **state)
{
	const struct iw_sctp_addr out[] = { v6(0, 0, 1), v6(0xfe, 0x80, 5), v6(0xff, 2, 1),
					    v4(192, 0, 2, 77), v6(0, 0, 0) };
	const struct iw_sctp_addr in = v6(0x20, 1, 7);
	struct iw_sctp_addr link = v6(0xfe, 0x80, 9);
	struct list l;

	(void)state;
	list_begin(&l);
	for (size_t i = 0; i < IW_ARRAY_LEN(out); i++)
		list_v6(&l, &out[i]);
	list_v6(&l, &in);
	open_from(v6(0x20, 1, 1), &l);
	assert_int_equal(paths(), 2);
	assert_true(has_path(in));
	hand_close(&h);
	/* From a link-local address, those of the same link are in scope. */
	link.scope = 3;
	open_from(link, &l);
	link = v6(0xfe, 0x80, 5);
	link.scope = 3;
	assert_int_equal(paths(), 3);
	assert_true(has_path(link));
	assert_true(has_path(in));
	hand_close(&h);
}

static void list_many(struct list *l, unsigned n)
{
	list_begin(l);
	for (unsigned i = 0; i < n; i++)
		list_v4(l, 192, 0, 2, (uint8_t)(100 + i));
}

static void further_listed_addresses_are_ignored(void **state)
{
	struct list l;

	(void)state;
	list_many(&l, 100);
	open_from(net_addr(9), &l);
	assert_int_equal(paths(), IW_SCTP_PATHS_MAX);
	hand_close(&h);
}

/*
 * SX-32: RFC 9260 5.1: the COOKIE ACK is sent from the address that the COOKIE ECHO was sent to,
 * also if the COOKIE ECHO is from an address that is listed and not confirmed yet.
 */
static void cookie_ack_is_sent_from_the_address_of_the_cookie_echo(void **state)
{
	const struct iw_sctp_addr second = v4(192, 0, 2, 77), local = net_addr(60);
	struct iw_sctp_packet out;
	uint8_t cookie[1024], buf[2048];
	struct iw_sctp_init i;
	struct list l;
	size_t len;

	(void)state;
	list_begin(&l);
	list_v4(&l, 192, 0, 2, 77);
	hand_open(&h);
	net_start(&h.n);
	i = hand_init(&h);
	i.params = l.octets;
	i.params_len = l.len;
	len = hand_get_cookie_for(&h, &i, cookie);
	arrives_at(&second, &local, IW_SCTP_COOKIE_ECHO, cookie, len);
	assert_true(iw_sctp_output(h.n.b.s, buf, sizeof(buf), &out, h.n.now) > 0);
	assert_int_equal(buf[IW_SCTP_HDR_LEN], IW_SCTP_COOKIE_ACK);
	assert_true(iw_sctp_addr_same_ip(&out.local, &local));
	assert_true(iw_sctp_addr_same_ip(&out.peer, &h.src));
	hand_close(&h);
}

/* --- HEARTBEATs ------------------------------------------------------------------------------- */

/* The packets sent so far: those with HEARTBEATs to each of 256 hosts, and others. */
static struct {
	unsigned heartbeats[256], all, others;
} went;

static void look(bool answer_first)
{
	const struct caught *p;

	while ((p = hand_take(&h))) {
		struct caught copy = *p;
		struct iw_sctp_chunk c;

		assert_true(chunk_of(&copy, 0, &c));
		if (copy.to.ip[15] == h.src.ip[15]) {
			if (c.type == IW_SCTP_HEARTBEAT && answer_first) {
				hand_begin(&h, h.peer_tag);
				hand_chunk(&h, IW_SCTP_HEARTBEAT_ACK, 0, c.value, c.value_len);
				hand_send(&h);
			}
		} else if (c.type == IW_SCTP_HEARTBEAT) {
			went.heartbeats[copy.to.ip[15]]++;
			went.all++;
		} else {
			went.others++;
		}
	}
}

static void pass(uint64_t ns)
{
	uint64_t end = h.n.now + ns;

	for (look(true); h.n.now < end; look(true))
		net_run(&h.n, h.n.now + IW_MSEC(50));
}

/* SX-34: RFC 9260 5.4: HB.Max.Burst is 1. */
static void unconfirmed_addresses_share_one_heartbeat_an_rto(void **state)
{
	unsigned reached = 0;
	struct list l;

	(void)state;
	list_many(&l, 15);
	memset(&went, 0, sizeof(went));
	open_from(net_addr(9), &l);
	h.taken = 0; /* those that were sent with the COOKIE ACK, too */
	for (unsigned second = 0; second < 30; second++) {
		unsigned before = went.all;

		pass(IW_SEC(1) - 1);
		assert_in_range(went.all - before, 0, 2);
		assert_true(went.all <= second + 2);
	}
	for (unsigned i = 0; i < 256; i++)
		reached += went.heartbeats[i] > 0;
	assert_int_equal(reached, 15);
	assert_int_equal(went.others, 0);
	hand_close(&h);
}

/* SX-34: after Path.Max.Retrans the rate is the usual one, with jitter. */
static void unconfirmed_address_that_never_answers_gets_the_usual_rate(void **state)
{
	struct list l;

	(void)state;
	list_many(&l, 15);
	open_from(net_addr(9), &l);
	pass(IW_SEC(900));
	memset(&went, 0, sizeof(went));
	pass(IW_SEC(3600));
	for (unsigned i = 100; i < 115; i++)
		assert_in_range(went.heartbeats[i], 3600 / (30 + 90) - 1, 3600 / 30);
	assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_ESTABLISHED);
	hand_close(&h);
}

/*
 * SX-34: many associations may list the address of one uninvolved host: an endpoint has a limit for
 * all of them.
 */
static void heartbeats_of_all_associations_to_unconfirmed_addresses_are_limited(void **state)
{
	unsigned heartbeats = 0;
	struct iw_sctp_init i;
	struct list l;

	(void)state;
	list_begin(&l);
	list_v4(&l, 192, 0, 2, 200);
	hand_open(&h);
	h.n.b.cfg.assocs_max = 400;
	net_start(&h.n);
	i = hand_init(&h);
	i.params = l.octets;
	i.params_len = l.len;
	for (unsigned n = 0; n < 300; n++) {
		const struct caught *p;
		struct iw_sctp_chunk c;

		h.src = net_addr(9);
		h.port = (uint16_t)(1000 + n);
		hand_up_with(&h, &i);
		net_run(&h.n, h.n.now);
		for (h.taken = h.ncaught - IW_MIN(h.ncaught, 3u); (p = hand_take(&h));)
			heartbeats += p->to.ip[15] == 200 && chunk_of(p, 0, &c) &&
				      c.type == IW_SCTP_HEARTBEAT;
	}
	assert_in_range(heartbeats, 90, 110);
	hand_close(&h);
}

/* An ICMP message about a packet of b to that address. It ends the association that it finds. */
static void report_unreachable(const struct iw_sctp_addr *to)
{
	uint8_t head[8];

	iw_put_be16(head, h.n.b.cfg.port);
	iw_put_be16(head + 2, h.port);
	iw_put_be32(head + 4, h.tag);
	iw_sctp_unreachable(h.n.b.s, to, head, sizeof(head), h.n.now);
}

/*
 * SX-34: associations that list one unverified address do not make its look-up slow: it is not in
 * the address table. Such a look-up is part of each INIT that lists the address.
 */
static void listed_address_is_looked_up_once_it_is_confirmed(void **state)
{
	const struct iw_sctp_addr listed = v4(192, 0, 2, 200);
	const unsigned many = 40;
	struct iw_sctp_assoc *last;
	struct iw_sctp_chunk c;
	const struct caught *p;
	struct iw_sctp_init i;
	uint8_t info[64];
	struct list l;

	(void)state;
	list_begin(&l);
	list_v4(&l, 192, 0, 2, 200);
	hand_open(&h);
	net_start(&h.n);
	for (unsigned n = 0; n < many; n++) {
		h.src = v4(198, 51, 100, (uint8_t)(n + 1));
		h.tag = HAND_TAG + n;
		i = hand_init(&h);
		i.params = l.octets;
		i.params_len = l.len;
		hand_forget(&h);
		hand_up_with(&h, &i);
	}
	last = h.n.b.a;
	assert_int_equal(h.n.b.s->count, many);
	assert_int_equal(h.n.b.s->addrs.count, many);
	assert_null(iw_sctp_by_addr(h.n.b.s, &listed, h.port));
	report_unreachable(&listed);
	assert_int_equal(h.n.b.s->count, many);
	/* The last peer answers the HEARTBEAT there. */
	do {
		net_run(&h.n, h.n.now + IW_MSEC(100));
		while ((p = hand_take(&h)) &&
		       !(iw_sctp_addr_same_ip(&p->to, &listed) && chunk_of(p, 0, &c) &&
			 c.type == IW_SCTP_HEARTBEAT && iw_get_be32(p->data + 4) == h.tag))
			;
	} while (!p);
	memcpy(info, c.value, c.value_len);
	hand_say(&h, h.peer_tag, IW_SCTP_HEARTBEAT_ACK, 0, info, c.value_len);
	assert_int_equal(h.n.b.s->addrs.count, many + 1);
	assert_non_null(iw_sctp_by_addr(h.n.b.s, &listed, h.port));
	assert_ptr_equal(iw_sctp_by_addr(h.n.b.s, &listed, h.port)->a, last);
	report_unreachable(&listed);
	assert_int_equal(iw_sctp_assoc_state(last), IW_SCTP_CLOSED);
	assert_int_equal(h.n.b.s->addrs.count, many - 1);
	hand_close(&h);
}

/* Sixteen addresses: each answers HEARTBEATs until it is confirmed. */
static void open_confirmed(void)
{
	struct iw_sctp_path p;
	struct list l;
	unsigned confirmed = 0;

	list_many(&l, 15);
	open_from(net_addr(9), &l);
	for (unsigned s = 0; s < 60; s++) {
		const struct caught *c;

		net_run(&h.n, h.n.now + IW_SEC(1));
		while ((c = hand_take(&h))) {
			struct caught copy = *c;
			struct iw_sctp_chunk chunk;

			if (!chunk_of(&copy, 0, &chunk) || chunk.type != IW_SCTP_HEARTBEAT)
				continue;
			hand_begin(&h, h.peer_tag);
			hand_chunk(&h, IW_SCTP_HEARTBEAT_ACK, 0, chunk.value, chunk.value_len);
			hand_send(&h);
		}
	}
	for (unsigned i = 0; i < paths(); i++)
		confirmed += iw_sctp_path(h.n.b.a, i, &p) == 0 && p.confirmed;
	assert_int_equal(confirmed, 16);
}

/*
 * The packets with that chunk: the first ones are lost, and of the others those to the first
 * address arrive.
 */
static unsigned deliver_to_first(uint8_t type, unsigned lost, unsigned *elsewhere)
{
	unsigned all = 0, arrived = 0;

	*elsewhere = 0;
	for (unsigned s = 0; s < 60 && arrived == 0; s++) {
		const struct caught *p;

		net_run(&h.n, h.n.now + IW_SEC(1));
		while ((p = hand_take(&h))) {
			struct iw_sctp_chunk c;

			if (!chunk_of(p, 0, &c) || c.type != type || all++ < lost)
				continue;
			if (p->to.ip[15] == h.src.ip[15])
				arrived++;
			else
				++*elsewhere;
		}
	}
	return arrived;
}

/*
 * SX-38: RFC 9260 6.4.1: retransmissions alternate; unreachable addresses do not keep them from the
 * data path.
 */
static void every_second_retransmission_uses_the_data_path(void **state)
{
	static uint8_t octets[100];
	struct iw_vec v = { octets, sizeof(octets) };
	const struct iw_sctp_send m = { .ppid = 16, .vec = &v, .nvec = 1 };
	unsigned elsewhere;

	(void)state;
	open_confirmed();
	assert_int_equal(iw_sctp_send(h.n.b.a, &m, NULL), 0);
	/* It is sent, and repeated by the tail-loss probe. */
	assert_true(deliver_to_first(IW_SCTP_DATA, 2, &elsewhere) > 0);
	assert_int_equal(elsewhere, 1);
	hand_close(&h);
}

/* SX-27: RFC 9260 9.2 */
static void every_second_shutdown_uses_the_data_path(void **state)
{
	unsigned elsewhere;

	(void)state;
	open_confirmed();
	iw_sctp_shutdown(h.n.b.a, h.n.now);
	assert_true(deliver_to_first(IW_SCTP_SHUTDOWN, 1, &elsewhere) > 0);
	assert_int_equal(elsewhere, 1);
	hand_close(&h);
}

/*
 * SX-34: a packet of many HEARTBEATs with a forged source is answered with no more octets than it
 * has.
 */
static void unconfirmed_source_gets_one_heartbeat_ack_for_a_packet(void **state)
{
	static const uint8_t heartbeat[] = { 0, 1, 0, 4 };
	const struct iw_sctp_addr first = net_addr(9), listed = v4(192, 0, 2, 100);
	unsigned answers[2] = { 0 };
	struct list l;

	(void)state;
	list_many(&l, 1);
	open_from(first, &l);
	for (unsigned i = 0; i < 2; i++) {
		const struct caught *p;
		struct iw_sctp_chunk c;

		h.src = i == 0 ? listed : first;
		hand_begin(&h, h.peer_tag);
		for (unsigned n = 0; n < 20; n++)
			hand_chunk(&h, IW_SCTP_HEARTBEAT, 0, heartbeat, sizeof(heartbeat));
		hand_forget(&h);
		hand_send(&h);
		while ((p = hand_take(&h)))
			answers[i] += chunk_of(p, 0, &c) && c.type == IW_SCTP_HEARTBEAT_ACK &&
				      iw_sctp_addr_same_ip(&p->to, &h.src);
	}
	assert_int_equal(answers[0], 1);
	assert_int_equal(answers[1], 20);
	hand_close(&h);
}

/* SX-38: RFC 9260 8.1: only HEARTBEATs on the data path count as errors of the association. */
static void unreachable_addresses_do_not_end_an_association_whose_data_path_answers(void **state)
{
	struct iw_sctp_path p;

	(void)state;
	open_confirmed();
	pass(IW_SEC(3600));
	assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_ESTABLISHED);
	for (unsigned i = 1; i < paths(); i++) {
		assert_int_equal(iw_sctp_path(h.n.b.a, i, &p), 0);
		assert_int_equal(p.state, IW_SCTP_PATH_INACTIVE);
	}
	/* Then the data path stops answering too. */
	for (unsigned s = 0; s < 1800; s++)
		net_run(&h.n, h.n.now + IW_SEC(1));
	assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_CLOSED);
	hand_close(&h);
}

/* --- peers behind a NAT ----------------------------------------------------------------------- */

/* SX-29: RFC 6951: a NAT gives each of them a UDP port of its own. */
static void initiators_at_one_address_with_one_sctp_port_are_distinguished(void **state)
{
	struct iw_sctp_assoc *first;
	uint32_t first_tag;

	(void)state;
	hand_open(&h);
	h.src.udp_port = 40000;
	net_start(&h.n);
	hand_up(&h);
	first = h.n.b.a;
	first_tag = h.peer_tag;
	h.src.udp_port = 40001;
	h.tag = 0x22222222;
	hand_up(&h);
	assert_ptr_not_equal(h.n.b.a, first);
	assert_int_equal(iw_sctp_assoc_state(first), IW_SCTP_ESTABLISHED);
	assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_ESTABLISHED);
	/* With the tag of the other one alone, a reflected ABORT ends nothing. */
	hand_begin(&h, HAND_TAG);
	hand_chunk(&h, IW_SCTP_ABORT, IW_SCTP_T, NULL, 0);
	hand_send(&h);
	assert_int_equal(iw_sctp_assoc_state(first), IW_SCTP_ESTABLISHED);
	h.src.udp_port = 40000;
	hand_send(&h);
	assert_int_equal(iw_sctp_assoc_state(first), IW_SCTP_CLOSED);
	assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_ESTABLISHED);
	assert_int_not_equal(first_tag, h.peer_tag);
	hand_close(&h);
}

/*
 * SX-29: RFC 6951 5.4: a NAT that forgot the first port assigns another one, and the association
 * follows.
 */
static void association_follows_a_changed_udp_port(void **state)
{
	static const uint8_t heartbeat[] = { 0, 1, 0, 5, 'x' };
	struct iw_sctp_assoc *before;
	struct iw_sctp_path p;
	struct iw_sctp_chunk c;

	(void)state;
	hand_open(&h);
	h.src.udp_port = 40000;
	net_start(&h.n);
	hand_up(&h);
	before = h.n.b.a;
	h.src.udp_port = 50000;
	hand_begin(&h, h.peer_tag);
	hand_chunk(&h, IW_SCTP_HEARTBEAT, 0, heartbeat, sizeof(heartbeat));
	hand_send(&h);
	c = hand_expect(&h, IW_SCTP_HEARTBEAT_ACK, h.tag);
	assert_int_equal(c.value_len, sizeof(heartbeat));
	assert_int_equal(iw_sctp_path(before, 0, &p), 0);
	assert_int_equal(p.addr.udp_port, 50000);
	assert_int_equal(h.n.b.s->addrs.count, 1);
	/* The NAT has assigned the old port to another host. */
	h.src.udp_port = 40000;
	h.tag = 0x22222222;
	hand_up(&h);
	assert_ptr_not_equal(h.n.b.a, before);
	assert_int_equal(iw_sctp_assoc_state(before), IW_SCTP_ESTABLISHED);
	/* The association uses the new port: its peer restarts there. */
	h.src.udp_port = 50000;
	h.tag = 0x33333333;
	hand_up(&h);
	assert_int_equal(iw_sctp_assoc_state(before), IW_SCTP_CLOSED);
	hand_close(&h);
}

/* RFC 8261 6.1: another UDP port is another DTLS session, and so another peer. */
static void over_dtls_an_association_keeps_its_udp_port(void **state)
{
	static const uint8_t heartbeat[] = { 0, 1, 0, 5, 'x' };
	struct iw_sctp_path p;

	(void)state;
	hand_open(&h);
	h.n.b.cfg.dtls_overhead = 37;
	h.src.udp_port = 40000;
	net_start(&h.n);
	hand_up(&h);
	h.src.udp_port = 50000;
	hand_begin(&h, h.peer_tag);
	hand_chunk(&h, IW_SCTP_HEARTBEAT, 0, heartbeat, sizeof(heartbeat));
	hand_send(&h);
	assert_int_equal(iw_sctp_path(h.n.b.a, 0, &p), 0);
	assert_int_equal(p.addr.udp_port, 40000);
	hand_begin(&h, h.peer_tag);
	hand_chunk(&h, IW_SCTP_ABORT, 0, NULL, 0);
	hand_send(&h);
	assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_ESTABLISHED);
	h.src.udp_port = 40000;
	hand_send(&h);
	assert_int_equal(iw_sctp_assoc_state(h.n.b.a), IW_SCTP_CLOSED);
	hand_close(&h);
}

/* RFC 8261 6.1, 4: the record of DTLS is part of each packet of at most the path MTU. */
static void over_dtls_messages_are_shorter_and_listed_addresses_ignored(void **state)
{
	/* IP, UDP, DTLS, SCTP, a DATA chunk and a SACK; chunks are multiples of four octets. */
	enum { OVERHEAD = 37, MOST = ((1200 - 20 - 8 - OVERHEAD - 12) & ~3) - 16 - 16 };
	static uint8_t octets[MOST + 1];
	struct iw_vec v = { octets, MOST + 1 };
	struct iw_sctp_send m = { .ppid = 16, .vec = &v, .nvec = 1 };
	struct iw_sctp_facts f;
	struct iw_sctp_init i;
	struct list l;

	(void)state;
	list_begin(&l);
	list_v4(&l, 192, 0, 2, 200);
	hand_open(&h);
	h.n.b.cfg.dtls_overhead = OVERHEAD;
	h.src.udp_port = 40000;
	net_start(&h.n);
	i = hand_init(&h);
	i.params = l.octets;
	i.params_len = l.len;
	hand_up_with(&h, &i);
	iw_sctp_facts(h.n.b.a, &f);
	assert_int_equal(f.paths, 1);
	assert_int_equal(iw_sctp_send(h.n.b.a, &m, NULL), IW_E_LIMIT);
	v.len = MOST;
	assert_int_equal(iw_sctp_send(h.n.b.a, &m, NULL), 0);
	hand_close(&h);
}

/* Sends a HEARTBEAT with this checksum. Returns the answer; NULL: none. */
static const struct caught *beat(uint32_t checksum)
{
	static const uint8_t heartbeat[] = { 0, 1, 0, 5, 'x' };
	struct iw_sctp_packet p = { .data = h.out, .peer = h.src };
	struct iw_sctp_recv message;

	hand_forget(&h);
	hand_begin(&h, h.peer_tag);
	hand_chunk(&h, IW_SCTP_HEARTBEAT, 0, heartbeat, sizeof(heartbeat));
	iw_put_le32(h.out + IW_SCTP_CHECKSUM_POS, checksum);
	p.len = h.len;
	iw_sctp_input(h.n.b.s, &p, h.n.now);
	assert_false(iw_sctp_next(h.n.b.s, &message));
	net_run(&h.n, h.n.now);
	return hand_take(&h);
}

/* RFC 9653 5: each end omits the checksum if the other one has said that it accepts that. */
static void over_dtls_the_checksum_is_omitted_if_the_peer_accepts_that(void **state)
{
	static const uint8_t accepts[] = { 0x80, 1, 0, 8, 0, 0, 0, 1 };
	static const uint8_t other_method[] = { 0x80, 1, 0, 8, 0, 0, 0, 2 };
	const struct {
		uint32_t overhead;
		const uint8_t *params;
		bool taken, omitted;
	} cases[] = {
		{ 37, accepts, true, true },
		{ 37, NULL, true, false },
		{ 37, other_method, true, false },
		{ 0, accepts, false, false },
	};
	struct iw_vec v = { (void *)(uintptr_t)accepts, sizeof(accepts) };
	struct iw_sctp_send m = { .ppid = 16, .vec = &v, .nvec = 1, .copy = true };

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(cases); i++) {
		const struct caught *data;
		struct iw_sctp_init init;
		struct list l;

		list_begin(&l);
		if (cases[i].params) {
			memcpy(l.octets + l.len, cases[i].params, sizeof(accepts));
			l.len += sizeof(accepts);
		}
		hand_open(&h);
		h.n.b.cfg.dtls_overhead = cases[i].overhead;
		h.src.udp_port = 40000;
		net_start(&h.n);
		h.zero_checksum = cases[i].omitted;
		init = hand_init(&h);
		init.params = l.octets;
		init.params_len = l.len;
		hand_up_with(&h, &init);
		assert_null(beat(1));
		assert_int_equal(beat(0) != NULL, cases[i].taken);
		hand_forget(&h);
		assert_int_equal(iw_sctp_send(h.n.b.a, &m, NULL), 0);
		net_run(&h.n, h.n.now);
		data = hand_take(&h);
		assert_non_null(data);
		assert_int_equal(iw_get_le32(data->data + IW_SCTP_CHECKSUM_POS) == 0,
				 cases[i].omitted);
		hand_close(&h);
	}
}

/* RFC 9653 5.2: the chunks that begin an association have a checksum. */
static void over_dtls_an_init_without_a_checksum_is_dropped(void **state)
{
	struct iw_sctp_packet p = { .data = h.out };
	struct iw_sctp_init i;

	(void)state;
	hand_open(&h);
	h.n.b.cfg.dtls_overhead = 37;
	net_start(&h.n);
	i = hand_init(&h);
	hand_begin(&h, 0);
	hand_init_chunk(&h, IW_SCTP_INIT, &i);
	iw_put_le32(h.out + IW_SCTP_CHECKSUM_POS, 0);
	p.peer = h.src;
	p.len = h.len;
	iw_sctp_input(h.n.b.s, &p, h.n.now);
	net_run(&h.n, h.n.now);
	assert_null(hand_take(&h));
	hand_send(&h);
	(void)hand_expect(&h, IW_SCTP_INIT_ACK, h.tag);
	hand_close(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listed_ipv4_address_out_of_scope_is_ignored),
		cmocka_unit_test(address_is_in_scope_if_the_peers_source_address_has_that_scope),
		cmocka_unit_test(listed_ipv6_address_out_of_scope_is_ignored),
		cmocka_unit_test(further_listed_addresses_are_ignored),
		cmocka_unit_test(cookie_ack_is_sent_from_the_address_of_the_cookie_echo),
		cmocka_unit_test(unconfirmed_addresses_share_one_heartbeat_an_rto),
		cmocka_unit_test(unconfirmed_address_that_never_answers_gets_the_usual_rate),
		cmocka_unit_test(
			heartbeats_of_all_associations_to_unconfirmed_addresses_are_limited),
		cmocka_unit_test(
			unreachable_addresses_do_not_end_an_association_whose_data_path_answers),
		cmocka_unit_test(listed_address_is_looked_up_once_it_is_confirmed),
		cmocka_unit_test(every_second_retransmission_uses_the_data_path),
		cmocka_unit_test(every_second_shutdown_uses_the_data_path),
		cmocka_unit_test(unconfirmed_source_gets_one_heartbeat_ack_for_a_packet),
		cmocka_unit_test(initiators_at_one_address_with_one_sctp_port_are_distinguished),
		cmocka_unit_test(association_follows_a_changed_udp_port),
		cmocka_unit_test(over_dtls_an_association_keeps_its_udp_port),
		cmocka_unit_test(over_dtls_messages_are_shorter_and_listed_addresses_ignored),
		cmocka_unit_test(over_dtls_the_checksum_is_omitted_if_the_peer_accepts_that),
		cmocka_unit_test(over_dtls_an_init_without_a_checksum_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
