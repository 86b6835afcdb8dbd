/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An intrusive binary heap of deadlines: finds the earliest of n deadlines in O(1), and changes one
 * in O(log n).
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

/* Makes an empty heap, without allocating. mem is borrowed until iw_heap_fini(). */
void iw_heap_init(struct iw_heap *h, const struct iw_mem *mem);
/*
 * Frees the heap's memory. Does not change the timers in it: their owners keep them, and must not
 * pass them to the heap again.
 */
void iw_heap_fini(struct iw_heap *h);
/*
 * Sets the deadline of t to at, in ns: adds or moves t, or removes it if at is IW_TIME_NEVER. t is
 * borrowed while it is in the heap. IW_E_NOMEM: t could not be added and is unchanged. Moving and
 * removing never fail.
 */
IW_MUST_CHECK int iw_heap_set(struct iw_heap *h, struct iw_timer *t, uint64_t at);
/* Removes t, if it is in the heap, and sets its deadline to IW_TIME_NEVER. */
void iw_heap_del(struct iw_heap *h, struct iw_timer *t);
/* Returns the timer with the earliest deadline (borrowed). NULL: the heap is empty. */
struct iw_timer *iw_heap_first(const struct iw_heap *h);

#endif
