/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions of startup.h that the grader calls. You do not change this file. */
#include <string.h>

#include "harness.h"
#include "startup.h"

enum { SLOTS = 8 };

/* Ends that live from call to call. The first argument of a call about an end is its slot. */
static struct startup *slots[SLOTS];

static struct startup **get_slot(struct message *in)
{
	return &slots[get_u8(in) % SLOTS];
}

/* --- frames ---------------------------------------------------------------------------------- */

/*
 * In: kind, flags (FLAG_), rev, Private Data, cap (32 bits). Out: length, whether the octets before
 * dst are unchanged, all cap octets of dst.
 */
static void build(struct message *in, struct message *out)
{
	struct frame f = { .kind = get_u8(in) ? FRAME_REPLY : FRAME_REQUEST };
	uint8_t flags = get_u8(in), *pd, *dst;
	const uint8_t *octets;
	size_t cap, len;

	f.m = flags & FLAG_M;
	f.c = flags & FLAG_C;
	f.r = flags & FLAG_R;
	f.s = flags & FLAG_S;
	f.rev = get_u8(in);
	octets = get_octets(in, &f.pd_len);
	f.pd = pd = memory_copy(octets, f.pd_len);
	cap = get_u32(in);
	dst = memory_new(cap);
	len = frame_build(dst, cap, &f);
	put_u64(out, len);
	put_u8(out, memory_check(dst));
	put_octets(out, dst, cap);
	memory_free(dst);
	memory_free(pd);
}

/*
 * In: kind, max_rev, octets. Out: result; for STARTUP_DONE also used, kind, flags, rev, whether pd
 * is within the octets, pd.
 */
static void parse(struct message *in, struct message *out)
{
	enum frame_kind kind = get_u8(in) ? FRAME_REPLY : FRAME_REQUEST;
	uint8_t max_rev = get_u8(in), *src;
	struct frame f = { 0 };
	enum startup_result result;
	const uint8_t *octets;
	size_t len, used = 0;
	bool within;

	octets = get_octets(in, &len);
	src = memory_copy(octets, len);
	result = frame_parse(&f, &used, kind, max_rev, src, len);
	put_u8(out, (uint8_t)result);
	if (result == STARTUP_DONE) {
		within = f.pd_len == 0 || (f.pd >= src && f.pd <= src + len &&
					   f.pd_len <= (size_t)(src + len - f.pd));
		put_u64(out, used);
		put_u8(out, f.kind == FRAME_REPLY);
		put_u8(out, (f.m ? FLAG_M : 0) | (f.c ? FLAG_C : 0) | (f.r ? FLAG_R : 0) |
				    (f.s ? FLAG_S : 0));
		put_u8(out, f.rev);
		put_u8(out, within);
		put_octets(out, f.pd, within ? f.pd_len : 0);
	}
	memory_free(src);
}

/* --- enhanced data --------------------------------------------------------------------------- */

/* In: peer_to_peer, rtr, ird, ord. Out: intact, octets. */
static void put(struct message *in, struct message *out)
{
	struct enhanced e = { .peer_to_peer = get_u8(in) };
	uint8_t *dst = memory_new(ENHANCED_LEN);

	e.rtr = get_u8(in);
	e.ird = get_u16(in);
	e.ord = get_u16(in);
	enhanced_put(dst, &e);
	put_u8(out, memory_check(dst));
	put_octets(out, dst, ENHANCED_LEN);
	memory_free(dst);
}

/* In: four octets. Out: peer_to_peer, rtr, ird, ord. */
static void get(struct message *in, struct message *out)
{
	struct enhanced e;
	const uint8_t *octets;
	uint8_t *src;
	size_t len;

	octets = get_octets(in, &len);
	src = memory_copy(octets, len);
	memset(&e, 0xff, sizeof(e));
	e.peer_to_peer = false;
	enhanced_get(&e, src);
	put_u8(out, e.peer_to_peer);
	put_u8(out, e.rtr);
	put_u16(out, e.ird);
	put_u16(out, e.ord);
	memory_free(src);
}

/* --- ends ------------------------------------------------------------------------------------ */

/*
 * In: slot, initiator, rev, markers, crc, rtr, peer_to_peer, ird, ord, ird_max (16 bits each),
 * Private Data. Out: whether the end was created. An end in the slot is freed first.
 */
static void create(struct message *in, struct message *out)
{
	struct startup **slot = get_slot(in);
	struct config cfg = { .initiator = get_u8(in) };
	const uint8_t *octets;
	uint8_t *pd;

	cfg.rev = get_u8(in);
	cfg.markers = get_u8(in);
	cfg.crc = get_u8(in);
	cfg.rtr = get_u8(in);
	cfg.peer_to_peer = get_u8(in);
	cfg.ird = get_u16(in);
	cfg.ord = get_u16(in);
	cfg.ird_max = get_u16(in);
	octets = get_octets(in, &cfg.pd_len);
	cfg.pd = pd = memory_copy(octets, cfg.pd_len);
	if (*slot)
		startup_free(*slot);
	*slot = startup_new(&cfg);
	put_u8(out, *slot != NULL);
	memory_free(pd);
}

/* In: slot. */
static void free_end(struct message *in, struct message *out)
{
	struct startup **slot = get_slot(in);

	startup_free(*slot);
	*slot = NULL;
	put_u8(out, 1);
}

/*
 * Begins a call about the end in a slot: returns it, and puts 1. Without an end it puts 0, which
 * is then the only result.
 */
