/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "arrival.h"

#include <stdlib.h>
#include <string.h>

/* --- the position of a segment ---------------------------------------------------------------- */

bool number_of(uint64_t *number, uint64_t next, uint16_t ssn)
{
	/* Modulo 2^16, then from 0 .. 65535 to -32768 .. 32767. */
	int16_t ahead = (int16_t)(uint16_t)(ssn - next);

	if (ahead < 0 && next < (uint64_t)(-ahead))
		return false;
	*number = next + (uint64_t)(int64_t)ahead;
	return true;
}

/* --- SCTP ------------------------------------------------------------------------------------- */

struct region {
	uint32_t stag;
	uint64_t to;
	uint8_t *memory;
	size_t len;
};

/* The place in the window for the number of a segment. Of the segment only the header is kept. */
struct early {
	bool arrived;
	struct segment header;
};

struct receiver {
	struct early *early; /* `window` places: that of a number is number % window */
	uint32_t window;
	uint64_t next;  /* the lowest number that has not arrived */
	uint32_t count; /* segments in `early` */
	bool stopped;

	struct delivery message; /* the one that `next` belongs to, as far as it was walked */
	bool begun;

	struct region regions[REGIONS_MAX];
	size_t nregions;
	struct region buffers[BUFFERS_MAX]; /* that of an MSN is MSN % BUFFERS_MAX */
	uint32_t oldest, newest;            /* MSNs: delivered next, posted next */
};

struct receiver *receiver_new(uint32_t window)
{
	struct receiver *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->early = calloc(window, sizeof(*r->early));
	if (!r->early) {
		free(r);
		return NULL;
	}
	r->window = window;
	r->next = 1;
	r->oldest = r->newest = 1;
	return r;
}

void receiver_free(struct receiver *r)
{
	if (!r)
		return;
	free(r->early);
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
	if (r->newest - r->oldest == BUFFERS_MAX)
		return false;
	r->buffers[r->newest++ % BUFFERS_MAX] = (struct region){ .memory = memory, .len = len };
	return true;
}

static const struct region *tagged_buffer(const struct receiver *r, uint32_t stag)
{
	for (size_t i = 0; i < r->nregions; i++)
		if (r->regions[i].stag == stag)
			return &r->regions[i];
	return NULL;
}

static const struct region *untagged_buffer(const struct receiver *r, const struct segment *s)
{
	if (s->qn != 0 || s->msn - r->oldest >= r->newest - r->oldest)
		return NULL;
	return &r->buffers[s->msn % BUFFERS_MAX];
}

/* Checks the segment, and copies its payload to where it belongs. */
static enum arrival place(struct receiver *r, const struct segment *s)
{
	const struct region *buffer;
	uint64_t at = s->tagged ? s->to : s->mo;

	if (s->tagged && s->len == 0)
		return ARRIVAL_PLACED;
	buffer = s->tagged ? tagged_buffer(r, s->stag) : untagged_buffer(r, s);
	if (!buffer)
		return s->tagged ? ARRIVAL_STAG : ARRIVAL_NO_BUFFER;
	/* Subtractions of smaller values only: no sum can wrap. */
	if (at < buffer->to || at - buffer->to > buffer->len)
		return ARRIVAL_BOUNDS;
	at -= buffer->to;
	if (s->len > buffer->len - at)
		return ARRIVAL_BOUNDS;
	if (s->len > 0)
		memcpy(buffer->memory + at, s->payload, s->len);
	return ARRIVAL_PLACED;
}

static void remember(struct receiver *r, uint64_t number, const struct segment *s)
{
	struct early *e = &r->early[number % r->window];

	e->arrived = true;
	e->header = *s;
	e->header.payload = NULL; /* borrowed, and already placed */
	r->count++;
}

enum arrival receiver_arrive(struct receiver *r, const struct segment *s)
{
	enum arrival result;
	uint64_t number;

	if (r->stopped)
		return ARRIVAL_STOPPED;
	if (!number_of(&number, r->next, s->ssn) || number >= r->next + r->window)
		result = ARRIVAL_BEYOND;
	else if (number < r->next || r->early[number % r->window].arrived)
		return ARRIVAL_DUPLICATE;
	else
		result = place(r, s);
	if (result == ARRIVAL_PLACED)
		remember(r, number, s);
	else
		r->stopped = true;
	return result;
}

/* Adds the next segment to the message. The message begins where the first one does. */
static void extend(struct receiver *r, const struct segment *s)
{
	struct delivery *m = &r->message;

	if (!r->begun)
		*m = (struct delivery){ s->tagged, s->stag, s->to, s->msn, 0 };
	m->len = s->tagged ? m->len + s->len : (uint64_t)s->mo + s->len;
	r->begun = !s->last;
}

