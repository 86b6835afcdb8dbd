/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lab 5: set-up negotiation. The expected frames and parameters are those of lib/mpa, which gets
 * the same configuration and the same octets as the module. lib/mpa has one error for all invalid
 * frames, so expected_of() decides which result of the module each of them has.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labs/05-startup/startup.h"
#include "labs/grader/lab.h"
#include "labs/grader/peer/peer.h"
#include "labs/grader/picture.h"
#include "mpa/mpa.h"
#include "os/os.h"
#include "util/num.h"
#include "wire/ddp.h"
#include "wire/mpa.h"

enum {
	SLOT = 0,
	OTHER_SLOT = 1,
	NOT_WRITTEN = 0xee, /* memory_new() fills with it */
	RTR_ALL = RTR_SEND | RTR_WRITE | RTR_READ,
	RTR_SETS = 8, /* 0 to RTR_ALL */
	KNOWN_FLAGS = FLAG_M | FLAG_C | FLAG_R | FLAG_S,
};

static const char *const results[] = {
	[STARTUP_DONE] = "STARTUP_DONE",
	[STARTUP_REJECTED] = "STARTUP_REJECTED",
	[STARTUP_MORE] = "STARTUP_MORE",
	[STARTUP_BAD_KEY] = "STARTUP_BAD_KEY",
	[STARTUP_BAD_REV] = "STARTUP_BAD_REV",
	[STARTUP_BAD_LENGTH] = "STARTUP_BAD_LENGTH",
	[STARTUP_BAD_FORMAT] = "STARTUP_BAD_FORMAT",
	[STARTUP_LOST] = "STARTUP_LOST",
	[STARTUP_NO_IRD] = "STARTUP_NO_IRD",
	[STARTUP_NO_RTR] = "STARTUP_NO_RTR",
};

static bool expect_result(struct lab_run *run, enum startup_result expected, uint8_t seen)
{
	return lab_expect_name(run, "the result", results, IW_ARRAY_LEN(results), expected, seen);
}

/* --- frames ---------------------------------------------------------------------------------- */

/* Octets of a start-up frame, and sometimes of what follows it. */
struct octets {
	uint8_t at[FRAME_MAX + 128];
	size_t len;
};

static const char *kind_name(enum frame_kind kind)
{
	return kind == FRAME_REPLY ? "Reply" : "Request";
}

/* A frame with the given flags, reserved ones included, with e (may be NULL) before pd. */
static struct octets frame_of(enum frame_kind kind, uint8_t rev, uint8_t flags,
			      const struct iw_mpa_enhanced *e, const uint8_t *pd, size_t pd_len)
{
	struct octets o = { .len = IW_MPA_FRAME_LEN };
	struct iw_mpa_frame f = {
		.kind = kind == FRAME_REPLY ? IW_MPA_REPLY : IW_MPA_REQUEST,
		.flags = (uint8_t)(flags | (e ? IW_MPA_S : 0)),
		.rev = rev,
	};

	if (e)
		o.len += (size_t)iw_wire_mpa_enhanced_encode(o.at + o.len, IW_MPA_ENHANCED_LEN, e);
	if (pd_len)
		memcpy(o.at + o.len, pd, pd_len);
	o.len += pd_len;
	f.pd_len = (uint16_t)(o.len - IW_MPA_FRAME_LEN);
	iw_wire_mpa_frame_encode(o.at, sizeof(o.at), &f); /* without pd: only the first 20 */
	return o;
}

/* What frame_parse() must return, and the frame in *f, with the ignored flags cleared. */
static enum startup_result expected_of(struct iw_mpa_frame *f, enum frame_kind kind,
				       uint8_t max_rev, const uint8_t *src, size_t len)
{
	struct octets head = frame_of(kind, 1, 0, NULL, NULL, 0);

	if (memcmp(src, head.at, IW_MIN(len, (size_t)KEY_LEN)) != 0)
		return STARTUP_BAD_KEY;
	if (len < HEAD_LEN)
		return STARTUP_MORE;
	iw_wire_mpa_frame_decode(f, src, len);
	f->flags &= KNOWN_FLAGS;
	if (kind == FRAME_REQUEST)
		f->flags &= (uint8_t)~FLAG_R;
	if (f->rev < 2)
		f->flags &= (uint8_t)~FLAG_S;
	if (f->rev == 0 || f->rev > max_rev)
		return STARTUP_BAD_REV;
	if (f->pd_len > PD_MAX || (f->flags & FLAG_S && f->pd_len < ENHANCED_LEN))
		return STARTUP_BAD_LENGTH;
	return len < HEAD_LEN + (size_t)f->pd_len ? STARTUP_MORE : STARTUP_DONE;
}

/* --- step build ------------------------------------------------------------------------------ */

static bool build_case(struct lab_run *run, enum frame_kind kind, uint8_t flags, uint8_t rev,
		       size_t pd_len, size_t cap)
{
	uint8_t pd[PD_MAX + 1], expected[FRAME_MAX + 64];
	struct octets frame = { 0 };
	struct lab_octets seen;

	lab_fill(run, pd, sizeof(pd));
	memset(expected, NOT_WRITTEN, sizeof(expected));
	if (pd_len <= PD_MAX && HEAD_LEN + pd_len <= cap) {
		frame = frame_of(kind, rev, flags, NULL, pd, pd_len);
		memcpy(expected, frame.at, frame.len);
	}
	lab_case(run, "%s, flags 0x%02x, Rev %u, Private Data of %zu octets, cap %zu",
		 kind_name(kind), flags, rev, pd_len, cap);
	lab_call(run, "frame_build");
	lab_put_u8(run, kind);
	lab_put_u8(run, flags);
	lab_put_u8(run, rev);
	lab_put_octets(run, pd, pd_len);
	lab_put_u32(run, (uint32_t)cap);
	if (!lab_run_call(run) ||
	    !lab_expect_number(run, "the length returned", frame.len, lab_get_u64(run)) ||
	    !lab_expect_true(run, lab_get_u8(run), "octets before dst were changed"))
		return false;
	seen = lab_get_octets(run);
	return lab_expect_octets(run, "dst (0xee: not written)", expected, cap, seen.at,
				 seen.len) &&
	       lab_results_end(run);
}

static bool step_build(struct lab_run *run)
{
	static const struct {
		enum frame_kind kind;
		uint8_t flags, rev;
		uint16_t pd_len, cap;
	} fixed[] = {
		{ FRAME_REQUEST, 0, 1, 0, HEAD_LEN },
		{ FRAME_REPLY, 0, 1, 0, FRAME_MAX },
		{ FRAME_REQUEST, FLAG_M, 1, 1, FRAME_MAX },
		{ FRAME_REQUEST, FLAG_C, 1, 2, FRAME_MAX },
		{ FRAME_REPLY, FLAG_R, 1, 3, HEAD_LEN + 3 },
		{ FRAME_REQUEST, FLAG_S, 2, 4, FRAME_MAX },
		{ FRAME_REPLY, KNOWN_FLAGS, 2, 300, FRAME_MAX },
		{ FRAME_REQUEST, FLAG_C, 1, PD_MAX, FRAME_MAX },
		{ FRAME_REQUEST, FLAG_C, 1, PD_MAX, FRAME_MAX + 1 },
		/* Too long, or no room. */
		{ FRAME_REQUEST, FLAG_C, 1, PD_MAX + 1, FRAME_MAX + 1 },
		{ FRAME_REQUEST, FLAG_C, 1, PD_MAX, FRAME_MAX - 1 },
		{ FRAME_REPLY, FLAG_C, 1, 0, HEAD_LEN - 1 },
		{ FRAME_REPLY, FLAG_C, 1, 0, 0 },
	};

	for (size_t i = 0; i < IW_ARRAY_LEN(fixed); i++)
		if (!build_case(run, fixed[i].kind, fixed[i].flags, fixed[i].rev, fixed[i].pd_len,
				fixed[i].cap))
			return false;
	for (int i = 0; i < 40; i++) {
		enum frame_kind kind = lab_below(run, 2) ? FRAME_REPLY : FRAME_REQUEST;
		uint8_t flags = (uint8_t)(lab_random(run) & KNOWN_FLAGS);
		uint8_t rev = (uint8_t)(1 + lab_below(run, 2));
		size_t pd_len = lab_below(run, PD_MAX + 2);
		size_t cap = HEAD_LEN + pd_len + lab_below(run, 4) - 1;

		if (!build_case(run, kind, flags, rev, pd_len, cap))
			return false;
	}
	return true;
}

/* --- step parse ------------------------------------------------------------------------------ */

/* The octets that have arrived are the first `len` of o. */
static bool parse_case(struct lab_run *run, enum frame_kind kind, uint8_t max_rev,
		       const struct octets *o, size_t len)
{
	struct iw_mpa_frame f = { 0 };
	enum startup_result expected = expected_of(&f, kind, max_rev, o->at, len);
	struct lab_octets pd;

	lab_call(run, "frame_parse");
	lab_put_u8(run, kind);
	lab_put_u8(run, max_rev);
	lab_put_octets(run, o->at, len);
	if (!lab_run_call(run) || !expect_result(run, expected, lab_get_u8(run)))
		return false;
	if (expected != STARTUP_DONE)
		return lab_results_end(run);
	if (!lab_expect_number(run, "*used", HEAD_LEN + (size_t)f.pd_len, lab_get_u64(run)) ||
	    !lab_expect_number(run, "f->kind", kind, lab_get_u8(run)) ||
	    !lab_expect_number(run, "the set of flags in *f (M 0x80, C 0x40, R 0x20, S 0x10)",
			       f.flags, lab_get_u8(run)) ||
	    !lab_expect_number(run, "f->rev", f.rev, lab_get_u8(run)) ||
	    !lab_expect_true(run, lab_get_u8(run), "f->pd and f->pd_len reach beyond src"))
		return false;
	pd = lab_get_octets(run);
	return lab_expect_octets(run, "the Private Data in *f", o->at + HEAD_LEN, f.pd_len, pd.at,
				 pd.len) &&
	       lab_results_end(run);
}

