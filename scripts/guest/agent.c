// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * agent PORT...: process 1 of the guest. For each virtio-serial port a child process runs the
 * commands that a caller on the host sends (frame.h), one at a time. Process 1 itself reaps orphans
 * and replaces children that died. When a caller disconnects, its command ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "frame.h"

#define WORDS_MAX     1024
#define TERM_GRACE_MS 2000

/* A running command and its pipes; a closed descriptor is -1. */
struct command {
	pid_t pid;
	int pidfd, in, out, err;
	int64_t limit; /* the time at which it is ended, or -1 */
	bool timed_out, killed;
};

/* The guest's end of a port, and a buffer of octets that were read but not used yet. */
struct port {
	int fd;
	uint8_t buf[FRAME_HEAD + FRAME_MAX];
	size_t len;
};

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Returns -1 if the caller has disconnected: the port then hangs up. */
static int port_write(struct port *p, const uint8_t *octets, size_t len)
{
	while (len > 0) {
		ssize_t n = write(p->fd, octets, len);

		if (n > 0) {
			octets += n;
			len -= (size_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			struct pollfd pfd = { .fd = p->fd, .events = POLLOUT };

			if (poll(&pfd, 1, -1) > 0 && (pfd.revents & (POLLHUP | POLLERR)))
				return -1;
		} else if (n < 0 && errno != EINTR) {
			return -1;
		}
	}
	return 0;
}

static int send_frame(struct port *p, enum frame_type type, const uint8_t *payload, size_t len)
{
	uint8_t frame[FRAME_HEAD + FRAME_MAX];

	frame[0] = (uint8_t)type;
	put32(frame + 1, (uint32_t)len);
	if (len > 0)
		memcpy(frame + FRAME_HEAD, payload, len);
	return port_write(p, frame, FRAME_HEAD + len);
}

static int send_exit(struct port *p, int status)
{
	uint8_t payload[4];

	put32(payload, (uint32_t)status);
	return send_frame(p, FRAME_EXIT, payload, sizeof(payload));
}

/* Waits for a caller's hello and echoes it. The hello may already be in the buffer, after octets
 * that are not a frame. A port without a caller is always readable, so the wait is edge-triggered.
 * A hello can arrive before the kernel reports that a caller is connected: until then writes to the
 * port fail, and the hello waits. */
static void await_hello(struct port *p)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLHUP | EPOLLET };
	struct hello hello = { { 0 } }, found;
	int ep = epoll_create1(EPOLL_CLOEXEC);
	bool any = false;

	if (ep < 0 || epoll_ctl(ep, EPOLL_CTL_ADD, p->fd, &ev) != 0)
		_exit(1);
	for (ssize_t n = (ssize_t)p->len;; n = read(p->fd, p->buf, sizeof(p->buf))) {
		/* The last hello applies: a caller that sends another one has not received the
		 * answers to the earlier ones. */
		for (ssize_t i = 0; i < n; i++) {
			if (hello_take(&hello, p->buf[i])) {
				found = hello;
				any = true;
			}
		}
		if (any && port_write(p, found.window, HELLO_LEN) == 0)
			break;
		if (n > 0)
			continue;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			_exit(1);
		/* An event between the read and the wait would not be reported again; the time
		 * limit covers this case. */
		if (epoll_wait(ep, &ev, 1, 1000) < 0 && errno != EINTR)
			_exit(1);
	}
	close(ep);
	p->len = 0;
}

static void words_of(const uint8_t *payload, size_t len, char **argv)
{
	size_t argc = 0;

	for (size_t at = 0; at < len && argc < WORDS_MAX;
	     at += strlen((const char *)payload + at) + 1)
		argv[argc++] = (char *)(uintptr_t)(payload + at);
	argv[argc] = NULL;
}

/* Becomes the command, in a session and process group of its own, so that it can be ended with
 * everything that it started. */
