/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Missing option values. */
#ifndef IW_CLI_VALUE_H
#define IW_CLI_VALUE_H

#include <argp.h>

/*
 * Before argp_parse(), with its arguments: an option that needs a value and is followed by an
 * option of the tool ends the tool with exit status 2 and a message. A value that begins with - and
 * is not an option is accepted, and so is every value after = or in the same word.
 */
void iw_cli_check_values(const struct argp *argp, int argc, char **argv, unsigned int flags);

#endif
