// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The loop: waits, fires timers, serves what is ready, and queues connections for the caller. */
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

/* The most descriptors served in one turn; the others are still ready in the next one. */
#define EVENTS         64
/* A wait up to this long uses the time-out of the system call, not the timer descriptor. */
#define SHORT_WAIT_NS  IW_MSEC(5)
/*
 * For can_wait_direct: the next deadline must be at least this far away, longer than a receive in
 * the socket waits; how often all descriptors are checked; waits before the first one in a socket.
 */
#define DIRECT_WAIT_NS IW_MSEC(20)
#define POLL_ALL_NS    IW_MSEC(1)
#define DIRECT_AFTER   64
/* Free buffers that a pool keeps: enough for the few connections that are busy at once. */
#define SPARE_TXBUFS   8
#define SPARE_SPILLS   32

int iw_loop_new(struct iw_loop **out, const struct iw_mem *mem, struct iw_fault *why)
{
	struct iw_loop *l = iw_mem_alloc(mem, sizeof(*l));
	int err;

	if (!l)
		return iw_fail(why, IW_E_NOMEM, "loop: no memory");
	l->mem = mem;
	l->wake_fd = l->kick_fd = l->timer_fd = -1;
	l->timer_at = IW_TIME_NEVER;
	/*
	 * Processors of the machine, not of this thread. If the peer shares this thread's
	 * processor, unsuccessful attempts end the polling (loop/near.h).
	 */
	l->near.allowed = sysconf(_SC_NPROCESSORS_ONLN) > 1;
	l->wake.kind = WATCH_WAKE;
	l->kick.kind = WATCH_KICK;
	l->timer.kind = WATCH_TIMER;
	iw_list_init(&l->kicked);
	iw_list_init(&l->ready);
	iw_list_init(&l->ready_listeners);
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

/* Undoes iw_loop_kick_wakeup after a flush, unless connections are still kicked. */
static void clear_kick(struct iw_loop *l)
{
	if (!l->kick_set || !iw_list_empty(&l->kicked))
		return;
	iw_loop_drain(l->kick_fd);
	l->kick_set = false;
}

void iw_loop_flush(struct iw_loop *l)
{
	struct iw_list *n, batch;
	struct iw_loop_conn *k;

	l->flushed_at = 0;
	if (iw_list_empty(&l->kicked)) {
		if (iw_unlikely(!iw_list_empty(&l->dirty)))
			iw_loop_port_flush_all(l, iw_os_now());
		clear_kick(l);
		return;
	}
	l->flushed_at = iw_os_now();
	/*
	 * Only the connections that are kicked now. One that is kicked again, because its budget
	 * was used up, is served in the next turn, after the sockets.
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
	clear_kick(l);
}

uint64_t iw_loop_wait_end(const struct iw_loop *l, uint64_t until)
{
	const struct iw_timer *first = iw_heap_first(&l->timers);

	if (!iw_list_empty(&l->kicked) || !iw_list_empty(&l->ready) ||
	    !iw_list_empty(&l->ready_listeners) || !iw_list_empty(&l->dirty))
		return 0;
	return first && first->at < until ? first->at : until;
}

/*
 * epoll_wait for at most ns. epoll_pwait2 needs Linux 5.11 and glibc 2.35; without it the time is
 * rounded up to a multiple of 1 ms.
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
 * epoll_wait until the given time (0: does not wait). With a time-out the kernel sets and cancels a
 * timer in each call, a good part of a message's latency. So a longer wait has no time-out, and the
 * loop's timer descriptor ends it.
 */
static int poll_until(struct iw_loop *l, struct epoll_event *ev, uint64_t until, uint64_t now)
{
	l->waits++;
	if (until == 0)
		return epoll_wait(l->epoll, ev, EVENTS, 0);
	if (until < NO_DEADLINE) {
		if (until <= now + SHORT_WAIT_NS)
			return poll_for(l, ev, until > now ? until - now : 0);
		iw_loop_arm_timer_at(l, until);
	}
	return epoll_wait(l->epoll, ev, EVENTS, -1);
}

/* Polls for at most IW_NEAR_NS, and sets *now to the time after it. Returns as poll_until. */
static int poll_near(struct iw_loop *l, struct epoll_event *ev, uint64_t *now)
{
	const uint64_t stop = *now + IW_NEAR_NS;
	unsigned tries = 0;
	int n;

	do {
		tries++;
		n = epoll_wait(l->epoll, ev, EVENTS, 0);
		*now = iw_os_now();
	} while (n == 0 && *now < stop);
	l->waits += tries;
	iw_near_polled(&l->near, tries, n != 0);
	return n;
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

		/* Each of these moves the timer beyond now. */
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
	case WATCH_SESSION: /* has a timer only */
		return 0;
	case WATCH_WAKE:
		l->unwoken = 0;
		return IW_LOOP_WOKEN;
	case WATCH_TIMER:
		iw_loop_drain(l->timer_fd);
		l->waits++;
		l->timer_at = IW_TIME_NEVER;
		return 0;
	case WATCH_KICK: /* the next flush drains it */
		return 0;
	}
	return 0;
}

/* Returns the watched object if exactly one is ready; else NULL. */
static struct watch *only_one(const struct epoll_event *ev, int n)
{
	return n == 1 ? ev->data.ptr : NULL;
}

static struct iw_loop_conn *direct_conn(const struct iw_loop *l)
{
	return iw_container_of(l->direct, struct iw_loop_conn, watch);
}

static struct iw_loop_port *direct_port(const struct iw_loop *l)
{
	return iw_container_of(l->direct, struct iw_loop_port, watch);
}

/*
 * For a ping-pong over one connection: a process that blocks in the socket wakes up sooner than one
 * that blocks in epoll and then reads, by a tenth of the whole latency. So if input of the only
 * connection, or of the only port that carries all connections, was all that the last wait found,
 * the next wait blocks in that socket. The loop checks all other descriptors (a listener, the wake
 * descriptor) once in POLL_ALL_NS, and whenever such a read times out after some ms. The first such
 * read follows DIRECT_AFTER waits without the wake descriptor, because a read in the socket delays
 * a program that is often woken by it (by its threads).
 */
static bool can_wait_direct(const struct iw_loop *l)
{
	if (!l->direct || l->kick_fd >= 0)
		return false;
	if (l->direct->kind == WATCH_STREAM)
		return l->conns == 1 && iw_loop_stream_can_wait(direct_conn(l));
	return l->streams == 0 && l->ports.next == l->ports.prev &&
	       iw_loop_port_can_wait(direct_port(l));
}

bool iw_loop_poll_all_due(const struct iw_loop *l, uint64_t now)
{
	return now >= l->polled_at + POLL_ALL_NS;
}

void iw_loop_end_direct(struct iw_loop *l)
{
	struct watch *w = l->direct;

	l->direct = NULL;
	l->direct_ends = false;
	if (w && w->kind == WATCH_STREAM)
		iw_loop_stream_leave(iw_container_of(w, struct iw_loop_conn, watch));
	else if (w)
		iw_loop_port_leave(iw_container_of(w, struct iw_loop_port, watch));
}

static void direct_ready(struct iw_loop *l, uint64_t now)
{
	if (l->direct->kind == WATCH_STREAM) {
		iw_loop_stream_ready(direct_conn(l), EPOLLIN, now);
		return;
	}
	iw_loop_port_ready(direct_port(l), now);
	iw_loop_port_flush_all(l, now);
}

/* As iw_loop_stream_wait, in the socket of l->direct. */
static int wait_direct(struct iw_loop *l, bool block, uint64_t *now)
{
	return l->direct->kind == WATCH_STREAM ? iw_loop_stream_wait(direct_conn(l), block, now)
					       : iw_loop_port_wait(direct_port(l), block, now);
}

/* Polls in the socket of l->direct as poll_near. Returns as wait_direct. */
static int poll_direct(struct iw_loop *l, uint64_t *now)
{
	const uint64_t stop = *now + IW_NEAR_NS;
	unsigned tries = 0;
	int ret;

	do {
		tries++;
		ret = wait_direct(l, false, now);
	} while (ret == IW_E_AGAIN && *now < stop);
	iw_near_polled(&l->near, tries, ret != IW_E_AGAIN);
	return ret;
}

/*
 * Serves the connection or port of l->direct alone. *near: polls first, and sets it to false.
 * Returns true if the turn is complete, with its result in *ret.
 */
static bool serve_direct(struct iw_loop *l, uint64_t end, bool *near, uint64_t now, int *ret)
{
	uint64_t begun = now;

	*ret = 0;
	if (end == 0) {
		direct_ready(l, now);
		return !iw_loop_poll_all_due(l, now);
	}
	if (iw_loop_poll_all_due(l, now) || end < now + DIRECT_WAIT_NS)
		return false;
	*ret = *near ? poll_direct(l, &now) : IW_E_AGAIN;
	*near = false;
	if (*ret == IW_E_AGAIN)
		*ret = wait_direct(l, true, &now);
	if (*ret == IW_E_AGAIN)
		return false;
	iw_near_end(&l->near, now - begun, *ret == 0);
	if (*ret == IW_E_CANCELED)
		*ret = IW_LOOP_WOKEN;
	return true;
}

/*
 * Waits until end for all descriptors; near: polls first. Returns how many are ready, or -1 and
 * errno.
 */
static int poll_all(struct iw_loop *l, struct epoll_event *ev, uint64_t end, bool near,
		    uint64_t now)
{
	struct watch *one;
	int n = 0;

	if (end)
		iw_loop_end_direct(l);
	if (near)
		n = poll_near(l, ev, &now);
	if (n == 0)
		n = poll_until(l, ev, end, now);
	if (n > 0) {
		iw_loop_end_direct(l);
		one = only_one(ev, n);
		if (one && (one->kind == WATCH_STREAM || one->kind == WATCH_PORT) &&
		    ev->events == EPOLLIN && ++l->unwoken > DIRECT_AFTER)
			l->direct = one;
	}
	return n;
}

int iw_loop_wait(struct iw_loop *l, uint64_t until, struct iw_fault *why)
{
	struct epoll_event ev[EVENTS];
	const struct watch *one;
	uint64_t now, end;
	bool early, near;
	int n, ret;

	/*
	 * The flush has just served a program that posts and polls in turn. Check the sockets only
	 * when that is due (POLL_ALL_NS), or if the flush had no work.
	 */
	if (l->direct_ends)
		iw_loop_end_direct(l);
	if (until == 0 && l->flushed_at && l->ring_ports == 0 &&
	    !iw_loop_poll_all_due(l, l->flushed_at))
		return 0;
	do {
		enum iw_ring_turn turn = IW_RING_WAIT;

		if (l->ring_ports > 0)
			turn = iw_loop_turn_rings(l, until);
		if (turn == IW_RING_DONE)
			return 0;
		end = turn == IW_RING_WAIT ? iw_loop_wait_end(l, until) : 0;
		/* The wait would not notice input that arrived before the rings were armed. */
		if (end > 0 && !iw_loop_rest(l))
			end = 0;
		now = iw_os_now();
		near = end > now && l->ring_ports == 0 && iw_near_begin(&l->near, end - now);
		if (can_wait_direct(l) && serve_direct(l, end, &near, now, &ret))
			return ret;
		ret = 0;
		n = poll_all(l, ev, end, near, now);
		if (n < 0 && errno == EINTR) {
			ret = IW_LOOP_WOKEN;
			n = 0;
		} else if (n < 0) {
			return iw_os_fail(why, errno, "loop: wait for sockets");
		}
		l->polled_at = iw_os_now();
		if (end > now)
			iw_near_end(&l->near, l->polled_at - now, n > 0);
		now = l->polled_at;
		/* If only the timer of an earlier wait has fired, wait again. */
		one = only_one(ev, n);
		early = (one && one->kind == WATCH_TIMER && now < end) ||
			(n == 0 && turn == IW_RING_AGAIN);
		for (int i = 0; i < n; i++)
			ret |= serve(l, &ev[i], now);
		if (iw_loop_fire_timers(l, now))
			early = false;
		/* Acknowledges input, and sends output that waited for room. */
		if (iw_unlikely(!iw_list_empty(&l->dirty)))
			iw_loop_port_flush_all(l, now);
	} while (early);
	return ret;
}

struct iw_loop_conn *iw_loop_next_conn(struct iw_loop *l)
{
	struct iw_list *n = iw_list_first(&l->ready);

	if (!n)
		return NULL;
	iw_list_del(n);
	return iw_container_of(n, struct iw_loop_conn, ready);
}

struct iw_loop_listener *iw_loop_next_listener(struct iw_loop *l)
{
	struct iw_list *n = iw_list_first(&l->ready_listeners);

	if (!n)
		return NULL;
	iw_list_del(n);
	return iw_container_of(n, struct iw_loop_listener, ready);
}
