// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The hub: one context, one completion queue, one thread, and a worker for what is written to files. Each turn takes events and completions for all sessions, then lets each
 * session that has work do a chunk's worth of it, then waits for whatever comes first: octets, a deadline, a signal, standard input or output.
 */
#include "transfer/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/param.h"
#include "cli/confine.h"
#include "cli/signals.h"
#include "cli/text.h"
#include "transfer/internal.h"
#include "transfer/files/journal.h"
#include "transfer/files/out.h"
#include "os/addr.h"
#include "os/os.h"
#include "os/priv.h"
#include "stag-reg/control.h"
#include "util/text.h"

#define COMPLETIONS 64
#define SWEEP       IW_SEC(2)  /* for one directory */
#define SWEEPS_MOST 256        /* directories queued for it: each is an open descriptor */
#define REPORT_TIME IW_MSEC(1) /* of a turn, to report removed names */
/* The time to wait at the end for tasks in the worker; shorter for a listener that is stopping. */
#define DRAIN       IW_SEC(30)
#define DRAIN_STOP  IW_SEC(5)

static void all_ready(struct hub *h)
{
	for (struct iw_list *l = h->sessions.next; l != &h->sessions; l = l->next)
		iw_session_make_ready(iw_container_of(l, struct session, all));
}

/* --- memory of chunks --- */

static void *map_alloc(void *ctx, size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)ctx;
	return p == MAP_FAILED ? NULL : p;
}

static void map_free(void *ctx, void *p, size_t size)
{
	(void)ctx;
	if (p)
		munmap(p, size);
}

static const struct iw_mem map_mem = { map_alloc, map_free, NULL };

/* The transfer that used it last, stored after the chunk; 0: new from the system, hence zeroed. */
static uint64_t *owner_of(void *chunk)
{
	return (uint64_t *)((char *)chunk + IW_XFER_CHUNK);
}

void *iw_hub_chunk_get(struct hub *h, const struct group *g)
{
	void *p = iw_pool_get(&h->slots);

	if (!p)
		return NULL;
	if (*owner_of(p) != 0 && *owner_of(p) != g->serial)
		memset(p, 0, IW_XFER_CHUNK);
	else
		memset(p, 0, sizeof(void *)); /* the pool's own */
	*owner_of(p) = g->serial;
	return p;
}

/* Those that had to wait for memory may try again. */
void iw_hub_slot_freed(struct hub *h)
{
	struct iw_list *l;

	while ((l = iw_list_first(&h->starved)) != NULL) {
		iw_list_del(l);
		iw_session_make_ready(iw_container_of(l, struct session, starved));
	}
}

/* --- descriptors of files --- */

void iw_hub_count_open(struct hub *h, struct file *f)
{
	f->open = true;
	f->group->open_files++;
	h->open_files++;
}

void iw_hub_count_closed(struct file *f)
{
	struct hub *h;

	if (!f->open)
		return;
	f->open = false;
	h = f->group->hub;
	f->group->open_files--;
	h->open_files--;
	if (h->crowded)
		all_ready(h);
	h->crowded = false;
}

/* --- the rate --- */

#define PACE_LATE IW_MSEC(20) /* a turn that comes late is made up for, up to this time */

static uint64_t time_of(const struct hub *h, uint64_t octets)
{
	return (uint64_t)((double)octets * 8e9 / (double)h->cfg->rate);
}

/* Messages since the last call are charged with the octets of files. */
static uint64_t own_octets(struct session *s)
{
	uint64_t all = s->x ? iw_xfer_own_octets(s->x) : 0, more = all - IW_MIN(all, s->paced_own);

	s->paced_own = all;
	return more;
}

/* The octets that have moved at any time are at most those that the rate permits from the start on. */
bool iw_hub_pace(struct hub *h, struct session *s, uint64_t n)
{
	if (h->cfg->rate == 0)
		return true;
	if (h->pace_at == 0)
		h->pace_at = iw_time_add(h->now, time_of(h, n));
	if (h->pace_at > h->now) {
		s->pace_at = h->pace_at;
		return false;
	}
	h->pace_at = iw_time_add(IW_MAX(h->pace_at, h->now - IW_MIN(h->now, PACE_LATE)),
				 time_of(h, n + own_octets(s)));
	return true;
}

void iw_hub_unpace(struct hub *h, uint64_t n)
{
	if (h->cfg->rate > 0 && h->pace_at > 0)
		h->pace_at -= IW_MIN(h->pace_at - 1, time_of(h, n));
}

/* --- descriptors beside the connections --- */

