// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Many peers of one listener: several that share an address, some whose UDP port changes, and some
 * that list many addresses, reachable or not, their own or other hosts'. The ledger's rules apply
 * to each packet that the listener sends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/scenarios.h"
#include "sim/talk.h"

enum { PORT = 5001, LISTEN_PORT = 5002, LISTED_MAX = 300, HOURS_MAX = 7200, MAPPED = 250 };

struct run {
	struct world w;
	struct talk t;
	struct host *b; /* the listener */
	struct iw_sctp_addr at;
	uint8_t list[LISTED_MAX * 20];
	size_t list_len;
	struct iw_sctp_addr victim[8];
	unsigned nvictims;
};

static struct run r;

static size_t below(size_t n)
{
	return rng_below(&r.w.rng, n);
}

static void begin(uint64_t seed, unsigned scenario, struct iw_sctp_addr at)
{
	static const unsigned losses[] = { 0, 0, 10, 50, 100 };
	static const uint64_t delays[] = { 20000, IW_MSEC(1), IW_MSEC(20), IW_MSEC(200) };

	memset(&r, 0, sizeof(r));
	world_init(&r.w, seed << 8 | scenario);
	r.w.loss = losses[below(IW_ARRAY_LEN(losses))];
	r.w.dup = below(3) ? 0 : (unsigned)below(50);
	r.w.delay = delays[below(IW_ARRAY_LEN(delays))];
	r.w.jitter = below(2) ? 0 : 1 + below(r.w.delay);
	r.at = at;
	r.b = r.w.watched = world_host(&r.w, "listener", at, LISTEN_PORT);
	talk_init(&r.t, &r.w, r.b);
}

/* Checks that everything ends in order and that nothing is left. */
static bool finish(char failure[300])
{
	struct world *w = &r.w;
	const struct talk *t = &r.t;

	if (w->failure[0] == '\0' && !talk_until(&r.t, talk_all_done, w->now + IW_SEC(HOURS_MAX)))
		for (unsigned i = 0; i < t->nflows && w->failure[0] == '\0'; i++)
			if (!flow_done(&t->flow[i]) && !flow_over(&t->flow[i]))
				world_fail(w, "flow %u: %u of %u and %u of %u messages arrived", i,
					   t->flow[i].end[1].came, t->flow[i].end[0].want,
					   t->flow[i].end[0].came, t->flow[i].end[1].want);
	for (unsigned i = 0; i < t->nflows && w->failure[0] == '\0'; i++)
		if (!t->flow[i].shut)
			flow_shutdown(&r.t.flow[i]);
	if (w->failure[0] == '\0' && !talk_until(&r.t, talk_all_over, w->now + IW_SEC(600)))
		world_fail(w, "not all associations end");
	for (unsigned i = 0; i < w->nhosts; i++) {
		struct host *h = &w->host[i];
		size_t limit = world_memory_limit(h, h == r.b ? t->nflows : 2,
						  h == r.b ? talk_queued(t) : 2 * TALK_MSGS);

		if (h->peak > limit)
			world_fail(w, "%s: %zu bytes at once: expected at most %zu", h->name,
				   h->peak, limit);
	}
	world_free(w);
	memcpy(failure, w->failure, sizeof(w->failure));
	return failure[0] == '\0';
}

static unsigned some_messages(void)
{
	return 1 + (unsigned)below(below(4) ? 6 : TALK_MSGS / 4);
}

static bool wait_up(void)
{
	if (r.w.failure[0] == '\0' && !talk_until(&r.t, talk_all_up, r.w.now + IW_SEC(240)))
		world_fail(&r.w, "not all associations come up");
	return r.w.failure[0] == '\0';
}

/* --- several peers with one address ----------------------------------------------------------- */

static struct host *sharing(const struct iw_sctp_addr *addr, unsigned i)
{
	struct iw_sctp_addr own = *addr;
	char name[24];

	own.udp_port = (uint16_t)(own.udp_port + i);
	snprintf(name, sizeof(name), "peer %u", i);
	return world_host(&r.w, name, own, PORT);
}

/* Some associations end and some peers restart, which must not affect the others. */
static void some_end(void)
{
	struct talk *t = &r.t;
	unsigned n = t->nflows;

	for (unsigned i = 0; i < n && r.w.failure[0] == '\0'; i++)
		if (below(3) == 0)
			flow_shutdown(&t->flow[i]);
		else if (below(8) == 0)
			flow_restart(&t->flow[i]);
		else
			flow_more(&t->flow[i], some_messages());
	talk_run(t, r.w.now + IW_MSEC(below(5000)));
	for (unsigned i = 0; i < n && r.w.failure[0] == '\0'; i++)
		if (flow_over(&t->flow[i]) && (t->flow[i].lost || below(2)))
			(void)talk_open(t, t->flow[i].h, &r.at, some_messages());
	wait_up();
}

