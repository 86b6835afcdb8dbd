/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* TCP congestion control by name. */
#ifndef IW_OS_CC_H
#define IW_OS_CC_H

#include <stddef.h>

#include <iwarp/err.h>

#define IW_CC_NAME 16 /* the kernel's TCP_CA_NAME_MAX, NUL included */

/*
 * Sets the congestion control of the TCP socket fd. name is borrowed. IW_E_NOTSUP: the kernel has
 * none of that name; IW_E_PERM: it needs CAP_NET_ADMIN; IW_E_OS. *why (may be NULL) lists those
 * that this process can choose.
 */
IW_MUST_CHECK int iw_tcp_set_cc(int fd, const char *name, struct iw_fault *why);

/* Reads the name of the congestion control in use. IW_E_OS: the system does not report it. */
IW_MUST_CHECK int iw_tcp_cc(int fd, char name[static IW_CC_NAME]);

/*
 * Writes the names that this process can choose into buf, separated by blanks; "unknown" if /proc
 * does not list them. Returns buf.
 */
const char *iw_tcp_cc_list(char *buf, size_t cap);

#endif
