// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The client of a run: moves its lanes from phase to phase, and calculates one result from their
 * MARKs. */
#include "ddp-bench/bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/conn_facts.h"
#include "cli/context.h"
#include "cli/human.h"
#include "cli/listener.h"
#include "cli/param.h"
#include "cli/signals.h"
#include "ddp-bench/lane.h"
#include "os/os.h"

/* Completions taken from the queue at once. */
#define POLL 64

static struct lane *lanes_end(const struct iw_bench_client *c)
{
	return c->lanes + c->nlanes;
}

/* True for the first lane of an association or connection. */
static bool leads(const struct lane *l)
{
	return (uint32_t)(l - l->client->lanes) % l->client->cfg.streams == 0;
}

/* Counts a lane that has completed the phase. Returns true for the last one. */
static bool all_did(struct iw_bench_client *c)
{
	if (++c->steps < c->nlanes)
		return false;
	c->steps = 0;
	return true;
}

/* --- results ---------------------------------------------------------------------------------- */

/* Returns the time of a MARK on the clock of the receiving end. */
static uint64_t time_of(const struct iw_bench_client *c, const struct mark *k)
{
	return c->result.receiver_is_server ? k->theirs.sample.at_ns : k->mine.at_ns;
}

/* Returns the messages before a MARK: those that the server counted, or those that were posted. The
 * receiver of Writes cannot count them, but confirms their octets. */
static uint64_t messages_of(const struct iw_bench_client *c, const struct mark *k)
{
	return operation(&c->cfg) == IW_BENCH_SEND ? k->theirs.messages : k->messages;
}

static uint64_t octets_of(const struct iw_bench_client *c, const struct mark *k)
{
	return c->result.receiver_is_server ? k->theirs.octets : k->messages * c->cfg.size;
}

/*
 * Sets what a process used from the latest first MARK to the latest last MARK of all lanes. The
 * caller adds the counts that each lane has.
 */
static void span(struct iw_bench_sample *out, const struct iw_bench_sample *first,
		 const struct iw_bench_sample *last)
{
	iw_bench_sample_diff(out, first, last);
	out->tx_octets = out->rx_octets = out->tx_fpdus = out->rx_fpdus = out->retransmits = 0;
}

/* Takes the largest values of an association's streams: they only grow, so these are the latest. */
static void latest(struct iw_bench_sample *to, const struct iw_bench_sample *s)
{
	to->tx_calls = IW_MAX(to->tx_calls, s->tx_calls);
	to->rx_calls = IW_MAX(to->rx_calls, s->rx_calls);
	to->retransmits = IW_MAX(to->retransmits, s->retransmits);
}

/* Adds the values of a connection, or those that an association has for all its streams. */
static void add_shared(struct iw_bench_client *c, const struct lane *leader)
{
	struct iw_bench_sample first[2] = { 0 }, last[2] = { 0 };
	struct iw_bench_sample *u[2] = { &c->result.client.used, &c->result.server.used };

	for (const struct lane *l = leader; l < leader + c->cfg.streams; l++) {
		latest(&first[0], &l->origin.mine);
		latest(&first[1], &l->origin.theirs.sample);
		latest(&last[0], &l->final.mine);
		latest(&last[1], &l->final.theirs.sample);
	}
	for (int i = 0; i < 2; i++) {
		u[i]->retransmits += last[i].retransmits - first[i].retransmits;
		/* Over SCTP a server counts them for its port, so span has them for all lanes. */
		if (i == 1 && c->result.assoc.in)
			continue;
		u[i]->tx_calls += last[i].tx_calls - first[i].tx_calls;
		u[i]->rx_calls += last[i].rx_calls - first[i].rx_calls;
	}
}

/* Adds the values that each lane has for itself. */
static void add_own(struct iw_bench_sample *to, const struct iw_bench_sample *first,
		    const struct iw_bench_sample *last)
{
	to->tx_octets += last->tx_octets - first->tx_octets;
	to->rx_octets += last->rx_octets - first->rx_octets;
	to->tx_fpdus += last->tx_fpdus - first->tx_fpdus;
	to->rx_fpdus += last->rx_fpdus - first->rx_fpdus;
}

