/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lab 1: MPA framing (RFC 5044 4). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labs/grader/lab.h"
#include "labs/grader/peer/peer.h"
#include "labs/grader/picture.h"
#include "util/num.h"
#include "wire/crc32c.h"
#include "wire/ddp.h"
#include "wire/mpa.h"

enum { STATUS_OK, STATUS_MORE, STATUS_BAD_CRC, STATUS_BAD_LENGTH, STATUSES };

static const char *const statuses[] = {
	[STATUS_OK] = "FPDU_OK",
	[STATUS_MORE] = "FPDU_MORE",
	[STATUS_BAD_CRC] = "FPDU_BAD_CRC",
	[STATUS_BAD_LENGTH] = "FPDU_BAD_LENGTH",
};

enum {
	CASES = 30,
	SMALL = 200,                             /* octets of most ULPDUs */
	FPDU_MAX = IW_MPA_ULPDU_MAX + 2 + 3 + 4, /* without markers */
	/* A marker before every 508 octets of an FPDU, and one after the last. */
	MARKED_MAX =
		FPDU_MAX +
		IW_MPA_MARKER_LEN * (FPDU_MAX / (IW_MPA_MARKER_SPACING - IW_MPA_MARKER_LEN) + 2),
};

/* --- the expected FPDUs ------------------------------------------------------------------------- */

static size_t build(uint8_t *dst, const uint8_t *ulpdu, size_t len)
{
	size_t crc_at = iw_mpa_fpdu_len(len) - IW_MPA_CRC_LEN;

	iw_put_be16(dst, (uint16_t)len);
	memcpy(dst + IW_MPA_HEAD_LEN, ulpdu, len);
	memset(dst + IW_MPA_HEAD_LEN + len, 0, iw_mpa_pad(len));
	iw_put_le32(dst + crc_at, iw_crc32c(0, dst, crc_at));
	return crc_at + IW_MPA_CRC_LEN;
}

/* Appends a marker if one is due at *out. from: the octet of ULPDU_Length, or SIZE_MAX before it. */
static void mark(uint8_t *dst, size_t *out, uint32_t pos, size_t from)
{
	if ((pos + *out) % IW_MPA_MARKER_SPACING)
		return;
	iw_put_be16(dst + *out, 0);
	iw_put_be16(dst + *out + 2, from == SIZE_MAX ? 0 : (uint16_t)(*out - from));
	*out += IW_MPA_MARKER_LEN;
}

static size_t build_marked(uint8_t *dst, uint32_t pos, const uint8_t *ulpdu, size_t len)
{
	static uint8_t plain[FPDU_MAX];
	size_t end = build(plain, ulpdu, len) - IW_MPA_CRC_LEN, out = 0, from;

	mark(dst, &out, pos, SIZE_MAX);
	from = out;
	for (size_t i = 0; i < end; i++) {
		if (i)
			mark(dst, &out, pos, from);
		dst[out++] = plain[i];
	}
	mark(dst, &out, pos, from);
	iw_put_le32(dst + out, iw_crc32c(0, dst, out));
	return out + IW_MPA_CRC_LEN;
}

/* The length of the i-th ULPDU of a step: the edges first, then any. */
static size_t some_length(struct lab_run *run, size_t i)
{
	static const size_t edges[] = { 14, 15, 16,  17,  18,  1,    2,
					3,  4,  254, 255, 256, 1448, IW_MPA_ULPDU_MAX };

	if (i < sizeof(edges) / sizeof(edges[0]))
		return edges[i];
	return 1 + lab_below(run, i % 8 ? SMALL : IW_MPA_ULPDU_MAX);
}

static uint8_t ulpdu[IW_MPA_ULPDU_MAX], expected[MARKED_MAX];

/* --- crc, size ----------------------------------------------------------------------------------- */

static bool one_crc(struct lab_run *run, const char *text, const uint8_t *octets, size_t len)
{
	lab_case(run, "%s", text);
	lab_call(run, "crc32c");
	lab_put_octets(run, octets, len);
	return lab_run_call(run) &&
	       lab_expect_number(run, "the CRC32c", iw_crc32c(0, octets, len), lab_get_u32(run)) &&
	       lab_results_end(run);
}

