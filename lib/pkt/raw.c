// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* SCTP packets directly on IP, through a raw socket for each address family in use. A socket filter
 * accepts packets for our own SCTP port only. */
#include "pkt/pkt.h"

#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/os.h"
#include "os/probe.h"
#include "pkt/internal.h"
#include "util/num.h"
#include "util/text.h"

#define PROTO_SCTP 132
#define PACKET_LEN (IW_PKT_MAX + 1)

union control {
	struct cmsghdr align;
	uint8_t octets[IW_PKT_CONTROL];
};

struct raw {
	struct iw_pkt pkt;
	/* Index 0: IPv4; 1: IPv6. */
	int sock[2];     /* -1: none */
	int spare[2];    /* see open_spare(); -1: none */
	bool df[2];      /* the socket sets DF */
	bool waiting[2]; /* for room to send */
	uint8_t *buf;    /* IW_PKT_BATCH packets of PACKET_LEN octets */
	/* Used by one receive at a time. They are too large to be cleared on the stack each
	 * time. */
	union control control[IW_PKT_BATCH];
	struct mmsghdr m[IW_PKT_BATCH];
	struct iovec iov[IW_PKT_BATCH];
};

static struct raw *raw_of(struct iw_pkt *c)
{
	return iw_container_of(c, struct raw, pkt);
}

#define ERRORS_MAX 64 /* drop_received() gives up after this many errors */

static const int family[2] = { AF_INET, AF_INET6 };

/* --- open ------------------------------------------------------------------------------------- */

/* The kernel's own SCTP would answer our peers with ABORT. */
static int check_kernel(const char *transport, struct iw_fault *why)
{
	if (access("/proc/net/sctp", F_OK) != 0)
		return 0;
	return iw_fail(
		why, IW_E_NOTSUP,
		"transport %s: the kernel's SCTP is loaded and would abort these associations: "
		"use -t sctp, or unload the module sctp",
		transport);
}

/* Filters by the destination port of the SCTP header. A raw socket's packet begins with the IP
 * header on IPv4, and with the SCTP header on IPv6. */
static int set_filter(int fd, int af, uint16_t port)
{
	struct sock_filter v4[] = {
		BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),
		BPF_STMT(BPF_LD | BPF_H | BPF_IND, 2),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_filter v6[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 2),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog p = {
		.len = (unsigned short)(af == AF_INET ? IW_ARRAY_LEN(v4) : IW_ARRAY_LEN(v6)),
		.filter = af == AF_INET ? v4 : v6,
	};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &p, sizeof(p));
}

static int refuse_all(int fd)
{
	struct sock_filter nothing[] = { BPF_STMT(BPF_RET | BPF_K, 0) };
	struct sock_fprog p = { .len = IW_ARRAY_LEN(nothing), .filter = nothing };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &p, sizeof(p));
}

/*
 * Drops the packets for other ports and addresses that arrived before the socket had its filter and
 * its address. The engine would answer them with ABORT.
 */
static void drop_received(int fd)
{
	uint8_t octet;
	int errors = 0; /* recv also returns pending ICMP errors, one at a time */

	while (recv(fd, &octet, sizeof(octet), MSG_DONTWAIT) >= 0 ||
	       (errno != EAGAIN && ++errors < ERRORS_MAX))
		continue;
}

/* Opens a raw socket for SCTP whose filter rejects every packet. */
static int open_closed(int *fd, int af, struct iw_fault *why)
{
	*fd = socket(af, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, PROTO_SCTP);
	if (*fd < 0 && errno == EPERM)
		return iw_fail(why, IW_E_PERM,
			       "transport raw: needs CAP_NET_RAW: be root, or use udp");
	if (*fd < 0)
		return iw_os_fail(why, errno, "raw: open a socket");
	return refuse_all(*fd) < 0 ? iw_os_fail(why, errno, "raw: attach a filter") : 0;
}

static int bind_to(int fd, const struct iw_pkt_cfg *cfg, struct iw_fault *why)
{
	struct iw_addr a = cfg->bind;
	char text[IW_ADDR_TEXT];

	iw_addr_set_port(&a, 0);
	if (a.len == 0 || iw_addr_is_any(&a) || bind(fd, &a.sa, a.len) == 0)
		return 0;
	if (errno == EADDRNOTAVAIL)
		return iw_fail(why, IW_E_OS,
			       "%s: not an address of this machine; `ip address` lists them",
			       iw_addr_host(text, &a));
	return iw_os_fail(why, errno, "raw: bind to %s", iw_addr_host(text, &a));
}

/*
 * Opens a second socket that receives nothing. If the receive buffers of all raw sockets of a
 * protocol are full, Linux answers a packet with ICMP "protocol unreachable" (seen with 6.18), and
 * the peer must treat this as an ABORT (RFC 9260 section 10, ICMP8). The buffer of this socket is
 * never full, so Linux drops the packet instead, and the peer retransmits it.
 */
static int open_spare(struct raw *r, int i, const struct iw_pkt_cfg *cfg, struct iw_fault *why)
{
	int err = open_closed(&r->spare[i], family[i], why);

	if (!err && cfg->interface)
		err = iw_pkt_bind_interface(r->spare[i], cfg->interface, why);
	if (err)
		return err;
	return bind_to(r->spare[i], cfg, why);
}

