/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lab 7: out-of-order placement over SCTP beside TCP. Placement, delivery and the checks are those
 * of the engine (sctp_model.c); the TCP receiver and the figures are computed here from their
 * definitions in arrival.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labs/grader/lab.h"
#include "labs/grader/sctp/model.h"
#include "os/os.h"
#include "trace/trace.h"
#include "wire/sctpddp.h"

enum {
	WINDOW = 256,
	JOURNEYS_MAX = 512,
	STREAMS = 16, /* STREAMS_MAX of arrival.h */
};

static const struct link lossy = {
	.gap = 10, .one_way = 1000, .jitter = 60, .rtt = 200, .loss = 60, .losses = 3
};

/* Frees the session. True if nothing failed, then or now. */
static bool finish(struct session *s, bool passed)
{
	if (passed)
		return sctp_session_end(s);
	sctp_session_free(s);
	return false;
}

/* --- step 1: the number of a segment ---------------------------------------------------------- */

static bool number_is(struct lab_run *run, uint64_t next, uint16_t ssn, bool valid, uint64_t number)
{
	uint8_t seen_valid;
	uint64_t seen;

	lab_case(run, "next %llu, DDP-SSN %u", (unsigned long long)next, ssn);
	lab_call(run, "number_of");
	lab_put_u64(run, next);
	lab_put_u16(run, ssn);
	if (!lab_run_call(run))
		return false;
	seen_valid = lab_get_u8(run);
	seen = lab_get_u64(run);
	if (!lab_expect_true(run, seen_valid == valid, "it returned %s: expected %s",
			     seen_valid ? "true" : "false", valid ? "true" : "false"))
		return false;
	return (!valid || lab_expect_number(run, "the number", number, seen)) &&
	       lab_results_end(run);
}

static bool step_number(struct lab_run *run)
{
	static const struct {
		uint64_t next;
		uint16_t ssn;
		bool valid;
		uint64_t number;
	} fixed[] = {
		{ 1, 1, true, 1 },
		{ 1, 9, true, 9 },
		{ 1, 0, true, 0 },
		{ 1, 65535, false, 0 },
		{ 0, 32767, true, 32767 },
		{ 0, 32768, false, 0 },
		{ 100, 99, true, 99 },
		{ 32767, 65535, false, 0 },
		{ 32768, 0, true, 0 },
		{ 32768, 65535, true, 65535 },
		{ 65535, 65535, true, 65535 },
		{ 65535, 0, true, 65536 },
		{ 65536, 65535, true, 65535 },
		{ 65536, 32767, true, 65536 + 32767 },
		{ 65536, 32768, true, 32768 },
		{ 0xffffffff, 0, true, 0x100000000 },
		{ 0x7ffffffffff0, 5, true, 0x800000000005 },
		{ 0x800000000005, 0xfff0, true, 0x7ffffffffff0 },
	};

	for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
		if (!number_is(run, fixed[i].next, fixed[i].ssn, fixed[i].valid, fixed[i].number))
			return false;
	for (int i = 0; i < 100; i++) {
		uint64_t next = 32768 + lab_below(run, 1ull << (17 + i % 30));
		uint64_t number = next - 32768 + lab_below(run, 65536);

		if (!number_is(run, next, (uint16_t)number, true, number))
			return false;
	}
	return true;
}

/* --- sessions over the link ------------------------------------------------------------------- */

/* Two Tagged Buffers, untagged messages, and messages of both kinds in a random order. */
struct mixed {
	uint8_t pool[POOL_LEN];
	struct plan plan;
	struct session *session;
};

/* No message reaches the end of its buffer: the ends belong to step 6. */
enum { UNTAGGED_LEN = 130, TAGGED_LEN = 600, MESSAGE_MAX = 120 };

static bool post_all(struct session *s)
{
	while (s->posted < s->delivered + BUFFERS_POSTED)
		if (!sctp_session_post(s, UNTAGGED_LEN))
			return false;
	return true;
}

static bool mixed_begin(struct mixed *m, struct lab_run *run, size_t messages,
			const struct link *link)
{
	uint32_t stags[2];

	lab_case(run, "a session of %zu messages, window %u", messages, WINDOW);
	lab_fill(run, m->pool, sizeof(m->pool));
	sctp_plan_init(&m->plan);
	m->session = sctp_session_new(run, WINDOW);
	if (!m->session || !sctp_session_register(m->session, 0, TAGGED_LEN, &stags[0]) ||
	    !sctp_session_register(m->session, lab_random(run) >> 1, TAGGED_LEN, &stags[1]) ||
	    !post_all(m->session))
		return false;
	for (size_t i = 0; i < messages; i++) {
		size_t which = lab_below(run, 4),
		       len = lab_below(run, 8) ? 1 + lab_below(run, MESSAGE_MAX) : 0;
		uint64_t base = iw_stag_get(m->session->stags, stags[which & 1])->to;

		if (which < 2)
			sctp_plan_tagged(&m->plan, run, m->pool, stags[which],
					 base + lab_below(run, TAGGED_LEN - len), len, 40);
		else
			sctp_plan_untagged(&m->plan, run, m->pool, len, 40);
	}
	sctp_link_carry(link, run, &m->plan);
	return true;
}

static bool mixed_run(struct mixed *m, unsigned judge)
{
	for (size_t i = 0; i < m->plan.n; i++)
		if (!sctp_session_arrive(m->session, &m->plan.packets[i], judge) ||
		    !post_all(m->session))
			return false;
	return true;
}

/* A number of random sessions over a link. */
static bool random_sessions(struct lab_run *run, int n, size_t messages, const struct link *link,
			    unsigned judge)
{
	static struct mixed m;
	bool passed = true;

	for (int i = 0; i < n && passed; i++) {
		passed = mixed_begin(&m, run, messages, link) && mixed_run(&m, judge);
		passed = finish(m.session, passed);
		sctp_plan_free(&m.plan);
	}
	return passed;
}

enum { FIXED = 7, FIXED_LEN = 32 };

/* A tagged message of 4 segments, then two untagged ones of 2 and 1; no lengths by chance. */
static void fixed_plan(struct lab_run *run, struct plan *plan, uint32_t stag)
{
	static uint8_t pool[POOL_LEN];

	for (size_t i = 0; i < sizeof(pool); i++)
		pool[i] = (uint8_t)(i / FIXED_LEN + 1);
	for (size_t i = 0; i < FIXED; i++) {
		struct packet *p;

		sctp_plan_tagged(plan, run, pool, stag, 0x1000 + FIXED_LEN * i, 1, 1);
		p = &plan->packets[i];
		p->payload = pool + FIXED_LEN * i;
		p->len = FIXED_LEN;
		if (i >= 4)
			p->ddp = (struct iw_ddp){ .dv = 1, .rv = 1, .opcode = IW_OP_SEND };
		p->ddp.last = i == 3 || i == 5 || i == 6;
		p->ddp.msn = i < 4 ? 0 : i < 6 ? 1 : 2;
		p->ddp.mo = i == 5 ? FIXED_LEN : 0;
	}
}

