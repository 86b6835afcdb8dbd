// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The loop: one context, one completion queue, one thread, and a worker for files. A turn takes
 * events and completions of all sessions, and lets each session with pending work do about one
 * chunk of it. Then the loop waits for octets, a deadline, a signal, or standard input or output.
 */
#include "transfer/transfer.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "cli/signals.h"
#include "os/os.h"
#include "transfer/internal.h"
#include "transfer/ssh/link.h"
#include "util/text.h"

#define COMPLETIONS 64
#define REPORT_TIME IW_MSEC(1) /* of a turn, to report removed names */

/* Reported at both ends. */
static const char listener_stopped[] = "the listener was stopped by a signal: start it again";

/* The reason is in stop_text. */
static void begin_to_stop(struct hub *h)
{
	uint64_t grace = IW_MIN(GRACE, h->cli->timeout_ns);
	struct iw_list *l, *next;

	h->stopping = true;
	h->stop_by = h->now;
	if (h->cfg->listen) {
		h->stop_by = iw_time_add(h->now, grace - IW_MIN(GRACE_END, grace / 4));
		h->end_by = iw_time_add(h->now, grace);
	}
	/* the descriptor stays readable */
	(void)epoll_ctl(h->epoll, EPOLL_CTL_DEL, iw_signals_fd(), NULL);
	iw_listener_free(h->listener);
	h->listener = NULL;
	for (l = h->sessions.next; l != &h->sessions; l = next) {
		struct session *s = iw_container_of(l, struct session, all);

		next = l->next;
		if (s->phase == PH_LEAVING) {
			s->leave_by = IW_MIN(s->leave_by, h->end_by);
			iw_session_set_timer(s);
		} else if (!h->cfg->listen || !s->x || iw_xfer_is_idle(s->x)) {
			iw_session_stop(s, h->stop_text);
		}
	}
}

static void stop_by_signal(struct hub *h)
{
	snprintf(h->stop_text, sizeof(h->stop_text), "%s",
		 h->cfg->listen ? listener_stopped : "interrupted");
	begin_to_stop(h);
}

static void poll_descriptors(struct hub *h)
{
	struct epoll_event ev[5];
	int n = epoll_wait(h->epoll, ev, 5, 0);
	bool piped = false;

	for (int i = 0; i < n; i++) {
		if (ev[i].data.fd == iw_signals_fd() && !h->stopping)
			stop_by_signal(h);
		else if (h->cfg->link && ev[i].data.fd == h->cfg->link->fd)
			piped = true;
		else if (h->manager && ev[i].data.fd == iw_manager_fd(h->manager))
			iw_manager_serve(h->manager, h->now);
		else if (ev[i].data.fd == iw_worker_fd(&h->worker))
			continue; /* polled in every turn */
		else
			iw_hub_wake_all(h);
	}
	/* A signal from the terminal ends ssh too: it is the better reason. */
	if (piped && iw_hub_take_pipe(h) && !h->stopping)
		begin_to_stop(h);
}

/* --- events --- */

static void on_event(struct hub *h, struct iw_async_event *ev)
{
	struct session *s;

	if (h->manager && iw_manager_event(h->manager, ev))
		return;
	s = iw_hub_session(h, ev->qp);
	if (ev->qp && !s && ev->type != IW_EV_CONNECT_REQUEST) {
		iw_hub_pipe_failed(h, &ev->fault);
		return;
	}
	switch (ev->type) {
	case IW_EV_CONNECT_REQUEST:
		iw_hub_request(h, ev->req);
		break;
	case IW_EV_ESTABLISHED:
		iw_session_up(s);
		break;
	case IW_EV_REJECTED:
		iw_session_rejected(s, &ev->fault);
		iw_session_make_ready(s);
		break;
	case IW_EV_PEER_CLOSED:
		/*
		 * Octets sent before are processed first. CLOSED follows when this side has closed
		 * too.
		 */
		s->peer_closed = true;
		iw_session_make_ready(s);
		break;
	case IW_EV_CLOSED:
		if (!s->closed)
			s->closed_why = ev->fault;
		s->closed = true;
		iw_session_make_ready(s);
		break;
	}
}

