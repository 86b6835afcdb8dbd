// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* HOST:PATH by scp's rule. */
#include "cli/endpoint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <iwarp/err.h>

static void colon_before_the_first_slash_means_a_host(void **state)
{
	static const struct {
		const char *text, *host, *path; /* host NULL: local */
	} rows[] = {
		{ "file", NULL, "file" },
		{ "/a:b", NULL, "/a:b" },
		{ "./a:b", NULL, "./a:b" },
		{ "dir/a:b", NULL, "dir/a:b" },
		{ ":a", NULL, ":a" },
		{ "::1:file", NULL, "::1:file" },
		{ "[a]b", NULL, "[a]b" },
		{ "[a", NULL, "[a" },
		{ "[a:b", NULL, "[a:b" },
		{ "[::1]", NULL, "[::1]" },
		{ "[::1]/x:y", NULL, "[::1]/x:y" },
		{ "-x", NULL, "-x" },
		{ "host:", "host", "" },
		{ "host:file", "host", "file" },
		{ "host:/abs/file", "host", "/abs/file" },
		{ "host:a:b", "host", "a:b" },
		{ "host:./:b", "host", "./:b" },
		{ "10.0.0.1:dir/", "10.0.0.1", "dir/" },
		{ "[::1]:", "::1", "" },
		{ "[::1]:x:y", "::1", "x:y" },
		{ "[fe80::1%eth0]:/x", "fe80::1%eth0", "/x" },
		{ "[host]::odd", "host", ":odd" },
		{ "host: name with blanks\n", "host", " name with blanks\n" },
		{ "-:x", "-", "x" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *why = "";
		struct iw_endpoint e;

		if (iw_endpoint_parse(&e, rows[i].text, &why) != 0)
			fail_msg("\"%s\": %s", rows[i].text, why);
		assert_false(e.is_stdio);
		if (e.is_remote != (rows[i].host != NULL))
			fail_msg("\"%s\": remote %d", rows[i].text, e.is_remote);
		assert_string_equal(e.host, rows[i].host ? rows[i].host : "");
		assert_string_equal(e.path, rows[i].path);
	}
}

static void dash_is_standard_input_or_output(void **state)
{
	struct iw_endpoint e;
	const char *why;

	(void)state;
	assert_int_equal(iw_endpoint_parse(&e, "-", &why), 0);
	assert_true(e.is_stdio);
	assert_false(e.is_remote);
	assert_int_equal(iw_endpoint_parse(&e, "./-", &why), 0);
	assert_false(e.is_stdio);
}

static void ambiguous_endpoint_is_refused_with_a_reason(void **state)
{
	static const struct {
		const char *text, *word;
	} rows[] = {
		{ "", "empty" },
		{ "[]:x", "no host" },
		{ "[me@::1]:x", "before the brackets" },
		{ "@host:x", "no user" },
		{ "me@:x", "no host after the @" },
		{ "fe80::1:x", "brackets" },
		{ "host::module", "brackets" },
		{ "::1:", "brackets" },
		{ "::1", "brackets" },
		{ "::ffff:10.0.0.1/x", "brackets" },
		{ "[::1:", "the ]" },
		{ "[fd00::1:dir/x", "the ]" },
		{ "rsync://host/x", "a URL" },
		{ "http://[::1]:80/x", "a URL" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *why = NULL;
		struct iw_endpoint e;

		assert_int_equal(iw_endpoint_parse(&e, rows[i].text, &why), IW_E_INVAL);
		assert_non_null(strstr(why, rows[i].word));
	}
}

static void user_precedes_the_last_at_sign(void **state)
{
	static const struct {
		const char *text, *user, *host, *path; /* host NULL: local */
	} rows[] = {
		{ "me@host:x", "me", "host", "x" },
		{ "me@corp@host:", "me@corp", "host", "" },
		{ "me@[fe80::1%eth0]:/x", "me", "fe80::1%eth0", "/x" },
		{ "host:me@x", "", "host", "me@x" },
		{ "me@host", NULL, NULL, "me@host" },
		{ "./me@host:x", NULL, NULL, "./me@host:x" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *why = "";
		struct iw_endpoint e;

		if (iw_endpoint_parse(&e, rows[i].text, &why) != 0)
			fail_msg("\"%s\": %s", rows[i].text, why);
		assert_true(e.is_remote == (rows[i].host != NULL));
		assert_string_equal(e.user, rows[i].user ? rows[i].user : "");
		assert_string_equal(e.host, rows[i].host ? rows[i].host : "");
		assert_string_equal(e.path, rows[i].path);
	}
}

static void host_has_255_octets_at_most(void **state)
{
	struct iw_endpoint e;
	const char *why;
	char text[300];

	(void)state;
	memset(text, 'h', sizeof(text));
	memcpy(text + 255, ":x", 3);
	assert_int_equal(iw_endpoint_parse(&e, text, &why), 0);
	assert_int_equal(strlen(e.host), 255);
	memcpy(text + 255, "h:x", 4);
	assert_int_equal(iw_endpoint_parse(&e, text, &why), IW_E_INVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(colon_before_the_first_slash_means_a_host),
		cmocka_unit_test(dash_is_standard_input_or_output),
		cmocka_unit_test(ambiguous_endpoint_is_refused_with_a_reason),
		cmocka_unit_test(user_precedes_the_last_at_sign),
		cmocka_unit_test(host_has_255_octets_at_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
