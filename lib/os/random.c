// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Randomness from the kernel. */
#include "os/os.h"

#include <errno.h>
#include <sys/random.h>

int iw_os_random(void *buf, size_t len)
{
	uint8_t *p = buf;

	/* Above 256 octets, getrandom may be interrupted and return less. */
	while (len > 0) {
		ssize_t n = getrandom(p, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return IW_E_OS;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}
