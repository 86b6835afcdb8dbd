// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reports SIGINT and SIGTERM by a flag and a readable descriptor. */
#include "cli/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "os/os.h"

static int stop_fd = -1;
/* Any thread may read it. It is lock-free, so a handler may write it (C11 7.14.1.1). */
static atomic_int stop_signal;

static void on_stop(int sig)
{
	static const uint64_t one = 1;
	int saved = errno;

	stop_signal = sig;
	/* The next signal, either of the two, has its default action. */
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	/* Fails only if the counter is full, and then the descriptor is already readable. */
	if (write(stop_fd, &one, sizeof(one)) < 0) {}
	errno = saved;
}

int iw_signals_init(struct iw_fault *why)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	/* Without SA_RESTART, so that a blocking read returns. */
	struct sigaction stop = { .sa_handler = on_stop };

	stop_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (stop_fd < 0)
		return iw_os_fail(why, errno, "open an event descriptor");
	sigemptyset(&ignore.sa_mask);
	sigemptyset(&stop.sa_mask);
	if (sigaction(SIGPIPE, &ignore, NULL) < 0 || sigaction(SIGINT, &stop, NULL) < 0 ||
	    sigaction(SIGTERM, &stop, NULL) < 0)
		return iw_os_fail(why, errno, "set signal handlers");
	return 0;
}

int iw_signals_fd(void)
{
	return stop_fd;
}

int iw_signals_stop(void)
{
	return stop_signal;
}
