/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to ddp-impair/packets: what its files share. */
#ifndef IW_DDP_IMPAIR_PACKETS_INTERNAL_H
#define IW_DDP_IMPAIR_PACKETS_INTERNAL_H

#include "ddp-impair/packets/flow.h"

/* Numbers the unit and lets the rules decide; returns the number of decisions. */
size_t iw_flow_decide(struct iw_flow *f, struct iw_unit *u, uint64_t now,
		      struct iw_decision out[static IW_DECISIONS_MAX]);
/* Notes what a decision does to the whole packet. Not for edits. */
void iw_flow_act(struct iw_flow *f, unsigned from, const struct iw_decision *d, uint64_t now,
		 struct iw_fate *out);
/* Delays a packet while its direction stalls, or drops it if the direction discards. */
void iw_flow_hold(struct iw_flow *f, unsigned from, uint64_t now, struct iw_fate *out);
void iw_flow_dir_free(struct iw_flow *f, unsigned from);

#endif
