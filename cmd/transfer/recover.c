// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Lost connections: sessions that wait for a new one, and transfers that give up a temporary
 * because another transfer wants it.
 */
#include <string.h>

#include "transfer/internal.h"

/* Creates the session that replaces s: it connects again, or waits for the peer to do so. */
static void replace(struct group *g, struct session *s)
{
	struct hub *h = g->hub;
	bool anew = iw_group_has_moved(g, s);
	uint64_t wait = h->cli->timeout_ns;
	struct iw_fault why;
	struct session *n;

	s->replaced = true;
	/* While the transfer has other sessions, it need not be kept alive. */
	if (!g->initiator && g->sessions > 1)
		return;
	g->sessions++;
	if (iw_session_new(&n, h, g, g->initiator, &why) != 0) {
		s->replaced = false;
		return;
	}
	n->attempts = anew ? 1 : s->attempts + 1;
	n->lost_at = anew ? h->now : s->lost_at;
	n->moved_then = anew ? iw_group_moved(g) : s->moved_then;
	if (g->initiator)
		wait = IW_MIN(REDIAL_FIRST << IW_MIN(n->attempts - 1, 10u),
			      IW_MIN(REDIAL_MOST, iw_time_add(n->lost_at, wait) - h->now));
	n->phase = PH_WAITING;
	n->conn = s->conn;
	n->leave_by = iw_time_add(h->now, wait);
	h->nwaiting++;
	iw_session_set_timer(n);
}

void iw_session_finish(struct session *s)
{
	if (iw_group_replaces(s->group, s))
		replace(s->group, s);
	iw_group_remove(s);
}

void iw_session_drop(struct session *s, const char *why)
{
	iw_xfer_fault(&s->closed_why, IW_E_CLOSED, "%s", why);
	s->closed = true;
	iw_session_closed(s);
	while (s->phase != PH_GONE)
		(void)iw_session_run(s);
	iw_session_finish(s);
}

/* --- temporaries that another transfer wants --- */

/* True if all sessions of the transfer wait for a new connection. */
static bool only_waits(const struct group *g)
{
	for (struct iw_list *l = g->hub->sessions.next; l != &g->hub->sessions; l = l->next) {
		const struct session *s = iw_container_of(l, struct session, all);

		if (s->group == g && s->phase != PH_WAITING)
			return false;
	}
	return true;
}

/*
 * The worker may change the name of a file that it writes to. Such a file has just received octets,
 * so its peer is alive.
 */
static bool holds(const struct session *s, const char *temp)
{
	for (struct iw_list *l = s->files.next; l != &s->files; l = l->next) {
		const struct file *f = iw_container_of(l, struct file, of);

		if (f->tasks == 0 && f->has_target && f->target.part &&
		    strcmp(f->target.part->name, temp) == 0)
			return true;
	}
	return false;
}

static void ask(struct group *g)
{
	struct hub *h = g->hub;

	/* A peer that has just answered is alive. It need not answer again for each file. */
	if (g->answer_by != 0 || (g->asked_at != 0 && h->now - g->asked_at < 2 * ANSWER))
		return;
	g->asked_at = h->now;
	g->answer_by = iw_time_add(h->now, IW_MIN(ANSWER, h->cli->timeout_ns / 2));
	h->questions++;
	h->closing++;
	for (struct iw_list *l = h->sessions.next; l != &h->sessions; l = l->next) {
		struct session *s = iw_container_of(l, struct session, all);

		if (s->group != g || s->phase != PH_UP)
			continue;
		iw_session_sample(s); /* octets that arrived before are not an answer */
		iw_xfer_ask(s->x);
		iw_session_make_ready(s);
	}
}

void iw_group_release_temp(const struct group *g, const char *temp)
{
	struct hub *h = g->hub;

	for (struct iw_list *l = h->sessions.next, *next; l != &h->sessions; l = next) {
		struct session *s = iw_container_of(l, struct session, all);

		next = l->next;
		/*
		 * If the worker owns files of the other transfer, it will close their temporaries
		 * itself.
		 */
		if (s->group != g && s->phase == PH_WAITING && s->group->tasks == 0 &&
		    only_waits(s->group) && iw_target_holds(&s->group->place, temp))
			iw_group_remove(s);
	}
	for (struct iw_list *l = h->sessions.next; l != &h->sessions; l = l->next) {
		struct session *s = iw_container_of(l, struct session, all);

		if (s->group != g && !s->group->initiator && s->phase == PH_UP && holds(s, temp))
			ask(s->group);
	}
}

/*
 * True if octets arrived from the peer since it was asked. look: also counts octets of incomplete
 * messages, which takes system calls; enough once, at the deadline.
 */
static bool has_answered(const struct group *g, bool look)
{
	for (struct iw_list *l = g->hub->sessions.next; l != &g->hub->sessions; l = l->next) {
		struct session *s = iw_container_of(l, struct session, all);

		if (s->group != g || s->phase != PH_UP)
			continue;
		if (look)
			iw_session_sample(s);
		if (iw_xfer_heard_at(s->x) > g->asked_at)
			return true;
	}
	return false;
}

/* A session of g whose connection is established; NULL: none. */
static struct session *one_up(const struct group *g)
{
	for (struct iw_list *l = g->hub->sessions.next; l != &g->hub->sessions; l = l->next) {
		struct session *s = iw_container_of(l, struct session, all);

		if (s->group == g && s->phase == PH_UP)
			return s;
	}
	return NULL;
}

/*
 * Ends the connections of g as lost. The end of the last one frees g, or leaves a session that
 * waits for its peer.
 */
static void drop_silent(struct group *g)
{
	struct session *s;

	while ((s = one_up(g)) != NULL)
		iw_session_drop(s, "the peer is silent, and another transfer wants the same file");
}

uint64_t iw_group_take_answers(struct hub *h)
{
	uint64_t at = IW_TIME_NEVER;

	if (h->questions == 0)
		return at;
	for (struct iw_list *l = h->groups.next, *next; l != &h->groups; l = next) {
		struct group *g = iw_container_of(l, struct group, link);
		bool late = h->now >= g->answer_by;

		next = l->next;
		if (g->answer_by == 0)
			continue;
		if (has_answered(g, late)) {
			iw_group_end_question(g);
		} else if (late) {
			/* The file that waits is retried when these files are closed. */
			drop_silent(g);
			iw_group_end_question(g);
		} else {
			at = IW_MIN(at, g->answer_by);
		}
	}
	return at;
}
