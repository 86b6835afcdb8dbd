/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The environment of a measurement: the machine and the interface. */
#ifndef IW_DDP_BENCH_ENVIRONMENT_H
#define IW_DDP_BENCH_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/param.h"

struct iw_bench_environment {
	char kernel[65], machine[65]; /* release of the kernel; "x86_64" */
	char cpu[96];                 /* model; "": not known */
	unsigned cpus;                /* CPUs that this process may use */
	char governor[32];            /* frequency governor of the first CPU; "": none */
	char cc[32];                  /* TCP's default congestion control */
	char libbpf[16];              /* version; "": built without libbpf */

	/* The interface towards the peer; "": not known. */
	char interface[16], driver[32];
	uint32_t mtu;
	unsigned offloads; /* set of enum iw_xdp_offload */
	bool xdp;          /* the steering program is attached. Its mode, and our sockets': */
	bool native, zerocopy, busy_poll, multi_buffer;
};

/*
 * Fills *e; values that are not known remain empty. peer: "192.0.2.1:7471". interface: the one that
 * reaches the peer; NULL: that of the route. transport: as in struct iw_endpoint_attr.
 */
void iw_bench_environment(struct iw_bench_environment *e, const char *transport,
			  const char *interface, const char *peer);

#endif
