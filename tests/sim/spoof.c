// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An adversary that forges source addresses. It knows the listener's address and port, and the
 * tags, TSNs and cookie of its own association with it; it guesses the tags of others. The ledger
 * limits what the listener sends to all addresses but the adversary's, and the associations of the
 * other hosts must not be affected.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/scenarios.h"
#include "sim/talk.h"

enum { PORT = 5001, LISTEN_PORT = 5002, UNINVOLVED = 12, LISTED = 24, COOKIE_MAX = 1024 };

struct run {
	struct world w;
	struct talk t;
	struct host *b, *m; /* the listener, the adversary */
	struct iw_sctp_addr at;
	/* hosts without SCTP, or addresses without a host */
	struct iw_sctp_addr uninvolved[UNINVOLVED];
	uint8_t list[LISTED * 8];
	/* The adversary's association, as far as the adversary's packets show it. */
	uint32_t tag, peer_tag, tsn, cum;
	uint8_t cookie[COOKIE_MAX];
	size_t cookie_len;
	bool forge_cookie;         /* its own COOKIE ECHO has a forged source */
	struct iw_sctp_assoc *own; /* the adversary's end of it */
	uint32_t old_tag;          /* of an association that has ended */
	uint8_t out[WORLD_PACKET];
	size_t len;
};

static struct run r;

static size_t below(size_t n)
{
	return rng_below(&r.w.rng, n);
}

static uint32_t any32(void)
{
	return (uint32_t)rng_next(&r.w.rng);
}

static struct iw_sctp_addr some_source(void)
{
	struct iw_sctp_addr a;

	switch (below(4)) {
	case 0:
		a = r.m->addr[0];
		break;
	case 1:
		a = r.t.flow[below(r.t.nflows)].h->addr[0];
		break;
	default:
		a = r.uninvolved[below(UNINVOLVED)];
	}
	if (a.udp_port && below(8) == 0)
		a.udp_port = (uint16_t)(1 + below(65535));
	return a;
}

/* --- the adversary's own association ---------------------------------------------------------- */

static bool see(struct world *w, struct host *from, const struct iw_sctp_addr *dst,
		const uint8_t *data, size_t len)
{
	struct iw_sctp_chunk c;
	struct iw_sctp_data d;
	int n;

	if (from != r.m && !(from == w->watched && iw_get_be32(data + 4) == r.tag))
		return true;
	for (size_t at = IW_SCTP_HDR_LEN;
	     (n = iw_wire_sctp_chunk_decode(&c, data + at, len - at)) > 0; at += (size_t)n) {
		if (c.type == IW_SCTP_DATA &&
		    iw_wire_sctp_data_decode(&d, c.value, c.value_len) > 0)
			*(from == r.m ? &r.tsn : &r.cum) = d.tsn;
		if (from != r.m)
			continue;
		if (c.type == IW_SCTP_INIT) {
			r.old_tag = r.peer_tag;
			r.tag = iw_get_be32(c.value);
			r.tsn = iw_get_be32(c.value + 12) - 1;
		} else {
			r.peer_tag = iw_get_be32(data + 4);
		}
		if (c.type == IW_SCTP_COOKIE_ECHO && c.value_len <= sizeof(r.cookie)) {
			memcpy(r.cookie, c.value, c.value_len);
			r.cookie_len = c.value_len;
			if (r.forge_cookie) {
				struct iw_sctp_addr src = some_source();

				world_inject(w, &src, dst, data, len);
				return false;
			}
		}
	}
	return true;
}

static void own_event(struct host *h, const struct iw_sctp_event *ev)
{
	(void)h;
	if (ev->kind == IW_SCTP_EV_DOWN) {
		iw_sctp_assoc_free(ev->assoc);
		if (ev->assoc == r.own)
			r.own = NULL;
	}
}

static void post(struct host *h, struct iw_sctp_assoc *a)
{
	static uint8_t octets[900];
	struct iw_vec v = { octets, 1 + below(sizeof(octets)) };
	struct iw_sctp_send m = { .ppid = 16, .vec = &v, .nvec = 1, .copy = true };

	/* Only while the association is established. */
	if (iw_sctp_assoc_state(a) == IW_SCTP_ESTABLISHED && iw_sctp_send(a, &m, NULL) == 0)
		h->dirty = true;
}

