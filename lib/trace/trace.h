/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sinks of traced events: lines of JSON, and USDT probes.
 *
 * Neighbours: verbs selects the sink of a context; the tools write the lines. Threads: no threads;
 * no state but the caller's.
 */
#ifndef IW_TRACE_TRACE_H
#define IW_TRACE_TRACE_H

#include <stddef.h>

#include "util/trace.h"

/*
 * Bytes of the longest line with its NUL: names and numbers of fields, and texts, each octet of
 * which may need six bytes.
 */
#define IW_TRACE_LINE 4096

/*
 * Writes {"schema":1,"event":"connected","t_ns":1,"time_ns":"1","stream":1,...} to buf, without a
 * newline, and returns its length without the NUL. cap: bytes of buf, at least 1. A field that does
 * not fit is omitted, so the line is always valid. 0: not even the fields above fit.
 */
size_t iw_trace_json(char *buf, size_t cap, const struct iw_trace_event *ev);

/*
 * The sink of a context. Set emit of a struct iw_tracer to iw_trace_emit and its ctx to a sink,
 * which is borrowed. iw_trace_emit sets the times of the event, so the lines of a sink are in the
 * order of time.
 */
struct iw_trace_sink {
	/* Gets each event as a line of JSON (borrowed), without a newline. NULL: no lines. */
	void (*line)(void *ctx, const char *line);
	void *ctx;
	bool probes; /* also fire the USDT probes: the last result of iw_trace_probed() */
};
void iw_trace_emit(void *sink, struct iw_trace_event *ev);

/*
 * Returns true if another process listens to a USDT probe of this one. Costs one load for each kind
 * of event. Always false in a build without <sys/sdt.h>.
 */
bool iw_trace_probed(void);
/* Fires the USDT probe of the event, if a process listens to it. */
void iw_trace_probe(const struct iw_trace_event *ev);

#endif
