// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a source's machine wants of the files: names, ranges of data, octets. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file/internal.h"
#include "util/text.h"
#include "xfer/name.h"

static void take_path(struct session *s, const struct iw_xact *a)
{
	struct iw_fault why;

	if (a->name_len > 0 && memchr(a->name, '\0', a->name_len)) {
		iw_fail(&why, IW_E_INVAL, "a path that is asked for contains a NUL octet");
		iw_xfer_fail(s->x, &why);
	} else if (iw_walk_add(&s->work->walk, a->name, a->name_len) != 0) {
		iw_fail(&why, IW_E_NOMEM, "no memory for a path");
		iw_xfer_fail(s->x, &why);
	}
}

/* An entry becomes the machine's next file. */
static void add_entry(struct session *s, struct iw_entry *e)
{
	struct iw_xmeta m = { .top = e->top, .name_len = e->name_len };
	struct file *f = calloc(1, sizeof(*f));
	const char *fault;
	struct iw_fault why;

	if (f)
		f->name = iw_name_terminated(e->name, e->name_len);
	if (!f || !f->name) {
		if (e->what == IW_WALKED_FILE)
			close(e->fd);
		iw_file_free(f);
		iw_fail(&why, IW_E_NOMEM, "no memory for a file");
		iw_xfer_fail(s->x, &why);
		return;
	}
	m.name = f->name;
	if (e->what == IW_WALKED_FILE) {
		f->has_src = iw_src_open(&f->src, e->fd, &e->why) == 0;
		if (!f->has_src)
			e->what = IW_WALKED_FAILED;
	} else if (e->what == IW_WALKED_STREAM) {
		iw_src_open_stream(&f->src, e->fd);
		f->has_src = true;
	}
	if (f->has_src) {
		iw_src_meta(&f->src, &m);
	} else if (e->what == IW_WALKED_DIR) {
		m.kind = IW_XFER_DIR;
		m.mode = e->mode;
	}
	fault = iw_xfer_name_fault(m.name, m.name_len);
	if (e->what == IW_WALKED_FAILED)
		iw_xfer_add_failed(s->x, &m, f, e->why.code, e->why.text, s->hub->now);
	else if (fault)
		iw_xfer_add_failed(s->x, &m, f, IW_XC_NAME, fault, s->hub->now);
	else
		iw_xfer_add(s->x, &m, f, s->hub->now);
}

static void next_file(struct session *s)
{
	struct iw_entry e;

	do
		iw_walk_next(&s->work->walk, &e);
	while (e.what == IW_WALKED_DIR &&
	       e.name_len == 0); /* the served directory itself has no name */
	if (e.what == IW_WALKED_END)
		iw_xfer_no_more(s->x, s->hub->now);
	else
		add_entry(s, &e);
}

static void next_range(struct session *s, const struct iw_xact *a)
{
	struct file *f = a->file;
	struct iw_file_fault why;
	uint64_t at, len;
	bool last;

	if (iw_src_next_data(&f->src, a->off, &at, &len, &last, &why) != 0)
		iw_xfer_file_failed(s->x, a->id, why.code, why.text, s->hub->now);
	else
		iw_xfer_range(s->x, a->id, at, len, last);
}

uint64_t iw_source_load(struct session *s, const struct iw_xact *a)
{
	struct work *w = s->work;
	struct file *f = a->file;
	struct iw_file_fault why;
	struct iw_xloaded l;
	int r;

	s->name = f->name;
	w->load = *a;
	w->load_waits = !iw_session_slot(s, a->slot);
	if (w->load_waits) {
		if (iw_list_empty(&s->starved))
			iw_list_add_tail(&s->hub->starved, &s->starved);
		return 0;
	}
	r = iw_src_load(&f->src, &w->hasher, a->off, (uint32_t)a->len, w->slot[a->slot], &l, &why);
	w->load_waits = r == 1;
	if (f->src.stream)
		iw_hub_watch_in(s->hub, r == 1 ? f->src.fd : -1);
	if (r < 0)
		iw_xfer_file_failed(s->x, a->id, why.code, why.text, s->hub->now);
	else if (r == 0)
		iw_xfer_loaded(s->x, a->slot, &l, s->hub->now);
	return r == 1 ? 0 : IW_MAX(a->len, (uint64_t)1);
}

static void finish(struct session *s, const struct iw_xact *a)
{
	struct file *f = a->file;
	struct iw_file_fault why;
	struct iw_xdigest digest;

	if (iw_src_finish(&f->src, &s->work->hasher, a->size, &digest, &why) != 0)
		iw_xfer_file_failed(s->x, a->id, why.code, why.text, s->hub->now);
	else
		iw_xfer_finished(s->x, a->id, &digest, s->hub->now);
}

uint64_t iw_source_act(struct session *s, const struct iw_xact *a)
{
	struct iw_fault why;

	if (!iw_session_work(s)) {
		why = s->fault;
		if (!why.err)
			iw_fail(&why, IW_E_NOMEM, "no memory for a transfer");
		iw_xfer_fail(s->x, &why);
		return 0;
	}
	switch (a->type) {
	case IW_XACT_PATH:
		take_path(s, a);
		return 0;
	case IW_XACT_NEXT_FILE:
		next_file(s);
		return 0;
	case IW_XACT_NEXT_RANGE:
		next_range(s, a);
		return 0;
	case IW_XACT_LOAD:
		return iw_source_load(s, a);
	case IW_XACT_FINISH:
		finish(s, a);
		return 0;
	default:
		return 0;
	}
}
