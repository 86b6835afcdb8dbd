/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lab 3: the receiver in the student's process, and its model. */
#include "labs/grader/untagged/queues.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/num.h"

struct queues queues;

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

uint8_t *queues_pool(size_t len, int fill)
{
	uint8_t *at = queues.pool + queues.used;

	/* The steps are written so that it suffices. */
	if (len > POOL - queues.used)
		abort();
	queues.used += len;
	memset(at, fill, len);
	return at;
}

bool queues_begin(struct lab_run *run, const uint32_t depth[QUEUES], const uint32_t first[QUEUES])
{
	queues.run = run;
	queues.count = queues.used = 0;
	lab_call(run, "untagged_new");
	for (size_t qn = 0; qn < QUEUES; qn++) {
		queues.depth[qn] = depth[qn];
		queues.first[qn] = first[qn];
		queues.posted[qn] = queues.delivered[qn] = 0;
		lab_put_u32(run, depth[qn]);
		lab_put_u32(run, first[qn]);
	}
	if (!lab_run_call(run))
		return false;
	if (!lab_get_u8(run))
		return lab_fail(run, "untagged_new(): expected a receiver, seen NULL");
	return lab_results_end(run);
}

bool queues_begin_plain(struct lab_run *run, uint32_t depth)
{
	return queues_begin(run, (uint32_t[QUEUES]){ depth, depth, depth },
			    (uint32_t[QUEUES]){ 1, 1, 1 });
}

bool queues_end(void)
{
	lab_call(queues.run, "untagged_free");
	return lab_run_call(queues.run) && lab_results_end(queues.run);
}

