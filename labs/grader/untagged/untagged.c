/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lab 3: untagged queues, MSN and delivery order. The model of untagged_queues.h says what each call
 * must return; the codes of wrong segments are those of the project's engine.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ddp/ddp.h"
#include "labs/grader/peer/peer.h"
#include "labs/grader/untagged/queues.h"
#include "os/os.h"
#include "util/num.h"

/* --- steps ------------------------------------------------------------------------------------ */

/* A flush of a queue that no stream has. */
static bool flush_unknown(struct lab_run *run, uint32_t qn)
{
	lab_case(run, "QN %" PRIu32 ", which no stream has", qn);
	return queues_flush(qn, false, 0);
}

static bool buffers_fixed(struct lab_run *run)
{
	lab_case(run, "queues with room for 3, 1 and no buffers");
	if (!queues_begin(run, (uint32_t[QUEUES]){ 3, 1, 0 }, (uint32_t[QUEUES]){ 1, 1, 1 }))
		return false;
	for (uint32_t i = 0; i < 3; i++)
		if (!queues_add(IW_QN_SEND, 8, 8 + i))
			return false;
	return queues_post(IW_QN_SEND, 8, 1, false) && queues_add(IW_QN_RREQ, 8, 28) &&
	       queues_post(IW_QN_RREQ, 28, 2, false) && queues_post(IW_QN_TERM, 52, 3, false) &&
	       queues_post(3, 8, 4, false) && queues_post(UINT32_MAX, 8, 5, false) &&
	       queues_expect_flush() && flush_unknown(run, 3) && flush_unknown(run, UINT32_MAX) &&
	       queues_end();
}

static bool step_buffers(struct lab_run *run)
{
	uint32_t depth[QUEUES];

	if (!buffers_fixed(run))
		return false;
	lab_case(run, "the largest queue");
	if (!queues_begin_plain(run, DEPTH_MAX))
		return false;
	for (uint32_t i = 0; i < DEPTH_MAX; i++)
		if (!queues_add(IW_QN_SEND, 0, 1))
			return false;
	if (!queues_post(IW_QN_SEND, 8, 1, false) || !queues_expect_flush() || !queues_end())
		return false;
	for (unsigned int round = 0; round < 12; round++) {
		lab_case(run, "random numbers of buffers");
		for (size_t qn = 0; qn < QUEUES; qn++)
			depth[qn] = 1 + (uint32_t)lab_below(run, 12);
		if (!queues_begin(run, depth, (uint32_t[QUEUES]){ 1, 1, 1 }))
			return false;
		for (uint32_t i = 0; i < 30; i++) {
			uint32_t qn = (uint32_t)lab_below(run, QUEUES),
				 size = (uint32_t)lab_below(run, 40);

			if (queues.posted[qn] == depth[qn] ? !queues_post(qn, size, 1, false)
							   : !queues_add(qn, 0, size))
				return false;
		}
		if (!queues_expect_flush() || !queues_end())
			return false;
	}
	return true;
}

/* A message of one segment: nothing before it, the message once, nothing after it. */
static bool one_segment(uint32_t qn, uint32_t len, uint32_t size)
{
	struct message *m = queues_add(qn, len, size);

	return m && queues_expect_deliveries(qn) && queues_send_whole(m) &&
	       queues_expect_all_deliveries();
}

static bool whole_reserved(struct lab_run *run)
{
	struct message *m;

	lab_clause(run, "RFC 5041 4.1: Rsvd is not checked on receive");
	for (uint8_t rsvd = 1; rsvd < 16; rsvd = (uint8_t)(2 * rsvd + 1)) {
		struct iw_ddp h;

		m = queues_add(IW_QN_SEND, 6, 6);
		if (!m)
			return false;
		h = queues_header(m, 0, true);
		h.rsvd_ddp = rsvd;
		if (!queues_receive_header(&h, m->octets, m->len,
					   queues_model(m, 0, m->len, true)) ||
		    !queues_expect_message(m))
			return false;
	}
	lab_clause(run, NULL);
	return true;
}

static bool step_whole(struct lab_run *run)
{
	static const uint32_t lens[] = { 1, 5, 18, 1448, 8192, PAYLOAD_MAX };

	lab_case(run, "messages of one segment that fill their buffers");
	if (!queues_begin_plain(run, 4))
		return false;
	for (size_t i = 0; i < IW_ARRAY_LEN(lens); i++)
		if (!one_segment(IW_QN_SEND, lens[i], lens[i]))
			return false;
	lab_case(run, "a Read Request, a Terminate and a Send, each in a larger buffer");
	if (!one_segment(IW_QN_RREQ, 28, 64) || !one_segment(IW_QN_TERM, 24, 64) ||
	    !one_segment(IW_QN_SEND, 100, 300))
		return false;
	lab_case(run, "segments with Rsvd bits in the DDP control field");
	if (!whole_reserved(run) || !queues_end())
		return false;
	lab_case(run, "random messages of one segment");
	if (!queues_begin_plain(run, 4))
		return false;
	for (unsigned int i = 0; i < 40; i++) {
		uint32_t len = 1 + (uint32_t)lab_below(run, 2000);

		if (!one_segment((uint32_t)lab_below(run, QUEUES), len,
				 len + (uint32_t)lab_below(run, 100)))
			return false;
	}
	return queues_end();
}

