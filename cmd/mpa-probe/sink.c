// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A responder that accepts every connection and discards what it receives. */
#include "mpa-probe/sink.h"

#include <stdlib.h>
#include <string.h>

#include "cli/conn_facts.h"
#include "cli/context.h"
#include "cli/signals.h"
#include "os/os.h"
#include "util/list.h"
#include "util/num.h"
#include "util/text.h"
#include "verbs/wrap.h"

#define CLIENTS  256
#define RECEIVES 1024 /* only TCP slows a sender down: so many Sends may arrive between two polls */
#define RECV_CAP 65536 /* a longer Send ends its connection with a Terminate */
#define IDLE_NS  IW_SEC(30)
/* Without payload for this time, a connection can be ended for a new one. */
#define YIELD_NS IW_SEC(5)
#define STOP_NS  IW_SEC(1)
/* Poll interval: a client turned away during start-up causes no event. */
#define LOOK_NS  IW_MSEC(50)

struct client {
	struct iw_list all;
	struct iw_probe_sink *sink;
	struct iw_qp *qp;
	uint64_t seen;    /* when the connection began, or when payload was last noticed */
	uint64_t payload; /* octets received at that time */
	uint64_t sends, octets;
	bool up, leaving;
	struct iw_fault fault; /* the reason if we ended the connection */
};

struct iw_probe_sink {
	struct iw_probe_sink_cfg cfg;
	struct iw_ctx *ctx;
	struct iw_pd *pd;
	struct iw_cq *cq;
	struct iw_listener *listener;
	struct iw_list clients;
	unsigned nclients;
	struct client *left; /* reported as ended; freed by the next call */
	uint8_t *scrap;      /* all Sends of all clients are placed here, and not read */
	bool done;
	uint64_t stop_at; /* deadline after a request to stop: remaining clients are abandoned */
};

/* --- clients --- */

static void free_client(struct client *c)
{
	if (!c)
		return;
	iw_list_del(&c->all);
	iw_qp_free(c->qp);
	free(c);
}

static int post(struct client *c)
{
	return iw_post_recv(c->qp, 0, c->sink->scrap, RECV_CAP, NULL);
}

static struct client *new_client(struct iw_probe_sink *s)
{
	struct iw_qp_attr attr = { .size = sizeof(attr),
				   .send_cq = s->cq,
				   .recv_cq = s->cq,
				   .sq_depth = 1,
				   .rq_depth = RECEIVES };
	struct client *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	iw_list_init(&c->all);
	c->sink = s;
	c->seen = iw_os_now();
	attr.user = c;
	if (iw_qp_new(&c->qp, s->pd, &attr, NULL) != 0) {
		free(c);
		return NULL;
	}
	for (int i = 0; i < RECEIVES; i++)
		if (post(c) != 0) {
			free_client(c);
			return NULL;
		}
	return c;
}

static void end_client(struct client *c, const struct iw_fault *why)
{
	if (c->leaving)
		return;
	c->leaving = true;
	c->fault = *why;
	iw_abort(c->qp);
}

static uint64_t idle_ns(const struct iw_probe_sink *s)
{
	return s->cfg.idle_ns ? s->cfg.idle_ns : IDLE_NS;
}

/* Zero-length FPDUs and parts of FPDUs are not progress, since a peer can send them for ever. */
static void note_payload(struct client *c, uint64_t now)
{
	uint64_t payload = iw_qp_rx_payload(c->qp);

	if (payload == c->payload)
		return;
	c->payload = payload;
	c->seen = now;
}

/* Returns the established connection that has received no payload for the longest time, or NULL. */
static struct client *idlest_client(struct iw_probe_sink *s, uint64_t now)
{
	struct client *found = NULL;

	for (struct iw_list *n = s->clients.next; n != &s->clients; n = n->next) {
		struct client *c = iw_container_of(n, struct client, all);

		if (c->leaving || !c->up)
			continue;
		note_payload(c, now);
		if (!found || c->seen < found->seen)
			found = c;
	}
	return found;
}

