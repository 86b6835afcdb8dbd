/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Subcommands: a table of name, function and one line of help. */
#ifndef IW_CLI_COMMAND_H
#define IW_CLI_COMMAND_H

#include "cli/cli.h"

struct iw_command {
	const char *name; /* NULL ends the table */
	/*
	 * Parses its arguments with its own argp, which may include the common options (into the
	 * same cli), and does the work. argv[0] is "TOOL COMMAND", for messages. Returns an exit
	 * status.
	 */
	int (*run)(struct iw_cli *cli, int argc, char **argv);
	const char *help;
};

/*
 * Parses the common options before the command (common: one of the argp children of cli/cli.h),
 * runs the command and returns its exit status. A missing or unknown command ends the tool with
 * IW_EXIT_USAGE. --help prints doc and the commands. All pointers are borrowed.
 *
 * The command itself calls iw_cli_start, after it has parsed its arguments.
 */
IW_MUST_CHECK int iw_cli_command(struct iw_cli *cli, const struct iw_command *table,
				 const struct argp *common, const char *doc, int argc, char **argv);

#endif
