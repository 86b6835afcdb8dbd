/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the TCP segment or SCTP packet in a captured frame: link, VLAN, IP, UDP and TCP headers.
 * Private to ddp-dump. */
#ifndef IW_DDP_DUMP_PACKET_H
#define IW_DDP_DUMP_PACKET_H

#include "ddp-dump/capture.h"

enum tcp_flag { TCP_FIN = 0x01, TCP_SYN = 0x02, TCP_RST = 0x04, TCP_ACK = 0x10 };

struct packet {
	struct iw_cap_end end[2]; /* sender, receiver */
	uint32_t seq, ack;        /* TCP */
	uint8_t flags;            /* TCP: enum tcp_flag */
	/* In the frame: the payload of TCP, or the SCTP packet with at least its common header. */
	const uint8_t *data;
	uint32_t len;     /* captured octets at data */
	uint32_t missing; /* octets after them that were not captured */
};

enum packet_kind {
	PACKET_TCP,
	PACKET_SCTP,      /* on IP or in UDP */
	PACKET_OTHER,     /* neither */
	PACKET_FRAGMENT,  /* part of an IP datagram */
	PACKET_MALFORMED, /* contradictory lengths */
	PACKET_CUT,       /* the snap length cut the headers */
};

/* Parses a frame; *out is valid for PACKET_TCP and PACKET_SCTP, and borrows from the frame. UDP is
 * taken for SCTP if one of its ports is 9899 (RFC 6951) or udp_port. */
enum packet_kind iw_cap_packet_parse(struct packet *out, const struct iw_cap_frame *f,
				     uint16_t udp_port);

#endif
