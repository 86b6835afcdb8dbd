/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to lib/rdmap: the stream, its queues, and the functions that its files share. */
#ifndef IW_RDMAP_INTERNAL_H
#define IW_RDMAP_INTERNAL_H

#include "rdmap/rdmap.h"

#include "util/num.h"
#include "util/text.h"

/* A slot of the send queue. Slots are freed in the order of posting (RFC 5040 5.5, rule 15). */
struct sq_slot {
	struct iw_op op;
	struct iw_ddp_out out; /* its message */
	uint64_t end_pos;      /* LLP position after its last segment, set when that was pulled */
	bool taken;            /* the LLP no longer needs its memory */
	bool answered;         /* READ: its Response was delivered */
};

/* An RDMA Read of the peer: the buffer of its Request (QN 1), and the Response. */
struct inbound_read {
	uint8_t buf[IW_RDMAP_RREQ_LEN];
	struct iw_ddp_msg msg; /* the Request as delivered, for a Terminate */
	struct iw_rreq rreq;
	struct iw_ddp_out out;
	uint64_t end_pos;
	bool counted; /* counted as in progress at its source region (iw_stag_begin) */
};

/* An RDMA Read of this end whose Response is outstanding. */
struct outbound_read {
	bool rtr;      /* it is the RTR, which has no slot in the send queue */
	uint32_t slot; /* number of its slot in the send queue */
	uint32_t stag; /* of the sink, as are to and size */
	uint64_t to;
	uint32_t size;
	uint64_t got; /* octets placed: if the LLP keeps order, the next TO is to + got */
};

enum tx_source { TX_NONE, TX_RTR, TX_OP, TX_RESPONSE, TX_TERMINATE };

/* tracing.c: call these only if iw_tracing(r->cfg.tracer). len: octets of payload. */
IW_TRACES void iw_rdmap_trace_received(const struct iw_rdmap *r, const struct iw_ddp *h,
				       size_t len);
IW_TRACES void iw_rdmap_trace_sent(const struct iw_rdmap *r, const struct iw_segment *seg);
IW_TRACES void iw_rdmap_trace_delivered(const struct iw_rdmap *r, const struct iw_ddp_msg *m);

struct iw_rdmap {
	struct iw_rdmap_cfg cfg;
	enum iw_rdmap_state state;
	struct iw_ddp_stream *ddp;
	struct iw_rdmap_params params;
	bool started;          /* iw_rdmap_start was called: a Terminate can be sent */
	bool tx_shut, rx_shut; /* our sending side of the LLP, and the peer's, are closed */
	struct iw_fault fault; /* the first fault; err 0: no fault */

	/*
	 * Send queue. The numbers wrap at 2^32: slot n is at n & sq_mask.
	 *     head <= untaken <= unsent <= tail
	 * until a flush moves head up to tail, whatever was sent.
	 */
	struct sq_slot *sq;
	uint32_t sq_cap, sq_mask;
	uint32_t sq_head;    /* oldest not yet completed */
	uint32_t sq_untaken; /* oldest not yet taken */
	uint32_t sq_unsent;  /* next to be cut */
	uint32_t sq_tail;
	bool flushing; /* the remaining operations complete in error */
	bool held;     /* iw_rdmap_hold: completions in error are delayed */
	int flush_err; /* for the oldest one; 0 once used */

	/*
	 * During a receive: the loan and payload of a Send that stays in the LLP's memory, or NULL.
	 */
	struct iw_lend *lend;
	const uint8_t *lent;

	/* Receive queue: completions not yet polled. */
	struct iw_completion *done;
	uint32_t done_cap, done_head, done_len;

	/*
	 * RDMA Reads of the peer (in) and of this end (outr). Both are rings whose size is a power
	 * of two, so that numbers may wrap. In `in`, head <= unsent <= tail: the LLP has not taken
	 * the Responses from head, and those from unsent are not completely pulled.
	 */
	struct inbound_read *in;
	uint32_t in_cap, in_head, in_unsent, in_tail;
	struct outbound_read *outr;
	uint32_t outr_cap, outr_head, outr_tail;

	enum tx_source cur;  /* the source of the current message */
	enum tx_source last; /* the source of the previous message */
	struct iw_ddp_out rtr;
	bool rtr_pending;     /* the RTR is queued, or a nudge, which has the form of a Write */
	uint8_t rtr_expected; /* responder: set of forms, one of which must arrive first */

	struct iw_stag_tally tally; /* counts the peer's operations */
	struct iw_rdmap_moved moved;

	uint8_t term_buf[IW_RDMAP_TERM_MAX]; /* the QN 2 buffer, always posted */
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

/* True if segments of all opcodes are sent and received. */
static inline bool in_operation(const struct iw_rdmap *r)
{
	return r->state == IW_RDMAP_RTS || r->state == IW_RDMAP_CLOSING;
}

/* rdmap.c */
void iw_rdmap_set_state(struct iw_rdmap *r, enum iw_rdmap_state to);
/* Posts the buffer of inbound_read n, which is free, for the next Read Request. */
void iw_rdmap_post_rreq_buffer(struct iw_rdmap *r, uint32_t n);
/* The peer's Read no longer uses its source: calls iw_stag_end if iw_stag_begin was called. */
void iw_rdmap_release_source(struct iw_rdmap *r, struct inbound_read *in);
/* The same for all Reads of the peer whose Response is not complete. */
void iw_rdmap_release_sources(struct iw_rdmap *r);

/* terminate.c */
/*
 * Records the fault if it is the first, and queues its Terminate if it has one. Sets why->term to
 * the Terminate that the peer gets. h (may be NULL) and seg_len: header and length of the segment
 * at fault. rreq (may be NULL): the Read Request at fault.
 */
void iw_rdmap_local_fault(struct iw_rdmap *r, struct iw_fault *why, const struct iw_ddp *h,
			  size_t seg_len, const struct iw_rreq *rreq);
/* Handles the peer's Terminate when it is delivered: fills why and ends the stream. */
void iw_rdmap_peer_terminate(struct iw_rdmap *r, const struct iw_ddp_msg *m, struct iw_fault *why);

/* complete.c */
/* From now on, all operations that have not succeeded complete in error, the oldest with err. */
void iw_rdmap_start_flush(struct iw_rdmap *r, int err);

#endif
