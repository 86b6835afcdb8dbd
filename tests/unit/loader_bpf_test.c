// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The texts of failures in the room that loads XDP programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "loader/bpf.h"

#include <errno.h>
#include <string.h>

#ifdef IW_HAVE_XDP
#include <bpf/libbpf.h>

static void failure_quotes_only_the_message_of_its_own_step(void **state)
{
	struct iw_fault why = { 0 };

	(void)state;
	iw_bpf_begin();
	assert_null(bpf_object__open_file("/no/such/object", NULL));
	assert_int_equal(iw_bpf_fail(&why, EIO, "open an object"), IW_E_OS);
	iw_bpf_end();
	assert_non_null(strstr(why.text, "open an object ("));
	assert_non_null(strstr(why.text, "/no/such/object"));
	assert_int_equal(iw_bpf_fail(&why, EIO, "pin a link"), IW_E_OS);
	assert_string_equal(why.text, "pin a link: input/output error");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failure_quotes_only_the_message_of_its_own_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void not_built(void **state)
{
	(void)state;
	print_message("# needs xdp: built without libxdp\n");
	skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(not_built) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
