/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a lab consists of, and what its steps use to judge a student's module.
 *
 * The module runs in a process of its own (student.h), which cannot change files, use the network,
 * or reach other processes. A step calls its functions there and compares the results with those
 * that the engine of this project gives. So the expected values exist only in the grader.
 *
 * A step runs one or more cases: first fixed ones, then cases from lab_random(). It ends at its
 * first wrong result, and gives either all of its points or none. Each step has a new process of
 * the student, so no step depends on an earlier one.
 *
 *	static bool pad(struct lab_run *run)
 *	{
 *		for (size_t len = 1; len <= 8; len++) {
 *			struct lab_octets seen;
 *
 *			lab_case(run, "a ULPDU of %zu octets", len);
 *			lab_call(run, "fpdu_build");
 *			lab_put_octets(run, ulpdu, len);
 *			if (!lab_run_call(run))
 *				return false;
 *			seen = lab_get_octets(run);
 *			if (!lab_expect_octets(run, "the FPDU", expected, expected_len, seen.at, seen.len))
 *				return false;
 *		}
 *		return true;
 *	}
 */
#ifndef LABS_GRADER_LAB_H
#define LABS_GRADER_LAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lab_run;

enum lab_needs {
	LAB_NEEDS_ROOT =
		1, /* the step needs CAP_BPF and CAP_NET_ADMIN; without them it gives no points */
};

struct lab_step {
	const char *name;    /* one word, as in the lab's README and wrong.tsv */
	const char *about;   /* what the module must do, in a few words */
	unsigned int points; /* all steps of a lab together: 100 */
	const char *clause;  /* the rule, such as "RFC 5044 4.1" */
	unsigned int needs;  /* enum lab_needs */
	bool (*run)(struct lab_run *run);
};

/* Result of a speed test. Both did the same work, in the same run; the data were compared. */
struct lab_speed {
	const char *what;     /* such as "FPDUs of 1,448 octets, built" */
	const char *unit;     /* such as "Gb/s" */
	double student, ours; /* in this unit, more is better */
};

struct lab {
	unsigned int number; /* 1 to 10 */
	const char *folder;  /* such as "01-framing" */
	const char *title;
	const struct lab_step *steps; /* ended by a name of NULL */
	/*
	 * Runs a conversation of the module and writes it as a capture or as JSON lines of a trace,
	 * which scripts/plot draws. Returns false after lab_fail().
	 */
	bool (*trace)(struct lab_run *run, const char *path);
	/* Measures at most `cap` things. Returns their number, or -1 after lab_fail(). */
	int (*speed)(struct lab_run *run, struct lab_speed *results, size_t cap);
};

extern const struct lab lab_framing, lab_tagged, lab_untagged, lab_read, lab_startup, lab_security,
	lab_sctp, lab_capture, lab_xdp, lab_measure;

/* --- cases ----------------------------------------------------------------------------------- */

/* Numbers from the seed, the lab and the step: the same in every run. lab_below: 0 to n - 1. */
uint64_t lab_random(struct lab_run *run);
uint64_t lab_below(struct lab_run *run, uint64_t n);
void lab_fill(struct lab_run *run, void *dst, size_t len);

/* Describes the present case; printed before a failure in it. */
void lab_case(struct lab_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The rule of the present case, if it is not the one of the step; NULL: that of the step. */
void lab_clause(struct lab_run *run, const char *clause);

/* The folder with the student's files, for labs that grade more than a module. */
const char *lab_folder(const struct lab_run *run);

/* --- calls of the module --------------------------------------------------------------------- */

/*
 * A call of a function in calls.c: begin it, append its arguments, run it, read its results.
 * Arguments and results have no fixed limit below 64 MiB.
 */
void lab_call(struct lab_run *run, const char *function);
/* As lab_call(), for a helper in calls.c: a failure names the call before, which the student knows. */
void lab_help(struct lab_run *run, const char *function);
void lab_put_u8(struct lab_run *run, uint8_t v);
void lab_put_u16(struct lab_run *run, uint16_t v);
void lab_put_u32(struct lab_run *run, uint32_t v);
void lab_put_u64(struct lab_run *run, uint64_t v);
void lab_put_octets(struct lab_run *run, const void *octets, size_t len);
/*
 * Runs it. False if the process crashed, was stopped by a sanitizer, left, or did not answer in
 * time (4 s; lab_run_call_within: as given); the failure is then recorded. Results that the student
 * changed so that they cannot be read make the lab_get_ functions give zeros, and lab_results_end()
 * false.
 */
bool lab_run_call(struct lab_run *run);
bool lab_run_call_within(struct lab_run *run, unsigned int ms);

struct lab_octets {
	const uint8_t *at; /* valid until the next lab_call() */
	size_t len;
};

uint8_t lab_get_u8(struct lab_run *run);
uint16_t lab_get_u16(struct lab_run *run);
uint32_t lab_get_u32(struct lab_run *run);
uint64_t lab_get_u64(struct lab_run *run);
struct lab_octets lab_get_octets(struct lab_run *run);
/* True if all results were read, and nothing was missing. Otherwise records a failure. */
bool lab_results_end(struct lab_run *run);

/*
 * Blocks that the module has allocated and not freed. Take the number at the begin, and pass it to
 * lab_expect_freed() at the end.
 */
bool lab_allocated(struct lab_run *run, uint64_t *blocks);
bool lab_expect_freed(struct lab_run *run, uint64_t before);

/* A new process of the student: the module's variables have their first values again. */
bool lab_restart(struct lab_run *run);

/* --- verdicts: each returns true if as expected, otherwise records the failure and returns false - */

bool lab_fail(struct lab_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* what: such as "the FPDU". Prints both, and the first octet that differs. */
bool lab_expect_octets(struct lab_run *run, const char *what, const void *expected,
		       size_t expected_len, const void *seen, size_t seen_len);
bool lab_expect_number(struct lab_run *run, const char *what, uint64_t expected, uint64_t seen);
/* Numbers with names, such as results of functions. names[i] is the name of i. */
bool lab_expect_name(struct lab_run *run, const char *what, const char *const *names, size_t n,
		     uint64_t expected, uint64_t seen);
bool lab_expect_true(struct lab_run *run, bool is, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* --- measuring --------------------------------------------------------------------------------- */

/* Monotonic time in nanoseconds. */
uint64_t lab_now(void);

#endif
