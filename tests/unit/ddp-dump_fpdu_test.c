// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* FPDUs, markers and CRCs, good and bad, and the search for FPDU boundaries (RFC 5044 4 and 6). */
#include "ddp-dump/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture_maker.h"
#include "rng.h"
#include "vectors/mpa.h"

/* A stream in full operation: end 0 has sent pos octets. */
struct sender {
	struct maker m;
	bool markers, crc;
	uint64_t pos;
	uint32_t msn;
	uint8_t fpdu[70000];
	size_t len;
};

static struct sender *begin(bool markers, bool crc)
{
	struct sender *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	maker_init(&s->m, NULL);
	s->markers = markers;
	s->crc = crc;
	set_up(&s->m, crc ? IW_MPA_C : 0, markers ? IW_MPA_M : 0);
	return s;
}

static void end(struct sender *s)
{
	maker_finish(&s->m);
	assert_true(maker_fini(&s->m));
	free(s);
}

/* Makes the next Send with len octets of payload in s->fpdu. */
static void build(struct sender *s, size_t payload)
{
	static uint8_t ulpdu[66000];

	s->len = make_fpdu(s->fpdu, s->pos, s->markers, s->crc, ulpdu,
			   make_send(ulpdu, ++s->msn, 0, true, payload));
	s->pos += s->len;
}

static void send_fpdu(struct sender *s, size_t payload)
{
	build(s, payload);
	say(&s->m, 0, s->fpdu, s->len);
}

/* The FPDU is sent and acknowledged, but not captured. */
static void lose_fpdu(struct sender *s, size_t payload)
{
	build(s, payload);
	s->m.seq[0] += (uint32_t)s->len;
	(void)tcp(&s->m, 1, ACK, s->m.seq[1], s->m.seq[0], NULL, 0);
}

/* Enough time for a hole to count as lost. */
static void wait_for_holes(struct sender *s)
{
	s->m.now_ns += IW_SEC(2);
	(void)tcp(&s->m, 1, ACK, s->m.seq[1], s->m.seq[0], NULL, 0);
}

static const struct iw_cap_ddp *ddp(const struct sender *s, size_t i)
{
	const struct told *t = nth(&s->m, IW_CAP_DDP, i);

	assert_non_null(t);
	return &t->ev.ddp;
}

static size_t ddps(const struct sender *s)
{
	return count_kind(&s->m, IW_CAP_DDP);
}

static size_t errors(const struct sender *s)
{
	return count_kind(&s->m, IW_CAP_ERROR);
}

static const struct iw_fault *error(const struct sender *s, size_t i)
{
	const struct told *t = nth(&s->m, IW_CAP_ERROR, i);

	assert_non_null(t);
	return &t->ev.error;
}

/* --- valid FPDUs --- */

static void every_length_is_walked_with_and_without_markers(void **state)
{
	(void)state;
	for (int markers = 0; markers < 2; markers++) {
		struct sender *s = begin(markers, true);

		for (size_t payload = 0; payload < 1100; payload++)
			send_fpdu(s, payload);
		assert_int_equal(ddps(s), 1100);
		assert_int_equal(errors(s), 0);
		for (size_t i = 0; i < 1100; i++) {
			assert_int_equal(ddp(s, i)->len, i);
			assert_int_equal(ddp(s, i)->crc, IW_CAP_CRC_GOOD);
			assert_int_equal(ddp(s, i)->marker != IW_CAP_MARKER_OFF, markers);
			assert_true(iw_cap_aligned(ddp(s, i)));
		}
		assert_int_equal(iw_cap_totals(s->m.cap)->markers,
				 markers ? (s->pos + 511) / 512 : 0);
		end(s);
	}
}

