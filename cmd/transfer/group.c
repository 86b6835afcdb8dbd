// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Transfers: what the connections of one have in common. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/human.h"
#include "cli/text.h"
#include "transfer/internal.h"

#define LAYER_LLP 2 /* of a Terminate: RFC 5040 4.8 */

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
	iw_lane_init(&g->data);
	iw_lane_init(&g->measures);
	iw_place_reset(&g->place);
	iw_list_init(&g->again);
	iw_list_init(&g->later);
	iw_list_init(&g->to_split);
	iw_list_init(&g->returned);
	iw_list_add_tail(&h->groups, &g->link);
	return g;
}

static void free_files(struct iw_list *l)
{
	struct iw_list *i;

	while ((i = iw_list_first(l)) != NULL) {
		iw_list_del(i);
		iw_session_file_free(iw_container_of(i, struct file, link));
	}
}

/* --- files in parts --- */

/* A file of which one part failed, or of which the first part has arrived. */
struct share {
	struct share *next;
	uint32_t number;
	bool counted, failed;
};

static struct share *share_of(struct group *g, uint32_t number)
{
	struct share *s = g->shares;

	while (s && s->number != number)
		s = s->next;
	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	*s = (struct share){ .next = g->shares, .number = number };
	g->shares = s;
	return s;
}

static void free_shares(struct group *g)
{
	while (g->shares) {
		struct share *next = g->shares->next;

		free(g->shares);
		g->shares = next;
	}
}

bool iw_group_note_part(struct group *g, const struct iw_xmeta *m, uint32_t code)
{
	bool fine = iw_xcode_is_fine(code), before;
	struct share *s;

	if (!m->share)
		return true;
	if (fine && m->part_off > 0)
		return false;
	s = share_of(g, m->share);
	if (!s)
		return true;
	before = s->failed;
	s->failed |= !fine;
	s->counted |= fine;
	g->repeated += before && !fine;
	/* It was counted as done with its first part. */
	g->undone += s->counted && (fine ? before : !before);
	return !before;
}

/* --- tasks --- */

void iw_group_give(struct group *g, struct iw_lane *lane, struct iw_task *t)
{
	g->tasks++;
	g->hub->tasks++;
	iw_worker_give(&g->hub->worker, lane, t);
}

struct group_task *iw_group_task_new(struct group *g, struct session *s)
{
	struct group_task *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->group = g;
	e->s = s;
	iw_list_init(&e->of);
	iw_list_init(&e->returned);
	iw_list_init(&e->missing);
	if (s)
		iw_list_add_tail(&s->group_tasks, &e->of);
	return e;
}

void iw_group_task_free(struct group_task *e)
{
	if (!e)
		return;
	iw_list_del(&e->of);
	iw_missing_fini(&e->returned);
	iw_missing_fini(&e->missing);
	free(e->text);
	free(e);
}

static void group_free(struct group *g)
{
	iw_list_del(&g->link);
	free_files(&g->to_split);
	iw_missing_fini(&g->returned);
	iw_names_fini(&g->listed);
	iw_names_fini(&g->kept);
	free_shares(g);
	iw_session_file_free(g->split);
	iw_packer_free(g->pack);
	iw_group_task_free(g->close);
	free(g->store);
	iw_group_settle(g);
	free(g);
}

/* In the worker: it may remove temporaries, close many directories, or free the records of many files. */
static void close_now(struct iw_task *t)
{
	struct group *g = iw_container_of(t, struct group_task, task)->group;

	if (g->walk)
		iw_walk_fini(g->walk);
	free(g->walk);
	g->walk = NULL;
	iw_source_measure_free(g);
	free_files(&g->again);
	free_files(&g->later);
	iw_links_fini(&g->links);
	iw_target_forget(&g->place);
	iw_place_close(&g->place);
}

static void close_back(struct iw_task *t)
{
	struct group *g = iw_container_of(t, struct group_task, task)->group;
	struct hub *h = g->hub;

	g->tasks--;
	h->tasks--;
	group_free(g);
	iw_hub_closed(h);
}

/* The last connection has ended, and the worker has no task of the transfer. */
static void close_group(struct group *g)
{
	g->close->task = (struct iw_task){ .run = close_now, .back = close_back };
	iw_group_give(g, &g->names, &g->close->task);
}

void iw_group_taken(struct group *g)
{
	g->hub->tasks--;
	if (--g->tasks == 0 && g->over)
		close_group(g);
}