static bool parse_whole(struct lab_run *run, enum frame_kind kind, uint8_t max_rev,
			const struct octets *o, size_t len)
{
	if (len < HEAD_LEN)
		lab_case(run, "%zu octets, looking for a %s", len, kind_name(kind));
	else
		lab_case(run,
			 "%zu octets, looking for a %s up to Rev %u; flags 0x%02x, Rev %u, "
			 "PD_Length %u",
			 len, kind_name(kind), max_rev, o->at[16], o->at[17],
			 o->at[18] << 8 | o->at[19]);
	return parse_case(run, kind, max_rev, o, len);
}

/* A frame with PD_Length as given, and as many octets, followed by others. */
static struct octets some_frame(struct lab_run *run, enum frame_kind kind, uint8_t rev,
				uint8_t flags, size_t pd_len)
{
	uint8_t pd[PD_MAX + 1];
	struct octets o;

	lab_fill(run, pd, sizeof(pd));
	o = frame_of(kind, rev, flags, NULL, pd, pd_len);
	lab_fill(run, o.at + o.len, sizeof(o.at) - o.len);
	return o;
}

/* One octet of the key is wrong: known as soon as that octet is there. */
static bool wrong_keys(struct lab_run *run, enum frame_kind kind)
{
	lab_clause(run, "RFC 5044 7.1.2 rule 5");
	for (size_t i = 0; i < KEY_LEN; i++) {
		struct octets o = some_frame(run, kind, 1, FLAG_C, 0);

		o.at[i] ^= (uint8_t)(1 << lab_below(run, 8));
		for (size_t len = i; len <= i + 1; len++) {
			lab_case(run, "the first %zu octets; octet %zu of the key of a %s is wrong",
				 len, i, kind_name(kind));
			if (!parse_case(run, kind, 2, &o, len))
				return false;
		}
		if (!parse_whole(run, kind, 2, &o, HEAD_LEN))
			return false;
	}
	lab_clause(run, NULL);
	return true;
}

static bool other_kind(struct lab_run *run)
{
	struct octets request = some_frame(run, FRAME_REQUEST, 1, FLAG_C, 0);
	struct octets reply = some_frame(run, FRAME_REPLY, 1, FLAG_C, 0);

	lab_clause(run, "RFC 5044 7.1.2 rule 8");
	for (size_t len = 9; len <= HEAD_LEN; len++) {
		lab_case(run, "%zu octets of a Request, looking for a Reply", len);
		if (!parse_case(run, FRAME_REPLY, 2, &request, len))
			return false;
		lab_case(run, "%zu octets of a Reply, looking for a Request", len);
		if (!parse_case(run, FRAME_REQUEST, 2, &reply, len))
			return false;
	}
	lab_clause(run, NULL);
	return true;
}

static bool every_prefix(struct lab_run *run, enum frame_kind kind, uint8_t rev, size_t pd_len)
{
	struct octets o = some_frame(run, kind, rev, FLAG_C, pd_len);

	for (size_t len = 0; len <= HEAD_LEN + pd_len + 2; len++)
		if (!parse_whole(run, kind, 2, &o, len))
			return false;
	return true;
}

static bool heads(struct lab_run *run)
{
	static const struct {
		uint8_t rev, max_rev, flags;
		uint16_t pd_len;
		const char *clause;
	} fixed[] = {
		{ 0, 2, FLAG_C, 0, "RFC 5044 7.1.1" },
		{ 1, 1, FLAG_C, 0, "RFC 5044 7.1.1" },
		{ 2, 1, FLAG_C, 0, "RFC 5044 7.1.1" },
		{ 2, 2, FLAG_C, 0, "RFC 6581 6" },
		{ 3, 2, FLAG_C, 0, "RFC 5044 7.1.1" },
		{ 255, 2, FLAG_C, 0, "RFC 5044 7.1.1" },
		{ 1, 2, 0x0f, 3, "RFC 5044 7.1.1: reserved bits are not checked" },
		{ 1, 2, 0xff, 3, "RFC 5044 7.1.1: reserved bits are not checked" },
		{ 1, 1, FLAG_S, 3, "RFC 5044 7.1.1: in Rev 1 this bit is reserved" },
		{ 1, 2, FLAG_S, 6, "RFC 5044 7.1.1: in Rev 1 this bit is reserved" },
		{ 2, 2, FLAG_S | 0x0f, 4, "RFC 6581 6" },
		{ 2, 2, FLAG_S, 3, "RFC 6581 6: Private Data MUST begin with the enhanced data" },
		{ 2, 2, FLAG_S, 0, "RFC 6581 6: Private Data MUST begin with the enhanced data" },
		{ 2, 2, FLAG_R | FLAG_M, 1, "RFC 5044 7.1.1: R is not checked in a Request" },
		{ 1, 2, FLAG_C, PD_MAX, "RFC 5044 7.1.1" },
		{ 1, 2, FLAG_C, PD_MAX + 1, "RFC 5044 7.1.2 rule 9" },
		{ 2, 2, FLAG_S, 0x8000, "RFC 5044 7.1.2 rule 9" },
		{ 1, 2, 0, 0xffff, "RFC 5044 7.1.2 rule 9" },
	};

	for (size_t i = 0; i < 2 * IW_ARRAY_LEN(fixed); i++) {
		enum frame_kind kind = i % 2 ? FRAME_REPLY : FRAME_REQUEST;
		size_t row = i / 2, len;
		struct octets o = some_frame(run, kind, fixed[row].rev, fixed[row].flags,
					     IW_MIN(fixed[row].pd_len, (uint16_t)PD_MAX));

		iw_put_be16(o.at + 18, fixed[row].pd_len);
		lab_clause(run, fixed[row].clause);
		/* With the head alone, with all octets, and with more than that. */
		len = IW_MIN(HEAD_LEN + (size_t)fixed[row].pd_len, sizeof(o.at));
		if (!parse_whole(run, kind, fixed[row].max_rev, &o, HEAD_LEN) ||
		    !parse_whole(run, kind, fixed[row].max_rev, &o, len) ||
		    !parse_whole(run, kind, fixed[row].max_rev, &o, IW_MIN(len + 7, sizeof(o.at))))
			return false;
	}
	lab_clause(run, NULL);
	return true;
}

static bool random_frame(struct lab_run *run)
{
	static const uint16_t lengths[] = { 0, 3, 4, 5, PD_MAX - 1, PD_MAX, PD_MAX + 1, 0x0400 };
	enum frame_kind kind = lab_below(run, 2) ? FRAME_REPLY : FRAME_REQUEST;
	uint16_t pd_len = lab_below(run, 2) ? lengths[lab_below(run, IW_ARRAY_LEN(lengths))]
					    : (uint16_t)lab_below(run, PD_MAX + 1);
	struct octets o = some_frame(run, kind, (uint8_t)lab_below(run, 4),
				     (uint8_t)lab_random(run), IW_MIN(pd_len, (uint16_t)PD_MAX));

	iw_put_be16(o.at + 18, pd_len);
	if (lab_below(run, 8) == 0)
		o.at[lab_below(run, KEY_LEN)] ^= 0x20;
	return parse_whole(run, kind, (uint8_t)(1 + lab_below(run, 2)), &o,
			   lab_below(run, sizeof(o.at) + 1));
}

static bool step_parse(struct lab_run *run)
{
	if (!every_prefix(run, FRAME_REQUEST, 1, 0) || !every_prefix(run, FRAME_REPLY, 1, 7) ||
	    !wrong_keys(run, FRAME_REQUEST) || !wrong_keys(run, FRAME_REPLY) || !other_kind(run) ||
	    !heads(run) || !every_prefix(run, FRAME_REPLY, 2, PD_MAX))
		return false;
	for (int i = 0; i < 100; i++)
		if (!random_frame(run))
			return false;
	return true;
}

/* --- step enhanced --------------------------------------------------------------------------- */

static struct iw_mpa_enhanced enhanced_of(bool peer_to_peer, uint8_t rtr, uint16_t ird,
					  uint16_t ord)
{
	struct iw_mpa_enhanced e = { .peer_to_peer = peer_to_peer, .ird = ird, .ord = ord };

	iw_agree_put_rtr(&e, rtr);
	return e;
}

static bool put_case(struct lab_run *run, bool peer_to_peer, uint8_t rtr, uint16_t ird,
		     uint16_t ord)
{
	struct iw_mpa_enhanced e = enhanced_of(peer_to_peer, peer_to_peer ? rtr : 0, ird, ord);
	uint8_t expected[ENHANCED_LEN];
	struct lab_octets seen;

	iw_wire_mpa_enhanced_encode(expected, sizeof(expected), &e);
	lab_case(run, "peer_to_peer %d, rtr %u (Send 1, Write 2, Read 4), ird 0x%x, ord 0x%x",
		 peer_to_peer, rtr, ird, ord);
	lab_call(run, "enhanced_put");
	lab_put_u8(run, peer_to_peer);
	lab_put_u8(run, rtr);
	lab_put_u16(run, ird);
	lab_put_u16(run, ord);
	if (!lab_run_call(run) ||
	    !lab_expect_true(run, lab_get_u8(run), "octets before dst were changed"))
		return false;
	seen = lab_get_octets(run);
	return lab_expect_octets(run, "dst", expected, sizeof(expected), seen.at, seen.len) &&
	       lab_results_end(run);
}

static bool get_case(struct lab_run *run, uint32_t word)
{
	struct iw_mpa_enhanced e;
	uint8_t src[ENHANCED_LEN];

	iw_put_be32(src, word);
	iw_wire_mpa_enhanced_decode(&e, src, sizeof(src));
	lab_case(run, "the octets %02x %02x %02x %02x", src[0], src[1], src[2], src[3]);
	lab_call(run, "enhanced_get");
	lab_put_octets(run, src, sizeof(src));
	return lab_run_call(run) &&
	       lab_expect_number(run, "e->peer_to_peer", e.peer_to_peer, lab_get_u8(run)) &&
	       lab_expect_number(run, "e->rtr", e.peer_to_peer ? iw_agree_get_rtr(&e) : 0,
				 lab_get_u8(run)) &&
	       lab_expect_number(run, "e->ird", e.ird, lab_get_u16(run)) &&
	       lab_expect_number(run, "e->ord", e.ord, lab_get_u16(run)) && lab_results_end(run);
}

