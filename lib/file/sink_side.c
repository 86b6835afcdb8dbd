// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a sink's machine wants of the files: places, temporaries, octets on storage. */
#include <stdlib.h>
#include <string.h>

#include "file/internal.h"
#include "file/out.h"
#include "util/text.h"
#include "xfer/name.h"

/* A commit waits for storage: in the turns of a listener it counts as much as this. */
#define COMMIT_COST (IW_XFER_CHUNK / 4)

/* What a listener must have said itself, before anybody who connects can have it. */
#define BY_LEAVE (IW_XOPT_OWNER | IW_XOPT_XATTR | IW_XOPT_DELETE)

static void set_place(struct group *g)
{
	g->place.opts = g->opts;
	g->place.filter = g->initiator ? &g->hub->cfg->filter : NULL;
	g->place.limits = &g->hub->cfg->limits;
	g->place.let_go = iw_group_let_go;
	g->place.let_go_ctx = g;
}

static int find_place(struct session *s, const struct iw_xact *a, struct iw_fault *f)
{
	const struct iw_transfer_cfg *cfg = s->hub->cfg;
	const char *fault = iw_xfer_path_fault(a->name, a->name_len);
	struct group *g = s->group;
	struct iw_file_fault why;
	char *path;
	int err = 0;

	if (a->opts & BY_LEAVE & ~cfg->opts)
		return iw_fail(f, IW_E_PERM, "this listener does not take %s",
			       a->opts & IW_XOPT_DELETE & ~cfg->opts ? "removals: it lacks --delete"
			       : a->opts & IW_XOPT_OWNER & ~cfg->opts
				       ? "owners: it lacks --owner"
				       : "attributes: it lacks --xattr");
	if (cfg->to_stdout) {
		iw_place_stdout(&g->place);
		return 0;
	}
	path = iw_name_terminated(a->name, a->name_len);
	if (!path)
		return iw_fail(f, IW_E_NOMEM, "no memory for a path");
	if (fault)
		err = iw_fail(f, IW_E_INVAL, "the target's path %s", fault);
	else if (iw_place_beneath(&g->place, s->hub->root, path, a->opts & IW_XOPT_MANY, &why) != 0)
		err = iw_fail(f,
			      why.code == IW_XC_NOENT  ? IW_E_NOENT
			      : why.code == IW_XC_PERM ? IW_E_PERM
						       : IW_E_INVAL,
			      "%s", why.text);
	free(path);
	return err;
}

static void opened(struct session *s, const struct iw_xact *a)
{
	struct group *g = s->group;
	struct iw_fault f;

	if (g->opened)
		return; /* another connection of the same transfer has said it */
	if (find_place(s, a, &f) != 0) {
		iw_xfer_fail(s->x, &f);
		return;
	}
	g->opened = true;
	g->opts = a->opts | (s->hub->cfg->opts & ~(uint32_t)BY_LEAVE);
	g->conns = iw_xfer_conns(s->x);
	set_place(g);
}

void iw_sink_place(struct session *s)
{
	set_place(s->group);
}

/* --- a file --- */

/* In runs of chunks that follow one another. */
static void tell_had(struct session *s, const struct iw_xact *a, const struct iw_target *t)
{
	size_t digest = iw_xfer_digest_len(s->mine.digest), n = 0;
	uint8_t *run = t->had > 0 ? malloc(t->had * digest) : NULL;
	uint64_t begin = 0, off;
	struct iw_xdigest d;

	for (size_t i = 0; run && i < t->had; i++) {
		iw_chunk_list_row(&t->chunks, i, &off, &d);
		if (n > 0 && off != begin + (uint64_t)n * IW_XFER_CHUNK) {
			(void)iw_xfer_have(s->x, a->id, begin, run, n);
			n = 0;
		}
		if (n == 0)
			begin = off;
		memcpy(run + n++ * digest, d.octets, digest);
	}
	if (run)
		(void)iw_xfer_have(s->x, a->id, begin, run, n); /* else all of it is sent again */
	free(run);
}

