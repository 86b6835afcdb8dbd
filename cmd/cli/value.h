/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which options the arguments have, and whether their values are missing. */
#ifndef IW_CLI_VALUE_H
#define IW_CLI_VALUE_H

#include <argp.h>

/*
 * Call before argp_parse, with its arguments. Ends the tool with exit status 2 and a message if an
 * option that needs a value is followed by an option of the tool. Accepts a value that begins with
 * - and is not an option, and every value after = or in the same word.
 */
void iw_cli_check_values(const struct argp *argp, int argc, char **argv, unsigned int flags);

/*
 * Calls fn for each option in the arguments of argp_parse that argp knows, abbreviated ones
 * included. With ARGP_IN_ORDER in flags it stops at the first argument that is not an option. o
 * belongs to argp, or is one that argp adds: help (key '?'), usage (1) or version ('V').
 */
void iw_cli_each_option(const struct argp *argp, int argc, char **argv, unsigned int flags,
			void (*fn)(const struct argp_option *o, void *ctx), void *ctx);

#endif
