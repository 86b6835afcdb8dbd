/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The functions that the grader can call. There is one stream at a time. All memory that your
 * module gets ends exactly where it says, and is taken away as soon as read.h says that it may be:
 * octets of a message after the call, octets of an operation after its completion. You do not
 * change this file.
 *
 * A result of `enum error` has 16 bits.
 */
#include <string.h>

#include "ddp.h"
#include "harness.h"
#include "read.h"

enum { REGIONS_MAX = 64, KEPT_MAX = 1024 };

/* --- registered memory ------------------------------------------------------------------------ */

struct registered {
	struct region *regions; /* in memory that ends after the last one */
	uint32_t n;
};

static struct registered registered; /* of the stream */

/*
 * Arguments: n (32 bits); for each region STag (32), stream (32), rights (32), TO (64), its octets.
 */
static struct registered get_regions(struct message *in)
{
	struct registered r = { .n = get_u32(in) };

	r.n = r.n < REGIONS_MAX ? r.n : REGIONS_MAX;
	r.regions = (struct region *)memory_new(r.n * sizeof(struct region));
	for (uint32_t i = 0; i < r.n; i++) {
		struct region *region = &r.regions[i];
		const uint8_t *octets;
		size_t len;

		region->stag = get_u32(in);
		region->stream = get_u32(in);
		region->rights = get_u32(in);
		region->to = get_u64(in);
		octets = get_octets(in, &len);
		region->len = len;
		region->base = memory_copy(octets, len);
	}
	return r;
}

static void free_regions(struct registered *r)
{
	for (uint32_t i = 0; i < r->n; i++)
		memory_free(r->regions[i].base);
	memory_free((uint8_t *)r->regions);
	*r = (struct registered){ 0 };
}

static bool is_within(const uint8_t *source, const struct region *r)
{
	return source >= r->base && (size_t)(source - r->base) <= r->len;
}

/*
 * Results: 0 no pointer, 1 into a region, 2 elsewhere (8 bits); the region (32); the offset (64).
 */
static void put_place(struct message *out, const struct registered *r, const uint8_t *source)
{
	uint32_t i = 0;

	while (i < r->n && !is_within(source, &r->regions[i]))
		i++;
	put_u8(out, source == NULL ? 0 : i < r->n ? 1 : 2);
	put_u32(out, i < r->n ? i : 0);
	put_u64(out, i < r->n ? (uint64_t)(source - r->regions[i].base) : 0);
}

/* --- the header ------------------------------------------------------------------------------- */

static struct read_request get_request(struct message *in)
{
	struct read_request r;

	r.sink_stag = get_u32(in);
	r.sink_to = get_u64(in);
	r.size = get_u32(in);
	r.source_stag = get_u32(in);
	r.source_to = get_u64(in);
	return r;
}

/*
 * Arguments: the request (32, 64, 32, 32, 64 bits). Results: the octets; memory before is
 * unchanged.
 */
static void call_encode(struct message *in, struct message *out)
{
	struct read_request r = get_request(in);
	uint8_t *header = memory_new(READ_REQUEST_LEN);

	request_encode(header, &r);
	put_octets(out, header, READ_REQUEST_LEN);
	put_u8(out, memory_check(header));
	memory_free(header);
}

/* Arguments: the octets. Results: an error; the request. */
static void call_decode(struct message *in, struct message *out)
{
	struct read_request r;
	size_t len;
	const uint8_t *octets = get_octets(in, &len);
	uint8_t *message = memory_copy(octets, len);

	memset(&r, 0xee, sizeof(r));
	put_u16(out, (uint16_t)request_decode(&r, message, len));
	put_u32(out, r.sink_stag);
	put_u64(out, r.sink_to);
	put_u32(out, r.size);
	put_u32(out, r.source_stag);
	put_u64(out, r.source_to);
	memory_free(message);
}

/* Arguments: the regions; the stream (32 bits); the request. Results: an error; the place. */
static void call_check(struct message *in, struct message *out)
{
	struct registered r = get_regions(in);
	uint32_t stream = get_u32(in);
	struct read_request request = get_request(in);
	const uint8_t *source = (const uint8_t *)&r; /* neither NULL nor in a region */

	put_u16(out, (uint16_t)source_check(r.regions, r.n, stream, &request, &source));
	put_place(out, &r, source);
	free_regions(&r);
}

/* --- the stream ------------------------------------------------------------------------------- */

/* An operation that is posted and not completed. */
struct kept {
	bool used;
	uint64_t id;
	enum kind kind;
	uint32_t len;
	uint8_t *data, *sink;
};

