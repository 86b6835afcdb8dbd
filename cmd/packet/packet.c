// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Link, VLAN, IPv4, IPv6, UDP and TCP headers of a frame. */
#include "packet/packet.h"

#include <string.h>

#include "util/num.h"
#include "wire/sctp.h"

enum ethertype {
	ETHERTYPE_IPV4 = 0x0800,
	ETHERTYPE_IPV6 = 0x86dd,
	ETHERTYPE_VLAN = 0x8100,    /* IEEE 802.1Q */
	ETHERTYPE_SERVICE = 0x88a8, /* IEEE 802.1ad, the outer tag */
	ETHERTYPE_SERVICE_OLD = 0x9100,
};

enum ip_protocol {
	IP_HOPOPTS = 0,
	IP_TCP = 6,
	IP_UDP = 17,
	IP_ROUTING = 43,
	IP_FRAGMENT = 44,
	IP_AH = 51,
	IP_DSTOPTS = 60,
	IP_SCTP = 132,
	IP_MOBILITY = 135,
	IP_HIP = 139,
	IP_SHIM6 = 140,
};

#define ETHER_LEN 14
#define VLAN_LEN  4
#define SLL_LEN   16
#define SLL2_LEN  20
#define NULL_LEN  4
#define IPV4_LEN  20
#define IPV6_LEN  40
#define TCP_LEN   20
#define UDP_LEN   8

/* The rest of the frame: captured octets, and octets on the wire. */
struct cursor {
	const uint8_t *p;
	size_t len, wire;
	uint16_t udp_port; /* of SCTP, in addition to 9899 */
};

/* True if n octets of header were captured. *why otherwise: cut by the snap length, or the frame
 * itself is too short. */
static bool need(const struct cursor *c, size_t n, enum iw_packet_kind *why)
{
	if (n <= c->len)
		return true;
	*why = n <= c->wire ? IW_PACKET_CUT : IW_PACKET_MALFORMED;
	return false;
}

static void skip(struct cursor *c, size_t n)
{
	c->p += n;
	c->len -= n;
	c->wire -= n;
}

/* Applies the length in a header. The frame may be longer, because Ethernet pads. */
static void limit(struct cursor *c, size_t wire)
{
	c->wire = wire;
	c->len = IW_MIN(c->len, wire);
}

static enum iw_packet_kind parse_tcp(struct iw_packet *out, struct cursor *c)
{
	enum iw_packet_kind why;
	size_t hdr;

	if (!need(c, TCP_LEN, &why))
		return why;
	out->end[0].port = iw_get_be16(c->p);
	out->end[1].port = iw_get_be16(c->p + 2);
	out->seq = iw_get_be32(c->p + 4);
	out->ack = iw_get_be32(c->p + 8);
	hdr = (size_t)(c->p[12] >> 4) * 4;
	out->flags = c->p[13];
	if (hdr < TCP_LEN || hdr > c->wire)
		return IW_PACKET_MALFORMED;
	/* Options are not decoded, so the snap length may cut them. */
	if (hdr > c->len) {
		out->data = c->p + c->len;
		out->len = 0;
		out->missing = (uint32_t)(c->wire - hdr);
		return IW_PACKET_TCP;
	}
	skip(c, hdr);
	out->data = c->p;
	out->len = (uint32_t)c->len;
	out->missing = (uint32_t)(c->wire - c->len);
	return IW_PACKET_TCP;
}

/* The packet begins with its common header (RFC 9260 3.1). */
static enum iw_packet_kind parse_sctp(struct iw_packet *out, struct cursor *c)
{
	enum iw_packet_kind why;

	if (!need(c, IW_SCTP_HDR_LEN, &why))
		return why;
	out->end[0].port = iw_get_be16(c->p);
	out->end[1].port = iw_get_be16(c->p + 2);
	out->data = c->p;
	out->len = (uint32_t)c->len;
	out->missing = (uint32_t)(c->wire - c->len);
	return IW_PACKET_SCTP;
}

static bool is_tunnel(const struct cursor *c, uint16_t port)
{
	return port == IW_SCTP_UDP_PORT || (port && port == c->udp_port);
}

