// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The SCTP engine against an attacker who knows the tags. The first octet selects how far the
 * set-up has gone. The rest is a list of events: chunks of all kinds with TSNs near the valid ones,
 * raw chunks, raw packets, passing time, messages of the user, shutdown, ICMP.
 *
 * For all input: each packet sent is well-formed and fits the path; the answers to a packet are
 * bounded; messages are readable and not empty; time advances; no memory leaks.
 */
#include "sctp/sctp.h"

#include "counting_mem.h"
#include "fuzz/property.h"
#include "rng.h"
#include "util/num.h"
#include "wire/sctp.h"

enum { PORT = 5002, PEER_PORT = 4000, MTU = 1500, PEER_TAG = 0x11111111, ANSWERS = 200 };

struct enemy {
	struct counting_mem mem;
	struct rng random;
	struct iw_sctp *s;
	struct iw_sctp_assoc *a;
	uint64_t now;
	struct iw_sctp_addr src;
	uint32_t tag;           /* of the engine */
	uint32_t tsn, peer_tsn; /* our next TSN; the first one of the engine */
	uint8_t cookie[512];
	size_t cookie_len;
	uint8_t pkt[2048];
	size_t len;
};

static int seeded(void *ctx, void *buf, size_t len)
{
	rng_fill(ctx, buf, len);
	return 0;
}

/* --- output of the engine --------------------------------------------------------------------- */

static void read_init_ack(struct enemy *e, const struct iw_sctp_chunk *c)
{
	struct iw_sctp_init i;
	struct iw_sctp_param p;

	must(iw_wire_sctp_init_decode(&i, c->value, c->value_len) > 0);
	must(iw_wire_sctp_param_decode(&p, i.params, i.params_len) > 0 &&
	     p.value_len <= sizeof(e->cookie));
	e->tag = i.tag;
	e->peer_tsn = i.tsn;
	memcpy(e->cookie, p.value, p.value_len);
	e->cookie_len = p.value_len;
}

static void look_at(struct enemy *e, const uint8_t *data, size_t len,
		    const struct iw_sctp_packet *out)
{
	size_t pos = IW_SCTP_HDR_LEN;
	struct iw_sctp_chunk c;
	int n;

	must(len > IW_SCTP_HDR_LEN && len + 20 <= MTU && len % 4 == 0);
	must(iw_get_le32(data + 8) == iw_wire_sctp_checksum(data, len));
	must(iw_get_be16(data) == PORT && iw_get_be16(data + 2) != 0);
	must(out->data == NULL);
	while (pos < len) {
		n = iw_wire_sctp_chunk_decode(&c, data + pos, len - pos);
		must(n > 0);
		if (c.type == IW_SCTP_INIT_ACK && iw_get_be32(data + 4) == PEER_TAG)
			read_init_ack(e, &c);
		if (c.type == IW_SCTP_INIT)
			e->tag = iw_get_be32(c.value);
		if (c.type == IW_SCTP_DATA)
			must(c.value_len > 12 && (c.flags & 7) == 7);
		pos += (size_t)n;
	}
}

static void drain(struct enemy *e)
{
	uint8_t buf[MTU];
	struct iw_sctp_packet out;
	struct iw_sctp_event ev;
	struct iw_sctp_done d;
	unsigned packets = 0;
	size_t len;

	while ((len = iw_sctp_output(e->s, buf, sizeof(buf), &out, e->now)) > 0) {
		look_at(e, buf, len, &out);
		must(++packets < ANSWERS);
	}
	while (iw_sctp_next_event(e->s, &ev)) {
		if (ev.kind == IW_SCTP_EV_UP)
			e->a = ev.assoc;
		while (iw_sctp_next_done(ev.assoc, &d))
			must(d.cookie == 5);
		if (ev.kind == IW_SCTP_EV_DOWN) {
			must(iw_sctp_assoc_state(ev.assoc) == IW_SCTP_CLOSED);
			if (e->a == ev.assoc)
				e->a = NULL;
			iw_sctp_assoc_free(ev.assoc);
		}
	}
}

/* --- packets of the attacker ------------------------------------------------------------------ */

static void arrives(struct enemy *e, const uint8_t *data, size_t len)
{
	struct iw_sctp_packet p = { .peer = e->src, .data = data, .len = len };
	volatile unsigned sum = 0;
	struct iw_sctp_recv m;

	iw_sctp_input(e->s, &p, e->now);
	while (iw_sctp_next(e->s, &m)) {
		must(m.len > 0 && m.assoc && m.stream < 16);
		sum += m.data[0] + m.data[m.len - 1]; /* must be readable under a sanitizer */
	}
	drain(e);
}

