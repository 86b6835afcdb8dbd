// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Lists of small files are read as they were written; malformed ones are refused. */
#include "transfer/protocol/pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "util/num.h"

static uint8_t list[IW_XFER_LIST_MAX];

static struct iw_xfer_meta file(uint64_t size)
{
	return (struct iw_xfer_meta){ .kind = IW_XFER_FILE,
				      .name = "a/b",
				      .name_len = 3,
				      .size = size,
				      .mode = 04755,
				      .mtime_s = -3,
				      .mtime_ns = 9,
				      .owned = true,
				      .uid = 7,
				      .gid = 8 };
}

static void members_arrive_as_they_were_added(void **state)
{
	const struct iw_xfer_meta link = {
		.kind = IW_XFER_SYMLINK, .name = "l", .name_len = 1, .target = "to", .target_len = 2
	};
	struct iw_xfer_meta m = file(99), got;
	struct iw_xfer_pack_out out;
	struct iw_xfer_entry e;
	struct iw_xfer_entries l;
	struct iw_fault why;
	uint32_t n;
	size_t len;

	(void)state;
	iw_xfer_pack_begin(&out, list, sizeof(list));
	assert_true(iw_xfer_pack_add(&out, &m));
	assert_true(iw_xfer_pack_add(&out, &link));
	len = iw_xfer_pack_end(&out);
	assert_int_equal(iw_xfer_pack_check(list, len, &n, &why), 0);
	assert_int_equal(n, 2);
	assert_int_equal(iw_xfer_pack_open(&l, list, len, &why), 0);
	assert_int_equal(iw_xfer_entries_next(&l, &e, &why), 1);
	iw_xfer_pack_meta(&got, &e);
	assert_true(got.kind == IW_XFER_FILE && got.size == 99 && got.mode == 04755 &&
		    got.mtime_s == -3 && got.mtime_ns == 9 && got.owned && got.uid == 7 &&
		    got.gid == 8 && got.name_len == 3 && memcmp(got.name, "a/b", 3) == 0);
	assert_int_equal(iw_xfer_entries_next(&l, &e, &why), 1);
	iw_xfer_pack_meta(&got, &e);
	assert_true(got.kind == IW_XFER_SYMLINK && got.target_len == 2 && !got.owned);
	assert_int_equal(iw_xfer_entries_next(&l, &e, &why), 0);
	/* A list that is cut anywhere is refused. */
	for (size_t i = 0; i < len; i++)
		assert_true(iw_xfer_pack_check(list, i, &n, &why) < 0);
}

static void a_pack_is_full_at_its_limits(void **state)
{
	struct iw_xfer_meta m = file(1);
	struct iw_xfer_pack_out out;
	struct iw_fault why;
	uint32_t n;

	(void)state;
	iw_xfer_pack_begin(&out, list, sizeof(list));
	for (unsigned i = 0; i < IW_XFER_MEMBERS; i++)
		assert_true(iw_xfer_pack_add(&out, &m));
	assert_false(iw_xfer_pack_add(&out, &m));
	assert_int_equal(iw_xfer_pack_check(list, iw_xfer_pack_end(&out), &n, &why), 0);
	assert_int_equal(n, IW_XFER_MEMBERS);
	/* One member more than a sink accepts. */
	out.n--;
	assert_true(iw_xfer_pack_add(&out, &m));
	out.n++;
	assert_int_equal(iw_xfer_pack_check(list, iw_xfer_pack_end(&out), &n, &why), IW_E_FORMAT);
	/* If a member does not fit, the list is unchanged. */
	iw_xfer_pack_begin(&out, list, 64);
	n = 0;
	while (iw_xfer_pack_add(&out, &m))
		n++;
	assert_true(n > 0 && iw_xfer_pack_check(list, iw_xfer_pack_end(&out), &n, &why) == 0);
}

static void entries_that_do_not_belong_in_a_pack_are_refused(void **state)
{
	struct iw_xfer_meta bad[] = { file(IW_XFER_CHUNK), file(IW_XFER_CHUNK / 2), file(1),
				      file(1), file(INT64_MAX) /* the sum of two wraps */ };
	struct iw_fault why;
	uint32_t n;

	(void)state;
	bad[2].kind = IW_XFER_STREAM;
	bad[3].kind = IW_XFER_PACK;
	for (size_t i = 0; i < IW_ARRAY_LEN(bad); i++) {
		struct iw_xfer_pack_out out;

		iw_xfer_pack_begin(&out, list, sizeof(list));
		assert_true(iw_xfer_pack_add(&out, &bad[i]));
		assert_true(iw_xfer_pack_add(&out, &bad[i]));
		assert_true(iw_xfer_pack_check(list, iw_xfer_pack_end(&out), &n, &why) < 0);
	}
	assert_true(iw_xfer_pack_check((const uint8_t *)"\x80", 1, &n, &why) < 0);
	assert_true(iw_xfer_pack_check((const uint8_t *)"\xa0", 1, &n, &why) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_arrive_as_they_were_added),
		cmocka_unit_test(a_pack_is_full_at_its_limits),
		cmocka_unit_test(entries_that_do_not_belong_in_a_pack_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
