/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Submissions that attack the grader; `prove` appends one to the template of each lab. Each runs
 * before main(), where no rule of the harness applies yet.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

__attribute__((constructor)) static void attack(void);

/* Never ends. */
#if defined(HOSTILE_LOOP)
static void attack(void)
{
	for (volatile int i = 0;; i++)
		;
}
#endif

/* Makes processes until no more can be made; then waits, so that they stay. */
#if defined(HOSTILE_FORK)
static void attack(void)
{
	while (fork() >= 0)
		;
	sleep(100);
}
#endif

/* Writes to a file that any user may write, removes it, and makes new ones. */
#if defined(HOSTILE_WRITE)
static void attack(void)
{
	int fd = open(VICTIM, O_WRONLY | O_TRUNC);

	if (fd >= 0)
		dprintf(fd, "changed\n");
	unlink(VICTIM);
	rename(VICTIM, VICTIM ".moved");
	truncate(VICTIM, 0);
	chmod(VICTIM, 0);
	fd = open("/tmp/iwarp-lab-hostile", O_CREAT | O_WRONLY, 0666);
	if (fd >= 0)
		unlink(VICTIM);
}
#endif

/* Prints what a grader might print, as text and as JSON, and ends with success. */
#if defined(HOSTILE_PRINT)
static void attack(void)
{
	puts("100 of 100 points");
	puts("{\"schema\":1,\"event\":\"lab\",\"points\":100,\"of\":100,\"points_that_need_root\":0}");
	fflush(stdout);
	_exit(0);
}
#endif

/* Allocates and uses memory until there is none, and keeps it. */
#if defined(HOSTILE_MEMORY)
static void attack(void)
{
	for (;;) {
		char *p = malloc(1 << 20);

		if (p)
			memset(p, 1, 1 << 20);
		else
			sleep(1);
	}
}
#endif

/* Signals the grader, its group, and everything else. */
#if defined(HOSTILE_KILL)
static void attack(void)
{
	kill(getppid(), SIGKILL);
	kill(0, SIGKILL);
	kill(-1, SIGKILL);
	killpg(getpgid(getppid()), SIGKILL);
}
#endif

/* Answers calls before they are made, with octets that mean success in many protocols. */
#if defined(HOSTILE_ANSWER)
static void attack(void)
{
	for (int i = 0; i < 10000; i++)
		if (write(3, "\0\0\0\1\1", 5) < 0)
			break;
}
#endif

/* Writes endless answers, and endless text. */
#if defined(HOSTILE_FLOOD)
static void attack(void)
{
	char text[4096];

	memset(text, 0xff, sizeof(text));
	for (;;) {
		if (write(1, text, sizeof(text)) < 0 && write(3, text, sizeof(text)) < 0)
			_exit(0);
		if (write(3, text, sizeof(text)) < 0)
			_exit(0);
	}
}
#endif

/* Starts another program, which could make files and processes. */
#if defined(HOSTILE_EXEC)
static void attack(void)
{
	execl("/bin/sh", "sh", "-c", "echo changed >" VICTIM "; rm -f " VICTIM "; sleep 100 &",
	      (char *)NULL);
	if (system("echo changed >" VICTIM) == 0)
		_exit(0);
}
#endif

/* Reads the grader's memory and writes to it. */
#if defined(HOSTILE_GRADER)
static void attack(void)
{
	char name[64], text[64];
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/mem", getppid());
	fd = open(name, O_RDWR);
	if (fd < 0)
		fd = open(name, O_RDONLY);
	if (fd >= 0 && read(fd, text, sizeof(text)) > 0)
		raise(SIGKILL);
}
#endif

/* Sends what it can read to a socket. */
#if defined(HOSTILE_SOCKET)
static void attack(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd >= 0)
		raise(SIGKILL);
}
#endif
