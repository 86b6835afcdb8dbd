// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The table of flows: buckets by both ends, and a list in the order of last use. */
#include "ddp-impair/packets/table.h"

#include <string.h>

#include "packet/repair.h"
#include "packet/packet.h"
#include "util/list.h"
#include "util/num.h"
#include "wire/sctp.h"

#define BUCKETS 1024

struct entry {
	struct entry *next; /* of its bucket */
	struct iw_list used;
	struct iw_packet_end end[2]; /* initiator, responder */
	uint32_t isn;                /* TCP: the sequence number of the initiator's SYN */
	bool syn;                    /* isn is known */
	struct iw_flow flow;
};

struct iw_flows {
	struct iw_flow_cfg cfg;
	struct entry *bucket[BUCKETS];
	struct iw_list used; /* the flow that was idle longest is first */
	size_t entries;
	uint32_t conns;
	size_t early;            /* octets of early segments */
	uint64_t missed, unread; /* of flows that were forgotten */
};

/* --- ends ------------------------------------------------------------------------------------- */

static uint32_t hash_end(const struct iw_packet_end *e)
{
	uint32_t h = 2166136261u ^ e->port ^ (uint32_t)e->udp_port << 16;

	for (size_t i = 0; i < sizeof(e->addr); i++)
		h = (h ^ e->addr[i]) * 16777619u;
	return h ^ h >> 15;
}

static struct entry **bucket_of(struct iw_flows *t, const struct iw_packet_end end[2])
{
	return &t->bucket[(hash_end(&end[0]) + hash_end(&end[1])) % BUCKETS];
}

static bool same_end(const struct iw_packet_end *a, const struct iw_packet_end *b)
{
	return a->v6 == b->v6 && a->port == b->port && a->udp_port == b->udp_port &&
	       memcmp(a->addr, b->addr, sizeof(a->addr)) == 0;
}

static struct entry *find(struct iw_flows *t, const struct iw_packet_end end[2], unsigned *from)
{
	for (struct entry *e = *bucket_of(t, end); e; e = e->next)
		for (unsigned d = 0; d < 2; d++)
			if (same_end(&e->end[d], &end[0]) && same_end(&e->end[1 - d], &end[1])) {
				*from = d;
				return e;
			}
	return NULL;
}

/* --- entries ---------------------------------------------------------------------------------- */

static void drop(struct iw_flows *t, struct entry *e)
{
	struct entry **at = bucket_of(t, e->end);

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	iw_list_del(&e->used);
	t->entries--;
	t->missed += e->flow.missed;
	t->unread += e->flow.unread;
	iw_flow_fini(&e->flow);
	iw_mem_free(t->cfg.mem, e, sizeof(*e));
}

static struct entry *entry_of(struct iw_list *l)
{
	return iw_container_of(l, struct entry, used);
}

static struct entry *add(struct iw_flows *t, const struct iw_packet_end *initiator,
			 const struct iw_packet_end *responder, uint64_t now)
{
	struct entry *e, **at;

	if (t->entries == IW_FLOWS_MAX)
		drop(t, entry_of(iw_list_first(&t->used)));
	e = iw_mem_alloc(t->cfg.mem, sizeof(*e));
	if (!e)
		return NULL;
	if (iw_flow_init(&e->flow, &t->cfg, t->conns + 1, now) < 0) {
		iw_mem_free(t->cfg.mem, e, sizeof(*e));
		return NULL;
	}
	t->conns++;
	t->entries++;
	e->end[0] = *initiator;
	e->end[1] = *responder;
	at = bucket_of(t, e->end);
	e->next = *at;
	*at = e;
	iw_list_init(&e->used);
	iw_list_add_tail(&t->used, &e->used);
	return e;
}

/* --- what a frame begins ---------------------------------------------------------------------- */

enum opening { OPENS_NOTHING, OPENS, ANSWERS };

