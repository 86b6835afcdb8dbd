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

uint64_t iw_sink_store(struct session *s, const struct iw_xact *a)
{
	struct work *w = s->work;
	struct file *f = a->file;
	struct iw_file_fault why;
	struct iovec iov[IW_XPARTS];
	int r;

	s->name = f->name;
	for (size_t i = 0; i < a->nparts; i++) {
		const struct iw_xpart *p = &a->part[i];

		iov[i].iov_base = p->in_recv ? s->recv[p->recv].p + IW_XFER_DATA_HDR
					     : (uint8_t *)w->slot[p->recv];
		iov[i].iov_len = p->len;
	}
	w->store = *a;
	r = f->packed ? iw_pack_sink_store(f->packed, &w->hasher, a->off, iov, a->nparts,
					   &a->digest, &why)
		      : iw_target_store(&f->target, &w->hasher, a->off, iov, a->nparts, &a->digest,
					&why);
	w->store_waits = r == 1;
	if (f->target.to_stdout)
		wait_for_output(s, r == 1);
	if (r < 0)
		iw_xfer_file_failed(s->x, a->id, why.code, why.text, s->hub->now);
	else if (r == 0)
		iw_xfer_stored(s->x, s->hub->now);
	return r == 1 ? 0 : a->len;
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

uint64_t iw_sink_commit(struct session *s, const struct iw_xact *a)
{
	struct work *w = s->work;
	struct file *f = a->file;
	struct iw_file_fault why;
	bool to_stdout = f->target.to_stdout;
	int r = f->packed ? iw_pack_sink_commit(f->packed, &w->hasher, a->size, &a->digest, &why)
			  : iw_target_commit(&f->target, &w->hasher, a->size, &a->digest, &why);

	w->commit = *a;
	w->commit_waits = r == 1;
	if (to_stdout)
		wait_for_output(s, r == 1);
	else if (r == 1)
		iw_session_make_ready(s); /* there is more to be verified */
	if (f->packed)
		tell_pack(s, a, f->packed);
	if (r < 0)
		iw_xfer_file_failed(s->x, a->id, why.code, why.text, s->hub->now);
	else if (r == 0)
		iw_xfer_committed(s->x, a->id, s->hub->now);
	return r == 1 ? 0 : COMMIT_COST;
}

uint64_t iw_sink_act(struct session *s, const struct iw_xact *a)
{
	struct file *f = a->file;
	struct iw_fault why;

	if (!iw_session_work(s)) {
		why = s->fault;
		if (!why.err)
			iw_fail(&why, IW_E_NOMEM, "no memory for a transfer");
		iw_xfer_fail(s->x, &why);
		return 0;
	}
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
		return iw_sink_commit(s, a);
	case IW_XACT_ABANDON:
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
