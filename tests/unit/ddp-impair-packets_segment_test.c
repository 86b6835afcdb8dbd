// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Rules over TCP segments that are not stopped until a unit is complete. */
#include "ddp-impair/packets/flow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "ddp-impair/packets/changes.h"
#include "ddp-impair/packets/early.h"
#include "ddp-impair/rules/framer.h"
#include "impair_maker.h"
#include "rng.h"

enum { FPDUS = 20, ISN = 0xfffffe00u, SEG = 1448 };

static struct impair_maker m;
static struct iw_flow flow;
static struct iw_fate fate;
static uint8_t stream[40000], got[40000];
static size_t len, at_fpdu[FPDUS + 1];

static void begin(const char *rules)
{
	impair_init(&m, IW_RULE_FRAMES, 1, rules);
	assert_int_equal(iw_flow_init(&flow, &m.cfg, 1, 0), 0);
}

static void end(void)
{
	iw_flow_fini(&flow);
	impair_fini(&m);
}

static void make_stream(bool markers)
{
	static uint8_t plain[4000];
	uint32_t pos = 0;

	len = impair_mpa_frame(stream, false, IW_MPA_C);
	for (size_t i = 0; i < FPDUS; i++) {
		size_t n = impair_fpdu(plain, i, i * 97 % 1500);

		at_fpdu[i] = len;
		if (!markers) {
			memcpy(stream + len, plain, n);
			len += n;
			continue;
		}
		iw_put_le32(plain + n - 4, iw_framer_crc(plain, n, true, pos));
		n = iw_framer_mark(stream + len, plain, n, pos);
		pos += (uint32_t)n;
		len += n;
	}
	at_fpdu[FPDUS] = len;
	memcpy(got, stream, len);
}

/* A segment from the initiator: octets at..at + n of the stream. */
static void send(size_t at, size_t n)
{
	uint8_t seg[SEG];

	memcpy(seg, stream + at, n);
	iw_flow_segment(&flow, 0, ISN + 1 + (uint32_t)at, false, seg, n, 0, &fate);
	assert_int_equal(fate.changed, memcmp(seg, stream + at, n) != 0);
	memcpy(got + at, seg, n);
}

/* Both SYNs, the Request, and the Reply with flags. */
static void start(uint8_t flags)
{
	uint8_t reply[IW_MPA_FRAME_LEN];

	(void)impair_mpa_frame(reply, true, flags);
	iw_flow_segment(&flow, 0, ISN, true, NULL, 0, 0, &fate);
	iw_flow_segment(&flow, 1, 7, true, NULL, 0, 0, &fate);
	send(0, IW_MPA_FRAME_LEN);
	iw_flow_segment(&flow, 1, 8, false, reply, sizeof(reply), 0, &fate);
}

/* Returns the number of FPDUs that differ; each must differ in bits bits besides its CRC, which is
 * right. */
static size_t changed_fpdus(bool markers, unsigned bits)
{
	static uint8_t plain[4000];
	size_t n = 0;

	for (size_t i = 0; i < FPDUS; i++) {
		size_t size = at_fpdu[i + 1] - at_fpdu[i], differ = 0;
		struct iw_unit u = { .markers = markers,
				     .pos = (uint32_t)(at_fpdu[i] - at_fpdu[0]),
				     .len = iw_mpa_fpdu_len(IW_DDP_TAGGED_LEN + i * 97 % 1500) };

		iw_framer_unmark(&u, plain, got + at_fpdu[i]);
		assert_int_equal(iw_get_le32(plain + u.len - 4),
				 iw_framer_crc(plain, u.len, markers, u.pos));
		for (size_t k = 0; k < size - 4; k++)
			differ += (size_t)__builtin_popcount(
				(unsigned)(got[at_fpdu[i] + k] ^ stream[at_fpdu[i] + k]));
		/* A marker between the octets of the CRC makes their place uncertain here. */
		n += differ > 0;
		if (differ && !markers)
			assert_int_equal(differ, bits);
	}
	return n;
}

