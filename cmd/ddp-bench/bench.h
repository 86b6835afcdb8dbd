/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What ddp-bench measures: data from memory to memory between a client and a server, over the
 * library's public API alone.
 *
 * The client connects, requests a run, moves data, and posts MARKs between the data: Sends that are
 * delivered after the data posted before them. The server answers each with a REPORT of its clock,
 * its CPU time and its counts at that moment. All figures are differences between two MARKs: set-up
 * and warm-up come before the first, verification follows the last. The clock that applies is that
 * of the end that receives the data: the server for write, send and rate, the client for read and
 * pingpong. Over several connections and streams (lane.h) the
 * window begins when the last of them has begun, and is one result.
 *
 * Afterwards the receiving memory is compared with what was sent, by digest. Messages of eight
 * octets and more carry their number, so that memory that was not written last by the last message
 * shows.
 *
 * Neighbours: the public API below; cmd/ddp-bench.c above, which reads options and writes results.
 * Threads: none. Waits have deadlines, and end when the process was asked to stop (cli/signals.h).
 */
#ifndef IW_BENCH_BENCH_H
#define IW_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/verbs.h>

#include "cli/param.h"
#include "ddp-bench/environment.h"
#include "cli/hist.h"
#include "ddp-bench/sample.h"

enum iw_bench_mode {
	IW_BENCH_WRITE,    /* RDMA Writes of the client into the server's memory */
	IW_BENCH_READ,     /* RDMA Reads of the client from the server's memory */
	IW_BENCH_SEND,     /* Sends of the client into buffers that the server posted */
	IW_BENCH_PINGPONG, /* a Send there, the same one back */
	IW_BENCH_RATE,     /* as send; the server, which is asked for send, does not know it */
};
#define IW_BENCH_MODES 5
/* "write", ...; NULL-terminated, in the order of the enum. */
extern const char *const iw_bench_mode_names[IW_BENCH_MODES + 1];

#define IW_BENCH_SIZE_MAX  ((uint64_t)1 << 30)
#define IW_BENCH_DEPTH_MAX 4096
#define IW_BENCH_LANES     1024 /* connections times streams */

/* --- the client --- */

struct iw_bench_cfg {
	enum iw_bench_mode mode;
	/* private_data is ours; cc is asked of the server as well. Strings kept. */
	struct iw_cli_param conn;
	uint64_t size;        /* octets of an operation */
	uint32_t depth;       /* operations outstanding on each stream; pingpong: 1 */
	uint32_t connections; /* or associations; 0: 1 */
	uint32_t streams;     /* in each association; 0: 1 */
	uint64_t count;       /* operations in the window, of all streams; 0: time_ns counts */
	uint64_t time_ns;     /* length of the window */
	uint64_t warmup_ns;   /* before it */
	uint64_t interval_ns; /* between intermediate results; 0: none */
	bool verify;
	bool umem; /* over "xdp": what is sent lies in the UMEM and is sent from there */
	bool loan; /* over "xdp": the server reads Sends where they came, as loans */
	uint64_t setup_ns, timeout_ns, spin_ns;
	void (*trace)(void *trace_ctx, const char *line); /* as in struct iw_ctx_attr */
	void *trace_ctx;
};

/* What was moved between two MARKs, by the receiver's counts and clock. */
struct iw_bench_interval {
	uint64_t start_ns, end_ns; /* since the window began */
	uint64_t octets, messages;
};

/* Of one end. */
struct iw_bench_end {
	struct iw_bench_sample used; /* in the window; at_ns is its length on this end's clock */
	char cc[16];                 /* congestion control, "" not known */
	char kernel[65];             /* its release */
};

enum iw_bench_verdict {
	IW_BENCH_UNCHECKED, /* cfg.verify was false */
	IW_BENCH_GOOD,
	IW_BENCH_BAD, /* the memory does not hold what was sent */
};

