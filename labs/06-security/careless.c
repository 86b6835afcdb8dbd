/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The careless server. The comments are those of its authors, and not all of them are right.
 *
 * This file is yours to read. The grader has its own copy: changes here change nothing there.
 */
#include "careless.h"

#include <string.h>

void careless_start(struct careless *s, uint32_t started)
{
	memset(s, 0, sizeof(*s));
	/* The stacks give out slot 0 and block 0 first. */
	for (unsigned int i = 0; i < SLOTS; i++) {
		s->free_slots[s->n_free_slots++] = (uint8_t)(SLOTS - 1 - i);
		/*
		 * The low octet of an STag is its key, which makes it hard to guess: it begins with
		 * the time, and no two neighbours have the same.
		 */
		s->slots[i].stag = i << 8 | (uint8_t)(started + 37 * i);
	}
	for (unsigned int i = 0; i < BLOCKS; i++)
		s->free_blocks[s->n_free_blocks++] = (uint8_t)(BLOCKS - 1 - i);
}

int careless_take_block(struct careless *s)
{
	if (!s->n_free_blocks)
		return -1;
	/* The block that was used last is still in the cache. */
	return s->free_blocks[--s->n_free_blocks];
}

void careless_give_block(struct careless *s, unsigned int block)
{
	s->free_blocks[s->n_free_blocks++] = (uint8_t)block;
}

bool careless_register(struct careless *s, uint32_t pd, uint32_t stream, uint32_t rights,
		       uint32_t *stag)
{
	struct slot *slot;
	int block;

	if (!s->n_free_slots)
		return false;
	block = careless_take_block(s);
	if (block < 0)
		return false;
	slot = &s->slots[s->free_slots[--s->n_free_slots]];
	slot->used = true;
	slot->leaving = false;
	/* No need to clear the block: the client will write its own octets there. */
	slot->region = (struct region){
		.pd = pd,
		.stream = stream,
		.rights = rights,
		.len = BLOCK,
		.to = 0,
		.base = (uint64_t)block * BLOCK,
	};
	*stag = slot->stag;
	return true;
}

/* The slot of an STag; NULL: not registered. The index makes the search as fast as it can be. */
static struct slot *find(struct careless *s, uint32_t stag)
{
	struct slot *slot = &s->slots[(stag >> 8) % SLOTS];

	return slot->used && slot->stag == stag ? slot : NULL;
}

enum verdict careless_release(struct careless *s, uint32_t stag)
{
	struct slot *slot = find(s, stag);

	if (!slot || slot->leaving)
		return INVALID_STAG;
	/* The client has finished, so others can have the memory. */
	careless_give_block(s, (unsigned int)(slot->region.base / BLOCK));
	/* To change the table is slow, so a sweep does it for many slots at a time. */
	slot->leaving = true;
	s->leaving[s->n_leaving++] = (uint8_t)((stag >> 8) % SLOTS);
	return ALLOWED;
}

/* Empties the slots of released buffers. */
static void sweep(struct careless *s)
{
	for (unsigned int i = 0; i < s->n_leaving; i++) {
		s->slots[s->leaving[i]].used = false;
		s->free_slots[s->n_free_slots++] = s->leaving[i];
	}
	s->n_leaving = 0;
}

enum verdict careless_access(struct careless *s, const struct access *a, uint64_t *at)
{
	const struct slot *slot;
	const struct region *r;
	uint64_t end = a->to + a->len;

	if (++s->accesses % SWEEP == 0)
		sweep(s);
	slot = find(s, a->stag);
	/* Only the client to whom we sent the STag knows it. */
	if (!slot)
		return INVALID_STAG;
	r = &slot->region;
	/* An RDMA Read changes nothing, so it needs no right. */
	if (a->right == REMOTE_WRITE && !(r->rights & REMOTE_WRITE))
		return ACCESS_RIGHTS;
	if (a->to < r->to || end > r->to + r->len)
		return BASE_OR_BOUNDS;
	*at = r->base + (a->to - r->to);
	return ALLOWED;
}
