// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Connections for rping's conversation, and their loop. */
#include "mpa-probe/rping_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/conn_facts.h"
#include "cli/context.h"
#include "cli/listener.h"
#include "cli/log.h"
#include "cli/param.h"
#include "cli/signals.h"
#include "os/os.h"
#include "util/num.h"
#include "util/text.h"
#include "verbs/wrap.h"

/* Poll interval: a client turned away during start-up causes no event. */
#define LOOK_NS      IW_MSEC(50)
#define CLIENTS_MAX  32 /* of a server at once; further requests are rejected */
/* Including those ended for a new one, until their end is reported. */
#define SESSIONS_MAX (2 * CLIENTS_MAX)
#define STALL_NS     IW_SEC(30)
/* Without progress for this time, a session can be ended for a new one. */
#define YIELD_NS     IW_SEC(5)
#define CLOSE_NS     IW_SEC(10) /* for the peer to close its side after us */
#define STOP_NS      IW_SEC(1)  /* for a client to complete its round after a request to stop */

/* A connection and its conversation. */
struct session {
	struct iw_rping_run *run;
	struct iw_qp *qp;
	struct iw_rping *ping;
	bool up, closing, aborted;
	uint64_t began, seen;  /* seen: time of the last progress, or when closing began */
	uint64_t payload;      /* octets received at that time */
	struct iw_fault fault; /* the reason if we ended it; the connection has its own */
};

struct iw_rping_run {
	struct iw_rping_run_cfg cfg;
	struct iw_ctx *ctx;
	struct iw_pd *pd;
	struct iw_cq *cq;
	struct iw_listener *listener;
	struct session *sessions[SESSIONS_MAX];
	/* Reported as ended; freed by the next call, since info borrows from it. */
	struct session *left;
	uint64_t stop_by; /* client asked to stop: deadline for its end; 0: not asked */
	bool done;
};

static void free_session(struct session *s)
{
	if (!s)
		return;
	if (s->qp)
		iw_qp_free(s->qp);
	iw_rping_free(s->ping);
	free(s);
}

static int new_session(struct iw_rping_run *run, struct session **out, struct iw_fault *why)
{
	struct iw_qp_attr attr = { .size = sizeof(attr),
				   .send_cq = run->cq,
				   .recv_cq = run->cq,
				   .sq_depth = IW_RPING_DEPTH,
				   .rq_depth = IW_RPING_DEPTH };
	struct session *s;
	int err;

	for (int i = 0; i < SESSIONS_MAX; i++) {
		if (run->sessions[i])
			continue;
		s = calloc(1, sizeof(*s));
		if (!s)
			return iw_fail(why, IW_E_NOMEM, "rping: out of memory");
		s->run = run;
		s->began = s->seen = iw_os_now();
		attr.user = s;
		err = iw_qp_new(&s->qp, run->pd, &attr, why);
		if (err == 0)
			err = iw_rping_new(&s->ping, run->pd, s->qp, &run->cfg.ping, why);
		if (err) {
			free_session(s);
			return err;
		}
		run->sessions[i] = s;
		*out = s;
		return 0;
	}
	return iw_fail(why, IW_E_LIMIT,
		       "rping: no room for another connection: %u have not ended yet",
		       (uint32_t)SESSIONS_MAX);
}

static bool empty(const struct iw_rping_run *run)
{
	for (int i = 0; i < SESSIONS_MAX; i++)
		if (run->sessions[i])
			return false;
	return true;
}

static void forget_session(struct session *s)
{
	for (int i = 0; i < SESSIONS_MAX; i++)
		if (s->run->sessions[i] == s)
			s->run->sessions[i] = NULL;
	s->run->left = s;
}

/* --- events --- */

static void fill_news(struct session *s, enum iw_rping_run_news_kind kind,
		      struct iw_rping_run_news *news)
{
	*news = (struct iw_rping_run_news){ .kind = kind, .result = *iw_rping_result(s->ping) };
	if (kind == IW_RPING_RUN_UP)
		news->setup_ns = s->seen - s->began;
	if (kind != IW_RPING_RUN_ROUND) {
		iw_qp_info(s->qp, &news->info);
		(void)iw_cli_facts_tls(&news->tls, s->qp);
	}
}

