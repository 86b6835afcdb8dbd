// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The server: returns each message to its client. */
#include "sctp-ddp-ping/ping.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/context.h"
#include "cli/param.h"
#include "cli/signals.h"
#include "os/os.h"
#include "util/list.h"
#include "util/num.h"
#include "util/text.h"

#define POLL 64

/*
 * A client has at most `window` messages without a reply. When its message n arrives, it has
 * therefore received the reply to message n - window. So the buffer of that reply can be posted
 * again, even if SCTP's acknowledgements were lost. A session has 2 * window buffers, of which
 * `window` are posted.
 */
struct session {
	struct iw_ping_server *server;
	struct iw_list all;
	struct iw_qp *qp; /* owned */
	struct iw_ping_hello hello;
	uint64_t memory; /* octets of its buffers, within cfg.memory */
	uint8_t *buf;
	uint32_t *len;           /* of the message in each buffer */
	uint64_t received;       /* messages */
	uint64_t posted, echoed; /* replies: posted, and completed */
	uint32_t stream;
	char peer[64];
	bool up;               /* it was established */
	uint8_t rev;           /* of the set-up */
	struct iw_fault fault; /* why this end aborted it; err 0: it did not */
};

struct iw_ping_server {
	struct iw_ping_server_cfg cfg;
	struct iw_ctx *ctx;
	struct iw_pd *pd;
	struct iw_cq *cq;
	struct iw_listener *listener;
	struct iw_list sessions;
	uint64_t memory;       /* in use */
	bool served;           /* an established session has ended */
	struct iw_list events; /* of struct queued */
};

struct queued {
	struct iw_list all;
	struct iw_ping_server_event event;
};

/* If memory is short, the event is lost. */
static void queue_event(struct iw_ping_server *s, const struct iw_ping_server_event *v)
{
	struct queued *n = calloc(1, sizeof(*n));

	if (!n)
		return;
	n->event = *v;
	iw_list_add_tail(&s->events, &n->all);
}

static void report_session(const struct session *v, enum iw_ping_server_event_kind kind,
			   const struct iw_fault *why)
{
	struct iw_ping_server_event event = {
		.kind = kind,
		.stream = v->stream,
		.size = v->hello.size,
		.rev = v->rev,
		.echoed = v->posted,
	};

	if (why)
		event.fault = *why;
	memcpy(event.peer, v->peer, sizeof(event.peer));
	queue_event(v->server, &event);
}

static void session_free(struct session *v)
{
	iw_qp_free(v->qp);
	v->server->memory -= v->memory;
	iw_list_del(&v->all);
	free(v->buf);
	free(v->len);
	free(v);
}

static uint64_t buffers(const struct session *v)
{
	return 2 * (uint64_t)v->hello.window;
}

static uint8_t *buffer(const struct session *v, uint64_t n)
{
	return v->buf + n % buffers(v) * v->hello.size;
}

/* Posts the buffer of message n. Returns 0 also if the session has ended. */
static int post(const struct session *v, uint64_t n, struct iw_fault *why)
{
	int err = iw_post_recv(v->qp, n, buffer(v, n), v->hello.size, NULL);

	if (err && err != IW_E_STATE)
		return iw_fail(why, err, "post a receive: %s", iw_err_text(err));
	return 0;
}

/* --- sessions --------------------------------------------------------------------------------- */

