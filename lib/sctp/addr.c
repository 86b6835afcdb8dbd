// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Addresses: their kind, and the octets of headers in a packet to them. */
#include "sctp/internal.h"

#include <string.h>

bool iw_sctp_addr_same_ip(const struct iw_sctp_addr *a, const struct iw_sctp_addr *b)
{
	return memcmp(a->ip, b->ip, sizeof(a->ip)) == 0 && a->scope == b->scope;
}

bool iw_sctp_addr_is_ipv4(const struct iw_sctp_addr *a)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(a->ip, mapped, sizeof(mapped)) == 0;
}

bool iw_sctp_addr_has_scope(const struct iw_sctp_addr *a)
{
	return a->ip[0] == 0xfe && (a->ip[1] & 0xc0) == 0x80;
}

bool iw_sctp_addr_is_unicast(const struct iw_sctp_addr *a)
{
	static const uint8_t zero[16];

	if (iw_sctp_addr_is_ipv4(a))
		return a->ip[12] != 0 && a->ip[12] < 224;
	return a->ip[0] != 0xff && memcmp(a->ip, zero, sizeof(zero)) != 0;
}

uint32_t iw_sctp_overhead_to(const struct iw_sctp *s, const struct iw_sctp_addr *addr)
{
	uint32_t ip = iw_sctp_addr_is_ipv4(addr) ? 20 : 40, udp = addr->udp_port ? 8 : 0;

	return ip + udp + s->cfg.dtls_overhead + IW_SCTP_HDR_LEN;
}
