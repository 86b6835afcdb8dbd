/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes events to standard output, as a line or a JSON object each, and the totals. Lines stay in
 * stdio's buffer: in a live capture, call iw_cap_show_flush() between frames.
 *
 * Belongs to one thread at a time.
 */
#ifndef IW_DDP_DUMP_SHOW_H
#define IW_DDP_DUMP_SHOW_H

#include <stdbool.h>
#include <time.h>

#include "ddp-dump/capture.h"

struct iw_cap_show {
	bool json, explain, payload; /* the caller sets these, and zeroes the other members */
	int lost;                    /* errno of the first line that could not be written */
	/* The formatted time of the last event, which changes once a second. */
	time_t hms_of;
	char hms[16];
	/* Room for one event. */
	struct iw_cap_field field[IW_CAP_FIELDS_MAX];
	struct iw_cap_scratch scratch;
	char line[IW_CAP_LINE_EXPLAINED];
};

/* Writes an event. */
void iw_cap_show_event(struct iw_cap_show *s, const struct iw_cap_event *ev);
/* Flushes standard output. */
void iw_cap_show_flush(struct iw_cap_show *s);
/*
 * True: the reader of standard output has closed its end of the pipe. This is not a failure. The
 * rest of the output is dropped.
 */
bool iw_cap_show_cut(struct iw_cap_show *s);
/*
 * Writes the totals: as a line of JSON, or for people to standard error, so that standard output
 * has only events. live: the counters of dropped frames are shown even if 0. complete and
 * exit_status: as in iw_cap_totals_json.
 */
void iw_cap_show_totals(struct iw_cap_show *s, const struct iw_cap_totals *totals, bool live,
			bool complete, int exit_status);

#endif
