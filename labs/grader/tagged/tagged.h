/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lab 2: see struct lab in lab.h. */
#ifndef LABS_GRADER_TAGGED_H
#define LABS_GRADER_TAGGED_H

#include "labs/grader/lab.h"

bool tagged_trace(struct lab_run *run, const char *path);
int tagged_speed(struct lab_run *run, struct lab_speed *results, size_t cap);

#endif
