// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Samples of the resources used and the data moved by one end. */
#include "ddp-bench/sample.h"

#include <string.h>
#include <sys/resource.h>

#include <iwarp/verbs.h>

#include "os/os.h"

static uint64_t timeval_ns(const struct timeval *tv)
{
	return (uint64_t)tv->tv_sec * 1000000000u + (uint64_t)tv->tv_usec * 1000u;
}

void iw_bench_sample_take(struct iw_bench_sample *s, const struct iw_qp *qp, char cc[16])
{
	struct rusage ru = { 0 };
	struct iw_qp_info info;

	/* It fails only for an invalid first argument. */
	(void)getrusage(RUSAGE_SELF, &ru);
	iw_qp_info(qp, &info);
	*s = (struct iw_bench_sample){
		.at_ns = iw_os_now(),
		.user_ns = timeval_ns(&ru.ru_utime),
		.sys_ns = timeval_ns(&ru.ru_stime),
		.switches = (uint64_t)ru.ru_nvcsw,
		.tx_octets = info.tx_octets,
		.rx_octets = info.rx_octets,
		.tx_fpdus = info.tx_fpdus,
		.rx_fpdus = info.rx_fpdus,
		.tx_calls = info.tx_sends,
		.rx_calls = info.rx_sends,
		.retransmits = info.retransmits,
		.waits = info.waits,
	};
	if (cc)
		memcpy(cc, info.cc, sizeof(info.cc));
}

void iw_bench_sample_diff(struct iw_bench_sample *d, const struct iw_bench_sample *a,
			  const struct iw_bench_sample *b)
{
	*d = (struct iw_bench_sample){
		.at_ns = b->at_ns - a->at_ns,
		.user_ns = b->user_ns - a->user_ns,
		.sys_ns = b->sys_ns - a->sys_ns,
		.switches = b->switches - a->switches,
		.tx_octets = b->tx_octets - a->tx_octets,
		.rx_octets = b->rx_octets - a->rx_octets,
		.tx_fpdus = b->tx_fpdus - a->tx_fpdus,
		.rx_fpdus = b->rx_fpdus - a->rx_fpdus,
		.tx_calls = b->tx_calls - a->tx_calls,
		.rx_calls = b->rx_calls - a->rx_calls,
		.retransmits = b->retransmits - a->retransmits,
		.waits = b->waits - a->waits,
	};
}
