/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The allocator that engines get passed in. Tests pass one that fails the n-th call.
 * Nothing on the data path calls it: see util/pool.h for buffers that come and go.
 */
#ifndef IW_UTIL_MEM_H
#define IW_UTIL_MEM_H

#include <stddef.h>

struct iw_mem {
	/* Zeroed octets, aligned as malloc does; NULL when there are none. */
	void *(*alloc)(void *ctx, size_t size);
	/* size as allocated; p may be NULL. */
	void (*free)(void *ctx, void *p, size_t size);
	void *ctx;
};

/* alloc of n * size octets, zeroed; NULL also when the product overflows. Free with the product. */
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
