/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lab 3: untagged queues, MSN and delivery order. A small model of the queues says what each call
 * must return; the codes of wrong segments are those of the project's engine.
 */
#include "labs/grader/lab.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddp/ddp.h"
#include "labs/grader/peer.h"
#include "os/os.h"
#include "trace/trace.h"
#include "util/num.h"
#include "wire/ddp.h"

enum {
	QUEUES = 3,
	DEPTH_MAX = 256,
	MESSAGES = 1024, /* of a case */
	POOL = 4 << 20,  /* octets of the messages of a case */
	FILL = 0xee,     /* a new buffer in the student's process */
	SEGMENTS = 512,  /* of a shuffled case */
	PAYLOAD_MAX = 1 << 16,
};

/* Results of untagged_receive(), as in untagged.h. The errors are the engine's. */
enum result { PLACED = 0, NOTHING_NEW = 1, DROPPED = 2 };

#define CODE(err) (iw_err_term(err) & 0xffffu)

/* A message of the peer, and the buffer that is posted for it. */
struct message {
	uint32_t qn, msn, len;
	uint8_t control;
	uint32_t rsvdulp;
	uint32_t size; /* of the buffer */
	uint64_t cookie;
	uint8_t *octets;  /* len of the message */
	uint8_t *buffer;  /* size: what the buffer must have */
	uint8_t *arrived; /* len flags: this octet was placed */
	bool has_end;
};

/* The receiver in the student's process, as the grader knows it. */
struct world {
	struct lab_run *run;
	uint32_t depth[QUEUES], first[QUEUES];
	struct message messages[MESSAGES];
	size_t count;
	uint32_t posted[QUEUES];    /* messages of each queue so far */
	uint32_t delivered[QUEUES]; /* of them */
	uint8_t pool[POOL];
	size_t used;
};

/* One receiver at a time, and too large for a stack. */
static struct world world;

/* --- what is said ----------------------------------------------------------------------------- */

static const char *result_name(uint32_t result)
{
	static const char *const good[] = {
		[PLACED] = "UNTAGGED_PLACED",
		[NOTHING_NEW] = "UNTAGGED_NOTHING_NEW",
		[DROPPED] = "UNTAGGED_DROPPED",
	};
	static const struct {
		int err;
		const char *name;
	} errors[] = {
		{ IW_E_DDP_LOCAL, "UNTAGGED_LOCAL" },
		{ IW_E_DDP_QN, "UNTAGGED_QN" },
		{ IW_E_DDP_NOBUF, "UNTAGGED_NO_BUFFER" },
		{ IW_E_DDP_MSN, "UNTAGGED_MSN" },
		{ IW_E_DDP_MO, "UNTAGGED_MO" },
		{ IW_E_DDP_TOOLONG, "UNTAGGED_TOO_LONG" },
		{ IW_E_DDP_VERSION_U, "UNTAGGED_VERSION" },
	};
	static char other[32];

	if (result < IW_ARRAY_LEN(good))
		return good[result];
	for (size_t i = 0; i < IW_ARRAY_LEN(errors); i++)
		if (CODE(errors[i].err) == result)
			return errors[i].name;
	snprintf(other, sizeof(other), "0x%" PRIx32, result);
	return other;
}

static const char *segment_text(const uint8_t *segment, size_t len)
{
	static char text[200];
	struct iw_ddp h;
	int n;

	if (iw_wire_ddp_decode(&h, segment, len) <= 0) {
		snprintf(text, sizeof(text), "a segment of %zu octets", len);
		return text;
	}
	n = snprintf(text, sizeof(text),
		     "QN %" PRIu32 " MSN %" PRIu32 " MO %" PRIu32
		     ", payload of %zu octets%s; header",
		     h.qn, h.msn, h.mo, len - IW_DDP_UNTAGGED_LEN, h.last ? ", L" : "");
	for (size_t i = 0; i < IW_DDP_UNTAGGED_LEN; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, " %02x", segment[i]);
	return text;
}

/* --- the receiver ----------------------------------------------------------------------------- */

static uint8_t *pool_take(size_t len, int fill)
{
	uint8_t *at = world.pool + world.used;

	/* The steps are written so that it suffices. */
	if (len > POOL - world.used)
		abort();
	world.used += len;
	memset(at, fill, len);
	return at;
}

/* A new receiver in the student's process. depth and first: of queues 0 to 2. */
static bool begin(struct lab_run *run, const uint32_t depth[QUEUES], const uint32_t first[QUEUES])
{
	world.run = run;
	world.count = world.used = 0;
	lab_call(run, "new");
	for (size_t qn = 0; qn < QUEUES; qn++) {
		world.depth[qn] = depth[qn];
		world.first[qn] = first[qn];
		world.posted[qn] = world.delivered[qn] = 0;
		lab_put_u32(run, depth[qn]);
		lab_put_u32(run, first[qn]);
	}
	if (!lab_run_call(run))
		return false;
	if (!lab_get_u8(run))
		return lab_fail(run, "untagged_new(): expected a receiver, seen NULL");
	return lab_results_end(run);
}

/* The same depth for all queues, and first MSN 1. */
static bool begin_plain(struct lab_run *run, uint32_t depth)
{
	return begin(run, (uint32_t[QUEUES]){ depth, depth, depth }, (uint32_t[QUEUES]){ 1, 1, 1 });
}

/* Frees the receiver. The steps do so that the next case begins anew. */
static bool end(void)
{
	lab_call(world.run, "end");
	return lab_run_call(world.run) && lab_results_end(world.run);
}

