// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The raw lines are the student's own measurement, on a machine that the grader does not know. So
 * they could be invented; what is checked is that they agree with themselves and with the clock.
 */
#include "labs/grader/measure/raw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labs/grader/handed_in.h"
#include "labs/grader/measure/json_text.h"
#include "labs/grader/measure/measure.h"
#include "util/num.h"

enum {
	FILE_MAX = 1000000,
	WORD_MAX = 64,
	LEAST_NS = 200000000, /* of a run */
	AROUND_NS =
		2000000000 /* at most for set-up, warm-up and verification, and once more for --time */
};

static const uint64_t year_2020_ns = 1577836800000000000;

const struct raw_question raw_questions[RAW_QUESTIONS] = {
	{ .name = "same",
	  .mode = { "write", "write" },
	  .transport = { "tcp", "tcp" },
	  .loopback = true,
	  .size = 1 << 20,
	  .unit = "Gb/s",
	  .value_of_unit = 1e9 },
	{ .name = "direction",
	  .mode = { "write", "read" },
	  .transport = { "tcp", "tcp" },
	  .loopback = true,
	  .size = 1 << 20,
	  .unit = "Gb/s",
	  .value_of_unit = 1e9 },
	{ .name = "latency",
	  .mode = { "pingpong", "pingpong" },
	  .transport = { "tcp", "udp" },
	  .loopback = true,
	  .time = true,
	  .size = 64,
	  .unit = "us",
	  .value_of_unit = 1e3 },
	{ .name = "offloads",
	  .mode = { "write", "write" },
	  .transport = { "tcp", "tcp" },
	  .offloads = true,
	  .size = 1 << 20,
	  .unit = "Gb/s",
	  .value_of_unit = 1e9 },
	{ .name = "cc",
	  .mode = { "write", "write" },
	  .transport = { "tcp", "tcp" },
	  .cc = { "reno", "cubic" },
	  .size = 1 << 20,
	  .unit = "Gb/s",
	  .value_of_unit = 1e9 },
};

/* --- members ------------------------------------------------------------------------------------ */

static bool get_number(struct lab_run *run, const struct json_text *line, const char *path,
		       uint64_t *out)
{
	return json_text_u64(line, path, out) ||
	       lab_fail(run, "expected a whole number %s, seen none", path);
}

static bool expect_word(struct lab_run *run, const struct json_text *line, const char *path,
			const char *expected)
{
	char seen[WORD_MAX] = "none";

	if (!expected)
		return true;
	(void)json_text_string(line, path, seen, sizeof(seen));
	return !strcmp(seen, expected) ||
	       lab_fail(run, "%s: expected %s, seen %s", path, expected, seen);
}

static bool expect_bool(struct lab_run *run, const struct json_text *line, const char *path,
			bool expected)
{
	bool seen;

	if (!json_text_bool(line, path, &seen))
		return lab_fail(run, "%s: expected %s, seen none", path,
				expected ? "true" : "false");
	return seen == expected || lab_fail(run, "%s: expected %s, seen %s", path,
					    expected ? "true" : "false", seen ? "true" : "false");
}

/* --- a line ------------------------------------------------------------------------------------- */

static bool get_key(struct lab_run *run, const struct json_text *line, struct raw_run *r)
{
	char name[WORD_MAX] = "none", variant[WORD_MAX] = "none";

	(void)json_text_string(line, "question", name, sizeof(name));
	(void)json_text_string(line, "variant", variant, sizeof(variant));
	while (r->question < RAW_QUESTIONS && strcmp(raw_questions[r->question].name, name) != 0)
		r->question++;
	if (r->question == RAW_QUESTIONS)
		return lab_fail(run, "question: expected one of the README, seen %s", name);
	if (strcmp(variant, "a") != 0 && strcmp(variant, "b") != 0)
		return lab_fail(run, "variant: expected a or b, seen %s", variant);
	r->variant = *variant == 'b';
	return get_number(run, line, "pair", &r->pair) &&
	       get_number(run, line, "start_ns", &r->start_ns) &&
	       get_number(run, line, "end_ns", &r->end_ns) &&
	       get_number(run, line, "result.duration_ns", &r->duration_ns) &&
	       get_number(run, line, "result.client.window_ns", &r->window_ns) &&
	       get_number(run, line,
			  raw_questions[r->question].time ? "result.half_round_trip.p50_ns"
							  : "result.bits_per_second",
			  &r->value);
}

