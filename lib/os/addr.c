// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Addresses: parse and print them, resolve names. */
#include "os/addr.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "util/num.h"
#include "util/text.h"

static void set_in(struct iw_addr *a, struct in_addr ip, uint16_t port)
{
	*a = (struct iw_addr){
		.in = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = ip },
		.len = sizeof(a->in)
	};
}

static void set_in6(struct iw_addr *a, struct in6_addr ip, uint32_t scope, uint16_t port)
{
	*a = (struct iw_addr){ .in6 = { .sin6_family = AF_INET6,
					.sin6_port = htons(port),
					.sin6_addr = ip,
					.sin6_scope_id = scope },
			       .len = sizeof(a->in6) };
}

/* Parses the interface after the % of a link-local address: a name or an index. */
static int parse_scope(uint32_t *out, const char *text)
{
	unsigned int index = if_nametoindex(text);
	char *end;
	unsigned long v;

	if (index != 0) {
		*out = index;
		return 0;
	}
	if (text[0] < '0' || text[0] > '9')
		return IW_E_INVAL;
	errno = 0;
	v = strtoul(text, &end, 10);
	if (*end != '\0' || errno != 0 || v == 0 || v > UINT32_MAX)
		return IW_E_INVAL;
	*out = (uint32_t)v;
	return 0;
}

int iw_addr_parse(struct iw_addr *out, const char *text, uint16_t port)
{
	char copy[INET6_ADDRSTRLEN + 1 + IF_NAMESIZE + 2];
	size_t len = strlen(text);
	uint32_t scope = 0;
	struct in6_addr ip6;
	struct in_addr ip;
	char *percent;

	if (inet_pton(AF_INET, text, &ip) == 1) {
		set_in(out, ip, port);
		return 0;
	}
	if (len > 2 && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	if (len >= sizeof(copy))
		return IW_E_INVAL;
	memcpy(copy, text, len);
	copy[len] = '\0';
	percent = strchr(copy, '%');
	if (percent) {
		*percent = '\0';
		if (parse_scope(&scope, percent + 1) != 0)
			return IW_E_INVAL;
	}
	if (inet_pton(AF_INET6, copy, &ip6) != 1)
		return IW_E_INVAL;
	set_in6(out, ip6, scope, port);
	return 0;
}

static int resolver_error(struct iw_fault *why, const char *host, int code)
{
	switch (code) {
	case EAI_SYSTEM:
		return iw_os_fail(why, errno, "look up host %s", host);
	case EAI_MEMORY:
		return iw_fail(why, IW_E_NOMEM, "look up host %s: out of memory", host);
	case EAI_AGAIN:
		return iw_fail(
			why, IW_E_AGAIN,
			"look up host %s: the name service does not answer; try again, or give a "
			"numeric address",
			host);
	default:
		return iw_fail(why, IW_E_NOENT,
			       "look up host %s: no such host; check the name, or give an address",
			       host);
	}
}

/* True for text such as "300.1.1.1": no host has such a name, so a look-up would only take time. */
static bool is_bad_ipv4(const char *host)
{
	struct in_addr ip;

	return *host && host[strspn(host, "0123456789.")] == '\0' && inet_aton(host, &ip) == 0;
}

/*
 * Returns the port in text such as "localhost:7471", or NULL. No name contains a colon, and an IPv6
 * address contains at least two.
 */
static const char *port_of(const char *host)
{
	const char *colon = strchr(host, ':');

	return colon && colon[1] && colon[1 + strspn(colon + 1, "0123456789")] == '\0' ? colon + 1
										       : NULL;
}

static int resolve_name(struct iw_addr *out, size_t cap, size_t *n, const char *host, uint16_t port,
			struct iw_fault *why)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *list, *ai;
	int code;

	if (is_bad_ipv4(host))
		return iw_fail(why, IW_E_INVAL,
			       "\"%s\": not an IPv4 address; expected four numbers from 0 to 255",
			       host);
	if (port_of(host))
		return iw_fail(why, IW_E_INVAL,
			       "\"%s\": expected a host without a port; give the port with -p %s",
			       host, port_of(host));
	if (strchr(host, '%'))
		return iw_fail(
			why, IW_E_NOENT,
			"%s: no such interface, or not an IPv6 address; expected one such as fe80::1%%eth0, `ip link` lists the interfaces",
			host);
	code = getaddrinfo(host, NULL, &hints, &list);
	if (code != 0)
		return resolver_error(why, host, code);
	*n = 0;
	for (ai = list; ai && *n < cap; ai = ai->ai_next) {
		struct iw_addr *a = &out[*n];

		if (ai->ai_addrlen > sizeof(a->in6) ||
		    (ai->ai_family != AF_INET && ai->ai_family != AF_INET6))
			continue;
		*a = (struct iw_addr){ .len = ai->ai_addrlen };
		memcpy(&a->in6, ai->ai_addr, ai->ai_addrlen);
		iw_addr_set_port(a, port);
		++*n;
	}
	freeaddrinfo(list);
	if (*n == 0)
		return iw_fail(why, IW_E_NOTSUP, "look up host %s: it has no IPv4 or IPv6 address",
			       host);
	return 0;
}

