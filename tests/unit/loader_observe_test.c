// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The observing program: runs it on TCP segments with FPDUs, one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "loader/observe.h"

#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/num.h"

static struct iw_observe *o;
static struct iw_fault refused;
static struct iw_xdp_mpa before;

static int set_up(void **state)
{
	(void)state;
	if (iw_observe_load(&o, &refused) < 0)
		o = NULL;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	iw_observe_close(o);
	return 0;
}

#define NEEDS_XDP()                                                                                \
	do {                                                                                       \
		if (!o) {                                                                          \
			print_message("# needs xdp: %s\n", refused.text);                          \
			skip();                                                                    \
		}                                                                                  \
	} while (0)

static uint8_t stream[8192]; /* the octets of a connection, FPDU after FPDU */
static size_t stream_len;
static uint16_t sport = 1000;

static void put_fpdu(uint16_t ulpdu)
{
	size_t whole = (((size_t)2 + ulpdu + 3) & ~(size_t)3) + 4;

	memset(stream + stream_len, 0xee, whole);
	iw_put_be16(stream + stream_len, ulpdu);
	stream[stream_len + 2] = 0xc1; /* T, L, DDP version 1 */
	stream[stream_len + 3] = 0x40; /* RDMAP version 1, Write */
	stream_len += whole;
}

static size_t full_from; /* start of full operation, and of the first marker */

/* RFC 5044 4.3: a marker every 512 octets, itself included, beginning with the first FPDU. */
static void put_marked(const uint8_t *octets, size_t len)
{
	size_t begin = stream_len;

	for (size_t i = 0; i < len; i++) {
		if ((stream_len - full_from) % 512 == 0) {
			size_t back = stream_len > begin ? stream_len - begin : 0;

			iw_put_be32(stream + stream_len, (uint32_t)back);
			stream_len += 4;
			begin += back ? 0 : 4;
		}
		stream[stream_len++] = octets[i];
	}
}

static void put_marked_fpdu(uint16_t ulpdu)
{
	size_t whole = (((size_t)2 + ulpdu + 3) & ~(size_t)3) + 4;
	uint8_t octets[4096];

	memset(octets, 0xee, whole);
	iw_put_be16(octets, ulpdu);
	octets[2] = 0xc1;
	octets[3] = 0x40;
	put_marked(octets, whole);
}

/* RFC 6581: an FPDU without a ULPDU, as an RTR. */
static const uint8_t empty_fpdu[8] = { 0, 0, 0, 0, 0xc7, 0x4b, 0x67, 0x48 };

/* Each test has its own connection. */
static void begin(size_t pd_len)
{
	sport++;
	memset(stream, 0, sizeof(stream));
	memcpy(stream, "MPA ID Req Frame\x40\x01", 18);
	iw_put_be16(stream + 18, (uint16_t)pd_len);
	stream_len = full_from = 20 + pd_len;
	if (o)
		assert_int_equal(iw_observe_counters(o, &before), 0);
}

/* Runs the program on octets from..to of it, as one TCP segment. */
static void segment(size_t from, size_t to)
{
	uint8_t p[14 + 20 + 32 + 4096] = { [12] = 0x08, [14] = 0x45, [23] = 6 };
	static uint8_t out[sizeof(p)];
	union bpf_attr a;

	iw_put_be16(p + 16, (uint16_t)(20 + 32 + (to - from)));
	memcpy(p + 26, "\x0a\x00\x00\x01\x0a\x00\x00\x02", 8);
	iw_put_be16(p + 34, sport);
	iw_put_be16(p + 36, 7471);
	/* Close to the end of the sequence numbers, so that they wrap. */
	iw_put_be32(p + 38, 0xfffffff0u + (uint32_t)from);
	p[46] = 8 << 4;
	p[47] = 0x10;
	memcpy(p + 66, stream + from, to - from);
	memset(&a, 0, sizeof(a));
	a.test.prog_fd = (uint32_t)iw_observe_prog_fd(o);
	a.test.data_in = (uintptr_t)p;
	a.test.data_size_in = (uint32_t)(66 + to - from);
	a.test.data_out = (uintptr_t)out;
	a.test.data_size_out = sizeof(out);
	assert_int_equal(syscall(SYS_bpf, BPF_PROG_TEST_RUN, &a, sizeof(a)), 0);
	assert_int_equal(a.test.retval, XDP_PASS);
	assert_int_equal(a.test.data_size_out, a.test.data_size_in);
	assert_memory_equal(out, p, a.test.data_size_out);
}

