/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * DDP: segments, placement, delivery (RFC 5041).
 *
 * Job: cut messages into segments; place arriving segments, in any order, after every check; tell
 * when a message may be delivered, in the sender's order, once. Neighbours: lib/rdmap above (it knows
 * opcodes, this room does not), lib/wire below; which LLP carries the segments is nobody's business
 * here: the LLP says each segment's place in the sender's order (RFC 5041 3, item 5).
 * Threads: none, no locks; a stream belongs to one thread at a time, a table to the same thread.
 *
 *     iw_ddp_in_order()  an LLP that keeps order: does the segment fit behind the ones before?
 *     iw_ddp_place()     check, then copy: any order, repeats harmless
 *     iw_ddp_arrive()    the segment's place in the order; keeps what came early, within bounds
 *     iw_ddp_deliver()   the next complete message in order: call after each arrive until it returns 0
 *
 * After a fault (a negative return that has a Terminate) the way in is shut: every later segment is
 * dropped silently, which looks like success to the caller: in_order, place, check and arrive return
 * 0 and do nothing, deliver returns 0 (RFC 5041 7.1). The way out stays open, for the Terminate.
 */
#ifndef IW_DDP_DDP_H
#define IW_DDP_DDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "ddp/stag.h"
#include "util/mem.h"
#include "wire/ddp.h"

#define IW_DDP_QUEUES    4          /* QN 0..3 */
#define IW_DDP_DEPTH_MAX (1u << 24) /* of a queue, and of early_max */

struct iw_ddp_stream;

struct iw_ddp_cfg {
	const struct iw_mem *mem; /* borrowed for life, as is stags */
	struct iw_stag_table *stags;
	uint32_t pd, stream; /* protection domain and this stream's own number (never 0) */
	uint8_t dv;          /* DDP version of every segment, both ways: 1, or 0 for RDMAC */
	uint32_t queue_depth
		[IW_DDP_QUEUES]; /* most buffers posted at once; 0: the QN is not valid on
						this stream */
	/* how far ahead of order segments are kept; 0 for an LLP that keeps order (TCP) */
	uint32_t early_max;
};

/* IW_E_INVAL: a value of cfg is impossible, why says which; IW_E_NOMEM. */
IW_MUST_CHECK int iw_ddp_new(struct iw_ddp_stream **out, const struct iw_ddp_cfg *cfg,
			     struct iw_fault *why);
/* d may be NULL. Buffers still posted are their posters' again. */
void iw_ddp_free(struct iw_ddp_stream *d);
/* Set when start-up has told: RDMAC peers use 0 (before the first segment). */
void iw_ddp_set_version(struct iw_ddp_stream *d, uint8_t dv);
/* Grows a queue's depth (IRD known only after negotiation); makes a QN valid that had none. Never
 * shrinks: a smaller depth changes nothing. IW_E_INVAL: no such QN, or above IW_DDP_DEPTH_MAX;
 * IW_E_NOMEM: nothing has changed. */
IW_MUST_CHECK int iw_ddp_set_depth(struct iw_ddp_stream *d, uint32_t qn, uint32_t depth);

/* --- Untagged Buffers --- */
/* Posts a buffer (kept until its message is delivered or the stream is freed) for the next MSN of qn
 * that has none. cap 0 is a buffer for zero-length messages, base may be NULL then. IW_E_FULL: depth
 * buffers are posted; IW_E_INVAL: the QN is not valid. */
IW_MUST_CHECK int iw_ddp_post(struct iw_ddp_stream *d, uint32_t qn, void *base, uint32_t cap,
			      uint64_t cookie);
uint32_t iw_ddp_posted(const struct iw_ddp_stream *d, uint32_t qn);
/* Takes back the oldest posted buffer that was not delivered: false when there is none. It is for
 * flushing at the end of a stream, and shuts the way in. */
bool iw_ddp_unpost(struct iw_ddp_stream *d, uint32_t qn, uint64_t *cookie);
/* The MSN that the next delivered message of qn must have (the first is 1). */
uint32_t iw_ddp_next_msn(const struct iw_ddp_stream *d, uint32_t qn);
/* A message that used an MSN without a posted buffer (a zero-length Send as RTR): first MSN moves on
 * by one, buffers posted already serve the MSNs behind it. Before any buffer was used. */
void iw_ddp_skip_msn(struct iw_ddp_stream *d, uint32_t qn);

/* --- in --- */
/*
 * Checks the segment, then copies its payload into the buffer. On a fault nothing of it is placed; why
 * carries the error of RFC 5041 7.2. right: what RDMAP's opcode needs (enum iw_right), tagged only.
 * The checks, in this order (RFC 5041 7.1 lists them; 4.1 the version):
 *   all       the version is the stream's
 *   tagged    zero length: nothing more is checked (5.2). Else as iw_stag_check.
 *   untagged  the QN is valid; a buffer is posted for the MSN; MO is not behind the buffer's end
 *             (DDP_MO); MO + length is not (DDP_TOOLONG: a message whose segments follow on each other
 *             and that outgrows the buffer gets this wherever its cuts fall). Zero length needs a
 *             buffer and a fitting MO too.
 * An MSN without a buffer is DDP_NOBUF where one could have been posted, from the next MSN to be
 * delivered on as far as the queue's depth reaches (an empty queue, a Read Request above IRD), and
 * DDP_MSN elsewhere: delivered before, or further ahead.
 * An LLP that may repeat segments after their message was delivered keeps those below iw_ddp_next_seq
 * to itself (RFC 5041 3, item 11).
 */
