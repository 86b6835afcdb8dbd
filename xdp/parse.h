/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parses a frame from its first octet to the payload of IP: Ethernet with VLAN tags, IPv4 with
 * options, IPv6 with extension headers. Headers in the first buffer of a frame are read in place;
 * those in a later buffer through bpf_xdp_load_bytes. The programs include this file.
 */
#ifndef IW_XDP_PARSE_H
#define IW_XDP_PARSE_H

#include "xdp/shared.h"

#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

typedef __s32 int32_t;
typedef _Bool bool;
#define true 1
#define false 0

#define VLANS_MAX      4
#define EXTENSIONS_MAX 8
#define FRAME_MAX      0xffff /* the largest offset in a packet that the verifier allows */

#define ETHERTYPE_IPV4        0x0800
#define ETHERTYPE_IPV6        0x86dd
#define ETHERTYPE_VLAN        0x8100 /* IEEE 802.1Q */
#define ETHERTYPE_SERVICE     0x88a8 /* IEEE 802.1ad, the outer tag */
#define ETHERTYPE_SERVICE_OLD 0x9100

#define PROTO_HOPOPTS  0
#define PROTO_TCP      6
#define PROTO_UDP      17
#define PROTO_ROUTING  43
#define PROTO_FRAGMENT 44
#define PROTO_DSTOPTS  60
#define PROTO_SCTP     132

/* Headers as on the wire. Each field is aligned and has an integer type, so that one load reads
 * it. */
struct ether {
	uint16_t mac[6], type;
};
struct vlan {
	uint16_t tci, type;
};
struct ipv4 {
	uint8_t version_ihl, tos;
	uint16_t total, id, fragment;
	uint8_t ttl, protocol;
	uint16_t checksum;
	uint32_t src, dst;
};
struct ipv6 {
	uint32_t version;
	uint16_t payload;
	uint8_t next, hops;
	uint32_t src[4], dst[4];
};
struct extension {
	uint8_t next, len;
	/* Of a fragment header: offset, reserved bits and M; of a routing header: type and segments
	 * left. */
	uint16_t fragment;
	uint32_t more;
};
/* The position in the packet. */
struct cursor {
	struct xdp_md *ctx;
	uint32_t off; /* octets from the frame's first octet */
	/* Octets from off to the end of the packet, by the last header that has a length. The frame
	 * contains them all. */
	uint32_t left;
};

/* What parse_ip() has read from the IP header. Initially zero. */
struct ip {
	uint8_t src[16], dst[16]; /* as in struct iw_xdp_endpoint_key */
	uint32_t off;             /* offset of the IP header in the frame */
	uint8_t protocol;
	bool v6;
	uint16_t vlan; /* wire: the VLAN IDs of its tags, or-ed; 0: none has a VLAN ID */
};

#define OURS (-1) /* instead of an enum iw_xdp_pass: no reason to pass the packet to the kernel */

/* Copies the octets at offset into *header. False: the frame ends before the end of that header.
 * The type of the header is aligned, so that a copy in place is a few loads. */
#define LOAD(ctx, offset, header)                                                                  \
	({                                                                                         \
		void *start_ = (void *)(long)(ctx)->data, *end_ = (void *)(long)(ctx)->data_end;   \
		uint32_t off_ = (offset);                                                          \
		bool got_ = false;                                                                 \
		if (off_ <= FRAME_MAX - sizeof(*(header))) {                                       \
			typeof(header) p_ = start_ + off_;                                         \
			if ((void *)(p_ + 1) <= end_) {                                            \
				*(header) = *p_;                                                   \
				got_ = true;                                                       \
			} else {                                                                   \
				got_ = bpf_xdp_load_bytes((ctx), off_, (header),                   \
							  sizeof(*(header))) == 0;                 \
			}                                                                          \
		}                                                                                  \
		got_;                                                                              \
	})

/* Returns n, which the caller has limited to 1 .. most (a power of two). The arithmetic proves this
 * to every verifier: before Linux 6.6 a verifier learns nothing from a comparison with 0. */
static __always_inline uint32_t one_to(uint32_t most, uint32_t n)
{
	/* Hides n from the compiler, which would otherwise omit the rest. */
	asm volatile("" : "+r"(n));
	return ((n - 1) & (most - 1)) + 1;
}

static __always_inline void skip(struct cursor *c, uint32_t n)
{
	c->off += n;
	c->left -= n;
}

/* Writes an IPv4 address as ::ffff:a.b.c.d (RFC 4291 2.5.5.2). to is zero before. */
static __always_inline void put_ipv4(uint8_t to[16], uint32_t addr)
{
	to[10] = to[11] = 0xff;
	__builtin_memcpy(to + 12, &addr, 4);
}

