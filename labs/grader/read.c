/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lab 4: RDMA Read, ordering and completions. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "labs/grader/peer.h"
#include "labs/grader/read_internal.h"
#include "labs/grader/read_model.h"
#include "util/num.h"

enum { MULPDU = 128 /* of most cases: segments of 114 octets */ };

static struct read_model model;

/* --- header ----------------------------------------------------------------------------------- */

static void put_rreq(struct lab_run *run, const struct iw_rreq *q)
{
	lab_put_u32(run, q->sink_stag);
	lab_put_u64(run, q->sink_to);
	lab_put_u32(run, q->size);
	lab_put_u32(run, q->src_stag);
	lab_put_u64(run, q->src_to);
}

static bool encode_one(struct lab_run *run, const struct iw_rreq *q, const uint8_t *octets)
{
	struct lab_octets seen;
	bool unchanged;

	lab_call(run, "request_encode");
	put_rreq(run, q);
	if (!lab_run_call(run))
		return false;
	seen = lab_get_octets(run);
	unchanged = lab_get_u8(run);
	return lab_results_end(run) &&
	       lab_expect_octets(run, "the Read Request header", octets, IW_RDMAP_RREQ_LEN, seen.at,
				 seen.len) &&
	       lab_expect_true(run, unchanged, "octets before the header have changed");
}

static bool expect_rreq(struct lab_run *run, const struct iw_rreq *expected)
{
	struct iw_rreq seen;

	seen.sink_stag = lab_get_u32(run);
	seen.sink_to = lab_get_u64(run);
	seen.size = lab_get_u32(run);
	seen.src_stag = lab_get_u32(run);
	seen.src_to = lab_get_u64(run);
	return lab_results_end(run) &&
	       lab_expect_number(run, "sink_stag", expected->sink_stag, seen.sink_stag) &&
	       lab_expect_number(run, "sink_to", expected->sink_to, seen.sink_to) &&
	       lab_expect_number(run, "size", expected->size, seen.size) &&
	       lab_expect_number(run, "source_stag", expected->src_stag, seen.src_stag) &&
	       lab_expect_number(run, "source_to", expected->src_to, seen.src_to);
}

static bool decode_one(struct lab_run *run, const uint8_t *octets, size_t len)
{
	struct iw_rreq expected = { 0xeeeeeeee, 0xeeeeeeeeeeeeeeee, 0xeeeeeeee, 0xeeeeeeee,
				    0xeeeeeeeeeeeeeeee };
	uint32_t err = READ_REQUEST;

	if (len == IW_RDMAP_RREQ_LEN && iw_rreq_decode(&expected, octets, len) > 0)
		err = READ_OK;
	lab_call(run, "request_decode");
	lab_put_octets(run, octets, len);
	if (!lab_run_call(run) || !read_expect_error(run, err, lab_get_u16(run)))
		return false;
	return expect_rreq(run, &expected);
}

static bool header(struct lab_run *run)
{
	static const size_t wrong[] = { 0, 1, 18, 27, 29, 46, 56 };
	uint8_t octets[64];

	for (int i = 0; i < 24; i++) {
		struct iw_rreq q;

		lab_fill(run, octets, sizeof(octets));
		for (size_t k = 0; i == 0 && k < sizeof(octets); k++)
			octets[k] = (uint8_t)(k + 1);
		if (i == 1 || i == 2)
			memset(octets, i == 1 ? 0 : 0xff, sizeof(octets));
		iw_rreq_decode(&q, octets, IW_RDMAP_RREQ_LEN);
		lab_case(run,
			 "sink STag 0x%08x TO 0x%" PRIx64
			 ", %u octets, source STag 0x%08x TO 0x%" PRIx64,
			 q.sink_stag, q.sink_to, q.size, q.src_stag, q.src_to);
		if (!encode_one(run, &q, octets) || !decode_one(run, octets, IW_RDMAP_RREQ_LEN))
			return false;
	}
	for (size_t i = 0; i < IW_ARRAY_LEN(wrong); i++) {
		lab_case(run, "a message of %zu octets", wrong[i]);
		if (!decode_one(run, octets, wrong[i]))
			return false;
	}
	return true;
}

/* --- source ----------------------------------------------------------------------------------- */

static struct read_regions sources;

