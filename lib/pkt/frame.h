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

#define IW_FRAME_HEAD_MAX (14 + 40) /* Ethernet and IPv6 */

/* Where things lie in a frame. */
struct iw_frame {
	struct iw_addr src, dst; /* without port */
	size_t at, len;          /* the SCTP packet */
};

/*
 * Takes apart a whole frame: VLAN tags, IPv4 with options, IPv6 with extension headers. false: no whole SCTP
 * packet on IP (fragments are none), or a header that contradicts itself or its checksum.
 */
bool iw_frame_parse(struct iw_frame *out, const uint8_t *data, size_t len);

/*
 * The head of a frame that carries len octets of SCTP from src to dst, DF set: ether as it is, then IP. Its
 * length. Both addresses are of one family.
 */
size_t iw_frame_head(uint8_t head[static IW_FRAME_HEAD_MAX], const uint8_t ether[static 14],
		     const struct iw_addr *src, const struct iw_addr *dst, size_t len);

#endif
