/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lab 3: the trace that `make trace` draws, and the speed test. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddp/ddp.h"
#include "labs/grader/untagged/queues.h"
#include "os/os.h"
#include "trace/trace.h"
#include "util/num.h"

/* --- trace ------------------------------------------------------------------------------------ */

/* A trace in the format of --trace: iwarp-json(5). */
struct trace {
	FILE *file;
	uint64_t now, events;
};

static void trace_write(struct trace *t, struct iw_trace_event *ev)
{
	static char line[IW_TRACE_LINE];

	ev->now = t->now;
	ev->wall = t->now;
	ev->stream = 1;
	iw_trace_json(line, sizeof(line), ev);
	fprintf(t->file, "%s\n", line);
	t->events++;
}

/* Copies what the buffer of the message has now. */
static bool trace_look(const struct message *m, uint8_t *copy)
{
	struct lab_octets seen;

	lab_help(queues.run, "look");
	lab_put_u64(queues.run, m->cookie);
	if (!lab_run_call(queues.run))
		return false;
	lab_get_u8(queues.run);
	lab_get_u8(queues.run);
	seen = lab_get_octets(queues.run);
	if (seen.len != m->size)
		return lab_fail(queues.run, "the buffer of MSN %" PRIu32 " is not posted any more",
				m->msn);
	memcpy(copy, seen.at, seen.len);
	return lab_results_end(queues.run);
}

/* Receives a part, and writes which octets of the buffer the module has changed. */
static bool trace_part(struct trace *t, const struct part *p)
{
	static uint8_t before[PAYLOAD_MAX], after[PAYLOAD_MAX],
		segment[IW_DDP_HDR_MAX + PAYLOAD_MAX];
	const struct message *m = p->m;
	struct iw_ddp h = queues_header(m, p->mo, p->last);
	struct iw_trace_event ev = { .kind = IW_TRACE_segment_received };
	uint32_t begin_at = 0, end_at = m->size;

	ev.segment_received.opcode = iw_opcode_name(h.opcode);
	ev.segment_received.octets = p->len;
	ev.segment_received.msn = h.msn;
	ev.segment_received.mo = h.mo;
	ev.segment_received.last = h.last;
	trace_write(t, &ev);
	if (!trace_look(m, before))
		return false;
	iw_wire_ddp_encode(segment, sizeof(segment), &h);
	memcpy(segment + IW_DDP_UNTAGGED_LEN, m->octets + p->mo, p->len);
	lab_call(queues.run, "untagged_receive");
	lab_put_octets(queues.run, segment, IW_DDP_UNTAGGED_LEN + p->len);
	if (!lab_run_call(queues.run) || !trace_look(m, after))
		return false;
	while (begin_at < end_at && before[begin_at] == after[begin_at])
		begin_at++;
	while (end_at > begin_at && before[end_at - 1] == after[end_at - 1])
		end_at--;
	if (begin_at == end_at)
		return true;
	ev = (struct iw_trace_event){ .kind = IW_TRACE_placed };
	ev.placed.octets = end_at - begin_at;
	ev.placed.msn = h.msn;
	ev.placed.mo = begin_at;
	t->now += 1000;
	trace_write(t, &ev);
	return true;
}

/* Delivers what the module says is complete. */
static bool trace_deliver(struct trace *t)
{
	struct delivery d;

	for (;;) {
		struct iw_trace_event ev = { .kind = IW_TRACE_delivered };

		if (!queues_deliver(IW_QN_SEND, &d))
			return false;
		if (!d.is)
			return true;
		queues.delivered[IW_QN_SEND]++;
		ev.delivered.opcode = iw_opcode_name(d.control & 15);
		ev.delivered.octets = d.length;
		ev.delivered.msn = d.msn;
		t->now += 1000;
		trace_write(t, &ev);
	}
}

enum { TRACE_MESSAGES = 4, TRACE_OCTETS = 14300, TRACE_PAYLOAD = 1430 };

/*
 * Four Sends. Some segments are lost, and arrive a round trip (20 segments) later; some arrive
 * twice.
 */