static bool expect_place(struct lab_run *run, const uint8_t *expected)
{
	uint32_t kind = lab_get_u8(run), i = lab_get_u32(run);
	uint64_t offset = lab_get_u64(run);

	if (!lab_results_end(run))
		return false;
	if (expected == NULL)
		return lab_expect_true(run, kind == 0, "*source is not NULL: expected NULL");
	for (uint32_t n = 0; n < sources.n; n++) {
		const struct read_region *r = &sources.list[n];

		if (expected < r->octets || expected >= r->octets + r->region.len)
			continue;
		return lab_expect_true(run, kind == 1,
				       "*source is %s: expected octet %td of region %u",
				       kind ? "elsewhere" : "NULL", expected - r->octets, n) &&
		       lab_expect_number(run, "the region of *source", n, i) &&
		       lab_expect_number(run, "the place of *source in the region",
					 (uint64_t)(expected - r->octets), offset);
	}
	return lab_fail(run, "the grader lost a region");
}

static bool check_one(struct lab_run *run, uint32_t stream, const struct iw_rreq *q)
{
	const uint8_t *source;
	uint32_t expected = read_regions_check(&sources, stream, q, &source);

	lab_call(run, "source_check");
	read_regions_put(run, &sources);
	lab_put_u32(run, stream);
	put_rreq(run, q);
	return lab_run_call(run) && read_expect_error(run, expected, lab_get_u16(run)) &&
	       expect_place(run, source);
}

enum { THIS_STREAM = 7, OTHER_STREAM = 8 };

static bool add_sources(struct lab_run *run)
{
	static const struct {
		uint32_t stream;
		uint8_t rights;
		uint64_t to;
		size_t len;
	} list[] = {
		{ 0, IW_RIGHT_REMOTE_READ, 0x1000, 100 },
		{ THIS_STREAM, IW_RIGHT_REMOTE_READ | IW_RIGHT_REMOTE_WRITE, 0xffffffc0, 128 },
		{ OTHER_STREAM, IW_RIGHT_REMOTE_READ, 0, 100 },
		{ OTHER_STREAM, IW_RIGHT_REMOTE_WRITE, 0, 100 },
		{ THIS_STREAM, IW_RIGHT_REMOTE_WRITE, 0x2000, 100 },
		{ 0, IW_RIGHT_REMOTE_READ, UINT64_MAX - 64, 64 },
		{ 0, IW_RIGHT_REMOTE_READ, 0, 1 },
	};

	if (!read_regions_clear(run, &sources))
		return false;
	for (size_t i = 0; i < IW_ARRAY_LEN(list); i++)
		if (!read_regions_add(run, &sources, list[i].stream, list[i].rights, list[i].to,
				      list[i].len))
			return false;
	return true;
}

/* A request near the edges of region i; i == n: of an STag that is not registered. */
static struct iw_rreq near_edge(struct lab_run *run, uint32_t i, int64_t from_begin, int64_t size)
{
	const struct iw_region *r = &sources.list[i].region;

	if (i == sources.n)
		return (struct iw_rreq){ .src_stag = 0x12345600, .size = (uint32_t)size };
	return (struct iw_rreq){
		.sink_stag = (uint32_t)lab_random(run),
		.sink_to = lab_random(run),
		.size = (uint32_t)size,
		.src_stag = r->stag,
		.src_to = r->to + (uint64_t)from_begin,
	};
}

static bool check_near(struct lab_run *run, uint32_t i, int64_t from_begin, int64_t size)
{
	const struct iw_region *r = &sources.list[i].region;
	struct iw_rreq q = near_edge(run, i, from_begin, size);

	if (i == sources.n)
		lab_case(run, "%u octets of an STag that is not registered", q.size);
	else
		lab_case(run,
			 "region %u: %" PRIu64 " octets from TO 0x%" PRIx64
			 ", %s, rights %u; the Request: %u octets from TO 0x%" PRIx64
			 "; the stream is %d",
			 i, r->len, r->to,
			 !r->stream                 ? "every stream"
			 : r->stream == THIS_STREAM ? "stream 7"
						    : "stream 8",
			 r->rights, q.size, q.src_to, THIS_STREAM);
	return check_one(run, THIS_STREAM, &q);
}

