/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One run of the grader: the steps of a lab, their points and the first failure. */
#ifndef LABS_GRADER_RUN_H
#define LABS_GRADER_RUN_H

#include "labs/grader/lab.h"
#include "labs/grader/student.h"

enum { LAB_STEPS_MAX = 16 };

struct lab_failure {
	const struct lab_step *step;
	const char *clause;
	char call[64];     /* the last function called, or "" */
	char in_case[256]; /* as described by lab_case(), or "" */
	char text[512];    /* what is wrong, without the octets */
	char *expected;    /* octets as text, or NULL; owned */
	char *seen;
	long differs;       /* index of the first octet that differs, or -1 */
	char printed[4096]; /* what the module printed last */
};

enum lab_verdict { LAB_NOT_RUN, LAB_PASSED, LAB_FAILED, LAB_NEEDS };

struct lab_run_cfg {
	const struct lab *lab;
	const char *program; /* the student's */
	const char *folder;
	uint64_t seed;
	bool sanitized;
	const char *step; /* only this step; NULL: all */
};

/* Errors of student_new(). */
IW_MUST_CHECK int lab_run_new(struct lab_run **out, const struct lab_run_cfg *cfg,
			      struct iw_fault *why);
void lab_run_free(struct lab_run *run);

/*
 * Runs the steps. After two steps without an answer in time, or if the process does not even start,
 * the others are not run. Returns 0, or an error of student_start().
 */
IW_MUST_CHECK int lab_run_steps(struct lab_run *run, struct iw_fault *why);
/* Runs lab->trace, or lab->speed: with a new process, outside of any step. */
bool lab_run_trace(struct lab_run *run, const char *path);
int lab_run_speed(struct lab_run *run, struct lab_speed *results, size_t cap);
/* One conversation with another program (peer.h). */
struct peer_cfg;
bool lab_run_peer(struct lab_run *run, const struct peer_cfg *cfg);

enum lab_verdict lab_verdict(const struct lab_run *run, size_t step);
unsigned int lab_points(const struct lab_run *run); /* of 100 */
/* The points of steps that were not run because something is missing here. */
unsigned int lab_points_missing(const struct lab_run *run);
/* NULL: no step failed. */
const struct lab_failure *lab_first_failure(const struct lab_run *run);

/* The report, on standard output. */
void lab_report(const struct lab_run *run);
IW_MUST_CHECK int lab_report_json(const struct lab_run *run);
/* "45 crc": the points, and the first failing step if there is one. */
void lab_report_brief(const struct lab_run *run);
/* A failure without a step: of a trace or a measurement. On standard error. */
void lab_report_failure(const struct lab_failure *f);

/* The lab and what the command line set, for steps that need them. */
const struct lab_run_cfg *lab_cfg(const struct lab_run *run);

#endif