static void watch(struct hub *h, int *watched, int fd, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.fd = fd };

	if (*watched == fd)
		return;
	if (*watched >= 0)
		(void)epoll_ctl(h->epoll, EPOLL_CTL_DEL, *watched, NULL);
	*watched = -1;
	/* What epoll does not take is a file, and never makes anybody wait. */
	if (fd >= 0 && epoll_ctl(h->epoll, EPOLL_CTL_ADD, fd, &ev) == 0)
		*watched = fd;
}

void iw_hub_watch_in(struct hub *h, int fd)
{
	watch(h, &h->watched_in, fd, EPOLLIN);
}

void iw_hub_watch_out(struct hub *h, int fd)
{
	watch(h, &h->watched_out, fd, EPOLLOUT);
}

/* Shown at both ends. */
static const char listener_stopped[] = "the listener was stopped by a signal: start it again";

static void begin_to_stop(struct hub *h)
{
	const char *text = h->cfg->listen ? listener_stopped : "interrupted";
	uint64_t grace = IW_MIN(GRACE, h->cli->timeout_ns);
	struct iw_list *l, *next;

	h->stopping = true;
	h->stop_by = h->now;
	if (h->cfg->listen) {
		h->stop_by = iw_time_add(h->now, grace - IW_MIN(GRACE_END, grace / 4));
		h->end_by = iw_time_add(h->now, grace);
	}
	(void)epoll_ctl(h->epoll, EPOLL_CTL_DEL, iw_signals_fd(), NULL); /* it stays readable */
	iw_listener_free(h->listener);
	h->listener = NULL;
	for (l = h->sessions.next; l != &h->sessions; l = next) {
		struct session *s = iw_container_of(l, struct session, all);

		next = l->next;
		if (s->phase == PH_LEAVING) {
			s->leave_by = IW_MIN(s->leave_by, h->end_by);
			iw_session_set_timer(s);
		} else if (!h->cfg->listen || !s->x || iw_xfer_is_idle(s->x)) {
			iw_session_stop(s, text);
		}
	}
}

static void look_at_descriptors(struct hub *h)
{
	struct epoll_event ev[4];
	int n = epoll_wait(h->epoll, ev, 4, 0);

	for (int i = 0; i < n; i++) {
		if (ev[i].data.fd == iw_signals_fd() && !h->stopping)
			begin_to_stop(h);
		else if (h->rm && ev[i].data.fd == iw_rm_fd(h->rm))
			iw_rm_serve(h->rm, h->now);
		else if (ev[i].data.fd == iw_worker_fd(&h->worker))
			continue; /* every turn looks at it */
		else
			all_ready(h);
	}
}

/* --- sessions that come and go --- */

static void bury(struct session *s)
{
	if (iw_group_mends(s->group, s))
		iw_group_mend(s->group, s);
	iw_session_free(s);
}

static void reject(struct hub *h, struct iw_conn_req *req, const char *peer, enum iw_xcode code,
		   const struct iw_fault *why)
{
	struct iw_hello answer;
	uint8_t pd[IW_XFER_PD_MAX];

	iw_hello_reject(&answer, code, why->text);
	iw_report_rejected(&h->report, peer, why);
	iw_reject(req, pd, iw_hello_encode(pd, &answer));
}

/* A request that the hub as a whole has no place for. */
static int find_place(struct hub *h, const struct iw_hello *request, struct iw_fault *why)
{
	size_t conns = h->nsessions - h->nwaiting + (h->rm ? iw_rm_peers(h->rm) : 0);

	if (h->stopping)
		return iw_xfer_fault(why, IW_E_REJECTED, "this listener is shutting down");
	if (h->digest_required && request->digest == IW_XFER_NONE)
		return iw_xfer_fault(why, IW_E_REJECTED,
				     "this listener requires a digest (--require-digest): use "
				     "--digest xxh3 or sha256");
	if (h->cfg->once &&
	    (h->over || (h->taken && memcmp(h->taken->id, request->id, sizeof(request->id)) != 0 &&
			 !iw_group_is_stalled(h->taken))))
		return iw_xfer_fault(
			why, IW_E_REJECTED,
			"this listener accepts one transfer (--once, or ddp-recv -), which has begun");
	if (h->max_conns && conns >= h->max_conns) {
		iw_hub_end_idlest(h);
		return iw_xfer_fault(
			why, IW_E_REJECTED,
			"all of the listener's connections are in use (--max-connections %U): try again later",
			h->max_conns);
	}
	return 0;
}

