/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libiwarp: RDMA in user space over MPA/TCP (RFC 5040, 5041, 5044, 6581), in the vocabulary of verbs.
 *
 *   context -> protection domain -> memory region (STag)
 *           -> completion queue
 *           -> listener -> connection request -> queue pair (one connection, one DDP stream)
 *
 * A work request is posted, its completion is polled; what happens to connections arrives as asynchronous events that
 * are polled too. No callbacks, no threads of its own, no signals, no output, no process-wide state.
 *
 * Threads: a context and everything made from it belongs to one thread at a time. Contexts are independent of each other.
 * Progress: is made inside iw_progress, iw_cq_poll and iw_cq_wait only. For other people's event loops iw_ctx_fd and iw_cq_fd
 * are descriptors that become readable when such a call has something to do.
 * Deadlines: every wait inside has one (struct iw_ctx_attr); a connection that makes no progress for stall_ns while something is
 * outstanding ends with IW_E_TIMEOUT.
 * Ownership words: borrowed (until the call returns), kept (leave it untouched until the completion), owned (the object's own).
 * All times are nanoseconds, all sizes octets.
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

/* ---------------------------------------------------------------- context */

struct iw_ctx_attr {
	size_t size; /* sizeof(struct iw_ctx_attr) */
	/*
	 * Limits connection and MPA set-up; after our FIN the wait for the peer's next octet or
	 * FIN; over SCTP the time that a listener keeps an association without a session. 0: 10 s.
	 */
	uint64_t setup_ns;
	/* no progress while something is outstanding; zero-length RDMA Writes and Reads of the peer's
	 * are none. 0: 30 s */
	uint64_t stall_ns;
	/* iw_cq_wait polls that long before it sleeps: latency for CPU time; 0: none */
	uint64_t spin_ns;
	/* One line of JSON (no newline) per protocol event, for plots and labs; NULL: none. Called inside progress; must not call
	 * the library. */
	void (*trace)(void *trace_ctx, const char *line);
	void *trace_ctx;
};

/* attr NULL: defaults. IW_E_NOMEM, IW_E_OS: why says which step. */
IW_API IW_MUST_CHECK int iw_ctx_new(struct iw_ctx **out, const struct iw_ctx_attr *attr,
				    struct iw_fault *why);
/* Frees everything made from the context as well; connections still up are aborted (iw_abort). Over SCTP it blocks until the peers
 * have confirmed the shutdown of their associations (RFC 9260 9.2), at most 3 s for all of the context together, and then aborts the others.
 * NULL does nothing. */
IW_API void iw_ctx_free(struct iw_ctx *ctx);
/* Moves octets and timers, waiting at most timeout_ns for the first of them (0: not at all, negative: no limit of its own, the
 * context's deadlines still end the wait, as a signal does and iw_ctx_wake_fd). Does not wait while there are events or completions to be
 * polled. Returns their number, or a negative error of the polling itself (IW_E_OS). */
IW_API IW_MUST_CHECK int iw_progress(struct iw_ctx *ctx, int64_t timeout_ns);
/* A descriptor (owned) that is readable while events or completions are to be polled or iw_progress has something to do: call
 * iw_progress(ctx, 0) then. IW_E_OS, IW_E_LIMIT (no descriptors). */
IW_API IW_MUST_CHECK int iw_ctx_fd(struct iw_ctx *ctx, struct iw_fault *why);
/* Another descriptor to wake iw_progress and iw_cq_wait when readable (a program's own pipe, a signalfd, a control socket): the wait
 * returns, the descriptor is not read. fd -1: none. Kept until replaced; take it away before it is closed. At most one.
 * IW_E_PERM: it cannot be polled (a regular file), IW_E_OS: it is none; the one before stays. */
IW_API IW_MUST_CHECK int iw_ctx_wake_fd(struct iw_ctx *ctx, int fd);

/* ---------------------------------------------------------------- protection domain, memory
 * region */

IW_API IW_MUST_CHECK int iw_pd_new(struct iw_pd **out, struct iw_ctx *ctx);
/* IW_E_BUSY: a memory region or queue pair of it is left. */
IW_API int iw_pd_free(struct iw_pd *pd);

enum iw_access {
	IW_ACCESS_REMOTE_READ = 1,  /* the peer may RDMA Read from it */
	IW_ACCESS_REMOTE_WRITE = 2, /* the peer may RDMA Write into it */
	/* our own RDMA Reads may place their Responses in it; a Write to it is refused */
	IW_ACCESS_READ_SINK = 4,
};

struct iw_mr_attr {
	/* kept until iw_mr_revoke or the end of the context; not written to without a right that
	 * needs it */
	void *addr;
	size_t len;
	/* Tagged Offset of addr[0]: 0, an address, a file offset: as you like */
	uint64_t to;
	unsigned access; /* set of enum iw_access */
	/* valid on this stream alone; NULL: on every stream of the domain (RFC 5041 8.2) */
	struct iw_qp *qp;
	uint64_t lifetime_ns; /* refused after that; 0: no limit */
	uint32_t uses;        /* operations, then revoked; 0: no limit */
	/*
	 * Refuse (IW_E_BUSY) if a valid region of another protection domain or queue pair overlaps this one
	 * and peers may write to either of them: peers that do not trust each other must not share a
	 * buffer (RFC 5042 6.3.6). The check is made only in this call, against all regions of the context,
	 * in time proportional to their number: set it in every registration for such peers. It compares
	 * addresses: two mappings of one file are not detected.
	 */
	bool exclusive;
};

/* Registers a Tagged Buffer under an unpredictable STag. IW_E_INVAL (no rights, addr NULL with
 * len, to + len wraps), IW_E_NOMEM, IW_E_BUSY (exclusive). */
IW_API IW_MUST_CHECK int iw_mr_reg(struct iw_mr **out, struct iw_pd *pd,
				   const struct iw_mr_attr *attr, struct iw_fault *why);
IW_API uint32_t iw_mr_stag(const struct iw_mr *mr);
/* Revokes and frees: when it returns nothing more is placed there and nothing more is read from there (RFC 5042 6.2.2). The peer's
 * operations that still name the STag end in a Terminate. Safe at any time, also after the peer's Invalidate. */
IW_API void iw_mr_revoke(struct iw_mr *mr);
/* False once the peer has invalidated it, its uses are spent or its life is over. */
IW_API bool iw_mr_valid(const struct iw_mr *mr);

/* What peers did with memory of this side: RDMA Writes into it, RDMA Reads from it. Those of no
 * octets do not count. */
struct iw_tally {
	uint64_t writes, write_octets;
	uint64_t reads, read_octets;
};
/* Of a memory region, by operations that came to their end, from the first call on: call it once behind iw_mr_reg. What was counted
 * stays when the region is not valid any more. */
IW_API void iw_mr_tally(struct iw_mr *mr, struct iw_tally *out);
/*
 * Returns the number of octets at the start of a memory region that the peers' RDMA Writes have filled without a gap. Counting starts with
 * the first call, as for iw_mr_tally. A complete Write is counted if it begins at or before the end of the octets counted so far and its
 * segments arrive in ascending order. Use it when a peer reports that it has filled a buffer (RFC 5042 6.3.2).
 */
IW_API uint64_t iw_mr_written(struct iw_mr *mr);

/* ---------------------------------------------------------------- completion queue */

enum iw_wc_op { IW_WC_SEND, IW_WC_WRITE, IW_WC_READ, IW_WC_RECV };

struct iw_wc {
	uint64_t wr_id;
	struct iw_qp *qp;
	enum iw_wc_op op;
	/* IW_OK, or why it did not happen: IW_E_CANCELED behind the first failure of a
	 * connection */
	int status;
	uint32_t len;     /* received or read octets */
	bool solicited;   /* RECV: Send with Solicited Event */
	bool invalidated; /* RECV: the peer invalidated inval_stag */
	uint32_t inval_stag;
	/* RECV on a queue pair with loans: above 0: the octets lie at data (borrowed until
	 * iw_loan_return), and the posted buffer is as it was; 0: they are in the buffer */
	uint64_t loan;
	const void *data;
};

/* Room for everything posted on the queue pairs that use it is made when they are created: it
 * never overflows. */
IW_API IW_MUST_CHECK int iw_cq_new(struct iw_cq **out, struct iw_ctx *ctx);
/* IW_E_BUSY: a queue pair uses it. */
IW_API int iw_cq_free(struct iw_cq *cq);
/* Makes progress without waiting when the queue is empty, then takes up to n completions.
 * Returns how many. */
IW_API IW_MUST_CHECK int iw_cq_poll(struct iw_cq *cq, struct iw_wc *wc, int n);
/* As iw_progress(timeout_ns), but returns as soon as this queue holds a completion or the context an event: 1; 0: time ran out, a signal
 * came, or the descriptor of iw_ctx_wake_fd is readable. IW_E_OS. */
IW_API IW_MUST_CHECK int iw_cq_wait(struct iw_cq *cq, int64_t timeout_ns);
/* A descriptor (owned) that is readable while the queue holds completions or iw_cq_poll could make progress. Events are not told by it: take
 * them as well after each iw_cq_poll. IW_E_OS, IW_E_LIMIT (no descriptors). */
IW_API IW_MUST_CHECK int iw_cq_fd(struct iw_cq *cq, struct iw_fault *why);

/* ---------------------------------------------------------------- queue pair */

struct iw_qp_attr {
	size_t size;                     /* sizeof(struct iw_qp_attr) */
	struct iw_cq *send_cq, *recv_cq; /* may be the same; needed */
	uint32_t sq_depth;               /* work requests posted and not completed; 0: 64 */
	uint32_t rq_depth;               /* receives likewise; 0: 64 */
	void *user;                      /* iw_qp_user() gives it back */
	/*
	 * Received Sends may be left where they came, without a copy: see struct iw_wc. Over "xdp", a
	 * Send of 512 octets or more in one DATA chunk of a packet that fits a frame of the UMEM, which
	 * came in its turn. All others are copied, and so is what comes while a quarter of what the
	 * interface's receive ring holds is out (512 packets of a worker where there is one queue).
	 * A receive is used up either way, and the Send must fit its buffer (RFC 5041 5.1). Elsewhere
	 * it has no effect.
	 */
	bool loans;
};

IW_API IW_MUST_CHECK int iw_qp_new(struct iw_qp **out, struct iw_pd *pd,
				   const struct iw_qp_attr *attr, struct iw_fault *why);
/* Aborts a connection that is up (iw_abort); drops its completions not polled yet and its events
 * not taken yet. NULL does nothing. */
IW_API void iw_qp_free(struct iw_qp *qp);
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
	/* no completion when it succeeds; the next one that completes tells */
	IW_WR_QUIET = 8,
};

