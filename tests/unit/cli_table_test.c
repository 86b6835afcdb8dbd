// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Columns are aligned, and lines have no trailing blanks. */
#include "cli/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void check(const char *align, const char *const *cells, unsigned int columns,
		  const char *expected)
{
	struct iw_table t;
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	iw_table_init(&t, align);
	for (; *cells; cells++)
		iw_table_add(&t, *cells);
	assert_int_equal(iw_table_write(&t, f, columns), 0);
	iw_table_fini(&t);
	assert_int_equal(fclose(f), 0);
	assert_string_equal(text, expected);
	free(text);
}

static void columns_align_left_and_right(void **state)
{
	static const char *const cells[] = { "size", "rate",  "name", "1",  "41.2 Gb/s",
					     "a",    "65536", "9",    "bb", NULL };

	(void)state;
	check("rrl", cells, 0,
	      " size       rate  name\n"
	      "    1  41.2 Gb/s  a\n"
	      "65536          9  bb\n");
}

static void keys_and_values_make_two_columns(void **state)
{
	static const char *const cells[] = { "octets", "64.0 MiB", "rate", "1.0 Gb/s", NULL };

	(void)state;
	check("ll", cells, 0,
	      "octets  64.0 MiB\n"
	      "rate    1.0 Gb/s\n");
}

static void no_line_ends_in_blanks(void **state)
{
	static const char *const cells[] = { "a", "", "",  "long text", "b", "",
					     "",  "", "c", "d",         NULL };

	(void)state;
	check("lll", cells, 0,
	      "a\n"
	      "long text  b\n"
	      "              c\n"
	      "d\n");
}

static void characters_count_not_octets(void **state)
{
	static const char *const cells[] = { "gr\xc3\xbc\xc3\x9f", "1", "abcd", "2", NULL };

	(void)state;
	check("ll", cells, 0, "gr\xc3\xbc\xc3\x9f  1\nabcd  2\n");
}

static void control_characters_do_not_reach_the_terminal(void **state)
{
	static const char *const cells[] = { "a\nb", "\033[1m", NULL };

	(void)state;
	check("ll", cells, 0, "a\\x0ab  \\x1b[1m\n");
}

static void last_column_breaks_between_words(void **state)
{
	static const char *const cells[] = { "no", "one two three four five six seven", NULL };
	static const char *const solid[] = { "no", "abcdefghijklmnopqrstuvwxyz", NULL };

	(void)state;
	check("ll", cells, 24,
	      "no  one two three four\n"
	      "    five six seven\n");
	check("ll", cells, 0, "no  one two three four five six seven\n");
	/* The width is too small, so nothing is broken. */
	check("ll", cells, 23, "no  one two three four five six seven\n");
	check("ll", solid, 24, "no  abcdefghijklmnopqrst\n    uvwxyz\n");
	check("ll", cells, 37, "no  one two three four five six seven\n");
	check("ll", cells, 36, "no  one two three four five six\n    seven\n");
}

static void many_rows_and_formats_are_kept(void **state)
{
	struct iw_table t;
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	(void)state;
	iw_table_init(&t, "rl");
	for (int i = 0; i < 1000; i++) {
		iw_table_addf(&t, "%d", i);
		iw_table_add(&t, "x");
	}
	assert_int_equal(iw_table_write(&t, f, 0), 0);
	iw_table_fini(&t);
	fclose(f);
	assert_int_equal(size, 1000 * 7);
	assert_memory_equal(text + 999 * 7, "999  x\n", 7);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_align_left_and_right),
		cmocka_unit_test(keys_and_values_make_two_columns),
		cmocka_unit_test(no_line_ends_in_blanks),
		cmocka_unit_test(characters_count_not_octets),
		cmocka_unit_test(control_characters_do_not_reach_the_terminal),
		cmocka_unit_test(last_column_breaks_between_words),
		cmocka_unit_test(many_rows_and_formats_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
