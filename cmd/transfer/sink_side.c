// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Performs the actions of a sink's machine on files: opens the target, creates files, stores
 * chunks, commits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"
#include "transfer/files/out.h"
#include "transfer/internal.h"
#include "transfer/protocol/name.h"
#include "transfer/protocol/pack.h"
#include "util/text.h"

#define CREATE_TRIES 8 /* while other transfers close temporaries that the file may need */

/* Options that a peer may only choose if the listener has them too. */
#define BY_LEAVE (IW_XFER_OPT_OWNER | IW_XFER_OPT_SETID | IW_XFER_OPT_XATTR | IW_XFER_OPT_DELETE)

/*
 * For each file with missing parts, an honest source is sending a part, or is still announcing
 * parts.
 */
#define RESTING(conns) (1 + (uint64_t)(conns)*IW_XFER_FILES)

/* In the lane of names. Called if another transfer holds the temporary. */
static void note_wanted(void *ctx, const char *temp)
{
	struct group *g = ctx;

	snprintf(g->wanted, sizeof(g->wanted), "%s", temp);
}

static void set_place(struct group *g)
{
	g->place.opts = g->opts;
	g->place.typed = g->initiator ? g->hub->cfg->path : NULL;
	g->place.umask = iw_target_umask();
	g->place.filter = g->initiator ? &g->hub->cfg->filter : NULL;
	g->place.limits = &g->hub->cfg->limits;
	g->place.drop_partial = g->hub->cfg->drop_partial;
	g->place.safe_links = g->hub->cfg->safe_links;
	g->place.asked = g->initiator ? &g->hub->asked : NULL;
	g->place.confirmed = g->hub->cfg->would_remove ? NULL : g->hub->cfg->removals;
	g->place.on_locked = note_wanted;
	g->place.account.all = &g->hub->account;
	g->place.account.limit = "--max-transfer";
	g->place.account.max_octets = g->place.limits->transfer;
	g->place.account.max_resting = RESTING(1);
	g->place.on_locked_ctx = g;
}

/* In the worker. For later tasks of this lane the place is open, or has no base. */
static void open_now(struct iw_task *t)
{
	struct group_task *e = iw_container_of(t, struct group_task, task);
	struct group *g = e->group;

	e->r = iw_place_beneath(&g->place, g->hub->root, e->text, e->opts, &e->why);
	set_place(g);
}

static void open_back(struct iw_task *t)
{
	struct group_task *e = iw_container_of(t, struct group_task, task);
	struct group *g = e->group;

	if (e->r != 0) {
		iw_fail(&g->place_fault,
			e->why.code == IW_XFER_CODE_NOENT  ? IW_E_NOENT
			: e->why.code == IW_XFER_CODE_PERM ? IW_E_PERM
							   : IW_E_INVAL,
			"%s", e->why.text);
		if (e->s) {
			iw_xfer_fail(e->s->x, &g->place_fault);
			iw_session_make_ready(e->s);
		}
	}
	iw_group_task_free(e);
	iw_group_task_done(g);
}

/* The requested option that this side does not permit, as text for the peer. */
static const char *not_permitted(uint32_t opts)
{
	if (opts & IW_XFER_OPT_DELETE)
		return "removals: start it with --delete";
	if (opts & IW_XFER_OPT_OWNER)
		return "owners: start it with --owner";
	if (opts & IW_XFER_OPT_SETID)
		return "set-id bits: start it with --setid";
	return "attributes: start it with --xattr";
}

