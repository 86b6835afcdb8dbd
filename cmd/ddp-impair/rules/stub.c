// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Placeholders. */
#include "ddp-impair/rules/rule.h"

int iw_rules_new(struct iw_rules **out, enum iw_rule_carrier carrier, uint64_t seed, iw_rule_load_fn *load, void *load_ctx, const struct iw_mem *mem) { (void)carrier; (void)seed; (void)load; (void)load_ctx; (void)mem; *out = 0; return 0; }
void iw_rules_free(struct iw_rules *r) { (void)r; }
int iw_rules_add(struct iw_rules *r, const char *text, struct iw_fault *why) { (void)r; (void)text; (void)why; return 0; }
size_t iw_rules_count(const struct iw_rules *r) { (void)r; return 0; }