static void add_counts(struct iw_xfer_counts *to, const struct iw_xfer_counts *c)
{
	to->files_done += c->files_done;
	to->files_same += c->files_same;
	to->exist += c->exist;
	to->newer += c->newer;
	to->files_excluded += c->files_excluded;
	to->files_failed += c->files_failed;
	to->octets += c->octets;
	to->kept += c->kept;
	to->zeros += c->zeros;
	to->announced += c->announced;
	to->settled += c->settled;
	to->had += c->had;
	to->links += c->links;
	to->msgs_sent += c->msgs_sent;
	to->msgs_received += c->msgs_received;
	to->peer_failed += c->peer_failed;
	to->gone += c->gone;
	to->dirs += c->dirs;
	to->made += c->made;
	to->stayed += c->stayed;
	to->dropped += c->dropped;
	/* Each connection may have reported it. */
	to->total = IW_MAX(to->total, c->total);
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

/* What another connection need not move again: it only grows, and not for ever. */
static uint64_t moved(const struct group *g)
{
	const struct iw_xfer_counts c = iw_group_counts(g);

	return c.kept + c.files_done + c.files_same + c.files_excluded;
}

/* True if the connection failed, and neither side ended the transfer. Errors that MPA finds are errors of the line. */
static bool was_cut(const struct session *s)
{
	const struct iw_fault *why = &s->closed_why;

	if (!s->x || !iw_xfer_was_lost(s->x))
		return false;
	if (why->term != IW_NOTERM && IW_TERM_LAYER(why->term) == LAYER_LLP)
		return true;
	return why->err != IW_E_REJECTED && why->err != IW_E_INVAL &&
	       why->err != IW_E_PEER_TERMINATE;
}

/* Has the transfer advanced since the connection of that number was lost for the first time? */
static bool has_moved(const struct group *g, const struct session *s)
{
	return s->attempts == 0 || moved(g) != s->moved_then;
}

bool iw_group_mends(const struct group *g, const struct session *s)
{
	const struct hub *h = g->hub;

	if (!was_cut(s) || h->stopping || g->stream || g->ended_well || h->cfg->to_stdout)
		return false;
	if (!g->initiator)
		return (g->opened || iw_group_counts(g).msgs_received > 0) &&
		       (g->sessions > 1 || h->nwaiting < WAITING_MOST);
	/* A peer that never answered is none that was lost. */
	if (!g->stood || h->cfg->redials == 0)
		return false;
	return has_moved(g, s) ||
	       (s->attempts < h->cfg->redials && h->now - s->lost_at < h->cli->timeout_ns);
}

void iw_group_mend(struct group *g, struct session *s)
{
	struct hub *h = g->hub;
	bool anew = has_moved(g, s);
	uint64_t wait = h->cli->timeout_ns;
	struct iw_fault why;
	struct session *n;

	s->mended = true;
	/* While there are others nobody needs to keep the place of one. */
	if (!g->initiator && g->sessions > 1)
		return;
	g->sessions++;
	if (iw_session_new(&n, h, g, g->initiator, &why) != 0) {
		s->mended = false;
		return;
	}
	n->attempts = anew ? 1 : s->attempts + 1;
	n->lost_at = anew ? h->now : s->lost_at;
	n->moved_then = anew ? moved(g) : s->moved_then;
	if (g->initiator)
		wait = IW_MIN(REDIAL_FIRST << IW_MIN(n->attempts - 1, 10u),
			      IW_MIN(REDIAL_MOST, iw_time_add(n->lost_at, wait) - h->now));
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

/* While the worker writes to a file, its name is not to be read. It is written to because octets of it arrived. */
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

	/* A peer that has just answered is there; it need not prove it for each file. */
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
		iw_session_look(s); /* what arrived before is no answer */
		iw_xfer_ask(s->x);
		iw_session_make_ready(s);
	}
}

void iw_group_let_go(const struct group *g, const char *temp)
{
	struct hub *h = g->hub;

	for (struct iw_list *l = h->sessions.next, *next; l != &h->sessions; l = next) {
		struct session *s = iw_container_of(l, struct session, all);

		next = l->next;
		/* Files of another transfer that the worker owns close their temporaries there. */
		if (s->group != g && s->phase == PH_WAITING && s->group->tasks == 0 &&
		    is_deserted(s->group) && iw_target_holds(&s->group->place, temp))
			iw_session_free(s);
	}
	for (struct iw_list *l = h->sessions.next; l != &h->sessions; l = l->next) {
		struct session *s = iw_container_of(l, struct session, all);

		if (s->group != g && !s->group->initiator && s->phase == PH_UP && holds(s, temp))
			ask(s->group);
	}
}

/* Has the peer been heard since it was asked? A look costs system calls: the last moment will do for octets of incomplete messages. */
static bool has_answered(const struct group *g, bool look)
{
	for (struct iw_list *l = g->hub->sessions.next; l != &g->hub->sessions; l = l->next) {
		struct session *s = iw_container_of(l, struct session, all);

		if (s->group != g || s->phase != PH_UP)
			continue;
		if (look)
			iw_session_look(s);
		if (iw_xfer_heard_at(s->x) > g->asked_at)
			return true;
	}
	return false;
}