static bool step_zero(struct lab_run *run)
{
	struct message *m;

	lab_case(run, "a zero-length message for a buffer of 16 octets, then one of 4 octets");
	if (!queues_begin_plain(run, 4))
		return false;
	m = queues_add(IW_QN_SEND, 0, 16);
	if (!m || !queues_add(IW_QN_SEND, 4, 4) || !queues_expect_deliveries(IW_QN_SEND) ||
	    !queues_send_whole(m) || !queues_expect_message(m) ||
	    !queues_send_whole(queues_next(IW_QN_SEND)) || !queues_expect_all_deliveries())
		return false;
	lab_case(run, "a zero-length message for a buffer of 0 octets, whose memory is NULL");
	if (!one_segment(IW_QN_SEND, 0, 0) || !one_segment(IW_QN_RREQ, 0, 0) ||
	    !one_segment(IW_QN_SEND, 9, 9))
		return false;
	lab_case(run, "random messages of one segment, every second one of zero length");
	for (unsigned int i = 0; i < 40; i++) {
		uint32_t len = i % 2 ? (uint32_t)lab_below(run, 50) : 0;

		if (!one_segment((uint32_t)lab_below(run, QUEUES), len,
				 len + (uint32_t)lab_below(run, 3)))
			return false;
	}
	return queues_end();
}

/* Receives all of a message in segments of at most `payload` octets, and looks after each. */
static bool send_cut(struct message *m, uint32_t payload)
{
	uint32_t mo = 0, len;

	do {
		len = IW_MIN(payload, m->len - mo);
		if (!queues_send(m, mo, len, mo + len == m->len) || !queues_expect_placed(m))
			return false;
		mo += len;
		if (mo < m->len && !queues_expect_deliveries(m->qn))
			return false;
	} while (mo < m->len);
	return queues_expect_deliveries(m->qn);
}

/* Segments of one message of each queue in turn. */
static bool send_interleaved(struct lab_run *run)
{
	struct message *m[QUEUES];
	uint32_t mo[QUEUES] = { 0 };
	unsigned int open = QUEUES;

	for (uint32_t qn = 0; qn < QUEUES; qn++) {
		m[qn] = queues_add(qn, 50 + (uint32_t)lab_below(run, 500), 600);
		if (!m[qn])
			return false;
	}
	while (open) {
		uint32_t qn = (uint32_t)lab_below(run, QUEUES), len;

		if (mo[qn] == m[qn]->len)
			continue;
		len = 1 + (uint32_t)lab_below(run, m[qn]->len - mo[qn]);
		if (!queues_send(m[qn], mo[qn], len, mo[qn] + len == m[qn]->len) ||
		    !queues_expect_all_deliveries())
			return false;
		mo[qn] += len;
		open -= mo[qn] == m[qn]->len;
	}
	return true;
}

static bool step_segments(struct lab_run *run)
{
	struct message *m;

	lab_case(run, "2,048 octets in segments of 1,482 and 566 (MULPDU 1,500)");
	lab_clause(run, "RFC 5041 5.2");
	if (!queues_begin_plain(run, 4))
		return false;
	m = queues_add(IW_QN_SEND, 2048, 4096);
	if (!m || !send_cut(m, 1500 - IW_DDP_UNTAGGED_LEN))
		return false;
	lab_clause(run, NULL);
	lab_case(run, "a message of 3 octets in 3 segments");
	m = queues_add(IW_QN_SEND, 3, 3);
	if (!m || !send_cut(m, 1))
		return false;
	lab_case(run, "a message of 10 octets, whose L segment has no payload");
	m = queues_add(IW_QN_SEND, 10, 10);
	if (!m || !queues_send(m, 0, 10, false) || !queues_expect_deliveries(IW_QN_SEND) ||
	    !queues_send(m, 10, 0, true) || !queues_expect_message(m))
		return false;
	lab_case(run, "a message of 64 KiB");
	m = queues_add(IW_QN_SEND, 65536, 65536);
	if (!m || !send_cut(m, 8000))
		return false;
	for (unsigned int i = 0; i < 12; i++) {
		lab_case(run, "a random message, in segments of equal length");
		m = queues_add(IW_QN_SEND, 1 + (uint32_t)lab_below(run, 3000), 3000);
		if (!m || !send_cut(m, m->len / 8 + 1 + (uint32_t)lab_below(run, 800)))
			return false;
		lab_case(run, "a message on each queue, their segments interleaved");
		if (!send_interleaved(run))
			return false;
	}
	return queues_end();
}

