/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Buffers of one size that connections borrow while octets are under way and give back when they
 * are idle, so that a busy connection allocates nothing and an idle one holds nothing. One pool
 * belongs to one thread.
 */
#ifndef IW_UTIL_POOL_H
#define IW_UTIL_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "util/mem.h"

struct iw_pool_buf;

struct iw_pool {
	const struct iw_mem *mem; /* borrowed, outlives the pool */
	size_t size;              /* octets of one buffer */
	size_t max;               /* most buffers out at once; 0: no limit */
	size_t out, spare;        /* lent; kept in the free list */
	size_t spare_max;         /* most kept when given back; the rest goes to mem */
	struct iw_pool_buf *free_list;
};

/* An empty pool, for the meaning of the numbers see above. Allocates nothing. mem is borrowed. */
void iw_pool_init(struct iw_pool *p, const struct iw_mem *mem, size_t size, size_t max,
		  size_t spare_max);
/* Frees the spare buffers. Buffers still out are a mistake of the caller: asserted. */
void iw_pool_fini(struct iw_pool *p);
/*
 * A buffer of p->size octets, contents undefined; NULL when max is reached or memory is out: try
 * again later.
 */
void *iw_pool_get(struct iw_pool *p);
/* Given back: buf is one that iw_pool_get of this pool returned, not NULL (asserted). */
void iw_pool_put(struct iw_pool *p, void *buf);

#endif