static void an_fpdu_of_the_largest_length_spans_segments(void **state)
{
	(void)state;
	for (int markers = 0; markers < 2; markers++) {
		struct sender *s = begin(markers, true);

		build(s, 65535 - 18);
		for (size_t at = 0; at < s->len; at += 1448)
			say(&s->m, 0, s->fpdu + at, IW_MIN((size_t)1448, s->len - at));
		send_fpdu(s, 10);
		assert_int_equal(ddps(s), 2);
		assert_int_equal(ddp(s, 0)->segment_len, 65535);
		assert_int_equal(ddp(s, 0)->crc, IW_CAP_CRC_GOOD);
		assert_int_equal(ddp(s, 0)->first_frame, 6);
		assert_int_equal(nth(&s->m, IW_CAP_DDP, 0)->ev.frame,
				 6 + (s->pos - s->len - 1) / 1448);
		assert_int_equal(errors(s), 0);
		end(s);
	}
}

/* The octets of RFC 5044 figures 5 and 6. */
static void the_figures_of_rfc_5044_have_good_crcs(void **state)
{
	struct sender *s = begin(true, true);

	(void)state;
	say(&s->m, 0, figure5, sizeof(figure5));
	assert_int_equal(ddp(s, 0)->crc, IW_CAP_CRC_GOOD);
	assert_int_equal(ddp(s, 0)->crc_wire, 0x52239983);
	assert_int_equal(ddp(s, 0)->segment_len, 42);
	assert_int_equal(errors(s), 0);
	end(s);

	s = begin(true, true);
	send_fpdu(s, FIGURE6_POS - 4 - 2 - 18 - 4);
	assert_int_equal(s->pos, FIGURE6_POS);
	say(&s->m, 0, figure6, sizeof(figure6));
	assert_int_equal(ddp(s, 1)->crc, IW_CAP_CRC_GOOD);
	assert_int_equal(ddp(s, 1)->crc_wire, 0x84925898);
	assert_int_equal(ddp(s, 1)->marker, IW_CAP_MARKER_GOOD);
	assert_int_equal(ddp(s, 1)->markers, 1);
	assert_int_equal(errors(s), 0);
	end(s);
}

static void a_marker_due_after_the_crc_is_not_awaited(void **state)
{
	struct sender *s = begin(true, true);

	(void)state;
	send_fpdu(s, 484);
	assert_int_equal(s->pos, 512);
	assert_int_equal(ddps(s), 1);
	send_fpdu(s, 0);
	assert_int_equal(ddps(s), 2);
	assert_int_equal(ddp(s, 1)->markers, 1);
	end(s);
}

static void pad_octets_that_are_not_zero_are_a_deviation_that_the_crc_covers(void **state)
{
	(void)state;
	for (size_t chunk = 1; chunk <= 64; chunk += 63) {
		struct sender *s = begin(false, true);
		uint32_t crc;

		build(s, 5);
		assert_int_equal(s->len, 32);
		s->fpdu[26] = 0x55;
		crc = iw_crc32c(0, s->fpdu, 28);
		iw_put_le32(s->fpdu + 28, crc);
		for (size_t at = 0; at < s->len; at += chunk)
			say(&s->m, 0, s->fpdu + at, IW_MIN(chunk, s->len - at));
		assert_int_equal(ddp(s, 0)->crc, IW_CAP_CRC_GOOD);
		assert_int_equal(nth(&s->m, IW_CAP_DDP, 0)->ev.deviations, IW_CAP_DEV_PAD);
		assert_int_equal(errors(s), 0);
		end(s);
	}
}

/* --- faulty FPDUs --- */

static void a_bad_crc_is_an_error_and_the_next_fpdu_is_found(void **state)
{
	(void)state;
	for (int markers = 0; markers < 2; markers++) {
		struct sender *s = begin(markers, true);

		send_fpdu(s, 100);
		build(s, 100);
		s->fpdu[40] ^= 1;
		say(&s->m, 0, s->fpdu, s->len);
		send_fpdu(s, 100);
		assert_int_equal(ddps(s), 3);
		assert_int_equal(ddp(s, 1)->crc, IW_CAP_CRC_BAD);
		assert_int_not_equal(ddp(s, 1)->crc_wire, ddp(s, 1)->crc_computed);
		assert_int_equal(ddp(s, 2)->crc, IW_CAP_CRC_GOOD);
		assert_int_equal(errors(s), 1);
		assert_int_equal(error(s, 0)->err, IW_E_MPA_CRC);
		assert_int_equal(error(s, 0)->offset, ddp(s, 1)->position);
		end(s);
	}
}

