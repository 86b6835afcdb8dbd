/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* iproute2's ip, for tests that create their own networks. IP("link", "set", "lo", "up") returns
 * its exit status, or -1. */
#ifndef TESTS_UNIT_IP_COMMAND_H
#define TESTS_UNIT_IP_COMMAND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#define IP(...) ip_command((const char *[]){ "ip", __VA_ARGS__, NULL })

static inline int ip_command(const char **argv)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		execvp(argv[0], (char **)(uintptr_t)argv);
		_exit(127);
	}
	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)
		       ? WEXITSTATUS(status)
		       : -1;
}

#endif
