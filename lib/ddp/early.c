// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Early segments, found by their number. The memory grows with the number of stored segments, not
 * with the distance of the farthest one, which a peer can make large with a single segment.
 *
 * It is a hash table with chains: the low bits of the number select the chain. All numbers are in a
 * window of early_max. So in a table of N entries a chain has at most early_max / N segments,
 * whatever numbers the peer selects.
 */
#include "ddp/internal.h"

#include <assert.h>

#include "util/num.h"

#define FIRST 16u /* entries of the first table, which is not freed when it becomes empty */

static size_t table_size(uint32_t n)
{
	return n * (sizeof(struct early) + sizeof(uint32_t));
}

/* The chain heads follow the entries. In a head or next, 0 ends the chain; n is entry n - 1. */
static uint32_t *head_of(const struct early_set *s, uint64_t seq)
{
	uint32_t *heads = (uint32_t *)(void *)(s->entry + s->size);

	return &heads[seq & (s->size - 1)];
}

static uint32_t *find(const struct early_set *s, uint64_t seq)
{
	uint32_t *at = head_of(s, seq);

	while (*at && s->entry[*at - 1].seq != (uint32_t)seq)
		at = &s->entry[*at - 1].next;
	return at;
}

static void chain(struct early_set *s, uint32_t i)
{
	uint32_t *head = head_of(s, s->entry[i].seq);

	s->entry[i].next = *head;
	*head = i + 1;
}

static void drop_table(struct early_set *s, const struct iw_mem *mem)
{
	iw_mem_free(mem, s->entry, table_size(s->size));
	*s = (struct early_set){ .entry = NULL };
}

/* Only a full table grows, so every entry of the old one is in use. */
static bool grow(struct early_set *s, const struct iw_mem *mem)
{
	struct early_set more = { .size = s->size ? s->size * 2 : FIRST, .held = s->held };

	more.entry = iw_mem_alloc(mem, table_size(more.size));
	if (!more.entry)
		return false;
	for (uint32_t i = 0; i < s->size; i++) {
		more.entry[i] = s->entry[i];
		chain(&more, i);
	}
	for (uint32_t i = more.size; i > s->size; i--) {
		more.entry[i - 1].next = more.spare;
		more.spare = i;
	}
	drop_table(s, mem);
	*s = more;
	return true;
}

struct early *iw_ddp_early_find(const struct early_set *s, uint64_t seq)
{
	uint32_t i = s->held > 0 ? *find(s, seq) : 0;

	return i ? &s->entry[i - 1] : NULL;
}

struct early *iw_ddp_early_add(struct early_set *s, const struct iw_mem *mem, uint64_t seq)
{
	uint32_t i;

	if (s->held == s->size && !grow(s, mem))
		return NULL;
	i = s->spare - 1;
	s->spare = s->entry[i].next;
	s->entry[i].seq = (uint32_t)seq;
	chain(s, i);
	s->held++;
	return &s->entry[i];
}

void iw_ddp_early_remove(struct early_set *s, const struct iw_mem *mem, uint64_t seq)
{
	uint32_t *at = find(s, seq), i = *at;

	assert(i);
	*at = s->entry[i - 1].next;
	s->entry[i - 1].next = s->spare;
	s->spare = i;
	if (--s->held == 0 && s->size > FIRST)
		drop_table(s, mem);
}

void iw_ddp_early_free(struct early_set *s, const struct iw_mem *mem)
{
	drop_table(s, mem);
}
