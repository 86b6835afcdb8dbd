/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Both ends, for tests that need two; they are created anew for each test. */
#ifndef TESTS_UNIT_VERBS_BOTH_H
#define TESTS_UNIT_VERBS_BOTH_H

#include "verbs_end.h"

static struct end a, b;

static inline int open_both(void **state)
{
	(void)state;
	end_open(&a);
	end_open(&b);
	return 0;
}

static inline int close_both(void **state)
{
	(void)state;
	end_close(&a);
	end_close(&b);
	return 0;
}

#endif