/* Opens the association again after it has ended. The listener also sends messages on it. */
static void keep_own(void)
{
	struct iw_sctp_done d;

	r.forge_cookie = below(3) == 0;
	if (!r.own && below(4) == 0 &&
	    iw_sctp_connect(r.m->s, &r.own, &r.at, LISTEN_PORT, NULL, r.w.now) == 0)
		r.m->dirty = true;
	if (r.own && below(4) == 0)
		post(r.m, r.own);
	if (r.own)
		while (iw_sctp_next_done(r.own, &d))
			continue;
	if (r.t.stranger && below(3) == 0)
		post(r.b, r.t.stranger);
	if (r.t.stranger)
		while (iw_sctp_next_done(r.t.stranger, &d))
			continue;
}

/* --- forged packets --------------------------------------------------------------------------- */

static void chunk(uint8_t type, uint8_t flags, const void *value, size_t len)
{
	struct iw_sctp_chunk c = { .type = type, .flags = flags, .value = value, .value_len = len };
	int n = iw_wire_sctp_chunk_encode(r.out + r.len, WORLD_MTU - 48 - r.len, &c);

	if (n > 0)
		r.len += (size_t)n;
}

static void init_chunk(void)
{
	uint8_t value[1400] = { 0 };
	size_t len = IW_SCTP_INIT_LEN, more;
	uint32_t unknown = (uint32_t)(0x8000 | below(2) << 14 | 0x3f00) << 16;

	iw_put_be32(value, below(3) ? any32() : r.tag);
	iw_put_be32(value + 4, 65536);
	iw_put_be16(value + 8, (uint16_t)(1 + below(8)));
	iw_put_be16(value + 10, (uint16_t)(1 + below(8)));
	iw_put_be32(value + 12, any32());
	if (below(6)) { /* Adaptation Layer Indication */
		iw_put_be32(value + len, (uint32_t)IW_SCTP_PARAM_ADAPTATION << 16 | 8);
		iw_put_be32(value + len + 4, below(6) ? 1 : any32());
		len += 8;
	}
	more = below(2) * 8 * below(LISTED);
	memcpy(value + len, r.list, more);
	len += more;
	for (size_t i = below(2) * below(150); i > 0; i--, len += 4)
		iw_put_be32(value + len, unknown | 4);
	chunk(IW_SCTP_INIT, 0, value, len);
}

static void data_chunk(void)
{
	uint8_t value[1000] = { 0 };
	uint32_t ahead = below(3) ? 1 + (uint32_t)below(200) : (uint32_t)below(8) - 8;

	iw_put_be32(value, r.tsn + ahead);
	iw_put_be16(value + 4, (uint16_t)below(6)); /* sometimes a stream that does not exist */
	chunk(IW_SCTP_DATA, (uint8_t)(below(20) ? 7 : 4 + below(4)), value,
	      13 + below(below(2) ? 8 : sizeof(value) - 13));
}

static void sack_chunk(void)
{
	uint8_t value[IW_SCTP_SACK_LEN + 4] = { 0 };

	iw_put_be32(value, r.cum - (uint32_t)below(3));
	iw_put_be32(value + 4, 65536);
	iw_put_be16(value + 8, 1);
	iw_put_be16(value + 12, 2);
	iw_put_be16(value + 14, (uint16_t)(2 + below(4)));
	chunk(IW_SCTP_SACK, 0, value, below(2) ? sizeof(value) : IW_SCTP_SACK_LEN);
}

/* Adds one kind of chunk, once or several times. */
static void some_chunks(void)
{
	static const uint8_t plain[] = { IW_SCTP_SHUTDOWN_ACK,
					 IW_SCTP_COOKIE_ACK,
					 IW_SCTP_SHUTDOWN_COMPLETE,
					 0x3f,
					 0x7f,
					 0xbf,
					 0xff };
	uint8_t info[64] = { 0, 1, 0, 16, 0, (uint8_t)below(16) };
	uint8_t stale[] = { 0, 3, 0, 8, 0, 0, 0, 1 }, cum[4];
	size_t times = below(4) ? 1 : 1 + below(120), len = below(sizeof(info));
	unsigned what = (unsigned)below(20);

	iw_put_be32(cum, r.cum - (uint32_t)below(2));
	for (; times > 0; times--)
		if (what < 5)
			data_chunk();
		else if (what < 10)
			chunk(IW_SCTP_HEARTBEAT, 0, info, len);
		else if (what < 12)
			chunk(IW_SCTP_HEARTBEAT_ACK, 0, info, 16);
		else if (what < 14)
			sack_chunk();
		else if (what == 14)
			chunk(IW_SCTP_SHUTDOWN, 0, cum, 4);
		else if (what == 15)
			chunk(IW_SCTP_ERROR, 0, stale, sizeof(stale));
		else if (what == 16)
			chunk(IW_SCTP_ABORT, (uint8_t)below(2), NULL, 0);
		else
			chunk(plain[below(sizeof(plain))], (uint8_t)below(2), info, len & 12);
}

