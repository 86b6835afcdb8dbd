/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The functions of tagged.h that the grader calls. Memory has a number here: the grader makes it,
 * registers it, and later reads what your module has placed in it.
 */
#include <string.h>

#include "harness.h"
#include "tagged.h"

enum {
	MEMORIES = 1024,
	STREAMS = 8,
	RANDOM_MAX = 1024,
	READ_MAX = 1 << 20, /* longer reads have no room: your module must refuse them */
	NO_MEMORY = 0xffffffff,
};

static struct tagged_table *table;
static struct tagged_stream streams[STREAMS];

static struct {
	uint8_t *at;
	size_t len;
} memories[MEMORIES];

/* --- the random source ----------------------------------------------------------------------- */

static struct {
	uint32_t values[RANDOM_MAX];
	size_t count, used;
} source;

/* Returns the values that the grader has sent, then others. */
static uint32_t next_random(void *ctx)
{
	size_t n = source.used++;

	return n < source.count ? source.values[n] : (uint32_t)n * 0x9e3779b9;
}

/* --- the table ------------------------------------------------------------------------------- */

static void forget(void)
{
	tagged_free(table);
	table = NULL;
	for (size_t i = 0; i < MEMORIES; i++) {
		memory_free(memories[i].at);
		memories[i].at = NULL;
		memories[i].len = 0;
	}
	memset(streams, 0, sizeof(streams));
}

static void call_new(struct message *in, struct message *out)
{
	forget();
	source.used = 0;
	source.count = get_u32(in);
	if (source.count > RANDOM_MAX)
		source.count = RANDOM_MAX;
	for (size_t i = 0; i < source.count; i++)
		source.values[i] = get_u32(in);
	table = tagged_new(next_random, &source);
	put_u8(out, table != NULL);
}

static void call_free(struct message *in, struct message *out)
{
	forget();
}

static void call_register(struct message *in, struct message *out)
{
	uint32_t memory = get_u32(in), stag = 0;
	struct tagged_region region = {
		.memory = memory < MEMORIES ? memories[memory].at : NULL,
	};
	bool done;

	region.len = get_u64(in);
	region.base = get_u64(in);
	region.pd = get_u32(in);
	region.stream = get_u32(in);
	region.rights = get_u8(in);
	done = tagged_register(table, &region, &stag);
	memset(&region, 0xee, sizeof(region)); /* the module must have copied it */
	put_u8(out, done);
	put_u32(out, stag);
}

static uint32_t number_of(const uint8_t *memory)
{
	for (uint32_t i = 0; memory && i < MEMORIES; i++)
		if (memories[i].at == memory)
			return i;
	return NO_MEMORY;
}

static void call_lookup(struct message *in, struct message *out)
{
	const struct tagged_region *region = tagged_lookup(table, get_u32(in));

	put_u8(out, region != NULL);
	if (!region)
		return;
	put_u32(out, number_of(region->memory));
	put_u64(out, region->len);
	put_u64(out, region->base);
	put_u32(out, region->pd);
	put_u32(out, region->stream);
	put_u8(out, region->rights);
}

static void call_deregister(struct message *in, struct message *out)
{
	put_u8(out, tagged_deregister(table, get_u32(in)));
}

/* --- memory ---------------------------------------------------------------------------------- */

/* Makes memory, of which the octets are arguments too. */
static void call_memory(struct message *in, struct message *out)
{
	uint32_t number = get_u32(in);
	size_t len;
	const uint8_t *octets = get_octets(in, &len);

	if (number >= MEMORIES)
		return;
	memory_free(memories[number].at);
	memories[number].at = memory_copy(octets, len);
	memories[number].len = len;
}

/* The program itself writes into its memory. */
static void call_fill(struct message *in, struct message *out)
{
	uint32_t number = get_u32(in), at = get_u32(in);
	size_t len;
	const uint8_t *octets = get_octets(in, &len);

	if (number < MEMORIES && at <= memories[number].len && len <= memories[number].len - at)
		memcpy(memories[number].at + at, octets, len);
}