struct iw_send_wr {
	uint64_t wr_id;
	enum iw_wr_op op;
	unsigned flags;
	/* SEND, WRITE: the octets, up to IW_SGE_MAX pieces (the list is borrowed, the octets are
	 * kept) */
	const struct iw_sge *sge;
	size_t nsge;
	uint32_t inval_stag;
	uint32_t remote_stag; /* WRITE: sink; READ: source */
	uint64_t remote_to;
	const struct iw_mr *sink; /* READ: with IW_ACCESS_READ_SINK; kept until the completion */
	uint64_t sink_to;         /* READ: Tagged Offset within sink */
	uint32_t len;             /* READ: octets */
};

/* Queues one operation. Octets move at the next progress. Completions come in the order of posting (RFC 5040 5.5).
 * IW_E_STATE: not connected, or shut down; IW_E_FULL: sq_depth reached: poll the completion queue; IW_E_INVAL: pieces, length of 2^32 and
 * above, sink without right or too small. ORD is kept by waiting, not by refusing; IW_E_LIMIT: a READ where ORD 0 is in force. */
IW_API IW_MUST_CHECK int iw_post_send(struct iw_qp *qp, const struct iw_send_wr *wr);
/* Queues an Untagged Buffer for one incoming Send (kept). Also before the connection is up.
 * IW_E_FULL, IW_E_STATE. */