static enum iw_packet_kind parse_udp(struct iw_packet *out, struct cursor *c)
{
	enum iw_packet_kind why;
	size_t len;

	if (!need(c, UDP_LEN, &why))
		return why;
	out->end[0].udp_port = iw_get_be16(c->p);
	out->end[1].udp_port = iw_get_be16(c->p + 2);
	if (!is_tunnel(c, out->end[0].udp_port) && !is_tunnel(c, out->end[1].udp_port))
		return IW_PACKET_OTHER;
	len = iw_get_be16(c->p + 4);
	/* 0: a jumbogram (RFC 2675), or a capture before segmentation offload. */
	if (len == 0)
		len = c->wire;
	if (len < UDP_LEN || len > c->wire)
		return IW_PACKET_MALFORMED;
	limit(c, len);
	skip(c, UDP_LEN);
	/* A keep-alive for the mapping of a NAT. */
	return c->wire < IW_SCTP_HDR_LEN ? IW_PACKET_OTHER : parse_sctp(out, c);
}

static enum iw_packet_kind parse_transport(struct iw_packet *out, struct cursor *c,
					   uint8_t protocol)
{
	for (int i = 0; i < 2; i++)
		out->end[i].udp_port = 0;
	out->transport = c->p;
	switch (protocol) {
	case IP_TCP:
		return parse_tcp(out, c);
	case IP_SCTP:
		return parse_sctp(out, c);
	case IP_UDP:
		return parse_udp(out, c);
	}
	return IW_PACKET_OTHER;
}

static bool is_transport(uint8_t protocol)
{
	return protocol == IP_TCP || protocol == IP_SCTP || protocol == IP_UDP;
}

static enum iw_packet_kind parse_ipv4(struct iw_packet *out, struct cursor *c)
{
	enum iw_packet_kind why;
	size_t hdr, total;
	uint8_t protocol;

	if (!need(c, IPV4_LEN, &why))
		return why;
	hdr = (size_t)(c->p[0] & 0xf) * 4;
	total = iw_get_be16(c->p + 2);
	/* A frame captured before segmentation offload may have 0, if its length does not fit the
	 * field. */
	if (total == 0)
		total = c->wire;
	if (c->p[0] >> 4 != 4 || hdr < IPV4_LEN || total < hdr || total > c->wire)
		return IW_PACKET_MALFORMED;
	if (iw_get_be16(c->p + 6) & 0x3fff)
		return IW_PACKET_FRAGMENT;
	protocol = c->p[9];
	if (!is_transport(protocol))
		return IW_PACKET_OTHER;
	for (int i = 0; i < 2; i++) {
		memset(out->end[i].addr, 0, sizeof(out->end[i].addr));
		memcpy(out->end[i].addr, c->p + 12 + 4 * i, 4);
		out->end[i].v6 = false;
	}
	out->ip = c->p;
	limit(c, total);
	if (!need(c, hdr, &why))
		return why;
	skip(c, hdr);
	return parse_transport(out, c, protocol);
}

static enum iw_packet_kind parse_ipv6(struct iw_packet *out, struct cursor *c)
{
	enum iw_packet_kind why;
	size_t payload;
	uint8_t next;

	if (!need(c, IPV6_LEN, &why))
		return why;
	payload = iw_get_be16(c->p + 4);
	next = c->p[6];
	if (c->p[0] >> 4 != 6)
		return IW_PACKET_MALFORMED;
	for (int i = 0; i < 2; i++) {
		memcpy(out->end[i].addr, c->p + 8 + 16 * i, 16);
		out->end[i].v6 = true;
	}
	out->ip = c->p;
	skip(c, IPV6_LEN);
	/* 0: a jumbogram (RFC 2675), or a capture before segmentation offload. */
	if (payload == 0)
		payload = c->wire;
	if (payload > c->wire)
		return IW_PACKET_MALFORMED;
	limit(c, payload);