static void create_pack(struct session *s, const struct iw_xact *a, struct file *f)
{
	struct iw_pack_sink *p = malloc(sizeof(*p));
	struct iw_file_fault why;

	f->packed = p;
	if (!p) {
		iw_file_fail(&why, IW_XC_LIMIT, "no memory");
	} else if (iw_pack_sink_open(p, &s->group->place, a->meta, &why) == 0) {
		if (p->nwanted > 0) {
			iw_xfer_wanted(s->x, a->id, p->wanted, (p->n + 7) / 8);
			iw_xfer_created(s->x, a->id, f, s->hub->now);
			return;
		}
		iw_xfer_codes(s->x, a->id, p->codes, p->n);
		iw_xfer_made(s->x, a->id, f, s->hub->now);
		return;
	}
	iw_xfer_file_failed(s->x, a->id, why.code, why.text, s->hub->now);
	iw_file_free(f);
}

static void create(struct session *s, const struct iw_xact *a)
{
	struct file *f = calloc(1, sizeof(*f));
	struct iw_file_fault why;

	s->group->answered = true;
	if (f) {
		iw_list_init(&f->link);
		f->name = iw_name_terminated(a->meta->name, a->meta->name_len);
	}
	if (!f || !f->name) {
		iw_file_free(f);
		iw_xfer_file_failed(s->x, a->id, IW_XC_LIMIT, "no memory", s->hub->now);
		return;
	}
	if (a->meta->kind == IW_XFER_PACK) {
		create_pack(s, a, f);
		return;
	}
	switch (iw_target_create(&f->target, &s->group->place, a->meta, s->mine.digest, &why)) {
	case IW_CREATED:
		f->size = a->meta->kind == IW_XFER_FILE ? a->meta->size : 0;
		f->share = a->meta->share != 0;
		f->done = IW_MIN((uint64_t)f->target.had * IW_XFER_CHUNK, f->size);
		tell_had(s, a, &f->target);
		iw_xfer_created(s->x, a->id, f, s->hub->now);
		return;
	case IW_MADE:
		iw_xfer_made(s->x, a->id, NULL, s->hub->now);
		break;
	case IW_CREATE_FAILED:
		iw_xfer_file_failed(s->x, a->id, why.code, why.text, s->hub->now);
		break;
	}
	iw_file_free(f);
}

/* Standard output is full: to be watched, or, if it cannot be, to be tried again. */
static void wait_for_output(struct session *s, bool waits)
{
	iw_hub_watch_out(s->hub, waits ? iw_out_fd() : -1);
	if (waits && iw_out_fd() < 0)
		iw_session_make_ready(s);
}

/* --- chunks --- */

static struct iovec piece_of(const struct session *s, const struct iw_xpart *p)
{
	uint8_t *at = p->in_recv ? s->recv[p->recv].p + IW_XFER_DATA_HDR : s->work->slot[p->recv];

	return (struct iovec){ .iov_base = at, .iov_len = p->len };
}

static uint64_t store_stdout(struct session *s, const struct iw_xact *a)
{
	struct work *w = s->work;
	struct file *f = a->file;
	struct iw_file_fault why;
	struct iovec iov[IW_XPARTS];
	int r;

	for (size_t i = 0; i < a->nparts; i++)
		iov[i] = piece_of(s, &a->part[i]);
	r = iw_target_store(&f->target, &w->hasher, a->off, iov, a->nparts, &a->digest, &why);
	w->store_waits = r == 1;
	w->store_paced = w->store_paced && w->store_waits;
	wait_for_output(s, r == 1);
	if (r < 0)
		iw_xfer_file_failed(s->x, a->id, why.code, why.text, s->hub->now);
	else if (r == 0)
		iw_xfer_stored(s->x, s->hub->now);
	return r == 1 ? 0 : a->len;
}

/* In the worker. */
static void store_now(struct iw_task *task)
{
	struct store *st = iw_container_of(task, struct store, task);
	struct iw_hasher *h = &st->s->work->far;
	const struct iovec iov = { .iov_base = st->buf, .iov_len = st->len };

	st->r = st->file->packed ? iw_pack_sink_store(st->file->packed, h, st->off, &iov, 1,
						      &st->digest, &st->why)
				 : iw_target_write(&st->file->target, h, st->off, &iov, 1,
						   &st->digest, &st->why);
}

