// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Configuration files: their text, which files are trusted, and which options a tool gets. The
 * machine that runs this has no /etc/iwarp/config, or one that sets no option of ddp-recv.
 */
#include "cli/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "cli/config_file.h"
#include "cli/config_read.h"
#include "cli/secure.h"
#include "cli/usage.h"
#include "cli_capture.h"
#include "util/num.h"

#ifdef IW_HAVE_INIH

static char dir[] = "/tmp/cli_config_test.XXXXXX";
static char path[64];

static int make_dir(void **state)
{
	char sub[48];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(sub, sizeof(sub), "%s/iwarp", dir);
	snprintf(path, sizeof(path), "%s/config", sub);
	return mkdir(sub, 0700) || setenv("XDG_CONFIG_HOME", dir, 1);
}

static int remove_dir(void **state)
{
	char sub[48];

	(void)state;
	snprintf(sub, sizeof(sub), "%s/iwarp", dir);
	unlink(path);
	return rmdir(sub) || rmdir(dir);
}

static void write_config(const char *text)
{
	FILE *f;

	unlink(path);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, 0600), 0);
}

/* --- the text ---------------------------------------------------------------------------------- */

static void keys_of_the_tool_and_of_all_tools_are_read_with_their_lines(void **state)
{
	static const char text[] = "\xef\xbb\xbf# comment\r\n"
				   "[all]\r\n"
				   "tls = yes\r\n"
				   "\r\n"
				   "[ddp-send]\n"
				   "jobs = 4\n"
				   "[ddp-recv]\n"
				   "; another comment\n"
				   "   pin =  SHA256:a=b ; and why\n"
				   "\tpin=x:y\n"
				   "bind = *";
	struct iw_config_keys keys = { 0 };
	struct iw_fault why = { 0 };

	(void)state;
	assert_int_equal(iw_config_parse(&keys, "f", text, sizeof(text) - 1, "ddp-recv", &why), 0);
	assert_int_equal(keys.n, 4);
	assert_true(keys.at[0].all && keys.at[0].line == 3);
	assert_string_equal(keys.at[0].key, "tls");
	assert_string_equal(keys.at[0].value, "yes");
	assert_true(!keys.at[1].all && keys.at[1].line == 9);
	assert_string_equal(keys.at[1].value, "SHA256:a=b");
	assert_int_equal(keys.at[2].line, 10);
	assert_string_equal(keys.at[2].value, "x:y");
	assert_string_equal(keys.at[3].value, "*");
	iw_config_keys_fini(&keys);
}

static void malformed_text_is_refused_with_its_line(void **state)
{
	char longest[IW_CONFIG_LINE_MAX + 40], longer[IW_CONFIG_LINE_MAX + 40];
	const struct {
		const char *text;
		int err;
		const char *message;
	} rows[] = {
		{ "", 0, "" },
		{ "[all]\n[ddp-send]\nany = thing\n", 0, "" },
		{ longest, 0, "" },
		{ longer, IW_E_LIMIT, "f:2: a line of more than 196 octets" },
		{ "\ntls = yes\n", IW_E_FORMAT, "f:2: \"tls\": before the first section" },
		{ "[all\n", IW_E_FORMAT, "f:1: expected [SECTION], KEY = VALUE or a comment" },
		{ "[all]\ntls\n[nothing]\nx = y\n", IW_E_FORMAT, "f:2: expected [SECTION]" },
		{ "[all]\n = yes\n", IW_E_FORMAT, "f:2: \"\": expected KEY = VALUE" },
		{ "[ddp-rcv]\ntls = yes\nbad", IW_E_FORMAT,
		  "f:2: \"ddp-rcv\": unknown section; expected all, ddp-bench" },
		{ "[all]\ntls = y\033[2Js\n", IW_E_FORMAT, "f:2: a control character" },
	};

	(void)state;
	snprintf(longest, sizeof(longest), "[all]\nt = %0*d\n", IW_CONFIG_LINE_MAX - 4, 0);
	snprintf(longer, sizeof(longer), "[all]\nt = %0*d\n", IW_CONFIG_LINE_MAX - 3, 0);
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct iw_config_keys keys = { 0 };
		struct iw_fault why = { 0 };
		int err = iw_config_parse(&keys, "f", rows[i].text, strlen(rows[i].text),
					  "ddp-recv", &why);

		if (err != rows[i].err || !strstr(why.text, rows[i].message))
			fail_msg("row %zu: %d, %s", i, err, why.text);
		iw_config_keys_fini(&keys);
	}
}

