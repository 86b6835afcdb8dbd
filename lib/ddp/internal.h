/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to lib/ddp: the stream, its queues, and the order of its segments. */
#ifndef IW_DDP_INTERNAL_H
#define IW_DDP_INTERNAL_H

#include "ddp/ddp.h"

struct untagged_buf {
	void *base;
	uint64_t cookie;
	uint32_t cap;
};

/*
 * The Untagged Buffers of one QN: a ring of those that are posted and not yet delivered. The oldest
 * one serves MSN `first`, the next one first + 1, and so on modulo 2^32. So one subtraction and one
 * comparison show whether an MSN has a buffer, even if MSNs wrap.
 */
struct queue {
	struct untagged_buf *ring; /* size places, a power of two; NULL if the QN is not valid */
	uint32_t size;
	uint32_t depth;    /* most buffers at once */
	uint32_t head;     /* place of the oldest buffer */
	uint32_t posted;   /* buffers in the ring */
	uint32_t first;    /* MSN of the oldest, and of the next message to be delivered */
	uint32_t next_out; /* MSN of the next message sent */
};

/*
 * Returns the distance of the MSN from the next one to be delivered, modulo 2^32: an MSN that was
 * delivered before is far ahead.
 */
static inline uint32_t queue_ahead(const struct queue *q, uint32_t msn)
{
	return msn - q->first;
}

static inline struct untagged_buf *queue_buf(const struct queue *q, uint32_t ahead)
{
	return &q->ring[(q->head + ahead) & (q->size - 1)];
}

/* Removes the oldest buffer. The next one, posted or not, serves the next MSN. */
struct untagged_buf iw_ddp_take_buf(struct queue *q);

/* An early segment. Its header is stored encoded, because that is smaller than a struct iw_ddp. */
struct early {
	uint32_t seq;  /* the low 32 bits of its number, which are unique within early_max */
	uint32_t next; /* in its chain: see early.c */
	uint32_t len;  /* octets of payload */
	uint8_t hdr[IW_DDP_HDR_MAX];
};

/* early.c: all early segments. */
struct early_set {
	/* size entries, then size chain heads, in one allocation; NULL: nothing was early yet */
	struct early *entry;
	uint32_t size;  /* 0, or a power of two */
	uint32_t held;  /* entries in use */
	uint32_t spare; /* chain of the free entries */
};
/* Returns the early segment with that number (owned by s). NULL: it is not held. */
struct early *iw_ddp_early_find(const struct early_set *s, uint64_t seq);
/* Adds a segment that is not held yet. The caller fills in hdr and len. NULL: no memory. */
struct early *iw_ddp_early_add(struct early_set *s, const struct iw_mem *mem, uint64_t seq);
/* Removes a segment that is held. */
void iw_ddp_early_remove(struct early_set *s, const struct iw_mem *mem, uint64_t seq);
void iw_ddp_early_free(struct early_set *s, const struct iw_mem *mem);

/* The current message in the sender's order, between its first and its L segment. */
struct under_way {
	bool open;
	bool tagged;
	uint8_t opcode;  /* tagged */
	uint32_t stag;   /* tagged: of the segments with payload so far */
	uint32_t qn;     /* untagged; its MSN is the queue's first */
	uint64_t octets; /* payload so far */
	uint64_t low;    /* tagged: lowest TO of payload */
	uint64_t high;   /* highest end of payload: TO or MO + length */
	bool scattered;  /* tagged: a payload did not begin where the previous one ended */
};

struct iw_ddp_stream {
	struct iw_ddp_cfg cfg;
	bool failed; /* reception has stopped */
	struct queue queues[IW_DDP_QUEUES];

	uint64_t next_seq; /* number of the next segment in the sender's order */
	struct under_way msg;
	bool complete; /* msg is complete and not delivered; its L segment is `last` */
	struct iw_ddp last;
	size_t last_len;

	struct early_set early;
};

/* Returns NULL if the stream has no such queue. */
static inline struct queue *queue_of(struct iw_ddp_stream *d, uint32_t qn)
{
	return qn < IW_DDP_QUEUES && d->queues[qn].depth > 0 ? &d->queues[qn] : NULL;
}

/*
 * The checks and faults that do not depend on order, for iw_ddp_check and iw_ddp_in_order.
 * iw_ddp_fault_qn sets the fault of a segment whose QN the stream does not have.
 */
int iw_ddp_check_version(const struct iw_ddp_stream *d, const struct iw_ddp *h,
			 struct iw_fault *why);
int iw_ddp_fault_qn(const struct iw_ddp_stream *d, const struct iw_ddp *h, struct iw_fault *why);

#endif
