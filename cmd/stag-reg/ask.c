// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The client of the control socket: a request and its answer; every wait has a limit. */
#include "stag-reg/control.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/os.h"
#include "util/num.h"
#include "util/text.h"

static bool is_socket(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

static int connect_failed(struct iw_fault *why, int errnum, const char *path, int port)
{
	int err;

	if (errnum == EAGAIN)
		return iw_fail(why, IW_E_TIMEOUT,
			       "control socket %s: the server has too many clients; try again",
			       path);
	if (errnum == EPROTOTYPE || (errnum == ECONNREFUSED && !is_socket(path)))
		return iw_fail(why, IW_E_STATE,
			       "%s: not a %s; give the socket of ddp-recv with --control", path,
			       errnum == EPROTOTYPE ? "control socket" : "socket");
	if ((errnum == ENOENT || errnum == ECONNREFUSED) && port >= 0 &&
	    strncmp(path, "/run/iwarp/", 11) != 0)
		return iw_fail(
			why, IW_E_STATE,
			"no ddp-recv answers at %s: start one, name its port with -p, or as root use --control for another user's, as /run/iwarp/recv-%u.sock",
			path, (uint32_t)port);
	if ((errnum == ENOENT || errnum == ECONNREFUSED) && port >= 0)
		return iw_fail(
			why, IW_E_STATE,
			"no ddp-recv with port %u answers at %s: start one, or name the port of the listener with -p (with --control none, it has no socket)",
			(uint32_t)port, path);
	if (errnum == ENOENT || errnum == ECONNREFUSED)
		return iw_fail(
			why, IW_E_STATE,
			"no ddp-recv answers at %s: start one, or give its socket with --control (with --control none, it has no socket)",
			path);
	err = iw_os_fail(why, errnum, "control socket %s", path);
	if (why && errnum == EACCES) {
		size_t len = strlen(why->text);

		snprintf(why->text + len, sizeof(why->text) - len,
			 "; only its owner and root may use it");
	}
	return err;
}

int iw_manager_connect(int *out, const char *path, int port, struct iw_fault *why)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	const struct timeval patience = { .tv_sec = 10 };
	int err, fd;

	if (strlen(path) >= sizeof(sa.sun_path))
		return iw_fail(why, IW_E_LIMIT,
			       "control socket: its path has %U octets: expected at most %U",
			       (uint64_t)strlen(path), (uint64_t)sizeof(sa.sun_path) - 1);
	memcpy(sa.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return iw_os_fail(why, errno, "control socket");
	/*
	 * connect is the only call that blocks: it waits while the manager has its maximum of
	 * clients.
	 */
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, (const struct sockaddr *)&sa, sizeof(sa)) == 0) {
		*out = fd;
		return 0;
	}
	err = errno;
	close(fd);
	return connect_failed(why, err, path, port);
}

/* Waits until the socket is ready. IW_E_TIMEOUT, IW_E_OS. */
static int wait_for(int fd, short events, uint64_t until, struct iw_fault *why)
{
	struct pollfd pfd = { .fd = fd, .events = events };

	for (;;) {
		uint64_t now = iw_os_now();
		uint64_t ms = now < until ? (until - now) / IW_MSEC(1) + 1 : 0;
		int n = poll(&pfd, 1, (int)IW_MIN(ms, (uint64_t)60000));

		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return iw_os_fail(why, errno, "control socket: wait");
		if (n == 0 && now >= until)
			return iw_fail(
				why, IW_E_TIMEOUT,
				"ddp-recv did not answer within --timeout: it is stopped or busy; look at that process");
	}
}

int iw_manager_ask(int fd, const struct iw_manager_request *r, int file, uint64_t timeout_ns,
		   struct iw_fault *why)
{
	uint64_t until = iw_time_add(iw_os_now(), timeout_ns);
	uint8_t msg[IW_MANAGER_MSG_MAX];
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int))];
	} aux;
	struct iovec iov = { msg, iw_manager_request_encode(msg, r) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (file >= 0) {
		memset(&aux, 0, sizeof(aux));
		m.msg_control = &aux;
		m.msg_controllen = sizeof(aux.room);
		aux.h = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
					  .cmsg_level = SOL_SOCKET,
					  .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&aux.h), &file, sizeof(file));
	}
	while (sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
		int err;

		if (errno == EPIPE || errno == ECONNRESET)
			return iw_xfer_fault(why, IW_E_CLOSED,
					     "the server has closed the control socket");
		if (errno != EAGAIN && errno != EINTR)
			return iw_os_fail(why, errno, "control socket: send");
		err = wait_for(fd, POLLOUT, until, why);
		if (err)
			return err;
	}
	return 0;
}

int iw_manager_answer(int fd, struct iw_manager_reply *r, uint64_t timeout_ns, struct iw_fault *why)
{
	uint64_t until = iw_time_add(iw_os_now(), timeout_ns);
	uint8_t msg[IW_MANAGER_MSG_MAX + 1];
	ssize_t n;
	int err;

	while ((n = recv(fd, msg, sizeof(msg), MSG_DONTWAIT)) < 0) {
		if (errno == ECONNRESET)
			break;
		if (errno != EAGAIN && errno != EINTR)
			return iw_os_fail(why, errno, "control socket: receive");
		err = wait_for(fd, POLLIN, until, why);
		if (err)
			return err;
	}
	if (n <= 0)
		return iw_xfer_fault(why, IW_E_CLOSED, "the server has closed the control socket");
	err = iw_manager_reply_decode(r, msg, (size_t)n, why);
	if (err)
		return err;
	return r->kind == IW_MANAGER_ERROR ? iw_xfer_fault(why, r->err, "%s", r->text) : 0;
}
