/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One end of a connection through the public API, for tests: a context with a queue pair, and all
 * its events. Two of them in one thread are driven in turn; every wait has a limit.
 */
#ifndef TESTS_VERBS_END_H
#define TESTS_VERBS_END_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <iwarp/verbs.h>

#include "conn_param.h"

#define MS(n)   ((uint64_t)(n)*1000000u)
#define END_WCS 4096

struct end {
	struct iw_ctx *ctx;
	struct iw_pd *pd;
	struct iw_cq *cq; /* for both queues, unless a test creates others */
	struct iw_qp *qp;
	struct iw_listener *listener;
	struct iw_conn_req *req;         /* the latest connection request */
	struct iw_qp *req_qp;            /* its queue pair, on an adopted connection */
	struct iw_fault why;             /* from a failed call */
	unsigned seen[IW_EV_CLOSED + 1]; /* number of events by type */
	struct iw_fault fault;           /* from the last REJECTED or CLOSED */
	/* completions that were polled, or were still queued, when CLOSED was reported */
	unsigned wcs_at_closed;
	struct iw_wc wc[END_WCS];
	unsigned nwc;
	bool hold;          /* completions are not polled */
	bool keep_requests; /* the test answers connection requests */
	const void *answer; /* Private Data of the Reply */
	size_t answer_len;
};

static inline double end_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static inline struct iw_qp *end_add_qp(struct end *e, uint32_t sq, uint32_t rq)
{
	struct iw_qp_attr a = { .size = sizeof(a),
				.send_cq = e->cq,
				.recv_cq = e->cq,
				.sq_depth = sq,
				.rq_depth = rq,
				.user = e };
	struct iw_qp *qp;

	if (iw_qp_new(&qp, e->pd, &a, &e->why) != 0)
		fail_msg("%s", e->why.text);
	return qp;
}

static inline void end_open_with(struct end *e, const struct iw_ctx_attr *attr, uint32_t sq,
				 uint32_t rq)
{
	memset(e, 0, sizeof(*e));
	if (iw_ctx_new(&e->ctx, attr, &e->why) != 0)
		fail_msg("%s", e->why.text);
	assert_int_equal(iw_pd_new(&e->pd, e->ctx), 0);
	assert_int_equal(iw_cq_new(&e->cq, e->ctx), 0);
	e->qp = end_add_qp(e, sq, rq);
}

/* Short time-outs, so that no test waits long. */
static inline void end_open(struct end *e)
{
	struct iw_ctx_attr a = { .size = sizeof(a), .setup_ns = MS(2000), .stall_ns = MS(2000) };

	end_open_with(e, &a, 0, 0);
}

static inline void end_close(struct end *e)
{
	iw_ctx_free(e->ctx);
	e->ctx = NULL;
}

static inline void end_listen_with(struct end *e, struct conn_param p)
{
	p.at.size = sizeof(p.at);
	p.protocol.size = sizeof(p.protocol);
	if (iw_listen(&e->listener, e->ctx, &p.at, &p.protocol, &e->why) != 0)
		fail_msg("%s", e->why.text);
}

static inline void end_accept(struct end *e)
{
	struct conn_param p = { CONN_PARAM_SIZES, .protocol.private_data = e->answer,
				.protocol.private_data_len = e->answer_len };

	if (iw_accept(e->req, e->qp, &p.protocol, &e->why) != 0)
		fail_msg("%s", e->why.text);
	e->req = NULL;
}

static inline void end_take(struct end *e)
{
	struct iw_async_event ev;
	int n = 0;

	while (!e->hold && e->nwc < END_WCS && (n = iw_cq_poll(e->cq, &e->wc[e->nwc], 1)) > 0)
		e->nwc += (unsigned)n;
	assert_true(n >= 0);
	while (iw_next_event(e->ctx, &ev)) {
		e->seen[ev.type]++;
		if (ev.type == IW_EV_REJECTED || ev.type == IW_EV_CLOSED)
			e->fault = ev.fault;
		if (ev.type == IW_EV_CLOSED) {
			/* All completions were queued before this event. */
			while (!e->hold && e->nwc < END_WCS &&
			       iw_cq_poll(e->cq, &e->wc[e->nwc], 1) == 1)
				e->nwc++;
			e->wcs_at_closed = e->nwc;
		}
		if (ev.type == IW_EV_CONNECT_REQUEST) {
			e->req = ev.req;
			e->req_qp = ev.qp;
			if (!e->keep_requests)
				end_accept(e);
		}
	}
}

static inline void end_step(struct end *e, int64_t timeout_ns)
{
	assert_true(iw_progress(e->ctx, timeout_ns) >= 0);
	end_take(e);
}

