// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Parses the part of a rule after its colon: the action and its arguments. */
#include <string.h>

#include "ddp-impair/rules/internal.h"
#include "ddp-impair/rules/near.h"
#include "util/num.h"
#include "util/text.h"

#define PAUSE_DEFAULT IW_MSEC(1)

static int parse_nothing(struct iw_rule_parse *s)
{
	(void)s;
	return 0;
}

static struct iw_rule_word peek(struct iw_rule_parse *s)
{
	size_t pos = s->pos;
	struct iw_rule_word w = iw_rule_next(s, "");

	s->pos = pos;
	return w;
}

static int parse_times(struct iw_rule_parse *s)
{
	struct iw_rule_word w = iw_rule_next(s, "");
	struct iw_rule_range *ns = &s->rule->action.ns;
	bool stall = s->rule->action.kind == IW_ACTION_STALL;

	/* "1s..forever" has no value that the seed could choose. A record omits wait_ns if it is 0, and
	 * a stall without it never ends. */
	if (iw_rule_range(w, ns, iw_rule_duration) && (ns->min > 0 || !stall) &&
	    (ns->max != IW_TIME_NEVER || ns->min == IW_TIME_NEVER))
		return 0;
	return iw_rule_bad(s, w,
			   stall ? "a time such as 2s, a range such as 1s..3s, or forever"
				 : "a time such as 20ms, or a range such as 1ms..20ms",
			   NULL);
}

static int parse_delay(struct iw_rule_parse *s)
{
	struct iw_rule_word w = peek(s);
	int err = parse_times(s);

	if (err == 0 && s->rule->action.ns.max == IW_TIME_NEVER)
		return iw_rule_bad(s, w, "a time; \"stall forever\" never ends", NULL);
	return err;
}

static int parse_count(struct iw_rule_parse *s, uint64_t min, uint64_t max, const char *expected)
{
	struct iw_rule_word w = iw_rule_next(s, "");
	struct iw_rule_range *n = &s->rule->action.n;

	if (iw_rule_range(w, n, iw_rule_number) && n->min >= min && n->max <= max)
		return 0;
	return iw_rule_bad(s, w, expected, NULL);
}

#define COUNT_MAX         1000
#define STREAM_COPIES_MAX 15

static int parse_reorder(struct iw_rule_parse *s)
{
	return parse_count(s, 1, COUNT_MAX, "how many units overtake it, 1 to 1000");
}

static int parse_duplicate(struct iw_rule_parse *s)
{
	s->rule->action.n = (struct iw_rule_range){ 1, 1 };
	if (!peek(s).len)
		return 0;
	/* A stream keeps the copies in its queue. */
	return s->set->carrier == IW_RULE_TCP
		       ? parse_count(s, 1, STREAM_COPIES_MAX,
				     "the number of copies, 1 to 15 in a stream")
		       : parse_count(s, 1, COUNT_MAX, "the number of copies, 1 to 1000");
}

static int parse_part(struct iw_rule_parse *s)
{
	static const char *const parts[IW_PARTS] = { [IW_PART_ANY] = "any",
						     [IW_PART_HEADER] = "header",
						     [IW_PART_PAYLOAD] = "payload",
						     [IW_PART_TRAILER] = "trailer" };
	struct iw_rule_word w = iw_rule_next(s, "");
	struct iw_rule_near near;

	iw_rule_near_init(&near, w.p, w.len);
	for (unsigned i = 0; i < IW_PARTS; i++) {
		if (iw_rule_word_is(w, parts[i])) {
			s->rule->action.part = i;
			return 0;
		}
		iw_rule_near_try(&near, parts[i]);
	}
	return iw_rule_bad(s, w, "header, payload, trailer or any", near.best);
}

static int parse_octets(struct iw_rule_parse *s)
{
	return parse_count(s, 0, UINT32_MAX, "how many octets of the unit leave");
}

static int parse_split(struct iw_rule_parse *s)
{
	int err = parse_count(s, 1, UINT32_MAX,
			      "how many octets leave first, at least 1, or a range such as 1..64");

	s->rule->action.ns = (struct iw_rule_range){ PAUSE_DEFAULT, PAUSE_DEFAULT };
	return err < 0 || !peek(s).len ? err : parse_delay(s);
}

/* A number of units, or a time. */
static int parse_coalesce(struct iw_rule_parse *s)
{
	struct iw_rule_word w = peek(s);
	struct iw_action *a = &s->rule->action;

	if (iw_rule_range(w, &a->n, iw_rule_number) && a->n.min >= 2 && a->n.max <= COUNT_MAX) {
		a->ns = (struct iw_rule_range){ IW_MSEC(100), IW_MSEC(100) };
		(void)iw_rule_next(s, "");
		return 0;
	}
	a->n = (struct iw_rule_range){ COUNT_MAX, COUNT_MAX };
	if (iw_rule_range(w, &a->ns, iw_rule_duration) && a->ns.max != IW_TIME_NEVER) {
		(void)iw_rule_next(s, "");
		return 0;
	}
	return iw_rule_bad(s, w, "2 to 1000 units, or a time such as 5ms", NULL);
}

