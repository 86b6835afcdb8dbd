// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * SCTP packets in UDP (RFC 6951). Where the host has IPv6, one IPv6 socket serves both families. A
 * run of packets of one size is sent by one system call: sendmsg() with the kernel's segmentation
 * offload (GSO), else sendmmsg().
 */
#include "pkt/pkt.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/gso.h"
#include "os/os.h"
#include "os/sock.h"
#include "pkt/internal.h"
#include "util/num.h"
#include "util/text.h"

#define GRO_LEN   65536 /* octets of one received run */
/* Runs of one receive with GRO. More would leave the second-level cache before the engine reads
 * them. */
#define GRO_BATCH 3
#define WAIT_US   10000 /* how long recv_wait() waits */

struct udp {
	struct iw_pkt pkt;
	int family;
	bool gso, gro;
	bool runs;    /* the last waiting receive returned several packets of one size */
	bool df;      /* the socket sets DF */
	uint8_t *buf; /* IW_PKT_BATCH runs of GRO_LEN octets */
};

static struct udp *udp_of(struct iw_pkt *c)
{
	return iw_container_of(c, struct udp, pkt);
}

/* --- addresses: IPv4 addresses are mapped into an IPv6 socket (RFC 4291 2.5.5.2) -------------- */

static void map_to_v6(struct iw_addr *a)
{
	struct in_addr v4 = a->in.sin_addr;
	uint16_t port = a->in.sin_port;

	memset(&a->in6, 0, sizeof(a->in6));
	a->in6.sin6_family = AF_INET6;
	a->in6.sin6_port = port;
	a->in6.sin6_addr.s6_addr[10] = a->in6.sin6_addr.s6_addr[11] = 0xff;
	memcpy(a->in6.sin6_addr.s6_addr + 12, &v4, sizeof(v4));
	a->len = sizeof(a->in6);
}

static void fit_family(struct iw_addr *a, int family)
{
	if (a->len > 0 && a->sa.sa_family == AF_INET && family == AF_INET6)
		map_to_v6(a);
}

static void back_to_v4(struct iw_addr *a)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = a->in6.sin6_port };

	if (a->len == 0 || a->sa.sa_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&a->in6.sin6_addr))
		return;
	memcpy(&in.sin_addr, a->in6.sin6_addr.s6_addr + 12, 4);
	a->in = in;
	a->len = sizeof(a->in);
}

/* --- open ------------------------------------------------------------------------------------- */

static int bind_failed(struct iw_fault *why, int errnum, const struct iw_addr *a)
{
	char text[IW_ADDR_TEXT];
	int err = iw_os_fail(why, errnum, "udp: bind to %s",
			     iw_addr_port(a) ? iw_addr_format(text, a) : iw_addr_host(text, a));
	const char *remedy = "";

	if (errnum == EACCES && iw_addr_port(a) < 1024)
		remedy =
			"; UDP ports below 1024 need CAP_NET_BIND_SERVICE: choose another with --udp-port";
	else if (errnum == EADDRINUSE)
		remedy =
			"; another listener has it: stop it, or give another UDP port with --udp-port, at both ends";
	else if (errnum == EADDRNOTAVAIL)
		remedy = iw_sock_listen_hint(errnum, iw_addr_port(a));
	iw_sock_add_hint(why, remedy);
	return err;
}

static int bind_to(struct udp *u, const struct iw_pkt_cfg *cfg, int fd, struct iw_fault *why)
{
	struct iw_addr a = cfg->bind;
	const int no = 0;

	if (a.len == 0) {
		memset(&a, 0, sizeof(a));
		a.sa.sa_family = (sa_family_t)u->family;
		a.len = u->family == AF_INET6 ? sizeof(a.in6) : sizeof(a.in);
	}
	if (u->family == AF_INET6 && a.sa.sa_family == AF_INET && iw_addr_is_any(&a)) {
		memset(&a.in6, 0, sizeof(a.in6));
		a.in6.sin6_family = AF_INET6;
		a.len = sizeof(a.in6);
	}
	if (u->family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no)) < 0)
		return iw_os_fail(why, errno, "udp: clear IPV6_V6ONLY");
	fit_family(&a, u->family);
	iw_addr_set_port(&a, cfg->udp_port);
	if (bind(fd, &a.sa, a.len) == 0)
		return 0;
	return bind_failed(why, errno, &a);
}

