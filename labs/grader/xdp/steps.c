/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lab 9: the frames of steps 1 to 8: fixed ones at the edges, then random ones. */
#include <stdio.h>
#include <string.h>

#include "labs/grader/xdp/bench.h"
#include "util/num.h"

static size_t at_ip(const struct xdp_frame *f)
{
	return f->ip;
}

static size_t at_udp(const struct xdp_frame *f)
{
	return f->payload;
}

static size_t at_chunks(const struct xdp_frame *f)
{
	return f->chunks;
}

/* --- step 1: the straight path ---------------------------------------------------------------------- */

static bool registered(struct xdp_bench *b)
{
	struct xdp_plan p;

	for (size_t i = 0; i < STREAMS; i++) {
		const struct xdp_stream *s = &b->tables.streams[i];

		xdp_plan_for(b, &p, s);
		xdp_add_segment(b, &p.chunks, XDP_SEGMENT_TAGGED, s->stream, 20);
		if (!xdp_try_plan(
			    b, &p,
			    "SCTP on IPv4, a segment of a registered stream: tag 0x%08x, port %u, stream %u",
			    s->tag, s->port, s->stream))
			return false;
	}
	return true;
}

/* A segment for a tag, port and stream that differ from those of stream 0. */
static bool unregistered(struct xdp_bench *b)
{
	const struct xdp_stream *s = &b->tables.streams[0];
	const struct xdp_stream others[] = {
		{ .tag = s->tag ^ 2, .port = s->port, .stream = s->stream },
		{ .tag = s->tag ^ 0x01000000, .port = s->port, .stream = s->stream },
		{ .tag = s->tag, .port = s->port ^ 0x0100, .stream = s->stream },
		{ .tag = s->tag, .port = s->port ^ 0x0080, .stream = s->stream },
		{ .tag = s->tag, .port = s->port, .stream = s->stream ^ 0x0100 },
		{ .tag = s->tag, .port = s->port, .stream = s->stream ^ 0x0080 },
		{ .tag = 0, .port = 0, .stream = 0 },
	};
	struct xdp_plan p;

	for (size_t i = 0; i < IW_ARRAY_LEN(others); i++) {
		xdp_plan_for(b, &p, &others[i]);
		xdp_add_segment(b, &p.chunks, XDP_SEGMENT_TAGGED, others[i].stream, 20);
		if (!xdp_try_plan(
			    b, &p,
			    "a segment of a stream that is not registered: tag 0x%08x, port %u, stream %u",
			    others[i].tag, others[i].port, others[i].stream))
			return false;
	}
	return true;
}

static bool other_payloads(struct xdp_bench *b)
{
	static const uint32_t ppids[] = { XDP_PPID_CONTROL, 0,          15,        0x10000000,
					  0x1000,           0x00010010, 0xffffffff };
	const struct xdp_stream *s = &b->tables.streams[0];
	uint8_t user[40] = { 0, 0, 0xc1, 0x40 };
	struct xdp_plan p;

	for (size_t i = 0; i < IW_ARRAY_LEN(ppids); i++) {
		xdp_plan_for(b, &p, s);
		xdp_data(&p.chunks, XDP_DATA_WHOLE, s->stream, ppids[i], user, sizeof(user));
		if (!xdp_try_plan(b, &p, "a DATA chunk with payload protocol identifier 0x%08x",
				  ppids[i]))
			return false;
	}
	return true;
}

static bool other_protocols(struct xdp_bench *b)
{
	static const uint8_t protocols[] = { 6, 1, 131, 133, 255 };
	static const uint16_t types[] = { ARP, 0x0008, 0x0801, 0x0900, 0x86de, 0xffff, 0x0005 };
	struct xdp_plan p;

	for (size_t i = 0; i < IW_ARRAY_LEN(protocols); i++) {
		xdp_plan_segment(b, &p);
		p.r.protocol = protocols[i];
		if (!xdp_try_plan(b, &p, "IPv4 with protocol %u", protocols[i]))
			return false;
	}
	for (size_t i = 0; i < IW_ARRAY_LEN(types); i++) {
		xdp_plan_segment(b, &p);
		p.r.type = types[i];
		if (!xdp_try_plan(b, &p, "a frame of type 0x%04x", types[i]))
			return false;
	}
	return true;
}