static void a_bit_of_an_fpdu_is_flipped_whatever_the_segments(void **state)
{
	struct rng r = { 1 };

	(void)state;
	for (size_t round = 0; round < 60; round++) {
		bool markers = round % 2;

		make_stream(markers);
		begin("fpdu every=4: flip-bit payload fix-crc");
		start(markers ? IW_MPA_C | IW_MPA_M : IW_MPA_C);
		for (size_t at = IW_MPA_FRAME_LEN, n; at < len; at += n) {
			n = round < 4 ? SEG : 1 + rng_below(&r, SEG);
			n = IW_MIN(n, len - at);
			send(at, n);
		}
		/* A bit before the head was complete may have left; that is counted. */
		if (flow.missed == 0)
			assert_int_equal(changed_fpdus(markers, 1), FPDUS / 4);
		assert_int_equal(flow.number[0], FPDUS + 1);
		end();
	}
}

static void a_field_is_set_and_the_crc_in_a_later_segment_is_right(void **state)
{
	struct iw_ddp h;

	(void)state;
	make_stream(false);
	begin("fpdu nth=16: set stag=0x77 fix-crc");
	start(IW_MPA_C);
	for (size_t at = IW_MPA_FRAME_LEN, n; at < len; at += n) {
		n = IW_MIN((size_t)100, len - at);
		send(at, n);
	}
	assert_int_equal(flow.missed, 0);
	assert_int_equal(iw_wire_ddp_decode(&h, got + at_fpdu[15] + 2, 14), 14);
	assert_int_equal(h.stag, 0x77);
	assert_int_equal(changed_fpdus(false, 5), 1); /* 0x1234 and 0x77 differ in 5 bits */
	end();
}

static void without_fix_crc_only_the_crc_is_wrong(void **state)
{
	unsigned differ = 0;

	(void)state;
	make_stream(false);
	begin("fpdu nth=10: flip-bit payload");
	start(IW_MPA_C);
	for (size_t at = IW_MPA_FRAME_LEN, n; at < len; at += n) {
		n = IW_MIN((size_t)SEG, len - at);
		send(at, n);
	}
	for (size_t i = 0; i < len; i++)
		differ += (unsigned)__builtin_popcount((unsigned)(got[i] ^ stream[i]));
	assert_int_equal(differ, 1);
	assert_memory_equal(got, stream, at_fpdu[9]);
	end();
}

static void a_retransmission_is_no_unit_and_is_changed_alike(void **state)
{
	static uint8_t once[sizeof(got)];
	uint64_t units;

	(void)state;
	make_stream(false);
	begin("fpdu nth=2: set stag=1 fix-crc\nfpdu nth=3: drop");
	start(IW_MPA_C);
	send(at_fpdu[0], at_fpdu[2] - at_fpdu[0]);
	send(at_fpdu[2], at_fpdu[4] - at_fpdu[2]);
	assert_true(fate.dropped);
	memcpy(once, got, sizeof(got));
	units = flow.number[0];
	/* The dropped frame, and both in one. */
	send(at_fpdu[2], at_fpdu[4] - at_fpdu[2]);
	assert_false(fate.dropped);
	send(at_fpdu[0], at_fpdu[3] - at_fpdu[0]);
	assert_int_equal(flow.number[0], units);
	assert_memory_equal(got, once, at_fpdu[4]);
	send(at_fpdu[3], at_fpdu[6] - at_fpdu[3]);
	assert_int_equal(flow.number[0], units + 2);
	end();
}

static void a_change_does_not_return_after_4_gib(void **state)
{
	static struct iw_changes c;
	uint8_t octets[8] = { 0 };
	const uint32_t seq = 0xfffffffcu;

	(void)state;
	iw_changes_add(&c, seq + 6, 0x55);
	assert_true(iw_changes_apply(&c, seq, octets, sizeof(octets)));
	assert_int_equal(octets[6], 0x55);
	/* A retransmission, one window later. */
	assert_false(iw_changes_apply(&c, seq + (1u << 30) - 10, octets, sizeof(octets)));
	assert_true(iw_changes_apply(&c, seq, octets, sizeof(octets)));
	/* All sequence numbers, once around. */
	for (uint32_t i = 1; i < 8; i++)
		assert_false(iw_changes_apply(&c, seq + (i << 29), octets, sizeof(octets)));
	assert_false(iw_changes_apply(&c, seq, octets, sizeof(octets)));
}