static bool step_crc(struct lab_run *run)
{
	uint8_t octets[256];
	char text[40];

	memset(octets, 0, 32);
	if (!one_crc(run, "32 zero octets (RFC 3720 B.4)", octets, 32))
		return false;
	memset(octets, 0xff, 32);
	if (!one_crc(run, "32 octets 0xff (RFC 3720 B.4)", octets, 32))
		return false;
	for (size_t i = 0; i < 32; i++)
		octets[i] = (uint8_t)i;
	if (!one_crc(run, "32 octets 00 01 02 ... 1f (RFC 3720 B.4)", octets, 32) ||
	    !one_crc(run, "no octets", octets, 0))
		return false;
	for (size_t i = 0; i < CASES; i++) {
		size_t len = lab_below(run, sizeof(octets));

		lab_fill(run, octets, len);
		snprintf(text, sizeof(text), "%zu random octets", len);
		if (!one_crc(run, text, octets, len))
			return false;
	}
	return true;
}

static bool step_size(struct lab_run *run)
{
	for (size_t i = 0; i < 2 * CASES; i++) {
		size_t len = i < 12 ? i : some_length(run, i);

		lab_case(run, "a ULPDU of %zu octets", len);
		lab_call(run, "fpdu_size");
		lab_put_u64(run, len);
		if (!lab_run_call(run) ||
		    !lab_expect_number(run, "the size of the FPDU", iw_mpa_fpdu_len(len),
				       lab_get_u64(run)) ||
		    !lab_results_end(run))
			return false;
	}
	return true;
}

/* --- build, room, markers ------------------------------------------------------------------------ */

/* The results of fpdu_build() with room for all of it and some octets more. */
static bool expect_built(struct lab_run *run, size_t size, size_t cap)
{
	static uint8_t filled[64];
	size_t seen_size;
	struct lab_octets dst;
	bool unchanged;

	if (!lab_run_call(run))
		return false;
	seen_size = lab_get_u64(run);
	dst = lab_get_octets(run);
	unchanged = lab_get_u8(run);
	memset(filled, 0xee, sizeof(filled));
	return lab_results_end(run) &&
	       lab_expect_true(run, dst.len == cap, "calls.c was changed") &&
	       lab_expect_number(run, "the result", size, seen_size) &&
	       lab_expect_octets(run, "the FPDU", expected, size, dst.at, size) &&
	       lab_expect_octets(run, "dst after the FPDU, which must not change,", filled,
				 cap - size, dst.at + size, cap - size) &&
	       lab_expect_true(run, unchanged, "octets before dst were changed");
}

static bool step_build(struct lab_run *run)
{
	for (size_t i = 0; i < 2 * CASES; i++) {
		size_t len = some_length(run, i), size, more = i % 3 * 8;

		lab_fill(run, ulpdu, len);
		size = build(expected, ulpdu, len);
		more += 8; /* step room is about exact room */
		lab_case(run, "a ULPDU of %zu octets, room for %zu", len, size + more);
		lab_call(run, "fpdu_build");
		lab_put_u32(run, (uint32_t)(size + more));
		lab_put_octets(run, ulpdu, len);
		if (!expect_built(run, size, size + more))
			return false;
	}
	return true;
}

static bool one_refusal(struct lab_run *run, size_t len, size_t cap)
{
	static uint8_t filled[IW_MPA_ULPDU_MAX + 64];
	uint64_t result;
	struct lab_octets dst;

	lab_case(run, "a ULPDU of %zu octets, whose FPDU needs %zu, room for %zu", len,
		 iw_mpa_fpdu_len(len), cap);
	lab_call(run, "fpdu_build");
	lab_put_u32(run, (uint32_t)cap);
	lab_put_octets(run, filled, len);
	if (!lab_run_call(run))
		return false;
	result = lab_get_u64(run);
	dst = lab_get_octets(run);
	lab_get_u8(run);
	memset(filled, 0xee, cap);
	return lab_results_end(run) && lab_expect_number(run, "the result", 0, result) &&
	       lab_expect_octets(run, "dst, which must not change,", filled, cap, dst.at, dst.len);
}