static void more_keys_than_the_limit_are_refused(void **state)
{
	char text[16 + 8 * (IW_CONFIG_KEYS_MAX + 1)] = "[all]\n";
	struct iw_config_keys keys = { 0 };
	struct iw_fault why = { 0 };

	(void)state;
	for (size_t i = 0; i < IW_CONFIG_KEYS_MAX; i++)
		memcpy(text + 6 + 4 * i, "a=b\n", 5);
	assert_int_equal(iw_config_parse(&keys, "f", text, strlen(text), "ddp-recv", &why), 0);
	assert_int_equal(keys.n, IW_CONFIG_KEYS_MAX);
	iw_config_keys_fini(&keys);
	memcpy(text + 6 + 4 * IW_CONFIG_KEYS_MAX, "a=b\n", 5);
	assert_int_equal(iw_config_parse(&keys, "f", text, strlen(text), "ddp-recv", &why),
			 IW_E_LIMIT);
	assert_non_null(strstr(why.text, "f:258: more than 256 keys"));
	iw_config_keys_fini(&keys);
}

/* --- trust ------------------------------------------------------------------------------------- */

static int read_as(uint32_t owner, struct iw_config_file *f, struct iw_fault *why)
{
	struct iw_config_keys keys = { 0 };
	int err;

	*f = (struct iw_config_file){ 0 };
	err = iw_config_read_path(f, &keys, path, owner, "ddp-recv", why);
	iw_config_keys_fini(&keys);
	return err;
}

static void files_that_others_can_change_are_refused(void **state)
{
	uint32_t me = (uint32_t)geteuid();
	struct iw_fault why = { 0 };
	struct iw_config_file f;

	(void)state;
	write_config("[all]\ntls = yes\n");
	assert_int_equal(read_as(me, &f, &why), 0);
	assert_true(f.present && !f.ignored);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(read_as(me, &f, &why), 0);
	assert_int_equal(chmod(path, 0620), 0);
	assert_int_equal(read_as(me, &f, &why), IW_E_PERM);
	assert_int_equal(chmod(path, 0602), 0);
	assert_int_equal(read_as(me, &f, &why), IW_E_PERM);
	assert_non_null(strstr(why.text, "other users can write to it"));
	assert_int_equal(chmod(path, 0600), 0);
	if (me == 0)
		assert_int_equal(chown(path, 12345, (gid_t)-1), 0);
	assert_int_equal(read_as(me + 1, &f, &why), IW_E_PERM);
	assert_non_null(strstr(why.text, "belongs to uid"));
}

static void what_is_not_a_file_is_refused_and_a_missing_one_is_not(void **state)
{
	uint32_t me = (uint32_t)geteuid();
	struct iw_fault why = { 0 };
	struct iw_config_file f;

	(void)state;
	unlink(path);
	assert_int_equal(read_as(me, &f, &why), 0);
	assert_false(f.present);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(read_as(me, &f, &why), IW_E_PERM);
	assert_non_null(strstr(why.text, "not a regular file"));
	unlink(path);
	assert_int_equal(symlink("missing", path), 0);
	assert_int_equal(read_as(me, &f, &why), IW_E_OS);
	unlink(path);
	write_config("");
	assert_int_equal(truncate(path, IW_CONFIG_SIZE_MAX + 1), 0);
	assert_int_equal(read_as(me, &f, &why), IW_E_LIMIT);
}

/* --- the options of a tool --------------------------------------------------------------------- */

