/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "labs/grader/read/model.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "os/os.h"
#include "util/num.h"

enum {
	ARENA = 8 << 20, /* octets of all operations of a model */
	MULPDU_MAX = 65536,
};

static const char *const kinds[] = { "Send", "RDMA Write", "RDMA Read" };

/* --- events ----------------------------------------------------------------------------------- */

static struct read_regions regions; /* of the stream */
static uint8_t arena[ARENA];        /* octets of operations */
static size_t arena_used;

/* Removes the oldest events until `room` more octets fit. */
static void forget_events(struct read_model *m, size_t room)
{
	while (strlen(m->events) + room >= sizeof(m->events)) {
		char *rest = strchr(m->events + 4, ';'); /* after the "...;" of an earlier time */

		if (!rest) {
			m->events[0] = '\0';
			return;
		}
		memmove(m->events + 3, rest, strlen(rest) + 1);
		memcpy(m->events, "...", 3);
	}
}

static void append_event(struct read_model *m, const char *text)
{
	char whole[sizeof(m->event) + 20];
	size_t len;

	snprintf(whole, sizeof(whole), m->times > 1 ? "%s (%u times)" : "%s", text, m->times);
	forget_events(m, strlen(whole) + 2);
	len = strlen(m->events);
	snprintf(m->events + len, sizeof(m->events) - len, "%s%s", len ? "; " : "", whole);
}

