/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The filter of system calls (seccomp(2), by libseccomp). Calls that the tools make are allowed.
 * Calls that only an attacker's code would make end the process (SIGSYS). All others fail with
 * EPERM.
 */
#ifndef IW_CLI_SECCOMP_H
#define IW_CLI_SECCOMP_H

#include <iwarp/err.h>

enum iw_seccomp_also {
	IW_SECCOMP_XDP = 1,      /* AF_XDP sockets; bpf(2) on open maps and programs */
	IW_SECCOMP_LOAD_BPF = 2, /* all of bpf(2): the tool may open -t xdp again */
};

/*
 * Loads the filter for all threads of the process; no_new_privs must be set. also: set of
 * enum iw_seccomp_also. Returns 0; 1, with the reason in *why: built without libseccomp, or the
 * kernel has no filters. IW_E_OS, IW_E_NOMEM.
 */
IW_MUST_CHECK int iw_seccomp(unsigned also, struct iw_fault *why);

#endif
