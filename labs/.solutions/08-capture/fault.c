/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One pass over the units. struct side has what an end has sent, which is all that is needed to
 * judge its next unit and the answers of its peer.
 */
#include "fault.h"

#include <stdbool.h>
#include <string.h>

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
enum { INITIATE = 1, ACCEPT = 2, SESSION_TERMINATE = 4, SSN_LEN = 2 };
enum { MAX = 64, QUEUES = 3 };

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
	uint32_t ird;         /* reads that the peer may have outstanding */
	uint32_t msn[QUEUES]; /* of the present or the next message */
	uint32_t mo[QUEUES];  /* octets of the present message */
	bool open[QUEUES];    /* the present message has had no L */
	uint16_t ssn;
	bool has_sent, started, ended;
};

struct state {
	enum transport over;
	struct side side[2];
	uint8_t rtr; /* RTRs of the Reply: bits RTR_..., 0: none is needed */
};
enum { RTR_SEND = 1, RTR_WRITE = 2, RTR_READ = 4 };

struct segment {
	bool tagged, last;
	uint8_t opcode;
	uint32_t stag, qn, msn, mo; /* stag: of a Send, the Invalidate STag */
	uint64_t to;
	const uint8_t *payload;
	size_t len; /* of the payload */
};

/* --- start-up and sessions -------------------------------------------------------------------- */

/* RFC 6581 9 */
static enum fault mpa_frame(struct state *s, const struct unit *u)
{
	const uint8_t *enhanced = u->octets + STARTUP_LEN;
	struct side *side = &s->side[u->from];
	uint32_t ord;

	side->ird = NO_NEGOTIATION;
	if (u->octets[KEY_LEN + 1] < 2 || !(u->octets[KEY_LEN] & FLAG_S))
		return FAULT_NONE;
	side->ird = (uint32_t)field(enhanced, 2) & 0x3fff;
	ord = (uint32_t)field(enhanced + 2, 2) & 0x3fff;
	if (u->from == INITIATOR)
		return FAULT_NONE;
	if (ord > s->side[INITIATOR].ird)
		return FAULT_ORD;
	if (enhanced[0] & 0x80)
		s->rtr = (enhanced[0] & 0x40 ? RTR_SEND : 0) |
			 (enhanced[2] & 0x80 ? RTR_WRITE : 0) | (enhanced[2] & 0x40 ? RTR_READ : 0);
	return FAULT_NONE;
}

static enum fault session_control(struct state *s, const struct unit *u)
{
	switch (field(u->octets + SSN_LEN, 2)) {
	case INITIATE:
	case ACCEPT:
		s->side[u->from].started = true;
		s->side[u->from].ird = NO_NEGOTIATION;
		break;
	case SESSION_TERMINATE:
		s->side[u->from].ended = true;
		break;
	}
	return FAULT_NONE;
}

/* --- headers ---------------------------------------------------------------------------------- */

static const struct {
	bool tagged;
	uint8_t qn;
	size_t header_len; /* of RDMAP */
} rules[] = {
	[WRITE] = { true, 0, 0 },
	[READ_REQUEST] = { false, 1, REQUEST_LEN },
	[READ_RESPONSE] = { true, 0, 0 },
	[SEND] = { false, 0, 0 },
	[SEND_INVALIDATE] = { false, 0, 0 },
	[SEND_SE] = { false, 0, 0 },
	[SEND_SE_INVALIDATE] = { false, 0, 0 },
	[TERMINATE] = { false, 2, TERMINATE_LEN },
};

static enum fault decode(struct segment *out, const uint8_t *at, size_t len)
{
	size_t header;

