// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Transfers: what the connections of one have in common. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file/internal.h"

struct group *iw_group_find(struct hub *h, const uint8_t id[static IW_XFER_ID_LEN], bool initiator)
{
	for (struct iw_list *l = h->groups.next; l != &h->groups; l = l->next) {
		struct group *g = iw_container_of(l, struct group, link);

		if (g->initiator == initiator && memcmp(g->id, id, sizeof(g->id)) == 0)
			return g;
	}
	return NULL;
}

struct group *iw_group_get(struct hub *h, const uint8_t id[static IW_XFER_ID_LEN], bool initiator)
{
	struct group *g = iw_group_find(h, id, initiator);

	if (g) {
		g->sessions++;
		return g;
	}
	g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	g->hub = h;
	g->initiator = initiator;
	memcpy(g->id, id, sizeof(g->id));
	g->sessions = 1;
	g->conns = 1;
	g->began_at = h->now;
	iw_place_reset(&g->place);
	iw_list_init(&g->again);
	iw_list_init(&g->later);
	iw_list_add_tail(&h->groups, &g->link);
	return g;
}

static void free_files(struct iw_list *l)
{
	struct iw_list *i;

	while ((i = iw_list_first(l)) != NULL) {
		iw_list_del(i);
		iw_file_free(iw_container_of(i, struct file, link));
	}
}

static void group_free(struct group *g)
{
	iw_list_del(&g->link);
	free_files(&g->again);
	free_files(&g->later);
	iw_file_free(g->split);
	iw_pack_src_free(g->pack);
	iw_links_fini(&g->links);
	if (g->walk)
		iw_walk_fini(g->walk);
	free(g->walk);
	iw_target_forget(&g->place);
	iw_place_close(&g->place);
	free(g);
}

static void add_counts(struct iw_xfer_counts *to, const struct iw_xfer_counts *c)
{
	to->files_done += c->files_done;
	to->files_same += c->files_same;
	to->files_failed += c->files_failed;
	to->octets += c->octets;
	to->zeros += c->zeros;
	to->announced += c->announced;
	to->settled += c->settled;
	to->msgs_sent += c->msgs_sent;
	to->msgs_received += c->msgs_received;
	to->peer_failed += c->peer_failed;
	to->gone += c->gone;
}

struct iw_xfer_counts iw_group_counts(const struct group *g)
{
	struct iw_xfer_counts all = g->counts;
	const struct hub *h = g->hub;

	for (struct iw_list *l = h->sessions.next; l != &h->sessions; l = l->next) {
		const struct session *s = iw_container_of(l, struct session, all);

		if (s->group == g && s->x)
			add_counts(&all, iw_xfer_counts(s->x));
	}
	return all;
}

void iw_group_wake(struct group *g)
{
	struct hub *h = g->hub;

	/* A listener may hold thousands of connections of others. */
	if (g->waiting == 0)
		return;
	for (struct iw_list *l = h->sessions.next; l != &h->sessions; l = l->next) {
		struct session *s = iw_container_of(l, struct session, all);

		if (s->group == g && s->work && s->work->next_waits)
			iw_session_make_ready(s);
	}
}

/* --- connections that were lost --- */

static uint64_t moved(const struct group *g)
{
	const struct iw_xfer_counts c = iw_group_counts(g);

	return c.octets + c.zeros + c.files_done + c.files_same;
}

/* It was the connection that ended, nobody ended the transfer. */
static bool was_cut(const struct session *s)
{
	switch (s->closed_why.err) {
	case IW_E_REJECTED:
	case IW_E_INVAL:
	case IW_E_PEER_TERMINATE:
		return false;
	default:
		return s->x && iw_xfer_was_lost(s->x);
	}
}

bool iw_group_mends(const struct group *g, const struct session *s)
{
	const struct hub *h = g->hub;

	if (!was_cut(s) || h->stopping || g->stream || g->ended_well || h->cfg->to_stdout)
		return false;
	if (!g->initiator)
		return g->opened && (g->sessions > 1 || h->nwaiting < WAITING_MOST);
	/* A peer that never answered is none that was lost. */
	if (iw_group_counts(g).msgs_received == 0 || h->cfg->redials == 0)
		return false;
	return g->attempts == 0 || moved(g) != g->moved_then ||
	       (g->attempts < h->cfg->redials && h->now - g->lost_at < h->cli->timeout_ns);
}