static bool step_enhanced(struct lab_run *run)
{
	static const uint32_t words[] = {
		0x00010001, 0x80000000, 0xc0000000, 0x80008000, 0x80004000, 0xc000c000, 0x3fff0000,
		0x00003fff, 0xffffffff, 0x12342345, 0x7fffffff, 0x40008000, 0x00004000, 0x80000123,
	};

	for (uint8_t rtr = 0; rtr < RTR_SETS; rtr++)
		if (!put_case(run, true, rtr, 1, 2) || !put_case(run, false, rtr, 0x1234, 0x2345))
			return false;
	if (!put_case(run, false, 0, 0x3fff, 0) || !put_case(run, true, RTR_READ, 0, 0x3fff) ||
	    !put_case(run, false, 0, 0x4001, 0x8002) || !put_case(run, true, 0, 0xffff, 0xffff))
		return false;
	for (size_t i = 0; i < IW_ARRAY_LEN(words); i++)
		if (!get_case(run, words[i]))
			return false;
	for (int i = 0; i < 50; i++) {
		uint64_t v = lab_random(run);

		if (!put_case(run, v & 1, v >> 1 & RTR_ALL, v >> 8 & 0x3fff, v >> 32 & 0x3fff) ||
		    !get_case(run, (uint32_t)lab_random(run)))
			return false;
	}
	return true;
}

/* --- ends: the module's and the engine's ----------------------------------------------------- */

/* The configuration of both. */
struct end {
	bool initiator;
	uint8_t rev;
	bool markers, crc, peer_to_peer;
	uint8_t rtr;
	uint16_t ird, ord, ird_max;
	uint8_t pd[PD_MAX + 1];
	size_t pd_len;
};

static struct end plain_end(bool initiator, uint8_t rev)
{
	return (struct end){
		.initiator = initiator,
		.rev = rev,
		.crc = true,
		.rtr = RTR_ALL,
		.ird = 16,
		.ord = 16,
		.ird_max = 16,
	};
}

/* For texts: one configuration at a time is described. */
static const char *text_of(const struct end *end)
{
	static char text[160];
	size_t len = (size_t)snprintf(text, sizeof(text),
				      "%s of Rev %u%s%s, Private Data of %zu octets",
				      end->initiator ? "initiator" : "responder", end->rev,
				      end->markers ? ", wants markers" : "",
				      end->crc ? ", wants CRC" : "", end->pd_len);

	if (end->initiator && end->rev >= 2)
		snprintf(text + len, sizeof(text) - len, ", IRD %u (at most %u), ORD %u%s",
			 end->ird, end->ird_max, end->ord,
			 end->peer_to_peer ? ", peer-to-peer" : "");
	return text;
}

struct engine {
	struct iw_pool pool;
	struct iw_mpa *m;
	struct iw_fault why;
};

/* The configurations are the grader's own, so an error here is a bug of the grader. */
static void must(bool is, const struct engine *e)
{
	if (is)
		return;
	fprintf(stderr, "iwarp-lab: lib/mpa: %s\n", e->why.text);
	abort();
}

static void engine_open(struct engine *e, const struct end *end)
{
	struct iw_mpa_cfg cfg = {
		.spill = &e->pool,
		.initiator = end->initiator,
		.rev = end->rev,
		.crc = end->crc ? IW_CRC_WANTED : IW_CRC_OFF,
		.markers = end->markers,
		.offer = {
			.peer_to_peer = end->peer_to_peer,
			.rtr = end->rtr,
			.ird = end->ird,
			.ord = end->ord,
			.ird_max = end->ird_max,
			.pd = end->pd,
			.pd_len = end->pd_len,
		},
	};

	memset(e, 0, sizeof(*e));
	iw_pool_init(&e->pool, &iw_os_heap, IW_MPA_SPILL_LEN, 0, 0);
	e->m = calloc(1, iw_mpa_size());
	must(e->m && iw_mpa_init(e->m, &cfg, &e->why) == 0, e);
	iw_mpa_start(e->m, 0);
}

static void engine_close(struct engine *e)
{
	iw_mpa_fini(e->m);
	free(e->m);
	iw_pool_fini(&e->pool);
}

/* The start-up frame of the engine, which is then sent. */
static struct octets engine_output(struct engine *e)
{
	struct iw_vec v = iw_mpa_tx_startup(e->m);
	struct octets o = { .len = v.len };

	if (v.len)
		memcpy(o.at, v.base, v.len);
	iw_mpa_tx_startup_sent(e->m, v.len);
	return o;
}

static enum startup_result result_of(int ret, enum iw_mpa_unit_kind kind)
{
	if (ret == 0)
		return STARTUP_MORE;
	if (ret == IW_E_MPA_IRD)
		return STARTUP_NO_IRD;
	if (ret == IW_E_MPA_RTR)
		return STARTUP_NO_RTR;
	if (ret < 0)
		return STARTUP_BAD_FORMAT; /* callers pass frames that have no other fault */
	return kind == IW_MPA_UNIT_REJECT ? STARTUP_REJECTED : STARTUP_DONE;
}

static enum startup_result engine_receive(struct engine *e, const uint8_t *src, size_t len)
{
	uint8_t scratch[1] = { 0 };
	struct iw_mpa_unit unit = { 0 };
	int ret = 0;

	while (len && ret == 0) {
		struct iw_vec vec[2];
		size_t n;

		if (iw_mpa_rx_vec(e->m, (struct iw_vec){ scratch, sizeof(scratch) }, vec) <= 0)
			break;
		n = IW_MIN(len, vec[0].len);
		memcpy(vec[0].base, src, n);
		iw_mpa_received(e->m, n);
		ret = iw_mpa_next(e->m, &unit, &e->why);
		iw_mpa_rx_end(e->m);
		src += n;
		len -= n;
	}
	return result_of(ret, unit.kind);
}

/* --- calls about an end ---------------------------------------------------------------------- */

static bool new_end(struct lab_run *run, uint8_t slot, const struct end *end, bool created)
{
	lab_call(run, "startup_new");
	lab_put_u8(run, slot);
	lab_put_u8(run, end->initiator);
	lab_put_u8(run, end->rev);
	lab_put_u8(run, end->markers);
	lab_put_u8(run, end->crc);
	lab_put_u8(run, end->rtr);
	lab_put_u8(run, end->peer_to_peer);
	lab_put_u16(run, end->ird);
	lab_put_u16(run, end->ord);
	lab_put_u16(run, end->ird_max);
	lab_put_octets(run, end->pd, end->pd_len);
	if (!lab_run_call(run) ||
	    !lab_expect_true(
		    run, lab_get_u8(run) == created,
		    created ? "it returned NULL"
			    : "it did not return NULL, although the Private Data is too long"))
		return false;
	return lab_results_end(run);
}

static bool free_end(struct lab_run *run, uint8_t slot)
{
	lab_call(run, "startup_free");
	lab_put_u8(run, slot);
	return lab_run_call(run) && lab_get_u8(run) == 1 && lab_results_end(run);
}

static void call_end(struct lab_run *run, const char *function, uint8_t slot)
{
	lab_call(run, function);
	lab_put_u8(run, slot);
}

static bool run_end(struct lab_run *run)
{
	return lab_run_call(run) &&
	       lab_expect_true(run, lab_get_u8(run), "startup_new() has returned NULL before");
}

/* One call of startup_output(). *seen is valid until the next call. */
static bool output(struct lab_run *run, uint8_t slot, size_t cap, struct lab_octets *seen)
{
	uint64_t len;

	call_end(run, "startup_output", slot);
	lab_put_u32(run, (uint32_t)cap);
	if (!run_end(run))
		return false;
	len = lab_get_u64(run);
	if (!lab_expect_true(run, len <= cap, "it returned %llu, above cap (%zu)",
			     (unsigned long long)len, cap) ||
	    !lab_expect_true(run, lab_get_u8(run), "octets before dst were changed"))
		return false;
	*seen = lab_get_octets(run);
	for (size_t i = len; i < seen->len; i++)
		if (!lab_expect_true(run, seen->at[i] == NOT_WRITTEN,
				     "octet %zu of dst was changed, but %llu octets were returned",
				     i, (unsigned long long)len))
			return false;
	seen->len = IW_MIN(seen->len, (size_t)len);
	return lab_results_end(run);
}

/* The whole frame, in calls with room for at most `most` octets; 0: different numbers. */
static bool expect_output(struct lab_run *run, uint8_t slot, const char *what,
			  const struct octets *expected, size_t most)
{
	struct octets all = { 0 };
	struct lab_octets seen;
	size_t cap, due;

	while (all.len < expected->len) {
		cap = most ? most : 1 + lab_below(run, 40);
		due = IW_MIN(cap, expected->len - all.len);
		if (!output(run, slot, cap, &seen))
			return false;
		if (seen.len > expected->len - all.len)
			return lab_fail(run,
					"after %zu octets it returned %zu more, but %s has %zu",
					all.len, seen.len, what, expected->len);
		memcpy(all.at + all.len, seen.at, seen.len);
		all.len += seen.len;
		if (seen.len < due)
			break;
	}
	if (!lab_expect_octets(run, what, expected->at, expected->len, all.at, all.len) ||
	    !output(run, slot, FRAME_MAX, &seen))
		return false;
	return lab_expect_number(run, "the number returned by one more call", 0, seen.len);
}

static bool expect_receive(struct lab_run *run, uint8_t slot, const uint8_t *octets, size_t len,
			   enum startup_result expected, size_t taken)
{
	call_end(run, "startup_receive", slot);
	lab_put_octets(run, octets, len);
	if (!run_end(run) || !expect_result(run, expected, lab_get_u8(run)))
		return false;
	/* *taken of the call that finds an error does not matter. */
	if (expected >= STARTUP_BAD_KEY && taken)
		lab_get_u64(run);
	else if (!lab_expect_number(run, "*taken", taken, lab_get_u64(run)))
		return false;
	return lab_results_end(run);
}

