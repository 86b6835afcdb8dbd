// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sim/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool world_fail(struct world *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (w->failure[0] == '\0')
		vsnprintf(w->failure, sizeof(w->failure), fmt, ap);
	va_end(ap);
	return false;
}

struct iw_sctp_addr world_ipv4(unsigned a, unsigned b, unsigned c, unsigned d, uint16_t udp_port)
{
	return (struct iw_sctp_addr){
		.ip = { [10] = 0xff, [11] = 0xff, (uint8_t)a, (uint8_t)b, (uint8_t)c, (uint8_t)d },
		.udp_port = udp_port,
	};
}

/* --- hosts ------------------------------------------------------------------------------------ */

static int seeded(void *ctx, void *buf, size_t len)
{
	rng_fill(ctx, buf, len);
	return 0;
}

void world_init(struct world *w, uint64_t seed)
{
	memset(w, 0, sizeof(*w));
	w->rng.state = seed;
	w->now = IW_SEC(1000);
	w->delay = IW_MSEC(10);
	ledger_init(&w->ledger);
}

struct host *world_host(struct world *w, const char *name, struct iw_sctp_addr addr, uint16_t port)
{
	struct host *h = &w->host[w->nhosts++];

	if (w->nhosts > WORLD_HOSTS)
		abort();
	counting_mem_init(&h->mem);
	snprintf(h->name, sizeof(h->name), "%s", name);
	h->w = w;
	h->addr[0] = addr;
	h->naddrs = 1;
	h->random.state = rng_next(&w->rng);
	h->cfg = (struct iw_sctp_cfg){
		.mem = &h->mem.mem,
		.random = seeded,
		.random_ctx = &h->random,
		.port = port,
		.streams = 4,
		.adaptation = 1,
		.adaptation_required = true,
		.rwnd = 1 << 16,
		.mtu = WORLD_MTU,
		.assocs_max = 100,
	};
	return h;
}

static void make_endpoint(struct host *h)
{
	struct iw_fault why;

	if (iw_sctp_new(&h->s, &h->cfg, &why) < 0)
		abort();
	h->dirty = true;
}

void world_restart(struct host *h)
{
	iw_sctp_free(h->s);
	make_endpoint(h);
}

void world_start(struct world *w)
{
	w->ledger.link_local = w->watched && ledger_is_link_local(&w->watched->addr[0]);
	for (unsigned i = 0; i < w->nhosts; i++)
		if (w->host[i].cfg.port)
			make_endpoint(&w->host[i]);
}

void world_free(struct world *w)
{
	while (w->nfly > 0)
		free(w->fly[--w->nfly].data);
	free(w->fly);
	for (unsigned i = 0; i < w->nhosts; i++) {
		struct host *h = &w->host[i];

		iw_sctp_free(h->s);
		if (h->mem.blocks || h->mem.wrong_size)
			world_fail(w, "%s: %zu blocks left, %zu freed with a wrong size", h->name,
				   h->mem.blocks, h->mem.wrong_size);
	}
}

/*
 * The endpoint's buffers for answers and its tables; for each association its structures,
 * IW_SCTP_PATHS_MAX paths, fragments and its queue; for each queued message its copy.
 */
size_t world_memory_limit(const struct host *h, unsigned assocs, unsigned queued)
{
	size_t endpoint = 64 * (size_t)h->cfg.mtu + 32768;

	return endpoint + assocs * (size_t)(24576 + 65536 / 8) + queued * (size_t)h->cfg.mtu;
}

static bool owns(const struct host *h, const struct iw_sctp_addr *addr)
{
	for (unsigned i = 0; i < h->naddrs; i++)
		if (iw_sctp_addr_same_ip(&h->addr[i], addr))
			return true;
	return false;
}

static bool is_reached(const struct host *h, const struct iw_sctp_addr *addr)
{
	for (unsigned i = 0; i < h->naddrs; i++)
		if (iw_sctp_addr_same_ip(&h->addr[i], addr))
			return !(h->dead & 1u << i);
	return false;
}

struct host *world_owner(struct world *w, const struct iw_sctp_addr *addr)
{
	for (unsigned i = 0; i < w->nhosts; i++)
		if (owns(&w->host[i], addr))
			return &w->host[i];
	return NULL;
}

/* The UDP port selects one of the hosts that share the address of a NAT. */
static struct host *host_at(struct world *w, const struct iw_sctp_addr *addr)
{
	for (unsigned i = 0; i < w->nhosts; i++)
		if (w->host[i].addr[0].udp_port == addr->udp_port && is_reached(&w->host[i], addr))
			return &w->host[i];
	return NULL;
}

