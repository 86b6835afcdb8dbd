// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The end of a transfer at the sink: removals, directories, and files that are missing. */
#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "transfer/internal.h"

/*
 * In the worker: adds a note for a later report: an octet with the code (0: removed), name and
 * reason, both terminated by NUL.
 */
static void note_final(void *ctx, const char *name, const struct iw_file_fault *why)
{
	const char *reason = why ? why->text : "";
	size_t name_len = strlen(name) + 1, text_len = strlen(reason) + 1,
	       len = 1 + name_len + text_len;
	struct group_task *e = ctx;

	if (e->cap - e->len < len) {
		size_t cap = IW_MAX(e->cap * 2, e->len + len + 4096);
		char *text = realloc(e->text, cap);

		if (!text)
			return; /* only counted */
		e->text = text;
		e->cap = cap;
	}
	e->text[e->len] = (char)(why ? why->code : IW_XFER_CODE_OK);
	memcpy(e->text + e->len + 1, name, name_len);
	memcpy(e->text + e->len + 1 + name_len, reason, text_len);
	e->len += len;
}

/* Reports one note of note_final. Returns its length. */
static size_t report_final(struct group *g, const char *peer, const char *note)
{
	const struct iw_transfer_cfg *cfg = g->hub->cfg;
	const char *name = note + 1, *text = name + strlen(name) + 1;

	if (note[0] != IW_XFER_CODE_OK) {
		/* A directory, or a name of any kind that could not be removed. */
		const struct iw_xfer_meta m = { .kind = IW_XFER_KINDS,
						.name = name,
						.name_len = strlen(name) };
		const struct iw_file_report f = {
			.peer = peer,
			.meta = &m,
			.typed = g->initiator && name[0] == '\0' ? cfg->path : NULL,
			.code = (uint8_t)note[0],
			.text = text,
			.dry_run = g->opts & IW_XFER_OPT_DRY_RUN,
		};

		iw_report_file(&g->hub->report, &f);
	} else {
		iw_report_gone(&g->hub->report, peer, name, g->opts & IW_XFER_OPT_DRY_RUN);
		if (cfg->would_remove && cfg->removals && !iw_removals_add(cfg->removals, name))
			iw_log_error("no memory for the names that would be removed");
	}
	return (size_t)(text + strlen(text) + 1 - note);
}

/*
 * In the worker. A file may have arrived on another connection before this side noticed that the
 * first one was lost.
 */
static void find_missing(struct group_task *e)
{
	struct iw_place *p = &e->group->place;
	bool lost = !iw_target_unfinished(p, &e->missing, &e->begun);

	for (struct iw_list *l = e->returned.all.next; l != &e->returned.all; l = l->next) {
		const struct iw_missing *m = iw_container_of(l, struct iw_missing, link);

		if (!iw_place_has(p, &m->meta))
			(void)iw_missing_add(&e->missing, &m->meta, m->why, &lost);
	}
	iw_missing_fini(&e->returned);
	e->failed_unnamed = lost;
}

static uint64_t report_failed(struct group *g, const char *peer,
			      const struct iw_missing_list *missing)
{
	for (struct iw_list *l = missing->all.next; l != &missing->all; l = l->next) {
		const struct iw_missing *m = iw_container_of(l, struct iw_missing, link);
		const struct iw_file_report f = { .peer = peer,
						  .meta = &m->meta,
						  .code = IW_XFER_CODE_PROTOCOL,
						  .text = m->why };

		iw_report_file(&g->hub->report, &f);
	}
	return missing->n;
}

/* Reports the files that find_missing has found in e. Returns their number. */
static uint64_t count_missing(struct group_task *e, const char *peer)
{
	struct group *g = e->group;
	uint64_t n = report_failed(g, peer, &e->missing);

	if (e->failed_unnamed)
		iw_log_error("no memory for the names of files that did not arrive");
	g->undone += e->begun;
	g->unfinished = 0;
	return n + e->failed_unnamed;
}

static void take_returned(struct group *g, struct group_task *e)
{
	for (struct iw_list *l = g->returned.all.next; l != &g->returned.all; l = l->next)
		iw_group_credit(g, iw_container_of(l, struct iw_missing, link)->bytes);
	iw_missing_move(&e->returned, &g->returned);
}

uint64_t iw_sink_count_missing(struct group *g)
{
	struct group_task *e;
	uint64_t n;

	if (g->unfinished == 0 && g->returned.n == 0)
		return 0;
	/* If the worker may own the place, only the number is known. */
	e = g->tasks == 0 ? iw_group_task_new(g, NULL) : NULL;
	if (!e) {
		iw_log_error("%llu file%s did not arrive completely",
			     (unsigned long long)g->unfinished, g->unfinished == 1 ? "" : "s");
		return g->unfinished + report_failed(g, g->peer, &g->returned);
	}
	take_returned(g, e);
	find_missing(e);
	n = count_missing(e, g->peer);
	iw_group_task_free(e);
	return n;
}

static void final_now(struct iw_task *t)
{
	struct group_task *e = iw_container_of(t, struct group_task, task);
	struct iw_place *p = &e->group->place;

	find_missing(e);
	p->unsure |= e->unsure;
	p->complete = e->complete && e->missing.n == 0 && !e->failed_unnamed;
	p->listed = e->group->opts & IW_XFER_OPT_LISTED ? &e->group->listed : NULL;
	if (!e->first)
		return;
	if (!p->to_stdout && p->base >= 0)
		iw_place_final(p, note_final, e, &e->gone, &e->failed);
	e->unconfirmed = p->unconfirmed;
	e->made = p->made;
}

