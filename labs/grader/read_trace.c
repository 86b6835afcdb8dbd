/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lab 4: the module in a conversation with the project's engine, as a capture; and the speeds of
 * both.
 */
#include <stdlib.h>
#include <string.h>

#include "labs/grader/picture.h"
#include "labs/grader/read_internal.h"
#include "labs/grader/read_model.h"
#include "os/os.h"
#include "rdmap/rdmap.h"
#include "util/num.h"

enum {
	PD = 1,
	STREAM = 1,
	MEMORY = 65536, /* octets of each region of the engine */
	RECEIVES = 4,
	SEGMENT_MAX = 1 << 16,
};

/* --- the engine ------------------------------------------------------------------------------- */

struct engine {
	struct iw_stag_table *table;
	struct iw_rdmap *rdmap;
	uint32_t source_stag, sink_stag; /* TO 0 of both */
	uint8_t source[MEMORY], sink[MEMORY], receives[RECEIVES][1024];
	uint64_t pos; /* of its outgoing stream */
};

static struct engine engine;

static int random_stags(void *run, void *buf, size_t len)
{
	lab_fill(run, buf, len);
	return 0;
}

static void engine_free(void)
{
	iw_rdmap_free(engine.rdmap);
	iw_stag_table_free(engine.table);
	engine.rdmap = NULL;
	engine.table = NULL;
}

static int engine_register(uint8_t rights, uint8_t *base, uint32_t *stag, struct iw_fault *why)
{
	struct iw_region r = {
		.rights = rights,
		.pd = PD,
		.base = base,
		.len = MEMORY,
		.expires = IW_TIME_NEVER,
		.uses = UINT32_MAX,
	};

	return iw_stag_add(engine.table, &r, stag, why);
}

static int engine_start(struct lab_run *run, struct iw_fault *why)
{
	struct iw_rdmap_cfg cfg = {
		.mem = &iw_os_heap, .pd = PD, .stream = STREAM, .sq_depth = 16, .rq_depth = RECEIVES
	};
	struct iw_rdmap_params params = { .dv = 1, .ird = 4, .ord = 4 };
	int err = iw_stag_table_new(&engine.table, &iw_os_heap, random_stags, run);

	cfg.stags = engine.table;
	if (!err)
		err = engine_register(IW_RIGHT_REMOTE_READ | IW_RIGHT_REMOTE_WRITE, engine.source,
				      &engine.source_stag, why);
	if (!err)
		err = engine_register(IW_RIGHT_READ_SINK, engine.sink, &engine.sink_stag, why);
	if (!err)
		err = iw_rdmap_new(&engine.rdmap, &cfg, why);
	if (!err)
		err = iw_rdmap_start(engine.rdmap, &params, why);
	for (uint64_t i = 0; !err && i < RECEIVES; i++)
		err = iw_rdmap_post_recv(engine.rdmap, i, engine.receives[i],
					 sizeof(engine.receives[i]));
	return err;
}

static bool engine_new(struct lab_run *run)
{
	struct iw_fault why = { 0 };

	engine_free();
	engine.pos = 0;
	lab_fill(run, engine.source, sizeof(engine.source));
	if (engine_start(run, &why) == 0)
		return true;
	engine_free();
	return lab_fail(run, "the grader's own end cannot start: %s", why.text);
}

/* The engine's next segment, with its payload; its length, 0: none. */
static size_t engine_segment(uint8_t *out, size_t mulpdu)
{
	struct iw_segment seg;
	size_t len;

	if (iw_rdmap_pull(engine.rdmap, mulpdu, &seg, 0) == 0)
		return 0;
	len = seg.hdr_len;
	memcpy(out, seg.hdr, len);
	for (size_t i = 0; i < seg.npayload; i++) {
		memcpy(out + len, seg.payload[i].base, seg.payload[i].len);
		len += seg.payload[i].len;
	}
	engine.pos += len;
	iw_rdmap_pulled(engine.rdmap, engine.pos);
	iw_rdmap_sent(engine.rdmap, engine.pos, engine.pos);
	return len;
}

