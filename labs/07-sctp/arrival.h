/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The receiver of DDP segments over SCTP, the receiver of a TCP connection, and what the
 * difference costs.
 *
 * You write arrival.c. There are four parts, in the order of the README:
 *
 *	number_of               the position of a segment in the sender's order
 *	receiver_...            SCTP: segments in any order; place at once, deliver in order
 *	stream_...              TCP: octets in any order; hold them back until the hole is filled
 *	delays, held_most, ...  what both cost, computed from the times of arrival
 */
#ifndef ARRIVAL_H
#define ARRIVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chunk.h"

/* --- the position of a segment ---------------------------------------------------------------- */

/*
 * Step 1. Finds the number of a segment: 0, 1, 2, ... in the order in which the sender's DDP
 * submitted them. A number has 64 bits and never wraps. The DDP-SSN is its low 16 bits.
 *
 * `next` is the lowest number that has not arrived. A sender has fewer than 32,768 chunks of a
 * stream unacknowledged (RFC 5043 10), so one number is meant:
 *
 *	next to next + 32,767       the segment is the next one, or it came early
 *	next - 32,768 to next - 1   the segment has arrived before
 *
 * Sets *number and returns true. Returns false if the number would be below 0: the sender never
 * sent such a segment.
 */
bool number_of(uint64_t *number, uint64_t next, uint16_t ssn);

/* --- SCTP: segments that arrive in any order -------------------------------------------------- */

#define WINDOW_MAX  32767 /* of a receiver */
#define REGIONS_MAX 8     /* Tagged Buffers of a receiver */
#define BUFFERS_MAX 64    /* Untagged Buffers that are posted at one time */

/* What receiver_arrive() did with a segment. All from ARRIVAL_BEYOND on are errors. */
enum arrival {
	ARRIVAL_PLACED,    /* its payload is in the buffer */
	ARRIVAL_DUPLICATE, /* it has arrived before: nothing was done */
	ARRIVAL_BEYOND,    /* its DDP-SSN is not in the window */
	ARRIVAL_STAG,      /* tagged: no buffer has this STag */
	ARRIVAL_NO_BUFFER, /* untagged: no buffer is posted for this QN and MSN */
	ARRIVAL_BOUNDS,    /* the payload would not be completely within the buffer */
	ARRIVAL_STOPPED,   /* an error was found earlier: nothing was done */
};

/* A message that is complete and the next in order. */
struct delivery {
	bool tagged;
	uint32_t stag; /* tagged: as in the header of its first segment; otherwise 0 */
	uint64_t to;   /* tagged: as in the header of its first segment; otherwise 0 */
	uint32_t msn;  /* untagged; otherwise 0 */
	uint64_t len;  /* octets of the whole message */
};

struct receiver;

/*
 * Creates the receiver of one stream. Its first segment has number 1, because number 0 was the
 * message that set the session up (RFC 5043 6.1, 6.2).
 *
 * `window`, 1 to WINDOW_MAX: a segment is in the window if its number is below next + window,
 * where `next` is the lowest number that has not arrived. So the receiver must remember at most
 * window - 1 early segments, whatever the sender does. Allocate memory for them here, and none
 * in receiver_arrive(). Returns NULL if there is no memory.
 */
struct receiver *receiver_new(uint32_t window);
/* Frees the receiver. The buffers belong to the caller. NULL is allowed. */
void receiver_free(struct receiver *r);

/*
 * Registers a Tagged Buffer: `len` octets at `memory`. Its first octet has the Tagged Offset `to`.
 * to + len does not exceed 2^64 - 1. The memory is borrowed until receiver_free(). Returns false if
 * there are REGIONS_MAX already.
 */
bool receiver_register(struct receiver *r, uint32_t stag, uint64_t to, uint8_t *memory, size_t len);
/*
 * Posts an Untagged Buffer of `len` octets for the next MSN of queue 0 that has no buffer. The
 * first MSN is 1. The memory is borrowed until the message with this MSN is delivered. Returns
 * false if BUFFERS_MAX buffers are posted whose messages have not been delivered.
 */
bool receiver_post(struct receiver *r, uint8_t *memory, size_t len);

