/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The file of --trace: one line for each protocol event, in the form of lib/trace. */
#ifndef IW_CLI_TRACE_H
#define IW_CLI_TRACE_H

#include <stdio.h>

#include <iwarp/err.h>

struct iw_trace_file {
	FILE *f; /* NULL: no trace; lines are dropped */
	const char *path;
	int os_errno; /* of the first line that could not be written; 0: none */
};

/*
 * Creates or truncates the file path (kept). Lines are buffered, so a process that is killed loses
 * its last lines. Errors of iw_os_fail; the tool must end.
 */
IW_MUST_CHECK int iw_cli_trace_open(struct iw_trace_file *t, const char *path,
				    struct iw_fault *why);

/*
 * Adds a line (without its newline). iw_cli_trace_close reports an error of writing. ctx is a
 * struct iw_trace_file, so that this function can be the sink of a context.
 */
void iw_cli_trace_line(void *ctx, const char *line);

/* Closes the file. IW_E_OS, IW_E_CLOSED: a line was not written, so the trace is incomplete. */
IW_MUST_CHECK int iw_cli_trace_close(struct iw_trace_file *t, struct iw_fault *why);

#endif
