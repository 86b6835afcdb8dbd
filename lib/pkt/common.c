// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Common to the carriers over sockets: options, packet addresses, network errors. */
#include "pkt/internal.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/errqueue.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/os.h"
#include "os/sock.h"
#include "util/num.h"
#include "util/text.h"

#define RCVBUF   (4 * 1024 * 1024)
#define SNDBUF   (1024 * 1024)
#define REFUSALS 16

static int on(int fd, int level, int option)
{
	const int value = 1;

	return setsockopt(fd, level, option, &value, sizeof(value));
}

void iw_pkt_set_df(int fd, int family, bool df)
{
	/* PROBE sets DF and ignores the kernel's path MTU: the engine itself searches for it (RFC
	 * 8899). */
	const int v4 = df ? IP_PMTUDISC_PROBE : IP_PMTUDISC_DONT;
	const int v6 = df ? IPV6_PMTUDISC_PROBE : IPV6_PMTUDISC_DONT;

	(void)setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &v4, sizeof(v4));
	if (family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &v6, sizeof(v6));
}

int iw_pkt_bind_interface(int fd, const char *interface, struct iw_fault *why)
{
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, interface, (socklen_t)strlen(interface)) ==
	    0)
		return 0;
	if (errno == ENODEV)
		return iw_fail(why, IW_E_NOENT,
			       "interface %s: no such interface; `ip link` lists them", interface);
	return iw_os_fail(why, errno, "bind to interface %s", interface);
}

int iw_pkt_prepare(int fd, int family, const struct iw_pkt_cfg *cfg, struct iw_fault *why)
{
	int err = cfg->interface ? iw_pkt_bind_interface(fd, cfg->interface, why) : 0;

	if (err)
		return err;
	/* The system may cap the sizes. */
	(void)!iw_sock_set_buffers(fd, cfg->sndbuf ? cfg->sndbuf : SNDBUF,
				   cfg->rcvbuf ? cfg->rcvbuf : RCVBUF);
	iw_pkt_set_df(fd, family, true);
	if (on(fd, IPPROTO_IP, IP_RECVERR) < 0 && family == AF_INET)
		return iw_os_fail(why, errno, "set IP_RECVERR");
	if (family == AF_INET)
		return on(fd, IPPROTO_IP, IP_PKTINFO) < 0 ? iw_os_fail(why, errno, "set IP_PKTINFO")
							  : 0;
	if (on(fd, IPPROTO_IPV6, IPV6_RECVERR) < 0)
		return iw_os_fail(why, errno, "set IPV6_RECVERR");
	if (on(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO) < 0)
		return iw_os_fail(why, errno, "set IPV6_RECVPKTINFO");
	return 0;
}

size_t iw_pkt_rcvbuf(int fd)
{
	socklen_t len = sizeof(int);
	int size = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, &len) < 0 || size < 0)
		return 0;
	return (size_t)size;
}

/* --- the interface's MTU ---------------------------------------------------------------------- */

static uint32_t mtu_of(int fd, const char *name)
{
	struct ifreq r = { 0 };

	memcpy(r.ifr_name, name, IW_MIN(strlen(name), sizeof(r.ifr_name) - 1));
	return ioctl(fd, SIOCGIFMTU, &r) == 0 && r.ifr_mtu > 0 ? (uint32_t)r.ifr_mtu : 0;
}

static bool has_address(const struct ifaddrs *i, const struct iw_addr *a)
{
	const struct sockaddr_in *in = (const void *)i->ifa_addr;
	const struct sockaddr_in6 *in6 = (const void *)i->ifa_addr;
	const uint8_t *ip = a->in6.sin6_addr.s6_addr;

	if (i->ifa_addr->sa_family == AF_INET && a->sa.sa_family == AF_INET)
		return in->sin_addr.s_addr == a->in.sin_addr.s_addr;
	if (i->ifa_addr->sa_family == AF_INET && IN6_IS_ADDR_V4MAPPED(&a->in6.sin6_addr))
		return memcmp(&in->sin_addr, ip + 12, 4) == 0;
	return i->ifa_addr->sa_family == AF_INET6 && a->sa.sa_family == AF_INET6 &&
	       memcmp(&in6->sin6_addr, ip, 16) == 0;
}

