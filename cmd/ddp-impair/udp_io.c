// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Datagrams in and out, several in one system call. */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "ddp-impair/udp.h"
#include "os/gso.h"
#include "os/os.h"
#include "util/num.h"

#define SEND_MAX 65000 /* octets of one send */
#define WAIT_MS  10    /* for a full socket */

union control {
	struct cmsghdr align;
	uint8_t octets[CMSG_SPACE(sizeof(int))];
};

/* --- in --------------------------------------------------------------------------------------- */

/* An error about a datagram that was sent earlier, not of this call. */
static bool passing(int errnum)
{
	switch (errnum) {
	case ECONNREFUSED:
	case EHOSTUNREACH:
	case EHOSTDOWN:
	case ENETUNREACH:
	case ENETDOWN:
	case ENONET:
	case EACCES: /* ICMPv6: a firewall prohibits it */
	case EOPNOTSUPP:
	case EMSGSIZE:
	case EPROTO:
	case ENOPROTOOPT:
	case EINTR:
		return true;
	default:
		return false;
	}
}

int iw_udp_receive(struct iw_udp *u, int fd, struct iw_udp_run run[static IW_UDP_BATCH],
		   struct iw_fault *why)
{
	struct mmsghdr m[IW_UDP_BATCH];
	struct iovec iov[IW_UDP_BATCH];
	union control control[IW_UDP_BATCH] = { 0 };
	int n, tries = 8;

	for (size_t i = 0; i < IW_UDP_BATCH; i++) {
		iov[i] = (struct iovec){ u->buf + i * IW_UDP_RUN, IW_UDP_RUN };
		m[i].msg_hdr = (struct msghdr){ .msg_name = &run[i].peer.in6,
						.msg_namelen = sizeof(run[i].peer.in6),
						.msg_iov = &iov[i],
						.msg_iovlen = 1,
						.msg_control = control[i].octets,
						.msg_controllen = sizeof(control[i]) };
	}
	do
		n = recvmmsg(fd, m, IW_UDP_BATCH, MSG_DONTWAIT, NULL);
	while (n < 0 && passing(errno) && tries-- > 0);
	if (n < 0)
		return errno == EAGAIN || passing(errno)
			       ? 0
			       : iw_os_fail(why, errno, "receive datagrams");
	for (int i = 0; i < n; i++) {
		run[i].peer.len = m[i].msg_hdr.msg_namelen;
		run[i].octets = iov[i].iov_base;
		run[i].len = m[i].msg_len;
		run[i].seg = iw_gro_size(&m[i].msg_hdr, m[i].msg_len);
	}
	return n;
}

/* --- out -------------------------------------------------------------------------------------- */

/* Sends one message; waits a little for a full socket. Returns 0 or an errno. */
static int send_message(int fd, const struct msghdr *m)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int tries = 3;

	while (sendmsg(fd, m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
		if ((errno != EAGAIN && !passing(errno)) || tries-- == 0)
			return errno;
		if (errno == EAGAIN)
			(void)poll(&p, 1, WAIT_MS);
	}
	return 0;
}

/* Sends n datagrams one by one. */
static void send_singly(struct iw_udp *u, int fd, const struct msghdr *head, struct iovec *iov,
			size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct msghdr m = *head;

		m.msg_iov = &iov[i];
		m.msg_iovlen = 1;
		u->refused += send_message(fd, &m) != 0;
	}
}

/* Sends n datagrams of seg octets, of which the last may be shorter, in one call. False: the path
 * does not support this. */
static bool send_joined(struct iw_udp *u, int fd, const struct msghdr *head, struct iovec *iov,
			size_t n, size_t seg)
{
	struct msghdr m = *head;
	union control control;
	int err;

	m.msg_iov = iov;
	m.msg_iovlen = n;
	m.msg_control = control.octets;
	iw_gso_add(&m, seg);
	err = send_message(fd, &m);
	if (err == EIO || err == EINVAL || err == EMSGSIZE)
		return false;
	u->refused += err ? n : 0;
	return true;
}

static struct msghdr head_of(const struct iw_udp_client *c, unsigned from, int *fd, int listening)
{
	if (from == IW_UNIT_INITIATOR) {
		*fd = c->fd;
		return (struct msghdr){ 0 };
	}
	*fd = listening;
	return (struct msghdr){ .msg_name = (void *)(uintptr_t)&c->addr.in6,
				.msg_namelen = c->addr.len };
}

/* Sends n datagrams of seg octets of one client, of which the last may be shorter. */
static void send_equal(struct iw_udp *u, const struct iw_udp_client *c, unsigned from,
		       struct iovec *iov, size_t n, size_t seg)
{
	int fd;
	struct msghdr head = head_of(c, from, &fd, u->fd);

	if (n > 1 && !u->no_gso) {
		if (send_joined(u, fd, &head, iov, n, seg))
			return;
		u->no_gso = true;
	}
	send_singly(u, fd, &head, iov, n);
}

void iw_udp_send_run(struct iw_udp *u, const struct iw_udp_client *c, unsigned from,
		     const struct iw_udp_run *run)
{
	struct iovec iov[IW_UDP_SEGS];
	size_t at = 0, n;

	do {
		size_t octets = 0;

		for (n = 0; n < IW_UDP_SEGS && (at < run->len || (n == 0 && run->len == 0)); n++) {
			size_t len = IW_MIN(run->seg, run->len - at);

			if (octets + len > SEND_MAX && n > 0)
				break;
			iov[n] = (struct iovec){ run->octets + at, len };
			at += len;
			octets += len;
		}
		send_equal(u, c, from, iov, n, run->seg);
	} while (at < run->len);
}

/* Returns how many of the first datagrams one call can send: all but the last of one size. */
static size_t joinable(const uint32_t *client, const struct iovec *iov, size_t n)
{
	size_t k = 1, octets = iov[0].iov_len;

	while (k < n && client[k] == client[0] && iov[k - 1].iov_len == iov[0].iov_len &&
	       iov[k].iov_len <= iov[0].iov_len && iov[k].iov_len > 0 &&
	       octets + iov[k].iov_len <= SEND_MAX)
		octets += iov[k++].iov_len;
	return k;
}

void iw_udp_send_many(struct iw_udp *u, unsigned from, const uint32_t *client,
		      const struct iovec *iov, size_t n)
{
	struct iovec run[IW_UDP_SEGS];
	size_t k;

	for (size_t i = 0; i < n; i += k) {
		const struct iw_udp_client *c = iw_udp_client_get(u, client[i]);

		k = joinable(client + i, iov + i, n - i);
		memcpy(run, iov + i, k * sizeof(*run));
		if (c)
			send_equal(u, c, from, run, k, run[0].iov_len);
		else
			u->refused += k;
	}
}
