// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Watched descriptors and timers, and the wake-up of a program's own event loop. */
#include "loop/loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "loop/internal.h"
#include "os/os.h"
#include "util/text.h"

/*
 * The timer may fire early, but never late: a timer that is armed for an earlier time stays. Firing
 * once without need costs less than setting the timer for each wait.
 */
void iw_loop_arm_timer_at(struct iw_loop *l, uint64_t at)
{
	struct itimerspec ts = { .it_value = { .tv_sec = (time_t)(at / 1000000000u),
					       .tv_nsec = (long)(at % 1000000000u) } };

	if (l->timer_at <= at)
		return;
	l->timer_at = at;
	l->waits++;
	/* It fails for invalid numbers only. A time of 0 would disarm it, but at is never 0. */
	(void)timerfd_settime(l->timer_fd, TFD_TIMER_ABSTIME, &ts, NULL);
}

void iw_loop_arm_timer(struct iw_loop *l)
{
	const struct iw_timer *first = iw_heap_first(&l->timers);

	if (l->kick_fd >= 0 && first && first->at < NO_DEADLINE)
		iw_loop_arm_timer_at(l, first->at);
}

int iw_loop_add_timer(struct iw_loop *l, struct watch *w, uint64_t at, struct iw_fault *why)
{
	if (iw_heap_set(&l->timers, &w->timer, IW_MIN(at, NO_DEADLINE)) != 0)
		return iw_fail(why, IW_E_NOMEM, "loop: no memory for a timer");
	iw_loop_arm_timer(l);
	return 0;
}

void iw_loop_set_timer(struct iw_loop *l, struct watch *w, uint64_t at)
{
	/* Moving an entry of the heap cannot fail. */
	if (iw_heap_set(&l->timers, &w->timer, IW_MIN(at, NO_DEADLINE)) == 0)
		iw_loop_arm_timer(l);
}

void iw_loop_note(struct iw_list *head, struct iw_list *n)
{
	if (iw_list_empty(n))
		iw_list_add_tail(head, n);
}

int iw_loop_watch(struct iw_loop *l, int fd, uint32_t events, struct watch *w, bool add,
		  struct iw_fault *why)
{
	struct epoll_event ev = { .events = events, .data.ptr = w };

	l->waits++;
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

/* One read of 8 octets makes an eventfd or timerfd unreadable. */
void iw_loop_drain(int fd)
{
	uint64_t count;

	/* It fails if the descriptor is not readable, which is the state wanted. */
	if (read(fd, &count, sizeof(count)) < 0)
		return;
}

void iw_loop_set_eventfd(int fd)
{
	static const uint64_t one = 1;

	/* It fails only if the descriptor is readable already. */
	if (write(fd, &one, sizeof(one)) < 0)
		return;
}

void iw_loop_kick_wakeup(struct iw_loop *l)
{
	if (l->kick_fd < 0 || l->kick_set)
		return;
	iw_loop_set_eventfd(l->kick_fd);
	l->kick_set = true;
}
