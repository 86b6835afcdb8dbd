// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Untagged Buffers: posted in order, each for the next MSN of its queue (RFC 5041 4.3, 5.1.2). */
#include "ddp/ddp.h"

#include <assert.h>

#include "ddp/internal.h"
#include "util/num.h"

int iw_ddp_set_depth(struct iw_ddp_stream *d, uint32_t qn, uint32_t depth)
{
	struct queue *q;
	struct untagged_buf *ring;
	uint32_t size;

	if (qn >= IW_DDP_QUEUES || depth > IW_DDP_DEPTH_MAX)
		return IW_E_INVAL;
	q = &d->queues[qn];
	if (depth <= q->depth)
		return 0;
	size = iw_pow2_at_least(depth);
	if (size > q->size) {
		ring = iw_mem_array(d->cfg.mem, size, sizeof(*ring));
		if (!ring)
			return IW_E_NOMEM;
		for (uint32_t i = 0; i < q->posted; i++)
			ring[i] = *queue_buf(q, i);
		iw_mem_free(d->cfg.mem, q->ring, q->size * sizeof(*ring));
		q->ring = ring;
		q->size = size;
		q->head = 0;
	}
	q->depth = depth;
	return 0;
}

int iw_ddp_post(struct iw_ddp_stream *d, uint32_t qn, void *base, uint32_t cap, uint64_t cookie)
{
	struct queue *q = queue_of(d, qn);

	if (!q || (cap > 0 && !base))
		return IW_E_INVAL;
	if (q->posted == q->depth)
		return IW_E_FULL;
	*queue_buf(q, q->posted) = (struct untagged_buf){
		.base = base,
		.cap = cap,
		.cookie = cookie,
	};
	q->posted++;
	return 0;
}

uint32_t iw_ddp_posted(const struct iw_ddp_stream *d, uint32_t qn)
{
	return qn < IW_DDP_QUEUES ? d->queues[qn].posted : 0;
}

struct untagged_buf iw_ddp_take_buf(struct queue *q)
{
	struct untagged_buf b;

	assert(q->posted > 0);
	b = *queue_buf(q, 0);
	q->head = (q->head + 1) & (q->size - 1);
	q->posted--;
	q->first++;
	return b;
}

bool iw_ddp_unpost(struct iw_ddp_stream *d, uint32_t qn, uint64_t *cookie)
{
	struct queue *q = queue_of(d, qn);

	/* The current message may use the removed buffer, so reception must stop. */
	d->failed = true;
	d->complete = false;
	if (!q || q->posted == 0)
		return false;
	*cookie = iw_ddp_take_buf(q).cookie;
	return true;
}

uint32_t iw_ddp_next_msn(const struct iw_ddp_stream *d, uint32_t qn)
{
	assert(qn < IW_DDP_QUEUES);
	return d->queues[qn].first;
}

void iw_ddp_skip_msn(struct iw_ddp_stream *d, uint32_t qn)
{
	assert(qn < IW_DDP_QUEUES);
	d->queues[qn].first++;
}
