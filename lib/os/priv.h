/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Privileges that a tool drops after it has opened its sockets and files.
 *
 * Threads: capabilities and no_new_privs belong to a thread. Call these before the first thread
 * starts.
 */
#ifndef IW_OS_PRIV_H
#define IW_OS_PRIV_H

#include <stdint.h>
#include <sys/types.h>

#include <iwarp/err.h>

#define IW_OS_CAP(cap) (UINT64_C(1) << (cap)) /* of <linux/capability.h> */

/*
 * Returns the permitted capabilities of this thread, as a set of IW_OS_CAP(); 0 if they cannot be
 * read.
 */
uint64_t iw_os_priv_caps(void);

/*
 * Makes execve grant no more privileges: it ignores set-id bits and file capabilities. IW_E_OS: the
 * kernel has no such option.
 */
IW_MUST_CHECK int iw_os_priv_no_new(struct iw_fault *why);

/*
 * Keeps the permitted capabilities that are in caps, and makes them effective; drops the others
 * permanently. IW_E_PERM, IW_E_OS: the kernel refused.
 */
IW_MUST_CHECK int iw_os_priv_keep(uint64_t caps, struct iw_fault *why);

/*
 * Changes to uid and gid, without supplementary groups. Permitted capabilities remain; drop them
 * with iw_os_priv_keep(). Returns 0; 1: not possible here, because CAP_SETUID or CAP_SETGID is
 * missing, or this user namespace does not map uid and gid (user_namespaces(7)): *why has the
 * reason; or IW_E_OS.
 */
IW_MUST_CHECK int iw_os_priv_become(uid_t uid, gid_t gid, struct iw_fault *why);

/*
 * Calls iw_os_priv_no_new(), and drops all capabilities. Files of the process's user remain
 * accessible. Errors as iw_os_priv_no_new and iw_os_priv_keep.
 */
IW_MUST_CHECK int iw_os_priv_drop(struct iw_fault *why);

#endif