static bool receive_frame(struct lab_run *run, uint8_t slot, const struct octets *frame,
			  enum startup_result expected)
{
	return expect_receive(run, slot, frame->at, frame->len, expected, frame->len);
}

static bool answer(struct lab_run *run, uint8_t slot, bool accept, uint16_t ird, uint16_t ord,
		   const uint8_t *pd, size_t pd_len, bool expected)
{
	bool seen;

	call_end(run, "startup_answer", slot);
	lab_put_u8(run, accept);
	lab_put_u16(run, ird);
	lab_put_u16(run, ord);
	lab_put_octets(run, pd, pd_len);
	if (!run_end(run))
		return false;
	seen = lab_get_u8(run);
	return lab_expect_true(run, seen == expected, "it returned %s; expected %s",
			       seen ? "true" : "false", expected ? "true" : "false") &&
	       lab_results_end(run);
}

enum { COMMON = 1, MODEL = 2, DEPTHS = 4 };

/* Compares parts of struct agreed with the engine's. */
static bool expect_agreed(struct lab_run *run, uint8_t slot, const struct iw_agreed *a,
			  unsigned int parts)
{
	const char *const names[] = { "agreed.rev",        "agreed.enhanced",
				      "agreed.crc",        "agreed.tx_markers",
				      "agreed.rx_markers", "agreed.peer_to_peer",
				      "agreed.rtr" };
	const uint8_t expected[] = { a->rev,        a->enhanced,     a->crc, a->tx_markers,
				     a->rx_markers, a->peer_to_peer, a->rtr };
	enum { MODEL_AT = 5 };
	uint16_t ird, ord;
	struct lab_octets pd;

	call_end(run, "startup_agreed", slot);
	if (!run_end(run))
		return false;
	for (size_t i = 0; i < IW_ARRAY_LEN(expected); i++) {
		uint8_t seen = lab_get_u8(run);

		if (parts & (i < MODEL_AT ? COMMON : MODEL) &&
		    !lab_expect_number(run, names[i], expected[i], seen))
			return false;
	}
	if (!lab_expect_number(run, "agreed.peer_ird", a->peer_ird, lab_get_u16(run)) ||
	    !lab_expect_number(run, "agreed.peer_ord", a->peer_ord, lab_get_u16(run)))
		return false;
	ird = lab_get_u16(run);
	ord = lab_get_u16(run);
	if (parts & DEPTHS && (!lab_expect_number(run, "agreed.ird", a->ird, ird) ||
			       !lab_expect_number(run, "agreed.ord", a->ord, ord)))
		return false;
	pd = lab_get_octets(run);
	return lab_expect_octets(run, "the peer's Private Data (agreed.pd)", a->pd, a->pd_len,
				 pd.at, pd.len) &&
	       lab_results_end(run);
}

struct state {
	uint8_t rtr;
	bool may_send, retry;
};

static bool get_state(struct lab_run *run, uint8_t slot, struct state *s)
{
	call_end(run, "state", slot);
	if (!run_end(run))
		return false;
	s->rtr = lab_get_u8(run);
	s->may_send = lab_get_u8(run);
	s->retry = lab_get_u8(run);
	return lab_results_end(run);
}

/* --- step stream ----------------------------------------------------------------------------- */

/* A configuration that the engine and the module accept. */
static struct end random_initiator(struct lab_run *run, uint8_t rev)
{
	struct end end = plain_end(true, rev);

	end.markers = lab_below(run, 2);
	end.crc = lab_below(run, 2);
	end.ird = (uint16_t)lab_below(run, 200);
	end.ord = (uint16_t)lab_below(run, 200);
	end.ird_max = (uint16_t)lab_below(run, 200);
	end.rtr = (uint8_t)(1 + lab_below(run, RTR_ALL));
	end.peer_to_peer = rev >= 2 && lab_below(run, 2);
	end.pd_len = lab_below(run, 3) ? lab_below(run, 60)
				       : lab_below(run, PD_MAX - ENHANCED_LEN + 1);
	lab_fill(run, end.pd, sizeof(end.pd));
	return end;
}

static bool request_case(struct lab_run *run, const struct end *end, size_t most)
{
	struct octets expected;
	struct engine e;

	engine_open(&e, end);
	expected = engine_output(&e);
	engine_close(&e);
	lab_case(run, "%s", text_of(end));
	return new_end(run, SLOT, end, true) &&
	       expect_output(run, SLOT, "the Request", &expected, most);
}

static bool requests(struct lab_run *run)
{
	static const size_t mosts[] = { FRAME_MAX, 1, 0 };
	struct end end = plain_end(true, 1);

	for (size_t i = 0; i < IW_ARRAY_LEN(mosts); i++) {
		end = plain_end(true, 1);
		if (!request_case(run, &end, mosts[i]))
			return false;
		end = plain_end(true, 2);
		end.pd_len = 5;
		if (!request_case(run, &end, mosts[i]))
			return false;
	}
	lab_clause(run,
		   "RFC 6581 10: enhanced formats only where enhanced functionality is desired");
	end.ird = end.ord = NOT_NEGOTIATED;
	if (!request_case(run, &end, FRAME_MAX))
		return false;
	end.ord = 0;
	if (!request_case(run, &end, FRAME_MAX))
		return false;
	end.ord = NOT_NEGOTIATED;
	end.peer_to_peer = true;
	if (!request_case(run, &end, FRAME_MAX))
		return false;
	lab_clause(run, NULL);
	for (int i = 0; i < 30; i++) {
		end = random_initiator(run, (uint8_t)(1 + i % 2));
		if (!request_case(run, &end, 0))
			return false;
	}
	return true;
}

/* The longest Private Data, and one octet more. */
static bool too_long(struct lab_run *run)
{
	struct end end = plain_end(true, 1);

	lab_clause(run, "RFC 5044 7.1.1: Private Data of 0 to 512 octets");
	end.pd_len = PD_MAX;
	if (!request_case(run, &end, FRAME_MAX))
		return false;
	end.pd_len = PD_MAX + 1;
	lab_case(run, "%s", text_of(&end));
	if (!new_end(run, SLOT, &end, false))
		return false;
	lab_clause(run, "RFC 6581 9: 4 octets less for the ULP");
	end = plain_end(true, 2);
	end.pd_len = PD_MAX - ENHANCED_LEN;
	if (!request_case(run, &end, FRAME_MAX))
		return false;
	end.pd_len++;
	lab_case(run, "%s", text_of(&end));
	if (!new_end(run, SLOT, &end, false))
		return false;
	lab_clause(run, NULL);
	return true;
}

/*
 * Passes the octets of o, of which the first frame_len are a valid frame, in pieces of at most
 * `most` octets; 0: of different lengths.
 */
static bool receive_split(struct lab_run *run, const struct octets *o, size_t frame_len,
			  size_t most)
{
	for (size_t at = 0; at < frame_len;) {
		size_t piece = IW_MIN(most ? most : 1 + lab_below(run, 30), o->len - at);
		bool last = at + piece >= frame_len;

		lab_case(run, "octets %zu to %zu of a stream; the frame has %zu octets", at,
			 at + piece - 1, frame_len);
		if (!expect_receive(run, SLOT, o->at + at, piece,
				    last ? STARTUP_DONE : STARTUP_MORE,
				    last ? frame_len - at : piece))
			return false;
		at += piece;
	}
	lab_case(run, "3 more octets after the frame");
	return expect_receive(run, SLOT, o->at + frame_len, 3, STARTUP_DONE, 0);
}

static bool splits(struct lab_run *run, bool initiator)
{
	static const size_t pd_lens[] = { 0, 1, 33, PD_MAX };
	static const size_t mosts[] = { SIZE_MAX, 1, 19, 20, 21, 0, 0 };
	struct end end = plain_end(initiator, 1);
	struct octets o;

	for (size_t i = 0; i < IW_ARRAY_LEN(pd_lens) * IW_ARRAY_LEN(mosts); i++) {
		size_t pd_len = pd_lens[i / IW_ARRAY_LEN(mosts)];

		o = some_frame(run, initiator ? FRAME_REPLY : FRAME_REQUEST, 1, FLAG_C, pd_len);
		o.len = HEAD_LEN + pd_len + 10;
		lab_case(run, "%s", text_of(&end));
		if (!new_end(run, SLOT, &end, true) ||
		    !receive_split(run, &o, HEAD_LEN + pd_len, mosts[i % IW_ARRAY_LEN(mosts)]))
			return false;
	}
	return true;
}

/* A frame with a fault, octet by octet, then more octets. */
static bool invalid_stream(struct lab_run *run, bool initiator, size_t octet, uint8_t v)
{
	enum frame_kind kind = initiator ? FRAME_REPLY : FRAME_REQUEST;
	struct end end = plain_end(initiator, 1);
	struct octets o = some_frame(run, kind, 1, FLAG_C, 4);
	struct iw_mpa_frame f;
	enum startup_result result = STARTUP_MORE;

	o.at[octet] = v;
	lab_case(run, "%s", text_of(&end));
	if (!new_end(run, SLOT, &end, true))
		return false;
	for (size_t i = 0; result == STARTUP_MORE; i++) {
		lab_case(run, "octet %zu of a stream in which octet %zu is 0x%02x", i, octet, v);
		result = expected_of(&f, kind, initiator ? 2 : 1, o.at, i + 1);
		if (!expect_receive(run, SLOT, o.at + i, 1, result, 1))
			return false;
	}
	lab_case(run, "24 octets of a valid %s after %s", kind_name(kind), results[result]);
	o = some_frame(run, kind, 1, FLAG_C, 4);
	return expect_receive(run, SLOT, o.at, HEAD_LEN + 4, result, 0);
}

static bool invalid_streams(struct lab_run *run)
{
	for (int initiator = 0; initiator < 2; initiator++)
		if (!invalid_stream(run, initiator, 0, 'G') ||
		    !invalid_stream(run, initiator, 15, 'f') ||
		    !invalid_stream(run, initiator, 9, initiator ? 'q' : 'p') ||
		    !invalid_stream(run, initiator, 17, 0) ||
		    !invalid_stream(run, initiator, 17, 3) ||
		    !invalid_stream(run, initiator, 18, 2))
			return false;
	return true;
}

