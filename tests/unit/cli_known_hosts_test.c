// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The file of known hosts. */
#include "cli/known_hosts.h"

#include <fcntl.h>
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

#include "cli/secure.h"

#define KEY_0 "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define KEY_1 "SHA256:AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

static char home[] = "/tmp/iw-known-XXXXXX", dir[64], path[80];

static int make_home(void **state)
{
	(void)state;
	if (!mkdtemp(home))
		return -1;
	snprintf(dir, sizeof(dir), "%s/iwarp", home);
	snprintf(path, sizeof(path), "%s/known_hosts", dir);
	return setenv("XDG_CONFIG_HOME", home, 1);
}

static int remove_home(void **state)
{
	(void)state;
	unlink(path);
	rmdir(dir);
	return rmdir(home);
}

static void put(const char *text, mode_t mode)
{
	FILE *f;

	mkdir(dir, 0700);
	unlink(path);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
}

static void must_have(const char *text)
{
	char got[4096];
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	got[fread(got, 1, sizeof(got) - 1, f)] = '\0';
	fclose(f);
	assert_string_equal(got, text);
}

static void lines_are_parsed_strictly(void **state)
{
	static const struct {
		const char *text, *name; /* name: NULL: refused, "": nothing */
	} rows[] = {
		{ "", "" },
		{ "   ", "" },
		{ "# host " KEY_0, "" },
		{ "host " KEY_0, "host" },
		{ "host\t  " KEY_0 " \t", "host" },
		{ "host " KEY_0 "\r", "host" },
		{ "fe80::1%eth0 " KEY_0, "fe80::1%eth0" },
		{ "[host]:1 " KEY_0, "[host]:1" },
		{ "[::1]:65535 " KEY_0, "[::1]:65535" },
		{ " host " KEY_0, NULL },
		{ "host", NULL },
		{ "host ", NULL },
		{ "host " KEY_0 "x", NULL },
		{ "host " KEY_0 " more", NULL },
		{ "host key " KEY_0, NULL },
		{ "[host] " KEY_0, NULL },
		{ "[host]:0 " KEY_0, NULL },
		{ "[host]:65536 " KEY_0, NULL },
		{ "[host]:123456 " KEY_0, NULL },
		{ "[host]:12a " KEY_0, NULL },
		{ "[]:12 " KEY_0, NULL },
		{ "[host " KEY_0, NULL },
		{ "host] " KEY_0, NULL },
		{ "ho\x01st " KEY_0, NULL },
		{ KEY_0, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct iw_known_line l;
		const char *why = NULL;
		int err = iw_known_parse(&l, rows[i].text, strlen(rows[i].text), &why);

		if (err != (rows[i].name ? 0 : IW_E_INVAL))
			fail_msg("\"%s\": %d", rows[i].text, err);
		if (!rows[i].name)
			assert_non_null(why);
		else if (!l.name)
			assert_string_equal(rows[i].name, "");
		else if (l.len != strlen(rows[i].name) || memcmp(l.name, rows[i].name, l.len) != 0)
			fail_msg("\"%s\": %.*s", rows[i].text, (int)l.len, l.name);
	}
}

static void names_have_the_port_unless_it_is_the_default(void **state)
{
	char name[IW_KNOWN_NAME], longest[300];
	struct iw_fault why;

	(void)state;
	assert_int_equal(iw_known_name(name, "Host.Example", 7471, &why), 0);
	assert_string_equal(name, "host.example");
	assert_int_equal(iw_known_name(name, "FE80::1", 80, &why), 0);
	assert_string_equal(name, "[fe80::1]:80");
	assert_int_equal(iw_known_name(name, "#x", 7471, &why), IW_E_INVAL);
	assert_int_equal(iw_known_name(name, "a b", 7471, &why), IW_E_INVAL);
	assert_int_equal(iw_known_name(name, "[a]", 7471, &why), IW_E_INVAL);
	assert_int_equal(iw_known_name(name, "", 7471, &why), IW_E_INVAL);
	memset(longest, 'a', sizeof(longest));
	longest[299] = '\0';
	assert_int_equal(iw_known_name(name, longest, 7471, &why), IW_E_INVAL);
}

static void first_key_is_appended_and_found(void **state)
{
	const uint8_t key[IW_TLS_PIN_LEN] = { 1 };
	struct iw_known_hosts k;
	struct iw_fault why;
	struct stat st;
	bool added;

	(void)state;
	/* A last line without a newline is kept. */
	put("# mine\nother " KEY_0, 0600);
	iw_known_init(&k);
	assert_int_equal(iw_known_find(&k, "host", &why), 0);
	assert_int_equal(k.npins, 0);
	assert_int_equal(iw_known_add(&k, "host", key, &added, &why), 0);
	assert_true(added);
	assert_true(iw_known_has(&k, key));
	iw_known_fini(&k);
	must_have("# mine\nother " KEY_0 "\nhost " KEY_1 "\n");
	assert_int_equal(iw_known_find(&k, "host", &why), 0);
	assert_int_equal(k.npins, 1);
	assert_int_equal(k.first_line, 3);
	assert_true(iw_known_has(&k, key));
	iw_known_fini(&k);
	unlink(path);
	rmdir(dir);
	assert_int_equal(iw_known_find(&k, "host", &why), 0);
	iw_known_fini(&k);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
}

static void several_keys_of_a_host_are_accepted(void **state)
{
	const uint8_t zero[IW_TLS_PIN_LEN] = { 0 }, one[IW_TLS_PIN_LEN] = { 1 },
		      two[IW_TLS_PIN_LEN] = { 2 };
	struct iw_known_hosts k;
	struct iw_fault why;

	(void)state;
	put("h " KEY_0 "\nhost " KEY_1 "\nh " KEY_1 "\n[h]:1 " KEY_0 "\n", 0644);
	iw_known_init(&k);
	assert_int_equal(iw_known_find(&k, "h", &why), 0);
	assert_int_equal(k.npins, 2);
	assert_int_equal(k.first_line, 1);
	assert_true(iw_known_has(&k, zero) && iw_known_has(&k, one));
	assert_false(iw_known_has(&k, two));
	iw_known_fini(&k);
}

static void name_in_the_file_may_have_capital_letters(void **state)
{
	const uint8_t zero[IW_TLS_PIN_LEN] = { 0 };
	char name[IW_KNOWN_NAME];
	struct iw_known_hosts k;
	struct iw_fault why;

	(void)state;
	put("Host.Example " KEY_0 "\n", 0600);
	assert_int_equal(iw_known_name(name, "hoST.example", IW_CLI_PORT, &why), 0);
	iw_known_init(&k);
	assert_int_equal(iw_known_find(&k, name, &why), 0);
	assert_int_equal(k.npins, 1);
	assert_true(iw_known_has(&k, zero));
	iw_known_fini(&k);
}

static void key_that_another_process_added_is_not_added_again(void **state)
{
	const uint8_t zero[IW_TLS_PIN_LEN] = { 0 }, one[IW_TLS_PIN_LEN] = { 1 };
	struct iw_known_hosts a, b;
	struct iw_fault why;
	bool added;

	(void)state;
	put("", 0600);
	iw_known_init(&a);
	iw_known_init(&b);
	assert_int_equal(iw_known_find(&a, "h", &why), 0);
	assert_int_equal(iw_known_find(&b, "h", &why), 0);
	assert_int_equal(iw_known_add(&a, "h", zero, &added, &why), 0);
	assert_true(added);
	assert_int_equal(iw_known_add(&b, "h", one, &added, &why), 0);
	assert_false(added);
	assert_false(iw_known_has(&b, one));
	assert_true(iw_known_has(&b, zero));
	iw_known_fini(&a);
	iw_known_fini(&b);
	must_have("h " KEY_0 "\n");
}

static void processes_that_add_at_once_lose_no_line(void **state)
{
	struct iw_known_hosts k;
	struct iw_fault why;
	int status;

	(void)state;
	put("", 0600);
	for (int i = 0; i < 16; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			const uint8_t key[IW_TLS_PIN_LEN] = { 0 };
			char name[16];
			bool added;

			snprintf(name, sizeof(name), "h%d", i);
			iw_known_init(&k);
			_exit(iw_known_find(&k, name, &why) ||
			      iw_known_add(&k, name, key, &added, &why) || !added);
		}
		assert_true(pid > 0);
	}
	for (int i = 0; i < 16; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	iw_known_init(&k);
	for (int i = 0; i < 16; i++) {
		char name[16];

		snprintf(name, sizeof(name), "h%d", i);
		assert_int_equal(iw_known_find(&k, name, &why), 0);
		assert_int_equal(k.npins, 1);
		iw_known_fini(&k);
	}
}

static void malformed_line_and_open_file_are_errors(void **state)
{
	struct iw_known_hosts k;
	struct iw_fault why = { 0 };

	(void)state;
	iw_known_init(&k);
	put("# a\n\nh " KEY_0 "\nhost\n", 0600);
	assert_int_equal(iw_known_find(&k, "h", &why), IW_E_INVAL);
	assert_non_null(strstr(why.text, "known_hosts:4: no key after the host"));
	iw_known_fini(&k);
	put("h " KEY_0 "\n", 0620);
	assert_int_equal(iw_known_find(&k, "h", &why), IW_E_PERM);
	iw_known_fini(&k);
	put("h " KEY_0 "\n", 0600);
	assert_int_equal(chmod(dir, 0777), 0);
	assert_int_equal(iw_known_find(&k, "h", &why), IW_E_PERM);
	assert_int_equal(chmod(dir, 0700), 0);
	iw_known_fini(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_parsed_strictly),
		cmocka_unit_test(names_have_the_port_unless_it_is_the_default),
		cmocka_unit_test(first_key_is_appended_and_found),
		cmocka_unit_test(several_keys_of_a_host_are_accepted),
		cmocka_unit_test(name_in_the_file_may_have_capital_letters),
		cmocka_unit_test(key_that_another_process_added_is_not_added_again),
		cmocka_unit_test(processes_that_add_at_once_lose_no_line),
		cmocka_unit_test(malformed_line_and_open_file_are_errors),
	};

	return cmocka_run_group_tests_name("cli/known_hosts", tests, make_home, remove_home);
}
