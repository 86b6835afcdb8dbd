// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* errno values become errors of the library and parts of sentences. */
#include "os/os.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void errno_maps_to_the_error_that_says_what_to_do(void **state)
{
	static const struct {
		int errnum, err;
	} rows[] = {
		{ EPERM, IW_E_PERM },
		{ EACCES, IW_E_PERM },
		{ ENOMEM, IW_E_NOMEM },
		{ EPROTONOSUPPORT, IW_E_NOTSUP },
		{ ENOSYS, IW_E_NOTSUP },
		{ EAGAIN, IW_E_AGAIN },
		{ ETIMEDOUT, IW_E_TIMEOUT },
		{ ENOENT, IW_E_NOENT },
		{ EMFILE, IW_E_LIMIT },
		{ ECONNREFUSED, IW_E_OS },
		{ EIO, IW_E_OS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(iw_os_err(rows[i].errnum), rows[i].err);
}

static void fault_names_step_object_and_cause(void **state)
{
	struct iw_fault why;

	(void)state;
	assert_int_equal(iw_os_fail(&why, ECONNREFUSED, "connect to %s port %d", "10.0.0.1", 7471),
			 IW_E_OS);
	assert_string_equal(why.text, "connect to 10.0.0.1 port 7471: connection refused");
	assert_int_equal(why.err, IW_E_OS);
	assert_int_equal(why.os_errno, ECONNREFUSED);
	assert_int_equal(why.term, IW_NOTERM);
	assert_non_null(why.clause);
}

static void fault_may_be_absent(void **state)
{
	(void)state;
	assert_int_equal(iw_os_fail(NULL, EPERM, "open %s", "x"), IW_E_PERM);
}

static void fault_text_is_cut_at_its_room(void **state)
{
	char longer[500];
	struct iw_fault why;

	(void)state;
	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	iw_os_fail(&why, EIO, "%s", longer);
	assert_int_equal(strlen(why.text), sizeof(why.text) - 1);
	longer[sizeof(why.text) - 10] = '\0';
	iw_os_fail(&why, EIO, "%s", longer);
	assert_int_equal(strlen(why.text), sizeof(why.text) - 1);
}

static void unknown_errno_keeps_its_number(void **state)
{
	char buf[40];

	(void)state;
	assert_string_equal(iw_os_strerror(buf, sizeof(buf), 99999), "error 99999");
	assert_string_equal(iw_os_strerror(buf, sizeof(buf), EPIPE), "broken pipe");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errno_maps_to_the_error_that_says_what_to_do),
		cmocka_unit_test(fault_names_step_object_and_cause),
		cmocka_unit_test(fault_may_be_absent),
		cmocka_unit_test(fault_text_is_cut_at_its_room),
		cmocka_unit_test(unknown_errno_keeps_its_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
