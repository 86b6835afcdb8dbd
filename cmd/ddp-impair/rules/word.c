// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Words, numbers and error messages of rules. */
#include <string.h>

#include "ddp-impair/rules/internal.h"
#include "util/num.h"
#include "util/text.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

struct iw_rule_word iw_rule_next(struct iw_rule_parse *s, const char *stop)
{
	struct iw_rule_word w;

	while (s->pos < s->len && is_blank(s->text[s->pos]))
		s->pos++;
	w.p = s->text + s->pos;
	while (s->pos < s->len && !is_blank(s->text[s->pos]) && !strchr(stop, s->text[s->pos]))
		s->pos++;
	w.len = (size_t)(s->text + s->pos - w.p);
	return w;
}

bool iw_rule_word_is(struct iw_rule_word w, const char *text)
{
	return strlen(text) == w.len && memcmp(text, w.p, w.len) == 0;
}

#define SHOWN 90 /* octets of a rule in a message */

int iw_rule_bad(struct iw_rule_parse *s, struct iw_rule_word w, const char *expected,
		const char *near)
{
	char text[SHOWN + 4], word[48];
	size_t n = IW_MIN(s->len, (size_t)SHOWN), k = IW_MIN(w.len, sizeof(word) - 1);

	memcpy(text, s->text, n);
	memcpy(text + n, "...", s->len > SHOWN ? 4 : 1);
	text[s->len > SHOWN ? n + 3 : n] = '\0';
	memcpy(word, w.p, k);
	word[k] = '\0';
	iw_fail(s->why, IW_E_INVAL, "rule \"%s\", column %U: %s%s%s: expected %s%s%s%s", text,
		(uint64_t)(w.p - s->text) + 1, k ? "\"" : "", k ? word : "nothing", k ? "\"" : "",
		expected, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
	return IW_E_INVAL;
}

static bool digit(char c, unsigned base, unsigned *out)
{
	if (c >= '0' && c <= '9')
		*out = (unsigned)(c - '0');
	else if (base == 16 && c >= 'a' && c <= 'f')
		*out = (unsigned)(c - 'a') + 10;
	else if (base == 16 && c >= 'A' && c <= 'F')
		*out = (unsigned)(c - 'A') + 10;
	else
		return false;
	return true;
}

bool iw_rule_number(struct iw_rule_word w, uint64_t *out)
{
	unsigned base = 10, d;
	uint64_t v = 0;

	if (w.len > 2 && w.p[0] == '0' && w.p[1] == 'x') {
		base = 16;
		w.p += 2;
		w.len -= 2;
	}
	if (w.len == 0)
		return false;
	for (size_t i = 0; i < w.len; i++) {
		if (!digit(w.p[i], base, &d) || __builtin_mul_overflow(v, base, &v) ||
		    __builtin_add_overflow(v, d, &v))
			return false;
	}
	*out = v;
	return true;
}

/*
 * Parses a number, which may have a point and 1 to `places` digits after it, and multiplies it by
 * 10^places. *used is the number of its characters.
 */
static bool decimal(struct iw_rule_word w, unsigned places, uint64_t *out, size_t *used)
{
	unsigned d, after = 0;
	bool point = false;
	uint64_t v = 0;
	size_t i, digits = 0;

	for (i = 0; i < w.len; i++) {
		if (w.p[i] == '.' && !point && digits) {
			point = true;
			continue;
		}
		if (!digit(w.p[i], 10, &d))
			break;
		if ((point && ++after > places) || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, d, &v))
			return false;
		digits++;
	}
	if (point && after == 0)
		return false;
	for (; after < places; after++)
		if (__builtin_mul_overflow(v, 10, &v))
			return false;
	*used = i;
	*out = v;
	return digits > 0;
}

#define DURATION_MAX IW_SEC(86400)

bool iw_rule_duration(struct iw_rule_word w, uint64_t *out_ns)
{
	static const struct unit {
		const char *name;
		unsigned places; /* decimal places of a nanosecond */
		uint64_t factor;
	} units[] = { { "ns", 0, 1 }, { "us", 3, 1 }, { "ms", 6, 1 },
		      { "s", 9, 1 },  { "m", 9, 60 }, { "h", 9, 3600 } };
	size_t letters = 0, used;
	uint64_t v;

	if (iw_rule_word_is(w, "forever")) {
		*out_ns = IW_TIME_NEVER;
		return true;
	}
	while (letters < w.len && w.p[w.len - letters - 1] >= 'a' &&
	       w.p[w.len - letters - 1] <= 'z')
		letters++;
	for (size_t i = 0; i < IW_ARRAY_LEN(units); i++) {
		struct iw_rule_word unit = { w.p + w.len - letters, letters };

		if (!iw_rule_word_is(unit, units[i].name))
			continue;
		if (!decimal(w, units[i].places, &v, &used) || used + letters != w.len ||
		    v > DURATION_MAX / units[i].factor)
			return false;
		*out_ns = v * units[i].factor;
		return true;
	}
	return false;
}

bool iw_rule_chance(struct iw_rule_word w, uint32_t *out)
{
	uint64_t v;
	size_t used;

	if (w.len < 2 || w.p[w.len - 1] != '%' || !decimal(w, 4, &v, &used) || used + 1 != w.len ||
	    v > IW_RULE_PROB_ALL)
		return false;
	*out = (uint32_t)v;
	return true;
}

bool iw_rule_range(struct iw_rule_word w, struct iw_rule_range *out,
		   bool (*parse)(struct iw_rule_word w, uint64_t *out))
{
	for (size_t i = 0; i + 1 < w.len; i++) {
		struct iw_rule_word a = { w.p, i }, b = { w.p + i + 2, w.len - i - 2 };

		if (w.p[i] == '.' && w.p[i + 1] == '.')
			return parse(a, &out->min) && parse(b, &out->max) && out->min <= out->max;
	}
	if (!parse(w, &out->min))
		return false;
	out->max = out->min;
	return true;
}
