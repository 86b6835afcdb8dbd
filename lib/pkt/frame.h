/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ethernet frames around SCTP packets: taking them apart, and the heads of those to send.
 *
 * Job: octets. Neighbours: pkt/xdp.c. No state, no system call.
 */
#ifndef IW_PKT_FRAME_H
#define IW_PKT_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/addr.h"
#include "xdp/shared.h"

#define IW_FRAME_HEAD_MAX (14 + 40 + 8) /* Ethernet, IPv6, and UDP */

/* Where things lie in a frame. */
struct iw_frame {
	struct iw_addr src, dst; /* with port when it is SCTP in UDP, else without */
	size_t at, len;          /* the SCTP packet */
};

/*
 * Takes apart a whole frame: VLAN tags, IPv4 with options, IPv6 with extension headers, UDP (RFC 6951). false: no
 * whole SCTP packet on IP (fragments are none), or a header that contradicts itself or its checksum. That of UDP
 * is not looked at: within one host it is left open, and SCTP has its own.
 */
bool iw_frame_parse(struct iw_frame *out, const uint8_t *data, size_t len);

/* As iw_frame_parse, of a frame that the steering program has taken apart: what its notes say is checked against the
 * frame before anything is done with it. */
bool iw_frame_noted(struct iw_frame *out, const uint8_t *data, size_t len,
		    const struct iw_xdp_meta *notes);

/*
 * The head of a frame that carries sctp, len octets, from src to dst, DF set: ether as it is, then IP, then UDP
 * when the addresses have ports. Its length. Both addresses are of one family. Without UDP sctp may be NULL.
 */
size_t iw_frame_head(uint8_t head[static IW_FRAME_HEAD_MAX], const uint8_t ether[static 14],
		     const struct iw_addr *src, const struct iw_addr *dst, const uint8_t *sctp,
		     size_t len);

#endif