bool receiver_deliver(struct receiver *r, struct delivery *out)
{
	struct early *e;

	while ((e = &r->early[r->next % r->window])->arrived) {
		extend(r, &e->header);
		e->arrived = false;
		r->count--;
		r->next++;
		if (!e->header.last)
			continue;
		*out = r->message;
		if (!out->tagged)
			r->oldest++; /* its buffer belongs to the application now */
		return true;
	}
	return false;
}

uint32_t receiver_early(const struct receiver *r)
{
	return r->count;
}

/* --- TCP -------------------------------------------------------------------------------------- */

struct stream {
	uint8_t *octets; /* that with sequence number q is at (q - first) modulo room */
	bool *present;
	size_t room;
	size_t begin;  /* place of the next octet to be read */
	uint32_t next; /* its sequence number */
	size_t kept;   /* octets that are present */
};

struct stream *stream_new(uint32_t first, size_t room)
{
	struct stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->octets = malloc(room);
	s->present = calloc(room, sizeof(*s->present));
	s->room = room;
	s->next = first;
	if (!s->octets || !s->present) {
		stream_free(s);
		return NULL;
	}
	return s;
}

void stream_free(struct stream *s)
{
	if (!s)
		return;
	free(s->octets);
	free(s->present);
	free(s);
}

size_t stream_arrive(struct stream *s, uint32_t seq, const uint8_t *octets, size_t len)
{
	size_t before = s->kept;

	for (size_t i = 0; i < len; i++) {
		/* An octet before `next` becomes a very large number: it is outside too. */
		uint32_t ahead = seq + (uint32_t)i - s->next;
		size_t place = (s->begin + ahead) % s->room;

		if (ahead >= s->room || s->present[place])
			continue;
		s->octets[place] = octets[i];
		s->present[place] = true;
		s->kept++;
	}
	return s->kept - before;
}

size_t stream_read(struct stream *s, uint8_t *to, size_t cap)
{
	size_t n = 0;

	while (n < cap && s->present[s->begin]) {
		to[n++] = s->octets[s->begin];
		s->present[s->begin] = false;
		s->begin = (s->begin + 1) % s->room;
		s->next++;
		s->kept--;
	}
	return n;
}

size_t stream_held(const struct stream *s)
{
	size_t readable = 0;

	while (readable < s->room && s->present[(s->begin + readable) % s->room])
		readable++;
	return s->kept - readable;
}

/* --- what it costs ---------------------------------------------------------------------------- */

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

size_t delays(struct delay *out, const struct journey *segments, size_t n, enum transport over)
{
	uint64_t delivered[STREAMS_MAX] = { 0 }; /* the latest delivery on each stream */
	uint64_t placed = 0, sent = 0;
	size_t messages = 0;
	bool begins = true;

	for (size_t i = 0; i < n; i++) {
		const struct journey *s = &segments[i];

		if (begins) {
			sent = s->sent;
			/* Over TCP nothing is placed before all that was sent earlier. */
			placed = over == OVER_TCP ? placed : 0;
		}
		placed = later(placed, s->arrived);
		begins = s->last;
		if (!s->last)
			continue;
		delivered[s->stream] = later(delivered[s->stream], placed);
		out[messages++] = (struct delay){ placed - sent, delivered[s->stream] - sent };
	}
	return messages;
}

/* Octets that are held just after the arrival of a segment. */
static uint64_t held_at(const struct journey *segments, size_t n, uint64_t now)
{
	uint64_t placed = 0, held = 0;

	for (size_t i = 0; i < n; i++) {
		placed = later(placed, segments[i].arrived);
		if (segments[i].arrived <= now && placed > now)
			held += segments[i].octets;
	}
	return held;
}

uint64_t held_most(const struct journey *segments, size_t n, enum transport over)
{
	uint64_t most = 0;

	/* Over SCTP each segment is placed when it arrives. */
	for (size_t i = 0; i < n && over == OVER_TCP; i++)
		most = later(most, held_at(segments, n, segments[i].arrived));
	return most;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

struct summary summarize(const uint64_t *values, size_t n)
{
	struct summary s = { 0 };
	uint64_t *sorted = n > 0 ? malloc(n * sizeof(*sorted)) : NULL;
	uint64_t sum = 0;

	if (!sorted)
		return s;
	memcpy(sorted, values, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare);
	for (size_t i = 0; i < n; i++)
		sum += sorted[i];
	s.mean = sum / n;
	/* The value number ceil(0.99 n), counted from 1. */
	s.p99 = sorted[(n * 99 + 99) / 100 - 1];
	free(sorted);
	return s;
}