/*
 * Steps 2, 4, 5 and 6. Handles a segment: checks it, places its payload now, even if earlier
 * segments are missing, and remembers that it arrived. The payload is borrowed until the function
 * returns: it must not be kept. The checks are made in this order, before any octet is placed:
 *
 *	an error was found earlier                    ARRIVAL_STOPPED   (RFC 5041 7.1)
 *	the number is beyond the window or below 0    ARRIVAL_BEYOND    (RFC 5043 10)
 *	the segment has arrived before                ARRIVAL_DUPLICATE (RFC 5041 5.3)
 *	tagged, len 0                                 no further check  (RFC 5041 5.2)
 *	tagged: the STag is not registered            ARRIVAL_STAG      (RFC 5041 7.1)
 *	tagged: TO to TO + len are not in the buffer  ARRIVAL_BOUNDS
 *	untagged: QN is not 0, or no buffer is posted
 *	for the MSN, or its message was delivered     ARRIVAL_NO_BUFFER
 *	untagged: MO to MO + len are not in the
 *	buffer                                        ARRIVAL_BOUNDS
 *
 * Both ends of a range are legal for a segment of length 0. After an error the receiver stops:
 * nothing is placed any more.
 */
enum arrival receiver_arrive(struct receiver *r, const struct segment *s);

/*
 * Step 3. Delivers the next message: true, and *out, if all of its segments and all segments before
 * them have arrived. The caller calls it after each receiver_arrive() until it returns false.
 *
 * The segments of a message have consecutive numbers. The last one has the L bit. Each message has
 * its MO or TO in increasing order, without gaps; you need not check that.
 */
bool receiver_deliver(struct receiver *r, struct delivery *out);

/* Returns the number of segments that have arrived while one with a lower number is missing. */
uint32_t receiver_early(const struct receiver *r);

/* --- TCP: octets that arrive in any order ----------------------------------------------------- */

struct stream;

/*
 * Creates the receiver of one direction of a TCP connection. Its first octet has the sequence
 * number `first`. Sequence numbers are modulo 2^32. `room`: the size of the receive buffer in
 * octets, 1 to 2^30. Returns NULL if there is no memory.
 */
struct stream *stream_new(uint32_t first, size_t room);
void stream_free(struct stream *s);

/*
 * Step 7. Handles a TCP segment: octets whose first one has the sequence number `seq`. It keeps the
 * octets in the window that it does not have: those from the first octet that was not read,
 * `room` octets in all. Octets before the window (they were read: a retransmission) and after it
 * are dropped. Segments may overlap. Returns how many octets it kept.
 */
size_t stream_arrive(struct stream *s, uint32_t seq, const uint8_t *octets, size_t len);
/*
 * Moves octets in order to `to`, at most `cap`, and stops before the first octet that is missing.
 * Returns how many. The room that they took is free again.
 */
size_t stream_read(struct stream *s, uint8_t *to, size_t cap);
/* Returns the number of octets that were kept and cannot be read yet, because of a hole. */
size_t stream_held(const struct stream *s);

/* --- what it costs ---------------------------------------------------------------------------- */

#define STREAMS_MAX 16

enum transport {
	OVER_SCTP, /* each stream has an order of its own */
	OVER_TCP,  /* one connection: one order for everything */
};

/* The way of a segment through the network. Times are in nanoseconds. */
struct journey {
	uint16_t stream; /* 0 to STREAMS_MAX - 1; all segments of a message have the same */
	bool last;       /* ends its message */
	uint32_t octets;
	uint64_t sent;    /* submitted by the sender's DDP */
	uint64_t arrived; /* at the receiver, for the first time */
};

/* Of a message: nanoseconds since its first segment was sent. */
struct delay {
	uint64_t placed;    /* until its last octet could be placed */
	uint64_t delivered; /* until it could be delivered */
};

/*
 * Step 8. Computes the delays of each message, from its segments in the order in which they were
 * sent. The segments of a message follow each other. Returns the number of messages; `out` has room
 * for n. The last segment of all has `last`.
 *
 *	OVER_SCTP  A segment is placed when it arrives. A message is delivered when it and all
 *	           earlier messages of its stream are placed.
 *	OVER_TCP   A segment is placed when it and all earlier segments, of all streams, have
 *	           arrived. A message is delivered when it is placed.
 */
size_t delays(struct delay *out, const struct journey *segments, size_t n, enum transport over);

/*
 * Step 9. Returns the most octets of payload that the receiver had to hold at one time: they had
 * arrived, and could not be placed yet. A segment that is placed at the time t is not held at t.
 */
uint64_t held_most(const struct journey *segments, size_t n, enum transport over);

struct summary {
	uint64_t mean; /* rounded down */
	uint64_t p99; /* the smallest of the values that at least 99% of the values do not exceed */
};

/* Step 9. Summarizes n values in any order; their sum is below 2^64. Both are 0 if n is 0. */
struct summary summarize(const uint64_t *values, size_t n);

#endif
