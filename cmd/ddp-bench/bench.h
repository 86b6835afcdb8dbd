/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The measurements of ddp-bench: data from memory to memory between a client and a server, with the
 * public API only.
 *
 * The client connects, requests a run, moves data, and posts MARKs between the data. MARKs are
 * Sends, which are delivered after the data posted before them. The server answers each with a
 * REPORT of its clock, its CPU time and its counts at that moment. All figures are differences
 * between two MARKs. Set-up and warm-up come before the first MARK, verification follows the last.
 * The clock is that of the end that receives the data: the server for write, send and rate, the
 * client for read and pingpong. Over several connections and streams (lane.h) the window begins
 * when the last of them has begun, and gives one result.
 *
 * Afterwards digests show whether the receiving memory holds what was sent. Messages of at least
 * eight octets carry their number, so that memory which the last message did not write last is
 * detected.
 *
 * It starts no thread. Each wait has a limit, and ends when the process is asked to stop
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
	/* private_data is set here; cc is also requested from the server. Strings are kept. */
	struct iw_cli_param conn;
	uint64_t size;        /* octets of an operation */
	uint32_t depth;       /* operations outstanding on each stream; pingpong: 1 */
	uint32_t connections; /* or associations; 0: 1 */
	uint32_t streams;     /* in each association; 0: 1 */
	uint64_t count;       /* operations of all streams in the window; 0: time_ns limits it */
	uint64_t time_ns;     /* length of the window */
	uint64_t warmup_ns;   /* time before the window */
	uint64_t interval_ns; /* between intermediate results; 0: no such results */
	bool verify;
	bool umem; /* over "xdp": data lie in the UMEM and are sent from there */
	bool loan; /* over "xdp": the server reads Sends in the receive buffers, as loans */
	uint64_t setup_ns, timeout_ns, spin_ns;
	void (*trace)(void *trace_ctx, const char *line); /* as in struct iw_ctx_attr */
	void *trace_ctx;
};

/* Data moved between two MARKs, by the counts and the clock of the receiver. */
struct iw_bench_interval {
	uint64_t start_ns, end_ns; /* since the window began */
	uint64_t octets, messages;
};

/* Figures of one end. */
struct iw_bench_end {
	struct iw_bench_sample used; /* in the window; at_ns is its length on this end's clock */
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
	/*
	 * Most connections and streams of the server at the same time: its CPU time is for all of
	 * them.
	 */
	uint64_t server_clients;
	enum iw_bench_verdict verdict;
	char mismatch[160]; /* BAD: the difference */
	/* umem: octets that all connections sent without a copy since they began. */
	bool umem;
	uint64_t in_place;
	/*
	 * loan: messages in the window that the server read in receive buffers; the others were
	 * copied.
	 */
	bool loan;
	uint64_t loans;
	struct iw_bench_end client, server;
	/*
	 * Times in ns; owned by the client object; may be NULL. round_trips: for pingpong.
	 * completions: for the others, from posting an operation to its completion as seen here.
	 */
	struct iw_hist *round_trips, *completions;
	/* Of the client's first connection at the end of the window; without private_data. */
	struct iw_qp_info info;
	struct iw_assoc_info assoc;              /* over SCTP; in is 0 over TCP */
	struct iw_bench_environment environment; /* of the client */
};

struct iw_bench_client;

enum { IW_BENCH_DONE = 0, IW_BENCH_INTERVAL = 1 };

/*
 * Prepares the memory and begins to connect. cfg is copied, its strings are kept. Returns 0 and
 * *out, or
 *  - IW_E_INVAL: a value of cfg is not possible;
 *  - IW_E_NOMEM;
 *  - others: of iw_connect().
 */
IW_MUST_CHECK int iw_bench_client_new(struct iw_bench_client **out, const struct iw_bench_cfg *cfg,
				      struct iw_fault *why);
/*
 * Runs until there is a result. Returns IW_BENCH_INTERVAL if *iv is filled (call again), or
 * IW_BENCH_DONE if the run is complete and, with cfg.verify, its data are verified; or
 *  - IW_E_REJECTED: the server refused;
 *  - IW_E_FORMAT: the peer uses another protocol;
 *  - IW_E_TIMEOUT: nothing was moved for timeout_ns;
 *  - IW_E_CANCELED: this process was asked to stop;
 *  - others: of the connection.
 */
IW_MUST_CHECK int iw_bench_client_next(struct iw_bench_client *c, struct iw_bench_interval *iv,
				       struct iw_fault *why);
/* Returns the result after IW_BENCH_DONE. Borrowed until iw_bench_client_free(). */
const struct iw_bench_result *iw_bench_client_result(const struct iw_bench_client *c);
void iw_bench_client_free(struct iw_bench_client *c);

/* --- the server --- */

struct iw_bench_server_cfg {
	struct iw_cli_param conn; /* to listen; private_data is set here */
	uint64_t memory;          /* octets for all clients; 0: half of the machine's */
	uint32_t clients;         /* connections and streams at the same time; 0: 1024 */
	bool once;                /* stop after one client with all its connections */
	uint64_t setup_ns, timeout_ns, spin_ns;
	void (*trace)(void *trace_ctx, const char *line);
	void *trace_ctx;
};

enum iw_bench_news_kind {
	IW_BENCH_STOPPED,     /* the process was asked to stop, or `once` is done */
	IW_BENCH_CAME,        /* a client is set up; mode, size and depth are valid */
	IW_BENCH_LEFT,        /* a client has left; fault.err is 0 if in order */
	IW_BENCH_TURNED_AWAY, /* a client was refused, or never began; fault has the reason */
};

struct iw_bench_news {
	enum iw_bench_news_kind kind;
	char peer[64];
	enum iw_bench_mode mode;
	uint64_t size;
	uint32_t depth;
	uint64_t rx_octets, tx_octets; /* LEFT: octets of the LLP */
	struct iw_fault fault;
};

struct iw_bench_server;

IW_MUST_CHECK int iw_bench_server_new(struct iw_bench_server **out,
				      const struct iw_bench_server_cfg *cfg, struct iw_fault *why);
/* Returns the listener, for its address and ports. Owned by s. */
const struct iw_listener *iw_bench_server_listener(const struct iw_bench_server *s);
/*
 * Serves until there is news. Returns 0 and *news, or an error after which the server cannot
 * continue.
 */
IW_MUST_CHECK int iw_bench_server_next(struct iw_bench_server *s, struct iw_bench_news *news,
				       struct iw_fault *why);
void iw_bench_server_free(struct iw_bench_server *s);

#endif
