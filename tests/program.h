/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the test programs of one file each (tests/crowd, connects, parallel_streams, sessions,
 * setups): errors that end the program, numbers in arguments, queue pairs, and SIGTERM. Messages
 * begin with the name of the program.
 */
#ifndef TESTS_PROGRAM_H
#define TESTS_PROGRAM_H

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <iwarp/verbs.h>

#include "cli/parse.h"

/* Exit statuses, beside 0 and 1. */
enum { PROGRAM_USAGE = 2, PROGRAM_CANNOT_RUN = 4 };

/* The first failures of a run are printed, not all of them. */
enum { FAILURES_SHOWN = 5 };

/* Set by SIGTERM after end_on_sigterm(). */
static volatile sig_atomic_t stopped;

/* Prints "PROGRAM: WHAT: WHY" and exits with PROGRAM_CANNOT_RUN. */
static inline _Noreturn void die(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
	exit(PROGRAM_CANNOT_RUN);
}

/* Returns the number in text, from 1 to max. Exits with PROGRAM_USAGE if it is not such a number. */
static inline uint64_t number(const char *text, uint64_t max)
{
	const char *why;
	uint64_t v;

	if (iw_parse_u64(&v, text, 1, max, &why) == 0)
		return v;
	fprintf(stderr, "%s: \"%s\": %s\n", program_invocation_short_name, text, why);
	exit(PROGRAM_USAGE);
}

/*
 * Returns a queue pair whose two completion queues are cq. The caller frees it. Ends the program if
 * it cannot be created.
 */
static inline struct iw_qp *make_qp(struct iw_pd *pd, struct iw_cq *cq, void *user)
{
	struct iw_qp_attr attr = {
		.size = sizeof(attr), .send_cq = cq, .recv_cq = cq, .user = user
	};
	struct iw_fault why;
	struct iw_qp *qp;

	if (iw_qp_new(&qp, pd, &attr, &why) != 0)
		die("queue pair", why.text);
	return qp;
}

static inline void on_sigterm(int signal_number)
{
	(void)signal_number;
	stopped = 1;
}

/* From now on SIGTERM sets `stopped` and ends a wait in a system call. */
static inline void end_on_sigterm(void)
{
	struct sigaction action = { .sa_handler = on_sigterm }; /* no SA_RESTART */

	sigaction(SIGTERM, &action, NULL);
}

#endif
