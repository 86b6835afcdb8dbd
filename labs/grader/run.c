/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <linux/capability.h>

#include "labs/grader/peer/peer.h"
#include "labs/grader/run.h"
#include "util/num.h"

enum {
	CALL_MS = 4000,    /* for a call */
	START_MS = 5000,   /* for the first answer of a process */
	STEP_MS = 15000,   /* for a step */
	SILENT_STEPS = 2,  /* that end a run */
	OCTETS_SHOWN = 64, /* of a failure */
};

struct lab_run {
	struct lab_run_cfg cfg;
	struct student *student;
	const struct lab_step *step; /* running, or NULL */
	uint64_t random;             /* state */
	uint64_t step_deadline;
	enum lab_verdict verdicts[LAB_STEPS_MAX];
	struct lab_failure failure; /* the first one */
	bool failed;                /* failure is filled */
	bool silent, no_start;      /* of the present step */
	struct iw_fault fault;      /* no process could be started */
	int err;
	/* The present case and call. */
	char in_case[256], function[64];
	const char *clause;
	uint8_t *call;
	size_t call_len, call_cap;
	const uint8_t *answer;
	size_t answer_len, answer_at;
	bool answer_short;
};

uint64_t lab_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* --- cases -------------------------------------------------------------------------------------- */