static bool source(struct lab_run *run)
{
	if (!add_sources(run))
		return false;
	for (uint32_t i = 0; i <= sources.n; i++) {
		int64_t len = i < sources.n ? (int64_t)sources.list[i].region.len : 10;
		/* clang-format off */
		const int64_t edges[][2] = {
			{ 0, len }, { 0, 1 }, { len - 1, 1 }, { 0, len + 1 }, { -1, 1 }, { -1, len },
			{ len, 1 }, { len - 1, 2 }, { 1, len }, { 0, UINT32_MAX }, { 0, 0 }, { len, 0 },
			{ len + 5, 0 }, { -5, 0 }, { INT64_MAX, 1 }, { INT64_MAX, 0 },
		};
		/* clang-format on */

		for (size_t e = 0; e < IW_ARRAY_LEN(edges); e++)
			if (!check_near(run, i, edges[e][0], edges[e][1]))
				return false;
	}
	for (int n = 0; n < 60; n++) {
		uint32_t i = (uint32_t)lab_below(run, sources.n + 1);
		int64_t len = i < sources.n ? (int64_t)sources.list[i].region.len : 10;

		if (!check_near(run, i, (int64_t)lab_below(run, (uint64_t)len + 6) - 3,
				(int64_t)lab_below(run, (uint64_t)len + 2)))
			return false;
	}
	return true;
}

/* --- response --------------------------------------------------------------------------------- */

/* A Request and its Response, with an MULPDU of its own for each segment if vary is set. */
static bool respond(struct read_model *m, const struct iw_rreq *q, size_t mulpdu, bool vary)
{
	bool any = true;

	if (!read_request(m, q))
		return false;
	while (any)
		if (!read_segment(m, mulpdu + (vary ? lab_below(m->run, 200) : 0), &any))
			return false;
	return true;
}

static bool response_sizes(struct lab_run *run)
{
	static const uint32_t sizes[] = { 1, 100, 113, 114, 115, 227, 228, 229, 1000, 0, 5000 };

	if (!read_new(&model, run, 1, 0, 1, 5000))
		return false;
	for (size_t i = 0; i < IW_ARRAY_LEN(sizes); i++) {
		struct iw_rreq q = read_valid(&model, sizes[i]);

		if (!respond(&model, &q, MULPDU, false))
			return false;
	}
	return read_free(&model);
}

/* Zero-length Reads are answered without a look at the source; TOs of the sink cross 2^32. */
static bool response_edges(struct lab_run *run)
{
	struct iw_rreq q;

	if (!read_new(&model, run, 1, 0, 1, 2000))
		return false;
	q = read_valid(&model, 0);
	q.src_stag = 0x7fffff00;
	q.src_to = UINT64_MAX;
	if (!respond(&model, &q, MULPDU, false))
		return false;
	q = read_valid(&model, 600);
	q.sink_to = 0xffffff00;
	if (!respond(&model, &q, MULPDU, false))
		return false;
	q.sink_to = 0;
	return respond(&model, &q, MULPDU, true) && read_free(&model);
}

/* A refused Request gets no Response, and ends the stream. */
static bool response_refused(struct lab_run *run)
{
	uint8_t octets[60] = { 0 };

	for (int i = 0; i < 4; i++) {
		struct iw_rreq q;

		if (!read_new(&model, run, 2, 0, 1, 200))
			return false;
		q = read_valid(&model, 150);
		iw_rreq_encode(octets, sizeof(octets), &q);
		q.src_stag += i == 1 ? 0x100 : 0;
		q.src_to += i == 2 ? 300 : 0;
		q.size += i == 3 ? 0xfffffe00 : 0;
		if (i == 0 && !read_request_octets(&model, octets, 29))
			return false;
		if (i > 0 && !read_request(&model, &q))
			return false;
		q = read_valid(&model, 20);
		if (!read_segments(&model, MULPDU) || !read_request(&model, &q) ||
		    !read_segments(&model, MULPDU) || !read_free(&model))
			return false;
	}
	return true;
}

static bool response(struct lab_run *run)
{
	if (!response_sizes(run) || !response_edges(run) || !response_refused(run))
		return false;
	for (int i = 0; i < 12; i++) {
		uint32_t size = (uint32_t)lab_below(run, i < 10 ? 3000 : 65536) + 1;
		struct iw_rreq q;

		if (!read_new(&model, run, 1 + (uint32_t)lab_below(run, 4), 0, 1, size))
			return false;
		q = read_valid(&model, size);
		if (!respond(&model, &q, i < 10 ? 128 + lab_below(run, 400) : 1442, i & 1) ||
		    !read_free(&model))
			return false;
	}
	return true;
}

