// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* UTF-8, escapes and base64. */
#include "cli/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void utf8_takes_shortest_forms_of_scalar_values_only(void **state)
{
	static const struct {
		const char *text;
		size_t len, expected;
	} rows[] = {
		{ "a", 1, 1 },
		{ "\0", 1, 1 },
		{ "\x7f", 1, 1 },
		{ "\xc2\x80", 2, 2 },
		{ "\xdf\xbf", 2, 2 },
		{ "\xe0\xa0\x80", 3, 3 },
		{ "\xed\x9f\xbf", 3, 3 },
		{ "\xee\x80\x80", 3, 3 },
		{ "\xf0\x90\x80\x80", 4, 4 },
		{ "\xf4\x8f\xbf\xbf", 4, 4 },
		{ "", 0, 0 },
		{ "\x80", 1, 0 },             /* continuation alone */
		{ "\xc0\x80", 2, 0 },         /* overlong NUL */
		{ "\xc1\xbf", 2, 0 },         /* overlong */
		{ "\xe0\x9f\xbf", 3, 0 },     /* overlong */
		{ "\xf0\x8f\xbf\xbf", 4, 0 }, /* overlong */
		{ "\xed\xa0\x80", 3, 0 },     /* surrogate */
		{ "\xf4\x90\x80\x80", 4, 0 }, /* above U+10FFFF */
		{ "\xf5\x80\x80\x80", 4, 0 },
		{ "\xff", 1, 0 },
		{ "\xc3", 1, 0 }, /* cut */
		{ "\xe2\x82", 2, 0 },
		{ "\xf0\x9f\x98", 3, 0 },
		{ "\xc3(", 2, 0 },
		{ "\xe2\x28\xa1", 3, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (iw_utf8_len(rows[i].text, rows[i].len) != rows[i].expected)
			fail_msg("row %zu", i);
	assert_true(iw_utf8_valid("", 0));
	assert_true(iw_utf8_valid("gr\xc3\xbc\xc3\x9f", 6));
	assert_false(iw_utf8_valid("gr\xfc\xdf", 4));
	assert_int_equal(iw_utf8_columns("gr\xc3\xbc\xc3\x9f"), 4);
}

static void printable_disarms_what_a_terminal_acts_on(void **state)
{
	static const struct {
		const char *in, *terminal, *json;
	} rows[] = {
		{ "plain", "plain", "plain" },
		{ "a\nb", "a\\x0ab", "a\nb" },
		{ "\033[2J", "\\x1b[2J", "\033[2J" },
		{ "\x7f", "\\x7f", "\x7f" },
		{ "\xc2\x9b"
		  "2J",
		  "\\xc2\\x9b"
		  "2J",
		  "\xc2\x9b"
		  "2J" }, /* C1 CSI */
		{ "a\xe2\x80\xae"
		  "b",
		  "a\\xe2\\x80\\xae"
		  "b",
		  "a\xe2\x80\xae"
		  "b" },                                               /* U+202E */
		{ "\xe2\x81\xa7", "\\xe2\\x81\\xa7", "\xe2\x81\xa7" }, /* U+2067 */
		{ "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
		{ "gr\xfc\xdf", "gr\\xfc\\xdf", "gr\\xfc\\xdf" },
		{ "cut\xe2\x82", "cut\\xe2\\x82", "cut\\xe2\\x82" },
	};
	char buf[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t len = strlen(rows[i].in);

		assert_int_equal(iw_printable(buf, sizeof(buf), rows[i].in, len, true),
				 strlen(rows[i].terminal));
		assert_string_equal(buf, rows[i].terminal);
		assert_int_equal(iw_printable(buf, sizeof(buf), rows[i].in, len, false),
				 strlen(rows[i].json));
		assert_string_equal(buf, rows[i].json);
	}
}

static void printable_cuts_between_characters_and_returns_the_size_needed(void **state)
{
	static const char in[] = "a\xc3\xbc\x01z"; /* needs 1 + 2 + 4 + 1 */
	static const size_t kept[] = { 0, 0, 1, 1, 3, 3, 3, 3, 7, 8, 8 };
	char buf[16];

	(void)state;
	for (size_t cap = 0; cap < sizeof(kept) / sizeof(kept[0]); cap++) {
		memset(buf, '#', sizeof(buf));
		assert_int_equal(iw_printable(buf, cap, in, 5, true), 8);
		if (cap > 0)
			assert_int_equal(strlen(buf), kept[cap]);
		assert_int_equal(buf[cap], '#');
	}
}

/* RFC 4648 section 10. */
static void base64_gives_the_vectors_of_the_rfc(void **state)
{
	static const char *const rows[][2] = {
		{ "", "" },
		{ "f", "Zg==" },
		{ "fo", "Zm8=" },
		{ "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" },
		{ "fooba", "Zm9vYmE=" },
		{ "foobar", "Zm9vYmFy" },
	};
	char buf[IW_BASE64_SIZE(6)];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		iw_base64(buf, sizeof(buf), rows[i][0], strlen(rows[i][0]));
		assert_string_equal(buf, rows[i][1]);
		assert_int_equal(strlen(buf) + 1, IW_BASE64_SIZE(strlen(rows[i][0])));
	}
	iw_base64(buf, sizeof(buf), "\xff\xef\xbf", 3);
	assert_string_equal(buf, "/++/");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(utf8_takes_shortest_forms_of_scalar_values_only),
		cmocka_unit_test(printable_disarms_what_a_terminal_acts_on),
		cmocka_unit_test(printable_cuts_between_characters_and_returns_the_size_needed),
		cmocka_unit_test(base64_gives_the_vectors_of_the_rfc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