int iw_addr_resolve(struct iw_addr *out, size_t cap, size_t *n, const char *host, uint16_t port,
		    struct iw_fault *why)
{
	struct iw_addr both[2] = { 0 };

	if (cap == 0)
		return iw_fail(why, IW_E_INVAL, "look up host: no room for an address");
	if (!host || host[0] == '\0') {
		set_in(&both[0], (struct in_addr){ htonl(INADDR_LOOPBACK) }, port);
		set_in6(&both[1], in6addr_loopback, 0, port);
	} else if (strcmp(host, "*") == 0) {
		set_in6(&both[0], in6addr_any, 0, port);
		set_in(&both[1], (struct in_addr){ htonl(INADDR_ANY) }, port);
	}
	if (both[0].len > 0) {
		*n = IW_MIN(cap, (size_t)2);
		memcpy(out, both, *n * sizeof(both[0]));
		return 0;
	}
	if (iw_addr_parse(&out[0], host, port) == 0) {
		*n = 1;
		return 0;
	}
	return resolve_name(out, cap, n, host, port, why);
}

const char *iw_addr_host(char buf[static IW_ADDR_TEXT], const struct iw_addr *a)
{
	char name[IF_NAMESIZE];
	size_t len;

	if (a->len == 0) {
		snprintf(buf, IW_ADDR_TEXT, "none");
		return buf;
	}
	if (a->sa.sa_family == AF_INET) {
		inet_ntop(AF_INET, &a->in.sin_addr, buf, IW_ADDR_TEXT);
		return buf;
	}
	if (IN6_IS_ADDR_V4MAPPED(&a->in6.sin6_addr)) {
		inet_ntop(AF_INET, a->in6.sin6_addr.s6_addr + 12, buf, IW_ADDR_TEXT);
		return buf;
	}
	inet_ntop(AF_INET6, &a->in6.sin6_addr, buf, IW_ADDR_TEXT);
	len = strlen(buf);
	if (a->in6.sin6_scope_id == 0)
		return buf;
	if (if_indextoname(a->in6.sin6_scope_id, name))
		snprintf(buf + len, IW_ADDR_TEXT - len, "%%%s", name);
	else
		snprintf(buf + len, IW_ADDR_TEXT - len, "%%%u", a->in6.sin6_scope_id);
	return buf;
}

const char *iw_addr_format(char buf[static IW_ADDR_TEXT], const struct iw_addr *a)
{
	char host[IW_ADDR_TEXT];

	if (a->len == 0 || a->sa.sa_family == AF_INET || IN6_IS_ADDR_V4MAPPED(&a->in6.sin6_addr))
		snprintf(buf, IW_ADDR_TEXT, "%.22s:%u", iw_addr_host(host, a), iw_addr_port(a));
	else
		snprintf(buf, IW_ADDR_TEXT, "[%.62s]:%u", iw_addr_host(host, a), iw_addr_port(a));
	return buf;
}

uint16_t iw_addr_port(const struct iw_addr *a)
{
	if (a->len == 0)
		return 0;
	return ntohs(a->sa.sa_family == AF_INET ? a->in.sin_port : a->in6.sin6_port);
}

void iw_addr_set_port(struct iw_addr *a, uint16_t port)
{
	if (a->sa.sa_family == AF_INET)
		a->in.sin_port = htons(port);
	else
		a->in6.sin6_port = htons(port);
}

static bool in_is_loopback(uint32_t host_order)
{
	return host_order >> 24 == IN_LOOPBACKNET;
}

bool iw_addr_is_loopback(const struct iw_addr *a)
{
	const uint8_t *ip6 = a->in6.sin6_addr.s6_addr;

	if (a->len == 0)
		return false;
	if (a->sa.sa_family == AF_INET)
		return in_is_loopback(ntohl(a->in.sin_addr.s_addr));
	if (IN6_IS_ADDR_V4MAPPED(&a->in6.sin6_addr))
		return ip6[12] == IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(&a->in6.sin6_addr);
}

bool iw_addr_is_any(const struct iw_addr *a)
{
	if (a->len == 0)
		return false;
	if (a->sa.sa_family == AF_INET)
		return a->in.sin_addr.s_addr == htonl(INADDR_ANY);
	return IN6_IS_ADDR_UNSPECIFIED(&a->in6.sin6_addr);
}

bool iw_addr_equal(const struct iw_addr *a, const struct iw_addr *b)
{
	if (a->len == 0 || b->len == 0)
		return a->len == b->len;
	if (a->sa.sa_family != b->sa.sa_family || iw_addr_port(a) != iw_addr_port(b))
		return false;
	if (a->sa.sa_family == AF_INET)
		return a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
	return memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr, sizeof(a->in6.sin6_addr)) == 0 &&
	       a->in6.sin6_scope_id == b->in6.sin6_scope_id;
}
