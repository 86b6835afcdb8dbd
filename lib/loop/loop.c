// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The loop itself: waiting, deadlines, who has work and who has news. */
#include "loop/loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "loop/internal.h"
#include "os/os.h"
#include "util/text.h"
#include "util/txbuf.h"

/* Ready descriptors served a turn; the rest is still ready at the next one. */
#define EVENTS        64
/* Waits below that are timed by the call that waits. */
#define SHORT_WAIT_NS IW_MSEC(5)
/*
 * See hot_one_alone(): longer than a receive that waits, and how often everything else is
 * looked at.
 */
#define HOT_WAIT_NS   IW_MSEC(20)
#define LOOK_ROUND_NS IW_MSEC(1)
#define HOT_AFTER     64 /* waits, see hot_one_alone() */
/* Buffers kept when connections give them back: enough for the few that are busy at once. */
#define SPARE_TXBUFS  8
#define SPARE_SPILLS  32

int iw_loop_new(struct iw_loop **out, const struct iw_mem *mem, struct iw_fault *why)
{
	struct iw_loop *l = iw_mem_alloc(mem, sizeof(*l));
	int err;

	if (!l)
		return iw_fail(why, IW_E_NOMEM, "loop: no memory");
	l->mem = mem;
	l->wake_fd = l->kick_fd = l->timer_fd = -1;
	l->timer_at = IW_TIME_NEVER;
	l->wake.kind = WATCH_WAKE;
	l->kick.kind = WATCH_KICK;
	l->timer.kind = WATCH_TIMER;
	iw_list_init(&l->kicked);
	iw_list_init(&l->news);
	iw_list_init(&l->listener_news);
	iw_list_init(&l->ports);
	iw_list_init(&l->dirty);
	iw_heap_init(&l->timers, mem);
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll < 0) {
		err = iw_os_fail(why, errno, "loop: create an epoll descriptor");
		goto fail_loop;
	}
	l->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (l->timer_fd < 0) {
		err = iw_os_fail(why, errno, "loop: create a timer");
		goto fail_epoll;
	}
	err = iw_loop_watch(l, l->timer_fd, EPOLLIN, &l->timer, true, why);
	if (err)
		goto fail_timer;
	l->scratch = iw_mem_alloc(mem, IW_LOOP_SCRATCH);
	if (!l->scratch) {
		err = iw_fail(why, IW_E_NOMEM, "loop: no memory for %u octets of receive buffer",
			      IW_LOOP_SCRATCH);
		goto fail_timer;
	}
	iw_pool_init(&l->txbufs, mem, sizeof(struct iw_txbuf), 0, SPARE_TXBUFS);
	iw_pool_init(&l->spill, mem, IW_MPA_SPILL_LEN, 0, SPARE_SPILLS);
	*out = l;
	return 0;
fail_timer:
	close(l->timer_fd);
fail_epoll:
	close(l->epoll);
fail_loop:
	iw_mem_free(mem, l, sizeof(*l));
	return err;
}

void iw_loop_free(struct iw_loop *l)
{
	if (!l)
		return;
	iw_loop_ports_shut_down(l);
	while (iw_list_first(&l->ports))
		iw_loop_port_free(
			iw_container_of(iw_list_first(&l->ports), struct iw_loop_port, all));
	iw_loop_loans_free(l);
	iw_pool_fini(&l->txbufs);
	iw_pool_fini(&l->spill);
	iw_mem_free(l->mem, l->scratch, IW_LOOP_SCRATCH);
	iw_heap_fini(&l->timers);
	if (l->kick_fd >= 0)
		close(l->kick_fd);
	close(l->timer_fd);
	close(l->epoll);
	iw_mem_free(l->mem, l, sizeof(*l));
}

struct iw_pool *iw_loop_txbufs(struct iw_loop *l)
{
	return &l->txbufs;
}

struct iw_pool *iw_loop_spill(struct iw_loop *l)
{
	return &l->spill;
}

