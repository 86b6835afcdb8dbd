/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the TCP segment or SCTP packet in a frame: link, VLAN, IP, UDP and TCP headers. The frame
 * may be cut by the snap length of a capture. No state, no system call.
 */
#ifndef IW_PACKET_PACKET_H
#define IW_PACKET_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The link-layer header before the IP header. */
enum iw_packet_link {
	IW_PACKET_ETHERNET, /* with any number of VLAN tags */
	IW_PACKET_SLL,      /* Linux cooked, version 1 */
	IW_PACKET_SLL2,     /* Linux cooked, version 2 */
	IW_PACKET_RAW,      /* none */
	IW_PACKET_NULL,     /* an address family of four octets, in either byte order */
};

struct iw_packet_end {
	bool v6;
	uint8_t addr[16];  /* IPv4: the first four octets */
	uint16_t port;     /* TCP or SCTP */
	uint16_t udp_port; /* the UDP port that carries SCTP; 0: not in UDP */
};

enum iw_tcp_flag { IW_TCP_FIN = 0x01, IW_TCP_SYN = 0x02, IW_TCP_RST = 0x04, IW_TCP_ACK = 0x10 };

struct iw_packet {
	struct iw_packet_end end[2]; /* sender, receiver */
	uint32_t seq, ack;           /* TCP */
	uint8_t flags;               /* TCP: enum iw_tcp_flag */
	/* In the frame: the headers of IP, and of TCP or UDP (without UDP: the SCTP packet). */
	const uint8_t *ip, *transport;
	/* In the frame: the payload of TCP, or the SCTP packet with at least its common header. */
	const uint8_t *data;
	uint32_t len;     /* captured octets at data */
	uint32_t missing; /* octets after them that were not captured */
};

enum iw_packet_kind {
	IW_PACKET_TCP,
	IW_PACKET_SCTP,      /* on IP or in UDP */
	IW_PACKET_OTHER,     /* neither */
	IW_PACKET_FRAGMENT,  /* part of an IP datagram */
	IW_PACKET_MALFORMED, /* contradictory lengths */
	IW_PACKET_CUT,       /* the snap length cut the headers */
};

/*
 * Parses a frame of which len octets were captured; its whole length is wire_len, or len if that is
 * longer. *out is valid for IW_PACKET_TCP and IW_PACKET_SCTP, and borrows from the frame. UDP is
 * taken for SCTP if one of its ports is 9899 (RFC 6951) or udp_port.
 */
enum iw_packet_kind iw_packet_parse(struct iw_packet *out, enum iw_packet_link link,
				    const uint8_t *frame, size_t len, size_t wire_len,
				    uint16_t udp_port);

#endif
