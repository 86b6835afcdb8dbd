// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * CBOR in the caller's memory: the examples of RFC 8949 appendix A that the protocol uses, and
 * truncated input.
 */
#include "cbor/cbor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "util/num.h"

/* RFC 8949 appendix A */
static void integers_take_their_shortest_form(void **state)
{
	static const struct {
		int64_t v;
		const char *octets;
		size_t len;
	} rows[] = {
		{ 0, "\x00", 1 },
		{ 23, "\x17", 1 },
		{ 24, "\x18\x18", 2 },
		{ 100, "\x18\x64", 2 },
		{ 1000, "\x19\x03\xe8", 3 },
		{ 1000000, "\x1a\x00\x0f\x42\x40", 5 },
		{ 1000000000000, "\x1b\x00\x00\x00\xe8\xd4\xa5\x10\x00", 9 },
		{ -1, "\x20", 1 },
		{ -10, "\x29", 1 },
		{ -100, "\x38\x63", 2 },
		{ -1000, "\x39\x03\xe7", 3 },
		{ INT64_MIN, "\x3b\x7f\xff\xff\xff\xff\xff\xff\xff", 9 },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		uint8_t buf[16];
		struct iw_cbor_out o;
		struct iw_cbor_in in = { .p = (const uint8_t *)rows[i].octets, .len = rows[i].len };
		struct iw_cbor_item item;

		iw_cbor_out_init(&o, buf, sizeof(buf));
		iw_cbor_int(&o, rows[i].v);
		assert_false(o.full);
		assert_int_equal(o.len, rows[i].len);
		assert_memory_equal(buf, rows[i].octets, rows[i].len);
		assert_int_equal(iw_cbor_next(&in, &item), 1);
		assert_int_equal(item.kind, rows[i].v < 0 ? IW_CBOR_NINT : IW_CBOR_UINT);
		assert_int_equal(item.kind == IW_CBOR_NINT ? -1 - (int64_t)item.u : (int64_t)item.u,
				 rows[i].v);
		assert_int_equal(iw_cbor_next(&in, &item), 0);
	}
}

static void item_that_does_not_fit_is_not_written(void **state)
{
	(void)state;
	for (size_t cap = 0; cap < 24; cap++) {
		uint8_t buf[24];
		struct iw_cbor_out o;

		memset(buf, 0xee, sizeof(buf));
		iw_cbor_out_init(&o, buf, cap);
		iw_cbor_map(&o, 2);
		iw_cbor_uint(&o, 1);
		iw_cbor_bytes(&o, "0123456789", 10);
		iw_cbor_uint(&o, 300);
		iw_cbor_array_end(&o, iw_cbor_array_begin(&o), 0);
		iw_cbor_bool(&o, true);
		assert_int_equal(o.full, cap < 20);
		for (size_t i = cap; i < sizeof(buf); i++)
			assert_int_equal(buf[i], 0xee);
	}
}

static void a_list_gets_its_length_when_it_is_complete(void **state)
{
	uint8_t buf[16];
	struct iw_cbor_out o;
	struct iw_cbor_in in = { .p = buf };
	struct iw_cbor_item item;
	size_t place;

	(void)state;
	iw_cbor_out_init(&o, buf, sizeof(buf));
	place = iw_cbor_array_begin(&o);
	iw_cbor_uint(&o, 7);
	iw_cbor_uint(&o, 8);
	iw_cbor_array_end(&o, place, 2);
	in.len = o.len;
	assert_int_equal(iw_cbor_next(&in, &item), 1);
	assert_int_equal(item.kind, IW_CBOR_ARRAY);
	assert_int_equal(item.u, 2);
	iw_cbor_array_end(&o, place, 65536);
	assert_true(o.full);
}

static void skipping_an_item_skips_its_contents(void **state)
{
	/* {1: [2, {3: h'04'}], -1: 1.5}, tag 1(null) */
	static const uint8_t octets[] = { 0xa2, 0x01, 0x82, 0x02, 0xa1, 0x03, 0x41,
					  0x04, 0x20, 0xf9, 0x3e, 0x00, 0xc1, 0xf6 };
	struct iw_cbor_in in = { .p = octets, .len = sizeof(octets) };
	const uint8_t *p;
	size_t len;

	(void)state;
	assert_int_equal(iw_cbor_skip(&in, &p, &len), 1);
	assert_ptr_equal(p, octets);
	assert_int_equal(len, 12);
	assert_int_equal(iw_cbor_skip(&in, &p, &len), 1);
	assert_int_equal(len, 2);
	assert_int_equal(iw_cbor_skip(&in, &p, &len), 0);
	for (size_t cut = 1; cut < 12; cut++) {
		in = (struct iw_cbor_in){ .p = octets, .len = cut };
		assert_true(iw_cbor_skip(&in, &p, &len) < 0);
	}
}

