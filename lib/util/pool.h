/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Buffers of one size. A connection gets them while it has octets in flight, and returns them when
 * it is idle. The pool keeps returned buffers for reuse, so steady traffic allocates no memory and
 * an idle connection holds none. A pool belongs to one thread.
 */
#ifndef IW_UTIL_POOL_H
#define IW_UTIL_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "util/mem.h"

struct iw_pool_buf;

struct iw_pool {
	const struct iw_mem *mem; /* borrowed until iw_pool_fini() */
	size_t size;              /* bytes of one buffer */
	size_t max;               /* most buffers in use; 0: no limit */
	size_t out, spare;        /* buffers in use; buffers in the free list */
	size_t spare_max;         /* most buffers in the free list; further ones are freed */
	struct iw_pool_buf *free_list;
};

/* Makes an empty pool, without allocating. For the parameters see struct iw_pool. */
void iw_pool_init(struct iw_pool *p, const struct iw_mem *mem, size_t size, size_t max,
		  size_t spare_max);
/* Frees buffers of the free list until at most keep are left. Call it when the load has ended. */
void iw_pool_trim(struct iw_pool *p, size_t keep);
/* Frees the free list. No buffer may be in use (asserted). */
void iw_pool_fini(struct iw_pool *p);
/*
 * Returns a buffer of p->size bytes with undefined contents. The caller owns it until
 * iw_pool_put(). NULL: max buffers are in use, or out of memory; retry later.
 */
void *iw_pool_get(struct iw_pool *p);
/* Returns buf to the pool. It must be from iw_pool_get() of this pool, and not NULL (asserted). */
void iw_pool_put(struct iw_pool *p, void *buf);

#endif