static void begin(struct enemy *e, uint32_t tag)
{
	struct iw_sctp_hdr h = { .sport = PEER_PORT, .dport = PORT, .vtag = tag };

	e->len = (size_t)iw_wire_sctp_hdr_encode(e->pkt, sizeof(e->pkt), &h);
}

static void add(struct enemy *e, uint8_t type, uint8_t flags, const void *value, size_t len)
{
	struct iw_sctp_chunk c = { .type = type, .flags = flags, .value = value, .value_len = len };
	int n = iw_wire_sctp_chunk_encode(e->pkt + e->len, sizeof(e->pkt) - e->len, &c);

	if (n > 0)
		e->len += (size_t)n;
}

static void send_it(struct enemy *e)
{
	if (e->len == IW_SCTP_HDR_LEN)
		return;
	iw_put_le32(e->pkt + 8, iw_wire_sctp_checksum(e->pkt, e->len));
	arrives(e, e->pkt, e->len);
	begin(e, e->tag);
}

static void init_chunk(struct enemy *e, uint8_t type, bool cookie)
{
	static const uint8_t params[] = { 0xc0, 6, 0, 8,  0, 0, 0, 1, 0, 5, 0, 8,
					  192,  0, 2, 50, 0, 7, 0, 8, 1, 2, 3, 4 };
	uint8_t value[64];
	struct iw_sctp_init i = { .tag = PEER_TAG,
				  .a_rwnd = 65536,
				  .os = 16,
				  .mis = 16,
				  .tsn = e->tsn,
				  .params = params,
				  .params_len = cookie ? 24 : 16 };

	add(e, type, 0, value, (size_t)iw_wire_sctp_init_encode(value, sizeof(value), &i));
}

/* How far the set-up goes before the attack begins. */
enum depth { LISTENING, UP, CALLING, ECHOED, DEPTHS };

static void go(struct enemy *e, enum depth depth)
{
	switch (depth) {
	case UP:
		begin(e, 0);
		init_chunk(e, IW_SCTP_INIT, false);
		send_it(e);
		begin(e, e->tag);
		add(e, IW_SCTP_COOKIE_ECHO, 0, e->cookie, e->cookie_len);
		send_it(e);
		must(e->a);
		return;
	case CALLING:
	case ECHOED:
		must(iw_sctp_connect(e->s, &e->a, &e->src, PEER_PORT, NULL, e->now) == 0);
		drain(e);
		if (depth == CALLING)
			return;
		begin(e, e->tag);
		init_chunk(e, IW_SCTP_INIT_ACK, true);
		send_it(e);
		return;
	case LISTENING:
	case DEPTHS:
		return;
	}
}

static void user_sends(struct enemy *e, size_t len, bool copy)
{
	static uint8_t octets[MTU];
	struct iw_vec v = { octets, len };
	struct iw_sctp_send m = { .vec = &v, .nvec = 1, .copy = copy, .cookie = 5 };
	int err = e->a ? iw_sctp_send(e->a, &m, NULL) : 0;

	must(err <= 0);
	drain(e);
}

static void time_passes(struct enemy *e, uint64_t ns)
{
	uint64_t end = e->now + ns;

	for (unsigned i = 0; iw_sctp_deadline(e->s) <= end; i++) {
		e->now = IW_MAX(e->now, iw_sctp_deadline(e->s));
		iw_sctp_timeout(e->s, e->now);
		drain(e);
		must(iw_sctp_deadline(e->s) > e->now && i < 10000);
	}
	e->now = end;
}

static void data_chunk(struct enemy *e, const uint8_t *p)
{
	uint8_t value[12 + 300];
	size_t len = p[4] < 250 ? p[4] : 300;

	iw_put_be32(value, e->tsn + (uint32_t)(int8_t)p[1] * (p[2] & 0x80 ? 300 : 1));
	iw_put_be16(value + 4, p[2] & 0x1f);
	iw_put_be16(value + 6, 0);
	iw_put_be32(value + 8, 16);
	memset(value + 12, p[3], len);
	add(e, IW_SCTP_DATA, p[3] & 0x80 ? p[3] : 7 & ~(p[3] & 3), value, 12 + len);
	if (p[1] == 0)
		e->tsn++;
}

