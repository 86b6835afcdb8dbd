/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Solution of lab 3. */
#include <stdlib.h>
#include <string.h>

#include "untagged.h"

/* The octets begin to end - 1 have arrived. */
struct range {
	uint32_t begin, end;
	struct range *next;
};

struct buffer {
	uint8_t *memory;
	uint32_t size;
	uint64_t cookie;
	struct range *arrived; /* in order, with a hole between two of them */
	bool has_end;          /* the L segment has arrived */
	uint32_t end;          /* then: octets of the message */
	uint8_t control;       /* of the latest segment, as is rsvdulp */
	uint32_t rsvdulp;
};

/* The buffer at `head` is for the MSN `first`, the one after it for first + 1, and so on. */
struct queue {
	uint32_t depth;
	uint32_t first;
	uint32_t head;
	uint32_t posted;
	struct buffer ring[UNTAGGED_DEPTH_MAX];
};

struct untagged {
	struct queue queues[UNTAGGED_QUEUES];
	bool failed;  /* an error: segments are dropped */
	bool flushed; /* reception has ended, and delivery too */
};

/* --- ranges ----------------------------------------------------------------------------------- */

static bool is_new(const struct range *list, uint32_t begin, uint32_t end)
{
	while (list && list->end < begin)
		list = list->next;
	return begin < end && (!list || begin < list->begin || end > list->end);
}

/* Adds octets of which some are new. False: no memory. */
static bool add(struct range **list, uint32_t begin, uint32_t end)
{
	struct range *r;

	while (*list && (*list)->end < begin)
		list = &(*list)->next;
	r = *list;
	if (!r || end < r->begin) {
		r = malloc(sizeof(*r));
		if (!r)
			return false;
		*r = (struct range){ .begin = begin, .end = end, .next = *list };
		*list = r;
		return true;
	}
	if (begin < r->begin)
		r->begin = begin;
	if (end > r->end)
		r->end = end;
	/* The longer range may now reach the next ones. */
	while (r->next && r->next->begin <= r->end) {
		struct range *joined = r->next;

		if (joined->end > r->end)
			r->end = joined->end;
		r->next = joined->next;
		free(joined);
	}
	return true;
}

/* Returns the end of the highest octet that has arrived. */
static uint32_t highest(const struct range *list)
{
	while (list && list->next)
		list = list->next;
	return list ? list->end : 0;
}

static bool is_complete(const struct buffer *b)
{
	const struct range *r = b->arrived;

	if (!b->has_end)
		return false;
	return b->end == 0 || (r && r->begin == 0 && r->end == b->end);
}

static void forget(struct buffer *b)
{
	while (b->arrived) {
		struct range *r = b->arrived;

		b->arrived = r->next;
		free(r);
	}
}

/* --- queues ----------------------------------------------------------------------------------- */

struct untagged *untagged_new(const uint32_t depth[UNTAGGED_QUEUES],
			      const uint32_t first_msn[UNTAGGED_QUEUES])
{
	struct untagged *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	for (uint32_t qn = 0; qn < UNTAGGED_QUEUES; qn++) {
		u->queues[qn].depth = depth[qn];
		u->queues[qn].first = first_msn[qn];
	}
	return u;
}

static struct queue *queue_of(struct untagged *u, uint32_t qn)
{
	return qn < UNTAGGED_QUEUES && u->queues[qn].depth > 0 ? &u->queues[qn] : NULL;
}

/* ahead: 0 is the oldest buffer. */
static struct buffer *buffer_at(struct queue *q, uint32_t ahead)
{
	return &q->ring[(q->head + ahead) % UNTAGGED_DEPTH_MAX];
}

/* The oldest buffer returns to its owner; the next one is for the next MSN. */
static void remove_oldest(struct queue *q)
{
	forget(buffer_at(q, 0));
	q->head = (q->head + 1) % UNTAGGED_DEPTH_MAX;
	q->first++;
	q->posted--;
}

void untagged_free(struct untagged *u)
{
	if (!u)
		return;
	for (uint32_t qn = 0; qn < UNTAGGED_QUEUES; qn++)
		while (u->queues[qn].posted > 0)
			remove_oldest(&u->queues[qn]);
	free(u);
}

bool untagged_post(struct untagged *u, uint32_t qn, uint8_t *memory, uint32_t size, uint64_t cookie)
{
	struct queue *q = queue_of(u, qn);

	if (!q || q->posted == q->depth || u->flushed)
		return false;
	*buffer_at(q, q->posted) = (struct buffer){
		.memory = memory,
		.size = size,
		.cookie = cookie,
	};
	q->posted++;
	return true;
}