static void add_lanes(struct iw_bench_client *c)
{
	struct iw_assoc_info a = { .size = sizeof(a) };
	struct iw_bench_result *r = &c->result;

	r->client.used.tx_calls = r->client.used.rx_calls = 0;
	if (!r->assoc.in)
		r->server.used.tx_calls = r->server.used.rx_calls = 0;
	for (struct lane *l = c->lanes; l < lanes_end(c); l++) {
		add_own(&r->client.used, &l->origin.mine, &l->final.mine);
		add_own(&r->server.used, &l->origin.theirs.sample, &l->final.theirs.sample);
		if (!leads(l))
			continue;
		add_shared(c, l);
		if (iw_qp_assoc(l->qp, &a, NULL) == 0)
			r->in_place += a.in_place_octets;
	}
}

/* Jain's index: the square of the sum over n times the sum of the squares. */
static double fairness(const struct iw_bench_client *c)
{
	double sum = 0, squares = 0;

	for (const struct lane *l = c->lanes; l < lanes_end(c); l++) {
		double x = (double)(octets_of(c, &l->final) - octets_of(c, &l->origin));

		sum += x;
		squares += x * x;
	}
	return squares > 0 ? sum * sum / (c->nlanes * squares) : 0;
}

static void make_result(struct iw_bench_client *c)
{
	struct iw_bench_result *r = &c->result;
	const struct lane *first = c->lanes, *last = c->lanes;
	const struct lane *their_first = c->lanes, *their_last = c->lanes;

	r->duration_ns = c->reported_end;
	for (struct lane *l = c->lanes; l < lanes_end(c); l++) {
		r->octets += octets_of(c, &l->final) - octets_of(c, &l->origin);
		r->messages += messages_of(c, &l->final) - messages_of(c, &l->origin);
		r->loans += l->final.theirs.loans - l->origin.theirs.loans;
		if (l->origin.mine.at_ns > first->origin.mine.at_ns)
			first = l;
		if (l->final.mine.at_ns > last->final.mine.at_ns)
			last = l;
		if (l->origin.theirs.sample.at_ns > their_first->origin.theirs.sample.at_ns)
			their_first = l;
		if (l->final.theirs.sample.at_ns > their_last->final.theirs.sample.at_ns)
			their_last = l;
	}
	r->fairness = fairness(c);
	span(&r->client.used, &first->origin.mine, &last->final.mine);
	span(&r->server.used, &their_first->origin.theirs.sample, &their_last->final.theirs.sample);
	iw_qp_info(c->lanes->qp, &r->info);
	(void)iw_cli_facts_tls(&r->tls, c->lanes->qp);
	r->info.private_data = NULL;
	r->info.private_data_len = 0;
	memcpy(r->client.cc, r->info.cc, sizeof(r->client.cc));
	r->assoc.size = sizeof(r->assoc);
	if (iw_qp_assoc(c->lanes->qp, &r->assoc, NULL) != 0)
		r->assoc.in = 0;
	add_lanes(c);
	iw_bench_environment(&r->environment, c->cfg.conn.at.transport, c->cfg.conn.at.interface,
			     r->info.peer);
}

/* --- rounds ----------------------------------------------------------------------------------- */

/* True if the lane has posted its MARK of that round. */
static bool has_mark(const struct lane *l, uint64_t round)
{
	return l->next_mark > round;
}

/* True if no MARK is outstanding, and none is to be posted. */
static bool quiet(const struct iw_bench_client *c)
{
	for (struct lane *l = c->lanes; l < lanes_end(c); l++)
		if (has_mark(l, c->round) || l->mark_wanted)
			return false;
	return true;
}

/* True if the MARKs of all lanes are complete. A lane that posted its last MARK in an earlier round
 * does not take part. */
static bool round_complete(const struct iw_bench_client *c)
{
	bool any = false;

	for (struct lane *l = c->lanes; l < lanes_end(c); l++) {
		const struct mark *k = &l->marks[c->round % MARKS_MAX];

		if (!has_mark(l, c->round)) {
			if (l->stage == TAIL)
				continue;
			return false;
		}
		if (!k->sent || !k->answered)
			return false;
		any = true;
	}
	return any;
}

