/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a tool gives up as soon as it has opened what it needs. */
#ifndef IW_OS_PRIV_H
#define IW_OS_PRIV_H

#include <iwarp/err.h>

/*
 * This process has no capabilities from now on and cannot get any. Files that belong to its user stay
 * within reach. 0, or IW_E_OS, IW_E_PERM: go on at your own risk.
 */
IW_MUST_CHECK int iw_os_priv_drop(struct iw_fault *why);

#endif