/* Drives a and b (which may be NULL) until cond holds, at most @ms. */
#define end_until_ms(a, b, cond, ms)                                                               \
	do {                                                                                       \
		double limit_ = end_clock() + (ms) / 1e3;                                          \
		while (!(cond)) {                                                                  \
			struct end *b_ = (b);                                                      \
			if (end_clock() > limit_)                                                  \
				fail_msg("not within %d ms: %s", ms, #cond);                       \
			end_step(a, 100000);                                                       \
			if (b_)                                                                    \
				end_step(b_, 100000);                                              \
		}                                                                                  \
	} while (0)
#define end_until(a, b, cond) end_until_ms(a, b, cond, 10000)

/* Drives both for that time, to show that something does not happen. */
#define end_run(a, b, ms)                                                                          \
	do {                                                                                       \
		double limit_ = end_clock() + (ms) / 1e3;                                          \
		while (end_clock() < limit_) {                                                     \
			struct end *b_ = (b);                                                      \
			end_step(a, 100000);                                                       \
			if (b_)                                                                    \
				end_step(b_, 100000);                                              \
		}                                                                                  \
	} while (0)

static inline void end_connect_to(struct end *e, const char *host, uint16_t port,
				  struct conn_param p)
{
	p.at.size = sizeof(p.at);
	p.protocol.size = sizeof(p.protocol);
	p.at.host = host;
	p.at.port = port;
	if (iw_connect(e->qp, &p.at, &p.protocol, &e->why) != 0)
		fail_msg("%s", e->why.text);
}

/* Connects a to b, both with the parameters p, until both are established. */
static inline void end_join_with(struct end *a, struct end *b, struct conn_param p)
{
	struct conn_param l = p;

	l.at.host = p.at.host ? p.at.host : "127.0.0.1";
	l.at.bind_addr = NULL;
	l.protocol.private_data = NULL;
	l.protocol.private_data_len = 0;
	l.protocol.peer_to_peer = false;
	if (!b->listener)
		end_listen_with(b, l);
	end_connect_to(a, l.at.host, iw_listener_port(b->listener), p);
	end_until(a, b, a->seen[IW_EV_ESTABLISHED] && b->seen[IW_EV_ESTABLISHED]);
}

static inline void end_join(struct end *a, struct end *b)
{
	end_join_with(a, b, (struct conn_param){ 0 });
}

static inline int end_send(struct end *e, uint64_t wr_id, const void *octets, size_t len,
			   unsigned flags)
{
	struct iw_sge g = { octets, len };
	struct iw_send_wr w = {
		.wr_id = wr_id, .op = IW_WR_SEND, .flags = flags, .sge = &g, .nsge = 1
	};

	return iw_post_send(e->qp, &w, NULL);
}

static inline int end_write(struct end *e, uint64_t wr_id, const void *octets, size_t len,
			    uint32_t stag, uint64_t to, unsigned flags)
{
	struct iw_sge g = { octets, len };
	struct iw_send_wr w = { .wr_id = wr_id,
				.op = IW_WR_WRITE,
				.flags = flags,
				.sge = &g,
				.nsge = 1,
				.remote_stag = stag,
				.remote_to = to };

	return iw_post_send(e->qp, &w, NULL);
}

static inline int end_read(struct end *e, uint64_t wr_id, const struct iw_mr *sink,
			   uint64_t sink_to, uint32_t len, uint32_t stag, uint64_t to)
{
	struct iw_send_wr w = { .wr_id = wr_id,
				.op = IW_WR_READ,
				.sink = sink,
				.sink_to = sink_to,
				.len = len,
				.remote_stag = stag,
				.remote_to = to };

	return iw_post_send(e->qp, &w, NULL);
}

static inline struct iw_mr *end_reg_with(struct end *e, const struct iw_mr_attr *a)
{
	struct iw_mr *mr;

	if (iw_mr_reg(&mr, e->pd, a, &e->why) != 0)
		fail_msg("%s", e->why.text);
	return mr;
}

static inline struct iw_mr *end_reg(struct end *e, void *addr, size_t len, unsigned access)
{
	return end_reg_with(e, &(struct iw_mr_attr){ .addr = addr, .len = len, .access = access });
}

/* Returns the completion with that id, or NULL. */
static inline const struct iw_wc *end_wc(const struct end *e, uint64_t wr_id)
{
	for (unsigned i = 0; i < e->nwc; i++)
		if (e->wc[i].wr_id == wr_id)
			return &e->wc[i];
	return NULL;
}

#endif
