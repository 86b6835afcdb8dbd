/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* argp_parse with usage errors that programs can read. */
#ifndef IW_CLI_USAGE_H
#define IW_CLI_USAGE_H

#include "cli/cli.h"

/*
 * iw_cli_check_values(), then argp_parse(). If they end the tool with a status other than 0, and the
 * arguments have --json, an "error" event with the first line of the message goes to standard output,
 * unless ddp-recv would write data there. The message itself goes to standard error in all cases. @cli
 * is borrowed until the return or the exit.
 */
void iw_cli_parse(struct iw_cli *cli, const struct argp *argp, int argc, char **argv,
		  unsigned int flags, void *input);

/* The arguments have been accepted: an exit from now on is not a usage error. */
void iw_cli_parsed(void);

#endif