static bool fixed_session(struct lab_run *run, const uint8_t *order, unsigned judge)
{
	struct session *s;
	struct plan plan;
	uint32_t stag;
	bool passed;

	lab_case(run, "three messages with %d segments, window %u", FIXED, WINDOW);
	s = sctp_session_new(run, WINDOW);
	if (!s)
		return false;
	sctp_plan_init(&plan);
	passed = sctp_session_register(s, 0x1000, 256, &stag) && sctp_session_post(s, 80) &&
		 sctp_session_post(s, 80);
	if (passed)
		fixed_plan(run, &plan, stag);
	for (size_t i = 0; i < FIXED && passed; i++)
		passed = sctp_session_arrive(s, &plan.packets[order[i]], judge);
	sctp_plan_free(&plan);
	return finish(s, passed);
}

/* --- step 2: place ---------------------------------------------------------------------------- */

static bool step_place(struct lab_run *run)
{
	static const uint8_t in_order[FIXED] = { 0, 1, 2, 3, 4, 5, 6 },
			     backwards[FIXED] = { 6, 5, 4, 3, 2, 1, 0 };

	return fixed_session(run, in_order, JUDGE_MEMORY) &&
	       fixed_session(run, backwards, JUDGE_MEMORY) &&
	       random_sessions(run, 16, 16, &lossy, JUDGE_MEMORY);
}

/* --- step 3: deliver -------------------------------------------------------------------------- */

static bool step_deliver(struct lab_run *run)
{
	static const uint8_t orders[][FIXED] = {
		{ 0, 1, 2, 3, 4, 5, 6 },
		{ 6, 5, 4, 3, 2, 1, 0 },
		{ 0, 2, 3, 5, 1, 6, 4 },
		{ 4, 5, 6, 3, 0, 1, 2 },
	};

	for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++)
		if (!fixed_session(run, orders[i], JUDGE_DELIVERY))
			return false;
	return random_sessions(run, 16, 60, &lossy, JUDGE_DELIVERY);
}

/* --- step 4: duplicates ----------------------------------------------------------------------- */

/* Passes a copy of a segment that has arrived, with other octets: they show if it is placed. */
static bool copy_arrives(struct session *s, const struct packet *p)
{
	static const uint8_t other[POOL_LEN] = { 0 };
	struct packet copy = *p;

	copy.payload = other;
	return sctp_session_arrive(s, &copy, JUDGE_DELIVERY | JUDGE_MEMORY);
}

static bool copies_of_everything(struct mixed *m)
{
	for (size_t i = 0; i < m->plan.n; i++) {
		const struct packet *p = &m->plan.packets[i];

		if (!sctp_session_arrive(m->session, p, JUDGE_DELIVERY) ||
		    !copy_arrives(m->session, p) ||
		    !copy_arrives(m->session,
				  &m->plan.packets[lab_below(m->session->run, i + 1)]) ||
		    !post_all(m->session))
			return false;
	}
	return true;
}

static bool step_duplicate(struct lab_run *run)
{
	struct link link = lossy;
	static struct mixed m;
	bool passed = true;

	for (int i = 0; i < 2 && passed; i++) {
		passed = mixed_begin(&m, run, 12, &lossy) && copies_of_everything(&m);
		passed = finish(m.session, passed);
		sctp_plan_free(&m.plan);
	}
	link.again = 300;
	return passed && random_sessions(run, 8, 30, &link, JUDGE_DELIVERY);
}

/* --- step 5: the window ----------------------------------------------------------------------- */

static struct packet octet(uint64_t number, uint32_t stag)
{
	static const uint8_t a[1] = { 'a' };

	return (struct packet){ .number = number,
				.ddp = { .tagged = true,
					 .last = true,
					 .dv = 1,
					 .rv = 1,
					 .stag = stag,
					 .to = number % 64 },
				.payload = a,
				.len = 1 };
}

static bool numbers_arrive(struct session *s, uint32_t stag, const uint64_t *numbers, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct packet p = octet(numbers[i], stag);

		if (!sctp_session_arrive(s, &p, JUDGE_DELIVERY))
			return false;
	}
	return sctp_session_compare_memories(s);
}

/* A session of messages of one octet with these numbers. */
static bool numbers_session(struct lab_run *run, uint32_t window, const uint64_t *numbers, size_t n)
{
	struct session *s;
	uint32_t stag;

	lab_case(run, "a receiver with a window of %u", window);
	s = sctp_session_new(run, window);
	return s && finish(s, sctp_session_register(s, 0, 64, &stag) &&
				      numbers_arrive(s, stag, numbers, n));
}

static bool window_edges(struct lab_run *run, uint32_t w)
{
	const uint64_t first[] = { w, w + 1 };
	const uint64_t second[] = { 1, 1 + w, 2 + w };
	const uint64_t wild[] = { 1 + 32767 };
	/* Number 0 was the Accept. Minus 1 was never sent. */
	const uint64_t before[] = { 0, 1, 0, UINT64_MAX };

	return numbers_session(run, w, first, 2) && numbers_session(run, w, second, 3) &&
	       numbers_session(run, w, wild, 1) && numbers_session(run, w, before, 4);
}

/* The whole window is early, then its first segment comes. Nothing is allocated meanwhile. */
static bool full_window(struct lab_run *run, uint32_t window)
{
	uint64_t begun, full;
	struct session *s;
	uint32_t stag;
	bool passed;

	lab_case(run, "a receiver with a window of %u, full", window);
	s = sctp_session_new(run, window);
	if (!s)
		return false;
	passed = sctp_session_register(s, 0, 64, &stag) && lab_allocated(run, &begun);
	for (uint64_t n = window; n >= 1 && passed; n--) {
		struct packet p = octet(n, stag);

		passed = sctp_session_arrive(s, &p, JUDGE_DELIVERY);
	}
	passed = passed && lab_allocated(run, &full) &&
		 lab_expect_true(
			 run, full <= begun,
			 "after the early segments %llu blocks are allocated, before them %llu",
			 (unsigned long long)full, (unsigned long long)begun);
	return finish(s, passed);
}

