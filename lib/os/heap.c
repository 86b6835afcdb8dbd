// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The C library's heap, and mappings for large memory, as an allocator for the engines. */
#include "os/os.h"

#include <stdlib.h>

#ifndef __has_feature /* gcc before 14 */
#define __has_feature(name) 0
#endif

/* The size from which memory is worth a mapping of its own. AddressSanitizer checks only the heap. */
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define LARGE SIZE_MAX
#else
#define LARGE ((size_t)2 << 20)
#endif

static void *heap_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return size < LARGE ? calloc(1, size ? size : 1) : iw_os_map(size);
}

static void heap_free(void *ctx, void *p, size_t size)
{
	(void)ctx;
	if (size < LARGE)
		free(p);
	else
		iw_os_unmap(p, size);
}

const struct iw_mem iw_os_heap = { heap_alloc, heap_free, NULL };
