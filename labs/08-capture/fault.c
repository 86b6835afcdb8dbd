/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One pass over the units. struct side has what an end has sent, which is all that is needed to
 * judge its next unit and the answers of its peer. Change everything in this file as you like.
 */
#include "fault.h"

#include <stdbool.h>
#include <string.h>

/* Opcodes of RDMAP, RFC 5040 figure 4. */
enum {
	WRITE,
	READ_REQUEST,
	READ_RESPONSE,
	SEND,
	SEND_INVALIDATE,
	SEND_SE,
	SEND_SE_INVALIDATE,
	TERMINATE
};
enum { RIGHT_READ = 1, RIGHT_WRITE = 2 };
enum { TAGGED_LEN = 14, UNTAGGED_LEN = 18, REQUEST_LEN = 28, TERMINATE_LEN = 4, ADVERT_LEN = 20 };
enum { KEY_LEN = 16, STARTUP_LEN = 20, FLAG_S = 0x10, NO_NEGOTIATION = 0x3fff };
enum { MAX = 64, QUEUES = 3 };

/* A buffer that an end has advertised to its peer. */
struct buffer {
	uint32_t stag, len;
	uint64_t to;
	uint8_t rights;
	bool invalidated;
};

/* A Read Request without a complete response. to and len: what the response has yet to write. */
struct read {
	uint32_t stag, len;
	uint64_t to;
};

/* What an end has sent so far. */
struct side {
	struct buffer buffers[MAX];
	size_t n_buffers;
	struct read reads[MAX]; /* oldest first */
	size_t n_reads;
	/* TODO: the MSN and the MO of each queue, its IRD, its DDP-SSN, ... */
};

struct state {
	enum transport over;
	struct side side[2]; /* by enum end */
};

struct segment {
	bool tagged, last;
	uint8_t opcode;
	uint32_t stag, qn, msn, mo; /* stag: of a Send, the Invalidate STag */
	uint64_t to;
	const uint8_t *payload;
	size_t len; /* of the payload */
};

/* TODO (step headers): fill *out from the len octets of the segment. Check as you go. */
static enum fault decode(struct segment *out, const uint8_t *at, size_t len)
{
	*out = (struct segment){ .payload = at, .len = len, .opcode = SEND };
	return FAULT_NONE;
}

/* TODO (step order): the MSN and the MO of an untagged segment. */
static enum fault order(struct side *from, const struct segment *g)
{
	return FAULT_NONE;
}

/* TODO (step buffers): may the peer of the owner read or write (right) these octets? */
static enum fault use_buffer(struct side *owner, uint32_t stag, uint64_t to, uint64_t len,
			     uint8_t right)
{
	return FAULT_NONE;
}

/* TODO (step buffers): note an advertisement in a Send; check and note an Invalidate STag. */
static enum fault sent(struct side *from, struct side *peer, const struct segment *g)
{
	return FAULT_NONE;
}

/* TODO (step startup): IRD, ORD and the RTRs are in the enhanced data (RFC 6581 9). */
static enum fault mpa_frame(struct state *s, const struct unit *u)
{
	return FAULT_NONE;
}

/* TODO (step startup): is this the first segment of a direction, and is it allowed to be? */
static enum fault first_segment(struct state *s, enum end from, const struct segment *g)
{
	return FAULT_NONE;
}

/* TODO (steps buffers and reads): check the Data Source; note the request. */
static enum fault request(struct side *from, struct side *peer, const struct segment *g)
{
	return FAULT_NONE;
}

/* TODO (step reads): compare with the oldest request of the requester. */
static enum fault respond(struct side *requester, const struct segment *g)
{
	return FAULT_NONE;
}

/* TODO (step sessions) */
static enum fault terminate(struct side *from, const struct segment *g)
{
	return FAULT_NONE;
}

/* TODO (step sessions): Initiate, Accept or Terminate of a DDP Stream Session. */
static enum fault session_control(struct state *s, const struct unit *u)
{
	return FAULT_NONE;
}

static enum fault segment(struct state *s, enum end end, const uint8_t *at, size_t len)
{
	struct side *from = &s->side[end], *peer = &s->side[!end];
	struct segment g;
	enum fault fault = decode(&g, at, len);

	if (fault == FAULT_NONE)
		fault = first_segment(s, end, &g);
	if (fault == FAULT_NONE)
		fault = order(from, &g);
	if (fault != FAULT_NONE)
		return fault;
	switch (g.opcode) {
	case WRITE:
		return use_buffer(peer, g.stag, g.to, g.len, RIGHT_WRITE);
	case READ_REQUEST:
		return request(from, peer, &g);
	case READ_RESPONSE:
		return respond(peer, &g);
	case TERMINATE:
		return terminate(from, &g);
	default:
		return sent(from, peer, &g);
	}
}

/* TODO (step sessions): over SCTP, each unit begins with a DDP-SSN of 2 octets. */
static enum fault unit(struct state *s, const struct unit *u)
{
	if (u->kind == UNIT_SEGMENT)
		return segment(s, u->from, u->octets, u->len);
	return s->over == OVER_SCTP ? session_control(s, u) : mpa_frame(s, u);
}

enum fault fault_find(enum transport over, const struct unit *units, size_t n, size_t *at)
{
	struct state s = { .over = over };

	for (size_t i = 0; i < n; i++) {
		enum fault fault = unit(&s, &units[i]);

		if (fault != FAULT_NONE) {
			*at = i;
			return fault;
		}
	}
	return FAULT_NONE;
}