static bool step_room(struct lab_run *run)
{
	for (size_t i = 0; i < CASES; i++) {
		size_t len = 1 + lab_below(run, SMALL), size = iw_mpa_fpdu_len(len);

		/* One octet too few, and with just enough room for the next case of step build. */
		if (!one_refusal(run, len, i < 8 ? size - 1 - i % 4 : lab_below(run, size)))
			return false;
		lab_fill(run, ulpdu, len);
		build(expected, ulpdu, len);
		lab_case(run, "a ULPDU of %zu octets, room for exactly %zu", len, size);
		lab_call(run, "fpdu_build");
		lab_put_u32(run, (uint32_t)size);
		lab_put_octets(run, ulpdu, len);
		if (!expect_built(run, size, size))
			return false;
	}
	lab_clause(run, "RFC 5044 3: the MULPDU is at most 64768 octets");
	return one_refusal(run, IW_MPA_ULPDU_MAX + 1, IW_MPA_ULPDU_MAX + 16);
}

static bool step_markers(struct lab_run *run)
{
	for (size_t i = 0; i < 2 * CASES; i++) {
		/* Positions just before, at and after a marker, then any multiple of four. */
		uint32_t pos = i < 16 ? (uint32_t)(512 * (i % 4) + 4 * (i / 4)) - 8 * (i % 4 > 0)
				      : (uint32_t)lab_random(run) & ~3u;
		size_t len = i % 2 ? some_length(run, i) : 400 + lab_below(run, 1200), size,
		       more = i % 3 * 8;

		lab_fill(run, ulpdu, len);
		size = build_marked(expected, pos, ulpdu, len);
		lab_case(run,
			 "a ULPDU of %zu octets at position %u (%u octets after a multiple of 512)",
			 len, pos, pos % 512);
		lab_call(run, "fpdu_build_marked");
		lab_put_u32(run, (uint32_t)(size + more));
		lab_put_u32(run, pos);
		lab_put_octets(run, ulpdu, len);
		if (!expect_built(run, size, size + more))
			return false;
	}
	return true;
}

/* --- parse, damage ------------------------------------------------------------------------------- */

/* Calls fpdu_parse() and expects the status; with STATUS_OK, the FPDU of a ULPDU of len octets. */
static bool expect_parse(struct lab_run *run, const uint8_t *stream, size_t stream_len,
			 unsigned int status, size_t len)
{
	uint8_t seen;

	lab_call(run, "fpdu_parse");
	lab_put_octets(run, stream, stream_len);
	if (!lab_run_call(run))
		return false;
	seen = lab_get_u8(run);
	if (!lab_expect_name(run, "the status", statuses, STATUSES, status, seen))
		return false;
	if (status != STATUS_OK)
		return lab_results_end(run);
	return lab_expect_number(run, "the begin of the ULPDU, in octets of the stream,",
				 IW_MPA_HEAD_LEN, lab_get_u64(run)) &&
	       lab_expect_number(run, "ulpdu_len", len, lab_get_u64(run)) &&
	       lab_expect_number(run, "the size of the FPDU", iw_mpa_fpdu_len(len),
				 lab_get_u64(run)) &&
	       lab_results_end(run);
}

static bool step_parse(struct lab_run *run)
{
	static uint8_t stream[FPDU_MAX + 64];

	for (size_t i = 0; i < 2 * CASES; i++) {
		size_t len = some_length(run, i), size, part;

		lab_fill(run, ulpdu, len);
		size = build(stream, ulpdu, len);
		lab_fill(run, stream + size, 64);
		lab_case(run, "an FPDU of %zu octets, and %zu octets of the next", size, i % 65);
		if (!expect_parse(run, stream, size + i % 65, STATUS_OK, len))
			return false;
		part = i < 3 ? i : i < 8 ? size - (i - 2) : lab_below(run, size);
		lab_case(run, "the first %zu octets of an FPDU of %zu", part, size);
		if (!expect_parse(run, stream, part, STATUS_MORE, 0))
			return false;
	}
	for (size_t i = 0; i < 4; i++) {
		size_t len = i < 2 ? IW_MPA_ULPDU_MAX + 1 + i : i < 3 ? 0xffff : 0xfe00;

		iw_put_be16(stream, (uint16_t)len);
		lab_case(run, "ULPDU_Length %zu, and no more octets", len);
		lab_clause(run, "RFC 5044 3: the MULPDU is at most 64768 octets");
		if (!expect_parse(run, stream, 2, STATUS_BAD_LENGTH, 0))
			return false;
	}
	return true;
}

