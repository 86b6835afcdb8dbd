// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* SCTP packets, octet by octet. */
#include "wire/sctp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <iwarp/err.h>

#include "vectors/sctp.h"

static struct iw_sctp_chunk only_chunk(const uint8_t *packet, size_t len)
{
	struct iw_sctp_chunk c;

	assert_int_equal(iw_wire_sctp_chunk_decode(&c, packet + IW_SCTP_HDR_LEN,
						   len - IW_SCTP_HDR_LEN),
			 len - IW_SCTP_HDR_LEN);
	return c;
}

static void common_header_has_ports_tag_and_checksum(void **state)
{
	struct iw_sctp_hdr h;
	uint8_t out[12];

	(void)state;
	assert_int_equal(iw_wire_sctp_hdr_decode(&h, sctp_initiate, 12), 12);
	assert_int_equal(h.sport, 5001);
	assert_int_equal(h.dport, 5002);
	assert_int_equal(h.vtag, 0x55667788);
	assert_int_equal(h.checksum, 0xba24f7de);
	assert_int_equal(iw_wire_sctp_hdr_encode(out, sizeof(out), &h), 12);
	assert_memory_equal(out, sctp_initiate, 12);
	assert_int_equal(iw_wire_sctp_hdr_encode(out, 11, &h), IW_E_INVAL);
	assert_int_equal(iw_wire_sctp_hdr_decode(&h, sctp_initiate, 11), 0);
}

/* SX-01: the CRC of the whole packet with a checksum field of 0. */
static void checksum_covers_the_packet_with_its_field_as_zero(void **state)
{
	uint8_t packet[sizeof(sctp_segment)];

	(void)state;
	assert_int_equal(iw_wire_sctp_checksum(sctp_init, sizeof(sctp_init)), 0xcc72544b);
	assert_int_equal(iw_wire_sctp_checksum(sctp_segment, sizeof(sctp_segment)), 0xd4850d58);
	memcpy(packet, sctp_segment, sizeof(packet));
	memset(packet + 8, 0xff, 4);
	assert_int_equal(iw_wire_sctp_checksum(packet, sizeof(packet)), 0xd4850d58);
	packet[sizeof(packet) - 1] ^= 1;
	assert_int_not_equal(iw_wire_sctp_checksum(packet, sizeof(packet)), 0xd4850d58);
	assert_int_equal(iw_wire_sctp_checksum(packet, 12), iw_wire_sctp_checksum(packet, 12));
}

/* SX-03: at most three octets of zeros, which the length does not include. */
static void chunks_are_padded_with_zeros_that_the_length_does_not_count(void **state)
{
	uint8_t out[16], value[] = { 1, 2, 3, 4, 5 };

	(void)state;
	for (size_t n = 0; n <= sizeof(value); n++) {
		struct iw_sctp_chunk in = {
			.type = IW_SCTP_COOKIE_ECHO, .flags = 9, .value = value, .value_len = n
		};
		struct iw_sctp_chunk c;
		int len;

		memset(out, 0xee, sizeof(out));
		len = iw_wire_sctp_chunk_encode(out, sizeof(out), &in);
		assert_int_equal(len, (4 + n + 3) / 4 * 4);
		assert_int_equal(iw_get_be16(out + 2), 4 + n);
		for (size_t i = 4 + n; i < (size_t)len; i++)
			assert_int_equal(out[i], 0);
		assert_int_equal(out[len], 0xee);
		assert_int_equal(iw_wire_sctp_chunk_encode(out, (size_t)len - 1, &in), IW_E_INVAL);
		assert_int_equal(iw_wire_sctp_chunk_decode(&c, out, sizeof(out)), len);
		assert_int_equal(c.type, IW_SCTP_COOKIE_ECHO);
		assert_int_equal(c.flags, 9);
		assert_int_equal(c.value_len, n);
		assert_ptr_equal(c.value, out + 4);
		/* The last padding may be missing. */
		assert_int_equal(iw_wire_sctp_chunk_decode(&c, out, 4 + n), 4 + n);
		assert_int_equal(iw_wire_sctp_chunk_decode(&c, out, 3 + n), 0);
	}
	out[2] = 0;
	out[3] = 3;
	assert_int_equal(iw_wire_sctp_chunk_decode(&(struct iw_sctp_chunk){ 0 }, out, 16),
			 IW_E_FORMAT);
	assert_int_equal(iw_wire_sctp_param_decode(&(struct iw_sctp_param){ 0 }, out, 16),
			 IW_E_FORMAT);
	assert_int_equal(iw_wire_sctp_chunk_encode(out, 16,
						   &(struct iw_sctp_chunk){ .value_len = 65532 }),
			 IW_E_INVAL);
}

