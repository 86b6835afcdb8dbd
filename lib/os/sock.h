/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * TCP sockets, all non-blocking and closed on exec. The caller owns the returned descriptors; after
 * an error there is nothing to close. Each `why` may be NULL; it names the step and the address.
 */
#ifndef IW_OS_SOCK_H
#define IW_OS_SOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "os/addr.h"

/*
 * Settings of a socket before it connects or listens. Zero: the system's default. All pointers are
 * borrowed for the call.
 */
struct iw_sock_cfg {
	const struct iw_addr *bind; /* a connecting socket's local address; port 0: any */
	const char *interface;      /* SO_BINDTODEVICE; also the scope of link-local addresses */
	const char *cc;             /* congestion control, os/cc.h */
	size_t sndbuf, rcvbuf;      /* octets; 0: the system tunes them; a size stops the tuning */
	bool nodelay;               /* TCP_NODELAY: send small segments at once */
	bool v6only;                /* an IPv6 listener accepts no IPv4 connections */
};

/*
 * Starts to connect. On success *fd is a socket that becomes writable when the attempt has ended,
 * perhaps at once; iw_tcp_connect_result() then returns the result.
 * IW_E_INVAL: port 0, a multicast address, or a link-local address without an interface;
 * IW_E_NOTSUP: no such address family or congestion control; IW_E_NOENT: no such interface;
 * IW_E_PERM: a capability is missing, or a route prohibits it; IW_E_LIMIT: no free descriptors;
 * IW_E_NOMEM; IW_E_OS: try the next address or give up.
 */
IW_MUST_CHECK int iw_tcp_connect(int *fd, const struct iw_addr *peer, const struct iw_sock_cfg *cfg,
				 struct iw_fault *why);

/*
 * Checks that the system has a route to peer from cfg's address and interface. Sends nothing. 0:
 * there is a route, or the system does not report it. IW_E_INVAL: the local address has another
 * family, peer is a multicast address, or a link-local address has no interface. IW_E_PERM: a route
 * prohibits it. IW_E_OS: no route, the interface is down, or the local address cannot reach the
 * peer.
 */
IW_MUST_CHECK int iw_sock_check_route(const struct iw_addr *peer, const struct iw_sock_cfg *cfg,
				      struct iw_fault *why);

/* Returns IW_E_INVAL: local cannot be the source of a connection to peer, whose family differs. */
int iw_sock_other_family(struct iw_fault *why, const struct iw_addr *peer,
			 const struct iw_addr *local);

/*
 * IW_E_INVAL: local is a loopback address, but peers reach this host through interface (NULL: any),
 * which is not lo.
 */
IW_MUST_CHECK int iw_sock_check_interface(const struct iw_addr *local, const char *interface,
					  struct iw_fault *why);

#define IW_SOCK_HINT 160
/*
 * Finds out why peer may not have answered, as far as this host knows: no route, a route that does
 * not use interface (NULL: any), an interface without carrier. False: not known.
 */
bool iw_sock_why_silent(char hint[static IW_SOCK_HINT], const struct iw_addr *peer,
			const char *interface);
/*
 * Returns the option that a listener at the address peer needs so that this host reaches it, for
 * hints after "a listener with -t udp": " and --bind '*'", or " and --bind for this address" for a
 * loopback address other than 127.0.0.1 (Debian maps the name of the machine to 127.0.1.1). Empty
 * for 127.0.0.1, the default of a listener. Static.
 */
const char *iw_sock_bind_hint(const struct iw_addr *peer);

/* Appends a remedy to the text of a fault. */
void iw_sock_add_hint(struct iw_fault *why, const char *hint);
/* Returns a remedy, "; ...", for a bind() or listen() that failed with errnum, or "". Static. */
const char *iw_sock_listen_hint(int errnum, uint16_t port);
/*
 * Appends what to check if a connection to peer fails with errnum. transports: those of the
 * listener, such as "tcp".
 */
void iw_sock_connect_hint(struct iw_fault *why, int errnum, const struct iw_addr *peer,
			  const char *interface, const char *transports);

/*
 * Returns the result of a connection attempt: 0: connected; IW_E_AGAIN: still in progress; else why
 * it failed (close fd then). TCP can connect a socket to itself, if the peer's port is an
 * ephemeral one without a listener; this is reported as refused. *local (NULL: not wanted): the
 * address of this end, if the result is 0.
 */
