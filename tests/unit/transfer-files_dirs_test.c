// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Announced directories: each name once, in order, with the attributes of its last announcement. */
#include "transfer/files/dirs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct iw_xfer_meta meta(uint32_t mode, const void *xattr, size_t len)
{
	return (struct iw_xfer_meta){ .kind = IW_XFER_DIR,
				      .mode = mode,
				      .mtime_s = -5,
				      .mtime_ns = 7,
				      .owned = true,
				      .uid = 8,
				      .gid = 9,
				      .xattr = xattr,
				      .xattr_len = len };
}

static void a_name_announced_again_uses_no_more_memory(void **state)
{
	static const uint8_t attrs[30000] = { 1 };
	struct iw_dirs d = { 0 };
	struct iw_xfer_meta m = meta(0700, attrs, sizeof(attrs));
	size_t bytes;

	(void)state;
	assert_true(iw_dirs_keep(&d, "a", &m));
	bytes = d.bytes;
	assert_in_range(bytes, sizeof(attrs), sizeof(attrs) + 4096);
	for (int i = 0; i < 6000; i++)
		assert_true(iw_dirs_keep(&d, "a", &m));
	assert_int_equal(d.bytes, bytes);
	assert_int_equal(d.n, 1);
	m = meta(0755, NULL, 0);
	assert_true(iw_dirs_keep(&d, "a", &m));
	assert_in_range(d.bytes, 1, bytes - sizeof(attrs));
	m = iw_dirs_meta(&d, 0);
	assert_int_equal(m.mode, 0755);
	assert_null(m.xattr);
	iw_dirs_fini(&d);
	assert_int_equal(d.bytes, 0);
}

static void all_names_are_kept_in_order_with_their_attributes(void **state)
{
	struct iw_dirs d = { 0 };
	char name[32];

	(void)state;
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 3000; i++) {
			const struct iw_xfer_meta m = meta(i & 07777, (const uint8_t *)"x", 1);

			snprintf(name, sizeof(name), "dir/%u", (unsigned)i);
			assert_true(iw_dirs_keep(&d, name, &m));
		}
	assert_int_equal(d.n, 3000);
	for (uint32_t i = 0; i < 3000; i++) {
		const struct iw_xfer_meta m = iw_dirs_meta(&d, i);

		snprintf(name, sizeof(name), "dir/%u", (unsigned)i);
		assert_string_equal(iw_dirs_name(&d, i), name);
		assert_int_equal(m.mode, i & 07777);
		assert_int_equal(m.mtime_s, -5);
		assert_int_equal(m.mtime_ns, 7);
		assert_true(m.owned);
		assert_int_equal(m.uid, 8);
		assert_int_equal(m.gid, 9);
	}
	iw_dirs_fini(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_announced_again_uses_no_more_memory),
		cmocka_unit_test(all_names_are_kept_in_order_with_their_attributes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
