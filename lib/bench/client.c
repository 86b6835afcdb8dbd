// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The client of a run: moves the data, puts MARKs between it, makes the result of them. */
#include "bench/bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/internal.h"
#include "bench/pattern.h"
#include "cli/signals.h"
#include "os/os.h"

/* Completions taken at once. */
#define POLL 64
/* Of what the server's memory is to hold, and ours. Any will do; the same in each run, so that
 * a failure can be repeated. */
#define SEED UINT64_C(0x6977617270626e63)

enum phase {
	CONNECTING,
	PREPARING, /* the server fills its memory */
	FLOWING,
	CHECKING, /* the server makes its digest */
	CLOSING,
	OVER,
};

enum stage {
	WARM,   /* before the first MARK */
	WINDOW, /* behind it */
	TAIL,   /* behind the last one: nothing more is posted */
};

/* A MARK is complete when it has been sent, which says how far we are, and answered, which says
 * how far the server is. */
struct mark {
	bool sent, answered;
	uint64_t messages; /* posted before it */
	struct iw_bench_sample mine;
	struct iw_bench_report theirs;
};

struct iw_bench_client {
	struct iw_bench_cfg cfg;
	struct iw_ctx *ctx;
	struct iw_pd *pd;
	struct iw_cq *cq;
	struct iw_qp *qp;
	struct iw_mr *mr;   /* read: the sink */
	struct memory data; /* depth slots of size octets */
	struct inbox inbox;
	struct outbox outbox;
	enum phase phase;
	bool failed;        /* an operation has: the event that says why is on its way */
	uint64_t now, seen; /* seen: when something moved last */
	uint32_t stag;
	uint64_t to;

	enum stage stage;
	uint64_t posted, done; /* operations */
	uint64_t first;        /* of the window */
	uint64_t credited;     /* send: those whose buffers the server has posted again */
	uint64_t warm_end, window_end, next_tick;
	bool ball_out; /* pingpong: it is with the server */
	uint64_t served_at, ball_at;

	struct mark marks[MARKS_MAX];
	uint64_t next_mark;         /* number of the next to be posted */
	uint64_t settled;           /* of the first that is not complete */
	struct mark origin, before; /* the window's first, the last settled one */
	bool told;                  /* an interval waits to be taken */
	struct iw_bench_interval interval;

	struct iw_hist round_trips;
	struct iw_bench_result result;
};

static uint8_t *slot_of(const struct iw_bench_client *c, uint64_t message)
{
	return c->data.base + message % c->cfg.depth * c->cfg.size;
}

/* --- operations ------------------------------------------------------------------------------- */

static int post_failed(const char *what, int err, struct iw_fault *why)
{
	return iw_fail(why, err, "post %s: %s", what, iw_err_text(err));
}

static int tell(struct iw_bench_client *c, const struct iw_bench_msg *m, unsigned flags,
		uint64_t mark, struct iw_fault *why)
{
	int err = iw_bench_tell(&c->outbox, c->qp, m, flags, mark);

	return err ? post_failed(iw_bench_type_name(m->type), err, why) : 0;
}

/* The first and the last MARK overtake no Read, so that both ends count the same ones. Those
 * between would stop the flow for a round trip. */
static int post_mark(struct iw_bench_client *c, struct iw_fault *why)
{
	struct iw_bench_msg m = { .type = IW_BENCH_MARK };
	uint64_t number = c->next_mark++;
	struct mark *k = &c->marks[number % MARKS_MAX];
	unsigned flags = number == 0 || c->stage == TAIL ? IW_WR_FENCE : 0;

	*k = (struct mark){ .messages = c->posted };
	m.mark.number = number;
	m.mark.octets = c->posted * c->cfg.size;
	m.mark.last = c->stage == TAIL;
	/* 0 is no MARK. */
	return tell(c, &m, flags, number + 1, why);
}