static bool post(uint32_t qn, uint32_t size, uint64_t cookie, bool expected)
{
	struct lab_run *run = world.run;
	uint8_t seen;

	lab_call(run, "post");
	lab_put_u32(run, qn);
	lab_put_u32(run, size);
	lab_put_u64(run, cookie);
	if (!lab_run_call(run))
		return false;
	seen = lab_get_u8(run);
	if (!lab_results_end(run))
		return false;
	return lab_expect_true(run, seen == expected,
			       "untagged_post(queue %" PRIu32 ", %" PRIu32
			       " octets): expected %s, seen %s",
			       qn, size, expected ? "true" : "false", seen ? "true" : "false");
}

/* The next message of a queue, of random octets; posts a buffer of `size` for it. NULL: failed. */
static struct message *message_new(uint32_t qn, uint32_t len, uint32_t size)
{
	struct message *m = &world.messages[world.count];

	if (world.count == MESSAGES)
		abort();
	*m = (struct message){
		.qn = qn,
		.msn = world.first[qn] + world.posted[qn],
		.len = len,
		.size = size,
		.control = qn == IW_QN_RREQ   ? 0x41
			   : qn == IW_QN_TERM ? 0x47
					      : 0x43,
		.cookie = lab_random(world.run),
	};
	if (qn == IW_QN_SEND && lab_below(world.run, 3) == 0) {
		m->control = 0x44; /* Send with Invalidate */
		m->rsvdulp = (uint32_t)lab_random(world.run);
	}
	m->octets = pool_take(len, 0);
	lab_fill(world.run, m->octets, len);
	m->arrived = pool_take(len, 0);
	m->buffer = pool_take(size, FILL);
	world.count++;
	world.posted[qn]++;
	return post(qn, size, m->cookie, true) ? m : NULL;
}

static bool is_complete(const struct message *m)
{
	return m->has_end && !memchr(m->arrived, 0, m->len);
}

/* Returns the message that is the next to be delivered on the queue; NULL: none is posted. */
static struct message *next_of(uint32_t qn)
{
	for (size_t i = 0; i < world.count; i++)
		if (world.messages[i].qn == qn &&
		    world.messages[i].msn == world.first[qn] + world.delivered[qn])
			return &world.messages[i];
	return NULL;
}

static bool receive(const uint8_t *segment, size_t len, uint32_t expected)
{
	struct lab_run *run = world.run;
	char name[40];
	uint32_t seen;

	lab_call(run, "receive");
	lab_put_octets(run, segment, len);
	if (!lab_run_call(run))
		return false;
	seen = lab_get_u32(run);
	if (!lab_results_end(run))
		return false;
	if (seen == expected)
		return true;
	snprintf(name, sizeof(name), "%s", result_name(expected));
	return lab_fail(run, "untagged_receive(%s): expected %s, seen %s",
			segment_text(segment, len), name, result_name(seen));
}

static struct iw_ddp header_of(const struct message *m, uint32_t mo, bool last)
{
	return (struct iw_ddp){
		.last = last,
		.dv = 1,
		.rv = m->control >> 6,
		.rsvd_rdmap = m->control >> 4 & 3,
		.opcode = m->control & 15,
		.inval_stag = m->rsvdulp,
		.qn = m->qn,
		.msn = m->msn,
		.mo = mo,
	};
}

/* Receives any header with a payload. */
static bool receive_header(const struct iw_ddp *h, const uint8_t *payload, size_t len,
			   uint32_t expected)
{
	static uint8_t segment[IW_DDP_HDR_MAX + PAYLOAD_MAX];

	if (iw_wire_ddp_encode(segment, sizeof(segment), h) <= 0 || len > PAYLOAD_MAX)
		abort();
	if (len)
		memcpy(segment + IW_DDP_UNTAGGED_LEN, payload, len);
	return receive(segment, IW_DDP_UNTAGGED_LEN + len, expected);
}

/* Places it in the model. */
static enum result model_place(struct message *m, uint32_t mo, uint32_t len, bool last)
{
	bool new_octets = len && memchr(m->arrived + mo, 0, len);
	bool new_end = last && !m->has_end;

	memset(m->arrived + mo, 1, len);
	memcpy(m->buffer + mo, m->octets + mo, len);
	m->has_end = m->has_end || last;
	return new_octets || new_end ? PLACED : NOTHING_NEW;
}

/* Receives a valid segment of the message. */
static bool send(struct message *m, uint32_t mo, uint32_t len, bool last)
{
	struct iw_ddp h = header_of(m, mo, last);

	return receive_header(&h, m->octets + mo, len, model_place(m, mo, len, last));
}

/* Receives a valid segment that must be dropped, because reception has ended. */
static bool send_dropped(const struct message *m)
{
	struct iw_ddp h = header_of(m, 0, true);

	return receive_header(&h, m->octets, m->len, DROPPED);
}

static bool send_whole(struct message *m)
{
	return send(m, 0, m->len, true);
}

/* The buffer of a message that is not delivered has exactly the octets that have arrived. */
static bool expect_placed(const struct message *m)
{
	struct lab_run *run = world.run;
	struct lab_octets seen;
	uint8_t intact;
	char what[80];

	lab_call(run, "look");
	lab_put_u64(run, m->cookie);
	if (!lab_run_call(run))
		return false;
	lab_get_u8(run);
	intact = lab_get_u8(run);
	seen = lab_get_octets(run);
	if (!lab_results_end(run))
		return false;
	snprintf(what, sizeof(what), "the buffer of QN %" PRIu32 " MSN %" PRIu32, m->qn, m->msn);
	return lab_expect_true(run, intact, "%s: octets before it were changed", what) &&
	       lab_expect_octets(run, what, m->buffer, m->size, seen.at, seen.len);
}