/* More segments than there are DDP-SSNs, with a window that does not divide 65,536. */
static bool long_session(struct lab_run *run)
{
	static const struct link link = {
		.gap = 10, .one_way = 1000, .jitter = 300, .rtt = 500, .loss = 20, .losses = 1
	};
	static uint8_t pool[POOL_LEN];
	struct session *s;
	struct plan plan;
	uint32_t stag;
	bool passed;

	lab_case(run, "a session of more than 65,536 segments");
	lab_fill(run, pool, sizeof(pool));
	s = sctp_session_new(run, 100);
	if (!s)
		return false;
	sctp_plan_init(&plan);
	passed = sctp_session_register(s, 0, 256, &stag);
	while (passed && plan.n < 66500)
		sctp_plan_tagged(&plan, run, pool, stag, lab_below(run, 200),
				 1 + lab_below(run, 56), 20);
	if (passed) {
		uint64_t next = plan.n + 1;
		/* Copies, the next one, and one so far ahead that it could almost be a copy. */
		const uint64_t after[] = { next - 1, next - 32768, next, next + 1 + 32767 };

		sctp_link_carry(&link, run, &plan);
		passed = sctp_session_arrive_all(s, plan.packets, plan.n,
						 JUDGE_DELIVERY | JUDGE_MEMORY) &&
			 numbers_arrive(s, stag, after, sizeof(after) / sizeof(*after));
	}
	sctp_plan_free(&plan);
	return finish(s, passed);
}

static bool step_window(struct lab_run *run)
{
	static const uint32_t windows[] = { 1, 2, 7, 100, 32767 };
	uint64_t before;

	if (!lab_allocated(run, &before))
		return false;
	for (size_t i = 0; i < sizeof(windows) / sizeof(*windows); i++)
		if (!window_edges(run, windows[i]))
			return false;
	if (!full_window(run, 100) || !full_window(run, 7) || !long_session(run))
		return false;
	lab_case(run, "after the sessions of this step");
	return lab_expect_freed(run, before);
}

/* --- step 6: the checks before placement ------------------------------------------------------ */

#define BASE_A 0x100000000ull
#define LEN_A  1000u
#define LEN_B  64u
#define BASE_B (UINT64_MAX - LEN_B)

enum { UNKNOWN = 2 }; /* an STag that is not registered */

/* Segment number 2. Number 1 was a whole message with MSN 1; MSN 2 has a buffer of 50 octets. */
static const struct bad {
	bool tagged;
	uint32_t stag_or_qn; /* tagged: 0, 1 or UNKNOWN */
	uint32_t msn;
	uint64_t at; /* TO or MO */
	size_t len;
} bad_segments[] = {
	{ true, 0, 0, BASE_A, LEN_A },
	{ true, 0, 0, BASE_A + 1, LEN_A },
	{ true, 0, 0, BASE_A + LEN_A - 1, 1 },
	{ true, 0, 0, BASE_A + LEN_A, 1 },
	{ true, 0, 0, BASE_A - 1, 1 },
	{ true, 0, 0, BASE_A - 1, 2 },
	{ true, 0, 0, 0, 10 },
	{ true, 0, 0, 2 * BASE_A, 10 },
	{ true, 0, 0, UINT64_MAX, 1 },
	{ true, 0, 0, UINT64_MAX - 9, 1000 },
	{ true, 0, 0, 7, 0 },
	{ true, 1, 0, BASE_B, LEN_B },
	{ true, 1, 0, BASE_B + LEN_B - 1, 1 },
	{ true, 1, 0, BASE_B + 60, 5 },
	{ true, 1, 0, BASE_B + 60, 100 },
	{ true, UNKNOWN, 0, BASE_A, 1 },
	{ true, UNKNOWN, 0, BASE_A, 0 },
	{ false, 0, 2, 0, 50 },
	{ false, 0, 2, 0, 51 },
	{ false, 0, 2, 49, 1 },
	{ false, 0, 2, 50, 1 },
	{ false, 0, 2, 50, 0 },
	{ false, 0, 2, 51, 0 },
	{ false, 0, 2, UINT32_MAX, 2 },
	{ false, 0, 2, UINT32_MAX - 9, 20 },
	{ false, 0, 3, 0, 1 },
	{ false, 0, 3, 0, 0 },
	{ false, 0, 1, 0, 1 },
	{ false, 0, 0, 0, 1 },
	{ false, 0, UINT32_MAX, 0, 1 },
	{ false, 0, 2 + BUFFERS_POSTED, 0, 1 },
	{ false, 1, 1, 0, 1 },
	{ false, 1, 2, 0, 1 },
	{ false, 256, 2, 0, 1 },
};

static struct packet bad_packet(const struct bad *b, uint64_t number, const uint32_t *stags)
{
	static const uint8_t payload[POOL_LEN] = { 'b', 'a', 'd' };
	struct packet p = { .number = number, .payload = payload, .len = b->len };

	p.ddp = (struct iw_ddp){ .tagged = b->tagged, .dv = 1, .rv = 1 };
	if (b->tagged) {
		p.ddp.stag = b->stag_or_qn == UNKNOWN ? stags[0] ^ 0x100 : stags[b->stag_or_qn];
		p.ddp.to = b->at;
	} else {
		p.ddp.opcode = IW_OP_SEND;
		p.ddp.qn = b->stag_or_qn;
		p.ddp.msn = b->msn;
		p.ddp.mo = (uint32_t)b->at;
	}
	return p;
}

static bool check_begin(struct lab_run *run, struct session **s, uint32_t *stags)
{
	static const struct bad good = { false, 0, 1, 0, 10 };
	struct packet p = bad_packet(&good, 1, stags);

	p.ddp.last = true;
	lab_case(run, "a receiver with two Tagged and two Untagged Buffers");
	*s = sctp_session_new(run, WINDOW);
	return *s && sctp_session_register(*s, BASE_A, LEN_A, &stags[0]) &&
	       sctp_session_register(*s, BASE_B, LEN_B, &stags[1]) && sctp_session_post(*s, 10) &&
	       sctp_session_post(*s, 50) &&
	       sctp_session_arrive(*s, &p, JUDGE_MEMORY | JUDGE_DELIVERY);
}

/* After an error, nothing is placed any more. */
static bool check_one(struct lab_run *run, const struct bad *b, uint64_t number)
{
	static const struct bad good = { true, 0, 0, BASE_A, 20 };
	uint32_t stags[2] = { 0, 0 };
	struct session *s = NULL;
	struct packet p;
	bool passed = check_begin(run, &s, stags);

	if (passed) {
		p = bad_packet(b, number, stags);
		passed = sctp_session_arrive(s, &p, JUDGE_MEMORY | JUDGE_DELIVERY);
	}
	if (passed && s->stopped) {
		p = bad_packet(&good, 2, stags);
		passed = sctp_session_arrive(s, &p, JUDGE_MEMORY | JUDGE_DELIVERY);
	}
	return finish(s, passed);
}

static struct bad random_bad(struct lab_run *run)
{
	struct bad b = { .tagged = lab_below(run, 2), .len = 1 + lab_below(run, 60) };

