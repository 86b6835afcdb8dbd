/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions that the grader can call. You need not read or change this file. */
#include <string.h>

#include "arrival.h"
#include "harness.h"

enum {
	CHUNK_MAX = 4096,     /* octets */
	MEMORIES_MAX = 512,   /* buffers of a receiver, those of delivered messages included */
	DELIVERIES_MAX = 256, /* after one segment */
};

static struct receiver *receiver;
static struct stream *stream;
static struct {
	uint8_t *at;
	size_t len;
} memories[MEMORIES_MAX];
static size_t nmemories;

/* --- step 1 ----------------------------------------------------------------------------------- */

static void call_number_of(struct message *in, struct message *out)
{
	uint64_t next = get_u64(in), number = 0;
	uint16_t ssn = get_u16(in);
	bool valid = number_of(&number, next, ssn);

	put_u8(out, valid);
	put_u64(out, valid ? number : 0);
}

/* --- steps 2 to 6 ----------------------------------------------------------------------------- */

static void end_receiver(void)
{
	receiver_free(receiver);
	receiver = NULL;
	while (nmemories)
		memory_free(memories[--nmemories].at);
}

static void call_receiver_new(struct message *in, struct message *out)
{
	end_receiver();
	receiver = receiver_new(get_u32(in));
	put_u8(out, receiver != NULL);
}

static void call_receiver_free(struct message *in, struct message *out)
{
	(void)in;
	(void)out;
	end_receiver();
}

/* Returns NULL if there is no receiver, or there are too many. */
static uint8_t *new_memory(size_t len)
{
	if (!receiver || nmemories == MEMORIES_MAX)
		return NULL;
	memories[nmemories].at = memory_new(len);
	memories[nmemories].len = len;
	return memories[nmemories++].at;
}

static void call_receiver_register(struct message *in, struct message *out)
{
	uint32_t stag = get_u32(in);
	uint64_t to = get_u64(in);
	size_t len = get_u32(in);
	uint8_t *memory = new_memory(len);

	put_u8(out, memory && receiver_register(receiver, stag, to, memory, len));
}

static void call_receiver_post(struct message *in, struct message *out)
{
	size_t len = get_u32(in);
	uint8_t *memory = new_memory(len);

	put_u8(out, memory && receiver_post(receiver, memory, len));
}

static void put_deliveries(struct message *out)
{
	struct delivery found[DELIVERIES_MAX];
	uint32_t n = 0;

	memset(found, 0, sizeof(found));
	while (n < DELIVERIES_MAX && receiver_deliver(receiver, &found[n]))
		n++;
	put_u32(out, n);
	for (uint32_t i = 0; i < n; i++) {
		put_u8(out, found[i].tagged);
		put_u32(out, found[i].stag);
		put_u64(out, found[i].to);
		put_u32(out, found[i].msn);
		put_u64(out, found[i].len);
	}
}

/*
 * Passes chunks to the receiver, one after the other. Each is at the end of the memory `room`, so
 * that a read after its last octet crashes. It is overwritten as soon as receiver_arrive() returns.
 */
static void call_arrive(struct message *in, struct message *out)
{
	bool deliver = get_u8(in); /* step 2 does not need receiver_deliver() */
	uint32_t n = get_u32(in);
	uint8_t *room = memory_new(CHUNK_MAX);

	for (uint32_t i = 0; i < n; i++) {
		struct segment s;
		size_t len;
		const uint8_t *octets = get_octets(in, &len);
		uint8_t *chunk = room + CHUNK_MAX - len;
		bool valid = receiver && len <= CHUNK_MAX;

		if (valid)
			memcpy(chunk, octets, len);
		valid = valid && chunk_decode(&s, chunk, len);
		put_u8(out, valid);
		if (!valid)
			continue;
		put_u8(out, (uint8_t)receiver_arrive(receiver, &s));
		memset(chunk, 0xee, len);
		if (!deliver)
			continue;
		put_deliveries(out);
		put_u32(out, receiver_early(receiver));
	}
	memory_free(room);
}

/* Returns the octets of the buffers, in the order in which they were registered and posted. */
static void call_memories(struct message *in, struct message *out)
{
	bool intact = true;

	(void)in;
	put_u32(out, (uint32_t)nmemories);
	for (size_t i = 0; i < nmemories; i++) {
		intact = intact && memory_check(memories[i].at);
		put_octets(out, memories[i].at, memories[i].len);
	}
	put_u8(out, intact);
}

static void call_memory_part(struct message *in, struct message *out)
{
	uint32_t i = get_u32(in), at = get_u32(in), len = get_u32(in);
	bool valid = i < nmemories && at <= memories[i].len && len <= memories[i].len - at;

	put_octets(out, valid ? memories[i].at + at : NULL, valid ? len : 0);
}

/*
 * The speed test: a whole session, `rounds` times. The chunks are one after the other in `octets`,
 * each after its length (16 bits).
 */