bool xdp_frames_of_path(struct xdp_bench *b)
{
	struct xdp_plan p;

	if (!registered(b) || !unregistered(b) || !other_payloads(b) || !other_protocols(b))
		return false;
	xdp_plan_for(b, &p, &b->tables.streams[0]);
	xdp_chunk(&p.chunks, SACK, 0, b->noise, 12);
	if (!xdp_try_plan(b, &p, "an SCTP packet with a SACK chunk only"))
		return false;
	for (unsigned i = 0; i < CASES; i++) {
		const struct xdp_stream *s = xdp_plan_segment(b, &p);

		p.r.tag ^= lab_below(b->run, 4) ? 0 : 1u << lab_below(b->run, 32);
		if (!xdp_try_plan(b, &p, "a segment: tag 0x%08x, port %u, stream %u", p.r.tag,
				  s->port, s->stream))
			return false;
	}
	return true;
}

/* --- step 2: frames that end too early --------------------------------------------------------------- */

static bool wrong_lengths(struct xdp_bench *b)
{
	static const unsigned ihls[] = { 0, 1, 2, 3, 4 }, versions[] = { 0, 5, 6, 15 };
	struct xdp_plan p;
	struct xdp_frame f;
	unsigned total;

	xdp_plan_segment(b, &p);
	xdp_build(&f, &p.r);
	total = (unsigned)(f.len - f.ip);
	for (size_t i = 0; i < IW_ARRAY_LEN(ihls); i++)
		if (!xdp_try_field(b, &p, at_ip, 0, 1, 0x40 + ihls[i],
				   "the first octet of IPv4 (version and IHL)"))
			return false;
	for (size_t i = 0; i < IW_ARRAY_LEN(versions); i++)
		if (!xdp_try_field(b, &p, at_ip, 0, 1, versions[i] << 4 | 5,
				   "the first octet of IPv4 (version and IHL)"))
			return false;
	/* With an IHL of 4, the packet would still have chunks: the checksum of SCTP is a COOKIE ACK. */
	f.at[f.ip] = 0x44;
	memcpy(f.at + f.sctp + 8, (uint8_t[]){ COOKIE_ACK, 0, 0, 4 }, 4);
	if (!xdp_try_frame(b, &f, 0, "IPv4 with an IHL of 4, and what looks like chunks after it"))
		return false;
	return xdp_try_field(b, &p, at_ip, 2, 2, total + 1,
			     "one octet is missing: the total length of IPv4") &&
	       xdp_try_field(b, &p, at_ip, 2, 2, 0xffff, "the total length of IPv4") &&
	       xdp_try_field(b, &p, at_ip, 2, 2, 0, "the total length of IPv4") &&
	       xdp_try_field(b, &p, at_ip, 2, 2, 19, "the total length of IPv4");
}

bool xdp_frames_of_truncated(struct xdp_bench *b)
{
	const struct xdp_stream *s = &b->tables.streams[0];
	struct xdp_plan p;
	static const uint16_t lengths[] = { 0, 1, 2, 3, 4, 5, 12, 15 };
	struct xdp_frame f;
	unsigned len;

	xdp_plan_for(b, &p, s);
	xdp_add_segment(b, &p.chunks, XDP_SEGMENT_TAGGED, s->stream, 9);
	if (!xdp_try_ends(b, &p, "SCTP on IPv4 with a segment", 0) || !wrong_lengths(b))
		return false;
	for (size_t i = 0; i < IW_ARRAY_LEN(lengths); i++)
		if (!xdp_try_field(b, &p, at_chunks, 2, 2, lengths[i],
				   "the length of the DATA chunk"))
			return false;
	xdp_build(&f, &p.r);
	/* The chunk has 41 octets and 3 of padding: a length of 44 is still within the packet. */
	len = (unsigned)(f.len - f.chunks);
	return xdp_try_field(b, &p, at_chunks, 2, 2, len, "the length of the DATA chunk") &&
	       xdp_try_field(b, &p, at_chunks, 2, 2, len + 1,
			     "the packet has one octet less; the length of the DATA chunk") &&
	       xdp_try_field(b, &p, at_chunks, 2, 2, 0xffff, "the length of the DATA chunk");
}