	if (b.tagged) {
		b.stag_or_qn = (uint32_t)lab_below(run, 2);
		b.at = (b.stag_or_qn ? BASE_B : BASE_A + LEN_A - 100) + lab_below(run, 110) - 5;
	} else {
		b.msn = (uint32_t)lab_below(run, 4);
		b.at = lab_below(run, 55);
	}
	return b;
}

static bool step_check(struct lab_run *run)
{
	size_t n = sizeof(bad_segments) / sizeof(*bad_segments);
	struct bad unknown = { true, UNKNOWN, 0, 0, 1 };

	for (size_t i = 0; i < n; i++)
		if (!check_one(run, &bad_segments[i], 2))
			return false;
	for (int i = 0; i < 60; i++) {
		struct bad b = random_bad(run);

		if (!check_one(run, &b, 2))
			return false;
	}
	/* The number is checked first: beyond the window, and a copy of number 1. */
	return check_one(run, &unknown, 2 + WINDOW) && check_one(run, &unknown, 1);
}

/* --- step 7: the receiver of a TCP connection ------------------------------------------------- */

enum { DATA_LEN = 3000 };

/* Octets of a direction, by their position: 0 is the first one. */
struct octets {
	struct lab_run *run;
	uint32_t first; /* sequence number of position 0 */
	size_t room;
	uint8_t data[DATA_LEN];
	bool present[DATA_LEN];
	size_t next; /* position of the next one to be read */
};

static bool octets_begin(struct octets *o, struct lab_run *run, uint32_t first, size_t room)
{
	memset(o, 0, sizeof(*o));
	o->run = run;
	o->first = first;
	o->room = room;
	lab_fill(run, o->data, sizeof(o->data));
	lab_case(run, "the first sequence number is %u, with %zu octets of room", first, room);
	lab_call(run, "stream_new");
	lab_put_u32(run, first);
	lab_put_u64(run, room);
	return lab_run_call(run) &&
	       lab_expect_true(run, lab_get_u8(run) == 1, "stream_new() returned NULL") &&
	       lab_results_end(run);
}

static uint64_t octets_held(const struct octets *o)
{
	size_t at = o->next;
	uint64_t held = 0;

	while (at < DATA_LEN && o->present[at])
		at++;
	for (; at < DATA_LEN; at++)
		held += o->present[at];
	return held;
}

/* Octets from a position arrive. */
static bool octets_arrive(struct octets *o, size_t at, size_t len)
{
	uint64_t kept = 0;

	for (size_t i = at; i < at + len; i++)
		if (i >= o->next && i < o->next + o->room && !o->present[i]) {
			o->present[i] = true;
			kept++;
		}
	lab_case(o->run,
		 "sequence numbers %u to %u arrive, %zu octets (next to be read: %u; room: %zu)",
		 o->first + (uint32_t)at, o->first + (uint32_t)(at + len - 1), len,
		 o->first + (uint32_t)o->next, o->room);
	lab_call(o->run, "stream_arrive");
	lab_put_u32(o->run, o->first + (uint32_t)at);
	lab_put_octets(o->run, o->data + at, len);
	return lab_run_call(o->run) &&
	       lab_expect_number(o->run, "stream_arrive(): octets kept", kept,
				 lab_get_u64(o->run)) &&
	       lab_expect_number(o->run, "stream_held()", octets_held(o), lab_get_u64(o->run)) &&
	       lab_results_end(o->run);
}

static bool octets_read(struct octets *o, size_t cap)
{
	struct lab_octets seen;
	size_t n = 0;

	while (n < cap && o->next + n < DATA_LEN && o->present[o->next + n])
		n++;
	lab_case(o->run, "at most %zu octets (next: sequence number %u)", cap,
		 o->first + (uint32_t)o->next);
	lab_call(o->run, "stream_read");
	lab_put_u32(o->run, (uint32_t)cap);
	if (!lab_run_call(o->run) ||
	    !lab_expect_true(o->run, lab_get_u8(o->run) == 1, "it wrote outside of the buffer"))
		return false;
	seen = lab_get_octets(o->run);
	if (!lab_expect_octets(o->run, "the result", o->data + o->next, n, seen.at, seen.len))
		return false;
	o->next += n;
	return lab_results_end(o->run);
}

static bool octets_end(struct octets *o)
{
	lab_call(o->run, "stream_free");
	return lab_run_call(o->run) && lab_results_end(o->run);
}

static bool stream_fixed(struct lab_run *run, uint32_t first)
{
	static struct octets o;

	return octets_begin(&o, run, first, 16) && octets_read(&o, 4) && octets_arrive(&o, 0, 4) &&
	       octets_read(&o, 2) && octets_read(&o, 9) && octets_arrive(&o, 8, 4) &&
	       octets_read(&o, 9) && octets_arrive(&o, 9, 6) && octets_arrive(&o, 0, 4) &&
	       octets_arrive(&o, 2, 8) && octets_read(&o, 100) && octets_read(&o, 100) &&
	       octets_arrive(&o, 20, 40) && octets_arrive(&o, 31, 5) && octets_arrive(&o, 10, 14) &&
	       octets_read(&o, 5) && octets_read(&o, 50) && octets_end(&o);
}

static bool stream_random(struct lab_run *run, size_t room)
{
	static struct octets o;

	if (!octets_begin(&o, run, (uint32_t)-lab_below(run, DATA_LEN), room))
		return false;
	for (int i = 0; i < 120 && o.next < DATA_LEN; i++) {
		size_t back = o.next < 40 ? o.next : 40;
		size_t at = o.next - back +
			    lab_below(run, back + 1 + (lab_below(run, 3) ? 0 : room + 10));
		size_t len = 1 + lab_below(run, 60);

		if (at >= DATA_LEN)
			continue;
		len = len < DATA_LEN - at ? len : DATA_LEN - at;
		if (!octets_arrive(&o, at, len) ||
		    (lab_below(run, 3) && !octets_read(&o, lab_below(run, 80))))
			return false;
	}
	return octets_end(&o);
}

static bool step_stream(struct lab_run *run)
{
	static const size_t rooms[] = { 1, 2, 13, 64, 100, 1000 };
	uint64_t before;

	if (!lab_allocated(run, &before) || !stream_fixed(run, 1000) || !stream_fixed(run, 0) ||
	    !stream_fixed(run, UINT32_MAX - 9))
		return false;
	for (size_t i = 0; i < 2 * sizeof(rooms) / sizeof(*rooms); i++)
		if (!stream_random(run, rooms[i / 2]))
			return false;
	lab_case(run, "after the cases of this step");
	return lab_expect_freed(run, before);
}

