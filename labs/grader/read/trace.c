/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lab 4: the module in a conversation with the project's engine, as a capture. */
#include "labs/grader/picture.h"
#include "labs/grader/read/engine.h"
#include "labs/grader/read/internal.h"
#include "labs/grader/read/model.h"

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
	lab_put_u32(run, READ_STREAM);
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
		lab_put_u32(run, read_engine.source_stag);
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
		.sink_stag = read_engine.sink_stag,
	};

	return lab_expect_true(c->run, iw_rdmap_post(read_engine.rdmap, &op, 0) == 0,
			       "the grader's own end cannot post a Read");
}

/* One segment of the student goes to the read_engine. */
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
	if (iw_rdmap_receive(read_engine.rdmap, seen.at, seen.len, 0, &why) >= 0)
		return true;
	lab_clause(c->run, why.clause);
	return lab_fail(c->run, "the peer refuses the segment: %s", why.text);
}

/* One segment of the engine goes to the student. */
static bool engine_sends(struct conversation *c, bool *any)
{
	static uint8_t segment[READ_ENGINE_SEGMENT];
	size_t len = read_engine_segment(segment, TRACE_MULPDU), header;
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
		    !lab_expect_octets(c->run, "the sink", read_engine.source + p->at, p->len,
				       sink.at, sink.len))
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
				 read_engine.sink, TRACE_SOURCE);
}

bool read_trace(struct lab_run *run, const char *path)
{
	struct conversation c = { .run = run };
	bool ok;

	if (!read_engine_new(run))
		return false;
	c.picture = lab_picture_new(run, path, true);
	if (!c.picture)
		return false;
	ok = begin_student(&c) && post_all(&c) && post_engine(&c) && converse(&c);
	read_engine_free();
	return lab_picture_close(run, c.picture) && ok;
}