static void disconnect(struct session *s)
{
	if (s->closing)
		return;
	s->closing = true;
	s->seen = iw_os_now();
	iw_disconnect(s->qp);
}

/*
 * Ends a conversation that failed; the end of the connection reports it. rping has no error
 * message, and a Terminate is for errors of RDMAP (RFC 5040 7.1). So the connection is closed in
 * order, because a reset would destroy what the peer has not read yet. It is aborted only if the
 * peer does not respond.
 */
static void end_session(struct session *s, const struct iw_fault *why)
{
	if (s->fault.err == 0)
		s->fault = *why;
	if (why->err == IW_E_TIMEOUT || why->err == IW_E_CANCELED) {
		s->closing = s->aborted = true;
		iw_abort(s->qp);
	} else {
		disconnect(s);
	}
}

/* Returns true if *news is set. */
static bool on_completion(struct iw_rping_run *run, const struct iw_wc *wc,
			  struct iw_rping_run_news *news)
{
	struct session *s = iw_qp_user(wc->qp);
	uint64_t before = iw_rping_result(s->ping)->rounds, now = iw_os_now();
	struct iw_fault why = { 0 };

	/* Work fails when the connection ends, and that has an event of its own. */
	if (wc->status != IW_OK || s->fault.err)
		return false;
	if (!s->closing)
		s->seen = now;
	if (iw_rping_done(s->ping, wc, now, &why) != 0) {
		end_session(s, &why);
		return false;
	}
	if (run->cfg.ping.client && iw_rping_over(s->ping))
		disconnect(s);
	if (!run->cfg.report_rounds || iw_rping_result(s->ping)->rounds == before)
		return false;
	fill_news(s, IW_RPING_RUN_ROUND, news);
	return true;
}

/*
 * For a server, parts of long messages are progress. For a client they are not, since its peer
 * could write to its sink for ever.
 */
static void note_payload(struct session *s, uint64_t now)
{
	uint64_t payload = iw_qp_rx_payload(s->qp);

	if (s->run->cfg.ping.client || payload == s->payload)
		return;
	s->payload = payload;
	s->seen = now;
}

static uint64_t timeout_ns(const struct iw_rping_run *run)
{
	return run->cfg.timeout_ns ? run->cfg.timeout_ns : STALL_NS;
}

/* Server. Returns false if the limit is reached and all connections make progress. */
static bool has_room(struct iw_rping_run *run)
{
	uint32_t most = run->cfg.clients ? IW_MIN(run->cfg.clients, (uint32_t)CLIENTS_MAX)
					 : CLIENTS_MAX;
	uint64_t yield = run->cfg.yield_ns ? run->cfg.yield_ns : YIELD_NS;
	uint64_t now = iw_os_now(), least = IW_MIN(timeout_ns(run), yield);
	struct iw_fault why = { 0 };
	struct session *idlest = NULL;
	unsigned taken = 0;

	for (int i = 0; i < SESSIONS_MAX; i++) {
		struct session *s = run->sessions[i];

		if (!s || s->aborted)
			continue;
		taken++;
		if (!s->up || s->closing)
			continue;
		note_payload(s, now);
		if (!idlest || s->seen < idlest->seen)
			idlest = s;
	}
	if (taken < most)
		return true;
	if (!idlest || now < iw_time_add(idlest->seen, least))
		return false;
	(void)iw_fail(&why, IW_E_TIMEOUT,
		      "rping: round %U: no progress for %U ms; closed to accept a new connection",
		      iw_rping_result(idlest->ping)->rounds, (now - idlest->seen) / 1000000);
	end_session(idlest, &why);
	return true;
}

