// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sums the sizes of all files to be sent, for the progress line. A second walk runs ahead of the
 * one that finds the files; its tasks have their own lane.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "transfer/internal.h"

/* The task for one path. Owned by the worker until it is done. */
struct step {
	struct group_task e;
	uint64_t octets; /* of this path and the ones before it */
	bool known;
};

static struct measure *measure_new(const struct group *g)
{
	struct measure *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	iw_walk_init(&m->walk, g->initiator ? AT_FDCWD : g->hub->root);
	m->walk.filter = &g->hub->cfg->filter;
	return m;
}

static void add(struct measure *m, const struct iw_entry *e)
{
	bool first = true;

	if (e->what == IW_WALKED_STREAM)
		m->unknown = true;
	if (e->what != IW_WALKED_FILE)
		return;
	/* Further hard links are sent as links, without data. */
	if (!e->top && e->st.st_nlink > 1)
		m->unknown |= !iw_links_get(&m->links, &e->st, "", 0, &first);
	if (first)
		m->octets += (uint64_t)e->st.st_size;
	if (e->fd >= 0)
		close(e->fd);
}

static void measure_now(struct iw_task *t)
{
	struct step *o = iw_container_of(t, struct step, e.task);
	struct group *g = o->e.group;
	struct measure *m = g->measure ? g->measure : (g->measure = measure_new(g));
	struct iw_entry e = { .what = IW_WALKED_FILE };

	if (!m)
		return;
	if (iw_walk_add(&m->walk, o->e.text, o->e.len) != 0)
		m->unknown = true;
	while (e.what != IW_WALKED_END &&
	       !atomic_load_explicit(&g->no_measure, memory_order_relaxed)) {
		iw_walk_next(&m->walk, &e);
		add(m, &e);
	}
	o->octets = m->octets;
	o->known = !m->unknown;
}

static void report_total(const struct group *g)
{
	struct hub *h = g->hub;

	if (g->initiator)
		h->total_hint = g->measured;
	for (struct iw_list *l = h->sessions.next; l != &h->sessions; l = l->next) {
		struct session *s = iw_container_of(l, struct session, all);

		if (s->group != g || !s->x)
			continue;
		iw_xfer_total(s->x, g->measured, g->paths);
		iw_session_make_ready(s);
	}
}

static void measure_back(struct iw_task *t)
{
	struct step *o = iw_container_of(t, struct step, e.task);
	struct group *g = o->e.group;

	g->measured = o->octets;
	g->measured_paths += o->known;
	if (g->measured_paths == g->paths && !g->over)
		report_total(g);
	iw_group_task_free(&o->e);
	iw_group_task_done(g);
}

void iw_source_measure(struct group *g, const char *path, size_t len)
{
	struct step *o = calloc(1, sizeof(*o));

	/* Without memory the total is not shown. */
	if (!o)
		return;
	o->e.group = g;
	iw_list_init(&o->e.of);
	o->e.text = iw_name_terminated(path, len);
	o->e.len = len;
	if (!o->e.text) {
		iw_group_task_free(&o->e);
		return;
	}
	o->e.task = (struct iw_task){ .run = measure_now, .back = measure_back };
	iw_group_queue(g, &g->measures, &o->e.task);
}
