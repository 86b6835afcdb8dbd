// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Performs the actions of a source's machine on files: searches for data, reads chunks, ends files.
 */
#include <stdlib.h>
#include <string.h>

#include "transfer/internal.h"

/* --- data --- */

static int load_pack(struct file *f)
{
	struct iovec iov = { .iov_base = f->buf, .iov_len = iw_packer_load(f->pack, f->buf) };
	struct iw_xfer_chunk *l = &f->loaded;

	*l = (struct iw_xfer_chunk){ .len = (uint32_t)iov.iov_len };
	if (iw_hasher_chunk(&f->hasher, &iov, 1, &l->digest) != 0)
		return iw_file_fail(&f->why, IW_XFER_CODE_IO, "its digest could not be computed");
	if (l->len > 0 && iw_chunk_list_add(&f->src.chunks, 0, &l->digest) != 0)
		return iw_file_fail(&f->why, IW_XFER_CODE_LIMIT, "no memory for its digests");
	return 0;
}

/* In the worker. */
static void load_now(struct iw_task *t)
{
	struct file *f = iw_container_of(t, struct file, task);

	f->r = f->pack ? load_pack(f)
		       : iw_src_load(&f->src, &f->hasher, f->off, (uint32_t)f->len, f->buf,
				     &f->loaded, &f->why);
}

/* In the worker. */
static void finish_now(struct iw_task *t)
{
	struct file *f = iw_container_of(t, struct file, task);

	if (!f->pack)
		f->r = iw_src_finish(&f->src, &f->hasher, f->len, &f->whole, &f->why);
	else if (iw_chunk_list_digest(&f->src.chunks, &f->hasher, f->len, &f->whole) == 0)
		f->r = 0;
	else
		f->r = iw_file_fail(&f->why, IW_XFER_CODE_IO, "its digest could not be computed");
}

/* Queues f, whose connection was lost, for another connection. */
static void send_again(struct group *g, struct file *f)
{
	f->again = false;
	f->why.code = IW_XFER_CODE_OK;
	g->out--;
	iw_hub_count_closed(f);
	iw_src_again(&f->src);
	iw_list_add_tail(&g->again, &f->link);
	iw_group_wake(g);
}

/* Frees f, which ended while the worker read it, or queues it again. */
static void free_read_file(struct file *f)
{
	if (f->tasks > 0)
		return;
	if (f->again)
		send_again(f->group, f);
	else
		iw_session_file_free(f);
}

/*
 * Returns the buffer to its slot, or, if the slot has another one, to the pool. True: s waits for
 * the chunk.
 */
static bool give_slot_back(struct hub *h, struct session *s, struct file *f)
{
	bool awaited = s && s->work->loading == f;

	if (awaited)
		s->work->loading = NULL;
	if (awaited && !s->work->slot[f->slot]) {
		s->work->slot[f->slot] = f->buf;
		s->work->nslots++;
		iw_session_charge(s, IW_XFER_CHUNK);
	} else {
		iw_pool_put(&h->slots, f->buf);
		iw_hub_slot_freed(h);
	}
	f->buf = NULL;
	return awaited;
}

/* Counts a task of f as done. */
static void came_back(struct file *f)
{
	if (--f->tasks == 0)
		iw_list_del(&f->of);
}

static void load_back(struct iw_task *t)
{
	struct file *f = iw_container_of(t, struct file, task);
	struct group *g = f->group;
	struct hub *h = g->hub;
	struct session *s = f->s;

	came_back(f);
	if (f->r >= 0 && f->loaded.zero)
		iw_hub_unpace(h, f->loaded.len);
	if (give_slot_back(h, s, f)) {
		if (f->r < 0)
			iw_xfer_file_failed(s->x, f->id, f->why.code, f->why.text, h->now);
		else
			iw_xfer_loaded(s->x, f->id, f->slot, &f->loaded, h->now);
		f->done += f->r < 0 ? 0 : f->loaded.len;
	}
	if (s)
		iw_session_make_ready(s);
	else
		free_read_file(f);
	iw_group_task_done(g);
}