/* --- the conversation ------------------------------------------------------------------------- */

enum {
	OPERATIONS = 6,
	TRACE_MULPDU = 512, /* small, so that messages have several segments */
	TRACE_IRD = 2,
	TRACE_ORD = 2,
	TRACE_SOURCE = 400,
};

struct conversation {
	struct lab_run *run;
	struct lab_picture *picture;
	uint8_t source[TRACE_SOURCE]; /* of the student's end */
	uint8_t octets[600];          /* of Sends and Writes */
	uint32_t completed;
};

/* What the student's end does: ORD lets two Reads begin, and the Sends wait for the third. */
static const struct posted {
	uint8_t kind;
	bool fence;
	uint32_t len, at; /* at: the place in the engine's memory */
} posts[OPERATIONS] = {
	{ READ_READ, false, 1200, 0 },   { READ_WRITE, false, 600, 40000 },
	{ READ_READ, false, 300, 5000 }, { READ_READ, false, 700, 8000 },
	{ READ_SEND, false, 100, 0 },    { READ_SEND, true, 80, 0 },
};

static bool begin_student(struct conversation *c)
{
	struct lab_run *run = c->run;

	lab_fill(run, c->source, sizeof(c->source));
	lab_fill(run, c->octets, sizeof(c->octets));
	lab_call(run, "stream_new");
	lab_put_u32(run, STREAM);
	lab_put_u32(run, TRACE_IRD);
	lab_put_u32(run, TRACE_ORD);
	lab_put_u32(run, OPERATIONS);
	lab_put_u32(run, 1); /* one region: */
	lab_put_u32(run, 0x5700);
	lab_put_u32(run, 0);
	lab_put_u32(run, IW_RIGHT_REMOTE_READ);
	lab_put_u64(run, 0x1000);
	lab_put_octets(run, c->source, sizeof(c->source));
	return lab_run_call(run) &&
	       lab_expect_true(run, lab_get_u8(run), "stream_new() returned NULL") &&
	       lab_results_end(run);
}

static bool post_all(struct conversation *c)
{
	struct lab_run *run = c->run;

	for (uint32_t i = 0; i < OPERATIONS; i++) {
		const struct posted *p = &posts[i];

		lab_call(run, "stream_post");
		lab_put_u64(run, i);
		lab_put_u8(run, p->kind);
		lab_put_u8(run, p->fence);
		lab_put_u32(run, p->len);
		lab_put_octets(run, c->octets, p->kind == READ_READ ? 0 : p->len);
		lab_put_u32(run, 0x5100 + i);
		lab_put_u64(run, 0x100 * i);
		lab_put_u32(run, engine.source_stag);
		lab_put_u64(run, p->at);
		if (!lab_run_call(run) || !read_expect_error(run, READ_OK, lab_get_u16(run)))
			return false;
	}
	return true;
}

/* The engine reads the student's memory. */
static bool post_engine(struct conversation *c)
{
	struct iw_op op = {
		.kind = IW_OPK_READ,
		.len = TRACE_SOURCE,
		.remote_stag = 0x5700,
		.remote_to = 0x1000,
		.sink_stag = engine.sink_stag,
	};

	return lab_expect_true(c->run, iw_rdmap_post(engine.rdmap, &op, 0) == 0,
			       "the grader's own end cannot post a Read");
}

/* One segment of the student goes to the engine. */
static bool student_sends(struct conversation *c, bool *any)
{
	struct iw_fault why = { 0 };
	struct lab_octets seen;

	lab_call(c->run, "stream_next_segment");
	lab_put_u32(c->run, TRACE_MULPDU);
	if (!lab_run_call(c->run))
		return false;
	lab_get_u32(c->run);
	seen = lab_get_octets(c->run);
	*any = seen.len > 0;
	if (!*any)
		return true;
	if (seen.len > TRACE_MULPDU)
		return lab_fail(c->run, "a segment is longer than the MULPDU");
	lab_picture_ulpdu(c->picture, LAB_INITIATOR, seen.at, seen.len);
	if (iw_rdmap_receive(engine.rdmap, seen.at, seen.len, 0, &why) >= 0)
		return true;
	lab_clause(c->run, why.clause);
	return lab_fail(c->run, "the peer refuses the segment: %s", why.text);
}

