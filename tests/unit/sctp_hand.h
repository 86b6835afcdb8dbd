/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A peer for one endpoint of sctp_net.h. The test writes the peer's packets chunk by chunk, and
 * reads the endpoint's answers, which are not sent anywhere else.
 */
#ifndef TESTS_SCTP_HAND_H
#define TESTS_SCTP_HAND_H

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "unit/sctp_net.h"

enum { CAUGHT = 256, HAND_TAG = 0x11111111, HAND_TSN = 1000 };

struct caught {
	uint8_t data[2048];
	size_t len;
	struct iw_sctp_addr to;
};

struct hand {
	struct net n;
	struct net_end *e; /* the endpoint under test: b, unless the test changes it */
	struct iw_sctp_addr src;
	uint16_t port;
	uint32_t tag, peer_tag; /* our packets have peer_tag */
	uint32_t tsn, peer_tsn;
	uint8_t out[4096];
	size_t len;
	struct caught caught[CAUGHT];
	unsigned ncaught, taken;
	bool zero_checksum; /* packets may have it (RFC 9653) */
};

static inline bool hand_tap(struct net *n, struct net_end *from, uint8_t *data, size_t len)
{
	struct hand *h = n->tap_user;
	struct caught *c = &h->caught[h->ncaught % CAUGHT];

	if (from != h->e)
		return true;
	assert_true(len <= sizeof(c->data));
	if (!h->zero_checksum || iw_get_le32(data + 8) != 0)
		assert_int_equal(iw_get_le32(data + 8), iw_wire_sctp_checksum(data, len));
	memcpy(c->data, data, len);
	c->len = len;
	c->to = n->tap_to;
	h->ncaught++;
	return false;
}

/* Prepares a test. Change h->n.b.cfg if necessary, then call net_start. */
static inline void hand_open(struct hand *h)
{
	memset(h, 0, sizeof(*h));
	net_init(&h->n, 7);
	h->e = &h->n.b;
	h->n.tap = hand_tap;
	h->n.tap_user = h;
	h->src = net_addr(9);
	h->port = 4000;
	h->tag = HAND_TAG;
	h->tsn = HAND_TSN;
}

/* Begins a packet without chunks. */
static inline void hand_begin(struct hand *h, uint32_t vtag)
{
	struct iw_sctp_hdr hdr = { .sport = h->port, .dport = h->e->cfg.port, .vtag = vtag };

	h->len = (size_t)iw_wire_sctp_hdr_encode(h->out, sizeof(h->out), &hdr);
}

static inline void hand_chunk(struct hand *h, uint8_t type, uint8_t flags, const void *value,
			      size_t len)
{
	struct iw_sctp_chunk c = { .type = type, .flags = flags, .value = value, .value_len = len };
	int n = iw_wire_sctp_chunk_encode(h->out + h->len, sizeof(h->out) - h->len, &c);

	assert_true(n > 0);
	h->len += (size_t)n;
}

static inline void hand_data(struct hand *h, uint8_t flags, uint32_t tsn, uint16_t stream,
			     const void *data, size_t len)
{
	struct iw_sctp_data d = { .tsn = tsn, .stream = stream, .ppid = 16, .len = len };
	int n = iw_wire_sctp_data_encode(h->out + h->len, sizeof(h->out) - h->len, flags, &d);

	assert_int_equal(n, 16);
	h->len += 16;
	memcpy(h->out + h->len, data, len);
	memset(h->out + h->len + len, 0, 3);
	h->len += len + iw_sctp_pad(len);
}

/* Delivers the packet and catches the engine's output. */
static inline void hand_send(struct hand *h)
{
	net_inject(&h->n, h->e, &h->src, h->out, h->len);
	net_run(&h->n, h->n.now);
}

/* Sends a packet with one chunk. */
static inline void hand_say(struct hand *h, uint32_t vtag, uint8_t type, uint8_t flags,
			    const void *value, size_t len)
{
	hand_begin(h, vtag);
	hand_chunk(h, type, flags, value, len);
	hand_send(h);
}

/* Sends a packet with one DATA chunk that contains the text. */
static inline void hand_say_data(struct hand *h, uint8_t flags, uint32_t tsn, uint16_t stream,
				 const char *text)
{
	hand_begin(h, h->peer_tag);
	hand_data(h, flags, tsn, stream, text, strlen(text));
	hand_send(h);
}

/* Appends a SACK chunk to the packet. gaps: start and end of each block. */
static inline void hand_sack(struct hand *h, uint32_t cum, uint32_t rwnd, const uint16_t *gaps,
			     uint16_t ngaps)
{
	uint8_t blocks[64], value[96];
	struct iw_sctp_sack s = { .cum = cum, .a_rwnd = rwnd, .ngaps = ngaps, .gaps = blocks };

	for (unsigned i = 0; i < 2u * ngaps; i++)
		iw_put_be16(blocks + 2 * i, gaps[i]);
	hand_chunk(h, IW_SCTP_SACK, 0, value,
		   (size_t)iw_wire_sctp_sack_encode(value, sizeof(value), &s));
}