/* Sets s->holder. IW_E_LIMIT: too many connections from that address, or no memory left for another one. */
static int find_share(struct hub *h, struct session *s, const char *peer, struct iw_fault *why)
{
	if (h->cfg->memory && h->cfg->memory < IW_TRANSFER_MEMORY)
		return iw_xfer_fault(
			why, IW_E_LIMIT,
			"this listener's --max-memory (%U octets) is too small: a transfer needs 4M",
			h->cfg->memory);
	s->holder = iw_budget_join(&h->budget, peer);
	if (!s->holder)
		return iw_fail(why, IW_E_NOMEM, "no memory for a connection");
	s->holder->conns++;
	if (iw_budget_crowds(s->holder, h->max_conns))
		return iw_xfer_fault(
			why, IW_E_LIMIT,
			"this listener accepts at most %U connections from one address",
			(uint64_t)s->holder->conns - 1);
	if (!iw_session_may_take(s, SESSION_BASE))
		return iw_xfer_fault(
			why, IW_E_LIMIT,
			"this listener's memory for peers (--max-memory %U) is used up: try again later",
			h->budget.limit);
	return 0;
}

void iw_session_drop(struct session *s, const char *why)
{
	iw_xfer_fault(&s->closed_why, IW_E_CLOSED, "%s", why);
	s->closed = true;
	iw_session_closed(s);
	while (s->phase != PH_GONE)
		(void)iw_session_run(s);
	bury(s);
}

static void make_way(struct hub *h, const struct group *g, uint32_t conn)
{
	for (struct iw_list *l = h->sessions.next, *next; l != &h->sessions; l = next) {
		struct session *s = iw_container_of(l, struct session, all);

		next = l->next;
		/* Its loss may not have been noticed yet. The new connection needs the files that it still holds. */
		if (s->group == g && s->x && s->peer.conn == conn && s->phase != PH_GONE)
			iw_session_drop(s, "the peer has set the connection up again");
	}
}

/* It has come. */
static void end_wait(struct hub *h, const struct group *g)
{
	for (struct iw_list *l = h->sessions.next, *next; h->nwaiting > 0 && l != &h->sessions;
	     l = next) {
		struct session *s = iw_container_of(l, struct session, all);

		next = l->next;
		if (s->group == g && s->phase == PH_WAITING)
			iw_session_free(s);
	}
}

/* A connection that takes the place of one: what it belongs to must be known. */
static int find_again(struct hub *h, const struct iw_hello *request, struct iw_fault *why)
{
	const struct group *g = iw_group_find(h, request->id, false);

	if (!g)
		return iw_xfer_fault(
			why, IW_E_REJECTED,
			"the listener no longer knows this transfer, for example after a restart: run the command again to resume");
	if (request->conn > 0)
		make_way(h, g, request->conn);
	return 0;
}

static void on_request(struct hub *h, struct iw_conn_req *req)
{
	struct iw_hello request, answer;
	struct iw_req_info info;
	struct session *s = NULL;
	char peer[64];
	struct iw_fault why;

	iw_req_info(req, &info);
	snprintf(peer, sizeof(peer), "%s", info.peer);
	if (h->rm && iw_claim_is(info.private_data, info.private_data_len)) {
		int err = iw_rm_claim(h->rm, req, &why);

		if (err != 0 && err != IW_E_LIMIT)
			iw_report_rejected(&h->report, peer, &why);
		return;
	}
	if (iw_hello_decode(&request, info.private_data, info.private_data_len, &why) != 0) {
		reject(h, req, peer, IW_XC_PROTOCOL, &why);
		return;
	}
	if (iw_hello_answer(&answer, &request, h->cfg->role, iw_digests_built(), &why) != 0) {
		reject(h, req, peer, (enum iw_xcode)answer.code, &why);
		return;
	}
	if ((request.again && find_again(h, &request, &why) != 0) ||
	    find_place(h, &request, &why) != 0) {
		reject(h, req, peer, IW_XC_REFUSED, &why);
		return;
	}
	if (iw_session_new(&s, h, iw_group_get(h, request.id, false), false, &why) != 0) {
		reject(h, req, peer, IW_XC_LIMIT, &why);
		return;
	}
	if (find_share(h, s, peer, &why) != 0) {
		reject(h, req, peer, IW_XC_LIMIT, &why);
		iw_session_free(s);
		return;
	}
	snprintf(s->peer_text, sizeof(s->peer_text), "%s", peer);
	if (iw_session_accept(s, req, &request, &why) != 0) {
		iw_log_warn("%s: %s", peer, why.text);
		iw_session_free(s);
		return;
	}
	end_wait(h, s->group);
	s->group->redials += request.again;
}

static void on_event(struct hub *h, struct iw_async_event *ev)
{
	struct session *s;

	if (h->rm && iw_rm_event(h->rm, ev))
		return;
	s = ev->qp ? iw_qp_user(ev->qp) : NULL;
	switch (ev->type) {
	case IW_EV_CONNECT_REQUEST:
		on_request(h, ev->req);
		break;
	case IW_EV_ESTABLISHED:
		iw_session_up(s);
		break;
	case IW_EV_REJECTED:
		iw_session_rejected(s, &ev->fault);
		iw_session_make_ready(s);
		break;
	case IW_EV_PEER_CLOSED:
		/* What it sent before is taken first; CLOSED follows when this side has closed
		 * too. */
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
			iw_session_completion(iw_qp_user(wc[i].qp), &wc[i]);
	} while (n == COMPLETIONS);
}

