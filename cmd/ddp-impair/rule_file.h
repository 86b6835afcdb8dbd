/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inside ddp-impair: files that --rules and the action inject name. */
#ifndef IW_DDP_IMPAIR_RULE_FILE_H
#define IW_DDP_IMPAIR_RULE_FILE_H

#include "ddp-impair/rules/rule.h"

/*
 * Adds the rules in the file, one a line. Empty lines and lines that begin with # are skipped.
 * Errors of iw_rules_add(), whose text then begins with the file and the line; iw_os_fail().
 */
IW_MUST_CHECK int iw_relay_rules_add(struct iw_rules *r, const char *path, struct iw_fault *why);

/* Reads a file of octets; an iw_rule_load_fn. */
int iw_relay_rules_load(void *ctx, uint8_t *dst, size_t cap, const char *path,
			struct iw_fault *why);

#endif