static int open_one(struct raw *r, int i, const struct iw_pkt_cfg *cfg, struct iw_fault *why)
{
	int err = open_closed(&r->sock[i], family[i], why);

	if (!err)
		err = iw_pkt_prepare(r->sock[i], family[i], cfg, why);
	if (!err)
		err = bind_to(r->sock[i], cfg, why);
	if (!err)
		err = open_spare(r, i, cfg, why);
	if (err)
		return err;
	drop_received(r->sock[i]);
	if (set_filter(r->sock[i], family[i], cfg->sctp_port) < 0)
		return iw_os_fail(why, errno, "raw: attach the filter for port %u",
				  (unsigned)cfg->sctp_port);
	return 0;
}

static bool wanted(const struct iw_pkt_cfg *cfg, int i)
{
	return cfg->bind.len == 0 || cfg->bind.sa.sa_family == family[i];
}

/* Combines the sockets into one descriptor to poll. */
static int join(struct raw *r, struct iw_fault *why)
{
	r->pkt.fd = epoll_create1(EPOLL_CLOEXEC);
	if (r->pkt.fd < 0)
		return iw_os_fail(why, errno, "raw: create an epoll descriptor");
	for (int i = 0; i < 2; i++) {
		struct epoll_event ev = { .events = EPOLLIN };

		if (r->sock[i] >= 0 && epoll_ctl(r->pkt.fd, EPOLL_CTL_ADD, r->sock[i], &ev) < 0)
			return iw_os_fail(why, errno, "raw: watch a socket");
	}
	return 0;
}

static int open_sockets(struct raw *r, const struct iw_pkt_cfg *cfg, struct iw_fault *why)
{
	int err = check_kernel("raw", why);

	for (int i = 0; i < 2 && !err; i++) {
		if (!wanted(cfg, i))
			continue;
		err = open_one(r, i, cfg, why);
		/* A host without IPv6 may still have IPv4. */
		if (err == IW_E_NOTSUP && i == 1 && r->sock[0] >= 0)
			err = 0;
	}
	return err ? err : join(r, why);
}

static int raw_open(struct iw_pkt **out, const struct iw_pkt_cfg *cfg, struct iw_fault *why)
{
	struct raw *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return iw_fail(why, IW_E_NOMEM, "raw: no memory");
	r->pkt.ops = &iw_pkt_raw_ops;
	r->pkt.fd = r->sock[0] = r->sock[1] = r->spare[0] = r->spare[1] = -1;
	r->pkt.seg_max = IW_PKT_SEGS_MAX;
	r->df[0] = r->df[1] = true;
	r->buf = malloc((size_t)IW_PKT_BATCH * PACKET_LEN);
	err = r->buf ? open_sockets(r, cfg, why) : iw_fail(why, IW_E_NOMEM, "raw: no memory");
	if (err) {
		r->pkt.ops->close(&r->pkt);
		return err;
	}
	r->pkt.mtu = iw_pkt_mtu(cfg);
	r->pkt.rcvbuf = iw_pkt_rcvbuf(r->sock[0] >= 0 ? r->sock[0] : r->sock[1]);
	*out = &r->pkt;
	return 0;
}

int iw_pkt_raw_check(const char *transport, struct iw_fault *why)
{
	struct iw_fault no;
	int err = check_kernel(transport, why);

	if (err)
		return err;
	err = iw_os_probe_raw(&no);
	return err ? iw_fail(why, err, "transport %s: %s", transport, no.text) : 0;
}

static int raw_available(struct iw_fault *why)
{
	return iw_pkt_raw_check("raw", why);
}

static void raw_close(struct iw_pkt *c)
{
	struct raw *r = raw_of(c);

	for (int i = 0; i < 2; i++) {
		if (r->sock[i] >= 0)
			close(r->sock[i]);
		if (r->spare[i] >= 0)
			close(r->spare[i]);
	}
	if (c->fd >= 0)
		close(c->fd);
	free(r->buf);
	free(r);
}

/* --- in --------------------------------------------------------------------------------------- */

/* Removes the IP header, which raw sockets of IPv4 (i 0) include. False: no SCTP packet follows. */
static bool strip(struct iw_pkt_rx *rx, int i)
{
	size_t head = i == 0 && rx->len > 0 ? (size_t)(rx->data[0] & 0xf) * 4 : 0;

	if (i == 0 && (head < 20 || rx->len < head))
		return false;
	rx->data += head;
	rx->len -= head;
	rx->seg = rx->len;
	return rx->len > 0;
}

