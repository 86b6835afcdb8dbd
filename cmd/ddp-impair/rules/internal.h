/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inside ddp-impair/rules: the set of rules, and the parts of its parser. */
#ifndef IW_DDP_IMPAIR_RULES_INTERNAL_H
#define IW_DDP_IMPAIR_RULES_INTERNAL_H

#include "ddp-impair/rules/rule.h"

struct iw_rules {
	const struct iw_mem *mem;
	enum iw_rule_carrier carrier;
	uint64_t seed;
	iw_rule_load_fn *load;
	void *load_ctx;
	struct iw_rule **rule; /* owned, each of them too */
	size_t rules, cap;
	/* The rules of iw_rules_add_action(): only their actions are used. Owned. */
	struct iw_rule **extra_action;
	size_t extra_actions, extra_cap;
	unsigned kinds; /* set of 1 << enum iw_unit_kind of the rules */
};

/* Octets of the text of a rule being parsed. */
struct iw_rule_parse {
	const char *text;
	size_t len;
	size_t pos;
	struct iw_rules *set;
	struct iw_rule *rule;
	unsigned keys; /* bit mask of the conditions that the rule has so far */
	struct iw_fault *why;
};

struct iw_rule_word {
	const char *p;
	size_t len;
};

/* Takes the next word, up to a blank or one of the octets in stop. Empty: the text ends, or one of
 * stop is next. */
struct iw_rule_word iw_rule_next(struct iw_rule_parse *s, const char *stop);
bool iw_rule_word_is(struct iw_rule_word w, const char *text);

/*
 * Fails with IW_E_INVAL: the rule, the column of w, the word, what was expected, and near (NULL:
 * none) as a proposal.
 */
int iw_rule_bad(struct iw_rule_parse *s, struct iw_rule_word w, const char *expected,
		const char *near);

/* Values. False: the word is not one. */
bool iw_rule_number(struct iw_rule_word w, uint64_t *out);
bool iw_rule_duration(struct iw_rule_word w, uint64_t *out_ns);
bool iw_rule_chance(struct iw_rule_word w, uint32_t *out);
/* "A..B", or "A" alone: both ends are A. */
bool iw_rule_range(struct iw_rule_word w, struct iw_rule_range *out,
		   bool (*parse)(struct iw_rule_word w, uint64_t *out));

/* Parses the conditions, up to the colon, which it takes. */
int iw_rule_parse_conditions(struct iw_rule_parse *s);
/* Parses the action: the rest of the text. */
int iw_rule_parse_action(struct iw_rule_parse *s);
/* Finds the field with this name (the word), for the kind of unit of the rule. */
int iw_rule_parse_field(struct iw_rule_parse *s, struct iw_rule_word w, struct iw_unit_field *out);

#endif
