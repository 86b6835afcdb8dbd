/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events that can be traced, as plain structs made from util/events.def. A room passes them to the
 * tracer of its configuration, and does not know what the tracer does with them. Without a
 * listener, an event costs only the comparison in iw_tracing().
 */
#ifndef IW_UTIL_TRACE_H
#define IW_UTIL_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/num.h"

enum iw_trace_kind {
#define BEGIN(name) IW_TRACE_##name,
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
typedef uint64_t iw_trace_HEX32;
typedef bool iw_trace_BOOL;
typedef const char *iw_trace_STR;

#define BEGIN(name)              struct iw_trace_##name {
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
	uint64_t now;    /* monotonic ns; set by the sink, as is wall */
	uint64_t wall;   /* ns since 1970 */
	uint32_t stream; /* number of the DDP stream in its context; 0: not known yet */
	union {
#define BEGIN(name) struct iw_trace_##name name;
#define FIELD(event, type, name)
#define END(name)
#include "util/events.def"
#undef BEGIN
#undef FIELD
#undef END
	};
};

/*
 * Each object that emits events borrows a tracer for its life; the pointer may be NULL. emit may be
 * changed between any two calls of the library.
 */
struct iw_tracer {
	/*
	 * Gets each event; ev is borrowed. It sets the times of ev, so pure rooms need no clock.
	 * NULL: there is no listener.
	 */
	void (*emit)(void *ctx, struct iw_trace_event *ev);
	void *ctx;
};

/* True if t has a listener. Only then build the event, in a function marked IW_TRACES. */
static inline bool iw_tracing(const struct iw_tracer *t)
{
	return iw_unlikely(t != NULL && t->emit != NULL);
}
static inline void iw_trace(const struct iw_tracer *t, struct iw_trace_event *ev)
{
	t->emit(t->ctx, ev);
}

/* Marks a function that builds and emits events: keeps its code away from the hot path. */
#define IW_TRACES __attribute__((cold, noinline))

#endif
