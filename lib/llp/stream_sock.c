// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The octets of stream transports on sockets, and the adoption of sockets. */
#include "llp/stream_sock.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "os/os.h"
#include "util/text.h"

/* The kernel gets the batches of the engine without a conversion. */
_Static_assert(sizeof(struct iw_vec) == sizeof(struct iovec),
	       "struct iw_vec is laid out as struct iovec");
_Static_assert(offsetof(struct iw_vec, base) == offsetof(struct iovec, iov_base),
	       "as struct iovec");
_Static_assert(offsetof(struct iw_vec, len) == offsetof(struct iovec, iov_len), "as struct iovec");

int iw_stream_sock_not_again(int err, struct iw_fault *why)
{
	if (err != IW_E_AGAIN)
		return err;
	if (why)
		why->err = IW_E_OS;
	return IW_E_OS;
}

/* Returns the error for a recv, send or shutdown that failed with errnum, which is not EAGAIN. */
static int broken(const struct iw_stream *l, const char *step, int errnum, struct iw_fault *why)
{
	int err = iw_os_fail(why, errnum, "%s %s", step, l->peer);

	/* The peer caused it, not the system. */
	if (errnum == ECONNRESET || errnum == EPIPE) {
		err = IW_E_CLOSED;
		if (why) {
			why->err = err;
			why->clause = iw_err_clause(err);
		}
	}
	return iw_stream_sock_not_again(err, why);
}

static struct msghdr header_of(const struct iw_vec *vec, size_t nvec)
{
	return (struct msghdr){ .msg_iov = (struct iovec *)(uintptr_t)vec, .msg_iovlen = nvec };
}

static ssize_t receive(struct iw_stream *l, const struct iw_vec *vec, size_t nvec, int flags)
{
	struct msghdr h = header_of(vec, nvec);
	ssize_t got;

	l->recvs++;
	got = nvec == 1 ? recv(l->fd, vec->base, vec->len, flags) : recvmsg(l->fd, &h, flags);
	if (got == 0)
		l->at_end = true;
	return got;
}

int64_t iw_stream_sock_recv(struct iw_stream *l, const struct iw_vec *vec, size_t nvec,
			    struct iw_fault *why)
{
	ssize_t got;

	do
		got = receive(l, vec, nvec, MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got >= 0)
		return got;
	return errno == EAGAIN ? IW_E_AGAIN : broken(l, "receive from", errno, why);
}

int64_t iw_stream_sock_recv_wait(struct iw_stream *l, const struct iw_vec *vec, size_t nvec,
				 int flags, struct iw_fault *why)
{
	ssize_t got = receive(l, vec, nvec, flags);

	if (got >= 0)
		return got;
	if (errno == EINTR)
		return IW_E_CANCELED;
	return errno == EAGAIN ? IW_E_AGAIN : broken(l, "receive from", errno, why);
}

int64_t iw_stream_sock_send(struct iw_stream *l, const struct iw_vec *vec, size_t nvec, int flags,
			    struct iw_fault *why)
{
	struct msghdr h = header_of(vec, nvec);
	ssize_t put;

	flags |= MSG_DONTWAIT | MSG_NOSIGNAL;
	do {
		l->sends++;
		put = nvec == 1 ? send(l->fd, vec->base, vec->len, flags)
				: sendmsg(l->fd, &h, flags);
	} while (put < 0 && errno == EINTR);
	if (put >= 0)
		return put;
	return errno == EAGAIN ? IW_E_AGAIN : broken(l, "send to", errno, why);
}

int iw_stream_sock_shutdown(struct iw_stream *l, struct iw_fault *why)
{
	return shutdown(l->fd, SHUT_WR) < 0 ? broken(l, "shut down sending to", errno, why) : 0;
}

void iw_stream_ends(const struct iw_stream *s, struct iw_llp_ends *out)
{
	*out = (struct iw_llp_ends){
		.transport = s->ops->name,
		.local_port = s->local_port,
		.emss = s->emss,
		.sends = s->sends,
		.recvs = s->recvs,
	};
	memcpy(out->local, s->local, sizeof(out->local));
	memcpy(out->peer, s->peer, sizeof(out->peer));
}

int iw_stream_adopt(struct iw_stream **out, int fd, struct iw_fault *why)
{
	socklen_t len = sizeof(int);
	int domain = 0;

	*out = NULL;
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_UNIX)
		return iw_stream_sock_adopt_unix(out, fd, why);
	return iw_stream_sock_adopt_tcp(out, fd, why);
}
