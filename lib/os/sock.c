// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* TCP sockets: connect, listen, accept and their options. */
#include "os/sock.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/cc.h"
#include "os/os.h"
#include "util/num.h"
#include "util/text.h"

static int set_int(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

static int get_int(int fd, int level, int name, int *value)
{
	socklen_t len = sizeof(*value);

	return getsockopt(fd, level, name, value, &len);
}

int iw_tcp_nodelay(int fd, bool on)
{
	return set_int(fd, IPPROTO_TCP, TCP_NODELAY, on) < 0 ? IW_E_OS : 0;
}

static int set_buffer(int fd, int name, int force_name, size_t octets)
{
	int value = (int)IW_MIN(octets, (size_t)INT_MAX / 2);

	if (octets == 0)
		return 0;
	/* SO_*BUFFORCE has no cap and needs CAP_NET_ADMIN. */
	if (set_int(fd, SOL_SOCKET, force_name, value) == 0)
		return 0;
	return set_int(fd, SOL_SOCKET, name, value) < 0 ? IW_E_OS : 0;
}

int iw_sock_set_buffers(int fd, size_t sndbuf, size_t rcvbuf)
{
	int err = set_buffer(fd, SO_SNDBUF, SO_SNDBUFFORCE, sndbuf);

	return err ? err : set_buffer(fd, SO_RCVBUF, SO_RCVBUFFORCE, rcvbuf);
}

int iw_sock_buffers(int fd, size_t *sndbuf, size_t *rcvbuf)
{
	int snd, rcv;

	if (get_int(fd, SOL_SOCKET, SO_SNDBUF, &snd) < 0 ||
	    get_int(fd, SOL_SOCKET, SO_RCVBUF, &rcv) < 0)
		return IW_E_OS;
	*sndbuf = (size_t)snd / 2;
	*rcvbuf = (size_t)rcv / 2;
	return 0;
}

uint64_t iw_tcp_unacked(int fd)
{
	int n = 0;

	return ioctl(fd, SIOCOUTQ, &n) == 0 && n > 0 ? (uint64_t)n : 0;
}

int iw_tcp_emss(int fd, uint32_t *emss)
{
	int value;

	if (get_int(fd, IPPROTO_TCP, TCP_MAXSEG, &value) < 0 || value <= 0)
		return IW_E_OS;
	*emss = (uint32_t)value;
	return 0;
}

int iw_sock_local(int fd, struct iw_addr *out)
{
	*out = (struct iw_addr){ .len = sizeof(out->in6) };
	return getsockname(fd, &out->sa, &out->len) < 0 ? IW_E_OS : 0;
}

/* True for a link-local address without an interface. */
static bool lacks_scope(const struct iw_addr *a)
{
	return a->sa.sa_family == AF_INET6 && a->in6.sin6_scope_id == 0 &&
	       IN6_IS_ADDR_LINKLOCAL(&a->in6.sin6_addr);
}

static int complete_scope(struct iw_addr *a, const char *interface, struct iw_fault *why)
{
	char text[IW_ADDR_TEXT];

	if (!lacks_scope(a))
		return 0;
	if (!interface)
		return iw_fail(
			why, IW_E_INVAL,
			"address %s: a link-local address needs its interface, as in %s%%eth0",
			iw_addr_host(text, a), text);
	a->in6.sin6_scope_id = if_nametoindex(interface);
	return 0;
}

void iw_sock_add_hint(struct iw_fault *why, const char *remedy)
{
	size_t len = why ? strlen(why->text) : 0;

	if (why)
		snprintf(why->text + len, sizeof(why->text) - len, "%s", remedy);
}

static int bind_device(int fd, const char *interface, struct iw_fault *why)
{
	int errnum;

	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, interface, (socklen_t)strlen(interface)) ==
	    0)
		return 0;
	errnum = errno;
	if (errnum != ENODEV)
		return iw_os_fail(why, errnum, "bind to interface %s", interface);
	(void)iw_fail(why, IW_E_NOENT, "-I %s: no such interface; `ip link` lists them", interface);
	if (why)
		why->os_errno = errnum;
	return IW_E_NOENT;
}

