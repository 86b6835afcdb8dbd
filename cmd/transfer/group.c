// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Transfers: the state that the connections of one share, and the report at its end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/conn_facts.h"
#include "cli/human.h"
#include "cli/text.h"
#include "transfer/internal.h"

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
		g->most = IW_MAX(g->most, g->sessions);
		return g;
	}
	g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	g->hub = h;
	g->serial = ++h->last_serial;
	g->initiator = initiator;
	g->close = iw_group_task_new(g, NULL);
	if (!g->close) {
		free(g);
		return NULL;
	}
	memcpy(g->id, id, sizeof(g->id));
	g->sessions = g->most = 1;
	g->conns = 1;
	g->began_at = h->now;
	iw_lane_init(&g->names);
	for (size_t i = 0; i < DATA_LANES; i++)
		iw_lane_init(&g->data[i]);
	iw_lane_init(&g->measures);
	iw_place_reset(&g->place);
	iw_list_init(&g->again);
	iw_list_init(&g->later);
	iw_list_init(&g->to_split);
	iw_missing_init(&g->returned);
	iw_list_add_tail(&h->groups, &g->link);
	return g;
}

/* --- the end --- */

/* True if chunks were sent, and the sink had no time to report whether it has stored them. */
static bool was_cut_short(const struct iw_transfer_report *t)
{
	return t->role == IW_XFER_SOURCE && t->counts.octets >= IW_XFER_CHUNK &&
	       (t->fault.err == IW_E_CANCELED || t->fault.err == IW_E_TIMEOUT ||
		t->fault.err == IW_E_CLOSED || t->fault.err == IW_E_OS);
}

/*
 * True if the same command can resume the transfer: the receiver has kept octets, or probably has.
 */
static bool can_resume(const struct group *g, const struct iw_transfer_report *t)
{
	return g->initiator && !g->stream && !t->dry_run &&
	       (t->counts.kept > 0 || was_cut_short(t));
}

static void report_resume(const struct group *g, const struct iw_transfer_report *t)
{
	const char *first = g->unanswered ? "start the listener again, and " : "";
	char size[IW_HUMAN_TEXT];

	if (g->initiator && g->stream && !t->dry_run && t->counts.octets > 0)
		iw_log_warn("a stream cannot be resumed: send it again from its beginning");
	if (!can_resume(g, t))
		return;
	if (t->counts.kept > 0)
		iw_log_warn(
			"%s stored so far stay at the target: %srun the same command again to resume",
			iw_human_size(size, t->counts.kept), first);
	else
		iw_log_warn(
			"what the target has stored stays there: %srun the same command again to resume",
			first);
}

/* Inserts text and a colon before the reason, if there is room. */
static void put_in_front(struct iw_fault *why, const char *text)
{
	size_t n = strlen(text), len = strlen(why->text);

	if (n + 2 + len >= sizeof(why->text))
		return;
	memmove(why->text + n + 2, why->text, len + 1);
	memcpy(why->text, text, n);
	memcpy(why->text + n, ": ", 2);
}

/* A peer that refuses the target as a whole often does not name it. */
static void name_target(const struct group *g, struct iw_fault *why)
{
	const char *path = g->hub->cfg->path;
	char name[80], text[96];

	if (!g->initiator || g->end.role != IW_XFER_SOURCE || !path || !path[0] ||
	    !strstr(why->text, "the target") || strlen(path) >= sizeof(name) / 2)
		return;
	iw_printable(name, sizeof(name), path, strlen(path), true);
	snprintf(text, sizeof(text), "target \"%s\"", name);
	if (!strstr(why->text, text + strlen("target ")))
		put_in_front(why, text);
}

/* Adds the peer's name, which faults of this side lack. */
static void name_peer(const struct group *g, struct iw_fault *why)
{
	if (g->initiator && (g->established || why->err == IW_E_REJECTED) && why->text[0] &&
	    !strstr(why->text, g->peer))
		put_in_front(why, g->peer);
}