IW_MUST_CHECK int iw_ddp_place(struct iw_ddp_stream *d, const struct iw_ddp *h,
			       const uint8_t *payload, size_t len, uint8_t right, uint64_t now,
			       struct iw_fault *why);
/* The checks alone, for a caller that receives straight into the buffer: *where is the place, NULL for
 * a tagged segment of zero length and when the way in is shut. */
IW_MUST_CHECK int iw_ddp_check(struct iw_ddp_stream *d, const struct iw_ddp *h, size_t len,
			       uint8_t right, uint64_t now, uint8_t **where, struct iw_fault *why);

/*
 * The segment with place seq in the sender's order (0, 1, 2, ... per stream) has been placed. LLPs
 * that keep order pass what iw_ddp_next_seq says. Early ones are kept; a seq seen before is ignored
 * (returns 0). IW_E_LIMIT: more than early_max ahead, IW_E_NOMEM: no room for early ones; then the
 * segment counts as not arrived and the stream goes on when it arrives again. IW_E_STATE: early_max
 * is 0 and a complete message waits for iw_ddp_deliver.
 *
 * The rules of order are checked here when the segment's turn has come, or in iw_ddp_deliver for those
 * kept:
 *   - A message is whole before the next begins (5.3): RO_OPCODE or DDP_STAG for a tagged segment that
 *     does not belong to the message under way (another opcode; another STag; no tagged message),
 *     DDP_MSN for an untagged one. QN 2 alone may cut off what is under way: the Terminate (RFC 5040
 *     5.4) comes where its sender stood.
 *   - An untagged message has its queue's next MSN: DDP_MSN.
 *   - The segments of a message may come in any order (that MO and TO increase is a SHOULD, 5.3), but
 *     the L segment has the highest MO (4.1) and all together they make the message without a hole:
 *     DDP_MO, for tagged ones DDP_BOUNDS. Both are told with the L segment.
 */
IW_MUST_CHECK int iw_ddp_arrive(struct iw_ddp_stream *d, uint64_t seq, const struct iw_ddp *h,
				size_t len, struct iw_fault *why);
/*
 * The segment is an untagged message by itself whose turn has come: if nothing is wrong with it, it is what
 * iw_ddp_deliver gives next behind its iw_ddp_arrive. Then iw_ddp_check can stand for iw_ddp_place, because its octets
 * may be delivered from where they are.
 */
bool iw_ddp_is_next(const struct iw_ddp_stream *d, uint64_t seq, const struct iw_ddp *h);
/* The place of the first segment that has not arrived. */
uint64_t iw_ddp_next_seq(const struct iw_ddp_stream *d);
/* For an LLP that keeps order, before iw_ddp_place: version, QN and the rules of order, so that nothing
 * is placed of a segment that breaks them. */
IW_MUST_CHECK int iw_ddp_in_order(struct iw_ddp_stream *d, const struct iw_ddp *h, size_t len,
				  struct iw_fault *why);

/* A complete message, in order. */
struct iw_ddp_msg {
	bool tagged;
	uint8_t rv, opcode;  /* RsvdULP, of the last segment */
	uint32_t inval_stag; /* untagged: the other RsvdULP octets, of the last segment */
	uint32_t stag;       /* tagged; as it stands in the header, unchecked, when len is 0 */
	uint64_t to;         /* tagged: of the message's first octet */
	uint64_t len;        /* octets of the message */
	/*
	 * tagged: a segment did not begin where the previous one (in the sender's order) ended, which RFC 5041 5.3 permits. Such
	 * segments may overlap, and leave gaps in the len octets from to.
	 */
	bool scattered;
	uint32_t qn, msn; /* untagged */
	void *base;       /* untagged: the buffer, now the poster's again */
	uint64_t cookie;
	struct iw_ddp last; /* header of the last segment, for a Terminate */
	size_t last_len;    /* its payload octets */
};
/* 1: *m is delivered (its Untagged Buffer is consumed); 0: none now; negative: an early segment broke
 * the rules of order, m->last and m->last_len are that segment's. */
IW_MUST_CHECK int iw_ddp_deliver(struct iw_ddp_stream *d, struct iw_ddp_msg *m,
				 struct iw_fault *why);

/* --- out --- */
/* A message to be cut. */
struct iw_ddp_out {
	/* template: tagged with STag and initial TO, or untagged with QN; rv and opcode set */
	struct iw_ddp hdr;
	uint32_t len;      /* octets of the whole message (below 2^32, RFC 5041 5.2) */
	uint32_t done;     /* octets cut so far */
	bool begun, ended; /* ended: the L segment has been cut */
};
/* Begins the message: gives it the stream's version and, when untagged, its MSN (1, 2, ... per QN,
 * modulo 2^32). Messages go out in the order of this call. */
void iw_ddp_out_begin(struct iw_ddp_stream *d, struct iw_ddp_out *o);
/* The next segment: header into hdr (14 or 18 octets, the count is returned), *off and *len its
 * payload within the message. The segment is at most mulpdu octets, which must be more than the
 * header. Call until o->ended. */
size_t iw_ddp_cut(struct iw_ddp_out *o, size_t mulpdu, uint8_t hdr[static IW_DDP_HDR_MAX],
		  uint32_t *off, uint32_t *len);

#endif