/* One of its connections, that is up; NULL: none. */
static struct session *one_up(const struct group *g)
{
	for (struct iw_list *l = g->hub->sessions.next; l != &g->hub->sessions; l = l->next) {
		struct session *s = iw_container_of(l, struct session, all);

		if (s->group == g && s->phase == PH_UP)
			return s;
	}
	return NULL;
}

static void end_question(struct group *g)
{
	if (g->answer_by == 0)
		return;
	g->answer_by = 0;
	g->hub->questions--;
	iw_hub_closed(g->hub);
}

/* Its connections are lost. The last one frees the transfer, or leaves a session that waits. */
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
			end_question(g);
		} else if (late) {
			/* The file that waits finds what the others are about to close. */
			drop_silent(g);
			end_question(g);
		} else {
			at = IW_MIN(at, g->answer_by);
		}
	}
	return at;
}

/* --- only one transfer --- */

static const char taken_text[] =
	"this listener accepts one transfer (--once, or ddp-recv -), which has begun";

static const char stalled_text[] =
	"no octets of this transfer have moved for --timeout, and another transfer replaced it (--once)";

static void end_others(struct hub *h, const struct group *g, const struct group *before)
{
	for (struct iw_list *l = h->sessions.next; l != &h->sessions; l = l->next) {
		struct session *s = iw_container_of(l, struct session, all);

		if (s->group != g)
			iw_session_stop(s, s->group == before ? stalled_text : taken_text);
	}
}

static bool is_at_work(const struct session *s)
{
	return s->phase == PH_UP && s->x && iw_xfer_busy_here(s->x);
}

bool iw_group_is_stalled(struct group *g)
{
	struct hub *h = g->hub;

	for (struct iw_list *l = h->sessions.next; l != &h->sessions; l = l->next) {
		struct session *s = iw_container_of(l, struct session, all);

		if (s->group != g)
			continue;
		if (s->phase == PH_UP && s->x)
			iw_session_look(s);
		if (is_at_work(s))
			g->payload_at = h->now;
	}
	if (g->tasks > 0)
		g->payload_at = h->now;
	return h->now - g->payload_at >= h->cli->timeout_ns;
}

bool iw_group_begin(struct session *s)
{
	struct group *g = s->group;
	struct hub *h = g->hub;
	struct group *before = h->taken;
	struct iw_fault why;

	if (!h->cfg->once || g->initiator || h->taken == g)
		return true;
	if (h->over || (h->taken && !iw_group_is_stalled(h->taken))) {
		iw_xfer_fault(&why, IW_E_CANCELED, "%s", taken_text);
		iw_xfer_fail(s->x, &why);
		return false;
	}
	h->taken = g;
	g->payload_at = h->now;
	end_others(h, g, before);
	return true;
}

/* The one transfer of a listener: it moved files, or ended in order without any. */
static bool was_the_one(const struct group *g)
{
	const struct hub *h = g->hub;

	return h->cfg->once && (h->taken == g || (!h->taken && !h->over && g->ended_well));
}

/* --- the end --- */

/* Chunks were sent, but the sink had not reported yet that it stored any. */
static bool was_cut_short(const struct iw_transfer_report *t)
{
	return t->role == IW_XFER_SOURCE && t->counts.octets >= IW_XFER_CHUNK &&
	       (t->fault.err == IW_E_CANCELED || t->fault.err == IW_E_TIMEOUT ||
		t->fault.err == IW_E_CLOSED || t->fault.err == IW_E_OS);
}

/* True if the same command can resume the transfer: the receiver keeps octets, or probably does. */
static bool can_resume(const struct group *g, const struct iw_transfer_report *t)
{
	return g->initiator && !g->stream && !t->dry_run &&
	       (t->counts.kept > 0 || was_cut_short(t));
}

static void tell_resume(const struct group *g, const struct iw_transfer_report *t)
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

/* Puts text and a colon before the reason, if both fit. */
static void put_in_front(struct iw_fault *why, const char *text)
{
	size_t n = strlen(text), len = strlen(why->text);

	if (n + 2 + len >= sizeof(why->text))
		return;
	memmove(why->text + n + 2, why->text, len + 1);
	memcpy(why->text, text, n);
	memcpy(why->text + n, ": ", 2);
}

/* The peer's reason for refusing the target as a whole often does not show it. */
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