struct opts {
	struct iw_cli cli;
	struct iw_cli_secure secure;
	bool stats, owner, setid, listener, piped, moody;
	char words[100];
};

static void check(const struct opts *o, const struct argp_state *state)
{
	struct stat st;

	if (o->stats && o->listener)
		argp_error(state, "--stats applies to senders only");
	if (o->setid && !o->owner)
		argp_error(state, "--setid needs --owner");
	if (o->piped && (fstat(STDIN_FILENO, &st) != 0 || !S_ISFIFO(st.st_mode)))
		argp_error(state, "--piped: standard input is not a pipe");
	if (o->moody && iw_cli_config_trial())
		argp_error(state, "--moody: refused on trial");
	iw_cli_secure_check(state, &o->secure, o->cli.transport);
	if (o->secure.require && strcmp(o->cli.transport, "sctp") == 0)
		argp_error(state, "--require-encryption: -t sctp has none");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;
	size_t len;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->cli;
		state->child_inputs[1] = &o->secure;
		return 0;
	case 's':
		o->stats = true;
		return 0;
	case 'o':
		o->owner = true;
		return 0;
	case 'i':
		o->setid = true;
		return 0;
	case 'l':
		o->listener = true;
		return 0;
	case 'f':
		o->piped = true;
		return 0;
	case 'm':
		o->moody = true;
		return 0;
	case 'w':
		len = strlen(o->words);
		snprintf(o->words + len, sizeof(o->words) - len, "%s.", arg);
		return 0;
	case 'y':
	case ARGP_KEY_ARG:
		return 0;
	case ARGP_KEY_END:
		check(o, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{ "stats", 's', NULL, 0, "Totals", 0 },
	{ "owner", 'o', NULL, 0, "Owners", 0 },
	{ "setid", 'i', NULL, 0, "Bits", 0 },
	{ "listener", 'l', NULL, 0, "Wait", 0 },
	{ "piped", 'f', NULL, 0, "Read a pipe", 0 },
	{ "moody", 'm', NULL, 0, "Change the mind", 0 },
	{ "word", 'w', "WORD", 0, "Say", 0 },
	{ "secret", 'x', NULL, OPTION_HIDDEN, NULL, 0 },
	{ "ssh-server", 'y', NULL, OPTION_HIDDEN, NULL, 0 },
	{ 0 },
};

static const struct argp_child kids[] = { { &iw_cli_argp, 0, "Common options:", -1 },
					  { &iw_cli_secure_argp, 0, "Encryption:", 0 },
					  { 0 } };
static const struct argp argp = { .options = options, .parser = parse, .children = kids };

static int run_tool(const void *arg)
{
	struct opts o = { 0 };
	int argc, fds[2];
	char **argv;

	argv = capture_argv("./dir/ddp-recv", arg, &argc);
	if (pipe(fds) != 0 || dup2(fds[0], STDIN_FILENO) < 0)
		return 8;
	iw_cli_init(&o.cli, "ddp-recv", "tcp");
	iw_cli_secure_init(&o.secure);
	iw_cli_parse(&o.cli, &argp, argc, argv, 0, &o);
	if (iw_cli_start(&o.cli) != 0)
		return 9;
	printf("%s %u%s%s%s%s%s%s %s", o.cli.transport, (unsigned)o.cli.port,
	       o.stats ? " stats" : "", o.owner ? " owner" : "", o.setid ? " setid" : "",
	       o.listener ? " listener" : "", o.secure.tls ? " tls" : "",
	       o.secure.require ? " require" : "", o.words);
	return 0;
}

struct row {
	const char *text;
	const char *const *args;
	int status;
	const char *out, *err;
};

static void try(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct capture c;

		write_config(rows[i].text);
		capture_run(&c, run_tool, rows[i].args);
		if (c.status != rows[i].status || strcmp(c.out, rows[i].out) != 0 ||
		    !strstr(c.err, rows[i].err) || (!*rows[i].err && *c.err))
			fail_msg("row %zu: %d \"%s\" \"%s\"", i, c.status, c.out, c.err);
	}
}

