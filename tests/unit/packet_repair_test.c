// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Lengths and checksums after the payload of a frame was changed. */
#include "packet/repair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "impair_maker.h"

enum { LEN = 101 };

static uint8_t frame[2000], payload[LEN];

static enum iw_packet_kind parse(struct iw_packet *p, size_t len)
{
	return iw_packet_parse(p, IW_PACKET_ETHERNET, frame, len, len, 9899);
}

static void make(bool v6, uint8_t protocol, size_t len, struct iw_packet *p, size_t *frame_len,
		 enum iw_packet_kind *kind)
{
	for (size_t i = 0; i < len; i++)
		payload[i] = (uint8_t)(i * 3);
	*frame_len = impair_frame(frame, v6, 0, protocol, 9899, 1000, IW_TCP_ACK, payload, len);
	assert_true(impair_frame_is_right(frame, v6));
	*kind = parse(p, *frame_len);
	assert_int_equal(*kind, protocol == 6 ? IW_PACKET_TCP : IW_PACKET_SCTP);
	assert_int_equal(p->len, len);
}

static void checksums_are_right_after_a_change(void **state)
{
	static const uint8_t protocols[] = { 6, 17 };
	struct iw_packet p;
	enum iw_packet_kind kind;
	size_t len;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		bool v6 = i & 1;

		make(v6, protocols[i / 2], LEN, &p, &len, &kind);
		frame[p.data - frame + LEN - 1] ^= 0x10;
		assert_false(impair_frame_is_right(frame, v6));
		assert_int_equal(iw_packet_repair(frame, len, &p, kind, LEN), len);
		assert_true(impair_frame_is_right(frame, v6));
	}
}

static void a_shorter_payload_shortens_every_header_and_keeps_the_padding(void **state)
{
	struct iw_packet p;
	enum iw_packet_kind kind;
	size_t len;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		make(i, 17, LEN, &p, &len, &kind);
		assert_int_equal(iw_packet_repair(frame, len, &p, kind, 60), len - LEN + 60);
		assert_true(impair_frame_is_right(frame, i));
		assert_int_equal(parse(&p, len - LEN + 60), IW_PACKET_SCTP);
		assert_int_equal(p.len, 60);
	}
	make(false, 17, LEN, &p, &len, &kind);
	assert_int_equal(iw_packet_repair(frame, len, &p, kind, 12), 60);
	assert_int_equal(parse(&p, 60), IW_PACKET_SCTP);
	assert_int_equal(p.len, 12);
	for (size_t i = 14 + 20 + 8 + 12; i < 60; i++)
		assert_int_equal(frame[i], 0);
}

/* Puts 8 octets after the IP header: IPv4 options, or Hop-by-Hop Options. */
static size_t add_options(bool v6, size_t len)
{
	static const uint8_t nop[8] = { 1, 1, 1, 1, 1, 1, 1, 1 }, hop[8] = { 17, 0, 1, 4 };
	uint8_t *ip = frame + IMPAIR_ETHER, *after = ip + (v6 ? 40 : 20);
	size_t at = v6 ? 4 : 2;

	memmove(after + 8, after, len - (size_t)(after - frame));
	memcpy(after, v6 ? hop : nop, 8);
	iw_put_be16(ip + at, (uint16_t)(iw_get_be16(ip + at) + 8));
	if (v6) {
		ip[6] = 0;
	} else {
		ip[0] = 0x47;
		iw_put_be16(ip + 10, 0);
		iw_put_be16(ip + 10, (uint16_t)~impair_sum(0, ip, 28));
	}
	return len + 8;
}

static void options_and_extension_headers_are_counted_and_kept(void **state)
{
	struct iw_packet p;
	enum iw_packet_kind kind;
	size_t len;

	(void)state;
	for (size_t v6 = 0; v6 < 2; v6++) {
		const uint8_t *ip = frame + IMPAIR_ETHER, *udp = ip + (v6 ? 48 : 28);
		uint64_t pseudo = 17 + 8 + 60;

		make(v6, 17, LEN, &p, &len, &kind);
		len = add_options(v6, len);
		assert_int_equal(parse(&p, len), IW_PACKET_SCTP);
		assert_int_equal(p.len, LEN);
		assert_int_equal(iw_packet_repair(frame, len, &p, kind, 60), len - LEN + 60);
		assert_int_equal(iw_get_be16(ip + (v6 ? 4 : 2)), (v6 ? 0 : 20) + 8 + 8 + 60);
		assert_true(v6 || impair_sum(0, ip, 28) == 0xffff);
		pseudo += v6 ? impair_sum(0, ip + 8, 32) : impair_sum(0, ip + 12, 8);
		assert_int_equal(iw_get_be16(udp + 4), 8 + 60);
		assert_int_equal(impair_sum(pseudo, udp, 8 + 60), 0xffff);
	}
}

static void a_datagram_without_a_checksum_stays_without_one(void **state)
{
	struct iw_packet p;
	enum iw_packet_kind kind;
	size_t len;

	(void)state;
	make(false, 17, LEN, &p, &len, &kind);
	memset(frame + 14 + 20 + 6, 0, 2);
	frame[p.data - frame] ^= 1;
	(void)iw_packet_repair(frame, len, &p, kind, LEN);
	assert_int_equal(iw_get_be16(frame + 14 + 20 + 6), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checksums_are_right_after_a_change),
		cmocka_unit_test(a_shorter_payload_shortens_every_header_and_keeps_the_padding),
		cmocka_unit_test(options_and_extension_headers_are_counted_and_kept),
		cmocka_unit_test(a_datagram_without_a_checksum_stays_without_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
