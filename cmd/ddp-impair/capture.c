// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Captures of what left. Packets that the relay of streams or datagrams makes have valid IP and TCP
 * or UDP headers; their sequence numbers begin with 0.
 */
#include "ddp-impair/capture.h"

#include <stdlib.h>
#include <string.h>

#include "ddp-dump/save.h"
#include "os/os.h"
#include "util/num.h"
#include "util/text.h"

#define LINKTYPE_ETHERNET 1
#define LINKTYPE_RAW      101
#define IP4_LEN           20
#define IP6_LEN           40
#define TCP_LEN           20
#define UDP_LEN           8
#define SEGMENT_MAX       61440 /* octets of a stream in one packet */
#define PACKET_MAX        (IP6_LEN + TCP_LEN + 65535)
#define FLUSH_FRAMES      64

enum { FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16 };

struct iw_relay_capture {
	struct iw_cap_save *save;
	uint64_t frames;
	int err;
	struct iw_fault why; /* the first failure */
	uint8_t packet[PACKET_MAX];
};

int iw_relay_capture_open(struct iw_relay_capture **out, const char *path, bool ethernet,
			  struct iw_fault *why)
{
	struct iw_relay_capture *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return iw_fail(why, IW_E_NOMEM, "out of memory");
	err = iw_cap_save_open(&c->save, "--pcap", path,
			       ethernet ? LINKTYPE_ETHERNET : LINKTYPE_RAW, false, why);
	if (err < 0)
		free(c);
	else
		*out = c;
	return err;
}

int iw_relay_capture_close(struct iw_relay_capture *c, struct iw_fault *why)
{
	int err;

	if (!c)
		return 0;
	err = c->err;
	if (err < 0)
		*why = c->why;
	else
		err = iw_cap_save_flush(c->save, true, why);
	iw_cap_save_close(c->save);
	free(c);
	return err;
}

void iw_relay_capture_frame(struct iw_relay_capture *c, const void *frame, size_t len)
{
	struct iw_cap_frame f = { .number = ++c->frames,
				  .time_ns = iw_os_wall(),
				  .data = frame,
				  .len = len,
				  .wire_len = len };

	if (c->err < 0)
		return;
	c->err = iw_cap_save_frame(c->save, &f, NULL, 0, true, &c->why);
	if (c->err == 0 && c->frames % FLUSH_FRAMES == 0)
		c->err = iw_cap_save_flush(c->save, false, &c->why);
}

/* --- packets --- */

/* RFC 1071, without the final complement. */
static uint32_t sum(uint32_t s, const uint8_t *p, size_t len)
{
	for (; len > 1; p += 2, len -= 2) {
		s += iw_get_be16(p);
		s = (s & 0xffff) + (s >> 16);
	}
	if (len)
		s += (uint32_t)p[0] << 8;
	return (s & 0xffff) + (s >> 16);
}

static void to_mapped(uint8_t dst[16], const struct iw_addr *a)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	if (a->sa.sa_family == AF_INET6) {
		memcpy(dst, &a->in6.sin6_addr, 16);
		return;
	}
	memcpy(dst, prefix, 12);
	memcpy(dst + 12, &a->in.sin_addr, 4);
}

/* Writes the IP header for len octets after it. Returns its length. */
static size_t put_ip(uint8_t *p, const struct iw_addr *from, const struct iw_addr *to,
		     uint8_t protocol, size_t len)
{
	memset(p, 0, IP6_LEN);
	if (from->sa.sa_family == AF_INET && to->sa.sa_family == AF_INET) {
		p[0] = 0x45;
		iw_put_be16(p + 2, (uint16_t)(IP4_LEN + len));
		p[8] = 64;
		p[9] = protocol;
		memcpy(p + 12, &from->in.sin_addr, 4);
		memcpy(p + 16, &to->in.sin_addr, 4);
		iw_put_be16(p + 10, (uint16_t)~sum(0, p, IP4_LEN));
		return IP4_LEN;
	}
	p[0] = 0x60;
	iw_put_be16(p + 4, (uint16_t)len);
	p[6] = protocol;
	p[7] = 64;
	to_mapped(p + 8, from);
	to_mapped(p + 24, to);
	return IP6_LEN;
}

