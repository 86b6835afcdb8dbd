/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs the conversation of rping (rping.h) with its connections, loop and time limits: a client
 * that connects, or a server that listens.
 *
 * It starts no thread. Each wait has a limit, and ends when the process is asked to stop
 * (cli/signals.h).
 */
#ifndef IW_MPA_PROBE_RPING_RUN_H
#define IW_MPA_PROBE_RPING_RUN_H

#include "cli/param.h"
#include "cli/secure.h"
#include "mpa-probe/rping.h"
#include "mpa-probe/shim.h"

struct iw_rping_run_cfg {
	struct iw_rping_cfg ping;
	/*
	 * To connect or to listen. Strings and private_data are kept. rping itself uses IRD and
	 * ORD 1.
	 */
	struct iw_cli_param conn;
	struct iw_cli_secure *secure; /* client: for the key of the server; NULL: plain */
	struct iw_shim *shim; /* server: in front of each connection (borrowed); NULL: no shim */
	/*
	 * Server: connections at once, at most 32; 0: 32. At the limit a request is rejected,
	 * unless an established connection has made no progress for yield_ns. Then the connection
	 * that has made none for the longest time is ended. With `once`, no connection is ended for
	 * another one.
	 */
	uint32_t clients;
	uint64_t yield_ns; /* server: at most timeout_ns; 0: 5 s */
	/* server: stops after one conversation, or after one client that was turned away */
	bool once;
	bool report_rounds; /* report each round (IW_RPING_RUN_ROUND) */
	/*
	 * Time limits for set-up, and for progress; 0: 10 s, 30 s. A connection that exceeds its
	 * limit is ended. A complete message of rping is progress; for a server, so is any payload.
	 */
	uint64_t setup_ns, timeout_ns;
	void (*trace)(void *trace_ctx, const char *line); /* as in struct iw_ctx_attr */
	void *trace_ctx;
};

enum iw_rping_run_news_kind {
	/* the client or, with `once`, the server has finished, or the process was asked to stop */
	IW_RPING_RUN_STOPPED,
	IW_RPING_RUN_UP,    /* a connection is established */
	IW_RPING_RUN_ROUND, /* a round is complete */
	IW_RPING_RUN_LEFT,  /* a connection has ended; fault.err is 0 if it ended in order */
};

struct iw_rping_run_news {
	enum iw_rping_run_news_kind kind;
	uint64_t setup_ns;             /* UP, client: time from iw_rping_run_new() */
	struct iw_rping_result result; /* ROUND, LEFT */
	struct iw_tls_info tls;        /* UP, LEFT; version NULL: not encrypted */
	struct iw_qp_info info; /* UP, LEFT; private_data is owned and valid until the next call */
	struct iw_fault fault;  /* LEFT */
};

struct iw_rping_run;

/*
 * Begins to connect or to listen. cfg is copied. Returns 0 and *out, or
 *  - IW_E_INVAL: invalid size or parameters;
 *  - IW_E_NOMEM;
 *  - others: of iw_connect() or iw_listen().
 */
IW_MUST_CHECK int iw_rping_run_new(struct iw_rping_run **out, const struct iw_rping_run_cfg *cfg,
				   struct iw_fault *why);
/* Server: return "127.0.0.1:7174" (owned), and the port. */
const char *iw_rping_run_addr(const struct iw_rping_run *run);
uint16_t iw_rping_run_port(const struct iw_rping_run *run);
/*
 * Runs until there is news. Returns 0 and *news; nothing follows IW_RPING_RUN_STOPPED. Returns an
 * error if polling fails, or if a new connection cannot be allocated.
 */
IW_MUST_CHECK int iw_rping_run_next(struct iw_rping_run *run, struct iw_rping_run_news *news,
				    struct iw_fault *why);
/* News of a client's connection: established, ended. private_data is no longer valid. */
struct iw_rping_run_outcome {
	struct iw_rping_run_news up, left;
};
/*
 * Client: runs until it has finished, and logs each round reported. Returns 0 and *out, or an error
 * of iw_rping_run_next().
 */
IW_MUST_CHECK int iw_rping_run_to_end(struct iw_rping_run *run, struct iw_rping_run_outcome *out,
				      struct iw_fault *why);
/* NULL is allowed. */
void iw_rping_run_free(struct iw_rping_run *run);

#endif
