// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Every error has an exit status. */
#include "cli/exit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <iwarp/err.h>

static void errors_map_to_the_status_that_a_script_needs(void **state)
{
	static const struct {
		int err;
		enum iw_exit status;
	} rows[] = {
		{ IW_OK, IW_EXIT_OK },
		{ IW_E_REJECTED, IW_EXIT_NO },
		{ IW_E_PEER_TERMINATE, IW_EXIT_NO },
		{ IW_E_DDP_BOUNDS, IW_EXIT_NO },
		{ IW_E_MPA_CRC, IW_EXIT_NO },
		{ IW_E_INVAL, IW_EXIT_USAGE },
		{ IW_E_NOTSUP, IW_EXIT_CANNOT },
		{ IW_E_PERM, IW_EXIT_CANNOT },
		{ IW_E_OS, IW_EXIT_FAILED },
		{ IW_E_NOMEM, IW_EXIT_FAILED },
		{ IW_E_TIMEOUT, IW_EXIT_FAILED },
		{ IW_E_CLOSED, IW_EXIT_FAILED },
		{ IW_E_MPA_LOST, IW_EXIT_FAILED },
		{ -10000, IW_EXIT_FAILED },
		{ 1, IW_EXIT_FAILED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(iw_exit_status(rows[i].err), rows[i].status);
}

static void no_error_is_success(void **state)
{
	(void)state;
	for (int i = 1; i < IW_ERR_COUNT_; i++)
		assert_true(iw_exit_status(-i) >= IW_EXIT_NO &&
			    iw_exit_status(-i) <= IW_EXIT_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_map_to_the_status_that_a_script_needs),
		cmocka_unit_test(no_error_is_success),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
