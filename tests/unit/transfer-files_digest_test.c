// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Digests of chunks and files: known values, any order, any division into pieces; zeros are
 * ignored.
 */
#include "transfer/files/digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "transfer/files/fault.h"
#include "util/num.h"

static struct iw_xfer_digest chunk(struct iw_hasher *h, const void *p, size_t len)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)p, .iov_len = len };
	struct iw_xfer_digest d;

	assert_int_equal(iw_hasher_chunk(h, &iov, 1, &d), 0);
	return d;
}

static void digests_match_published_values(void **state)
{
	/* FIPS 180-2 appendix B.1; the value of xxHash for an empty input. */
	static const uint8_t sha_abc[] = { 0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea,
					   0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
					   0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c,
					   0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad };
	static const uint8_t xxh_empty[] = { 0x99, 0xaa, 0x06, 0xd3, 0x01, 0x47, 0x98, 0xd8,
					     0x60, 0x01, 0xc3, 0x24, 0x46, 0x8d, 0x49, 0x7f };
	struct iw_hasher h;
	struct iw_fault why;
	struct iw_xfer_digest d;

	(void)state;
	assert_int_equal(iw_hasher_init(&h, IW_XFER_XXH3, &why), 0);
	d = chunk(&h, "", 0);
	assert_int_equal(d.len, 16);
	assert_memory_equal(d.octets, xxh_empty, 16);
	iw_hasher_fini(&h);
	assert_int_equal(iw_hasher_init(&h, IW_XFER_NONE, &why), 0);
	assert_int_equal(chunk(&h, "abc", 3).len, 0);
	iw_hasher_fini(&h);
	if (!(iw_digests_built() & 1u << IW_XFER_SHA256)) {
		assert_int_equal(iw_hasher_init(&h, IW_XFER_SHA256, &why), IW_E_NOTSUP);
		return;
	}
	assert_int_equal(iw_hasher_init(&h, IW_XFER_SHA256, &why), 0);
	d = chunk(&h, "abc", 3);
	assert_int_equal(d.len, 32);
	assert_memory_equal(d.octets, sha_abc, 32);
	iw_hasher_fini(&h);
}

static void pieces_make_the_same_digest(void **state)
{
	static uint8_t octets[100000];

	(void)state;
	for (size_t i = 0; i < sizeof(octets); i++)
		octets[i] = (uint8_t)(i * 7 + i / 256);
	for (int kind = IW_XFER_XXH3; kind <= IW_XFER_SHA256; kind++) {
		struct iw_xfer_digest whole, cut;
		struct iw_hasher h;
		struct iw_fault why;

		if (!(iw_digests_built() & 1u << kind))
			continue;
		assert_int_equal(iw_hasher_init(&h, (enum iw_xfer_digest_kind)kind, &why), 0);
		whole = chunk(&h, octets, sizeof(octets));
		for (size_t at = 0; at <= sizeof(octets); at += 9973) {
			struct iovec iov[2] = { { octets, at },
						{ octets + at, sizeof(octets) - at } };

			assert_int_equal(iw_hasher_chunk(&h, iov, 2, &cut), 0);
			assert_true(iw_xfer_digest_equal(&whole, &cut));
		}
		iw_hasher_fini(&h);
	}
}

static void chunks_in_any_order_make_the_same_file(void **state)
{
	struct iw_chunk_list up = { .n = 0 }, down = { .n = 0 }, other = { .n = 0 };
	struct iw_xfer_digest a, b, c;
	struct iw_hasher h;
	struct iw_fault why;

	(void)state;
	assert_int_equal(iw_hasher_init(&h, IW_XFER_XXH3, &why), 0);
	for (uint64_t i = 0; i < 300; i++) {
		struct iw_xfer_digest d1 = chunk(&h, &i, sizeof(i)), d2;
		uint64_t j = 299 - i;

		d2 = chunk(&h, &j, sizeof(j));
		assert_int_equal(iw_chunk_list_add(&up, i * 2 * IW_XFER_CHUNK, &d1), 0);
		assert_int_equal(iw_chunk_list_add(&down, j * 2 * IW_XFER_CHUNK, &d2), 0);
		/* The same chunks with higher numbers. */
		assert_int_equal(iw_chunk_list_add(&other, (i * 2 + 1) * IW_XFER_CHUNK, &d1), 0);
	}
	assert_int_equal(iw_chunk_list_digest(&up, &h, 1000, &a), 0);
	assert_int_equal(iw_chunk_list_digest(&down, &h, 1000, &b), 0);
	assert_true(iw_xfer_digest_equal(&a, &b));
	assert_int_equal(iw_chunk_list_digest(&other, &h, 1000, &c), 0);
	assert_false(iw_xfer_digest_equal(&a, &c));
	/* The size counts, even for files of zeros. */
	assert_int_equal(iw_chunk_list_digest(&up, &h, 1001, &c), 0);
	assert_false(iw_xfer_digest_equal(&a, &c));
	iw_chunk_list_free(&up);
	iw_chunk_list_free(&down);
	iw_chunk_list_free(&other);
	assert_int_equal(iw_chunk_list_digest(&up, &h, 5, &a), 0);
	assert_int_equal(iw_chunk_list_digest(&up, &h, 6, &b), 0);
	assert_false(iw_xfer_digest_equal(&a, &b));
	iw_hasher_fini(&h);
}

/* As in man/ddp-transfer.7: number and digest of each chunk, then the size. */
static void a_file_digest_is_as_the_man_page_defines(void **state)
{
	uint8_t rows[8 + 16 + 8] = { 0 };
	struct iw_chunk_list l = { .n = 0 };
	struct iw_xfer_digest d, file, own;
	struct iw_hasher h;
	struct iw_fault why;

	(void)state;
	assert_int_equal(iw_hasher_init(&h, IW_XFER_XXH3, &why), 0);
	d = chunk(&h, "xyz", 3);
	assert_int_equal(iw_chunk_list_add(&l, 3 * IW_XFER_CHUNK, &d), 0);
	assert_int_equal(iw_chunk_list_digest(&l, &h, 3 * IW_XFER_CHUNK + 3, &file), 0);
	rows[7] = 3;
	memcpy(rows + 8, d.octets, 16);
	iw_put_be64(rows + 24, 3 * IW_XFER_CHUNK + 3);
	own = chunk(&h, rows, sizeof(rows));
	assert_true(iw_xfer_digest_equal(&file, &own));
	iw_chunk_list_free(&l);
	iw_hasher_fini(&h);
}

static void zeros_are_recognized(void **state)
{
	static uint8_t octets[5000];

	(void)state;
	for (size_t len = 0; len < 200; len++) {
		assert_true(iw_is_zero(octets, len));
		for (size_t i = 0; i < len; i++) {
			octets[i] = 1;
			assert_false(iw_is_zero(octets, len));
			octets[i] = 0;
		}
	}
	octets[4999] = 0x80;
	assert_false(iw_is_zero(octets, sizeof(octets)));
	assert_true(iw_is_zero(octets, sizeof(octets) - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digests_match_published_values),
		cmocka_unit_test(pieces_make_the_same_digest),
		cmocka_unit_test(chunks_in_any_order_make_the_same_file),
		cmocka_unit_test(a_file_digest_is_as_the_man_page_defines),
		cmocka_unit_test(zeros_are_recognized),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
