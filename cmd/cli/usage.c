// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* argp and getopt write to stderr and exit. A stream in its place keeps the first line. */
#include "cli/usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/num.h"

/* One parse at a time: exit() has no argument for its handlers' state. */
static struct {
	struct iw_cli *cli; /* NULL: no parse is active */
	FILE *saved, *tee;
	char **argv;
	int argc;
	char text[300]; /* the name of the tool and the text of a fault */
	size_t len;
	bool whole; /* the first line has ended */
} usage;

static void keep_first_line(const char *buf, size_t len)
{
	for (size_t i = 0; i < len && !usage.whole; i++) {
		usage.whole = buf[i] == '\n';
		if (!usage.whole && usage.len + 1 < sizeof(usage.text))
			usage.text[usage.len++] = buf[i];
	}
}

static ssize_t tee_write(void *cookie, const char *buf, size_t len)
{
	(void)cookie;
	keep_first_line(buf, len);
	return write(STDERR_FILENO, buf, len);
}

static bool wants_json(void)
{
	for (int i = 1; i < usage.argc && strcmp(usage.argv[i], "--") != 0; i++) {
		const char *a = usage.argv[i];

		if (strncmp(a, "--js", 4) == 0 && strncmp("--json", a, strlen(a)) == 0)
			return true;
	}
	return false;
}

/* Standard output may receive the data, so no event is written there. */
static bool has_data_on_stdout(void)
{
	if (strcmp(usage.cli->tool, "ddp-recv") != 0)
		return false;
	for (int i = 1; i < usage.argc; i++)
		if (strcmp(usage.argv[i], "-") == 0 || strncmp(usage.argv[i], "--from", 6) == 0)
			return true;
	return false;
}

/* The message without the tool's name: argp writes the last part of argv[0], getopt all of it. */
static const char *message(void)
{
	const char *slash = strrchr(usage.argv[0], '/');
	const char *names[] = { usage.argv[0], slash ? slash + 1 : usage.argv[0] };

	for (size_t i = 0; i < IW_ARRAY_LEN(names); i++) {
		size_t len = strlen(names[i]);

		if (strncmp(usage.text, names[i], len) == 0 &&
		    strncmp(usage.text + len, ": ", 2) == 0)
			return usage.text + len + 2;
	}
	return usage.text;
}

static void at_exit(int status, void *arg)
{
	struct iw_fault why = { .err = IW_E_INVAL, .term = IW_NOTERM };

	(void)arg;
	if (!usage.cli || status == IW_EXIT_OK || usage.len == 0 ||
	    !(usage.cli->json || wants_json()) || has_data_on_stdout())
		return;
	usage.text[usage.len] = '\0';
	snprintf(why.text, sizeof(why.text), "%.*s", (int)sizeof(why.text) - 1, message());
	iw_cli_error_event(usage.cli, &why, status);
}

static void tee_open(void)
{
	usage.saved = stderr;
	usage.tee = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = tee_write });
	if (!usage.tee)
		return;
	setvbuf(usage.tee, NULL, _IONBF, 0);
	stderr = usage.tee;
}

void iw_cli_parsed(void)
{
	usage.cli = NULL;
	if (!usage.tee)
		return;
	stderr = usage.saved;
	fclose(usage.tee);
	usage.tee = NULL;
}

void iw_cli_usage_args(int argc, char **argv)
{
	usage.argc = argc;
	usage.argv = argv;
}

void iw_cli_usage_begin(struct iw_cli *cli, int argc, char **argv)
{
	static bool registered;

	if (!registered)
		registered = on_exit(at_exit, NULL) == 0;
	usage.cli = cli;
	iw_cli_usage_args(argc, argv);
	usage.len = 0;
	usage.whole = false;
	tee_open();
}