static int post_data(struct iw_bench_client *c, struct iw_fault *why)
{
	struct iw_sge sge = { slot_of(c, c->posted), c->cfg.size };
	struct iw_send_wr wr = {
		.wr_id = c->posted,
		/* A ball that came back has gone out. */
		.flags = c->cfg.mode == IW_BENCH_PINGPONG ? IW_WR_QUIET : 0,
		.remote_stag = c->stag,
		.remote_to = c->to + c->posted % c->cfg.depth * c->cfg.size,
	};
	int err;

	if (c->cfg.mode == IW_BENCH_READ) {
		wr.op = IW_WR_READ;
		wr.sink = c->mr;
		wr.sink_to = c->posted % c->cfg.depth * c->cfg.size;
		wr.len = (uint32_t)c->cfg.size;
		/* What it must not hold afterwards. */
		iw_bench_stamp(slot_of(c, c->posted), c->cfg.size, UINT64_MAX);
	} else {
		wr.op = c->cfg.mode == IW_BENCH_WRITE ? IW_WR_WRITE : IW_WR_SEND;
		wr.sge = &sge;
		wr.nsge = 1;
		/* The operation that used this slot before is complete: the octets are ours
		 * again. */
		iw_bench_stamp(slot_of(c, c->posted), c->cfg.size, c->posted);
	}
	err = iw_post_send(c->qp, &wr);
	if (err)
		return post_failed("an operation", err, why);
	c->posted++;
	return 0;
}

static bool marks_pending(const struct iw_bench_client *c)
{
	return c->settled < c->next_mark;
}

/* --- the flow --------------------------------------------------------------------------------- */

static bool window_full(const struct iw_bench_client *c)
{
	if (c->stage != WINDOW)
		return false;
	if (c->cfg.count)
		return c->posted - c->first >= c->cfg.count;
	return c->window_end && c->now >= c->window_end;
}

static bool tick_due(const struct iw_bench_client *c)
{
	return c->stage == WINDOW && c->next_tick && c->now >= c->next_tick && !marks_pending(c);
}

/* Between two operations: the MARK that is due there, if one is. */
static int mark_if_due(struct iw_bench_client *c, struct iw_fault *why)
{
	if (c->stage == WARM && c->now >= c->warm_end) {
		c->stage = WINDOW;
		c->first = c->posted;
		return post_mark(c, why);
	}
	if (window_full(c)) {
		c->stage = TAIL;
		return post_mark(c, why);
	}
	if (tick_due(c)) {
		/* Those missed while the system had no time for us are not made up for. */
		c->next_tick += (c->now - c->next_tick) / c->cfg.interval_ns * c->cfg.interval_ns +
				c->cfg.interval_ns;
		return post_mark(c, why);
	}
	return 0;
}

static bool may_post(const struct iw_bench_client *c)
{
	if (c->stage == TAIL || c->posted - c->done >= c->cfg.depth || window_full(c))
		return false;
	/* What came before both ends have seen the window begin would be in no figure. */
	if (c->stage == WINDOW && c->settled == 0)
		return false;
	return c->cfg.mode != IW_BENCH_SEND || c->posted - c->credited < c->cfg.depth;
}

static int stream(struct iw_bench_client *c, struct iw_fault *why)
{
	int err = mark_if_due(c, why);

	while (!err && may_post(c)) {
		err = post_data(c, why);
		if (!err && window_full(c))
			err = mark_if_due(c, why);
	}
	return err;
}

/* One ball. MARKs go while it is at home, and it stays there until they are answered. */
static int volley(struct iw_bench_client *c, struct iw_fault *why)
{
	int err;

	if (c->ball_out || marks_pending(c))
		return 0;
	err = mark_if_due(c, why);
	if (err || c->stage == TAIL || marks_pending(c))
		return err;
	c->ball_out = true;
	c->served_at = c->now;
	return post_data(c, why);
}

static int flow(struct iw_bench_client *c, struct iw_fault *why)
{
	if (c->phase != FLOWING || c->failed)
		return 0;
	return c->cfg.mode == IW_BENCH_PINGPONG ? volley(c, why) : stream(c, why);
}

/* --- results ---------------------------------------------------------------------------------- */

