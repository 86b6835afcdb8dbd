/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs a function in a child process and keeps its output and its status. */
#ifndef IW_TESTS_CLI_CAPTURE_H
#define IW_TESTS_CLI_CAPTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct capture {
	int status; /* exit status, or -signal */
	char out[16384], err[16384];
};

static inline void capture_read(int fd, char *buf, size_t cap)
{
	ssize_t n = pread(fd, buf, cap - 1, 0);

	buf[n > 0 ? n : 0] = '\0';
	close(fd);
}

/* Runs exit(fn(arg)) in a child, with standard output and error into *c. */
static inline void capture_run(struct capture *c, int (*fn)(const void *arg), const void *arg)
{
	int out = memfd_create("out", 0), err = memfd_create("err", 0), status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		alarm(20);
		/* The width of help, independent of the terminal. */
		setenv("ARGP_HELP_FMT", "rmargin=100", 1);
		if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
			_exit(99);
		exit(fn(arg));
	}
	waitpid(pid, &status, 0);
	c->status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
	capture_read(out, c->out, sizeof(c->out));
	capture_read(err, c->err, sizeof(c->err));
}

/* A list of words for capture_argv(). */
#define ARGV(...) ((const char *const[]){ __VA_ARGS__, NULL })

/*
 * Makes an argv of tool, args and NULL, which argp may permute and keep pointers to. It is never
 * freed.
 */
static inline char **capture_argv(const char *tool, const char *const *args, int *argc)
{
	/* kept: keeps the words reachable if argp changes argv. */
	static char *pool[512], *kept[512];
	static size_t used;
	char **argv = &pool[used];

	*argc = 0;
	for (const char *word = tool; word && used + 1 < 512; word = *args++) {
		kept[used] = strdup(word);
		pool[used] = kept[used];
		used++;
		++*argc;
	}
	used++;
	return argv;
}

#endif
