/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lab 6: checks of accesses, by the student's table and by the engine's. */
#include <stdlib.h>

#include "labs/grader/security/internal.h"
#include "labs/grader/security/twin.h"
#include "util/num.h"

enum {
	ACCESSES = 1024, /* different ones */
	RUNS = 3,
	RUN_NS = 200000000, /* of one measurement, about */
};

struct work {
	struct twin *twin;
	struct access accesses[ACCESSES];
	uint32_t engine[ACCESSES]; /* STags in the engine's table */
	uint64_t allowed, sum;     /* results of one round of ours */
};

/* A quarter is refused: beyond the end of the buffer. */
static void prepare(struct lab_run *run, struct work *w)
{
	for (size_t i = 0; i < ACCESSES; i++) {
		const struct twin_entry *e = &w->twin->live[lab_below(run, w->twin->n)];

		w->accesses[i] = twin_proper(e);
		w->accesses[i].to += lab_below(run, e->region.len);
		w->accesses[i].len = lab_below(run, 4) ? 1 : e->region.len + 1;
		w->engine[i] = e->engine;
	}
}

static void ours_once(struct work *w)
{
	uint64_t allowed = 0, sum = 0;

	for (size_t i = 0; i < ACCESSES; i++) {
		const struct access *a = &w->accesses[i];
		const struct iw_stag_use use = {
			.pd = a->pd,
			.stream = a->stream,
			.right = (uint8_t)a->right,
			.to = a->to,
			.len = a->len,
		};
		uint8_t *where;

		if (iw_stag_check(w->twin->engine, w->engine[i], &use, &where) != IW_STAG_OK)
			continue;
		allowed++;
		sum += (uintptr_t)where - (uintptr_t)twin_ground;
	}
	w->allowed = allowed;
	w->sum = sum;
}

/* Millions of accesses in a second. */
static double ours(struct work *w, unsigned int rounds)
{
	uint64_t begin = lab_now();

	for (unsigned int i = 0; i < rounds; i++)
		ours_once(w);
	return (double)rounds * ACCESSES * 1e3 / (double)(lab_now() - begin);
}

static bool student_rounds(struct lab_run *run, struct work *w, unsigned int rounds, double *rate)
{
	uint64_t begin, end;

	lab_call(run, "table_repeat");
	lab_put_u32(run, rounds);
	lab_put_u32(run, ACCESSES);
	for (size_t i = 0; i < ACCESSES; i++)
		twin_put_access(run, &w->accesses[i]);
	begin = lab_now();
	if (!lab_run_call_within(run, 20000))
		return false;
	end = lab_now();
	*rate = (double)rounds * ACCESSES * 1e3 / (double)(end - begin);
	return lab_expect_number(run, "accesses allowed", w->allowed * rounds, lab_get_u64(run)) &&
	       lab_expect_number(run, "the sum of all positions", w->sum * rounds,
				 lab_get_u64(run)) &&
	       lab_results_end(run);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* How many rounds take RUN_NS at this rate? */
static unsigned int rounds_for(double rate)
{
	double rounds = rate * RUN_NS / 1e3 / ACCESSES;

	return rounds < 1 ? 1 : rounds > 1e6 ? 1000000 : (unsigned int)rounds;
}

static bool measure(struct lab_run *run, struct work *w, struct lab_speed *result)
{
	double student[RUNS], own[RUNS], rate = 0;
	unsigned int student_n, own_n;

	ours_once(w);
	own_n = rounds_for(ours(w, 64));
	if (!student_rounds(run, w, 16, &rate))
		return false;
	student_n = rounds_for(rate);
	for (size_t i = 0; i < RUNS; i++) {
		if (!student_rounds(run, w, student_n, &student[i]))
			return false;
		own[i] = ours(w, own_n);
	}
	qsort(student, RUNS, sizeof(student[0]), ascending);
	qsort(own, RUNS, sizeof(own[0]), ascending);
	*result = (struct lab_speed){
		.unit = "M/s",
		.student = student[RUNS / 2],
		.ours = own[RUNS / 2],
	};
	return true;
}

static bool measure_table(struct lab_run *run, uint32_t registrations, struct lab_speed *result)
{
	struct work *w = calloc(1, sizeof(*w));
	bool ok = w && (w->twin = twin_new(run, registrations));

	for (uint32_t i = 0; ok && i < registrations; i++) {
		struct region r = security_numbered(i);

		ok = twin_add(w->twin, &r);
	}
	if (ok) {
		prepare(run, w);
		ok = measure(run, w, result) && twin_close(run);
	}
	if (w)
		twin_free(w->twin);
	free(w);
	return ok;
}

int security_speed(struct lab_run *run, struct lab_speed *results, size_t cap)
{
	static const struct {
		uint32_t registrations;
		const char *what;
	} tables[] = {
		{ 16, "accesses checked, 16 registrations" },
		{ TWIN_MAX, "accesses checked, 1,024 registrations" },
	};
	size_t n = IW_MIN(cap, sizeof(tables) / sizeof(tables[0]));

	for (size_t i = 0; i < n; i++) {
		if (!measure_table(run, tables[i].registrations, &results[i]))
			return -1;
		results[i].what = tables[i].what;
	}
	return (int)n;
}