static bool step_stream(struct lab_run *run)
{
	uint64_t before;

	if (!lab_allocated(run, &before) || !requests(run) || !splits(run, false) ||
	    !splits(run, true) || !invalid_streams(run) || !too_long(run))
		return false;
	lab_case(run, "all ends of this step are freed, or were not created");
	return free_end(run, SLOT) && lab_expect_freed(run, before);
}

/* --- step answer ----------------------------------------------------------------------------- */

/* A responder: the Request, the answer, and what both sides of the comparison have then. */
struct exchange {
	struct end end;
	struct octets request;
	bool accept;
	uint16_t ird, ord;
	uint8_t pd[PD_MAX + 1];
	size_t pd_len;
};

static bool responder_case(struct lab_run *run, const struct exchange *x, unsigned int parts)
{
	struct engine e;
	struct octets reply;
	bool ok;
	int ret;

	engine_open(&e, &x->end);
	must(engine_receive(&e, x->request.at, x->request.len) == STARTUP_DONE, &e);
	ok = new_end(run, SLOT, &x->end, true) &&
	     receive_frame(run, SLOT, &x->request, STARTUP_DONE) &&
	     expect_agreed(run, SLOT, iw_mpa_agreed(e.m), parts & (COMMON | MODEL));
	if (x->accept)
		ret = iw_mpa_accept(e.m, x->ird, x->ord, x->pd, x->pd_len, &e.why);
	else
		ret = iw_mpa_reject(e.m, x->pd, x->pd_len, &e.why);
	must(ret == 0, &e);
	reply = engine_output(&e);
	ok = ok && answer(run, SLOT, x->accept, x->ird, x->ord, x->pd, x->pd_len, true) &&
	     expect_output(run, SLOT, "the Reply", &reply, lab_below(run, 2) ? FRAME_MAX : 0) &&
	     (!x->accept || expect_agreed(run, SLOT, iw_mpa_agreed(e.m), parts));
	engine_close(&e);
	return ok;
}

/* bits: M and C of both ends, accept. */
static bool plain_responder(struct lab_run *run, uint8_t rev, uint8_t request_rev,
			    unsigned int bits)
{
	struct exchange x = { .end = plain_end(false, rev), .ird = 4, .ord = 5 };
	/* S would be enhanced data in Rev 2; the reserved bits and R are ignored. */
	uint8_t flags = (uint8_t)(lab_random(run) & (request_rev < 2 ? 0x3f : 0x2f));
	uint8_t pd[PD_MAX];
	size_t pd_len = lab_below(run, 2) ? 0 : lab_below(run, 100);

	flags |= (bits & 1 ? FLAG_M : 0) | (bits & 2 ? FLAG_C : 0);
	x.end.markers = bits & 4;
	x.end.crc = bits & 8;
	x.accept = bits & 16;
	/* The engine takes those of the configuration for a rejection. */
	x.end.ird = x.ird;
	x.end.ord = x.ord;
	x.pd_len = lab_below(run, 2) ? 0 : lab_below(run, 100);
	lab_fill(run, x.pd, sizeof(x.pd));
	lab_fill(run, pd, sizeof(pd));
	x.request = frame_of(FRAME_REQUEST, request_rev, flags, NULL, pd, pd_len);
	lab_case(run,
		 "%s; Request of Rev %u, flags 0x%02x, not enhanced, Private Data of %zu; it %s",
		 text_of(&x.end), request_rev, flags, pd_len, x.accept ? "accepts" : "rejects");
	return responder_case(run, &x, COMMON | MODEL | DEPTHS);
}

static bool initiator_case(struct lab_run *run, const struct end *end, const struct octets *reply,
			   unsigned int parts, enum startup_result *result)
{
	struct engine e;
	bool ok;

	engine_open(&e, end);
	engine_output(&e);
	*result = engine_receive(&e, reply->at, reply->len);
	ok = new_end(run, SLOT, end, true) && receive_frame(run, SLOT, reply, *result);
	if (ok && *result == STARTUP_DONE)
		ok = expect_agreed(run, SLOT, iw_mpa_agreed(e.m), parts);
	else if (ok && *result == STARTUP_REJECTED)
		ok = expect_agreed(run, SLOT, iw_mpa_agreed(e.m), parts & (COMMON | DEPTHS));
	engine_close(&e);
	return ok;
}

static bool plain_initiator(struct lab_run *run, uint8_t rev, uint8_t reply_rev, unsigned int bits)
{
	struct end end = plain_end(true, rev);
	uint8_t flags = (uint8_t)(lab_random(run) & 0x0f);
	uint8_t pd[PD_MAX];
	size_t pd_len = lab_below(run, 2) ? 0 : lab_below(run, 100);
	enum startup_result result;
	struct octets reply;

	flags |= (bits & 1 ? FLAG_M : 0) | (bits & 2 ? FLAG_C : 0) | (bits & 16 ? FLAG_R : 0);
	end.markers = bits & 4;
	end.crc = bits & 8;
	if (rev >= 2) /* not enhanced then */
		end.ird = end.ord = NOT_NEGOTIATED;
	lab_fill(run, pd, sizeof(pd));
	reply = frame_of(FRAME_REPLY, reply_rev, flags, NULL, pd, pd_len);
	lab_case(run,
		 "%s; Reply of Rev %u with flags 0x%02x, not enhanced, Private Data of %zu octets",
		 text_of(&end), reply_rev, flags, pd_len);
	return initiator_case(run, &end, &reply, COMMON | MODEL | DEPTHS, &result);
}

/* Calls of startup_answer() that must fail and change nothing. */
static bool refused_answers(struct lab_run *run)
{
	struct end end = plain_end(false, 1), initiator = plain_end(true, 1);
	struct octets request = frame_of(FRAME_REQUEST, 1, FLAG_C, NULL, NULL, 0);
	struct octets wrong = request, reply = frame_of(FRAME_REPLY, 1, FLAG_C, NULL, NULL, 0);
	uint8_t pd[PD_MAX + 1];
	struct octets longest;

	lab_fill(run, pd, sizeof(pd));
	longest = frame_of(FRAME_REPLY, 1, FLAG_C, NULL, pd, PD_MAX);
	lab_case(run, "responder of Rev 1, before the Request is complete");
	if (!new_end(run, SLOT, &end, true) ||
	    !expect_receive(run, SLOT, request.at, 19, STARTUP_MORE, 19) ||
	    !answer(run, SLOT, true, 1, 1, NULL, 0, false))
		return false;
	lab_case(run, "responder of Rev 1, Private Data of 513 octets");
	if (!expect_receive(run, SLOT, request.at + 19, 1, STARTUP_DONE, 1) ||
	    !answer(run, SLOT, true, 1, 1, pd, PD_MAX + 1, false))
		return false;
	lab_case(run, "responder of Rev 1, Private Data of 512 octets after an attempt with 513");
	if (!answer(run, SLOT, true, 1, 1, pd, PD_MAX, true))
		return false;
	lab_case(run, "responder of Rev 1, which has answered already");
	if (!answer(run, SLOT, false, 1, 1, NULL, 0, false) ||
	    !expect_output(run, SLOT, "the Reply", &longest, FRAME_MAX) ||
	    !answer(run, SLOT, true, 1, 1, NULL, 0, false))
		return false;
	lab_case(run, "responder of Rev 1, after a Request of Rev 3");
	wrong.at[17] = 3;
	if (!new_end(run, SLOT, &end, true) || !receive_frame(run, SLOT, &wrong, STARTUP_BAD_REV) ||
	    !answer(run, SLOT, false, 1, 1, NULL, 0, false))
		return false;
	lab_case(run, "initiator of Rev 1, after the Reply");
	return new_end(run, SLOT, &initiator, true) &&
	       receive_frame(run, SLOT, &reply, STARTUP_DONE) &&
	       answer(run, SLOT, true, 1, 1, NULL, 0, false);
}

static bool step_answer(struct lab_run *run)
{
	/* M and C of both ends, and the decision. */
	for (unsigned int bits = 0; bits < 32; bits++)
		if (!plain_responder(run, 1, 1, bits) || !plain_responder(run, 2, 1, bits) ||
		    !plain_responder(run, 2, 2, bits))
			return false;
	for (unsigned int bits = 0; bits < 32; bits++)
		if (!plain_initiator(run, 1, 1, bits) || !plain_initiator(run, 1, 2, bits) ||
		    !plain_initiator(run, 2, 1, bits) || !plain_initiator(run, 2, 2, bits))
			return false;
	return refused_answers(run);
}

/* --- step depths ----------------------------------------------------------------------------- */

/* The depths of a Request, and of the answer to it. */
struct depths {
	uint16_t peer_ird, peer_ord, ird, ord;
};

static bool responder_depths(struct lab_run *run, const struct depths *d, bool accept)
{
	struct exchange x = {
		.end = plain_end(false, 2), .accept = accept, .ird = d->ird, .ord = d->ord
	};
	struct iw_mpa_enhanced e = enhanced_of(false, 0, d->peer_ird, d->peer_ord);
	uint8_t pd[PD_MAX];
	size_t pd_len = lab_below(run, 2) ? 0 : lab_below(run, PD_MAX - ENHANCED_LEN + 1);

	x.end.ird = x.ird;
	x.end.ord = x.ord;
	x.pd_len = lab_below(run, 2) ? 0 : lab_below(run, PD_MAX - ENHANCED_LEN + 1);
	lab_fill(run, x.pd, sizeof(x.pd));
	lab_fill(run, pd, sizeof(pd));
	x.request = frame_of(FRAME_REQUEST, 2, FLAG_C, &e, pd, pd_len);
	lab_case(run,
		 "Request: IRD %u, ORD %u, Private Data of %zu; responder: %s with IRD %u, ORD %u",
		 d->peer_ird, d->peer_ord, pd_len, accept ? "accepts" : "rejects", d->ird, d->ord);
	return responder_case(run, &x, COMMON | DEPTHS);
}