/* --- queue ------------------------------------------------------------------------------------ */

static bool request_of(uint32_t size)
{
	struct iw_rreq q = read_valid(&model, size);

	return read_request(&model, &q);
}

/* IRD Requests at once, several times, so that every place of a ring is used again. */
static bool queue_rounds(struct lab_run *run, uint32_t ird)
{
	if (!read_new(&model, run, ird, 0, 1, 1000))
		return false;
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < ird; i++)
			if (!request_of((uint32_t)lab_below(run, 250)))
				return false;
		if (!read_segments(&model, MULPDU))
			return false;
		/* The next round begins at another place. */
		if (ird > 1 && (!request_of(200) || !read_segments(&model, MULPDU)))
			return false;
	}
	return read_free(&model);
}

/* One Request more than IRD. It comes in the middle of the first Response if `partial` is set. */
static bool queue_overflow(struct lab_run *run, uint32_t ird, bool partial)
{
	if (!read_new(&model, run, ird, 0, 1, 1000))
		return false;
	for (uint32_t i = 0; i < ird; i++)
		if (!request_of(300))
			return false;
	if (partial && !read_segment(&model, MULPDU, NULL))
		return false;
	return request_of(0) && read_segments(&model, MULPDU) && read_free(&model);
}

/* The last segment of a Response frees its place. */
static bool queue_exact(struct lab_run *run)
{
	if (!read_new(&model, run, 2, 0, 1, 1000) || !request_of(200) || !request_of(100))
		return false;
	if (!read_segment(&model, MULPDU, NULL) || !read_segment(&model, MULPDU, NULL) ||
	    !request_of(0) || !read_segment(&model, MULPDU, NULL) || !request_of(228))
		return false;
	return read_segments(&model, MULPDU) && read_free(&model);
}

static bool queue(struct lab_run *run)
{
	static const uint32_t depths[] = { 1, 2, 3, 5, 16 };

	for (size_t i = 0; i < IW_ARRAY_LEN(depths); i++)
		if (!queue_rounds(run, depths[i]) || !queue_overflow(run, depths[i], false) ||
		    !queue_overflow(run, depths[i], true))
			return false;
	if (!queue_exact(run) || !queue_overflow(run, 0, false))
		return false;
	for (int i = 0; i < 10; i++) {
		if (!read_new(&model, run, 1 + (uint32_t)lab_below(run, 8), 0, 1, 2000))
			return false;
		for (int n = 0; n < 40; n++)
			if (lab_below(run, 3) && model.end - model.first < model.ird
				    ? !request_of((uint32_t)lab_below(run, 500))
				    : !read_segment(&model, 128 + lab_below(run, 100), NULL))
				return false;
		if (!read_segments(&model, MULPDU) || !read_free(&model))
			return false;
	}
	return true;
}

/* --- post ------------------------------------------------------------------------------------- */

static bool post(enum read_kind kind, uint32_t len)
{
	return read_post(&model, kind, len, false);
}

/* Each kind alone, at the edges of the segments of its header's length. */
static bool post_sizes(struct lab_run *run)
{
	static const uint32_t sizes[] = { 1, 0, 110, 111, 114, 115, 220, 221, 228, 229, 1000 };

	for (enum read_kind kind = READ_SEND; kind <= READ_READ; kind++) {
		if (!read_new(&model, run, 0, 20, 20, 100))
			return false;
		for (size_t i = 0; i < IW_ARRAY_LEN(sizes); i++)
			if (!post(kind, sizes[i]) || !read_segments(&model, MULPDU))
				return false;
		if (!read_free(&model))
			return false;
	}
	return true;
}

/* All kinds in the order of the posts, and posts of which there are too many. */
static bool post_order(struct lab_run *run)
{
	if (!read_new(&model, run, 0, 9, 9, 100))
		return false;
	for (uint32_t i = 0; i < 9; i++)
		if (!post((enum read_kind)((i * 2) % 3), 50 * i))
			return false;
	if (!post(READ_SEND, 1) || !read_segments(&model, MULPDU) || !read_free(&model))
		return false;
	return read_new(&model, run, 0, 0, 2, 100) && post(READ_READ, 10) && post(READ_WRITE, 10) &&
	       post(READ_READ, 0) && read_segments(&model, MULPDU) && read_free(&model);
}

