/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lab 4: the steps about operations of the student's end. */
#include "labs/grader/read/internal.h"
#include "labs/grader/read/model.h"
#include "util/num.h"

enum { MULPDU = 128 /* of most cases: Responses in segments of 114 octets */ };

static struct read_model model;

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
		    !read_segment(&model, MULPDU, NULL) || !read_request_of(&model, 300) ||
		    !post(READ_READ, 10) || !read_segments(&model, MULPDU))
			return false;
		if (!read_request_of(&model, 300) || !read_segment(&model, MULPDU, NULL) ||
		    !post(kind, 10) || !read_request_of(&model, 20) ||
		    !read_segments(&model, MULPDU) || !read_free(&model))
			return false;
	}
	lab_clause(run, NULL);
	return true;
}

bool read_post_step(struct lab_run *run)
{
	if (!post_sizes(run) || !post_order(run) || !post_between(run))
		return false;
	for (int i = 0; i < 12; i++) {
		if (!read_new(&model, run, 4, 40, 40, 1000))
			return false;
		for (int n = 0; n < 40; n++) {
			uint64_t what = lab_below(run, 4);

			if (what == 3 && model.end - model.first < 4 &&
			    !read_request_of(&model, (uint32_t)lab_below(run, 300)))
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

bool read_place_step(struct lab_run *run)
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
	if (!read_request_of(&model, 200) || !read_segments(&model, MULPDU) ||
	    !read_answer(&model, 100) || !read_segments(&model, MULPDU))
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
	    !read_answer(&model, 50) || !read_request_of(&model, 200) ||
	    !read_segments(&model, MULPDU))
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
			     read_request_of(&model, (uint32_t)lab_below(run, 300));
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

/* Sends and answers all operations. */
static bool finish(void)
{
	do {
		if (!read_segments(&model, MULPDU) || !read_answers(&model, 200))
			return false;
	} while (model.next != model.tail || read_outstanding(&model) > 0);
	return true;
}

bool read_limits_step(struct lab_run *run)
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

bool read_completion_step(struct lab_run *run)
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
	    !post(READ_SEND, 10) || !read_request_of(&model, 100))
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
	    !read_request_of(&model, 10))
		return false;
	q = read_valid(&model, 10);
	q.src_to += 1000;
	return read_request(&model, &q) && after_error();
}

bool read_errors_step(struct lab_run *run)
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
