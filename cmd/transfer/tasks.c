// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Tasks of transfers in the worker. The last task of a transfer closes it. */
#include <stdlib.h>
#include <unistd.h>

#include "transfer/internal.h"

#define SWEEP       IW_SEC(2) /* the time for one directory */
#define SWEEPS_MOST 256       /* queued directories: each is an open descriptor */

void iw_session_file_free(struct file *f)
{
	if (!f)
		return;
	iw_hub_count_closed(f);
	if (f->has_src)
		iw_src_close(&f->src);
	else
		iw_src_again(&f->src);
	iw_packer_free(f->pack);
	if (f->packed)
		iw_pack_sink_close(f->packed);
	if (f->has_hasher)
		iw_hasher_fini(&f->hasher);
	free(f->packed);
	free(f->text);
	free(f->operand);
	free(f->to);
	free(f->xattr);
	free(f->name);
	free(f);
}

static void free_files(struct iw_list *l)
{
	struct iw_list *i;

	while ((i = iw_list_first(l)) != NULL) {
		iw_list_del(i);
		iw_session_file_free(iw_container_of(i, struct file, link));
	}
}

void iw_group_queue(struct group *g, struct iw_lane *lane, struct iw_task *t)
{
	g->tasks++;
	g->hub->tasks++;
	iw_worker_queue(&g->hub->worker, lane, t);
}

struct group_task *iw_group_task_new(struct group *g, struct session *s)
{
	struct group_task *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->group = g;
	e->s = s;
	iw_list_init(&e->of);
	iw_missing_init(&e->returned);
	iw_missing_init(&e->missing);
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
	iw_group_free_shares(g);
	iw_session_file_free(g->split);
	iw_packer_free(g->pack);
	iw_group_task_free(g->close);
	free(g->store);
	iw_group_settle(g);
	free(g);
}

static void measure_free(struct group *g)
{
	if (!g->measure)
		return;
	iw_walk_fini(&g->measure->walk);
	iw_links_fini(&g->measure->links);
	free(g->measure);
	g->measure = NULL;
}

/*
 * In the worker: may remove temporaries, close many directories, and free the records of many
 * files.
 */
static void close_now(struct iw_task *t)
{
	struct group *g = iw_container_of(t, struct group_task, task)->group;

	if (g->walk)
		iw_walk_fini(g->walk);
	free(g->walk);
	g->walk = NULL;
	measure_free(g);
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

void iw_group_close(struct group *g)
{
	g->close->task = (struct iw_task){ .run = close_now, .back = close_back };
	iw_group_queue(g, &g->names, &g->close->task);
}

void iw_group_task_done(struct group *g)
{
	g->hub->tasks--;
	if (--g->tasks == 0 && g->over)
		iw_group_close(g);
}

void iw_group_end_question(struct group *g)
{
	if (g->answer_by == 0)
		return;
	g->answer_by = 0;
	g->hub->questions--;
	iw_hub_closed(g->hub);
}

void iw_hub_create_again(struct file *f)
{
	iw_list_del(&f->link);
	f->tries = f->group->hub->closing > 0 && f->tries > 0 ? f->tries - 1 : 0;
	f->tasks++;
	iw_group_queue(f->group, &f->group->names, &f->task);
}

void iw_hub_closed(struct hub *h)
{
	struct iw_list now, *l;

	h->closing--;
	iw_list_init(&now);
	while ((l = iw_list_first(&h->held)) != NULL) {
		iw_list_del(l);
		iw_list_add_tail(&now, l);
	}
	while ((l = iw_list_first(&now)) != NULL) {
		iw_list_del(l);
		iw_hub_create_again(iw_container_of(l, struct file, link));
	}
}

static bool stop_sweeping(void *ctx)
{
	const struct hub *h = ctx;

	return atomic_load_explicit(&h->no_sweeps, memory_order_relaxed);
}

static void sweep_now(struct iw_task *t)
{
	struct sweep *s = iw_container_of(t, struct sweep, task);

	iw_place_sweep(s->fd, &s->hub->account, s->hub->cfg->limits.max_age_ns, SWEEP,
		       stop_sweeping, s->hub);
}

static void sweep_back(struct iw_task *t)
{
	struct sweep *s = iw_container_of(t, struct sweep, task);

	s->hub->tasks--;
	s->hub->nsweeps--;
	free(s);
}

/* Directories over the limit are left to the next transfer. */
void iw_hub_sweep(struct hub *h, struct iw_place_sweep *list)
{
	while (list) {
		struct iw_place_sweep *one = list;
		struct sweep *s = h->nsweeps < SWEEPS_MOST ? malloc(sizeof(*s)) : NULL;

		list = one->next;
		if (s) {
			*s = (struct sweep){ .task = { .run = sweep_now, .back = sweep_back },
					     .hub = h,
					     .fd = one->fd };
			h->nsweeps++;
			h->tasks++;
			iw_worker_queue(&h->worker, &h->sweeps, &s->task);
		} else {
			close(one->fd);
		}
		free(one);
	}
}