/* One segment of the engine goes to the student. */
static bool engine_sends(struct conversation *c, bool *any)
{
	static uint8_t segment[SEGMENT_MAX];
	size_t len = engine_segment(segment, TRACE_MULPDU), header;
	struct iw_ddp h;

	*any = len > 0;
	if (!*any)
		return true;
	lab_picture_ulpdu(c->picture, LAB_RESPONDER, segment, len);
	header = (size_t)iw_wire_ddp_decode(&h, segment, len);
	lab_call(c->run, h.tagged ? "stream_response" : "stream_request");
	lab_put_octets(c->run, h.tagged ? segment : segment + header,
		       h.tagged ? len : len - header);
	return lab_run_call(c->run) && read_expect_error(c->run, READ_OK, lab_get_u16(c->run));
}

static bool take_completions(struct conversation *c)
{
	while (c->completed < OPERATIONS) {
		const struct posted *p = &posts[c->completed];
		struct lab_octets sink;
		uint64_t id;

		lab_call(c->run, "stream_next_completion");
		if (!lab_run_call(c->run))
			return false;
		if (!lab_get_u8(c->run))
			return true;
		id = lab_get_u64(c->run);
		lab_get_u8(c->run);
		lab_get_u16(c->run);
		sink = lab_get_octets(c->run);
		if (!lab_expect_number(c->run, "the operation that completes", c->completed, id))
			return false;
		if (p->kind == READ_READ &&
		    !lab_expect_octets(c->run, "the sink", engine.source + p->at, p->len, sink.at,
				       sink.len))
			return false;
		c->completed++;
	}
	return true;
}

/* Both ends send until nothing is left: first the student what it may, then each end in turn. */
static bool converse(struct conversation *c)
{
	bool student = true, engines = true;

	while (student)
		if (!student_sends(c, &student))
			return false;
	while (student || engines)
		if (!engine_sends(c, &engines) || !student_sends(c, &student) ||
		    !take_completions(c))
			return false;
	return lab_expect_number(c->run, "the number of completed operations", OPERATIONS,
				 c->completed) &&
	       lab_expect_octets(c->run, "what the peer has read", c->source, TRACE_SOURCE,
				 engine.sink, TRACE_SOURCE);
}

bool read_trace(struct lab_run *run, const char *path)
{
	struct conversation c = { .run = run };
	bool ok;

	if (!engine_new(run))
		return false;
	c.picture = lab_picture_new(run, path, true);
	if (!c.picture)
		return false;
	ok = begin_student(&c) && post_all(&c) && post_engine(&c) && converse(&c);
	engine_free();
	return lab_picture_close(run, c.picture) && ok;
}

/* --- speed ------------------------------------------------------------------------------------ */

enum {
	ROUNDS = 3,
	SPEED_MULPDU = 1442, /* of TCP over Ethernet: 1,448 octets less the FPDU's own */
	SPEED_SIZE = 65536,
	SMALL = 64,
	CALL_MS = 10000,
};
static const uint64_t LEAST_NS = 200000000; /* of a measurement */

/* Does the work n times, and verifies its result. */
typedef bool measured(struct lab_run *run, uint32_t n);

static const struct iw_rreq speed_rreq = {
	.sink_stag = 0x1234, .sink_to = 0x10000, .size = SPEED_SIZE, .src_to = 0
};