bool queues_post(uint32_t qn, uint32_t size, uint64_t cookie, bool expected)
{
	struct lab_run *run = queues.run;
	uint8_t seen;

	lab_call(run, "untagged_post");
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

struct message *queues_add(uint32_t qn, uint32_t len, uint32_t size)
{
	struct message *m = &queues.messages[queues.count];

	if (queues.count == MESSAGES)
		abort();
	*m = (struct message){
		.qn = qn,
		.msn = queues.first[qn] + queues.posted[qn],
		.len = len,
		.size = size,
		.control = qn == IW_QN_RREQ   ? 0x41
			   : qn == IW_QN_TERM ? 0x47
					      : 0x43,
		.cookie = lab_random(queues.run),
	};
	if (qn == IW_QN_SEND && lab_below(queues.run, 3) == 0) {
		m->control = 0x44; /* Send with Invalidate */
		m->rsvdulp = (uint32_t)lab_random(queues.run);
	}
	m->octets = queues_pool(len, 0);
	lab_fill(queues.run, m->octets, len);
	m->arrived = queues_pool(len, 0);
	m->buffer = queues_pool(size, FILL);
	queues.count++;
	queues.posted[qn]++;
	return queues_post(qn, size, m->cookie, true) ? m : NULL;
}

bool queues_complete(const struct message *m)
{
	return m->has_end && !memchr(m->arrived, 0, m->len);
}

struct message *queues_next(uint32_t qn)
{
	for (size_t i = 0; i < queues.count; i++)
		if (queues.messages[i].qn == qn &&
		    queues.messages[i].msn == queues.first[qn] + queues.delivered[qn])
			return &queues.messages[i];
	return NULL;
}

bool queues_receive(const uint8_t *segment, size_t len, uint32_t expected)
{
	struct lab_run *run = queues.run;
	char name[40];
	uint32_t seen;

	lab_call(run, "untagged_receive");
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

struct iw_ddp queues_header(const struct message *m, uint32_t mo, bool last)
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

bool queues_receive_header(const struct iw_ddp *h, const uint8_t *payload, size_t len,
			   uint32_t expected)
{
	static uint8_t segment[IW_DDP_HDR_MAX + PAYLOAD_MAX];

	if (iw_wire_ddp_encode(segment, sizeof(segment), h) <= 0 || len > PAYLOAD_MAX)
		abort();
	if (len)
		memcpy(segment + IW_DDP_UNTAGGED_LEN, payload, len);
	return queues_receive(segment, IW_DDP_UNTAGGED_LEN + len, expected);
}

enum result queues_model(struct message *m, uint32_t mo, uint32_t len, bool last)
{
	bool new_octets = len && memchr(m->arrived + mo, 0, len);
	bool new_end = last && !m->has_end;

	memset(m->arrived + mo, 1, len);
	memcpy(m->buffer + mo, m->octets + mo, len);
	m->has_end = m->has_end || last;
	return new_octets || new_end ? PLACED : NOTHING_NEW;
}

bool queues_send(struct message *m, uint32_t mo, uint32_t len, bool last)
{
	struct iw_ddp h = queues_header(m, mo, last);

	return queues_receive_header(&h, m->octets + mo, len, queues_model(m, mo, len, last));
}

bool queues_send_dropped(const struct message *m)
{
	struct iw_ddp h = queues_header(m, 0, true);

	return queues_receive_header(&h, m->octets, m->len, DROPPED);
}

bool queues_send_whole(struct message *m)
{
	return queues_send(m, 0, m->len, true);
}

bool queues_expect_placed(const struct message *m)
{
	struct lab_run *run = queues.run;
	struct lab_octets seen;
	uint8_t intact;
	char what[80];

	lab_help(run, "look");
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

bool queues_delivered(const struct message *m)
{
	return m->msn - queues.first[m->qn] < queues.delivered[m->qn];
}

/* --- delivery --------------------------------------------------------------------------------- */

bool queues_deliver(uint32_t qn, struct delivery *d)
{
	struct lab_run *run = queues.run;

	lab_call(run, "untagged_deliver");
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

bool queues_expect_none(uint32_t qn, const char *why)
{
	struct delivery d;

	if (!queues_deliver(qn, &d))
		return false;
	return lab_expect_true(queues.run, !d.is,
			       "untagged_deliver(queue %" PRIu32
			       "): expected false (%s), seen a message of "
			       "MSN %" PRIu32 " and %" PRIu32 " octets",
			       qn, why, d.msn, d.length);
}

bool queues_expect_message(const struct message *m)
{
	struct lab_run *run = queues.run;
	struct delivery d;
	char what[100];

	if (!queues_deliver(m->qn, &d))
		return false;
	if (!d.is)
		return lab_fail(run,
				"untagged_deliver(queue %" PRIu32
				"): expected the message of MSN %" PRIu32 ", %" PRIu32
				" octets, seen false",
				m->qn, m->msn, m->len);
	queues.delivered[m->qn]++;
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

bool queues_expect_deliveries(uint32_t qn)
{
	struct message *m = queues_next(qn);

	for (; m && queues_complete(m); m = queues_next(qn))
		if (!queues_expect_message(m))
			return false;
	return queues_expect_none(
		qn, !m           ? "all messages were delivered"
		    : m->has_end ? "octets of the next message are missing"
				 : "the L segment of the next message has not arrived");
}

bool queues_expect_all_deliveries(void)
{
	for (uint32_t qn = 0; qn < QUEUES; qn++)
		if (!queues_expect_deliveries(qn))
			return false;
	return true;
}

bool queues_flush(uint32_t qn, bool expected, uint64_t expected_cookie)
{
	struct lab_run *run = queues.run;
	uint64_t cookie;
	uint8_t is;

	lab_call(run, "untagged_flush");
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

bool queues_expect_flush(void)
{
	for (uint32_t qn = 0; qn < QUEUES; qn++) {
		for (struct message *m = queues_next(qn); m; m = queues_next(qn)) {
			if (!queues_flush(qn, true, m->cookie))
				return false;
			queues.delivered[qn]++;
		}
		if (!queues_flush(qn, false, 0))
			return false;
	}
	return true;
}

/* --- parts ------------------------------------------------------------------------------------ */

void queues_part(struct message *m, uint32_t mo, uint32_t len, bool last)
{
	if (queues.part_count == SEGMENTS)
		abort();
	queues.parts[queues.part_count++] =
		(struct part){ .m = m, .mo = mo, .len = len, .last = last };
}

void queues_shuffle(struct lab_run *run)
{
	for (size_t i = queues.part_count; i > 1; i--) {
		size_t other = (size_t)lab_below(run, i);
		struct part p = queues.parts[i - 1];

		queues.parts[i - 1] = queues.parts[other];
		queues.parts[other] = p;
	}
}