static bool initiator_depths(struct lab_run *run, const struct depths *d, uint16_t ird_max,
			     bool reject)
{
	struct end end = plain_end(true, 2);
	struct iw_mpa_enhanced e = enhanced_of(false, 0, d->peer_ird, d->peer_ord);
	uint8_t pd[PD_MAX];
	size_t pd_len = lab_below(run, 2) ? 0 : lab_below(run, PD_MAX - ENHANCED_LEN + 1);
	enum startup_result result;
	struct octets reply;

	end.ird = d->ird;
	end.ord = d->ord;
	end.ird_max = ird_max;
	lab_fill(run, pd, sizeof(pd));
	reply = frame_of(FRAME_REPLY, 2, FLAG_C | (reject ? FLAG_R : 0), &e, pd, pd_len);
	lab_case(run, "%s; %s Reply with IRD %u, ORD %u, Private Data of %zu octets", text_of(&end),
		 reject ? "rejecting" : "accepting", d->peer_ird, d->peer_ord, pd_len);
	return initiator_case(run, &end, &reply, COMMON | DEPTHS, &result);
}

/* Often one of the edges. all: also NOT_NEGOTIATED. */
static uint16_t random_depth(struct lab_run *run, bool all)
{
	static const uint16_t edges[] = { 0, 1, 0x3ffe, NOT_NEGOTIATED };

	if (lab_below(run, 2))
		return edges[lab_below(run, all ? 4 : 3)];
	return (uint16_t)lab_below(run, lab_below(run, 2) ? 16 : 0x3fff);
}

static bool responders_depths(struct lab_run *run)
{
	static const struct depths fixed[] = {
		{ 1, 1, 1, 1 },
		{ 4, 200, 16, 128 }, /* ORD at most 4 */
		{ 200, 4, 128, 16 },
		{ 0, 0, 16, 16 },
		{ 7, 9, 0, 0 },
		{ 0x100, 0x200, 0x300, 0x101 }, /* 9 bits, and octets that differ */
		{ 0x3ffe, 0x3ffe, 0x3ffe, 0x3ffe },
		{ NOT_NEGOTIATED, 5, 7, 9 }, /* ORD stays 9, the Reply has 0x3fff */
		{ 5, NOT_NEGOTIATED, 7, 9 }, /* IRD stays 7, the Reply has 0x3fff */
		{ NOT_NEGOTIATED, NOT_NEGOTIATED, 7, 9 },
	};

	for (size_t i = 0; i < IW_ARRAY_LEN(fixed); i++)
		if (!responder_depths(run, &fixed[i], true) ||
		    !responder_depths(run, &fixed[i], false))
			return false;
	for (int i = 0; i < 40; i++) {
		struct depths d = { random_depth(run, true), random_depth(run, true),
				    random_depth(run, false), random_depth(run, false) };

		if (!responder_depths(run, &d, i % 4))
			return false;
	}
	return true;
}

static bool initiators_depths(struct lab_run *run)
{
	static const struct {
		struct depths d;
		uint16_t ird_max;
	} fixed[] = {
		{ { 1, 1, 1, 1 }, 1 },
		{ { 8, 16, 16, 128 }, 16 },  /* ORD at most 8 */
		{ { 200, 4, 16, 128 }, 16 }, /* ORD stays 128, IRD stays 16 */
		{ { 16, 17, 16, 16 }, 17 },  /* IRD becomes 17 */
		{ { 16, 17, 16, 16 }, 16 },  /* it cannot */
		{ { 16, 18, 16, 16 }, 17 },
		{ { 16, 17, 16, 16 }, 0 },
		{ { 0, 0, 16, 16 }, 16 },
		{ { NOT_NEGOTIATED, 3, 4, 5 }, 4 },
		{ { 3, NOT_NEGOTIATED, 4, 5 }, 4 },
		{ { NOT_NEGOTIATED, 6, NOT_NEGOTIATED, 5 }, 0 },
		{ { 3, NOT_NEGOTIATED, 4, NOT_NEGOTIATED }, 4 },
		{ { 0x3ffe, 0x3ffe, 0, 0x3ffe }, 0x3ffe },
	};

	for (size_t i = 0; i < IW_ARRAY_LEN(fixed); i++)
		if (!initiator_depths(run, &fixed[i].d, fixed[i].ird_max, false) ||
		    !initiator_depths(run, &fixed[i].d, fixed[i].ird_max, true))
			return false;
	for (int i = 0; i < 60; i++) {
		struct depths d = { random_depth(run, true), random_depth(run, true),
				    random_depth(run, true), random_depth(run, false) };

		if (!initiator_depths(run, &d, random_depth(run, false), i % 8 == 0))
			return false;
	}
	return true;
}

/* 508 octets are the most in an enhanced Reply. */
static bool enhanced_limit(struct lab_run *run)
{
	struct end end = plain_end(false, 2);
	struct iw_mpa_enhanced e = enhanced_of(false, 0, 16, 16);
	struct octets request = frame_of(FRAME_REQUEST, 2, FLAG_C, &e, NULL, 0), reply;
	uint8_t pd[PD_MAX];

	lab_fill(run, pd, sizeof(pd));
	reply = frame_of(FRAME_REPLY, 2, FLAG_C, &e, pd, PD_MAX - ENHANCED_LEN);
	lab_case(run, "responder: an enhanced Reply with Private Data of 509, then of 508 octets");
	return new_end(run, SLOT, &end, true) && receive_frame(run, SLOT, &request, STARTUP_DONE) &&
	       answer(run, SLOT, true, 16, 16, pd, PD_MAX - ENHANCED_LEN + 1, false) &&
	       answer(run, SLOT, true, 16, 16, pd, PD_MAX - ENHANCED_LEN, true) &&
	       expect_output(run, SLOT, "the Reply", &reply, FRAME_MAX);
}

static bool step_depths(struct lab_run *run)
{
	return responders_depths(run) && enhanced_limit(run) && initiators_depths(run);
}

/* --- step rtr -------------------------------------------------------------------------------- */

static bool responder_rtr(struct lab_run *run, uint8_t requested, uint8_t ours, uint16_t ird)
{
	struct exchange x = { .end = plain_end(false, 2), .accept = true, .ird = ird, .ord = 3 };
	struct iw_mpa_enhanced e = enhanced_of(true, requested, 16, 16);

	x.end.rtr = ours;
	x.request = frame_of(FRAME_REQUEST, 2, FLAG_C, &e, NULL, 0);
	lab_case(run, "responder: IRD %u, forms %u (Send 1, Write 2, Read 4); Request: forms %u",
		 ird, ours, requested);
	return responder_case(run, &x, COMMON | MODEL | DEPTHS);
}

/* The initiator's choice is that of the engine. */
static bool initiator_rtr(struct lab_run *run, const struct end *end,
			  const struct iw_mpa_enhanced *e)
{
	struct octets reply = frame_of(FRAME_REPLY, 2, FLAG_C, e, NULL, 0);
	enum startup_result result;
	struct state s;
	uint8_t common, form;

	lab_case(run,
		 "%s, forms %u (Send 1, Write 2, Read 4); Reply with forms %u, IRD %u, ORD %u%s",
		 text_of(end), end->rtr, iw_agree_get_rtr(e), e->ird, e->ord,
		 e->peer_to_peer ? ", peer-to-peer" : "");
	if (!initiator_case(run, end, &reply, COMMON | MODEL | DEPTHS, &result) ||
	    !get_state(run, SLOT, &s))
		return false;
	common = iw_agree_get_rtr(e) & end->rtr;
	if (e->ird == 0)
		common &= (uint8_t)~RTR_READ;
	form = result == STARTUP_DONE && e->peer_to_peer ? iw_agreed_rtr_form(common) : 0;
	return lab_expect_number(run, "the form returned by startup_rtr()", form, s.rtr);
}

static bool initiators_rtr(struct lab_run *run)
{
	struct end end = plain_end(true, 2);
	struct iw_mpa_enhanced e;

	end.peer_to_peer = true;
	for (uint8_t ours = 1; ours < RTR_SETS; ours++)
		for (uint8_t theirs = 0; theirs < RTR_SETS; theirs++)
			for (unsigned int bits = 0; bits < 4; bits++) {
				end.rtr = ours;
				end.ord = bits & 1 ? 4 : 0;
				e = enhanced_of(true, theirs, bits & 2 ? 5 : 0, 2);
				if (!initiator_rtr(run, &end, &e))
					return false;
			}
	/* The other model. */
	end.rtr = RTR_ALL;
	e = enhanced_of(false, 0, 5, 5);
	if (!initiator_rtr(run, &end, &e))
		return false;
	end.peer_to_peer = false;
	e = enhanced_of(true, RTR_WRITE, 5, 5);
	if (!initiator_rtr(run, &end, &e))
		return false;
	/* A client-server Reply: B, C and D are ignored. */
	e = enhanced_of(false, RTR_ALL, 5, 5);
	if (!initiator_rtr(run, &end, &e))
		return false;
	/* Both faults: the ORD of the Reply, and no form. */
	end.peer_to_peer = true;
	end.rtr = RTR_SEND;
	e = enhanced_of(true, RTR_WRITE, 5, 100);
	return initiator_rtr(run, &end, &e);
}

static bool step_rtr(struct lab_run *run)
{
	struct depths client_server = { 4, 4, 4, 4 };

	for (uint8_t ours = 1; ours < RTR_SETS; ours++)
		for (uint8_t requested = 0; requested < RTR_SETS; requested++)
			if (!responder_rtr(run, requested, ours, 0) ||
			    !responder_rtr(run, requested, ours, 1) ||
			    !responder_rtr(run, requested, ours, (uint16_t)lab_below(run, 100)))
				return false;
	return initiators_rtr(run) && responder_depths(run, &client_server, true);
}

/* --- step order ------------------------------------------------------------------------------ */

static bool expect_order(struct lab_run *run, const char *when, uint8_t rtr, bool may_send)
{
	struct state s;

	lab_case(run, "%s", when);
	return get_state(run, SLOT, &s) &&
	       lab_expect_number(run, "the form returned by startup_rtr()", rtr, s.rtr) &&
	       lab_expect_true(run, s.may_send == may_send,
			       "startup_may_send() returned %s; expected %s",
			       s.may_send ? "true" : "false", may_send ? "true" : "false");
}

