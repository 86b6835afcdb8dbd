// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "unit/sctp_net.h"

#include <stdio.h>
#include <string.h>

struct iw_sctp_addr net_addr(unsigned host)
{
	return (struct iw_sctp_addr){
		.ip = { [10] = 0xff, [11] = 0xff, 192, 0, 2, (uint8_t)host }
	};
}

static int seeded(void *ctx, void *buf, size_t len)
{
	rng_fill(ctx, buf, len);
	return 0;
}

static void end_init(struct net *n, struct net_end *e, const char *name, uint16_t port,
		     unsigned host)
{
	counting_mem_init(&e->mem);
	e->name = name;
	e->net = n;
	e->addr[0] = net_addr(host);
	e->naddrs = 1;
	e->random.state = rng_next(&n->rng);
	e->cfg = (struct iw_sctp_cfg){
		.mem = &e->mem.mem,
		.random = seeded,
		.random_ctx = &e->random,
		.port = port,
		.listen = port == NET_PORT_B,
		.streams = 16,
		.adaptation = 1,
		.adaptation_required = true,
		.rwnd = 1 << 20,
		.mtu = NET_MTU,
		.assocs_max = 100,
	};
}

void net_init(struct net *n, uint64_t seed)
{
	memset(n, 0, sizeof(*n));
	n->rng.state = seed;
	n->now = IW_SEC(1000);
	n->ab.delay = n->ba.delay = IW_MSEC(10);
	end_init(n, &n->a, "a", NET_PORT_A, 1);
	end_init(n, &n->b, "b", NET_PORT_B, 2);
}

void net_make(struct net_end *e)
{
	struct iw_fault why;

	if (iw_sctp_new(&e->s, &e->cfg, &why) < 0) {
		fprintf(stderr, "%s: %s\n", e->name, why.text);
		abort();
	}
}

void net_start(struct net *n)
{
	net_make(&n->a);
	net_make(&n->b);
}

static void end_free(struct net_end *e)
{
	iw_sctp_free(e->s);
	if (e->mem.blocks || e->mem.wrong_size) {
		fprintf(stderr, "%s: %zu blocks left, %zu given back with a wrong size\n", e->name,
			e->mem.blocks, e->mem.wrong_size);
		abort();
	}
}

void net_free(struct net *n)
{
	while (n->nfly)
		free(n->fly[--n->nfly].data);
	free(n->fly);
	end_free(&n->a);
	end_free(&n->b);
}

/* --- the link --------------------------------------------------------------------------------- */

/* A heap, the earliest packet first; packets with the same time stay in order. */
static bool before(const struct flying *a, const struct flying *b)
{
	return a->at < b->at || (a->at == b->at && a->order < b->order);
}

static void swap(struct flying *a, struct flying *b)
{
	struct flying t = *a;

	*a = *b;
	*b = t;
}