/* The same machine and program for all runs. Members that ddp-bench did not know are absent. */
static void get_machine(const struct json_text *line, struct raw_run *r)
{
	char word[3][WORD_MAX] = { "", "", "" };

	(void)json_text_string(line, "result.environment.kernel", word[0], sizeof(word[0]));
	(void)json_text_string(line, "result.environment.cpu", word[1], sizeof(word[1]));
	(void)json_text_string(line, "result.version", word[2], sizeof(word[2]));
	snprintf(r->machine, sizeof(r->machine), "%s, %s, version %s", word[0], word[1], word[2]);
}

static bool check_interface(struct lab_run *run, const struct json_text *line,
			    const struct raw_question *q)
{
	char name[WORD_MAX] = "none";

	(void)json_text_string(line, "result.environment.interface", name, sizeof(name));
	return !strcmp(name, "lo") == q->loopback ||
	       lab_fail(run, "result.environment.interface: expected %s, seen %s",
			q->loopback ? "lo" : "one of a veth pair", name);
}

/* Was that measured which the question asks for? */
static bool check_settings(struct lab_run *run, const struct json_text *line,
			   const struct raw_run *r)
{
	const struct raw_question *q = &raw_questions[r->question];
	static const char *const offloads[] = { "result.environment.offloads.tso",
						"result.environment.offloads.gso",
						"result.environment.offloads.gro" };
	uint64_t size;

	if (!expect_word(run, line, "result.event", "result") ||
	    !expect_word(run, line, "result.mode", q->mode[r->variant]) ||
	    !expect_word(run, line, "result.transport", q->transport[r->variant]) ||
	    !expect_word(run, line, "result.client.cc", q->cc[r->variant]) ||
	    !expect_word(run, line, "result.server.cc", q->cc[r->variant]) ||
	    !get_number(run, line, "result.size_octets", &size) ||
	    !lab_expect_number(run, "result.size_octets", q->size, size) ||
	    !check_interface(run, line, q))
		return false;
	for (size_t i = 0; q->offloads && i < IW_ARRAY_LEN(offloads); i++)
		if (!expect_bool(run, line, offloads[i], r->variant == 0))
			return false;
	return true;
}

static bool check_percentiles(struct lab_run *run, const struct json_text *line,
			      const struct raw_run *r)
{
	static const char *const names[] = { "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns" };
	const char *object = raw_questions[r->question].time ? "half_round_trip" : "completion";
	uint64_t before = 1, p, trips;

	for (size_t i = 0; i < IW_ARRAY_LEN(names); i++) {
		char path[WORD_MAX];

		snprintf(path, sizeof(path), "result.%s.%s", object, names[i]);
		if (!get_number(run, line, path, &p))
			return false;
		/* Percentiles may be 0.4 % too high; the maximum is exact. */
		if ((double)p < 0.995 * (double)before)
			return lab_fail(run, "%s: expected at least %llu, seen %llu", path,
					(unsigned long long)before, (unsigned long long)p);
		before = p;
	}
	if (!raw_questions[r->question].time)
		return true;
	if (!get_number(run, line, "result.half_round_trip.round_trips", &trips))
		return false;
	/* Half of the round trips took 2 * p50 or more, one after the other. */
	return (double)trips * (double)r->value * 0.99 <= (double)r->duration_ns ||
	       lab_fail(run, "%llu round trips with this p50_ns do not fit into duration_ns",
			(unsigned long long)trips);
}

