// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Socket activation. */
#include "cli/passed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "util/text.h"

#define FIRST_FD 3 /* SD_LISTEN_FDS_START */

static bool read_number(long *out, const char *text)
{
	char *end;

	errno = 0;
	*out = strtol(text, &end, 10);
	return end != text && *end == '\0' && errno == 0 && *out >= 0;
}

static int passed(const char *pid, const char *fds, struct iw_fault *why)
{
	long n;

	if (!pid || !fds)
		return 0;
	if (!read_number(&n, pid))
		return iw_fail(why, IW_E_INVAL, "LISTEN_PID=%s: expected a process number", pid);
	if (n != (long)getpid())
		return 0;
	if (!read_number(&n, fds))
		return iw_fail(why, IW_E_INVAL, "LISTEN_FDS=%s: expected a number of descriptors",
			       fds);
	if (n > 1)
		return iw_fail(why, IW_E_INVAL,
			       "LISTEN_FDS=%s: expected 1; use one ListenStream= line", fds);
	return n == 0 ? 0 : FIRST_FD;
}

int iw_cli_passed_socket(struct iw_fault *why)
{
	int fd = passed(getenv("LISTEN_PID"), getenv("LISTEN_FDS"), why);

	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_FDNAMES");
	/* A descriptor that is not open is detected when it is used. */
	if (fd > 0)
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	return fd;
}