/* --- the worker --- */

static void take_tasks(struct hub *h)
{
	struct iw_task *t;

	while (h->tasks > 0 && (t = iw_worker_take(&h->worker)) != NULL)
		t->back(t);
}

void iw_hub_closed(struct hub *h)
{
	struct iw_list now, *l;

	h->closing--;
	iw_list_init(&now);
	while ((l = iw_list_first(&h->held)) != NULL) {
		iw_list_del(l);
		iw_list_add_tail(&now, l);
	}
	while ((l = iw_list_first(&now)) != NULL) {
		iw_list_del(l);
		iw_sink_create_again(iw_container_of(l, struct file, link));
	}
}

static bool stop_sweeping(void *ctx)
{
	const struct hub *h = ctx;

	return atomic_load_explicit(&h->no_sweeps, memory_order_relaxed);
}

static void sweep_now(struct iw_task *t)
{
	struct sweep *s = iw_container_of(t, struct sweep, task);

	iw_place_sweep(s->fd, &s->hub->account, s->hub->cfg->limits.max_age_ns, SWEEP,
		       stop_sweeping, s->hub);
}

static void sweep_back(struct iw_task *t)
{
	struct sweep *s = iw_container_of(t, struct sweep, task);

	s->hub->tasks--;
	s->hub->nsweeps--;
	free(s);
}

/* The next transfer searches the directories over the limit. */
void iw_hub_sweep(struct hub *h, struct iw_place_sweep *list)
{
	while (list) {
		struct iw_place_sweep *one = list;
		struct sweep *s = h->nsweeps < SWEEPS_MOST ? malloc(sizeof(*s)) : NULL;

		list = one->next;
		if (s) {
			*s = (struct sweep){ .task = { .run = sweep_now, .back = sweep_back },
					     .hub = h,
					     .fd = one->fd };
			h->nsweeps++;
			h->tasks++;
			iw_worker_give(&h->worker, &h->sweeps, &s->task);
		} else {
			close(one->fd);
		}
		free(one);
	}
}

static void run_one(struct session *s)
{
	bool more;

	/* All that came before the end has been taken. */
	if (s->peer_closed && !s->closed && !iw_xfer_is_over(s->x)) {
		const struct iw_fault none = { .err = IW_OK };

		iw_xfer_lost(s->x, &none);
	}
	if (s->closed)
		iw_session_closed(s);
	more = iw_session_run(s);
	if (s->phase == PH_GONE) {
		bury(s);
		return;
	}
	iw_session_set_timer(s);
	if (more)
		iw_session_make_ready(s);
}

/* Each once; who has more to do then stands behind the others. */
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

static void look_at_timers(struct hub *h)
{
	struct iw_timer *t;

	h->now = iw_os_now();
	while ((t = iw_heap_first(&h->timers)) != NULL && t->at <= h->now) {
		struct session *s = iw_container_of(t, struct session, timer);

		iw_heap_del(&h->timers, t);
		iw_session_timeout(s);
		if (s->phase == PH_GONE)
			bury(s);
		else
			iw_session_set_timer(s);
	}
	if (h->stopping && h->now >= h->stop_by) {
		h->stop_by = IW_TIME_NEVER;
		for (struct iw_list *l = h->sessions.next, *next; l != &h->sessions; l = next) {
			next = l->next;
			iw_session_stop(iw_container_of(l, struct session, all), listener_stopped);
		}
	}
}

/* Octets of the whole transfer, without the files that need not or cannot be sent; 0: not known yet. */
static uint64_t total_of(const struct hub *h, const struct iw_xfer_counts *c)
{
	uint64_t all = h->cfg->role == IW_XFER_SOURCE ? h->total_hint : c->total;

	return all == 0 ? 0 : IW_MAX(c->announced, all - IW_MIN(all, c->dropped));
}