/* The limit of connections is reached. Returns true if a connection was ended for a new one. */
static bool make_room(struct iw_probe_sink *s)
{
	uint64_t yield = s->cfg.yield_ns ? s->cfg.yield_ns : YIELD_NS;
	uint64_t now = iw_os_now(), least = IW_MIN(idle_ns(s), yield);
	struct client *c = idlest_client(s, now);
	struct iw_fault why = { 0 };

	if (!c || now < iw_time_add(c->seen, least))
		return false;
	(void)iw_fail(&why, IW_E_TIMEOUT,
		      "sink: no payload received for %U ms; closed to accept a new connection",
		      (now - c->seen) / 1000000);
	end_client(c, &why);
	return true;
}

static void on_request(struct iw_probe_sink *s, struct iw_conn_req *req)
{
	uint32_t most = s->cfg.once ? 1 : s->cfg.clients ? s->cfg.clients : CLIENTS;
	struct client *c;

	if (s->cfg.reject) {
		iw_reject(req, s->cfg.conn.protocol.private_data,
			  s->cfg.conn.protocol.private_data_len);
		return;
	}
	c = s->nclients < most || (!s->cfg.once && make_room(s)) ? new_client(s) : NULL;
	if (!c) {
		iw_reject(req, NULL, 0);
		return;
	}
	if (iw_accept(req, c->qp, NULL, NULL) != 0) {
		free_client(c); /* the peer has gone */
		return;
	}
	iw_list_add_tail(&s->clients, &c->all);
	s->nclients++;
}

static void report(struct client *c, enum iw_probe_sink_news_kind kind,
		   struct iw_probe_sink_news *news)
{
	*news = (struct iw_probe_sink_news){ .kind = kind, .sends = c->sends, .octets = c->octets };
	iw_qp_info(c->qp, &news->info);
	(void)iw_cli_facts_tls(&news->tls, c->qp);
}

/* --- events --- */

static void on_completion(const struct iw_wc *wc)
{
	struct client *c = iw_qp_user(wc->qp);

	/* Work fails when the connection ends, and that has an event of its own. */
	if (wc->op != IW_WC_RECV || wc->status != IW_OK)
		return;
	note_payload(c, iw_os_now());
	c->sends++;
	c->octets += wc->len;
	/* The queue has room, so this fails only if the connection has ended. */
	if (!c->leaving)
		(void)post(c);
}

/* Returns true if *news is set. */
static bool on_event(struct iw_probe_sink *s, struct iw_async_event *ev,
		     struct iw_probe_sink_news *news)
{
	struct client *c = ev->qp ? iw_qp_user(ev->qp) : NULL;

	switch (ev->type) {
	case IW_EV_CONNECT_REQUEST:
		on_request(s, ev->req);
		return false;
	case IW_EV_ESTABLISHED:
		c->up = true;
		c->seen = iw_os_now();
		report(c, IW_PROBE_SINK_UP, news);
		return true;
	case IW_EV_PEER_CLOSED:
		c->leaving = true;
		iw_disconnect(c->qp);
		return false;
	case IW_EV_REJECTED:
		return false;
	case IW_EV_CLOSED:
		report(c, IW_PROBE_SINK_LEFT, news);
		news->fault = c->fault.err ? c->fault : ev->fault;
		iw_list_del(&c->all);
		s->nclients--;
		s->left = c;
		s->done |= s->cfg.once;
		return true;
	}
	return false;
}

/* Ends a connection that has received no payload for too long. Returns when to check again. */
static uint64_t idle_deadline(struct client *c, uint64_t idle, uint64_t now)
{
	struct iw_fault why = { 0 };

	if (c->leaving || !c->up)
		return IW_TIME_NEVER;
	if (now < iw_time_add(c->seen, idle))
		return iw_time_add(c->seen, idle);
	/* A long Send is progress before it is complete. */
	note_payload(c, now);
	if (c->seen == now)
		return iw_time_add(now, idle);
	(void)iw_fail(&why, IW_E_TIMEOUT, "sink: no payload received for %U ms", idle / 1000000);
	end_client(c, &why);
	return IW_TIME_NEVER;
}

/* Returns the nanoseconds until the next time limit; negative: no limit. */
static int64_t keep_time(struct iw_probe_sink *s)
{
	uint64_t idle = idle_ns(s), now = iw_os_now(), next = s->stop_at;

	for (struct iw_list *n = s->clients.next; n != &s->clients; n = n->next)
		next = IW_MIN(next,
			      idle_deadline(iw_container_of(n, struct client, all), idle, now));
	if (s->cfg.once)
		next = IW_MIN(next, now + LOOK_NS);
	if (next == IW_TIME_NEVER)
		return -1;
	return next > now ? (int64_t)(next - now) : 0;
}

