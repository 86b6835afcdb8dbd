/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The decision log: takes decisions from the rules, or in a replay from the record of an earlier
 * run; records them, and reports them as "decision" events. All carriers decide through it.
 */
#ifndef IW_DDP_IMPAIR_DECISION_LOG_H
#define IW_DDP_IMPAIR_DECISION_LOG_H

#include <stdbool.h>

#include "cli/cli.h"
#include "ddp-impair/rules/decision.h"

struct iw_relay_log;

struct iw_relay_log_cfg {
	struct iw_cli *cli;     /* --json writes events */
	struct iw_rules *rules; /* borrowed; a replay adds its actions */
	const char *replay;     /* the path of a record to repeat; NULL: the rules decide */
};

/* Reads the replay. Errors name file and line. After an error *out is NULL or must be closed. */
IW_MUST_CHECK int iw_relay_log_open(struct iw_relay_log **out, const struct iw_relay_log_cfg *cfg,
				    struct iw_fault *why);
/* Begins a record; path is borrowed until iw_relay_log_close(). Error of iw_os_fail(). */
IW_MUST_CHECK int iw_relay_log_record(struct iw_relay_log *l, const char *path,
				      struct iw_fault *why);
/* Flushes and closes the record. IW_E_OS: it could not be written. NULL is allowed. */
IW_MUST_CHECK int iw_relay_log_close(struct iw_relay_log *l, struct iw_fault *why);

/* As iw_rules_decide(), and writes the decisions down. */
size_t iw_relay_log_decide(struct iw_relay_log *l, struct iw_rules_flow *f, const struct iw_unit *u,
			   struct iw_decision out[static IW_DECISIONS_MAX]);
/* In a replay: recorded decisions whose units did not arrive. */
uint64_t iw_relay_log_unused(const struct iw_relay_log *l);
/*
 * Adds the key "decisions", an array of the kinds of actions with their counts, to the open line; in
 * a replay also "unused".
 */
void iw_relay_log_show_json(const struct iw_relay_log *l, struct iw_json *out);
/* The same as text on standard output: "2 drop, 1 flip-bit", or "no decisions". */
void iw_relay_log_show(const struct iw_relay_log *l);

#endif