IW_API IW_MUST_CHECK int iw_post_recv(struct iw_qp *qp, uint64_t wr_id, void *addr, uint32_t cap);

/* Gives back what a completion lent: loan is that of its iw_wc. Until then, or until the context is freed, its octets
 * stay as they are, also when the queue pair is closed or freed; the interface, with its steering program, is in use as long.
 * Completions that were not polled when their queue pair is freed are given back with it. IW_E_INVAL: given back before, or
 * not of this context. */
IW_API IW_MUST_CHECK int iw_loan_return(struct iw_ctx *ctx, uint64_t loan, struct iw_fault *why);

/* ---------------------------------------------------------------- connections */

enum iw_crc_policy { IW_CRC_WANTED = 0, IW_CRC_REQUIRED, IW_CRC_OFF };
enum iw_rtr { IW_RTR_FORM_SEND = 1, IW_RTR_FORM_WRITE = 2, IW_RTR_FORM_READ = 4 };
#define IW_ORD_NO_NEGOTIATION 0x3fff
/* What is done about something that a peer does wrong. AUTO: when the peer seems to do it. */
enum iw_quirk { IW_QUIRK_AUTO = 0, IW_QUIRK_ON, IW_QUIRK_OFF };
/* What transport "xdp" is to have; where nothing is said, the best that there is. */
enum iw_xdp_want {
	IW_XDP_WANT_NATIVE = 1,     /* the program runs in the driver, or IW_E_NOTSUP */
	IW_XDP_WANT_GENERIC = 2,    /* in the network stack, whatever the driver can */
	IW_XDP_WANT_ZEROCOPY = 4,   /* the driver reads and writes our frames, or IW_E_NOTSUP */
	IW_XDP_WANT_COPY = 8,       /* it never does */
	IW_XDP_WANT_BUSY_POLL = 16, /* this process drives the driver's queues while it waits */
	IW_XDP_WANT_SMALL_FRAMES =
		32, /* of 2,048 octets for any MTU; long packets are of several */
};

