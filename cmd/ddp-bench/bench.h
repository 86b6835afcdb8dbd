/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The measurements of ddp-bench: data from memory to memory between a client and a server, with the
 * public API only.
 *
 * The client connects, requests a run, moves data, and posts MARKs between the data. MARKs are
 * Sends, which are delivered after the data posted before them. The server answers each with a
 * REPORT of its clock, its CPU time and its counts at that moment. All figures are differences
 * between the first and the last MARK; the time between them is the window. Set-up and warm-up
 * precede the first MARK, verification follows the last. The clock is that of the end that receives
 * the data: the server for write, send and rate, the client for read and pingpong. Over several
 * connections and streams (lane.h) the window begins when the last of them has begun, and there is
 * one result for all.
 *
 * Afterwards digests show whether the receiving memory holds what was sent. Messages of at least
 * eight octets contain their number, so that a digest also detects an earlier message in the place
 * of the last one.
 *
 * Threads: none are started. Each wait has a limit, and ends when a signal asks the process to stop
 * (cli/signals.h).
 */
#ifndef IW_DDP_BENCH_BENCH_H
#define IW_DDP_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/verbs.h>

#include "cli/hist.h"
#include "cli/param.h"
#include "cli/secure.h"
#include "ddp-bench/environment.h"
#include "ddp-bench/sample.h"

enum iw_bench_mode {
	IW_BENCH_WRITE,    /* RDMA Writes of the client into the server's memory */
	IW_BENCH_READ,     /* RDMA Reads of the client from the server's memory */
	IW_BENCH_SEND,     /* Sends of the client into buffers that the server posted */
	IW_BENCH_PINGPONG, /* a Send to the server, which sends it back */
	IW_BENCH_RATE,     /* as send; the RUN requests IW_BENCH_SEND */
};
#define IW_BENCH_MODES 5
/* "write", ..., in the order of the enum, then NULL. */
extern const char *const iw_bench_mode_names[IW_BENCH_MODES + 1];

#define IW_BENCH_SIZE_MAX  ((uint64_t)1 << 30)
#define IW_BENCH_DEPTH_MAX 4096
#define IW_BENCH_LANES     1024 /* connections times streams */

/* --- the client --- */

struct iw_bench_cfg {
	enum iw_bench_mode mode;
	/* For iw_connect. The client sets private_data itself, and requests cc from the server,
	 * too. Strings are borrowed until iw_bench_client_free. */
	struct iw_cli_param conn;
	struct iw_cli_secure *secure; /* for the key of the server; NULL: plain */
	uint64_t size;                /* octets of an operation */
	uint32_t depth;               /* operations outstanding on each stream; pingpong: 1 */
	uint32_t connections;         /* connections, over SCTP associations; 0: 1 */
	uint32_t streams;             /* in each association; 0: 1 */
	uint64_t count;       /* operations of all streams in the window; 0: time_ns limits it */
	uint64_t time_ns;     /* length of the window */
	uint64_t warmup_ns;   /* time before the window */
	uint64_t interval_ns; /* between intermediate results; 0: no such results */
	bool verify;
	bool umem; /* over "xdp": the data are in the UMEM and are sent from there */
	bool loan; /* over "xdp": the server reads Sends in the receive buffers, as loans */
	/* Limits of the set-up, and of the time without progress; spin_ns of struct iw_ctx_attr. */
	uint64_t setup_ns, timeout_ns, spin_ns;
	void (*trace)(void *trace_ctx, const char *line); /* as in struct iw_ctx_attr */
	void *trace_ctx;
};

/* Data moved between two successive MARKs, by the counts and the clock of the receiver. */
struct iw_bench_interval {
	uint64_t start_ns, end_ns; /* since the window began */
	uint64_t octets, messages;
};

/* Figures of one end. */
struct iw_bench_end {
	struct iw_bench_sample used; /* in the window; at_ns: its length on the clock of this end */
	char cc[16];                 /* congestion control; "": not known */
	char kernel[65];             /* release of the kernel */
};

enum iw_bench_verdict {
	IW_BENCH_UNCHECKED, /* cfg.verify was false */
	IW_BENCH_GOOD,
	IW_BENCH_BAD, /* the memory differs from what was sent */
};

