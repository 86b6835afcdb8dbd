/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What ddp-dump writes: the events on standard output, a line or a JSON object each, and what all of
 * them come to. Lines wait in stdio's buffer; who reads a live capture along wants them flushed
 * between frames.
 *
 * Threads: one at a time.
 */
#ifndef IW_CAPTURE_SHOW_H
#define IW_CAPTURE_SHOW_H

#include <stdbool.h>
#include <time.h>

#include "ddp-dump/capture.h"

struct iw_cap_show {
	bool json, explain, payload; /* set by the caller; all else is zero to begin with */
	int lost;                    /* errno of the first line that could not be written */
	/* The time of day changes its hour and minute seldom. */
	time_t hms_of;
	char hms[16];
	/* Room for one event. */
	struct iw_cap_field field[IW_CAP_FIELDS_MAX];
	struct iw_cap_scratch scratch;
	char line[IW_CAP_LINE_EXPLAINED];
};

void iw_cap_show_event(struct iw_cap_show *s, const struct iw_cap_event *ev);
/* What was told up to here can be seen. */
void iw_cap_show_flush(struct iw_cap_show *s);
/*
 * True: whoever read the output has seen enough and is gone. That is no failure: what is left of the
 * output is dropped, and there is nobody to tell more.
 */
bool iw_cap_show_cut(struct iw_cap_show *s);
/*
 * The end: for people on standard error, since it is talk. live: also what was dropped, if nothing
 * was. complete and exit_status as in iw_cap_totals_json.
 */
void iw_cap_show_totals(struct iw_cap_show *s, const struct iw_cap_totals *totals, bool live,
			bool complete, int exit_status);

#endif
