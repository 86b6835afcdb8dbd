/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where a measurement was made: what a reader needs to compare it with another one. */
#ifndef IW_BENCH_ENVIRONMENT_H
#define IW_BENCH_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/param.h"

struct iw_bench_environment {
	char kernel[65], machine[65]; /* its release; "x86_64" */
	char cpu[96];                 /* its model, "" not known */
	unsigned cpus;                /* that this process may use */
	char governor[32];            /* of the first one's frequency; "" none */
	char cc[32];                  /* TCP's congestion control where nothing is said */
	char libbpf[16];              /* its version; "" built without it */

	/* The interface that leads to the peer; "" not known. */
	char interface[16], driver[32];
	uint32_t mtu;
	unsigned offloads; /* set of enum iw_xdp_offload */
	bool xdp;          /* its program and sockets are ours, and: */
	bool native, zerocopy, busy_poll, multi_buffer;
};

/*
 * @peer: "192.0.2.1:7471"; @interface: by which it was reached, or NULL, then as the route says;
 * @transport as in struct iw_cli_param. Never fails; what cannot be known is left empty.
 */
void iw_bench_environment(struct iw_bench_environment *e, const char *transport,
			  const char *interface, const char *peer);

#endif
