/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "ddp.h"
#include "read.h"

/* --- header --- */

void request_encode(uint8_t *out, const struct read_request *r)
{
	/* TODO step 1: put_be32() and put_be64() of ddp.h, each field at its octet */
}

enum error request_decode(struct read_request *r, const uint8_t *message, size_t len)
{
	/* TODO step 1 */
	return ERR_NONE;
}

/* --- source --- */

enum error source_check(const struct region *regions, size_t n, uint32_t stream,
			const struct read_request *r, const uint8_t **source)
{
	/* TODO step 2: the checks in the order of read.h; beware of sums that wrap at 2^64 */
	return ERR_NONE;
}

/* --- the stream: these structures are a proposal, change them as you like --- */

/* A message that is cut into segments. All of them are cut alike, whoever asked for them. */
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
	bool ended; /* after an error */

	/*
	 * Two rings. Their numbers count up and never wrap, as 64 bits are enough for all time;
	 * number n is at the place n modulo the size.
	 * Operations: head <= next <= tail. Those from head to next are sent, and not completed.
	 * Responses to the peer's Requests: those from first to end are outstanding.
	 */
	struct slot *slots;
	uint64_t head, next, tail;
	struct message *responses;
	uint64_t first, end;

	uint32_t outstanding;        /* Reads of this end */
	uint32_t send_msn, read_msn; /* of the next message in each queue */

	/* The message of which a part has been sent. */
	enum turn turn;
	struct message message;            /* if it is an operation */
	uint8_t request[READ_REQUEST_LEN]; /* its octets, if the operation is a Read */
};

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

/* --- the peer reads --- */

enum error stream_request(struct stream *s, const uint8_t *message, size_t len)
{
	/* TODO step 3: decode, check, and add a message to the responses; step 4: IRD */
	return ERR_NONE;
}

/* --- sending --- */

size_t stream_next_segment(struct stream *s, uint8_t *out, size_t mulpdu)
{
	/* TODO step 3: Responses; step 5: operations; step 7: those that have to wait */
	return 0;
}

/* --- this end's operations --- */

enum error stream_post(struct stream *s, const struct operation *op)
{
	/* TODO step 5 */
	return ERR_NONE;
}

enum error stream_response(struct stream *s, const uint8_t *segment, size_t len)
{
	/* TODO step 6: place the octets in the sink of the oldest Read; step 9: the checks */
	return ERR_NONE;
}

bool stream_next_completion(struct stream *s, struct completion *c)
{
	/* TODO step 8; step 9: after the end of the stream */
	return false;
}
