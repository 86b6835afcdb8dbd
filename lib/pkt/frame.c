// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Ethernet and IP (RFC 791, RFC 8200) around SCTP. */
#include "pkt/frame.h"

#include <string.h>

#include "util/num.h"

#define ETHER_LEN  14
#define VLAN_TAGS  2
#define IPV4_LEN   20
#define IPV6_LEN   40
#define PROTO_SCTP 132
#define TTL        64
#define EXTENSIONS 8 /* headers between IPv6 and SCTP that are looked at */

/* RFC 1071; 0 of a header whose checksum is right. */
static uint16_t checksum(const uint8_t *p, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i + 1 < len; i += 2)
		sum += iw_get_be16(p + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum += sum >> 16;
	return (uint16_t)~sum;
}

static void set_v4(struct iw_addr *a, const uint8_t *ip)
{
	a->in = (struct sockaddr_in){ .sin_family = AF_INET };
	memcpy(&a->in.sin_addr, ip, 4);
	a->len = sizeof(a->in);
}

static void set_v6(struct iw_addr *a, const uint8_t *ip)
{
	a->in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6 };
	memcpy(&a->in6.sin6_addr, ip, 16);
	a->len = sizeof(a->in6);
}

static bool parse_v4(struct iw_frame *f, const uint8_t *ip, size_t at, size_t len)
{
	size_t head, total;

	if (len < IPV4_LEN)
		return false;
	head = (size_t)(ip[0] & 0xf) * 4;
	total = iw_get_be16(ip + 2);
	/* MF or an offset: the kernel puts fragments together. */
	if (ip[0] >> 4 != 4 || head < IPV4_LEN || total < head || len < total ||
	    iw_get_be16(ip + 6) & 0x3fff || ip[9] != PROTO_SCTP || checksum(ip, head) != 0)
		return false;
	set_v4(&f->src, ip + 12);
	set_v4(&f->dst, ip + 16);
	f->at = at + head;
	f->len = total - head;
	return true;
}

static bool parse_v6(struct iw_frame *f, const uint8_t *ip, size_t at, size_t len)
{
	size_t end, head = IPV6_LEN;
	uint8_t next;

	if (len < IPV6_LEN || ip[0] >> 4 != 6)
		return false;
	end = IPV6_LEN + iw_get_be16(ip + 4);
	if (len < end)
		return false;
	next = ip[6];
	for (int i = 0; i < EXTENSIONS && next != PROTO_SCTP; i++) {
		/* Hop-by-hop options, routing, destination options: RFC 8200 4.3, 4.4, 4.6. */
		if (next != 0 && next != 43 && next != 60)
			return false;
		if (end - head < 8 || end - head < ((size_t)ip[head + 1] + 1) * 8)
			return false;
		next = ip[head];
		head += ((size_t)ip[head + 1] + 1) * 8;
	}
	if (next != PROTO_SCTP)
		return false;
	set_v6(&f->src, ip + 8);
	set_v6(&f->dst, ip + 24);
	f->at = at + head;
	f->len = end - head;
	return true;
}

bool iw_frame_parse(struct iw_frame *out, const uint8_t *data, size_t len)
{
	size_t at = ETHER_LEN;
	uint16_t type;

	if (len < ETHER_LEN)
		return false;
	type = iw_get_be16(data + 12);
	for (int i = 0; i < VLAN_TAGS && (type == 0x8100 || type == 0x88a8); i++) {
		if (len - at < 4)
			return false;
		type = iw_get_be16(data + at + 2);
		at += 4;
	}
	if (type == 0x0800)
		return parse_v4(out, data + at, at, len - at);
	return type == 0x86dd && parse_v6(out, data + at, at, len - at);
}

size_t iw_frame_head(uint8_t head[static IW_FRAME_HEAD_MAX], const uint8_t ether[static 14],
		     const struct iw_addr *src, const struct iw_addr *dst, size_t len)
{
	uint8_t *ip = head + ETHER_LEN;

	memcpy(head, ether, ETHER_LEN);
	if (dst->sa.sa_family == AF_INET6) {
		memset(ip, 0, IPV6_LEN);
		ip[0] = 6 << 4;
		iw_put_be16(ip + 4, (uint16_t)len);
		ip[6] = PROTO_SCTP;
		ip[7] = TTL;
		memcpy(ip + 8, &src->in6.sin6_addr, 16);
		memcpy(ip + 24, &dst->in6.sin6_addr, 16);
		return ETHER_LEN + IPV6_LEN;
	}
	memset(ip, 0, IPV4_LEN);
	ip[0] = 4 << 4 | IPV4_LEN / 4;
	iw_put_be16(ip + 2, (uint16_t)(IPV4_LEN + len));
	/* DF; never a fragment, so the identification says nothing (RFC 6864 4.1). */
	iw_put_be16(ip + 6, 0x4000);
	ip[8] = TTL;
	ip[9] = PROTO_SCTP;
	memcpy(ip + 12, &src->in.sin_addr, 4);
	memcpy(ip + 16, &dst->in.sin_addr, 4);
	iw_put_be16(ip + 10, checksum(ip, IPV4_LEN));
	return ETHER_LEN + IPV4_LEN;
}
