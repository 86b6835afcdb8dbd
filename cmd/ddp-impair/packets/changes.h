/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Changes of the octets of a TCP direction, by sequence number. They apply to every segment that
 * carries these octets, so a retransmission is changed in the same way. Pure; no errors.
 */
#ifndef IW_DDP_IMPAIR_PACKETS_CHANGES_H
#define IW_DDP_IMPAIR_PACKETS_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IW_CHANGES_MAX 64 /* the oldest is forgotten for a further one */
#define IW_CHANGE_LEN  8

/* Octets that are combined with those of the stream by exclusive or. */
struct iw_change {
	uint32_t seq;
	uint8_t len; /* 0: forgotten */
	uint8_t mask[IW_CHANGE_LEN];
};

struct iw_changes {
	uint64_t added; /* the newest is at (added - 1) % IW_CHANGES_MAX */
	struct iw_change list[IW_CHANGES_MAX];
};

/* Adds a change of one octet. */
void iw_changes_add(struct iw_changes *c, uint32_t seq, uint8_t mask);
/* Changes a segment; returns whether an octet changed. Forgets changes that are more than the largest
 * window away from it. */
bool iw_changes_apply(struct iw_changes *c, uint32_t seq, uint8_t *octets, size_t len);

#endif
