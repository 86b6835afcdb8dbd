/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * verbs: the public API of <iwarp/verbs.h>.
 *
 * Job: contexts and their objects; posting work requests and polling completions; connection
 * management: connect with a second attempt, listen, accept, reject, and asynchronous events.
 * Neighbours: lib/loop moves the octets, lib/conn and lib/rdmap run the protocol, lib/ddp holds the
 * STags.
 * Threads: none; a context belongs to one thread at a time. No state outside a context.
 *
 * Events and completions: the loop returns each connection that it has served. This room then
 * moves all events of its conn and all completions of its rdmap to the owner of the connection (a
 * queue pair, or a request that was not answered yet), so that none is pending when the loop
 * sleeps.
 */
#ifndef IW_VERBS_INTERNAL_H
#define IW_VERBS_INTERNAL_H

#include <iwarp/verbs.h>

#include "conn/conn.h"
#include "ddp/stag.h"
#include "llp/llp.h"
#include "loop/loop.h"
#include "trace/trace.h"
#include "util/list.h"
#include "util/mem.h"
#include "util/num.h"
#include "util/text.h"

/*
 * A source of asynchronous events. At most one of each type is pending, and they happen in the
 * order of enum iw_ev_type. So a set of bits is a queue, and queueing an event needs no memory.
 */
struct event_source {
	struct iw_list link; /* in ctx->events while pending is not 0 */
	unsigned pending;    /* set of 1 << enum iw_ev_type */
};

struct iw_ctx {
	struct iw_mem mem;
	uint64_t setup_ns, stall_ns, spin_ns;
	struct iw_loop *loop;
	struct iw_stag_table *stags;
	struct iw_list pds, mrs, cqs, qps, listeners;
	struct iw_list events; /* of struct event_source */
	unsigned nevents;      /* pending events */
	unsigned ncompletions; /* pending in all completion queues */
	uint32_t last_pd, last_stream;
	bool pds_wrapped, streams_wrapped;
	bool has_wakeup; /* at least one wake-up is open */
	struct iw_loop_wakeup wakeup;
	struct iw_tracer tracer; /* borrowed by everything in the context */
	struct iw_trace_sink trace_sink;
	/* iw_ctx_wrap_stream; NULL: no layer */
	struct iw_stream *(*wrap)(void *wrap_ctx, struct iw_stream *stream, bool initiator);
	void *wrap_ctx;
};

struct iw_pd {
	struct iw_ctx *ctx;
	struct iw_list all;
	uint32_t number;
	unsigned users; /* memory regions and queue pairs */
};

struct iw_mr {
	struct iw_stag_tally tally;
	struct iw_pd *pd;
	struct iw_list all;
	uint32_t stag;
	unsigned access;
	uint64_t to, len;
};

struct iw_cq {
	struct iw_ctx *ctx;
	struct iw_list all;
	struct iw_wc *ring;
	uint32_t cap, head, len;
	uint32_t need;  /* sum of the depths of the work queues that use it */
	unsigned users; /* queue pairs; one that uses it for sends and receives is counted twice */
	struct iw_list starved; /* queue pairs with completions that did not fit */
	struct iw_loop_wakeup wakeup;
};

/* The owner of a connection in the loop: part of a queue pair, or of a request of a listener. */
struct conn_owner {
	enum { OWNER_QP, OWNER_REQ } kind;
	struct event_source events;
};

/* The settings for a second attempt to connect, with Rev 1 (RFC 6581 10). */
struct connect_plan {
	struct iw_endpoint_attr to; /* its texts, and the Private Data, follow in text */
	struct iw_protocol_attr protocol;
	uint64_t end; /* deadline of set-up */
	size_t size;
	char text[];
};