/* RFC 5044 6: a receiver must not trust the length of an FPDU with a bad CRC. */
static void a_corrupt_length_loses_the_boundaries_until_a_good_crc(void **state)
{
	struct sender *s = begin(false, true);

	(void)state;
	send_fpdu(s, 100);
	build(s, 100);
	s->fpdu[0] = 0x01;
	say(&s->m, 0, s->fpdu, s->len);
	for (int i = 0; i < 10; i++)
		send_fpdu(s, 100);
	assert_int_equal(ddp(s, 1)->crc, IW_CAP_CRC_BAD);
	/* the wrong length covers three FPDUs; the next one is found by its CRC */
	assert_int_equal(ddp(s, ddps(s) - 1)->hdr.msn, 12);
	assert_int_equal(ddp(s, ddps(s) - 1)->crc, IW_CAP_CRC_GOOD);
	assert_true(ddps(s) >= 9);
	assert_true(errors(s) >= 1 && errors(s) <= 3);
	end(s);
}

static void crcs_that_are_all_wrong_are_reported_one_by_one(void **state)
{
	struct sender *s = begin(false, false);

	(void)state;
	/* CRCs are agreed, but the sender's field is 0 */
	maker_fini(&s->m);
	maker_init(&s->m, NULL);
	set_up(&s->m, IW_MPA_C, IW_MPA_C);
	for (int i = 0; i < 20; i++)
		send_fpdu(s, 100);
	assert_int_equal(ddps(s), 20);
	for (size_t i = 0; i < 20; i++) {
		assert_int_equal(ddp(s, i)->crc, IW_CAP_CRC_BAD);
		assert_int_equal(ddp(s, i)->hdr.msn, i + 1);
	}
	assert_int_equal(errors(s), 20);
	end(s);
}

static void without_crc_the_field_is_not_judged(void **state)
{
	struct sender *s = begin(false, false);

	(void)state;
	build(s, 10);
	memset(s->fpdu + s->len - 4, 0xab, 4);
	say(&s->m, 0, s->fpdu, s->len);
	assert_int_equal(ddp(s, 0)->crc, IW_CAP_CRC_OFF);
	assert_int_equal(ddp(s, 0)->crc_wire, 0xabababab);
	assert_int_equal(errors(s), 0);
	end(s);
}

static void a_marker_that_points_elsewhere_is_an_error(void **state)
{
	struct sender *s = begin(true, true);
	uint32_t crc;

	(void)state;
	send_fpdu(s, 100);
	build(s, 1000);
	/* the first marker is at 512; the CRC covers its wrong value */
	iw_put_be16(s->fpdu + 512 - (s->pos - s->len) + 2, 16);
	crc = iw_crc32c(0, s->fpdu, s->len - 4);
	iw_put_le32(s->fpdu + s->len - 4, crc);
	say(&s->m, 0, s->fpdu, s->len);
	send_fpdu(s, 100);
	assert_int_equal(ddps(s), 3);
	assert_int_equal(ddp(s, 1)->marker, IW_CAP_MARKER_BAD);
	assert_int_equal(ddp(s, 1)->crc, IW_CAP_CRC_GOOD);
	assert_int_equal(errors(s), 1);
	assert_int_equal(error(s, 0)->err, IW_E_MPA_MARKER);
	end(s);
}

/* RFC 5044 4.3: the receiver ignores the two low bits and RESERVED. */
static void low_bits_of_fpduptr_and_reserved_do_not_matter(void **state)
{
	struct sender *s = begin(true, true);
	uint32_t crc;

	(void)state;
	build(s, 1000);
	iw_put_be16(s->fpdu + 512, 0x1234);
	s->fpdu[512 + 3] |= 3;
	crc = iw_crc32c(0, s->fpdu, s->len - 4);
	iw_put_le32(s->fpdu + s->len - 4, crc);
	say(&s->m, 0, s->fpdu, s->len);
	assert_int_equal(ddp(s, 0)->marker, IW_CAP_MARKER_GOOD);
	assert_int_equal(ddp(s, 0)->crc, IW_CAP_CRC_GOOD);
	assert_int_equal(errors(s), 0);
	end(s);
}