IW_MUST_CHECK int iw_tcp_connect_result(int fd, const struct iw_addr *peer, struct iw_addr *local,
					struct iw_fault *why);
/* True if iw_tcp_connect_result() would return 0, unless the socket is connected to itself. */
bool iw_tcp_is_connected(int fd);

/*
 * Opens a listening socket on addr with a queue for backlog connections not yet accepted (the
 * system caps it at net.core.somaxconn). Port 0: the system's choice, which iw_sock_local()
 * returns. Connections of that port in TIME_WAIT do not prevent it. Errors as iw_tcp_connect;
 * IW_E_INVAL also: as iw_sock_check_interface; IW_E_OS also: another listener has the port.
 */
IW_MUST_CHECK int iw_tcp_listen(int *fd, const struct iw_addr *addr, int backlog,
				const struct iw_sock_cfg *cfg, struct iw_fault *why);

/*
 * Duplicates given (borrowed), a listening TCP socket of another process, makes it non-blocking
 * and applies cfg. IW_E_INVAL: it is not a listening TCP socket. Other errors as iw_tcp_connect.
 */
IW_MUST_CHECK int iw_tcp_listen_on(int *fd, int given, const struct iw_sock_cfg *cfg,
				   struct iw_fault *why);

/*
 * Accepts the next connection of listener into *fd, and its peer into *peer (may be NULL).
 * Skips connections that ended in the queue. IW_E_AGAIN: none is pending. IW_E_LIMIT: no free
 * descriptors; the connection remains queued and the listener readable, so stop polling it until a
 * descriptor is free. IW_E_NOMEM, IW_E_OS.
 */
IW_MUST_CHECK int iw_tcp_accept(int *fd, struct iw_addr *peer, int listener, struct iw_fault *why);

/* Returns the socket's own address. IW_E_OS: fd is not a socket. */
IW_MUST_CHECK int iw_sock_local(int fd, struct iw_addr *out);

/* Sets TCP_NODELAY. 0 or IW_E_OS. */
IW_MUST_CHECK int iw_tcp_nodelay(int fd, bool on);

/*
 * Sets the sizes of the send and the receive buffer in octets; 0 leaves a size unchanged. The
 * system silently caps the sizes of ordinary users (net.core.wmem_max, rmem_max): read them back
 * with iw_sock_buffers(). 0 or IW_E_OS.
 */
IW_MUST_CHECK int iw_sock_set_buffers(int fd, size_t sndbuf, size_t rcvbuf);

/*
 * Returns the actual sizes in octets, as a caller requests them (the kernel doubles them for its
 * own bookkeeping). 0 or IW_E_OS.
 */
IW_MUST_CHECK int iw_sock_buffers(int fd, size_t *sndbuf, size_t *rcvbuf);

/*
 * Returns the effective maximum segment size of a connected socket: payload octets of a full TCP
 * segment, less the TCP options of every segment. SACK blocks are not subtracted, because Linux
 * does not report them. The size changes with the path: read it again. 0 or IW_E_OS.
 */
IW_MUST_CHECK int iw_tcp_emss(int fd, uint32_t *emss);
/*
 * Returns the octets in a TCP socket that the peer's TCP has not acknowledged; 0 if the system does
 * not report them.
 */
uint64_t iw_tcp_unacked(int fd);

/*
 * Reserves an SCTP port for a process that does not use the kernel's SCTP. Processes of one network
 * namespace that call this never share a port. *port 0: draws one of 49152 to 65535 (RFC 6335). *fd
 * holds the reservation until the caller closes it; it is a named UNIX socket and receives nothing.
 * IW_E_BUSY: *port is reserved, or all are; IW_E_LIMIT: no free descriptors; IW_E_OS.
 */
IW_MUST_CHECK int iw_sock_reserve_sctp_port(int *fd, uint16_t *port, struct iw_fault *why);
/*
 * Reserves an SCTP port for a listener on the address place ("192.0.2.1"), or on all addresses
 * ("*"). A listener on another address may reserve the same port. *fd as above. IW_E_BUSY: the port
 * is reserved for place or for "*"; IW_E_LIMIT, IW_E_OS as above.
 */
IW_MUST_CHECK int iw_sock_reserve_sctp_place(int *fd, uint16_t port, const char *place,
					     struct iw_fault *why);

#endif