/* --- step 3: IPv4 -------------------------------------------------------------------------------------- */

/* Octets after an IP or UDP packet must not be taken for chunks: here they are a valid segment. */
static bool trailers(struct xdp_bench *b, struct xdp_plan *p, const char *where)
{
	struct xdp_chunks after = { .len = 0 };

	xdp_add_segment(b, &after, XDP_SEGMENT_TAGGED, b->tables.streams[0].stream, 20);
	p->r.trailer = after.at;
	p->r.trailer_len = after.len;
	p->chunks.len = 0;
	xdp_chunk(&p->chunks, COOKIE_ACK, 0, NULL, 0);
	if (!xdp_try_plan(
		    b, p,
		    "a DATA chunk after the end of the %s packet, which has a COOKIE ACK only",
		    where))
		return false;
	p->chunks.len = 0;
	return xdp_try_plan(
		b, p, "a DATA chunk after the end of the %s packet, which has no chunks", where);
}

static bool padded(struct xdp_bench *b, struct xdp_plan *p)
{
	static const uint8_t zeroes[46];

	for (size_t n = 1; n <= 46; n += 5) {
		p->r.trailer = zeroes;
		p->r.trailer_len = n;
		if (!xdp_try_plan(b, p, "IPv4 with a segment, and %zu octets of Ethernet padding",
				  n))
			return false;
	}
	p->chunks.len = 0;
	xdp_chunk(&p->chunks, COOKIE_ACK, 0, NULL, 0);
	p->r.trailer_len = 10;
	return xdp_try_plan(b, p, "a COOKIE ACK, padded to 60 octets as Ethernet does");
}

bool xdp_frames_of_ipv4(struct xdp_bench *b)
{
	static const uint16_t fragments[] = { MF,     1,      0x1fff, MF | 1, MF | DF,
					      0x0100, 0x1000, 0x0800, DF,     0 };
	const struct xdp_stream *s = &b->tables.streams[0];
	struct xdp_plan p;

	for (unsigned words = 0; words <= 10; words++) {
		xdp_plan_segment(b, &p);
		p.r.options = words;
		if (!xdp_try_plan(b, &p, "IPv4 with %u octets of options", 4 * words))
			return false;
	}
	for (size_t i = 0; i < IW_ARRAY_LEN(fragments); i++) {
		xdp_plan_segment(b, &p);
		p.r.fragment = fragments[i];
		if (!xdp_try_plan(b, &p, "IPv4 with flags and fragment offset 0x%04x",
				  fragments[i]))
			return false;
	}
	xdp_plan_for(b, &p, s);
	xdp_add_segment(b, &p.chunks, XDP_SEGMENT_TAGGED, s->stream, 20);
	if (!padded(b, &p))
		return false;
	xdp_plan_for(b, &p, s);
	if (!trailers(b, &p, "IPv4"))
		return false;
	xdp_plan_segment(b, &p);
	if (!xdp_try_field(b, &p, at_ip, 2, 2, 20,
			   "the frame has a segment after the IPv4 packet, whose total length"))
		return false;
	p.r.options = 4;
	return xdp_try_ends(b, &p, "IPv4 with 16 octets of options, and a segment", 14);
}

/* --- step 4: VLAN -------------------------------------------------------------------------------------- */