static void markers_that_were_not_agreed_are_an_error_and_read_all_the_same(void **state)
{
	(void)state;
	for (int agreed = 0; agreed < 2; agreed++) {
		struct sender *s = begin(agreed, true);

		s->markers = !agreed;
		for (int i = 0; i < 10; i++)
			send_fpdu(s, 300);
		assert_int_equal(ddps(s), 10);
		assert_int_equal(errors(s), 1);
		assert_int_equal(error(s, 0)->err, IW_E_MPA_MARKER);
		for (size_t i = 0; i < 10; i++)
			assert_int_equal(ddp(s, i)->crc, IW_CAP_CRC_GOOD);
		end(s);
	}
}

static void garbage_is_a_few_errors_and_then_silence(void **state)
{
	struct rng r = { 7 };
	uint8_t junk[1000];

	(void)state;
	for (int i = 0; i < 8; i++) {
		struct sender *s = begin(i & 1, i & 2);

		rng_fill(&r, junk, sizeof(junk));
		/* neither a DDP header nor a marker */
		memset(junk, 0x01, 4);
		for (int k = 0; k < 200; k++) {
			say(&s->m, 0, junk, sizeof(junk));
			rng_fill(&r, junk, sizeof(junk));
		}
		maker_finish(&s->m);
		assert_in_range(errors(s), 1, 20);
		assert_in_range(ddps(s), 1, 20);
		assert_in_range(iw_cap_totals(s->m.cap)->undecoded_octets, 1, 200000);
		assert_true(maker_fini(&s->m));
		free(s);
	}
}

/* --- holes --- */

static void a_hole_within_the_payload_prevents_only_the_crc_verdict(void **state)
{
	(void)state;
	for (int markers = 0; markers < 2; markers++) {
		struct sender *s = begin(markers, true);

		build(s, 3000);
		say(&s->m, 0, s->fpdu, 1000);
		s->m.seq[0] += 700;
		say(&s->m, 0, s->fpdu + 1700, s->len - 1700);
		send_fpdu(s, 100);
		wait_for_holes(s);
		wait_for_holes(s);
		assert_int_equal(ddps(s), 2);
		assert_int_equal(ddp(s, 0)->crc, IW_CAP_CRC_ABSENT);
		assert_int_equal(ddp(s, 0)->missing, 700);
		assert_true(ddp(s, 0)->has_header);
		assert_int_equal(ddp(s, 1)->crc, IW_CAP_CRC_GOOD);
		assert_int_equal(count_tcp(&s->m, IW_CAP_TCP_LOSS), 1);
		assert_true(nth(&s->m, IW_CAP_TCP, 0)->ev.tcp.sync);
		assert_int_equal(errors(s), 0);
		end(s);
	}
}

static void a_hole_up_to_the_last_octet_of_an_fpdu_keeps_the_boundaries(void **state)
{
	struct sender *s = begin(false, true);

	(void)state;
	build(s, 1000);
	say(&s->m, 0, s->fpdu, 500);
	s->m.seq[0] += (uint32_t)s->len - 500;
	send_fpdu(s, 100);
	wait_for_holes(s);
	wait_for_holes(s);
	assert_int_equal(ddps(s), 2);
	assert_int_equal(ddp(s, 0)->missing, s->pos - s->len - 500);
	assert_true(nth(&s->m, IW_CAP_TCP, 0)->ev.tcp.sync);
	end(s);
}

static void a_hole_in_the_header_leaves_lengths_and_no_header(void **state)
{
	struct sender *s = begin(false, true);

	(void)state;
	build(s, 1000);
	say(&s->m, 0, s->fpdu, 10);
	s->m.seq[0] += 20;
	say(&s->m, 0, s->fpdu + 30, s->len - 30);
	send_fpdu(s, 100);
	wait_for_holes(s);
	wait_for_holes(s);
	assert_int_equal(ddps(s), 2);
	assert_false(ddp(s, 0)->has_header);
	assert_int_equal(ddp(s, 0)->segment_len, 1018);
	assert_int_equal(iw_cap_totals(s->m.cap)->headless, 1);
	assert_int_equal(ddp(s, 1)->hdr.msn, 2);
	/* MSN 1 was not captured, so MSN 2 is not an error */
	assert_int_equal(errors(s), 0);
	end(s);
}

