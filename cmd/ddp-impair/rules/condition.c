// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Parses the part of a rule before its colon: the unit and its conditions. */
#include <string.h>

#include "ddp-impair/rules/internal.h"
#include "ddp-impair/rules/near.h"
#include "util/num.h"

enum key {
	K_OPCODE,
	K_FROM,
	K_CONN,
	K_STREAM,
	K_NTH,
	K_EVERY,
	K_COUNT,
	K_LEN,
	K_AFTER,
	K_UNTIL,
	K_PROB,
	KEYS
};
static const char *const keys[KEYS] = {
	[K_OPCODE] = "opcode", [K_FROM] = "from",   [K_CONN] = "conn",   [K_STREAM] = "stream",
	[K_NTH] = "nth",       [K_EVERY] = "every", [K_COUNT] = "count", [K_LEN] = "len",
	[K_AFTER] = "after",   [K_UNTIL] = "until", [K_PROB] = "prob",
};

static int parse_unit(struct iw_rule_parse *s)
{
	struct iw_rule_word w = iw_rule_next(s, ":=");
	struct iw_rule_near near;

	iw_rule_near_init(&near, w.p, w.len);
	for (unsigned k = 0; k < IW_UNIT_KINDS; k++) {
		if (iw_rule_word_is(w, iw_unit_kind_name(k))) {
			s->rule->kind = k;
			return 0;
		}
		iw_rule_near_try(&near, iw_unit_kind_name(k));
	}
	return iw_rule_bad(s, w, "fpdu, mpa-request, mpa-reply, packet, chunk or octets",
			   near.best);
}

/* "send,send-inv": one name at a time. */
static int parse_opcode(struct iw_rule_parse *s, struct iw_rule_word w)
{
	struct iw_rule_near near;

	iw_rule_near_init(&near, w.p, w.len);
	for (unsigned op = 0; op < IW_UNIT_OPS; op++) {
		if (iw_rule_word_is(w, iw_unit_op_name(op))) {
			s->rule->ops |= 1ull << op;
			return 0;
		}
		iw_rule_near_try(&near, iw_unit_op_name(op));
	}
	return iw_rule_bad(s, w, "an opcode such as write, send, read-response, or data",
			   near.best);
}

static int parse_opcodes(struct iw_rule_parse *s, struct iw_rule_word w)
{
	while (true) {
		const char *comma = memchr(w.p, ',', w.len);
		struct iw_rule_word one = { w.p, comma ? (size_t)(comma - w.p) : w.len };
		int err = parse_opcode(s, one);

		if (err < 0 || !comma)
			return err;
		w.len -= one.len + 1;
		w.p = comma + 1;
	}
}

static int parse_from(struct iw_rule_parse *s, struct iw_rule_word w)
{
	for (unsigned from = 0; from < 2; from++) {
		if (iw_rule_word_is(w, iw_unit_from_name(from))) {
			s->rule->from = (uint8_t)(1u << from);
			return 0;
		}
	}
	return iw_rule_bad(s, w, "initiator or responder", NULL);
}

static int parse_number(struct iw_rule_parse *s, struct iw_rule_word w, uint64_t min, uint64_t max,
			uint64_t *out)
{
	if (iw_rule_number(w, out) && *out >= min && *out <= max)
		return 0;
	return iw_rule_bad(s, w,
			   min == 0           ? "a number from 0 to 4294967295"
			   : max > UINT32_MAX ? "a number from 1 to 18446744073709551615"
					      : "a number from 1 to 4294967295",
			   NULL);
}

static int parse_range(struct iw_rule_parse *s, struct iw_rule_word w, struct iw_rule_range *out)
{
	if (iw_rule_range(w, out, iw_rule_number) && out->max > 0)
		return 0;
	return iw_rule_bad(s, w, "a number or a range such as 10..20", NULL);
}

static int parse_time(struct iw_rule_parse *s, struct iw_rule_word w, uint64_t *out)
{
	if (iw_rule_duration(w, out) && *out != IW_TIME_NEVER)
		return 0;
	return iw_rule_bad(s, w, "a time such as 500ms or 2s, at most 24h", NULL);
}

