/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lab 4: the steps about Read Requests of the peer. */
#include "labs/grader/read/internal.h"
#include "labs/grader/read/model.h"
#include "util/num.h"

enum { MULPDU = 128 /* of most cases: Responses in segments of 114 octets */ };

static struct read_model model;

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

bool read_response_step(struct lab_run *run)
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

/* IRD Requests at once, several times, so that every place of a ring is used again. */
static bool queue_rounds(struct lab_run *run, uint32_t ird)
{
	if (!read_new(&model, run, ird, 0, 1, 1000))
		return false;
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < ird; i++)
			if (!read_request_of(&model, (uint32_t)lab_below(run, 250)))
				return false;
		if (!read_segments(&model, MULPDU))
			return false;
		/* The next round begins at another place. */
		if (ird > 1 && (!read_request_of(&model, 200) || !read_segments(&model, MULPDU)))
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
		if (!read_request_of(&model, 300))
			return false;
	if (partial && !read_segment(&model, MULPDU, NULL))
		return false;
	return read_request_of(&model, 0) && read_segments(&model, MULPDU) && read_free(&model);
}

/* The last segment of a Response frees its place. */
static bool queue_exact(struct lab_run *run)
{
	if (!read_new(&model, run, 2, 0, 1, 1000) || !read_request_of(&model, 200) ||
	    !read_request_of(&model, 100))
		return false;
	if (!read_segment(&model, MULPDU, NULL) || !read_segment(&model, MULPDU, NULL) ||
	    !read_request_of(&model, 0) || !read_segment(&model, MULPDU, NULL) ||
	    !read_request_of(&model, 228))
		return false;
	return read_segments(&model, MULPDU) && read_free(&model);
}

bool read_queue_step(struct lab_run *run)
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
				    ? !read_request_of(&model, (uint32_t)lab_below(run, 500))
				    : !read_segment(&model, 128 + lab_below(run, 100), NULL))
				return false;
		if (!read_segments(&model, MULPDU) || !read_free(&model))
			return false;
	}
	return true;
}