static bool student_answers(struct lab_run *run, uint32_t n)
{
	static uint8_t expected[SPEED_MULPDU];
	uint32_t payload = SPEED_MULPDU - IW_DDP_TAGGED_LEN, last = SPEED_SIZE % payload;
	struct iw_rreq q = speed_rreq;
	uint8_t octets[IW_RDMAP_RREQ_LEN];
	struct iw_ddp h = { .tagged = true, .last = true, .dv = 1, .rv = 1, .opcode = IW_OP_RRESP };
	struct lab_octets seen;
	uint64_t segments;

	q.src_stag = engine.source_stag;
	iw_rreq_encode(octets, sizeof(octets), &q);
	lab_call(run, "answer_many");
	lab_put_u32(run, n);
	lab_put_u32(run, SPEED_MULPDU);
	lab_put_octets(run, octets, sizeof(octets));
	if (!lab_run_call_within(run, CALL_MS))
		return false;
	segments = lab_get_u64(run);
	lab_get_u64(run);
	seen = lab_get_octets(run);
	h.stag = q.sink_stag;
	h.to = q.sink_to + SPEED_SIZE - last;
	iw_wire_ddp_encode(expected, sizeof(expected), &h);
	memcpy(expected + IW_DDP_TAGGED_LEN, engine.source + SPEED_SIZE - last, last);
	return lab_results_end(run) &&
	       lab_expect_number(run, "the number of segments",
				 (uint64_t)n * ((SPEED_SIZE + payload - 1) / payload), segments) &&
	       lab_expect_octets(run, "the last segment", expected, IW_DDP_TAGGED_LEN + last,
				 seen.at, seen.len);
}

/* The ULPDU of a Read Request to the engine. */
static void request_ulpdu(uint8_t out[static IW_DDP_UNTAGGED_LEN + IW_RDMAP_RREQ_LEN], uint32_t msn)
{
	struct iw_ddp h = {
		.last = true, .dv = 1, .rv = 1, .opcode = IW_OP_RREQ, .qn = IW_QN_RREQ
	};
	struct iw_rreq q = speed_rreq;

	h.msn = msn;
	q.src_stag = engine.source_stag;
	iw_wire_ddp_encode(out, IW_DDP_UNTAGGED_LEN, &h);
	iw_rreq_encode(out + IW_DDP_UNTAGGED_LEN, IW_RDMAP_RREQ_LEN, &q);
}

static bool engine_answers(struct lab_run *run, uint32_t n)
{
	static uint8_t segment[SEGMENT_MAX];
	uint8_t ulpdu[IW_DDP_UNTAGGED_LEN + IW_RDMAP_RREQ_LEN];
	struct iw_fault why = { 0 };

	if (!engine_new(run))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		request_ulpdu(ulpdu, i + 1);
		if (iw_rdmap_receive(engine.rdmap, ulpdu, sizeof(ulpdu), 0, &why) < 0)
			return lab_fail(run, "the grader's own end: %s", why.text);
		while (engine_segment(segment, SPEED_MULPDU) > 0)
			;
	}
	return true;
}

/* A Response of one segment to the engine's sink. */
static size_t small_response(uint8_t *out)
{
	struct iw_ddp h = { .tagged = true, .last = true, .dv = 1, .rv = 1, .opcode = IW_OP_RRESP };

	h.stag = engine.sink_stag;
	iw_wire_ddp_encode(out, IW_DDP_TAGGED_LEN, &h);
	memcpy(out + IW_DDP_TAGGED_LEN, engine.source, SMALL);
	return IW_DDP_TAGGED_LEN + SMALL;
}

static bool student_reads(struct lab_run *run, uint32_t n)
{
	uint8_t response[IW_DDP_TAGGED_LEN + SMALL];
	size_t len = small_response(response);
	struct lab_octets seen;
	uint64_t done;

	lab_call(run, "read_many");
	lab_put_u32(run, n);
	lab_put_u32(run, SPEED_MULPDU);
	lab_put_u32(run, engine.sink_stag);
	lab_put_u64(run, 0);
	lab_put_u32(run, SMALL);
	lab_put_octets(run, response, len);
	if (!lab_run_call_within(run, CALL_MS))
		return false;
	done = lab_get_u64(run);
	lab_get_octets(run);
	seen = lab_get_octets(run);
	return lab_results_end(run) && lab_expect_number(run, "the number of Reads", n, done) &&
	       lab_expect_octets(run, "the sink", engine.source, SMALL, seen.at, seen.len);
}

