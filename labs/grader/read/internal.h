/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lab 4: what its files share. */
#ifndef LABS_GRADER_READ_INTERNAL_H
#define LABS_GRADER_READ_INTERNAL_H

#include "labs/grader/lab.h"

/* Steps: read_responder.c and read_requester.c. */
bool read_response_step(struct lab_run *run);
bool read_queue_step(struct lab_run *run);
bool read_post_step(struct lab_run *run);
bool read_place_step(struct lab_run *run);
bool read_limits_step(struct lab_run *run);
bool read_completion_step(struct lab_run *run);
bool read_errors_step(struct lab_run *run);

/* read_trace.c and read_speed.c: see struct lab. */
bool read_trace(struct lab_run *run, const char *path);
int read_speed(struct lab_run *run, struct lab_speed *results, size_t cap);

#endif