/*
 * Sets cfg on fd. Buffers come first: the receive buffer determines the window scale that TCP
 * offers.
 */
static int set_options(int fd, const struct iw_sock_cfg *cfg, struct iw_fault *why)
{
	if (iw_sock_set_buffers(fd, cfg->sndbuf, cfg->rcvbuf) != 0)
		return iw_os_fail(why, errno, "set socket buffers of %zu and %zu octets",
				  cfg->sndbuf, cfg->rcvbuf);
	if (cfg->interface) {
		int err = bind_device(fd, cfg->interface, why);

		if (err)
			return err;
	}
	if (cfg->nodelay && iw_tcp_nodelay(fd, true) != 0)
		return iw_os_fail(why, errno, "set TCP_NODELAY");
	return cfg->cc ? iw_tcp_set_cc(fd, cfg->cc, why) : 0;
}

static int make_socket(int *out, int family, const struct iw_sock_cfg *cfg, struct iw_fault *why)
{
	int fd, err;

	fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
	if (fd < 0)
		return iw_os_fail(why, errno, "open a TCP socket for IPv%d",
				  family == AF_INET ? 4 : 6);
	err = set_options(fd, cfg, why);
	if (err)
		close(fd);
	else
		*out = fd;
	return err;
}

const char *iw_sock_listen_hint(int errnum, uint16_t port)
{
	switch (errnum) {
	case EADDRNOTAVAIL:
		return "; not an address of this machine, `ip address` lists them";
	case EADDRINUSE:
		return "; another listener has it: stop it, or give another port with -p";
	case EACCES:
		return port < 1024
			       ? "; ports below 1024 need CAP_NET_BIND_SERVICE: choose another with -p"
			       : "";
	}
	return "";
}

