// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Dropped privileges stay dropped. */
#include "os/priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include <cmocka.h>

static void no_capability_is_left_and_none_can_come(void **state)
{
	char line[256];
	int seen = 0;
	FILE *f;

	(void)state;
	assert_int_equal(iw_os_priv_drop(NULL), 0);
	f = fopen("/proc/self/status", "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "CapEff:", 7) && strncmp(line, "CapPrm:", 7))
			continue;
		seen++;
		assert_int_equal(strtoull(line + 7, NULL, 16), 0);
	}
	fclose(f);
	assert_int_equal(seen, 2);
	assert_int_equal(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
	/* A second call is not an error. */
	assert_int_equal(iw_os_priv_drop(NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_capability_is_left_and_none_can_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