static bool step_msn(struct lab_run *run)
{
	static const uint32_t firsts[][QUEUES] = {
		{ 0xfffffffe, 0xffffffff, 0 },
		{ 0x7ffffffe, 7, 0xfffffff0 },
	};

	for (size_t i = 0; i < IW_ARRAY_LEN(firsts); i++) {
		lab_case(run,
			 "first MSN %" PRIu32 " on queue 0, %" PRIu32 " on queue 1, %" PRIu32
			 " on queue 2",
			 firsts[i][0], firsts[i][1], firsts[i][2]);
		if (!queues_begin(run, (uint32_t[QUEUES]){ 4, 4, 4 }, firsts[i]))
			return false;
		/* Buffers of both sides of the wrap are posted at once. */
		for (uint32_t n = 0; n < 12; n++)
			if (!queues_add(n % QUEUES, 3, 3))
				return false;
		for (size_t n = 0; n < 12; n++)
			if (!queues_send_whole(&queues.messages[n]) ||
			    !queues_expect_deliveries((uint32_t)n % QUEUES))
				return false;
		for (uint32_t n = 0; n < 12; n++)
			if (!one_segment(n % QUEUES, 9, 10))
				return false;
		if (!queues_end())
			return false;
	}
	lab_case(run, "600 messages with 3 buffers posted at a time");
	if (!queues_begin(run, (uint32_t[QUEUES]){ 3, 3, 3 },
			  (uint32_t[QUEUES]){ 0xffffff00, 1, 1 }) ||
	    !queues_add(IW_QN_SEND, 4, 4) || !queues_add(IW_QN_SEND, 4, 4))
		return false;
	for (unsigned int n = 0; n < 600; n++) {
		struct message *m = queues_next(IW_QN_SEND);

		/* The lengths differ from those of the last use of the same place in a ring. */
		if (!queues_add(IW_QN_SEND, 4 + n % 5, 9) || !queues_send(m, 0, 2, false) ||
		    !queues_expect_deliveries(IW_QN_SEND) || !queues_send(m, 2, m->len - 2, true) ||
		    !queues_expect_deliveries(IW_QN_SEND))
			return false;
	}
	return queues_end();
}

/* --- any order --- */

/* Cuts a message at random places, into about `pieces` segments. */
static void cut(struct lab_run *run, struct message *m, uint32_t pieces)
{
	uint32_t mo = 0, len;

	do {
		len = 1 + (uint32_t)lab_below(run, 2 * m->len / pieces + 1);
		len = IW_MIN(len, m->len - mo);
		queues_part(m, mo, len, mo + len == m->len);
		mo += len;
	} while (mo < m->len);
}

static bool send_parts(void)
{
	for (size_t i = 0; i < queues.part_count; i++) {
		const struct part *p = &queues.parts[i];
		const struct message *m = p->m;

		if (!queues_send(p->m, p->mo, p->len, p->last))
			return false;
		if (!queues_delivered(m) && !queues_expect_placed(m))
			return false;
		if (!queues_expect_all_deliveries())
			return false;
	}
	return true;
}

static bool order_fixed(struct lab_run *run)
{
	static const uint32_t at[][3] = {
		{ 0, 20, 10 }, { 10, 0, 20 }, { 10, 20, 0 }, { 20, 0, 10 }, { 20, 10, 0 }
	};
	struct message *m[4];

	if (!queues_begin_plain(run, 4))
		return false;
	for (size_t i = 0; i < IW_ARRAY_LEN(at); i++) {
		lab_case(run,
			 "a message of 30 octets; its segments arrive with MO %" PRIu32 ", %" PRIu32
			 ", %" PRIu32,
			 at[i][0], at[i][1], at[i][2]);
		m[0] = queues_add(IW_QN_SEND, 30, 32);
		if (!m[0])
			return false;
		queues.part_count = 0;
		for (size_t n = 0; n < 3; n++)
			queues_part(m[0], at[i][n], 10, at[i][n] == 20);
		if (!send_parts())
			return false;
	}
	lab_case(run, "an L segment without payload that arrives first");
	m[0] = queues_add(IW_QN_SEND, 10, 10);
	if (!m[0] || !queues_send(m[0], 10, 0, true) || !queues_expect_deliveries(IW_QN_SEND) ||
	    !queues_send(m[0], 0, 10, false) || !queues_expect_message(m[0]))
		return false;
	lab_case(run, "four messages of one segment, which arrive in the order 4, 3, 1, 2");
	for (size_t i = 0; i < 4; i++) {
		m[i] = queues_add(IW_QN_SEND, 10 + (uint32_t)i, 20);
		if (!m[i])
			return false;
	}
	return queues_send_whole(m[3]) && queues_expect_deliveries(IW_QN_SEND) &&
	       queues_send_whole(m[2]) && queues_expect_deliveries(IW_QN_SEND) &&
	       queues_send_whole(m[0]) && queues_expect_message(m[0]) &&
	       queues_expect_deliveries(IW_QN_SEND) && queues_send_whole(m[1]) &&
	       queues_expect_deliveries(IW_QN_SEND) && queues_end();
}

