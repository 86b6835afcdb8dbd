// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Ethernet frames around SCTP. */
#include "pkt/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "util/num.h"

static const uint8_t ether4[14] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00 };
static const uint8_t ether6[14] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd };

/* Builds a frame with 20 octets as the SCTP packet; returns its length. */
static size_t frame_of(uint8_t frame[static 128], struct iw_addr *src, struct iw_addr *dst,
		       const char *from, const char *to)
{
	size_t n;

	assert_int_equal(iw_addr_parse(src, from, 0), 0);
	assert_int_equal(iw_addr_parse(dst, to, 0), 0);
	memset(frame, 0, 128);
	n = iw_frame_head(frame, src->sa.sa_family == AF_INET ? ether4 : ether6, src, dst, NULL,
			  20);
	memset(frame + n, 0x5c, 20);
	return n + 20;
}

static void built_frame_parses_to_its_parts(void **state)
{
	static const char *const pair[][2] = { { "10.0.0.1", "10.0.0.2" },
					       { "fd00::1", "fd00::2" } };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct iw_addr src, dst;
		uint8_t frame[128];
		size_t n = frame_of(frame, &src, &dst, pair[i][0], pair[i][1]);
		struct iw_frame f;

		assert_int_equal(n, 14 + (i ? 40 : 20) + 20);
		assert_true(iw_frame_parse(&f, frame, n));
		assert_true(iw_addr_equal(&f.src, &src));
		assert_true(iw_addr_equal(&f.dst, &dst));
		assert_int_equal(f.len, 20);
		assert_int_equal(frame[f.at], 0x5c);
		/* Ethernet pads short frames: the length in the IP header applies. */
		assert_true(iw_frame_parse(&f, frame, n + 6));
		assert_int_equal(f.len, 20);
		for (size_t cut = 0; cut < n; cut++)
			assert_false(iw_frame_parse(&f, frame, cut));
	}
}

/* RFC 791 3.1: the checksum, DF and no fragment, calculated by hand. */
static void an_ipv4_header_is_correct_in_every_octet(void **state)
{
	static const uint8_t ip[20] = { 0x45, 0,    0,  40, 0x00, 0, 0x40, 0, 64, 132,
					0x26, 0x50, 10, 0,  0,    1, 10,   0, 0,  2 };
	struct iw_addr src, dst;
	uint8_t frame[128];

	(void)state;
	frame_of(frame, &src, &dst, "10.0.0.1", "10.0.0.2");
	assert_memory_equal(frame, ether4, 14);
	assert_memory_equal(frame + 14, ip, 20);
}

static void vlan_tags_are_skipped_up_to_two(void **state)
{
	struct iw_addr src, dst;
	uint8_t frame[128], tagged[140];
	size_t n = frame_of(frame, &src, &dst, "10.0.0.1", "10.0.0.2");
	struct iw_frame f;

	(void)state;
	for (size_t tags = 1; tags <= 3; tags++) {
		memcpy(tagged, frame, 12);
		for (size_t i = 0; i < tags; i++) {
			iw_put_be16(tagged + 12 + 4 * i, i + 1 < tags ? 0x88a8 : 0x8100);
			iw_put_be16(tagged + 14 + 4 * i, 7);
		}
		memcpy(tagged + 12 + 4 * tags, frame + 12, n - 12);
		assert_int_equal(iw_frame_parse(&f, tagged, n + 4 * tags), tags <= 2);
		if (tags <= 2)
			assert_int_equal(f.at, 34 + 4 * tags);
	}
}

static void malformed_headers_are_refused(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
	} bad[] = {
		{ 12, 0x09 }, /* another type */
		{ 14, 0x55 }, /* version 5 */
		{ 14, 0x44 }, /* a header of 16 octets */
		{ 17, 19 },   /* total length below the header's */
		{ 17, 41 },   /* and above the frame's */
		{ 20, 0x60 }, /* MF */
		{ 21, 1 },    /* an offset */
		{ 23, 17 },   /* UDP */
		{ 24, 0 },    /* the checksum */
		{ 26, 11 },   /* an octet that the checksum covers */
	};
	struct iw_addr src, dst;
	uint8_t frame[128];
	size_t n = frame_of(frame, &src, &dst, "10.0.0.1", "10.0.0.2");
	struct iw_frame f;

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(bad); i++) {
		uint8_t was = frame[bad[i].at];

		frame[bad[i].at] = bad[i].value;
		assert_false(iw_frame_parse(&f, frame, n));
		frame[bad[i].at] = was;
	}
	assert_true(iw_frame_parse(&f, frame, n));
}

static void ipv6_extension_headers_are_walked_within_bounds(void **state)
{
	struct iw_addr src, dst;
	uint8_t frame[128], longer[128] = { 0 };
	size_t n = frame_of(frame, &src, &dst, "fd00::1", "fd00::2");
	struct iw_frame f;

	(void)state;
	/* Destination options of 8 octets before SCTP. */
	memcpy(longer, frame, 54);
	longer[54] = 132;
	memcpy(longer + 62, frame + 54, 20);
	longer[20] = 60;
	iw_put_be16(longer + 18, 28);
	assert_true(iw_frame_parse(&f, longer, n + 8));
	assert_int_equal(f.at, 62);
	assert_int_equal(f.len, 20);
	longer[55] = 3; /* longer than the packet */
	assert_false(iw_frame_parse(&f, longer, n + 8));
	longer[55] = 0;
	longer[20] = 44; /* a fragment */
	assert_false(iw_frame_parse(&f, longer, n + 8));
}