/* --- packets in flight: a heap, the earliest first -------------------------------------------- */

static bool is_before(const struct world_packet *a, const struct world_packet *b)
{
	return a->at < b->at || (a->at == b->at && a->order < b->order);
}

static void launch(struct world *w, struct world_packet p)
{
	size_t i = w->nfly++;

	if (w->nfly > w->cap) {
		w->cap = w->cap ? 2 * w->cap : 64;
		w->fly = realloc(w->fly, w->cap * sizeof(*w->fly));
		if (!w->fly)
			abort();
	}
	p.order = w->order++;
	for (; i > 0 && is_before(&p, &w->fly[(i - 1) / 2]); i = (i - 1) / 2)
		w->fly[i] = w->fly[(i - 1) / 2];
	w->fly[i] = p;
}

static struct world_packet land(struct world *w)
{
	struct world_packet first = w->fly[0], last = w->fly[--w->nfly];
	size_t i = 0, least;

	while ((least = 2 * i + 1) < w->nfly) {
		if (least + 1 < w->nfly && is_before(&w->fly[least + 1], &w->fly[least]))
			least++;
		if (!is_before(&w->fly[least], &last))
			break;
		w->fly[i] = w->fly[least];
		i = least;
	}
	w->fly[i] = last;
	return first;
}

static void send_at(struct world *w, const struct world_packet *like, const uint8_t *data,
		    uint64_t at)
{
	struct world_packet p = *like;

	p.at = at;
	p.data = malloc(p.len);
	if (!p.data)
		abort();
	memcpy(p.data, data, p.len);
	launch(w, p);
}

static void send_off(struct world *w, const struct world_packet *like, const uint8_t *data)
{
	uint64_t at = w->now + w->delay;

	if (w->jitter)
		at += rng_below(&w->rng, w->jitter);
	send_at(w, like, data, at);
}

void world_inject(struct world *w, const struct iw_sctp_addr *src, const struct iw_sctp_addr *dst,
		  const uint8_t *data, size_t len)
{
	struct world_packet p = { .src = *src, .dst = *dst, .spoofed = true, .len = len };
	static uint8_t buf[WORLD_PACKET];

	memcpy(buf, data, len);
	iw_put_le32(buf + 8, iw_wire_sctp_checksum(buf, len));
	send_off(w, &p, buf);
}

/* --- the watched host's ledger ---------------------------------------------------------------- */

static bool chose_tag(const struct host *h, uint32_t tag)
{
	for (unsigned i = 0; i < IW_MIN(h->ntags, (unsigned)HOST_TAGS); i++)
		if (h->tag[i] == tag)
			return true;
	return false;
}

/* True if one of the hosts that share the address has chosen the tag. */
static bool is_wanted(struct world *w, const struct iw_sctp_addr *addr, uint32_t tag)
{
	for (unsigned i = 0; i < w->nhosts; i++)
		if (owns(&w->host[i], addr) && chose_tag(&w->host[i], tag))
			return true;
	return false;
}

static void account_sent(struct world *w, const struct iw_sctp_addr *dst, const uint8_t *data,
			 size_t len)
{
	const struct host *owner = world_owner(w, dst);
	struct ledger_packet p = {
		.peer = dst,
		.data = data,
		.len = len,
		.owned = is_wanted(w, dst, iw_get_be32(data + 4)),
		.unlimited = owner && owner->hostile,
		.now = w->now,
	};
	const char *broken = ledger_sent(&w->ledger, &p);

	if (broken)
		world_fail(w, "%s after %llu ms: %s of %zu octets to %u.%u.%u.%u: %s",
			   w->watched->name, (unsigned long long)(w->now / 1000000 - 1000000),
			   iw_wire_sctp_chunk_name(data[12]), len, dst->ip[12], dst->ip[13],
			   dst->ip[14], dst->ip[15], broken);
}

static void account_came(struct world *w, const struct world_packet *f)
{
	const struct host *owner = world_owner(w, &f->src);
	struct ledger_packet p = {
		.peer = &f->src,
		.data = f->data,
		.len = f->len,
		.owned = !f->spoofed,
		.unlimited = owner && owner->hostile,
		.now = w->now,
	};

	ledger_came(&w->ledger, &p);
}

/* --- output ----------------------------------------------------------------------------------- */

/* Adds the addresses to an INIT or INIT ACK, which is the only chunk of its packet. Returns the new
 * length. */
