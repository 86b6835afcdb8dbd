// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Applies rules to units. Random values are hashes, so they depend on nothing but their inputs. */
#include "ddp-impair/rules/decision.h"

#include "ddp-impair/rules/internal.h"
#include "util/num.h"

/* What a random value is for. */
enum purpose { FOR_PROB = 1, FOR_PICK, FOR_TIME };

/* splitmix64: the number after the state x. */
static uint64_t mix(uint64_t x)
{
	return iw_mix64(x + 0x9e3779b97f4a7c15u);
}

static uint64_t random_of(const struct iw_rules *r, size_t rule, const struct iw_unit *u,
			  enum purpose purpose)
{
	uint64_t x = mix(r->seed);

	x = mix(x ^ (uint64_t)rule << 8 ^ purpose);
	x = mix(x ^ (uint64_t)u->conn << 1 ^ u->from);
	return mix(x ^ u->number);
}

/* A value of the range; the ranges of rules are small against 2^64, so the bias does not matter. */
static uint64_t in_range(const struct iw_rule_range *range, uint64_t random)
{
	uint64_t width = range->max - range->min;

	return width == UINT64_MAX ? random : range->min + random % (width + 1);
}

/* --- conditions --- */

static bool fields_equal(const struct iw_rule *r, const struct iw_unit *u)
{
	for (size_t i = 0; i < r->equals; i++) {
		size_t off;
		const struct iw_field *f = iw_unit_field_place(u, &r->equal[i].field, &off);

		if (!f || iw_wire_field_get(f, u->octets + off) != r->equal[i].value)
			return false;
	}
	return true;
}

/* Only DATA chunks have a stream. */
static bool in_stream(const struct iw_rule *r, const struct iw_unit *u)
{
	return !r->has_stream ||
	       (u->ops & UINT64_C(1) << IW_UNIT_OP_DATA && r->stream == u->stream);
}

static bool meets(const struct iw_rule *r, const struct iw_unit *u)
{
	return r->kind == u->kind && (!r->ops || r->ops & u->ops) && r->from & 1u << u->from &&
	       (!r->conn || r->conn == u->conn) && in_stream(r, u) && u->len >= r->len.min &&
	       u->len <= r->len.max && u->at_ns >= r->after_ns && u->at_ns < r->until_ns &&
	       fields_equal(r, u);
}

static bool counted(const struct iw_rule *r, uint64_t n)
{
	return (!r->nth || n == r->nth) && (!r->every || n % r->every == 0) &&
	       (!r->count.max || (n >= r->count.min && n <= r->count.max));
}

/* --- random values --- */

/* The octets of a part. */
static void part_of(const struct iw_unit *u, enum iw_action_part part, size_t *off, size_t *len)
{
	size_t trailer = IW_MIN(u->trailer_len, u->len);
	size_t header = IW_MIN(u->header_len, u->len - trailer);

	*off = part == IW_PART_PAYLOAD ? header : part == IW_PART_TRAILER ? u->len - trailer : 0;
	*len = part == IW_PART_ANY       ? u->len
	       : part == IW_PART_HEADER  ? header
	       : part == IW_PART_TRAILER ? trailer
					 : u->len - header - trailer;
}

/* Finds two neighbouring words of the payload that differ; the search begins at a random place. */
static bool pick_words(const struct iw_unit *u, uint64_t random, uint64_t *pick)
{
	size_t off, len, words;

	part_of(u, IW_PART_PAYLOAD, &off, &len);
	if (off >= u->have)
		return false;
	words = IW_MIN(len, u->have - off) / 2;
	for (size_t i = 0; i + 1 < words; i++) {
		size_t at = off + (random + i) % (words - 1) * 2;

		if (iw_get_be16(u->octets + at) != iw_get_be16(u->octets + at + 2)) {
			*pick = at;
			return true;
		}
	}
	return false;
}

/* False: the action does not fit the unit. */
static bool pick(const struct iw_action *a, const struct iw_unit *u, uint64_t random, uint64_t *out)
{
	size_t off, len;

	switch (a->kind) {
	case IW_ACTION_FLIP_BIT:
		part_of(u, a->part, &off, &len);
		*out = off * 8 + (len ? random % (len * 8) : 0);
		return len > 0;
	case IW_ACTION_SWAP_WORDS:
		return pick_words(u, random, out);
	case IW_ACTION_SET:
		return iw_unit_field_place(u, &a->field, &off) != NULL;
	case IW_ACTION_TRUNCATE:
	case IW_ACTION_SPLIT:
		*out = in_range(&a->n, random);
		return *out < u->len;
	default:
		*out = in_range(&a->n, random);
		return true;
	}
}

static bool decide(const struct iw_rules *r, size_t i, const struct iw_unit *u,
		   struct iw_decision *out)
{
	const struct iw_rule *rule = r->rule[i];

	if (rule->prob < IW_RULE_PROB_ALL &&
	    random_of(r, i, u, FOR_PROB) % IW_RULE_PROB_ALL >= rule->prob)
		return false;
	*out = (struct iw_decision){ .rule = (uint32_t)i + 1, .action = &rule->action };
	out->ns = in_range(&rule->action.ns, random_of(r, i, u, FOR_TIME));
	return pick(&rule->action, u, random_of(r, i, u, FOR_PICK), &out->pick);
}

size_t iw_rules_decide(const struct iw_rules *r, struct iw_rules_flow *f, const struct iw_unit *u,
		       struct iw_decision out[static IW_DECISIONS_MAX])
{
	size_t n = 0;
	bool ended = false;

	if (!iw_rules_use(r, u->kind))
		return 0;
	for (size_t i = 0; i < r->rules && i < f->n; i++) {
		if (!meets(r->rule[i], u))
			continue;
		/* Also counted if an earlier rule ended the unit: counts do not depend on others. */
		f->count[i]++;
		if (ended || n == IW_DECISIONS_MAX || !counted(r->rule[i], f->count[i]) ||
		    !decide(r, i, u, &out[n]))
			continue;
		ended = iw_decision_ends(&out[n++]);
	}
	return n;
}

bool iw_decision_ends(const struct iw_decision *d)
{
	switch (d->action->kind) {
	case IW_ACTION_DROP:
	case IW_ACTION_DISCARD:
	case IW_ACTION_HALF_CLOSE:
	case IW_ACTION_CLOSE:
	case IW_ACTION_RESET:
		return true;
	default:
		return false;
	}
}