struct iw_qp {
	struct conn_owner owner;
	struct iw_ctx *ctx;
	struct iw_pd *pd;
	struct iw_list all, starved;
	struct iw_cq *send_cq, *recv_cq;
	uint32_t sq_depth, rq_depth;
	void *user;
	struct iw_mem mem; /* the context's allocator; held counts the octets */
	size_t held;
	struct iw_rdmap *rdmap;
	struct iw_conn *conn;           /* from connect or accept to the end of the queue pair */
	struct iw_loop_conn *loop_conn; /* while there is a transport */
	struct adoption *adoption;      /* NULL: the library opened the connection */
	struct connect_plan *plan;      /* initiator that may fall back to Rev 1, while in set-up */
	bool initiator;
	bool established;          /* IW_EV_ESTABLISHED was queued */
	bool traced_connected;     /* the event "connected" of this attempt was emitted */
	bool used;                 /* connected, accepted, adopted or closed once: not again */
	bool ended;                /* IW_EV_CLOSED is due when every completion is in its queue */
	bool closed_queued;        /* IW_EV_CLOSED was queued */
	struct iw_fault fault;     /* why it ended */
	enum iw_conn_state traced; /* the state in the last event "state" */
	/* Copies, for iw_qp_info and iw_qp_tls after the transport was freed: */
	struct iw_llp_ends ends;
	struct iw_llp_facts facts;
	bool encrypted; /* tls is set */
	struct iw_tls_info tls;
};

/* On an adopted connection only adopter, conn and peer are set; the queue pair has the rest. */
struct iw_conn_req {
	struct conn_owner owner;
	struct iw_qp *adopter; /* NULL: the request of a listener */
	struct iw_listener *listener;
	struct iw_list all; /* in listener->reqs */
	struct iw_conn *conn;
	struct iw_loop_conn *loop_conn; /* NULL: the connection has ended, with fault */
	uint64_t since;                 /* when it was accepted by TCP, or rejected, ns */
	bool offered;                   /* IW_EV_CONNECT_REQUEST has been queued */
	bool taken;                     /* the program has taken that event */
	bool answered;                  /* rejected: freed after its Reply was sent */
	char peer[64];
	struct iw_fault fault;
};

/* A connection of the program, TCP or a Unix socket, on which RDMA is set up. */
struct adoption {
	struct iw_stream *stream; /* owned by the loop's connection */
	struct iw_conn_req req;
	struct iw_protocol_attr protocol; /* responder: for its answer */
	uint8_t private_data[IW_MPA_PD_MAX];
};

struct iw_listener {
	struct iw_ctx *ctx;
	struct iw_list all;
	struct iw_loop_listener *listener;
	struct iw_list reqs;
	unsigned nreqs, backlog;
	bool sessions; /* over SCTP: takes sessions of associations */
	bool full;     /* backlog requests are pending: the loop does not watch it */
	bool paused;   /* full, or without descriptors, and "accept_paused" was emitted */
	struct iw_endpoint_attr at; /* only transport, which is static */
	struct iw_protocol_attr protocol;
	uint8_t private_data[IW_MPA_PD_MAX];
	struct iw_llp_ends ends;
};

/*
 * attr.c: copies an attribute struct of the caller's version of the library (size octets) into one
 * of this version (cap octets), and clears the rest. from NULL: clears all. what is the name of the
 * struct in the text of a fault. IW_E_INVAL: the size is impossible, or a member is set that this
 * version does not have.
 */
IW_MUST_CHECK int iw_verbs_take(void *to, size_t cap, const void *from, size_t size,
				const char *what, struct iw_fault *why);
/*
 * Copy the caller's struct as iw_verbs_take does, and check its values. what is the call that the
 * text of a fault names first, such as "connect". transport applies to the settings. The strings
 * and the Private Data in *out are borrowed from in. IW_E_INVAL also: an impossible value, or two
 * that exclude each other.
 */
IW_MUST_CHECK int iw_verbs_take_endpoint(struct iw_endpoint_attr *out,
					 const struct iw_endpoint_attr *in, const char *what,
					 struct iw_fault *why);
IW_MUST_CHECK int iw_verbs_take_protocol(struct iw_protocol_attr *out,
					 const struct iw_protocol_attr *in, const char *transport,
					 const char *what, struct iw_fault *why);
