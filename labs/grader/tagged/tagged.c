/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lab 2: tagged placement. */
#include "labs/grader/tagged/tagged.h"

#include "labs/grader/peer/peer.h"
#include "labs/grader/tagged/world.h"
#include "util/num.h"

/* --- step header ------------------------------------------------------------------------------ */

static bool parse(struct lab_run *run, const char *what, const uint8_t *segment, size_t len)
{
	struct iw_ddp h;
	const char *names[2];
	enum tagged_code expected = world_judge(&h, segment, len), seen;

	lab_case(run, "%s; the segment has %zu octets: %02x %02x ...", what, len,
		 len > 0 ? segment[0] : 0, len > 1 ? segment[1] : 0);
	lab_call(run, "tagged_parse");
	lab_put_octets(run, segment, len);
	if (!lab_run_call(run))
		return false;
	seen = lab_get_u16(run);
	names[0] = world_code_name(expected);
	names[1] = world_code_name(seen);
	if (!lab_expect_name(run, "the result of tagged_parse()", names, 2, 0, expected != seen))
		return false;
	if (expected != TAGGED_OK)
		return lab_results_end(run);
	return lab_expect_number(run, "the opcode", h.opcode, lab_get_u8(run)) &&
	       lab_expect_number(run, "last", h.last, lab_get_u8(run)) &&
	       lab_expect_number(run, "the STag", h.stag, lab_get_u32(run)) &&
	       lab_expect_number(run, "the TO", h.to, lab_get_u64(run)) &&
	       lab_expect_number(run, "the place of the payload in the segment", TAGGED_HEADER_LEN,
				 lab_get_u64(run)) &&
	       lab_expect_number(run, "the length of the payload", len - TAGGED_HEADER_LEN,
				 lab_get_u64(run)) &&
	       lab_results_end(run);
}

/* A valid header, then its two control octets as given. */
static bool parse_control(struct lab_run *run, const char *what, uint8_t ddp, uint8_t rdmap)
{
	uint8_t segment[TAGGED_HEADER_LEN + 8];

	lab_fill(run, segment, sizeof(segment));
	segment[0] = ddp;
	segment[1] = rdmap;
	return parse(run, what, segment, sizeof(segment));
}

static bool parse_fixed(struct lab_run *run)
{
	static const uint8_t low[] = { 0xc1, 0x40, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 };
	static const uint8_t high[] = { 0x81, 0x42, 0xff, 0xfe, 0xfd, 0xfc, 0xfb, 0xfa,
					0xf9, 0xf8, 0xf7, 0xf6, 0xf5, 0xf4, 0xf3 };

	return parse(run, "an RDMA Write with the last flag", low, sizeof(low)) &&
	       parse(run, "a Read Response without it", high, sizeof(high)) &&
	       parse(run, "an RDMA Write without payload", low, TAGGED_HEADER_LEN) &&
	       parse(run, "a header with an octet too few", low, TAGGED_HEADER_LEN - 1) &&
	       parse(run, "one octet", low, 1) && parse(run, "no octets", low, 0);
}

static bool header(struct lab_run *run)
{
	uint8_t segment[TAGGED_HEADER_LEN + 64];

	if (!parse_fixed(run) || !parse_control(run, "T is 0", 0x41, 0x40) ||
	    !parse_control(run, "reserved bits of DDP are set", 0xfd, 0x40) ||
	    !parse_control(run, "reserved bits of RDMAP are set", 0xc1, 0x72))
		return false;
	for (uint8_t dv = 0; dv < 4; dv++)
		if (!parse_control(run, "each DV", 0xc0 | dv, 0x40))
			return false;
	for (uint8_t rv = 0; rv < 4; rv++)
		if (!parse_control(run, "each RV", 0xc1, (uint8_t)(rv << 6)))
			return false;
	for (uint8_t opcode = 0; opcode < 16; opcode++)
		if (!parse_control(run, "each opcode", 0xc1, 0x40 | opcode))
			return false;
	if (!parse_control(run, "T, DV, RV and the opcode are wrong", 0x40, 0x03) ||
	    !parse_control(run, "DV, RV and the opcode are wrong", 0xc2, 0x83) ||
	    !parse_control(run, "RV and the opcode are wrong", 0xc1, 0xc3))
		return false;
	for (size_t i = 0; i < 40; i++) {
		size_t len = lab_below(run, sizeof(segment) + 1);

		lab_fill(run, segment, sizeof(segment));
		if (lab_below(run, 4)) {
			segment[0] = 0x81 | (segment[0] & 0x7c);
			segment[1] = (uint8_t)(0x40 | (segment[1] & 0x30) | lab_below(run, 2) << 1);
		}
		if (!parse(run, "random octets", segment, len))
			return false;
	}
	return true;
}

