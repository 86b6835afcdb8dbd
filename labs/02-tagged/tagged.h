/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lab 2: tagged placement. You write tagged.c; you do not change this file.
 *
 * A peer writes into your memory without asking your program: each segment that arrives says where
 * its octets belong, by an STag (which buffer) and a Tagged Offset (which octet). This module
 * decides whether they may go there. It has three parts:
 *
 *	header   the 14 octets before the payload (RFC 5041 4.1 and 4.2, RFC 5040 4.1)
 *	table    the buffers that peers may use, found by their STags (RFC 5041 8.2, RFC 5042 6.1.1)
 *	access   the checks, and only after all of them the copy (RFC 5041 7.1, RFC 5040 7.2)
 *
 * One thread uses the module. All lengths and offsets are in octets.
 */
#ifndef TAGGED_H
#define TAGGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Results of the checks. The errors are the first two octets of the Terminate message that reports
 * them: layer (4 bits), error type (4 bits), error code (8 bits); RFC 5040 4.8. The first layer to
 * find an error names it, so the same fault has another number in a Read Request (RDMAP, layer 0)
 * than in an arriving segment (DDP, layer 1).
 */
enum tagged_code {
	TAGGED_OK = 0,
	TAGGED_DROPPED = 1, /* the stream had an error before: RFC 5041 7.1 */

	/* An arriving segment: RFC 5041 7.2. */
	TAGGED_LOCAL = 0x1000, /* not a tagged segment with a whole header: a fault of this end */
	TAGGED_INVALID_STAG = 0x1100,
	TAGGED_BOUNDS = 0x1101,
	TAGGED_NOT_ASSOCIATED = 0x1102,
	TAGGED_WRAP = 0x1103,
	TAGGED_DDP_VERSION = 0x1104,
	TAGGED_RDMAP_VERSION = 0x0205, /* these two are errors of RDMAP: RFC 5040 4.8 */
	TAGGED_OPCODE = 0x0206,

	/* The source of a Read Request: RFC 5040 4.8. */
	TAGGED_READ_INVALID_STAG = 0x0100,
	TAGGED_READ_BOUNDS = 0x0101,
	TAGGED_READ_RIGHTS = 0x0102,
	TAGGED_READ_NOT_ASSOCIATED = 0x0103,
	TAGGED_READ_WRAP = 0x0104,
};

/* --- step header ----------------------------------------------------------------------------- */

enum {
	TAGGED_HEADER_LEN = 14,
	TAGGED_VERSION = 1,       /* DV of RFC 5041 and RV of RFC 5040 */
	TAGGED_WRITE = 0,         /* opcodes of tagged messages, RFC 5040 figure 4: RDMA Write, */
	TAGGED_READ_RESPONSE = 2, /* RDMA Read Response */
};

struct tagged_header {
	uint8_t opcode; /* TAGGED_WRITE or TAGGED_READ_RESPONSE */
	bool last;      /* the last segment of its message */
	uint32_t stag;
	uint64_t to;
	const uint8_t *payload; /* points into the segment */
	size_t payload_len;     /* may be 0 */
};

/*
 * Reads the header of a segment of len octets, as MPA delivers it: without MPA's length, padding
 * and CRC. *h is valid only after TAGGED_OK. The errors, in the order of the checks:
 *
 *	TAGGED_LOCAL          fewer than 14 octets, or the T bit is 0
 *	TAGGED_DDP_VERSION    DV is not 1
 *	TAGGED_RDMAP_VERSION  RV is not 1
 *	TAGGED_OPCODE         the opcode is not one of a tagged message
 *
 * Reserved bits are not checked (RFC 5041 4.1, RFC 5040 4.1).
 */
enum tagged_code tagged_parse(struct tagged_header *h, const uint8_t *segment, size_t len);

/* --- step register --------------------------------------------------------------------------- */

/*
 * An STag is the number of a slot of the table (high 8 bits) and a key (low 24 bits). A peer can
 * count slots, but it must guess the key: RFC 5042 6.1.1.
 */
enum {
	TAGGED_SLOTS = 256,
	TAGGED_KEY_BITS = 24,
};

/* What peers may do with a region. */
enum tagged_right {
	TAGGED_REMOTE_READ = 1,  /* source of RDMA Reads of the peer */
	TAGGED_REMOTE_WRITE = 2, /* target of RDMA Writes of the peer */
	TAGGED_READ_SINK = 4,    /* target of Read Responses, to Reads of this end */
};