/* Zero-initialised is the sensible default: tcp, CRC on, no markers, Rev 2 with fallback to Rev
 * 1, IRD = ORD = 16. */
struct iw_conn_param {
	size_t size; /* sizeof(struct iw_conn_param) */
	/* NULL or "tcp"; "sctp", "udp", "raw", "xdp" answer IW_E_NOTSUP with the reason where
	 * not built */
	const char *transport;
	/* connect: name or address; listen: NULL is loopback, "*" every address */
	const char *host;
	uint16_t port;           /* listen: 0 picks one, see iw_listener_port */
	const char *bind_addr;   /* connect: source address, NULL any */
	const char *interface;   /* NULL any */
	const char *cc;          /* congestion control, NULL the system's */
	uint32_t sndbuf, rcvbuf; /* socket buffers; 0: the system's own tuning */
	/*
	 * 0: 2, falling back to 1; 1 or 2: that one alone (listen: the highest that is accepted);
	 * -1: RDMA Consortium, Rev 0
	 */
	int rev;
	bool rdmac; /* accept RDMA Consortium peers */
	enum iw_crc_policy crc;
	bool markers;      /* demand markers in what we receive */
	bool peer_to_peer; /* the initiator's first frame is an RTR (RFC 6581 9.2) */
	unsigned rtr;      /* set of enum iw_rtr; 0: all three */
	/* inbound and outbound RDMA Reads at once; 0: 16; IW_ORD_NO_NEGOTIATION */
	uint16_t ird, ord;
	bool no_reads; /* IRD = ORD = 0 */
	/* 0: FPDUs fit TCP segments; above: largest ULPDU offered to a peer that is libiwarp too
	 * (512..64768) */
	uint32_t mulpdu;
	uint32_t backlog; /* listen: connection requests waiting for accept; 0: 128 */
	/* borrowed; at most 512 octets less what RFC 6581 and mulpdu need (4 and 8); keep within
	 * 244 for others */
	const void *private_data;
	size_t private_data_len;
	/*
	 * connect: Linux siw as a responder may not notice a first FPDU that comes soon behind its
	 * Reply, until more octets come. AUTO: when 500 ms after what was sent nothing at all has
	 * come from the peer, an RDMA Write of no octets follows, which no program sees; and again
	 * after 1 and 2 s. ON: from 20 ms on, five times, whatever comes: for a siw that speaks
	 * without being asked.
	 */
	enum iw_quirk siw_first_fpdu;
	/*
	 * Over SCTP ("sctp", "udp", "raw"): a queue pair is a DDP stream session (RFC 5043), and an
	 * association carries many. crc, markers, mulpdu, rdmac and siw_first_fpdu are of no account
	 * there, rev 2 means an enhanced session (RFC 6581 7) and rev 1 one of RFC 5043, and
	 * private_data may be 512 octets less 4.
	 */
	uint16_t streams; /* each way; 0: 1000 */
	/* "udp" (RFC 6951): connect: the peer's; listen: ours; 0: 9899. "xdp" as well; 0: straight on IP. */
	uint16_t udp_port;
	unsigned xdp; /* "xdp": set of enum iw_xdp_want */
	const struct iw_qp
		*beside; /* connect: on the association of that one, which was begun here;
				     * NULL: on one of its own */
	/*
	 * The edition of the wire protocols; both ends must use the same one. NULL or "rfc": the
	 * RFCs. "rdmac", over tcp: the RDMA Consortium's (sets rev -1 and rdmac: MPA Rev 0, DDP and
	 * RDMAP version 0). "sctp-draft-02", over SCTP: the draft of August 2005, with other
	 * numbers (ddp-sctp(7)). It has no enhanced sessions: rev 2 and peer_to_peer are
	 * IW_E_INVAL, and rev 0 means 1.
	 */
	const char *profile;
};

