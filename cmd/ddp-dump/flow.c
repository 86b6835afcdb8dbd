// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The table of TCP connections and SCTP associations: a hash table by both ends, one by
 * Verification Tag, and lists in the order of last use, to drop a flow when the table is full. */
#include "ddp-dump/internal.h"

#include <string.h>

static uint64_t load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t hash_end(const struct iw_cap *c, const struct iw_packet_end *e)
{
	return iw_mix64(iw_mix64(load64(e->addr) ^ c->seed) ^ load64(e->addr + 8) ^
			(uint64_t)e->udp_port << 17 ^ (uint64_t)e->port << 1 ^ e->v6);
}

/* Equal for both directions. */
static size_t bucket_of(const struct iw_cap *c, const struct iw_packet_end end[2])
{
	return (hash_end(c, &end[0]) + hash_end(c, &end[1])) & (c->buckets - 1);
}

static bool same_ports(const struct iw_packet_end *a, const struct iw_packet_end *b)
{
	return a->port == b->port && a->udp_port == b->udp_port;
}

static bool same_end(const struct iw_packet_end *a, const struct iw_packet_end *b)
{
	return same_ports(a, b) && a->v6 == b->v6 && memcmp(a->addr, b->addr, sizeof(a->addr)) == 0;
}

/* tag: of packets to this port. */
static size_t tag_bucket_of(const struct iw_cap *c, const struct iw_packet_end *to, uint32_t tag)
{
	return iw_mix64(iw_mix64(c->seed ^ tag) ^ (uint64_t)to->udp_port << 16 ^ to->port) &
	       (c->buckets - 1);
}

int iw_cap_flows_init(struct iw_cap *c)
{
	for (c->buckets = 64; c->buckets < c->limits.flows && c->buckets < SIZE_MAX / 2;
	     c->buckets *= 2)
		;
	c->bucket = iw_mem_array(c->mem, c->buckets, sizeof(*c->bucket));
	c->tag_bucket = iw_mem_array(c->mem, c->buckets, sizeof(*c->tag_bucket));
	for (int i = 0; i < LRU_COUNT; i++)
		iw_list_init(&c->lru[i]);
	iw_list_init(&c->closing);
	return c->bucket && c->tag_bucket ? 0 : IW_E_NOMEM;
}

void iw_cap_flows_fini(struct iw_cap *c)
{
	if (c->bucket)
		iw_mem_free(c->mem, c->bucket, c->buckets * sizeof(*c->bucket));
	if (c->tag_bucket)
		iw_mem_free(c->mem, c->tag_bucket, c->buckets * sizeof(*c->tag_bucket));
}

struct flow *iw_cap_flow_find(struct iw_cap *c, enum iw_cap_over over,
			      const struct iw_packet_end end[2], unsigned *from)
{
	for (struct flow *f = c->bucket[bucket_of(c, end)]; f; f = f->hash_next) {
		for (unsigned d = 0; d < 2; d++) {
			if (f->pub.over == over && same_end(&f->pub.end[d], &end[0]) &&
			    same_end(&f->pub.end[1 - d], &end[1])) {
				*from = d;
				return f;
			}
		}
	}
	return NULL;
}

struct flow *iw_cap_flow_find_tag(struct iw_cap *c, const struct iw_packet_end end[2], uint32_t tag,
				  unsigned *from)
{
	for (struct sctp_dir *w = c->tag_bucket[tag_bucket_of(c, &end[1], tag)]; w;
	     w = w->tag_next) {
		if (w->tag == tag && same_ports(&w->f->pub.end[w->d], &end[1]) &&
		    same_ports(&w->f->pub.end[1 - w->d], &end[0])) {
			*from = 1 - w->d;
			return w->f;
		}
	}
	return NULL;
}

void iw_cap_flow_drop_tag(struct iw_cap *c, struct sctp_dir *w)
{
	struct sctp_dir **p = &c->tag_bucket[w->tag_bucket];

	if (!w->tag_known)
		return;
	while (*p != w)
		p = &(*p)->tag_next;
	*p = w->tag_next;
	w->tag_known = false;
}