struct tagged_region {
	uint8_t *memory; /* len octets of the caller, which keeps them until it deregisters them */
	uint64_t len;
	uint64_t base;   /* Tagged Offset of memory[0] */
	uint32_t pd;     /* protection domain: only its streams may use the region */
	uint32_t stream; /* 0: all streams of pd; otherwise only the stream with this id */
	uint8_t rights;  /* a set of enum tagged_right */
};

struct tagged_table; /* you define it in tagged.c */

/*
 * Returns an empty table, which the caller frees with tagged_free(); NULL: no memory. random(ctx)
 * returns 32 bits that no peer can predict; it is called only by tagged_register().
 */
struct tagged_table *tagged_new(uint32_t (*random)(void *ctx), void *ctx);
/* Frees the table, but not the memory of its regions. NULL is allowed. */
void tagged_free(struct tagged_table *t);

/*
 * Registers *region, which is copied, and sets *stag.
 *
 * Slot: the first free one after the slot of the previous registration, in ascending order; slot 0
 * follows slot 255. The first registration gets slot 0. So a slot rests as long as possible before
 * it is used again.
 * Key: the low 24 bits of random(). Another value is drawn while the key is 0 (no STag is 0), and
 * while it is the key that this slot had last.
 *
 * False, without any change and without a call of random(): all slots are in use; rights are 0 or
 * have an unknown bit; memory is NULL, but len is not 0; base + len is 2^64 or more. (A region with
 * len 0 is allowed.)
 */
bool tagged_register(struct tagged_table *t, const struct tagged_region *region, uint32_t *stag);
/*
 * Returns the region that is registered with exactly this STag, or NULL. The pointer is valid until
 * the next call of tagged_register(), tagged_deregister() or tagged_free().
 */
const struct tagged_region *tagged_lookup(const struct tagged_table *t, uint32_t stag);

/* --- step revoke ----------------------------------------------------------------------------- */

/*
 * Makes the STag invalid. When it returns, no peer can reach the memory any more, and the caller
 * may free it. False: the STag is not valid.
 */
bool tagged_deregister(struct tagged_table *t, uint32_t stag);

/* --- the other steps: access ----------------------------------------------------------------- */

/* The stream (connection) by which a peer asks for access. */
struct tagged_stream {
	uint32_t pd;            /* protection domain */
	uint32_t id;            /* not 0 */
	enum tagged_code error; /* TAGGED_OK at first; see tagged_place() */
};

/*
 * Places the payload of one tagged segment that has arrived on the stream s: copies it to octet
 * TO - base of the region. It copies nothing before all checks are passed. They have this order:
 *
 *	TAGGED_DROPPED         s->error is not TAGGED_OK (RFC 5041 7.1: drop silently)
 *	(header)               the errors of tagged_parse()
 *	(no payload)           TAGGED_OK: STag and TO are not checked (RFC 5041 5.2)
 *	TAGGED_INVALID_STAG    no region is registered with this STag
 *	TAGGED_NOT_ASSOCIATED  another protection domain; the region is for another stream only
 *	TAGGED_INVALID_STAG    the region lacks the right: TAGGED_REMOTE_WRITE for an RDMA Write,
 *	                       TAGGED_READ_SINK for a Read Response (DDP has no code for this)
 *	TAGGED_WRAP            TO + length of the payload is 2^64 or more
 *	TAGGED_BOUNDS          one of the octets is outside of the region
 *
 * An error (not TAGGED_DROPPED) is returned, and also stored in s->error.
 */
enum tagged_code tagged_place(struct tagged_table *t, struct tagged_stream *s,
			      const uint8_t *segment, size_t len);

/*
 * Reads the source of a Read Request that has arrived on the stream s: copies len octets that begin
 * at the Tagged Offset to into dst. After an error dst is unchanged. The checks have this order:
 *
 *	TAGGED_DROPPED              s->error is not TAGGED_OK
 *	(len is 0)                  TAGGED_OK: STag and TO are not checked (RFC 5040 5.2.1)
 *	TAGGED_READ_INVALID_STAG    no region is registered with this STag
 *	TAGGED_READ_NOT_ASSOCIATED  another protection domain; the region is for another stream only
 *	TAGGED_READ_RIGHTS          the region lacks TAGGED_REMOTE_READ
 *	TAGGED_READ_WRAP            to + len is 2^64 or more
 *	TAGGED_READ_BOUNDS          one of the octets is outside of the region
 *
 * An error (not TAGGED_DROPPED) is returned, and also stored in s->error.
 */
enum tagged_code tagged_read(const struct tagged_table *t, struct tagged_stream *s, uint32_t stag,
			     uint64_t to, uint32_t len, uint8_t *dst);

#endif