static bool is_delivered(const struct message *m)
{
	return m->msn - world.first[m->qn] < world.delivered[m->qn];
}

/* --- delivery --------------------------------------------------------------------------------- */

struct delivery {
	uint8_t is;
	uint64_t cookie;
	uint32_t msn, length;
	uint8_t control;
	uint32_t rsvdulp;
	uint8_t own_memory, intact;
	struct lab_octets buffer;
};

static bool deliver(uint32_t qn, struct delivery *d)
{
	struct lab_run *run = world.run;

	lab_call(run, "deliver");
	lab_put_u32(run, qn);
	if (!lab_run_call(run))
		return false;
	d->is = lab_get_u8(run);
	d->cookie = lab_get_u64(run);
	d->msn = lab_get_u32(run);
	d->length = lab_get_u32(run);
	d->control = lab_get_u8(run);
	d->rsvdulp = lab_get_u32(run);
	d->own_memory = lab_get_u8(run);
	d->intact = lab_get_u8(run);
	d->buffer = lab_get_octets(run);
	return lab_results_end(run);
}

static bool expect_none(uint32_t qn, const char *why)
{
	struct delivery d;

	if (!deliver(qn, &d))
		return false;
	return lab_expect_true(world.run, !d.is,
			       "untagged_deliver(queue %" PRIu32
			       "): expected false (%s), seen a message of "
			       "MSN %" PRIu32 " and %" PRIu32 " octets",
			       qn, why, d.msn, d.length);
}

/* The message is delivered now. */
static bool expect_message(const struct message *m)
{
	struct lab_run *run = world.run;
	struct delivery d;
	char what[100];

	if (!deliver(m->qn, &d))
		return false;
	if (!d.is)
		return lab_fail(run,
				"untagged_deliver(queue %" PRIu32
				"): expected the message of MSN %" PRIu32 ", %" PRIu32
				" octets, seen false",
				m->qn, m->msn, m->len);
	world.delivered[m->qn]++;
	snprintf(what, sizeof(what), "the buffer of QN %" PRIu32 " MSN %" PRIu32 ", delivered",
		 m->qn, m->msn);
	return lab_expect_number(run, "the MSN of the message", m->msn, d.msn) &&
	       lab_expect_number(run, "the cookie of its buffer", m->cookie, d.cookie) &&
	       lab_expect_number(run, "the length of the message", m->len, d.length) &&
	       lab_expect_number(run, "the RsvdULP control octet", m->control, d.control) &&
	       lab_expect_number(run, "RsvdULP[8:39]", m->rsvdulp, d.rsvdulp) &&
	       lab_expect_true(run, d.own_memory,
			       "the field memory is not that of the posted buffer") &&
	       lab_expect_true(run, d.intact, "%s: octets before it were changed", what) &&
	       lab_expect_octets(run, what, m->buffer, m->size, d.buffer.at, d.buffer.len);
}

/* All that can be delivered on the queue is delivered, and no more. */
static bool expect_deliveries(uint32_t qn)
{
	struct message *m = next_of(qn);

	for (; m && is_complete(m); m = next_of(qn))
		if (!expect_message(m))
			return false;
	return expect_none(qn, !m           ? "all messages were delivered"
			       : m->has_end ? "octets of the next message are missing"
					    : "the L segment of the next message has not arrived");
}

static bool expect_all_deliveries(void)
{
	for (uint32_t qn = 0; qn < QUEUES; qn++)
		if (!expect_deliveries(qn))
			return false;
	return true;
}

static bool flush(uint32_t qn, bool expected, uint64_t expected_cookie)
{
	struct lab_run *run = world.run;
	uint64_t cookie;
	uint8_t is;

	lab_call(run, "flush");
	lab_put_u32(run, qn);
	if (!lab_run_call(run))
		return false;
	is = lab_get_u8(run);
	cookie = lab_get_u64(run);
	lab_get_u8(run);
	lab_get_octets(run);
	if (!lab_results_end(run))
		return false;
	if (is != expected)
		return lab_fail(run, "untagged_flush(queue %" PRIu32 "): expected %s, seen %s", qn,
				expected ? "true" : "false (no buffer is posted)",
				is ? "true" : "false");
	return !expected ||
	       lab_expect_number(run, "the cookie of the oldest buffer", expected_cookie, cookie);
}

/* All buffers that are still posted return to their owner, each once and in order. */
static bool expect_flush(void)
{
	for (uint32_t qn = 0; qn < QUEUES; qn++) {
		for (struct message *m = next_of(qn); m; m = next_of(qn)) {
			if (!flush(qn, true, m->cookie))
				return false;
			world.delivered[qn]++;
		}
		if (!flush(qn, false, 0))
			return false;
	}
	return true;
}

/* --- steps ------------------------------------------------------------------------------------ */

static bool buffers_fixed(struct lab_run *run)
{
	lab_case(run, "queues with room for 3, 1 and no buffers");
	if (!begin(run, (uint32_t[QUEUES]){ 3, 1, 0 }, (uint32_t[QUEUES]){ 1, 1, 1 }))
		return false;
	for (uint32_t i = 0; i < 3; i++)
		if (!message_new(IW_QN_SEND, 8, 8 + i))
			return false;
	return post(IW_QN_SEND, 8, 1, false) && message_new(IW_QN_RREQ, 8, 28) &&
	       post(IW_QN_RREQ, 28, 2, false) && post(IW_QN_TERM, 52, 3, false) &&
	       post(3, 8, 4, false) && post(UINT32_MAX, 8, 5, false) && expect_flush() &&
	       flush(3, false, 0) && flush(UINT32_MAX, false, 0) && end();
}