/* The text says why the connection was lost; this adds why it was not set up again. */
static void add_unanswered(const struct group *g, struct iw_transfer_report *t)
{
	char *text = t->fault.text;
	size_t len = strlen(text);

	if (g->unanswered)
		snprintf(text + len, sizeof(t->fault.text) - len,
			 "%sthe listener no longer answers%s", len > 0 ? "; " : "",
			 can_resume(g, t) ? "" : ": start it again, and repeat the command");
}

/* Reports the result, after the last connection has ended. */
static void report_end(struct group *g)
{
	struct hub *h = g->hub;
	struct iw_transfer_report *t = &g->end;
	bool ours = g->initiator || iw_group_is_the_one(g);

	t->peer = g->peer;
	if (g->ended_well)
		g->counts.files_failed += iw_sink_count_missing(g);
	t->counts = g->counts;
	t->counts.files_done -= IW_MIN(t->counts.files_done, g->undone);
	t->counts.files_failed -= IW_MIN(t->counts.files_failed, g->repeated);
	t->counts.peer_failed -= IW_MIN(t->counts.peer_failed, g->repeated);
	t->counts.gone -= IW_MIN(t->counts.gone, g->spared);
	t->counts.stayed -= IW_MIN(t->counts.stayed, h->cfg->spared);
	t->redials = g->redials;
	t->connections = g->connections;
	t->info.tx_octets = g->tx_octets;
	t->info.rx_octets = g->rx_octets;
	t->dry_run = g->opts & IW_XFER_OPT_DRY_RUN;
	t->opts = h->cfg->opts;
	t->excluded = g->initiator && (g->excluded || t->counts.files_excluded > 0);
	t->filter = &h->cfg->filter;
	/* One connection ended in order, so others have moved what a lost one did not. */
	if (g->ended_well)
		t->fault.err = IW_OK;
	t->duration_ns = h->now - g->began_at;
	if (t->fault.err != IW_OK) {
		name_target(g, &t->fault);
		name_peer(g, &t->fault);
		add_unanswered(g, t);
		if (ours)
			h->status = iw_cli_fail(h->cli, &t->fault);
		else
			/* A peer that connected and sent nothing is not worth a warning. */
			iw_log(t->counts.msgs_received > 0 ? IW_LOG_WARN : IW_LOG_INFO, "%s: %s",
			       t->peer,
			       t->fault.text[0] ? t->fault.text : iw_err_text(t->fault.err));
	} else if (ours) {
		h->status = iw_report_status(t);
	}
	if (g->initiator && t->role == IW_XFER_SOURCE && t->counts.stayed > 0)
		iw_log_warn(
			"%llu name%s at the target not removed: not on the confirmed list; -n --delete lists what is there now",
			(unsigned long long)t->counts.stayed, t->counts.stayed == 1 ? "" : "s");
	if (t->fault.err != IW_OK)
		report_resume(g, t);
	/*
	 * Only now does a sink know what kinds of files the source has. A failed one may have been
	 * a directory.
	 */
	else if (g->initiator && g->opts & IW_XFER_OPT_DELETE && t->counts.dirs == 0 &&
		 iw_report_status(t) == IW_EXIT_OK && !h->cfg->would_remove)
		iw_log_warn("--delete had no effect: no directory was transferred; leave it out");
	if (h->cfg->would_remove && t->fault.err == IW_OK)
		*h->cfg->would_remove = t->counts.gone;
	/* A peer that connected and sent nothing did not start a transfer. */
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
	(void)iw_cli_facts_tls(&g->end.tls, s->qp);
}

/*
 * Over SCTP the connections of a transfer share an association, which counts the octets of all of
 * them.
 */
static void add_line(struct group *g, const struct session *s)
{
	bool shared = strcmp(g->hub->cli->transport, "tcp") != 0;
	struct iw_qp_info info;

	if (!s->qp || !s->established)
		return;
	iw_qp_info(s->qp, &info);
	g->tx_octets = shared ? IW_MAX(g->tx_octets, info.tx_octets)
			      : g->tx_octets + info.tx_octets;
	g->rx_octets = shared ? IW_MAX(g->rx_octets, info.rx_octets)
			      : g->rx_octets + info.rx_octets;
}