bool xdp_frames_of_vlan(struct xdp_bench *b)
{
	struct xdp_plan p;

	for (unsigned i = 0; i < CASES; i++) {
		xdp_plan_segment(b, &p);
		p.r.vlans = i % 5;
		p.r.type = i % 10 == 7 ? ARP : 0;
		p.r.options = i % 3;
		for (unsigned k = 0; k < 4; k++) {
			p.r.vlan[k].type = (i + k) % 4 ? VLAN : SERVICE;
			p.r.vlan[k].control = (uint16_t)(i % 2 ? lab_random(b->run) : 0x0800);
		}
		if (p.r.vlans == 1)
			p.r.vlan[0].type = i % 2 ? VLAN : SERVICE;
		if (!xdp_try_plan(b, &p, "%u VLAN tags, then type 0x%04x", p.r.vlans,
				  p.r.type ? p.r.type : 0x0800))
			return false;
	}
	xdp_plan_segment(b, &p);
	p.r.vlans = 2;
	p.r.vlan[0].type = SERVICE;
	p.r.vlan[1].type = VLAN;
	return xdp_try_ends(b, &p, "a frame with two VLAN tags", 14);
}

/* --- step 5: UDP ---------------------------------------------------------------------------------------- */

static bool udp_lengths(struct xdp_bench *b)
{
	struct xdp_plan p;
	struct xdp_frame f;
	unsigned len;

	xdp_plan_for(b, &p, &b->tables.streams[0]);
	p.r.udp = true;
	xdp_add_segment(b, &p.chunks, XDP_SEGMENT_TAGGED, b->tables.streams[0].stream, 20);
	xdp_build(&f, &p.r);
	len = (unsigned)(f.len - f.payload);
	return xdp_try_field(b, &p, at_udp, 4, 2, 0, "the length of UDP") &&
	       xdp_try_field(b, &p, at_udp, 4, 2, 7, "the length of UDP") &&
	       xdp_try_field(b, &p, at_udp, 4, 2, 8, "the length of UDP") &&
	       xdp_try_field(b, &p, at_udp, 4, 2, 19, "the length of UDP") &&
	       xdp_try_field(b, &p, at_udp, 4, 2, 20, "the length of UDP") &&
	       xdp_try_field(b, &p, at_udp, 4, 2, len - 1,
			     "one octet less than the DATA chunk needs: the length of UDP") &&
	       xdp_try_field(b, &p, at_udp, 4, 2, len + 1,
			     "one octet more than IP has: the length of UDP") &&
	       xdp_try_field(b, &p, at_udp, 4, 2, 0xffff, "the length of UDP");
}

/* The length of UDP ends before that of IP: what follows is no chunk. */
static bool udp_trailer(struct xdp_bench *b)
{
	struct xdp_plan p;
	struct xdp_frame f;

	xdp_plan_for(b, &p, &b->tables.streams[0]);
	p.r.udp = true;
	xdp_chunk(&p.chunks, COOKIE_ACK, 0, NULL, 0);
	xdp_add_segment(b, &p.chunks, XDP_SEGMENT_TAGGED, b->tables.streams[0].stream, 20);
	xdp_build(&f, &p.r);
	iw_put_be16(f.at + f.payload + 4, 8 + 12 + 4);
	return xdp_try_frame(
		b, &f, 0,
		"a DATA chunk after the end of the UDP datagram, which has a COOKIE ACK only");
}

