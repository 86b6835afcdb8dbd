/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The program that observes MPA over TCP on an interface: whether TCP segments begin with FPDUs. It
 * changes nothing and passes every packet on.
 *
 * It needs native mode: in generic mode the stack has already merged segments. While it is attached
 * to one end of a veth pair, the other end sends without segmentation offload. In a build without
 * libxdp each function that can fail returns IW_E_NOTSUP.
 * Threads: one at a time.
 */
#ifndef IW_LOADER_OBSERVE_H
#define IW_LOADER_OBSERVE_H

#include <stdint.h>

#include <iwarp/err.h>

#include "xdp/shared.h"

struct iw_observe;

/* Loads the program and attaches it by a link. Errors as iw_steer_open. */
IW_MUST_CHECK int iw_observe_open(struct iw_observe **out, const char *interface,
				  struct iw_fault *why);
/* Loads the program without attaching it: for tests. */
IW_MUST_CHECK int iw_observe_load(struct iw_observe **out, struct iw_fault *why);
/* Joins the program that is attached to the interface. IW_E_NOENT: no such program is attached. */
IW_MUST_CHECK int iw_observe_look(struct iw_observe **out, const char *interface,
				  struct iw_fault *why);
/* Detaches what iw_observe_open attached. o may be NULL. */
void iw_observe_close(struct iw_observe *o);
/* Returns the descriptor of our link (owned by o). -1: another process holds the program. */
int iw_observe_link_fd(const struct iw_observe *o);
/* Returns the descriptor of the program, for BPF_PROG_RUN in tests (owned by o). */
int iw_observe_prog_fd(const struct iw_observe *o);

/* Reads the sum over all CPUs. 0, IW_E_NOMEM or IW_E_OS. */
IW_MUST_CHECK int iw_observe_counters(const struct iw_observe *o, struct iw_xdp_mpa *out);
/*
 * Calls each for every flow in the program's map, until it returns non-zero. Returns what it
 * returned last.
 */
int iw_observe_each(const struct iw_observe *o,
		    int (*each)(void *ctx, const struct iw_xdp_flow_key *key,
				const struct iw_xdp_flow *flow),
		    void *ctx);

#endif
