/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Trace events, as plain structs made from util/events.def. Code that emits events does not depend
 * on a sink: it gets a tracer, or NULL if tracing is off, at the cost of one comparison.
 */
#ifndef IW_UTIL_TRACE_H
#define IW_UTIL_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum iw_trace_kind {
#define BEGIN(name, text) IW_TRACE_##name,
#define FIELD(event, type, name)
#define END(name)
#include "util/events.def"
#undef BEGIN
#undef FIELD
#undef END
	IW_TRACE_COUNT
};

typedef uint64_t iw_trace_U64;
typedef uint64_t iw_trace_HEX;
typedef bool iw_trace_BOOL;
typedef const char *iw_trace_STR;

#define BEGIN(name, text)        struct iw_trace_##name {
#define FIELD(event, type, name) iw_trace_##type name;
#define END(name)                                                                                  \
	}                                                                                          \
	;
#include "util/events.def"
#undef BEGIN
#undef FIELD
#undef END

struct iw_trace_event {
	enum iw_trace_kind kind;
	uint64_t now;    /* monotonic ns */
	uint64_t wall;   /* ns since 1970 */
	uint32_t stream; /* number of the DDP stream in its context; 0: none so far */
	union {
#define BEGIN(name, text) struct iw_trace_##name name;
#define FIELD(event, type, name)
#define END(name)
#include "util/events.def"
#undef BEGIN
#undef FIELD
#undef END
	};
};

struct iw_tracer {
	void (*emit)(void *ctx, const struct iw_trace_event *ev); /* ev is borrowed */
	void *ctx;
};

#endif
