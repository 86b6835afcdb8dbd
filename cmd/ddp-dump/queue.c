// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sorted queues of data that arrived out of order: doubly linked skip lists, and blocks for their
 * elements over SCTP. */
#include "ddp-dump/internal.h"

static struct queued *queued_of(struct iw_list *l)
{
	return iw_container_of(l, struct queued, link);
}

void iw_cap_queue_init(struct queue *q)
{
	iw_list_init(&q->list);
	for (unsigned i = 0; i < LEVELS; i++)
		iw_list_init(&q->level[i]);
}

static bool is_after(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b) > 0;
}

/* path: in each level, the last element whose key is at most key, or the head of the level. */
static struct iw_list *seek(struct iw_cap *c, struct queue *q, uint64_t key,
			    struct iw_list *path[static LEVELS])
{
	struct queued *e = NULL;
	struct iw_list *at;

	for (unsigned i = LEVELS; i-- > 0;) {
		at = e ? &e->level[i] : &q->level[i];
		for (; at->next != &q->level[i]; at = at->next, c->steps++) {
			struct queued *next =
				iw_container_of(at->next - i, struct queued, level[0]);

			if (is_after(next->key, key))
				break;
			e = next;
		}
		path[i] = at;
	}
	at = e ? &e->link : &q->list;
	for (; at->next != &q->list && !is_after(queued_of(at->next)->key, key); c->steps++)
		at = at->next;
	return at;
}

struct iw_list *iw_cap_queue_seek(struct iw_cap *c, struct queue *q, uint64_t key)
{
	struct iw_list *path[LEVELS];

	return seek(c, q, key, path);
}

static void insert(struct iw_list *at, struct iw_list *l)
{
	/* iw_list_add_tail() inserts before its first argument. */
	iw_list_add_tail(at->next, l);
}

void iw_cap_queue_add(struct iw_cap *c, struct queue *q, struct iw_list *at, struct queued *e,
		      uint64_t key)
{
	struct iw_list *path[LEVELS];

	/* xorshift64 */
	c->level_rng ^= c->level_rng << 13;
	c->level_rng ^= c->level_rng >> 7;
	c->level_rng ^= c->level_rng << 17;
	e->key = key;
	e->levels = 0;
	while (e->levels < LEVELS && (c->level_rng >> (8 + 2 * e->levels) & 3) == 0)
		e->levels++;
	if (e->levels)
		(void)seek(c, q, key, path);
	for (unsigned i = 0; i < e->levels; i++)
		insert(path[i], &e->level[i]);
	insert(at, &e->link);
}

void iw_cap_queue_del(struct queued *e)
{
	for (unsigned i = 0; i < e->levels; i++)
		iw_list_del(&e->level[i]);
	iw_list_del(&e->link);
}

struct held *iw_cap_held_new(struct iw_cap *c, struct sctp_dir *w)
{
	struct held *h = w->blocks < c->dir_blocks ? iw_pool_get(&c->pool) : NULL;

	w->blocks += h != NULL;
	return h;
}

void iw_cap_held_free(struct iw_cap *c, struct sctp_dir *w, struct held *h)
{
	iw_cap_queue_del(&h->q);
	iw_pool_put(&c->pool, h);
	w->blocks--;
}
