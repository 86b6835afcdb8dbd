// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Only the listeners of iwarp-tools are recognized by their Rejects. */
#include "cli/listener.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define RECV                                                                                       \
	"\xa5\x00\x6c"                                                                             \
	"ddp-transfer\x01\x03"

static void listeners_are_recognized(void **state)
{
	static const char ping[] = "this listener serves only sctp-ddp-ping";

	(void)state;
	assert_string_equal(iw_cli_listener(RECV, sizeof(RECV) - 1), "ddp-recv");
	assert_string_equal(iw_cli_listener("iwB\x09", 4), "ddp-bench --listen");
	assert_string_equal(iw_cli_listener(ping, strlen(ping)), "sctp-ddp-ping --listen");
	assert_null(iw_cli_listener(RECV, 14));
	assert_null(iw_cli_listener("iw", 2));
	assert_null(iw_cli_listener("", 0));
	assert_null(iw_cli_listener("another protocol", 16));
}

static void wrong_listener_is_named_with_the_one_needed(void **state)
{
	struct iw_fault why = { .err = IW_E_REJECTED, .text = "as it was" };

	(void)state;
	iw_cli_wrong_listener(&why, "iwB", 3, "[::1]:7471", "ddp-bench --listen");
	assert_string_equal(why.text, "as it was");
	iw_cli_wrong_listener(&why, "other", 5, "[::1]:7471", "ddp-bench --listen");
	assert_string_equal(why.text, "as it was");
	iw_cli_wrong_listener(&why, RECV, sizeof(RECV) - 1, "[::1]:7471", "ddp-bench --listen");
	assert_string_equal(
		why.text,
		"connect to [::1]:7471: ddp-recv listens there, not ddp-bench --listen; start that there, or give its port with -p");
	assert_int_equal(why.err, IW_E_REJECTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listeners_are_recognized),
		cmocka_unit_test(wrong_listener_is_named_with_the_one_needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
