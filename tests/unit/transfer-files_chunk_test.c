// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Several transfers use the same memory for chunks: none sees octets of an earlier one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "transfer/internal.h"

static void *get_zeroed(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static void release(void *ctx, void *p, size_t size)
{
	(void)ctx;
	(void)size;
	free(p);
}

static const struct iw_mem mem = { get_zeroed, release, NULL };

static void open_pool(struct hub *h)
{
	iw_pool_init(&h->slots, &mem, IW_XFER_CHUNK + sizeof(uint64_t), 0, 4);
}

/* SEC-23: RFC 5042 6.3.2 */
static void chunk_of_another_transfer_is_zeroed(void **state)
{
	static const uint8_t zeros[IW_XFER_CHUNK];
	struct group first = { .serial = 1 }, second = { .serial = 2 };
	struct hub *h = calloc(1, sizeof(*h));
	void *chunk;

	(void)state;
	assert_non_null(h);
	open_pool(h);
	chunk = iw_hub_chunk_get(h, &first);
	assert_non_null(chunk);
	memset(chunk, 'x', IW_XFER_CHUNK);
	iw_pool_put(&h->slots, chunk);
	assert_ptr_equal(iw_hub_chunk_get(h, &second), chunk);
	assert_memory_equal(chunk, zeros, sizeof(zeros));
	iw_pool_put(&h->slots, chunk);
	iw_pool_fini(&h->slots);
	free(h);
}

/* Zeroing costs time, and a transfer may see its own octets. */
static void chunk_of_the_same_transfer_is_not_zeroed(void **state)
{
	struct group one = { .serial = 1 };
	struct hub *h = calloc(1, sizeof(*h));
	uint8_t *chunk;

	(void)state;
	assert_non_null(h);
	open_pool(h);
	chunk = iw_hub_chunk_get(h, &one);
	assert_non_null(chunk);
	memset(chunk, 'x', IW_XFER_CHUNK);
	iw_pool_put(&h->slots, chunk);
	assert_ptr_equal(iw_hub_chunk_get(h, &one), chunk);
	assert_int_equal(chunk[IW_XFER_CHUNK - 1], 'x');
	iw_pool_put(&h->slots, chunk);
	iw_pool_fini(&h->slots);
	free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunk_of_another_transfer_is_zeroed),
		cmocka_unit_test(chunk_of_the_same_transfer_is_not_zeroed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