static bool last_round(const struct iw_bench_client *c)
{
	for (struct lane *l = c->lanes; l < lanes_end(c); l++)
		if (l->stage != TAIL || has_mark(l, c->round + 1))
			return false;
	return true;
}

/* Handles round 0, which begins the window. */
static void window_began(struct iw_bench_client *c)
{
	uint64_t mine = 0;

	for (struct lane *l = c->lanes; l < lanes_end(c); l++) {
		l->origin = l->final = l->marks[0];
		c->began_at = IW_MAX(c->began_at, time_of(c, &l->origin));
		mine = IW_MAX(mine, l->origin.mine.at_ns);
	}
	c->window_end = mine + c->cfg.time_ns;
	c->next_tick = c->cfg.interval_ns ? mine + c->cfg.interval_ns : 0;
}

/* Calculates the interval that a complete round ends. */
static void add_round(struct iw_bench_client *c)
{
	/*
	 * An interval ends after the previous one, even if its only MARKs are those of a lane that
	 * ended early.
	 */
	uint64_t end = c->reported_end + 1;

	c->interval = (struct iw_bench_interval){ .start_ns = c->reported_end };
	for (struct lane *l = c->lanes; l < lanes_end(c); l++) {
		const struct mark *k = &l->marks[c->round % MARKS_MAX];

		if (!has_mark(l, c->round))
			continue;
		c->interval.octets += octets_of(c, k) - octets_of(c, &l->final);
		c->interval.messages += messages_of(c, k) - messages_of(c, &l->final);
		if (time_of(c, k) > c->began_at + end)
			end = time_of(c, k) - c->began_at;
		l->final = *k;
	}
	c->interval.end_ns = c->reported_end = end;
}

static int ask_all(struct iw_bench_client *c, struct iw_fault *why)
{
	int err = 0;

	c->phase = CHECKING;
	for (struct lane *l = c->lanes; l < lanes_end(c); l++)
		if (!err)
			err = iw_bench_lane_check(l, why);
	return err;
}

static void close_all(struct iw_bench_client *c)
{
	c->phase = CLOSING;
	for (struct lane *l = c->lanes; l < lanes_end(c); l++)
		iw_disconnect(l->qp);
}

/* Handles complete rounds in order. The window ends with the last one. */
static int settle(struct iw_bench_client *c, struct iw_fault *why)
{
	while (c->phase == FLOWING && !c->interval_ready && round_complete(c)) {
		bool last = last_round(c);

		if (c->round == 0) {
			window_began(c);
		} else {
			add_round(c);
			/* An interval that is the whole window would repeat the result. */
			c->interval_ready = c->cfg.interval_ns && !(last && c->round == 1);
		}
		c->round++;
		if (!last)
			continue;
		make_result(c);
		if (c->cfg.verify)
			return ask_all(c, why);
		close_all(c);
	}
	return 0;
}

/* At the end of an interval, requests a MARK of each lane. */
static void tick(struct iw_bench_client *c)
{
	if (c->round == 0 || !c->next_tick || c->now < c->next_tick || !quiet(c))
		return;
	/* Intervals missed while the process did not run are skipped. */
	c->next_tick += (c->now - c->next_tick) / c->cfg.interval_ns * c->cfg.interval_ns +
			c->cfg.interval_ns;
	for (struct lane *l = c->lanes; l < lanes_end(c); l++)
		l->mark_wanted = l->stage == WINDOW;
}

static int flow(struct iw_bench_client *c, struct iw_fault *why)
{
	int err = 0;

	if (c->phase != FLOWING)
		return 0;
	tick(c);
	for (struct lane *l = c->lanes; l < lanes_end(c); l++)
		if (!err)
			err = iw_bench_lane_flow(l, why);
	return err;
}

/* --- messages of the server ------------------------------------------------------------------- */

static int unexpected(const struct iw_bench_msg *m, struct iw_fault *why)
{
	return iw_fail(
		why, IW_E_FORMAT,
		"the server sent %s, which is not expected now: is it another version of ddp-bench?",
		iw_bench_type_name(m->type));
}

