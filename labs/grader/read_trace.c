/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "labs/grader/read_internal.h"
bool read_trace(struct lab_run *run, const char *path) { (void)path; return lab_fail(run, "todo"); }
int read_speed(struct lab_run *run, struct lab_speed *results, size_t cap) { (void)run; (void)results; (void)cap; return -1; }
