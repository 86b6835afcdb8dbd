// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The progress line. */
#include "cli/progress.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/human.h"
#include "cli/log.h"
#include "cli/term.h"
#include "cli/text.h"

#define DRAW_EVERY UINT64_C(100000000) /* ns */
#define LINE_MAX_  512

static void put(const struct iw_cli_progress *p, const char *text, size_t len)
{
	/* A failure is ignored: only the progress line is lost. */
	while (write(p->fd, text, len) < 0 && errno == EINTR)
		;
}

/* Writes text, then blanks over the rest of the previous line. */
static void replace(struct iw_cli_progress *p, const char *text)
{
	size_t columns = iw_utf8_columns(text);
	size_t over = p->shown > columns ? p->shown - columns : 0;
	char line[2 * LINE_MAX_ + 4];
	int n;

	if (over > LINE_MAX_)
		over = LINE_MAX_;
	n = snprintf(line, sizeof(line), "\r%s%*s%s", text, (int)over, "", columns ? "" : "\r");
	if (n > 0)
		put(p, line, (size_t)n);
	p->shown = columns;
}

/* A background job writes nothing: another process uses the terminal. */
static bool foreground(int fd)
{
	pid_t group = tcgetpgrp(fd);

	return group < 0 || group == getpgrp();
}

static void hide(void *ctx)
{
	struct iw_cli_progress *p = ctx;

	if (p->shown > 0)
		replace(p, "");
}

static void draw(struct iw_cli_progress *p, uint64_t now)
{
	unsigned int columns = iw_cli_columns(p->fd);
	char line[LINE_MAX_];

	if (columns < 2 || !foreground(p->fd))
		return;
	/* Leaves the last column free, because some terminals wrap as soon as it is filled. */
	iw_cli_progress_line(p, line, sizeof(line), columns - 1, now);
	replace(p, line);
}

static void sample(struct iw_cli_progress *p, uint64_t now)
{
	unsigned int i = (p->oldest + p->nsamples) % IW_PROGRESS_SAMPLES;

	if (p->nsamples == IW_PROGRESS_SAMPLES)
		p->oldest = (p->oldest + 1) % IW_PROGRESS_SAMPLES;
	else
		p->nsamples++;
	p->samples[i].at = now;
	p->samples[i].done = p->done - p->found;
}

void iw_cli_progress_begin(struct iw_cli_progress *p, int fd, const char *what, uint64_t done,
			   uint64_t total, uint64_t now)
{
	*p = (struct iw_cli_progress){ .fd = fd,
				       .what = what,
				       .done = done,
				       .total = total,
				       .drawn_at = now,
				       .on = iw_cli_columns(fd) > 0 };
	sample(p, now);
	if (p->on)
		iw_log_around(hide, NULL, p);
}

void iw_cli_progress_update(struct iw_cli_progress *p, uint64_t done, uint64_t now)
{
	p->done = done;
	if (now - p->drawn_at < DRAW_EVERY)
		return;
	p->drawn_at = now;
	sample(p, now);
	if (p->on)
		draw(p, now);
}

uint64_t iw_cli_progress_rate(const struct iw_cli_progress *p, uint64_t now)
{
	uint64_t moved = p->done - p->found, before = p->samples[p->oldest].done;

	return iw_bits_per_second(moved - (moved < before ? moved : before),
				  now - p->samples[p->oldest].at);
}

void iw_cli_progress_end(struct iw_cli_progress *p)
{
	if (!p->on)
		return;
	hide(p);
	iw_log_around(NULL, NULL, NULL);
	p->on = false;
}

/* Cuts the beginning of a long name, because the ends of names distinguish files. */
static void fit_name(char *buf, size_t cap, const char *what, size_t room)
{
	char clean[LINE_MAX_];
	const char *p = clean;
	size_t columns;

	iw_printable(clean, sizeof(clean), what, strlen(what), true);
	columns = iw_utf8_columns(clean);
	if (columns <= room) {
		snprintf(buf, cap, "%s", clean);
		return;
	}
	if (room < 4) {
		buf[0] = '\0';
		return;
	}
	for (size_t drop = columns - (room - 3); drop > 0; drop--)
		p += iw_utf8_len(p, strlen(p));
	snprintf(buf, cap, "...%s", p);
}

static void add(char *buf, size_t cap, const char *text, unsigned int columns)
{
	size_t len = strlen(buf);

	/* A field is shown whole or not at all: a cut number would be wrong. */
	if (len + 2 + strlen(text) <= columns)
		snprintf(buf + len, cap - len, "%s%s", len ? "  " : "", text);
}

void iw_cli_progress_line(const struct iw_cli_progress *p, char *buf, size_t cap,
			  unsigned int columns, uint64_t now)
{
	uint64_t rate = iw_cli_progress_rate(p, now);
	char part[96], a[IW_HUMAN_TEXT], b[IW_HUMAN_TEXT], numbers[256] = "";
	uint64_t left;

	if (columns >= cap)
		columns = (unsigned int)cap - 1;
	if (p->total > 0) {
		unsigned int percent = p->done >= p->total
					       ? 100
					       : (unsigned int)((long double)p->done * 100 /
								(long double)p->total);

		snprintf(part, sizeof(part), "%3u%%", percent);
		add(numbers, sizeof(numbers), part, columns);
		snprintf(part, sizeof(part), "%s of %s", iw_human_size(a, p->done),
			 iw_human_size(b, p->total));
	} else {
		snprintf(part, sizeof(part), "%s", iw_human_size(a, p->done));
	}
	add(numbers, sizeof(numbers), part, columns);
	add(numbers, sizeof(numbers), iw_human_rate(a, rate), columns);
	if (rate > 0 && p->total > p->done) {
		left = (uint64_t)((long double)(p->total - p->done) * 8e9L / (long double)rate);
		snprintf(part, sizeof(part), "%s left", iw_human_time(a, left));
		add(numbers, sizeof(numbers), part, columns);
	}
	buf[0] = '\0';
	if (p->what && strlen(numbers) + 6 <= columns)
		fit_name(buf, cap, p->what, columns - strlen(numbers) - 2);
	snprintf(buf + strlen(buf), cap - strlen(buf), "%s%s", buf[0] ? "  " : "", numbers);
}