/* --- step register ---------------------------------------------------------------------------- */

static const struct region usual = { 0, LEN, BASE, 7, 0, ALL_RIGHTS };

static struct region random_region(struct world *w)
{
	return (struct region){
		.memory = 0,
		.len = lab_below(w->run, LEN + 1),
		.base = lab_random(w->run) >> 1,
		.pd = (uint32_t)lab_random(w->run),
		.stream = lab_below(w->run, 2) ? (uint32_t)lab_random(w->run) : 0,
		.rights = (uint8_t)(1 + lab_below(w->run, ALL_RIGHTS)),
	};
}

static bool register_keys(struct world *w)
{
	uint32_t stag;
	/* The second and the third begin with key 0, which no STag may have. */
	bool passed = world_register(w, "the first registration", &usual, &stag) &&
		      world_look_up(w, "the first registration", stag) &&
		      world_register(w, "random() returns 0 and 0xff000000, then another value",
				     &usual, &stag) &&
		      world_look_up(w, "the second registration", stag) &&
		      world_look_up(w, "the same slot with another key", stag ^ 1) &&
		      world_look_up(w, "the same slot with another key", stag ^ 0x800000) &&
		      world_look_up(w, "another slot with the same key", stag ^ 0x02000000) &&
		      world_look_up(w, "a slot that was never used, with key 0", 0x05000000) &&
		      world_look_up(w, "the last slot, never used, with key 0", 0xff000000);

	return passed && world_look_up(w, "STag 0", 0) &&
	       world_look_up(w, "all bits set", 0xffffffff);
}

static bool register_limits(struct world *w)
{
	static const struct {
		const char *what;
		struct region region;
	} cases[] = {
		{ "no rights", { 0, LEN, BASE, 7, 0, 0 } },
		{ "an unknown right", { 0, LEN, BASE, 7, 0, 8 } },
		{ "an unknown right beside a known one", { 0, LEN, BASE, 7, 0, 0x82 } },
		{ "octets at NULL", { NO_MEMORY, 1, BASE, 7, 0, 1 } },
		{ "no octets at NULL", { NO_MEMORY, 0, BASE, 7, 0, 1 } },
		{ "base + len is 2^64 - 1", { 0, LEN, UINT64_MAX - LEN, 7, 0, 2 } },
		{ "base + len is 2^64", { 0, LEN, UINT64_MAX - LEN + 1, 7, 0, 2 } },
		{ "base + len wraps", { 0, LEN, UINT64_MAX - 1, 7, 0, 2 } },
		{ "no octets at base 2^64 - 1", { 0, 0, UINT64_MAX, 7, 0, 4 } },
		{ "base 0", { 0, LEN, 0, 0, 0, 4 } },
	};
	uint32_t stag;

	for (size_t i = 0; i < IW_ARRAY_LEN(cases); i++)
		if (!world_register(w, cases[i].what, &cases[i].region, &stag) ||
		    (stag && !world_look_up(w, cases[i].what, stag)))
			return false;
	return true;
}

static bool register_all(struct world *w)
{
	uint32_t stags[TAGGED_SLOTS], n = 0;
	struct region r;

	while (world_free_slot(w)) {
		r = random_region(w);
		if (!world_register(w, "one after the other", &r, &stags[n++]))
			return false;
	}
	if (!world_register(w, "all slots are in use", &usual, &stags[n]))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!world_look_up(w, "all slots are in use", stags[i]))
			return false;
	return true;
}

static bool register_cases(struct world *w)
{
	static const uint32_t values[] = { 0xabcdef01, 0, 0xff000000, 0x12345678, 0xff000001 };

	return world_table(w, values, IW_ARRAY_LEN(values)) && world_memory(w, 0, LEN) &&
	       register_keys(w) && register_limits(w) && register_all(w);
}

static bool register_step(struct lab_run *run)
{
	uint64_t blocks;

	return lab_allocated(run, &blocks) && world_run(run, register_cases) &&
	       world_free_table(run, blocks);
}

/* --- step place ------------------------------------------------------------------------------- */