static inline void hand_acknowledge(struct hand *h, uint32_t cum, uint32_t rwnd,
				    const uint16_t *gaps, uint16_t ngaps)
{
	hand_begin(h, h->peer_tag);
	hand_sack(h, cum, rwnd, gaps, ngaps);
	hand_send(h);
}

/* Returns the next caught packet, or NULL. */
static inline const struct caught *hand_take(struct hand *h)
{
	return h->taken < h->ncaught ? &h->caught[h->taken++ % CAUGHT] : NULL;
}

static inline void hand_forget(struct hand *h)
{
	h->taken = h->ncaught;
}

/* Decodes chunk i of a packet; false: the packet has fewer chunks. */
static inline bool chunk_of(const struct caught *p, unsigned i, struct iw_sctp_chunk *c)
{
	size_t pos = IW_SCTP_HDR_LEN;
	int n;

	do {
		n = iw_wire_sctp_chunk_decode(c, p->data + pos, p->len - pos);
		if (n <= 0)
			return false;
		pos += (size_t)n;
	} while (i-- > 0);
	return true;
}

/* Asserts that the next packet has exactly this one chunk, and returns it. */
static inline struct iw_sctp_chunk hand_expect(struct hand *h, uint8_t type, uint32_t vtag)
{
	const struct caught *p = hand_take(h);
	struct iw_sctp_chunk c, more;

	assert_non_null(p);
	assert_true(chunk_of(p, 0, &c));
	assert_int_equal(c.type, type);
	assert_int_equal(iw_get_be32(p->data + 4), vtag);
	assert_false(chunk_of(p, 1, &more));
	return c;
}

static inline void hand_expect_nothing(struct hand *h)
{
	assert_null(hand_take(h));
}

/* Waits for a packet with such a chunk for at most ns, and drops others. False: not received. */
static inline bool hand_wait(struct hand *h, uint8_t type, uint64_t ns, struct iw_sctp_chunk *c)
{
	uint64_t end = h->n.now + ns;

	for (;;) {
		const struct caught *p = hand_take(h);

		if (p) {
			for (unsigned i = 0; chunk_of(p, i, c); i++)
				if (c->type == type)
					return true;
			continue;
		}
		if (h->n.now >= end)
			return false;
		net_run(&h->n, h->n.now + IW_MSEC(1));
	}
}

/* Reads the next SACK of the packets already caught; false: they have no SACK. */
static inline bool hand_take_sack(struct hand *h, struct iw_sctp_sack *s)
{
	struct iw_sctp_chunk c;

	return hand_wait(h, IW_SCTP_SACK, 0, &c) &&
	       iw_wire_sctp_sack_decode(s, c.value, c.value_len) > 0;
}

/* Writes the TSNs of the DATA caught since the last call, in order. Returns their number. */
static inline unsigned hand_tsns(struct hand *h, uint32_t *out, unsigned max)
{
	const struct caught *p;
	unsigned n = 0;

	while ((p = hand_take(h))) {
		struct iw_sctp_chunk c;
		struct iw_sctp_data d;

		for (unsigned i = 0; chunk_of(p, i, &c); i++)
			if (c.type == IW_SCTP_DATA &&
			    iw_wire_sctp_data_decode(&d, c.value, c.value_len) && n < max)
				out[n++] = d.tsn;
	}
	return n;
}

static inline void hand_answer_heartbeats(struct hand *h, uint64_t wait)
{
	struct iw_sctp_chunk c;
	uint8_t copy[64];

	for (; hand_wait(h, IW_SCTP_HEARTBEAT, wait, &c); wait = 0) {
		memcpy(copy, c.value, c.value_len);
		hand_say(h, h->peer_tag, IW_SCTP_HEARTBEAT_ACK, 0, copy, c.value_len);
	}
}

/* Lets the user of a send a message of len octets. Returns the result of iw_sctp_send. */
static inline int hand_post(struct iw_sctp_assoc *a, size_t len)
{
	static uint8_t octets[9000];
	struct iw_vec v = { octets, len };
	struct iw_sctp_send m = { .ppid = 16, .vec = &v, .nvec = 1 };

	return iw_sctp_send(a, &m, NULL);
}

static const uint8_t hand_adaptation[] = { 0xc0, 6, 0, 8, 0, 0, 0, 1 };

static inline void hand_init_chunk(struct hand *h, uint8_t type, const struct iw_sctp_init *i)
{
	uint8_t value[1024];
	int n = iw_wire_sctp_init_encode(value, sizeof(value), i);

	assert_true(n > 0);
	hand_chunk(h, type, 0, value, (size_t)n);
}

