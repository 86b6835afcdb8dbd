/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What one end has used and moved up to a moment: all figures are differences of two of these. */
#ifndef IW_BENCH_SAMPLE_H
#define IW_BENCH_SAMPLE_H

#include <stdint.h>

struct iw_qp;

/* Numbers only: it travels in a REPORT. */
struct iw_bench_sample {
	uint64_t at_ns;                /* of this end's own clock */
	uint64_t user_ns, sys_ns;      /* CPU time of the process */
	uint64_t switches;             /* times it went to sleep */
	uint64_t tx_octets, rx_octets; /* of the LLP */
	uint64_t tx_fpdus, rx_fpdus;
	uint64_t tx_calls, rx_calls; /* system calls that moved octets */
	uint64_t retransmits;
	uint64_t waits; /* system calls that waited, or told the kernel what for; of the process */
};

/* Takes it now. @cc (may be NULL) is set to the congestion control in force. */
void iw_bench_sample_take(struct iw_bench_sample *s, const struct iw_qp *qp, char cc[16]);
/* *d = *b - *a; @b is the later one. */
void iw_bench_sample_diff(struct iw_bench_sample *d, const struct iw_bench_sample *a,
			  const struct iw_bench_sample *b);

#endif
