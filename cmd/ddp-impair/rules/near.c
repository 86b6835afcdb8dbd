// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The edit distance of two words (Levenshtein). */
#include "ddp-impair/rules/near.h"

#include <stdint.h>
#include <string.h>

#include "util/num.h"

#define WORD_MAX 40

static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
	uint8_t row[WORD_MAX + 1];

	for (size_t j = 0; j <= nb; j++)
		row[j] = (uint8_t)j;
	for (size_t i = 1; i <= na; i++) {
		uint8_t diagonal = row[0];

		row[0] = (uint8_t)i;
		for (size_t j = 1; j <= nb; j++) {
			uint8_t above = row[j],
				change = (uint8_t)(diagonal + (a[i - 1] != b[j - 1]));

			row[j] = (uint8_t)IW_MIN(change, IW_MIN(above, row[j - 1]) + 1);
			diagonal = above;
		}
	}
	return row[nb];
}

void iw_rule_near_try(struct iw_rule_near *n, const char *candidate)
{
	size_t len = strlen(candidate), d;

	if (n->len == 0 || n->len > WORD_MAX || len > WORD_MAX)
		return;
	d = distance(n->seen, n->len, candidate, len);
	if (d < n->distance) {
		n->distance = d;
		n->best = candidate;
	}
}
