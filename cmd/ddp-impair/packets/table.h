/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rules over Ethernet frames: finds the TCP connection or SCTP association of each frame, and passes
 * its segment or packet to the flow. Frames of other protocols pass unchanged. A full table forgets
 * the flow that was idle longest.
 *
 * The initiator of a flow is the end that sent SYN or INIT; if neither was seen, the end of the
 * first frame.
 *
 * Trusts nothing. No I/O: the time is an argument. One thread at a time.
 */
#ifndef IW_DDP_IMPAIR_PACKETS_TABLE_H
#define IW_DDP_IMPAIR_PACKETS_TABLE_H

#include "ddp-impair/packets/flow.h"

#define IW_FLOWS_MAX 4096

struct iw_flows;

/* cfg is copied, but early is not used; what it refers to is borrowed until iw_flows_free().
 * IW_E_NOMEM. */
IW_MUST_CHECK int iw_flows_new(struct iw_flows **out, const struct iw_flow_cfg *cfg);
/* NULL is allowed. */
void iw_flows_free(struct iw_flows *t);

/*
 * A whole frame of len octets: edits it in place and makes its checksums right; fills *out, whose
 * len is that of the frame. Returns a number of its flow and direction, from 1; 0: it belongs to
 * none.
 */
uint64_t iw_flows_frame(struct iw_flows *t, uint8_t *frame, size_t len, uint64_t now,
			struct iw_fate *out);

/* Returns the number of flows so far, of decisions about units that had left, and of TCP directions
 * that ended because an early segment was not kept. */
uint64_t iw_flows_count(const struct iw_flows *t);
uint64_t iw_flows_missed(const struct iw_flows *t);
uint64_t iw_flows_unread(const struct iw_flows *t);

#endif
