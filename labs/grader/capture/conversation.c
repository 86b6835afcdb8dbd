// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Makes conversations with at most one violation.
 *
 * struct talk follows what each end has advertised, requested and counted, so that all units but
 * the faulty one are correct. The units after the faulty one continue from it, for example with the
 * MSN after the wrong MSN.
 */
#include "labs/grader/capture/conversation.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "util/num.h"
#include "wire/ddp.h"
#include "wire/mpa.h"
#include "wire/sctpddp.h"

const char *const fault_names[FAULT_COUNT] = {
	[FAULT_NONE] = "none",
	[FAULT_SHORT] = "short",
	[FAULT_VERSION] = "version",
	[FAULT_OPCODE] = "opcode",
	[FAULT_QUEUE] = "queue",
	[FAULT_MSN] = "msn",
	[FAULT_MO] = "mo",
	[FAULT_LAST] = "last",
	[FAULT_ORD] = "ord",
	[FAULT_FIRST] = "first",
	[FAULT_RTR] = "rtr",
	[FAULT_STAG] = "stag",
	[FAULT_INVALIDATED] = "invalidated",
	[FAULT_BOUNDS] = "bounds",
	[FAULT_RIGHTS] = "rights",
	[FAULT_UNREQUESTED] = "unrequested",
	[FAULT_RESPONSE] = "response",
	[FAULT_READS] = "reads",
	[FAULT_SSN] = "ssn",
	[FAULT_EARLY] = "early",
	[FAULT_AFTER] = "after",
	[FAULT_TERMINATE] = "terminate",
	[FAULT_CRC] = "crc",
	[FAULT_MARKER] = "marker",
	[FAULT_PAD] = "pad",
};

