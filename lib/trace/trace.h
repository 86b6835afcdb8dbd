/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sinks of traced events: lines of JSON for programs, lines of text for people, and USDT probes.
 *
 * Neighbours: verbs selects the sink of a context; the tools write the lines. Threads: no threads;
 * no state but the caller's.
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

/*
 * Writes {"schema":1,"event":"connected","t_ns":1,"time_ns":"1","stream":1,...} to buf, without a
 * newline, and returns its length. A field that does not fit is left out, so the line is always
 * valid.
 */
size_t iw_trace_json(char *buf, size_t cap, const struct iw_trace_event *ev);
/* Writes "12.345678 stream 1 connected initiator=yes local=..." in the same way. */
size_t iw_trace_text(char *buf, size_t cap, const struct iw_trace_event *ev);

/*
 * The sink of a context. Point a struct iw_tracer at iw_trace_emit and at one of these, which is
 * borrowed. iw_trace_emit sets the times of the event, so the lines of a sink are in the order of
 * time.
 */
struct iw_trace_sink {
	/* Gets each event as a line of JSON, without a newline; borrowed. NULL: no lines. */
	void (*line)(void *ctx, const char *line);
	void *ctx;
	bool probes; /* iw_trace_probed(), as last asked: the USDT probes get the events too */
};
void iw_trace_emit(void *sink, struct iw_trace_event *ev);

/*
 * usdt.c: true while another process listens to a USDT probe of this one. Costs a few loads. Always
 * false in a build without <sys/sdt.h>.
 */
bool iw_trace_probed(void);
/* Fires the probe of the event. */
void iw_trace_probe(const struct iw_trace_event *ev);

#endif
