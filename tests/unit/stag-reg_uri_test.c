// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* URIs of Advertisements: formatting and parsing. */
#include "stag-reg/uri.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "util/num.h"

static void written_uri_parses_to_the_same_fields(void **state)
{
	static const struct {
		const char *text;
		struct iw_uri u;
	} good[] = {
		{ "ddp+tcp://127.0.0.1:7471/stag/0123abcd?to=0&len=1048576&access=rw",
		  { .transport = "tcp",
		    .host = "127.0.0.1",
		    .port = 7471,
		    .stag = 0x0123abcd,
		    .len = 1048576,
		    .access = 3 } },
		{ "ddp+udp://board.example:1/stag/ffffffff?to=18446744073709551610&len=5&access=r"
		  "&key=00112233445566778899aabbccddeeff",
		  { .transport = "udp",
		    .host = "board.example",
		    .port = 1,
		    .stag = UINT32_MAX,
		    .to = UINT64_MAX - 5,
		    .len = 5,
		    .access = 1,
		    .key = { true,
			     { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa,
			       0xbb, 0xcc, 0xdd, 0xee, 0xff } } } },
		{ "ddp+xdp://[fe80::1%25eth0]:65535/stag/00000001?to=4096&len=0&access=w",
		  { .transport = "xdp",
		    .host = "fe80::1%eth0",
		    .port = 65535,
		    .stag = 1,
		    .to = 4096,
		    .access = 2 } },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(good); i++) {
		char buf[IW_URI_TEXT];
		const char *why = "";
		struct iw_uri u;

		if (iw_uri_parse(&u, good[i].text, &why) != 0)
			fail_msg("%s: %s", good[i].text, why);
		assert_memory_equal(&u, &good[i].u, sizeof(u));
		assert_string_equal(iw_uri_format(buf, &u), good[i].text);
	}
}

static void order_and_unknown_parts_do_not_matter(void **state)
{
	struct iw_uri u;
	const char *why;

	(void)state;
	assert_int_equal(iw_uri_parse(&u,
				      "ddp+tcp://h:1/stag/0123ABCD?access=w&new=thing&len=2&&to=1",
				      &why),
			 0);
	assert_int_equal(u.stag, 0x0123abcd);
	assert_int_equal(u.to, 1);
	assert_int_equal(u.len, 2);
	assert_int_equal(u.access, 2);
	assert_false(u.key.set);
}

static void text_that_is_not_a_uri_is_refused_with_a_reason(void **state)
{
	static const char *const bad[] = {
		"",
		"d",
		"ddp",
		"ddp+",
		"http://h:1/stag/00000001?to=0&len=1&access=r",
		"ddp+://h:1/stag/00000001?to=0&len=1&access=r",
		"ddp+TCP://h:1/stag/00000001?to=0&len=1&access=r",
		"ddp+toolongname://h:1/stag/00000001?to=0&len=1&access=r",
		"ddp+tcp:/h:1/stag/00000001?to=0&len=1&access=r",
		"ddp+tcp://:1/stag/00000001?to=0&len=1&access=r",
		"ddp+tcp://h/stag/00000001?to=0&len=1&access=r",
		"ddp+tcp://u@h:1/stag/00000001?to=0&len=1&access=r",
		"ddp+tcp://h\t:1/stag/00000001?to=0&len=1&access=r",
		"ddp+tcp://h%41:1/stag/00000001?to=0&len=1&access=r",
		"ddp+tcp://fe80::1:1/stag/00000001?to=0&len=1&access=r",
		"ddp+tcp://[fe80::1:1/stag/00000001?to=0&len=1&access=r",
		"ddp+tcp://[fe80::1%eth0]:1/stag/00000001?to=0&len=1&access=r",
		"ddp+tcp://[fe80::1%25a%25b]:1/stag/00000001?to=0&len=1&access=r",
		"ddp+tcp://h\xc3\xa4:1/stag/00000001?to=0&len=1&access=r",
		"ddp+tcp://[h]:1/stag/00000001?to=0&len=1&access=r",
		"ddp+tcp://[::1]/stag/00000001?to=0&len=1&access=r",
		"ddp+tcp://h:0/stag/00000001?to=0&len=1&access=r",
		"ddp+tcp://h:65536/stag/00000001?to=0&len=1&access=r",
		"ddp+tcp://h:1x/stag/00000001?to=0&len=1&access=r",
		"ddp+tcp://h:1",
		"ddp+tcp://h:1/stag",
		"ddp+tcp://h:1/stag/",
		"ddp+tcp://h:1/stag/1?to=0&len=1&access=r",
		"ddp+tcp://h:1/stag/0000000g?to=0&len=1&access=r",
		"ddp+tcp://h:1/stag/000000001?to=0&len=1&access=r",
		"ddp+tcp://h:1/stag/00000001",
		"ddp+tcp://h:1/stag/00000001?",
		"ddp+tcp://h:1/stag/00000001?len=1&access=r",
		"ddp+tcp://h:1/stag/00000001?to=0&access=r",
		"ddp+tcp://h:1/stag/00000001?to=0&len=1",
		"ddp+tcp://h:1/stag/00000001?to=&len=1&access=r",
		"ddp+tcp://h:1/stag/00000001?to=-1&len=1&access=r",
		"ddp+tcp://h:1/stag/00000001?to=0&len=18446744073709551616&access=r",
		"ddp+tcp://h:1/stag/00000001?to=2&len=18446744073709551614&access=r",
		"ddp+tcp://h:1/stag/00000001?to=0&len=1&access=",
		"ddp+tcp://h:1/stag/00000001?to=0&len=1&access=wr",
		"ddp+tcp://h:1/stag/00000001?to=0&len=1&access=r&to=0",
		"ddp+tcp://h:1/stag/00000001?to=0&len=1&access=r&key=",
		"ddp+tcp://h:1/stag/00000001?to=0&len=1&access=r&key=00112233445566778899aabbccddeef",
		"ddp+tcp://h:1/stag/00000001?to=0&len=1&access=r&key=00112233445566778899aabbccddeefg",
		"ddp+tcp://h:1/stag/00000001?to=000000000000000000000000000001&len=1&access=r",
	};
	char host[700];

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(bad); i++) {
		const char *why = NULL;
		struct iw_uri u;

		if (iw_uri_parse(&u, bad[i], &why) != IW_E_INVAL)
			fail_msg("taken: %s", bad[i]);
		assert_true(why && *why);
	}
	/* A host of 255 octets fits; longer hosts and longer URIs do not. */
	for (int len = 255; len <= 500; len += len < 257 ? 1 : 100) {
		const char *why;
		struct iw_uri u;

		snprintf(host, sizeof(host), "ddp+tcp://%0*d:1/stag/00000001?to=0&len=1&access=r",
			 len, 0);
		assert_int_equal(iw_uri_parse(&u, host, &why), len == 255 ? 0 : IW_E_INVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_uri_parses_to_the_same_fields),
		cmocka_unit_test(order_and_unknown_parts_do_not_matter),
		cmocka_unit_test(text_that_is_not_a_uri_is_refused_with_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