/*
 * Memory that transport "xdp" sends from where it lies: what an RDMA Write or a Send takes from there goes without a
 * copy in this process, as a descriptor of its own behind the headers (Linux 6.6, and not in UDP). It is part of the
 * UMEM of param's interface, param->xdp as the connections there will have it, so it must be had before the first of
 * them; the steering program stays attached until it is freed. len: up to 1 GiB, of locked memory; zeroes at first.
 * All connections of this process on that interface, of whatever context, share the UMEM, and so each of them sends from
 * it: one piece for all of them, and any number of regions and work requests in it. A connection on another interface
 * copies what it sends from there. Else it is memory like any other: register it, receive into it.
 * IW_E_INVAL: no interface, len; IW_E_BUSY: this process has such memory on the interface already (share that among
 * contexts, or have one piece that is as long as all of them), or connections (close them first): the UMEM cannot
 * grow; IW_E_LIMIT: locked memory; others as iw_connect.
 */
struct iw_xdp_memory;
IW_API IW_MUST_CHECK int iw_xdp_memory_new(struct iw_xdp_memory **out,
					   const struct iw_conn_param *param, size_t len,
					   struct iw_fault *why);
/* Borrowed, page-aligned. */
IW_API void *iw_xdp_memory_addr(struct iw_xdp_memory *m);
/* After that it must not be touched. Connections that still send from it keep it until they are closed. NULL does
 * nothing. */
IW_API void iw_xdp_memory_free(struct iw_xdp_memory *m);