/* Random messages on all queues, cut, and in parts[]. */
static bool open_messages(struct lab_run *run)
{
	uint32_t depth = 1 + (uint32_t)lab_below(run, 6);
	uint32_t first[QUEUES];

	for (size_t qn = 0; qn < QUEUES; qn++)
		first[qn] = lab_below(run, 2) ? 1 : (uint32_t)(0 - lab_below(run, depth + 1));
	lab_case(run, "up to %" PRIu32 " messages on each queue, segments in random order", depth);
	queues.part_count = 0;
	if (!queues_begin(run, (uint32_t[QUEUES]){ depth, depth, depth }, first))
		return false;
	for (uint32_t n = 0; n < QUEUES * depth; n++) {
		uint32_t len = lab_below(run, 5) ? 1 + (uint32_t)lab_below(run, 700) : 0;
		struct message *m = queues_add(n % QUEUES, len, len + (uint32_t)lab_below(run, 9));

		if (!m)
			return false;
		cut(run, m, 1 + (uint32_t)lab_below(run, 6));
	}
	return true;
}

static bool step_order(struct lab_run *run)
{
	if (!order_fixed(run))
		return false;
	for (unsigned int round = 0; round < 10; round++) {
		if (!open_messages(run))
			return false;
		queues_shuffle(run);
		if (!send_parts() || !queues_end())
			return false;
	}
	return true;
}

static bool duplicates_fixed(struct lab_run *run)
{
	struct message *m, *next;

	lab_case(run, "300 octets: the first 100 twice, then the last 100; the middle is missing");
	if (!queues_begin_plain(run, 4))
		return false;
	m = queues_add(IW_QN_SEND, 300, 300);
	if (!m || !queues_send(m, 0, 100, false) || !queues_send(m, 0, 100, false) ||
	    !queues_send(m, 200, 100, true) || !queues_expect_deliveries(IW_QN_SEND) ||
	    !queues_send(m, 200, 100, true) || !queues_expect_deliveries(IW_QN_SEND) ||
	    !queues_send(m, 100, 100, false) || !queues_expect_message(m))
		return false;
	lab_case(run, "message 2 arrives twice before message 1");
	m = queues_add(IW_QN_SEND, 10, 10);
	next = queues_add(IW_QN_SEND, 20, 20);
	if (!m || !next || !queues_send_whole(next) || !queues_send_whole(next) ||
	    !queues_expect_deliveries(IW_QN_SEND) || !queues_send_whole(m) ||
	    !queues_send_whole(next) || !queues_expect_deliveries(IW_QN_SEND))
		return false;
	lab_case(run, "a zero-length message arrives twice before the message in front of it");
	m = queues_add(IW_QN_SEND, 10, 10);
	next = queues_add(IW_QN_SEND, 0, 10);
	if (!m || !next || !queues_send_whole(next) || !queues_send_whole(next) ||
	    !queues_send_whole(m) || !queues_expect_deliveries(IW_QN_SEND))
		return false;
	lab_case(
		run,
		"segments that overlap: 0 to 59, 40 to 99, 20 to 79, then 140 to 199 and 90 to 149");
	m = queues_add(IW_QN_SEND, 200, 200);
	return m && queues_send(m, 0, 60, false) && queues_send(m, 40, 60, false) &&
	       queues_expect_placed(m) && queues_send(m, 20, 60, false) &&
	       queues_send(m, 140, 60, true) && queues_expect_deliveries(IW_QN_SEND) &&
	       queues_send(m, 90, 60, false) && queues_expect_placed(m) &&
	       queues_expect_message(m) && queues_end();
}

/*
 * Repeats random parts, and adds parts that overlap others. A segment of a delivered message would
 * be an error, so it is not sent.
 */
static bool send_repeated(struct lab_run *run)
{
	for (size_t i = 0; i < queues.part_count; i++) {
		const struct part *p = &queues.parts[lab_below(run, i + 1)],
				  *next = &queues.parts[i];
		struct message *m = p->m;

		if (!queues_delivered(next->m) &&
		    !queues_send(next->m, next->mo, next->len, next->last))
			return false;
		if (!queues_expect_all_deliveries())
			return false;
		if (queues_delivered(m))
			continue;
		if (!queues_send(m, p->mo, p->len, p->last))
			return false;
		if (m->len > 1) {
			uint32_t mo = (uint32_t)lab_below(run, m->len - 1);

			if (!queues_send(m, mo, 1 + (uint32_t)lab_below(run, m->len - mo - 1),
					 false))
				return false;
		}
		if (!queues_expect_placed(m) || !queues_expect_all_deliveries())
			return false;
	}
	return true;
}