static bool event(struct lab_run *run, const char *function)
{
	call_end(run, function, SLOT);
	return run_end(run) && lab_results_end(run);
}

static bool initiator_order(struct lab_run *run, uint8_t rtr)
{
	struct end end = plain_end(true, 2);
	struct iw_mpa_enhanced e = enhanced_of(rtr != 0, rtr, 16, 16);
	struct octets reply = frame_of(FRAME_REPLY, 2, FLAG_C, &e, NULL, 0);
	uint8_t form = iw_agreed_rtr_form(rtr);
	struct lab_octets request;

	end.peer_to_peer = rtr != 0;
	lab_clause(run, rtr ? "RFC 6581 9.2" : "RFC 5044 7.1.2 rule 3");
	return new_end(run, SLOT, &end, true) &&
	       expect_order(run, "initiator, nothing was sent", 0, false) &&
	       output(run, SLOT, FRAME_MAX, &request) &&
	       expect_order(run, "initiator, the Request was sent", 0, false) &&
	       expect_receive(run, SLOT, reply.at, HEAD_LEN, STARTUP_MORE, HEAD_LEN) &&
	       expect_order(run, "initiator, 20 octets of a Reply of 24 arrived", 0, false) &&
	       expect_receive(run, SLOT, reply.at + HEAD_LEN, ENHANCED_LEN, STARTUP_DONE,
			      ENHANCED_LEN) &&
	       expect_order(run,
			    rtr ? "initiator, the Reply accepts and is peer-to-peer"
				: "initiator, the Reply accepts and is client-server",
			    form, rtr == 0) &&
	       (rtr == 0 || (event(run, "startup_rtr_sent") &&
			     expect_order(run, "initiator, the RTR was sent", 0, true)));
}

/* A Reply after which no FPDU may be sent. */
static bool initiator_over(struct lab_run *run, uint8_t flags, uint8_t rtr, uint16_t ord,
			   enum startup_result result)
{
	struct end end = plain_end(true, 2);
	struct iw_mpa_enhanced e = enhanced_of(true, rtr, 16, ord);
	struct octets reply = frame_of(FRAME_REPLY, 2, flags, &e, NULL, 0);
	struct lab_octets request;
	char when[64];

	end.peer_to_peer = true;
	end.rtr = RTR_SEND | RTR_READ;
	snprintf(when, sizeof(when), "initiator, the Reply was %s", results[result]);
	lab_case(run, "%s", when);
	lab_clause(run, flags & FLAG_R ? "RFC 5044 7.1.2 rule 3" : "RFC 6581 9");
	return new_end(run, SLOT, &end, true) && output(run, SLOT, FRAME_MAX, &request) &&
	       receive_frame(run, SLOT, &reply, result) && expect_order(run, when, 0, false);
}

static bool responder_order(struct lab_run *run, const struct octets *request, bool early)
{
	struct end end = plain_end(false, 2);
	struct lab_octets reply;

	lab_clause(run, "RFC 5044 7.1.2 rule 4");
	if (!new_end(run, SLOT, &end, true) ||
	    !expect_order(run, "responder, nothing arrived", 0, false) ||
	    !receive_frame(run, SLOT, request, STARTUP_DONE) ||
	    !expect_order(run, "responder, the Request arrived", 0, false) ||
	    !answer(run, SLOT, true, 16, 16, NULL, 0, true) ||
	    !expect_order(run, "responder, accepted, the Reply is pending", 0, false) ||
	    !output(run, SLOT, 10, &reply))
		return false;
	/* A peer that does not wait for the Reply. */
	if (early &&
	    (!event(run, "startup_fpdu_received") ||
	     !expect_order(run, "responder, 10 octets of the Reply were sent, an FPDU arrived", 0,
			   false)))
		return false;
	if (early)
		return true;
	return output(run, SLOT, FRAME_MAX, &reply) &&
	       expect_order(run, "responder, the Reply was sent", 0, false) &&
	       event(run, "startup_fpdu_received") &&
	       expect_order(run, "responder, the Reply was sent, an FPDU arrived", 0, true);
}

static bool responder_rejects(struct lab_run *run, const struct octets *request)
{
	struct end end = plain_end(false, 2);
	struct lab_octets reply;

	lab_clause(run, "RFC 5044 7.1.2 rule 2");
	return new_end(run, SLOT, &end, true) && receive_frame(run, SLOT, request, STARTUP_DONE) &&
	       answer(run, SLOT, false, 16, 16, NULL, 0, true) &&
	       output(run, SLOT, FRAME_MAX, &reply) &&
	       expect_order(run, "responder, it rejected, the Reply was sent", 0, false) &&
	       event(run, "startup_fpdu_received") &&
	       expect_order(run, "responder, it rejected, octets that look as an FPDU arrived", 0,
			    false);
}

static bool step_order(struct lab_run *run)
{
	struct iw_mpa_enhanced client_server = enhanced_of(false, 0, 16, 16);
	struct iw_mpa_enhanced peer_to_peer = enhanced_of(true, RTR_ALL, 16, 16);
	struct octets requests[] = {
		frame_of(FRAME_REQUEST, 1, FLAG_C, NULL, NULL, 0),
		frame_of(FRAME_REQUEST, 2, FLAG_C, &client_server, NULL, 0),
		frame_of(FRAME_REQUEST, 2, FLAG_C, &peer_to_peer, NULL, 0),
	};

	for (uint8_t rtr = 0; rtr < RTR_SETS; rtr++)
		if (!initiator_order(run, rtr))
			return false;
	for (size_t i = 0; i < IW_ARRAY_LEN(requests); i++)
		if (!responder_order(run, &requests[i], false) ||
		    !responder_order(run, &requests[i], true) ||
		    !responder_rejects(run, &requests[i]))
			return false;
	return initiator_over(run, FLAG_C | FLAG_R, RTR_SEND, 16, STARTUP_REJECTED) &&
	       initiator_over(run, FLAG_C, RTR_WRITE, 16, STARTUP_NO_RTR) &&
	       initiator_over(run, FLAG_C, RTR_SEND, 17, STARTUP_NO_IRD);
}

/* --- step retry ------------------------------------------------------------------------------ */

static bool closed(struct lab_run *run, enum startup_result expected)
{
	call_end(run, "startup_closed", SLOT);
	return run_end(run) && expect_result(run, expected, lab_get_u8(run)) &&
	       lab_results_end(run);
}

static bool expect_retry(struct lab_run *run, bool expected)
{
	struct state s;

	return get_state(run, SLOT, &s) &&
	       lab_expect_true(run, s.retry == expected,
			       "startup_retry_rev1() returned %s; expected %s",
			       s.retry ? "true" : "false", expected ? "true" : "false");
}

/* The rules of startup_retry_rev1(). lib/mpa also decides before a Reply is complete. */
static bool expected_retry(const struct end *end, bool all_sent, const struct iw_mpa_frame *f,
			   size_t len, bool complete)
{
	bool enhanced = end->rev >= 2 && (end->ird != NOT_NEGOTIATED || end->ord != NOT_NEGOTIATED);

	if (complete)
		return enhanced && !(f->flags & FLAG_S);
	return end->rev >= 2 && all_sent && len == 0;
}

/*
 * An initiator, of whose Request `sent` octets were sent (SIZE_MAX: all), gets octets of a Reply.
 * Then the stream ends.
 */
static bool retry_case(struct lab_run *run, const struct end *end, size_t sent,
		       const struct octets *reply, size_t len)
{
	struct iw_mpa_frame f = { 0 };
	enum startup_result result, after;
	struct lab_octets request;
	struct engine e;
	size_t request_len;
	bool retry;

	engine_open(&e, end);
	request_len = engine_output(&e).len;
	sent = IW_MIN(sent, request_len);
	result = expected_of(&f, FRAME_REPLY, 2, reply->at, len);
	retry = expected_retry(end, sent == request_len, &f, len, result == STARTUP_DONE);
	if (result == STARTUP_DONE)
		result = engine_receive(&e, reply->at, len);
	engine_close(&e);
	after = result == STARTUP_MORE ? STARTUP_LOST : result;
	lab_case(run,
		 "%s; %zu of %zu octets sent; %zu octets of a Reply received: Rev %u, flags 0x%02x",
		 text_of(end), sent, request_len, len, reply->at[17], reply->at[16]);
	return new_end(run, SLOT, end, true) && output(run, SLOT, sent, &request) &&
	       (!len || expect_receive(run, SLOT, reply->at, len, result, len)) &&
	       closed(run, after) && expect_retry(run, retry) &&
	       expect_receive(run, SLOT, reply->at, 1, after, 0);
}

static bool closed_responder(struct lab_run *run, size_t len)
{
	struct end end = plain_end(false, 2);
	struct iw_mpa_enhanced e = enhanced_of(false, 0, 16, 16);
	struct octets request = frame_of(FRAME_REQUEST, 2, FLAG_C, &e, NULL, 0);
	enum startup_result result = len < request.len ? STARTUP_MORE : STARTUP_DONE;

	lab_case(run, "responder of Rev 2, %zu of %zu octets of a Request came", len, request.len);
	return new_end(run, SLOT, &end, true) &&
	       (!len || expect_receive(run, SLOT, request.at, len, result, len)) &&
	       closed(run, len < request.len ? STARTUP_LOST : STARTUP_DONE) &&
	       expect_retry(run, false);
}