/* Starts to connect; IW_EV_ESTABLISHED, IW_EV_REJECTED or IW_EV_CLOSED follows within the context's setup_ns. Where a host has several addresses
 * they are tried in turn. With rev 0 a peer that does not know Rev 2 is tried once more with Rev 1, unseen (not with peer_to_peer,
 * which Rev 1 does not have). Name resolution may block (addresses do not).
 * After an error nothing has begun and qp is as before: IW_E_STATE: qp was used before; IW_E_INVAL, IW_E_NOTSUP, IW_E_PERM, IW_E_NOENT, IW_E_LIMIT,
 * IW_E_NOMEM, IW_E_OS: why tells (a refusal that is known at once is one of them). */
IW_API IW_MUST_CHECK int iw_connect(struct iw_qp *qp, const struct iw_conn_param *param,
				    struct iw_fault *why);
struct iw_adopt {
	size_t size; /* sizeof(struct iw_adopt) */
	int fd;      /* a connected TCP socket, borrowed until IW_EV_ESTABLISHED or IW_EV_CLOSED */
	bool responder;     /* waits for the peer's MPA Request; else sends one */
	const void *octets; /* responder: octets of that Request already read (borrowed) */
	size_t len;
};
/*
 * Sets up RDMA on a TCP connection that already carries octets of the program's own protocol, at an
 * octet on which both programs have agreed (RFC 5044 7.1, RFC 5045 6.9.2): one of them is the
 * initiator, the other one the responder. The program must have read all octets that the peer sent
 * before its MPA frame, and must have no pending output. param: the fields of the transport are
 * ignored. There is no second attempt with Rev 1, because that needs another connection.
 * A responder gets IW_EV_CONNECT_REQUEST with qp and req, which belongs to qp, and answers it with
 * iw_accept on that qp, or with iw_reject.
 * The library uses a duplicate of fd. After IW_EV_ESTABLISHED the queue pair owns the connection:
 * close fd. After an IW_EV_CLOSED without IW_EV_ESTABLISHED, call iw_adopt_streaming: the connection
 * continues without RDMA if either end rejected it. setup_ns limits each wait.
 * After an error nothing has been sent, and qp and fd are unchanged: IW_E_STATE: qp was used before;
 * IW_E_INVAL: fd, octets or param; IW_E_MPA_FRAME: the octets are not an MPA Request; IW_E_NOMEM,
 * IW_E_OS.
 */
IW_API IW_MUST_CHECK int iw_adopt(struct iw_qp *qp, const struct iw_adopt *how,
				  const struct iw_conn_param *param, struct iw_fault *why);
/*
 * After IW_EV_CLOSED of an adopted connection. 0: both ends are in streaming mode, and the program
 * continues with fd: either end rejected RDMA (initiator: after IW_EV_REJECTED; responder: after its
 * iw_reject, with IW_E_REJECTED in IW_EV_CLOSED), or a responder got no valid MPA Request and has
 * sent nothing. *octets (owned by qp): the len octets that were read from fd and are not a Request;
 * they come before the octets that are still to be read from fd.
 * IW_E_STATE: RDMA was set up, set-up failed half-way, or a Request was not answered: close fd.
 */
IW_API IW_MUST_CHECK int iw_adopt_streaming(const struct iw_qp *qp, const void **octets,
					    size_t *len);
/* Errors as of iw_connect. While backlog requests wait for the peer or for an answer, further
 * connections wait in the system's queue. */
IW_API IW_MUST_CHECK int iw_listen(struct iw_listener **out, struct iw_ctx *ctx,
				   const struct iw_conn_param *param, struct iw_fault *why);
IW_API uint16_t iw_listener_port(const struct iw_listener *l);
/* "127.0.0.1:7471", "[::1]:7471" (owned) */
IW_API const char *iw_listener_addr(const struct iw_listener *l);
/*
 * Returns the octets of the library's memory that the SCTP associations of this listener without
 * an open session hold now. Over TCP 0. iw_qp_memory counts the others.
 */
IW_API size_t iw_listener_memory(const struct iw_listener *l);
/*
 * Limits that memory. Default and maximum: 256 MiB; minimum: 1 MiB. One peer address may hold a
 * quarter of the limit; an IPv6 /64 network is one address. Above a limit the oldest association
 * that holds at least half the average is aborted. Over TCP it does nothing.
 */
