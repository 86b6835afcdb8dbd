// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Extended attributes are written as they were read; attributes that grant rights are not sent. */
#include "transfer/files/attr.h"

#include <sys/xattr.h>

#include "unit/transfer-files_tmp.h"

static int make(void **state)
{
	(void)state;
	tmp_make();
	put_file("a", "1", 1);
	put_file("b", "1", 1);
	return 0;
}

static int unmake(void **state)
{
	(void)state;
	tmp_remove();
	return 0;
}

static int open_one(const char *name)
{
	int fd = openat(tmp_fd, name, O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void attributes_are_made_the_same(void **state)
{
	int a = open_one("a"), b = open_one("b");
	struct iw_file_fault why;
	uint8_t *octets;
	char value[8];
	size_t len;

	(void)state;
	if (fsetxattr(a, "user.colour", "blue", 4, 0) < 0)
		skip();
	assert_int_equal(fsetxattr(a, "user.empty", "", 0, 0), 0);
	assert_int_equal(fsetxattr(b, "user.stale", "x", 1, 0), 0);
	assert_int_equal(iw_attr_read(a, true, &octets, &len, &why), 0);
	assert_int_equal(iw_attr_write(b, true, octets, len, &why), 0);
	assert_int_equal(fgetxattr(b, "user.colour", value, sizeof(value)), 4);
	assert_memory_equal(value, "blue", 4);
	assert_int_equal(fgetxattr(b, "user.empty", value, sizeof(value)), 0);
	assert_true(fgetxattr(b, "user.stale", value, sizeof(value)) < 0);
	free(octets);
	/* An empty set removes all of them. */
	assert_int_equal(iw_attr_write(b, true, NULL, 0, &why), 0);
	assert_true(fgetxattr(b, "user.colour", value, sizeof(value)) < 0);
	close(a);
	close(b);
}

static void acls_are_sent_only_where_permitted(void **state)
{
	/* Version 2: the owner, user 1234, the group, the mask, others. */
	static const uint8_t acl[] = { 2,   0,   0,   0,   1,   0,   6,  0,   255, 255, 255,
				       255, 2,   0,   6,   0,   210, 4,  0,   0,   4,   0,
				       4,   0,   255, 255, 255, 255, 16, 0,   6,   0,   255,
				       255, 255, 255, 32,  0,   0,   0,  255, 255, 255, 255 };
	int a = open_one("a"), b = open_one("b");
	struct iw_file_fault why;
	uint8_t *octets;
	size_t len;

	(void)state;
	if (fsetxattr(a, "system.posix_acl_access", acl, sizeof(acl), 0) < 0)
		skip();
	assert_int_equal(iw_attr_read(a, false, &octets, &len, &why), 0);
	assert_int_equal(len, 0);
	assert_null(octets);
	assert_int_equal(iw_attr_read(a, true, &octets, &len, &why), 0);
	assert_true(len > sizeof(acl));
	assert_true(iw_attr_same(a, true, octets, len));
	assert_false(iw_attr_same(a, false, octets, len));
	assert_false(iw_attr_same(b, true, octets, len));
	assert_int_equal(iw_attr_write(b, false, octets, len, &why), -1);
	assert_int_equal(why.code, IW_XFER_CODE_PROTOCOL);
	assert_int_equal(iw_attr_write(b, true, octets, len, &why), 0);
	assert_true(iw_attr_same(b, true, octets, len));
	/* A peer that may not set ACLs does not change an existing one. */
	assert_int_equal(iw_attr_write(b, false, NULL, 0, &why), 0);
	assert_true(iw_attr_same(b, true, octets, len));
	free(octets);
	close(a);
	close(b);
}

static void equal_attributes_are_recognized_in_any_order(void **state)
{
	static const uint8_t forth[] = "\x06\x00\x01user.a1\x06\x00\x01user.b2",
			     back[] = "\x06\x00\x01user.b2\x06\x00\x01user.a1",
			     other[] = "\x06\x00\x01user.b2\x06\x00\x01user.a3",
			     fewer[] = "\x06\x00\x01user.a1";
	int a = open_one("a");
	struct iw_file_fault why;

	(void)state;
	if (iw_attr_write(a, false, forth, sizeof(forth) - 1, &why) != 0)
		skip();
	assert_true(iw_attr_same(a, false, forth, sizeof(forth) - 1));
	assert_true(iw_attr_same(a, false, back, sizeof(back) - 1));
	assert_false(iw_attr_same(a, false, other, sizeof(other) - 1));
	assert_false(iw_attr_same(a, false, fewer, sizeof(fewer) - 1));
	assert_false(iw_attr_same(a, false, forth, sizeof(forth) - 2));
	assert_false(iw_attr_same(a, false, NULL, 0));
	close(a);
}

static void malformed_or_privileged_ones_are_refused(void **state)
{
	static const char *const bad[] = {
		"\x13\x00\x01security.capability!",
		"\x0c\x00\x01trusted.evil!",
		"\x05\x00\x01user",
		"\x06\x00\x05user.a",
		"\x00\x00\x00",
		"\x06\x00",
	};
	static const size_t lens[] = { 23, 16, 7, 9, 3, 2 };
	struct iw_file_fault why;
	int a = open_one("a");

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(iw_attr_write(a, true, (const uint8_t *)bad[i], lens[i], &why),
				 -1);
		assert_int_equal(why.code, IW_XFER_CODE_PROTOCOL);
	}
	close(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(attributes_are_made_the_same, make, unmake),
		cmocka_unit_test_setup_teardown(acls_are_sent_only_where_permitted, make, unmake),
		cmocka_unit_test_setup_teardown(equal_attributes_are_recognized_in_any_order, make,
						unmake),
		cmocka_unit_test_setup_teardown(malformed_or_privileged_ones_are_refused, make,
						unmake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
