/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Your untagged queues. The contract of each function is in untagged.h; the steps are in README.md. */
#include <stdlib.h>
#include <string.h>

#include "untagged.h"

/*
 * A proposal: change these structs as you like. The ring of a queue holds its posted buffers; the
 * one at `head` is for the MSN `first`, the one after it for first + 1, and so on. So the MSN of a
 * segment gives the place of its buffer by a subtraction, without a search.
 */
struct buffer {
	uint8_t *memory;
	uint32_t size;
	uint64_t cookie;
	/* TODO step `whole`: what untagged_deliver() needs to know. */
	/* TODO step `duplicates`: which octets have arrived. A number of octets is not enough. */
};

struct queue {
	uint32_t depth;  /* most buffers at once; 0: there is no such queue */
	uint32_t first;  /* MSN of the oldest buffer, and of the next message to be delivered */
	uint32_t head;   /* place of the oldest buffer in the ring */
	uint32_t posted; /* buffers in the ring */
	struct buffer ring[UNTAGGED_DEPTH_MAX];
};

struct untagged {
	struct queue queues[UNTAGGED_QUEUES];
	/* TODO steps `errors` and `owner`: has reception ended? */
};

struct untagged *untagged_new(const uint32_t depth[UNTAGGED_QUEUES],
			      const uint32_t first_msn[UNTAGGED_QUEUES])
{
	/* TODO step `buffers`: allocate the receiver and keep depth and first_msn. */
	return NULL;
}

void untagged_free(struct untagged *u)
{
	/* TODO steps `buffers` and `owner`: free all that you have allocated. */
}

bool untagged_post(struct untagged *u, uint32_t qn, uint8_t *memory, uint32_t size, uint64_t cookie)
{
	/* TODO step `buffers`: check the queue and its depth, add the buffer after the newest. */
	return false;
}

int untagged_receive(struct untagged *u, const uint8_t *segment, size_t len)
{
	/*
	 * TODO step `whole`: read the header, find the buffer, copy the payload to MO.
	 * TODO steps `segments`, `order`, `duplicates`: note which octets of the message have arrived.
	 * TODO step `errors`: all checks, before anything is written.
	 */
	return UNTAGGED_DROPPED;
}

bool untagged_deliver(struct untagged *u, uint32_t qn, struct untagged_message *m)
{
	/* TODO step `whole`: if the oldest buffer has a complete message, return it and advance. */
	return false;
}

bool untagged_flush(struct untagged *u, uint32_t qn, uint64_t *cookie)
{
	/* TODO step `buffers`: return the oldest buffer, complete or not. */
	return false;
}
