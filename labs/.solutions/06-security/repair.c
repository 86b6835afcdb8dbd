/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A table of registrations that a peer cannot fool.
 *
 * All 32 bits of an STag are random. Its low bits select its slot, so a search looks at one slot
 * only; a random number whose slot is taken is not used. At least half of the slots are free, so
 * two tries are enough on average.
 */
#include "repair.h"

#include <stdlib.h>

struct slot {
	uint32_t stag; /* 0: the slot is free */
	struct region region;
};

struct table {
	uint32_t (*random)(void *ctx);
	void *ctx;
	uint32_t capacity, used;
	uint32_t mask; /* number of slots - 1; the number is a power of two */
	struct slot *slots;
};

struct table *table_new(uint32_t capacity, uint32_t (*random)(void *ctx), void *ctx)
{
	struct table *t = calloc(1, sizeof(*t));
	uint32_t slots = 2;

	if (!t)
		return NULL;
	while (slots < 2 * capacity)
		slots *= 2;
	t->slots = calloc(slots, sizeof(*t->slots));
	if (!t->slots) {
		free(t);
		return NULL;
	}
	t->random = random;
	t->ctx = ctx;
	t->capacity = capacity;
	t->mask = slots - 1;
	return t;
}

void table_free(struct table *t)
{
	if (!t)
		return;
	free(t->slots);
	free(t);
}

/* The slot in which the STag is, or would be. */
static struct slot *slot_of(const struct table *t, uint32_t stag)
{
	return &t->slots[stag & t->mask];
}

/* NULL: not registered. All 32 bits are compared. */
static struct slot *find(const struct table *t, uint32_t stag)
{
	struct slot *slot = slot_of(t, stag);

	return stag && slot->stag == stag ? slot : NULL;
}

uint32_t table_register(struct table *t, const struct region *r)
{
	struct slot *slot;
	uint32_t stag;

	if (t->used == t->capacity || r->to + r->len < r->to)
		return 0;
	do {
		stag = t->random(t->ctx);
		slot = slot_of(t, stag);
	} while (!stag || slot->stag);
	slot->stag = stag;
	slot->region = *r;
	t->used++;
	return stag;
}

/* pd and stream are those of the stream on which the peer sent the STag. */
static bool associated(const struct region *r, uint32_t pd, uint32_t stream)
{
	return r->pd == pd && (!r->stream || r->stream == stream);
}

enum verdict table_access(const struct table *t, const struct access *a, uint64_t *at)
{
	const struct slot *slot = find(t, a->stag);
	const struct region *r;

	if (!a->len) {
		*at = 0;
		return ALLOWED;
	}
	if (!slot)
		return INVALID_STAG;
	r = &slot->region;
	if (!associated(r, a->pd, a->stream))
		return NOT_ASSOCIATED;
	if (!(r->rights & a->right))
		return ACCESS_RIGHTS;
	if (a->to + a->len < a->to)
		return TO_WRAP;
	/* Neither sum can wrap: this one was just checked, the other at registration. */
	if (a->to < r->to || a->to + a->len > r->to + r->len)
		return BASE_OR_BOUNDS;
	*at = r->base + (a->to - r->to);
	return ALLOWED;
}

bool table_deregister(struct table *t, uint32_t stag)
{
	struct slot *slot = find(t, stag);

	if (!slot)
		return false;
	slot->stag = 0;
	t->used--;
	return true;
}

enum verdict table_invalidate(struct table *t, uint32_t stag, uint32_t pd, uint32_t stream)
{
	const struct slot *slot = find(t, stag);

	if (!slot)
		return INVALID_STAG;
	if (!associated(&slot->region, pd, stream))
		return NOT_ASSOCIATED;
	if (!slot->region.stream)
		return CANNOT_INVALIDATE;
	table_deregister(t, stag);
	return ALLOWED;
}
