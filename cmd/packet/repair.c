// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Lengths and checksums of IP, TCP and UDP. */
#include "packet/repair.h"

#include <string.h>

#include "util/num.h"

#define ETHER_MIN    60 /* IEEE 802.3: without the FCS */
#define IPV4_SUM     10
#define IPV6_LEN     40
#define TCP_SUM      16
#define UDP_SUM      6
#define PROTOCOL_TCP 6
#define PROTOCOL_UDP 17

/* RFC 1071: adds the octets to a sum. */
static uint64_t add(uint64_t sum, const uint8_t *p, size_t len)
{
	for (; len >= 4; p += 4, len -= 4)
		sum += iw_get_be32(p);
	if (len >= 2) {
		sum += iw_get_be16(p);
		p += 2;
		len -= 2;
	}
	if (len > 0)
		sum += (uint64_t)p[0] << 8;
	return sum;
}

static uint16_t fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

uint16_t iw_packet_sum(const uint8_t *p, size_t len)
{
	return fold(add(0, p, len));
}

/* RFC 9293 3.1, RFC 768, RFC 8200 8.1. */
static uint16_t transport_sum(const uint8_t *ip, bool v6, uint8_t protocol, const uint8_t *p,
			      size_t len)
{
	uint64_t sum = (uint64_t)protocol + len;

	sum = v6 ? add(sum, ip + 8, 32) : add(sum, ip + 12, 8);
	return fold(add(sum, p, len));
}

static void set_ip_len(uint8_t *ip, bool v6, size_t len)
{
	size_t head;

	if (v6) {
		iw_put_be16(ip + 4, (uint16_t)(len - IPV6_LEN));
		return;
	}
	head = (size_t)(ip[0] & 0xf) * 4;
	iw_put_be16(ip + 2, (uint16_t)len);
	iw_put_be16(ip + IPV4_SUM, 0);
	iw_put_be16(ip + IPV4_SUM, iw_packet_sum(ip, head));
}

static void sum_tcp(const uint8_t *ip, bool v6, uint8_t *tcp, size_t len)
{
	iw_put_be16(tcp + TCP_SUM, 0);
	iw_put_be16(tcp + TCP_SUM, transport_sum(ip, v6, PROTOCOL_TCP, tcp, len));
}

static void sum_udp(const uint8_t *ip, bool v6, uint8_t *udp, size_t len)
{
	uint16_t sum;

	iw_put_be16(udp + UDP_SUM, 0);
	sum = transport_sum(ip, v6, PROTOCOL_UDP, udp, len);
	iw_put_be16(udp + UDP_SUM, sum ? sum : 0xffff);
}

void iw_packet_complete(uint8_t *ip, bool v6, uint8_t *transport, bool udp, const uint8_t *end)
{
	size_t len = (size_t)(end - transport);

	set_ip_len(ip, v6, (size_t)(end - ip));
	if (udp) {
		iw_put_be16(transport + 4, (uint16_t)len);
		sum_udp(ip, v6, transport, len);
	} else {
		sum_tcp(ip, v6, transport, len);
	}
}

static void repair_udp(const uint8_t *ip, bool v6, uint8_t *udp, size_t len)
{
	iw_put_be16(udp + 4, (uint16_t)len);
	if (iw_get_be16(udp + UDP_SUM))
		sum_udp(ip, v6, udp, len);
}

size_t iw_packet_repair(uint8_t *frame, size_t len, const struct iw_packet *p,
			enum iw_packet_kind kind, size_t payload_len)
{
	uint8_t *ip = frame + (p->ip - frame), *transport = frame + (p->transport - frame);
	size_t end = (size_t)(p->data - frame) + payload_len, padded;
	size_t transport_len = end - (size_t)(transport - frame);
	bool v6 = p->end[0].v6;

	if (payload_len < p->len)
		set_ip_len(ip, v6, end - (size_t)(ip - frame));
	if (kind == IW_PACKET_TCP) {
		sum_tcp(ip, v6, transport, transport_len);
	} else if (p->end[0].udp_port || p->end[1].udp_port) {
		repair_udp(ip, v6, transport, transport_len);
	}
	if (payload_len == p->len)
		return len;
	padded = IW_MIN(IW_MAX(end, ETHER_MIN), len);
	memset(frame + end, 0, padded - end);
	return padded;
}