static bool place_fixed(struct world *w, uint32_t stag, uint32_t second)
{
	struct iw_ddp bad = world_header(IW_OP_WRITE, stag, BASE + 16);

	if (!world_write(w, "in the middle of the region", 0, stag, BASE + 100, 17) ||
	    !world_write(w, "one octet", 0, stag, BASE + 101, 1) ||
	    !world_write(w, "the same place again", 0, stag, BASE + 100, 17) ||
	    !world_write(w, "another region", 0, second, 0x20, 33) ||
	    !world_write(w, "most of the region", 0, second, 0x10, LEN - 32))
		return false;
	bad.dv = 0;
	if (!world_place(w, "DV is 0", 0, &bad, 8) || !world_reset_stream(w, 0))
		return false;
	bad.dv = TAGGED_VERSION;
	bad.rv = 0;
	return world_place(w, "RV is 0", 0, &bad, 8) && world_reset_stream(w, 0);
}

/* A message of 24 segments, which arrive in any order: each one is placed by itself. */
static bool place_shuffled(struct world *w, uint32_t stag)
{
	enum { SEGMENTS = 24, SIZE = 150 };
	uint32_t order[SEGMENTS] = { 0 };

	for (uint32_t i = 0; i < SEGMENTS; i++) {
		uint32_t j = (uint32_t)lab_below(w->run, i + 1);

		order[i] = order[j];
		order[j] = i;
	}
	for (uint32_t i = 0; i < SEGMENTS; i++) {
		struct iw_ddp h = world_header(IW_OP_WRITE, stag, BASE + 64 + SIZE * order[i]);

		h.last = order[i] == SEGMENTS - 1;
		if (!world_place(w, "segments of one message, out of order", 0, &h, SIZE))
			return false;
	}
	return true;
}

/* Both regions have all rights, for the one stream: the checks of other steps cannot refuse. */
static bool place_cases(struct world *w)
{
	static const struct region one = { 0, LEN, BASE, 7, 1, ALL_RIGHTS };
	static const struct region other = { 1, LEN, 0, 7, 1, ALL_RIGHTS };
	uint32_t stag, second;

	if (!world_random_table(w) || !world_memory(w, 0, LEN) || !world_memory(w, 1, LEN) ||
	    !world_stream(w, 0, 7, 1) || !world_register(w, "first", &one, &stag) ||
	    !world_register(w, "second", &other, &second) || !place_fixed(w, stag, second) ||
	    !place_shuffled(w, stag))
		return false;
	for (size_t i = 0; i < 30; i++) {
		uint64_t at = 1 + lab_below(w->run, LEN - 2);
		size_t len = 1 + lab_below(w->run, LEN - 1 - at);
		bool first = lab_below(w->run, 2);

		if (!world_write(w, "random places", 0, first ? stag : second,
				 first ? BASE + at : at, len))
			return false;
	}
	return true;
}

static bool place_step(struct lab_run *run)
{
	return world_run(run, place_cases);
}

/* --- step stag -------------------------------------------------------------------------------- */

/* Streams 0 and 1 are in PD 7, with ids 1 and 2; stream 2 is in PD 8, with id 1. */
static bool three_streams(struct world *w)
{
	return world_stream(w, 0, 7, 1) && world_stream(w, 1, 7, 2) && world_stream(w, 2, 8, 1);
}

static bool stag_unknown(struct world *w, uint32_t stag)
{
	lab_clause(w->run, "RFC 5041 7.1, check 1");
	return world_write(w, "the key has a wrong bit", 0, stag ^ 1, BASE, 9) &&
	       world_write(w, "the key has a wrong bit", 0, stag ^ 0x800000, BASE, 9) &&
	       world_write(w, "the slot is wrong", 0, stag ^ 0x40000000, BASE, 9) &&
	       world_write(w, "STag 0", 0, 0, BASE, 9) &&
	       world_write(w, "all bits of the STag are set", 0, 0xffffffff, BASE, 9) &&
	       world_respond(w, "the key has a wrong bit", 0, stag ^ 0x10, BASE, 9);
}

static bool stag_scope(struct world *w, uint32_t shared, uint32_t own)
{
	lab_clause(w->run, "RFC 5041 8.2");
	return world_write(w, "a stream of the PD", 0, shared, BASE + 8, 9) &&
	       world_write(w, "another stream of the PD", 1, shared, BASE + 9, 9) &&
	       world_write(w, "a stream of another PD", 2, shared, BASE + 8, 9) &&
	       world_write(w, "the stream of the region", 0, own, BASE + 10, 9) &&
	       world_write(w, "another stream of the same PD", 1, own, BASE + 8, 9) &&
	       world_write(w, "the same stream id in another PD", 2, own, BASE + 8, 9) &&
	       world_respond(w, "a Read Response by another stream", 1, own, BASE + 8, 9);
}

