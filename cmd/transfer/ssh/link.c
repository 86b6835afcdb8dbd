// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The first line and the messages on ssh's pipe. */
#include "transfer/ssh/link.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/signals.h"
#include "os/os.h"
#include "util/num.h"
#include "util/text.h"

#define LENGTH 4u /* octets of the length before a message */

void iw_ssh_link_init(struct iw_ssh_link *l, int fd)
{
	l->fd = fd;
	l->have = 0;
}

int iw_ssh_link_release(struct iw_ssh_link *l)
{
	int fd = l->fd;

	l->fd = -1;
	explicit_bzero(l->buf, sizeof(l->buf));
	return fd;
}

void iw_ssh_link_fini(struct iw_ssh_link *l)
{
	int fd = iw_ssh_link_release(l);

	if (fd >= 0)
		close(fd);
}

/* Waits until the socket is ready for events. A signal or the deadline ends the wait. */
static int await(const struct iw_ssh_link *l, short events, uint64_t until, struct iw_fault *why)
{
	struct pollfd p[2] = { { .fd = l->fd, .events = events },
			       { .fd = iw_signals_fd(), .events = POLLIN } };
	uint64_t now = iw_os_now();
	int r;

	if (until == 0)
		return IW_E_AGAIN;
	if (now >= until)
		return iw_fail(why, IW_E_TIMEOUT, "no answer in time");
	r = poll(p, 2, (int)IW_MIN((until - now) / IW_MSEC(1) + 1, (uint64_t)60000));
	if (r < 0 && errno != EINTR)
		return iw_os_fail(why, errno, "wait for ssh");
	if (r > 0 && p[1].revents)
		return iw_fail(why, IW_E_CANCELED, "interrupted");
	return 0;
}

static int closed(struct iw_fault *why)
{
	return iw_fail(why, IW_E_CLOSED, "the ssh connection has ended");
}

int iw_ssh_link_write(struct iw_ssh_link *l, const void *p, size_t len, uint64_t until,
		      struct iw_fault *why)
{
	const uint8_t *at = p;
	int err;

	while (len > 0) {
		ssize_t n = send(l->fd, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0) {
			at += n;
			len -= (size_t)n;
		} else if (errno == EPIPE || errno == ECONNRESET) {
			return closed(why);
		} else if (errno != EAGAIN && errno != EINTR) {
			return iw_os_fail(why, errno, "send to ssh");
		} else {
			err = await(l, POLLOUT, until, why);
			if (err)
				return err;
		}
	}
	return 0;
}

int iw_ssh_link_send(struct iw_ssh_link *l, const struct iw_ssh_msg *m, uint64_t until,
		     struct iw_fault *why)
{
	static uint8_t frame[LENGTH + IW_SSH_MSG_MAX];
	size_t len = iw_ssh_msg_encode(frame + LENGTH, m);
	int err;

	if (len == 0)
		return iw_fail(why, IW_E_LIMIT,
			       "the paths are too many or too long: at most %u in about %u octets",
			       (uint32_t)IW_SSH_PATHS_MAX, (uint32_t)IW_SSH_MSG_MAX);
	for (unsigned i = 0; i < LENGTH; i++)
		frame[i] = (uint8_t)(len >> (8 * (LENGTH - 1 - i)));
	err = iw_ssh_link_write(l, frame, LENGTH + len, until, why);
	explicit_bzero(frame, LENGTH + len);
	return err;
}

/* Reads at most len octets. Returns their number, at least 1, or an error. */
static ssize_t read_some(struct iw_ssh_link *l, void *p, size_t len, uint64_t until,
			 struct iw_fault *why)
{
	for (;;) {
		ssize_t n = recv(l->fd, p, len, MSG_DONTWAIT);
		int err;

		if (n > 0)
			return n;
		if (n == 0 || errno == ECONNRESET)
			return closed(why);
		if (errno != EAGAIN && errno != EINTR)
			return iw_os_fail(why, errno, "read from ssh");
		err = await(l, POLLIN, until, why);
		if (err)
			return err;
	}
}

int iw_ssh_link_line(struct iw_ssh_link *l, char *line, size_t cap, const char *prefix,
		     uint64_t until, struct iw_fault *why)
{
	size_t len = 0;

	line[0] = '\0';
	while (len + 1 < cap) {
		/* One octet at a time: the next ones may belong to a message. */
		ssize_t n = read_some(l, line + len, 1, until, why);

		if (n < 0)
			return (int)n;
		if (line[len] == '\n') {
			line[len] = '\0';
			return 0;
		}
		line[++len] = '\0';
		if (strncmp(line, prefix, IW_MIN(len, strlen(prefix))) == 0)
			continue;
		n = recv(l->fd, line + len, cap - 1 - len, MSG_DONTWAIT);
		len += n > 0 ? (size_t)n : 0;
		line[len] = '\0';
		return 0;
	}
	return 0;
}

/* Returns the length of the message whose frame has begun in buf. */
static size_t length_of(const struct iw_ssh_link *l)
{
	size_t len = 0;

	for (unsigned i = 0; i < LENGTH; i++)
		len = len << 8 | l->buf[i];
	return len;
}

int iw_ssh_link_recv(struct iw_ssh_link *l, struct iw_ssh_msg *m, uint64_t until,
		     struct iw_fault *why)
{
	size_t want = LENGTH;

	for (;;) {
		ssize_t n;

		if (l->have >= LENGTH) {
			want = LENGTH + length_of(l);
			if (want == LENGTH || want > sizeof(l->buf))
				return iw_fail(why, IW_E_FORMAT,
					       "a message of %U octets; expected 1 to %u",
					       (uint64_t)(want - LENGTH), (uint32_t)IW_SSH_MSG_MAX);
		}
		if (l->have == want)
			break;
		n = read_some(l, l->buf + l->have, want - l->have, until, why);
		if (n < 0)
			return (int)n;
		l->have += (size_t)n;
	}
	l->have = 0;
	return iw_ssh_msg_decode(m, l->buf + LENGTH, want - LENGTH, why);
}
