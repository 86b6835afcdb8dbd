/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lab 2: the conversation of `make trace`, and the measurements of ./check --speed. */
#include "labs/grader/tagged/tagged.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labs/grader/tagged/world.h"
#include "os/os.h"
#include "trace/trace.h"
#include "util/num.h"

/* --- trace ------------------------------------------------------------------------------------ */

/*
 * Two messages arrive at the same time: an RDMA Write, of which an LLP delivers some segments late,
 * and a Read Response in order. Then the first STag is revoked, and a last segment must be refused.
 * The trace has what the module did: a range counts as placed if the memory has changed there.
 */
enum {
	TRACE_SIZE = 1434, /* payload of a segment: MULPDU of Ethernet, less the header */
	TRACE_WRITES = 44,
	TRACE_RESPONSES = 22,
	TRACE_LEN = TRACE_SIZE * TRACE_WRITES,
};

struct tracing {
	struct world *w;
	FILE *file;
	uint64_t events, placed;
	uint32_t stags[2]; /* of memory 0 and 1 */
	uint64_t bases[2];
	uint8_t seen[2][TRACE_LEN]; /* the module's memory before the present segment */
};

static void emit(struct tracing *t, struct iw_trace_event *ev)
{
	char line[IW_TRACE_LINE];

	ev->now = iw_os_now();
	ev->wall = iw_os_wall();
	ev->stream = 1;
	iw_trace_json(line, sizeof(line), ev);
	fprintf(t->file, "%s\n", line);
	t->events++;
}

static void emit_received(struct tracing *t, const struct iw_ddp *h)
{
	struct iw_trace_event ev = { .kind = IW_TRACE_segment_received };

	ev.segment_received.opcode = iw_opcode_name(h->opcode);
	ev.segment_received.octets = TRACE_SIZE;
	ev.segment_received.stag = h->stag;
	ev.segment_received.to = h->to;
	ev.segment_received.tagged = true;
	ev.segment_received.last = h->last;
	emit(t, &ev);
}

static void emit_refused(struct tracing *t, uint16_t code)
{
	struct iw_trace_event ev = { .kind = IW_TRACE_terminate };

	ev.terminate.layer = code >> 12;
	ev.terminate.etype = code >> 8 & 0xf;
	ev.terminate.code = code & 0xff;
	ev.terminate.error = world_code_name(code);
	ev.terminate.clause = "RFC 5041 7.1";
	ev.terminate.text = "the module refused a segment";
	emit(t, &ev);
}

/* From the first to the last octet of memory m that has changed. */
static void emit_changed(struct tracing *t, uint32_t m, const uint8_t *now, size_t len)
{
	struct iw_trace_event ev = { .kind = IW_TRACE_placed };
	size_t first = 0, last = len;

	while (first < len && now[first] == t->seen[m][first])
		first++;
	while (last > first && now[last - 1] == t->seen[m][last - 1])
		last--;
	if (first == last)
		return;
	memcpy(t->seen[m], now, len);
	ev.placed.octets = last - first;
	ev.placed.stag = t->stags[m];
	ev.placed.to = t->bases[m] + first;
	ev.placed.tagged = true;
	emit(t, &ev);
	t->placed++;
}

static bool look_at_memory(struct tracing *t, uint32_t m)
{
	struct lab_run *run = t->w->run;
	struct lab_octets now;

	lab_help(run, "octets");
	lab_put_u32(run, m);
	if (!lab_run_call(run))
		return false;
	lab_get_u8(run);
	now = lab_get_octets(run);
	if (!lab_results_end(run))
		return false;
	if (now.len != t->w->memories[m].len)
		return lab_fail(run, "the memory has %zu octets; was calls.c changed?", now.len);
	emit_changed(t, m, now.at, now.len);
	return true;
}

/* Segment n of the message to memory m. Each octet of it changes the memory. */
static bool trace_segment(struct tracing *t, uint32_t m, uint8_t opcode, uint32_t n, uint32_t count)
{
	struct world *w = t->w;
	size_t at = (size_t)n * TRACE_SIZE;
	struct iw_ddp h = world_header(opcode, t->stags[m], t->bases[m] + at);
	uint16_t code;

	h.last = n == count - 1;
	iw_wire_ddp_encode(w->segment, sizeof(w->segment), &h);
	for (size_t i = 0; i < TRACE_SIZE; i++)
		w->segment[TAGGED_HEADER_LEN + i] = t->seen[m][at + i] ^
						    (uint8_t)(1 + lab_below(w->run, 255));
	emit_received(t, &h);
	lab_call(w->run, "tagged_place");
	lab_put_u8(w->run, 0);
	lab_put_octets(w->run, w->segment, TAGGED_HEADER_LEN + TRACE_SIZE);
	if (!lab_run_call(w->run))
		return false;
	code = lab_get_u16(w->run);
	if (code > TAGGED_DROPPED)
		emit_refused(t, code);
	return look_at_memory(t, m);
}

