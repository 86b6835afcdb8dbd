/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A binary heap of deadlines, intrusive: the nearest deadline of ten thousand connections in O(1),
 * a change in O(log n).
 */
#ifndef IW_UTIL_HEAP_H
#define IW_UTIL_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "util/mem.h"

struct iw_timer {
	uint64_t at;  /* ns; IW_TIME_NEVER: not in the heap */
	size_t index; /* 1-based place in the heap; 0: not in it */
};

struct iw_heap {
	const struct iw_mem *mem;
	struct iw_timer **slot;
	size_t len, cap;
};

/* An empty heap; mem is borrowed and outlives it. Allocates nothing. */
void iw_heap_init(struct iw_heap *h, const struct iw_mem *mem);
/* Frees the heap's own memory; timers still in it are not looked at. */
void iw_heap_fini(struct iw_heap *h);
/*
 * Puts, moves or (at == IW_TIME_NEVER) removes t; t is kept while it is in. IW_E_NOMEM: t is
 * unchanged. Moving or removing never fails.
 */
IW_MUST_CHECK int iw_heap_set(struct iw_heap *h, struct iw_timer *t, uint64_t at);
/* Takes t out; its deadline becomes IW_TIME_NEVER. Does nothing else to a timer that is not in. */
void iw_heap_del(struct iw_heap *h, struct iw_timer *t);
/* The nearest timer, or NULL. */
struct iw_timer *iw_heap_first(const struct iw_heap *h);

#endif
