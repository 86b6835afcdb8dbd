// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Writes to standard output without blocking. */
#include "transfer/files/out.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/num.h"

/*
 * After poll(2) reports a pipe as writable, a write of at most PIPE_BUF octets does not block
 * (POSIX).
 */
#define SMALL 4096

static struct {
	int fd;
	enum {
		PLAIN, /* a file, which never blocks */
		/* a pipe, opened a second time, so that only this descriptor is non-blocking */
		FRESH,
		SOCKET,
		POLLED, /* written to only after poll(2), SMALL octets at a time */
	} way;
} out = { .fd = STDOUT_FILENO };

void iw_out_open(void)
{
	struct stat st;
	int fd;

	out.fd = STDOUT_FILENO;
	out.way = POLLED;
	if (fstat(STDOUT_FILENO, &st) < 0)
		return; /* the write will report the error */
	if (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode)) {
		out.way = PLAIN;
	} else if (S_ISSOCK(st.st_mode)) {
		out.way = SOCKET;
	} else if (S_ISFIFO(st.st_mode)) {
		fd = open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0) {
			out.fd = fd;
			out.way = FRESH;
		}
	}
}

int iw_out_fd(void)
{
	return out.way == PLAIN ? -1 : out.fd;
}

static ssize_t write_some(const void *p, size_t len)
{
	struct pollfd pfd = { .fd = out.fd, .events = POLLOUT };

	switch (out.way) {
	case PLAIN:
	case FRESH:
		return write(out.fd, p, len);
	case SOCKET:
		return send(out.fd, p, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	case POLLED:
		if (poll(&pfd, 1, 0) == 0) {
			errno = EAGAIN;
			return -1;
		}
		return write(out.fd, p, IW_MIN(len, (size_t)SMALL));
	}
	return -1;
}

int iw_out_write(const void *p, size_t len, size_t *wrote, struct iw_file_fault *why)
{
	ssize_t n;

	do
		n = write_some(p, len);
	while (n < 0 && errno == EINTR);
	*wrote = n > 0 ? (size_t)n : 0;
	if (n > 0 || len == 0)
		return 0;
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return 1;
	return iw_file_errno(why, n < 0 ? errno : EIO, "write to standard output");
}

int iw_out_zeros(uint64_t len, uint64_t *pos, struct iw_file_fault *why)
{
	static const char zeros[65536];
	size_t wrote = 0;
	int r = iw_out_write(zeros, (size_t)IW_MIN(len, (uint64_t)sizeof(zeros)), &wrote, why);

	*pos += wrote;
	return r;
}
