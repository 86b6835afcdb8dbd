// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Numbers, sizes, durations and rates: one scanner, with a table of units for each kind. */
#include "cli/parse.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <iwarp/err.h>

struct unit {
	const char *name; /* "": the unit of a number without one; NULL ends the table */
	uint64_t value;
};

struct scale {
	const struct unit *units;
	bool fold;             /* unit names in either case */
	const char *not_whole; /* the error text for a value that is not a whole number */
};

static const struct unit size_units[] = {
	{ "", 1 },
	{ "K", UINT64_C(1) << 10 },
	{ "M", UINT64_C(1) << 20 },
	{ "G", UINT64_C(1) << 30 },
	{ "T", UINT64_C(1) << 40 },
	{ NULL, 0 },
};

static const struct unit rate_units[] = {
	{ "", 1 },
	{ "K", UINT64_C(1000) },
	{ "M", UINT64_C(1000000) },
	{ "G", UINT64_C(1000000000) },
	{ "T", UINT64_C(1000000000000) },
	{ NULL, 0 },
};

static const struct unit duration_units[] = {
	{ "", UINT64_C(1000000000) },
	{ "ns", 1 },
	{ "us", UINT64_C(1000) },
	{ "ms", UINT64_C(1000000) },
	{ "s", UINT64_C(1000000000) },
	{ "m", UINT64_C(60000000000) },
	{ "h", UINT64_C(3600000000000) },
	{ "d", UINT64_C(86400000000000) },
	{ NULL, 0 },
};

static const struct scale sizes = { size_units, true, "not a whole number of octets" };
static const struct scale rates = { rate_units, true, "not a whole number of bits per second" };
static const struct scale durations = { duration_units, false, "finer than a nanosecond" };

static int fail(int err, const char **why, const char *text)
{
	*why = text;
	return err;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int check_start(const char *text, const char **why)
{
	if (text[0] == '\0')
		return fail(IW_E_INVAL, why, "empty");
	if (text[0] == '-' || text[0] == '+')
		return fail(IW_E_INVAL, why, "a sign is not allowed");
	if (!is_digit(text[0]))
		return fail(IW_E_INVAL, why, "not a number");
	return 0;
}

static int check_range(uint64_t v, uint64_t min, uint64_t max, const char **why)
{
	if (v < min)
		return fail(IW_E_LIMIT, why, "too small");
	if (v > max)
		return fail(IW_E_LIMIT, why, "too large");
	return 0;
}

/* Scans digits and moves *p after them. */
static int scan_whole(uint64_t *out, const char **p, const char **why)
{
	uint64_t v = 0;

	for (; is_digit(**p); ++*p)
		if (__builtin_mul_overflow(v, UINT64_C(10), &v) ||
		    __builtin_add_overflow(v, (uint64_t)(**p - '0'), &v))
			return fail(IW_E_LIMIT, why, "too large");
	*out = v;
	return 0;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t t = a % b;

		a = b;
		b = t;
	}
	return a;
}

/*
 * Scans the digits after a decimal point into a fraction in lowest terms. The largest denominator
 * is 10^18.
 */
static int scan_fraction(uint64_t *num, uint64_t *den, const char **p, const struct scale *s,
			 const char **why)
{
	uint64_t n = 0, d = 1, g;

	if (!is_digit(**p))
		return fail(IW_E_INVAL, why, "no digit after the point");
	for (int digits = 0; is_digit(**p); ++*p) {
		if (**p == '0' && strspn(*p, "0") == strspn(*p, "0123456789"))
			continue; /* only zeros follow */
		if (++digits > 18)
			return fail(IW_E_INVAL, why, s->not_whole);
		n = n * 10 + (uint64_t)(**p - '0');
		d *= 10;
	}
	g = gcd(n, d);
	*num = n / g;
	*den = d / g;
	return 0;
}

static const struct unit *find_unit(const struct scale *s, const char *name)
{
	for (const struct unit *u = s->units; u->name; u++)
		if (strcmp(u->name, name) == 0 || (s->fold && strcasecmp(u->name, name) == 0))
			return u;
	return NULL;
}

