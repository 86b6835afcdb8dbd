/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Your module. The contract of each function is in arrival.h, the steps are in README.md. */
#include "arrival.h"

#include <stdlib.h>
#include <string.h>

/* --- the position of a segment --------------------------------------------------------------- */

bool number_of(uint64_t *number, uint64_t next, uint16_t ssn)
{
	/* TODO step 1: how far is ssn ahead of next, modulo 2^16? Is it behind? */
	*number = 0;
	return false;
}

/* --- SCTP ------------------------------------------------------------------------------------ */

struct receiver {
	uint32_t window;
	/* TODO step 2: the buffers; which segments have arrived; what delivery needs of them. */
};

struct receiver *receiver_new(uint32_t window)
{
	/* TODO step 2. */
	return NULL;
}

void receiver_free(struct receiver *r)
{
	/* TODO step 2. */
}

bool receiver_register(struct receiver *r, uint32_t stag, uint64_t to, uint8_t *memory, size_t len)
{
	/* TODO step 2. */
	return false;
}

bool receiver_post(struct receiver *r, uint8_t *memory, size_t len)
{
	/* TODO step 2. */
	return false;
}

enum arrival receiver_arrive(struct receiver *r, const struct segment *s)
{
	/* TODO step 2: place the payload at once. Steps 4 to 6: the checks before it. */
	return ARRIVAL_STOPPED;
}

bool receiver_deliver(struct receiver *r, struct delivery *out)
{
	/* TODO step 3: walk over the segments that are next in order, up to an L bit. */
	return false;
}

uint32_t receiver_early(const struct receiver *r)
{
	/* TODO step 3. */
	return 0;
}

/* --- TCP ------------------------------------------------------------------------------------- */

struct stream {
	size_t room;
	/* TODO step 7: a ring of octets, and which of them are present. */
};

struct stream *stream_new(uint32_t first, size_t room)
{
	/* TODO step 7. */
	return NULL;
}

void stream_free(struct stream *s)
{
	/* TODO step 7. */
}

size_t stream_arrive(struct stream *s, uint32_t seq, const uint8_t *octets, size_t len)
{
	/* TODO step 7: keep the octets that are in the window and not present yet. */
	return 0;
}

size_t stream_read(struct stream *s, uint8_t *to, size_t cap)
{
	/* TODO step 7: up to the first octet that is missing. */
	return 0;
}

size_t stream_held(const struct stream *s)
{
	/* TODO step 7. */
	return 0;
}

/* --- what it costs --------------------------------------------------------------------------- */

size_t delays(struct delay *out, const struct journey *segments, size_t n, enum transport over)
{
	/* TODO step 8. */
	return 0;
}

uint64_t held_most(const struct journey *segments, size_t n, enum transport over)
{
	/* TODO step 9. */
	return 0;
}

struct summary summarize(const uint64_t *values, size_t n)
{
	struct summary s = { 0 };

	/* TODO step 9. */
	return s;
}