	while (!is_transport(next)) {
		size_t hdr;

		if (next != IP_HOPOPTS && next != IP_ROUTING && next != IP_FRAGMENT &&
		    next != IP_AH && next != IP_DSTOPTS && next != IP_MOBILITY && next != IP_HIP &&
		    next != IP_SHIM6)
			return IW_PACKET_OTHER;
		if (!need(c, 8, &why))
			return why;
		hdr = next == IP_AH ? ((size_t)c->p[1] + 2) * 4 : ((size_t)c->p[1] + 1) * 8;
		if (next == IP_FRAGMENT) {
			/* Offset 0 and no more fragments: the whole datagram (RFC 6946). */
			if (iw_get_be16(c->p + 2) & 0xfff9)
				return IW_PACKET_FRAGMENT;
			hdr = 8;
		}
		next = c->p[0];
		if (!need(c, hdr, &why))
			return why;
		skip(c, hdr);
	}
	return parse_transport(out, c, next);
}

static enum iw_packet_kind parse_ethertype(struct iw_packet *out, struct cursor *c, uint16_t type)
{
	enum iw_packet_kind why;

	while (type == ETHERTYPE_VLAN || type == ETHERTYPE_SERVICE ||
	       type == ETHERTYPE_SERVICE_OLD) {
		if (!need(c, VLAN_LEN, &why))
			return why;
		type = iw_get_be16(c->p + 2);
		skip(c, VLAN_LEN);
	}
	switch (type) {
	case ETHERTYPE_IPV4:
		return parse_ipv4(out, c);
	case ETHERTYPE_IPV6:
		return parse_ipv6(out, c);
	}
	return IW_PACKET_OTHER;
}

static enum iw_packet_kind parse_version(struct iw_packet *out, struct cursor *c)
{
	enum iw_packet_kind why;

	if (!need(c, 1, &why))
		return why;
	switch (c->p[0] >> 4) {
	case 4:
		return parse_ipv4(out, c);
	case 6:
		return parse_ipv6(out, c);
	}
	return IW_PACKET_OTHER;
}

/* The address family is in the byte order of the capturing machine; it is a small number in one of
 * the two orders. The number of IPv6 depends on the system, so the version field of the IP header
 * decides. */
static enum iw_packet_kind parse_null(struct iw_packet *out, struct cursor *c)
{
	enum iw_packet_kind why;
	uint32_t family;

	if (!need(c, NULL_LEN, &why))
		return why;
	family = iw_get_be32(c->p);
	if (family > 0xffff)
		family = iw_get_le32(c->p);
	skip(c, NULL_LEN);
	switch (family) {
	case 2:  /* AF_INET everywhere */
	case 10: /* AF_INET6: Linux */
	case 23: /* Windows */
	case 24:
	case 28:
	case 30: /* the BSDs, FreeBSD, macOS */
		return parse_version(out, c);
	}
	return IW_PACKET_OTHER;
}

enum iw_packet_kind iw_packet_parse(struct iw_packet *out, enum iw_packet_link link,
				    const uint8_t *frame, size_t len, size_t wire_len,
				    uint16_t udp_port)
{
	struct cursor c = { frame, len, IW_MAX(wire_len, len), udp_port };
	enum iw_packet_kind why;
	uint16_t type;

	/* No IP packet is longer, and the sums below stay within 32 bits. */
	if (c.wire > UINT32_MAX)
		return IW_PACKET_MALFORMED;
	switch (link) {
	case IW_PACKET_ETHERNET:
		if (!need(&c, ETHER_LEN, &why))
			return why;
		type = iw_get_be16(c.p + 12);
		skip(&c, ETHER_LEN);
		return parse_ethertype(out, &c, type);
	case IW_PACKET_SLL:
		if (!need(&c, SLL_LEN, &why))
			return why;
		type = iw_get_be16(c.p + 14);
		skip(&c, SLL_LEN);
		return parse_ethertype(out, &c, type);
	case IW_PACKET_SLL2:
		if (!need(&c, SLL2_LEN, &why))
			return why;
		type = iw_get_be16(c.p);
		skip(&c, SLL2_LEN);
		return parse_ethertype(out, &c, type);
	case IW_PACKET_RAW:
		return parse_version(out, &c);
	case IW_PACKET_NULL:
		return parse_null(out, &c);
	}
	return IW_PACKET_OTHER;
}
