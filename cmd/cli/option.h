/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Option arguments for argp parsers. Each reads @arg with cli/parse.h; on bad text it ends the tool
 * with exit status 2 and a message that names the option, the text and what was expected:
 *
 *   ddp-bench: --count "12abc": text after the number; expected a number from 1 to 1000000
 *
 * Under ARGP_NO_EXIT the message is printed and the least value comes back.
 */
#ifndef IW_CLI_OPTION_H
#define IW_CLI_OPTION_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The text of a limit that is a literal, such as IW_MULPDU_MAX, for --help. */
#define IW_CLI_TEXT(v)  IW_CLI_TEXT_(v)
#define IW_CLI_TEXT_(v) #v

uint64_t iw_cli_u64(const struct argp_state *state, const char *option, const char *arg,
		    uint64_t min, uint64_t max);

/* Octets, with K, M, G, T as powers of 1024. */
uint64_t iw_cli_size(const struct argp_state *state, const char *option, const char *arg,
		     uint64_t min, uint64_t max);

/* Nanoseconds, from text like 500ms, 10s, 2m, 0.5. */
uint64_t iw_cli_duration(const struct argp_state *state, const char *option, const char *arg,
			 uint64_t min_ns, uint64_t max_ns);

/* Bits a second, with K, M, G, T as powers of 1000. */
uint64_t iw_cli_rate(const struct argp_state *state, const char *option, const char *arg,
		     uint64_t min_bits, uint64_t max_bits);

/* @min is 0 where a listener may leave the choice to the system, else 1. */
uint16_t iw_cli_port(const struct argp_state *state, const char *option, const char *arg,
		     uint16_t min);

/* The index of @arg in @names, which ends with NULL. */
size_t iw_cli_enum(const struct argp_state *state, const char *option, const char *arg,
		   const char *const *names);

/* True if @arg, an argument that is not expected, looks like a port: its message names -p. */
bool iw_cli_is_port(const char *arg);

/* The one argument of a tool that takes a host: *host is NULL before. */
void iw_cli_host(const struct argp_state *state, const char *arg, const char **host);

#endif
