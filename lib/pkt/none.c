// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The carrier "xdp" in a build without libxdp and libbpf. */
#include "pkt/pkt.h"

#include "util/text.h"

static int xdp_available(struct iw_fault *why)
{
	return iw_fail(why, IW_E_NOTSUP,
		       "transport xdp: built without libxdp, libbpf or clang: use udp or raw");
}

static int xdp_open(struct iw_pkt **out, const struct iw_pkt_cfg *cfg, struct iw_fault *why)
{
	(void)out;
	(void)cfg;
	return xdp_available(why);
}

int iw_pkt_memory_new(struct iw_xdp_memory **out, const struct iw_pkt_cfg *cfg, size_t len,
		      struct iw_fault *why)
{
	(void)out;
	(void)cfg;
	(void)len;
	return xdp_available(why);
}

void *iw_pkt_memory_addr(struct iw_xdp_memory *m)
{
	return m;
}

void iw_pkt_memory_free(struct iw_xdp_memory *m)
{
	(void)m;
}

const struct iw_pkt_ops iw_pkt_xdp_ops = {
	.name = "xdp",
	.available = xdp_available,
	.open = xdp_open,
};