/* Segments 9, 10 and 27 are late. */
static uint32_t late(uint32_t i)
{
	static const uint32_t order[TRACE_WRITES] = {
		0,  1,  2,  3,  4,  5,  6,  7,  8,  11, 12, 13, 14, 15, 16,
		17, 18, 19, 20, 9,  10, 21, 22, 23, 24, 25, 26, 28, 29, 30,
		31, 32, 33, 34, 35, 36, 37, 27, 38, 39, 40, 41, 42, 43,
	};

	return order[i];
}

static bool trace_messages(struct tracing *t)
{
	for (uint32_t i = 0; i < TRACE_WRITES; i++)
		if (!trace_segment(t, 0, IW_OP_WRITE, late(i), TRACE_WRITES) ||
		    (i % 2 && !trace_segment(t, 1, IW_OP_RRESP, i / 2, TRACE_RESPONSES)))
			return false;
	return world_deregister(t->w, "the first buffer", t->stags[0]) &&
	       trace_segment(t, 0, IW_OP_WRITE, 0, TRACE_WRITES);
}

static bool trace_register(struct tracing *t)
{
	static const struct region target = { 0, TRACE_LEN, BASE, 7, 0, TAGGED_REMOTE_WRITE };
	static const struct region sink = {
		1, TRACE_SIZE * TRACE_RESPONSES, 0x1000, 7, 0, TAGGED_READ_SINK,
	};
	struct world *w = t->w;

	if (!world_random_table(w) || !world_memory(w, 0, target.len) ||
	    !world_memory(w, 1, sink.len) || !world_stream(w, 0, 7, 1) ||
	    !world_register(w, "of an RDMA Write", &target, &t->stags[0]) ||
	    !world_register(w, "of an RDMA Read", &sink, &t->stags[1]))
		return false;
	t->bases[0] = target.base;
	t->bases[1] = sink.base;
	for (size_t m = 0; m < 2; m++)
		memcpy(t->seen[m], w->memories[m].octets, w->memories[m].len);
	return true;
}

static bool trace_to(struct tracing *t)
{
	struct iw_trace_event ev = { .kind = IW_TRACE_trace_end };
	bool done = trace_register(t) && trace_messages(t);

	ev.trace_end.events = t->events;
	emit(t, &ev);
	if (done && t->placed == 0)
		return lab_fail(t->w->run, "the module has placed nothing");
	return done;
}

bool tagged_trace(struct lab_run *run, const char *path)
{
	static struct tracing t;
	struct world *w = calloc(1, sizeof(*w));
	bool done = w && world_begin(w, run);

	t = (struct tracing){ .w = w, .file = done ? fopen(path, "w") : NULL };
	if (done && !t.file)
		done = lab_fail(run, "%s cannot be written", path);
	done = done && trace_to(&t);
	if (t.file && fclose(t.file) && done)
		done = lab_fail(run, "%s cannot be written", path);
	if (w)
		world_end(w);
	free(w);
	return done;
}

/* --- speed ------------------------------------------------------------------------------------ */

enum {
	SPEED_SEGMENTS = 64,
	SPEED_SMALL = 64,
	SPEED_LARGE = 8192,
	SPEED_TIMES = 3,
	SPEED_MS = 60000,
};
#define SPEED_NS (uint64_t)300000000 /* of one measurement */

/* The segments one after the other; each is placed after the one before it. */
struct load {
	uint8_t *octets;
	size_t segment_len; /* with its header */
};

static bool make_load(struct world *w, struct load *load, uint32_t stag, size_t payload)
{
	load->segment_len = TAGGED_HEADER_LEN + payload;
	load->octets = malloc(SPEED_SEGMENTS * load->segment_len);
	if (!load->octets)
		return lab_fail(w->run, "the grader has no memory");
	lab_fill(w->run, load->octets, SPEED_SEGMENTS * load->segment_len);
	for (size_t i = 0; i < SPEED_SEGMENTS; i++) {
		struct iw_ddp h = world_header(IW_OP_WRITE, stag, BASE + i * payload);

		iw_wire_ddp_encode(load->octets + i * load->segment_len, TAGGED_HEADER_LEN, &h);
	}
	return true;
}

/* Places the load with the engine, into the copy of the memory. Returns ns; 0: it was refused. */
static uint64_t run_engine(struct world *w, const struct load *load, uint32_t engine,
			   uint32_t times)
{
	struct iw_ddp_stream *s = w->streams[0].engine;
	struct iw_fault why = { 0 };
	uint64_t begun = lab_now();

	for (uint32_t n = 0; n < times; n++)
		for (size_t i = 0; i < SPEED_SEGMENTS; i++) {
			const uint8_t *segment = load->octets + i * load->segment_len;
			struct iw_ddp h;

			if (world_judge(&h, segment, load->segment_len) != TAGGED_OK)
				return 0;
			h.stag = engine;
			if (iw_ddp_place(s, &h, segment + TAGGED_HEADER_LEN,
					 load->segment_len - TAGGED_HEADER_LEN,
					 IW_RIGHT_REMOTE_WRITE, 0, &why))
				return 0;
		}
	return IW_MAX(lab_now() - begun, 1);
}

