/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The functions that the grader calls. This file has one receiver, and owns the buffers that are
 * posted on it.
 */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "untagged.h"

#define BUFFERS     (UNTAGGED_QUEUES * UNTAGGED_DEPTH_MAX)
#define NO_RECEIVER 0xffffffffu /* result of receive before untagged_new() */

struct owned {
	uint8_t *memory; /* NULL: the entry is free */
	uint32_t size;
	uint64_t cookie;
};

static struct untagged *receiver;
static struct owned buffers[BUFFERS];

static struct owned *find(uint64_t cookie)
{
	for (size_t i = 0; i < BUFFERS; i++)
		if (buffers[i].memory && buffers[i].cookie == cookie)
			return &buffers[i];
	return NULL;
}

static struct owned *spare(void)
{
	for (size_t i = 0; i < BUFFERS; i++)
		if (!buffers[i].memory)
			return &buffers[i];
	return NULL;
}

static void release(struct owned *b)
{
	memory_free(b->memory);
	b->memory = NULL;
}

/* The octets of a buffer, and whether those before it are unchanged. */
static void put_buffer(struct message *out, const struct owned *b)
{
	put_u8(out, !b || memory_check(b->memory));
	put_octets(out, b ? b->memory : NULL, b ? b->size : 0);
}

static void free_all(void)
{
	untagged_free(receiver);
	receiver = NULL;
	for (size_t i = 0; i < BUFFERS; i++)
		if (buffers[i].memory)
			release(&buffers[i]);
}

/* depth and first MSN (32 bits each) of queues 0 to 2 -> is there a receiver? (8) */
static void new (struct message *in, struct message *out)
{
	uint32_t depth[UNTAGGED_QUEUES], first_msn[UNTAGGED_QUEUES];

	free_all();
	for (size_t qn = 0; qn < UNTAGGED_QUEUES; qn++) {
		depth[qn] = get_u32(in);
		first_msn[qn] = get_u32(in);
	}
	receiver = untagged_new(depth, first_msn);
	put_u8(out, receiver != NULL);
}

/* Frees the receiver and all buffers. */
static void end(struct message *in, struct message *out)
{
	free_all();
}

/* QN (32), size (32), cookie (64) -> posted? (8) */
static void post(struct message *in, struct message *out)
{
	uint32_t qn = get_u32(in), size = get_u32(in);
	uint64_t cookie = get_u64(in);
	struct owned *b = spare();
	uint8_t *memory = b ? memory_new(size) : NULL;
	bool posted = receiver && b &&
		      untagged_post(receiver, qn, size ? memory : NULL, size, cookie);

	if (posted)
		*b = (struct owned){ .memory = memory, .size = size, .cookie = cookie };
	else
		memory_free(memory);
	put_u8(out, posted);
}

/* The segment -> the result (32) */
static void receive(struct message *in, struct message *out)
{
	size_t len;
	const uint8_t *octets = get_octets(in, &len);
	uint8_t *segment = memory_copy(octets, len);

	put_u32(out, receiver ? (uint32_t)untagged_receive(receiver, segment, len) : NO_RECEIVER);
	memory_free(segment);
}

/*
 * QN (32) -> delivered? (8), cookie (64), MSN (32), length (32), control (8), rsvdulp (32), is
 * `memory` that of the cookie? (8), are the octets before the buffer unchanged? (8), all octets of
 * the buffer
 */
static void deliver(struct message *in, struct message *out)
{
	uint32_t qn = get_u32(in);
	struct untagged_message m = { 0 };
	bool delivered = receiver && untagged_deliver(receiver, qn, &m);
	struct owned *b = delivered ? find(m.cookie) : NULL;

	put_u8(out, delivered);
	put_u64(out, m.cookie);
	put_u32(out, m.msn);
	put_u32(out, m.length);
	put_u8(out, m.control);
	put_u32(out, m.rsvdulp);
	put_u8(out, b && m.memory == (b->size ? b->memory : NULL));
	put_buffer(out, b);
	if (b)
		release(b);
}

/* QN (32) -> returned? (8), cookie (64), unchanged before? (8), all octets of the buffer */
static void flush(struct message *in, struct message *out)
{
	uint32_t qn = get_u32(in);
	uint64_t cookie = 0;
	bool returned = receiver && untagged_flush(receiver, qn, &cookie);
	struct owned *b = returned ? find(cookie) : NULL;

	put_u8(out, returned);
	put_u64(out, cookie);
	put_buffer(out, b);
	if (b)
		release(b);
}

/* The cookie of a posted buffer (64) -> is it posted? (8), unchanged before? (8), all its octets */
static void look(struct message *in, struct message *out)
{
	struct owned *b = find(get_u64(in));

	put_u8(out, b != NULL);
	put_buffer(out, b);
}

/*
 * For ./check --speed: rounds (32), size of the buffer (32), segments: their number (32), and for
 * each its octets. In each round a buffer is posted on queue 0, all segments are received with the
 * MSN of the round, and the message is delivered. -> delivered messages (32), octets delivered (64),
 * all octets of the buffer
 */
static void repeat(struct message *in, struct message *out)
{
	uint32_t rounds = get_u32(in), size = get_u32(in), n = get_u32(in), delivered = 0;
	uint64_t octets = 0;
	uint8_t *memory = memory_new(size), **segments = calloc(n + 1, sizeof(*segments));
	size_t *lens = calloc(n + 1, sizeof(*lens));

	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *segment = get_octets(in, &lens[i]);

		segments[i] = memory_copy(segment, lens[i]);
	}
	for (uint32_t msn = 1; receiver && msn <= rounds; msn++) {
		struct untagged_message m = { 0 };

		untagged_post(receiver, 0, memory, size, msn);
		for (uint32_t i = 0; i < n; i++) {
			for (uint32_t octet = 0; octet < 4; octet++)
				segments[i][10 + octet] = (uint8_t)(msn >> (24 - 8 * octet));
			untagged_receive(receiver, segments[i], lens[i]);
		}
		delivered += untagged_deliver(receiver, 0, &m);
		octets += m.length;
	}
	put_u32(out, delivered);
	put_u64(out, octets);
	put_octets(out, memory, size);
	for (uint32_t i = 0; i < n; i++)
		memory_free(segments[i]);
	free(segments);
	free(lens);
	memory_free(memory);
}

const struct call calls[] = {
	{ "untagged_new", new },
	{ "untagged_free", end },
	{ "untagged_post", post },
	{ "untagged_receive", receive },
	{ "untagged_deliver", deliver },
	{ "untagged_flush", flush },
	{ "look", look },
	{ "repeat", repeat },
	{ NULL, NULL },
};
