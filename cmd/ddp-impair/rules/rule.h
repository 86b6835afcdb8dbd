/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rules: which units, and what happens to them. The text of a rule is
 *
 *	UNIT [KEY=VALUE...]: ACTION [ARGUMENT...]
 *	fpdu opcode=write nth=100: flip-bit payload
 *
 * A rule applies to a unit that meets all its conditions. The counting conditions (nth, every,
 * count) number the units of a connection and direction that meet the other conditions; prob is
 * decided last. A field that the unit does not have meets no condition. If several rules apply, their
 * actions follow one another in the order of the rules, up to one that ends the unit.
 *
 * A decision depends on the seed and on the numbers of rule, connection and unit, and on nothing
 * else; only the conditions after and until depend on the time. Pure; a set of rules does not change
 * once its connections exist, so threads may share it.
 */
#ifndef IW_DDP_IMPAIR_RULES_RULE_H
#define IW_DDP_IMPAIR_RULES_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "ddp-impair/rules/unit.h"
#include "util/mem.h"

#define IW_RULE_PROB_ALL   UINT32_C(1000000) /* chances are in millionths */
#define IW_RULE_FIELDS     4
#define IW_RULE_TEXT       512
#define IW_RULE_INJECT_MAX 65536
#define IW_RULES_MAX       1000

enum iw_action_kind {
	IW_ACTION_DROP,
	IW_ACTION_DELAY,
	IW_ACTION_REORDER,
	IW_ACTION_DUPLICATE,
	IW_ACTION_FLIP_BIT,
	IW_ACTION_SWAP_WORDS,
	IW_ACTION_TRUNCATE,
	IW_ACTION_SPLIT,
	IW_ACTION_COALESCE,
	IW_ACTION_STALL,
	IW_ACTION_DISCARD,
	IW_ACTION_HALF_CLOSE,
	IW_ACTION_CLOSE,
	IW_ACTION_RESET,
	IW_ACTION_SET,
	IW_ACTION_INJECT,
	IW_ACTION_REBIND,
	IW_ACTIONS,
};
const char *iw_action_name(enum iw_action_kind kind);

enum iw_action_part { IW_PART_ANY, IW_PART_HEADER, IW_PART_PAYLOAD, IW_PART_TRAILER, IW_PARTS };

/* Both ends included. */
struct iw_rule_range {
	uint64_t min, max;
};

struct iw_action {
	enum iw_action_kind kind;
	const char *text; /* the action as it was written; borrowed from the set of rules */
	/*
	 * reorder, duplicate, coalesce: units or copies. truncate, split, reset: octets of the unit
	 * that leave. A range: the seed chooses.
	 */
	struct iw_rule_range n;
	/* delay, stall, coalesce, the pause of split; IW_TIME_NEVER: for ever */
	struct iw_rule_range ns;
	enum iw_action_part part;   /* flip-bit */
	bool fix_crc;               /* the CRC of the FPDU or packet is updated */
	bool fix_length;            /* truncate: so are the length fields, and the CRC */
	bool after;                 /* inject: after the unit, not before it */
	struct iw_unit_field field; /* set */
	uint64_t value;
	const uint8_t *octets; /* inject; owned by the set of rules */
	size_t octets_len;
};

struct iw_rule_equal {
	struct iw_unit_field field;
	uint64_t value;
};

struct iw_rule {
	enum iw_unit_kind kind;
	uint64_t ops; /* set; 0: any */
	uint8_t from; /* set of 1 << enum iw_unit_from */
	bool has_stream;
	uint32_t conn; /* 0: any */
	uint32_t stream;
	uint64_t nth, every;         /* 0: any */
	struct iw_rule_range count;  /* max 0: any */
	struct iw_rule_range len;    /* octets of the unit, without markers */
	uint64_t after_ns, until_ns; /* since the connection began */
	uint32_t prob;               /* in millionths */
	struct iw_rule_equal equal[IW_RULE_FIELDS];
	size_t equals;
	struct iw_action action;
};

/* What carries the units. An action that a carrier cannot do is an error of the rule. */
enum iw_rule_carrier { IW_RULE_TCP, IW_RULE_UDP, IW_RULE_FRAMES };

struct iw_rules;

/* Reads the octets of "inject @PATH": writes at most cap octets to dst, returns their number or an
 * error with *why. */
typedef int iw_rule_load_fn(void *ctx, uint8_t *dst, size_t cap, const char *path,
			    struct iw_fault *why);

/* mem and load (may be NULL: no files) are borrowed until iw_rules_free(). IW_E_NOMEM. */
IW_MUST_CHECK int iw_rules_new(struct iw_rules **out, enum iw_rule_carrier carrier, uint64_t seed,
			       iw_rule_load_fn *load, void *load_ctx, const struct iw_mem *mem);
/* NULL is allowed. */
void iw_rules_free(struct iw_rules *r);
/*
 * Parses a rule and appends it. IW_E_INVAL: *why has the rule, the column, what was seen and what
 * was expected. IW_E_NOTSUP: the carrier cannot do the action; *why has the reason. IW_E_LIMIT: too
 * many rules. IW_E_NOMEM; errors of load.
 */
IW_MUST_CHECK int iw_rules_add(struct iw_rules *r, const char *text, struct iw_fault *why);
/* Parses an action alone, as in the record of a decision; otherwise as iw_rules_add(). *out is
 * borrowed from r. */
IW_MUST_CHECK int iw_rules_add_action(struct iw_rules *r, enum iw_unit_kind kind, const char *text,
				      const struct iw_action **out, struct iw_fault *why);
size_t iw_rules_count(const struct iw_rules *r);
/* Returns whether a rule applies to units of the kind. */
bool iw_rules_use(const struct iw_rules *r, enum iw_unit_kind kind);

/* One direction of one connection: the counters of the rules. */
struct iw_rules_flow {
	uint64_t *count; /* owned; one for each rule */
	size_t n;
};
/* IW_E_NOMEM. */
IW_MUST_CHECK int iw_rules_flow_init(struct iw_rules_flow *f, const struct iw_rules *r);
void iw_rules_flow_fini(struct iw_rules_flow *f, const struct iw_rules *r);

#endif