/* Reasons of this side do not name the peer. */
static void name_peer(const struct group *g, struct iw_fault *why)
{
	if (g->initiator && (g->stood || why->err == IW_E_REJECTED) && why->text[0] &&
	    !strstr(why->text, g->peer))
		put_in_front(why, g->peer);
}

/* The first reason is why the connection was lost, not why it could not be set up again. */
static void add_unanswered(const struct group *g, struct iw_transfer_report *t)
{
	char *text = t->fault.text;
	size_t len = strlen(text);

	if (g->unanswered)
		snprintf(text + len, sizeof(t->fault.text) - len,
			 "%sthe listener no longer answers%s", len > 0 ? "; " : "",
			 can_resume(g, t) ? "" : ": start it again, and repeat the command");
}

/* Its last connection has ended. */
static void tell_end(struct group *g)
{
	struct hub *h = g->hub;
	struct iw_transfer_report *t = &g->end;
	bool ours = g->initiator || was_the_one(g);

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
	t->dry_run = g->opts & IW_XOPT_DRY_RUN;
	t->opts = h->cfg->opts;
	t->excluded = g->initiator && (g->excluded || t->counts.files_excluded > 0);
	t->filter = &h->cfg->filter;
	/* What one connection lost, others have moved: the transfer is well when one of them came to its orderly end. */
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
			/* Who connected and asked for nothing is not worth a warning. */
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
		tell_resume(g, t);
	/* A sink knows only now what kinds of files the source has. What failed may have been a directory. */
	else if (g->initiator && g->opts & IW_XOPT_DELETE && t->counts.dirs == 0 &&
		 iw_report_status(t) == IW_EXIT_OK && !h->cfg->look)
		iw_log_warn("--delete had no effect: no directory was transferred; leave it out");
	if (h->cfg->look && t->fault.err == IW_OK)
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

/* Over SCTP the connections of a transfer share an association, which counts the octets of all of them. */
static void add_line(struct group *g, const struct session *s)
{
	bool shared = strcmp(g->hub->cli->transport, "tcp") != 0;
	struct iw_qp_info info;

	if (!s->qp || !s->stood)
		return;
	iw_qp_info(s->qp, &info);
	g->tx_octets = shared ? IW_MAX(g->tx_octets, info.tx_octets)
			      : g->tx_octets + info.tx_octets;
	g->rx_octets = shared ? IW_MAX(g->rx_octets, info.rx_octets)
			      : g->rx_octets + info.rx_octets;
}

/* True if the texts differ in digits only: amounts and times differ from connection to connection. */
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

/* A reason that many connections, or attempts, have in common is logged once. */
static enum iw_log_level loss_level(struct group *g, const char *why)
{
	if (equal_but_numbers(g->last_loss, why))
		return IW_LOG_INFO;
	snprintf(g->last_loss, sizeof(g->last_loss), "%s", why);
	return IW_LOG_WARN;
}

static void tell_loss(struct group *g, const struct session *s)
{
	const char *why = s->fault.text[0] ? s->fault.text : iw_err_text(s->fault.err);
	bool named = strstr(why, s->peer_text);

	if (s->mended && g->initiator)
		iw_log(loss_level(g, why), "%s%sconnecting again, because: %s",
		       named ? "" : s->peer_text, named ? "" : ": ", why);
	else if (s->mended)
		iw_log_info("%s: %s: it may connect again", s->peer_text, why);
	else if (g->stood)
		iw_log(s->attempts > 0 || g->hub->stopping ? IW_LOG_INFO : loss_level(g, why),
		       "%s: %s: the other connections continue", s->peer_text, why);
}

/* The transfer is complete: connections that are being set up again are not needed. */
static void end_redials(struct group *g)
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

void iw_group_leave(struct group *g, struct session *s)
{
	struct hub *h = g->hub;

	if (s->x) {
		struct iw_xfer_counts c = *iw_xfer_counts(s->x);

		c.files_failed -= IW_MIN(c.files_failed, s->requeued);
		add_counts(&g->counts, &c);
	}
	add_line(g, s);
	/* The error code for a missing listener depends on the transport; all the texts contain this phrase. */
	if (s->attempts > 0 && !s->stood && strstr(s->closed_why.text, "is a listener with"))
		g->unanswered = true;
	if (s->ended && s->fault.err == IW_OK) {
		g->ended_well = true;
		end_redials(g);
	}
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
	if (was_the_one(g)) {
		h->taken = NULL;
		h->over = true;
		end_others(h, g, NULL);
	}
	/* A transfer of the same id would be another one. */
	end_question(g);
	iw_list_del(&g->link);
	g->over = true;
	atomic_store_explicit(&g->no_measure, true, memory_order_relaxed);
	h->closing++;
	if (g->tasks == 0)
		close_group(g);
}