static int on_request(struct iw_rping_run *run, struct iw_conn_req *req, struct iw_fault *why)
{
	struct session *s;
	int err;

	if (run->cfg.once ? !empty(run) : !has_room(run)) {
		iw_reject(req, NULL, 0);
		return 0;
	}
	err = new_session(run, &s, why);
	if (err) {
		iw_reject(req, NULL, 0);
		return err == IW_E_LIMIT ? 0 : err;
	}
	err = iw_accept(req, s->qp, NULL, why);
	if (err) {
		/* This peer has gone; the others are not affected. */
		forget_session(s);
		free_session(s);
		run->left = NULL;
	}
	return 0;
}

static void ended_early(const struct session *s, struct iw_rping_run_news *news)
{
	const struct iw_rping_cfg *cfg = &s->run->cfg.ping;
	uint64_t round = news->result.rounds;

	if (!cfg->client)
		iw_fail(&news->fault, IW_E_REJECTED,
			"rping: the client ended the connection in round %U", round);
	else if (round > 0 || cfg->size == IW_RPING_SIZE_NONE)
		iw_fail(&news->fault, IW_E_REJECTED,
			"%s: rping: the server ended the connection in round %U", news->info.peer,
			round);
	else
		iw_fail(&news->fault, IW_E_REJECTED,
			"%s: rping: the server ended the connection in round 0; is its --size (-S of rping) at least %u?",
			news->info.peer, cfg->size);
}

/*
 * Reports the connection's own reason. If another tool of the suite rejected the client, the reason
 * names that tool.
 */
static void connection_ended(const struct session *s, const struct iw_fault *fault,
			     struct iw_rping_run_news *news)
{
	struct iw_qp_info info;

	news->fault = *fault;
	if (fault->err != IW_E_REJECTED || !s->run->cfg.ping.client)
		return;
	iw_qp_info(s->qp, &info);
	iw_cli_wrong_listener(&news->fault, info.private_data, info.private_data_len, info.peer,
			      "mpa-probe --listen --app rping");
}

static void on_closed(struct session *s, const struct iw_fault *fault,
		      struct iw_rping_run_news *news)
{
	fill_news(s, IW_RPING_RUN_LEFT, news);
	if (s->fault.err)
		news->fault = s->fault;
	else if (fault->err)
		connection_ended(s, fault, news);
	else if (!s->up || !iw_rping_over(s->ping))
		ended_early(s, news);
	else if (s->run->stop_by && news->result.rounds < s->run->cfg.ping.count)
		iw_fail(&news->fault, IW_E_CANCELED, "%s: rping: interrupted after %U of %U rounds",
			news->info.peer, news->result.rounds, s->run->cfg.ping.count);
	forget_session(s);
}

/* Returns 1 if *news is set, 0 if not, or an error after which nothing works. */
static int on_event(struct iw_rping_run *run, struct iw_async_event *ev,
		    struct iw_rping_run_news *news, struct iw_fault *why)
{
	struct session *s = ev->qp ? iw_qp_user(ev->qp) : NULL;
	struct iw_fault what = { 0 };

	switch (ev->type) {
	case IW_EV_CONNECT_REQUEST:
		return on_request(run, ev->req, why);
	case IW_EV_ESTABLISHED:
		s->up = true;
		s->seen = iw_os_now();
		fill_news(s, IW_RPING_RUN_UP, news);
		if ((run->cfg.secure &&
		     iw_cli_secure_established(run->cfg.secure, s->qp, &what) != 0) ||
		    iw_rping_start(s->ping, s->seen, &what) != 0)
			end_session(s, &what);
		return 1;
	case IW_EV_PEER_CLOSED:
		disconnect(s);
		return 0;
	case IW_EV_REJECTED:
	case IW_EV_CLOSED:
		if (s == run->left)
			return 0;
		if (run->cfg.secure)
			iw_cli_secure_failed(run->cfg.secure, &ev->fault);
		on_closed(s, &ev->fault, news);
		if (run->cfg.ping.client || run->cfg.once)
			run->done = true;
		return 1;
	}
	return 0;
}

/* --- time limits --- */

