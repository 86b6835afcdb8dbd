/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to cmd/ddp-xdp: the writers of a status, and the values that they have in common. */
#ifndef IW_DDP_XDP_INTERNAL_H
#define IW_DDP_XDP_INTERNAL_H

#include "ddp-xdp/status.h"
#include "os/addr.h"

/* The text of an address of the maps, 16 bytes; "*" for any. Returns buf. */
const char *iw_status_addr(char buf[static IW_ADDR_TEXT], const void *addr);
/* A port of the maps, which is in network byte order. */
uint16_t iw_status_port(const uint16_t *port);
/* n per second, for an increase of n between the last two readings. 0 after the first reading. */
uint64_t iw_status_rate(const struct iw_status *l, uint64_t n);
/* The number of entries of the map. */
uint64_t iw_status_count(const struct iw_status *l, enum iw_steer_what what);
/* The share of the TCP segments followed that begin with an FPDU: 0 to 1. */
double iw_status_aligned(const struct iw_xdp_mpa *m);

/* Writes the status as a JSON event or as text. IW_E_NOMEM, and errors of iw_json_end. */
IW_MUST_CHECK int iw_status_json(struct iw_json *w, const struct iw_status *l,
				 struct iw_fault *why);
IW_MUST_CHECK int iw_status_print(const struct iw_status *l, struct iw_fault *why);
/*
 * Takes the samples from the program's ring and writes each, to json or (NULL) as text. IW_E_OS:
 * the ring could not be read; errors of iw_json_end.
 */
IW_MUST_CHECK int iw_status_samples(struct iw_status *l, struct iw_json *json,
				    struct iw_fault *why);

/* Ends a JSON line: iw_json_end with its error in *why. */
IW_MUST_CHECK int iw_status_end_line(struct iw_json *w, struct iw_fault *why);

#endif
