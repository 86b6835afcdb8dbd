// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Lanes, threads, one lock, and a descriptor for the first thread's event loop. */
#include "transfer/files/worker.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* Bytes. Removing a tree recurses once per directory level. */
#define STACK (1u << 20)

int iw_worker_init(struct iw_worker *w)
{
	pthread_condattr_t attr;

	*w = (struct iw_worker){ .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	if (w->fd < 0)
		return -1;
	iw_list_init(&w->lanes);
	iw_list_init(&w->done);
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->given, NULL);
	pthread_cond_init(&w->finished, &attr);
	pthread_condattr_destroy(&attr);
	return 0;
}

void iw_lane_init(struct iw_lane *l)
{
	*l = (struct iw_lane){ .busy = false };
	iw_list_init(&l->link);
	iw_list_init(&l->todo);
}

/* Makes the descriptor readable. */
static void ring(const struct iw_worker *w)
{
	static const uint64_t one = 1;

	/* Fails only if the descriptor is readable already. */
	if (write(w->fd, &one, sizeof(one)) < 0)
		return;
}

/* Makes the descriptor unreadable. */
static void silence(const struct iw_worker *w)
{
	uint64_t count;

	/* Fails only if the counter is 0 already. */
	if (read(w->fd, &count, sizeof(count)) < 0)
		return;
}

static struct iw_task *first_task(struct iw_list *list)
{
	struct iw_list *l = iw_list_first(list);

	if (!l)
		return NULL;
	iw_list_del(l);
	return iw_container_of(l, struct iw_task, link);
}

static void queue_lane(struct iw_worker *w, struct iw_lane *l)
{
	iw_list_add_tail(&w->lanes, &l->link);
	w->waiting++;
}

static void put_done(struct iw_worker *w, struct iw_task *t)
{
	bool first = iw_list_empty(&w->done);

	iw_list_add_tail(&w->done, &t->link);
	if (!first)
		return;
	ring(w);
	pthread_cond_signal(&w->finished);
}

/*
 * Runs one task of the lane that has waited longest. A lane with more tasks is queued after the
 * others.
 */
static void run_one(struct iw_worker *w)
{
	struct iw_lane *l = iw_container_of(iw_list_first(&w->lanes), struct iw_lane, link);
	struct iw_task *t;

	iw_list_del(&l->link);
	w->waiting--;
	t = first_task(&l->todo);
	l->busy = true;
	pthread_mutex_unlock(&w->lock);
	t->run(t);
	pthread_mutex_lock(&w->lock);
	l->busy = false;
	if (!iw_list_empty(&l->todo))
		queue_lane(w, l);
	/* Now the first thread may take t, and free t and l. */
	put_done(w, t);
}

static void *work(void *ctx)
{
	struct iw_worker *w = ctx;

	pthread_mutex_lock(&w->lock);
	for (;;) {
		while (!iw_list_empty(&w->lanes))
			run_one(w);
		if (w->stop)
			break;
		w->idle++;
		pthread_cond_wait(&w->given, &w->lock);
		w->idle--;
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* The first thread handles all signals. */
static void start(struct iw_worker *w)
{
	pthread_t *thread = &w->thread[w->threads];
	sigset_t all, before;
	pthread_attr_t attr;

	sigfillset(&all);
	if (pthread_attr_init(&attr) != 0)
		return;
	(void)pthread_attr_setstacksize(&attr, STACK);
	if (pthread_sigmask(SIG_SETMASK, &all, &before) == 0) {
		if (pthread_create(thread, &attr, work, w) == 0)
			w->threads++;
		(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	pthread_attr_destroy(&attr);
}

void iw_worker_queue(struct iw_worker *w, struct iw_lane *l, struct iw_task *t)
{
	iw_list_init(&t->link);
	t->lane = l;
	pthread_mutex_lock(&w->lock);
	/* A woken thread that does not run yet counts as idle; it will take another lane. */
	if (!w->none && !l->busy && w->waiting + iw_list_empty(&l->link) > w->idle &&
	    w->threads < IW_WORKERS)
		start(w);
	w->none = w->threads == 0;
	if (w->none) {
		pthread_mutex_unlock(&w->lock);
		t->run(t);
		pthread_mutex_lock(&w->lock);
		put_done(w, t);
	} else {
		iw_list_add_tail(&l->todo, &t->link);
		if (!l->busy && iw_list_empty(&l->link))
			queue_lane(w, l);
		if (w->idle > 0 && w->waiting > 0)
			pthread_cond_signal(&w->given);
	}
	pthread_mutex_unlock(&w->lock);
}

static struct iw_task *take(struct iw_worker *w)
{
	struct iw_task *t = first_task(&w->done);

	if (t && iw_list_empty(&w->done))
		silence(w);
	return t;
}

struct iw_task *iw_worker_take(struct iw_worker *w)
{
	struct iw_task *t;

	pthread_mutex_lock(&w->lock);
	t = take(w);
	pthread_mutex_unlock(&w->lock);
	return t;
}

struct iw_task *iw_worker_await(struct iw_worker *w, uint64_t timeout_ns)
{
	struct timespec until;
	struct iw_task *t;

	clock_gettime(CLOCK_MONOTONIC, &until);
	timeout_ns += (uint64_t)until.tv_nsec;
	until.tv_sec += (time_t)(timeout_ns / IW_SEC(1));
	until.tv_nsec = (long)(timeout_ns % IW_SEC(1));
	pthread_mutex_lock(&w->lock);
	while (iw_list_empty(&w->done) &&
	       pthread_cond_timedwait(&w->finished, &w->lock, &until) == 0)
		;
	t = take(w);
	pthread_mutex_unlock(&w->lock);
	return t;
}

void iw_worker_fini(struct iw_worker *w)
{
	if (w->fd < 0)
		return;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_broadcast(&w->given);
	pthread_mutex_unlock(&w->lock);
	for (unsigned i = 0; i < w->threads; i++)
		(void)pthread_join(w->thread[i], NULL);
	pthread_cond_destroy(&w->finished);
	pthread_cond_destroy(&w->given);
	pthread_mutex_destroy(&w->lock);
	close(w->fd);
	w->fd = -1;
}
