/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lab 10: the lines of raw.jsonl, each with one run of ddp-bench. */
#ifndef LABS_GRADER_MEASURE_RAW_H
#define LABS_GRADER_MEASURE_RAW_H

#include "labs/grader/lab.h"

enum {
	RAW_QUESTIONS = 5,
	RAW_PAIRS_MAX = 100,
	RAW_PAIRS_MIN = 5,
	RAW_RUNS_MAX = 2 * RAW_QUESTIONS * RAW_PAIRS_MAX,
};

struct raw_question {
	const char *name;
	const char *mode[2], *transport[2]; /* of variants a and b */
	const char *cc[2];                  /* NULL: any */
	bool loopback;
	bool offloads;        /* on for a, off for b */
	bool time;            /* the value is a time in ns, otherwise bits per second */
	uint64_t size;        /* of a message, in octets */
	const char *unit;     /* in the report */
	double value_of_unit; /* how many units of the raw value one unit of the report is */
};

extern const struct raw_question raw_questions[RAW_QUESTIONS];

struct raw_run {
	unsigned int line, question, variant; /* variant: 0 for a, 1 for b */
	uint64_t pair, start_ns, end_ns, duration_ns, window_ns, value;
	char machine[256]; /* kernel, processor and version of the program */
};

struct raw {
	struct raw_run runs[RAW_RUNS_MAX];
	size_t n;
	/* By question, variant and pair (from 0), after the order was checked. */
	uint64_t values[RAW_QUESTIONS][2][RAW_PAIRS_MAX];
	size_t pairs[RAW_QUESTIONS];
};

/* Reads and checks raw.jsonl. NULL after lab_fail(). The caller frees it. */
struct raw *raw_load(struct lab_run *run);

#endif
