// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * call [-i] [-t SECONDS] [-w SECONDS] DIR CMD...: runs a command in the guest and passes its output
 * and its exit status on. DIR holds the sockets of the guest's ports (frame.h). -i: forwards
 * standard input. -t: a time limit for the command, which then ends with status 124. -w: how long
 * to wait for a guest that is booting or has no free port. Status 125: the guest cannot be reached.
 * When this process ends, the command in the guest ends too.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "frame.h"

#define UNREACHABLE 125
#define PORTS       8
#define ANSWER_MS   300   /* the time in which an idle guest answers a hello */
#define GRACE_MS    15000 /* after a command's time limit, the time for the guest to report it */

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void give_up(const char *why)
{
	fprintf(stderr, "peer-vm: %s\n", why);
	exit(UNREACHABLE);
}

static void pause_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

/* Connects to a free port. Returns the descriptor, or -1. The lock is held until this process
 * ends. */
static int take_port(void)
{
	for (int i = 0; i < PORTS; i++) {
		struct sockaddr_un sun = { .sun_family = AF_UNIX };
		char name[32];
		int lock, fd;

		snprintf(name, sizeof(name), "agent.%d.lock", i);
		lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (lock < 0)
			give_up("no such guest");
		if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
			close(lock);
			continue;
		}
		snprintf(sun.sun_path, sizeof(sun.sun_path), "agent.%d", i);
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && connect(fd, (const struct sockaddr *)&sun, sizeof(sun)) == 0)
			return fd;
		if (fd >= 0)
			close(fd);
		close(lock);
	}
	return -1;
}

/* Writes everything. Returns false if that is impossible before @until. */
static bool write_all(int fd, const uint8_t *octets, size_t len, int64_t until)
{
	while (len > 0) {
		ssize_t n = send(fd, octets, len, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n > 0) {
			octets += n;
			len -= (size_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			struct pollfd pfd = { .fd = fd, .events = POLLOUT };
			int64_t left = until - now_ms();

			if (left <= 0 || poll(&pfd, 1, (int)left) < 0)
				return false;
		} else if (n < 0 && errno != EINTR) {
			return false;
		}
	}
	return true;
}

/* Returns 1 if the agent has echoed the nonce, 0 if it did not before @until, -1 if the guest is
 * gone. */
static int hear_hello(int fd, const uint8_t *said, int64_t until)
{
	struct hello hello = { { 0 } };

	for (;;) {
		struct pollfd pfd = { .fd = fd, .events = POLLIN };
		int64_t left = until - now_ms();
		uint8_t octet;
		ssize_t n;

		if (left <= 0 || poll(&pfd, 1, (int)left) <= 0)
			return 0;
		n = recv(fd, &octet, 1, 0);
		if (n <= 0)
			return -1;
		if (hello_take(&hello, octet) && memcmp(hello.window, said, HELLO_LEN) == 0)
			return 1;
	}
}

/* Returns 0, or -1 if the guest is gone or does not answer before @until. */
static int greet(int fd, int64_t until)
{
	static const uint8_t zeros[FRAME_HEAD + FRAME_MAX];
	uint8_t said[HELLO_LEN] = HELLO;
	int64_t answer = ANSWER_MS;

	for (;;) {
		int64_t wait = now_ms() + answer < until ? now_ms() + answer : until;

		if (getrandom(said + 8, 8, 0) != 8 || !write_all(fd, said, HELLO_LEN, until))
			return -1;
		switch (hear_hello(fd, said, wait)) {
		case 1:
			return 0;
		case 0:
			if (wait == until || !write_all(fd, zeros, sizeof(zeros), until))
				return -1;
			answer *= 2;
			break;
		default:
			return -1;
		}
	}
}

static void set_head(uint8_t *frame, enum frame_type type, size_t len)
{
	frame[0] = (uint8_t)type;
	put32(frame + 1, (uint32_t)len);
}

static bool send_command(int fd, char **argv, uint32_t limit_ms, int64_t until)
{
	static uint8_t frame[FRAME_HEAD + FRAME_MAX];
	size_t len = FRAME_HEAD + 4;

	put32(frame + FRAME_HEAD, limit_ms);
	for (; *argv; argv++) {
		size_t n = strlen(*argv) + 1;

		if (len + n > sizeof(frame))
			give_up("the command is too long");
		memcpy(frame + len, *argv, n);
		len += n;
	}
	set_head(frame, FRAME_RUN, len - FRAME_HEAD);
	return write_all(fd, frame, len, until);
}

/* Standard input in transit: the frame that the port has not accepted completely. */
struct input {
	uint8_t frame[FRAME_HEAD + FRAME_MAX];
	size_t len, sent;
	bool open;
};

static void input_end(struct input *in)
{
	set_head(in->frame, FRAME_STDIN, 0);
	in->len = FRAME_HEAD;
	in->sent = 0;
	in->open = false;
}

/* Reads the next piece, after the last one was sent. */
static void input_read(struct input *in)
{
	ssize_t n = read(STDIN_FILENO, in->frame + FRAME_HEAD, FRAME_MAX);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		input_end(in);
		return;
	}
	set_head(in->frame, FRAME_STDIN, (size_t)n);
	in->len = FRAME_HEAD + (size_t)n;
	in->sent = 0;
}