static int on_ready(struct lane *l, const struct iw_bench_msg *m, struct iw_fault *why)
{
	struct iw_bench_client *c = l->client;

	if (c->phase > PREPARING || l->ready || m->ready.stag > UINT32_MAX)
		return unexpected(m, why);
	l->ready = true;
	l->stag = (uint32_t)m->ready.stag;
	l->to = m->ready.to;
	snprintf(c->result.server.kernel, sizeof(c->result.server.kernel), "%.*s",
		 (int)sizeof(c->result.server.kernel) - 1, m->text);
	if (all_did(c)) {
		c->warm_end = iw_time_add(c->now, c->cfg.warmup_ns);
		c->phase = FLOWING;
	}
	return 0;
}

static int on_report(struct lane *l, const struct iw_bench_msg *m, struct iw_fault *why)
{
	struct iw_bench_client *c = l->client;
	struct mark *k = &l->marks[m->report.number % MARKS_MAX];

	if (c->phase != FLOWING || m->report.number < c->round || !has_mark(l, m->report.number) ||
	    k->answered)
		return unexpected(m, why);
	k->answered = true;
	k->theirs = m->report;
	c->result.server_clients = IW_MAX(c->result.server_clients, k->theirs.clients);
	snprintf(c->result.server.cc, sizeof(c->result.server.cc), "%.*s",
		 (int)sizeof(c->result.server.cc) - 1, m->text);
	return settle(c, why);
}

static int on_credit(struct lane *l, const struct iw_bench_msg *m, struct iw_fault *why)
{
	if (m->credit.messages > l->posted || m->credit.messages < l->credited)
		return unexpected(m, why);
	l->credited = m->credit.messages;
	return 0;
}

static int on_checked(struct lane *l, const struct iw_bench_msg *m, struct iw_fault *why)
{
	struct iw_bench_client *c = l->client;

	if (c->phase != CHECKING || l->checked)
		return unexpected(m, why);
	l->checked = true;
	iw_bench_lane_verify(l, &m->checked);
	if (all_did(c))
		close_all(c);
	return 0;
}

static int on_message(struct lane *l, const struct iw_wc *wc, struct iw_fault *why)
{
	struct iw_bench_msg m;
	int err = iw_bench_msg_decode(&m, inbox_at(&l->inbox, wc->wr_id), wc->len, why);

	if (err)
		return err;
	switch (m.type) {
	case IW_BENCH_READY:
		return on_ready(l, &m, why);
	case IW_BENCH_REPORT:
		return on_report(l, &m, why);
	case IW_BENCH_CREDIT:
		return on_credit(l, &m, why);
	case IW_BENCH_CHECKED:
		return on_checked(l, &m, why);
	case IW_BENCH_REFUSED:
		return iw_fail(why, IW_E_REJECTED, "the server refused: %s", m.text);
	case IW_BENCH_RUN:
	case IW_BENCH_GO:
	case IW_BENCH_MARK:
	case IW_BENCH_CHECK:
		break;
	}
	return unexpected(&m, why);
}

/* --- completions and events ------------------------------------------------------------------- */

static int on_sent(struct lane *l, const struct iw_wc *wc, struct iw_fault *why)
{
	uint64_t number = WR_MARK(wc->wr_id);
	struct mark *k;

	outbox_done(&l->outbox, wc->wr_id);
	if (number-- == 0)
		return 0;
	k = &l->marks[number % MARKS_MAX];
	k->sent = true;
	iw_bench_sample_take(&k->mine, l->qp, NULL);
	return settle(l->client, why);
}

static int on_completion(struct iw_bench_client *c, const struct iw_wc *wc, struct iw_fault *why)
{
	struct lane *l = iw_qp_user(wc->qp);
	int err;

	if (wc->status != IW_OK) {
		l->failed = true;
		return 0;
	}
	/*
	 * During the run, a completed send, such as of a MARK, does not prove that the server still
	 * runs.
	 */
	if (wc->op == IW_WC_RECV || !(wc->wr_id & WR_MSG) || c->phase != FLOWING)
		c->seen = c->now;
	if (wc->op == IW_WC_RECV) {
		err = wc->solicited ? on_message(l, wc, why) : iw_bench_lane_pong(l, wc, why);
		if (!err && inbox_post(&l->inbox, l->qp, wc->wr_id) != 0)
			l->failed = true;
		return err;
	}
	if (wc->wr_id & WR_MSG)
		return on_sent(l, wc, why);
	iw_bench_lane_done(l, wc);
	return 0;
}