bool xdp_frames_of_udp(struct xdp_bench *b)
{
	static const uint16_t ports[] = { XDP_UDP_PORT, 9898,   9900, 0xab26,
					  0x26aa,       0x25ab, 53,   65535 };
	struct xdp_plan p;

	for (size_t i = 0; i < IW_ARRAY_LEN(ports); i++) {
		xdp_plan_segment(b, &p);
		p.r.udp = true;
		p.r.udp_port = ports[i];
		p.r.udp_source = i % 2 ? XDP_UDP_PORT : (uint16_t)(40000 + i);
		if (!xdp_try_plan(b, &p, "SCTP in UDP from port %u to port %u", p.r.udp_source,
				  ports[i]))
			return false;
	}
	for (unsigned i = 0; i < CASES; i++) {
		xdp_plan_segment(b, &p);
		p.r.udp = true;
		p.r.options = i % 11;
		p.r.vlans = i % 3;
		p.r.vlan[0].type = p.r.vlan[1].type = VLAN;
		p.r.udp_source = (uint16_t)(1024 + lab_below(b->run, 60000));
		if (!xdp_try_plan(b, &p,
				  "SCTP in UDP, after %u VLAN tags and %u octets of IPv4 options",
				  p.r.vlans, 4 * p.r.options))
			return false;
	}
	xdp_plan_segment(b, &p);
	p.r.udp = true;
	return udp_lengths(b) && udp_trailer(b) &&
	       xdp_try_ends(b, &p, "SCTP in UDP on IPv4 with a segment", 14);
}

/* --- step 6: IPv6 ---------------------------------------------------------------------------------------- */

static void add_extension(struct xdp_plan *p, uint8_t next, uint8_t len, uint16_t fragment)
{
	unsigned i = p->r.extensions++;

	p->r.extension[i].next = next;
	p->r.extension[i].len = len;
	p->r.extension[i].fragment = fragment;
}

static const struct xdp_stream *plan_ipv6(struct xdp_bench *b, struct xdp_plan *p)
{
	const struct xdp_stream *s = xdp_plan_segment(b, p);

	p->r.v6 = true;
	return s;
}

static bool one_extension(struct xdp_bench *b)
{
	static const struct {
		uint8_t next, len;
		uint16_t fragment;
		const char *text;
	} kinds[] = {
		{ HOP_BY_HOP, 0, 0, "hop-by-hop options of 8 octets" },
		{ HOP_BY_HOP, 1, 0, "hop-by-hop options of 16 octets" },
		{ DESTINATION, 0, 0, "destination options of 8 octets" },
		{ DESTINATION, 20, 0, "destination options of 168 octets" },
		{ DESTINATION, 255, 0, "destination options of 2,048 octets" },
		{ FRAGMENT, 0, 0, "a fragment header of a whole packet" },
		{ FRAGMENT, 7, 0, "a fragment header with 7 in its reserved octet" },
		{ FRAGMENT, 0, 6, "a fragment header with its reserved bits set" },
		{ FRAGMENT, 0, 1, "a fragment header with the M flag" },
		{ FRAGMENT, 0, 8, "a fragment header with an offset" },
		{ FRAGMENT, 0, 0x8000, "a fragment header with an offset" },
		{ FRAGMENT, 0, 0x0801, "a fragment header with an offset and the M flag" },
		{ 43, 0, 0, "a routing header" },
		{ 51, 0, 0, "an authentication header" },
		{ 59, 0, 0, "no next header" },
	};
	struct xdp_plan p;

	for (size_t i = 0; i < IW_ARRAY_LEN(kinds); i++) {
		plan_ipv6(b, &p);
		p.r.udp = i % 2;
		add_extension(&p, kinds[i].next, kinds[i].len, kinds[i].fragment);
		if (!xdp_try_plan(b, &p, "IPv6 with %s", kinds[i].text))
			return false;
	}
	return true;
}

static bool many_extensions(struct xdp_bench *b)
{
	struct xdp_plan p;

	for (unsigned i = 0; i < CASES; i++) {
		unsigned n = i % 7;

		plan_ipv6(b, &p);
		p.r.udp = i % 2;
		for (unsigned k = 0; k < n; k++)
			add_extension(&p,
				      (uint8_t[]){ HOP_BY_HOP, DESTINATION, FRAGMENT }[(k + i) % 3],
				      (uint8_t)lab_below(b->run, 4), 0);
		if (!xdp_try_plan(b, &p, "IPv6 with %u extension headers", n))
			return false;
	}
	return true;
}

