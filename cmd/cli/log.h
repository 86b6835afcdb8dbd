/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages on standard error: "tool: object: value seen, expected". Each message is one write, so
 * that messages of several processes do not mix. Text from outside is made harmless (cli/text.h).
 * The level and the tool's name are global: set them once, before threads start.
 */
#ifndef IW_CLI_LOG_H
#define IW_CLI_LOG_H

#include <stdbool.h>

enum iw_log_level {
	IW_LOG_NONE = -1, /* only for iw_log_setup: drops all messages */
	IW_LOG_ERROR,
	IW_LOG_WARN, /* the default: errors and warnings */
	IW_LOG_INFO,
};

/* tool is kept. Messages above the level are dropped. */
void iw_log_setup(const char *tool, enum iw_log_level level);

/* True if a message of the level would be written. Ask before work that only a message needs. */
bool iw_log_on(enum iw_log_level level);

/*
 * Calls before and after around each message; each may be NULL. A progress line uses this to hide
 * itself.
 */
void iw_log_around(void (*before)(void *ctx), void (*after)(void *ctx), void *ctx);

/* Writes a message. fmt has no newline. Keeps errno. */
void iw_log(enum iw_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define iw_log_error(...) iw_log(IW_LOG_ERROR, __VA_ARGS__)
#define iw_log_warn(...)  iw_log(IW_LOG_WARN, __VA_ARGS__)
#define iw_log_info(...)  iw_log(IW_LOG_INFO, __VA_ARGS__)

#endif