static void count_between(const struct iw_bench_client *c, const struct mark *a,
			  const struct mark *b, struct iw_bench_interval *iv)
{
	bool server = c->result.receiver_is_server;
	const struct mark *o = &c->origin;

	iv->start_ns = server ? a->theirs.sample.at_ns - o->theirs.sample.at_ns
			      : a->mine.at_ns - o->mine.at_ns;
	iv->end_ns = server ? b->theirs.sample.at_ns - o->theirs.sample.at_ns
			    : b->mine.at_ns - o->mine.at_ns;
	/* Writes are not counted by who receives them, but their octets are confirmed. */
	iv->messages = c->cfg.mode == IW_BENCH_SEND ? b->theirs.messages - a->theirs.messages
						    : b->messages - a->messages;
	iv->octets = server ? b->theirs.octets - a->theirs.octets : iv->messages * c->cfg.size;
}

static void make_result(struct iw_bench_client *c, const struct mark *last)
{
	struct iw_bench_result *r = &c->result;
	struct iw_bench_interval all;

	count_between(c, &c->origin, last, &all);
	r->octets = all.octets;
	r->messages = all.messages;
	r->duration_ns = all.end_ns;
	iw_bench_sample_diff(&r->client.used, &c->origin.mine, &last->mine);
	iw_bench_sample_diff(&r->server.used, &c->origin.theirs.sample, &last->theirs.sample);
	iw_qp_info(c->qp, &r->info);
	r->info.private_data = NULL;
	r->info.private_data_len = 0;
	memcpy(r->client.cc, r->info.cc, sizeof(r->client.cc));
	r->assoc.size = sizeof(r->assoc);
	if (iw_qp_assoc(c->qp, &r->assoc) != 0)
		r->assoc.in = 0;
}

static int begin_check(struct iw_bench_client *c, struct iw_fault *why)
{
	struct iw_bench_msg m = { .type = IW_BENCH_CHECK };

	c->phase = CHECKING;
	m.check.slots = IW_MIN(c->posted, (uint64_t)c->cfg.depth);
	return tell(c, &m, 0, 0, why);
}

static void begin_close(struct iw_bench_client *c)
{
	c->phase = CLOSING;
	iw_disconnect(c->qp);
}

static void verdict(struct iw_bench_client *c, const char *mismatch)
{
	struct iw_bench_result *r = &c->result;

	if (r->verdict == IW_BENCH_BAD)
		return;
	r->verdict = mismatch ? IW_BENCH_BAD : IW_BENCH_GOOD;
	snprintf(r->mismatch, sizeof(r->mismatch), "%s", mismatch ? mismatch : "");
}

static void window_began(struct iw_bench_client *c, const struct mark *k)
{
	c->origin = c->before = *k;
	c->window_end = c->cfg.count ? 0 : k->mine.at_ns + c->cfg.time_ns;
	c->next_tick = c->cfg.interval_ns ? k->mine.at_ns + c->cfg.interval_ns : 0;
}

/* MARKs that are complete, in their order. The window ends with the last one. */
static int settle(struct iw_bench_client *c, struct iw_fault *why)
{
	while (marks_pending(c) && !c->told) {
		struct mark *k = &c->marks[c->settled % MARKS_MAX];
		bool last = c->stage == TAIL && c->settled + 1 == c->next_mark;

		if (!k->sent || !k->answered)
			return 0;
		c->result.server_clients = IW_MAX(c->result.server_clients, k->theirs.clients);
		if (c->settled++ == 0) {
			window_began(c, k);
			continue;
		}
		/* One that is the whole window would say what the result says. */
		if (c->cfg.interval_ns && !(last && c->settled == 2)) {
			count_between(c, &c->before, k, &c->interval);
			c->told = true;
		}
		c->before = *k;
		if (!last)
			continue;
		make_result(c, k);
		if (c->cfg.verify)
			return begin_check(c, why);
		begin_close(c);
	}
	return 0;
}

/* --- verification ----------------------------------------------------------------------------- */

/* What the server's memory must hold, as a digest. */
static bool digest_of_slots(const struct iw_bench_client *c, uint64_t *out)
{
	struct iw_bench_digest d;

	if (!iw_bench_digest_init(&d))
		return false;
	iw_bench_digest_add(&d, c->data.base,
			    IW_MIN(c->posted, (uint64_t)c->cfg.depth) * c->cfg.size);
	*out = iw_bench_digest_end(&d);
	return true;
}