static int parse_scaled(uint64_t *out, const char *text, uint64_t min, uint64_t max,
			const struct scale *s, const char **why)
{
	const struct unit *unit;
	const char *p = text;
	uint64_t whole, num = 0, den = 1, v;
	int err;

	err = check_start(text, why);
	if (!err)
		err = scan_whole(&whole, &p, why);
	if (!err && *p == '.') {
		p++;
		err = scan_fraction(&num, &den, &p, s, why);
	}
	if (err)
		return err;
	unit = find_unit(s, p);
	if (!unit)
		return fail(IW_E_INVAL, why, "unknown unit or text after the number");
	/*
	 * num and den have no common factor, so the result is a whole number only if den divides
	 * the unit.
	 */
	if (unit->value % den != 0)
		return fail(IW_E_INVAL, why, s->not_whole);
	if (__builtin_mul_overflow(whole, unit->value, &v) ||
	    __builtin_add_overflow(v, num * (unit->value / den), &v))
		return fail(IW_E_LIMIT, why, "too large");
	err = check_range(v, min, max, why);
	if (!err)
		*out = v;
	return err;
}

int iw_parse_u64(uint64_t *out, const char *text, uint64_t min, uint64_t max, const char **why)
{
	const char *p = text;
	uint64_t v;
	int err;

	err = check_start(text, why);
	if (!err)
		err = scan_whole(&v, &p, why);
	if (err)
		return err;
	if (*p != '\0')
		return fail(IW_E_INVAL, why, "text after the number");
	err = check_range(v, min, max, why);
	if (!err)
		*out = v;
	return err;
}

int iw_parse_size(uint64_t *out, const char *text, uint64_t min, uint64_t max, const char **why)
{
	return parse_scaled(out, text, min, max, &sizes, why);
}

int iw_parse_duration(uint64_t *out_ns, const char *text, uint64_t min_ns, uint64_t max_ns,
		      const char **why)
{
	return parse_scaled(out_ns, text, min_ns, max_ns, &durations, why);
}

int iw_parse_rate(uint64_t *out_bits, const char *text, uint64_t min_bits, uint64_t max_bits,
		  const char **why)
{
	return parse_scaled(out_bits, text, min_bits, max_bits, &rates, why);
}

int iw_parse_enum(size_t *out, const char *text, const char *const *names, size_t n,
		  const char **why)
{
	if (text[0] == '\0')
		return fail(IW_E_INVAL, why, "empty");
	for (size_t i = 0; i < n; i++) {
		if (strcmp(text, names[i]) == 0) {
			*out = i;
			return 0;
		}
	}
	return fail(IW_E_INVAL, why, "unknown name");
}

/* Uses the largest unit that divides v, so that the text is exact. Skips the unit "". */
static const char *unparse(char buf[static IW_PARSE_TEXT], uint64_t v, const struct unit *units)
{
	const struct unit *best = NULL;

	for (const struct unit *u = units; u->name; u++)
		if (u->name[0] != '\0' && v % u->value == 0 && v >= u->value)
			if (!best || u->value > best->value)
				best = u;
	if (best)
		snprintf(buf, IW_PARSE_TEXT, "%" PRIu64 "%s", v / best->value, best->name);
	else
		snprintf(buf, IW_PARSE_TEXT, "%" PRIu64, v);
	return buf;
}

const char *iw_unparse_size(char buf[static IW_PARSE_TEXT], uint64_t v)
{
	return unparse(buf, v, size_units);
}

/* Only 0 has no unit: "ns" divides every other number. */
const char *iw_unparse_duration(char buf[static IW_PARSE_TEXT], uint64_t ns)
{
	return unparse(buf, ns, duration_units);
}

const char *iw_unparse_rate(char buf[static IW_PARSE_TEXT], uint64_t bits)
{
	return unparse(buf, bits, rate_units);
}