/* Describes the next call, with the events before it. */
static void event(struct read_model *m, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void event(struct read_model *m, const char *format, ...)
{
	char text[sizeof(m->event)];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (strcmp(text, m->event) == 0) {
		char *last = strrchr(m->events, ';');

		m->times++;
		m->events[last ? last - m->events : 0] = '\0';
	} else {
		m->times = 1;
		memcpy(m->event, text, sizeof(text));
	}
	append_event(m, text);
	lab_case(m->run, "IRD %u, ORD %u: %s", m->ird, m->ord, m->events);
}

void read_note(struct read_model *m, const char *text)
{
	event(m, "%s", text);
}

static void describe_request(char out[static 80], const struct iw_rreq *q)
{
	snprintf(out, 80, "Request of %u octets at TO 0x%" PRIx64, q->size, q->src_to);
}

/* --- the stream ------------------------------------------------------------------------------- */

bool read_new(struct read_model *m, struct lab_run *run, uint32_t ird, uint32_t ord, uint32_t depth,
	      uint32_t source_len)
{
	uint64_t low = 0x1000 + lab_below(run, 1 << 20);

	*m = (struct read_model){ .run = run, .ird = ird, .ord = ord, .depth = depth };
	m->number = 1 + (uint32_t)lab_below(run, 1000);
	m->send_msn = m->read_msn = 1;
	arena_used = 0;
	if (!read_regions_clear(run, &regions) ||
	    !read_regions_add(run, &regions, 0, IW_RIGHT_REMOTE_READ, low, source_len) ||
	    !read_regions_add(run, &regions, m->number,
			      IW_RIGHT_REMOTE_READ | IW_RIGHT_REMOTE_WRITE, UINT32_MAX - 99, 300) ||
	    !read_regions_add(run, &regions, 0, IW_RIGHT_REMOTE_WRITE, 0, 100) ||
	    !read_regions_add(run, &regions, m->number + 1, IW_RIGHT_REMOTE_READ, 0, 100))
		return false;
	event(m, "a new stream");
	if (!lab_allocated(run, &m->blocks))
		return false;
	lab_call(run, "stream_new");
	lab_put_u32(run, m->number);
	lab_put_u32(run, ird);
	lab_put_u32(run, ord);
	lab_put_u32(run, depth);
	read_regions_put(run, &regions);
	if (!lab_run_call(run))
		return false;
	return lab_expect_true(run, lab_get_u8(run), "stream_new() returned NULL") &&
	       lab_results_end(run);
}

bool read_free(struct read_model *m)
{
	event(m, "the end");
	lab_call(m->run, "stream_free");
	return lab_run_call(m->run) && lab_results_end(m->run) &&
	       lab_expect_freed(m->run, m->blocks);
}

/* --- the peer reads --------------------------------------------------------------------------- */

struct iw_rreq read_valid(struct read_model *m, uint32_t size)
{
	uint32_t i = (uint32_t)lab_below(m->run, 2);
	const struct iw_region *r = &regions.list[i].region;

	if (size > r->len)
		r = &regions.list[0].region;
	return (struct iw_rreq){
		.sink_stag = (uint32_t)lab_random(m->run),
		.sink_to = lab_random(m->run) >> 1,
		.size = size,
		.src_stag = r->stag,
		.src_to = r->to + lab_below(m->run, r->len - size + 1),
	};
}

static uint32_t judge_request(struct read_model *m, const uint8_t *octets, size_t len)
{
	const uint8_t *source;
	struct iw_rreq q;
	uint32_t err;

	if (m->ended)
		return READ_ENDED;
	if (m->end - m->first == m->ird)
		return READ_NO_BUFFER;
	if (len != IW_RDMAP_RREQ_LEN || iw_rreq_decode(&q, octets, len) <= 0)
		return READ_REQUEST;
	err = read_regions_check(&regions, m->number, &q, &source);
	if (err)
		return err;
	m->requests[m->end] = q;
	m->sources[m->end++] = source;
	return READ_OK;
}

static bool give_request(struct read_model *m, const uint8_t *octets, size_t len)
{
	uint32_t expected = judge_request(m, octets, len), seen;

	m->ended = m->ended || expected != READ_OK;
	lab_call(m->run, "stream_request");
	lab_put_octets(m->run, octets, len);
	if (!lab_run_call(m->run))
		return false;
	seen = lab_get_u16(m->run);
	return lab_results_end(m->run) && read_expect_error(m->run, expected, seen);
}

bool read_request(struct read_model *m, const struct iw_rreq *q)
{
	uint8_t octets[IW_RDMAP_RREQ_LEN];
	char text[80];

	describe_request(text, q);
	event(m, "%s", text);
	iw_rreq_encode(octets, sizeof(octets), q);
	return give_request(m, octets, sizeof(octets));
}

bool read_request_of(struct read_model *m, uint32_t size)
{
	struct iw_rreq q = read_valid(m, size);

	return read_request(m, &q);
}

bool read_request_octets(struct read_model *m, const uint8_t *octets, size_t len)
{
	event(m, "a Request message of %zu octets", len);
	return give_request(m, octets, len);
}

/* --- posts ------------------------------------------------------------------------------------ */

static uint32_t judge_post(const struct read_model *m, enum read_kind kind)
{
	if (m->ended)
		return READ_ENDED;
	if (m->tail - m->head == m->depth)
		return READ_FULL;
	return kind == READ_READ && m->ord == 0 ? READ_LIMIT : READ_OK;
}

static void put_operation(struct lab_run *run, const struct read_op *op)
{
	lab_call(run, "stream_post");
	lab_put_u64(run, op->id);
	lab_put_u8(run, (uint8_t)op->kind);
	lab_put_u8(run, op->fence);
	lab_put_u32(run, op->kind == READ_READ ? op->len : 0);
	lab_put_octets(run, op->octets, op->kind == READ_READ ? 0 : op->len);
	lab_put_u32(run, op->sink_stag);
	lab_put_u64(run, op->sink_to);
	lab_put_u32(run, op->remote_stag);
	lab_put_u64(run, op->remote_to);
}

static void describe_post(struct read_model *m, const struct read_op *op)
{
	const char *fence = op->fence ? " with fence" : "";

	if (op->kind == READ_READ)
		event(m, "post RDMA Read %u%s of %u octets to STag 0x%08x TO 0x%" PRIx64, m->tail,
		      fence, op->len, op->sink_stag, op->sink_to);
	else
		event(m, "post %s %u%s of %u octets", kinds[op->kind], m->tail, fence, op->len);
}

bool read_post(struct read_model *m, enum read_kind kind, uint32_t len, bool fence)
{
	struct read_op *op = &m->ops[m->tail];
	uint32_t expected = judge_post(m, kind), seen;
	struct lab_run *run = m->run;

	if (m->tail == READ_OPS_MAX || len > ARENA - arena_used)
		return lab_fail(run, "the grader posts too many operations");
	*op = (struct read_op){
		.id = (lab_random(run) & ~0xffffull) | m->tail,
		.kind = kind,
		.fence = fence,
		.len = len,
		.octets = arena + arena_used,
		.sink_stag = (uint32_t)lab_random(run),
		.sink_to = lab_random(run) >> 1,
		.remote_stag = (uint32_t)lab_random(run),
		.remote_to = lab_random(run) >> 1,
	};
	arena_used += len;
	if (kind == READ_READ)
		memset(op->octets, 0xee, len); /* as memory_new() of the harness */
	else
		lab_fill(run, op->octets, len);
	describe_post(m, op);
	put_operation(run, op);
	if (!lab_run_call(run))
		return false;
	seen = lab_get_u16(run);
	if (!lab_results_end(run) || !read_expect_error(run, expected, seen))
		return false;
	m->tail += expected == READ_OK;
	return true;
}

uint32_t read_outstanding(const struct read_model *m)
{
	uint32_t n = 0;

	for (uint32_t i = m->head; i < m->next; i++)
		n += m->ops[i].kind == READ_READ && !m->ops[i].answered;
	return n;
}

/* --- segments --------------------------------------------------------------------------------- */

/* Returns why the next operation may not begin. NULL: it may, or no operation is left. */
static const char *why_not(const struct read_model *m, const char **clause)
{
	const struct read_op *op = &m->ops[m->next];

	if (m->next == m->tail)
		return NULL;
	if (op->kind == READ_READ && read_outstanding(m) >= m->ord) {
		*clause = "RFC 5040 6.1";
		return "as many Reads are outstanding as ORD permits, and the operations after the "
		       "next Read wait with it (RFC 5040 5.5, rule 13)";
	}
	if (op->fence && read_outstanding(m) > 0) {
		*clause = "RFC 5040 5.5, rule 12";
		return "the next operation has a fence, and a Read before it is outstanding";
	}
	return NULL;
}

static bool operation_ready(const struct read_model *m)
{
	const char *clause;

	return m->next != m->tail && !why_not(m, &clause);
}

static void begin_response(struct read_model *m)
{
	const struct iw_rreq *q = &m->requests[m->first];

	m->current = READ_RESPONSE;
	m->out = (struct iw_ddp_out){
		.hdr = { .tagged = true,
			 .opcode = IW_OP_RRESP,
			 .stag = q->sink_stag,
			 .to = q->sink_to },
		.len = q->size,
	};
}

static void begin_operation(struct read_model *m)
{
	const struct read_op *op = &m->ops[m->next];
	struct iw_ddp *h = &m->out.hdr;
	struct iw_rreq q = { op->sink_stag, op->sink_to, op->len, op->remote_stag, op->remote_to };

	m->current = READ_OPERATION;
	m->out = (struct iw_ddp_out){ .len = op->len };
	switch (op->kind) {
	case READ_SEND:
		h->opcode = IW_OP_SEND;
		h->msn = m->send_msn++;
		break;
	case READ_WRITE:
		h->tagged = true;
		h->opcode = IW_OP_WRITE;
		h->stag = op->remote_stag;
		h->to = op->remote_to;
		break;
	case READ_READ:
		h->opcode = IW_OP_RREQ;
		h->qn = IW_QN_RREQ;
		h->msn = m->read_msn++;
		m->out.len = iw_rreq_encode(m->rreq, sizeof(m->rreq), &q) > 0 ? IW_RDMAP_RREQ_LEN
									      : 0;
		break;
	}
}

/* The octets of the current message. */
static const uint8_t *current_octets(const struct read_model *m)
{
	if (m->current == READ_RESPONSE)
		return m->sources[m->first];
	return m->ops[m->next].kind == READ_READ ? m->rreq : m->ops[m->next].octets;
}

/* Writes the next segment of the current message to out, and returns its length. */
static size_t cut(struct read_model *m, uint8_t *out, size_t mulpdu)
{
	uint32_t off, len;
	size_t header;

	m->out.hdr.dv = m->out.hdr.rv = 1;
	m->out.begun = true;
	header = iw_ddp_cut(&m->out, mulpdu, out, &off, &len);
	if (len > 0)
		memcpy(out + header, current_octets(m) + off, len);
	return header + len;
}

static void describe_current(const struct read_model *m, char *text, size_t cap)
{
	uint32_t octet = m->out.done;

	if (m->current == READ_RESPONSE)
		snprintf(text, cap, "the segment from octet %u of the Response of %u octets", octet,
			 m->out.len);
	else if (m->ops[m->next].kind == READ_READ)
		snprintf(text, cap, "the segment of Read Request %u", m->next);
	else
		snprintf(text, cap, "the segment from octet %u of %s %u", octet,
			 kinds[m->ops[m->next].kind], m->next);
}

static void end_current(struct read_model *m)
{
	if (m->current == READ_RESPONSE)
		m->first++;
	else
		m->ops[m->next++].sent = true;
	m->current = READ_NOTHING;
}

static bool is_response(struct lab_octets seen)
{
	return seen.len > 1 && seen.at[0] & 0x80 && (seen.at[1] & 0xf) == IW_OP_RRESP;
}

/* Begins the message to which the segment belongs. False: none may be sent. */
static bool begin_message(struct read_model *m, struct lab_octets seen)
{
	bool response = m->first != m->end, operation = operation_ready(m);

	if (m->ended)
		return false;
	if (m->current != READ_NOTHING)
		return true;
	if (response && (is_response(seen) || !operation))
		begin_response(m);
	else if (operation)
		begin_operation(m);
	return m->current != READ_NOTHING;
}

static bool fail_premature(struct read_model *m, size_t len)
{
	const char *clause = NULL, *why = m->ended ? NULL : why_not(m, &clause);

	if (m->ended) {
		clause = "RFC 5041 7.1";
		why = "the stream has ended";
	}
	if (clause)
		lab_clause(m->run, clause);
	return lab_fail(m->run, "a segment of %zu octets, expected none: %s", len,
			why ? why : "everything was sent");
}

static bool compare_segment(struct read_model *m, size_t mulpdu, struct lab_octets seen)
{
	static uint8_t expected[MULPDU_MAX];
	char text[120];
	size_t len;

	describe_current(m, text, sizeof(text));
	if (seen.len == 0)
		return lab_fail(m->run, "no segment, expected %s", text);
	len = cut(m, expected, mulpdu);
	if (m->out.ended)
		end_current(m);
	return lab_expect_octets(m->run, text, expected, len, seen.at, seen.len);
}

bool read_segment(struct read_model *m, size_t mulpdu, bool *any)
{
	struct lab_octets seen;
	bool unchanged;
	size_t len;

	event(m, "segment, MULPDU %zu", mulpdu);
	lab_call(m->run, "stream_next_segment");
	lab_put_u32(m->run, (uint32_t)mulpdu);
	if (!lab_run_call(m->run))
		return false;
	len = lab_get_u32(m->run);
	seen = lab_get_octets(m->run);
	unchanged = lab_get_u8(m->run);
	if (!lab_results_end(m->run))
		return false;
	if (len > mulpdu)
		return lab_fail(m->run, "a segment of %zu octets is longer than the MULPDU", len);
	if (seen.len != len || !unchanged)
		return lab_fail(m->run, "octets before the segment have changed");
	if (any)
		*any = len > 0;
	if (!begin_message(m, seen))
		return len == 0 || fail_premature(m, len);
	return compare_segment(m, mulpdu, seen);
}

bool read_segments(struct read_model *m, size_t mulpdu)
{
	bool any = true;

	while (any)
		if (!read_segment(m, mulpdu, &any))
			return false;
	return true;
}

/* --- Responses to this end's Reads ------------------------------------------------------------ */

static struct read_op *oldest_read(struct read_model *m)
{
	for (uint32_t i = m->head; i < m->next; i++)
		if (m->ops[i].kind == READ_READ && !m->ops[i].answered)
			return &m->ops[i];
	return NULL;
}

static uint32_t judge_response(struct read_model *m, const struct iw_ddp *h, const uint8_t *payload,
			       size_t len)
{
	struct read_op *op = oldest_read(m);
	uint32_t left;

	if (m->ended)
		return READ_ENDED;
	if (!op)
		return READ_UNEXPECTED;
	left = op->len - op->got;
	if (len > 0 && h->stag != op->sink_stag)
		return READ_SINK_STAG;
	if (len > left || (len > 0 && h->to != op->sink_to + op->got) || (h->last && len < left))
		return READ_SINK_BOUNDS;
	if (len > 0)
		memcpy(op->octets + op->got, payload, len);
	op->got += (uint32_t)len;
	op->answered = h->last;
	return READ_OK;
}

static void describe_response(struct read_model *m, const struct iw_ddp *h, size_t len)
{
	event(m, "Response segment to STag 0x%08x TO 0x%" PRIx64 " of %zu octets%s", h->stag, h->to,
	      len, h->last ? ", L" : "");
}

bool read_response(struct read_model *m, const struct iw_ddp *h, const uint8_t *payload, size_t len)
{
	static uint8_t segment[MULPDU_MAX];
	uint32_t expected = judge_response(m, h, payload, len), seen;
	int header = iw_wire_ddp_encode(segment, sizeof(segment), h);

	describe_response(m, h, len);
	m->ended = m->ended || expected != READ_OK;
	memcpy(segment + header, payload, len);
	lab_call(m->run, "stream_response");
	lab_put_octets(m->run, segment, (size_t)header + len);
	if (!lab_run_call(m->run))
		return false;
	seen = lab_get_u16(m->run);
	return lab_results_end(m->run) && read_expect_error(m->run, expected, seen);
}

bool read_expected(struct read_model *m, struct iw_ddp *h, uint32_t *left)
{
	const struct read_op *op = oldest_read(m);

	if (!op)
		return false;
	*left = op->len - op->got;
	*h = (struct iw_ddp){
		.tagged = true,
		.dv = 1,
		.rv = 1,
		.opcode = IW_OP_RRESP,
		.stag = op->sink_stag,
		.to = op->sink_to + op->got,
	};
	return true;
}

bool read_answer(struct read_model *m, uint32_t most)
{
	static uint8_t payload[MULPDU_MAX];
	struct iw_ddp h;
	uint32_t left, len;

	if (!read_expected(m, &h, &left))
		return true;
	len = IW_MIN(left, most);
	h.last = len == left;
	lab_fill(m->run, payload, len);
	return read_response(m, &h, payload, len);
}

bool read_answers(struct read_model *m, uint32_t most)
{
	while (oldest_read(m))
		if (!read_answer(m, most))
			return false;
	return true;
}

static bool compare_sink(struct read_model *m, uint32_t i, struct lab_octets seen)
{
	char text[60];

	snprintf(text, sizeof(text), "the sink of RDMA Read %u", i);
	return lab_expect_octets(m->run, text, m->ops[i].octets, m->ops[i].len, seen.at, seen.len);
}

bool read_sinks(struct read_model *m)
{
	for (uint32_t i = m->head; i < m->tail; i++) {
		struct lab_octets seen;
		bool unchanged;

		if (m->ops[i].kind != READ_READ)
			continue;
		lab_help(m->run, "sink");
		lab_put_u64(m->run, m->ops[i].id);
		if (!lab_run_call(m->run))
			return false;
		seen = lab_get_octets(m->run);
		unchanged = lab_get_u8(m->run);
		if (!lab_results_end(m->run) || !compare_sink(m, i, seen))
			return false;
		if (!unchanged)
			return lab_fail(m->run, "octets before the sink have changed");
	}
	return true;
}

/* --- completions ------------------------------------------------------------------------------ */

/* Must the oldest operation be complete, with which status? */
static bool judge_completion(const struct read_model *m, uint32_t *status)
{
	const struct read_op *op = &m->ops[m->head];
	bool succeeded = op->kind == READ_READ ? op->answered : op->sent;

	if (m->head == m->tail)
		return false;
	*status = succeeded ? READ_OK : READ_CANCELED;
	return succeeded || m->ended;
}

struct completion {
	uint64_t id;
	uint32_t kind, status;
	struct lab_octets sink;
};

static bool compare_completion(struct read_model *m, const struct completion *c, uint32_t status)
{
	uint32_t i = m->head;
	const struct read_op *op = &m->ops[i];

	if (c->id != op->id) {
		for (uint32_t n = 0; n < m->tail; n++)
			if (m->ops[n].id == c->id)
				return lab_fail(m->run,
						"a completion of %s %u, expected that of %s %u",
						kinds[m->ops[n].kind], n, kinds[op->kind], i);
		return lab_fail(m->run,
				"a completion with the id 0x%" PRIx64 ", expected 0x%" PRIx64,
				c->id, op->id);
	}
	if (!lab_expect_name(m->run, "the kind of the completion", kinds, IW_ARRAY_LEN(kinds),
			     op->kind, c->kind))
		return false;
	/*
	 * RFC 5040 6.2.1 leaves open what has become of a sent message whose completion had to wait
	 * for a Read that was canceled.
	 */
	if (m->canceled && c->status == READ_CANCELED)
		status = READ_CANCELED;
	if (!read_expect_error(m->run, status, c->status))
		return false;
	m->canceled = m->canceled || status == READ_CANCELED;
	m->head++;
	return op->kind != READ_READ || status != READ_OK || compare_sink(m, i, c->sink);
}

bool read_completion(struct read_model *m, bool *any)
{
	const struct read_op *op = &m->ops[m->head];
	struct completion c;
	uint32_t status = 0;
	bool is, expected;

	event(m, "completion");
	lab_call(m->run, "stream_next_completion");
	if (!lab_run_call(m->run))
		return false;
	is = lab_get_u8(m->run);
	c.id = lab_get_u64(m->run);
	c.kind = lab_get_u8(m->run);
	c.status = lab_get_u16(m->run);
	c.sink = lab_get_octets(m->run);
	if (!lab_results_end(m->run))
		return false;
	expected = judge_completion(m, &status);
	if (any)
		*any = is;
	if (!is)
		return !expected || lab_fail(m->run, "no completion, expected that of %s %u",
					     kinds[op->kind], m->head);
	if (expected)
		return compare_completion(m, &c, status);
	if (m->head == m->tail)
		return lab_fail(m->run,
				"a completion, expected none: all operations are completed");
	return lab_fail(m->run, "a completion, expected none: %s %u is not complete",
			kinds[op->kind], m->head);
}

bool read_completions(struct read_model *m)
{
	bool any = true;

	while (any)
		if (!read_completion(m, &any))
			return false;
	return true;
}
