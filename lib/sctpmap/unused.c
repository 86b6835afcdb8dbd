// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Keeps deadlines in a heap, addresses in a hash table, and the order of arrival in two lists. */
#include "sctpmap/unused.h"

#include <string.h>

#include "util/num.h"

#define FIRST_SIZE  16
/*
 * The deadline if no time-out is configured. The entry is in the heap even then, so that later
 * changes of its deadline cannot fail.
 */
#define NO_DEADLINE (IW_TIME_NEVER - 1)

struct iw_unused_addr {
	struct iw_unused_addr *next; /* in the same bucket */
	uint8_t ip[16];
	struct iw_list entries; /* the oldest first */
	uint32_t count;
	size_t bytes;
};

void iw_unused_init(struct iw_unused *u, const struct iw_unused_cfg *cfg)
{
	*u = (struct iw_unused){ .cfg = *cfg };
	iw_heap_init(&u->timers, cfg->mem);
	iw_list_init(&u->all);
}

void iw_unused_fini(struct iw_unused *u)
{
	iw_heap_fini(&u->timers);
	iw_mem_free(u->cfg.mem, u->bucket, u->nbuckets * sizeof(*u->bucket));
	u->bucket = NULL;
	u->nbuckets = 0;
}

/* --- addresses -------------------------------------------------------------------------------- */

/* One host has a /64 network to itself (RFC 7421), and can use any address there. */
static void network_of(uint8_t out[16], const uint8_t addr[16])
{
	static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff };

	memcpy(out, addr, 16);
	if (memcmp(addr, v4, sizeof(v4)) != 0)
		memset(out + 8, 0, 8);
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

static struct iw_unused_addr **place(const struct iw_unused *u, const uint8_t ip[16])
{
	uint64_t hash = mix(mix(iw_get_be64(ip) ^ u->cfg.secret) ^ iw_get_be64(ip + 8));

	return &u->bucket[hash & (u->nbuckets - 1)];
}

static struct iw_unused_addr *find(const struct iw_unused *u, const uint8_t ip[16])
{
	struct iw_unused_addr *a = u->bucket ? *place(u, ip) : NULL;

	while (a && memcmp(a->ip, ip, 16) != 0)
		a = a->next;
	return a;
}

static void push(struct iw_unused *u, struct iw_unused_addr *a)
{
	struct iw_unused_addr **head = place(u, a->ip);

	a->next = *head;
	*head = a;
}

/* Without memory for a larger table the chains grow longer. Only the first table is required. */
static void grow(struct iw_unused *u)
{
	size_t n = u->nbuckets ? 2 * u->nbuckets : FIRST_SIZE;
	struct iw_unused bigger = { .cfg = u->cfg, .nbuckets = n };

	bigger.bucket = iw_mem_array(u->cfg.mem, n, sizeof(*bigger.bucket));
	if (!bigger.bucket)
		return;
	for (size_t i = 0; i < u->nbuckets; i++) {
		struct iw_unused_addr *a = u->bucket[i];

		while (a) {
			struct iw_unused_addr *next = a->next;

			push(&bigger, a);
			a = next;
		}
	}
	iw_mem_free(u->cfg.mem, u->bucket, u->nbuckets * sizeof(*u->bucket));
	u->bucket = bigger.bucket;
	u->nbuckets = n;
}

/* Returns NULL if there is no memory. */
static struct iw_unused_addr *find_or_make(struct iw_unused *u, const uint8_t ip[16])
{
	struct iw_unused_addr *a = find(u, ip);

	if (a)
		return a;
	if (u->naddrs >= u->nbuckets)
		grow(u);
	a = u->bucket ? iw_mem_alloc(u->cfg.mem, sizeof(*a)) : NULL;
	if (!a)
		return NULL;
	memcpy(a->ip, ip, sizeof(a->ip));
	iw_list_init(&a->entries);
	push(u, a);
	u->naddrs++;
	return a;
}

static void free_if_empty(struct iw_unused *u, struct iw_unused_addr *a)
{
	struct iw_unused_addr **at;

	if (a->count > 0)
		return;
	at = place(u, a->ip);
	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	u->naddrs--;
	iw_mem_free(u->cfg.mem, a, sizeof(*a));
}

/* --- associations ----------------------------------------------------------------------------- */

static uint64_t time_out_after(const struct iw_unused *u, uint64_t now)
{
	uint64_t at = u->cfg.timeout_ns ? iw_time_add(now, u->cfg.timeout_ns) : NO_DEADLINE;

	return IW_MIN(at, NO_DEADLINE);
}

/* Cannot fail: the entry is in the heap already. */
static void set_timer(struct iw_unused *u, struct iw_unused_entry *e, uint64_t at)
{
	(void)!iw_heap_set(&u->timers, &e->timer, at);
}