static bool step_damage(struct lab_run *run)
{
	uint8_t stream[SMALL + 16];

	for (size_t i = 0; i < 2 * CASES; i++) {
		size_t len = 14 + lab_below(run, SMALL - 14), size, at, bit = lab_below(run, 8);

		lab_fill(run, ulpdu, len);
		size = build(stream, ulpdu, len);
		lab_case(run, "an undamaged FPDU of %zu octets", size);
		if (!expect_parse(run, stream, size, STATUS_OK, len))
			return false;
		/* In the CRC, in the padding, in the ULPDU; never in the length, which changes the size. */
		at = i % 3 == 0 ? size - 1 - i / 3 % 4 : 2 + lab_below(run, size - 2);
		if (i % 3 == 1 && iw_mpa_pad(len))
			at = 2 + len + lab_below(run, iw_mpa_pad(len));
		stream[at] ^= (uint8_t)(1u << bit);
		lab_case(run, "an FPDU of %zu octets (ULPDU %zu), bit %zu of octet %zu inverted",
			 size, len, bit, at);
		if (!expect_parse(run, stream, size, STATUS_BAD_CRC, 0))
			return false;
	}
	return true;
}

/* --- stream --------------------------------------------------------------------------------------- */

enum { STREAM_FPDUS = 12 };

struct stream {
	uint8_t octets[STREAM_FPDUS * (SMALL * 10 + 16)];
	size_t len;
	size_t begin[STREAM_FPDUS + 1], ulpdu_len[STREAM_FPDUS];
};

static void make_stream(struct lab_run *run, struct stream *s)
{
	s->len = 0;
	for (size_t i = 0; i < STREAM_FPDUS; i++) {
		size_t len = 14 + lab_below(run, i % 4 ? SMALL : 10 * SMALL - 14);

		lab_fill(run, ulpdu, len);
		s->begin[i] = s->len;
		s->ulpdu_len[i] = len;
		s->len += build(s->octets + s->len, ulpdu, len);
	}
	s->begin[STREAM_FPDUS] = s->len;
}

static bool framer_put(struct lab_run *run, const uint8_t *octets, size_t len)
{
	lab_call(run, "framer_put");
	lab_put_octets(run, octets, len);
	return lab_run_call(run) && lab_expect_number(run, "the result", 1, lab_get_u8(run)) &&
	       lab_results_end(run);
}

static bool framer_next(struct lab_run *run, unsigned int status, const struct stream *s, size_t i)
{
	struct lab_octets seen;

	lab_call(run, "framer_next");
	if (!lab_run_call(run) ||
	    !lab_expect_name(run, "the status", statuses, STATUSES, status, lab_get_u8(run)))
		return false;
	if (status != STATUS_OK)
		return lab_results_end(run);
	seen = lab_get_octets(run);
	return lab_results_end(run) &&
	       lab_expect_octets(run, "the ULPDU", s->octets + s->begin[i] + 2, s->ulpdu_len[i],
				 seen.at, seen.len);
}

static bool framer_call(struct lab_run *run, const char *name, bool result)
{
	lab_call(run, name);
	return lab_run_call(run) && (!result || lab_expect_number(run, "a receiver was made, which",
								  1, lab_get_u8(run)));
}

/* Feeds the stream in parts of 1 to part_max octets. After each part, takes what is complete. */
static bool feed(struct lab_run *run, const struct stream *s, size_t part_max, size_t *next)
{
	for (size_t at = 0; at < s->len;) {
		size_t part = 1 + lab_below(run, part_max), len = IW_MIN(part, s->len - at);

		lab_case(run, "octets %zu to %zu of a stream of %d FPDUs", at, at + len - 1,
			 STREAM_FPDUS);
		if (!framer_put(run, s->octets + at, len))
			return false;
		at += len;
		/* Sometimes leave complete FPDUs for later. */
		if (at < s->len && lab_below(run, 4) == 0)
			continue;
		for (; *next < STREAM_FPDUS && s->begin[*next + 1] <= at; ++*next)
			if (!framer_next(run, STATUS_OK, s, *next))
				return false;
		if (!framer_next(run, STATUS_MORE, s, 0))
			return false;
	}
	return true;
}

