/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Option arguments for argp parsers. Each function parses arg with cli/parse.h. Malformed text ends
 * the tool with exit status 2 and a message with the option, the text and the expected values:
 *
 *   ddp-bench: --count "12abc": text after the number; expected a number from 1 to 1000000
 *
 * With ARGP_NO_EXIT the function prints the message and returns min, or the first name.
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

/* Bits per second, with K, M, G, T as powers of 1000. */
uint64_t iw_cli_rate(const struct argp_state *state, const char *option, const char *arg,
		     uint64_t min_bits, uint64_t max_bits);

/* min: 0 if the system may choose the port of a listener, else 1. */
uint16_t iw_cli_port(const struct argp_state *state, const char *option, const char *arg,
		     uint16_t min);

/* Returns the index of arg in names, which ends with NULL. */
size_t iw_cli_enum(const struct argp_state *state, const char *option, const char *arg,
		   const char *const *names);

/* True if an unexpected argument looks like a port; then its message mentions -p. */
bool iw_cli_is_port(const char *arg);

/* Sets *host to arg (kept), for a tool that needs one host. *host must be NULL before the first. */
void iw_cli_host(const struct argp_state *state, const char *arg, const char **host);

#endif
