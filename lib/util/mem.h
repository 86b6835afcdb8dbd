/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The allocator, a parameter of each engine. Tests pass one whose n-th call fails. The data path
 * does not call it; its buffers are from util/pool.h.
 */
#ifndef IW_UTIL_MEM_H
#define IW_UTIL_MEM_H

#include <stddef.h>

struct iw_mem {
	/* Returns zeroed memory, aligned as by malloc(), owned by the caller. NULL: out of
	 * memory. */
	void *(*alloc)(void *ctx, size_t size);
	/* size: as allocated; p may be NULL. */
	void (*free)(void *ctx, void *p, size_t size);
	void *ctx;
};

/* Allocates n * size zeroed bytes. NULL: out of memory, or the product overflows. Free it with the
 * product as the size. */
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