static bool several_peers_one_address(uint64_t seed, char failure[300])
{
	struct iw_sctp_addr shared = world_ipv4(192, 0, 2, 1, 40000);
	unsigned n;

	begin(seed, 1, world_ipv4(192, 0, 2, 2, IW_SCTP_UDP_PORT));
	n = 2 + (unsigned)below(below(4) ? 6 : 22);
	for (unsigned i = 0; i < n; i++)
		sharing(&shared, i);
	world_start(&r.w);
	for (unsigned i = 0; i < n && r.w.failure[0] == '\0'; i++) {
		(void)talk_open(&r.t, &r.w.host[1 + i], &r.at, some_messages());
		if (below(2))
			talk_run(&r.t, r.w.now + IW_MSEC(below(2000)));
	}
	if (wait_up() && talk_until(&r.t, talk_all_done, r.w.now + IW_SEC(HOURS_MAX)))
		some_end();
	return finish(failure);
}

/* --- NAT rebinding ---------------------------------------------------------------------------- */

/* RFC 6951 5.4. Packets in flight to the old port are lost. */
static bool rebinding(uint64_t seed, char failure[300])
{
	struct iw_sctp_addr shared = world_ipv4(192, 0, 2, 1, 40000);
	uint16_t port = 50000;
	unsigned n, times;

	begin(seed, 2, world_ipv4(192, 0, 2, 2, IW_SCTP_UDP_PORT));
	n = 1 + (unsigned)below(4);
	for (unsigned i = 0; i < n; i++)
		sharing(&shared, i);
	world_start(&r.w);
	for (unsigned i = 0; i < n && r.w.failure[0] == '\0'; i++)
		(void)talk_open(&r.t, &r.w.host[1 + i], &r.at, some_messages());
	times = wait_up() ? 1 + (unsigned)below(6) : 0;
	while (times-- > 0 && r.w.failure[0] == '\0') {
		struct flow *f = &r.t.flow[below(n)];

		f->h->addr[0].udp_port = port++;
		flow_more(f, some_messages());
		/* Sometimes the initiator sends only HEARTBEATs. */
		if (below(2))
			f->end[INITIATOR].want = f->end[INITIATOR].sent;
		if (below(2) && !talk_until(&r.t, talk_all_done, r.w.now + IW_SEC(600)))
			world_fail(&r.w, "%s: not all messages arrive after a new UDP port",
				   f->h->name);
		talk_run(&r.t, r.w.now + IW_MSEC(below(below(2) ? 100 : 60000)));
	}
	return finish(failure);
}

/* --- listed addresses ------------------------------------------------------------------------- */

/* Listed as an IPv4-mapped IPv6 address, which is not valid (RFC 9260 3.3.2.1.2). */
static bool is_mapped(const struct iw_sctp_addr *a)
{
	return iw_sctp_addr_is_ipv4(a) && a->ip[12] == 192 && a->ip[15] >= MAPPED;
}

/* Sees the packets of all hosts. */
static bool no_mapped(struct world *w, struct host *from, const struct iw_sctp_addr *dst,
		      const uint8_t *data, size_t len)
{
	(void)from;
	if (is_mapped(dst))
		world_fail(w, "%s of %zu octets to an address that was listed as IPv4-mapped",
			   iw_wire_sctp_chunk_name(data[12]), len);
	return true;
}

static void list_add(const struct iw_sctp_addr *a)
{
	bool v4 = iw_sctp_addr_is_ipv4(a) && !is_mapped(a);
	size_t len = v4 ? 8 : 20;
	uint8_t *p = r.list + r.list_len;

	if (r.list_len + len > sizeof(r.list))
		return;
	iw_put_be16(p, v4 ? IW_SCTP_PARAM_IPV4 : IW_SCTP_PARAM_IPV6);
	iw_put_be16(p + 2, (uint16_t)len);
	memcpy(p + 4, a->ip + (v4 ? 12 : 0), len - 4);
	r.list_len += len;
}

static struct iw_sctp_addr ipv6(uint8_t first, uint8_t second, uint8_t last, uint16_t udp_port)
{
	return (struct iw_sctp_addr){ .ip = { first, second, 0, 1, [15] = last },
				      .udp_port = udp_port };
}

/* An address of the family of @base, which differs from it only in the last octet. */
static struct iw_sctp_addr near(const struct iw_sctp_addr *base, uint8_t last)
{
	struct iw_sctp_addr a = *base;

	a.ip[15] = last;
	return a;
}

static struct iw_sctp_addr out_of_scope(uint16_t udp_port)
{
	switch (below(9)) {
	case 0:
		return world_ipv4(127, 0, 0, 1 + (unsigned)below(3), udp_port);
	case 1:
		return world_ipv4(169, 254, 1, (unsigned)below(255), udp_port);
	case 2:
		return world_ipv4(224, 0, 0, 1 + (unsigned)below(20), udp_port);
	case 3:
		return world_ipv4(255, 255, 255, 255, udp_port);
	case 4:
		return world_ipv4(0, 0, 0, (unsigned)below(2), udp_port);
	case 5:
		return (struct iw_sctp_addr){ .ip = { [15] = 1 }, .udp_port = udp_port };
	case 6:
		return ipv6(0xfe, 0x80, 9, udp_port);
	case 7:
		return ipv6(0xff, 0x02, 1, udp_port);
	}
	return (struct iw_sctp_addr){ .udp_port = udp_port };
}

