/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An allocator that counts, checks the size passed to free, and fails from the n-th call on if
 * requested. */
#ifndef TESTS_COUNTING_MEM_H
#define TESTS_COUNTING_MEM_H

#include <stdint.h>
#include <stdlib.h>

#include "util/mem.h"

struct counting_mem {
	struct iw_mem mem;
	size_t calls;     /* calls of alloc, including failed ones */
	size_t fail_from; /* this call (from 1) and all later ones fail; 0: none */
	size_t blocks;    /* allocated now */
	size_t bytes;
	size_t wrong_size; /* blocks that were freed with a wrong size */
};

/* Each block is preceded by its size, in a header that keeps malloc's alignment. */
#define COUNTING_HEAD 16

static inline void *counting_alloc(void *ctx, size_t size)
{
	struct counting_mem *m = ctx;
	uint8_t *p;

	m->calls++;
	if (m->fail_from && m->calls >= m->fail_from)
		return NULL;
	p = calloc(1, COUNTING_HEAD + size);
	if (!p)
		return NULL;
	*(size_t *)(void *)p = size;
	m->blocks++;
	m->bytes += size;
	return p + COUNTING_HEAD;
}

static inline void counting_free(void *ctx, void *p, size_t size)
{
	struct counting_mem *m = ctx;
	uint8_t *head;

	if (!p)
		return;
	head = (uint8_t *)p - COUNTING_HEAD;
	if (*(size_t *)(void *)head != size)
		m->wrong_size++;
	m->blocks--;
	m->bytes -= *(size_t *)(void *)head;
	free(head);
}

static inline void counting_mem_init(struct counting_mem *m)
{
	*m = (struct counting_mem){ .mem = { counting_alloc, counting_free, m } };
}

#endif