static int bind_source(int fd, const struct iw_sock_cfg *cfg, struct iw_fault *why)
{
	struct iw_addr local = *cfg->bind;
	char text[IW_ADDR_TEXT];
	int err, errnum;

	err = complete_scope(&local, cfg->interface, why);
	if (err)
		return err;
	/*
	 * The port is then chosen when the peer is known, so that one port can serve several peers.
	 * An old kernel without the option only runs out of ports earlier.
	 */
	if (iw_addr_port(&local) == 0)
		(void)set_int(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
	if (bind(fd, &local.sa, local.len) == 0)
		return 0;
	errnum = errno;
	err = iw_os_fail(why, errnum, "bind to %s",
			 iw_addr_port(&local) ? iw_addr_format(text, &local)
					      : iw_addr_host(text, &local));
	/* The user never chooses the port of a source address. */
	if (errnum == EADDRNOTAVAIL)
		iw_sock_add_hint(why, iw_sock_listen_hint(errnum, 0));
	return err;
}

/* Returns the octets of an IPv4 or IPv6 address, and their number in *len. */
static const uint8_t *octets_of(const struct sockaddr *a, size_t *len)
{
	*len = a->sa_family == AF_INET ? 4 : 16;
	return a->sa_family == AF_INET
		       ? (const void *)&((const struct sockaddr_in *)(const void *)a)->sin_addr
		       : (const void *)&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;
}

/* True if peer is in the network of the address i. */
static bool is_on_link(const struct ifaddrs *i, const struct iw_addr *peer)
{
	const uint8_t *ip, *own, *mask;
	size_t len;

	if (!i->ifa_addr || !i->ifa_netmask || i->ifa_addr->sa_family != peer->sa.sa_family)
		return false;
	ip = octets_of(&peer->sa, &len);
	own = octets_of(i->ifa_addr, &len);
	/* The family of a mask is not always set. */
	mask = (const uint8_t *)i->ifa_netmask + (own - (const uint8_t *)i->ifa_addr);
	for (size_t k = 0; k < len; k++)
		if ((ip[k] ^ own[k]) & mask[k])
			return false;
	return true;
}

/* Finds an interface on the path to peer (or interface, if not NULL) that is down. */
static bool find_down(char name[static IF_NAMESIZE], const struct iw_addr *peer,
		      const char *interface)
{
	struct ifaddrs *all = NULL;
	bool found = false;

	if (getifaddrs(&all) != 0)
		return false;
	for (const struct ifaddrs *i = all; i && !found; i = i->ifa_next) {
		if (i->ifa_flags & IFF_UP)
			continue;
		found = interface ? strcmp(i->ifa_name, interface) == 0 : is_on_link(i, peer);
		if (found)
			snprintf(name, IF_NAMESIZE, "%s", i->ifa_name);
	}
	freeifaddrs(all);
	return found;
}

static bool is_multicast(const struct iw_addr *a)
{
	return a->sa.sa_family == AF_INET ? IN_MULTICAST(ntohl(a->in.sin_addr.s_addr))
					  : IN6_IS_ADDR_MULTICAST(&a->in6.sin6_addr);
}

/* True for 255.255.255.255, and for the broadcast address of a network of this host. */
static bool is_broadcast(const struct iw_addr *a)
{
	struct ifaddrs *all = NULL;
	bool found = a->sa.sa_family == AF_INET && a->in.sin_addr.s_addr == INADDR_BROADCAST;

	if (found || a->sa.sa_family != AF_INET || getifaddrs(&all) != 0)
		return found;
	for (const struct ifaddrs *i = all; i && !found; i = i->ifa_next) {
		const struct sockaddr_in *mask = (const void *)i->ifa_netmask;

		/* A network of one or two addresses has no broadcast address (RFC 3021). */
		found = i->ifa_flags & IFF_BROADCAST && is_on_link(i, a) &&
			ntohl(~mask->sin_addr.s_addr) > 1 &&
			(a->in.sin_addr.s_addr | mask->sin_addr.s_addr) == INADDR_BROADCAST;
	}
	freeifaddrs(all);
	return found;
}

static int check_unicast(const struct iw_addr *peer, struct iw_fault *why)
{
	char text[IW_ADDR_TEXT];

	if (!is_multicast(peer))
		return 0;
	return iw_fail(why, IW_E_INVAL,
		       "connect to %s: a multicast address; expected the address of one host",
		       iw_addr_host(text, peer));
}

static const char *route_command(const struct iw_addr *peer)
{
	return peer->sa.sa_family == AF_INET6 ? "ip -6 route" : "ip route";
}

const char *iw_sock_bind_hint(const struct iw_addr *peer)
{
	if (!iw_addr_is_loopback(peer))
		return " and --bind '*'";
	return peer->sa.sa_family == AF_INET && ntohl(peer->in.sin_addr.s_addr) == INADDR_LOOPBACK
		       ? ""
		       : " and --bind for this address";
}

void iw_sock_connect_hint(struct iw_fault *why, int errnum, const struct iw_addr *peer,
			  const char *interface, const char *transports)
{
	char text[IW_ADDR_TEXT], name[IF_NAMESIZE], hint[160] = "";

	iw_addr_host(text, peer);
	if (errnum == ECONNREFUSED)
		snprintf(hint, sizeof(hint), "; is a listener with -t %s%s running %s?", transports,
			 iw_sock_bind_hint(peer),
			 iw_addr_is_loopback(peer)
				 ? "on this machine"
				 : "there, and does a firewall let the connection through");
	else if (errnum == EHOSTUNREACH)
		snprintf(
			hint, sizeof(hint),
			"; is the address right, is that host running, and does a firewall let the connection through?");
	else if (errnum == ETIMEDOUT)
		snprintf(hint, sizeof(hint),
			 "; is the address right, and does a firewall let the connection through?");
	else if ((errnum == EACCES || errnum == ENETUNREACH) && is_broadcast(peer))
		snprintf(hint, sizeof(hint),
			 ": a broadcast address; expected the address of one host");
	else if (errnum == EACCES)
		snprintf(hint, sizeof(hint), "; a prohibit route? `ip route get %s` shows it",
			 text);
	else if (errnum == EINVAL)
		snprintf(hint, sizeof(hint), "; a blackhole route? `ip route get %s` shows it",
			 text);
	else if ((errnum == ENETUNREACH || errnum == ENETDOWN) && find_down(name, peer, interface))
		snprintf(hint, sizeof(hint), ": interface %s is down, see `ip link show %s`", name,
			 name);
	else if (errnum == ENETUNREACH || errnum == ENETDOWN)
		snprintf(hint, sizeof(hint),
			 ": no route to %s; is the address right? `%s` lists the routes", text,
			 route_command(peer));
	iw_sock_add_hint(why, hint);
}

/* cfg: what the socket was bound to; NULL: not known. */
static int connect_failed(struct iw_fault *why, int errnum, const struct iw_addr *peer,
			  const struct iw_sock_cfg *cfg)
{
	char text[IW_ADDR_TEXT], source[IW_ADDR_TEXT];
	int err;

	if (errnum == EINVAL && cfg && cfg->bind &&
	    iw_sock_check_route(peer, &(struct iw_sock_cfg){ .interface = cfg->interface }, NULL) ==
		    0) {
		err = iw_fail(
			why, IW_E_OS,
			"connect to %s port %u: the local address %s (-b) cannot reach that host; `ip route get %s` shows one that can",
			iw_addr_host(text, peer), (uint32_t)iw_addr_port(peer),
			iw_addr_host(source, cfg->bind), text);
		if (why)
			why->os_errno = errnum;
		return err;
	}
	err = iw_os_fail(why, errnum, "connect to %s port %u", iw_addr_host(text, peer),
			 iw_addr_port(peer));
	iw_sock_connect_hint(why, errnum, peer, cfg ? cfg->interface : NULL, "tcp");
	return err;
}

/* Finds the interface that has the address local, and its flags. */
static bool interface_of(char name[static IF_NAMESIZE], unsigned *flags,
			 const struct iw_addr *local)
{
	struct ifaddrs *all = NULL;
	bool found = false;

	if (getifaddrs(&all) != 0)
		return false;
	for (const struct ifaddrs *i = all; i && !found; i = i->ifa_next) {
		const uint8_t *ip;
		size_t len;

		if (!i->ifa_addr || i->ifa_addr->sa_family != local->sa.sa_family)
			continue;
		ip = octets_of(&local->sa, &len);
		found = memcmp(octets_of(i->ifa_addr, &len), ip, len) == 0;
		if (found) {
			snprintf(name, IF_NAMESIZE, "%s", i->ifa_name);
			*flags = i->ifa_flags;
		}
	}
	freeifaddrs(all);
	return found;
}

bool iw_sock_why_silent(char hint[static IW_SOCK_HINT], const struct iw_addr *peer,
			const char *interface)
{
	int fd = socket(peer->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char name[IF_NAMESIZE];
	struct iw_addr local;
	unsigned flags = 0;
	/* connect() on a datagram socket sends nothing. */
	bool routed = fd >= 0 && connect(fd, &peer->sa, peer->len) == 0 &&
		      iw_sock_local(fd, &local) == 0;

	if (fd >= 0)
		close(fd);
	hint[0] = '\0';
	/* With an interface, the system treats hosts without a route as on the link. */
	if (!routed && interface && !lacks_scope(peer))
		snprintf(hint, IW_SOCK_HINT,
			 "no route to that host: is the address right? `%s` lists the routes",
			 route_command(peer));
	else if (routed && interface_of(name, &flags, &local)) {
		if (interface && strcmp(name, interface) != 0)
			snprintf(hint, IW_SOCK_HINT,
				 "the route to that host leads through %s, not through %s (-I)",
				 name, interface);
		else if (flags & IFF_UP && !(flags & IFF_RUNNING))
			snprintf(
				hint, IW_SOCK_HINT,
				"interface %s has no carrier: is it plugged in, and is its other end up?",
				name);
	}
	return hint[0] != '\0';
}

int iw_sock_other_family(struct iw_fault *why, const struct iw_addr *peer,
			 const struct iw_addr *local)
{
	char text[IW_ADDR_TEXT], source[IW_ADDR_TEXT];

	return iw_fail(
		why, IW_E_INVAL,
		"connect to %s: the local address %s (-b) has another address family; use one of IPv%u, or leave it out",
		iw_addr_format(text, peer), iw_addr_host(source, local),
		peer->sa.sa_family == AF_INET ? 4u : 6u);
}

int iw_sock_check_route(const struct iw_addr *peer, const struct iw_sock_cfg *cfg,
			struct iw_fault *why)
{
	struct iw_addr to = *peer, from;
	int fd, err = 0;

	if (cfg->bind && cfg->bind->sa.sa_family != peer->sa.sa_family)
		return iw_sock_other_family(why, peer, cfg->bind);
	err = check_unicast(peer, why);
	if (!err)
		err = complete_scope(&to, cfg->interface, why);
	if (err)
		return err;
	fd = socket(peer->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	if (cfg->bind) {
		from = *cfg->bind;
		iw_addr_set_port(&from, 0);
	}
	if ((!cfg->interface || bind_device(fd, cfg->interface, NULL) == 0) &&
	    (!cfg->bind || bind(fd, &from.sa, from.len) == 0) && connect(fd, &to.sa, to.len) < 0)
		err = connect_failed(why, errno, peer, cfg);
	close(fd);
	return err;
}

int iw_tcp_connect(int *out, const struct iw_addr *peer, const struct iw_sock_cfg *cfg,
		   struct iw_fault *why)
{
	struct iw_addr to = *peer;
	char text[IW_ADDR_TEXT];
	int fd, err;

	if (iw_addr_port(peer) == 0)
		return iw_fail(why, IW_E_INVAL,
			       "connect to %s port 0: not a port that can be reached",
			       iw_addr_host(text, peer));
	err = check_unicast(peer, why);
	if (!err)
		err = make_socket(&fd, peer->sa.sa_family, cfg, why);
	if (err)
		return err;
	if (cfg->bind) {
		err = bind_source(fd, cfg, why);
		if (err)
			goto fail;
	}
	err = complete_scope(&to, cfg->interface, why);
	if (err)
		goto fail;
	/* An interrupted connect continues in the background, as a non-blocking one does. */
	if (connect(fd, &to.sa, to.len) < 0 && errno != EINPROGRESS && errno != EINTR) {
		err = connect_failed(why, errno, peer, cfg);
		goto fail;
	}
	*out = fd;
	return 0;
fail:
	close(fd);
	return err;
}

static int get_peer(int fd, struct iw_addr *out)
{
	*out = (struct iw_addr){ .len = sizeof(out->in6) };
	return getpeername(fd, &out->sa, &out->len) < 0 ? IW_E_OS : 0;
}

bool iw_tcp_is_connected(int fd)
{
	struct iw_addr remote;

	return get_peer(fd, &remote) == 0;
}

/* The result of an attempt whose socket is not connected. */
static int not_connected(int fd, const struct iw_addr *peer, struct iw_fault *why)
{
	int error;

	if (get_int(fd, SOL_SOCKET, SO_ERROR, &error) < 0)
		return connect_failed(why, errno, peer, NULL);
	return error ? connect_failed(why, error, peer, NULL) : IW_E_AGAIN;
}

int iw_tcp_connect_result(int fd, const struct iw_addr *peer, struct iw_addr *local,
			  struct iw_fault *why)
{
	struct iw_addr remote, own;

	if (get_peer(fd, &remote) != 0)
		return errno == ENOTCONN ? not_connected(fd, peer, why)
					 : connect_failed(why, errno, peer, NULL);
	if (iw_sock_local(fd, &own) != 0)
		return connect_failed(why, errno, peer, NULL);
	if (iw_addr_equal(&own, &remote))
		return connect_failed(why, ECONNREFUSED, peer, NULL);
	if (local)
		*local = own;
	return 0;
}

int iw_sock_check_interface(const struct iw_addr *local, const char *interface,
			    struct iw_fault *why)
{
	char text[IW_ADDR_TEXT];

	if (!interface || strcmp(interface, "lo") == 0 || !iw_addr_is_loopback(local))
		return 0;
	return iw_fail(
		why, IW_E_INVAL,
		"listen on %s: no host reaches a loopback address through %s (-I): give an address of %s with -b",
		iw_addr_host(text, local), interface, interface);
}

int iw_tcp_listen(int *out, const struct iw_addr *addr, int backlog, const struct iw_sock_cfg *cfg,
		  struct iw_fault *why)
{
	struct iw_addr local = *addr;
	char text[IW_ADDR_TEXT];
	int fd, err, errnum;

	err = make_socket(&fd, addr->sa.sa_family, cfg, why);
	if (err)
		return err;
	err = iw_sock_check_interface(addr, cfg->interface, why);
	if (!err)
		err = complete_scope(&local, cfg->interface, why);
	if (err)
		goto fail;
	if (set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1) < 0 ||
	    (addr->sa.sa_family == AF_INET6 &&
	     set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, cfg->v6only) < 0) ||
	    bind(fd, &local.sa, local.len) < 0 || listen(fd, backlog) < 0) {
		errnum = errno;
		err = iw_os_fail(why, errnum, "listen on %s port %u", iw_addr_host(text, addr),
				 iw_addr_port(addr));
		iw_sock_add_hint(why, iw_sock_listen_hint(errnum, iw_addr_port(addr)));
		goto fail;
	}
	*out = fd;
	return 0;
fail:
	close(fd);
	return err;
}

/* Returns NULL for a listening TCP socket, else what fd is instead. Static. */
static const char *not_listening(int fd)
{
	int family, type, protocol, listens;

	if (fcntl(fd, F_GETFD) < 0)
		return "not open";
	if (get_int(fd, SOL_SOCKET, SO_DOMAIN, &family) < 0 ||
	    get_int(fd, SOL_SOCKET, SO_TYPE, &type) < 0 ||
	    get_int(fd, SOL_SOCKET, SO_PROTOCOL, &protocol) < 0 ||
	    get_int(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens) < 0)
		return "not a socket";
	if ((family != AF_INET && family != AF_INET6) || type != SOCK_STREAM ||
	    protocol != IPPROTO_TCP)
		return "a socket, but not of TCP";
	return listens ? NULL : "a TCP socket that does not listen";
}

int iw_tcp_listen_on(int *out, int given, const struct iw_sock_cfg *cfg, struct iw_fault *why)
{
	const char *fault = not_listening(given);
	int fd, flags, err;

	if (fault)
		return iw_fail(why, IW_E_INVAL,
			       "descriptor %u: %s; expected a listening TCP socket",
			       (uint32_t)given, fault);
	fd = fcntl(given, F_DUPFD_CLOEXEC, 0);
	flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		err = iw_os_fail(why, errno, "duplicate descriptor %d", given);
	else
		err = set_options(fd, cfg, why);
	if (!err)
		*out = fd;
	else if (fd >= 0)
		close(fd);
	return err;
}

/* True for an error of the pending connection, not of the listener (accept(2)). */
static bool died_in_queue(int errnum)
{
	switch (errnum) {
	case ECONNABORTED:
	case EINTR:
	case ENETDOWN:
	case EPROTO:
	case ENOPROTOOPT:
	case EHOSTDOWN:
	case ENONET:
	case EHOSTUNREACH:
	case EOPNOTSUPP:
	case ENETUNREACH:
		return true;
	default:
		return false;
	}
}

int iw_tcp_accept(int *out, struct iw_addr *peer, int listener, struct iw_fault *why)
{
	struct iw_addr from;
	int fd;

	do {
		from = (struct iw_addr){ .len = sizeof(from.in6) };
		fd = accept4(listener, &from.sa, &from.len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	} while (fd < 0 && died_in_queue(errno));
	if (fd < 0)
		return errno == EAGAIN ? IW_E_AGAIN : iw_os_fail(why, errno, "accept a connection");
	if (peer)
		*peer = from;
	*out = fd;
	return 0;
}

/* --- SCTP ports ------------------------------------------------------------------------------- */

#define DYNAMIC_FIRST 49152
#define DYNAMIC_COUNT (65536 - DYNAMIC_FIRST)

/* Abstract names belong to one network namespace and disappear with the socket (unix(7)). */
static socklen_t set_name(struct sockaddr_un *a, uint16_t port, const char *place)
{
	int len;

	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	len = snprintf(a->sun_path + 1, sizeof(a->sun_path) - 1, "iwarp-tools/sctp/%u%s%s", port,
		       place ? "/" : "", place ? place : "");
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

static int take_name(int fd, uint16_t port, const char *place)
{
	struct sockaddr_un a;
	socklen_t len = set_name(&a, port, place);

	return bind(fd, (struct sockaddr *)&a, len);
}

static bool is_taken(int fd, uint16_t port, const char *place)
{
	struct sockaddr_un a;
	socklen_t len = set_name(&a, port, place);

	return connect(fd, (struct sockaddr *)&a, len) == 0;
}

int iw_sock_reserve_sctp_port(int *fd, uint16_t *port, struct iw_fault *why)
{
	unsigned tries = *port ? 1 : DYNAMIC_COUNT;
	uint16_t first = 0;
	int err = *port ? 0 : iw_os_random(&first, sizeof(first));

	*fd = -1;
	if (err < 0)
		return iw_fail(why, err, "sctp: no random number for a port");
	*fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (*fd < 0)
		return iw_os_fail(why, errno, "sctp: open a socket to reserve a port");
	for (unsigned i = 0; i < tries; i++) {
		uint16_t p = *port ? *port
				   : (uint16_t)(DYNAMIC_FIRST + (first + i) % DYNAMIC_COUNT);

		if (take_name(*fd, p, NULL) == 0) {
			*port = p;
			return 0;
		}
		if (errno != EADDRINUSE)
			break;
	}
	if (errno != EADDRINUSE)
		err = iw_os_fail(why, errno, "sctp: reserve a port");
	else if (*port)
		err = iw_fail(why, IW_E_BUSY, "sctp: port %u: reserved by another process",
			      (uint32_t)*port);
	else
		err = iw_fail(why, IW_E_BUSY, "sctp: all ports from %u are reserved",
			      (uint32_t)DYNAMIC_FIRST);
	close(*fd);
	*fd = -1;
	return err;
}

int iw_sock_reserve_sctp_place(int *fd, uint16_t port, const char *place, struct iw_fault *why)
{
	bool busy;
	int err;

	*fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (*fd < 0)
		return iw_os_fail(why, errno, "sctp: open a socket to reserve a port");
	busy = is_taken(*fd, port, "*");
	if (!busy && take_name(*fd, port, place) == 0)
		return 0;
	err = busy || errno == EADDRINUSE
		      ? iw_fail(why, IW_E_BUSY, "sctp: port %u of %s: reserved by another process",
				(uint32_t)port, place)
		      : iw_os_fail(why, errno, "sctp: reserve a port");
	close(*fd);
	*fd = -1;
	return err;
}
