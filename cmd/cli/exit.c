// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The exit status of each error. The compiler reports an error without a row. */
#include "cli/exit.h"

#include <iwarp/err.h>

enum iw_exit iw_exit_status(int err)
{
	switch ((enum iw_err)err) {
	case IW_OK:
		return IW_EXIT_OK;
	case IW_E_INVAL:
		return IW_EXIT_USAGE;
	case IW_E_NOTSUP:
	case IW_E_PERM:
		return IW_EXIT_CANNOT;
	case IW_E_NOMEM:
	case IW_E_STATE:
	case IW_E_AGAIN:
	case IW_E_FULL:
	case IW_E_LIMIT:
	case IW_E_OS:
	case IW_E_NOENT:
	case IW_E_BUSY:
	case IW_E_TRUNC:
	case IW_E_FORMAT:
	case IW_E_TIMEOUT:
	case IW_E_CLOSED:
	case IW_E_CANCELED:
	case IW_E_MPA_LOST:
	case IW_E_MPA_LOCAL:
	case IW_E_DDP_LOCAL:
	case IW_E_RDMAP_LOCAL:
	case IW_E_TLS:
		return IW_EXIT_FAILED;
	case IW_E_REJECTED:
	case IW_E_PEER_TERMINATE:
	case IW_E_MPA_CRC:
	case IW_E_MPA_MARKER:
	case IW_E_MPA_FRAME:
	case IW_E_MPA_IRD:
	case IW_E_MPA_RTR:
	case IW_E_DSS_ILLEGAL:
	case IW_E_DSS_NODDP:
	case IW_E_DDP_STAG:
	case IW_E_DDP_BOUNDS:
	case IW_E_DDP_ASSOC:
	case IW_E_DDP_WRAP:
	case IW_E_DDP_VERSION_T:
	case IW_E_DDP_QN:
	case IW_E_DDP_NOBUF:
	case IW_E_DDP_MSN:
	case IW_E_DDP_MO:
	case IW_E_DDP_TOOLONG:
	case IW_E_DDP_VERSION_U:
	case IW_E_RP_STAG:
	case IW_E_RP_BOUNDS:
	case IW_E_RP_RIGHTS:
	case IW_E_RP_ASSOC:
	case IW_E_RP_WRAP:
	case IW_E_RP_INVAL:
	case IW_E_RP_UNSPEC:
	case IW_E_RO_VERSION:
	case IW_E_RO_OPCODE:
	case IW_E_RO_STREAM:
	case IW_E_RO_GLOBAL:
	case IW_E_RO_INVAL:
	case IW_E_RO_UNSPEC:
		return IW_EXIT_NO;
	}
	return IW_EXIT_FAILED;
}