/* splitmix64 */
uint64_t lab_random(struct lab_run *run)
{
	uint64_t z = run->random += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

uint64_t lab_below(struct lab_run *run, uint64_t n)
{
	return lab_random(run) % n;
}

void lab_fill(struct lab_run *run, void *dst, size_t len)
{
	uint8_t *at = dst;

	for (size_t i = 0; i < len; i += 8) {
		uint64_t v = lab_random(run);

		memcpy(at + i, &v, IW_MIN(len - i, sizeof(v)));
	}
}

/* A start of the numbers that differs for each seed, lab and step. */
static void seed_step(struct lab_run *run, size_t step)
{
	run->random = run->cfg.seed;
	run->random = lab_random(run) ^ (uint64_t)run->cfg.lab->number << 32 ^ step;
	run->random = lab_random(run);
}

void lab_case(struct lab_run *run, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(run->in_case, sizeof(run->in_case), format, args);
	va_end(args);
}

void lab_clause(struct lab_run *run, const char *clause)
{
	run->clause = clause;
}

const char *lab_folder(const struct lab_run *run)
{
	return run->cfg.folder;
}

const struct lab_run_cfg *lab_cfg(const struct lab_run *run)
{
	return &run->cfg;
}

/* --- verdicts ------------------------------------------------------------------------------------ */

/* Records the first failure. Returns true if this is the first one. */
static bool first(struct lab_run *run)
{
	struct lab_failure *f = &run->failure;

	if (run->failed)
		return false;
	run->failed = true;
	f->step = run->step;
	f->clause = run->clause ? run->clause : run->step ? run->step->clause : NULL;
	f->differs = -1;
	snprintf(f->call, sizeof(f->call), "%s", run->function);
	snprintf(f->in_case, sizeof(f->in_case), "%s", run->in_case);
	snprintf(f->printed, sizeof(f->printed), "%s", student_printed(run->student));
	return true;
}

bool lab_fail(struct lab_run *run, const char *format, ...)
{
	va_list args;

	if (!first(run))
		return false;
	va_start(args, format);
	vsnprintf(run->failure.text, sizeof(run->failure.text), format, args);
	va_end(args);
	return false;
}

static size_t first_difference(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len)
{
	size_t i = 0;

	while (i < a_len && i < b_len && a[i] == b[i])
		i++;
	return i;
}

/* Hexadecimal octets from `from` on, in a new string, or NULL. */
static char *hex(const uint8_t *octets, size_t len, size_t from)
{
	size_t end = IW_MIN(len, from + OCTETS_SHOWN), cap = 3 * OCTETS_SHOWN + 32, at = 0;
	char *text = calloc(1, cap);

	if (!text)
		return NULL;
	if (!len)
		snprintf(text, cap, "(no octets)");
	if (from)
		at += (size_t)snprintf(text, cap, "...");
	for (size_t i = from; i < end; i++)
		at += (size_t)snprintf(text + at, cap - at, "%s%02x", at ? " " : "", octets[i]);
	if (end < len)
		snprintf(text + at, cap - at, " ...");
	return text;
}

bool lab_expect_octets(struct lab_run *run, const char *what, const void *expected,
		       size_t expected_len, const void *seen, size_t seen_len)
{
	size_t differs = first_difference(expected, expected_len, seen, seen_len);
	size_t from = differs < OCTETS_SHOWN / 2 ? 0 : differs - OCTETS_SHOWN / 4;

	if (differs == expected_len && differs == seen_len)
		return true;
	if (!first(run))
		return false;
	if (differs < expected_len && differs < seen_len)
		snprintf(run->failure.text, sizeof(run->failure.text),
			 "%s is wrong at octet %zu (the first is octet 0)", what, differs);
	else
		snprintf(run->failure.text, sizeof(run->failure.text), "%s has %zu octets, not %zu",
			 what, seen_len, expected_len);
	run->failure.differs = (long)(differs - from);
	run->failure.expected = hex(expected, expected_len, from);
	run->failure.seen = hex(seen, seen_len, from);
	return false;
}

/* Two values, as text. */
static bool values(struct lab_run *run, const char *what, const char *expected, const char *seen)
{
	if (!first(run))
		return false;
	snprintf(run->failure.text, sizeof(run->failure.text), "%s is wrong", what);
	run->failure.expected = strdup(expected);
	run->failure.seen = strdup(seen);
	return false;
}

static const char *number(char text[static 64], uint64_t v)
{
	if (v < 10)
		snprintf(text, 64, "%llu", (unsigned long long)v);
	else
		snprintf(text, 64, "%llu (0x%llx)", (unsigned long long)v, (unsigned long long)v);
	return text;
}

bool lab_expect_number(struct lab_run *run, const char *what, uint64_t expected, uint64_t seen)
{
	char a[64], b[64];

	return expected == seen || values(run, what, number(a, expected), number(b, seen));
}

bool lab_expect_name(struct lab_run *run, const char *what, const char *const *names, size_t n,
		     uint64_t expected, uint64_t seen)
{
	char other[80];

	if (expected == seen)
		return true;
	snprintf(other, sizeof(other), "%llu, which is not a result of this function",
		 (unsigned long long)seen);
	return values(run, what, names[expected], seen < n && names[seen] ? names[seen] : other);
}

bool lab_expect_true(struct lab_run *run, bool is, const char *format, ...)
{
	va_list args;

	if (is || !first(run))
		return is;
	va_start(args, format);
	vsnprintf(run->failure.text, sizeof(run->failure.text), format, args);
	va_end(args);
	return false;
}

/* --- calls of the module -------------------------------------------------------------------------- */

static void append(struct lab_run *run, const void *octets, size_t len)
{
	if (run->call_len + len > run->call_cap) {
		size_t cap = (run->call_len + len) * 2;
		uint8_t *more = realloc(run->call, cap);

		if (!more)
			abort();
		run->call = more;
		run->call_cap = cap;
	}
	if (len)
		memcpy(run->call + run->call_len, octets, len);
	run->call_len += len;
}

static void append_number(struct lab_run *run, uint64_t v, size_t octets)
{
	uint8_t text[8];

	for (size_t i = 0; i < octets; i++)
		text[i] = (uint8_t)(v >> 8 * (octets - 1 - i));
	append(run, text, octets);
}

void lab_call(struct lab_run *run, const char *function)
{
	snprintf(run->function, sizeof(run->function), "%s", function);
	lab_help(run, function);
}

void lab_help(struct lab_run *run, const char *function)
{
	if (!run->function[0])
		snprintf(run->function, sizeof(run->function), "%s", function);
	run->call_len = 0;
	append_number(run, 0, 4); /* the length, set by lab_run_call_within() */
	append_number(run, strlen(function), 1);
	append(run, function, strlen(function));
}

void lab_put_u8(struct lab_run *run, uint8_t v)
{
	append_number(run, v, 1);
}

void lab_put_u16(struct lab_run *run, uint16_t v)
{
	append_number(run, v, 2);
}

void lab_put_u32(struct lab_run *run, uint32_t v)
{
	append_number(run, v, 4);
}

void lab_put_u64(struct lab_run *run, uint64_t v)
{
	append_number(run, v, 8);
}

void lab_put_octets(struct lab_run *run, const void *octets, size_t len)
{
	append_number(run, len, 4);
	append(run, octets, len);
}

bool lab_run_call_within(struct lab_run *run, unsigned int ms)
{
	size_t len = run->call_len - 4;
	enum student_end end;

	for (size_t i = 0; i < 4; i++)
		run->call[i] = (uint8_t)(len >> 8 * (3 - i));
	run->answer_len = run->answer_at = 0;
	run->answer_short = false;
	if (run->step && lab_now() > run->step_deadline) {
		run->silent = true;
		return lab_fail(run, "the step was stopped after %d s", STEP_MS / 1000);
	}
	end = student_call(run->student, run->call, run->call_len, ms, &run->answer,
			   &run->answer_len);
	if (end == STUDENT_ANSWERED)
		return true;
	run->silent = run->silent || end == STUDENT_SILENT || end == STUDENT_LARGE;
	return lab_fail(run, "%s() %s", run->function, student_end_text(run->student));
}

bool lab_run_call(struct lab_run *run)
{
	return lab_run_call_within(run, CALL_MS);
}

static const uint8_t *take(struct lab_run *run, size_t len)
{
	static const uint8_t zeros[8];
	const uint8_t *at = run->answer + run->answer_at;

	if (run->answer_short || len > run->answer_len - run->answer_at) {
		run->answer_short = true;
		return zeros;
	}
	run->answer_at += len;
	return at;
}

static uint64_t take_number(struct lab_run *run, size_t octets)
{
	const uint8_t *at = take(run, octets);
	uint64_t v = 0;

	for (size_t i = 0; i < octets; i++)
		v = v << 8 | at[i];
	return v;
}

uint8_t lab_get_u8(struct lab_run *run)
{
	return (uint8_t)take_number(run, 1);
}

uint16_t lab_get_u16(struct lab_run *run)
{
	return (uint16_t)take_number(run, 2);
}

uint32_t lab_get_u32(struct lab_run *run)
{
	return (uint32_t)take_number(run, 4);
}

uint64_t lab_get_u64(struct lab_run *run)
{
	return take_number(run, 8);
}

struct lab_octets lab_get_octets(struct lab_run *run)
{
	size_t len = lab_get_u32(run);
	const uint8_t *at = take(run, len);

	return (struct lab_octets){ at, run->answer_short ? 0 : len };
}

bool lab_results_end(struct lab_run *run)
{
	if (!run->answer_short && run->answer_at == run->answer_len)
		return true;
	return lab_fail(run, "the results of %s() cannot be read; was calls.c changed?",
			run->function);
}

bool lab_allocated(struct lab_run *run, uint64_t *blocks)
{
	lab_help(run, "allocated");
	if (!lab_run_call(run))
		return false;
	*blocks = lab_get_u64(run);
	return lab_results_end(run);
}

bool lab_expect_freed(struct lab_run *run, uint64_t before)
{
	uint64_t after;

	if (!lab_allocated(run, &after))
		return false;
	/* The leak is not one of the last call, which counted the blocks. */
	run->function[0] = '\0';
	return lab_expect_true(run, after <= before,
			       "the module has not freed %llu of its blocks of memory: a leak",
			       (unsigned long long)(after - before));
}

/* --- the run ---------------------------------------------------------------------------------------- */

int lab_run_new(struct lab_run **out, const struct lab_run_cfg *cfg, struct iw_fault *why)
{
	struct student_cfg student = { .program = cfg->program, .sanitized = cfg->sanitized };
	struct lab_run *run = calloc(1, sizeof(*run));
	int err;

	if (!run)
		return IW_E_NOMEM;
	run->cfg = *cfg;
	err = student_new(&run->student, &student, why);
	if (err) {
		lab_run_free(run);
		return err;
	}
	*out = run;
	return 0;
}

void lab_run_free(struct lab_run *run)
{
	if (!run)
		return;
	student_free(run->student);
	free(run->failure.expected);
	free(run->failure.seen);
	free(run->call);
	free(run);
}

/* Starts a process, and asks it for a first answer. */
static bool start(struct lab_run *run)
{
	run->err = student_start(run->student, &run->fault);
	if (run->err)
		return lab_fail(run, "no process for the module");
	lab_call(run, "hello");
	run->no_start = !lab_run_call_within(run, START_MS);
	run->function[0] = '\0';
	return !run->no_start;
}

bool lab_restart(struct lab_run *run)
{
	return start(run);
}

static void begin(struct lab_run *run, const struct lab_step *step, size_t i)
{
	run->step = step;
	run->step_deadline = lab_now() + (uint64_t)STEP_MS * 1000000;
	run->silent = run->no_start = false;
	run->in_case[0] = run->function[0] = '\0';
	run->clause = NULL;
	seed_step(run, i);
}

/* May this process load BPF programs and make interfaces? */
static bool has_capabilities(void)
{
	return prctl(PR_CAPBSET_READ, CAP_BPF, 0, 0, 0) == 1 && geteuid() == 0;
}

int lab_run_steps(struct lab_run *run, struct iw_fault *why)
{
	const struct lab_step *steps = run->cfg.lab->steps;
	unsigned int silent = 0;
	bool root = has_capabilities();

	for (size_t i = 0; steps[i].name; i++) {
		if (run->cfg.step && strcmp(run->cfg.step, steps[i].name))
			continue;
		if (steps[i].needs & LAB_NEEDS_ROOT && !root) {
			run->verdicts[i] = LAB_NEEDS;
			continue;
		}
		begin(run, &steps[i], i);
		run->verdicts[i] = start(run) && steps[i].run(run) ? LAB_PASSED : LAB_FAILED;
		if (run->verdicts[i] == LAB_FAILED)
			lab_fail(run, "the step failed");
		if (run->err) {
			*why = run->fault;
			return run->err;
		}
		silent += run->silent;
		if (run->no_start || silent >= SILENT_STEPS)
			break;
	}
	run->step = NULL;
	return 0;
}

bool lab_run_trace(struct lab_run *run, const char *path)
{
	static const struct lab_step trace = { .name = "trace" };

	begin(run, &trace, LAB_STEPS_MAX);
	return start(run) && run->cfg.lab->trace(run, path);
}

int lab_run_speed(struct lab_run *run, struct lab_speed *results, size_t cap)
{
	static const struct lab_step speed = { .name = "speed" };

	begin(run, &speed, LAB_STEPS_MAX + 1);
	run->step_deadline = UINT64_MAX;
	return start(run) ? run->cfg.lab->speed(run, results, cap) : -1;
}

bool lab_run_peer(struct lab_run *run, const struct peer_cfg *cfg)
{
	static const struct lab_step peer = { .name = "peer" };

	begin(run, &peer, LAB_STEPS_MAX + 2);
	run->step_deadline = UINT64_MAX;
	return start(run) && lab_peer_run(run, cfg);
}

enum lab_verdict lab_verdict(const struct lab_run *run, size_t step)
{
	return run->verdicts[step];
}

static unsigned int sum(const struct lab_run *run, enum lab_verdict verdict)
{
	const struct lab_step *steps = run->cfg.lab->steps;
	unsigned int points = 0;

	for (size_t i = 0; steps[i].name; i++)
		points += run->verdicts[i] == verdict ? steps[i].points : 0;
	return points;
}

unsigned int lab_points(const struct lab_run *run)
{
	return sum(run, LAB_PASSED);
}

unsigned int lab_points_missing(const struct lab_run *run)
{
	return sum(run, LAB_NEEDS);
}

const struct lab_failure *lab_first_failure(const struct lab_run *run)
{
	return run->failed ? &run->failure : NULL;
}
