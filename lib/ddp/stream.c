// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Creates and frees a DDP stream. */
#include "ddp/ddp.h"

#include "ddp/internal.h"
#include "util/text.h"

#define DV_MAX 1 /* 1: RFC 5041 4.1; 0: version 1.0 of the RDMA Consortium */

static int check_cfg(const struct iw_ddp_cfg *cfg, struct iw_fault *why)
{
	if (cfg->dv > DV_MAX)
		return iw_fail(why, IW_E_INVAL, "ddp: version %u: expected 0 or 1",
			       (uint32_t)cfg->dv);
	if (cfg->stream == 0)
		return iw_fail(why, IW_E_INVAL, "ddp: stream number 0: it stands for any stream");
	if (cfg->early_max > IW_DDP_DEPTH_MAX)
		return iw_fail(why, IW_E_INVAL, "ddp: %u early segments: expected at most %u",
			       cfg->early_max, (uint32_t)IW_DDP_DEPTH_MAX);
	for (uint32_t qn = 0; qn < IW_DDP_QUEUES; qn++)
		if (cfg->queue_depth[qn] > IW_DDP_DEPTH_MAX)
			return iw_fail(why, IW_E_INVAL, "ddp: QN %u depth %u: expected at most %u",
				       qn, cfg->queue_depth[qn], (uint32_t)IW_DDP_DEPTH_MAX);
	return 0;
}

int iw_ddp_new(struct iw_ddp_stream **out, const struct iw_ddp_cfg *cfg, struct iw_fault *why)
{
	struct iw_ddp_stream *d;
	int ret = check_cfg(cfg, why);

	if (ret < 0)
		return ret;
	d = iw_mem_alloc(cfg->mem, sizeof(*d));
	if (!d)
		return iw_fail(why, IW_E_NOMEM, "ddp: no memory for a stream");
	*d = (struct iw_ddp_stream){ .cfg = *cfg };
	for (uint32_t qn = 0; qn < IW_DDP_QUEUES; qn++) {
		/* RFC 5041 4.3: the first MSN is 1. */
		d->queues[qn].first = 1;
		d->queues[qn].next_out = 1;
		ret = iw_ddp_set_depth(d, qn, cfg->queue_depth[qn]);
		if (ret < 0) {
			ret = iw_fail(why, ret, "ddp: no memory for %u buffers of QN %u",
				      cfg->queue_depth[qn], qn);
			iw_ddp_free(d);
			return ret;
		}
	}
	*out = d;
	return 0;
}

void iw_ddp_free(struct iw_ddp_stream *d)
{
	if (!d)
		return;
	for (uint32_t qn = 0; qn < IW_DDP_QUEUES; qn++) {
		struct queue *q = &d->queues[qn];

		iw_mem_free(d->cfg.mem, q->ring, q->size * sizeof(*q->ring));
	}
	iw_ddp_early_free(&d->early, d->cfg.mem);
	iw_mem_free(d->cfg.mem, d, sizeof(*d));
}

void iw_ddp_set_version(struct iw_ddp_stream *d, uint8_t dv)
{
	d->cfg.dv = dv;
}