static void take_completions(struct hub *h)
{
	struct iw_wc wc[COMPLETIONS];
	int n;

	do {
		n = iw_cq_poll(h->cq, wc, COMPLETIONS);
		if (n < 0) {
			iw_fail(&h->fault, n, "completion queue: %s", iw_err_text(n));
			return;
		}
		for (int i = 0; i < n; i++)
			iw_session_completion(iw_hub_session(h, wc[i].qp), &wc[i]);
	} while (n == COMPLETIONS);
}

static void take_tasks(struct hub *h)
{
	struct iw_task *t;

	while (h->tasks > 0 && (t = iw_worker_take(&h->worker)) != NULL)
		t->back(t);
}

/*
 * Asks other transfers for the temporaries that files of these transfers could resume, and creates
 * those files again.
 */
static void take_wanting(struct hub *h)
{
	struct iw_list *l;

	while ((l = iw_list_first(&h->wanting)) != NULL) {
		struct file *f = iw_container_of(l, struct file, link);

		iw_list_del(l);
		iw_group_release_temp(f->group, f->wanted);
		iw_list_add_tail(&h->held, l);
		if (h->closing == 0)
			iw_hub_create_again(f);
	}
}

static void run_one(struct session *s)
{
	bool more;

	/* All octets sent before the end were processed. */
	if (s->peer_closed && !s->closed && !iw_xfer_is_over(s->x)) {
		const struct iw_fault none = { .err = IW_OK };

		iw_xfer_lost(s->x, &none);
	}
	if (s->closed)
		iw_session_closed(s);
	more = iw_session_run(s);
	if (s->phase == PH_GONE) {
		iw_session_finish(s);
		return;
	}
	iw_session_set_timer(s);
	if (more)
		iw_session_make_ready(s);
}

/* Runs each session once. A session that has more to do is queued after the others. */
static void run_ready(struct hub *h)
{
	struct iw_list now, *l;

	iw_list_init(&now);
	while ((l = iw_list_first(&h->ready)) != NULL) {
		iw_list_del(l);
		iw_list_add_tail(&now, l);
	}
	while ((l = iw_list_first(&now)) != NULL) {
		iw_list_del(l);
		run_one(iw_container_of(l, struct session, ready));
	}
}

/* --- time --- */

static void run_timers(struct hub *h)
{
	struct iw_timer *t;

	h->now = iw_os_now();
	while ((t = iw_heap_first(&h->timers)) != NULL && t->at <= h->now) {
		struct session *s = iw_container_of(t, struct session, timer);

		iw_heap_del(&h->timers, t);
		iw_session_timeout(s);
		if (s->phase == PH_GONE)
			iw_session_finish(s);
		else
			iw_session_set_timer(s);
	}
	if (h->stopping && h->now >= h->stop_by) {
		h->stop_by = IW_TIME_NEVER;
		for (struct iw_list *l = h->sessions.next, *next; l != &h->sessions; l = next) {
			next = l->next;
			iw_session_stop(iw_container_of(l, struct session, all), h->stop_text);
		}
	}
	if (!h->stopping && iw_hub_first_is_overdue(h))
		begin_to_stop(h);
}

/* Octets of the whole transfer, without files that are skipped or fail; 0: not known yet. */
static uint64_t total_of(const struct hub *h, const struct iw_xfer_counts *c)
{
	uint64_t all = h->cfg->role == IW_XFER_SOURCE ? h->total_hint : c->total;

	return all == 0 ? 0 : IW_MAX(c->announced, all - IW_MIN(all, c->dropped));
}

