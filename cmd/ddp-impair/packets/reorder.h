/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One direction on its way to the link: carries out what became of a packet. Keeps packets that
 * others shall overtake, until as many of their flow have passed, or for IW_REORDER_MAX_NS: no others
 * may follow. Pure; one thread at a time.
 */
#ifndef IW_DDP_IMPAIR_PACKETS_REORDER_H
#define IW_DDP_IMPAIR_PACKETS_REORDER_H

#include "ddp-impair/link/link.h"
#include "ddp-impair/packets/flow.h"
#include "util/list.h"

#define IW_REORDER_MAX_NS UINT64_C(100000000)
#define IW_REORDER_MAX    256 /* packets kept; others leave in order */

struct iw_reorder {
	struct iw_link *link;     /* borrowed */
	const struct iw_mem *mem; /* borrowed */
	struct iw_list kept;      /* in the order of their deadlines */
	size_t n;
};

void iw_reorder_init(struct iw_reorder *o, struct iw_link *link, const struct iw_mem *mem);
void iw_reorder_fini(struct iw_reorder *o);

/*
 * Passes a packet (copied) of len octets to the link as *fate says; fate->len is ignored. flow: a
 * number of its flow and direction.
 */
void iw_reorder_push(struct iw_reorder *o, uint64_t flow, const void *packet, size_t len,
		     const struct iw_fate *fate, uint64_t now);
/* Passes on the packets that were kept long enough. */
void iw_reorder_tick(struct iw_reorder *o, uint64_t now);
/* Returns when to call it next. */
uint64_t iw_reorder_deadline(const struct iw_reorder *o);

#endif
