/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* argp_parse, with usage errors in JSON too. */
#ifndef IW_CLI_USAGE_H
#define IW_CLI_USAGE_H

#include "cli/cli.h"

/*
 * Calls iw_cli_config_apply, iw_cli_check_values and argp_parse. If they end the tool with a status
 * other than 0 and the arguments contain --json, writes an "error" event with the first line of the
 * message to standard output, unless ddp-recv would write data there. The message always goes to
 * standard error. cli is borrowed until the call returns or the process exits.
 */
void iw_cli_parse(struct iw_cli *cli, const struct argp *argp, int argc, char **argv,
		  unsigned int flags, void *input);

/*
 * The two parts of it that concern messages. From begin to iw_cli_parsed, the first line on
 * standard error is kept; args replaces the arguments, which are borrowed as cli is.
 */
void iw_cli_usage_begin(struct iw_cli *cli, int argc, char **argv);
void iw_cli_usage_args(int argc, char **argv);

/* Reports that the arguments were accepted: a later exit is not a usage error. */
void iw_cli_parsed(void);

#endif