/* A tag: that of the adversary's association, that of an ended one, zero, or a guess. */
static uint32_t some_tag(void)
{
	switch (below(8)) {
	case 0:
		return any32();
	case 1:
		return r.tag;
	case 2:
		return r.old_tag;
	case 3:
		return 0;
	}
	return r.peer_tag;
}

static void forge(void)
{
	struct iw_sctp_hdr h = { .sport = PORT, .dport = LISTEN_PORT, .vtag = some_tag() };
	struct iw_sctp_addr src = some_source();
	unsigned what = (unsigned)below(8);

	if (below(10) == 0)
		h.sport = (uint16_t)(1 + below(65535));
	if (below(20) == 0)
		h.dport = (uint16_t)(1 + below(65535));
	if (what < 2)
		h.vtag = 0;
	else if (what == 2)
		h.vtag = r.peer_tag;
	(void)iw_wire_sctp_hdr_encode(r.out, sizeof(r.out), &h);
	r.len = IW_SCTP_HDR_LEN;
	if (what < 2)
		init_chunk();
	else if (what == 2 && r.cookie_len > 0)
		chunk(IW_SCTP_COOKIE_ECHO, 0, r.cookie, r.cookie_len);
	if (what >= 2 && (what > 2 || below(3)))
		some_chunks();
	if (r.len > IW_SCTP_HDR_LEN)
		world_inject(&r.w, &src, &r.at, r.out, r.len);
}

static void forge_begin(uint32_t tag)
{
	struct iw_sctp_hdr h = { .sport = PORT, .dport = LISTEN_PORT, .vtag = tag };

	(void)iw_wire_sctp_hdr_encode(r.out, sizeof(r.out), &h);
	r.len = IW_SCTP_HDR_LEN;
}

/*
 * Many small packets of the adversary's association from one forged source, each with chunks that
 * cause a long answer: DATA with gaps and duplicates, several HEARTBEATs, chunks to be reported, an
 * INIT.
 */
static void forge_many(void)
{
	struct iw_sctp_addr src = some_source();
	unsigned what = (unsigned)below(4);
	uint32_t tsn = r.tsn;

	for (size_t n = 10 + below(50); n > 0; n--) {
		uint8_t value[13] = { 0 };

		forge_begin(what == 3 ? 0 : r.peer_tag);
		iw_put_be32(value, tsn += 2);
		if (what == 0)
			chunk(IW_SCTP_DATA, 7, value, sizeof(value));
		for (size_t k = 1 + below(8); k > 0 && what == 1; k--)
			chunk(IW_SCTP_HEARTBEAT, 0, NULL, 0);
		for (size_t k = 1 + below(8); k > 0 && what == 2; k--)
			chunk(0x7f, 0, NULL, 0);
		if (what == 3)
			init_chunk();
		world_inject(&r.w, &src, &r.at, r.out, r.len);
	}
}

/* With the ports of an association and a guess of its tag, or with the tag of the adversary's own
 * association. */
static void forge_icmp(void)
{
	struct host *target = r.t.flow[below(r.t.nflows)].h;
	struct iw_sctp_addr peer = r.at;
	uint8_t head[32] = { 0 };
	size_t len = below(sizeof(head) + 1);
	bool at_listener = below(2);

	iw_put_be16(head, at_listener ? LISTEN_PORT : PORT);
	iw_put_be16(head + 2, at_listener ? PORT : LISTEN_PORT);
	iw_put_be32(head + 4, below(4) ? any32() : below(2) ? r.tag : 0);
	head[IW_SCTP_HDR_LEN] = below(2) ? IW_SCTP_INIT : IW_SCTP_DATA;
	if (at_listener) {
		peer = some_source();
		target = r.b;
	}
	if (below(2))
		iw_sctp_too_big(target->s, &peer, head, len, (uint32_t)below(1500), r.w.now);
	else
		iw_sctp_unreachable(target->s, &peer, head, len, r.w.now);
	target->dirty = true;
}