static void keys_set_options_and_the_command_line_replaces_them(void **state)
{
	const struct row rows[] = {
		{ "", ARGV("-v"), 0, "tcp 7471 ", "" },
		{ "[all]\nport = 5\ntransport = udp\n", ARGV("x"), 0, "udp 5 ", "" },
		{ "[all]\nport = 5\n", ARGV("-p6"), 0, "tcp 6 ", "" },
		{ "[ddp-recv]\nport = 5\n[all]\nport = 6\n", ARGV("x"), 0, "tcp 5 ", "" },
		{ "[ddp-recv]\nstats = yes\n", ARGV("x"), 0, "tcp 7471 stats ", "" },
		{ "[ddp-recv]\nstats = no\n", ARGV("x"), 0, "tcp 7471 ", "" },
		{ "[ddp-recv]\nstats = yes\nstats = no\n", ARGV("x"), 0, "tcp 7471 ", "" },
		{ "[ddp-recv]\nword = a\nword = b\n", ARGV("x"), 0, "tcp 7471 a.b.", "" },
		{ "[ddp-recv]\nword = a\nword = b\n", ARGV("--wo", "c"), 0, "tcp 7471 c.", "" },
		{ "[all]\ntls = yes\n[ddp-recv]\ntls = no\n", ARGV("x"), 0, "tcp 7471 ", "" },
		{ "[all]\ntls = yes\n", ARGV("x"), 0, "tcp 7471 tls ", "" },
		{ "[all]\ntls = yes\n", ARGV("--tls=no"), 0, "tcp 7471 ", "" },
		{ "[all]\ninsecure = yes\n", ARGV("x"), 0, "tcp 7471 ", "" },
		{ "[all]\nport = 5\n", ARGV("--no-config"), 0, "tcp 7471 ", "" },
		{ "[all\n", ARGV("--no-config"), 0, "tcp 7471 ", "" },
		{ "[all]\nport = 5\n", ARGV("--ssh-server"), 0, "tcp 7471 ", "" },
		{ "[all]\nmulpdu = emss\n", ARGV("x"), 0, "tcp 7471 ", "" },
		{ "[all]\nrequire-encryption = yes\n", ARGV("x"), 0, "tcp 7471 require ", "" },
		{ "[all]\nrequire-encryption = no\n", ARGV("x"), 0, "tcp 7471 ", "" },
		{ "[all]\nrequire-encryption = yes\n", ARGV("--require-encryption=no"), 0,
		  "tcp 7471 ", "" },
	};

	(void)state;
	try(rows, IW_ARRAY_LEN(rows));
}

static void options_that_exclude_the_command_line_are_left_out(void **state)
{
	const struct row rows[] = {
		{ "[ddp-recv]\nstats = yes\nowner = yes\n", ARGV("-l"), 0,
		  "tcp 7471 owner listener ", "" },
		{ "[ddp-recv]\nlistener = yes\nport = 9\n", ARGV("-s"), 0, "tcp 9 stats ", "" },
		{ "[ddp-recv]\nsetid = yes\nstats = yes\nowner = yes\n", ARGV("-l"), 0,
		  "tcp 7471 owner setid listener ", "" },
		{ "[ddp-recv]\nowner = yes\nstats = yes\nsetid = yes\n", ARGV("-l"), 0,
		  "tcp 7471 owner setid listener ", "" },
		{ "[ddp-recv]\nsetid = yes\n", ARGV("-o"), 0, "tcp 7471 owner setid ", "" },
		{ "[ddp-recv]\nstats = yes\n", ARGV("-l", "-v"), 0, "tcp 7471 listener ",
		  "config:2: stats: left out: --stats applies to senders only" },
		/* Less encryption than the file wants is worth a warning. */
		{ "[all]\ntls = yes\n", ARGV("-t", "sctp"), 0, "sctp 7471 ",
		  "config:2: tls: left out: --tls: -t sctp has no encryption" },
		/* The trial has the same standard input. */
		{ "[all]\ntls = yes\n", ARGV("-f"), 0, "tcp 7471 tls ", "" },
		/* An error of the command line by itself. */
		{ "[ddp-recv]\nport = 9\n", ARGV("-l", "-s"), 2, "",
		  "ddp-recv: --stats applies to senders only" },
	};

	(void)state;
	try(rows, IW_ARRAY_LEN(rows));
}

