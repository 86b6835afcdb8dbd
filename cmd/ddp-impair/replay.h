/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inside ddp-impair: a record of decisions, to repeat them. */
#ifndef IW_DDP_IMPAIR_REPLAY_H
#define IW_DDP_IMPAIR_REPLAY_H

#include "ddp-impair/rules/decision.h"

struct iw_replay;

/*
 * Reads a record. rules (borrowed) gets the actions. IW_E_FORMAT: a line is not a decision, *why
 * has file, line and what was expected; errors of iw_rules_add_action() and iw_os_fail().
 */
IW_MUST_CHECK int iw_replay_open(struct iw_replay **out, const char *path, struct iw_rules *rules,
				 struct iw_fault *why);
/* NULL is allowed. */
void iw_replay_close(struct iw_replay *r);
/* Writes the recorded decisions of the unit, at most IW_DECISIONS_MAX. Returns their number. */
size_t iw_replay_decide(struct iw_replay *r, const struct iw_unit *u,
			struct iw_decision out[static IW_DECISIONS_MAX]);
/* Returns the number of recorded decisions whose unit was not decided yet. */
uint64_t iw_replay_unused(const struct iw_replay *r);

#endif
