// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* TCP congestion control: set, read back, list. */
#include "os/cc.h"

#include <errno.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "os/os.h"
#include "os/probe.h"
#include "util/text.h"

const char *iw_tcp_cc_list(char *buf, size_t cap)
{
	/*
	 * With CAP_NET_ADMIN a process may choose all that are available, else those that are
	 * allowed.
	 */
	const char *name = iw_os_has_cap(CAP_NET_ADMIN)
				   ? "net/ipv4/tcp_available_congestion_control"
				   : "net/ipv4/tcp_allowed_congestion_control";

	if (iw_os_sysctl(buf, cap, name, NULL) != 0)
		snprintf(buf, cap, "unknown");
	return buf;
}

int iw_tcp_cc(int fd, char name[static IW_CC_NAME])
{
	socklen_t len = IW_CC_NAME;

	memset(name, 0, IW_CC_NAME);
	return getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len) < 0 ? IW_E_OS : 0;
}

int iw_tcp_set_cc(int fd, const char *name, struct iw_fault *why)
{
	char list[120], now[IW_CC_NAME];
	int errnum;

	if (name[0] == '\0' || strlen(name) >= IW_CC_NAME)
		return iw_fail(why, IW_E_NOTSUP,
			       "congestion control \"%s\": not a name; this process can choose: %s",
			       name, iw_tcp_cc_list(list, sizeof(list)));
	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)) < 0) {
		errnum = errno;
		if (errnum == ENOENT)
			return iw_fail(
				why, IW_E_NOTSUP,
				"congestion control %s: not in this kernel; this process can choose: %s",
				name, iw_tcp_cc_list(list, sizeof(list)));
		if (errnum == EPERM)
			return iw_fail(
				why, IW_E_PERM,
				"congestion control %s: needs CAP_NET_ADMIN; this process can choose: %s",
				name, iw_tcp_cc_list(list, sizeof(list)));
		return iw_os_fail(why, errnum, "set congestion control %s", name);
	}
	if (iw_tcp_cc(fd, now) != 0)
		return iw_os_fail(why, errno, "read congestion control back");
	if (strcmp(now, name) != 0)
		return iw_fail(why, IW_E_NOTSUP,
			       "congestion control %s: the kernel took %s instead", name, now);
	return 0;
}