/* "reset", "reset after 100" */
static int parse_end(struct iw_rule_parse *s)
{
	struct iw_rule_word w = peek(s);

	if (!w.len)
		return 0;
	(void)iw_rule_next(s, "");
	if (!iw_rule_word_is(w, "after"))
		return iw_rule_bad(s, w, "nothing more, or \"after\" and a number of octets", NULL);
	return parse_octets(s);
}

static bool fits(uint64_t v, const struct iw_unit_field *f)
{
	for (size_t i = 0; i < f->places; i++) {
		const struct iw_field *p = f->place[i].field;
		unsigned bits = p->bits ? p->bits : p->len * 8u;

		if (bits < 64 && v >> bits)
			return false;
	}
	return true;
}

static int parse_set(struct iw_rule_parse *s)
{
	struct iw_rule_word name = iw_rule_next(s, "="), v;
	struct iw_action *a = &s->rule->action;
	const char *near;

	if (!name.len || !iw_unit_field_find(&a->field, s->rule->kind, name.p, name.len, &near))
		return iw_rule_bad(s, name,
				   "a header field of this unit, as ddp.stag, mpa.rev or data.tsn",
				   name.len ? near : NULL);
	if (s->pos == s->len || s->text[s->pos] != '=')
		return iw_rule_bad(s, name, "FIELD=VALUE", NULL);
	s->pos++;
	v = iw_rule_next(s, "");
	if (!iw_rule_number(v, &a->value))
		return iw_rule_bad(s, v, "a number, as 5 or 0x1234", NULL);
	if (!fits(a->value, &a->field))
		return iw_rule_bad(s, v, "a value that fits in the field", NULL);
	return 0;
}

static bool from_hex(struct iw_rule_word w, uint8_t *dst)
{
	for (size_t i = 0; i < w.len; i += 2) {
		char text[4] = { '0', 'x', w.p[i], w.p[i + 1] };
		uint64_t v;

		if (!iw_rule_number((struct iw_rule_word){ text, 4 }, &v))
			return false;
		dst[i / 2] = (uint8_t)v;
	}
	return true;
}

static int load(struct iw_rule_parse *s, struct iw_rule_word w, uint8_t *dst)
{
	char path[256];

	if (!s->set->load)
		return iw_rule_bad(s, w, "octets in hex; files cannot be read here", NULL);
	if (w.len < 2 || w.len > sizeof(path))
		return iw_rule_bad(s, w, "a file after @", NULL);
	memcpy(path, w.p + 1, w.len - 1);
	path[w.len - 1] = '\0';
	return s->set->load(s->set->load_ctx, dst, IW_RULE_INJECT_MAX, path, s->why);
}

static int parse_inject(struct iw_rule_parse *s)
{
	struct iw_rule_word w = iw_rule_next(s, "");
	struct iw_action *a = &s->rule->action;
	bool file = w.len && w.p[0] == '@';
	uint8_t *octets;
	int n;

	if (!file && (w.len < 2 || w.len % 2 || w.len / 2 > IW_RULE_INJECT_MAX))
		return iw_rule_bad(s, w, "octets as pairs of hex digits, or @FILE", NULL);
	octets = iw_mem_alloc(s->set->mem, IW_RULE_INJECT_MAX);
	if (!octets)
		return iw_fail(s->why, IW_E_NOMEM, "out of memory");
	a->octets = octets;
	n = file ? load(s, w, octets) : (int)(w.len / 2);
	if (n < 0)
		return n;
	if (!file && !from_hex(w, octets))
		return iw_rule_bad(s, w, "octets as pairs of hex digits, or @FILE", NULL);
	a->octets_len = (size_t)n;
	w = peek(s);
	if (iw_rule_word_is(w, "after") || iw_rule_word_is(w, "before")) {
		a->after = w.p[0] == 'a';
		(void)iw_rule_next(s, "");
	}
	return 0;
}

/* --- the actions --- */

#define CRC    1u
#define LENGTH 2u

