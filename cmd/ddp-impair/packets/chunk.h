/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Divides an SCTP packet into units: the packet itself, and its chunks (RFC 9260 3). Pure. */
#ifndef IW_DDP_IMPAIR_PACKETS_CHUNK_H
#define IW_DDP_IMPAIR_PACKETS_CHUNK_H

#include "ddp-impair/rules/unit.h"

/* Most units of a packet. Chunks beyond belong to no unit. */
#define IW_CHUNKS_MAX 64

/*
 * Describes the packet in out[0], and its chunks in those after it; each refers to octets
 * (borrowed). Returns the number of units, at least 2; 0: these octets are not an SCTP packet,
 * because chunks do not fill them. Fills everything but conn, number and at_ns.
 */
size_t iw_chunks_read(struct iw_unit out[static IW_CHUNKS_MAX + 1], unsigned from,
		      const uint8_t *octets, size_t len);

#endif