/* A message is not interrupted (RFC 5041 5.3): neither an operation nor a Response. */
static bool post_between(struct lab_run *run)
{
	for (enum read_kind kind = READ_SEND; kind <= READ_WRITE; kind++) {
		lab_clause(run, "RFC 5041 5.3");
		if (!read_new(&model, run, 4, 4, 8, 1000) || !post(kind, 400) ||
		    !read_segment(&model, MULPDU, NULL) || !request_of(300) ||
		    !post(READ_READ, 10) || !read_segments(&model, MULPDU))
			return false;
		if (!request_of(300) || !read_segment(&model, MULPDU, NULL) || !post(kind, 10) ||
		    !request_of(20) || !read_segments(&model, MULPDU) || !read_free(&model))
			return false;
	}
	lab_clause(run, NULL);
	return true;
}

static bool post_step(struct lab_run *run)
{
	if (!post_sizes(run) || !post_order(run) || !post_between(run))
		return false;
	for (int i = 0; i < 12; i++) {
		if (!read_new(&model, run, 4, 40, 40, 1000))
			return false;
		for (int n = 0; n < 40; n++) {
			uint64_t what = lab_below(run, 4);

			if (what == 3 && model.end - model.first < 4 &&
			    !request_of((uint32_t)lab_below(run, 300)))
				return false;
			if (what < 3 &&
			    !post((enum read_kind)what, (uint32_t)lab_below(run, i ? 600 : 65536)))
				return false;
			if (lab_below(run, 2) &&
			    !read_segment(&model, (i ? 128 : 1300) + lab_below(run, 100), NULL))
				return false;
		}
		if (!read_segments(&model, i ? MULPDU : 1442) || !read_free(&model))
			return false;
	}
	return true;
}

/* --- place ------------------------------------------------------------------------------------ */

/* Segments of any lengths, with and without octets. */
static bool place_segments(struct lab_run *run)
{
	static const uint32_t cuts[] = { 1, 0, 100, 0, 99 };
	uint8_t octets[300];
	struct iw_ddp h;
	uint32_t left;

	if (!read_new(&model, run, 0, 4, 4, 100) || !post(READ_READ, 200) ||
	    !read_segments(&model, MULPDU))
		return false;
	for (size_t i = 0; i < IW_ARRAY_LEN(cuts); i++) {
		if (!read_expected(&model, &h, &left))
			return lab_fail(run, "the grader lost a Read");
		lab_fill(run, octets, sizeof(octets));
		/* STag and TO of a segment without octets mean nothing (RFC 5041 5.2). */
		h.stag ^= cuts[i] == 0;
		h.to += cuts[i] == 0 ? 1000 : 0;
		if (!read_response(&model, &h, octets, cuts[i]) || !read_sinks(&model))
			return false;
	}
	if (!read_expected(&model, &h, &left))
		return lab_fail(run, "the grader lost a Read");
	h.last = true;
	return read_response(&model, &h, octets, 0) && read_sinks(&model) && read_free(&model);
}

/* The Response belongs to the oldest Read, whatever was sent between the Reads. */
static bool place_oldest(struct lab_run *run)
{
	if (!read_new(&model, run, 0, 4, 8, 100) || !post(READ_SEND, 10) || !post(READ_READ, 100) ||
	    !post(READ_WRITE, 10) || !post(READ_READ, 50) || !post(READ_READ, 0) ||
	    !post(READ_READ, 300))
		return false;
	if (!read_segments(&model, MULPDU) || !read_answer(&model, 114) || !read_sinks(&model))
		return false;
	for (int i = 0; i < 6; i++)
		if (!read_answer(&model, 114) || !read_sinks(&model))
			return false;
	return read_free(&model);
}

static bool place(struct lab_run *run)
{
	if (!place_segments(run) || !place_oldest(run))
		return false;
	for (int i = 0; i < 12; i++) {
		uint32_t ord = 1 + (uint32_t)lab_below(run, 6);

		if (!read_new(&model, run, 0, ord, 20, 100))
			return false;
		for (uint32_t n = 0; n < ord; n++)
			if (!post(READ_READ, (uint32_t)lab_below(run, i ? 400 : 65536)) ||
			    (lab_below(run, 2) && !post(READ_SEND, 10)))
				return false;
		if (!read_segments(&model, MULPDU))
			return false;
		while (read_outstanding(&model) > 0)
			if (!read_answer(&model, 1 + (uint32_t)lab_below(run, i ? 150 : 3000)) ||
			    !read_sinks(&model))
				return false;
		if (!read_free(&model))
			return false;
	}
	return true;
}

