/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to cmd/ddp-xdp: the writers of a status, and the values that both of them show. */
#ifndef IW_DDP_XDP_INTERNAL_H
#define IW_DDP_XDP_INTERNAL_H

#include "ddp-xdp/status.h"
#include "os/addr.h"

/* Writes an address of the maps, 16 octets (xdp/shared.h), into buf: "*" for any. Returns buf. */
const char *iw_status_addr(char buf[static IW_ADDR_TEXT], const void *addr);
/* Returns a port of the maps, where it is in network byte order. */
uint16_t iw_status_port(const uint16_t *port);
/* Returns the rate per second for an increase of n between the last two readings; 0 after the first
 * reading. */
uint64_t iw_status_rate(const struct iw_status *l, uint64_t n);
/* Returns the number of entries of a map. l->steer must be set. */
uint64_t iw_status_count(const struct iw_status *l, enum iw_steer_what what);
/* Returns which part of the followed TCP segments begins with an FPDU: 0 to 1. */
double iw_status_aligned(const struct iw_xdp_mpa *m);

/* Write the status as a "status" event, or as text to standard output. IW_E_NOMEM (text); errors of
 * iw_json_end (JSON). */
IW_MUST_CHECK int iw_status_json(struct iw_json *w, const struct iw_status *l,
				 struct iw_fault *why);
IW_MUST_CHECK int iw_status_print(const struct iw_status *l, struct iw_fault *why);
/*
 * Takes the sampled events from the program's ring buffer, and writes each to json or, if that is
 * NULL, as text to standard output. Errors: those of iw_steer_events, and of iw_json_end.
 */
IW_MUST_CHECK int iw_status_samples(struct iw_status *l, struct iw_json *json,
				    struct iw_fault *why);

/* Calls iw_json_end, and describes its error in *why. */
IW_MUST_CHECK int iw_status_end_line(struct iw_json *w, struct iw_fault *why);

#endif