/* An initiator has one transfer. */
static void tell_progress(struct hub *h)
{
	struct iw_report_progress p = { .name = NULL };
	struct iw_xfer_counts c;
	const struct group *g;

	if (h->cfg->listen || iw_list_empty(&h->groups))
		return;
	g = iw_container_of(iw_list_first(&h->groups), struct group, link);
	if (g->moved_at == 0)
		return; /* no connection stood yet */
	for (struct iw_list *l = h->sessions.next; l != &h->sessions && !p.name; l = l->next) {
		const struct file *f = iw_container_of(l, struct session, all)->moving;

		/* Of a file in parts nobody knows how far all of them are. */
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
	if (h->rm)
		at = IW_MIN(at, iw_rm_deadline(h->rm));
	at = IW_MIN(at, h->relieve_at);
	at = IW_MIN(at, h->answer_at);
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
	return !h->cfg->listen || h->stopping || (h->cfg->once && h->over);
}

/* Of a connection's end its completions come first: they were queued before the event. */
static void turn(struct hub *h)
{
	struct iw_async_event ev;

	h->now = iw_os_now();
	while (iw_next_event(h->ctx, &ev))
		on_event(h, &ev);
	take_completions(h);
	take_tasks(h);
	iw_sink_report_removed(h, REPORT_TIME);
	/* While there is work, a look at signals and pipes now and then is enough. */
	if (h->turns++ % 16 == 0 || iw_list_empty(&h->ready))
		look_at_descriptors(h);
	if (h->rm)
		iw_rm_turn(h->rm, h->now);
	iw_hub_reckon(h);
	iw_hub_relieve(h);
	run_ready(h);
	h->answer_at = iw_group_take_answers(h);
	look_at_timers(h);
	tell_progress(h);
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

/* --- beginning and end --- */

static int open_context(struct hub *h, struct iw_fault *why)
{
	struct iw_ctx_attr attr = { .size = sizeof(attr),
				    .setup_ns = h->cli->setup_timeout_ns,
				    .stall_ns = h->cli->timeout_ns,
				    .trace = h->cli->trace.f ? iw_cli_trace_line : NULL,
				    .trace_ctx = &h->cli->trace };
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = iw_signals_fd() };
	int err = iw_ctx_new(&h->ctx, &attr, why);

	if (err)
		return err;
	err = iw_pd_new(&h->pd, h->ctx);
	if (!err)
		err = iw_cq_new(&h->cq, h->ctx);
	if (err)
		return iw_fail(why, err, "open the library: %s", iw_err_text(err));
	h->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (h->epoll < 0 || epoll_ctl(h->epoll, EPOLL_CTL_ADD, iw_signals_fd(), &ev) < 0)
		return iw_os_fail(why, errno, "watch for signals");
	if (iw_worker_init(&h->worker) < 0)
		return iw_os_fail(why, errno, "make an eventfd");
	ev.data.fd = iw_worker_fd(&h->worker);
	if (epoll_ctl(h->epoll, EPOLL_CTL_ADD, ev.data.fd, &ev) < 0)
		return iw_os_fail(why, errno, "watch for the worker");
	return iw_ctx_wake_fd(h->ctx, h->epoll, why);
}

/* A listener holds a descriptor for each connection, and some for each file. */
static void allow_descriptors(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &r); /* without it there are fewer */
	}
}

/* Connections take at most half of the process's descriptors, those in set-up an eighth: files need the others. */
static void limit_connections(struct hub *h)
{
	struct rlimit r;

	h->max_conns = h->cfg->limits.conns;
	if (getrlimit(RLIMIT_NOFILE, &r) != 0 || r.rlim_cur / 2 >= h->max_conns)
		return;
	h->max_conns = IW_MAX(r.rlim_cur / 2, (rlim_t)1);
	iw_log_info("at most %llu connections: this process may open %llu descriptors (ulimit -n)",
		    (unsigned long long)h->max_conns, (unsigned long long)r.rlim_cur);
}

static uint32_t most_in_setup(uint32_t backlog)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) != 0)
		return backlog;
	return (uint32_t)IW_MIN((rlim_t)backlog, IW_MAX(r.rlim_cur / 8, (rlim_t)1));
}

/* Each file that waits for parts holds three descriptors. Together they hold at most a quarter of the process's limit. */
static uint64_t most_resting(void)
{
	struct rlimit r;

	return getrlimit(RLIMIT_NOFILE, &r) == 0 ? IW_MAX(r.rlim_max / 12, (rlim_t)1) : 0;
}

/* Files that are being moved take at most three sixteenths; the directories and files of packs take the like. */
static uint64_t most_open(void)
{
	struct rlimit r;

	return getrlimit(RLIMIT_NOFILE, &r) == 0 ? IW_MAX(r.rlim_max / 16, (rlim_t)4) : UINT64_MAX;
}

/*
 * Registered buffers are an offer beside: without a control socket that nobody asked for, transfers
 * go on all the same.
 */
