// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The trace file. */
#include "cli/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/os.h"
#include "trace/trace.h"
#include "util/num.h"

#define BUF_LEN (256 * 1024)
/* Left free in a file that cannot grow, for trace_end. */
#define END_LEN 256
/* Lines older than that are written with the next line. */
#define AGE_NS  IW_SEC(1)

static void advise(struct iw_fault *why, const char *text)
{
	size_t len = why ? strlen(why->text) : 0;

	if (why)
		snprintf(why->text + len, sizeof(why->text) - len, "; %s", text);
}

int iw_cli_trace_open(struct iw_trace_file *t, const char *path, struct iw_fault *why)
{
	int err, errnum;

	*t = (struct iw_trace_file){ .buf = malloc(BUF_LEN), .path = path };
	if (!t->buf)
		return iw_os_fail(why, ENOMEM, "open trace file %s", path);
	t->f = fopen(path, "we");
	if (t->f)
		return 0;
	errnum = errno;
	free(t->buf);
	t->buf = NULL;
	err = iw_os_fail(why, errnum, "open trace file %s", path);
	if (errnum == ENOENT)
		advise(why, "create the directory first");
	return err;
}

static uint64_t count_lines(const char *s, size_t len)
{
	const char *end = s + len;
	uint64_t n = 0;

	while ((s = memchr(s, '\n', (size_t)(end - s)))) {
		s++;
		n++;
	}
	return n;
}

/* Octets of the whole lines among the first len octets. */
static size_t whole_lines(const char *s, size_t len)
{
	while (len > 0 && s[len - 1] != '\n')
		len--;
	return len;
}

/*
 * Only the first done octets of the buffer were written. Truncates a file after the last whole line
 * that leaves room for trace_end. A pipe or a device cannot be truncated. Returns how many octets
 * of whole lines remain written.
 */
static size_t cut(const struct iw_trace_file *t, size_t done)
{
	size_t keep = whole_lines(t->buf, done > END_LEN ? done - END_LEN : 0);
	int fd = fileno(t->f);
	off_t at = lseek(fd, 0, SEEK_CUR);

	if (at < (off_t)done || ftruncate(fd, at - (off_t)(done - keep)) != 0)
		return whole_lines(t->buf, done);
	(void)lseek(fd, at - (off_t)(done - keep), SEEK_SET);
	return keep;
}

static void flush(struct iw_trace_file *t)
{
	uint64_t lines = count_lines(t->buf, t->len), kept = lines;
	size_t done = 0;

	while (done < t->len) {
		ssize_t n = write(fileno(t->f), t->buf + done, t->len - done);

		if (n > 0) {
			done += (size_t)n;
		} else if (n == 0 || errno != EINTR) {
			if (t->os_errno == 0)
				t->os_errno = n == 0 ? ENOSPC : errno;
			kept = count_lines(t->buf, cut(t, done));
			break;
		}
	}
	t->written += kept;
	t->dropped += lines - kept;
	t->len = 0;
}

static void append(struct iw_trace_file *t, const char *line)
{
	size_t len = strlen(line);

	if (len + 1 > BUF_LEN - t->len)
		flush(t);
	if (len + 1 > BUF_LEN) {
		t->dropped++;
		return;
	}
	memcpy(t->buf + t->len, line, len);
	t->buf[t->len + len] = '\n';
	t->len += len + 1;
}

void iw_cli_trace_line(void *ctx, const char *line)
{
	struct iw_trace_file *t = ctx;
	uint64_t now;

	if (!t->f)
		return;
	now = iw_os_now();
	/* The threads of a tool share the file. */
	flockfile(t->f);
	append(t, line);
	if (now - t->flushed_at >= AGE_NS) {
		flush(t);
		t->flushed_at = now;
	}
	funlockfile(t->f);
}

static void write_end(struct iw_trace_file *t)
{
	struct iw_trace_event ev = {
		.kind = IW_TRACE_trace_end,
		.now = iw_os_now(),
		.wall = iw_os_wall(),
		.trace_end = { .events = t->written, .dropped = t->dropped },
	};
	char line[IW_TRACE_LINE];

	iw_trace_json(line, sizeof(line), &ev);
	append(t, line);
	flush(t);
}

int iw_cli_trace_close(struct iw_trace_file *t, struct iw_fault *why)
{
	char text[96];
	uint64_t dropped;
	int err;

	if (!t->f)
		return 0;
	flush(t);
	dropped = t->dropped;
	write_end(t);
	if (fclose(t->f) != 0 && t->os_errno == 0)
		t->os_errno = errno;
	t->f = NULL;
	free(t->buf);
	t->buf = NULL;
	if (t->os_errno == 0 && dropped == 0)
		return 0;
	err = iw_os_fail(why, t->os_errno ? t->os_errno : EFBIG, "write trace file %s", t->path);
	snprintf(text, sizeof(text),
		 "the trace is incomplete, the result is not affected; missing events: %llu",
		 (unsigned long long)dropped);
	advise(why, text);
	return err;
}
