/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A tracer for tests: keeps the events that a room emits. */
#ifndef TESTS_UNIT_TRACE_LOG_H
#define TESTS_UNIT_TRACE_LOG_H

#include <stddef.h>
#include <string.h>

#include "util/trace.h"

#define TRACE_LOG_MAX 512

struct trace_log {
	struct iw_tracer tracer; /* emit NULL until trace_log_on */
	size_t n;                /* events emitted; only the first TRACE_LOG_MAX are kept */
	struct iw_trace_event ev[TRACE_LOG_MAX];
	char address[64]; /* of the last event path */
};

static inline void trace_log_emit(void *ctx, struct iw_trace_event *ev)
{
	struct trace_log *log = ctx;

	if (ev->kind == IW_TRACE_path) {
		strncpy(log->address, ev->path.address, sizeof(log->address) - 1);
		ev->path.address = log->address;
	}
	if (log->n < TRACE_LOG_MAX)
		log->ev[log->n] = *ev;
	log->n++;
}

/* Forgets all events and begins to listen. */
static inline void trace_log_on(struct trace_log *log)
{
	*log = (struct trace_log){ .tracer = { trace_log_emit, log } };
}

/* The n-th event of the kind, from 0; NULL: there are fewer. */
static inline const struct iw_trace_event *trace_log_get(const struct trace_log *log,
							 enum iw_trace_kind kind, size_t n)
{
	for (size_t i = 0; i < log->n && i < TRACE_LOG_MAX; i++)
		if (log->ev[i].kind == kind && n-- == 0)
			return &log->ev[i];
	return NULL;
}

static inline size_t trace_log_count(const struct trace_log *log, enum iw_trace_kind kind)
{
	size_t n = 0;

	while (trace_log_get(log, kind, n))
		n++;
	return n;
}

#endif