static void indefinite_lengths_and_nonsense_are_refused(void **state)
{
	static const struct {
		const char *octets;
		size_t len;
	} rows[] = {
		{ "\x9f\xff", 2 },
		{ "\xbf\xff", 2 },
		{ "\x5f\xff", 2 },
		{ "\x7f\xff", 2 },
		{ "\xff", 1 },
		{ "\x1c", 1 },
		/* simple values 0 and 255, which are well-formed */
		{ "\xe0", 1 },
		{ "\xf8\xff", 2 },
		/* Heads that announce more than the input can have. */
		{ "\x9b\xff\xff\xff\xff\xff\xff\xff\xff", 9 },
		{ "\xbb\x80\x00\x00\x00\x00\x00\x00\x00", 9 },
		{ "\x5b\xff\xff\xff\xff\xff\xff\xff\xff", 9 },
		{ "\x82\x9b\x7f\xff\xff\xff\xff\xff\xff\xff", 10 },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct iw_cbor_in in = { .p = (const uint8_t *)rows[i].octets, .len = rows[i].len };
		const uint8_t *p;
		size_t len;

		assert_true(iw_cbor_skip(&in, &p, &len) < 0);
	}
}

/* A length that no input can have is an error, not truncated input. */
static void lengths_beyond_the_octets_are_refused(void **state)
{
	for (unsigned major = 2; major <= 5; major++) {
		const uint8_t p[16] = { (uint8_t)(major << 5 | 27), 0x80 };
		struct iw_cbor_in in = { .p = p, .len = sizeof(p) };
		struct iw_cbor_item item;

		(void)state;
		assert_int_equal(iw_cbor_next(&in, &item), IW_E_FORMAT);
	}
}

static void nesting_of_any_depth_needs_no_stack(void **state)
{
	static uint8_t octets[1 << 20];
	struct iw_cbor_in in = { .p = octets, .len = sizeof(octets) };
	const uint8_t *p;
	size_t len;

	(void)state;
	memset(octets, 0x81, sizeof(octets) - 1); /* [[[[ ... 0 ... ]]]] */
	octets[sizeof(octets) - 1] = 0;
	assert_int_equal(iw_cbor_skip(&in, &p, &len), 1);
	assert_int_equal(len, sizeof(octets));
}

static void a_record_reads_its_keys_in_any_order(void **state)
{
	/* {3: true, 0: 5, 1: -7, "x": 0, 99: 0, 2: h'aabb'} */
	static const uint8_t octets[] = { 0xa6, 0x03, 0xf5, 0x00, 0x05, 0x01, 0x26, 0x61, 'x',
					  0x00, 0x18, 0x63, 0x00, 0x02, 0x42, 0xaa, 0xbb };
	struct iw_cbor_in in = { .p = octets, .len = sizeof(octets) };
	struct iw_cbor_rec rec;
	struct iw_fault why;
	const uint8_t *p;
	uint32_t u32;
	int64_t i64;
	size_t len;
	bool b;

	(void)state;
	assert_int_equal(iw_cbor_rec_next(&rec, &in, "thing", &why), 1);
	assert_int_equal(iw_cbor_get_u32(&rec, 0, 5, &u32, &why), 0);
	assert_int_equal(u32, 5);
	assert_int_equal(iw_cbor_get_u32(&rec, 0, 4, &u32, &why), IW_E_LIMIT);
	assert_string_equal(why.text, "thing: key 0 is 5, more than 4");
	assert_int_equal(iw_cbor_get_int(&rec, 1, &i64, &why), 0);
	assert_int_equal(i64, -7);
	assert_int_equal(iw_cbor_get_bool(&rec, 3, &b, &why), 0);
	assert_true(b);
	assert_int_equal(iw_cbor_get_string(&rec, 2, IW_CBOR_BYTES, 2, &p, &len, &why), 0);
	assert_memory_equal(p, "\xaa\xbb", 2);
	assert_int_equal(iw_cbor_get_string(&rec, 2, IW_CBOR_BYTES, 1, &p, &len, &why), IW_E_LIMIT);
	assert_int_equal(iw_cbor_get_string(&rec, 2, IW_CBOR_TEXT, 2, &p, &len, &why), IW_E_FORMAT);
	assert_int_equal(iw_cbor_get_bool(&rec, 0, &b, &why), IW_E_FORMAT);
	assert_false(iw_cbor_has(&rec, 4));
	assert_int_equal(iw_cbor_get_u32(&rec, 4, 9, &u32, &why), IW_E_FORMAT);
	assert_string_equal(why.text, "thing: key 4 is missing");
}

static void truncated_record_is_not_a_malformed_one(void **state)
{
	static const uint8_t octets[] = { 0xb8, 0x01, 0x00, 0x18, 0x40 }; /* {0: 64} */
	struct iw_cbor_rec rec;
	struct iw_fault why;

	(void)state;
	for (size_t len = 1; len <= sizeof(octets); len++) {
		struct iw_cbor_in in = { .p = octets, .len = len };

		assert_int_equal(iw_cbor_rec_next(&rec, &in, "thing", &why),
				 len < sizeof(octets) ? IW_E_TRUNC : 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_take_their_shortest_form),
		cmocka_unit_test(item_that_does_not_fit_is_not_written),
		cmocka_unit_test(a_list_gets_its_length_when_it_is_complete),
		cmocka_unit_test(skipping_an_item_skips_its_contents),
		cmocka_unit_test(indefinite_lengths_and_nonsense_are_refused),
		cmocka_unit_test(lengths_beyond_the_octets_are_refused),
		cmocka_unit_test(nesting_of_any_depth_needs_no_stack),
		cmocka_unit_test(a_record_reads_its_keys_in_any_order),
		cmocka_unit_test(truncated_record_is_not_a_malformed_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