static int open_manager(struct hub *h, struct iw_fault *why)
{
	const char *path = h->cfg->control;
	struct iw_rm_cfg cfg = { .ctx = h->ctx,
				 .transport = h->cli->transport,
				 .addr = iw_listener_addr(h->listener),
				 .port = iw_listener_port(h->listener),
				 .memory = h->cfg->memory,
				 .peers = IW_MAX(h->max_conns / 2, UINT64_C(1)) };
	struct epoll_event ev = { .events = EPOLLIN };
	char by_default[IW_RM_PATH_MAX];
	int err;

	if (path && strcmp(path, "none") == 0)
		return 0;
	err = iw_rm_new(&h->rm, &cfg, why);
	if (err)
		return err;
	ev.data.fd = iw_rm_fd(h->rm);
	if (epoll_ctl(h->epoll, EPOLL_CTL_ADD, ev.data.fd, &ev) < 0)
		return iw_os_fail(why, errno, "watch the control socket");
	if (path)
		return iw_rm_listen(h->rm, path, false, why);
	err = iw_rm_default_path(by_default, cfg.port, why);
	if (!err)
		err = iw_rm_listen(h->rm, by_default, true, why);
	if (err)
		iw_log_info("no control socket for stag-reg: %s", why->text);
	else
		iw_log_info("control socket %s", by_default);
	return 0;
}

/* True if only this machine can reach the listener's address, "ADDRESS:PORT". */
static bool is_local(const struct hub *h)
{
	char text[64];
	struct iw_addr a;
	char *port;

	snprintf(text, sizeof(text), "%s", iw_listener_addr(h->listener));
	port = strrchr(text, ':');
	if (port)
		*port = '\0';
	return iw_addr_parse(&a, text, 0) == 0 && iw_addr_is_loopback(&a);
}

/* --- confinement, before a peer's octets are read --- */

static uint64_t caps_of_owners(uint32_t opts)
{
	return (opts & IW_XOPT_OWNER ? IW_OS_CAP(CAP_CHOWN) : 0) |
	       (opts & IW_XOPT_SETID ? IW_OS_CAP(CAP_FSETID) : 0);
}

unsigned iw_transfer_confine(const struct iw_transfer_cfg *cfg, uint64_t *caps)
{
	bool sink = cfg->role == IW_XFER_SINK;
	unsigned how = sink ? IW_CONFINE_WRITES | IW_CONFINE_READS : IW_CONFINE_READS;

	if (sink)
		*caps |= caps_of_owners(cfg->opts);

	/* --delete makes a dry run first, and then opens everything again. */
	if (cfg->listen)
		how |= IW_CONFINE_LISTENS;
	else if (cfg->redials > 0 || cfg->look)
		how |= IW_CONFINE_REOPENS | (cfg->conn.at.cc ? IW_CONFINE_CC : 0);
	return how;
}

static void begin_confine(struct hub *h, struct iw_confine *c)
{
	uint64_t caps = 0;

	iw_confine_init(c, h->cli, iw_transfer_confine(h->cfg, &caps));
	c->caps |= caps;
}

/* The directory of the control socket, which is removed at the end. */
static void allow_control(struct iw_confine *c, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");

	if (dir)
		iw_confine_allow_path(c, dir, IW_LANDLOCK_UNLINK);
	free(dir);
}

static int confine_listener(struct hub *h, struct iw_fault *why)
{
	bool sink = h->cfg->role == IW_XFER_SINK;
	struct iw_confine c;

	begin_confine(h, &c);
	if (h->root >= 0)
		iw_confine_allow(&c, h->root, sink ? IW_LANDLOCK_WRITE : IW_LANDLOCK_READ);
	if (h->rm && iw_rm_path(h->rm)[0])
		allow_control(&c, iw_rm_path(h->rm));
	iw_confine_allow_path(&c, IW_JOURNAL_BOOT_ID, IW_LANDLOCK_READ);
	return iw_confine(&c, why);
}

static int confine_initiator(struct hub *h, struct iw_fault *why)
{
	const struct iw_transfer_cfg *cfg = h->cfg;
	struct iw_confine c;
	const struct group *g = iw_container_of(iw_list_first(&h->groups), struct group, link);

	begin_confine(h, &c);
	if (cfg->role == IW_XFER_SINK) {
		if (g->place.base >= 0)
			iw_confine_allow(&c, g->place.base, IW_LANDLOCK_WRITE);
	} else {
		for (size_t i = 0; i < cfg->npaths; i++)
			iw_confine_allow_path(&c, cfg->paths[i], IW_LANDLOCK_READ);
	}
	iw_confine_allow_path(&c, IW_JOURNAL_BOOT_ID, IW_LANDLOCK_READ);
	return iw_confine(&c, why);
}