	*out = (struct segment){ 0 };
	if (len < TAGGED_LEN)
		return FAULT_SHORT;
	out->tagged = at[0] & 0x80;
	out->last = at[0] & 0x40;
	header = out->tagged ? TAGGED_LEN : UNTAGGED_LEN;
	if (len < header)
		return FAULT_SHORT;
	if ((at[0] & 3) != 1 || at[1] >> 6 != 1)
		return FAULT_VERSION;
	out->opcode = at[1] & 0xf;
	if (out->opcode > TERMINATE || rules[out->opcode].tagged != out->tagged)
		return FAULT_OPCODE;
	out->stag = (uint32_t)field(at + 2, 4);
	out->payload = at + header;
	out->len = len - header;
	if (out->tagged) {
		out->to = field(at + 6, 8);
		return FAULT_NONE;
	}
	out->qn = (uint32_t)field(at + 6, 4);
	out->msn = (uint32_t)field(at + 10, 4);
	out->mo = (uint32_t)field(at + 14, 4);
	if (out->qn != rules[out->opcode].qn)
		return FAULT_QUEUE;
	return out->len < rules[out->opcode].header_len ? FAULT_SHORT : FAULT_NONE;
}

/* RFC 5041 4.3 and 4.1 */
static enum fault order(struct side *from, const struct segment *g)
{
	uint32_t qn = g->qn;

	if (g->tagged)
		return FAULT_NONE;
	if (from->open[qn] && g->msn == from->msn[qn] + 1 && g->mo == 0)
		return FAULT_LAST;
	if (g->msn != from->msn[qn])
		return FAULT_MSN;
	if (g->mo != from->mo[qn])
		return FAULT_MO;
	from->open[qn] = !g->last;
	from->msn[qn] += g->last;
	from->mo[qn] = g->last ? 0 : from->mo[qn] + (uint32_t)g->len;
	return FAULT_NONE;
}

static uint8_t rtr_of(const struct segment *g)
{
	if (g->opcode == SEND && g->len == 0)
		return RTR_SEND;
	if (g->opcode == WRITE && g->len == 0)
		return RTR_WRITE;
	if (g->opcode == READ_REQUEST && field(g->payload + 12, 4) == 0)
		return RTR_READ;
	return 0;
}

/* RFC 5044 7.1.2 rule 4, RFC 6581 9.2 */
static enum fault first_segment(struct state *s, enum end from, const struct segment *g)
{
	if (s->over == OVER_TCP && from == RESPONDER && !s->side[INITIATOR].has_sent)
		return FAULT_FIRST;
	if (from == INITIATOR && !s->side[INITIATOR].has_sent && s->rtr && !(s->rtr & rtr_of(g)))
		return FAULT_RTR;
	s->side[from].has_sent = true;
	return FAULT_NONE;
}

/* --- buffers ---------------------------------------------------------------------------------- */

static struct buffer *find(struct side *owner, uint32_t stag)
{
	for (size_t i = 0; i < owner->n_buffers; i++)
		if (owner->buffers[i].stag == stag)
			return &owner->buffers[i];
	return NULL;
}

static void advertise(struct side *owner, const uint8_t *advert)
{
	uint32_t stag = (uint32_t)field(advert + 4, 4);
	struct buffer *b = find(owner, stag);

	if (!b && owner->n_buffers < MAX)
		b = &owner->buffers[owner->n_buffers++];
	if (b)
		*b = (struct buffer){ .stag = stag,
				      .to = field(advert + 8, 8),
				      .len = (uint32_t)field(advert + 16, 4),
				      .rights = advert[3] };
}

/* RFC 5041 7.1, RFC 5040 7.2 */
static enum fault use_buffer(struct side *owner, uint32_t stag, uint64_t to, uint64_t len,
			     uint8_t right)
{
	const struct buffer *b = find(owner, stag);

	/* STag and TO of zero-length messages are not checked (RFC 5041 5.2, RFC 5040 5.2.1). */
	if (len == 0)
		return FAULT_NONE;
	if (!b)
		return FAULT_STAG;
	if (b->invalidated)
		return FAULT_INVALIDATED;
	if (!(b->rights & right))
		return FAULT_RIGHTS;
	/* to + len may be 2^64, so compare offsets in the buffer. */
	if (to < b->to || len > b->len || to - b->to > b->len - len)
		return FAULT_BOUNDS;
	return FAULT_NONE;
}

static enum fault invalidate(struct side *owner, uint32_t stag)
{
	struct buffer *b = find(owner, stag);

	if (!b)
		return FAULT_STAG;
	if (b->invalidated)
		return FAULT_INVALIDATED;
	b->invalidated = true;
	return FAULT_NONE;
}

