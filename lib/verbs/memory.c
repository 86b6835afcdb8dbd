// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Memory from which transport xdp sends without a copy. */
#include "verbs/internal.h"

int iw_xdp_memory_new(struct iw_xdp_memory **out, const struct iw_endpoint_attr *at, size_t len,
		      struct iw_fault *why)
{
	struct iw_endpoint_attr e;
	struct iw_llp_cfg cfg;
	int err;

	*out = NULL;
	err = iw_verbs_take_endpoint(&e, at, "xdp memory", why);
	if (err)
		return err;
	iw_verbs_llp_cfg(&cfg, &e, false);
	return iw_port_memory_new(out, &cfg, len, why);
}

void *iw_xdp_memory_addr(struct iw_xdp_memory *m)
{
	return iw_port_memory_addr(m);
}

void iw_xdp_memory_free(struct iw_xdp_memory *m)
{
	iw_port_memory_free(m);
}
