/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Given: the octets of a DDP Segment Chunk, decoded. You wrote such code in labs 2 and 3. */
#ifndef CHUNK_H
#define CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SSN_LEN      2  /* octets of the DDP-SSN */
#define TAGGED_LEN   14 /* octets of the header of a tagged DDP segment */
#define UNTAGGED_LEN 18 /* octets of the header of an untagged DDP segment */

/* A DDP segment and its DDP-SSN, in the byte order of this machine. */
struct segment {
	uint16_t ssn;
	bool tagged;
	bool last;              /* the L bit: the segment ends its message */
	uint32_t stag;          /* tagged; otherwise 0 */
	uint64_t to;            /* tagged; otherwise 0 */
	uint32_t qn, msn, mo;   /* untagged; otherwise 0 */
	const uint8_t *payload; /* borrowed from the chunk */
	size_t len;             /* octets of payload */
};

static inline uint64_t big_endian(const uint8_t *at, size_t octets)
{
	uint64_t v = 0;

	while (octets--)
		v = v << 8 | *at++;
	return v;
}

/*
 * Decodes the user data of a DDP Segment Chunk (RFC 5043 5.2.2): the DDP-SSN, a DDP header (RFC
 * 5041 4.2, 4.3), the payload. Returns false if the chunk is too short. The DDP version and the
 * reserved bits are not checked.
 */
static inline bool chunk_decode(struct segment *out, const uint8_t *octets, size_t len)
{
	const uint8_t *ddp = octets + SSN_LEN;
	size_t header;

	memset(out, 0, sizeof(*out));
	if (len <= SSN_LEN)
		return false;
	out->ssn = (uint16_t)big_endian(octets, 2);
	out->tagged = ddp[0] & 0x80;
	out->last = ddp[0] & 0x40;
	header = out->tagged ? TAGGED_LEN : UNTAGGED_LEN;
	if (len < SSN_LEN + header)
		return false;
	if (out->tagged) {
		out->stag = (uint32_t)big_endian(ddp + 2, 4);
		out->to = big_endian(ddp + 6, 8);
	} else {
		out->qn = (uint32_t)big_endian(ddp + 6, 4);
		out->msn = (uint32_t)big_endian(ddp + 10, 4);
		out->mo = (uint32_t)big_endian(ddp + 14, 4);
	}
	out->payload = ddp + header;
	out->len = len - SSN_LEN - header;
	return true;
}

#endif