void iw_group_mend(struct group *g, struct session *s)
{
	struct hub *h = g->hub;
	uint64_t wait = h->cli->timeout_ns;
	struct iw_fault why;
	struct session *n;

	s->mended = true;
	/* While there are others nobody needs to keep the place of one. */
	if (!g->initiator && g->sessions > 1)
		return;
	if (g->initiator) {
		if (g->attempts == 0 || moved(g) != g->moved_then) {
			g->attempts = 0;
			g->lost_at = h->now;
			g->moved_then = moved(g);
		}
		wait = IW_MIN(REDIAL_FIRST << IW_MIN(g->attempts, 10u), REDIAL_MOST);
		g->attempts++;
	}
	g->sessions++;
	if (iw_session_new(&n, h, g, g->initiator, &why) != 0) {
		s->mended = false;
		return;
	}
	n->phase = PH_WAITING;
	n->conn = s->conn;
	n->leave_by = iw_time_add(h->now, wait);
	h->nwaiting++;
	iw_session_set_timer(n);
}

/* Is nobody there but who waits? */
static bool is_deserted(const struct group *g)
{
	for (struct iw_list *l = g->hub->sessions.next; l != &g->hub->sessions; l = l->next) {
		const struct session *s = iw_container_of(l, struct session, all);

		if (s->group == g && s->phase != PH_WAITING)
			return false;
	}
	return true;
}

void iw_group_let_go(void *ctx, const char *temp)
{
	const struct group *g = ctx;
	struct hub *h = g->hub;

	for (struct iw_list *l = h->sessions.next, *next; l != &h->sessions; l = next) {
		struct session *s = iw_container_of(l, struct session, all);

		next = l->next;
		if (s->group != g && s->phase == PH_WAITING && is_deserted(s->group) &&
		    iw_target_holds(&s->group->place, temp))
			iw_session_free(s);
	}
}

/* --- the end --- */

/* Its last connection has ended. */
static void tell_end(struct group *g)
{
	struct hub *h = g->hub;
	struct iw_transfer_report *t = &g->end;
	bool ours = g->initiator || h->cfg->once;

	t->peer = g->peer;
	t->counts = g->counts;
	t->redials = g->redials;
	/* What one connection lost, others have moved: the transfer is well when one of them came to its orderly end. */
	if (g->ended_well)
		t->fault.err = IW_OK;
	t->duration_ns = h->now - g->began_at;
	if (t->fault.err != IW_OK) {
		if (ours)
			h->status = iw_cli_fail(h->cli, &t->fault);
		else
			/* Who connected and asked for nothing is not worth a warning. */
			iw_log(t->counts.msgs_received > 0 ? IW_LOG_WARN : IW_LOG_INFO, "%s: %s",
			       t->peer,
			       t->fault.text[0] ? t->fault.text : iw_err_text(t->fault.err));
	} else if (ours) {
		h->status = iw_report_status(t);
	}
	if (h->cfg->look)
		*h->cfg->look = t->counts.gone;
	/* Who connected and asked for nothing made no transfer. */
	if (g->initiator || t->counts.msgs_received > 0)
		iw_report_transfer(&h->report, t);
}

static void keep_end(struct group *g, const struct session *s)
{
	g->end = (struct iw_transfer_report){ .role = s->mine.role,
					      .mode = s->mine.mode,
					      .digest = s->mine.digest,
					      .fault = s->fault };
	snprintf(g->peer, sizeof(g->peer), "%s", s->peer_text);
	iw_qp_info(s->qp, &g->end.info);
}

static void tell_loss(const struct group *g, const struct session *s)
{
	const char *why = s->fault.text[0] ? s->fault.text : iw_err_text(s->fault.err);

	if (s->mended && g->initiator)
		iw_log_warn("%s: %s: connecting again", s->peer_text, why);
	else if (s->mended)
		iw_log_info("%s: %s: it may connect again", s->peer_text, why);
	else
		iw_log_warn("%s: %s: the others go on", s->peer_text, why);
}

void iw_group_leave(struct group *g, struct session *s)
{
	struct hub *h = g->hub;

	if (s->x) {
		struct iw_xfer_counts c = *iw_xfer_counts(s->x);

		c.files_failed -= IW_MIN(c.files_failed, s->requeued);
		add_counts(&g->counts, &c);
	}
	if (s->ended && s->fault.err == IW_OK)
		g->ended_well = true;
	/* Why the connection was lost tells more than why it could not be set up again. */
	if (s->ended && s->qp && (s->stood || s->fault.err == IW_E_REJECTED || !g->peer[0]))
		keep_end(g, s);
	if (s->work && s->work->next_waits)
		g->waiting--;
	s->group = NULL;
	if (--g->sessions > 0) {
		if (s->ended && s->fault.err != IW_OK)
			tell_loss(g, s);
		iw_group_wake(g);
		return;
	}
	if (g->peer[0])
		tell_end(g);
	if (h->taken == g) {
		h->taken = NULL;
		h->over = true;
	}
	group_free(g);
}
