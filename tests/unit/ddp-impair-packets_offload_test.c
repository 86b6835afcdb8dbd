// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is done in software of checksum and segmentation offloads. */
#include "ddp-impair/packets/offload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "util/num.h"
#include "wire/crc32c.h"

enum { PAYLOAD = 2500, SIZE = 1000, TCP_FLAGS = 13, SEQ = 0xfffffe00 };

/* Data as a packet socket delivers it, and what was made of it. */
static uint8_t data[4096], room[4096];
static size_t len, ip, transport, payload;
static struct iw_offload_work work;
static struct iw_offload o;

/* --- input ------------------------------------------------------------------------------------ */

static size_t put_ip(size_t at, bool v6, uint8_t protocol, size_t content)
{
	if (v6) {
		data[at] = 0x60;
		iw_put_be16(data + at + 4, (uint16_t)content);
		data[at + 6] = protocol;
		memset(data + at + 8, 0x21, 32);
		return at + 40;
	}
	data[at] = 0x45;
	iw_put_be16(data + at + 2, (uint16_t)(20 + content));
	iw_put_be16(data + at + 4, 0xffff);
	data[at + 9] = protocol;
	memset(data + at + 12, 0x0a, 8);
	return at + 20;
}

/* Data of TCP or UDP with one VLAN tag for IPv6, none for IPv4. */
static void make(bool v6, bool udp, size_t octets)
{
	size_t head = udp ? 8 : 32;

	memset(data, 0, sizeof(data));
	ip = v6 ? 18 : 14;
	if (v6)
		iw_put_be16(data + 12, 0x8100);
	iw_put_be16(data + ip - 2, v6 ? 0x86dd : 0x0800);
	transport = put_ip(ip, v6, udp ? 17 : 6, head + octets);
	payload = transport + head;
	len = payload + octets;
	if (!udp) {
		iw_put_be32(data + transport + 4, SEQ);
		data[transport + 12] = 0x80;
		data[transport + TCP_FLAGS] = 0x80 | 0x10 | 0x08 | 0x01;
	}
	for (size_t i = 0; i < octets; i++)
		data[payload + i] = (uint8_t)(i * 7 + i / 256);
	work = (struct iw_offload_work){
		.kind = udp ? IW_OFFLOAD_UDP : IW_OFFLOAD_TCP,
		.size = SIZE,
		.checksum = true,
		.start = (uint16_t)transport,
		.field = udp ? 6 : 16,
	};
}

/* --- expectations ----------------------------------------------------------------------------- */

/* RFC 1071, one word after the other. */
static uint16_t sum_of(uint32_t sum, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sum += i % 2 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static void assert_checksums(const uint8_t *frame, size_t n, bool v6, bool udp)
{
	uint32_t pseudo = (uint32_t)(n - transport) + (udp ? 17 : 6);

	pseudo += v6 ? sum_of(0, frame + ip + 8, 32) : sum_of(0, frame + ip + 12, 8);
	assert_int_equal(sum_of(pseudo, frame + transport, n - transport), 0xffff);
	if (!v6)
		assert_int_equal(sum_of(0, frame + ip, 20), 0xffff);
}

static void assert_lengths(const uint8_t *frame, size_t n, bool v6, bool udp)
{
	assert_int_equal(v6 ? iw_get_be16(frame + ip + 4) + 40u : iw_get_be16(frame + ip + 2),
			 n - ip);
	if (udp)
		assert_int_equal(iw_get_be16(frame + transport + 4), n - transport);
}

/* Returns the i-th frame, of which everything but the flags is as it must be. */
static const uint8_t *next_frame(size_t i, bool v6, bool udp)
{
	size_t n, part = IW_MIN(SIZE, PAYLOAD - i * SIZE);
	const uint8_t *frame = iw_offload_next(&o, room, &n);

	assert_non_null(frame);
	assert_int_equal(n, payload + part);
	assert_memory_equal(frame + payload, data + payload + i * SIZE, part);
	assert_lengths(frame, n, v6, udp);
	assert_checksums(frame, n, v6, udp);
	if (!v6)
		assert_int_equal(iw_get_be16(frame + ip + 4), (uint16_t)(0xffff + i));
	if (!udp)
		assert_int_equal(iw_get_be32(frame + transport + 4), (uint32_t)(SEQ + i * SIZE));
	return frame;
}

static void assert_divided(bool v6, bool udp)
{
	size_t n;

	make(v6, udp, PAYLOAD);
	assert_true(iw_offload_begin(&o, &work, data, len));
	for (size_t i = 0; i < 3; i++)
		next_frame(i, v6, udp);
	assert_null(iw_offload_next(&o, room, &n));
}

static void assert_refused(void)
{
	assert_false(iw_offload_begin(&o, &work, data, len));
}

/* --- tests ------------------------------------------------------------------------------------ */

static void data_of_tcp_and_udp_become_frames_with_checksums(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++)
		assert_divided(i & 1, i & 2);
}

