// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "labs/grader/measure/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labs/grader/handed_in.h"
#include "labs/grader/measure/json_text.h"
#include "labs/grader/measure/measure.h"
#include "labs/grader/measure/raw.h"

enum { REPORT_MAX = 65536, PATH_LEN = 64 };

/* Four significant digits */
static const double tolerance = 0.0006;

/* --- numbers of the report ---------------------------------------------------------------------- */

/* What a wrong number looks like. */
static const char *guess(double expected, double seen)
{
	static const struct {
		double factor;
		const char *text;
	} guesses[] = {
		{ 1.0 / 8, ": octets where bits are meant?" },
		{ 1e3, ": a wrong unit?" },
		{ 1e-3, ": a wrong unit?" },
		{ 1e6, ": a wrong unit?" },
		{ 1e9, ": a wrong unit?" },
		{ 1e9 / (1 << 30), ": divided by 2^30? Rates are decimal" },
		{ 100, ": a fraction where a percentage is meant, or the reverse?" },
		{ 0.01, ": a fraction where a percentage is meant, or the reverse?" },
		{ 0.5, ": divided by 2 once more? ddp-bench reports half round trips" },
		{ 2, ": a whole round trip where a half is meant?" },
	};

	for (size_t i = 0; i < sizeof(guesses) / sizeof(guesses[0]); i++)
		if (fabs(seen / expected / guesses[i].factor - 1) <= 2 * tolerance)
			return guesses[i].text;
	return "";
}

static bool expect_figure(struct lab_run *run, const struct json_text *report, const char *question,
			  const char *path, double expected)
{
	char whole[PATH_LEN];
	double seen;

	snprintf(whole, sizeof(whole), "%s.%s", question, path);
	if (!json_text_double(report, whole, &seen))
		return lab_fail(run, "expected a number %s, seen none", whole);
	if (fabs(seen - expected) <= tolerance * fabs(expected))
		return true;
	return lab_fail(run, "%s: the raw lines give %.6g, seen %.6g%s", whole, expected, seen,
			guess(expected, seen));
}

static bool variant_figures(struct lab_run *run, const struct json_text *report,
			    const struct raw *raw, unsigned int q, unsigned int variant)
{
	const struct raw_question *question = &raw_questions[q];
	double unit = question->value_of_unit;
	uint64_t s[RAW_PAIRS_MAX];
	size_t n = raw->pairs[q];
	struct measure_spread spread;
	char name = variant ? 'b' : 'a';
	char path[4][PATH_LEN];

	memcpy(s, raw->values[q][variant], n * sizeof(*s));
	measure_sort(s, n);
	spread = measure_spread(s, n);
	snprintf(path[0], PATH_LEN, "%c.median", name);
	snprintf(path[1], PATH_LEN, "%c.p10", name);
	snprintf(path[2], PATH_LEN, "%c.p90", name);
	snprintf(path[3], PATH_LEN, "%c.cv_percent", name);
	return expect_figure(run, report, question->name, path[0], measure_median(s, n) / unit) &&
	       expect_figure(run, report, question->name, path[1],
			     (double)measure_percentile(s, n, 100) / unit) &&
	       expect_figure(run, report, question->name, path[2],
			     (double)measure_percentile(s, n, 900) / unit) &&
	       expect_figure(run, report, question->name, path[3], 100 * spread.cv);
}

static bool question_figures(struct lab_run *run, const struct json_text *report,
			     const struct raw *raw, unsigned int q)
{
	const struct raw_question *question = &raw_questions[q];
	char path[PATH_LEN], unit[PATH_LEN] = "none";
	uint64_t pairs = 0;

	lab_case(run, "report.json, question %s", question->name);
	snprintf(path, sizeof(path), "%s.pairs", question->name);
	(void)json_text_u64(report, path, &pairs);
	snprintf(path, sizeof(path), "%s.unit", question->name);
	(void)json_text_string(report, path, unit, sizeof(unit));
	return lab_expect_number(run, "pairs", raw->pairs[q], pairs) &&
	       lab_expect_true(run, !strcmp(unit, question->unit), "unit: expected %s, seen %s",
			       question->unit, unit) &&
	       variant_figures(run, report, raw, q, 0) && variant_figures(run, report, raw, q, 1);
}

/* --- claims ------------------------------------------------------------------------------------- */

static bool expect_claim(struct lab_run *run, const struct json_text *report,
			 const struct raw_question *question, const struct measure_comparison *c)
{
	static const char *const claims[] = { "none", "a", "b" };
	char path[PATH_LEN], seen[PATH_LEN] = "nothing";

	snprintf(path, sizeof(path), "%s.faster", question->name);
	(void)json_text_string(report, path, seen, sizeof(seen));
	if (!strcmp(seen, claims[c->verdict]))
		return true;
	if (c->verdict)
		return lab_fail(run,
				"%s: expected %s, seen %s: the ratios b / a lie from %.4f to %.4f, "
				"and %s",
				path, claims[c->verdict], seen, c->low, c->high,
				question->time ? "less is faster" : "more is faster");
	return lab_fail(run,
			"%s: expected none, seen %s: the interval of the ratios, %.4f to %.4f, "
			"%s",
			path, seen, c->low, c->high,
			c->low <= 1 && c->high >= 1 ? "contains 1" : "needs at least 6 pairs");
}

static bool question_claims(struct lab_run *run, const struct json_text *report,
			    const struct raw *raw, unsigned int q)
{
	const struct raw_question *question = &raw_questions[q];
	double v[2][RAW_PAIRS_MAX];
	struct measure_comparison c;

	for (size_t variant = 0; variant < 2; variant++)
		for (size_t i = 0; i < raw->pairs[q]; i++)
			v[variant][i] = (double)raw->values[q][variant][i];
	c = measure_compare(v[0], v[1], raw->pairs[q], question->time);
	lab_case(run, "report.json, question %s", question->name);
	return expect_figure(run, report, question->name, "ratio.median", c.ratio) &&
	       expect_figure(run, report, question->name, "ratio.min", c.min) &&
	       expect_figure(run, report, question->name, "ratio.max", c.max) &&
	       expect_figure(run, report, question->name, "ratio.low", c.low) &&
	       expect_figure(run, report, question->name, "ratio.high", c.high) &&
	       expect_claim(run, report, question, &c);
}

/* --- steps -------------------------------------------------------------------------------------- */

static bool judge_report(struct lab_run *run, const struct raw *raw,
			 bool (*judge)(struct lab_run *, const struct json_text *,
				       const struct raw *, unsigned int))
{
	char text[REPORT_MAX];
	struct json_text report;
	bool ok = true;

	lab_case(run, "report.json");
	if (!lab_read_file(run, "report.json", text, sizeof(text)))
		return false;
	if (!json_text_parse(text, strlen(text), &report))
		return lab_fail(run, "expected one JSON object; jq . report.json shows the error");
	for (unsigned int q = 0; ok && q < RAW_QUESTIONS; q++)
		ok = judge(run, &report, raw, q);
	json_text_free(&report);
	return ok;
}

bool measure_raw(struct lab_run *run)
{
	struct raw *raw = raw_load(run);
	bool ok = raw != NULL;

	free(raw);
	return ok;
}

bool measure_figures(struct lab_run *run)
{
	struct raw *raw = raw_load(run);
	bool ok = raw && judge_report(run, raw, question_figures);

	free(raw);
	return ok;
}

bool measure_claims(struct lab_run *run)
{
	struct raw *raw = raw_load(run);
	bool ok = raw && judge_report(run, raw, question_claims);

	free(raw);
	return ok;
}