static inline struct iw_sctp_init hand_init(const struct hand *h)
{
	return (struct iw_sctp_init){ .tag = h->tag,
				      .a_rwnd = 65536,
				      .os = 10,
				      .mis = 10,
				      .tsn = h->tsn,
				      .params = hand_adaptation,
				      .params_len = sizeof(hand_adaptation) };
}

/* Reads tag, TSN and cookie of an INIT ACK. */
static inline struct iw_sctp_param hand_read_init_ack(struct hand *h, const struct iw_sctp_chunk *c)
{
	struct iw_sctp_init i;
	struct iw_sctp_param p;

	assert_true(iw_wire_sctp_init_decode(&i, c->value, c->value_len) > 0);
	h->peer_tag = i.tag;
	h->peer_tsn = i.tsn;
	assert_true(iw_wire_sctp_param_decode(&p, i.params, i.params_len) > 0);
	assert_int_equal(p.type, IW_SCTP_PARAM_COOKIE);
	return p;
}

static inline void hand_send_init(struct hand *h, struct iw_sctp_init i)
{
	hand_begin(h, 0);
	hand_init_chunk(h, IW_SCTP_INIT, &i);
	hand_send(h);
}

static inline void hand_echo(struct hand *h, uint32_t vtag, const uint8_t *cookie, size_t len)
{
	hand_say(h, vtag, IW_SCTP_COOKIE_ECHO, 0, cookie, len);
}

/* Copies the cookie of the INIT ACK that answers this INIT. Returns its length. */
static inline size_t hand_get_cookie_for(struct hand *h, const struct iw_sctp_init *i,
					 uint8_t *copy)
{
	struct iw_sctp_chunk c;
	struct iw_sctp_param cookie;

	hand_send_init(h, *i);
	c = hand_expect(h, IW_SCTP_INIT_ACK, i->tag);
	cookie = hand_read_init_ack(h, &c);
	memcpy(copy, cookie.value, cookie.value_len);
	return cookie.value_len;
}

static inline size_t hand_get_cookie(struct hand *h, uint8_t *copy)
{
	struct iw_sctp_init i = hand_init(h);

	return hand_get_cookie_for(h, &i, copy);
}

/* The other role: a connects, and the test acts as b. The first INIT of a has been taken. */
static inline void hand_open_called(struct hand *h)
{
	hand_open(h);
	h->e = &h->n.a;
	h->src = h->n.b.addr[0];
	h->port = NET_PORT_B;
	net_start(&h->n);
	net_connect(&h->n);
	net_run(&h->n, h->n.now);
	h->peer_tag = iw_get_be32(hand_expect(h, IW_SCTP_INIT, 0).value);
}

static inline void hand_answer_init(struct hand *h, uint32_t tag, const uint8_t *params, size_t len)
{
	struct iw_sctp_init i = hand_init(h);

	i.tag = tag;
	i.params = params;
	i.params_len = len;
	hand_begin(h, h->peer_tag);
	hand_init_chunk(h, IW_SCTP_INIT_ACK, &i);
	hand_send(h);
}

/* Parameters of an INIT ACK: adaptation and a cookie of four octets. */
static const uint8_t hand_with_cookie[] = { 0xc0, 6, 0, 8, 0,   0,   0,   1,
					    0,    7, 0, 8, 'c', 'o', 'o', 'k' };

static inline void hand_cookie_ack(struct hand *h)
{
	hand_say(h, h->peer_tag, IW_SCTP_COOKIE_ACK, 0, NULL, 0);
}

/* Sets an association up, from INIT to COOKIE ACK, and drops the first heartbeats. */
static inline void hand_up_with(struct hand *h, const struct iw_sctp_init *i)
{
	struct iw_sctp_chunk c;
	struct iw_sctp_param cookie;

	hand_begin(h, 0);
	hand_init_chunk(h, IW_SCTP_INIT, i);
	hand_send(h);
	c = hand_expect(h, IW_SCTP_INIT_ACK, h->tag);
	cookie = hand_read_init_ack(h, &c);
	hand_begin(h, h->peer_tag);
	hand_chunk(h, IW_SCTP_COOKIE_ECHO, 0, cookie.value, cookie.value_len);
	hand_send(h);
	assert_true(hand_wait(h, IW_SCTP_COOKIE_ACK, 0, &c));
	hand_forget(h);
	assert_non_null(h->e->a);
}

static inline void hand_up(struct hand *h)
{
	struct iw_sctp_init i = hand_init(h);

	hand_up_with(h, &i);
}

static inline void hand_close(struct hand *h)
{
	net_free(&h->n);
}

/* The first cause of an ABORT or ERROR; 0: it has no cause. */
static inline uint16_t cause_of(const struct iw_sctp_chunk *c)
{
	struct iw_sctp_param p;

	return iw_wire_sctp_param_decode(&p, c->value, c->value_len) > 0 ? p.type : 0;
}

#endif
