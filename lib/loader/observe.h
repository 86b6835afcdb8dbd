/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The program that watches MPA over TCP on an interface: whether TCP segments begin with FPDUs. It
 * changes nothing and passes everything on.
 *
 * Native mode only: in generic mode the stack has already put segments together. On a veth pair its being
 * there makes the other end send without segmentation offload. Built without libxdp each function answers
 * IW_E_NOTSUP. Threads: one at a time.
 */
#ifndef IW_LOADER_OBSERVE_H
#define IW_LOADER_OBSERVE_H

#include <stdint.h>

#include <iwarp/err.h>

#include "xdp/shared.h"

struct iw_observe;

/* Loads and attaches it by a link; errors as iw_steer_open. */
IW_MUST_CHECK int iw_observe_open(struct iw_observe **out, const char *interface,
				  struct iw_fault *why);
/* Into the kernel, attached to nothing: for tests. */
IW_MUST_CHECK int iw_observe_load(struct iw_observe **out, struct iw_fault *why);
/* Joins the one that is there. IW_E_NOENT: there is none. */
IW_MUST_CHECK int iw_observe_look(struct iw_observe **out, const char *interface,
				  struct iw_fault *why);
/* Detaches what iw_observe_open attached. o may be NULL. */
void iw_observe_close(struct iw_observe *o);
/* Of the link; borrowed. -1: somebody else holds it. */
int iw_observe_link_fd(const struct iw_observe *o);
/* For BPF_PROG_RUN; borrowed. */
int iw_observe_prog_fd(const struct iw_observe *o);

/* Of all CPUs together. 0 or IW_E_OS. */
IW_MUST_CHECK int iw_observe_counters(const struct iw_observe *o, struct iw_xdp_mpa *out);
/* Calls each for every flow that it remembers, until it does not return 0; returns what it returned. */
int iw_observe_each(const struct iw_observe *o,
		    int (*each)(void *ctx, const struct iw_xdp_flow_key *key,
				const struct iw_xdp_flow *flow),
		    void *ctx);

#endif
