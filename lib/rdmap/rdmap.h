/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDMAP: operations, their order and their completions (RFC 5040).
 *
 * Job: Send (with Invalidate, with Solicited Event), RDMA Write, RDMA Read and Terminate over one
 * DDP stream. It has the send queue and receive queue of a queue pair, and the queues of inbound
 * and outbound Reads (IRD, ORD). Each operation completes exactly once, in order.
 * Neighbours: lib/conn passes received segments and pulls segments to send. lib/ddp places and
 * delivers. The room is the same over MPA and SCTP.
 * Threads: no threads, no locks. A stream belongs to one thread at a time.
 *
 *     ULP:  iw_rdmap_post(), iw_rdmap_post_recv(); iw_rdmap_next_completion() until it is false
 *     in:   iw_rdmap_receive() or iw_rdmap_receive_seq() for each ULPDU
 *     out:  iw_rdmap_pull() returns a segment; iw_rdmap_pulled() reports its end position in the
 *           LLP's stream; iw_rdmap_sent() reports the position up to which the LLP has taken octets
 */
#ifndef IW_RDMAP_RDMAP_H
#define IW_RDMAP_RDMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>
#include <iwarp/verbs.h>

#include "ddp/ddp.h"
#include "util/lend.h"
#include "util/mem.h"
#include "util/trace.h"
#include "util/vec.h"

#define IW_RDMAP_SGE_MAX   4
/*
 * The largest depth of a queue. Slot numbers wrap at 2^32, so a difference of two is a length only
 * if depths are far below that.
 */
#define IW_RDMAP_DEPTH_MAX (1u << 20)

struct iw_rdmap;

struct iw_rdmap_cfg {
	const struct iw_mem *mem; /* borrowed for the life of the stream, as is stags */
	struct iw_stag_table *stags;
	uint32_t pd, stream;            /* stream: the queue pair's own number, never 0 */
	uint32_t sq_depth, rq_depth;    /* 1..IW_RDMAP_DEPTH_MAX */
	uint32_t early_max;             /* see struct iw_ddp_cfg */
	bool loans;                     /* the ULP accepts Sends that stay in the LLP's memory */
	const struct iw_tracer *tracer; /* borrowed for the life of the stream; may be NULL */
};

enum iw_op_kind { IW_OPK_SEND, IW_OPK_WRITE, IW_OPK_READ, IW_OPK_RECV };
enum iw_op_flag {
	IW_OPF_SOLICITED = 1,  /* SEND: with Solicited Event */
	IW_OPF_INVALIDATE = 2, /* SEND: with Invalidate of inval_stag */
	IW_OPF_FENCE = 4,      /* begins when all earlier RDMA Reads are complete */
	IW_OPF_UNSIGNALED = 8, /* no completion if it succeeds */
};

/* A posted operation of the send queue. */
struct iw_op {
	uint64_t cookie;
	enum iw_op_kind kind; /* SEND, WRITE, READ */
	unsigned flags;
	struct iw_vec sge[IW_RDMAP_SGE_MAX]; /* SEND, WRITE: kept until the completion */
	size_t nsge;
	uint32_t len; /* READ: octets to read; SEND, WRITE: set by iw_rdmap_post */
	uint32_t inval_stag;
	uint32_t remote_stag; /* WRITE: sink; READ: source */
	uint64_t remote_to;
	uint32_t sink_stag; /* READ */
	uint64_t sink_to;
};

struct iw_completion {
	uint64_t cookie;
	enum iw_op_kind kind;
	int status;      /* 0 or a negative enum iw_err */
	uint32_t len;    /* RECV, READ: octets received; 0 after an error */
	uint32_t octets; /* length of the message, for SEND and WRITE too */
	bool solicited, invalidated;
	uint32_t inval_stag;
	/* RECV: if loan is above 0, the octets are at data instead of in the posted buffer. */
	uint64_t loan;
	const void *data;
};

/* A segment to send: its header, and the slices of memory with its payload. */
struct iw_segment {
	uint8_t hdr[IW_DDP_UNTAGGED_LEN + IW_RDMAP_TERM_MAX];
	size_t hdr_len; /* of the DDP header and the RDMAP header, if it has one */
	struct iw_vec payload[IW_RDMAP_SGE_MAX];
	size_t npayload;
	size_t payload_len;
	bool copy; /* the memory may change or be revoked: copy it and compute its CRC now */
};