/* --- steps 8 and 9: what it costs ------------------------------------------------------------- */

struct way {
	uint16_t stream;
	bool last;
	uint32_t octets;
	uint64_t sent, arrived;
};

struct delay {
	uint64_t placed, delivered;
};

static const char *const transports[] = { "OVER_SCTP", "OVER_TCP" };

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The time at which segment i can be placed. */
static uint64_t placed_at(const struct way *w, size_t i, bool tcp)
{
	uint64_t at = w[i].arrived;

	for (size_t k = 0; k < i && tcp; k++)
		at = later(at, w[k].arrived);
	return at;
}

/* The time at which all segments up to i have arrived; of the stream of i, or of all streams. */
static uint64_t complete_at(const struct way *w, size_t i, bool tcp)
{
	uint64_t at = 0;

	for (size_t k = 0; k <= i; k++)
		if (tcp || w[k].stream == w[i].stream)
			at = later(at, w[k].arrived);
	return at;
}

static size_t expected_delays(struct delay *out, const struct way *w, size_t n, bool tcp)
{
	size_t messages = 0, first = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t placed = 0;

		if (!w[i].last)
			continue;
		for (size_t k = first; k <= i; k++)
			placed = later(placed, placed_at(w, k, tcp));
		out[messages].placed = placed - w[first].sent;
		out[messages++].delivered = complete_at(w, i, tcp) - w[first].sent;
		first = i + 1;
	}
	return messages;
}

static uint64_t expected_held(const struct way *w, size_t n, bool tcp)
{
	uint64_t most = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t held = 0;

		for (size_t k = 0; k < n; k++)
			if (w[k].arrived <= w[i].arrived && placed_at(w, k, tcp) > w[i].arrived)
				held += w[k].octets;
		most = later(most, held);
	}
	return most;
}

static void put_ways(struct lab_run *run, const struct way *w, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		lab_put_u16(run, w[i].stream);
		lab_put_u8(run, w[i].last);
		lab_put_u32(run, w[i].octets);
		lab_put_u64(run, w[i].sent);
		lab_put_u64(run, w[i].arrived);
	}
}

static bool delays_are(struct lab_run *run, const struct way *w, size_t n, bool tcp,
		       const char *what)
{
	struct delay expected[JOURNEYS_MAX];
	size_t messages = expected_delays(expected, w, n, tcp);
	char text[64];

	lab_case(run, "%zu segments, %s: %s", n, transports[tcp], what);
	lab_call(run, "delays");
	lab_put_u8(run, tcp);
	lab_put_u32(run, (uint32_t)n);
	lab_put_u32(run, (uint32_t)messages);
	put_ways(run, w, n);
	if (!lab_run_call(run) ||
	    !lab_expect_number(run, "the number of messages", messages, lab_get_u32(run)))
		return false;
	for (size_t i = 0; i < messages; i++) {
		snprintf(text, sizeof(text), "message %zu: placed (ns)", i + 1);
		if (!lab_expect_number(run, text, expected[i].placed, lab_get_u64(run)))
			return false;
		snprintf(text, sizeof(text), "message %zu: delivered (ns)", i + 1);
		if (!lab_expect_number(run, text, expected[i].delivered, lab_get_u64(run)))
			return false;
	}
	return lab_results_end(run);
}

/* The example of the README. */
static const struct way example[] = {
	{ 0, false, 1000, 0, 50 },  { 0, true, 1000, 10, 160 }, { 1, true, 500, 20, 70 },
	{ 0, true, 1000, 30, 80 },  { 1, false, 500, 40, 90 },  { 1, true, 500, 50, 110 },
	{ 0, true, 1000, 60, 170 },
};
#define EXAMPLE_LEN (sizeof(example) / sizeof(*example))

/* Segments of random messages over a link. */
static size_t random_ways(struct lab_run *run, struct way *w, size_t n, uint16_t streams)
{
	uint64_t start = lab_below(run, 1ull << 40);

	for (size_t i = 0; i < n; i++) {
		bool begins = i == 0 || w[i - 1].last;

		w[i].stream = begins ? (uint16_t)lab_below(run, streams) : w[i - 1].stream;
		w[i].last = i + 1 == n || lab_below(run, 3) == 0;
		w[i].octets = (uint32_t)(1 + lab_below(run, 1400));
		w[i].sent = start + 12000 * i;
		w[i].arrived = w[i].sent + 5000000 + lab_below(run, 30000);
		while (lab_below(run, 100) < 4)
			w[i].arrived += 10000000;
	}
	return n;
}

static bool step_delays(struct lab_run *run)
{
	static struct way w[JOURNEYS_MAX];

	for (int tcp = 0; tcp < 2; tcp++)
		if (!delays_are(run, example, EXAMPLE_LEN, tcp, "the example of the README") ||
		    !delays_are(run, example, 0, tcp, "no segment"))
			return false;
	for (int i = 0; i < 24; i++) {
		size_t n = random_ways(run, w, 1 + lab_below(run, 60), i % 2 ? 1 : STREAMS);

		if (!delays_are(run, w, n, false, "a link with losses") ||
		    !delays_are(run, w, n, true, "a link with losses"))
			return false;
	}
	return true;
}

static bool held_is(struct lab_run *run, const struct way *w, size_t n, bool tcp, const char *what)
{
	lab_case(run, "%zu segments, %s: %s", n, transports[tcp], what);
	lab_call(run, "held_most");
	lab_put_u8(run, tcp);
	lab_put_u32(run, (uint32_t)n);
	put_ways(run, w, n);
	return lab_run_call(run) &&
	       lab_expect_number(run, "octets held", expected_held(w, n, tcp), lab_get_u64(run)) &&
	       lab_results_end(run);
}

/* The smallest of the values that at least 99% of the values do not exceed. */
static uint64_t percentile(const uint64_t *v, size_t n)
{
	uint64_t best = UINT64_MAX;

	for (size_t i = 0; i < n; i++) {
		size_t within = 0;

		for (size_t k = 0; k < n; k++)
			within += v[k] <= v[i];
		if (within * 100 >= n * 99 && v[i] < best)
			best = v[i];
	}
	return n ? best : 0;
}

static bool summary_is(struct lab_run *run, const uint64_t *v, size_t n)
{
	uint64_t sum = 0;

	lab_case(run, "%zu values, the first one is %llu", n, n ? (unsigned long long)v[0] : 0);
	lab_call(run, "summarize");
	lab_put_u32(run, (uint32_t)n);
	for (size_t i = 0; i < n; i++) {
		sum += v[i];
		lab_put_u64(run, v[i]);
	}
	return lab_run_call(run) &&
	       lab_expect_number(run, "the mean", n ? sum / n : 0, lab_get_u64(run)) &&
	       lab_expect_number(run, "the 99th percentile", percentile(v, n), lab_get_u64(run)) &&
	       lab_results_end(run);
}