/* Makes a list of own addresses of the lister, addresses of uninvolved hosts, and unreachable ones,
 * in any order. */
static void make_list(struct host *lister)
{
	unsigned n = (unsigned)below(below(3) ? 24 : LISTED_MAX);

	for (unsigned i = 1; i < lister->naddrs && below(8); i++)
		list_add(&lister->addr[i]);
	for (unsigned i = 0; i < n; i++) {
		struct iw_sctp_addr a = near(&lister->addr[0], (uint8_t)(100 + below(150)));

		switch (below(6)) {
		case 0:
			a = lister->addr[below(lister->naddrs)];
			break;
		case 1:
		case 2:
			if (r.nvictims > 0)
				a = r.victim[below(r.nvictims)];
			break;
		case 3:
			a = below(4) ? out_of_scope(a.udp_port)
				     : near(&a, (uint8_t)(MAPPED + below(4)));
			break;
		}
		list_add(&a);
	}
	lister->list = r.list;
	lister->list_len = r.list_len;
}

static struct iw_sctp_addr some_home(struct iw_sctp_addr *listener)
{
	uint16_t udp = below(2) ? IW_SCTP_UDP_PORT : 0;
	struct iw_sctp_addr home;

	switch (below(5)) {
	case 0:
		home = ipv6(0x20, 0x01, 1, udp);
		break;
	case 1:
		home = ipv6(0xfe, 0x80, 1, udp);
		home.scope = 3;
		break;
	default:
		home = world_ipv4(192, 0, 2, 1, udp);
	}
	*listener = near(&home, 2);
	return home;
}

/* Hosts that take no part at first; some open an association with the listener later. */
static void make_victims(const struct iw_sctp_addr *home)
{
	r.nvictims = (unsigned)below(IW_ARRAY_LEN(r.victim));
	for (unsigned i = 0; i < r.nvictims; i++) {
		char name[24];

		snprintf(name, sizeof(name), "victim %u", i);
		r.victim[i] = near(home, (uint8_t)(40 + i));
		world_host(&r.w, name, r.victim[i], PORT);
	}
}

static void paths_are_few(const struct flow *f)
{
	for (unsigned side = 0; side < 2; side++) {
		struct iw_sctp_facts facts;

		if (!f->end[side].a)
			continue;
		iw_sctp_facts(f->end[side].a, &facts);
		if (facts.paths > IW_SCTP_PATHS_MAX)
			world_fail(&r.w, "%u paths", facts.paths);
	}
}

/* One address may fail, or all but the first, which is the primary path. */
static void disturb(struct host *lister)
{
	lister->dead = 0;
	if (lister->naddrs > 1 && below(2))
		lister->dead = below(2) ? 1u << (1 + below(lister->naddrs - 1)) : ~1u;
}

static bool listed_addresses(uint64_t seed, char failure[300])
{
	struct iw_sctp_addr at, home;
	struct host *a, *lister;
	unsigned called = 0, rounds;

	memset(&r, 0, sizeof(r));
	r.w.rng.state = seed;
	home = some_home(&at);
	begin(seed, 3, at);
	r.w.tap = no_mapped;
	a = world_host(&r.w, "initiator", home, PORT);
	lister = below(4) ? a : r.b;
	if (lister == r.b) { /* then the initiator is the end that must not be misused */
		r.w.watched = a;
		r.b->hostile = true;
	}
	for (unsigned n = (unsigned)below(below(3) ? 4 : HOST_ADDRS); lister->naddrs < 1 + n;
	     lister->naddrs++)
		lister->addr[lister->naddrs] = near(&home, (uint8_t)(10 + lister->naddrs));
	make_victims(&home);
	make_list(lister);
	world_start(&r.w);
	(void)talk_open(&r.t, a, &r.at, some_messages());
	rounds = wait_up() ? 3 + (unsigned)below(12) : 0;
	while (rounds-- > 0 && r.w.failure[0] == '\0') {
		disturb(lister);
		flow_more(&r.t.flow[0], some_messages());
		if (called < r.nvictims && below(3) == 0)
			(void)talk_open(&r.t, &r.w.host[2 + called++], &r.at, some_messages());
		wait_up();
		paths_are_few(&r.t.flow[0]);
		talk_run(&r.t, r.w.now + IW_MSEC(below(below(2) ? 20000 : 400000)));
	}
	return finish(failure);
}

const struct sim_scenario sim_peers[] = {
	{ "several-peers-one-address", several_peers_one_address },
	{ "rebinding", rebinding },
	{ "listed-addresses", listed_addresses },
	{ NULL, NULL },
};