static int parse_key(struct iw_rule_parse *s, enum key key, struct iw_rule_word v)
{
	struct iw_rule *r = s->rule;
	uint64_t n = 0;
	int err;

	switch (key) {
	case K_OPCODE:
		return parse_opcodes(s, v);
	case K_FROM:
		return parse_from(s, v);
	case K_CONN:
		err = parse_number(s, v, 1, UINT32_MAX, &n);
		r->conn = (uint32_t)n;
		return err;
	case K_STREAM:
		if (r->kind != IW_UNIT_CHUNK)
			return iw_rule_bad(s, v, "the unit chunk: only DATA chunks have a stream",
					   NULL);
		err = parse_number(s, v, 0, UINT32_MAX, &n);
		r->stream = (uint32_t)n;
		r->has_stream = true;
		return err;
	case K_NTH:
		return parse_number(s, v, 1, UINT64_MAX, &r->nth);
	case K_EVERY:
		return parse_number(s, v, 1, UINT64_MAX, &r->every);
	case K_COUNT:
		return parse_range(s, v, &r->count);
	case K_LEN:
		return parse_range(s, v, &r->len);
	case K_AFTER:
		return parse_time(s, v, &r->after_ns);
	case K_UNTIL:
		return parse_time(s, v, &r->until_ns);
	case K_PROB:
		if (iw_rule_chance(v, &r->prob))
			return 0;
		return iw_rule_bad(s, v, "a percentage from 0% to 100%, as 0.5%", NULL);
	case KEYS:
		break;
	}
	return IW_E_INVAL;
}

int iw_rule_parse_field(struct iw_rule_parse *s, struct iw_rule_word w, struct iw_unit_field *out)
{
	const char *near = NULL;
	struct iw_rule_near n;

	if (iw_unit_field_find(out, s->rule->kind, w.p, w.len, &near))
		return 0;
	iw_rule_near_init(&n, w.p, w.len);
	for (unsigned i = 0; i < KEYS; i++)
		iw_rule_near_try(&n, keys[i]);
	return iw_rule_bad(
		s, w, "a key (opcode, from, conn, nth, every, count, prob, ...) or a header field",
		n.best ? n.best : near);
}

static int parse_equal(struct iw_rule_parse *s, struct iw_rule_word k, struct iw_rule_word v)
{
	struct iw_rule *r = s->rule;
	struct iw_rule_equal *e = &r->equal[r->equals];
	int err;

	if (r->equals == IW_RULE_FIELDS)
		return iw_rule_bad(s, k, "at most 4 header fields", NULL);
	err = iw_rule_parse_field(s, k, &e->field);
	if (err < 0)
		return err;
	r->equals++;
	return iw_rule_number(v, &e->value) ? 0
					    : iw_rule_bad(s, v, "a number, as 5 or 0x1234", NULL);
}

static int parse_condition(struct iw_rule_parse *s, struct iw_rule_word k)
{
	struct iw_rule_word v;

	if (s->pos == s->len || s->text[s->pos] != '=') {
		v = (struct iw_rule_word){ s->text + s->pos, 0 };
		return iw_rule_bad(s, s->pos == s->len ? v : k,
				   s->pos == s->len ? "a colon and an action" : "KEY=VALUE", NULL);
	}
	s->pos++;
	v = iw_rule_next(s, ":");
	for (unsigned i = 0; i < KEYS; i++) {
		if (!iw_rule_word_is(k, keys[i]))
			continue;
		if (s->keys & 1u << i)
			return iw_rule_bad(s, k, "each key once", NULL);
		s->keys |= 1u << i;
		return parse_key(s, i, v);
	}
	return parse_equal(s, k, v);
}

int iw_rule_parse_conditions(struct iw_rule_parse *s)
{
	int err = parse_unit(s);

	while (err == 0) {
		struct iw_rule_word k = iw_rule_next(s, ":=");

		if (k.len == 0 && s->pos < s->len && s->text[s->pos] == ':') {
			s->pos++;
			return 0;
		}
		if (k.len == 0)
			return iw_rule_bad(
				s, k, "a colon and an action, as in \"fpdu nth=5: drop\"", NULL);
		err = parse_condition(s, k);
	}
	return err;
}
