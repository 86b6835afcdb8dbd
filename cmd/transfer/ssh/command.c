// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Starts ssh and explains its exit status. */
#include "transfer/ssh/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"
#include "util/num.h"
#include "util/text.h"

#define FIXED_WORDS 13 /* of the command line: all that do not come from --ssh, and NULL */

/* Exit statuses: of ssh (its manual page), and of a POSIX shell for a command. */
#define SSH_FAILED     255
#define CANNOT_EXECUTE 126
#define NOT_FOUND      127

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* Copies one word from *at to out, which has room for it. Returns what is wrong; NULL: nothing. */
static const char *take_word(const char **at, char **out)
{
	const char *p = *at;
	char *o = *out, quote = '\0';

	for (; *p && (quote || !is_blank(*p)); p++) {
		if (quote ? *p == quote : *p == '\'' || *p == '"') {
			quote = quote ? '\0' : *p;
			continue;
		}
		if (*p == '\\' && quote != '\'' && (!quote || p[1] == '"' || p[1] == '\\')) {
			if (!p[1])
				return "it ends with a backslash";
			p++;
		}
		*o++ = *p;
	}
	*o++ = '\0';
	*at = p;
	*out = o;
	return quote ? "a quote is not closed" : NULL;
}

int iw_ssh_split(char ***out, const char *text, const char **why)
{
	/* A word needs at least one character and a separator. */
	size_t len = strlen(text), most = len / 2 + 2, n = 0;
	char **words = malloc(most * sizeof(*words) + len + 2);
	char *room;

	if (!words)
		return IW_E_NOMEM;
	room = (char *)(words + most);
	for (;;) {
		while (is_blank(*text))
			text++;
		if (!*text)
			break;
		words[n++] = room;
		*why = take_word(&text, &room);
		if (*why)
			break;
	}
	if (n == 0)
		*why = "it names no program";
	if (n == 0 || *why) {
		free(words);
		return IW_E_INVAL;
	}
	words[n] = NULL;
	*out = words;
	return 0;
}

/* Writes path for the shell of the far user. out has room for 4 times its length and 3 more. */
static void quote(char *out, const char *path)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789-_./+,:@";

	if (strncmp(path, "~/", 2) == 0) {
		*out++ = *path++;
		*out++ = *path++;
	}
	if (path[0] && path[strspn(path, plain)] == '\0') {
		memcpy(out, path, strlen(path) + 1);
		return;
	}
	*out++ = '\'';
	for (; *path; path++) {
		if (*path == '\'') {
			memcpy(out, "'\\''", 4);
			out += 4;
		} else {
			*out++ = *path;
		}
	}
	*out++ = '\'';
	*out = '\0';
}

char **iw_ssh_argv(const struct iw_ssh_command *c)
{
	/* As scp: text of a LocalCommand would precede the far end's; a RemoteCommand replaces it. */
	static char x[] = "-x", a[] = "-a", t[] = "-T", clear[] = "-oClearAllForwardings=yes",
		    local[] = "-oPermitLocalCommand=no", remote[] = "-oRemoteCommand=none",
		    l[] = "-l", end[] = "--", server[] = "--ssh-server";
	const char *program = c->program ? c->program : c->tool, *why = NULL;
	char **words, **argv, **at, *room;
	size_t n = 0, chars = 0, far = 4 * strlen(program) + 3;

	if (iw_ssh_split(&words, c->ssh ? c->ssh : "ssh", &why) != 0)
		return NULL;
	for (; words[n]; n++)
		chars += strlen(words[n]) + 1;
	chars += strlen(c->user) + strlen(c->host) + 2 + far;
	argv = malloc((n + FIXED_WORDS) * sizeof(*argv) + chars);
	if (!argv) {
		free(words);
		return NULL;
	}
	room = (char *)(argv + n + FIXED_WORDS);
	at = argv;
	for (size_t i = 0; i < n; i++) {
		*at++ = room;
		room = stpcpy(room, words[i]) + 1;
	}
	free(words);
	*at++ = x;
	*at++ = a;
	*at++ = t;
	*at++ = clear;
	*at++ = local;
	*at++ = remote;
	if (c->user[0]) {
		*at++ = l;
		*at++ = room;
		room = stpcpy(room, c->user) + 1;
	}
	*at++ = room;
	room = stpcpy(room, c->host) + 1;
	*at++ = end;
	*at++ = room;
	quote(room, program);
	*at++ = server;
	*at = NULL;
	return argv;
}