static int receive_from(struct raw *r, int i, struct iw_pkt_rx *rx, int room)
{
	union control *control = r->control;
	struct mmsghdr *m = r->m;
	struct iovec *iov = r->iov;
	int n, kept = 0, tries = 8;

	for (int k = 0; k < room; k++) {
		iov[k] = (struct iovec){ r->buf + (size_t)k * PACKET_LEN, PACKET_LEN };
		m[k].msg_hdr = (struct msghdr){
			.msg_name = &rx[k].peer.in6,
			.msg_namelen = sizeof(rx[k].peer.in6),
			.msg_iov = &iov[k],
			.msg_iovlen = 1,
			.msg_control = control[k].octets,
			.msg_controllen = sizeof(control[k].octets),
		};
	}
	/* recvmmsg may first return a network error, which is also in the error queue: retry. */
	do {
		n = recvmmsg(r->sock[i], m, (unsigned)room, MSG_DONTWAIT, NULL);
		r->pkt.recvs++;
	} while (n < 0 && errno != EAGAIN && tries-- > 0);
	for (int k = 0; k < n; k++) {
		struct iw_pkt_rx x = {
			.peer = rx[k].peer,
			.data = iov[k].iov_base,
			.len = m[k].msg_len,
		};

		x.peer.len = m[k].msg_hdr.msg_namelen;
		iw_addr_set_port(&x.peer, 0);
		iw_pkt_local(&x.local, &m[k].msg_hdr);
		if (strip(&x, i))
			rx[kept++] = x;
	}
	return kept;
}

/*
 * The sockets share the buffers, so each call receives from one of them. Every eighth receive reads
 * IPv6 first: a steady flow over IPv4 must not delay it for long.
 */
static int raw_recv(struct iw_pkt *c, struct iw_pkt_rx rx[static IW_PKT_BATCH],
		    struct iw_fault *why)
{
	struct raw *r = raw_of(c);
	int n = 0, first = c->recvs % 8 == 0;

	(void)why;
	for (int k = 0; k < 2 && n == 0; k++) {
		int i = first ^ k;

		if (r->sock[i] >= 0)
			n = receive_from(r, i, rx, IW_PKT_BATCH);
	}
	return n;
}

static bool raw_next_error(struct iw_pkt *c, struct iw_pkt_error *out)
{
	struct raw *r = raw_of(c);

	for (int i = 0; i < 2; i++)
		if (r->sock[i] >= 0 && iw_pkt_take_error(r->sock[i], false, out)) {
			iw_addr_set_port(&out->peer, 0);
			return true;
		}
	return false;
}

/* --- out -------------------------------------------------------------------------------------- */

static void wait_for_room(struct raw *r, int i, bool on)
{
	struct epoll_event ev = { .events = on ? EPOLLIN | EPOLLOUT : EPOLLIN };

	if (r->waiting[i] != on && epoll_ctl(r->pkt.fd, EPOLL_CTL_MOD, r->sock[i], &ev) == 0)
		r->waiting[i] = on;
}

static int raw_send(struct iw_pkt *c, const struct iw_pkt_tx *tx, uint32_t *mtu)
{
	struct raw *r = raw_of(c);
	int i = tx->peer.sa.sa_family == AF_INET6;
	struct iw_addr peer = tx->peer;
	struct mmsghdr many[IW_PKT_SEGS_MAX];
	struct iovec iov[IW_PKT_SEGS_MAX];
	union control control;
	struct msghdr m = {
		.msg_name = &peer.sa,
		.msg_namelen = peer.len,
		.msg_iovlen = 1,
		.msg_control = control.octets,
	};
	unsigned n = 0, sent = c->begun;
	int tries = IW_PKT_REPORTS;

	if (r->sock[i] < 0)
		return 0;
	if (r->df[i] == tx->fragment) {
		r->df[i] = !tx->fragment;
		iw_pkt_set_df(r->sock[i], family[i], r->df[i]);
	}
	iw_addr_set_port(&peer, 0);
	iw_pkt_from(&m, &tx->local);
	if (m.msg_controllen == 0)
		m.msg_control = NULL;
	for (size_t at = 0; at < tx->len && n < IW_PKT_SEGS_MAX; at += tx->seg, n++) {
		iov[n] = (struct iovec){ (void *)(uintptr_t)(tx->data + at),
					 IW_MIN(tx->seg, tx->len - at) };
		many[n].msg_hdr = m;
		many[n].msg_hdr.msg_iov = &iov[n];
	}
	while (sent < n) {
		int got = sendmmsg(r->sock[i], many + sent, n - sent, MSG_DONTWAIT | MSG_NOSIGNAL);

		c->sends++;
		if (got < 0 && iw_pkt_try_again(c, errno)) {
			c->begun = sent;
			wait_for_room(r, i, true);
			return IW_E_AGAIN;
		}
		c->begun = 0;
		if (got < 0 && errno == EMSGSIZE && tries-- > 0)
			continue;
		if (got < 0 && errno == EMSGSIZE) {
			*mtu = iw_pkt_reported_mtu(r->sock[i]);
			if (*mtu > 0)
				return IW_E_LIMIT;
		}
		/* After any other error, this packet is lost. */
		sent += got > 0 ? (unsigned)got : 1;
		c->refused = 0;
	}
	wait_for_room(r, i, false);
	return 0;
}

const struct iw_pkt_ops iw_pkt_raw_ops = {
	.name = "raw",
	.available = raw_available,
	.open = raw_open,
	.recv = raw_recv,
	.send = raw_send,
	.next_error = raw_next_error,
	.close = raw_close,
};