/* Sends as much as the port accepts. It does not wait for the rest, because the command may be
 * waiting until its own output is read. */
static void input_send(struct input *in, int fd)
{
	ssize_t n = send(fd, in->frame + in->sent, in->len - in->sent, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n > 0) {
		in->sent += (size_t)n;
	} else if (n < 0 && errno != EAGAIN && errno != EINTR) {
		/* The guest is gone; the output that it sent last contains the reason. */
		in->open = false;
		in->sent = in->len;
	}
}

static void say(int to, const uint8_t *octets, size_t len)
{
	while (len > 0) {
		ssize_t n = write(to, octets, len);

		if (n < 0 && errno != EINTR)
			exit(UNREACHABLE);
		if (n > 0) {
			octets += n;
			len -= (size_t)n;
		}
	}
}

/* Handles the complete frames in buf and returns the number of octets left. The last frame sets
 * *status. */
static size_t take_frames(uint8_t *buf, size_t len, int *status)
{
	size_t at = 0;

	while (*status < 0 && len - at >= FRAME_HEAD) {
		uint32_t n = get32(buf + at + 1);
		const uint8_t *payload = buf + at + FRAME_HEAD;

		if (n > FRAME_MAX)
			give_up("the guest sent a malformed frame");
		if (len - at - FRAME_HEAD < n)
			break;
		switch (buf[at]) {
		case FRAME_STDOUT:
			say(STDOUT_FILENO, payload, n);
			break;
		case FRAME_STDERR:
			say(STDERR_FILENO, payload, n);
			break;
		case FRAME_EXIT:
			*status = n == 4 ? (int)get32(payload) : UNREACHABLE;
			break;
		default:
			give_up("the guest sent a malformed frame");
		}
		at += FRAME_HEAD + n;
	}
	memmove(buf, buf + at, len - at);
	return len - at;
}

static int converse(int fd, bool input, int64_t until)
{
	static uint8_t buf[2 * (FRAME_HEAD + FRAME_MAX)];
	static struct input in = { .open = true };
	size_t len = 0;
	int status = -1;

	if (!input)
		input_end(&in);
	while (status < 0) {
		bool sending = in.sent < in.len;
		struct pollfd pfd[2] = {
			{ .fd = fd, .events = (short)(POLLIN | (sending ? POLLOUT : 0)) },
			{ .fd = in.open && !sending ? STDIN_FILENO : -1, .events = POLLIN },
		};
		int64_t left = until - now_ms();
		ssize_t n;

		if (left <= 0)
			give_up("the guest does not answer");
		if (poll(pfd, 2, left > 60000 ? 60000 : (int)left) < 0 && errno != EINTR)
			give_up("poll failed");
		if (pfd[0].revents & ~POLLOUT) {
			n = recv(fd, buf + len, sizeof(buf) - len, MSG_DONTWAIT);
			if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
				give_up("the guest has ended");
			if (n > 0)
				len = take_frames(buf, len + (size_t)n, &status);
		} else if (sending) {
			input_send(&in, fd);
		} else if (pfd[1].revents) {
			input_read(&in);
		}
	}
	return status;
}

static long seconds(const char *text)
{
	char *end;
	long s = strtol(text, &end, 10);

	if (end == text || *end || s < 0 || s > 1000000) {
		fprintf(stderr, "peer-vm: not a number of seconds: %s\n", text);
		exit(2);
	}
	return s;
}

int main(int argc, char **argv)
{
	long limit = 0, wait = 5;
	bool input = false;
	int opt, fd = -1;
	int64_t patience;

	while ((opt = getopt(argc, argv, "+it:w:")) != -1) {
		switch (opt) {
		case 'i':
			input = true;
			break;
		case 't':
			limit = seconds(optarg);
			break;
		case 'w':
			wait = seconds(optarg);
			break;
		default:
			return 2;
		}
	}
	if (argc - optind < 2) {
		fprintf(stderr, "usage: call [-i] [-t SECONDS] [-w SECONDS] DIR CMD...\n");
		return 2;
	}
	if (chdir(argv[optind]) != 0)
		give_up("no such guest");
	patience = now_ms() + wait * 1000;
	for (;;) {
		fd = take_port();
		if (fd >= 0)
			break;
		if (now_ms() >= patience)
			give_up("the guest has no free port, or has ended");
		pause_ms(50);
	}
	if (greet(fd, patience) != 0)
		give_up("the guest does not answer");
	if (!send_command(fd, argv + optind + 1, (uint32_t)(limit * 1000), patience + 5000))
		give_up("the guest has ended");
	return converse(fd, input, limit ? now_ms() + limit * 1000 + GRACE_MS : INT64_MAX);
}