static int find_place(struct session *s, const struct iw_xfer_act *a, struct iw_fault *f)
{
	const struct iw_transfer_cfg *cfg = s->hub->cfg;
	const char *fault = iw_xfer_path_fault(a->name, a->name_len);
	struct group *g = s->group;
	struct group_task *e;
	char path[48];

	if (a->opts & BY_LEAVE & ~cfg->opts)
		return iw_fail(f, IW_E_PERM, "the listener does not accept %s",
			       not_permitted(a->opts & ~cfg->opts));
	g->opts = a->opts | (cfg->opts & ~(uint32_t)BY_LEAVE);
	if (cfg->to_stdout) {
		iw_place_stdout(&g->place, true);
		set_place(g);
		return 0;
	}
	if (fault) {
		iw_printable(path, sizeof(path), a->name, a->name_len, true);
		return iw_fail(
			f, IW_E_INVAL,
			"the target's path \"%s\" %s; paths are relative to the directory that the listener serves",
			path, fault);
	}
	e = iw_group_task_new(g, s);
	if (e)
		e->text = iw_name_terminated(a->name, a->name_len);
	if (!e || !e->text) {
		iw_group_task_free(e);
		return iw_fail(f, IW_E_NOMEM, "no memory for a path");
	}
	e->opts = a->opts;
	e->task = (struct iw_task){ .run = open_now, .back = open_back };
	iw_group_queue(g, &g->names, &e->task);
	return 0;
}

static void opened(struct session *s, const struct iw_xfer_act *a)
{
	struct group *g = s->group;
	struct iw_fault f;

	if (g->place_fault.err) {
		iw_xfer_fail(s->x, &g->place_fault);
		return;
	}
	if (g->opened)
		return; /* another connection of the transfer had the same OPEN */
	if (find_place(s, a, &f) != 0) {
		iw_xfer_fail(s->x, &f);
		return;
	}
	g->opened = true;
	g->conns = iw_xfer_conns(s->x);
}

void iw_sink_place(struct session *s)
{
	set_place(s->group);
}

/* --- a file --- */

/* Reports stored chunks, a run of consecutive ones at a time. */
static void report_had(struct session *s, const struct file *f)
{
	const struct iw_target *t = &f->target;
	size_t digest = iw_xfer_digest_len(s->mine.digest), n = 0;
	uint8_t *run = t->had > 0 ? malloc(t->had * digest) : NULL;
	uint64_t begin = 0, off;
	struct iw_xfer_digest d;

	for (size_t i = 0; run && i < t->had; i++) {
		iw_chunk_list_row(&t->chunks, i, &off, &d);
		if (n > 0 && off != begin + (uint64_t)n * IW_XFER_CHUNK) {
			(void)iw_xfer_have(s->x, f->id, begin, run, n);
			n = 0;
		}
		if (n == 0)
			begin = off;
		memcpy(run + n++ * digest, d.octets, digest);
	}
	if (run)
		(void)iw_xfer_have(s->x, f->id, begin, run,
				   n); /* without memory the whole file is sent again */
	free(run);
}

/* The worker may need the data of the file after its RESULT, when the machine has freed its own. */
static bool copy_meta(struct file *f, const struct iw_xfer_meta *m)
{
	size_t len = m->name_len + m->target_len + m->xattr_len;
	char *to = malloc(len + 1);

	f->meta = *m;
	f->text = to;
	if (!to)
		return false;
	if (m->name_len > 0)
		memcpy(to, m->name, m->name_len);
	f->meta.name = to;
	to += m->name_len;
	if (m->target_len > 0)
		memcpy(to, m->target, m->target_len);
	f->meta.target = to;
	to += m->target_len;
	if (m->xattr_len > 0)
		memcpy(to, m->xattr, m->xattr_len);
	f->meta.xattr = m->xattr ? (const uint8_t *)to : NULL;
	return true;
}

static void create_pack(struct file *f)
{
	f->packed = malloc(sizeof(*f->packed));
	f->made = IW_CREATE_FAILED;
	if (!f->packed)
		iw_file_fail(&f->why, IW_XFER_CODE_LIMIT, "no memory");
	else if (iw_pack_sink_open(f->packed, &f->group->place, &f->meta, &f->why) == 0)
		f->made = f->packed->nwanted > 0 ? IW_CREATED : IW_MADE;
}

static void create_file(struct file *f)
{
	struct group *g = f->group;

	if (f->limited)
		iw_place_return(&g->place, &f->meta);
	f->limited = false;
	g->wanted[0] = '\0';
	g->place.account.max_resting = RESTING(f->conns);
	g->place.digest = f->digest;
	f->made = iw_target_create(&f->target, &g->place, &f->meta, f->digest, &f->why);
	f->has_target = f->made == IW_CREATED;
	f->busy = f->has_target && g->wanted[0] && f->tries > 0;
	if (!f->busy)
		return;
	/* When the other transfer has closed it, this one can resume it. */
	memcpy(f->wanted, g->wanted, sizeof(f->wanted));
	iw_target_abandon(&f->target, IW_XFER_CODE_NAME);
	iw_place_return(&g->place, &f->meta);
	f->has_target = false;
}

