// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The carrier of tcp. */
#include "ddp-impair/impair.h"

#include "util/text.h"

int iw_relay_tcp(struct iw_relay *r)
{
	struct iw_fault why = { 0 };

	(void)iw_fail(&why, IW_E_NOTSUP, "tcp: not built yet");
	return iw_cli_fail(r->cli, &why);
}
