/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDMAP: operations, their order and their completions (RFC 5040).
 *
 * Job: Send (with Invalidate, with Solicited Event), RDMA Write, RDMA Read, Terminate, over one DDP stream; the send queue and receive queue of
 * a queue pair; the queues of inbound and outbound Reads (IRD, ORD); completion exactly once and in order.
 * Neighbours: lib/conn feeds it checked ULPDUs and pulls segments; lib/ddp places and delivers. It does not know MPA from SCTP.
 * Threads: none, no locks; belongs to one thread at a time.
 */
#ifndef IW_RDMAP_RDMAP_H
#define IW_RDMAP_RDMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "ddp/ddp.h"
#include "util/mem.h"
#include "util/vec.h"

#define IW_RDMAP_SGE_MAX 4

struct iw_rdmap;

struct iw_rdmap_cfg {
	const struct iw_mem *mem;      /* borrowed for life, as is stags */
	struct iw_stag_table *stags;
	uint32_t pd, stream;           /* stream: this queue pair's own number, never 0 */
	uint32_t sq_depth, rq_depth;   /* at least 1 */
	uint32_t early_max;            /* see struct iw_ddp_cfg */
};

enum iw_op_kind { IW_OPK_SEND, IW_OPK_WRITE, IW_OPK_READ, IW_OPK_RECV };
enum iw_op_flag { IW_OPF_SOLICITED = 1, IW_OPF_INVALIDATE = 2, IW_OPF_FENCE = 4, IW_OPF_QUIET = 8 };

/* A posted operation of the send queue. */
struct iw_op {
	uint64_t cookie;
	enum iw_op_kind kind;          /* SEND, WRITE, READ */
	unsigned flags;
	struct iw_vec sge[IW_RDMAP_SGE_MAX]; /* octets kept until the completion */
	size_t nsge;
	uint32_t len;                  /* READ: octets asked for; SEND, WRITE: set by post */
	uint32_t inval_stag;
	uint32_t remote_stag;          /* WRITE: sink; READ: source */
	uint64_t remote_to;
	uint32_t sink_stag;            /* READ */
	uint64_t sink_to;
};

struct iw_completion {
	uint64_t cookie;
	enum iw_op_kind kind;
	int status;                    /* 0 or a negative enum iw_err */
	uint32_t len;                  /* RECV, READ */
	bool solicited, invalidated;
	uint32_t inval_stag;
};

/* One segment to be sent: a header and the slices of memory behind it. */
struct iw_segment {
	uint8_t hdr[IW_DDP_UNTAGGED_LEN + IW_RDMAP_TERM_MAX];
	size_t hdr_len;                /* DDP header, and RDMAP header if there is one */
	struct iw_vec payload[IW_RDMAP_SGE_MAX];
	size_t npayload;
	size_t payload_len;
	bool copy;                     /* the memory may change or be revoked: copy it with its CRC before it is sent */
	bool last_of_op;               /* ends a local operation or a Read Response: report its position with iw_rdmap_sent */
};

enum iw_rdmap_state {
	IW_RDMAP_IDLE,        /* no connection yet: receives may be posted */
	IW_RDMAP_RTS,         /* full operation */
	IW_RDMAP_CLOSING,     /* the ULP asked for a graceful end: what is posted still goes out */
	IW_RDMAP_TERMINATING, /* a fault of ours: the Terminate is the last thing sent; everything incoming is dropped */
	IW_RDMAP_TERMINATED,  /* the peer's Terminate was delivered, or ours is out: nothing is sent, everything is completed */
	IW_RDMAP_CLOSED,
};
const char *iw_rdmap_state_name(enum iw_rdmap_state s);

IW_MUST_CHECK int iw_rdmap_new(struct iw_rdmap **out, const struct iw_rdmap_cfg *cfg, struct iw_fault *why);
void iw_rdmap_free(struct iw_rdmap *r);
enum iw_rdmap_state iw_rdmap_state(const struct iw_rdmap *r);
uint32_t iw_rdmap_stream(const struct iw_rdmap *r);
uint32_t iw_rdmap_pd(const struct iw_rdmap *r);

/* What start-up agreed. rtr: the form that the initiator sends first (one of enum iw_mpa_rtr) or that the responder must see first (the negotiated
 * set), 0 none. The RTR is supplied and swallowed here; the ULP never sees it (RFC 6581 9.2). IW_E_NOMEM. */