uint64_t dice_next(struct dice *d)
{
	uint64_t z = d->state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

uint64_t dice_below(struct dice *d, uint64_t n)
{
	return dice_next(d) % n;
}

enum { RIGHT_READ = 1, RIGHT_WRITE = 2 };
enum { BUFFERS_MAX = 24, READS_MAX = 32, PAYLOAD_MAX = 4096, PIECES_MAX = 3, ADVERT_LEN = 20 };
enum { NO_LIMIT = 8 /* reads that an end without a negotiated limit has outstanding */ };

struct buffer {
	uint32_t stag;
	uint64_t to;
	uint32_t len;
	uint8_t rights;
	bool valid; /* not invalidated */
};

/* What an end has sent. */
struct side {
	struct buffer buffers[BUFFERS_MAX];
	size_t n_buffers;
	struct iw_rreq reads[READS_MAX]; /* without a complete response, oldest first */
	size_t n_reads, limit;
	uint32_t msn[3]; /* of the next message of a queue */
	uint16_t ssn;
};

struct talk {
	struct conversation *c;
	struct dice dice;
	struct side side[2];
	unsigned int features, variant;
};

static bool has(const struct talk *t, enum feature feature)
{
	return t->features & feature;
}

static uint64_t below(struct talk *t, uint64_t n)
{
	return dice_below(&t->dice, n);
}

static bool chance(struct talk *t, unsigned int percent)
{
	return below(t, 100) < percent;
}

/* --- units ------------------------------------------------------------------------------------ */

static void emit(struct talk *t, unsigned int from, enum unit_kind kind, const uint8_t *octets,
		 size_t len)
{
	struct conversation *c = t->c;
	struct unit *u = &c->units[c->n++];
	size_t before = c->over == OVER_SCTP ? IW_SCTP_SSN_LEN : 0;

	assert(c->n <= UNITS_MAX && c->used + before + len <= OCTETS_MAX);
	*u = (struct unit){ .from = (uint8_t)from,
			    .kind = (uint8_t)kind,
			    .octets = c->octets + c->used,
			    .len = before + len };
	if (before)
		iw_put_be16(u->octets, t->side[from].ssn++);
	if (len)
		memcpy(u->octets + before, octets, len);
	c->used += u->len;
}

/* The unit that is emitted next breaks the rule. */
static void fault_is_next(struct talk *t)
{
	t->c->fault_at = t->c->n;
}

static void segment(struct talk *t, unsigned int from, const struct iw_ddp *h,
		    const uint8_t *payload, size_t len)
{
	uint8_t octets[IW_DDP_HDR_MAX + PAYLOAD_MAX];
	int n = iw_wire_ddp_encode(octets, sizeof(octets), h);

	assert(n > 0 && len <= PAYLOAD_MAX);
	if (len)
		memcpy(octets + n, payload, len);
	emit(t, from, UNIT_SEGMENT, octets, (size_t)n + len);
}

static struct iw_ddp tagged(uint8_t opcode, uint32_t stag, uint64_t to, bool last)
{
	return (struct iw_ddp){ .tagged = true,
				.last = last,
				.dv = 1,
				.rv = 1,
				.opcode = opcode,
				.stag = stag,
				.to = to };
}

/* The header of the next message of an end, in one segment. */
static struct iw_ddp untagged(struct talk *t, unsigned int from, uint8_t opcode)
{
	uint8_t qn = iw_opcode_info(opcode)->qn;

	return (struct iw_ddp){ .last = true,
				.dv = 1,
				.rv = 1,
				.opcode = opcode,
				.qn = qn,
				.msn = t->side[from].msn[qn] };
}

static size_t pieces(struct talk *t, size_t len)
{
	return len < PIECES_MAX ? 1 : 1 + below(t, PIECES_MAX);
}

static void untagged_message(struct talk *t, unsigned int from, struct iw_ddp h,
			     const uint8_t *payload, size_t len, size_t n)
{
	size_t piece = len / n;

	for (size_t i = 0; i < n; i++) {
		h.last = i == n - 1;
		h.mo = (uint32_t)(i * piece);
		segment(t, from, &h, payload + h.mo, h.last ? len - h.mo : piece);
	}
	t->side[from].msn[h.qn] = h.msn + 1;
}

static void tagged_message(struct talk *t, unsigned int from, struct iw_ddp h, size_t len, size_t n)
{
	uint8_t payload[PAYLOAD_MAX];
	size_t piece = len / n;
	uint64_t to = h.to;

	for (size_t i = 0; i < len; i++)
		payload[i] = (uint8_t)('a' + i % 26);
	for (size_t i = 0; i < n; i++) {
		h.last = i == n - 1;
		h.to = to + i * piece;
		segment(t, from, &h, payload, h.last ? len - i * piece : piece);
	}
}

static size_t make_text(struct talk *t, uint8_t *text)
{
	size_t len = 1 + below(t, chance(t, 80) ? 120 : 900);

	for (size_t i = 0; i < len; i++)
		text[i] = (uint8_t) "all is well; "[i % 13];
	return len;
}

static void say_in(struct talk *t, unsigned int from, size_t n)
{
	uint8_t text[PAYLOAD_MAX];
	size_t len = make_text(t, text);
	struct iw_ddp h = untagged(t, from, chance(t, 70) ? IW_OP_SEND : IW_OP_SEND_SE);

	untagged_message(t, from, h, text, len, n ? n : pieces(t, len));
}

static void say(struct talk *t, unsigned int from)
{
	say_in(t, from, 0);
}

static void say_nothing(struct talk *t, unsigned int from)
{
	static const uint8_t none[1];

	untagged_message(t, from, untagged(t, from, IW_OP_SEND), none, 0, 1);
}

/* --- buffers ---------------------------------------------------------------------------------- */

static struct buffer *find(struct side *s, uint32_t stag)
{
	for (size_t i = 0; i < s->n_buffers; i++)
		if (s->buffers[i].stag == stag)
			return &s->buffers[i];
	return NULL;
}

/* An STag that the end has not advertised: sometimes that of a buffer of its peer. */
static uint32_t new_stag(struct talk *t, unsigned int owner)
{
	const struct side *peer = &t->side[!owner];
	uint32_t stag;

	do {
		stag = (uint32_t)dice_next(&t->dice) | 0x100;
		if (peer->n_buffers && chance(t, 30))
			stag = peer->buffers[below(t, peer->n_buffers)].stag;
	} while (find(&t->side[owner], stag));
	return stag;
}

static void advertise_buffer(struct talk *t, unsigned int from, const struct buffer *b)
{
	uint8_t p[ADVERT_LEN] = { 'B', 'U', 'F', b->rights };
	struct iw_ddp h = untagged(t, from, chance(t, 70) ? IW_OP_SEND : IW_OP_SEND_SE);

	iw_put_be32(p + 4, b->stag);
	iw_put_be64(p + 8, b->to);
	iw_put_be32(p + 16, b->len);
	untagged_message(t, from, h, p, sizeof(p), 1);
}

static struct buffer *advertise(struct talk *t, unsigned int from, uint8_t rights)
{
	struct side *s = &t->side[from];
	struct buffer *b = NULL;

	/* An STag that was invalidated may be advertised again. */
	for (size_t i = 0; i < s->n_buffers && chance(t, 50); i++)
		if (!s->buffers[i].valid)
			b = &s->buffers[i];
	if (!b) {
		uint32_t stag = new_stag(t, from);

		assert(s->n_buffers < BUFFERS_MAX);
		b = &s->buffers[s->n_buffers++];
		b->stag = stag;
	}
	b->rights = rights;
	b->valid = true;
	b->len = 64 + (uint32_t)below(t, 3000);
	switch (below(t, 4)) {
	case 0:
		b->to = 0;
		break;
	case 1:
		b->to = -(uint64_t)b->len; /* ends with the last octet of the 64 bits */
		break;
	default:
		b->to = dice_next(&t->dice) >> 16;
	}
	advertise_buffer(t, from, b);
	return b;
}

/* A valid buffer of an end with these rights. Advertises one if necessary. */
static struct buffer *need(struct talk *t, unsigned int owner, uint8_t rights)
{
	struct side *s = &t->side[owner];
	size_t start = s->n_buffers ? below(t, s->n_buffers) : 0;

	for (size_t i = 0; i < s->n_buffers; i++) {
		struct buffer *b = &s->buffers[(start + i) % s->n_buffers];

		if (b->valid && (b->rights & rights) == rights)
			return b;
	}
	return advertise(t, owner, rights);
}

/* Part of a buffer: often its first or last octets. */
static void choose_part(struct talk *t, const struct buffer *b, uint64_t *to, size_t *len)
{
	*len = 1 + below(t, IW_MIN(b->len, 1200u));
	*to = b->to;
	if (chance(t, 60))
		*to += b->len - *len;
	else if (chance(t, 50))
		*to += below(t, b->len - *len + 1);
}

static void write_to(struct talk *t, unsigned int from, const struct buffer *b)
{
	uint64_t to;
	size_t len;

	choose_part(t, b, &to, &len);
	tagged_message(t, from, tagged(IW_OP_WRITE, b->stag, to, true), len, pieces(t, len));
}

/* The STag and the TO of a zero-length message are not checked (RFC 5041 5.2). */
static void write_nothing(struct talk *t, unsigned int from)
{
	struct iw_ddp h =
		tagged(IW_OP_WRITE, (uint32_t)dice_next(&t->dice), dice_next(&t->dice), true);

	segment(t, from, &h, NULL, 0);
}

static void invalidate(struct talk *t, unsigned int from, struct buffer *b, bool one_segment)
{
	uint8_t text[PAYLOAD_MAX];
	size_t len = make_text(t, text);
	struct iw_ddp h = untagged(t, from, chance(t, 50) ? IW_OP_SEND_INV : IW_OP_SEND_SE_INV);

	h.inval_stag = b->stag;
	b->valid = false;
	untagged_message(t, from, h, text, len, one_segment ? 1 : pieces(t, len));
}

/* --- reads ------------------------------------------------------------------------------------ */

static void request(struct talk *t, unsigned int from, uint32_t stag, uint64_t to, uint32_t size)
{
	struct side *s = &t->side[from];
	struct iw_rreq r = { .sink_stag = (uint32_t)dice_next(&t->dice) | 1,
			     .sink_to = dice_next(&t->dice) >> 8,
			     .size = size,
			     .src_stag = stag,
			     .src_to = to };
	uint8_t octets[IW_RDMAP_RREQ_LEN];

	assert(s->n_reads < READS_MAX);
	iw_rreq_encode(octets, sizeof(octets), &r);
	untagged_message(t, from, untagged(t, from, IW_OP_RREQ), octets, sizeof(octets), 1);
	s->reads[s->n_reads++] = r;
}

static void read_from(struct talk *t, unsigned int from, const struct buffer *b)
{
	uint64_t to;
	size_t len;

	choose_part(t, b, &to, &len);
	request(t, from, b->stag, to, (uint32_t)len);
}

static void read_nothing(struct talk *t, unsigned int from)
{
	request(t, from, (uint32_t)dice_next(&t->dice), dice_next(&t->dice), 0);
}

static struct iw_rreq take_request(struct side *s)
{
	struct iw_rreq r = s->reads[0];

	s->n_reads--;
	memmove(s->reads, s->reads + 1, s->n_reads * sizeof(r));
	return r;
}

/* Answers the oldest request of the peer. */
static void respond(struct talk *t, unsigned int from)
{
	struct iw_rreq r = take_request(&t->side[!from]);

	tagged_message(t, from, tagged(IW_OP_RRESP, r.sink_stag, r.sink_to, true), r.size,
		       pieces(t, r.size));
}

static void respond_all(struct talk *t)
{
	for (unsigned int end = 0; end < 2; end++)
		while (t->side[end].n_reads)
			respond(t, !end);
}

/* --- begin and end ---------------------------------------------------------------------------- */

static void startup_frame(struct talk *t, unsigned int from, uint8_t flags, uint8_t rev,
			  const struct iw_mpa_enhanced *e)
{
	uint8_t pd[64], octets[IW_MPA_FRAME_LEN + sizeof(pd)];
	size_t len = 0;
	struct iw_mpa_frame f = {
		.kind = from ? IW_MPA_REPLY : IW_MPA_REQUEST, .flags = flags, .rev = rev, .pd = pd
	};
	int n;

	if (e)
		len = (size_t)iw_wire_mpa_enhanced_encode(pd, sizeof(pd), e);
	for (size_t i = below(t, 12); i; i--)
		pd[len++] = (uint8_t)('A' + i);
	f.pd_len = (uint16_t)len;
	n = iw_wire_mpa_frame_encode(octets, sizeof(octets), &f);
	emit(t, from, UNIT_STARTUP, octets, (size_t)n);
}

/* The RTR of the initiator, one that the Reply has (RFC 6581 9.2). */
static void ready_to_receive(struct talk *t, const struct iw_mpa_enhanced *reply)
{
	if (reply->rtr_read)
		read_nothing(t, 0);
	else if (reply->rtr_write)
		write_nothing(t, 0);
	else
		say_nothing(t, 0);
}

/* Not one of the RTRs that the Reply has. */
static void wrong_rtr(struct talk *t, const struct iw_mpa_enhanced *reply)
{
	fault_is_next(t);
	switch (t->variant % 4) {
	case 0:
		say(t, 0);
		return;
	case 1:
		advertise(t, 0, RIGHT_WRITE);
		return;
	case 2:
		if (reply->rtr_send)
			write_nothing(t, 0);
		else
			say_nothing(t, 0);
		return;
	default:
		if (reply->rtr_read)
			write_nothing(t, 0);
		else
			read_nothing(t, 0);
	}
}

static void start_enhanced(struct talk *t, uint8_t m_request, uint8_t m_reply)
{
	enum fault fault = t->c->fault;
	bool peer_to_peer = fault == FAULT_RTR || chance(t, 50);
	struct iw_mpa_enhanced request = { .peer_to_peer = peer_to_peer,
					   .rtr_send = peer_to_peer,
					   .rtr_write = peer_to_peer,
					   .rtr_read = peer_to_peer,
					   .ird = (uint16_t)(1 + below(t, 4)),
					   .ord = (uint16_t)(1 + below(t, 4)) };
	struct iw_mpa_enhanced reply = { .peer_to_peer = peer_to_peer,
					 .ird = (uint16_t)(1 + below(t, 4)),
					 .ord = (uint16_t)(1 + below(t, request.ird)) };

	if (fault != FAULT_READS && chance(t, 15)) {
		/* No negotiation (RFC 6581 9.1). */
		request.ird = IW_MPA_IRD_ORD_MAX;
		reply.ord = chance(t, 50) ? IW_MPA_IRD_ORD_MAX : reply.ord;
	}
	if (fault == FAULT_ORD) {
		request.ird = (uint16_t)below(t, 5);
		reply.ord = t->variant % 3 == 2 ? IW_MPA_IRD_ORD_MAX
						: (uint16_t)(request.ird + 1 + t->variant % 3);
	}
	if (peer_to_peer)
		switch (fault == FAULT_RTR ? t->variant % 3 : below(t, 3)) {
		case 0:
			reply.rtr_read = true;
			break;
		case 1:
			reply.rtr_write = true;
			break;
		default:
			reply.rtr_send = true;
		}
	t->side[0].limit = reply.ird;
	t->side[1].limit = IW_MIN((size_t)request.ird, (size_t)NO_LIMIT);
	startup_frame(t, 0, IW_MPA_C | IW_MPA_S | m_request, 2, &request);
	if (fault == FAULT_ORD)
		fault_is_next(t);
	startup_frame(t, 1, IW_MPA_C | IW_MPA_S | m_reply, 2, &reply);
	if (fault == FAULT_FIRST) {
		fault_is_next(t);
		say(t, 1);
	}
	if (fault == FAULT_RTR)
		wrong_rtr(t, &reply);
	else if (peer_to_peer)
		ready_to_receive(t, &reply);
}

static void start_plain(struct talk *t, uint8_t m_request, uint8_t m_reply)
{
	/* Rev 2 without S has no enhanced data (RFC 6581 6). */
	uint8_t rev = has(t, WITH_ENHANCED) && chance(t, 50) ? 2 : 1;

	t->side[0].limit = t->side[1].limit = NO_LIMIT;
	startup_frame(t, 0, IW_MPA_C | m_request, rev, NULL);
	startup_frame(t, 1, IW_MPA_C | m_reply, rev, NULL);
	if (t->c->fault != FAULT_FIRST)
		return;
	fault_is_next(t);
	if (t->variant % 2)
		write_nothing(t, 1);
	else
		say(t, 1);
}

static void control(struct talk *t, unsigned int from, uint16_t function)
{
	uint8_t octets[32];
	size_t len = 2;

	iw_put_be16(octets, function);
	if (function != IW_SCTP_FN_TERMINATE)
		for (size_t i = below(t, 12); i; i--)
			octets[len++] = (uint8_t)('A' + i);
	emit(t, from, UNIT_STARTUP, octets, len);
}

/* RFC 5043 6.2 */
static void start_session(struct talk *t)
{
	bool early = t->c->fault == FAULT_EARLY;

	t->side[0].limit = t->side[1].limit = NO_LIMIT;
	if (early && t->variant % 2) {
		fault_is_next(t);
		say_in(t, 0, 1);
	}
	control(t, 0, IW_SCTP_FN_INITIATE);
	if (early && t->variant % 2 == 0) {
		fault_is_next(t);
		if (t->variant % 4)
			write_nothing(t, 1);
		else
			say_in(t, 1, 1);
	}
	control(t, 1, IW_SCTP_FN_ACCEPT);
}

static void start(struct talk *t)
{
	enum fault fault = t->c->fault;
	bool marked = fault == FAULT_MARKER;
	uint8_t m_request = marked || chance(t, 20) ? IW_MPA_M : 0;
	uint8_t m_reply = marked || chance(t, 20) ? IW_MPA_M : 0;

	if (t->c->over == OVER_SCTP)
		start_session(t);
	else if (fault == FAULT_ORD || fault == FAULT_RTR || fault == FAULT_READS ||
		 (has(t, WITH_ENHANCED) && chance(t, 65)))
		start_enhanced(t, m_request, m_reply);
	else
		start_plain(t, m_request, m_reply);
	/* Over TCP, the first FPDU is one of the initiator. */
	for (unsigned int end = 0; end < 2; end++) {
		if (!has(t, WITH_BUFFERS)) {
			advertise(t, end, RIGHT_READ | RIGHT_WRITE);
			continue;
		}
		advertise(t, end, RIGHT_READ);
		if (end == 0 || chance(t, 70))
			advertise(t, end, RIGHT_WRITE);
		if (chance(t, 60))
			advertise(t, end, RIGHT_READ | RIGHT_WRITE);
	}
}

static void terminate(struct talk *t, unsigned int from, uint8_t layer, uint8_t etype, uint8_t code)
{
	uint8_t octets[IW_RDMAP_TERM_MIN] = { (uint8_t)(layer << 4 | etype), code };

	untagged_message(t, from, untagged(t, from, IW_OP_TERM), octets, sizeof(octets), 1);
}

/* Errors that RFC 5040 figure 9 defines, and that need no fault of the peer. */
static void terminate_properly(struct talk *t, unsigned int from)
{
	static const uint8_t errors[][3] = {
		{ 0, 0, 0 }, { 0, 2, 7 }, { 0, 2, 8 }, { 1, 0, 0 }, { 2, 0, 5 }
	};
	const uint8_t *e = errors[below(t, IW_ARRAY_LEN(errors))];

	terminate(t, from, e[0], e[1], e[2]);
}

static void end(struct talk *t)
{
	unsigned int who = (unsigned int)below(t, 2);

	if (has(t, WITH_READS))
		respond_all(t);
	if (chance(t, 35)) {
		terminate_properly(t, who);
		/* The peer may continue (RFC 5040 5.4). */
		if (has(t, WITH_SCTP) && chance(t, 60))
			say(t, !who);
	}
	if (t->c->over == OVER_SCTP) {
		control(t, who, IW_SCTP_FN_TERMINATE);
		if (chance(t, 50))
			say(t, !who);
		control(t, !who, IW_SCTP_FN_TERMINATE);
	}
}

/* --- correct operations ----------------------------------------------------------------------- */

static void operation(struct talk *t)
{
	unsigned int from = (unsigned int)below(t, 2);
	struct side *s = &t->side[from], *peer = &t->side[!from];
	struct buffer *b;

	/* Without reads, the request that is an RTR has no response yet. */
	if (has(t, WITH_READS) && peer->n_reads && chance(t, 40)) {
		respond(t, from);
		return;
	}
	switch (below(t, 12)) {
	case 0:
	case 1:
		say(t, from);
		return;
	case 2:
		if (!has(t, WITH_BUFFERS))
			return;
		if (peer->n_buffers > BUFFERS_MAX / 2 || s->n_reads)
			return;
		b = need(t, !from, 0);
		invalidate(t, from, b, false);
		if (chance(t, 60))
			advertise(t, !from, b->rights);
		return;
	case 3:
		if (has(t, WITH_BUFFERS) && s->n_buffers <= BUFFERS_MAX / 2)
			advertise(t, from, (uint8_t)(1 + below(t, 3)));
		return;
	case 4:
		if (has(t, WITH_BUFFERS))
			write_nothing(t, from);
		return;
	case 5:
		if (has(t, WITH_READS) && s->n_reads < s->limit)
			read_nothing(t, from);
		return;
	case 6:
	case 7:
	case 8:
		if (!has(t, WITH_READS))
			return;
		b = need(t, !from, RIGHT_READ);
		if (s->n_reads < s->limit)
			read_from(t, from, b);
		return;
	default:
		if (has(t, WITH_BUFFERS))
			write_to(t, from, need(t, !from, RIGHT_WRITE));
		else
			say(t, from);
	}
}

/* --- faults ----------------------------------------------------------------------------------- */

static void inject_short(struct talk *t, unsigned int from)
{
	static const struct {
		uint8_t control, rdmap;
		size_t len;
	} forms[] = {
		{ 0xc1, 0x40, 13 }, /* RDMA Write */
		{ 0x41, 0x43, 17 }, /* Send */
		{ 0, 0, 0 },
		{ 0x41, 0x41, IW_DDP_UNTAGGED_LEN + IW_RDMAP_RREQ_LEN - 1 },
		{ 0x41, 0x47, IW_DDP_UNTAGGED_LEN + IW_RDMAP_TERM_MIN - 1 },
		{ 0xc1, 0x42, 2 },
		{ 0x41, 0x43, 14 },
		{ 0x41, 0x43, 1 },
	};
	size_t form = t->variant % IW_ARRAY_LEN(forms);
	struct iw_ddp h;
	uint8_t octets[64] = { 0 };

	respond_all(t);
	h = untagged(t, from, forms[form].rdmap & 0xf);
	if (!(forms[form].control & 0x80))
		iw_wire_ddp_encode(octets, sizeof(octets), &h);
	octets[0] = forms[form].control;
	octets[1] = forms[form].rdmap;
	fault_is_next(t);
	emit(t, from, UNIT_SEGMENT, octets, forms[form].len);
}

static void inject_version(struct talk *t, unsigned int from)
{
	static const uint8_t wrong[] = { 0, 2, 3 };
	uint8_t v = wrong[t->variant / 4 % 3], text[PAYLOAD_MAX];
	size_t len = make_text(t, text);
	struct iw_ddp h;

	if (t->variant & 2) {
		struct buffer *b = need(t, !from, RIGHT_WRITE);

		h = tagged(IW_OP_WRITE, b->stag, b->to, true);
		len = 8;
	} else {
		h = untagged(t, from, IW_OP_SEND);
		t->side[from].msn[0]++;
	}
	if (t->variant & 1)
		h.dv = v;
	else
		h.rv = v;
	fault_is_next(t);
	segment(t, from, &h, text, len);
}

static void inject_opcode(struct talk *t, unsigned int from)
{
	struct buffer *b = need(t, !from, RIGHT_READ | RIGHT_WRITE);
	struct iw_ddp u = untagged(t, from, IW_OP_SEND),
		      g = tagged(IW_OP_WRITE, b->stag, b->to, true);
	uint8_t payload[8] = "opcodes";

	switch (t->variant % 6) {
	case 0:
		u.opcode = 12;
		break;
	case 1:
		u.opcode = IW_OP_WRITE;
		break;
	case 2:
		g.opcode = IW_OP_SEND;
		break;
	case 3:
		g.opcode = 13;
		break;
	case 4:
		u.opcode = IW_OP_RRESP;
		break;
	default:
		u.opcode = 15;
	}
	fault_is_next(t);
	if (g.opcode != IW_OP_WRITE) {
		segment(t, from, &g, payload, sizeof(payload));
		return;
	}
	t->side[from].msn[0]++;
	segment(t, from, &u, payload, sizeof(payload));
}

static void inject_queue(struct talk *t, unsigned int from)
{
	static const uint32_t qns[] = { 1, 2, 3, 4, 0x7fffffff, 0xffffffff };
	struct buffer *b = need(t, !from, RIGHT_READ);
	struct iw_ddp h = untagged(t, from, IW_OP_SEND);
	uint8_t payload[IW_RDMAP_RREQ_LEN] = "which queue?";
	unsigned int form = t->variant % 8;

	respond_all(t);
	if (form < 6) {
		h.qn = qns[form];
		h.msn = h.qn < 3 ? t->side[from].msn[h.qn]++ : 1;
	} else if (form == 6) {
		struct iw_rreq r = {
			.sink_stag = 7, .size = 8, .src_stag = b->stag, .src_to = b->to
		};

		h.opcode = IW_OP_RREQ;
		iw_rreq_encode(payload, sizeof(payload), &r);
		h.msn = t->side[from].msn[0]++;
	} else {
		h.opcode = IW_OP_TERM;
		memset(payload, 0, 4);
		h.msn = t->side[from].msn[0]++;
	}
	fault_is_next(t);
	segment(t, from, &h, payload, form < 6 ? 12 : form == 6 ? sizeof(payload) : 4);
}

static void inject_msn(struct talk *t, unsigned int from)
{
	uint32_t *msn = &t->side[from].msn[t->variant % 5 == 3 ? IW_QN_RREQ : IW_QN_SEND];

	respond_all(t);
	switch (t->variant % 5) {
	case 0:
	case 3:
		*msn += 1;
		break;
	case 1:
		*msn -= 1;
		break;
	case 2:
		*msn += 2 + (uint32_t)below(t, 1000);
		break;
	default:
		*msn = *msn == 1 ? 0 : 1;
	}
	if (t->variant % 5 == 3) {
		fault_is_next(t);
		read_nothing(t, from);
		return;
	}
	fault_is_next(t);
	say(t, from);
}

static void inject_mo(struct talk *t, unsigned int from)
{
	static const int wrong[] = { 1, -1, 4, -4 };
	uint8_t text[300];
	struct iw_ddp h = untagged(t, from, IW_OP_SEND);
	size_t first = 20 + below(t, 200);

	memset(text, '.', sizeof(text));
	if (t->variant % 6 < 4) {
		h.last = false;
		segment(t, from, &h, text, first);
		h.mo = (uint32_t)((int)first + wrong[t->variant % 6]);
	} else if (t->variant % 6 == 4) {
		h.last = false;
		segment(t, from, &h, text, first);
		h.mo = 0;
	} else {
		h.mo = 4;
	}
	h.last = true;
	fault_is_next(t);
	segment(t, from, &h, text, 16);
	t->side[from].msn[0]++;
}

static void inject_last(struct talk *t, unsigned int from)
{
	uint8_t text[PAYLOAD_MAX];
	size_t len = make_text(t, text);
	struct iw_ddp h = untagged(t, from, IW_OP_SEND);

	h.last = false;
	segment(t, from, &h, text, len);
	if (t->variant % 2) {
		h.mo = (uint32_t)len;
		segment(t, from, &h, text, len);
	}
	t->side[from].msn[0]++;
	if (t->variant % 4 > 1)
		say(t, !from);
	fault_is_next(t);
	say(t, from);
}

static void inject_stag(struct talk *t, unsigned int from)
{
	uint32_t unknown;

	need(t, from, RIGHT_READ | RIGHT_WRITE);
	do {
		const struct side *own = &t->side[from];

		/* Often an STag of the sender, which its peer has not advertised. */
		unknown = chance(t, 60) ? own->buffers[below(t, own->n_buffers)].stag
					: (uint32_t)dice_next(&t->dice);
		if (find(&t->side[!from], unknown) && chance(t, 50))
			unknown = (uint32_t)dice_next(&t->dice);
	} while (find(&t->side[!from], unknown));
	if (t->variant % 3 == 2)
		respond_all(t);
	fault_is_next(t);
	switch (t->variant % 3) {
	case 0:
		tagged_message(t, from, tagged(IW_OP_WRITE, unknown, 0, true), 16, 1);
		return;
	case 1:
		invalidate(t, from, &(struct buffer){ .stag = unknown }, true);
		return;
	default:
		request(t, from, unknown, 0, 1);
	}
}

static void inject_invalidated(struct talk *t, unsigned int from)
{
	struct buffer *b, was;

	respond_all(t);
	b = advertise(t, !from, t->variant % 3 == 2 ? RIGHT_READ : RIGHT_WRITE);
	was = *b;
	invalidate(t, from, b, false);
	for (size_t i = below(t, 3); i; i--)
		say(t, (unsigned int)below(t, 2));
	fault_is_next(t);
	switch (t->variant % 3) {
	case 0:
		write_to(t, from, &was);
		return;
	case 1:
		invalidate(t, from, &was, true);
		return;
	default:
		read_from(t, from, &was);
	}
}

static void inject_bounds(struct talk *t, unsigned int from)
{
	bool read = t->variant % 7 == 4 || t->variant % 7 == 5;
	struct buffer *b = advertise(t, !from, read ? RIGHT_READ : RIGHT_WRITE);
	uint64_t to = b->to;
	size_t len = 1 + below(t, 60), n = 1;

	if (read || t->variant % 7 == 1)
		respond_all(t);
	switch (t->variant % 7) {
	case 0: /* one octet too far */
	case 4:
		to += b->len - len + 1;
		break;
	case 1: /* one octet before */
	case 5:
		to -= 1;
		break;
	case 2: /* after the end */
		to += b->len;
		break;
	case 3: /* the sum wraps around 2^64 and seems to end in the buffer */
		to = b->to ? UINT64_MAX : b->to - 2;
		len = 20;
		break;
	default: /* the second segment leaves the buffer */
		n = 2;
		len = 32;
		to += b->len - 20;
	}
	fault_is_next(t);
	t->c->fault_at += n - 1;
	if (read)
		request(t, from, b->stag, to, (uint32_t)len);
	else
		tagged_message(t, from, tagged(IW_OP_WRITE, b->stag, to, true), len, n);
}

static void inject_rights(struct talk *t, unsigned int from)
{
	struct buffer *b = advertise(t, !from, t->variant % 2 ? RIGHT_WRITE : RIGHT_READ);

	if (t->variant % 2)
		respond_all(t);
	fault_is_next(t);
	if (t->variant % 2)
		read_from(t, from, b);
	else
		write_to(t, from, b);
}

static void inject_unrequested(struct talk *t, unsigned int from)
{
	struct buffer *b = need(t, !from, RIGHT_WRITE);
	struct iw_rreq last = { .sink_stag = b->stag, .sink_to = b->to, .size = 10 };

	respond_all(t);
	if (t->variant % 3 == 1) {
		read_from(t, !from, need(t, from, RIGHT_READ));
		last = t->side[!from].reads[0];
		respond(t, from);
	} else if (t->variant % 3 == 2) {
		/* It is the sender of the response who has requested. */
		read_from(t, from, need(t, !from, RIGHT_READ));
	}
	fault_is_next(t);
	tagged_message(t, from, tagged(IW_OP_RRESP, last.sink_stag, last.sink_to, true),
		       IW_MIN(last.size, 100u), 1);
}

static void inject_response(struct talk *t, unsigned int from)
{
	struct iw_rreq r, second;
	struct buffer *b;
	struct iw_ddp h;

	respond_all(t);
	b = advertise(t, from, RIGHT_READ);
	request(t, !from, b->stag, b->to, 40);
	r = take_request(&t->side[!from]);
	h = tagged(IW_OP_RRESP, r.sink_stag, r.sink_to, true);
	switch (t->variant % 7) {
	case 0:
		h.stag ^= 1;
		fault_is_next(t);
		tagged_message(t, from, h, 40, 1);
		return;
	case 1:
		h.to += 1;
		fault_is_next(t);
		tagged_message(t, from, h, 40, 1);
		return;
	case 2: /* ends too early */
		fault_is_next(t);
		tagged_message(t, from, h, 39, 1);
		return;
	case 3: /* the second segment is too long */
		fault_is_next(t);
		t->c->fault_at++;
		tagged_message(t, from, h, 41, 2);
		return;
	case 4: /* a hole between segments */
		tagged_message(t, from, h, 20, 1);
		t->c->units[t->c->n - 1].octets[t->c->over == OVER_SCTP ? 2 : 0] &= 0xbf;
		h.to += 21;
		fault_is_next(t);
		tagged_message(t, from, h, 20, 1);
		return;
	case 5: /* a response with octets to a request of size 0 */
		h.to = r.sink_to;
		tagged_message(t, from, h, 40, 1);
		read_nothing(t, !from);
		r = take_request(&t->side[!from]);
		fault_is_next(t);
		tagged_message(t, from, tagged(IW_OP_RRESP, r.sink_stag, r.sink_to, true), 4, 1);
		return;
	default: /* the wrong order */
		if (t->side[!from].limit < 2) {
			fault_is_next(t);
			tagged_message(t, from, tagged(IW_OP_RRESP, ~r.sink_stag, r.sink_to, true),
				       40, 1);
			return;
		}
		request(t, !from, b->stag, b->to, 40);
		second = take_request(&t->side[!from]);
		fault_is_next(t);
		tagged_message(t, from, tagged(IW_OP_RRESP, second.sink_stag, second.sink_to, true),
			       40, 1);
		tagged_message(t, from, h, 40, 1);
	}
}

static void inject_reads(struct talk *t, unsigned int from)
{
	struct side *s = &t->side[from];
	struct buffer *b = need(t, !from, RIGHT_READ);

	/* The end without a limit has no fault. */
	if (s->limit == NO_LIMIT) {
		from = !from;
		s = &t->side[from];
		b = need(t, !from, RIGHT_READ);
	}
	while (s->n_reads < s->limit)
		if (t->variant % 2)
			read_from(t, from, b);
		else
			read_nothing(t, from);
	fault_is_next(t);
	if (t->variant % 4 == 1)
		read_nothing(t, from);
	else
		read_from(t, from, b);
}

static void inject_ssn(struct talk *t, unsigned int from)
{
	uint16_t *ssn = &t->side[from].ssn;
	struct buffer *b = need(t, !from, RIGHT_WRITE);

	if (t->variant % 3 == 0)
		*ssn -= 1;
	else if (t->variant % 3 == 1)
		*ssn += 1;
	else
		*ssn = (uint16_t)(*ssn + 2 + below(t, 1000));
	fault_is_next(t);
	if (t->variant % 2)
		say(t, from);
	else
		write_to(t, from, b);
}

static void inject_after(struct talk *t, unsigned int from)
{
	struct buffer *b = need(t, !from, RIGHT_WRITE);

	respond_all(t);
	if (t->variant % 4 == 3 && t->c->over == OVER_SCTP)
		control(t, from, IW_SCTP_FN_TERMINATE);
	else
		terminate_properly(t, from);
	if (t->variant % 2)
		say(t, !from);
	fault_is_next(t);
	if (t->variant % 3 == 0)
		write_to(t, from, b);
	else if (t->variant % 3 == 1)
		say(t, from);
	else
		terminate_properly(t, from);
}

static void inject_terminate(struct talk *t, unsigned int from)
{
	static const uint8_t forms[][2] = { { 3, 0 }, { 0, 3 }, { 2, 1 }, { 15, 2 },
					    { 1, 5 }, { 2, 2 }, { 4, 1 } };
	const uint8_t *f = forms[t->variant % IW_ARRAY_LEN(forms)];

	respond_all(t);
	fault_is_next(t);
	terminate(t, from, f[0], f[1], (uint8_t)below(t, 4));
}

static void (*const inject[FAULT_COUNT])(struct talk *t, unsigned int from) = {
	[FAULT_SHORT] = inject_short,
	[FAULT_VERSION] = inject_version,
	[FAULT_OPCODE] = inject_opcode,
	[FAULT_QUEUE] = inject_queue,
	[FAULT_MSN] = inject_msn,
	[FAULT_MO] = inject_mo,
	[FAULT_LAST] = inject_last,
	[FAULT_STAG] = inject_stag,
	[FAULT_INVALIDATED] = inject_invalidated,
	[FAULT_BOUNDS] = inject_bounds,
	[FAULT_RIGHTS] = inject_rights,
	[FAULT_UNREQUESTED] = inject_unrequested,
	[FAULT_RESPONSE] = inject_response,
	[FAULT_READS] = inject_reads,
	[FAULT_SSN] = inject_ssn,
	[FAULT_AFTER] = inject_after,
	[FAULT_TERMINATE] = inject_terminate,
};

/* --- conversations ---------------------------------------------------------------------------- */

static enum over choose_over(struct talk *t, enum fault fault)
{
	switch (fault) {
	case FAULT_SSN:
	case FAULT_EARLY:
		return OVER_SCTP;
	case FAULT_ORD:
	case FAULT_FIRST:
	case FAULT_RTR:
	case FAULT_READS:
	case FAULT_CRC:
	case FAULT_MARKER:
	case FAULT_PAD:
		return OVER_TCP;
	default:
		return has(t, WITH_SCTP) && chance(t, 30) ? OVER_SCTP : OVER_TCP;
	}
}

static bool nothing_follows(enum fault fault)
{
	return fault == FAULT_AFTER || fault == FAULT_TERMINATE;
}

struct conversation *conversation_new(uint64_t seed, unsigned int features, enum fault fault,
				      unsigned int variant)
{
	struct conversation *c = calloc(1, sizeof(*c));
	struct talk t = { .c = c, .dice = { seed }, .features = features, .variant = variant };
	size_t before, after;

	if (!c)
		return NULL;
	c->seed = seed;
	c->fault = fault;
	c->over = choose_over(&t, fault);
	for (unsigned int i = 0; i < 2; i++)
		for (size_t q = 0; q < IW_ARRAY_LEN(t.side[i].msn); q++)
			t.side[i].msn[q] = 1;
	start(&t);
	for (before = has(&t, WITH_MANY) ? 3 + below(&t, 12) : 0; before; before--)
		operation(&t);
	if (inject[fault])
		inject[fault](&t, (unsigned int)below(&t, 2));
	if (has(&t, WITH_MANY) && !nothing_follows(fault)) {
		for (after = 1 + below(&t, 6); after; after--)
			operation(&t);
		end(&t);
	}
	return c;
}