/* The same with the module. Returns ns, or 0 after lab_fail(). */
static uint64_t run_module(struct world *w, const struct load *load, uint32_t times)
{
	uint64_t ns, expected = (uint64_t)times * SPEED_SEGMENTS;

	lab_call(w->run, "place_many");
	lab_put_u8(w->run, 0);
	lab_put_u32(w->run, times);
	lab_put_u32(w->run, (uint32_t)load->segment_len);
	lab_put_octets(w->run, load->octets, SPEED_SEGMENTS * load->segment_len);
	ns = lab_now();
	if (!lab_run_call_within(w->run, SPEED_MS))
		return 0;
	ns = lab_now() - ns;
	if (!lab_expect_number(w->run, "segments placed", expected, lab_get_u64(w->run)) ||
	    !lab_results_end(w->run) || !world_same_memory(w, "the memory"))
		return 0;
	return IW_MAX(ns, 1);
}

static double median(const double v[static SPEED_TIMES])
{
	double low = IW_MIN(v[0], v[1]), high = IW_MAX(v[0], v[1]);

	return v[2] < low ? low : v[2] > high ? high : v[2];
}

/* The engine runs first, so that the copy has what the module's memory must have afterwards. */
static bool fill_copy(struct world *w, const struct load *load, uint32_t engine)
{
	return lab_expect_true(w->run, run_engine(w, load, engine, 1),
			       "the engine refused a segment");
}

/* Repetitions that take the module about as long as a measurement should. 0 after lab_fail(). */
static uint32_t choose_times(struct world *w, const struct load *load)
{
	const uint32_t times = 100;
	uint64_t ns = run_module(w, load, times);

	if (!ns)
		return 0;
	return (uint32_t)IW_MIN(IW_MAX(times * SPEED_NS / ns, 10), 1000000);
}

/* scale: what one segment is in the unit of the result. */
static bool measure_load(struct world *w, const struct load *load, uint32_t engine, double scale,
			 struct lab_speed *result)
{
	double student[SPEED_TIMES], ours[SPEED_TIMES];
	uint32_t times = choose_times(w, load);

	for (size_t i = 0; i < SPEED_TIMES; i++) {
		uint64_t ns = times ? run_module(w, load, times) : 0;
		double segments = (double)times * SPEED_SEGMENTS;

		if (!ns)
			return false;
		student[i] = segments * scale / (double)ns;
		ours[i] = segments * scale / (double)run_engine(w, load, engine, times);
	}
	result->student = median(student);
	result->ours = median(ours);
	return true;
}

/* Other regions are registered too, so that the table is not empty. */
static bool measure_payload(struct world *w, size_t payload, double scale, struct lab_speed *result)
{
	struct region r = { 0, SPEED_SEGMENTS * payload, BASE, 7, 0, TAGGED_REMOTE_WRITE };
	struct load load = { 0 };
	uint32_t stag;
	bool done;

	if (!world_random_table(w) || !world_memory(w, 0, r.len) || !world_stream(w, 0, 7, 1))
		return false;
	for (size_t i = 0; i < TAGGED_SLOTS / 2; i++)
		if (!world_register(w, "half of the slots", &r, &stag))
			return false;
	lab_case(w->run, "RDMA Writes of %zu octets", payload);
	done = make_load(w, &load, stag, payload) &&
	       fill_copy(w, &load, world_engine_stag(w, stag)) &&
	       measure_load(w, &load, world_engine_stag(w, stag), scale, result);
	free(load.octets);
	return done;
}

int tagged_speed(struct lab_run *run, struct lab_speed *results, size_t cap)
{
	static const struct {
		const char *what, *unit;
		size_t payload;
		double scale; /* of segments per ns */
	} loads[] = {
		{ "RDMA Writes of 64 octets, placed", "million/s", SPEED_SMALL, 1e3 },
		{ "RDMA Writes of 8,192 octets, placed", "Gb/s", SPEED_LARGE, 8.0 * SPEED_LARGE },
	};
	size_t n = IW_MIN(cap, IW_ARRAY_LEN(loads));

	for (size_t i = 0; i < n; i++) {
		struct world *w = calloc(1, sizeof(*w));
		bool done = w && world_begin(w, run) &&
			    measure_payload(w, loads[i].payload, loads[i].scale, &results[i]);

		results[i].what = loads[i].what;
		results[i].unit = loads[i].unit;
		if (w)
			world_end(w);
		free(w);
		if (!done)
			return -1;
	}
	return (int)n;
}