static void finish_back(struct iw_task *t)
{
	struct file *f = iw_container_of(t, struct file, task);
	struct group *g = f->group;
	struct session *s = f->s;

	came_back(f);
	if (s && f->r != 0)
		iw_xfer_file_failed(s->x, f->id, f->why.code, f->why.text, g->hub->now);
	else if (s)
		iw_xfer_finished(s->x, f->id, &f->whole, g->hub->now);
	if (s)
		iw_session_make_ready(s);
	else
		free_read_file(f);
	iw_group_task_done(g);
}

static bool has_hasher(struct session *s, struct file *f)
{
	struct iw_fault why;

	/* Another connection may use another digest. */
	if (f->has_hasher && f->hasher.kind != s->mine.digest) {
		iw_hasher_fini(&f->hasher);
		f->has_hasher = false;
	}
	if (!f->has_hasher)
		f->has_hasher = iw_hasher_init(&f->hasher, s->mine.digest, &why) == 0;
	return f->has_hasher;
}

/*
 * Gives t to the worker. t is a load or the end of f, of which the machine requests one at a time
 * for each file; or a search for data, which is independent of them. The worker runs them one at a
 * time.
 */
static bool queue_task(struct session *s, struct file *f, uint32_t id, struct iw_task *t)
{
	if (!has_hasher(s, f)) {
		iw_xfer_file_failed(s->x, id, IW_XFER_CODE_LIMIT, "no memory for digests",
				    s->hub->now);
		return false;
	}
	f->s = s;
	f->group = s->group;
	f->id = id;
	if (f->tasks++ == 0)
		iw_list_add_tail(&s->files, &f->of);
	iw_group_queue(s->group, &s->group->data[0], t);
	return true;
}

/* In the worker: finding data in a file can take as long as reading it. */
static void search_now(struct iw_task *t)
{
	struct file *f = iw_container_of(t, struct file, search.task);
	struct search *c = &f->search;

	c->r = iw_src_next_data(&f->src, c->off, &c->at, &c->len, &c->last, &c->why);
	c->compared = c->r > 0;
	if (c->compared)
		c->r = iw_src_compare(&f->src, &f->hasher, c->at, (uint32_t)c->len, &c->same,
				      &c->why);
}

static void search(struct session *s, struct file *f, uint32_t id, uint64_t off);

/* The machine waits for the range, so it reports that this side is busy. */
static void take_search(struct session *s, struct file *f)
{
	const struct search *c = &f->search;

	if (c->r != 0) {
		iw_xfer_file_failed(s->x, f->id, c->why.code, c->why.text, s->hub->now);
		return;
	}
	if (!c->compared) {
		iw_xfer_range(s->x, f->id, c->at, c->len, c->last);
		return;
	}
	iw_src_compared(&f->src, c->at, c->same);
	if (c->same) {
		f->done += c->len;
		iw_xfer_had(s->x, f->id, c->len, s->hub->now);
	}
	if (!s->ended)
		search(s, f, f->id, c->at);
}

static void search_back(struct iw_task *t)
{
	struct file *f = iw_container_of(t, struct file, search.task);
	struct group *g = f->group;
	struct session *s = f->s;

	came_back(f);
	if (s) {
		take_search(s, f);
		iw_session_make_ready(s);
	} else {
		free_read_file(f);
	}
	iw_group_task_done(g);
}

static void search(struct session *s, struct file *f, uint32_t id, uint64_t off)
{
	f->search.task = (struct iw_task){ .run = search_now, .back = search_back };
	f->search.off = off;
	(void)queue_task(s, f, id, &f->search.task);
}

static void next_range(struct session *s, const struct iw_xfer_act *a)
{
	struct file *f = a->file;
	struct iw_file_fault why;
	uint64_t at, len;
	bool last;

	if (f->pack)
		iw_xfer_range(s->x, a->id, 0, f->pack->octets > 0 ? IW_XFER_CHUNK : 0, true);
	else if (!f->src.stream)
		search(s, f, a->id, a->off);
	else if (iw_src_next_data(&f->src, a->off, &at, &len, &last, &why) == 0)
		iw_xfer_range(s->x, a->id, at, len, last);
}

void iw_source_leave(struct session *s)
{
	struct iw_list *l;

	if (s->mine.role != IW_XFER_SOURCE)
		return;
	while ((l = iw_list_first(&s->files)) != NULL) {
		iw_list_del(l);
		iw_container_of(l, struct file, of)->s = NULL;
	}
}

