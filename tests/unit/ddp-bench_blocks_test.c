// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Pieces of shared blocks, and large pieces with a block of their own. */
#include "ddp-bench/blocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "address_space.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

static bool is_mapped(const void *p)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char in_memory;

	return mincore((void *)((uintptr_t)p & ~(page - 1)), page, &in_memory) == 0;
}

static void pieces_do_not_overlap_and_are_zeroed(void **state)
{
	/* 900 x 128 KiB: more than three shared blocks. */
	enum { PIECES = 900 };
	static struct iw_bench_piece m[PIECES];
	struct iw_bench_blocks blocks = { 0 };

	(void)state;
	for (int i = 0; i < PIECES; i++) {
		uint64_t len = i % 7 == 0 ? 1 : 128 * KIB - (uint64_t)i;

		assert_true(iw_bench_piece_get(&m[i], &blocks, len));
		assert_int_equal(m[i].len, len);
		for (size_t k = 0; k < len; k++)
			assert_int_equal(m[i].base[k], 0);
		memset(m[i].base, i, len);
	}
	for (int i = 0; i < PIECES; i++)
		for (size_t k = 0; k < m[i].len; k++)
			assert_int_equal(m[i].base[k], (uint8_t)i);
	for (int i = 0; i < PIECES; i++)
		iw_bench_piece_put(&m[(i * 7 + 3) % PIECES], &blocks);
	assert_null(blocks.open);
}

static void a_block_ends_with_its_last_piece(void **state)
{
	struct iw_bench_blocks blocks = { 0 };
	struct iw_bench_piece a, b, c;
	uint8_t *at;

	(void)state;
	assert_true(iw_bench_piece_get(&a, &blocks, 100 * KIB));
	assert_true(iw_bench_piece_get(&b, &blocks, 100 * KIB));
	assert_ptr_equal(a.block, b.block);
	/* a and b leave too little space for c, so c has another block. */
	assert_true(iw_bench_piece_get(&c, &blocks, 32 * MIB - 4 * KIB));
	assert_ptr_not_equal(c.block, a.block);
	assert_ptr_equal(blocks.open, c.block);
	at = b.base;
	iw_bench_piece_put(&a, &blocks);
	assert_true(is_mapped(at));
	iw_bench_piece_put(&b, &blocks);
	assert_false(is_mapped(at));
	at = c.base;
	iw_bench_piece_put(&c, &blocks);
	assert_false(is_mapped(at));
	assert_null(blocks.open);
}

static void a_freed_piece_gives_its_pages_back_while_its_block_stays(void **state)
{
	struct iw_bench_blocks blocks = { 0 };
	struct iw_bench_piece a, b;
	uint8_t *at;

	(void)state;
	assert_true(iw_bench_piece_get(&a, &blocks, 4 * MIB));
	assert_true(iw_bench_piece_get(&b, &blocks, 1));
	at = a.base;
	memset(at, 0xa5, 4 * MIB);
	*b.base = 7;
	iw_bench_piece_put(&a, &blocks);
	/* The kernel gives new pages, which are zeroed. */
	assert_int_equal(at[0], 0);
	assert_int_equal(at[4 * MIB - 1], 0);
	assert_int_equal(*b.base, 7);
	iw_bench_piece_put(&b, &blocks);
}

static void a_large_piece_has_a_block_of_its_own(void **state)
{
	struct iw_bench_blocks blocks = { 0 };
	struct iw_bench_piece small, large;

	(void)state;
	assert_true(iw_bench_piece_get(&small, &blocks, 64));
	assert_true(iw_bench_piece_get(&large, &blocks, 40 * MIB));
	assert_ptr_equal(blocks.open, small.block);
	large.base[40 * MIB - 1] = 1;
	iw_bench_piece_put(&large, &blocks);
	iw_bench_piece_put(&small, &blocks);
	assert_null(blocks.open);
}

static void a_piece_without_memory_for_a_shared_block_has_its_own(void **state)
{
	struct iw_bench_blocks blocks = { 0 };
	struct iw_bench_piece one, two, none;
	struct rlimit before;
	bool got_one, got_two, got_none;

	(void)state;
	limit_address_space(8 * MIB, &before);
	got_one = iw_bench_piece_get(&one, &blocks, 1 * MIB);
	got_two = iw_bench_piece_get(&two, &blocks, 1 * MIB);
	got_none = iw_bench_piece_get(&none, &blocks, 16 * MIB);
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
	assert_true(got_one && got_two);
	assert_false(got_none);
	assert_ptr_not_equal(one.block, two.block);
	assert_null(blocks.open);
	memset(one.base, 1, 1 * MIB);
	memset(two.base, 2, 1 * MIB);
	assert_int_equal(one.base[1 * MIB - 1], 1);
	iw_bench_piece_put(&one, &blocks);
	iw_bench_piece_put(&two, &blocks);
}

static void a_size_that_cannot_exist_is_refused(void **state)
{
	struct iw_bench_blocks blocks = { 0 };
	struct iw_bench_piece p;

	(void)state;
	assert_false(iw_bench_piece_get(&p, &blocks, SIZE_MAX));
	assert_false(iw_bench_piece_get(&p, &blocks, SIZE_MAX - 4 * MIB));
	assert_false(iw_bench_piece_get(&p, &blocks, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_do_not_overlap_and_are_zeroed),
		cmocka_unit_test(a_block_ends_with_its_last_piece),
		cmocka_unit_test(a_freed_piece_gives_its_pages_back_while_its_block_stays),
		cmocka_unit_test(a_large_piece_has_a_block_of_its_own),
		cmocka_unit_test(a_piece_without_memory_for_a_shared_block_has_its_own),
		cmocka_unit_test(a_size_that_cannot_exist_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