static bool one_stream(struct lab_run *run, size_t part_max)
{
	static struct stream s;
	size_t next = 0;

	make_stream(run, &s);
	return framer_call(run, "framer_new", true) && framer_next(run, STATUS_MORE, &s, 0) &&
	       feed(run, &s, part_max, &next) && framer_call(run, "framer_free", false);
}

/* A damaged FPDU ends the stream: whatever follows, the receiver reports the same. */
static bool damaged_stream(struct lab_run *run)
{
	static struct stream s;
	size_t bad = 1 + lab_below(run, STREAM_FPDUS - 2);

	make_stream(run, &s);
	s.octets[s.begin[bad] + 10] ^= 1;
	lab_clause(run, "RFC 5044 8: after an error the receiver delivers nothing more");
	lab_case(run, "a stream whose FPDU %zu is damaged", bad + 1);
	if (!framer_call(run, "framer_new", true) || !framer_put(run, s.octets, s.len))
		return false;
	for (size_t i = 0; i < bad; i++)
		if (!framer_next(run, STATUS_OK, &s, i))
			return false;
	for (size_t i = 0; i < 3; i++)
		if (!framer_next(run, STATUS_BAD_CRC, &s, 0))
			return false;
	make_stream(run, &s);
	lab_case(run, "the same stream, after more octets");
	return framer_put(run, s.octets, s.len) && framer_next(run, STATUS_BAD_CRC, &s, 0) &&
	       framer_call(run, "framer_free", false);
}

static bool step_stream(struct lab_run *run)
{
	static const size_t parts[] = { 100000, 1, 2, 7, 100, 1448 };
	uint64_t before;

	if (!lab_allocated(run, &before))
		return false;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!one_stream(run, parts[i]))
			return false;
	for (size_t i = 0; i < 4; i++)
		if (!damaged_stream(run))
			return false;
	lab_clause(run, NULL);
	lab_case(run, "after 10 receivers, all freed");
	return lab_expect_freed(run, before);
}

/* --- trace ------------------------------------------------------------------------------------------ */

/* A Write of three segments, and a Send, in FPDUs that the module built. */
static bool trace(struct lab_run *run, const char *path)
{
	struct lab_picture *p = lab_picture_new(run, path, true);
	bool ok = p != NULL;

	for (uint32_t i = 0; ok && i < 4; i++) {
		struct iw_ddp head = { .tagged = i < 3,
				       .last = i >= 2,
				       .dv = 1,
				       .rv = 1,
				       .opcode = i < 3 ? IW_OP_WRITE : IW_OP_SEND,
				       .stag = 0x12345600,
				       .to = i * (uint64_t)1000,
				       .msn = 1 };
		size_t len = (size_t)iw_wire_ddp_encode(ulpdu, sizeof(ulpdu), &head) +
			     (i < 2 ? 1000 : 123),
		       size;
		struct lab_octets dst;

		lab_call(run, "fpdu_build");
		lab_put_u32(run, (uint32_t)iw_mpa_fpdu_len(len));
		lab_put_octets(run, ulpdu, len);
		ok = lab_run_call(run);
		size = lab_get_u64(run);
		dst = lab_get_octets(run);
		ok = ok && lab_expect_true(run, size && size <= dst.len,
					   "fpdu_build() of %zu octets returned %zu", len, size);
		if (ok)
			lab_picture_octets(p, LAB_INITIATOR, dst.at, size);
	}
	return p && lab_picture_close(run, p) && ok;
}

/* --- speed ------------------------------------------------------------------------------------------ */