static void boundaries_are_found_again_by_the_crc_at_the_start_of_a_segment(void **state)
{
	struct sender *s = begin(false, true);

	(void)state;
	for (int i = 0; i < 3; i++)
		send_fpdu(s, 100);
	lose_fpdu(s, 100);
	send_fpdu(s, 100);
	send_fpdu(s, 100);
	wait_for_holes(s);
	wait_for_holes(s);
	assert_int_equal(ddps(s), 5);
	assert_int_equal(count_tcp(&s->m, IW_CAP_TCP_RESYNC), 1);
	assert_int_equal(nth(&s->m, IW_CAP_TCP, 1)->ev.tcp.why, IW_CAP_WHY_CRC);
	assert_int_equal(nth(&s->m, IW_CAP_TCP, 1)->ev.tcp.octets, 0);
	assert_int_equal(ddp(s, 3)->hdr.msn, 5);
	assert_int_equal(ddp(s, 3)->position, 4 * 124);
	assert_int_equal(errors(s), 0);
	end(s);
}

static void without_crc_a_sound_header_and_a_zero_field_are_enough(void **state)
{
	struct sender *s = begin(false, false);

	(void)state;
	send_fpdu(s, 100);
	lose_fpdu(s, 100);
	send_fpdu(s, 100);
	wait_for_holes(s);
	wait_for_holes(s);
	assert_int_equal(ddps(s), 2);
	assert_int_equal(nth(&s->m, IW_CAP_TCP, 1)->ev.tcp.why, IW_CAP_WHY_SHAPE);
	end(s);
}

static void a_header_guess_that_fails_reports_no_segment(void **state)
{
	struct sender *s = begin(false, true);
	uint8_t segment[400];

	(void)state;
	send_fpdu(s, 100);
	lose_fpdu(s, 100);
	/* looks like a Send at the start of a segment, but is payload */
	memset(segment, 0x77, sizeof(segment));
	iw_put_be16(segment, 200);
	(void)make_send(segment + 2, 9, 0, true, 0);
	say(&s->m, 0, segment, sizeof(segment));
	s->pos += sizeof(segment);
	send_fpdu(s, 100);
	wait_for_holes(s);
	wait_for_holes(s);
	assert_int_equal(ddps(s), 2);
	assert_int_equal(ddp(s, 1)->hdr.msn, 3);
	assert_int_equal(nth(&s->m, IW_CAP_TCP, 1)->ev.tcp.octets, sizeof(segment));
	assert_int_equal(iw_cap_totals(s->m.cap)->undecoded_octets, sizeof(segment));
	assert_int_equal(errors(s), 0);
	end(s);
}

/* No FPDU begins at the start of a segment: only markers show the boundaries. */
static void boundaries_are_found_again_by_a_marker(void **state)
{
	(void)state;
	for (size_t payload = 20; payload < 1200; payload += 31) {
		struct sender *s = begin(true, payload % 2);
		static uint8_t all[400000];
		size_t len = 0, before;

		for (int i = 0; i < 60; i++) {
			build(s, payload);
			memcpy(all + len, s->fpdu, s->len);
			len += s->len;
		}
		for (size_t at = 0; at < len; at += 997) {
			size_t n = IW_MIN((size_t)997, len - at);

			if (at / 997 == 10) {
				s->m.seq[0] += (uint32_t)n;
				continue;
			}
			say(&s->m, 0, all + at, n);
			(void)tcp(&s->m, 1, ACK, s->m.seq[1], s->m.seq[0], NULL, 0);
		}
		wait_for_holes(s);
		wait_for_holes(s);
		before = ddps(s);
		assert_int_equal(errors(s), 0);
		if (len > 15 * 997) {
			assert_int_equal(count_tcp(&s->m, IW_CAP_TCP_LOSS), 1);
			assert_true(nth(&s->m, IW_CAP_TCP, 0)->ev.tcp.sync ||
				    count_tcp(&s->m, IW_CAP_TCP_RESYNC) == 1);
			/* at most the octets of the hole, and those up to the next boundary */
			assert_true(before + 3 + 3 * 997 / (payload + 24) >= 60);
			assert_int_equal(ddp(s, before - 1)->hdr.msn, 60);
			assert_int_equal(ddp(s, before - 1)->position, s->pos - s->len);
		}
		end(s);
	}
}