int iw_loop_wake_fd(struct iw_loop *l, int fd, struct iw_fault *why)
{
	if (fd >= 0 && fd != l->wake_fd) {
		int err = iw_loop_watch(l, fd, EPOLLIN, &l->wake, true, why);

		if (err)
			return err;
	}
	if (l->wake_fd >= 0 && fd != l->wake_fd)
		iw_loop_unwatch(l, l->wake_fd);
	l->wake_fd = fd;
	return 0;
}

uint64_t iw_loop_waits(const struct iw_loop *l)
{
	return l->waits;
}

/* ---------------------------------------------------------------- a turn */

void iw_loop_flush(struct iw_loop *l)
{
	struct iw_list *n, batch;
	struct iw_loop_conn *k;

	l->flushed_at = 0;
	if (iw_list_empty(&l->kicked)) {
		if (iw_unlikely(!iw_list_empty(&l->dirty)))
			iw_loop_port_flush_all(l, iw_os_now());
		return;
	}
	l->flushed_at = iw_os_now();
	/*
	 * The conns of this turn: one that is kicked again, because its budget was not enough, has
	 * its turn after the sockets'.
	 */
	batch = l->kicked;
	batch.next->prev = &batch;
	batch.prev->next = &batch;
	iw_list_init(&l->kicked);
	while ((n = iw_list_first(&batch))) {
		iw_list_del(n);
		k = iw_container_of(n, struct iw_loop_conn, kicked);
		k->ops->serve(k, l->flushed_at);
	}
	if (iw_unlikely(!iw_list_empty(&l->dirty)))
		iw_loop_port_flush_all(l, l->flushed_at);
	if (l->kick_set && iw_list_empty(&l->kicked)) {
		iw_loop_drain(l->kick_fd);
		l->kick_set = false;
	}
}

/* When the wait must end at the latest: 0 at once. */
uint64_t iw_loop_wait_end(const struct iw_loop *l, uint64_t until)
{
	const struct iw_timer *first = iw_heap_first(&l->timers);

	if (!iw_list_empty(&l->kicked) || !iw_list_empty(&l->news) ||
	    !iw_list_empty(&l->listener_news) || !iw_list_empty(&l->dirty))
		return 0;
	return first && first->at < until ? first->at : until;
}

/*
 * epoll_wait at most so long. The finer call came with Linux 5.11 and glibc 2.35; without it times
 * round up to 1 ms.
 */
static int poll_for(const struct iw_loop *l, struct epoll_event *ev, uint64_t ns)
{
	uint64_t ms = (ns + 999999) / 1000000;
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)
	struct timespec ts = { .tv_sec = (time_t)(ns / 1000000000u),
			       .tv_nsec = (long)(ns % 1000000000u) };
	int n = epoll_pwait2(l->epoll, ev, EVENTS, &ts, NULL);

	if (n >= 0 || errno != ENOSYS)
		return n;
#endif
	return epoll_wait(l->epoll, ev, EVENTS, (int)IW_MIN(ms, (uint64_t)INT32_MAX));
}

/*
 * epoll_wait until the given time. A time-out of the call itself costs the kernel a timer that is
 * set and cancelled again each time, a good part of a message's latency. So a longer wait has none,
 * and the loop's own timer ends it.
 */
static int poll_until(struct iw_loop *l, struct epoll_event *ev, uint64_t until, uint64_t now)
{
	l->waits++;
	if (until == 0)
		return epoll_wait(l->epoll, ev, EVENTS, 0);
	if (until < FAR_AWAY) {
		if (until <= now + SHORT_WAIT_NS)
			return poll_for(l, ev, until > now ? until - now : 0);
		iw_loop_arm_timer_at(l, until);
	}
	return epoll_wait(l->epoll, ev, EVENTS, -1);
}

static void conn_timer(struct iw_loop_conn *k, uint64_t now)
{
	k->ops->timer(k, now);
}