static bool trace_prepare(struct lab_run *run)
{
	struct part late[SEGMENTS];
	size_t due[SEGMENTS], waiting = 0, n = 0;
	static struct part all[SEGMENTS];

	queues.part_count = 0;
	for (size_t i = 0; i < TRACE_MESSAGES; i++) {
		struct message *m = queues_add(IW_QN_SEND, TRACE_OCTETS, TRACE_OCTETS);

		if (!m)
			return false;
		for (uint32_t mo = 0; mo < m->len; mo += TRACE_PAYLOAD)
			queues_part(m, mo, TRACE_PAYLOAD, mo + TRACE_PAYLOAD == m->len);
	}
	memcpy(all, queues.parts, sizeof(all));
	n = queues.part_count;
	queues.part_count = 0;
	for (size_t i = 0; i < n || waiting; i++) {
		for (size_t w = 0; w < waiting;) {
			if (due[w] > i) {
				w++;
				continue;
			}
			queues.parts[queues.part_count++] = late[w];
			waiting--;
			late[w] = late[waiting];
			due[w] = due[waiting];
		}
		if (i >= n)
			continue;
		if (lab_below(run, 6) == 0) {
			late[waiting] = all[i];
			due[waiting++] = i + 20;
		} else {
			queues.parts[queues.part_count++] = all[i];
		}
		/* A repeated segment: the transport may pass it before its message is delivered. */
		if (lab_below(run, 12) == 0) {
			late[waiting] = all[i];
			due[waiting++] = i + 3;
		}
	}
	return true;
}

bool untagged_trace(struct lab_run *run, const char *path)
{
	struct trace t = { .file = NULL, .now = IW_SEC(1) };
	struct iw_trace_event ev = { .kind = IW_TRACE_trace_end };
	bool ok;

	if (!queues_begin_plain(run, TRACE_MESSAGES) || !trace_prepare(run))
		return false;
	t.file = fopen(path, "w");
	if (!t.file)
		return lab_fail(run, "%s cannot be written", path);
	ok = true;
	for (size_t i = 0; ok && i < queues.part_count; i++) {
		t.now += 10000;
		if (queues_delivered(queues.parts[i].m))
			continue;
		ok = trace_part(&t, &queues.parts[i]) && trace_deliver(&t);
	}
	ev.trace_end.events = t.events;
	trace_write(&t, &ev);
	if (fclose(t.file) && ok)
		return lab_fail(run, "%s cannot be written", path);
	return ok && queues_end();
}

/* --- speed ------------------------------------------------------------------------------------ */

enum { SPEED_OCTETS = 65536, SPEED_RUNS = 3, SPEED_ROUNDS_MAX = 200000, SPEED_NS = 250000000 };

/* The segments of one message, in parts[], are received `rounds` times. */
static bool speed_student(struct lab_run *run, const struct message *m, uint32_t rounds,
			  uint64_t *ns)
{
	static uint8_t segment[IW_DDP_HDR_MAX + PAYLOAD_MAX];
	struct lab_octets seen;
	uint32_t delivered;
	uint64_t octets;

	lab_call(run, "repeat");
	lab_put_u32(run, rounds);
	lab_put_u32(run, m->len);
	lab_put_u32(run, (uint32_t)queues.part_count);
	for (size_t i = 0; i < queues.part_count; i++) {
		struct iw_ddp h = queues_header(m, queues.parts[i].mo, queues.parts[i].last);

		iw_wire_ddp_encode(segment, sizeof(segment), &h);
		memcpy(segment + IW_DDP_UNTAGGED_LEN, m->octets + queues.parts[i].mo,
		       queues.parts[i].len);
		lab_put_octets(run, segment, IW_DDP_UNTAGGED_LEN + queues.parts[i].len);
	}
	*ns = lab_now();
	if (!lab_run_call_within(run, 20000))
		return false;
	*ns = lab_now() - *ns;
	delivered = lab_get_u32(run);
	octets = lab_get_u64(run);
	seen = lab_get_octets(run);
	return lab_results_end(run) &&
	       lab_expect_number(run, "delivered messages", rounds, delivered) &&
	       lab_expect_number(run, "delivered octets", (uint64_t)rounds * m->len, octets) &&
	       lab_expect_octets(run, "the buffer", m->octets, m->len, seen.at, seen.len);
}