static int open_socket(struct udp *u, const struct iw_pkt_cfg *cfg, struct iw_fault *why)
{
	static const struct timeval limit = { .tv_usec = WAIT_US };
	struct iw_addr local;
	int err;

	u->family = AF_INET6;
	/* The socket is blocking, for udp_recv_wait(); all other calls set MSG_DONTWAIT. */
	u->pkt.fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (u->pkt.fd < 0 && errno == EAFNOSUPPORT) {
		u->family = AF_INET;
		u->pkt.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	}
	if (u->pkt.fd < 0)
		return iw_os_fail(why, errno, "udp: open a socket");
	if (setsockopt(u->pkt.fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0)
		return iw_os_fail(why, errno, "udp: set SO_RCVTIMEO");
	err = iw_pkt_prepare(u->pkt.fd, u->family, cfg, why);
	if (!err)
		err = bind_to(u, cfg, u->pkt.fd, why);
	if (err)
		return err;
	/* Without them, the system calls transfer each packet as a message of its own. */
	u->gso = iw_gso_is_supported(u->pkt.fd);
	u->gro = iw_gro_enable(u->pkt.fd);
	if (iw_sock_local(u->pkt.fd, &local) == 0)
		u->pkt.udp_port = iw_addr_port(&local);
	return 0;
}

static int udp_open(struct iw_pkt **out, const struct iw_pkt_cfg *cfg, struct iw_fault *why)
{
	struct udp *u;
	int err;

	if (cfg->tls)
		return iw_pkt_dtls_open(out, cfg, why);
	u = calloc(1, sizeof(*u));
	if (!u)
		return iw_fail(why, IW_E_NOMEM, "udp: no memory");
	u->pkt.ops = &iw_pkt_udp_ops;
	u->pkt.fd = -1;
	u->pkt.seg_max = IW_PKT_SEGS_MAX;
	u->df = true;
	u->buf = malloc((size_t)IW_PKT_BATCH * GRO_LEN);
	err = u->buf ? open_socket(u, cfg, why) : iw_fail(why, IW_E_NOMEM, "udp: no memory");
	if (err) {
		u->pkt.ops->close(&u->pkt);
		return err;
	}
	u->pkt.mtu = iw_pkt_mtu(cfg);
	u->pkt.rcvbuf = iw_pkt_rcvbuf(u->pkt.fd);
	*out = &u->pkt;
	return 0;
}

static int udp_available(struct iw_fault *why)
{
	(void)why;
	return 0;
}

static void udp_close(struct iw_pkt *c)
{
	struct udp *u = udp_of(c);

	if (c->fd >= 0)
		close(c->fd);
	free(u->buf);
	free(u);
}

/* --- in --------------------------------------------------------------------------------------- */

union control {
	struct cmsghdr align;
	uint8_t octets[IW_PKT_CONTROL];
};

/* True if errnum is a network error about a packet that was sent earlier, not a failure of this
 * receive. The error is in the error queue, too. */
static bool passing(int errnum)
{
	return errnum != EAGAIN && errnum != EBADF && errnum != ENOTSOCK && errnum != EFAULT &&
	       errnum != EINVAL;
}

struct slot {
	union control control;
	struct iovec iov;
};

/* Returns a message header with the buffers for rx[i]. */
static struct msghdr prepare(struct udp *u, struct slot *s, struct iw_pkt_rx *rx, int i)
{
	s->iov = (struct iovec){ u->buf + (size_t)i * GRO_LEN, GRO_LEN };
	return (struct msghdr){
		.msg_name = &rx[i].peer.in6,
		.msg_namelen = sizeof(rx[i].peer.in6),
		.msg_iov = &s->iov,
		.msg_iovlen = 1,
		.msg_control = s->control.octets,
		.msg_controllen = sizeof(s->control.octets),
	};
}

static void take(struct iw_pkt_rx *rx, struct msghdr *m, size_t len)
{
	rx->peer.len = m->msg_namelen;
	back_to_v4(&rx->peer);
	iw_pkt_local(&rx->local, m);
	back_to_v4(&rx->local);
	rx->data = m->msg_iov->iov_base;
	rx->len = len;
	rx->seg = iw_gro_size(m, len);
	/* "xdp" also receives with this carrier, into elements that described frames before. */
	rx->lendable = false;
}

/* Receives up to `room` runs and returns their number; -1: failed, by errno. */
static int receive(struct udp *u, struct iw_pkt_rx *rx, int room, int flags)
{
	struct slot slots[IW_PKT_BATCH];
	struct mmsghdr m[IW_PKT_BATCH];
	int n;

	for (int i = 0; i < room; i++)
		m[i].msg_hdr = prepare(u, &slots[i], rx, i);
	n = recvmmsg(u->pkt.fd, m, (unsigned)room, flags, NULL);
	u->pkt.recvs++;
	for (int i = 0; i < n; i++)
		take(&rx[i], &m[i].msg_hdr, m[i].msg_len);
	return n;
}

static int udp_recv(struct iw_pkt *c, struct iw_pkt_rx rx[static IW_PKT_BATCH],
		    struct iw_fault *why)
{
	struct udp *u = udp_of(c);
	int n, tries = 8;

	do
		n = receive(u, rx, u->gro ? GRO_BATCH : IW_PKT_BATCH, MSG_DONTWAIT);
	while (n < 0 && (errno == EINTR || (passing(errno) && tries-- > 0)));
	if (n >= 0)
		return n;
	return errno == EAGAIN || passing(errno) ? 0 : iw_os_fail(why, errno, "udp: receive");
}

static int udp_recv_wait(struct iw_pkt *c, struct iw_pkt_rx rx[static IW_PKT_BATCH],
			 struct iw_fault *why)
{
	struct udp *u = udp_of(c);
	int n, room = u->gro ? GRO_BATCH : IW_PKT_BATCH;

	/* If the last receive returned a single packet, take one only: looking for a second would
	 * delay it. After a run, more are likely to be pending. */
	if (u->gro && !u->runs)
		room = 1;
	n = receive(u, rx, room, MSG_WAITFORONE);
	if (n > 0) {
		u->runs = rx[0].len > rx[0].seg;
		return n;
	}
	if (errno == EINTR)
		return IW_E_CANCELED;
	if (errno == EAGAIN)
		return IW_E_AGAIN;
	return passing(errno) ? 0 : iw_os_fail(why, errno, "udp: receive");
}

static bool udp_next_error(struct iw_pkt *c, struct iw_pkt_error *out)
{
	if (!iw_pkt_take_error(c->fd, true, out))
		return false;
	back_to_v4(&out->peer);
	return true;
}

/* --- out -------------------------------------------------------------------------------------- */

/* Sends a run with GSO. Returns 0 or an errno. */
static int send_offloaded(struct udp *u, struct msghdr *m, size_t seg)
{
	ssize_t n;

	if (m->msg_iov->iov_len > seg)
		iw_gso_add(m, seg);
	if (m->msg_controllen == 0)
		m->msg_control = NULL;
	u->pkt.sends++;
	n = sendmsg(u->pkt.fd, m, MSG_DONTWAIT | MSG_NOSIGNAL);
	return n < 0 ? errno : 0;
}

/* Sends a run with a message for each packet. Returns 0 or an errno; pkt.begun is then the number
 * of packets already sent. */
static int send_singly(struct udp *u, const struct msghdr *m, size_t seg)
{
	struct mmsghdr many[IW_PKT_SEGS_MAX];
	struct iovec iov[IW_PKT_SEGS_MAX];
	uint8_t *at = m->msg_iov->iov_base;
	size_t left = m->msg_iov->iov_len;
	unsigned n = 0, sent = u->pkt.begun;

	for (; left > 0 && n < IW_PKT_SEGS_MAX; n++) {
		size_t len = IW_MIN(seg, left);

		iov[n] = (struct iovec){ at, len };
		many[n].msg_hdr = *m;
		many[n].msg_hdr.msg_iov = &iov[n];
		if (m->msg_controllen == 0)
			many[n].msg_hdr.msg_control = NULL;
		at += len;
		left -= len;
	}
	while (sent < n) {
		int got = sendmmsg(u->pkt.fd, many + sent, n - sent, MSG_DONTWAIT | MSG_NOSIGNAL);

		u->pkt.sends++;
		if (got <= 0) {
			u->pkt.begun = sent;
			return errno;
		}
		sent += (unsigned)got;
		u->pkt.refused = 0;
	}
	return 0;
}

static int send_run(struct udp *u, const struct iw_pkt_tx *tx)
{
	struct iw_addr peer = tx->peer, local = tx->local;
	union control control;
	struct iovec iov = { (void *)(uintptr_t)tx->data, tx->len };
	struct msghdr m = {
		.msg_name = &peer.sa,
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.octets,
	};
	size_t base;
	int err;

	fit_family(&peer, u->family);
	fit_family(&local, u->family);
	m.msg_namelen = peer.len;
	iw_pkt_from(&m, &local);
	base = m.msg_controllen;
	if (!u->gso)
		return send_singly(u, &m, tx->seg);
	err = send_offloaded(u, &m, tx->seg);
	/* The path does not support GSO for this run: the device computes no checksums, or the
	 * kernel has a lower limit. */
	if ((err == EIO || err == EINVAL) && tx->len > tx->seg) {
		m.msg_control = control.octets;
		m.msg_controllen = base;
		err = send_singly(u, &m, tx->seg);
		if (err == 0 || err == EAGAIN)
			u->gso = false;
	}
	return err;
}

static int udp_send(struct iw_pkt *c, const struct iw_pkt_tx *tx, uint32_t *mtu)
{
	struct udp *u = udp_of(c);
	int err, tries = IW_PKT_REPORTS;

	if (u->df == tx->fragment) {
		u->df = !tx->fragment;
		iw_pkt_set_df(c->fd, u->family, u->df);
	}
	/* The call may return an error of an earlier packet. That error is also in the error
	 * queue, so the send is retried. */
	do
		err = send_run(u, tx);
	while (err == EINTR ||
	       ((err == ECONNREFUSED || err == EHOSTUNREACH || err == EMSGSIZE) && tries-- > 0));
	if (err == EMSGSIZE) {
		c->begun = 0;
		*mtu = iw_pkt_reported_mtu(c->fd);
		/* The kernel queues no error when it rejects a run with GSO. */
		return *mtu > 0 || tx->len > tx->seg ? IW_E_LIMIT : 0;
	}
	if (err && iw_pkt_try_again(c, err))
		return IW_E_AGAIN;
	c->begun = 0;
	c->refused = 0;
	return 0;
}

const struct iw_pkt_ops iw_pkt_udp_ops = {
	.name = "udp",
	.available = udp_available,
	.open = udp_open,
	.recv = udp_recv,
	.recv_wait = udp_recv_wait,
	.send = udp_send,
	.next_error = udp_next_error,
	.close = udp_close,
};