/* Messages first..last-1 as they were when they were sent. */
static bool digest_of_messages(const struct iw_bench_client *c, uint64_t first, uint64_t last,
			       uint64_t *out)
{
	struct iw_bench_digest d;

	if (!iw_bench_digest_init(&d))
		return false;
	for (uint64_t i = first; i < last; i++) {
		iw_bench_stamp(slot_of(c, i), c->cfg.size, i);
		iw_bench_digest_add(&d, slot_of(c, i), c->cfg.size);
	}
	*out = iw_bench_digest_end(&d);
	return true;
}

static const char *compare(struct iw_bench_client *c, const struct iw_bench_checked *k,
			   char text[static 160])
{
	uint64_t expected;
	bool made;

	if (c->cfg.mode == IW_BENCH_SEND) {
		if (k->wrong || k->last != c->posted || k->first > k->last ||
		    k->last - k->first > c->cfg.depth + MSG_RECEIVES) {
			snprintf(text, 160,
				 "server received %" PRIu64 " messages, %" PRIu64
				 " of them wrong: sent %" PRIu64,
				 k->last, k->wrong, c->posted);
			return text;
		}
		made = digest_of_messages(c, k->first, k->last, &expected);
	} else {
		made = digest_of_slots(c, &expected);
	}
	if (!made)
		return "no memory for the digest";
	if (k->digest == expected)
		return NULL;
	snprintf(text, 160, "digest of the server's memory %016" PRIx64 ", of ours %016" PRIx64,
		 k->digest, expected);
	return text;
}

/* A Read is done: its first octets are what the server has there. The rest is looked at
 * afterwards. */
static void look_at_read(struct iw_bench_client *c, uint64_t message)
{
	size_t len = IW_MIN(c->cfg.size, (uint64_t)IW_BENCH_STAMP);
	char text[100];

	if (!c->cfg.verify ||
	    iw_bench_holds(slot_of(c, message), len, SEED, message % c->cfg.depth * c->cfg.size))
		return;
	snprintf(text, sizeof(text), "RDMA Read %" PRIu64 " completed without its first octets",
		 message);
	verdict(c, text);
}

static void look_at_ball(struct iw_bench_client *c, const struct iw_wc *wc)
{
	char text[100];

	if (!c->cfg.verify)
		return;
	if (wc->len == c->cfg.size &&
	    iw_bench_stamped(inbox_at(&c->inbox, wc->wr_id), wc->len, c->done))
		return;
	snprintf(text, sizeof(text), "answer %" PRIu64 ": %u octets that are not those sent",
		 c->done, wc->len);
	verdict(c, text);
}

static void look_at_last_ball(struct iw_bench_client *c)
{
	if (c->done &&
	    memcmp(inbox_at(&c->inbox, c->ball_at), slot_of(c, c->done - 1), c->cfg.size) != 0)
		verdict(c, "the last answer differs from what was sent");
}

/* --- messages of the server ------------------------------------------------------------------- */

static int unexpected(const struct iw_bench_msg *m, struct iw_fault *why)
{
	return iw_fail(why, IW_E_FORMAT, "the server sent %s out of turn",
		       iw_bench_type_name(m->type));
}

static int on_ready(struct iw_bench_client *c, const struct iw_bench_msg *m, struct iw_fault *why)
{
	if (c->phase != PREPARING || m->ready.stag > UINT32_MAX)
		return unexpected(m, why);
	c->stag = (uint32_t)m->ready.stag;
	c->to = m->ready.to;
	snprintf(c->result.server.kernel, sizeof(c->result.server.kernel), "%.*s",
		 (int)sizeof(c->result.server.kernel) - 1, m->text);
	c->warm_end = iw_time_add(c->now, c->cfg.warmup_ns);
	c->phase = FLOWING;
	return 0;
}

static int on_report(struct iw_bench_client *c, const struct iw_bench_msg *m, struct iw_fault *why)
{
	struct mark *k = &c->marks[m->report.number % MARKS_MAX];

	if (c->phase != FLOWING || m->report.number < c->settled ||
	    m->report.number >= c->next_mark || k->answered)
		return unexpected(m, why);
	k->answered = true;
	k->theirs = m->report;
	snprintf(c->result.server.cc, sizeof(c->result.server.cc), "%.*s",
		 (int)sizeof(c->result.server.cc) - 1, m->text);
	return settle(c, why);
}

