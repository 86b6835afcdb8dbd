// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Numbers that users type: accepted texts, and the reasons for others. */
#include "cli/parse.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <iwarp/err.h>

typedef int (*parse_fn)(uint64_t *out, const char *text, uint64_t min, uint64_t max,
			const char **why);

struct row {
	const char *text;
	uint64_t v;
};

struct bad {
	const char *text;
	int err;
	const char *why;
};

#define MARK    UINT64_C(0x5eed5eed5eed5eed)
#define ROWS(a) (a), sizeof(a) / sizeof((a)[0])

static void takes(parse_fn parse, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *why = "";
		uint64_t v = MARK;

		if (parse(&v, rows[i].text, 0, UINT64_MAX, &why) != 0)
			fail_msg("\"%s\": %s", rows[i].text, why);
		if (v != rows[i].v)
			fail_msg("\"%s\" gave %" PRIu64, rows[i].text, v);
	}
}

static void refuses(parse_fn parse, const struct bad *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *why = NULL;
		uint64_t v = MARK;
		int err = parse(&v, rows[i].text, 0, UINT64_MAX, &why);

		if (err != rows[i].err || !why || strcmp(why, rows[i].why) != 0)
			fail_msg("\"%s\" gave %s, \"%s\"", rows[i].text, iw_err_name(err),
				 why ? why : "");
		assert_true(v == MARK);
	}
}

#define NOT_NUMBER IW_E_INVAL, "not a number"
#define SIGN       IW_E_INVAL, "a sign is not allowed"
#define EMPTY      IW_E_INVAL, "empty"
#define BIG        IW_E_LIMIT, "too large"
#define UNIT       IW_E_INVAL, "unknown unit or text after the number"
#define NO_DIGIT   IW_E_INVAL, "no digit after the point"

static void whole_numbers_parse_without_sign_or_blanks(void **state)
{
	static const struct row good[] = {
		{ "0", 0 },
		{ "1", 1 },
		{ "010", 10 },
		{ "00000000000000000000000000000000001", 1 },
		{ "4294967296", UINT64_C(1) << 32 },
		{ "18446744073709551615", UINT64_MAX },
	};
	static const struct bad bad[] = {
		{ "", EMPTY },
		{ " ", NOT_NUMBER },
		{ " 1", NOT_NUMBER },
		{ "\t1", NOT_NUMBER },
		{ "-1", SIGN },
		{ "+1", SIGN },
		{ "-0", SIGN },
		{ "x", NOT_NUMBER },
		{ ".5", NOT_NUMBER },
		{ "1 ", IW_E_INVAL, "text after the number" },
		{ "12abc", IW_E_INVAL, "text after the number" },
		{ "0x10", IW_E_INVAL, "text after the number" },
		{ "1.0", IW_E_INVAL, "text after the number" },
		{ "1e3", IW_E_INVAL, "text after the number" },
		{ "1K", IW_E_INVAL, "text after the number" },
		{ "1,000", IW_E_INVAL, "text after the number" },
		{ "18446744073709551616", BIG },
		{ "18446744073709551620", BIG },
		{ "99999999999999999999999999", BIG },
		{ "\xd9\xa1", NOT_NUMBER }, /* ARABIC-INDIC DIGIT ONE */
	};

	(void)state;
	takes(iw_parse_u64, ROWS(good));
	refuses(iw_parse_u64, ROWS(bad));
}

static void range_ends_belong_to_the_range(void **state)
{
	const char *why;
	uint64_t v;

	(void)state;
	assert_int_equal(iw_parse_u64(&v, "5", 5, 7, &why), 0);
	assert_int_equal(iw_parse_u64(&v, "7", 5, 7, &why), 0);
	assert_int_equal(iw_parse_u64(&v, "4", 5, 7, &why), IW_E_LIMIT);
	assert_string_equal(why, "too small");
	assert_int_equal(iw_parse_u64(&v, "8", 5, 7, &why), IW_E_LIMIT);
	assert_string_equal(why, "too large");
	assert_int_equal(iw_parse_size(&v, "8K", 1, 8192, &why), 0);
	assert_int_equal(iw_parse_size(&v, "8193", 1, 8192, &why), IW_E_LIMIT);
	assert_int_equal(iw_parse_duration(&v, "0", 1, 10, &why), IW_E_LIMIT);
	assert_string_equal(why, "too small");
}

