/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inside rdmap: the object, its queues and what its files call of each other. */
#ifndef IW_RDMAP_INTERNAL_H
#define IW_RDMAP_INTERNAL_H

#include "rdmap/rdmap.h"

#include "util/num.h"
#include "util/text.h"

/* A slot of the send queue. Slots leave in the order of posting (RFC 5040 5.5, rule 15). */
struct sq_slot {
	struct iw_op op;
	struct iw_ddp_out out; /* the message being cut */
	uint64_t end_pos;      /* LLP position behind its last segment, set when that was cut */
	bool taken;            /* the LLP has taken all of it */
	bool answered;         /* READ: its Response was delivered */
};

/* An inbound RDMA Read: one QN 1 buffer, and the Response that answers it. */
struct inbound_read {
	uint8_t buf[IW_RDMAP_RREQ_LEN];
	struct iw_ddp_msg msg; /* the request as delivered, for a Terminate */
	struct iw_rreq rreq;
	struct iw_ddp_out out;
	uint64_t end_pos;
	bool counted; /* holds its source region busy */
};

/* An outbound RDMA Read waiting for its Response. */
struct outbound_read {
	bool rtr;      /* not the ULP's, no slot of the send queue belongs to it */
	uint32_t slot; /* number of its slot in the send queue */
	uint32_t stag; /* of the sink, as are to and size */
	uint64_t to;
	uint32_t size;
	uint64_t got; /* octets that came so far; it tells the next TO of a LLP that keeps order */
};

enum tx_source { TX_NONE, TX_RTR, TX_OP, TX_RESPONSE, TX_TERMINATE };

struct iw_rdmap {
	struct iw_rdmap_cfg cfg;
	enum iw_rdmap_state state;
	struct iw_ddp_stream *ddp;
	struct iw_rdmap_params params;
	bool started;          /* params are known: a Terminate can be sent */
	bool tx_shut, rx_shut; /* the LLP's sending sides, ours and the peer's */
	struct iw_fault fault; /* the first one; err 0: none */

	/*
	 * Send queue. The numbers run freely and wrap: slot n lives at n & sq_mask.
	 *     head <= untaken <= unsent <= tail
	 * until a flush lets head run through to tail, whatever was sent.
	 */
	struct sq_slot *sq;
	uint32_t sq_cap, sq_mask;
	uint32_t sq_head;    /* oldest not yet completed */
	uint32_t sq_untaken; /* oldest that the LLP has not taken in full */
	uint32_t sq_unsent;  /* next to be cut */
	uint32_t sq_tail;
	bool flushing; /* what is left completes in error */
	bool held;     /* a batch refers to the memory of operations: error completions wait */
	int flush_err; /* for the oldest one; 0 once used */

	/* A Send that was left where it came, until it is delivered; NULL: none. */
	struct iw_lend *lend;
	const uint8_t *lent;

	/* Receive queue: completions not yet polled. */
	struct iw_completion *done;
	uint32_t done_cap, done_head, done_len;

	/* Reads in both directions: rings of a power of two slots, so that numbers may wrap. */
	struct inbound_read *in;
	uint32_t in_cap, in_head, in_unsent, in_tail;
	struct outbound_read *outr;
	uint32_t outr_cap, outr_head, outr_tail;

	enum tx_source cur;  /* the message whose segments are going out */
	enum tx_source last; /* who had the last turn */
	struct iw_ddp_out rtr;
	bool rtr_pending;     /* the RTR, or a nudge, which has its form, is still to be sent */
	uint8_t rtr_expected; /* responder: set of forms one of which must come first */

	struct iw_stag_tally tally; /* of the peer's operations; octets as they move */
	struct iw_rdmap_moved moved;

	uint8_t term_buf[IW_RDMAP_TERM_MAX]; /* the QN 2 buffer: always ready */
	struct iw_terminate term;
	struct iw_ddp_out term_out;
	bool term_pending, term_pulled, term_sent;
	uint64_t term_pos;
};

static inline struct sq_slot *sq_at(struct iw_rdmap *r, uint32_t n)
{
	return &r->sq[n & r->sq_mask];
}

static inline struct inbound_read *in_at(struct iw_rdmap *r, uint32_t n)
{
	return &r->in[n & (r->in_cap - 1)];
}

static inline struct outbound_read *outr_at(struct iw_rdmap *r, uint32_t n)
{
	return &r->outr[n & (r->outr_cap - 1)];
}

/* Segments of any kind still go either way. */
static inline bool in_operation(const struct iw_rdmap *r)
{
	return r->state == IW_RDMAP_RTS || r->state == IW_RDMAP_CLOSING;
}

/* rdmap.c */
void iw_rdmap_set_state(struct iw_rdmap *r, enum iw_rdmap_state to);
/* Posts the QN 1 buffer of a free inbound_read. */
void iw_rdmap_post_rreq_buffer(struct iw_rdmap *r, uint32_t n);
/* The source of an inbound Read is not read any more: its region is no longer busy. */
void iw_rdmap_release_source(struct iw_rdmap *r, struct inbound_read *in);
/* The same for all inbound Reads whose Response is not complete. */
void iw_rdmap_release_sources(struct iw_rdmap *r);

/* terminate.c */
/* Records the first fault and queues its Terminate if it has one. h, seg_len: header and length of
 * the segment at fault (NULL: none); rreq: the Read Request at fault (NULL: none). Sets why->term to the Terminate
 * that the peer gets. */
void iw_rdmap_local_fault(struct iw_rdmap *r, struct iw_fault *why, const struct iw_ddp *h,
			  size_t seg_len, const struct iw_rreq *rreq);
/* The peer's Terminate was delivered: fills why, ends the stream. */
void iw_rdmap_peer_terminate(struct iw_rdmap *r, const struct iw_ddp_msg *m, struct iw_fault *why);

/* complete.c */
/* What has not completed does so in error, the oldest with err. */
void iw_rdmap_start_flush(struct iw_rdmap *r, int err);

#endif
