/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The allocator, a parameter of each engine. Tests pass one whose n-th call fails. The buffers of
 * the data path are from pools (util/pool.h), which allocate only when they grow.
 */
#ifndef IW_UTIL_MEM_H
#define IW_UTIL_MEM_H

#include <stddef.h>

struct iw_mem {
	/*
	 * Returns size zeroed bytes, aligned as by malloc(). The caller owns them. NULL: out of
	 * memory.
	 */
	void *(*alloc)(void *ctx, size_t size);
	/* Frees p, which may be NULL. size: the bytes that were allocated. */
	void (*free)(void *ctx, void *p, size_t size);
	void *ctx;
};

/*
 * Allocates n * size zeroed bytes. The caller owns them, and frees them with that product as the
 * size. NULL: out of memory, or the product overflows.
 */
void *iw_mem_array(const struct iw_mem *m, size_t n, size_t size);

static inline void *iw_mem_alloc(const struct iw_mem *m, size_t size)
{
	return m->alloc(m->ctx, size);
}

static inline void iw_mem_free(const struct iw_mem *m, void *p, size_t size)
{
	m->free(m->ctx, p, size);
}

#endif
