/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lab 6: what its files have in common. */
#ifndef LABS_GRADER_SECURITY_INTERNAL_H
#define LABS_GRADER_SECURITY_INTERNAL_H

#include "labs/06-security/security.h"
#include "labs/grader/lab.h"

/* Names of enum verdict. */
enum { SECURITY_VERDICTS = CANNOT_INVALIDATE + 1 };
extern const char *const security_verdicts[SECURITY_VERDICTS];

/* The steps of the second half. */
bool security_stags(struct lab_run *run);
bool security_bounds(struct lab_run *run);
bool security_scope(struct lab_run *run);
bool security_revoke(struct lab_run *run);

/* A buffer of 256 octets, different for each i. */
struct region security_numbered(size_t i);

/* Draws attack_reuse, also if it does not succeed. */
bool security_trace(struct lab_run *run, const char *path);
int security_speed(struct lab_run *run, struct lab_speed *results, size_t cap);

#endif