/*
 * After a request to stop, disconnects all clients and waits for their ends, at most STOP_NS.
 * Returns true once the sink has stopped.
 */
static bool stopped(struct iw_probe_sink *s)
{
	if (s->done || (s->cfg.once && s->nclients == 0 && s->cfg.shim && s->cfg.shim->turned_away))
		return true;
	if (!iw_signals_stop())
		return false;
	if (s->stop_at == IW_TIME_NEVER) {
		/* The descriptor stays readable, and would end each wait from now on. */
		(void)!iw_ctx_wake_fd(s->ctx, -1, NULL);
		s->stop_at = iw_time_add(iw_os_now(), STOP_NS);
		for (struct iw_list *n = s->clients.next; n != &s->clients; n = n->next) {
			struct client *c = iw_container_of(n, struct client, all);

			if (!c->leaving)
				iw_disconnect(c->qp);
			c->leaving = true;
		}
	}
	return s->nclients == 0 || iw_os_now() >= s->stop_at;
}

int iw_probe_sink_next(struct iw_probe_sink *s, struct iw_probe_sink_news *news,
		       struct iw_fault *why)
{
	struct iw_async_event ev;
	struct iw_wc wc;
	int n;

	free_client(s->left);
	s->left = NULL;
	for (;;) {
		while ((n = iw_cq_poll(s->cq, &wc, 1)) > 0)
			on_completion(&wc);
		if (n < 0)
			return iw_fail(why, n, "sink: %s", iw_err_text(n));
		while (iw_next_event(s->ctx, &ev))
			if (on_event(s, &ev, news))
				return 0;
		if (stopped(s)) {
			*news = (struct iw_probe_sink_news){ .kind = IW_PROBE_SINK_STOPPED };
			return 0;
		}
		n = iw_cq_wait(s->cq, keep_time(s));
		if (n < 0)
			return iw_fail(why, n, "sink: %s", iw_err_text(n));
	}
}

/* --- creation --- */

const char *iw_probe_sink_addr(const struct iw_probe_sink *s)
{
	return iw_listener_addr(s->listener);
}

uint16_t iw_probe_sink_port(const struct iw_probe_sink *s)
{
	return iw_listener_port(s->listener);
}

static int open_sink(struct iw_probe_sink *s, struct iw_fault *why)
{
	struct iw_ctx_attr attr = { .size = sizeof(attr),
				    .setup_ns = s->cfg.setup_ns,
				    .trace = s->cfg.trace,
				    .trace_ctx = s->cfg.trace_ctx };
	int err;

	s->scrap = malloc(RECV_CAP);
	if (!s->scrap)
		return iw_fail(why, IW_E_NOMEM, "sink: out of memory");
	err = iw_cli_context(&s->ctx, &s->pd, &s->cq, &attr, why);
	if (err)
		return err;
	if (s->cfg.shim)
		iw_ctx_wrap_stream(s->ctx, iw_shim_wrap, s->cfg.shim);
	return iw_listen(&s->listener, s->ctx, &s->cfg.conn.at, &s->cfg.conn.protocol, why);
}

int iw_probe_sink_new(struct iw_probe_sink **out, const struct iw_probe_sink_cfg *cfg,
		      struct iw_fault *why)
{
	struct iw_probe_sink *s = calloc(1, sizeof(*s));
	int err;

	*out = NULL;
	if (!s)
		return iw_fail(why, IW_E_NOMEM, "sink: out of memory");
	s->cfg = *cfg;
	s->cfg.conn.at.size = sizeof(s->cfg.conn.at);
	s->cfg.conn.protocol.size = sizeof(s->cfg.conn.protocol);
	s->stop_at = IW_TIME_NEVER;
	iw_list_init(&s->clients);
	err = open_sink(s, why);
	if (err) {
		iw_probe_sink_free(s);
		return err;
	}
	*out = s;
	return 0;
}

void iw_probe_sink_free(struct iw_probe_sink *s)
{
	struct iw_list *n;

	if (!s)
		return;
	free_client(s->left);
	while ((n = iw_list_first(&s->clients)))
		free_client(iw_container_of(n, struct client, all));
	iw_ctx_free(s->ctx);
	free(s->scrap);
	free(s);
}
