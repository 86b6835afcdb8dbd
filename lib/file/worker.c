// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The second thread: two lists, a lock, and a descriptor for the first one's event loop. */
#include "file/worker.h"

#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

int iw_worker_init(struct iw_worker *w)
{
	*w = (struct iw_worker){ .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	if (w->fd < 0)
		return -1;
	iw_list_init(&w->todo);
	iw_list_init(&w->done);
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->given, NULL);
	pthread_cond_init(&w->finished, NULL);
	return 0;
}

static void ring(const struct iw_worker *w)
{
	static const uint64_t one = 1;

	/* It can only fail when it rings already. */
	if (write(w->fd, &one, sizeof(one)) < 0)
		return;
}

static void silence(const struct iw_worker *w)
{
	uint64_t count;

	/* Nothing in it is as good as something. */
	if (read(w->fd, &count, sizeof(count)) < 0)
		return;
}

static void *work(void *ctx)
{
	struct iw_worker *w = ctx;
	struct iw_list *l;

	pthread_mutex_lock(&w->lock);
	for (;;) {
		while ((l = iw_list_first(&w->todo)) != NULL) {
			struct iw_task *t = iw_container_of(l, struct iw_task, link);
			bool first;

			iw_list_del(l);
			pthread_mutex_unlock(&w->lock);
			t->run(t);
			pthread_mutex_lock(&w->lock);
			first = iw_list_empty(&w->done);
			iw_list_add_tail(&w->done, &t->link);
			if (first) {
				ring(w);
				pthread_cond_signal(&w->finished);
			}
		}
		if (w->stop)
			break;
		w->asleep = true;
		pthread_cond_wait(&w->given, &w->lock);
		w->asleep = false;
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* Signals are the first thread's. */
static void start(struct iw_worker *w)
{
	sigset_t all, before;

	w->tried = true;
	sigfillset(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
		return;
	w->there = pthread_create(&w->thread, NULL, work, w) == 0;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void iw_worker_give(struct iw_worker *w, struct iw_task *t)
{
	if (!w->tried)
		start(w);
	iw_list_init(&t->link);
	if (!w->there) {
		t->run(t);
		if (iw_list_empty(&w->done))
			ring(w);
		iw_list_add_tail(&w->done, &t->link);
		return;
	}
	pthread_mutex_lock(&w->lock);
	iw_list_add_tail(&w->todo, &t->link);
	if (w->asleep)
		pthread_cond_signal(&w->given);
	pthread_mutex_unlock(&w->lock);
}

static struct iw_task *take(struct iw_worker *w)
{
	struct iw_list *l = iw_list_first(&w->done);

	if (!l)
		return NULL;
	iw_list_del(l);
	if (iw_list_empty(&w->done))
		silence(w);
	return iw_container_of(l, struct iw_task, link);
}

struct iw_task *iw_worker_take(struct iw_worker *w)
{
	struct iw_task *t;

	if (!w->tried)
		return NULL;
	pthread_mutex_lock(&w->lock);
	t = take(w);
	pthread_mutex_unlock(&w->lock);
	return t;
}

struct iw_task *iw_worker_await(struct iw_worker *w)
{
	struct iw_task *t;

	pthread_mutex_lock(&w->lock);
	while (w->there && iw_list_empty(&w->done))
		pthread_cond_wait(&w->finished, &w->lock);
	t = take(w);
	pthread_mutex_unlock(&w->lock);
	return t;
}

void iw_worker_fini(struct iw_worker *w)
{
	if (w->fd < 0)
		return;
	if (w->there) {
		pthread_mutex_lock(&w->lock);
		w->stop = true;
		pthread_cond_signal(&w->given);
		pthread_mutex_unlock(&w->lock);
		(void)pthread_join(w->thread, NULL);
	}
	pthread_cond_destroy(&w->finished);
	pthread_cond_destroy(&w->given);
	pthread_mutex_destroy(&w->lock);
	close(w->fd);
	w->fd = -1;
}
