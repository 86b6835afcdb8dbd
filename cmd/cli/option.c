// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Option arguments: the parsers of cli/parse.h, with errors reported by argp. */
#include "cli/option.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/parse.h"
#include "cli/text.h"

typedef int (*parse_fn)(uint64_t *out, const char *text, uint64_t min, uint64_t max,
			const char **why);
typedef const char *(*print_fn)(char buf[static IW_PARSE_TEXT], uint64_t v);

static const char *print_plain(char buf[static IW_PARSE_TEXT], uint64_t v)
{
	snprintf(buf, IW_PARSE_TEXT, "%" PRIu64, v);
	return buf;
}

static void complain(const struct argp_state *state, const char *option, const char *arg,
		     const char *why, const char *expected)
{
	char shown[100];

	iw_printable(shown, sizeof(shown), arg, strlen(arg), true);
	argp_error(state, "%s \"%s\": %s; expected %s", option, shown, why, expected);
}

static uint64_t number(const struct argp_state *state, const char *option, const char *arg,
		       uint64_t min, uint64_t max, const char *kind, parse_fn parse, print_fn print)
{
	char low[IW_PARSE_TEXT], high[IW_PARSE_TEXT], expected[160];
	const char *why;
	uint64_t v;

	if (parse(&v, arg, min, max, &why) == 0)
		return v;
	if (max == UINT64_MAX)
		snprintf(expected, sizeof(expected), "%s of at least %s", kind, print(low, min));
	else
		snprintf(expected, sizeof(expected), "%s from %s to %s", kind, print(low, min),
			 print(high, max));
	complain(state, option, arg, why, expected);
	return min;
}

uint64_t iw_cli_u64(const struct argp_state *state, const char *option, const char *arg,
		    uint64_t min, uint64_t max)
{
	return number(state, option, arg, min, max, "a number", iw_parse_u64, print_plain);
}

uint64_t iw_cli_size(const struct argp_state *state, const char *option, const char *arg,
		     uint64_t min, uint64_t max)
{
	const char *kind = max >= UINT64_C(1) << 30   ? "octets, such as 4096, 64K or 1G,"
			   : max >= UINT64_C(1) << 16 ? "octets, such as 4096 or 64K,"
						      : "octets, such as 4096,";

	return number(state, option, arg, min, max, kind, iw_parse_size, iw_unparse_size);
}

uint64_t iw_cli_duration(const struct argp_state *state, const char *option, const char *arg,
			 uint64_t min_ns, uint64_t max_ns)
{
	const char *kind = max_ns == UINT64_MAX               ? "a time, such as 500ms, 10s or 7d,"
			   : max_ns >= UINT64_C(120000000000) ? "a time, such as 500ms, 10s or 2m,"
							      : "a time, such as 500ms or 2s,";

	return number(state, option, arg, min_ns, max_ns, kind, iw_parse_duration,
		      iw_unparse_duration);
}

uint64_t iw_cli_rate(const struct argp_state *state, const char *option, const char *arg,
		     uint64_t min_bits, uint64_t max_bits)
{
	return number(state, option, arg, min_bits, max_bits,
		      "bits per second, such as 10M or 2.5G,", iw_parse_rate, iw_unparse_rate);
}

uint16_t iw_cli_port(const struct argp_state *state, const char *option, const char *arg,
		     uint16_t min)
{
	return (uint16_t)number(state, option, arg, min, UINT16_MAX, "a port", iw_parse_u64,
				print_plain);
}

size_t iw_cli_enum(const struct argp_state *state, const char *option, const char *arg,
		   const char *const *names)
{
	char expected[200] = "one of";
	size_t n = 0, found, len;
	const char *why;

	while (names[n])
		n++;
	if (iw_parse_enum(&found, arg, names, n, &why) == 0)
		return found;
	for (size_t i = 0; i < n; i++) {
		len = strlen(expected);
		snprintf(expected + len, sizeof(expected) - len, "%s %s", i ? "," : "", names[i]);
	}
	complain(state, option, arg, why, expected);
	return 0;
}

bool iw_cli_is_port(const char *arg)
{
	const char *why;
	uint64_t port;

	return iw_parse_u64(&port, arg, 1, UINT16_MAX, &why) == 0;
}

void iw_cli_host(const struct argp_state *state, const char *arg, const char **host)
{
	if (*host && iw_cli_is_port(arg))
		argp_error(state, "\"%s\": expected one host; give the port with -p %s", arg, arg);
	if (*host)
		argp_error(state, "\"%s\": a second host after \"%s\"; expected one", arg, *host);
	if (arg[0] == '\0')
		argp_error(state, "\"\": empty; expected the name or address of a host");
	*host = arg;
}
