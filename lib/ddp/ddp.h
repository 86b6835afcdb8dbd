/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * DDP: segments, placement, delivery (RFC 5041).
 *
 * Job: cuts messages into segments. Places received segments in any order, after all checks.
 * Delivers each message once, in the sender's order.
 * Neighbours: lib/rdmap calls it and knows the opcodes; this room does not. lib/wire decodes and
 * encodes headers. The room is the same over all LLPs: the LLP numbers the segments in the sender's
 * order (RFC 5041 3, item 5).
 * Threads: no threads, no locks. A stream and its STag table belong to one thread at a time.
 *
 *     iw_ddp_in_order()  an LLP that keeps order: checks that the segment may follow the last one
 *     iw_ddp_place()     checks and copies the segment; any order, duplicates are harmless
 *     iw_ddp_arrive()    records the arrival; stores the headers of early segments, up to a limit
 *     iw_ddp_deliver()   the next complete message; call it after each arrive until it returns 0
 *
 * A fault (a negative return that has a Terminate) stops reception: all later segments are dropped
 * silently (RFC 5041 7.1). in_order, place, check and arrive then have no effect and return 0;
 * deliver still returns a message that was complete when the fault was found. Sending continues,
 * for the Terminate.
 */
#ifndef IW_DDP_DDP_H
#define IW_DDP_DDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "ddp/stag.h"
#include "util/mem.h"
#include "util/trace.h"
#include "wire/ddp.h"

#define IW_DDP_QUEUES    4          /* QN 0..3 */
#define IW_DDP_DEPTH_MAX (1u << 24) /* of a queue, and of early_max */

struct iw_ddp_stream;

struct iw_ddp_cfg {
	const struct iw_mem *mem; /* borrowed for the life of the stream, as is stags */
	struct iw_stag_table *stags;
	uint32_t pd, stream; /* protection domain; the stream's own number, never 0 */
	uint8_t dv; /* DDP version of all segments, in both directions: 1, or 0 for RDMAC */
	/* Most buffers posted at once, for each QN. 0: the QN is not valid on this stream. */
	uint32_t queue_depth[IW_DDP_QUEUES];
	/*
	 * The most segments by which an early one may be ahead of the next in order; 0 for an LLP
	 * that keeps order (TCP).
	 */
	uint32_t early_max;
	const struct iw_tracer *tracer; /* borrowed for the life of the stream; may be NULL */
};

/*
 * Creates a stream. cfg is copied. *out is owned by the caller until iw_ddp_free. IW_E_INVAL: a
 * value of cfg is out of range, see why; IW_E_NOMEM: no memory.
 */
IW_MUST_CHECK int iw_ddp_new(struct iw_ddp_stream **out, const struct iw_ddp_cfg *cfg,
			     struct iw_fault *why);
/* Frees the stream. The callers own buffers that are still posted again. d may be NULL. */
void iw_ddp_free(struct iw_ddp_stream *d);
/*
 * Sets the DDP version that start-up has agreed on, before the first segment: 1, or 0 for a peer of
 * the RDMA Consortium.
 */
void iw_ddp_set_version(struct iw_ddp_stream *d, uint8_t dv);
/*
 * Increases the depth of a queue, because IRD is known only after negotiation. A QN of depth 0
 * becomes valid. A smaller depth has no effect. IW_E_INVAL: there is no such QN, or depth is above
 * IW_DDP_DEPTH_MAX; IW_E_NOMEM: nothing was changed.
 */
IW_MUST_CHECK int iw_ddp_set_depth(struct iw_ddp_stream *d, uint32_t qn, uint32_t depth);

/* --- Untagged Buffers ------------------------------------------------------------------------- */

/*
 * Posts a buffer of cap octets for the next MSN of qn that has no buffer. base is kept until its
 * message is delivered, iw_ddp_unpost removes it, or the stream is freed. A buffer with cap 0 is
 * for zero-length messages; base may be NULL. IW_E_FULL: depth buffers are posted; IW_E_INVAL: the
 * QN is not valid, or base is NULL and cap is not 0.
 */
IW_MUST_CHECK int iw_ddp_post(struct iw_ddp_stream *d, uint32_t qn, void *base, uint32_t cap,
			      uint64_t cookie);
