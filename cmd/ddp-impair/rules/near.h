/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inside ddp-impair/rules: the most similar word, for messages. */
#ifndef IW_DDP_IMPAIR_RULES_NEAR_H
#define IW_DDP_IMPAIR_RULES_NEAR_H

#include <stddef.h>

struct iw_rule_near {
	const char *seen;
	size_t len;
	const char *best; /* NULL: no word is similar */
	size_t distance;
};

static inline void iw_rule_near_init(struct iw_rule_near *n, const char *seen, size_t len)
{
	*n = (struct iw_rule_near){ seen, len, NULL, len < 4 ? 2 : 3 };
}
/* Compares one more candidate, which is kept. */
void iw_rule_near_try(struct iw_rule_near *n, const char *candidate);

#endif