static enum opening opening_of(const struct iw_packet *p, enum iw_packet_kind kind)
{
	if (kind == IW_PACKET_TCP)
		return !(p->flags & IW_TCP_SYN) ? OPENS_NOTHING
		       : p->flags & IW_TCP_ACK  ? ANSWERS
						: OPENS;
	if (p->len <= IW_SCTP_HDR_LEN)
		return OPENS_NOTHING;
	return p->data[IW_SCTP_HDR_LEN] == IW_SCTP_INIT       ? OPENS
	       : p->data[IW_SCTP_HDR_LEN] == IW_SCTP_INIT_ACK ? ANSWERS
							      : OPENS_NOTHING;
}

/* The ends had a connection before, and this frame opens another one. A retransmitted SYN does
 * not. */
static bool is_new(const struct entry *e, const struct iw_packet *p, enum iw_packet_kind kind)
{
	return kind == IW_PACKET_TCP && opening_of(p, kind) == OPENS &&
	       (!e->syn || e->isn != p->seq);
}

static struct entry *entry_for(struct iw_flows *t, const struct iw_packet *p,
			       enum iw_packet_kind kind, uint64_t now, unsigned *from)
{
	struct entry *e = find(t, p->end, from);
	enum opening opening = opening_of(p, kind);

	if (e && is_new(e, p, kind)) {
		drop(t, e);
		e = NULL;
	}
	if (!e) {
		*from = opening == ANSWERS;
		e = add(t, &p->end[*from], &p->end[1 - *from], now);
		if (e && kind == IW_PACKET_TCP && opening == OPENS) {
			e->syn = true;
			e->isn = p->seq;
		}
	}
	if (e) {
		iw_list_del(&e->used);
		iw_list_add_tail(&t->used, &e->used);
	}
	return e;
}

uint64_t iw_flows_frame(struct iw_flows *t, uint8_t *frame, size_t len, uint64_t now,
			struct iw_fate *out)
{
	struct iw_packet p;
	enum iw_packet_kind kind = iw_packet_parse(&p, IW_PACKET_ETHERNET, frame, len, len, 0);
	struct entry *e = NULL;
	unsigned from = 0;

	*out = (struct iw_fate){ .len = len };
	if (kind == IW_PACKET_TCP || kind == IW_PACKET_SCTP)
		e = entry_for(t, &p, kind, now, &from);
	if (!e)
		return 0;
	if (kind == IW_PACKET_TCP)
		iw_flow_segment(&e->flow, from, p.seq, p.flags & IW_TCP_SYN,
				frame + (p.data - frame), p.len, now, out);
	else
		iw_flow_datagram(&e->flow, from, frame + (p.data - frame), p.len, now, out);
	out->len = out->changed ? iw_packet_repair(frame, len, &p, kind, out->len) : len;
	return 2 * (uint64_t)e->flow.conn - 1 + from;
}

/* --- begin and end ---------------------------------------------------------------------------- */

int iw_flows_new(struct iw_flows **out, const struct iw_flow_cfg *cfg)
{
	struct iw_flows *t = iw_mem_alloc(cfg->mem, sizeof(*t));

	if (!t)
		return IW_E_NOMEM;
	t->cfg = *cfg;
	t->cfg.early = &t->early;
	iw_list_init(&t->used);
	*out = t;
	return 0;
}

void iw_flows_free(struct iw_flows *t)
{
	struct iw_list *l;

	if (!t)
		return;
	while ((l = iw_list_first(&t->used)))
		drop(t, entry_of(l));
	iw_mem_free(t->cfg.mem, t, sizeof(*t));
}

uint64_t iw_flows_count(const struct iw_flows *t)
{
	return t->conns;
}

uint64_t iw_flows_missed(const struct iw_flows *t)
{
	uint64_t missed = t->missed;

	for (struct iw_list *l = t->used.next; l != &t->used; l = l->next)
		missed += entry_of(l)->flow.missed;
	return missed;
}

uint64_t iw_flows_unread(const struct iw_flows *t)
{
	uint64_t unread = t->unread;

	for (struct iw_list *l = t->used.next; l != &t->used; l = l->next)
		unread += entry_of(l)->flow.unread;
	return unread;
}