/* In the worker. */
static void create_now(struct iw_task *t)
{
	struct file *f = iw_container_of(t, struct file, task);
	struct iw_place *p = &f->group->place;
	struct iw_fault why;

	f->made = IW_CREATE_FAILED;
	if (!p->to_stdout && p->base < 0)
		iw_file_fail(&f->why, IW_XFER_CODE_TARGET, "the target cannot be opened");
	else if (!f->has_hasher && iw_hasher_init(&f->hasher, f->digest, &why) != 0)
		iw_file_fail(&f->why, IW_XFER_CODE_LIMIT, "no memory for digests");
	else
		f->has_hasher = true;
	if (!f->has_hasher)
		return;
	if (f->meta.kind == IW_XFER_PACK)
		create_pack(f);
	else
		create_file(f);
	f->sweeps = iw_place_sweeps(p);
	f->place_bytes = iw_place_bytes(p);
}

static void report_codes(const struct file *f)
{
	const struct iw_pack_sink *p = f->packed;

	iw_xfer_codes(f->s->x, f->id, p->codes, p->n,
		      p->why.code == IW_XFER_CODE_OK || p->differ ? "" : p->why.text);
}

static void report_created(struct session *s, struct file *f)
{
	uint64_t now = s->hub->now;

	if (f->made == IW_CREATE_FAILED) {
		iw_xfer_file_failed(s->x, f->id, f->why.code, f->why.text, now);
		return;
	}
	if (f->packed && f->made == IW_MADE) {
		report_codes(f);
		iw_xfer_made(s->x, f->id, f, now);
	} else if (f->made == IW_MADE) {
		iw_xfer_made(s->x, f->id, NULL, now);
	} else if (f->packed) {
		iw_xfer_wanted(s->x, f->id, f->packed->wanted, (f->packed->n + 7) / 8);
		iw_xfer_created(s->x, f->id, f, now);
	} else {
		f->size = f->meta.kind == IW_XFER_FILE ? f->meta.size : 0;
		f->share = f->meta.share != 0;
		f->done = IW_MIN((uint64_t)f->target.had * IW_XFER_CHUNK, f->size);
		report_had(s, f);
		iw_xfer_created(s->x, f->id, f, now);
	}
}

/* Ends a file that failed or was returned, once the worker has no more tasks of it. */
static void end_file(struct file *f);

/* True if f exceeds a limit, but files that are being closed may return their charges. */
static bool may_fit_later(const struct file *f)
{
	return f->made == IW_CREATE_FAILED && f->why.code == IW_XFER_CODE_LIMIT && !f->packed &&
	       f->tries > 0 && f->group->hub->closing > 0;
}

static void create_back(struct iw_task *t)
{
	struct file *f = iw_container_of(t, struct file, task);
	struct group *g = f->group;
	struct session *s = f->s;

	f->tasks--;
	iw_hub_sweep(g->hub, f->sweeps);
	f->sweeps = NULL;
	if (!s) {
		end_file(f);
	} else if (f->busy) {
		iw_list_add_tail(&g->hub->wanting, &f->link);
	} else if (may_fit_later(f)) {
		f->limited = true;
		iw_list_add_tail(&g->hub->held, &f->link);
	} else {
		report_created(s, f);
		iw_group_account(g, s, f->place_bytes);
		/* A directory, a link or a failed file: there are no octets to store. */
		if (f->made == IW_CREATE_FAILED || (f->made == IW_MADE && !f->packed)) {
			f->s = NULL;
			end_file(f);
		}
		iw_session_make_ready(s);
	}
	iw_group_task_done(g);
}

