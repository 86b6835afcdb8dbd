/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ethernet frames that carry SCTP packets: parses received frames, and builds the headers of frames
 * to send.
 *
 * Neighbours: pkt/xdp.c, the caller. No state, no system call.
 */
#ifndef IW_PKT_FRAME_H
#define IW_PKT_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/addr.h"
#include "xdp/shared.h"

#define IW_FRAME_HEAD_MAX (14 + 40 + 8) /* Ethernet, IPv6, and UDP */

/* A parsed frame. */
struct iw_frame {
	struct iw_addr src, dst; /* of IP; with ports if SCTP is in UDP, else with port 0 */
	size_t at, len;          /* offset and length of the SCTP packet */
};

/*
 * Parses a whole frame of len octets: VLAN tags, IPv4 with options, IPv6 with extension headers,
 * UDP (RFC 6951). False: the frame contains no whole SCTP packet (a fragment, for example), or a
 * header contradicts itself or its checksum. The UDP checksum is not checked: within one host it is
 * not filled in, and SCTP has its own.
 */
bool iw_frame_parse(struct iw_frame *out, const uint8_t *data, size_t len);

/* As iw_frame_parse, for a frame that the steering program has parsed. Checks the offsets in notes,
 * the program's metadata, against the frame before it uses them. */
bool iw_frame_from_meta(struct iw_frame *out, const uint8_t *data, size_t len,
			const struct iw_xdp_meta *notes);

/*
 * Writes the headers of a frame that carries the SCTP packet sctp of len octets from src to dst:
 * ether unchanged, then IP with DF, then UDP if dst has a port. Both addresses must be of one
 * family. Without UDP, sctp may be NULL. Returns the length of the headers in octets.
 */
size_t iw_frame_head(uint8_t head[static IW_FRAME_HEAD_MAX], const uint8_t ether[static 14],
		     const struct iw_addr *src, const struct iw_addr *dst, const uint8_t *sctp,
		     size_t len);

#endif