static void fin_and_push_are_on_the_last_frame_and_cwr_on_the_first(void **state)
{
	(void)state;
	make(false, false, PAYLOAD);
	work.ecn = true;
	assert_true(iw_offload_begin(&o, &work, data, len));
	assert_int_equal(next_frame(0, false, false)[transport + TCP_FLAGS], 0x90);
	assert_int_equal(next_frame(1, false, false)[transport + TCP_FLAGS], 0x10);
	assert_int_equal(next_frame(2, false, false)[transport + TCP_FLAGS], 0x19);
}

static void cwr_stays_without_ecn_of_the_sender(void **state)
{
	(void)state;
	make(true, false, PAYLOAD);
	assert_true(iw_offload_begin(&o, &work, data, len));
	next_frame(0, true, false);
	assert_int_equal(next_frame(1, true, false)[transport + TCP_FLAGS], 0x90);
}

static void one_frame_gets_its_checksum_in_place(void **state)
{
	size_t n;

	(void)state;
	make(false, false, 100);
	work.kind = IW_OFFLOAD_NONE;
	/* The sender's kernel puts the sum of the pseudo-header into the field. */
	iw_put_be16(data + transport + 16,
		    sum_of(6 + 132 + (uint32_t)sum_of(0, data + ip + 12, 8), data, 0));
	iw_put_be16(data + ip + 10, (uint16_t)~sum_of(0, data + ip, 20));
	assert_true(iw_offload_begin(&o, &work, data, len));
	assert_ptr_equal(iw_offload_next(&o, room, &n), data);
	assert_int_equal(n, len);
	assert_checksums(data, len, false, false);
	assert_null(iw_offload_next(&o, room, &n));
}

static void the_checksum_of_sctp_is_a_crc(void **state)
{
	uint32_t crc;

	(void)state;
	make(false, true, 100);
	work.kind = IW_OFFLOAD_NONE;
	work.field = 8;
	assert_true(iw_offload_begin(&o, &work, data, len));
	crc = iw_get_le32(data + transport + 8);
	iw_put_le32(data + transport + 8, 0);
	assert_int_equal(crc, iw_crc32c(0, data + transport, len - transport));
}

static void a_frame_without_offload_is_not_changed(void **state)
{
	size_t n;

	(void)state;
	make(false, false, 100);
	memcpy(room, data, len);
	work = (struct iw_offload_work){ 0 };
	assert_true(iw_offload_begin(&o, &work, data, len));
	assert_ptr_equal(iw_offload_next(&o, room, &n), data);
	assert_memory_equal(data, room, len);
}

static void a_checksum_beyond_the_frame_is_refused(void **state)
{
	(void)state;
	make(false, false, 100);
	work.kind = IW_OFFLOAD_NONE;
	work.start = (uint16_t)(len - 17);
	assert_refused();
	work.start = UINT16_MAX;
	work.field = UINT16_MAX;
	assert_refused();
	work.start = (uint16_t)(len - 11);
	work.field = 8;
	assert_refused();
}

static void tunnels_and_headers_that_contradict_are_refused(void **state)
{
	(void)state;
	make(true, false, PAYLOAD);
	work.start += 8; /* an inner header, or an extension header */
	assert_refused();
	make(false, false, PAYLOAD);
	work.kind = IW_OFFLOAD_OTHER;
	assert_refused();
	make(false, false, PAYLOAD);
	work.size = 0;
	assert_refused();
	make(false, false, PAYLOAD);
	data[transport + 12] = 0x40;
	assert_refused();
	make(false, false, PAYLOAD);
	iw_put_be16(data + 12, 0x0806);
	assert_refused();
	make(false, false, PAYLOAD);
	work.checksum = false;
	assert_refused();
}

static void data_cut_anywhere_in_its_headers_is_refused(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		make(i & 1, i & 2, PAYLOAD);
		for (len = 0; len <= payload; len++)
			assert_refused();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_of_tcp_and_udp_become_frames_with_checksums),
		cmocka_unit_test(fin_and_push_are_on_the_last_frame_and_cwr_on_the_first),
		cmocka_unit_test(cwr_stays_without_ecn_of_the_sender),
		cmocka_unit_test(one_frame_gets_its_checksum_in_place),
		cmocka_unit_test(the_checksum_of_sctp_is_a_crc),
		cmocka_unit_test(a_frame_without_offload_is_not_changed),
		cmocka_unit_test(a_checksum_beyond_the_frame_is_refused),
		cmocka_unit_test(tunnels_and_headers_that_contradict_are_refused),
		cmocka_unit_test(data_cut_anywhere_in_its_headers_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
