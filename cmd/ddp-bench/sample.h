/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A sample: the resources that one end has used, and the data that it has moved, since it began.
 * All figures are differences of two samples.
 */
#ifndef IW_DDP_BENCH_SAMPLE_H
#define IW_DDP_BENCH_SAMPLE_H

#include <stdint.h>

struct iw_qp;

/* Only members of type uint64_t, in the order on the wire: a REPORT contains it. */
struct iw_bench_sample {
	uint64_t at_ns;                /* clock of this end */
	uint64_t user_ns, sys_ns;      /* CPU time of the process */
	uint64_t switches;             /* voluntary context switches of the process */
	uint64_t tx_octets, rx_octets; /* octets of the LLP */
	uint64_t tx_fpdus, rx_fpdus;
	uint64_t tx_calls, rx_calls; /* system calls that moved octets */
	uint64_t retransmits;
	uint64_t waits; /* of the process: system calls that wait, or that set what to wait for */
};

/* Takes a sample, and copies the name of the congestion control in use to cc (NULL: does not). */
void iw_bench_sample_take(struct iw_bench_sample *s, const struct iw_qp *qp, char cc[16]);
/* Sets *d to *b minus *a, where *b is the later one. */
void iw_bench_sample_diff(struct iw_bench_sample *d, const struct iw_bench_sample *a,
			  const struct iw_bench_sample *b);

#endif
