// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Text in a buffer, and faults. */
#include "util/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "util/num.h"

static struct iw_text t;
static char buf[256];

static void fresh(size_t cap)
{
	memset(buf, '#', sizeof(buf));
	iw_text_init(&t, buf, cap);
}

static void numbers_print_as_they_are(void **state)
{
	(void)state;
	fresh(sizeof(buf));
	assert_string_equal(buf, "");
	iw_text_u64(&t, 0);
	iw_text_str(&t, " ");
	iw_text_u64(&t, 10);
	iw_text_str(&t, " ");
	iw_text_u64(&t, UINT64_MAX);
	assert_string_equal(buf, "0 10 18446744073709551615");
	assert_int_equal(t.len, strlen(buf));
}

static void hex_has_at_least_the_digits_asked_for(void **state)
{
	static const struct {
		uint64_t v;
		unsigned digits;
		const char *text;
	} rows[] = {
		{ 0, 0, "0x0" },
		{ 0, 1, "0x0" },
		{ 0, 4, "0x0000" },
		{ 0x1f, 1, "0x1f" },
		{ 0xabc, 8, "0x00000abc" },
		{ 0x1234567890abcdef, 1, "0x1234567890abcdef" },
		{ 1, 16, "0x0000000000000001" },
		{ 1, 99, "0x0000000000000001" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fresh(sizeof(buf));
		iw_text_hex(&t, rows[i].v, rows[i].digits);
		assert_string_equal(buf, rows[i].text);
	}
}

static void octets_print_without_separators(void **state)
{
	static const uint8_t o[] = { 0x00, 0x1f, 0xa0, 0xff };

	(void)state;
	fresh(sizeof(buf));
	iw_text_octets(&t, o, sizeof(o));
	assert_string_equal(buf, "001fa0ff");
	iw_text_octets(&t, o, 0);
	assert_string_equal(buf, "001fa0ff");
}

static void format_knows_its_letters_and_copies_the_rest(void **state)
{
	(void)state;
	fresh(sizeof(buf));
	iw_text_fmt(&t, "%s=%u %U %x %X %b 100%% %d %", "STag", (uint32_t)7, (uint64_t)1 << 40,
		    (uint32_t)0xbeef, (uint64_t)0x1000, (uint32_t)0x7f);
	assert_string_equal(buf,
			    "STag=7 1099511627776 0x0000beef 0x0000000000001000 0x7f 100% %d %");
	fresh(sizeof(buf));
	iw_text_fmt(&t, "%t %t %t %t %t %t", IW_MSEC(499) + 500000, IW_MSEC(999), IW_MSEC(1000) - 1,
		    IW_SEC(2) - 1000, IW_MSEC(2450), IW_SEC(600));
	assert_string_equal(buf, "500 ms 999 ms 1 s 2 s 2.5 s 600 s");
	fresh(sizeof(buf));
	iw_text_fmt(&t, "%s", (const char *)NULL);
	assert_string_equal(buf, "(null)");
}

/* For every capacity: the text is a prefix of the whole text, terminated, and not a byte is written
 * after it. */
static void text_that_does_not_fit_is_cut(void **state)
{
	static const char whole[] = "queue 18446744073709551615 at 0x00001234 ffee end";
	static const uint8_t o[] = { 0xff, 0xee };

	(void)state;
	for (size_t cap = 1; cap <= sizeof(whole) + 3; cap++) {
		size_t fits = cap - 1 < sizeof(whole) - 1 ? cap - 1 : sizeof(whole) - 1;

		fresh(cap);
		iw_text_fmt(&t, "%s %U at ", "queue", UINT64_MAX);
		iw_text_hex(&t, 0x1234, 8);
		iw_text_str(&t, " ");
		iw_text_octets(&t, o, sizeof(o));
		iw_text_str(&t, " end");
		assert_int_equal(t.len, fits);
		assert_memory_equal(buf, whole, fits);
		assert_int_equal(buf[fits], '\0');
		for (size_t i = cap; i < sizeof(buf); i++)
			assert_int_equal(buf[i], '#');
	}
}

static void fault_has_error_errno_triplet_and_text(void **state)
{
	struct iw_fault why;

	(void)state;
	memset(&why, 0xff, sizeof(why));
	assert_int_equal(iw_fail(&why, IW_E_DDP_QN, "ddp: QN %u: expected 0..%u", (uint32_t)9,
				 (uint32_t)2),
			 IW_E_DDP_QN);
	assert_int_equal(why.err, IW_E_DDP_QN);
	assert_int_equal(why.os_errno, 0);
	assert_int_equal(why.term, IW_TERM(1, 2, 0x01));
	assert_false(why.from_peer);
	assert_true(why.offset == 0);
	assert_string_equal(why.clause, "RFC 5041 7.1");
	assert_string_equal(why.text, "ddp: QN 9: expected 0..2");
}

static void fault_pointer_may_be_null(void **state)
{
	(void)state;
	assert_int_equal(iw_fail(NULL, IW_E_LIMIT, "too many %s", "queues"), IW_E_LIMIT);
}

static void long_fault_is_cut(void **state)
{
	char name[300];
	struct iw_fault why;

	(void)state;
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	iw_fail(&why, IW_E_NOENT, "%s", name);
	assert_int_equal(strlen(why.text), sizeof(why.text) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_print_as_they_are),
		cmocka_unit_test(hex_has_at_least_the_digits_asked_for),
		cmocka_unit_test(octets_print_without_separators),
		cmocka_unit_test(format_knows_its_letters_and_copies_the_rest),
		cmocka_unit_test(text_that_does_not_fit_is_cut),
		cmocka_unit_test(fault_has_error_errno_triplet_and_text),
		cmocka_unit_test(fault_pointer_may_be_null),
		cmocka_unit_test(long_fault_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