/* Describes a rejection, with the reason that a server of ddp-bench gave. */
static int rejected(const struct lane *l, const struct iw_fault *fault, struct iw_fault *why)
{
	struct iw_bench_msg m;
	struct iw_qp_info info;

	iw_qp_info(l->qp, &info);
	if (iw_bench_msg_decode(&m, info.private_data, info.private_data_len, NULL) == 0 &&
	    m.type == IW_BENCH_REFUSED)
		return iw_fail(why, IW_E_REJECTED, "the server refused: %s", m.text);
	*why = *fault;
	iw_cli_wrong_listener(why, info.private_data, info.private_data_len, info.peer,
			      "ddp-bench --listen");
	return fault->err;
}

/* Connects the other streams of an association that is established. */
static int follow(struct lane *leader, struct iw_fault *why)
{
	uint32_t streams = leader->client->cfg.streams;
	struct iw_assoc_info a = { .size = sizeof(a) };
	int err = 0;

	if (streams == 1)
		return 0;
	if (iw_qp_assoc(leader->qp, &a, NULL) != 0 || a.in < streams || a.out < streams)
		return iw_fail(
			why, IW_E_LIMIT,
			"--streams %u: the peer agreed to only %u outgoing and %u incoming streams",
			streams, (uint32_t)a.out, (uint32_t)a.in);
	for (uint32_t i = 1; i < streams && !err; i++)
		err = iw_bench_lane_connect(leader + i, leader, why);
	return err;
}

static int on_established(struct lane *l, struct iw_fault *why)
{
	struct iw_bench_msg go = { .type = IW_BENCH_GO };
	struct iw_cli_secure *secure = l->client->cfg.secure;
	int err = secure ? iw_cli_secure_established(secure, l->qp, why) : 0;

	if (err)
		return err;
	l->client->phase = PREPARING;
	l->client->seen = l->client->now;
	err = iw_bench_lane_send_msg(l, &go, 0, why);
	return !err && leads(l) ? follow(l, why) : err;
}

static bool over_sctp(const struct iw_bench_client *c)
{
	const char *via = c->cfg.conn.at.transport;

	return via && strcmp(via, "tcp") != 0;
}

/* Describes a connection that ended before a Reply. */
static int no_reply(const struct iw_bench_client *c, struct iw_fault *why)
{
	const struct iw_cli_param *conn = &c->cfg.conn;

	if (over_sctp(c) || (why->err != IW_E_CLOSED && why->err != IW_E_MPA_LOST))
		return why->err;
	if (conn->protocol.rev)
		return iw_fail(
			why, IW_E_CLOSED,
			"%s, port %u: the peer ended the connection after the Request with Rev %u; try another --rev, or none",
			conn->at.host, (uint32_t)conn->at.port, (uint32_t)conn->protocol.rev);
	return iw_fail(
		why, IW_E_CLOSED,
		"%s, port %u: the peer closed the connection without an MPA Reply; is it an iWARP listener?",
		conn->at.host, (uint32_t)conn->at.port);
}

/* Returns how long the client waits for progress, ns. */
static uint64_t patience(const struct iw_bench_client *c)
{
	return c->phase <= PREPARING ? c->cfg.setup_ns : c->cfg.timeout_ns;
}

static int overdue(const struct iw_bench_client *c, struct iw_fault *why)
{
	static const char *const doing[] = {
		[CONNECTING] = "connecting",
		[FLOWING] = "moving data",
		[CHECKING] = "the server computes its digest",
		[CLOSING] = "the server closes the connection",
	};
	const struct iw_cli_param *conn = &c->cfg.conn;

	if (c->phase == PREPARING)
		return iw_fail(
			why, IW_E_TIMEOUT,
			"%s, port %u: the listener accepted, then sent nothing for %U ms; is it ddp-bench --listen, not another program? If it prepares much memory, --timeout allows more",
			conn->at.host, (uint32_t)conn->at.port, patience(c) / 1000000);
	return iw_fail(
		why, IW_E_TIMEOUT,
		"%s, port %u: no progress for %U ms while %s; is the network up, and does the server still run? --timeout allows more",
		conn->at.host, (uint32_t)conn->at.port, patience(c) / 1000000, doing[c->phase]);
}