static void sizes_are_powers_of_1024(void **state)
{
	static const struct row good[] = {
		{ "0", 0 },
		{ "4096", 4096 },
		{ "1K", 1024 },
		{ "1k", 1024 },
		{ "64M", 64 << 20 },
		{ "5G", UINT64_C(5) << 30 },
		{ "2t", UINT64_C(2) << 40 },
		{ "1.5K", 1536 },
		{ "0.25K", 256 },
		{ "2.5g", UINT64_C(5) << 29 },
		{ "1.000M", 1 << 20 },
		{ "7.0", 7 },
		{ "1.0000000000000000000000000000", 1 },
		{ "0.5000000000000000000000000K", 512 },
		{ "16777215T", UINT64_C(16777215) << 40 },
		{ "18446744073709551615", UINT64_MAX },
		{ "16777215.5T", (UINT64_C(16777215) << 40) + (UINT64_C(1) << 39) },
	};
	static const struct bad bad[] = {
		{ "", EMPTY },
		{ "K", NOT_NUMBER },
		{ "-1K", SIGN },
		{ "+1K", SIGN },
		{ "1 K", UNIT },
		{ "1K ", UNIT },
		{ "1KB", UNIT },
		{ "1KiB", UNIT },
		{ "1KK", UNIT },
		{ "1P", UNIT },
		{ "1s", UNIT },
		{ "0x1K", UNIT },
		{ "1.", NO_DIGIT },
		{ "1.K", NO_DIGIT },
		{ "1..5K", NO_DIGIT },
		{ "1.5.5K", UNIT },
		{ ".5K", NOT_NUMBER },
		{ "1.5", IW_E_INVAL, "not a whole number of octets" },
		{ "0.1K", IW_E_INVAL, "not a whole number of octets" },
		{ "0.00000000000000000000000000001T", IW_E_INVAL, "not a whole number of octets" },
		{ "16777216T", BIG },
		{ "17179869184G", BIG },
		{ "18446744073709551616", BIG },
		{ "18446744073709551615K", BIG },
	};

	(void)state;
	takes(iw_parse_size, ROWS(good));
	refuses(iw_parse_size, ROWS(bad));
}

static void endless_fractions_are_refused_not_wrapped(void **state)
{
	char text[200] = "0.";
	const char *why;
	uint64_t v;

	(void)state;
	/* 10^64 is 0 modulo 2^64: a denominator of 64 bits would overflow to 0. */
	for (size_t digits = 1; digits < 150; digits++) {
		text[1 + digits] = '5';
		if (digits > 10)
			assert_int_equal(iw_parse_size(&v, text, 0, UINT64_MAX, &why), IW_E_INVAL);
	}
}

static void durations_come_out_in_nanoseconds(void **state)
{
	static const struct row good[] = {
		{ "0", 0 },
		{ "1", 1000000000 },
		{ "500ms", 500000000 },
		{ "20us", 20000 },
		{ "7ns", 7 },
		{ "10s", UINT64_C(10000000000) },
		{ "2m", UINT64_C(120000000000) },
		{ "1h", UINT64_C(3600000000000) },
		{ "7d", UINT64_C(604800000000000) },
		{ "0.5", 500000000 },
		{ "1.5m", UINT64_C(90000000000) },
		{ "0.000000001", 1 },
		{ "0.001us", 1 },
		{ "2.25ms", 2250000 },
		{ "3.0ns", 3 },
		{ "18446744073.709551615", UINT64_MAX },
		{ "18446744073709551615ns", UINT64_MAX },
	};
	static const struct bad bad[] = {
		{ "", EMPTY },
		{ "s", NOT_NUMBER },
		{ "-1s", SIGN },
		{ "1S", UNIT },
		{ "1min", UNIT },
		{ "1 s", UNIT },
		{ "1s ", UNIT },
		{ "1m30s", UNIT },
		{ "1:30", UNIT },
		{ "inf", NOT_NUMBER },
		{ "nan", NOT_NUMBER },
		{ "1e3", UNIT },
		{ "1.s", NO_DIGIT },
		{ "0.0000000001", IW_E_INVAL, "finer than a nanosecond" },
		{ "1.5ns", IW_E_INVAL, "finer than a nanosecond" },
		{ "18446744073.709551616", BIG },
		{ "5124096h", BIG },
		{ "213504d", BIG },
	};

	(void)state;
	takes(iw_parse_duration, ROWS(good));
	refuses(iw_parse_duration, ROWS(bad));
}