static int on_credit(struct iw_bench_client *c, const struct iw_bench_msg *m, struct iw_fault *why)
{
	if (m->credit.messages > c->posted || m->credit.messages < c->credited)
		return unexpected(m, why);
	c->credited = m->credit.messages;
	return 0;
}

static int on_checked(struct iw_bench_client *c, const struct iw_bench_msg *m, struct iw_fault *why)
{
	char text[160];

	if (c->phase != CHECKING)
		return unexpected(m, why);
	if (c->cfg.mode == IW_BENCH_PINGPONG)
		look_at_last_ball(c);
	else
		verdict(c, compare(c, &m->checked, text));
	verdict(c, NULL);
	begin_close(c);
	return 0;
}

static int on_message(struct iw_bench_client *c, const struct iw_wc *wc, struct iw_fault *why)
{
	struct iw_bench_msg m;
	int err = iw_bench_msg_decode(&m, inbox_at(&c->inbox, wc->wr_id), wc->len, why);

	if (err)
		return err;
	switch (m.type) {
	case IW_BENCH_READY:
		return on_ready(c, &m, why);
	case IW_BENCH_REPORT:
		return on_report(c, &m, why);
	case IW_BENCH_CREDIT:
		return on_credit(c, &m, why);
	case IW_BENCH_CHECKED:
		return on_checked(c, &m, why);
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

static int on_ball(struct iw_bench_client *c, const struct iw_wc *wc, struct iw_fault *why)
{
	if (!c->ball_out)
		return iw_fail(why, IW_E_FORMAT, "the server sent data that nobody asked for");
	c->ball_out = false;
	c->ball_at = wc->wr_id;
	look_at_ball(c, wc);
	c->done++;
	if (c->stage == WINDOW)
		iw_hist_add(&c->round_trips, c->now - c->served_at);
	return 0;
}

static int on_sent(struct iw_bench_client *c, const struct iw_wc *wc, struct iw_fault *why)
{
	uint64_t number = WR_MARK(wc->wr_id);
	struct mark *k;

	outbox_done(&c->outbox, wc->wr_id);
	if (number-- == 0)
		return 0;
	k = &c->marks[number % MARKS_MAX];
	k->sent = true;
	iw_bench_sample_take(&k->mine, c->qp, NULL);
	return settle(c, why);
}

static int on_completion(struct iw_bench_client *c, const struct iw_wc *wc, struct iw_fault *why)
{
	int err;

	if (wc->status != IW_OK) {
		c->failed = true;
		return 0;
	}
	c->seen = c->now;
	if (wc->op == IW_WC_RECV) {
		err = wc->solicited ? on_message(c, wc, why) : on_ball(c, wc, why);
		if (!err && inbox_post(&c->inbox, c->qp, wc->wr_id) != 0)
			c->failed = true;
		return err;
	}
	if (wc->wr_id & WR_MSG)
		return on_sent(c, wc, why);
	if (wc->op == IW_WC_READ)
		look_at_read(c, wc->wr_id);
	c->done++;
	return 0;
}

/* The server's words, if it is one. */
static int rejected(struct iw_bench_client *c, const struct iw_fault *fault, struct iw_fault *why)
{
	struct iw_bench_msg m;
	struct iw_qp_info info;

	iw_qp_info(c->qp, &info);
	if (iw_bench_msg_decode(&m, info.private_data, info.private_data_len, NULL) == 0 &&
	    m.type == IW_BENCH_REFUSED)
		return iw_fail(why, IW_E_REJECTED, "the server refused: %s", m.text);
	*why = *fault;
	return fault->err;
}

static int on_event(struct iw_bench_client *c, const struct iw_async_event *ev,
		    struct iw_fault *why)
{
	struct iw_bench_msg go = { .type = IW_BENCH_GO };

	switch (ev->type) {
	case IW_EV_CONNECT_REQUEST: /* a listener's */
		return 0;
	case IW_EV_ESTABLISHED:
		c->phase = PREPARING;
		c->seen = c->now;
		return tell(c, &go, 0, 0, why);
	case IW_EV_REJECTED:
		return rejected(c, &ev->fault, why);
	case IW_EV_PEER_CLOSED:
		if (c->phase == CLOSING)
			return 0;
		iw_disconnect(c->qp);
		return iw_fail(why, IW_E_CLOSED,
			       "the server closed the connection in the middle of the run");
	case IW_EV_CLOSED:
		if (c->phase == CLOSING && ev->fault.err == IW_OK) {
			c->phase = OVER;
			return 0;
		}
		*why = ev->fault;
		if (ev->fault.err == IW_OK)
			return iw_fail(why, IW_E_CLOSED,
				       "the connection ended in the middle of the run");
		return ev->fault.err;
	}
	return 0;
}

/* --- a turn ----------------------------------------------------------------------------------- */

static uint64_t deadline(const struct iw_bench_client *c)
{
	uint64_t patience = c->phase <= PREPARING ? c->cfg.setup_ns : c->cfg.timeout_ns;

	return iw_time_add(c->seen, patience);
}

static int64_t time_to_wait(const struct iw_bench_client *c)
{
	uint64_t until = deadline(c);

	if (c->phase == FLOWING) {
		if (c->stage == WARM)
			until = IW_MIN(until, c->warm_end);
		if (c->stage == WINDOW && c->window_end)
			until = IW_MIN(until, c->window_end);
		if (c->stage == WINDOW && c->next_tick && !marks_pending(c))
			until = IW_MIN(until, c->next_tick);
	}
	return until > c->now ? (int64_t)IW_MIN(until - c->now, (uint64_t)INT64_MAX) : 0;
}

static int overdue(const struct iw_bench_client *c, struct iw_fault *why)
{
	static const char *const doing[] = {
		[CONNECTING] = "connecting",
		[PREPARING] = "waiting for the server to be ready",
		[FLOWING] = "moving data",
		[CHECKING] = "waiting for the server's digest",
		[CLOSING] = "waiting for the server to close",
		[OVER] = "done",
	};

	return iw_fail(why, IW_E_TIMEOUT, "%s: nothing happened for %U ms", doing[c->phase],
		       (c->now - c->seen) / 1000000);
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

int iw_bench_client_next(struct iw_bench_client *c, struct iw_bench_interval *iv,
			 struct iw_fault *why)
{
	int err = 0;

	while (!err && !c->told && c->phase != OVER)
		err = turn(c, why);
	if (err)
		return err;
	if (c->told) {
		*iv = c->interval;
		c->told = false;
		err = settle(c, why);
		return err ? err : IW_BENCH_INTERVAL;
	}
	return IW_BENCH_DONE;
}

/* --- set-up ----------------------------------------------------------------------------------- */

static int check_cfg(struct iw_bench_cfg *cfg, struct iw_fault *why)
{
	if (cfg->mode == IW_BENCH_PINGPONG)
		cfg->depth = 1;
	if (cfg->size > IW_BENCH_SIZE_MAX)
		return iw_fail(why, IW_E_INVAL, "size %U: at most %U", cfg->size,
			       IW_BENCH_SIZE_MAX);
	if (cfg->depth < 1 || cfg->depth > IW_BENCH_DEPTH_MAX)
		return iw_fail(why, IW_E_INVAL, "depth %u: expected 1 to %u", cfg->depth,
			       (uint32_t)IW_BENCH_DEPTH_MAX);
	if (!cfg->count && !cfg->time_ns)
		return iw_fail(why, IW_E_INVAL, "neither a count nor a time is given");
	return 0;
}

/* Filled before the connection begins, so that nobody waits for it in the middle of the set-up. */
static int make_memory(struct iw_bench_client *c, struct iw_fault *why)
{
	uint64_t len = iw_bench_memory_need(c->cfg.size, c->cfg.depth);
	int err = iw_bench_memory_get(&c->data, len, why);

	if (err)
		return err;
	if (c->cfg.mode == IW_BENCH_READ)
		/* Touched, so that no page is new in the window. */
		memset(c->data.base, 0, c->data.len);
	else
		iw_bench_fill(c->data.base, c->data.len, ~SEED, 0);
	return 0;
}

static int make_queues(struct iw_bench_client *c, struct iw_fault *why)
{
	struct iw_ctx_attr ctx = {
		.size = sizeof(ctx),
		.setup_ns = c->cfg.setup_ns,
		.stall_ns = c->cfg.timeout_ns,
		.spin_ns = c->cfg.spin_ns,
		.trace = c->cfg.trace,
		.trace_ctx = c->cfg.trace_ctx,
	};
	struct iw_qp_attr qp = { .size = sizeof(qp), .sq_depth = c->cfg.depth + OUTBOX };
	int err;

	iw_bench_inbox_shape(&c->inbox, false, c->cfg.mode, c->cfg.size, c->cfg.depth);
	qp.rq_depth = c->inbox.n;
	err = iw_ctx_new(&c->ctx, &ctx, why);
	if (err)
		return err;
	err = iw_ctx_wake_fd(c->ctx, iw_signals_fd());
	if (!err)
		err = iw_pd_new(&c->pd, c->ctx);
	if (!err)
		err = iw_cq_new(&c->cq, c->ctx);
	if (err)
		return iw_fail(why, err, "set up: %s", iw_err_text(err));
	qp.send_cq = qp.recv_cq = c->cq;
	err = iw_qp_new(&c->qp, c->pd, &qp, why);
	if (err)
		return err;
	return iw_bench_inbox_open(&c->inbox, c->qp, why);
}

static int make_sink(struct iw_bench_client *c, struct iw_fault *why)
{
	struct iw_mr_attr mr = {
		.addr = c->data.base,
		.len = c->data.len,
		.access = IW_ACCESS_READ_SINK,
		.qp = c->qp,
	};

	return c->cfg.mode == IW_BENCH_READ ? iw_mr_reg(&c->mr, c->pd, &mr, why) : 0;
}

static int begin(struct iw_bench_client *c, struct iw_fault *why)
{
	struct iw_bench_msg run = {
		.type = IW_BENCH_RUN,
		.run = {
			.version = IW_BENCH_VERSION,
			.mode = c->cfg.mode,
			.size = c->cfg.size,
			.depth = c->cfg.depth,
			.seed = SEED,
		},
	};
	uint8_t private_data[IW_BENCH_MSG_MAX];
	struct iw_conn_param param = c->cfg.conn;

	snprintf(run.text, sizeof(run.text), "%s", param.cc ? param.cc : "");
	param.ord = iw_bench_reads(c->cfg.depth);
	param.private_data = private_data;
	param.private_data_len = iw_bench_msg_encode(private_data, &run);
	return iw_connect(c->qp, &param, why);
}

int iw_bench_client_new(struct iw_bench_client **out, const struct iw_bench_cfg *cfg,
			struct iw_fault *why)
{
	struct iw_bench_client *c = calloc(1, sizeof(*c));
	int err;

	*out = NULL;
	if (!c)
		return iw_fail(why, IW_E_NOMEM, "out of memory");
	c->cfg = *cfg;
	iw_hist_init(&c->round_trips);
	err = check_cfg(&c->cfg, why);
	if (!err)
		err = make_memory(c, why);
	if (!err)
		err = make_queues(c, why);
	if (!err)
		err = make_sink(c, why);
	if (!err)
		err = begin(c, why);
	if (err) {
		iw_bench_client_free(c);
		return err;
	}
	c->result.mode = c->cfg.mode;
	c->result.size = c->cfg.size;
	c->result.depth = c->cfg.depth;
	c->result.receiver_is_server = c->cfg.mode == IW_BENCH_WRITE ||
				       c->cfg.mode == IW_BENCH_SEND;
	c->result.round_trips = c->cfg.mode == IW_BENCH_PINGPONG ? &c->round_trips : NULL;
	iw_bench_kernel(c->result.client.kernel, sizeof(c->result.client.kernel));
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
	/* With everything made from it; the memory goes behind those who refer to it. */
	if (c->ctx)
		iw_ctx_free(c->ctx);
	iw_bench_memory_put(&c->data);
	iw_bench_memory_put(&c->inbox.mem);
	free(c);
}