static bool step_figures(struct lab_run *run)
{
	static const size_t counts[] = { 0, 1, 2, 3, 99, 100, 101, 199, 200, 201, 400 };
	static struct way w[JOURNEYS_MAX];
	uint64_t values[400], before;

	if (!lab_allocated(run, &before) ||
	    !held_is(run, example, EXAMPLE_LEN, true, "the example of the README") ||
	    !held_is(run, example, EXAMPLE_LEN, false, "the example of the README"))
		return false;
	for (int i = 0; i < 12; i++) {
		size_t n = random_ways(run, w, 1 + lab_below(run, 100), STREAMS);

		if (!held_is(run, w, n, true, "a link with losses") ||
		    !held_is(run, w, n, false, "a link with losses"))
			return false;
	}
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		for (size_t k = 0; k < counts[i]; k++)
			values[k] = lab_below(run, 1ull << (i % 2 ? 50 : 8));
		if (!summary_is(run, values, counts[i]))
			return false;
	}
	lab_case(run, "after the cases of this step");
	return lab_expect_freed(run, before);
}

/* --- trace: both receivers on the same link --------------------------------------------------- */

enum { TRACE_SEGMENTS = 384, TRACE_LEN = 1024, TRACE_MESSAGE = 8, STAG_SCTP = 1, STAG_TCP = 2 };

/* The link of the picture: 2% losses, a round trip of 10 ms, some packets overtake others. */
static const struct link pictured = { .gap = 100000,
				      .one_way = 5000000,
				      .jitter = 120000,
				      .rtt = 10000000,
				      .loss = 20,
				      .losses = 9 };

static void write_event(FILE *file, struct iw_trace_event *ev, uint64_t at)
{
	char line[IW_TRACE_LINE];

	ev->now = at;
	ev->wall = at;
	ev->stream = 1;
	iw_trace_json(line, sizeof(line), ev);
	fprintf(file, "%s\n", line);
}

static void write_placed(FILE *file, uint64_t at, uint32_t stag, uint64_t to, size_t octets)
{
	struct iw_trace_event ev = { .kind = IW_TRACE_placed };

	ev.placed = (struct iw_trace_placed){
		.octets = octets, .stag = stag, .to = to, .tagged = true
	};
	write_event(file, &ev, at);
}

static void write_delivered(FILE *file, uint64_t at, uint32_t stag, uint64_t to, size_t octets)
{
	struct iw_trace_event ev = { .kind = IW_TRACE_delivered };

	ev.delivered = (struct iw_trace_delivered){
		.opcode = "RDMA Write", .octets = octets, .stag = stag, .to = to, .tagged = true
	};
	write_event(file, &ev, at);
}

/* What the simulated sender did with the segment. A late one was lost, and was sent again. */
static void write_sent(FILE *file, const struct packet *p)
{
	struct iw_trace_event segment = { .kind = IW_TRACE_segment_sent };
	struct iw_trace_event chunk = { .kind = IW_TRACE_chunk_sent };
	struct iw_trace_event again = { .kind = IW_TRACE_chunk_retransmitted };
	uint64_t octets = p->len + IW_SCTP_SSN_LEN + IW_DDP_TAGGED_LEN;

	segment.segment_sent = (struct iw_trace_segment_sent){ .opcode = "RDMA Write",
							       .octets = p->len,
							       .stag = STAG_SCTP,
							       .to = p->ddp.to,
							       .last = p->ddp.last,
							       .tagged = true };
	chunk.chunk_sent =
		(struct iw_trace_chunk_sent){ .assoc = 1, .tsn = p->number, .octets = octets };
	again.chunk_retransmitted = (struct iw_trace_chunk_retransmitted){ .assoc = 1,
									   .tsn = p->number,
									   .octets = octets };
	write_event(file, &segment, p->sent);
	write_event(file, &chunk, p->sent);
	if (p->arrived - p->sent > pictured.one_way + pictured.jitter)
		write_event(file, &again, p->arrived - pictured.one_way);
}

static int by_number(const void *a, const void *b)
{
	const struct packet *x = *(const struct packet *const *)a,
			    *y = *(const struct packet *const *)b;

	return (x->number > y->number) - (x->number < y->number);
}

static void write_sender(FILE *file, const struct plan *plan)
{
	const struct packet *order[TRACE_SEGMENTS];

	for (size_t i = 0; i < TRACE_SEGMENTS; i++)
		order[i] = &plan->packets[i];
	qsort(order, TRACE_SEGMENTS, sizeof(*order), by_number);
	for (size_t i = 0; i < TRACE_SEGMENTS; i++)
		write_sent(file, order[i]);
}

struct both {
	struct lab_run *run;
	FILE *file;
	const uint8_t *pool;
	bool tcp;           /* the module has the receiver of step 7 */
	uint64_t delivered; /* octets, over SCTP */
	uint64_t read;      /* octets, over TCP */
};

static const uint8_t *payload_of(const struct both *b, uint64_t to)
{
	return b->pool + to / TRACE_LEN;
}

/* Asks the module whether the octets of the segment are in the buffer. */
static bool is_placed(struct both *b, const struct packet *p)
{
	struct lab_octets seen;

	lab_call(b->run, "memory_part");
	lab_put_u32(b->run, 0);
	lab_put_u32(b->run, (uint32_t)p->ddp.to);
	lab_put_u32(b->run, (uint32_t)p->len);
	if (!lab_run_call(b->run))
		return false;
	seen = lab_get_octets(b->run);
	if (!lab_expect_octets(b->run, "the part of the buffer for this segment", p->payload,
			       p->len, seen.at, seen.len))
		return false;
	write_placed(b->file, p->arrived, STAG_SCTP, p->ddp.to, p->len);
	return lab_results_end(b->run);
}

/* Writes the next delivered message, if it is the right one. */
static bool trace_delivery(struct both *b, uint64_t now)
{
	uint64_t to, len;

	lab_get_u8(b->run);
	lab_get_u32(b->run);
	to = lab_get_u64(b->run);
	lab_get_u32(b->run);
	len = lab_get_u64(b->run);
	if (!lab_expect_number(b->run, "the TO of a delivered message", b->delivered, to) ||
	    !lab_expect_number(b->run, "its length", TRACE_MESSAGE * TRACE_LEN, len))
		return false;
	b->delivered += len;
	write_delivered(b->file, now, STAG_SCTP, to, len);
	return true;
}