struct iw_rdmap_params {
	bool initiator;
	uint8_t dv;
	uint16_t ird, ord;
	uint8_t rtr;
};
IW_MUST_CHECK int iw_rdmap_start(struct iw_rdmap *r, const struct iw_rdmap_params *p, struct iw_fault *why);

/* --- the ULP --- */
/* op copied. IW_E_STATE, IW_E_FULL, IW_E_INVAL. */
IW_MUST_CHECK int iw_rdmap_post(struct iw_rdmap *r, const struct iw_op *op, uint64_t now);
IW_MUST_CHECK int iw_rdmap_post_recv(struct iw_rdmap *r, uint64_t cookie, void *addr, uint32_t cap);
bool iw_rdmap_next_completion(struct iw_rdmap *r, struct iw_completion *out);
/* Graceful: refuses further posts; iw_rdmap_drained tells when the LLP may be shut down. */
void iw_rdmap_close(struct iw_rdmap *r);
/* Nothing left to send or to wait for (in CLOSING: every local operation has completed, every inbound Read is answered). */
bool iw_rdmap_drained(const struct iw_rdmap *r);
/* Operations that wait for the peer (outstanding Reads): a stall watchdog must run. */
bool iw_rdmap_waiting(const struct iw_rdmap *r);

/* --- in --- */
/* One checked ULPDU. in_order: seq is ignored, segments come in the sender's order (TCP). A fault: why is filled; a Terminate has been queued when
 * the error has one and may_terminate; placing and delivering have stopped (RFC 5041 7.1). IW_E_PEER_TERMINATE: the peer's. */
IW_MUST_CHECK int iw_rdmap_receive(struct iw_rdmap *r, const uint8_t *ulpdu, size_t len, uint64_t now, struct iw_fault *why);
/* As above for a LLP that does not keep order: seq is the segment's place in the sender's order. */
IW_MUST_CHECK int iw_rdmap_receive_seq(struct iw_rdmap *r, uint64_t seq, const uint8_t *ulpdu, size_t len, uint64_t now, struct iw_fault *why);
/* Hint: the tagged segment that begins at ulpdu will be checked soon. */
void iw_rdmap_prefetch(const struct iw_rdmap *r, const uint8_t *ulpdu, size_t len);

/* A fault below or beside (MPA CRC, IRD, no RTR): queue its Terminate if it has one, complete everything in error. */
void iw_rdmap_fail(struct iw_rdmap *r, const struct iw_fault *why);
/* The LLP is gone: complete everything; status IW_E_CANCELED, for the oldest outstanding operation err. No Terminate. */
void iw_rdmap_flush(struct iw_rdmap *r, int err);

/* The LLP's sending side is shut: a Read Request that still comes is a fault, it cannot be answered. */
void iw_rdmap_tx_shut(struct iw_rdmap *r);

/* --- out --- */
/* Something may be there to pull (cheap; true may turn out to be nothing). */
bool iw_rdmap_wants_tx(const struct iw_rdmap *r);
/* 1: *seg is the next segment, at most mulpdu octets; 0: nothing to send now. Faults of local memory (a revoked Read source) queue a Terminate and
 * are reported through iw_rdmap_fault. */
int iw_rdmap_pull(struct iw_rdmap *r, size_t mulpdu, struct iw_segment *seg, uint64_t now);
/* The segment last pulled ends at this position of the LLP's outgoing stream. */
void iw_rdmap_pulled(struct iw_rdmap *r, uint64_t end_pos);
/* The LLP has taken (TCP) or has had acknowledged (others) everything before pos: operations complete, IRD slots are free. */
void iw_rdmap_sent(struct iw_rdmap *r, uint64_t pos);
/* A batch that is not sent yet refers to the memory of operations: their completions in error wait until held is false again (or
 * iw_rdmap_flush). */
void iw_rdmap_hold(struct iw_rdmap *r, bool held);
/* A Terminate is queued and has not been sent. */
bool iw_rdmap_terminate_due(const struct iw_rdmap *r);
/* The Terminate that ends this stream has been pulled and sent. */
bool iw_rdmap_terminate_sent(const struct iw_rdmap *r);
/* The first fault, NULL when there is none. */
const struct iw_fault *iw_rdmap_fault(const struct iw_rdmap *r);

#endif