IW_API void iw_listener_limit_memory(struct iw_listener *l, size_t octets);
/* Requests not answered yet are dropped and must not be used any more; accepted connections
 * stay. NULL does nothing. */
IW_API void iw_listener_free(struct iw_listener *l);

/* The request of an IW_EV_CONNECT_REQUEST: answer it once, within setup_ns. On an adopted connection
 * it is valid until qp is freed. */
struct iw_req_info {
	const char *peer;            /* "192.0.2.1:40000" (owned by the request) */
	const uint8_t *private_data; /* owned by the request */
	size_t private_data_len;
	uint16_t ird, ord; /* the peer's; 0 when its Rev does not say */
	uint8_t rev;
	bool crc, markers, peer_to_peer;
};
IW_API void iw_req_info(const struct iw_conn_req *req, struct iw_req_info *info);
/*
 * Consumes req, also when it fails. param: ird, ord, no_reads, cc, private_data apply; NULL: the
 * listener's, or those of iw_adopt. IW_EV_ESTABLISHED or IW_EV_CLOSED follows for qp. Receives should
 * have been posted before: the peer may send at once.
 * After an error the connection is closed and qp is unchanged; on an adopted connection the adopting
 * qp ends with the error, and IW_EV_CLOSED follows. IW_E_CLOSED, IW_E_TIMEOUT and others that
 * connections end with: the peer has closed it, or the answer was too late; IW_E_STATE: qp was
 * used before; IW_E_INVAL: the Private Data is too long, qp is of another context or not the one that
 * adopted the connection; IW_E_NOTSUP, IW_E_PERM: cc.
 */
IW_API IW_MUST_CHECK int iw_accept(struct iw_conn_req *req, struct iw_qp *qp,
				   const struct iw_conn_param *param, struct iw_fault *why);
/* Consumes req. Private Data that is too long closes the connection without a Reply. On an adopted
 * connection IW_EV_CLOSED with IW_E_REJECTED follows. */
IW_API void iw_reject(struct iw_conn_req *req, const void *private_data, size_t len);

/* Graceful: everything posted is sent, then FIN; the peer's data is still received. Posting sends ends. IW_EV_CLOSED follows when both
 * directions are closed. */
IW_API void iw_disconnect(struct iw_qp *qp);
/* At once; everything outstanding completes with IW_E_CANCELED. A Terminate is not sent; TCP is reset, so that octets of operations that have
 * completed may not arrive any more. IW_EV_CLOSED follows. */
IW_API void iw_abort(struct iw_qp *qp);

enum iw_qp_state { IW_QP_NEW, IW_QP_CONNECTING, IW_QP_ESTABLISHED, IW_QP_CLOSING, IW_QP_CLOSED };

struct iw_qp_info {
	enum iw_qp_state state;
	char local[64], peer[64]; /* addresses */
	uint8_t rev;
	bool crc, tx_markers, rx_markers, large_fpdus;
	uint16_t ird, ord; /* in force */
	uint16_t peer_ird, peer_ord;
	/* initiator: the form sent, responder: the set agreed on, enum iw_rtr; 0: none */
	uint8_t rtr;
	uint32_t emss, mulpdu;         /* of this moment */
	uint64_t tx_octets, rx_octets; /* of the LLP */
	uint64_t tx_fpdus, rx_fpdus;
	/* octets of Sends, RDMA Writes and Read Responses, without headers: taken by the LLP, placed */
	uint64_t tx_payload, rx_payload;
	uint64_t rx_part; /* MPA: octets of an FPDU that is still incomplete, in steps of 512 */
	/* system calls that moved octets, or tried to; over SCTP those of the port, which all of its
	 * associations share */
	uint64_t tx_sends, rx_sends;
	uint64_t retransmits;        /* TCP segments sent again */
	char cc[16];                 /* congestion control in force; "" not known */
	uint64_t nudges;             /* RDMA Writes of no octets that siw_first_fpdu was good for */
	const uint8_t *private_data; /* the peer's, owned by the queue pair */
	size_t private_data_len;
	uint64_t waits; /* of the context: system calls that waited, or told the kernel what for */
};
/* Makes two system calls for the last two fields: not for every turn of a busy loop. */
IW_API void iw_qp_info(const struct iw_qp *qp, struct iw_qp_info *info);