static void sack_chunk(struct enemy *e, const uint8_t *p)
{
	uint8_t value[24];

	iw_put_be32(value, e->peer_tsn - 1 + (uint32_t)(int8_t)p[1]);
	iw_put_be32(value + 4, p[2] < 128 ? 65536u : p[2]);
	iw_put_be16(value + 8, p[3] ? 1 + (p[3] >> 7) : 0);
	iw_put_be16(value + 10, 0);
	iw_put_be16(value + 12, p[3] & 15);
	iw_put_be16(value + 14, (uint16_t)((p[3] & 15) + (p[3] >> 4 & 7)));
	iw_put_be16(value + 16, p[4] & 31);
	iw_put_be16(value + 18, (uint16_t)((p[4] & 31) + (p[4] >> 5)));
	add(e, IW_SCTP_SACK, 0, value, 12u + 4 * (p[3] ? 1u + (p[3] >> 7) : 0));
}

/* Performs one event. Returns the octets of input that it used. */
static size_t happen(struct enemy *e, const uint8_t *p, size_t len)
{
	size_t n = IW_MIN((size_t)p[1], len - 5);

	switch (p[0] % 16) {
	case 0:
	case 1:
	case 2:
		data_chunk(e, p);
		break;
	case 3:
	case 4:
		sack_chunk(e, p);
		break;
	case 5: /* any chunk */
		add(e, p[2], p[3], p + 5, n);
		return 5 + n;
	case 6: /* any packet with the right tag and checksum */
		send_it(e);
		if (n) {
			memcpy(e->pkt + e->len, p + 5, n);
			e->len += n;
			send_it(e);
		}
		return 5 + n;
	case 7: /* any packet */
		arrives(e, p + 5, n);
		return 5 + n;
	case 8:
		time_passes(e, (uint64_t)(1 + p[1]) * (p[2] & 1 ? IW_MSEC(7) : IW_SEC(1)));
		break;
	case 9:
	case 10:
		user_sends(e, 1 + 5u * p[1], p[2] & 1);
		break;
	case 11:
		if (e->a && p[1] == 77)
			iw_sctp_shutdown(e->a, e->now);
		else if (e->a && p[1] == 78)
			iw_sctp_abort(e->a, "why", e->now);
		else if (e->a)
			iw_sctp_set_held(e->a, p[2] * 300u);
		drain(e);
		break;
	case 12: {
		uint8_t head[8] = { PORT >> 8, PORT & 0xff, PEER_PORT >> 8, PEER_PORT & 0xff };

		iw_put_be32(head + 4, PEER_TAG);
		if (p[2] == 99)
			iw_sctp_unreachable(e->s, &e->src, head, p[1] % 9u, e->now);
		else
			iw_sctp_too_big(e->s, &e->src, head, 8, 8u * p[1], e->now);
		drain(e);
		break;
	}
	case 13: { /* small control chunks with valid contents */
		static const uint8_t types[] = {
			IW_SCTP_SHUTDOWN,   IW_SCTP_SHUTDOWN_ACK, IW_SCTP_SHUTDOWN_COMPLETE,
			IW_SCTP_COOKIE_ACK, IW_SCTP_ABORT,        IW_SCTP_HEARTBEAT
		};
		uint8_t cum[4];

		iw_put_be32(cum, e->peer_tsn - 1 + p[2] % 4);
		add(e, types[p[1] % IW_ARRAY_LEN(types)], p[3] & 1, cum,
		    p[1] % IW_ARRAY_LEN(types) ? 0 : 4);
		break;
	}
	case 14:
		send_it(e);
		begin(e, 0);
		init_chunk(e, IW_SCTP_INIT, false);
		send_it(e);
		add(e, IW_SCTP_COOKIE_ECHO, 0, e->cookie, e->cookie_len);
		break;
	case 15:
		send_it(e);
		break;
	}
	return 5;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct enemy e = { .now = IW_SEC(1000),
			   .random = { 7 },
			   .tsn = 0xfffffff0u,
			   .src = { .ip = { [10] = 0xff, [11] = 0xff, 192, 0, 2, 9 } } };
	struct iw_sctp_cfg cfg = {
		.mem = &e.mem.mem,
		.random = seeded,
		.random_ctx = &e.random,
		.port = PORT,
		.listen = true,
		.streams = 16,
		.adaptation = 1,
		.rwnd = 65536,
		.reasm_max = 2000,
		.mtu = MTU,
		.assocs_max = 3,
	};

	if (len < 1)
		return 0;
	counting_mem_init(&e.mem);
	must(iw_sctp_new(&e.s, &cfg, NULL) == 0);
	go(&e, (enum depth)(data[0] % DEPTHS));
	begin(&e, e.tag);
	for (data++, len--; len >= 5;) {
		size_t n = happen(&e, data, len);

		data += n;
		len -= n;
	}
	send_it(&e);
	time_passes(&e, IW_SEC(3));
	iw_sctp_free(e.s);
	must(e.mem.blocks == 0 && e.mem.wrong_size == 0);
	return 0;
}
