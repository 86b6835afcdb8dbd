/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From a captured frame to a TCP segment or an SCTP packet: link, VLAN, IP, UDP and TCP headers.
 * Private to the room. */
#ifndef IW_CAPTURE_PACKET_H
#define IW_CAPTURE_PACKET_H

#include "ddp-dump/capture.h"

enum tcp_flag { TCP_FIN = 0x01, TCP_SYN = 0x02, TCP_RST = 0x04, TCP_ACK = 0x10 };

struct packet {
	struct iw_cap_end end[2]; /* sender, receiver */
	uint32_t seq, ack;        /* TCP */
	uint8_t flags;            /* TCP: enum tcp_flag */
	/* in the frame: TCP's payload; the SCTP packet, at least its common header */
	const uint8_t *data;
	uint32_t len;     /* octets of that captured */
	uint32_t missing; /* octets of it behind them that were not */
};

enum packet_kind {
	PACKET_TCP,
	PACKET_SCTP,      /* on IP or in UDP */
	PACKET_OTHER,     /* neither */
	PACKET_FRAGMENT,  /* part of an IP datagram */
	PACKET_MALFORMED, /* lengths contradict each other */
	PACKET_CUT,       /* the snap length left too little of the headers */
};

/* Fills *out when the answer is PACKET_TCP or PACKET_SCTP. SCTP is looked for in UDP on port 9899
 * and on udp_port. */
enum packet_kind iw_cap_packet_parse(struct packet *out, const struct iw_cap_frame *f,
				     uint16_t udp_port);

#endif
