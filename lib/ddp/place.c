// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Placement, after all checks of RFC 5041 7.1. */
#include "ddp/ddp.h"

#include <string.h>

#include "ddp/internal.h"
#include "util/num.h"
#include "util/text.h"

int iw_ddp_check_version(const struct iw_ddp_stream *d, const struct iw_ddp *h,
			 struct iw_fault *why)
{
	if (iw_likely(h->dv == d->cfg.dv))
		return 0;
	return iw_fail(why, h->tagged ? IW_E_DDP_VERSION_T : IW_E_DDP_VERSION_U,
		       "ddp: %s segment of version %u: expected %u",
		       h->tagged ? "tagged" : "untagged", (uint32_t)h->dv, (uint32_t)d->cfg.dv);
}

static int check_tagged(struct iw_ddp_stream *d, const struct iw_ddp *h, size_t len, uint8_t right,
			uint64_t now, uint8_t **where, struct iw_fault *why)
{
	struct iw_stag_use use = {
		.pd = d->cfg.pd,
		.stream = d->cfg.stream,
		.right = right,
		.to = h->to,
		.len = len,
		.now = now,
	};
	enum iw_stag_verdict v;

	/* RFC 5041 5.2: STag and TO of a zero-length segment MUST NOT be checked. */
	if (len == 0) {
		*where = NULL;
		return 0;
	}
	v = iw_stag_check(d->cfg.stags, h->stag, &use, where);
	if (iw_likely(v == IW_STAG_OK))
		return 0;
	return iw_stag_ddp_error(d->cfg.stags, v, h->stag, &use, why);
}

int iw_ddp_fault_qn(const struct iw_ddp_stream *d, const struct iw_ddp *h, struct iw_fault *why)
{
	char valid[32];
	struct iw_text t;
	const char *sep = "";

	iw_text_init(&t, valid, sizeof(valid));
	for (uint32_t qn = 0; qn < IW_DDP_QUEUES; qn++) {
		if (d->queues[qn].depth == 0)
			continue;
		iw_text_str(&t, sep);
		iw_text_u64(&t, qn);
		sep = ", ";
	}
	return iw_fail(why, IW_E_DDP_QN, "ddp: QN %u: this stream has %s", h->qn,
		       t.len > 0 ? valid : "no queue");
}

/*
 * The MSN has no buffer. Two checks of RFC 5041 7.1 detect this: 2, "QN and MSN have an associated
 * buffer", and 5, "the MSN falls in the range of the buffers available". We report 2 (no buffer) if
 * a buffer may still be posted for the MSN: our ULP was too slow, or the peer exceeded its credits.
 * We report 5 (range) if the queue's depth excludes a buffer for it: the peer's MSN is wrong.
 */
static int fault_msn(const struct queue *q, const struct iw_ddp *h, struct iw_fault *why)
{
	if (queue_ahead(q, h->msn) < q->depth)
		return iw_fail(why, IW_E_DDP_NOBUF,
			       "ddp: QN %u MSN %u: no buffer: %u are posted, the first for MSN %u",
			       h->qn, h->msn, q->posted, q->first);
	return iw_fail(why, IW_E_DDP_MSN, "ddp: QN %u MSN %u: expected %u..%u", h->qn, h->msn,
		       q->first, q->first + q->depth - 1);
}

static int check_untagged(struct iw_ddp_stream *d, const struct iw_ddp *h, size_t len,
			  uint8_t **where, struct iw_fault *why)
{
	const struct queue *q = queue_of(d, h->qn);
	const struct untagged_buf *b;

	if (!q)
		return iw_ddp_fault_qn(d, h, why);
	if (queue_ahead(q, h->msn) >= q->posted)
		return fault_msn(q, h, why);
	b = queue_buf(q, queue_ahead(q, h->msn));
	if (h->mo > b->cap)
		return iw_fail(why, IW_E_DDP_MO, "ddp: QN %u MSN %u MO %u: outside a buffer of %u",
			       h->qn, h->msn, h->mo, b->cap);
	if (len > b->cap - h->mo)
		return iw_fail(why, IW_E_DDP_TOOLONG,
			       "ddp: QN %u MSN %u MO %u length %U: too long for a buffer of %u",
			       h->qn, h->msn, h->mo, (uint64_t)len, b->cap);
	*where = b->base ? (uint8_t *)b->base + h->mo : NULL;
	return 0;
}

int iw_ddp_check(struct iw_ddp_stream *d, const struct iw_ddp *h, size_t len, uint8_t right,
		 uint64_t now, uint8_t **where, struct iw_fault *why)
{
	int ret;

	*where = NULL;
	if (iw_unlikely(d->failed))
		return 0;
	ret = iw_ddp_check_version(d, h, why);
	if (ret == 0)
		ret = h->tagged ? check_tagged(d, h, len, right, now, where, why)
				: check_untagged(d, h, len, where, why);
	if (iw_unlikely(ret < 0))
		d->failed = true;
	return ret;
}

IW_TRACES static void trace_placed(const struct iw_ddp_stream *d, const struct iw_ddp *h,
				   size_t len)
{
	struct iw_trace_event ev = { .kind = IW_TRACE_placed, .stream = d->cfg.stream };

	ev.placed.tagged = h->tagged;
	if (h->tagged) {
		ev.placed.stag = h->stag;
		ev.placed.to = h->to;
	} else {
		ev.placed.qn = h->qn;
		ev.placed.msn = h->msn;
		ev.placed.mo = h->mo;
	}
	ev.placed.octets = len;
	iw_trace(d->cfg.tracer, &ev);
}

int iw_ddp_place(struct iw_ddp_stream *d, const struct iw_ddp *h, const uint8_t *payload,
		 size_t len, uint8_t right, uint64_t now, struct iw_fault *why)
{
	uint8_t *where;
	int ret = iw_ddp_check(d, h, len, right, now, &where, why);

	if (ret == 0 && where && len > 0) {
		memcpy(where, payload, len);
		if (iw_tracing(d->cfg.tracer))
			trace_placed(d, h, len);
	}
	return ret;
}