static bool stag_cases(struct world *w)
{
	static const struct region only_first = { 0, LEN, BASE, 7, 1, ALL_RIGHTS };
	uint32_t stags[8];

	if (!world_random_table(w) || !world_memory(w, 0, LEN) || !three_streams(w) ||
	    !world_register(w, "for all streams of PD 7", &usual, &stags[0]) ||
	    !world_register(w, "for stream 1 of PD 7", &only_first, &stags[1]) ||
	    !stag_unknown(w, stags[0]) || !stag_scope(w, stags[0], stags[1]))
		return false;
	for (size_t i = 2; i < IW_ARRAY_LEN(stags); i++) {
		struct region r = usual;

		r.pd = 7 + (uint32_t)lab_below(w->run, 2);
		r.stream = (uint32_t)lab_below(w->run, 3);
		if (!world_register(w, "random scope", &r, &stags[i]))
			return false;
	}
	for (size_t i = 0; i < 40; i++) {
		uint32_t stag = stags[lab_below(w->run, IW_ARRAY_LEN(stags))];
		uint32_t wrong = lab_below(w->run, 4) ? 0 : 1u << lab_below(w->run, 32);

		lab_clause(w->run, wrong ? "RFC 5041 7.1, check 1" : "RFC 5041 8.2");
		if (!world_write(w, "random scope", (uint8_t)lab_below(w->run, 3), stag ^ wrong,
				 BASE + 1 + lab_below(w->run, LEN - 64), 32))
			return false;
	}
	return true;
}

static bool stag_step(struct lab_run *run)
{
	return world_run(run, stag_cases);
}

/* --- step rights ------------------------------------------------------------------------------ */

static bool rights_cases(struct world *w)
{
	uint32_t stags[ALL_RIGHTS + 1];
	struct region r = usual;

	if (!world_random_table(w) || !world_memory(w, 0, LEN) || !three_streams(w))
		return false;
	for (r.rights = 1; r.rights <= ALL_RIGHTS; r.rights++)
		if (!world_register(w, "each set of rights", &r, &stags[r.rights]))
			return false;
	for (uint8_t rights = 1; rights <= ALL_RIGHTS; rights++)
		if (!world_write(w, "each set of rights", 0, stags[rights], BASE + 16, 9) ||
		    !world_respond(w, "each set of rights", 1, stags[rights], BASE + 32, 9))
			return false;
	lab_clause(w->run, "the order of the checks in tagged.h");
	if (!world_write(w, "another PD, and the right is missing", 2, stags[TAGGED_REMOTE_READ],
			 BASE + 16, 9) ||
	    !world_respond(w, "another PD, and the right is missing", 2, stags[TAGGED_REMOTE_WRITE],
			   BASE + 16, 9))
		return false;
	lab_clause(w->run, NULL);
	for (size_t i = 0; i < 30; i++) {
		uint32_t stag = stags[1 + lab_below(w->run, ALL_RIGHTS)];
		uint8_t stream = (uint8_t)lab_below(w->run, 3);
		uint64_t to = BASE + 1 + lab_below(w->run, LEN - 64);

		if (!(lab_below(w->run, 2) ? world_write : world_respond)(w, "random rights",
									  stream, stag, to, 20))
			return false;
	}
	return true;
}

static bool rights_step(struct lab_run *run)
{
	return world_run(run, rights_cases);
}

/* --- step bounds ------------------------------------------------------------------------------ */

struct bounds_case {
	const char *what;
	uint64_t to;
	size_t len;
};

static bool write_cases(struct world *w, uint32_t stag, const struct bounds_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!world_write(w, cases[i].what, 0, stag, cases[i].to, cases[i].len))
			return false;
	return true;
}

static bool bounds_middle(struct world *w, uint32_t stag)
{
	static const struct bounds_case cases[] = {
		{ "the first octet of the region", BASE, 1 },
		{ "the last octet of the region", BASE + LEN - 1, 1 },
		{ "the whole region", BASE, LEN },
		{ "an octet before the region", BASE - 1, 1 },
		{ "an octet after the region", BASE + LEN, 1 },
		{ "the first octet is before the region", BASE - 1, 2 },
		{ "the last octet is after the region", BASE + LEN - 1, 2 },
		{ "the last octet is after the region", BASE, LEN + 1 },
		{ "larger than the region at both ends", BASE - 1, LEN + 2 },
		{ "ends where the region begins", BASE - 16, 16 },
		{ "far below the region", 0, 16 },
		{ "far above the region", BASE << 8, 16 },
		{ "TO differs from a valid one in bit 32", BASE ^ 0x100000000, 16 },
		{ "TO differs from a valid one in bit 63", BASE ^ 0x8000000000000000, 16 },
		{ "TO has only the low 32 bits of a valid one", (uint32_t)BASE, 16 },
	};

	lab_clause(w->run, "RFC 5041 7.1, checks 3 and 4");
	return write_cases(w, stag, cases, IW_ARRAY_LEN(cases));
}

