/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sinks of traced events: a line of JSON for plots and labs, a line of text for people.
 *
 * Neighbours: verbs emits and picks the sink, the tools write the lines. Threads: none; no state
 * but the caller's.
 */
#ifndef IW_TRACE_TRACE_H
#define IW_TRACE_TRACE_H

#include <stddef.h>

#include "util/trace.h"

/*
 * Longest line with its NUL: the fields' names and numbers, and texts of which each octet may need
 * six.
 */
#define IW_TRACE_LINE 4096

/* "connected", ...; and what it means. Never NULL for a kind of the list. */
const char *iw_trace_name(enum iw_trace_kind kind);
const char *iw_trace_meaning(enum iw_trace_kind kind);

/*
 * {"schema":1,"event":"connected","t_ns":1,"time_ns":"1","stream":1,...} without a newline into buf; returns its
 * length. What would not fit is left out by whole fields, so that a line is always valid.
 */
size_t iw_trace_json(char *buf, size_t cap, const struct iw_trace_event *ev);
/* "12.345678 stream 1 connected initiator=yes local=..." likewise. */
size_t iw_trace_text(char *buf, size_t cap, const struct iw_trace_event *ev);

/*
 * A tracer whose sink takes lines of JSON: point a struct iw_tracer at iw_trace_emit_json and one
 * of these (kept).
 */
struct iw_trace_lines {
	void (*line)(void *ctx, const char *line);
	void *ctx;
};
void iw_trace_emit_json(void *lines, const struct iw_trace_event *ev);

#endif