static void become(char **argv, const int *in, const int *out, const int *err)
{
	sigset_t none;

	setsid();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (dup2(in[0], 0) < 0 || dup2(out[1], 1) < 0 || dup2(err[1], 2) < 0)
		_exit(126);
	execvp(argv[0], argv);
	dprintf(2, "peer-vm: %s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static void close_pair(int *pair)
{
	if (pair[0] >= 0)
		close(pair[0]);
	if (pair[1] >= 0)
		close(pair[1]);
}

/* Starts the command of a FRAME_RUN. Returns 0, or -1 with no process or descriptor left. */
static int start(struct command *c, const uint8_t *payload, size_t len)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, err[2] = { -1, -1 };
	char *argv[WORDS_MAX + 1];
	uint32_t limit_ms;

	if (len < 6 || payload[len - 1] != '\0')
		return -1;
	limit_ms = get32(payload);
	words_of(payload + 4, len - 4, argv);
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		goto failed;
	c->pid = fork();
	if (c->pid < 0)
		goto failed;
	if (c->pid == 0)
		become(argv, in, out, err);
	close(in[0]);
	close(out[1]);
	close(err[1]);
	c->in = in[1];
	c->out = out[0];
	c->err = err[0];
	fcntl(c->in, F_SETFL, O_NONBLOCK);
	fcntl(c->out, F_SETFL, O_NONBLOCK);
	fcntl(c->err, F_SETFL, O_NONBLOCK);
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	c->limit = limit_ms ? now_ms() + limit_ms : -1;
	c->timed_out = c->killed = false;
	return 0;
failed:
	close_pair(in);
	close_pair(out);
	close_pair(err);
	return -1;
}

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Reaps a command; @by_force kills its whole process group first. Returns its exit status as a
 * shell would. */
static int finish(struct command *c, bool by_force)
{
	int status = 0;

	if (by_force)
		kill(-c->pid, SIGKILL);
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	shut(&c->in);
	shut(&c->out);
	shut(&c->err);
	shut(&c->pidfd);
	if (c->timed_out)
		return 124;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Forwards pending output of the command. Returns 1: forwarded some; 0: no output is pending; -1:
 * the caller has disconnected. */
static int pass_on(struct port *p, int *fd, enum frame_type type)
{
	uint8_t octets[FRAME_MAX];
	ssize_t n;

	if (*fd < 0)
		return 0;
	n = read(*fd, octets, sizeof(octets));
	if (n > 0)
		return send_frame(p, type, octets, (size_t)n) == 0 ? 1 : -1;
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		shut(fd);
	return 0;
}

/* Returns the payload length of the frame at the head of the buffer; -1 if it is incomplete; -2 if
 * it is not a frame. */
static int frame_ready(const struct port *p)
{
	uint32_t len;

	if (p->len < 1)
		return -1;
	if (p->buf[0] != FRAME_RUN && p->buf[0] != FRAME_STDIN)
		return -2;
	if (p->len < FRAME_HEAD)
		return -1;
	len = get32(p->buf + 1);
	if (len > FRAME_MAX)
		return -2;
	return p->len < FRAME_HEAD + len ? -1 : (int)len;
}

static void frame_used(struct port *p, size_t len)
{
	p->len -= FRAME_HEAD + len;
	memmove(p->buf, p->buf + FRAME_HEAD + len, p->len);
}

/* Reads as much as fits. Returns -1 if the caller has disconnected. */
static int port_fill(struct port *p)
{
	ssize_t n = read(p->fd, p->buf + p->len, sizeof(p->buf) - p->len);

	if (n > 0) {
		p->len += (size_t)n;
		return 0;
	}
	return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

/* Writes the frames in the buffer to the command's standard input. Returns 1 if the pipe is full, 0
 * if all is written, -1 if the buffer does not hold a frame. */
static int feed(struct port *p, struct command *c, size_t *fed)
{
	int len;

	while ((len = frame_ready(p)) >= 0) {
		if (p->buf[0] != FRAME_STDIN)
			return -1;
		if (len == 0)
			shut(&c->in);
		while (c->in >= 0 && *fed < (size_t)len) {
			ssize_t n = write(c->in, p->buf + FRAME_HEAD + *fed, (size_t)len - *fed);

			if (n > 0)
				*fed += (size_t)n;
			else if (n < 0 && errno == EAGAIN)
				return 1;
			else if (n < 0 && errno != EINTR)
				shut(&c->in); /* the command has closed its standard input */
		}
		frame_used(p, (size_t)len);
		*fed = 0;
	}
	return len == -2 ? -1 : 0;
}

static void enforce_limit(struct command *c)
{
	if (c->limit < 0 || now_ms() < c->limit)
		return;
	if (!c->timed_out) {
		kill(-c->pid, SIGTERM);
		c->timed_out = true;
		c->limit = now_ms() + TERM_GRACE_MS;
	} else if (!c->killed) {
		kill(-c->pid, SIGKILL);
		c->killed = true;
		c->limit = -1;
	}
}

/* Forwards the pending output of a command that has ended. */
static int drain(struct port *p, struct command *c)
{
	int out, err;

	do {
		out = pass_on(p, &c->out, FRAME_STDOUT);
		err = pass_on(p, &c->err, FRAME_STDERR);
		if (out < 0 || err < 0)
			return -1;
	} while (out > 0 || err > 0);
	return 0;
}

/* Serves a command from its start to its end. */
static void attend(struct port *p, struct command *c)
{
	size_t fed = 0;

	for (;;) {
		/* Before the wait: input that arrived together with the command is already in the
		 * buffer and does not make the port readable. */
		int full = feed(p, c, &fed);

		/* If the buffer is full, wait until the command reads; the port is then polled for
		 * a hang-up only. */
		short want = p->len < sizeof(p->buf) ? POLLIN : 0;
		struct pollfd pfd[5] = {
			{ .fd = p->fd, .events = want },
			{ .fd = c->pidfd, .events = POLLIN },
			{ .fd = c->out, .events = POLLIN },
			{ .fd = c->err, .events = POLLIN },
			{ .fd = full ? c->in : -1, .events = POLLOUT },
		};
		int64_t left = c->limit < 0 ? -1 : c->limit - now_ms();

		if (full < 0)
			break;
		if (poll(pfd, 5, c->limit < 0 ? -1 : (int)(left < 0 ? 0 : left)) < 0 &&
		    errno != EINTR)
			break;
		enforce_limit(c);
		if ((pfd[0].revents & (POLLHUP | POLLERR)) ||
		    ((pfd[0].revents & POLLIN) && port_fill(p) != 0))
			break;
		if (pass_on(p, &c->out, FRAME_STDOUT) < 0 || pass_on(p, &c->err, FRAME_STDERR) < 0)
			break;
		if (pfd[1].revents & POLLIN) {
			if (drain(p, c) != 0)
				break;
			send_exit(p, finish(c, false));
			return;
		}
	}
	finish(c, true);
}

/* Serves one caller with one command. */
static void serve_one(struct port *p)
{
	struct command c = { .in = -1, .out = -1, .err = -1, .pidfd = -1 };
	struct pollfd pfd = { .fd = p->fd, .events = POLLIN };
	int len;

	await_hello(p);
	while ((len = frame_ready(p)) == -1) {
		if (poll(&pfd, 1, -1) < 0 && errno != EINTR)
			return;
		if ((pfd.revents & (POLLHUP | POLLERR)) || port_fill(p) != 0)
			return;
	}
	if (len < 0 || p->buf[0] != FRAME_RUN)
		return;
	if (start(&c, p->buf + FRAME_HEAD, (size_t)len) == 0) {
		frame_used(p, (size_t)len);
		attend(p, &c);
	} else {
		send_exit(p, 126);
	}
}

static void serve(const char *path)
{
	static struct port p;

	/* A write to a port without a caller must not end this process. */
	signal(SIGPIPE, SIG_IGN);
	p.fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (p.fd < 0) {
		fprintf(stderr, "agent: %s: %s\n", path, strerror(errno));
		sleep(1);
		_exit(1);
	}
	for (;;)
		serve_one(&p);
}

/* Registered memory is locked memory, and each connection needs a descriptor. */
static void raise_limits(void)
{
	const struct rlimit locked = { RLIM_INFINITY, RLIM_INFINITY }, files = { 65536, 65536 };

	if (setrlimit(RLIMIT_MEMLOCK, &locked) != 0 || setrlimit(RLIMIT_NOFILE, &files) != 0)
		fprintf(stderr, "agent: setrlimit: %s\n", strerror(errno));
}

int main(int argc, char **argv)
{
	pid_t *child = calloc((size_t)argc, sizeof(*child));

	if (argc < 2 || !child) {
		fprintf(stderr, "usage: agent PORT...\n");
		return 2;
	}
	raise_limits();
	if (chdir("/root") != 0 && chdir("/") != 0)
		return 1;
	for (;;) {
		pid_t gone;

		for (int i = 1; i < argc; i++) {
			if (child[i] != 0)
				continue;
			child[i] = fork();
			if (child[i] == 0)
				serve(argv[i]);
			if (child[i] < 0)
				child[i] = 0;
		}
		gone = wait(NULL);
		for (int i = 1; i < argc; i++)
			if (child[i] == gone)
				child[i] = 0;
	}
}
