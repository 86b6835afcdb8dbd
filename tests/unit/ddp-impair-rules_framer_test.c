// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The passive reader of MPA connections: units at any division of the octets, and markers. */
#include "ddp-impair/rules/framer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impair_maker.h"
#include "rng.h"

#define FPDUS 30

static struct iw_framer f;
static uint8_t stream[FPDUS * 1200], plain[FPDUS * 1200];
static size_t stream_len, plain_len;

static void start_up(uint8_t request, uint8_t reply)
{
	uint8_t frame[IW_MPA_FRAME_LEN];
	struct iw_unit u;

	iw_framer_init(&f, 1);
	for (unsigned from = 0; from < 2; from++) {
		(void)impair_mpa_frame(frame, from, from ? reply : request);
		assert_false(iw_framer_peek(&f, from, frame, 19, false, 0, &u));
		assert_true(iw_framer_peek(&f, from, frame, 20, false, 0, &u));
		assert_int_equal(u.kind, from ? IW_UNIT_REPLY : IW_UNIT_REQUEST);
		assert_int_equal(u.number, 1);
		assert_int_equal(u.wire_len, 20);
		iw_framer_take(&f, &u, NULL);
	}
}

/* RFC 5044 4.3 and 4.4: the markers of the FPDU at position pos, and the CRC over them. */
static void check_wire(size_t pos, size_t len, uint32_t crc)
{
	size_t head = pos + (pos % 512 ? 0 : 4);

	for (size_t at = (pos + 511) / 512 * 512; at < pos + len; at += 512) {
		assert_int_equal(iw_get_be16(stream + at), 0);
		assert_int_equal(iw_get_be16(stream + at + 2), at < head ? 0 : at - head);
	}
	assert_int_equal(crc, iw_crc32c(0, stream + pos, len - 4));
}

/* FPDUs of different lengths, with the octets of the wire in stream, and without markers in plain. */
static void make_stream(bool markers)
{
	stream_len = plain_len = 0;
	for (size_t i = 0; i < FPDUS; i++) {
		uint8_t *p = plain + plain_len;
		size_t n = impair_fpdu(p, i, i * 33 % 700);

		iw_put_le32(p + n - 4, iw_framer_crc(p, n, markers, (uint32_t)stream_len));
		if (markers) {
			size_t wire =
				iw_framer_mark(stream + stream_len, p, n, (uint32_t)stream_len);

			check_wire(stream_len, wire, iw_get_le32(p + n - 4));
			stream_len += wire;
		} else {
			memcpy(stream + stream_len, p, n);
			stream_len += n;
		}
		plain_len += n;
	}
}

/* Shows at most `most` octets more at each step. */
static void read_stream(struct rng *r, size_t most)
{
	size_t at = 0, seen = 0, out = 0, n = 1;
	static uint8_t flat[70000];
	struct iw_unit u;

	while (at < stream_len) {
		seen += 1 + rng_below(r, most);
		seen = IW_MIN(seen, stream_len);
		while (iw_framer_peek(&f, 0, stream + at, seen - at, false, 5, &u)) {
			assert_int_equal(u.kind, IW_UNIT_FPDU);
			assert_int_equal(u.ops, 1 << IW_OP_WRITE);
			assert_int_equal(u.number, n + 1);
			if (u.wire_len > seen - at)
				break;
			iw_framer_unmark(&u, flat, stream + at);
			assert_memory_equal(flat, plain + out, u.len);
			assert_int_equal(iw_get_le32(flat + u.len - 4),
					 iw_framer_crc(flat, u.len, u.markers, u.pos));
			iw_framer_take(&f, &u, NULL);
			at += u.wire_len;
			out += u.len;
			n++;
		}
	}
	assert_int_equal(at, stream_len);
	assert_int_equal(n, FPDUS + 1);
}

static void any_division_gives_the_same_units(void **state)
{
	struct rng r = { 7 };

	(void)state;
	for (int markers = 0; markers < 2; markers++) {
		make_stream(markers);
		for (size_t most = 1; most < 5000; most = most * 3 + 1) {
			start_up(IW_MPA_C, markers ? IW_MPA_C | IW_MPA_M : IW_MPA_C);
			read_stream(&r, most);
		}
	}
}

static void markers_are_right_at_every_position(void **state)
{
	uint8_t fpdu[800];

	(void)state;
	for (size_t pos = 0; pos < 2048; pos += 4) {
		size_t n = impair_fpdu(fpdu, pos, pos % 600), wire;
		uint32_t crc = iw_framer_crc(fpdu, n, true, (uint32_t)pos);

		iw_put_le32(fpdu + n - 4, crc);
		wire = iw_framer_mark(stream + pos, fpdu, n, (uint32_t)pos);
		assert_int_equal(wire, iw_framer_mark(NULL, fpdu, n, (uint32_t)pos));
		check_wire(pos, wire, crc);
	}
}