static bool step_duplicates(struct lab_run *run)
{
	if (!duplicates_fixed(run))
		return false;
	for (unsigned int round = 0; round < 10; round++) {
		if (!open_messages(run))
			return false;
		queues_shuffle(run);
		lab_case(
			run,
			"messages on all queues in random order; segments are repeated and overlap");
		if (!send_repeated(run) || !queues_expect_all_deliveries() || !queues_end())
			return false;
	}
	return true;
}

/* --- errors ----------------------------------------------------------------------------------- */

/*
 * Returns the code that the engine gives to a segment, for queues with this depth and these numbers
 * of buffers of `size` octets. The engine's first MSN is 1. 0: the segment is valid.
 */
static uint32_t engine_code(const uint32_t depth[QUEUES], const uint32_t posted[QUEUES],
			    uint32_t size, const struct iw_ddp *h, size_t len)
{
	static uint8_t memory[PAYLOAD_MAX];
	struct iw_ddp_cfg cfg = { .mem = &iw_os_heap, .stream = 1, .dv = 1 };
	struct iw_ddp_stream *d = NULL;
	uint8_t *where;
	int err = 0;

	for (uint32_t qn = 0; qn < QUEUES; qn++)
		cfg.queue_depth[qn] = depth[qn];
	if (iw_ddp_new(&d, &cfg, NULL) < 0)
		abort();
	for (uint32_t qn = 0; qn < QUEUES; qn++)
		for (uint32_t i = 0; i < posted[qn]; i++)
			if (iw_ddp_post(d, qn, memory, size, 0) < 0)
				abort();
	err = iw_ddp_check(d, h, len, 0, 0, &where, NULL);
	iw_ddp_free(d);
	return err < 0 ? CODE(err) : 0;
}

/* The clause of each code. */
static const char *clause_of(uint32_t code)
{
	if (code == CODE(IW_E_DDP_VERSION_U))
		return "RFC 5041 4.1, 7.2";
	if (code == CODE(IW_E_DDP_QN))
		return "RFC 5041 7.1, untagged check 1";
	if (code == CODE(IW_E_DDP_NOBUF))
		return "RFC 5041 7.1, untagged check 2";
	if (code == CODE(IW_E_DDP_MSN))
		return "RFC 5041 7.1, untagged check 5";
	if (code == CODE(IW_E_DDP_MO))
		return "RFC 5041 7.1, untagged check 3";
	return "RFC 5041 7.1, untagged check 4";
}

/*
 * After the error, a valid segment of each message that is not complete is dropped, no octet of a
 * buffer has changed, and complete messages are delivered, as before.
 */
static bool expect_ended(void)
{
	const char *clause = "RFC 5041 7.1, last paragraph";

	for (size_t i = 0; i < queues.count; i++) {
		const struct message *m = &queues.messages[i];

		if (queues_delivered(m))
			continue;
		if (!queues_expect_placed(m))
			return false;
		lab_clause(queues.run, clause);
		if (!queues_complete(m) && !queues_send_dropped(m))
			return false;
		lab_clause(queues.run, NULL);
		if (!queues_expect_placed(m))
			return false;
	}
	return queues_expect_all_deliveries();
}

/* Without a whole header there is nothing to report to the peer but the local error. */
static bool errors_short(struct lab_run *run)
{
	static const uint8_t lens[] = { 0, 1, 14, 17 };
	uint8_t header[IW_DDP_UNTAGGED_LEN];
	struct message *m;

	for (size_t i = 0; i < sizeof(lens); i++) {
		struct iw_ddp h;

		lab_case(run, "a segment of %u octets", lens[i]);
		if (!queues_begin_plain(run, 2))
			return false;
		m = queues_add(IW_QN_SEND, 8, 8);
		if (!m)
			return false;
		h = queues_header(m, 0, true);
		iw_wire_ddp_encode(header, sizeof(header), &h);
		if (!queues_receive(header, lens[i], CODE(IW_E_DDP_LOCAL)) || !expect_ended() ||
		    !queues_end())
			return false;
	}
	return true;
}

struct bad {
	const char *what;
	uint32_t qn;
	uint32_t ahead; /* of the first MSN */
	uint32_t mo, len;
	uint8_t dv;
};

/*
 * One wrong segment for a receiver whose queue 0 has a depth of 4 and 2 buffers, whose queue 1 has
 * a depth of 1 and no buffer, and which has no queue 2. Message 1 of queue 0 is complete.
 */
