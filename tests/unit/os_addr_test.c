// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Addresses: parsing, printing, comparing. */
#include "os/addr.h"

#include <netdb.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void numeric_text_prints_back_with_its_port(void **state)
{
	static const struct {
		const char *text, *host, *both;
	} rows[] = {
		{ "10.0.0.1", "10.0.0.1", "10.0.0.1:7471" },
		{ "::1", "::1", "[::1]:7471" },
		{ "[::1]", "::1", "[::1]:7471" },
		{ "2001:db8:0:0::5", "2001:db8::5", "[2001:db8::5]:7471" },
		{ "fe80::1%lo", "fe80::1%lo", "[fe80::1%lo]:7471" },
		{ "fe80::1%1", "fe80::1%lo", "[fe80::1%lo]:7471" },
		{ "fe80::1%4000000000", "fe80::1%4000000000", "[fe80::1%4000000000]:7471" },
	};
	char buf[IW_ADDR_TEXT];
	struct iw_addr a, again;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(iw_addr_parse(&a, rows[i].text, 7471), 0);
		assert_string_equal(iw_addr_host(buf, &a), rows[i].host);
		assert_int_equal(iw_addr_parse(&again, buf, 7471), 0);
		assert_true(iw_addr_equal(&a, &again));
		assert_string_equal(iw_addr_format(buf, &a), rows[i].both);
		assert_int_equal(iw_addr_port(&a), 7471);
	}
}

static void mapped_ipv4_is_printed_as_ipv4(void **state)
{
	char buf[IW_ADDR_TEXT];
	struct iw_addr a;

	(void)state;
	assert_int_equal(iw_addr_parse(&a, "::ffff:10.99.0.1", 7471), 0);
	assert_string_equal(iw_addr_host(buf, &a), "10.99.0.1");
	assert_string_equal(iw_addr_format(buf, &a), "10.99.0.1:7471");
}

static void longest_address_fits_its_buffer(void **state)
{
	char buf[IW_ADDR_TEXT];
	struct iw_addr a;

	(void)state;
	assert_int_equal(iw_addr_parse(&a,
				       "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255%4294967295",
				       65535),
			 0);
	assert_string_equal(iw_addr_format(buf, &a),
			    "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff%4294967295]:65535");
}

