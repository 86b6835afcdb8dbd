// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Patterns, stamps, digests. */
#include "cli/pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define SEED 42

static uint8_t whole[10000], piece[10000];

static void a_part_of_the_pattern_depends_only_on_its_offset(void **state)
{
	(void)state;
	iw_pattern_fill(whole, sizeof(whole), SEED, 0);
	for (size_t at = 0; at < 20; at++)
		for (size_t len = 0; len < 40; len++) {
			memset(piece, 0x55, len + 1);
			iw_pattern_fill(piece, len, SEED, at);
			assert_memory_equal(piece, whole + at, len);
			assert_int_equal(piece[len], 0x55);
			assert_true(iw_pattern_holds(whole + at, len, SEED, at));
		}
}

static void one_wrong_octet_anywhere_shows(void **state)
{
	static const size_t places[] = { 0, 1, 7, 8, 4095, 4096, 4097, 9998, 9999 };

	(void)state;
	iw_pattern_fill(whole, sizeof(whole), SEED, 3);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		whole[places[i]] ^= 1;
		assert_false(iw_pattern_holds(whole, sizeof(whole), SEED, 3));
		whole[places[i]] ^= 1;
	}
	assert_true(iw_pattern_holds(whole, sizeof(whole), SEED, 3));
}

static void the_same_octets_elsewhere_or_of_another_seed_are_wrong(void **state)
{
	(void)state;
	iw_pattern_fill(whole, 4096, SEED, 0);
	assert_false(iw_pattern_holds(whole, 4096, SEED, 4096));
	assert_false(iw_pattern_holds(whole, 4096, SEED, 1));
	assert_false(iw_pattern_holds(whole, 4096, SEED + 1, 0));
}

/*
 * ddp-bench(1) says how a server fills its memory: with splitmix64. Its first two words for the
 * state 0 are known.
 */
static void words_are_those_of_splitmix64(void **state)
{
	static const uint8_t expected[] = { 0xaf, 0xcd, 0x1d, 0x7b, 0x39, 0xa8, 0x20, 0xe2,
					    0xf4, 0x65, 0xb9, 0xa1, 0x6a, 0x9e, 0x78, 0x6e };

	(void)state;
	iw_pattern_fill(piece, sizeof(expected), 0, 0);
	assert_memory_equal(piece, expected, sizeof(expected));
}

static void a_stamp_identifies_its_message(void **state)
{
	uint8_t msg[9] = { 0 };

	(void)state;
	iw_pattern_stamp(msg, 9, 0x0102030405060708);
	assert_true(iw_pattern_stamped(msg, 9, 0x0102030405060708));
	assert_false(iw_pattern_stamped(msg, 9, 0x0102030405060709));
	assert_int_equal(msg[7], 8);
	assert_int_equal(msg[8], 0);
}

static void a_message_too_short_for_a_stamp_is_not_stamped(void **state)
{
	uint8_t msg[8] = { 9, 9, 9, 9, 9, 9, 9, 9 };

	(void)state;
	iw_pattern_stamp(msg, 7, 1);
	assert_int_equal(msg[0], 9);
	assert_true(iw_pattern_stamped(msg, 7, 1));
}

static uint64_t digest_in(size_t step)
{
	struct iw_pattern_digest d;

	assert_true(iw_pattern_digest_init(&d));
	for (size_t i = 0; i < sizeof(whole); i += step)
		iw_pattern_digest_add(&d, whole + i,
				      sizeof(whole) - i < step ? sizeof(whole) - i : step);
	iw_pattern_digest_add(&d, NULL, 0);
	return iw_pattern_digest_end(&d);
}

static void a_digest_does_not_depend_on_the_pieces_but_on_every_octet(void **state)
{
	uint64_t of_whole;

	(void)state;
	iw_pattern_fill(whole, sizeof(whole), SEED, 0);
	of_whole = digest_in(sizeof(whole));
	assert_true(of_whole == digest_in(1));
	assert_true(of_whole == digest_in(777));
	whole[5000] ^= 0x80;
	assert_false(of_whole == digest_in(777));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_part_of_the_pattern_depends_only_on_its_offset),
		cmocka_unit_test(one_wrong_octet_anywhere_shows),
		cmocka_unit_test(the_same_octets_elsewhere_or_of_another_seed_are_wrong),
		cmocka_unit_test(words_are_those_of_splitmix64),
		cmocka_unit_test(a_stamp_identifies_its_message),
		cmocka_unit_test(a_message_too_short_for_a_stamp_is_not_stamped),
		cmocka_unit_test(a_digest_does_not_depend_on_the_pieces_but_on_every_octet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