/* Reads a stream only while it is readable, because its writer may pause: never blocks. */
static uint64_t load_stream(struct session *s, const struct iw_xfer_act *a)
{
	struct work *w = s->work;
	struct file *f = a->file;
	struct iw_file_fault why;
	struct iw_xfer_chunk l;
	int r = iw_src_load(&f->src, &w->hasher, a->off, (uint32_t)a->len, w->slot[a->slot], &l,
			    &why);

	w->load_waits = r == 1;
	iw_hub_watch_in(s->hub, r == 1 ? f->src.fd : -1);
	if (r < 0)
		iw_xfer_file_failed(s->x, a->id, why.code, why.text, s->hub->now);
	else if (r == 0)
		iw_xfer_loaded(s->x, a->id, a->slot, &l, s->hub->now);
	if (r == 0)
		f->done += l.len;
	return r == 1 ? 0 : IW_MAX(a->len, (uint64_t)1);
}

/*
 * Reads the chunk in this thread if it is in memory: it is then still in this thread's cache when
 * it is sent, and no thread must be woken. False: it is not, or hashing takes long, or the worker
 * uses the file.
 */
static bool fetch(struct session *s, const struct iw_xfer_act *a)
{
	struct file *f = a->file;

	return !f->pack && f->tasks == 0 && iw_digest_is_quick(s->mine.digest) &&
	       iw_src_fetch(&f->src, a->off, (uint32_t)a->len, s->work->slot[a->slot]);
}

/* Hashes the chunk that fetch has read, and gives it to the machine. */
static uint64_t load_fetched(struct session *s, const struct iw_xfer_act *a)
{
	struct file *f = a->file;
	struct iw_file_fault why;
	struct iw_xfer_chunk l;

	if (iw_src_load(&f->src, &s->work->hasher, a->off, (uint32_t)a->len, s->work->slot[a->slot],
			&l, &why) != 0) {
		iw_xfer_file_failed(s->x, a->id, why.code, why.text, s->hub->now);
		return a->len;
	}
	if (l.zero)
		iw_hub_unpace(s->hub, l.len);
	iw_xfer_loaded(s->x, a->id, a->slot, &l, s->hub->now);
	f->done += l.len;
	return a->len;
}

uint64_t iw_source_load(struct session *s, const struct iw_xfer_act *a)
{
	struct work *w = s->work;
	struct file *f = a->file;

	s->moving = f;
	/* If the worker still reads for an earlier LOAD, its file has ended: do not answer that one. */
	w->loading = NULL;
	w->load = *a;
	w->load_waits = !iw_session_slot(s, a->slot);
	if (w->load_waits) {
		iw_session_starve(s);
		return 0;
	}
	w->load_waits = !iw_hub_pace(s->hub, s, f->pack ? iw_packer_cost(f->pack) : a->len);
	if (w->load_waits)
		return 0;
	if (f->src.stream)
		return load_stream(s, a);
	f->src.keeps_zeros = iw_src_differs(&f->src, a->off);
	if (fetch(s, a))
		return load_fetched(s, a);
	f->slot = a->slot;
	f->off = a->off;
	f->len = a->len;
	f->buf = w->slot[a->slot];
	w->slot[a->slot] = NULL;
	w->nslots--;
	iw_session_credit(s, IW_XFER_CHUNK);
	w->loading = f;
	f->task = (struct iw_task){ .run = load_now, .back = load_back };
	if (!queue_task(s, f, a->id, &f->task))
		(void)give_slot_back(s->hub, s, f);
	return 0;
}

static void finish(struct session *s, const struct iw_xfer_act *a)
{
	struct file *f = a->file;

	f->len = a->size;
	f->task = (struct iw_task){ .run = finish_now, .back = finish_back };
	(void)queue_task(s, f, a->id, &f->task);
}

static void take_have(struct session *s, const struct iw_xfer_act *a)
{
	struct file *f = a->file;
	size_t n = (size_t)((a->len + IW_XFER_CHUNK - 1) / IW_XFER_CHUNK);

	/* A file of one chunk is sent without waiting for HAVE. */
	if (f->tasks > 0)
		return;
	if (iw_src_have(&f->src, a->off, (const uint8_t *)a->name,
			iw_xfer_digest_len(s->mine.digest), n) != 0)
		iw_source_no_memory(s, "what the sink has");
}

