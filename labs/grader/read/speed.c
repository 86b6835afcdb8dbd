/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lab 4: the speeds of the module and of the project's engine. */
#include <string.h>

#include "labs/grader/read/engine.h"
#include "labs/grader/read/internal.h"
#include "util/num.h"

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

	q.src_stag = read_engine.source_stag;
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
	memcpy(expected + IW_DDP_TAGGED_LEN, read_engine.source + SPEED_SIZE - last, last);
	return lab_results_end(run) &&
	       lab_expect_number(run, "the number of segments",
				 (uint64_t)n * ((SPEED_SIZE + payload - 1) / payload), segments) &&
	       lab_expect_octets(run, "the last segment", expected, IW_DDP_TAGGED_LEN + last,
				 seen.at, seen.len);
}

/* The ULPDU of a Read Request to the read_engine. */
static void request_ulpdu(uint8_t out[static IW_DDP_UNTAGGED_LEN + IW_RDMAP_RREQ_LEN], uint32_t msn)
{
	struct iw_ddp h = {
		.last = true, .dv = 1, .rv = 1, .opcode = IW_OP_RREQ, .qn = IW_QN_RREQ
	};
	struct iw_rreq q = speed_rreq;

	h.msn = msn;
	q.src_stag = read_engine.source_stag;
	iw_wire_ddp_encode(out, IW_DDP_UNTAGGED_LEN, &h);
	iw_rreq_encode(out + IW_DDP_UNTAGGED_LEN, IW_RDMAP_RREQ_LEN, &q);
}

static bool engine_answers(struct lab_run *run, uint32_t n)
{
	static uint8_t segment[READ_ENGINE_SEGMENT];
	uint8_t ulpdu[IW_DDP_UNTAGGED_LEN + IW_RDMAP_RREQ_LEN];
	struct iw_fault why = { 0 };

	if (!read_engine_new(run))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		request_ulpdu(ulpdu, i + 1);
		if (iw_rdmap_receive(read_engine.rdmap, ulpdu, sizeof(ulpdu), 0, &why) < 0)
			return lab_fail(run, "the grader's own end: %s", why.text);
		while (read_engine_segment(segment, SPEED_MULPDU) > 0)
			;
	}
	return true;
}

/* A Response of one segment to the engine's sink. */
static size_t small_response(uint8_t *out)
{
	struct iw_ddp h = { .tagged = true, .last = true, .dv = 1, .rv = 1, .opcode = IW_OP_RRESP };

	h.stag = read_engine.sink_stag;
	iw_wire_ddp_encode(out, IW_DDP_TAGGED_LEN, &h);
	memcpy(out + IW_DDP_TAGGED_LEN, read_engine.source, SMALL);
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
	lab_put_u32(run, read_engine.sink_stag);
	lab_put_u64(run, 0);
	lab_put_u32(run, SMALL);
	lab_put_octets(run, response, len);
	if (!lab_run_call_within(run, CALL_MS))
		return false;
	done = lab_get_u64(run);
	lab_get_octets(run);
	seen = lab_get_octets(run);
	return lab_results_end(run) && lab_expect_number(run, "the number of Reads", n, done) &&
	       lab_expect_octets(run, "the sink", read_engine.source, SMALL, seen.at, seen.len);
}

static bool engine_reads(struct lab_run *run, uint32_t n)
{
	static uint8_t segment[READ_ENGINE_SEGMENT];
	uint8_t response[IW_DDP_TAGGED_LEN + SMALL];
	struct iw_fault why = { 0 };
	struct iw_completion c;
	size_t len;

	if (!read_engine_new(run))
		return false;
	len = small_response(response);
	for (uint32_t i = 0; i < n; i++) {
		struct iw_op op = { .kind = IW_OPK_READ,
				    .len = SMALL,
				    .sink_stag = read_engine.sink_stag };

		if (iw_rdmap_post(read_engine.rdmap, &op, 0) != 0 ||
		    read_engine_segment(segment, SPEED_MULPDU) == 0 ||
		    iw_rdmap_receive(read_engine.rdmap, response, len, 0, &why) < 0 ||
		    !iw_rdmap_next_completion(read_engine.rdmap, &c))
			return lab_fail(run, "the grader's own end: %s", why.text);
	}
	return true;
}

/* A stream with the engine's memory as its region, so that both have the same work. */
static bool speed_student(struct lab_run *run)
{
	lab_call(run, "stream_new");
	lab_put_u32(run, READ_STREAM);
	lab_put_u32(run, 4);
	lab_put_u32(run, 4);
	lab_put_u32(run, 16);
	lab_put_u32(run, 1);
	lab_put_u32(run, read_engine.source_stag);
	lab_put_u32(run, 0);
	lab_put_u32(run, IW_RIGHT_REMOTE_READ);
	lab_put_u64(run, 0);
	lab_put_octets(run, read_engine.source, READ_ENGINE_MEMORY);
	return lab_run_call(run) &&
	       lab_expect_true(run, lab_get_u8(run), "stream_new() returned NULL") &&
	       lab_results_end(run);
}

/* Times of one run of n, in ns; 0: it failed. */
static uint64_t time_student(struct lab_run *run, measured *work, uint32_t n)
{
	uint64_t begin;

	if (!read_engine_new(run) || !speed_student(run))
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
	read_engine_free();
	return 2;
}
