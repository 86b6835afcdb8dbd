// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The headers before SCTP: Ethernet, IP (RFC 791, RFC 8200) and UDP (RFC 768, RFC 6951). */
#include "pkt/frame.h"

#include <string.h>

#include "util/num.h"

#define ETHER_LEN  14
#define VLAN_TAGS  2
#define IPV4_LEN   20
#define IPV6_LEN   40
#define UDP_LEN    8
#define PROTO_UDP  17
#define PROTO_SCTP 132
#define TTL        64
#define EXTENSIONS 8 /* headers between IPv6 and SCTP that are examined, at most */

/* Adds octets to a sum that is not folded yet (RFC 1071). Only the last octets of a datagram may be
 * of an odd number. */
static uint64_t add_up(uint64_t sum, const uint8_t *p, size_t len)
{
	for (; len >= 8; p += 8, len -= 8)
		sum += (uint64_t)iw_get_be32(p) + iw_get_be32(p + 4);
	for (; len >= 2; p += 2, len -= 2)
		sum += iw_get_be16(p);
	return len ? sum + (uint64_t)(p[0] << 8) : sum;
}

static uint16_t fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Returns the checksum of a header; 0 if the header contains its correct checksum. */
static uint16_t checksum(const uint8_t *p, size_t len)
{
	return fold(add_up(0, p, len));
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

/* Parses the payload of IP: octets at .. end - 1 of the frame. */
static bool parse_inner(struct iw_frame *f, const uint8_t *data, size_t at, size_t end,
			uint8_t proto)
{
	if (proto == PROTO_UDP) {
		size_t len;

		if (end - at < UDP_LEN)
			return false;
		len = iw_get_be16(data + at + 4);
		/* Port 0 is invalid in UDP; in struct iw_frame it means that there is no UDP. */
		if (len < UDP_LEN || len > end - at || iw_get_be16(data + at + 2) == 0)
			return false;
		iw_addr_set_port(&f->src, iw_get_be16(data + at));
		iw_addr_set_port(&f->dst, iw_get_be16(data + at + 2));
		end = at + len;
		at += UDP_LEN;
	} else if (proto != PROTO_SCTP) {
		return false;
	}
	f->at = at;
	f->len = end - at;
	return true;
}

static bool parse_v4(struct iw_frame *f, const uint8_t *data, size_t at, size_t len)
{
	const uint8_t *ip = data + at;
	size_t head, total;

	if (len < IPV4_LEN)
		return false;
	head = (size_t)(ip[0] & 0xf) * 4;
	total = iw_get_be16(ip + 2);
	/* With MF or an offset it is a fragment, which the kernel reassembles. */
	if (ip[0] >> 4 != 4 || head < IPV4_LEN || total < head || len < total ||
	    iw_get_be16(ip + 6) & 0x3fff || checksum(ip, head) != 0)
		return false;
	set_v4(&f->src, ip + 12);
	set_v4(&f->dst, ip + 16);
	return parse_inner(f, data, at + head, at + total, ip[9]);
}

static bool parse_v6(struct iw_frame *f, const uint8_t *data, size_t at, size_t len)
{
	const uint8_t *ip = data + at;
	size_t end, head = IPV6_LEN;
	uint8_t next;

	if (len < IPV6_LEN || ip[0] >> 4 != 6)
		return false;
	end = IPV6_LEN + iw_get_be16(ip + 4);
	if (len < end)
		return false;
	next = ip[6];
	/* Hop-by-hop options, routing, destination options: RFC 8200 4.3, 4.4, 4.6. */
	for (int i = 0; i < EXTENSIONS && (next == 0 || next == 43 || next == 60); i++) {
		if (end - head < 8 || end - head < ((size_t)ip[head + 1] + 1) * 8)
			return false;
		next = ip[head];
		head += ((size_t)ip[head + 1] + 1) * 8;
	}
	set_v6(&f->src, ip + 8);
	set_v6(&f->dst, ip + 24);
	return parse_inner(f, data, at + head, at + end, next);
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
		return parse_v4(out, data, at, len - at);
	return type == 0x86dd && parse_v6(out, data, at, len - at);
}

bool iw_frame_from_meta(struct iw_frame *out, const uint8_t *data, size_t len,
			const struct iw_xdp_meta *notes)
{
	size_t udp = notes->flags & IW_XDP_META_UDP ? UDP_LEN : 0;
	bool v6 = notes->flags & IW_XDP_META_IPV6;
	const uint8_t *ip = data + notes->ip;

	if (notes->sctp < notes->ip + (v6 ? IPV6_LEN : IPV4_LEN) + udp || len < notes->sctp ||
	    len - notes->sctp < notes->sctp_len || ip[0] >> 4 != (v6 ? 6 : 4))
		return false;
	if (v6) {
		set_v6(&out->src, ip + 8);
		set_v6(&out->dst, ip + 24);
	} else {
		if (notes->sctp != notes->ip + (size_t)(ip[0] & 0xf) * 4 + udp ||
		    checksum(ip, (size_t)(ip[0] & 0xf) * 4) != 0)
			return false;
		set_v4(&out->src, ip + 12);
		set_v4(&out->dst, ip + 16);
	}
	if (udp) {
		if (iw_get_be16(data + notes->sctp - UDP_LEN + 2) == 0)
			return false;
		iw_addr_set_port(&out->src, iw_get_be16(data + notes->sctp - UDP_LEN));
		iw_addr_set_port(&out->dst, iw_get_be16(data + notes->sctp - UDP_LEN + 2));
	}
	out->at = notes->sctp;
	out->len = notes->sctp_len;
	return true;
}

static size_t put_ip(uint8_t *ip, const struct iw_addr *src, const struct iw_addr *dst,
		     uint8_t proto, size_t len)
{
	if (dst->sa.sa_family == AF_INET6) {
		memset(ip, 0, IPV6_LEN);
		ip[0] = 6 << 4;
		iw_put_be16(ip + 4, (uint16_t)len);
		ip[6] = proto;
		ip[7] = TTL;
		memcpy(ip + 8, &src->in6.sin6_addr, 16);
		memcpy(ip + 24, &dst->in6.sin6_addr, 16);
		return IPV6_LEN;
	}
	memset(ip, 0, IPV4_LEN);
	ip[0] = 4 << 4 | IPV4_LEN / 4;
	iw_put_be16(ip + 2, (uint16_t)(IPV4_LEN + len));
	/* DF; never a fragment, so the identification has no meaning (RFC 6864 4.1). */
	iw_put_be16(ip + 6, 0x4000);
	ip[8] = TTL;
	ip[9] = proto;
	memcpy(ip + 12, &src->in.sin_addr, 4);
	memcpy(ip + 16, &dst->in.sin_addr, 4);
	iw_put_be16(ip + 10, checksum(ip, IPV4_LEN));
	return IPV4_LEN;
}

/* The pseudo-header needs the IP addresses: the `addresses` octets before the UDP header, at the
 * end of the IP header. */
static void put_udp(uint8_t *udp, size_t addresses, uint16_t from, uint16_t to, const uint8_t *sctp,
		    size_t len)
{
	uint64_t sum = PROTO_UDP + UDP_LEN + len;
	uint16_t folded;

	iw_put_be16(udp, from);
	iw_put_be16(udp + 2, to);
	iw_put_be16(udp + 4, (uint16_t)(UDP_LEN + len));
	iw_put_be16(udp + 6, 0);
	sum = add_up(add_up(sum, udp - addresses, addresses + UDP_LEN), sctp, len);
	folded = fold(sum);
	/* 0 would mean that there is no checksum. */
	iw_put_be16(udp + 6, folded ? folded : 0xffff);
}

size_t iw_frame_head(uint8_t head[static IW_FRAME_HEAD_MAX], const uint8_t ether[static 14],
		     const struct iw_addr *src, const struct iw_addr *dst, const uint8_t *sctp,
		     size_t len)
{
	bool v6 = dst->sa.sa_family == AF_INET6, udp = iw_addr_port(dst) != 0;
	size_t n = ETHER_LEN;

	memcpy(head, ether, ETHER_LEN);
	n += put_ip(head + n, src, dst, udp ? PROTO_UDP : PROTO_SCTP, len + (udp ? UDP_LEN : 0));
	if (!udp)
		return n;
	put_udp(head + n, v6 ? 32 : 8, iw_addr_port(src), iw_addr_port(dst), sctp, len);
	return n + UDP_LEN;
}