/* RFC 768: the sum of the pseudo header, UDP's header and payload is all ones. */
static void in_udp_ports_lengths_and_the_checksum_are_right(void **state)
{
	static const char *const pair[][2] = { { "10.0.0.1", "10.0.0.2" },
					       { "fd00::1", "fd00::2" } };
	uint8_t sctp[33];

	(void)state;
	for (size_t i = 0; i < sizeof(sctp); i++)
		sctp[i] = (uint8_t)(i * 37);
	for (size_t i = 0; i < 2; i++) {
		size_t n, ip = 14, addresses = i ? 32 : 8;
		struct iw_addr src, dst;
		uint8_t frame[128] = { 0 };
		struct iw_frame f;
		uint32_t sum = 17 + 8 + sizeof(sctp);

		assert_int_equal(iw_addr_parse(&src, pair[i][0], 5000), 0);
		assert_int_equal(iw_addr_parse(&dst, pair[i][1], 9899), 0);
		n = iw_frame_head(frame, i ? ether6 : ether4, &src, &dst, sctp, sizeof(sctp));
		assert_int_equal(n, ip + (i ? 40 : 20) + 8);
		memcpy(frame + n, sctp, sizeof(sctp));
		for (size_t k = n - 8 - addresses; k < n + sizeof(sctp); k += 2)
			sum += iw_get_be16(frame + k); /* the octet after the last one is zero */
		sum = (sum & 0xffff) + (sum >> 16);
		assert_int_equal((sum & 0xffff) + (sum >> 16), 0xffff);
		assert_true(iw_frame_parse(&f, frame, n + sizeof(sctp)));
		assert_true(iw_addr_equal(&f.src, &src) && iw_addr_port(&f.src) == 5000);
		assert_true(iw_addr_equal(&f.dst, &dst) && iw_addr_port(&f.dst) == 9899);
		assert_int_equal(f.at, n);
		assert_int_equal(f.len, sizeof(sctp));
		iw_put_be16(frame + n - 4, 7); /* a length below the header's */
		assert_false(iw_frame_parse(&f, frame, n + sizeof(sctp)));
		iw_put_be16(frame + n - 4, 8 + sizeof(sctp) + 1); /* and above the frame's */
		assert_false(iw_frame_parse(&f, frame, n + sizeof(sctp)));
	}
}

/* Metadata of the steering program gives the same result; impossible metadata is rejected. */
static void notes_that_do_not_fit_the_frame_are_refused(void **state)
{
	struct iw_addr src, dst;
	uint8_t frame[128];
	size_t n = frame_of(frame, &src, &dst, "10.0.0.1", "10.0.0.2");
	const struct iw_xdp_meta right = { .ip = 14, .sctp = 34, .sctp_len = 20 };
	const struct iw_xdp_meta wrong[] = {
		{ .ip = 15, .sctp = 34, .sctp_len = 20 },
		{ .ip = 14, .sctp = 33, .sctp_len = 20 },
		{ .ip = 14, .sctp = 38, .sctp_len = 16 }, /* the options are not there */
		{ .ip = 14, .sctp = 34, .sctp_len = 21 },
		{ .ip = 14, .sctp = 34, .sctp_len = UINT16_MAX },
		{ .ip = 14, .sctp = UINT16_MAX, .sctp_len = 20 },
		{ .ip = UINT16_MAX, .sctp = 34, .sctp_len = 20 },
		{ .ip = 14, .sctp = 34, .sctp_len = 20, .flags = IW_XDP_META_IPV6 },
		{ .ip = 14, .sctp = 34, .sctp_len = 20, .flags = IW_XDP_META_UDP },
	};
	struct iw_frame f;

	(void)state;
	assert_true(iw_frame_from_meta(&f, frame, n, &right));
	assert_true(iw_addr_equal(&f.src, &src) && iw_addr_equal(&f.dst, &dst));
	assert_int_equal(f.at, 34);
	assert_int_equal(f.len, 20);
	for (size_t i = 0; i < IW_ARRAY_LEN(wrong); i++)
		assert_false(iw_frame_from_meta(&f, frame, n, &wrong[i]));
	for (size_t cut = 0; cut < n; cut++)
		assert_false(iw_frame_from_meta(&f, frame, cut, &right));
	frame[26]++; /* an octet that the header's checksum covers */
	assert_false(iw_frame_from_meta(&f, frame, n, &right));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(built_frame_parses_to_its_parts),
		cmocka_unit_test(an_ipv4_header_is_correct_in_every_octet),
		cmocka_unit_test(vlan_tags_are_skipped_up_to_two),
		cmocka_unit_test(malformed_headers_are_refused),
		cmocka_unit_test(ipv6_extension_headers_are_walked_within_bounds),
		cmocka_unit_test(in_udp_ports_lengths_and_the_checksum_are_right),
		cmocka_unit_test(notes_that_do_not_fit_the_frame_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
