// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The random source fills the whole buffer, whatever the kernel returns. */
#include "os/os.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

/* What the next calls of getrandom do: return at most so many octets after so many interruptions,
 * or fail. */
static struct {
	size_t most;
	int interruptions, failure;
} kernel;

/* Replaces the C library's. */
ssize_t getrandom(void *buf, size_t len, unsigned int flags)
{
	if (kernel.interruptions > 0) {
		kernel.interruptions--;
		errno = EINTR;
		return -1;
	}
	if (kernel.failure) {
		errno = kernel.failure;
		return -1;
	}
	if (kernel.most && len > kernel.most)
		len = kernel.most;
	return syscall(SYS_getrandom, buf, len, flags);
}

static void fills_every_octet(size_t most, int interruptions)
{
	static uint8_t seen[10000], buf[10000];

	memset(seen, 0, sizeof(seen));
	kernel.most = most;
	/* One octet stays zero in all 20 rounds with a chance of 2^-160. */
	for (int round = 0; round < 20; round++) {
		kernel.interruptions = interruptions;
		memset(buf, 0, sizeof(buf));
		assert_int_equal(iw_os_random(buf, sizeof(buf)), 0);
		for (size_t i = 0; i < sizeof(buf); i++)
			seen[i] |= buf[i];
	}
	for (size_t i = 0; i < sizeof(seen); i++)
		assert_int_not_equal(seen[i], 0);
}

static void fills_a_large_buffer(void **state)
{
	(void)state;
	fills_every_octet(0, 0);
}

static void reading_continues_after_short_results_and_interruptions(void **state)
{
	(void)state;
	fills_every_octet(7, 3);
	fills_every_octet(1, 0);
}

static void failure_is_reported(void **state)
{
	uint8_t buf[16];

	(void)state;
	kernel.failure = ENOSYS;
	assert_int_equal(iw_os_random(buf, sizeof(buf)), IW_E_OS);
	kernel.failure = 0;
}

static void zero_length_request_writes_nothing(void **state)
{
	uint8_t guard = 0xa5;

	(void)state;
	assert_int_equal(iw_os_random(&guard, 0), 0);
	assert_int_equal(guard, 0xa5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fills_a_large_buffer),
		cmocka_unit_test(reading_continues_after_short_results_and_interruptions),
		cmocka_unit_test(failure_is_reported),
		cmocka_unit_test(zero_length_request_writes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
