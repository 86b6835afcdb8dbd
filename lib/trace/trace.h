/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sinks of traced events: lines of JSON for programs, lines of text for people.
 *
 * Neighbours: verbs emits the events to the sink; the tools write the lines. Threads: none; the
 * only state is the caller's.
 */
#ifndef IW_TRACE_TRACE_H
#define IW_TRACE_TRACE_H

#include <stddef.h>

#include "util/trace.h"

/*
 * The longest line with its NUL: the names and numbers of fields, and texts, of which each octet
 * may need six.
 */
#define IW_TRACE_LINE 4096

/* The name of a kind of event, such as "connected", and its meaning (static). */
const char *iw_trace_name(enum iw_trace_kind kind);
const char *iw_trace_meaning(enum iw_trace_kind kind);

/*
 * Writes {"schema":1,"event":"connected","t_ns":1,"time_ns":"1","stream":1,...} to buf, without a
 * newline, and returns its length. A field that does not fit is left out, so the line is always
 * valid.
 */
size_t iw_trace_json(char *buf, size_t cap, const struct iw_trace_event *ev);
/* Writes "12.345678 stream 1 connected initiator=yes local=..." in the same way. */
size_t iw_trace_text(char *buf, size_t cap, const struct iw_trace_event *ev);

/*
 * A tracer that passes lines of JSON to line: set a struct iw_tracer to iw_trace_emit_json and one
 * of these (kept).
 */
struct iw_trace_lines {
	void (*line)(void *ctx, const char *line);
	void *ctx;
};
void iw_trace_emit_json(void *lines, const struct iw_trace_event *ev);

#endif