static struct stream *stream;
static struct kept kept[KEPT_MAX];

static struct kept *find_kept(uint64_t id)
{
	for (size_t i = 0; i < KEPT_MAX; i++)
		if (kept[i].used && kept[i].id == id)
			return &kept[i];
	return NULL;
}

static void release(struct kept *k)
{
	memory_free(k->data);
	memory_free(k->sink);
	*k = (struct kept){ 0 };
}

static void end_stream(void)
{
	stream_free(stream);
	stream = NULL;
	for (size_t i = 0; i < KEPT_MAX; i++)
		release(&kept[i]);
	free_regions(&registered);
}

/* Arguments: number, IRD, ORD, depth (32 bits each); the regions. Result: there is a stream (8). */
static void call_new(struct message *in, struct message *out)
{
	struct stream_config config = { 0 }, *copy;

	end_stream();
	config.number = get_u32(in);
	config.ird = get_u32(in);
	config.ord = get_u32(in);
	config.depth = get_u32(in);
	registered = get_regions(in);
	config.regions = registered.regions;
	config.n_regions = registered.n;
	copy = (struct stream_config *)memory_copy(&config, sizeof(config));
	stream = stream_new(copy);
	memory_free((uint8_t *)copy);
	put_u8(out, stream != NULL);
}

static void call_free(struct message *in, struct message *out)
{
	end_stream();
}

/* Arguments: the region (32 bits), an offset (32), octets to write there. */
static void call_region(struct message *in, struct message *out)
{
	uint32_t i = get_u32(in), offset = get_u32(in);
	size_t len;
	const uint8_t *octets = get_octets(in, &len);
	const struct region *r;

	if (i >= registered.n)
		return;
	r = &registered.regions[i];
	if (offset <= r->len && len <= r->len - offset && len > 0)
		memcpy(r->base + offset, octets, len);
}

/* Arguments: the octets of the message. Result: an error. */
static void call_request(struct message *in, struct message *out)
{
	size_t len;
	const uint8_t *octets = get_octets(in, &len);
	uint8_t *message = memory_copy(octets, len);

	put_u16(out, stream ? (uint16_t)stream_request(stream, message, len) : 0xffff);
	memory_free(message);
}

/*
 * Argument: the MULPDU (32 bits). Results: the length (32); the segment; memory before is
 * unchanged.
 */
static void call_segment(struct message *in, struct message *out)
{
	size_t mulpdu = get_u32(in);
	uint8_t *segment = memory_new(mulpdu);
	size_t len = stream ? stream_next_segment(stream, segment, mulpdu) : 0;

	put_u32(out, len < UINT32_MAX ? (uint32_t)len : UINT32_MAX);
	put_octets(out, segment, len < mulpdu ? len : mulpdu);
	put_u8(out, memory_check(segment));
	memory_free(segment);
}

static struct kept *keep(uint64_t id, enum kind kind, uint32_t len, const uint8_t *octets)
{
	for (size_t i = 0; i < KEPT_MAX; i++) {
		struct kept *k = &kept[i];

		if (k->used)
			continue;
		*k = (struct kept){ .used = true, .id = id, .kind = kind, .len = len };
		if (kind == KIND_READ)
			k->sink = memory_new(len);
		else
			k->data = memory_copy(octets, len);
		return k;
	}
	return NULL;
}

/*
 * Arguments: id (64 bits), kind (8), fence (8), octets of a Read (32), octets of the others, sink
 * STag (32), sink TO (64), remote STag (32), remote TO (64). Result: an error.
 */
static void call_post(struct message *in, struct message *out)
{
	struct operation op = { 0 }, *copy;
	const uint8_t *octets;
	uint32_t read_len;
	struct kept *k;
	enum error err;
	size_t len;

	op.id = get_u64(in);
	op.kind = get_u8(in);
	op.fence = get_u8(in);
	read_len = get_u32(in);
	octets = get_octets(in, &len);
	op.len = op.kind == KIND_READ ? read_len : (uint32_t)len;
	op.sink_stag = get_u32(in);
	op.sink_to = get_u64(in);
	op.remote_stag = get_u32(in);
	op.remote_to = get_u64(in);
	k = stream ? keep(op.id, op.kind, op.len, octets) : NULL;
	if (!k) {
		put_u16(out, 0xffff);
		return;
	}
	op.data = k->data;
	op.sink = k->sink;
	copy = (struct operation *)memory_copy(&op, sizeof(op));
	err = stream_post(stream, copy);
	memory_free((uint8_t *)copy);
	if (err)
		release(k);
	put_u16(out, (uint16_t)err);
}

