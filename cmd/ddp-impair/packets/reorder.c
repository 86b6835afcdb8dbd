// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Packets that others overtake. */
#include "ddp-impair/packets/reorder.h"

#include <string.h>

#include "util/num.h"

struct kept {
	struct iw_list list;
	uint64_t flow, until, delay_ns;
	uint32_t copies;
	uint32_t others; /* that still overtake it */
	size_t len;
	uint8_t octets[];
};

static struct kept *kept_of(struct iw_list *l)
{
	return iw_container_of(l, struct kept, list);
}

void iw_reorder_init(struct iw_reorder *o, struct iw_link *link, const struct iw_mem *mem)
{
	*o = (struct iw_reorder){ .link = link, .mem = mem };
	iw_list_init(&o->kept);
}

static void forget(struct iw_reorder *o, struct kept *k)
{
	iw_list_del(&k->list);
	o->n--;
	iw_mem_free(o->mem, k, sizeof(*k) + k->len);
}

void iw_reorder_fini(struct iw_reorder *o)
{
	struct iw_list *l;

	while ((l = iw_list_first(&o->kept)))
		forget(o, kept_of(l));
}

static bool keep(struct iw_reorder *o, uint64_t flow, const void *packet, size_t len,
		 const struct iw_fate *fate, uint64_t now)
{
	struct kept *k = NULL;

	if (o->n < IW_REORDER_MAX)
		k = iw_mem_alloc(o->mem, sizeof(*k) + len);
	if (!k)
		return false;
	k->flow = flow;
	k->until = now + IW_REORDER_MAX_NS;
	k->delay_ns = fate->delay_ns;
	k->copies = fate->copies;
	k->others = fate->overtaken_by;
	k->len = len;
	memcpy(k->octets, packet, len);
	iw_list_init(&k->list);
	iw_list_add_tail(&o->kept, &k->list);
	o->n++;
	return true;
}

static void pass(struct iw_reorder *o, const void *packet, size_t len, uint32_t copies,
		 uint64_t delay_ns, uint64_t now)
{
	for (uint64_t i = 0; i <= copies; i++)
		iw_link_push_delayed(o->link, packet, len, delay_ns, now);
}

static void release(struct iw_reorder *o, struct kept *k, uint64_t now)
{
	pass(o, k->octets, k->len, k->copies, k->delay_ns, now);
	forget(o, k);
}

/* A packet of the flow has passed. */
static void count_down(struct iw_reorder *o, uint64_t flow, uint64_t now)
{
	struct iw_list *next;

	for (struct iw_list *l = o->kept.next; l != &o->kept; l = next) {
		struct kept *k = kept_of(l);

		next = l->next;
		if (k->flow == flow && --k->others == 0)
			release(o, k, now);
	}
}

void iw_reorder_push(struct iw_reorder *o, uint64_t flow, const void *packet, size_t len,
		     const struct iw_fate *fate, uint64_t now)
{
	if (fate->dropped)
		return;
	if (fate->overtaken_by > 0 && keep(o, flow, packet, len, fate, now))
		return;
	pass(o, packet, len, fate->copies, fate->delay_ns, now);
	if (o->n > 0)
		count_down(o, flow, now);
}

void iw_reorder_tick(struct iw_reorder *o, uint64_t now)
{
	struct iw_list *l;

	while ((l = iw_list_first(&o->kept)) && kept_of(l)->until <= now)
		release(o, kept_of(l), now);
}

uint64_t iw_reorder_deadline(const struct iw_reorder *o)
{
	struct iw_list *l = iw_list_first(&o->kept);

	return l ? kept_of(l)->until : IW_TIME_NEVER;
}