/* The directory that is served, or that files are stored in, cannot be opened. */
static int no_directory(const struct hub *h, int errnum, struct iw_fault *why)
{
	bool source = h->cfg->role == IW_XFER_SOURCE;
	const char *path = h->cfg->path, *what;

	if (errnum != ENOENT && errnum != ENOTDIR)
		return iw_os_fail(why, errnum, "open the directory %s", path);
	what = errnum == ENOENT ? "no such directory" : "not a directory";
	if (source)
		return iw_fail(why, IW_E_NOENT,
			       "%s: %s; name the directory whose files are to be served", path,
			       what);
	return iw_fail(
		why, IW_E_NOENT,
		"%s: %s; name an existing directory for the files, or HOST:PATH and a target to fetch",
		path, what);
}

/* The directory of a listening sink. */
static int check_root(const struct hub *h, struct iw_fault *why)
{
	struct stat st;
	const char *dir;
	char phrase[80];

	if (fstat(h->root, &st) < 0)
		return iw_os_fail(why, errno, "get the attributes of %s", h->cfg->path);
	if (st.st_nlink == 0)
		return iw_fail(why, IW_E_NOENT,
			       "%s: the directory has been removed; name one that exists",
			       h->cfg->path);
	dir = iw_place_of_kernel(&st);
	if (dir)
		return iw_fail(
			why, IW_E_NOENT,
			"%s: no files are stored in %s, which the kernel provides; name another directory",
			h->cfg->path, dir);
	if (faccessat(h->root, ".", W_OK | X_OK, AT_EACCESS) != 0)
		iw_log_warn(
			"%s: user %u cannot create files there: %s; only directories below it that permit this can be targets",
			h->cfg->path, (unsigned)geteuid(),
			iw_os_strerror(phrase, sizeof(phrase), errno));
	return 0;
}

