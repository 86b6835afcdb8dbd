/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The environment of a measurement, to compare it with others. */
#ifndef IW_DDP_BENCH_ENVIRONMENT_H
#define IW_DDP_BENCH_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/param.h"

struct iw_bench_environment {
	char kernel[65], machine[65]; /* its release; "x86_64" */
	char cpu[96];                 /* its model; "": not known */
	unsigned cpus;                /* those that this process may use */
	char governor[32];            /* frequency governor of the first CPU; "": none */
	char cc[32];                  /* TCP's default congestion control */
	char libbpf[16];              /* its version; "": built without it */

	/* The interface towards the peer; "": not known. */
	char interface[16], driver[32];
	uint32_t mtu;
	unsigned offloads; /* set of enum iw_xdp_offload */
	bool xdp;          /* its program and sockets are those of this process; then: */
	bool native, zerocopy, busy_poll, multi_buffer;
};

/*
 * Fills *e. Values that are not known stay empty. peer: "192.0.2.1:7471". interface: the one that
 * reaches the peer; NULL: as the route selects. transport: as in struct iw_endpoint_attr.
 */
void iw_bench_environment(struct iw_bench_environment *e, const char *transport,
			  const char *interface, const char *peer);

#endif