/* Returns the MTU of the interface with that address; for any address, the largest of all
 * interfaces. */
static uint32_t mtu_at(const struct iw_addr *a)
{
	bool any = a->len == 0 || iw_addr_is_any(a);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifaddrs *all = NULL;
	uint32_t most = 0;

	if (fd >= 0 && getifaddrs(&all) == 0) {
		for (const struct ifaddrs *i = all; i; i = i->ifa_next)
			if (i->ifa_addr && i->ifa_flags & IFF_UP && (any || has_address(i, a)))
				most = IW_MAX(most, mtu_of(fd, i->ifa_name));
		freeifaddrs(all);
	}
	if (fd >= 0)
		close(fd);
	/* An address of 127/8 belongs to the loopback interface, even if getifaddrs does not list
	 * it. */
	if (most == 0)
		most = iw_addr_is_loopback(a) ? IW_PKT_MAX : 1500;
	return most;
}

/*
 * Returns the MTU of the route to peer; 0: no route, or its MTU is not known. The kernel caches the
 * MTU of a route, and a forged ICMP message can change it. The result is therefore at least the MTU
 * of the interface: the engine searches for the path MTU.
 */
static uint32_t mtu_to(const struct iw_addr *peer)
{
	bool v4 = peer->sa.sa_family == AF_INET;
	int fd = socket(peer->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct iw_addr local = { .len = sizeof(local.in6) };
	socklen_t len = sizeof(int);
	int mtu = 0;

	/* connect() on a datagram socket sends nothing. */
	if (fd >= 0 && (connect(fd, &peer->sa, peer->len) < 0 ||
			getsockopt(fd, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_MTU : IPV6_MTU, &mtu,
				   &len) < 0))
		mtu = 0;
	if (mtu > 0 && iw_sock_local(fd, &local) == 0)
		mtu = (int)IW_MAX((uint32_t)mtu, mtu_at(&local));
	if (fd >= 0)
		close(fd);
	return mtu > 0 ? (uint32_t)mtu : 0;
}

uint32_t iw_pkt_mtu(const struct iw_pkt_cfg *cfg)
{
	uint32_t mtu = cfg->peer.len > 0 ? mtu_to(&cfg->peer) : 0;

	if (mtu == 0)
		mtu = mtu_at(&cfg->bind);
	return IW_MIN(mtu, (uint32_t)IW_PKT_MAX);
}

/* --- the addresses of a packet ---------------------------------------------------------------- */

void iw_pkt_local(struct iw_addr *out, const struct msghdr *m)
{
	struct msghdr *h = (struct msghdr *)(uintptr_t)m;

	out->len = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			struct in_pktinfo info;

			memcpy(&info, CMSG_DATA(c), sizeof(info));
			memset(&out->in, 0, sizeof(out->in));
			out->in.sin_family = AF_INET;
			out->in.sin_addr = info.ipi_addr;
			out->len = sizeof(out->in);
		} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			struct in6_pktinfo info;

			memcpy(&info, CMSG_DATA(c), sizeof(info));
			memset(&out->in6, 0, sizeof(out->in6));
			out->in6.sin6_family = AF_INET6;
			out->in6.sin6_addr = info.ipi6_addr;
			if (IN6_IS_ADDR_LINKLOCAL(&info.ipi6_addr))
				out->in6.sin6_scope_id = info.ipi6_ifindex;
			out->len = sizeof(out->in6);
		}
	}
}

static void *add_control(struct msghdr *m, int level, int type, size_t len)
{
	struct cmsghdr *c =
		(struct cmsghdr *)(void *)((uint8_t *)m->msg_control + m->msg_controllen);

	memset(c, 0, CMSG_SPACE(len));
	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(len);
	m->msg_controllen += CMSG_SPACE(len);
	return CMSG_DATA(c);
}

