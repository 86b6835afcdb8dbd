// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A responder that accepts everybody and takes what comes. */
#include "mpa-probe/sink.h"

#include <stdlib.h>
#include <string.h>

#include "cli/context.h"
#include "cli/signals.h"
#include "os/os.h"
#include "util/list.h"
#include "util/num.h"
#include "util/text.h"
#include "verbs/wrap.h"

#define CLIENTS  256
#define RECEIVES 1024  /* nothing slows a sender down but TCP: so many may come between two looks */
#define RECV_CAP 65536 /* a longer Send ends its connection by a Terminate */
#define IDLE_NS  IW_SEC(30)
#define YIELD_NS IW_SEC(5) /* without payload for so long: ends early if its place is needed */
#define STOP_NS  IW_SEC(1)
#define LOOK_NS  IW_MSEC(50) /* who is turned away in start-up makes no event */

struct guest {
	struct iw_list all;
	struct iw_probe_sink *sink;
	struct iw_qp *qp;
	uint64_t seen;    /* when the connection began, or payload was noticed last */
	uint64_t payload; /* octets that had arrived then */
	uint64_t sends, octets;
	bool up, leaving;
	struct iw_fault fault; /* ours */
};

struct iw_probe_sink {
	struct iw_sink_cfg cfg;
	struct iw_ctx *ctx;
	struct iw_pd *pd;
	struct iw_cq *cq;
	struct iw_listener *listener;
	struct iw_list guests;
	unsigned nguests;
	struct guest *left; /* its news was told; freed by the next call */
	uint8_t *scrap;     /* where all Sends of all guests go: nobody reads it */
	bool done;
	uint64_t stop_at; /* asked to stop: who is still here then is left behind */
};

/* --- guests --- */

static void free_guest(struct guest *g)
{
	if (!g)
		return;
	iw_list_del(&g->all);
	iw_qp_free(g->qp);
	free(g);
}

static int post(struct guest *g)
{
	return iw_post_recv(g->qp, 0, g->sink->scrap, RECV_CAP, NULL);
}

static struct guest *new_guest(struct iw_probe_sink *s)
{
	struct iw_qp_attr attr = { .size = sizeof(attr),
				   .send_cq = s->cq,
				   .recv_cq = s->cq,
				   .sq_depth = 1,
				   .rq_depth = RECEIVES };
	struct guest *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	iw_list_init(&g->all);
	g->sink = s;
	g->seen = iw_os_now();
	attr.user = g;
	if (iw_qp_new(&g->qp, s->pd, &attr, NULL) != 0) {
		free(g);
		return NULL;
	}
	for (int i = 0; i < RECEIVES; i++)
		if (post(g) != 0) {
			free_guest(g);
			return NULL;
		}
	return g;
}

static void send_away(struct guest *g, const struct iw_fault *why)
{
	if (g->leaving)
		return;
	g->leaving = true;
	g->fault = *why;
	iw_abort(g->qp);
}

static uint64_t idle_ns(const struct iw_probe_sink *s)
{
	return s->cfg.idle_ns ? s->cfg.idle_ns : IDLE_NS;
}

/* Zero-length FPDUs, and parts of FPDUs, are not progress: a peer can send them for ever. */
static void note_payload(struct guest *g, uint64_t now)
{
	uint64_t payload = iw_qp_rx_payload(g->qp);

	if (payload == g->payload)
		return;
	g->payload = payload;
	g->seen = now;
}

/* The established connection that has been without payload for the longest time; NULL: there is none. */
static struct guest *idlest(struct iw_probe_sink *s, uint64_t now)
{
	struct guest *found = NULL;

	for (struct iw_list *n = s->guests.next; n != &s->guests; n = n->next) {
		struct guest *g = iw_container_of(n, struct guest, all);

		if (g->leaving || !g->up)
			continue;
		note_payload(g, now);
		if (!found || g->seen < found->seen)
			found = g;
	}
	return found;
}

/* All places are taken. True: one of them is free now. */
static bool make_room(struct iw_probe_sink *s)
{
	uint64_t yield = s->cfg.yield_ns ? s->cfg.yield_ns : YIELD_NS;
	uint64_t now = iw_os_now(), least = IW_MIN(idle_ns(s), yield);
	struct guest *g = idlest(s, now);
	struct iw_fault why = { 0 };

	if (!g || now < iw_time_add(g->seen, least))
		return false;
	(void)iw_fail(&why, IW_E_TIMEOUT,
		      "sink: no payload received for %U ms; closed to accept a new connection",
		      (now - g->seen) / 1000000);
	send_away(g, &why);
	return true;
}

static void on_request(struct iw_probe_sink *s, struct iw_conn_req *req)
{
	uint32_t most = s->cfg.once ? 1 : s->cfg.clients ? s->cfg.clients : CLIENTS;
	struct guest *g;

	if (s->cfg.reject) {
		iw_reject(req, s->cfg.conn.protocol.private_data,
			  s->cfg.conn.protocol.private_data_len);
		return;
	}
	g = s->nguests < most || (!s->cfg.once && make_room(s)) ? new_guest(s) : NULL;
	if (!g) {
		iw_reject(req, NULL, 0);
		return;
	}
	if (iw_accept(req, g->qp, NULL, NULL) != 0) {
		free_guest(g); /* the peer has gone meanwhile */
		return;
	}
	iw_list_add_tail(&s->guests, &g->all);
	s->nguests++;
}

