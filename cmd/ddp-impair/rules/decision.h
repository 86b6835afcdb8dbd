/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decisions: the actions that the rules have chosen for one unit, with every random value that they
 * need. To repeat a decision, its action and pick are enough. Pure.
 */
#ifndef IW_DDP_IMPAIR_RULES_DECISION_H
#define IW_DDP_IMPAIR_RULES_DECISION_H

#include "ddp-impair/rules/rule.h"

#define IW_DECISIONS_MAX 8

struct iw_decision {
	uint32_t rule;                  /* its number, from 1; in a replay as recorded */
	const struct iw_action *action; /* borrowed from the set of rules */
	/*
	 * The value that the seed chose. flip-bit: the bit, counted from the most significant one of
	 * the first octet. swap-words: the octet where the two words begin. Otherwise: a value of the
	 * range n of the action.
	 */
	uint64_t pick;
	uint64_t ns; /* a value of the range ns of the action */
};

/*
 * Applies all rules to the unit and counts it. Writes at most IW_DECISIONS_MAX decisions, in the
 * order in which they are carried out; returns their number. Call it once for each unit.
 */
size_t iw_rules_decide(const struct iw_rules *r, struct iw_rules_flow *f, const struct iw_unit *u,
		       struct iw_decision out[static IW_DECISIONS_MAX]);

/* True if the unit itself does not leave, or nothing after it does: later decisions are void. */
bool iw_decision_ends(const struct iw_decision *d);

#endif