static bool engine_reads(struct lab_run *run, uint32_t n)
{
	static uint8_t segment[SEGMENT_MAX];
	uint8_t response[IW_DDP_TAGGED_LEN + SMALL];
	struct iw_fault why = { 0 };
	struct iw_completion c;
	size_t len;

	if (!engine_new(run))
		return false;
	len = small_response(response);
	for (uint32_t i = 0; i < n; i++) {
		struct iw_op op = { .kind = IW_OPK_READ,
				    .len = SMALL,
				    .sink_stag = engine.sink_stag };

		if (iw_rdmap_post(engine.rdmap, &op, 0) != 0 ||
		    engine_segment(segment, SPEED_MULPDU) == 0 ||
		    iw_rdmap_receive(engine.rdmap, response, len, 0, &why) < 0 ||
		    !iw_rdmap_next_completion(engine.rdmap, &c))
			return lab_fail(run, "the grader's own end: %s", why.text);
	}
	return true;
}

/* A stream with the engine's memory as its region, so that both have the same work. */
static bool speed_student(struct lab_run *run)
{
	lab_call(run, "stream_new");
	lab_put_u32(run, STREAM);
	lab_put_u32(run, 4);
	lab_put_u32(run, 4);
	lab_put_u32(run, 16);
	lab_put_u32(run, 1);
	lab_put_u32(run, engine.source_stag);
	lab_put_u32(run, 0);
	lab_put_u32(run, IW_RIGHT_REMOTE_READ);
	lab_put_u64(run, 0);
	lab_put_octets(run, engine.source, MEMORY);
	return lab_run_call(run) &&
	       lab_expect_true(run, lab_get_u8(run), "stream_new() returned NULL") &&
	       lab_results_end(run);
}

/* Times of one run of n, in ns; 0: it failed. */
static uint64_t time_student(struct lab_run *run, measured *work, uint32_t n)
{
	uint64_t begin;

	if (!engine_new(run) || !speed_student(run))
		return 0;
	begin = lab_now();
	return work(run, n) ? lab_now() - begin : 0;
}

static uint64_t time_engine(struct lab_run *run, measured *work, uint32_t n)
{
	uint64_t begin = lab_now();

	return work(run, n) ? lab_now() - begin : 0;
}

static double median(double v[static ROUNDS])
{
	for (int i = 1; i < ROUNDS; i++)
		for (int k = i; k > 0 && v[k] < v[k - 1]; k--) {
			double low = v[k];

			v[k] = v[k - 1];
			v[k - 1] = low;
		}
	return v[ROUNDS / 2];
}

/* Sets the two rates, in repetitions per ns. */
static bool compare(struct lab_run *run, measured *student, measured *ours, struct lab_speed *out)
{
	double of_student[ROUNDS], of_engine[ROUNDS];
	uint32_t n = 500;
	uint64_t ns = 0;

	while ((ns = time_student(run, student, n)) < LEAST_NS) {
		if (ns == 0 || n > 1u << 28)
			return false;
		n *= 2;
	}
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t a = time_student(run, student, n), b = time_engine(run, ours, n);

		if (a == 0 || b == 0)
			return false;
		of_student[i] = (double)n / (double)a;
		of_engine[i] = (double)n / (double)b;
	}
	out->student = median(of_student);
	out->ours = median(of_engine);
	return true;
}

static void scale(struct lab_speed *s, double by)
{
	s->student *= by;
	s->ours *= by;
}

int read_speed(struct lab_run *run, struct lab_speed *results, size_t cap)
{
	if (cap < 2)
		return 0;
	results[0].what = "Reads of 64 KiB, answered";
	results[0].unit = "Gb/s";
	results[1].what = "Reads of 64 octets, requested and placed";
	results[1].unit = "M/s";
	if (!compare(run, student_answers, engine_answers, &results[0]) ||
	    !compare(run, student_reads, engine_reads, &results[1]))
		return -1;
	scale(&results[0], SPEED_SIZE * 8.0);
	scale(&results[1], 1000);
	engine_free();
	return 2;
}