static void require_encryption_is_never_left_out(void **state)
{
	const struct row rows[] = {
		{ "[all]\nrequire-encryption = yes\n", ARGV("-t", "sctp"), 2, "",
		  "config:2: --require-encryption: -t sctp has none" },
		{ "[all]\nrequire-encryption = yes\n", ARGV("-m"), 4, "",
		  "ddp-recv: the configuration files do not fit these arguments" },
		{ "[all]\nrequire-encryption = yes\ntransport = sctp\n", ARGV("x"), 0,
		  "tcp 7471 require ", "" },
		{ "[all]\nrequire-encryption = yes\n[ddp-recv]\nstats = yes\n", ARGV("-l"), 0,
		  "tcp 7471 listener require ", "" },
	};

	(void)state;
	try(rows, IW_ARRAY_LEN(rows));
}

static void wrong_keys_and_values_are_refused_with_their_line(void **state)
{
	const struct row rows[] = {
		{ "[all]\n\nport = 99999\n", ARGV("x"), 2, "", "config:3: --port \"99999\": " },
		{ "[all]\nprot = 1\n", ARGV("x"), 2, "",
		  "config:2: \"prot\": not an option that tools share" },
		{ "[all]\nstats = yes\n", ARGV("x"), 2, "",
		  "config:2: \"stats\": not an option that tools share" },
		{ "[ddp-recv]\nprot = 1\n", ARGV("x"), 2, "",
		  "config:2: \"prot\": not a long option of ddp-recv" },
		{ "[ddp-recv]\npor = 1\n", ARGV("x"), 2, "", "config:2: \"por\": not a long" },
		{ "[ddp-recv]\nsecret = yes\n", ARGV("x"), 2, "", "\"secret\": not a long" },
		{ "[ddp-recv]\nstats = 1\n", ARGV("x"), 2, "",
		  "config:2: stats \"1\": expected yes or no" },
		{ "[ddp-recv]\ndoctor = yes\n", ARGV("x"), 2, "",
		  "config:2: \"doctor\": only for the command line" },
		{ "[all\n", ARGV("x"), 2, "", "config:1: expected [SECTION]" },
	};

	(void)state;
	try(rows, IW_ARRAY_LEN(rows));
}

static void an_error_of_a_file_is_an_event_too(void **state)
{
	struct capture c;

	(void)state;
	write_config("[all]\nport = x\n");
	capture_run(&c, run_tool, ARGV("--json"));
	assert_int_equal(c.status, 2);
	assert_non_null(strstr(c.out, "\"event\":\"error\""));
	assert_non_null(strstr(c.out, "config:2: --port"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_of_the_tool_and_of_all_tools_are_read_with_their_lines),
		cmocka_unit_test(malformed_text_is_refused_with_its_line),
		cmocka_unit_test(more_keys_than_the_limit_are_refused),
		cmocka_unit_test(files_that_others_can_change_are_refused),
		cmocka_unit_test(what_is_not_a_file_is_refused_and_a_missing_one_is_not),
		cmocka_unit_test(keys_set_options_and_the_command_line_replaces_them),
		cmocka_unit_test(options_that_exclude_the_command_line_are_left_out),
		cmocka_unit_test(require_encryption_is_never_left_out),
		cmocka_unit_test(wrong_keys_and_values_are_refused_with_their_line),
		cmocka_unit_test(an_error_of_a_file_is_an_event_too),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}

#else

int main(void)
{
	puts("needs inih: built without it");
	return 3;
}

#endif