/* Returns the number of posted buffers; 0 if the QN is not valid. */
uint32_t iw_ddp_posted(const struct iw_ddp_stream *d, uint32_t qn);
/*
 * Stops reception, to flush a stream at its end. Removes the oldest posted buffer, whose message
 * was not delivered, and sets *cookie; the caller owns the buffer again. False: no buffer is
 * posted.
 */
bool iw_ddp_unpost(struct iw_ddp_stream *d, uint32_t qn, uint64_t *cookie);
/* Returns the MSN that the next delivered message of qn must have; the first is 1. qn is 0 to 3. */
uint32_t iw_ddp_next_msn(const struct iw_ddp_stream *d, uint32_t qn);
/*
 * Skips the next MSN of qn: the RTR was a zero-length Send, which uses an MSN but no posted buffer.
 * The posted buffers then serve the MSNs after it. Call it before the first message of qn arrives.
 */
void iw_ddp_skip_msn(struct iw_ddp_stream *d, uint32_t qn);

/* --- in --------------------------------------------------------------------------------------- */

/*
 * Checks the segment, then copies its payload (borrowed, len octets) into the buffer. right: for a
 * tagged segment, the right (enum iw_right) that its RDMAP opcode needs. After a fault nothing is
 * placed, and why has the error of RFC 5041 7.2. The checks, in this order (RFC 5041 7.1; 4.1 for
 * the version):
 *
 *   all       the version is that of the stream: DDP_VERSION_T, DDP_VERSION_U
 *   tagged    zero length: no further check (5.2); otherwise those of iw_stag_check
 *   untagged  the QN is valid: DDP_QN
 *             a buffer is posted for the MSN: DDP_NOBUF, DDP_MSN
 *             MO is not after the end of the buffer: DDP_MO
 *             MO + length is not after the end of the buffer: DDP_TOOLONG. A message with
 *             contiguous segments that exceeds its buffer gets this error wherever it was cut.
 *             Zero length: needs a buffer and a valid MO too.
 *
 * An MSN without a buffer is DDP_NOBUF if a buffer could have been posted for it: the next MSN to
 * be delivered and those after it, up to the queue's depth (an empty queue; a Read Request above
 * IRD). Any other MSN is DDP_MSN: delivered before, or further ahead.
 *
 * An LLP that may repeat segments after their message was delivered must drop those below
 * iw_ddp_next_seq (RFC 5041 3, item 11).
 */
IW_MUST_CHECK int iw_ddp_place(struct iw_ddp_stream *d, const struct iw_ddp *h,
			       const uint8_t *payload, size_t len, uint8_t right, uint64_t now,
			       struct iw_fault *why);
/*
 * Does only the checks of iw_ddp_place, for a caller that places the payload itself or leaves it in
 * the LLP's memory. *where: the address of the payload in the buffer; NULL for a zero-length tagged
 * segment, for a buffer without memory, and after reception has stopped.
 */
IW_MUST_CHECK int iw_ddp_check(struct iw_ddp_stream *d, const struct iw_ddp *h, size_t len,
			       uint8_t right, uint64_t now, uint8_t **where, struct iw_fault *why);

/*
 * Records that the segment with number seq has been placed. Numbers are 0, 1, 2, ... in the
 * sender's order, for each stream. For an LLP that keeps order, pass iw_ddp_next_seq. Headers of
 * early segments are stored; a seq that has arrived before is ignored. IW_E_LIMIT: more than
 * early_max ahead of the next in order; IW_E_NOMEM: no memory for an early segment. After these
 * two, the segment counts as not arrived, and the LLP may pass it again. IW_E_STATE: early_max is 0
 * and the caller has not called iw_ddp_deliver for a complete message.
 *
 * The rules of order are checked when the segment is next in order: here, or in iw_ddp_deliver for
 * early segments.
 *   - A message ends before the next one begins (5.3). A tagged segment that does not belong to the
 *     current message is RO_OPCODE (another opcode) or DDP_STAG (another STag, or the message is
 *     untagged); an untagged one is DDP_MSN. Only QN 2 may interrupt a message: a Terminate can
 *     follow any segment (RFC 5040 5.4).
 *   - An untagged message has the next MSN of its queue: DDP_MSN.
 *   - The segments of a message may be in any order (increasing MO and TO is a SHOULD, 5.3). But
 *     the L segment has the highest MO (4.1), and the segments have as many octets as the range
 *     from the first to the last octet: DDP_MO, or DDP_BOUNDS for tagged ones. Both are reported
 *     with the L segment. An overlap can hide a gap of the same length from these checks; for
 *     tagged messages, struct iw_ddp_msg reports this as scattered.
 */
