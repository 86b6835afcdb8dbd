/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "ddp.h"
#include "read.h"

/* --- header --- */

void request_encode(uint8_t *out, const struct read_request *r)
{
	put_be32(out, r->sink_stag);
	put_be64(out + 4, r->sink_to);
	put_be32(out + 12, r->size);
	put_be32(out + 16, r->source_stag);
	put_be64(out + 20, r->source_to);
}

enum error request_decode(struct read_request *r, const uint8_t *message, size_t len)
{
	if (len != READ_REQUEST_LEN)
		return ERR_REQUEST;
	r->sink_stag = get_be32(message);
	r->sink_to = get_be64(message + 4);
	r->size = get_be32(message + 12);
	r->source_stag = get_be32(message + 16);
	r->source_to = get_be64(message + 20);
	return ERR_NONE;
}

/* --- source --- */

static const struct region *find_region(const struct region *regions, size_t n, uint32_t stag)
{
	for (size_t i = 0; i < n; i++)
		if (regions[i].stag == stag)
			return &regions[i];
	return NULL;
}

enum error source_check(const struct region *regions, size_t n, uint32_t stream,
			const struct read_request *r, const uint8_t **source)
{
	const struct region *region = find_region(regions, n, r->source_stag);
	uint64_t offset;

	*source = NULL;
	if (r->size == 0)
		return ERR_NONE;
	if (!region)
		return ERR_SOURCE_STAG;
	if (region->stream != 0 && region->stream != stream)
		return ERR_SOURCE_STREAM;
	if (!(region->rights & RIGHT_REMOTE_READ))
		return ERR_SOURCE_RIGHTS;
	if (r->source_to + r->size < r->source_to)
		return ERR_SOURCE_WRAP;
	/* A TO below the region's gives an offset that is too large, since the sum cannot wrap. */
	offset = r->source_to - region->to;
	if (offset > region->len || r->size > region->len - offset)
		return ERR_SOURCE_BOUNDS;
	*source = region->base + offset;
	return ERR_NONE;
}

/* --- the stream --- */

/* A message that is being cut into segments. */
struct message {
	uint8_t opcode;
	uint32_t stag; /* tagged: STag and TO of its first octet */
	uint64_t to;
	uint32_t qn, msn; /* untagged */
	const uint8_t *octets;
	uint32_t len, sent;
};

/* An operation of this end. */
struct slot {
	struct operation op;
	bool sent;     /* stream_next_segment() has returned its last segment */
	bool answered; /* Read: the last segment of its Response has arrived */
	uint32_t got;  /* Read: octets in the sink */
};

enum turn { TURN_NONE, TURN_OPERATION, TURN_RESPONSE };

struct stream {
	struct stream_config config;
	bool ended;

	/*
	 * Rings. The numbers count up and never wrap; number n is at n modulo the size.
	 * Operations: head <= next <= tail. From head to next they are sent, and not completed.
	 */
	struct slot *slots;
	uint64_t head, next, tail;
	struct message *responses; /* to the peer's Requests */
	uint64_t first, end;

	uint32_t outstanding;        /* Reads of this end */
	uint32_t send_msn, read_msn; /* of the next message in each queue */

	/* The message of which a part has been sent. */
	enum turn turn;
	struct message message; /* if it is an operation */
	uint8_t request[READ_REQUEST_LEN];
};

static struct slot *slot_at(struct stream *s, uint64_t n)
{
	return &s->slots[n % s->config.depth];
}

struct stream *stream_new(const struct stream_config *config)
{
	struct stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->config = *config;
	s->send_msn = s->read_msn = 1;
	s->slots = calloc(config->depth, sizeof(*s->slots));
	s->responses = calloc(config->ird + 1, sizeof(*s->responses)); /* IRD may be 0 */
	if (!s->slots || !s->responses) {
		stream_free(s);
		return NULL;
	}
	return s;
}

void stream_free(struct stream *s)
{
	if (!s)
		return;
	free(s->slots);
	free(s->responses);
	free(s);
}

/* An error ends the stream: its layer below sends a Terminate and drops what arrives. */
static enum error end_stream(struct stream *s, enum error err)
{
	s->ended = true;
	return err;
}

/* --- the peer reads --- */

enum error stream_request(struct stream *s, const uint8_t *message, size_t len)
{
	struct read_request r;
	const uint8_t *source;
	enum error err;

	if (s->ended)
		return ERR_ENDED;
	if (s->end - s->first == s->config.ird)
		return end_stream(s, ERR_NO_BUFFER);
	err = request_decode(&r, message, len);
	if (!err)
		err = source_check(s->config.regions, s->config.n_regions, s->config.number, &r,
				   &source);
	if (err)
		return end_stream(s, err);
	s->responses[s->end++ % s->config.ird] = (struct message){
		.opcode = OP_READ_RESPONSE,
		.stag = r.sink_stag,
		.to = r.sink_to,
		.octets = source,
		.len = r.size,
	};
	return ERR_NONE;
}

/* --- sending --- */

