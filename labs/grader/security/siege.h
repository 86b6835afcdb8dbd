/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lab 6: an attack of the student on the careless server, which runs here. */
#ifndef LABS_GRADER_SECURITY_SIEGE_H
#define LABS_GRADER_SECURITY_SIEGE_H

#include "labs/06-security/scenario.h"
#include "labs/grader/lab.h"

enum { SIEGE_LOG = 3 /* requests that a failure describes */ };

/* What sees each request and its answer: the trace. */
struct watcher {
	void (*see)(void *ctx, const struct request *q, const struct reply *r);
	void *ctx;
};

/* One attack in progress. */
struct siege {
	struct lab_run *run;
	struct scenario scenario;
	const struct watcher *watcher; /* may be NULL */
	char log[SIEGE_LOG][96];
	unsigned int logged;
	bool returned, found, intact;
	uint8_t secret[SECRET_LEN]; /* that the attack has brought */
};

/*
 * Runs an attack until it returns; s has run and watcher, and is zero otherwise. Returns false after
 * lab_fail(). No failure shows the secret: the same seed gives the same secret again.
 */
bool siege_run(struct siege *s, enum attack attack, unsigned int variant);
/* lab_fail(), with the last requests and their answers. */
bool siege_fail(struct siege *s, const char *what);

#endif
