/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lab 6: a table of the student, and the same registrations in the STag table of the engine. */
#ifndef LABS_GRADER_SECURITY_TWIN_H
#define LABS_GRADER_SECURITY_TWIN_H

#include "ddp/stag.h"
#include "labs/06-security/security.h"
#include "labs/grader/lab.h"

enum { TWIN_MAX = 1024 /* registrations */ };

struct twin_entry {
	uint32_t stag;   /* of the student's table */
	uint32_t engine; /* the same registration in the engine's */
	struct region region;
};

/* A table of the student, and what it must contain. */
struct twin {
	struct lab_run *run;
	struct iw_stag_table *engine;
	struct twin_entry live[TWIN_MAX];
	size_t n;
};

/*
 * The engine's table wants memory for its regions; their positions are relative to this. No octet of
 * it is used.
 */
extern uint8_t twin_ground[1];

/*
 * Functions that return bool return false after lab_fail(). The table in the student's process is
 * the one that twin_new() made last; twin_free() frees only the grader's part.
 */
struct twin *twin_new(struct lab_run *run, uint32_t capacity);
void twin_free(struct twin *t);
/* Frees the table of the student. */
bool twin_close(struct lab_run *run);

/* Registers a buffer in both. random() returns the n words first. */
bool twin_add_with(struct twin *t, const struct region *r, const uint32_t *words, size_t n);
bool twin_add(struct twin *t, const struct region *r);
/* The registration must be refused. why: the end of "though ...". */
bool twin_expect_full(struct twin *t, const struct region *r, const char *why);
/* NULL: not registered. */
struct twin_entry *twin_find(struct twin *t, uint32_t stag);
/* The student's table no longer has this registration, which exists. */
void twin_forget(struct twin *t, uint32_t stag);

/* An access to all of the buffer, with what is needed for it. */
struct access twin_proper(const struct twin_entry *e);
/* Compares the verdicts. about: what came before, with a separator at its end, or "". */
bool twin_expect(struct twin *t, const struct access *a, const char *about);
bool twin_expect_usable(struct twin *t, const struct twin_entry *e, const char *about);

/* Calls of the student's process, or parts of them. state: of random(). */
bool twin_call_register(struct lab_run *run, const struct region *r, uint64_t state,
			const uint32_t *words, size_t n, uint32_t *stag);
void twin_put_random(struct lab_run *run, uint64_t state, const uint32_t *words, size_t n);
void twin_put_access(struct lab_run *run, const struct access *a);

#endif