/* The checksum of TCP or UDP over len octets at p, after an IP header of ip_len octets. */
static uint16_t checksum(const uint8_t *ip, size_t ip_len, uint8_t protocol, const uint8_t *p,
			 size_t len)
{
	uint32_t s = ip_len == IP4_LEN ? sum(0, ip + 12, 8) : sum(0, ip + 8, 32);

	return (uint16_t)~sum(s + protocol + (uint32_t)len, p, len);
}

#define PROTOCOL_TCP 6
#define PROTOCOL_UDP 17

void iw_relay_capture_datagram(struct iw_relay_capture *c, const struct iw_addr *from,
			       const struct iw_addr *to, const void *octets, size_t len)
{
	size_t ip = put_ip(c->packet, from, to, PROTOCOL_UDP, UDP_LEN + len);
	uint8_t *udp = c->packet + ip;
	uint16_t s;

	if (len > 65535 - UDP_LEN - IP4_LEN)
		return;
	iw_put_be16(udp, iw_addr_port(from));
	iw_put_be16(udp + 2, iw_addr_port(to));
	iw_put_be16(udp + 4, (uint16_t)(UDP_LEN + len));
	iw_put_be16(udp + 6, 0);
	memcpy(udp + UDP_LEN, octets, len);
	s = checksum(c->packet, ip, PROTOCOL_UDP, udp, UDP_LEN + len);
	iw_put_be16(udp + 6, s ? s : 0xffff);
	iw_relay_capture_frame(c, c->packet, ip + UDP_LEN + len);
}

static void segment(struct iw_relay_capture *c, struct iw_relay_capture_stream *s, unsigned from,
		    uint8_t flags, const void *octets, size_t len)
{
	const struct iw_addr *a = &s->end[from], *b = &s->end[!from];
	size_t ip = put_ip(c->packet, a, b, PROTOCOL_TCP, TCP_LEN + len);
	uint8_t *tcp = c->packet + ip;

	memset(tcp, 0, TCP_LEN);
	iw_put_be16(tcp, iw_addr_port(a));
	iw_put_be16(tcp + 2, iw_addr_port(b));
	iw_put_be32(tcp + 4, s->next[from]);
	if (flags & ACK)
		iw_put_be32(tcp + 8, s->next[!from]);
	tcp[12] = TCP_LEN / 4 << 4;
	tcp[13] = flags;
	iw_put_be16(tcp + 14, 65535);
	if (len)
		memcpy(tcp + TCP_LEN, octets, len);
	iw_put_be16(tcp + 16, checksum(c->packet, ip, PROTOCOL_TCP, tcp, TCP_LEN + len));
	s->next[from] += (uint32_t)len + ((flags & (SYN | FIN)) != 0);
	iw_relay_capture_frame(c, c->packet, ip + TCP_LEN + len);
}

void iw_relay_capture_open_stream(struct iw_relay_capture *c, struct iw_relay_capture_stream *s,
				  const struct iw_addr *initiator, const struct iw_addr *responder)
{
	*s = (struct iw_relay_capture_stream){ .end = { *initiator, *responder } };
	segment(c, s, 0, SYN, NULL, 0);
	segment(c, s, 1, SYN | ACK, NULL, 0);
	segment(c, s, 0, ACK, NULL, 0);
}

void iw_relay_capture_octets(struct iw_relay_capture *c, struct iw_relay_capture_stream *s,
			     unsigned from, const void *octets, size_t len)
{
	const uint8_t *p = octets;

	for (size_t n; len; p += n, len -= n) {
		n = IW_MIN(len, (size_t)SEGMENT_MAX);
		segment(c, s, from, ACK | PSH, p, n);
	}
}

void iw_relay_capture_end(struct iw_relay_capture *c, struct iw_relay_capture_stream *s,
			  unsigned from, bool reset)
{
	if (s->ended[from])
		return;
	s->ended[from] = true;
	segment(c, s, from, reset ? RST | ACK : FIN | ACK, NULL, 0);
}