static int open_listener(struct hub *h, struct iw_fault *why)
{
	struct iw_cli_param conn = h->cfg->conn;
	int err;

	allow_descriptors();
	limit_connections(h);
	if (!h->cfg->to_stdout) {
		h->root = open(h->cfg->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (h->root < 0)
			return no_directory(h, errno, why);
		err = h->cfg->role == IW_XFER_SINK ? check_root(h, why) : 0;
		if (err)
			return err;
	}
	/* Temporaries of earlier processes are charged too; without a limit that is not needed. */
	if (h->cfg->role == IW_XFER_SINK && !h->cfg->to_stdout &&
	    (h->account.max_octets || h->account.max_files))
		iw_account_scan(&h->account, h->cfg->path);
	conn.at.backlog = most_in_setup(conn.at.backlog);
	err = iw_listen(&h->listener, h->ctx, &conn.at, &conn.protocol, why);
	if (!err && h->cfg->memory)
		iw_listener_limit_memory(h->listener, h->cfg->memory / 4);
	if (!err && h->cfg->role == IW_XFER_SINK)
		h->digest_required =
			h->cfg->require_digest == IW_DIGEST_REQUIRED ||
			(h->cfg->require_digest == IW_DIGEST_BY_ADDRESS && !is_local(h));
	if (!err && h->cfg->role == IW_XFER_SINK)
		err = open_manager(h, why);
	if (!err)
		err = confine_listener(h, why);
	if (!err)
		iw_report_listening(&h->report, iw_listener_addr(h->listener),
				    iw_listener_port(h->listener),
				    iw_listener_udp_port(h->listener),
				    h->cli->port == 0 || h->cfg->conn.at.any_udp_port,
				    !h->cfg->conn.at.host && !h->cfg->conn.at.listen_fd);
	return err;
}

static int open_initiator(struct hub *h, struct iw_fault *why)
{
	const struct iw_transfer_cfg *cfg = h->cfg;
	uint8_t id[IW_XFER_ID_LEN];
	struct iw_file_fault fault;
	struct session *s;
	char path[100];
	int err;

	allow_descriptors();
	if (cfg->role == IW_XFER_SINK && iw_asked_init(&h->asked, cfg->paths, cfg->npaths) != 0)
		return iw_fail(why, IW_E_NOMEM, "no memory for the paths");
	if (cfg->to_stdout)
		iw_place_stdout(&h->place, false);
	else if (cfg->role == IW_XFER_SINK &&
		 iw_place_local(&h->place, cfg->path, cfg->opts, &fault) != 0) {
		iw_printable(path, sizeof(path), cfg->path, strlen(cfg->path), true);
		return iw_fail(why, fault.code == IW_XC_PERM ? IW_E_PERM : IW_E_NOENT, "%s: %s",
			       path, fault.text);
	}
	err = iw_os_random(id, sizeof(id));
	if (err)
		return iw_fail(why, err, "no random number for the transfer");
	for (unsigned i = 0; i < cfg->jobs; i++) {
		err = iw_session_new(&s, h, iw_group_get(h, id, true), true, why);
		if (err)
			return err;
		s->conn = i + 1;
		if (i == 0 && cfg->role == IW_XFER_SINK) {
			/* Nothing of the group's own is in it yet. */
			s->group->place = h->place;
			iw_list_init(&s->group->place.parts);
			iw_list_init(&s->group->place.drops);
			iw_place_reset(&h->place);
			s->group->opened = true;
			s->group->opts = cfg->opts;
			s->group->conns = cfg->jobs;
			iw_sink_place(s);
		}
		err = iw_session_connect(s, i == 0, why);
		if (err)
			return err;
		iw_session_make_ready(s);
	}
	return confine_initiator(h, why);
}

/* Waits for the worker's tasks. False: a task waits for storage. */
static bool drain(struct hub *h)
{
	uint64_t until = iw_time_add(iw_os_now(), h->stopping ? DRAIN_STOP : DRAIN);

	if (h->stopping)
		atomic_store_explicit(&h->no_sweeps, true, memory_order_relaxed);
	while (h->tasks > 0) {
		uint64_t now = iw_os_now();
		struct iw_task *t;

		if (!iw_list_empty(&h->reporting)) {
			iw_sink_report_removed(h, IW_TIME_NEVER);
			continue;
		}
		t = iw_worker_await(&h->worker, until > now ? until - now : 0);
		if (t)
			t->back(t);
		else if (iw_os_now() >= until)
			return false;
	}
	return true;
}

/* False: threads still use the hub. */
static bool close_hub(struct hub *h)
{
	iw_rm_free(h->rm);
	h->rm = NULL;
	while (!iw_list_empty(&h->sessions))
		iw_session_free(iw_container_of(iw_list_first(&h->sessions), struct session, all));
	iw_listener_free(h->listener);
	if (!drain(h)) {
		iw_log_warn(
			"storage has not answered for %u s: unfinished files are left as they are",
			(unsigned)((h->stopping ? DRAIN_STOP : DRAIN) / IW_SEC(1)));
		return false;
	}
	iw_worker_fini(&h->worker);
	if (h->ctx)
		iw_ctx_free(h->ctx);
	iw_pool_fini(&h->slots);
	iw_heap_fini(&h->timers);
	iw_place_close(&h->place);
	iw_asked_fini(&h->asked);
	iw_account_fini(&h->account);
	if (h->epoll >= 0)
		close(h->epoll);
	if (h->root >= 0)
		close(h->root);
	iw_report_fini(&h->report);
	return true;
}

static struct hub *new_hub(const struct iw_transfer_cfg *cfg)
{
	struct hub *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->cfg = cfg;
	h->cli = cfg->cli;
	h->root = h->epoll = h->watched_in = h->watched_out = h->worker.fd = -1;
	h->now = iw_os_now();
	h->stop_by = h->end_by = h->relieve_at = h->answer_at = IW_TIME_NEVER;
	iw_budget_init(&h->budget, cfg->memory);
	iw_place_reset(&h->place);
	iw_lane_init(&h->sweeps);
	iw_list_init(&h->held);
	iw_list_init(&h->sessions);
	iw_list_init(&h->ready);
	iw_list_init(&h->starved);
	iw_list_init(&h->groups);
	iw_list_init(&h->reporting);
	iw_heap_init(&h->timers, &iw_os_heap);
	iw_pool_init(&h->slots, &map_mem, IW_XFER_CHUNK + sizeof(uint64_t), 0, SLOTS * 2);
	iw_report_init(&h->report, cfg->cli, cfg->to_stdout);
	h->report.silent = cfg->look != NULL;
	h->report.stats = cfg->stats;
	h->shows_progress = !cfg->listen && iw_report_shows_progress(&h->report);
	return h;
}

int iw_transfer_run(const struct iw_transfer_cfg *cfg)
{
	struct iw_fault why = { .err = IW_OK };
	struct hub *h = new_hub(cfg);
	int status;

	if (!h) {
		iw_fail(&why, IW_E_NOMEM, "no memory for transfers");
		return iw_cli_fail(cfg->cli, &why);
	}
	iw_target_prepare();
	h->account.limit = "--quota";
	h->account.max_octets = cfg->limits.quota;
	h->account.max_files = cfg->limits.files;
	h->account.max_resting = most_resting();
	h->most_open = most_open();
	/* A limit on the size of files is an error of write, not the end of the process. */
	signal(SIGXFSZ, SIG_IGN);
	if (cfg->to_stdout)
		iw_out_open();
	if (open_context(h, &why) != 0 ||
	    (cfg->listen ? open_listener(h, &why) : open_initiator(h, &why)) != 0)
		status = iw_cli_fail(cfg->cli, &why);
	else
		status = loop(h);
	/* Does not free memory that waiting threads still use: the process is about to exit. */
	if (close_hub(h))
		free(h);
	return status;
}