/* True if the texts differ in digits only: sizes and times differ between connections. */
static bool equal_but_numbers(const char *a, const char *b)
{
	static const char digits[] = "0123456789";

	for (;; a++, b++) {
		a += strspn(a, digits);
		b += strspn(b, digits);
		if (*a != *b || *a == '\0')
			return *a == *b;
	}
}

/* Returns the level for a reason that several connections or attempts may share: warned of once. */
static enum iw_log_level loss_level(struct group *g, const char *why)
{
	if (equal_but_numbers(g->last_loss, why))
		return IW_LOG_INFO;
	snprintf(g->last_loss, sizeof(g->last_loss), "%s", why);
	return IW_LOG_WARN;
}

static void report_loss(struct group *g, const struct session *s)
{
	const char *why = s->fault.text[0] ? s->fault.text : iw_err_text(s->fault.err);
	bool named = strstr(why, s->peer_text);

	if (s->replaced && g->initiator)
		iw_log(loss_level(g, why), "%s%sconnecting again, because: %s",
		       named ? "" : s->peer_text, named ? "" : ": ", why);
	else if (s->replaced)
		iw_log_info("%s: %s: it may connect again", s->peer_text, why);
	else if (g->established)
		iw_log(s->attempts > 0 || g->hub->stopping ? IW_LOG_INFO : loss_level(g, why),
		       "%s: %s: the other connections continue", s->peer_text, why);
}

/* Ends connections that are being set up again, because the transfer is complete. */
static void stop_redials(struct group *g)
{
	for (struct iw_list *l = g->hub->sessions.next; l != &g->hub->sessions; l = l->next) {
		struct session *s = iw_container_of(l, struct session, all);

		if (s->group != g || !g->initiator || s->attempts == 0 ||
		    (s->phase != PH_WAITING && s->phase != PH_CONNECTING))
			continue;
		s->leave_by = g->hub->now;
		iw_session_set_timer(s);
	}
}

/* The last session that leaves ends the transfer. */
static void leave(struct group *g, struct session *s)
{
	struct hub *h = g->hub;

	if (s->x) {
		struct iw_xfer_counts c = *iw_xfer_counts(s->x);

		c.files_failed -= IW_MIN(c.files_failed, s->requeued);
		iw_group_add_counts(&g->counts, &c);
	}
	add_line(g, s);
	/*
	 * The error code for a missing listener depends on the transport; all the texts contain
	 * this phrase.
	 */
	if (s->attempts > 0 && !s->established && strstr(s->closed_why.text, "is a listener with"))
		g->unanswered = true;
	if (s->ended && s->fault.err == IW_OK) {
		g->ended_well = true;
		stop_redials(g);
	}
	/*
	 * The reason for the loss is more useful than why the connection could not be set up again,
	 * unless the peer could not prove who it is.
	 */
	if (s->ended && s->qp &&
	    (s->established || s->fault.err == IW_E_REJECTED || s->fault.err == IW_E_TLS ||
	     !g->peer[0]))
		keep_end(g, s);
	if (s->work && s->work->next_waits)
		g->waiting--;
	s->group = NULL;
	if (--g->sessions > 0) {
		if (s->ended && s->fault.err != IW_OK)
			report_loss(g, s);
		iw_group_wake(g);
		return;
	}
	if (g->peer[0])
		report_end(g);
	if (iw_group_is_the_one(g)) {
		h->taken = NULL;
		h->over = true;
		iw_group_end_others(h, g, NULL);
	}
	/* A later transfer with the same id is a different one. */
	iw_group_end_question(g);
	iw_list_del(&g->link);
	g->over = true;
	atomic_store_explicit(&g->no_measure, true, memory_order_relaxed);
	h->closing++;
	if (g->tasks == 0)
		iw_group_close(g);
}

void iw_group_remove(struct session *s)
{
	/* The worker's tasks report to the transfer, no longer to the session. */
	iw_source_leave(s);
	iw_sink_leave(s);
	if (s->phase == PH_WAITING)
		s->hub->nwaiting--;
	if (s->group)
		leave(s->group, s);
	iw_session_free(s);
}