static __always_inline int parse_ipv4(struct cursor *c, struct ip *ip)
{
	struct ipv4 h;
	uint32_t len, total;

	if (c->left < sizeof(h) || !LOAD(c->ctx, c->off, &h))
		return IW_XDP_PASS_IP_BAD;
	len = (uint32_t)(h.version_ihl & 0xf) * 4;
	total = bpf_ntohs(h.total);
	if (h.version_ihl >> 4 != 4 || len < sizeof(h) || total < len || total > c->left)
		return IW_XDP_PASS_IP_BAD;
	/* With MF or an offset it is a fragment. */
	if (h.fragment & bpf_htons(0x3fff))
		return IW_XDP_PASS_FRAGMENT;
	put_ipv4(ip->src, h.src);
	put_ipv4(ip->dst, h.dst);
	ip->protocol = h.protocol;
	c->left = total;
	skip(c, len);
	return OURS;
}

/* Skips headers that mean nothing to the final destination of a packet (RFC 8200 4). */
static __always_inline int parse_extensions(struct cursor *c, uint8_t next, uint8_t *protocol)
{
	for (int i = 0; i < EXTENSIONS_MAX; i++) {
		struct extension h;
		uint32_t len;

		if (next == PROTO_SCTP || next == PROTO_UDP || next == PROTO_TCP) {
			*protocol = next;
			return OURS;
		}
		if (next != PROTO_HOPOPTS && next != PROTO_DSTOPTS && next != PROTO_ROUTING &&
		    next != PROTO_FRAGMENT)
			return IW_XDP_PASS_PROTOCOL;
		if (c->left < sizeof(h) || !LOAD(c->ctx, c->off, &h))
			return IW_XDP_PASS_IP_BAD;
		len = next == PROTO_FRAGMENT ? sizeof(h) : ((uint32_t)h.len + 1) * 8;
		/* With an offset or the M flag it is a fragment; without both, the whole datagram
		 * (RFC 6946). */
		if (next == PROTO_FRAGMENT && h.fragment & bpf_htons(0xfff9))
			return IW_XDP_PASS_FRAGMENT;
		/* Segments are left, so another host is the final destination. */
		if (next == PROTO_ROUTING && h.fragment & bpf_htons(0x00ff))
			return IW_XDP_PASS_IP_EXTENSION;
		if (len > c->left)
			return IW_XDP_PASS_IP_BAD;
		skip(c, len);
		next = h.next;
	}
	return IW_XDP_PASS_IP_EXTENSION;
}

static __always_inline int parse_ipv6(struct cursor *c, struct ip *ip)
{
	struct ipv6 h;
	uint32_t payload;

	if (c->left < sizeof(h) || !LOAD(c->ctx, c->off, &h))
		return IW_XDP_PASS_IP_BAD;
	/* A Payload Length of 0 means a jumbogram (RFC 2675), which the kernel handles. */
	payload = bpf_ntohs(h.payload);
	if ((bpf_ntohl(h.version) >> 28) != 6 || payload == 0 || payload > c->left - sizeof(h))
		return IW_XDP_PASS_IP_BAD;
	__builtin_memcpy(ip->src, h.src, 16);
	__builtin_memcpy(ip->dst, h.dst, 16);
	ip->v6 = true;
	skip(c, sizeof(h));
	c->left = payload;
	return parse_extensions(c, h.next, &ip->protocol);
}

/* Moves the cursor to the payload of IP and fills *ip. Returns OURS, or the enum iw_xdp_pass why
 * the kernel gets the packet. */
static __always_inline int parse_ip(struct cursor *c, struct ip *ip)
{
	struct ether e;
	struct vlan v;
	uint16_t type;

	if (!LOAD(c->ctx, 0, &e))
		return IW_XDP_PASS_ETHER;
	skip(c, sizeof(e));
	type = e.type;
	for (int i = 0; i < VLANS_MAX; i++) {
		if (type != bpf_htons(ETHERTYPE_VLAN) && type != bpf_htons(ETHERTYPE_SERVICE) &&
		    type != bpf_htons(ETHERTYPE_SERVICE_OLD))
			break;
		if (!LOAD(c->ctx, c->off, &v))
			return IW_XDP_PASS_ETHER;
		skip(c, sizeof(v));
		type = v.type;
		ip->vlan |= v.tci & bpf_htons(0xfff);
	}
	ip->off = c->off;
	if (type == bpf_htons(ETHERTYPE_IPV4))
		return parse_ipv4(c, ip);
	if (type == bpf_htons(ETHERTYPE_IPV6))
		return parse_ipv6(c, ip);
	return IW_XDP_PASS_ETHER;
}

#endif