static bool errors_one(struct lab_run *run, const struct bad *bad, uint32_t first)
{
	static const uint32_t depth[QUEUES] = { 4, 1, 0 }, posted[QUEUES] = { 2, 0, 0 };
	enum { SIZE = 100 };
	struct message *m[2];
	struct iw_ddp h = { .last = true,
			    .dv = bad->dv,
			    .rv = 1,
			    .opcode = IW_OP_SEND,
			    .qn = bad->qn,
			    .mo = bad->mo };
	static uint8_t payload[PAYLOAD_MAX];
	uint32_t code;

	if (!queues_begin(run, depth, (uint32_t[QUEUES]){ first, first, first }))
		return false;
	m[0] = queues_add(IW_QN_SEND, 80, SIZE);
	m[1] = m[0] ? queues_add(IW_QN_SEND, 90, SIZE) : NULL;
	if (!m[1] || !queues_send_whole(m[0]) || !queues_send(m[1], 0, 10, false))
		return false;
	h.msn = 1 + bad->ahead;
	code = engine_code(depth, posted, SIZE, &h, bad->len);
	if (code == 0)
		abort();
	h.msn = first + bad->ahead;
	lab_fill(run, payload, bad->len);
	lab_case(run,
		 "%s; queue 0: depth 4, buffers of 100 octets for MSN %" PRIu32 " and %" PRIu32,
		 bad->what, first, first + 1);
	lab_clause(run, clause_of(code));
	if (!queues_receive_header(&h, payload, bad->len, code))
		return false;
	lab_clause(run, NULL);
	return expect_ended() && queues_end();
}

static bool errors_fixed(struct lab_run *run)
{
	static const struct bad table[] = {
		{ "DV is 0", 0, 0, 10, 10, 0 },
		{ "DV is 2", 0, 0, 10, 10, 2 },
		{ "DV is 3", 0, 0, 10, 10, 3 },
		{ "DV is 0, and there is no such queue: the version is checked first", 9, 0, 0, 1,
		  0 },
		{ "queue 2 does not exist on this stream", 2, 0, 0, 10, 1 },
		{ "no stream has queue 3 here", 3, 0, 0, 10, 1 },
		{ "a QN with octets in the wrong order", 0x01000000, 0, 0, 10, 1 },
		{ "the largest QN", 0xffffffff, 0, 0, 0, 1 },
		{ "there is no buffer for the MSN yet", 0, 2, 0, 10, 1 },
		{ "there is no buffer for the MSN yet; it is the last in the depth", 0, 3, 0, 10,
		  1 },
		{ "no buffer was posted on the queue", 1, 0, 0, 10, 1 },
		{ "a zero-length message without a buffer", 1, 0, 0, 0, 1 },
		{ "the MSN is beyond the depth by one", 0, 4, 0, 10, 1 },
		{ "the MSN is beyond the depth", 1, 1, 0, 10, 1 },
		{ "the MSN is far ahead", 0, 0x7fffffff, 0, 10, 1 },
		{ "the MSN is that before the first", 0, 0xffffffff, 0, 10, 1 },
		{ "MO is after the end of the buffer by one", 0, 0, 101, 1, 1 },
		{ "MO is after the end of the buffer, and the payload is empty", 0, 0, 101, 0, 1 },
		{ "MO + payload exceeds 32 bits", 0, 0, 0xfffffff0, 32, 1 },
		{ "the largest MO", 0, 0, 0xffffffff, 1, 1 },
		{ "MO is at the end of the buffer, and there is an octet", 0, 0, 100, 1, 1 },
		{ "the payload ends after the buffer by one octet", 0, 0, 50, 51, 1 },
		{ "a payload longer than the buffer", 0, 0, 0, 101, 1 },
		{ "a payload much longer than the buffer", 0, 0, 0, 60000, 1 },
	};

	for (size_t i = 0; i < IW_ARRAY_LEN(table); i++)
		if (!errors_one(run, &table[i], i % 2 ? 1 : 0xffffffff))
			return false;
	return true;
}

/* A segment of a message that was delivered. Its buffer belongs to its owner. */
static bool errors_late(struct lab_run *run)
{
	struct message *m;
	struct iw_ddp h;

	lab_case(
		run,
		"a segment of MSN 1, after that message was delivered; a buffer is posted for MSN 2");
	if (!queues_begin_plain(run, 4))
		return false;
	m = queues_add(IW_QN_SEND, 20, 20);
	if (!m || !queues_add(IW_QN_SEND, 20, 20) || !queues_send_whole(m) ||
	    !queues_expect_message(m))
		return false;
	h = queues_header(m, 0, true);
	lab_clause(run, clause_of(CODE(IW_E_DDP_MSN)));
	if (!queues_receive_header(&h, m->octets, m->len, CODE(IW_E_DDP_MSN)))
		return false;
	lab_clause(run, NULL);
	return expect_ended() && queues_end();
}