/* Only for an initiator, which has one transfer. */
static void report_progress(struct hub *h)
{
	struct iw_report_progress p = { .name = NULL };
	struct iw_xfer_counts c;
	const struct group *g;

	if (h->cfg->listen || iw_list_empty(&h->groups))
		return;
	g = iw_container_of(iw_list_first(&h->groups), struct group, link);
	if (g->moved_at == 0)
		return; /* no connection was established yet */
	for (struct iw_list *l = h->sessions.next; l != &h->sessions && !p.name; l = l->next) {
		const struct file *f = iw_container_of(l, struct session, all)->moving;

		/* The progress of all parts of a file together is not known. */
		if (f && f->name[0]) {
			p.name = f->name;
			p.file_done = f->share ? 0 : f->done;
			p.file_total = f->share ? 0 : f->size;
		}
	}
	c = iw_group_counts(g);
	p.files = c.files_done + c.files_same + c.files_excluded;
	p.done = c.settled;
	p.total = total_of(h, &c);
	p.moved = c.octets;
	iw_report_progress(&h->report, &p, h->now);
}

static int64_t wait_time(struct hub *h)
{
	struct iw_timer *t = iw_heap_first(&h->timers);
	uint64_t at = t ? t->at : IW_TIME_NEVER;
	uint64_t beat = h->cfg->listen ? IW_TIME_NEVER : iw_report_deadline(&h->report, h->now);

	if (!iw_list_empty(&h->ready) || !iw_list_empty(&h->reporting))
		return 0;
	at = IW_MIN(at, beat);
	if (h->stopping)
		at = IW_MIN(at, h->stop_by);
	if (h->manager)
		at = IW_MIN(at, iw_manager_deadline(h->manager));
	at = IW_MIN(at, h->first_by);
	at = IW_MIN(at, h->relieve_at);
	at = IW_MIN(at, h->answer_at);
	at = IW_MIN(at, h->trim_at);
	if (!iw_list_empty(&h->sessions))
		at = IW_MIN(at, h->reckon_at);
	if (at == IW_TIME_NEVER)
		return -1;
	return at <= h->now ? 0 : (int64_t)IW_MIN(at - h->now, (uint64_t)INT64_MAX);
}

static bool is_over(const struct hub *h)
{
	if (h->fault.err || h->report.lost)
		return true;
	if (!iw_list_empty(&h->sessions))
		return false;
	return !h->cfg->listen || h->stopping || h->pipe_used || (h->cfg->once && h->over);
}

/* The completions of a connection were queued before the event of its end. */
static void turn(struct hub *h)
{
	struct iw_async_event ev;

	h->now = iw_os_now();
	while (iw_next_event(h->ctx, &ev))
		on_event(h, &ev);
	take_completions(h);
	take_tasks(h);
	take_wanting(h);
	iw_sink_report_removed(h, REPORT_TIME);
	/* While there is work, checking signals and pipes once in 16 turns is enough. */
	if (h->turns++ % 16 == 0 || iw_list_empty(&h->ready))
		poll_descriptors(h);
	if (h->manager)
		iw_manager_turn(h->manager, h->now);
	iw_hub_reckon(h);
	iw_hub_relieve(h);
	run_ready(h);
	h->answer_at = iw_group_take_answers(h);
	run_timers(h);
	iw_hub_trim(h);
	report_progress(h);
}

static int loop(struct hub *h)
{
	while (!is_over(h)) {
		int r = iw_cq_wait(h->cq, wait_time(h));

		if (r < 0)
			return iw_cli_fail(
				h->cli,
				&(struct iw_fault){ .err = r,
						    .clause = "",
						    .text = "waiting for the connections failed" });
		turn(h);
	}
	if (h->fault.err)
		return iw_cli_fail(h->cli, &h->fault);
	return h->report.lost ? IW_EXIT_FAILED : h->status;
}

int iw_transfer_run(const struct iw_transfer_cfg *cfg)
{
	struct iw_fault why = { .err = IW_OK };
	struct hub *h = iw_hub_new(cfg);
	int status;

	if (!h) {
		iw_fail(&why, IW_E_NOMEM, "no memory for transfers");
		return iw_cli_fail(cfg->cli, &why);
	}
	if (iw_hub_open(h, &why) != 0)
		status = cfg->failed ? cfg->failed(cfg->ctx, &why) : iw_cli_fail(cfg->cli, &why);
	else
		status = loop(h);
	/*
	 * Threads that still wait for storage use this memory: leaves it to the end of the process.
	 */
	if (iw_hub_close(h))
		free(h);
	return status;
}