/*
 * Returns when the connection is ended for lack of progress. The limit also applies between rounds,
 * since an idle client takes the place of another one.
 */
static uint64_t deadline_of(const struct session *s)
{
	uint64_t ns = timeout_ns(s->run), until;

	if (!s->up || s->aborted)
		return IW_TIME_NEVER;
	until = iw_time_add(s->seen, s->closing ? IW_MIN(ns, CLOSE_NS) : ns);
	return s->run->stop_by ? IW_MIN(until, s->run->stop_by) : until;
}

static void on_time(struct session *s, uint64_t now)
{
	struct iw_fault why = { 0 };
	struct iw_qp_info info = { .peer = "" };
	uint64_t rounds = iw_rping_result(s->ping)->rounds;
	bool stopped = s->run->stop_by > 0;

	if (now < deadline_of(s))
		return;
	if (!s->closing)
		note_payload(s, now);
	if (s->seen == now)
		return;
	if (s->run->cfg.ping.client)
		iw_qp_info(s->qp, &info);
	(void)iw_fail(&why, stopped ? IW_E_CANCELED : IW_E_TIMEOUT,
		      "%s%srping: %sround %U: %s for %U ms%s", info.peer, info.peer[0] ? ": " : "",
		      stopped ? "interrupted in " : "", rounds,
		      s->closing ? "the peer did not close its side" : "no progress",
		      (now - s->seen) / 1000000,
		      !s->run->cfg.ping.client || s->closing ? ""
		      : rounds ? "; does the server still run, and is the network up?"
			       : "; is the peer an rping server (mpa-probe --listen --app rping)?");
	end_session(s, &why);
}

/*
 * Applies the time limits of all sessions. Returns the nanoseconds until the next one; negative: no
 * limit.
 */
static int64_t keep_time(struct iw_rping_run *run)
{
	uint64_t now = iw_os_now(), next = UINT64_MAX;

	for (int i = 0; i < SESSIONS_MAX; i++) {
		struct session *s = run->sessions[i];

		if (!s)
			continue;
		on_time(s, now);
		next = IW_MIN(next, deadline_of(s));
	}
	if (run->cfg.once)
		next = IW_MIN(next, now + LOOK_NS);
	if (next == UINT64_MAX)
		return -1;
	return next > now ? (int64_t)(next - now) : 0;
}

/* --- the loop --- */

/* The process was asked to stop before the connection was set up. */
static void abandon_setup(struct session *s)
{
	const struct iw_cli_param *conn = &s->run->cfg.conn;
	struct iw_fault why = { 0 };

	(void)iw_fail(&why, IW_E_CANCELED,
		      "connect to %s port %u: interrupted before the connection was set up",
		      conn->at.host ? conn->at.host : "", (uint32_t)conn->at.port);
	end_session(s, &why);
}

/*
 * The process was asked to stop: a client completes its round within STOP_NS, and all connections
 * are closed.
 */
static void stop(struct iw_rping_run *run)
{
	bool any = false;

	if (run->cfg.ping.client && !run->stop_by)
		run->stop_by = iw_time_add(iw_os_now(), STOP_NS);

	/* The descriptor stays readable, and would end each wait from now on. */
	(void)!iw_ctx_wake_fd(run->ctx, -1, NULL);
	for (int i = 0; i < SESSIONS_MAX; i++) {
		struct session *s = run->sessions[i];

		if (!s)
			continue;
		any = true;
		iw_rping_stop(s->ping);
		if (!s->up && run->cfg.ping.client)
			abandon_setup(s);
		else if (!s->up)
			iw_abort(s->qp);
		else if (iw_rping_over(s->ping) || !run->cfg.ping.client)
			disconnect(s);
	}
	if (!any)
		run->done = true;
}

int iw_rping_run_next(struct iw_rping_run *run, struct iw_rping_run_news *news,
		      struct iw_fault *why)
{
	struct iw_async_event ev;
	struct iw_wc wc;
	int64_t wait;
	int n;