static void other_text_is_not_an_address(void **state)
{
	static const char *const rows[] = {
		"",
		"10.0.0",
		"10.0.0.256",
		"10.0.0.1 ",
		" 10.0.0.1",
		"10.0.0.1:80",
		"[10.0.0.1]",
		"[::1",
		"::1]",
		"[]",
		"1::2::3",
		"fe80::1%",
		"fe80::1%no-such-iface",
		"fe80::1%1x",
		"fe80::1%-1",
		"fe80::1%0",
		"fe80::1%99999999999",
		"localhost",
		"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	};
	struct iw_addr a;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (iw_addr_parse(&a, rows[i], 1) != IW_E_INVAL)
			fail_msg("\"%s\" was taken", rows[i]);
}

static void no_host_is_loopback_of_both_families(void **state)
{
	char buf[IW_ADDR_TEXT];
	struct iw_addr a[2];
	size_t n;

	(void)state;
	assert_int_equal(iw_addr_resolve(a, 2, &n, NULL, 7, NULL), 0);
	assert_int_equal(n, 2);
	assert_string_equal(iw_addr_format(buf, &a[0]), "127.0.0.1:7");
	assert_string_equal(iw_addr_format(buf, &a[1]), "[::1]:7");
	assert_int_equal(iw_addr_resolve(a, 1, &n, "", 7, NULL), 0);
	assert_int_equal(n, 1);
}

static void star_is_every_address_of_both_families(void **state)
{
	char buf[IW_ADDR_TEXT];
	struct iw_addr a[2];
	size_t n;

	(void)state;
	assert_int_equal(iw_addr_resolve(a, 2, &n, "*", 7, NULL), 0);
	assert_int_equal(n, 2);
	assert_string_equal(iw_addr_format(buf, &a[0]), "[::]:7");
	assert_string_equal(iw_addr_format(buf, &a[1]), "0.0.0.0:7");
}

static void localhost_resolves_to_loopback(void **state)
{
	struct addrinfo *known;
	struct iw_addr a[4];
	size_t n;

	(void)state;
	if (getaddrinfo("localhost", NULL, NULL, &known) != 0) {
		print_message("# needs localhost: the name does not resolve\n");
		skip();
	}
	freeaddrinfo(known);
	assert_int_equal(iw_addr_resolve(a, 4, &n, "localhost", 7471, NULL), 0);
	assert_true(n >= 1);
	for (size_t i = 0; i < n; i++) {
		assert_true(iw_addr_is_loopback(&a[i]));
		assert_int_equal(iw_addr_port(&a[i]), 7471);
	}
}

static void unknown_host_is_named_in_the_error(void **state)
{
	struct iw_fault why = { 0 };
	struct iw_addr a;
	size_t n;
	int err;

	(void)state;
	/* RFC 6761 section 6.4: .invalid never resolves; without a network, the resolver may not
	 * answer. */
	err = iw_addr_resolve(&a, 1, &n, "iw.invalid", 1, &why);
	assert_true(err == IW_E_NOENT || err == IW_E_AGAIN || err == IW_E_OS);
	assert_int_equal(why.err, err);
	assert_non_null(strstr(why.text, "iw.invalid"));
}

static void loopback_and_any_are_recognised(void **state)
{
	static const struct {
		const char *text;
		bool loopback, any;
	} rows[] = {
		{ "127.0.0.1", true, false },
		{ "127.255.0.9", true, false },
		{ "128.0.0.1", false, false },
		{ "0.0.0.0", false, true },
		{ "::", false, true },
		{ "::1", true, false },
		{ "::2", false, false },
		{ "::ffff:127.0.0.1", true, false },
		{ "::ffff:10.0.0.1", false, false },
	};
	struct iw_addr a;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(iw_addr_parse(&a, rows[i].text, 1), 0);
		assert_int_equal(iw_addr_is_loopback(&a), rows[i].loopback);
		assert_int_equal(iw_addr_is_any(&a), rows[i].any);
	}
}

static void equal_compares_address_port_and_scope(void **state)
{
	struct iw_addr none = { 0 }, a, b;

	(void)state;
	assert_int_equal(iw_addr_parse(&a, "fe80::1%1", 5), 0);
	assert_int_equal(iw_addr_parse(&b, "fe80::1%2", 5), 0);
	assert_false(iw_addr_equal(&a, &b));
	b = a;
	assert_true(iw_addr_equal(&a, &b));
	iw_addr_set_port(&b, 6);
	assert_false(iw_addr_equal(&a, &b));
	assert_int_equal(iw_addr_parse(&b, "10.0.0.1", 5), 0);
	assert_false(iw_addr_equal(&a, &b));
	assert_false(iw_addr_equal(&a, &none));
	assert_true(iw_addr_equal(&none, &none));
	assert_int_equal(iw_addr_port(&none), 0);
	assert_false(iw_addr_is_loopback(&none) || iw_addr_is_any(&none));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numeric_text_prints_back_with_its_port),
		cmocka_unit_test(mapped_ipv4_is_printed_as_ipv4),
		cmocka_unit_test(longest_address_fits_its_buffer),
		cmocka_unit_test(other_text_is_not_an_address),
		cmocka_unit_test(no_host_is_loopback_of_both_families),
		cmocka_unit_test(star_is_every_address_of_both_families),
		cmocka_unit_test(localhost_resolves_to_loopback),
		cmocka_unit_test(unknown_host_is_named_in_the_error),
		cmocka_unit_test(loopback_and_any_are_recognised),
		cmocka_unit_test(equal_compares_address_port_and_scope),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
