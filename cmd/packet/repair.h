/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lengths and checksums in the headers of a frame whose payload was changed or divided. No state. */
#ifndef IW_PACKET_REPAIR_H
#define IW_PACKET_REPAIR_H

#include "packet/packet.h"

/*
 * frame is the whole frame (len octets) that p and kind describe, all of which were captured; its
 * payload, at p->data, was changed in place and now has payload_len octets, at most p->len. Sets the
 * lengths of IP and UDP, the header checksum of IPv4, and the checksum of TCP or UDP (0, none, stays
 * 0). Returns the length of the frame, which keeps its padding to 60 octets. Does not touch the
 * checksum of SCTP.
 */
size_t iw_packet_repair(uint8_t *frame, size_t len, const struct iw_packet *p,
			enum iw_packet_kind kind, size_t payload_len);

/*
 * Sets the lengths of IP and UDP, the header checksum of IPv4, and the checksum of TCP, or of UDP if
 * udp, of a datagram that ends at end.
 */
void iw_packet_complete(uint8_t *ip, bool v6, uint8_t *transport, bool udp, const uint8_t *end);

/* RFC 1071: the Internet checksum of len octets. */
uint16_t iw_packet_sum(const uint8_t *p, size_t len);

#endif