/* Describes a connection that was lost during the run, not closed. */
static int cut_off(const struct iw_bench_client *c, struct iw_fault *why)
{
	struct iw_fault lost = *why;

	if (lost.err == IW_E_TIMEOUT && c->phase > PREPARING)
		return overdue(c, why);
	if (lost.err != IW_E_MPA_LOST && lost.os_errno != ECONNRESET && lost.os_errno != EPIPE &&
	    !(over_sctp(c) && lost.err == IW_E_CLOSED))
		return lost.err;
	(void)iw_fail(
		why, lost.err,
		"%s%s%s; the server has ended or the connection was cut; its output may have the reason",
		over_sctp(c) ? c->cfg.conn.at.host : "", over_sctp(c) ? ": " : "", lost.text);
	why->os_errno = lost.os_errno;
	return lost.err;
}

static int on_event(struct iw_bench_client *c, const struct iw_async_event *ev,
		    struct iw_fault *why)
{
	struct lane *l = ev->qp ? iw_qp_user(ev->qp) : NULL;

	switch (ev->type) {
	case IW_EV_CONNECT_REQUEST: /* only for listeners */
		return 0;
	case IW_EV_ESTABLISHED:
		return on_established(l, why);
	case IW_EV_REJECTED:
		return rejected(l, &ev->fault, why);
	case IW_EV_PEER_CLOSED:
		if (c->phase == CLOSING)
			return 0;
		iw_disconnect(l->qp);
		return iw_fail(
			why, IW_E_CLOSED,
			"the server closed the connection during the run; its output has the reason;"
			" is it a ddp-bench --listen?");
	case IW_EV_CLOSED:
		if (c->phase == CLOSING && ev->fault.err == IW_OK) {
			c->phase = all_did(c) ? OVER : CLOSING;
			return 0;
		}
		*why = ev->fault;
		if (c->cfg.secure)
			iw_cli_secure_failed(c->cfg.secure, why);
		if (ev->fault.err == IW_OK)
			return iw_fail(why, IW_E_CLOSED, "the connection ended during the run");
		return c->phase == CONNECTING ? no_reply(c, why) : cut_off(c, why);
	}
	return 0;
}

/* --- the loop --------------------------------------------------------------------------------- */

static uint64_t deadline(const struct iw_bench_client *c)
{
	return iw_time_add(c->seen, patience(c));
}

static int64_t time_to_wait(const struct iw_bench_client *c)
{
	uint64_t until = deadline(c);

	if (c->phase == FLOWING && c->round == 0 && c->now < c->warm_end)
		until = IW_MIN(until, c->warm_end);
	if (c->phase == FLOWING && c->round > 0) {
		if (!c->cfg.count && c->now < c->window_end)
			until = IW_MIN(until, c->window_end);
		if (c->next_tick && quiet(c))
			until = IW_MIN(until, c->next_tick);
	}
	return until > c->now ? (int64_t)IW_MIN(until - c->now, (uint64_t)INT64_MAX) : 0;
}

static int turn(struct iw_bench_client *c, struct iw_fault *why)
{
	struct iw_async_event ev;
	struct iw_wc wc[POLL];
	int n, err;

	err = flow(c, why);
	if (err)
		return err;
	n = iw_cq_wait(c->cq, time_to_wait(c));
	c->now = iw_os_now();
	if (n > 0)
		n = iw_cq_poll(c->cq, wc, POLL);
	if (n < 0)
		return iw_fail(why, n, "wait: %s", iw_err_text(n));
	for (int i = 0; i < n && !err; i++)
		err = on_completion(c, &wc[i], why);
	while (!err && iw_next_event(c->ctx, &ev))
		err = on_event(c, &ev, why);
	if (!err && iw_signals_stop())
		err = iw_fail(why, IW_E_CANCELED, "stopped by a signal");
	if (!err && c->phase != OVER && c->now >= deadline(c))
		err = overdue(c, why);
	return err;
}