static void take_wanted(struct session *s, const struct iw_xfer_act *a)
{
	struct file *f = a->file;
	struct iw_fault why;

	if (f->pack && iw_packer_want(f->pack, (const uint8_t *)a->name, a->name_len))
		return;
	iw_xfer_fault(&why, IW_E_FORMAT, "the peer broke the protocol: GO for %U octets of members",
		      (uint64_t)a->name_len);
	iw_xfer_fail(s->x, &why);
}

/* --- the end of a file --- */

bool iw_source_result(struct session *s, const struct iw_xfer_act *a)
{
	struct group *g = s->group;
	struct file *f = a->file;
	bool lost = a->code == IW_XFER_CODE_CANCELED && !a->told_by_peer &&
		    iw_session_hands_on(s) && !(f->has_src && f->src.stream);

	if (lost) {
		s->requeued += f->pack ? f->pack->n : 1;
		/* If the worker still reads f, f is sent again when that task is done. */
		f->again = f->tasks > 0;
		if (!f->again)
			send_again(g, f);
	} else if (f->linked && f->meta.kind != IW_XFER_HARDLINK &&
		   !iw_xfer_code_is_fine(a->code)) {
		f->linked->failed = true;
	}
	if (!lost)
		g->out--;
	f->s = NULL;
	iw_list_del(&f->of);
	iw_group_wake(g);
	return lost;
}

/*
 * --delete: true if the patterns exclude name, which the sink would remove, or a name below it. The
 * sink does not know the patterns. It reports the contents of a directory before the directory.
 */
static bool is_spared(struct group *g, const char *name)
{
	const struct iw_filter *filter = &g->hub->cfg->filter;
	bool contents = g->opts & IW_XFER_OPT_CONTENTS;
	const char *slash = strrchr(name, '/');

	/* The sink does not report whether it is a directory. */
	if (!(g->opts & IW_XFER_OPT_DRY_RUN) ||
	    (!iw_filter_excludes_deep(filter, name, true, contents) &&
	     !iw_filter_excludes_deep(filter, name, false, contents) &&
	     !iw_names_has(&g->kept, name, strlen(name))))
		return false;
	if (slash && !iw_names_add(&g->kept, name, (size_t)(slash - name)))
		iw_log_error("no memory for the names that stay at the target");
	return true;
}

/* --delete: reports a name that the sink removed or would remove. */
static void report_gone(struct session *s, const struct iw_xfer_act *a)
{
	const struct iw_transfer_cfg *cfg = s->hub->cfg;
	char *name = iw_name_terminated(a->name, a->name_len);

	if (name && is_spared(s->group, name)) {
		s->group->spared++;
		if (cfg->would_remove && cfg->removals)
			cfg->removals->spared++;
		free(name);
		return;
	}
	if (!name || (cfg->would_remove && cfg->removals && !iw_removals_add(cfg->removals, name)))
		iw_log_error("no memory for the names that would be removed");
	if (name)
		iw_report_gone(&s->hub->report, s->peer_text, name,
			       s->group->opts & IW_XFER_OPT_DRY_RUN);
	free(name);
}

uint64_t iw_source_act(struct session *s, const struct iw_xfer_act *a)
{
	if (!iw_session_may_act(s))
		return 0;
	switch (a->type) {
	case IW_XFER_ACT_PATH:
		iw_source_take_path(s, a);
		return 0;
	case IW_XFER_ACT_NEXT_FILE:
		iw_source_next(s);
		return 0;
	case IW_XFER_ACT_HAVE:
		take_have(s, a);
		return 0;
	case IW_XFER_ACT_GONE:
		report_gone(s, a);
		return 0;
	case IW_XFER_ACT_WANTED:
		take_wanted(s, a);
		return 0;
	case IW_XFER_ACT_NEXT_RANGE:
		if (iw_group_begin(s))
			next_range(s, a);
		return 0;
	case IW_XFER_ACT_LOAD:
		return iw_group_begin(s) ? iw_source_load(s, a) : 0;
	case IW_XFER_ACT_FINISH:
		if (iw_group_begin(s))
			finish(s, a);
		return 0;
	default:
		return 0;
	}
}