/* --- limits ----------------------------------------------------------------------------------- */

/* More Reads than ORD, and a Send after them. Each Response lets one more begin. */
static bool limits_ord(struct lab_run *run, uint32_t ord)
{
	if (!read_new(&model, run, 1, ord, 20, 500))
		return false;
	for (uint32_t i = 0; i < ord + 2; i++)
		if (!post(READ_READ, 150))
			return false;
	if (!post(READ_SEND, 150) || !post(READ_WRITE, 20) || !read_segments(&model, MULPDU))
		return false;
	/* A Response to the peer does not wait, and a part of a Response frees nothing. */
	if (!request_of(200) || !read_segments(&model, MULPDU) || !read_answer(&model, 100) ||
	    !read_segments(&model, MULPDU))
		return false;
	for (uint32_t i = 0; i < ord + 2; i++)
		if (!read_answer(&model, 150) || !read_segments(&model, MULPDU))
			return false;
	return read_segments(&model, MULPDU) && read_free(&model);
}

static bool limits_fence(struct lab_run *run, enum read_kind kind)
{
	/* Nothing is outstanding: a fence does not wait. */
	if (!read_new(&model, run, 1, 4, 20, 500) || !read_post(&model, kind, 10, true) ||
	    !read_segments(&model, MULPDU) || !read_answers(&model, 10))
		return false;
	/* It waits for all Reads before it, and what comes after it waits too. */
	if (!post(READ_READ, 100) || !post(READ_WRITE, 10) || !post(READ_READ, 100) ||
	    !read_post(&model, kind, 10, true) || !post(READ_SEND, 10) ||
	    !read_segments(&model, MULPDU))
		return false;
	if (!read_answer(&model, 100) || !read_segments(&model, MULPDU) ||
	    !read_answer(&model, 50) || !request_of(200) || !read_segments(&model, MULPDU))
		return false;
	return read_answer(&model, 50) && read_segments(&model, MULPDU) &&
	       read_answers(&model, 50) && read_segments(&model, MULPDU) && read_free(&model);
}

/* Everything but completions and errors, at random. */
static bool wander(struct lab_run *run, bool completions, uint32_t steps)
{
	uint32_t ird = 1 + (uint32_t)lab_below(run, 4), ord = 1 + (uint32_t)lab_below(run, 3);
	uint32_t depth = completions ? 1 + (uint32_t)lab_below(run, 12) : READ_OPS_MAX;

	if (!read_new(&model, run, ird, ord, depth, 1000))
		return false;
	for (uint32_t n = 0; n < steps; n++) {
		bool ok = true;

		switch (lab_below(run, completions ? 5 : 4)) {
		case 0:
			ok = model.tail - model.head == depth ||
			     read_post(&model, (enum read_kind)lab_below(run, 3),
				       (uint32_t)lab_below(run, 300), lab_below(run, 5) == 0);
			break;
		case 1:
			ok = model.end - model.first == ird ||
			     request_of((uint32_t)lab_below(run, 300));
			break;
		case 2:
			ok = read_answer(&model, 1 + (uint32_t)lab_below(run, 300));
			break;
		case 3:
			ok = read_segment(&model, 128 + lab_below(run, 200), NULL);
			break;
		case 4:
			ok = read_completion(&model, NULL);
			break;
		}
		if (!ok)
			return false;
	}
	return true;
}

/* Answers and sends what is left. */
static bool finish(void)
{
	do {
		if (!read_segments(&model, MULPDU) || !read_answers(&model, 200))
			return false;
	} while (model.next != model.tail || read_outstanding(&model) > 0);
	return true;
}

static bool limits(struct lab_run *run)
{
	for (uint32_t ord = 1; ord <= 4; ord++)
		if (!limits_ord(run, ord))
			return false;
	for (enum read_kind kind = READ_SEND; kind <= READ_READ; kind++)
		if (!limits_fence(run, kind))
			return false;
	for (int i = 0; i < 12; i++)
		if (!wander(run, false, 80) || !finish() || !read_free(&model))
			return false;
	return true;
}

