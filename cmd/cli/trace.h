/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The file of --trace: one line for each event, written by the sinks of lib/trace. */
#ifndef IW_CLI_TRACE_H
#define IW_CLI_TRACE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <iwarp/err.h>

struct iw_trace_file {
	FILE *f; /* NULL: no trace, lines are ignored */
	const char *path;
	char *buf;                 /* whole lines, pending */
	size_t len;                /* octets in buf */
	uint64_t written, dropped; /* lines */
	uint64_t flushed_at;       /* ns */
	int os_errno;              /* of the first failed write */
};

/*
 * Creates the file, or empties it. Lines are buffered for about a second: a process that is killed
 * loses the pending ones. path is borrowed until iw_cli_trace_close. IW_E_NOMEM; or the error of
 * iw_os_fail: the file cannot be opened. After an error the tool cannot run.
 */
IW_MUST_CHECK int iw_cli_trace_open(struct iw_trace_file *t, const char *path,
				    struct iw_fault *why);

/*
 * Appends a line (borrowed, without its newline). Waits for a slow file. A line that cannot be
 * written is counted as dropped. ctx is a struct iw_trace_file, so that this function is a sink.
 * Several threads may call it at the same time.
 */
void iw_cli_trace_line(void *ctx, const char *line);

/*
 * Writes the event trace_end with the number of lines written and dropped, and closes the file.
 * IW_E_OS and others of iw_os_fail: lines were dropped, and why says how many.
 */
IW_MUST_CHECK int iw_cli_trace_close(struct iw_trace_file *t, struct iw_fault *why);

#endif
