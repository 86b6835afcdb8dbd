/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libiwarp: RDMA verbs in user space over MPA/TCP and SCTP (RFC 5040, 5041, 5043, 5044, 6581).
 *
 *   context -> protection domain -> memory region (STag)
 *           -> completion queue
 *           -> listener -> connection request -> queue pair (one connection, one DDP stream)
 *
 * The program posts work requests and polls their completions. The library reports changes of
 * connections as asynchronous events, which the program polls too. The library has no threads of
 * its own, installs no signal handlers and prints nothing. It calls back into the program only for
 * a trace (struct iw_ctx_attr).
 *
 * Threads: a context and everything made from it belong to one thread at a time; the library takes
 * no locks for them. Contexts are independent of each other, except over "xdp": all connections of
 * the process on one interface share its XDP program and UMEM, under locks of the library. While it
 * loads an XDP program, the library also replaces the log callbacks of libbpf and libxdp, which are
 * process-wide.
 * Progress: only iw_progress, iw_cq_poll and iw_cq_wait make progress. A program with an event loop
 * of its own polls iw_ctx_fd or iw_cq_fd: they become readable when such a call has something to
 * do.
 * Deadlines: every wait for a peer has one (struct iw_ctx_attr). A connection that makes no
 * progress for stall_ns while something is outstanding ends with IW_E_TIMEOUT.
 * Units: all times are nanoseconds, all sizes octets.
 * Ownership: an input is borrowed (until the call returns) unless its comment says kept (the
 * program leaves it unchanged until the completion). A result that the comment calls owned belongs
 * to the named object: do not free or close it. Objects belong to the program until it frees them.
 * Errors: 0 or a count is success; a negative enum iw_err is failure. why may be NULL; else a
 * failure fills it, with a text that names the cause. A call that takes a struct with a member
 * size returns IW_E_INVAL if size is impossible, or if an input has a member set that this version
 * of the library does not have: set size to sizeof, and clear what the library does not support.
 */