/* --- segments --------------------------------------------------------------------------------- */

struct header {
	bool last;
	uint8_t version, control;
	uint32_t rsvdulp, qn, msn, mo;
};

static uint32_t read_u32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* RFC 5041 4.1 and 4.3. */
static struct header read_header(const uint8_t *segment)
{
	return (struct header){
		.last = segment[0] & 0x40,
		.version = segment[0] & 0x03,
		.control = segment[1],
		.rsvdulp = read_u32(segment + 2),
		.qn = read_u32(segment + 6),
		.msn = read_u32(segment + 10),
		.mo = read_u32(segment + 14),
	};
}

/* The checks of RFC 5041 7.1. *b: the buffer of the segment. */
static int check(struct untagged *u, const struct header *h, size_t len, struct buffer **b)
{
	struct queue *q = queue_of(u, h->qn);
	uint32_t ahead, end;

	if (h->version != 1)
		return UNTAGGED_VERSION;
	if (!q)
		return UNTAGGED_QN;
	/* Modulo 2^32, so that an MSN that was delivered before is far ahead. */
	ahead = h->msn - q->first;
	if (ahead >= q->posted)
		return ahead < q->depth ? UNTAGGED_NO_BUFFER : UNTAGGED_MSN;
	*b = buffer_at(q, ahead);
	if (h->mo > (*b)->size)
		return UNTAGGED_MO;
	/* A subtraction: MO + len could exceed 32 bits. */
	if (len > (*b)->size - h->mo)
		return UNTAGGED_TOO_LONG;
	/* RFC 5041 4.1: the L segment has the highest MO, so no octet is after its end. */
	end = h->mo + (uint32_t)len;
	if ((*b)->has_end && (end > (*b)->end || (h->last && end != (*b)->end)))
		return UNTAGGED_MO;
	if (h->last && end < highest((*b)->arrived))
		return UNTAGGED_MO;
	return UNTAGGED_PLACED;
}

static int place(struct buffer *b, const struct header *h, const uint8_t *payload, uint32_t len)
{
	bool new_octets = is_new(b->arrived, h->mo, h->mo + len);
	bool new_end = h->last && !b->has_end;

	if (new_octets) {
		if (!add(&b->arrived, h->mo, h->mo + len))
			return UNTAGGED_LOCAL;
		memcpy(b->memory + h->mo, payload, len);
	}
	if (new_end) {
		b->has_end = true;
		b->end = h->mo + len;
	}
	b->control = h->control;
	b->rsvdulp = h->rsvdulp;
	return new_octets || new_end ? UNTAGGED_PLACED : UNTAGGED_NOTHING_NEW;
}

static int check_and_place(struct untagged *u, const uint8_t *segment, size_t len)
{
	struct header h;
	struct buffer *b;
	int result;

	if (len < UNTAGGED_HEADER)
		return UNTAGGED_LOCAL;
	h = read_header(segment);
	len -= UNTAGGED_HEADER;
	result = check(u, &h, len, &b);
	if (result != UNTAGGED_PLACED)
		return result;
	return place(b, &h, segment + UNTAGGED_HEADER, (uint32_t)len);
}

int untagged_receive(struct untagged *u, const uint8_t *segment, size_t len)
{
	int result;

	if (u->failed || u->flushed)
		return UNTAGGED_DROPPED;
	result = check_and_place(u, segment, len);
	u->failed = result >= UNTAGGED_LOCAL;
	return result;
}

/* --- delivery --------------------------------------------------------------------------------- */

bool untagged_deliver(struct untagged *u, uint32_t qn, struct untagged_message *m)
{
	struct queue *q = queue_of(u, qn);
	struct buffer *b;

	if (!q || q->posted == 0 || u->flushed)
		return false;
	b = buffer_at(q, 0);
	if (!is_complete(b))
		return false;
	*m = (struct untagged_message){
		.cookie = b->cookie,
		.memory = b->memory,
		.msn = q->first,
		.length = b->end,
		.control = b->control,
		.rsvdulp = b->rsvdulp,
	};
	remove_oldest(q);
	return true;
}

bool untagged_flush(struct untagged *u, uint32_t qn, uint64_t *cookie)
{
	struct queue *q = queue_of(u, qn);

	u->flushed = true;
	if (!q || q->posted == 0)
		return false;
	*cookie = buffer_at(q, 0)->cookie;
	remove_oldest(q);
	return true;
}