/* Returns the name of the transport, by default "tcp" (borrowed from e). Never NULL. */
const char *iw_verbs_transport(const struct iw_endpoint_attr *e);
/*
 * Convert the settings of a connection or listener (listen) to the configuration of a conn, a
 * stream, a port and an association's map. Strings and Private Data are borrowed from e and p.
 */
void iw_verbs_conn_cfg(struct iw_conn_cfg *out, struct iw_ctx *ctx,
		       const struct iw_protocol_attr *p, bool initiator, int rev);
void iw_verbs_llp_cfg(struct iw_llp_cfg *out, const struct iw_endpoint_attr *e, bool listen);
void iw_verbs_port_cfg(struct iw_port_cfg *out, const struct iw_endpoint_attr *e,
		       const struct iw_protocol_attr *p, bool listen);
void iw_verbs_map_cfg(struct iw_sctpmap_cfg *out, struct iw_ctx *ctx,
		      const struct iw_endpoint_attr *e, const struct iw_protocol_attr *p,
		      bool initiator);

/*
 * ctx.c: as iw_ctx_new, with an allocator (copied; its ctx is borrowed for the life of the new
 * context).
 */
IW_MUST_CHECK int iw_verbs_ctx_new(struct iw_ctx **out, const struct iw_ctx_attr *attr,
				   const struct iw_mem *mem, struct iw_fault *why);
static inline void *iw_verbs_alloc(struct iw_ctx *ctx, size_t size)
{
	return iw_mem_alloc(&ctx->mem, size);
}
static inline void iw_verbs_free(struct iw_ctx *ctx, void *p, size_t size)
{
	iw_mem_free(&ctx->mem, p, size);
}

/*
 * wrap.c: returns the tool's layer around stream, or stream if there is no layer. NULL: the layer
 * failed and has closed stream.
 */
struct iw_stream *iw_verbs_wrapped(struct iw_ctx *ctx, struct iw_stream *stream, bool initiator);

/* pd_mr.c: reports the registered regions to a port that has just been opened. */
void iw_verbs_report_stags(struct iw_ctx *ctx, struct iw_port *port);

/*
 * progress.c: one turn: sends posted work; waits at most timeout_ns (0: does not wait; negative: no
 * limit) unless an event is pending, or a completion in cq (NULL: in any queue); serves the ready
 * sockets; collects events and completions. *end is the time at which the wait must end. Set it to
 * 0 before the first of several turns: the turn computes it after sending, because reading the
 * clock before would delay the posted work. Returns IW_LOOP_WOKEN or 0. IW_E_OS: waiting failed.
 */
IW_MUST_CHECK int iw_verbs_turn(struct iw_ctx *ctx, const struct iw_cq *cq, int64_t timeout_ns,
				uint64_t *end);
/* Returns the time that is timeout_ns from now. 0: returns 0; negative: returns IW_TIME_NEVER. */
uint64_t iw_verbs_until(int64_t timeout_ns);
/*
 * wakeup.c: makes the wake-ups readable or unreadable. Call it when events or completions were
 * added or taken.
 */
void iw_verbs_sync_wakeups_slowly(struct iw_ctx *ctx);
static inline void iw_verbs_sync_wakeups(struct iw_ctx *ctx)
{
	if (iw_unlikely(ctx->has_wakeup))
		iw_verbs_sync_wakeups_slowly(ctx);
}

/* event.c: queue an event of s for iw_next_event; drop all pending events of s. */
void iw_verbs_event(struct iw_ctx *ctx, struct event_source *s, enum iw_ev_type type);
void iw_verbs_forget_events(struct iw_ctx *ctx, struct event_source *s);

/* info.c: converts the counts of the STag table to those of the public API. */
void iw_verbs_tally(struct iw_tally *out, const struct iw_stag_tally *t);

/*
 * cq.c: reserve room in cq for depth more completions, for one more user; release that room, and
 * drop the completions of qp. IW_E_LIMIT: 2^31 entries or more; IW_E_NOMEM.
 */