/* Checks that no forged ICMP message has lowered the path MTU of an association without losses. */
static void look_at_paths(void)
{
	struct iw_sctp_path path;

	for (unsigned i = 0; i < r.t.nflows && r.w.loss == 0; i++)
		for (unsigned side = 0; side < 2; side++) {
			const struct iw_sctp_assoc *a = r.t.flow[i].end[side].a;

			if (a && iw_sctp_path(a, 0, &path) == 0 && path.mtu < IW_SCTP_MTU_BASE)
				world_fail(&r.w, "%s: path MTU %u", r.t.flow[i].h->name, path.mtu);
		}
}

/* --- one run ---------------------------------------------------------------------------------- */

static void cast(uint64_t seed)
{
	uint16_t udp;
	unsigned n;

	memset(&r, 0, sizeof(r));
	world_init(&r.w, seed << 8 | 4);
	r.w.loss = below(3) ? 0 : 20;
	r.w.delay = IW_MSEC(1 + below(50));
	r.w.tap = see;
	udp = below(2) ? IW_SCTP_UDP_PORT : 0;
	r.at = world_ipv4(192, 0, 2, 2, udp);
	r.b = r.w.watched = world_host(&r.w, "listener", r.at, LISTEN_PORT);
	talk_init(&r.t, &r.w, r.b);
	r.m = world_host(&r.w, "adversary", world_ipv4(198, 51, 100, 1, udp), PORT);
	r.m->hostile = true;
	r.m->on_event = own_event;
	n = 1 + (unsigned)below(4);
	for (unsigned i = 0; i < n; i++) {
		char name[24];

		snprintf(name, sizeof(name), "victim %u", i);
		world_host(&r.w, name, world_ipv4(192, 0, 2, 10 + i, udp), PORT);
	}
	for (unsigned i = 0; i < UNINVOLVED; i++)
		r.uninvolved[i] = world_ipv4(203, 0, 113, i, udp);
	for (unsigned i = 0; i < LISTED; i++) {
		struct iw_sctp_addr a = below(4) ? r.uninvolved[below(UNINVOLVED / 2)]
						 : r.w.host[2 + below(n)].addr[0];

		iw_put_be32(r.list + 8 * i, IW_SCTP_PARAM_IPV4 << 16 | 8);
		memcpy(r.list + 8 * i + 4, a.ip + 12, 4);
	}
	r.m->list = r.list;
	r.m->list_len = 8 * below(LISTED + 1);
	world_start(&r.w);
}

static void finish(void)
{
	struct world *w = &r.w;
	size_t limit = world_memory_limit(r.b, r.t.nflows + r.t.strangers, talk_queued(&r.t) + 64);

	if (!talk_until(&r.t, talk_all_done, w->now + IW_SEC(600)))
		world_fail(w, "not all messages arrive");
	for (unsigned i = 0; i < r.t.nflows && w->failure[0] == '\0'; i++)
		flow_shutdown(&r.t.flow[i]);
	if (w->failure[0] == '\0' && !talk_until(&r.t, talk_all_over, w->now + IW_SEC(600)))
		world_fail(w, "not all associations end");
	/* The adversary may use the reassembly buffer of each of its associations. */
	limit += r.t.strangers * (size_t)65536;
	if (r.b->peak > limit)
		world_fail(w, "%s: %zu bytes at once: expected at most %zu", r.b->name, r.b->peak,
			   limit);
}

static bool spoofed_sources(uint64_t seed, char failure[300])
{
	unsigned rounds;

	cast(seed);
	if (below(2))
		keep_own();
	for (unsigned i = 2; i < r.w.nhosts; i++)
		(void)talk_open(&r.t, &r.w.host[i], &r.at, 4 + (unsigned)below(12));
	rounds = 20 + (unsigned)below(60);
	while (rounds-- > 0 && r.w.failure[0] == '\0') {
		keep_own();
		for (size_t n = below(8); n > 0; n--)
			forge();
		if (below(6) == 0)
			forge_many();
		if (below(4) == 0)
			forge_icmp();
		talk_run(&r.t, r.w.now + IW_MSEC(below(below(4) ? 300 : 20000)));
		look_at_paths();
	}
	if (r.w.failure[0] == '\0')
		finish();
	world_free(&r.w);
	memcpy(failure, r.w.failure, sizeof(r.w.failure));
	return failure[0] == '\0';
}

const struct sim_scenario sim_spoof[] = {
	{ "spoofed-sources", spoofed_sources },
	{ NULL, NULL },
};
