/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Configuration files (iwarp-config(5)): defaults for options. First the system's, then the user's.
 *
 * A key is a long option of the tool. The keys become arguments in front of those of the command
 * line, so that the tool's parser reads both. What the command line has replaces what a file has,
 * also where two options exclude each other: such an option of a file is left out, which a parse in
 * a child process finds. --require-encryption is never left out.
 *
 * State: one per process, because the arguments point into it until the process ends.
 */
#ifndef IW_CLI_CONFIG_H
#define IW_CLI_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/cli.h"
#include "cli/private_file.h"

#define IW_CONFIG_SYSTEM "/etc/iwarp/config"
#define IW_CONFIG_FILES  2

struct iw_config_file {
	char path[IW_CONFIG_PATH]; /* "": neither XDG_CONFIG_HOME nor HOME is an absolute path */
	bool present;              /* it exists */
	bool ignored;              /* built without inih */
	unsigned used;             /* options of this file that were given to the parser */
};

/* An option that was left out. */
struct iw_config_note {
	char *text; /* "FILE:LINE: KEY: left out: REASON" */
	bool warn;  /* an option of encryption; the other ones are reported with --verbose */
};

/* What was read, for struct iw_cli. */
struct iw_config {
	struct iw_config_file files[IW_CONFIG_FILES];
	struct iw_config_note *notes;
	size_t nnotes;
};

/*
 * Call before parsing, with the same arguments; later calls in the process do nothing. Reads the
 * files, sets cli->config, and replaces *argc and *argv by arguments that have the options of the
 * files first.
 * Changes nothing if no file exists, or if the arguments have --no-config, --help, --usage,
 * --version or --ssh-server.
 * A message ends the tool with IW_EXIT_USAGE: a file is malformed; a key is not an option that a
 * file can set; a value is wrong. With IW_EXIT_CANNOT: a file belongs to another user than root or,
 * for the user's file, this user; or others can write to it; or it cannot be read.
 */
void iw_cli_config_apply(struct iw_cli *cli, const struct argp *argp, int *argc, char ***argv,
			 unsigned int flags, void *input);

/*
 * Call after the parser has accepted the arguments. Ends the tool with IW_EXIT_FAILED if they lack
 * the options of the files, because the parser had refused the command line on trial.
 */
void iw_cli_config_parsed(const struct iw_cli *cli);

/* True in the child process that only tries arguments: a parser then has no effect but errors. */
bool iw_cli_config_trial(void);

#endif