static size_t add_list(struct host *h, uint8_t *data, size_t len)
{
	if (data[12] != IW_SCTP_INIT && data[12] != IW_SCTP_INIT_ACK)
		return len;
	h->tag[h->ntags++ % HOST_TAGS] = iw_get_be32(data + 16);
	if (h->list_len == 0)
		return len;
	memcpy(data + len, h->list, h->list_len);
	len += h->list_len;
	iw_put_be16(data + 14, (uint16_t)(len - IW_SCTP_HDR_LEN));
	iw_put_le32(data + 8, iw_wire_sctp_checksum(data, len));
	return len;
}

static void transmit(struct world *w, struct host *h, const struct iw_sctp_packet *out,
		     uint8_t *data, size_t len)
{
	static const struct iw_sctp_addr unset;
	struct world_packet p = { .dst = out->peer, .len = len };
	uint64_t at;

	p.src = memcmp(out->local.ip, unset.ip, 16) ? out->local : h->addr[0];
	p.src.udp_port = h->addr[0].udp_port;
	if (h == w->watched)
		account_sent(w, &p.dst, data, len);
	if (w->tap && !w->tap(w, h, &p.dst, data, len))
		return;
	if (w->route) {
		if (w->route(w, h, len, &at))
			send_at(w, &p, data, at);
		return;
	}
	if (!world_chance(w, w->loss))
		send_off(w, &p, data);
	if (world_chance(w, w->dup))
		send_off(w, &p, data);
}

static void events(struct host *h)
{
	struct iw_sctp_event ev;

	while (iw_sctp_next_event(h->s, &ev))
		if (h->on_event)
			h->on_event(h, &ev);
		else if (ev.kind == IW_SCTP_EV_DOWN)
			iw_sctp_assoc_free(ev.assoc);
}

static bool flush(struct world *w)
{
	static uint8_t buf[WORLD_PACKET];
	struct iw_sctp_packet out;
	bool moved = false;
	size_t len;

	for (unsigned i = 0; i < w->nhosts; i++) {
		struct host *h = &w->host[i];

		if (!h->s || !h->dirty)
			continue;
		h->dirty = false;
		events(h);
		while ((len = iw_sctp_output(h->s, buf, h->cfg.mtu, &out, w->now)) > 0) {
			if (out.rest_len > 0)
				memcpy(buf + len, out.rest, out.rest_len);
			len = add_list(h, buf, len + out.rest_len);
			transmit(w, h, &out, buf, len);
			moved = true;
		}
		h->peak = IW_MAX(h->peak, h->mem.bytes);
	}
	return moved;
}

/* --- time ------------------------------------------------------------------------------------- */

/* Messages are delivered before events, as lib/loop does. */
static void deliver(struct world *w, struct host *h, const struct world_packet *f)
{
	struct iw_sctp_packet p = {
		.peer = f->src, .local = f->dst, .data = f->data, .len = f->len
	};
	struct iw_sctp_recv m;

	if (h == w->watched)
		account_came(w, f);
	iw_sctp_input(h->s, &p, w->now);
	while (iw_sctp_next(h->s, &m))
		if (h->on_message)
			h->on_message(h, &m);
	h->dirty = true;
	h->peak = IW_MAX(h->peak, h->mem.bytes);
}

static uint64_t next_time(const struct world *w)
{
	uint64_t at = w->nfly > 0 ? w->fly[0].at : IW_TIME_NEVER;

	for (unsigned i = 0; i < w->nhosts; i++)
		if (w->host[i].s)
			at = IW_MIN(at, iw_sctp_deadline(w->host[i].s));
	return at;
}

bool world_step(struct world *w, uint64_t until)
{
	uint64_t at;

	if (flush(w))
		return true;
	at = next_time(w);
	if (at == IW_TIME_NEVER || at > until)
		return false;
	w->now = IW_MAX(w->now, at);
	if (w->nfly > 0 && w->fly[0].at <= at) {
		struct world_packet f = land(w);
		struct host *h = host_at(w, &f.dst);

		if (h && h->s)
			deliver(w, h, &f);
		free(f.data);
		return true;
	}
	for (unsigned i = 0; i < w->nhosts; i++) {
		struct host *h = &w->host[i];

		if (h->s && iw_sctp_deadline(h->s) <= w->now) {
			iw_sctp_timeout(h->s, w->now);
			h->dirty = true;
		}
	}
	return true;
}

void world_run(struct world *w, uint64_t until)
{
	while (w->failure[0] == '\0' && world_step(w, until))
		continue;
	w->now = IW_MAX(w->now, until);
}