static void rates_are_decimal(void **state)
{
	static const struct row good[] = {
		{ "0", 0 },
		{ "9600", 9600 },
		{ "10K", 10000 },
		{ "10M", 10000000 },
		{ "2.5G", UINT64_C(2500000000) },
		{ "1t", UINT64_C(1000000000000) },
		{ "0.001K", 1 },
	};
	static const struct bad bad[] = {
		{ "", EMPTY },
		{ "fast", NOT_NUMBER },
		{ "-1M", SIGN },
		{ "10Mbit", UNIT },
		{ "10Mb/s", UNIT },
		{ "0.0001K", IW_E_INVAL, "not a whole number of bits per second" },
		{ "18446745T", BIG },
	};

	(void)state;
	takes(iw_parse_rate, ROWS(good));
	refuses(iw_parse_rate, ROWS(bad));
}

static void names_match_whole_and_exactly(void **state)
{
	static const char *const names[] = { "tcp", "sctp", "udp" };
	static const char *const bad[] = { "tc", "tcpx", "TCP", " tcp", "tcp ", "raw" };
	const char *why;
	size_t i = 99;

	(void)state;
	assert_int_equal(iw_parse_enum(&i, "udp", names, 3, &why), 0);
	assert_int_equal(i, 2);
	for (size_t n = 0; n < sizeof(bad) / sizeof(bad[0]); n++) {
		assert_int_equal(iw_parse_enum(&i, bad[n], names, 3, &why), IW_E_INVAL);
		assert_string_equal(why, "unknown name");
	}
	assert_int_equal(iw_parse_enum(&i, "", names, 3, &why), IW_E_INVAL);
	assert_string_equal(why, "empty");
	assert_int_equal(i, 2);
}

static void printed_size_parses_to_the_same_value(void **state)
{
	static const uint64_t values[] = {
		0,
		1,
		999,
		1000,
		1023,
		1024,
		1025,
		1536,
		65536,
		1000000,
		1 << 20,
		60000000000,
		90000000000,
		3600000000000,
		UINT64_C(1) << 32,
		UINT64_C(1) << 40,
		UINT64_C(1) << 63,
		UINT64_MAX - 1,
		UINT64_MAX,
	};
	char buf[IW_PARSE_TEXT];
	const char *why;
	uint64_t v;

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		assert_int_equal(
			iw_parse_size(&v, iw_unparse_size(buf, values[i]), 0, UINT64_MAX, &why), 0);
		assert_true(v == values[i]);
		assert_int_equal(iw_parse_duration(&v, iw_unparse_duration(buf, values[i]), 0,
						   UINT64_MAX, &why),
				 0);
		assert_true(v == values[i]);
		assert_int_equal(
			iw_parse_rate(&v, iw_unparse_rate(buf, values[i]), 0, UINT64_MAX, &why), 0);
		assert_true(v == values[i]);
	}
	assert_string_equal(iw_unparse_size(buf, 65536), "64K");
	assert_string_equal(iw_unparse_size(buf, 1536), "1536");
	assert_string_equal(iw_unparse_duration(buf, 1500000000), "1500ms");
	assert_string_equal(iw_unparse_duration(buf, 120000000000), "2m");
	assert_string_equal(iw_unparse_rate(buf, 10000000), "10M");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_numbers_parse_without_sign_or_blanks),
		cmocka_unit_test(range_ends_belong_to_the_range),
		cmocka_unit_test(sizes_are_powers_of_1024),
		cmocka_unit_test(endless_fractions_are_refused_not_wrapped),
		cmocka_unit_test(durations_come_out_in_nanoseconds),
		cmocka_unit_test(rates_are_decimal),
		cmocka_unit_test(names_match_whole_and_exactly),
		cmocka_unit_test(printed_size_parses_to_the_same_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
