// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The C library's heap, as an allocator for the engines. */
#include "os/os.h"

#include <stdlib.h>

static void *heap_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size ? size : 1);
}

static void heap_free(void *ctx, void *p, size_t size)
{
	(void)ctx;
	(void)size;
	free(p);
}

const struct iw_mem iw_os_heap = { heap_alloc, heap_free, NULL };