static struct startup *begin(struct message *in, struct message *out)
{
	struct startup *s = *get_slot(in);

	put_u8(out, s != NULL);
	return s;
}

/* In: slot, cap (32 bits). Out: an end is there, length, intact, all cap octets of dst. */
static void output(struct message *in, struct message *out)
{
	struct startup *s = begin(in, out);
	uint8_t *dst;
	size_t cap, len;

	if (!s)
		return;
	cap = get_u32(in);
	dst = memory_new(cap);
	len = startup_output(s, dst, cap);
	put_u64(out, len);
	put_u8(out, memory_check(dst));
	put_octets(out, dst, cap);
	memory_free(dst);
}

/* In: slot, octets. Out: an end is there, result, taken. */
static void receive(struct message *in, struct message *out)
{
	struct startup *s = begin(in, out);
	const uint8_t *octets;
	size_t len, taken = 0;
	uint8_t *src;

	if (!s)
		return;
	octets = get_octets(in, &len);
	src = memory_copy(octets, len);
	put_u8(out, (uint8_t)startup_receive(s, src, len, &taken));
	put_u64(out, taken);
	memory_free(src);
}

/* In: slot, accept, ird, ord, Private Data. Out: an end is there, the returned value. */
static void answer(struct message *in, struct message *out)
{
	struct startup *s = begin(in, out);
	const uint8_t *octets;
	uint16_t ird, ord;
	size_t len;
	uint8_t *pd;
	bool accept;

	if (!s)
		return;
	accept = get_u8(in);
	ird = get_u16(in);
	ord = get_u16(in);
	octets = get_octets(in, &len);
	pd = memory_copy(octets, len);
	put_u8(out, startup_answer(s, accept, ird, ord, pd, len));
	memory_free(pd);
}

/* In: slot. Out: an end is there, the members of struct agreed in their order. */
static void agreed(struct message *in, struct message *out)
{
	struct startup *s = begin(in, out);
	const struct agreed *a;

	if (!s)
		return;
	a = startup_agreed(s);
	put_u8(out, a->rev);
	put_u8(out, a->enhanced);
	put_u8(out, a->crc);
	put_u8(out, a->tx_markers);
	put_u8(out, a->rx_markers);
	put_u8(out, a->peer_to_peer);
	put_u8(out, a->rtr);
	put_u16(out, a->peer_ird);
	put_u16(out, a->peer_ord);
	put_u16(out, a->ird);
	put_u16(out, a->ord);
	put_octets(out, a->pd, a->pd_len <= PD_MAX ? a->pd_len : 0);
}

/* In: slot. Out: an end is there, startup_rtr(), startup_may_send(), startup_retry_rev1(). */
static void state(struct message *in, struct message *out)
{
	struct startup *s = begin(in, out);

	if (!s)
		return;
	put_u8(out, startup_rtr(s));
	put_u8(out, startup_may_send(s));
	put_u8(out, startup_retry_rev1(s));
}

/* In: slot. Out: an end is there. */
static void rtr_sent(struct message *in, struct message *out)
{
	struct startup *s = begin(in, out);

	if (s)
		startup_rtr_sent(s);
}

/* In: slot. Out: an end is there. */
static void fpdu_received(struct message *in, struct message *out)
{
	struct startup *s = begin(in, out);

	if (s)
		startup_fpdu_received(s);
}

/* In: slot. Out: an end is there, result. */
static void closed(struct message *in, struct message *out)
{
	struct startup *s = begin(in, out);

	if (s)
		put_u8(out, (uint8_t)startup_closed(s));
}

/* --- speed ----------------------------------------------------------------------------------- */

/*
 * In: times (32 bits), a Request. Repeats this: a responder of Rev 2 with all forms of RTR receives
 * the Request and accepts it, with IRD and ORD 16 and the number of the turn as Private Data. Out:
 * the last Reply; empty if a turn failed.
 */
static void repeat(struct message *in, struct message *out)
{
	struct config cfg = {
		.rev = 2,
		.crc = true,
		.rtr = RTR_SEND | RTR_WRITE | RTR_READ,
	};
	uint32_t times = get_u32(in);
	uint8_t reply[FRAME_MAX];
	size_t len, taken, reply_len = 0;
	const uint8_t *request = get_octets(in, &len);

	for (uint32_t i = 0; i < times; i++) {
		uint8_t turn[4] = { i >> 24, i >> 16, i >> 8, i };
		struct startup *s = startup_new(&cfg);

		reply_len = 0;
		if (!s)
			break;
		if (startup_receive(s, request, len, &taken) == STARTUP_DONE &&
		    startup_answer(s, true, 16, 16, turn, sizeof(turn)))
			reply_len = startup_output(s, reply, sizeof(reply));
		startup_free(s);
		if (reply_len == 0 || reply_len > sizeof(reply)) {
			reply_len = 0;
			break;
		}
	}
	put_octets(out, reply, reply_len);
}

const struct call calls[] = {
	{ "frame_build", build },
	{ "frame_parse", parse },
	{ "enhanced_put", put },
	{ "enhanced_get", get },
	{ "startup_new", create },
	{ "startup_free", free_end },
	{ "startup_output", output },
	{ "startup_receive", receive },
	{ "startup_answer", answer },
	{ "startup_agreed", agreed },
	{ "state", state },
	{ "startup_rtr_sent", rtr_sent },
	{ "startup_fpdu_received", fpdu_received },
	{ "startup_closed", closed },
	{ "repeat", repeat },
	{ 0 },
};