static enum fault sent(struct side *from, struct side *peer, const struct segment *g)
{
	bool invalidates = g->opcode == SEND_INVALIDATE || g->opcode == SEND_SE_INVALIDATE;

	if (g->mo == 0 && g->last && g->len == ADVERT_LEN && !memcmp(g->payload, "BUF", 3))
		advertise(from, g->payload);
	/* All segments of the message have the STag; it applies once, with the last one. */
	return invalidates && g->last ? invalidate(peer, g->stag) : FAULT_NONE;
}

/* --- reads ------------------------------------------------------------------------------------ */

static enum fault request(struct side *from, struct side *peer, const struct segment *g)
{
	const uint8_t *r = g->payload;
	uint32_t size = (uint32_t)field(r + 12, 4);

	/* RFC 5040 6.1, RFC 6581 9.1 */
	if (peer->ird != NO_NEGOTIATION && from->n_reads >= peer->ird)
		return FAULT_READS;
	if (from->n_reads < MAX)
		from->reads[from->n_reads++] = (struct read){ .stag = (uint32_t)field(r, 4),
							      .len = size,
							      .to = field(r + 4, 8) };
	return use_buffer(peer, (uint32_t)field(r + 16, 4), field(r + 20, 8), size, RIGHT_READ);
}

/* RFC 5040 5.2.2: responses are in the order of the requests. */
static enum fault respond(struct side *requester, const struct segment *g)
{
	struct read *r = &requester->reads[0];

	if (requester->n_reads == 0)
		return FAULT_UNREQUESTED;
	if (g->len > r->len || (g->last && g->len < r->len))
		return FAULT_RESPONSE;
	if (g->len && (g->stag != r->stag || g->to != r->to))
		return FAULT_RESPONSE;
	r->to += g->len;
	r->len -= (uint32_t)g->len;
	if (g->last)
		memmove(r, r + 1, --requester->n_reads * sizeof(*r));
	return FAULT_NONE;
}

/* The error types of each layer: RFC 5040 figure 9, RFC 5041 7.2, RFC 5044 8. */
static enum fault terminate(struct side *from, const struct segment *g)
{
	static const uint8_t error_types[] = { 3, 3, 1 };
	uint8_t layer = g->payload[0] >> 4, error_type = g->payload[0] & 0xf;

	from->ended = true;
	return layer > 2 || error_type >= error_types[layer] ? FAULT_TERMINATE : FAULT_NONE;
}

/* --- the conversation ------------------------------------------------------------------------- */

static enum fault segment(struct state *s, enum end end, const uint8_t *at, size_t len)
{
	struct side *from = &s->side[end], *peer = &s->side[!end];
	struct segment g;
	enum fault fault;

	if (s->over == OVER_SCTP && !from->started)
		return FAULT_EARLY;
	if (from->ended)
		return FAULT_AFTER;
	fault = decode(&g, at, len);
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

static enum fault unit(struct state *s, const struct unit *u)
{
	struct side *from = &s->side[u->from];
	const uint8_t *at = u->octets;
	size_t len = u->len;

	if (s->over == OVER_SCTP) {
		if (len < SSN_LEN)
			return FAULT_SHORT;
		if (field(at, SSN_LEN) != from->ssn++)
			return FAULT_SSN;
		at += SSN_LEN;
		len -= SSN_LEN;
	}
	if (u->kind == UNIT_SEGMENT)
		return segment(s, u->from, at, len);
	return s->over == OVER_SCTP ? session_control(s, u) : mpa_frame(s, u);
}

enum fault fault_find(enum transport over, const struct unit *units, size_t n, size_t *at)
{
	struct state s = { .over = over };

	for (size_t end = 0; end < 2; end++)
		for (size_t qn = 0; qn < QUEUES; qn++)
			s.side[end].msn[qn] = 1;
	for (size_t i = 0; i < n; i++) {
		enum fault fault = unit(&s, &units[i]);

		if (fault != FAULT_NONE) {
			*at = i;
			return fault;
		}
	}
	return FAULT_NONE;
}
