/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A capture for `make trace`: one TCP connection between 10.0.0.1, the initiator, and 10.0.0.2. It
 * begins with MPA's start-up (revision 1, CRC), so that ddp-dump and scripts/plot decode it.
 */
#ifndef LABS_GRADER_PICTURE_H
#define LABS_GRADER_PICTURE_H

#include "labs/grader/lab.h"

struct lab_picture;

enum lab_side { LAB_INITIATOR, LAB_RESPONDER };

/* Creates the file. Returns NULL after lab_fail(). startup: writes MPA's Request and Reply. */
struct lab_picture *lab_picture_new(struct lab_run *run, const char *path, bool startup);
/* Octets of the stream that this side has sent. */
void lab_picture_octets(struct lab_picture *p, enum lab_side from, const void *octets, size_t len);
/* An FPDU with this ULPDU, made by the project's own code. len: at most 64768. */
void lab_picture_ulpdu(struct lab_picture *p, enum lab_side from, const void *ulpdu, size_t len);
/* Closes the file, and frees p. Returns false after lab_fail(). */
bool lab_picture_close(struct lab_run *run, struct lab_picture *p);

#endif