/* Reports requested paths that the source neither announced nor refused. Returns their number. */
static uint64_t report_missing(struct session *s)
{
	const struct iw_asked *a = &s->hub->asked;
	uint64_t n = 0;

	for (size_t i = 0; i < a->n; i++) {
		const struct iw_xfer_meta m = { .name = a->row[i].p,
						.name_len = a->row[i].len,
						.top = true };
		const struct iw_file_report f = { .peer = s->peer_text,
						  .meta = &m,
						  .typed = iw_session_typed(s, &m, NULL),
						  .code = IW_XFER_CODE_NOENT,
						  .text = "the peer did not announce it" };

		if (a->row[i].announced)
			continue;
		iw_report_file(&s->hub->report, &f);
		n++;
	}
	return n;
}

/* In the worker: freeing much memory takes time. */
static void reported_now(struct iw_task *t)
{
	struct group_task *e = iw_container_of(t, struct group_task, task);

	free(e->text);
	e->text = NULL;
}

static void reported_back(struct iw_task *t)
{
	struct group_task *e = iw_container_of(t, struct group_task, task);
	struct group *g = e->group;

	iw_group_task_free(e);
	iw_group_task_done(g);
}

/* Passes the removed names to the machine. They are freed with the session. */
static void give_gone(struct session *s, struct group_task *e)
{
	if (s->gone)
		return;
	s->gone = e->text;
	iw_session_charge(s, e->cap);
	e->text = NULL;
	iw_xfer_gone(s->x, s->gone, e->kept, e->unconfirmed, e->made);
}

/* Answers FINAL, after all names have been reported. */
static void finish(struct group_task *e)
{
	struct group *g = e->group;
	struct session *s = e->s;
	const char *peer = s ? s->peer_text : g->peer;
	uint64_t failed;

	if (e->unconfirmed > 0)
		iw_log_warn("%llu name%s not removed: not among the confirmed removals",
			    (unsigned long long)e->unconfirmed, e->unconfirmed == 1 ? "" : "s");
	if (e->failed > 0)
		iw_log_error(
			"%llu name%s could not be given %s attributes, or could not be removed",
			(unsigned long long)e->failed, e->failed == 1 ? "" : "s",
			e->failed == 1 ? "its" : "their");
	failed = e->failed + count_missing(e, peer);
	if (s) {
		give_gone(s, e);
		iw_xfer_final(s->x, e->gone, failed + (e->first ? report_missing(s) : 0),
			      g->hub->now);
		iw_session_make_ready(s);
	} else {
		g->counts.files_failed += failed;
	}
	e->task = (struct iw_task){ .run = reported_now, .back = reported_back };
	iw_group_queue(g, &g->names, &e->task);
	iw_group_task_done(g);
}

static void report_gone(struct group_task *e)
{
	struct group *g = e->group;
	const char *note = e->text + e->reported;

	e->reported += report_final(g, e->s ? e->s->peer_text : g->peer, note);
	if (note[0] != IW_XFER_CODE_OK)
		return;
	/* Keeps the name for the peer. */
	memmove(e->text + e->kept, note + 1, strlen(note + 1) + 1);
	e->kept += strlen(e->text + e->kept) + 1;
}

/* Reports one name of each transfer in turn. */
void iw_sink_report_removed(struct hub *h, uint64_t ns)
{
	uint64_t until = iw_list_empty(&h->reporting) ? 0 : iw_time_add(iw_os_now(), ns);
	struct iw_list *l;

	while ((l = iw_list_first(&h->reporting)) != NULL) {
		struct group_task *e = iw_container_of(l, struct group_task, reporting);

		iw_list_del(l);
		if (e->reported < e->len) {
			report_gone(e);
			iw_list_add_tail(&h->reporting, l);
		} else {
			finish(e);
		}
		if (iw_os_now() >= until)
			return;
	}
}

static void final_back(struct iw_task *t)
{
	struct group_task *e = iw_container_of(t, struct group_task, task);

	iw_list_add_tail(&e->group->hub->reporting, &e->reporting);
}

static bool nothing_failed(const struct group *g)
{
	uint64_t failed = g->counts.files_failed;

	for (struct iw_list *l = g->hub->sessions.next; l != &g->hub->sessions; l = l->next) {
		const struct session *s = iw_container_of(l, struct session, all);

		if (s->group == g && s->x)
			failed += iw_xfer_counts(s->x)->files_failed - s->requeued;
	}
	return failed == 0;
}

/*
 * All files are settled on all connections of the transfer. The first session that reports this
 * does the work. Files that a misbehaving source begins afterwards are searched for each time.
 */
void iw_sink_final(struct session *s)
{
	struct group *g = s->group;
	struct group_task *e;

	/* Removing a temporary later would change the time of its directory. */
	s->work->final_waits = g->ending > 0;
	g->waits |= s->work->final_waits;
	if (s->work->final_waits)
		return;
	e = iw_group_task_new(g, s);
	if (!e) {
		iw_log_error("no memory to finish the transfer");
		iw_xfer_final(s->x, 0, 1, s->hub->now);
		return;
	}
	e->complete = nothing_failed(g);
	e->first = !g->final_done;
	g->final_done = true;
	take_returned(g, e);
	e->unsure = g->unsure;
	e->task = (struct iw_task){ .run = final_now, .back = final_back };
	iw_group_queue(g, &g->names, &e->task);
}