static bool step_buffers(struct lab_run *run)
{
	uint32_t depth[QUEUES];

	if (!buffers_fixed(run))
		return false;
	lab_case(run, "the largest queue");
	if (!begin_plain(run, DEPTH_MAX))
		return false;
	for (uint32_t i = 0; i < DEPTH_MAX; i++)
		if (!message_new(IW_QN_SEND, 0, 1))
			return false;
	if (!post(IW_QN_SEND, 8, 1, false) || !expect_flush() || !end())
		return false;
	for (unsigned int round = 0; round < 12; round++) {
		lab_case(run, "random numbers of buffers");
		for (size_t qn = 0; qn < QUEUES; qn++)
			depth[qn] = 1 + (uint32_t)lab_below(run, 12);
		if (!begin(run, depth, (uint32_t[QUEUES]){ 1, 1, 1 }))
			return false;
		for (uint32_t i = 0; i < 30; i++) {
			uint32_t qn = (uint32_t)lab_below(run, QUEUES),
				 size = (uint32_t)lab_below(run, 40);

			if (world.posted[qn] == depth[qn] ? !post(qn, size, 1, false)
							  : !message_new(qn, 0, size))
				return false;
		}
		if (!expect_flush() || !end())
			return false;
	}
	return true;
}

/* A message of one segment: nothing before it, the message once, nothing after it. */
static bool one_segment(uint32_t qn, uint32_t len, uint32_t size)
{
	struct message *m = message_new(qn, len, size);

	return m && expect_deliveries(qn) && send_whole(m) && expect_all_deliveries();
}

static bool whole_reserved(struct lab_run *run)
{
	struct message *m;

	lab_clause(run, "RFC 5041 4.1: Rsvd is not checked on receive");
	for (uint8_t rsvd = 1; rsvd < 16; rsvd = (uint8_t)(2 * rsvd + 1)) {
		struct iw_ddp h;

		m = message_new(IW_QN_SEND, 6, 6);
		if (!m)
			return false;
		h = header_of(m, 0, true);
		h.rsvd_ddp = rsvd;
		if (!receive_header(&h, m->octets, m->len, model_place(m, 0, m->len, true)) ||
		    !expect_message(m))
			return false;
	}
	lab_clause(run, NULL);
	return true;
}

static bool step_whole(struct lab_run *run)
{
	static const uint32_t lens[] = { 1, 5, 18, 1448, 8192, PAYLOAD_MAX };

	lab_case(run, "messages of one segment that fill their buffers");
	if (!begin_plain(run, 4))
		return false;
	for (size_t i = 0; i < IW_ARRAY_LEN(lens); i++)
		if (!one_segment(IW_QN_SEND, lens[i], lens[i]))
			return false;
	lab_case(run, "a Read Request, a Terminate and a Send, each in a larger buffer");
	if (!one_segment(IW_QN_RREQ, 28, 64) || !one_segment(IW_QN_TERM, 24, 64) ||
	    !one_segment(IW_QN_SEND, 100, 300))
		return false;
	lab_case(run, "segments with Rsvd bits in the DDP control field");
	if (!whole_reserved(run) || !end())
		return false;
	lab_case(run, "random messages of one segment");
	if (!begin_plain(run, 4))
		return false;
	for (unsigned int i = 0; i < 40; i++) {
		uint32_t len = 1 + (uint32_t)lab_below(run, 2000);

		if (!one_segment((uint32_t)lab_below(run, QUEUES), len,
				 len + (uint32_t)lab_below(run, 100)))
			return false;
	}
	return end();
}

static bool step_zero(struct lab_run *run)
{
	struct message *m;

	lab_case(run, "a zero-length message for a buffer of 16 octets, then one of 4 octets");
	if (!begin_plain(run, 4))
		return false;
	m = message_new(IW_QN_SEND, 0, 16);
	if (!m || !message_new(IW_QN_SEND, 4, 4) || !expect_deliveries(IW_QN_SEND) ||
	    !send_whole(m) || !expect_message(m) || !send_whole(next_of(IW_QN_SEND)) ||
	    !expect_all_deliveries())
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
	return end();
}

/* Receives all of a message in segments of at most `payload` octets, and looks after each. */
static bool send_cut(struct message *m, uint32_t payload)
{
	uint32_t mo = 0, len;

	do {
		len = IW_MIN(payload, m->len - mo);
		if (!send(m, mo, len, mo + len == m->len) || !expect_placed(m))
			return false;
		mo += len;
		if (mo < m->len && !expect_deliveries(m->qn))
			return false;
	} while (mo < m->len);
	return expect_deliveries(m->qn);
}