/* The project's code for the same work. */
static bool ours(const uint8_t *octets, size_t len, uint32_t n, uint8_t *dst)
{
	size_t crc_at = iw_mpa_fpdu_len(len) - IW_MPA_CRC_LEN;
	bool ok = true;

	while (n--) {
		uint32_t crc;

		iw_put_be16(dst, (uint16_t)len);
		crc = iw_crc32c_copy(iw_crc32c(0, dst, 2), dst + 2, octets, len);
		memset(dst + 2 + len, 0, iw_mpa_pad(len));
		iw_put_le32(dst + crc_at, iw_crc32c(crc, dst + 2 + len, iw_mpa_pad(len)));
		ok = iw_crc32c(0, dst, crc_at) == iw_get_le32(dst + crc_at) && ok;
	}
	return ok;
}

static bool theirs(struct lab_run *run, size_t len, uint32_t n)
{
	struct lab_octets dst;

	lab_call(run, "repeat");
	lab_put_u32(run, n);
	lab_put_octets(run, ulpdu, len);
	if (!lab_run_call_within(run, 30000))
		return false;
	dst = lab_get_octets(run);
	return lab_expect_octets(run, "the last FPDU", expected, iw_mpa_fpdu_len(len), dst.at,
				 dst.len) &&
	       lab_expect_name(run, "its status", statuses, STATUSES, STATUS_OK, lab_get_u8(run)) &&
	       lab_results_end(run);
}

static double median(double *v)
{
	double low = IW_MIN(v[0], v[1]), high = IW_MAX(v[0], v[1]);

	return IW_MIN(IW_MAX(low, v[2]), high);
}

static int speed(struct lab_run *run, struct lab_speed *results, size_t cap)
{
	static uint8_t dst[FPDU_MAX];
	const size_t len = 1448;
	double student[3], own[3];
	uint32_t n = 1000;
	uint64_t begin;

	if (!cap)
		return 0;
	lab_fill(run, ulpdu, len);
	build(expected, ulpdu, len);
	/* As many as take the student about 0.2 s. */
	begin = lab_now();
	if (!theirs(run, len, n))
		return -1;
	n = (uint32_t)IW_MIN(IW_MAX(n * (uint64_t)200000000 / (lab_now() - begin), 100), 2000000);
	for (size_t i = 0; i < 3; i++) {
		begin = lab_now();
		if (!theirs(run, len, n))
			return -1;
		student[i] = 8.0 * (double)len * n / (double)(lab_now() - begin);
		begin = lab_now();
		if (!ours(ulpdu, len, n, dst) || memcmp(dst, expected, iw_mpa_fpdu_len(len)))
			return -1;
		own[i] = 8.0 * (double)len * n / (double)(lab_now() - begin);
	}
	results[0] = (struct lab_speed){ .what = "FPDUs of 1,448 octets, built and parsed",
					 .unit = "Gb/s",
					 .student = median(student),
					 .ours = median(own) };
	return 1;
}

/* --- the lab ---------------------------------------------------------------------------------------- */

static const struct lab_step steps[] = {
	{ "crc", "the CRC32c of any octets", 10, "RFC 5044 4.4, RFC 3720 12.1 and B.4", 0,
	  step_crc },
	{ "size", "the size of an FPDU with its padding", 5, "RFC 5044 4.1", 0, step_size },
	{ "build", "an FPDU: length, ULPDU, padding, CRC", 20, "RFC 5044 4.1, 4.4", 0, step_build },
	{ "room", "an FPDU that does not fit is refused", 5, "framing.h: dst has cap octets", 0,
	  step_room },
	{ "parse", "an FPDU at the begin of a stream", 15, "RFC 5044 4.1, 6", 0, step_parse },
	{ "damage", "a damaged FPDU is found", 10, "RFC 5044 4.4", 0, step_damage },
	{ "stream", "FPDUs of a stream in any parts", 15, "RFC 5044 5.2, 6", 0, step_stream },
	{ "markers", "an FPDU with markers", 10, "RFC 5044 4.3", 0, step_markers },
	LAB_PEER_STEP,
	{ 0 },
};

const struct lab lab_framing = {
	.number = 1,
	.folder = "01-framing",
	.title = "MPA framing",
	.steps = steps,
	.trace = trace,
	.speed = speed,
};