/* Argument: the segment. Result: an error. */
static void call_response(struct message *in, struct message *out)
{
	size_t len;
	const uint8_t *octets = get_octets(in, &len);
	uint8_t *segment = memory_copy(octets, len);

	put_u16(out, stream ? (uint16_t)stream_response(stream, segment, len) : 0xffff);
	memory_free(segment);
}

/*
 * Argument: id (64 bits). Results: the octets in the sink of this Read; memory before is unchanged.
 */
static void call_sink(struct message *in, struct message *out)
{
	const struct kept *k = find_kept(get_u64(in));

	put_octets(out, k && k->sink ? k->sink : NULL, k && k->sink ? k->len : 0);
	put_u8(out, k && k->sink ? memory_check(k->sink) : true);
}

/* Results: there is one (8 bits); id (64), kind (8), an error; the octets in the sink of a Read. */
static void call_completion(struct message *in, struct message *out)
{
	struct completion c = { 0 };
	bool is = stream && stream_next_completion(stream, &c);
	struct kept *k = is ? find_kept(c.id) : NULL;

	put_u8(out, is);
	put_u64(out, c.id);
	put_u8(out, (uint8_t)c.kind);
	put_u16(out, (uint16_t)c.status);
	put_octets(out, k && k->sink ? k->sink : NULL, k && k->sink ? k->len : 0);
	if (k)
		release(k);
}

/* --- speed ------------------------------------------------------------------------------------ */

/*
 * Answers the same Read Request n times on the present stream. Arguments: n (32 bits), the MULPDU
 * (32), the Request's octets. Results: segments (64), their octets (64), the last segment.
 */
static void call_answer_many(struct message *in, struct message *out)
{
	uint32_t n = get_u32(in);
	size_t mulpdu = get_u32(in), len, len_out, last = 0;
	const uint8_t *octets = get_octets(in, &len);
	uint8_t *segment = memory_new(mulpdu);
	uint64_t segments = 0, total = 0;

	for (uint32_t i = 0; i < n && stream_request(stream, octets, len) == ERR_NONE; i++)
		while ((len_out = stream_next_segment(stream, segment, mulpdu)) > 0) {
			last = len_out < mulpdu ? len_out : mulpdu;
			total += last;
			segments++;
		}
	put_u64(out, segments);
	put_u64(out, total);
	put_octets(out, segment, last);
	memory_free(segment);
}

/*
 * Reads n times into the same sink, with the same Response. Arguments: n (32 bits), the MULPDU
 * (32), sink STag (32), sink TO (64), octets to read (32), the Response, which is one segment.
 * Results: completed Reads (64), the last Request's segment, the octets in the sink.
 */
static void call_read_many(struct message *in, struct message *out)
{
	uint32_t n = get_u32(in);
	size_t mulpdu = get_u32(in), len, last = 0;
	struct operation op = { .kind = KIND_READ };
	const uint8_t *response;
	struct completion c;
	uint8_t *segment;
	uint64_t done = 0;

	op.sink_stag = get_u32(in);
	op.sink_to = get_u64(in);
	op.len = get_u32(in);
	response = get_octets(in, &len);
	segment = memory_new(mulpdu);
	op.sink = memory_new(op.len);
	for (; done < n; done++) {
		op.id = op.remote_to = done;
		if (stream_post(stream, &op) != ERR_NONE)
			break;
		last = stream_next_segment(stream, segment, mulpdu);
		if (stream_response(stream, response, len) != ERR_NONE)
			break;
		if (!stream_next_completion(stream, &c) || c.id != done)
			break;
	}
	put_u64(out, done);
	put_octets(out, segment, last < mulpdu ? last : mulpdu);
	put_octets(out, op.sink, op.len);
	memory_free(op.sink);
	memory_free(segment);
}

const struct call calls[] = {
	{ "request_encode", call_encode },
	{ "request_decode", call_decode },
	{ "source_check", call_check },
	{ "stream_new", call_new },
	{ "stream_free", call_free },
	{ "region", call_region },
	{ "stream_request", call_request },
	{ "stream_next_segment", call_segment },
	{ "stream_post", call_post },
	{ "stream_response", call_response },
	{ "sink", call_sink },
	{ "stream_next_completion", call_completion },
	{ "answer_many", call_answer_many },
	{ "read_many", call_read_many },
	{ NULL, NULL },
};
