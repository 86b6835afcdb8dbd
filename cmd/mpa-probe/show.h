/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a probe found, for people and as JSON. Both read the same structs. */
#ifndef IW_PROBE_SHOW_H
#define IW_PROBE_SHOW_H

#include <stdio.h>

#include <iwarp/err.h>

#include "cli/json.h"
#include "mpa-probe/probe.h"

/* The report. columns as in iw_table_write. 0 or IW_E_NOMEM. */
IW_MUST_CHECK int iw_probe_show(const struct iw_probe_result *r, FILE *f, unsigned columns);
/* The grid: a row for each connection, what it asked and what came of it. 0 or IW_E_NOMEM. */
IW_MUST_CHECK int iw_probe_show_grid(const struct iw_probe_result *r, FILE *f, unsigned columns);

/* One connection of the probe, as a message. */
void iw_probe_attempt_log(unsigned number, const struct iw_probe_attempt *at);
/* An "attempt" event. 0, or what iw_json_end says. */
IW_MUST_CHECK int iw_probe_attempt_write_json(struct iw_json *w, unsigned number,
					      const struct iw_probe_attempt *at);
/* The exit status for what was found. */
int iw_probe_status(const struct iw_probe_result *r);
/* The "result" event. */
IW_MUST_CHECK int iw_probe_write_json(struct iw_json *w, const struct iw_probe_result *r,
				      int exit_status);

/* A Request or Reply as keys of the object that is open: flags, Rev, what RFC 6581 adds, Private
 * Data. */
void iw_probe_frame_write_json(struct iw_json *w, const uint8_t *frame, size_t len);
/* "Rev 2 C=1 M=0 R=0 enhanced peer-to-peer RTR Write IRD 16 ORD 16 Private Data 3 "abc" 616263":
 * one line. */
void iw_probe_frame_show(struct iw_text *t, const uint8_t *frame, size_t len);

#endif
