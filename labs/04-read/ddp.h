/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Headers of DDP segments, with RDMAP's control octet in them. Labs 2 and 3 are about these
 * headers; here they are given, so that this lab is only about the messages. You do not change this
 * file.
 *
 * A tagged segment (RFC 5041 4.2), 14 octets before its payload:
 *
 *      0        1        2 .. 5            6 .. 13
 *   +--------+--------+-----------------+-----------------------------------+
 *   |T L   DV|RV   Op |  STag           |  Tagged Offset of the first octet |
 *   +--------+--------+-----------------+-----------------------------------+
 *
 * An untagged segment (RFC 5041 4.3), 18 octets before its payload:
 *
 *      0        1        2 .. 5        6 .. 9        10 .. 13      14 .. 17
 *   +--------+--------+-------------+-------------+-------------+-------------+
 *   |T L   DV|RV   Op |  0          |  QN         |  MSN        |  MO         |
 *   +--------+--------+-------------+-------------+-------------+-------------+
 */
#ifndef DDP_H
#define DDP_H

#include <stdbool.h>
#include <stdint.h>

#define DDP_TAGGED_LEN   14
#define DDP_UNTAGGED_LEN 18
#define DDP_MULPDU_MIN   128 /* no transport has a smaller MULPDU (RFC 5044 3) */

/* RDMAP's opcodes (RFC 5040 figure 4), and the queues of the untagged ones. */
enum opcode { OP_WRITE = 0, OP_READ_REQUEST = 1, OP_READ_RESPONSE = 2, OP_SEND = 3 };
enum queue { QUEUE_SEND = 0, QUEUE_READ_REQUEST = 1 };

/* All integers on the wire are big-endian: the most significant octet comes first. */
static inline void put_be32(uint8_t *at, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(v >> (24 - 8 * i));
}

static inline void put_be64(uint8_t *at, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		at[i] = (uint8_t)(v >> (56 - 8 * i));
}

static inline uint32_t get_be32(const uint8_t *at)
{
	uint32_t v = 0;

	for (int i = 0; i < 4; i++)
		v = v << 8 | at[i];
	return v;
}

static inline uint64_t get_be64(const uint8_t *at)
{
	return (uint64_t)get_be32(at) << 32 | get_be32(at + 4);
}

/* Writes a header of 14 octets. last: the segment is the last one of its message. */
static inline void put_tagged(uint8_t *at, enum opcode opcode, bool last, uint32_t stag,
			      uint64_t to)
{
	at[0] = (uint8_t)(0x81 | (last ? 0x40 : 0)); /* T, L, DDP version 1 */
	at[1] = (uint8_t)(0x40 | opcode);            /* RDMAP version 1 */
	put_be32(at + 2, stag);
	put_be64(at + 6, to);
}

/* Writes a header of 18 octets. mo: the place of the segment's first octet in the message. */
static inline void put_untagged(uint8_t *at, enum opcode opcode, bool last, enum queue qn,
				uint32_t msn, uint32_t mo)
{
	at[0] = (uint8_t)(0x01 | (last ? 0x40 : 0));
	at[1] = (uint8_t)(0x40 | opcode);
	put_be32(at + 2, 0); /* an STag only in Send with Invalidate */
	put_be32(at + 6, qn);
	put_be32(at + 10, msn);
	put_be32(at + 14, mo);
}

struct tagged {
	bool last;
	uint32_t stag;
	uint64_t to;
};

/* Reads the header of a tagged segment. */
static inline struct tagged get_tagged(const uint8_t *at)
{
	return (struct tagged){ .last = at[0] & 0x40,
				.stag = get_be32(at + 2),
				.to = get_be64(at + 6) };
}

#endif
