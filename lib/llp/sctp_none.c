// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The transport "sctp" in a build without libsctp. */
#include "llp/internal.h"
#include "util/text.h"

static int kernel_available(struct iw_fault *why)
{
	return iw_fail(why, IW_E_NOTSUP, "transport sctp: built without libsctp");
}

static int kernel_open(struct iw_port **out, const struct iw_port_cfg *cfg, struct iw_fault *why)
{
	(void)out;
	(void)cfg;
	return kernel_available(why);
}

const struct iw_port_ops iw_port_sctp_ops = {
	.name = "sctp",
	.available = kernel_available,
	.open = kernel_open,
};
