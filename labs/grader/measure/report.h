/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lab 10, the part about the student's own measurement: raw.jsonl and report.json. */
#ifndef LABS_GRADER_MEASURE_REPORT_H
#define LABS_GRADER_MEASURE_REPORT_H

#include "labs/grader/lab.h"

/* Steps: whether the raw lines are a measurement as the README describes it. */
bool measure_raw(struct lab_run *run);
/* Medians, percentiles and variation of each variant, computed again from the raw lines. */
bool measure_figures(struct lab_run *run);
/* The ratios of the pairs, and which variant is faster. */
bool measure_claims(struct lab_run *run);

#endif