/* Segments of one message of each queue in turn. */
static bool send_interleaved(struct lab_run *run)
{
	struct message *m[QUEUES];
	uint32_t mo[QUEUES] = { 0 };
	unsigned int open = QUEUES;

	for (uint32_t qn = 0; qn < QUEUES; qn++) {
		m[qn] = message_new(qn, 50 + (uint32_t)lab_below(run, 500), 600);
		if (!m[qn])
			return false;
	}
	while (open) {
		uint32_t qn = (uint32_t)lab_below(run, QUEUES), len;

		if (mo[qn] == m[qn]->len)
			continue;
		len = 1 + (uint32_t)lab_below(run, m[qn]->len - mo[qn]);
		if (!send(m[qn], mo[qn], len, mo[qn] + len == m[qn]->len) ||
		    !expect_all_deliveries())
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
	if (!begin_plain(run, 4))
		return false;
	m = message_new(IW_QN_SEND, 2048, 4096);
	if (!m || !send_cut(m, 1500 - IW_DDP_UNTAGGED_LEN))
		return false;
	lab_clause(run, NULL);
	lab_case(run, "a message of 3 octets in 3 segments");
	m = message_new(IW_QN_SEND, 3, 3);
	if (!m || !send_cut(m, 1))
		return false;
	lab_case(run, "a message of 10 octets, whose L segment has no payload");
	m = message_new(IW_QN_SEND, 10, 10);
	if (!m || !send(m, 0, 10, false) || !expect_deliveries(IW_QN_SEND) ||
	    !send(m, 10, 0, true) || !expect_message(m))
		return false;
	lab_case(run, "a message of 64 KiB");
	m = message_new(IW_QN_SEND, 65536, 65536);
	if (!m || !send_cut(m, 8000))
		return false;
	for (unsigned int i = 0; i < 12; i++) {
		lab_case(run, "a random message, in segments of equal length");
		m = message_new(IW_QN_SEND, 1 + (uint32_t)lab_below(run, 3000), 3000);
		if (!m || !send_cut(m, m->len / 8 + 1 + (uint32_t)lab_below(run, 800)))
			return false;
		lab_case(run, "a message on each queue, their segments interleaved");
		if (!send_interleaved(run))
			return false;
	}
	return end();
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
		if (!begin(run, (uint32_t[QUEUES]){ 4, 4, 4 }, firsts[i]))
			return false;
		/* Buffers of both sides of the wrap are posted at once. */
		for (uint32_t n = 0; n < 12; n++)
			if (!message_new(n % QUEUES, 3, 3))
				return false;
		for (size_t n = 0; n < 12; n++)
			if (!send_whole(&world.messages[n]) ||
			    !expect_deliveries((uint32_t)n % QUEUES))
				return false;
		for (uint32_t n = 0; n < 12; n++)
			if (!one_segment(n % QUEUES, 9, 10))
				return false;
		if (!end())
			return false;
	}
	lab_case(run, "600 messages with 3 buffers posted at a time");
	if (!begin(run, (uint32_t[QUEUES]){ 3, 3, 3 }, (uint32_t[QUEUES]){ 0xffffff00, 1, 1 }) ||
	    !message_new(IW_QN_SEND, 4, 4) || !message_new(IW_QN_SEND, 4, 4))
		return false;
	for (unsigned int n = 0; n < 600; n++) {
		struct message *m = next_of(IW_QN_SEND);

		/* The lengths differ from those of the last use of the same place in a ring. */
		if (!message_new(IW_QN_SEND, 4 + n % 5, 9) || !send(m, 0, 2, false) ||
		    !expect_deliveries(IW_QN_SEND) || !send(m, 2, m->len - 2, true) ||
		    !expect_deliveries(IW_QN_SEND))
			return false;
	}
	return end();
}

/* --- any order -------------------------------------------------------------------------------- */

/* A part of a message, as one segment carries it. */
struct part {
	struct message *m;
	uint32_t mo, len;
	bool last;
};

static struct part parts[SEGMENTS];
static size_t part_count;

static void part_add(struct message *m, uint32_t mo, uint32_t len, bool last)
{
	if (part_count == SEGMENTS)
		abort();
	parts[part_count++] = (struct part){ .m = m, .mo = mo, .len = len, .last = last };
}

/* Cuts a message at random places, into about `pieces` segments. */
static void cut(struct lab_run *run, struct message *m, uint32_t pieces)
{
	uint32_t mo = 0, len;

	do {
		len = 1 + (uint32_t)lab_below(run, 2 * m->len / pieces + 1);
		len = IW_MIN(len, m->len - mo);
		part_add(m, mo, len, mo + len == m->len);
		mo += len;
	} while (mo < m->len);
}

static void shuffle(struct lab_run *run)
{
	for (size_t i = part_count; i > 1; i--) {
		size_t other = (size_t)lab_below(run, i);
		struct part p = parts[i - 1];

		parts[i - 1] = parts[other];
		parts[other] = p;
	}
}