void iw_pkt_from(struct msghdr *m, const struct iw_addr *local)
{
	if (local->len == 0)
		return;
	if (local->sa.sa_family == AF_INET) {
		struct in_pktinfo info = { .ipi_spec_dst = local->in.sin_addr };

		memcpy(add_control(m, IPPROTO_IP, IP_PKTINFO, sizeof(info)), &info, sizeof(info));
	} else {
		struct in6_pktinfo info = { .ipi6_addr = local->in6.sin6_addr,
					    .ipi6_ifindex = local->in6.sin6_scope_id };

		memcpy(add_control(m, IPPROTO_IPV6, IPV6_PKTINFO, sizeof(info)), &info,
		       sizeof(info));
	}
}

/* --- errors ----------------------------------------------------------------------------------- */

enum iw_pkt_error_kind iw_pkt_classify(const struct sock_extended_err *e, bool udp)
{
	if (e->ee_errno == EMSGSIZE)
		return IW_PKT_TOO_BIG;
	if (e->ee_origin == SO_EE_ORIGIN_ICMP && e->ee_type == ICMP_DEST_UNREACH) {
		/* RFC 6951 5.5: a closed port means that the host does not process SCTP in UDP. */
		if (e->ee_code == ICMP_PROT_UNREACH || (udp && e->ee_code == ICMP_PORT_UNREACH))
			return IW_PKT_NO_PROTOCOL;
		return IW_PKT_UNREACHABLE;
	}
	if (e->ee_origin == SO_EE_ORIGIN_ICMP6 && e->ee_type == ICMP6_DST_UNREACH)
		return udp && e->ee_code == ICMP6_DST_UNREACH_NOPORT ? IW_PKT_NO_PROTOCOL
								     : IW_PKT_UNREACHABLE;
	if (e->ee_origin == SO_EE_ORIGIN_ICMP6 && e->ee_type == ICMP6_PARAM_PROB &&
	    e->ee_code == ICMP6_PARAMPROB_NEXTHEADER)
		return IW_PKT_NO_PROTOCOL;
	return IW_PKT_ERROR_OTHER;
}

bool iw_pkt_take_error(int fd, bool udp, struct iw_pkt_error *out)
{
	union {
		struct cmsghdr align;
		uint8_t octets[IW_PKT_CONTROL * 2];
	} control;
	struct iovec iov = { out->head, sizeof(out->head) };
	struct msghdr m = {
		.msg_name = &out->peer.in6,
		.msg_namelen = sizeof(out->peer.in6),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.octets,
		.msg_controllen = sizeof(control.octets),
	};
	ssize_t n = recvmsg(fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT);

	if (n < 0)
		return false;
	out->peer.len = m.msg_namelen;
	out->len = (size_t)n;
	out->kind = IW_PKT_ERROR_OTHER;
	out->local = false;
	out->mtu = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		struct sock_extended_err e;

		if (!(c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) &&
		    !(c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR))
			continue;
		memcpy(&e, CMSG_DATA(c), sizeof(e));
		out->kind = iw_pkt_classify(&e, udp);
		out->local = e.ee_origin == SO_EE_ORIGIN_LOCAL;
		if (out->kind == IW_PKT_TOO_BIG)
			out->mtu = e.ee_info;
	}
	return true;
}

uint32_t iw_pkt_reported_mtu(int fd)
{
	struct iw_pkt_error e;
	uint32_t mtu = 0;

	/*
	 * ICMP messages in the queue are about other packets and may be forged, so they are
	 * ignored. Each attempt to send the packet has queued a local error. None of these may
	 * remain: the next packet may have another peer.
	 */
	while (iw_pkt_take_error(fd, false, &e))
		if (e.local && e.mtu > 0)
			mtu = e.mtu;
	return mtu;
}

bool iw_pkt_try_again(struct iw_pkt *c, int err)
{
	if (err == EAGAIN)
		return true;
	if (err == ENOBUFS && ++c->refused < REFUSALS)
		return true;
	c->refused = 0;
	return false;
}