static void tell(struct guest *g, enum iw_sink_news_kind kind, struct iw_sink_news *news)
{
	*news = (struct iw_sink_news){ .kind = kind, .sends = g->sends, .octets = g->octets };
	iw_qp_info(g->qp, &news->info);
}

/* --- what happens --- */

static void on_completion(const struct iw_wc *wc)
{
	struct guest *g = iw_qp_user(wc->qp);

	/* What failed did so because the connection ended, which has an event of its own. */
	if (wc->op != IW_WC_RECV || wc->status != IW_OK)
		return;
	note_payload(g, iw_os_now());
	g->sends++;
	g->octets += wc->len;
	/* There is room for it; what else it may fail for is that the connection has ended
	 * meanwhile. */
	if (!g->leaving)
		(void)post(g);
}

/* True: *news. */
static bool on_event(struct iw_probe_sink *s, struct iw_async_event *ev, struct iw_sink_news *news)
{
	struct guest *g = ev->qp ? iw_qp_user(ev->qp) : NULL;

	switch (ev->type) {
	case IW_EV_CONNECT_REQUEST:
		on_request(s, ev->req);
		return false;
	case IW_EV_ESTABLISHED:
		g->up = true;
		g->seen = iw_os_now();
		tell(g, IW_SINK_UP, news);
		return true;
	case IW_EV_PEER_CLOSED:
		g->leaving = true;
		iw_disconnect(g->qp);
		return false;
	case IW_EV_REJECTED:
		return false;
	case IW_EV_CLOSED:
		tell(g, IW_SINK_LEFT, news);
		news->fault = g->fault.err ? g->fault : ev->fault;
		iw_list_del(&g->all);
		s->nguests--;
		s->left = g;
		s->done |= s->cfg.once;
		return true;
	}
	return false;
}

/* Ends a connection that is without payload for too long. Returns when to look again. */
static uint64_t patience(struct guest *g, uint64_t idle, uint64_t now)
{
	struct iw_fault why = { 0 };

	if (g->leaving || !g->up)
		return IW_TIME_NEVER;
	if (now < iw_time_add(g->seen, idle))
		return iw_time_add(g->seen, idle);
	/* A long Send counts before it is complete. */
	note_payload(g, now);
	if (g->seen == now)
		return iw_time_add(now, idle);
	(void)iw_fail(&why, IW_E_TIMEOUT, "sink: no payload received for %U ms", idle / 1000000);
	send_away(g, &why);
	return IW_TIME_NEVER;
}

/* How long until somebody's patience may end; negative: for ever. */
static int64_t keep_time(struct iw_probe_sink *s)
{
	uint64_t idle = idle_ns(s), now = iw_os_now(), next = s->stop_at;

	for (struct iw_list *n = s->guests.next; n != &s->guests; n = n->next)
		next = IW_MIN(next, patience(iw_container_of(n, struct guest, all), idle, now));
	if (s->cfg.once)
		next = IW_MIN(next, now + LOOK_NS);
	if (next == IW_TIME_NEVER)
		return -1;
	return next > now ? (int64_t)(next - now) : 0;
}

/* Asked to stop: everybody is told, and has a moment to leave. True: that is over. */
static bool stopped(struct iw_probe_sink *s)
{
	if (s->done || (s->cfg.once && s->nguests == 0 && s->cfg.shim && s->cfg.shim->turned_away))
		return true;
	if (!iw_signals_stop())
		return false;
	if (s->stop_at == IW_TIME_NEVER) {
		/* It stays readable, and would end every wait from now on. */
		(void)!iw_ctx_wake_fd(s->ctx, -1, NULL);
		s->stop_at = iw_time_add(iw_os_now(), STOP_NS);
		for (struct iw_list *n = s->guests.next; n != &s->guests; n = n->next) {
			struct guest *g = iw_container_of(n, struct guest, all);

			if (!g->leaving)
				iw_disconnect(g->qp);
			g->leaving = true;
		}
	}
	return s->nguests == 0 || iw_os_now() >= s->stop_at;
}

int iw_probe_sink_next(struct iw_probe_sink *s, struct iw_sink_news *news, struct iw_fault *why)
{
	struct iw_async_event ev;
	struct iw_wc wc;
	int n;

	free_guest(s->left);
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
			*news = (struct iw_sink_news){ .kind = IW_SINK_STOPPED };
			return 0;
		}
		n = iw_cq_wait(s->cq, keep_time(s));
		if (n < 0)
			return iw_fail(why, n, "sink: %s", iw_err_text(n));
	}
}

/* --- life --- */

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

int iw_probe_sink_new(struct iw_probe_sink **out, const struct iw_sink_cfg *cfg,
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
	iw_list_init(&s->guests);
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
	free_guest(s->left);
	while ((n = iw_list_first(&s->guests)))
		free_guest(iw_container_of(n, struct guest, all));
	iw_ctx_free(s->ctx);
	free(s->scrap);
	free(s);
}