static void create(struct session *s, const struct iw_xfer_act *a)
{
	struct group *g = s->group;
	struct work *w = s->work;
	struct file *f;

	w->create = *a;
	w->create_waits = g->ending > 0; /* f may resume one of them */
	g->waits |= w->create_waits;
	if (!w->create_waits && iw_hub_is_crowded(g))
		w->create_waits = s->hub->crowded = true;
	if (w->create_waits)
		return;
	f = calloc(1, sizeof(*f));
	if (f) {
		iw_list_init(&f->link);
		iw_list_init(&f->of);
		f->name = iw_name_terminated(a->meta->name, a->meta->name_len);
	}
	if (!f || !f->name || !copy_meta(f, a->meta)) {
		iw_session_file_free(f);
		iw_xfer_file_failed(s->x, a->id, IW_XFER_CODE_LIMIT, "no memory", s->hub->now);
		return;
	}
	f->group = g;
	f->s = s;
	f->id = a->id;
	f->digest = s->mine.digest;
	f->tries = CREATE_TRIES;
	f->conns = g->most;
	f->tasks = 1;
	iw_hub_count_open(s->hub, f); /* needs f->group */
	f->task = (struct iw_task){ .run = create_now, .back = create_back };
	iw_list_add_tail(&s->files, &f->of);
	iw_group_queue(g, &g->names, &f->task);
}

/* --- the end of an abandoned file --- */

/* In the worker. */
static void end_now(struct iw_task *t)
{
	struct file *f = iw_container_of(t, struct file, task);
	struct iw_place *p = &f->group->place;

	if (f->has_target)
		iw_target_abandon(&f->target, f->code);
	if (f->returns && f->packed)
		for (uint32_t i = 0; i < f->packed->n; i++)
			iw_place_return(p, &f->packed->member[i]);
	else if (f->returns)
		iw_place_return(p, &f->meta);
}

/* Frees f. After the last failed file of its transfer, sessions that waited for that continue. */
static void ended(struct file *f)
{
	struct group *g = f->group;
	struct hub *h = g->hub;
	bool ending = f->ending;

	iw_list_del(&f->of);
	iw_session_file_free(f);
	if (!ending)
		return;
	if (--g->ending == 0 && g->waits) {
		g->waits = false;
		for (struct iw_list *l = h->sessions.next; l != &h->sessions; l = l->next) {
			struct session *s = iw_container_of(l, struct session, all);

			if (s->group == g)
				iw_session_make_ready(s);
		}
	}
	iw_hub_closed(h);
}

static void end_back(struct iw_task *t)
{
	struct file *f = iw_container_of(t, struct file, task);
	struct group *g = f->group;

	ended(f);
	iw_group_task_done(g);
}

static void end_file(struct file *f)
{
	if (f->s || f->tasks > 0)
		return;
	/* Only a created file can have octets. */
	f->returns = f->returns && f->made == IW_CREATED;
	if (!f->has_target && !f->returns) {
		ended(f);
		return;
	}
	f->tasks++;
	f->task = (struct iw_task){ .run = end_now, .back = end_back };
	iw_group_queue(f->group, &f->group->names, &f->task);
}

/* Notes that f will not be complete. Its temporary stays open until end_now. */
static void give_up(struct file *f, uint32_t code)
{
	f->dropped = true;
	f->code = code;
	if (f->ending)
		return;
	f->ending = true;
	f->group->ending++;
	f->group->hub->closing++;
}

void iw_sink_forget(struct file *f)
{
	f->s = NULL;
	iw_list_del(&f->of);
	end_file(f);
}

/* RESULT for a CREATE that was not answered, or answered too late. */
static void forget_creation(struct session *s, uint32_t id, bool returns)
{
	struct work *w = s->work;
	struct file *f = NULL;

	/* NULL if the peer broke the protocol before the first CREATE. */
	if (w)
		w->create_waits = w->create_waits && w->create.id != id;
	for (struct iw_list *l = s->files.next; l != &s->files; l = l->next) {
		f = iw_container_of(l, struct file, of);
		if (f->id == id)
			break;
		f = NULL;
	}
	if (!f)
		return;
	f->returns = returns;
	give_up(f, IW_XFER_CODE_CANCELED);
	iw_list_del(&f->link); /* it may be in held or wanting */
	iw_sink_forget(f);
}