/* SCTP-02, SCTP-03: the indication in INIT; SX-28: its form, RFC 5061 4.2.6. */
static void init_and_its_adaptation_parameter_decode_to_what_was_encoded(void **state)
{
	struct iw_sctp_chunk c = only_chunk(sctp_init, sizeof(sctp_init));
	struct iw_sctp_init i;
	struct iw_sctp_param p;
	uint8_t out[64];

	(void)state;
	assert_int_equal(c.type, IW_SCTP_INIT);
	assert_int_equal(iw_wire_sctp_init_decode(&i, c.value, c.value_len), 24);
	assert_int_equal(i.tag, 0x11223344);
	assert_int_equal(i.a_rwnd, 131072);
	assert_int_equal(i.os, 16);
	assert_int_equal(i.mis, 16);
	assert_int_equal(i.tsn, 0xaabbccdd);
	assert_int_equal(iw_wire_sctp_param_decode(&p, i.params, i.params_len), 8);
	assert_int_equal(p.type, IW_SCTP_PARAM_ADAPTATION);
	assert_int_equal(p.value_len, 4);
	assert_int_equal(iw_get_be32(p.value), 1);
	assert_int_equal(iw_wire_sctp_param_encode(out, sizeof(out), &p), 8);
	assert_memory_equal(out, i.params, 8);
	assert_int_equal(iw_wire_sctp_init_encode(out, sizeof(out), &i), 24);
	assert_memory_equal(out, c.value, 24);
	assert_int_equal(iw_wire_sctp_init_encode(out, 23, &i), IW_E_INVAL);
	assert_int_equal(iw_wire_sctp_init_decode(&i, c.value, 15), 0);
}

/* The length field of a chunk has 16 bits, and includes the four octets of the chunk header. */
static void values_too_long_for_a_chunk_are_refused(void **state)
{
	static uint8_t value[65536];
	struct iw_sctp_init i = { .params = value, .params_len = 65531 - 16 };
	struct iw_sctp_data d = { .len = 65531 - 12 };
	uint8_t *out = malloc(sizeof(value));

	(void)state;
	assert_non_null(out);
	assert_int_equal(iw_wire_sctp_init_encode(out, sizeof(value), &i), 65531);
	assert_int_equal(iw_wire_sctp_init_decode(&i, value, 65531), 65531);
	assert_int_equal(iw_wire_sctp_init_decode(&i, value, 65532), 0);
	i = (struct iw_sctp_init){ .params = value, .params_len = 65532 - 16 };
	assert_int_equal(iw_wire_sctp_init_encode(out, sizeof(value), &i), IW_E_INVAL);
	assert_int_equal(iw_wire_sctp_data_encode(out, sizeof(value), 0, &d), 16);
	assert_int_equal(iw_get_be16(out + 2), 65535);
	d.len++;
	assert_int_equal(iw_wire_sctp_data_encode(out, sizeof(value), 0, &d), IW_E_INVAL);
	assert_int_equal(iw_wire_sctp_data_decode(&d, value, 65531), 65531);
	assert_int_equal(iw_wire_sctp_data_decode(&d, value, 65532), 0);
	free(out);
}