/* The child: becomes ssh, later only after an octet. Writes errno to report if that fails. */
static void become(char **argv, bool later, int fd, int report, pid_t parent)
{
	int errnum;
	char go;

	/* ssh would ignore what this process ignores. */
	signal(SIGPIPE, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (later) {
		/* It would keep other pipes open while it waits; report closes as with exec. */
		fd = dup2(fd, STDERR_FILENO + 1);
		closefrom(STDERR_FILENO + 2);
		report = -1;
		if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || read(fd, &go, 1) != 1)
			_exit(NOT_FOUND);
	}
	if (getppid() == parent && dup2(fd, STDIN_FILENO) >= 0 && dup2(fd, STDOUT_FILENO) >= 0)
		execvp(argv[0], argv);
	errnum = errno;
	if (write(report, &errnum, sizeof(errnum)) < 0) {}
	_exit(NOT_FOUND);
}

static int start(char **argv, bool later, const int pair[2], pid_t *pid, struct iw_fault *why)
{
	pid_t parent = getpid();
	int report[2], errnum = 0;

	if (pipe2(report, O_CLOEXEC) < 0)
		return iw_os_fail(why, errno, "make a pipe");
	*pid = fork();
	if (*pid == 0) {
		close(pair[0]); /* Its end must be noticed. */
		become(argv, later, pair[1], report[1], parent);
	}
	errnum = *pid < 0 ? errno : 0;
	close(report[1]);
	/* The end of the pipe means that exec has closed it. */
	while (*pid >= 0 && read(report[0], &errnum, sizeof(errnum)) < 0 && errno == EINTR) {}
	close(report[0]);
	if (errnum == 0)
		return 0;
	if (*pid > 0)
		(void)waitpid(*pid, NULL, 0);
	if (errnum == ENOENT)
		return iw_fail(
			why, IW_E_NOENT,
			"%s: no such program; install it (Debian: openssh-client), or name another one with --ssh=COMMAND",
			argv[0]);
	return iw_os_fail(why, errnum, "start %s", argv[0]);
}

int iw_ssh_spawn(const struct iw_ssh_command *c, bool later, int *fd, pid_t *pid,
		 struct iw_fault *why)
{
	char **argv = iw_ssh_argv(c);
	int pair[2], err;

	if (!argv)
		return iw_fail(why, IW_E_NOMEM, "no memory for the command line of ssh");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		free(argv);
		return iw_os_fail(why, errno, "make a socket for ssh");
	}
	err = start(argv, later, pair, pid, why);
	close(pair[1]);
	free(argv);
	if (err)
		close(pair[0]);
	else
		*fd = pair[0];
	return err;
}

/* Waits for the process; then kills it. Returns its status as waitpid reports it; -1: killed. */
static int wait_for(pid_t pid, uint64_t until)
{
	const struct timespec pause = { .tv_nsec = (long)IW_MSEC(5) };
	int status = -1;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (iw_os_now() >= until) {
			kill(pid, SIGKILL);
			(void)waitpid(pid, &status, 0);
			return -1;
		}
		nanosleep(&pause, NULL);
	}
	return status;
}

int iw_ssh_explain_exit(const struct iw_ssh_command *c, pid_t pid, uint64_t until,
			struct iw_fault *why)
{
	const char *program = c->program ? c->program : c->tool;
	int status = wait_for(pid, until);

	if (status == -1 || !WIFEXITED(status))
		return iw_fail(why, IW_E_CLOSED, "%s: ssh ended before %s answered there", c->host,
			       program);
	switch (WEXITSTATUS(status)) {
	case SSH_FAILED:
		return iw_fail(why, IW_E_CLOSED,
			       "%s: ssh failed; its own message has the reason; nothing was sent",
			       c->host);
	case NOT_FOUND:
		return iw_fail(
			why, IW_E_NOENT,
			"%s is not installed at %s, or not in its PATH: install it, or give --far-program",
			program, c->host);
	case CANNOT_EXECUTE:
		return iw_fail(why, IW_E_NOENT, "%s: %s cannot be executed there", c->host,
			       program);
	default:
		return iw_fail(
			why, IW_E_CLOSED,
			"%s: %s ended with status %u before it answered; an older version cannot be started by ssh",
			c->host, program, (uint32_t)WEXITSTATUS(status));
	}
}
