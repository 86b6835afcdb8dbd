/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A second thread for what waits for files: digests and writes go on there while the first one talks to the network.
 *
 * Threads: all functions are the first thread's; a task belongs to the worker from iw_worker_give until it is taken. Tasks are run one
 * after the other in the order in which they were given, and come back in that order. Where no thread can be had they are run at once.
 */
#ifndef IW_FILE_WORKER_H
#define IW_FILE_WORKER_H

#include <pthread.h>
#include <stdbool.h>

#include "util/list.h"
#include "util/num.h"

struct iw_task {
	struct iw_list link;
	void (*run)(struct iw_task *t); /* in the worker */
};

struct iw_worker {
	pthread_t thread;
	bool tried, there; /* to start the thread; it runs */
	pthread_mutex_t lock;
	pthread_cond_t given, finished;
	struct iw_list todo, done; /* under the lock, as is what follows */
	bool stop, asleep;
	int fd; /* readable while done is not empty */
};

/* -1: no descriptor, errno says why. Costs no thread until there is a task. */
int iw_worker_init(struct iw_worker *w);
/* Runs what was given before. Nothing may be left to be taken that is waited for. */
void iw_worker_fini(struct iw_worker *w);
/* Readable when there is something to be taken. */
static inline int iw_worker_fd(const struct iw_worker *w)
{
	return w->fd;
}
/* t is kept until it is taken. */
void iw_worker_give(struct iw_worker *w, struct iw_task *t);
/* The next one that has been run; NULL: none. */
struct iw_task *iw_worker_take(struct iw_worker *w);
/* The same, but waits for it. There must be one. */
struct iw_task *iw_worker_await(struct iw_worker *w);

#endif