bool iw_loop_fire_timers(struct iw_loop *l, uint64_t now)
{
	bool fired = false;
	struct iw_timer *t;

	while ((t = iw_heap_first(&l->timers)) && t->at <= now) {
		struct watch *w = iw_container_of(t, struct watch, timer);

		/* Each moves it beyond now. */
		if (w->kind == WATCH_LISTENER)
			iw_loop_listener_timer(w);
		else if (w->kind == WATCH_PORT)
			iw_loop_port_timer(iw_container_of(w, struct iw_loop_port, watch), now);
		else
			conn_timer(iw_container_of(w, struct iw_loop_conn, watch), now);
		fired = true;
	}
	iw_loop_arm_timer(l);
	return fired;
}

static int serve(struct iw_loop *l, const struct epoll_event *ev, uint64_t now)
{
	struct watch *w = ev->data.ptr;

	switch (w->kind) {
	case WATCH_STREAM:
		iw_loop_stream_ready(iw_container_of(w, struct iw_loop_conn, watch), ev->events,
				     now);
		return 0;
	case WATCH_LISTENER:
		iw_loop_listener_ready(w);
		return 0;
	case WATCH_PORT:
		iw_loop_port_ready(iw_container_of(w, struct iw_loop_port, watch), now);
		return 0;
	case WATCH_SESSION: /* it has a timer only */
		return 0;
	case WATCH_WAKE:
		l->unwoken = 0;
		return IW_LOOP_WOKEN;
	case WATCH_TIMER:
		iw_loop_drain(l->timer_fd);
		l->waits++;
		l->timer_at = IW_TIME_NEVER;
		return 0;
	case WATCH_KICK: /* the next flush stops it */
		return 0;
	}
	return 0;
}

/* What is ready when it is one thing; NULL. */
static struct watch *only_one(const struct epoll_event *ev, int n)
{
	return n == 1 ? ev->data.ptr : NULL;
}

static struct iw_loop_conn *hot_conn(const struct iw_loop *l)
{
	return iw_container_of(l->hot, struct iw_loop_conn, watch);
}

static struct iw_loop_port *hot_port(const struct iw_loop *l)
{
	return iw_container_of(l->hot, struct iw_loop_port, watch);
}

/*
 * The way of a ping-pong over one connection. Blocking in the socket wakes up sooner than blocking
 * in epoll and then reading, by a tenth of the whole latency. So where the only link's octets were
 * all that the last wait found, or those of the only port on which all conns are, the next wait is
 * for them. Everything else (a listener, the wake descriptor) is looked at each ms, and when nothing
 * came in the few that such a read waits. A program that is woken often by the wake descriptor
 * (because its threads work for it) would be delayed each time: it gets no waits of this kind.
 */
static bool hot_one_alone(const struct iw_loop *l)
{
	if (!l->hot || l->kick_fd >= 0)
		return false;
	if (l->hot->kind == WATCH_STREAM)
		return l->conns == 1 && iw_loop_stream_can_wait(hot_conn(l));
	return l->streams == 0 && l->ports.next == l->ports.prev &&
	       iw_loop_port_can_wait(hot_port(l));
}

bool iw_loop_look_round_due(const struct iw_loop *l, uint64_t now)
{
	return now >= l->polled_at + LOOK_ROUND_NS;
}

void iw_loop_cool_down(struct iw_loop *l)
{
	struct watch *hot = l->hot;

	l->hot = NULL;
	l->hot_ends = false;
	if (hot && hot->kind == WATCH_STREAM)
		iw_loop_stream_leave(iw_container_of(hot, struct iw_loop_conn, watch));
	else if (hot)
		iw_loop_port_leave(iw_container_of(hot, struct iw_loop_port, watch));
}

static void hot_one_ready(struct iw_loop *l, uint64_t now)
{
	if (l->hot->kind == WATCH_STREAM) {
		iw_loop_stream_ready(hot_conn(l), EPOLLIN, now);
		return;
	}
	iw_loop_port_ready(hot_port(l), now);
	iw_loop_port_flush_all(l, now);
}

