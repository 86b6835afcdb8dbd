// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The width of a terminal. */
#include "cli/term.h"

#include <sys/ioctl.h>
#include <unistd.h>

unsigned int iw_cli_columns(int fd)
{
	struct winsize size = { 0 };

	if (!isatty(fd))
		return 0;
	if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return 80;
	return size.ws_col;
}