static void told(struct iw_xdp_mpa *d)
{
	struct iw_xdp_mpa now;

	assert_int_equal(iw_observe_counters(o, &now), 0);
	for (size_t i = 0; i < sizeof(now) / sizeof(uint64_t); i++)
		((uint64_t *)d)[i] = ((uint64_t *)&now)[i] - ((uint64_t *)&before)[i];
}

static void segments_that_begin_with_an_fpdu_are_aligned(void **state)
{
	struct iw_xdp_mpa d;
	size_t at;

	(void)state;
	NEEDS_XDP();
	begin(7);
	segment(0, at = stream_len);
	for (int i = 0; i < 5; i++) {
		put_fpdu((uint16_t)(100 + i));
		segment(at, stream_len);
		at = stream_len;
	}
	told(&d);
	assert_int_equal(d.flows, 1);
	assert_int_equal(d.segments, 5);
	assert_int_equal(d.followed, 5);
	assert_int_equal(d.aligned, 5);
	assert_int_equal(d.fpdus, 5);
	assert_int_equal(d.lost + d.holes + d.resent, 0);
}

/* The FPDUs are the same for any cut, also if one divides a length. */
static void any_cut_finds_the_same_fpdus(void **state)
{
	(void)state;
	NEEDS_XDP();
	for (size_t cut = 1; cut <= 150; cut++) {
		struct iw_xdp_mpa d;
		size_t aligned = 0, start, n = 0, begins[8];

		begin(0);
		start = stream_len;
		for (uint16_t i = 0; i < 8; i++) {
			begins[i] = stream_len;
			put_fpdu((uint16_t)(30 + 70 * i));
		}
		segment(0, start);
		for (size_t at = start; at < stream_len; at += cut, n++) {
			segment(at, IW_MIN(at + cut, stream_len));
			for (int i = 0; i < 8; i++)
				aligned += begins[i] == at;
		}
		told(&d);
		assert_int_equal(d.fpdus, 8);
		assert_int_equal(d.followed, n);
		assert_int_equal(d.aligned, aligned);
		assert_int_equal(d.lost, 0);
	}
}

/* MPA-11, MPA-45: also if a segment ends in a marker, or an FPDU ends directly before one. */
static void markers_are_found_and_any_cut_finds_the_same_fpdus(void **state)
{
	/* A marker is due directly after the first one, and after the second. */
	static const uint16_t ulpdu[] = { 502, 1010, 30, 100, 1434, 14, 15, 600 };

	(void)state;
	NEEDS_XDP();
	for (size_t cut = 1; cut <= 1100; cut += cut < 140 ? 1 : 31) {
		size_t aligned = 0, n = 0, begins[IW_ARRAY_LEN(ulpdu)];
		struct iw_xdp_mpa d;

		begin(0);
		for (size_t i = 0; i < IW_ARRAY_LEN(ulpdu); i++) {
			begins[i] = stream_len;
			put_marked_fpdu(ulpdu[i]);
		}
		segment(0, full_from);
		for (size_t at = full_from; at < stream_len; at += cut, n++) {
			segment(at, IW_MIN(at + cut, stream_len));
			for (size_t i = 0; i < IW_ARRAY_LEN(ulpdu); i++)
				aligned += begins[i] == at;
		}
		told(&d);
		assert_int_equal(d.fpdus, IW_ARRAY_LEN(ulpdu));
		assert_int_equal(d.followed, n);
		assert_int_equal(d.aligned, aligned);
		assert_int_equal(d.lost, 0);
	}
}

static void hole_before_a_marker_is_skipped(void **state)
{
	struct iw_xdp_mpa d;
	size_t a, b;

	(void)state;
	NEEDS_XDP();
	begin(0);
	put_marked_fpdu(502);
	segment(0, stream_len);
	put_marked_fpdu(502);
	a = stream_len;
	/* A marker precedes this FPDU, and another one follows it. */
	assert_int_equal((a - full_from) % 512, 0);
	put_marked_fpdu(200);
	b = stream_len;
	put_marked_fpdu(201);
	segment(a, b);
	segment(b, stream_len);
	told(&d);
	assert_int_equal(d.holes, 1);
	assert_int_equal(d.lost, 0);
	assert_int_equal(d.aligned, 2);
	assert_int_equal(d.fpdus, 3);
}