	free_session(run->left);
	run->left = NULL;
	for (;;) {
		while ((n = iw_cq_poll(run->cq, &wc, 1)) > 0)
			if (on_completion(run, &wc, news))
				return 0;
		if (n < 0)
			return iw_fail(why, n, "rping: %s", iw_err_text(n));
		while (iw_next_event(run->ctx, &ev)) {
			n = on_event(run, &ev, news, why);
			if (n != 0)
				return n < 0 ? n : 0;
		}
		if (iw_signals_stop())
			stop(run);
		if (run->cfg.once && run->cfg.shim && run->cfg.shim->turned_away && empty(run))
			run->done = true;
		if (run->done) {
			*news = (struct iw_rping_run_news){ .kind = IW_RPING_RUN_STOPPED };
			return 0;
		}
		wait = keep_time(run);
		n = iw_cq_wait(run->cq, wait);
		if (n < 0)
			return iw_fail(why, n, "rping: %s", iw_err_text(n));
	}
}

const char *iw_rping_run_addr(const struct iw_rping_run *run)
{
	return iw_listener_addr(run->listener);
}

uint16_t iw_rping_run_port(const struct iw_rping_run *run)
{
	return iw_listener_port(run->listener);
}

static int open_run(struct iw_rping_run *run, struct iw_fault *why)
{
	struct iw_ctx_attr attr = { .size = sizeof(attr),
				    .setup_ns = run->cfg.setup_ns,
				    .stall_ns = run->cfg.timeout_ns,
				    .trace = run->cfg.trace,
				    .trace_ctx = run->cfg.trace_ctx };
	struct iw_cli_param *conn = &run->cfg.conn;
	struct session *s;
	int err = iw_cli_context(&run->ctx, &run->pd, &run->cq, &attr, why);

	if (err)
		return err;
	if (run->cfg.shim)
		iw_ctx_wrap_stream(run->ctx, iw_shim_wrap, run->cfg.shim);
	conn->at.size = sizeof(conn->at);
	conn->protocol.size = sizeof(conn->protocol);
	if (conn->protocol.ird == 0 && conn->protocol.ord == 0 && !conn->protocol.no_reads)
		conn->protocol.ird = conn->protocol.ord = 1;
	if (!run->cfg.ping.client)
		return iw_listen(&run->listener, run->ctx, &conn->at, &conn->protocol, why);
	err = new_session(run, &s, why);
	return err ? err : iw_connect(s->qp, &conn->at, &conn->protocol, why);
}

int iw_rping_run_new(struct iw_rping_run **out, const struct iw_rping_run_cfg *cfg,
		     struct iw_fault *why)
{
	struct iw_rping_run *run = calloc(1, sizeof(*run));
	int err;

	if (!run)
		return iw_fail(why, IW_E_NOMEM, "rping: out of memory");
	run->cfg = *cfg;
	err = open_run(run, why);
	if (err) {
		iw_rping_run_free(run);
		return err;
	}
	*out = run;
	return 0;
}

int iw_rping_run_to_end(struct iw_rping_run *run, struct iw_rping_run_outcome *out,
			struct iw_fault *why)
{
	*out = (struct iw_rping_run_outcome){ 0 };
	for (;;) {
		struct iw_rping_run_news news;
		int err = iw_rping_run_next(run, &news, why);

		if (err)
			return err;
		switch (news.kind) {
		case IW_RPING_RUN_STOPPED:
			return 0;
		case IW_RPING_RUN_UP:
			out->up = news;
			break;
		case IW_RPING_RUN_ROUND:
			iw_log_info("round %" PRIu64 ": %s", news.result.rounds, news.result.text);
			break;
		case IW_RPING_RUN_LEFT:
			out->left = news;
			break;
		}
	}
}

void iw_rping_run_free(struct iw_rping_run *run)
{
	if (!run)
		return;
	for (int i = 0; i < SESSIONS_MAX; i++)
		free_session(run->sessions[i]);
	free_session(run->left);
	if (run->ctx)
		iw_ctx_free(run->ctx);
	free(run);
}