static bool ipv6_lengths(struct xdp_bench *b)
{
	struct xdp_plan p;
	struct xdp_frame f;
	unsigned len;

	plan_ipv6(b, &p);
	xdp_build(&f, &p.r);
	len = (unsigned)(f.len - f.ip - 40);
	if (!xdp_try_field(b, &p, at_ip, 0, 1, 0x45, "the first octet of IPv6 (version)") ||
	    !xdp_try_field(b, &p, at_ip, 4, 2, len + 1,
			   "one octet is missing: the payload length of IPv6") ||
	    !xdp_try_field(b, &p, at_ip, 4, 2, 0xffff, "the payload length of IPv6") ||
	    !xdp_try_field(b, &p, at_ip, 4, 2, 0, "the payload length of IPv6") ||
	    !xdp_try_field(b, &p, at_ip, 4, 2, 11, "the payload length of IPv6") ||
	    !xdp_try_field(b, &p, at_ip, 4, 2, 12, "the payload length of IPv6"))
		return false;
	add_extension(&p, DESTINATION, 1, 0);
	xdp_build(&f, &p.r);
	return xdp_try_field(b, &p, at_ip, 4, 2, 8,
			     "an extension header of 16 octets, and the payload length of IPv6") &&
	       xdp_try_field(b, &p, at_ip, 41, 1, 100,
			     "an extension header ends after the packet: its length");
}

bool xdp_frames_of_ipv6(struct xdp_bench *b)
{
	struct xdp_plan p;

	for (unsigned i = 0; i < CASES; i++) {
		plan_ipv6(b, &p);
		p.r.udp = i % 2;
		p.r.protocol = i % 10 == 9 ? 58 : 0;
		p.r.vlans = i % 3;
		p.r.vlan[0].type = p.r.vlan[1].type = VLAN;
		if (!xdp_try_plan(b, &p, "%s on IPv6, after %u VLAN tags",
				  p.r.protocol ? "ICMPv6"
				  : i % 2      ? "SCTP in UDP"
					       : "SCTP",
				  p.r.vlans))
			return false;
	}
	if (!one_extension(b) || !many_extensions(b) || !ipv6_lengths(b))
		return false;
	xdp_plan_for(b, &p, &b->tables.streams[0]);
	p.r.v6 = true;
	if (!trailers(b, &p, "IPv6"))
		return false;
	plan_ipv6(b, &p);
	add_extension(&p, DESTINATION, 1, 0);
	add_extension(&p, FRAGMENT, 0, 0);
	return xdp_try_ends(b, &p, "IPv6 with two extension headers, and a segment", 14);
}

/* --- step 7: chunks --------------------------------------------------------------------------------------- */

/* Chunks of each length before the segment; their contents look like a DATA chunk. */
static bool before_data(struct xdp_bench *b)
{
	static const uint8_t types[] = { SACK, HEARTBEAT, COOKIE_ECHO, I_DATA, 0xc0, 0x80 };
	struct xdp_plan p;

	for (unsigned len = 0; len <= 40; len += len < 9 ? 1 : 7) {
		const struct xdp_stream *s = &b->tables.streams[len % STREAMS];
		uint8_t content[40] = { 0, 3, 0, 20 };

		xdp_plan_for(b, &p, s);
		xdp_chunk(&p.chunks, types[len % IW_ARRAY_LEN(types)], 0, content, len);
		xdp_add_segment(b, &p.chunks, XDP_SEGMENT_TAGGED, s->stream, lab_below(b->run, 30));
		if (!xdp_try_plan(b, &p, "a chunk of type %u and length %u, then a segment",
				  types[len % IW_ARRAY_LEN(types)], 4 + len))
			return false;
	}
	return true;
}

static bool many_chunks(struct xdp_bench *b)
{
	struct xdp_plan p;

	for (unsigned n = 1; n <= 10; n++) {
		const struct xdp_stream *s = &b->tables.streams[n - 1];

		xdp_plan_for(b, &p, s);
		for (unsigned i = 0; i < n; i++)
			xdp_chunk(&p.chunks, i % 2 ? SACK : HEARTBEAT, 0, b->noise,
				  lab_below(b->run, 20));
		xdp_add_segment(b, &p.chunks, XDP_SEGMENT_TAGGED, s->stream, 20);
		if (!xdp_try_plan(b, &p, "%u other chunks, then a segment", n))
			return false;
	}
	return true;
}