/* Writes the next segment of the message. Returns its length. */
static size_t cut(struct message *m, uint8_t *out, size_t mulpdu)
{
	bool tagged = m->opcode == OP_WRITE || m->opcode == OP_READ_RESPONSE;
	size_t header = tagged ? DDP_TAGGED_LEN : DDP_UNTAGGED_LEN;
	uint32_t left = m->len - m->sent;
	uint32_t len = left < mulpdu - header ? left : (uint32_t)(mulpdu - header);

	if (tagged)
		put_tagged(out, m->opcode, len == left, m->stag, m->to + m->sent);
	else
		put_untagged(out, m->opcode, len == left, m->qn, m->msn, m->sent);
	if (len > 0)
		memcpy(out + header, m->octets + m->sent, len);
	m->sent += len;
	return header + len;
}

static bool may_begin(struct stream *s)
{
	const struct operation *op;

	if (s->next == s->tail)
		return false;
	op = &slot_at(s, s->next)->op;
	if (op->fence && s->outstanding > 0)
		return false;
	return op->kind != KIND_READ || s->outstanding < s->config.ord;
}

static struct message begin_read(struct stream *s, const struct operation *op)
{
	struct read_request r = { op->sink_stag, op->sink_to, op->len, op->remote_stag,
				  op->remote_to };

	request_encode(s->request, &r);
	s->outstanding++;
	return (struct message){
		.opcode = OP_READ_REQUEST,
		.qn = QUEUE_READ_REQUEST,
		.msn = s->read_msn++,
		.octets = s->request,
		.len = READ_REQUEST_LEN,
	};
}

static void begin_operation(struct stream *s)
{
	const struct operation *op = &slot_at(s, s->next)->op;

	if (op->kind == KIND_READ) {
		s->message = begin_read(s, op);
		return;
	}
	s->message = (struct message){ .octets = op->data, .len = op->len };
	if (op->kind == KIND_WRITE) {
		s->message.opcode = OP_WRITE;
		s->message.stag = op->remote_stag;
		s->message.to = op->remote_to;
	} else {
		s->message.opcode = OP_SEND;
		s->message.qn = QUEUE_SEND;
		s->message.msn = s->send_msn++;
	}
}

/* Responses go first: the peer may wait for one before it can send what this end waits for. */
static void choose(struct stream *s)
{
	if (s->first != s->end) {
		s->turn = TURN_RESPONSE;
	} else if (may_begin(s)) {
		begin_operation(s);
		s->turn = TURN_OPERATION;
	}
}

size_t stream_next_segment(struct stream *s, uint8_t *out, size_t mulpdu)
{
	struct message *m;
	size_t len;

	if (s->ended)
		return 0;
	if (s->turn == TURN_NONE)
		choose(s);
	if (s->turn == TURN_NONE)
		return 0;
	m = s->turn == TURN_RESPONSE ? &s->responses[s->first % s->config.ird] : &s->message;
	len = cut(m, out, mulpdu);
	if (m->sent < m->len)
		return len;
	if (s->turn == TURN_RESPONSE)
		s->first++;
	else
		slot_at(s, s->next++)->sent = true;
	s->turn = TURN_NONE;
	return len;
}

/* --- this end's operations --- */

enum error stream_post(struct stream *s, const struct operation *op)
{
	if (s->ended)
		return ERR_ENDED;
	if (s->tail - s->head == s->config.depth)
		return ERR_FULL;
	if (op->kind == KIND_READ && s->config.ord == 0)
		return ERR_LIMIT;
	*slot_at(s, s->tail++) = (struct slot){ .op = *op };
	return ERR_NONE;
}

static struct slot *oldest_read(struct stream *s)
{
	for (uint64_t n = s->head; n != s->next; n++) {
		struct slot *slot = slot_at(s, n);

		if (slot->op.kind == KIND_READ && !slot->answered)
			return slot;
	}
	return NULL;
}

enum error stream_response(struct stream *s, const uint8_t *segment, size_t len)
{
	struct tagged h = get_tagged(segment);
	struct slot *read;
	uint32_t left;

	if (s->ended)
		return ERR_ENDED;
	read = oldest_read(s);
	if (!read)
		return end_stream(s, ERR_UNEXPECTED);
	len -= DDP_TAGGED_LEN;
	left = read->op.len - read->got;
	if (len > 0 && h.stag != read->op.sink_stag)
		return end_stream(s, ERR_SINK_STAG);
	if (len > 0 && h.to != read->op.sink_to + read->got)
		return end_stream(s, ERR_SINK_BOUNDS);
	if (len > left || (h.last && len < left))
		return end_stream(s, ERR_SINK_BOUNDS);
	if (len > 0)
		memcpy(read->op.sink + read->got, segment + DDP_TAGGED_LEN, len);
	read->got += (uint32_t)len;
	if (h.last) {
		read->answered = true;
		s->outstanding--;
	}
	return ERR_NONE;
}

bool stream_next_completion(struct stream *s, struct completion *c)
{
	const struct slot *slot = slot_at(s, s->head);
	bool succeeded;

	if (s->head == s->tail)
		return false;
	succeeded = slot->op.kind == KIND_READ ? slot->answered : slot->sent;
	if (!succeeded && !s->ended)
		return false;
	*c = (struct completion){
		.id = slot->op.id,
		.kind = slot->op.kind,
		.status = succeeded ? ERR_NONE : ERR_CANCELED,
	};
	if (s->next == s->head)
		s->next++; /* canceled before it was sent */
	s->head++;
	return true;
}
