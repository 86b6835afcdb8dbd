// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The messages of ddp-bench as octets. */
#include "ddp-bench/msg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static uint8_t buf[IW_BENCH_MSG_MAX];

/* As documented in ddp-bench(1). */
static void a_mark_has_the_layout_of_the_man_page(void **state)
{
	static const uint8_t octets[] = {
		'i', 'w', 'B', 4, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7,
		0,   0,   0,   1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1,
	};
	struct iw_bench_msg m = { .type = IW_BENCH_MARK };

	(void)state;
	m.mark.number = 7;
	m.mark.octets = 0x100000002;
	m.mark.last = 1;
	assert_int_equal(iw_bench_msg_encode(buf, &m), sizeof(octets));
	assert_memory_equal(buf, octets, sizeof(octets));
}

static void every_type_decodes_to_what_was_encoded(void **state)
{
	(void)state;
	for (int t = IW_BENCH_RUN; t <= IW_BENCH_REFUSED; t++) {
		struct iw_bench_msg m = { .type = (enum iw_bench_type)t, .text = "words" }, got;
		struct iw_fault why;
		size_t numbers, len;

		for (size_t i = 0; i < IW_BENCH_NUMBERS; i++)
			m.number[i] = (i + 1) * 0x0101010101010101u;
		len = iw_bench_msg_encode(buf, &m);
		numbers = (len - 8 - strlen(m.text)) / 8;
		assert_int_equal(iw_bench_msg_decode(&got, buf, len, &why), 0);
		assert_int_equal(got.type, m.type);
		assert_string_equal(got.text, m.text);
		assert_memory_equal(got.number, m.number, numbers * 8);
		for (size_t i = numbers; i < IW_BENCH_NUMBERS; i++)
			assert_int_equal(got.number[i], 0);
		assert_string_not_equal(iw_bench_type_name(m.type), "?");
	}
}

static void a_message_cut_at_any_octet_is_refused(void **state)
{
	struct iw_bench_msg m = { .type = IW_BENCH_REPORT, .text = "cubic" }, got;
	struct iw_fault why;
	size_t len = iw_bench_msg_encode(buf, &m);

	(void)state;
	for (size_t n = 0; n < len; n++)
		assert_int_equal(iw_bench_msg_decode(&got, buf, n, &why), IW_E_TRUNC);
}

static void another_tag_or_type_is_refused(void **state)
{
	struct iw_bench_msg m = { .type = IW_BENCH_GO }, got;
	struct iw_fault why;
	size_t len = iw_bench_msg_encode(buf, &m);

	(void)state;
	buf[3] = 0;
	assert_int_equal(iw_bench_msg_decode(&got, buf, len, &why), IW_E_FORMAT);
	buf[3] = 200;
	assert_int_equal(iw_bench_msg_decode(&got, buf, len, &why), IW_E_FORMAT);
	buf[3] = IW_BENCH_GO;
	buf[0] = 'I';
	assert_int_equal(iw_bench_msg_decode(&got, buf, len, &why), IW_E_FORMAT);
	assert_string_equal(iw_bench_type_name((enum iw_bench_type)77), "?");
}

static void numbers_of_a_later_version_are_skipped(void **state)
{
	struct iw_bench_msg got;
	struct iw_fault why;

	(void)state;
	memset(buf, 0xee, sizeof(buf));
	memcpy(buf, "iwB", 3);
	buf[3] = IW_BENCH_CREDIT;
	buf[4] = 0;
	buf[5] = 40; /* numbers: more than the array takes */
	buf[6] = 0;
	buf[7] = 2;
	memcpy(buf + 8 + 40 * 8, "ok", 2);
	assert_int_equal(iw_bench_msg_decode(&got, buf, 8 + 40 * 8 + 2, &why), 0);
	assert_true(got.credit.messages == 0xeeeeeeeeeeeeeeee);
	assert_string_equal(got.text, "ok");
}

static void long_text_is_cut_and_ends(void **state)
{
	struct iw_bench_msg m = { .type = IW_BENCH_REFUSED }, got;
	struct iw_fault why;
	size_t len;

	(void)state;
	memset(m.text, 'x', IW_BENCH_TEXT);
	len = iw_bench_msg_encode(buf, &m);
	assert_int_equal(len, 8 + IW_BENCH_TEXT);
	/* The reader's array is not longer. */
	buf[6] = 1;
	buf[7] = 0;
	assert_int_equal(iw_bench_msg_decode(&got, buf, 8 + 256, &why), 0);
	assert_int_equal(strlen(got.text), IW_BENCH_TEXT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mark_has_the_layout_of_the_man_page),
		cmocka_unit_test(every_type_decodes_to_what_was_encoded),
		cmocka_unit_test(a_message_cut_at_any_octet_is_refused),
		cmocka_unit_test(another_tag_or_type_is_refused),
		cmocka_unit_test(numbers_of_a_later_version_are_skipped),
		cmocka_unit_test(long_text_is_cut_and_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
