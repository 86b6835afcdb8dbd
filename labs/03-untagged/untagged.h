/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The untagged queues of a data sink (RFC 5041 4.3, 5.1.2, 5.3, 5.4 and 7.1).
 *
 * The owner posts buffers on queues. The peer's segments name a queue (QN), a message in it (MSN)
 * and an offset in that message (MO), so that each segment can be placed at once, in whatever order
 * segments arrive. Messages are delivered in the order of their MSNs, once each.
 *
 * The transport has checked each segment (CRC32c). It may pass segments in any order, and a segment
 * more than once (RFC 5041 3 and 5.3). MPA over TCP does neither; SCTP can do both.
 */
#ifndef UNTAGGED_H
#define UNTAGGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNTAGGED_QUEUES    3   /* QN 0: Send; 1: RDMA Read Request; 2: Terminate (RFC 5040 4.1) */
#define UNTAGGED_DEPTH_MAX 256 /* most buffers posted on a queue */
#define UNTAGGED_HEADER    18  /* octets before the payload (RFC 5041 4.3) */

/*
 * What happened to a segment. The errors are written as the first 16 bits of the Terminate message
 * that reports them to the peer: layer 1 (DDP), Error Type, Error Code (RFC 5040 4.8, RFC 5041 7.2).
 */
enum untagged_result {
	/* It brought octets, or the L flag, that had not arrived yet. */
	UNTAGGED_PLACED = 0,
	/* All of it had arrived before. */
	UNTAGGED_NOTHING_NEW = 1,
	/* A segment before it had an error (RFC 5041 7.1, last paragraph), or the queues were flushed. */
	UNTAGGED_DROPPED = 2,

	UNTAGGED_LOCAL = 0x1000,     /* shorter than its header; no memory */
	UNTAGGED_QN = 0x1201,        /* this stream does not have the queue */
	UNTAGGED_NO_BUFFER = 0x1202, /* the MSN may have a buffer, but none is posted for it */
	UNTAGGED_MSN = 0x1203,       /* the MSN was delivered, or is too far ahead */
	UNTAGGED_MO = 0x1204,        /* after the end of the buffer, or of the message */
	UNTAGGED_TOO_LONG = 0x1205,  /* begins in the buffer, and ends after it */
	UNTAGGED_VERSION = 0x1206,   /* the DDP version is not 1 */
};

/* A delivered message. */
struct untagged_message {
	uint64_t cookie; /* of its buffer, as posted */
	uint8_t *memory; /* of its buffer; the owner has it back */
	uint32_t msn;
	uint32_t length;  /* octets of the message: MO + payload of the L segment (RFC 5041 5.4) */
	uint8_t control;  /* RsvdULP[0:7]: the control octet of RDMAP, with the opcode */
	uint32_t rsvdulp; /* RsvdULP[8:39]: for RDMAP the Invalidate STag */
};

/* The receiver of one DDP Stream. You define the struct in untagged.c. */
struct untagged;

/*
 * Makes a receiver without buffers. depth[qn]: the most buffers that can be posted on the queue at
 * once, 0 to UNTAGGED_DEPTH_MAX; 0: the stream does not have that queue. first_msn[qn]: the MSN of
 * the first message of the queue; 1 on a new stream (RFC 5041 4.3). The caller frees it with
 * untagged_free(). NULL: no memory.
 */
struct untagged *untagged_new(const uint32_t depth[UNTAGGED_QUEUES],
			      const uint32_t first_msn[UNTAGGED_QUEUES]);
/*
 * Frees the receiver and all that it has allocated. The memory of the posted buffers is the owner's,
 * and is not freed. NULL is allowed.
 */
void untagged_free(struct untagged *u);

/*
 * Posts a buffer of `size` octets for the next MSN of the queue that has no buffer. The receiver
 * writes to the memory until it returns the buffer: once, by untagged_deliver() or untagged_flush().
 * size 0: for a zero-length message; memory may be NULL. cookie: any number; it is returned with the
 * buffer. False: the stream does not have the queue, `depth` buffers are posted, or
 * untagged_flush() has ended reception.
 */
bool untagged_post(struct untagged *u, uint32_t qn, uint8_t *memory, uint32_t size,
		   uint64_t cookie);

/*
 * Takes a segment of `len` octets: an untagged header (the caller has tested the T flag) and its
 * payload. `segment` is borrowed. Returns an enum untagged_result. Checks first, in this order:
 *
 *   len is at least UNTAGGED_HEADER             UNTAGGED_LOCAL
 *   DV is 1; the Rsvd bits are not checked      UNTAGGED_VERSION
 *   the stream has the queue                    UNTAGGED_QN
 *   a buffer is posted for the MSN              UNTAGGED_NO_BUFFER if the MSN is the next to be
 *                                               delivered or one of the depth - 1 after it (modulo
 *                                               2^32), otherwise UNTAGGED_MSN
 *   MO is at most the size of the buffer        UNTAGGED_MO
 *   MO + payload is at most that size           UNTAGGED_TOO_LONG
 *   the L segment ends the message: no octet,   UNTAGGED_MO (RFC 5041 4.1: the L segment has the
 *   earlier or later, is after its end          highest MO)
 *
 * After an error nothing of the segment is placed, and all later segments are UNTAGGED_DROPPED.
 * Octets that arrive again are the same ones; whether they are written again is up to you (RFC 5041
 * 5.3 permits it) until the buffer returns to its owner.
 */
int untagged_receive(struct untagged *u, const uint8_t *segment, size_t len);

/*
 * Delivers the next message of the queue if its L segment and all its octets have been placed, and
 * returns its buffer to the owner. The next: the one after the message that was delivered before.
 * After an error the messages that were complete are still delivered. False: the next message is
 * not complete, the stream does not have the queue, or untagged_flush() was called; *m is unchanged.
 */
bool untagged_deliver(struct untagged *u, uint32_t qn, struct untagged_message *m);

/*
 * Ends reception, as at the end of a stream: all later segments are UNTAGGED_DROPPED, and nothing
 * more is posted or delivered on any queue. Returns the oldest buffer of the queue to the owner,
 * whether octets were placed in it or not, and sets *cookie. False: no buffer is posted, or the
 * stream does not have the queue.
 */
bool untagged_flush(struct untagged *u, uint32_t qn, uint64_t *cookie);

#endif
