/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Inside ddp-impair: one direction of the carriers of frames and of datagrams. A packet passes the
 * rules, then those that it overtakes, then the link.
 */
#ifndef IW_DDP_IMPAIR_DIRECTION_H
#define IW_DDP_IMPAIR_DIRECTION_H

#include "ddp-impair/impair.h"
#include "ddp-impair/packets/reorder.h"

struct iw_relay_direction {
	struct iw_link *link; /* owned */
	struct iw_reorder order;
};

/* Makes a direction. IW_E_NOMEM. */
IW_MUST_CHECK int iw_relay_direction_init(struct iw_relay_direction *d,
					  const struct iw_link_cfg *cfg, struct iw_fault *why);
void iw_relay_direction_fini(struct iw_relay_direction *d);
/* Returns when the next packet is due, or another call of iw_reorder_tick() is. */
uint64_t iw_relay_direction_deadline(const struct iw_relay_direction *d);

/* Decides by the decision log of the relay (ctx): an iw_flow_decide_fn. */
size_t iw_relay_decide(void *ctx, struct iw_rules_flow *counts, const struct iw_unit *u,
		       struct iw_decision out[static IW_DECISIONS_MAX]);
/* What a flow of packets needs. */
struct iw_flow_cfg iw_relay_flow_cfg(struct iw_relay *r);

/* A counter of the report. */
struct iw_relay_count {
	const char *name; /* NULL: the end of a list */
	uint64_t n;
};
/*
 * Writes the counters of a direction: its link, and then those of the carrier. With --json a
 * "direction" event, else a line. IW_E_OS and others of iw_json_end().
 */
IW_MUST_CHECK int iw_relay_report(struct iw_relay *r, const struct iw_relay_direction *d,
				  const char *from, const char *to,
				  const struct iw_relay_count *more);
/*
 * Writes the end of the report: counters of the whole relay, and the decisions. sound: the relay did
 * what its options say. Returns the exit status.
 */
IW_MUST_CHECK int iw_relay_report_end(struct iw_relay *r, const struct iw_relay_count *counts,
				      bool sound);

#endif
