/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A responder that accepts every connection and discards what it receives: it counts Sends, and
 * answers zero-length RDMA Reads and Writes. Other Reads and Writes fail, since it registers no
 * memory. It tests initiators of other implementations, with a personality in front (shim.h).
 *
 * It starts no thread. Each wait ends when the process is asked to stop (cli/signals.h).
 */
#ifndef IW_MPA_PROBE_SINK_H
#define IW_MPA_PROBE_SINK_H

#include <stdbool.h>
#include <stdint.h>

#include <iwarp/verbs.h>

#include "cli/param.h"
#include "mpa-probe/shim.h"

struct iw_probe_sink_cfg {
	struct iw_cli_param conn; /* to listen; its strings are kept */
	struct iw_shim *shim;     /* in front of each connection (borrowed); NULL: no shim */
	/*
	 * Connections at once; 0: 256. At the limit a request is rejected, unless an established
	 * connection has received no payload for yield_ns. Then the connection that has received
	 * none for the longest time is ended. With `once`, no connection is ended for another one.
	 */
	uint32_t clients;
	bool once;   /* stops after one connection, or one that was turned away */
	bool reject; /* rejects each request, with the Private Data of conn */
	/*
	 * Time limits for set-up, and without payload, after which a connection is ended; 0: 10 s,
	 * 30 s.
	 */
	uint64_t setup_ns, idle_ns;
	uint64_t yield_ns;                                /* at most idle_ns; 0: 5 s */
	void (*trace)(void *trace_ctx, const char *line); /* as in struct iw_ctx_attr */
	void *trace_ctx;
};

enum iw_probe_sink_news_kind {
	IW_PROBE_SINK_STOPPED, /* the process was asked to stop, or `once` is done */
	IW_PROBE_SINK_UP,
	IW_PROBE_SINK_LEFT, /* fault.err is 0 if the connection ended in order */
};

struct iw_probe_sink_news {
	enum iw_probe_sink_news_kind kind;
	struct iw_tls_info tls; /* UP, LEFT; version NULL: not encrypted */
	struct iw_qp_info info; /* UP, LEFT; its private_data is valid until the next call */
	uint64_t sends, octets; /* LEFT: Sends received, and their payload */
	struct iw_fault fault;  /* LEFT */
};

struct iw_probe_sink;

/* Begins to listen. cfg is copied. Returns 0 and *out, IW_E_NOMEM, or an error of iw_listen(). */
IW_MUST_CHECK int iw_probe_sink_new(struct iw_probe_sink **out, const struct iw_probe_sink_cfg *cfg,
				    struct iw_fault *why);
/* Return "127.0.0.1:7471" (owned), and the port. */
const char *iw_probe_sink_addr(const struct iw_probe_sink *s);
uint16_t iw_probe_sink_port(const struct iw_probe_sink *s);
/* Serves until there is news. Returns 0 and *news, or an error of polling. */
IW_MUST_CHECK int iw_probe_sink_next(struct iw_probe_sink *s, struct iw_probe_sink_news *news,
				     struct iw_fault *why);
/* NULL is allowed. */
void iw_probe_sink_free(struct iw_probe_sink *s);

#endif