void iw_sink_leave(struct session *s)
{
	struct iw_list *l;

	while ((l = iw_list_first(&s->group_tasks)) != NULL) {
		iw_list_del(l);
		iw_container_of(l, struct group_task, of)->s = NULL;
	}
	while ((l = iw_list_first(&s->files)) != NULL) {
		struct file *f = iw_container_of(l, struct file, of);

		give_up(f, IW_XFER_CODE_CANCELED);
		iw_list_del(&f->link);
		iw_sink_forget(f);
	}
}

/* Standard output is full: watches it, or, if it cannot be watched, tries again. */
static void wait_for_output(struct session *s, bool waits)
{
	iw_hub_watch_out(s->hub, waits ? iw_out_fd() : -1);
	if (waits && iw_out_fd() < 0)
		iw_session_make_ready(s);
}

/* --- chunks --- */

static struct iovec piece_of(const struct session *s, const struct iw_xfer_piece *p)
{
	uint8_t *at = p->in_recv ? s->recv[p->recv].p + IW_XFER_DATA_HDR : s->work->slot[p->recv];

	return (struct iovec){ .iov_base = at, .iov_len = p->len };
}

static uint64_t store_stdout(struct session *s, const struct iw_xfer_act *a)
{
	struct work *w = s->work;
	struct file *f = a->file;
	struct iw_file_fault why;
	struct iovec iov[IW_XFER_PIECES];
	int r;

	for (size_t i = 0; i < a->npieces; i++)
		iov[i] = piece_of(s, &a->piece[i]);
	r = iw_target_store(&f->target, &f->hasher, a->off, iov, a->npieces, &a->digest, &why);
	w->store_waits = r == 1;
	w->store_paced = w->store_paced && w->store_waits;
	wait_for_output(s, r == 1);
	if (r < 0)
		iw_xfer_file_failed(s->x, a->id, why.code, why.text, s->hub->now);
	else if (r == 0)
		iw_xfer_stored(s->x, false, s->hub->now);
	return r == 1 ? 0 : a->len;
}

/* In the worker. */
static void store_now(struct iw_task *task)
{
	struct store *st = iw_container_of(task, struct store, task);
	struct file *f = st->file;
	const struct iovec iov = { .iov_base = st->buf, .iov_len = st->len };

	st->r = f->packed ? iw_pack_sink_store(f->packed, &f->hasher, st->off, &iov, 1, &st->digest,
					       &st->why)
			  : iw_target_write(&f->target, st->checked ? NULL : &f->hasher, st->off,
					    &iov, 1, &st->digest, &st->why);
}

/*
 * True if the chunk has its digest. This thread has just placed the octets, so they are in its
 * cache; the worker limits the rate and would have to fetch them. The worker checks (again) what
 * this function does not confirm, and reports errors.
 */
static bool is_checked(struct session *s, const struct iw_xfer_act *a, void *buf)
{
	const struct iovec iov = { .iov_base = buf, .iov_len = a->len };
	const struct file *f = a->file;
	struct iw_xfer_digest own;

	return !f->packed && iw_digest_is_quick(s->mine.digest) &&
	       iw_hasher_chunk(&s->work->hasher, &iov, 1, &own) == 0 &&
	       iw_xfer_digest_equal(&own, &a->digest);
}

/* Returns the chunk in one piece: the buffer of its slot, which the slot loses, or a copy. */
static void *take_chunk(struct session *s, const struct iw_xfer_act *a)
{
	struct work *w = s->work;
	uint8_t *buf, *at;

	if (!a->piece[0].in_recv) {
		buf = w->slot[a->piece[0].recv];
		w->slot[a->piece[0].recv] = NULL;
		w->nslots--;
		iw_session_credit(s, IW_XFER_CHUNK);
		return buf;
	}
	at = buf = iw_session_chunk(s);
	for (size_t i = 0; buf && i < a->npieces; i++) {
		const struct iovec piece = piece_of(s, &a->piece[i]);

		memcpy(at, piece.iov_base, piece.iov_len);
		at += piece.iov_len;
	}
	return buf;
}