#define IW_ASSOC_PATHS 16
/* The association under a queue pair over SCTP. */
struct iw_assoc_info {
	size_t size;         /* sizeof(struct iw_assoc_info), set by the caller */
	uint16_t in, out;    /* streams agreed on */
	uint16_t stream;     /* that of this queue pair, the same both ways (RFC 5043 8) */
	bool indicated;      /* the peer sent an Adaptation Layer Indication (RFC 5061 4.2.6) */
	uint32_t adaptation; /* that one */
	/* segments of this queue pair that came behind one which was sent later: reordered on the way, or
	 * lost and sent again (RFC 4737 3.3) */
	uint64_t late;
	uint64_t retransmits; /* of the association: DATA chunks sent again */
	unsigned npaths;      /* addresses of the peer */
	struct iw_assoc_path_info {
		char addr[64];    /* as in iw_qp_info */
		bool active;      /* it has answered, and answers */
		bool primary;     /* data goes there */
		uint32_t mtu;     /* path MTU as it is known now, octets; 0: not known */
		uint64_t srtt_ns; /* smoothed round-trip time; 0: not measured yet */
	} path[IW_ASSOC_PATHS];
	/* "xdp": octets that went from memory of iw_xdp_memory_new by descriptors that name it, those sent again
	 * included: the copies that were not made. Of a listener those of all its associations. */
	uint64_t in_place_octets;
};
/* While the association is up. IW_E_STATE: there is none; IW_E_INVAL: size. Makes system calls where the
 * kernel has the association. */
IW_API IW_MUST_CHECK int iw_qp_assoc(const struct iw_qp *qp, struct iw_assoc_info *info);
/* What this peer did with memory of this side: octets as they move, operations when they came to
 * their end. */
IW_API void iw_qp_tally(const struct iw_qp *qp, struct iw_tally *out);
/*
 * Octets of the library's memory that the queue pair holds now: its queues, its session on an
 * association, its records of segments that arrived out of order (over SCTP), and for the first
 * accepted queue pair of a listener's association the memory of that association. Not the caller's
 * buffers. For limits on what a peer makes this side hold (RFC 5042 6.4).
 */
IW_API size_t iw_qp_memory(const struct iw_qp *qp);

/* ---------------------------------------------------------------- asynchronous events */

enum iw_ev_type {
	IW_EV_CONNECT_REQUEST, /* listener, req; on an adopted connection qp, req */
	IW_EV_ESTABLISHED,     /* qp; a completion may be polled before this has been taken */
	/* qp: the peer's Private Data is in iw_qp_info; fault says IW_E_REJECTED. IW_EV_CLOSED
	 * follows. */
	IW_EV_REJECTED,
	IW_EV_PEER_CLOSED, /* qp: the peer sends no more (FIN); we still may */
	/* qp: over; fault.err is IW_OK for an orderly end. All completions were queued before
	 * it. Last event of a qp. */
	IW_EV_CLOSED,
};

struct iw_async_event {
	enum iw_ev_type type;
	struct iw_qp *qp;
	struct iw_listener *listener;
	struct iw_conn_req *req;
	/* REJECTED, CLOSED: the first failure, local or told by the peer's Terminate */
	struct iw_fault fault;
};
/* False when there is none. */
IW_API bool iw_next_event(struct iw_ctx *ctx, struct iw_async_event *ev);

/* "0.1.0" */
IW_API const char *iw_version(void);

#ifdef __cplusplus
}
#endif
#endif