/* --- completion ------------------------------------------------------------------------------- */

/* A Write and a Send after a Read complete after it; a message of which a part is sent does not. */
static bool completion_order(struct lab_run *run)
{
	if (!read_new(&model, run, 1, 2, 4, 500) || !read_completion(&model, NULL) ||
	    !post(READ_SEND, 200) || !read_completion(&model, NULL) ||
	    !read_segment(&model, MULPDU, NULL) || !read_completion(&model, NULL) ||
	    !read_segments(&model, MULPDU) || !read_completions(&model))
		return false;
	if (!post(READ_READ, 200) || !post(READ_WRITE, 10) || !post(READ_SEND, 0) ||
	    !read_segments(&model, MULPDU) || !read_completion(&model, NULL) ||
	    !read_answer(&model, 150) || !read_completion(&model, NULL) || !read_answer(&model, 50))
		return false;
	if (!read_completions(&model) || !post(READ_READ, 0) || !read_segments(&model, MULPDU) ||
	    !read_completion(&model, NULL) || !read_answers(&model, 1) || !read_completions(&model))
		return false;
	return read_free(&model);
}

/* Completions make room in the queue, and a completion that was not fetched does not. */
static bool completion_room(struct lab_run *run, uint32_t depth)
{
	if (!read_new(&model, run, 1, 1, depth, 500))
		return false;
	for (uint32_t i = 0; i < 3 * depth + 2; i++) {
		for (uint32_t n = model.tail - model.head; n < depth; n++)
			if (!post((enum read_kind)lab_below(run, 3), 10))
				return false;
		if (!post(READ_SEND, 10) || !finish() || !post(READ_WRITE, 10) ||
		    !read_completion(&model, NULL))
			return false;
	}
	return read_completions(&model) && read_free(&model);
}

static bool completion(struct lab_run *run)
{
	if (!completion_order(run))
		return false;
	for (uint32_t depth = 1; depth <= 5; depth += 2)
		if (!completion_room(run, depth))
			return false;
	for (int i = 0; i < 20; i++)
		if (!wander(run, true, 150) || !finish() || !read_completions(&model) ||
		    !read_free(&model))
			return false;
	return true;
}

/* --- errors ----------------------------------------------------------------------------------- */

/* After an error nothing moves any more, and what is posted completes in order. */
static bool after_error(void)
{
	struct iw_ddp h = { .tagged = true, .last = true, .dv = 1, .rv = 1, .opcode = IW_OP_RRESP };

	return read_sinks(&model) && read_segments(&model, MULPDU) && post(READ_SEND, 10) &&
	       read_response(&model, &h, NULL, 0) && read_completions(&model) && read_free(&model);
}

/* No Read is outstanding: none posted, posted but not sent, or answered. */
static bool errors_unexpected(struct lab_run *run)
{
	struct iw_ddp h = { .tagged = true, .last = true, .dv = 1, .rv = 1, .opcode = IW_OP_RRESP };

	for (int i = 0; i < 4; i++) {
		uint8_t octets[10] = { 0 };

		if (!read_new(&model, run, 1, 1, 8, 500))
			return false;
		if (i == 1 && !post(READ_READ, 10))
			return false;
		if (i == 2 && (!post(READ_READ, 10) || !read_segments(&model, MULPDU) ||
			       !read_answers(&model, 10)))
			return false;
		if (i == 3 && (!post(READ_WRITE, 10) || !read_segments(&model, MULPDU)))
			return false;
		if (i > 0) {
			h.stag = model.ops[0].sink_stag;
			h.to = model.ops[0].sink_to;
		}
		if (!read_response(&model, &h, octets, i == 0 ? 0 : 10) || !after_error())
			return false;
	}
	return true;
}

struct bad_response {
	const char *what;
	uint32_t got;  /* placed before, of 200 octets */
	uint32_t stag; /* added */
	int64_t to;    /* added */
	uint32_t len;
	bool last;
};