static struct store *free_store(struct group *g)
{
	if (!g->store)
		g->store = calloc(STORES, sizeof(*g->store));
	for (size_t i = 0; g->store && i < STORES; i++)
		if (!g->store[i].file)
			return &g->store[i];
	return NULL;
}

static void store_back(struct iw_task *t);

/*
 * All chunks of a file use one lane. The parts of a file share its temporary, so that single files
 * have one lane together. Packs share nothing.
 */
static struct iw_lane *data_lane(const struct file *f)
{
	return &f->group->data[f->packed ? f->id % DATA_LANES : 0];
}

/*
 * Gives the chunk to the worker and reports it as stored. If writing fails, the file fails later:
 * the peer is sent no result before COMMIT, which waits for the worker.
 */
uint64_t iw_sink_store(struct session *s, const struct iw_xfer_act *a)
{
	struct hub *h = s->hub;
	struct work *w = s->work;
	struct file *f = a->file;
	struct store *st = free_store(s->group);
	void *buf;

	s->moving = f;
	w->store = *a;
	/*
	 * The chunk of a Send has arrived already. Delaying it delays the credit for the next one.
	 */
	if (a->npieces > 0 && a->piece[0].in_recv && !w->store_paced) {
		w->store_paced = iw_hub_pace(h, s, a->len);
		w->store_waits = !w->store_paced;
		if (w->store_waits)
			return 0;
	}
	if (f->target.to_stdout)
		return store_stdout(s, a);
	buf = st ? take_chunk(s, a) : NULL;
	if (!st && !s->group->store)
		iw_session_lacks_chunk(s);
	w->store_waits = !buf;
	if (w->store_waits) {
		iw_session_starve(s);
		return 0;
	}
	*st = (struct store){ .task = { .run = store_now, .back = store_back },
			      .file = f,
			      .len = (uint32_t)a->len,
			      .off = a->off,
			      .buf = buf,
			      .digest = a->digest,
			      .checked = is_checked(s, a, buf) };
	w->store_paced = false;
	iw_group_charge(s->group, s, IW_XFER_CHUNK);
	f->tasks++;
	iw_group_queue(s->group, data_lane(f), &st->task);
	iw_xfer_stored(s->x, s->mine.digest != IW_XFER_NONE && iw_target_is_kept(&f->target),
		       h->now);
	return a->len;
}

/* Disk full: names the temporary, which the user may want to delete. */
static void name_kept(const struct file *f, struct iw_file_fault *why)
{
	const char *slash = strrchr(f->name, '/');
	size_t len = strlen(why->text);
	int dir = slash ? (int)(slash + 1 - f->name) : 0;

	if (why->code != IW_XFER_CODE_SPACE)
		return;
	if (f->packed || !iw_target_is_kept(&f->target) || dir > 60) {
		snprintf(why->text + len, sizeof(why->text) - len,
			 "; free some at the target, then run the same command again");
		return;
	}
	snprintf(why->text + len, sizeof(why->text) - len,
		 "; %.*s%s is kept: the same command resumes it; to free its space, delete it", dir,
		 f->name, f->target.part->name);
}

/*
 * If a chunk of f still waits to be stored, its STORE is obsolete: the machine takes the failure of
 * the file as the answer.
 */
static void fail_file(struct file *f, const struct iw_file_fault *why)
{
	struct session *s = f->s;
	struct work *w = s->work;

	if (w->store_waits && w->store.file == f) {
		w->store_waits = w->store_paced = false;
		iw_session_repost(s, &w->store);
	}
	f->commit_waits = false; /* nothing to commit */
	if (f->packed)
		report_codes(f);
	iw_xfer_file_failed(s->x, f->id, why->code, why->text, s->hub->now);
}

static void queue_commit(struct file *f);

static void store_back(struct iw_task *t)
{
	struct store *st = iw_container_of(t, struct store, task);
	struct file *f = st->file;
	struct group *g = f->group;

	st->file = NULL;
	iw_pool_put(&g->hub->slots, st->buf);
	iw_group_credit(g, IW_XFER_CHUNK);
	f->tasks--;
	f->done = f->size > 0 ? IW_MIN(f->done + st->len, f->size) : f->done + st->len;
	if (f->s && !f->dropped) {
		if (st->r != 0) {
			name_kept(f, &st->why);
			fail_file(f, &st->why);
		} else
			iw_xfer_touch(f->s->x, g->hub->now);
	}
	if (f->s)
		iw_session_make_ready(f->s);
	if (f->commit_waits && f->tasks == 0)
		queue_commit(f);
	end_file(f);
	iw_hub_slot_freed(g->hub);
	iw_group_task_done(g);
}