static void connection_between_equals_begins_with_an_empty_fpdu(void **state)
{
	(void)state;
	NEEDS_XDP();
	for (int markers = 0; markers < 2; markers++)
		for (size_t cut = 1; cut <= 40; cut++) {
			struct iw_xdp_mpa d;

			begin(0);
			if (markers) {
				put_marked(empty_fpdu, sizeof(empty_fpdu));
				put_marked_fpdu(100);
				put_marked_fpdu(700);
			} else {
				memcpy(stream + stream_len, empty_fpdu, sizeof(empty_fpdu));
				stream_len += sizeof(empty_fpdu);
				put_fpdu(100);
				put_fpdu(700);
			}
			segment(0, full_from);
			for (size_t at = full_from; at < stream_len; at += cut)
				segment(at, IW_MIN(at + cut, stream_len));
			told(&d);
			assert_int_equal(d.fpdus, 3);
			assert_int_equal(d.lost, 0);
		}
}

static void start_up_and_first_fpdu_in_one_segment(void **state)
{
	struct iw_xdp_mpa d;
	size_t at;

	(void)state;
	NEEDS_XDP();
	begin(4);
	put_fpdu(20);
	put_fpdu(21);
	segment(0, at = stream_len);
	put_fpdu(22);
	segment(at, stream_len);
	told(&d);
	assert_int_equal(d.fpdus, 3);
	assert_int_equal(d.segments, 1);
	assert_int_equal(d.aligned, 1);
}

static void repeated_segment_is_counted_once(void **state)
{
	struct iw_xdp_mpa d;
	size_t at;

	(void)state;
	NEEDS_XDP();
	begin(0);
	segment(0, at = stream_len);
	put_fpdu(500);
	segment(at, stream_len);
	segment(at, stream_len);
	told(&d);
	assert_int_equal(d.resent, 1);
	assert_int_equal(d.fpdus, 1);
	assert_int_equal(d.segments, 1);
}

static void hole_is_skipped_where_segments_are_aligned(void **state)
{
	struct iw_xdp_mpa d;
	size_t a, b, c;

	(void)state;
	NEEDS_XDP();
	begin(0);
	segment(0, a = stream_len);
	put_fpdu(500);
	b = stream_len;
	put_fpdu(501);
	c = stream_len;
	put_fpdu(502);
	segment(a, b);
	segment(c, stream_len);
	told(&d);
	assert_int_equal(d.holes, 1);
	assert_int_equal(d.lost, 0);
	assert_int_equal(d.aligned, 2);
	/* The missing segment arrives late: the program has passed it. */
	segment(b, c);
	told(&d);
	assert_int_equal(d.resent, 1);
}

static void hole_before_the_middle_of_an_fpdu_loses_the_flow(void **state)
{
	struct iw_xdp_mpa d;
	size_t a;

	(void)state;
	NEEDS_XDP();
	begin(0);
	segment(0, a = stream_len);
	put_fpdu(3000);
	segment(a, a + 1000);
	segment(a + 2000, stream_len);
	told(&d);
	assert_int_equal(d.holes, 1);
	assert_int_equal(d.lost, 1);
	assert_int_equal(d.followed, 1);
}

static void impossible_length_loses_the_flow(void **state)
{
	static const uint16_t wrong[] = { 0, 13, 64769, 65535 };

	(void)state;
	NEEDS_XDP();
	for (size_t i = 0; i < IW_ARRAY_LEN(wrong); i++) {
		struct iw_xdp_mpa d;
		size_t at;

		begin(0);
		segment(0, at = stream_len);
		put_fpdu(100);
		iw_put_be16(stream + at, wrong[i]);
		segment(at, stream_len);
		segment(stream_len, stream_len + 10);
		told(&d);
		assert_int_equal(d.lost, 1);
		assert_int_equal(d.fpdus, 0);
		assert_int_equal(d.followed, 1);
	}
}

static void other_tcp_uses_no_flow(void **state)
{
	struct iw_xdp_mpa d;

	(void)state;
	NEEDS_XDP();
	begin(0);
	stream[15] = 'E';
	segment(0, 20);
	segment(20, 100);
	told(&d);
	assert_int_equal(d.packets, 2);
	assert_int_equal(d.flows, 0);
	assert_int_equal(d.segments, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(segments_that_begin_with_an_fpdu_are_aligned),
		cmocka_unit_test(any_cut_finds_the_same_fpdus),
		cmocka_unit_test(markers_are_found_and_any_cut_finds_the_same_fpdus),
		cmocka_unit_test(hole_before_a_marker_is_skipped),
		cmocka_unit_test(connection_between_equals_begins_with_an_empty_fpdu),
		cmocka_unit_test(start_up_and_first_fpdu_in_one_segment),
		cmocka_unit_test(repeated_segment_is_counted_once),
		cmocka_unit_test(hole_is_skipped_where_segments_are_aligned),
		cmocka_unit_test(hole_before_the_middle_of_an_fpdu_loses_the_flow),
		cmocka_unit_test(impossible_length_loses_the_flow),
		cmocka_unit_test(other_tcp_uses_no_flow),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
