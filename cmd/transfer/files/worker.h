/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads for work that waits for storage: opening, writing, digests. Meanwhile the first thread
 * serves the network.
 *
 * A lane is a queue of tasks. The tasks of one lane run one at a time, in the order in which they
 * were given. The tasks of different lanes run at the same time, on up to IW_WORKERS threads, which
 * start on demand. Each task returns to the first thread when it has run.
 *
 * Threads: all functions are the first thread's. A task, and what its run function touches, belongs
 * to the worker from iw_worker_queue until iw_worker_take or iw_worker_await returns the task. If
 * no thread can be started, iw_worker_queue runs the task itself.
 */
#ifndef IW_TRANSFER_FILES_WORKER_H
#define IW_TRANSFER_FILES_WORKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/list.h"
#include "util/num.h"

/* So many lanes may wait for storage without delaying another lane. */
#define IW_WORKERS 16

/* A lane may be freed when the worker has none of its tasks. */
struct iw_lane {
	struct iw_list link; /* in the worker's list, while it has tasks and none of them runs */
	struct iw_list todo;
	bool busy; /* one of its tasks is running */
};

struct iw_task {
	struct iw_list link;
	struct iw_lane *lane;
	void (*run)(struct iw_task *t);  /* in the worker */
	void (*back)(struct iw_task *t); /* called by the caller of iw_worker_take */
};

struct iw_worker {
	pthread_t thread[IW_WORKERS];
	unsigned threads;
	bool none; /* no thread can be started */
	pthread_mutex_t lock;
	pthread_cond_t given, finished;
	/* Under the lock: */
	struct iw_list lanes, done;
	unsigned waiting; /* lanes in that list */
	unsigned idle;    /* threads without a task */
	bool stop;
	int fd; /* readable while done is not empty */
};

/* Prepares *w without starting a thread. -1: no descriptor; errno is set. */
int iw_worker_init(struct iw_worker *w);
/*
 * Runs all queued tasks, then ends the threads. Does nothing if iw_worker_init failed, or w->fd is
 * -1.
 */
void iw_worker_fini(struct iw_worker *w);
/* Returns a descriptor, owned by w, that is readable while a task can be taken. */
static inline int iw_worker_fd(const struct iw_worker *w)
{
	return w->fd;
}
void iw_lane_init(struct iw_lane *l);
/* Queues t in l. Both are borrowed until t is taken. */
void iw_worker_queue(struct iw_worker *w, struct iw_lane *l, struct iw_task *t);
/* Returns the next task that has run; NULL: none. */
struct iw_task *iw_worker_take(struct iw_worker *w);
/* The same, but waits for one, at most timeout_ns. */
struct iw_task *iw_worker_await(struct iw_worker *w, uint64_t timeout_ns);

#endif
