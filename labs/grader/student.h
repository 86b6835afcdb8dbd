/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The process that runs a student's module, and calls of its functions.
 *
 * The program is built from the module and labs/common/harness.c. Before it starts, it loses
 * everything but its processor time: seccomp refuses all system calls that create files, processes
 * or sockets, or that signal another process; its user is `nobody` if the grader is root; memory,
 * processor time and file sizes have limits. What it prints goes to a buffer of the grader. It can
 * answer calls on one socket. So it can give wrong results, or none; it can do no other harm.
 */
#ifndef LABS_GRADER_STUDENT_H
#define LABS_GRADER_STUDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

struct student;

struct student_cfg {
	const char *program; /* file name */
	bool sanitized; /* built with AddressSanitizer: its memory is watched instead of limited; more time */
};

/*
 * Reads the program into memory: later changes of the file have no effect. Starts no process.
 * Errors: of iw_os_fail (the file), IW_E_NOMEM.
 */
IW_MUST_CHECK int student_new(struct student **out, const struct student_cfg *cfg,
			      struct iw_fault *why);
/* Ends the process. NULL is allowed. */
void student_free(struct student *s);

/* Ends the process if it runs, and starts a new one. Error of iw_os_fail: no process, no socket. */
IW_MUST_CHECK int student_start(struct student *s, struct iw_fault *why);

enum student_end {
	STUDENT_ANSWERED,
	STUDENT_CRASHED,  /* killed by a signal */
	STUDENT_REPORTED, /* a sanitizer ended it */
	STUDENT_LEFT,     /* it ended by itself */
	STUDENT_SILENT,   /* no answer within the time; it was killed */
	STUDENT_LARGE,    /* it used too much memory; it was killed */
	STUDENT_GARBLED,  /* an answer that is longer than any of calls.c; it was killed */
};

/*
 * Sends a call and waits for the answer, at most ms milliseconds. *answer is owned by s and valid
 * until the next call. Any result but STUDENT_ANSWERED ends the process.
 */
enum student_end student_call(struct student *s, const uint8_t *call, size_t len, unsigned int ms,
			      const uint8_t **answer, size_t *answer_len);

/* After a call without an answer: a sentence, such as "crashed (SIGSEGV: ...)". Owned by s. */
const char *student_end_text(const struct student *s);
/* The last octets that the process printed, as a string. Owned by s, valid until the next call. */
const char *student_printed(const struct student *s);

#endif