enum iw_rdmap_state {
	IW_RDMAP_IDLE,    /* no connection yet: receives may be posted */
	IW_RDMAP_RTS,     /* full operation */
	IW_RDMAP_CLOSING, /* graceful close by the ULP: posted operations are still sent */
	/*
	 * Local fault: its Terminate, if it has one, is sent last; received segments are dropped.
	 */
	IW_RDMAP_TERMINATING,
	IW_RDMAP_TERMINATED, /* the peer's Terminate was delivered: nothing more is sent */
	IW_RDMAP_CLOSED,     /* flushed: nothing is sent or received */
};

/*
 * Creates a stream. cfg is copied. *out is owned by the caller until iw_rdmap_free. IW_E_INVAL: a
 * depth is out of range, or the stream number is 0; IW_E_NOMEM: no memory.
 */
IW_MUST_CHECK int iw_rdmap_new(struct iw_rdmap **out, const struct iw_rdmap_cfg *cfg,
			       struct iw_fault *why);
/*
 * Frees the stream. Operations that have not completed never complete: the caller owns their memory
 * again. r may be NULL.
 */
void iw_rdmap_free(struct iw_rdmap *r);
/* Return the state, and the stream number and protection domain of the configuration. */
enum iw_rdmap_state iw_rdmap_state(const struct iw_rdmap *r);
uint32_t iw_rdmap_stream(const struct iw_rdmap *r);
uint32_t iw_rdmap_pd(const struct iw_rdmap *r);

/* The parameters that start-up has agreed on. */
struct iw_rdmap_params {
	bool initiator;
	uint8_t dv; /* DDP and RDMAP version of every segment */
	uint16_t ird, ord;
	/*
	 * Initiator: the form of RTR that it sends first. Responder: the set of forms, one of which
	 * must arrive first. 0: no RTR. The ULP never sees the RTR.
	 */
	uint8_t rtr;
};
/*
 * Begins full operation. Call it once, in state IDLE. *p is copied. IW_E_NOMEM: no memory for IRD
 * and ORD; after that, only iw_rdmap_fail with its Terminate, iw_rdmap_flush and iw_rdmap_free are
 * possible.
 */
IW_MUST_CHECK int iw_rdmap_start(struct iw_rdmap *r, const struct iw_rdmap_params *p,
				 struct iw_fault *why);

/* --- the ULP ---------------------------------------------------------------------------------- */

/*
 * Queues an operation. op is copied; the octets that it refers to are kept until the completion.
 * IW_E_STATE: not in full operation, or a Read after the peer has closed its sending side;
 * IW_E_FULL: sq_depth operations have not completed; IW_E_LIMIT: a Read, and ORD is 0; IW_E_INVAL:
 * a kind other than SEND, WRITE and READ, too many slices, 2^32 octets or more, or a sink that does
 * not permit the Read Response.
 */
IW_MUST_CHECK int iw_rdmap_post(struct iw_rdmap *r, const struct iw_op *op, uint64_t now);
/*
 * Posts a buffer of cap octets for one Send; addr is kept until the completion. IW_E_STATE: the
 * stream has ended; IW_E_FULL: rq_depth receives have not completed; IW_E_INVAL: addr is NULL and
 * cap is not 0.
 */
IW_MUST_CHECK int iw_rdmap_post_recv(struct iw_rdmap *r, uint64_t cookie, void *addr, uint32_t cap);
/*
 * Returns the next completion: of the send queue in the order of posting (RFC 5040 5.5, rule 15),
 * of the receive queue in the order of delivery. False: there are no further completions.
 */
bool iw_rdmap_next_completion(struct iw_rdmap *r, struct iw_completion *out);
/*
 * Begins a graceful close: iw_rdmap_post refuses further operations. Shut down the LLP's sending
 * side when iw_rdmap_drained returns true.
 */
void iw_rdmap_close(struct iw_rdmap *r);
/*
 * True if nothing is left to send or to wait for: the LLP has taken every operation, all Reads of
 * both sides are answered, and the RTR was sent or has arrived.
 */
bool iw_rdmap_drained(const struct iw_rdmap *r);
/* True if RDMA Reads of this side are outstanding: the caller must watch for a stall. */
bool iw_rdmap_waiting(const struct iw_rdmap *r);

/* --- in --------------------------------------------------------------------------------------- */

/*
 * Processes a checked ULPDU (borrowed, len octets) from an LLP that keeps the sender's order. A
 * negative return is a fault, described in why. Its Terminate, if it has one, is queued, all posted
 * operations complete in error, and later ULPDUs are dropped and return 0 (RFC 5041 7.1).
 * IW_E_PEER_TERMINATE: the peer's Terminate, which also ends the stream.
 */
IW_MUST_CHECK int iw_rdmap_receive(struct iw_rdmap *r, const uint8_t *ulpdu, size_t len,
				   uint64_t now, struct iw_fault *why);