static bool trace_sctp(struct both *b, const struct packet *p)
{
	uint8_t chunk[CHUNK_LEN];
	uint32_t n;

	lab_call(b->run, "receiver_arrive");
	lab_put_u8(b->run, 1);
	lab_put_u32(b->run, 1);
	lab_put_octets(b->run, chunk, sctp_chunk_encode(chunk, p));
	if (!lab_run_call(b->run) ||
	    !lab_expect_true(b->run, lab_get_u8(b->run) == 1, "calls.c was changed") ||
	    !lab_expect_true(b->run, lab_get_u8(b->run) == ARRIVAL_PLACED,
			     "receiver_arrive() did not return ARRIVAL_PLACED"))
		return false;
	n = lab_get_u32(b->run);
	while (n--)
		if (!trace_delivery(b, p->arrived))
			return false;
	return is_placed(b, p);
}

/* What can be read after the segment arrived is placed now. */
static bool trace_read(struct both *b, uint64_t now)
{
	uint64_t message = TRACE_MESSAGE * TRACE_LEN;
	struct lab_octets seen;

	lab_call(b->run, "stream_read");
	lab_put_u32(b->run, TRACE_SEGMENTS * TRACE_LEN);
	if (!lab_run_call(b->run) ||
	    !lab_expect_true(b->run, lab_get_u8(b->run) == 1, "it wrote outside of the buffer"))
		return false;
	seen = lab_get_octets(b->run);
	for (size_t at = 0; at < seen.len; at += TRACE_LEN) {
		size_t len = seen.len - at < TRACE_LEN ? seen.len - at : TRACE_LEN;

		if (b->read >= TRACE_SEGMENTS * TRACE_LEN)
			return lab_fail(b->run, "more octets were read than sent");
		if (!lab_expect_octets(b->run, "the octets of a segment", payload_of(b, b->read),
				       TRACE_LEN, seen.at + at, len))
			return false;
		write_placed(b->file, now, STAG_TCP, b->read, TRACE_LEN);
		b->read += TRACE_LEN;
		if (b->read % message == 0)
			write_delivered(b->file, now, STAG_TCP, b->read - message, message);
	}
	return lab_results_end(b->run);
}

static bool trace_tcp(struct both *b, const struct packet *p)
{
	lab_call(b->run, "stream_arrive");
	lab_put_u32(b->run, (uint32_t)p->ddp.to);
	lab_put_octets(b->run, p->payload, p->len);
	return lab_run_call(b->run) && trace_read(b, p->arrived);
}

static bool trace_begin(struct both *b)
{
	lab_call(b->run, "receiver_new");
	lab_put_u32(b->run, TRACE_SEGMENTS);
	if (!sctp_succeeds(b->run, "receiver_new()"))
		return false;
	lab_call(b->run, "receiver_register");
	lab_put_u32(b->run, STAG_SCTP);
	lab_put_u64(b->run, 0);
	lab_put_u32(b->run, TRACE_SEGMENTS * TRACE_LEN);
	if (!sctp_succeeds(b->run, "receiver_register()"))
		return false;
	lab_call(b->run, "stream_new");
	lab_put_u32(b->run, 0);
	lab_put_u64(b->run, TRACE_SEGMENTS * TRACE_LEN);
	if (!lab_run_call(b->run))
		return false;
	b->tcp = lab_get_u8(b->run) == 1;
	return true;
}

/* Messages of equal segments, one after the other in the buffer. */
static void trace_plan(struct lab_run *run, struct plan *plan, const uint8_t *pool)
{
	sctp_plan_init(plan);
	for (uint64_t i = 0; i < TRACE_SEGMENTS; i++) {
		sctp_plan_tagged(plan, run, pool, STAG_SCTP, i * TRACE_LEN, 1, 1);
		plan->packets[i].len = TRACE_LEN;
		plan->packets[i].payload = pool + i;
		plan->packets[i].ddp.last = i % TRACE_MESSAGE == TRACE_MESSAGE - 1;
	}
	sctp_link_carry(&pictured, run, plan);
}

static bool trace(struct lab_run *run, const char *path)
{
	static uint8_t pool[POOL_LEN];
	struct both b = { .run = run, .file = fopen(path, "w"), .pool = pool };
	struct plan plan;
	bool passed;

	if (!b.file)
		return lab_fail(run, "%s: cannot be written", path);
	lab_fill(run, pool, sizeof(pool));
	trace_plan(run, &plan, pool);
	write_sender(b.file, &plan);
	passed = trace_begin(&b);
	for (size_t i = 0; i < plan.n && passed; i++) {
		const struct packet *p = &plan.packets[i];

		lab_case(run, "segment %llu arrives at %.3f ms", (unsigned long long)p->number,
			 (double)p->arrived / 1e6);
		passed = trace_sctp(&b, p) && (!b.tcp || trace_tcp(&b, p));
	}
	sctp_plan_free(&plan);
	if (fclose(b.file) && passed)
		return lab_fail(run, "%s: cannot be written", path);
	return passed;
}

/* --- speed ------------------------------------------------------------------------------------ */

enum {
	SPEED_SEGMENTS = 16384,
	SPEED_LEN = 64,
	SPEED_ROUNDS = 400,
	SPEED_WINDOW = 1024,
	SPEED_RUNS = 3
};

struct work {
	uint8_t *chunks; /* each after its length, 16 bits */
	size_t len;
	uint32_t stag;
	uint32_t messages;
	uint8_t *memory; /* ours */
};

static int speed_random(void *ctx, void *buf, size_t len)
{
	lab_fill(ctx, buf, len);
	return 0;
}

/* The same session with the engine. Returns the messages that were delivered. */
static uint32_t our_session(const struct work *w, struct iw_stag_table *stags)
{
	struct iw_ddp_cfg cfg = { .mem = &iw_os_heap,
				  .stags = stags,
				  .pd = 1,
				  .stream = 1,
				  .dv = 1,
				  .early_max = SPEED_WINDOW - 1 };
	struct iw_ddp_stream *d;
	struct iw_ddp_msg m;
	uint32_t delivered = 0;

	if (iw_ddp_new(&d, &cfg, NULL))
		abort();
	for (size_t at = 0; at < w->len;) {
		size_t len = (size_t)w->chunks[at] << 8 | w->chunks[at + 1];
		const uint8_t *chunk = w->chunks + at + 2;
		uint64_t seq = iw_ddp_next_seq(d);
		struct iw_ddp h;
		uint16_t ssn;

		iw_wire_sctp_segment_decode(&ssn, chunk, len);
		iw_wire_ddp_decode(&h, chunk + IW_SCTP_SSN_LEN, len - IW_SCTP_SSN_LEN);
		seq += (uint16_t)(ssn - 1 - seq);
		if (iw_ddp_place(d, &h, chunk + IW_SCTP_SSN_LEN + IW_DDP_TAGGED_LEN,
				 len - IW_SCTP_SSN_LEN - IW_DDP_TAGGED_LEN, IW_RIGHT_REMOTE_WRITE,
				 0, NULL) ||
		    iw_ddp_arrive(d, seq, &h, len - IW_SCTP_SSN_LEN - IW_DDP_TAGGED_LEN, NULL))
			abort();
		while (iw_ddp_deliver(d, &m, NULL) == 1)
			delivered++;
		at += 2 + len;
	}
	iw_ddp_free(d);
	return delivered;
}