/* The memory of the chunk, in one piece: that of its slot, which gets other memory when it needs some, or a copy. */
static void *take_chunk(struct session *s, const struct iw_xact *a)
{
	struct work *w = s->work;
	uint8_t *buf, *at;

	if (!a->part[0].in_recv) {
		buf = w->slot[a->part[0].recv];
		w->slot[a->part[0].recv] = NULL;
		w->nslots--;
		return buf;
	}
	at = buf = iw_pool_get(&s->hub->slots);
	for (size_t i = 0; buf && i < a->nparts; i++) {
		const struct iovec piece = piece_of(s, &a->part[i]);

		memcpy(at, piece.iov_base, piece.iov_len);
		at += piece.iov_len;
	}
	return buf;
}

static struct store *free_store(struct hub *h)
{
	for (size_t i = 0; i < STORES; i++)
		if (!h->store[i].s)
			return &h->store[i];
	return NULL;
}

/*
 * The chunk goes to the worker, and counts as stored: if it turns out that it cannot be, the file fails then. Nothing is told of it
 * before its COMMIT, which waits for the worker.
 */
uint64_t iw_sink_store(struct session *s, const struct iw_xact *a)
{
	struct hub *h = s->hub;
	struct work *w = s->work;
	struct file *f = a->file;
	struct store *st = free_store(h);
	void *buf;

	s->moving = f;
	w->store = *a;
	/* What comes by Sends is under way already: the next one waits for its credit. */
	if (a->nparts > 0 && a->part[0].in_recv && !w->store_paced) {
		w->store_paced = iw_hub_pace(h, s, a->len);
		w->store_waits = !w->store_paced;
		if (w->store_waits)
			return 0;
	}
	if (f->target.to_stdout)
		return store_stdout(s, a);
	buf = st ? take_chunk(s, a) : NULL;
	w->store_waits = !buf;
	if (w->store_waits) {
		if (iw_list_empty(&s->starved))
			iw_list_add_tail(&h->starved, &s->starved);
		return 0;
	}
	if (f->packed)
		iw_pack_sink_prepare(f->packed);
	*st = (struct store){ .task.run = store_now,
			      .s = s,
			      .file = f,
			      .id = a->id,
			      .len = (uint32_t)a->len,
			      .off = a->off,
			      .buf = buf,
			      .digest = a->digest };
	w->store_paced = false;
	h->stores++;
	s->stores++;
	f->stores++;
	iw_worker_give(&h->worker, &st->task);
	iw_xfer_stored(s->x, h->now);
	return a->len;
}

/* Another chunk of f that waits for the worker waits in vain: the machine takes the file's failure for its answer. */
static void fail_file(struct session *s, struct file *f, uint32_t id,
		      const struct iw_file_fault *why)
{
	struct work *w = s->work;

	if (w->store_waits && w->store.file == f) {
		w->store_waits = w->store_paced = false;
		iw_session_repost(s, &w->store);
	}
	iw_xfer_file_failed(s->x, id, why->code, why->text, s->hub->now);
}

void iw_sink_stored(struct hub *h, struct iw_task *t)
{
	struct store *st = iw_container_of(t, struct store, task);
	struct session *s = st->s;
	struct file *f = st->file;

	f->stores--;
	s->stores--;
	h->stores--;
	st->s = NULL;
	iw_pool_put(&h->slots, st->buf);
	if (!f->dropped) {
		if (st->r == 0 && !f->packed)
			st->r = iw_target_wrote(&f->target, st->off, st->len, &st->digest,
						&st->why);
		f->done += st->len;
		if (st->r != 0)
			fail_file(s, f, st->id, &st->why);
		else
			iw_xfer_touch(s->x, h->now);
	}
	iw_session_make_ready(s);
	iw_hub_slot_freed(h);
}

void iw_sink_drop(struct hub *h, struct file *f)
{
	f->dropped = true;
	while (f->stores > 0)
		iw_sink_stored(h, iw_worker_await(&h->worker));
}

static void tell_pack(struct session *s, const struct iw_xact *a, const struct iw_pack_sink *p)
{
	iw_xfer_codes(s->x, a->id, p->codes, p->n);
}