static void data_chunk_has_tsn_stream_and_ppid(void **state)
{
	struct iw_sctp_chunk c;
	struct iw_sctp_data d;
	uint8_t out[16];

	(void)state;
	assert_int_equal(
		iw_wire_sctp_chunk_decode(&c, sctp_segment + 12, sizeof(sctp_segment) - 12), 44);
	assert_int_equal(iw_wire_sctp_data_decode(&d, c.value, c.value_len), 37);
	assert_int_equal(c.flags, IW_SCTP_DATA_U | IW_SCTP_DATA_B | IW_SCTP_DATA_E);
	assert_int_equal(d.tsn, 0xaabbccde);
	assert_int_equal(d.stream, 0);
	assert_int_equal(d.ppid, 16);
	assert_int_equal(d.len, 25);
	assert_ptr_equal(d.data, sctp_segment + 28);
	assert_int_equal(iw_wire_sctp_data_encode(out, 16, 7, &d), 16);
	assert_memory_equal(out, sctp_segment + 12, 16);
	assert_int_equal(iw_wire_sctp_data_encode(out, 15, 7, &d), IW_E_INVAL);
	d.len = 65520;
	assert_int_equal(iw_wire_sctp_data_encode(out, 16, 7, &d), IW_E_INVAL);
	assert_int_equal(iw_wire_sctp_data_decode(&d, c.value, 11), 0);
}

static void sack_has_gap_blocks_and_duplicates(void **state)
{
	static const uint8_t value[] = { 0, 0, 1, 0, 0, 1, 0, 0, 0, 2, 0, 1,
					 0, 2, 0, 3, 0, 5, 0, 5, 0, 0, 0, 0xfe };
	struct iw_sctp_sack s;
	uint8_t out[24];

	(void)state;
	assert_int_equal(iw_wire_sctp_sack_decode(&s, value, sizeof(value)), 24);
	assert_int_equal(s.cum, 256);
	assert_int_equal(s.a_rwnd, 65536);
	assert_int_equal(s.ngaps, 2);
	assert_int_equal(s.ndups, 1);
	assert_int_equal(iw_sctp_gap_start(&s, 1), 5);
	assert_int_equal(iw_sctp_gap_end(&s, 0), 3);
	assert_int_equal(iw_get_be32(s.dups), 0xfe);
	assert_int_equal(iw_wire_sctp_sack_encode(out, 24, &s), 24);
	assert_memory_equal(out, value, 24);
	assert_int_equal(iw_wire_sctp_sack_encode(out, 23, &s), IW_E_INVAL);
	assert_int_equal(iw_wire_sctp_sack_decode(&s, value, 23), 0);
	assert_int_equal(iw_wire_sctp_sack_decode(&s, value, 11), 0);
}

/* SX-04: the meaning of the high two bits of types of chunks and parameters. */
static void unknown_types_are_handled_by_their_top_bits(void **state)
{
	(void)state;
	assert_false(IW_SCTP_UNKNOWN_SKIPS(0x3f, 7));
	assert_false(IW_SCTP_UNKNOWN_REPORTS(0x3f, 7));
	assert_false(IW_SCTP_UNKNOWN_SKIPS(0x7f, 7));
	assert_true(IW_SCTP_UNKNOWN_REPORTS(0x40, 7));
	assert_true(IW_SCTP_UNKNOWN_SKIPS(0x80, 7));
	assert_false(IW_SCTP_UNKNOWN_REPORTS(0xbf, 7));
	assert_true(IW_SCTP_UNKNOWN_SKIPS(0xc000, 15));
	assert_true(IW_SCTP_UNKNOWN_REPORTS(0xc000, 15));
	assert_false(IW_SCTP_UNKNOWN_REPORTS(0x8008, 15));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(common_header_has_ports_tag_and_checksum),
		cmocka_unit_test(checksum_covers_the_packet_with_its_field_as_zero),
		cmocka_unit_test(chunks_are_padded_with_zeros_that_the_length_does_not_count),
		cmocka_unit_test(init_and_its_adaptation_parameter_decode_to_what_was_encoded),
		cmocka_unit_test(values_too_long_for_a_chunk_are_refused),
		cmocka_unit_test(data_chunk_has_tsn_stream_and_ppid),
		cmocka_unit_test(sack_has_gap_blocks_and_duplicates),
		cmocka_unit_test(unknown_types_are_handled_by_their_top_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
