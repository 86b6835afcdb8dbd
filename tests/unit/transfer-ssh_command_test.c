// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The command line of ssh, and what its exit status means. */
#include "transfer/ssh/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/os.h"
#include "util/num.h"

static void assert_words(char **got, const char *const *want)
{
	size_t i = 0;

	assert_non_null(got);
	for (; want[i]; i++) {
		assert_non_null(got[i]);
		assert_string_equal(got[i], want[i]);
	}
	assert_null(got[i]);
	free(got);
}

static void words_are_split_as_by_a_shell(void **state)
{
	static const struct {
		const char *text, *words[6];
	} rows[] = {
		{ "ssh", { "ssh" } },
		{ "  ssh\t-p  22 ", { "ssh", "-p", "22" } },
		{ "ssh -i 'a b'", { "ssh", "-i", "a b" } },
		{ "ssh \"-oA=\\\"x y\\\"\"", { "ssh", "-oA=\"x y\"" } },
		{ "a\\ b '' \"\"", { "a b", "", "" } },
		{ "'a'\"b\"c", { "abc" } },
		{ "'\\'", { "\\" } },
		{ "\"\\n\"", { "\\n" } },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		const char *why = NULL;
		char **words;

		assert_int_equal(iw_ssh_split(&words, rows[i].text, &why), 0);
		assert_words(words, rows[i].words);
	}
}

static void malformed_commands_are_refused(void **state)
{
	static const char *const rows[] = { "", "  ", "'ssh", "ssh \"x", "ssh \\", "ssh \"x\\" };

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		const char *why = NULL;
		char **words;

		assert_int_equal(iw_ssh_split(&words, rows[i], &why), IW_E_INVAL);
		assert_non_null(why);
	}
}

static void command_line_has_user_host_and_quoted_program(void **state)
{
	struct iw_ssh_command c = {
		.ssh = "ssh -p '2 2'", .user = "me", .host = "box", .tool = "ddp-recv"
	};

	(void)state;
	assert_words(iw_ssh_argv(&c),
		     (const char *const[]){ "ssh", "-p", "2 2", "-x", "-a", "-T",
					    "-oClearAllForwardings=yes", "-oPermitLocalCommand=no",
					    "-oRemoteCommand=none", "-l", "me", "box", "--",
					    "ddp-recv", "--ssh-server", NULL });
	c.ssh = NULL;
	c.user = "";
	c.program = "~/it's; rm/$x";
	assert_words(iw_ssh_argv(&c),
		     (const char *const[]){ "ssh", "-x", "-a", "-T", "-oClearAllForwardings=yes",
					    "-oPermitLocalCommand=no", "-oRemoteCommand=none",
					    "box", "--", "~/'it'\\''s; rm/$x'", "--ssh-server",
					    NULL });
}

/* Runs COMMAND in place of ssh and returns what its end means. */
static struct iw_fault end_of(const char *command)
{
	struct iw_ssh_command c = { .ssh = command, .user = "", .host = "box", .tool = "ddp-recv" };
	struct iw_fault why = { 0 };
	pid_t pid;
	int fd;

	if (iw_ssh_spawn(&c, false, &fd, &pid, &why) == 0) {
		close(fd);
		(void)iw_ssh_explain_exit(&c, pid, iw_os_now() + IW_SEC(10), &why);
	}
	return why;
}

static void each_failure_has_its_words(void **state)
{
	static const struct {
		const char *command, *text;
		int err;
	} rows[] = {
		{ "/no/such/program", "no such program", IW_E_NOENT },
		{ "/etc/passwd", "permission denied", IW_E_PERM },
		{ "sh -c 'exit 255'", "ssh failed", IW_E_CLOSED },
		{ "sh -c 'exit 127'", "not installed at box", IW_E_NOENT },
		{ "sh -c 'exit 126'", "cannot be executed", IW_E_NOENT },
		{ "sh -c 'exit 2'", "status 2", IW_E_CLOSED },
		{ "sh -c 'kill -9 $$'", "ssh ended before", IW_E_CLOSED },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct iw_fault why = end_of(rows[i].command);

		if (why.err != rows[i].err || !strstr(why.text, rows[i].text))
			fail_msg("%s: %d, %s", rows[i].command, why.err, why.text);
	}
}

static void prepared_process_waits_for_one_octet(void **state)
{
	struct iw_ssh_command c = {
		.ssh = "sh -c 'echo started; cat'", .user = "", .host = "box", .tool = "ddp-recv"
	};
	struct iw_fault why = { 0 };
	struct pollfd p = { .events = POLLIN };
	char text[16] = "";
	pid_t pid;

	(void)state;
	assert_int_equal(iw_ssh_spawn(&c, true, &p.fd, &pid, &why), 0);
	assert_int_equal(poll(&p, 1, 100), 0);
	assert_int_equal(write(p.fd, "", 1), 1);
	assert_int_equal(poll(&p, 1, 10000), 1);
	/* The octet is not input of the program. */
	assert_int_equal(read(p.fd, text, sizeof(text)), 8);
	assert_string_equal(text, "started\n");
	close(p.fd);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(iw_ssh_spawn(&c, true, &p.fd, &pid, &why), 0);
	close(p.fd);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_split_as_by_a_shell),
		cmocka_unit_test(malformed_commands_are_refused),
		cmocka_unit_test(command_line_has_user_host_and_quoted_program),
		cmocka_unit_test(each_failure_has_its_words),
		cmocka_unit_test(prepared_process_waits_for_one_octet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