struct iw_bench_result {
	enum iw_bench_mode mode;
	uint64_t size;
	uint32_t depth, connections, streams;
	uint64_t octets, messages; /* in the window, confirmed by the receiver */
	uint64_t duration_ns;      /* on the receiver's clock */
	bool receiver_is_server;
	/* The most connections and streams that the server had at the same time. Its CPU time is
	 * for all of them. */
	uint64_t server_clients;
	/* Jain's index of the octets of the connections and streams: 1 if all moved as many, 1/n if
	 * one moved all; 0: nothing was moved. */
	double fairness;
	enum iw_bench_verdict verdict;
	char mismatch[160]; /* IW_BENCH_BAD: the difference */
	/* cfg.umem, and the octets that all connections sent without a copy since they began. */
	bool umem;
	uint64_t in_place;
	/* cfg.loan, and the messages in the window that the server read in receive buffers; it
	 * copied the others. */
	bool loan;
	uint64_t loans;
	struct iw_bench_end client, server;
	/*
	 * Times in ns; owned by the client; NULL for other modes. round_trips: of pingpong.
	 * completions: of the other modes, from posting an operation to its completion at the
	 * client.
	 */
	struct iw_hist *round_trips, *completions;
	/* Of the client's first connection at the end of the window; without private_data. */
	struct iw_qp_info info;
	struct iw_tls_info tls;                  /* version NULL: not encrypted */
	struct iw_assoc_info assoc;              /* over SCTP; in is 0 over TCP */
	struct iw_bench_environment environment; /* of the client */
};

struct iw_bench_client;

enum { IW_BENCH_DONE = 0, IW_BENCH_INTERVAL = 1 };

/*
 * Prepares the memory and begins to connect. cfg is copied. The caller owns *out and frees it with
 * iw_bench_client_free. Returns 0, or
 *  - IW_E_INVAL: a value of cfg is not possible;
 *  - IW_E_NOMEM: less memory than cfg needs;
 *  - IW_E_CANCELED: a signal asked the process to stop;
 *  - others: of iw_connect() and iw_xdp_memory_new().
 */
IW_MUST_CHECK int iw_bench_client_new(struct iw_bench_client **out, const struct iw_bench_cfg *cfg,
				      struct iw_fault *why);
/*
 * Runs until there is a result. Returns IW_BENCH_INTERVAL if *iv is filled (call again), or
 * IW_BENCH_DONE if the run is complete and, with cfg.verify, its data are verified; or
 *  - IW_E_REJECTED: the server refused the run;
 *  - IW_E_FORMAT: the peer uses another protocol;
 *  - IW_E_LIMIT: the association has too few streams;
 *  - IW_E_TIMEOUT: no progress for setup_ns or timeout_ns;
 *  - IW_E_CANCELED: a signal asked the process to stop;
 *  - others: of the connection.
 */
IW_MUST_CHECK int iw_bench_client_next(struct iw_bench_client *c, struct iw_bench_interval *iv,
				       struct iw_fault *why);
/* Returns the result after IW_BENCH_DONE. Borrowed until iw_bench_client_free(). */
const struct iw_bench_result *iw_bench_client_result(const struct iw_bench_client *c);
void iw_bench_client_free(struct iw_bench_client *c); /* c may be NULL */

/* --- the server --- */

struct iw_bench_server_cfg {
	/* For iw_listen. Strings are borrowed until iw_bench_server_free. */
	struct iw_cli_param conn;
	uint64_t memory;  /* octets for all clients; 0: half of the machine's memory */
	uint32_t clients; /* connections and streams at the same time, at most; 0: 1024 */
	bool once;        /* stop after one client, with all its connections */
	uint64_t setup_ns, timeout_ns, spin_ns; /* as in struct iw_bench_cfg */
	void (*trace)(void *trace_ctx, const char *line);
	void *trace_ctx;
};

/* A client, here, is one connection or stream. */
enum iw_bench_news_kind {
	IW_BENCH_STOPPED,     /* a signal asked the process to stop, or with `once` all is done */
	IW_BENCH_CAME,        /* a client has begun its run; mode, size and depth are valid */
	IW_BENCH_LEFT,        /* a client has ended; fault.err is 0 if in order */
	IW_BENCH_TURNED_AWAY, /* a client was refused, or never began; fault has the reason */
};

struct iw_bench_news {
	enum iw_bench_news_kind kind;
	char peer[64];
	enum iw_bench_mode mode;
	uint64_t size; /* octets of a message */
	uint32_t depth;
	uint64_t rx_octets, tx_octets; /* IW_BENCH_LEFT: octets of the LLP */
	struct iw_fault fault;
};

struct iw_bench_server;

/* Begins to listen. The caller owns *out and frees it with iw_bench_server_free. IW_E_NOMEM;
 * others: of iw_listen(). */
IW_MUST_CHECK int iw_bench_server_new(struct iw_bench_server **out,
				      const struct iw_bench_server_cfg *cfg, struct iw_fault *why);
/* Returns the listener, for its address and ports. Owned by s. */
const struct iw_listener *iw_bench_server_listener(const struct iw_bench_server *s);
/*
 * Serves until there is news, and returns it in *news. Errors: those of iw_cq_wait() and
 * iw_cq_poll(); the server cannot continue then.
 */
IW_MUST_CHECK int iw_bench_server_next(struct iw_bench_server *s, struct iw_bench_news *news,
				       struct iw_fault *why);
void iw_bench_server_free(struct iw_bench_server *s); /* s may be NULL */

#endif
