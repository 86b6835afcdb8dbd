// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* FPDUs for a connection played by hand: vectors, and round trips with any split. */
#include "mpa-probe/codec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/num.h"

static struct iw_codec *codec(bool crc, bool tx_markers, bool rx_markers)
{
	const struct iw_codec_cfg cfg = { crc, tx_markers, rx_markers };
	struct iw_fault why = { 0 };
	struct iw_codec *c;

	if (iw_codec_new(&c, &cfg, &why) != 0)
		fail_msg("%s", why.text);
	return c;
}

/* A zero-length RDMA Write, STag 1, TO 0: 20 octets. */
static const uint8_t write_ulpdu[14] = { 0xc1, 0x40, 0, 0, 0, 1 };
static const uint8_t write_fpdu[20] = { 0, 14, 0xc1, 0x40, 0, 0, 0,    1,    0,    0,
					0, 0,  0,    0,    0, 0, 0xeb, 0xd3, 0x4c, 0x5f };

static void fpdu_is_the_vectors(void **state)
{
	struct iw_codec *c = codec(true, false, false);
	const uint8_t *octets;

	(void)state;
	assert_int_equal(iw_codec_put(c, write_ulpdu, sizeof(write_ulpdu), &octets),
			 sizeof(write_fpdu));
	assert_memory_equal(octets, write_fpdu, sizeof(write_fpdu));
	iw_codec_free(c);
}

static void first_fpdu_with_markers_begins_with_one(void **state)
{
	struct iw_codec *c = codec(true, true, false);
	const uint8_t *octets;

	(void)state;
	assert_int_equal(iw_codec_put(c, write_ulpdu, sizeof(write_ulpdu), &octets), 24);
	assert_memory_equal(octets, "\0\0\0\0\0\x0e\xc1\x40", 8);
	assert_int_equal(iw_codec_put(c, write_ulpdu, sizeof(write_ulpdu), &octets), 20);
	iw_codec_free(c);
}

static void goes_through(bool crc, bool markers, size_t piece)
{
	struct iw_codec *tx = codec(crc, markers, false), *rx = codec(crc, false, markers);
	struct iw_codec_ulpdu u;
	struct iw_fault why = { 0 };
	uint8_t ulpdu[1024];
	unsigned got = 0;
	uint64_t pos = 0;

	for (size_t i = 0; i < sizeof(ulpdu); i++)
		ulpdu[i] = (uint8_t)i;
	for (size_t len = 14; len <= sizeof(ulpdu); len += 101) {
		const uint8_t *octets;
		size_t n = iw_codec_put(tx, ulpdu, len, &octets);

		for (size_t at = 0; at < n; at += piece)
			assert_int_equal(
				iw_codec_feed(rx, octets + at, IW_MIN(piece, n - at), &why), 0);
		assert_true(iw_codec_next(rx, &u));
		assert_int_equal(u.pos, pos);
		assert_int_equal(u.len, len);
		assert_memory_equal(u.data, ulpdu, len);
		assert_false(iw_codec_next(rx, &u));
		pos += n;
		got++;
	}
	assert_int_equal(got, 11);
	iw_codec_free(tx);
	iw_codec_free(rx);
}

static void any_split_with_and_without_crc_and_markers(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		goes_through(i & 1, i & 2, 1);
		goes_through(i & 1, i & 2, 7);
		goes_through(i & 1, i & 2, 5000);
	}
}

/* Or a peer could make a listener that watches its FPDUs allocate without limit. */
static void memory_of_ulpdus_is_reused_once_all_are_taken(void **state)
{
	struct iw_codec *c = codec(true, false, false);
	struct iw_codec_ulpdu first, u;
	struct iw_fault why = { 0 };

	(void)state;
	assert_int_equal(iw_codec_feed(c, write_fpdu, 20, &why), 0);
	assert_true(iw_codec_next(c, &first));
	for (uint64_t i = 1; i < 1000; i++) {
		assert_int_equal(iw_codec_feed(c, write_fpdu, 20, &why), 0);
		assert_true(iw_codec_next(c, &u));
		assert_ptr_equal(u.data, first.data);
		assert_int_equal(u.pos, 20 * i);
	}
	iw_codec_free(c);
}

static void wrong_crc_is_reported_and_ends_the_connection(void **state)
{
	struct iw_codec *c = codec(true, false, false);
	struct iw_codec_ulpdu u;
	struct iw_fault why = { 0 };
	uint8_t bad[20];

	(void)state;
	memcpy(bad, write_fpdu, sizeof(bad));
	bad[19] ^= 1;
	assert_int_equal(iw_codec_feed(c, write_fpdu, 20, &why), 0);
	assert_int_equal(iw_codec_feed(c, bad, 20, &why), IW_E_MPA_CRC);
	/* The valid FPDU before the fault can be taken; nothing follows. */
	assert_true(iw_codec_next(c, &u));
	assert_int_equal(iw_codec_feed(c, write_fpdu, 20, &why), 0);
	assert_false(iw_codec_next(c, &u));
	iw_codec_free(c);
}

static void without_crc_the_field_is_ignored(void **state)
{
	struct iw_codec *c = codec(false, false, false);
	struct iw_codec_ulpdu u;
	struct iw_fault why = { 0 };
	uint8_t bad[20];

	(void)state;
	memcpy(bad, write_fpdu, sizeof(bad));
	memset(bad + 16, 0, 4);
	assert_int_equal(iw_codec_feed(c, bad, 20, &why), 0);
	assert_true(iw_codec_next(c, &u));
	iw_codec_free(c);
}

static void missing_markers_are_detected(void **state)
{
	struct iw_codec *c = codec(true, false, true);
	struct iw_fault why = { 0 };

	(void)state;
	/* Instead of a marker there are a length and a header. */
	assert_true(iw_codec_feed(c, write_fpdu, 20, &why) < 0);
	iw_codec_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fpdu_is_the_vectors),
		cmocka_unit_test(first_fpdu_with_markers_begins_with_one),
		cmocka_unit_test(any_split_with_and_without_crc_and_markers),
		cmocka_unit_test(memory_of_ulpdus_is_reused_once_all_are_taken),
		cmocka_unit_test(wrong_crc_is_reported_and_ends_the_connection),
		cmocka_unit_test(without_crc_the_field_is_ignored),
		cmocka_unit_test(missing_markers_are_detected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