static void octets_without_boundaries_are_counted_as_undecoded(void **state)
{
	struct sender *s = begin(false, true);
	uint8_t junk[100];

	(void)state;
	memset(junk, 0x77, sizeof(junk));
	send_fpdu(s, 100);
	lose_fpdu(s, 100);
	for (int i = 0; i < 50; i++)
		say(&s->m, 0, junk, sizeof(junk));
	maker_finish(&s->m);
	assert_int_equal(ddps(s), 1);
	assert_int_equal(iw_cap_totals(s->m.cap)->undecoded_octets, 5000);
	assert_int_equal(iw_cap_totals(s->m.cap)->lost_octets, 124);
	assert_true(maker_fini(&s->m));
	free(s);
}

/* --- any split --- */

static void damage_is_judged_alike_however_the_stream_is_cut(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 30; seed++) {
		struct rng r = { seed };
		bool markers = seed & 1, crc = seed & 2;
		static uint8_t all[100000];
		size_t len = 0, n[3] = { 0 }, bad[3] = { 0 };
		struct sender *s = begin(markers, crc);

		for (int i = 0; i < 60; i++) {
			build(s, rng_below(&r, 1200));
			if (rng_below(&r, 12) == 0)
				s->fpdu[4 + rng_below(&r, s->len - 4)] ^= 1;
			memcpy(all + len, s->fpdu, s->len);
			len += s->len;
		}
		/* in large segments, octet by octet, and in odd sizes: the result is the same,
		 * because nothing is lost */
		for (int way = 0; way < 3; way++) {
			size_t step = way == 0 ? 60000 : way == 1 ? 1 : 777;

			maker_fini(&s->m);
			maker_init(&s->m, NULL);
			set_up(&s->m, crc ? IW_MPA_C : 0, markers ? IW_MPA_M : 0);
			for (size_t at = 0; at < len; at += step)
				say(&s->m, 0, all + at, IW_MIN(step, len - at));
			if (count_tcp(&s->m, IW_CAP_TCP_RESYNC))
				continue;
			n[way] = ddps(s);
			bad[way] = errors(s);
		}
		for (int way = 1; way < 3; way++) {
			if (!n[0] || !n[way])
				continue;
			assert_int_equal(n[way], n[0]);
			assert_int_equal(bad[way], bad[0]);
		}
		end(s);
	}
}

static void a_good_crc_keeps_the_boundaries_whatever_the_header_says(void **state)
{
	struct sender *s = begin(false, true);

	(void)state;
	for (int i = 0; i < 5; i++) {
		uint32_t crc;

		build(s, 100);
		s->fpdu[3] = 0x4f;
		crc = iw_crc32c(0, s->fpdu, s->len - 4);
		iw_put_le32(s->fpdu + s->len - 4, crc);
		say(&s->m, 0, s->fpdu, s->len);
	}
	assert_int_equal(ddps(s), 5);
	assert_int_equal(errors(s), 5);
	assert_int_equal(error(s, 4)->err, IW_E_RO_OPCODE);
	end(s);
}

static void a_valid_header_with_a_bad_crc_is_reported_even_after_garbage(void **state)
{
	struct sender *s = begin(false, true);

	(void)state;
	build(s, 100);
	s->fpdu[3] = 0x4f;
	say(&s->m, 0, s->fpdu, s->len);
	build(s, 100);
	s->fpdu[50] ^= 1;
	say(&s->m, 0, s->fpdu, s->len);
	send_fpdu(s, 100);
	assert_int_equal(ddps(s), 3);
	assert_int_equal(errors(s), 2);
	assert_int_equal(ddp(s, 1)->crc, IW_CAP_CRC_BAD);
	end(s);
}