#ifndef IWARP_VERBS_H
#define IWARP_VERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#ifdef __cplusplus
extern "C" {
#endif

struct iw_ctx;
struct iw_pd;
struct iw_mr;
struct iw_cq;
struct iw_qp;
struct iw_listener;
struct iw_conn_req;
struct iw_tls;

/* ---------------------------------------------------------------- context */

#define IW_SETUP_NS_DEFAULT UINT64_C(10000000000) /* setup_ns of struct iw_ctx_attr: 10 s */
#define IW_STALL_NS_DEFAULT UINT64_C(30000000000) /* stall_ns: 30 s */
#define IW_CTX_FREE_NS_MAX  UINT64_C(3000000000)  /* iw_ctx_free may block for this long: 3 s */

struct iw_ctx_attr {
	size_t size; /* sizeof(struct iw_ctx_attr) */
	/*
	 * Limits connection and MPA set-up, and, after this end's FIN, the wait for the peer's next
	 * payload or FIN. Over SCTP also limits how long a listener keeps an association without a
	 * session. 0: IW_SETUP_NS_DEFAULT.
	 */
	uint64_t setup_ns;
	/*
	 * Ends a connection that makes no progress for this long while something is outstanding.
	 * Zero-length RDMA Writes and Reads of the peer are not progress. 0: IW_STALL_NS_DEFAULT.
	 */
	uint64_t stall_ns;
	/*
	 * iw_cq_wait polls for this long before it sleeps: less latency, more CPU time. 0: it polls
	 * only in two cases. If the last four waits ended with input within 60 us, and at most 1 KiB
	 * moved between any two of them, it polls for up to 60 us. So it polls in a ping-pong with a
	 * near peer, and while such connections are set up, and uses all of a processor meanwhile.
	 * After a batch of bulk data over udp, raw or xdp, it polls for the next one for up to 20
	 * us. An unsuccessful poll ends polling for the next wait, and each further one for twice
	 * as many, up to 1,024 (bulk data: 256).
	 */
	uint64_t spin_ns;
	/*
	 * Receives one line of JSON (borrowed, no newline) for each protocol event, for plots and
	 * labs: also for each segment, chunk and window, so it should be fast. NULL: no trace. The
	 * library calls it inside its own functions; it must not call the library. trace_ctx is its
	 * first argument.
	 */
	void (*trace)(void *trace_ctx, const char *line);
	void *trace_ctx;
};

/*
 * Creates a context. attr NULL: defaults.
 * IW_E_INVAL: attr->size is impossible; IW_E_NOMEM; IW_E_LIMIT: the process has no free
 * descriptors; IW_E_OS: why names the step that failed.
 */
IW_API IW_MUST_CHECK int iw_ctx_new(struct iw_ctx **out, const struct iw_ctx_attr *attr,
				    struct iw_fault *why);
/*
 * Frees the context and everything made from it. Aborts connections that are still up (iw_abort).
 * Over SCTP the call blocks until the peers have confirmed the shutdown of their associations, but
 * at most IW_CTX_FREE_NS_MAX for the whole context; then it aborts the remaining associations. NULL
 * does nothing. RFC 9260 9.2.
 */
IW_API void iw_ctx_free(struct iw_ctx *ctx);
/*
 * Sends and receives octets, and serves deadlines. If there is nothing to do, waits at most
 * timeout_ns (0: does not wait; negative: without this limit). The wait also ends at a deadline of
 * the context, on a signal, and when the descriptor of iw_ctx_wake_fd is readable. Does not wait
 * while events or completions can be polled. Returns the number of events and completions that can
 * be polled.
 * IW_E_OS: the system call that waits failed; free the context.
 */
IW_API IW_MUST_CHECK int iw_progress(struct iw_ctx *ctx, int64_t timeout_ns);
/*
 * Returns a descriptor (owned by ctx) that is readable while events or completions can be polled,
 * or while iw_progress has something to do. When it is readable, call iw_progress(ctx, 0). Later
 * calls return the same descriptor.
 * IW_E_LIMIT: the process has no free descriptors; IW_E_NOMEM; IW_E_OS: why names the system call
 * that failed. After an error nothing has changed.
 */
IW_API IW_MUST_CHECK int iw_ctx_fd(struct iw_ctx *ctx, struct iw_fault *why);
/*
 * Sets a descriptor of the program (a pipe, a signalfd, a control socket) that ends the waits of
 * iw_progress and iw_cq_wait when it is readable. A context has at most one; fd -1 removes it. The
 * library does not read fd, and uses it until it is replaced or removed: do that before closing it.
 * IW_E_PERM: fd cannot be polled (a regular file); IW_E_OS: fd is not a descriptor; IW_E_NOMEM.
 * After an error the previous descriptor remains set.
 */
IW_API IW_MUST_CHECK int iw_ctx_wake_fd(struct iw_ctx *ctx, int fd, struct iw_fault *why);

/* ---------------------------------------------------------------- protection domain, memory */

/* Creates a protection domain. IW_E_NOMEM. RFC 5041 8.2. */
IW_API IW_MUST_CHECK int iw_pd_new(struct iw_pd **out, struct iw_ctx *ctx);
/*
 * Frees a protection domain. NULL does nothing.
 * IW_E_BUSY: it still has a memory region or a queue pair; free these first.
 */
IW_API int iw_pd_free(struct iw_pd *pd);

enum iw_access {
	IW_ACCESS_REMOTE_READ = 1,  /* the peer may RDMA Read from it */
	IW_ACCESS_REMOTE_WRITE = 2, /* the peer may RDMA Write into it */
	/* this end's RDMA Reads may place their Responses in it; the peer may not write to it */
	IW_ACCESS_READ_SINK = 4,
};

struct iw_mr_attr {
	/*
	 * Kept until iw_mr_revoke or the end of the context. The library writes to it only for a
	 * right in access that permits writing.
	 */
	void *addr;
	size_t len;
	/* Tagged Offset of addr[0]. Any value: 0, an address, a file offset */
	uint64_t to;
	unsigned access; /* set of enum iw_access */
	/* the only stream on which it is valid; NULL: every stream of the domain (RFC 5041 8.2) */
	struct iw_qp *qp;
	uint64_t lifetime_ns; /* no longer valid after this time; 0: no limit */
	uint32_t uses;        /* no longer valid after this many operations; 0: no limit */
	/*
	 * Refuse (IW_E_BUSY) if a valid region of another protection domain or queue pair overlaps
	 * this one and either of them has IW_ACCESS_REMOTE_WRITE or IW_ACCESS_READ_SINK: peers that
	 * do not trust each other must not share a buffer (RFC 5042 6.3.6). Only this call makes
	 * the check, against all regions of the context, in time proportional to their number: set
	 * exclusive in every registration for such peers. The check compares addresses: it does not
	 * detect two mappings of one file.
	 */
	bool exclusive;
	bool tally; /* count the operations of peers, for iw_mr_tally and iw_mr_written */
};

#define IW_MR_MAX (1u << 24) /* valid memory regions of a context */

/*
 * Registers a Tagged Buffer under an unpredictable STag. attr is borrowed, its addr kept.
 * IW_E_INVAL: no rights or unknown ones, addr NULL although len is not 0, addr + len or to + len
 * wraps, or qp belongs to another domain; IW_E_BUSY: exclusive is set and another region overlaps,
 * revoke that one first; IW_E_LIMIT: IW_MR_MAX regions are valid; IW_E_NOMEM; IW_E_OS: the system
 * has no random number. RFC 5041 8.2.
 */
IW_API IW_MUST_CHECK int iw_mr_reg(struct iw_mr **out, struct iw_pd *pd,
				   const struct iw_mr_attr *attr, struct iw_fault *why);
/* Returns the STag, to be advertised to the peer. It never changes. */
IW_API uint32_t iw_mr_stag(const struct iw_mr *mr);
/*
 * Revokes the STag and frees mr. After it returns, no octets are placed in the buffer or read from
 * it, and the buffer belongs to the program again. Operations of the peer that still name the STag
 * end in a Terminate. May be called at any time, also after the peer's Invalidate. NULL does
 * nothing. RFC 5042 6.2.2.
 */
IW_API void iw_mr_revoke(struct iw_mr *mr);
/*
 * Returns false once the peer has invalidated the STag, its uses are spent or its lifetime is over.
 * The region must still be freed with iw_mr_revoke.
 */
IW_API bool iw_mr_valid(const struct iw_mr *mr);

/*
 * RDMA Writes of peers into memory of this end, and their RDMA Reads from it. Zero-length ones are
 * not counted.
 */
struct iw_tally {
	uint64_t writes, write_octets;
	uint64_t reads, read_octets;
};
/*
 * Returns the counts of complete operations on a memory region; zeros if it was registered without
 * tally. The counts remain when the region is no longer valid.
 */
IW_API void iw_mr_tally(const struct iw_mr *mr, struct iw_tally *out);
/*
 * Returns the number of octets at the start of a memory region that the peers' RDMA Writes have
 * filled without a gap; 0 if it was registered without tally. A complete Write is counted if it
 * begins at or before the end of the octets counted so far and its segments arrive in ascending
 * order. Call it when a peer reports that it has filled a buffer: the octets beyond this number are
 * still what the buffer held before (RFC 5042 6.3.2).
 */
IW_API uint64_t iw_mr_written(const struct iw_mr *mr);

/* ---------------------------------------------------------------- completion queue */

enum iw_wc_op { IW_WC_SEND, IW_WC_WRITE, IW_WC_READ, IW_WC_RECV };

struct iw_wc {
	uint64_t wr_id;
	struct iw_qp *qp;
	enum iw_wc_op op;
	/* IW_OK, or why it failed; IW_E_CANCELED after the first failure of the connection */
	int status;
	uint32_t len;     /* received or read octets */
	bool solicited;   /* RECV: Send with Solicited Event */
	bool invalidated; /* RECV: the peer invalidated inval_stag */
	uint32_t inval_stag;
	/*
	 * RECV on a queue pair with loans. Above 0: the octets are at data (borrowed until
	 * iw_loan_return), and the posted buffer is unchanged. 0: the octets are in the posted
	 * buffer.
	 */
	uint64_t loan;
	const void *data;
};

/*
 * Creates a completion queue. It never overflows: iw_qp_new allocates room in it for everything
 * that can be posted on the queue pair. IW_E_NOMEM.
 */
IW_API IW_MUST_CHECK int iw_cq_new(struct iw_cq **out, struct iw_ctx *ctx);
/*
 * Frees a completion queue, and closes its descriptor. NULL does nothing.
 * IW_E_BUSY: a queue pair uses it; free that first.
 */
IW_API int iw_cq_free(struct iw_cq *cq);
/*
 * If the queue is empty, first makes progress without waiting. Then takes up to n completions into
 * wc and returns their number. n 0 or less does nothing.
 * IW_E_OS: as for iw_progress, and no completion was taken.
 */
IW_API IW_MUST_CHECK int iw_cq_poll(struct iw_cq *cq, struct iw_wc *wc, int n);
/*
 * Makes progress as iw_progress(timeout_ns) does, but waits until this queue holds a completion or
 * the context an event, and then returns 1. Returns 0 if neither is pending when the time has run
 * out, on a signal, or when the descriptor of iw_ctx_wake_fd is readable.
 * IW_E_OS: as for iw_progress.
 */
IW_API IW_MUST_CHECK int iw_cq_wait(struct iw_cq *cq, int64_t timeout_ns);
/*
 * Returns a descriptor (owned by cq) that is readable while the queue holds completions or
 * iw_cq_poll can make progress. Events do not make it readable: call iw_next_event too after each
 * iw_cq_poll. Later calls return the same descriptor. Errors as iw_ctx_fd.
 */
IW_API IW_MUST_CHECK int iw_cq_fd(struct iw_cq *cq, struct iw_fault *why);

/* ---------------------------------------------------------------- queue pair */

#define IW_DEPTH_DEFAULT 64         /* sq_depth, rq_depth of struct iw_qp_attr */
#define IW_DEPTH_MAX     (1u << 20) /* likewise */
#define IW_LOAN_MIN      512        /* a shorter Send is copied: see loans of struct iw_qp_attr */

struct iw_qp_attr {
	size_t size;                     /* sizeof(struct iw_qp_attr) */
	struct iw_cq *send_cq, *recv_cq; /* kept; required; may be the same */
	/* work requests posted and not completed; 0: IW_DEPTH_DEFAULT; at most IW_DEPTH_MAX */
	uint32_t sq_depth;
	uint32_t rq_depth; /* receives posted and not completed; as sq_depth */
	void *user;        /* iw_qp_user() returns it */
	/*
	 * Over "xdp", a received Send may stay in the UMEM frame in which it arrived, instead of
	 * being copied to the posted buffer (loan of struct iw_wc). This applies to a Send of at
	 * least IW_LOAN_MIN octets in one DATA chunk, if its packet fits one frame and it arrived
	 * in order.
	 * All other Sends are copied. Sends are also copied while a quarter of the packets that the
	 * receive ring holds is lent (512 packets of an AF_XDP worker on an interface with one
	 * queue). In both cases the Send consumes a receive and must fit its buffer (RFC 5041 5.1).
	 * On other transports this option has no effect.
	 */
	bool loans;
};

/*
 * Creates a queue pair for one connection, and allocates its queues.
 * IW_E_INVAL: a completion queue is missing or of another context, or a depth exceeds IW_DEPTH_MAX;
 * IW_E_LIMIT: the completion queue would need 2^31 entries or more, use another one; IW_E_NOMEM.
 */
IW_API IW_MUST_CHECK int iw_qp_new(struct iw_qp **out, struct iw_pd *pd,
				   const struct iw_qp_attr *attr, struct iw_fault *why);
/*
 * Frees a queue pair. Aborts its connection if it is up (iw_abort). Drops its completions that were
 * not polled and its events that were not taken. The buffers of its work requests belong to the
 * program again. NULL does nothing.
 */
IW_API void iw_qp_free(struct iw_qp *qp);
/* Returns user of struct iw_qp_attr. */
IW_API void *iw_qp_user(const struct iw_qp *qp);

struct iw_sge {
	const void *addr; /* kept until the completion */
	size_t len;
};
#define IW_SGE_MAX 4

enum iw_wr_op { IW_WR_SEND, IW_WR_WRITE, IW_WR_READ };
enum iw_wr_flag {
	IW_WR_SOLICITED = 1,  /* SEND: Send with Solicited Event */
	IW_WR_INVALIDATE = 2, /* SEND: Send with Invalidate of inval_stag */
	/* begins only when all earlier RDMA Reads have completed (RFC 5040 5.5) */
	IW_WR_FENCE = 4,
	/* no completion on success; the completion of a later request implies it */
	IW_WR_UNSIGNALED = 8,
};

struct iw_send_wr {
	uint64_t wr_id;
	enum iw_wr_op op;
	unsigned flags;
	/* SEND, WRITE: up to IW_SGE_MAX pieces; the list is borrowed, the octets are kept */
	const struct iw_sge *sge;
	size_t nsge;
	uint32_t inval_stag;
	uint32_t remote_stag; /* WRITE: sink; READ: source */
	uint64_t remote_to;
	const struct iw_mr *sink; /* READ: with IW_ACCESS_READ_SINK; kept until the completion */
	uint64_t sink_to;         /* READ: Tagged Offset within sink */
	uint32_t len;             /* READ: octets */
};

/*
 * Queues one operation. Its octets are sent by the next call that makes progress. Operations
 * complete in the order in which they were posted. RDMA Reads above ORD are not refused: they wait.
 * wr and its list sge are borrowed; the octets and the sink are kept.
 * IW_E_STATE: the connection is not up, was shut down by this end, or (READ) by the peer;
 * IW_E_FULL: sq_depth requests are pending, poll the completion queue and post again;
 * IW_E_INVAL: an unknown operation, a flag that the operation does not have, more than IW_SGE_MAX
 * pieces, 2^32 octets or more, an address that is NULL, or a sink that is missing, not valid, too
 * small, of another domain or without IW_ACCESS_READ_SINK; IW_E_LIMIT: a READ while the ORD in
 * force is 0. After an error nothing is queued. RFC 5040 5.5.
 */
IW_API IW_MUST_CHECK int iw_post_send(struct iw_qp *qp, const struct iw_send_wr *wr,
				      struct iw_fault *why);
/*
 * Queues an Untagged Buffer of cap octets (kept) for one incoming Send. It may be called before the
 * connection is up.
 * IW_E_STATE: the connection has ended; IW_E_FULL: rq_depth receives are pending, poll the
 * completion queue; IW_E_INVAL: addr is NULL although cap is not 0. RFC 5041 5.1.
 */
IW_API IW_MUST_CHECK int iw_post_recv(struct iw_qp *qp, uint64_t wr_id, void *addr, uint32_t cap,
				      struct iw_fault *why);

/*
 * Returns the octets that a completion has lent to the program; loan is that of its struct iw_wc.
 * Until this call, or until the context is freed, the octets do not change, even if the queue pair
 * is closed or freed; and the interface, with its steering program, stays in use. iw_qp_free
 * returns the loans of completions that were not polled.
 * IW_E_INVAL: the loan was returned before, or belongs to another context.
 */
IW_API IW_MUST_CHECK int iw_loan_return(struct iw_ctx *ctx, uint64_t loan, struct iw_fault *why);

/* ---------------------------------------------------------------- connections */

/*
 * Whether this end requests the CRC of MPA. The CRC is used if either end requests it (RFC 5044
 * 4.4). WANTED: requests it. REQUIRED: also refuses a Reply that does not request it
 * (IW_E_MPA_LOCAL). OFF: does not request it.
 */
enum iw_crc_policy { IW_CRC_WANTED = 0, IW_CRC_REQUIRED, IW_CRC_OFF };
/* Zero-length operations that can be the ready-to-receive frame (RTR, RFC 6581 9.2); a set. */
enum iw_rtr { IW_RTR_NONE = 0, IW_RTR_SEND = 1, IW_RTR_WRITE = 2, IW_RTR_READ = 4 };
#define IW_ORD_NO_NEGOTIATION    0x3fff /* ird, ord: this end does not negotiate (RFC 6581 9.1) */
#define IW_READS_DEFAULT         16     /* ird, ord of struct iw_protocol_attr */
#define IW_BACKLOG_DEFAULT       128    /* backlog of struct iw_endpoint_attr */
#define IW_STREAMS_DEFAULT       1000   /* streams of struct iw_endpoint_attr */
#define IW_UDP_PORT_DEFAULT      9899   /* udp_port of struct iw_endpoint_attr (RFC 6951 5.1) */
/* Private Data, in octets: RFC 5044 7.1.1, and the same over SCTP. */
#define IW_PRIVATE_DATA_MAX      512
#define IW_PRIVATE_DATA_ENHANCED 4 /* of these, used by RFC 6581 9.1 */
#define IW_PRIVATE_DATA_MULPDU   8 /* and by mulpdu of struct iw_protocol_attr */
/* Limits of mulpdu in struct iw_protocol_attr. */
#define IW_MULPDU_MIN            512
#define IW_MULPDU_MAX            64768 /* RFC 5044 3 */
/* Whether to work around a defect of the peer. AUTO: if the peer seems to have the defect. */
enum iw_quirk { IW_QUIRK_AUTO = 0, IW_QUIRK_ON, IW_QUIRK_OFF };
/* Modes of transport "xdp". Without a flag the library uses the best mode that is available. */
enum iw_xdp_want {
	IW_XDP_WANT_NATIVE = 1,     /* the program runs in the driver, else IW_E_NOTSUP */
	IW_XDP_WANT_GENERIC = 2,    /* it runs in the network stack, even if the driver has XDP */
	IW_XDP_WANT_ZEROCOPY = 4,   /* the driver reads and writes UMEM frames, else IW_E_NOTSUP */
	IW_XDP_WANT_COPY = 8,       /* the driver never does so */
	IW_XDP_WANT_BUSY_POLL = 16, /* this process drives the driver's queues while it waits */
	/* frames of 2,048 octets at any MTU; a longer packet uses several frames */
	IW_XDP_WANT_SMALL_FRAMES = 32,
};

/*
 * The endpoint of a connection or a listener: the transport and its settings. Members that are zero
 * have the defaults. All strings are borrowed.
 */
struct iw_endpoint_attr {
	size_t size; /* sizeof(struct iw_endpoint_attr) */
	/*
	 * "tcp" (also NULL), "sctp", "udp", "raw" or "xdp". One that was not built fails with
	 * IW_E_NOTSUP and the reason. Over the last four (SCTP) a queue pair is a DDP stream
	 * session (RFC 5043), and an association carries many sessions.
	 */
	const char *transport;
	/* connect: name or address; listen: NULL is loopback, "*" every address */
	const char *host;
	uint16_t port;           /* listen: 0: the system chooses, see iw_listener_port */
	const char *bind_addr;   /* connect: source address; NULL: any */
	const char *interface;   /* NULL: any */
	const char *cc;          /* congestion control; NULL: the system's */
	uint32_t sndbuf, rcvbuf; /* octets of socket buffers; 0: the system's own tuning */
	/* listen: requests that were not answered yet; 0: IW_BACKLOG_DEFAULT */
	uint32_t backlog;
	/*
	 * listen, over tcp: a listening TCP socket, made by another program such as systemd; host,
	 * port and bind_addr are then ignored. Borrowed; the listener uses a duplicate. 0: makes
	 * a socket. connect: IW_E_INVAL unless 0.
	 */
	int listen_fd;
	uint16_t streams; /* SCTP: in each direction; 0: IW_STREAMS_DEFAULT */
	/*
	 * SCTP in UDP (RFC 6951); connect: the peer's port; listen: this end's. 0:
	 * IW_UDP_PORT_DEFAULT for "udp", no UDP encapsulation for "xdp".
	 */
	uint16_t udp_port;
	/*
	 * listen, over "udp" and "xdp": SCTP is in UDP, and the system chooses the UDP port
	 * (iw_listener_udp_port). IW_E_INVAL with udp_port.
	 */
	bool any_udp_port;
	/* "xdp": set of enum iw_xdp_want. IW_E_INVAL: unknown ones, two that exclude each other. */
	unsigned xdp;
	/*
	 * connect, over SCTP: a queue pair (borrowed) whose association carries the new connection
	 * too. This end must have begun the association. NULL: begin an association. listen, and
	 * over tcp: IW_E_INVAL unless NULL.
	 */
	const struct iw_qp *beside;
	/*
	 * Encrypts the connection: over "tcp" with TLS 1.3 below MPA, over "udp" with DTLS 1.2
	 * below SCTP (RFC 8261). Borrowed until the call returns. Other transports: IW_E_NOTSUP.
	 * NULL: no encryption.
	 */
	struct iw_tls *tls;
	/*
	 * connect, with a tls that has ca_file: the name or address that the peer's certificate
	 * must have. NULL: host.
	 */
	const char *tls_name;
};

/*
 * The settings of the protocols on a connection. Members that are zero have the defaults: CRC on,
 * no markers, Rev 2 with fallback to Rev 1, IRD = ORD = IW_READS_DEFAULT. Over SCTP crc, markers,
 * mulpdu, rdmac and siw_first_fpdu are ignored.
 */
struct iw_protocol_attr {
	size_t size; /* sizeof(struct iw_protocol_attr) */
	/*
	 * The edition of the wire protocols; both ends must use the same one. NULL or "rfc": the
	 * RFCs. "rdmac", over tcp: the RDMA Consortium's (sets rev -1 and rdmac: MPA Rev 0, DDP and
	 * RDMAP version 0). "sctp-draft-02", over SCTP: the draft of August 2005, with other
	 * numbers (ddp-sctp(7)). It has no enhanced sessions: rev 2 and peer_to_peer are
	 * IW_E_INVAL, and rev 0 means 1.
	 */
	const char *profile;
	/*
	 * MPA revision. 0: Rev 2, with fallback to Rev 1; 1 or 2: only that one (listen: the
	 * highest that is accepted); -1: Rev 0 of the RDMA Consortium. Over SCTP 2 means an
	 * enhanced session (RFC 6581 7), 1 a session of RFC 5043, and -1 is IW_E_INVAL.
	 */
	int rev;
	bool rdmac; /* accept RDMA Consortium peers */
	enum iw_crc_policy crc;
	bool markers;      /* require markers in received FPDUs (RFC 5044 4.3) */
	bool peer_to_peer; /* the initiator's first frame is an RTR (RFC 6581 9.2) */
	unsigned rtr;      /* set of enum iw_rtr; 0: all three */
	/*
	 * Concurrent inbound and outbound RDMA Reads. 0: IW_READS_DEFAULT; at most
	 * IW_ORD_NO_NEGOTIATION, which means that this end does not negotiate them.
	 */
	uint16_t ird, ord;
	bool no_reads; /* IRD = ORD = 0; IW_E_INVAL with ird or ord */
	/*
	 * 0: FPDUs fit TCP segments. Above 0: the largest ULPDU (IW_MULPDU_MIN to IW_MULPDU_MAX
	 * octets) offered to a peer that uses libiwarp too.
	 */
	uint32_t mulpdu;
	/*
	 * Borrowed. At most IW_PRIVATE_DATA_MAX octets, less IW_PRIVATE_DATA_ENHANCED with Rev 2,
	 * less IW_PRIVATE_DATA_MULPDU with mulpdu. Peers that do not use libiwarp may accept less:
	 * use at most 244 octets.
	 */
	const void *private_data;
	size_t private_data_len;
	/*
	 * connect: Linux siw as a responder may not notice a first FPDU that arrives soon after its
	 * Reply, until more octets arrive. AUTO: if the peer has sent nothing 500 ms after the last
	 * FPDU of this end, the library sends a zero-length RDMA Write, which neither program
	 * notices, and again after 1 s and 2 s. ON: it sends the first one after 20 ms, and five in
	 * all, even if the peer has sent something: for a siw whose program sends without a
	 * request. OFF: it sends none.
	 */
	enum iw_quirk siw_first_fpdu;
};

struct iw_xdp_memory;
/*
 * Allocates len octets of zeroed memory from which transport "xdp" sends without a copy. The octets
 * that an RDMA Write or a Send takes from it are sent by a descriptor of their own, after that of
 * the headers (Linux 6.6, and not over UDP). The memory is part of the UMEM of at's interface:
 * allocate it before the first connection on that interface, with the same xdp. The steering
 * program stays attached until the memory is freed.
 * All connections of this process on the interface, of any context, share the UMEM, so all of them
 * can send from this memory, with any number of regions and work requests in it. A connection on
 * another interface copies the octets. In all other respects it is ordinary memory: it can be
 * registered and received into. It belongs to no context: only iw_xdp_memory_free frees it.
 * IW_E_INVAL: at has no interface, or len is 0 or above 1 GiB; IW_E_BUSY: the UMEM cannot grow, and
 * this process already has such memory on the interface (share it among contexts, or allocate one
 * piece for all of them) or connections (close them first); IW_E_LIMIT: the limit of locked memory,
 * raise RLIMIT_MEMLOCK; IW_E_NOTSUP, IW_E_PERM, IW_E_NOENT, IW_E_NOMEM, IW_E_OS: as for iw_connect.
 */
IW_API IW_MUST_CHECK int iw_xdp_memory_new(struct iw_xdp_memory **out,
					   const struct iw_endpoint_attr *at, size_t len,
					   struct iw_fault *why);
/* Returns the address, page-aligned (owned by m). */
IW_API void *iw_xdp_memory_addr(struct iw_xdp_memory *m);
/*
 * Frees the memory: the program must not use it afterwards. Connections that still send from it
 * keep it until they are closed. NULL does nothing.
 */
IW_API void iw_xdp_memory_free(struct iw_xdp_memory *m);

/*
 * Starts to connect. protocol NULL: the defaults. IW_EV_ESTABLISHED, IW_EV_REJECTED or IW_EV_CLOSED
 * follows within the context's setup_ns. If the host has several addresses, they are tried in turn.
 * With rev 0, if the peer does not know Rev 2, the library makes a second attempt with Rev 1,
 * without an event (not with peer_to_peer, which Rev 1 does not have). The call may block to
 * resolve a host name, but not for an address.
 * IW_E_STATE: qp was used before, create another one; or the peer began the association of beside,
 * or it is ending; IW_E_INVAL: an impossible setting, two that exclude each other, or beside has no
 * association; IW_E_NOTSUP: the transport, mode or congestion control is not available here;
 * IW_E_PERM: the process lacks a capability; IW_E_NOENT: the host name or the interface does not
 * exist; IW_E_AGAIN: no name server answers, try again later; IW_E_BUSY: another process has
 * reserved the SCTP port; IW_E_LIMIT: no free descriptors, or each stream of beside's association
 * has a session; IW_E_NOMEM; IW_E_OS: why names the system call that failed, or the host that
 * refused the connection at once. After an error nothing has begun, and qp is unchanged.
 * RFC 5044 7.1, RFC 6581 9 and 10, RFC 5043 6.
 */
IW_API IW_MUST_CHECK int iw_connect(struct iw_qp *qp, const struct iw_endpoint_attr *to,
				    const struct iw_protocol_attr *protocol, struct iw_fault *why);
struct iw_adopt {
	size_t size; /* sizeof(struct iw_adopt) */
	/*
	 * A connected socket, TCP or Unix stream: do not use it before IW_EV_ESTABLISHED or
	 * IW_EV_CLOSED.
	 */
	int fd;
	bool responder; /* true: wait for the peer's MPA Request; false: send one */
	/* responder: the len octets of that Request that the program has already read (borrowed) */
	const void *octets;
	size_t len;
};
/*
 * Sets up RDMA on a connection that already carries octets of the program's own protocol, at an
 * octet on which both programs have agreed: one of them is the initiator, the other one the
 * responder. The connection is a TCP connection or a pair of Unix stream sockets. The program must
 * have read all octets that the peer sent before its MPA frame, and must have no pending output.
 * protocol NULL: the defaults. There is no second attempt with Rev 1, because that needs another
 * connection. setup_ns limits each wait.
 * A responder gets IW_EV_CONNECT_REQUEST with qp and req (owned by qp), and answers it with
 * iw_accept on that qp, or with iw_reject.
 * The library uses a duplicate of fd. After IW_EV_ESTABLISHED the queue pair owns the connection:
 * close fd. After an IW_EV_CLOSED without IW_EV_ESTABLISHED, call iw_adopt_streaming: the
 * connection continues without RDMA if either end rejected it.
 * Over a Unix socket FPDUs have the largest size that the protocol permits, the addresses in
 * iw_qp_info are "unix", and there is no congestion control. iw_abort cannot reset it: the peer
 * gets IW_E_CLOSED if the abort precedes its own iw_disconnect.
 * IW_E_STATE: qp was used before; IW_E_INVAL: fd is not such a socket, an initiator has octets,
 * more octets follow the Request, or an impossible protocol; IW_E_MPA_FRAME: the octets are not an
 * MPA Request; IW_E_LIMIT: no free descriptors; IW_E_NOMEM; IW_E_OS. After an error nothing has been
 * sent, and qp and fd are unchanged. RFC 5044 7.1, RFC 5045 6.9.2.
 */
IW_API IW_MUST_CHECK int iw_adopt(struct iw_qp *qp, const struct iw_adopt *how,
				  const struct iw_protocol_attr *protocol, struct iw_fault *why);
/*
 * Returns 0 if both ends of an adopted connection are in streaming mode after IW_EV_CLOSED, and the
 * program may continue with fd: either end rejected RDMA (initiator: after IW_EV_REJECTED;
 * responder: after its iw_reject, with IW_E_REJECTED in IW_EV_CLOSED), or a responder got no valid
 * MPA Request and has sent nothing. *octets (owned by qp): the len octets that the library has read
 * from fd and that are not a Request; they precede the octets that are still to be read from fd.
 * IW_E_STATE: the connection was not adopted or has not ended, RDMA was set up, set-up failed
 * half-way, or a Request was not answered: close fd. RFC 5044 7.1.2, rules 2 and 3.
 */
IW_API IW_MUST_CHECK int iw_adopt_streaming(const struct iw_qp *qp, const void **octets,
					    size_t *len);
/*
 * Listens at an address. protocol NULL: the defaults. Each request is an IW_EV_CONNECT_REQUEST.
 * While backlog requests wait for the peer or for an answer, further TCP connections wait in the
 * system's queue; over SCTP further sessions of an association are refused (RFC 5043 6.4).
 * Errors as iw_connect, for the local address; IW_E_INVAL also: listen_fd is not a listening TCP
 * socket, or the transport is not tcp; IW_E_OS also: another process listens there. RFC 5044 7.1.
 */
IW_API IW_MUST_CHECK int iw_listen(struct iw_listener **out, struct iw_ctx *ctx,
				   const struct iw_endpoint_attr *at,
				   const struct iw_protocol_attr *protocol, struct iw_fault *why);
/* Returns the TCP or SCTP port of a listener. */
IW_API uint16_t iw_listener_port(const struct iw_listener *l);
/* Returns the UDP port of a listener, or 0 if its SCTP is not in UDP. */
IW_API uint16_t iw_listener_udp_port(const struct iw_listener *l);
/* Returns the address: "127.0.0.1:7471", "[::1]:7471" (owned by l). */
IW_API const char *iw_listener_addr(const struct iw_listener *l);
/*
 * Returns the octets of the library's memory that those SCTP associations of this listener hold
 * which have no open session; over TCP 0. iw_qp_memory counts the other associations.
 */
IW_API size_t iw_listener_memory(const struct iw_listener *l);
#define IW_LISTENER_MEMORY_MAX ((size_t)256 << 20) /* 256 MiB; the default too */
#define IW_LISTENER_MEMORY_MIN ((size_t)1 << 20)   /* 1 MiB */
/*
 * Limits the memory that iw_listener_memory returns. A number of octets below
 * IW_LISTENER_MEMORY_MIN or above IW_LISTENER_MEMORY_MAX sets that limit instead. One peer address
 * may hold a quarter of the limit; an IPv6 /64 network is one address. Above either limit the
 * library aborts the oldest association that holds at least half the average. Over TCP the call
 * does nothing.
 */
IW_API void iw_listener_limit_memory(struct iw_listener *l, size_t octets);
/*
 * Frees a listener. Aborts the requests that were not answered: do not use them afterwards.
 * Accepted connections remain. NULL does nothing.
 */
IW_API void iw_listener_free(struct iw_listener *l);

/*
 * The request of an IW_EV_CONNECT_REQUEST: answer it once, within setup_ns. It is valid until it is
 * answered or its listener is freed; on an adopted connection until qp is freed.
 */
struct iw_req_info {
	const char *peer;            /* "192.0.2.1:40000" (owned by the request) */
	const uint8_t *private_data; /* owned by the request */
	size_t private_data_len;
	uint16_t ird, ord; /* the peer's; 0: its Rev does not carry them */
	uint8_t rev;
	bool crc, markers, peer_to_peer;
};
/* Returns what the peer requests. Makes no system call. */
IW_API void iw_req_info(const struct iw_conn_req *req, struct iw_req_info *info);
/*
 * Accepts a request on qp. IW_EV_ESTABLISHED or IW_EV_CLOSED follows for qp. Post receives before:
 * the peer may send at once. protocol: ird, ord, no_reads and private_data apply; NULL: those of
 * the listener, or of iw_adopt. Consumes req, also when it fails.
 * IW_E_CLOSED, IW_E_TIMEOUT and other errors with which connections end: the peer has closed it, or
 * the answer was too late; IW_E_STATE: qp was used before, or (adopted) the request was answered
 * before; IW_E_INVAL: the Private Data is too long, an impossible protocol, or qp is of another
 * context or not the one that adopted the connection; IW_E_MPA_IRD, IW_E_MPA_RTR: the two ends
 * cannot agree on RDMA Reads or an RTR; IW_E_NOMEM. After an error the connection is closed and qp
 * is unchanged; on an adopted connection the adopting qp ends with the error, and IW_EV_CLOSED
 * follows. RFC 5044 7.1.2, RFC 6581 9.
 */
IW_API IW_MUST_CHECK int iw_accept(struct iw_conn_req *req, struct iw_qp *qp,
				   const struct iw_protocol_attr *protocol, struct iw_fault *why);
/*
 * Selects the congestion control of a request's connection, before iw_accept. Over SCTP it is that
 * of the whole association.
 * IW_E_NOTSUP: cc does not exist here, or the transport has no choice; IW_E_PERM: this process may
 * not choose cc; why lists those that it may choose. IW_E_CLOSED and other errors with which
 * connections end: the connection has ended. After an error nothing has changed, and req is still
 * to be answered.
 */
IW_API IW_MUST_CHECK int iw_req_set_cc(struct iw_conn_req *req, const char *cc,
				       struct iw_fault *why);
/*
 * Rejects a request with a Reply that carries len octets of Private Data (NULL, 0: none). If these
 * are too many, closes the connection without a Reply. Consumes req. On an adopted connection
 * IW_EV_CLOSED with IW_E_REJECTED follows. RFC 5044 7.1.2.
 */
IW_API void iw_reject(struct iw_conn_req *req, const void *private_data, size_t len);

/*
 * Ends the connection gracefully: sends everything that is posted, then a FIN (over SCTP a session
 * Terminate). No more operations can be posted with iw_post_send. This end still receives the
 * peer's data. IW_EV_CLOSED follows when both directions are closed; setup_ns limits the wait for
 * the peer. During set-up the call does what iw_abort does. A queue pair that was never connected
 * ends at once, with IW_EV_CLOSED. Has no effect after the end. RFC 5044 7.2, RFC 5043 6.
 */
IW_API void iw_disconnect(struct iw_qp *qp);
/*
 * Ends the connection at once. Everything outstanding completes with IW_E_CANCELED. No RDMAP
 * Terminate is sent. TCP is reset, so octets of completed operations may be lost. IW_EV_CLOSED
 * follows, also if qp was never connected. Has no effect after the end.
 */
IW_API void iw_abort(struct iw_qp *qp);

enum iw_qp_state { IW_QP_NEW, IW_QP_CONNECTING, IW_QP_ESTABLISHED, IW_QP_CLOSING, IW_QP_CLOSED };

struct iw_qp_info {
	enum iw_qp_state state;
	char local[64], peer[64]; /* addresses */
	uint8_t rev;
	bool crc, tx_markers, rx_markers, large_fpdus;
	uint16_t ird, ord; /* of this end, in force */
	uint16_t peer_ird, peer_ord;
	/* enum iw_rtr; initiator: the form sent; responder: the set agreed on; 0: none */
	uint8_t rtr;
	uint32_t emss, mulpdu;         /* octets, as they are now */
	uint64_t tx_octets, rx_octets; /* of the LLP */
	uint64_t tx_fpdus, rx_fpdus;
	/* payload of Sends, RDMA Writes and Read Responses, octets: passed to the LLP; placed */
	uint64_t tx_payload, rx_payload;
	uint64_t rx_part; /* MPA: octets of an FPDU that is still incomplete, in steps of 512 */
	/* system calls that moved octets, or tried to; over SCTP of all associations of the port */
	uint64_t tx_sends, rx_sends;
	uint64_t retransmits; /* sent again: TCP segments, or DATA chunks of the association */
	/*
	 * Octets that the peer's transport has acknowledged, headers included; over SCTP user data
	 * of the whole association. 0: not known (kernel SCTP).
	 */
	uint64_t tx_acked;
	char cc[16];                 /* congestion control in force; "": not known */
	uint64_t nudges;             /* zero-length RDMA Writes sent for siw_first_fpdu */
	const uint8_t *private_data; /* the peer's, owned by the queue pair */
	size_t private_data_len;
	/* of the context: system calls that waited, or that changed what to wait for */
	uint64_t waits;
};
/*
 * Returns the state and the counters, also after the end of the connection. Over TCP it makes two
 * system calls, for retransmits and cc: do not call it in every turn of a busy loop.
 */
IW_API void iw_qp_info(const struct iw_qp *qp, struct iw_qp_info *info);

#define IW_ASSOC_PATHS 16 /* addresses of the peer that are reported */
/* The association under a queue pair over SCTP. */
struct iw_assoc_info {
	size_t size;         /* sizeof(struct iw_assoc_info), set by the caller */
	uint16_t in, out;    /* streams agreed on */
	uint16_t stream;     /* of this queue pair, the same in both directions (RFC 5043 8) */
	bool indicated;      /* the peer sent an Adaptation Layer Indication (RFC 5061 4.2.6) */
	uint32_t adaptation; /* the indicated value */
	/*
	 * Segments of this queue pair that arrived after one which was sent later: they were
	 * reordered by the network, or lost and sent again (RFC 4737 3.3).
	 */
	uint64_t late;
	uint64_t retransmits; /* of the association: DATA chunks sent again */
	unsigned npaths;      /* addresses of the peer */
	struct iw_assoc_path_info {
		char addr[64];    /* as in iw_qp_info */
		bool active;      /* it has answered, and still answers */
		bool primary;     /* data is sent there */
		uint32_t mtu;     /* path MTU as currently known, octets; 0: not known */
		uint64_t srtt_ns; /* smoothed round-trip time; 0: not measured yet */
	} path[IW_ASSOC_PATHS];
	/*
	 * "xdp": octets sent from memory of iw_xdp_memory_new without a copy, including those sent
	 * again. At a listener, the sum over all its associations.
	 */
	uint64_t in_place_octets;
	/*
	 * "xdp": where the XDP program runs, and how frames reach this process: "native,
	 * zero-copy", "native, copied" or "generic, copied" (static). NULL: another transport.
	 */
	const char *xdp_mode;
};
/*
 * Returns the state of the association while it is up. Over kernel SCTP it makes system calls.
 * IW_E_STATE: no association is up, or the transport is tcp; IW_E_INVAL: info->size.
 */
IW_API IW_MUST_CHECK int iw_qp_assoc(const struct iw_qp *qp, struct iw_assoc_info *info,
				     struct iw_fault *why);
/*
 * Returns what this peer did with memory of this end. Octets are counted as they move, operations
 * when they are complete.
 */
IW_API void iw_qp_tally(const struct iw_qp *qp, struct iw_tally *out);
/*
 * Returns the octets of the library's memory that the queue pair holds now: its queues, its session
 * on an association, and its records of segments that arrived out of order (over SCTP). The first
 * accepted queue pair of a listener's association also counts the memory of that association. The
 * caller's buffers are not counted. Use it to limit the memory that a peer makes this end hold
 * (RFC 5042 6.4).
 */
IW_API size_t iw_qp_memory(const struct iw_qp *qp);

/* ---------------------------------------------------------------- encryption */

#define IW_TLS_PSK_MIN      16   /* psk_len of struct iw_tls_attr, octets */
#define IW_TLS_PSK_MAX      64   /* likewise */
#define IW_TLS_IDENTITY_MAX 128  /* psk_identity, octets */
#define IW_TLS_PIN_LEN      32   /* SHA-256 of a public key */
#define IW_TLS_USES_MAX     4096 /* psk_one_use: connections */

/*
 * The credentials of this end, and what it requires of the peer. Strings and arrays are borrowed
 * during the call. The ways to authenticate the peer:
 *
 *   psk       both ends know a secret; no certificates
 *   pins      the peer's certificate has one of these public keys; nothing else of it is checked
 *   ca_file   the peer's certificate is valid and signed by one of these authorities; connect: it
 *             also has the right name (tls_name of struct iw_endpoint_attr)
 *   none      connect: any certificate is accepted. Compare peer_pin of struct iw_tls_info with the
 *             key that this peer had before, before anything is posted. listen: the peer needs no
 *             certificate, so anyone may connect.
 *
 * pins and ca_file together: the certificate must satisfy both. A listener with psk accepts only
 * peers that use it. A listener without psk needs cert_file.
 */
struct iw_tls_attr {
	size_t size;           /* sizeof(struct iw_tls_attr) */
	const char *cert_file; /* PEM: certificate of this end, and further ones of its chain */
	const char *key_file;  /* PEM: its private key, unencrypted */
	const char *ca_file;   /* PEM: certificates of authorities */
	/* An external PSK (RFC 8446 4.2.11, RFC 9257): IW_TLS_PSK_MIN to IW_TLS_PSK_MAX octets. */
	const uint8_t *psk;
	size_t psk_len;
	const char *psk_identity; /* NULL: "iwarp"; at most IW_TLS_IDENTITY_MAX octets */
	/*
	 * Each connection has a key of its own, derived from psk, with an identity of its own. A
	 * listener accepts each identity once. Both ends must set it. At most IW_TLS_USES_MAX
	 * connections.
	 */
	bool psk_one_use;
	const uint8_t (*pins)[IW_TLS_PIN_LEN]; /* SHA-256 of SubjectPublicKeyInfo in DER */
	size_t npins;
};

/*
 * Creates credentials for any number of connections and listeners of one thread at a time. Reads
 * the files. The caller owns *out.
 * IW_E_NOTSUP: the library was built without OpenSSL; IW_E_INVAL: a file is not what its comment
 * says, the key does not belong to the certificate, the certificate has expired or is not valid
 * yet, cert_file without key_file or the reverse, psk or psk_identity has an impossible length, psk
 * is combined with certificates, psk_one_use without psk;
 * IW_E_NOENT, IW_E_PERM, IW_E_OS: a file cannot be read; IW_E_NOMEM. why names the file.
 */
IW_API IW_MUST_CHECK int iw_tls_new(struct iw_tls **out, const struct iw_tls_attr *attr,
				    struct iw_fault *why);
/* Frees credentials. Connections and listeners that use them keep them. NULL does nothing. */
IW_API void iw_tls_free(struct iw_tls *tls);
/* Sets pin to that of this end's certificate. IW_E_STATE: it has no certificate. */
IW_API IW_MUST_CHECK int iw_tls_own_pin(const struct iw_tls *tls, uint8_t pin[IW_TLS_PIN_LEN]);
/*
 * Adds a key to pins of struct iw_tls_attr, for the handshakes that follow. For a caller that
 * learns the key of a peer with its first connection: the peer of a later one must have it.
 * IW_E_STATE: the credentials use a PSK; IW_E_NOMEM.
 */
IW_API IW_MUST_CHECK int iw_tls_add_pin(struct iw_tls *tls, const uint8_t pin[IW_TLS_PIN_LEN]);

enum iw_tls_auth {
	IW_TLS_AUTH_NONE, /* the peer was not authenticated */
	IW_TLS_AUTH_PSK,  /* it knows the key */
	IW_TLS_AUTH_PIN,  /* its public key is one of pins */
	IW_TLS_AUTH_CA,   /* its certificate was verified */
};
struct iw_tls_info {
	size_t size;           /* sizeof(struct iw_tls_info), set by the caller */
	const char *version;   /* "TLSv1.3", "DTLSv1.2" (static) */
	const char *cipher;    /* the cipher suite, such as "TLS_AES_128_GCM_SHA256" (static) */
	enum iw_tls_auth auth; /* how this end authenticated the peer */
	bool has_peer_pin;     /* the peer has sent a certificate */
	uint8_t peer_pin[IW_TLS_PIN_LEN];
	/* The channel binding tls-exporter (RFC 9266): the same at both ends, and only there. */
	uint8_t binding[32];
};
/*
 * Returns the encryption of a connection, from IW_EV_ESTABLISHED on; of a request at any time.
 * IW_E_STATE: not encrypted, or not established; IW_E_INVAL: info->size.
 */
IW_API IW_MUST_CHECK int iw_qp_tls(const struct iw_qp *qp, struct iw_tls_info *info);
IW_API IW_MUST_CHECK int iw_req_tls(const struct iw_conn_req *req, struct iw_tls_info *info);

/* ---------------------------------------------------------------- asynchronous events */

enum iw_ev_type {
	IW_EV_CONNECT_REQUEST, /* listener, req; on an adopted connection qp, req */
	IW_EV_ESTABLISHED,     /* qp; a completion may be polled before this has been taken */
	/*
	 * qp: the peer rejected the connection; its Private Data is in iw_qp_info, and fault.err is
	 * IW_E_REJECTED. IW_EV_CLOSED follows.
	 */
	IW_EV_REJECTED,
	IW_EV_PEER_CLOSED, /* qp: the peer sends no more (FIN); this end may still send */
	/*
	 * qp: the connection has ended; fault.err is IW_OK for an orderly end. All completions were
	 * queued before. The last event of a qp.
	 */
	IW_EV_CLOSED,
};

struct iw_async_event {
	enum iw_ev_type type;
	struct iw_qp *qp;
	struct iw_listener *listener;
	struct iw_conn_req *req;
	/* REJECTED, CLOSED: the first failure, local or reported by the peer's Terminate */
	struct iw_fault fault;
};
/*
 * Takes the next event. Returns false if no event is pending. The queue pair, the listener and the
 * request in it are those of the event's type (enum iw_ev_type), else NULL.
 */
IW_API bool iw_next_event(struct iw_ctx *ctx, struct iw_async_event *ev);

/* Returns the version of the library, such as "0.1.0" (static). */
IW_API const char *iw_version(void);

#ifdef __cplusplus
}
#endif
#endif
