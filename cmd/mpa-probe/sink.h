/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A responder that accepts everybody and takes what comes: Sends are counted and forgotten, RDMA Reads and
 * Writes of no octets work, others find no memory. For trying other people's initiators, with a
 * personality in front (shim.h).
 *
 * Neighbours: the public API below; mpa-probe above. Threads: none. Waits end when the process was asked
 * to stop (cli/signals.h).
 */
#ifndef IW_PROBE_SINK_H
#define IW_PROBE_SINK_H

#include <stdbool.h>
#include <stdint.h>

#include <iwarp/verbs.h>

#include "mpa-probe/shim.h"

struct iw_probe_sink_cfg {
	struct iw_conn_param conn; /* to listen; strings kept */
	struct iw_shim *shim;      /* in front of each connection (borrowed); NULL: none */
	/*
	 * Connections at once; 0: 256. A request above that is rejected, unless an established connection
	 * has been without payload for yield_ns: then the one that has been so for the longest time is
	 * ended. `once` never ends one for another.
	 */
	uint32_t clients;
	bool once;   /* one connection, or one that is turned away, then no more */
	bool reject; /* rejects each request, with the Private Data of conn */
	/* 0: 10 s for set-up; 30 s without payload, then a connection is ended */
	uint64_t setup_ns, idle_ns;
	uint64_t yield_ns;                                /* at most idle_ns; 0: 5 s */
	void (*trace)(void *trace_ctx, const char *line); /* as in struct iw_ctx_attr */
	void *trace_ctx;
};

enum iw_probe_sink_news_kind {
	IW_PROBE_SINK_STOPPED, /* asked to stop, or once and done */
	IW_PROBE_SINK_UP,
	IW_PROBE_SINK_LEFT, /* fault says how: err 0 as it should be */
};

struct iw_probe_sink_news {
	enum iw_probe_sink_news_kind kind;
	struct iw_qp_info info; /* UP, LEFT; its private_data until the next call */
	uint64_t sends, octets; /* LEFT: that were received */
	struct iw_fault fault;  /* LEFT */
};

struct iw_probe_sink;

/* Listens. IW_E_NOMEM, or what iw_listen says. cfg is copied. */
IW_MUST_CHECK int iw_probe_sink_new(struct iw_probe_sink **out, const struct iw_probe_sink_cfg *cfg,
				    struct iw_fault *why);
/* "127.0.0.1:7471" (owned), and the port. */
const char *iw_probe_sink_addr(const struct iw_probe_sink *s);
uint16_t iw_probe_sink_port(const struct iw_probe_sink *s);
/* Serves until there is something to tell: 0 and *news. Negative: it cannot go on. */
IW_MUST_CHECK int iw_probe_sink_next(struct iw_probe_sink *s, struct iw_probe_sink_news *news,
				     struct iw_fault *why);
/* NULL is fine. */
void iw_probe_sink_free(struct iw_probe_sink *s);

#endif
