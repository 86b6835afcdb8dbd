/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/json.h"
#include "labs/grader/run.h"

static const char *const verdicts[] = { [LAB_NOT_RUN] = "not run",
					[LAB_PASSED] = "ok",
					[LAB_FAILED] = "FAIL",
					[LAB_NEEDS] = "needs root" };

static void marker(const char *label, long differs)
{
	printf("  %-9s ", label);
	for (long i = 0; i < differs; i++)
		printf("   ");
	printf("^^\n");
}

/* What the module printed, without control characters, each line indented. */
static void printed(FILE *to, const char *text)
{
	bool begin = true;

	if (!*text)
		return;
	fprintf(to, "\nyour code printed:\n");
	for (const char *at = text; *at; at++) {
		if (begin)
			fputs("  | ", to);
		begin = *at == '\n';
		fputc(*at == '\n' || *at == '\t' || (*at >= ' ' && *at <= '~') ? *at : '?', to);
	}
	if (!begin)
		fputc('\n', to);
}

static void failure(FILE *to, const struct lab_failure *f)
{
	if (f->call[0])
		fprintf(to, "  %s()%s%s\n", f->call, f->in_case[0] ? ", " : "", f->in_case);
	else if (f->in_case[0])
		fprintf(to, "  %s\n", f->in_case);
	fprintf(to, "  %s\n", f->text);
	if (f->expected && f->seen) {
		fprintf(to, "  expected  %s\n  seen      %s\n", f->expected, f->seen);
		if (f->differs >= 0 && to == stdout)
			marker("", f->differs + (strncmp(f->expected, "...", 3) ? 0 : 1));
	}
	if (f->clause)
		fprintf(to, "  rule: %s\n", f->clause);
}

void lab_report(const struct lab_run *run)
{
	const struct lab_run_cfg *cfg = lab_cfg(run);
	const struct lab_step *steps = cfg->lab->steps;
	const struct lab_failure *f = lab_first_failure(run);
	size_t number = 0;

	printf("lab %u, %s: seed %llu%s\n", cfg->lab->number, cfg->lab->title,
	       (unsigned long long)cfg->seed, cfg->sanitized ? ", with sanitizers" : "");
	for (size_t i = 0; steps[i].name; i++) {
		if (cfg->step && strcmp(cfg->step, steps[i].name))
			continue;
		printf("  %-10s  %3u of %2u  %-12s %s\n", verdicts[lab_verdict(run, i)],
		       lab_verdict(run, i) == LAB_PASSED ? steps[i].points : 0, steps[i].points,
		       steps[i].name, steps[i].about);
		if (f && f->step == &steps[i])
			number = i + 1;
	}
	if (f && f->step) {
		printf("\nfirst failing step: %zu, %s\n", number, f->step->name);
		failure(stdout, f);
		printed(stdout, f->printed);
	}
	if (lab_points_missing(run))
		printf("\n%u points need root: run `sudo ./check`\n", lab_points_missing(run));
	printf("\n%u of 100 points\n", lab_points(run));
}

void lab_report_brief(const struct lab_run *run)
{
	const struct lab_failure *f = lab_first_failure(run);

	printf("%u%s%s\n", lab_points(run), f && f->step ? " " : "",
	       f && f->step ? f->step->name : "");
}

void lab_report_failure(const struct lab_failure *f)
{
	fflush(stdout);
	failure(stderr, f);
	printed(stderr, f->printed);
}

int lab_report_json(const struct lab_run *run)
{
	const struct lab_run_cfg *cfg = lab_cfg(run);
	const struct lab_step *steps = cfg->lab->steps;
	const struct lab_failure *f = lab_first_failure(run);
	struct iw_json w;
	int err;

	iw_json_init(&w, STDOUT_FILENO);
	iw_json_begin(&w, "lab");
	iw_json_u64(&w, "lab", cfg->lab->number);
	iw_json_str(&w, "name", cfg->lab->folder);
	iw_json_decimal(&w, "seed", cfg->seed);
	iw_json_bool(&w, "sanitized", cfg->sanitized);
	iw_json_u64(&w, "points", lab_points(run));
	iw_json_u64(&w, "of", 100);
	iw_json_u64(&w, "points_that_need_root", lab_points_missing(run));
	iw_json_open_array(&w, "steps");
	for (size_t i = 0; steps[i].name; i++) {
		if (cfg->step && strcmp(cfg->step, steps[i].name))
			continue;
		iw_json_open_object(&w, NULL);
		iw_json_str(&w, "name", steps[i].name);
		iw_json_str(&w, "verdict", verdicts[lab_verdict(run, i)]);
		iw_json_u64(&w, "points", lab_verdict(run, i) == LAB_PASSED ? steps[i].points : 0);
		iw_json_u64(&w, "of", steps[i].points);
		iw_json_close(&w);
	}
	iw_json_close(&w);
	if (f && f->step) {
		iw_json_open_object(&w, "first_failure");
		iw_json_str(&w, "step", f->step->name);
		iw_json_str(&w, "function", f->call);
		iw_json_str(&w, "case", f->in_case);
		iw_json_str(&w, "text", f->text);
		iw_json_str(&w, "expected", f->expected);
		iw_json_str(&w, "seen", f->seen);
		iw_json_str(&w, "clause", f->clause);
		iw_json_close(&w);
	}
	err = iw_json_end(&w);
	iw_json_fini(&w);
	return err;
}
