/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What users type, as numbers. These parsers take the whole text or nothing: empty text, white
 * space, signs, text that trails, overflow and values outside the range are refused, and @why says
 * which in a few words (static text, never NULL after a failure). They print nothing and keep
 * nothing; cli/option.h wraps them for argp.
 *
 * All return 0 and set *@out, or leave *@out alone and return
 *   IW_E_INVAL  this is not such a value at all
 *   IW_E_LIMIT  it is one, but outside @min to @max or too large for 64 bits
 * In both cases the caller tells the user.
 */
#ifndef IW_CLI_PARSE_H
#define IW_CLI_PARSE_H

#include <stddef.h>
#include <stdint.h>

/* A whole decimal number: "42". */
int iw_parse_u64(uint64_t *out, const char *text, uint64_t min, uint64_t max, const char **why);

/*
 * Octets: "4096", "64K", "1.5M", "5G", "1T"; K, M, G, T in either case are powers of 1024. A
 * fraction must come out whole.
 */
int iw_parse_size(uint64_t *out, const char *text, uint64_t min, uint64_t max, const char **why);

/*
 * Nanoseconds: "10s", "500ms", "20us", "100ns", "2m", "1h", or seconds without a unit: "10", "0.5".
 * Not finer than 1 ns.
 */
int iw_parse_duration(uint64_t *out_ns, const char *text, uint64_t min_ns, uint64_t max_ns,
		      const char **why);

/*
 * Bits a second: "9600", "10M", "2.5G"; K, M, G, T in either case are powers of 1000. A fraction
 * must come out whole.
 */
int iw_parse_rate(uint64_t *out_bits, const char *text, uint64_t min_bits, uint64_t max_bits,
		  const char **why);

/* One of the @n words in @names, exactly; *@out is its index. Only IW_E_INVAL. */
int iw_parse_enum(size_t *out, const char *text, const char *const *names, size_t n,
		  const char **why);

/*
 * The shortest text that the parser of the same kind reads back as exactly @v: "64K", "1500ms",
 * "10M". Into @buf, which is returned.
 */
#define IW_PARSE_TEXT 24
const char *iw_unparse_size(char buf[static IW_PARSE_TEXT], uint64_t v);
const char *iw_unparse_duration(char buf[static IW_PARSE_TEXT], uint64_t ns);
const char *iw_unparse_rate(char buf[static IW_PARSE_TEXT], uint64_t bits);

#endif
