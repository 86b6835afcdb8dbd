/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files that a student hands in beside the module. */
#ifndef LABS_GRADER_HANDED_IN_H
#define LABS_GRADER_HANDED_IN_H

#include "labs/grader/lab.h"

/*
 * Reads a regular file of the student's folder into text, which has cap octets, as a string. False
 * after lab_fail(): the file cannot be read, is a link, a FIFO or a device, has cap octets or more,
 * or has an octet 0.
 */
bool lab_read_file(struct lab_run *run, const char *name, char *text, size_t cap);

#endif
