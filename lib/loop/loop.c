// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The loop itself: waiting, deadlines, who has work and who has news. */
#include "loop/loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "loop/internal.h"
#include "os/os.h"
#include "util/text.h"
#include "util/txbuf.h"

/* Ready descriptors served a turn; the rest is still ready at the next one. */
#define EVENTS 64
/* Buffers kept when connections give them back: enough for the few that are busy at once. */
#define SPARE_TXBUFS 8
#define SPARE_SPILLS 32

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
	iw_list_init(&l->gate_news);
	iw_heap_init(&l->timers, mem);
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll < 0) {
		err = iw_os_fail(why, errno, "loop: make an epoll descriptor");
		goto fail_loop;
	}
	l->scratch = iw_mem_alloc(mem, IW_LOOP_SCRATCH);
	if (!l->scratch) {
		err = iw_fail(why, IW_E_NOMEM, "loop: no memory for %u octets of receive buffer", IW_LOOP_SCRATCH);
		goto fail_epoll;
	}
	iw_pool_init(&l->txbufs, mem, sizeof(struct iw_txbuf), 0, SPARE_TXBUFS);
	iw_pool_init(&l->spill, mem, IW_MPA_SPILL_LEN, 0, SPARE_SPILLS);
	*out = l;
	return 0;
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
	iw_pool_fini(&l->txbufs);
	iw_pool_fini(&l->spill);
	iw_mem_free(l->mem, l->scratch, IW_LOOP_SCRATCH);
	iw_heap_fini(&l->timers);
	if (l->kick_fd >= 0)
		close(l->kick_fd);
	if (l->timer_fd >= 0)
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

/* ---------------------------------------------------------------- what the other files of the room call */

int iw_loop_add_timer(struct iw_loop *l, struct watch *w, uint64_t at, struct iw_fault *why)
{
	if (iw_heap_set(&l->timers, &w->timer, IW_MIN(at, FAR_AWAY)) != 0)
		return iw_fail(why, IW_E_NOMEM, "loop: no memory for a timer");
	iw_loop_arm_timer(l);
	return 0;
}

void iw_loop_set_timer(struct iw_loop *l, struct watch *w, uint64_t at)
{
	/* Moving what is in the heap cannot fail. */
	if (iw_heap_set(&l->timers, &w->timer, IW_MIN(at, FAR_AWAY)) == 0)
		iw_loop_arm_timer(l);
}

void iw_loop_note(struct iw_list *head, struct iw_list *n)
{
	if (iw_list_empty(n))
		iw_list_add_tail(head, n);
}

int iw_loop_watch(struct iw_loop *l, int fd, uint32_t events, struct watch *w, bool add, struct iw_fault *why)
{
	struct epoll_event ev = { .events = events, .data.ptr = w };

	if (epoll_ctl(l->epoll, add ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &ev) == 0)
		return 0;
	return iw_os_fail(why, errno, "loop: watch a descriptor");
}

