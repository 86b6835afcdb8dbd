/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * TCP sockets: every one non-blocking and closed on exec. Descriptors that these functions return
 * are the caller's to close; when they fail there is nothing to close. Where a `why` is taken it
 * may be NULL; it names the step and the address.
 */
#ifndef IW_OS_SOCK_H
#define IW_OS_SOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "os/addr.h"

/*
 * What to set before a socket connects or listens. Zero-initialised: nothing. All pointers borrowed
 * until return.
 */
struct iw_sock_cfg {
	const struct iw_addr *bind; /* a connecting socket's local address; port 0: any */
	const char *interface;      /* SO_BINDTODEVICE; also the scope of link-local addresses */
	const char *cc;             /* congestion control, os/cc.h */
	size_t sndbuf, rcvbuf;      /* octets; 0: the system's own tuning, which a size ends */
	bool nodelay;               /* TCP_NODELAY: no waiting for more to send */
	bool v6only;                /* an IPv6 listener takes no IPv4 connections */
};

/*
 * Starts to connect. On success *fd is a socket that becomes writable when the attempt has ended,
 * which may be at once; then iw_tcp_connect_result() tells how. Errors: IW_E_PERM, IW_E_NOTSUP (no
 * such address family, no such congestion control), IW_E_NOENT (no such interface), IW_E_LIMIT (no
 * more descriptors), IW_E_INVAL (port 0, or a link-local address without an interface),
 * IW_E_NOMEM, IW_E_OS: try the next address or give up.
 */
IW_MUST_CHECK int iw_tcp_connect(int *fd, const struct iw_addr *peer, const struct iw_sock_cfg *cfg,
				 struct iw_fault *why);

/*
 * Whether the system could send to @peer from @cfg's address and interface. Sends nothing. 0: there
 * is a route, or the system does not say. IW_E_INVAL: the address has another family, or a
 * link-local address without an interface. IW_E_OS: no route, the interface is down, or that
 * address cannot reach the peer.
 */
IW_MUST_CHECK int iw_sock_check_route(const struct iw_addr *peer, const struct iw_sock_cfg *cfg,
				      struct iw_fault *why);

/* IW_E_INVAL: @local cannot be the source of a connection to @peer, whose address family differs. */
int iw_sock_other_family(struct iw_fault *why, const struct iw_addr *peer,
			 const struct iw_addr *local);

/* IW_E_INVAL: @local is a loopback address, and peers reach this machine through @interface (NULL:
 * any), which is not lo. */
IW_MUST_CHECK int iw_sock_check_interface(const struct iw_addr *local, const char *interface,
					  struct iw_fault *why);

#define IW_SOCK_HINT 160
/*
 * Why @peer may not have answered, as far as this machine knows: no route, a route that does not
 * lead through @interface (NULL: any), an interface without carrier. False: not known.
 */
bool iw_sock_why_silent(char hint[static IW_SOCK_HINT], const struct iw_addr *peer,
			const char *interface);
/*
 * Returns the option that a listener needs so that @peer reaches it, for hints after "a listener with
 * -t udp": " and --bind '*'", or " and --bind for this address" for a loopback address other than 127.0.0.1
 * (Debian maps the name of the machine to 127.0.1.1). Empty for 127.0.0.1, the default of a listener.
 * Static.
 */
const char *iw_sock_bind_hint(const struct iw_addr *peer);

/* Appends what to do to the text of a fault. */
void iw_sock_add_hint(struct iw_fault *why, const char *hint);
/* What to look at when bind() or listen() fails with @errnum. Static; may be empty. */
const char *iw_sock_listen_hint(int errnum, uint16_t port);
/* Appends what to look at when a connection to @peer fails with @errnum. @transports: of the
 * listener, such as "tcp". */
void iw_sock_connect_hint(struct iw_fault *why, int errnum, const struct iw_addr *peer,
			  const char *interface, const char *transports);

