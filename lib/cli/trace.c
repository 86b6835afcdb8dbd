// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The trace file. */
#include "cli/trace.h"

#include <errno.h>

#include "os/os.h"

int iw_cli_trace_open(struct iw_trace_file *t, const char *path, struct iw_fault *why)
{
	*t = (struct iw_trace_file){ .f = fopen(path, "we"), .path = path };
	return t->f ? 0 : iw_os_fail(why, errno, "open trace file %s", path);
}

void iw_cli_trace_line(void *ctx, const char *line)
{
	struct iw_trace_file *t = ctx;

	if (!t->f)
		return;
	/* One lock for the line and its end, should threads share the file. */
	flockfile(t->f);
	if ((fputs_unlocked(line, t->f) == EOF || putc_unlocked('\n', t->f) == EOF) &&
	    t->os_errno == 0)
		t->os_errno = errno;
	funlockfile(t->f);
}

int iw_cli_trace_close(struct iw_trace_file *t, struct iw_fault *why)
{
	if (!t->f)
		return 0;
	if (fclose(t->f) != 0 && t->os_errno == 0)
		t->os_errno = errno;
	t->f = NULL;
	return t->os_errno ? iw_os_fail(why, t->os_errno, "write trace file %s", t->path) : 0;
}
