/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The TCP segments of one direction that arrived before a predecessor, in the order of their
 * sequence numbers. Pure. One piece of data that a sender's kernel leaves to a segmentation offload
 * is 45 segments of an Ethernet link, and such pieces overtake each other when the sender moves to
 * another processor: so many segments are kept, up to a limit of memory.
 */
#ifndef IW_DDP_IMPAIR_PACKETS_EARLY_H
#define IW_DDP_IMPAIR_PACKETS_EARLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/mem.h"

/* For one direction: the largest receive buffer that Linux chooses by default, and a number in case
 * the segments are short. */
#define IW_EARLY_OCTETS   (6u << 20)
#define IW_EARLY_SEGMENTS 8192u
/* For all directions together. */
#define IW_EARLY_TOTAL    (256u << 20)

struct iw_early {
	struct iw_early *next;
	uint32_t seq;
	uint32_t len; /* at least 1 */
	uint8_t octets[];
};

/* All but total zero: empty. */
struct iw_early_list {
	struct iw_early *first, *last; /* owned */
	uint32_t segments, octets;
	size_t *total; /* octets of all lists that share it, borrowed; NULL: not limited */
};

/* Copies a segment of at least one octet; false: no memory, or a limit was reached. */
bool iw_early_keep(struct iw_early_list *l, const struct iw_mem *mem, uint32_t seq,
		   const uint8_t *octets, size_t len);
/* Returns the segment with the lowest sequence number, which the list owns; NULL: empty. */
const struct iw_early *iw_early_first(const struct iw_early_list *l);
/* Removes that segment. The list must not be empty. */
void iw_early_drop(struct iw_early_list *l, const struct iw_mem *mem);
void iw_early_clear(struct iw_early_list *l, const struct iw_mem *mem);

#endif