void iw_cap_flow_set_tag(struct iw_cap *c, struct sctp_dir *w, uint32_t tag)
{
	iw_cap_flow_drop_tag(c, w);
	w->tag = tag;
	w->tag_known = true;
	w->tag_bucket = tag_bucket_of(c, &w->f->pub.end[w->d], tag);
	w->tag_next = c->tag_bucket[w->tag_bucket];
	c->tag_bucket[w->tag_bucket] = w;
}

static void report_forgotten(struct iw_cap *c, struct flow *f)
{
	if (f->mpa)
		iw_cap_event_new(c, IW_CAP_TCP, f, 0, c->now_ns, c->frame)->tcp.kind =
			IW_CAP_TCP_FORGOTTEN;
	if (f->assoc)
		iw_cap_event_new(c, IW_CAP_SCTP, f, 0, c->now_ns, c->frame)->sctp.kind =
			IW_CAP_SCTP_FORGOTTEN;
}

static void make_room(struct iw_cap *c)
{
	for (int i = 0; i < LRU_COUNT; i++) {
		struct iw_list *l = iw_list_first(&c->lru[i]);

		if (!l)
			continue;

		struct flow *f = iw_container_of(l, struct flow, link);

		if (i != LRU_CLOSED) {
			c->totals.forgotten++;
			report_forgotten(c, f);
		}
		iw_cap_flow_close(c, f);
		return;
	}
}

void iw_cap_flow_name(struct flow *f)
{
	for (int i = 0; i < 2; i++) {
		struct iw_text t;

		iw_text_init(&t, f->pub.name[i], sizeof(f->pub.name[i]));
		iw_cap_end_print(&t, &f->pub.end[i]);
	}
}

struct flow *iw_cap_flow_add(struct iw_cap *c, enum iw_cap_over over,
			     const struct iw_packet_end end[2])
{
	struct flow *f = iw_mem_alloc(c->mem, sizeof(*f));

	if (!f)
		return NULL;
	if (c->flows >= c->limits.flows)
		make_room(c);
	f->pub = (struct iw_cap_flow){
		.id = c->next_id++, .over = over, .end = { end[0], end[1] }, .initiator = -1
	};
	for (int d = 0; d < 2; d++)
		iw_cap_queue_init(&f->dir[d].queue);
	f->bucket = bucket_of(c, end);
	f->hash_next = c->bucket[f->bucket];
	c->bucket[f->bucket] = f;
	iw_list_init(&f->link);
	iw_list_add_tail(&c->lru[LRU_PLAIN], &f->link);
	c->flows++;
	c->totals.flows++;
	return f;
}

void iw_cap_flow_touch(struct iw_cap *c, struct flow *f)
{
	bool closed = f->closed || f->reset_reported ||
		      (f->dir[0].fin_reported && f->dir[1].fin_reported);

	iw_list_del(&f->link);
	iw_list_add_tail(&c->lru[closed               ? LRU_CLOSED
				 : f->mpa || f->assoc ? LRU_IWARP
						      : LRU_PLAIN],
			 &f->link);
}

void iw_cap_flow_close(struct iw_cap *c, struct flow *f)
{
	struct flow **p = &c->bucket[f->bucket];

	while (*p != f)
		p = &(*p)->hash_next;
	*p = f->hash_next;
	iw_list_del(&f->link);
	iw_list_add_tail(&c->closing, &f->link);
	f->flush = f->closing = true;
	c->flows--;
}

void iw_cap_flow_free(struct iw_cap *c, struct flow *f)
{
	iw_list_del(&f->link);
	/* iw_cap_finish() may close the flow of a frame whose events were not all fetched. */
	if (c->cur == f)
		c->cur = NULL;
	iw_mem_free(c->mem, f, sizeof(*f));
}