/* --- the end --- */

static const char returned_text[] = "its connection was lost, and it was not announced again";

/* In the worker. */
static void commit_now(struct iw_task *t)
{
	struct file *f = iw_container_of(t, struct file, task);
	const struct iw_xfer_act *a = &f->commit;

	f->r = f->packed ? iw_pack_sink_commit(f->packed, &f->hasher, a->size, &a->digest, &f->why)
			 : iw_target_commit(&f->target, &f->hasher, a->size, &a->digest, &f->why);
	if (f->r == 0)
		f->has_target = false;
	f->unfinished = iw_target_count_unfinished(&f->group->place);
}

static void commit_back(struct iw_task *t)
{
	struct file *f = iw_container_of(t, struct file, task);
	struct group *g = f->group;
	struct session *s = f->s;

	f->tasks--;
	g->unfinished = f->unfinished;
	if (s && !f->dropped) {
		if (f->r != 1 && f->packed)
			report_codes(f);
		if (f->r < 0)
			iw_xfer_file_failed(s->x, f->id, f->why.code, f->why.text, g->hub->now);
		else if (f->r == 0)
			iw_xfer_committed(s->x, f->id, g->hub->now);
		else
			queue_commit(f); /* verifies further chunks */
		iw_xfer_touch(s->x, g->hub->now);
		iw_session_make_ready(s);
	}
	end_file(f);
	iw_group_task_done(g);
}

static void queue_commit(struct file *f)
{
	f->commit_waits = false;
	if (f->dropped)
		return;
	f->tasks++;
	f->task = (struct iw_task){ .run = commit_now, .back = commit_back };
	iw_group_queue(f->group, &f->group->names, &f->task);
}

/* Not in the worker: standard output is written without blocking, and retried when writable. */
static void commit_stdout(struct session *s)
{
	const struct iw_xfer_act *a = &s->work->commit;
	struct file *f = a->file;
	struct iw_file_fault why;
	int r = iw_target_commit(&f->target, &f->hasher, a->size, &a->digest, &why);

	s->work->commit_waits = r == 1;
	wait_for_output(s, r == 1);
	if (r < 0)
		iw_xfer_file_failed(s->x, a->id, why.code, why.text, s->hub->now);
	else if (r == 0)
		iw_xfer_committed(s->x, a->id, s->hub->now);
}

static void commit(struct session *s, const struct iw_xfer_act *a)
{
	struct file *f = a->file;

	if (f->target.to_stdout) {
		s->work->commit = *a;
		commit_stdout(s);
		return;
	}
	f->commit = *a;
	f->commit_waits = f->tasks > 0;
	if (!f->commit_waits)
		queue_commit(f);
}

void iw_sink_retry(struct session *s)
{
	struct work *w = s->work;

	if (w->create_waits) {
		const struct iw_xfer_act a = w->create;

		create(s, &a);
	}
	if (w->commit_waits)
		commit_stdout(s);
	if (w->final_waits)
		iw_sink_final(s);
}

/* --- results --- */

static void seen_now(struct iw_task *t)
{
	struct group_task *e = iw_container_of(t, struct group_task, task);

	const struct iw_xfer_meta m = { .kind = e->kind, .name = e->text, .name_len = e->len };

	iw_place_seen(&e->group->place, &m);
}

static void seen_back(struct iw_task *t)
{
	struct group_task *e = iw_container_of(t, struct group_task, task);
	struct group *g = e->group;

	iw_group_task_free(e);
	iw_group_task_done(g);
}