static const struct bad_response bad_responses[] = {
	{ "another STag", 0, 0x100, 0, 50, false },
	{ "another STag and TO", 100, 1, 50, 50, false },
	{ "the TO of the octet after the next", 100, 0, 1, 50, false },
	{ "the TO of an octet that has arrived", 100, 0, -1, 50, false },
	{ "the TO of the first octet again", 100, 0, -100, 100, true },
	{ "a TO before the sink", 0, 0, -1, 50, false },
	{ "a TO that differs above 2^32", 0, 0, 1ll << 32, 50, false },
	{ "an octet too many", 0, 0, 0, 201, true },
	{ "an octet too many in the second segment", 150, 0, 0, 51, true },
	{ "octets after the last one", 200, 0, 0, 1, true },
	{ "an octet too few", 0, 0, 0, 199, true },
	{ "an octet too few in the second segment", 150, 0, 0, 49, true },
	{ "the L bit without octets", 150, 0, 0, 0, true },
	{ "octets up to the second Read's end", 0, 0, 0, 300, true },
};

static bool errors_response(struct lab_run *run, const struct bad_response *bad)
{
	uint8_t octets[400];
	struct iw_ddp h;
	uint32_t left;

	lab_fill(run, octets, sizeof(octets));
	if (!read_new(&model, run, 2, 2, 8, 500) || !post(READ_SEND, 10) || !post(READ_READ, 200) ||
	    !post(READ_READ, 100) || !post(READ_WRITE, 300) || !post(READ_READ, 100) ||
	    !post(READ_SEND, 10) || !request_of(100))
		return false;
	for (int i = 0; i < 5; i++) /* up to the middle of the Write, or almost */
		if (!read_segment(&model, MULPDU, NULL))
			return false;
	if (!read_expected(&model, &h, &left))
		return lab_fail(run, "the grader lost a Read");
	if (bad->got > 0 && !read_response(&model, &h, octets, bad->got))
		return false;
	read_expected(&model, &h, &left);
	read_note(&model, bad->what);
	h.stag += bad->stag;
	h.to += (uint64_t)bad->to;
	h.last = bad->last;
	return read_response(&model, &h, octets, bad->len) && after_error();
}

/* A refused Request cancels this end's operations too. */
static bool errors_request(struct lab_run *run)
{
	struct iw_rreq q;

	if (!read_new(&model, run, 2, 1, 8, 500) || !post(READ_SEND, 10) || !post(READ_SEND, 200) ||
	    !read_segment(&model, MULPDU, NULL) || !read_segment(&model, MULPDU, NULL) ||
	    !request_of(10))
		return false;
	q = read_valid(&model, 10);
	q.src_to += 1000;
	return read_request(&model, &q) && after_error();
}

static bool errors(struct lab_run *run)
{
	if (!errors_unexpected(run))
		return false;
	for (size_t i = 0; i < IW_ARRAY_LEN(bad_responses); i++)
		if (!errors_response(run, &bad_responses[i]))
			return false;
	if (!errors_request(run))
		return false;
	for (int i = 0; i < 20; i++) {
		struct bad_response bad =
			bad_responses[lab_below(run, IW_ARRAY_LEN(bad_responses))];

		if (!wander(run, true, 60) || !finish() || !read_completions(&model) ||
		    !read_free(&model) || !errors_response(run, &bad))
			return false;
	}
	return true;
}

/* --- the lab ---------------------------------------------------------------------------------- */

static const struct lab_step steps[] = {
	{ "header", "encode and decode the Read Request header", 8, "RFC 5040 4.4", 0, header },
	{ "source", "check the source of a Read Request", 12, "RFC 5040 7.2", 0, source },
	{ "response", "cut the Response to a Read Request into segments", 12, "RFC 5040 5.2.2", 0,
	  response },
	{ "queue", "queue at most IRD Requests, answer them in order", 10, "RFC 5040 6.1", 0,
	  queue },
	{ "post", "send operations in the order of their posts", 12, "RFC 5040 5.5, rule 13", 0,
	  post_step },
	{ "place", "place Read Responses in the sink of the oldest Read", 10, "RFC 5040 5.2.2", 0,
	  place },
	{ "limits", "at most ORD Reads outstanding; fences", 12, "RFC 5040 6.1", 0, limits },
	{ "completion", "complete operations in the order of their posts", 8,
	  "RFC 5040 5.5, rule 15", 0, completion },
	{ "errors", "refuse wrong Responses; cancel what is left", 6, "RFC 5040 7.1", 0, errors },
	LAB_PEER_STEP,
	{ 0 },
};

const struct lab lab_read = {
	.number = 4,
	.folder = "04-read",
	.title = "RDMA Read, ordering and completions",
	.steps = steps,
	.trace = read_trace,
	.speed = read_speed,
};