IW_MUST_CHECK int iw_verbs_cq_reserve(struct iw_cq *cq, uint32_t depth, struct iw_fault *why);
void iw_verbs_cq_unreserve(struct iw_cq *cq, struct iw_qp *qp, uint32_t depth);
static inline bool iw_verbs_cq_full(const struct iw_cq *cq)
{
	return cq->len == cq->cap;
}
/* Moves up to n completions into wc; returns their number. */
uint32_t iw_verbs_cq_take(struct iw_cq *cq, struct iw_wc *wc, uint32_t n);
/* Appends a completion of qp. The queue must not be full. */
void iw_verbs_cq_push(struct iw_cq *cq, struct iw_qp *qp, const struct iw_completion *c);

/* qp.c */
/* Processes all events of qp's conn, then its completions as iw_verbs_qp_complete. */
void iw_verbs_qp_collect(struct iw_qp *qp);
/*
 * Moves completions from qp's rdmap to its completion queues while these have room. When none is
 * left and qp has ended, queues IW_EV_CLOSED.
 */
void iw_verbs_qp_complete(struct iw_qp *qp);
/*
 * Moves completions of the queue pairs that wait for room in cq, in turn, until it is full. Call it
 * when completions were removed from cq.
 */
void iw_verbs_cq_feed(struct iw_cq *cq);
/* Ends qp with the fault why (NULL: orderly), and frees its transport; abort: resets it. */
void iw_verbs_qp_end(struct iw_qp *qp, const struct iw_fault *why, bool abort);

/* connect.c */
/*
 * If the peer seems not to know Rev 2 and the program permits Rev 1, begins a second attempt.
 * Returns true if so, also if that attempt has failed already. RFC 6581 10.
 */
bool iw_verbs_fall_back(struct iw_qp *qp);
/* Cancels the second attempt, and frees its settings. */
void iw_verbs_drop_plan(struct iw_qp *qp);

/* adopt.c */
/* Queues IW_EV_CONNECT_REQUEST: the adopted connection of qp has received its Request. */
void iw_verbs_adopt_request(struct iw_qp *qp);
/* As iw_accept and iw_reject, for the adopted connection of qp; chosen: the caller's queue pair. */
IW_MUST_CHECK int iw_verbs_adopt_accept(struct iw_qp *qp, const struct iw_qp *chosen,
					const struct iw_protocol_attr *protocol,
					struct iw_fault *why);
void iw_verbs_adopt_reject(struct iw_qp *qp, const void *private_data, size_t len);
/* Call it when RDMA is set up: from then on the queue pair owns an adopted connection. */
void iw_verbs_adopt_kept(struct iw_qp *qp);

/*
 * listen.c: processes the events of a request's conn; accepts the pending connections of a
 * listener, or takes its requested sessions.
 */
void iw_verbs_req_collect(struct iw_conn_req *req);
void iw_verbs_listener_accept(struct iw_listener *l);

/* tracing.c: call its functions only if this returns true. */
static inline bool iw_verbs_traced(const struct iw_ctx *ctx)
{
	return iw_tracing(&ctx->tracer);
}
/* Sets the tracer of the context, for iw_ctx_attr.trace and, if probes, for the USDT probes. */
void iw_verbs_trace_listeners(struct iw_ctx *ctx, bool probes);
void iw_verbs_trace_connected(struct iw_ctx *ctx, uint32_t stream, const struct iw_llp_ends *ends,
			      bool initiator);
void iw_verbs_trace_request(struct iw_ctx *ctx, uint32_t stream, const struct iw_conn_req *req);
void iw_verbs_trace_established(const struct iw_qp *qp);
void iw_verbs_trace_rejected(const struct iw_qp *qp);
void iw_verbs_trace_retry(const struct iw_qp *qp);
void iw_verbs_trace_state(struct iw_qp *qp);
void iw_verbs_trace_posted(const struct iw_qp *qp, const struct iw_op *op);
void iw_verbs_trace_completion(const struct iw_qp *qp, const struct iw_completion *c);
void iw_verbs_trace_end(const struct iw_qp *qp);
void iw_verbs_trace_pause(const struct iw_listener *l, const char *text);

#endif