/* The end of the packet after a chunk that is not DATA. */
static bool chunk_ends(struct xdp_bench *b)
{
	const struct xdp_stream *s = &b->tables.streams[0];
	struct xdp_plan p;
	struct xdp_frame f;

	xdp_plan_for(b, &p, s);
	xdp_chunk(&p.chunks, HEARTBEAT, 0, b->noise, 5);
	xdp_add_segment(b, &p.chunks, XDP_SEGMENT_TAGGED, s->stream, 9);
	if (!xdp_try_ends(b, &p, "a HEARTBEAT of 9 octets and a segment", 46))
		return false;
	xdp_build(&f, &p.r);
	for (unsigned len = 0; len < 4; len++) {
		iw_put_be16(f.at + f.chunks + 2, (uint16_t)len);
		if (!xdp_try_frame(b, &f, 0, "a HEARTBEAT with a length below 4, then a segment"))
			return false;
	}
	iw_put_be16(f.at + f.chunks + 2, (uint16_t)(f.len - f.chunks + 1));
	return xdp_try_frame(b, &f, 0, "a HEARTBEAT that ends after the packet") &&
	       xdp_try_field(b, &p, at_chunks, 2, 2, 0xffff,
			     "the length of a HEARTBEAT before the segment") &&
	       xdp_try_field(b, &p, at_chunks, 2, 2, 0xfffc,
			     "the length of a HEARTBEAT before the segment");
}

/* The first DATA chunk decides. */
static bool two_data(struct xdp_bench *b)
{
	const struct xdp_stream *s = &b->tables.streams[0];
	uint8_t user[30] = { 0, 0, 0xc1 };
	struct xdp_plan p;

	xdp_plan_for(b, &p, s);
	xdp_data(&p.chunks, XDP_DATA_WHOLE, s->stream, XDP_PPID_CONTROL, user, sizeof(user));
	xdp_add_segment(b, &p.chunks, XDP_SEGMENT_TAGGED, s->stream, 20);
	if (!xdp_try_plan(b, &p, "a DATA chunk with session control, then one with a segment"))
		return false;
	p.chunks.len = 0;
	xdp_add_segment(b, &p.chunks, XDP_SEGMENT_TAGGED, s->stream ^ 0x0400, 20);
	xdp_add_segment(b, &p.chunks, XDP_SEGMENT_TAGGED, s->stream, 20);
	if (!xdp_try_plan(
		    b, &p,
		    "a segment of a stream that is not registered, then one of a registered stream"))
		return false;
	p.chunks.len = 0;
	xdp_add_segment(b, &p.chunks, XDP_SEGMENT_UNTAGGED, s->stream, 20);
	xdp_add_segment(b, &p.chunks, XDP_SEGMENT_TAGGED, s->stream + 1, 20);
	return xdp_try_plan(b, &p, "an untagged segment, then a tagged one of another stream");
}

/* Segments of each kind: whole, fragments of messages, and too short for a DDP header. */
static bool segment_kinds(struct xdp_bench *b)
{
	static const uint8_t controls[] = { 0xc1, 0x41, 0x81, 0x01, 0x80, 0x7f, 0xff, 0x00 };
	const struct xdp_stream *s = &b->tables.streams[0];
	struct xdp_plan p;

	for (unsigned flags = 0; flags < 16; flags++) {
		uint8_t user[24];

		lab_fill(b->run, user, sizeof(user));
		user[2] = controls[flags % IW_ARRAY_LEN(controls)];
		xdp_plan_for(b, &p, s);
		xdp_data(&p.chunks, (uint8_t)flags, s->stream, XDP_PPID_SEGMENT, user,
			 sizeof(user));
		if (!xdp_try_plan(b, &p,
				  "a DATA chunk with flags 0x%02x and DDP control octet 0x%02x",
				  flags, user[2]))
			return false;
	}
	for (unsigned len = 0; len <= 6; len++) {
		uint8_t user[8] = { 0xff, 0xff, len % 2 ? 0xc1 : 0x41, 0xff };

		xdp_plan_for(b, &p, s);
		xdp_data(&p.chunks, XDP_DATA_WHOLE, s->stream, XDP_PPID_SEGMENT, user, len);
		if (!xdp_try_plan(b, &p, "a DATA chunk with %u octets of user data", len))
			return false;
	}
	return true;
}