/* Segments that contradict the L segment: the error is that of the MO. */
static bool errors_end(struct lab_run *run)
{
	static const struct {
		const char *what;
		struct {
			uint32_t mo, len;
			bool last;
		} before, bad;
	} table[] = {
		{ "L ended the message at 40; then octets 40 to 49",
		  { 20, 20, true },
		  { 40, 10, false } },
		{ "L ended the message at 40; then octets 30 to 49",
		  { 20, 20, true },
		  { 30, 20, false } },
		{ "L ended the message at 40; then L at 50", { 20, 20, true }, { 40, 10, true } },
		{ "L ended the message at 40; then L at 30", { 20, 20, true }, { 20, 10, true } },
		{ "octets 40 to 59 have arrived; then L at 30",
		  { 40, 20, false },
		  { 20, 10, true } },
		{ "octets 40 to 59 have arrived; then a zero-length L at 40",
		  { 40, 20, false },
		  { 40, 0, true } },
		{ "L ended the message at 0; then an octet", { 0, 0, true }, { 0, 1, false } },
	};

	for (size_t i = 0; i < IW_ARRAY_LEN(table); i++) {
		struct message *m[2];
		struct iw_ddp h;

		lab_case(run, "%s", table[i].what);
		if (!queues_begin_plain(run, 2))
			return false;
		m[0] = queues_add(IW_QN_SEND, 10, 10);
		m[1] = m[0] ? queues_add(IW_QN_SEND, 60, 100) : NULL;
		if (!m[1] || !queues_send(m[1], table[i].before.mo, table[i].before.len,
					  table[i].before.last))
			return false;
		h = queues_header(m[1], table[i].bad.mo, table[i].bad.last);
		lab_clause(run, "RFC 5041 4.1: the L segment has the highest MO");
		if (!queues_receive_header(&h, m[1]->octets + table[i].bad.mo, table[i].bad.len,
					   CODE(IW_E_DDP_MO)))
			return false;
		lab_clause(run, NULL);
		if (!queues_expect_placed(m[1]) || !queues_send_dropped(m[0]) ||
		    !queues_expect_none(IW_QN_SEND, "message 1 was dropped") || !queues_end())
			return false;
	}
	return true;
}

/* A value at or near the edge. */
static uint32_t near(struct lab_run *run, uint32_t edge)
{
	return edge + (uint32_t)lab_below(run, 5) - 2;
}

static bool errors_random(struct lab_run *run)
{
	static uint8_t payload[PAYLOAD_MAX];
	uint32_t depth[QUEUES], posted[QUEUES];
	uint32_t size = 8 + (uint32_t)lab_below(run, 200),
		 first = (uint32_t)(0 - lab_below(run, 4)), len, code;
	struct iw_ddp h = { .last = true,
			    .dv = lab_below(run, 8) ? 1 : (uint8_t)lab_below(run, 4),
			    .rv = 1,
			    .opcode = IW_OP_SEND };

	for (uint32_t qn = 0; qn < QUEUES; qn++) {
		depth[qn] = (uint32_t)lab_below(run, 6);
		posted[qn] = (uint32_t)lab_below(run, depth[qn] + 1);
	}
	h.qn = (uint32_t)lab_below(run, 4);
	h.mo = lab_below(run, 3) ? (uint32_t)lab_below(run, size) : near(run, size);
	len = lab_below(run, 3) ? (uint32_t)lab_below(run, size)
				: near(run, size - IW_MIN(h.mo, size) + 2);
	h.msn = 1 + (h.qn < QUEUES ? near(run, lab_below(run, 2) ? posted[h.qn] : depth[h.qn]) : 0);
	if (!lab_below(run, 3))
		h.msn = 1;
	code = engine_code(depth, posted, size, &h, len);
	if (code == 0)
		return true;
	lab_case(run,
		 "a random segment; buffers of %" PRIu32 " octets, first MSN %" PRIu32
		 "; depth %" PRIu32 ", %" PRIu32 ", %" PRIu32 "; posted %" PRIu32 ", %" PRIu32
		 ", %" PRIu32,
		 size, first, depth[0], depth[1], depth[2], posted[0], posted[1], posted[2]);
	if (!queues_begin(run, depth, (uint32_t[QUEUES]){ first, first, first }))
		return false;
	for (uint32_t qn = 0; qn < QUEUES; qn++)
		for (uint32_t i = 0; i < posted[qn]; i++)
			if (!queues_add(qn, size / 2, size))
				return false;
	h.msn += first - 1;
	lab_fill(run, payload, len);
	lab_clause(run, clause_of(code));
	if (!queues_receive_header(&h, payload, len, code))
		return false;
	lab_clause(run, NULL);
	return expect_ended() && queues_end();
}

static bool step_errors(struct lab_run *run)
{
	if (!errors_short(run) || !errors_fixed(run) || !errors_late(run) || !errors_end(run))
		return false;
	for (unsigned int i = 0; i < 60; i++)
		if (!errors_random(run))
			return false;
	return true;
}

/* --- the owner -------------------------------------------------------------------------------- */

