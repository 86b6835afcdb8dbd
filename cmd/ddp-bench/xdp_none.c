// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* `ddp-bench xdp` in a build without libxdp and libbpf. */
#include "ddp-bench/xdp_bench.h"

#include "util/text.h"

int iw_bench_xdp(struct iw_xdp_bench *out, const struct iw_xdp_bench_cfg *cfg, struct iw_fault *why)
{
	(void)out;
	(void)cfg;
	return iw_fail(why, IW_E_NOTSUP,
		       "ddp-bench xdp: built without libxdp; install libxdp-dev and build again");
}
