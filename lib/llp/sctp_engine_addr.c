// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Addresses of the carrier (lib/pkt) and of the engine (lib/sctp). */
#include "llp/sctp_engine.h"

#include <netinet/in.h>
#include <string.h>

void iw_port_to_engine(struct iw_sctp_addr *out, const struct iw_addr *a, bool with_port)
{
	memset(out, 0, sizeof(*out));
	if (a->len == 0)
		return;
	if (a->sa.sa_family == AF_INET) {
		out->ip[10] = out->ip[11] = 0xff;
		memcpy(out->ip + 12, &a->in.sin_addr, 4);
	} else {
		memcpy(out->ip, &a->in6.sin6_addr, 16);
		if (IN6_IS_ADDR_LINKLOCAL(&a->in6.sin6_addr))
			out->scope = a->in6.sin6_scope_id;
	}
	if (with_port)
		out->udp_port = iw_addr_port(a);
}

void iw_port_from_engine(struct iw_addr *out, const struct iw_sctp_addr *a, uint16_t port)
{
	static const struct iw_sctp_addr none;

	memset(out, 0, sizeof(*out));
	if (memcmp(a, &none, sizeof(none)) == 0)
		return;
	if (iw_sctp_addr_is_ipv4(a)) {
		out->in.sin_family = AF_INET;
		memcpy(&out->in.sin_addr, a->ip + 12, 4);
		out->len = sizeof(out->in);
	} else {
		out->in6.sin6_family = AF_INET6;
		memcpy(&out->in6.sin6_addr, a->ip, 16);
		out->in6.sin6_scope_id = a->scope;
		out->len = sizeof(out->in6);
	}
	iw_addr_set_port(out, port);
}