/* The numbers of a result agree with each other. */
static bool check_result(struct lab_run *run, const struct json_text *line, const struct raw_run *r)
{
	uint64_t octets, messages, rate, expected;

	if (!expect_bool(run, line, "result.verified", true) ||
	    !get_number(run, line, "result.octets", &octets) ||
	    !get_number(run, line, "result.messages", &messages) ||
	    !get_number(run, line, "result.bits_per_second", &rate))
		return false;
	if (r->duration_ns < LEAST_NS)
		return lab_fail(run, "result.duration_ns: expected at least 200 ms, seen %llu ns",
				(unsigned long long)r->duration_ns);
	if (octets == 0 || messages > UINT64_MAX >> 32 ||
	    octets != messages * raw_questions[r->question].size)
		return lab_fail(run,
				"result.octets: expected messages * size_octets, %llu, seen %llu",
				(unsigned long long)(messages * raw_questions[r->question].size),
				(unsigned long long)octets);
	expected = measure_bits_per_second(octets, r->duration_ns);
	if (rate + 1 < expected || rate > expected + 1)
		return lab_fail(
			run, "result.bits_per_second: octets and duration_ns give %llu, seen %llu",
			(unsigned long long)expected, (unsigned long long)rate);
	return check_percentiles(run, line, r);
}

static bool check_end(struct lab_run *run, const struct json_text *line, const char *end)
{
	static const char *const names[] = { "cpu_user_ns", "cpu_sys_ns", "window_ns" };
	uint64_t v[3];

	for (size_t i = 0; i < IW_ARRAY_LEN(names); i++) {
		char path[WORD_MAX];

		snprintf(path, sizeof(path), "result.%s.%s", end, names[i]);
		if (!get_number(run, line, path, &v[i]))
			return false;
	}
	/* Each end has one thread. The kernel may count CPU time in ticks. */
	return (double)v[0] + (double)v[1] <= 1.1 * (double)v[2] + 2e7 ||
	       lab_fail(run, "result.%s: expected at most window_ns of CPU time, seen more", end);
}

static bool check_times(struct lab_run *run, const struct raw_run *r)
{
	uint64_t took = r->end_ns - r->start_ns;

	if (r->start_ns < year_2020_ns || r->end_ns <= r->start_ns)
		return lab_fail(run,
				"expected times in nanoseconds since 1970, end_ns after "
				"start_ns; seen %llu and %llu",
				(unsigned long long)r->start_ns, (unsigned long long)r->end_ns);
	if ((double)took < 0.99 * (double)r->duration_ns)
		return lab_fail(run,
				"expected at least duration_ns, %llu, from start_ns to end_ns, "
				"seen %llu",
				(unsigned long long)r->duration_ns, (unsigned long long)took);
	return (double)took <= 2 * (double)r->duration_ns + AROUND_NS ||
	       lab_fail(run,
			"expected duration_ns, %llu, and some seconds from start_ns to end_ns, "
			"seen %llu",
			(unsigned long long)r->duration_ns, (unsigned long long)took);
}

static bool read_line(struct lab_run *run, const char *text, size_t len, struct raw_run *r)
{
	struct json_text line;
	bool ok;

	if (!json_text_parse(text, len, &line))
		return lab_fail(run, "expected a line of JSON, as ./measure prints it");
	get_machine(&line, r);
	ok = get_key(run, &line, r) && check_settings(run, &line, r) &&
	     check_result(run, &line, r) && check_end(run, &line, "client") &&
	     check_end(run, &line, "server") && check_times(run, r);
	json_text_free(&line);
	return ok;
}

/* --- the file ----------------------------------------------------------------------------------- */

static void case_line(struct lab_run *run, const struct raw_run *r)
{
	lab_case(run, "line %u of raw.jsonl", r->line);
}

static bool read_lines(struct lab_run *run, const char *text, struct raw *raw)
{
	unsigned int number = 1;

	for (const char *line = text; *line; number++) {
		size_t len = strcspn(line, "\n");
		struct raw_run *r = &raw->runs[raw->n];

		lab_case(run, "line %u of raw.jsonl", number);
		if (raw->n == RAW_RUNS_MAX)
			return lab_fail(run, "expected at most %d lines", (int)RAW_RUNS_MAX);
		*r = (struct raw_run){ .line = number };
		if (!read_line(run, line, len, r))
			return false;
		raw->n++;
		line += len + (line[len] == '\n');
	}
	return true;
}

