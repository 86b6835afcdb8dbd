// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Classifies what answers at the far end by the failure of a connection. */
#include "sctp-ddp-ping/ping.h"

#include <errno.h>

static const char *const names[] = {
	[IW_FAR_ANSWERS] = "answers",   [IW_FAR_OTHER] = "other",
	[IW_FAR_REJECTED] = "rejected", [IW_FAR_NO_DDP] = "no-ddp",
	[IW_FAR_ABORT] = "abort",       [IW_FAR_ICMP] = "icmp",
	[IW_FAR_SILENT] = "silent",     [IW_FAR_NOT_TRIED] = "not-tried",
};

const char *iw_far_end_name(enum iw_far_end e)
{
	return names[e];
}

/*
 * Classifies by errno, which is all that kernel SCTP reports of an ABORT or an ICMP error. Any
 * other errno, such as ENETUNREACH (no route), is a failure of this host.
 */
static enum iw_far_end by_errno(int e)
{
	switch (e) {
	case ECONNREFUSED:
		return IW_FAR_ABORT;
	case EHOSTUNREACH:
	case ENOPROTOOPT:
	case EPROTO:
		return IW_FAR_ICMP;
	case ETIMEDOUT:
		return IW_FAR_SILENT;
	default:
		return IW_FAR_NOT_TRIED;
	}
}

enum iw_far_end iw_ping_far_end(const struct iw_fault *why, bool associated)
{
	if (why->err == IW_OK)
		return IW_FAR_ANSWERS;
	if (why->err == IW_E_REJECTED)
		return IW_FAR_REJECTED;
	if (why->err == IW_E_DSS_NODDP)
		return IW_FAR_NO_DDP;
	if (associated)
		return IW_FAR_OTHER;
	if (why->err == IW_E_TIMEOUT || why->err == IW_E_CANCELED)
		return IW_FAR_SILENT;
	if (why->os_errno)
		return by_errno(why->os_errno);
	if (why->err == IW_E_CLOSED)
		return why->from_peer ? IW_FAR_ABORT : IW_FAR_ICMP;
	return IW_FAR_NOT_TRIED;
}
