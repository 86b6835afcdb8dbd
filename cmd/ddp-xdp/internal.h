/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of keeper have in common. */
#ifndef IW_KEEPER_INTERNAL_H
#define IW_KEEPER_INTERNAL_H

#include "ddp-xdp/look.h"
#include "os/addr.h"

/* An address of the maps, 16 octets; "*" for any. */
const char *iw_look_addr(char buf[static IW_ADDR_TEXT], const void *addr);
/* A port as the wire has it. */
uint16_t iw_look_port(const uint16_t *port);
/* What came to n between the last two reads, a second. */
uint64_t iw_look_rate(const struct iw_look *l, uint64_t n);
uint64_t iw_look_count(const struct iw_look *l, enum iw_steer_what what);
/* TCP segments that begin with an FPDU, of those that were followed: 0 to 1. */
double iw_look_aligned(const struct iw_xdp_mpa *m);

IW_MUST_CHECK int iw_look_json(struct iw_json *w, const struct iw_look *l, struct iw_fault *why);
IW_MUST_CHECK int iw_look_print(const struct iw_look *l, struct iw_fault *why);
/* Takes the samples out of the program's ring and tells them. */
IW_MUST_CHECK int iw_look_samples(struct iw_look *l, struct iw_json *json, struct iw_fault *why);

/* The end of a JSON line. IW_E_CLOSED. */
IW_MUST_CHECK int iw_keeper_end_line(struct iw_json *w, struct iw_fault *why);

#endif