static void markers_follow_the_flags_of_the_other_end(void **state)
{
	uint8_t fpdu[200];
	struct iw_unit u;

	(void)state;
	(void)impair_fpdu(fpdu, 0, 80);
	start_up(IW_MPA_M, 0);
	assert_true(iw_framer_peek(&f, 0, fpdu, sizeof(fpdu), false, 0, &u));
	assert_true(!u.markers && !u.sealed);
	assert_true(iw_framer_peek(&f, 1, fpdu, sizeof(fpdu), false, 0, &u));
	assert_true(u.markers);
	start_up(0, IW_MPA_C);
	assert_true(iw_framer_peek(&f, 0, fpdu, sizeof(fpdu), false, 0, &u));
	assert_true(u.sealed);
}

static void changed_start_up_frames_apply_as_they_were_received(void **state)
{
	uint8_t request[20], reply[20], sent[20], fpdu[200];
	struct iw_unit u;

	(void)state;
	(void)impair_fpdu(fpdu, 0, 80);
	(void)impair_mpa_frame(request, false, IW_MPA_C);
	(void)impair_mpa_frame(reply, true, IW_MPA_C);
	(void)impair_mpa_frame(sent, true, IW_MPA_M);
	iw_framer_init(&f, 1);
	assert_true(iw_framer_peek(&f, 0, request, 20, false, 0, &u));
	iw_framer_take(&f, &u, NULL);
	assert_true(iw_framer_peek(&f, 1, reply, 20, false, 0, &u));
	iw_framer_take(&f, &u, sent);
	/* The initiator saw M = 1, C = 0; its own C stands. */
	assert_true(iw_framer_peek(&f, 0, fpdu, sizeof(fpdu), false, 0, &u));
	assert_true(u.markers && u.sealed);
}

static void what_is_not_mpa_is_octets(void **state)
{
	uint8_t frame[40] = "MPA ID Req Frxme", fpdu[200];
	struct iw_unit u;

	(void)state;
	iw_framer_init(&f, 1);
	assert_false(iw_framer_peek(&f, 0, frame, 12, false, 0, &u));
	assert_true(iw_framer_peek(&f, 0, frame, 12, true, 0, &u));
	assert_int_equal(u.kind, IW_UNIT_OCTETS);
	assert_true(iw_framer_peek(&f, 0, frame, 16, false, 0, &u));
	assert_int_equal(u.kind, IW_UNIT_OCTETS);
	assert_int_equal(u.wire_len, 16);
	iw_framer_take(&f, &u, NULL);
	assert_true(iw_framer_peek(&f, 0, frame, 3, false, 0, &u));
	assert_int_equal(u.kind, IW_UNIT_OCTETS);
	/* RFC 5044 7.1.2: no FPDU follows a rejection. */
	start_up(0, IW_MPA_R);
	(void)impair_fpdu(fpdu, 0, 80);
	assert_true(iw_framer_peek(&f, 0, fpdu, sizeof(fpdu), false, 0, &u));
	assert_int_equal(u.kind, IW_UNIT_OCTETS);
	/* The stream ends inside an FPDU. */
	start_up(0, 0);
	assert_true(iw_framer_peek(&f, 0, fpdu, 90, true, 0, &u));
	assert_int_equal(u.kind, IW_UNIT_OCTETS);
	/* After a marker and one octet of ULPDU_Length: the octets are those on the wire. */
	start_up(0, IW_MPA_M);
	(void)iw_framer_mark(stream, fpdu, impair_fpdu(fpdu, 0, 80), 0);
	for (size_t n = 5; n < 90; n++) {
		assert_true(iw_framer_peek(&f, 0, stream, n, true, 0, &u));
		assert_int_equal(u.kind, IW_UNIT_OCTETS);
		assert_ptr_equal(u.octets, stream);
		assert_int_equal(u.have, n);
	}
}

static void an_initiator_waits_for_the_reply(void **state)
{
	uint8_t request[20], fpdu[200];
	struct iw_unit u;

	(void)state;
	iw_framer_init(&f, 1);
	(void)impair_mpa_frame(request, false, 0);
	assert_true(iw_framer_peek(&f, 0, request, 20, false, 0, &u));
	iw_framer_take(&f, &u, NULL);
	(void)impair_fpdu(fpdu, 0, 80);
	assert_false(iw_framer_peek(&f, 0, fpdu, sizeof(fpdu), false, 0, &u));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_division_gives_the_same_units),
		cmocka_unit_test(markers_are_right_at_every_position),
		cmocka_unit_test(markers_follow_the_flags_of_the_other_end),
		cmocka_unit_test(changed_start_up_frames_apply_as_they_were_received),
		cmocka_unit_test(what_is_not_mpa_is_octets),
		cmocka_unit_test(an_initiator_waits_for_the_reply),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