/* Removes a clause of MPA from an error over SCTP: errors common to all transports cite it. */
static int of_transport(const struct iw_bench_client *c, struct iw_fault *why)
{
	if (over_sctp(c) && why->clause && strncmp(why->clause, "RFC 5044", 8) == 0)
		why->clause = "";
	return why->err;
}

int iw_bench_client_next(struct iw_bench_client *c, struct iw_bench_interval *iv,
			 struct iw_fault *why)
{
	int err = 0;

	while (!err && !c->interval_ready && c->phase != OVER)
		err = turn(c, why);
	if (err)
		return of_transport(c, why);
	if (c->interval_ready) {
		*iv = c->interval;
		c->interval_ready = false;
		err = settle(c, why);
		return err ? err : IW_BENCH_INTERVAL;
	}
	return IW_BENCH_DONE;
}

/* --- set-up ----------------------------------------------------------------------------------- */

static int check_cfg(struct iw_bench_cfg *cfg, struct iw_fault *why)
{
	const char *via = cfg->conn.at.transport ? cfg->conn.at.transport : "tcp";

	if (cfg->mode == IW_BENCH_PINGPONG)
		cfg->depth = 1;
	cfg->connections = IW_MAX(cfg->connections, 1u);
	cfg->streams = IW_MAX(cfg->streams, 1u);
	if (cfg->size > IW_BENCH_SIZE_MAX)
		return iw_fail(why, IW_E_INVAL, "--size %U: expected at most %U", cfg->size,
			       IW_BENCH_SIZE_MAX);
	if (cfg->depth < 1 || cfg->depth > IW_BENCH_DEPTH_MAX)
		return iw_fail(why, IW_E_INVAL, "--depth %u: expected 1 to %u", cfg->depth,
			       (uint32_t)IW_BENCH_DEPTH_MAX);
	if (!cfg->count && !cfg->time_ns)
		return iw_fail(why, IW_E_INVAL,
			       "neither --count nor --time is given; expected one of them");
	if (cfg->connections > IW_BENCH_LANES || cfg->streams > IW_BENCH_LANES ||
	    cfg->connections * cfg->streams > IW_BENCH_LANES)
		return iw_fail(why, IW_E_INVAL,
			       "--connections %u, --streams %u: expected at most %u streams in all",
			       cfg->connections, cfg->streams, (uint32_t)IW_BENCH_LANES);
	if (cfg->streams > 1 && strcmp(via, "tcp") == 0)
		return iw_fail(
			why, IW_E_INVAL,
			"--streams: TCP has no streams; use it with -t sctp, udp, raw or xdp");
	return 0;
}

/* Checks before allocation that the machine has the memory, since the kernel may grant more. */
static int check_memory(const struct iw_bench_cfg *cfg, struct iw_fault *why)
{
	uint64_t lanes = (uint64_t)cfg->connections * cfg->streams, each, all;
	char size[IW_HUMAN_TEXT], need[IW_HUMAN_TEXT], have[IW_HUMAN_TEXT], streams[32] = "";
	struct inbox in;

	iw_bench_inbox_shape(&in, false, operation(cfg), cfg->size, cfg->depth);
	each = iw_bench_memory_need(cfg->size, cfg->depth) + (uint64_t)in.n * in.cap;
	all = iw_bench_memory_of_machine();
	if (each <= all / lanes)
		return 0;
	if (cfg->streams > 1)
		snprintf(streams, sizeof(streams), " --streams %u,", cfg->streams);
	return iw_fail(
		why, IW_E_NOMEM,
		"--connections %u,%s --size %s, --depth %u: %s of memory; this machine has %s: use a smaller --size, --depth or --connections",
		cfg->connections, streams, iw_human_size(size, cfg->size), cfg->depth,
		iw_human_size(need, each * lanes), iw_human_size(have, all));
}

