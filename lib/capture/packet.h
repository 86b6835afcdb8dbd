/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From a captured frame to a TCP segment: link, VLAN, IP and TCP headers. Private to the room. */
#ifndef IW_CAPTURE_PACKET_H
#define IW_CAPTURE_PACKET_H

#include "capture/capture.h"

enum tcp_flag { TCP_FIN = 0x01, TCP_SYN = 0x02, TCP_RST = 0x04, TCP_ACK = 0x10 };

struct packet {
	struct iw_cap_end end[2]; /* sender, receiver */
	uint32_t seq, ack;
	uint8_t flags;       /* enum tcp_flag */
	const uint8_t *data; /* payload, in the frame */
	uint32_t len;        /* octets of payload captured */
	uint32_t missing;    /* octets of payload behind them that were not */
};

enum packet_kind {
	PACKET_TCP,
	PACKET_OTHER,     /* not TCP */
	PACKET_FRAGMENT,  /* part of an IP datagram */
	PACKET_MALFORMED, /* lengths contradict each other */
	PACKET_CUT,       /* the snap length left too little of the headers */
};

/* Fills *out when the answer is PACKET_TCP. */
enum packet_kind packet_parse(struct packet *out, const struct iw_cap_frame *f);

#endif