static void call_octets(struct message *in, struct message *out)
{
	uint32_t number = get_u32(in);
	bool valid = number < MEMORIES && memories[number].at;

	put_u8(out, !valid || memory_check(memories[number].at));
	put_octets(out, valid ? memories[number].at : NULL, valid ? memories[number].len : 0);
}

/* Frees memory, as a program does after it has deregistered it. */
static void call_drop(struct message *in, struct message *out)
{
	uint32_t number = get_u32(in);

	if (number >= MEMORIES)
		return;
	memory_free(memories[number].at);
	memories[number].at = NULL;
	memories[number].len = 0;
}

/* --- segments and reads ---------------------------------------------------------------------- */

static struct tagged_stream *stream_of(struct message *in)
{
	return &streams[get_u8(in) % STREAMS];
}

static void call_stream(struct message *in, struct message *out)
{
	struct tagged_stream *s = stream_of(in);

	s->pd = get_u32(in);
	s->id = get_u32(in);
	s->error = TAGGED_OK;
}

static void call_parse(struct message *in, struct message *out)
{
	struct tagged_header h = { 0 };
	size_t len;
	const uint8_t *octets = get_octets(in, &len);
	uint8_t *segment = memory_copy(octets, len);
	enum tagged_code code = tagged_parse(&h, segment, len);

	put_u16(out, (uint16_t)code);
	if (code == TAGGED_OK) {
		put_u8(out, h.opcode);
		put_u8(out, h.last);
		put_u32(out, h.stag);
		put_u64(out, h.to);
		put_u64(out, (uint64_t)(h.payload - segment));
		put_u64(out, h.payload_len);
	}
	memory_free(segment);
}

static void call_place(struct message *in, struct message *out)
{
	struct tagged_stream *s = stream_of(in);
	size_t len;
	const uint8_t *octets = get_octets(in, &len);
	uint8_t *segment = memory_copy(octets, len);

	put_u16(out, (uint16_t)tagged_place(table, s, segment, len));
	put_u16(out, (uint16_t)s->error);
	memory_free(segment);
}

static void call_read(struct message *in, struct message *out)
{
	struct tagged_stream *s = stream_of(in);
	uint32_t stag = get_u32(in);
	uint64_t to = get_u64(in);
	uint32_t len = get_u32(in);
	size_t room = len < READ_MAX ? len : READ_MAX;
	uint8_t *dst = memory_new(room);

	put_u16(out, (uint16_t)tagged_read(table, s, stag, to, len, dst));
	put_u16(out, (uint16_t)s->error);
	put_u8(out, memory_check(dst));
	/* A refused read of a large size is answered by the beginning of dst alone. */
	put_octets(out, dst, len < READ_MAX ? room : 64);
	memory_free(dst);
}

/* For ./check --speed: places the same segments, all of one length, several times. */
static void call_place_many(struct message *in, struct message *out)
{
	struct tagged_stream *s = stream_of(in);
	uint32_t times = get_u32(in);
	size_t segment_len = get_u32(in), len;
	const uint8_t *octets = get_octets(in, &len);
	uint8_t *segments = memory_copy(octets, len);
	uint64_t placed = 0;

	for (uint32_t n = 0; n < times; n++)
		for (size_t at = 0; segment_len && at + segment_len <= len; at += segment_len)
			placed += tagged_place(table, s, segments + at, segment_len) == TAGGED_OK;
	put_u64(out, placed);
	memory_free(segments);
}

const struct call calls[] = {
	{ "tagged_new", call_new },
	{ "tagged_free", call_free },
	{ "tagged_register", call_register },
	{ "tagged_lookup", call_lookup },
	{ "tagged_deregister", call_deregister },
	{ "memory", call_memory },
	{ "fill", call_fill },
	{ "octets", call_octets },
	{ "drop", call_drop },
	{ "stream", call_stream },
	{ "tagged_parse", call_parse },
	{ "tagged_place", call_place },
	{ "tagged_read", call_read },
	{ "place_many", call_place_many },
	{ NULL, NULL },
};