static int make(struct session *v, const struct iw_req_info *info, struct iw_fault *why)
{
	struct iw_ping_server *s = v->server;
	struct iw_qp_attr qa = {
		.size = sizeof(qa),
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.user = v,
	};
	int err;

	if (!iw_ping_hello_decode(&v->hello, info->private_data, info->private_data_len))
		return iw_fail(why, IW_E_FORMAT, "this listener serves only sctp-ddp-ping");
	v->memory = buffers(v) * (IW_MAX(v->hello.size, 1u) + sizeof(*v->len));
	if (v->memory > s->cfg.memory - s->memory) {
		uint64_t need = v->memory;

		v->memory = 0;
		/* Short enough to be shown in full by the client (REASON_MOST in lib/conn). */
		return iw_fail(
			why, IW_E_LIMIT,
			"the session needs %U octets, %U of %U are free: use a smaller -s, or more --memory",
			need, s->cfg.memory - s->memory, s->cfg.memory);
	}
	s->memory += v->memory;
	v->buf = calloc(buffers(v), IW_MAX(v->hello.size, 1u));
	v->len = calloc(buffers(v), sizeof(*v->len));
	if (!v->buf || !v->len)
		return iw_fail(why, IW_E_NOMEM, "out of memory");
	qa.rq_depth = v->hello.window;
	qa.sq_depth = 2 * (uint32_t)v->hello.window;
	err = iw_qp_new(&v->qp, s->pd, &qa, why);
	for (uint64_t n = 0; n < v->hello.window && !err; n++)
		err = post(v, n, why);
	return err;
}

static void on_request(struct iw_ping_server *s, struct iw_conn_req *req)
{
	struct session *v = calloc(1, sizeof(*v));
	const struct iw_protocol_attr protocol = { .size = sizeof(protocol), .no_reads = true };
	struct iw_fault why = { .text = "out of memory" };
	struct iw_req_info info;
	int err;

	if (!v) {
		iw_reject(req, why.text, strlen(why.text));
		return;
	}
	iw_req_info(req, &info);
	v->server = s;
	snprintf(v->peer, sizeof(v->peer), "%s", info.peer);
	iw_list_add_tail(&s->sessions, &v->all);
	err = make(v, &info, &why);
	if (err)
		iw_reject(req, why.text, strlen(why.text));
	else
		err = iw_accept(req, v->qp, &protocol, &why);
	if (err) {
		report_session(v, IW_PING_REFUSED, &why);
		session_free(v);
	}
}

static void on_established(struct session *v)
{
	struct iw_assoc_info a = { .size = sizeof(a) };
	struct iw_qp_info info;

	v->up = true;
	iw_qp_info(v->qp, &info);
	v->rev = info.rev;
	if (iw_qp_assoc(v->qp, &a, NULL) == 0)
		v->stream = a.stream;
	report_session(v, IW_PING_OPENED, NULL);
}

static void on_event(struct iw_ping_server *s, const struct iw_async_event *ev)
{
	struct session *v = ev->qp ? iw_qp_user(ev->qp) : NULL;

	switch (ev->type) {
	case IW_EV_CONNECT_REQUEST:
		on_request(s, ev->req);
		break;
	case IW_EV_ESTABLISHED:
		on_established(v);
		break;
	case IW_EV_REJECTED: /* only at an initiator */
		break;
	case IW_EV_PEER_CLOSED:
		iw_disconnect(v->qp);
		break;
	case IW_EV_CLOSED:
		s->served = s->served || v->up;
		report_session(v, IW_PING_CLOSED, v->fault.err ? &v->fault : &ev->fault);
		session_free(v);
		break;
	}
}

/* --- messages --------------------------------------------------------------------------------- */

/* Posts the replies for which the send queue has room. The others wait in their buffers. */
static int reply(struct session *v, struct iw_fault *why)
{
	while (v->posted < v->received && v->posted - v->echoed < buffers(v)) {
		struct iw_sge sge = { buffer(v, v->posted), v->len[v->posted % buffers(v)] };
		struct iw_send_wr wr = { .op = IW_WR_SEND, .sge = &sge, .nsge = 1 };
		int err = iw_post_send(v->qp, &wr, NULL);

		if (err == IW_E_STATE)
			return 0;
		if (err)
			return iw_fail(why, err, "post a reply: %s", iw_err_text(err));
		v->posted++;
	}
	return 0;
}

