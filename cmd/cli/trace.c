// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The file of --trace. */
#include "cli/trace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "os/os.h"

static void advise(struct iw_fault *why, const char *text)
{
	size_t len = why ? strlen(why->text) : 0;

	if (why)
		snprintf(why->text + len, sizeof(why->text) - len, "; %s", text);
}

int iw_cli_trace_open(struct iw_trace_file *t, const char *path, struct iw_fault *why)
{
	int err, errnum;

	*t = (struct iw_trace_file){ .f = fopen(path, "we"), .path = path };
	if (t->f)
		return 0;
	errnum = errno;
	err = iw_os_fail(why, errnum, "open trace file %s", path);
	if (errnum == ENOENT)
		advise(why, "create the directory first");
	return err;
}

void iw_cli_trace_line(void *ctx, const char *line)
{
	struct iw_trace_file *t = ctx;

	if (!t->f)
		return;
	/* Threads may share the file, so one lock covers the line and its newline. */
	flockfile(t->f);
	if ((fputs_unlocked(line, t->f) == EOF || putc_unlocked('\n', t->f) == EOF) &&
	    t->os_errno == 0)
		t->os_errno = errno;
	funlockfile(t->f);
}

int iw_cli_trace_close(struct iw_trace_file *t, struct iw_fault *why)
{
	int err;

	if (!t->f)
		return 0;
	if (fclose(t->f) != 0 && t->os_errno == 0)
		t->os_errno = errno;
	t->f = NULL;
	if (t->os_errno == 0)
		return 0;
	err = iw_os_fail(why, t->os_errno, "write trace file %s", t->path);
	advise(why, "the trace is incomplete, the result is not affected");
	return err;
}
