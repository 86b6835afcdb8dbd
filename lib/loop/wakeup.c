// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Descriptors for the program's own event loop.
 *
 * The loop's epoll descriptor is readable while a socket is ready or the loop's timer has fired.
 * After the first wake-up was opened, that timer is always armed for the nearest deadline, and an
 * eventfd is readable while the next flush has work: connections are kicked, or a call outside of a
 * turn has changed an association. A wake-up is an epoll descriptor that watches the loop's epoll
 * descriptor and an eventfd of its own.
 */
#include "loop/loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "loop/internal.h"
#include "os/os.h"
#include "util/text.h"

/* Makes the loop's epoll descriptor readable, from now on, whenever iw_loop_wait would not wait. */
static int watch_everything(struct iw_loop *l, struct iw_fault *why)
{
	int err;

	if (l->kick_fd >= 0)
		return 0;
	l->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->kick_fd < 0)
		return iw_os_fail(why, errno, "loop: create an eventfd");
	err = iw_loop_watch(l, l->kick_fd, EPOLLIN, &l->kick, true, why);
	if (err) {
		close(l->kick_fd);
		l->kick_fd = -1;
		return err;
	}
	iw_loop_end_direct(l);
	(void)iw_loop_rest(l);
	if (!iw_list_empty(&l->kicked) || !iw_list_empty(&l->dirty))
		iw_loop_kick_wakeup(l);
	iw_loop_arm_timer(l);
	return 0;
}

/* Adds an epoll descriptor or eventfd to another epoll set. */
static int nest(int epoll, int fd, struct iw_fault *why)
{
	struct epoll_event ev = { .events = EPOLLIN };

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &ev) < 0
		       ? iw_os_fail(why, errno, "loop: nest an epoll descriptor")
		       : 0;
}

int iw_loop_wakeup_open(struct iw_loop_wakeup *b, struct iw_loop *l, struct iw_fault *why)
{
	int err = watch_everything(l, why);

	if (err)
		return err;
	*b = (struct iw_loop_wakeup){ .fd = -1, .event_fd = -1 };
	b->fd = epoll_create1(EPOLL_CLOEXEC);
	b->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (b->fd < 0 || b->event_fd < 0) {
		err = iw_os_fail(why, errno, "loop: create a descriptor to be polled");
		goto fail;
	}
	err = nest(b->fd, l->epoll, why);
	if (!err)
		err = nest(b->fd, b->event_fd, why);
	if (err)
		goto fail;
	b->loop = l;
	return 0;
fail:
	if (b->fd >= 0)
		close(b->fd);
	if (b->event_fd >= 0)
		close(b->event_fd);
	return err;
}

void iw_loop_wakeup_close(struct iw_loop_wakeup *b)
{
	if (!b->loop)
		return;
	close(b->fd);
	close(b->event_fd);
	b->loop = NULL;
}

void iw_loop_wakeup_set(struct iw_loop_wakeup *b, bool on)
{
	if (!b->loop || on == b->is_set)
		return;
	if (on)
		iw_loop_set_eventfd(b->event_fd);
	else
		iw_loop_drain(b->event_fd);
	b->is_set = on;
}
