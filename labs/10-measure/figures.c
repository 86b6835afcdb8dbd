/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads lines "question pair variant value" and prints the figures that your stats.c computes of
 * them, in the unit of the values. You do not change this file. Run it with: make figures
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "stats.h"

enum { PAIRS_MAX = 100 };

static const char *const questions[] = { "same", "direction", "latency", "offloads", "cc" };

enum { QUESTIONS = sizeof(questions) / sizeof(questions[0]) };

static uint64_t values[QUESTIONS][PAIRS_MAX][2]; /* 0: not measured */

static void read_values(void)
{
	char question[32], variant;
	unsigned int pair;
	uint64_t value;

	while (scanf("%31s %u %c %" SCNu64, question, &pair, &variant, &value) == 4)
		for (size_t q = 0; q < QUESTIONS; q++)
			if (!strcmp(question, questions[q]) && pair >= 1 && pair <= PAIRS_MAX)
				values[q][pair - 1][variant == 'b'] = value;
}

static void print_variant(char name, const uint64_t *v, size_t n)
{
	struct spread s = { 0 };
	uint64_t low = 0, high = 0;
	double middle = 0;

	if (!median(v, n, &middle) || !percentile(v, n, 100, &low) ||
	    !percentile(v, n, 900, &high) || !spread(v, n, &s))
		printf("  stats.c returned false\n");
	printf("  %c  median %.1f  p10 %" PRIu64 "  p90 %" PRIu64 "  cv %.6f\n", name, middle, low,
	       high, s.cv);
}

static void print_question(size_t q)
{
	static const char *const verdicts[] = { "none", "a", "b" };
	uint64_t v[2][PAIRS_MAX];
	double d[2][PAIRS_MAX];
	struct comparison c = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < PAIRS_MAX; i++) {
		if (!values[q][i][0] || !values[q][i][1])
			continue;
		for (size_t x = 0; x < 2; x++) {
			v[x][n] = values[q][i][x];
			d[x][n] = (double)v[x][n];
		}
		n++;
	}
	printf("%s: %zu pairs\n", questions[q], n);
	if (!n)
		return;
	print_variant('a', v[0], n);
	print_variant('b', v[1], n);
	/* latency: half round trips in ns; the others: bits per second */
	if (!compare(d[0], d[1], n, strcmp(questions[q], "latency") ? HIGHER : LOWER, &c))
		printf("  compare() returned false\n");
	printf("  b/a  median %.6f  min %.6f  max %.6f  low %.6f  high %.6f  faster: %s\n", c.ratio,
	       c.min, c.max, c.low, c.high, c.verdict <= B_FASTER ? verdicts[c.verdict] : "?");
}

int main(void)
{
	read_values();
	for (size_t q = 0; q < QUESTIONS; q++)
		print_question(q);
	return 0;
}