void iw_loop_unwatch(struct iw_loop *l, int fd)
{
	struct epoll_event ignored = { 0 };

	/* It fails only for a descriptor that is not in the set. */
	(void)epoll_ctl(l->epoll, EPOLL_CTL_DEL, fd, &ignored);
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

/* ---------------------------------------------------------------- a turn */

uint64_t iw_loop_flush(struct iw_loop *l)
{
	uint64_t now = iw_os_now();
	struct iw_list *n, batch;

	if (iw_list_empty(&l->kicked))
		return now;
	/* The links of this turn: one that is kicked again, because its budget was not enough, has its turn after the sockets'. */
	batch = l->kicked;
	batch.next->prev = &batch;
	batch.prev->next = &batch;
	iw_list_init(&l->kicked);
	while ((n = iw_list_first(&batch))) {
		iw_list_del(n);
		iw_link_serve(iw_container_of(n, struct iw_link, kicked), now);
	}
	if (l->kick_rings && iw_list_empty(&l->kicked)) {
		iw_loop_drain(l->kick_fd);
		l->kick_rings = false;
	}
	return now;
}

/* When the wait must end at the latest: 0 at once. */
static uint64_t wait_end(const struct iw_loop *l, uint64_t until)
{
	const struct iw_timer *first = iw_heap_first(&l->timers);

	if (!iw_list_empty(&l->kicked) || !iw_list_empty(&l->news) || !iw_list_empty(&l->gate_news))
		return 0;
	return first && first->at < until ? first->at : until;
}

/* epoll_wait until the given time. The finer call came with Linux 5.11 and glibc 2.35; without it deadlines round up to 1 ms. */
static int poll_until(const struct iw_loop *l, struct epoll_event *ev, uint64_t until)
{
	uint64_t now, ns, ms;

	if (until == 0)
		return epoll_wait(l->epoll, ev, EVENTS, 0);
	if (until >= FAR_AWAY)
		return epoll_wait(l->epoll, ev, EVENTS, -1);
	now = iw_os_now();
	ns = until > now ? until - now : 0;
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)
	struct timespec ts = { .tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u) };
	int n = epoll_pwait2(l->epoll, ev, EVENTS, &ts, NULL);

	if (n >= 0 || errno != ENOSYS)
		return n;
#endif
	ms = (ns + 999999) / 1000000;
	return epoll_wait(l->epoll, ev, EVENTS, (int)IW_MIN(ms, (uint64_t)INT32_MAX));
}

static void fire_timers(struct iw_loop *l, uint64_t now)
{
	struct iw_timer *t;

	while ((t = iw_heap_first(&l->timers)) && t->at <= now) {
		struct watch *w = iw_container_of(t, struct watch, timer);

		/* Both move it beyond now. */
		if (w->kind == WATCH_GATE)
			iw_gate_timer(iw_container_of(w, struct iw_gate, watch));
		else
			iw_link_timer(iw_container_of(w, struct iw_link, watch), now);
	}
	iw_loop_arm_timer(l);
}

static int serve(struct iw_loop *l, const struct epoll_event *ev, uint64_t now)
{
	struct watch *w = ev->data.ptr;

	switch (w->kind) {
	case WATCH_LINK:
		iw_link_ready(iw_container_of(w, struct iw_link, watch), ev->events, now);
		return 0;
	case WATCH_GATE:
		iw_gate_ready(iw_container_of(w, struct iw_gate, watch));
		return 0;
	case WATCH_WAKE:
		return IW_LOOP_WOKEN;
	case WATCH_TIMER:
		iw_loop_drain(l->timer_fd);
		l->timer_at = IW_TIME_NEVER;
		return 0;
	case WATCH_KICK: /* the next flush stops it */
		return 0;
	}
	return 0;
}

int iw_loop_wait(struct iw_loop *l, uint64_t until, struct iw_fault *why)
{
	struct epoll_event ev[EVENTS];
	uint64_t now;
	int ret = 0;
	int n = poll_until(l, ev, wait_end(l, until));

	if (n < 0 && errno == EINTR) {
		ret = IW_LOOP_WOKEN;
		n = 0;
	} else if (n < 0) {
		return iw_os_fail(why, errno, "loop: wait for sockets");
	}
	now = iw_os_now();
	for (int i = 0; i < n; i++)
		ret |= serve(l, &ev[i], now);
	fire_timers(l, now);
	return ret;
}

struct iw_link *iw_loop_next_link(struct iw_loop *l)
{
	struct iw_list *n = iw_list_first(&l->news);

	if (!n)
		return NULL;
	iw_list_del(n);
	return iw_container_of(n, struct iw_link, news);
}

struct iw_gate *iw_loop_next_gate(struct iw_loop *l)
{
	struct iw_list *n = iw_list_first(&l->gate_news);

	if (!n)
		return NULL;
	iw_list_del(n);
	return iw_container_of(n, struct iw_gate, news);
}
