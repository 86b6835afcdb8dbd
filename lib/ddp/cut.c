// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Cuts a message into segments of at most MULPDU octets (RFC 5041 5.2). */
#include "ddp/ddp.h"

#include <assert.h>

#include "ddp/internal.h"
#include "util/num.h"

void iw_ddp_out_begin(struct iw_ddp_stream *d, struct iw_ddp_out *o)
{
	assert(o->hdr.tagged || o->hdr.qn < IW_DDP_QUEUES);
	/* RFC 5041 4.1: one version on the whole stream; reserved bits are sent as zero. */
	o->hdr.dv = d->cfg.dv;
	o->hdr.rsvd_ddp = 0;
	if (!o->hdr.tagged)
		o->hdr.msn = d->queues[o->hdr.qn].next_out++;
	o->done = 0;
	o->begun = true;
	o->ended = false;
}

size_t iw_ddp_cut(struct iw_ddp_out *o, size_t mulpdu, uint8_t hdr[static IW_DDP_HDR_MAX],
		  uint32_t *off, uint32_t *len)
{
	size_t hdr_len = iw_ddp_hdr_len(o->hdr.tagged);
	struct iw_ddp h = o->hdr;
	uint32_t left = o->len - o->done;
	int written;

	assert(o->begun && !o->ended);
	assert(mulpdu > hdr_len); /* RFC 5044 3: MULPDU is at least 128 */
	*off = o->done;
	*len = (uint32_t)IW_MIN((size_t)left, mulpdu - hdr_len);
	h.last = *len == left;
	if (h.tagged)
		h.to += o->done;
	else
		h.mo = o->done;
	o->done += *len;
	o->ended = h.last;
	written = iw_wire_ddp_encode(hdr, IW_DDP_HDR_MAX, &h);
	assert(written == (int)hdr_len);
	return (size_t)written;
}