struct iw_bench_result {
	enum iw_bench_mode mode;
	uint64_t size;
	uint32_t depth, connections, streams;
	uint64_t octets, messages; /* in the window, confirmed by the receiver */
	uint64_t duration_ns;      /* on the receiver's clock */
	bool receiver_is_server;
	/* most connections and streams that the server had at once: its CPU time is for all */
	uint64_t server_clients;
	enum iw_bench_verdict verdict;
	char mismatch[160]; /* BAD: what differs */
	/* umem: octets that all connections sent from where they lie, since they began */
	bool umem;
	uint64_t in_place;
	/* loan: messages in the window that the server read where they came; the others were copied */
	bool loan;
	uint64_t loans;
	struct iw_bench_end client, server;
	/* ns; owned by the client object. pingpong: there and back, or NULL; others: from posting an
	 * operation to its completion, as this program sees it, or NULL. */
	struct iw_hist *round_trips, *completions;
	/* of the client's first connection, at the window's end; no private_data */
	struct iw_qp_info info;
	struct iw_assoc_info assoc;              /* over SCTP; in 0: over TCP */
	struct iw_bench_environment environment; /* of the client */
};

struct iw_bench_client;

enum { IW_BENCH_DONE = 0, IW_BENCH_INTERVAL = 1 };

/*
 * Makes the memory ready and begins to connect. IW_E_INVAL: cfg; IW_E_NOMEM; or what iw_connect
 * says. The cfg is copied, its strings are kept.
 */
IW_MUST_CHECK int iw_bench_client_new(struct iw_bench_client **out, const struct iw_bench_cfg *cfg,
				      struct iw_fault *why);
/*
 * Runs until there is a result. IW_BENCH_INTERVAL: *iv is filled; call again. IW_BENCH_DONE: the run is
 * complete, and its data is verified if cfg.verify. Negative: it failed, *why has the reason:
 * IW_E_REJECTED the server refused, IW_E_FORMAT it speaks another protocol, IW_E_TIMEOUT nothing
 * moved for timeout_ns, IW_E_CANCELED this process was asked to stop, others of the connection.
 */
IW_MUST_CHECK int iw_bench_client_next(struct iw_bench_client *c, struct iw_bench_interval *iv,
				       struct iw_fault *why);
/* After IW_BENCH_DONE. Borrowed until the client is freed. */
const struct iw_bench_result *iw_bench_client_result(const struct iw_bench_client *c);
void iw_bench_client_free(struct iw_bench_client *c);

/* --- the server --- */

struct iw_bench_server_cfg {
	struct iw_cli_param conn; /* listen; private_data is ours */
	uint64_t memory;          /* octets for all clients together; 0: half of the machine's */
	uint32_t clients;         /* connections and streams at once; 0: 1024 */
	bool once;                /* one client with all its connections, then no more */
	uint64_t setup_ns, timeout_ns, spin_ns;
	void (*trace)(void *trace_ctx, const char *line);
	void *trace_ctx;
};

enum iw_bench_news_kind {
	IW_BENCH_STOPPED,     /* asked to stop, or --once and done */
	IW_BENCH_CAME,        /* a client is set up; mode, size, depth count */
	IW_BENCH_LEFT,        /* it is gone; fault says how: err 0 orderly */
	IW_BENCH_TURNED_AWAY, /* refused, or never became a client; fault says why */
};

struct iw_bench_news {
	enum iw_bench_news_kind kind;
	char peer[64];
	enum iw_bench_mode mode;
	uint64_t size;
	uint32_t depth;
	uint64_t rx_octets, tx_octets; /* LEFT: of the LLP */
	struct iw_fault fault;
};

struct iw_bench_server;

IW_MUST_CHECK int iw_bench_server_new(struct iw_bench_server **out,
				      const struct iw_bench_server_cfg *cfg, struct iw_fault *why);
/* "127.0.0.1:7471" (owned) */
const char *iw_bench_server_addr(const struct iw_bench_server *s);
uint16_t iw_bench_server_port(const struct iw_bench_server *s);
/* 0: SCTP is not in UDP. */
uint16_t iw_bench_server_udp_port(const struct iw_bench_server *s);
/* Serves until there is news: 0 and *news. Negative: the server cannot continue. */
IW_MUST_CHECK int iw_bench_server_next(struct iw_bench_server *s, struct iw_bench_news *news,
				       struct iw_fault *why);
void iw_bench_server_free(struct iw_bench_server *s);

#endif
