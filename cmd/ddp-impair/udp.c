// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The carrier of udp. */
#include "ddp-impair/impair.h"

#include "util/text.h"

int iw_relay_udp(struct iw_relay *r)
{
	struct iw_fault why = { 0 };

	(void)iw_fail(&why, IW_E_NOTSUP, "udp: not built yet");
	return iw_cli_fail(r->cli, &why);
}