IW_MUST_CHECK int iw_ddp_arrive(struct iw_ddp_stream *d, uint64_t seq, const struct iw_ddp *h,
				size_t len, struct iw_fault *why);
/*
 * True if the segment is a whole untagged message and the next in order. If it passes the checks,
 * the next iw_ddp_deliver after iw_ddp_arrive returns it. So the caller may call iw_ddp_check
 * instead of iw_ddp_place, and deliver the octets from the memory in which they arrived.
 */
bool iw_ddp_is_next(const struct iw_ddp_stream *d, uint64_t seq, const struct iw_ddp *h);
/* Returns the number of the first segment that has not arrived. */
uint64_t iw_ddp_next_seq(const struct iw_ddp_stream *d);
/*
 * For an LLP that keeps order, before iw_ddp_place: checks version, QN and the rules of order, so
 * that a segment that violates them is not placed. Errors as for iw_ddp_place and iw_ddp_arrive.
 */
IW_MUST_CHECK int iw_ddp_in_order(struct iw_ddp_stream *d, const struct iw_ddp *h, size_t len,
				  struct iw_fault *why);

/* A complete message, in order. */
struct iw_ddp_msg {
	bool tagged;
	uint8_t rv, opcode;  /* RsvdULP, of the last segment */
	uint32_t inval_stag; /* untagged: the other RsvdULP octets, of the last segment */
	uint32_t stag;       /* tagged; if len is 0, that of the header, unchecked */
	uint64_t to;         /* tagged: TO of the message's first octet */
	uint64_t len;        /* octets of the message */
	/*
	 * Tagged: a segment did not begin where the previous one in the sender's order ended, which
	 * RFC 5041 5.3 permits. Such segments may overlap and leave gaps in the len octets from to.
	 */
	bool scattered;
	uint32_t qn, msn;   /* untagged */
	void *base;         /* untagged: the posted buffer, which the caller owns again */
	uint64_t cookie;    /* untagged: as posted */
	struct iw_ddp last; /* header of the last segment, for a Terminate */
	size_t last_len;    /* its payload octets */
};
/*
 * Delivers the next complete message. Returns 1: *m is the message, and its Untagged Buffer is
 * consumed; 0: no message is complete; negative: an early segment violates the rules of order (see
 * iw_ddp_arrive), and m->last and m->last_len are of that segment.
 */
IW_MUST_CHECK int iw_ddp_deliver(struct iw_ddp_stream *d, struct iw_ddp_msg *m,
				 struct iw_fault *why);

/* --- out -------------------------------------------------------------------------------------- */

/* A message to be cut into segments. */
struct iw_ddp_out {
	/*
	 * The template: tagged with STag and initial TO, or untagged with QN; rv and opcode are
	 * set.
	 */
	struct iw_ddp hdr;
	uint32_t len;      /* octets of the whole message (below 2^32, RFC 5041 5.2) */
	uint32_t done;     /* octets cut so far */
	bool begun, ended; /* ended: the L segment has been cut */
};
/*
 * Begins a message: sets the stream's version and, if it is untagged, its MSN (1, 2, ... for each
 * QN, modulo 2^32). Messages must be sent in the order of this call.
 */
void iw_ddp_out_begin(struct iw_ddp_stream *d, struct iw_ddp_out *o);
/*
 * Cuts the next segment, of at most mulpdu octets, which must exceed the header. Writes its header
 * to hdr and returns the header's length, 14 or 18 octets. *off and *len: the part of the message
 * that is its payload, octets. Call it until o->ended.
 */
size_t iw_ddp_cut(struct iw_ddp_out *o, size_t mulpdu, uint8_t hdr[static IW_DDP_HDR_MAX],
		  uint32_t *off, uint32_t *len);

#endif
