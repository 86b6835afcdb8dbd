// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Connected Unix stream sockets, which the program passes to the library: for example a pipe to a
 * program on another host. There are no segments, no options and no congestion control.
 */
#include "llp/stream_sock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/os.h"
#include "util/num.h"
#include "util/text.h"
#include "wire/mpa.h"

/*
 * There are no segments in which FPDUs must fit. With this size the MULPDU is the largest one
 * (RFC 5044 3), as over loopback.
 */
#define EMSS (IW_MPA_ULPDU_MAX + 8)

#define DRAIN_STEP  16384 /* octets dropped per call when closing */
#define DRAIN_STEPS 64

struct unix_stream {
	struct iw_stream s;
	bool lent;             /* the program owns the connection: closing does not end it */
	bool fin;              /* the sending direction is closed */
	uint64_t taken, acked; /* octets that the socket, the peer has taken */
};

static struct unix_stream *unix_of(struct iw_stream *l)
{
	return iw_container_of(l, struct unix_stream, s);
}

/* Not less than what the peer has not read: the kernel adds its own bookkeeping. */
static uint64_t unix_unacked(struct iw_stream *l)
{
	int n = 0;

	return ioctl(l->fd, SIOCOUTQ, &n) == 0 && n > 0 ? (uint64_t)n : 0;
}

static int64_t unix_send(struct iw_stream *l, const struct iw_vec *vec, size_t nvec, bool eor,
			 struct iw_fault *why)
{
	int64_t put = iw_stream_sock_send(l, vec, nvec, 0, why);

	(void)eor; /* there are no segments */
	if (put > 0)
		unix_of(l)->taken += (uint64_t)put;
	return put;
}

/*
 * There is no reset: a peer that has aborted or died just has its socket closed. One that ends the
 * connection gracefully closes it after the FIN of this end, so the end of both directions before
 * that is a lost connection.
 */
static int64_t unix_recv(struct iw_stream *l, const struct iw_vec *vec, size_t nvec,
			 struct iw_fault *why)
{
	struct pollfd p = { .fd = l->fd };
	int64_t got = iw_stream_sock_recv(l, vec, nvec, why);

	if (got != 0 || unix_of(l)->fin || poll(&p, 1, 0) <= 0 || !(p.revents & POLLHUP))
		return got;
	return iw_fail(why, IW_E_CLOSED, "receive from %s: the peer has closed its socket",
		       l->peer);
}

static int unix_shutdown(struct iw_stream *l, struct iw_fault *why)
{
	int err = iw_stream_sock_shutdown(l, why);

	if (!err)
		unix_of(l)->fin = true;
	return err;
}

static void unix_refresh(struct iw_stream *l)
{
	(void)l; /* emss is constant */
}

static int unix_set_cc(struct iw_stream *l, const char *name, struct iw_fault *why)
{
	(void)l;
	return iw_fail(why, IW_E_NOTSUP,
		       "congestion control \"%s\": a Unix socket has no congestion control", name);
}

static void unix_facts(struct iw_stream *l, struct iw_llp_facts *out)
{
	struct unix_stream *u = unix_of(l);
	uint64_t unacked = unix_unacked(l);

	u->acked = IW_MAX(u->acked, u->taken - IW_MIN(u->taken, unacked));
	*out = (struct iw_llp_facts){ .acked = u->acked };
}

static int unix_not_connecting(struct iw_stream *l, struct iw_fault *why)
{
	(void)l;
	return iw_fail(why, IW_E_STATE, "a Unix socket is connected when it is adopted");
}

static int unix_no_answer(struct iw_stream *l, uint64_t waited, struct iw_fault *why)
{
	(void)waited;
	return unix_not_connecting(l, why);
}

/* Unread octets become ECONNRESET at the peer, as over TCP. */
static void drain(int fd)
{
	char dropped[DRAIN_STEP];

	for (int i = 0; i < DRAIN_STEPS; i++)
		if (recv(fd, dropped, sizeof(dropped), MSG_DONTWAIT) <= 0)
			return;
}

static void unix_close(struct iw_stream *l, bool abort)
{
	struct unix_stream *u = unix_of(l);

	if (l->fd >= 0 && !u->lent && !abort)
		drain(l->fd);
	if (l->fd >= 0)
		close(l->fd);
	free(u);
}

static void unix_keep(struct iw_stream *l)
{
	unix_of(l)->lent = false;
}

static const struct iw_stream_ops ops = {
	.name = "unix",
	.recv = unix_recv,
	.send = unix_send,
	.unacked = unix_unacked,
	.keep = unix_keep,
	.shutdown = unix_shutdown,
	.refresh = unix_refresh,
	.connected = unix_not_connecting,
	.try_next = unix_not_connecting,
	.no_answer = unix_no_answer,
	.set_cc = unix_set_cc,
	.facts = unix_facts,
	.close = unix_close,
};

static bool is_connected_stream(int fd)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(int);
	int type = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) != 0 || type != SOCK_STREAM)
		return false;
	len = sizeof(peer);
	return getpeername(fd, (struct sockaddr *)&peer, &len) == 0;
}

int iw_stream_sock_adopt_unix(struct iw_stream **out, int fd, struct iw_fault *why)
{
	struct unix_stream *u;

	if (!is_connected_stream(fd))
		return iw_fail(why, IW_E_INVAL,
			       "adopt: descriptor %u: not a connected TCP or Unix stream socket",
			       (uint32_t)fd);
	u = calloc(1, sizeof(*u));
	if (!u)
		return iw_fail(why, IW_E_NOMEM, "unix: no memory for a connection");
	u->s.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (u->s.fd < 0) {
		int err = iw_os_fail(why, errno, "duplicate a socket");

		free(u);
		return err;
	}
	u->s.ops = &ops;
	u->s.emss = EMSS;
	u->lent = true;
	snprintf(u->s.local, sizeof(u->s.local), "unix");
	snprintf(u->s.peer, sizeof(u->s.peer), "unix");
	*out = &u->s;
	return 0;
}