static void launch(struct net *n, struct flying f)
{
	size_t i = n->nfly++;

	if (n->nfly > n->cap) {
		n->cap = n->cap ? 2 * n->cap : 64;
		n->fly = realloc(n->fly, n->cap * sizeof(*n->fly));
		if (!n->fly)
			abort();
	}
	f.order = n->order++;
	n->fly[i] = f;
	for (; i > 0 && before(&n->fly[i], &n->fly[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&n->fly[i], &n->fly[(i - 1) / 2]);
}

static struct flying land(struct net *n)
{
	struct flying first = n->fly[0];
	size_t i = 0;

	n->fly[0] = n->fly[--n->nfly];
	for (;;) {
		size_t least = i, l = 2 * i + 1;

		if (l < n->nfly && before(&n->fly[l], &n->fly[least]))
			least = l;
		if (l + 1 < n->nfly && before(&n->fly[l + 1], &n->fly[least]))
			least = l + 1;
		if (least == i)
			return first;
		swap(&n->fly[i], &n->fly[least]);
		i = least;
	}
}

static bool chance(struct net *n, unsigned in_a_thousand)
{
	return in_a_thousand && rng_below(&n->rng, 1000) < in_a_thousand;
}

static bool reaches(const struct net_end *e, const struct iw_sctp_addr *addr)
{
	for (unsigned i = 0; i < e->naddrs; i++)
		if (iw_sctp_addr_same_ip(&e->addr[i], addr))
			return !(e->dead & 1u << i);
	return false;
}

/*
 * Adds e's IPv4 addresses to an INIT or INIT ACK, which is the only chunk of its packet. Returns
 * the new length.
 */
static size_t list_addresses(const struct net_end *e, uint8_t *data, size_t len)
{
	if (data[12] != IW_SCTP_INIT && data[12] != IW_SCTP_INIT_ACK)
		return len;
	for (unsigned i = 0; i < e->naddrs; i++, len += 8) {
		iw_put_be16(data + len, IW_SCTP_PARAM_IPV4);
		iw_put_be16(data + len + 2, 8);
		memcpy(data + len + 4, e->addr[i].ip + 12, 4);
	}
	iw_put_be16(data + 14, (uint16_t)(len - IW_SCTP_HDR_LEN));
	iw_put_le32(data + 8, iw_wire_sctp_checksum(data, len));
	return len;
}

static void fly(struct net *n, struct net_end *from, struct net_link *l,
		const struct iw_sctp_packet *p, const uint8_t *data, size_t len)
{
	struct net_end *to = from == &n->a ? &n->b : &n->a;
	static const struct iw_sctp_addr unset;
	struct flying f = { .at = n->now + l->delay, .to = to, .dst = p->peer, .len = len };
	uint32_t ip_len = (uint32_t)len + (iw_sctp_addr_is_ipv4(&p->peer) ? 20 : 40) +
			  (p->peer.udp_port ? 8 : 0);

	f.src = memcmp(&p->local, &unset, sizeof(unset)) ? p->local : from->addr[0];
	/* If an interface is down, the system uses another one. */
	for (unsigned i = 0; i < from->naddrs && !reaches(from, &f.src); i++)
		f.src = from->addr[i];
	f.src.udp_port = from->addr[0].udp_port;
	if (l->cut || !reaches(to, &p->peer) || chance(n, l->loss))
		return;
	if (l->mtu && ip_len > l->mtu && (l->hole || !p->fragment)) {
		if (l->icmp)
			iw_sctp_too_big(from->s, &p->peer, data, IW_MIN(len, (size_t)8), l->mtu,
					n->now);
		return;
	}
	if (l->ns_per_octet) {
		l->free_at = IW_MAX(l->free_at, n->now);
		if (l->free_at - n->now > l->queue)
			return;
		l->free_at += l->ns_per_octet * ip_len;
		f.at = l->free_at + l->delay;
	}
	if (l->jitter)
		f.at += rng_below(&n->rng, l->jitter);
	if (chance(n, l->late))
		f.at += rng_below(&n->rng, l->late_by + 1);
	f.data = malloc(len);
	if (!f.data)
		abort();
	memcpy(f.data, data, len);
	if (chance(n, l->corrupt))
		f.data[rng_below(&n->rng, len)] ^= (uint8_t)(1 + rng_below(&n->rng, 255));
	launch(n, f);
}

static bool flush(struct net *n, struct net_end *e, struct net_link *l)
{
	uint8_t buf[65536];
	struct iw_sctp_packet out;
	bool moved = false;
	size_t len;

	memset(buf, 0xee, e->cfg.mtu); /* earlier contents must not be sent */
	while ((len = iw_sctp_output(e->s, buf, e->cfg.mtu, &out, n->now)) > 0) {
		moved = true;
		n->last_move = n->now;
		if (out.rest_len > 0)
			memcpy(buf + len, out.rest, out.rest_len);
		len += out.rest_len;
		e->packets++;
		e->octets += len;
		if (e->lists)
			len = list_addresses(e, buf, len);
		n->tap_to = out.peer;
		if (n->tap && !n->tap(n, e, buf, len))
			continue;
		fly(n, e, l, &out, buf, len);
		if (chance(n, l->dup))
			fly(n, e, l, &out, buf, len);
	}
	return moved;
}

/* --- events and time -------------------------------------------------------------------------- */

static void events(struct net_end *e)
{
	struct iw_sctp_event ev;

	while (iw_sctp_next_event(e->s, &ev)) {
		if (ev.kind == IW_SCTP_EV_UP)
			e->a = ev.assoc;
		if (e->nevents < NET_EVENTS)
			e->event[e->nevents++] = ev;
		if (e->on_event)
			e->on_event(e, &ev);
	}
}

bool net_has_event(const struct net_end *e, enum iw_sctp_event_kind kind)
{
	for (unsigned i = 0; i < e->nevents; i++)
		if (e->event[i].kind == kind)
			return true;
	return false;
}

static void deliver(struct net *n, struct net_end *e, const struct iw_sctp_packet *p)
{
	struct iw_sctp_recv m;

	iw_sctp_input(e->s, p, n->now);
	while (iw_sctp_next(e->s, &m)) {
		e->messages++;
		if (e->on_message)
			e->on_message(e, &m);
	}
	events(e);
}

void net_inject(struct net *n, struct net_end *e, const struct iw_sctp_addr *src, uint8_t *data,
		size_t len)
{
	struct iw_sctp_packet p = { .peer = *src, .local = e->addr[0], .data = data, .len = len };

	iw_put_le32(data + 8, iw_wire_sctp_checksum(data, len));
	deliver(n, e, &p);
}

bool net_step(struct net *n)
{
	uint64_t at = IW_MIN(iw_sctp_deadline(n->a.s), iw_sctp_deadline(n->b.s));

	events(&n->a);
	events(&n->b);
	if (flush(n, &n->a, &n->ab) | flush(n, &n->b, &n->ba))
		return true;
	if (n->nfly && n->fly[0].at <= at) {
		struct flying f = land(n);
		struct iw_sctp_packet p = {
			.peer = f.src, .local = f.dst, .data = f.data, .len = f.len
		};

		n->now = IW_MAX(n->now, f.at);
		deliver(n, f.to, &p);
		free(f.data);
		return true;
	}
	if (at == IW_TIME_NEVER)
		return false;
	n->now = IW_MAX(n->now, at);
	iw_sctp_timeout(n->a.s, n->now);
	iw_sctp_timeout(n->b.s, n->now);
	events(&n->a);
	events(&n->b);
	return true;
}

void net_run(struct net *n, uint64_t until)
{
	for (;;) {
		uint64_t at;

		events(&n->a);
		events(&n->b);
		if (flush(n, &n->a, &n->ab) | flush(n, &n->b, &n->ba))
			continue;
		at = IW_MIN(iw_sctp_deadline(n->a.s), iw_sctp_deadline(n->b.s));
		if (n->nfly)
			at = IW_MIN(at, n->fly[0].at);
		if (at > until || !net_step(n))
			break;
	}
	n->now = IW_MAX(n->now, until);
}

void net_connect(struct net *n)
{
	if (iw_sctp_connect(n->a.s, &n->a.a, &n->b.addr[0], n->b.cfg.port, NULL, n->now) < 0)
		abort();
}

bool net_up(struct net *n)
{
	uint64_t end = n->now + IW_SEC(60);

	net_connect(n);
	while (n->now < end &&
	       !(net_has_event(&n->a, IW_SCTP_EV_UP) && net_has_event(&n->b, IW_SCTP_EV_UP)))
		if (!net_step(n))
			break;
	return net_has_event(&n->a, IW_SCTP_EV_UP) && net_has_event(&n->b, IW_SCTP_EV_UP);
}

uint64_t net_acked(const struct iw_sctp_assoc *a)
{
	struct iw_sctp_facts facts;

	iw_sctp_facts(a, &facts);
	return facts.acked;
}
