// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Pools of buffers, with a free list whose links are in the free buffers. */
#include "util/pool.h"

#include <assert.h>

#include "util/num.h"

struct iw_pool_buf {
	struct iw_pool_buf *next;
};

/* A free buffer holds its link, so no buffer is smaller than that. */
static size_t alloc_size(const struct iw_pool *p)
{
	return IW_MAX(p->size, sizeof(struct iw_pool_buf));
}

void iw_pool_init(struct iw_pool *p, const struct iw_mem *mem, size_t size, size_t max,
		  size_t spare_max)
{
	*p = (struct iw_pool){ .mem = mem, .size = size, .max = max, .spare_max = spare_max };
}

void iw_pool_trim(struct iw_pool *p, size_t keep)
{
	while (p->spare > keep) {
		struct iw_pool_buf *b = p->free_list;

		p->free_list = b->next;
		p->spare--;
		iw_mem_free(p->mem, b, alloc_size(p));
	}
}

void iw_pool_fini(struct iw_pool *p)
{
	assert(p->out == 0);
	iw_pool_trim(p, 0);
}

void *iw_pool_get(struct iw_pool *p)
{
	struct iw_pool_buf *b = p->free_list;

	if (p->max && p->out >= p->max)
		return NULL;
	if (b) {
		p->free_list = b->next;
		p->spare--;
	} else {
		b = iw_mem_alloc(p->mem, alloc_size(p));
		if (!b)
			return NULL;
	}
	p->out++;
	return b;
}

void iw_pool_put(struct iw_pool *p, void *buf)
{
	struct iw_pool_buf *b = buf;

	assert(b && p->out > 0);
	p->out--;
	if (p->spare >= p->spare_max) {
		iw_mem_free(p->mem, b, alloc_size(p));
		return;
	}
	b->next = p->free_list;
	p->free_list = b;
	p->spare++;
}
