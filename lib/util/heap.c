// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A binary heap of timers. Each timer knows its index, so it is moved without a search. */
#include "util/heap.h"

#include <string.h>

#include "util/num.h"

#define FIRST_CAP 16

/* Indexes begin at 1, so that i is the parent of 2i and 2i + 1. */
static struct iw_timer *at_place(const struct iw_heap *h, size_t i)
{
	return h->slot[i - 1];
}

static void put_at(struct iw_heap *h, size_t i, struct iw_timer *t)
{
	h->slot[i - 1] = t;
	t->index = i;
}

/* Moves t from index i towards the root. */
static void sift_up(struct iw_heap *h, size_t i, struct iw_timer *t)
{
	while (i > 1 && t->at < at_place(h, i / 2)->at) {
		put_at(h, i, at_place(h, i / 2));
		i /= 2;
	}
	put_at(h, i, t);
}

static void sift_down(struct iw_heap *h, size_t i, struct iw_timer *t)
{
	while (i <= h->len / 2) {
		size_t child = 2 * i;

		if (child < h->len && at_place(h, child + 1)->at < at_place(h, child)->at)
			child++;
		if (t->at <= at_place(h, child)->at)
			break;
		put_at(h, i, at_place(h, child));
		i = child;
	}
	put_at(h, i, t);
}

static void settle(struct iw_heap *h, size_t i, struct iw_timer *t)
{
	if (i > 1 && t->at < at_place(h, i / 2)->at)
		sift_up(h, i, t);
	else
		sift_down(h, i, t);
}

static int grow(struct iw_heap *h)
{
	size_t cap = h->cap ? 2 * h->cap : FIRST_CAP;
	struct iw_timer **slot = iw_mem_array(h->mem, cap, sizeof(*slot));

	if (!slot)
		return IW_E_NOMEM;
	if (h->len)
		memcpy(slot, h->slot, h->len * sizeof(*slot));
	iw_mem_free(h->mem, h->slot, h->cap * sizeof(*slot));
	h->slot = slot;
	h->cap = cap;
	return 0;
}

void iw_heap_init(struct iw_heap *h, const struct iw_mem *mem)
{
	*h = (struct iw_heap){ .mem = mem };
}

void iw_heap_fini(struct iw_heap *h)
{
	iw_mem_free(h->mem, h->slot, h->cap * sizeof(*h->slot));
	iw_heap_init(h, h->mem);
}

int iw_heap_set(struct iw_heap *h, struct iw_timer *t, uint64_t at)
{
	if (at == IW_TIME_NEVER) {
		iw_heap_del(h, t);
		return 0;
	}
	if (t->index) {
		t->at = at;
		settle(h, t->index, t);
		return 0;
	}
	if (h->len == h->cap && grow(h) < 0)
		return IW_E_NOMEM;
	t->at = at;
	sift_up(h, ++h->len, t);
	return 0;
}

void iw_heap_del(struct iw_heap *h, struct iw_timer *t)
{
	size_t i = t->index;

	t->at = IW_TIME_NEVER;
	t->index = 0;
	if (!i)
		return;

	struct iw_timer *last = at_place(h, h->len--);

	/* The last timer fills the gap, unless it is the removed one. */
	if (i <= h->len)
		settle(h, i, last);
}

struct iw_timer *iw_heap_first(const struct iw_heap *h)
{
	return h->len ? h->slot[0] : NULL;
}
