// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * USDT probes of the provider iwarp: one for each event of the list, with the event's name. The
 * first argument is the stream. The first eleven fields of the event follow, in the order of the
 * list. A text is passed as a pointer.
 *
 * A debugger or bpftrace that attaches to a probe increments its semaphore in this process.
 * <sys/sdt.h> fixes the names of the semaphores, and the assembler must find them in this object.
 * So this file is compiled without link-time optimization.
 */
#include "trace/trace.h"

#ifdef IW_HAVE_SDT

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#define ARGS 12 /* the most that <sys/sdt.h> supports */

#define BEGIN(name)                                                                                \
	static volatile unsigned short iwarp_##name##_semaphore                                    \
		__attribute__((used, section(".probes")));
#define FIELD(event, type, name)
#define END(name)
#include "util/events.def"
#undef BEGIN
#undef FIELD
#undef END

bool iw_trace_probed(void)
{
	unsigned any = 0;

#define BEGIN(name) any |= iwarp_##name##_semaphore;
#define FIELD(event, type, name)
#define END(name)
#include "util/events.def"
#undef BEGIN
#undef FIELD
#undef END
	return any != 0;
}

#define ARG_U64(v)   (v)
#define ARG_HEX(v)   (v)
#define ARG_HEX32(v) (v)
#define ARG_BOOL(v)  (v)
#define ARG_STR(v)   ((uint64_t)(uintptr_t)(v))

void iw_trace_probe(const struct iw_trace_event *ev)
{
	uint64_t a[ARGS] = { ev->stream };
	unsigned n = 1;

	switch (ev->kind) {
#define BEGIN(name)                                                                                \
	case IW_TRACE_##name:                                                                      \
		if (!iwarp_##name##_semaphore)                                                     \
			return;
#define FIELD(event, type, name)                                                                   \
	if (n < ARGS)                                                                              \
		a[n++] = ARG_##type(ev->event.name);
#define END(name)                                                                                  \
	STAP_PROBE12(iwarp, name, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9],      \
		     a[10], a[11]);                                                                \
	break;
#include "util/events.def"
#undef BEGIN
#undef FIELD
#undef END
	case IW_TRACE_COUNT:
		break;
	}
}

#else

bool iw_trace_probed(void)
{
	return false;
}

void iw_trace_probe(const struct iw_trace_event *ev)
{
	(void)ev;
}

#endif
