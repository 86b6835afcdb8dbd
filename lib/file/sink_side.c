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

static void opened(struct session *s, const struct iw_xact *a)
{
	struct work *w = s->work;
	const char *fault = iw_xfer_path_fault(a->name, a->name_len);
	struct iw_file_fault why;
	struct iw_fault f;
	char *path;

	if (s->hub->cfg->to_stdout) {
		iw_place_stdout(&w->place);
		return;
	}
	path = iw_name_terminated(a->name, a->name_len);
	if (!path) {
		iw_fail(&f, IW_E_NOMEM, "no memory for a path");
		iw_xfer_fail(s->x, &f);
		return;
	}
	if (fault) {
		iw_fail(&f, IW_E_INVAL, "the target's path %s", fault);
		iw_xfer_fail(s->x, &f);
	} else if (iw_place_beneath(&w->place, s->hub->root, path, a->many, &why) != 0) {
		iw_fail(&f,
			why.code == IW_XC_NOENT  ? IW_E_NOENT
			: why.code == IW_XC_PERM ? IW_E_PERM
						 : IW_E_INVAL,
			"%s", why.text);
		iw_xfer_fail(s->x, &f);
	}
	w->place.force = a->force || s->hub->cfg->force;
	free(path);
}

static void create(struct session *s, const struct iw_xact *a)
{
	struct file *f = calloc(1, sizeof(*f));
	struct iw_file_fault why;

	if (f)
		f->name = iw_name_terminated(a->meta->name, a->meta->name_len);
	if (!f || !f->name) {
		iw_file_free(f);
		iw_xfer_file_failed(s->x, a->id, IW_XC_LIMIT, "no memory", s->hub->now);
		return;
	}
	switch (iw_target_create(&f->target, &s->work->place, a->meta, &why)) {
	case IW_CREATED:
		iw_xfer_created(s->x, a->id, f, s->hub->now);
		return;
	case IW_MADE:
		iw_xfer_made(s->x, a->id, s->hub->now);
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
	r = iw_target_store(&f->target, &w->hasher, a->off, iov, a->nparts, &a->digest, &why);
	w->store = *a;
	w->store_waits = r == 1;
	if (f->target.to_stdout)
		wait_for_output(s, r == 1);
	if (r < 0)
		iw_xfer_file_failed(s->x, a->id, why.code, why.text, s->hub->now);
	else if (r == 0)
		iw_xfer_stored(s->x, s->hub->now);
	return r == 1 ? 0 : a->len;
}

uint64_t iw_sink_commit(struct session *s, const struct iw_xact *a)
{
	struct work *w = s->work;
	struct file *f = a->file;
	struct iw_file_fault why;
	bool to_stdout = f->target.to_stdout;
	int r = iw_target_commit(&f->target, &w->hasher, a->size, &a->digest, &why);

	w->commit = *a;
	w->commit_waits = r == 1;
	if (to_stdout)
		wait_for_output(s, r == 1);
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
		iw_target_abandon(&f->target);
		return 0;
	default:
		return 0;
	}
}
