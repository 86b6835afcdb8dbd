/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lab 4: RDMA Read, ordering and completions. The table of its steps, and the first two. */
#include <inttypes.h>
#include <string.h>

#include "labs/grader/peer/peer.h"
#include "labs/grader/read/internal.h"
#include "labs/grader/read/model.h"
#include "util/num.h"

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
			{ 0, len },     { 0, 1 },        { len - 1, 1 },   { 0, len + 1 },
			{ -1, 1 },      { -1, len },     { len, 1 },       { len - 1, 2 },
			{ 1, len },     { 0, UINT32_MAX }, { 0, 0 },       { len, 0 },
			{ len + 5, 0 }, { -5, 0 },       { INT64_MAX, 1 }, { INT64_MAX, 0 },
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

/* --- the lab ---------------------------------------------------------------------------------- */

static const struct lab_step steps[] = {
	{ "header", "encode and decode the Read Request header", 8, "RFC 5040 4.4", 0, header },
	{ "source", "check the source of a Read Request", 12, "RFC 5040 7.2", 0, source },
	{ "response", "cut the Response to a Read Request into segments", 12, "RFC 5040 5.2.2", 0,
	  read_response_step },
	{ "queue", "queue at most IRD Requests, answer them in order", 10, "RFC 5040 6.1", 0,
	  read_queue_step },
	{ "post", "send operations in the order of their posts", 12, "RFC 5040 5.5, rule 13", 0,
	  read_post_step },
	{ "place", "place Read Responses in the sink of the oldest Read", 10, "RFC 5040 5.2.2", 0,
	  read_place_step },
	{ "limits", "at most ORD Reads outstanding; fences", 12, "RFC 5040 6.1", 0,
	  read_limits_step },
	{ "completion", "complete operations in the order of their posts", 8,
	  "RFC 5040 5.5, rule 15", 0, read_completion_step },
	{ "errors", "refuse wrong Responses; cancel the other operations", 6, "RFC 5040 7.1", 0,
	  read_errors_step },
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