/* Keeps --delete from removing a file of that name. */
static void seen(struct group *g, const struct iw_xfer_meta *m)
{
	struct group_task *e;

	if (!(g->opts & IW_XFER_OPT_DELETE) || m->name_len == 0)
		return;
	e = iw_group_task_new(g, NULL);
	if (e)
		e->text = iw_name_terminated(m->name, m->name_len);
	if (!e || !e->text) {
		iw_group_task_free(e);
		g->unsure = true;
		return;
	}
	e->len = m->name_len;
	e->kind = m->kind;
	e->task = (struct iw_task){ .run = seen_now, .back = seen_back };
	iw_group_queue(g, &g->names, &e->task);
}

/* Adds a name to those that the source permits to be removed. */
static void permit(struct session *s, const struct iw_xfer_act *a)
{
	struct group *g = s->group;
	size_t cap = g->listed.cap;

	if (g->final_done)
		return; /* The worker reads the list now. Each connection sends the whole list. */
	if (!iw_names_add(&g->listed, a->name, a->name_len))
		g->unsure = true;
	if (g->listed.cap == cap)
		return;
	iw_group_charge(g, s, (g->listed.cap - cap) * sizeof(*g->listed.rows));
	iw_group_check(g, s, g->listed.cap * sizeof(*g->listed.rows));
}

static void note_returned(struct session *s, const struct iw_xfer_meta *m)
{
	struct group *g = s->group;
	bool lost = false;
	size_t bytes = iw_missing_add(&g->returned, m, returned_text, &lost);

	if (bytes > 0)
		iw_group_charge(g, s, bytes);
	if (lost)
		iw_log_error("no memory for the names of files that must be sent again");
}

static void drop_returned(struct session *s, const struct iw_xfer_meta *m)
{
	struct group *g = s->group;
	size_t bytes = iw_missing_drop(&g->returned, m->name, m->name_len);

	if (bytes > 0)
		iw_group_credit(g, bytes);
}

static void each_member(struct session *s, const struct iw_xfer_meta *m,
			void (*each)(struct session *s, const struct iw_xfer_meta *m))
{
	struct iw_fault why;
	struct iw_xfer_entry e;
	struct iw_xfer_entries l;
	struct iw_xfer_meta member;

	if (m->kind != IW_XFER_PACK) {
		each(s, m);
		return;
	}
	if (iw_xfer_pack_open(&l, (const uint8_t *)m->target, m->target_len, &why) != 0)
		return;
	while (iw_xfer_entries_next(&l, &e, &why) == 1) {
		iw_xfer_pack_meta(&member, &e);
		each(s, &member);
	}
}

/* A file in transit when the connection is lost will be announced again on another one. */
bool iw_sink_result(struct session *s, const struct iw_xfer_act *a)
{
	struct group *g = s->group;
	struct file *f = a->file;
	bool again = a->code == IW_XFER_CODE_CANCELED && !a->told_by_peer;

	seen(g, a->meta);
	iw_asked_announced(&s->hub->asked, a->meta);
	if (again)
		g->stream |= a->meta->kind == IW_XFER_STREAM;
	again = again && iw_session_hands_on(s);
	if (f)
		f->returns = again;
	else
		forget_creation(s, a->id, again);
	if (again)
		s->requeued += a->meta->kind == IW_XFER_PACK ? a->meta->members : 1;
	if (again || g->returned.n > 0)
		each_member(s, a->meta, again ? note_returned : drop_returned);
	return again;
}

uint64_t iw_sink_act(struct session *s, const struct iw_xfer_act *a)
{
	struct file *f = a->file;

	if (!iw_session_may_act(s))
		return 0;
	switch (a->type) {
	case IW_XFER_ACT_OPENED:
		opened(s, a);
		return 0;
	case IW_XFER_ACT_CREATE:
		if (iw_group_begin(s))
			create(s, a);
		return 0;
	case IW_XFER_ACT_STORE:
		return iw_sink_store(s, a);
	case IW_XFER_ACT_COMMIT:
		commit(s, a);
		return 0;
	case IW_XFER_ACT_ABANDON:
		/* Its RESULT follows, and says whether the peer will announce it again. */
		give_up(f, a->code);
		return 0;
	case IW_XFER_ACT_REMOVE:
		permit(s, a);
		return 0;
	case IW_XFER_ACT_FINAL:
		iw_sink_final(s);
		return 0;
	default:
		return 0;
	}
}
