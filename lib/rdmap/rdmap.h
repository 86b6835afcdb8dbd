/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDMAP: operations, their order and their completions (RFC 5040).
 *
 * Job: Send (with Invalidate, with Solicited Event), RDMA Write, RDMA Read, Terminate, over one DDP
 * stream; the send queue and receive queue of a queue pair; the queues of inbound and outbound
 * Reads (IRD, ORD); completion exactly once and in order.
 * Neighbours: lib/conn feeds it checked ULPDUs and pulls segments; lib/ddp places and delivers. It
 * does not know MPA from SCTP.
 * Threads: none, no locks; belongs to one thread at a time.
 *
 *     ULP:  iw_rdmap_post(), iw_rdmap_post_recv(); iw_rdmap_next_completion() until it is false
 *     in:   iw_rdmap_receive() a ULPDU
 *     out:  iw_rdmap_pull() a segment, iw_rdmap_pulled() where it ends in the LLP's stream,
 *           iw_rdmap_sent() how far the LLP has come
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
#include "util/vec.h"

#define IW_RDMAP_SGE_MAX 4

struct iw_rdmap;

struct iw_rdmap_cfg {
	const struct iw_mem *mem; /* borrowed for life, as is stags */
	struct iw_stag_table *stags;
	uint32_t pd, stream;         /* stream: this queue pair's own number, never 0 */
	uint32_t sq_depth, rq_depth; /* 1..2^20 */
	uint32_t early_max;          /* see struct iw_ddp_cfg */
	bool loans;                  /* Sends are left where they came, where that is offered */
};

enum iw_op_kind { IW_OPK_SEND, IW_OPK_WRITE, IW_OPK_READ, IW_OPK_RECV };
enum iw_op_flag {
	IW_OPF_SOLICITED = 1,  /* SEND: with Solicited Event */
	IW_OPF_INVALIDATE = 2, /* SEND: with Invalidate of inval_stag */
	IW_OPF_FENCE = 4,      /* begins when all RDMA Reads before it have been answered */
	IW_OPF_QUIET = 8,      /* no completion when it succeeds */
};

/* A posted operation of the send queue. */
struct iw_op {
	uint64_t cookie;
	enum iw_op_kind kind; /* SEND, WRITE, READ */
	unsigned flags;
	struct iw_vec sge[IW_RDMAP_SGE_MAX]; /* SEND, WRITE: kept until the completion */
	size_t nsge;
	uint32_t len; /* READ: octets asked for; SEND, WRITE: set by post */
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
	uint32_t len;    /* RECV, READ */
	uint32_t octets; /* the length of the message, of a SEND and WRITE too */
	bool solicited, invalidated;
	uint32_t inval_stag;
	/* RECV: above 0: the octets lie there, and not in the buffer that was posted */
	uint64_t loan;
	const void *data;
};

/* One segment to be sent: a header and the slices of memory behind it. */
struct iw_segment {
	uint8_t hdr[IW_DDP_UNTAGGED_LEN + IW_RDMAP_TERM_MAX];
	size_t hdr_len; /* DDP header, and RDMAP header if there is one */
	struct iw_vec payload[IW_RDMAP_SGE_MAX];
	size_t npayload;
	size_t payload_len;
	bool copy; /* the memory may change or be revoked: copy it with its CRC before it is sent */
};

enum iw_rdmap_state {
	IW_RDMAP_IDLE,        /* no connection yet: receives may be posted */
	IW_RDMAP_RTS,         /* full operation */
	IW_RDMAP_CLOSING,     /* the ULP asked for a graceful end: what is posted still goes out */
	IW_RDMAP_TERMINATING, /* a fault of ours: its Terminate, if it has one, is the last thing
				 sent; everything incoming is dropped */
	IW_RDMAP_TERMINATED,  /* the peer's Terminate was delivered: nothing more is sent */
	IW_RDMAP_CLOSED,      /* flushed: nothing moves any more */
};

/* IW_E_INVAL: a depth is impossible, or the stream is 0; IW_E_NOMEM. */
IW_MUST_CHECK int iw_rdmap_new(struct iw_rdmap **out, const struct iw_rdmap_cfg *cfg,
			       struct iw_fault *why);
/* r may be NULL. Whatever has not completed is forgotten, and its memory its owner's again. */
void iw_rdmap_free(struct iw_rdmap *r);
enum iw_rdmap_state iw_rdmap_state(const struct iw_rdmap *r);
uint32_t iw_rdmap_stream(const struct iw_rdmap *r);
uint32_t iw_rdmap_pd(const struct iw_rdmap *r);

/* What start-up agreed. */
struct iw_rdmap_params {
	bool initiator;
	uint8_t dv; /* DDP and RDMAP version of every segment */
	uint16_t ird, ord;
	/* Initiator: the form that it sends first; responder: the set of which one must come first.
	 * 0: none. The RTR is supplied and swallowed here, the ULP never sees it. */
	uint8_t rtr;
};
/* Begins full operation; once, in state IDLE. IW_E_NOMEM: of what follows only iw_rdmap_fail with
 * its Terminate, iw_rdmap_flush and iw_rdmap_free are possible. */
IW_MUST_CHECK int iw_rdmap_start(struct iw_rdmap *r, const struct iw_rdmap_params *p,
				 struct iw_fault *why);

/* --- the ULP ---------------------------------------------------------------------------------- */

/*
 * Queues an operation (op is copied, its octets are kept). IW_E_STATE: not in full operation, or a
 * Read when the peer has shut its sending side; IW_E_FULL: sq_depth operations have not completed;
 * IW_E_LIMIT: a Read, and ORD is 0; IW_E_INVAL: too many pieces, 2^32 octets or more, a sink
 * without the right to take the Response.
 */
