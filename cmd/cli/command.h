/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Subcommands: a table of name, function and one line of help. */
#ifndef IW_CLI_COMMAND_H
#define IW_CLI_COMMAND_H

#include "cli/cli.h"

struct iw_command {
	const char *name; /* NULL ends the table */
	/*
	 * Parses its own arguments with its own argp (the common options may stand there too, into
	 * the same @cli) and does the work; @argv[0] is "tool name", so that its messages say so.
	 * Returns an exit status.
	 */
	int (*run)(struct iw_cli *cli, int argc, char **argv);
	const char *help;
};

/*
 * Reads the @common options (cli/cli.h: one of the argp children) that stand before the command, then runs the command named next and
 * returns its status. --help lists the @table under @doc (both borrowed). A command that is missing
 * or unknown ends the tool with IW_EXIT_USAGE. The command calls iw_cli_start() itself, behind its
 * own parser.
 */
IW_MUST_CHECK int iw_cli_command(struct iw_cli *cli, const struct iw_command *table,
				 const struct argp *common, const char *doc, int argc, char **argv);

#endif