/* Allocates the memory of all lanes in the UMEM, which must exist before the first connection. */
static int get_umem(struct iw_bench_client *c, uint64_t lanes, struct iw_fault *why)
{
	uint64_t each = iw_bench_memory_need(c->cfg.size, c->cfg.depth);

	if (each > IW_BENCH_SIZE_MAX || each * lanes > IW_BENCH_SIZE_MAX)
		return iw_fail(
			why, IW_E_INVAL,
			"--umem: %u streams of %u messages of %U octets need more than %U octets; use a "
			"smaller --size, --depth or --connections",
			(uint32_t)lanes, c->cfg.depth, c->cfg.size, IW_BENCH_SIZE_MAX);
	return iw_bench_memory_get_umem(&c->umem, &c->cfg.conn, each * lanes, why);
}

/* Prepares the memory of all lanes before the first one connects, so that no connection waits for
 * the memory of another lane. */
static int open_lanes(struct iw_bench_client *c, struct iw_fault *why)
{
	uint64_t n = c->cfg.connections * c->cfg.streams;
	int err = 0;

	c->lanes = calloc(n, sizeof(*c->lanes));
	if (!c->lanes)
		return iw_fail(why, IW_E_NOMEM, "out of memory");
	if (c->cfg.umem)
		err = get_umem(c, n, why);
	for (; c->nlanes < n && !err; c->nlanes++) {
		struct lane *l = &c->lanes[c->nlanes];

		l->client = c;
		l->count = c->cfg.count / n + (c->nlanes < c->cfg.count % n);
		err = iw_bench_lane_open(l, why);
	}
	for (uint64_t i = 0; i < n && !err; i += c->cfg.streams)
		err = iw_bench_lane_connect(&c->lanes[i], NULL, why);
	return err;
}

static int start(struct iw_bench_client *c, struct iw_fault *why)
{
	struct iw_ctx_attr attr = {
		.size = sizeof(attr),
		.setup_ns = c->cfg.setup_ns,
		.stall_ns = c->cfg.timeout_ns,
		.spin_ns = c->cfg.spin_ns,
		.trace = c->cfg.trace,
		.trace_ctx = c->cfg.trace_ctx,
	};
	int err = check_cfg(&c->cfg, why);

	if (!err)
		err = check_memory(&c->cfg, why);
	if (!err)
		err = iw_cli_context(&c->ctx, &c->pd, &c->cq, &attr, why);
	return err ? err : open_lanes(c, why);
}

int iw_bench_client_new(struct iw_bench_client **out, const struct iw_bench_cfg *cfg,
			struct iw_fault *why)
{
	struct iw_bench_client *c = calloc(1, sizeof(*c));
	struct iw_bench_result *r;
	int err;

	*out = NULL;
	if (!c)
		return iw_fail(why, IW_E_NOMEM, "out of memory");
	c->cfg = *cfg;
	iw_hist_init(&c->round_trips);
	iw_hist_init(&c->completions);
	err = start(c, why);
	if (err) {
		iw_bench_client_free(c);
		return err;
	}
	r = &c->result;
	r->mode = c->cfg.mode;
	r->size = c->cfg.size;
	r->depth = c->cfg.depth;
	r->connections = c->cfg.connections;
	r->streams = c->cfg.streams;
	r->umem = c->cfg.umem;
	r->loan = c->cfg.loan;
	r->receiver_is_server = r->mode != IW_BENCH_READ && r->mode != IW_BENCH_PINGPONG;
	r->round_trips = r->mode == IW_BENCH_PINGPONG ? &c->round_trips : NULL;
	r->completions = r->mode == IW_BENCH_PINGPONG ? NULL : &c->completions;
	iw_bench_kernel(r->client.kernel, sizeof(r->client.kernel));
	c->now = c->seen = iw_os_now();
	*out = c;
	return 0;
}

const struct iw_bench_result *iw_bench_client_result(const struct iw_bench_client *c)
{
	return &c->result;
}

void iw_bench_client_free(struct iw_bench_client *c)
{
	if (!c)
		return;
	/* First the context, with all its objects: they refer to the memory of the lanes. */
	iw_ctx_free(c->ctx);
	for (struct lane *l = c->lanes; l < lanes_end(c); l++)
		iw_bench_lane_close(l);
	iw_bench_memory_put(&c->umem);
	free(c->lanes);
	free(c);
}