IW_MUST_CHECK int iw_rdmap_post(struct iw_rdmap *r, const struct iw_op *op, uint64_t now);
/* Posts a buffer (kept until its completion) for one Send. IW_E_STATE: the stream has ended;
 * IW_E_FULL: rq_depth receives have not completed; IW_E_INVAL: addr is NULL, cap is not 0. */
IW_MUST_CHECK int iw_rdmap_post_recv(struct iw_rdmap *r, uint64_t cookie, void *addr, uint32_t cap);
/* True with the next completion: those of the send queue in the order of posting (RFC 5040 5.5,
 * rule 15), those of the receive queue in the order of delivery. */
bool iw_rdmap_next_completion(struct iw_rdmap *r, struct iw_completion *out);
/* Graceful: refuses further posts; iw_rdmap_drained tells when the LLP may be shut down. */
void iw_rdmap_close(struct iw_rdmap *r);
/* Nothing left to send or to wait for: the LLP has taken every operation, every Read was answered,
 * ours and the peer's, and the RTR has come. */
bool iw_rdmap_drained(const struct iw_rdmap *r);
/* RDMA Reads of ours are outstanding: a stall watchdog must run. */
bool iw_rdmap_waiting(const struct iw_rdmap *r);

/* --- in --------------------------------------------------------------------------------------- */

/*
 * One checked ULPDU (borrowed) of a LLP that keeps the sender's order. Negative: a fault, why is
 * filled; its Terminate has been queued when the error has one, what was posted completes in error,
 * everything that comes later is dropped and returns 0 (RFC 5041 7.1). IW_E_PEER_TERMINATE: the
 * peer's Terminate, which ends the stream too.
 */
IW_MUST_CHECK int iw_rdmap_receive(struct iw_rdmap *r, const uint8_t *ulpdu, size_t len,
				   uint64_t now, struct iw_fault *why);
/* As above for a LLP that does not keep order: seq is the segment's place in the sender's order. lend (NULL: no): the
 * octets may stay where they are; taken says that they are to, because a completion refers to them. */
IW_MUST_CHECK int iw_rdmap_receive_seq(struct iw_rdmap *r, uint64_t seq, const uint8_t *ulpdu,
				       size_t len, struct iw_lend *lend, uint64_t now,
				       struct iw_fault *why);
/* Hint: the tagged segment that begins at ulpdu will be checked soon. */
void iw_rdmap_prefetch(const struct iw_rdmap *r, const uint8_t *ulpdu, size_t len);

/* A fault below or beside (MPA CRC, IRD, no RTR): queues its Terminate if it has one; what was
 * posted completes in error. Only the first fault counts (RFC 5040 7.1). */
void iw_rdmap_fail(struct iw_rdmap *r, const struct iw_fault *why);
/* A zero-length RDMA Write that is nobody's operation goes next: an FPDU more, which places nothing
 * (RFC 5041 5.2: its STag is not looked at). Nothing when not in full operation. */
void iw_rdmap_nudge(struct iw_rdmap *r);
/* The LLP is gone: everything completes, the oldest operation with err (IW_OK: none with it), the
 * rest with IW_E_CANCELED. No Terminate. */
void iw_rdmap_flush(struct iw_rdmap *r, int err);

/* The LLP's sending side is shut: a Read Request that still comes is a fault, it cannot be
 * answered. */
void iw_rdmap_tx_shut(struct iw_rdmap *r);
/* The peer has shut its sending side: Reads posted from now on are refused, an RTR is not waited
 * for. False: a Read that was posted before is without its Response and will not get it. */
IW_MUST_CHECK bool iw_rdmap_rx_shut(struct iw_rdmap *r);

/* --- out -------------------------------------------------------------------------------------- */

/* Something may be there to pull (cheap; true may turn out to be nothing). */
bool iw_rdmap_wants_tx(const struct iw_rdmap *r);
/* 1: *seg is the next segment, at most mulpdu octets (128 or more); 0: nothing to send now. A Read
 * source that was revoked meanwhile is a fault: the segment is then its Terminate, and
 * iw_rdmap_fault tells. */
int iw_rdmap_pull(struct iw_rdmap *r, size_t mulpdu, struct iw_segment *seg, uint64_t now);
/* The segment last pulled ends at this position of the LLP's outgoing stream. Once for each. */
void iw_rdmap_pulled(struct iw_rdmap *r, uint64_t end_pos);
/* The LLP has taken everything before pos: IRD slots are free. It refers to the memory of no operation that ends
 * before done any more, and needs it not again: those complete. */
void iw_rdmap_sent(struct iw_rdmap *r, uint64_t pos, uint64_t done);
/* What is not sent yet, or not acknowledged, refers to the memory of operations: their completions in error wait
 * until held is false again (or iw_rdmap_flush). */
void iw_rdmap_hold(struct iw_rdmap *r, bool held);
/* A Terminate is queued, and the LLP has not taken it. */
bool iw_rdmap_terminate_due(const struct iw_rdmap *r);
/* The first fault (valid until the next call), NULL when there is none. */
const struct iw_fault *iw_rdmap_fault(const struct iw_rdmap *r);
/* What the peer did with memory of this side: octets as they move, operations at their end. */
const struct iw_stag_tally *iw_rdmap_tally(const struct iw_rdmap *r);
struct iw_rdmap_moved {
	/* octets of Sends, RDMA Writes and Read Responses, without headers */
	uint64_t rx_payload, tx_payload;
	/* Grows with all payload and all operations of this side, not with zero-length RDMA Writes and
	 * Reads of the peer's: it may send any number of them. */
	uint64_t steps;
};
/* Segments are counted when they were placed, and when they were pulled. */
const struct iw_rdmap_moved *iw_rdmap_moved(const struct iw_rdmap *r);

#endif
