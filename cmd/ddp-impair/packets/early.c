// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ddp-impair/packets/early.h"

#include <string.h>

#include "util/num.h"

static size_t size_of(size_t len)
{
	return sizeof(struct iw_early) + len;
}

/* Returns the link where a new segment is inserted: after all that begin at seq or before it. */
static struct iw_early **place(struct iw_early_list *l, uint32_t seq)
{
	struct iw_early **at = &l->first;

	if (l->last && !iw_seq32_before(seq, l->last->seq))
		return &l->last->next;
	while (*at && !iw_seq32_before(seq, (*at)->seq))
		at = &(*at)->next;
	return at;
}

static bool is_full(const struct iw_early_list *l, size_t len)
{
	return l->segments == IW_EARLY_SEGMENTS || len > IW_EARLY_OCTETS - l->octets ||
	       (l->total && size_of(len) > IW_EARLY_TOTAL - *l->total);
}

bool iw_early_keep(struct iw_early_list *l, const struct iw_mem *mem, uint32_t seq,
		   const uint8_t *octets, size_t len)
{
	struct iw_early **at, *e;

	if (is_full(l, len))
		return false;
	e = iw_mem_alloc(mem, size_of(len));
	if (!e)
		return false;
	e->seq = seq;
	e->len = (uint32_t)len;
	memcpy(e->octets, octets, len);
	at = place(l, seq);
	e->next = *at;
	*at = e;
	if (!e->next)
		l->last = e;
	l->segments++;
	l->octets += e->len;
	if (l->total)
		*l->total += size_of(len);
	return true;
}

const struct iw_early *iw_early_first(const struct iw_early_list *l)
{
	return l->first;
}

void iw_early_drop(struct iw_early_list *l, const struct iw_mem *mem)
{
	struct iw_early *e = l->first;

	l->first = e->next;
	if (!l->first)
		l->last = NULL;
	l->segments--;
	l->octets -= e->len;
	if (l->total)
		*l->total -= size_of(e->len);
	iw_mem_free(mem, e, size_of(e->len));
}

void iw_early_clear(struct iw_early_list *l, const struct iw_mem *mem)
{
	while (l->first)
		iw_early_drop(l, mem);
}