/* The CRC of an FPDU begins with the marker before it. */
static void an_fpdu_directly_after_a_marker_is_found_with_that_marker(void **state)
{
	static uint8_t all[20 * 1024];
	struct sender *s = begin(true, true);

	(void)state;
	for (int i = 0; i < 20; i++) {
		build(s, 992);
		assert_int_equal(s->len, 1024);
		memcpy(all + i * 1024, s->fpdu, 1024);
	}
	/* the hole ends 24 octets before such a marker */
	say(&s->m, 0, all, 3000);
	s->m.seq[0] += 1072;
	say(&s->m, 0, all + 4072, sizeof(all) - 4072);
	wait_for_holes(s);
	wait_for_holes(s);
	assert_int_equal(ddps(s), 2 + 16);
	assert_int_equal(ddp(s, 2)->hdr.msn, 5);
	assert_int_equal(ddp(s, 2)->crc, IW_CAP_CRC_GOOD);
	assert_int_equal(iw_cap_totals(s->m.cap)->undecoded_octets, 3000 - 2048 + 24);
	end(s);
}

static void without_crc_a_header_that_is_not_quite_sound_is_no_boundary(void **state)
{
	struct sender *s = begin(false, false);
	uint8_t decoy[124] = { 0 };

	(void)state;
	send_fpdu(s, 100);
	lose_fpdu(s, 100);
	/* DV 1, RV 0 */
	iw_put_be16(decoy, 118);
	(void)make_send(decoy + 2, 2, 0, true, 100);
	decoy[3] = 0x03;
	memset(decoy + 120, 0, 4);
	say(&s->m, 0, decoy, sizeof(decoy));
	s->pos += sizeof(decoy);
	send_fpdu(s, 100);
	wait_for_holes(s);
	wait_for_holes(s);
	assert_int_equal(ddps(s), 2);
	assert_int_equal(ddp(s, 1)->hdr.msn, 3);
	end(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_length_is_walked_with_and_without_markers),
		cmocka_unit_test(an_fpdu_of_the_largest_length_spans_segments),
		cmocka_unit_test(the_figures_of_rfc_5044_have_good_crcs),
		cmocka_unit_test(a_marker_due_after_the_crc_is_not_awaited),
		cmocka_unit_test(pad_octets_that_are_not_zero_are_a_deviation_that_the_crc_covers),
		cmocka_unit_test(a_bad_crc_is_an_error_and_the_next_fpdu_is_found),
		cmocka_unit_test(a_corrupt_length_loses_the_boundaries_until_a_good_crc),
		cmocka_unit_test(crcs_that_are_all_wrong_are_reported_one_by_one),
		cmocka_unit_test(without_crc_the_field_is_not_judged),
		cmocka_unit_test(a_marker_that_points_elsewhere_is_an_error),
		cmocka_unit_test(low_bits_of_fpduptr_and_reserved_do_not_matter),
		cmocka_unit_test(markers_that_were_not_agreed_are_an_error_and_read_all_the_same),
		cmocka_unit_test(garbage_is_a_few_errors_and_then_silence),
		cmocka_unit_test(a_hole_within_the_payload_prevents_only_the_crc_verdict),
		cmocka_unit_test(a_hole_up_to_the_last_octet_of_an_fpdu_keeps_the_boundaries),
		cmocka_unit_test(a_hole_in_the_header_leaves_lengths_and_no_header),
		cmocka_unit_test(boundaries_are_found_again_by_the_crc_at_the_start_of_a_segment),
		cmocka_unit_test(without_crc_a_sound_header_and_a_zero_field_are_enough),
		cmocka_unit_test(a_header_guess_that_fails_reports_no_segment),
		cmocka_unit_test(boundaries_are_found_again_by_a_marker),
		cmocka_unit_test(octets_without_boundaries_are_counted_as_undecoded),
		cmocka_unit_test(damage_is_judged_alike_however_the_stream_is_cut),
		cmocka_unit_test(a_good_crc_keeps_the_boundaries_whatever_the_header_says),
		cmocka_unit_test(a_valid_header_with_a_bad_crc_is_reported_even_after_garbage),
		cmocka_unit_test(an_fpdu_directly_after_a_marker_is_found_with_that_marker),
		cmocka_unit_test(without_crc_a_header_that_is_not_quite_sound_is_no_boundary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