/* clang-format off */
static const struct row {
	const char *name;
	int (*parse)(struct iw_rule_parse *s);
	unsigned fixes;    /* set of CRC, LENGTH: words that may follow */
	/* Why a carrier cannot do it; NULL: it can. */
	const char *no_udp, *no_frames;
} rows[IW_ACTIONS] = {
	[IW_ACTION_DROP]       = { "drop",       parse_nothing,   0, NULL, NULL },
	[IW_ACTION_DELAY]      = { "delay",      parse_delay,     0, NULL, NULL },
	[IW_ACTION_REORDER]    = { "reorder",    parse_reorder,   0, NULL, NULL },
	[IW_ACTION_DUPLICATE]  = { "duplicate",  parse_duplicate, 0, NULL, NULL },
	[IW_ACTION_FLIP_BIT]   = { "flip-bit",   parse_part,      CRC, NULL, NULL },
	[IW_ACTION_SWAP_WORDS] = { "swap-words", parse_nothing,   CRC, NULL, NULL },
	[IW_ACTION_TRUNCATE]   = { "truncate",   parse_octets,    CRC | LENGTH, NULL, "the sequence numbers of TCP would no longer match" },
	[IW_ACTION_SPLIT]      = { "split",      parse_split,     0, "a datagram is not divided", "a frame is not divided" },
	[IW_ACTION_COALESCE]   = { "coalesce",   parse_coalesce,  0, "datagrams are not joined", "frames are not joined" },
	[IW_ACTION_STALL]      = { "stall",      parse_times,     0, NULL, NULL },
	[IW_ACTION_DISCARD]    = { "discard",    parse_nothing,   0, NULL, NULL },
	[IW_ACTION_HALF_CLOSE] = { "half-close", parse_end,       0, "UDP has no connection that ends", "frames have no connection that ends" },
	[IW_ACTION_CLOSE]      = { "close",      parse_end,       0, "UDP has no connection that ends", "frames have no connection that ends" },
	[IW_ACTION_RESET]      = { "reset",      parse_end,       0, "UDP has no connection that ends", "frames have no connection that ends" },
	[IW_ACTION_SET]        = { "set",        parse_set,       CRC, NULL, NULL },
	[IW_ACTION_INJECT]     = { "inject",     parse_inject,    0, NULL, "the sequence numbers of TCP would no longer match" },
	[IW_ACTION_REBIND]     = { "rebind",     parse_nothing,   0, NULL, "the relay has no port" },
};
/* clang-format on */

const char *iw_action_name(enum iw_action_kind kind)
{
	return kind < IW_ACTIONS ? rows[kind].name : "unknown";
}

static int parse_name(struct iw_rule_parse *s, struct iw_rule_word w)
{
	struct iw_rule_near near;

	iw_rule_near_init(&near, w.p, w.len);
	for (unsigned i = 0; i < IW_ACTIONS; i++) {
		if (iw_rule_word_is(w, rows[i].name)) {
			s->rule->action.kind = i;
			return 0;
		}
		iw_rule_near_try(&near, rows[i].name);
	}
	return iw_rule_bad(s, w, "an action: drop, delay, flip-bit, set, split, reset, ...",
			   near.best);
}

static int parse_fixes(struct iw_rule_parse *s)
{
	struct iw_action *a = &s->rule->action;
	unsigned fixes = rows[a->kind].fixes;
	struct iw_rule_word w;

	while ((w = iw_rule_next(s, "")).len) {
		if (fixes & CRC && iw_rule_word_is(w, "fix-crc"))
			a->fix_crc = true;
		else if (fixes & LENGTH && iw_rule_word_is(w, "fix-length"))
			a->fix_length = true;
		else
			return iw_rule_bad(s, w,
					   fixes & LENGTH
						   ? "fix-length, fix-crc, or the end of the rule"
					   : fixes & CRC ? "fix-crc or the end of the rule"
							 : "the end of the rule",
					   NULL);
	}
	return 0;
}

static int check_carrier(struct iw_rule_parse *s)
{
	const struct iw_rule *r = s->rule;
	const struct row *row = &rows[r->action.kind];
	enum iw_rule_carrier c = s->set->carrier;
	const char *no = c == IW_RULE_UDP      ? row->no_udp
			 : c == IW_RULE_FRAMES ? row->no_frames
					       : NULL;
	bool sctp = r->kind == IW_UNIT_PACKET || r->kind == IW_UNIT_CHUNK;

	if (c == IW_RULE_FRAMES && sctp && r->action.kind == IW_ACTION_INJECT)
		no = "the relay makes no frames of its own";
	if (c == IW_RULE_TCP && r->action.kind == IW_ACTION_REBIND)
		no = "the port of a connection does not change";
	if (c == IW_RULE_TCP && sctp)
		no = "SCTP packets are not in a TCP stream; use -t udp or --between";
	else if (c == IW_RULE_UDP && !sctp && r->kind != IW_UNIT_OCTETS)
		no = "UDP carries SCTP; the unit is packet, chunk or octets";
	if (!no)
		return 0;
	return iw_fail(s->why, IW_E_NOTSUP, "rule \"%s\": %s of %s cannot be done %s: %s", s->text,
		       row->name, iw_unit_kind_name(r->kind),
		       c == IW_RULE_TCP   ? "in a TCP stream"
		       : c == IW_RULE_UDP ? "over UDP"
					  : "between interfaces",
		       no);
}

int iw_rule_parse_action(struct iw_rule_parse *s)
{
	struct iw_rule_word w = iw_rule_next(s, "");
	int err = parse_name(s, w);

	s->rule->action.text = w.p;
	if (err == 0)
		err = rows[s->rule->action.kind].parse(s);
	if (err == 0)
		err = parse_fixes(s);
	return err == 0 ? check_carrier(s) : err;
}
