// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The clocks. */
#include "os/os.h"

#include <time.h>

/* clock_gettime cannot fail for a clock that every kernel has. */
static uint64_t read_clock(clockid_t id)
{
	struct timespec ts = { 0 };

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t iw_os_now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t iw_os_wall(void)
{
	return read_clock(CLOCK_REALTIME);
}
