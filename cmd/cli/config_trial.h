/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parses arguments in a child process, to find out whether the parser of a tool accepts them. */
#ifndef IW_CLI_CONFIG_TRIAL_H
#define IW_CLI_CONFIG_TRIAL_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Calls iw_cli_check_values and argp_parse in a child process, without output or exit handlers.
 * The parser may look at standard input, but must not read it. values_only: stops before
 * ARGP_KEY_END, so that only the options and their values are checked. Returns false if the parser
 * ends the process with IW_EXIT_USAGE; text (cap octets) then has the first line of its message,
 * without the name of the tool. True also if there is no child, or if it does not end within 10 s.
 * argv is not changed.
 */
bool iw_config_try(const struct argp *argp, int argc, char *const *argv, unsigned int flags,
		   void *input, bool values_only, char *text, size_t cap);

#endif