/* Returns the entry that has to end because the last addition has exceeded a limit, or NULL. */
static struct iw_unused_entry *too_many(struct iw_unused *u, const struct iw_unused_addr *a)
{
	struct iw_unused_entry *e = NULL;

	if (a->count > u->cfg.per_addr)
		e = iw_container_of(iw_list_first(&a->entries), struct iw_unused_entry, of_addr);
	else if (u->count > u->cfg.max)
		e = iw_container_of(iw_list_first(&u->all), struct iw_unused_entry, all);
	return e;
}

int iw_unused_add(struct iw_unused *u, struct iw_unused_entry *e, const uint8_t addr[16],
		  uint64_t now, struct iw_unused_entry **evicted)
{
	struct iw_unused_addr *a;
	uint8_t ip[16];

	*evicted = NULL;
	network_of(ip, addr);
	a = find_or_make(u, ip);
	if (!a)
		return IW_E_NOMEM;
	*e = (struct iw_unused_entry){ .at = time_out_after(u, now), .timer.at = IW_TIME_NEVER };
	if (iw_heap_set(&u->timers, &e->timer, e->at) < 0) {
		free_if_empty(u, a);
		return IW_E_NOMEM;
	}
	e->addr = a;
	a->count++;
	u->count++;
	iw_list_add_tail(&a->entries, &e->of_addr);
	iw_list_add_tail(&u->all, &e->all);
	*evicted = too_many(u, a);
	if (*evicted)
		iw_unused_remove(u, *evicted);
	return 0;
}

void iw_unused_remove(struct iw_unused *u, struct iw_unused_entry *e)
{
	struct iw_unused_addr *a = e->addr;

	if (!a)
		return;
	iw_heap_del(&u->timers, &e->timer);
	iw_list_del(&e->all);
	iw_list_del(&e->of_addr);
	e->addr = NULL;
	a->bytes -= e->bytes;
	u->bytes -= e->bytes;
	a->count--;
	u->count--;
	free_if_empty(u, a);
}

void iw_unused_asked(struct iw_unused *u, struct iw_unused_entry *e)
{
	set_timer(u, e, time_out_after(u, e->at));
}

void iw_unused_answered(struct iw_unused *u, struct iw_unused_entry *e)
{
	set_timer(u, e, e->at);
}

void iw_unused_extend(struct iw_unused *u, struct iw_unused_entry *e, uint64_t now)
{
	e->at = time_out_after(u, now);
	set_timer(u, e, e->at);
}

/*
 * Returns the oldest entry that holds at least half the average. If it had to hold the average
 * itself, one association with a few octets more than all others would be the only large one, and
 * would end before older ones.
 */
static struct iw_unused_entry *oldest_large_of(const struct iw_unused_addr *a)
{
	struct iw_list *n = a->entries.next;

	while (iw_container_of(n, struct iw_unused_entry, of_addr)->bytes < a->bytes / a->count / 2)
		n = n->next;
	return iw_container_of(n, struct iw_unused_entry, of_addr);
}

static struct iw_unused_entry *oldest_large(const struct iw_unused *u)
{
	struct iw_list *n = u->all.next;

	while (iw_container_of(n, struct iw_unused_entry, all)->bytes < u->bytes / u->count / 2)
		n = n->next;
	return iw_container_of(n, struct iw_unused_entry, all);
}

struct iw_unused_entry *iw_unused_charge(struct iw_unused *u, struct iw_unused_entry *e,
					 size_t bytes)
{
	struct iw_unused_addr *a = e->addr;

	a->bytes += bytes - e->bytes;
	u->bytes += bytes - e->bytes;
	e->bytes = bytes;
	if (a->bytes > u->cfg.per_addr_bytes)
		return oldest_large_of(a);
	return u->bytes > u->cfg.max_bytes ? oldest_large(u) : NULL;
}

void iw_unused_limit(struct iw_unused *u, size_t max_bytes)
{
	u->cfg.max_bytes = max_bytes;
	u->cfg.per_addr_bytes = max_bytes / 4;
}

uint64_t iw_unused_deadline(const struct iw_unused *u)
{
	const struct iw_timer *t = iw_heap_first(&u->timers);

	return t && t->at != NO_DEADLINE ? t->at : IW_TIME_NEVER;
}

struct iw_unused_entry *iw_unused_expired(const struct iw_unused *u, uint64_t now)
{
	struct iw_timer *t = iw_heap_first(&u->timers);

	return t && t->at <= IW_MIN(now, NO_DEADLINE - 1)
		       ? iw_container_of(t, struct iw_unused_entry, timer)
		       : NULL;
}

uint32_t iw_unused_count(const struct iw_unused *u)
{
	return u->count;
}

uint32_t iw_unused_count_of(const struct iw_unused *u, const uint8_t addr[16])
{
	const struct iw_unused_addr *a;
	uint8_t ip[16];

	network_of(ip, addr);
	a = find(u, ip);
	return a ? a->count : 0;
}