static bool send_parts(void)
{
	for (size_t i = 0; i < part_count; i++) {
		const struct part *p = &parts[i];
		const struct message *m = p->m;

		if (!send(p->m, p->mo, p->len, p->last))
			return false;
		if (!is_delivered(m) && !expect_placed(m))
			return false;
		if (!expect_all_deliveries())
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

	if (!begin_plain(run, 4))
		return false;
	for (size_t i = 0; i < IW_ARRAY_LEN(at); i++) {
		lab_case(run,
			 "a message of 30 octets; its segments arrive with MO %" PRIu32 ", %" PRIu32
			 ", %" PRIu32,
			 at[i][0], at[i][1], at[i][2]);
		m[0] = message_new(IW_QN_SEND, 30, 32);
		if (!m[0])
			return false;
		part_count = 0;
		for (size_t n = 0; n < 3; n++)
			part_add(m[0], at[i][n], 10, at[i][n] == 20);
		if (!send_parts())
			return false;
	}
	lab_case(run, "an L segment without payload that arrives first");
	m[0] = message_new(IW_QN_SEND, 10, 10);
	if (!m[0] || !send(m[0], 10, 0, true) || !expect_deliveries(IW_QN_SEND) ||
	    !send(m[0], 0, 10, false) || !expect_message(m[0]))
		return false;
	lab_case(run, "four messages of one segment, which arrive in the order 4, 3, 1, 2");
	for (size_t i = 0; i < 4; i++) {
		m[i] = message_new(IW_QN_SEND, 10 + (uint32_t)i, 20);
		if (!m[i])
			return false;
	}
	return send_whole(m[3]) && expect_deliveries(IW_QN_SEND) && send_whole(m[2]) &&
	       expect_deliveries(IW_QN_SEND) && send_whole(m[0]) && expect_message(m[0]) &&
	       expect_deliveries(IW_QN_SEND) && send_whole(m[1]) && expect_deliveries(IW_QN_SEND) &&
	       end();
}

/* Random messages on all queues, cut, and in parts[]. */
static bool open_messages(struct lab_run *run)
{
	uint32_t depth = 1 + (uint32_t)lab_below(run, 6);
	uint32_t first[QUEUES];

	for (size_t qn = 0; qn < QUEUES; qn++)
		first[qn] = lab_below(run, 2) ? 1 : (uint32_t)(0 - lab_below(run, depth + 1));
	lab_case(run, "up to %" PRIu32 " messages on each queue, segments in random order", depth);
	part_count = 0;
	if (!begin(run, (uint32_t[QUEUES]){ depth, depth, depth }, first))
		return false;
	for (uint32_t n = 0; n < QUEUES * depth; n++) {
		uint32_t len = lab_below(run, 5) ? 1 + (uint32_t)lab_below(run, 700) : 0;
		struct message *m = message_new(n % QUEUES, len, len + (uint32_t)lab_below(run, 9));

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
		shuffle(run);
		if (!send_parts() || !end())
			return false;
	}
	return true;
}

static bool duplicates_fixed(struct lab_run *run)
{
	struct message *m, *next;

	lab_case(run, "300 octets: the first 100 twice, then the last 100; the middle is missing");
	if (!begin_plain(run, 4))
		return false;
	m = message_new(IW_QN_SEND, 300, 300);
	if (!m || !send(m, 0, 100, false) || !send(m, 0, 100, false) || !send(m, 200, 100, true) ||
	    !expect_deliveries(IW_QN_SEND) || !send(m, 200, 100, true) ||
	    !expect_deliveries(IW_QN_SEND) || !send(m, 100, 100, false) || !expect_message(m))
		return false;
	lab_case(run, "message 2 arrives twice before message 1");
	m = message_new(IW_QN_SEND, 10, 10);
	next = message_new(IW_QN_SEND, 20, 20);
	if (!m || !next || !send_whole(next) || !send_whole(next) ||
	    !expect_deliveries(IW_QN_SEND) || !send_whole(m) || !send_whole(next) ||
	    !expect_deliveries(IW_QN_SEND))
		return false;
	lab_case(run, "a zero-length message arrives twice before the message in front of it");
	m = message_new(IW_QN_SEND, 10, 10);
	next = message_new(IW_QN_SEND, 0, 10);
	if (!m || !next || !send_whole(next) || !send_whole(next) || !send_whole(m) ||
	    !expect_deliveries(IW_QN_SEND))
		return false;
	lab_case(
		run,
		"segments that overlap: 0 to 59, 40 to 99, 20 to 79, then 140 to 199 and 90 to 149");
	m = message_new(IW_QN_SEND, 200, 200);
	return m && send(m, 0, 60, false) && send(m, 40, 60, false) && expect_placed(m) &&
	       send(m, 20, 60, false) && send(m, 140, 60, true) && expect_deliveries(IW_QN_SEND) &&
	       send(m, 90, 60, false) && expect_placed(m) && expect_message(m) && end();
}

/*
 * Repeats random parts, and adds parts that overlap others. A segment of a delivered message would
 * be an error, so it is not sent.
 */
static bool send_repeated(struct lab_run *run)
{
	for (size_t i = 0; i < part_count; i++) {
		const struct part *p = &parts[lab_below(run, i + 1)], *next = &parts[i];
		struct message *m = p->m;

		if (!is_delivered(next->m) && !send(next->m, next->mo, next->len, next->last))
			return false;
		if (!expect_all_deliveries())
			return false;
		if (is_delivered(m))
			continue;
		if (!send(m, p->mo, p->len, p->last))
			return false;
		if (m->len > 1) {
			uint32_t mo = (uint32_t)lab_below(run, m->len - 1);

			if (!send(m, mo, 1 + (uint32_t)lab_below(run, m->len - mo - 1), false))
				return false;
		}
		if (!expect_placed(m) || !expect_all_deliveries())
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
		shuffle(run);
		lab_case(
			run,
			"messages on all queues in random order; segments are repeated and overlap");
		if (!send_repeated(run) || !expect_all_deliveries() || !end())
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

	for (size_t i = 0; i < world.count; i++) {
		const struct message *m = &world.messages[i];

		if (is_delivered(m))
			continue;
		if (!expect_placed(m))
			return false;
		lab_clause(world.run, clause);
		if (!is_complete(m) && !send_dropped(m))
			return false;
		lab_clause(world.run, NULL);
		if (!expect_placed(m))
			return false;
	}
	return expect_all_deliveries();
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
		if (!begin_plain(run, 2))
			return false;
		m = message_new(IW_QN_SEND, 8, 8);
		if (!m)
			return false;
		h = header_of(m, 0, true);
		iw_wire_ddp_encode(header, sizeof(header), &h);
		if (!receive(header, lens[i], CODE(IW_E_DDP_LOCAL)) || !expect_ended() || !end())
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

	if (!begin(run, depth, (uint32_t[QUEUES]){ first, first, first }))
		return false;
	m[0] = message_new(IW_QN_SEND, 80, SIZE);
	m[1] = m[0] ? message_new(IW_QN_SEND, 90, SIZE) : NULL;
	if (!m[1] || !send_whole(m[0]) || !send(m[1], 0, 10, false))
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
	if (!receive_header(&h, payload, bad->len, code))
		return false;
	lab_clause(run, NULL);
	return expect_ended() && end();
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
	if (!begin_plain(run, 4))
		return false;
	m = message_new(IW_QN_SEND, 20, 20);
	if (!m || !message_new(IW_QN_SEND, 20, 20) || !send_whole(m) || !expect_message(m))
		return false;
	h = header_of(m, 0, true);
	lab_clause(run, clause_of(CODE(IW_E_DDP_MSN)));
	if (!receive_header(&h, m->octets, m->len, CODE(IW_E_DDP_MSN)))
		return false;
	lab_clause(run, NULL);
	return expect_ended() && end();
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
		if (!begin_plain(run, 2))
			return false;
		m[0] = message_new(IW_QN_SEND, 10, 10);
		m[1] = m[0] ? message_new(IW_QN_SEND, 60, 100) : NULL;
		if (!m[1] ||
		    !send(m[1], table[i].before.mo, table[i].before.len, table[i].before.last))
			return false;
		h = header_of(m[1], table[i].bad.mo, table[i].bad.last);
		lab_clause(run, "RFC 5041 4.1: the L segment has the highest MO");
		if (!receive_header(&h, m[1]->octets + table[i].bad.mo, table[i].bad.len,
				    CODE(IW_E_DDP_MO)))
			return false;
		lab_clause(run, NULL);
		if (!expect_placed(m[1]) || !send_dropped(m[0]) ||
		    !expect_none(IW_QN_SEND, "message 1 was dropped") || !end())
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
	if (!begin(run, depth, (uint32_t[QUEUES]){ first, first, first }))
		return false;
	for (uint32_t qn = 0; qn < QUEUES; qn++)
		for (uint32_t i = 0; i < posted[qn]; i++)
			if (!message_new(qn, size / 2, size))
				return false;
	h.msn += first - 1;
	lab_fill(run, payload, len);
	lab_clause(run, clause_of(code));
	if (!receive_header(&h, payload, len, code))
		return false;
	lab_clause(run, NULL);
	return expect_ended() && end();
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
	if (!begin_plain(run, 4))
		return false;
	for (size_t i = 0; i < 3; i++) {
		m[i] = message_new(IW_QN_SEND, 40, 50);
		if (!m[i])
			return false;
	}
	if (!send_whole(m[0]) || !send_whole(m[2]) || !send(m[1], 0, 20, false) ||
	    !expect_deliveries(IW_QN_SEND) || !flush(IW_QN_SEND, true, m[1]->cookie))
		return false;
	world.delivered[IW_QN_SEND]++;
	/* Message 3 would be the next one now. */
	return expect_none(IW_QN_SEND, "the queue was flushed") && send_dropped(m[2]) &&
	       post(IW_QN_SEND, 10, 1, false) && post(IW_QN_RREQ, 10, 1, false) &&
	       flush(IW_QN_SEND, true, m[2]->cookie) && flush(IW_QN_SEND, false, 0) &&
	       flush(IW_QN_RREQ, false, 0) && end();
}

/* An error, then the complete messages, then the other buffers. */
static bool owner_error(struct lab_run *run)
{
	struct iw_ddp h;

	lab_case(run, "after an error: the complete messages, then a flush of all queues");
	if (!begin_plain(run, 4))
		return false;
	for (uint32_t n = 0; n < 12; n++)
		if (!message_new(n / 4, 30, 30))
			return false;
	/* Of each queue messages 1, 2 and 4; of message 3 only the first octets. */
	for (uint32_t n = 0; n < 12; n++)
		if (n % 4 == 2 ? !send(&world.messages[n], 5, 10, false)
			       : !send_whole(&world.messages[n]))
			return false;
	h = header_of(&world.messages[0], 0, true);
	h.qn = 3;
	return receive_header(&h, world.messages[0].octets, 30, CODE(IW_E_DDP_QN)) &&
	       expect_all_deliveries() && expect_flush() && end();
}

/* The receiver is freed while buffers are posted and segments of their messages have arrived. */
static bool owner_free(struct lab_run *run)
{
	lab_case(run, "untagged_free() while messages are incomplete");
	if (!open_messages(run))
		return false;
	lab_case(run, "untagged_free() while messages are incomplete");
	shuffle(run);
	part_count /= 2;
	return send_parts() && end();
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
		shuffle(run);
		if (!send_parts() || !end() || !lab_expect_freed(run, blocks))
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

	lab_call(world.run, "look");
	lab_put_u64(world.run, m->cookie);
	if (!lab_run_call(world.run))
		return false;
	lab_get_u8(world.run);
	lab_get_u8(world.run);
	seen = lab_get_octets(world.run);
	if (seen.len != m->size)
		return lab_fail(world.run, "the buffer of MSN %" PRIu32 " is not posted any more",
				m->msn);
	memcpy(copy, seen.at, seen.len);
	return lab_results_end(world.run);
}

/* Receives a part, and writes which octets of the buffer the module has changed. */
static bool trace_part(struct trace *t, const struct part *p)
{
	static uint8_t before[PAYLOAD_MAX], after[PAYLOAD_MAX],
		segment[IW_DDP_HDR_MAX + PAYLOAD_MAX];
	const struct message *m = p->m;
	struct iw_ddp h = header_of(m, p->mo, p->last);
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
	lab_call(world.run, "receive");
	lab_put_octets(world.run, segment, IW_DDP_UNTAGGED_LEN + p->len);
	if (!lab_run_call(world.run) || !trace_look(m, after))
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

		if (!deliver(IW_QN_SEND, &d))
			return false;
		if (!d.is)
			return true;
		world.delivered[IW_QN_SEND]++;
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

	part_count = 0;
	for (size_t i = 0; i < TRACE_MESSAGES; i++) {
		struct message *m = message_new(IW_QN_SEND, TRACE_OCTETS, TRACE_OCTETS);

		if (!m)
			return false;
		for (uint32_t mo = 0; mo < m->len; mo += TRACE_PAYLOAD)
			part_add(m, mo, TRACE_PAYLOAD, mo + TRACE_PAYLOAD == m->len);
	}
	memcpy(all, parts, sizeof(all));
	n = part_count;
	part_count = 0;
	for (size_t i = 0; i < n || waiting; i++) {
		for (size_t w = 0; w < waiting;) {
			if (due[w] > i) {
				w++;
				continue;
			}
			parts[part_count++] = late[w];
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
			parts[part_count++] = all[i];
		}
		/* A repeated segment: the transport may pass it before its message is delivered. */
		if (lab_below(run, 12) == 0) {
			late[waiting] = all[i];
			due[waiting++] = i + 3;
		}
	}
	return true;
}

static bool trace(struct lab_run *run, const char *path)
{
	struct trace t = { .file = NULL, .now = IW_SEC(1) };
	struct iw_trace_event ev = { .kind = IW_TRACE_trace_end };
	bool ok;

	if (!begin_plain(run, TRACE_MESSAGES) || !trace_prepare(run))
		return false;
	t.file = fopen(path, "w");
	if (!t.file)
		return lab_fail(run, "%s cannot be written", path);
	ok = true;
	for (size_t i = 0; ok && i < part_count; i++) {
		t.now += 10000;
		if (is_delivered(parts[i].m))
			continue;
		ok = trace_part(&t, &parts[i]) && trace_deliver(&t);
	}
	ev.trace_end.events = t.events;
	trace_write(&t, &ev);
	if (fclose(t.file) && ok)
		return lab_fail(run, "%s cannot be written", path);
	return ok && end();
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
	lab_put_u32(run, (uint32_t)part_count);
	for (size_t i = 0; i < part_count; i++) {
		struct iw_ddp h = header_of(m, parts[i].mo, parts[i].last);

		iw_wire_ddp_encode(segment, sizeof(segment), &h);
		memcpy(segment + IW_DDP_UNTAGGED_LEN, m->octets + parts[i].mo, parts[i].len);
		lab_put_octets(run, segment, IW_DDP_UNTAGGED_LEN + parts[i].len);
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
		for (size_t i = 0; i < part_count; i++) {
			uint8_t octets[IW_DDP_HDR_MAX];
			struct iw_ddp h = header_of(m, parts[i].mo, parts[i].last);

			/* The student's module decodes the header too. */
			h.msn = 1 + round;
			iw_wire_ddp_encode(octets, sizeof(octets), &h);
			iw_wire_ddp_decode(&h, octets, sizeof(octets));
			if (iw_ddp_place(d, &h, m->octets + h.mo, parts[i].len, 0, 0, NULL) < 0 ||
			    iw_ddp_arrive(d, seq + h.mo / payload, &h, parts[i].len, NULL) < 0)
				abort();
		}
		if (iw_ddp_deliver(d, &got, NULL) != 1 || got.len != m->len)
			abort();
		seq += part_count;
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
	struct message *m = &world.messages[0];

	if (!begin_plain(run, 1))
		return NULL;
	*m = (struct message){ .msn = 1, .len = SPEED_OCTETS, .control = 0x43 };
	m->octets = pool_take(m->len, 0);
	lab_fill(run, m->octets, m->len);
	part_count = 0;
	for (uint32_t mo = 0; mo < m->len; mo += payload)
		part_add(m, mo, IW_MIN(payload, m->len - mo), m->len - mo <= payload);
	if (shuffled)
		shuffle(run);
	return m;
}

/* How often the module must receive the message for a measurement of about SPEED_NS. */
static bool speed_rounds(struct lab_run *run, uint32_t payload, bool shuffled, uint32_t *rounds)
{
	const uint32_t few = 2000;
	struct message *m = speed_begin(run, payload, shuffled);
	uint64_t ns, n;

	if (!m || !speed_student(run, m, few, &ns) || !end())
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

		if (!m || !speed_student(run, m, rounds, &student[i]) || !end())
			return false;
		ours[i] = speed_ours(m, rounds, payload);
	}
	qsort(student, SPEED_RUNS, sizeof(student[0]), by_value);
	qsort(ours, SPEED_RUNS, sizeof(ours[0]), by_value);
	work = shuffled ? (double)rounds * (double)part_count * 1e3
			: (double)rounds * SPEED_OCTETS * 8;
	result->student = work / (double)student[SPEED_RUNS / 2];
	result->ours = work / (double)ours[SPEED_RUNS / 2];
	return true;
}

static int speed(struct lab_run *run, struct lab_speed *results, size_t cap)
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

const struct lab lab_untagged = {
	.number = 3,
	.folder = "03-untagged",
	.title = "Untagged queues, MSN and delivery order",
	.steps = steps,
	.trace = trace,
	.speed = speed,
};