/* --- the end --- */

static void tell_gone(void *ctx, const char *name)
{
	struct session *s = ctx;

	iw_report_gone(&s->hub->report, s->peer_text, name, s->group->opts & IW_XOPT_DRY_RUN);
}

/* Everything is settled, on every connection of the transfer: who is told first does it. */
static void final(struct session *s)
{
	struct group *g = s->group;
	uint64_t gone = 0, failed = 0;

	if (!g->final_done && !g->place.to_stdout && g->place.base >= 0)
		iw_place_final(&g->place, tell_gone, s, &gone, &failed);
	g->final_done = true;
	if (failed > 0)
		iw_log_error("%llu directories could not be given their attributes, or be cleared",
			     (unsigned long long)failed);
	iw_xfer_final(s->x, gone, failed, s->hub->now);
}

/* 1: it is to be tried again. */
static int commit(struct session *s, struct file *f)
{
	struct iw_hasher *h = &s->work->hasher;
	const struct iw_xact *a = &f->commit;
	struct iw_file_fault why;
	int r;

	if (f->stores > 0)
		return 1; /* the worker's coming back makes the session ready */
	r = f->packed ? iw_pack_sink_commit(f->packed, h, a->size, &a->digest, &why)
		      : iw_target_commit(&f->target, h, a->size, &a->digest, &why);
	if (f->target.to_stdout)
		wait_for_output(s, r == 1);
	else if (r == 1)
		iw_session_make_ready(s); /* there is more to be verified */
	if (f->packed)
		tell_pack(s, a, f->packed);
	if (r < 0)
		iw_xfer_file_failed(s->x, a->id, why.code, why.text, s->hub->now);
	else if (r == 0)
		iw_xfer_committed(s->x, a->id, s->hub->now);
	return r == 1;
}

uint64_t iw_sink_commits(struct session *s)
{
	struct iw_list *l, *next, *head = &s->work->commits;
	uint64_t cost = 0;

	for (l = head->next; l != head; l = next) {
		next = l->next;
		if (commit(s, iw_container_of(l, struct file, link)) == 1)
			continue;
		iw_list_del(l);
		cost += COMMIT_COST;
	}
	return cost;
}

static uint64_t begin_commit(struct session *s, const struct iw_xact *a)
{
	struct file *f = a->file;

	f->commit = *a;
	if (commit(s, f) == 0)
		return COMMIT_COST;
	iw_list_add_tail(&s->work->commits, &f->link);
	return 0;
}

/* What was in hand when the connection was lost comes again, and has not been taken. */
bool iw_sink_result(struct session *s, const struct iw_xact *a)
{
	struct group *g = s->group;
	struct file *f = a->file;

	iw_place_seen(&g->place, a->meta->name, a->meta->name_len);
	if (a->code != IW_XC_CANCELED || a->told_by_peer)
		return false;
	g->stream |= a->meta->kind == IW_XFER_STREAM;
	if (!iw_session_hands_on(s))
		return false;
	if (f && f->packed)
		for (uint32_t i = 0; i < f->packed->n; i++)
			iw_place_return(&g->place, &f->packed->member[i]);
	else if (f)
		iw_place_return(&g->place, a->meta);
	s->requeued += a->meta->kind == IW_XFER_PACK ? a->meta->members : 1;
	return true;
}

uint64_t iw_sink_act(struct session *s, const struct iw_xact *a)
{
	struct file *f = a->file;

	if (!iw_session_may_act(s))
		return 0;
	switch (a->type) {
	case IW_XACT_OPENED:
		opened(s, a);
		return 0;
	case IW_XACT_CREATE:
		create(s, a);
		return 0;
	case IW_XACT_STORE:
		return iw_sink_store(s, a);
	case IW_XACT_COMMIT:
		return begin_commit(s, a);
	case IW_XACT_ABANDON:
		iw_sink_drop(s->hub, f);
		if (!f->packed)
			iw_target_abandon(&f->target, a->code);
		return 0;
	case IW_XACT_FINAL:
		final(s);
		return 0;
	default:
		return 0;
	}
}
