// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The file of a pre-shared key. */
#include "cli/psk_file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define DIGITS_32 "000102030405060708090a0b0c0D0E0F"

static char dir[] = "/tmp/iw-psk-XXXXXX", path[64];

static int make_dir(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/psk", dir);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static void put(const char *text, size_t len, mode_t mode)
{
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), (ssize_t)len);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void secret_of_16_to_64_octets_is_read(void **state)
{
	struct iw_fault why;
	struct iw_psk psk;

	(void)state;
	put(DIGITS_32 "\n", 33, 0600);
	assert_int_equal(iw_psk_read(&psk, path, &why), 0);
	assert_int_equal(psk.len, 16);
	for (size_t i = 0; i < 16; i++)
		assert_int_equal(psk.key[i], i);
	put(DIGITS_32 DIGITS_32 DIGITS_32 DIGITS_32 "\r\n", 130, 0400);
	assert_int_equal(iw_psk_read(&psk, path, &why), 0);
	assert_int_equal(psk.len, 64);
	iw_psk_wipe(&psk);
	assert_int_equal(psk.len, 0);
	assert_int_equal(psk.key[63], 0);
}

static void other_contents_are_refused_with_a_reason(void **state)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{ "", "empty" },
		{ "\n", "empty" },
		{ "000102030405060708090a0b0c0d0e\n", "too short" },
		{ DIGITS_32 "0\n", "odd number" },
		{ DIGITS_32 DIGITS_32 DIGITS_32 DIGITS_32 "00\n", "too long" },
		{ DIGITS_32 DIGITS_32 DIGITS_32 DIGITS_32 DIGITS_32, "too long" },
		{ "000102030405060708090a0b0c0d0e0g\n", "not a hex digit" },
		{ " " DIGITS_32 "\n", "not a hex digit" },
		{ DIGITS_32 "\n" DIGITS_32 "\n", "not a hex digit" },
		{ DIGITS_32 "\n\n", "not a hex digit" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct iw_fault why = { 0 };
		struct iw_psk psk;

		put(rows[i].text, strlen(rows[i].text), 0600);
		assert_int_equal(iw_psk_read(&psk, path, &why), IW_E_INVAL);
		if (!strstr(why.text, rows[i].why) || !strstr(why.text, path))
			fail_msg("%zu: %s", i, why.text);
		/* A message must not have any part of a secret. */
		assert_null(strstr(why.text, "0001"));
	}
}

static void file_that_others_can_use_is_refused(void **state)
{
	static const mode_t modes[] = { 0640, 0604, 0620, 0610, 0602, 0666 };

	(void)state;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct iw_fault why = { 0 };
		struct iw_psk psk;

		put(DIGITS_32, 32, modes[i]);
		assert_int_equal(iw_psk_read(&psk, path, &why), IW_E_PERM);
		assert_non_null(strstr(why.text, "chmod 600"));
	}
}

static void what_is_no_file_is_refused_without_waiting(void **state)
{
	struct iw_fault why = { 0 };
	struct iw_psk psk;

	(void)state;
	unlink(path);
	assert_int_equal(iw_psk_read(&psk, path, &why), IW_E_NOENT);
	assert_int_equal(mkfifo(path, 0600), 0);
	alarm(20);
	assert_int_equal(iw_psk_read(&psk, path, &why), IW_E_INVAL);
	alarm(0);
	assert_int_equal(iw_psk_read(&psk, dir, &why), IW_E_INVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secret_of_16_to_64_octets_is_read),
		cmocka_unit_test(other_contents_are_refused_with_a_reason),
		cmocka_unit_test(file_that_others_can_use_is_refused),
		cmocka_unit_test(what_is_no_file_is_refused_without_waiting),
	};

	return cmocka_run_group_tests_name("cli/psk_file", tests, make_dir, remove_dir);
}
