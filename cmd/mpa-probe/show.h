/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shows the result of a probe as text or as JSON. Both use the same structs. */
#ifndef IW_MPA_PROBE_SHOW_H
#define IW_MPA_PROBE_SHOW_H

#include <stdio.h>

#include <iwarp/err.h>

#include "cli/json.h"
#include "mpa-probe/probe.h"

/* Prints the report. columns: as in iw_table_write(). Returns 0 or IW_E_NOMEM. */
IW_MUST_CHECK int iw_probe_show(const struct iw_probe_result *r, FILE *f, unsigned columns);
/*
 * Prints the grid: a row for each connection with its Request and the answer. Returns 0 or
 * IW_E_NOMEM.
 */
IW_MUST_CHECK int iw_probe_show_grid(const struct iw_probe_result *r, FILE *f, unsigned columns);

/* Logs one connection of the probe. */
void iw_probe_attempt_log(unsigned number, const struct iw_probe_attempt *at);
/* Writes an "attempt" event. Returns 0, or an error of iw_json_end(). */
IW_MUST_CHECK int iw_probe_attempt_write_json(struct iw_json *w, unsigned number,
					      const struct iw_probe_attempt *at);
/* Returns the exit status for the result. */
int iw_probe_status(const struct iw_probe_result *r);
/* Writes the "result" event. Returns 0, or an error of iw_json_end(). */
IW_MUST_CHECK int iw_probe_write_json(struct iw_json *w, const struct iw_probe_result *r,
				      int exit_status);

/*
 * Writes a Request or Reply as keys of the open object: flags, Rev, the fields of RFC 6581, Private
 * Data.
 */
void iw_probe_frame_write_json(struct iw_json *w, const uint8_t *frame, size_t len);
/*
 * Prints a Request or Reply in one line:
 *   Rev 2 C=1 M=0 R=0 enhanced peer-to-peer RTR Write IRD 16 ORD 16 Private Data 3 "abc" 616263
 */
void iw_probe_frame_show(struct iw_text *t, const uint8_t *frame, size_t len);

#endif