bool xdp_frames_of_chunks(struct xdp_bench *b)
{
	struct xdp_plan p;

	if (!before_data(b) || !many_chunks(b) || !chunk_ends(b) || !two_data(b) ||
	    !segment_kinds(b))
		return false;
	for (unsigned i = 0; i < CASES; i++) {
		const struct xdp_stream *s = &b->tables.streams[lab_below(b->run, STREAMS)];

		xdp_plan_for(b, &p, s);
		p.r.v6 = i % 2;
		p.r.udp = lab_below(b->run, 2);
		p.r.vlans = (unsigned)lab_below(b->run, 3);
		p.r.vlan[0].type = p.r.vlan[1].type = VLAN;
		for (uint64_t n = lab_below(b->run, 4); n; n--)
			xdp_chunk(&p.chunks, (uint8_t)(1 + lab_below(b->run, 200)), 0, b->noise,
				  lab_below(b->run, 50));
		xdp_add_segment(b, &p.chunks, i % 3 ? XDP_SEGMENT_TAGGED : XDP_SEGMENT_UNTAGGED,
				s->stream, lab_below(b->run, 900));
		if (!xdp_try_plan(b, &p, "random chunks, then a segment"))
			return false;
	}
	return true;
}

/* --- step 8: sockets -------------------------------------------------------------------------------------- */

static bool try_queue(struct xdp_bench *b, const struct xdp_stream *s, uint32_t queue)
{
	struct xdp_frame f;
	struct xdp_plan p;
	char text[120];

	xdp_plan_for(b, &p, s);
	xdp_add_segment(b, &p.chunks, XDP_SEGMENT_TAGGED, s->stream, 20);
	xdp_build(&f, &p.r);
	snprintf(text, sizeof(text), "receive queue %u, a segment of a stream with slot %u", queue,
		 s->slot);
	return xdp_try_frame(b, &f, queue, text);
}

/*
 * All entries of queue 0 have a socket; of the others, every second slot. So a wrong entry is
 * mostly another socket.
 */
bool xdp_frames_of_socket(struct xdp_bench *b)
{
	static const uint32_t slots[] = { 16, 17, 31, 63, 64, 0x7fffffff, 0xfffffff0, 0xffffffff };

	for (uint32_t i = XDP_SLOTS; i < XDP_ENTRIES; i += 2)
		if (!xdp_add_socket(b, i + (i / XDP_SLOTS) % 2))
			return false;
	for (uint32_t queue = 0; queue < XDP_QUEUES + 2; queue++)
		for (size_t i = 0; i < STREAMS; i++)
			if (!try_queue(b, &b->tables.streams[i], queue))
				return false;
	for (size_t i = 0; i < IW_ARRAY_LEN(slots); i++) {
		struct xdp_stream s = {
			.tag = 0x70000000 + (uint32_t)i, .port = 7000, .stream = 7, .slot = slots[i]
		};

		if (!xdp_add_stream(b, s.tag, s.port, s.stream, s.slot) || !try_queue(b, &s, 0) ||
		    !try_queue(b, &s, 1) || !try_queue(b, &s, 3))
			return false;
	}
	return try_queue(b, &b->tables.streams[0], 0x10000000) &&
	       try_queue(b, &b->tables.streams[0], 0xffffffff);
}
