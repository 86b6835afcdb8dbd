// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * When sessions run: the list of sessions with pending work, their timers, and what they wait for:
 * memory for a chunk, open files, the rate of --bwlimit, standard input and output.
 */
#include <string.h>
#include <sys/epoll.h>

#include "transfer/internal.h"

/* --- sessions --- */

void iw_session_make_ready(struct session *s)
{
	if (iw_list_empty(&s->ready) && s->phase != PH_GONE)
		iw_list_add_tail(&s->hub->ready, &s->ready);
}

void iw_session_set_timer(struct session *s)
{
	uint64_t at = s->phase == PH_UP ? iw_xfer_deadline(s->x) : IW_TIME_NEVER;

	at = IW_MIN(at, s->leave_by);
	at = IW_MIN(at, s->pace_at);
	/* Without memory for the heap the deadline is checked at the next event. */
	if (at != s->timer.at && iw_heap_set(&s->hub->timers, &s->timer, at) != 0)
		iw_log_warn("%s: no memory for a timer", s->peer_text);
}

void iw_session_stop(struct session *s, const char *text)
{
	struct iw_fault why;

	iw_xfer_fault(&why, IW_E_CANCELED, "%s", text);
	if (s->x) {
		iw_xfer_fail(s->x, &why);
	} else {
		s->leave_by = 0; /* ends its wait */
		iw_session_set_timer(s);
	}
	iw_session_make_ready(s);
}

void iw_group_wake(struct group *g)
{
	struct hub *h = g->hub;

	/* A listener may have thousands of sessions of other transfers. */
	if (g->waiting == 0)
		return;
	for (struct iw_list *l = h->sessions.next; l != &h->sessions; l = l->next) {
		struct session *s = iw_container_of(l, struct session, all);

		if (s->group == g && s->work && s->work->next_waits)
			iw_session_make_ready(s);
	}
}

void iw_hub_wake_all(struct hub *h)
{
	for (struct iw_list *l = h->sessions.next; l != &h->sessions; l = l->next)
		iw_session_make_ready(iw_container_of(l, struct session, all));
}

void iw_session_starve(struct session *s)
{
	if (iw_list_empty(&s->starved))
		iw_list_add_tail(&s->hub->starved, &s->starved);
}

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
		iw_hub_wake_all(h);
	h->crowded = false;
}

/* --- the rate --- */

#define PACE_LATE IW_MSEC(20) /* a turn that is late by at most this time is compensated */

static uint64_t time_of(const struct hub *h, uint64_t octets)
{
	return (uint64_t)((double)octets * 8e9 / (double)h->cfg->rate);
}

/* Octets of messages since the last call, which count against the rate too. */
static uint64_t own_octets(struct session *s)
{
	uint64_t all = s->x ? iw_xfer_own_octets(s->x) : 0, more = all - IW_MIN(all, s->paced_own);

	s->paced_own = all;
	return more;
}

/* At any time, at most as many octets have moved as the rate permits since the start. */
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
	/* epoll rejects regular files, which never block. */
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
