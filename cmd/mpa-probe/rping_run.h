/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rping's conversation (mpa-probe/rping.h) from the first packet to the last: a client that connects, or a server that listens, with
 * connection, loop and time-outs.
 *
 * Neighbours: mpa-probe/rping.h and the public API below, mpa-probe above. Threads: none. Waits have deadlines, and end when the process was
 * asked to stop (cli/signals.h).
 */
#ifndef IW_PROBE_RPING_RUN_H
#define IW_PROBE_RPING_RUN_H

#include "mpa-probe/rping.h"
#include "mpa-probe/shim.h"

struct iw_rping_run_cfg {
	struct iw_rping_cfg ping;
	/* to connect or to listen; strings and private_data kept. rping's own IRD and ORD are 1 */
	struct iw_conn_param conn;
	struct iw_shim *shim; /* server: in front of each connection (borrowed); NULL: none */
	/*
	 * server: connections at once, at most 32; 0: 32. A request above that is rejected, unless an
	 * established connection has made no progress for yield_ns: then the one that has made none for
	 * the longest time is ended. `once` never ends one for another.
	 */
	uint32_t clients;
	uint64_t yield_ns; /* server: at most timeout_ns; 0: 5 s */
	/* server: one conversation, or a client turned away, then no more */
	bool once;
	bool report_rounds; /* IW_RPING_RUN_ROUND after each */
	/*
	 * 0: 10 s for set-up, 30 s without progress. Then a connection is ended. Progress is a complete
	 * message of rping; a server also counts octets of payload.
	 */
	uint64_t setup_ns, timeout_ns;
	void (*trace)(void *trace_ctx, const char *line); /* as in struct iw_ctx_attr */
	void *trace_ctx;
};

enum iw_rping_run_news_kind {
	/* the client is done, the server's `once` is, or the process was asked to stop */
	IW_RPING_RUN_STOPPED,
	IW_RPING_RUN_UP,    /* a connection */
	IW_RPING_RUN_ROUND, /* a round is complete */
	IW_RPING_RUN_LEFT,  /* a connection is over; fault says how: err 0 as it should be */
};

struct iw_rping_run_news {
	enum iw_rping_run_news_kind kind;
	uint64_t setup_ns;             /* UP, client: from the call to here */
	struct iw_rping_result result; /* ROUND, LEFT */
	struct iw_qp_info info;        /* UP, LEFT; owned, until the next call */
	struct iw_fault fault;         /* LEFT */
};

struct iw_rping_run;

/* Begins to connect or to listen. IW_E_INVAL, IW_E_NOMEM, or what iw_connect and iw_listen say.
 * cfg is copied. */
IW_MUST_CHECK int iw_rping_run_new(struct iw_rping_run **out, const struct iw_rping_run_cfg *cfg,
				   struct iw_fault *why);
/* Server: "127.0.0.1:7174" (owned), and the port. */
const char *iw_rping_run_addr(const struct iw_rping_run *run);
uint16_t iw_rping_run_port(const struct iw_rping_run *run);
/*
 * Goes on until there is something to tell: 0 and *news; after IW_RPING_RUN_STOPPED nothing more comes. Negative: the polling itself, or making
 * what a new connection needs, has failed.
 */
IW_MUST_CHECK int iw_rping_run_next(struct iw_rping_run *run, struct iw_rping_run_news *news,
				    struct iw_fault *why);
/* A client's connection: when it was up, and when it was over; private_data is not to be used. */
struct iw_rping_run_outcome {
	struct iw_rping_run_news up, left;
};
/* Client: until it is done, logging each round that is told. *out, and errors, as of iw_rping_run_next. */
IW_MUST_CHECK int iw_rping_run_to_end(struct iw_rping_run *run, struct iw_rping_run_outcome *out,
				      struct iw_fault *why);
/* NULL is fine. */
void iw_rping_run_free(struct iw_rping_run *run);

#endif
