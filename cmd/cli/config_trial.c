// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A parse on trial. A parser ends the process at the first error, after it has set some of its
 * input, so the trial needs a process of its own.
 */
#include "cli/config_trial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/config.h"
#include "cli/value.h"

#define SECONDS 10

/* What the child reports. */
struct verdict {
	int status;
	char text[400];
};

/* In the child. */
static struct {
	bool active;
	int fd; /* for the verdict */
	char *text;
	size_t len;
} child;

bool iw_cli_config_trial(void)
{
	return child.active;
}

/* The handler that runs first at exit: no other handler may run in the child. */
static void report(int status, void *arg)
{
	struct verdict v = { .status = status };
	ssize_t n;

	(void)arg;
	fflush(stderr);
	snprintf(v.text, sizeof(v.text), "%.*s", child.text ? (int)strcspn(child.text, "\n") : 0,
		 child.text ? child.text : "");
	n = write(child.fd, &v, sizeof(v));
	_exit(n == sizeof(v) ? 0 : 1);
}

/* The last parser: at the end of the arguments argp calls it first. */
static error_t parse_stop(int key, char *arg, struct argp_state *state)
{
	const bool *values_only = state->input;

	(void)arg;
	if (key == ARGP_KEY_END && *values_only)
		exit(0);
	return ARGP_ERR_UNKNOWN;
}

static error_t parse_root(int key, char *arg, struct argp_state *state)
{
	void *const *inputs = state->input;

	(void)arg;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = inputs[0];
	state->child_inputs[1] = inputs[1];
	return 0;
}

__attribute__((noreturn)) static void run(const struct argp *argp, int argc, char **argv,
					  unsigned int flags, void *input, bool values_only)
{
	static const struct argp stop = { .parser = parse_stop };
	const struct argp_child kids[] = { { argp, 0, NULL, 0 }, { &stop, 0, NULL, 0 }, { 0 } };
	const struct argp root = { .parser = parse_root, .children = kids };
	void *inputs[] = { input, &values_only };
	int null = open("/dev/null", O_RDWR);

	if (null < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0 ||
	    on_exit(report, NULL) != 0)
		_exit(1);
	stderr = open_memstream(&child.text, &child.len);
	if (!stderr)
		_exit(1);
	alarm(SECONDS);
	iw_cli_check_values(argp, argc, argv, flags);
	argp_parse(&root, argc, argv, flags, NULL, inputs);
	exit(0);
}

/* Reads the verdict. False: the child ended without one. */
static bool take(struct verdict *v, int fd)
{
	size_t got = 0;
	ssize_t n;

	while (got < sizeof(*v)) {
		n = read(fd, (char *)v + got, sizeof(*v) - got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		got += (size_t)n;
	}
	v->text[sizeof(v->text) - 1] = '\0';
	return true;
}

/* Copies the message after "TOOL: ". */
static void copy_message(char *text, size_t cap, const char *message, const char *argv0)
{
	const char *slash = strrchr(argv0, '/'), *name = slash ? slash + 1 : argv0;
	size_t len = strlen(name);

	if (strncmp(message, name, len) == 0 && strncmp(message + len, ": ", 2) == 0)
		message += len + 2;
	snprintf(text, cap, "%s", message);
}

bool iw_config_try(const struct argp *argp, int argc, char *const *argv, unsigned int flags,
		   void *input, bool values_only, char *text, size_t cap)
{
	struct verdict v = { 0 };
	int fds[2];
	pid_t pid;
	bool reported;

	text[0] = '\0';
	if (pipe2(fds, O_CLOEXEC) != 0)
		return true;
	pid = fork();
	if (pid == 0) {
		child.active = true;
		child.fd = fds[1];
		/* argp sorts the words of argv, here those of the child. */
		run(argp, argc, (char **)(uintptr_t)argv, flags, input, values_only);
	}
	close(fds[1]);
	reported = pid > 0 && take(&v, fds[0]);
	close(fds[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (!reported || v.status != argp_err_exit_status)
		return true;
	copy_message(text, cap, v.text, argv[0]);
	return false;
}