static void call_session(struct message *in, struct message *out)
{
	uint32_t rounds = get_u32(in), window = get_u32(in), stag = get_u32(in), room = get_u32(in);
	size_t len;
	const uint8_t *octets = get_octets(in, &len);
	uint32_t placed = 0, delivered = 0;

	while (rounds--) {
		struct delivery d;
		uint8_t *memory;

		end_receiver();
		receiver = receiver_new(window);
		memory = new_memory(room);
		if (!memory || !receiver_register(receiver, stag, 0, memory, room))
			break;
		placed = delivered = 0;
		for (size_t at = 0; at < len; at += 2 + big_endian(octets + at, 2)) {
			struct segment s;

			chunk_decode(&s, octets + at + 2, big_endian(octets + at, 2));
			placed += receiver_arrive(receiver, &s) == ARRIVAL_PLACED;
			while (receiver_deliver(receiver, &d) && delivered < UINT16_MAX)
				delivered++;
		}
	}
	put_u32(out, placed);
	put_u32(out, delivered);
	put_octets(out, nmemories ? memories[0].at : NULL, nmemories ? memories[0].len : 0);
}

/* --- step 7 ----------------------------------------------------------------------------------- */

static void call_stream_new(struct message *in, struct message *out)
{
	uint32_t first = get_u32(in);

	stream_free(stream);
	stream = stream_new(first, get_u64(in));
	put_u8(out, stream != NULL);
}

static void call_stream_free(struct message *in, struct message *out)
{
	(void)in;
	(void)out;
	stream_free(stream);
	stream = NULL;
}

static void call_stream_arrive(struct message *in, struct message *out)
{
	uint32_t seq = get_u32(in);
	size_t len;
	const uint8_t *octets = get_octets(in, &len);
	uint8_t *copy = memory_copy(octets, len);

	put_u64(out, stream ? stream_arrive(stream, seq, copy, len) : 0);
	put_u64(out, stream ? stream_held(stream) : 0);
	memory_free(copy);
}

static void call_stream_read(struct message *in, struct message *out)
{
	size_t cap = get_u32(in);
	uint8_t *to = memory_new(cap);
	size_t n = stream ? stream_read(stream, to, cap) : 0;

	put_u8(out, memory_check(to) && n <= cap);
	put_octets(out, to, n <= cap ? n : 0);
	memory_free(to);
}

/* --- steps 8 and 9 ---------------------------------------------------------------------------- */

static struct journey *get_journeys(struct message *in, uint32_t n)
{
	struct journey *j = (struct journey *)memory_new(n * sizeof(*j));

	for (uint32_t i = 0; i < n; i++) {
		j[i].stream = get_u16(in);
		j[i].last = get_u8(in);
		j[i].octets = get_u32(in);
		j[i].sent = get_u64(in);
		j[i].arrived = get_u64(in);
	}
	return j;
}

static void call_delays(struct message *in, struct message *out)
{
	enum transport over = get_u8(in) ? OVER_TCP : OVER_SCTP;
	uint32_t n = get_u32(in), cap = get_u32(in);
	struct journey *j = get_journeys(in, n);
	/* Room for the messages alone, so that one too many crashes. */
	struct delay *d = (struct delay *)memory_new(cap * sizeof(*d));
	size_t messages = delays(d, j, n, over);

	put_u32(out, (uint32_t)messages);
	for (size_t i = 0; i < messages && i < cap; i++) {
		put_u64(out, d[i].placed);
		put_u64(out, d[i].delivered);
	}
	memory_free((uint8_t *)j);
	memory_free((uint8_t *)d);
}

static void call_held_most(struct message *in, struct message *out)
{
	enum transport over = get_u8(in) ? OVER_TCP : OVER_SCTP;
	uint32_t n = get_u32(in);
	struct journey *j = get_journeys(in, n);

	put_u64(out, held_most(j, n, over));
	memory_free((uint8_t *)j);
}

static void call_summarize(struct message *in, struct message *out)
{
	uint32_t n = get_u32(in);
	uint64_t *values = (uint64_t *)memory_new(n * sizeof(*values));
	struct summary s;

	for (uint32_t i = 0; i < n; i++)
		values[i] = get_u64(in);
	s = summarize(values, n);
	put_u64(out, s.mean);
	put_u64(out, s.p99);
	memory_free((uint8_t *)values);
}

const struct call calls[] = {
	{ "number_of", call_number_of },
	{ "receiver_new", call_receiver_new },
	{ "receiver_free", call_receiver_free },
	{ "receiver_register", call_receiver_register },
	{ "receiver_post", call_receiver_post },
	{ "receiver_arrive", call_arrive },
	{ "memories", call_memories },
	{ "memory_part", call_memory_part },
	{ "session", call_session },
	{ "stream_new", call_stream_new },
	{ "stream_free", call_stream_free },
	{ "stream_arrive", call_stream_arrive },
	{ "stream_read", call_stream_read },
	{ "delays", call_delays },
	{ "held_most", call_held_most },
	{ "summarize", call_summarize },
	{ NULL, NULL },
};
