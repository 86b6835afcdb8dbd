// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The source's rings of ranges, grants and loaded chunks, and its slots. */
#include "transfer/protocol/source.h"

#include <assert.h>

void iw_xfer_source_pop_range(struct source *s)
{
	struct file *f = find(s, range_at(s, 0)->id);

	if (f)
		f->ranges--;
	s->range_head = (s->range_head + 1) % RANGES;
	s->nranges--;
	s->unsent = IW_MIN(s->unsent, s->nranges);
}

void iw_xfer_source_trim_ranges(struct source *s)
{
	while (s->nranges > 0 && range_at(s, 0)->id == 0)
		iw_xfer_source_pop_range(s);
}

void iw_xfer_source_trim_grants(struct source *s)
{
	while (s->ngrants > 0 && grant_at(s, 0)->id == 0) {
		s->grant_head = (s->grant_head + 1) % IW_XFER_WINDOWS;
		s->ngrants--;
	}
}

void iw_xfer_source_stop_asking(struct source *s, struct file *f)
{
	s->nasking -= f->asking;
	f->asking = false;
}

void iw_xfer_source_drop_rest(struct source *s, struct file *f)
{
	for (uint32_t i = 0; i < s->nranges; i++)
		if (range_at(s, i)->id == f->id)
			range_at(s, i)->id = 0;
	for (uint32_t i = 0; i < s->ngrants; i++)
		if (grant_at(s, i)->id == f->id)
			grant_at(s, i)->id = 0;
	f->ranges = f->grants = 0;
	f->scanned = true;
	iw_xfer_source_stop_asking(s, f);
	iw_xfer_source_trim_ranges(s);
	iw_xfer_source_trim_grants(s);
}

void iw_xfer_source_push_done(struct source *s, const struct done *d)
{
	assert(s->ndone < DONES);
	s->done[(s->done_head + s->ndone++) % DONES] = *d;
	s->done_octets += d->len;
}

void iw_xfer_source_free_slot(struct iw_xfer *x, uint32_t i)
{
	struct source *s = x->src;
	struct file *f = find(s, s->slot[i].id);

	if (f)
		f->slots--;
	s->slot[i].state = S_FREE;
	s->slot[i].id = 0;
	iw_xfer_slot_put(x, i);
}