/*
 * Like iw_rdmap_receive, for an LLP that does not keep order. seq: the segment's number in the
 * sender's order. lend (borrowed; may be NULL): the LLP offers to lend the octets. lend->taken is
 * set if a completion refers to them; they then stay unchanged until the ULP returns the loan.
 */
IW_MUST_CHECK int iw_rdmap_receive_seq(struct iw_rdmap *r, uint64_t seq, const uint8_t *ulpdu,
				       size_t len, struct iw_lend *lend, uint64_t now,
				       struct iw_fault *why);
/* Loads the registration of the ULPDU's STag into the cache, because the ULPDU follows soon. */
void iw_rdmap_prefetch(const struct iw_rdmap *r, const uint8_t *ulpdu, size_t len);

/*
 * Reports a fault that the caller has detected (MPA CRC, IRD, no RTR). Its Terminate, if it has
 * one, is queued, and all posted operations complete in error. Only the first fault has an effect
 * (RFC 5040 7.1).
 */
void iw_rdmap_fail(struct iw_rdmap *r, const struct iw_fault *why);
/*
 * Queues a zero-length RDMA Write that belongs to no operation: an additional FPDU, which places
 * nothing (RFC 5041 5.2: its STag is not checked). Has no effect outside of full operation.
 */
void iw_rdmap_nudge(struct iw_rdmap *r);
/*
 * The LLP is closed: all operations complete, the oldest one with err, the others with
 * IW_E_CANCELED. If err is IW_OK, the oldest one completes with IW_E_CANCELED too. Sends no
 * Terminate.
 */
void iw_rdmap_flush(struct iw_rdmap *r, int err);

/*
 * This end has closed the LLP's sending side. A Read Request that arrives later is a fault, because
 * it cannot be answered.
 */
void iw_rdmap_tx_shut(struct iw_rdmap *r);
/*
 * The peer has closed its sending side: iw_rdmap_post refuses further Reads, and no RTR is
 * expected. Returns false if a Read has been posted that can no longer get its Response.
 */
IW_MUST_CHECK bool iw_rdmap_rx_shut(struct iw_rdmap *r);

/* --- out -------------------------------------------------------------------------------------- */

/* False if there is no segment to pull. A cheap check: after true, iw_rdmap_pull may return 0. */
bool iw_rdmap_wants_tx(const struct iw_rdmap *r);
/*
 * Cuts the next segment, of at most mulpdu octets (at least 128). Returns 1: *seg is the segment;
 * 0: nothing to send now. The payload slices of *seg are kept until iw_rdmap_sent covers the
 * segment, unless seg->copy. If the source of a Read was revoked meanwhile, that is a fault: the
 * segment is its Terminate, and iw_rdmap_fault returns the fault.
 */
int iw_rdmap_pull(struct iw_rdmap *r, size_t mulpdu, struct iw_segment *seg, uint64_t now);
/*
 * The last pulled segment ends at position end_pos of the LLP's outgoing stream: octets over TCP,
 * messages over SCTP. Call it once for each segment.
 */
void iw_rdmap_pulled(struct iw_rdmap *r, uint64_t end_pos);
/*
 * The LLP has taken everything before position pos: the IRD slots of these Read Responses are free.
 * It no longer needs the memory of operations that end at or before position done: these complete.
 */
void iw_rdmap_sent(struct iw_rdmap *r, uint64_t pos, uint64_t done);
/*
 * held: unsent or unacknowledged output of the LLP refers to the memory of operations. Their
 * completions in error are then delayed until held is false, or until iw_rdmap_flush.
 */
void iw_rdmap_hold(struct iw_rdmap *r, bool held);
/* True if a Terminate is queued and the LLP has not taken it. */
bool iw_rdmap_terminate_due(const struct iw_rdmap *r);
/* Returns the first fault, valid until the next call; NULL: there was no fault. */
const struct iw_fault *iw_rdmap_fault(const struct iw_rdmap *r);
/*
 * Returns the counters of the peer's RDMA Writes and Reads (borrowed). Octets are counted when they
 * are placed or pulled, operations when they end.
 */
const struct iw_stag_tally *iw_rdmap_tally(const struct iw_rdmap *r);
struct iw_rdmap_moved {
	/* Octets of Sends, RDMA Writes and Read Responses, without headers. */
	uint64_t rx_payload, tx_payload;
	/*
	 * Increases with all payload and with all operations of this end. Zero-length RDMA Writes
	 * and Reads of the peer do not increase it, because a peer may send any number of them.
	 */
	uint64_t steps;
};
/* Returns these counters (borrowed): received segments when placed, sent ones when pulled. */
const struct iw_rdmap_moved *iw_rdmap_moved(const struct iw_rdmap *r);

#endif