/* high ends at 2^64 - 1, low begins at 0. */
static bool bounds_wrap(struct world *w, uint32_t high, uint32_t low)
{
	static const struct bounds_case at_high[] = {
		{ "the last octet that can exist", UINT64_MAX - 1, 1 },
		{ "the end of the largest TO", UINT64_MAX - 16, 16 },
		{ "TO + length is 2^64", UINT64_MAX, 1 },
		{ "TO + length is 2^64", UINT64_MAX - 15, 16 },
		{ "TO + length is 2^64 + 1", UINT64_MAX - 1, 3 },
		{ "TO + length wraps", UINT64_MAX - 100, 200 },
	};
	static const struct bounds_case at_low[] = {
		{ "the first octet that can exist", 0, 1 },
		{ "TO + length wraps to the region", UINT64_MAX - 15, 32 },
		{ "TO + length wraps to the first octet of the region", UINT64_MAX, 2 },
		{ "the largest sum that does not wrap", UINT64_MAX - 16, 16 },
	};

	lab_clause(w->run, "RFC 5041 7.1, check 5");
	return write_cases(w, high, at_high, IW_ARRAY_LEN(at_high)) &&
	       write_cases(w, low, at_low, IW_ARRAY_LEN(at_low));
}

/* RFC 5041 5.2: STag and TO MUST NOT be checked. */
static bool bounds_zero(struct world *w, uint32_t stag)
{
	struct iw_ddp bad = world_header(IW_OP_WRITE, stag, BASE);

	lab_clause(w->run, "RFC 5041 5.2");
	if (!world_write(w, "zero length at a valid TO", 0, stag, BASE, 0) ||
	    !world_write(w, "zero length, TO out of bounds", 0, stag, BASE + LEN + 1, 0) ||
	    !world_write(w, "zero length, TO 2^64 - 1", 0, stag, UINT64_MAX, 0) ||
	    !world_write(w, "zero length, unknown STag", 0, stag ^ 1, BASE, 0) ||
	    !world_write(w, "zero length, another PD", 2, stag, BASE, 0) ||
	    !world_respond(w, "zero length, STag and TO are 0", 0, 0, 0, 0))
		return false;
	bad.dv = 2;
	lab_clause(w->run, "RFC 5041 4.1");
	return world_place(w, "zero length, DV is 2", 0, &bad, 0) && world_reset_stream(w, 0);
}

static bool bounds_order(struct world *w, uint32_t stag, uint32_t read_only)
{
	lab_clause(w->run, "the order of the checks in tagged.h");
	return world_write(w, "unknown STag, and out of bounds", 0, stag ^ 1, 0, 9) &&
	       world_write(w, "another PD, and out of bounds", 2, stag, 0, 9) &&
	       world_write(w, "the right is missing, and out of bounds", 0, read_only, 0, 9) &&
	       world_write(w, "the right is missing, and TO wraps", 0, read_only, UINT64_MAX, 9);
}

static bool bounds_random(struct world *w, uint32_t stag)
{
	lab_clause(w->run, "RFC 5041 7.1, checks 3 and 4");
	for (size_t i = 0; i < 60; i++) {
		uint64_t to = BASE - 40 + lab_below(w->run, 80);
		size_t len = lab_below(w->run, 80);

		if (lab_below(w->run, 2))
			to += LEN;
		if (lab_below(w->run, 4) == 0)
			len += LEN - 60;
		if (!world_write(w, "random places near the ends", 0, stag, to, len))
			return false;
	}
	return true;
}