/*
 * How the attempt ended: 0 connected, IW_E_AGAIN still under way, else why it failed (then close
 * @fd). A socket that TCP joined to itself, which happens when the peer's port is one that the
 * system hands out and nobody listens there, is reported as refused.
 */
IW_MUST_CHECK int iw_tcp_connect_result(int fd, const struct iw_addr *peer, struct iw_fault *why);

/*
 * A listening socket on @addr with room for @backlog connections not yet accepted (the system caps
 * it at net.core.somaxconn). Port 0: the system's choice, which iw_sock_local() tells. The address
 * may be in TIME_WAIT. Errors as iw_tcp_connect.
 */
IW_MUST_CHECK int iw_tcp_listen(int *fd, const struct iw_addr *addr, int backlog,
				const struct iw_sock_cfg *cfg, struct iw_fault *why);

/*
 * Duplicates @given, a listening TCP socket that another process made (borrowed), makes it
 * non-blocking and sets @cfg on it. IW_E_INVAL: it is something else. Other errors as
 * iw_tcp_connect.
 */
IW_MUST_CHECK int iw_tcp_listen_on(int *fd, int given, const struct iw_sock_cfg *cfg,
				   struct iw_fault *why);

/*
 * The next connection of @listener into *fd, its peer into *peer (may be NULL). IW_E_AGAIN: there
 * is none now. IW_E_LIMIT: no more descriptors; the connection stays queued and the listener stays
 * readable, so stop polling it until a descriptor is free. Connections that died in the queue are
 * passed over. IW_E_NOMEM, IW_E_OS.
 */
IW_MUST_CHECK int iw_tcp_accept(int *fd, struct iw_addr *peer, int listener, struct iw_fault *why);

/* The socket's own address. 0, or IW_E_OS. */
IW_MUST_CHECK int iw_sock_local(int fd, struct iw_addr *out);

/* TCP_NODELAY. 0 or IW_E_OS. */
IW_MUST_CHECK int iw_tcp_nodelay(int fd, bool on);

/*
 * Sets the size of the send and the receive buffer, octets; 0 leaves that one alone. The system
 * caps what an ordinary user asks for (net.core.wmem_max, rmem_max) without saying so: read back
 * with iw_sock_buffers(). 0 or IW_E_OS.
 */
IW_MUST_CHECK int iw_sock_set_buffers(int fd, size_t sndbuf, size_t rcvbuf);

/*
 * The sizes in force, octets as one would ask for them (the kernel keeps twice that for its own
 * bookkeeping). 0 or IW_E_OS.
 */
IW_MUST_CHECK int iw_sock_buffers(int fd, size_t *sndbuf, size_t *rcvbuf);

/*
 * The effective maximum segment size of a connected socket: payload octets of a full TCP segment,
 * TCP options that every segment carries already subtracted. The octets that SACK blocks take while
 * there are any are not: Linux does not tell them. It changes with the path; read it again. 0 or
 * IW_E_OS.
 */
IW_MUST_CHECK int iw_tcp_emss(int fd, uint32_t *emss);
/* Octets that were given to a TCP socket and that the peer's TCP has not acknowledged; 0 if the system does not report them. */
uint64_t iw_tcp_unacked(int fd);

/*
 * Reserves an SCTP port for a process that does not use the kernel's SCTP. Processes of one network
 * namespace that call this never share a port. *port 0: draws one of 49152 to 65535 (RFC 6335).
 * *fd holds the reservation until the caller closes it. It is a named UNIX socket and receives
 * nothing. IW_E_BUSY: *port is reserved, or all are; IW_E_LIMIT: no descriptors; IW_E_OS.
 */
IW_MUST_CHECK int iw_sock_reserve_sctp_port(int *fd, uint16_t *port, struct iw_fault *why);
/*
 * As above, for a listener on the address @place, or on all addresses: "*". Another place may have
 * the same port. IW_E_BUSY: @place or "*" is reserved; else as above.
 */
IW_MUST_CHECK int iw_sock_reserve_sctp_place(int *fd, uint16_t port, const char *place,
					     struct iw_fault *why);

#endif