/* One run after the other, on one machine, and no line twice. */
static bool check_order(struct lab_run *run, const struct raw *raw)
{
	for (size_t i = 1; i < raw->n; i++) {
		const struct raw_run *r = &raw->runs[i];

		case_line(run, r);
		if (strcmp(r->machine, raw->runs[0].machine) != 0)
			return lab_fail(run, "expected the machine of line 1, %s, seen %s",
					raw->runs[0].machine, r->machine);
		for (size_t j = 0; j < i; j++)
			if (raw->runs[j].duration_ns == r->duration_ns &&
			    raw->runs[j].window_ns == r->window_ns)
				return lab_fail(run,
						"the same duration_ns and window_ns as line "
						"%u: a run appears twice",
						raw->runs[j].line);
		if (r->start_ns < raw->runs[i - 1].end_ns)
			return lab_fail(run, "expected runs one after the other, seen start_ns "
					     "before the end_ns of the line before");
	}
	return true;
}

/* Pairs 1, 2, 3 ..., in each both variants; as many begin with a as with b, or one more. */
static bool check_pairs(struct lab_run *run, struct raw *raw, unsigned int question)
{
	const struct raw_run *first = NULL;
	size_t n = 0, begin_with[2] = { 0, 0 };

	for (size_t i = 0; i < raw->n; i++) {
		const struct raw_run *r = &raw->runs[i];

		if (r->question != question)
			continue;
		case_line(run, r);
		if (n == RAW_PAIRS_MAX)
			return lab_fail(run, "expected at most %d pairs", (int)RAW_PAIRS_MAX);
		if (r->pair != n + 1)
			return lab_fail(run,
					"%s: expected pair %zu here, seen %llu: pairs must "
					"be interleaved",
					raw_questions[question].name, n + 1,
					(unsigned long long)r->pair);
		raw->values[question][r->variant][n] = r->value;
		if (!first) {
			begin_with[r->variant]++;
			first = r;
			continue;
		}
		if (first->variant == r->variant)
			return lab_fail(run,
					"%s, pair %zu: expected variant %s here, seen %s twice",
					raw_questions[question].name, n + 1, r->variant ? "a" : "b",
					r->variant ? "b" : "a");
		first = NULL;
		n++;
	}
	raw->pairs[question] = n;
	lab_case(run, "question %s", raw_questions[question].name);
	if (first)
		return lab_fail(run, "expected two runs of each pair, seen one of pair %zu", n + 1);
	if (n < RAW_PAIRS_MIN)
		return lab_fail(run, "expected at least %d pairs, seen %zu", (int)RAW_PAIRS_MIN, n);
	if (begin_with[0] > begin_with[1] + 1 || begin_with[1] > begin_with[0] + 1)
		return lab_fail(run,
				"expected the order to alternate, a b and b a; seen %zu pairs that "
				"begin with a, %zu with b",
				begin_with[0], begin_with[1]);
	return true;
}

static bool load(struct lab_run *run, char *text, struct raw *raw)
{
	lab_case(run, "raw.jsonl");
	if (!lab_read_file(run, "raw.jsonl", text, FILE_MAX) || !read_lines(run, text, raw) ||
	    !check_order(run, raw))
		return false;
	for (unsigned int q = 0; q < RAW_QUESTIONS; q++)
		if (!check_pairs(run, raw, q))
			return false;
	return true;
}

struct raw *raw_load(struct lab_run *run)
{
	struct raw *raw = calloc(1, sizeof(*raw));
	char *text = malloc(FILE_MAX);
	bool ok;

	if (raw && text)
		ok = load(run, text, raw);
	else
		ok = lab_fail(run, "the grader is out of memory");
	free(text);
	if (ok)
		return raw;
	free(raw);
	return NULL;
}
