// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Transports that users can name and that this version does not have: they say so, and what would
 * help.
 */
#include "llp/llp.h"

#include "llp/internal.h"
#include "util/text.h"

int iw_llp_absent(const char *name, struct iw_fault *why)
{
	return iw_fail(why, IW_E_NOTSUP,
		       "transport %s: not built in this version: use tcp, sctp, udp or raw, or a "
		       "later libiwarp that has it",
		       name);
}

static int open_sctp(struct iw_llp **out, const struct iw_llp_cfg *cfg, struct iw_fault *why)
{
	(void)out;
	(void)cfg;
	return iw_llp_absent("sctp", why);
}

static int open_udp(struct iw_llp **out, const struct iw_llp_cfg *cfg, struct iw_fault *why)
{
	(void)out;
	(void)cfg;
	return iw_llp_absent("udp", why);
}

static int open_raw(struct iw_llp **out, const struct iw_llp_cfg *cfg, struct iw_fault *why)
{
	(void)out;
	(void)cfg;
	return iw_llp_absent("raw", why);
}

static int open_xdp(struct iw_llp **out, const struct iw_llp_cfg *cfg, struct iw_fault *why)
{
	(void)out;
	(void)cfg;
	return iw_llp_absent("xdp", why);
}

const struct iw_llp_ops iw_llp_sctp_ops = { .name = "sctp",
					    .traits = IW_LLP_MESSAGE,
					    .open = open_sctp };
const struct iw_llp_ops iw_llp_udp_ops = { .name = "udp",
					   .traits = IW_LLP_MESSAGE,
					   .open = open_udp };
const struct iw_llp_ops iw_llp_raw_ops = { .name = "raw",
					   .traits = IW_LLP_MESSAGE,
					   .open = open_raw };
const struct iw_llp_ops iw_llp_xdp_ops = { .name = "xdp",
					   .traits = IW_LLP_MESSAGE,
					   .open = open_xdp };