static void segments_that_arrive_early_are_units_later(void **state)
{
	(void)state;
	make_stream(false);
	begin("fpdu nth=2: drop\nfpdu nth=4: delay 1ms");
	start(IW_MPA_C);
	send(at_fpdu[1], at_fpdu[3] - at_fpdu[1]);
	assert_int_equal(flow.number[0], 1);
	send(at_fpdu[0], at_fpdu[1] - at_fpdu[0]);
	/* The second FPDU has left: neither it nor this segment is dropped. */
	assert_false(fate.dropped);
	assert_int_equal(flow.missed, 1);
	assert_int_equal(flow.number[0], 4);
	send(at_fpdu[3], at_fpdu[4] - at_fpdu[3]);
	assert_int_equal(fate.delay_ns, IW_MSEC(1));
	/* Two gaps; one segment comes twice. */
	send(at_fpdu[7], at_fpdu[8] - at_fpdu[7]);
	send(at_fpdu[5], at_fpdu[6] - at_fpdu[5]);
	send(at_fpdu[5], at_fpdu[6] - at_fpdu[5]);
	send(at_fpdu[4], at_fpdu[5] - at_fpdu[4]);
	assert_int_equal(flow.number[0], 7);
	send(at_fpdu[6], at_fpdu[7] - at_fpdu[6]);
	assert_int_equal(flow.number[0], 9);
	end();
}

/* Pieces of a segmentation offload overtake each other, by more segments than one piece has. */
static void many_segments_arrive_early_in_any_order(void **state)
{
	enum { PIECE = 32 };
	struct rng r = { 7 };

	(void)state;
	make_stream(false);
	for (size_t round = 0; round < 8; round++) {
		size_t n = (len - at_fpdu[0]) / PIECE;
		size_t order[sizeof(stream) / PIECE];

		begin("fpdu nth=20: drop");
		start(IW_MPA_C);
		for (size_t i = 0; i < n; i++)
			order[i] = round % 2 ? n - i : i + 1;
		for (size_t i = 0; round > 1 && i < n; i++) {
			size_t k = rng_next(&r) % n, was = order[k];

			order[k] = order[i];
			order[i] = was;
		}
		assert_true(n > 200);
		for (size_t i = 0; i < n; i++) {
			size_t at = at_fpdu[0] + order[i] * PIECE;

			send(at, IW_MIN((size_t)PIECE, len - at));
		}
		assert_int_equal(flow.number[0], 1);
		send(at_fpdu[0], PIECE);
		assert_int_equal(flow.number[0], 1 + FPDUS);
		assert_int_equal(flow.missed, 1);
		assert_int_equal(flow.unread, 0);
		end();
	}
}

static void a_direction_with_too_many_early_segments_is_unread(void **state)
{
	uint8_t octet = 0;

	(void)state;
	make_stream(false);
	begin("fpdu: drop");
	start(IW_MPA_C);
	for (uint32_t i = 0; i < IW_EARLY_SEGMENTS; i++)
		iw_flow_segment(&flow, 0, ISN + 100000 + i, false, &octet, 1, 0, &fate);
	assert_int_equal(flow.unread, 0);
	iw_flow_segment(&flow, 0, ISN + 200000, false, &octet, 1, 0, &fate);
	assert_int_equal(flow.unread, 1);
	/* Passes, and is counted once. */
	send(at_fpdu[0], at_fpdu[1] - at_fpdu[0]);
	assert_false(fate.dropped);
	assert_int_equal(flow.unread, 1);
	end();
}

static void early_segments_of_all_flows_have_one_limit(void **state)
{
	enum { COST = sizeof(struct iw_early) + 1 };
	size_t total = IW_EARLY_TOTAL - COST;
	uint8_t octet = 0;

	(void)state;
	make_stream(false);
	begin("fpdu: drop");
	m.cfg.early = &total;
	start(IW_MPA_C);
	iw_flow_segment(&flow, 0, ISN + 100000, false, &octet, 1, 0, &fate);
	assert_int_equal(flow.unread, 0);
	assert_int_equal(total, IW_EARLY_TOTAL);
	iw_flow_segment(&flow, 0, ISN + 200000, false, &octet, 1, 0, &fate);
	assert_int_equal(flow.unread, 1);
	assert_int_equal(total, IW_EARLY_TOTAL - COST);
	end();
}

static void an_edit_of_octets_that_have_left_is_missed_once(void **state)
{
	(void)state;
	make_stream(false);
	begin("fpdu nth=2: set stag=0x778899aa fix-crc");
	start(IW_MPA_C);
	send(at_fpdu[1], at_fpdu[2] - at_fpdu[1]);
	send(at_fpdu[0], at_fpdu[1] - at_fpdu[0]);
	assert_int_equal(flow.missed, 1);
	end();
}

