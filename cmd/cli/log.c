// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Messages on standard error. */
#include "cli/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/text.h"

static struct {
	const char *tool;
	enum iw_log_level level;
	void (*before)(void *ctx);
	void (*after)(void *ctx);
	void *ctx;
} self = { .tool = "iwarp-tools", .level = IW_LOG_WARN };

void iw_log_setup(const char *tool, enum iw_log_level level)
{
	self.tool = tool;
	self.level = level;
}

bool iw_log_on(enum iw_log_level level)
{
	return level <= self.level;
}

void iw_log_around(void (*before)(void *ctx), void (*after)(void *ctx), void *ctx)
{
	self.before = before;
	self.after = after;
	self.ctx = ctx;
}

static const char *label(enum iw_log_level level)
{
	switch (level) {
	case IW_LOG_WARN:
		return "warning: ";
	case IW_LOG_NONE:
	case IW_LOG_ERROR:
	case IW_LOG_INFO:
		break;
	}
	return "";
}

void iw_log(enum iw_log_level level, const char *fmt, ...)
{
	char text[1024], line[4 * sizeof(text) + 100];
	int saved = errno;
	size_t len, room;
	va_list ap;

	if (!iw_log_on(level))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* An escape has at most four octets, so any reasonable name of a tool fits. */
	snprintf(line, 98, "%s: %s", self.tool, label(level));
	len = strlen(line);
	room = sizeof(line) - len - 1;
	iw_printable(line + len, room, text, strlen(text), true);
	len += strlen(line + len);
	line[len++] = '\n';
	if (self.before)
		self.before(self.ctx);
	/* A failure of standard error itself cannot be reported. */
	while (write(STDERR_FILENO, line, len) < 0 && errno == EINTR)
		;
	if (self.after)
		self.after(self.ctx);
	errno = saved;
}
