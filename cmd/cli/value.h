/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Detects missing values of options. */
#ifndef IW_CLI_VALUE_H
#define IW_CLI_VALUE_H

#include <argp.h>

/*
 * Call before argp_parse, with its arguments. Ends the tool with exit status 2 and a message if an
 * option that needs a value is followed by an option of the tool. Accepts a value that begins with
 * - and is not an option, and every value after = or in the same word.
 */
void iw_cli_check_values(const struct argp *argp, int argc, char **argv, unsigned int flags);

#endif
