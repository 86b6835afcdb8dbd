/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Your module. The contract of each function is in arrival.h, the steps are in README.md. */
#include "arrival.h"

#include <stdlib.h>
#include <string.h>

/* --- the position of a segment ---------------------------------------------------------------- */

bool number_of(uint64_t *number, uint64_t next, uint16_t ssn)
{
	/* TODO step 1: how far is ssn ahead of next, modulo 2^16? Is it behind? */
	*number = 0;
	return false;
}

/* --- SCTP ------------------------------------------------------------------------------------- */

/* Given: the buffers. */
struct region {
	uint32_t stag;
	uint64_t to;
	uint8_t *memory;
	size_t len;
};

struct receiver {
	uint32_t window;
	/*
	 * TODO steps 2, 3 and 5: which segments have arrived, and what delivery needs of them. The
	 * number of segments is unlimited, that of early ones is not.
	 */

	struct region regions[REGIONS_MAX];
	size_t nregions;
	struct region buffers[BUFFERS_MAX]; /* that of an MSN is MSN % BUFFERS_MAX */
	uint32_t oldest, newest; /* MSNs: of the message to be delivered next, of the next buffer */
};

struct receiver *receiver_new(uint32_t window)
{
	struct receiver *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->window = window;
	r->oldest = r->newest = 1;
	return r;
}

void receiver_free(struct receiver *r)
{
	free(r);
}

bool receiver_register(struct receiver *r, uint32_t stag, uint64_t to, uint8_t *memory, size_t len)
{
	if (r->nregions == REGIONS_MAX)
		return false;
	r->regions[r->nregions++] = (struct region){ stag, to, memory, len };
	return true;
}

bool receiver_post(struct receiver *r, uint8_t *memory, size_t len)
{
	/* `oldest` must be increased when a message is delivered (step 3). */
	if (r->newest - r->oldest == BUFFERS_MAX)
		return false;
	r->buffers[r->newest++ % BUFFERS_MAX] = (struct region){ .memory = memory, .len = len };
	return true;
}

enum arrival receiver_arrive(struct receiver *r, const struct segment *s)
{
	/* TODO step 2: find the buffer, place the payload at once. Steps 4 to 6: the checks. */
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

/* --- TCP -------------------------------------------------------------------------------------- */

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

/* --- what it costs ---------------------------------------------------------------------------- */

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
