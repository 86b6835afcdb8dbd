// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Arrays from an engine's allocator. */
#include "util/mem.h"

void *iw_mem_array(const struct iw_mem *m, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		return NULL;
	return iw_mem_alloc(m, bytes);
}
