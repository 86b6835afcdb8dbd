/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * --pcap: what left the relay, as a file that ddp-dump and other programs read. A relay of Ethernet
 * frames writes them as they are; relays of streams and datagrams make IP packets of them.
 */
#ifndef IW_DDP_IMPAIR_CAPTURE_H
#define IW_DDP_IMPAIR_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "os/addr.h"

struct iw_relay_capture;

/* Creates the file (pcapng if path ends in .pcapng). ethernet: it will have Ethernet frames, not IP
 * packets. Errors of iw_cap_save_open(). */
IW_MUST_CHECK int iw_relay_capture_open(struct iw_relay_capture **out, const char *path,
					bool ethernet, struct iw_fault *why);
/* Flushes and closes. NULL is allowed. Error of iw_os_fail: a write failed, now or earlier. */
IW_MUST_CHECK int iw_relay_capture_close(struct iw_relay_capture *c, struct iw_fault *why);

/* An Ethernet frame. */
void iw_relay_capture_frame(struct iw_relay_capture *c, const void *frame, size_t len);
/* A UDP datagram from one address to another (of the same family, otherwise IPv4-mapped). */
void iw_relay_capture_datagram(struct iw_relay_capture *c, const struct iw_addr *from,
			       const struct iw_addr *to, const void *octets, size_t len);

/* One TCP connection in the file. */
struct iw_relay_capture_stream {
	struct iw_addr end[2]; /* initiator, responder */
	uint32_t next[2];      /* sequence numbers */
	bool ended[2];
};
/* Writes the three packets that open the connection. */
void iw_relay_capture_open_stream(struct iw_relay_capture *c, struct iw_relay_capture_stream *s,
				  const struct iw_addr *initiator, const struct iw_addr *responder);
/* Octets that the end `from` has sent. */
void iw_relay_capture_octets(struct iw_relay_capture *c, struct iw_relay_capture_stream *s,
			     unsigned from, const void *octets, size_t len);
/* The end `from` has closed its direction, or reset the connection. */
void iw_relay_capture_end(struct iw_relay_capture *c, struct iw_relay_capture_stream *s,
			  unsigned from, bool reset);

#endif
