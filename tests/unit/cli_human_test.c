// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Numbers as text. */
#include "cli/human.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

typedef const char *(*print_fn)(char buf[static IW_HUMAN_TEXT], uint64_t v);

struct row {
	uint64_t v;
	const char *text;
};

static void check(print_fn print, const struct row *rows, size_t n)
{
	char buf[IW_HUMAN_TEXT];

	for (size_t i = 0; i < n; i++)
		assert_string_equal(print(buf, rows[i].v), rows[i].text);
}

#define CHECK(print, rows) check(print, rows, sizeof(rows) / sizeof((rows)[0]))

static void sizes_are_binary_with_one_decimal(void **state)
{
	static const struct row rows[] = {
		{ 0, "0 B" },
		{ 1023, "1023 B" },
		{ 1024, "1.0 KiB" },
		{ 1536, "1.5 KiB" },
		{ 64 << 20, "64.0 MiB" },
		{ (1 << 20) - 1, "1.0 MiB" },
		{ 1023 * 1024, "1023.0 KiB" },
		{ UINT64_C(5) << 30, "5.0 GiB" },
		{ UINT64_C(1) << 40, "1.0 TiB" },
		{ UINT64_MAX, "16.0 EiB" },
	};

	(void)state;
	CHECK(iw_human_size, rows);
}

static void rates_are_decimal_bits(void **state)
{
	static const struct row rows[] = {
		{ 0, "0 b/s" },
		{ 999, "999 b/s" },
		{ 1000, "1.0 kb/s" },
		{ 41234567890, "41.2 Gb/s" },
		{ 999949999, "999.9 Mb/s" },
		{ 999950000, "1.0 Gb/s" },
		{ UINT64_MAX, "18.4 Eb/s" },
	};

	(void)state;
	CHECK(iw_human_rate, rows);
}

static void latencies_choose_their_unit(void **state)
{
	static const struct row rows[] = {
		{ 0, "0 ns" },
		{ 85, "85 ns" },
		{ 7300, "7.3 us" },
		{ 7349, "7.3 us" },
		{ 7350, "7.4 us" },
		{ 1200000, "1.2 ms" },
		{ 30000000000, "30.0 s" },
		{ 3600000000000, "3600.0 s" },
	};

	(void)state;
	CHECK(iw_human_latency, rows);
}

static void times_round_up_to_seconds(void **state)
{
	static const struct row rows[] = {
		{ 0, "0:00" },
		{ 1, "0:01" },
		{ 7000000000, "0:07" },
		{ 59000000001, "1:00" },
		{ 754000000000, "12:34" },
		{ 3723000000000, "1:02:03" },
		{ UINT64_MAX, "5124095:34:34" },
	};

	(void)state;
	CHECK(iw_human_time, rows);
}

static void bits_per_second_does_not_overflow(void **state)
{
	(void)state;
	assert_true(iw_bits_per_second(125000000, 1000000000) == 1000000000);
	assert_true(iw_bits_per_second(1, 0) == 0);
	assert_true(iw_bits_per_second(0, 5) == 0);
	assert_true(iw_bits_per_second(UINT64_C(5) << 30, 1000000000) == UINT64_C(42949672960));
	assert_true(iw_bits_per_second(UINT64_MAX, 1) == UINT64_MAX);
	assert_true(iw_bits_per_second(UINT64_MAX, UINT64_MAX) == UINT64_C(8000000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_binary_with_one_decimal),
		cmocka_unit_test(rates_are_decimal_bits),
		cmocka_unit_test(latencies_choose_their_unit),
		cmocka_unit_test(times_round_up_to_seconds),
		cmocka_unit_test(bits_per_second_does_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