static bool bounds_cases(struct world *w)
{
	static const struct region high = { 0, LEN, UINT64_MAX - LEN, 7, 0, ALL_RIGHTS };
	static const struct region low = { 0, LEN, 0, 7, 0, ALL_RIGHTS };
	static const struct region empty = { 0, 0, BASE, 7, 0, ALL_RIGHTS };
	static const struct region read_only = { 0, LEN, BASE, 7, 0, TAGGED_REMOTE_READ };
	static const struct bounds_case nothing[] = { { "a region without octets", BASE, 1 },
						      { "the same", BASE - 1, 1 } };
	uint32_t stags[5];

	return world_random_table(w) && world_memory(w, 0, LEN) && three_streams(w) &&
	       world_register(w, "in the middle", &usual, &stags[0]) &&
	       world_register(w, "ends at 2^64 - 1", &high, &stags[1]) &&
	       world_register(w, "begins at 0", &low, &stags[2]) &&
	       world_register(w, "no octets", &empty, &stags[3]) &&
	       world_register(w, "only to be read", &read_only, &stags[4]) &&
	       bounds_middle(w, stags[0]) && write_cases(w, stags[3], nothing, 2) &&
	       bounds_wrap(w, stags[1], stags[2]) && bounds_zero(w, stags[0]) &&
	       bounds_order(w, stags[0], stags[4]) && bounds_random(w, stags[0]);
}

static bool bounds_step(struct lab_run *run)
{
	return world_run(run, bounds_cases);
}

/* --- step revoke ------------------------------------------------------------------------------ */

/* The program frees memory that it has deregistered: a segment that is still placed crashes. */
static bool revoke_freed(struct world *w)
{
	static const struct region own = { 1, LEN, BASE, 7, 0, ALL_RIGHTS };
	uint32_t stag;

	if (!world_memory(w, 1, LEN) || !world_register(w, "with memory of its own", &own, &stag) ||
	    !world_write(w, "while it is registered", 0, stag, BASE + 1, 9) ||
	    !world_deregister(w, "before its memory is freed", stag))
		return false;
	return world_drop_memory(w, 1) &&
	       world_write(w, "the memory was freed", 0, stag, BASE + 1, 9);
}

static bool revoke_one(struct world *w, uint32_t first, uint32_t second)
{
	return world_write(w, "while it is registered", 0, first, BASE + 1, 9) &&
	       world_deregister(w, "the key has a wrong bit", first ^ 1) &&
	       world_deregister(w, "a slot that was never used", 0x70000000) &&
	       world_write(w, "still registered", 0, first, BASE + 2, 9) &&
	       world_deregister(w, "the first time", first) &&
	       world_look_up(w, "no longer registered", first) &&
	       world_write(w, "no longer registered", 0, first, BASE + 3, 9) &&
	       world_deregister(w, "the second time", first) &&
	       world_write(w, "another STag of the same memory", 0, second, BASE + 4, 9);
}

/* Registers until the slot of the STag is used again. */
static bool revoke_come_back(struct world *w, uint32_t old, uint32_t *new)
{
	uint32_t slot = old >> TAGGED_KEY_BITS;

	for (;;) {
		if (!world_register(w, "one registration, and its end", &usual, new))
			return false;
		if (*new >> TAGGED_KEY_BITS == slot)
			return true;
		if (!world_deregister(w, "one registration, and its end", *new))
			return false;
	}
}

static bool revoke_reuse(struct world *w, uint32_t old)
{
	uint32_t new;

	if (!revoke_come_back(w, old, &new))
		return false;
	return world_look_up(w, "the slot is used again, old key", old) &&
	       world_write(w, "the slot is used again, old key", 0, old, BASE + 5, 9) &&
	       world_deregister(w, "the slot is used again, old key", old) &&
	       world_write(w, "the slot is used again, new key", 0, new, BASE + 6, 9);
}

/* All slots but one are in use: the free one is found, even if it was the last one given. */
static bool revoke_only_free(struct world *w)
{
	uint32_t stags[TAGGED_SLOTS], n = 0, stag = 0, last;

	while (world_free_slot(w))
		if (!world_register(w, "until all slots are in use", &usual, &stags[n++]))
			return false;
	last = n - 1;
	for (uint32_t i = 0; i < 20; i++) {
		uint32_t *victim = &stags[i % 2 ? lab_below(w->run, n) : last];

		last = (uint32_t)(victim - stags);
		if (!world_deregister(w, "only one slot is free", *victim) ||
		    !world_register(w, "only one slot is free", &usual, &stag) ||
		    !world_look_up(w, "its old STag", *victim))
			return false;
		*victim = stag;
	}
	return true;
}

