// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* This user's own key and certificate. */
#include "cli/identity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char home[] = "/tmp/iw-identity-XXXXXX", dir[64];

static int make_home(void **state)
{
	(void)state;
	if (!mkdtemp(home))
		return -1;
	snprintf(dir, sizeof(dir), "%s/iwarp", home);
	return setenv("XDG_CONFIG_HOME", home, 1);
}

static void forget(void)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/key.pem", dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/cert.pem", dir);
	unlink(path);
}

static int remove_home(void **state)
{
	(void)state;
	forget();
	rmdir(dir);
	return rmdir(home);
}

/* Reads a file into buf, which it returns. */
static char *contents(const char *path, char buf[static 4096])
{
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	buf[fread(buf, 1, 4095, f)] = '\0';
	fclose(f);
	return buf;
}

/* A build without OpenSSL has no keys. */
static void open_or_skip(struct iw_identity *id)
{
	struct iw_fault why = { 0 };
	int err = iw_identity_open(id, &why);

	if (err == IW_E_NOTSUP)
		skip();
	if (err)
		fail_msg("%s", why.text);
}

static void pair_is_made_once_and_is_private(void **state)
{
	char key[4096], cert[4096], again[4096];
	struct iw_identity id;
	struct stat st;

	(void)state;
	open_or_skip(&id);
	assert_int_equal(stat(id.key, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_non_null(strstr(contents(id.key, key), "BEGIN PRIVATE KEY"));
	assert_non_null(strstr(contents(id.cert, cert), "BEGIN CERTIFICATE"));
	open_or_skip(&id);
	assert_string_equal(contents(id.key, again), key);
	assert_string_equal(contents(id.cert, again), cert);
}

static void certificate_is_made_again_for_the_same_key(void **state)
{
	char key[4096], again[4096];
	struct iw_identity id;

	(void)state;
	open_or_skip(&id);
	contents(id.key, key);
	assert_int_equal(unlink(id.cert), 0);
	open_or_skip(&id);
	assert_string_equal(contents(id.key, again), key);
	assert_int_equal(access(id.cert, F_OK), 0);
}

static void certificate_without_its_key_is_an_error(void **state)
{
	struct iw_fault why = { 0 };
	struct iw_identity id;

	(void)state;
	open_or_skip(&id);
	assert_int_equal(unlink(id.key), 0);
	assert_int_equal(iw_identity_open(&id, &why), IW_E_INVAL);
	assert_non_null(strstr(why.text, "key.pem is missing"));
	forget();
}

static void processes_that_start_at_once_make_one_pair(void **state)
{
	char keys[8][4096], key[4096];
	struct iw_identity id;
	int fds[8][2], status;

	(void)state;
	open_or_skip(&id);
	forget();
	for (int i = 0; i < 8; i++) {
		struct iw_fault why;

		assert_int_equal(pipe(fds[i]), 0);
		if (fork() == 0) {
			if (iw_identity_open(&id, &why) != 0)
				_exit(1);
			contents(id.key, key);
			_exit(write(fds[i][1], key, sizeof(key)) != sizeof(key));
		}
	}
	for (int i = 0; i < 8; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	for (int i = 0; i < 8; i++) {
		assert_int_equal(read(fds[i][0], keys[i], sizeof(keys[i])), sizeof(keys[i]));
		assert_string_equal(keys[i], keys[0]);
	}
}

static void directory_needs_an_absolute_path(void **state)
{
	char path[IW_CONFIG_PATH], xdg[64], *old = getenv("HOME"), *kept = old ? strdup(old) : NULL;
	struct iw_fault why = { 0 };

	(void)state;
	snprintf(xdg, sizeof(xdg), "%s", getenv("XDG_CONFIG_HOME"));
	setenv("XDG_CONFIG_HOME", "relative", 1);
	setenv("HOME", "/x", 1);
	assert_int_equal(iw_config_dir(path, &why), 0);
	assert_string_equal(path, "/x/.config/iwarp");
	unsetenv("HOME");
	assert_int_equal(iw_config_dir(path, &why), IW_E_NOENT);
	setenv("XDG_CONFIG_HOME", xdg, 1);
	assert_int_equal(iw_config_dir(path, &why), 0);
	assert_string_equal(path, dir);
	if (kept)
		setenv("HOME", kept, 1);
	free(kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pair_is_made_once_and_is_private),
		cmocka_unit_test(certificate_is_made_again_for_the_same_key),
		cmocka_unit_test(certificate_without_its_key_is_an_error),
		cmocka_unit_test(processes_that_start_at_once_make_one_pair),
		cmocka_unit_test(directory_needs_an_absolute_path),
	};

	return cmocka_run_group_tests_name("cli/identity", tests, make_home, remove_home);
}
