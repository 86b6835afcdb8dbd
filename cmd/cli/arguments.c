// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* From the arguments of a tool to its options. */
#include "cli/config.h"
#include "cli/usage.h"
#include "cli/value.h"

void iw_cli_parse(struct iw_cli *cli, const struct argp *argp, int argc, char **argv,
		  unsigned int flags, void *input)
{
	iw_cli_usage_begin(cli, argc, argv);
	iw_cli_config_apply(cli, argp, &argc, &argv, flags, input);
	iw_cli_usage_args(argc, argv);
	iw_cli_check_values(argp, argc, argv, flags);
	argp_parse(argp, argc, argv, flags, NULL, input);
	iw_cli_config_parsed(cli);
	iw_cli_parsed();
}