/* Serves the hot link or port alone. True: that was all for this turn, and *ret its result. */
static bool serve_hot_one(struct iw_loop *l, uint64_t end, uint64_t now, int *ret)
{
	*ret = 0;
	if (end == 0) {
		hot_one_ready(l, now);
		return !iw_loop_look_round_due(l, now);
	}
	if (iw_loop_look_round_due(l, now) || end < now + HOT_WAIT_NS)
		return false;
	*ret = l->hot->kind == WATCH_STREAM ? iw_loop_stream_wait(hot_conn(l), now)
					    : iw_loop_port_wait(hot_port(l));
	if (*ret == IW_E_AGAIN)
		return false;
	if (*ret == IW_E_CANCELED)
		*ret = IW_LOOP_WOKEN;
	return true;
}

/* What is ready by @end. Negative: errno tells. */
static int look_round(struct iw_loop *l, struct epoll_event *ev, uint64_t end, uint64_t now)
{
	struct watch *one;
	int n;

	if (end)
		iw_loop_cool_down(l);
	n = poll_until(l, ev, end, now);
	if (n > 0) {
		iw_loop_cool_down(l);
		one = only_one(ev, n);
		if (one && (one->kind == WATCH_STREAM || one->kind == WATCH_PORT) &&
		    ev->events == EPOLLIN && ++l->unwoken > HOT_AFTER)
			l->hot = one;
	}
	return n;
}

int iw_loop_wait(struct iw_loop *l, uint64_t until, struct iw_fault *why)
{
	struct epoll_event ev[EVENTS];
	const struct watch *one;
	uint64_t now, end;
	bool early;
	int n, ret;

	/*
	 * Who posts and polls in turn has just been served; the sockets are looked at when it is
	 * time, or when there is nothing else to do.
	 */
	if (l->hot_ends)
		iw_loop_cool_down(l);
	if (until == 0 && l->flushed_at && l->ringed == 0 &&
	    !iw_loop_look_round_due(l, l->flushed_at))
		return 0;
	do {
		enum iw_ring_turn turn = IW_RING_WAIT;

		if (l->ringed > 0)
			turn = iw_loop_turn_rings(l, until);
		if (turn == IW_RING_DONE)
			return 0;
		end = turn == IW_RING_WAIT ? iw_loop_wait_end(l, until) : 0;
		/* What came while they were told to wake us is there already. */
		if (end > 0 && !iw_loop_rest(l))
			end = 0;
		now = iw_os_now();
		if (hot_one_alone(l) && serve_hot_one(l, end, now, &ret))
			return ret;
		ret = 0;
		n = look_round(l, ev, end, now);
		if (n < 0 && errno == EINTR) {
			ret = IW_LOOP_WOKEN;
			n = 0;
		} else if (n < 0) {
			return iw_os_fail(why, errno, "loop: wait for sockets");
		}
		now = l->polled_at = iw_os_now();
		/* The timer was armed for an earlier wait. */
		one = only_one(ev, n);
		early = (one && one->kind == WATCH_TIMER && now < end) ||
			(n == 0 && turn == IW_RING_AGAIN);
		for (int i = 0; i < n; i++)
			ret |= serve(l, &ev[i], now);
		if (iw_loop_fire_timers(l, now))
			early = false;
		/* What arrived is acknowledged, what waited for room goes. */
		if (iw_unlikely(!iw_list_empty(&l->dirty)))
			iw_loop_port_flush_all(l, now);
	} while (early);
	return ret;
}

struct iw_loop_conn *iw_loop_next_conn(struct iw_loop *l)
{
	struct iw_list *n = iw_list_first(&l->news);

	if (!n)
		return NULL;
	iw_list_del(n);
	return iw_container_of(n, struct iw_loop_conn, news);
}

struct iw_loop_listener *iw_loop_next_listener(struct iw_loop *l)
{
	struct iw_list *n = iw_list_first(&l->listener_news);

	if (!n)
		return NULL;
	iw_list_del(n);
	return iw_container_of(n, struct iw_loop_listener, news);
}
