/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* IPv4 and IPv6 addresses with a port: resolving, comparing, printing. */
#ifndef IW_OS_ADDR_H
#define IW_OS_ADDR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <iwarp/err.h>

struct iw_addr {
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	};
	socklen_t len; /* 0: no address */
};

/* "[ffff:...:255.255.255.255%interface]:65535" with its NUL. */
#define IW_ADDR_TEXT (46 + 1 + 16 + 2 + 6)

/*
 * Resolves host with port into at most cap addresses, in the order in which to try them; *n is
 * their number, at least 1 on success. Numeric text ("10.0.0.1", "fe80::1%eth0", brackets allowed)
 * needs no resolver. A name is passed to the system's resolver, which blocks: call it before there
 * are connections to serve. NULL or "" is the loopback, 127.0.0.1 and then ::1; "*" is every
 * address, :: and then 0.0.0.0.
 * IW_E_INVAL: cap is 0, or host is an impossible IPv4 address or contains a port; IW_E_NOENT: no
 * such host or no such interface; IW_E_NOTSUP: the host has neither an IPv4 nor an IPv6 address;
 * IW_E_AGAIN: the name service does not answer, try again later; IW_E_NOMEM; IW_E_OS. *why (may be
 * NULL) names the host.
 */
IW_MUST_CHECK int iw_addr_resolve(struct iw_addr *out, size_t cap, size_t *n, const char *host,
				  uint16_t port, struct iw_fault *why);

/*
 * Parses a numeric address; never calls a resolver. Brackets and %interface as in iw_addr_resolve.
 * IW_E_INVAL: text is not such an address, or the interface does not exist.
 */
IW_MUST_CHECK int iw_addr_parse(struct iw_addr *out, const char *text, uint16_t port);

/* Writes "10.0.0.1:7471", "[fe80::1%eth0]:7471" into buf; returns buf. */
const char *iw_addr_format(char buf[static IW_ADDR_TEXT], const struct iw_addr *a);
/* Writes "10.0.0.1", "fe80::1%eth0" into buf; returns buf. ::ffff:10.0.0.1 becomes 10.0.0.1. */
const char *iw_addr_host(char buf[static IW_ADDR_TEXT], const struct iw_addr *a);

/* Return and set the port, in host order; 0: a is no address. */
uint16_t iw_addr_port(const struct iw_addr *a);
void iw_addr_set_port(struct iw_addr *a, uint16_t port);

/* True for 127.0.0.0/8, ::1 and ::ffff:127.0.0.0/104. */
bool iw_addr_is_loopback(const struct iw_addr *a);
bool iw_addr_is_any(const struct iw_addr *a);                         /* 0.0.0.0 or :: */
bool iw_addr_equal(const struct iw_addr *a, const struct iw_addr *b); /* address, scope and port */

#endif