/* The random source repeats the key that the slot had: value 256 is like value 0. Then it gives 0. */
static bool revoke_key_twice(struct world *w)
{
	uint32_t values[VALUES], first, stag;

	lab_fill(w->run, values, sizeof(values));
	for (size_t i = 0; i < VALUES; i++)
		values[i] |= 1;
	values[TAGGED_SLOTS] = values[0] ^ 0x5a000000;
	values[TAGGED_SLOTS + 1] = 0x77000000;
	return world_table(w, values, VALUES) && world_memory(w, 0, LEN) &&
	       world_stream(w, 0, 7, 1) && world_register(w, "a new table", &usual, &first) &&
	       world_deregister(w, "a new table", first) && revoke_come_back(w, first, &stag) &&
	       world_look_up(w, "random() repeated the last key of the slot", first) &&
	       world_write(w, "random() repeated the last key of the slot", 0, first, BASE + 9, 9);
}

static bool revoke_cases(struct world *w)
{
	uint32_t first, second;

	return world_random_table(w) && world_memory(w, 0, LEN) && world_stream(w, 0, 7, 1) &&
	       world_register(w, "first", &usual, &first) &&
	       world_register(w, "second", &usual, &second) && revoke_one(w, first, second) &&
	       revoke_freed(w) && revoke_reuse(w, first) && revoke_only_free(w);
}

static bool revoke_step(struct lab_run *run)
{
	uint64_t blocks;

	return lab_allocated(run, &blocks) && world_run(run, revoke_cases) &&
	       world_run(run, revoke_key_twice) && world_free_table(run, blocks);
}

/* --- step stop -------------------------------------------------------------------------------- */

/* A segment with the error h, then valid ones: they are dropped, and the error stays. */
static bool stop_after(struct world *w, const char *what, struct iw_ddp h, uint32_t stag)
{
	struct iw_ddp valid = world_header(IW_OP_WRITE, stag, BASE + 7);
	struct iw_ddp wrong = world_header(IW_OP_WRITE, stag ^ 1, BASE);

	return world_place(w, what, 0, &h, 9) &&
	       world_place(w, "the next segment is valid", 0, &valid, 9) &&
	       world_place(w, "the next segment has no payload", 0, &valid, 0) &&
	       world_place(w, "the next segment has another error", 0, &wrong, 9) &&
	       world_place(w, "another stream of the PD", 1, &valid, 9) && world_reset_stream(w, 0);
}

static bool stop_cases(struct world *w)
{
	uint32_t stag;
	struct iw_ddp h;

	w->look_at_error = true;
	if (!world_random_table(w) || !world_memory(w, 0, LEN) || !three_streams(w) ||
	    !world_register(w, "for all streams of PD 7", &usual, &stag))
		return false;
	h = world_header(IW_OP_WRITE, stag ^ 1, BASE);
	if (!stop_after(w, "unknown STag", h, stag))
		return false;
	h = world_header(IW_OP_WRITE, stag, BASE - 1);
	if (!stop_after(w, "out of bounds", h, stag))
		return false;
	h = world_header(IW_OP_RRESP, stag, UINT64_MAX);
	if (!stop_after(w, "TO wraps", h, stag))
		return false;
	h = world_header(IW_OP_SEND, stag, BASE);
	if (!stop_after(w, "a Send in a tagged segment", h, stag))
		return false;
	h = world_header(IW_OP_WRITE, stag, BASE);
	h.dv = 3;
	return stop_after(w, "DV is 3", h, stag);
}

static bool stop_step(struct lab_run *run)
{
	return world_run(run, stop_cases);
}

/* --- step read -------------------------------------------------------------------------------- */

static bool read_fixed(struct world *w, uint32_t stag)
{
	return world_read(w, "in the middle of the region", 0, stag, BASE + 10, 33) &&
	       world_read(w, "the whole region", 0, stag, BASE, LEN) &&
	       world_read(w, "the last octet", 0, stag, BASE + LEN - 1, 1) &&
	       world_read(w, "unknown STag", 0, stag ^ 1, BASE, 9) &&
	       world_read(w, "another PD", 2, stag, BASE, 9) &&
	       world_read(w, "an octet before the region", 0, stag, BASE - 1, 2) &&
	       world_read(w, "an octet after the region", 0, stag, BASE + LEN - 1, 2) &&
	       world_read(w, "a size of 2^16 + 9", 0, stag, BASE, 0x10009) &&
	       world_read(w, "the largest size", 0, stag, BASE, UINT32_MAX) &&
	       world_read(w, "TO + size is 2^64", 0, stag, UINT64_MAX - 8, 9) &&
	       world_read(w, "TO + size wraps", 0, stag, UINT64_MAX - 8, UINT32_MAX);
}

