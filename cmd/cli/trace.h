/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The file behind --trace: a line a protocol event, written by the sinks of lib/trace. */
#ifndef IW_CLI_TRACE_H
#define IW_CLI_TRACE_H

#include <stdio.h>

#include <iwarp/err.h>

struct iw_trace_file {
	FILE *f; /* NULL: no trace; lines go nowhere */
	const char *path;
	int os_errno; /* of the first line that was not written */
};

/*
 * Makes @path (kept) anew. 0, or what iw_os_fail() says of it: the tool ends. Lines are buffered:
 * what a process that is killed had not written yet is lost.
 */
IW_MUST_CHECK int iw_cli_trace_open(struct iw_trace_file *t, const char *path,
				    struct iw_fault *why);

/*
 * Adds a line, given without its newline. A failure to write shows at the end, in
 * iw_cli_trace_close(). @ctx is a struct iw_trace_file, so that this can serve as a sink.
 */
void iw_cli_trace_line(void *ctx, const char *line);

/* 0, or IW_E_OS and the like when any line was not written: the trace is not whole. */
IW_MUST_CHECK int iw_cli_trace_close(struct iw_trace_file *t, struct iw_fault *why);

#endif