static double our_rate(const struct work *w, struct iw_stag_table *stags)
{
	uint64_t begin = lab_now();
	uint32_t delivered = 0;

	for (int i = 0; i < SPEED_ROUNDS; i++)
		delivered = our_session(w, stags);
	if (delivered != w->messages)
		abort();
	return 1e3 * SPEED_ROUNDS * SPEED_SEGMENTS / (double)(lab_now() - begin);
}

/* Millions of segments in a second; negative after a failure. */
static double student_rate(struct lab_run *run, const struct work *w)
{
	struct lab_octets memory;
	uint64_t begin;

	lab_case(run, "a session of %d segments, %d times", SPEED_SEGMENTS, SPEED_ROUNDS);
	lab_call(run, "session");
	lab_put_u32(run, SPEED_ROUNDS);
	lab_put_u32(run, SPEED_WINDOW);
	lab_put_u32(run, w->stag);
	lab_put_u32(run, SPEED_SEGMENTS * SPEED_LEN);
	lab_put_octets(run, w->chunks, w->len);
	begin = lab_now();
	if (!lab_run_call_within(run, 20000))
		return -1;
	begin = lab_now() - begin;
	if (!lab_expect_number(run, "segments placed", SPEED_SEGMENTS, lab_get_u32(run)) ||
	    !lab_expect_number(run, "messages delivered", w->messages, lab_get_u32(run)))
		return -1;
	memory = lab_get_octets(run);
	if (!lab_expect_octets(run, "the Tagged Buffer", w->memory, SPEED_SEGMENTS * SPEED_LEN,
			       memory.at, memory.len))
		return -1;
	return 1e3 * SPEED_ROUNDS * SPEED_SEGMENTS / (double)begin;
}

static void make_work(struct lab_run *run, struct work *w, struct iw_stag_table *stags)
{
	static const struct link link = {
		.gap = 10, .jitter = 400, .rtt = 3000, .loss = 10, .losses = 1
	};
	static uint8_t pool[POOL_LEN];
	struct iw_region r = { .rights = IW_RIGHT_REMOTE_WRITE,
			       .pd = 1,
			       .stream = 1,
			       .len = SPEED_SEGMENTS * SPEED_LEN,
			       .expires = UINT64_MAX,
			       .uses = UINT32_MAX };
	struct plan plan;

	lab_fill(run, pool, sizeof(pool));
	r.base = w->memory = malloc(r.len);
	w->chunks = malloc(SPEED_SEGMENTS *
			   (size_t)(2 + IW_SCTP_SSN_LEN + IW_DDP_TAGGED_LEN + SPEED_LEN));
	if (!w->memory || !w->chunks || iw_stag_add(stags, &r, &w->stag, NULL))
		abort();
	sctp_plan_init(&plan);
	for (uint64_t i = 0; i < SPEED_SEGMENTS; i++) {
		sctp_plan_tagged(&plan, run, pool, w->stag, i * SPEED_LEN, 1, 1);
		plan.packets[i].len = SPEED_LEN;
		plan.packets[i].payload = pool + lab_below(run, POOL_LEN - SPEED_LEN);
		plan.packets[i].ddp.last = i + 1 == SPEED_SEGMENTS || lab_below(run, 4) == 0;
		w->messages += plan.packets[i].ddp.last;
	}
	sctp_link_carry(&link, run, &plan);
	for (size_t i = 0; i < plan.n; i++) {
		size_t len = sctp_chunk_encode(w->chunks + w->len + 2, &plan.packets[i]);

		w->chunks[w->len] = (uint8_t)(len >> 8);
		w->chunks[w->len + 1] = (uint8_t)len;
		w->len += 2 + len;
	}
	sctp_plan_free(&plan);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int speed(struct lab_run *run, struct lab_speed *results, size_t cap)
{
	double student[SPEED_RUNS], ours[SPEED_RUNS];
	struct work w = { 0 };
	struct iw_stag_table *stags;
	bool passed = cap > 0;

	if (iw_stag_table_new(&stags, &iw_os_heap, speed_random, run))
		abort();
	make_work(run, &w, stags);
	for (int i = 0; i < SPEED_RUNS && passed; i++) {
		ours[i] = our_rate(&w, stags);
		student[i] = student_rate(run, &w);
		passed = student[i] > 0;
	}
	iw_stag_table_free(stags);
	free(w.memory);
	free(w.chunks);
	if (!passed)
		return -1;
	qsort(student, SPEED_RUNS, sizeof(*student), by_value);
	qsort(ours, SPEED_RUNS, sizeof(*ours), by_value);
	results[0] =
		(struct lab_speed){ "segments of 64 octets, out of order, placed and delivered",
				    "million/s", student[SPEED_RUNS / 2], ours[SPEED_RUNS / 2] };
	return 1;
}

/* --- the lab ---------------------------------------------------------------------------------- */

static const struct lab_step steps[] = {
	{ "number", "find the number of a segment from its DDP-SSN", 12, "RFC 5043 10", 0,
	  step_number },
	{ "place", "place each segment when it arrives, in any order", 16, "RFC 5041 5.1, 5.3", 0,
	  step_place },
	{ "deliver", "deliver complete messages in the order of the sender", 16,
	  "RFC 5041 5.3, 5.4", 0, step_deliver },
	{ "duplicate", "drop segments that have arrived before", 8, "RFC 5041 3 (item 11), 5.3", 0,
	  step_duplicate },
	{ "window", "bound the early segments, in a session of any length", 12, "RFC 5043 10", 0,
	  step_window },
	{ "check", "check each segment before it is placed; stop after an error", 12,
	  "RFC 5041 7.1", 0, step_check },
	{ "stream", "receive as TCP does: hold back until the hole is filled", 12, "RFC 9293 3.4",
	  0, step_stream },
	{ "delays", "compute when messages are placed and delivered", 6, "RFC 5041 5.3, 5.4", 0,
	  step_delays },
	{ "figures", "compute octets held, mean and 99th percentile", 6, "RFC 5045 4.1", 0,
	  step_figures },
	{ NULL, NULL, 0, NULL, 0, NULL },
};

const struct lab lab_sctp = {
	.number = 7,
	.folder = "07-sctp",
	.title = "Out-of-order placement over SCTP, beside TCP",
	.steps = steps,
	.trace = trace,
	.speed = speed,
};