static bool step_retry(struct lab_run *run)
{
	struct iw_mpa_enhanced e = enhanced_of(false, 0, 16, 16),
			       deep = enhanced_of(false, 0, 16, 17);
	struct octets replies[] = {
		frame_of(FRAME_REPLY, 2, FLAG_C, &e, NULL, 0),
		frame_of(FRAME_REPLY, 1, FLAG_C, NULL, NULL, 0),
		frame_of(FRAME_REPLY, 1, FLAG_C | FLAG_R, NULL, NULL, 0),
		frame_of(FRAME_REPLY, 2, FLAG_C, NULL, (const uint8_t *)"ULP", 3),
		frame_of(FRAME_REPLY, 2, FLAG_C | FLAG_R, NULL, (const uint8_t *)"ULP", 3),
		frame_of(FRAME_REPLY, 2, FLAG_C | FLAG_R, &e, NULL, 0),
		frame_of(FRAME_REPLY, 1, FLAG_C | FLAG_S, NULL, (const uint8_t *)"ULP!", 4),
		frame_of(FRAME_REPLY, 2, FLAG_C, &deep, NULL, 0),
		frame_of(FRAME_REPLY, 0, FLAG_C, NULL, NULL, 0),
		frame_of(FRAME_REPLY, 3, FLAG_C, NULL, NULL, 0),
	};
	struct end ends[] = { plain_end(true, 2), plain_end(true, 1), plain_end(true, 2) };

	ends[2].ird = ends[2].ord = NOT_NEGOTIATED; /* Rev 2, not enhanced */
	for (size_t i = 0; i < IW_ARRAY_LEN(ends); i++) {
		if (!retry_case(run, &ends[i], SIZE_MAX, &replies[0], 0) ||
		    !retry_case(run, &ends[i], 19, &replies[0], 0))
			return false;
		for (size_t r = 0; r < IW_ARRAY_LEN(replies); r++)
			if (!retry_case(run, &ends[i], SIZE_MAX, &replies[r], replies[r].len) ||
			    !retry_case(run, &ends[i], SIZE_MAX, &replies[r], 1) ||
			    !retry_case(run, &ends[i], SIZE_MAX, &replies[r],
					lab_below(run, replies[r].len)))
				return false;
	}
	for (size_t len = 0; len <= HEAD_LEN + ENHANCED_LEN; len++)
		if (!closed_responder(run, len))
			return false;
	return true;
}

static const struct lab_step steps[] = {
	{ "build", "Request and Reply frames", 8, "RFC 5044 7.1.1", 0, step_build },
	{ "parse", "frames, incomplete ones and invalid ones", 12, "RFC 5044 7.1.1", 0,
	  step_parse },
	{ "enhanced", "IRD, ORD and the flags A to D", 8, "RFC 6581 9", 0, step_enhanced },
	{ "stream", "an end: frames in any split, memory", 12, "RFC 5044 7.1.2", 0, step_stream },
	{ "answer", "accept, reject; revision, markers, CRC", 12, "RFC 5044 7.1.1", 0,
	  step_answer },
	{ "depths", "IRD and ORD of both ends", 12, "RFC 6581 9.1", 0, step_depths },
	{ "rtr", "peer-to-peer, and the form of the RTR", 10, "RFC 6581 9.2", 0, step_rtr },
	{ "order", "which end may send FPDUs, and when", 8, "RFC 5044 7.1.2 rule 4", 0,
	  step_order },
	{ "retry", "the end of the stream, and a peer of Rev 1", 8, "RFC 6581 10", 0, step_retry },
	LAB_PEER_STEP,
	{ 0 },
};

/* --- trace ----------------------------------------------------------------------------------- */

/* Passes the pending frame of one end to the other, in two parts. */
static bool pass_frame(struct lab_run *run, struct lab_picture *p, enum lab_side from)
{
	uint8_t slot = from == LAB_INITIATOR ? SLOT : OTHER_SLOT;
	struct lab_octets seen;
	struct octets o;
	size_t half;

	if (!output(run, slot, FRAME_MAX, &seen) ||
	    !lab_expect_true(run, seen.len > HEAD_LEN, "no enhanced frame is pending"))
		return false;
	o.len = seen.len;
	memcpy(o.at, seen.at, seen.len);
	half = o.len / 2;
	lab_picture_octets(p, from, o.at, o.len);
	slot = from == LAB_INITIATOR ? OTHER_SLOT : SLOT;
	return expect_receive(run, slot, o.at, half, STARTUP_MORE, half) &&
	       expect_receive(run, slot, o.at + half, o.len - half, STARTUP_DONE, o.len - half);
}

static void write_segment(struct lab_picture *p, enum lab_side from, const struct iw_ddp *h,
			  const void *payload, size_t len)
{
	uint8_t ulpdu[IW_DDP_HDR_MAX + 64];
	size_t header_len = (size_t)iw_wire_ddp_encode(ulpdu, sizeof(ulpdu), h);

	if (len)
		memcpy(ulpdu + header_len, payload, len);
	lab_picture_ulpdu(p, from, ulpdu, header_len + len);
}

/* The form of RTR that the module chose. */
static void write_rtr(struct lab_picture *p, uint8_t form)
{
	struct iw_ddp h = { .last = true, .dv = 1, .rv = 1, .msn = 1 };
	struct iw_rreq read = { 0 };
	uint8_t octets[IW_RDMAP_RREQ_LEN];

	h.tagged = form == RTR_WRITE;
	h.opcode = form == RTR_WRITE ? IW_OP_WRITE : form == RTR_READ ? IW_OP_RREQ : IW_OP_SEND;
	h.qn = form == RTR_READ ? IW_QN_RREQ : IW_QN_SEND;
	iw_rreq_encode(octets, sizeof(octets), &read);
	write_segment(p, LAB_INITIATOR, &h, octets, form == RTR_READ ? sizeof(octets) : 0);
}

static bool trace_startup(struct lab_run *run, struct lab_picture *p, uint8_t *rtr)
{
	struct end initiator = plain_end(true, 2), responder = plain_end(false, 2);
	struct state s;

	initiator.peer_to_peer = true;
	initiator.ird = 4;
	initiator.ord = 8;
	initiator.pd_len = 5;
	memcpy(initiator.pd, "hello", initiator.pd_len);
	if (!new_end(run, SLOT, &initiator, true) || !new_end(run, OTHER_SLOT, &responder, true) ||
	    !pass_frame(run, p, LAB_INITIATOR) ||
	    !answer(run, OTHER_SLOT, true, 16, 16, (const uint8_t *)"welcome", 7, true) ||
	    !pass_frame(run, p, LAB_RESPONDER) || !get_state(run, SLOT, &s))
		return false;
	*rtr = s.rtr;
	return lab_expect_true(run, s.rtr == RTR_SEND || s.rtr == RTR_WRITE || s.rtr == RTR_READ,
			       "startup_rtr() returned %u: not a form of RTR", s.rtr);
}

static bool trace_exchange(struct lab_run *run, struct lab_picture *p)
{
	struct iw_ddp hello = { .last = true, .dv = 1, .rv = 1, .opcode = IW_OP_SEND, .msn = 1 };
	struct state s;
	uint8_t rtr;

	lab_case(run, "a peer-to-peer connection of two ends of your module");
	if (!trace_startup(run, p, &rtr))
		return false;
	write_rtr(p, rtr);
	call_end(run, "startup_fpdu_received", OTHER_SLOT);
	if (!run_end(run) || !get_state(run, OTHER_SLOT, &s) ||
	    !lab_expect_true(run, s.may_send, "the responder may not send after the RTR"))
		return false;
	/* Now either end can send first. Without an RTR, it would be the initiator. */
	write_segment(p, LAB_RESPONDER, &hello, "the responder sends first", 25);
	hello.msn += rtr == RTR_SEND; /* the RTR was MSN 1 */
	write_segment(p, LAB_INITIATOR, &hello, "the initiator answers", 21);
	return true;
}

static bool trace(struct lab_run *run, const char *path)
{
	struct lab_picture *p = lab_picture_new(run, path, false);
	bool ok = p && trace_exchange(run, p);

	return p && lab_picture_close(run, p) && ok;
}

/* --- speed ----------------------------------------------------------------------------------- */

enum { TIMES = 3000000, ROUNDS = 3, SPEED_MS = 20000 };

/* As `repeat` of calls.c. */
static struct octets repeat_ours(const struct octets *request)
{
	struct end end = plain_end(false, 2);
	struct octets reply = { 0 };

	for (uint32_t i = 0; i < TIMES; i++) {
		struct engine e;
		uint8_t turn[4];

		iw_put_be32(turn, i);
		engine_open(&e, &end);
		must(engine_receive(&e, request->at, request->len) == STARTUP_DONE &&
			     iw_mpa_accept(e.m, 16, 16, turn, sizeof(turn), &e.why) == 0,
		     &e);
		if (i == TIMES - 1)
			reply = engine_output(&e);
		engine_close(&e);
	}
	return reply;
}

static bool repeat_students(struct lab_run *run, const struct octets *request,
			    const struct octets *expected, uint64_t *ns)
{
	struct lab_octets seen;
	uint64_t begin;

	lab_case(run, "%u Requests, accepted", (unsigned int)TIMES);
	lab_call(run, "repeat");
	lab_put_u32(run, TIMES);
	lab_put_octets(run, request->at, request->len);
	begin = lab_now();
	if (!lab_run_call_within(run, SPEED_MS))
		return false;
	*ns = lab_now() - begin;
	seen = lab_get_octets(run);
	return lab_expect_octets(run, "the last Reply", expected->at, expected->len, seen.at,
				 seen.len) &&
	       lab_results_end(run);
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int speed(struct lab_run *run, struct lab_speed *out, size_t cap)
{
	struct iw_mpa_enhanced e = enhanced_of(true, RTR_ALL, 8, 8);
	struct octets request = frame_of(FRAME_REQUEST, 2, FLAG_C, &e, (const uint8_t *)"speed", 5),
		      reply;
	uint64_t ours[ROUNDS], students[ROUNDS], begin;

	if (cap < 1)
		return 0;
	for (int i = 0; i < ROUNDS; i++) {
		begin = lab_now();
		reply = repeat_ours(&request);
		ours[i] = lab_now() - begin;
		if (!repeat_students(run, &request, &reply, &students[i]))
			return -1;
	}
	qsort(ours, ROUNDS, sizeof(ours[0]), compare);
	qsort(students, ROUNDS, sizeof(students[0]), compare);
	*out = (struct lab_speed){
		.what = "Requests received and accepted",
		.unit = "million/s",
		.student = TIMES * 1e3 / (double)students[ROUNDS / 2],
		.ours = TIMES * 1e3 / (double)ours[ROUNDS / 2],
	};
	return 1;
}

const struct lab lab_startup = {
	.number = 5,
	.folder = "05-startup",
	.title = "set-up negotiation",
	.steps = steps,
	.trace = trace,
	.speed = speed,
};
