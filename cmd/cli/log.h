/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Talk on standard error: "tool: object: value seen, expected". One write a message, so that the
 * messages of several processes do not mix; text from outside is made harmless on the way
 * (cli/text.h). The level and the tool's name are the process's, set once before threads start.
 */
#ifndef IW_CLI_LOG_H
#define IW_CLI_LOG_H

#include <stdbool.h>

enum iw_log_level {
	IW_LOG_ERROR,
	IW_LOG_WARN, /* the default: errors and warnings */
	IW_LOG_INFO,
};

/* @tool is kept, not copied; messages above @level are dropped. */
void iw_log_setup(const char *tool, enum iw_log_level level);

/* Whether a message of @level would be written: ask before work that only a message needs. */
bool iw_log_on(enum iw_log_level level);

/*
 * @before (may be NULL) is called before a message is written, and @after behind it: a progress
 * line uses them to get out of the way.
 */
void iw_log_around(void (*before)(void *ctx), void (*after)(void *ctx), void *ctx);

/* Writes one message, without a newline in @fmt. errno is left as it was. */
void iw_log(enum iw_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define iw_log_error(...) iw_log(IW_LOG_ERROR, __VA_ARGS__)
#define iw_log_warn(...)  iw_log(IW_LOG_WARN, __VA_ARGS__)
#define iw_log_info(...)  iw_log(IW_LOG_INFO, __VA_ARGS__)

#endif