static int on_message(struct session *v, uint32_t len, struct iw_fault *why)
{
	uint64_t n = v->received;

	if (n - v->posted >= v->hello.window)
		return iw_fail(why, IW_E_FORMAT,
			       "the client sent more messages than its window of %u",
			       (uint32_t)v->hello.window);
	v->received++;
	v->len[n % buffers(v)] = len;
	return post(v, n + v->hello.window, why);
}

static void on_completion(const struct iw_wc *wc)
{
	struct session *v = iw_qp_user(wc->qp);
	struct iw_fault why;
	int err = 0;

	/* After a failed operation, an event with its reason follows. */
	if (wc->status != IW_OK || v->fault.err)
		return;
	if (wc->op == IW_WC_RECV)
		err = on_message(v, wc->len, &why);
	else
		v->echoed++;
	if (!err)
		err = reply(v, &why);
	if (err) {
		v->fault = why;
		iw_abort(v->qp);
	}
}

static int turn(struct iw_ping_server *s, struct iw_fault *why)
{
	struct iw_async_event ev;
	struct iw_wc wc[POLL];
	int n = iw_cq_wait(s->cq, -1);

	if (n > 0)
		n = iw_cq_poll(s->cq, wc, POLL);
	if (n < 0)
		return iw_fail(why, n, "wait: %s", iw_err_text(n));
	for (int i = 0; i < n; i++)
		on_completion(&wc[i]);
	while (iw_next_event(s->ctx, &ev))
		on_event(s, &ev);
	return 0;
}

/* --- the server ------------------------------------------------------------------------------- */

int iw_ping_server_next(struct iw_ping_server *s, struct iw_ping_server_event *event,
			struct iw_fault *why)
{
	struct iw_list *first;
	struct queued *n;

	while (!(first = iw_list_first(&s->events))) {
		int err;

		if (iw_signals_stop() ||
		    (s->cfg.once && s->served && iw_list_empty(&s->sessions))) {
			*event = (struct iw_ping_server_event){ .kind = IW_PING_STOPPED };
			return 0;
		}
		err = turn(s, why);
		if (err)
			return err;
	}
	n = iw_container_of(first, struct queued, all);
	*event = n->event;
	iw_list_del(&n->all);
	free(n);
	return 0;
}

static int start(struct iw_ping_server *s, struct iw_fault *why)
{
	struct iw_ctx_attr attr = {
		.size = sizeof(attr),
		.setup_ns = s->cfg.setup_ns,
		.stall_ns = s->cfg.timeout_ns,
		.trace = s->cfg.trace,
		.trace_ctx = s->cfg.trace_ctx,
	};
	int err = iw_cli_context(&s->ctx, &s->pd, &s->cq, &attr, why);

	return err ? err
		   : iw_listen(&s->listener, s->ctx, &s->cfg.conn.at, &s->cfg.conn.protocol, why);
}

int iw_ping_server_new(struct iw_ping_server **out, const struct iw_ping_server_cfg *cfg,
		       struct iw_fault *why)
{
	struct iw_ping_server *s = calloc(1, sizeof(*s));
	int err;

	*out = NULL;
	if (!s)
		return iw_fail(why, IW_E_NOMEM, "out of memory");
	s->cfg = *cfg;
	s->cfg.memory = cfg->memory ? cfg->memory : IW_PING_MEMORY;
	iw_list_init(&s->sessions);
	iw_list_init(&s->events);
	err = start(s, why);
	if (err) {
		iw_ping_server_free(s);
		return err;
	}
	*out = s;
	return 0;
}

const struct iw_listener *iw_ping_server_listener(const struct iw_ping_server *s)
{
	return s->listener;
}

void iw_ping_server_free(struct iw_ping_server *s)
{
	struct iw_list *n;

	if (!s)
		return;
	while ((n = iw_list_first(&s->sessions)))
		session_free(iw_container_of(n, struct session, all));
	while ((n = iw_list_first(&s->events))) {
		iw_list_del(n);
		free(iw_container_of(n, struct queued, all));
	}
	iw_ctx_free(s->ctx);
	free(s);
}