static bool read_zero(struct world *w, uint32_t stag)
{
	lab_clause(w->run, "RFC 5040 5.2.1");
	return world_read(w, "zero length, TO out of bounds", 0, stag, BASE + LEN + 1, 0) &&
	       world_read(w, "zero length, unknown STag", 0, stag ^ 1, BASE, 0) &&
	       world_read(w, "zero length, another PD", 2, stag, BASE, 0);
}

static bool read_rights(struct world *w)
{
	struct region r = usual;
	uint32_t stag;

	lab_clause(w->run, "RFC 5040 4.8");
	r.stream = 2;
	for (r.rights = 1; r.rights <= ALL_RIGHTS; r.rights++)
		if (!world_register(w, "each set of rights", &r, &stag) ||
		    !world_read(w, "each set of rights", 1, stag, BASE + r.rights, 9) ||
		    !world_read(w, "another stream of the PD", 0, stag, BASE + r.rights, 9) ||
		    !world_read(w, "each set of rights, and out of bounds", 1, stag, 0, 9))
			return false;
	return true;
}

/* Reads and segments share the stream and its error. */
static bool read_stop(struct world *w, uint32_t stag)
{
	struct iw_ddp valid = world_header(IW_OP_WRITE, stag, BASE + 7);
	struct iw_ddp wrong = world_header(IW_OP_WRITE, stag, 0);

	lab_clause(w->run, "RFC 5041 7.1");
	w->look_at_error = true;
	return world_place(w, "before a read of the same octets", 0, &valid, 9) &&
	       world_read_once(w, "what was placed just now", 0, stag, BASE + 7, 9) &&
	       world_read_once(w, "unknown STag", 0, stag ^ 1, BASE, 9) &&
	       world_place(w, "a segment after the error of a read", 0, &valid, 9) &&
	       world_read_once(w, "a read after the error of a read", 0, stag, BASE, 9) &&
	       world_reset_stream(w, 0) && world_place(w, "out of bounds", 0, &wrong, 9) &&
	       world_read_once(w, "a read after the error of a segment", 0, stag, BASE, 9) &&
	       world_read_once(w, "a read without octets after an error", 0, stag, BASE, 0) &&
	       world_reset_stream(w, 0);
}

static bool read_random(struct world *w, uint32_t stag)
{
	lab_clause(w->run, NULL);
	for (size_t i = 0; i < 40; i++) {
		uint64_t to = BASE - 20 + lab_below(w->run, LEN + 20);
		uint32_t len = (uint32_t)lab_below(w->run, 300);

		if (!world_read(w, "random places", (uint8_t)lab_below(w->run, 2), stag, to, len))
			return false;
	}
	return true;
}

static bool read_cases(struct world *w)
{
	uint32_t stag;

	return world_random_table(w) && world_memory(w, 0, LEN) && three_streams(w) &&
	       world_register(w, "for all streams of PD 7", &usual, &stag) && read_fixed(w, stag) &&
	       read_zero(w, stag) && read_rights(w) && read_stop(w, stag) && read_random(w, stag);
}

static bool read_step(struct lab_run *run)
{
	return world_run(run, read_cases);
}

/* --- the lab ---------------------------------------------------------------------------------- */

static const struct lab_step steps[] = {
	{ "header", "reads the header of a tagged segment", 10, "RFC 5041 4.1", 0, header },
	{ "register", "gives each region an STag, and finds it", 10, "RFC 5042 6.1.1", 0,
	  register_step },
	{ "place", "places the payload of an RDMA Write", 10, "RFC 5041 4.2", 0, place_step },
	{ "stag", "refuses unknown STags, other PDs and streams", 10, "RFC 5041 8.2", 0,
	  stag_step },
	{ "rights", "refuses what the region was not registered for", 10, "RFC 5041 8.3.1, item 5",
	  0, rights_step },
	{ "bounds", "refuses octets outside of the region", 15, "RFC 5041 7.1", 0, bounds_step },
	{ "revoke", "places nothing after the end of a registration", 10, "RFC 5041 8.3.1, item 6",
	  0, revoke_step },
	{ "stop", "drops all segments after an error", 5, "RFC 5041 7.1", 0, stop_step },
	{ "read", "reads the source of a Read Request", 10, "RFC 5040 7.2", 0, read_step },
	{ "peer", "places and reads in a conversation of rping with mpa-probe", 10, "RFC 5040 5", 0,
	  lab_peer_step },
	{ 0 },
};

const struct lab lab_tagged = {
	.number = 2,
	.folder = "02-tagged",
	.title = "Tagged placement",
	.steps = steps,
	.trace = tagged_trace,
	.speed = tagged_speed,
};
