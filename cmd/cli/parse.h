/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parsers of numbers that users type. A parser takes the whole text: it rejects empty text, white
 * space, signs, trailing text, overflow and values outside the range. It prints nothing;
 * cli/option.h wraps the parsers for argp.
 *
 * A parser returns 0 and sets *out. Otherwise it leaves *out unchanged, sets *why to the reason
 * (static) and returns
 *   IW_E_INVAL  the text is not such a value
 *   IW_E_LIMIT  the value is outside min to max, or does not fit 64 bits
 */
#ifndef IW_CLI_PARSE_H
#define IW_CLI_PARSE_H

#include <stddef.h>
#include <stdint.h>

/* A whole decimal number: "42". */
int iw_parse_u64(uint64_t *out, const char *text, uint64_t min, uint64_t max, const char **why);

/*
 * Octets: "4096", "64K", "1.5M", "5G", "1T"; K, M, G, T in either case are powers of 1024. The
 * result must be a whole number.
 */
int iw_parse_size(uint64_t *out, const char *text, uint64_t min, uint64_t max, const char **why);

/*
 * Nanoseconds: "100ns", "20us", "500ms", "10s", "2m", "1h", "7d", or seconds without a unit: "10",
 * "0.5". The result must be a whole number of nanoseconds.
 */
int iw_parse_duration(uint64_t *out_ns, const char *text, uint64_t min_ns, uint64_t max_ns,
		      const char **why);

/*
 * Bits per second: "9600", "10M", "2.5G"; K, M, G, T in either case are powers of 1000. The result
 * must be a whole number.
 */
int iw_parse_rate(uint64_t *out_bits, const char *text, uint64_t min_bits, uint64_t max_bits,
		  const char **why);

/* One of the n words in names; *out is its index. IW_E_INVAL only. */
int iw_parse_enum(size_t *out, const char *text, const char *const *names, size_t n,
		  const char **why);

/*
 * Write v as a whole number of the largest unit that divides it, such as "64K", "1500ms" or "10M":
 * the parser reads back exactly v. Return buf.
 */
#define IW_PARSE_TEXT 24
const char *iw_unparse_size(char buf[static IW_PARSE_TEXT], uint64_t v);
const char *iw_unparse_duration(char buf[static IW_PARSE_TEXT], uint64_t ns);
const char *iw_unparse_rate(char buf[static IW_PARSE_TEXT], uint64_t bits);

#endif