/* The same with the engine. The number of a segment in the sender's order follows from its MO. */
static uint64_t speed_ours(const struct message *m, uint32_t rounds, uint32_t payload)
{
	static uint8_t memory[SPEED_OCTETS];
	struct iw_ddp_cfg cfg = {
		.mem = &iw_os_heap,
		.stream = 1,
		.dv = 1,
		.queue_depth = { 1 },
		.early_max = SEGMENTS * 4,
	};
	struct iw_ddp_stream *d = NULL;
	struct iw_ddp_msg got;
	uint64_t began, seq = 0;

	if (iw_ddp_new(&d, &cfg, NULL) < 0)
		abort();
	began = lab_now();
	for (uint32_t round = 0; round < rounds; round++) {
		if (iw_ddp_post(d, IW_QN_SEND, memory, m->len, round) < 0)
			abort();
		for (size_t i = 0; i < queues.part_count; i++) {
			uint8_t octets[IW_DDP_HDR_MAX];
			struct iw_ddp h =
				queues_header(m, queues.parts[i].mo, queues.parts[i].last);

			/* The student's module decodes the header too. */
			h.msn = 1 + round;
			iw_wire_ddp_encode(octets, sizeof(octets), &h);
			iw_wire_ddp_decode(&h, octets, sizeof(octets));
			if (iw_ddp_place(d, &h, m->octets + h.mo, queues.parts[i].len, 0, 0, NULL) <
				    0 ||
			    iw_ddp_arrive(d, seq + h.mo / payload, &h, queues.parts[i].len, NULL) <
				    0)
				abort();
		}
		if (iw_ddp_deliver(d, &got, NULL) != 1 || got.len != m->len)
			abort();
		seq += queues.part_count;
	}
	began = lab_now() - began;
	if (memcmp(memory, m->octets, m->len) != 0)
		abort();
	iw_ddp_free(d);
	return began;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* A new receiver, and a message in parts[]. NULL: failed. */
static struct message *speed_begin(struct lab_run *run, uint32_t payload, bool shuffled)
{
	struct message *m = &queues.messages[0];

	if (!queues_begin_plain(run, 1))
		return NULL;
	*m = (struct message){ .msn = 1, .len = SPEED_OCTETS, .control = 0x43 };
	m->octets = queues_pool(m->len, 0);
	lab_fill(run, m->octets, m->len);
	queues.part_count = 0;
	for (uint32_t mo = 0; mo < m->len; mo += payload)
		queues_part(m, mo, IW_MIN(payload, m->len - mo), m->len - mo <= payload);
	if (shuffled)
		queues_shuffle(run);
	return m;
}

/* How often the module must receive the message for a measurement of about SPEED_NS. */
static bool speed_rounds(struct lab_run *run, uint32_t payload, bool shuffled, uint32_t *rounds)
{
	const uint32_t few = 2000;
	struct message *m = speed_begin(run, payload, shuffled);
	uint64_t ns, n;

	if (!m || !speed_student(run, m, few, &ns) || !queues_end())
		return false;
	n = few * (uint64_t)SPEED_NS / (ns + 1) + 1;
	*rounds = (uint32_t)IW_MIN(n, SPEED_ROUNDS_MAX);
	return true;
}

/* Measures segments a second if `shuffled`, otherwise bits. */
static bool speed_one(struct lab_run *run, uint32_t payload, bool shuffled,
		      struct lab_speed *result)
{
	uint64_t student[SPEED_RUNS], ours[SPEED_RUNS];
	uint32_t rounds;
	double work;

	if (!speed_rounds(run, payload, shuffled, &rounds))
		return false;
	for (size_t i = 0; i < SPEED_RUNS; i++) {
		struct message *m = speed_begin(run, payload, shuffled);

		if (!m || !speed_student(run, m, rounds, &student[i]) || !queues_end())
			return false;
		ours[i] = speed_ours(m, rounds, payload);
	}
	qsort(student, SPEED_RUNS, sizeof(student[0]), by_value);
	qsort(ours, SPEED_RUNS, sizeof(ours[0]), by_value);
	work = shuffled ? (double)rounds * (double)queues.part_count * 1e3
			: (double)rounds * SPEED_OCTETS * 8;
	result->student = work / (double)student[SPEED_RUNS / 2];
	result->ours = work / (double)ours[SPEED_RUNS / 2];
	return true;
}

int untagged_speed(struct lab_run *run, struct lab_speed *results, size_t cap)
{
	if (cap < 2)
		return 0;
	results[0] =
		(struct lab_speed){ .what = "segments of 1,430 octets, in order", .unit = "Gb/s" };
	results[1] = (struct lab_speed){ .what = "segments of 256 octets, in random order",
					 .unit = "million/s" };
	if (!speed_one(run, 1430, false, &results[0]) || !speed_one(run, 256, true, &results[1]))
		return -1;
	return 2;
}