/* Each buffer returns once: delivered, or by a flush. */
static bool owner_flush(struct lab_run *run)
{
	struct message *m[3];

	lab_case(run,
		 "message 1 is delivered, 2 has half of its octets, 3 is complete; then a flush");
	if (!queues_begin_plain(run, 4))
		return false;
	for (size_t i = 0; i < 3; i++) {
		m[i] = queues_add(IW_QN_SEND, 40, 50);
		if (!m[i])
			return false;
	}
	if (!queues_send_whole(m[0]) || !queues_send_whole(m[2]) ||
	    !queues_send(m[1], 0, 20, false) || !queues_expect_deliveries(IW_QN_SEND) ||
	    !queues_flush(IW_QN_SEND, true, m[1]->cookie))
		return false;
	queues.delivered[IW_QN_SEND]++;
	/* Message 3 would be the next one now. */
	return queues_expect_none(IW_QN_SEND, "the queue was flushed") &&
	       queues_send_dropped(m[2]) && queues_post(IW_QN_SEND, 10, 1, false) &&
	       queues_post(IW_QN_RREQ, 10, 1, false) &&
	       queues_flush(IW_QN_SEND, true, m[2]->cookie) && queues_flush(IW_QN_SEND, false, 0) &&
	       queues_flush(IW_QN_RREQ, false, 0) && queues_end();
}

/* An error, then the complete messages, then the other buffers. */
static bool owner_error(struct lab_run *run)
{
	struct iw_ddp h;

	lab_case(run, "after an error: the complete messages, then a flush of all queues");
	if (!queues_begin_plain(run, 4))
		return false;
	for (uint32_t n = 0; n < 12; n++)
		if (!queues_add(n / 4, 30, 30))
			return false;
	/* Of each queue messages 1, 2 and 4; of message 3 only the first octets. */
	for (uint32_t n = 0; n < 12; n++)
		if (n % 4 == 2 ? !queues_send(&queues.messages[n], 5, 10, false)
			       : !queues_send_whole(&queues.messages[n]))
			return false;
	h = queues_header(&queues.messages[0], 0, true);
	h.qn = 3;
	return queues_receive_header(&h, queues.messages[0].octets, 30, CODE(IW_E_DDP_QN)) &&
	       queues_expect_all_deliveries() && queues_expect_flush() && queues_end();
}

/* The receiver is freed while buffers are posted and segments of their messages have arrived. */
static bool owner_free(struct lab_run *run)
{
	lab_case(run, "untagged_free() while messages are incomplete");
	if (!open_messages(run))
		return false;
	lab_case(run, "untagged_free() while messages are incomplete");
	queues_shuffle(run);
	queues.part_count /= 2;
	return send_parts() && queues_end();
}

/* The owner's buffers, and the module's own memory. */
static bool step_owner(struct lab_run *run)
{
	uint64_t blocks;

	if (!owner_flush(run) || !owner_error(run))
		return false;
	if (!lab_allocated(run, &blocks))
		return false;
	for (unsigned int round = 0; round < 8; round++) {
		if (!open_messages(run))
			return false;
		queues_shuffle(run);
		if (!send_parts() || !queues_end() || !lab_expect_freed(run, blocks))
			return false;
		if (!owner_flush(run) || !lab_expect_freed(run, blocks) || !owner_error(run) ||
		    !lab_expect_freed(run, blocks) || !owner_free(run) ||
		    !lab_expect_freed(run, blocks))
			return false;
	}
	return true;
}

static const struct lab_step steps[] = {
	{ "buffers", "buffers are posted on queues, and return once and in order", 8,
	  "RFC 5041 5.1.2", 0, step_buffers },
	{ "whole", "a message of one segment is placed and delivered, once", 10,
	  "RFC 5041 4.3, 5.4", 0, step_whole },
	{ "zero", "a zero-length message consumes a buffer", 8, "RFC 5041 5.2; RFC 5040 5.3", 0,
	  step_zero },
	{ "segments", "segments are placed at their MO; L ends the message", 10,
	  "RFC 5041 5.2, 5.4", 0, step_segments },
	{ "msn", "MSNs begin at the given first one, and wrap to 0", 10, "RFC 5041 4.3", 0,
	  step_msn },
	{ "order", "segments in any order; delivery in the order of the MSNs", 12,
	  "RFC 5041 5.3, 5.4", 0, step_order },
	{ "duplicates", "what arrives again is not new, and hides no hole", 12, "RFC 5041 5.3, 5.4",
	  0, step_duplicates },
	{ "errors", "each wrong segment has its code; then reception ends", 12, "RFC 5041 7.1, 7.2",
	  0, step_errors },
	{ "owner", "each buffer returns once, and no memory is lost", 8, "RFC 5041 5.4, 6.2", 0,
	  step_owner },
	LAB_PEER_STEP,
	{ NULL, NULL, 0, NULL, 0, NULL },
};

const struct lab lab_untagged = {
	.number = 3,
	.folder = "03-untagged",
	.title = "Untagged queues, MSN and delivery order",
	.steps = steps,
	.trace = untagged_trace,
	.speed = untagged_speed,
};
