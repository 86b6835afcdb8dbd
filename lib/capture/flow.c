// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The table of TCP connections: a hash of both ends, and lists of who was heard of last, for
 * when it is full. */
#include "capture/internal.h"

#include <string.h>

static uint64_t load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Finalizer of splitmix64: every input bit reaches every output bit. */
static uint64_t mix(uint64_t v)
{
	v ^= v >> 30;
	v *= 0xbf58476d1ce4e5b9u;
	v ^= v >> 27;
	v *= 0x94d049bb133111ebu;
	return v ^ v >> 31;
}

static uint64_t hash_end(const struct iw_cap *c, const struct iw_cap_end *e)
{
	return mix(mix(load64(e->addr) ^ c->seed) ^ load64(e->addr + 8) ^ (uint64_t)e->port << 1 ^
		   e->v6);
}

/* The same for both directions. */
static size_t bucket_of(const struct iw_cap *c, const struct iw_cap_end end[2])
{
	return (hash_end(c, &end[0]) + hash_end(c, &end[1])) & (c->buckets - 1);
}

static bool same_end(const struct iw_cap_end *a, const struct iw_cap_end *b)
{
	return a->port == b->port && a->v6 == b->v6 &&
	       memcmp(a->addr, b->addr, sizeof(a->addr)) == 0;
}

int flows_init(struct iw_cap *c)
{
	for (c->buckets = 64; c->buckets < c->limits.flows && c->buckets < SIZE_MAX / 2;
	     c->buckets *= 2)
		;
	c->bucket = iw_mem_array(c->mem, c->buckets, sizeof(*c->bucket));
	if (!c->bucket)
		return IW_E_NOMEM;
	for (int i = 0; i < LRU_COUNT; i++)
		iw_list_init(&c->lru[i]);
	iw_list_init(&c->closing);
	return 0;
}

static void free_all(struct iw_cap *c, struct iw_list *head)
{
	struct iw_list *l;

	while ((l = iw_list_first(head)))
		flow_free(c, iw_container_of(l, struct flow, link));
}

void flows_fini(struct iw_cap *c)
{
	if (!c->bucket)
		return;
	for (int i = 0; i < LRU_COUNT; i++)
		free_all(c, &c->lru[i]);
	free_all(c, &c->closing);
	iw_mem_free(c->mem, c->bucket, c->buckets * sizeof(*c->bucket));
}

struct flow *flow_find(struct iw_cap *c, const struct iw_cap_end end[2], unsigned *from)
{
	for (struct flow *f = c->bucket[bucket_of(c, end)]; f; f = f->hash_next) {
		for (unsigned d = 0; d < 2; d++) {
			if (same_end(&f->pub.end[d], &end[0]) &&
			    same_end(&f->pub.end[1 - d], &end[1])) {
				*from = d;
				return f;
			}
		}
	}
	return NULL;
}

static void make_room(struct iw_cap *c)
{
	for (int i = 0; i < LRU_COUNT; i++) {
		struct iw_list *l = iw_list_first(&c->lru[i]);

		if (!l)
			continue;

		struct flow *f = iw_container_of(l, struct flow, link);

		if (i != LRU_CLOSED) {
			c->totals.forgotten++;
			if (f->follow)
				event_new(c, IW_CAP_TCP, f, 0, c->now_ns, c->frame)->tcp.kind =
					IW_CAP_TCP_FORGOTTEN;
		}
		flow_close(c, f);
		return;
	}
}

struct flow *flow_add(struct iw_cap *c, const struct iw_cap_end end[2])
{
	struct flow *f = iw_mem_alloc(c->mem, sizeof(*f));

	if (!f)
		return NULL;
	if (c->flows >= c->limits.flows)
		make_room(c);
	f->pub = (struct iw_cap_flow){ .id = c->next_id++,
				       .end = { end[0], end[1] },
				       .initiator = -1 };
	for (int d = 0; d < 2; d++)
		iw_list_init(&f->dir[d].queue);
	f->bucket = bucket_of(c, end);
	f->hash_next = c->bucket[f->bucket];
	c->bucket[f->bucket] = f;
	iw_list_init(&f->link);
	iw_list_add_tail(&c->lru[LRU_PLAIN], &f->link);
	c->flows++;
	c->totals.flows++;
	return f;
}

void flow_touch(struct iw_cap *c, struct flow *f)
{
	bool closed = f->reset_told || (f->dir[0].fin_told && f->dir[1].fin_told);

	iw_list_del(&f->link);
	iw_list_add_tail(&c->lru[closed      ? LRU_CLOSED
				 : f->follow ? LRU_IWARP
					     : LRU_PLAIN],
			 &f->link);
}

void flow_close(struct iw_cap *c, struct flow *f)
{
	struct flow **p = &c->bucket[f->bucket];

	while (*p != f)
		p = &(*p)->hash_next;
	*p = f->hash_next;
	iw_list_del(&f->link);
	iw_list_add_tail(&c->closing, &f->link);
	f->flush = f->closing = true;
	c->flows--;
}

void flow_free(struct iw_cap *c, struct flow *f)
{
	for (int d = 0; d < 2; d++)
		stream_drop(c, &f->dir[d]);
	iw_list_del(&f->link);
	iw_mem_free(c->mem, f->follow, sizeof(*f->follow));
	iw_mem_free(c->mem, f, sizeof(*f));
}