static void a_repeated_syn_does_not_begin_the_stream_again(void **state)
{
	(void)state;
	make_stream(false);
	begin("fpdu nth=2: drop");
	start(IW_MPA_C);
	send(at_fpdu[0], at_fpdu[1] - at_fpdu[0]);
	iw_flow_segment(&flow, 0, ISN, true, NULL, 0, 0, &fate);
	send(at_fpdu[1], at_fpdu[2] - at_fpdu[1]);
	assert_true(fate.dropped);
	end();
}

/* RFC 7413 */
static void a_syn_can_have_the_request(void **state)
{
	uint8_t reply[IW_MPA_FRAME_LEN];

	(void)state;
	make_stream(false);
	begin("fpdu nth=1: drop\nmpa-request: set rev=7");
	iw_flow_segment(&flow, 0, ISN, true, got, IW_MPA_FRAME_LEN, 0, &fate);
	assert_true(fate.changed && got[17] == 7);
	(void)impair_mpa_frame(reply, true, IW_MPA_C);
	iw_flow_segment(&flow, 1, 7, true, NULL, 0, 0, &fate);
	iw_flow_segment(&flow, 1, 8, false, reply, sizeof(reply), 0, &fate);
	send(at_fpdu[0], at_fpdu[1] - at_fpdu[0]);
	assert_true(fate.dropped);
	end();
}

static void a_start_up_frame_is_changed_and_its_flags_apply(void **state)
{
	uint8_t reply[IW_MPA_FRAME_LEN];

	(void)state;
	make_stream(false);
	begin("mpa-reply: set m=0\nfpdu nth=1: set stag=5");
	iw_flow_segment(&flow, 0, ISN, true, NULL, 0, 0, &fate);
	send(0, IW_MPA_FRAME_LEN);
	(void)impair_mpa_frame(reply, true, IW_MPA_C | IW_MPA_M);
	iw_flow_segment(&flow, 1, 8, false, reply, sizeof(reply), 0, &fate);
	assert_true(fate.changed);
	assert_int_equal(reply[16], IW_MPA_C);
	/* So the initiator sends no markers. */
	send(at_fpdu[0], at_fpdu[1] - at_fpdu[0]);
	assert_true(fate.changed);
	assert_int_equal(got[at_fpdu[0] + 7], 5);
	end();
}

static void octets_that_are_not_mpa_pass(void **state)
{
	struct rng r = { 3 };

	(void)state;
	begin("fpdu: drop\nmpa-request: drop");
	rng_fill(&r, stream, 20000);
	len = 20000;
	for (size_t at = 0; at < len; at += 1000) {
		send(at, 1000);
		assert_false(fate.dropped || fate.changed);
	}
	end();
}

static void without_memory_segments_pass_unchanged(void **state)
{
	(void)state;
	make_stream(false);
	for (size_t fail = 1; fail < 4; fail++) {
		begin("fpdu: flip-bit any");
		m.mem.fail_from = m.mem.calls + fail;
		start(IW_MPA_C);
		send(at_fpdu[0], at_fpdu[1] - at_fpdu[0]);
		assert_false(fate.dropped);
		m.mem.fail_from = 0;
		end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bit_of_an_fpdu_is_flipped_whatever_the_segments),
		cmocka_unit_test(a_field_is_set_and_the_crc_in_a_later_segment_is_right),
		cmocka_unit_test(without_fix_crc_only_the_crc_is_wrong),
		cmocka_unit_test(a_retransmission_is_no_unit_and_is_changed_alike),
		cmocka_unit_test(a_change_does_not_return_after_4_gib),
		cmocka_unit_test(segments_that_arrive_early_are_units_later),
		cmocka_unit_test(many_segments_arrive_early_in_any_order),
		cmocka_unit_test(a_direction_with_too_many_early_segments_is_unread),
		cmocka_unit_test(early_segments_of_all_flows_have_one_limit),
		cmocka_unit_test(an_edit_of_octets_that_have_left_is_missed_once),
		cmocka_unit_test(a_repeated_syn_does_not_begin_the_stream_again),
		cmocka_unit_test(a_syn_can_have_the_request),
		cmocka_unit_test(a_start_up_frame_is_changed_and_its_flags_apply),
		cmocka_unit_test(octets_that_are_not_mpa_pass),
		cmocka_unit_test(without_memory_segments_pass_unchanged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
